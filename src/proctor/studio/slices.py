"""Slices of recordings that tablets send: ``slices/<assignment>/<part>/000001.webm``, an index beside them, and who holds the lease.

Slices of a part come in order: one that is missing is asked for, one that is there is not written again, and one that differs from
what is there is kept beside it as a conflict. Names are checked for their form, so a name is no path.
"""

from __future__ import annotations

import errno
import hashlib
import re
import shutil
import threading
import time
from pathlib import Path
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.records import append_jsonl, atomic_write, file_sha256, read_json, write_json
from proctor.said import say

__all__ = ["INDEX", "MissingSliceError", "SliceRow", "hold_lease", "keep_slice", "list_parts"]

INDEX: Final = "index.jsonl"
_PID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_PART: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,31}", re.ASCII)
_FILE: Final = re.compile(r"(\d{6})\.(webm|mp4|ogg)", re.ASCII)
_ENDINGS: Final = {"webm": (b"\x1a\x45\xdf\xa3", 0), "ogg": (b"OggS", 0), "mp4": (b"ftyp", 4)}
"""How the first slice of a part begins, and at which byte."""
_MOST_PARTS, _MOST_SLICES = 200, 100_000
_KEEPING: Final = tuple(threading.Lock() for _ in range(64))
"""A page and its service worker may send the same slice at once; each recording has one of these."""
_RESERVE: Final = 500_000_000  # bytes of the disk that are left free for people's work


class SliceRow(msgspec.Struct, frozen=True, kw_only=True):
    """A slice as it came: ``perf_ns`` is the tablet's clock when it had it, ``host_ns`` ours when we had it; ``wall`` is a label."""

    seq: int
    sha256: str
    bytes: int
    perf_ns: int
    host_ns: int
    wall: str = ""


class MissingSliceError(Exception):
    """The slice with this number comes first."""


def list_parts(folder: Path, pid: str) -> dict[str, list[Path]]:
    """Return the slices of an assignment by part, in order; ``folder`` is the studio's."""
    places = sorted((folder / "slices" / pid).glob("*/")) if _PID.fullmatch(pid) else []
    found = {p.name: sorted(p.glob("*")) for p in places if _PART.fullmatch(p.name)}
    return {part: [path for path in paths if _FILE.fullmatch(path.name)] for part, paths in found.items()}


def keep_slice(
    folder: Path, pid: str, part: str, seq: int, data: bytes, *, kind: str, sha256: str, perf_ns: int, wall: str = ""
) -> str:  # fmt: skip
    """Keep a slice, counted from 1 in each part; returns ``new``, ``again``, or ``conflict`` where another one has its number.

    Raises:
        MissingSliceError: if one before it is missing.
        UserError: if its name is none, it was damaged on the way, begins like no WebM, Ogg or MP4, or there are too many.
        OSError: if the disk is full or cannot be written.
    """
    with _KEEPING[hash(pid) % len(_KEEPING)]:
        return _keep(folder, pid, part, seq, data, kind, sha256, perf_ns, wall)


def _keep(
    folder: Path, pid: str, part: str, seq: int, data: bytes, kind: str, sha256: str, perf_ns: int, wall: str
) -> str:
    ending = kind.partition(";")[0].rpartition("/")[2]
    place, known = folder / "slices" / pid / part, list_parts(folder, pid)
    if not (_PID.fullmatch(pid) and _PART.fullmatch(part) and ending in _ENDINGS and 0 < seq <= _MOST_SLICES):
        raise UserError(say("This is not a slice of a recording."))
    if hashlib.sha256(data).hexdigest() != sha256 or not data:
        raise UserError(say("This slice was damaged on the way: its hash is another one."))
    there = {int(path.stem): path for path in known.get(part, ())}
    if seq in there:
        if file_sha256(there[seq]) == sha256:
            return "again"
        _write(place / f"{seq:06d}.conflict-{sha256[:12]}.{ending}", data)
        return "conflict"
    if seq != len(there) + 1:
        raise MissingSliceError(len(there) + 1)
    magic, at = _ENDINGS[ending]
    if seq == 1 and (data[at : at + len(magic)] != magic or len(known) >= _MOST_PARTS):
        raise UserError(say("This does not begin like a recording from a browser (WebM, Ogg or MP4), or there are too many."))  # fmt: skip
    _write(place / f"{seq:06d}.{ending}", data)
    row = SliceRow(seq=seq, sha256=sha256, bytes=len(data), perf_ns=perf_ns, host_ns=time.monotonic_ns(), wall=wall[:40])  # fmt: skip
    append_jsonl(place / INDEX, row)
    return "new"


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(path.parent).free < _RESERVE + len(data):
        raise OSError(errno.ENOSPC, say("the disk is nearly full"))
    with atomic_write(path) as file:
        file.write(data)


def hold_lease(folder: Path, pid: str, client: str, *, take: bool = False) -> bool:
    """Return whether a tablet holds the recording: nobody else did, or it takes over. It outlives restarts."""
    path = folder / "slices" / pid / "lease.json"
    holder = read_json(path, str) if path.is_file() else ""
    if take or not holder:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, client)
    return take or holder in ("", client)
