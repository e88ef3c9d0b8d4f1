"""``proctor standin`` as its own process: the URL it prints, what it counts for others, a clean stop."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import openai
import pytest
from tests.typed import proctor

from proctor.cli.console import run
from proctor.exam.kinds.moment_question import moment_example
from proctor_rehearsal.command import app

Start = Callable[..., tuple[subprocess.Popen[str], dict[str, Any]]]

RUN = "from proctor.cli.console import run; from proctor_rehearsal.command import app; import sys; sys.exit(run(app))"


@pytest.fixture
def start() -> Iterator[Start]:
    """Start the command and return its process and what it printed."""
    running: list[subprocess.Popen[str]] = []

    def go(*flags: str) -> tuple[subprocess.Popen[str], dict[str, Any]]:
        process = subprocess.Popen(
            [sys.executable, "-c", RUN, "--json", *flags],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        assert process.stdout is not None
        text = ""
        while not text.endswith("\n}\n"):
            line = process.stdout.readline()
            assert line, process.stderr.read() if process.stderr else ""
            text += line
        return process, json.loads(text)

    yield go
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()


def ask(url: str, text: str, path: str = "/v1/chat/completions") -> str:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
    with urlopen(Request(url + path, body, {"content-type": "application/json"})) as reply:
        return str(json.load(reply)["choices"][0]["message"]["content"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_stopped(start: Start, number: signal.Signals) -> None:
    process, printed = start("--play", "judge", "--seed", "3")
    assert printed["url"].startswith("http://127.0.0.1:")
    assert printed["environment"] == {
        "OPENAI_BASE_URL": f"{printed['url']}/v1",
        "ANTHROPIC_BASE_URL": printed["url"],
        "GOOGLE_GEMINI_BASE_URL": printed["url"],
    }
    assert "Judge: " in ask(printed["url"], "x")
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "1 requests (1 different), 1 answered, 1 in flight at most" in said
    assert "Traceback" not in said


def test_the_variables_are_enough_for_an_sdk(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    _, printed = start()
    for name, value in {**printed["environment"], **dict.fromkeys(printed["keys"], "standin")}.items():
        monkeypatch.setenv(name, value)
    with openai.OpenAI() as client:
        reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
    assert reply.choices[0].message.content == "This is the stand-in speaking."
    import anthropic

    with anthropic.Anthropic() as other:
        said = other.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "x"}])
    assert said.content[0].text == "This is the stand-in speaking."  # type: ignore[union-attr]
    from google import genai

    third = genai.Client()
    assert third.models.generate_content(model="m", contents="x").text == "This is the stand-in speaking."
    third.close()


def test_two_processes_ask_and_a_third_counts(start: Start, tmp_path: Path) -> None:
    """Which requests fail does not depend on which process sends them, and nothing is lost in the counts."""
    script = tmp_path / "rules.json"
    script.write_text(
        json.dumps(
            {"faults": [{"status": 503, "probability": 0.4}], "rules": [{"behaviour": "echo"}], "seed": 5}
        )
    )
    _, printed = start("--script", str(script))
    code = f"""
import json, urllib.error, urllib.request
for n in range(60):
    body = json.dumps({{"model": "m", "messages": [{{"role": "user", "content": f"q{{n}}"}}]}}).encode()
    for attempt in range(60):
        try:
            urllib.request.urlopen(urllib.request.Request({printed["url"]!r} + "/v1/chat/completions", body)).read()
            break
        except urllib.error.HTTPError as error:
            error.close()
    else:
        raise SystemExit("never answered")
"""
    env = {**os.environ, "no_proxy": "*"}
    clients = [subprocess.Popen([sys.executable, "-c", code], env=env) for _ in range(2)]
    assert [client.wait(timeout=60) for client in clients] == [0, 0]
    with urlopen(printed["url"] + "/standin/log?keys=1") as reply:
        log = json.load(reply)
    assert log["distinct"] == 60
    assert log["answered"] == 120
    assert log["count"] == 120 + log["by_status"]["503"] == sum(log["by_key"].values())
    assert set(log["answered_by_key"].values()) == {2}
    # the same, alone in this process: the n-th time that a request comes has the same fate
    from proctor_rehearsal.standin import Call, Fault
    from proctor_rehearsal.standin.faults import Faults
    from proctor_rehearsal.standin.protocols.openai import CHAT

    faults = Faults([Fault(status=503, probability=0.4)], 5)
    for n in range(60):
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": f"q{n}"}]}).encode()
        answered, nth = 0, 0
        while answered < 2:
            nth += 1
            call = Call(CHAT, "/v1/chat/completions", body, nth=nth)
            answered += faults.due(call) is None
        assert log["by_key"][call.key] == nth


def test_flags_come_before_the_file(start: Start, tmp_path: Path) -> None:
    script = tmp_path / "rules.json"
    script.write_text(
        '{"otherwise": {"reply": "file"}, "latency": {"seconds": 30}, "key": "sk-secret", "seed": 1}'
    )
    process, printed = start(
        "--script", str(script), "--latency", "0..0.01", "--seed", "9", "--check", "none", "--keep", "0"
    )
    with urlopen(printed["url"] + "/standin/script") as reply:
        shown = json.load(reply)
    assert (shown["seed"], shown["check"], shown["key"]) == (9, "none", "(set)")
    assert (shown["latency"]["low"], shown["latency"]["high"], shown["latency"]["seconds"]) == (0, 0.01, 0)
    assert "sk-secret" not in json.dumps(printed)
    with pytest.raises(urllib.error.HTTPError):  # no key, but counted
        ask(printed["url"], "x")
    with urlopen(printed["url"] + "/standin/log?last=9&bodies=1") as reply:
        log = json.load(reply)
    assert (log["count"], "body" in log["requests"][0]) == (1, False)
    process.send_signal(signal.SIGINT)
    assert "sk-secret" not in process.communicate(timeout=60)[1]


def test_text_for_people_names_the_variables_and_no_key(tmp_path: Path) -> None:
    script = tmp_path / "rules.json"
    script.write_text('{"key": "sk-secret"}')
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, "--script", str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(12)]
    process.send_signal(signal.SIGINT)
    rest, noted = process.communicate(timeout=60)
    text = "".join(lines) + rest
    assert lines[0].startswith("http://127.0.0.1:")
    assert "export OPENAI_BASE_URL=http://127.0.0.1:" in text
    assert "export ANTHROPIC_API_KEY=" in text
    assert re.search(r"^  anthropic/MODEL@http://127.0.0.1:\d+$", text, re.MULTILINE)
    assert "sk-secret" not in text + noted


def test_what_makes_no_sense_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*flags: str) -> str:
        monkeypatch.setattr(sys, "argv", ["proctor", *flags])
        assert run(app) == 2
        return capsys.readouterr().err

    before = signal.getsignal(signal.SIGTERM)
    broken = tmp_path / "rules.json"
    broken.write_text('{"faults": [{"kind": "flood"}]}')
    assert "rules.json" in refuse("--script", str(broken))
    assert "no such file" in refuse("--script", str(tmp_path / "none.json"))
    assert "genius" in refuse("--play", "genius")
    assert "latency" in refuse("--latency", "soon")
    assert "latency" in refuse("--latency", "2..1")
    assert "latency" in refuse("--latency", "-1")
    assert "check" in refuse("--check", "some")
    assert "--workspace" in refuse("--quality", "0.5")
    assert "no such workspace" in refuse("--workspace", str(tmp_path / "none"))
    for quality in ("good", "mini=", "1.5", "mini=-1", "(=0.5"):
        assert "quality" in refuse("--workspace", str(tmp_path), "--quality", quality)
    assert "two qualities" in refuse("--workspace", str(tmp_path), "--quality", "0.5", "--quality", "0.6")
    assert "cannot listen" in refuse("--host", "203.0.113.1")
    assert signal.getsignal(signal.SIGTERM) == before


def test_the_command_is_loaded_without_the_server() -> None:
    code = (
        "import sys, proctor_rehearsal.command; sys.exit('aiohttp' in sys.modules or 'xxhash' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_the_models_of_a_workspace_are_played(start: Start, tmp_path: Path) -> None:
    from proctor.exam.predict import make_task
    from proctor.exam.predict_prompt import evaluation_prompts, recipe_prompt
    from proctor.llm.fence import FenceSecret
    from proctor.samples import copy_sample
    from proctor.stages.build import build
    from proctor.stages.derive import derive
    from proctor.stages.generate import generate
    from proctor.stages.inputs import load_items
    from proctor.stages.read import read
    from proctor.stages.rehearsing import Played, played_in
    from proctor.stages.settings import GenerateSettings
    from proctor.stages.verify import verify
    from proctor.workspace import Workspace
    from proctor_rehearsal.players.answers import answer_sheet

    bench = tmp_path / "bench"
    copy_sample(tmp_path / "sample")
    read("plain", tmp_path / "sample", bench)
    process, printed = start("--workspace", str(bench), "--quality", "1", "--quality", "mini=0")
    # What the stages write while the server runs is known to it.
    derive(bench)
    generate(bench, GenerateSettings(sample="all", seed=1), limit=40)
    verify(bench)
    build(bench)
    graphs = Workspace(bench).graphs()
    client = openai.OpenAI(base_url=printed["url"] + "/v1", api_key="standin")
    right = dict.fromkeys(("maxi", "mini"), 0)
    items = load_items(Workspace(bench), graphs)[:16]
    for item in items:
        graph = graphs[moment_example(item.question).activity_id]
        prompt = recipe_prompt(make_task(item, graph), evaluation_prompts(), FenceSecret(b"s" * 32))
        messages: list[Any] = [{"role": m.role, "content": m.text} for m in prompt.messages]
        for model in right:
            said = client.chat.completions.create(model=model, messages=messages).choices[0].message
            right[model] += any(text in (said.content or "") for text in answer_sheet(item, graph).right)
    assert right["maxi"] > len(items) / 4 > right["mini"]
    # The workspace is a rehearsal's from now on: this server's models are taken in it.
    assert played_in(bench) == Played(quality=1.0, seed=0, qualities={"mini": 0.0})
    done = proctor(
        "predict", bench, "-p", f"compat/maxi@{printed['url']}/v1", "--show", "question", "--limit", 3
    )
    assert done.status == 0, done.err
    (bench / "items.jsonl").write_text("{}\n")
    client.chat.completions.create(model="maxi", messages=messages)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "could not be used" in error
    assert "items.jsonl" in error
