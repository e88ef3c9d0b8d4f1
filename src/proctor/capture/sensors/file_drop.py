"""Any camera: files that somebody puts into ``drop/`` of a recording (or another folder), copied at the end or when ingesting.

What a file is called and when it says that it was made are labels, kept in ``files.json``; neither is
believed.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

import msgspec

from proctor.capture.records import StreamSpec
from proctor.capture.sensor import Context, Options, StopReport
from proctor.capture.sensors import Plain, options_of
from proctor.errors import UserError
from proctor.media.probe import probe
from proctor.media.source import open_video
from proctor.records import file_sha256, read_json, write_json

__all__ = ["BY_HAND", "FILES", "DroppedFile", "FileDrop", "make", "take"]

FILES = "files.json"
BY_HAND = "files put by hand"


class DroppedFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A dropped file: its name, its path in the stream's folder or why it was refused, and what it says of itself."""

    name: str
    path: str = ""
    refused: str = ""
    sha256: str = ""
    seconds: float | None = None
    created: str = ""
    doubt: str = ""


_Files: TypeAlias = list[DroppedFile]


def take(drop: Path, raw: Path, begun: datetime, ended: datetime) -> _Files:
    """Copy what is new in ``drop`` into the stream's folder ``raw``; returns all files of the stream, those of before too.

    Refused are duplicates, empty and cut files, what is no video, links and folders: with a reason, and looked at again next time. A
    creation time outside the session is doubted. Raises UserError if something cannot be copied.
    """
    old: _Files = read_json(raw / FILES, _Files) if (raw / FILES).exists() else []
    kept, refused = [file for file in old if file.path], _Files()
    raw.mkdir(parents=True, exist_ok=True)
    for path in sorted(drop.iterdir()) if drop.is_dir() else ():
        name = path.name.encode("utf-8", "replace").decode()
        there = (raw / file.path for file in kept if file.name == name)
        if path.name.startswith(".") or any(_stat(path) == _stat(one) for one in there):
            continue
        try:
            kept.append(_taken(path, name, raw, kept, begun, ended))
        except UserError as error:
            refused.append(DroppedFile(name=name, refused=str(error).replace(str(path), name)))
        except OSError as error:
            seen = f"cannot be copied: {error.strerror}."
            raise UserError(seen, where=str(raw), hint="is the disk full?") from None
    write_json(raw / FILES, kept + refused)
    return kept + refused


def _stat(path: Path) -> tuple[int, int]:
    return path.lstat().st_size, path.lstat().st_mtime_ns


def _taken(path: Path, name: str, raw: Path, known: _Files, begun: datetime, ended: datetime) -> DroppedFile:
    """Return a file that was copied; raises UserError for why it is refused."""
    if path.is_symlink() or not path.is_file():
        raise UserError("a link or a folder, not a file")
    info, sha256 = probe(path), file_sha256(path)
    if twin := next((f.name for f in known if f.sha256 == sha256), ""):
        raise UserError(f"the same as {twin}")
    with open_video(path) as (container, stream):
        created = {**stream.metadata, **container.metadata}.get("creation_time", "")[:40]
    ending = path.suffix.lower() if path.suffix[1:].isalnum() and len(path.suffix) <= 5 else ".bin"
    target, part = raw / f"file-{len(known) + 1:03}{ending}", raw / f".file-{len(known) + 1:03}.part"
    shutil.copy2(path, part)
    if file_sha256(part) != sha256:
        raise UserError("it changed while it was copied")
    os.replace(part, target)  # noqa: PTH105
    doubt = _doubt(created, begun, ended)
    return DroppedFile(
        name=name, path=target.name, sha256=sha256, seconds=info.duration, created=created, doubt=doubt
    )


def _doubt(created: str, begun: datetime, ended: datetime) -> str:
    """Return what is odd about a creation time; "" if it falls into the session, give or take five minutes."""
    try:
        at = datetime.fromisoformat(created)
    except ValueError:
        return "it does not say when it was made"
    at, slack = at if at.tzinfo else at.replace(tzinfo=UTC), timedelta(minutes=5)
    if begun - slack <= at <= ended + slack:
        return ""
    if at.year < 2000:
        return f"made in {at.year}: its clock was never set"
    return f"made {(at - begun) / timedelta(hours=1):+.1f} h from the start"


class _DropOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    folder: str = ""


class FileDrop(Plain):
    """Files put by hand into ``drop/`` of the recording, or into the folder of the option ``folder``."""

    def __init__(self, name: str, options: Options) -> None:
        self._drop, self._context = options_of(options, _DropOptions, name).folder, list[Context]()
        note = BY_HAND + " elsewhere" * bool(self._drop)  # (what comes late is looked for in ``drop/`` alone)
        self.spec = StreamSpec(name=name, kind="video", format="file", note=note)

    async def run(self, context: Context) -> None:
        """Wait until it is cancelled: files come later."""
        self._context, self._begun = [context], datetime.now(UTC)
        await asyncio.Event().wait()

    async def stop(self) -> StopReport:
        """Take what is there already."""
        if not self._context:
            return StopReport()
        (context,) = self._context
        drop = Path(self._drop) if self._drop else context.folder.parent.parent / "drop"
        files = await asyncio.to_thread(take, drop, context.folder, self._begun, datetime.now(UTC))
        for file in files:
            if told := file.refused or file.doubt:
                context.said(f"{file.name[:80]!r}: {told[:300]}")
        kept = tuple(file.path for file in files if file.path)
        return StopReport(sent=len(kept), files=kept)


make = FileDrop
