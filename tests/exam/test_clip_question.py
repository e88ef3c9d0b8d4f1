"""Questions joined with pairs and clips."""

import msgspec
import pytest
from tests.exam.clip_set import OPTIONS, clip, pair

from proctor.ask.clip.record import ChoiceItem
from proctor.errors import UserError
from proctor.exam.clip_question import choice_questions, open_questions


def item(name: str = "p0", options: tuple[str, ...] = OPTIONS, letter: str = "B") -> ChoiceItem:
    return ChoiceItem(id=name, question="What?", options=options, letter=letter)


def test_a_question_knows_its_pair_and_its_clip() -> None:
    (made,) = choice_questions([item()], [pair(0)], [clip("v0")])
    assert (made.answer, made.letter, made.options) == ("Peel the carrots", "B", OPTIONS)
    assert (made.clip, made.level, made.category, made.position) == (
        clip("v0"),
        "coarse",
        "ordering",
        "early",
    )
    assert made.cluster == "youcook2/v0"


def test_a_question_of_another_benchmark_stands_alone() -> None:
    first, second = choice_questions([item("x"), item("y")], [], [])
    assert first.clip is None
    assert first.cluster != second.cluster


def test_open_questions_keep_their_order_and_have_no_options() -> None:
    made = open_questions([pair(1), pair(0)], [clip("v0")])
    assert [q.id for q in made] == ["p1", "p0"]
    assert made[0].options == ()
    assert made[0].answer == "Whisk the eggs"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (item(options=("a",), letter="A"), "has 1 options"),
        (item(options=tuple(map(str, range(27)))), "has 27 options"),
        (item(options=("a", "b", "a")), "two options are the same"),
        (item(letter="F"), "letter of the right option is 'F'"),
        (item(letter=""), "letter of the right option is ''"),
        (item(letter="AB"), "letter of the right option is 'AB'"),
    ],
)
def test_questions_that_cannot_be_asked(wrong: ChoiceItem, message: str) -> None:
    with pytest.raises(UserError, match=message):
        choice_questions([wrong])


def test_ids_are_unique_and_clips_are_there() -> None:
    with pytest.raises(UserError, match="there twice, such as 'p0'"):
        choice_questions([item(), item()])
    with pytest.raises(UserError, match="there twice"):
        open_questions([pair(0), pair(0)])
    with pytest.raises(UserError, match="no clip 'v0'"):
        open_questions([pair(0)], [clip("v9")])
    lone = msgspec.structs.replace(pair(0), video_id="")
    assert open_questions([lone])[0].cluster == "question/p0"
