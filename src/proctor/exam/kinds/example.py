"""The record that derivation produces: one moment of one recording, and what may be asked there."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

import msgspec

from proctor.procedure.recording import Mistake
from proctor.procedure.showing import shown_text
from proctor.tables import Shown

__all__ = [
    "PROCESS_TYPES",
    "QUESTION_TYPES",
    "STEP_TYPES",
    "Example",
    "Performed",
    "State",
    "StepRef",
    "shown_example",
]

PROCESS_TYPES: Final[tuple[str, ...]] = ("next", "missing", "order")
STEP_TYPES: Final[tuple[str, ...]] = ("preparation", "measurement", "timing", "technique", "temperature")
QUESTION_TYPES: Final[tuple[str, ...]] = PROCESS_TYPES + STEP_TYPES

State = Literal["started", "ongoing", "finished", "blocked"]
"""``started``: nothing done yet. ``finished``: all that has to be done is. ``blocked``: nothing can be done next before
missing steps are made up for (the published system confuses the last two)."""


class StepRef(msgspec.Struct, frozen=True):
    """A step of the task graph: its id there and its text."""

    step_id: str
    text: str


class Performed(msgspec.Struct, frozen=True, omit_defaults=True):
    """A step as it was performed: ``text`` is what was done, ``instruction`` what the procedure says.

    ``reopens`` are ids of steps that stood done and are open again since (``procedure.progress``).
    """

    step_id: str
    text: str
    instruction: str = ""
    mistakes: tuple[Mistake, ...] = ()
    start: float | None = None
    end: float | None = None
    reopens: tuple[str, ...] = ()


class Example(Shown, msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A moment that may be asked about, with every fact that decides the answer.

    Attributes:
        id: ``<clip_id>_<type>``, unique.
        clip_id: ``<recording>_<step>``; the clip is ``[0, end)`` of the recording.
        type: one of ``QUESTION_TYPES``.
        end: seconds.
        previous: performed steps before the current one, in time order.
        current: the step just performed; None at the very start.
        next_steps: what may be done now (type ``next``).
        missing_steps: what should have been done before now (type ``missing``).
        mistake_texts: the annotators' words for the mistake of this type (other types); last one last.
        blocking: (before, after) pairs of step ids: ``after`` was done although ``before`` had to come first.
        state: see ``State``.
        noisy: an earlier step was done wrongly.
        all_next: what may be done now, whatever the type.
        all_missing: what should have been done before now, whatever the type.
        recording_hash: content hash of the recording it was derived from.
    """

    id: str
    clip_id: str
    recording_id: str
    activity_id: str
    activity_name: str
    type: str
    end: float
    state: State
    noisy: bool
    current: Performed | None = None
    previous: tuple[Performed, ...] = ()
    next_steps: tuple[StepRef, ...] | None = None
    missing_steps: tuple[StepRef, ...] | None = None
    mistake_texts: tuple[str, ...] = ()
    blocking: tuple[tuple[str, str], ...] = ()
    all_next: tuple[StepRef, ...] = ()
    all_missing: tuple[StepRef, ...] = ()
    video: str | None = None
    recording_hash: str = ""

    @property
    def has_answer(self) -> bool:
        """True when the target set is not empty (always true for mistake types)."""
        if self.type == "next":
            return bool(self.next_steps)
        if self.type == "missing":
            return bool(self.missing_steps)
        return True

    @property
    def performed(self) -> tuple[Performed, ...]:
        """Everything done so far, the current step last."""
        return (*self.previous, self.current) if self.current is not None else self.previous


def shown_example(example: Example) -> Example:
    """Return an example with the words that models are shown: steps and remarks without their ``Verb-`` tags."""
    return msgspec.structs.replace(
        example,
        current=None if example.current is None else _shown_step(example.current),
        previous=tuple(map(_shown_step, example.previous)),
        next_steps=None if example.next_steps is None else _shown_steps(example.next_steps),
        missing_steps=None if example.missing_steps is None else _shown_steps(example.missing_steps),
        mistake_texts=tuple(map(shown_text, example.mistake_texts)),
        all_next=_shown_steps(example.all_next),
        all_missing=_shown_steps(example.all_missing),
    )


def _shown_step(step: Performed) -> Performed:
    mistakes = tuple(replace(mistake, text=shown_text(mistake.text)) for mistake in step.mistakes)
    return msgspec.structs.replace(
        step, text=shown_text(step.text), instruction=shown_text(step.instruction), mistakes=mistakes
    )


def _shown_steps(steps: tuple[StepRef, ...]) -> tuple[StepRef, ...]:
    return tuple(StepRef(step.step_id, shown_text(step.text)) for step in steps)
