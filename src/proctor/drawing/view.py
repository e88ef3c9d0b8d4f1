"""A moment of a task as the studio shows it: the drawing, and a list that says the same and more.

Only four things are told, as in the published interface: what was done, what was done last, what was not done, and
mistakes. What may come next and what is missing are answers to questions and stay out.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import Final, Literal

from markupsafe import Markup

from proctor.drawing.layout import Layouts
from proctor.drawing.sketch import NotDrawnError, list_steps
from proctor.drawing.svg import GLYPHS, StepMark, Tell, count_errors, draw_layout
from proctor.drawing.text import show_instruction, show_step, show_text
from proctor.exam.kinds.example import Example, Performed
from proctor.procedure.graph import TaskGraph
from proctor.procedure.progress import progress_after
from proctor.procedure.recording import MISTAKE_NAMES
from proctor.said import capital, listed, say

__all__ = ["GraphView", "PlainStatus", "StepRow", "default_layouts", "mark_steps", "view_graph"]

PlainStatus = Literal["done", "current", "todo"]

_WORDS: Final[dict[str, str]] = {"done": say("done"), "current": say("current"), "todo": say("not done")}


@dataclass(frozen=True, slots=True)
class StepRow:
    """One line of the list: a step as it was performed, or a step that was not done.

    Attributes:
        step_id: in the task graph.
        step: position of the step in the graph's file, the ``data-step`` of drawing and list; None if the graph
            does not have it.
        number: of the step in the drawing, from 1; None likewise.
        text: what was done; of a step not done, what the procedure says.
        instruction: what the procedure says, where something else was done; else empty.
        status: done, current or todo.
        words: the status and the mistakes in words: ``"current, 1 error: Measurement"``.
        mistakes: kind and description of each.
        start: seconds; None when unknown or not done.
        end: seconds; None likewise.
    """

    step_id: str
    step: int | None
    number: int | None
    text: str
    instruction: str
    status: PlainStatus
    words: str
    mistakes: tuple[tuple[str, str], ...] = ()
    start: float | None = None
    end: float | None = None

    @property
    def glyph(self) -> str:
        """The sign of the status, the same as in the drawing."""
        return GLYPHS[self.status]

    @property
    def clock(self) -> str:
        """When it was done, ``0:04–0:19``; empty when that is not known."""
        times = [_clock(t) for t in (self.start, self.end) if t is not None and math.isfinite(t)]
        return "–".join(times)


@dataclass(frozen=True, slots=True)
class GraphView:
    """Everything that the templates need.

    Attributes:
        title: the activity.
        svg: the drawing with statuses; empty where there is none.
        note: why there is no drawing, for people; empty where there is one.
        rows: performed steps in time order, then those not done.
        performed: how many of the rows were performed.
        folded: the drawing has frames of several steps.
        counts: how many steps are done, current and todo, and how many mistakes there were (``errors``).
        plain: nothing is said of what was done: the procedure as such.
    """

    title: str
    svg: Markup
    note: str
    rows: tuple[StepRow, ...]
    performed: int
    folded: bool = False
    counts: dict[str, int] = field(default_factory=dict)
    plain: bool = False


@cache
def default_layouts() -> Layouts:
    """Return the layouts that this process keeps in memory."""
    return Layouts()


def view_graph(
    example: Example, graph: TaskGraph | None, layouts: Layouts | None = None, tell: Tell = str
) -> GraphView:
    """Describe the moment of an example.

    Args:
        example: what was done, when and how well; one without an id says nothing of that (``exam.kind.Kind.blind``).
        graph: of its activity; without one there is only the list of what was done.
        layouts: where layouts are kept; those of the process by default.
        tell: how our own words in the drawing are said to whoever looks.
    """
    rows, plain = _rows(example, graph), not example.id
    done = sum(row.status != "todo" for row in rows)
    if graph is None:
        return GraphView(
            show_text(example.activity_name),
            Markup(),
            say("There is no task graph of this activity."),
            rows,
            done,
        )
    title = show_text(graph.name or example.activity_name)
    marks = mark_steps(example, graph)
    counts = {"done": 0, "current": 0, "todo": 0} | Counter(str(m.status) for m in marks.values())
    counts["errors"] = sum(len(p.mistakes) for p in example.performed)
    try:
        layout = (layouts or default_layouts()).find(graph)
    except NotDrawnError as error:
        note = say("Not drawn: {reason}. The list says the same.", reason=error.args[0])
        return GraphView(title, Markup(), note, rows, done, False, counts)
    shown = None if plain else marks
    svg = draw_layout(
        layout, graph, shown, focusable=True, label=say("Task graph: {title}", title=title), tell=tell
    )
    return GraphView(title, svg, "", rows, done, any(s.framed for s in layout.sketch.slots), counts, plain)


def mark_steps(example: Example, graph: TaskGraph) -> dict[str, StepMark]:
    """Return the mark of every action of the graph: step id to status, words and number of mistakes.

    The current step is current even if it was done before; a step that is open again is to do. Mistakes of all
    performances of a step count.
    """
    standing = _standing(example, graph)
    current = example.current.step_id if example.current is not None else None
    mistakes: dict[str, list[str]] = {}
    last: dict[str, Performed] = {}
    for performed in example.performed:
        mistakes.setdefault(performed.step_id, []).extend(_kind(m.kind) for m in performed.mistakes)
        last[performed.step_id] = performed
    marks = {}
    for step in graph.actions:
        status: PlainStatus = "current" if step.id == current else "done" if step.id in standing else "todo"
        kinds = mistakes.get(step.id, [])
        seen = last.get(step.id)
        start, end = (seen.start, seen.end) if seen is not None else (None, None)
        marks[step.id] = StepMark(status, _words(status, kinds), len(kinds), start=start, end=end)
    return marks


def _standing(example: Example, graph: TaskGraph) -> frozenset[str]:
    """Ids of the steps that stand done, the current one among them."""
    return frozenset(progress_after(graph, [p for p in example.performed if p.step_id in graph]).done)


def _rows(example: Example, graph: TaskGraph | None) -> tuple[StepRow, ...]:
    listed = list_steps(graph) if graph is not None else ()
    numbers = {step.id: k for k, step in enumerate(listed, start=1)}
    rows = [_performed(p, graph, numbers, now=False) for p in example.previous]
    if example.current is not None:
        rows.append(_performed(example.current, graph, numbers, now=True))
    if graph is not None:
        standing = _standing(example, graph)
        rows += [
            StepRow(s.id, graph.index[s.id], numbers[s.id], show_step(s), "", "todo", _WORDS["todo"])
            for s in listed
            if s.id not in standing
        ]
    return tuple(rows)


def _performed(p: Performed, graph: TaskGraph | None, numbers: dict[str, int], *, now: bool) -> StepRow:
    known = graph is not None and p.step_id in numbers
    told = p.instruction or (graph[p.step_id].text if graph is not None and known else "")
    differs = bool(told) and show_instruction(told).split() != show_instruction(p.text).split()
    status: PlainStatus = "current" if now else "done"
    return StepRow(
        step_id=p.step_id,
        step=graph.index[p.step_id] if graph is not None and known else None,
        number=numbers.get(p.step_id),
        text=show_instruction(p.text),
        instruction=show_instruction(told) if differs else "",
        status=status,
        words=_words(status, [_kind(m.kind) for m in p.mistakes]),
        mistakes=tuple((_kind(m.kind), show_text(m.text)) for m in p.mistakes),
        start=p.start,
        end=p.end,
    )


def _clock(seconds: float) -> str:
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _kind(kind: str) -> str:
    return MISTAKE_NAMES.get(kind) or capital(show_text(kind)) or say("Mistake")


def _words(status: PlainStatus, kinds: list[str]) -> str:
    if not kinds:
        return _WORDS[status]
    errors, named = count_errors(len(kinds)), listed(dict.fromkeys(kinds))
    return say("{status}, {errors}: {kinds}", status=_WORDS[status], errors=errors, kinds=named)
