"""What goes over the wire, seen by a raw socket: cuts, slow bodies, wrong lengths, compression, limits."""

from __future__ import annotations

import gzip
import json
import socket
import time
import zlib
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import pytest

from proctor.errors import UserError
from proctor_rehearsal.standin import Answer, Fault, Standin
from proctor_rehearsal.standin.script import FAULT_KINDS

BODY = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


def connect(standin: Standin) -> socket.socket:
    place = urlsplit(standin.url)
    assert place.hostname
    assert place.port
    return socket.create_connection((place.hostname, place.port), timeout=60)


def ask_bytes(body: object = BODY, path: str = "/v1/chat/completions", **headers: str) -> bytes:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(data)}"]
    lines += ["Content-Type: application/json", *(f"{k.replace('_', '-')}: {v}" for k, v in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode() + data


def read_all(sock: socket.socket) -> bytes:
    """Read until the other side closes."""
    blocks = []
    while block := sock.recv(65536):
        blocks.append(block)
    return b"".join(blocks)


def read_reply(sock: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Read a head and as much body as it promises."""
    data = b""
    while b"\r\n\r\n" not in data:
        block = sock.recv(65536)
        if not block:
            raise EOFError(data)
        data += block
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers["content-length"]):
        block = sock.recv(65536)
        if not block:
            raise EOFError(body)
        body += block
    return int(first.split()[1]), headers, body


def exchange(standin: Standin, **more: Any) -> tuple[int, dict[str, str], bytes]:
    with connect(standin) as sock:
        sock.sendall(ask_bytes(**more))
        return read_reply(sock)


def good(standin: Standin) -> bool:
    """Say whether a plain request still works."""
    standin.script(reply="fine")
    status, _, body = exchange(standin)
    return status == 200 and json.loads(body)["choices"][0]["message"]["content"] == "fine"


# -- cut connections -----------------------------------------------------------------------------------------------


def test_cut_before_the_headers(standin: Standin) -> None:
    standin.script(faults=[Fault(kind="cut")])
    with connect(standin) as sock:
        sock.sendall(ask_bytes())
        assert read_all(sock) == b""
    assert (standin.requests[0].outcome, standin.requests[0].status) == ("cut", 0)
    assert good(standin)


def test_reset_is_a_reset(standin: Standin) -> None:
    standin.script(faults=[Fault(kind="reset")])
    with connect(standin) as sock:
        sock.sendall(ask_bytes())
        with pytest.raises(ConnectionResetError):
            sock.recv(10)
    assert good(standin)


def test_cut_in_the_middle_of_the_body(standin: Standin) -> None:
    standin.script(faults=[Fault(kind="cut_body")])
    with connect(standin) as sock:
        sock.sendall(ask_bytes())
        head, _, body = read_all(sock).partition(b"\r\n\r\n")
    promised = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    assert len(body) == promised // 2
    assert body.startswith(b'{"id"')
    assert standin.log.answered == 0
    assert good(standin)


def test_lengths_that_lie(standin: Standin) -> None:
    standin.script(faults=[Fault(kind="too_long")])
    with connect(standin) as sock:
        sock.sendall(ask_bytes())
        with pytest.raises(EOFError) as caught:
            read_reply(sock)
    assert json.loads(caught.value.args[0])["object"] == "chat.completion"
    standin.script(faults=[Fault(kind="too_short")])
    with connect(standin) as sock:
        sock.sendall(ask_bytes())
        head, _, body = read_all(sock).partition(b"\r\n\r\n")
    promised = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    assert promised == len(body) // 2
    json.loads(body)
    assert good(standin)


# -- slow ----------------------------------------------------------------------------------------------------------


def test_a_slow_body_comes_whole_and_in_pieces(standin: Standin) -> None:
    standin.script(faults=[Fault(kind="slow", seconds=0.5)])
    with connect(standin) as sock:
        for _ in range(5):  # a reader that gets no turn finds several pieces at once
            blocks, early, took = read_slowly(sock)
            assert took >= 0.45
            if blocks >= 5 and early < took / 2:
                break
        else:
            raise AssertionError(f"{blocks} pieces, the first after {early:.2f} of {took:.2f} s")
        # the connection lives on
        sock.sendall(ask_bytes())
        assert read_reply(sock)[0] == 200


def read_slowly(sock: socket.socket) -> tuple[int, float, float]:
    """Ask once; return the pieces of the body, and the seconds until the first and the last."""
    began = time.monotonic()
    sock.sendall(ask_bytes())
    first = sock.recv(65536)
    early = time.monotonic() - began
    assert b"\r\n\r\n" in first
    length = int(first.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    body = first.partition(b"\r\n\r\n")[2]
    blocks = 0
    while len(body) < length:
        body += sock.recv(65536)
        blocks += 1
    took = time.monotonic() - began
    json.loads(body)
    return blocks, early, took


def test_a_stall_says_nothing_and_closes(standin: Standin) -> None:
    standin.script(faults=[Fault(kind="stall", seconds=0.3)])
    with connect(standin) as sock:
        began = time.monotonic()
        sock.sendall(ask_bytes())
        assert read_all(sock) == b""
        assert time.monotonic() - began >= 0.29


def test_a_client_that_leaves_is_noticed(standin: Standin) -> None:
    standin.script(latency={"seconds": 20})
    with connect(standin) as sock:
        sock.sendall(ask_bytes())
        until = time.monotonic() + 60
        while standin.log.in_flight == 0 and time.monotonic() < until:
            time.sleep(0.01)
        assert standin.log.in_flight == 1
    while standin.log.in_flight and time.monotonic() < until:
        time.sleep(0.01)
    summary = standin.log.summary(last=1)
    assert (summary["in_flight"], summary["lost"], summary["answered"]) == (0, 1, 0)
    assert (summary["requests"][0]["outcome"], summary["requests"][0]["sent"]) == ("open", False)


# -- bodies --------------------------------------------------------------------------------------------------------


def test_bodies_that_are_no_json(standin: Standin) -> None:
    for kind in ("malformed", "truncated", "two_bodies", "empty"):
        standin.script(faults=[Fault(kind=kind)])
        status, headers, body = exchange(standin)
        assert status == 200
        assert headers["content-type"] == "application/json"
        with pytest.raises(json.JSONDecodeError):
            json.loads(body)
        if kind == "truncated":
            assert body.startswith(b'{"id"')
        if kind == "two_bodies":
            one, two = body.split(b"\n")
            assert json.loads(one) == json.loads(two)
    standin.script(faults=[Fault(kind="bad_utf8")])
    with pytest.raises(UnicodeDecodeError):
        exchange(standin)[2].decode()
    standin.script(faults=[Fault(kind="missing")])
    assert exchange(standin)[2] == b"{}"


def test_compression(standin: Standin) -> None:
    standin.script(faults=[Fault(kind="gzip")])
    status, headers, body = exchange(standin)
    assert (status, headers["content-encoding"]) == (200, "gzip")
    assert json.loads(gzip.decompress(body))["object"] == "chat.completion"
    standin.script(faults=[Fault(kind="bad_gzip")])
    with pytest.raises(gzip.BadGzipFile):
        gzip.decompress(exchange(standin)[2])
    standin.script(faults=[Fault(kind="gzip_bomb", bytes=10_000_000)])
    bomb = exchange(standin)[2]
    assert len(bomb) < 50_000
    unpacked = zlib.decompress(bomb, 31)
    assert len(unpacked) == 10_000_000
    json.loads(unpacked)


@pytest.mark.parametrize("size", [100, 5_000_000])
def test_a_huge_body_has_the_size_asked_for(standin: Standin, size: int) -> None:
    standin.script(faults=[Fault(kind="huge", bytes=size)])
    status, _, body = exchange(standin)
    assert (status, len(body)) == (200, size)
    json.loads(body)


def test_pages_and_redirects(standin: Standin) -> None:
    standin.script(faults=[Fault(kind="html", status=503)])
    status, headers, body = exchange(standin)
    assert (status, headers["content-type"]) == (503, "text/html; charset=utf-8")
    assert b"<h1>503 Service Unavailable</h1>" in body
    standin.script(faults=[Fault(kind="html", status=200, body="<p>log in</p>")])
    assert exchange(standin)[2] == b"<p>log in</p>"
    standin.script(faults=[Fault(kind="redirect", location="http://169.254.169.254/x")])
    status, headers, _ = exchange(standin)
    assert (status, headers["location"]) == (302, "http://169.254.169.254/x")
    standin.script(faults=[Fault(kind="wrong_type")])
    assert exchange(standin)[1]["content-type"].startswith("text/plain")
    standin.script(faults=[Fault(status=418, body="{}", headers={"X-Odd": "1"})])
    status, headers, body = exchange(standin)
    assert (status, headers["x-odd"], body) == (418, "1", b"{}")


def test_when_to_come_again(standin: Standin) -> None:
    standin.script(faults=[Fault(status=429)])
    assert "retry-after" not in exchange(standin)[1]
    standin.script(faults=[Fault(status=429, retry_after=1.5)])
    assert exchange(standin)[1]["retry-after"] == "1.5"
    standin.script(faults=[Fault(status=503, retry_after=60, retry_date=True)])
    then = parsedate_to_datetime(exchange(standin)[1]["retry-after"]).timestamp()
    assert 50 < then - time.time() < 61


def test_an_error_in_a_good_status(standin: Standin) -> None:
    standin.script(faults=[Fault(kind="error_body", message="quota")])
    for path, body in (
        ("/v1/chat/completions", BODY),
        ("/v1/messages", BODY | {"max_tokens": 5}),
        ("/v1beta/models/m:generateContent", {"contents": [{"parts": [{"text": "x"}]}]}),
    ):
        status, _, said = exchange(standin, body=body, path=path)
        assert status == 200
        assert json.loads(said)["error"]["message"] == "quota"


@pytest.mark.parametrize("kind", FAULT_KINDS)
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", BODY),
        ("/v1/responses", {"model": "m", "input": "hello"}),
        ("/v1/messages", BODY | {"max_tokens": 5}),
        ("/v1beta/models/m:generateContent", {"contents": [{"parts": [{"text": "x"}]}]}),
        ("/v1/chat/completions", BODY | {"stream": True}),
    ],
)
def test_every_fault_happens_once_and_the_server_lives(
    standin: Standin, kind: Any, path: str, body: Any
) -> None:
    standin.script(faults=[Fault(kind=kind, seconds=0.02, bytes=10_000)])
    with connect(standin) as sock:
        sock.sendall(ask_bytes(body, path))
        try:
            read_reply(sock)
        except (EOFError, ConnectionResetError):
            assert kind in ("stall", "cut", "reset", "reset_body", "cut_body", "too_long")
    assert standin.requests[0].outcome == kind
    assert good(standin)


# -- requests that are no requests ---------------------------------------------------------------------------------


def test_bad_requests(standin: Standin) -> None:
    for body in (
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"model": 7, "messages": []}',
        b'{"model":"m","messages":"x"}',
        b"\xff",
    ):
        status, _, said = exchange(standin, body=body)
        assert status == 400
        assert json.loads(said)["error"]["type"] == "invalid_request_error"
    for body in (
        b'{"model":"m","messages":[[]]}',
        b'{"model":"m","messages":[{"role":"user","content":[7]}]}',
    ):
        assert exchange(standin, body=body)[0] == 400
    deep = b'{"model":"m","messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert exchange(standin, body=deep)[0] == 400
    for path, body in (
        (
            "/v1/messages",
            b'{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"image"}]}]}',
        ),
        ("/v1beta/models/m:generateContent", b'{"contents":[{"parts":[{"inlineData":{"data":"aa"}}]}]}'),
        ("/v1beta/models/m:generateContent", b'{"contents":[7]}'),
        ("/v1/responses", b'{"model":"m","input":[{"type":"tool"}]}'),
    ):
        assert exchange(standin, body=body, path=path)[0] == 400
    assert good(standin)


def test_requests_too_large(standin: Standin) -> None:
    standin.script(limit=1_000)
    assert exchange(standin, body=b" " * 1_001)[0] == 413
    chunked = b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    with connect(standin) as sock:
        sock.sendall(chunked + b"7d0\r\n" + b" " * 2_000 + b"\r\n0\r\n\r\n")
        assert read_reply(sock)[0] == 413
    bomb = gzip.compress(b" " * 1_000_000)
    assert exchange(standin, body=bomb, Content_Encoding="gzip")[0] == 413
    assert standin.count == 0
    assert good(standin)


def test_paths(standin: Standin) -> None:
    for path in ("/", "/v1/what", "/v2/chat/completions", "/v1beta/models/m:tune", "/standin/what"):
        assert exchange(standin, path=path)[0] == 404
    standin.script(reply="fine")
    body = {"contents": [{"parts": [{"text": "x"}]}]}
    for path in (
        "/v1beta/models/m%3AgenerateContent",
        "/v1beta/models/tuned/m:generateContent?key=sk-secret",
    ):
        assert exchange(standin, body=body, path=path)[0] == 200
    assert "sk-secret" not in json.dumps(standin.log.summary(last=9, bodies=True))
    assert exchange(standin, path="http://127.0.0.1/v1/chat/completions")[0] == 200


def test_a_client_that_asks_before_it_sends_is_answered_at_once(standin: Standin) -> None:
    data = json.dumps(BODY).encode()
    head, _, _ = ask_bytes(data, Expect="100-continue").partition(b"\r\n\r\n")
    with connect(standin) as sock:
        sock.sendall(head + b"\r\n\r\n")
        assert sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(data)
        assert read_reply(sock)[0] == 200


def test_headers_of_every_reply(standin: Standin) -> None:
    standin.script(
        headers={"x-ratelimit-remaining-requests": "7"}, faults=[Fault(kind="slow", seconds=0.01, every=2)]
    )
    assert [exchange(standin)[1]["x-ratelimit-remaining-requests"] for _ in range(2)] == ["7", "7"]


def test_the_same_connection_is_used_again(standin: Standin) -> None:
    with connect(standin) as sock:
        for number in range(20):
            sock.sendall(ask_bytes(BODY | {"user": str(number)}))
            assert read_reply(sock)[0] == 200
    assert standin.count == 20
    assert standin.most_in_flight == 1


def test_a_failing_rule_is_told(standin: Standin) -> None:
    def broken(call: object) -> Answer:
        raise KeyError("in the rule")

    standin.script(answer=broken)
    assert exchange(standin)[0] == 500
    assert "in the rule" in standin.errors[0]
    standin.reset()
    standin.script(answer=lambda _: 7)  # type: ignore[arg-type,return-value]
    assert exchange(standin)[0] == 500
    assert "must return an Answer" in standin.errors[0]
    standin.reset()


def test_a_port_that_is_taken(standin: Standin) -> None:
    port = urlsplit(standin.url).port
    with pytest.raises(UserError, match="cannot listen"):
        Standin(port=port or 0).start()


def test_after_closing_the_port_is_free() -> None:
    one = Standin(reply="x")
    url = one.start()
    assert one.start() == url
    port = urlsplit(url).port or 0
    one.close()
    one.close()
    with Standin(port=port) as two:
        assert two.url == url
    with pytest.raises(ConnectionRefusedError):
        connect(two)


def test_closing_cuts_what_is_open() -> None:
    standin = Standin(latency={"seconds": 600})
    standin.start()
    with connect(standin) as sock:
        sock.sendall(ask_bytes())
        time.sleep(0.1)
        standin.close()
        assert read_all(sock) == b""
