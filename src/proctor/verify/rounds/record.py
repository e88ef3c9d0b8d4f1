"""Recordings: a script that a participant prepares, performs before a tablet and looks back on. docs/capture.md, docs/rounds.md.

What is planned (the script, and what the participant prepared) and what was done (events, review) are apart, and neither changes
the other. Strategies and the review are those of CaptainCook4D, appendix C.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec

from proctor.capture.records import Event, PlannedMistake, Script, SeenMistake, Slot, StepReview
from proctor.procedure.recording import MISTAKE_KINDS
from proctor.said import listed, say, say_in
from proctor.verify.desk.records import InvalidError
from proctor.verify.desk.sheets import is_bad_text
from proctor.verify.rounds.kind import Offer, TaskKind

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from proctor.verify.desk.records import Person
    from proctor.verify.rounds.records import Round

__all__ = ["CHECKS", "KIND", "RecordOptions", "RecordSheet", "RecordTask"]

CHECKS: Final = {
    "identity": say("Nothing in the room or on me says who I am: no post, photographs, name tags"),
    "orientation": say("I was shown around, and know where things are"),
    "consent": say("I agree to be recorded today"),
    "items": say("Everything that is needed is at hand"),
}
"""What a participant confirms before a recording."""
_NAMES: Final = {
    "identity": say_in("check before a recording", "identity"),
    "orientation": say_in("check before a recording", "orientation"),
    "consent": say_in("check before a recording", "consent"),
    "items": say_in("check before a recording", "items"),
}
_STRATEGIES: Final = {
    "normal": say_in("strategy of a recording", "normal"),
    "impromptu": say_in("strategy of a recording", "impromptu"),
    "disordered": say_in("strategy of a recording", "disordered"),
    "missing": say_in("strategy of a recording", "missing"),
    "induced": say_in("strategy of a recording", "induced"),
}
_Word = Annotated[str, msgspec.Meta(max_length=64)]


class RecordTask(msgspec.Struct, frozen=True, kw_only=True):
    """A recording that is to be made: its place in the plan, what is to be done, and the texts of steps that are left out."""

    slot: Slot
    script: Script
    left_out: dict[str, str] = {}


class RecordOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the tablet itself records (nothing: it only shows the steps), seconds before the flash, whether the whole text is shown
    instead of one step (which can be read in the video), and minutes that a recording may take.
    """  # noqa: D205

    streams: tuple[Literal["camera", "microphone"], ...] = ("camera", "microphone")
    countdown_s: Annotated[int, msgspec.Meta(ge=0, le=60)] = 5
    paragraph: bool = False
    minutes: Annotated[int, msgspec.Meta(ge=1, le=600)] = 60


class RecordSheet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was prepared, done and seen.

    Attributes:
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
    slices: Annotated[dict[_Word, Annotated[int, msgspec.Meta(ge=0, le=100_000)]], msgspec.Meta(max_length=200)] = {}  # fmt: skip
    review: Annotated[tuple[StepReview, ...], msgspec.Meta(max_length=500)] = ()
    note: str = ""


class _Record(TaskKind[RecordTask, RecordSheet, RecordOptions]):
    """Recording a script."""

    name, title = "record", say("Record an activity")
    detail = say("Prepare a script, do its steps while they are recorded, and say what went differently.")
    task, sheet, options = RecordTask, RecordSheet, RecordOptions

    def check(self, sheet: RecordSheet, task: RecordTask, options: RecordOptions) -> RecordSheet:  # noqa: ARG002
        """Return the sheet with the review in the order of the script; steps that it leaves out come last."""
        steps = {s.step: s.text for s in task.script.steps} | {s: task.left_out.get(s, "") for s in task.script.left_out}  # fmt: skip
        if errors := list(_faults(sheet, steps)):
            raise InvalidError(errors)
        change, review = msgspec.structs.replace, {one.step: one for one in sheet.review}
        texts = {s: t.strip() for s, t in sheet.texts.items() if t.strip() and t.strip() != steps[s]}
        kept = tuple(change(review[s], performed=(review[s].performed or "").strip() or None) for s in steps)
        ready = tuple(c for c in CHECKS if c in sheet.ready)
        return change(sheet, texts=texts, review=kept, note=sheet.note.strip(), ready=ready)

    def offer(self, task: RecordTask) -> Offer:
        """Return whose a recording is by the plan, what it is called, what it needs and what is done in it."""
        slot, script = task.slot, task.script
        parts = [script.title, _STRATEGIES[slot.strategy], slot.environment, slot.day]
        title = reduce(lambda a, b: say("{first} · {second}", first=a, second=b), filter(None, parts))
        return Offer(slot.participant, title, ", ".join(script.items), tuple(s.text for s in script.steps))

    def barred(self, connection: Connection, round_: Round, person: Person) -> set[str]:
        """Return the groups of recordings that the plan has for others: a code is the name that its participant signs in with."""
        from proctor.verify.desk.rounds import list_tasks

        decoder, mine = msgspec.json.Decoder(RecordTask), ("", person.handle.casefold())
        tasks = ((t.group, decoder.decode(t.body)) for t in list_tasks(connection, round_))
        return {group for group, task in tasks if task.slot.participant.casefold() not in mine}


def _faults(sheet: RecordSheet, steps: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    states = [e.text for e in sheet.events if e.kind == "state"]
    seen = [one.step for one in sheet.review]
    if missing := [c for c in CHECKS if c not in sheet.ready]:
        yield (
            "ready",
            say(
                "Not confirmed before the recording: {names}.",
                names=listed(_NAMES[c] for c in missing),
            ),
        )
    if any(step not in steps or is_bad_text(text) for step, text in sheet.texts.items()):
        yield "texts", say("A text belongs to no step of this script, is too long, or is not text.")
    if any(_is_bad(m, steps) for m in sheet.planned):
        yield "planned", _NO_MISTAKE
    if "recording" not in states or states[-1] != "stopped":
        yield "events", say("Nothing has been recorded yet, or the recording has not been stopped.")
    if any(e.n != n or (e.step and e.step not in steps) or is_bad_text(e.text) for n, e in enumerate(sheet.events)):  # fmt: skip
        yield (
            "events",
            say("Events are missing, or one belongs to no step of this script. Tell the coordinator."),
        )
    if len(seen) != len(set(seen)) or not set(seen) <= set(steps):
        yield "review", say("A step is reviewed twice, or is not in this script.")
    for n, step in enumerate(steps, 1):
        if step not in seen:
            yield f"review.{step}", say("Step {n} has not been looked at: as planned, or differently?", n=n)
    for one in sheet.review:
        said = (one.performed or "").strip() or one.mistakes
        if not one.as_planned and one.done and not said:
            yield f"review.{one.step[:40]}", say("Say what was done differently, or which mistake was made.")
        if is_bad_text(one.performed or "") or any(_is_bad(m, steps) for m in one.mistakes):
            yield (
                f"review.{one.step[:40]}",
                say("A text is too long, or is not text. {more}", more=_NO_MISTAKE),
            )
    if is_bad_text(sheet.note):
        yield "note", say("The note is too long, or is not text.")


_NO_MISTAKE: Final = say(
    "A mistake belongs to a step of the script, and is one of: {kinds}.", kinds=", ".join(MISTAKE_KINDS)
)


def _is_bad(mistake: PlannedMistake | SeenMistake, steps: Mapping[str, str]) -> bool:
    return mistake.step not in steps or mistake.kind not in MISTAKE_KINDS or is_bad_text(mistake.text)


KIND: Final = _Record()
