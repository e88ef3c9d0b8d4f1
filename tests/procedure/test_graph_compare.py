"""Edges of two graphs side by side, as published figures of task-graph inference count them."""

from __future__ import annotations

import pytest

from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.graph_compare import compare_edges
from proctor.procedure.induce import add_terminals


def graph(steps: str, *edges: str) -> TaskGraph:
    return TaskGraph("g", "g", tuple(Step(s, s) for s in steps), tuple((e[0], e[1]) for e in edges))


def test_start_and_end_count_and_what_is_implied_does_not(diamond: TaskGraph) -> None:
    assert compare_edges(diamond, diamond).f1 == 1.0
    assert len(compare_edges(diamond, diamond).both) == 6
    more = graph("abcd", "ab", "ac", "bd", "cd", "ad")  # no terminals, one implied edge
    assert compare_edges(diamond, more).f1 == 1.0
    assert compare_edges(diamond, add_terminals(more)).f1 == 1.0


def test_a_pair_too_many_re_routes_its_neighbours(diamond: TaskGraph) -> None:
    agreed = compare_edges(diamond, graph("abcd", "ab", "bc", "cd"))
    assert agreed.extra == {("b", "c")}
    assert agreed.missing == {("a", "c"), ("b", "d")}
    assert (agreed.precision, agreed.recall) == (4 / 5, 4 / 6)
    assert agreed.f1 == pytest.approx(8 / 11)


def test_steps_that_only_one_has(diamond: TaskGraph) -> None:
    agreed = compare_edges(diamond, graph("abcx", "ab", "ac", "bx"))
    assert agreed.extra == {("b", "x"), ("x", "END"), ("c", "END"), ("START", "d")}
    assert agreed.missing == {("b", "d"), ("c", "d")}
    assert ("d", "END") in agreed.both
