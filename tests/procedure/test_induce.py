"""Inducing a partial order: known cases, a naive reimplementation, and CaptainCook4D's own graphs."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.procedure import induce
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.graph_compare import compare_precedence
from proctor.procedure.induce import (
    InducedOrder,
    PairSupport,
    Performance,
    TangledOrdersError,
    add_terminals,
    induce_order,
    observe_order,
    observe_recording,
    support_of,
)
from proctor.procedure.recording import Mistake, Recording, Segment


def _orders(*lines: str) -> list[Performance]:
    return [observe_order(str(k), line.split()) for k, line in enumerate(lines)]


def _edges(found: InducedOrder) -> set[str]:
    return {f"{a}{b}" for a, b in found.graph.edges}


# -- known cases -------------------------------------------------------------------------------------------------


def test_two_orders_leave_what_they_agree_on() -> None:
    found = induce_order(_orders("a b c d", "a c b d"))
    assert _edges(found) == {"ab", "ac", "bd", "cd"}
    assert set(found.support) == {
        PairSupport("a", "b", 2, 2),
        PairSupport("a", "c", 2, 2),
        PairSupport("b", "d", 2, 2),
        PairSupport("c", "d", 2, 2),
    }
    assert (found.accepted, found.implied, found.removed, found.performances) == (5, 0, (), 2)


def test_support_counts_the_performances_that_have_both() -> None:
    found = induce_order(_orders("a b c", "a c", "b c", "a"))
    assert {(s.before, s.after): (s.agreeing, s.together) for s in found.support} == {
        ("a", "b"): (1, 1),
        ("b", "c"): (2, 2),
    }


def test_a_threshold_lets_a_few_performances_disagree() -> None:
    lines = ["a b"] * 4 + ["b a"]
    assert _edges(induce_order(_orders(*lines))) == set()
    found = induce_order(_orders(*lines), threshold=0.8)
    assert found.support == (PairSupport("a", "b", 4, 5, 1),)
    assert found.support[0].share == 0.8


@pytest.mark.parametrize("together", range(1, 120))
def test_a_share_that_is_met_exactly_is_enough(together: int) -> None:
    for agreeing in range(together // 2 + 1, together + 1):
        lines = ["a b"] * agreeing + ["b a"] * (together - agreeing)
        assert _edges(induce_order(_orders(*lines), threshold=agreeing / together)) == {"ab"}
        break


def test_pairs_that_too_few_performances_have_are_left_open() -> None:
    lines = ("a b c", "a c", "a b")
    assert _edges(induce_order(_orders(*lines), min_support=2)) == {"ab", "ac"}


def test_the_first_performance_of_a_step_counts() -> None:
    assert _edges(induce_order(_orders("a b a", "a b"))) == {"ab"}


def test_steps_side_by_side_speak_for_no_order_only_as_intervals() -> None:
    spans = {"a": (0.0, 10.0), "b": (5.0, 15.0), "c": (15.0, 20.0)}
    seen = [Performance("r", spans)]
    assert _edges(induce_order(seen)) == {"ab", "bc"}
    assert _edges(induce_order(seen, evidence="intervals")) == {"ac", "bc"}


def test_steps_that_start_together_are_not_ordered() -> None:
    assert _edges(induce_order([Performance("r", {"a": (1.0, 2.0), "b": (1.0, 3.0)})])) == set()


def test_a_step_of_no_length_does_not_come_before_itself() -> None:
    found = induce_order([Performance("r", {"a": (1.0, 1.0), "b": (1.0, 1.0)})], evidence="intervals")
    assert found.graph.edges in ((), (("a", "b"),), (("b", "a"),))
    assert all(a != b for a, b in found.graph.edges)


@pytest.mark.parametrize("evidence", ["starts", "intervals"])
def test_one_pair_is_counted_as_all_pairs_are(evidence: induce.Evidence) -> None:
    rng = random.Random(3)
    seen = [
        Performance(
            str(k), {i: (float(s := rng.randrange(4)), s + rng.randrange(3)) for i in rng.sample("abcd", 3)}
        )
        for k in range(12)
    ]
    found = induce_order(seen, threshold=0.51, evidence=evidence)
    assert found.support
    for support in (*found.support, *found.removed):
        assert support_of(seen, support.before, support.after, evidence) == support


# -- cycles ------------------------------------------------------------------------------------------------------


def test_a_cycle_loses_its_weakest_pair() -> None:
    lines = ["a b"] * 5 + ["b c"] * 3 + ["c a"]
    found = induce_order(_orders(*lines))
    assert _edges(found) == {"ab", "bc"}
    assert found.removed == (PairSupport("c", "a", 1, 1),)
    assert found.implied == 1, "a before c follows, though the one performance with both says otherwise"


def test_the_share_counts_before_the_number() -> None:
    lines = ["a b"] * 9 + ["b a"] + ["b c"] * 2 + ["c a"] * 2
    found = induce_order(_orders(*lines), threshold=0.9)
    assert found.removed == (PairSupport("a", "b", 9, 10, 1),)


def test_pairs_of_equal_evidence_leave_a_cycle_together() -> None:
    found = induce_order(_orders("a b", "b c", "c a"))
    assert found.graph.edges == ()
    assert len(found.removed) == 3


def test_a_condorcet_cycle_leaves_the_other_steps_alone() -> None:
    found = induce_order(_orders("s a b c t", "s b c a t", "s c a b t"), threshold=0.6)
    assert _edges(found) == {"sa", "sb", "sc", "at", "bt", "ct"}
    assert {(s.before, s.after, s.agreeing, s.together) for s in found.removed} == {
        ("a", "b", 2, 3),
        ("b", "c", 2, 3),
        ("c", "a", 2, 3),
    }


def test_a_huge_tangle_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(induce, "TANGLE_LIMIT", 2)
    with pytest.raises(TangledOrdersError, match="3 steps"):
        induce_order(_orders("a b", "b c", "c a"))


# -- against a naive implementation ------------------------------------------------------------------------------


def _naive(
    lists: Sequence[Sequence[str]], threshold: Fraction, min_support: int
) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """The text of the module in the plainest way: pairs kept (closed, then reduced) and pairs removed."""
    steps = sorted({s for steps in lists for s in steps})
    level: dict[tuple[str, str], tuple[Fraction, int]] = {}
    for a, b in itertools.permutations(steps, 2):
        both = [steps for steps in lists if a in steps and b in steps]
        agree = sum(steps.index(a) < steps.index(b) for steps in both)
        if len(both) >= min_support and both and Fraction(agree, len(both)) >= threshold:
            level[a, b] = (Fraction(agree, len(both)), agree)
    graph = nx.DiGraph(list(level))
    graph.add_nodes_from(steps)
    removed = set()
    while not nx.is_directed_acyclic_graph(graph):
        for members in [m for m in nx.strongly_connected_components(graph) if len(m) > 1]:
            inside = [e for e in graph.edges if e[0] in members and e[1] in members]
            weakest = min(level[e] for e in inside)
            gone = [e for e in inside if level[e] == weakest]
            graph.remove_edges_from(gone)
            removed |= set(gone)
    return set(nx.transitive_reduction(graph).edges), removed


@given(
    st.lists(st.lists(st.sampled_from("abcdef"), unique=True, min_size=1), min_size=1, max_size=7),
    st.sampled_from([Fraction(1), Fraction(3, 4), Fraction(2, 3), Fraction(51, 100)]),
    st.integers(1, 3),
)
def test_the_result_is_that_of_the_plain_definition(
    lists: list[list[str]], threshold: Fraction, min_support: int
) -> None:
    seen = [observe_order(str(k), steps) for k, steps in enumerate(lists)]
    found = induce_order(seen, threshold=float(threshold), min_support=min_support)
    edges, removed = _naive(lists, threshold, min_support)
    assert set(found.graph.edges) == edges
    assert {(s.before, s.after) for s in found.removed} == removed
    assert found.graph.transitive_reduction().edges == found.graph.edges


@given(st.lists(st.permutations("abcde"), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_order_of_the_input_and_names_make_no_difference(lists: list[list[str]], rng: random.Random) -> None:
    seen = [observe_order(str(k), steps) for k, steps in enumerate(lists)]
    found = induce_order(seen, threshold=0.6)
    shuffled = rng.sample(seen, len(seen))
    assert induce_order(shuffled, threshold=0.6) == found
    names = dict(zip("abcde", rng.sample("vwxyz", 5), strict=True))
    renamed = induce_order(
        [observe_order(p.id, [names[s] for s in steps]) for p, steps in zip(seen, lists, strict=True)],
        threshold=0.6,
    )
    assert set(renamed.graph.edges) == {(names[a], names[b]) for a, b in found.graph.edges}


@given(st.lists(st.permutations("abcdef"), min_size=1, max_size=6))
def test_complete_orders_at_one_give_their_intersection_without_cycles(lists: list[list[str]]) -> None:
    found = induce_order([observe_order(str(k), steps) for k, steps in enumerate(lists)])
    assert found.removed == ()
    assert found.implied == 0
    assert all(found.graph.is_valid_order(steps) for steps in lists)


def test_many_orders_of_a_graph_give_the_graph_back(diamond: TaskGraph) -> None:
    rng = random.Random(5)
    seen = [observe_order(str(k), diamond.sample_order(rng)) for k in range(40)]
    found = induce_order(seen, texts={s.id: s.text for s in diamond.steps}, id="diamond", name="Diamond")
    agreed = compare_precedence(diamond, found.graph)
    assert (agreed.precision, agreed.recall, agreed.f1) == (1.0, 1.0, 1.0)
    assert found.graph["a"].text == "do a"
    assert (found.graph.id, found.graph.name) == ("diamond", "Diamond")


# -- recordings and bad input ------------------------------------------------------------------------------------


def test_a_recording_shows_the_first_performances_and_no_skipped_step() -> None:
    segments = (
        Segment("x", "x", None, None),
        Segment("m", "m", 1.0, 2.0, mistakes=(Mistake("missing"),)),
        Segment("b", "b", 9.0, 10.0),
        Segment("a", "a", 5.0, 6.0, mistakes=(Mistake("technique"),)),
        Segment("b", "b", 3.0, 4.0),
    )
    seen = observe_recording(Recording("r", "g", "g", segments))
    assert seen == Performance("r", {"b": (3.0, 4.0), "a": (5.0, 6.0)})


@pytest.mark.parametrize("threshold", [0.5, 0.0, -1.0, 1.01, float("nan"), float("inf")])
def test_a_threshold_outside_its_range_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="threshold"):
        induce_order(_orders("a b"), threshold=threshold)


@pytest.mark.parametrize("seen", [[], _orders("")])
def test_nothing_to_look_at_is_refused(seen: list[Performance]) -> None:
    with pytest.raises(ValueError, match="no performance has a step"):
        induce_order(seen)


def test_no_support_and_times_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="support"):
        induce_order(_orders("a b"), min_support=0)
    with pytest.raises(ValueError, match="step 'a' has the times nan and 1"):
        induce_order([Performance("r", {"a": (float("nan"), 1.0)})])


def test_terminals_go_around_everything() -> None:
    graph = add_terminals(induce_order(_orders("a b c", "b a c")).graph)
    assert (graph.start, graph.end) == ("START", "END")
    assert set(graph.edges) == {("START", "a"), ("START", "b"), ("a", "c"), ("b", "c"), ("c", "END")}
    with pytest.raises(ValueError, match="already"):
        add_terminals(graph)
    with pytest.raises(ValueError, match="has a step 'END'"):
        add_terminals(TaskGraph("g", "g", (Step("END", "stop"),)))


def test_five_thousand_steps_are_no_trouble() -> None:
    rng = random.Random(1)
    ids = [f"s{i}" for i in range(5_000)]
    seen = []
    for k in range(3):
        place = {s: i + rng.uniform(0, 20) for i, s in enumerate(ids)}
        seen.append(observe_order(str(k), sorted(ids, key=place.__getitem__)))
    found = induce_order(seen)
    assert found.accepted > 12_000_000
    assert found.implied == 0
    assert len(found.graph.edges) < 100_000


# -- comparing ---------------------------------------------------------------------------------------------------


def _graph(steps: str, edges: str = "", start: str | None = None) -> TaskGraph:
    pairs = tuple((e[0], e[1]) for e in edges.split())
    return TaskGraph("g", "g", tuple(Step(s, s) for s in steps), pairs, start)


def test_pairs_are_compared_with_what_they_imply() -> None:
    agreed = compare_precedence(_graph("abc", "ab bc ac"), _graph("cab", "ab bc"))
    assert (agreed.both, agreed.missing, agreed.extra) == (3, (), ())


def test_missing_extra_and_reversed_pairs_are_told_apart() -> None:
    agreed = compare_precedence(_graph("abcd", "ab bc"), _graph("abcd", "ba cd"))
    assert agreed.both == 0
    assert agreed.missing == (("a", "b"), ("a", "c"), ("b", "c"))
    assert agreed.extra == (("b", "a"), ("c", "d"))
    assert agreed.reversed_ == (("b", "a"),)
    assert (agreed.precision, agreed.recall, agreed.f1) == (0.0, 0.0, 0.0)


def test_steps_of_one_side_are_left_out_and_listed() -> None:
    agreed = compare_precedence(_graph("Sabx", "Sa Sx Sb ax xb", start="S"), _graph("aby", "ay yb"))
    assert agreed.shared == ("a", "b")
    assert (agreed.only_reference_steps, agreed.only_candidate_steps) == (("x",), ("y",))
    assert (agreed.both, agreed.precision, agreed.recall) == (1, 1.0, 1.0)


def test_shares_of_nothing_are_undefined() -> None:
    agreed = compare_precedence(_graph("ab"), _graph("ab"))
    assert (agreed.precision, agreed.recall, agreed.f1) == (None, None, None)
    assert compare_precedence(_graph("ab", "ab"), _graph("ab")).precision is None


@given(
    st.lists(st.permutations("abcdef"), min_size=1, max_size=3),
    st.lists(st.permutations("bcdefg"), min_size=1, max_size=3),
)
def test_the_comparison_is_that_of_the_plain_definition(
    ours: list[list[str]], theirs: list[list[str]]
) -> None:
    reference = add_terminals(induce_order([observe_order("r", o) for o in ours]).graph)
    candidate = induce_order([observe_order("r", o) for o in theirs]).graph
    agreed = compare_precedence(reference, candidate)
    assert set(agreed.shared) == set("bcdef")
    pairs = list(itertools.permutations(agreed.shared, 2))
    wanted = {p for p in pairs if reference.comes_before(*p)}
    found = {p for p in pairs if candidate.comes_before(*p)}
    assert agreed.both == len(wanted & found)
    assert set(agreed.missing) == wanted - found
    assert set(agreed.extra) == found - wanted
    assert set(agreed.reversed_) == {(a, b) for a, b in found if (b, a) in wanted}


@pytest.mark.shared
def test_graphs_induced_from_captaincook4d_come_close_to_its_own(shared_data: Path) -> None:
    """Measured 2026-11-20; recordings followed orders drawn from the graphs, so only mistakes and chance differ."""
    from proctor.datasets.captaincook4d import DATASET

    result = DATASET.read(shared_data / "captaincook4d", "corrected")

    def compare(threshold: float, orderly: bool) -> tuple[float, float, int]:
        both = missing = extra = turned = 0
        for id_, graph in result.graphs.items():
            seen = [
                observe_recording(r)
                for r in result.recordings
                if r.activity_id == id_
                and not (orderly and any(m.kind == "order" for s in r.segments for m in s.mistakes))
            ]
            agreed = compare_precedence(graph, induce_order(seen, threshold=threshold).graph)
            both += agreed.both
            missing += len(agreed.missing)
            extra += len(agreed.extra)
            turned += len(agreed.reversed_)
        assert both + missing == 2_191, "pairs of the 24 task graphs"
        return round(both / (both + extra), 3), round(both / (both + missing), 3), turned

    assert compare(1.0, False) == (0.984, 0.745, 0)
    assert compare(0.9, False) == (0.968, 0.894, 0)
    assert compare(1.0, True) == (0.972, 0.977, 0)
