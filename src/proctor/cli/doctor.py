"""``proctor doctor``: what is installed, and what is wrong with a workspace."""

from __future__ import annotations

import platform
import re
import shutil
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from proctor.cli.console import command_app, emit, table
from proctor.cli.options import Output, with_settings
from proctor.errors import UserError, install_line
from proctor.settings import Settings, argument, option
from proctor.terminal import progress
from proctor.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from proctor.workspace import Workspace

app = command_app()

_PACKAGE: Final = "proctor-bench"
_REQUIRED: Final = re.compile(r"(?P<package>[A-Za-z0-9_.-]+).*extra == ['\"](?P<extra>[^'\"]+)")
_FREE_BYTES: Final = 500 * 2**20


class DoctorSettings(Settings, frozen=True, kw_only=True):
    """What is looked at."""

    workspace: Annotated[Path | None, argument("A workspace to check as well.", "WORKSPACE")] = None
    videos: Annotated[
        bool, option("Open every video of the workspace and list those that are broken.", negatable=True)
    ] = False


@app.command()
@with_settings
def doctor(settings: DoctorSettings, output: Output) -> None:
    """Show what is installed and, for a workspace, what is out of date, dropped or broken.

    Ends with status 2 when something has to be corrected.

    Example: proctor doctor bench --videos
    """
    result: dict[str, Any] = {
        "proctor": __version__,
        "python": platform.python_version(),
        "extras": {
            name: {package: _version(package) for package in packages} for name, packages in _extras().items()
        },
    }
    rows = [(f"extra {name}", _said(name, packages)) for name, packages in result["extras"].items()]
    result["graphviz"] = shutil.which("dot") or ""
    rows.append(("graphviz", result["graphviz"] or "missing: graphs are drawn in the page instead"))
    text = f"proctor {__version__}, Python {result['python']}\n" + table(rows)
    problems: list[str] = []
    if (workspace := settings.workspace) is not None:
        problems = _look_at(workspace, settings.videos, result, quiet=output.as_json)
        files = [(k, "cannot be read" if v is None else v) for k, v in result["files"].items()]
        text += f"\n\n{workspace}\n" + table(files, ("file", "records"))
        text += f"\nruns: {', '.join(result['runs']) or 'none'}"
        text += "\n\n" + ("\n".join(f"! {p}" for p in problems) if problems else "nothing to correct")
    result["problems"] = problems
    emit(result, text, as_json=output.as_json)
    if problems:
        raise typer.Exit(2)


def _extras() -> dict[str, list[str]]:
    """Return the extras of the installed package, each with what it brings, as its metadata say."""
    found: dict[str, list[str]] = {}
    for line in requires(_PACKAGE) or ():
        needed = _REQUIRED.match(line)
        if needed and needed["extra"] not in ("all", "dev") and needed["package"] != _PACKAGE:
            found.setdefault(needed["extra"], []).append(needed["package"])
    return {**dict(sorted(found.items())), "rehearsal": ["proctor-rehearsal"]}


def _said(name: str, packages: dict[str, str]) -> str:
    """Return what is there of an extra, or how to install it."""
    lacking = [package for package, there in packages.items() if not there]
    if not lacking:
        return ", ".join(f"{package} {there}" for package, there in packages.items())
    return f"missing: {', '.join(lacking)}; {install_line(name)}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _look_at(root: Path, videos: bool, result: dict[str, Any], *, quiet: bool) -> list[str]:
    from proctor.workspace import Workspace, is_there

    place = Workspace(root)
    if not (is_there(place.file("corpus")) or is_there(place.file("clips.jsonl"))):
        place.require("items.jsonl" if is_there(place.file("items.jsonl")) else "recordings.jsonl")
    result["files"] = {p.name: _lines(p) for p in sorted(root.glob("*.jsonl"))}
    result["runs"] = place.run_names()
    broken = _broken_files(place)
    result["leftovers"] = sorted(str(p.relative_to(root)) for p in root.rglob(".*.tmp"))
    problems = [*broken, *place.stale()]
    problems += [f"{name} was left over by a run that was killed: remove it" for name in result["leftovers"]]
    if shutil.disk_usage(root).free < _FREE_BYTES:
        problems.append(f"less than {_FREE_BYTES >> 20} MB are free on the disk")
    if videos:
        problems += _broken_videos(place, quiet=quiet)
    return problems


def _lines(path: Path) -> int | None:
    """Return the number of lines, None if the file cannot be read."""
    try:
        with path.open("rb") as stream:
            return sum(1 for _ in stream)
    except OSError:
        return None


def _broken_files(place: Workspace) -> list[str]:
    """Read every file as the stages do and return what they would complain about."""
    from proctor.stages import inputs
    from proctor.stages.predict import read_run_info
    from proctor.workspace import is_there

    problems: list[str] = []

    def load(name: str, read: Callable[[], Any]) -> Any:
        try:
            return read() if is_there(place.file(name)) else []
        except UserError as error:
            problems.append(error.render())
            return []

    if is_there(place.file("corpus")):
        _load_documents(place, load)
    if is_there(place.file("clips.jsonl")):
        _load_clips(place, load)
    if graphs := load("graphs.json", place.graphs):
        load("recordings.jsonl", lambda: inputs.load_recordings(place, graphs))
        examples = load("examples.jsonl", lambda: inputs.load_examples(place, graphs))
        load("candidates.jsonl", lambda: inputs.load_candidates(place, examples) if examples else [])
    items = load("items.jsonl", lambda: inputs.load_all_items(place))
    for name in place.run_names() if items else ():
        folder = place.run_folder(name)
        load(f"runs/{name}", lambda: read_run_info(folder))  # noqa: B023 - called at once
        load(f"runs/{name}/predictions.jsonl", lambda: inputs.load_predictions(folder, items))  # noqa: B023
        load(f"runs/{name}/judgements.jsonl", lambda: inputs.load_judgements(folder, items))  # noqa: B023
    return problems


def _load_documents(place: Workspace, load: Callable[[str, Callable[[], Any]], Any]) -> None:
    """Read what the stages of a corpus wrote."""
    from proctor.ask.documents.record import AttemptRecord
    from proctor.records import read_jsonl
    from proctor.stages.documents.generate import ATTEMPTS_FILE
    from proctor.stages.documents.overlap import load_overlap
    from proctor.stages.documents.reading import QUESTION_SETS, WRITTEN, corpus_of, load_written, questions_of
    from proctor.stages.documents.retrieve import load_table

    load("corpus", lambda: corpus_of(place))
    load("questions.jsonl", lambda: questions_of(place))
    load(WRITTEN, lambda: load_written(place))
    load(ATTEMPTS_FILE, lambda: read_jsonl(place.file(ATTEMPTS_FILE), AttemptRecord))
    load("overlap.json", lambda: load_overlap(place))
    for which in QUESTION_SETS:
        load("retrieval", lambda: load_table(place, which))  # noqa: B023 - called at once


def _load_clips(place: Workspace, load: Callable[[str, Callable[[], Any]], Any]) -> None:
    """Read what the stages of questions about clips wrote."""
    from proctor.stages.clip.audit import load_audit
    from proctor.stages.clip.reading import (
        load_choices,
        load_clips,
        load_kept,
        load_pairs,
        load_training,
        load_verdicts,
    )

    load("clips.jsonl", lambda: load_clips(place))
    load("pairs.jsonl", lambda: load_pairs(place))
    load("filters.jsonl", lambda: load_verdicts(place))
    load("open.jsonl", lambda: load_kept(place))
    load("training.jsonl", lambda: load_training(place))
    load("choices.jsonl", lambda: load_choices(place))
    load("audit.json", lambda: load_audit(place))


def _broken_videos(place: Workspace, *, quiet: bool) -> list[str]:
    from proctor.media.probe import check_all
    from proctor.procedure.recording import Recording

    read = place.stages().get("read")
    if read is None or not read.settings.get("folder"):
        return ["which folder the videos are in is not known: run 'proctor read' again"]
    folder = Path(read.settings["folder"])
    paths = [folder / r.video for r in place.load("recordings.jsonl", Recording) if r.video]
    with progress("opening videos", len(paths), quiet=quiet) as seen:
        _, broken = check_all(paths, seen=seen)
    return [f"{b.path}: {b.reason}" for b in broken]
