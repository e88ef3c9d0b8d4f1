"""The prompts of a model that verifies questions, and how its reply becomes a verdict.

Of a question about a moment (ProMQA) the model decides by the criteria of the human annotators: the question needs both procedure and recording, is procedural,
needs no outside knowledge, and is well formed; each answer is right or wrong by itself. It sees what the annotators'
page shows: the procedure, the steps performed so far with what went wrong in them, and frames where they are attached. It
sees neither the question type nor the sets from which the question was generated. Of any other question it decides by the general
criteria for people (``proctor.exam.card``), from what the question's kind says is known of it (``Kind.lines``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from proctor.exam.kinds.example import Example
from proctor.exam.kinds.moment_question import MOMENT
from proctor.exam.lines import Line
from proctor.exam.question import Choice, Question, proposed_texts, version_of
from proctor.llm.fence import FenceSecret
from proctor.llm.prompt import PromptSet, Rendered
from proctor.llm.structured import Unreadable, read_object
from proctor.procedure.graph import TaskGraph, render_dot
from proctor.verify.verdict import AnswerVerdict, Judgment, Verdict

__all__ = [
    "IN_GENERAL",
    "OF_MOMENTS",
    "Criteria",
    "Review",
    "ReviewedAnswer",
    "ReviewedQuestion",
    "criteria_of",
    "general_prompt",
    "read_review",
    "review_prompt",
    "review_schema",
    "to_verdict",
    "verification_prompts",
]

Answered = Literal["yes", "no", "unsure"]

_REASON_LIMIT: Final = 2_000
_OWN_LIMIT: Final = 10


class ReviewedQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What the model says of the question, criterion by criterion; its subclasses name them."""

    reason: str = ""

    @property
    def said(self) -> dict[str, str]:
        """What is said of each criterion."""
        return {name: getattr(self, name) for name in self.__struct_fields__ if name != "reason"}

    @property
    def value(self) -> Judgment:
        """Right when every criterion holds, wrong when one does not, else unsure."""
        said = self.said.values()
        return "wrong" if "no" in said else "unsure" if "unsure" in said else "right"


class ReviewedMoment(ReviewedQuestion, frozen=True, kw_only=True):
    """The criteria of ProMQA's annotators."""

    needs_both: Answered
    procedural: Answered
    no_outside_knowledge: Answered
    well_formed: Answered


class ReviewedAny(ReviewedQuestion, frozen=True, kw_only=True):
    """The general criteria."""

    needed: Answered
    no_outside_knowledge: Answered
    one_meaning: Answered
    well_formed: Answered


class ReviewedAnswer(msgspec.Struct, frozen=True):
    """What the model says of one answer."""

    verdict: Judgment
    reason: str = ""


class Review(msgspec.Struct, frozen=True):
    """A whole reply."""

    question: ReviewedQuestion
    answers: tuple[ReviewedAnswer, ...]
    own_answers: Annotated[tuple[str, ...], msgspec.Meta(max_length=100)] = ()


class _MomentReview(Review, frozen=True):
    question: ReviewedMoment


class _AnyReview(Review, frozen=True):
    question: ReviewedAny


@dataclass(frozen=True, slots=True)
class Criteria:
    """By what questions are reviewed.

    Attributes:
        template: name of the prompt.
        names: of the criteria; all of them have to hold.
        reply: what a reply is read as.
    """

    template: str
    names: tuple[str, ...]
    reply: type[Review]

    @property
    def form(self) -> str:
        """The wanted form in words, for the repair round."""
        names = ", ".join(f'"{name}"' for name in ("reason", *self.names))
        return (
            f'One JSON object with the keys "question" (an object with {names}; the last four "yes", "no" or "unsure"), "answers" '
            '(a list with one object an answer, with "reason" and "verdict": "right", "wrong" or "unsure") and "own_answers" '
            "(a list of texts)."
        )


OF_MOMENTS: Final = Criteria(
    "review", ("needs_both", "procedural", "no_outside_knowledge", "well_formed"), _MomentReview
)
IN_GENERAL: Final = Criteria(
    "review-general", ("needed", "no_outside_knowledge", "one_meaning", "well_formed"), _AnyReview
)


def criteria_of(kind: str) -> Criteria:
    """Return by what questions of a kind are reviewed."""
    return OF_MOMENTS if kind == MOMENT else IN_GENERAL


def verification_prompts(own: Path | None = None) -> PromptSet:
    """Return the templates of verification, the user's own in place of ours where there are any."""
    return PromptSet("verify", Path(__file__).parent / "prompts", own)


def review_prompt(
    question: Question,
    example: Example,
    graph: TaskGraph,
    prompts: PromptSet,
    secret: FenceSecret,
    *,
    frames: Sequence[str] | None = None,
) -> Rendered:
    """Build the prompt that asks for a review of one question about a moment.

    Args:
        question: with its answers.
        example: the moment that they are about, in the words that models are shown.
        graph: of the activity, as models are shown it.
        prompts: the templates.
        secret: of the workspace.
        frames: labels of frames that will be attached (``proctor.llm.prompt.frame_labels``).
    """
    steps: list[Any] = []
    for step in example.performed:
        steps.append(step.text)
        if step.mistakes:
            steps.append([f"[{m.kind}] {m.text}" if m.text else f"[{m.kind}]" for m in step.mistakes])
    return prompts[OF_MOMENTS.template].render(
        secret,
        activity=example.activity_name or graph.name or graph.id,
        dot=render_dot(graph),
        steps=steps or None,
        question=question.text,
        answers=list(proposed_texts(question)),
        frames=tuple(frames) if frames else None,
        end=f"{example.end:.2f}",
    )


def general_prompt(
    question: Question,
    lines: Sequence[Line],
    topic: str,
    prompts: PromptSet,
    secret: FenceSecret,
    *,
    frames: Sequence[str] | None = None,
) -> Rendered:
    """Build the prompt that asks for a review of a question of any kind.

    Args:
        question: with what is proposed.
        lines: that are known of it; their pictures will be attached behind the frames.
        topic: goal or activity; empty where there is none.
        prompts: the templates.
        secret: of the workspace.
        frames: labels of frames that will be attached.
    """
    texts = [f"{line.id}: {line.text}" for line in lines]
    options = isinstance(question.form, Choice) or any(p.claim == "wrong" for p in question.proposals)
    proposals = list(proposed_texts(question))
    if options:
        claims = [proposal.claim for proposal in question.proposals]
        proposals = [f"claimed to be {c}: {text}" for c, text in zip(claims, proposals, strict=True)]
    return prompts[IN_GENERAL.template].render(
        secret,
        topic=topic or None,
        lines=texts or None,
        question=question.text,
        proposals=proposals or None,
        frames=tuple(frames) if frames else None,
        pictures=sum(line.picture is not None for line in lines) or None,
        blocks=any("\n" in text for text in texts),
        options=options,
    )


def review_schema(answers: int, criteria: Criteria = OF_MOMENTS) -> Mapping[str, Any]:
    """Return the JSON Schema of a reply, for providers with structured output; reasons come before verdicts.

    Args:
        answers: how many the candidate has; said in words only, since not all providers take lengths of lists.
        criteria: by which the question is reviewed.
    """
    choice = {"type": "string", "enum": ["yes", "no", "unsure"]}
    question = {"reason": {"type": "string"}} | dict.fromkeys(criteria.names, choice)
    answer = {
        "reason": {"type": "string"},
        "verdict": {"type": "string", "enum": ["right", "wrong", "unsure"]},
    }
    return _object(
        {
            "question": _object(question),
            "answers": {
                "type": "array",
                "items": _object(answer),
                "description": f"one object for each of the {answers} answers, in their order",
            },
            "own_answers": {"type": "array", "items": {"type": "string"}},
        }
    )


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def read_review(reply: str, answers: int, criteria: Criteria = OF_MOMENTS) -> Review | Unreadable:
    """Read a reply; never raises, whatever the text.

    Args:
        reply: what the model wrote.
        answers: how many answers it had to decide on; a reply with another number says nothing certain of any of them.
        criteria: by which the question is reviewed.
    """
    review = read_object(reply, criteria.reply, required=("question", "answers"))
    if isinstance(review, Review) and len(review.answers) != answers:
        return Unreadable("wrong_shape", f"{len(review.answers)} answers were reviewed, there are {answers}")
    return review


def to_verdict(review: Review, asked: Question, *, annotator: str, at: str) -> Verdict:
    """Turn a review into the record that people's verdicts have as well.

    Args:
        review: with as many answers as the question has.
        asked: what it is about.
        annotator: name of the model in its role.
        at: ISO 8601 time with zone.

    Raises:
        ValueError: if the numbers of answers differ.
    """
    if len(review.answers) != len(asked.proposals):
        raise ValueError(f"{len(review.answers)} reviews for {len(asked.proposals)} answers")
    question = review.question
    accepted = question.value != "wrong"
    known = {text.strip().casefold() for text in proposed_texts(asked)}
    own = dict.fromkeys(" ".join(text.split()) for text in review.own_answers)
    if isinstance(asked.form, Choice):
        own = {}
    return Verdict(
        candidate_id=asked.id,
        candidate_hash=version_of(asked),
        annotator=annotator,
        annotator_kind="model",
        at=at,
        question=AnswerVerdict(
            question.value, reason=question.reason[:_REASON_LIMIT], evidence=question.said
        ),
        answers=tuple(AnswerVerdict(a.verdict, reason=a.reason[:_REASON_LIMIT]) for a in review.answers)
        if accepted
        else (),
        own_answers=tuple(t for t in own if t and t.casefold() not in known)[:_OWN_LIMIT] if accepted else (),
    )
