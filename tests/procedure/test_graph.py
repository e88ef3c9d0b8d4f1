"""The task graph against networkx and against enumeration by hand."""

from __future__ import annotations

import itertools
import pickle
import random
import time
from collections import Counter
from collections.abc import Callable

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from proctor.procedure import graph as graph_module
from proctor.procedure.graph import GraphError, Step, TaskGraph, TooManyDownsetsError

MakeGraph = Callable[..., TaskGraph]


@st.composite
def task_graphs(draw: st.DrawFn, max_steps: int = 7) -> TaskGraph:
    """Any task graph: ids with holes, file order unlike any valid order, with or without start and end."""
    n = draw(st.integers(1, max_steps))
    numbers = draw(st.lists(st.integers(0, 99), min_size=n, max_size=n, unique=True))
    hidden_order = [str(i) for i in numbers]
    pairs = list(itertools.combinations(hidden_order, 2))
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    steps = draw(st.permutations(hidden_order))
    start = "S" if draw(st.booleans()) else None
    end = "E" if draw(st.booleans()) else None
    if start:
        afters = {b for _, b in chosen}
        chosen = [(start, i) for i in steps if i not in afters] + chosen
        steps = [start, *steps]
    if end:
        befores = {a for a, _ in chosen if a != start}
        chosen = chosen + [(i, end) for i in hidden_order if i not in befores]
        steps = [*steps, end]
    return TaskGraph(
        "g", "G", tuple(Step(i, f"text {i}") for i in steps), tuple(draw(st.permutations(chosen))), start, end
    )


def oracle(graph: TaskGraph) -> nx.DiGraph:
    network = nx.DiGraph(graph.edges)
    network.add_nodes_from(s.id for s in graph.steps)
    return network


def valid_orders(graph: TaskGraph) -> list[tuple[str, ...]]:
    """Every valid order of the actions, by trying all permutations."""
    network = nx.transitive_closure_dag(oracle(graph))
    actions = [s.id for s in graph.actions]
    pairs = [(a, b) for a, b in network.edges if a in actions and b in actions]
    return [
        order
        for order in itertools.permutations(actions)
        if all(order.index(a) < order.index(b) for a, b in pairs)
    ]


# -- validation ------------------------------------------------------------------------------------------------


def problems_of(make: Callable[[], TaskGraph]) -> tuple[str, ...]:
    with pytest.raises(GraphError) as caught:
        make()
    return caught.value.problems


def test_unknown_ids_are_named_with_their_edge(make_graph: MakeGraph):
    assert problems_of(lambda: make_graph("a b", edges="a>x y>b")) == (
        "edge a → x names the unknown step 'x'",
        "edge y → b names the unknown step 'y'",
    )


def test_every_problem_is_listed_not_just_the_first(make_graph: MakeGraph):
    found = problems_of(lambda: make_graph("a b b c", edges="a>a a>b a>b c>q", start="s", end="e"))
    assert found == (
        "step id 'b' occurs 2 times",
        "start 's' is not among the steps",
        "end 'e' is not among the steps",
        "step 'a' is its own prerequisite",
        "edge a → b occurs 2 times",
        "edge c → q names the unknown step 'q'",
    )


def test_the_error_names_the_graph_and_is_a_value_error(make_graph: MakeGraph):
    with pytest.raises(ValueError, match=r"^task graph 'g': step 'a' is its own prerequisite$"):
        make_graph("a", edges="a>a")


def test_a_cycle_is_reported_as_the_cycle_itself(make_graph: MakeGraph):
    (problem,) = problems_of(lambda: make_graph("x a b c y", edges="x>a a>b b>c c>a c>y"))
    assert problem == "its prerequisites form a cycle: a → b → c → a"


def test_a_cycle_behind_a_long_way_in_and_with_start_and_end(make_graph: MakeGraph):
    (problem,) = problems_of(lambda: make_graph("S a b c E", edges="S>a a>b b>c c>b c>E", start="S", end="E"))
    assert problem == "its prerequisites form a cycle: b → c → b"


@given(st.integers(2, 7), st.data())
def test_every_reported_cycle_is_a_cycle_of_the_edges(n: int, data: st.DataObject):
    ids = [str(i) for i in range(n)]
    pairs = [(a, b) for a in ids for b in ids if a != b]
    edges = data.draw(st.lists(st.sampled_from(pairs), unique=True))
    network = nx.DiGraph(edges)
    try:
        TaskGraph("g", "g", tuple(Step(i, i) for i in ids), tuple(edges))
    except GraphError as error:
        assert not nx.is_directed_acyclic_graph(network)
        (problem,) = error.problems
        cycle = problem.removeprefix("its prerequisites form a cycle: ").split(" → ")
        assert cycle[0] == cycle[-1]
        assert len(set(cycle)) == len(cycle) - 1
        assert set(itertools.pairwise(cycle)) <= set(edges)
    else:
        assert nx.is_directed_acyclic_graph(network)


def test_steps_that_the_start_does_not_reach_and_that_do_not_reach_the_end(make_graph: MakeGraph):
    found = problems_of(lambda: make_graph("S a b c E", edges="S>a a>E b>E S>c", start="S", end="E"))
    assert found == ("the start does not lead to step(s) b", "step(s) c do not lead to the end")


def test_nothing_may_come_before_the_start_or_after_the_end(make_graph: MakeGraph):
    assert "cycle" in problems_of(lambda: make_graph("S a", edges="S>a a>S", start="S"))[0]
    assert "does not lead" in problems_of(lambda: make_graph("S a", edges="a>S", start="S"))[0]
    assert "do not lead" in problems_of(lambda: make_graph("a E", edges="E>a", end="E"))[0]


@pytest.mark.parametrize(("text", "start", "end"), [("", None, None), ("S", "S", None), ("S E", "S", "E")])
def test_a_graph_without_anything_to_do_is_none(
    make_graph: MakeGraph, text: str, start: str | None, end: str | None
):
    edges = "S>E" if text == "S E" else ""
    assert problems_of(lambda: make_graph(text, edges=edges, start=start, end=end)) == (
        "it has no steps that a person performs",
    )


def test_start_and_end_cannot_be_the_same_step(make_graph: MakeGraph):
    problems_of(lambda: make_graph("S a", edges="S>a", start="S", end="S"))


def test_duplicate_texts_are_two_steps(twins: TaskGraph):
    assert twins["1"].text == twins["3"].text
    assert twins.ancestors("3") == ("0", "1", "2")
    assert twins.comes_before("1", "3")
    assert not twins.comes_before("3", "1")
    assert twins.count_orders() == 1


def test_holes_in_ids_and_two_components_without_start_and_end(make_graph: MakeGraph):
    graph = make_graph("1 2 40 7 9", edges="1>40 7>9")
    assert graph.ancestors("40") == ("1",)
    assert graph.descendants("7") == ("9",)
    assert graph.predecessors("2") == ()
    assert graph.ready([]) == ("1", "2", "7")
    # 5! orders of all five, halved for each of the two edges
    assert graph.count_orders() == 120 // 2 // 2


def test_ids_in_other_normal_forms_are_other_ids():
    graph = TaskGraph("g", "g", (Step("é", "a"), Step("e\u0301", "b")), (("é", "e\u0301"),))
    assert graph.descendants("é") == ("e\u0301",)


# -- look-up ---------------------------------------------------------------------------------------------------


def test_start_and_end_are_no_actions(diamond: TaskGraph):
    assert [s.id for s in diamond.actions] == ["a", "b", "c", "d"]
    assert diamond.ids(diamond.action_mask) == ("a", "b", "c", "d")


def test_membership_and_items(diamond: TaskGraph):
    assert "b" in diamond
    assert "z" not in diamond
    assert diamond["b"] == Step("b", "do b")
    with pytest.raises(KeyError):
        diamond["z"]
    with pytest.raises(KeyError):
        diamond.mask(["a", "z"])
    with pytest.raises(KeyError):
        diamond.ready(["z"])


def test_scan_order_is_first_appearance_in_the_edges_then_the_rest(make_graph: MakeGraph):
    assert make_graph("a b c d e", edges="d>b d>a b>e").scan_order == ("d", "b", "a", "e", "c")


@given(task_graphs())
def test_bitsets_and_ids_are_inverse(graph: TaskGraph):
    ids = [s.id for s in graph.steps]
    chosen = ids[::2]
    assert graph.ids(graph.mask(chosen)) == tuple(chosen)
    assert graph.ids(graph.mask(ids), graph.scan_order) == graph.scan_order
    assert graph.ids(0) == graph.ids(0, graph.scan_order) == ()


def test_equal_graphs_are_equal_whatever_was_computed_and_survive_pickling(diamond: TaskGraph):
    fresh = TaskGraph(diamond.id, diamond.name, diamond.steps, diamond.edges, "S", "E")
    diamond.count_orders()
    assert diamond == fresh
    assert hash(diamond) == hash(fresh)
    assert pickle.loads(pickle.dumps(diamond)) == fresh


# -- relations -------------------------------------------------------------------------------------------------


@given(task_graphs(10))
def test_relations_agree_with_networkx(graph: TaskGraph):
    network = oracle(graph)
    file_order = [s.id for s in graph.steps]

    def ordered(ids: set[str]) -> tuple[str, ...]:
        return tuple(i for i in file_order if i in ids)

    for node in file_order:
        assert graph.predecessors(node) == ordered(set(network.predecessors(node)))
        assert graph.successors(node) == ordered(set(network.successors(node)))
        assert graph.ancestors(node) == ordered(nx.ancestors(network, node))
        assert graph.descendants(node) == ordered(nx.descendants(network, node))
        for other in file_order:
            assert graph.comes_before(other, node) == (other in nx.ancestors(network, node))


@given(task_graphs(10))
def test_topological_order_is_the_first_in_file_order(graph: TaskGraph):
    position = {s.id: i for i, s in enumerate(graph.steps)}
    expected = nx.lexicographical_topological_sort(oracle(graph), key=position.__getitem__)
    assert graph.topological_order == tuple(expected)


@given(task_graphs(9))
def test_transitive_reduction_agrees_with_networkx_and_keeps_the_order_of_edges(graph: TaskGraph):
    reduced = graph.transitive_reduction()
    assert set(reduced.edges) == set(nx.transitive_reduction(oracle(graph)).edges)
    assert list(reduced.edges) == [e for e in graph.edges if e in set(reduced.edges)]
    assert reduced.steps == graph.steps
    assert (reduced.start, reduced.end) == (graph.start, graph.end)
    assert all(reduced.ancestors(s.id) == graph.ancestors(s.id) for s in graph.steps)
    assert reduced.transitive_reduction() == reduced


@given(task_graphs(9), st.data())
def test_ready_are_the_undone_whose_direct_prerequisites_are_done(graph: TaskGraph, data: st.DataObject):
    ids = [s.id for s in graph.steps]
    done = set(data.draw(st.lists(st.sampled_from(ids), unique=True)))
    network = oracle(graph)
    expected = [i for i in ids if i not in done and set(network.predecessors(i)) <= done]
    assert graph.ready(done) == tuple(expected)


# -- orders ----------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(task_graphs(6))
def test_counting_validity_and_violations_agree_with_all_permutations(graph: TaskGraph):
    valid = set(valid_orders(graph))
    assert graph.count_orders() == len(valid)
    for order in itertools.permutations(s.id for s in graph.actions):
        assert graph.is_valid_order(order) == (order in valid)
        assert (not graph.violated_edges(order)) == (order in valid)
        assert graph.violated_edges(order) == tuple(
            (a, b) for a, b in graph.edges if {a, b} <= set(order) and order.index(a) > order.index(b)
        )


@given(task_graphs(9), st.integers(0, 2**32))
def test_sampled_orders_are_valid_and_depend_only_on_the_seed(graph: TaskGraph, seed: int):
    order = graph.sample_order(random.Random(seed))
    assert graph.is_valid_order(order)
    assert order == graph.sample_order(random.Random(seed))


@pytest.mark.parametrize(
    ("steps", "edges"),
    [
        ("a b c", ""),
        ("a1 a2 b1 b2 z", "a1>a2 b1>b2 a2>z b2>z"),
        ("a b c d e", "a>b a>c c>e"),  # a greedy choice among ready steps is far from uniform here
        ("p q r s t u", "p>q r>q r>s t>s t>u"),
    ],
)
def test_sampled_orders_are_uniform(make_graph: MakeGraph, steps: str, edges: str):
    graph = make_graph(steps, edges=edges)
    rng = random.Random(20)
    valid = valid_orders(graph)
    drawn = Counter(graph.sample_order(rng) for _ in range(60 * len(valid)))
    assert set(drawn) == set(valid)
    assert chisquare([drawn[order] for order in valid]).pvalue > 0.01


def test_the_uniformity_check_would_notice_greedy_sampling(make_graph: MakeGraph):
    graph, rng = make_graph("a b c d e", edges="a>b a>c c>e"), random.Random(20)

    def greedy() -> tuple[str, ...]:
        done: list[str] = []
        while len(done) < 5:
            done.append(rng.choice(graph.ready(done)))
        return tuple(done)

    valid = valid_orders(graph)
    drawn = Counter(greedy() for _ in range(60 * len(valid)))
    assert chisquare([drawn[order] for order in valid]).pvalue < 1e-6


def test_violations_of_incomplete_and_repeated_orders(make_graph: MakeGraph):
    graph = make_graph("a b c", edges="a>b b>c")
    assert graph.violated_edges(["b"]) == ()  # a is missing, not out of order
    assert graph.violated_edges(["c", "b", "c", "a"]) == (("a", "b"), ("b", "c"))
    assert graph.violated_edges(["a", "b", "a", "c"]) == ()  # the first time counts
    assert graph.violated_edges([]) == ()
    with pytest.raises(KeyError):
        graph.violated_edges(["a", "z"])


def test_orders_that_are_no_orders_of_the_actions(diamond: TaskGraph):
    assert diamond.is_valid_order(["a", "c", "b", "d"])
    assert diamond.is_valid_order(["S", "a", "c", "b", "d", "E"])
    for order in (["a", "b", "d"], ["a", "b", "c", "c", "d"], ["a", "b", "c", "z"], []):
        assert not diamond.is_valid_order(order)


# -- size ------------------------------------------------------------------------------------------------------


def test_too_wide_graphs_are_refused_before_memory_is_filled(
    make_graph: MakeGraph, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(graph_module, "DOWNSET_LIMIT", 100)
    wide = make_graph(" ".join(f"s{i}" for i in range(40)))  # 2**40 downsets
    for refused in (wide.count_orders, lambda: wide.sample_order(random.Random(0))):
        with pytest.raises(TooManyDownsetsError, match=r"'g' has more than 100 downsets"):
            refused()


def test_the_limit_itself_is_allowed(make_graph: MakeGraph, monkeypatch: pytest.MonkeyPatch):
    chain = make_graph("a b c", edges="a>b b>c")  # {} {a} {ab} {abc}
    monkeypatch.setattr(graph_module, "DOWNSET_LIMIT", 4)
    assert chain.count_orders() == 1
    monkeypatch.setattr(graph_module, "DOWNSET_LIMIT", 3)
    with pytest.raises(TooManyDownsetsError):
        make_graph("a b c", edges="a>b b>c").count_orders()


def test_orders_of_independent_chains_follow_the_multinomial_formula(make_graph: MakeGraph):
    chains = [[f"{c}{i}" for i in range(5)] for c in "xyz"]
    edges = " ".join(f"{a}>{b}" for chain in chains for a, b in itertools.pairwise(chain))
    graph = make_graph(" ".join(i for chain in chains for i in chain), edges=edges)
    assert graph.count_orders() == 756_756  # 15! / (5!)**3


def numbered(n: int, edges: list[tuple[int, int]]) -> TaskGraph:
    steps = tuple(Step(str(i), f"step {i}") for i in range(n))
    return TaskGraph("big", "Big", steps, tuple((str(a), str(b)) for a, b in edges))


def test_a_chain_of_1000_steps_written_backwards_needs_no_recursion():
    n = 1_000
    graph = numbered(n, [(i + 1, i) for i in range(n - 1)])
    assert graph.topological_order == tuple(str(i) for i in reversed(range(n)))
    assert len(graph.ancestors("0")) == n - 1
    assert graph.count_orders() == 1
    assert graph.sample_order(random.Random(0)) == graph.topological_order


def test_a_cycle_of_1000_steps_is_found():
    n = 1_000
    with pytest.raises(GraphError, match="form a cycle"):
        numbered(n, [(i, (i + 1) % n) for i in range(n)])


def test_5000_steps_stay_fast():
    n, rng = 5_000, random.Random(0)
    edges = sorted({(i, rng.randrange(i + 1, min(n, i + 40))) for i in range(n - 1) for _ in range(3)})
    began = time.process_time()
    graph = numbered(n, edges)
    order = graph.topological_order
    assert graph.is_valid_order(order)
    assert graph.transitive_reduction().edges
    assert graph.violated_edges(order[::-1]) == graph.edges
    assert len([graph.predecessors(i) for i in order]) == n
    assert time.process_time() - began < 2.0  # about 0.15 s; quadratic code takes 5 s and more
