"""Pairs, with options and without, as questions that are verified and asked."""

import msgspec
import pytest
from tests.exam.clip_set import OPTIONS, clip, pair

from proctor.ask.clip.record import ChoiceItem, Distractor, choice_question, pair_question
from proctor.errors import UserError
from proctor.exam.question import Choice, Footage, Open, Pick, Proposed, Text, right_texts


def item(name: str = "p0", options: tuple[str, ...] = OPTIONS, letter: str = "B") -> ChoiceItem:
    return ChoiceItem(id=name, question="What?", options=options, letter=letter)


CLIPS = {"v0": clip("v0")}


def test_a_question_knows_its_pair_and_its_clip() -> None:
    made = choice_question(item(), pair(0), CLIPS)
    assert (made.id, made.parent, made.form) == ("p0.choice", "p0", Choice(options=OPTIONS))
    assert right_texts(made) == ("Peel the carrots",)
    assert made.evidence == (Footage(recording="v0", end=10.4, dataset="youcook2"),)
    facets = {"dataset": "youcook2", "level": "coarse", "category": "ordering", "position": "early"}
    assert (made.facets, made.cluster) == (facets, "youcook2/v0")
    assert made.facts["goal"] == "bake a cake"
    assert made.facts["steps"][0] == "s1 | 0.0-3.0 s | Whisk the eggs"


def test_every_option_says_what_is_claimed_of_it_and_where_it_came_from() -> None:
    wrong = (Distractor(text=OPTIONS[0], kind="order", origin="s2"), Distractor(text=OPTIONS[2]))
    made = choice_question(msgspec.structs.replace(item(options=OPTIONS[:3]), distractors=wrong), None, {})
    assert made.proposals == (
        Proposed(value=Pick(option=0), claim="wrong", origin="order: s2"),
        Proposed(value=Pick(option=1)),
        Proposed(value=Pick(option=2), claim="wrong", origin="model"),
    )


def test_a_question_of_another_benchmark_stands_alone() -> None:
    first, second = (choice_question(item(name), None, {}) for name in "xy")
    assert first.evidence == ()
    assert first.cluster != second.cluster


def test_an_open_question_proposes_its_answer() -> None:
    made = pair_question(pair(1), CLIPS)
    assert (made.id, made.form, made.proposals) == (
        "p1",
        Open(),
        (Proposed(value=Text(text="Whisk the eggs")),),
    )


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
        choice_question(wrong, None, {})


def test_a_clip_that_is_not_there_although_others_are() -> None:
    with pytest.raises(UserError, match="no clip 'v0'"):
        pair_question(pair(0), {"v9": clip("v9")})
    lone = pair_question(msgspec.structs.replace(pair(0), video_id=""), {})
    assert (lone.cluster, lone.evidence) == ("question/p0", ())
