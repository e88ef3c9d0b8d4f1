from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from proctor.corpus.index.dense import DenseIndex
from proctor.corpus.index.hits import NOTHING
from proctor.corpus.index.stores import build_store, store_name
from proctor.errors import MissingExtraError, UserError

pytest.importorskip("faiss", reason="needs the extra 'corpus'")

from proctor.corpus.index import qdrant
from proctor.corpus.index.qdrant import QdrantStore


def unit(rows: int, seed: int = 0) -> NDArray[np.float32]:
    values = np.random.default_rng(seed).normal(size=(rows, 8))
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)


MODALITIES = (np.arange(60) % 4 == 0).astype(np.int8)  # texts and tables


@pytest.fixture(scope="module", autouse=True)
def qdrant_client() -> Any:
    """Its import takes seconds, and one worker alone needs it: not while tests are collected."""
    return pytest.importorskip("qdrant_client", reason="needs the extra 'qdrant'")


@pytest.fixture
def client(qdrant_client: Any) -> Iterator[Any]:
    client = qdrant_client.QdrantClient(":memory:")
    yield client
    client.close()


def built(client: Any, vectors: NDArray[np.float32], **more: Any) -> QdrantStore:
    return QdrantStore.build(
        ":memory:", vectors, MODALITIES[: len(vectors)], corpus="abc", embedder="e", client=client, **more
    )


def test_hits_are_those_of_the_embedded_store(client: Any):
    vectors = unit(60)
    vectors[30:50] = vectors[30]  # ties
    queries = np.concatenate([unit(20, 1), vectors[30:31]])
    store, local = built(client, vectors), DenseIndex.build(vectors, MODALITIES, embedder="e")
    assert len(store) == 60
    assert store.signature == local.signature
    for within in (None, "text", "table", "image"):
        for k in (1, 7, 80):
            one, two = store.search(queries, k, within), local.search(queries, k, within)  # type: ignore[arg-type]
            assert one.positions.tolist() == two.positions.tolist()
            assert one.scores.tolist() == two.scores.tolist()


def test_the_store_of_a_corpus_is_found_again_and_no_other(client: Any):
    built(client, unit(60))
    again = QdrantStore.open(":memory:", MODALITIES, corpus="abc", embedder="e", dimension=8, client=client)
    assert again.search(unit(60)[5:6], 1).positions.tolist() == [[5]]
    for change in ({"corpus": "other"}, {"embedder": "f"}, {"dimension": 9}):
        arguments: dict[str, Any] = {"corpus": "abc", "embedder": "e", "dimension": 8} | change
        with pytest.raises(UserError, match="0 of 60 vectors of this corpus"):
            QdrantStore.open(":memory:", MODALITIES, client=client, **arguments)


def test_an_interrupted_build_goes_on(client: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(qdrant, "_ROWS", 16)

    def stop(done: int) -> None:
        if done == 32:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        built(client, unit(60), seen=stop)
    with pytest.raises(UserError, match="32 of 60"):
        QdrantStore.open(":memory:", MODALITIES, corpus="abc", embedder="e", dimension=8, client=client)
    seen: list[int] = []
    store = built(client, unit(60), seen=seen.append)
    assert seen == [48, 60]
    assert store.search(unit(60)[59:], 1).positions.tolist() == [[59]]
    assert client.count(store.name).count == 60


def test_bad_queries_are_refused_before_the_server_is_asked(client: Any):
    store = built(client, unit(60))
    with pytest.raises(UserError, match="8 numbers"):
        store.search(np.ones((1, 3), np.float32), 1)
    with pytest.raises(UserError, match="at least one"):
        store.search(unit(1), 0)
    with pytest.raises(UserError, match="no modality"):
        store.search(unit(1), 1, within="smell")  # type: ignore[arg-type]
    assert store.search(np.empty((0, 8), np.float32), 2).positions.shape == (0, 2)
    assert store.search(unit(1), 2, within="image").positions.tolist() == [[NOTHING, NOTHING]]
    vectors = unit(3)
    vectors[1] = np.nan
    with pytest.raises(UserError, match="NaN"):
        built(client, vectors)


# -- over HTTP ---------------------------------------------------------------------------------------------------


class Answers(ThreadingHTTPServer):
    """Answers every request with one status, or from its own local client; keeps what was asked."""

    def __init__(self, status: int = 0) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.status = status
        self.asked: list[tuple[str, str, Any]] = []
        self.keys: list[str | None] = []
        self.points: dict[int, tuple[list[float], int]] = {}
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """As much of Qdrant's HTTP interface as a store uses."""

    server: Answers

    def do_GET(self) -> None:
        self.reply()

    do_PUT = do_POST = do_GET

    def reply(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        asked = json.loads(body) if body else None
        self.server.asked.append((self.command, self.path.split("?")[0], asked))
        self.server.keys.append(self.headers.get("api-key"))
        status = self.server.status or 200
        self.send_response(status)
        answer = json.dumps({"status": "ok", "time": 0.0, "result": self.result(asked)}).encode()
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def result(self, asked: Any) -> Any:
        path, points = self.path.split("?")[0], self.server.points
        if path.endswith("/exists"):
            return {"exists": bool(points)}
        if path.endswith("/points/count"):
            return {"count": len(points)}
        if path.endswith("/points"):
            batch = asked["batch"]
            for id_, vector, payload in zip(batch["ids"], batch["vectors"], batch["payloads"], strict=True):
                points[id_] = (vector, payload["modality"])
            return {"operation_id": 1, "status": "completed"}
        if path.endswith("/points/query/batch"):
            return [{"points": self.found(search)} for search in asked["searches"]]
        if path.endswith("/index"):
            return {"operation_id": 1, "status": "completed"}
        return True

    def found(self, search: Any) -> list[dict[str, Any]]:
        only = search.get("filter")
        wanted = only["must"][0]["match"]["value"] if only else None
        query = search["query"]["nearest"] if isinstance(search["query"], dict) else search["query"]
        scores = {
            id_: float(np.dot(vector, query))
            for id_, (vector, modality) in self.server.points.items()
            if wanted in (None, modality)
        }
        best = sorted(scores, key=lambda id_: -scores[id_])[: search["limit"]]
        return [{"id": n, "version": 0, "score": scores[n], "vector": self.server.points[n][0]} for n in best]

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def serve() -> Iterator[Any]:
    servers: list[Answers] = []

    def start(status: int = 0) -> Answers:
        server = Answers(status)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_server_is_filled_and_searched_over_http(serve: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(qdrant.KEY, "a-secret")
    server, vectors = serve(), unit(60)
    store = build_store(f"qdrant:{server.url}", vectors, MODALITIES, corpus="abc", embedder="e")
    local = DenseIndex.build(vectors, MODALITIES)
    hits = store.search(unit(20, 1), 5, within="table")
    assert hits.positions.tolist() == local.search(unit(20, 1), 5, within="table").positions.tolist()
    assert set(server.keys) == {"a-secret"}
    name = store_name("abc", "e", 8, 60)
    created = [
        asked for command, path, asked in server.asked if (command, path) == ("PUT", f"/collections/{name}")
    ]
    assert created[0]["vectors"]["distance"] == "Dot"
    searches = [asked for _, path, asked in server.asked if path.endswith("/query/batch")]
    assert [len(asked["searches"]) for asked in searches] == [16, 4]
    assert all(one["params"]["exact"] for one in searches[0]["searches"])


@pytest.mark.parametrize(
    ("status", "message"), [(500, "answered 500"), (401, "answered 401"), (404, "answered 404")]
)
def test_a_server_that_refuses_is_told_without_the_key(
    serve: Any, status: int, message: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(qdrant.KEY, "a-secret")
    with pytest.raises(UserError, match=message) as refused:
        build_store(f"qdrant:{serve(status).url}", unit(3), np.zeros(3, np.int8), corpus="abc", embedder="e")
    assert "a-secret" not in str(refused.value)
    assert (qdrant.KEY in str(refused.value)) == (status == 401)


def test_a_server_that_is_not_there_is_told():
    with pytest.raises(UserError, match="cannot be asked"):
        build_store("qdrant:http://127.0.0.1:9", unit(3), np.zeros(3, np.int8), corpus="a", embedder="e")


@pytest.mark.parametrize("url", ["host:6333", "ftp://host", "http://"])
def test_what_is_no_address_is_refused(url: str):
    with pytest.raises(UserError, match="no address"):
        build_store(f"qdrant:{url}", unit(3), np.zeros(3, np.int8), corpus="a", embedder="e")


def test_a_key_is_not_sent_unencrypted_to_another_machine(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(qdrant.KEY, "a-secret")
    with pytest.raises(UserError, match="unencrypted") as refused:
        build_store(
            "qdrant:http://host.invalid:6333", unit(3), np.zeros(3, np.int8), corpus="a", embedder="e"
        )
    assert "a-secret" not in str(refused.value)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "qdrant_client", None)
    with pytest.raises(MissingExtraError, match="qdrant"):
        build_store("qdrant::memory:", unit(3), np.zeros(3, np.int8), corpus="a", embedder="e")
