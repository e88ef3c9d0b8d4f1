"""Doubts of a judge about its own verdict, held apart from doubts that it reports."""

from __future__ import annotations

import pytest

from proctor.exam.verdict.doubt import unsure, without_quotations


@pytest.mark.parametrize(
    "text",
    [
        "I am not at all certain.",
        "Not sure.",
        "This is a pure guess.",
        "I have flipped a coin.",
        "I could not see the answer, so this is a placeholder.",
        "A human should double-check this.",
        "This needs review.",
        "My confidence in this is very low.",
        "I cannot tell whether it matches.",
        "No judgement is possible.",
        "The lower of the two marks applies.",
        "I will abstain.",
    ],
)
def test_a_judge_that_does_not_rely_on_itself(text):
    assert unsure(text)


@pytest.mark.parametrize(
    "text",
    [
        "I don't see any overlap between the answer and the references.",
        "I cannot find the named step in any of the references.",
        "I cannot tell which pan is meant, but the step is wrong.",
        "The answer is not sure about the amount.",
        "The user should check the oven.",
        "Confidence: 0.4",
    ],
)
def test_a_judge_that_does(text):
    assert unsure(text) == ""


def test_a_quotation_with_an_apostrophe_is_one():
    assert without_quotations("The answer says 'I don't know'. Wrong.") == "The answer says  … . Wrong."
