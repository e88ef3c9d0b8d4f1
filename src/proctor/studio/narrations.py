"""Sound that people recorded on a timeline: ``narrations/<assignment>/<id>.<ending>``, and beside it what was heard in it.

Both parts of a name are random ids, checked for their form, so a name is no path. Nothing is overwritten.
"""

from __future__ import annotations

import errno
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.records import atomic_write
from proctor.said import say

__all__ = ["Sound", "forget_sounds", "heard_in", "keep_heard", "keep_sound", "list_sounds"]

_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_PID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_KINDS: Final = {
    ".webm": ("audio/webm", b"\x1a\x45\xdf\xa3", 0), ".ogg": ("audio/ogg", b"OggS", 0), ".m4a": ("audio/mp4", b"ftyp", 4),
}  # fmt: skip
"""Ending: type, how its contents begin, and at which byte."""
_MOST: Final = 500
"""Sounds of one assignment."""
_RESERVE: Final = 500_000_000
"""Bytes of the disk that are left free for people's work."""


class Sound(msgspec.Struct, frozen=True):
    """A sound that is there: its id, file, and type by its contents."""

    id: str
    path: Path
    mime: str


def list_sounds(folder: Path, pid: str) -> list[Sound]:
    """Return the sounds of an assignment by id; ``folder`` is the studio's."""
    files = sorted((folder / "narrations" / pid).glob("*.*")) if _PID.fullmatch(pid) else []
    return [
        Sound(p.stem, p, _KINDS[p.suffix][0]) for p in files if p.suffix in _KINDS and _ID.fullmatch(p.stem)
    ]


def keep_sound(folder: Path, pid: str, name: str, data: bytes) -> bool:
    """Keep a sound; returns False where it was kept before.

    Raises:
        UserError: if its id is none, it is no WebM, Ogg or MP4, another one has its id, or there are too many.
        OSError: if the disk is full or cannot be written.
    """
    ending = next((e for e, (_, magic, at) in _KINDS.items() if data[at : at + len(magic)] == magic), None)
    known = {sound.id: sound.path for sound in list_sounds(folder, pid)}
    if not (ending and _ID.fullmatch(name) and _PID.fullmatch(pid)):
        raise UserError(say("This is not sound as browsers record it (WebM, Ogg or MP4)."))
    if name in known:
        if known[name].read_bytes() == data:
            return False
        raise UserError(say("Another sound is kept under this id."))
    if len(known) >= _MOST:
        raise UserError(say("There are {most} narrations of this recording already.", most=_MOST))
    place = folder / "narrations" / pid
    place.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(place).free < _RESERVE + len(data):
        raise OSError(errno.ENOSPC, say("the disk is nearly full"))
    with atomic_write(place / f"{name}{ending}") as file:
        file.write(data)
    return True


def forget_sounds(folder: Path, pids: Iterable[str]) -> None:
    """Remove every sound and recording of some assignments: somebody's voice and picture are no longer ours to keep."""
    for pid in filter(_PID.fullmatch, pids):
        for place in ("narrations", "slices"):
            shutil.rmtree(folder / place / pid, ignore_errors=True)


def keep_heard(sound: Sound, text: str) -> None:
    """Keep what was heard, beside the sound; nothing where nobody speaks."""
    with atomic_write(sound.path.with_suffix(".txt")) as file:
        file.write(text.encode())


def heard_in(folder: Path, pid: str) -> dict[str, str]:
    """Return what was heard in the sounds of an assignment, by id of the sound."""
    notes = {sound.id: sound.path.with_suffix(".txt") for sound in list_sounds(folder, pid)}
    return {name: path.read_text("utf-8", "replace") for name, path in notes.items() if path.is_file()}
