from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.corpus.index.hits import NOTHING, best, hits_of, merge_hits, no_hits


@given(st.lists(st.integers(-3, 3), max_size=40), st.integers(-1, 45))
def test_the_best_are_those_of_a_stable_sort(values: list[int], k: int):
    scores = np.array(values, np.float32)
    expected = sorted(range(len(values)), key=lambda n: (-values[n], n))[: max(k, 0)]
    assert best(scores, k).tolist() == expected


def test_minus_infinity_is_a_score_like_others():
    scores = np.array([-np.inf, 1, -np.inf, 2], np.float32)
    assert best(scores, 3).tolist() == [3, 1, 0]


@given(
    st.lists(st.lists(st.integers(0, 4), max_size=6), min_size=1, max_size=3),
    st.integers(1, 8),
)
def test_merged_parts_are_the_whole(parts: list[list[int]], k: int):
    whole: list[int] = [value for part in parts for value in part]
    hits, start = [], 0
    for part in parts:
        scores = np.array(part, np.float32)
        found = best(scores, k)
        hits.append(hits_of([(found + start, scores[found])], k))
        start += len(part)
    merged = merge_hits(hits, k)
    found = best(np.array(whole, np.float32), k)
    assert merged.positions[0, : len(found)].tolist() == found.tolist()
    assert (merged.positions[0, len(found) :] == NOTHING).all()
    assert np.isneginf(merged.scores[0, len(found) :]).all()


@pytest.mark.parametrize("queries", [0, 2])
def test_no_hits_have_the_shape_that_was_asked_for(queries: int):
    assert no_hits(queries, 3).positions.shape == (queries, 3)
    assert len(no_hits(queries, 3)) == queries
