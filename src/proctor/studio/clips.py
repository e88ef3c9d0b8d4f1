"""The clips that people see: made once, by processes of their own, and found again by what they are made from.

A clip shows a recording from its beginning (or, of a question about a part of it, from the start of that) to the moment of a
question and ends there. Its key is the SHA-256 of the recording's identity (path, size, time of change), the picture number
at which it ends, the second at which it begins and how it is made: two questions at one moment share a clip, and a recording that was replaced
gets new ones.

Everything that was asked for one recording while it is worked on waits for the same job. Somebody who waits in front
of a page comes before what is prepared ahead. Nothing is kept in a database: what is in the folder is there.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from proctor.errors import UserError
from proctor.media.proxy import pictures_before
from proctor.media.source import import_av, local_file
from proctor.records import canonical_json
from proctor.studio.clip_making import Clip, Cut, Done, Maker, Progress, Reply, Task, read_note

__all__ = ["ClipShop", "ClipState", "Preparation"]

_FORMAT: Final = 1
"""Raised when clips are made in another way, so that old ones are not taken for new ones."""
_FPS: Final = 30
_LOCK: Final = ".lock"
_LOOK_SECONDS: Final = 0.5


class ClipState(msgspec.Struct, frozen=True):
    """Where a clip stands.

    Attributes:
        state: ``ready``, ``making`` (or waiting for it) or ``failed``.
        clip: when it is ready.
        progress: of the encoding, 0 to 1.
        reason: what went wrong, when it failed.
        hint: what can be done about it.
    """

    state: Literal["ready", "making", "failed"]
    clip: Clip | None = None
    progress: float = 0.0
    reason: str = ""
    hint: str = ""


class Preparation(msgspec.Struct, frozen=True):
    """How far ``prepare_all`` has come.

    Attributes:
        ready: clips that are there.
        failed: clips that could not be made.
        total: clips that were asked for, those of one moment counted once.
        share: work done, 0 to 1, with the encoding under way counted in part.
        failures: what went wrong: recording, moment (seconds), reason.
    """

    ready: int
    failed: int
    total: int
    share: float
    failures: tuple[tuple[str, float, str], ...] = ()


@dataclass
class _Job:
    """What is wanted of one recording."""

    video: str
    waiting: dict[str, Cut] = field(default_factory=dict)
    making: dict[str, Cut] = field(default_factory=dict)
    urgent: bool = False
    progress: float = 0.0


@dataclass(frozen=True)
class _Failure:
    reason: str
    hint: str
    at: float


class ClipShop:
    """Finds clips and has them made.

    Args:
        folder: where clips are kept; nothing else belongs into it. May be deleted while no studio runs.
        height: pixels of the picture (smaller recordings keep their size).
        workers: processes that encode at the same time.
        reserve_bytes: room on the disk that is left free for people's work.
        stall_seconds: without progress until an encoding is given up.
        retry_seconds: after which a clip that failed is tried again when somebody asks for it.

    Raises:
        UserError: if the folder cannot be made or written.
    """

    def __init__(
        self,
        folder: Path,
        *,
        height: int = 480,
        workers: int = 1,
        reserve_bytes: int = 500_000_000,
        stall_seconds: float = 120.0,
        retry_seconds: float = 300.0,
    ) -> None:
        self.folder = folder
        self._height, self._workers = height, workers
        self._reserve, self._stall, self._retry = reserve_bytes, stall_seconds, retry_seconds
        self._changed = threading.Condition()
        self._jobs: dict[str, _Job] = {}
        self._job_of: dict[str, str] = {}
        self._running: set[str] = set()
        self._failed: dict[str, _Failure] = {}
        self._ready: dict[str, Clip] = {}
        self._threads: list[threading.Thread] = []
        self._closed = False
        try:
            (folder / "proxies").mkdir(parents=True, exist_ok=True)
            self._lock = _hold(folder)
        except OSError as error:
            raise UserError(
                f"clips cannot be kept here: {error.strerror or error}.",
                where=str(folder),
                hint="check permissions, or name another folder",
            ) from None

    # asking

    def key(
        self, video: str | os.PathLike[str], end: float, start: float = 0.0, rate: Fraction | None = None
    ) -> str:
        """Return the name of a clip: 64 hexadecimal digits.

        Raises:
            UserError: if the recording is not there, or it is not 0 <= ``start`` < ``end``.
        """
        return self._keys(video, end, start, rate)[1]

    def ask(
        self,
        video: str | os.PathLike[str],
        end: float,
        start: float = 0.0,
        *,
        rate: Fraction | None = None,
        urgent: bool = True,
        retry: bool = False,
    ) -> ClipState:
        """Say where the clip of ``[start, end)`` seconds stands, and have it made when it is not there; never waits for it.

        Args:
            video: the recording.
            end: the question's moment, seconds.
            start: of what is asked about, seconds.
            rate: frames a second of the recording, where each of its frames has to be a picture of the clip.
            urgent: somebody waits in front of a page; what is made ahead of that comes later.
            retry: try again at once what failed before.
        """
        rate = None if rate == _FPS else rate  # the proxy has each frame, and may be there
        return self._ask(video, end, start, rate, urgent=urgent, retry=retry)

    def wait(
        self, video: str | os.PathLike[str], end: float, timeout: float, *, start: float = 0.0
    ) -> ClipState:
        """As ``ask``, but wait up to ``timeout`` seconds while it is made."""
        until = time.monotonic() + timeout
        state = self.ask(video, end, start)
        while state.state == "making" and (left := until - time.monotonic()) > 0:
            with self._changed:
                self._changed.wait(min(left, 1.0))
            state = self.ask(video, end, start)
        return state

    def prepare_all(
        self,
        wanted: Iterable[tuple[Any, ...]],
        *,
        seen: Callable[[Preparation], None] | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Preparation:
        """Have many clips made and wait for them; those that are there are not made again.

        Each recording is encoded once, up to the latest moment that is asked of it.

        Args:
            wanted: recordings with moments (seconds) at which a clip ends, at which it begins if not with the recording, and
                its frames a second where each frame has to be shown.
            seen: called when something has changed, in this thread (for progress bars).
            stopped: asked often; when it says yes, what has begun goes on without being waited for.

        Returns:
            How far it came in the end.
        """
        spans = [(os.fspath(video), end, *more, *(0.0, None)[len(more) :]) for video, end, *more in wanted]
        with self._changed:  # nobody begins before all moments of a recording are known
            states = {s: self._ask(*s, urgent=False, retry=True) for s in dict.fromkeys(spans)}
        unique = {self._name(*span): span for span in states}
        standing = {key: states[span] for key, span in unique.items()}
        told: Preparation | None = None
        while True:
            for key, span in unique.items():
                if standing[key].state == "making":
                    standing[key] = self._standing(key) or states[span]
            now = _preparation(standing, unique)
            if now != told and seen is not None:
                seen(now)
            told = now
            if now.ready + now.failed == now.total or stopped() or self._closed:
                return now
            with self._changed:
                self._changed.wait(_LOOK_SECONDS)

    def close(self) -> None:
        """Stop all work at once; what is half done does not appear."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> ClipShop:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # what is known

    def _keys(
        self, video: str | os.PathLike[str], end: float, start: float, rate: Fraction | None = None
    ) -> tuple[str, str]:
        """Return the names of a recording's proxy and of a clip of it."""
        av = import_av()
        if not 0 <= start < end < 1e6:  # (false for NaN)
            what = f"a clip cannot end at {end} s" + (f" when it begins at {start} s." if start else ".")
            raise UserError(what, where=os.fspath(video), hint="give seconds above 0")
        try:
            file = local_file(video)
            state = file.stat()
        except (OSError, ValueError) as error:  # it went away just now, or its name cannot be one
            raise UserError(f"cannot be opened: {error}.", where=repr(os.fspath(video))) from None
        proxy = _sha256(
            [_FORMAT, av.__version__, self._height, os.fsencode(file).hex(), state.st_size, state.st_mtime_ns]
        )
        if rate is not None:
            return proxy, _sha256([proxy, end, start, rate.numerator, rate.denominator])
        last = pictures_before(end, _FPS)
        return proxy, _sha256([proxy, last, start] if start else [proxy, last])

    def _name(self, video: str, end: float, start: float, rate: Fraction | None) -> str:
        try:
            return self._keys(video, end, start, rate)[1]
        except UserError:
            return f"{video}\0{end}\0{start}"

    def _ask(
        self,
        video: str | os.PathLike[str],
        end: float,
        start: float,
        rate: Fraction | None = None,
        *,
        urgent: bool,
        retry: bool,
    ) -> ClipState:
        try:
            proxy, key = self._keys(video, end, start, rate)
        except UserError as error:
            return ClipState("failed", reason=error.message, hint=error.hint or "")
        with self._changed:
            failure = self._failed.get(key)
            if failure is not None and (retry or time.monotonic() - failure.at > self._retry):
                del self._failed[key]
            standing = self._standing(key)
            if standing is not None:
                job = self._jobs.get(proxy)
                if job is not None and standing.state == "making":
                    job.urgent = job.urgent or urgent
                return standing
            if self._closed:
                return ClipState("failed", reason="the studio is closing.")
            job = self._jobs.setdefault(proxy, _Job(os.fspath(video)))
            job.waiting[key] = Cut(key, end, start, rate.as_integer_ratio() if rate else None)
            self._job_of[key] = proxy
            job.urgent = job.urgent or urgent
            self._hire()
            self._changed.notify_all()
            return ClipState("making", progress=job.progress)

    def _standing(self, key: str) -> ClipState | None:
        """Return where a clip stands; None when nobody has asked for it and it is not there."""
        with self._changed:
            job = self._jobs.get(self._job_of.get(key, ""))
            if job is not None and (key in job.making or key in job.waiting):
                return ClipState("making", progress=job.progress if key in job.making else 0.0)
            failure = self._failed.get(key)
            if failure is not None:
                return ClipState("failed", reason=failure.reason, hint=failure.hint)
            clip = self._found(key)
            return ClipState("ready", clip, 1.0) if clip is not None else None

    def _found(self, key: str) -> Clip | None:
        video = self.folder / f"{key}.mp4"
        known = self._ready.get(key)
        if known is not None:
            with suppress(OSError):
                if video.stat().st_size == known.bytes and video.with_suffix(".jpg").is_file():
                    return known
            del self._ready[key]
        clip = read_note(video, Clip)
        if clip is None or not video.with_suffix(".jpg").is_file():
            return None
        self._ready[key] = clip
        return clip

    # working

    def _hire(self) -> None:
        """Start a thread for the next job when all are at work."""
        if len(self._threads) < min(self._workers, len(self._jobs)):
            name = f"clips-{len(self._threads)}"
            thread = threading.Thread(target=self._serve, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self) -> None:
        maker = Maker(self._stall)
        try:
            while (found := self._next()) is not None:
                proxy, video, cuts = found
                task = Task(
                    os.path.abspath(video),  # noqa: PTH100 - resolve() raises on symlink loops
                    proxy,
                    str(self.folder.absolute()),
                    cuts,
                    self._height,
                    self._reserve,
                )
                for reply in maker.run(task, lambda: self._closed):
                    self._note(proxy, reply)
                self._finish(proxy)
        finally:
            maker.stop()

    def _next(self) -> tuple[str, str, tuple[Cut, ...]] | None:
        """Wait for a job that nobody works on and take it; None when the shop closes."""
        with self._changed:
            while not self._closed:
                free = [name for name, job in self._jobs.items() if name not in self._running and job.waiting]
                if free:
                    name = min(free, key=lambda n: not self._jobs[n].urgent)
                    job = self._jobs[name]
                    self._running.add(name)
                    job.making, job.waiting, job.progress = job.waiting, {}, 0.0
                    return name, job.video, tuple(sorted(job.making.values(), key=lambda cut: cut.end))
                self._changed.wait()
        return None

    def _note(self, proxy: str, reply: Reply) -> None:
        with self._changed:
            job = self._jobs[proxy]
            if isinstance(reply, Progress):
                job.progress = reply.share
            elif isinstance(reply, Done):
                self._ready[reply.clip.key] = reply.clip
                job.making.pop(reply.clip.key, None)
            else:
                for key in [reply.key] if reply.key is not None else list(job.making):
                    self._failed[key] = _Failure(reply.reason, reply.hint, time.monotonic())
                    job.making.pop(key, None)
            self._changed.notify_all()

    def _finish(self, proxy: str) -> None:
        with self._changed:
            self._running.discard(proxy)
            job = self._jobs.pop(proxy)
            self._job_of = {
                key: name for key, name in self._job_of.items() if name in self._jobs or key in job.waiting
            }
            job.making, job.urgent = {}, job.urgent and bool(job.waiting)
            if job.waiting:  # asked for meanwhile: behind the others
                self._jobs[proxy] = job
            self._changed.notify_all()


def _preparation(standing: dict[str, ClipState], spans: dict[str, tuple[Any, ...]]) -> Preparation:
    states: Sequence[ClipState] = list(standing.values())
    ready = sum(s.state == "ready" for s in states)
    failures = tuple((*spans[key][:2], s.reason) for key, s in standing.items() if s.state == "failed")
    part = sum(s.progress for s in states if s.state == "making")
    share = (ready + len(failures) + part) / len(states) if states else 1.0
    return Preparation(ready, len(failures), len(states), round(share, 4), failures)


def _sha256(value: object) -> str:
    return hashlib.sha256(canonical_json(value)).hexdigest()


# -- the folder ------------------------------------------------------------------------------------------------


def _hold(folder: Path) -> int | None:
    """Say that this process uses the folder; whoever comes first clears away what killed processes left.

    Returns:
        The handle that keeps the lock, None where the system has none.
    """
    if sys.platform == "win32":
        _clear(folder)
        return None
    import fcntl

    handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _clear(folder)
    except BlockingIOError:
        pass  # another studio works here: what looks left over may be its own
    fcntl.flock(handle, fcntl.LOCK_SH)
    return handle


def _clear(folder: Path) -> None:
    """Remove hidden files and folders, and videos and pictures without their note."""
    for place in (folder, folder / "proxies"):
        for entry in list(place.iterdir()):
            hidden = entry.name.startswith(".") and entry.name != _LOCK
            unfinished = entry.suffix in (".mp4", ".jpg") and not entry.with_suffix(".json").exists()
            if hidden and entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            elif hidden or unfinished:
                with suppress(OSError):
                    entry.unlink()
