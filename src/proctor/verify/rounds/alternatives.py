"""Tasks of naming other right orders: the authored one is shown, to people who did not put these steps in order themselves.

In the faster mode neighbours are linked that may swap. What follows are the orders that keep every other pair of steps as it was
written: with 1-2 and 2-3 linked these are 132 and 213, and not 231, in which 3 stands before 1. Source: Wu et al. 2022, Section 4;
the faster mode is ours. docs/rounds.md.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Annotated, Final, Literal

import msgspec

from proctor.metrics.ordering.partial import PartialOrder
from proctor.said import say
from proctor.verify.rounds.form import Field, FormSheet
from proctor.verify.rounds.order import CardsKind, OrderTask, StepId, StepIds, fault_of

__all__ = ["KIND", "MOST", "AlternativesOptions", "AlternativesSheet", "orders_of_swaps"]

MOST: Final = 24
"""Orders that one person may name, and that count of linked neighbours."""
_VOTES: Final = (
    Field(name="procedural", label=say("Do texts and pictures both tell a procedure?")),
    Field(name="complementary", label=say("Do the pictures add to the texts?")),
)


class AlternativesSheet(FormSheet, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Other right orders; ``values`` are votes, where they are asked for.

    Attributes:
        mode: orders one by one (``lanes``), or neighbours that may swap (``swaps``).
        lanes: orders, as ids; when the sheet is kept, those that follow of ``swaps``.
        swaps: pairs of neighbours in the authored order.
        none: there is no other order.
    """

    mode: Literal["lanes", "swaps"] = "lanes"
    lanes: Annotated[tuple[StepIds, ...], msgspec.Meta(max_length=MOST)] = ()
    swaps: tuple[tuple[StepId, StepId], ...] = ()
    none: bool = False


class AlternativesOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``votes``: also ask whether a manual suits a golden set."""

    votes: bool = False


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


class _Alternatives(CardsKind[AlternativesSheet, AlternativesOptions]):
    """Naming other right orders."""

    name, other = "alternatives", "order"
    title = say("Other right orders")
    detail = say(
        "See the steps of a manual in their order, and say in which other orders they could be done."
    )
    sheet, options = AlternativesSheet, AlternativesOptions

    def check(self, sheet: AlternativesSheet, task: OrderTask, options: AlternativesOptions) -> AlternativesSheet:  # fmt: skip
        """Return the sheet with all its orders; an order twice is refused, and its twin is named."""
        authored = tuple(step.id for step in task.steps)
        lanes, swaps = sheet.lanes, tuple(dict.fromkeys(sheet.swaps)) if sheet.mode == "swaps" else ()
        errors: list[tuple[str, str]] = []
        if not set(swaps) <= set(pairwise(authored)):
            errors.append(("swaps", say("Only neighbours in the authored order can be linked.")))
        elif sheet.mode == "swaps":
            lanes = tuple(orders_of_swaps(authored, swaps))
        for n, lane in enumerate(lanes):
            wrong = fault_of(lane, task.steps)
            if lane in (authored, *lanes[:n]):
                twin = (authored, *lanes).index(lane)
                wrong = (
                    say("Order {n} is the same as order {twin}. Change it, or remove it.", n=n + 1, twin=twin)
                    if twin
                    else say("Order {n} is the authored one. Change it, or remove it.", n=n + 1)
                )
            errors += [(f"lanes.{n}", wrong)] * bool(wrong)
        if sheet.none and lanes:
            errors = [("none", say("You say that there is no other order, and name some. Take one back."))]
        elif not (sheet.none or lanes or errors):
            errors.append(("lanes", say("Name another order, or say that there is none.")))
        form, change = self.filled(sheet, task, options, errors), msgspec.structs.replace
        return change(sheet, lanes=lanes, swaps=swaps, values=form.values, note=form.note)

    def fields(self, task: OrderTask, options: AlternativesOptions) -> tuple[Field, ...]:  # noqa: ARG002
        """Return the two votes on a manual, where they are asked for."""
        return _VOTES if options.votes else ()


KIND: Final = _Alternatives()
