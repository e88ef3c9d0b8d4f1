"""Verification: what is shown, and how verdicts are read. Whatever cannot be read rejects."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.ask.documents.prompting import Miss, PromptKit
from proctor.ask.documents.style import load_style
from proctor.ask.documents.verification import (
    CRITERIA,
    VERIFICATION,
    Verdict,
    parse_verdict,
    read_verdict,
    verdict_form,
    verification_prompt,
)
from proctor.ask.moment.promqa_prompt import generation_prompts
from proctor.corpus.source import text_source
from proctor.llm.fence import FenceSecret
from proctor.llm.outcome import Failure, Refusal, Reply, Truncated

KIT = PromptKit(generation_prompts(), FenceSecret(b"s" * 32))


def test_the_prompt_has_three_criteria_three_examples_and_the_gold_sources() -> None:
    style = load_style("numerical")
    prompt = verification_prompt(
        KIT, style, "How many?", "It is 3.", [text_source("t", "Aar", "A river of 3 km.")]
    )
    words, shown = prompt.messages[0].text, prompt.messages[1].text
    for criterion in CRITERIA:
        assert f"- {criterion}: " in words
    assert (
        len(re.findall(r"Style: [^\n]+\n(?!PASS|FAIL)[^\n]+\n(?:PASS|FAIL: \w+)\n\n", words)) == 3
    )  # reason, then verdict
    assert words.index("Write the reason first") < words.index("the verdict: PASS")
    assert shown.endswith("First the reason; then PASS, or FAIL: and the criteria that are not met.")
    assert style.description in words
    for text in ("How many?", "It is 3.", "Aar: A river of 3 km.", *style.questions):
        assert text in shown
    assert VERIFICATION.temperature == 0.0


def test_the_published_protocol_asks_for_the_verdict_first_in_the_words_it_had() -> None:
    published = PromptKit(generation_prompts(published=True), FenceSecret(b"s" * 32), published=True)
    assert published.prompts["styled-verification"].hash == "cd21bc8e5a82a240"
    for kit, order in ((KIT, ("reason", "PASS")), (published, ("PASS", "reason"))):
        form = verdict_form(kit)
        assert form.index(order[0]) < form.index(order[1])


@pytest.mark.parametrize(
    "reply",
    [
        "PASS",
        "pass.",
        "**Pass**\nAll is well, no failure of style.",
        "Passed",
        "PASS\nFailed criteria: none",
        "\n pass: all met",
        "Each river is in a source of its own, and the sum is right.\nPASS",
        "style: met. answer: met. necessity: met.\n\n**PASS**\n",
        "All is well.\nVerdict: PASS.",
    ],
)
def test_passes(reply: str) -> None:
    found = parse_verdict(reply)
    assert isinstance(found, Verdict)
    assert found.passed
    assert found.miss is None


@pytest.mark.parametrize(
    ("reply", "failed", "outcome"),
    [
        ("FAIL: answer\n620 and 420 are 1,040.", ("answer",), "answer_fail"),
        ("fail: necessity, style", ("style", "necessity"), "style_fail"),
        ("**FAIL**: Necessity\nThe style is right.", ("necessity",), "necessity_fail"),
        ("Fail (2, 3)", ("answer", "necessity"), "answer_fail"),
        ("FAIL\nFailed criteria: necessity\nthe answer is fine", ("necessity",), "necessity_fail"),
        ("FAIL\nstyle\nmore", ("style",), "style_fail"),
        ("620 and 420 are 1,040, so the style is met.\nFAIL: answer", ("answer",), "answer_fail"),
        ("The text alone says it.\n**FAIL**: necessity, style.", ("style", "necessity"), "style_fail"),
        ("Fails in one point, the style is met.\nFAIL: necessity", ("necessity",), "necessity_fail"),
        ("The style is met.\nFAIL: answer - the sum is wrong", ("answer",), "answer_fail"),
    ],
)
def test_fails_are_named_after_their_first_criterion(
    reply: str, failed: tuple[str, ...], outcome: str
) -> None:
    found = parse_verdict(reply)
    assert isinstance(found, Verdict)
    assert not found.passed
    assert found.failed == failed
    assert found.miss is not None
    assert found.miss.outcome == outcome


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "PASS\nFAIL: style",
        "FAIL: style\nPASS",
        "The sum is wrong.\nFAIL",
        "The sum is wrong.\nPASS, but for the answer",
        "The sum is right.\nPASS\nThat is all.",
        "I think it passes.",
        "passport",
        "yes",
        "FAIL",
        "FAIL: it is bad",
        "PASS\nFailed: necessity",
        "failure: style",
        "1",
    ],
)
def test_what_cannot_be_read_rejects(reply: str) -> None:
    found = parse_verdict(reply)
    assert isinstance(found, Miss)
    assert found.outcome == "verify_unparsed"


def test_outcomes() -> None:
    assert read_verdict(Reply(text="<think>FAIL: style?</think>PASS")) == Verdict(True, (), "PASS")
    for outcome, code in ((Refusal(), "verify_unparsed"), (Truncated(text="PASS"), "verify_unparsed"), (Failure(kind="budget", message="x"), "budget_stop")):  # fmt: skip
        found = read_verdict(outcome)
        assert isinstance(found, Miss)
        assert found.outcome == code


@given(
    st.lists(
        st.sampled_from(
            [
                "pass",
                "FAIL",
                ":",
                " ",
                "\n",
                "style",
                "answer",
                "necessity",
                "none",
                "1",
                "9",
                "Failed: ",
                "x",
            ]
        ),
        max_size=12,
    ).map("".join)
    | st.text()
)
def test_no_text_raises_and_a_fail_names_what_failed(text: str) -> None:
    found = parse_verdict(text)
    if isinstance(found, Verdict):
        assert found.passed != bool(found.failed)
        assert (found.miss is None) == found.passed
    else:
        assert found.outcome == "verify_unparsed"


@pytest.mark.parametrize("piece", ["\n", "failed ", "PASS ", "* ", "1", "criteria failed"])
def test_a_hostile_reply_costs_little(piece: str) -> None:
    for head in ("", "PASS", "FAIL", "FAIL\n"):
        parse_verdict(head + piece * (200_000 // len(piece)))
