"""Putting steps in order: what a sheet must hold, what is kept of it, and what is never presented."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import msgspec
import pytest

from proctor.verify.desk.records import InvalidError
from proctor.verify.rounds.kind import task_kind
from proctor.verify.rounds.order import KIND, OrderOptions, OrderSheet, OrderTask, Step, presented

TASK = OrderTask(shows="both", goal="Make a sign", steps=tuple(Step(id=i, text=f"Step {i}") for i in "2314"))
SURE: dict[str, str | list[str]] = {"confidence": "4", "helped": "text"}


def _check(task: OrderTask = TASK, **given: Any) -> OrderSheet:
    return KIND.check(OrderSheet(**{"values": SURE, **given}), task, OrderOptions())


def _errors(task: OrderTask = TASK, **given: Any) -> list[str]:
    with pytest.raises(InvalidError) as caught:
        _check(task, **given)
    return [field for field, _ in caught.value.errors]


def test_ids_are_kept_with_the_order_that_was_presented() -> None:
    kept = _check(order=("1", "2", "3", "4"), moves=(("1", 2, 0),), kept=True)
    assert kept == OrderSheet(
        order=("1", "2", "3", "4"), moves=(("1", 2, 0),), values=SURE, start=("2", "3", "1", "4"), untouched=False
    )  # fmt: skip
    assert task_kind("order") is KIND


def test_an_untouched_order_is_asked_about_once() -> None:
    assert _errors(order=TASK_START) == _errors() == ["kept"]
    kept = _check(kept=True)
    assert (kept.untouched, kept.order, kept.start) == (True, TASK_START, TASK_START)


TASK_START = ("2", "3", "1", "4")


@pytest.mark.parametrize(
    "order", [("1", "2", "3"), ("1", "1", "2", "3"), ("1", "2", "3", "9"), tuple("12344")]
)
def test_an_order_holds_every_card_once(order: tuple[str, ...]) -> None:
    assert _errors(order=order) == ["order"]


def test_what_helped_is_asked_only_where_both_are_shown() -> None:
    pictures = msgspec.structs.replace(TASK, shows="image")
    assert [field.name for field in KIND.fields(TASK, OrderOptions())] == ["confidence", "helped"]
    assert _check(pictures, kept=True, values={"confidence": "5"}).values == {"confidence": "5"}
    assert _errors(kept=True, values={"confidence": "6"}) == ["confidence", "helped"]


def test_what_a_page_says_of_the_start_does_not_count() -> None:
    kept = _check(order=tuple("1234"), start=tuple("4321"), untouched=True)
    assert (kept.start, kept.untouched) == (TASK_START, False)


def test_no_right_order_is_ever_presented() -> None:
    right = [("1", "2", "3"), ("2", "1", "3")]
    drawn = {presented("123", right, seed, "sign") for seed in range(200)}
    assert drawn == set(permutations("123")) - set(right)
    assert presented("123", right, 7, "x") == presented("123", right, 7, "x")
    every = list(permutations("123"))
    assert every[0] not in {presented("123", every, seed) for seed in range(200)}
