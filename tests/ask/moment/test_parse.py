"""Reading models' responses: the asked form, everything that models make of it, and the stored responses."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.ask.moment.parse import ParsedPair, parse_pairs

WANTED = (ParsedPair("What now?", ("Stir it.", "Pour it.")), ParsedPair("Is it hot?", ("No.",)))

FORMS = {
    "as asked": "* What now?\n    * Stir it.\n    * Pour it.\n* Is it hot?\n    * No.",
    "blank lines": "* What now?\n\n    * Stir it.\n    * Pour it.\n\n\n* Is it hot?\n    * No.\n",
    "dashes": "- What now?\n  - Stir it.\n  - Pour it.\n- Is it hot?\n  - No.",
    "dots": "• What now?\n\t• Stir it.\n\t• Pour it.\n• Is it hot?\n\t• No.",
    "numbers": "1. What now?\n   - Stir it.\n   - Pour it.\n2. Is it hot?\n   - No.",
    "brackets": "1) What now?\n    a: Stir it.\n    A: Pour it.\n2) Is it hot?\n    A: No.",
    "bold": "* **What now?**\n    * Stir it.\n    * **Pour it.**\n* **Is it hot?**\n    * No.",
    "tags": "Q: What now?\nA: Stir it.\nA: Pour it.\nQ: Is it hot?\nA: No.",
    "numbered tags": "Question 1: What now?\nAnswer 1: Stir it.\nAnswer 2: Pour it.\nQuestion 2: Is it hot?\nAnswer: No.",
    "boxes": "* [question] What now?\n    * [answer] Stir it.\n    * [answer] Pour it.\n* [question] Is it hot?\n    * [answer] No.",
    "angle tags": "* <question1>: What now?\n    * <answer1-1>: Stir it.\n    * <answer1-2>: Pour it.\n* <question2>: Is it hot?\n  * <answer2-1>: No.",
    "fence": "```\n* What now?\n    * Stir it.\n    * Pour it.\n* Is it hot?\n    * No.\n```",
    "crlf": "* What now?\r\n    * Stir it.\r\n    * Pour it.\r\n* Is it hot?\r\n    * No.\r\n",
    "quotes": '* "What now?"\n    * "Stir it."\n    * “Pour it.”\n* "Is it hot?"\n    * No.',
    "all indented": "  * What now?\n      * Stir it.\n      * Pour it.\n  * Is it hot?\n      * No.",
    "trailing spaces": "* What now?  \n    * Stir it.  \n    * Pour it.\n* Is it hot? \n    * No.  ",
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_pairs(form: str) -> None:
    assert parse_pairs(FORMS[form]).pairs == WANTED


def test_a_preamble_is_listed_and_not_taken_for_a_question() -> None:
    parsed = parse_pairs("Here are three pairs:\n" + FORMS["as asked"])
    assert parsed.pairs == WANTED
    assert parsed.problems == (("stray_line", "Here are three pairs:"),)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("* Only a question?", "question_without_answer"),
        ("* Did I do <stepX> now?\n    * Yes.", "placeholder"),
        ("* Same?\n    * Yes.\n* Same?\n    * No.", "duplicate"),
        ("A: an answer first", "answer_without_question"),
        ("I cannot help with that.", "stray_line"),
    ],
)
def test_what_cannot_be_used_is_said(text: str, reason: str) -> None:
    assert reason in [r for r, _ in parse_pairs(text).problems]


def test_an_empty_response_has_no_pairs() -> None:
    assert parse_pairs("") == parse_pairs("\n \n") == parse_pairs("```\n```")


def test_a_huge_response_is_cut_and_says_so() -> None:
    parsed = parse_pairs("* q?\n    * a\n" + "x" * 10_000_000)
    assert parsed.problems[0][0] == "too_long"
    assert parsed.pairs == (ParsedPair("q?", ("a",)),)


@given(st.text(alphabet=st.sampled_from("*-•1. \t\nQA:?[]<>`\"'ab**")))
def test_no_text_raises_and_no_pair_is_empty(text: str) -> None:
    for pair in parse_pairs(text).pairs:
        assert pair.question
        assert pair.answers
        assert all(pair.answers)


def test_the_stored_responses(shared_data: Path) -> None:
    for example in json.loads((shared_data / "promqa/examples_dev.json").read_bytes()):
        parsed = parse_pairs(example["generation"]["response"])
        stored = [
            (q["question"].strip(), tuple(a.strip() for a in q["answers"]))
            for q in example["generation"]["qas"]
        ]
        assert Counter((p.question, p.answers) for p in parsed.pairs) == Counter(stored)
        assert parsed.problems == ()
