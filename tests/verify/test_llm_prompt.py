"""The prompt of a model that verifies: what it sees, and how its reply becomes a verdict."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.ask.moment.candidate import Answer, Candidate, Provenance
from proctor.ask.moment.question import moment_question
from proctor.exam.kinds.example import Example, Performed, StepRef
from proctor.llm.fence import FenceSecret
from proctor.llm.prompt import frame_labels
from proctor.llm.structured import Unreadable
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Mistake
from proctor.records import content_hash
from proctor.verify.llm_prompt import (
    OF_MOMENTS,
    Review,
    read_review,
    review_prompt,
    review_schema,
    to_verdict,
    verification_prompts,
)

SECRET = FenceSecret(b"the secret of the verifier's tests")
PROMPTS = verification_prompts()
GRAPH = TaskGraph(
    "tea",
    "Make tea",
    (Step("1", "Boil water"), Step("2", "Add tea"), Step("3", "Wait")),
    (("1", "2"), ("2", "3")),
)
EXAMPLE = Example(
    id="r_2_next",
    clip_id="r_2",
    recording_id="r",
    activity_id="tea",
    activity_name="Make tea",
    type="next",
    end=61.5,
    state="ongoing",
    noisy=True,
    previous=(
        Performed(
            "1", "Boil milk", "Boil water", (Mistake("preparation", "milk, not water"), Mistake("other"))
        ),
    ),
    current=Performed("2", "Add tea", "Add tea"),
    next_steps=(StepRef("3", "HIDDEN TARGET"),),
)
CANDIDATE = Candidate(
    id="c",
    example_id=EXAMPLE.id,
    recording_id="r",
    type="next",
    question="What now?",
    answers=(Answer("Wait."), Answer("Add milk.")),
    provenance=Provenance(generator="g", version="1"),
)
QUESTION = moment_question(CANDIDATE, EXAMPLE)


def reply(*verdicts: str, own=(), **criteria: str) -> str:
    question = {"reason": "why"} | dict.fromkeys(OF_MOMENTS.names, "yes") | criteria
    return json.dumps(
        {
            "question": question,
            "answers": [{"reason": f"r{n}", "verdict": v} for n, v in enumerate(verdicts, 1)],
            "own_answers": list(own),
        }
    )


def test_the_model_sees_what_annotators_see_and_no_target() -> None:
    made = review_prompt(QUESTION, EXAMPLE, GRAPH, PROMPTS, SECRET, frames=frame_labels([1.0], [30]))
    assert made.fences == ("activity", "procedure", "performed steps", "question", "answer 1", "answer 2")
    text = made.messages[1].text
    assert "- Boil milk\n    - [preparation] milk, not water\n    - [other]\n- Add tea\n" in text
    assert '"1" -> "2";' in text
    assert "1 at 1.00 s (frame 30)" in text
    assert "61.50 s" in text
    assert "HIDDEN TARGET" not in text
    for criterion in OF_MOMENTS.names:
        assert f'"{criterion}"' in text
        assert f"- {criterion}:" in text
        assert criterion in OF_MOMENTS.form
    assert text.rindex("<<<END answer 2") < text.index("Reply with one JSON object")


def test_without_frames_and_at_the_very_start() -> None:
    start = Example(
        **{f: getattr(EXAMPLE, f) for f in EXAMPLE.__struct_fields__} | {"previous": (), "current": None}
    )
    made = review_prompt(moment_question(CANDIDATE, start), start, GRAPH, PROMPTS, SECRET)
    assert "No step had been done yet." in made.text
    assert "pictures" not in made.text


def test_a_good_reply_is_read_and_becomes_a_verdict() -> None:
    review = read_review(
        "Sure:\n```json\n"
        + reply("right", "wrong", own=["Let it  draw.", "wait.", "Let it draw."])
        + "\n```",
        2,
    )
    assert isinstance(review, Review)
    verdict = to_verdict(review, QUESTION, annotator="m", at="2026-01-01T00:00:00+00:00")
    assert verdict.question.value == "right"
    assert dict(verdict.question.evidence) == dict.fromkeys(OF_MOMENTS.names, "yes")
    assert [a.value for a in verdict.answers] == ["right", "wrong"]
    assert [a.reason for a in verdict.answers] == ["r1", "r2"]
    assert verdict.own_answers == ("Let it draw.",)
    assert verdict.annotator_kind == "model"
    assert verdict.candidate_hash == content_hash(CANDIDATE)


@pytest.mark.parametrize("criterion", OF_MOMENTS.names)
def test_every_criterion_can_reject_the_question(criterion: str) -> None:
    rejected = to_verdict(
        read_review(reply("right", "right", own=["x"], **{criterion: "no"}), 2),
        QUESTION,
        annotator="m",
        at="t",
    )
    assert (rejected.question.value, rejected.answers, rejected.own_answers) == ("wrong", (), ())
    unsure = to_verdict(
        read_review(reply("right", "unsure", **{criterion: "unsure"}), 2), QUESTION, annotator="m", at="t"
    )
    assert unsure.question.value == "unsure"
    assert len(unsure.answers) == 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("I cannot help with that.", "no_json"),
        (reply("right"), "wrong_shape"),
        (reply("right", "right", "right"), "wrong_shape"),
        (reply("right", "maybe"), "wrong_shape"),
        (reply("right", "right", procedural="certainly"), "wrong_shape"),
        (reply("right", "right")[:-1], "no_json"),
        ('{"question": {"needs_both": "yes"}, "answers": []}', "wrong_shape"),
        ('{"question": true, "answers": [true, true]}', "wrong_shape"),
        (reply("right", "right", own=["x"] * 101), "wrong_shape"),
    ],
)
def test_another_reply_is_unreadable(text: str, reason: str) -> None:
    read = read_review(text, 2)
    assert isinstance(read, Unreadable)
    assert read.reason == reason


def test_a_review_of_another_candidate_is_refused() -> None:
    review = read_review(reply("right"), 1)
    with pytest.raises(ValueError, match="1 reviews for 2 answers"):
        to_verdict(review, QUESTION, annotator="m", at="t")


def test_the_schema_and_a_reply_agree() -> None:
    import jsonschema

    jsonschema.validate(json.loads(reply("right", "unsure")), review_schema(2))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(reply("right", "maybe")), review_schema(2))
    assert list(review_schema(2)["properties"]["answers"]["items"]["properties"]) == ["reason", "verdict"]


@given(
    st.lists(st.sampled_from(["right", "wrong", "unsure"]), max_size=5),
    st.text(max_size=30),
    st.text(max_size=30),
)
def test_verdicts_come_back_in_their_order(verdicts: list[str], before: str, after: str) -> None:
    text = before.replace("{", "").replace("<", "") + "\n" + reply(*verdicts) + "\n" + after.replace("{", "")
    review = read_review(text, len(verdicts))
    assert isinstance(review, Review)
    assert [a.verdict for a in review.answers] == verdicts


@given(st.text(max_size=200), st.integers(0, 3))
def test_no_text_raises(text: str, answers: int) -> None:
    read_review(text, answers)
