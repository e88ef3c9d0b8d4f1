"""What the page says of questions about moments alone: ProMQA's tables of the data set, task graphs, where each step stands.

Conventions: means are over items unless the name says otherwise; an undefined mean (nothing to average) is a dash, never 0.
*Steps so far* counts the performed steps up to the moment, the start moment as one, as the published figure does.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, Literal

from markupsafe import Markup

from proctor.drawing.engines import Engine, find_engine
from proctor.drawing.layout import Layout, Layouts
from proctor.drawing.sketch import NotDrawnError, list_steps
from proctor.drawing.svg import Status, StepMark, draw_layout
from proctor.drawing.text import show_step
from proctor.exam.kinds.example import QUESTION_TYPES, Example, Performed
from proctor.exam.kinds.moment_question import moment_example
from proctor.exam.question import Gold, Item, Text
from proctor.metrics.text_statistics import first_words, mean_tokens
from proctor.procedure.graph import TaskGraph
from proctor.procedure.progress import progress_after
from proctor.report.data import Asked
from proctor.report.examples import Evidence
from proctor.report.numbers import count, counted, show_value
from proctor.report.parts import Cell, Drawn, Fold, Listing, Paragraph, Part, Row, Section, SourceView, Table
from proctor.report.plaintext import clip_line
from proctor.verify.statistics import verification_statistics

__all__ = [
    "PUBLISHED_PROMQA",
    "Drawing",
    "StepState",
    "derive_step_states",
    "draw_graphs",
    "is_published_promqa",
    "mark_states",
    "moment_evidence",
    "moment_sections",
]

PUBLISHED_PROMQA: Final[Mapping[str, str]] = {
    "items": "401",
    "activities": "24",
    "recordings": "231",
    "steps_per_activity_weighted": "14.3",
    "clip_seconds": "6 min 47 s",
    "steps_so_far": "6.4",
    "answers_per_question": "1.9",
    "question_tokens": "8.9",
    "answer_tokens": "11.8",
    "clean": "176",
    "noisy": "225",
    "approved": "401 of 500 (0.80)",
    "answer_agreement": "0.87",
    "next": "158 of 179 (0.88)",
    "missing": "148 of 180 (0.82)",
    "order": "20 of 26 (0.77)",
    "preparation": "14 of 24 (0.58)",
    "measurement": "17 of 21 (0.81)",
    "timing": "25 of 33 (0.76)",
    "technique": "9 of 21 (0.43)",
    "temperature": "10 of 16 (0.62)",
}
"""Figures as the ProMQA paper prints them (Tables 2 and 12, section 3). Its text swaps clean and noisy; the values
here are those of its tables."""

_PUBLISHED_IDS: Final = "f83fbe76fdc510756c12e0ad739a3ecbb512729a6c9e92f503d1c48808fd3475"
"""SHA-256 of the 401 published ids, sorted, one a line."""

_OF_ALL: Final = frozenset(
    {"items", "clip_seconds", "", "steps_so_far", "steps_per_activity_weighted", "answers_per_question", "question_tokens", "answer_tokens"}
)  # fmt: skip
"""Key figures of all questions: their number, and means over them."""
_LISTED: Final[Mapping[str, tuple[str, str]]] = {
    "activities": ("activities", "activities"),
    "steps_per_activity": ("activities", "activities"),
    "recordings": ("clusters-moment", "clusters"),
    "approved": ("asked", "proposed"),
    "answer_agreement": ("asked", "judged by people"),
}
"""Listings that hold what key figures count, or are about."""
_WORDS: Final = 8
_SAID: Final = 160
"""Characters of a text in a listing."""
_DRAWN: Final = 6
"""Examples whose task graph is drawn with its states; the list of steps says the same for all."""


def moment_sections(
    items: Sequence[Item], graphs: Mapping[str, TaskGraph], asked: Asked | None, title: str = ""
) -> Iterator[Section]:
    """Yield the tables of the data set and the task graphs.

    Args:
        items: questions about moments.
        graphs: activity id to task graph.
        asked: all candidates with what was said of them, for approval and agreement.
        title: of the exam, where all are of one.
    """
    examples = {item.id: moment_example(item.question) for item in items}
    yield _dataset(items, examples, graphs, asked, (("exam", title),) if title else ())
    if graphs:
        yield _graphs(examples.values(), graphs)
    yield _first_words(items, examples)


def is_published_promqa(items: Sequence[Item]) -> bool:
    """True when the ids are exactly the 401 of the published benchmark (told by their hash)."""
    digest = hashlib.sha256("\n".join(sorted(i.id for i in items)).encode("utf-8", "replace"))
    return digest.hexdigest() == _PUBLISHED_IDS


# -- the data set --------------------------------------------------------------------------------------------------


def _dataset(
    items: Sequence[Item],
    examples: Mapping[str, Example],
    graphs: Mapping[str, TaskGraph],
    asked: Asked | None,
    whole: tuple[tuple[str, str], ...],
) -> Section:
    published = PUBLISHED_PROMQA if is_published_promqa(items) else {}
    offered = (
        Counter(q.facets.get("type", "") for q in asked.questions) if asked is not None else Counter[str]()
    )
    figures: tuple[Row, ...] = tuple(
        (
            label,
            Cell(text, find=_leads(key, whole), among=_LISTED.get(key)),
            *([published.get(key, "")] if published else []),
        )
        for key, label, text in _figures(items, list(examples.values()), graphs, asked)
    )
    head = ("", "here", *(["published"] if published else []))
    types = _ordered({*(e.type for e in examples.values()), *offered})
    rows = [
        _type_row(name, [i for i in items if examples[i.id].type == name], examples, offered[name], published,
                  (*whole, ("type", name)))
        for name in types
    ]  # fmt: skip
    rows.append(_type_row("all", list(items), examples, offered.total(), published, whole))
    columns = (
        "Type", "Questions", "Clean", "Noisy", "Something to name", "Kept", *(["Kept, published"] if published else []),
        "Direct", "Suggestion", "Intervention", "Words of question", "Words of answer",
    )  # fmt: skip
    note = (
        "Clean: everything before the moment was done right. Noisy: an earlier step was done wrongly. Direct answers say what is asked, "
        "suggestions add how to put it right, interventions say that it cannot be put right. Words with punctuation, as published."
    )
    parts = (
        Table("Key figures", head, figures),
        Table("Questions and answers by type", columns, tuple(rows), note),
        _activities(examples.values(), graphs, whole),
    )
    return Section("dataset", "Data set", parts)


def _activities(
    examples: Iterable[Example], graphs: Mapping[str, TaskGraph], whole: tuple[tuple[str, str], ...]
) -> Listing:
    counts = Counter((e.activity_id, e.activity_name) for e in examples)
    lines: list[tuple[Row, Iterable[str]]] = [
        ((name or id_, f"{len(graphs[id_].actions):,}" if id_ in graphs else "–", counted(n, *whole, ("activity", name or id_))),
         ["activities"])
        for (id_, name), n in counts.items()
    ]  # fmt: skip
    return Listing.of("activities", "Each activity", ("Activity", "Steps", "Questions"), lines)


def _leads(key: str, whole: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return which examples a key figure counts, or is about."""
    return whole if key in _OF_ALL else (*whole, ("noise", key)) if key in ("clean", "noisy") else ()


def _first_words(items: Sequence[Item], examples: Mapping[str, Example]) -> Section:
    types = _ordered(example.type for example in examples.values())
    texts = {
        "Questions": [(i, i.question.text) for i in items],
        "Answers": [(i, _text(g)) for i in items for g in i.golds],
    }
    words: tuple[Row, ...] = tuple(
        (name, *(_first([t for i, t in said if name in ("all", examples[i.id].type)], what, name) for what, said in texts.items()))
        for name in (*types, "all")
    )  # fmt: skip
    lines: list[tuple[Row, Iterable[str]]] = [
        ((Cell(clip_line(text, _SAID), item=i.id), what.lower().removesuffix("s")),
         [f"{what}, {name}: {word}" for word, _ in first_words([text]) for name in (examples[i.id].type, "all")])
        for what, said in texts.items()
        for i, text in said
    ]  # fmt: skip
    table = Table("First words", ("Type", *texts), words, digits=False)
    each = Listing.of("words", "Each question and answer", ("Text", "What"), lines)
    return Section("words", "First words", (table, each), place="appendix")


def _figures(
    items: Sequence[Item], examples: Sequence[Example], graphs: Mapping[str, TaskGraph], asked: Asked | None
) -> Iterator[tuple[str, str, str]]:
    """Yield key, label and value of the figures that the published benchmark also gives."""
    sizes = {e.activity_id: len(graphs[e.activity_id].actions) for e in examples if e.activity_id in graphs}
    steps, clips = list(sizes.values()), [e.end for e in examples]
    golds = [_text(g) for i in items for g in i.golds]
    noisy = sum(e.noisy for e in examples)
    yield "items", "questions", f"{len(items):,}"
    yield "activities", "activities", f"{len({e.activity_id for e in examples}):,}"
    yield "recordings", "recordings", f"{len({e.recording_id for e in examples}):,}"
    weighted = _mean(sizes[e.activity_id] for e in examples if e.activity_id in sizes)
    yield "steps_per_activity_weighted", "steps per activity, weighted by question", show_value(weighted)
    spread = f" ({min(steps)} to {max(steps)})" if steps else ""
    yield "steps_per_activity", "steps per activity, each counted once", show_value(_mean(steps)) + spread
    yield "clip_seconds", "length of what may be seen, mean", _minutes(_mean(clips))
    yield (
        "",
        "shortest to longest",
        f"{_minutes(min(clips, default=None))} to {_minutes(max(clips, default=None))}",
    )
    yield (
        "steps_so_far",
        "steps performed up to the moment, mean",
        show_value(_mean(len(e.previous) + 1 for e in examples)),
    )
    yield (
        "answers_per_question",
        "accepted answers per question, mean",
        show_value(_mean(len(i.golds) for i in items), 2),
    )
    yield (
        "question_tokens",
        "words per question",
        show_value(mean_tokens([i.question.text for i in items]).value if items else None),
    )
    yield "answer_tokens", "words per answer", show_value(mean_tokens(golds).value if golds else None)
    yield "clean", "clean moments: no earlier mistake", f"{len(items) - noisy:,}"
    yield "noisy", "noisy moments: after a mistake", f"{noisy:,}"
    if asked is not None:
        yield "approved", "questions kept of those proposed", _kept(items, len(asked.questions))
        found = verification_statistics(asked.questions, asked.verdicts)
        if found.candidates:
            yield (
                "answer_agreement",
                "agreement of two people on an answer",
                show_value(found.answers.raw.value, 2),
            )


def _type_row(
    name: str,
    items: Sequence[Item],
    examples: Mapping[str, Example],
    offered: int,
    published: Mapping[str, str],
    find: tuple[tuple[str, str], ...],
) -> tuple[str | Cell, ...]:
    noisy = sum(examples[i.id].noisy for i in items)
    golds = [g for i in items for g in i.golds]
    kinds = Counter(g.value.kind for g in golds if isinstance(g.value, Text))
    return (
        name, counted(len(items), *find), counted(len(items) - noisy, *find, ("noise", "clean")),
        counted(noisy, *find, ("noise", "noisy")),
        counted(sum(examples[i.id].has_answer for i in items), *find, ("something to name", "yes")),
        Cell(_kept(items, offered), among=("asked", "proposed" if name == "all" else f"{name}: proposed")), *([published.get("approved" if name == "all" else name, "")] if published else []),
        *(counted(kinds[kind], *find, ("kind of answer", kind)) for kind in ("direct", "suggestion", "intervention")),
        *(Cell(show_value(mean_tokens(texts).value if texts else None), find=find if texts else ())
          for texts in ([i.question.text for i in items], [_text(g) for g in golds])),
    )  # fmt: skip


def _ordered(names: Iterable[str]) -> tuple[str, ...]:
    """Return question types in their published order, unknown ones behind."""
    known = set(names)
    return (*(t for t in QUESTION_TYPES if t in known), *sorted(known.difference(QUESTION_TYPES)))


def _kept(items: Sequence[Item], offered: int) -> str:
    kept = len({i.question.provenance.get("candidate", i.id) for i in items})
    return f"{kept:,} of {offered:,} ({kept / offered:.2f})" if offered else "–"


def _first(texts: Sequence[str], what: str, name: str) -> Cell:
    found = first_words(texts)[:_WORDS]
    return Cell(
        parts=tuple(Cell(f"{word} {n:,}", among=("words", f"{what}, {name}: {word}")) for word, n in found)
    )


def _text(gold: Gold) -> str:
    return gold.value.text if isinstance(gold.value, Text) else ""


def _mean(values: Iterable[float]) -> float | None:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else None


def _minutes(seconds: float | None) -> str:
    if seconds is None or seconds != seconds:
        return "–"
    whole = round(seconds)
    return f"{whole // 60} min {whole % 60:02d} s"


# -- task graphs ---------------------------------------------------------------------------------------------------


def _graphs(examples: Iterable[Example], graphs: Mapping[str, TaskGraph]) -> Section:
    examples = list(examples)
    asked = Counter((e.activity_id, e.current.step_id) for e in examples if e.current)
    counts = Counter(e.activity_id for e in examples)
    drawings = draw_graphs(graphs)
    folds = tuple(
        Fold(
            f"{graph.name or key}: {count(len(graph.actions), 'step')}, {count(counts[key], 'question')}",
            tuple(_graph(key, graph, drawings[key], asked, counts[key])), shown=n == 0,
        )
        for n, (key, graph) in enumerate(graphs.items())
    )  # fmt: skip
    note = "An arrow means that the upper step has to come first. The list below each drawing says the same in words."
    return Section("graphs", "Task graphs", (Paragraph(note), *folds))


def _graph(
    key: str, graph: TaskGraph, drawing: Drawing, asked: Mapping[tuple[str, str], int], whole: int
) -> Iterator[Part]:
    name = graph.name or key
    if drawing.svg:
        yield Drawn(f"Task graph: {name}", Markup(drawing.svg))  # noqa: S704 - written by us from escaped text
    else:
        yield Paragraph(drawing.note)
    listed = list_steps(graph)
    position = {step.id: n for n, step in enumerate(listed, start=1)}
    rows = tuple(
        (
            Cell(f"{place}. {show_step(step)}"),
            ", ".join(map(str, sorted(position[i] for i in graph.predecessors(step.id) if i in position)))
            or "–",
            Cell(f"{n:,}", find=(("activity", name), ("step", f"{place}. {show_step(step)}")))
            if (n := asked.get((key, step.id), 0))
            else "–",
        )
        for place, step in enumerate(listed, start=1)
    )
    rows = (*rows, (Cell(f"all {len(listed):,}"), "", counted(whole, ("activity", name))))
    yield Table(f"Steps of {name}", ("Step", "After", "Asked here"), rows)


def moment_evidence(
    graphs: Mapping[str, TaskGraph], frames: Callable[[Item], Sequence[SourceView]]
) -> Callable[[Item], Evidence]:
    """Return what finds the evidence of a question: its frames, what was done so far, where each step stands.

    Args:
        graphs: activity id to task graph.
        frames: pictures of a question, where there are any.
    """
    drawings = draw_graphs(graphs)
    drawn: list[str] = []

    def find(item: Item) -> Evidence:
        example = moment_example(item.question)
        graph = graphs.get(example.activity_id)
        sources = [*_marked(frames(item), example), _history(example, graph)]
        drawing = None
        if graph is not None:
            states = derive_step_states(example, graph)
            rows = tuple((show_step(graph[s.step_id]), s.words) for s in states)
            title = f"Where each step stands: {graph.name or graph.id}"
            sources.append(SourceView(graph.id, "task graph", "", title, header=("step", "state"), rows=rows))
            layout = drawings[example.activity_id].layout
            if layout is not None and layout.placement is not None and len(drawn) < _DRAWN:
                drawn.append(item.id)
                label = f"Task graph: {graph.name or graph.id}"[:200]
                drawing = Markup(draw_layout(layout, graph, mark_states(states), label=label, noun="mistake"))  # noqa: S704 - ours
        return Evidence(tuple(sources), tuple(_facts(example)), drawing, _facets(example, graph))

    return find


def _facets(example: Example, graph: TaskGraph | None) -> dict[str, str]:
    step = example.current.step_id if example.current is not None else ""
    steps = list_steps(graph) if graph is not None else ()
    places = [f"{n}. {show_step(one)}" for n, one in enumerate(steps, 1) if one.id == step]
    return {"something to name": "yes" if example.has_answer else "no", **({"step": places[0]} if places else {})}  # fmt: skip


def _facts(example: Example) -> Iterator[tuple[str, str]]:
    yield "activity", example.activity_name or example.activity_id
    yield "moment", f"{_clock(example.end)}, {example.state}, {'noisy' if example.noisy else 'clean'}"
    yield "mistakes", "; ".join(example.mistake_texts)


def _history(example: Example, graph: TaskGraph | None) -> SourceView:
    rows = tuple(_performed(p, graph) for p in example.performed)
    return SourceView(
        example.clip_id, "recording", "", f"What was done so far: {example.recording_id}",
        header=("when", "step", "mistakes"), rows=rows, origin=example.video or "",
    )  # fmt: skip


def _marked(frames: Sequence[SourceView], example: Example) -> Iterator[SourceView]:
    """Say of frames which step they show and whether it was done wrongly; the last one is the moment."""
    for n, frame in enumerate(frames, 1):
        at = frame.time or 0.0
        shown = [p for p in example.performed if (p.start or 0.0) <= at and p.end is not None and at <= p.end]
        role = "the moment" if n == len(frames) else ""
        mistakes = dict.fromkeys(m.kind for p in shown for m in p.mistakes)
        yield replace(frame, role=role, text="; ".join(p.text for p in shown), mark=", ".join(mistakes))


def _performed(p: Performed, graph: TaskGraph | None) -> tuple[str, ...]:
    known = graph[p.step_id].text if graph is not None and p.step_id in graph else ""
    instruction = p.instruction or known
    differs = bool(instruction) and instruction.split() != p.text.split()
    when = "–".join(_clock(t) for t in (p.start, p.end) if t is not None)
    mistakes = "; ".join(f"{m.kind}: {m.text}" if m.text else m.kind for m in p.mistakes)
    return when, p.text + (f" (instruction: {instruction})" if differs else ""), mistakes


def _clock(seconds: float) -> str:
    if seconds != seconds or seconds in (float("inf"), float("-inf")):
        return "–"
    whole = int(seconds)
    return (
        f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
        if whole >= 3600
        else f"{whole // 60}:{whole % 60:02d}"
    )


# -- where each step stands ----------------------------------------------------------------------------------------

StepStateName = Literal["done", "current", "next", "missing", "future"]

STATE_WORDS: Final[dict[str, str]] = {
    "done": "done",
    "current": "just done",
    "next": "next",
    "missing": "missing",
    "future": "later",
    "out_of_order": "out of order",
    "mistaken": "with a mistake",
}
"""The words that stand beside every drawing; colour alone never carries a state."""

MARK_STATUS: Final[dict[str, Status]] = {
    "done": "done",
    "current": "current",
    "next": "next",
    "missing": "missing",
    "future": "todo",
}
"""State to the status that gives its box a shape."""


@dataclass(frozen=True, slots=True)
class StepState:
    """Where one step stands.

    Attributes:
        step_id: id in the task graph.
        name: done, current, next, missing or future.
        out_of_order: it was performed before a direct prerequisite.
        mistakes: kinds of the mistakes made in any performance of it, in order, without repeats.
        errors: how many mistakes these were.
    """

    step_id: str
    name: StepStateName
    out_of_order: bool = False
    mistakes: tuple[str, ...] = ()
    errors: int = 0

    @property
    def words(self) -> str:
        """The state as words: ``"just done, out of order, mistake: measurement"``."""
        parts = [STATE_WORDS[self.name]]
        if self.out_of_order:
            parts.append(STATE_WORDS["out_of_order"])
        if self.mistakes:
            parts.append(
                ("mistake: " if len(self.mistakes) == 1 else "mistakes: ") + ", ".join(self.mistakes)
            )
        return ", ".join(parts)


def mark_states(states: Iterable[StepState]) -> dict[str, StepMark]:
    """Return what a drawing says of every step: step id to mark."""
    return {s.step_id: StepMark(MARK_STATUS[s.name], s.words, s.errors, late=s.out_of_order) for s in states}


def derive_step_states(example: Example, graph: TaskGraph) -> tuple[StepState, ...]:
    """Say for every action of the graph, in the order of ``list_steps``, where it stands.

    Steps that the example names but the graph does not have are ignored. A step that is repeated as the current
    one is *current*, not *done*.
    """
    progress = progress_after(graph, [p for p in example.performed if p.step_id in graph])
    done, following, missing = set(progress.done), set(progress.next), set(progress.missing)
    late = {after for _, after in progress.out_of_order}
    mistakes: dict[str, list[str]] = {}
    for performed in example.performed:
        mistakes.setdefault(performed.step_id, []).extend(m.kind for m in performed.mistakes)
    current = example.current.step_id if example.current is not None else None

    def name(step_id: str) -> StepStateName:
        if step_id == current:
            return "current"
        if step_id in done:
            return "done"
        if step_id in missing:
            return "missing"
        return "next" if step_id in following else "future"

    return tuple(
        StepState(s.id, name(s.id), s.id in late, tuple(dict.fromkeys(kinds)), len(kinds))
        for s in list_steps(graph)
        for kinds in (mistakes.get(s.id, []),)
    )


# -- drawings ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Drawing:
    """A task graph ready for the page.

    Attributes:
        svg: SVG without statuses, empty when there is none.
        note: why there is no drawing, for people.
        layout: of the SVG; None when there is no SVG.
    """

    svg: str = ""
    note: str = ""
    layout: Layout | None = None


def draw_graphs(graphs: Mapping[str, TaskGraph], engine: Engine | None = None) -> dict[str, Drawing]:
    """Draw every graph; one that cannot be drawn gets a note instead and never stops the others.

    Args:
        graphs: activity id to task graph.
        engine: the layout program; the one that is installed by default (Graphviz, else the library fast-sugiyama).
    """
    engine = engine or find_engine()
    if engine is None:
        note = (
            "Not drawn: neither Graphviz ('dot') nor the library fast-sugiyama (extra 'studio') is installed."
        )
        return dict.fromkeys(graphs, Drawing(note=note))
    layouts = _layouts(engine)
    layouts.prepare(graphs.values())
    return {key: _draw(graph, layouts) for key, graph in graphs.items()}


@cache
def _layouts(engine: Engine) -> Layouts:
    return Layouts(engine=engine)


def _draw(graph: TaskGraph, layouts: Layouts) -> Drawing:
    try:
        layout = layouts.find(graph)
    except NotDrawnError as error:
        return Drawing(note=f"Not drawn: {error}.")
    return Drawing(draw_layout(layout, graph), layout=layout)
