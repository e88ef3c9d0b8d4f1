"""A key is in the header of a request and nowhere else, whatever the other side does with it."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from proctor_rehearsal.standin import Standin

SECRET = "correct-horse-battery-staple-0123456789"
MODELS = {
    "openai": "openai/gpt-4o-2024-08-06@{}/v1",
    "anthropic": "anthropic/claude-sonnet-4-5@{}",
    "google": "google/gemini-2.5-flash@{}",
    "compat": "compat/own@{}/v1",
}
VARIABLES = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "google": "GOOGLE_API_KEY",
    "compat": "COMPAT_API_KEY",
}

Command = Callable[..., Any]


class Parrot(BaseHTTPRequestHandler):
    """Gives the key that it was sent back in every way that a server has."""

    protocol_version = "HTTP/1.1"
    server: Flock

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        got = [value for value in self.headers.values() if SECRET in value]
        self.server.got += got
        key = got[0] if got else "nothing"
        mode = self.server.mode
        if mode == "drop":
            self.close_connection = True
            return
        status, body = _answer(mode, key)
        self.send_response(status, f"No {key}" if mode == "reason" else None)
        self.send_header("Content-Length", str(len(body) + (50 if mode == "cut" else 0)))
        self.send_header("X-Echo", key)
        self.send_header("Retry-After", key if mode == "busy" else "0.01")
        if mode == "redirect":
            self.send_header("Location", f"http://{self.headers['Host']}/elsewhere?key={key}")
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = mode == "cut"

    do_GET = do_POST

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def _answer(mode: str, key: str) -> tuple[int, bytes]:
    text = f"It is {key}.\nVerdict: 1"
    if mode in ("reply", "cut"):
        reply = {
            "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}],
            "model": key,
            "id": key,
            "usage": {},
        }
        return 200, json.dumps(reply).encode()
    status = {"wrong": 401, "forbidden": 403, "reason": 400, "busy": 429, "page": 502, "redirect": 302}
    if mode in ("page", "malformed"):
        page = f"<html><title>{key}</title><body>{key}</body></html>"
        return status.get(mode, 200), page.encode()
    error = {"message": f"Incorrect API key provided: {key}.", "type": key, "code": key, "status": key}
    return status[mode], json.dumps({"type": "error", "error": error}).encode()


class Flock(ThreadingHTTPServer):
    """The server, with what it is to do and the headers in which it got the key."""

    daemon_threads = True
    mode = "wrong"

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Parrot)
        self.got: list[str] = []

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that were cut off are meant."""


MODES = (
    *("wrong", "forbidden", "reason", "busy", "page"),
    *("redirect", "malformed", "cut", "drop", "reply"),
)


@pytest.fixture
def flock() -> Iterator[Flock]:
    with Flock() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def bench(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished / "bench", tmp_path / "bench"))


def everything(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield every file below a folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield str(path), path.read_bytes()


@pytest.mark.parametrize("provider", MODELS)
def test_whatever_goes_wrong_the_key_is_in_no_file_and_on_no_screen(
    provider: str,
    flock: Flock,
    bench: Path,
    proctor: Command,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv(VARIABLES[provider], SECRET)
    caplog.set_level(logging.DEBUG)
    name = MODELS[provider].format(f"http://127.0.0.1:{flock.server_port}")
    quick = ("--deadline", 0.3, "--timeout", 0.3, "--limit", 3)
    said: list[str] = []

    def run(*arguments: object) -> Any:
        done = proctor(*arguments)
        assert done.status in (0, 1, 2), done.err  # some of these servers say nothing that could be used
        said.extend((done.out, done.err))
        return done

    for mode in MODES:
        flock.mode = mode
        before = len(flock.got)
        run("predict", bench, "-p", name, "--show", "question", "--run", f"own-{mode}", *quick)
        assert len(flock.got) > before, mode  # the key was sent, and came back
    flock.mode = "wrong"
    run("judge", bench, "--judge", name, "--run", "own-reply", *quick[:4], "--json")
    flock.mode = "reply"
    marked = run("judge", bench, "--judge", name)
    assert "(reply " in marked.out
    if provider == "compat":  # from here on, no command knows of providers
        run("score", bench)
        for command in ("list", "cost", "flow"):
            run("calls", command, bench)
            run("calls", command, bench, "--json")
        run("calls", "export", bench, bench / "out.jsonl")
        run("doctor", bench)
        run("report", bench)
    told = "".join(said)
    assert SECRET not in told
    assert SECRET not in caplog.text
    assert not any(SECRET in str(vars(record)) for record in caplog.records)
    leaks = [path for path, data in everything(bench) if SECRET.encode() in data]
    assert leaks == []
    hidden = f"[{VARIABLES[provider]}]".encode()
    shown = "report.html" if provider == "compat" else "predictions.jsonl"
    assert any(hidden in data for path, data in everything(bench) if path.endswith(shown)), (
        f"{shown} has answers that held the key, or this tests nothing"
    )


@pytest.mark.parametrize("provider", MODELS)
def test_a_server_that_is_not_there_hears_and_tells_nothing(
    provider: str,
    bench: Path,
    proctor: Command,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv(VARIABLES[provider], SECRET)
    caplog.set_level(logging.DEBUG)
    name = MODELS[provider].format("http://127.0.0.1:9")
    done = proctor("predict", bench, "-p", name, "--show", "question", "--limit", 2, "--deadline", 0.2)
    assert done.status == 1, done.err
    assert "connection 2" in done.out
    assert SECRET not in done.out + done.err + caplog.text
    assert not [path for path, data in everything(bench) if SECRET.encode() in data]


@pytest.mark.parametrize("provider", ["openai", "anthropic", "google"])
@pytest.mark.parametrize("command", ["predict", "judge", "verify", "generate"])
def test_a_missing_key_names_its_variable(
    provider: str, command: str, bench: Path, proctor: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in (*VARIABLES.values(), "GEMINI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    option = {
        "predict": "-p",
        "judge": "--judge-floors --judge",
        "verify": "--verifier",
        "generate": "--generator",
    }[command]
    name = MODELS[provider].partition("@")[0]
    done = proctor(command, bench, *option.split(), name)
    assert done.status == 2
    assert f"the environment variable {VARIABLES[provider]} is not set" in done.err
    assert f"export {VARIABLES[provider]}=" in done.err


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_key_is_in_no_process_list(bench: Path, tmp_path: Path) -> None:
    """While a real command runs: its own command line, those of its children, and what they print with all debugging on."""
    with Standin({"latency": {"seconds": 0.5}}) as standin:
        name = MODELS["openai"].format(standin.url)
        code = "import logging; logging.basicConfig(level=logging.DEBUG); from proctor.cli.main import main; main()"
        command = [sys.executable, "-X", "dev", "-c", code, "predict", str(bench), "-p", name]
        command += ["--show", "question", "--max-connections", "2"]
        environment = {**os.environ, "OPENAI_API_KEY": SECRET, "PYTHONWARNINGS": "default"}
        out = tmp_path / "printed"
        with (
            out.open("wb") as printed,
            subprocess.Popen(command, env=environment, stdout=printed, stderr=printed) as process,
        ):
            lines: set[bytes] = set()
            deadline = time.monotonic() + 60
            while standin.count < 4 and process.poll() is None and time.monotonic() < deadline:
                lines |= command_lines(process.pid)
                time.sleep(0.01)
            process.terminate()
            process.wait(60)
        assert standin.count >= 4
    assert any(b"predict" in line for line in lines)
    assert not any(SECRET.encode() in line for line in lines)
    assert SECRET.encode() not in out.read_bytes()
    assert not [path for path, data in everything(bench) if SECRET.encode() in data]


def command_lines(pid: int) -> set[bytes]:
    """Return the command lines of a process and of all its descendants."""
    lines: set[bytes] = set()
    with suppress(OSError):
        lines.add(Path(f"/proc/{pid}/cmdline").read_bytes())
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                lines |= command_lines(int(child))
    return lines
