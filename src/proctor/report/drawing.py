"""Task graphs as DOT, and DOT as small, themeable SVG.

DOT is the one graph format: the Graphviz program turns it into SVG when a report is written, or the page itself does
(with the WebAssembly build of Graphviz that ships with this package). Nodes are keyed by the position of the step,
never by its text, so two steps with the same text stay two. Labels are wrapped, never cut.

What comes out of Graphviz carries no colours here: the page's style sheet gives them by class, so that one drawing
works in light, dark and print, and takes the states of any example.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import unicodedata
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.phrase import render_step
from proctor.report.plaintext import show_text

__all__ = [
    "Drawing",
    "clean_svg",
    "draw_with_graphviz",
    "find_graphviz",
    "render_dot",
    "show_step",
    "wrap_label",
]

LABEL_COLUMNS: Final = 24
MAX_LABEL: Final = 1_500
"""Characters of one label; a graph with a longer one is shown as a list only, since nothing is ever cut."""
MAX_STEPS: Final = 300
"""Actions of one graph; beyond that a drawing cannot be read and takes long."""
TIME_LIMIT: Final = 20.0
"""Seconds that Graphviz may take for one graph."""

_SVG = "{http://www.w3.org/2000/svg}"
_SHAPES = frozenset({"g", "path", "polygon", "polyline", "ellipse", "text"})
_ATTRIBUTES = ("d", "points", "x", "y", "cx", "cy", "rx", "ry", "text-anchor", "transform")
_NUMBER = re.compile(r"-?\d+\.\d+")


@dataclass(frozen=True, slots=True)
class Drawing:
    """A task graph ready for the page.

    Attributes:
        svg: clean SVG, empty when there is none.
        dot: source for the page to draw, empty when it need not.
        note: why there is no drawing, for people.
    """

    svg: str = ""
    dot: str = ""
    note: str = ""

    @property
    def width(self) -> int:
        """Natural width of the SVG in pixels, 0 when there is none."""
        found = re.search(r' width="(\d+)"', self.svg[:300])
        return int(found[1]) if found else 0


def show_step(step: Step) -> str:
    """Return a step's text as it is shown everywhere on the page."""
    return show_text(render_step(step.text)) or "(no text)"


def render_dot(graph: TaskGraph) -> str:
    """Return the graph in the DOT language: node ``n3`` is the fourth step of the file.

    Raises:
        ValueError: if the graph has too many steps or too long a text to be drawn; the message says which.
    """
    if len(graph.steps) > MAX_STEPS:
        raise ValueError(f"it has {len(graph.steps)} steps; drawings stop at {MAX_STEPS}")
    longest = max(len(s.text) for s in graph.steps)
    if longest > MAX_LABEL:
        raise ValueError(f"a step has {longest:,} characters; drawings stop at {MAX_LABEL:,}")
    lines = [
        "digraph {",
        'graph [bgcolor="transparent", rankdir="TB", nodesep="0.22", ranksep="0.34", pad="0.08"];',
        'node [shape="box", style="rounded", fontname="Helvetica,Arial,sans-serif", fontsize="11"];',
        'node [margin="0.13,0.09", height="0.3"];',
        'edge [arrowsize="0.6"];',
    ]
    lines += [_node(graph, n, step) for n, step in enumerate(graph.steps)]
    lines += [f"n{graph.index[a]} -> n{graph.index[b]};" for a, b in graph.edges]
    return "\n".join([*lines, "}"]) + "\n"


def _node(graph: TaskGraph, n: int, step: Step) -> str:
    if step.id in (graph.start, graph.end):
        word = "Start" if step.id == graph.start else "End"
        return f'n{n} [id="n{n}", class="terminal", shape="plain", label="{word}"];'
    label = "\\n".join(_escape(line) for line in wrap_label(show_step(step), LABEL_COLUMNS))
    return f'n{n} [id="n{n}", class="step", label="{label}"];'


def _escape(text: str) -> str:
    r"""Escape for a quoted DOT string; ``&`` too, because Graphviz reads HTML entities in labels."""
    return (
        text.replace("\\", "\\\\")
        .replace('"', '\\"')
        .replace("&", "&amp;")
        .replace("\n", " ")
        .replace("\t", " ")
    )


def wrap_label(text: str, columns: int) -> list[str]:
    """Break a text into lines of about this many columns without losing a character but white space.

    Wide (East Asian) characters count two columns; a word longer than a line is broken.
    """
    lines, line, room = [], "", columns
    for word in text.split():
        width = _columns(word)
        if line and width + 1 <= room:
            line, room = f"{line} {word}", room - width - 1
            continue
        if line:
            lines.append(line)
        *full, line = _break_word(word, columns)
        lines += full
        room = columns - _columns(line)
    return [*lines, line] if line else lines


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _break_word(word: str, columns: int) -> list[str]:
    pieces, piece, width = [], "", 0
    for character in word:
        size = _columns(character)
        if piece and width + size > columns:
            pieces.append(piece)
            piece, width = "", 0
        piece, width = piece + character, width + size
    return [*pieces, piece]


# -- Graphviz ----------------------------------------------------------------------------------------------------


def find_graphviz() -> str | None:
    """Return the path of the ``dot`` program, None when there is none."""
    return shutil.which("dot")


def draw_with_graphviz(graphs: Mapping[str, TaskGraph], program: str) -> dict[str, Drawing]:
    """Draw every graph; one that cannot be drawn gets a note instead and never stops the others."""
    with ThreadPoolExecutor(max_workers=4) as pool:
        return dict(zip(graphs, pool.map(lambda g: _draw(g, program), graphs.values()), strict=True))


def _draw(graph: TaskGraph, program: str) -> Drawing:
    try:
        source = render_dot(graph)
        result = subprocess.run(  # noqa: S603 - no shell, a fixed program, the text goes through stdin
            [program, "-Tsvg"],
            input=source.encode("utf-8"),
            capture_output=True,
            timeout=TIME_LIMIT,
            check=False,
        )
    except ValueError as error:
        return Drawing(note=f"Not drawn: {error}.")
    except subprocess.TimeoutExpired:
        return Drawing(note=f"Not drawn: Graphviz took more than {TIME_LIMIT:g} seconds.")
    except OSError as error:
        return Drawing(note=f"Not drawn: Graphviz could not be started ({error.strerror}).")
    if result.returncode != 0 or not result.stdout:
        return Drawing(note=f"Not drawn: Graphviz ended with status {result.returncode}.")
    try:
        return Drawing(svg=clean_svg(result.stdout))
    except ET.ParseError as error:
        return Drawing(note=f"Not drawn: what Graphviz wrote could not be read ({error}).")


def clean_svg(svg: bytes) -> str:
    """Rebuild Graphviz' SVG from an allow-list: shapes and positions stay; colours, fonts, titles and ids go.

    Node ids become ``data-n`` (the position of the step), since one drawing may occur several times in a page.
    """
    root = ET.fromstring(svg)  # noqa: S314 - written by Graphviz from our own DOT, which has no entities
    view = root.get("viewBox", "0 0 100 100")
    width, height = (float(v) for v in view.split()[2:4])
    body = "".join(_clean(child) for child in root)
    return (
        f'<svg class="graph" viewBox="{_short(view)}" width="{width * 1.15:.0f}" height="{height * 1.15:.0f}" '
        f'aria-hidden="true" focusable="false">{body}</svg>'
    )


def _clean(element: ET.Element) -> str:
    tag = str(element.tag).removeprefix(_SVG)
    if tag not in _SHAPES:
        return ""
    attributes = [
        f'{name}="{_short(value)}"' for name in _ATTRIBUTES if (value := element.get(name)) is not None
    ]
    classes = element.get("class", "")
    if classes.startswith("node"):
        attributes = [f'class="{_attribute(classes)}"', f'data-n="{element.get("id", "n")[1:]}"']
    elif classes == "edge":
        attributes = ['class="edge"']
    inner = _text(element.text or "") if tag == "text" else "".join(_clean(child) for child in element)
    return (
        f"<{' '.join([tag, *attributes])}>{inner}</{tag}>" if inner else f"<{' '.join([tag, *attributes])}/>"
    )


def _short(numbers: str) -> str:
    return _NUMBER.sub(lambda m: f"{float(m[0]):.1f}".removesuffix(".0"), _attribute(numbers))


def _attribute(text: str) -> str:
    return _text(text).replace('"', "&quot;")


def _text(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def draw_in_page(graphs: Iterable[tuple[str, TaskGraph]]) -> dict[str, Drawing]:
    """Give every graph its DOT source, for the page to draw."""
    drawings = {}
    for key, graph in graphs:
        try:
            drawings[key] = Drawing(dot=render_dot(graph))
        except ValueError as error:
            drawings[key] = Drawing(note=f"Not drawn: {error}.")
    return drawings
