"""Long recordings cut into clips: the rules, those variants of them that have a name, and the cutting.

The printed rules of InstructionBench's supplement: steps are added until a clip is longer
than four minutes; it has at least seven steps; at least half as many categories as steps; "total steps at least half of
the longest run of one category"; the next clip starts from there. They leave open what a clip's length is, to which clip
the step belongs that crosses the four minutes, what happens when a rule fails, at which level steps are counted, and what
becomes of the rest; the fourth, as printed, always holds. Each of these is a setting of ``TrimRules``, and ``VARIANTS``
names those that were measured, and one that no other offers:

``between_steps`` cuts only where no step runs and not beyond the video, so that no two clips share a picture and each
clip shows the steps that it lists and nothing of others. Where annotations overlap the other variants do not keep to that.

Conventions: as ``clip``; a length is from the first start to the
last end in the clip, gaps count. Where annotations overlap, clips do so too unless the rules say otherwise, and each clip
lists under ``reaches_in`` what it shows of steps that are not its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple, get_args

from proctor.errors import UserError
from proctor.procedure.clip import Category, Clip, LeftOut, Placed, grouped, make_clip, place_segments
from proctor.procedure.recording import Recording

__all__ = ["DEFAULT", "VARIANTS", "Rejected", "TrimRules", "Trimmed", "trim_recording", "variant_rules"]

_Boundary = Literal["include", "exclude", "overlap"]
_OnFailure = Literal["restart", "grow"]
_Tail = Literal["whole_video", "keep", "drop"]
_Cuts = Literal["anywhere", "between_steps"]
_Edges = Literal["keep", "cut", "drop"]

_CHOICES: Final = {
    "boundary": get_args(_Boundary),
    "on_failure": get_args(_OnFailure),
    "tail": get_args(_Tail),
    "cuts": get_args(_Cuts),
    "edges": get_args(_Edges),
}


@dataclass(frozen=True, slots=True)
class TrimRules:
    """When a stretch is a clip, and where the next one begins.

    Attributes:
        longer_than: seconds that a stretch has to exceed before it is cut off (240 s do not exceed 240 s).
        min_steps: steps that a clip has at least.
        min_distinct: categories of a clip for each of its steps, at least.
        max_run: longest run of one category for each step of the clip, at most. None is the rule as printed, which
            holds for every clip.
        boundary: the step that crosses ``longer_than`` belongs to the clip (``include``), to the next (``exclude``)
            or to both (``overlap``).
        on_failure: a stretch that fails a rule is discarded (``restart``), or steps are added until all hold (``grow``).
        tail: what is left at the end is a clip, when the rules hold, only if nothing was cut before
            (``whole_video``: the video is short), always (``keep``) or never (``drop``).
        cuts: a stretch may end ``anywhere``, or only where no step runs (``between_steps``): then it goes on until
            the next step begins after its end.
        edges: segments that end after the video: ``keep`` their times, ``cut`` them there (the clip says so) or
            ``drop`` them.

    Raises:
        UserError: for a setting that cannot be.
    """

    longer_than: float = 240.0
    min_steps: int = 7
    min_distinct: float = 0.5
    max_run: float | None = 0.5
    boundary: _Boundary = "include"
    on_failure: _OnFailure = "restart"
    tail: _Tail = "whole_video"
    cuts: _Cuts = "anywhere"
    edges: _Edges = "keep"

    def __post_init__(self) -> None:
        """Refuse settings that cannot be: they come from a command line."""
        _require_number("longer_than", self.longer_than, 0, math.inf, "seconds, 0 or more")
        _require_number("min_steps", self.min_steps, 1, math.inf, "a whole number, 1 or more", whole=True)
        _require_number("min_distinct", self.min_distinct, 0, 1, "a share from 0 to 1")
        if self.max_run is not None:
            _require_number("max_run", self.max_run, 0, 1, "a share from 0 to 1, or none")
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise _wrong(name, getattr(self, name), f"one of {', '.join(known)}")
        if self.boundary == "overlap" and self.cuts == "between_steps":
            raise UserError(
                "clips that share a step cannot be cut between steps.",
                where="boundary",
                hint="choose boundary 'include' or 'exclude', or cuts 'anywhere'",
            )

    @property
    def signature(self) -> str:
        """Every setting that changes the clips."""
        run = "printed" if self.max_run is None else f"{self.max_run:g}"
        return (
            f"trim|over:{self.longer_than:g}|steps:{self.min_steps}|distinct:{self.min_distinct:g}|run:{run}"
            f"|boundary:{self.boundary}|failure:{self.on_failure}|tail:{self.tail}|cuts:{self.cuts}|edges:{self.edges}"
        )

    def failures(self, seconds: float, steps: int, categories: int, longest_run: int) -> tuple[str, ...]:
        """Return which rules a stretch of this length and these counts fails (``clip.REASONS``)."""
        failed = ["no_length"] if seconds <= 0 else []
        if steps < self.min_steps:
            failed.append("few_steps")
        if categories < self.min_distinct * steps:
            failed.append("few_categories")
        if self.max_run is not None and longest_run > self.max_run * steps:
            failed.append("long_run")
        return tuple(failed)


def _require_number(
    name: str, value: object, low: float, high: float, wanted: str, *, whole: bool = False
) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or (whole and isinstance(value, float)):
        raise _wrong(name, value, wanted)
    if not low <= value <= high or value == math.inf:  # NaN is in no range
        raise _wrong(name, value, wanted)


def _wrong(name: str, value: object, wanted: str) -> UserError:
    return UserError(f"{name} is {repr(value)[:40]}.", where="trimming", hint=f"give {wanted}")


DEFAULT: Final = TrimRules()

VARIANTS: Final = {
    "default": DEFAULT,
    "exclude": replace(DEFAULT, boundary="exclude"),
    "overlap": replace(DEFAULT, boundary="overlap"),
    "grow": replace(DEFAULT, on_failure="grow"),
    "rule4_literal": replace(DEFAULT, max_run=None),
    "between_steps": replace(DEFAULT, cuts="between_steps", edges="cut"),
}
"""Rules by name: the reading of the printed rules that we chose, those that we measured beside it (docs/clips.md), the
fourth rule as it is printed, and clips that share nothing."""


def variant_rules(variant: str = "default") -> TrimRules:
    """Return the rules of a variant by name.

    Raises:
        UserError: if there is none of that name.
    """
    try:
        return VARIANTS[variant]
    except KeyError:
        raise UserError(
            f"there is no variant '{variant[:80]}' of trimming.", hint=f"known: {', '.join(VARIANTS)}"
        ) from None


# -- long recordings cut into clips of several minutes with enough different steps ---------------------------------


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
