"""Weights learnt from graphs: what they must not depend on, and orders that are drawn."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.induce import Performance, observe_order
from proctor.procedure.order_fit import draw_order, fit_weights
from proctor.procedure.order_weights import DEFAULT, OrderWeights
from proctor.procedure.poset import Poset

TEXTS = {
    "a": "Peel the carrot",
    "b": "Chop the carrot",
    "c": "Boil water",
    "d": "Add the chopped carrot to the pot",
}


def _soup(id_: str) -> tuple[list[Performance], TaskGraph]:
    graph = TaskGraph(
        id_, id_, tuple(Step(i, text) for i, text in TEXTS.items()), (("a", "b"), ("b", "d"), ("c", "d"))
    )
    return [observe_order(str(k), line) for k, line in enumerate(("abcd", "cabd", "acbd"))], graph


def test_weights_do_not_depend_on_the_order_of_activities_and_performances() -> None:
    one, other = _soup("one"), _soup("other")
    assert fit_weights([one, other]) == fit_weights([other, (one[0][::-1], one[1])])


def test_evidence_speaks_for_a_pair_and_contradiction_against_it() -> None:
    weights = fit_weights([_soup("one"), _soup("other")])
    for table in (weights.order, weights.plain):
        assert table["gain"] > 0
        assert table["against"] < -1
    assert weights.pair["shares"] > 0


def test_weights_need_performances() -> None:
    with pytest.raises(ValueError, match="no activity to learn"):
        fit_weights([])
    with pytest.raises(ValueError, match="no activity has a performance"):
        fit_weights([([], _soup("one")[1])])
    with pytest.raises(ValueError, match="has the step 'x', which the graph 'one' lacks"):
        fit_weights([([observe_order("0", "axb")], _soup("one")[1])])


def test_weights_are_read_as_they_were_written() -> None:
    assert OrderWeights.from_json(DEFAULT.to_json()) == DEFAULT
    with pytest.raises(TypeError):
        OrderWeights.from_json("{}")


def test_all_orders_are_drawn_about_equally_often() -> None:
    # a loose step beside a chain of two: a random topological order alone would begin with it half of the time
    order, rng = Poset.of(3, [(0, 1)]), random.Random(1)
    found = Counter(tuple(draw_order(order, rng)) for _ in range(3000))
    assert set(found) == {(2, 0, 1), (0, 2, 1), (0, 1, 2)}
    assert all(900 < n < 1100 for n in found.values())
    assert draw_order(Poset(1), rng) == [0]
