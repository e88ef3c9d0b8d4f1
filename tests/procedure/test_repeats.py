"""Steps that are done again, or late: what each performance opens again, and where the person then stands."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.progress import Effect, derive_progress, find_effects, progress_after

MakeGraph = Callable[..., TaskGraph]


@st.composite
def performances(draw: st.DrawFn) -> tuple[TaskGraph, list[str]]:
    """A graph and all that was performed of it: repeats, gaps and wrong orders."""
    ids = [f"s{i}" for i in range(draw(st.integers(1, 6)))]
    pairs = list(itertools.combinations(draw(st.permutations(ids)), 2))
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    graph = TaskGraph("g", "G", tuple(Step(i, f"do {i}") for i in ids), tuple(edges))
    return graph, draw(st.lists(st.sampled_from(ids), max_size=10))


def naive_effects(graph: TaskGraph, performed: Sequence[str]) -> list[tuple[str, set[str]]]:
    """The rules of docs/procedure.md over networkx and plain sets."""
    network = nx.DiGraph(graph.edges)
    network.add_nodes_from(s.id for s in graph.steps)
    standing: dict[str, int] = {}
    found: list[tuple[str, set[str]]] = []
    for n, step in enumerate(performed):
        later = set(performed[n + 1 :])
        below = nx.descendants(network, step) & set(standing)
        kind, opened = "first", set[str]()
        if step in standing:
            since = {i for i in below if standing[i] > standing[step]}
            kind = "continuation" if not since else "rework" if since & later else "unclear"
            opened = since if kind == "rework" else set()
        elif again := below & later:
            rest = set(standing) - again
            kind = "unclear" if any(nx.descendants(network, i) & rest for i in again) else "late"
            opened = again if kind == "late" else set()
        standing = {i: when for i, when in standing.items() if i not in opened} | {step: n}
        found.append((kind, opened))
    return found


@given(performances())
def test_the_effects_are_those_of_the_rules(made: tuple[TaskGraph, list[str]]):
    graph, performed = made
    found = find_effects(graph, performed)
    assert [e.step_id for e in found] == performed
    assert [(e.kind, set(e.reopens)) for e in found] == naive_effects(graph, performed)


@given(performances())
def test_what_is_open_again_stood_done_and_does_so_no_more(made: tuple[TaskGraph, list[str]]):
    graph, performed = made
    effects = find_effects(graph, performed)
    for n, effect in enumerate(effects):
        before, after = progress_after(graph, effects[:n]), progress_after(graph, effects[: n + 1])
        assert set(effect.reopens) <= set(before.done) & set(graph.descendants(effect.step_id))
        assert set(after.done) == set(before.done) - set(effect.reopens) | {effect.step_id}
        if effect.kind in ("continuation", "unclear") and effect.step_id in before.done:
            assert (after.next, after.missing) == (before.next, before.missing)


@given(performances())
def test_where_no_step_is_done_again_nothing_is_open_again(made: tuple[TaskGraph, list[str]]):
    graph, performed = made
    once = list(dict.fromkeys(performed))
    effects = find_effects(graph, once)
    assert effects == tuple(map(Effect, once))
    assert progress_after(graph, effects) == derive_progress(graph, once)


# -- examples --------------------------------------------------------------------------------------------------

TYRE = TaskGraph(
    "tyre",
    "Puncture",
    (
        Step("find", "Find the hole"),
        Step("rough", "Roughen the rubber around the hole"),
        Step("cement", "Put cement on the rubber"),
        Step("patch", "Press the patch onto the cement"),
        Step("feel", "Feel inside the tyre for what made the hole"),
        Step("tube", "Put the tube back"),
    ),
    (("find", "rough"), ("rough", "cement"), ("cement", "patch"), ("patch", "tube"), ("feel", "tube")),
)
TUBES = TaskGraph(
    "pcr",
    "PCR",
    (
        Step("mix", "Mix the reagents in the tubes"),
        Step("spin", "Spin the tubes"),
        Step("place", "Place the tubes in the cycler"),
        Step("heat", "Preheat the lid"),
        Step("start", "Start the run"),
    ),
    (("mix", "spin"), ("spin", "place"), ("place", "heat"), ("heat", "start")),
)


@pytest.mark.parametrize(
    ("graph", "performed", "until", "following", "kind"),
    [
        # a second hole is found: the cement has to be put on again
        (TYRE, "find rough cement rough cement patch feel tube", 4, {"cement", "feel"}, "rework"),
        (TYRE, "find feel rough cement patch rough cement patch tube", 6, {"cement"}, "rework"),
        (TYRE, "find feel rough cement patch rough cement patch tube", 7, {"patch"}, "first"),
        # the tubes are taken out and spun again: they have to go in again before the lid is heated
        (TUBES, "mix spin place spin place heat start", 4, {"place"}, "rework"),
        (TUBES, "mix spin place spin place heat start", 5, {"heat"}, "first"),
        (TUBES, "mix spin spin place heat start", 3, {"place"}, "continuation"),
        # the tubes went in before they were spun, and go in again
        (TUBES, "mix place spin place heat start", 3, {"place"}, "late"),
    ],
)
def test_next_after_a_step_is_done_again(
    graph: TaskGraph, performed: str, until: int, following: set[str], kind: str
):
    effects = find_effects(graph, performed.split())
    assert effects[until - 1].kind == kind
    found = progress_after(graph, effects[:until])
    assert set(found.next) == following
    assert not found.missing


def test_a_repetition_after_which_nothing_is_done_again_is_unclear():
    effects = find_effects(TUBES, ["mix", "spin", "place", "spin", "heat", "start"])
    assert [e.kind for e in effects] == ["first", "first", "first", "unclear", "first", "first"]
    assert not any(e.reopens for e in effects)


def test_a_late_step_is_unclear_when_other_steps_rest_on_what_is_done_again():
    """Placed and heated before spinning, placed again: nobody can tell whether the lid is still hot."""
    effects = find_effects(TUBES, ["mix", "place", "heat", "spin", "place", "start"])
    assert effects[3] == Effect("spin", "unclear")


def test_a_step_that_is_open_again_can_be_missing_and_out_of_order():
    found = progress_after(TUBES, [Effect("mix"), Effect("spin"), Effect("place"), Effect("spin", "rework", ("place",)), Effect("heat")])  # fmt: skip
    assert (found.missing, found.out_of_order) == (("place",), (("place", "heat"),))
    assert found.done == ("mix", "spin", "heat")


# -- optional steps --------------------------------------------------------------------------------------------


@st.composite
def optional_moments(draw: st.DrawFn) -> tuple[TaskGraph, list[str]]:
    graph, history = draw(performances())
    free = draw(st.sets(st.sampled_from([s.id for s in graph.steps])))
    steps = tuple(Step(s.id, s.text, s.id in free) for s in graph.steps)
    return TaskGraph("g", "G", steps, graph.edges), history


def without_optional(graph: TaskGraph, done: Sequence[str]) -> TaskGraph | None:
    """The graph without the optional steps that were not done: who waited for one waits for what it waited for."""
    kept = {s.id: s for s in graph.steps if not s.optional or s.id in done}

    def above(step: str) -> set[str]:
        return {i for p in graph.predecessors(step) for i in ({p} if p in kept else above(p))}

    edges = tuple((a, b) for b in kept for a in above(b))
    return TaskGraph("g", "G", tuple(kept.values()), edges) if kept else None


@given(optional_moments())
def test_optional_steps_are_never_missing_and_hold_nothing_up(made: tuple[TaskGraph, list[str]]):
    graph, history = made
    found = derive_progress(graph, history)
    assert not any(graph[i].optional for i in found.missing)
    bare = without_optional(graph, history)
    expected = derive_progress(bare, history) if bare is not None else derive_progress(graph, [])
    assert {i for i in found.next if not graph[i].optional} == {
        i for i in expected.next if not graph[i].optional
    }
    assert set(found.missing) == {i for i in expected.missing if not graph[i].optional}
    left = {s.id for s in graph.steps if not s.optional} - set(history)
    assert found.finished == (bool(history) and not left)


def test_an_optional_step_may_be_next_until_something_after_it_is_done(make_graph: MakeGraph):
    chain = make_graph("a o c d", edges="a>o o>c c>d")
    graph = TaskGraph("g", "G", tuple(Step(s.id, s.text, s.id == "o") for s in chain.steps), chain.edges)
    assert derive_progress(graph, ["a"]).next == ("o", "c")
    passed = derive_progress(graph, ["a", "c"])
    assert (passed.next, passed.missing, passed.out_of_order) == (("d",), (), ())
    assert derive_progress(graph, ["a", "c", "o"]).out_of_order == (("o", "c"),)
    assert derive_progress(graph, ["c"]).missing == ("a",)
    assert derive_progress(graph, ["a", "c", "d"]).state == "finished"
    assert graph.is_valid_order(["a", "c", "d"])
    assert graph.is_valid_order(["a", "o", "c", "d"])
    assert not graph.is_valid_order(["a", "c", "o", "d"])
