from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.report.exams import GRAPHS, TEA, make_item

from proctor.drawing.sketch import list_steps
from proctor.exam.kinds.example import Example, Performed
from proctor.exam.kinds.moment_question import moment_example
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.progress import derive_progress
from proctor.procedure.recording import Mistake
from proctor.report.moment import derive_step_states


def states_after(*history: str) -> dict[str, str]:
    graph = TEA
    done = tuple(Performed(i, "x") for i in history)
    example = msgspec.structs.replace(
        moment_example(make_item(0).question), previous=done[:-1], current=done[-1] if done else None
    )
    return {s.step_id: s.words for s in derive_step_states(example, graph)}


def test_states_of_a_performance_in_order() -> None:
    assert states_after() == {"1": "next", "2": "next", "3": "later", "4": "later"}
    assert states_after("1", "2") == {"1": "done", "2": "just done", "3": "next", "4": "later"}


def test_a_forgotten_step_is_missing_and_what_came_after_is_out_of_order() -> None:
    assert states_after("1", "3") == {
        "1": "done",
        "2": "missing",
        "3": "just done, out of order",
        "4": "next",
    }


def test_a_repeated_step_is_current_and_not_done() -> None:
    assert states_after("1", "2", "1")["1"] == "just done"


def test_mistakes_of_all_performances_are_named_once() -> None:
    example = msgspec.structs.replace(
        moment_example(make_item(0).question),
        previous=(Performed("1", "x", "", (Mistake("timing"), Mistake("measurement"), Mistake("timing"))),),
        current=Performed("2", "x", "", (Mistake("order"),)),
    )
    words = {s.step_id: s.words for s in derive_step_states(example, GRAPHS["tea"])}
    assert words["1"] == "done, mistakes: timing, measurement"
    assert words["2"] == "just done, mistake: order"


def test_steps_that_the_graph_does_not_have_are_ignored() -> None:
    assert states_after("77", "1") == states_after("1")


@given(st.data())
def test_states_agree_with_progress_on_random_graphs(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 7))
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n)]
    edges = data.draw(st.lists(st.sampled_from(pairs), unique=True) if pairs else st.just([]))
    graph = TaskGraph(
        "g", "g", tuple(Step(str(i), "s") for i in range(n)), tuple((str(a), str(b)) for a, b in edges)
    )
    history = data.draw(st.lists(st.sampled_from([s.id for s in graph.steps]), max_size=6))
    done = tuple(Performed(i, "x") for i in history)
    example = Example(
        id="e",
        clip_id="c",
        recording_id="r",
        activity_id="g",
        activity_name="g",
        type="next",
        end=1.0,
        state="ongoing",
        noisy=False,
        previous=done[:-1],
        current=done[-1] if done else None,
    )
    progress = derive_progress(graph, history)
    states = derive_step_states(example, graph)
    assert [s.step_id for s in states] == [s.id for s in list_steps(graph)]
    assert {s.step_id for s in states if s.name in ("done", "current")} == set(progress.done)
    assert {s.step_id for s in states if s.name == "next"} == set(progress.next)
    assert {s.step_id for s in states if s.name == "missing"} == set(progress.missing)
    assert {s.step_id for s in states if s.out_of_order} == {after for _, after in progress.out_of_order}


def test_lists_follow_the_graph() -> None:
    for graph in GRAPHS.values():
        assert graph.is_valid_order([s.id for s in list_steps(graph)])
