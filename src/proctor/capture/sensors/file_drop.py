"""Any camera: files that somebody puts into ``drop/`` of a recording (or another folder), copied at the end or when ingesting.

What a file is called and when it says that it was made are labels, kept in ``files.json``; neither is believed.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from proctor.capture.records import StreamSpec
from proctor.capture.sensor import Context, Options, StopReport
from proctor.capture.sensors import Plain, options_of
from proctor.errors import UserError
from proctor.media.probe import probe
from proctor.media.source import open_video
from proctor.records import file_sha256, read_json, write_json

__all__ = ["FILES", "DroppedFile", "FileDrop", "make", "take"]

FILES = "files.json"


class DroppedFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file that was dropped: its name, the path in the stream's folder ("" if refused, with the reason), what it says of itself."""

    name: str
    path: str = ""
    refused: str = ""
    sha256: str = ""
    seconds: float | None = None
    created: str = ""
    doubt: str = ""


def take(drop: Path, raw: Path, begun: datetime, ended: datetime) -> list[DroppedFile]:
    """Copy what is new in ``drop`` into the stream's folder ``raw``; returns all files of the stream, those of before too.

    Refused are duplicates, empty and cut files, what is no video, links and folders: with a reason, and looked at again next time.
    A creation time before the session, after it or in the future is doubted.

    Raises:
        UserError: if it cannot be copied.
    """
    there = raw / FILES
    old: list[DroppedFile] = read_json(there, list[DroppedFile]) if there.exists() else []
    known = [f for f in old if f.path]
    for path in sorted(drop.iterdir()) if drop.is_dir() else ():
        name = path.name.encode("utf-8", "replace").decode()
        if path.name.startswith(".") or any(
            f.name == name and f.seconds and _same(path, raw / f.path) for f in known
        ):
            continue
        known.append(_taken(path, name, raw, [f for f in known if f.path], begun, ended))
    raw.mkdir(parents=True, exist_ok=True)
    write_json(there, known)
    return known


def _same(path: Path, kept: Path) -> bool:
    a, b = path.lstat(), kept.stat()
    return (a.st_size, a.st_mtime_ns) == (b.st_size, b.st_mtime_ns)


def _taken(
    path: Path, name: str, raw: Path, known: list[DroppedFile], begun: datetime, ended: datetime
) -> DroppedFile:
    if path.is_symlink() or not path.is_file():
        return DroppedFile(name=name, refused="a link or a folder, not a file")
    try:
        info = probe(path)
        sha256 = file_sha256(path)
        if twin := next((f.name for f in known if f.sha256 == sha256), ""):
            return DroppedFile(name=name, refused=f"the same as {twin}")
        with open_video(path) as (container, stream):
            created = {**stream.metadata, **container.metadata}.get("creation_time", "")[:40]
        ending = path.suffix.lower() if path.suffix[1:].isalnum() and len(path.suffix) <= 5 else ".bin"
        target, part = raw / f"file-{len(known) + 1:03}{ending}", raw / f".file-{len(known) + 1:03}.part"
        raw.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, part)
        if file_sha256(part) != sha256:
            part.unlink()
            return DroppedFile(name=name, refused="it changed while it was copied")
        os.replace(part, target)  # noqa: PTH105
    except UserError as error:
        return DroppedFile(name=name, refused=str(error).replace(str(path), name))
    except OSError as error:
        raise UserError(
            f"cannot be copied: {error.strerror}.", where=str(raw), hint="is the disk full?"
        ) from None
    return DroppedFile(
        name=name,
        path=target.name,
        sha256=sha256,
        seconds=info.duration,
        created=created,
        doubt=_doubt(created, begun, ended),
    )


def _doubt(created: str, begun: datetime, ended: datetime) -> str:
    """Return what is odd about a creation time; "" if it falls into the session, give or take five minutes."""
    try:
        at = datetime.fromisoformat(created)
    except ValueError:
        return "it does not say when it was made" if not created else "it says no time"
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    if begun - (slack := timedelta(minutes=5)) <= at <= ended + slack:
        return ""
    hours = (at - begun).total_seconds() / 3600
    return (
        f"made in {at.year}: its clock was never set"
        if at.year < 2000
        else f"made {hours:+.1f} h from the session's start"
    )


class FileDrop(Plain):
    """Files put by hand into ``drop/`` of the recording, or into the folder of the option ``folder``."""

    def __init__(self, name: str, options: Options) -> None:
        self.spec = StreamSpec(name=name, kind="video", format="file", note="files put by hand")
        self._drop, self._begun = options_of(options, _DropOptions, name).folder, datetime.now(UTC)
        self._context: Context | None = None

    async def run(self, context: Context) -> None:
        """Wait until it is cancelled: files come later."""
        self._context, self._begun = context, datetime.now(UTC)
        await asyncio.Event().wait()

    async def stop(self) -> StopReport:
        """Take what is there already."""
        if self._context is None:
            return StopReport()
        raw = self._context.folder
        drop = Path(self._drop) if self._drop else raw.parent.parent / "drop"
        files = await asyncio.to_thread(take, drop, raw, self._begun, datetime.now(UTC))
        for file in files:
            if told := file.refused or file.doubt:
                self._context.said(f"{file.name[:80]!r}: {told[:300]}")
        kept = tuple(file.path for file in files if file.path)
        return StopReport(sent=len(kept), files=kept)


class _DropOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    folder: str = ""


def make(name: str, options: Options) -> FileDrop:
    """Return a place for files."""
    return FileDrop(name, options)
