"""Stored workspaces of the old code played again: no call is missing, and every result is what it was.

They protect paid calls and published numbers: a change that moves one byte of one request, or one field of one result, fails
here by name. See ``tests/golden/stored/README.md``.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.golden.cells import CELLS
from tests.golden.now import differences, today
from tests.golden.playing import Asked, Pictures, Table, collect, moved, replaying, typed_into

from proctor.llm.outcome import Failure

STORED = Path(__file__).parent / "stored"


def unpacked(store: str, home: Path) -> Path:
    """Return a stored workspace as it was before its cells, with all its calls and media."""
    with zipfile.ZipFile(STORED / store / "workspace.zip") as archive:
        archive.extractall(home)
    bench = home / "bench"
    kept = {*json.loads((home / "before.json").read_text()), "calls.sqlite", "prompt-secret"}
    for path in [p for p in bench.rglob("*") if p.is_file()]:
        name = path.relative_to(bench).as_posix()
        if name not in kept and not name.startswith(("media/", "videos/")):
            path.unlink()
    (home / "before").mkdir(
        exist_ok=True
    )  # nothing that was there has changed since, where the archive has none
    shutil.copytree(home / "before", bench, dirs_exist_ok=True)
    return bench


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY", "COMPAT_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def read(store: str, name: str, type_: Any) -> Any:
    return msgspec.json.decode((STORED / store / name).read_bytes(), type=type_)


@pytest.mark.parametrize("store", CELLS)
def test_nothing_is_sent_and_every_result_is_what_it_was(store: str, tmp_path: Path) -> None:
    bench = unpacked(store, tmp_path)
    shutil.copy(bench / "calls.sqlite", tmp_path / "old.sqlite")
    stored = read(store, "requests.json", dict[str, dict[str, list[str]]])
    pictures = Pictures(read(store, "pictures.json", Table), bench / "media")
    asked = Asked()
    wrong: list[str] = []
    with replaying(asked, pictures, read(store, "failures.json", dict[str, Failure])):
        for cell in CELLS[store]:
            asked.cell = cell.name
            problems = []
            for command in cell.commands(bench):
                done = typed_into(*command)
                if done.status:
                    problems.append(f"{' '.join(command)}: {done.err.strip()}")
            if asked.missed[cell.name]:
                problems.append(f"{len(asked.missed[cell.name])} calls are not in the store")
            problems += moved(asked, stored.get(cell.name, {}), tmp_path / "old.sqlite")
            problems += compared(STORED / store / "results" / cell.name, bench, cell.results)
            wrong += [f"== {store}/{cell.name}: {problem}" for problem in problems]
    assert not wrong, "\n".join(wrong)


def compared(results: Path, bench: Path, patterns: tuple[str, ...]) -> list[str]:
    """Compare what the old code wrote in a cell with what is in the workspace now."""
    new = collect(bench, patterns)
    old = {
        p.relative_to(results).as_posix(): p.read_text("utf-8")
        for p in sorted(results.rglob("*"))
        if p.is_file()
    }
    assert old, f"nothing is stored in {results}"
    found = []
    for path, text in old.items():
        if today(path) not in new:
            found.append(f"{path} is not written any more")
        else:
            found += differences(path, text, new[today(path)])[:5]
    return found
