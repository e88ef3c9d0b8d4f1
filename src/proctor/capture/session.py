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
import numpy as np
from msgspec.structs import replace

from proctor.capture.clock import Clock
from proctor.capture.records import EVENTS, MANIFEST, SCRIPT, TABLET_EVENTS, Event, KeptFile, Manifest, State
from proctor.capture.segments import load_index, salvage
from proctor.errors import UserError
from proctor.records import append_jsonl, file_sha256, read_json, write_json

__all__ = [
    "RESERVE", "EventLog", "Lease", "WithdrawnError", "close_session", "disk_full", "finish", "free_reserve",
    "holder_of", "read_battery", "read_manifest", "reserve", "save_manifest", "settle", "stream_lock", "wipe",
]  # fmt: skip

RESERVE: Final = "reserve.bin"
_LEASE: Final = ".lease"


class WithdrawnError(Exception):
    """The participant was withdrawn while the session ran: nothing of it is kept."""


def disk_full(error: BaseException | None) -> bool:
    """Tell whether an error says that a disk or a quota is full."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds a lease: the process, the boot of its machine, the socket it listens at."""

    pid: int
    boot: str
    socket: str = ""


class Lease:
    """The right to record into a folder; the system ends it with the process, however that dies.

    ``UserError`` if another recorder holds it, or a session ``goes_on`` and the machine was started anew:
    monotonic time begins anew then.
    """

    def __init__(self, folder: Path, socket: str = "", *, goes_on: bool = False) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        before, self._path, boot = holder_of(folder, live=False), folder / _LEASE, ""
        with suppress(OSError):
            boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        if goes_on and before is not None and before.boot != boot:
            said, hint = "the machine was restarted since, and its clock with it.", "--close ends it"
            raise UserError(said, where=str(folder), hint=f"{hint}; record the rest as another one")
        self._file = self._path.open("ab", buffering=0)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            said = f"another recorder (process {before.pid if before else '?'}) is recording this."
            raise UserError(said, where=str(folder), hint="stop that one first") from None
        self._file.truncate(0)
        self._file.write(msgspec.json.encode(Holder(pid=os.getpid(), boot=boot, socket=socket)))

    def release(self, *, remove: bool) -> None:
        """Give it back; ``remove`` once the session is over."""
        if remove:
            self._path.unlink(missing_ok=True)
        self._file.close()


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
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    said, where = "another process still writes this stream.", f"{folder}: {stream}"
                    hint = "wait, or end its proctor.capture.host"
                    raise UserError(said, where=where, hint=hint) from None
                time.sleep(0.05)
        yield


def reserve(folder: Path, size: int) -> None:
    """Set space aside, for the events of a session whose disk is full; raises ``UserError`` if there is not that much."""
    try:
        (folder / RESERVE).write_bytes(bytes(size))
    except OSError as error:
        raise UserError(f"there is no space: {error.strerror}", where=str(folder), hint="free some") from None


def free_reserve(folder: Path) -> bool:
    """Give the reserved space back; False where there is none any more."""
    with suppress(OSError):
        (folder / RESERVE).unlink()
        return True
    return False


class EventLog:
    """``events.jsonl``: each line on disk before ``add`` returns; what a crash cut is cut off. ``UserError`` if it is broken."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._folder, self._clock = folder, clock
        with (folder / EVENTS).open("a+b") as file:
            file.seek(0)
            data = file.read()
            file.truncate(whole := data.rfind(b"\n") + 1)
        lines = data[:whole].splitlines() or [b'{"n":-1,"kind":"mark","host_ns":0}']
        try:
            last = msgspec.json.decode(lines[-1], type=Event)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            where, hint = f"{folder / EVENTS}: line {len(lines)}", "take this line out"
            raise UserError(f"the last event cannot be read: {error}.", where=where, hint=hint) from None
        self._n, self.last_ns = last.n + 1, last.host_ns or 0

    def add(self, event: Event) -> Event:
        """Return an event as written, with number and times; ``UserError`` if no reserved space is left."""
        host = self._clock.mono_ns() if event.host_ns is None else event.host_ns
        event = replace(event, n=self._n, host_ns=host, wall=event.wall or self._clock.label())
        try:
            append_jsonl(self._folder / EVENTS, event)
        except UserError as error:
            if not (disk_full(error.__cause__) and free_reserve(self._folder)):
                raise
            append_jsonl(self._folder / EVENTS, event)
        self._n, self.last_ns = self._n + 1, host
        return event


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest, ``interrupted`` where its recorder is gone; None without one. Raises ``UserError`` if it is broken."""
    if not (folder / MANIFEST).exists():
        return None
    found: Manifest = read_json(folder / MANIFEST, Manifest)
    gone = found.state in ("armed", "recording") and holder_of(folder) is None
    return replace(found, state="interrupted") if gone else found


def save_manifest(folder: Path, manifest: Manifest, *, new: bool = False) -> None:
    """Write the manifest; ``WithdrawnError`` if it was withdrawn, or removed (and is not ``new``)."""
    there = read_manifest(folder)
    if (there is None and not new) or (there is not None and there.state == "withdrawn"):
        raise WithdrawnError
    write_json(folder / MANIFEST, manifest)


def settle(folder: Path, stream: str, log: EventLog) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    """Close what a process of before left of a stream, and return its index; raises as ``stream_lock``."""
    raw = folder / "raw" / stream
    raw.mkdir(parents=True, exist_ok=True)
    with stream_lock(folder, stream):
        if cut := salvage(raw):
            text = "bytes of a cut sample were removed"
            log.add(Event(n=0, kind="warning", stream=stream, count=cut, text=text))
        return load_index(raw)


def finish(folder: Path, manifest: Manifest, log: EventLog, state: State, reasons: Sequence[str]) -> Manifest:
    """Close a session on disk: salvage, indexes, hashes, manifest; raises as ``save_manifest``."""
    free_reserve(folder)
    empty = []
    for spec in manifest.streams:
        rows, paths = settle(folder, spec.name, log), list((folder / "raw" / spec.name).iterdir())
        if spec.required and not len(rows) and all(p.name[:4] in ("seg-", "inde") for p in paths):
            empty.append(f"{spec.name} has nothing")
        (folder / f".lock-{spec.name}").unlink()
    if manifest.host_start_ns is None:
        state = "planned"  # it was armed only, and can be recorded another time
    elif state == "stopped" and empty:
        state = "incomplete"
    end = log.add(Event(n=0, kind="state", text=state)).host_ns
    if state != "planned":
        paths = [folder / name for name in (EVENTS, SCRIPT, TABLET_EVENTS)]
        paths += [
            p for p in (folder / "raw").rglob("*") if not p.name.startswith(".") and p.name != "index.npy"
        ]
        files = tuple(
            KeptFile(path=p.relative_to(folder).as_posix(), bytes=p.stat().st_size, sha256=file_sha256(p))
            for p in sorted(paths)
            if p.is_file() and not p.is_symlink()
        )  # the index can be made anew
        why = (*manifest.reasons, *reasons, *empty)
        manifest = replace(manifest, host_end_ns=end, files=files, reasons=why)
    save_manifest(folder, manifest := replace(manifest, state=state))
    return manifest


def close_session(folder: Path, clock: Clock | None = None) -> Manifest:
    """Close an interrupted session with what is there; others stay. ``UserError`` if there is none."""
    manifest = read_manifest(folder)
    if manifest is None:
        raise UserError("nothing was recorded here.", where=str(folder), hint="proctor capture record")
    if manifest.state not in ("armed", "recording", "interrupted"):
        return manifest
    lease = Lease(folder)
    try:
        why = ["the recorder was gone; closed with what was there"]
        return finish(folder, manifest, EventLog(folder, clock or Clock()), "stopped", why)
    finally:
        lease.release(remove=True)


def wipe(folder: Path) -> None:
    """Remove all of a withdrawn recording but its manifest; others may do so meanwhile."""
    if (found := read_manifest(folder)) is None:
        return shutil.rmtree(folder, ignore_errors=True)
    write_json(folder / MANIFEST, replace(found, state="withdrawn", streams=(), files=()))
    for path in sorted(folder.rglob("*"), reverse=True):
        with suppress(FileNotFoundError):
            if path.is_dir() and not path.is_symlink():
                path.rmdir()
            elif path != folder / MANIFEST:
                path.unlink()
    return None


def read_battery(folder: Path = Path("/sys/class/power_supply")) -> float | None:
    """Return percent of the fullest battery that is being used up; None without one, or on mains."""
    found = []
    for supply in sorted(folder.iterdir()) if folder.is_dir() else ():
        with suppress(OSError, ValueError):
            kind, status = ((supply / name).read_text().strip() for name in ("type", "status"))
            if (kind, status) == ("Battery", "Discharging"):
                found.append(float((supply / "capacity").read_text()))
    return max(found, default=None)
