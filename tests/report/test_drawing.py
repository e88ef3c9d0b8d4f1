from __future__ import annotations

import re
import shutil
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.procedure.graph import Step, TaskGraph
from proctor.report import drawing
from proctor.report.data import ReportData
from proctor.report.drawing import (
    clean_svg,
    draw_in_page,
    draw_with_graphviz,
    find_graphviz,
    render_dot,
    wrap_label,
)

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")


def chain(*texts: str) -> TaskGraph:
    steps = tuple(Step(f"s{n}", text) for n, text in enumerate(texts))
    return TaskGraph("g", "g", steps, tuple((a.id, b.id) for a, b in pairwise(steps)))


@given(st.text(), st.integers(1, 40))
def test_wrapping_keeps_every_character_but_white_space(text: str, columns: int) -> None:
    lines = wrap_label(text, columns)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(lines)


@given(st.text(st.characters(max_codepoint=0x24F, categories=["L", "N", "P", "Zs"])))
def test_lines_are_no_wider_than_asked(text: str) -> None:
    assert all(len(line) <= 24 for line in wrap_label(text, 24))


def test_wide_characters_count_two_columns() -> None:
    assert wrap_label("水を沸かしてください", 8) == ["水を沸か", "してくだ", "さい"]


def test_nodes_are_keyed_by_position_so_equal_texts_stay_two(small: ReportData) -> None:
    dot = render_dot(small.graphs["shelf"])
    assert dot.count('label="Fix the board"') == 2
    assert "n0 -> n1;" in dot


@pytest.mark.parametrize(
    "text", ['say "hi"', "back\\slash \\N \\G", "<b>bold</b>", "&amp; &#60;", "a\nb", "}; evil ["]
)
def test_labels_are_escaped(text: str) -> None:
    dot = render_dot(chain(text))
    label = re.search(r'class="step", label="((?:[^"\\]|\\.)*)"\];', dot)
    assert label is not None
    assert dot.rstrip().endswith("}")


@needs_dot
@pytest.mark.parametrize(
    "text",
    [
        'say "hi"',
        "back\\slash \\N \\G",
        "<b>bold</b>",
        "&amp; &#60;script&#62; x",
        "}; evil [URL=x]",
        "日本語 מים",
    ],
)
def test_what_graphviz_draws_is_the_text_itself(text: str) -> None:
    svg = draw_with_graphviz({"g": chain(text)}, str(find_graphviz()))["g"].svg
    drawn = "".join(t.text or "" for t in ET.fromstring(svg).iter() if t.tag == "text")
    assert "".join(drawn.split()).casefold() == "".join(text.split()).casefold()


@needs_dot
def test_a_drawing_has_every_step_and_edge_and_no_colour(small: ReportData) -> None:
    svg = draw_with_graphviz(dict(small.graphs), str(find_graphviz()))["tea"].svg
    assert sorted(re.findall(r'data-n="(\d+)"', svg)) == ["0", "1", "2", "3", "4", "5"]
    assert svg.count('class="edge"') == 6
    assert not re.search(r"style=|fill=|stroke=|font|<title|<a |id=|http", svg)


def test_cleaning_keeps_only_shapes() -> None:
    dirty = (
        b'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0.00 0.00 62.00 44.00">'
        b'<script>alert(1)</script><g id="n1" class="node step" onclick="x()"><a xlink:href="javascript:x"><text x="1">t</text></a>'
        b'<path d="M1.26,2.00" fill="url(#x)" style="x"/></g><foreignObject/></svg>'
    )
    svg = clean_svg(dirty)
    assert 'data-n="1"' in svg
    assert '<path d="M1.3,2"/>' in svg
    assert not re.search("script|onclick|href|foreign|style|url", svg)


def test_what_cannot_be_drawn_gets_a_note_and_stops_nothing(small: ReportData) -> None:
    graphs = {"long": chain("x" * 5_000), "wide": chain(*["y"] * 400), "tea": small.graphs["tea"]}
    drawings = draw_in_page(graphs.items())
    assert "5,000 characters" in drawings["long"].note
    assert "400 steps" in drawings["wide"].note
    assert drawings["tea"].dot
    assert not drawings["tea"].note


def test_a_program_that_hangs_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: ReportData
) -> None:
    program = tmp_path / "dot"
    program.write_text("#!/bin/sh\nexec sleep 30\n")
    program.chmod(0o755)
    monkeypatch.setattr(drawing, "TIME_LIMIT", 0.2)
    assert (
        "more than 0.2 seconds" in draw_with_graphviz({"tea": small.graphs["tea"]}, str(program))["tea"].note
    )


@pytest.mark.parametrize(
    ("script", "said"), [("exit 3", "status 3"), ("exit 0", "status 0"), ("echo '<svg'", "could not be read")]
)
def test_a_program_that_fails_is_told(tmp_path: Path, small: ReportData, script: str, said: str) -> None:
    program = tmp_path / "dot"
    program.write_text(f"#!/bin/sh\ncat > /dev/null\n{script}\n")
    program.chmod(0o755)
    assert said in draw_with_graphviz({"tea": small.graphs["tea"]}, str(program))["tea"].note


def test_a_program_that_is_not_there_is_told(tmp_path: Path, small: ReportData) -> None:
    drawings = draw_with_graphviz({"tea": small.graphs["tea"]}, str(tmp_path / "nothing"))
    assert "could not be started" in drawings["tea"].note


def test_the_text_goes_to_graphviz_on_its_input_and_never_on_the_command_line(
    monkeypatch: pytest.MonkeyPatch, small: ReportData
) -> None:
    seen: dict[str, Any] = {}

    def spy(arguments: list[str], **options: Any) -> Any:
        seen.update(options, arguments=arguments)
        raise OSError(1, "spy")

    monkeypatch.setattr("proctor.report.drawing.subprocess.run", spy)
    draw_with_graphviz({"tea": small.graphs["tea"]}, "dot")
    assert seen["arguments"] == ["dot", "-Tsvg"]
    assert not seen.get("shell")
    assert seen["timeout"] > 0
