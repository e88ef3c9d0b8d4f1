"""Who repeats whom: words, meaning, sources; blocks change nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ask.documents.angles import embed_by_number
from tests.documents import document

from proctor.ask.documents import duplicates
from proctor.ask.documents.duplicates import DuplicateFilter, Repeats, normalise_question, question_hash
from proctor.exam.kinds.documents_question import DocumentFacts


def question(id: str, text: str, *, gold: tuple[str, ...] = (), entity: str = "", style: str = "numerical"):
    return document(
        id, style=style, text=text, answer="a", gold=gold or (id,), facts=DocumentFacts(entity=entity)
    )


def test_words_count_and_not_how_they_are_written():
    assert normalise_question("  What’s  the ＮＡＭＥ, of\nX?") == "what s the name of x"
    assert question_hash("Who won?") == question_hash("who WON")
    assert question_hash("Who won?") != question_hash("Who one?")
    assert len(question_hash("")) == 16


def test_the_same_words_are_a_repetition_of_the_first():
    found = DuplicateFilter().admit(
        [question("a", "Who won?"), question("b", "who won"), question("c", "Who?")]
    )
    assert found == [None, Repeats(of="a", by="words"), None]


def test_the_same_entity_and_sources_are_one_within_a_style_alone():
    first = question("a", "x", gold=("s", "t"), entity="The Cup")
    same = question("b", "y", gold=("t", "s"), entity="the cup")
    other_style = question("c", "z", gold=("s", "t"), entity="The Cup", style="compound")
    other_entity = question("d", "w", gold=("s", "t"), entity="A Cup")
    assert DuplicateFilter().admit([first, same, other_style, other_entity]) == [
        None,
        Repeats(of="a", by="sources"),
        None,
        None,
    ]


def test_near_ones_are_found_above_the_limit_only():
    texts = ("a 0", "b 18", "c 19")  # cosines with the first: .95106, .94552
    found = DuplicateFilter(embed_by_number).admit([question(t, t) for t in texts])
    assert found[0] is None
    assert found[1] is not None
    assert (found[1].of, found[1].by) == ("a 0", "meaning")
    assert found[1].similarity == pytest.approx(0.951057, abs=2e-6)
    assert "a 0" in found[1].detail
    assert "0.951" in found[1].detail
    assert found[2] is None, "what was not admitted is not compared with"


def test_a_later_call_remembers_the_former_ones():
    known = DuplicateFilter(embed_by_number)
    assert known.admit([question("a", "x 0"), question("b", "y 90")]) == [None, None]
    again = known.admit([question("c", "z 91"), question("d", "x 0"), question("e", "w 45")])
    assert [r.of if r else None for r in again] == ["b", "a", None]


@given(
    st.lists(st.tuples(st.integers(0, 40), st.sampled_from("ab")), max_size=40),
    st.integers(1, 7),
    st.integers(1, 41),
)
def test_blocks_and_batches_change_nothing(numbers, block, batch):
    questions = [question(f"q{n}", f"is it {a * 9}", entity=e) for n, (a, e) in enumerate(numbers)]
    whole = DuplicateFilter(embed_by_number).admit(questions)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "_BLOCK", block)
        known = DuplicateFilter(embed_by_number)
        parts = [r for at in range(0, len(questions), batch) for r in known.admit(questions[at : at + batch])]
    assert [r and (r.of, r.by) for r in parts] == [r and (r.of, r.by) for r in whole]
    kept = [q for q, r in zip(questions, whole, strict=True) if r is None]
    assert DuplicateFilter(embed_by_number).admit(kept) == [None] * len(kept), "those that stay repeat nobody"
