from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from proctor.corpus.index.approximate import (
    ApproximateIndex,
    Method,
    measure_recall,
    parse_method,
)
from proctor.corpus.index.dense import DenseIndex
from proctor.corpus.index.hits import NOTHING, Hits
from proctor.errors import UserError

pytest.importorskip("faiss", reason="needs the extra 'corpus'")

HNSW = parse_method("hnsw:8/32")
IVF = parse_method("ivf:20/6")


def crowds(rows: int, seed: int = 0) -> NDArray[np.float32]:
    """Vectors around sixty centres, all of one draw."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(60, 24))
    values = centres[rng.integers(0, 60, rows)] + 0.5 * rng.normal(size=(rows, 24))
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def exact() -> DenseIndex:
    modalities = np.where(np.arange(3000) % 10 < 8, 0, np.where(np.arange(3000) % 10 == 8, 1, 2))
    return DenseIndex.build(crowds(3000), modalities.astype(np.int8), embedder="e")


@pytest.mark.parametrize(("text", "method"), [("hnsw:8/32", HNSW), ("ivf:20/6", IVF)])
def test_most_of_the_exact_hits_are_found_with_their_exact_scores(
    exact: DenseIndex, text: str, method: Method
):
    index = ApproximateIndex.build(exact, method, small=400)
    assert set(index.structures) == {"text"}  # tables and images are few
    queries = crowds(200, seed=5)
    measured = measure_recall(index, queries, 10)
    assert (measured.k, measured.queries) == (10, 200)
    assert 0.9 < measured.recall <= 1
    hits, all_hits = index.search(queries, 10), exact.search(queries, 3000)
    for row in range(200):
        scores = dict(zip(all_hits.positions[row].tolist(), all_hits.scores[row].tolist(), strict=True))
        assert [scores[p] for p in hits.positions[row].tolist()] == hits.scores[row].tolist()
    assert index.signature == f"dense|e|{text}"


@pytest.mark.parametrize("method", [HNSW, IVF])
def test_a_poor_search_is_measured_as_poor(exact: DenseIndex, method: Method):
    poor = Method(method.kind, 2 if method.kind == "hnsw" else 1000, 1)
    index = ApproximateIndex.build(exact, poor, small=400)
    found = index.search(crowds(50, seed=5), 10)
    truth = exact.search(crowds(50, seed=5), 10)
    overlap = [
        len(set(a) & set(b)) / 10
        for a, b in zip(found.positions.tolist(), truth.positions.tolist(), strict=True)
    ]
    assert measure_recall(index, crowds(50, seed=5), 10).recall == pytest.approx(np.mean(overlap))
    assert np.mean(overlap) < 1


@pytest.mark.parametrize("method", [HNSW, IVF])
def test_as_many_as_there_are_are_found_within_a_modality(exact: DenseIndex, method: Method):
    index = ApproximateIndex.build(exact, method, small=100)
    assert set(index.structures) == {"text", "table", "image"}
    queries = crowds(5, seed=3)
    for k in (1, 200, 300, 400):
        hits = index.search(queries, k, within="table")
        assert ((hits.positions != NOTHING).sum(axis=1) == min(k, 300)).all()
        assert (exact.modalities[hits.positions[hits.positions != NOTHING]] == 1).all()
    same = exact.search(queries, 300, within="table")
    assert index.search(queries, 300, within="table").positions.tolist() == same.positions.tolist()


@pytest.mark.parametrize("method", [HNSW, IVF])
def test_the_same_vectors_give_the_same_hits(exact: DenseIndex, method: Method):
    queries = crowds(40, seed=8)

    def once() -> Hits:
        return ApproximateIndex.build(exact, method, small=400).search(queries, 10)

    one, two = once(), once()
    assert one.positions.tobytes() == two.positions.tobytes()
    assert one.scores.tobytes() == two.scores.tobytes()
    alone = ApproximateIndex.build(exact, method, small=400).search(queries[7:8], 10)
    assert alone.positions.tolist() == one.positions[7:8].tolist()


def test_moments_are_exact(exact: DenseIndex):
    queries = crowds(3, seed=8)
    index = ApproximateIndex.build(exact, HNSW)
    assert not index.structures  # 3,000 are few
    assert index.moments(queries, "text")[0].tolist() == exact.moments(queries, "text")[0].tolist()
    assert len(index) == 3000


@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("hnsw", Method("hnsw", 16, 160)),
        ("ivf", Method("ivf", 0, 32)),
        ("hnsw:32", Method("hnsw", 32, 160)),
        ("ivf/8", Method("ivf", 0, 8)),
    ],
)
def test_methods_are_read(text: str, method: Method):
    assert parse_method(text) == method
    assert parse_method(str(method)) == method


@pytest.mark.parametrize("text", ["", "flat", "hnsw:1", "hnsw:16/0", "ivf:-3", "hnsw:600", "hnsw 16"])
def test_other_methods_are_refused(text: str):
    with pytest.raises(UserError, match="search"):
        parse_method(text)


def test_recall_of_nothing_is_refused(exact: DenseIndex):
    index = ApproximateIndex.build(exact, HNSW)
    with pytest.raises(UserError, match="at least one query"):
        measure_recall(index, np.empty((0, 24), np.float32), 10)
    empty = ApproximateIndex.build(DenseIndex.build(np.empty((0, 24), np.float32)), HNSW)
    assert empty.search(crowds(1), 2).positions.tolist() == [[NOTHING, NOTHING]]
    with pytest.raises(UserError, match="at least one"):
        measure_recall(empty, crowds(1), 10)
    with pytest.raises(UserError, match="no modality"):
        index.search(crowds(1), 1, within="smell")  # type: ignore[arg-type]
