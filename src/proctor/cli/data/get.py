"""``proctor datasets get``: a data set's files, fetched when the user has seen what and agreed."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from proctor.cli.console import command_app, emit
from proctor.cli.data.info import DatasetName
from proctor.cli.options import Output, with_settings
from proctor.errors import UserError
from proctor.settings import Settings, argument, option
from proctor.terminal import note

if TYPE_CHECKING:
    from proctor.fetch.fetch import Seen
    from proctor.stages.datasets_get import GetPlan, Got

app = command_app()

_LINE_EVERY: Final = 15.0
"""Seconds between two lines where there is no terminal for a bar."""


class GetSettings(Settings, frozen=True, kw_only=True):
    """What is fetched, from where, and where to."""

    dataset: DatasetName
    folder: Annotated[Path, argument("Folder for the files, new or old.")]
    only: Annotated[str | None, option("Only files that fit, for example '*.json'.", metavar="PATTERN")] = (
        None
    )
    source: Annotated[
        str | None, option("A mirror or a copy with the same paths.", "--from", metavar="URL-OR-FOLDER")
    ] = None
    yes: Annotated[bool, option("Do not ask: the licence is accepted.")] = False
    dry_run: Annotated[bool, option("Show what would be fetched, and stop.")] = False
    overwrite: Annotated[bool, option("Replace files that are not the release's.")] = False


@app.command()
@with_settings
def get(settings: GetSettings, output: Output) -> None:
    """Fetch a data set's files, after showing its licence, its terms, and every file with its size and address.

    The data sets that come with Proctor declare no addresses: for them it says how to get the files, and takes, checked,
    what the reader opens from a copy that you have (--from). Files that are there and right are kept. Run the same command again to continue a download that was cut off.

    Example: proctor datasets get captaincook4d ~/data/captaincook4d --from ~/Downloads/annotations --dry-run
    """
    from proctor.datasets.dataset import load_dataset
    from proctor.stages.datasets_get import get_files, plan_get, render_plan

    plan = plan_get(
        load_dataset(settings.dataset), settings.folder, only=settings.only, source=settings.source,
        overwrite=settings.overwrite,
    )  # fmt: skip
    if settings.dry_run:
        emit(_plain(plan), render_plan(plan), as_json=output.as_json)
        return
    if plan.work:
        note(render_plan(plan))
        if not settings.yes:
            _ask()
    with _bytes_progress(quiet=output.as_json) as seen:
        result = get_files(plan, seen=seen, told=note)
    emit(result, _text(result), as_json=output.as_json)


def _ask() -> None:
    """Ask whether to go on.

    Raises:
        UserError: if nobody can be asked, or the answer is no.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UserError(
            "the licence cannot be accepted here: standard input is no terminal; nothing was fetched.",
            hint="read what is shown above, then add --yes",
        )
    if not typer.confirm("Fetch these files under this licence?", err=True):
        raise UserError("nothing was fetched.")


def _text(result: Got) -> str:
    from proctor.stages.datasets_get import show_bytes

    lines = []
    for f in result.fetched:
        unpacked = f", {f.files:,} files unpacked" if f.files else ""
        checked = "" if f.checked else f", unchecked, SHA-256 {f.sha256}"
        lines.append(f"{f.path}: {show_bytes(f.size)}{unpacked}{checked}")
    lines += [f"{place}: there already" for place in result.there]
    return "\n".join(lines)


@contextmanager
def _bytes_progress(*, quiet: bool) -> Iterator[Seen | None]:
    """Show bytes on standard error: a bar with rate and time left on a terminal, plain lines elsewhere."""
    import os

    if quiet:
        yield None
    elif sys.stderr.isatty() and not os.environ.get("NO_PROGRESS"):
        with _bar() as seen:
            yield seen
    else:
        yield _lines()


@contextmanager
def _bar() -> Iterator[Seen]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def seen(place: str, done: int, total: int | None) -> None:
            if place not in tasks:
                for before in tasks.values():
                    bar.update(before, visible=False)
                tasks[place] = bar.add_task(place, total=total)
            bar.update(tasks[place], completed=done, total=total)

        yield seen


def _lines() -> Seen:
    from proctor.stages.datasets_get import show_bytes

    last, before, file = time.monotonic(), 0, ""

    def seen(place: str, done: int, total: int | None) -> None:
        nonlocal last, before, file
        now = time.monotonic()
        if place != file or done < before:
            last, before, file = now, done, place
        if now - last < _LINE_EVERY:
            return
        rate = (done - before) / (now - last)
        line = f"{place}: {show_bytes(done)}"
        if total:
            line += f" of {show_bytes(total)}"
        line += f", {show_bytes(int(rate))}/s"
        if total and rate >= 1:
            line += f", {(total - done) / rate:,.0f} s left"
        note(line)
        last, before = now, done

    return seen


def _plain(plan: GetPlan) -> dict[str, Any]:
    """Return the plan; addresses are without credentials."""
    sizes = [f.wanted.size for f in plan.work]
    return {
        "dataset": plan.dataset.name,
        "title": plan.dataset.title,
        "licence": plan.dataset.licence,
        "access": plan.dataset.access,
        "folder": str(plan.folder),
        "files": [
            {
                "path": f.place,
                "from": f.wanted.shown,
                "size": f.wanted.size,
                "sha256": f.wanted.sha256,
                "unpack": f.wanted.unpack,
                "state": f.state,
                "partial": f.partial,
            }
            for f in plan.files
        ],
        "to_fetch": len(plan.work),
        "bytes": sum(s or 0 for s in sizes),
        "sizes_unknown": sum(s is None for s in sizes),
    }
