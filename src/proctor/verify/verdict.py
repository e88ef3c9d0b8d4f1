"""The record that verification produces: what one annotator says of one candidate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, Protocol

import msgspec

from proctor.exam.question import Question
from proctor.procedure.graph import TaskGraph
from proctor.tables import Shown

__all__ = ["DEFAULT_THRESHOLD", "Annotator", "AnnotatorKind", "AnswerVerdict", "Judgment", "Verdict"]

Judgment = Literal["right", "wrong", "unsure"]
AnnotatorKind = Literal["human", "model", "oracle", "filter"]
DEFAULT_THRESHOLD: Final = 0.8
"""Confidence below which the oracle says "unsure"."""
FILTER_PREFIX: Final = "filter:"
"""How the names of filters begin among annotators."""


class AnswerVerdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is said of one answer (or of the question): the judgement, how sure, and why.

    Attributes:
        value: right, wrong or unsure ("cannot tell").
        confidence: in [0, 1] where the annotator states one.
        reason: one sentence for people.
        evidence: machine-readable facts behind the reason (recognised steps, deciding graph fact, ...).
    """

    value: Judgment
    confidence: float | None = None
    reason: str = ""
    evidence: Mapping[str, str] = {}


class Verdict(Shown, msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One annotator's complete say on one candidate: the question, each answer, own answers.

    Attributes:
        candidate_id: what it is about.
        candidate_hash: content hash of the candidate that was seen, so that a later edit is noticed.
        annotator: name; unique among annotators.
        annotator_kind: human, model, oracle or filter.
        role: ``annotator`` works blind and independently, ``adjudicator`` settles conflicts.
        at: ISO 8601 time with zone.
        question: is the question acceptable?
        answers: parallel to ``Question.proposals``; empty when the question is rejected. An adjudicator's go on
            with the answers that the annotators wrote, in the case's source order (``verify.adjudicate``).
        own_answers: answers that the annotator wrote.
        case_hash: content hash of the case that an adjudicator saw, so that a later verdict is noticed.
    """

    candidate_id: str
    annotator: str
    annotator_kind: AnnotatorKind
    at: str
    question: AnswerVerdict
    answers: tuple[AnswerVerdict, ...] = ()
    own_answers: tuple[str, ...] = ()
    role: Literal["annotator", "adjudicator"] = "annotator"
    candidate_hash: str = ""
    note: str = ""
    case_hash: str = ""

    @property
    def voice(self) -> AnnotatorKind:
        """Whose word it is when votes are counted: stores before revision 4 have filters as models."""
        return "filter" if self.annotator.startswith(FILTER_PREFIX) else self.annotator_kind


class Annotator(Protocol):
    """Anyone who gives verdicts without a page: the task-graph oracle, later an LLM verifier."""

    @property
    def name(self) -> str:
        """Name under which the verdicts are stored."""
        ...

    @property
    def kind(self) -> AnnotatorKind:
        """Human, model or oracle."""
        ...

    def judge(self, question: Question, graph: TaskGraph) -> Verdict:
        """Give the verdict on one question about a moment."""
        ...
