"""Played replies and real ones never meet: every command that can open models refuses the other kind, before anything is sent."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from tests.stages.clip.material import row, write_rows
from tests.typed import proctor
from typer.main import get_command

from proctor.cli.main import app
from proctor.samples import copy_sample
from proctor.samples import path as sample
from proctor_rehearsal.standin import Standin

DATA: Final = Path(__file__).resolve().parents[1] / "data" / "datasets"
NEW: Final = "openai/never-asked"
VOTERS: Final = f"-a {NEW} -a {NEW}-2 -a {NEW}-3"
MADE: Final = {
    "moment": "--data sample --dataset plain -p openai/a --show question -j openai/a --examples 4",
    "documents": f"--data {DATA / 'multimodalqa'} -g openai/a -m openai/a -j openai/a --total 4 --style information-extraction",
    "clip": "--data rows --dataset steps -g openai/a -a openai/a -a openai/b -a openai/c -p openai/a --total 8",
}
"""Three rehearsals."""
LINES: Final = {
    "capture plan": f"moment --hints {NEW}",
    "generate moment": f"moment --generator {NEW}",
    "verify": f"moment --verifier {NEW}",
    "predict": f"moment -p {NEW} --show question",
    "judge answers": f"moment --judge {NEW}",
    "experiment moment": f"moment -p {NEW} --show question -j {NEW}",
    "corpus build": f"documents --data {DATA / 'multimodalqa'} --verbaliser {NEW} --draw-missing",
    "generate documents": f"documents -g {NEW} --total 1 --style information-extraction",
    "retrieve": f"documents -r bm25~{NEW}",
    "experiment documents": f"documents -g {NEW} -m {NEW} -j {NEW} --total 1 --style information-extraction",
    "generate clip": f"clip -g {NEW}",
    "filter": f"clip -j {NEW} {VOTERS}",
    "choices": f"clip -w {NEW} {VOTERS}",
    "experiment clip": f"clip -g {NEW} {VOTERS} -p {NEW}",
    "learn zeroshot": f"moment --annotations {sample()} -m {NEW} --show times --develop 0 --out",
}
"""Each asks a model that was never asked."""


def asking(command: Any, path: str = "") -> Iterator[str]:
    """Yield all commands that take limits of calls, as only those do that can open models."""
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            yield from asking(command.get_command(None, name), f"{path} {name}".strip())
    elif "max_calls" in {parameter.name for parameter in command.params}:
        yield path


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three rehearsals; not to be changed."""
    home = tmp_path_factory.mktemp("rehearsed")
    copy_sample(home / "sample")
    write_rows(home / "rows", [row(n) for n in range(4)])
    for name, line in MADE.items():
        words = [home / word if word in ("sample", "rows") else word for word in line.split()]
        done = proctor("experiment", name, home / name, *words, "--rehearse", "0.9")
        assert done.status == 0, done.err
    return home


def typed(command: str, home: Path) -> tuple[int, str]:
    name, *words = LINES[command].split()
    typed = [*words, home / name] if words[-1] == "--out" else [home / name, *words]
    done = proctor(*command.split(), *typed)
    return done.status, done.err


def made_here(bench: Path) -> dict[str, bytes]:
    """Return what replies become; a store may be opened, and counts may be written down."""
    own = ("calls.sqlite", "stages.json", "proctor.toml", "experiment.json")
    return {
        str(path.relative_to(bench)): path.read_bytes()
        for path in sorted(bench.rglob("*.jsonl"))
        if path.is_file() and not path.name.startswith(own)
    }


@pytest.fixture
def home(rehearsed: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A copy of the workspace that the command works in."""
    name = LINES[request.node.callspec.params["command"]].partition(" ")[0]
    shutil.copytree(rehearsed / name, tmp_path / name)
    if "--out" in LINES[request.node.callspec.params["command"]]:
        (tmp_path / name / "items.jsonl").unlink()  # it would not go on where others' questions are
    return tmp_path


@pytest.fixture
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Standin]:
    """Whoever answers as OpenAI: a stranger, or who says that models are played."""
    with Standin(reply="Yes.", plays=request.param) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield server


def test_every_command_that_opens_models_is_here() -> None:
    assert set(asking(get_command(app))) == LINES.keys()


@pytest.mark.parametrize("server", [False], indirect=True)
@pytest.mark.parametrize("command", LINES)
def test_a_rehearsal_refuses_real_models(command: str, home: Path, server: Standin) -> None:
    (bench,) = home.iterdir()
    before = made_here(bench)
    status, told = typed(command, home)
    assert (status, "this workspace is a rehearsal" in told) == (2, True), told
    assert server.count == 0
    assert {name: data for name, data in made_here(bench).items() if name in before} == before


@pytest.mark.parametrize("server", [True], indirect=True)
@pytest.mark.parametrize("command", LINES)
def test_a_real_workspace_refuses_played_replies(command: str, home: Path, server: Standin) -> None:
    (bench,) = home.iterdir()
    for name in ("rehearsal.json", "calls.sqlite"):
        (bench / name).unlink()
    status, told = typed(command, home)
    assert (status, "plays models, and this workspace is no rehearsal" in told) == (2, True), told
    assert server.count == 0


def test_zero_shot_questions_replace_no_benchmark(rehearsed: Path, tmp_path: Path) -> None:
    bench = tmp_path / "bench"
    shutil.copytree(rehearsed / "moment", bench)
    before = (bench / "items.jsonl").read_bytes()
    done = proctor(
        "learn", "zeroshot", "--annotations", sample(), "-m", NEW, "--show", "times", "--out", bench
    )
    assert done.status == 2
    assert "questions of the kind 'moment'" in done.err
    assert (bench / "items.jsonl").read_bytes() == before
