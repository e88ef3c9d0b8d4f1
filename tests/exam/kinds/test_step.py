"""Questions about a step: how replies are read, what is shown in which view, how answers are marked."""

from __future__ import annotations

import pytest

from proctor.errors import UserError
from proctor.exam.kind import Call, Exhibit, Shown, Turn, ViewOptions
from proctor.exam.kinds.step import KIND, StepAsking, read_option, read_said
from proctor.exam.library import Library, Prompts
from proctor.exam.predict_prompt import evaluation_prompts
from proctor.exam.prediction import Prediction
from proctor.exam.question import Choice, Footage, Gold, Item, Open, Pick, Question, Text
from proctor.llm.fence import FenceSecret
from proctor.llm.media import MediaStore
from proctor.llm.message import Image
from proctor.llm.outcome import Refusal, Reply


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("Yes", "yes"),
        ("NO.", "no"),
        ("**No**, the bowl was spilled.", "no"),
        ("yes, it was carried out, but no knife was used", "yes"),
        ("So the answer is no.", "no"),
        ("<think>no, no</think>Yes", "yes"),
        ("It is unclear.", "hedged"),
        ("Yes, maybe.", "hedged"),
        ("I cannot tell whether it was done; possibly yes.", "hedged"),
        ("Yes/No", "hedged"),
        ("It could be yes, it could be no.", "hedged"),
        ("The answer is yes. There were no spills.", "yes"),
        ("He left it out, so no. Yes, he stirred, but later.", "no"),
        ("No, I cannot see the person stir.", "no"),
        ("No, I cannot tell.", "hedged"),
        ("There is no evidence of the step.", "unreadable"),
        ("The person stirs.", "unreadable"),
        ("", "unreadable"),
    ],
)
def test_what_a_reply_says(reply: str, said: str) -> None:
    assert read_said(reply) == said


def make_item(*options: str, golds: tuple[int, ...] = (0,), says: str = "no") -> Item:
    values = [Pick(option=n) for n in golds] if options else [Text(text=says)]
    question = Question(
        id="1_7:3:timing:a", kind="step", text="Did it last?",
        form=Choice(options=options) if options else Open(),
        evidence=(Footage(recording="1_7", start=3.0, end=9.5),), cluster="1_7",
    )  # fmt: skip
    return Item(question=question, golds=tuple(Gold(value=v) for v in values))


def asked(item: Item, view: StepAsking, exhibit: Exhibit, outcome: object) -> tuple[str, object]:
    """Return the whole prompt, and what its outcome became."""
    library = Library(media=MediaStore())
    (turn,) = KIND.turns(item, view)
    talk = KIND.talk(
        item, turn, exhibit, view, library, Prompts(evaluation_prompts(), FenceSecret(b"s" * 32))
    )
    call = next(talk)
    assert isinstance(call, Call)
    with pytest.raises(StopIteration) as end:
        talk.send(outcome)
    return "\n".join(message.text for message in call.messages), end.value.value


def test_a_blind_view_tells_no_times_and_the_others_do() -> None:
    item = make_item()
    blind, _ = asked(item, KIND.view("question", ViewOptions()), Exhibit(), Reply(text="Yes"))
    timed, answer = asked(item, KIND.view("times", ViewOptions()), Exhibit(), Reply(text="No, it did not."))
    assert "3.00" not in blind
    assert "lasts from 3.00 s to 9.50 s" in timed
    assert (answer.details["read"], answer.value, answer.text) == ("no", Text(text="no"), "No, it did not.")
    assert KIND.view("question", ViewOptions()).blind
    assert not KIND.view("times", ViewOptions()).blind


def test_frames_are_announced_with_their_times() -> None:
    picture = Image("0" * 64, "image/jpeg", 4, 3)
    exhibit = Exhibit((Shown(picture, time=4.04, number=1), Shown(picture, time=8.0, number=2)))
    view = KIND.view("frames:2", ViewOptions(style="instruction"))
    text, _ = asked(make_item(), view, exhibit, Reply(text="Yes"))
    assert "The 2 pictures" in text
    assert "4.0; 8.0" in text
    assert "Follow the instruction" in text
    assert view.label == "frames-2f-half-side, instruction"
    clip = KIND.view("video:240p", ViewOptions())
    text, _ = asked(make_item(), clip, Exhibit((Shown(picture),)), Reply(text="Yes"))
    assert "The clip attached to this message shows what was recorded from 3.00 s to 9.50 s" in text


def test_options_are_read_by_letter() -> None:
    item = make_item("fork", "spoon", "knife", "whisk", golds=(1, 2, 3))
    text, answer = asked(item, KIND.view("question", ViewOptions()), Exhibit(), Reply(text="(C) knife"))
    assert "(A) fork" in text
    assert (answer.details["read"], answer.value) == ("C", Pick(option=2))
    _, hedge = asked(
        item, KIND.view("question", ViewOptions()), Exhibit(), Reply(text="I cannot tell from this.")
    )
    assert (hedge.details["read"], hedge.value) == ("hedged", None)


@pytest.mark.parametrize(
    ("reply", "read"),
    [
        ("B", "B"),
        ("A fork", "C"),
        ("The person used a Fork.", "C"),
        ("It is not a fork.", "unreadable"),
        ("A fork or a spoon", "unreadable"),
        ("None of them.", "unreadable"),
        ("I cannot tell, maybe (B)", "hedged"),
        ("Forks", "unreadable"),
    ],
)
def test_an_option_is_read_by_letter_or_text_and_not_where_the_reply_hedges(reply: str, read: str) -> None:
    assert read_option(reply, ("spoon", "whisk", "fork"), (0, 1, 2)) == read
    item = make_item("spoon", "whisk", "fork", golds=(0, 1, 2))
    _, answer = asked(item, KIND.view("question", ViewOptions()), Exhibit(), Reply(text=reply))
    assert answer.details["read"] == read
    made = Prediction(item_id=item.id, predictor="m", answer=reply)
    judged = KIND.marker("step").mark(item, made, Library(media=MediaStore()))  # type: ignore[union-attr]
    assert judged.score == (2 if len(read) == 1 else 0)


def test_an_empty_reply_is_an_answer_and_a_refusal_a_failure() -> None:
    view = KIND.view("question", ViewOptions())
    _, empty = asked(make_item(), view, Exhibit(), Reply(text="  "))
    assert (empty.failure, empty.details["read"]) == (None, "empty")
    _, refused = asked(make_item(), view, Exhibit(), Refusal(text="I must not."))
    assert refused.failure is not None


def test_any_right_option_is_marked_as_right() -> None:
    item, library = make_item("fork", "spoon", "knife", golds=(1, 2)), Library(media=MediaStore())
    marker = KIND.marker("step")

    def mark(item: Item, answer: str | None) -> int | None:
        failure = None if answer is not None else "refusal: no"
        made = Prediction(item_id=item.id, predictor="m", answer=answer, failure=failure)
        return marker.mark(item, made, library).score  # type: ignore[union-attr]

    assert [mark(item, a) for a in ("A", "B", "C", "?", None)] == [0, 2, 2, 0, None]
    assert [mark(make_item(), a) for a in ("no", "yes", "perhaps", None)] == [2, 0, 0, None]
    assert KIND.turns(item, KIND.view("question", ViewOptions())) == (Turn("", {"order": "ABC"}),)


@pytest.mark.parametrize(
    ("text", "style"), [("steps", None), ("frames:0", None), ("smell", None), ("times", "a")]
)
def test_other_views_are_refused(text: str, style: str | None) -> None:
    with pytest.raises(UserError) as refused:
        KIND.view(text, ViewOptions(style=style))
    if text in ("steps", "smell"):
        assert "times" in str(refused.value.hint)
