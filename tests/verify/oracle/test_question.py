from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.verify.oracle.question import INTENTS, parse_question


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("What do I do after sanding?", "next"),
        ("And now?", "next"),
        ("Which step follows?", "next"),
        ("Could you tell me what comes next?", "next"),
        ("Sorry if this is silly, but what should I be doing now?", "next"),
        ("How do I go on from here?", "next"),
        ("Is there anything else to do?", "left"),
        ("Should I attach something else?", "left"),
        ("Do I need to add more buffer tubes?", "left"),
        ("Have I left anything out?", "forgot"),
        ("Did we skip a step before drilling?", "forgot"),
        ("Is there something I should have done with the board?", "forgot"),
        ("Did anything slip my mind?", "forgot"),
        ("What did I overlook?", "forgot"),
        ("Did I forget to label the tubes?", "forgot_step"),
        ("Should I have thawed the samples by now?", "forgot_step"),
        ("Have I done every step so far?", "all_good"),
        ("Am I ready to move on?", "all_good"),
        ("Is everything in place?", "all_good"),
        ("Is it complete?", "all_good"),
        ("Can I vortex the tubes now?", "propose"),
        ("Is it time to drill?", "propose"),
        ("I'd like to add the sample now. Is that okay?", "propose"),
        ("Would it be alright to lay the board now?", "propose"),
        ("Did I drill too early?", "order"),
        ("Was this the right moment to oil the board?", "order"),
        ("Should the plugs have come before the brackets?", "order"),
        ("Why is this step out of order?", "order"),
        ("Did I use the right amount of oil?", "check"),
        ("Was my timing off?", "check"),
        ("Is there a mistake in how I pipetted?", "check"),
        ("Does the temperature match the instructions?", "check"),
        ("In what way did I mismeasure?", "check"),
        ("Should I use a different tool for the screws?", "check"),
        ("How long do I sand the edges?", "detail"),
        ("How much buffer goes in?", "detail"),
        ("What do the instructions say for this step?", "detail"),
        ("Why is the sky blue?", "other"),
    ],
)
def test_intent(text: str, intent: str) -> None:
    assert parse_question(text).intent == intent


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ("Did I forget anything?", "yes"),
        ("Is everything done?", "no"),
        ("Was the amount right?", "no"),
        ("Was the amount wrong?", "yes"),
        ("Was it too little?", "yes"),
        ("Did I do this in the right order?", "no"),
        ("Did I do this too late?", "yes"),
    ],
)
def test_which_answer_would_mean_trouble(text: str, trouble: str) -> None:
    assert parse_question(text).trouble == trouble


def test_scope_is_split_off() -> None:
    parsed = parse_question("Did I forget anything with the board before drilling the holes?")
    assert parsed.stems == ("board",)
    assert "drill" in parsed.before
    assert not parsed.after


def test_scope_in_front() -> None:
    parsed = parse_question("After sanding the board, what comes next?")
    assert parsed.intent == "next"
    assert "board" in parsed.after


def test_general_scope_is_no_scope() -> None:
    assert parse_question("Did I miss a step before moving on?").before == ()
    assert parse_question("Did I miss a step before this?").before == ()


def test_preface_gives_what_is_pointed_at() -> None:
    assert "sampl" in parse_question("I'm going to add the sample now. Is that fine?").stems


@pytest.mark.parametrize("text", ["", "?", "!!!", "....", "\x00", "🙂"])
def test_texts_without_words_are_other(text: str) -> None:
    assert parse_question(text).intent == "other"


@given(st.text(max_size=200))
def test_any_text_parses(text: str) -> None:
    assert parse_question(text).intent in INTENTS


@given(
    st.sampled_from(["Did I forget anything", "What should I do next", "Was this right", "Can I drill now"])
)
def test_case_space_and_punctuation_do_not_matter(text: str) -> None:
    plain = parse_question(text)
    for other in (text.upper(), f"  {text}??? ", text.replace(" ", "   "), text + "!", text + " ."):
        assert parse_question(other) == plain
