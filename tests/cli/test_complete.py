"""What a shell completes, asked as bash asks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from tests.typed import proctor

from proctor.cli import complete
from proctor.exam import kind
from proctor.exam.choice_floors import CHOICE_FLOORS
from proctor.exam.clip_view import ClipViewKind
from proctor.exam.kinds.moment_question import FLOOR_NAMES
from proctor.exam.kinds.order import Shows
from proctor.exam.view import VIEWS
from proctor.procedure.order_heuristics import HEURISTICS


def completed(monkeypatch: pytest.MonkeyPatch, *typed: str) -> list[str]:
    for name, value in asked(*typed).items():
        monkeypatch.setenv(name, value)
    return proctor().out.split()


def asked(*typed: str) -> dict[str, str]:
    words = " ".join(("proctor", *typed))
    return {"_PROCTOR_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(typed))}


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("datas", ["datasets"]),
        ("datasets inf", ["info"]),
        ("datasets info capt", ["captaincook4d"]),
        ("datasets check ", []),
        ("read ego", ["egoexo4d", "egoprocel"]),
        ("corpus build x --dataset multi", ["multimodalqa"]),
        ("experiment moment x --dataset capt", ["captaincook4d"]),
        ("generate x -g ru", ["rules"]),
        ("generate moment x --sample pub", ["published"]),
        ("verify x --verifier anthropic/claude-opus-4-20", ["anthropic/claude-opus-4-20250514"]),
        ("predict x --kind do", ["documents"]),
        ("predict x -p recip", ["recipe-text"]),
        ("predict x --show ca", ["captions"]),
        ("experiment moment x --predictor longest-o", ["longest-option"]),
        ("judge x -j openai/gpt-4o-mini-a", ["openai/gpt-4o-mini-audio", "openai/gpt-4o-mini-audio-preview"]),
        ("build x --accept m", ["models", "majority"]),
        ("round record x --stream mi", ["microphone"]),
        ("import release every", ["everyday"]),
        ("import release ", []),
        ("retrieve x -r bm", ["bm25", "bm25+lsa"]),
        ("calls list x --model google/gemini-2.5-p", ["google/gemini-2.5-pro"]),
        ("predict bench", []),
        ("predict x --seed 1", []),
    ],
)
def test_names_are_completed(typed: str, names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert completed(monkeypatch, *typed.split(" ")) == names


def test_runs_are_those_of_the_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("constant", "gpt-4o"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    (tmp_path / "runs" / "notes.txt").touch()
    assert completed(monkeypatch, "score", str(tmp_path), "--run", "") == ["constant", "gpt-4o"]
    assert completed(monkeypatch, "judge", "answers", str(tmp_path), "-r", "g") == ["gpt-4o"]
    assert completed(monkeypatch, "score", str(tmp_path / "none"), "--run", "") == []


def test_the_names_are_those_that_there_are() -> None:
    assert set(complete._KINDS) == set(kind._OURS)
    assert set(complete._BASELINES) == {*FLOOR_NAMES, *CHOICE_FLOORS, "chance", "presented", *HEURISTICS}
    assert {*VIEWS, *get_args(ClipViewKind), *get_args(Shows)} < set(complete._VIEWS)


@pytest.mark.parametrize("typed", ["", "predict x -p co", "read capt"])
def test_nothing_large_is_imported(typed: str) -> None:
    code = (
        "import atexit, sys; from proctor.cli.main import main\n"
        "atexit.register(lambda: print([m for m in sys.modules if m in ('numpy', 'sqlalchemy', 'jinja2', 'aiohttp', 'proctor.workspace')"
        " or m.startswith(('proctor.exam.', 'proctor.llm.', 'proctor.datasets.', 'proctor.cli.st'))], file=sys.stderr))\n"
        "main()"
    )
    environment = {**os.environ, **asked(*typed.split(" "))}
    seen = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert seen.stdout.split()
    assert seen.stderr.strip() == "[]"
