"""Cut long recordings into clips of several minutes with enough different steps (InstructionBench's trimming).

``trim_rules`` holds the rules and what they leave open. Conventions: as ``clip``; a length is from the first start to the
last end in the clip, gaps count. Where annotations overlap, clips do so too unless the rules say otherwise, and each clip
lists under ``reaches_in`` what it shows of steps that are not its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from proctor.procedure.clip import Category, Clip, LeftOut, Placed, grouped, make_clip, place_segments
from proctor.procedure.recording import Recording
from proctor.procedure.trim_rules import DEFAULT, TrimRules

__all__ = ["Rejected", "Trimmed", "trim_recording"]


@dataclass(frozen=True, slots=True)
class Rejected:
    """A stretch that is no clip.

    Attributes:
        start: seconds.
        end: seconds, exclusive.
        positions: of its segments, in the order of their start.
        n_categories: how many kinds of steps are in it.
        longest_run: most steps of one category in a row.
        failed: the rules that it fails (``REASONS``), none for a tail that would have been one.
        tail: it is what was left at the end.
        reason: why it is no clip: what failed joined by ``+``, or ``tail``.
    """

    start: float
    end: float
    positions: tuple[int, ...]
    n_categories: int
    longest_run: int
    failed: tuple[str, ...]
    tail: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Trimmed:
    """A recording cut into clips.

    Attributes:
        recording_id: which.
        clips: in time order.
        rejected: stretches that are no clips, in time order.
        left_out: by reason, every segment that is in no clip.
    """

    recording_id: str
    clips: tuple[Clip, ...]
    rejected: tuple[Rejected, ...]
    left_out: tuple[LeftOut, ...]


def trim_recording(
    recording: Recording, rules: TrimRules = DEFAULT, category: Category | None = None
) -> Trimmed:
    """Cut a recording into clips.

    The order of the recording's segments does not matter, beyond the positions that are told. Every segment is in a
    clip or left out with a reason.

    Args:
        recording: its segments are of one level (``clip.leaf_segments`` for the finest of a hierarchy).
        rules: see ``trim_rules``.
        category: says of which kind a segment is; its ``step_id`` by default.

    Raises:
        UserError: if the recording's duration is no length.
    """
    steps, out = place_segments(recording, category, rules.edges)
    stretches = list(_stretches(steps, rules))
    clips = tuple(_clips(recording, steps, [s for s in stretches if not s.reason], rules))
    rejected = tuple(_rejected(steps, s) for s in stretches if s.reason)
    used = {position for clip in clips for position in clip.positions}
    for stretch in rejected:
        fresh = [position for position in stretch.positions if position not in used]
        used.update(fresh)
        out += [(position, stretch.reason) for position in fresh]
    return Trimmed(recording.id, clips, rejected, grouped(out))


# -- stretches -----------------------------------------------------------------------------------------------------


class _Stretch(NamedTuple):
    """Steps ``[first, past)`` of those in time order; ``reason`` is empty for a clip."""

    first: int
    past: int
    end: float
    n_categories: int
    longest_run: int
    failed: tuple[str, ...]
    tail: bool
    reason: str = ""


def _stretches(steps: Sequence[Placed], rules: TrimRules) -> Iterator[_Stretch]:
    first = 0
    while first < len(steps):
        stretch = _stretch(steps, first, rules)
        allowed = not stretch.tail or rules.tail == "keep" or (rules.tail == "whole_video" and first == 0)
        yield stretch._replace(reason="+".join(stretch.failed) if allowed else "tail")
        first = stretch.past
        if rules.boundary == "overlap" and not stretch.tail and stretch.past < len(steps):
            # a stretch of one step would begin with itself for ever
            first = max(stretch.past - 1, stretch.first + 1)


def _stretch(steps: Sequence[Placed], first: int, rules: TrimRules) -> _Stretch:
    """Return the stretch that begins with a step."""
    begin, end = steps[first].start, -math.inf
    kinds: set[str] = set()
    run = longest = 0
    for number in range(first, len(steps)):
        step, past = steps[number], number + 1
        end = max(end, step.end)
        run = run + 1 if number > first and step.category == steps[number - 1].category else 1
        longest = max(longest, run)
        kinds.add(step.category)
        if not _may_close(steps, past, begin, end, rules):
            continue
        failed = rules.failures(end - begin, past - first, len(kinds), longest)
        if not failed or rules.on_failure == "restart":
            return _Stretch(first, past, end, len(kinds), longest, failed, tail=False)
    failed = rules.failures(end - begin, len(steps) - first, len(kinds), longest)
    return _Stretch(first, len(steps), end, len(kinds), longest, failed, tail=True)


def _may_close(steps: Sequence[Placed], past: int, begin: float, end: float, rules: TrimRules) -> bool:
    """Say whether a stretch that spans ``[begin, end)`` is long enough before step ``past`` and may be cut there."""
    more = past < len(steps)
    long = end - begin > rules.longer_than
    if rules.boundary == "exclude" and more:
        long = long or max(end, steps[past].end) - begin > rules.longer_than
    return long and (rules.cuts == "anywhere" or not more or steps[past].start >= end)


def _rejected(steps: Sequence[Placed], stretch: _Stretch) -> Rejected:
    inside = steps[stretch.first : stretch.past]
    return Rejected(
        start=inside[0].start,
        end=stretch.end,
        positions=tuple(step.position for step in inside),
        n_categories=stretch.n_categories,
        longest_run=stretch.longest_run,
        failed=stretch.failed,
        tail=stretch.tail,
        reason=stretch.reason,
    )


def _clips(
    recording: Recording, steps: Sequence[Placed], accepted: Iterable[_Stretch], rules: TrimRules
) -> Iterator[Clip]:
    signature = rules.signature
    seen: dict[str, int] = {}
    running: list[Placed] = []  # earlier steps that still run where the clip begins
    reached = 0
    for stretch in accepted:
        inside = steps[stretch.first : stretch.past]
        start = inside[0].start
        running = [s for s in (*running, *steps[reached : stretch.first]) if s.end > start]
        reached = stretch.first
        others = [(s.position, "reaches_in") for s in running]
        others += [(s.position, "reaches_in") for s in _begun(steps, stretch)]
        clip = make_clip(recording, start, stretch.end, inside, rules=signature, left_out=others)
        seen[clip.id] = seen.get(clip.id, 0) + 1
        # annotations that say the same twice may give two clips of one span
        yield clip if seen[clip.id] == 1 else replace(clip, id=f"{clip.id}.{seen[clip.id]}")


def _begun(steps: Sequence[Placed], stretch: _Stretch) -> Iterator[Placed]:
    """Yield the later steps that begin before a stretch ends."""
    for number in range(stretch.past, len(steps)):
        if steps[number].start >= stretch.end:
            return
        yield steps[number]
