"""Which examples become questions: quota sampling of our own, and the published sampler.

The paper wants as many clean as noisy examples, as many with as without a target, and about equal numbers of
each mistake type, from as many recordings as possible. ``draw_quota`` meets these intentions directly and says
what could not be met, and why. ``draw_published`` reproduces the release (ProMQA): a balanced
pre-sample of 1,090, from which a uniform cut to 500 then undoes the balance.

Both draw positions from a ``Pool``, which keeps a few numbers of each example and not the example: a million take
about 60 MB.
"""

from __future__ import annotations

import hashlib
import random
from array import array
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar

from proctor.exam.kinds.example import PROCESS_TYPES, Example

__all__ = [
    "MAX_MISTAKEN_STEPS",
    "MAX_TARGETS",
    "PROTOCOLS",
    "Cell",
    "CellReport",
    "Pool",
    "Quota",
    "SampleReport",
    "draw_published",
    "draw_quota",
    "exclusion_reason",
]

_MISTAKE_TYPES: Final = ("order", "preparation", "measurement", "timing", "technique", "temperature")

MAX_MISTAKEN_STEPS: Final = 5
MAX_TARGETS: Final = 5

PROTOCOLS: Final[Mapping[str, Mapping[str, int]]] = {
    "corrected": {"per_recording": 0},
    "paper": {"per_recording": 1},
}
"""Caps by the name of a protocol. ``paper``: at most one example of a type from a recording, as ProMQA says of itself."""


class Cell(NamedTuple):
    """What a sample is balanced over."""

    type: str
    noisy: bool
    answer: bool

    def __str__(self) -> str:
        return f"{self.type}/{'noisy' if self.noisy else 'clean'}/{'with' if self.answer else 'without'}"


def exclusion_reason(
    example: Example, *, max_mistaken: int = MAX_MISTAKEN_STEPS, max_targets: int = MAX_TARGETS
) -> str | None:
    """Say why an example is too complicated to be asked about; None when it is not (ProMQA's code, not its paper).

    Args:
        example: it.
        max_mistaken: earlier steps that may have been done wrongly; 0 for any number.
        max_targets: steps that may be right answers; 0 for any number.
    """
    mistaken = sum(bool(p.mistakes) for p in example.previous)
    if max_mistaken and example.noisy and mistaken > max_mistaken:
        return f"more than {max_mistaken} earlier steps were done wrongly"
    targets = example.next_steps if example.type == "next" else example.missing_steps
    if max_targets and targets is not None and len(targets) > max_targets:
        return f"more than {max_targets} steps would be right answers"
    return None


class Pool:
    """What may be drawn, by position: the first example that is added has position 0.

    Attributes:
        size: how many examples were added.
        types: question types in the order of their first example.
        members: positions of each cell, too complicated examples left out.
        excluded: how many examples of each cell are too complicated, by reason.
        recordings: their ids; ``recording_of`` has for each position the place in this list.
        recording_of: see ``recordings``.
    """

    def __init__(
        self, *, seed: int = 0, max_mistaken: int = MAX_MISTAKEN_STEPS, max_targets: int = MAX_TARGETS
    ) -> None:
        self.size = 0
        self.types: dict[str, None] = {}
        self.members: dict[Cell, array[int]] = {}
        self.excluded: dict[Cell, Counter[str]] = defaultdict(Counter)
        self.recordings: list[str] = []
        self.recording_of = array("L")
        self._limits = {"max_mistaken": max_mistaken, "max_targets": max_targets}
        self._seed = seed
        self._numbers: dict[str, int] = {}
        self._luck = bytearray()

    def add(self, example: Example) -> None:
        """Note one example."""
        cell = Cell(example.type, example.noisy, example.has_answer)
        reason = exclusion_reason(example, **self._limits)
        if reason is None:
            self.members.setdefault(cell, array("L")).append(self.size)
        else:
            self.excluded[cell][reason] += 1
        number = self._numbers.setdefault(example.recording_id, len(self.recordings))
        if number == len(self.recordings):
            self.recordings.append(example.recording_id)
        self.types.setdefault(example.type)
        self.recording_of.append(number)
        self._luck += self._key(example.id)
        self.size += 1

    def in_turns(self, cell: Cell) -> list[int]:
        """Return a cell's positions so that recordings take turns, both in random order.

        Every example's luck is a hash of the seed and its id, so neither the order of the input nor other examples
        change it.
        """
        by_recording: dict[int, list[int]] = defaultdict(list)
        for position in sorted(
            self.members.get(cell, ()),
            key=lambda p: bytes(self._luck[p * _LUCK_BYTES : (p + 1) * _LUCK_BYTES]),
        ):
            by_recording[self.recording_of[position]].append(position)
        turns: list[list[int]] = []
        for number in sorted(by_recording, key=lambda n: self._key(self.recordings[n])):
            for turn, position in enumerate(by_recording[number]):
                if turn == len(turns):
                    turns.append([])
                turns[turn].append(position)
        return [position for turn in turns for position in turn]

    def _key(self, text: str) -> bytes:
        return hashlib.sha256(f"{self._seed}\0{text}".encode()).digest()[:_LUCK_BYTES]


_LUCK_BYTES: Final = 16


# -- the published sampler -------------------------------------------------------------------------------------

_PROCESS_CELL: Final = 100
_STEP_CELL: Final = 25
_Pools = dict[tuple[bool, bool], list[int]]


def draw_published(pool: Pool, *, cut: int | None = 500) -> list[int]:
    """Return the positions of the release's sample: 1,090 examples with seed 42, then ``cut`` of them with seed 7.

    Args:
        pool: all examples in the order of derivation (``published`` protocol).
        cut: how many to keep of the pre-sample; None keeps all.
    """
    rng = random.Random(42)  # noqa: S311 - the published generator, not a secret
    chosen: list[int] = []
    for kind in pool.types:
        pools = _published_pools(pool, kind, rng)
        chosen += _take_process(pools, rng) if kind in ("next", "missing") else _take_step(pools, rng)
    if cut is not None:
        random.Random(7).shuffle(chosen)  # noqa: S311
        chosen = chosen[:cut]
    return chosen


def _published_pools(pool: Pool, kind: str, rng: random.Random) -> _Pools:
    """Keep one example of every (noisy, with answer) cell of every recording; return the pools of the cells."""
    members = sorted(
        (p, cell[1:]) for cell, found in pool.members.items() if cell.type == kind for p in found
    )
    by_recording: dict[int, _Pools] = defaultdict(lambda: defaultdict(list))
    for position, cell in members:
        by_recording[pool.recording_of[position]][cell].append(position)
    pools: _Pools = defaultdict(list)
    for cells in by_recording.values():
        for cell, group in cells.items():
            rng.shuffle(group)
            pools[cell].append(group[0])
    return pools


def _take_process(pools: _Pools, rng: random.Random) -> list[int]:
    chosen = []
    for noisy in dict.fromkeys(noisy for noisy, _ in pools):
        with_answer, without = pools.get((noisy, True), []), pools.get((noisy, False), [])
        n_with, n_without = _exchange(len(with_answer), len(without), _PROCESS_CELL)
        for pool, n in ((with_answer, n_with), (without, n_without)):
            rng.shuffle(pool)
            chosen += pool[:n]
    return chosen


def _take_step(pools: _Pools, rng: random.Random) -> list[int]:
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
        per_recording: at most this many of one type from one recording; 0 for any number. Recordings take turns in
            any case.
        max_mistaken: see ``exclusion_reason``.
        max_targets: see ``exclusion_reason``.
    """

    total: int = 500
    weights: Mapping[str, float] = field(
        default_factory=lambda: {"next": 10, "missing": 10} | dict.fromkeys(_MISTAKE_TYPES, 1)
    )
    per_recording: int = 0
    max_mistaken: int = MAX_MISTAKEN_STEPS
    max_targets: int = MAX_TARGETS


@dataclass(frozen=True, slots=True)
class CellReport:
    """What became of one cell.

    Attributes:
        wanted: its share of what was asked for.
        there: examples that were derived.
        drawn: examples of the sample; more than wanted where it makes up for another cell.
        why: why fewer were drawn than wanted; empty where they were not.
    """

    wanted: int
    there: int
    drawn: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class SampleReport:
    """What became of every cell that was asked for, and how many examples were left out for which reason."""

    cells: Mapping[Cell, CellReport]
    left_out: Mapping[str, int]


def draw_quota(pool: Pool, quota: Quota) -> tuple[list[int], SampleReport]:
    """Draw examples that are balanced over type, clean/noisy and with/without target.

    The total is spread over the types by weight, a type's share evenly over its cells. What a cell lacks goes to the
    cell that is as clean or noisy, then to the same type, then to the other types. A recording gives a second example
    of a type only when the cell has none of another recording, and never more than the cap. Where a cap binds, cells
    share the recordings as evenly as they can be shared.

    Returns:
        The sample's positions, ascending, and what became of each cell.
    """
    wanted = _wanted(quota)
    draw = _Draw(pool, wanted, quota.per_recording)
    draw.fill(wanted, quota.total)
    draw.fill(dict.fromkeys(wanted, pool.size), quota.total)
    return sorted(draw.chosen), _report(pool, quota, wanted, draw.drawn)


def _wanted(quota: Quota) -> dict[Cell, int]:
    """Spread the total over types by weight (largest remainders), and over the cells of a type evenly."""
    wanted: dict[Cell, int] = {}
    for kind, n in _shares(quota.total, {k: w for k, w in quota.weights.items() if w > 0}).items():
        answers = (True, False) if kind in PROCESS_TYPES and kind != "order" else (True,)
        cells = {Cell(kind, noisy, answer): 1.0 for noisy in (False, True) for answer in answers}
        wanted |= _shares(n, cells)
    return wanted


K = TypeVar("K")


def _shares(total: int, weights: Mapping[K, float]) -> dict[K, int]:
    whole = sum(weights.values())
    exact = {key: total * w / whole for key, w in weights.items()}
    shares = {key: int(x) for key, x in exact.items()}
    for key in sorted(exact, key=lambda k: shares[k] - exact[k])[: total - sum(shares.values())]:
        shares[key] += 1
    return shares


class _Draw:
    """A sample in the making.

    Attributes:
        chosen: positions, with their cells.
        drawn: how many of each cell, of each (type, noisy), and of each type.
    """

    def __init__(self, pool: Pool, wanted: Mapping[Cell, int], per_recording: int) -> None:
        self.chosen: dict[int, Cell] = {}
        self.drawn: Counter[Any] = Counter()
        self._share: Counter[str] = Counter()
        for cell, n in wanted.items():
            self._share[cell.type] += n
        self._recording_of = pool.recording_of
        self._cap = per_recording or pool.size
        self._queues = {cell: pool.in_turns(cell) for cell in wanted}
        self._at = dict.fromkeys(wanted, 0)
        self._level = dict.fromkeys(wanted, 1)
        self._given: dict[tuple[str, int], list[int]] = defaultdict(list)

    def fill(self, limits: Mapping[Cell, int], total: int) -> None:
        """Draw until there are ``total``, or every cell is at its limit or has no more to give."""
        waiting = {cell for cell, limit in limits.items() if self.drawn[cell] < limit}
        while waiting and len(self.chosen) < total:
            # the type furthest from its share, then its clean or noisy half, then the cell itself
            cell = min(
                waiting,
                key=lambda c: (
                    self.drawn[c.type] / max(1, self._share[c.type]),
                    self.drawn[c[:2]],
                    self.drawn[c],
                    c,
                ),
            )
            if not self._take(cell, set()) or self.drawn[cell] >= limits[cell]:
                waiting.remove(cell)

    def _take(self, cell: Cell, tried: set[Cell]) -> bool:
        """Choose one more example of a cell, if there is a way.

        Where its recordings have given all that they may, another cell of the type gives one up and takes an example
        of another recording instead: an augmenting path, as in a maximum matching.
        """
        position = self._next(cell)
        if position is not None:
            self._choose(position, cell)
            return True
        tried.add(cell)
        for position in self._queues[cell]:
            given = self._given[cell.type, self._recording_of[position]]
            for other in () if position in self.chosen else tuple(given):
                owner = self.chosen[other]
                if owner not in tried and self._take(owner, tried):
                    given.remove(other)
                    self._count(self.chosen.pop(other), -1)
                    self._queues[owner].append(other)
                    self._choose(position, cell)
                    return True
        return False

    def _next(self, cell: Cell) -> int | None:
        """Return the next example, of a recording that gave as few of its type as any that is left; None at the cap."""
        while self._queues[cell] and self._level[cell] <= self._cap:
            queue = self._queues[cell]
            for at in range(self._at[cell], len(queue)):
                place = cell.type, self._recording_of[queue[at]]
                if queue[at] not in self.chosen and len(self._given[place]) < self._level[cell]:
                    self._at[cell] = at
                    return queue[at]
            self._queues[cell] = [position for position in queue if position not in self.chosen]
            self._at[cell], self._level[cell] = 0, self._level[cell] + 1
        return None

    def _choose(self, position: int, cell: Cell) -> None:
        self.chosen[position] = cell
        self._given[cell.type, self._recording_of[position]].append(position)
        self._count(cell, 1)

    def _count(self, cell: Cell, n: int) -> None:
        for group in (cell, cell[:2], cell.type):
            self.drawn[group] += n


def _report(pool: Pool, quota: Quota, wanted: Mapping[Cell, int], drawn: Mapping[Any, int]) -> SampleReport:
    left_out: Counter[str] = Counter()
    cells = {}
    over = f"at most {quota.per_recording} of a type from a recording"
    full = sum(drawn[cell] for cell in wanted) == quota.total
    for cell in dict.fromkeys([*wanted, *pool.members, *pool.excluded]):
        excluded = pool.excluded.get(cell, Counter[str]())
        rest = len(pool.members.get(cell, ())) - drawn[cell]
        left_out += excluded
        if cell not in wanted:
            left_out["of a type that is not asked for"] += rest
            continue
        left_out["the sample is full" if full else over] += rest
        reasons = [f"{n:,}: {reason}" for reason, n in sorted(excluded.items())]
        reasons += [f"{rest:,}: {over}"] if rest else []
        why = ("; ".join(reasons) or "there are no more") if drawn[cell] < wanted[cell] else ""
        there = drawn[cell] + rest + excluded.total()
        cells[cell] = CellReport(wanted[cell], there, drawn[cell], why)
    return SampleReport(cells, {reason: n for reason, n in left_out.items() if n})
