"""Files that somebody put into ``drop/`` of a recording after it was over. docs/capture.md, *Sensors*."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from proctor.capture.records import MANIFEST, KeptFile, Manifest, StreamSpec
from proctor.capture.sensors.file_drop import BY_HAND, FILES, take
from proctor.records import file_sha256, write_json

__all__ = ["take_dropped"]

_STREAM: Final = StreamSpec(name="drop", kind="video", format="file", required=False, note=BY_HAND)


def take_dropped(folder: Path, manifest: Manifest) -> tuple[Manifest, tuple[str, ...]]:
    """Copy what is new in ``drop/`` into the streams of files put by hand; the manifest has its hashes.

    A recording without such a stream gets one, ``drop``, which is not required. Returns the manifest, written anew where
    something came, and what there is to say of each file: that it came late, why it is refused, or what is odd about it.

    Raises:
        UserError: if something cannot be copied.
    """
    drop = folder / "drop"
    if not drop.is_dir() or all(path.name.startswith(".") for path in drop.iterdir()):
        return manifest, ()
    found = [s for s in manifest.streams if s.format == "file" and s.note == BY_HAND]
    files, notes, more = {file.path: file for file in manifest.files}, list[str](), tuple[StreamSpec, ...]()
    for spec in found or [_STREAM]:
        raw, new = f"raw/{spec.name}", False
        for file in take(drop, folder / raw, *_session(manifest)):
            told = file.refused
            if file.path and f"{raw}/{file.path}" not in files:
                new, told = True, f"it was taken after the recording was over; {file.doubt}".rstrip("; ")
                files[f"{raw}/{file.path}"] = _kept(folder, f"{raw}/{file.path}")
            notes += [f"{spec.name}: {file.name[:80]!r}: {told[:300]}"] if told else []
        if new or f"{raw}/{FILES}" in files:
            files[f"{raw}/{FILES}"] = _kept(folder, f"{raw}/{FILES}")
        more = () if found or not new else (_STREAM,)
    if tuple(files.values()) != manifest.files:
        manifest = replace(manifest, streams=manifest.streams + more, files=tuple(files.values()))
        write_json(folder / MANIFEST, manifest)
    return manifest, tuple(notes)


def _kept(folder: Path, path: str) -> KeptFile:
    file = folder / path
    return KeptFile(path=path, bytes=file.stat().st_size, sha256=file_sha256(file))


def _session(manifest: Manifest) -> tuple[datetime, datetime]:
    """Return when a recording began and ended, by its labels."""
    try:
        begun = datetime.fromisoformat(manifest.wall_start)
    except ValueError:
        begun = datetime.now(UTC)
    begun = begun if begun.tzinfo else begun.replace(tzinfo=UTC)
    length = (manifest.host_end_ns or 0) - (manifest.host_start_ns or 0)
    return begun, begun + timedelta(seconds=max(0, length) / 1e9)
