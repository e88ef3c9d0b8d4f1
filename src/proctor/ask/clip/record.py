"""The records of questions about clips: what a model is told of a clip, a pair, what a filter says of it, a question with options.

InstructionBench's supplement; its decision rules are partly ours (docs/instructionbench.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, get_args

import msgspec

__all__ = [
    "CATEGORIES",
    "FILTERS",
    "LEVELS",
    "Category",
    "ChoiceItem",
    "ClipPair",
    "Distractor",
    "DistractorKind",
    "FilterName",
    "FilterVerdict",
    "Level",
    "ShownClip",
    "ShownStep",
    "Vote",
    "render_step",
    "top_steps",
]

Level = Literal["coarse", "fine"]
"""``coarse``: about events (order, dependency, repetition …); ``fine``: about objects and manner within steps."""
LEVELS: Final[tuple[Level, ...]] = get_args(Level)

Category = Literal[
    "ordering",
    "localisation",
    "counting",
    "purpose-cause",
    "object-tool",
    "ingredient-quantity",
    "manner",
    "state-attribute",
    "location",
    "comparison",
    "missing-step",
    "other",
]
"""The closed list (ours: InstructionBench's is not published)."""
CATEGORIES: Final[tuple[Category, ...]] = get_args(Category)

FilterName = Literal["unspecific", "tricky", "hallucination", "blind"]
FILTERS: Final[tuple[FilterName, ...]] = get_args(FilterName)
"""In the order in which they are asked, cheap ones first (ours)."""

DistractorKind = Literal["model", "order", "object", "quantity", "time", "other-step", "other-video"]
"""``model``: thought up by a model (the published way); the others are made by rule from annotations."""


class ShownStep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A step as the annotation tells it.

    Attributes:
        id: unique in its clip; what pairs cite (``s3``, of a substep ``s3.2``).
        text: what is done.
        start: seconds from the clip's start.
        end: seconds from the clip's start, exclusive.
        category: kind of step, where the data set has kinds.
        narration: what is said meanwhile, where it is known.
    """

    id: str
    text: str
    start: float
    end: float
    category: str = ""
    narration: str = ""


class ShownClip(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A clip with all that a model may be told of it.

    Attributes:
        id: unique; of a whole video the recording's id.
        dataset: name of the reader.
        video_id: the recording; benchmark and training set never share one.
        task: goal or task.
        start: seconds of the recording.
        end: seconds of the recording, exclusive.
        steps: in order.
        video: path of the video relative to the data set's root, if it is known.
        split: of the data set, where it is known.
    """

    id: str
    dataset: str
    video_id: str
    task: str
    start: float
    end: float
    steps: tuple[ShownStep, ...]
    video: str | None = None
    split: str = ""


class ClipPair(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question with its answer, and the steps that support it.

    Attributes:
        id: stable under re-generation.
        clip_id: which clip it is about.
        dataset: of the clip.
        video_id: of the clip.
        level: coarse or fine.
        category: of the closed list.
        question: as asked.
        answer: short.
        step_ids: that support the answer, in the clip's order; never empty.
        position: where in the clip its first step lies: ``early``, ``middle`` or ``late``.
        details: model, template, prompt hash, request, tokens, cost, seed … as text.
    """

    id: str
    clip_id: str
    dataset: str
    video_id: str
    level: Level
    category: Category
    question: str
    answer: str
    step_ids: tuple[str, ...]
    position: str = ""
    details: Mapping[str, str] = {}


class FilterVerdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one filter says of one question.

    Attributes:
        item_id: the question, of any kind.
        filter: its name.
        keep: False drops the question for good; None when the filter could not be asked (an assistant is down): postponed.
        reason: one sentence for people, or the code of why nothing could be read (a drop: filters fail closed).
        evidence: machine-readable: cited step ids, each assistant's answer and whether it was consistent, votes.
        judge: models that were asked, joined by `` + ``.
        details: of the calls as text.
    """

    item_id: str
    filter: FilterName
    keep: bool | None
    reason: str = ""
    evidence: Mapping[str, str] = {}
    judge: str = ""
    details: Mapping[str, str] = {}


class Distractor(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A wrong answer: where it came from, and for those made by rule from which step (``origin``)."""

    text: str
    kind: DistractorKind = "model"
    origin: str = ""


class Vote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One assistant's vote on a set of options.

    Attributes:
        stage: ``with_steps``, ``without_steps`` or ``confirm`` (the fresh vote after acceptance).
        attempt: counted from 0.
        assistant: model.
        order: how the options were shuffled for it: positions in ``ChoiceItem.options``' unshuffled list (answer first).
        letter: that it chose, as shown to it; empty where none could be read.
        right: whether that was the answer.
    """

    stage: Literal["with_steps", "without_steps", "confirm"]
    attempt: int
    assistant: str
    order: tuple[int, ...]
    letter: str = ""
    right: bool = False


class ChoiceItem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question with options.

    Attributes:
        id: of the pair (or of any other question of ours).
        question: as asked.
        options: in the order in which they are printed.
        letter: of the right one (A, B, …).
        distractors: the wrong ones, in the order in which they were made.
        attempts: sets of options that were tried, the accepted one included.
        votes: all votes of the accepted attempt, and the confirming ones.
        confirmed: whether the fresh vote upheld it; None when none was taken.
        details: of the calls as text.
    """

    id: str
    question: str
    options: tuple[str, ...]
    letter: str
    distractors: tuple[Distractor, ...] = ()
    attempts: int = 1
    votes: tuple[Vote, ...] = ()
    confirmed: bool | None = None
    details: Mapping[str, str] = {}


def top_steps(clip: ShownClip) -> tuple[ShownStep, ...]:
    """Return the steps of a clip without their substeps."""
    return tuple(step for step in clip.steps if "." not in step.id)


def render_step(step: ShownStep) -> str:
    """Return a step on one line as models read it: id, times in seconds of the clip, text, kind, what is said meanwhile."""
    parts = [step.id, f"{step.start:.1f}-{step.end:.1f} s", step.text]
    if step.category:
        parts.append(f"kind: {step.category}")
    if step.narration:
        parts.append(f"said meanwhile: {step.narration}")
    return " | ".join(parts)
