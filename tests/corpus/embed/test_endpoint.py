"""A server that speaks ``/embeddings``: order, repeats, broken bodies, keys, what was spent."""

from __future__ import annotations

import logging
import math
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.corpus.embed.embedder import PLAIN, Prefixes
from proctor.corpus.embed.endpoint import EndpointEmbedder, open_endpoint, parse_vectors
from proctor.errors import UserError
from proctor.llm.flow import FlowSettings, GateRules
from proctor.llm.outcome import Failure
from proctor_rehearsal.standin import Fault, Match, Standin
from proctor_rehearsal.standin.protocols.embeddings import standin_vector

QUICK = FlowSettings(
    rules=GateRules(first_backoff=0.01, longest_backoff=0.02, breaker_seconds=0.01, breaker_longest=0.02),
    attempts=3,
    throttled_attempts=3,
    attempt_timeout=60.0,
)
TEXTS = [f"step {n} of the recipe" for n in range(10)]


def make(standin: Standin, model: str = "words", **options: Any) -> EndpointEmbedder:
    return open_endpoint(f"compat/{model}@{standin.url}/v1", **{"settings": QUICK, **options})


def test_rows_come_in_the_order_of_the_texts(standin: Standin) -> None:
    embedder = make(standin, batch=3)
    rows = embedder.embed(TEXTS, "passage")
    np.testing.assert_allclose(rows, [standin_vector(text) for text in TEXTS], atol=1e-6)
    assert rows.dtype == np.float32
    assert standin.count == 4
    assert embedder.dimension == 256
    assert standin.count == 4  # known from the replies


def test_the_dimension_is_asked_for_with_one_word(standin: Standin) -> None:
    assert make(standin).dimension == 256
    assert [record.json["input"] for record in standin.requests] == [["dimension"]]
    assert make(standin).embed([], "query").shape == (0, 256)


def test_prefixes_of_e5_and_of_the_user(standin: Standin) -> None:
    e5 = make(standin, "intfloat/e5-large-v2")
    e5.embed(["salt"], "query")
    e5.embed(["salt"], "passage")
    make(standin, prefixes=Prefixes("Q ", "")).embed(["salt"], "query")
    assert [r.json["input"] for r in standin.requests] == [["query: salt"], ["passage: salt"], ["Q salt"]]
    assert e5.name != make(standin, "intfloat/e5-large-v2", prefixes=PLAIN).name
    assert make(standin, "ive5x").name.endswith("/v1")


@pytest.mark.parametrize(
    "fault",
    [
        Fault(kind="status", status=429, retry_after=0.01, first=2),
        Fault(kind="status", status=503, first=2),
        Fault(kind="html", first=1),
        Fault(kind="reset", first=1),
        Fault(kind="cut_body", first=1),
        Fault(kind="truncated", first=1),
        Fault(kind="empty", first=1),
        Fault(kind="missing", first=1),
        Fault(kind="malformed", first=1),
        Fault(kind="error_body", first=1),
        Fault(kind="length", first=1),
        Fault(kind="two_choices", first=1),
        Fault(kind="wrong_schema", first=1),
        Fault(kind="empty_reply", first=1),
        Fault(kind="huge", bytes=40 * 2**20, first=1),
    ],
    ids=lambda fault: f"{fault.kind}{fault.status or ''}",
)
def test_what_goes_away_is_asked_for_again(standin: Standin, fault: Fault) -> None:
    standin.script(faults=[fault])
    rows = make(standin).embed(TEXTS, "query")
    np.testing.assert_allclose(rows, [standin_vector(text) for text in TEXTS], atol=1e-6)
    assert standin.count == 1 + (fault.first or 0)


@pytest.mark.parametrize(
    ("fault", "told", "count"),
    [
        (Fault(kind="status", status=401), "status 401", 1),
        (Fault(kind="status", status=404), "status 404", 1),
        (Fault(kind="redirect", location="http://example.org/"), "redirects, which is not followed", 1),
        (Fault(kind="length"), r"9 vectors came for 10 texts.*given up after 3 attempts", 3),
        (Fault(kind="two_choices"), r"11 vectors came for 10 texts", 3),
        (Fault(kind="wrong_schema"), r"have \[255, 256\] numbers", 3),
        (Fault(kind="empty_reply"), "the vector of text 1 is zero", 3),
        (Fault(kind="status", status=200, body='{"data":[{"index":0,"embedding":[NaN]}]}'), "not what the protocol", 3),
        (Fault(kind="status", status=200, body='{"data":[{"index":0,"embedding":null}]}'), "not what the protocol", 3),
    ],
    ids=lambda value: value.kind if isinstance(value, Fault) else None,
)  # fmt: skip
def test_what_does_not_go_away_is_told(standin: Standin, fault: Fault, told: str, count: int) -> None:
    standin.script(faults=[fault])
    with pytest.raises(UserError, match=told):
        make(standin).embed(TEXTS, "query")
    assert standin.count == count


def test_nobody_there() -> None:
    embedder = open_endpoint("compat/m@http://127.0.0.1:1/v1", settings=QUICK)
    with pytest.raises(UserError, match="no connection"):
        embedder.embed(["a"], "query")


def test_another_dimension_in_the_middle_is_told(standin: Standin) -> None:
    embedder = make(standin)
    embedder.embed(["a"], "query")
    body = '{"data":[{"index":0,"embedding":[1.0,2.0]}]}'
    standin.script(faults=[Fault(kind="status", status=200, body=body)])
    with pytest.raises(UserError, match="have 2 numbers, and had 256 before"):
        embedder.embed(["b"], "query")


def test_a_batch_that_is_too_large_is_halved(standin: Standin) -> None:
    too_large = Fault(kind="status", status=413, match=Match(text=r"step 0.*step 3"))
    standin.script(faults=[too_large])
    rows = make(standin).embed(TEXTS, "query")
    np.testing.assert_allclose(rows, [standin_vector(text) for text in TEXTS], atol=1e-6)
    assert sorted(len(r.json["input"]) for r in standin.requests) == [2, 3, 5, 5, 10]


def test_a_text_that_is_too_long_is_told(standin: Standin) -> None:
    standin.script(faults=[Fault(kind="status", status=413, match=Match(text="step 7"))])
    with pytest.raises(UserError, match=r"text that begins with 'step 7 of .* too long for the model"):
        make(standin).embed(TEXTS, "query")


def test_what_was_spent_is_told(standin: Standin) -> None:
    standin.script(faults=[Fault(kind="truncated", first=1)])
    embedder = make(standin, batch=5)
    embedder.embed(TEXTS, "query")
    assert embedder.spent.calls == 2
    assert embedder.spent.tokens == sum(-(-len(text) // 4) for text in TEXTS)
    assert (embedder.spent.uncounted, embedder.spent.lost) == (0, 1)


# -- keys --------------------------------------------------------------------------------------------------------


def test_the_key_comes_from_the_environment_and_is_never_shown(
    standin: Standin, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    standin.script(key="sesame-0123456789")
    with pytest.raises(UserError, match="status 401"):
        make(standin).embed(["a"], "query")
    monkeypatch.setenv("COMPAT_API_KEY", "sesame-0123456789")
    embedder = make(standin)
    assert embedder.embed(["a"], "query").shape == (1, 256)
    monkeypatch.setenv("OPENAI_API_KEY", "sesame-0123456789")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{standin.url}/v1")
    assert open_endpoint("openai/text-embedding-3-small").embed(["a"], "query").shape == (1, 256)
    standin.script(faults=[Fault(kind="status", status=400, message="your key is sesame-0123456789")])
    with pytest.raises(UserError) as error:
        embedder.embed(["a"], "query")
    shown = f"{error.value.render()} {embedder!r} {embedder.name} {caplog.text}"
    assert "sesame" not in shown
    assert "[COMPAT_API_KEY]" in shown


def test_missing_keys_and_addresses_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "COMPAT_API_KEY", "COMPAT_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UserError, match="OPENAI_API_KEY is not set"):
        open_endpoint("openai/text-embedding-3-small")
    with pytest.raises(UserError, match="no address"):
        open_endpoint("compat/m")
    with pytest.raises(UserError, match="must not hold a user name or a key"):
        open_endpoint("compat/m@http://me:secret@host/v1")


def test_texts_that_cannot_be_sent_are_told(standin: Standin) -> None:
    with pytest.raises(UserError, match="not Unicode"):
        make(standin).embed(["\ud800"], "query")
    with pytest.raises(UserError, match="empty"):
        make(standin).embed(["a", " "], "query")
    assert standin.count == 0


# -- bodies ------------------------------------------------------------------------------------------------------


def reply(entries: list[Any]) -> bytes:
    return msgspec.json.encode({"data": [{"index": index, "embedding": row} for index, row in entries]})


@given(st.permutations(range(6)))
def test_the_index_says_which_text_a_vector_is_of(order: list[int]) -> None:
    found = parse_vectors(200, {}, reply([(n, [float(n + 1), 1.0]) for n in order]), 6, None)
    assert not isinstance(found, Failure)
    np.testing.assert_array_equal(found[0], [[n + 1, 1] for n in range(6)])


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [(0, [1.0])],
        [(0, [1.0]), (0, [1.0])],
        [(0, [1.0]), (2, [1.0])],
        [(1, [1.0]), (2, [1.0])],
        [(0, [1.0]), (1, [])],
        [(0, []), (1, [])],
        [(0, [1.0]), (1, [0.0])],
        [(0, [1.0]), (1, [1e39])],
        [(0, [1.0]), (1, [math.pi, "x"])],
        [(0, [1.0]), (1, {"a": 1})],
        [("0", [1.0]), (1, [1.0])],
    ],
)
def test_bodies_that_are_no_vectors_for_two_texts(entries: list[Any]) -> None:
    found = parse_vectors(200, {}, reply(entries), 2, None)
    assert isinstance(found, Failure)
    assert found.retryable


@given(st.binary(max_size=60))
def test_no_body_raises(body: bytes) -> None:
    assert isinstance(parse_vectors(200, {}, body, 1, None), Failure)
