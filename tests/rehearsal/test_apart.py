"""The rehearsal is a package of its own: proctor does all but rehearse and draw without it, and says what to install."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

import pytest

from proctor.samples import copy_sample
from proctor.stages.rehearsing import find_rehearser

ROOT: Final = Path(__file__).resolve().parents[2]
_WITHOUT: Final = """
import importlib.metadata, sys
found = importlib.metadata.entry_points
importlib.metadata.entry_points = lambda **of: (
    () if of.get("group") in ("proctor.rehearsal", "proctor.commands") else found(**of)
)
sys.modules["proctor_rehearsal"] = None
"""
"""As if the package were not installed: no entry point, and an import of it fails."""
_RUN: Final = "from proctor.cli.main import main; main()"
_HINT: Final = "pip install ./src/proctor_rehearsal"


def run(*words: object, code: str = _WITHOUT + _RUN) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        capture_output=True,
        encoding="utf-8",
        timeout=170,
        cwd=ROOT,
    )


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A folder for the demo whose sample has two recordings."""
    copy_sample(tmp_path / "demo" / "sample")
    for path in (tmp_path / "demo" / "sample" / "recordings").glob("*.json"):
        if path.stem not in ("tea_1", "lamp_1"):
            path.unlink()
    return tmp_path / "demo"


@pytest.mark.parametrize("installed", [True, False])
def test_the_demo_runs_with_it_and_without(installed: bool, small: Path) -> None:
    done = run("demo", small, "--json", code=_RUN if installed else _WITHOUT + _RUN)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    videos = sorted(path.name for path in small.rglob("*.mp4"))
    page = (small / "bench" / "report.html").read_text(encoding="utf-8")
    assert told["build"]["items"] > 20
    if installed:
        assert (told["rendered"], videos) == (2, ["lamp_1.mp4", "tea_1.mp4"])
        assert told["report"]["items_with_frames"] == sum(told["report"]["items"].values())
        assert "UklGR" in page, "a WebP file begins like this in base 64"
        assert _HINT not in done.stderr
    else:
        assert (told["rendered"], videos, told["report"]["items_with_frames"]) == (0, [], 0)
        assert "UklGR" not in page
        (line,) = [line for line in done.stderr.splitlines() if _HINT in line]
        assert "no videos: Drawing the sample's videos needs the package 'proctor-rehearsal'" in line


NEEDING: Final = {
    "standin": "standin",
    "moment": "experiment w --data sample --dataset plain -p openai/gpt-4o -j openai/gpt-4o --rehearse 1",
    "documents": "experiment documents w --from sample -g openai/gpt-4o --rehearse 1",
    "clip": "experiment clip w -g openai/gpt-4o -a openai/gpt-4o --rehearse 1",
}
_ALL: Final = """
import json
from tests.typed import proctor
told = [proctor(*line) for line in json.loads(sys.argv[1])]
print(json.dumps([(one.status, one.err) for one in told]))
"""
"""All commands in one process: its imports are what takes the time."""


@pytest.fixture(scope="module")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str, bool]]:
    """What each command says without the package: its status, what it printed, and whether it left a workspace."""
    homes = {name: tmp_path_factory.mktemp(name) for name in NEEDING}
    lines = [
        [str(homes[name] / word) if word in ("w", "sample") else word for word in line.split()]
        for name, line in NEEDING.items()
    ]
    done = run(json.dumps(lines), code=_WITHOUT + _ALL)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    return {
        name: (status, err, (homes[name] / "w").exists())
        for name, (status, err) in zip(NEEDING, told, strict=True)
    }


@pytest.mark.parametrize("name", NEEDING)
def test_what_needs_it_names_the_extra(name: str, refusals: dict[str, tuple[int, str, bool]]) -> None:
    status, said, left = refusals[name]
    assert status == 2
    assert _HINT in said
    assert not left


def test_commands_and_options_are_shown_where_it_is_installed() -> None:
    for words, shown in ((["--help"], "standin"), (["experiment", "moment", "--help"], "--rehearse QUALITY")):
        with_it, without = run(*words, code=_RUN), run(*words)
        assert with_it.returncode == without.returncode == 0
        assert (shown in with_it.stdout, shown in without.stdout) == (True, False), words


def imports(tree: ast.AST) -> Iterator[str]:
    """Yield all modules that are imported, for types alone too, and all that are named in strings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value:
            yield node.value


def test_proctor_imports_nothing_of_it() -> None:
    found = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src" / "proctor").rglob("*.py")
        if b"rehearsal" in (text := path.read_bytes())  # parsing takes the time
        and any(name.startswith("proctor_rehearsal") for name in imports(ast.parse(text)))
    }
    # they look whether it is there
    assert found == {"proctor/cli/lazy.py"}


def test_it_is_found_as_its_project_says() -> None:
    project = tomllib.loads((ROOT / "src/proctor_rehearsal/pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    for group, entries in project["entry-points"].items():
        installed = {entry.name: entry.value for entry in entry_points(group=group)}
        assert installed.items() >= entries.items(), "install it: pip install -e . -e src/proctor_rehearsal"
    assert find_rehearser("A test").__name__ == "proctor_rehearsal.rehearsal"  # type: ignore[attr-defined]
