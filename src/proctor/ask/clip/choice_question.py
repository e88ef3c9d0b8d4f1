"""A question that is to get options, whatever it comes from: an instructional pair, an item of ProMQA, a question of a style.

Everything behind this record works on any benchmark of ours: a question, its answer, lines of what is known (each with an id),
which of them support the answer, and optionally steps of other videos.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from proctor.ask.clip.record import InstructionalPair, ShownClip, ShownStep
from proctor.ask.documents.record import StyledQuestion
from proctor.ask.documents.rng import attempt_random
from proctor.corpus.source import Source
from proctor.errors import UserError
from proctor.exam.kinds.example import Example, Performed
from proctor.exam.source_showing import show_source
from proctor.procedure.graph import TaskGraph
from proctor.procedure.phrase import render_step

__all__ = [
    "ChoiceQuestion",
    "ContextLine",
    "Sibling",
    "question_of_moment",
    "question_of_pair",
    "question_of_styled",
    "show_context",
    "siblings_of",
]

SIBLINGS = 4
"""Other clips that a question brings along for distractors, unless told otherwise."""


class ContextLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is known.

    Attributes:
        id: unique among the lines of its question.
        text: what is known.
        start: seconds, where it has a time.
        end: seconds, exclusive.
        is_step: True for a step that was performed or belongs to the procedure: distractors may be made of it.
        note: what is said meanwhile or noted; shown, and never made a distractor of.
    """

    id: str
    text: str
    start: float | None = None
    end: float | None = None
    is_step: bool = False
    note: str = ""

    @property
    def shown(self) -> str:
        """The line as a model reads it."""
        when = "" if self.start is None or self.end is None else f" ({self.start:g} s to {self.end:g} s)"
        return f"{self.id}{when}: {self.text}{f' [{self.note}]' if self.note else ''}"


class Sibling(msgspec.Struct, frozen=True, kw_only=True):
    """Another video or document of the same data set: its id and its steps."""

    id: str
    steps: tuple[ContextLine, ...]


class ChoiceQuestion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question that is to get options.

    Attributes:
        id: unique in a run.
        question: as asked.
        answer: the right option.
        also: further answers that are right; no option may say what one of them says.
        context: what is known.
        cites: ids of the lines that support the answer.
        siblings: other videos, for distractors of the kind ``other-video``.
    """

    id: str
    question: str
    answer: str
    also: tuple[str, ...] = ()
    context: tuple[ContextLine, ...] = ()
    cites: tuple[str, ...] = ()
    siblings: tuple[Sibling, ...] = ()

    @property
    def answers(self) -> tuple[str, ...]:
        """Everything that is right."""
        return (self.answer, *self.also)


def show_context(question: ChoiceQuestion) -> list[str]:
    """Return the lines of what is known as a model reads them."""
    return [line.shown for line in question.context]


# -- instructional pairs -----------------------------------------------------------------------------------------


def question_of_pair(
    pair: InstructionalPair, clip: ShownClip, siblings: Sequence[Sibling] = ()
) -> ChoiceQuestion:
    """Return the question of a pair: the steps of its clip are what is known.

    Raises:
        UserError: if the pair is about another clip.
    """
    if pair.clip_id != clip.id:
        raise UserError(f"the pair '{pair.id}' is about the clip '{pair.clip_id}', not '{clip.id}'.")
    task = (ContextLine(id="task", text=clip.task),) if clip.task.strip() else ()
    return ChoiceQuestion(
        id=pair.id,
        question=pair.question,
        answer=pair.answer,
        context=(*task, *map(_line_of_step, clip.steps)),
        cites=pair.step_ids,
        siblings=tuple(siblings),
    )


def _line_of_step(step: ShownStep) -> ContextLine:
    return ContextLine(
        id=step.id, text=step.text, start=step.start, end=step.end, is_step=True, note=step.narration
    )


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


# -- items of step questions -------------------------------------------------------------------------------------


def question_of_moment(
    example: Example, name: str, question: str, golds: Sequence[str], graph: TaskGraph | None = None
) -> ChoiceQuestion:
    """Return a question about a moment: its first gold answer is the right option, the others are right as well.

    What is known are the performed steps with their mistakes, what may be done now and what was left out. The steps of the
    graph, where it is given, tell what else the procedure has.
    """
    done = [_line_of_performed(n, step) for n, step in enumerate(example.performed, 1)]
    allowed = _lines_of_facts("allowed-now", example.all_next)
    left_out = _lines_of_facts("left-out", example.all_missing)
    facts = {"next": allowed, "missing": left_out}.get(example.type, done[-1:])
    named = {line.text for line in (*done, *allowed, *left_out)}
    rest = () if graph is None else _lines_of_graph(graph, named)
    task = (ContextLine(id="task", text=example.activity_name),) if example.activity_name else ()
    noted = [
        ContextLine(id=f"noted-{n}", text=text) for n, text in enumerate(example.mistake_texts, 1) if text
    ]
    return ChoiceQuestion(
        id=name,
        question=question,
        answer=golds[0] if golds else "",
        also=tuple(golds[1:]),
        context=(*task, *done, *allowed, *left_out, *noted, *rest),
        cites=tuple(line.id for line in facts),
    )


def _line_of_performed(number: int, step: Performed) -> ContextLine:
    noted = "; ".join(m.text for m in step.mistakes if m.text)
    return ContextLine(
        id=f"done-{number}", text=render_step(step.text), start=step.start, end=step.end, is_step=True, note=noted
    )  # fmt: skip


def _lines_of_facts(name: str, steps: Iterable[object]) -> list[ContextLine]:
    texts = [str(getattr(step, "text", "")) for step in steps]
    return [
        ContextLine(id=f"{name}-{n}", text=render_step(text), is_step=True) for n, text in enumerate(texts, 1)
    ]


def _lines_of_graph(graph: TaskGraph, named: Iterable[str]) -> list[ContextLine]:
    known = set(named)
    texts = dict.fromkeys(render_step(step.text) for step in graph.actions)
    rest = [text for text in texts if text and text not in known]
    return [
        ContextLine(id=f"procedure-{n}", text=text, is_step=True, note="a step of the procedure, not yet reached")
        for n, text in enumerate(rest, 1)
    ]  # fmt: skip


# -- questions of a style ----------------------------------------------------------------------------------------


def question_of_styled(question: StyledQuestion, sources: Mapping[str, Source]) -> ChoiceQuestion:
    """Return a question about sources: what is known are its gold sources, images in words.

    Args:
        question: as it was accepted.
        sources: of the corpus by id.

    Raises:
        UserError: if a gold source is not there.
    """
    lacking = [id for id in question.gold if id not in sources]
    if lacking:
        raise UserError(
            f"the question '{question.id}' cites {', '.join(lacking)}, which is not in the corpus.",
            hint="use the corpus that it was made from",
        )
    lines = [
        ContextLine(id=f"source-{n}", text=show_source(sources[id]).text)
        for n, id in enumerate(question.gold, 1)
    ]
    return ChoiceQuestion(
        id=question.id,
        question=question.question,
        answer=question.answer,
        context=tuple(lines),
        cites=tuple(line.id for line in lines),
    )
