"""A release of recordings: parts packed with checksums, who consented, a datasheet; and what is left when somebody withdraws.

Source: CaptainCook4D, Table 19 (what is released). docs/capture.md, *Release*.
"""

from __future__ import annotations

import re
import tarfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec

from proctor.capture.records import (
    EVENTS,
    MANIFEST,
    REVIEW,
    SCRIPT,
    TABLET_EVENTS,
    KeptFile,
    Manifest,
    capture_folder,
    recording_folder,
)  # fmt: skip
from proctor.records import append_jsonl, atomic_write, file_sha256, is_there, read_jsonl, write_json

__all__ = [
    "CONSENTS", "PARTS", "WITHDRAWN", "Consent", "Part", "ReleaseManifest", "ReleasedRecording", "Withdrawal", "check_release",
    "consents", "datasheet", "forget_recording", "kept_files", "mentions", "note_withdrawal", "pack", "purge_lines", "withdrawals",
]  # fmt: skip

CONSENTS: Final = "consent.jsonl"
WITHDRAWN: Final = "withdrawn.jsonl"
Part = Literal["raw", "sync", "poses", "videos", "annotations", "splits", "features"]
PARTS: Final[tuple[Part, ...]] = ("raw", "sync", "poses", "videos", "annotations", "splits", "features")


class Consent(msgspec.Struct, frozen=True, kw_only=True):
    """What a participant agreed to, the last line of theirs counts: the text by its SHA-256, and whether recordings may be released."""

    participant: str
    text_sha256: str
    day: str
    release: bool


class Withdrawal(msgspec.Struct, frozen=True, kw_only=True):
    """A participant who took consent back: when, and which recordings were removed; not who it was."""

    day: str
    recordings: tuple[str, ...]


class ReleasedRecording(msgspec.Struct, frozen=True, kw_only=True):
    """A recording of a release, as its table shows it."""

    id: str
    activity: str
    participant: str
    environment: str
    strategy: str
    seconds: float
    streams: tuple[str, ...]
    simulated: bool
    verdict: str


class ReleaseManifest(msgspec.Struct, frozen=True, kw_only=True):
    """``manifest.json`` of a release.

    Attributes:
        name, version, licence: of the release.
        consent_sha256: texts that the participants agreed to.
        recordings: what is in it.
        left_out: by recording, why.
        withdrawn: how many recordings were removed on which day.
        parts: what was packed.
        files: all others of the release, with sizes and hashes.
    """

    name: str
    version: str
    licence: str
    consent_sha256: tuple[str, ...]
    recordings: tuple[ReleasedRecording, ...]
    left_out: dict[str, str]
    withdrawn: tuple[Withdrawal, ...]
    parts: tuple[Part, ...]
    files: tuple[KeptFile, ...]


def consents(workspace: Path) -> dict[str, Consent]:
    """Return what each participant agreed to last."""
    path = capture_folder(workspace) / CONSENTS
    rows: list[Consent] = read_jsonl(path, Consent) if is_there(path) else []
    return {c.participant: c for c in rows}


def withdrawals(workspace: Path) -> list[Withdrawal]:
    """Return who withdrew, in order."""
    path = capture_folder(workspace) / WITHDRAWN
    return read_jsonl(path, Withdrawal) if is_there(path) else []


# -- packing -----------------------------------------------------------------------------------------------------


def pack(folder: Path, out: Path, *, part: Literal["raw", "sync", "poses"], poses: Sequence[str]) -> bool:
    """Write a part of a recording as a tar; equal files give equal bytes. Returns False where the part has no files.

    Args:
        folder: of the recording.
        out: the archive.
        part: ``raw`` is what was recorded and noted, ``sync`` the streams on one clock, ``poses`` both for streams of poses.
        poses: names of the streams that ``poses`` holds and the others leave out.
    """
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
    named = [(path, path.relative_to(folder).as_posix()) for path in files]
    chosen = [(path, name) for path, name in named if _part_of(name, poses) == part]
    if chosen:
        with (
            atomic_write(out) as file,
            tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for path, name in chosen:
                info = tarfile.TarInfo(f"{folder.name}/{name}")
                info.size, info.mode = path.stat().st_size, 0o644
                with path.open("rb") as content:
                    archive.addfile(info, content)
    return bool(chosen)


def _part_of(name: str, poses: Sequence[str]) -> Part | None:
    """Return the part that a file of a recording belongs to; None for what is not released (leases, logs, truth of a simulation)."""
    head, _, rest = name.partition("/")
    if head == "raw":
        return "poses" if rest.partition("/")[0] in poses else "raw"
    if head == "sync":
        return "poses" if Path(name).stem in poses else "sync"
    return "raw" if name in (MANIFEST, EVENTS, TABLET_EVENTS, SCRIPT, REVIEW) else None


def kept_files(folder: Path) -> tuple[KeptFile, ...]:
    """Return every file below a folder but its manifest, with size and hash, by path."""
    files = (p for p in sorted(folder.rglob("*")) if p.is_file() and p != folder / MANIFEST)
    return tuple(
        KeptFile(path=p.relative_to(folder).as_posix(), bytes=p.stat().st_size, sha256=file_sha256(p))
        for p in files
    )


def check_release(folder: Path, manifest: ReleaseManifest) -> list[str]:
    """Return what differs from the manifest: missing, changed and unknown files."""
    seen = {f.path: f for f in kept_files(folder)}
    said = {f.path: f for f in manifest.files}
    return [
        *(f"{path} is missing" for path in sorted(said.keys() - seen.keys())),
        *(f"{path} is not in the manifest" for path in sorted(seen.keys() - said.keys())),
        *(f"{path} was changed" for path in sorted(said.keys() & seen.keys()) if said[path] != seen[path]),
    ]


def datasheet(manifest: ReleaseManifest, own: str) -> str:
    """Return the datasheet as Markdown: what is counted, and what only its makers can say (``own``, or headings to fill in)."""
    rows, hours = manifest.recordings, sum(r.seconds for r in manifest.recordings) / 3600
    streams = sorted({s for r in rows for s in r.streams})
    gone = sum(len(w.recordings) for w in manifest.withdrawn)
    counted = (
        f"{len(rows)} recordings ({hours:.2f} hours) of {len({r.activity for r in rows})} activities, "
        f"{len({r.participant for r in rows})} participants, {len({r.environment for r in rows})} environments; "
        f"licence: {manifest.licence}."
    )
    lines = [
        f"# {manifest.name} {manifest.version}", "",
        counted, "",
        *(["Some recordings are simulated: nobody made them.", ""] if any(r.simulated for r in rows) else []),
        "| recording | activity | participant | environment | strategy | seconds | synchronisation |",
        "|---|---|---|---|---|---|---|",
        *(
            f"| {r.id} | {_cell(r.activity)} | {_cell(r.participant)} | {_cell(r.environment)} | {r.strategy} | {r.seconds:.1f} | {r.verdict} |"
            for r in rows
        ), "",
        f"Streams: {', '.join(streams) or 'none'}. Parts: {', '.join(manifest.parts)}.", "",
        f"Left out: {len(manifest.left_out)} recordings. Withdrawn and removed: {gone} recordings.", "",
        own.strip() or _QUESTIONS, "",
    ]  # fmt: skip
    return "\n".join(lines)


def _cell(text: str) -> str:
    return re.sub(r"[|\r\n<>]", " ", text)


_QUESTIONS: Final = """\
## Why it was made

To be written: for which purpose, by which people, who paid.

## How people took part

To be written: how they were found, what they were asked to do, what they got, who agreed to it (ethics committee).

## What should not be done with it

To be written: uses that the participants did not agree to, groups that are missing, risks."""


# -- withdrawal --------------------------------------------------------------------------------------------------


def forget_recording(workspace: Path, recording: str) -> None:
    """Remove everything of a recording; its folder keeps a manifest that says so, and nothing of who or what it was.

    The manifest is written first: a process that is killed half-way leaves a withdrawn recording, never a usable one, and a
    recorder that is at it sees that and stops, which is waited for (10 s at most, so that nothing is written afterwards).

    Raises:
        UserError: if a process of a recorder that is gone still writes; the same command finishes it later.
    """
    from proctor.capture import session  # needs POSIX

    folder, until = recording_folder(workspace, recording), time.monotonic() + 10
    left = Manifest(id=recording, state="withdrawn", reasons=("withdrawn",))
    write_json(folder / MANIFEST, left)
    while session.holder_of(folder) is not None and time.monotonic() < until:
        time.sleep(0.05)
    for lock in folder.glob(".lock-*"):  # processes of a recorder that was killed close their segments
        with session.stream_lock(folder, lock.name.removeprefix(".lock-")):
            pass
    write_json(folder / MANIFEST, left)  # it may have written its own at the same moment
    session.wipe(folder)


def mentions(ids: Iterable[str], others: Iterable[str] = ()) -> Callable[[bytes], bool]:
    """Return a test whether some bytes name one of the recordings, alone or within a longer name (``rec-1_next_3``).

    Args:
        ids: that are looked for.
        others: ids that stay; where one of them is named, a shorter one that it begins or ends with is not.
    """
    gone = {i.encode() for i in ids}
    words = sorted(gone | {i.encode() for i in others}, key=len, reverse=True)
    pattern = re.compile(rb"(?<![A-Za-z0-9])(?:" + b"|".join(map(re.escape, words)) + rb")(?![A-Za-z0-9])")
    return lambda data: any(m[0] in gone for m in pattern.finditer(data))


def purge_lines(path: Path, named: Callable[[bytes], bool]) -> int:
    """Remove the lines of a JSON Lines file that name a recording; returns how many."""
    with path.open("rb") as file:
        lines = file.readlines()
    left = [line for line in lines if not named(line)]
    if len(left) < len(lines):
        with atomic_write(path) as out:
            out.writelines(left)
    return len(lines) - len(left)


def note_withdrawal(workspace: Path, withdrawal: Withdrawal) -> None:
    """Add a line to the list of withdrawals."""
    append_jsonl(capture_folder(workspace) / WITHDRAWN, withdrawal)
