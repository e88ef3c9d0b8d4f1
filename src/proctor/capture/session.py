"""A recording's folder while it is recorded: lease, events, manifest, reserved space, and how it is closed. docs/capture.md."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from proctor.capture.clock import Clock
from proctor.capture.records import (
    EVENTS,
    MANIFEST,
    SCRIPT,
    TABLET_EVENTS,
    Event,
    KeptFile,
    Manifest,
    State,
    StreamSpec,
)  # fmt: skip # isort: skip
from proctor.capture.segments import salvage, segment_files, write_index
from proctor.errors import UserError
from proctor.records import file_sha256, read_json, write_json

__all__ = [
    "RESERVE", "EventLog", "Holder", "Lease", "WithdrawnError", "byte_rate", "close_session", "disk_full", "finish", "free_reserve",
    "holder_of", "read_battery", "read_manifest", "reserve", "save_manifest", "stream_lock", "wipe",
]  # fmt: skip

RESERVE: Final = "reserve.bin"
_LEASE: Final = ".lease"


class WithdrawnError(Exception):
    """The participant was withdrawn while the session ran: nothing of it is kept."""


def disk_full(error: OSError) -> bool:
    """Tell whether a disk or a quota is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


# -- who records -------------------------------------------------------------------------------------------------


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds a lease: the process, since when, the boot of its machine, the socket it listens at."""

    pid: int
    since: str
    boot: str
    socket: str = ""


class Lease:
    """The right to record into a folder; the system ends it with the process, however that dies.

    Raises:
        UserError: if another recorder holds it.
    """

    def __init__(self, folder: Path, clock: Clock) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        before, self._path, self._clock = holder_of(folder, live=False), folder / _LEASE, clock
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            said = f"another recorder (process {before.pid if before else '?'}) is recording this."
            raise UserError(said, where=str(folder), hint="stop that one first") from None
        self._boot = ""
        with suppress(OSError):
            self._boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        self.same_boot = before is None or before.boot == self._boot
        """Whoever held it last was of this boot: monotonic time begins anew with each."""
        if self.same_boot:
            self.tell("")

    def tell(self, socket: str) -> None:
        """Write down who holds it and where it listens."""
        holder = Holder(pid=os.getpid(), since=self._clock.label(), boot=self._boot, socket=socket)
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, msgspec.json.encode(holder), 0)

    def release(self, *, remove: bool) -> None:
        """Give it back; ``remove`` once the session is over."""
        if remove:
            self._path.unlink(missing_ok=True)
        os.close(self._file)


def holder_of(folder: Path, *, live: bool = True) -> Holder | None:
    """Return who holds a folder's lease, ``live`` only if that process is there; otherwise who held it last."""
    try:
        with (folder / _LEASE).open("rb") as file:
            if live:
                with suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                    return None
            return msgspec.json.decode(file.read(), type=Holder)
    except (OSError, msgspec.MsgspecError):
        return None


@contextmanager
def stream_lock(folder: Path, stream: str, seconds: float = 15.0) -> Iterator[None]:
    """Hold the right to write a stream; waits for a process of before that closes its segment (else ``UserError``)."""
    until = time.monotonic() + seconds
    with (folder / f".lock-{stream}").open("wb") as file:
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            if time.monotonic() > until:
                hint = "wait, or end its process proctor.capture.host"
                raise UserError(
                    "another process still writes this stream.", where=f"{folder}: {stream}", hint=hint
                )
            time.sleep(0.05)
        yield


# -- what is in the folder ---------------------------------------------------------------------------------------


def reserve(folder: Path, size: int) -> None:
    """Set space aside, for the events of a session whose disk is full; raises ``UserError`` if there is not that much."""
    try:
        with (folder / RESERVE).open("wb") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, max(size, 1))
            else:  # macOS
                file.write(bytes(size))
    except OSError as error:
        raise UserError(f"there is no space: {error.strerror}", where=str(folder), hint="free some") from None


def free_reserve(folder: Path) -> bool:
    """Give the reserved space back; False where there is none any more."""
    with suppress(OSError):
        (folder / RESERVE).unlink()
        return True
    return False


class EventLog:
    """``events.jsonl``: each line on disk before ``add`` returns; a line that a crash cut is cut off."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._folder, self._clock = folder, clock
        self._file = os.open(folder / EVENTS, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        data = os.pread(self._file, os.fstat(self._file).st_size, 0)
        self._size = data.rfind(b"\n") + 1
        os.ftruncate(self._file, self._size)
        lines = data[: self._size].splitlines()
        self._n = msgspec.json.decode(lines[-1], type=Event).n + 1 if lines else 0

    def add(self, event: Event) -> Event:
        """Write an event down with its number and, where it has none, the time; returns it as written.

        Raises:
            OSError: if the disk is full and the reserved space is used up; no line is cut.
        """
        host = self._clock.mono_ns() if event.host_ns is None else event.host_ns
        wall = event.wall or self._clock.label()
        event = msgspec.structs.replace(event, n=self._n, host_ns=host, wall=wall)
        line = msgspec.json.encode(event) + b"\n"
        while True:
            try:
                done = 0
                while done < len(line):
                    done += os.pwrite(self._file, line[done:], self._size + done)
                os.fsync(self._file)
                break
            except OSError as error:
                os.ftruncate(self._file, self._size)
                if not (disk_full(error) and free_reserve(self._folder)):
                    raise
        self._size, self._n = self._size + len(line), self._n + 1
        return event

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest, ``interrupted`` where its recorder is gone; None without one. Raises ``UserError`` if it is broken."""
    if not (folder / MANIFEST).exists():
        return None
    found: Manifest = read_json(folder / MANIFEST, Manifest)
    gone = found.state in ("armed", "recording") and holder_of(folder) is None
    return msgspec.structs.replace(found, state="interrupted") if gone else found


def save_manifest(folder: Path, manifest: Manifest, *, new: bool = False) -> None:
    """Write the manifest.

    Raises:
        WithdrawnError: if somebody withdrew the recording meanwhile, or removed the manifest (and it is not ``new``).
        UserError: if it cannot be written.
    """
    there = read_manifest(folder)
    if (there is None and not new) or (there is not None and there.state == "withdrawn"):
        raise WithdrawnError
    write_json(folder / MANIFEST, manifest)


def _kept_files(folder: Path) -> tuple[KeptFile, ...]:
    """Return what a finished session holds: raw files (the index can be made anew), events, script."""
    paths = [p for p in sorted((folder / "raw").rglob("*")) if p.is_file() and not p.is_symlink()]
    paths = [p for p in paths if not p.name.startswith(".") and p.name != "index.npy"]
    paths += [p for name in (EVENTS, SCRIPT, TABLET_EVENTS) if (p := folder / name).is_file()]
    rows = [(p.relative_to(folder).as_posix(), p.stat().st_size, file_sha256(p)) for p in paths]
    return tuple(KeptFile(path=path, bytes=size, sha256=digest) for path, size, digest in rows)


def finish(folder: Path, manifest: Manifest, log: EventLog, state: State, reasons: Sequence[str]) -> Manifest:
    """Close a session on disk: salvage, indexes, the last event, hashes, manifest; returns that.

    Raises:
        WithdrawnError: see ``save_manifest``.
        UserError: if it cannot be written.
    """
    free_reserve(folder)
    empty = []
    for spec in manifest.streams:
        raw = folder / "raw" / spec.name
        raw.mkdir(parents=True, exist_ok=True)
        with stream_lock(folder, spec.name):
            if cut := salvage(raw):
                text = "bytes of a cut sample were removed"
                log.add(Event(n=0, kind="warning", stream=spec.name, count=cut, text=text))
            rows = len(write_index(raw)) if segment_files(raw) else 0
        if spec.required and not rows and not any(p.name[:4] not in ("seg-", "inde") for p in raw.iterdir()):
            empty.append(f"{spec.name} has nothing")
        (folder / f".lock-{spec.name}").unlink()
    state = "incomplete" if state == "stopped" and empty else state
    begun = manifest.host_start_ns is not None
    state = state if begun else "planned"  # it was armed only, and can be recorded another time
    end = log.add(Event(n=0, kind="state", text=state)).host_ns
    log.close()
    if begun:
        why = (*manifest.reasons, *reasons, *empty)
        manifest = msgspec.structs.replace(manifest, host_end_ns=end, files=_kept_files(folder), reasons=why)
    manifest = msgspec.structs.replace(manifest, state=state)
    save_manifest(folder, manifest)
    return manifest


def close_session(folder: Path, clock: Clock | None = None) -> Manifest:
    """Close an interrupted session with what is there, and return its manifest; another one stays as it is.

    Raises:
        UserError: if there is none, or a recorder is at it.
    """
    manifest = read_manifest(folder)
    if manifest is None:
        raise UserError("nothing was recorded here.", where=str(folder), hint="proctor capture record")
    if manifest.state not in ("armed", "recording", "interrupted"):
        return manifest
    clock = clock or Clock()
    lease = Lease(folder, clock)
    try:
        why = ["the recorder was gone; closed with what was there"]
        return finish(folder, manifest, EventLog(folder, clock), "stopped", why)
    finally:
        lease.release(remove=True)


def wipe(folder: Path) -> None:
    """Remove everything of a withdrawn recording but its manifest, which then names no file."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name != MANIFEST:
            path.unlink(missing_ok=True)
    if (found := read_manifest(folder)) is not None:
        write_json(folder / MANIFEST, msgspec.structs.replace(found, state="withdrawn", streams=(), files=()))
    else:
        shutil.rmtree(folder, ignore_errors=True)


# -- what a machine has left -------------------------------------------------------------------------------------


def byte_rate(spec: StreamSpec) -> float:
    """Return about how many bytes a second a stream brings, from what it says it is; 0 where nobody can tell."""
    pixels, rate = spec.width * spec.height or 640 * 360, spec.rate_hz or 30.0
    sizes = {"jpeg": 0.2 * pixels * rate, "png16": 1.2 * pixels * rate, "packet": 1e6}
    sizes |= {
        "f4": (40 + 4 * len(spec.columns)) * spec.rate_hz,
        "s16": 2 * spec.sample_rate * max(spec.channels, 1),
    }
    return sizes.get(spec.format, 0.0)


def read_battery(folder: Path = Path("/sys/class/power_supply")) -> float | None:
    """Return percent of the fullest battery that is being used up; None without one, or on mains."""
    found = []
    for supply in sorted(folder.iterdir()) if folder.is_dir() else ():
        with suppress(OSError, ValueError):
            kind, status = ((supply / name).read_text().strip() for name in ("type", "status"))
            if (kind, status) == ("Battery", "Discharging"):
                found.append(float((supply / "capacity").read_text()))
    return max(found, default=None)
