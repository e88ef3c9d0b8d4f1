"""What the stand-in counts, what it forgets, and what it tells other processes."""

from __future__ import annotations

import asyncio
import io
import json
import threading
import urllib.error
from typing import Any
from urllib.request import Request, urlopen

import pytest
from PIL import Image as Picture

from proctor_rehearsal.standin import Fault, Standin
from proctor_rehearsal.standin.answer import count_tokens
from proctor_rehearsal.standin.call import Attached, MediaCheck, Rejected, draw, image_size, request_key
from proctor_rehearsal.standin.ledger import Ledger
from proctor_rehearsal.standin.protocols.openai import CHAT


def post(url: str, body: object, **headers: str) -> tuple[int, Any]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = Request(url, data, {"content-type": "application/json", **headers})
    try:
        with urlopen(request) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def ask(standin: Standin, text: str, **headers: str) -> int:
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    return post(f"{standin.url}/v1/chat/completions", body, **headers)[0]


def get(standin: Standin, path: str) -> Any:
    with urlopen(standin.url + path) as reply:
        return json.load(reply)


def test_every_request_is_counted_under_its_name(standin: Standin) -> None:
    for text in ("a", "b", "a", "a"):
        ask(standin, text)
    assert standin.count == 4
    assert sorted(standin.counts.values()) == [1, 3]
    assert [r.nth for r in standin.requests] == [1, 1, 2, 3]
    assert [r.number for r in standin.requests] == [1, 2, 3, 4]
    assert [r.call.last for r in standin.requests] == ["a", "b", "a", "a"]
    first = standin.requests[0]
    assert first.key == request_key("/v1/chat/completions", first.body or b"")
    assert (first.model, first.protocol, first.status, first.outcome, first.sent) == (
        "m",
        "openai",
        200,
        "reply",
        True,
    )
    assert first.json["model"] == "m"
    standin.reset()
    assert (standin.count, standin.requests, standin.counts) == (0, [], {})


def test_answers_are_counted_apart_from_requests(standin: Standin) -> None:
    standin.script(faults=[Fault(status=500, attempts=2)])
    assert [ask(standin, "a") for _ in range(3)] == [500, 500, 200]
    summary = get(standin, "/standin/log?keys=1")
    assert (summary["count"], summary["answered"], summary["distinct"]) == (3, 1, 1)
    assert (summary["most_of_one"], summary["most_answers_of_one"]) == (3, 1)
    assert summary["by_status"] == {"500": 2, "200": 1}
    assert summary["by_outcome"] == {"status": 2, "reply": 1}
    assert list(summary["by_key"].values()) == [3]
    assert list(summary["answered_by_key"].values()) == [1]


def test_bodies_are_bounded_and_counts_are_not() -> None:
    with Standin(bodies=1_000) as standin:
        for number in range(30):
            ask(standin, f"{number} " + "x" * 200)
        kept = [r for r in standin.requests if r.body is not None]
        assert 1 <= len(kept) <= 4
        assert kept[-1] is standin.requests[-1]
        assert len(standin.requests) == standin.count == len(standin.counts) == 30
        with pytest.raises(LookupError, match="no longer"):
            assert standin.requests[0].call
        assert sum("body" in row for row in get(standin, "/standin/log?last=30&bodies=1")["requests"]) == len(
            kept
        )
        ask(standin, "y" * 2_000)
        assert all(r.body is None for r in standin.requests)


def test_records_are_bounded() -> None:
    ledger = Ledger(records=10)
    for number in range(25):
        call, record = ledger.begin(CHAT, "/x", b"{}", str(number), {})
        ledger.end(call, record)
        ledger.end(call, record)  # counted once
    assert [r.number for r in ledger.requests] == list(range(16, 26))
    assert (ledger.count, ledger.in_flight, ledger.lost) == (25, 0, 25)


def test_most_in_flight_is_the_most(standin: Standin) -> None:
    standin.script(latency={"seconds": 0.4})
    threads = [threading.Thread(target=ask, args=(standin, str(n))) for n in range(7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ask(standin, "alone")
    assert standin.most_in_flight == 7
    assert get(standin, "/standin/log")["in_flight"] == 0


def test_keys_are_nowhere(standin: Standin) -> None:
    secret = "sk-very-secret"
    standin.script(key=secret)
    headers = ({"authorization": f"Bearer {secret}"}, {"x-api-key": secret}, {"x-goog-api-key": secret})
    for header in headers:
        assert ask(standin, "a", **header) == 200
    assert ask(standin, "a", authorization=f"Basic {secret}") == 401
    assert ask(standin, "a", authorization=f"Bearer {secret}x") == 401
    assert ask(standin, "a") == 401
    assert ask(standin, "a", authorization="Bearer \xe9") == 401
    body = {"contents": [{"parts": [{"text": "x"}]}]}
    assert post(f"{standin.url}/v1beta/models/m:generateContent?key={secret}", body)[0] == 200
    shown = [
        json.dumps(get(standin, "/standin/log?last=99&bodies=1&keys=1")),
        json.dumps(get(standin, "/standin/script")),
    ]
    shown += [repr(standin), repr(standin.requests), str([r.row(body=True) for r in standin.requests])]
    assert not any(secret in text for text in shown)


def test_scripts_by_http(standin: Standin) -> None:
    script = {
        "rules": [],
        "otherwise": {"reply": "by http"},
        "faults": [{"status": 429, "first": 1, "retry_after": 0}],
    }
    assert post(f"{standin.url}/standin/script", script) == (200, {"script": True})
    assert [ask(standin, "a"), ask(standin, "a")] == [429, 200]
    assert get(standin, "/standin/script")["otherwise"]["reply"] == "by http"
    status, said = post(f"{standin.url}/standin/script", {"ruels": []})
    assert status == 400
    assert "ruels" in said["error"]
    assert ask(standin, "a") == 200  # the old script is still there
    assert post(f"{standin.url}/standin/reset", b"") == (200, {"reset": True})
    assert get(standin, "/standin/log")["count"] == 0
    assert ask(standin, "a") == 429  # schedules began anew


def test_web_pages_are_kept_out(standin: Standin) -> None:
    """A page in a browser can send requests to loopback, under its own origin or a name that points here."""
    for headers in ({"origin": "http://evil.example"}, {"host": "evil.example"}, {"host": "evil.example:80"}):
        assert post(f"{standin.url}/standin/script", {}, **headers)[0] == 403
    for host in ("localhost", "localhost:99", "127.0.0.1", "[::1]:80", "[::1]"):
        assert post(f"{standin.url}/standin/script", {}, host=host)[0] == 200


def test_async_with() -> None:
    async def run() -> int:
        async with Standin(reply="x") as standin:
            status = await asyncio.to_thread(ask, standin, "a")
            assert standin.count == 1
        return status

    assert asyncio.run(run()) == 200


# -- names, draws, media -------------------------------------------------------------------------------------------


def test_names_and_draws_are_the_same_on_every_machine() -> None:
    assert request_key("/v1/chat/completions", b"{}") == "55036bc320997ef3b0db96691fd3d27f"
    assert request_key("/a", b"b") != request_key("/ab", b"")
    assert draw("a", 1) == draw("a", 1)
    assert draw("a", 1) != draw("a1")
    drawn = [draw("x", n) for n in range(4_000)]
    assert all(0 <= d < 1 for d in drawn)
    assert sum(drawn) / len(drawn) == pytest.approx(0.5, abs=0.02)
    assert isinstance(draw("\ud800"), float)


@pytest.mark.parametrize("form", ["JPEG", "PNG", "GIF", "WEBP"])
@pytest.mark.parametrize(("width", "height"), [(1, 1), (640, 360), (1360, 765)])
def test_sizes_of_images_as_pillow_writes_them(form: str, width: int, height: int) -> None:
    for options in ({}, {"lossless": True}, {"progressive": True}):
        stream = io.BytesIO()
        Picture.new("RGB", (width, height), (1, 200, 3)).save(stream, form, **options)
        assert image_size(stream.getvalue()) == (width, height)
    stream = io.BytesIO()
    if form in ("PNG", "WEBP"):
        Picture.new("RGBA", (width, height), (1, 200, 3, 4)).save(stream, form)
        assert image_size(stream.getvalue()) == (width, height)
        for end in range(30):
            image_size(stream.getvalue()[:end])


def test_broken_images_have_no_size() -> None:
    for data in (
        b"",
        b"\xff\xd8",
        b"\xff\xd8\xff\xe0",
        b"\xff\xd8\xff\xe0\x00\x00" * 9,
        b"\x89PNG\r\n\x1a\n",
        b"GIF89a",
        b"RIFF",
    ):
        assert image_size(data) == (0, 0)


def test_a_picture_is_decoded_once_however_often_it_comes() -> None:
    import base64

    check = MediaCheck(limit=1_000)
    text = base64.b64encode(b"x" * 900).decode()
    for _ in range(5):
        assert check.check(Attached("image", "image/png", text=text)).size == 900
    assert check.decoded == 1
    assert check.check(Attached("video", "video/mp4", text=text)).kind == "video"
    assert check.check(Attached("image", "", url="https://x/y.png")).size == 0
    for bad in ("@@@@", "abc", base64.b64encode(b"x" * 1_100).decode(), "YWJj\n", "YWJj YWJj", "é"):
        with pytest.raises(Rejected):
            check.check(Attached("image", "image/png", text=bad))
    assert check.check(Attached("image", "image/png", text="-_8", loose=True)).size == 2


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("éé", 1), ("日本", 2)]
)
def test_tokens(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens
