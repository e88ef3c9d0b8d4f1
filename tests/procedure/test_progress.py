"""Done, next, missing, out of order, and the state: against the definitions of ProMQA."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.progress import Progress, derive_progress, missing_mask, next_mask

MakeGraph = Callable[..., TaskGraph]


@st.composite
def moments(draw: st.DrawFn) -> tuple[TaskGraph, list[str]]:
    """A graph, half of the time with start and end, and any history in it: repeats, gaps and wrong orders."""
    n = draw(st.integers(1, 7))
    ids = [f"s{i}" for i in range(n)]
    pairs = list(itertools.combinations(draw(st.permutations(ids)), 2))
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    nodes, start, end = list(ids), None, None
    if draw(st.booleans()):
        sources = [i for i in ids if i not in {b for _, b in edges}]
        sinks = [i for i in ids if i not in {a for a, _ in edges}]
        edges = [("S", i) for i in sources] + edges + [(i, "E") for i in sinks]
        nodes, start, end = ["S", *ids, "E"], "S", "E"
    graph = TaskGraph("g", "G", tuple(Step(i, f"do {i}") for i in nodes), tuple(edges), start, end)
    return graph, draw(st.lists(st.sampled_from(ids), max_size=n + 2))


class Definitions:
    """The published definitions, written down naively over networkx."""

    def __init__(self, graph: TaskGraph, history: Sequence[str]) -> None:
        self.network = nx.DiGraph(graph.edges)
        self.network.add_nodes_from(s.id for s in graph.steps)
        self.start, self.end = graph.start, graph.end
        self.passed = set(history) | ({graph.start} if graph.start else set())

    def _actions(self) -> set[str]:
        return set(self.network) - {self.start, self.end}

    def next(self) -> set[str]:
        return {
            i
            for i in self._actions() - self.passed
            if set(self.network.predecessors(i)) <= self.passed
            and not nx.descendants(self.network, i) & self.passed
        }

    def missing(self) -> set[str]:
        return {i for i in self._actions() - self.passed if nx.descendants(self.network, i) & self.passed}


@given(moments())
def test_progress_agrees_with_the_definitions(moment: tuple[TaskGraph, list[str]]):
    graph, history = moment
    expected, found = Definitions(graph, history), derive_progress(graph, history)
    assert set(found.next) == expected.next()
    assert set(found.missing) == expected.missing()
    assert found.done == tuple(dict.fromkeys(history))
    for listed in (found.next, found.missing):
        assert list(listed) == [i for i in graph.scan_order if i in listed]


@given(moments())
def test_every_step_is_done_next_missing_or_waiting_for_something(moment: tuple[TaskGraph, list[str]]):
    graph, history = moment
    found = derive_progress(graph, history)
    sets = [set(found.done), set(found.next), set(found.missing)]
    assert sum(map(len, sets)) == len(set.union(*sets))
    waiting = {s.id for s in graph.actions} - set.union(*sets)
    assert all(set(graph.ancestors(i)) & (sets[1] | sets[2]) for i in waiting)


@given(moments())
def test_the_state_is_one_of_four_and_says_what_the_sets_say(moment: tuple[TaskGraph, list[str]]):
    graph, history = moment
    found = derive_progress(graph, history)
    everything = {s.id for s in graph.actions} == set(found.done)
    assert (found.state == "started") == (not history)
    assert (found.state == "ongoing") == (bool(history) and bool(found.next))
    assert found.finished == everything
    assert found.blocked == (bool(history) and not found.next and not everything)
    assert not found.blocked or found.missing  # blocked always has a step to make up for


@given(moments())
def test_only_the_first_performance_and_the_set_of_steps_decide(moment: tuple[TaskGraph, list[str]]):
    graph, history = moment
    once = list(dict.fromkeys(history))
    assert derive_progress(graph, history) == derive_progress(graph, once)
    backwards = derive_progress(graph, once[::-1])
    assert (backwards.next, backwards.missing) == (
        derive_progress(graph, once).next,
        derive_progress(graph, once).missing,
    )


@given(moments())
def test_out_of_order_are_the_direct_prerequisites_not_yet_done(moment: tuple[TaskGraph, list[str]]):
    graph, history = moment
    once = list(dict.fromkeys(history))
    expected = [
        (before, after)
        for n, after in enumerate(once)
        for before in graph.predecessors(after)
        if before not in once[:n] and before != graph.start
    ]
    assert list(derive_progress(graph, history).out_of_order) == expected


@given(moments())
def test_doing_what_is_next_leads_to_the_end_and_is_never_out_of_order(
    moment: tuple[TaskGraph, list[str]],
):
    graph, _ = moment
    history: list[str] = []
    while following := derive_progress(graph, history).next:
        history.append(following[-1])
    found = derive_progress(graph, history)
    assert found.finished
    assert (found.missing, found.out_of_order) == ((), ())
    assert graph.is_valid_order(history)


# -- examples --------------------------------------------------------------------------------------------------


def test_at_the_start_everything_without_prerequisite_is_next(diamond: TaskGraph, branches: TaskGraph):
    assert derive_progress(diamond, []) == Progress((), ("a",), (), (), "started")
    assert derive_progress(branches, []).next == ("a1", "b1")


def test_history_may_name_start_and_end(diamond: TaskGraph):
    assert derive_progress(diamond, ["S"]).state == "started"
    assert derive_progress(diamond, ["S", "a"]) == derive_progress(diamond, ["a"])


def test_an_unknown_step_is_a_key_error(diamond: TaskGraph):
    with pytest.raises(KeyError):
        derive_progress(diamond, ["a", "z"])


def test_finished_and_blocked_are_not_the_same(diamond: TaskGraph):
    finished = derive_progress(diamond, ["a", "b", "c", "d"])
    assert (finished.state, finished.next, finished.missing) == ("finished", (), ())
    blocked = derive_progress(diamond, ["a", "b", "d"])
    assert (blocked.state, blocked.next, blocked.missing) == ("blocked", (), ("c",))
    assert blocked.out_of_order == (("c", "d"),)


def test_blocked_in_the_middle_with_steps_still_to_come(make_graph: MakeGraph):
    """The last step is not reached, yet nothing can be done before ``a`` is made up for (ProMQA m)."""
    graph = make_graph("a b c d", edges="a>b b>d a>c c>d")
    found = derive_progress(graph, ["b", "c"])
    assert (found.state, found.missing, found.next) == ("ongoing", ("a",), ("d",))
    graph = make_graph("a b c d", edges="a>b b>d a>d c>d")
    found = derive_progress(graph, ["b", "c"])
    assert (found.state, found.missing, found.next) == ("blocked", ("a",), ())


def test_a_late_step_is_made_up_for(diamond: TaskGraph):
    assert derive_progress(diamond, ["a", "b", "d", "c"]).finished


def test_a_repeated_step_changes_nothing(diamond: TaskGraph):
    assert derive_progress(diamond, ["a", "b", "a"]).next == ("c",)


def test_duplicate_texts_are_told_apart_by_id(twins: TaskGraph):
    assert derive_progress(twins, ["1"]).next == ("2",)
    assert derive_progress(twins, ["3"]).missing == ("1", "2")


# -- what each clause of the definition is for (the ablations of ProMQA) --------------------------------


def test_the_descendant_clause_keeps_missing_steps_out_of_next(diamond: TaskGraph):
    """``c`` has all its prerequisites, but ``d`` is done already: it is missing, not next."""
    passed = diamond.mask(["S", "a", "b", "d"])
    assert diamond.ids(diamond.ready_mask(passed)) == ("c", "E")
    assert next_mask(diamond, passed) == 0


def test_the_end_is_never_next(diamond: TaskGraph):
    assert "E" in diamond.ready(["S", "a", "b", "c", "d"])
    assert derive_progress(diamond, ["a", "b", "c", "d"]).next == ()


def test_missing_reaches_further_than_direct_prerequisites(make_graph: MakeGraph):
    graph = make_graph("a b c", edges="a>b b>c")
    assert derive_progress(graph, ["c"]).missing == ("a", "b")
    assert derive_progress(graph, ["c"]).out_of_order == (("b", "c"),)
    assert graph.ids(missing_mask(graph, graph.mask(["c"]))) == ("a", "b")


def test_sets_are_listed_in_scan_order_not_by_id(make_graph: MakeGraph):
    graph = make_graph("1 2 3 9", edges="3>9 1>9 2>9")
    assert derive_progress(graph, []).next == ("3", "1", "2")
    assert derive_progress(graph, ["9"]).missing == ("3", "1", "2")
