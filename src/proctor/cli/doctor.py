"""``proctor doctor``: what is installed, and what is wrong with a workspace."""

from __future__ import annotations

import platform
import shutil
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from proctor.cli.console import JsonFlag, command_app, emit, progress, table
from proctor.version import __version__

app = command_app()

_EXTRAS: Final = {
    "video": (("av", "av"), ("pillow", "pillow")),
    "report": (
        ("altair", "altair"),
        ("vl-convert-python", "vl-convert-python"),
        ("great-tables", "great-tables"),
    ),
    "parquet": (("pyarrow", "pyarrow"),),
    "hf": (("datasets", "datasets"),),
    "postgres": (("psycopg", "psycopg"),),
}
_FREE_BYTES: Final = 500 * 2**20


@app.command()
def doctor(
    workspace: Annotated[
        Path | None, typer.Argument(metavar="WORKSPACE", help="A workspace to look at, too.")
    ] = None,
    videos: Annotated[
        bool, typer.Option(help="Open every video of the workspace and list those that are broken.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Say what is installed and, for a workspace, what is out of date, dropped or broken.

    Ends with status 2 when something has to be mended.

    Example: proctor doctor bench --videos
    """
    result: dict[str, Any] = {
        "proctor": __version__,
        "python": platform.python_version(),
        "extras": _extras(),
    }
    rows = [
        (f"extra {name}", ", ".join(f"{p} {v or 'missing'}" for p, v in packages.items()))
        for name, packages in result["extras"].items()
    ]
    result["graphviz"] = shutil.which("dot") or ""
    rows.append(("graphviz", result["graphviz"] or "missing: graphs are drawn in the page instead"))
    text = f"proctor {__version__}, Python {result['python']}\n" + table(rows)
    problems: list[str] = []
    if workspace is not None:
        problems = _look_at(workspace, videos, result, quiet=as_json)
        text += f"\n\n{workspace}\n" + table([(k, v) for k, v in result["files"].items()])
        text += "\n\n" + ("\n".join(f"! {p}" for p in problems) if problems else "nothing to mend")
    result["problems"] = problems
    emit(result, text, as_json=as_json)
    if problems:
        raise typer.Exit(2)


def _extras() -> dict[str, dict[str, str]]:
    return {name: {p: _version(p) for p, _ in packages} for name, packages in _EXTRAS.items()}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _look_at(root: Path, videos: bool, result: dict[str, Any], *, quiet: bool) -> list[str]:
    from proctor.workspace import Workspace

    place = Workspace(root)
    place.require("recordings.jsonl" if not place.file("items.jsonl").exists() else "items.jsonl")
    files = sorted(p for p in root.glob("*.jsonl"))
    result["files"] = {p.name: sum(1 for _ in p.open("rb")) for p in files}
    result["runs"] = place.run_names()
    problems = place.stale()
    if shutil.disk_usage(root).free < _FREE_BYTES:
        problems.append(f"less than {_FREE_BYTES >> 20} MB are free on the disk")
    if videos:
        problems += _broken_videos(place, quiet=quiet)
    return problems


def _broken_videos(place: Any, *, quiet: bool) -> list[str]:
    from proctor.media.probe import check_all
    from proctor.procedure.recording import Recording

    folder = Path(place.stages()["read"].settings["folder"])
    paths = [folder / r.video for r in place.load("recordings.jsonl", Recording) if r.video]
    with progress("opening videos", len(paths), quiet=quiet) as seen:
        _, broken = check_all(paths, seen=seen)
    return [f"{b.path}: {b.reason}" for b in broken]
