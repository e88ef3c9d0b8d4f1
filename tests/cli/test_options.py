import re
import subprocess
import sys
from pathlib import Path
from typing import Annotated, ClassVar, Literal
from unittest.mock import patch

import pytest
from tests.typed import proctor
from typer.main import get_command

from proctor.cli.console import command_app, run
from proctor.cli.options import Output, command_of, with_settings
from proctor.settings import Settings, argument, option


class Cut(Settings, frozen=True, kw_only=True):
    """Cut things.

    Example: proctor cut folder
    """

    folder: Annotated[Path, argument("Where.", metavar="FOLDER")]
    kind: Annotated[Literal["short", "long"], option("Which.")] = "short"
    k: Annotated[tuple[int, ...], option("Cuts.", "-k", ge=1)] = (5, 10)
    rate: Annotated[float | None, option("A second.", metavar="FPS")] = None
    shrink: Annotated[bool, option("Make it fit.")] = True
    fast: Annotated[bool, option("Hurry.")] = False


class Kept(Settings, frozen=True, kw_only=True):
    section: ClassVar[str] = "kept"
    heading: ClassVar[str] = "Kept"

    title: Annotated[str, option("Of the page.")] = "none"
    draws: Annotated[int, option("Draws.", le=9)] = 3


def typed(app, *words):
    with patch.object(sys, "argv", ["proctor", *map(str, words)]):
        return run(app)


def test_options_come_from_the_struct(capsys):
    seen = []

    def cut(settings: Cut, output: Output) -> None:
        seen.append((settings, output.as_json))

    app = command_of("cut", Cut.__doc__, cut)
    assert (
        typed(
            app, "here", "-k", 2, "--k", 3, "--kind", "long", "--no-shrink", "--fast", "--rate", 1.5, "--json"
        )
        == 0
    )
    assert typed(app, "here") == 0
    assert seen == [
        (Cut(folder=Path("here"), k=(2, 3), kind="long", shrink=False, fast=True, rate=1.5), True),
        (Cut(folder=Path("here")), False),
    ]
    assert typed(app, "--help") == 0
    shown = " ".join(capsys.readouterr().out.split())
    for text in (
        "Cut things.", "FOLDER", "-k, --k N Cuts. [default: 5, 10; at least 1]", "--kind short|long Which. [default: short]",
        "--shrink / --no-shrink Make it fit. [default: shrink]", "--fast Hurry.", "--rate FPS A second.", "--json",
    ):  # fmt: skip
        assert text in shown
    assert "--no-fast" not in shown


def test_the_usage_line_shows_arguments_as_they_are_typed(capsys):
    class Words(Settings, frozen=True, kw_only=True):
        loud: Annotated[bool, option("Loudly.")] = False
        where: Annotated[Path, argument("Where.")]
        place: Annotated[tuple[str, ...], argument("Which.", "[DATASET] FOLDER")]

    class Files(Settings, frozen=True, kw_only=True):
        files: Annotated[tuple[Path, ...], argument("Which.", "FILE")]

    class Maybe(Settings, frozen=True, kw_only=True):
        file: Annotated[Path | None, argument("Which.", "FILE")] = None

    for struct, usage in ((Words, "WHERE [DATASET] FOLDER"), (Files, "FILE..."), (Maybe, "[FILE]")):

        def command(settings: struct) -> None: ...

        assert typed(command_of("do", "Do.", command), "--help") == 0
        out = capsys.readouterr().out
        assert re.search(r"^Usage:.*\[OPTIONS\] (.*)$", out, flags=re.M)[1] == usage
        assert "Arguments:" in out.partition("Options:")[0]


@pytest.mark.parametrize("words", [("here", "-k", "0"), ("here", "--kind", "wide"), ()])
def test_what_is_out_of_bounds_is_refused(words, capsys):
    def cut(settings: Cut) -> None:
        raise AssertionError

    assert typed(command_of("cut", "Cut.", cut), *words) == 2
    assert "Usage:" in capsys.readouterr().err


def test_what_is_not_typed_is_looked_for_in_the_workspace(tmp_path, capsys):
    seen = []
    app = command_app()

    @app.command()
    @with_settings
    def make(workspace: Path, settings: Kept) -> None:
        seen.append(settings)

    (tmp_path / "proctor.toml").write_text("[kept]\ndraws = 5\n")
    assert typed(app, tmp_path) == 0
    assert typed(app, tmp_path, "--draws", "3", "--title", "none") == 0
    assert seen == [Kept(draws=5), Kept(draws=3)]
    assert typed(app, "--help") == 0
    assert "Kept:\n  --title TEXT  Of the page." in capsys.readouterr().out


class Nested(Settings, frozen=True, kw_only=True):
    section: ClassVar[str] = "learn.nested"

    draws: Annotated[int, option("Draws.")] = 3


def test_a_command_without_a_workspace_looks_in_the_folder_that_it_is_run_in(tmp_path, monkeypatch, capsys):
    seen = []

    def nested(settings: Nested) -> None:
        seen.append(settings.draws)

    app = command_of("nested", "Nested.", nested)
    monkeypatch.chdir(tmp_path)
    assert typed(app) == 0
    (tmp_path / "proctor.toml").write_text("[learn.nested]\ndraws = 7\n")
    assert typed(app) == 0
    assert typed(app, "--draws", 2) == 0
    assert seen == [3, 7, 2]
    (tmp_path / "proctor.toml").write_text("[learn.nested]\ndrawn = 7\n")
    assert typed(app) == 2
    assert "[learn.nested]: unknown key 'drawn'" in capsys.readouterr().err
    (tmp_path / "proctor.toml").write_text("learn = 7\n")
    assert typed(app) == 2


def test_options_stand_under_their_heading(tmp_path, capsys):
    def make(workspace: Path, settings: Kept) -> None: ...

    assert typed(command_of("make", "Make.", make), "--help") == 0
    shown = capsys.readouterr().out
    assert shown.index("Kept:") < shown.index("--title") < shown.index("Options:") < shown.index("--help")


def test_help_of_a_family_imports_no_numpy():
    code = (
        "import sys; from proctor.cli.main import app; sys.argv = ['proctor', 'score', 'answer', '--help']\n"
        "try:\n    app()\nexcept SystemExit:\n    pass\n"
        "sys.exit('numpy' in sys.modules or 'proctor.metrics' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_a_command_is_made_once_in_a_process():
    """What makes its options (the validators of each) takes longer than many a command's work: 10 ms for twenty options."""
    from proctor.cli.main import app

    root = get_command(app)
    for group, name in ((root, "derive"), (root.get_command(None, "score"), "agreement")):
        assert group.get_command(None, name) is group.get_command(None, name), name


def test_what_was_typed_once_is_not_remembered(tmp_path):
    """The same command serves again: a flag, a number and a list of the call before are gone."""
    file = tmp_path / "labels.csv"
    file.write_text(
        "unit,annotator,label,kind\n" + "".join(f"u{i},{a},{i % 2},k\n" for i in range(4) for a in "AB")
    )
    usual = proctor("score", "agreement", file)
    given = proctor("score", "agreement", file, "--json", "--resamples", "20", "--slice", "kind")
    assert (usual.status, given.status) == (0, 0), usual.err + given.err
    assert given.json["scores"]
    assert proctor("score", "agreement", file) == usual
