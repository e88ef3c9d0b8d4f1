"""What the filters need of a question, whatever made it: adapters for instructional pairs, ProMQA candidates and styled questions.

A filter sees a question, its accepted answers, and *context lines*: everything that is known of the video or the sources, line
by line, each with an id that a filter can cite. Where a question came from is of no concern to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, get_args

import msgspec

from proctor.ask.clip.record import InstructionalPair, ShownClip, ShownStep
from proctor.ask.documents.prompting import Picture, no_pixels
from proctor.ask.documents.record import StyledQuestion
from proctor.ask.moment.candidate import Candidate
from proctor.corpus.collection import Corpus
from proctor.corpus.source import Source
from proctor.errors import UserError
from proctor.exam.kinds.example import Example, Performed
from proctor.exam.source_showing import show_source, show_title
from proctor.llm.message import Image
from proctor.procedure.graph import TaskGraph

__all__ = [
    "MATTERS",
    "ContextLine",
    "Filterable",
    "Matter",
    "from_candidate",
    "from_pair",
    "from_styled",
    "step_line",
]

Matter = Literal["video", "procedure", "sources"]
"""What context lines are: steps of a video, a procedure and what was done of it so far, or sources of a corpus."""
MATTERS: Final[tuple[Matter, ...]] = get_args(Matter)


class ContextLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that is known.

    Attributes:
        id: unique among the lines of a question; what a filter cites.
        text: what is known; may have several lines.
        picture: of an image whose pixels are shown.
    """

    id: str
    text: str
    picture: Image | None = None


class Filterable(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question as the filters see it.

    Attributes:
        id: of the pair, candidate or styled question.
        question: as asked.
        answers: accepted ones; any of them answers it.
        context: all that is known; the only thing that may support an answer.
        matter: what the lines are.
        topic: goal, task or activity; empty where there is none.
        group: recording or document, by which intervals are clustered.
        type: category, question type or style.
        cites: ids of the lines that its maker says support it; no filter is told.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    context: tuple[ContextLine, ...]
    matter: Matter = "video"
    topic: str = ""
    group: str = ""
    type: str = ""
    cites: tuple[str, ...] = ()

    @property
    def pictures(self) -> tuple[Image, ...]:
        """Pictures of its context, in the order of the lines."""
        return tuple(line.picture for line in self.context if line.picture is not None)


# -- instructional pairs -----------------------------------------------------------------------------------------


def step_line(step: ShownStep) -> ContextLine:
    """Return a step of a clip as a line: when, what, of which kind, and what is said meanwhile."""
    kind = f" (kind: {step.category})" if step.category else ""
    said = f" (said meanwhile: {step.narration})" if step.narration else ""
    return ContextLine(step.id, f"{step.start:.1f} to {step.end:.1f} s: {step.text}{kind}{said}")


def from_pair(pair: InstructionalPair, clip: ShownClip) -> Filterable:
    """Return an instructional pair with the steps of its clip.

    Raises:
        UserError: if the clip is another one, or two of its steps have one id.
    """
    if pair.clip_id != clip.id:
        raise UserError(f"the question is about the clip '{pair.clip_id}', not '{clip.id}'.", where=pair.id)
    return _checked(
        Filterable(
            id=pair.id,
            question=pair.question,
            answers=(pair.answer,),
            context=tuple(step_line(step) for step in clip.steps),
            matter="video",
            topic=clip.task,
            group=pair.video_id,
            type=pair.category,
            cites=pair.step_ids,
        )
    )


# -- ProMQA ------------------------------------------------------------------------------------------------------


def from_candidate(candidate: Candidate, example: Example, graph: TaskGraph) -> Filterable:
    """Return a candidate with the procedure and what was done of it up to the moment of the question.

    Lines of the procedure have the ids of their steps; lines of the recording are ``done-1``, ``done-2`` … in order of time.

    Raises:
        UserError: if the example is another one.
    """
    if candidate.example_id != example.id:
        raise UserError(
            f"the question is about the example '{candidate.example_id}', not '{example.id}'.",
            where=candidate.id,
        )
    return _checked(
        Filterable(
            id=candidate.id,
            question=candidate.question,
            answers=tuple(answer.text for answer in candidate.answers),
            context=(*_procedure(graph), *_done(example.performed)),
            matter="procedure",
            topic=example.activity_name or graph.name or graph.id,
            group=candidate.recording_id,
            type=candidate.type,
            cites=tuple(dict.fromkeys(id for answer in candidate.answers for id in answer.step_ids)),
        )
    )


def _procedure(graph: TaskGraph) -> list[ContextLine]:
    before: dict[str, list[str]] = {}
    for earlier, later in graph.edges:
        if earlier != graph.start:
            before.setdefault(later, []).append(earlier)
    lines = []
    for step in graph.actions:
        waits = f" (only after {', '.join(before[step.id])})" if step.id in before else ""
        lines.append(ContextLine(step.id, f"instruction: {step.text}{waits}"))
    return lines


def _done(performed: Sequence[Performed]) -> list[ContextLine]:
    lines = []
    for number, step in enumerate(performed, 1):
        time = (
            f"{step.start:.1f} to {step.end:.1f} s: "
            if step.start is not None and step.end is not None
            else ""
        )
        wrong = "; ".join(f"{m.kind}: {m.text}" if m.text else m.kind for m in step.mistakes)
        note = f" (went wrong: {wrong})" if wrong else ""
        lines.append(ContextLine(f"done-{number}", f"done, {time}{step.text}{note}"))
    return lines


# -- SMMQG -------------------------------------------------------------------------------------------------------


def from_styled(question: StyledQuestion, corpus: Corpus, picture: Picture = no_pixels) -> Filterable:
    """Return a styled question with its gold sources; the lines have the ids of the sources.

    Args:
        question: with the ids of its gold sources.
        corpus: where they are.
        picture: gives the pixels of images; without them an image is its caption and its description.

    Raises:
        UserError: if a gold source is not in the corpus.
    """
    sources = []
    for id in question.gold:
        source = corpus.get(id)
        if source is None:
            raise UserError(f"the source '{id}' is not in the corpus.", where=question.id)
        sources.append(source)
    return _checked(
        Filterable(
            id=question.id,
            question=question.question,
            answers=(question.answer,),
            context=tuple(_source_line(source, picture) for source in sources),
            matter="sources",
            group=next((s.doc_id or s.id for s in sources), question.id),
            type=question.style,
            cites=question.gold,
        )
    )


def _source_line(source: Source, picture: Picture) -> ContextLine:
    pixels = picture(source) if source.modality == "image" else None
    if pixels is not None:
        return ContextLine(source.id, f"{show_title(source)} (an attached picture)", pixels)
    return ContextLine(source.id, show_source(source).text)


def _checked(question: Filterable) -> Filterable:
    seen: set[str] = set()
    for line in question.context:
        if line.id in seen:
            raise UserError(f"two context lines have the id '{line.id}'.", where=question.id)
        seen.add(line.id)
    return question
