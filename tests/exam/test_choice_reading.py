"""Reading letters from replies, by a table of our own and against the order in which options were shown."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.exam.clip_set import ClipQuestion, clip_items
from tests.exam.letter_replies import COMPLETIONS, OPTIONS, REPLIES
from tests.metrics.choice import test_reading

from proctor.errors import UserError
from proctor.exam.choice import CUT_OFF, choice_of, read_choice, rotations, shown_order, spell_order
from proctor.exam.prediction import Prediction
from proctor.metrics.choice.letters import LETTERS
from proctor.metrics.choice.reading import parse_letter

QUESTION = ClipQuestion(id="q", question="What?", answer=OPTIONS[2], options=OPTIONS, letter="C")
(ITEM,) = clip_items([QUESTION])
PRINTED = tuple(range(5))


def test_the_table_has_two_hundred_replies_that_the_parsers_own_table_has_not() -> None:
    theirs = {case[0] for case in (*test_reading.PARSED, *test_reading.UNPARSED)}
    ours = [reply for reply, _, _ in REPLIES]
    assert len(ours) == len(set(ours))
    assert len(ours) >= 200
    assert not theirs & set(ours)
    assert {rule for _, _, rule in REPLIES} == {
        "answer",
        "sole",
        "bracketed",
        "start",
        "text",
        "conflict",
        "none",
        "empty",
    }


@pytest.mark.parametrize(("reply", "letter", "rule"), REPLIES)
def test_replies(reply: str, letter: str | None, rule: str) -> None:
    found = parse_letter(reply, OPTIONS)
    assert (found.letter, found.rule) == (letter, rule)


@pytest.mark.parametrize(("reply", "letter", "rule"), COMPLETIONS)
def test_completions_of_an_opened_bracket(reply: str, letter: str | None, rule: str) -> None:
    found = parse_letter(reply, OPTIONS, opened_bracket=True)
    assert (found.letter, found.rule) == (letter, rule)


@pytest.mark.parametrize(
    ("reply", "letter"),
    [(reply, letter) for reply, letter, rule in REPLIES if rule in ("answer", "sole", "bracketed")],
)
def test_a_letter_names_the_option_that_was_shown_there(reply: str, letter: str) -> None:
    order = (3, 1, 4, 0, 2)
    choice = read_choice(reply, QUESTION.options, QUESTION.letter, order)
    assert choice.shown == letter
    assert choice.printed == LETTERS[order[LETTERS.index(letter)]]
    assert choice.right == (letter == "E")


@pytest.mark.parametrize("order", list(itertools.permutations(range(5)))[::7])
def test_a_quoted_option_is_the_same_option_in_every_order(order: tuple[int, ...]) -> None:
    choice = read_choice("Grease the baking tin", QUESTION.options, QUESTION.letter, order)
    assert (choice.printed, choice.right) == ("C", True)
    assert choice.shown == choice.gold_shown == LETTERS[order.index(2)]


def test_a_reply_that_was_cut_off_counts_only_for_what_stands_in_front() -> None:
    assert read_choice(
        "C. The tin is greased and", QUESTION.options, QUESTION.letter, PRINTED, cut_off=True
    ).right
    thinking = read_choice(
        "At first sight the answer is C, but let me look at",
        QUESTION.options,
        QUESTION.letter,
        PRINTED,
        cut_off=True,
    )
    assert (thinking.printed, thinking.right, thinking.rule) == (None, False, CUT_OFF)
    assert read_choice("At first sight the answer is C", QUESTION.options, QUESTION.letter, PRINTED).right
    assert (
        read_choice(
            "C) Grease", QUESTION.options, QUESTION.letter, PRINTED, opened_bracket=True, cut_off=True
        ).rule
        == "bracket"
    )


def test_a_prediction_is_read_again_from_its_answer() -> None:
    order = (2, 0, 1, 3, 4)
    made = Prediction(
        item_id="q",
        predictor="m",
        answer="A",
        details={"order": spell_order(order), "letter": "E", "rule": "text"},
    )
    assert choice_of(made, ITEM).right  # what the details claim does not matter
    assert not choice_of(Prediction(item_id="q", predictor="m", answer="A"), ITEM).right
    opened = Prediction(item_id="q", predictor="m", answer="C) or D)", details={"bracket": "opened"})
    assert choice_of(opened, ITEM).rule == "bracket"
    cut = Prediction(item_id="q", predictor="m", answer="the answer is C", details={"cut_off": "yes"})
    assert choice_of(cut, ITEM).rule == CUT_OFF


@pytest.mark.parametrize("order", ["ABC", "AABCD", "ABCDEF", "zzzzz", "ABCD-"])
def test_an_order_that_is_none_is_an_error(order: str) -> None:
    with pytest.raises(UserError, match="is no order of its 5 options"):
        choice_of(Prediction(item_id="q", predictor="m", answer="A", details={"order": order}), ITEM)


def test_a_failed_prediction_has_chosen_nothing() -> None:
    with pytest.raises(UserError, match="chosen nothing"):
        choice_of(Prediction(item_id="q", predictor="m", failure="timeout"), ITEM)


@given(st.text(max_size=300), st.permutations(range(5)), st.booleans(), st.booleans())
def test_no_reply_breaks_it(reply: str, order: list[int], opened: bool, cut: bool) -> None:
    choice = read_choice(
        reply, QUESTION.options, QUESTION.letter, tuple(order), opened_bracket=opened, cut_off=cut
    )
    assert (choice.shown is None) == (choice.printed is None)
    assert choice.right == (choice.printed == "C")
    if choice.shown is not None:
        assert choice.right == (choice.shown == choice.gold_shown)


@given(st.integers(0, 2**32), st.text(min_size=1, max_size=20))
def test_every_rotation_shows_every_option_once_at_every_letter(seed: int, name: str) -> None:
    question = ClipQuestion(id=name, question="?", answer="x", options=OPTIONS, letter="A")
    turned = rotations(shown_order(question.id, len(question.options), seed))
    for place in range(5):
        assert sorted(order[place] for order in turned) == [0, 1, 2, 3, 4]
