"""Other right orders: none twice, none that is the authored one, and what follows of neighbours that may swap."""

from __future__ import annotations

from itertools import pairwise, permutations
from typing import Any

import pytest

from proctor.verify.desk.records import InvalidError
from proctor.verify.rounds.alternatives import (  # fmt: skip
    KIND,
    MOST,
    AlternativesOptions,
    AlternativesSheet,
    orders_of_swaps,
)
from proctor.verify.rounds.order import OrderTask, Step

TASK = OrderTask(shows="text", steps=tuple(Step(id=i, text=i) for i in "abcd"))
OPTIONS = AlternativesOptions()


def _check(**given: Any) -> AlternativesSheet:
    return KIND.check(AlternativesSheet(**given), TASK, OPTIONS)


def _errors(**given: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidError) as caught:
        _check(**given)
    return caught.value.errors


def test_an_order_twice_or_the_authored_one_is_refused_by_place() -> None:
    lanes = (tuple("bacd"), tuple("abcd"), tuple("bacd"), tuple("bac"))
    found = _errors(lanes=lanes)
    assert [field for field, _ in found] == ["lanes.1", "lanes.2", "lanes.3"]
    assert "the authored one" in found[0][1]
    assert "the same as order 1" in found[1][1]
    assert _check(lanes=(tuple("bacd"), tuple("abdc"))).lanes == (tuple("bacd"), tuple("abdc"))


def test_none_is_an_answer_of_its_own() -> None:
    assert [field for field, _ in _errors()] == ["lanes"]
    assert _check(none=True) == AlternativesSheet(none=True)
    assert [field for field, _ in _errors(none=True, lanes=(tuple("bacd"),))] == ["none"]


def test_swaps_are_of_neighbours() -> None:
    kept = _check(mode="swaps", swaps=(("a", "b"), ("c", "d")), lanes=(tuple("dcba"),))
    assert kept.lanes == (tuple("abdc"), tuple("bacd"), tuple("badc"))
    assert [field for field, _ in _errors(mode="swaps", swaps=(("a", "c"),))] == ["swaps"]
    assert [field for field, _ in _errors(mode="swaps", swaps=(("b", "a"),))] == ["swaps"]
    assert [field for field, _ in _errors(mode="swaps")] == ["lanes"]


def test_what_follows_keeps_every_pair_that_is_not_linked() -> None:
    authored = "abcde"
    links = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]

    def keeps(order: tuple[str, ...]) -> bool:
        place = {step: n for n, step in enumerate(order)}
        pairs = [(x, y) for n, x in enumerate(authored) for y in authored[n + 1 :] if (x, y) not in links]
        return all(place[x] < place[y] for x, y in pairs)

    expected = [order for order in permutations(authored) if keeps(order) and order != tuple(authored)]
    assert orders_of_swaps(authored, links) == expected
    assert len(expected) == 7  # Fibonacci: neighbours swap, and none twice


def test_long_manuals_end_at_the_cap() -> None:
    authored = [f"s{n}" for n in range(200)]
    found = orders_of_swaps(authored, list(pairwise(authored)))
    assert len(found) == MOST == len(set(found))
    assert found[0] == (*authored[:198], "s199", "s198")
