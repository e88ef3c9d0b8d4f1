"""The rules by which long recordings are cut into clips, and the variants that have a name.

The printed rules of InstructionBench's supplement: steps are added until a clip is longer
than four minutes; it has at least seven steps; at least half as many categories as steps; "total steps at least half of
the longest run of one category"; the next clip starts from there. They leave open what a clip's length is, to which clip
the step belongs that crosses the four minutes, what happens when a rule fails, at which level steps are counted, and what
becomes of the rest; the fourth, as printed, always holds. Each of these is a setting of ``TrimRules``, and ``VARIANTS``
names those that were measured, and one that no other offers:

``between_steps`` cuts only where no step runs and not beyond the video, so that no two clips share a picture and each
clip shows the steps that it lists and nothing of others. Where annotations overlap the other variants do not keep to that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

from proctor.errors import UserError

__all__ = ["DEFAULT", "VARIANTS", "TrimRules", "variant_rules"]

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
        _require_whole("min_steps", self.min_steps)
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


def _require_number(name: str, value: object, low: float, high: float, wanted: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(name, value, wanted)
    if not low <= value <= high or value == math.inf:  # NaN is in no range
        raise _wrong(name, value, wanted)


def _require_whole(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _wrong(name, value, "a whole number, 1 or more")


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
