"""Work that no page waits for: it is done in a process of its own, and a later page shows what came of it.

A plan for a project of 100,000 items takes seconds of pure computing. A thread would take half of the interpreter from
everybody who saves meanwhile, and its memory would stay; a process does neither, and can be ended at any moment. Work has
a name; who asks for a name that is being worked on shares it. One is done after the other, and what nobody has asked for
in a while is dropped.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection as Pipe
from typing import Any, Final, NamedTuple

from proctor.errors import UserError
from proctor.said import say
from proctor.verify.desk.desk import Desk

__all__ = ["Apart", "Beside", "BrokenOffError", "Found", "Work"]

Work = Callable[..., Any]
"""A function of a module, called as ``work(desk, connection, *args)``; what it returns can be pickled."""

ABANDONED_SECONDS: Final = 30.0
"""Work that nobody has asked about for so long is dropped; pages look again every two seconds."""
KEPT_SECONDS: Final = 600.0
"""A result that nobody has asked about for so long is dropped."""
LONGEST_SECONDS: Final = 300.0
"""A process that takes longer hangs."""

_LOOK_SECONDS: Final = 0.1
_BUSY_SECONDS: Final = 30.0
_NICENESS: Final = 10


class BrokenOffError(UserError):
    """The work came to no end: its process was killed, hung, or hit a mistake of ours."""


class Found(NamedTuple):
    """What there is of some work.

    Attributes:
        value: what it returned; None before, or after a problem.
        at: when it was begun, seconds since 1970: the value knows everything that was said until then, at least.
        running: it is being worked on, or waits for its turn.
        problem: why it came to nothing.
        age: seconds since it ended; 0 before.
    """

    value: Any
    at: float
    running: bool
    problem: UserError | None
    age: float


class _DroppedError(Exception):
    """Nobody wants it any more."""


class Apart:
    """Does work in a process of its own, one at a time.

    Args:
        desk: whose store is read.
        longest_seconds: until the process counts as hanging.
    """

    def __init__(self, desk: Desk, longest_seconds: float) -> None:
        self._desk, self._longest = desk, longest_seconds
        self._changing = threading.Lock()
        self._process: Any = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Number of the process, None while there is none."""
        with self._changing:
            return self._process.pid if self._process is not None else None

    def close(self) -> None:
        """End what is being done."""
        with self._changing:
            self._closed = True
            if self._process is not None:
                self._process.kill()

    def run(self, work: Work, args: tuple[Any, ...], is_wanted: Callable[[], bool]) -> Any:
        """Return what came of some work.

        Args:
            work: see ``Work``.
            args: of it.
            is_wanted: asked all the time; the work is broken off when it is not.

        Raises:
            UserError: that the work raised, or ``BrokenOffError``.
        """
        database = self._desk.database
        url = database.engine.url.render_as_string(hide_password=False)
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(
            target=_work_apart,
            args=(theirs, database.place if database.is_sqlite else url, self._desk.seed, work, args),
            daemon=True,  # whoever ends this process ends that one, too
        )
        process.start()
        theirs.close()
        try:
            with self._changing:  # starting takes too long to hold the lock meanwhile: pages look
                if self._closed:
                    raise _DroppedError
                self._process = process
            return self._receive(ours, is_wanted)
        finally:
            with self._changing:
                self._process = None
            process.kill()
            process.join()
            process.close()
            ours.close()

    def _receive(self, pipe: Pipe, is_wanted: Callable[[], bool]) -> Any:
        until = time.monotonic() + self._longest
        while time.monotonic() < until:
            if not is_wanted():
                raise _DroppedError
            if pipe.poll(_LOOK_SECONDS):
                try:
                    fine, answer = pipe.recv()  # what our own process has packed
                except (EOFError, OSError):
                    if self._closed:
                        raise _DroppedError from None
                    raise BrokenOffError(say("The process that worked it out ended unexpectedly.")) from None
                if fine:
                    return answer
                raise answer
        raise BrokenOffError(
            say("It was not ready after {seconds:g} s, so it was stopped.", seconds=self._longest)
        )


@dataclass(slots=True, eq=False)
class _Job:
    name: str
    work: Work
    args: tuple[Any, ...]
    asked: float
    at: float
    running: bool = True
    value: Any = None
    problem: UserError | None = None
    ended: float = field(default=0.0)


class Beside:
    """Has work done beside the requests; may be used from many threads.

    Args:
        desk: whose store is read.
        abandoned_seconds: see ``ABANDONED_SECONDS``.
        kept_seconds: see ``KEPT_SECONDS``.
        longest_seconds: until a process counts as hanging.
    """

    def __init__(
        self,
        desk: Desk,
        *,
        abandoned_seconds: float = ABANDONED_SECONDS,
        kept_seconds: float = KEPT_SECONDS,
        longest_seconds: float = LONGEST_SECONDS,
    ) -> None:
        self._desk = desk
        self._abandoned, self._kept = abandoned_seconds, kept_seconds
        self._changed = threading.Condition()
        self._turn = threading.Lock()
        self._jobs: dict[str, _Job] = {}
        self._apart = Apart(desk, longest_seconds)
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Number of the process that is at work, None while there is none."""
        return self._apart.pid

    def look(self, name: str) -> Found | None:
        """Return what there is of the work of a name; None when nobody began it, or it was dropped."""
        with self._changed:
            self._tidy()
            job = self._jobs.get(name)
            if job is None:
                return None
            job.asked = time.monotonic()
            age = 0.0 if job.running else job.asked - job.ended
            return Found(job.value, job.at, job.running, job.problem, age)

    def begin(self, name: str, work: Work, *args: Any) -> None:
        """Have work done; what was known under this name goes, and what is being done already is shared.

        Args:
            name: of the work, with everything in it that it depends on beside the store.
            work: see ``Work``.
            *args: can be pickled.
        """
        with self._changed:
            self._tidy()
            now, known = time.monotonic(), self._jobs.get(name)
            if self._closed:
                return
            if known is not None and known.running:
                known.asked = now
                return
            job = self._jobs[name] = _Job(name, work, args, asked=now, at=self._desk.now())
        threading.Thread(target=self._run, args=(job,), name="proctor-beside", daemon=True).start()

    def forget(self, name: str) -> None:
        """Drop a result; work that is being done goes on."""
        with self._changed:
            job = self._jobs.get(name)
            if job is not None and not job.running:
                del self._jobs[name]

    def wait(self, name: str, seconds: float) -> bool:
        """Wait until work has ended; false when it still is being done. Waiting asks for it, too."""

        def over() -> bool:
            job = self._jobs.get(name)
            if job is not None:
                job.asked = time.monotonic()
            return job is None or not job.running

        until = time.monotonic() + seconds
        with self._changed:
            while not over():
                left = until - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(min(left, 1.0))
            return True

    def close(self) -> None:
        """End what is being done; nothing is begun any more."""
        with self._changed:
            self._closed = True
            self._apart.close()
            self._changed.notify_all()

    # -- a job ---------------------------------------------------------------------------------------------------

    def _tidy(self) -> None:
        now = time.monotonic()
        for name, job in list(self._jobs.items()):
            if not job.running and now - max(job.ended, job.asked) > self._kept:
                del self._jobs[name]

    def _is_wanted(self, job: _Job) -> bool:
        return not self._closed and time.monotonic() - job.asked <= self._abandoned

    def _run(self, job: _Job) -> None:
        value, problem = None, None
        try:
            value = self._in_turn(job)
        except _DroppedError:
            with self._changed:
                self._jobs.pop(job.name, None)
                job.running = False
                self._changed.notify_all()
            return
        except UserError as error:
            problem = error
        except Exception as error:  # whatever it is, the page must say so and not wait for ever
            problem = BrokenOffError(f"{type(error).__name__}: {error}")
        with self._changed:
            job.value, job.problem, job.running, job.ended = value, problem, False, time.monotonic()
            self._changed.notify_all()

    def _in_turn(self, job: _Job) -> Any:
        while not self._turn.acquire(timeout=_LOOK_SECONDS):
            if not self._is_wanted(job):
                raise _DroppedError
        try:
            job.at = self._desk.now()
            return self._apart.run(job.work, job.args, lambda: self._is_wanted(job))
        finally:
            self._turn.release()


def _work_apart(pipe: Pipe, target: str, seed: int, work: Work, args: tuple[Any, ...]) -> None:
    """Work in a process of its own, and send what came of it: ``True`` and the value, or ``False`` and the error."""
    with suppress(OSError):
        os.nice(_NICENESS)
    gc.disable()  # looking for cycles among so many objects takes an eighth of the time; all goes with the process
    answer: tuple[bool, Any]
    try:
        with Desk.open(target, secret=b"", create=False, seed=seed, busy_seconds=_BUSY_SECONDS) as desk:
            answer = True, desk.read(lambda connection: work(desk, connection, *args))
    except UserError as error:
        answer = False, error
    except Exception as error:  # told on the page; a traceback on the server's terminal helps nobody there
        answer = False, _broken_off(error)
    with suppress(OSError):
        try:
            pipe.send(answer)
        except OSError:
            raise
        except Exception as error:  # what came of it cannot be sent
            pipe.send((False, _broken_off(error)))


def _broken_off(error: Exception) -> BrokenOffError:
    return BrokenOffError(f"{type(error).__name__}: {error}")
