"""What people see while something runs: notes, warnings and progress, on a terminal, in a log, in a notebook."""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from html import escape
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["escaped", "note", "printable", "progress", "warn"]

_PLAIN_EVERY_SECONDS: Final = 15.0
_CELL_EVERY_SECONDS: Final = 0.2


def printable(text: str) -> str:
    """Escape what does not print, line breaks too: text from data must not steer the terminal."""
    return escaped(text, lambda c: c.encode("unicode_escape", "surrogatepass").decode("ascii"))


def escaped(text: str, escape: Callable[[str], str]) -> str:
    """Return a text with what does not print escaped."""
    return text if text.isprintable() else "".join(c if c.isprintable() else escape(c) for c in text)


def note(text: str) -> None:
    """Print lines for people to standard error; nothing stops when nobody can read them."""
    with suppress(OSError):
        sys.stderr.write("\n".join(printable(line) for line in text.split("\n")) + "\n")


def warn(text: str) -> None:
    """Print a warning to standard error."""
    note(f"warning: {text}")


@contextmanager
def progress(title: str, total: int | None = None, *, quiet: bool = False) -> Iterator[Callable[[], None]]:
    """Show progress: a bar on a terminal, a line below the cell in a notebook, plain lines on standard error elsewhere.

    Yields:
        A function to call once per finished item.
    """
    if quiet:
        yield lambda: None
    elif _in_notebook():
        with _cell(title, total) as step:
            yield step
    elif sys.stderr.isatty() and not os.environ.get("NO_PROGRESS"):
        with _bar(title, total) as step:
            yield step
    else:
        with _lines(title, total) as step:
            yield step


_bars: list[Progress] = []
"""The bars on the terminal, once for each that is shown: a terminal has room for one set of them."""
_bars_lock = threading.Lock()


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
    with _bars_lock:
        bars = _bars[0] if _bars else Progress(*columns, console=Console(stderr=True), transient=True)
        if not _bars:
            bars.start()
        _bars.append(bars)
    task, begin, done = bars.add_task(title, total=total, rate=""), time.monotonic(), 0

    def step() -> None:
        nonlocal done
        done += 1
        bars.update(task, completed=done, rate=_rate(done, time.monotonic() - begin))

    try:
        yield step
    finally:
        with _bars_lock:
            _bars.pop()
            bars.remove_task(task)
            if not _bars:
                bars.stop()


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
            note(f"{title}: {done}" + (f" of {total}" if total else "") + f", {_rate(done, now - begin)}")

    yield step


@contextmanager
def _cell(title: str, total: int | None) -> Iterator[Callable[[], None]]:
    """Show one line below a cell of a notebook, which is replaced as it goes on and gone at the end."""
    cell: Any = importlib.import_module("IPython.display")
    begin = last = time.monotonic()
    done = 0
    shown = cell.display(cell.HTML(f"<p>{escape(title)} …</p>"), display_id=True)

    def step() -> None:
        nonlocal done, last
        done += 1
        now = time.monotonic()
        if now - last >= _CELL_EVERY_SECONDS:
            last = now
            bar = f"<progress value={done} max={total}></progress> " if total else ""
            shown.update(cell.HTML(f"<p>{bar}{escape(title)}: {done:,}, {_rate(done, now - begin)}</p>"))

    try:
        yield step
    finally:
        shown.update(cell.HTML(""))


def _in_notebook() -> bool:
    """True in a kernel of Jupyter."""
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None


def _rate(done: int, seconds: float) -> str:
    """Say how fast it goes: per second, or the seconds that one takes."""
    each = seconds / done
    return f"{1 / max(each, 1e-9):,.0f}/s" if each < 0.5 else f"{each:,.1f} s each"
