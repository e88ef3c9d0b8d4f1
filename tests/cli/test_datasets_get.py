"""``proctor datasets get``: asks before it fetches, and goes on after it was stopped."""

from __future__ import annotations

import functools
import hashlib
import io
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from proctor.cli.console import run
from proctor.cli.data.get import app
from proctor.datasets import dataset as contract
from proctor.datasets.dataset import Dataset, Download, ReadResult

DATA = random.Random(1).randbytes(50_000)
SHA256 = hashlib.sha256(DATA).hexdigest()
TEA = Dataset(
    name="tea",
    title="Tea ceremonies",
    version="1",
    licence="CC-BY-4.0",
    citation="us",
    homepage="https://tea.example",
    files=(),
    read=lambda *_, **__: ReadResult((), {}),
    check=lambda _: (),
    access="Open.",
    downloads=(Download("https://tea.example/v1/a.bin", "sub/a.bin", len(DATA), SHA256),),
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def get(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """Run the command with a data set of our own."""
    monkeypatch.setattr(contract, "load_dataset", lambda _: TEA)

    def command(*words: object, stdin: io.StringIO | None = None) -> tuple[int, str, str]:
        kind = Terminal if stdin else io.StringIO
        out, err = io.StringIO(), kind()
        with (
            patch.object(sys, "argv", ["proctor", *map(str, words)]),
            patch.object(sys, "stdin", stdin or io.StringIO()),
            patch.object(sys, "stdout", out),
            patch.object(sys, "stderr", err),
        ):
            status = run(app)
        return status, out.getvalue(), err.getvalue()

    return command


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[str]:
    folder = tmp_path / "mirror/sub"
    folder.mkdir(parents=True)
    (folder / "a.bin").write_bytes(DATA)
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(tmp_path / "mirror"))
    ) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_script_says_yes(get: Any, mirror: str, tmp_path: Path) -> None:
    status, out, err = get("tea", tmp_path / "new", "--from", mirror, "--yes", "--json")
    assert status == 0, err
    assert json.loads(out)["fetched"] == [
        {"path": "sub/a.bin", "size": len(DATA), "sha256": SHA256, "files": 0, "checked": True}
    ]
    assert (tmp_path / "new/sub/a.bin").read_bytes() == DATA
    assert "CC-BY-4.0" in err, "shown before it starts, to scripts, too"
    status, out, err = get("tea", tmp_path / "new", "--from", mirror)
    assert (status, out.strip(), err) == (0, "sub/a.bin: there already", ""), "nothing to do, nothing to ask"


def test_nobody_to_ask(get: Any, mirror: str, tmp_path: Path) -> None:
    status, _, err = get("tea", tmp_path / "new", "--from", mirror)
    assert status == 2
    assert "--yes" in err
    assert "CC-BY-4.0" in err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(("answer", "fetched"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_the_question(answer: str, fetched: bool, get: Any, mirror: str, tmp_path: Path) -> None:
    status, _, err = get("tea", tmp_path / "new", "--from", mirror, stdin=Terminal(answer))
    assert status == (0 if fetched else 2), err
    assert "licence: CC-BY-4.0" in err
    assert (tmp_path / "new/sub/a.bin").exists() == fetched


def test_a_dry_run_fetches_nothing(get: Any, mirror: str, tmp_path: Path) -> None:
    status, out, _ = get("tea", tmp_path / "new", "--from", mirror, "--dry-run")
    assert status == 0
    assert f"{mirror}/sub/a.bin" in out
    status, out, _ = get("tea", tmp_path / "new", "--dry-run", "--json")
    assert json.loads(out)["files"][0]["from"] == "https://tea.example/v1/a.bin"
    assert not (tmp_path / "new").exists()


def test_no_downloads_is_told(get: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contract, "load_dataset", lambda _: replace(TEA, downloads=()))
    status, _, err = get("tea", tmp_path / "new", "--yes")
    assert status == 2
    assert "Open." in err
    assert "https://tea.example" in err


@pytest.mark.parametrize(
    "words",
    [
        ("--only", "*.csv"),
        ("--from", "file:///etc"),
        ("--from", "/nowhere/at/all"),
        ("--from", "http://[::1"),
    ],
)
def test_mistakes_are_told(words: tuple[str, str], get: Any, tmp_path: Path) -> None:
    status, _, err = get("tea", tmp_path / "new", "--yes", *words)
    assert status == 2
    assert "Traceback" not in err
    assert not (tmp_path / "new").exists()


def test_secrets_of_a_mirror_are_not_printed(get: Any, mirror: str, tmp_path: Path) -> None:
    secret = mirror.replace("//", "//ana:hush@") + "?token=hush"
    for words in (("--dry-run",), ("--yes",), ("--yes", "--only", "none"), ("--dry-run", "--json")):
        _, out, err = get("tea", tmp_path / "new", "--from", secret, *words)
        assert "hush" not in out + err
    assert (tmp_path / "new/sub/a.bin").read_bytes() == DATA


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_stopped_half_way_it_goes_on(number: int, status: int, tmp_path: Path) -> None:
    """The server sends half and waits; the process is stopped; run again, the other half comes."""
    asked: list[str | None] = []

    ended = threading.Event()

    class Half(Quiet):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.append(self.headers.get("Range"))
            start = int((asked[-1] or "bytes=0-")[6:-1])
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(DATA) - start))
            self.send_header("ETag", '"1"')
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(DATA) - 1}/{len(DATA)}")
            self.end_headers()
            self.wfile.write(DATA[start:] if start else DATA[:20_000])
            if not start:
                ended.wait(60)
                self.close_connection = True

    code = (
        # Whoever runs the tests in the background of a shell starts them with Ctrl-C ignored.
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import sys; sys.argv[0] = 'proctor'\n"
        "from proctor.cli.console import run\nfrom proctor.cli.data.get import app\n"
        "from proctor.datasets import dataset as d\n"
        "f = d.Download('https://tea.example/a.bin', 'a.bin', 50_000, " + repr(SHA256) + ")\n"
        "D = d.Dataset('tea', 'Tea', '1', 'CC0-1.0', '', 'https://tea.example', (), None, None, downloads=(f,))\n"
        "d.load_dataset = lambda _: D\nsys.exit(run(app))\n"
    )
    folder = tmp_path / "new"
    with ThreadingHTTPServer(("127.0.0.1", 0), Half) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        command = [sys.executable, "-c", code, "tea", str(folder), "--from", address, "--yes"]
        first = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        until = time.monotonic() + 60
        while sum(p.stat().st_size for p in folder.glob(".proctor-get/*.part")) < 20_000:
            assert time.monotonic() < until
            assert first.poll() is None, first.communicate()
            time.sleep(0.02)
        os.kill(first.pid, number)
        _, err = first.communicate()
        ended.set()
        assert first.returncode == status, err
        assert "Traceback" not in err
        assert not (folder / "a.bin").exists()
        again = subprocess.run(command, capture_output=True, text=True, check=False)
        server.shutdown()
    assert again.returncode == 0, again.stderr
    assert (folder / "a.bin").read_bytes() == DATA
    assert asked == [None, "bytes=20000-"]
