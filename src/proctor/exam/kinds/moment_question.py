"""A question about a moment of a recording (ProMQA), as generation proposes it or as it was verified.

It stands apart from the kind (``proctor.exam.kinds.moment``) so that the store of verdicts need not load how questions are asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from proctor.exam.item import Item as Verified
from proctor.exam.question import Footage, Gold, Item, Open, Procedure, Proposed, Question, Text, seen_hash
from proctor.examples.example import Example
from proctor.generate.candidate import Answer, Candidate, Provenance

__all__ = ["MOMENT", "moment_item", "moment_question", "moment_seen"]

MOMENT: Final = "moment"
"""Name of the kind."""


def moment_question(candidate: Candidate, example: Example | None = None) -> Question:
    """Return a generated question about its example's moment, with its answers as proposals.

    Without the example it has neither evidence nor facts: enough to count what is said of it, not to show or hash it.
    """
    name, text, provenance = candidate.id, candidate.question, _provenance(candidate.provenance)
    if example is not None:
        return _question(name, text, example, candidate.answers, provenance)
    return Question(
        id=name,
        kind=MOMENT,
        text=text,
        form=Open(),
        proposals=_proposals(candidate.answers),
        facets={"type": candidate.type},
        cluster=candidate.recording_id,
        provenance=provenance,
    )


def moment_seen(candidate: Candidate, example: Example) -> str:
    """Return the hash of what people see of a question: also the steps performed so far, listed and marked in the task graph."""
    return seen_hash(moment_question(candidate, example), example.previous, example.current)


def moment_item(item: Verified) -> Item:
    """Return a verified question as an item of an exam."""
    golds = tuple(
        Gold(
            value=Text(text=gold.text, kind=gold.kind, cites=gold.step_ids),
            written_by=gold.source,
            approved_by=gold.approved_by,
        )
        for gold in item.golds
    )
    return Item(
        question=_question(item.id, item.question, item.example),
        golds=golds,
        approved_by=item.question_approved_by,
        seen=item.candidate_hash,
    )


def _question(
    name: str,
    text: str,
    example: Example,
    answers: Sequence[Answer] = (),
    provenance: Mapping[str, str] | None = None,
) -> Question:
    return Question(
        id=name,
        kind=MOMENT,
        text=text,
        form=Open(),
        evidence=(
            Footage(recording=example.recording_id, end=example.end, video=example.video or ""),
            Procedure(id=example.activity_id, title=example.activity_name),
        ),
        proposals=_proposals(answers),
        facts=msgspec.to_builtins(example),
        facets={"type": example.type},
        cluster=example.recording_id,
        place=example.end,
        provenance=provenance or {},
    )


def _proposals(answers: Sequence[Answer]) -> tuple[Proposed, ...]:
    return tuple(Proposed(value=Text(text=a.text, kind=a.kind, cites=a.step_ids)) for a in answers)


def _provenance(made: Provenance) -> dict[str, str]:
    fields = {name: getattr(made, name) for name in made.__struct_fields__ if name != "details"}
    return {name: str(value) for name, value in fields.items() if value not in (None, "")} | dict(
        made.details
    )
