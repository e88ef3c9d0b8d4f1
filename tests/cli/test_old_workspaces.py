"""A workspace of an older version is refused by name, whatever command is typed, and nothing in it is touched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.typed import proctor
from typer.main import get_command

from proctor.cli.main import app


def commands(command: Any, path: str = "") -> Iterator[str]:
    """Yield every command with a workspace."""
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            if (inner := command.get_command(None, name)) is not None:
                yield from commands(inner, f"{path} {name}".strip())
    elif any(
        p.name in ("workspace", "workspaces") and p.param_type_name == "argument" for p in command.params
    ):
        yield path


COMMANDS = [path for path in commands(get_command(app)) if path != "upgrade"]


BEFORE = {
    "read": "plain {file}",
    "import promqa": "{file}",
    "import release": "{file}",
    "import predictions": "{file}",
    "import questions": "{file}",
    "import sequences": "{file}",
}
BEHIND = {
    "studio link": "ana",
    "studio token": "ana",
    "studio import": "{file}",
    "studio export": "rows {file}",
    "export promqa": "{file}",
    "export training": "{file}",
    "experiment documents": "-g openai/a",
    "experiment clip": "-g openai/a -a openai/a -a openai/b -a openai/c",
    "corpus build": "--from {file}",
    "import predictions": "--run own",
    "import promqa": "--annotations {file}",
    "round rate": "{file}",
    "round own": "{file} --form {file}",
    "capture record": "tea-001",
    "capture consent": "p01 --text {file}",
    "capture release": "out --licence CC0",
    "capture withdraw": "p01",
    "study draw": "{file}",
    "round transcribe": "speech --model {file}",
    **{f"round {name}": "people" for name in ("collect", "readings", "close", "reopen")},
}
"""What has to be typed before and behind the workspace."""


def folder(root: Path, **files: str) -> Path:
    root.mkdir()
    for name, text in files.items():
        (root / f"{name}.json").write_text(text)
    return root


def test_there_are_commands() -> None:
    assert {"build", "predict", "studio serve", "report", "doctor"} <= set(COMMANDS)


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_refuses_an_old_workspace(path: str, tmp_path: Path) -> None:
    bench = folder(tmp_path / "bench", stages="{}")
    file = tmp_path / "file.json"
    file.write_text('{"table": "items"}')
    before, behind = (words.get(path, "").format(file=file).split() for words in (BEFORE, BEHIND))
    done = proctor(*path.split(), *before, bench, *behind)
    assert done.status in (1, 2)
    assert "made by an older version of Proctor" in done.out + done.err
    assert f"proctor upgrade {bench}" in done.out + done.err
    assert [p.name for p in bench.iterdir()] == ["stages.json"]


def test_a_newer_workspace_asks_for_a_newer_proctor(tmp_path: Path) -> None:
    bench = folder(tmp_path / "bench", workspace='{"format": 4}')
    done = proctor("build", bench)
    assert (done.status, "made by a newer version" in done.err) == (2, True)
    assert "pip install --upgrade" in done.err


def test_a_broken_word_on_the_format_is_an_error(tmp_path: Path) -> None:
    bench = folder(tmp_path / "bench", workspace='{"format": "two"}', stages="{}")
    done = proctor("build", bench)
    assert done.status == 2
    assert "workspace.json" in done.err
