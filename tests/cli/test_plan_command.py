"""``proctor init`` asks three questions and writes a plan; ``proctor run`` does what it says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from proctor.cli.experiment import _text
from proctor.stages.experiment.stage import Done

RUN = [sys.executable, "-c", "from proctor.cli.main import main; main()"]


def answered(folder: Path, *words: str, typed: str) -> tuple[int, str]:
    """Run a command whose standard input is a terminal, on which somebody types; return its status and what it printed."""
    terminal, side = os.openpty()
    process = subprocess.Popen(
        [*RUN, *words], stdin=side, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder
    )
    os.close(side)
    os.write(terminal, typed.encode())
    out, _ = process.communicate(timeout=60)
    os.close(terminal)
    return process.returncode, out.decode()


@pytest.mark.parametrize(
    ("typed", "plan", "written"),
    [
        ("\n\n\n", 'data = "sample"', "sample"),
        ("2\n\nopenai/gpt-4o\n", 'generator = "openai/gpt-4o"', "manuals"),
        ("benchmark\neveryday\npython:mine:answer, openai/gpt-4o\n", '["python:mine:answer", "openai/gpt-4o"]', "mine.py"),
    ],
)  # fmt: skip
def test_three_questions_make_a_plan(tmp_path: Path, typed: str, plan: str, written: str) -> None:
    status, out = answered(tmp_path, "init", typed=typed)
    assert status == 0, out
    assert "What do you have?" in out
    assert f"{written} is written" in out
    assert out.rstrip().endswith("next: proctor run bench.toml")
    assert plan in (tmp_path / "bench.toml").read_text()
    assert (tmp_path / written).exists()


def test_who_types_nonsense_is_asked_nothing_more(tmp_path: Path) -> None:
    status, out = answered(tmp_path, "init", typed="7\n")
    assert status == 2
    assert "'7' is none of them" in out
    assert "1 to 4, or recordings, documents, videos, benchmark" in out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "named"),
    [((), "--have"), (("--have", "recordings"), "--data"), (("--have", "recordings", "--data", "sample"), "--model")],
)  # fmt: skip
def test_where_nobody_can_answer_the_options_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proctor: Any, given: tuple[str, ...], named: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = proctor("init", *given)
    assert done.status == 2
    assert "standard input is no terminal" in done.err
    assert named in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_plan_is_never_written_over(tmp_path: Path, proctor: Any) -> None:
    plan = tmp_path / "bench.toml"
    plan.write_text("# mine\n")
    done = proctor("init", plan, "--have", "benchmark", "--data", "everyday", "-m", "none")
    assert done.status == 2
    assert "the file is there already" in done.err
    assert plan.read_text() == "# mine\n"


def test_a_plan_is_tried_run_and_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proctor: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    words = ("--have", "recordings", "--data", "sample", "--model", "python:plannedanswers:answer")
    assert proctor("init", "ours.toml", *words).status == 0
    plan = Path("ours.toml")
    plan.write_text(plan.read_text().replace("examples = 500", "examples = 12"))
    assert proctor("run", plan, "--dry-run").status == 0
    made = {path.name for path in tmp_path.iterdir()} - {"__pycache__"}
    assert made == {"ours.toml", "plannedanswers.py", "sample"}
    done = proctor("run", plan, "--json")
    assert done.status == 0, done.err
    assert Path("ours", "report.html").is_file()
    scored = msgspec.json.decode(Path("ours", "runs", "constant", "scores.json").read_bytes())
    assert scored
    again = proctor("run", plan)
    assert again.status == 0, again.err
    assert "python-plannedanswers-answer-question" in again.out


def test_what_an_experiment_without_models_prints_begins_with_its_first_line() -> None:
    plan: Any = SimpleNamespace(name="moment")
    assert _text(Done(lines=["said"], report="r.html"), Path("w"), plan) == "said\n\nreport: r.html"
    assert _text(Done(), Path("w"), plan) == "next: proctor experiment moment w"
