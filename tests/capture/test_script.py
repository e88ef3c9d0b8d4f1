"""Scripts: valid orders drawn evenly, each kind of planned mistake really one, and draws that change nothing of each other."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

import proctor.procedure.graph as graph_module
from proctor.capture.records import PlannedMistake, Script, Strategy, recording_folder
from proctor.capture.script import STRATEGIES, count_performances, draw_order, draw_scripts, short_name
from proctor.datasets.dataset import load_dataset
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import MISTAKE_KINDS
from proctor.records import encode_jsonl

Make = Callable[..., TaskGraph]
COUNTS: dict[Strategy, int] = {"normal": 25, "missing": 10, "disordered": 30, "induced": 30, "impromptu": 30}


def orders(scripts: list[Script]) -> list[tuple[str, ...]]:
    return [tuple(step.step for step in script.steps) for script in scripts]


def drawn(graph: TaskGraph, strategy: Strategy, n: int, seed: int = 0) -> list[Script]:
    return draw_scripts(graph, {strategy: n}, seed)


@st.composite
def graphs(draw: st.DrawFn) -> TaskGraph:
    """Any graph of up to eight steps, some of them optional, with edges from earlier to later ones."""
    n = draw(st.integers(1, 8))
    optional = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    texts = ["Add 2 tsp salt", "Boil for 5 minutes", "Stir", "Fry on medium heat", "Peel 2 garlic cloves"]
    steps = [Step(f"s{i}", draw(st.sampled_from(texts)), optional[i]) for i in range(n)]
    pairs = list(itertools.combinations([s.id for s in steps], 2))
    edges = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=12)) if pairs else []
    return TaskGraph("any", "Any", tuple(draw(st.permutations(steps))), tuple(edges))


@given(graphs(), st.integers(0, 3))
def test_each_kind_of_script_is_what_it_says(graph: TaskGraph, seed: int) -> None:
    scripts = draw_scripts(graph, dict.fromkeys(STRATEGIES, 4), seed)
    needed = {s.id for s in graph.actions if not s.optional}
    for script in scripts:
        order = [step.step for step in script.steps]
        kinds = {m.kind for m in script.mistakes}
        assert order
        assert kinds <= set(MISTAKE_KINDS)
        assert len(order) == len(set(order))
        assert {m.step for m in script.mistakes} <= {*order, *script.left_out}
        assert all(step.text == graph[step.step].text for step in script.steps)
        assert {h.step for h in script.hints} <= {*order}
        if script.strategy == "missing":
            assert kinds == {"missing"}
            assert tuple(m.step for m in script.mistakes) == script.left_out
            assert set(script.left_out) == needed - set(order)
            assert graph.violated_edges(order) == ()
            assert not graph.is_valid_order(order)
        elif script.strategy == "disordered":
            assert kinds == {"order"}
            assert not graph.is_valid_order(order)
            early = {i for n, i in enumerate(order) if any(graph.comes_before(b, i) for b in order[n:])}
            assert {m.step for m in script.mistakes} == early
        else:
            assert graph.is_valid_order(order)
            assert bool(kinds) == (script.strategy == "induced")
            assert not kinds & {"missing", "order"}
        changed = {step.step for step in script.steps if step.modified is not None}
        assert changed == {m.step for m in script.mistakes if m.text and m.kind != "order"}
    made = Counter(script.strategy for script in scripts)
    assert made["normal"] == made["impromptu"] == made["induced"] == 4


def test_r3_a_script_is_a_valid_order_for_200_seeds(branches: TaskGraph, diamond: TaskGraph) -> None:
    for graph in (branches, diamond):
        for seed in range(200):
            order, method = draw_order(graph, f"{seed}/x")
            assert graph.is_valid_order(order)
            assert method == "uniform"


@pytest.mark.shared
def test_r3_scripts_of_the_real_graphs_are_valid_orders(shared_data: Path) -> None:
    graphs = load_dataset("captaincook4d").read(shared_data / "captaincook4d", "corrected").graphs.values()
    distinct = {}
    for graph in graphs:
        assert all(graph.is_valid_order(draw_order(graph, f"{seed}/{graph.id}")[0]) for seed in range(200))
        scripts = draw_scripts(graph, COUNTS, 0)
        assert Counter(script.strategy for script in scripts) == COUNTS
        normal = [o for s, o in zip(scripts, orders(scripts), strict=True) if s.strategy == "normal"]
        distinct[graph.name] = (len(set(normal)), count_performances(graph))
        assert len(set(normal)) == min(25, count_performances(graph) or 25)
        for script in scripts:
            assert script.method == "uniform"
            assert all(step.text == graph[step.step].text for step in script.steps)
    assert distinct["Spiced Hot Chocolate"] == (6, 6)
    assert distinct["Pinwheels"] == (9, 9)
    assert distinct["Broccoli Stir Fry"] == (25, 15_850_598_400)


def test_r3_orders_of_a_small_graph_are_uniform(branches: TaskGraph) -> None:
    count = Counter(draw_order(branches, f"seed {n}")[0] for n in range(3_000))
    assert len(count) == branches.count_orders() == 6
    assert chisquare(list(count.values())).pvalue > 0.01


def test_ready_steps_alone_are_not_uniform_so_the_test_of_uniformity_can_fail(
    make_graph: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One step beside a chain of three: taking a ready step each time puts it first in half of the draws, not in a quarter.
    graph = make_graph("x a b c", edges="a>b b>c")
    monkeypatch.setattr(graph_module, "DOWNSET_LIMIT", 3)
    drawn = [draw_order(graph, f"seed {n}") for n in range(1_000)]
    assert {method for _, method in drawn} == {"random-ready"}
    assert all(graph.is_valid_order(order) for order, _ in drawn)
    count = Counter(order for order, _ in drawn)
    assert len(count) == 4
    assert chisquare(list(count.values())).pvalue < 1e-6


def test_a_graph_that_is_too_wide_says_so_without_counting(make_graph: Make) -> None:
    graph = make_graph(
        " ".join(f"s{n}" for n in range(40)) + " z", edges=" ".join(f"s{n}>z" for n in range(40))
    )
    scripts = draw_scripts(graph, dict.fromkeys(STRATEGIES, 3), 0)
    assert count_performances(graph) is None
    assert {script.method for script in scripts} == {"random-ready"}
    assert Counter(s.strategy for s in scripts) == dict.fromkeys(STRATEGIES, 3)
    assert all(graph.is_valid_order([x.step for x in s.steps]) for s in scripts if s.strategy == "normal")


def test_optional_steps_are_in_or_out_and_hold_nothing_up(make_graph: Make) -> None:
    graph = TaskGraph(
        "g", "g", (Step("a", "a"), Step("o", "o", optional=True), Step("b", "b")), (("a", "o"), ("o", "b"))
    )
    assert count_performances(graph) == 2
    found = Counter(draw_order(graph, f"{n}")[0] for n in range(400))
    assert found.keys() == {("a", "o", "b"), ("a", "b")}
    assert 150 < found["a", "b"] < 250
    # b still has to wait for a where the step between them is left out.
    disordered = drawn(graph, "disordered", 20)
    assert all(not graph.is_valid_order(order) for order in orders(disordered))
    assert {len(order) for order in orders(disordered)} == {2, 3}
    # What is only optional is never missing.
    assert {i for s in drawn(graph, "missing", 20) for i in s.left_out} == {"a", "b"}
    lonely = TaskGraph("g", "g", (Step("o", "o", optional=True),))
    assert orders(drawn(lonely, "normal", 3)) == [("o",)] * 3


@pytest.mark.parametrize("n", [1, 6, 24, 25, 30])
def test_normal_scripts_are_distinct_while_there_are_others(make_graph: Make, n: int) -> None:
    graph = make_graph("a b c d")  # 24 orders
    found = orders(drawn(graph, "normal", n))
    assert len(set(found)) == min(n, 24)
    # Beyond that all come again before any comes a third time.
    assert max(Counter(found).values()) <= 2


def test_a_chain_has_one_order_and_a_single_step_no_mistakes_of_order(make_graph: Make) -> None:
    chain = make_graph("a b c", edges="a>b b>c")
    assert count_performances(chain) == 1
    assert orders(drawn(chain, "normal", 25)) == [("a", "b", "c")] * 25
    assert {s.id for s in drawn(chain, "normal", 25)} == {f"g-normal-{n:03d}" for n in range(1, 26)}
    single = make_graph("a")
    made = Counter(script.strategy for script in draw_scripts(single, COUNTS, 0))
    assert made == {"normal": 25, "impromptu": 30, "induced": 30}
    assert not drawn(make_graph("a b c"), "disordered", 5)  # nothing waits, so no order is wrong


def test_asking_for_more_changes_nothing_that_is_there(branches: TaskGraph) -> None:
    few = draw_scripts(branches, {"normal": 3, "induced": 2}, 7)
    many = draw_scripts(
        branches, {"impromptu": 9, "induced": 9, "missing": 9, "normal": 9, "disordered": 9}, 7
    )
    by_id = {script.id: script for script in many}
    assert len(by_id) == len(many) == 45
    assert all(by_id[script.id] == script for script in few)
    assert encode_jsonl(many) == encode_jsonl(draw_scripts(branches, dict.fromkeys(STRATEGIES, 9), 7))
    assert few != draw_scripts(branches, {"normal": 3, "induced": 2}, 8)
    # The seed that is written down gives the order again.
    assert all(draw_order(branches, s.seed)[0] == o for s, o in zip(few, orders(few), strict=True))


def test_missing_steps_are_as_many_as_people_left_out(make_graph: Make) -> None:
    graph = make_graph(" ".join(f"s{n}" for n in range(12)))
    sizes = Counter(len(script.left_out) for script in drawn(graph, "missing", 400))
    assert sizes.keys() == {1, 2, 3, 4}
    assert (
        chisquare([sizes[n] for n in (1, 2, 3, 4)], [400 * w / 134 for w in (70, 33, 18, 13)]).pvalue > 0.01
    )
    assert {len(s.left_out) for s in drawn(make_graph("a b"), "missing", 20)} == {1}


def test_induced_mistakes_change_what_is_read_and_not_the_activity() -> None:
    steps = (Step("1", "add-1/4 tsp salt to the bowl"), Step("2", "Boil for 5 minutes"), Step("3", "Stir"))
    graph = TaskGraph("soup", "Soup", steps)
    scripts = drawn(graph, "induced", 60)
    seen = {(m.step, m.kind, m.text) for script in scripts for m in script.mistakes}
    assert {
        ("1", "measurement", "1/2 tsp instead of 1/4 tsp"),
        ("2", "timing", "10 minutes instead of 5 minutes"),
    } <= seen
    assert {kind for step, kind, text in seen if step == "3"} == {"preparation", "technique", "other"}
    assert all(text == "" for step, _, text in seen if step == "3")
    read = {step.modified for script in scripts for step in script.steps if step.step == "1"}
    assert read == {None, "Add 1/2 tsp salt to the bowl", "Add 1/8 tsp salt to the bowl"}
    assert {step.text for script in scripts for step in script.steps} == {s.text for s in steps}
    assert graph.steps == steps
    assert all(script.hints for script in scripts)


def test_an_order_mistake_says_what_had_to_come_first(make_graph: Make) -> None:
    graph = make_graph("a b", edges="a>b")
    (script,) = drawn(graph, "disordered", 1)
    assert orders([script]) == [("b", "a")]
    assert script.mistakes == (PlannedMistake(step="b", kind="order", text="before: do a"),)


@given(st.text(max_size=80), st.text(max_size=80))
def test_hostile_ids_become_names_of_folders_that_differ(a: str, b: str) -> None:
    for activity in (a, b, f"../{a}", a.upper()):
        name = short_name(activity)
        assert len(name) <= 40
        assert recording_folder(Path("w"), f"{name}-induced-001").parent == Path("w/capture/recordings")
    assert (short_name(a) == short_name(b)) == (a == b)
    assert short_name("Tea") != short_name("tea") == "tea"


def test_scripts_survive_their_file(branches: TaskGraph) -> None:
    scripts = draw_scripts(branches, dict.fromkeys(STRATEGIES, 2), 0)
    assert msgspec.json.decode(msgspec.json.encode(scripts), type=list[Script]) == scripts
