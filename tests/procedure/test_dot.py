"""Task graphs as DOT: ids as names, hostile texts."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from proctor.procedure.graph import Step, TaskGraph, render_dot


def test_nodes_come_before_edges_in_file_order(diamond: TaskGraph) -> None:
    assert render_dot(diamond).splitlines() == [
        "digraph {",
        '  "S" [label="START"];',
        '  "a" [label="do a"];',
        '  "b" [label="do b"];',
        '  "c" [label="do c"];',
        '  "d" [label="do d"];',
        '  "E" [label="END"];',
        '  "S" -> "a";',
        '  "a" -> "b";',
        '  "a" -> "c";',
        '  "b" -> "d";',
        '  "c" -> "d";',
        '  "d" -> "E";',
        "}",
    ]


def test_steps_with_the_same_text_stay_apart(twins: TaskGraph) -> None:
    text = render_dot(twins)
    assert text.count('[label="Stir the jar"]') == 2
    assert '"1" -> "2";' in text
    assert '"2" -> "3";' in text


def test_dot_survives_hostile_texts() -> None:
    graph = TaskGraph(
        "x",
        "x",
        (Step('a"]; b', 'quote " backslash \\ end'), Step("c", "line\nbreak\r\nend")),
        (('a"]; b', "c"),),
    )
    assert render_dot(graph).splitlines() == [
        "digraph {",
        r'  "a\"]; b" [label="quote \" backslash \\ end"];',
        r'  "c" [label="line\nbreak\nend"];',
        r'  "a\"]; b" -> "c";',
        "}",
    ]


@given(st.lists(st.text(max_size=20), min_size=1, max_size=4))
def test_every_text_stays_within_its_quotes(texts: list[str]) -> None:
    graph = TaskGraph("g", "g", tuple(Step(str(n), text) for n, text in enumerate(texts)))
    lines = render_dot(graph).split("\n")
    assert len(lines) == len(texts) + 2
    for n, line in enumerate(lines[1:-1]):
        assert re.fullmatch(rf'  "{n}" \[label="(?:[^"\\]|\\.)*"\];', line, re.DOTALL)


def test_start_and_end_are_called_so_whatever_the_file_calls_them() -> None:
    steps = (Step("0", "Begin here"), Step("1", "Stir"), Step("2", "Fin"))
    text = render_dot(TaskGraph("g", "g", steps, (("0", "1"), ("1", "2")), "0", "2"))
    assert '"0" [label="START"];' in text
    assert '"2" [label="END"];' in text
    assert "Begin here" not in text
