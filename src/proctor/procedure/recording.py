"""One performance of a procedure: which steps were done when, and what went wrong.

Conventions: times are float seconds from the start of the recording, segments are half-open ``[start, end)``,
ids are strings. A skipped step is a segment without times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from proctor.said import Said, say
from proctor.tables import Shown

__all__ = ["MISTAKE_KINDS", "MISTAKE_NAMES", "Action", "Mistake", "Recording", "Segment", "mistake_kind"]

MISTAKE_NAMES: Final[Mapping[str, Said]] = {
    "missing": say("Missing step"),
    "order": say("Order"),
    "preparation": say("Preparation"),
    "measurement": say("Measurement"),
    "technique": say("Technique"),
    "temperature": say("Temperature"),
    "timing": say("Timing"),
    "other": say("Other"),
}
"""What people call the kinds."""
MISTAKE_KINDS: Final[tuple[str, ...]] = tuple(MISTAKE_NAMES)
"""The kinds every part of Proctor knows. A data set may bring further kinds; they count as mistakes everywhere
but no question type is derived from them."""


def mistake_kind(tag: str) -> str:
    """Return the kind for a data set's tag: ``"Order Error"`` is ``order``, ``"Missing Step"`` is ``missing``."""
    if tag == "Missing Step":
        return "missing"
    return tag.removesuffix(" Error").strip().lower() or "other"


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing that went wrong in one step: its kind and what an annotator wrote about it."""

    kind: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Segment:
    """One step of a recording.

    Attributes:
        step_id: id of the step in the task graph.
        text: the instruction as the procedure gives it.
        start: seconds, None when the step was skipped.
        end: seconds, exclusive; None when the step was skipped.
        performed: what the person really did, when it differs from the instruction.
        mistakes: in the annotators' order.
    """

    step_id: str
    text: str
    start: float | None = None
    end: float | None = None
    performed: str | None = None
    mistakes: tuple[Mistake, ...] = ()

    @property
    def skipped(self) -> bool:
        """True when the step was not performed: no times, or marked missing."""
        return self.end is None or any(m.kind == "missing" for m in self.mistakes)

    @property
    def description(self) -> str:
        """What was done: the performed text where there is one, else the instruction."""
        return self.performed if self.performed is not None else self.text


@dataclass(frozen=True, slots=True)
class Action:
    """A fine-grained action below the steps: what hands do.

    Attributes:
        start: seconds.
        end: seconds, exclusive.
        verb: ``cut``.
        noun: what it is done to; empty for nothing.
        source: who says so: ``manual``, ``narration``, a model; empty where it is not known.
        step_id: the step that it belongs to, None where it is not known.
    """

    start: float
    end: float
    verb: str
    noun: str = ""
    source: str = ""
    step_id: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Recording(Shown):
    """One performance of an activity; ``segments`` are in the order of their start, skipped ones first.

    Attributes:
        id: unique in its data set.
        activity_id: which task graph it follows.
        activity_name: for people.
        segments: what happened.
        duration: length of the video in seconds, if known.
        video: path of the video file relative to the data set's root, if there is one.
        attributes: whatever else is known (person, environment, split, ...), plain text values.
        actions: fine-grained ones, in the order of their start.
    """

    id: str
    activity_id: str
    activity_name: str
    segments: tuple[Segment, ...]
    duration: float | None = None
    video: str | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    actions: tuple[Action, ...] = ()

    def _cells(self) -> dict[str, object]:
        counts = {"segments": len(self.segments), "mistakes": sum(len(one.mistakes) for one in self.segments)}
        return {"id": self.id, "activity": self.activity_name, "duration": self.duration, **counts}

    @property
    def performed(self) -> tuple[Segment, ...]:
        """The segments that really happened, in order."""
        return tuple(s for s in self.segments if not s.skipped)

    @property
    def has_mistakes(self) -> bool:
        """True when any step carries a mistake."""
        return any(s.mistakes for s in self.segments)
