"""The route ``/v1/embeddings``: as OpenAI's own client reads it, with faults, latency and ledger like other calls."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import numpy as np
import openai
import pytest

from proctor_rehearsal.standin import Fault, Match, Standin
from proctor_rehearsal.standin.answer import count_tokens
from proctor_rehearsal.standin.protocols.embeddings import DIMENSION, standin_vector


@pytest.fixture
def client(standin: Standin) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{standin.url}/v1", api_key="k", max_retries=0, timeout=60) as client:
        yield client


def post(standin: Standin, body: object, path: str = "/v1/embeddings") -> tuple[int, Any]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(standin.url + path, data, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.status, json.loads(reply.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def test_openais_client_gets_vectors_in_the_order_of_its_texts(
    standin: Standin, client: openai.OpenAI
) -> None:
    texts = ["boil the water", "a red barn", "boil the water"]
    reply = client.embeddings.create(model="e5", input=texts)  # the client asks for base64 and unpacks it
    rows = np.array([entry.embedding for entry in reply.data], np.float32)
    assert [entry.index for entry in reply.data] == [0, 1, 2]
    assert rows.shape == (3, DIMENSION)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)
    np.testing.assert_array_equal(rows, [standin_vector(text) for text in texts])
    np.testing.assert_array_equal(rows[0], rows[2])
    assert reply.model == "e5"
    assert reply.usage.prompt_tokens == sum(map(count_tokens, texts)) == reply.usage.total_tokens


def test_texts_that_share_words_are_alike() -> None:
    tea, water, barn = map(
        standin_vector, ("boil water for the tea", "boil the water", "red barns stand here")
    )
    assert tea @ water > 0.6
    assert abs(tea @ barn) < 0.3


def test_floats_and_base64_say_the_same_and_dimensions_are_kept(standin: Standin) -> None:
    asked = {"model": "m", "input": "one text", "dimensions": 7}
    _, plain = post(standin, {**asked, "encoding_format": "float"})
    _, packed = post(standin, {**asked, "encoding_format": "base64"})
    unpacked = np.frombuffer(base64.b64decode(packed["data"][0]["embedding"]), "<f4")
    np.testing.assert_array_equal(np.array(plain["data"][0]["embedding"], np.float32), unpacked)
    assert unpacked.shape == (7,)


def test_tokens_are_taken_as_texts(standin: Standin) -> None:
    assert len(post(standin, {"model": "m", "input": [1, 2, 3]})[1]["data"]) == 1
    assert len(post(standin, {"model": "m", "input": [[1, 2], [3]]})[1]["data"]) == 2


@pytest.mark.parametrize(
    "body",
    [
        {"model": "m"},
        {"input": "x"},
        {"model": "m", "input": []},
        {"model": "m", "input": [""]},
        {"model": "m", "input": ["x"] * 2049},
        {"model": "m", "input": [{"text": "x"}]},
        {"model": "m", "input": "x", "dimensions": 0},
        {"model": "m", "input": "x", "dimensions": 10**9},
        {"model": "m", "input": "x", "encoding_format": "hex"},
        [1],
        b"{",
    ],
)
@pytest.mark.parametrize("check", ["full", "none"])
def test_what_openai_would_refuse_is_refused(standin: Standin, body: object, check: str) -> None:
    standin.script(check=check)
    status, reply = post(standin, body)
    assert status == 400
    assert reply["error"]["type"] == "invalid_request_error"
    assert standin.log.by_outcome["rejected"] == 1


def test_the_ledger_counts_it_like_other_calls(standin: Standin) -> None:
    for _ in range(2):
        post(standin, {"model": "m", "input": ["a", "b"]})
    assert standin.count == 2
    assert max(standin.counts.values()) == 2
    record = standin.requests[0]
    assert (record.protocol, record.model, record.status, record.outcome) == ("embeddings", "m", 200, "reply")
    assert record.text == "a\nb"


def test_faults_of_the_wire_and_of_the_status(standin: Standin) -> None:
    only = Match(protocol="embeddings")
    standin.script(faults=[Fault(kind="status", status=429, retry_after=3, first=1, match=only)])
    status, reply = post(standin, {"model": "m", "input": "x"})
    assert (status, reply["error"]["code"]) == (429, "rate_limit_exceeded")
    assert post(standin, {"model": "m", "input": "x"})[0] == 200
    standin.script(faults=[Fault(kind="truncated", first=1)])
    with pytest.raises(json.JSONDecodeError):
        post(standin, {"model": "m", "input": "x"})


@pytest.mark.parametrize(
    ("kind", "shapes"),
    [("length", [4]), ("two_choices", [4, 4, 4]), ("wrong_schema", [4, 3]), ("empty_reply", [4, 4])],
)
def test_faults_of_the_model(standin: Standin, kind: Any, shapes: list[int]) -> None:
    standin.script(faults=[Fault(kind=kind)])
    _, reply = post(standin, {"model": "m", "input": ["x", "y"], "dimensions": 4})
    rows = [entry["embedding"] for entry in reply["data"]]
    assert [len(row) for row in rows] == shapes
    assert (kind == "empty_reply") == (not any(map(any, rows)))


def test_a_wrong_key_is_refused(standin: Standin) -> None:
    standin.script(key="right")
    assert post(standin, {"model": "m", "input": "x"})[0] == 401


def test_the_short_path_is_the_same(standin: Standin) -> None:
    asked = {"model": "m", "input": "x"}
    assert post(standin, asked, "/embeddings") == post(standin, asked)
