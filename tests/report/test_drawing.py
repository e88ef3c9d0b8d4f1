"""The drawings of a report: marked by the page, or placed by it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import msgspec
import pytest

from proctor.drawing.engines import Engine, Placement, find_engine
from proctor.drawing.sketch import NotDrawnError, Sketch
from proctor.exam.kinds.moment_question import moment_example
from proctor.examples.example import Performed
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Mistake
from proctor.report.data import ReportData, ReportOptions
from proctor.report.drawing import draw_graphs, draw_in_page
from proctor.report.page import render_report
from proctor.report.states import derive_step_states, mark_states

needs_engine = pytest.mark.skipif(find_engine() is None, reason="no layout program is installed")


def chain(*texts: str) -> TaskGraph:
    steps = tuple(Step(f"s{n}", text) for n, text in enumerate(texts))
    return TaskGraph("g", "g", steps, tuple((a.id, b.id) for a, b in pairwise(steps)))


@needs_engine
def test_a_drawing_has_every_step_and_edge_and_no_status(small: ReportData) -> None:
    engine = find_engine()
    assert engine is not None
    drawing = draw_graphs(dict(small.graphs), engine)["tea"]
    assert sorted(re.findall(r'data-step="(\d+)"', drawing.svg)) == ["1", "2", "3", "4"]
    tree = ET.fromstring(drawing.svg)
    assert len(tree.findall("./g[@class='edges']/path")) == 6
    assert tree.get("aria-hidden") == "true"
    assert not re.search(r"style=|fill=|stroke=|font|<title|<a |id=|http|is-|badge", drawing.svg)
    assert drawing.width == round(float(tree.get("width", "0")))


def test_what_cannot_be_drawn_gets_a_note_and_stops_nothing(small: ReportData) -> None:
    graphs = {"long": chain("x" * 5_000), "wide": chain(*["y"] * 400), "tea": small.graphs["tea"]}
    drawings = draw_in_page(graphs.items())
    assert "5,000 characters" in drawings["long"].note
    assert "400 steps" in drawings["wide"].note
    assert not drawings["tea"].note
    assert not drawings["long"].svg


def test_a_layout_program_that_fails_is_told_and_stops_nothing(small: ReportData) -> None:
    def place(sketch: Sketch) -> Placement:
        if len(sketch.slots) == 2:
            raise NotDrawnError("it went wrong")
        return Placement(100.0, 100.0, ((1.0, 1.0),) * len(sketch.slots), ())

    drawings = draw_graphs(dict(small.graphs), Engine("broken", place))
    assert drawings["shelf"].note == "Not drawn: it went wrong."
    assert drawings["tea"].svg


def test_the_page_gets_sizes_and_numbers_and_no_text_to_place(small: ReportData) -> None:
    drawing = draw_in_page(small.graphs.items())["tea"]
    assert "Boil" in drawing.svg
    assert "Boil" not in drawing.dot
    assert "viewBox" not in drawing.svg
    assert drawing.width == 0


def test_marks_follow_the_states(small: ReportData) -> None:
    twice = Performed("1", "x", "", (Mistake("timing"), Mistake("timing")))
    example = msgspec.structs.replace(
        moment_example(small.items[0].question), previous=(twice,), current=Performed("3", "y")
    )
    marks = mark_states(derive_step_states(example, small.graphs["tea"]))
    assert {i: (m.status, m.errors, m.late) for i, m in marks.items()} == {
        "1": ("done", 2, False),
        "2": ("missing", 0, False),
        "3": ("current", 0, True),
        "4": ("next", 0, False),
    }
    assert marks["1"].words == "done, mistake: timing"


@needs_engine
def test_a_report_holds_each_graph_once_and_one_drawing_for_each_type(small: ReportData) -> None:
    page = render_report(small, options=ReportOptions(resamples=10))
    plain = re.search("<noscript>.*</noscript>", page, re.DOTALL)
    assert plain is not None
    assert page.count('<svg class="graph"') == 2 + plain[0].count("<article")
    assert 'role="listitem" aria-label="Boil one cup of water (just done, mistake: measurement)"' in plain[0]
    assert "▲ 1 mistake" in plain[0]
