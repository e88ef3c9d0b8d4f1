"""The linter of task graphs: one case for each rule, and agreement with what ``TaskGraph`` accepts."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.procedure.graph import GraphDraft, GraphError, Step, TaskGraph
from proctor.procedure.graph_lint import (
    _CHECKS,
    BROKEN_RULES,
    GRAPH_RULES,
    GraphFinding,
    lint_graph,
    measure_graph,
)


def _draft(
    steps: str, edges: str = "", start: str | None = None, end: str | None = None, **texts: str
) -> GraphDraft:
    pairs = tuple((a, b) for a, b in (e.split(">") for e in edges.split()))
    made = tuple(Step(i, texts.get(i, f"do {i}")) for i in steps.split())
    return GraphDraft("g", "g", made, pairs, start, end)


def _rules(draft: GraphDraft) -> set[str]:
    return {f.rule for f in lint_graph(draft)} - {"no_start", "no_end"}


def test_every_rule_has_a_check_in_the_same_order() -> None:
    assert list(_CHECKS) == list(GRAPH_RULES)
    assert set(GRAPH_RULES) >= BROKEN_RULES


def test_a_sound_graph_has_no_finding(diamond: TaskGraph) -> None:
    assert lint_graph(GraphDraft.of(diamond)) == ()
    assert GraphDraft.of(diamond).build() == diamond


CASES = {
    "empty": (_draft("S E", "S>E", "S", "E"), "steps", "2 node(s), none to perform"),
    "duplicate_id": (_draft("a b a", "a>b"), "step 'a'", "2 times"),
    "unknown_step": (_draft("a b", "a>b a>z"), "edge a → z", "'z' is not among the steps"),
    "self_edge": (_draft("a b", "a>b b>b"), "edge b → b", "from a step to itself"),
    "duplicate_edge": (_draft("a b", "a>b a>b a>b"), "edge a → b", "3 times"),
    "cycle": (_draft("a b c d", "a>b b>c c>b c>d"), "step 'b'", "b → c → b"),
    "unreached": (_draft("S a b", "S>a", "S"), "step 'b'", "no way from 'S'"),
    "dead_end": (_draft("a b E", "a>E", None, "E"), "step 'b'", "no way to 'E'"),
    "no_start": (_draft("a b c", "a>c b>c"), "start", "2 step(s) may come first"),
    "no_end": (_draft("a b c", "a>c b>c"), "end", "1 step(s) may come last"),
    "no_edges": (_draft("a b c"), "edges", "3 steps in any order"),
    "parts": (_draft("a b c d e", "a>b c>d d>e"), "edges", "2 parts of 3, 2 steps"),
    "alone": (_draft("a b c", "a>b"), "step 'c'", "no edge"),
    "implied_edge": (_draft("a b c d", "a>b b>c c>d a>d"), "edge a → d", "other edges say so already"),
    "same_text": (_draft("a b", "a>b", a="Stir", b="Stir"), "steps 'a', 'b'", "'Stir'"),
    "alike_text": (_draft("a b", "a>b", a="Stir", b="stir "), "texts", "'Stir', 'stir '"),
    "alike_id": (_draft("\u00e9 e\u0301", "\u00e9>e\u0301"), "ids", r"'\xe9', 'e\u0301'"),
    "unicode_form": (_draft("a b", "a>b", a="cre\u0301me"), "step 'a'", r"its text: cre\u0301me"),
    "hidden_characters": (
        _draft("a b", "a>b", a="a\u202eb\u200b"),
        "step 'a'",
        "its text has U+202E, U+200B",
    ),
    "empty_text": (_draft("a b", "a>b", a=" \t"), "step 'a'", "no words"),
    "long_text": (_draft("a b", "a>b", a="x" * 1_001), "step 'a'", "1,001 characters"),
}


@pytest.mark.parametrize("rule", GRAPH_RULES)
def test_each_rule_finds_its_case(rule: str) -> None:
    draft, where, seen = CASES[rule]
    assert GraphFinding(rule, where, seen) in lint_graph(draft)


def test_a_start_that_is_not_there_is_an_unknown_step() -> None:
    found = lint_graph(_draft("a b", "a>b", start="S", end="E"))
    assert [(f.where, f.seen) for f in found] == [
        ("start", "'S' is not among the steps"),
        ("end", "'E' is not among the steps"),
    ]


def test_start_and_end_may_say_the_same() -> None:
    assert _rules(_draft("S a E", "S>a a>E", "S", "E", S="-", E="-")) == set()


def test_each_tangle_is_told_once_with_its_size() -> None:
    found = [f for f in lint_graph(_draft("a b c d x y", "a>b b>a b>c c>d d>a x>y y>x")) if f.rule == "cycle"]
    assert [(f.where, f.seen) for f in found] == [
        ("step 'a'", "a → b → a; 4 steps wait for one another"),
        ("step 'x'", "x → y → x"),
    ]


def test_long_names_and_long_cycles_are_cut() -> None:
    ids = [f"{i:02}" + "n" * 1_000 for i in range(40)]
    edges = tuple(zip(ids, [*ids[1:], ids[0]], strict=True))
    (cycle,) = [
        f
        for f in lint_graph(GraphDraft("g", "g", tuple(Step(i, i[:2]) for i in ids), edges))
        if f.rule == "cycle"
    ]
    assert len(cycle.seen) < 1_300
    assert "… 29 more …" in cycle.seen


@given(
    st.lists(st.sampled_from("abcdSE"), max_size=6),
    st.lists(st.tuples(st.sampled_from("abcdSEz"), st.sampled_from("abcdSEz")), max_size=8),
    st.sampled_from([None, "S"]),
    st.sampled_from([None, "E", "S"]),
)
def test_a_draft_builds_exactly_when_nothing_is_broken(
    ids: list[str], edges: list[tuple[str, str]], start: str | None, end: str | None
) -> None:
    draft = GraphDraft("g", "g", tuple(Step(i, i) for i in ids), tuple(edges), start, end)
    try:
        graph = draft.build()
    except GraphError:
        assert any(f.broken for f in lint_graph(draft))
        return
    assert not any(f.broken for f in lint_graph(draft))
    implied = {f.where for f in lint_graph(draft) if f.rule == "implied_edge"}
    dropped = set(graph.edges) - set(graph.transitive_reduction().edges)
    assert implied == {f"edge {a} → {b}" for a, b in dropped}


# -- shape -------------------------------------------------------------------------------------------------------


def test_the_shape_of_the_diamond(diamond: TaskGraph) -> None:
    shape = measure_graph(diamond)
    assert (shape.steps, shape.edges, shape.first, shape.last) == (4, 6, 1, 1)
    assert (shape.longest, shape.pairs, shape.orders) == (3, 5, 2)


def test_orders_are_counted_only_where_they_are_few() -> None:
    wide = TaskGraph("w", "w", tuple(Step(str(i), str(i)) for i in range(30)))
    assert measure_graph(wide).orders is None
    some = TaskGraph("w", "w", tuple(Step(str(i), str(i)) for i in range(10)))
    assert measure_graph(some).orders == math.factorial(10)


def test_five_thousand_steps_in_a_row_and_side_by_side() -> None:
    steps = tuple(Step(str(i), f"do {i}") for i in range(5_000))
    row = GraphDraft("r", "r", steps, tuple((str(i), str(i + 1)) for i in range(4_999)), "0", "4999")
    assert lint_graph(row) == ()
    assert measure_graph(row.build()).orders == 1
    side = GraphDraft("s", "s", steps)
    assert _rules(side) == {"no_edges"}
    assert measure_graph(side.build()).orders is None


@pytest.mark.shared
def test_the_graphs_of_captaincook4d(shared_data: Path) -> None:
    from proctor.datasets.captaincook4d import read_graphs

    found = {
        name: [(f.rule, f.where) for f in lint_graph(GraphDraft.of(graph))]
        for name, graph in read_graphs(shared_data / "captaincook4d").items()
    }
    assert len(found) == 24
    assert {rule for rows in found.values() for rule, _ in rows} == {"same_text"}
    assert sum(map(len, found.values())) == 4
