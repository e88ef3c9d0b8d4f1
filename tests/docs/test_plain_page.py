"""The page for those who bring their own recordings, followed to the letter."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.docs.outsider import run_python, shown, types
from tests.typed import proctor

from proctor.drawing.engines import find_engine
from proctor.samples import copy_sample
from proctor.stages.derive import derive
from proctor.stages.generate import generate
from proctor.stages.read import read
from proctor.stages.settings import GenerateSettings

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "datasets" / "plain.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def _commands() -> list[list[str]]:
    blocks = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    return [shlex.split(line.removeprefix("$ "), comments=True) for line in lines if line.startswith("$ ")]


@types("datasets/plain.md")
@pytest.mark.skipif(find_engine() is None, reason="needs Graphviz or fast-sugiyama to draw")
def test_a_newcomer_gets_from_the_page_to_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    activity, recording = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)[:2]
    for name, text in (("activities/box.json", activity), ("recordings/box_a.json", recording)):
        path = tmp_path / "bird-boxes" / name
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    commands = _commands()
    assert len(commands) >= 15
    for command in commands:
        done = proctor(*command[1:])
        assert done.status == 0, (command, done.err)
    for code in shown("datasets/plain.md")[1]:
        run_python(code)
    assert Path("plain.schema.json").is_file()
    assert (tmp_path / "bench" / "report.html").stat().st_size > 10_000
    assert "Bird Box" in (tmp_path / "bench" / "report.html").read_text(encoding="utf-8")


def test_the_sample_gives_the_numbers_of_the_page_and_of_the_demo(tmp_path: Path) -> None:
    """The demo takes every example; as many have to come out of ``proctor generate`` as anybody types it."""
    copy_sample(tmp_path / "sample")
    read("plain", tmp_path / "sample", tmp_path / "bench")
    counts = derive(tmp_path / "bench")
    usual = generate(tmp_path / "bench")
    said = f"{counts.recordings} recordings, {counts.examples} examples, {usual.candidates} questions"
    assert said in " ".join(PAGE.split())
    verified = re.search(r"→ (\d+) verified, (\d+) gold answers", README)
    assert verified is not None
    assert f"{verified[1]} of them verified, with {verified[2]} gold answers" in " ".join(PAGE.split())
    typed = (tmp_path / "bench" / "candidates.jsonl").read_bytes()
    generate(tmp_path / "bench", GenerateSettings(sample="all"))
    assert (tmp_path / "bench" / "candidates.jsonl").read_bytes() == typed
