"""A model that answers questions about clips, with the port replaced by a function."""

import re
import sys
from dataclasses import replace
from fractions import Fraction

import msgspec
import pytest
from tests.exam.clip_set import Port, clip_items, question
from tests.media.make_video import Recipe, make_video

from proctor.errors import MissingExtraError, UserError
from proctor.exam.clip_view import ClipView, frame_indices
from proctor.exam.kinds.clip import ANSWER, CHOICE, KIND, ClipAsking
from proctor.exam.library import Library, Prompts
from proctor.exam.predict_prompt import evaluation_prompts
from proctor.exam.prediction import Prediction
from proctor.exam.predictor import ModelPredictor
from proctor.llm.fence import FenceSecret
from proctor.llm.media import MediaStore
from proctor.llm.outcome import Failure, Refusal, Reply, Truncated, Usage
from proctor.llm.replying import Replying
from proctor.stages.videos import Videos

MODEL = "compat/toy@http://127.0.0.1:1/v1"
PROMPTS = evaluation_prompts()


def predictor(
    view: str = "question",
    videos=None,
    replying=None,
    model=MODEL,
    shrink=True,
    prompts=PROMPTS,
    **asking,
):
    return ModelPredictor(
        kind=KIND,
        view=ClipAsking(view=ClipView.parse(view), **asking),
        models={"answer": model},
        library=Library(media=MediaStore(), videos=videos),
        prompts=Prompts(prompts, FenceSecret(b"0" * 32)),
        replying=replying or Replying(),
        shrink=shrink,
    )


def items(*numbers: int):
    return clip_items(question(n) for n in numbers)


def says(text: str) -> Port:
    return Port(lambda request: Reply(text=text, usage=Usage(input=9, output=1), model="toy-1"))


def letter_of(request, option: str) -> str:
    """The letter under which a request shows an option: somebody who knows."""
    return re.search(rf"\(([A-Z])\) {re.escape(option)}", request.messages[-1].text)[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("av")
    where = tmp_path_factory.mktemp("videos")
    for name in ("v0", "v1"):
        make_video(where / f"{name}.mp4", Recipe(times=range(104), time_base=Fraction(1, 10)))
    return where


def test_a_reply_becomes_an_answer_with_its_letter() -> None:
    (made,) = predictor().predict(items(2), says(" The answer is C. "))
    assert (made.answer, made.failure) == ("The answer is C.", None)
    wanted = {
        "letter": "C", "shown_letter": "C", "rule": "answer", "parser": "letters-1", "order": "ABCDE", "view": "question",
        "model": MODEL, "calls": "1", "tokens_in": "9",
    }  # fmt: skip
    assert wanted.items() <= made.details.items()
    assert made.details["template"].startswith("choice-text@")
    assert "style" not in made.details
    assert "rotation" not in made.details


def test_frames_are_sent_and_recorded(folder) -> None:
    port = says("B")
    who = predictor("frames:8", videos=Videos(folder), style="b")
    made = who.predict(items(1, 2, 5), port)
    assert [len(request.media) for request in port.asked] == [8, 8, 8]
    assert [round(t * 10) for t in made[0].frame_times] == list(frame_indices(8, 104))
    assert {
        "style": "b",
        "video": "v0.mp4",
        "height": "48",
        "rule": "bracket",
        "bracket": "opened",
    }.items() <= made[0].details.items()
    assert made[2].details["video"] == "v1.mp4"
    assert who.library.media.encoded == 16
    assert port.asked[0].messages[-1].text.endswith("Best option: (")


def test_a_shuffle_is_undone_when_the_letter_is_read() -> None:
    questions = [question(n) for n in range(40)]
    right = {q.question: q.answer for q in questions}

    def knows(request):
        asked = next(text for text in right if f"{text}\n" in request.messages[-1].text)
        return Reply(text=letter_of(request, right[asked]))

    port = Port(knows)
    made = predictor(shuffle=5).predict(clip_items(questions), port)
    assert [p.details["letter"] for p in made] == [q.letter for q in questions]
    assert len({p.details["order"] for p in made}) > 10
    assert any(p.details["shown_letter"] != p.details["letter"] for p in made)
    # neither order nor company of a question changes how it is asked
    alone = Port(knows)
    predictor(shuffle=5).predict(clip_items([questions[7]]), alone)
    assert alone.asked[0].key in {request.key for request in port.asked}


def test_circular_evaluation_asks_every_rotation() -> None:
    port = says("A")
    made = predictor(circular=True).predict(items(2), port)
    assert [p.details["rotation"] for p in made] == ["0", "1", "2", "3", "4"]
    assert [p.details["letter"] for p in made] == list("ABCDE")  # who always says A means every option once
    assert [p.details["order"] for p in made] == ["ABCDE", "BCDEA", "CDEAB", "DEABC", "EABCD"]
    assert len({request.key for request in port.asked}) == 5


def test_questions_that_are_asked_alike_share_a_call() -> None:
    twin = msgspec.structs.replace(question(2), id="twin")
    port = says("C")
    made = predictor().predict(clip_items([question(2), twin]), port)
    assert len(port.asked) == 1
    assert [p.item_id for p in made] == ["q2", "twin"]


@pytest.mark.parametrize(
    ("outcome", "answer", "failure", "rule"),
    [
        (Reply(text="None of the above"), "None of the above", None, "none"),
        (Reply(text="  "), "", None, "empty"),
        (Reply(text="A or B, (A) or (B)"), "A or B, (A) or (B)", None, "conflict"),
        (Truncated(text="C. The tin is"), "C. The tin is", None, "start"),
        (
            Truncated(text="Let me think: the answer is C, or"),
            "Let me think: the answer is C, or",
            None,
            "cut_off",
        ),
        (Refusal(text="No."), None, "refusal: No.", None),
        (Failure(kind="overload", message="later"), None, "overload: later", None),
    ],
)
def test_what_becomes_of_other_outcomes(outcome, answer, failure, rule) -> None:
    (made,) = predictor().predict(items(2), Port(lambda r: outcome))
    assert (made.answer, made.failure, made.details.get("rule")) == (answer, failure, rule)


def test_a_missing_extra_is_no_matter_of_one_question(folder, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(MissingExtraError, match=r"proctor-bench\[video\]"):
        predictor("frames:2", videos=Videos(folder)).predict(items(0), says("A"))


def test_what_cannot_be_shown_fails_alone(folder) -> None:
    port = says("A")
    gone = msgspec.structs.replace(
        question(0), id="gone", clip=msgspec.structs.replace(question(0).clip, video_id="zz")
    )
    made = predictor("frames:2", videos=Videos(folder)).predict(clip_items([question(0), gone]), port)
    assert made[0].answer == "A"
    assert made[1].failure.startswith("not_shown: there is no video")
    assert made[1].details["calls"] == "0"
    assert len(port.asked) == 1
    nobody = predictor("frames:2").predict(items(0), says("A"))
    assert nobody[0].failure.startswith("not_shown: the clip has no video")
    with pytest.raises(UserError, match="none of the 1 questions can be shown"):
        list(predictor("frames:2").requests(items(0)))


def test_open_questions_are_answered_in_words() -> None:
    open_question = msgspec.structs.replace(question(2, options=()), id="open")
    (made,) = predictor(circular=True).predict(clip_items([open_question]), says("The tin is greased."))
    assert made.answer == "The tin is greased."
    assert not {"letter", "rule", "order", "rotation"} & set(made.details)
    (cut,) = predictor().predict(clip_items([open_question]), Port(lambda r: Truncated(text="The tin")))
    assert cut.failure.startswith("truncated")
    for wanted, limits in (("published", {CHOICE.max_tokens, ANSWER.max_tokens}), ("7", {7})):
        port = says("x")
        who = predictor(replying=Replying.parse({"reply_tokens": (wanted,)}))
        who.predict(clip_items([question(2), open_question]), port)
        assert {r.parameters.max_tokens for r in port.asked} == limits


def test_estimates_are_the_requests_that_are_made(folder) -> None:
    who = predictor("frames:2", videos=Videos(folder), circular=True, shuffle=1)
    questions = [question(n) for n in range(3)]
    port = says("A")
    who.predict(clip_items(questions), port)
    assert [r.key for r in who.requests(clip_items(questions))] == [r.key for r in port.asked]


def test_names_tell_systems_apart() -> None:
    base = predictor("frames:8")
    others = (
        {"style": "a"}, {"shuffle": 3}, {"circular": True}, {"view": "frames:16"}, {"view": "frames:8@full"},
        {"view": "question"}, {"view": "steps"},
    )  # fmt: skip
    names = {base.name, *(predictor(**{"view": "frames:8", **other}).name for other in others)}
    assert len(names) == 8
    assert base.name == f"{MODEL} (frames-8f-half-side, style d)"
    with pytest.raises(UserError, match="'z' is no style"):
        predictor(style="z")


def test_a_run_that_is_broken_off_keeps_what_is_there() -> None:
    def broken(requests):
        first = next(iter(requests))
        yield first, Reply(text="A")
        raise KeyboardInterrupt

    kept: list[Prediction] = []
    with pytest.raises(KeyboardInterrupt):
        predictor().predict(items(0, 1), broken, interrupted=kept.extend)
    assert [(p.item_id, p.answer) for p in kept] == [("q0", "A")]


def test_what_people_see_of_a_clip_are_its_steps_too() -> None:
    question = items(0)[0].question
    other = msgspec.structs.replace(question, facts={**question.facts, "steps": ["Something else."]})
    elsewhere = msgspec.structs.replace(question, provenance={"generator": "another"})
    assert KIND.seen(question) == KIND.seen(elsewhere) != KIND.seen(other)


def test_calls_that_were_never_made_are_failures() -> None:
    made = predictor().predict(items(0), lambda requests: iter(()))
    assert made[0].failure.startswith("cancelled")


def test_a_template_that_never_works_is_an_error(tmp_path) -> None:
    (tmp_path / "evaluate").mkdir()
    broken = '---\nversion: 1\ndata: question, options\nplain: letters\n---\n=== user ===\n{{ question }} {{ fence_items(options, "o") }} {{ letters }}'
    (tmp_path / "evaluate" / "choice-text.md.j2").write_text(broken)
    who = predictor(prompts=evaluation_prompts(tmp_path))
    with pytest.raises(UserError, match="outside of a fence"):
        who.predict(items(0, 1), says("A"))


def test_pictures_beyond_a_providers_limit_are_left_out_and_told(folder) -> None:
    who = predictor("frames:104", videos=Videos(folder), model="anthropic/claude-toy")
    port = says("A")
    (made,) = who.predict(items(0), port)
    assert len(port.asked[0].media) == len(made.frame_indices) == 100
    assert [round(t * 10) for t in made.frame_times] == list(frame_indices(100, 104))
    assert made.details["shrunk"].startswith("104 → 100 frames (anthropic: 104 images, at most 100 are taken")
    with pytest.raises(UserError, match="too large"):
        replace(who, shrink=False).predict(items(0), says("A"))
