"""The records of questions about clips: what a model is told of a clip, a pair, what a filter says of it, a question with options.

InstructionBench's supplement; its decision rules are partly ours (docs/instructionbench.md). ``pair_question`` and ``choice_question``
make of them the record of an exam.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, get_args

import msgspec

from proctor.errors import UserError
from proctor.exam.kinds.clip_prompt import ClipFacts
from proctor.exam.question import Choice, Footage, Open, Pick, Proposed, Question, Text
from proctor.metrics.choice.letters import LETTERS

__all__ = [
    "CATEGORIES",
    "FILTERS",
    "LEVELS",
    "RULE",
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
    "choice_question",
    "pair_question",
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
RULE: Final = "rule"
"""Judge of a filter's verdict for which no model was asked."""

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


def pair_question(pair: ClipPair, clips: Mapping[str, ShownClip]) -> Question:
    """Return an open-ended question with its answer as the proposal.

    Args:
        pair: as it was generated.
        clips: by id; without any nothing can be shown of it.

    Raises:
        UserError: if its clip is not there although others are.
    """
    made = Question(
        id=pair.id,
        kind="clip",
        text=pair.question,
        form=Open(),
        proposals=(Proposed(value=Text(text=pair.answer)),),
        facts=msgspec.to_builtins(ClipFacts()),
        cluster=f"question/{pair.id}",
    )
    return _about(made, pair, clips)


def choice_question(item: ChoiceItem, pair: ClipPair | None, clips: Mapping[str, ShownClip]) -> Question:
    """Return a question with options, ``<its id>.choice``: one of them claims to be right, the others to be wrong.

    Args:
        item: the question with its options.
        pair: that options were made for; None for a question of another benchmark, which stands alone.
        clips: by id.

    Raises:
        UserError: if the options are fewer than two, more than letters, or equal, the letter is none of them, or the pair's clip
            is not there although others are.
    """
    if not 2 <= len(item.options) <= len(LETTERS):
        raise UserError(
            f"the question has {len(item.options)} options.", where=item.id, hint=f"give 2 to {len(LETTERS)}"
        )
    if len(set(item.options)) < len(item.options):
        raise UserError(
            "two options are the same.", where=item.id, hint="make the options again (proctor choices)"
        )
    valid = LETTERS[: len(item.options)]
    if len(item.letter) != 1 or item.letter not in valid:
        raise UserError(
            f"the letter of the right option is {item.letter[:20]!r}.",
            where=item.id,
            hint=f"it has to be one of {valid[0]} to {valid[-1]}",
        )
    origins = {d.text: f"{d.kind}: {d.origin}" if d.origin else d.kind for d in item.distractors}
    made = Question(
        id=f"{item.id}.choice",
        parent=item.id,
        kind="clip",
        text=item.question,
        form=Choice(options=item.options),
        proposals=tuple(
            Proposed(
                value=Pick(option=n),
                claim="right" if letter == item.letter else "wrong",
                origin=origins.get(option, ""),
            )
            for n, (letter, option) in enumerate(zip(valid, item.options, strict=True))
        ),
        facts=msgspec.to_builtins(ClipFacts()),
        cluster=f"question/{item.id}",
        provenance=item.details,
    )
    return made if pair is None else _about(made, pair, clips)


def _about(question: Question, pair: ClipPair, clips: Mapping[str, ShownClip]) -> Question:
    """Return the question with what its pair and clip say of it."""
    facets = {"dataset": pair.dataset, "level": pair.level, "category": pair.category}
    made = msgspec.structs.replace(
        question,
        facets={name: value for name, value in {**facets, "position": pair.position}.items() if value},
        cluster=f"{pair.dataset}/{pair.video_id}" if pair.video_id else question.cluster,
        provenance={**pair.details, **question.provenance},
    )
    clip = clips.get(pair.clip_id)
    if clip is None and clips:
        raise UserError(
            f"there is no clip '{pair.clip_id[:80]}'.",
            where=pair.id,
            hint="are the clips those from which the pairs were made?",
        )
    if clip is None:
        return made
    footage = Footage(
        recording=clip.video_id, start=clip.start, end=clip.end, video=clip.video or "", dataset=clip.dataset
    )
    facts = ClipFacts(steps=tuple(render_step(step) for step in clip.steps), goal=clip.task)
    return msgspec.structs.replace(made, evidence=(footage,), facts=msgspec.to_builtins(facts))
