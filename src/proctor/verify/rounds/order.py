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

__all__ = [
    "CONFIDENCE",
    "HELPED",
    "KIND",
    "MAX_STEPS",
    "OrderOptions",
    "OrderSheet",
    "OrderTask",
    "Shows",
    "Step",
    "asked_of",
    "letter",
    "order_wrong",
    "pictures_of",
    "presented",
]

Shows = Literal["both", "text", "image"]
MAX_STEPS: Final = 500
MAX_MOVES: Final = 2_000
"""Moves that a sheet keeps; the page writes down no further ones."""
StepId = Annotated[str, msgspec.Meta(max_length=200)]
StepIds = Annotated[tuple[StepId, ...], msgspec.Meta(max_length=MAX_STEPS)]

CONFIDENCE: Final = Field(
    name="confidence", label="How sure are you?", type="scale", ends=("not at all", "very")
)
HELPED: Final = Field(
    name="helped",
    label="What helped you?",
    type="choice",
    choices={"both": "Both", "text": "Text", "image": "Pictures", "neither": "Neither"},
)


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A step as it is shown; pictures are files of the workspace."""

    id: str
    text: str = ""
    pictures: tuple[str, ...] = ()


class OrderTask(msgspec.Struct, frozen=True, kw_only=True):
    """What is put in order: the steps as they are presented to begin with."""

    item: str
    shows: Shows
    steps: tuple[Step, ...]
    goal: str = ""


class OrderSheet(FormSheet, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An order, and how it came about; ``values`` are those of the questions below, see ``asked_of``.

    Attributes:
        order: ids, what is done first in front; empty for the order that was presented.
        kept: the order that was presented was confirmed.
        moves: id, place before and place after, from 0; at most ``MAX_MOVES``.
        doubtful: a plain form gave two steps the same number; cleared when it is sent again.
        start: the order that was presented; set when it is kept.
        untouched: that one was submitted; set when it is kept.
    """

    order: StepIds = ()
    kept: bool = False
    moves: Annotated[tuple[tuple[StepId, int, int], ...], msgspec.Meta(max_length=MAX_MOVES)] = ()
    doubtful: bool = False
    start: StepIds = ()
    untouched: bool = False


class OrderOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of a round: whether it chooses who may work (``qualification``) or counts."""

    phase: Literal["qualification", "main"] = "main"


def letter(number: int) -> str:
    """Return the name of a card, counted from 0: A to Z, AA, AB and so on.

    Example:
        >>> letter(0), letter(25), letter(26), letter(199)
        ('A', 'Z', 'AA', 'GR')
    """
    name = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        name = chr(65 + rest) + name
    return name


def asked_of(task: OrderTask) -> tuple[Field, ...]:
    """Return what is asked below the cards: which modality helped only where both are shown."""
    return (CONFIDENCE, HELPED) if task.shows == "both" else (CONFIDENCE,)


def presented(ids: Sequence[str], right: Collection[tuple[str, ...]], *parts: object) -> tuple[str, ...]:
    """Return the order in which steps are presented: drawn from the parts, never one that is right if there is another.

    Args:
        ids: in an order that tells nothing.
        right: orders that must not be presented, the authored one among them.
        *parts: what it is drawn from, such as seed, item and modality.
    """
    rng = random.Random(" ".join(map(str, parts)))  # noqa: S311 - not a secret
    drawn = list(ids)
    for _ in range(100):
        rng.shuffle(drawn)
        if tuple(drawn) not in right:
            break
    return tuple(drawn)


def order_wrong(order: Sequence[str], steps: Sequence[Step]) -> str:
    """Return why these are no order of the steps, empty where they are one."""
    ids = {step.id for step in steps}
    if len(order) == len(steps) and set(order) == ids:
        return ""
    return (
        f"An order holds each of the {len(steps)} cards once; this one has {len(set(order) & ids)} of them."
    )


def pictures_of(steps: Sequence[Step]) -> tuple[str, ...]:
    """Return the pictures of steps, in the order in which they are sent."""
    return tuple(path for step in steps for path in step.pictures)


class _Order(TaskKind[OrderTask, OrderSheet, OrderOptions]):
    """Putting steps in order."""

    name = "order"
    title = "Put steps in order"
    detail = "Move the shuffled steps of a manual into the order in which they happen."
    task = OrderTask
    sheet = OrderSheet
    options = OrderOptions

    def check(self, sheet: OrderSheet, task: OrderTask, options: OrderOptions) -> OrderSheet:  # noqa: ARG002
        """Return the sheet with the order that was presented, and whether it was left as it was."""
        start = tuple(step.id for step in task.steps)
        order = sheet.order or start
        errors: list[tuple[str, str]] = []
        if wrong := order_wrong(order, task.steps):
            errors.append(("order", wrong))
        elif sheet.doubtful:
            errors.append(
                ("order", "Two cards had one number. The order below is our guess: correct it, or send it.")
            )
        elif order == start and not sheet.kept:
            errors.append(
                ("kept", "You have not moved a card. Keep this order? Tick the box, or move cards.")
            )
        form = FormSheet(values=sheet.values, note=sheet.note)
        try:
            form = check_form(form, asked_of(task))
        except InvalidError as error:
            errors += error.errors
        if errors:
            raise InvalidError(errors)
        return OrderSheet(
            order=order,
            kept=sheet.kept and order == start,
            moves=sheet.moves,
            values=form.values,
            note=form.note,
            start=start,
            untouched=order == start,
        )

    def of_form(self, fields: Fields, task: OrderTask, options: OrderOptions) -> OrderSheet:  # noqa: ARG002
        """Return the sheet of numbers that were typed, ``place-<id>``: who has the smallest is first."""
        places = [_number(fields.get(f"place-{step.id}"), n) for n, step in enumerate(task.steps, 1)]
        drawn = sorted(zip(places, range(len(places)), strict=True))
        form = form_sheet(asked_of(task), fields)
        return OrderSheet(
            order=tuple(task.steps[n].id for _, n in drawn),
            kept=fields.get("kept") is not None,
            values=form.values,
            note=form.note,
            doubtful=len(set(places)) < len(places),
        )

    def fields(self, task: OrderTask, options: OrderOptions) -> tuple[Field, ...]:  # noqa: ARG002
        """Return how sure somebody is and, where both are shown, which modality helped."""
        return asked_of(task)

    def pictures(self, task: OrderTask) -> tuple[str, ...]:
        """Return the pictures of the steps."""
        return pictures_of(task.steps)

    def barred(self, connection: Connection, round_: Round, person: Person) -> Collection[str]:
        """Return the samples of which this person was shown the authored order, and those ordered elsewhere lately (D3)."""
        from proctor.verify.rounds.seen import groups_done

        rest = round_.settings.rest_days
        lately = groups_done(connection, person, "order", days=rest, but=round_)
        return lately | groups_done(connection, person, "alternatives")


def _number(given: object, otherwise: int) -> int:
    text = given.strip() if isinstance(given, str) else ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else otherwise


KIND: Final = _Order()
