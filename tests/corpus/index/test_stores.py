from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from proctor.corpus.index.dense import DenseIndex
from proctor.corpus.index.stores import build_store, settled, store_name
from proctor.errors import UserError

pytest.importorskip("faiss", reason="needs the extra 'corpus'")


def unit(rows: int, seed: int = 0) -> NDArray[np.float32]:
    values = np.random.default_rng(seed).normal(size=(rows, 8))
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)


class Server:
    """Returns candidates by rounded scores in an order of its own, like servers do."""

    def __init__(self, vectors: NDArray[np.float32], *, lost: int = 0) -> None:
        self.vectors = vectors[: len(vectors) - lost]
        self.asked: list[tuple[int, int, bool]] = []

    def fetch(
        self, queries: NDArray[np.float32], limit: int, exact: bool
    ) -> list[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        self.asked.append((len(queries), limit, exact))
        found = []
        for query in queries:
            rough = np.round(self.vectors @ query, 5)
            rows = np.lexsort((-np.arange(len(rough)), -rough))[:limit]
            rows = rows if exact else rows[: max(1, limit // 4)]
            found.append((rows.astype(np.int64), self.vectors[rows]))
        return found


@pytest.mark.parametrize("k", [1, 5, 60, 100])
def test_what_a_server_rounds_is_ranked_like_here(k: int):
    vectors = unit(100)
    vectors[20:70] = vectors[20]
    server, queries = Server(vectors), unit(5, seed=3)
    queries[0] = vectors[20]
    found = settled(queries, k, 100, server.fetch, exact=True, where="server")
    expected = DenseIndex.build(vectors).search(queries, k)
    assert [rows.tolist() for rows, _ in found] == expected.positions.tolist()
    assert [s.astype(np.float32).tolist() for _, s in found] == expected.scores.tolist()
    assert server.asked[0] == (5, min(k + 8, 100), True)
    if k == 5:  # fifty twins: it has to ask again, for this query alone
        assert (1, 52, True) in server.asked


def test_an_approximate_search_is_repeated_where_too_few_are_found():
    vectors = unit(100)
    server = Server(vectors)
    found = settled(unit(2, seed=3), 20, 100, server.fetch, exact=False, where="server")
    expected = DenseIndex.build(vectors).search(unit(2, seed=3), 20)
    assert [rows.tolist() for rows, _ in found] == expected.positions.tolist()
    assert server.asked[:2] == [(2, 28, False), (1, 28, True)]


def test_a_server_that_lost_sources_is_told():
    with pytest.raises(UserError, match="returned 3 of 5 sources"):
        settled(unit(1), 5, 5, Server(unit(5), lost=2).fetch, exact=True, where="server")


def test_nothing_to_find_asks_nobody():
    server = Server(unit(5))
    assert [len(rows) for rows, _ in settled(unit(2), 3, 0, server.fetch, exact=True, where="s")] == [0, 0]
    assert server.asked == []


def test_another_corpus_embedder_or_size_has_another_place():
    names = {
        store_name("a", "e", 8, 3),
        store_name("b", "e", 8, 3),
        store_name("a", "f", 8, 3),
        store_name("a", "e", 9, 3),
        store_name("a", "e", 8, 4),
    }
    assert len(names) == 5
    assert store_name("a", "e", 8, 3) == "proctor_" + store_name("a", "e", 8, 3)[-16:]


@pytest.mark.parametrize("place", ["redis://x", "", "folder", "mysql://me:secret@host/db"])
def test_an_unknown_kind_of_store_is_refused_without_its_password(place: str):
    with pytest.raises(UserError, match="no store of vectors") as refused:
        build_store(place, unit(1), np.zeros(1, np.int8), corpus="a", embedder="e")
    assert "secret" not in str(refused.value)
