"""A recording's folder while it is recorded: lease, events, manifest, reserved space, and how it is closed. docs/capture.md."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
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
)
from proctor.capture.segments import salvage, segment_files, write_index
from proctor.errors import UserError
from proctor.records import file_sha256, read_json, write_json

__all__ = [
    "RESERVE", "EventLog", "Holder", "Lease", "WithdrawnError", "byte_rate", "close_session", "disk_full", "finish", "free_reserve",
    "holder_of", "read_battery", "read_manifest", "reserve", "save_manifest", "stream_lock", "wipe",
]  # fmt: skip

RESERVE: Final = "reserve.bin"
_LEASE: Final = ".lease"
_OPEN: Final = ("armed", "recording")


class WithdrawnError(Exception):
    """The participant was withdrawn while the session ran: nothing of it is kept."""


def disk_full(error: OSError) -> bool:
    """Tell whether a disk or a quota is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


# -- who records -------------------------------------------------------------------------------------------------


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds a lease: the process, when it took it, the boot of its machine, and the socket it listens at."""

    pid: int
    since: str
    boot: str
    socket: str = ""


def boot_id() -> str:
    """Return what differs from one boot of the machine to the next: monotonic time begins anew with each."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ""


class Lease:
    """The right to record into a folder; the system ends it with the process, however that dies.

    Raises:
        UserError: if another recorder holds it.
    """

    def __init__(self, folder: Path, clock: Clock, socket: str = "") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / _LEASE
        self.before = holder_of(folder, live=False)
        """Who held it last; None where nobody did."""
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            pid = self.before.pid if self.before else "?"
            raise UserError(
                f"another recorder (process {pid}) is recording this.",
                where=str(folder),
                hint="stop that one first",
            ) from None
        self._clock = clock
        self.tell(socket)

    def tell(self, socket: str) -> None:
        """Write down who holds it and where it listens."""
        holder = Holder(pid=os.getpid(), since=self._clock.label(), boot=boot_id(), socket=socket)
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, msgspec.json.encode(holder), 0)

    def release(self, *, remove: bool) -> None:
        """Give it back; ``remove`` once the session is over."""
        if self._file >= 0:
            if remove:
                self.path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = -1


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
    """Hold the right to write a stream of a recording; waits for a process of before that closes its segment.

    Raises:
        UserError: if it does not end in that time.
    """
    with (folder / f".lock-{stream}").open("wb") as file:
        until = time.monotonic() + seconds
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > until:
                    raise UserError(
                        "another process still writes this stream.", where=f"{folder}: {stream}",
                        hint="wait, or end the process proctor.capture.host of it",
                    ) from None  # fmt: skip
                time.sleep(0.05)
        yield


# -- what is in the folder ---------------------------------------------------------------------------------------


def reserve(folder: Path, size: int) -> None:
    """Set space aside, for the events of a session whose disk is full.

    Raises:
        OSError: if there is not that much.
    """
    with (folder / RESERVE).open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(size, 1))


def free_reserve(folder: Path) -> bool:
    """Give the reserved space back; False where there is none any more."""
    try:
        (folder / RESERVE).unlink()
    except OSError:
        return False
    return True


class EventLog:
    """``events.jsonl``: each line on disk before ``add`` returns; a line that a crash cut is cut off."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._folder, self._clock = folder, clock
        self._file = os.open(folder / EVENTS, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        data = os.pread(self._file, os.fstat(self._file).st_size, 0)
        self._size = data.rfind(b"\n") + 1
        os.ftruncate(self._file, self._size)
        lines = data[: self._size].splitlines()
        self.n = msgspec.json.decode(lines[-1], type=Event).n + 1 if lines else 0
        """Number of the next event."""

    def add(self, event: Event) -> Event:
        """Write an event down with its number and, where it has none, the time; returns it as written.

        Raises:
            OSError: if the disk is full and the reserved space is used up; no line is cut.
        """
        host = self._clock.mono_ns() if event.host_ns is None else event.host_ns
        event = msgspec.structs.replace(event, n=self.n, host_ns=host, wall=event.wall or self._clock.label())
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
        self._size += len(line)
        self.n += 1
        return event

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest as it is, ``interrupted`` where a session is open whose recorder is gone; None without one.

    Raises:
        UserError: if it cannot be read.
    """
    try:
        found: Manifest = read_json(folder / MANIFEST, Manifest)
    except UserError:
        if (folder / MANIFEST).exists():
            raise
        return None
    if found.state in _OPEN and holder_of(folder) is None:
        return msgspec.structs.replace(found, state="interrupted")
    return found


def save_manifest(folder: Path, manifest: Manifest, *, new: bool = False) -> None:
    """Write the manifest, unless somebody withdrew the recording meanwhile.

    Raises:
        WithdrawnError: if somebody did, or removed it (and it is not ``new``).
        UserError: if it cannot be written.
    """
    there = read_manifest(folder)
    if (there is None and not new) or (there is not None and there.state == "withdrawn"):
        raise WithdrawnError
    write_json(folder / MANIFEST, manifest)


def kept_files(folder: Path) -> tuple[KeptFile, ...]:
    """Return path, size and hash of what a finished session holds: raw files (the index can be made anew) and events."""
    paths = [p for p in sorted((folder / "raw").rglob("*")) if p.is_file() and not p.is_symlink()]
    paths = [p for p in paths if not p.name.startswith(".") and p.name != "index.npy"]
    paths += [p for name in (EVENTS, SCRIPT, TABLET_EVENTS) if (p := folder / name).is_file()]
    return tuple(
        KeptFile(path=p.relative_to(folder).as_posix(), bytes=p.stat().st_size, sha256=file_sha256(p))
        for p in paths
    )


def finish(folder: Path, manifest: Manifest, log: EventLog, state: State, reasons: Sequence[str]) -> Manifest:
    """Close a session on disk: salvage, indexes, the last event, hashes, manifest; returns that.

    Raises:
        WithdrawnError: see ``save_manifest``.
    """
    free_reserve(folder)
    empty = []
    for spec in manifest.streams:
        raw = folder / "raw" / spec.name
        raw.mkdir(parents=True, exist_ok=True)
        with stream_lock(folder, spec.name):
            if cut := salvage(raw):
                log.add(
                    Event(
                        n=0,
                        kind="warning",
                        stream=spec.name,
                        count=cut,
                        text="bytes of a cut sample were removed",
                    )
                )
            rows = len(write_index(raw)) if segment_files(raw) else 0
        others = [
            p for p in raw.iterdir() if p.is_file() and not p.name.startswith(("seg-", ".", "index.npy"))
        ]
        if spec.required and not rows and not others:
            empty.append(f"{spec.name} has nothing")
    begun = manifest.host_start_ns is not None
    if state == "stopped" and empty:
        state = "incomplete"
    state = state if begun else "planned"  # it was armed only: it can be recorded another time
    for lock in folder.glob(".lock-*"):
        lock.unlink()
    end = log.add(Event(n=0, kind="state", text=state)).host_ns
    log.close()
    if begun:
        reasons = (*manifest.reasons, *reasons, *empty)
        manifest = msgspec.structs.replace(
            manifest, host_end_ns=end, files=kept_files(folder), reasons=reasons
        )
    done = msgspec.structs.replace(manifest, state=state)
    save_manifest(folder, done)
    return done


def close_session(folder: Path, clock: Clock | None = None) -> Manifest:
    """Close an interrupted session with what is there, and return its manifest; one that is over stays as it is.

    Raises:
        UserError: if there is none, it never began, or a recorder is at it.
    """
    clock = clock or Clock()
    manifest = read_manifest(folder)
    if manifest is None:
        raise UserError("nothing was recorded here.", where=str(folder), hint="proctor capture record")
    if manifest.state not in (*_OPEN, "interrupted"):
        return manifest
    lease = Lease(folder, clock)
    try:
        log = EventLog(folder, clock)
        return finish(
            folder, manifest, log, "stopped", ("the recorder was gone; closed with what was there",)
        )
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
    elif folder.is_dir():
        shutil.rmtree(folder, ignore_errors=True)


# -- what a machine has left -------------------------------------------------------------------------------------


def byte_rate(spec: StreamSpec) -> float:
    """Return about how many bytes a second a stream brings, from what it says it is; 0 where nobody can tell."""
    pixels = spec.width * spec.height or 640 * 360
    rate = spec.rate_hz or 30.0
    sizes: dict[str, Callable[[], float]] = {
        "jpeg": lambda: 0.2 * pixels * rate,
        "png16": lambda: 1.2 * pixels * rate,
        "f4": lambda: (40 + 4 * len(spec.columns)) * spec.rate_hz,
        "s16": lambda: 2.0 * spec.sample_rate * max(spec.channels, 1),
        "packet": lambda: 1e6,
    }
    return sizes.get(spec.format, lambda: 0.0)()


def read_battery(folder: Path = Path("/sys/class/power_supply")) -> float | None:
    """Return percent of the fullest battery that is being used up; None without one, or on mains."""
    found = []
    with suppress(OSError):
        for supply in sorted(folder.iterdir()):
            with suppress(OSError, ValueError):
                if (supply / "type").read_text().strip() == "Battery" and (
                    supply / "status"
                ).read_text().strip() == "Discharging":
                    found.append(float((supply / "capacity").read_text()))
    return max(found, default=None)
