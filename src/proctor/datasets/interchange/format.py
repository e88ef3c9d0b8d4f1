"""What a file format of another tool declares, what reading it returns, and the list of all formats."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Generic, Literal, TypeVar

from proctor.errors import UserError, did_you_mean
from proctor.procedure.graph import TaskGraph
from proctor.records import Dropped, is_there

__all__ = ["Format", "Imported", "Kind", "find_format", "formats", "guess_format", "render_formats"]

T_co = TypeVar("T_co", covariant=True)

Kind = Literal["recordings", "graph"]
"""``recordings``: objects are ``Recording`` values; ``graph``: objects are ``TaskGraph`` values."""


@dataclass(frozen=True, slots=True)
class Imported(Generic[T_co]):
    """What an importer returns.

    Attributes:
        objects: recordings or task graphs, in the order of the file.
        warnings: sentences about the file as a whole that a person should read (an assumed frame rate, ...).
        dropped: every row, cue or annotation that did not become part of an object, with a reason code.
        graphs: task graphs by activity id that came with the recordings; empty where the format has no place for any.
    """

    objects: tuple[T_co, ...]
    warnings: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    graphs: Mapping[str, TaskGraph] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Format:
    """The declaration of a format.

    ``read`` takes a file or folder and gives ``Imported``. ``write`` takes a sequence of objects and a path, and
    returns what this one call could not say in the format, listed by id: an empty tuple means that reading the
    file gives equal objects (times to ``precision``). Both raise ``UserError`` for what cannot be read or written
    at all, and write whole files or nothing. Options are keyword arguments with defaults.

    Attributes:
        name: what users type (``activitynet``).
        title: for people, with the version of the format where it has one.
        suffixes: endings of its files, lower case with the dot; empty for folders.
        kind: what the objects are.
        lossless: True when every object that is valid in Proctor comes back equal.
        loss: what is lost when writing, one phrase each; exceptions to losslessness too.
        read: importer, None where the format is only written.
        write: exporter, None where the format is only read.
        precision: to what times are rounded (``1 ms``); empty when they stay exact or there are none.
        options: names of the keyword options of ``read`` and ``write``.
        extra: the extra of Proctor that brings the packages it needs; empty when it needs none.
        carries_graphs: recordings with their task graphs: ``write`` takes ``graphs`` (task graphs by activity id) too,
            and ``read`` gives them back.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    kind: Kind
    lossless: bool
    loss: tuple[str, ...] = ()
    read: Callable[..., Imported[object]] | None = None
    write: Callable[..., tuple[Dropped, ...]] | None = None
    precision: str = ""
    options: tuple[str, ...] = ()
    extra: str = ""
    carries_graphs: bool = False

    @property
    def holds(self) -> str:
        """What is in its files, in words."""
        return "recordings and their graphs" if self.carries_graphs else self.kind


@cache
def formats() -> tuple[Format, ...]:
    """Return all formats by name: the tuple ``FORMATS`` of every module of this package that has one."""
    package = import_module(__package__ or "proctor.datasets.interchange")
    modules = [import_module(f"{package.__name__}.{m.name}") for m in pkgutil.iter_modules(package.__path__)]
    found = [f for m in modules for f in getattr(m, "FORMATS", ()) if isinstance(f, Format)]
    return tuple(sorted(found, key=lambda f: f.name))


def find_format(name: str) -> Format:
    """Return the format of that name.

    Raises:
        UserError: if there is none; the hint lists all.
    """
    for format_ in formats():
        if format_.name == name:
            return format_
    raise UserError(f"there is no format '{name}'.", hint=did_you_mean(name, (f.name for f in formats())))


def guess_format(path: Path, kind: Kind | None = None, *, to_read: bool = False) -> Format:
    """Return the one format whose files end like this path.

    Args:
        path: of a file or folder.
        kind: of the formats that are wanted.
        to_read: it has to be there.

    Raises:
        UserError: if no format or more than one has that ending; the hint lists what to choose from.
    """
    if to_read and not is_there(path):
        raise UserError("there is no such file or folder.", where=str(path), hint="check the path")
    name = path.name.lower()
    fitting = [f for f in formats() if name.endswith(f.suffixes or ("\0",)) and kind in (None, f.kind)]
    if len(fitting) == 1:
        return fitting[0]
    known = fitting or [f for f in formats() if kind in (None, f.kind)]
    seen = "several formats have files" if fitting else "no format has files"
    raise UserError(
        f"{seen} that end like this one.",
        where=str(path),
        hint=f"name the format: {', '.join(f.name for f in known)}; of a workbook, save a sheet as CSV",
    )


def render_formats() -> str:
    """Return the Markdown table of all formats, as ``docs/interchange.md`` has it."""
    rows = ["| name | format | files | holds | lossless | times | options |", "|---|---|---|---|---|---|---|"]
    for f in formats():
        ways = "" if f.read and f.write else " (only read)" if f.read else " (only written)"
        files = ", ".join(f"`{s}`" for s in f.suffixes) or "folder"
        loss = "yes" if f.lossless else "no"
        if f.loss:
            loss += f"{', but for' if f.lossless else '; lost:'} {'; '.join(f.loss)}"
        times = f"to {f.precision}" if f.precision else "exact" if f.kind == "recordings" else "none"
        options = ", ".join(f"`{o}`" for o in f.options)
        rows.append(f"| `{f.name}` | {f.title}{ways} | {files} | {f.holds} | {loss} | {times} | {options} |")
    return "\n".join(rows)
