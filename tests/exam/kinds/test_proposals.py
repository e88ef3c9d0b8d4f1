"""Generated questions of every kind with what they propose, and the hash of what people see of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.exam.clip_set import clip, pair

from proctor.ask.clip.record import ChoiceItem, Distractor, choice_question
from proctor.ask.moment.candidate import Answer, Candidate, Provenance
from proctor.ask.moment.question import moment_question
from proctor.exam.kinds.documents_question import DocumentFacts, Hop, document_facts, document_question
from proctor.exam.kinds.example import Example, Performed, StepRef
from proctor.exam.kinds.moment_question import moment_seen
from proctor.exam.question import (
    Footage,
    Open,
    Procedure,
    Proposed,
    Source,
    Text,
    seen_hash,
    version_of,
)
from proctor.procedure.recording import Mistake
from proctor.records import content_hash

WHISKED = Performed("1", "Whisk for a minute.", "Whisk.", (Mistake("timing", "too short"),), 1.0, 2.0)
EXAMPLE = Example(
    id="e", clip_id="r_1", recording_id="r", activity_id="tea", activity_name="Tea", type="next", end=9,
    state="ongoing", noisy=False, video="r.mp4", current=WHISKED,
)  # fmt: skip
CANDIDATE = Candidate(
    id="c", example_id="e", recording_id="r", type="next", question="What now?",
    answers=(Answer("Pour.", step_ids=("3",)), Answer("Wait.", "suggestion")),
    provenance=Provenance(generator="rules", version="1", seed=4, details={"form": "plain"}),
)  # fmt: skip
CHOICE = ChoiceItem(
    id="p0", question="What is done?", options=("Boil", "Whisk", "Peel"), letter="B",
    distractors=(Distractor(text="Peel", kind="order", origin="s2"), Distractor(text="Boil")),
)  # fmt: skip
FACTS = DocumentFacts(hops=(Hop(question="Which?", answer="Como", sources=("a",)),))
DOCUMENT = document_question(
    "q", "How deep?", "9 m", ("b", "a"), style="numeric", modalities=(1, 1, 0),
    content={"a": "1a", "b": "1b"}, facts=FACTS, provenance={"generator": "m"},
)  # fmt: skip


def test_a_moment_proposes_its_answers() -> None:
    question = moment_question(CANDIDATE, EXAMPLE)
    assert question.proposals == (
        Proposed(value=Text(text="Pour.", cites=("3",))),
        Proposed(value=Text(text="Wait.", kind="suggestion")),
    )
    assert question.evidence == (
        Footage(recording="r", end=9.0, video="r.mp4"),
        Procedure(id="tea", title="Tea"),
    )
    assert (question.cluster, question.place, question.form) == ("r", 9.0, Open())
    assert msgspec.convert(question.facts, Example) == EXAMPLE
    made = {"generator": "rules", "version": "1", "seed": "4", "form": "plain"}
    assert question.provenance == {**made, "candidate_hash": content_hash(CANDIDATE)}
    assert version_of(question) == content_hash(CANDIDATE)


def test_a_documents_question_proposes_its_answer_from_the_sources_as_they_were() -> None:
    question = DOCUMENT
    assert question.evidence == (Source(id="b", hash="1b"), Source(id="a", hash="1a"))
    assert question.proposals == (Proposed(value=Text(text="9 m", cites=("b", "a"))),)
    assert document_facts(question) == FACTS
    assert question.provenance == {"generator": "m", "retriever": ""}


SEEN: dict[str, Callable[[], str]] = {
    "moment": lambda: moment_seen(moment_question(CANDIDATE, EXAMPLE)),
    "clip": lambda: seen_hash(choice_question(CHOICE, pair(), {"v0": clip("v0")})),
    "documents": lambda: seen_hash(DOCUMENT),
}
FROZEN = {"moment": "f620f2a265b686c7", "clip": "95845bc09d43d658", "documents": "a5802b46d4663e47"}
"""People's verdicts in users' stores hang on these: a change here voids them."""


@pytest.mark.parametrize("kind", SEEN)
def test_what_people_saw_has_one_hash_for_good(kind: str) -> None:
    assert SEEN[kind]() == FROZEN[kind]


@pytest.mark.parametrize(
    ("same", "changes"),
    [
        (
            True,
            {"provenance": {"generator": "other"}, "facets": {}, "facts": {}, "cluster": "x", "place": 1.0},
        ),
        (False, {"text": "What else?"}),
        (False, {"proposals": ()}),
        (False, {"form": Open(need="all")}),
        (False, {"evidence": (Footage(recording="r", end=9.5, video="r.mp4"),)}),
    ],
)
def test_the_hash_changes_with_what_is_seen_alone(same: bool, changes: dict[str, Any]) -> None:
    question = moment_question(CANDIDATE, EXAMPLE)
    assert (seen_hash(msgspec.structs.replace(question, **changes)) == seen_hash(question)) is same
    later = msgspec.structs.replace(EXAMPLE, end=9.0)
    assert seen_hash(moment_question(CANDIDATE, later)) == seen_hash(question)  # 9 and 9.0 are one moment


def test_people_see_the_steps_performed_and_not_what_decides_the_answer() -> None:
    right = msgspec.structs.replace(WHISKED, mistakes=())
    cases = [
        EXAMPLE,
        msgspec.structs.replace(EXAMPLE, current=right),
        msgspec.structs.replace(EXAMPLE, current=None, previous=(right,)),
        msgspec.structs.replace(EXAMPLE, current=None),
    ]
    assert len({moment_seen(moment_question(CANDIDATE, example)) for example in cases}) == 4
    hidden = msgspec.structs.replace(EXAMPLE, all_next=(StepRef("2", "Pour."),), recording_hash="other")
    assert moment_seen(moment_question(CANDIDATE, hidden)) == moment_seen(moment_question(CANDIDATE, EXAMPLE))
