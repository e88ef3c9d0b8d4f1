from __future__ import annotations

import re
import time
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patience import Effort

from proctor.drawing.engines import Engine, Placement, Route
from proctor.drawing.layout import Layouts
from proctor.drawing.sketch import Sketch
from proctor.drawing.svg import draw_layout
from proctor.drawing.view import GraphView, mark_steps, view_graph
from proctor.exam.kinds.example import Example, Performed, StepRef
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Mistake
from proctor.studio.rendering import environment

ATTACKS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "{{7*7}}",
    "${7*7} {% raw %}",
    "a\u202egnp.exe",
    '"]; x [URL="javascript:alert(1)"',
    '"]; x [URL="javascript:alert(1)", tooltip="x"]; n0 -> x;',
    "<<table><tr><td href='javascript:alert(1)'>x</td></tr></table>>",
    "\\N \\G \\L &#60;script&#62;",
    "]]></text><a href='javascript:alert(1)'>x</a>",
    "</svg><script>alert(1)</script>",
    "--><!--",
    "a\x00b\x07\x1b[31m\u2028c\ufffe\ud800",
    "x" * 1_400,
)


def place(sketch: Sketch) -> Placement:
    """Stack everything, with a straight arrow for each edge."""
    y, corners = 12.0, []
    for slot in sketch.slots:
        corners.append((12.0, y))
        y += slot.height + 30
    routes = tuple(Route((20.0, 1.0, 20.0, 5.0, 20.0, 15.0, 20.0, 20.0)) for _ in sketch.edges)
    return Placement(400.0, y, tuple(corners), routes)


@pytest.fixture
def layouts() -> Layouts:
    return Layouts(engine=Engine("stack", place))


def moment(
    graph: TaskGraph, previous: Sequence[Performed] = (), current: Performed | None = None, **more: Any
) -> Example:
    return Example(
        id="e", clip_id="c", recording_id="r", activity_id=graph.id, activity_name=graph.name, type="next", end=1.0,
        state="ongoing", noisy=False, previous=tuple(previous), current=current, **more,
    )  # fmt: skip


def names(svg: str) -> list[str]:
    """Accessible names of the steps, in reading order."""
    return [e.get("aria-label", "") for e in ET.fromstring(svg).iter("g") if e.get("role") == "listitem"]


def render(view: GraphView) -> str:
    source = '{% from "graph.html.j2" import graph_panel, steps_list %}{{ graph_panel(view) }}{{ steps_list(view) }}'
    return environment().from_string(source).render(view=view)


class Shape(HTMLParser):
    """The elements of a page with the names of their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []
        self.values: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(sorted(k for k, _ in attrs))))
        self.values += [v or "" for _, v in attrs]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)


# -- statuses ----------------------------------------------------------------------------------------------------


def test_statuses_are_in_shape_glyph_and_words(diamond: TaskGraph, layouts: Layouts) -> None:
    example = moment(
        diamond, [Performed("a", "do a")], Performed("b", "do b", "", (Mistake("measurement", "half"),))
    )
    svg = view_graph(example, diamond, layouts).svg
    assert names(svg) == [
        "Do a (done)",
        "Do b (current, 1 error: Measurement)",
        "Do c (not done)",
        "Do d (not done)",
    ]
    nodes = {e.get("data-step"): e for e in ET.fromstring(svg).iter("g") if e.get("data-step")}
    assert {k: e.get("class") for k, e in nodes.items()} == {
        "1": "node is-done", "2": "node is-current has-errors", "3": "node is-todo", "4": "node is-todo",
    }  # fmt: skip
    glyphs = {k: [t.text for t in e.findall("text[@class='glyph']")] for k, e in nodes.items()}
    assert glyphs == {"1": ["✓"], "2": ["▶\ufe0e"], "3": [], "4": []}
    assert [k for k, e in nodes.items() if e.find("rect[@class='inner']") is not None] == ["2"]
    badge = nodes["2"].find("g[@class='badge error']")
    assert badge is not None
    assert badge.findtext("text") == "▲ 1 error"
    assert badge.find("polygon") is not None
    assert all(e.get("tabindex") == "0" for e in nodes.values())


def test_a_step_done_again_is_current_and_its_errors_add_up(diamond: TaskGraph, layouts: Layouts) -> None:
    wrong = (Mistake("timing", "late"), Mistake("timing", "very late"))
    example = moment(
        diamond,
        [Performed("a", "do a", "", wrong, 1.0, 2.0)],
        Performed("a", "do a", "", (Mistake("other"),), 7.0, 9.0),
    )
    view = view_graph(example, diamond, layouts)
    assert names(view.svg)[0] == "Do a (current, 3 errors: Timing, Other)"
    assert "▲ 3 errors" in view.svg
    assert 'data-start="7.0" data-end="9.0"' in view.svg
    assert [(r.status, r.words, r.clock) for r in view.rows[:2]] == [
        ("done", "done, 2 errors: Timing", "0:01–0:02"),
        ("current", "current, 1 error: Other", "0:07–0:09"),
    ]
    assert view.counts == {"done": 0, "current": 1, "todo": 3, "errors": 3}


def test_what_answers_questions_is_nowhere(diamond: TaskGraph, layouts: Layouts) -> None:
    """A moment with a missing step and one without differ in what was done, and in nothing that is derived from it."""
    known = {"all_next": (StepRef("d", "do d"),), "all_missing": (StepRef("b", "do b"),), "next_steps": (StepRef("d", "do d"),),
             "missing_steps": (StepRef("b", "do b"),), "blocking": (("b", "d"),), "mistake_texts": ("SECRET",)}  # fmt: skip
    done = [Performed("a", "do a"), Performed("c", "do c")]
    plain, telling = (
        view_graph(moment(diamond, done[:-1], done[-1], **more), diamond, layouts) for more in ({}, known)
    )
    assert plain == telling
    page = render(telling)
    assert "SECRET" not in page
    assert not re.search(r"\b(next|missing|order)\b", page)
    statuses = set(re.findall(r"\bis-[a-z]+", page))
    assert statuses == {"is-done", "is-current", "is-todo", "is-error"}


def test_nothing_done_yet(diamond: TaskGraph, layouts: Layouts) -> None:
    view = view_graph(moment(diamond), diamond, layouts)
    assert {row.status for row in view.rows} == {"todo"}
    assert view.performed == 0


# -- the list ----------------------------------------------------------------------------------------------------


def test_the_list_says_more_than_the_drawing(diamond: TaskGraph, layouts: Layouts) -> None:
    example = moment(
        diamond,
        [Performed("a", "do a twice", "do a", (Mistake("technique", "twice <b>"),), 4.0, 3_661.9)],
        Performed("elsewhere", "something else", "", (), None, None),
    )
    view = view_graph(example, diamond, layouts)
    first, second, *rest = view.rows
    assert (first.step, first.number, first.text, first.instruction) == (1, 1, "Do a twice", "Do a")
    assert first.mistakes == (("Technique", "twice <b>"),)
    assert first.clock == "0:04–1:01:01"
    assert (second.step, second.number, second.status, second.clock) == (None, None, "current", "")
    assert [row.step_id for row in rest] == ["b", "c", "d"]
    page = render(view)
    assert "<b><bdi>Technique</bdi> error</b>: <bdi>twice &lt;b&gt;</bdi>" in page
    assert "The procedure says: <bdi>Do a</bdi>" in page
    assert 'data-step="1" data-start="4.0" data-end="3661.9"' in page


def test_times_that_are_no_numbers(diamond: TaskGraph, layouts: Layouts) -> None:
    example = moment(diamond, [], Performed("a", "x", "", (), float("nan"), float("inf")))
    view = view_graph(example, diamond, layouts)
    assert view.rows[0].clock == ""
    assert "nan" not in view.svg


def test_without_a_graph_there_is_the_list_of_what_was_done(diamond: TaskGraph, layouts: Layouts) -> None:
    view = view_graph(moment(diamond, [Performed("a", "do a")]), None, layouts)
    assert not view.svg
    assert [row.text for row in view.rows] == ["Do a"]
    assert "There is no task graph of this activity." in render(view)
    assert "Nothing had been done yet." in render(view_graph(moment(diamond), None, layouts))


def test_five_thousand_steps_give_a_list_quickly(layouts: Layouts) -> None:
    steps = tuple(Step(str(n), f"step {n}") for n in range(5_000))
    graph = TaskGraph("g", "g", steps, tuple((str(n), str(n + 1)) for n in range(4_999)))
    example = moment(graph, [Performed(str(n), "x") for n in range(100)], Performed("100", "y"))
    view_graph(example, graph, layouts)
    began = time.process_time()
    view = view_graph(example, graph, layouts)
    assert time.process_time() - began < 2.0, "0.1 s of work; the rest is a busy machine"
    assert len(view.rows) == 5_000
    assert "Not drawn: it has 5,000 steps; drawings stop at 300. The list says the same." in render(view)


def test_large_graphs_fold_and_say_so(layouts: Layouts) -> None:
    steps = tuple(Step(str(n), f"step {n}") for n in range(90))
    graph = TaskGraph("g", "g", steps, tuple((str(n), str(n + 1)) for n in range(89)))
    view = view_graph(moment(graph, [], Performed("0", "x")), graph, layouts)
    assert view.folded
    assert len(names(view.svg)) == 90
    assert "steps in one frame follow one another" in render(view)
    assert "is-frame" not in render(view_graph(moment(graph), TaskGraph("h", "h", steps[:3]), layouts))


# -- untrusted text ----------------------------------------------------------------------------------------------


def poisoned(text: str) -> tuple[Example, TaskGraph]:
    """Put a text into every place that takes text."""
    graph = TaskGraph(text, text, (Step(text, text), Step("b", text)), ((text, "b"),))
    done = Performed(text, text, text + " told", (Mistake(text, text),), 1.0, 2.0)
    return moment(graph, [done], Performed("b", text + " too", text, (Mistake(text, text),))), graph


@pytest.mark.parametrize("attack", ATTACKS)
def test_text_adds_no_element_and_no_attribute_whatever_it_says(attack: str, layouts: Layouts) -> None:
    example, graph = poisoned(attack)
    view = view_graph(example, graph, layouts)
    tree = ET.fromstring(view.svg)
    assert {e.tag for e in tree.iter()} <= {"svg", "g", "rect", "path", "polygon", "text", "tspan"}
    assert len(names(view.svg)) == 2
    assert not [
        k for e in tree.iter() for k in e.attrib if k.startswith("on") or k in ("href", "style", "id")
    ]
    harmless = Shape(render(view_graph(*poisoned("harmless"), layouts)))
    poison = Shape(render(view))
    count = lambda shape: [f for f in shape.found if f[0] != "tspan"]  # noqa: E731 - long texts have more lines
    assert count(poison) == count(harmless)
    assert not set("\u202e\x00\u2028\x1b") & set(render(view))


def test_the_whole_text_is_drawn_as_it_is(layouts: Layouts) -> None:
    text = '<b>"Mix"</b> & {{7*7}} ' + " ".join(f"word{n}" for n in range(51))
    graph = TaskGraph("g", "g", (Step("a", text),))
    tree = ET.fromstring(view_graph(moment(graph), graph, layouts).svg)
    assert " ".join(t.text or "" for t in tree.iter("tspan")) == "1. " + text
    assert names(ET.tostring(tree, "unicode")) == [f"{text} (not done)"]


@given(st.text(max_size=200), st.text(max_size=30))
def test_any_text_gives_xml(text: str, other: str) -> None:
    example, graph = poisoned(text + "x")
    example = msgspec.structs.replace(example, activity_name=other)
    svg = view_graph(example, graph, Layouts(engine=Engine("stack", place))).svg
    assert len(names(svg)) == 2


def test_two_drawings_in_one_page_do_not_clash(diamond: TaskGraph, layouts: Layouts) -> None:
    view = view_graph(moment(diamond), diamond, layouts)
    page = Shape(render(view) * 2)
    assert not any("id" in attributes or "style" in attributes for _, attributes in page.found)
    assert not any(tag in ("a", "script", "style", "foreignobject", "use", "image") for tag, _ in page.found)


# -- drawing -----------------------------------------------------------------------------------------------------


def test_without_marks_a_drawing_is_hidden_from_screen_readers(diamond: TaskGraph, layouts: Layouts) -> None:
    tree = ET.fromstring(draw_layout(layouts.find(diamond), diamond))
    assert tree.get("aria-hidden") == "true"
    assert tree.get("role") is None
    assert not list(tree.iterfind(".//g[@tabindex]"))


def test_marks_cover_every_action_and_neither_start_nor_end(diamond: TaskGraph) -> None:
    marks = mark_steps(moment(diamond, [Performed("a", "x"), Performed("nowhere", "y")]), diamond)
    assert {k: m.status for k, m in marks.items()} == {"a": "done", "b": "todo", "c": "todo", "d": "todo"}


def test_equal_input_gives_equal_text(diamond: TaskGraph, layouts: Layouts) -> None:
    example = moment(diamond, [Performed("a", "x")])
    assert view_graph(example, diamond, layouts) == view_graph(example, diamond, layouts)


@pytest.mark.shared
def test_the_real_graphs_cost_one_layout_each_and_little_time_afterwards(shared_data: Path) -> None:
    from proctor.datasets.captaincook4d import DATASET
    from proctor.drawing.engines import find_engine

    if find_engine() is None:
        pytest.skip("no layout program is installed")
    graphs = DATASET.read(shared_data / "captaincook4d", "corrected").graphs
    layouts = Layouts()
    layouts.prepare(graphs.values())
    taken = []
    for graph in graphs.values():
        example = moment(graph, [Performed(graph.actions[0].id, "x")], Performed(graph.actions[1].id, "y"))
        view_graph(example, graph, layouts)
        with Effort() as spent:
            view = view_graph(example, graph, layouts)
        taken.append(spent.seconds)
        assert view.svg
        assert len(names(view.svg)) == len(graph.actions)
    assert sorted(taken)[len(taken) // 2] < 0.002
