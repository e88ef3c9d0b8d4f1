"""What code can see of a pair: ids, words about the annotations, times, shape. Both ways: what has to go, and what may stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ask.clip.played import step

from proctor.ask.clip.pair_reply import CHECKS, RawPair, check_pair, words_of

STEPS = (
    step("s1", "set the timer to 12:00 and fry the onion for 10 minutes, see step 4 of the leaflet", 0, 10),
    step("s2", "add 2 cups of stock, stir until smooth and put the pot on the S10 hob of the cooker", 10, 20),
    step("s2.1", "stir with a wooden spoon", 12, 14),
)
FINE = "the wooden spoon"


def reason(question: str = "What is it stirred with?", answer: str = FINE, *ids: str) -> str:
    bad = check_pair(RawPair(question, answer, ids or ("s2",)), STEPS, "Make a soup of onions")
    return bad.reason if bad is not None else ""


def test_a_sound_pair_passes() -> None:
    assert reason() == ""
    assert reason("What is it stirred with?", FINE, "s1", "s2.1") == ""


@pytest.mark.parametrize(
    ("question", "answer", "ids", "expected"),
    [
        ("", FINE, ("s1",), "no_question"),
        ("???", FINE, ("s1",), "no_question"),
        ("What is it?", " . ", ("s1",), "no_answer"),
        ("What is it?", FINE, ("s9",), "unknown_step"),
        ("What is it?", FINE, ("s1", "s2.9"), "unknown_step"),
        ("What is it?", "what is it", ("s1",), "answer_is_question"),
        ("What is it?", "word " * 31, ("s1",), "answer_too_long"),
        ("What " * 61, FINE, ("s1",), "question_too_long"),
        ("Is it stirred?", "Yes.", ("s1",), "yes_no"),
        ("Is it stirred?", "No, it is not", ("s1",), "yes_no"),
        ("What is it?", "None of the above", ("s1",), "no_single_answer"),
        ("What is it?", "all of them", ("s1",), "no_single_answer"),
        ("What is it?", "Not specified.", ("s1",), "no_single_answer"),
        ("What is it?", "It is not mentioned in the video", ("s1",), "no_single_answer"),
        ("What is it?", "unknown", ("s1",), "no_single_answer"),
        ("What is it?", "N/A", ("s1",), "no_single_answer"),
        ("What is it?", "It cannot be determined from this", ("s1",), "no_single_answer"),
        ("What is it?", "I don't know", ("s1",), "no_single_answer"),
    ],
)
def test_shapes_that_cannot_be(question: str, answer: str, ids: tuple[str, ...], expected: str) -> None:
    assert reason(question, answer, *ids) == expected


def test_no_step_at_all() -> None:
    bad = check_pair(RawPair("What?", FINE, ()), STEPS)
    assert bad is not None
    assert bad.reason == "no_steps"


def test_the_longest_answer_is_a_setting() -> None:
    pair = RawPair("What is it?", "one two three", ("s1",))
    assert check_pair(pair, STEPS, answer_words=3) is None
    assert reason("What is it?", "x" * 451) == "answer_too_long"
    bad = check_pair(pair, STEPS, answer_words=2)
    assert bad is not None
    assert bad.reason == "answer_too_long"


def test_an_answer_longer_than_all_that_was_shown() -> None:
    pair = RawPair("What is done?", "the onion is cut into very small pieces", ("s1",))
    bad = check_pair(pair, (step("s1", "cut it", 0, 1),), "Soup")
    assert bad is not None
    assert bad.reason == "answer_longer_than_steps"


NUMBERS = (
    "What happens in step 3?",
    "What happens in step three?",
    "What is done in Step #2?",
    "What does step no. 2 need?",
    "What is done between steps 2 and 5?",
    "What is done in the third step?",
    "What is done in the 2nd step?",
    "What is done in the second-step?",
    "How many steps are there?",
    "How many different steps come before it?",
    "What is shown in segment 7?",
    "Which substep 2 is meant?",
    "What is done in keystep 12?",
    "What is the step number of stirring?",
    "What happens in s3?",
    "What happens after (s12)?",
    "What happens in s2.1?",
    "What happens in step(4)?",
    "What happens in ｓｔｅｐ ３?",
)
TIMES = (
    "What happens at 0:35?",
    "What happens at 1:02:33?",
    "What happens at ０：３５?",
    "What happens 35 seconds into the video?",
    "What happens 35 seconds into it?",
    "What happens two minutes in?",
    "What is seen at the 2-minute mark?",
    "What is seen at 35 seconds?",
    "What is seen at about 35 s?",
    "What is seen at second 35?",
    "What is seen from minute 3 on?",
    "What is seen after 35 seconds of the video?",
    "What is seen around 1m20s?",
    "Which timestamp shows the stirring?",
    "At which time code is it stirred?",
    "What is done half a minute into the clip?",
)
ANNOTATIONS = (
    "What does the annotation say?",
    "Which action is annotated?",
    "What does the annotator call it?",
    "Which step is listed last?",
    "Which of the listed steps needs a pot?",
    "What is the first described step?",
    "According to the description, what is stirred?",
    "Based on the text, what is stirred?",
    "Which entry of the list of steps is about onions?",
    "What does the narration say?",
    "What does the step description name?",
    "Which of the following steps comes first?",
    "What is the category of it in the dataset?",
    "What does the transcript say?",
    "Which steps mentioned above need a pot?",
    "What is the step category of stirring?",
)


@pytest.mark.parametrize("text", NUMBERS)
def test_numbers_of_steps(text: str) -> None:
    assert reason(text) == "mentions_step_number"
    assert reason("What is it?", text) == "mentions_step_number"


@pytest.mark.parametrize("text", TIMES)
def test_times_of_the_video(text: str) -> None:
    assert reason(text) == "mentions_time"
    assert reason("What is it?", text) == "mentions_time"


@pytest.mark.parametrize("text", ANNOTATIONS)
def test_words_about_the_annotations(text: str) -> None:
    assert reason(text) == "mentions_annotation"


@pytest.mark.parametrize(
    "text",
    [
        "What is the first step of making the dough?",
        "What is the last step before serving?",
        "Which step takes the longest?",
        "What is the next step after frying?",
        "How long is the onion fried?",
        "After frying it for 10 minutes, what is added?",
        "What is left in the oven for 5 minutes in the dish?",
        "What is whisked for two minutes in a bowl?",
        "How many times is it stirred?",
        "How many orange segments are put on top?",
        "In which ratio, 1:2 or 2:1, are they mixed?",
        "What is done with the second egg?",
        "Where does the person step back to?",
        "Which label is stuck on the jar?",
        "What is stirred every 30 seconds?",
        "What does the person take second?",
        "Which screws, size 8, are used?",
        "What does the person read from the recipe?",
        "What was mentioned as the reason for adding salt?",
        "Is one step taken at a time, or two?",
    ],
)
def test_what_only_looks_like_it_may_stay(text: str) -> None:
    assert reason(text) == ""


@pytest.mark.parametrize(
    "answer",
    [
        "for 10 minutes",
        "around 30 seconds",
        "no oil",
        "none-stick oil",
        "not too firmly",
        "all the salt",
        "both pans",
        "4",
    ],
)
def test_answers_that_may_stay(answer: str) -> None:
    assert reason("What is it?", answer) == ""


@pytest.mark.parametrize(
    "text",
    [
        "What is the timer set to, if not 12:00?",
        "Which leaflet, if any, has a step 4?",
        "Which pot is on the S10 hob?",
    ],
)
def test_what_the_steps_say_themselves_may_be_asked_about(text: str) -> None:
    assert reason(text) == ""
    bare = (step("s2", "stir it with the wooden spoon", 0, 1),)
    bad = check_pair(RawPair(text, FINE, ("s2",)), bare)
    assert bad is not None
    assert bad.reason in ("mentions_time", "mentions_step_number")


def test_words_are_parted_by_blanks() -> None:
    assert words_of(" a  stainless-steel\npan ") == 3
    assert words_of("") == 0


@given(
    st.text(max_size=120), st.text(max_size=60), st.lists(st.sampled_from(["s1", "s2", "s7", ""]), max_size=3)
)
def test_every_reason_is_a_known_one(question: str, answer: str, ids: list[str]) -> None:
    bad = check_pair(RawPair(question, answer, tuple(ids)), STEPS)
    assert bad is None or bad.reason in CHECKS


@pytest.mark.parametrize("text", ["step ", "at ", "0", "the list of ", "a minute ", "s1", "not ", "all of "])
def test_texts_that_go_on_and_on_are_not_searched(text: str) -> None:
    assert reason(text * 50_000) == "question_too_long"
    assert reason("What is it?", text * 50_000) == "answer_too_long"
    assert reason((text * 900)[:890]) in {*CHECKS, ""}
