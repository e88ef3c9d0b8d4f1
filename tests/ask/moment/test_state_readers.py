"""All who say what stands done at a moment say the same: generator, oracle, upper bound, report and drawings."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from proctor.ask.moment.derive import derive_examples
from proctor.ask.moment.facts import GraphView
from proctor.ask.moment.facts import Moment as Asked
from proctor.drawing.view import mark_steps, view_graph
from proctor.exam.bound import Facts
from proctor.exam.kinds.example import Example
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Recording, Segment
from proctor.report.moment import derive_step_states
from proctor.verify.oracle.moment import Moment as Judged


@st.composite
def recordings(draw: st.DrawFn) -> tuple[Recording, TaskGraph]:
    """A recording with steps that are done again and optional steps, and its graph."""
    ids = [f"s{i}" for i in range(draw(st.integers(2, 5)))]
    pairs = list(itertools.combinations(ids, 2))
    edges = draw(st.lists(st.sampled_from(pairs), unique=True, min_size=1))
    steps = tuple(Step(i, f"Turn knob {i}", draw(st.booleans())) for i in ids)
    performed = draw(st.lists(st.sampled_from(ids), min_size=2, max_size=7))
    segments = (Segment(i, "x", 10.0 * n, 10.0 * n + 9) for n, i in enumerate(performed, start=1))
    return Recording("r", "g", "G", tuple(segments)), TaskGraph("g", "G", steps, tuple(edges))


@given(recordings())
def test_all_readers_of_the_state_agree(made: tuple[Recording, TaskGraph]) -> None:
    recording, graph = made
    view = GraphView(graph)
    for example in derive_examples([recording], {"g": graph}):
        if not isinstance(example, Example):
            continue
        asked, judged = Asked(example, view), Judged(example, graph)  # Asked refuses facts that disagree
        assert asked.progress == judged.progress
        assert example.blocking == judged.progress.out_of_order
        done = set(judged.progress.done)
        assert Facts(example, graph).done == done
        current = {example.current.step_id} if example.current else set()
        states = {s.step_id: s.name for s in derive_step_states(example, graph)}
        assert {i for i, name in states.items() if name in ("done", "current")} == done | current
        assert {i for i, mark in mark_steps(example, graph).items() if mark.status != "todo"} == done
        listed = view_graph(example, graph).rows[len(example.performed) :]
        assert {row.step_id for row in listed} == {s.id for s in graph.steps} - done
        needed = {i for i in judged.progress.next if not graph[i].optional}
        assert judged.following & judged.pending == needed
        assert {i for c in asked.required for i in c.ids} == needed
        assert Facts(example, graph).finished == (not needed and not judged.progress.missing)
