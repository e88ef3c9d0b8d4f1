"""Tasks of putting steps in order: one manual, shown by its texts, its pictures or both. Source: Wu et al. 2022; docs/rounds.md.

Steps have the ids of the exam's question, which say nothing of the authored order, and neither does the order they are presented in.
The right order is not part of a task: who collects the answers takes it from the items of the workspace.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec

from proctor.verify.desk.records import InvalidError
from proctor.verify.rounds.form import Field, FormSheet, check_form, form_sheet
from proctor.verify.rounds.kind import Fields, TaskKind

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from proctor.verify.desk.records import Person
    from proctor.verify.rounds.records import Round

__all__ = ["KIND", "MAX_STEPS", "OrderOptions", "OrderSheet", "OrderTask", "Shows", "Step", "begun", "fault_of", "filled", "presented"]  # fmt: skip

Shows = Literal["both", "text", "image"]
MAX_STEPS: Final = 500
StepId = Annotated[str, msgspec.Meta(max_length=200)]
StepIds = Annotated[tuple[StepId, ...], msgspec.Meta(max_length=MAX_STEPS)]
Place = Annotated[int, msgspec.Meta(ge=0, lt=MAX_STEPS)]
_SURE: Final = Field(name="confidence", label="How sure are you?", type="scale", ends=("not at all", "very"))
_SHOWN: Final = {"both": "Both", "text": "Text", "image": "Pictures", "neither": "Neither"}
_HELPED: Final = Field(name="helped", label="What helped you?", type="choice", choices=_SHOWN)


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


def fault_of(order: Sequence[str], steps: Sequence[Step]) -> str:
    """Return why these ids are no order of the steps; empty where they are one."""
    known = {step.id for step in steps}
    if len(order) == len(steps) and set(order) == known:
        return ""
    return (
        f"An order holds each of the {len(steps)} cards once; this one has {len(known & set(order))} of them."
    )


def filled(sheet: FormSheet, fields: Sequence[Field], errors: Sequence[tuple[str, str]]) -> FormSheet:
    """Return what was chosen below the cards; what is missing there is raised together with the errors above it."""
    try:
        form = check_form(FormSheet(values=sheet.values, note=sheet.note), fields)
    except InvalidError as error:
        raise InvalidError([*errors, *error.errors]) from None
    if errors:
        raise InvalidError([*errors])
    return form


def begun(connection: Connection, person: Person, kind: str) -> set[str]:
    """Return the groups of tasks that a person has or has begun in rounds of a kind, whatever became of them."""
    from sqlalchemy import or_, select

    from proctor.verify.schema import tables

    a, t, r = tables().assignments, tables().tasks, tables().rounds
    joined = a.join(t, a.c.task_id == t.c.id).join(r, r.c.id == t.c.round_id)
    mine = select(t.c.cluster).select_from(joined).where(a.c.person_id == person.id, r.c.kind == kind)
    seen = mine.where(or_(a.c.live, a.c.started_at.is_not(None), a.c.submitted_at.is_not(None)))
    return set(connection.execute(seen).scalars())


class _Order(TaskKind[OrderTask, OrderSheet, OrderOptions]):
    """Putting steps in order."""

    name = "order"
    title = "Put steps in order"
    detail = "Move the shuffled steps of a manual into the order in which they happen."
    task = OrderTask
    sheet = OrderSheet
    options = OrderOptions

    def check(self, sheet: OrderSheet, task: OrderTask, options: OrderOptions) -> OrderSheet:
        """Return the sheet with the order that was presented, and whether it was left as it was."""
        start = tuple(step.id for step in task.steps)
        order = sheet.order or start
        errors = [("order", wrong)] if (wrong := fault_of(order, task.steps)) else []
        if order == start and not sheet.kept:
            errors.append(
                ("kept", "You have not moved a card. Keep this order? Tick the box, or move cards.")
            )
        form, same = filled(sheet, self.fields(task, options), errors), order == start
        return OrderSheet(
            order=order, kept=same, moves=sheet.moves, start=start, untouched=same, values=form.values, note=form.note
        )  # fmt: skip

    def of_form(self, fields: Fields, task: OrderTask, options: OrderOptions) -> OrderSheet:
        """Return the sheet of numbers that were typed (``place-<id>``), the smallest first; of equal ones the one that stood first."""

        def place(step: Step) -> int:
            given = fields.get(f"place-{step.id}")
            return int(given) if isinstance(given, str) and given.isdecimal() and len(given) < 9 else 10**9

        form = form_sheet(self.fields(task, options), fields)
        order = tuple(step.id for step in sorted(task.steps, key=place))
        kept = fields.get("kept") is not None
        return OrderSheet(order=order, kept=kept, values=form.values, note=form.note)

    def fields(self, task: OrderTask, options: OrderOptions) -> tuple[Field, ...]:  # noqa: ARG002
        """Return how sure somebody is and, where both are shown, which of them helped."""
        return (_SURE, _HELPED) if task.shows == "both" else (_SURE,)

    def pictures(self, task: OrderTask) -> tuple[str, ...]:
        """Return the pictures of the steps."""
        return tuple(path for step in task.steps for path in step.pictures)

    def barred(self, connection: Connection, round_: Round, person: Person) -> Collection[str]:  # noqa: ARG002
        """Return the samples of which this person was shown the authored order."""
        return begun(connection, person, "alternatives")


KIND: Final = _Order()
