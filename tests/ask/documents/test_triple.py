"""Reading question, answer and citations: a table of replies, what models put around it, and any text at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.ask.documents.prompting import Miss
from proctor.ask.documents.triple import Triple, is_none, parse_pair, parse_triple


def test_the_worked_examples(shared_expected: Callable[[str], dict[str, Any]]) -> None:
    """``expected.json``: ``refusal`` and ``empty_question`` are the outcomes ``refused`` and ``format_error``."""
    worked = shared_expected("smmqg-instructionbench")["generation_parse"]
    assert len(worked["cases"]) == 10
    for reply, wanted in worked["cases"]:
        found = parse_triple(reply, worked["enumerated"])
        if isinstance(wanted, str):
            assert isinstance(found, Miss), reply
            assert found.outcome == {"refusal": "refused", "empty_question": "format_error"}.get(
                wanted, wanted
            )
            assert wanted != "empty_question" or "empty question" in found.detail
        else:
            assert isinstance(found, Triple), reply
            assert list(found.cites) == wanted["cites"]
            assert found.question == wanted.get("question", found.question)
            assert found.answer == wanted.get("answer", found.answer)


TRIPLE = Triple("What is X?", "It is Y.", (1, 3))


@pytest.mark.parametrize(
    "reply",
    [
        "What is X? | It is Y. | 1, 3",
        "What is X?|It is Y.|1,3",
        "| What is X? | It is Y. | 1, 3 |",
        "Question: What is X? | Answer: It is Y. | Citations: 1, 3",
        "**Question:** What is X? | **Answer:** It is Y. | **Sources:** [1], [3]",
        "```\nWhat is X? | It is Y. | 1, 3\n```",
        "What is X?\n| It is Y.\n| 1\n3",
        "What is X? | It is Y. | Passage 1 and Image 3",
        "What is X? | It is Y. | 1, 3, 1, 3.",
        "What is X? | It is Y. | Sources 1 & 3",
        "What\r\nis X? | It is Y. | 001, 03",
    ],
)
def test_every_form_gives_the_same_triple(reply: str) -> None:
    assert parse_triple(reply, 3) == TRIPLE


@pytest.mark.parametrize(
    ("reply", "note"),
    [
        ("Here is my question:\nWhat is X? | It is Y. | 1, 3", "text_before_question"),
        (
            "What is X? | It is Y. | 1, 3\n\nBoth sources are needed because of the 1995 film.",
            "text_after_citations",
        ),
        ("What is X? | It is Y. | 1, 3\nWhat is Z? | It is W. | 2", "more_triples"),
        ("1. What is X? | It is Y. | 1, 3\n2. What is Z? | It is W. | 2", "more_triples"),
        ("What is X? | It is Y. | 1, 3\n\nWhat is Z? | It is W. | [9]", "more_triples"),
        ("| What is X? | It is Y. | 1, 3 |\n| What is Z? | It is W. | 2 |", "more_triples"),
    ],
)
def test_what_is_passed_over_is_noted(reply: str, note: str) -> None:
    found = parse_triple(reply, 3)
    assert isinstance(found, Triple), found
    assert (found.question.removeprefix("| "), found.answer, found.cites) == (
        "What is X?",
        "It is Y.",
        (1, 3),
    )
    assert found.notes == (note,)


def test_an_answer_may_have_lines_bars_and_numbers() -> None:
    reply = "How much? | 3 | 4 are:\n- 3 |\n- 4\nso 12. | 2"
    assert parse_triple(reply, 2) == Triple("How much?", "3 | 4 are:\n- 3 |\n- 4\nso 12.", (2,))


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ("", "format_error"),
        ("What is X?", "format_error"),
        ("What is X? | It is Y.", "format_error"),
        ("What is X? |  | 1", "format_error"),
        ("?? | It is Y. | 1", "format_error"),
        ("What is X? | ... | 1", "format_error"),
        ("x" * 2000 + " | It is Y. | 1", "format_error"),
        ("What is X? | " + "y" * 10_000 + " | 1", "format_error"),
        ("What is X? | It is Y. | 0", "citation_out_of_range"),
        ("What is X? | It is Y. | 1, 4", "citation_out_of_range"),
        ("What is X? | It is Y. | " + "9" * 5000, "citation_out_of_range"),
        ("What is X? | It is Y. | 1" + "0" * 400, "citation_out_of_range"),
        ("What is X? | It is Y. | 1 (the film of 1995)", "citation_out_of_range"),
        ("What is X? | It is Y. | the first", "no_citation"),
        ("What is X? | It is Y. |", "no_citation"),
        ("**None**", "refused"),
        ('"NONE."', "refused"),
        ("None | | ", "refused"),
        ("None | It is Y. | 1", "refused"),
    ],
)
def test_what_cannot_be_used_has_its_outcome(reply: str, outcome: str) -> None:
    found = parse_triple(reply, 3)
    assert isinstance(found, Miss)
    assert found.outcome == outcome
    assert len(found.detail) < 400


PIECES = st.lists(
    st.one_of(
        st.sampled_from(["|", " | ", "\n", "None", "none.", "What is X?", "It is Y.", "1", "2, 3", "[2]", "Passage 7", "```", "Answer:", "²", "٣", "\u2028"]),
        st.text(max_size=8),
    ),
    max_size=14,
)  # fmt: skip


@given(PIECES, st.integers(1, 5))
def test_no_text_raises_and_what_is_read_can_be_used(pieces: list[str], sources: int) -> None:
    reply = "".join(pieces)
    found = parse_triple(reply, sources)
    if isinstance(found, Triple):
        assert found.question.strip()
        assert found.answer.strip()
        assert found.cites
        assert len(set(found.cites)) == len(found.cites)
        assert all(1 <= number <= sources for number in found.cites)
        assert "|" in reply
    else:
        assert found.outcome in ("refused", "format_error", "no_citation", "citation_out_of_range")
    pair = parse_pair(reply)
    assert isinstance(pair, Miss) or (pair.question and pair.answer and not pair.cites)


WORDS = st.from_regex(r"[A-Za-z][A-Za-z ,.?]{0,30}[a-z?.]", fullmatch=True).filter(
    lambda t: not is_none(t) and t.casefold().split()[0] not in ("q", "a")
)


@given(WORDS, st.lists(WORDS, min_size=1, max_size=4), st.lists(st.integers(1, 6), min_size=1, max_size=4))
def test_what_is_written_in_the_form_comes_back(question: str, answers: list[str], cites: list[int]) -> None:
    answer = "|".join(answers)
    found = parse_triple(f"{question} | {answer} | {', '.join(map(str, cites))}", 6)
    assert found == Triple(" ".join(question.split()), answer.strip(), tuple(dict.fromkeys(cites)))


def test_a_pair_is_split_at_the_first_bar() -> None:
    assert parse_pair("Who? | A, then B | C.") == Triple("Who?", "A, then B | C.")
    assert parse_pair("Here it is:\nWho? | A.") == Triple("Who?", "A.", (), ("text_before_question",))
    for reply, outcome in (("None.", "refused"), ("None | None", "refused"), ("Who?", "format_error"), (" | A", "format_error"), ("Who? | ", "format_error")):  # fmt: skip
        found = parse_pair(reply)
        assert isinstance(found, Miss)
        assert found.outcome == outcome


@pytest.mark.parametrize("piece", ["|", "\n", "1, ", "a|1\n", "```\n", "Passage 1 and ", "* ", "( "])
def test_a_hostile_reply_costs_little(piece: str) -> None:
    parse_triple(piece * (200_000 // len(piece)), 3)
    parse_triple("q | a | " + piece * (200_000 // len(piece)) + "é", 3)
