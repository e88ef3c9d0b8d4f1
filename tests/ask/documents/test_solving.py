"""Answers from fewer sources, and the marks that they get."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.ask.documents.prompting import Miss, PromptKit
from proctor.ask.documents.solving import (
    answer_prompt,
    leave_one_out,
    mark_prompt,
    parse_mark,
    read_answer,
    read_mark,
)
from proctor.ask.moment.promqa_prompt import generation_prompts
from proctor.corpus.source import text_source
from proctor.llm.fence import FenceSecret
from proctor.llm.outcome import Failure, Reply, Truncated

KIT = PromptKit(generation_prompts(), FenceSecret(b"s" * 32))


def test_each_source_is_left_out_once() -> None:
    assert leave_one_out("abc") == (("b", "c"), ("a", "c"), ("a", "b"))
    assert leave_one_out("ab") == (("b",), ("a",))
    assert leave_one_out("a") == leave_one_out("") == ()


def test_with_sources_nothing_else_counts_and_without_any_knowledge_does() -> None:
    given_one = answer_prompt(KIT, "How long?", [text_source("t", "Aar", "3 km.")])
    assert "and from nothing else" in given_one.messages[0].text
    assert "Aar: 3 km." in given_one.text
    closed = answer_prompt(KIT, "How long?")
    assert "from what you know" in closed.messages[0].text
    assert "sources" not in closed.text
    assert "How long?" in closed.messages[1].text


def test_the_marker_sees_question_accepted_answer_and_attempt() -> None:
    prompt = mark_prompt(KIT, "How long?", "It is 3 km.", "Maybe 4 km.")
    for text in ("How long?", "It is 3 km.", "Maybe 4 km."):
        assert text in prompt.messages[1].text
    assert prompt.messages[0].text.count("\nScore: ") == 3


@pytest.mark.parametrize(
    ("reply", "mark"),
    [
        ("It agrees.\nScore: 2", 2),
        ("Score: 0\nNo: Score: 1", 1),
        ("**Score:** 2", 2),
        ("2", 2),
        ("score = 0.", 0),
        ("Score: 1/2", 1),
    ],
)
def test_the_last_mark_counts(reply: str, mark: int) -> None:
    assert parse_mark(reply) == mark


@pytest.mark.parametrize(
    "reply", ["", "Score: 3", "Score: 20", "Score: 1.5", "good", "Score: two", "Score: 2\nScore: 7"]
)
def test_what_is_no_mark(reply: str) -> None:
    found = parse_mark(reply)
    assert isinstance(found, Miss)
    assert found.outcome == "verify_unparsed"


def test_outcomes() -> None:
    assert read_answer(Reply(text="It is\n3 km.")) == "It is 3 km."
    assert read_mark(Reply(text="Score: 2")) == 2
    for found, code in ((read_answer(Truncated(text="It")), "verify_unparsed"), (read_mark(Reply(text="")), "verify_unparsed"), (read_mark(Failure(kind="auth", message="x")), "api_error")):  # fmt: skip
        assert isinstance(found, Miss)
        assert found.outcome == code


@given(st.text())
def test_no_text_raises(text: str) -> None:
    found = parse_mark(text)
    assert isinstance(found, Miss) or found in (0, 1, 2)


@pytest.mark.parametrize("piece", ["score", "score ", "score:", "\n", "1"])
def test_a_hostile_reply_costs_little(piece: str) -> None:
    parse_mark(piece * (200_000 // len(piece)))
