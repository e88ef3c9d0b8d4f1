"""Near matches in lists of known questions: by words, n-grams and vectors, the surest first."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ask.documents.angles import embed_by_number

from proctor.ask.documents.contamination import ContaminationRules, find_near_matches
from proctor.ask.documents.duplicates import normalise_question
from proctor.errors import UserError

KNOWN = ["Who won the cup in 2012?", "Which river flows through the town of Ulm today?", "Why?"]


def test_the_same_words_are_found_whatever_their_form():
    (match,) = find_near_matches([("q", "who won the CUP, in 2012")], {"mmqa": KNOWN})
    assert (match.id, match.list, match.place, match.by, match.value) == ("q", "mmqa", 0, "words", 1.0)
    assert match.other == KNOWN[0]


def test_shared_ngrams_are_counted():
    # 9 words, 7 trigrams each; they differ in the last word: 6 of 8 are shared
    (match,) = find_near_matches([("q", "Which river flows through the town of Ulm now?")], {"l": KNOWN})
    assert (match.place, match.by, match.value) == (1, "ngrams", 0.75)
    strict = ContaminationRules(jaccard=0.76)
    assert (
        find_near_matches(
            [("q", "Which river flows through the town of Ulm now?")], {"l": KNOWN}, rules=strict
        )
        == []
    )


def test_short_and_empty_questions():
    assert [m.by for m in find_near_matches([("q", "why")], {"l": KNOWN})] == ["words"]
    assert find_near_matches([("q", "?!")], {"l": ["...", ""]}) == [], "no words are no match"
    assert find_near_matches([], {"l": KNOWN}) == []
    assert find_near_matches([("q", "x")], {"l": []}, embed=embed_by_number) == []


def test_vectors_find_what_words_do_not():
    known = [f"old {n * 10}" for n in range(9)]
    (match,) = find_near_matches([("q", "new 31")], {"l": known}, embed=embed_by_number)
    assert (match.place, match.by) == (3, "cosine")
    assert match.value == pytest.approx(np.cos(np.radians(1)), abs=1e-5)
    assert find_near_matches([("q", "new 120")], {"l": known}, embed=embed_by_number) == []


def test_matches_come_in_the_order_of_questions_and_lists():
    found = find_near_matches(
        [("b", "why"), ("a", "who won the cup in 2012"), ("c", "nothing like it")],
        {"two": KNOWN, "one": ["why?"]},
    )
    assert [(m.id, m.list) for m in found] == [("b", "two"), ("b", "one"), ("a", "two")]


@pytest.mark.parametrize("values", [{"n": 0}, {"jaccard": 0.0}, {"jaccard": 1.5}, {"cosine": -1.0}])
def test_rules_that_make_no_sense(values):
    with pytest.raises(UserError, match="cannot be compared"):
        ContaminationRules(**values)


words = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=8).map(" ".join)


@given(words, st.lists(words, max_size=6), st.integers(1, 4))
def test_the_index_finds_what_comparing_all_finds(text, others, n):
    def grams(t):
        w = normalise_question(t).split()
        return {tuple(w[i : i + n]) for i in range(max(1, len(w) - n + 1))} if w else set()

    def jaccard(other):
        return len(grams(text) & grams(other)) / max(1, len(grams(text) | grams(other)))

    rules = ContaminationRules(n=n, jaccard=0.3)
    found = find_near_matches([("q", text)], {"l": others}, rules=rules)
    best = max(map(jaccard, others), default=0.0)
    if found and found[0].by == "words":
        assert others[found[0].place] == text
    else:
        assert bool(found) == (best >= 0.3)
        assert all(m.value == pytest.approx(best, abs=1e-6) for m in found)
