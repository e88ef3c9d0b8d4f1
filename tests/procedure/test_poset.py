"""Orders that are changed one pair at a time: against closures made anew, and counts of orders."""

from __future__ import annotations

import math
import random

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.poset import Poset

PAIRS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=15)


def _pairs(order: Poset) -> set[tuple[int, int]]:
    return {(a, b) for a in range(order.size) for b in range(order.size) if order.has(a, b)}


def _orders(order: Poset) -> int:
    steps = tuple(Step(str(i), "") for i in range(order.size))
    return TaskGraph("g", "", steps, tuple((str(a), str(b)) for a, b in order.edges())).count_orders()


@given(PAIRS)
def test_pairs_are_put_in_with_what_follows_and_contradictions_left_out(pairs: list[tuple[int, int]]) -> None:
    order, graph = Poset.of(7, pairs), nx.DiGraph()
    graph.add_nodes_from(range(7))
    for a, b in pairs:
        if a != b and not nx.has_path(graph, b, a):
            graph.add_edge(a, b)
    assert _pairs(order) == set(nx.transitive_closure(graph).edges)
    assert set(order.edges()) == set(nx.transitive_reduction(graph).edges)
    assert all(order.before[b] >> a & 1 for a, b in _pairs(order))


@given(PAIRS, st.randoms())
def test_a_change_touches_one_pair_and_keeps_the_order_closed(
    pairs: list[tuple[int, int]], rng: random.Random
) -> None:
    order = Poset.of(7, pairs)
    for _ in range(20):
        a, b = rng.sample(range(7), 2)
        if not order.can_change(a, b):
            continue
        before = _pairs(order)
        order.change(a, b)
        assert _pairs(order) ^ before == {(a, b)}
        assert _pairs(order) == _pairs(Poset.of(7, sorted(_pairs(order))))


@given(PAIRS)
def test_only_pairs_that_leave_the_order_closed_can_change(pairs: list[tuple[int, int]]) -> None:
    order = Poset.of(7, pairs)
    for a in range(7):
        for b in range(7):
            if a == b:
                continue
            trial = nx.DiGraph(sorted(_pairs(order) ^ {(a, b)}))
            closed = nx.is_directed_acyclic_graph(trial) and set(nx.transitive_closure(trial).edges) == set(
                trial.edges
            )
            assert order.can_change(a, b) == closed


@given(PAIRS)
def test_what_a_pair_changes_is_what_the_edges_say(pairs: list[tuple[int, int]]) -> None:
    order = Poset.of(7, pairs)
    for a in range(7):
        for b in range(7):
            if a == b or order.has(a, b) or not order.can_change(a, b):
                continue
            around, old = order.around(a, b), set(order.edges())
            order.change(a, b)
            new = set(order.edges())
            assert order.around(a, b) == around
            spared = {(x, b) for x in around.spared_before} | {(a, y) for y in around.spared_after}
            assert (new - old, old - new) == ({(a, b)}, spared)
            assert around.joined == sum(y == b for _, y in new) - 1
            assert around.forked == sum(x == a for x, _ in new) - 1
            assert (around.opens, around.closes) == (order.before[b] == 1 << a, order.after[a] == 1 << b)
            order.change(a, b)


@pytest.mark.parametrize(
    ("pairs", "a", "b"),
    [
        ([], 0, 1),  # two loose steps: half of the orders
        ([(0, 2)], 0, 1),  # b loose, a with one behind it
        ([(0, 2), (2, 3), (4, 1)], 0, 1),  # two chains side by side
        ([(5, 0), (5, 1), (0, 6), (1, 6)], 0, 1),  # between a fork and a join
    ],
)
def test_the_gain_is_exact_where_parts_stand_side_by_side(
    pairs: list[tuple[int, int]], a: int, b: int
) -> None:
    loose = Poset.of(7, pairs)
    tied = loose.copy()
    tied.change(a, b)
    assert loose.around(a, b).gain == pytest.approx(math.log(_orders(loose) / _orders(tied)))
