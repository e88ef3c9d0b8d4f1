"""A question about a moment of a recording (ProMQA).

It stands apart from the kind (``proctor.exam.kinds.moment``) so that the store of verdicts need not load how questions are asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from proctor.exam.kinds.example import Example
from proctor.exam.question import Footage, Open, Procedure, Proposed, Question, seen_hash

__all__ = [
    "FLOOR_NAMES",
    "MOMENT",
    "moment_candidate",
    "moment_example",
    "moment_seen",
    "question_about",
]

MOMENT: Final = "moment"
"""Name of the kind."""

FLOOR_NAMES: Final = ("constant", "recipe-text", "random-step", "annotations")
"""Systems that ask no model (``proctor.exam.floors``), the bound last."""


def moment_seen(question: Question) -> str:
    """Return the hash of what people see of a question: also the steps performed so far, listed and marked in the task graph."""
    example = moment_example(question)
    return seen_hash(question, example.previous, example.current)


def question_about(
    example: Example,
    name: str,
    text: str,
    *,
    proposals: tuple[Proposed, ...] = (),
    provenance: Mapping[str, str] | None = None,
) -> Question:
    """Return a question about an example's moment.

    Args:
        example: the moment, with the facts that decide the answer.
        name: the question's id.
        text: as asked.
        proposals: answers that are to be verified.
        provenance: who made it; of a verified question ``candidate`` (its id) and ``version`` (the candidate's exact hash).
    """
    return Question(
        id=name,
        kind=MOMENT,
        text=text,
        form=Open(),
        evidence=(
            Footage(recording=example.recording_id, end=example.end, video=example.video or ""),
            Procedure(id=example.activity_id, title=example.activity_name),
        ),
        proposals=proposals,
        facts=msgspec.json.decode(msgspec.json.encode(example)),  # as it will be read
        facets={"type": example.type},
        cluster=example.recording_id,
        place=example.end,
        provenance=provenance or {},
    )


def moment_example(question: Question) -> Example:
    """Return the facts of a question, typed.

    Raises:
        msgspec.ValidationError: if they are none of an example.
    """
    return msgspec.convert(question.facts, Example)


def moment_candidate(question: Question) -> str:
    """Return the id of the candidate that a verified question was made of."""
    return question.provenance.get("candidate", question.id)
