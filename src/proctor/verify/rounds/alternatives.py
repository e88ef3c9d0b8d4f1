"""Tasks of naming other right orders: the authored one is shown, and people other than those who ordered add to it or say "none".

In the faster mode neighbours are linked that may swap. What follows are the orders that keep every other pair of steps as it was
written: with 1-2 and 2-3 linked these are 213 and 132, and not 231, in which 3 stands before 1. At most ``MOST`` of them count, and
the page says how many there are. Source: Wu et al. 2022, Section 4; the faster mode is ours. docs/rounds.md.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec

from proctor.metrics.ordering.partial import PartialOrder
from proctor.verify.desk.records import MAX_TEXT, InvalidError
from proctor.verify.desk.sheets import is_bad_text
from proctor.verify.rounds.kind import Fields, TaskKind
from proctor.verify.rounds.order import Shows, Step, StepId, StepIds, order_wrong, pictures_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from proctor.verify.desk.records import Person
    from proctor.verify.rounds.records import Round

__all__ = ["KIND", "MOST", "AlternativesOptions", "AlternativesSheet", "AlternativesTask", "orders_of_swaps"]

MOST: Final = 24
"""Orders that one person may name, and that count of linked neighbours."""


class AlternativesTask(msgspec.Struct, frozen=True, kw_only=True):
    """What other orders are named of: the steps in the order of the authors."""

    item: str
    shows: Shows
    steps: tuple[Step, ...]
    goal: str = ""


class AlternativesSheet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Other right orders.

    Attributes:
        mode: orders one by one (``lanes``), or neighbours that may swap (``swaps``).
        lanes: orders, as ids; those that follow of ``swaps`` when it is kept.
        swaps: pairs of neighbours in the authored order.
        none: there is no other order.
    """

    mode: Literal["lanes", "swaps"] = "lanes"
    lanes: Annotated[tuple[StepIds, ...], msgspec.Meta(max_length=MOST)] = ()
    swaps: tuple[tuple[StepId, StepId], ...] = ()
    none: bool = False
    note: str = ""


class AlternativesOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of a round: people that it takes to hold a vote on a manual."""

    quorum: Annotated[int, msgspec.Meta(ge=1)] = 2


def orders_of_swaps(authored: Sequence[str], swaps: Collection[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Return the orders that follow when neighbours may swap, without the authored one; at most ``MOST``.

    Example:
        >>> orders_of_swaps("abc", [("a", "b"), ("b", "c")])
        [('a', 'c', 'b'), ('b', 'a', 'c')]
    """
    free = set(swaps)
    kept = [pair for pair in pairwise(authored) if pair not in free]
    kept += [pair for far in (2, 3) for pair in zip(authored, authored[far:], strict=False)]
    order = PartialOrder(list(authored), kept)  # all pairs that are farther apart follow
    return [tuple(map(str, one)) for one in order.linear_extensions(MOST + 1)[1:]]


class _Alternatives(TaskKind[AlternativesTask, AlternativesSheet, AlternativesOptions]):
    """Naming other right orders."""

    name = "alternatives"
    title = "Name other right orders"
    detail = "See the steps of a manual in their order, and say in which other orders they could be done."
    task = AlternativesTask
    sheet = AlternativesSheet
    options = AlternativesOptions

    def check(
        self,
        sheet: AlternativesSheet,
        task: AlternativesTask,
        options: AlternativesOptions,  # noqa: ARG002
    ) -> AlternativesSheet:
        """Return the sheet with all its orders; an order twice is refused, and its twin is named (D8)."""
        authored = tuple(step.id for step in task.steps)
        errors: list[tuple[str, str]] = []
        lanes, swaps = sheet.lanes, tuple(dict.fromkeys(sheet.swaps))
        if sheet.none:
            if lanes or swaps:
                errors.append(("none", "You say that there is no other order, and name some. Take back one."))
        elif sheet.mode == "swaps":
            pairs = set(pairwise(authored))
            if any(pair not in pairs for pair in swaps):
                errors.append(("swaps", "Only neighbours in the authored order can be linked."))
            lanes = () if errors else tuple(orders_of_swaps(authored, swaps))
        else:
            swaps = ()
            errors += _wrong_lanes(lanes, authored, task.steps)
        if not (lanes or errors or sheet.none):
            errors.append(("lanes", "Name another order, or say that there is none."))
        if is_bad_text(sheet.note):
            errors.append(("note", f"A note holds at most {MAX_TEXT:,} characters of text."))
        if errors:
            raise InvalidError(errors)
        return AlternativesSheet(
            mode=sheet.mode, lanes=lanes, swaps=swaps, none=sheet.none, note=sheet.note.strip()
        )

    def of_form(
        self,
        fields: Fields,
        task: AlternativesTask,
        options: AlternativesOptions,  # noqa: ARG002
    ) -> AlternativesSheet:
        """Return the sheet of a plain form: ticked neighbours (``swap``, the number of the first, from 0), or "none"."""
        ids = [step.id for step in task.steps]
        ticked = sorted({int(n) for n in fields.getlist("swap") if isinstance(n, str) and n.isdecimal()})
        note = fields.get("note")
        return AlternativesSheet(
            mode="swaps",
            swaps=tuple((ids[n], ids[n + 1]) for n in ticked if n + 1 < len(ids)),
            none=fields.get("none") is not None,
            note=note if isinstance(note, str) else "",
        )

    def pictures(self, task: AlternativesTask) -> tuple[str, ...]:
        """Return the pictures of the steps."""
        return pictures_of(task.steps)

    def barred(self, connection: Connection, round_: Round, person: Person) -> Collection[str]:  # noqa: ARG002
        """Return the samples that this person has put in order (D4)."""
        from proctor.verify.rounds.seen import groups_done

        return groups_done(connection, person, "order")


def _wrong_lanes(
    lanes: Sequence[tuple[str, ...]], authored: tuple[str, ...], steps: Sequence[Step]
) -> list[tuple[str, str]]:
    errors = []
    first: dict[tuple[str, ...], int] = {}
    for n, lane in enumerate(lanes):
        if wrong := order_wrong(lane, steps):
            errors.append((f"lanes.{n}", wrong))
        elif lane == authored:
            errors.append((f"lanes.{n}", f"Order {n + 1} is the authored one. Change it, or remove it."))
        elif lane in first:
            errors.append((f"lanes.{n}", f"Order {n + 1} is the same as order {first[lane] + 1}."))
        first.setdefault(lane, n)
    return errors


KIND: Final = _Alternatives()
