"""Formats with one file for each recording: a single file, or a folder of them named by recording."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from proctor.datasets.interchange.checks import writable
from proctor.datasets.interchange.reading import MAX_FILES
from proctor.errors import UserError
from proctor.procedure.recording import Recording
from proctor.records import Dropped, atomic_folder, atomic_write

__all__ = ["file_name", "files_of", "name_of", "write_each"]

_MAX_NAME: Final = 200
_DEVICES: Final = frozenset(
    ["CON", "PRN", "AUX", "NUL", *(f"{port}{n}" for port in ("COM", "LPT") for n in range(1, 10))]
)
"""What Windows takes for a device, whatever the ending."""


def files_of(path: Path, suffix: str) -> tuple[Path, ...]:
    """Return the file itself, or the files of a folder with this ending, by name.

    Raises:
        UserError: if a folder has none, or cannot be listed.
    """
    if not path.is_dir():
        return (path,)
    try:
        found = sorted(p for p in path.iterdir() if p.suffix.lower() == suffix and not p.name.startswith("."))
    except OSError as error:
        raise UserError(f"cannot be listed: {error.strerror or error}.", where=str(path)) from None
    if not found or len(found) > MAX_FILES:
        raise UserError(
            f"the folder has {len(found):,} {suffix} files."
            if found
            else f"there is no {suffix} file in it.",
            where=str(path),
            hint="name the folder that holds them, or one file",
        )
    return tuple(found)


def file_name(recording_id: str, suffix: str) -> str:
    """Return a file name that every system takes and ``name_of`` turns back."""
    stem = quote(recording_id, safe=" ()+,;=@!'&$")
    if stem[0] in ". " or stem.partition(".")[0].upper() in _DEVICES:
        stem = f"%{ord(stem[0]):02X}{stem[1:]}"
    if stem[-1] in ". ":
        stem = f"{stem[:-1]}%{ord(stem[-1]):02X}"
    return stem + suffix


def name_of(path: Path) -> str:
    """Return the recording id of a file name."""
    return unquote(path.stem, errors="replace")


def write_each(
    recordings: Iterable[Recording],
    path: Path,
    suffix: str,
    render: Callable[[Recording, list[Dropped]], str],
    *,
    actions: bool = False,
) -> tuple[Dropped, ...]:
    """Write one file if the path has the ending, else a new folder with one file for each recording.

    ``actions`` says that the format has a place for fine-grained ones.

    Raises:
        UserError: if the path is one file and there is not exactly one recording; if ids are not unique, or too
            long or too alike for file names; if the folder is not empty.
    """
    dropped: list[Dropped] = []
    kept = writable(recordings, dropped, actions=actions)
    if path.suffix.lower() == suffix:
        _write_one(list(kept), path, suffix, render, dropped)
        return tuple(dropped)
    with atomic_folder(path) as folder:
        for name, recording in _named(kept, suffix):
            with atomic_write(folder / name) as stream:
                stream.write(render(recording, dropped).encode("utf-8"))
    return tuple(dropped)


def _write_one(
    recordings: list[Recording],
    path: Path,
    suffix: str,
    render: Callable[[Recording, list[Dropped]], str],
    dropped: list[Dropped],
) -> None:
    if len(recordings) != 1:
        raise UserError(
            f"a {suffix} file holds one recording, there are {len(recordings):,}.",
            where=str(path),
            hint=f"name a folder (without '{suffix}'): it gets one file for each recording",
        )
    with atomic_write(path) as stream:
        stream.write(render(recordings[0], dropped).encode("utf-8"))


def _named(recordings: Iterable[Recording], suffix: str) -> Iterator[tuple[str, Recording]]:
    taken: dict[str, str] = {}
    for recording in recordings:
        name = file_name(recording.id, suffix)
        other = taken.setdefault(name.casefold(), recording.id)
        if other != recording.id or len(name) > _MAX_NAME:
            problem = (
                f"'{other[:80]}' and '{recording.id[:80]}' would be one file where case does not count"
                if other != recording.id
                else f"the id '{recording.id[:80]}…' is too long for a file name"
            )
            raise UserError(f"{problem}.", hint="rename the recording")
        yield name, recording
