"""What the tests of verification share: small candidates and verdicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from proctor.ask.moment.candidate import Answer, Candidate, Provenance
from proctor.ask.moment.question import moment_question
from proctor.exam.question import Question
from proctor.verify.verdict import AnswerVerdict, Verdict

MakeCandidate = Callable[..., Candidate]
MakeVerdict = Callable[..., Verdict]


@pytest.fixture
def make_candidate() -> MakeCandidate:
    """``make_candidate("c1", "yes", "no")``: id, then the answers."""

    def make(
        name: str, *answers: str, type_: str = "missing", question: str = "Did I forget anything?"
    ) -> Candidate:
        return Candidate(
            id=name,
            example_id=f"example of {name}",
            recording_id="r1",
            type=type_,
            question=question,
            answers=tuple(Answer(text) for text in answers),
            provenance=Provenance(generator="hand", version="1"),
        )

    return make


@pytest.fixture
def make_question(make_candidate: MakeCandidate) -> Callable[..., Question]:
    """As ``make_candidate``, as a question."""
    return lambda *given, **more: moment_question(make_candidate(*given, **more))


@pytest.fixture
def make_verdict() -> MakeVerdict:
    """``make_verdict("c1", "ana", "+ +-?", "own")``: question, then one sign for each answer, then own answers."""
    signs: dict[str, Any] = {"+": "right", "-": "wrong", "?": "unsure"}

    def make(
        candidate: str, annotator: str, judged: str, *own: str, confidence: float | None = None, **more: Any
    ) -> Verdict:
        question, _, answers = judged.partition(" ")
        more.setdefault("annotator_kind", "human")
        more.setdefault("at", "2026-01-01T00:00:00Z")
        return Verdict(
            candidate_id=candidate,
            annotator=annotator,
            question=AnswerVerdict(signs[question], confidence),
            answers=tuple(AnswerVerdict(signs[sign], confidence) for sign in answers),
            own_answers=own,
            **more,
        )

    return make
