"""What all commands share: results for people and for machines, progress, errors and exit statuses.

Results go to standard output, everything else to standard error, so that ``--json`` output can be piped.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import typer

from proctor.errors import UserError

__all__ = [
    "JsonFlag",
    "LimitOption",
    "SeedOption",
    "WorkspaceArgument",
    "emit",
    "note",
    "progress",
    "run",
    "table",
    "warn",
]

WorkspaceArgument = Annotated[
    Path, typer.Argument(metavar="WORKSPACE", help="Folder of the benchmark in the making.")
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines instead of text.")]
LimitOption = Annotated[int | None, typer.Option("--limit", min=1, help="Stop after so many.")]
SeedOption = Annotated[
    int | None, typer.Option("--seed", help="Run seed; same inputs and seed give the same bytes.")
]

_PLAIN_EVERY_SECONDS: Final = 15.0


def emit(result: Mapping[str, Any], text: str, *, as_json: bool) -> None:
    """Print the result of a command: JSON for machines, the text for people."""
    if as_json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(result), indent=2).decode() + "\n")
    else:
        sys.stdout.write(text.rstrip("\n") + "\n")
    sys.stdout.flush()


def note(text: str) -> None:
    """Print a line for people to standard error."""
    sys.stderr.write(text + "\n")


def warn(text: str) -> None:
    """Print a warning to standard error."""
    note(f"warning: {text}")


def table(rows: Iterable[Sequence[object]], header: Sequence[str] = ()) -> str:
    """Lay rows out in columns; numbers are set flush right."""
    cells = [[_cell(c) for c in row] for row in rows]
    lines = ([list(header)] if header else []) + cells
    if not lines:
        return ""
    width = [max(len(row[i]) for row in lines if i < len(row)) for i in range(max(map(len, lines)))]
    right = [all(_is_number(row[i]) for row in cells if i < len(row) and row[i]) for i in range(len(width))]
    out = [
        "  ".join(c.rjust(width[i]) if right[i] else c.ljust(width[i]) for i, c in enumerate(row)).rstrip()
        for row in lines
    ]
    if header:
        out.insert(1, "  ".join("─" * w for w in width))
    return "\n".join(out)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _is_number(text: str) -> bool:
    return text.replace(",", "").replace(".", "", 1).replace("-", "", 1).removesuffix("%").strip().isdigit()


@contextmanager
def progress(title: str, total: int | None = None, *, quiet: bool = False) -> Iterator[Callable[[], None]]:
    """Show progress on standard error: a bar with rate and time left on a terminal, plain lines elsewhere.

    Yields:
        A function to call once per finished item.
    """
    if quiet:
        yield lambda: None
    elif sys.stderr.isatty() and not os.environ.get("NO_PROGRESS"):
        with _bar(title, total) as step:
            yield step
    else:
        with _lines(title, total) as step:
            yield step


@contextmanager
def _bar(title: str, total: int | None) -> Iterator[Callable[[], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task, begin, done = bar.add_task(title, total=total, rate=""), time.monotonic(), 0

        def step() -> None:
            nonlocal done
            done += 1
            bar.update(task, completed=done, rate=f"{done / max(1e-9, time.monotonic() - begin):,.0f}/s")

        yield step


@contextmanager
def _lines(title: str, total: int | None) -> Iterator[Callable[[], None]]:
    begin = last = time.monotonic()
    done = 0

    def step() -> None:
        nonlocal done, last
        done += 1
        now = time.monotonic()
        if now - last >= _PLAIN_EVERY_SECONDS:
            last = now
            note(f"{title}: {done}" + (f" of {total}" if total else "") + f", {done / (now - begin):,.0f}/s")

    yield step


def run(app: Callable[[], Any]) -> int:
    """Run the command line and return its exit status: 0 done, 2 the user can fix it, 130 interrupted.

    A bug keeps its traceback and ends with status 1.
    """
    try:
        app()
    except UserError as error:
        note(f"proctor: {error.render()}")
        return 2
    except KeyboardInterrupt:
        note("proctor: interrupted; what was finished is kept, run the same command to go on")
        return 130
    except BrokenPipeError:
        # the reader of our output left; point stdout elsewhere so that the interpreter's last flush is silent
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return 0
