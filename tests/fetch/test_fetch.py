"""Fetching from a server that misbehaves: the bytes come whole and right, or not at all."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import random
import shutil
import signal
import ssl
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from proctor.errors import UserError
from proctor.fetch.fetch import fetch_files, lock_folder
from proctor.fetch.plan import STATE, Wanted, plan_files
from proctor.fetch.transfer import Limits

FAST = Limits(
    connect=5,
    idle=1.0,
    window=0.4,
    least_rate=1_000,
    fruitless=4,
    attempts=25,
    backoff=0.01,
    longest_wait=0.5,
)


def fetch(folder: Path, *wanted: Wanted, limits: Limits = FAST, **more: Any) -> list[Any]:
    return list(fetch_files(plan_files(wanted, folder), folder, limits=limits, **more))


@pytest.fixture
def wanted(site: Any, data: bytes, sha256: str) -> Wanted:
    return Wanted(f"{site.address}/a.bin", "deep/a.bin", len(data), sha256, given=True)


def left(folder: Path) -> set[str]:
    """Files that lie in the folder, without the lock."""
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() and p.name != "lock"}


def test_a_file_comes_whole_and_leaves_nothing_behind(wanted: Wanted, data: bytes, tmp_path: Path) -> None:
    steps: list[tuple[str, int, int | None]] = []
    (done,) = fetch(tmp_path / "new", wanted, seen=lambda *step: steps.append(step))
    assert (tmp_path / "new/deep/a.bin").read_bytes() == data
    assert left(tmp_path / "new") == {"deep/a.bin"}
    assert (done.size, done.sha256, done.checked) == (len(data), wanted.sha256, True)
    assert steps[-1] == ("deep/a.bin", len(data), len(data))


def test_what_is_there_and_right_is_not_asked_for_again(wanted: Wanted, site: Any, tmp_path: Path) -> None:
    fetch(tmp_path, wanted)
    site.requests.clear()
    assert plan_files([wanted], tmp_path)[0].state == "there"
    assert fetch(tmp_path, wanted) == []
    assert site.requests == []


def test_other_content_is_replaced_only_when_that_is_asked(
    wanted: Wanted, data: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "deep/a.bin"
    path.parent.mkdir()
    path.write_bytes(b"mine")
    with pytest.raises(UserError, match="not the release's"):
        fetch(tmp_path, wanted)
    assert path.read_bytes() == b"mine"
    fetch(tmp_path, wanted, overwrite=True)
    assert path.read_bytes() == data


def test_a_file_that_appears_meanwhile_is_not_replaced(wanted: Wanted, tmp_path: Path) -> None:
    path = tmp_path / "deep/a.bin"

    def seen(*_: object) -> None:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"mine")

    with pytest.raises(UserError, match="already"):
        fetch(tmp_path, wanted, seen=seen)
    assert path.read_bytes() == b"mine"


# -- cut connections ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("etags", [True, False])
def test_cut_anywhere_it_goes_on(
    seed: int, etags: bool, site: Any, web: Any, wanted: Wanted, data: bytes, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    site.etags = etags
    site.answers["/a.bin"] = [web.cut(rng.randrange(len(data))) for _ in range(4)]
    fetch(tmp_path, wanted)
    assert (tmp_path / "deep/a.bin").read_bytes() == data
    assert any("range" in headers for _, headers in site.requests)


def test_a_server_without_ranges_begins_anew(
    site: Any, web: Any, wanted: Wanted, data: bytes, tmp_path: Path
) -> None:
    site.ranges = False
    site.answers["/a.bin"] = [web.cut(1_000), web.cut(200_000)]
    fetch(tmp_path, wanted)
    assert (tmp_path / "deep/a.bin").read_bytes() == data


def test_it_stops_trying(site: Any, web: Any, wanted: Wanted, tmp_path: Path) -> None:
    site.always["/a.bin"] = web.cut(0)
    with pytest.raises(UserError, match="4 attempts"):
        fetch(tmp_path, wanted)
    assert len(site.requests) == 4
    assert not (tmp_path / "deep").exists()


def test_attempts_are_bounded_even_when_each_brings_something(
    site: Any, web: Any, wanted: Wanted, tmp_path: Path
) -> None:
    site.always["/a.bin"] = web.cut(10)
    with pytest.raises(UserError, match="25 attempts"):
        fetch(tmp_path, wanted)
    assert len(site.requests) == 25


def test_a_later_run_goes_on(site: Any, web: Any, wanted: Wanted, data: bytes, tmp_path: Path) -> None:
    site.answers["/a.bin"] = [web.cut(250_000), *[web.status(404)]]
    with pytest.raises(UserError, match="404"):
        fetch(tmp_path, wanted)
    (planned,) = plan_files([wanted], tmp_path)
    assert 0 < planned.partial <= 250_000
    fetch(tmp_path, wanted)
    assert site.requests[-1][1]["range"] == f"bytes={planned.partial}-"
    assert (tmp_path / "deep/a.bin").read_bytes() == data


def test_a_file_that_changed_meanwhile_begins_anew(
    site: Any, web: Any, wanted: Wanted, data: bytes, tmp_path: Path
) -> None:
    old = bytes(len(data))
    site.answers["/a.bin"] = [lambda handler, _: handler.serve(old, cut=100_000)]
    fetch(tmp_path, wanted)
    assert (tmp_path / "deep/a.bin").read_bytes() == data
    assert "if-range" in site.requests[1][1]


def test_pieces_that_do_not_fit_begin_anew(site: Any, wanted: Wanted, data: bytes, tmp_path: Path) -> None:
    """Without ETags only the checksum tells that the beginning was another file's."""
    site.etags = False
    old = bytes(len(data))
    site.answers["/a.bin"] = [lambda handler, _: handler.serve(old, cut=100_000)]
    told: list[str] = []
    fetch(tmp_path, wanted, told=told.append)
    assert (tmp_path / "deep/a.bin").read_bytes() == data
    assert any("do not fit" in line for line in told)


def test_a_rest_from_elsewhere_is_not_appended(
    site: Any, wanted: Wanted, data: bytes, tmp_path: Path
) -> None:
    def shifted(handler: Any, data: bytes) -> None:
        headers = {"Content-Range": f"bytes 5-{len(data) - 1}/{len(data)}"}
        handler.say(206, data[5:], **headers)

    site.answers["/a.bin"] = [lambda handler, data: handler.serve(data, cut=100_000), shifted]
    fetch(tmp_path, wanted)
    assert (tmp_path / "deep/a.bin").read_bytes() == data


def test_killed_half_way_it_goes_on_to_the_same_bytes(
    site: Any, web: Any, wanted: Wanted, data: bytes, tmp_path: Path
) -> None:
    killed = threading.Event()

    def stuck(handler: Any, data: bytes) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(data)))
        handler.send_header("ETag", '"' + hashlib.md5(data).hexdigest() + '"')
        handler.end_headers()
        handler.wfile.write(data[:120_000])
        killed.wait(60)

    site.answers["/a.bin"] = [stuck]
    code = (
        "import sys; from pathlib import Path; from proctor.fetch.plan import *; from proctor.fetch.fetch import *\n"
        "w = Wanted(sys.argv[1], 'deep/a.bin', int(sys.argv[2]), sys.argv[3], given=True)\n"
        "list(fetch_files(plan_files([w], Path(sys.argv[4])), Path(sys.argv[4])))"
    )
    words = [wanted.url, str(wanted.size), str(wanted.sha256), str(tmp_path)]
    child = subprocess.Popen([sys.executable, "-c", code, *words])
    part = tmp_path / STATE / f"{wanted.key}.part"
    until = time.monotonic() + 60
    while not (part.is_file() and part.stat().st_size == 120_000):
        assert time.monotonic() < until
        time.sleep(0.02)
    with pytest.raises(UserError, match="another"):
        fetch(tmp_path, wanted)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    killed.set()
    fetch(tmp_path, wanted)
    assert (tmp_path / "deep/a.bin").read_bytes() == data
    assert site.requests[-1][1]["range"] == "bytes=120000-"
    assert left(tmp_path) == {"deep/a.bin"}


# -- wrong files -------------------------------------------------------------------------------------------------


def test_a_wrong_checksum_keeps_the_file_aside(
    site: Any, web: Any, wanted: Wanted, data: bytes, tmp_path: Path
) -> None:
    site.always["/a.bin"] = web.body(bytes(len(data)))
    with pytest.raises(UserError, match="SHA-256"):
        fetch(tmp_path, wanted)
    assert left(tmp_path) == {"deep/a.bin.wrong"}
    assert (tmp_path / "deep/a.bin.wrong").read_bytes() == bytes(len(data))
    site.always.clear()
    fetch(tmp_path, wanted)
    assert (tmp_path / "deep/a.bin").read_bytes() == data


@pytest.mark.parametrize("claimed", [10, 10**6, 10**15])
def test_a_length_that_is_not_the_declared_one_is_refused(
    claimed: int, site: Any, web: Any, wanted: Wanted, tmp_path: Path
) -> None:
    site.always["/a.bin"] = web.length(claimed)
    with pytest.raises(UserError, match=r"declared are|attempts"):
        fetch(tmp_path, wanted)
    assert not (tmp_path / "deep").exists()


def test_a_claimed_length_that_never_comes_is_given_up(
    site: Any, web: Any, data: bytes, tmp_path: Path
) -> None:
    site.always["/a.bin"] = web.length(len(data) + 7)
    site.ranges = False
    with pytest.raises(UserError, match="attempts"):
        fetch(tmp_path, Wanted(f"{site.address}/a.bin", "a.bin", given=True))
    assert not (tmp_path / "a.bin").exists()


def test_a_stream_without_length_ends_at_the_limit(site: Any, tmp_path: Path) -> None:
    def endless(handler: Any, _: bytes) -> None:
        handler.send_response(200)
        handler.send_header("Connection", "close")
        handler.end_headers()
        for _ in range(1_000):
            handler.wfile.write(bytes(10_000))
        handler.close_connection = True

    site.always["/a.bin"] = endless
    with pytest.raises(UserError, match="more than 50,000"):
        fetch(tmp_path, Wanted(f"{site.address}/a.bin", "a.bin", 50_000, given=True))
    site.always["/b.bin"] = endless
    with pytest.raises(UserError, match="more than 70,000"):
        fetch(tmp_path, Wanted(f"{site.address}/b.bin", "b.bin", given=True), limits=Limits(size=70_000))
    assert left(tmp_path) == set()


def test_packed_for_the_way_it_is_unpacked_and_bounded(
    site: Any, web: Any, wanted: Wanted, data: bytes, tmp_path: Path
) -> None:
    site.always["/a.bin"] = web.zipped
    fetch(tmp_path, wanted)
    assert (tmp_path / "deep/a.bin").read_bytes() == data
    site.files["/zeros"] = bytes(5_000_000)
    site.always["/zeros"] = web.zipped
    with pytest.raises(UserError, match="more than 1,000 bytes"):
        fetch(tmp_path, Wanted(f"{site.address}/zeros", "zeros", 1_000, given=True))


def test_a_coding_that_nobody_asked_for_is_refused(site: Any, wanted: Wanted, tmp_path: Path) -> None:
    site.always["/a.bin"] = lambda handler, _: handler.say(200, b"x", **{"Content-Encoding": "br"})
    with pytest.raises(UserError, match="'br'"):
        fetch(tmp_path, wanted)


# -- what servers answer -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [400, 401, 403, 404, 410, 451])
def test_some_answers_are_not_asked_again(
    code: int, site: Any, web: Any, wanted: Wanted, tmp_path: Path
) -> None:
    site.always["/a.bin"] = web.status(code)
    with pytest.raises(UserError, match=str(code)):
        fetch(tmp_path, wanted)
    assert len(site.requests) == 1


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 504])
def test_others_are(code: int, site: Any, web: Any, wanted: Wanted, data: bytes, tmp_path: Path) -> None:
    site.answers["/a.bin"] = [web.status(code), web.status(code)]
    fetch(tmp_path, wanted)
    assert (tmp_path / "deep/a.bin").read_bytes() == data
    assert len(site.requests) == 3


def test_a_wait_that_the_server_asks_for_is_kept(site: Any, web: Any, wanted: Wanted, tmp_path: Path) -> None:
    site.answers["/a.bin"] = [web.status(503, Retry_After="1")]
    begin = time.monotonic()
    fetch(tmp_path, wanted, limits=Limits(longest_wait=5))
    assert time.monotonic() - begin >= 1


@pytest.mark.parametrize("after", ["86400", "Fri, 31 Dec 2199 23:59:59 GMT"])
def test_too_long_a_wait_is_told(after: str, site: Any, web: Any, wanted: Wanted, tmp_path: Path) -> None:
    site.always["/a.bin"] = web.status(503, Retry_After=after)
    with pytest.raises(UserError, match="asks to wait"):
        fetch(tmp_path, wanted)
    assert len(site.requests) == 1


def test_a_trickle_is_hung_up_on(site: Any, web: Any, wanted: Wanted, tmp_path: Path) -> None:
    site.always["/a.bin"] = web.trickle(0.02)
    with pytest.raises(UserError, match="too slow"):
        fetch(tmp_path, wanted)


def test_silence_is_hung_up_on(site: Any, wanted: Wanted, tmp_path: Path) -> None:
    site.always["/a.bin"] = lambda *_: time.sleep(0.5)
    with pytest.raises(UserError, match="nothing came"):
        fetch(tmp_path, wanted, limits=Limits(idle=0.1, fruitless=2, backoff=0.01))


def test_nobody_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="connection failed"):
        fetch(tmp_path, Wanted("http://u:secret@127.0.0.1:1/a?token=secret", "a", given=True))


# -- redirects, credentials, proxies -----------------------------------------------------------------------------


def test_five_redirects_are_followed_and_no_more(
    site: Any, web: Any, wanted: Wanted, data: bytes, tmp_path: Path
) -> None:
    for n in range(5):
        site.always[f"/hop{n}"] = web.redirect(f"/hop{n + 1}" if n < 4 else f"{site.address}/a.bin")
    fetch(tmp_path, Wanted(f"{site.address}/hop0", "a", given=True))
    assert (tmp_path / "a").read_bytes() == data
    site.always["/loop"] = web.redirect("/loop")
    site.requests.clear()
    with pytest.raises(UserError, match="more than 5"):
        fetch(tmp_path, Wanted(f"{site.address}/loop", "b", given=True))
    assert len(site.requests) == 6


@pytest.mark.parametrize(
    "to", ["file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://x", "", "http://[::1", "javascript:1"]
)
def test_redirects_to_other_schemes_are_refused(to: str, site: Any, web: Any, tmp_path: Path) -> None:
    site.always["/hop"] = web.redirect(to or "data:,x")
    with pytest.raises(UserError, match="redirects"):
        fetch(tmp_path, Wanted(f"{site.address}/hop", "a", given=True))
    assert left(tmp_path) == set()


def test_credentials_go_to_their_own_server_only_and_into_no_text(
    web: Any, site: Any, tmp_path: Path
) -> None:
    with web.serving(b=b"other") as other:
        site.always["/hop?token=hush"] = web.redirect(f"{other.address}/b")
        address = site.address.replace("//", "//ana:s%40cret@")
        told: list[str] = []
        site.answers["/hop?token=hush"] = [web.status(500)]
        fetch(tmp_path, Wanted(f"{address}/hop?token=hush", "b", given=True), told=told.append)
        sent = base64.b64encode(b"ana:s@cret").decode()
        assert site.requests[0][1]["authorization"] == f"Basic {sent}"
        assert "authorization" not in other.requests[0][1]
        with pytest.raises(UserError) as caught:
            fetch(tmp_path, Wanted(f"{address}/none?token=hush", "c", given=True))
    assert told
    texts = [*told, str(caught.value), *(p.read_text() for p in tmp_path.rglob("*.json"))]
    assert not any(word in text for text in texts for word in ("s%40cret", "s@cret", "hush", "ana:"))


def test_the_proxy_of_the_environment_is_asked(
    site: Any, data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", site.address)
    fetch(tmp_path, Wanted("http://mirror.example/a.bin", "a.bin", given=True))
    assert (tmp_path / "a.bin").read_bytes() == data
    assert site.requests[0][0] == "http://mirror.example/a.bin"


def test_a_declared_name_may_not_lead_to_this_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: Any
) -> None:
    import socket

    real = socket.getaddrinfo

    def lookup(host: Any, port: Any, *more: Any, **named: Any) -> Any:
        return real("127.0.0.1" if host == "data.example" else host, port, *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    with pytest.raises(UserError, match=r"private|cannot be asked"):
        fetch(tmp_path, Wanted(f"https://data.example:{site.address.rpartition(':')[2]}/a.bin", "a.bin"))
    assert site.requests == []


# -- one at a time, and archives -----------------------------------------------------------------------------------


def test_two_at_once_are_refused(wanted: Wanted, tmp_path: Path) -> None:
    with lock_folder(tmp_path), pytest.raises(UserError, match="another"):
        fetch(tmp_path, wanted)
    fetch(tmp_path, wanted)


def test_a_folder_of_files_already_downloaded(data: bytes, sha256: str, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(data)
    wanted = Wanted("", "a.bin", len(data), sha256, given=True, local=tmp_path / "a.bin")
    fetch(tmp_path / "new", wanted)
    assert (tmp_path / "new/a.bin").read_bytes() == data
    (tmp_path / "a.bin").write_bytes(data[:-1] + b"x")
    with pytest.raises(UserError, match="SHA-256"):
        fetch(tmp_path / "other", wanted)
    assert left(tmp_path / "other") == {"a.bin.wrong"}


def make_zip(**files: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in files.items():
            opened.writestr(name.replace("__", "/"), content)
    return stream.getvalue()


def test_an_archive_is_unpacked_once(site: Any, tmp_path: Path) -> None:
    site.files["/all.zip"] = make_zip(a=b"1", sub__b=b"22")
    wanted = Wanted(f"{site.address}/all.zip", "in", unpack=True, given=True)
    (done,) = fetch(tmp_path, wanted)
    assert done.files == 2
    assert (tmp_path / "in/sub/b").read_bytes() == b"22"
    assert not (tmp_path / "in/all.zip").exists()
    assert plan_files([wanted], tmp_path)[0].state == "there"
    (tmp_path / "in/a").unlink()
    assert plan_files([wanted], tmp_path)[0].state == "fetch"
    fetch(tmp_path, wanted)
    assert (tmp_path / "in/a").read_bytes() == b"1"


def test_an_archive_replaces_nothing_unasked(site: Any, tmp_path: Path) -> None:
    site.files["/all.zip"] = make_zip(a=b"1", b=b"2")
    wanted = Wanted(f"{site.address}/all.zip", ".", unpack=True, given=True)
    (tmp_path / "b").write_bytes(b"mine")
    with pytest.raises(UserError, match="other content"):
        fetch(tmp_path, wanted)
    assert (tmp_path / "b").read_bytes() == b"mine"
    assert not (tmp_path / "a").exists()
    site.requests.clear()
    fetch(tmp_path, wanted, overwrite=True)
    assert (tmp_path / "b").read_bytes() == b"2"
    assert site.requests == [], "the archive was kept"


def test_a_bad_archive_is_kept_aside_and_nothing_comes_of_it(site: Any, tmp_path: Path) -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as opened:
        opened.addfile(tarfile.TarInfo("good"))
        opened.addfile(tarfile.TarInfo("../../bad"))
    site.files["/all.tar.gz"] = stream.getvalue()
    with pytest.raises(UserError, match="leads out"):
        fetch(tmp_path / "new", Wanted(f"{site.address}/all.tar.gz", "in", unpack=True, given=True))
    assert left(tmp_path) == {"new/in/all.tar.gz.wrong"}


@pytest.mark.parametrize("inside", ["file", "dir"])
def test_links_out_of_the_folder_are_not_followed(inside: str, site: Any, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "sub").symlink_to(outside)
    site.files["/all.zip"] = make_zip(sub__b=b"22")
    wanted = (
        Wanted(f"{site.address}/all.zip", ".", unpack=True, given=True)
        if inside == "dir"
        else Wanted(f"{site.address}/a.bin", "sub/a.bin", given=True)
    )
    with pytest.raises(UserError, match="leads out"):
        fetch(folder, wanted)
    assert list(outside.iterdir()) == []


def test_stopped_while_an_archive_is_put_in_place_it_goes_on(
    site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.files["/all.zip"] = make_zip(a=b"1", b=b"2", c=b"3")
    wanted = Wanted(f"{site.address}/all.zip", ".", unpack=True, given=True)
    real, calls = os.link, 0

    def link(*words: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        real(*words)

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(KeyboardInterrupt):
        fetch(tmp_path, wanted)
    assert len([p for p in tmp_path.iterdir() if p.is_file()]) == 1
    site.requests.clear()
    fetch(tmp_path, wanted)
    assert [(tmp_path / name).read_bytes() for name in "abc"] == [b"1", b"2", b"3"]
    assert site.requests == []


def test_a_full_disk_is_told(wanted: Wanted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno

    from proctor.fetch import transfer

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(transfer, "_write_all", full)
        with pytest.raises(UserError, match="No space left"):
            fetch(tmp_path, wanted)
    fetch(tmp_path, wanted)


def test_more_than_the_disk_has_room_for_is_not_begun(site: Any, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has room for"):
        fetch(tmp_path, Wanted(f"{site.address}/a.bin", "a", 10**18, given=True))
    assert site.requests == []


def test_a_certificate_of_nobody_is_refused_at_once(tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs openssl to make a certificate")
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    words = f"req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=127.0.0.1 -keyout {key} -out {certificate}"
    subprocess.run([openssl, *words.split()], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        wanted = Wanted(f"https://127.0.0.1:{server.server_port}/a", "a", given=True)
        with pytest.raises(UserError, match="certificate"):
            fetch(tmp_path / "new", wanted, limits=Limits(backoff=60))
        server.shutdown()


def test_another_query_is_another_file(site: Any, web: Any, data: bytes, tmp_path: Path) -> None:
    """Without ETag and checksum nothing else tells."""
    site.etags = False
    site.answers["/a.bin?v=1"] = [
        lambda handler, _: handler.serve(bytes(len(data)), cut=100_000),
        web.status(404),
    ]
    with pytest.raises(UserError, match="404"):
        fetch(tmp_path, Wanted(f"{site.address}/a.bin?v=1", "a", given=True))
    fetch(tmp_path, Wanted(f"{site.address}/a.bin?v=2", "a", given=True))
    assert (tmp_path / "a").read_bytes() == data


def test_a_proxy_with_a_password(
    site: Any, data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", site.address.replace("//", "//ana:hush@"))
    fetch(tmp_path, Wanted("http://mirror.example/a.bin", "a.bin", given=True))
    assert (tmp_path / "a.bin").read_bytes() == data
    assert site.requests[0][1]["proxy-authorization"].startswith("Basic ")
    with pytest.raises(UserError) as caught:
        fetch(tmp_path, Wanted("http://mirror.example/none", "b.bin", given=True))
    assert "hush" not in str(caught.value)
