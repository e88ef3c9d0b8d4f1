"""The drawings of a report: each graph once, and what cannot be drawn says why."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import msgspec
import pytest
from tests.report.exams import GRAPHS, make_item

from proctor.drawing.engines import Engine, Placement, find_engine
from proctor.drawing.sketch import NotDrawnError, Sketch
from proctor.exam.kinds.example import Performed
from proctor.exam.kinds.moment_question import moment_example
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Mistake
from proctor.report.moment import derive_step_states, draw_graphs, mark_states

needs_engine = pytest.mark.skipif(find_engine() is None, reason="no layout program is installed")


def chain(*texts: str) -> TaskGraph:
    steps = tuple(Step(f"s{n}", text) for n, text in enumerate(texts))
    return TaskGraph("g", "g", steps, tuple((a.id, b.id) for a, b in pairwise(steps)))


@needs_engine
def test_a_drawing_has_every_step_and_edge_and_no_status() -> None:
    engine = find_engine()
    assert engine is not None
    drawing = draw_graphs(GRAPHS, engine)["tea"]
    assert sorted(re.findall(r'data-step="(\d+)"', drawing.svg)) == ["1", "2", "3", "4"]
    tree = ET.fromstring(drawing.svg)
    assert len(tree.findall("./g[@class='edges']/path")) == 6
    assert tree.get("aria-hidden") == "true"
    assert not re.search(r"style=|fill=|stroke=|font|<title|<a |id=|http|is-|badge", drawing.svg)


@needs_engine
def test_what_cannot_be_drawn_gets_a_note_and_stops_nothing() -> None:
    graphs = {"long": chain("x" * 5_000), "wide": chain(*["y"] * 400), "tea": GRAPHS["tea"]}
    drawings = draw_graphs(graphs)
    assert "5,000 characters" in drawings["long"].note
    assert "400 steps" in drawings["wide"].note
    assert not drawings["tea"].note
    assert not drawings["long"].svg


def test_a_layout_program_that_fails_is_told_and_stops_nothing() -> None:
    def place(sketch: Sketch) -> Placement:
        if len(sketch.slots) == 2:
            raise NotDrawnError("it went wrong")
        return Placement(100.0, 100.0, ((1.0, 1.0),) * len(sketch.slots), ())

    drawings = draw_graphs(GRAPHS, Engine("broken", place))
    assert drawings["shelf"].note == "Not drawn: it went wrong."
    assert drawings["tea"].svg


def test_marks_follow_the_states() -> None:
    twice = Performed("1", "x", "", (Mistake("timing"), Mistake("timing")))
    example = msgspec.structs.replace(
        moment_example(make_item(0).question), previous=(twice,), current=Performed("3", "y")
    )
    marks = mark_states(derive_step_states(example, GRAPHS["tea"]))
    assert {i: (m.status, m.errors, m.late) for i, m in marks.items()} == {
        "1": ("done", 2, False),
        "2": ("missing", 0, False),
        "3": ("current", 0, True),
        "4": ("next", 0, False),
    }
    assert marks["1"].words == "done, mistake: timing"
