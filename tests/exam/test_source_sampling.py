"""Samples that are even over styles and modalities."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.documents import document

from proctor.errors import UserError
from proctor.exam.kinds.documents_question import modalities_of
from proctor.exam.source_sampling import sample_evenly

COMBINATIONS = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0)]


def questions(*counts):
    """So many questions of each combination, in two styles."""
    return [
        document(f"{style}-{c}-{n}", style=style, modalities=COMBINATIONS[c])
        for style in ("ie", "mh")
        for c, count in enumerate(counts)
        for n in range(count)
    ]


def test_styles_have_the_same_number_and_modalities_take_turns():
    drawn = sample_evenly(questions(50, 50, 2), 11, random.Random(1))
    found = Counter((q.facets["style"], q.facets["combination"]) for q in drawn)
    for style in ("ie", "mh"):
        assert found[style, "image"] == 2
        assert abs(found[style, "text"] - found[style, "table"]) <= 1
        assert sum(n for (s, _), n in found.items() if s == style) == 11


@given(st.lists(st.integers(0, 6), min_size=1, max_size=4), st.integers(1, 8), st.integers(0, 2**32))
def test_a_sample_is_even_unique_and_does_not_hang_on_the_order(counts, wanted, seed):
    asked = questions(*counts)
    if sum(counts) < wanted:
        with pytest.raises(UserError):
            sample_evenly(asked, wanted, random.Random(seed))
        return
    drawn = sample_evenly(asked, wanted, random.Random(seed))
    assert sample_evenly(asked[::-1], wanted, random.Random(seed)) == drawn
    assert len({q.id for q in drawn}) == len(drawn) == 2 * wanted
    for style in ("ie", "mh"):
        taken = Counter(modalities_of(q) for q in drawn if q.facets["style"] == style)
        most = max(taken.values())
        for c, count in enumerate(counts):
            # Nobody has two fewer than the most, unless it has given all.
            assert taken[COMBINATIONS[c]] >= min(count, most - 1)


def test_what_cannot_be_drawn():
    with pytest.raises(UserError, match="'ie' has 3 questions, 4 are to be drawn"):
        sample_evenly(questions(3), 4, random.Random(0))
    with pytest.raises(UserError, match="cannot be drawn"):
        sample_evenly([], 1, random.Random(0))
    with pytest.raises(UserError, match="cannot be drawn"):
        sample_evenly(questions(3), 0, random.Random(0))
    with pytest.raises(UserError, match="have this id"):
        sample_evenly(questions(1) * 2, 1, random.Random(0))
