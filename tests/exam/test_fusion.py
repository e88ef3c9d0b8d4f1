"""Fusing hits: the two formulas by hand, ties, and what must not change a result."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.corpus.index.hits import NOTHING, Hits
from proctor.errors import UserError
from proctor.exam.fusion import HybridRetriever, filled_up, reciprocal_rank_fusion, zscore_fusion
from proctor.exam.retrieval import Query


def hits(*rows: list[tuple[int, float]], width: int | None = None) -> Hits:
    width = max(map(len, rows), default=0) if width is None else width
    positions = np.full((len(rows), width), NOTHING, dtype=np.int64)
    scores = np.full((len(rows), width), -np.inf, dtype=np.float32)
    for r, row in enumerate(rows):
        for c, (position, score) in enumerate(row):
            positions[r, c], scores[r, c] = position, score
    return Hits(positions, scores)


def test_reciprocal_ranks_are_summed():
    a = hits([(7, 9.0), (3, 8.0), (5, 1.0)])
    b = hits([(3, 0.9), (8, 0.5)])
    found = reciprocal_rank_fusion([a, b], 4)
    assert found.positions.tolist() == [[3, 7, 8, 5]]
    expected = [1 / 62 + 1 / 61, 1 / 61, 1 / 62, 1 / 63]
    np.testing.assert_allclose(found.scores[0], expected, rtol=1e-6)


def test_equal_scores_are_in_the_order_of_positions():
    found = reciprocal_rank_fusion([hits([(9, 1.0)]), hits([(2, 5.0)])], 3)
    assert found.positions.tolist() == [[2, 9, NOTHING]]
    assert found.scores[0, 2] == -np.inf


def test_a_source_that_is_named_again_counts_once():
    found = reciprocal_rank_fusion([hits([(4, 3.0), (4, 2.0), (1, 1.0)])], 3)
    assert found.positions.tolist() == [[4, 1, NOTHING]]
    assert found.scores[0, 0] == pytest.approx(1 / 61)


def test_standardised_scores_are_summed_and_what_is_not_found_counts_like_the_last():
    a = hits([(0, 3.0), (1, 2.0), (2, 1.0)])  # mean 2, deviation sqrt(2/3)
    b = hits([(2, 10.0), (5, 0.0)])  # mean 5, deviation 5
    found = zscore_fusion([a, b], 5)
    deviation = (2 / 3) ** 0.5
    expected = {0: 2 / deviation, 1: 1 / deviation, 2: 0 + 10 / 5, 5: 0.0}
    assert found.positions.tolist() == [[0, 2, 1, 5, NOTHING]]
    got = dict(zip(found.positions[0, :4].tolist(), found.scores[0, :4].tolist(), strict=True))
    assert got == pytest.approx(expected, abs=1e-6)


def test_one_hit_or_equal_scores_have_no_deviation():
    found = zscore_fusion([hits([(3, 7.0)]), hits([(4, 1.0), (2, 1.0)])], 3)
    assert found.positions.tolist() == [[2, 3, 4]]
    assert found.scores.tolist() == [[0.0, 0.0, 0.0]]


def test_a_search_is_filled_up_by_the_next_one_and_keeps_its_order():
    words = hits([(7, 9.0), (2, 1.0)], [])
    vectors = hits([(2, 0.9), (5, 0.8), (7, 0.5), (1, 0.1)], [(4, 0.2), (3, 0.1)])
    found = filled_up([words, vectors], 3)
    assert found.positions.tolist() == [[7, 2, 5], [4, 3, NOTHING]]
    assert found.scores[0].tolist() == pytest.approx([1, 1 / 2, 1 / 3])
    assert filled_up([words, vectors], 1).positions.tolist() == [[7], [4]]
    assert filled_up([vectors, words], 3).positions[0].tolist() == [2, 5, 7]


def test_queries_do_not_touch_each_other_and_one_may_have_no_hits():
    a = hits([(1, 1.0)], [], [(2, 1.0)])
    b = hits([(1, 1.0)], [], [(0, 1.0)])
    for fused in (reciprocal_rank_fusion([a, b], 2), zscore_fusion([a, b], 2)):
        assert fused.positions.tolist() == [[1, NOTHING], [NOTHING, NOTHING], [0, 2]]


@pytest.mark.parametrize("fuse", [reciprocal_rank_fusion, zscore_fusion])
def test_what_cannot_be_fused(fuse):
    with pytest.raises(UserError, match="no hits to fuse"):
        fuse([], 3)
    with pytest.raises(UserError, match="different numbers of queries"):
        fuse([hits([(1, 1.0)]), hits([(1, 1.0)], [(1, 1.0)])], 3)
    with pytest.raises(UserError, match="at least one source"):
        fuse([hits([(1, 1.0)])], 0)


def test_a_score_that_is_no_number_cannot_be_standardised():
    with pytest.raises(UserError, match="no finite score"):
        zscore_fusion([hits([(1, float("nan"))])], 1)
    with pytest.raises(UserError, match="cannot be negative"):
        reciprocal_rank_fusion([hits([(1, 1.0)])], 1, constant=-1)


@st.composite
def runs(draw: st.DrawFn) -> list[Hits]:
    queries = draw(st.integers(1, 4))
    made = []
    for _ in range(draw(st.integers(1, 4))):
        rows = []
        for _ in range(queries):
            places = draw(st.lists(st.integers(0, 12), unique=True, max_size=6))
            scores = sorted(
                draw(st.lists(st.floats(-5, 5, width=32), min_size=len(places), max_size=len(places))),
                reverse=True,
            )
            rows.append(list(zip(places, scores, strict=True)))
        made.append(hits(*rows, width=6))
    return made


@given(runs(), st.integers(1, 20), st.randoms(use_true_random=False))
def test_the_order_of_the_retrievers_changes_nothing(made, k, random):
    shuffled = list(made)
    random.shuffle(shuffled)
    for fuse in (reciprocal_rank_fusion, zscore_fusion):
        first, second = fuse(made, k), fuse(shuffled, k)
        assert first.positions.tolist() == second.positions.tolist()
        assert first.scores.tobytes() == second.scores.tobytes()


@given(runs(), st.integers(1, 20))
def test_fused_hits_are_sorted_unique_and_come_from_somewhere(made, k):
    for fused in (reciprocal_rank_fusion(made, k), zscore_fusion(made, k)):
        for q in range(len(fused)):
            found = [p for p in fused.positions[q].tolist() if p != NOTHING]
            given_ = {p for run in made for p in run.positions[q].tolist()} - {NOTHING}
            assert len(found) == len(set(found)) == min(k, len(given_))
            assert set(found) <= given_
            scores = fused.scores[q, : len(found)].tolist()
            assert list(zip([-s for s in scores], found, strict=True)) == sorted(
                zip([-s for s in scores], found, strict=True)
            )


@given(runs(), st.integers(1, 20))
def test_one_list_alone_keeps_its_order(made, k):
    one = reciprocal_rank_fusion(made[:1], k)
    for q in range(len(one)):
        wanted = [p for p in made[0].positions[q].tolist() if p != NOTHING][:k]
        assert one.positions[q].tolist()[: len(wanted)] == wanted


class Fixed:
    """A retriever with one list for every query; keeps how deep it was asked."""

    def __init__(self, name, places, embedders=()):
        self.name, self.places, self.embedders = name, places, frozenset(embedders)
        self.settings = {"pool": "all"}
        self.asked = []

    def search(self, queries, k):
        self.asked.append(k)
        row = [(p, float(len(self.places) - i)) for i, p in enumerate(self.places)][:k]
        return hits(*[row for _ in queries], width=k)


def test_a_hybrid_asks_deeper_than_it_answers():
    a, b = Fixed("bm25", [1, 2, 3, 4]), Fixed("dense", [4, 3, 2, 1], ["e5"])
    hybrid = HybridRetriever((a, b), depth=4)
    assert hybrid.name == "rrf(bm25+dense)"
    assert hybrid.embedders == {"e5"}
    assert hybrid.settings["bm25.pool"] == "all"
    assert hybrid.settings["rrf"] == "60"
    found = hybrid.search([Query("q"), Query("r")], 2)
    assert a.asked == b.asked == [4]
    assert found.positions.shape == (2, 2)
    assert set(found.positions[0].tolist()) == {1, 4}
    assert HybridRetriever((a, b), "zscore").search([Query("q")], 4).positions.shape == (1, 4)


def test_no_hybrid_of_one_and_no_unknown_fusion():
    a, b = Fixed("a", [1]), Fixed("b", [1])
    with pytest.raises(UserError, match="at least two"):
        HybridRetriever((a,))
    with pytest.raises(UserError, match="there is no fusion 'mean'"):
        HybridRetriever((a, b), "mean")
    with pytest.raises(UserError, match="at least one source"):
        HybridRetriever((a, b), depth=0)
