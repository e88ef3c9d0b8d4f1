"""docs/llm.md: its way from questions to a report is typed against a server that plays the models."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.docs.outsider import DOCS, assert_seen, shown, type_all, typed, types
from tests.typed import SAID, proctor

from proctor.exam.question import Item
from proctor.records import read_jsonl
from proctor.samples import copy_sample
from proctor_rehearsal.players import Rehearsal
from proctor_rehearsal.standin import Standin

PORT = "8765"
"""Of the page's server, which takes a free one here."""


@types("llm.md", commands=f"^(?!.*{PORT})")
def test_stage_by_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("av", reason="the extra 'video' is not installed")
    from tests.media.make_video import make_grey_videos

    monkeypatch.chdir(tmp_path)
    copy_sample(Path("sample"))
    assert proctor("read", "plain", "sample", "bench").status == 0
    assert proctor("derive", "bench").status == 0
    Path("bench/proctor.toml").write_text("[generate]\nexamples = 6\n[score]\nresamples = 100\n")
    make_grey_videos(Path("videos"), {f"{path.stem}.mp4": 90 for path in Path("sample/recordings").iterdir()})
    commands = [line for line in shown("llm.md")[0] if PORT not in line]
    people = next(n for n, line in enumerate(commands) if "--human" in line)
    with Standin(answer=Rehearsal(tmp_path / "bench", quality=0.8)) as server:
        for key, value in {**server.environment, "GOOGLE_API_KEY": "standin"}.items():
            monkeypatch.setenv(key, value)
        type_all(commands[:people], tmp_path)
        run = "openai-gpt-4o-question"
        items = read_jsonl(Path("bench/items.jsonl"), Item)
        rows = [f"{one.id},{run},{2 * (n % 2)}\n" for n, one in enumerate(items)]
        Path("marks.csv").write_text("item_id,predictor,human\n" + "".join(rows))
        type_all(commands[people:], tmp_path)
    assert server.errors == []


@contextmanager
def served(words: list[str]) -> Iterator[str]:
    """Type a command that serves until it is stopped, at a free port; yield its address."""
    words = [word.replace(PORT, "0") for word in words]
    SAID.append(words[1:])
    with subprocess.Popen(
        [sys.executable, "-m", *words],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            yield next(
                found[0] for line in process.stdout if (found := re.search(r"http://[\d.]+:\d+", line))
            )
        finally:
            process.terminate()


@types("llm.md", commands=PORT, instead=[PORT])
def test_a_model_that_thinks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "llm.md").read_text(encoding="utf-8")
    block = next(one.removeprefix("\n") for one in page.split("```")[1::2] if PORT in one)
    script = re.search(r"`thinker\.json`: `(.*?)`", page, re.DOTALL)
    assert script is not None
    thinker = json.loads(script[1])
    thinker["otherwise"]["thinking"] = "The recipe says so. " * 30  # 150 tokens
    Path("thinker.json").write_text(json.dumps(thinker))
    copy_sample(Path("sample"))
    assert proctor("read", "plain", "sample", "bench").status == 0
    for step in (["derive"], ["generate", "--limit", 12], ["verify"], ["build"]):
        assert proctor(*step, "bench").status == 0
    (server, _), *asking = typed(block)
    items = str(len(read_jsonl(Path("bench/items.jsonl"), Item)))
    with served([word for word in server if word != "&"]) as address:
        for words, lines in asking:
            done = proctor(*(re.sub(r"http://[\d.]+:\d+", address, word) for word in words[1:]))
            expected = [re.sub(r"http://[\d.]+:\d+", address, line) for line in lines]
            assert_seen([re.sub(r"\b11\b", items, line) for line in expected if line], done)
