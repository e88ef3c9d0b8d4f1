"""Checks that need no model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.ask.documents.checks import (
    check_captions,
    check_mentions,
    check_modalities,
    check_question,
    check_style,
    comparable,
    contains_phrase,
    question_key,
    same_answer,
)
from proctor.corpus.source import Source, image_source, table_source, text_source

TEXT = text_source("t", "Aar Bridge", "A bridge.")
TABLE = table_source("b", "Rivers", ["River"], [["Aar"]])
ALBUM = image_source("i", "Back to You (album)", "i.png")


def outcome_of(
    question: str, answer: str = "It is 3.", gold: tuple[Source, ...] = (TEXT,), **more: object
) -> str:
    counts = tuple(sum(s.modality == m for s in gold) for m in ("text", "table", "image"))
    miss = check_question(question, answer, gold, more.pop("modalities", counts), **more)  # type: ignore[arg-type]
    return miss.outcome if miss else "ok"


def test_modalities_must_agree_exactly() -> None:
    assert check_modalities([TEXT, ALBUM], (1, 0, 1)) is None
    for gold, wanted in (
        ((TEXT,), (1, 0, 1)),
        ((TEXT, TEXT), (1, 0, 0)),
        ((TABLE,), (1, 0, 0)),
        ((), (1, 0, 0)),
    ):
        miss = check_modalities(gold, wanted)  # type: ignore[arg-type]
        assert miss is not None
        assert miss.outcome == "modality_mismatch"
        assert "instead of" in miss.detail


@pytest.mark.parametrize(
    "question",
    [
        "What does passage 2 say?",
        "What does Source [3] say?",
        "Who is meant in image #1?",
        "According to the table, who won?",
        "According to a passage, who won?",
        "Which river in the given text is longest?",
        "What do both images show?",
        "What colour is the door in the image?",
        "What is in this picture?",
        "Who won [2]?",
        "Which of the two tables is longer?",
        "What is said in the first of the documents, the above document?",
        "What can be seen in the photograph of Ost?",
        "What is told in the above document?",
        "What do the provided sources say?",
        "Who is named in this source?",
        "What is Ost according to the chart?",
    ],
)
def test_questions_that_speak_of_their_sources(question: str) -> None:
    assert outcome_of(question) == "mentions_sources"


@pytest.mark.parametrize(
    "question",
    [
        "Which metal leads the periodic table of elements?",
        "What image do people have of Ost, and who painted it?",
        "Who invented table tennis in 1890?",
        "How many pictures did Mara paint before 1920?",
        "Which source feeds the Aar?",
        "How did texting change Ost?",
        "What is the tablet made of?",
        "Who wrote a text about Ost?",
        "In which year (1990) was it?",
        "Where is the source of the Aar?",
        "Who coached the figure skater Ost?",
        "How many medals did the table tennis team win?",
        "Which song topped the charts in 1990?",
        "Who directed her first picture, and who won best picture?",
        "What did the document signed in Ost end?",
    ],
)
def test_questions_that_merely_use_such_words(question: str) -> None:
    assert outcome_of(question) == "ok"


def test_titles_may_have_such_words() -> None:
    film = text_source("f", "Passage 12", "A film.")
    assert outcome_of("Who directed Passage 12?") == "mentions_sources"
    assert outcome_of("Who directed Passage 12?", gold=(film,)) == "ok"


def test_an_answer_may_name_a_table_and_no_number() -> None:
    assert outcome_of("Why?", "Because the table was full.") == "ok"
    assert outcome_of("Why?", "Because, as source 2 says, it was full.") == "mentions_sources"


@pytest.mark.parametrize(
    ("question", "caption", "is_there"),
    [
        ("Who sings on Back to You?", "Back to You (album)", True),
        ("Who sings on BACK  to you?", "Back to You (album)", True),
        ("Who sings on Back to You (album)?", "Back to You (album)", True),
        ("Who sings on Back to Youth?", "Back to You (album)", False),
        ("Who sings on it?", "Back to You (album)", False),
        ("What is on the cover of “Fallout 4: Nuka–World”?", "Fallout 4 : Nuka-World", True),
        ("Who's on Rock 'n' Roll?", "Rock ’n’ Roll", True),
        ("What is (it)?", "(it)", True),
        ("Anything?", "", True),
        ("Anything?", "w " * 13, True),
        ("Anything?", "w " * 12, False),
        ("Where is the Café?", "Cafe\u0301", True),
    ],
)
def test_captions_of_cited_images(question: str, caption: str, is_there: bool) -> None:
    miss = check_captions(question, [TEXT, image_source("i", caption, "i.png")])
    assert (miss is None) == is_there
    assert miss is None or miss.outcome == "caption_missing"


def test_joined_questions_hide_captions() -> None:
    gold = (TEXT, ALBUM)
    assert outcome_of("Who sings on it?", gold=gold) == "caption_missing"
    assert outcome_of("Who sings on it?", gold=gold, combined=True) == "ok"


def test_numbers_in_answers() -> None:
    assert check_style(("digit",), "It is 12 %.") is None
    assert check_style(("digit",), "It is ١٢.") is None
    miss = check_style(("digit",), "It is twelve².")
    assert miss is not None
    assert miss.outcome == "no_digit"
    assert check_style((), "It is twelve.") is None


def test_the_cheapest_check_comes_first() -> None:
    assert (
        outcome_of("See the table?", "no", (ALBUM,), modalities=(1, 0, 0), checks=("digit",))
        == "modality_mismatch"
    )
    assert outcome_of("See the table?", "no", (ALBUM,), checks=("digit",)) == "mentions_sources"
    assert outcome_of("See?", "no", (ALBUM,), checks=("digit",)) == "caption_missing"
    assert outcome_of("See Back to You?", "no", (ALBUM,), checks=("digit",)) == "no_digit"


@pytest.mark.parametrize(
    ("answer", "entity", "same"),
    [
        ("The Grebe.", "grebe", True),
        ("“Grebe”", "Grebe", True),
        ("Lake  Hurn", "lake hurn", True),
        ("It is the Grebe", "Grebe", False),
        ("Grebes", "Grebe", False),
        ("the", "a", False),
        ("", "", False),
        ("D.C.", "DC", True),
        ("World 's Fair", "World's Fair", True),
    ],
)
def test_answers_that_are_an_entity(answer: str, entity: str, same: bool) -> None:
    assert same_answer(answer, entity) == same


def test_phrases_are_whole_words() -> None:
    assert contains_phrase("Is the C++ book there?", "c++")
    assert contains_phrase("Is it in (Ost)?", "Ost")
    assert not contains_phrase("Is it in Oster?", "Ost")
    assert not contains_phrase("What??", "?")
    assert question_key("What is the Aar?") == question_key("what IS Aar")
    assert question_key("??") == "??"


@pytest.mark.parametrize("piece", ["the ", "the first ", "table ", "image # ", "[1, ", "( ", " "])
def test_hostile_text_costs_little(piece: str) -> None:
    text = piece * (8_000 // len(piece)) + "x"
    check_mentions(text, text, [TEXT])
    contains_phrase(text, piece + "y")
    check_captions(text, [image_source("i", text, "i.png")])


@given(st.text(max_size=40), st.text(max_size=20), st.text(max_size=40))
def test_any_text_can_be_checked(question: str, caption: str, answer: str) -> None:
    gold = [image_source("i", caption, "i.png")]
    check_question(question, answer, gold, (0, 0, 1), checks=("digit",))
    check_mentions(question, answer, gold)
    if any(char.isalnum() for char in comparable(caption)):
        assert contains_phrase(f"x {caption} y", caption)
