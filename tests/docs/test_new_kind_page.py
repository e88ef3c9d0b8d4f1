"""docs/new-kind.md, followed by somebody who touches no file of the package."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from tests.docs.outsider import DOCS, Outsider, assert_seen, types
from tests.typed import SAID

from proctor.exam.question import version_of
from proctor.media.paint import encode_png
from proctor.stages.questions import workspace_questions
from proctor.stages.verify import open_store
from proctor.verify.verdict import AnswerVerdict, Verdict
from proctor.workspace import Workspace

WALLS = {
    name: encode_png(np.full((24, 32, 3), colour, np.uint8))
    for name, colour in (("red", (200, 30, 30)), ("blue", (30, 60, 200)))
}


def answer(asked: str, model: str) -> str:
    """One model sees the walls and says red where it sees none; the judge compares the colours that it reads."""
    if model == "judge":
        same = len(set(re.findall(r"It is (red|blue)", asked))) == 1
        return json.dumps({"reason": "r", "consistent": "yes" if same else "no"})
    name = next((n for n, wall in WALLS.items() if base64.b64encode(wall).decode() in asked), "red")
    letter = re.search(rf"\(([A-C])\) {name}", asked)
    return letter[1] if letter else f"It is {name}."


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
        message = {"role": "assistant", "content": answer(asked, json.loads(asked)["model"])}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        reply = {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "usage": usage}
        body = json.dumps(reply | {"choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
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


@types("new-kind.md")
def test_the_page_followed_as_typed(tmp_path: Path, address: str) -> None:
    me = Outsider("new-kind.md", tmp_path, "proctor_pictures.py")
    me.text = me.text.replace("http://127.0.0.1:8000", address)
    me.install()
    bench = tmp_path / "bench"
    bench.mkdir()
    for name, wall in WALLS.items():
        (bench / f"{name}.png").write_bytes(wall)
    (questions,) = me.blocks("json")
    (tmp_path / "questions.jsonl").write_text(questions)
    for words, shown in me.typed(0):
        if words[:2] == ["proctor", "studio"]:
            open_studio(me, words)
            two_people_accept(bench)
        elif words[0] != "pip":
            done = me.type(words)
            assert done.status == 0, (words, done.err)
            assert_seen(shown, done)
    page = (bench / "report.html").read_text(encoding="utf-8")
    assert "Results: picture, multiple choice" in page
    assert "data:image/webp;base64," in page
    ((words, shown),) = me.typed(1)
    failed = me.type(words)
    assert failed.status == 2
    assert_seen(shown, failed)


def open_studio(me: Outsider, words: list[str]) -> None:
    """Open the studio where the package is installed; it is left again."""
    SAID.append(words[1:])
    script = "from tests.docs.people import opened_studios\nfrom proctor.cli.main import main\nwith opened_studios(): main()"
    paths = os.pathsep.join([me.environment["PYTHONPATH"], str(DOCS.parent)])
    done = subprocess.run(
        [sys.executable, "-c", script, *words[1:]],
        cwd=me.home, env={**me.environment, "PYTHONPATH": paths}, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, "stop with Ctrl-C"), done.stderr


def two_people_accept(bench: Path) -> None:
    """What the studio writes down when ana and ben find everything right (in a browser: tests/studio/walk/test_kinds.py)."""
    right = AnswerVerdict(value="right")
    questions = workspace_questions(Workspace(bench))
    with open_store(Workspace(bench)) as store:
        for name in ("ana", "ben"):
            store.append_many(
                Verdict(
                    candidate_id=q.id, candidate_hash=version_of(q), annotator=name, annotator_kind="human",
                    at="2026-01-01T00:00:00Z", question=right, answers=(right,) * len(q.proposals),
                )
                for q in questions
            )  # fmt: skip
