"""docs/new-provider.md, followed by somebody who touches no file of the package."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.docs.outsider import Outsider, assert_seen, types
from tests.typed import proctor


class Server(BaseHTTPRequestHandler):
    """The server of the page."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        known = self.path == "/ask" and asked["model"] in ("small", "large")
        reply = {"answer": "Attach the shade.", "tokens": [len(asked["prompt"].split()), 3]} if known else {}
        body = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@types("new-provider.md")
def test_the_page_followed_as_typed(tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    me = Outsider("new-provider.md", tmp_path, "proctor_mine.py")
    me.install()
    for words, shown in me.typed(0):
        if words[0] == "pip":
            continue
        if words[0] == "export":
            assert words[1].startswith("MINE_BASE_URL=")
            me.environment["MINE_BASE_URL"] = address
            continue
        done = proctor(*words[1:]) if words[1] == "demo" else me.type(words)
        assert done.status == 0, (words, done.err)
        assert_seen(shown, done)
    predictions = (tmp_path / "demo/bench/runs/small/predictions.jsonl").read_text().splitlines()
    assert {json.loads(line)["answer"] for line in predictions} == {"Attach the shade."}

    me.module.write_text(me.module.read_text().replace("reply.answer,", "reply.text,"))
    ((words, shown),) = me.typed(1)
    failed = me.type(words)
    assert failed.status == 1
    assert_seen(shown, failed)
    assert "Traceback" not in failed.err
    predictions = (tmp_path / "demo/bench/runs/large/predictions.jsonl").read_text().splitlines()
    assert {json.loads(line)["failure"] + "\n" for line in predictions} == set(me.blocks("text"))
