"""A generated candidate as the question that is verified."""

from __future__ import annotations

from proctor.ask.moment.candidate import Candidate
from proctor.exam.kinds.example import Example
from proctor.exam.kinds.moment_question import MOMENT, question_about
from proctor.exam.question import Open, Proposed, Question, Text
from proctor.records import content_hash

__all__ = ["moment_question"]


def moment_question(candidate: Candidate, example: Example | None = None) -> Question:
    """Return a generated question about its example's moment, with its answers as proposals.

    Without the example it has neither evidence nor facts: enough to count what is said of it, not to show or hash it.
    """
    name, text = candidate.id, candidate.question
    proposals = tuple(
        Proposed(value=Text(text=a.text, kind=a.kind, cites=a.step_ids)) for a in candidate.answers
    )
    provenance = _provenance(candidate)
    if example is not None:
        return question_about(example, name, text, proposals=proposals, provenance=provenance)
    return Question(
        id=name,
        kind=MOMENT,
        text=text,
        form=Open(),
        proposals=proposals,
        facets={"type": candidate.type},
        cluster=candidate.recording_id,
        provenance=provenance,
    )


def _provenance(candidate: Candidate) -> dict[str, str]:
    """Return who made a candidate, with the hash that verdicts on exactly this version of it hang on."""
    made = candidate.provenance
    fields = {name: getattr(made, name) for name in made.__struct_fields__ if name != "details"}
    known = {name: str(value) for name, value in fields.items() if value not in (None, "")}
    return {**known, **made.details, "candidate_hash": content_hash(candidate)}
