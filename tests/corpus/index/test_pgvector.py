from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from proctor.corpus.index import pgvector
from proctor.corpus.index.dense import DenseIndex
from proctor.corpus.index.hits import NOTHING
from proctor.corpus.index.pgvector import PgvectorStore
from proctor.corpus.index.stores import build_store
from proctor.errors import MissingExtraError, UserError

pytest.importorskip("faiss", reason="needs the extra 'corpus'")

MODALITIES = (np.arange(300) % 4 == 0).astype(np.int8)  # texts and tables


def unit(rows: int, seed: int = 0, dimension: int = 8) -> NDArray[np.float32]:
    values = np.random.default_rng(seed).normal(size=(rows, dimension))
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)


def built(url: str, vectors: NDArray[np.float32], **more: Any) -> PgvectorStore:
    return PgvectorStore.build(url, vectors, MODALITIES[: len(vectors)], corpus="abc", embedder="e", **more)


@pytest.mark.postgres
@pytest.mark.parametrize("exact", [True, False])
def test_hits_are_those_of_the_embedded_store(pgvector_url: str, exact: bool):
    vectors = unit(300)
    vectors[30:50] = vectors[30]  # ties
    queries = np.concatenate([unit(10, 1), vectors[30:31]])
    local = DenseIndex.build(vectors, MODALITIES, embedder="e")
    with built(pgvector_url, vectors, exact=exact) as store:
        assert len(store) == 300
        assert (store.signature == local.signature) == exact
        for within in (None, "text", "table", "image"):
            for k in (1, 7, 80):
                one, two = store.search(queries, k, within), local.search(queries, k, within)  # type: ignore[arg-type]
                assert (one.positions != NOTHING).sum() == (two.positions != NOTHING).sum()
                if exact:
                    assert one.positions.tolist() == two.positions.tolist()
                    assert one.scores.tolist() == two.scores.tolist()
                else:  # a graph of 300 sources misses little
                    shared = [
                        len(set(a) & set(b))
                        for a, b in zip(one.positions[:10], two.positions[:10], strict=True)
                    ]
                    assert np.mean(shared) >= 0.9 * len(set(two.positions[0]))


@pytest.mark.postgres
def test_graphs_are_used_for_each_modality_and_only_when_they_are_wanted(pgvector_url: str):
    with built(pgvector_url, unit(300), exact=False) as store, store._connection.transaction():
        for exact, expected in ((True, "Seq Scan"), (False, f"{store.name}_table")):
            store._connection.execute("SET LOCAL enable_indexscan = on")
            for setting in pgvector._settings(exact, 18):
                store._connection.execute(setting)  # type: ignore[call-overload,unused-ignore]
            plan = store._connection.execute(
                f"EXPLAIN SELECT position FROM {store.name} WHERE modality = 1 ORDER BY embedding <#> '[1,0,0,0,0,0,0,0]' LIMIT 18"  # type: ignore[call-overload,unused-ignore]
            ).fetchall()
            assert expected in str(plan)


@pytest.mark.postgres
def test_the_store_of_a_corpus_is_found_again_and_no_other(pgvector_url: str):
    build_store(pgvector_url, unit(300), MODALITIES, corpus="abc", embedder="e").close()  # type: ignore[attr-defined]
    again = PgvectorStore.open(pgvector_url, MODALITIES, corpus="abc", embedder="e", dimension=8)
    assert again.search(unit(300)[5:6], 1).positions.tolist() == [[5]]
    again.close()
    for change in ({"corpus": "other"}, {"embedder": "f"}, {"dimension": 9}):
        arguments: dict[str, Any] = {"corpus": "abc", "embedder": "e", "dimension": 8} | change
        with pytest.raises(UserError, match="0 of 300 vectors of this corpus"):
            PgvectorStore.open(pgvector_url, MODALITIES, **arguments)


@pytest.mark.postgres
def test_an_interrupted_build_goes_on(pgvector_url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pgvector, "_ROWS", 64)

    def stop(done: int) -> None:
        if done == 128:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        built(pgvector_url, unit(300), seen=stop)
    with pytest.raises(UserError, match="128 of 300"):
        PgvectorStore.open(pgvector_url, MODALITIES, corpus="abc", embedder="e", dimension=8)
    seen: list[int] = []
    with built(pgvector_url, unit(300), seen=seen.append) as store:
        assert seen == [192, 256, 300]
        assert store.search(unit(300)[299:], 1).positions.tolist() == [[299]]


@pytest.mark.postgres
def test_long_vectors_are_kept_too(pgvector_url: str):
    vectors = unit(20, dimension=2100)
    with built(pgvector_url, vectors) as store:
        assert store.search(vectors, 1).positions[:, 0].tolist() == list(range(20))
    with pytest.raises(UserError, match="up to 2000 numbers"):
        built(pgvector_url, vectors, exact=False)


@pytest.mark.postgres
def test_bad_queries_are_refused_and_the_store_goes_on(pgvector_url: str):
    with built(pgvector_url, unit(20)) as store:
        with pytest.raises(UserError, match="8 numbers"):
            store.search(np.ones((1, 3), np.float32), 1)
        with pytest.raises(UserError, match="no modality"):
            store.search(unit(1), 1, within="smell")  # type: ignore[arg-type]
        assert store.search(unit(1), 2, within="image").positions.tolist() == [[NOTHING, NOTHING]]
        store._connection.execute(f"DROP TABLE {store.name}")  # type: ignore[call-overload,unused-ignore]
        with pytest.raises(UserError, match=r"cannot be asked.*does not exist"):
            store.search(unit(1), 1)


@pytest.mark.postgres
def test_a_server_without_the_extension_is_told(postgres_url: str):
    pytest.importorskip("pgvector", reason="needs the extra 'pgvector'")
    import psycopg

    with psycopg.connect(postgres_url) as connection:
        found = connection.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'").fetchone()
    if found is not None:
        pytest.skip("this PostgreSQL has pgvector")
    with pytest.raises(UserError, match="lacks the extension pgvector"):
        built(postgres_url, unit(3))


def test_a_server_that_is_not_there_is_told_without_the_password():
    pytest.importorskip("psycopg", reason="needs the extra 'pgvector'")
    pytest.importorskip("pgvector", reason="needs the extra 'pgvector'")
    for url in ("postgresql://me:secret@127.0.0.1:9/db", "postgresql://me:secret@127.0.0.1:port/db"):
        with pytest.raises(UserError, match="cannot be asked") as refused:
            PgvectorStore.open(url, MODALITIES, corpus="a", embedder="e", dimension=8)
        assert "secret" not in str(refused.value)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pgvector.psycopg", None)
    with pytest.raises(MissingExtraError, match="pgvector"):
        PgvectorStore.open("postgresql://h/d", MODALITIES, corpus="a", embedder="e", dimension=8)
