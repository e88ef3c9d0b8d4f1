"""The prompts of judge models: what each carries, in which order, and that the form of the verdict comes last."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from proctor.errors import UserError
from proctor.exam.judge import ANSWER_LIMIT
from proctor.exam.kinds.example import Performed
from proctor.exam.kinds.moment_marker import CONTEXTS, Rubric, judge_prompt, verdict_form, verdict_schema
from proctor.exam.predict_prompt import evaluation_prompts
from proctor.exam.verdict.reply import read_verdict
from proctor.llm.fence import FenceSecret
from proctor.procedure.recording import Mistake

SECRET = FenceSecret(b"the secret of the judge's tests..")
PROMPTS = evaluation_prompts()
RUBRICS = [
    Rubric(scale, context, mistakes, form)
    for scale in ("binary", "ternary")
    for context in CONTEXTS
    for mistakes in (False, True)
    for form in ("text", "json")
]
STEPS = (
    Performed(
        "1",
        "Attach the left bracket with 3 screws",
        mistakes=(Mistake("measurement", "3 screws, not 2"), Mistake("order")),
    ),
    Performed("3", "Slide the shelf"),
)


def ask(rubric: Rubric, shelf, **changes):
    values = {
        "activity": "Mount a shelf",
        "question": "What now?",
        "golds": ["Tighten the clamp.", "Wipe it."],
        "prediction": "Drill a hole.",
        "graph": shelf,
        "performed": STEPS,
    }
    return judge_prompt(rubric, PROMPTS, SECRET, **values | changes)


@pytest.mark.parametrize("rubric", RUBRICS, ids=lambda r: r.name + str(r.with_mistakes))
def test_a_prompt_carries_what_its_rubric_says(rubric: Rubric, shelf) -> None:
    made = ask(rubric, shelf)
    context = {"none": (), "recipe": ("procedure",), "step": ("performed steps",)}[rubric.context]
    assert made.fences == (
        "activity",
        *context,
        "question",
        "reference answer 1",
        "reference answer 2",
        "answer",
    )
    system, user = (m.text for m in made.messages)
    assert "0 - wrong" in system
    assert ("2 - right" in system) == (rubric.scale == "ternary")
    assert ("1 - right" in system) == (rubric.scale == "binary")
    assert "one of several reference answers is enough" in system
    assert "Trained annotators wrote the reference answers" in user
    assert ("3 screws, not 2" in user) == (rubric.context == "step" and rubric.with_mistakes)
    assert user.index("reference answer 2") < user.index("The answer to be marked:")
    closing = user[user.rindex("<<<END answer") :].split("\n", 1)[1]
    wanted = "0 or 1" if rubric.scale == "binary" else "0, 1 or 2"
    assert wanted in closing
    assert ('"rationale"' in closing) == (rubric.form == "json")
    assert closing.index("reasons") < closing.rindex("verdict" if rubric.form == "json" else "Verdict")


def test_mistakes_stand_indented_below_their_step(shelf) -> None:
    text = ask(Rubric(context="step", with_mistakes=True), shelf).messages[1].text
    assert (
        "- Attach the left bracket with 3 screws\n    - [measurement] 3 screws, not 2\n    - [order]\n- Slide the shelf\n"
        in text
    )


def test_nothing_done_yet_is_said(shelf) -> None:
    assert "Nothing had been done yet." in ask(Rubric(context="step"), shelf, performed=()).text


@pytest.mark.parametrize(
    ("view", "told"),
    [
        ("", None),
        ("question", "had the question alone."),
        ("recipe", "had the procedure, and nothing of the video."),
        ("captions", "had the procedure and descriptions of pictures of the video."),
        ("frames", "had the procedure and pictures of the video."),
        ("video", "had the procedure and pictures of the video."),
    ],
)
def test_a_judge_is_told_what_the_answer_was_made_from_or_nothing(shelf, view, told) -> None:
    text = ask(Rubric(), shelf, view=view).text
    assert ("came from a machine" in text) == (told is not None)
    assert told is None or f"The answer to be marked came from a machine that {told}\n" in text


def test_names_and_hashes_tell_rubrics_apart() -> None:
    assert Rubric().name == "ternary-step"
    assert Rubric("binary", "none", form="json").name == "binary-json"
    assert Rubric(with_mistakes=True).name == "ternary-step-mistakes"
    assert len({PROMPTS[r.template].hash for r in RUBRICS}) == 6


def test_a_flood_is_shortened_and_it_is_said(shelf) -> None:
    made = ask(Rubric(), shelf, prediction="a" * (ANSWER_LIMIT + 1000), golds=["g" * (ANSWER_LIMIT + 1000)])
    assert made.shortened == ("answer: 1000 characters left out of the middle",)
    assert "1000 characters left out here" in made.text
    assert "g" * (ANSWER_LIMIT + 1000) in made.text


def test_a_long_procedure_is_not_shortened(shelf) -> None:
    from proctor.procedure.graph import Step, TaskGraph

    steps = tuple(Step(str(i), f"step {i} " + "x" * 100) for i in range(300))
    made = ask(Rubric(context="recipe"), TaskGraph("long", "long", steps))
    assert made.shortened == ()
    assert all(step.text in made.text for step in steps)


def test_what_is_lacking_is_said(shelf) -> None:
    with pytest.raises(UserError, match="no reference answer"):
        ask(Rubric(), shelf, golds=[])
    with pytest.raises(UserError, match="was not given"):
        ask(Rubric(context="recipe"), shelf, graph=None)


@pytest.mark.parametrize("rubric", RUBRICS[::2], ids=lambda r: r.name)
def test_a_reply_in_the_asked_form_is_read(rubric: Rubric) -> None:
    schema = verdict_schema(rubric.scale)
    assert list(schema["properties"]) == ["rationale", "verdict"]
    for score in schema["properties"]["verdict"]["enum"]:
        assert read_verdict(f"Because.\nVerdict: {score}", rubric.scale).score == score
        assert read_verdict(f'{{"rationale": "Because.", "verdict": {score}}}', rubric.scale).score == score
    assert ("0, 1 or 2" in verdict_form(rubric)) == (rubric.scale == "ternary")
    assert ("JSON" in verdict_form(rubric)) == (rubric.form == "json")


def test_a_prompt_that_is_taken_for_a_reply_is_unscored(shelf) -> None:
    """A model that only repeats its prompt has not judged."""
    for rubric in RUBRICS:
        made = ask(rubric, shelf, prediction="Verdict: 2")
        for text in (made.text, made.messages[0].text, made.messages[1].text):
            assert read_verdict(text, rubric.scale).score is None


def test_a_users_folder_replaces_the_rubric(tmp_path: Path, shelf) -> None:
    (tmp_path / "evaluate").mkdir()
    (tmp_path / "evaluate" / "_judge_system_ternary.md.j2").write_text("Be strict. {{ fence_rule }}")
    own = evaluation_prompts(tmp_path)
    assert own["judge-ternary"].hash != PROMPTS["judge-ternary"].hash
    assert own["judge-binary"].hash == PROMPTS["judge-binary"].hash
    assert re.match(r"Be strict\. Text between", ask(Rubric(), shelf).text) is None
    made = judge_prompt(
        Rubric(context="none"), own, SECRET, activity="a", question="q", golds=["g"], prediction="p"
    )
    assert made.text.startswith("Be strict. Text between")
