"""Passages: nothing is lost, nothing crosses a section, lengths are kept."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.corpus.ingest.assemble import Passage, Section, cut_passages, document_text
from proctor.corpus.ingest.blocks import Paragraph

words = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=30
) | st.sampled_from(["end.", "Why?", "x" * 130, "。", 'said."'])
paragraphs = st.builds(
    Paragraph, st.lists(words, max_size=60).map(" ".join), st.integers(min_value=1, max_value=9)
)
sections = st.lists(
    st.builds(Section, st.text("ab", max_size=2), st.lists(paragraphs, max_size=6)), max_size=4
)
lengths = st.integers(min_value=20, max_value=300)


def squeezed(text: str) -> str:
    return "".join(text.split())


@settings(max_examples=150)
@given(sections, lengths, st.integers(min_value=1, max_value=100))
def test_nothing_is_lost_and_nothing_crosses_a_section(
    document: list[Section], length: int, minimum: int
) -> None:
    minimum = min(minimum, length)
    passages = list(cut_passages(document, length=length, minimum=minimum))
    text = document_text(document)
    assert squeezed("".join(p.body for p in passages)) == squeezed(text)
    for passage in passages:
        assert text[passage.start : passage.end] == passage.body == passage.body.strip()
        assert len(passage.body) < length + 2 * minimum + 2
    assert all(a.end <= b.start for a, b in pairwise(passages))
    ends, offset = [], 0
    for section in document:
        offset += len(document_text([section])) + 1 if document_text([section]) else 0
        ends.append(offset)
    starts = [0, *ends]
    for passage in passages:
        assert any(a <= passage.start and passage.end <= b for a, b in zip(starts, ends, strict=False))


@settings(max_examples=60)
@given(sections, lengths)
def test_only_a_short_section_has_a_short_passage(document: list[Section], length: int) -> None:
    minimum = length // 3 + 1
    for section in document:
        passages = list(cut_passages([section], length=length, minimum=minimum))
        if len(passages) > 1:
            assert all(len(p.body) >= minimum for p in passages)


def of(*texts: str, length: int = 100, minimum: int = 20) -> list[Passage]:
    return list(cut_passages([Section("s", [Paragraph(t) for t in texts])], length=length, minimum=minimum))


def test_whole_paragraphs_are_packed_while_they_fit() -> None:
    assert [p.body for p in of("a" * 40, "b" * 40, "c" * 40)] == ["a" * 40 + "\n" + "b" * 40, "c" * 40]


def test_a_short_last_passage_joins_the_one_before() -> None:
    assert [len(p.body) for p in of("a" * 95, "b" * 10)] == [106]


def test_a_short_first_paragraph_takes_in_the_next() -> None:
    assert [len(p.body) for p in of("a" * 10, "b" * 98, "c" * 30)] == [109, 30]


def test_a_long_paragraph_is_cut_behind_sentences() -> None:
    bodies = [p.body for p in of(" ".join(["One two three four five six."] * 8))]
    assert len(bodies) == 3
    assert all(body.endswith("six.") for body in bodies)


def test_without_sentences_it_is_cut_between_words_and_without_words_anywhere() -> None:
    assert all(w == "word" for p in of(" ".join(["word"] * 60)) for w in p.body.split())
    assert [len(p.body) for p in of("x" * 250)] == [100, 100, 50]


def test_a_sentence_that_ends_just_behind_the_window() -> None:
    assert [p.body for p in of("x" * 100 + "。", minimum=1)] == ["x" * 100, "。"]
    assert [p.body for p in of("x" * 99 + "。" + "y" * 50)] == ["x" * 99 + "。", "y" * 50]
    assert [p.body for p in of("x" * 99 + ". " + "y" * 50)] == ["x" * 99 + ".", "y" * 50]


def test_pages_and_offsets() -> None:
    section = Section("s", [Paragraph("a" * 30, 3), Paragraph("b" * 30, 4), Paragraph("c" * 90, 4)])
    first, second = cut_passages([section], length=100, minimum=20)
    assert (first.page, first.last_page, first.start, first.end) == (3, 4, 0, 61)
    assert (second.page, second.last_page, second.start, second.end) == (4, 4, 62, 152)


@pytest.mark.parametrize("texts", [[], [""], ["  \n "]])
def test_no_text_no_passages(texts: list[str]) -> None:
    assert of(*texts) == []
