"""A task graph measured: the size and the lines of every box, before anything has a place.

Everything that a text decides is decided here. What is handed to a layout program afterwards are sizes and pairs of
numbers, so no text of data reaches one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from proctor.drawing.text import show_step, text_width, wrap_text
from proctor.procedure.graph import Step, TaskGraph
from proctor.said import say, say_in

__all__ = [
    "FOLD_ABOVE",
    "MAX_LABEL",
    "MAX_STEPS",
    "Box",
    "NotDrawnError",
    "Sketch",
    "Slot",
    "list_steps",
    "make_sketch",
]

FOLD_ABOVE: Final = 60
"""Actions of one graph beyond which steps that can only follow one another share a frame."""
MAX_STEPS: Final = 300
"""Actions of one graph; beyond that a drawing cannot be read and takes long."""
MAX_LABEL: Final = 1_500
"""Characters of one step; a graph with a longer one is shown as a list only, since nothing is ever cut."""

FONT: Final = 12.0
LINE: Final = 15.0
GUTTER: Final = 24.0
"""Pixels on the left of a box that hold its glyph."""
_PAD: Final = 10.0
_NARROW, _WIDE, _LONG = 148.0, 208.0, 110
"""Room of a line in pixels, of a text of more than so many characters, and what is long."""
_LEAST: Final = 96.0
_BETWEEN: Final = 12.0
_FRAME: Final = 7.0


class NotDrawnError(ValueError):
    """A graph has no drawing; the message says why, as the end of a sentence that begins "Not drawn: "."""


@dataclass(frozen=True, slots=True)
class Box:
    """One node of the drawing.

    Attributes:
        n: position of the step in the graph's file, which is what the drawing and its lists have in common.
        terminal: it stands for the start or the end, not for an action.
        x: pixels from the left edge of its slot.
        y: pixels from the top edge of its slot.
        width: pixels.
        height: pixels.
        lines: the number of the step in the list and its whole text.
    """

    n: int
    terminal: bool
    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Slot:
    """What a layout places as one: a single box, or a frame of steps that can only follow one another."""

    boxes: tuple[Box, ...]
    width: float
    height: float

    @property
    def framed(self) -> bool:
        """True for a frame of several steps."""
        return len(self.boxes) > 1


@dataclass(frozen=True, slots=True)
class Sketch:
    """Slots in reading order, and which comes before which (numbers of slots)."""

    slots: tuple[Slot, ...]
    edges: tuple[tuple[int, int], ...]


def list_steps(graph: TaskGraph) -> tuple[Step, ...]:
    """Return the actions in an order in which they could be done; lists and the numbers of drawings follow it."""
    return tuple(graph[i] for i in graph.topological_order if i not in (graph.start, graph.end))


def make_sketch(graph: TaskGraph) -> Sketch:
    """Measure a graph.

    Raises:
        NotDrawnError: if it has more than ``MAX_STEPS`` actions or a text of more than ``MAX_LABEL`` characters.
    """
    if len(graph.actions) > MAX_STEPS:
        raise NotDrawnError(
            say("it has {steps:,} steps; drawings stop at {most}", steps=len(graph.actions), most=MAX_STEPS)
        )
    longest = max(len(step.text) for step in graph.steps)
    if longest > MAX_LABEL:
        raise NotDrawnError(
            say(
                "a step has {characters:,} characters; drawings stop at {most:,}",
                characters=longest,
                most=MAX_LABEL,
            )
        )
    numbers = {step.id: k for k, step in enumerate(list_steps(graph), start=1)}
    slots = tuple(_stack([_measure(graph, i, numbers) for i in chain]) for chain in _chains(graph))
    place = {box.n: k for k, slot in enumerate(slots) for box in slot.boxes}
    pairs = ((place[graph.index[a]], place[graph.index[b]]) for a, b in graph.edges)
    return Sketch(slots, tuple(dict.fromkeys((a, b) for a, b in pairs if a != b)))


def _chains(graph: TaskGraph) -> list[list[str]]:
    """Step ids in groups; each id alone where the graph is small enough to be drawn as it is."""
    order = graph.topological_order
    if len(graph.actions) <= FOLD_ABOVE:
        return [[i] for i in order]
    before: dict[str, list[str]] = {i: [] for i in order}
    after: dict[str, list[str]] = {i: [] for i in order}
    for a, b in graph.edges:
        before[b].append(a)
        after[a].append(b)
    ends = (graph.start, graph.end)
    chains: dict[str, list[str]] = {}
    for i in order:
        only = before[i][0] if len(before[i]) == 1 else None
        if only is not None and len(after[only]) == 1 and i not in ends and only not in ends:
            chains[i] = chains[only]
            chains[i].append(i)
        else:
            chains[i] = [i]
    return list({id(chain): chain for chain in chains.values()}.values())


def _measure(graph: TaskGraph, step_id: str, numbers: dict[str, int]) -> Box:
    n = graph.index[step_id]
    if step_id in (graph.start, graph.end):
        word = (
            say_in("of a procedure", "Start") if step_id == graph.start else say_in("of a procedure", "End")
        )
        return Box(n, True, 0.0, 0.0, 56.0, 22.0, (word,))
    text = f"{numbers[step_id]}. {show_step(graph[step_id])}"
    lines = wrap_text(text, _WIDE if len(text) > _LONG else _NARROW, FONT)
    width = max(_LEAST, GUTTER + max(text_width(line, FONT) for line in lines) + _PAD)
    return Box(n, False, 0.0, 0.0, round(width, 1), len(lines) * LINE + 13, tuple(lines))


def _stack(boxes: Sequence[Box]) -> Slot:
    if len(boxes) == 1:
        return Slot(tuple(boxes), boxes[0].width, boxes[0].height)
    width = max(box.width for box in boxes)
    y, stacked = _FRAME, []
    for box in boxes:
        stacked.append(Box(box.n, False, _FRAME, y, width, box.height, box.lines))
        y += box.height + _BETWEEN
    return Slot(tuple(stacked), width + 2 * _FRAME, y - _BETWEEN + _FRAME)
