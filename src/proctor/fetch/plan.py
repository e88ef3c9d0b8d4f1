"""What is to be fetched, and what is there already: decided before anything is asked of anybody."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Final, Literal
from urllib.parse import unquote, urlsplit

import msgspec

from proctor.errors import UserError
from proctor.fetch.address import below, require_allowed, shown_address
from proctor.records import file_sha256, read_json

__all__ = [
    "STATE",
    "Planned",
    "Unpacked",
    "Wanted",
    "choose",
    "from_mirror",
    "has_unpacked",
    "plan_files",
    "require_inside",
    "safe_place",
]

STATE: Final = ".proctor-get"
"""Folder in the data set's folder for unfinished files, the lock, and the lists of what archives held."""

State = Literal["fetch", "there", "unchecked", "differs"]
"""``unchecked``: something is there, and nobody has said what it must be. ``differs``: it is not what it must be."""

_DEVICES: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE | re.ASCII)
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_MAX_PART: Final = 255
_MAX_DEPTH: Final = 64


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file to be fetched.

    Attributes:
        url: http or https address; empty when it is copied from ``local``.
        path: in the folder; of an archive the folder that it is unpacked into.
        size: bytes that it must have, None where nobody has said.
        sha256: that it must have, None where nobody has said.
        unpack: it is an archive.
        given: the user gave the address himself.
        local: file on this machine to take instead.
    """

    url: str
    path: str
    size: int | None = None
    sha256: str | None = None
    unpack: bool = False
    given: bool = False
    local: Path | None = None

    @property
    def place(self) -> str:
        """The file's own path below the folder, or below a mirror's address."""
        if not self.unpack:
            return safe_place(self.path)
        name = unquote(PurePosixPath(urlsplit(self.url).path).name)
        return safe_place(f"{self.path}/{name}")

    @property
    def into(self) -> str:
        """Where an archive is unpacked; empty for the folder itself."""
        return safe_place(self.path, empty=True)

    @property
    def key(self) -> str:
        """Name of its files in ``STATE``."""
        return hashlib.sha256(self.place.encode()).hexdigest()[:20]

    @property
    def shown(self) -> str:
        """Where it comes from, without credentials."""
        return str(self.local) if self.local is not None else shown_address(self.url)


@dataclass(frozen=True, slots=True)
class Planned:
    """A wanted file and what the folder has of it."""

    wanted: Wanted
    place: str
    state: State
    partial: int = 0


class Unpacked(msgspec.Struct, frozen=True):
    """What an archive held, so that it need not be fetched again: its checksum, and sizes by path."""

    place: str
    sha256: str
    files: dict[str, int]


def safe_place(path: str, *, empty: bool = False) -> str:
    """Return a relative path in plain form that stays in its folder on every system.

    Args:
        path: with slashes; ``.`` parts are left out.
        empty: may be the folder itself.

    Raises:
        UserError: if it is absolute, leads out, or has a name that some system gives another meaning.
    """
    parts = [p for p in path.split("/") if p not in ("", ".")]
    reason = _unsafe(path, parts, empty)
    if reason:
        raise UserError(f"the path {path[:200]!r} {reason}.", hint="nothing was written there")
    return "/".join(parts)


def _unsafe(path: str, parts: Sequence[str], empty: bool) -> str:
    if path.startswith("/") or _DRIVE.match(path):
        return "is absolute"
    if "\\" in path:
        return "has a backslash"
    if ".." in parts:
        return "leads out of its folder"
    if not parts and not empty:
        return "names nothing"
    if len(parts) > _MAX_DEPTH or any(len(p.encode("utf-8", "replace")) > _MAX_PART for p in parts):
        return "is too deep or too long"
    if any(unicodedata.category(c) in ("Cc", "Cs") for c in path):
        return "has a character that no name has"
    if any(_DEVICES.fullmatch(p.rstrip(" .")) for p in parts):
        return "is the name of a device"
    if parts and parts[0].casefold() == STATE:
        return "is Proctor's own"
    return ""


def require_inside(folder: Path, place: str) -> Path:
    """Return the path of a place in a folder.

    Raises:
        UserError: if a link in the folder leads out of it.
    """
    path = folder / place
    if not path.parent.resolve().is_relative_to(folder.resolve()):
        raise UserError("a link leads out of the folder.", where=str(path), hint="put a real folder there")
    return path


def choose(files: Iterable[Wanted], pattern: str | None) -> tuple[Wanted, ...]:
    """Return the files whose path, or name alone, fits a shell pattern.

    Raises:
        UserError: if none does.
    """
    every = tuple(files)
    if pattern is None:
        return every
    chosen = tuple(
        f for f in every if fnmatchcase(f.place, pattern) or fnmatchcase(PurePosixPath(f.place).name, pattern)
    )
    if not chosen:
        names = ", ".join(f.place for f in every[:10]) + (" …" if len(every) > 10 else "")
        raise UserError(f"no file fits --only {pattern!r}.", hint=f"there are {names}")
    return chosen


def from_mirror(files: Iterable[Wanted], mirror: str) -> tuple[Wanted, ...]:
    """Return the files with the same paths below another address, or in a local folder.

    Raises:
        UserError: if it is neither, or a file is missing in the folder.
    """
    every = tuple(files)
    if "://" in mirror:
        require_allowed(mirror, given=True)
        return tuple(replace(f, url=below(mirror, f.place), path=f.path, given=True) for f in every)
    folder = Path(mirror)
    if not folder.is_dir():
        raise UserError("there is no such folder.", where=mirror, hint="--from takes a folder or an address")
    missing = [f.place for f in every if not (folder / f.place).is_file()]
    if missing:
        more = " …" if len(missing) > 10 else ""
        raise UserError(
            f"{len(missing)} of {len(every)} files are not there: {', '.join(missing[:10])}{more}.",
            where=mirror,
            hint="leave them out with --only, or put them there",
        )
    return tuple(replace(f, local=folder / f.place, given=True) for f in every)


def plan_files(files: Sequence[Wanted], folder: Path) -> tuple[Planned, ...]:
    """Return what is to be done for each file; nothing is asked of anybody and nothing written.

    Raises:
        UserError: if the folder is a file, or a declared path or address may not be used.
    """
    if folder.exists() and not folder.is_dir():
        raise UserError("this is not a folder.", where=str(folder), hint="name a folder, new or old")
    planned, seen = [], set[str]()
    for wanted in files:
        if wanted.local is None:
            require_allowed(wanted.url, given=wanted.given)
        place = wanted.place
        if place in seen:
            raise UserError(
                f"{place!r} is declared twice.", hint="report it to the author of the data set's reader"
            )
        seen.add(place)
        partial = folder / STATE / f"{wanted.key}.part"
        size = partial.stat().st_size if partial.is_file() else 0
        planned.append(Planned(wanted, place, _state(wanted, folder), size))
    return tuple(planned)


def _state(wanted: Wanted, folder: Path) -> State:
    if wanted.unpack:
        return "there" if has_unpacked(wanted, folder) else "fetch"
    path = require_inside(folder, wanted.place)
    if not path.is_symlink() and not path.exists():
        return "fetch"
    if not path.is_file():
        return "differs"
    if wanted.size is not None and path.stat().st_size != wanted.size:
        return "differs"
    if wanted.sha256 is None:
        return "unchecked"
    return "there" if file_sha256(path) == wanted.sha256.lower() else "differs"


def has_unpacked(wanted: Wanted, folder: Path) -> bool:
    """True where the archive was unpacked here and all its files are there with their sizes."""
    path = folder / STATE / f"{wanted.key}.unpacked.json"
    if not path.is_file():
        return False
    try:
        record: Unpacked = read_json(path, Unpacked)
    except UserError:  # our own note is broken: the archive is fetched again, and that is enough
        return False
    if wanted.sha256 is not None and record.sha256 != wanted.sha256.lower():
        return False
    return all(
        (folder / name).is_file() and (folder / name).stat().st_size == size
        for name, size in record.files.items()
    )
