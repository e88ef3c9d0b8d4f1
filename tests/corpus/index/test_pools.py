from __future__ import annotations

import numpy as np
import pytest

from proctor.corpus.index.dense import DenseIndex
from proctor.corpus.index.hits import CODES, NOTHING
from proctor.corpus.index.lexical import LexicalIndex
from proctor.corpus.index.pools import search_pool
from proctor.errors import UserError

pytest.importorskip("faiss", reason="needs the extra 'corpus'")

KINDS = ["text", "text", "table", "text", "image", "table", "image"]
MODALITIES = np.array([CODES[m] for m in KINDS], np.int8)
ANGLES = np.deg2rad([0, 10, 40, 20, 60, 50, 70])
"""Texts lie near the query at 0 degrees, images far: raw scores never let an image win."""


@pytest.fixture
def dense() -> DenseIndex:
    vectors = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1).astype(np.float32)
    return DenseIndex.build(vectors, MODALITIES)


QUERY = np.array([[1, 0], [0, 1]], np.float32)


def test_all_sources_compete_in_one_ranking(dense: DenseIndex):
    hits = search_pool(dense, QUERY, [], 4)
    assert hits.positions.tolist() == [[0, 1, 3, 2], [6, 4, 5, 2]]


def test_required_modalities_compete_in_one_ranking(dense: DenseIndex):
    hits = search_pool(dense, QUERY, [(0, 1, 1), (2, 0, 0)], 4, pool="required_modalities")
    assert hits.positions.tolist() == [[2, 5, 4, 6], [3, 1, 0, NOTHING]]
    assert hits.scores[0, 0] == pytest.approx(np.cos(np.deg2rad(40)))


def test_rankings_of_their_own_are_dealt_by_the_counts(dense: DenseIndex):
    hits = search_pool(dense, QUERY, [(1, 0, 1), (2, 1, 0)], 4, pool="per_modality")
    assert hits.positions.tolist() == [[0, 4, 1, 6], [3, 1, 5, 0]]
    assert hits.scores[0].tolist() == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4])


def test_a_modality_that_is_used_up_leaves_its_turns_to_the_others(dense: DenseIndex):
    hits = search_pool(dense, QUERY[:1], [(1, 0, 2)], 7, pool="per_modality")
    assert hits.positions.tolist() == [[0, 4, 6, 1, 3, NOTHING, NOTHING]]
    assert np.isneginf(hits.scores[0, 5:]).all()


def test_scores_are_standard_within_each_modality(dense: DenseIndex):
    raw = dense.search(QUERY[:1], 7)
    hits = search_pool(dense, QUERY[:1], [], 7, score="zscore")
    cosine = dict(zip(raw.positions[0].tolist(), raw.scores[0].tolist(), strict=True))
    expected = {}
    for kind in set(KINDS):
        values = {p: cosine[p] for p, k in enumerate(KINDS) if k == kind}
        spread = np.array(list(values.values()))
        expected |= {p: (v - spread.mean()) / spread.std() for p, v in values.items()}
    found = dict(zip(hits.positions[0].tolist(), hits.scores[0].tolist(), strict=True))
    assert found == pytest.approx(expected, abs=1e-4)
    assert hits.positions[0].tolist() != raw.positions[0].tolist()
    required = search_pool(dense, QUERY[:1], [(1, 0, 1)], 2, pool="required_modalities", score="zscore")
    assert set(required.positions[0].tolist()) == {0, 4}  # the best of each is one deviation above


def test_equal_scores_are_standard_zero():
    vectors = np.tile(np.array([[1, 0]], np.float32), (3, 1))
    hits = search_pool(DenseIndex.build(vectors), QUERY[:1], [], 4, score="zscore")
    assert hits.positions.tolist() == [[0, 1, 2, NOTHING]]
    assert hits.scores[0, :3].tolist() == [0, 0, 0]


def test_words_are_searched_in_pools_too():
    texts = ["boat", "tarn", "boat tarn", "x", "boat boat", "x", "x"]
    index = LexicalIndex.build(texts, MODALITIES)
    hits = search_pool(index, ["boat", "tarn"], [(0, 0, 1), (1, 1, 0)], 3, pool="required_modalities")
    assert hits.positions.tolist() == [[4, NOTHING, NOTHING], [1, 2, NOTHING]]
    zscores = search_pool(index, ["boat"], [], 3, score="zscore")
    assert set(zscores.positions[0].tolist()) == {0, 2, 4}


def test_what_is_unknown_is_refused(dense: DenseIndex):
    with pytest.raises(UserError, match="no pool 'some'"):
        search_pool(dense, QUERY, [], 1, pool="some")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="no score 'rank'"):
        search_pool(dense, QUERY, [], 1, score="rank")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="requirements of 1"):
        search_pool(dense, QUERY, [(1, 0, 0)], 1, pool="per_modality")
    with pytest.raises(UserError, match="Query 1 needs"):
        search_pool(dense, QUERY, [(1, 0, 0), (0, 0, 0)], 1, pool="required_modalities")
    with pytest.raises(UserError, match="Query 0 needs"):
        search_pool(dense, QUERY, [(2, -1, 0), (1, 0, 0)], 1, pool="per_modality")
