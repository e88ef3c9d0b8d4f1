"""A question with what is known of it, as filters and those who write options work on it, whatever its kind.

What is known are lines with ids that can be cited. Filters take the lines of the question's kind (``Kind.lines``). Those who write options are
shown lines of their own for clips, moments and documents: steps with their exact times, from which wrong answers are made by rule.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

import msgspec

from proctor.ask.clip.record import ShownClip, ShownStep
from proctor.ask.documents.rng import attempt_random
from proctor.errors import UserError
from proctor.exam.kind import kind_named
from proctor.exam.kinds.example import Example, Performed
from proctor.exam.kinds.moment_question import MOMENT, moment_example
from proctor.exam.library import Library
from proctor.exam.lines import Line
from proctor.exam.question import (
    Footage,
    Item,
    Procedure,
    Question,
    Source,
    Text,
    gold_texts,
    part_of,
    right_texts,
)
from proctor.llm.message import Image
from proctor.procedure.graph import TaskGraph
from proctor.procedure.phrase import render_step
from proctor.procedure.showing import shown_text

__all__ = ["Known", "Matter", "Sibling", "known_clip", "known_item", "known_question", "siblings_of"]

Matter = Literal["video", "procedure", "sources"]
"""What lines are: steps of a video, a procedure and what was done of it so far, or anything that can be read or looked at."""

SIBLINGS: Final = 4
"""Other clips that a question brings along for distractors, unless told otherwise."""


class Sibling(msgspec.Struct, frozen=True, kw_only=True):
    """Another video or document of the same data set: its id and its steps."""

    id: str
    steps: tuple[Line, ...]


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """A question with what is known of it.

    Attributes:
        question: as its kind has it.
        answers: that are right; where options are written, the first is the right one, and none may say what another says.
        lines: all that is known; the only thing that may support an answer.
        topic: goal or activity; empty where there is none.
        cites: ids of the lines that its maker says support it; no model is told.
        siblings: other videos, for distractors of the kind ``other-video``.

    Raises:
        UserError: if two lines have one id.
    """

    question: Question
    answers: tuple[str, ...]
    lines: tuple[Line, ...]
    topic: str = ""
    cites: tuple[str, ...] = ()
    siblings: tuple[Sibling, ...] = ()

    def __post_init__(self) -> None:
        """See that an id stands for one line."""
        seen: set[str] = set()
        for line in self.lines:
            if line.id in seen:
                raise UserError(f"two lines of what is known have the id '{line.id}'.", where=self.id)
            seen.add(line.id)

    @property
    def id(self) -> str:
        """Of the question."""
        return self.question.id

    @property
    def text(self) -> str:
        """As asked."""
        return self.question.text

    @property
    def answer(self) -> str:
        """The first right answer; empty where there is none."""
        return self.answers[0] if self.answers else ""

    @property
    def matter(self) -> Matter:
        """What the lines are."""
        if part_of(self.question, Procedure) is not None:
            return "procedure"
        return "video" if part_of(self.question, Footage) is not None else "sources"

    @property
    def pictures(self) -> tuple[Image, ...]:
        """Pictures of what is known, in the order of the lines."""
        return tuple(line.picture for line in self.lines if line.picture is not None)


def known_question(question: Question, library: Library) -> Known:
    """Return a question of any kind with the lines of its kind; what is proposed as right are its answers.

    Raises:
        UserError: if something that it names is not there, or two lines have one id.
    """
    kind = kind_named(question.kind)
    return Known(
        question=question,
        answers=right_texts(question),
        lines=kind.lines(question, library),
        topic=kind.topic(question, library),
    )


# -- what those who write options are shown ----------------------------------------------------------------------


def known_clip(
    question: Question, clip: ShownClip, cites: tuple[str, ...], siblings: Sequence[Sibling] = ()
) -> Known:
    """Return a question about a clip with the clip's goal and steps.

    Args:
        question: whose answer is proposed.
        clip: that it is about.
        cites: ids of the steps that support the answer.
        siblings: other clips.
    """
    task = (Line("task", clip.task),) if clip.task.strip() else ()
    return Known(
        question=question,
        answers=right_texts(question),
        lines=(*task, *map(_line_of_step, clip.steps)),
        cites=cites,
        siblings=tuple(siblings),
    )


def known_item(item: Item, library: Library) -> Known:
    """Return an item of any kind with what is known of it; its golds are its answers.

    Raises:
        UserError: if something that it names is not there.
    """
    question, golds = item.question, gold_texts(item)
    if question.kind == MOMENT:
        example = moment_example(question)
        lines, cites = _lines_of_moment(example, library.graphs.get(example.activity_id))
        return Known(question=question, answers=golds, lines=lines, cites=cites)
    if part_of(question, Source) is not None:
        lines = _lines_of_sources(question, library)
        return Known(question=question, answers=golds, lines=lines, cites=tuple(line.id for line in lines))
    lines = kind_named(question.kind).lines(question, library)
    said = {id_ for gold in item.golds if isinstance(gold.value, Text) for id_ in gold.value.cites}
    return Known(
        question=question, answers=golds, lines=lines, cites=tuple(x.id for x in lines if x.id in said)
    )


def _line_of_step(step: ShownStep) -> Line:
    return Line(step.id, step.text, start=step.start, end=step.end, is_step=True, note=step.narration)


def siblings_of(
    clips: Sequence[ShownClip], *, seed: int = 0, most: int = SIBLINGS
) -> Mapping[str, tuple[Sibling, ...]]:
    """Return for each clip, by its id, some clips of other videos of the data set: those of the same task come first.

    Which ones depends on the seed and on the set of clips, not on their order.
    """
    by_task: dict[tuple[str, str], list[ShownClip]] = defaultdict(list)
    by_dataset: dict[str, list[ShownClip]] = defaultdict(list)
    for clip in sorted(clips, key=lambda c: c.id):
        by_task[clip.dataset, clip.task].append(clip)
        by_dataset[clip.dataset].append(clip)
    found: dict[str, tuple[Sibling, ...]] = {}
    for clip in clips:
        rng = attempt_random(seed, clip.id, 0, "siblings")
        near = _some(by_task[clip.dataset, clip.task], clip, most, rng, ())
        far = _some(by_dataset[clip.dataset], clip, most - len(near), rng, near)
        found[clip.id] = tuple(
            Sibling(id=other.id, steps=tuple(map(_line_of_step, other.steps))) for other in (*near, *far)
        )
    return found


def _some(
    clips: Sequence[ShownClip], own: ShownClip, most: int, rng: random.Random, taken: Iterable[ShownClip]
) -> list[ShownClip]:
    """Draw clips of other videos without looking at all of them more often than needed."""
    known = {own.id, *(clip.id for clip in taken)}
    drawn = rng.sample(range(len(clips)), min(len(clips), 4 * most + 8))
    others = (clips[n] for n in drawn)
    return [c for c in others if c.id not in known and c.video_id != own.video_id][: max(most, 0)]


def _lines_of_moment(example: Example, graph: TaskGraph | None) -> tuple[tuple[Line, ...], tuple[str, ...]]:
    """Return what was done with its mistakes, what may be done now, what was left out, and what else the procedure has; and what is cited."""
    done = [_line_of_performed(n, step) for n, step in enumerate(example.performed, 1)]
    allowed = _lines_of_facts("allowed-now", (step.text for step in example.all_next))
    left_out = _lines_of_facts("left-out", (step.text for step in example.all_missing))
    facts = {"next": allowed, "missing": left_out}.get(example.type, done[-1:])
    named = {line.text for line in (*done, *allowed, *left_out)}
    rest = () if graph is None else _lines_of_graph(graph, named)
    task = (Line("task", example.activity_name),) if example.activity_name else ()
    noted = [Line(f"noted-{n}", shown_text(text)) for n, text in enumerate(example.mistake_texts, 1) if text]
    return (*task, *done, *allowed, *left_out, *noted, *rest), tuple(line.id for line in facts)


def _line_of_performed(number: int, step: Performed) -> Line:
    noted = "; ".join(shown_text(m.text) for m in step.mistakes if m.text)
    text = render_step(step.text)
    return Line(f"done-{number}", text, start=step.start, end=step.end, is_step=True, note=noted)


def _lines_of_facts(name: str, texts: Iterable[str]) -> list[Line]:
    return [Line(f"{name}-{n}", render_step(text), is_step=True) for n, text in enumerate(texts, 1)]


def _lines_of_graph(graph: TaskGraph, named: set[str]) -> list[Line]:
    texts = dict.fromkeys(render_step(step.text) for step in graph.actions)
    rest = [text for text in texts if text and text not in named]
    return [
        Line(f"procedure-{n}", text, is_step=True, note="a step of the procedure, not yet reached")
        for n, text in enumerate(rest, 1)
    ]


def _lines_of_sources(question: Question, library: Library) -> tuple[Line, ...]:
    """Return the cited sources, images in words.

    Raises:
        UserError: if one is not there.
    """
    from proctor.exam.source_showing import show_source  # it loads what reads pictures

    ids = [part.id for part in question.evidence if isinstance(part, Source)]
    corpus = library.corpus
    if lacking := [id_ for id_ in ids if corpus is None or corpus.get(id_) is None]:
        raise UserError(
            f"the question '{question.id}' cites {', '.join(lacking)}, which is not in the corpus.",
            hint="use the corpus that it was made from",
        )
    found = [source for id_ in ids if corpus is not None and (source := corpus.get(id_)) is not None]
    return tuple(Line(f"source-{n}", show_source(source).text) for n, source in enumerate(found, 1))
