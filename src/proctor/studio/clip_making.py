"""Make the clips of one recording, in a process that may hang or crash without harm to the pages.

The recording is encoded once, as a proxy; each clip that begins with it is the beginning of that, copied
(``media.proxy``). One that begins later is encoded by itself. A clip is there when its ``.json`` is there, which is written last: a process that is killed leaves hidden files, or files without it.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final, Protocol, TypeVar

import msgspec

from proctor.errors import UserError
from proctor.media.probe import probe
from proctor.media.proxy import ProxyInfo, pictures_before, trim_proxy, write_poster, write_proxy
from proctor.records import atomic_write, canonical_json, file_sha256

__all__ = ["Clip", "Cut", "Done", "Failed", "Maker", "Progress", "Reply", "Task", "make_clips", "read_note"]

_START_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.2
"""From look to look whether work shall stop."""
_NICENESS: Final = 10
"""Encoding must not slow down the pages."""


class Clip(msgspec.Struct, frozen=True):
    """A clip that is there: ``<key>.mp4``, its first picture ``<key>.jpg``, and this as ``<key>.json``.

    Attributes:
        key: name of its files, 64 hexadecimal digits.
        frames: number of pictures.
        fps: pictures a second.
        width: pixels.
        height: pixels.
        sha256: of the video.
        poster_sha256: of the first picture.
        bytes: size of the video.
    """

    key: str
    frames: int
    fps: float
    width: int
    height: int
    sha256: str
    poster_sha256: str
    bytes: int

    @property
    def seconds(self) -> float:
        """How long it plays."""
        return self.frames / self.fps


class Cut(msgspec.Struct, frozen=True):
    """A clip that is wanted: its name, and the moments (seconds of the recording) at which it ends and begins.

    ``rate`` is its pictures a second where it is not cut from the recording's proxy but shows every frame of its own.
    """

    key: str
    end: float
    start: float = 0.0
    rate: tuple[int, int] | None = None

    @property
    def alone(self) -> bool:
        """Encoded by itself."""
        return self.start > 0 or self.rate is not None


class Task(msgspec.Struct, frozen=True):
    """Clips of one recording.

    Attributes:
        video: path of the recording.
        proxy: name of the files of its proxy.
        folder: where the clips go; proxies go to ``proxies`` in it.
        cuts: the clips.
        height: pixels of the picture.
        reserve_bytes: room on the disk that is left free.
    """

    video: str
    proxy: str
    folder: str
    cuts: tuple[Cut, ...]
    height: int
    reserve_bytes: int


class Progress(msgspec.Struct, frozen=True):
    """How far the encoding has come, from 0 to 1."""

    share: float


class Done(msgspec.Struct, frozen=True):
    """A clip is there."""

    clip: Clip


class Failed(msgspec.Struct, frozen=True):
    """A clip (all that are not done yet, when ``key`` is None) could not be made: what was seen and what to do."""

    key: str | None
    reason: str
    hint: str = ""


Reply = Progress | Done | Failed


class _ProxyNote(msgspec.Struct, frozen=True):
    """What is noted beside a proxy: pictures, a second's number of them, and whether the recording ends there."""

    frames: int
    fps: int
    whole: bool
    bytes: int


class _Noted(Protocol):
    @property
    def bytes(self) -> int: ...


T = TypeVar("T", bound=_Noted)


# -- making ----------------------------------------------------------------------------------------------------


def make_clips(task: Task, tell: Callable[[Reply], None]) -> None:
    """Make the clips of a task in this process and tell of each, and how the encoding comes along.

    Raises:
        UserError: if the recording cannot be read or encoded, or the disk is full; clips told of are there.
    """
    folder = Path(task.folder)
    proxy = folder / "proxies" / f"{task.proxy}.mp4"
    _keep_room(folder, task.reserve_bytes)
    if not all(cut.alone for cut in task.cuts):
        _make_proxy(task, proxy, tell)
    for cut in task.cuts:
        try:
            _keep_room(folder, task.reserve_bytes)
            tell(Done(_make_clip(task, proxy, folder, cut, tell)))
        except UserError as error:
            tell(Failed(cut.key, error.message, error.hint or ""))


def _make_proxy(task: Task, proxy: Path, tell: Callable[[Reply], None]) -> None:
    """Encode the recording up to its latest clip; when more is wanted later, to its end: at most twice."""
    latest = max(cut.end for cut in task.cuts if not cut.alone)
    note = read_note(proxy, _ProxyNote)
    if note is not None and (note.whole or note.frames >= pictures_before(latest, note.fps)):
        return
    end = latest if note is None else None
    info = _encode(task, proxy, 0.0, end, tell)
    fps = round(info.fps)
    whole = end is None or info.frames < pictures_before(end, fps)
    _write_note(proxy, _ProxyNote(info.frames, fps, whole, proxy.stat().st_size))


def _encode(
    task: Task,
    target: Path,
    start: float,
    end: float | None,
    tell: Callable[[Reply], None],
    fps: Fraction | int = 30,
) -> ProxyInfo:
    length = (end or probe(task.video).duration or 0.0) - start

    def seen(seconds: float) -> None:
        _keep_room(target.parent, task.reserve_bytes)
        tell(Progress(min(1.0, seconds / length) if length else 0.0))

    before = _state(task.video)
    info = write_proxy(task.video, target, task.height, start=start, end=end, fps=fps, seen=seen)
    if _state(task.video) != before:
        target.unlink(missing_ok=True)
        raise UserError(
            "the recording changed while it was read.",
            where=task.video,
            hint="wait until it is copied, then try again",
        )
    return info


def _state(video: str) -> tuple[int, int]:
    state = Path(video).stat()
    return state.st_size, state.st_mtime_ns


def _make_clip(task: Task, proxy: Path, folder: Path, cut: Cut, tell: Callable[[Reply], None]) -> Clip:
    video, poster = folder / f"{cut.key}.mp4", folder / f"{cut.key}.jpg"
    if cut.alone:
        fps = Fraction(*cut.rate) if cut.rate else 30
        info = _encode(task, video, cut.start, cut.end, tell, fps)
    else:
        info = trim_proxy(proxy, video, cut.end)
    _flush(video)
    write_poster(video, poster)
    clip = Clip(
        cut.key,
        info.frames,
        info.fps,
        info.width,
        info.height,
        file_sha256(video),
        file_sha256(poster),
        video.stat().st_size,
    )
    _write_note(video, clip)
    return clip


def _keep_room(folder: Path, reserve: int) -> None:
    """Refuse to fill the disk: people's work is stored on it too.

    Raises:
        UserError: when less than ``reserve`` bytes are free.
    """
    free = shutil.disk_usage(folder).free
    if free < reserve:
        raise UserError(
            f"the disk is nearly full: {free / 1e6:,.0f} MB are free, and {reserve / 1e6:,.0f} MB are kept for "
            "people's work.",
            where=str(folder),
            hint="free some space, then try again",
        )


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write_note(video: Path, note: object) -> None:
    with atomic_write(video.with_suffix(".json")) as stream:
        stream.write(canonical_json(note))


def read_note(video: Path, type_: type[T]) -> T | None:
    """Return what is noted beside a video; None if it or the video is not there, or does not fit the other."""
    try:
        note = msgspec.json.decode(video.with_suffix(".json").read_bytes(), type=type_)
        return note if video.stat().st_size == note.bytes else None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


# -- the process -----------------------------------------------------------------------------------------------


def _work(pipe: Connection) -> None:
    """Do tasks until the pipe is closed (runs in the child process)."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C goes to the whole group; the parent says when to stop
    with suppress(OSError, AttributeError):
        os.nice(_NICENESS)
    with suppress(OSError, EOFError):  # the parent has gone
        pipe.send(None)
        while True:
            task: Task = pipe.recv()
            try:
                make_clips(task, pipe.send)
            except UserError as error:
                pipe.send(Failed(None, error.message, error.hint or ""))
            except (BrokenPipeError, EOFError):
                return
            except Exception as error:  # whatever a hostile file causes must not stop the others
                pipe.send(Failed(None, f"{type(error).__name__}: {error}", "report this recording"))
            pipe.send(None)


class Maker:
    """A child process that does one task after another and is replaced when it hangs or dies.

    Args:
        stall_seconds: without a word from it until it counts as hanging.
    """

    def __init__(self, stall_seconds: float = 120.0) -> None:
        self._stall = stall_seconds
        self._context = multiprocessing.get_context("spawn")
        self._pipe: Connection | None = None
        self._process: multiprocessing.process.BaseProcess | None = None

    @property
    def pid(self) -> int | None:
        """Number of the process, None while there is none."""
        return self._process.pid if self._process is not None else None

    def run(self, task: Task, stopped: Callable[[], bool] = lambda: False) -> Iterator[Reply]:
        """Yield what becomes of a task, as it does; whatever happens, it ends.

        Args:
            task: what to make.
            stopped: asked often; when it says yes, the process is ended and nothing more is told.
        """
        try:
            pipe = self._pipe or self._start()
            pipe.send(task)
            while self._wait(pipe, stopped):
                reply: Reply | None = pipe.recv()
                if reply is None:
                    return
                yield reply
            if not stopped():
                yield Failed(
                    None,
                    f"nothing happened for {self._stall:g} s, so it was stopped.",
                    "is the recording damaged, or on a slow disk?",
                )
        except (EOFError, OSError):
            yield Failed(
                None,
                "the process that makes clips ended unexpectedly.",
                "is there enough memory? Then the recording may be damaged",
            )
        self.stop()

    def _wait(self, pipe: Connection, stopped: Callable[[], bool]) -> bool:
        """Wait for a word from the process; false when there is none or work shall stop."""
        until = time.monotonic() + self._stall
        while not stopped() and time.monotonic() < until:
            if pipe.poll(_LOOK_SECONDS):
                return True
        return False

    def _start(self) -> Connection:
        pipe, theirs = self._context.Pipe()
        self._process = self._context.Process(target=_work, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._pipe = pipe
        if not pipe.poll(_START_SECONDS):
            raise EOFError
        pipe.recv()
        return pipe

    def stop(self) -> None:
        """End the process at once; what it was making does not appear."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process.close()
        if self._pipe is not None:
            self._pipe.close()
        self._pipe = self._process = None
