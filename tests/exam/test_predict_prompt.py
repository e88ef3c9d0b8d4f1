"""The prompts of predictors: what each kind of system sees, and what it must not see."""

from __future__ import annotations

import pytest

from proctor.errors import UserError
from proctor.exam.kinds.clip_prompt import CHOICE_TEMPLATES
from proctor.exam.predict import make_task
from proctor.exam.predict_prompt import (
    PREDICT_TEMPLATES,
    caption_prompt,
    captions_prompt,
    evaluation_prompts,
    frames_prompt,
    question_prompt,
    recipe_prompt,
    video_prompt,
)
from proctor.llm.fence import FenceSecret

SECRET = FenceSecret(b"the secret of the predictors' tests")
PROMPTS = evaluation_prompts()
TIMES, INDICES = [0.5, 30.0, 59.9], [15, 900, 1797]


@pytest.fixture
def task(make_item, shelf):
    item = make_item(
        "r1", "measurement", "Did I use enough screws?", ["GOLD no, one more"], mistake="MISTAKE used one"
    )
    return make_task(item, shelf)


@pytest.fixture
def made(task):
    return {
        "predict-question": question_prompt(task, PROMPTS, SECRET),
        "predict-recipe": recipe_prompt(task, PROMPTS, SECRET),
        "predict-captions": captions_prompt(
            task, PROMPTS, SECRET, captions=["C1 ", "C2\nx", "C3"], times=TIMES
        ),
        "predict-frames": frames_prompt(task, PROMPTS, SECRET, times=TIMES, numbers=INDICES),
        "predict-video": video_prompt(task, PROMPTS, SECRET),
    }


@pytest.mark.parametrize("name", PREDICT_TEMPLATES)
def test_a_system_sees_what_it_may_see(made, name: str) -> None:
    text = made[name].text
    assert made[name].template == name
    assert "Did I use enough screws?" in text
    assert "in one sentence" in text
    assert ("Mount a shelf" in text) == (name != "predict-question")
    assert ('"1" -> "3";' in text) == (name != "predict-question")
    assert ("60.00 s" in text) == (name in ("predict-captions", "predict-frames", "predict-video"))
    for hidden in ("GOLD", "MISTAKE", "measurement"):
        assert hidden not in text


def test_frames_come_with_number_time_and_index(made) -> None:
    assert "The 3 pictures" in made["predict-frames"].text
    assert (
        "1 at 0.50 s (frame 15); 2 at 30.00 s (frame 900); 3 at 59.90 s (frame 1797)"
        in made["predict-frames"].text
    )


def test_captions_are_fenced_with_their_times(made) -> None:
    token = made["predict-captions"].token
    assert (
        f"<<<BEGIN descriptions {token}>>>\n- 1 at 0.50 s: C1\n- 2 at 30.00 s: C2\\nx\n- 3 at 59.90 s: C3\n<<<END"
        in made["predict-captions"].text
    )


def test_a_caption_is_asked_for_without_any_question(task) -> None:
    with_name, without = (
        caption_prompt(PROMPTS, SECRET, activity="Mount a shelf"),
        caption_prompt(PROMPTS, SECRET),
    )
    assert "Mount a shelf" in with_name.text
    assert without.fences == ()
    assert "question" not in with_name.messages[-1].text
    assert with_name.text == caption_prompt(PROMPTS, SECRET, activity="Mount a shelf").text


def test_two_questions_share_the_caption_and_nothing_else(make_item, shelf) -> None:
    tasks = [make_task(make_item("r1", "next", q, ["x"]), shelf) for q in ("What now?", "What next?")]
    assert len({recipe_prompt(t, PROMPTS, SECRET).token for t in tasks}) == 2


@pytest.mark.parametrize("times", [[], [10.0, 60.0], [61.0]])
def test_no_frame_of_the_future_is_shown(task, times: list[float]) -> None:
    with pytest.raises(UserError):
        frames_prompt(task, PROMPTS, SECRET, times=times)
    with pytest.raises(UserError):
        captions_prompt(task, PROMPTS, SECRET, captions=["c"] * len(times), times=times)


def test_every_file_is_used_by_somebody() -> None:
    judges = {f"judge-{s}{c}" for s in ("binary", "ternary") for c in ("", "-recipe", "-step")}
    sources = {"source-answer", "source-judge", "source-judge-reference", "source-rerank", "style-claim"}
    others = {"caption-frame", "match-options", "order-ask", "order-pair", "step-ask", "step-write"}
    assert set(PROMPTS.names) == {*PREDICT_TEMPLATES, *CHOICE_TEMPLATES} | judges | sources | others
