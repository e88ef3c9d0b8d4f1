"""Tasks of putting steps in order: one manual, shown by its texts, its pictures or both. Source: Wu et al. 2022; docs/rounds.md.

Steps have the ids of the exam's question, which say nothing of the authored order, and neither does the order they are presented in.
The right order is not part of a task: who collects the answers takes it from the items of the workspace.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal, TypeVar

import msgspec

from proctor.said import say, say_in
from proctor.verify.desk.records import InvalidError
from proctor.verify.rounds.form import Field, FormSheet, check_form
from proctor.verify.rounds.kind import TaskKind

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from proctor.verify.desk.records import Person
    from proctor.verify.rounds.records import Round

__all__ = ["KIND", "MAX_STEPS", "CardsKind", "OrderOptions", "OrderSheet", "OrderTask", "Shows", "Step", "fault_of", "presented"]  # fmt: skip

S = TypeVar("S", bound=FormSheet)
O = TypeVar("O", bound=msgspec.Struct)  # noqa: E741 - of the round
Shows = Literal["both", "text", "image"]
MAX_STEPS: Final = 500
StepId = Annotated[str, msgspec.Meta(max_length=200)]
StepIds = Annotated[tuple[StepId, ...], msgspec.Meta(max_length=MAX_STEPS)]
Place = Annotated[int, msgspec.Meta(ge=0, lt=MAX_STEPS)]
_SURE: Final = Field(
    name="confidence",
    label=say("How sure are you?"),
    type="scale",
    ends=(say_in("how sure", "not at all"), say_in("how sure", "very")),
)
_SHOWN: Final[dict[str, str]] = {
    "both": say("Both"),
    "text": say("Text"),
    "image": say("Pictures"),
    "neither": say("Neither"),
}
_HELPED: Final = Field(name="helped", label=say("What helped you?"), type="choice", choices=_SHOWN)


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A step as it is shown; pictures are files of the workspace."""

    id: str
    text: str = ""
    pictures: tuple[str, ...] = ()


class OrderTask(msgspec.Struct, frozen=True, kw_only=True):
    """Steps as they are shown to begin with, and what they lead to."""

    steps: tuple[Step, ...]
    shows: Shows
    goal: str = ""


class OrderSheet(FormSheet, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An order, and how it came about; ``values`` are ``confidence`` and ``helped``.

    Attributes:
        order: ids, what is done first in front; empty for the order that was presented.
        kept: the order that was presented was confirmed.
        moves: id, place before and place after, from 0; the page writes down no more than 2,000.
        start: the order that was presented; set when the sheet is kept, as is ``untouched``: that one was submitted.
    """

    order: StepIds = ()
    kept: bool = False
    moves: Annotated[tuple[tuple[StepId, Place, Place], ...], msgspec.Meta(max_length=2_000)] = ()
    start: StepIds = ()
    untouched: bool = False


class OrderOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether a round chooses who may work (``qualification``) or counts."""

    phase: Literal["qualification", "main"] = "main"


def presented(ids: Sequence[str], right: Sequence[tuple[str, ...]], *parts: object) -> tuple[str, ...]:
    """Return the order in which steps are presented, drawn from the parts: never the first of the right ones, if possible none."""
    rng = random.Random(" ".join(map(str, parts)))  # noqa: S311 - not a secret
    for _ in range(100):
        drawn = tuple(rng.sample(list(ids), len(ids)))
        if drawn not in right:
            return drawn
    return drawn if drawn != right[0] else (*drawn[1:], drawn[0])


class CardsKind(TaskKind[OrderTask, S, O]):
    """A kind whose tasks show steps as cards; ``other``: who has had a manual in that kind does not get it here."""

    task = OrderTask
    other: ClassVar[str]

    def pictures(self, task: OrderTask) -> tuple[str, ...]:
        """Return the pictures of the steps."""
        return tuple(path for step in task.steps for path in step.pictures)

    def barred(self, connection: Connection, round_: Round, person: Person) -> Collection[str]:  # noqa: ARG002
        """Return the samples that a person has, or has begun, in the other kind, whatever became of them (D4)."""
        from sqlalchemy import or_, select

        from proctor.verify.schema import tables

        a, t, r = tables().assignments, tables().tasks, tables().rounds
        joined = a.join(t, a.c.task_id == t.c.id).join(r, r.c.id == t.c.round_id)
        mine = (
            select(t.c.cluster).select_from(joined).where(a.c.person_id == person.id, r.c.kind == self.other)
        )
        seen = mine.where(or_(a.c.live, a.c.started_at.is_not(None), a.c.submitted_at.is_not(None)))
        return set(connection.execute(seen).scalars())

    def filled(self, sheet: S, task: OrderTask, options: O, errors: Sequence[tuple[str, str]]) -> FormSheet:
        """Return what was chosen below the cards; what is wrong there is raised together with the errors above it."""
        try:
            form = check_form(FormSheet(values=sheet.values, note=sheet.note), self.fields(task, options))
        except InvalidError as error:
            raise InvalidError([*errors, *error.errors]) from None
        if errors:
            raise InvalidError([*errors])
        return form


def fault_of(order: Sequence[str], steps: Sequence[Step]) -> str:
    """Return why these ids are no order of the steps; empty where they are one."""
    known = {step.id for step in steps}
    if len(order) == len(steps) and set(order) == known:
        return ""
    found = len(known & set(order))
    return say(
        "An order holds each of the {total} cards once; this one has {found} of them.",
        total=len(steps),
        found=found,
    )


class _Order(CardsKind[OrderSheet, OrderOptions]):
    """Putting steps in order."""

    name, other = "order", "alternatives"
    title = say("Put steps in order")
    detail = say("Move the shuffled steps of a manual into the order in which they happen.")
    sheet, options = OrderSheet, OrderOptions

    def check(self, sheet: OrderSheet, task: OrderTask, options: OrderOptions) -> OrderSheet:
        """Return the sheet with the order that was presented, and whether it was left as it was."""
        start = tuple(step.id for step in task.steps)
        order = sheet.order or start
        errors = [("order", wrong)] if (wrong := fault_of(order, task.steps)) else []
        if (same := order == start) and not sheet.kept:
            errors.append(
                ("kept", say("You have not moved a card. Keep this order? Tick the box, or move cards."))
            )
        form, change = self.filled(sheet, task, options, errors), msgspec.structs.replace
        found = change(sheet, values=form.values, note=form.note)
        return change(found, order=order, start=start, kept=same, untouched=same)

    def fields(self, task: OrderTask, options: OrderOptions) -> tuple[Field, ...]:  # noqa: ARG002
        """Return how sure somebody is and, where both are shown, which of them helped."""
        return (_SURE, _HELPED) if task.shows == "both" else (_SURE,)


KIND: Final = _Order()
