"""Decisions of people about single edges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.graph_review import ReviewError, revise


def graph(steps: str, *edges: str) -> TaskGraph:
    return TaskGraph("g", "g", tuple(Step(s, s) for s in steps), tuple((e[0], e[1]) for e in edges))


def edges(found: TaskGraph) -> set[str]:
    return {a + b for a, b in found.edges}


CHAIN = graph("abc", "ab", "bc")


def test_only_the_refused_pair_goes_and_what_it_stood_for_shows() -> None:
    assert edges(revise(CHAIN, accepted=(), refused=[("a", "b")])) == {"bc", "ac"}
    assert edges(revise(CHAIN, accepted=(), refused=[("a", "b"), ("b", "c")])) == {"ac"}


def test_an_accepted_pair_brings_what_follows_and_takes_over() -> None:
    found = revise(graph("abcd", "ab", "cd"), accepted=[("b", "c")], refused=())
    assert edges(found) == {"ab", "bc", "cd"}
    assert edges(revise(CHAIN, accepted=[("a", "b"), ("a", "c")], refused=())) == {"ab", "bc"}


def test_an_edge_can_be_turned_around() -> None:
    assert edges(revise(CHAIN, accepted=[("b", "a")], refused=[("a", "b")])) == {"ba", "ac"}


def test_decisions_that_contradict_are_refused() -> None:
    with pytest.raises(ReviewError, match="'a', 'b', 'c' would have to come before one another"):
        revise(CHAIN, accepted=[("c", "a")], refused=())
    with pytest.raises(ReviewError, match="'a' → 'c' is refused, but follows"):
        revise(CHAIN, accepted=(), refused=[("a", "c")])
    with pytest.raises(ReviewError, match="follows"):
        revise(graph("abc", "ab"), accepted=[("b", "c")], refused=[("a", "c")])
    with pytest.raises(ReviewError, match="'a' would have"):
        revise(CHAIN, accepted=[("a", "a")], refused=())
    with pytest.raises(KeyError):
        revise(CHAIN, accepted=[("a", "x")], refused=())


@given(st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6))), st.data())
def test_refusing_edges_of_a_reduction_never_fails_and_loses_nothing_else(
    pairs: set[tuple[int, int]], data: st.DataObject
) -> None:
    names = "abcdefg"
    made = graph(names, *(names[a] + names[b] for a, b in sorted(pairs) if a < b)).transitive_reduction()
    refused = data.draw(st.lists(st.sampled_from(made.edges), unique=True)) if made.edges else []
    found = revise(made, accepted=(), refused=refused)
    before = {(a, b) for a in names for b in names if made.comes_before(a, b)}
    assert {(a, b) for a in names for b in names if found.comes_before(a, b)} == before - set(refused)
    assert found == found.transitive_reduction()
