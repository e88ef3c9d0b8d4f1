from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from proctor.corpus.index.dense import DenseIndex
from proctor.corpus.index.hits import NOTHING
from proctor.errors import MissingExtraError, UserError

pytest.importorskip("faiss", reason="needs the extra 'corpus'")


def unit(rows: int, dimension: int = 16, seed: int = 0) -> NDArray[np.float32]:
    values = np.random.default_rng(seed).normal(size=(rows, dimension))
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)


def reference(vectors: NDArray[np.float32], query: NDArray[np.float32], positions: NDArray[np.int64], k: int):
    scores = (vectors[positions].astype(np.float64) * query).sum(axis=1).astype(np.float32)
    order = np.lexsort((positions, -scores))[:k]
    return positions[order].tolist(), scores[order]


@given(st.integers(1, 60), st.integers(1, 70), st.integers(1, 4), st.integers(0, 2**32 - 1), st.booleans())
def test_hits_are_those_of_numpy(rows: int, k: int, queries: int, seed: int, twins: bool):
    vectors, asked = unit(rows, seed=seed), unit(queries, seed=seed + 1)
    if twins:
        vectors[rows // 2 :] = vectors[0]
    modalities = np.random.default_rng(seed).integers(0, 3, rows).astype(np.int8)
    index = DenseIndex.build(vectors, modalities)
    for within, code in ((None, None), ("text", 0), ("table", 1), ("image", 2)):
        positions = np.flatnonzero((modalities == code) | (code is None))
        hits = index.search(asked, k, within=within)  # type: ignore[arg-type]
        for row, query in enumerate(asked):
            expected, scores = reference(vectors, query, positions, k)
            assert hits.positions[row].tolist() == expected + [NOTHING] * (k - len(expected))
            assert hits.scores[row, : len(expected)].tolist() == scores.tolist()
            assert np.isneginf(hits.scores[row, len(expected) :]).all()


def test_many_equal_vectors_come_in_their_order():
    """More twins than candidates are taken: all of them are looked at."""
    vectors = unit(4000, 32)
    vectors[1000:3000] = vectors[1000]
    hits = DenseIndex.build(vectors).search(vectors[1000:1001], 50)
    assert hits.positions[0].tolist() == list(range(1000, 1050))
    assert len(set(hits.scores[0].tolist())) == 1


def test_results_do_not_depend_on_batches_or_threads():
    import faiss

    vectors, asked = unit(3000, 64), unit(90, 64, 5)
    vectors[100:110] = vectors[100]
    index = DenseIndex.build(vectors)
    whole = index.search(asked, 12)
    threads = faiss.omp_get_max_threads()
    try:
        faiss.omp_set_num_threads(1)
        for n in range(0, 90, 7):
            alone = index.search(asked[n : n + 1], 12)
            assert alone.positions.tobytes() == whole.positions[n : n + 1].tobytes()
            assert alone.scores.tobytes() == whole.scores[n : n + 1].tobytes()
    finally:
        faiss.omp_set_num_threads(threads)


def test_vectors_may_be_mapped_from_a_file(tmp_path: Path):
    vectors = unit(200)
    np.save(tmp_path / "v.npy", vectors)
    mapped = np.load(tmp_path / "v.npy", mmap_mode="r")
    index = DenseIndex.build(mapped)
    assert isinstance(index.parts["text"], np.memmap)  # nothing was copied
    assert index.search(vectors[:5], 1).positions[:, 0].tolist() == [0, 1, 2, 3, 4]


def test_moments_are_those_of_all_cosines():
    vectors, asked = unit(300), unit(4, seed=9)
    modalities = (np.arange(300) % 2).astype(np.int8)
    mean, deviation = DenseIndex.build(vectors, modalities).moments(asked, "table")
    scores = asked @ vectors[1::2].T
    assert mean == pytest.approx(scores.mean(axis=1), abs=1e-6)
    assert deviation == pytest.approx(scores.std(axis=1), abs=1e-6)


def test_moments_of_nothing_and_of_one_source_are_zero():
    index = DenseIndex.build(unit(1))
    assert index.moments(unit(2), "image")[1].tolist() == [0, 0]
    assert index.moments(unit(2), "text")[1].tolist() == [0, 0]


def test_no_sources_and_no_queries_are_no_error():
    empty = DenseIndex.build(np.empty((0, 16), np.float32))
    assert empty.search(unit(2), 3).positions.tolist() == [[NOTHING] * 3] * 2
    assert DenseIndex.build(unit(3)).search(np.empty((0, 16), np.float32), 3).positions.shape == (0, 3)
    assert DenseIndex.build(unit(3)).search(unit(1), 2, within="image").positions.tolist() == [
        [NOTHING, NOTHING]
    ]


@pytest.mark.parametrize(
    ("value", "message"),
    [(np.nan, "NaN"), (np.inf, "NaN or infinite"), (0.0, "is zero"), (7.0, "has length 28 instead of 1")],
)
def test_a_vector_that_is_none_is_refused_by_name(value: float, message: str):
    vectors = unit(4)
    vectors[2] = value
    with pytest.raises(UserError, match=f"text:c .*{message}"):
        DenseIndex.build(vectors, names=["text:a", "text:b", "text:c", "text:d"])
    with pytest.raises(UserError, match=f"query 2 .*{message}"):
        DenseIndex.build(unit(4)).search(vectors, 1)


def test_vectors_of_another_kind_are_refused():
    with pytest.raises(UserError, match="float64"):
        DenseIndex.build(unit(3).astype(np.float64))
    with pytest.raises(UserError, match="16 numbers"):
        DenseIndex.build(unit(3)).search(unit(3, 8), 1)
    with pytest.raises(UserError, match="at least one"):
        DenseIndex.build(unit(3)).search(unit(3), 0)
    with pytest.raises(UserError, match="no modality"):
        DenseIndex.build(unit(3)).search(unit(3), 1, within="smell")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="3 sources of the modality text, but 2"):
        DenseIndex({"text": unit(2), "table": unit(0), "image": unit(0)}, np.zeros(3, np.int8))


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtraError, match="faiss"):
        DenseIndex.build(unit(3)).search(unit(1), 1)
