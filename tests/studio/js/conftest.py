"""Chromium, the fake desk as a process, and a short clip with known frames."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE, wait_until
from tests.studio.chromium import CHROMIUM, let_it_act

FAKE = Path(__file__).with_name("fake_desk.py")
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test of this folder needs Chromium."""
    for item in items:
        if str(item.path).startswith(f"{HERE}{os.sep}"):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"))


class Server:
    """The fake desk as a process that can be killed and started again on the same port and folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run = ""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen([sys.executable, str(FAKE), str(self.port), str(self.folder)])
        wait_until(self._answers, what="the fake desk")

    def _answers(self) -> bool:
        assert self.process.poll() is None, "the fake desk did not start"
        try:
            self.look()
        except OSError:
            return False
        return True

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def look(self) -> dict[str, Any]:
        """What is kept, and the log of requests since the last ``set``."""
        with urllib.request.urlopen(f"{self.url}/_test", timeout=PATIENCE) as answer:
            return dict(json.load(answer))

    def set(self, **what: Any) -> None:
        """Set ``faults`` or ``frozen``, or ``reset=True``; empties the log."""
        if what.get("reset"):
            self.run = what["run"] = uuid.uuid4().hex
        request = urllib.request.Request(
            f"{self.url}/_test",
            json.dumps(what).encode(),
            {"Content-Type": "application/json"},
            method="POST",
        )
        urllib.request.urlopen(request, timeout=PATIENCE).close()

    def fault(self, path: str, **more: Any) -> None:
        self.set(faults=[{"path": path, **more}])

    def rows(self, pid: str) -> list[dict[str, Any]]:
        return [row for row in self.look()["responses"] if row["pid"] == pid]

    def draft(self, pid: str) -> dict[str, Any]:
        return dict(self.look()["drafts"].get(pid) or {})

    def log(self, ending: str) -> list[dict[str, Any]]:
        return [entry for entry in self.look()["log"] if entry["path"].endswith(ending)]


@pytest.fixture
def wait_for() -> Callable[..., Any]:
    """Poll the server until it says something true."""
    return wait_until


@pytest.fixture(scope="session")
def clip_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four seconds at 30 frames a second, H.264, each frame of another grey."""
    av = pytest.importorskip("av", reason="needs PyAV")
    np = pytest.importorskip("numpy")
    path = tmp_path_factory.mktemp("clip") / "clip.mp4"
    with av.open(str(path), "w", options={"movflags": "faststart"}) as container:
        stream = container.add_stream("libx264", rate=30)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for n in range(120):
            picture = np.full((48, 64, 3), n * 2, dtype=np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return path


@pytest.fixture(scope="module")
def _server(tmp_path_factory: pytest.TempPathFactory, clip_file: Path) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("desk")
    shutil.copy(clip_file, folder / "clip.mp4")
    server = Server(folder)
    yield server
    server.kill()


@pytest.fixture
def desk(_server: Server) -> Server:
    if _server.process.poll() is not None:
        _server.start()
    _server.set(reset=True, faults=[])
    return _server


class Studio:
    """Browser contexts of signed-in people; collects what pages complain about."""

    def __init__(self, browser: Any, desk: Server) -> None:
        self.browser, self.desk = browser, desk
        self.contexts: list[Any] = []
        self.problems: list[str] = []

    def context(self, who: str = "ana", init: str = "", **options: Any) -> Any:
        context = self.browser.new_context(viewport={"width": 1280, "height": 900}, **options)
        if init:
            context.add_init_script(init)
        self.sign_in(context, who)
        self.contexts.append(context)
        return context

    def sign_in(self, context: Any, who: str) -> None:
        cookies = {"sid": who, "run": self.desk.run}
        more = {"url": self.desk.url, "httpOnly": True, "sameSite": "Lax"}
        context.add_cookies([{"name": name, "value": value, **more} for name, value in cookies.items()])

    def open(self, context: Any, path: str = "/w/w1", *, settled: bool = True) -> Any:
        """Open a page; ``settled`` waits until page and server have met."""
        page = context.new_page()
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("console", self._hear)
        if settled and path.startswith("/w/"):
            with page.expect_response(lambda response: response.url.endswith("/state")):
                page.goto(self.desk.url + path)
            let_it_act(page)
        else:
            page.goto(self.desk.url + path)
        return page

    def _hear(self, message: Any) -> None:
        # Chromium itself reports requests that fail; these are what the tests provoke.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.problems.append(message.text)


@pytest.fixture
def studio(browser: Any, desk: Server) -> Iterator[Studio]:
    found = Studio(browser, desk)
    yield found
    for context in found.contexts:
        browser.shut(context)
    assert found.problems == []
