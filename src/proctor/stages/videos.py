"""Where the videos of recordings are: named by the data set, or found in a folder by the recording's id.

A recording's own path comes first. Where it has none, or nothing is there, the folder is looked through once, with its
sub-folders (one level), for video files that are named by the id:

1. ``<id>.mp4`` (or mkv, mov, webm, avi, m4v);
2. ``<id>_360p.mp4`` and other resolutions;
3. ``<id>_<anything>.mp4``.

Ids may contain underscores. A file belongs to the longest id that its name begins with: ``1_7_3_360p.mp4`` is of recording
``1_7_3`` where there is one, and never of ``1_7`` then. Of several files of one kind the smallest resolution that is at
least the wanted height is taken, else the largest; it stands in the file's name or in that of its sub-folder (``360p``,
``4k``). What is still open is an error that lists the files: nothing is guessed.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from proctor.errors import UserError
from proctor.procedure.recording import Recording
from proctor.records import read_jsonl
from proctor.stages.inputs import media_root
from proctor.workspace import Workspace, is_there

__all__ = ["VIDEO_SUFFIXES", "Videos", "workspace_videos"]

VIDEO_SUFFIXES: Final = (".mp4", ".mkv", ".mov", ".webm", ".avi", ".m4v")
"""Kinds of files that count as videos, in small or capital letters."""

_RESOLUTION: Final = re.compile(r"(?<![A-Za-z0-9])(?:(\d{2,4})p|([248])k)(?![A-Za-z0-9])", re.IGNORECASE)
_OF_K: Final = {"2": 1_440, "4": 2_160, "8": 4_320}
_LISTED: Final = 8
"""Files that a message lists."""
_EXACT, _RESOLVED, _OTHER = range(3)


class _File(NamedTuple):
    """A video file in the folder.

    Attributes:
        rest: of its name, behind the id; empty when it is the id.
        height: the resolution that its name or its sub-folder's says, None when none.
        path: of the file.
    """

    rest: str
    height: int | None
    path: Path

    @property
    def kind(self) -> int:
        if not self.rest:
            return _EXACT
        return _RESOLVED if _RESOLUTION.fullmatch(self.rest.removeprefix("_")) else _OTHER


class Videos:
    """Finds the videos of recordings in a folder.

    Args:
        folder: where to look, None when there is nowhere to.
        recordings: returns the ids of all recordings that are known; called when the folder is looked through. Names of the
            third kind are understood for these alone.
    """

    def __init__(self, folder: Path | None, recordings: Callable[[], Collection[str]] = tuple) -> None:
        self.folder = folder
        self._load = recordings

    @cached_property
    def _recordings(self) -> frozenset[str]:
        return frozenset(self._load())

    def find(self, recording_id: str, named: str | None = None, *, height: int | None = None) -> Path | None:
        """Return the video of a recording, None when there is no folder to look in.

        Args:
            recording_id: of the recording.
            named: path that the data set gives, relative to the folder.
            height: pixels that are wanted, to choose among resolutions; the largest where None.

        Raises:
            UserError: if there is none, if several could be meant, or if the path leads out of the folder.
        """
        if self.folder is None:
            return None
        if named:
            path = self.folder / _inside(named, recording_id)
            if os.path.isfile(path):  # noqa: PTH113 - pathlib's raises where access is denied
                return path
        files = self._files_of(recording_id)
        if not files:
            raise self._missing(recording_id, named)
        return self._choose(recording_id, files, height)

    def name(self, path: Path) -> str:
        """Return a video's path as records keep it: relative to the folder, with ``/`` between its parts."""
        if self.folder is not None and path.is_relative_to(self.folder):
            path = path.relative_to(self.folder)
        return path.as_posix().encode("utf-8", "backslashreplace").decode()

    def _files_of(self, recording_id: str) -> Sequence[_File]:
        if recording_id in self._recordings or not recording_id:
            return self._by_owner.get(recording_id, ())
        found = []
        for path in self._files:
            rest = path.stem.removeprefix(recording_id)
            if path.stem != recording_id + rest or (rest and not rest.startswith("_")):
                continue
            file = _File(rest, _height(rest, path), path)
            if file.kind != _OTHER:
                found.append(file)
        return found

    def _choose(self, recording_id: str, files: Sequence[_File], height: int | None) -> Path:
        kind = min(file.kind for file in files)
        best = [file for file in files if file.kind == kind]
        sizes = sorted({file.height for file in best if file.height is not None})
        if sizes and len(best) > 1:
            enough = [size for size in sizes if height is not None and size >= height]
            wanted = enough[0] if enough else sizes[-1]
            best = [file for file in best if file.height in (wanted, None)]
        if len(best) > 1:
            raise UserError(
                f"{len(best)} files could be the video of recording '{recording_id[:80]}': "
                f"{_listed(self.name(file.path) for file in best)}.",
                where=str(self.folder),
                hint="leave one of them in the folder, or give another folder",
            )
        return best[0].path

    def _missing(self, recording_id: str, named: str | None) -> UserError:
        first = f"there is no video '{named[:200]}', nor one" if named else "there is no video"
        count = len(self._files)
        seen = f"{count:,} video files are in the folder" if count else "no video file is in the folder"
        return UserError(
            f"{first} named by recording '{recording_id[:80]}' ({seen}).",
            where=str(self.folder),
            hint=f"name it {recording_id[:80]}.mp4 or {recording_id[:80]}_360p.mp4, there or one folder below",
        )

    @cached_property
    def _files(self) -> list[Path]:
        """All video files of the folder and its sub-folders, sorted by path."""
        if self.folder is None:
            return []
        found: list[Path] = []
        below: list[Path] = []
        try:
            _scan(self.folder, found, below)
        except OSError as error:
            raise UserError(
                f"the folder of videos cannot be read ({error.strerror or error}).",
                where=str(self.folder),
                hint="say where the videos are: --videos FOLDER",
            ) from None
        for folder in below:
            try:
                _scan(folder, found)
            except OSError:  # such as lost+found: no place for videos
                continue
        return sorted(found)

    @cached_property
    def _by_owner(self) -> dict[str, list[_File]]:
        found: dict[str, list[_File]] = defaultdict(list)
        for path in self._files:
            owner = self._owner(path.stem)
            if owner is not None:
                rest = path.stem[len(owner) :]
                found[owner].append(_File(rest, _height(rest, path), path))
        return dict(found)

    def _owner(self, stem: str) -> str | None:
        """Return the longest id that a file's name begins with, None when there is none."""
        while stem:
            if stem in self._recordings:
                return stem
            stem = stem.rpartition("_")[0]
        return None


def workspace_videos(
    workspace: Workspace, folder: Path | None = None, recordings: Collection[str] = ()
) -> Videos:
    """Return the finder of a workspace's videos.

    Args:
        workspace: with the recordings, where it has them.
        folder: that the user named; that of the data set by default.
        recordings: ids that are known beside those of the workspace.

    Raises:
        UserError: if the folder is none.
    """
    if folder is not None and not os.path.isdir(folder):  # noqa: PTH112 - pathlib's raises where access is denied
        raise UserError(
            "there is no such folder of videos.",
            where=str(folder),
            hint="say where they are: --videos FOLDER",
        )

    def known() -> set[str]:
        path = workspace.file("recordings.jsonl")
        found: list[Recording] = read_jsonl(path, Recording) if is_there(path) else []
        return {*recordings, *(recording.id for recording in found)}

    return Videos(folder if folder is not None else media_root(workspace), known)


def _inside(named: str, recording_id: str) -> PurePosixPath:
    path = PurePosixPath(named)
    if path.is_absolute() or ".." in path.parts or "\\" in named or "\0" in named:
        raise UserError(
            f"the video {named[:80]!r} of recording '{recording_id[:80]}' is no path inside the folder of videos.",
            hint="give a path like videos/tea_1.mp4",
        )
    return path


def _scan(folder: Path, files: list[Path], folders: list[Path] | None = None) -> None:
    """Add a folder's video files, and its sub-folders where they are asked for; hidden names are left out."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if os.path.splitext(entry.name)[1].lower() in VIDEO_SUFFIXES and entry.is_file():  # noqa: PTH122
                files.append(folder / entry.name)
            elif folders is not None and entry.is_dir():
                folders.append(folder / entry.name)


def _height(rest: str, path: Path) -> int | None:
    """Return the resolution that the rest of a file's name says, or else its folder's name."""
    found = _RESOLUTION.search(rest) or _RESOLUTION.search(path.parent.name)
    if found is None:
        return None
    return int(found[1]) if found[1] else _OF_K[found[2]]


def _listed(names: Iterable[str]) -> str:
    found = sorted(names)
    rest = len(found) - _LISTED
    return ", ".join(found[:_LISTED]) + (f" and {rest} more" if rest > 0 else "")
