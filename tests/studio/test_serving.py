"""Files over HTTP: every way of asking for parts, and every way of asking for what is nobody's business."""

from __future__ import annotations

import hashlib
import http.client
import os
import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from tests.patience import least_effort

from proctor.studio.serving import Handover, find_file, send_file

SMALL = bytes(range(256)) * 40
"""10,240 bytes."""
BIG = 48_000_000
NAME = "ab" * 32 + ".mp4"
BIG_NAME = "cd" * 32 + ".mp4"
SHA = hashlib.sha256(SMALL).hexdigest()


@contextmanager
def serving(app: Starlette) -> Iterator[int]:
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", lifespan="off", ws="none")
    server = uvicorn.Server(config)
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.force_exit = server.should_exit = True
        thread.join(60)
        listener.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clips") / "data"
    folder.mkdir()
    (folder / NAME).write_bytes(SMALL)
    with (folder / BIG_NAME).open("wb") as stream:
        stream.truncate(BIG)
    return folder


@pytest.fixture(scope="module")
def port(folder: Path) -> Iterator[int]:
    handover = Handover("X-Accel-Redirect")

    def clip(request: Request) -> Response:
        name = BIG_NAME if "big" in request.query_params else NAME
        front = handover if "front" in request.query_params else None
        return send_file(request, folder, name, sha256=SHA, media_type="video/mp4", handover=front)

    def page(request: Request) -> Response:
        return PlainTextResponse("here")

    with serving(Starlette(routes=[Route("/clip.mp4", clip), Route("/page", page)])) as port:
        yield port


def ask(
    port: int, path: str = "/clip.mp4", method: str = "GET", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    finally:
        connection.close()


# -- ranges ----------------------------------------------------------------------------------------------------


def test_the_whole_file(port: int) -> None:
    status, headers, body = ask(port)
    assert (status, body) == (200, SMALL)
    assert headers["content-type"] == "video/mp4"
    assert headers["content-length"] == "10240"
    assert headers["etag"] == f'"{SHA}"'
    assert headers["cache-control"] == "private, max-age=3600"
    assert headers["accept-ranges"] == "bytes"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize(
    ("line", "first", "last"),
    [
        ("bytes=0-", 0, 10239),
        ("bytes=0-0", 0, 0),
        ("bytes=100-199", 100, 199),
        ("bytes=10239-", 10239, 10239),
        ("bytes=10000-999999", 10000, 10239),
        ("bytes=-5", 10235, 10239),
        ("bytes=-999999", 0, 10239),
        ("BYTES = 7-9", 7, 9),
    ],
)
def test_one_range(port: int, line: str, first: int, last: int) -> None:
    status, headers, body = ask(port, Range=line)
    assert (status, body) == (206, SMALL[first : last + 1])
    assert headers["content-range"] == f"bytes {first}-{last}/10240"
    assert headers["content-length"] == str(last - first + 1)
    assert headers["etag"] == f'"{SHA}"'
    assert headers["cache-control"].startswith("private")
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("line", ["bytes=10240-", "bytes=10240-10241", "bytes=99999999999-", "bytes=-0"])
def test_a_range_that_begins_after_the_end(port: int, line: str) -> None:
    status, headers, body = ask(port, Range=line)
    assert (status, body) == (416, b"")
    assert headers["content-range"] == "bytes */10240"
    assert headers["cache-control"] == "private, no-store"


ODD = [
    "bytes=5-2", "bytes=abc", "bytes=-", "bytes=", "bytes", "abc", "", "=", "bytes=--5", "bytes=-5-2", "bytes=1e3-",
    "bytes=0x0-5", "bytes=1_0-20", "bytes=0-5;", "bytes=+1-2", "bytes= 1 - 2 x", "lines=0-5", "bytes=0-0,2-3",
    "bytes=0-,0-,0-", "bytes=5-2,0-0", "bytes=99999-,0-1", "bytes=" + "9" * 5000 + "-", "bytes=-" + "9" * 19,
]  # fmt: skip


@pytest.mark.parametrize("line", ODD)
def test_what_is_no_single_range_is_ignored(port: int, line: str) -> None:
    status, headers, body = ask(port, Range=line)
    assert (status, body) == (200, SMALL)
    assert "content-range" not in headers


def test_two_range_lines_are_ignored(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
        raw.sendall(b"GET /clip.mp4 HTTP/1.1\r\nHost: x\r\nRange: bytes=0-1\r\nRange: bytes=3-4\r\n\r\n")
        assert raw.recv(12) == b"HTTP/1.1 200"


def test_a_range_line_of_bytes_that_are_no_text(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
        raw.sendall(b"GET /clip.mp4 HTTP/1.1\r\nHost: x\r\nRange: bytes=\xd9\xa1-\xff\r\n\r\n")
        assert raw.recv(12) in (b"HTTP/1.1 200", b"HTTP/1.1 400")


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=40))
def test_no_line_is_too_odd(port: int, text: str) -> None:
    for line in (text.strip(), f"bytes={text.strip()}"):
        status, _, body = ask(port, Range=line)
        assert status in (200, 206, 416)
        assert status != 200 or body == SMALL


@pytest.mark.parametrize("count", [200, 10_000])
def test_a_flood_of_ranges_is_answered_at_once(port: int, count: int) -> None:
    lines = ["bytes=" + ",".join(["0-"] * count), "bytes=" + ",".join(f"{k}-{k}" for k in range(count))]
    for line in lines:

        def flood(line: str = line) -> None:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("GET", "/clip.mp4", headers={"Range": line})
            answer = connection.getresponse()
            # more than 64 kB of header may be refused by the server before it comes to us
            assert answer.status == 200 or (len(line) > 50_000 and answer.status in (400, 431))
            connection.close()

        assert least_effort(flood, 5) < 0.05  # the server is in this process


def test_a_flood_on_a_big_file_takes_no_memory(port: int) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    line = "bytes=" + ",".join(f"0-{BIG - 1 - k}" for k in range(800))
    for _ in range(3):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/clip.mp4?big", headers={"Range": line})
        answer = connection.getresponse()
        assert (answer.status, answer.getheader("Content-Length")) == (200, str(BIG))
        while answer.read(1 << 16):
            pass
        connection.close()
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < 24  # MB


# -- conditions ------------------------------------------------------------------------------------------------


def test_head(port: int) -> None:
    status, headers, body = ask(port, method="HEAD")
    assert (status, headers["content-length"], body) == (200, "10240", b"")
    status, headers, body = ask(port, method="HEAD", Range="bytes=0-9")
    assert (status, headers["content-length"], body) == (206, "10", b"")
    assert ask(port, method="HEAD", Range="bytes=20000-")[0] == 416


def test_if_range(port: int) -> None:
    assert ask(port, Range="bytes=0-9", If_Range=f'"{SHA}"')[0] == 206
    for other in ('"' + "0" * 64 + '"', f'W/"{SHA}"', "Wed, 21 Oct 2026 07:28:00 GMT", "x"):
        assert ask(port, Range="bytes=0-9", If_Range=other)[0] == 200
        assert ask(port, Range="bytes=99999-", If_Range=other)[0] == 200


def test_if_none_match(port: int) -> None:
    for known in (f'"{SHA}"', f'W/"{SHA}"', f'"x", "{SHA}"', "*"):
        status, headers, body = ask(port, If_None_Match=known)
        assert (status, body) == (304, b"")
        assert headers["etag"] == f'"{SHA}"'
        assert headers["cache-control"].startswith("private")
    assert ask(port, If_None_Match='"x"')[0] == 200


def test_the_server_in_front_may_send_it(port: int, folder: Path) -> None:
    status, headers, body = ask(port, "/clip.mp4?front", Range="bytes=0-9")
    assert (status, body) == (200, b"")
    assert headers["x-accel-redirect"] == f"/internal-clips/{NAME}"
    assert headers["content-type"] == "video/mp4"
    assert headers["etag"] == f'"{SHA}"'
    request = Request({"type": "http", "method": "GET", "headers": []})
    answer = send_file(
        request, folder, NAME, sha256=SHA, media_type="video/mp4", handover=Handover("X-Sendfile")
    )
    assert answer.headers["x-sendfile"] == str((folder / NAME).resolve())
    gone = send_file(
        request,
        folder,
        "0" * 64 + ".mp4",
        sha256=SHA,
        media_type="video/mp4",
        handover=Handover("X-Sendfile"),
    )
    assert (gone.status_code, "x-sendfile" in gone.headers) == (404, False)


@pytest.mark.parametrize("sha", ["", "x", 'a"b', "ab\r\nSet-Cookie: x"])
def test_an_etag_is_a_hash(folder: Path, sha: str) -> None:
    with pytest.raises(ValueError, match="not a hash"):
        send_file(Request({"type": "http", "headers": []}), folder, NAME, sha256=sha, media_type="video/mp4")


# -- readers that stop -----------------------------------------------------------------------------------------


def test_readers_that_stop_keep_nobody_waiting(port: int) -> None:
    """More of them than the server has threads for reading files (40)."""
    stopped = []
    try:
        for _ in range(60):
            raw = socket.socket()
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            raw.connect(("127.0.0.1", port))
            raw.sendall(b"GET /clip.mp4?big HTTP/1.1\r\nHost: x\r\nRange: bytes=0-\r\n\r\n")
            assert raw.recv(12) == b"HTTP/1.1 206"
            stopped.append(raw)
        time.sleep(0.3)
        for path, expected in (("/page", b"here"), ("/clip.mp4", SMALL)):
            assert ask(port, path)[2] == expected  # which would wait for the others for ever
    finally:
        for raw in stopped:
            raw.close()


def test_a_reader_that_leaves_frees_the_file(port: int, folder: Path) -> None:
    def held() -> int:
        count = 0
        for handle in Path("/proc/self/fd").iterdir():
            with suppress(OSError):
                count += handle.readlink().name == BIG_NAME
        return count

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("needs /proc")
    readers = [socket.create_connection(("127.0.0.1", port)) for _ in range(5)]
    for raw in readers:
        raw.sendall(b"GET /clip.mp4?big HTTP/1.1\r\nHost: x\r\n\r\n")
        raw.recv(100)
    for raw in readers:
        raw.close()
    until = time.monotonic() + 60
    while held() and time.monotonic() < until:
        time.sleep(0.05)
    assert held() == 0


# -- names -----------------------------------------------------------------------------------------------------

STRANGE = [
    "", ".", "..", "/", "../etc/passwd", "../../etc/passwd", "%2e%2e%2fetc%2fpasswd", "%252e%252e%252f", "/etc/passwd",
    "C:\\windows\\win.ini", "..\\secret", f"../data/{NAME}", f"./{NAME}", f"{NAME}\0", f"{NAME}\0.jpg", f"{NAME}\n",
    f"{NAME}/", f" {NAME}", NAME.upper(), f"{'ab' * 32}\u2024mp4", "\u2025/secret", "\uff0e\uff0e/secret",
    "\u0661" * 64 + ".mp4", "..%c0%af..", ".lock", "x" * 5000, "ab" * 32, f"{'ab' * 32}.mp4.mp4", "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("name", STRANGE)
def test_strange_names_are_not_found(folder: Path, name: str) -> None:
    assert find_file(folder, name) is None
    answer = send_file(
        Request({"type": "http", "headers": []}), folder, name, sha256=SHA, media_type="video/mp4"
    )
    assert answer.status_code == 404
    assert answer.body == b""
    assert "etag" not in answer.headers


def test_links_do_not_lead_out(tmp_path: Path) -> None:
    folder, evil = tmp_path / "data", tmp_path / "data_evil"
    for place in (folder, evil):
        place.mkdir()
    name = "ef" * 32 + ".mp4"
    (evil / name).write_bytes(b"secret")
    (tmp_path / "secret").write_bytes(b"secret")
    (folder / name).symlink_to(evil / name)  # a neighbour whose name begins alike
    assert find_file(folder, name) is None
    (folder / name).unlink()
    (folder / name).symlink_to("../secret")
    assert find_file(folder, name) is None
    (folder / name).unlink()
    (folder / name).symlink_to(name)  # a loop
    assert find_file(folder, name) is None
    (folder / name).unlink()
    (folder / name).mkdir()
    assert find_file(folder, name) is None
    (folder / name).rmdir()
    os.mkfifo(folder / name)  # would hang whoever opens it
    assert find_file(folder, name) is None
    (folder / name).unlink()
    (folder / name).write_bytes(b"clip")
    assert find_file(folder, name) == (folder / name).resolve()
    assert find_file(tmp_path / "absent", name) is None


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / NAME).write_bytes(b"clip")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert find_file(tmp_path / "link", NAME) == (tmp_path / "real" / NAME).resolve()


def test_a_hard_case_of_time(port: int, folder: Path) -> None:
    """The file goes away between two requests."""
    name = "99" * 32 + ".mp4"
    (folder / name).write_bytes(b"clip")
    request = Request({"type": "http", "method": "GET", "headers": []})
    assert send_file(request, folder, name, sha256=SHA, media_type="video/mp4").status_code == 200
    (folder / name).unlink()
    assert send_file(request, folder, name, sha256=SHA, media_type="video/mp4").status_code == 404
