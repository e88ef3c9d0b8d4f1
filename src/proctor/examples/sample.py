"""Which examples become questions: quota sampling of our own, and the published sampler.

The paper wants as many clean as noisy examples, as many with as without a target, and about equal numbers of
each mistake type, from as many recordings as possible. ``sample_quota`` meets these intentions directly and says
what could not be met. ``sample_published`` reproduces the release (promqa.md section 4): a balanced pre-sample of
1,090, from which a uniform cut to 500 then undoes the balance.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from proctor.examples.example import PROCESS_TYPES, Example

__all__ = [
    "MAX_MISTAKEN_STEPS",
    "MAX_TARGETS",
    "Quota",
    "SampleReport",
    "exclusion_reason",
    "sample_published",
    "sample_quota",
]

_MISTAKE_TYPES: Final = ("order", "preparation", "measurement", "timing", "technique", "temperature")

MAX_MISTAKEN_STEPS: Final = 5
MAX_TARGETS: Final = 5


def exclusion_reason(example: Example) -> str | None:
    """Say why an example is too complicated to be asked about; None when it is not (promqa.md 4.1)."""
    mistaken = sum(bool(p.mistakes) for p in example.previous)
    if example.noisy and mistaken > MAX_MISTAKEN_STEPS:
        return f"more than {MAX_MISTAKEN_STEPS} earlier steps were done wrongly"
    targets = example.next_steps if example.type == "next" else example.missing_steps
    if targets is not None and len(targets) > MAX_TARGETS:
        return f"more than {MAX_TARGETS} steps would be right answers"
    return None


# -- the published sampler -------------------------------------------------------------------------------------

K = TypeVar("K")
_Take = Callable[[tuple[str, bool, bool], int], int]

_PROCESS_CELL: Final = 100
_STEP_CELL: Final = 25


def sample_published(examples: Iterable[Example], *, cut: int | None = 500) -> list[Example]:
    """Return the release's sample: 1,090 examples with seed 42, then ``cut`` of them with seed 7.

    Args:
        examples: all examples in the order of derivation (``published`` protocol).
        cut: how many to keep of the pre-sample; None keeps all.
    """
    rng = random.Random(42)  # noqa: S311 - the published generator, not a secret
    by_type: dict[str, list[Example]] = defaultdict(list)
    for example in examples:
        by_type[example.type].append(example)
    chosen: list[Example] = []
    for kind, members in by_type.items():
        pools = _published_pools([e for e in members if exclusion_reason(e) is None], rng)
        chosen += _take_process(pools, rng) if kind in ("next", "missing") else _take_step(pools, rng)
    if cut is not None:
        random.Random(7).shuffle(chosen)  # noqa: S311
        chosen = chosen[:cut]
    return chosen


_Pools = dict[tuple[bool, bool], list[Example]]


def _published_pools(members: Sequence[Example], rng: random.Random) -> _Pools:
    """Keep one example of every (noisy, with answer) cell of every recording; return the pools of the cells."""
    by_recording: dict[str, list[Example]] = defaultdict(list)
    for example in members:
        by_recording[example.recording_id].append(example)
    pools: _Pools = defaultdict(list)
    for recording in by_recording.values():
        cells: _Pools = defaultdict(list)
        for example in recording:
            cells[example.noisy, example.has_answer].append(example)
        for cell, group in cells.items():
            rng.shuffle(group)
            pools[cell].append(group[0])
    return pools


def _take_process(pools: _Pools, rng: random.Random) -> list[Example]:
    chosen = []
    for noisy in dict.fromkeys(noisy for noisy, _ in pools):
        with_answer, without = pools.get((noisy, True), []), pools.get((noisy, False), [])
        n_with, n_without = _exchange(len(with_answer), len(without), _PROCESS_CELL)
        for pool, n in ((with_answer, n_with), (without, n_without)):
            rng.shuffle(pool)
            chosen += pool[:n]
    return chosen


def _take_step(pools: _Pools, rng: random.Random) -> list[Example]:
    noisy, clean = pools.get((True, True), []), pools.get((False, True), [])
    n_noisy, n_clean = _exchange(len(noisy), len(clean), _STEP_CELL)
    chosen = []
    for pool, n in ((noisy, n_noisy), (clean, n_clean)):
        rng.shuffle(pool)
        chosen += pool[:n]
    return chosen


def _exchange(a: int, b: int, quota: int) -> tuple[int, int]:
    """Return how many to take of two pools of these sizes when each lends what the other lacks."""
    return min(a, quota + max(0, quota - b)), min(b, quota + max(0, quota - a))


# -- our own ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Quota:
    """What is asked for.

    Attributes:
        total: number of examples.
        weights: share of each question type; types that are not named get none. The default follows the paper:
            ``next`` and ``missing`` ten times as many as each mistake type.
        per_recording: at most this many of one type from one recording.
    """

    total: int = 500
    weights: Mapping[str, float] = field(
        default_factory=lambda: {"next": 10, "missing": 10} | dict.fromkeys(_MISTAKE_TYPES, 1)
    )
    per_recording: int = 2


@dataclass(frozen=True, slots=True)
class SampleReport:
    """Asked and achieved for every (type, noisy, with answer) cell, and why examples were excluded."""

    asked: Mapping[tuple[str, bool, bool], int]
    achieved: Mapping[tuple[str, bool, bool], int]
    excluded: Mapping[str, int]


def sample_quota(examples: Iterable[Example], quota: Quota, seed: int) -> tuple[list[Example], SampleReport]:
    """Draw examples that are balanced over type, clean/noisy and with/without target.

    Every example gets a random key from (seed, its id), so neither the order of the input nor other examples
    change its luck. Within a cell recordings take turns, so that no recording is drawn twice before all were
    drawn once. What a cell lacks goes to the cells of the same type, then to the other types.

    Returns:
        The sample in the order of the input, and what was asked and achieved.
    """
    pool, excluded = [], Counter[str]()
    for example in examples:
        reason = exclusion_reason(example)
        if reason is None:
            pool.append(example)
        else:
            excluded[reason] += 1
    cells: dict[tuple[str, bool, bool], list[Example]] = defaultdict(list)
    for example in pool:
        if quota.weights.get(example.type, 0) > 0:
            cells[example.type, example.noisy, example.has_answer].append(example)
    asked = _asked(quota)
    queues = {cell: _in_turns(members, seed) for cell, members in cells.items()}
    chosen = _fill(queues, asked, quota)
    achieved = Counter((e.type, e.noisy, e.has_answer) for e in chosen)
    ids = {e.id for e in chosen}
    return [e for e in pool if e.id in ids], SampleReport(asked, dict(achieved), dict(excluded))


def _asked(quota: Quota) -> dict[tuple[str, bool, bool], int]:
    """Spread the total over types by weight (largest remainders), and over the cells of a type evenly."""
    by_type = _shares(quota.total, quota.weights)
    asked: dict[tuple[str, bool, bool], int] = {}
    for kind, n in by_type.items():
        answers = (True, False) if kind in PROCESS_TYPES and kind != "order" else (True,)
        cells = {(noisy, answer): 1.0 for noisy in (False, True) for answer in answers}
        asked |= {(kind, *cell): k for cell, k in _shares(n, cells).items()}
    return asked


def _shares(total: int, weights: Mapping[K, float]) -> dict[K, int]:
    whole = sum(weights.values())
    exact = {key: total * w / whole for key, w in weights.items()}
    shares = {key: int(x) for key, x in exact.items()}
    for key in sorted(exact, key=lambda k: shares[k] - exact[k])[: total - sum(shares.values())]:
        shares[key] += 1
    return shares


def _luck(seed: int, text: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{text}".encode()).digest()


def _in_turns(members: Iterable[Example], seed: int) -> list[Example]:
    """Order a cell so that recordings take turns, both in random order."""
    by_recording: dict[str, list[Example]] = defaultdict(list)
    for example in sorted(members, key=lambda e: _luck(seed, e.id)):
        by_recording[example.recording_id].append(example)
    turns = [
        (n, _luck(seed, recording), example)
        for recording, group in by_recording.items()
        for n, example in enumerate(group)
    ]
    return [example for _, _, example in sorted(turns, key=lambda t: t[:2])]


def _fill(
    queues: Mapping[tuple[str, bool, bool], list[Example]],
    asked: Mapping[tuple[str, bool, bool], int],
    quota: Quota,
) -> list[Example]:
    used: Counter[tuple[str, str]] = Counter()
    chosen: dict[str, Example] = {}

    def take(cell: tuple[str, bool, bool], n: int) -> int:
        taken = 0
        for example in queues.get(cell, []):
            if taken == n:
                break
            place = example.type, example.recording_id
            if example.id not in chosen and used[place] < quota.per_recording:
                chosen[example.id] = example
                used[place] += 1
                taken += 1
        return taken

    lacking: Counter[str] = Counter()
    for cell, n in asked.items():
        lacking[cell[0]] += n - take(cell, n)
    for kind, n in lacking.items():
        lacking[kind] = _spread([c for c in asked if c[0] == kind], n, take)
    _spread(list(asked), sum(lacking.values()), take)
    return list(chosen.values())


def _spread(cells: Sequence[tuple[str, bool, bool]], n: int, take: _Take) -> int:
    """Take ``n`` more, one from each cell in turn, and return how many could not be had."""
    open_cells = list(cells)
    while n and open_cells:
        for cell in list(open_cells):
            if not n:
                break
            if take(cell, 1):
                n -= 1
            else:
                open_cells.remove(cell)
    return n
