"""A whole workspace copied: small files by their bytes, videos and pictures of calls as hard links."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from proctor.stages.videos import VIDEO_SUFFIXES

__all__ = ["copy_workspace", "files_of"]

_FOLLOWED: Final = ("runs", "clip-runs", "answers")
"""Folders that are rewritten: of links to them the content is copied, links to others are made again."""

_LEFT_BEHIND: Final = re.compile(r"\..*\.[0-9a-f]{8,16}\.(?:tmp|new|old)|.*-shm")
"""Names of half-written files of a killed process, and of SQLite's memory."""


def files_of(root: Path) -> Iterator[tuple[str, bool]]:
    """Yield the paths of all files and linked folders, relative to the workspace, and whether it is a linked folder."""
    pending = [""]
    while pending:
        inside = pending.pop()
        for entry in sorted(os.scandir(root / inside), key=lambda e: e.name):
            path = os.path.join(inside, entry.name)  # noqa: PTH118 - thousands of files
            if _LEFT_BEHIND.fullmatch(entry.name):
                continue
            if entry.is_dir() and (not entry.is_symlink() or path in _FOLLOWED):
                pending.append(path)
            elif entry.is_dir() or entry.is_file():
                yield path, entry.is_dir()


def copy_workspace(root: Path, target: Path, *, seen: Callable[[], None] | None = None) -> None:
    """Copy all files into an empty folder; nothing that is written there later reaches the original.

    Videos and ``media/`` are never changed in place, so they become hard links where the file system has them.

    Args:
        root: the workspace.
        target: the folder.
        seen: called after each file.

    Raises:
        OSError: if a file cannot be read or written.
    """
    made: set[str] = set()
    for name, is_folder in files_of(root):
        source, copy = root / name, target / name
        if (folder := os.path.dirname(name)) not in made:  # noqa: PTH120 - thousands of files
            copy.parent.mkdir(parents=True, exist_ok=True)
            made.add(folder)
        if source.is_symlink() and source.resolve().is_relative_to(root.resolve()):  # as cells share folders
            copy.symlink_to(source.readlink(), target_is_directory=is_folder)
        elif is_folder:
            copy.symlink_to(source.resolve(), target_is_directory=True)
        elif not (_is_never_changed(name) and _linked(source, copy)):
            shutil.copy2(source, copy)
        if seen is not None:
            seen()


def _is_never_changed(name: str) -> bool:
    return name.startswith("media" + os.sep) or name.lower().endswith(VIDEO_SUFFIXES)


def _linked(source: Path, copy: Path) -> bool:
    try:
        copy.hardlink_to(source.resolve() if source.is_symlink() else source)
    except OSError:  # another file system, or one without hard links
        return False
    return True
