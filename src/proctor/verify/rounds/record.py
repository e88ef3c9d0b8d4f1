"""Recordings: a script that a participant prepares, performs before a tablet and looks back on. docs/capture.md, docs/rounds.md.

What is planned (the script, and what the participant prepared) and what was done (events, review) are apart, and nothing of the one
ever changes the other. Strategies and the review are those of CaptainCook4D, appendix C.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec

from proctor.capture.records import Event, PlannedMistake, Script, SeenMistake, Slot, StepReview
from proctor.procedure.recording import MISTAKE_KINDS
from proctor.verify.desk.records import InvalidError
from proctor.verify.desk.sheets import is_bad_text
from proctor.verify.rounds.kind import Offer, TaskKind

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from proctor.verify.desk.records import Person
    from proctor.verify.rounds.records import Round

__all__ = ["CHECKS", "KIND", "RecordOptions", "RecordSheet", "RecordTask"]

CHECKS: Final = {
    "identity": "Nothing in the room or on me says who I am: no post, photographs, name tags",
    "orientation": "I was shown around, and know where things are",
    "consent": "I agree to be recorded today",
    "items": "Everything that is needed is at hand",
}
"""What a participant confirms before a recording."""
_Word = Annotated[str, msgspec.Meta(max_length=64)]


class RecordTask(msgspec.Struct, frozen=True, kw_only=True):
    """A recording that is to be made: its place in the plan, what is to be done, and the texts of steps that are left out."""

    slot: Slot
    script: Script
    left_out: dict[str, str] = {}


class RecordOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a round is recorded.

    Attributes:
        streams: what the tablet itself records; nothing where it only shows the steps.
        countdown_s: before the flash with which a recording begins.
        paragraph: show the whole text at once: the single step on a tablet can be read in the video.
        minutes: that a recording may take; so much room the tablet needs.
    """

    streams: tuple[Literal["camera", "microphone"], ...] = ("camera", "microphone")
    countdown_s: Annotated[int, msgspec.Meta(ge=0, le=60)] = 5
    paragraph: bool = False
    minutes: Annotated[int, msgspec.Meta(ge=1, le=600)] = 60


class RecordSheet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was prepared, done and seen.

    Attributes:
        stage: how far it is.
        ready: names of ``CHECKS``.
        texts: by id of a step, what the participant will read in place of the script's text.
        planned: mistakes that they plan beside those of the script.
        events: of the tablet, in its own clock ``tablet:<page load>``; ``n`` counts from 0.
        slices: of each part of the tablet's recording, by name, as many as were taken.
        review: of steps that were looked at.
    """

    stage: Literal["prepare", "record", "review"] = "prepare"
    ready: Annotated[tuple[_Word, ...], msgspec.Meta(max_length=20)] = ()
    texts: Annotated[dict[str, str], msgspec.Meta(max_length=500)] = {}
    planned: Annotated[tuple[PlannedMistake, ...], msgspec.Meta(max_length=200)] = ()
    events: Annotated[tuple[Event, ...], msgspec.Meta(max_length=5_000)] = ()
    slices: Annotated[dict[_Word, int], msgspec.Meta(max_length=200)] = {}
    review: Annotated[tuple[StepReview, ...], msgspec.Meta(max_length=500)] = ()
    note: str = ""


class _Record(TaskKind[RecordTask, RecordSheet, RecordOptions]):
    """Recording a script."""

    name = "record"
    title = "Record an activity"
    detail = "Prepare a script, do its steps while they are recorded, and say what went differently."
    task, sheet, options = RecordTask, RecordSheet, RecordOptions

    def check(self, sheet: RecordSheet, task: RecordTask, options: RecordOptions) -> RecordSheet:  # noqa: ARG002
        """Return the sheet with the review in the order of the script.

        Steps that the script leaves out come last, and are reviewed like all others.
        """
        script = task.script
        steps = {s.step: s.text for s in script.steps} | {
            s: task.left_out.get(s, "") for s in script.left_out
        }
        review = {one.step: one for one in sheet.review}
        errors = [
            *_wrong_preparation(sheet, steps), *_wrong_events(sheet, steps), *_wrong_review(sheet, review, steps),
        ]  # fmt: skip
        if is_bad_text(sheet.note):
            errors.append(("note", "The note is too long, or is no text."))
        if errors:
            raise InvalidError(errors)
        texts = {s: t.strip() for s, t in sheet.texts.items() if t.strip() and t.strip() != steps[s]}
        kept = tuple(_trimmed(review[step]) for step in steps)
        return msgspec.structs.replace(
            sheet, texts=texts, review=kept, note=sheet.note.strip(), ready=tuple(c for c in CHECKS if c in sheet.ready)
        )  # fmt: skip

    def offer(self, task: RecordTask) -> Offer:
        """Return whose a recording is by the plan, what it is called, what it needs and what is done in it."""
        slot, script = task.slot, task.script
        title = " · ".join(filter(None, (script.title, slot.strategy, slot.environment, slot.day)))
        return Offer(slot.participant, title, ", ".join(script.items), tuple(s.text for s in script.steps))

    def barred(self, connection: Connection, round_: Round, person: Person) -> set[str]:
        """Return the groups of recordings that the plan has for others."""
        from proctor.verify.desk.rounds import list_tasks

        mine = ("", person.handle.casefold())
        decoder = msgspec.json.Decoder(RecordTask)
        tasks = ((t.group, decoder.decode(t.body)) for t in list_tasks(connection, round_))
        return {group for group, task in tasks if task.slot.participant.casefold() not in mine}


def _trimmed(one: StepReview) -> StepReview:
    performed = (one.performed or "").strip() or None
    mistakes = tuple(msgspec.structs.replace(m, text=m.text.strip()) for m in one.mistakes)
    return msgspec.structs.replace(one, performed=performed, mistakes=mistakes)


def _wrong_preparation(sheet: RecordSheet, steps: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for step, text in sheet.texts.items():
        if step not in steps or is_bad_text(text):
            yield f"texts.{step[:40]}", "This text is of no step, too long, or no text."
    for mistake in sheet.planned:
        yield from _wrong_mistake("planned", mistake, steps)
    if missing := [c for c in CHECKS if c not in sheet.ready]:
        yield "ready", f"Not confirmed before the recording: {', '.join(missing)}."


def _wrong_events(sheet: RecordSheet, steps: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    states = [e.text for e in sheet.events if e.kind == "state"]
    if [e.n for e in sheet.events] != list(range(len(sheet.events))):
        yield "events", "Events are missing: their numbers have gaps. Tell the coordinator."
    if "recording" not in states or states[-1] != "stopped":
        yield "events", "Nothing was recorded yet, or the recording has not been stopped."
    if any((e.step and e.step not in steps) or is_bad_text(e.text) for e in sheet.events):
        yield "events", "An event is of no step of this script."
    if any(not 0 <= count < 10**6 for count in sheet.slices.values()):
        yield "slices", "The number of slices cannot be."


def _wrong_review(
    sheet: RecordSheet, review: Mapping[str, StepReview], steps: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    for n, step in enumerate(steps, 1):
        if step not in review:
            yield f"review.{step}", f"Step {n} has not been looked at: as planned, or differently?"
    for step, one in review.items():
        if step not in steps:
            yield f"review.{step[:40]}", "This step is not of the script."
        elif is_bad_text(one.performed or ""):
            yield f"review.{step}", "What was done instead is too long, or is no text."
        elif not one.as_planned and one.done and not (one.performed or "").strip() and not one.mistakes:
            yield f"review.{step}", "Say what was done differently, or which mistake was made."
        for mistake in one.mistakes:
            yield from _wrong_mistake(f"review.{step[:40]}", mistake, steps)
    if len(review) != len(sheet.review):
        yield "review", "A step is reviewed twice."


def _wrong_mistake(
    field: str, mistake: PlannedMistake | SeenMistake, steps: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    if mistake.step not in steps or mistake.kind not in MISTAKE_KINDS or is_bad_text(mistake.text):
        yield field, f"A mistake is of no step, of no kind ({', '.join(MISTAKE_KINDS)}), or has no good text."


KIND: Final = _Record()
