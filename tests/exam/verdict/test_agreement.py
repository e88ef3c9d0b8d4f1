"""Words held against a number."""

from __future__ import annotations

import pytest

from proctor.exam.verdict.agreement import disagreement


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2, "It would be 2 if it named the lid; it does not."),
        (2, "One point is plenty."),
        (2, "A clear 0."),
        (2, "It gets one of two steps."),
        (2, "Reference 1: no match\nReference 2: no match"),
        (0, "They are paraphrases of each other."),
        (0, "The answer says pour water; the reference says pour the water."),
        (1, "The answer earns a flat zero."),
        (1, "Full credit applies."),
    ],
)
def test_words_that_cannot_agree(value, text):
    assert disagreement(value, 2, text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "It would be 2 if it named the lid; it does not."),
        (2, "Nothing is missing."),
        (2, "The order differs, which does not matter here."),
        (2, "The answer matches one of the three references, which suffices."),
        (0, "It says right where the references say left."),
        (0, "| Reference | Match |\n|---|---|\n| 1 | no |"),
        (1, "- Step: ✅\n- Amount: ❌"),
    ],
)
def test_words_that_agree(value, text):
    assert disagreement(value, 2, text) == ""
