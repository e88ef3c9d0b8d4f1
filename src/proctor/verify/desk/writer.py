"""One writer for many: queued writes share a transaction and its flush to disk.

A flush costs milliseconds, a write some hundred microseconds. Writes that wait while another transaction is being
flushed go into the next one together. One that fails takes nobody with it: on SQLite each is inside a savepoint of its
own; on PostgreSQL, where every statement is a way there and back, they share the transaction without, and only when one
of them fails all are done again with savepoints. A write is acknowledged only when its transaction is on disk.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from queue import Empty, SimpleQueue
from typing import Any, Final, NamedTuple, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, IntegrityError

from proctor.database import Database, NoTurnError, forget_known
from proctor.errors import UserError
from proctor.said import say

__all__ = ["Writer"]

T = TypeVar("T")

MOST_TOGETHER: Final = 64
"""Writes in one transaction: more would let the first of them wait for the last."""


class _Job(NamedTuple):
    write: Callable[[Connection], Any]
    done: Future[Any]


class Writer:
    """A thread that does all writing of this process.

    Args:
        database: where to.
        first: asks at the beginning of each transaction what most writes need.
    """

    def __init__(self, database: Database, first: Callable[[Connection], None] | None = None) -> None:
        self._database = database
        self._first = first
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._closed = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="proctor-writer", daemon=True)
        self._thread.start()

    def submit(self, write: Callable[[Connection], T]) -> Future[T]:
        """Queue a write; the future ends when it is on disk, or with the error that it raised.

        Args:
            write: gets a connection in a writing transaction. It may run again when it or another that shared its
                transaction fails, and must have no effect but on the connection.
        """
        done: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise UserError(say("the store is closed."), hint=say("start the studio again"))
            self._jobs.put(_Job(write, done))
        return done

    def close(self) -> None:
        """Finish what was queued and stop."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while True:
            first = self._jobs.get()
            if first is None:
                return
            jobs, last = self._gather(first)
            try:
                self._write_together(jobs)
            except Exception as error:  # a thread that dies would leave everybody waiting
                _fail(jobs, error)
            if last:
                return

    def _gather(self, first: _Job) -> tuple[list[_Job], bool]:
        jobs = [first]
        while len(jobs) < MOST_TOGETHER:
            try:
                job = self._jobs.get_nowait()
            except Empty:
                break
            if job is None:
                return jobs, True
            jobs.append(job)
        return jobs, False

    def _write_together(self, jobs: list[_Job]) -> None:
        if len(jobs) == 1:
            self._write_alone(jobs[0])
        elif self._database.is_sqlite or not self._write_at_once(jobs):
            self._write_apart(jobs)

    def _write_at_once(self, jobs: list[_Job]) -> bool:
        """Write in one transaction without savepoints; false, and nothing is written, if any of them failed."""
        try:
            with self._begin(deferred=True) as connection:
                values = [job.write(connection) for job in jobs]
        except NoTurnError as failure:
            _fail(jobs, failure)  # another try would wait as long again
            return True
        except Exception:
            return False
        for job, value in zip(jobs, values, strict=True):
            _settle(job, value, None)
        return True

    def _write_apart(self, jobs: list[_Job]) -> None:
        """Write in one transaction, each in a savepoint of its own."""
        outcomes: list[tuple[_Job, Any, Exception | None]] = []
        begun = False
        try:
            with self._begin() as connection:
                begun = True
                outcomes.extend(_in_savepoint(connection, job) for job in jobs)
        except UserError as failure:
            if not begun:  # Nobody's turn came in time: each on its own would wait as long again.
                _fail(jobs, failure)
                return
            # The database failed, and with it everybody; each tries once more on its own, so that one write which
            # the database cannot take does not refuse the others.
            for job in jobs:
                self._write_alone(job)
            return
        for job, value, error in outcomes:
            _settle(job, value, error)

    def _begin(self, *, deferred: bool = False) -> AbstractContextManager[Connection]:
        return self._database.transaction(write=True, deferred=deferred, first=self._first)

    def _write_alone(self, job: _Job) -> None:
        try:
            with self._begin(deferred=True) as connection:
                value = job.write(connection)
        except Exception as error:
            _settle(job, None, error)
        else:
            _settle(job, value, None)


def _in_savepoint(connection: Connection, job: _Job) -> tuple[_Job, Any, Exception | None]:
    connection.exec_driver_sql("SAVEPOINT proctor_job")
    try:
        value = job.write(connection)
    except Exception as error:
        if isinstance(error, DBAPIError) and not isinstance(error, IntegrityError):
            raise
        connection.exec_driver_sql("ROLLBACK TO SAVEPOINT proctor_job")
        forget_known(connection)
        connection.exec_driver_sql("RELEASE SAVEPOINT proctor_job")
        return job, None, error
    connection.exec_driver_sql("RELEASE SAVEPOINT proctor_job")
    return job, value, None


def _settle(job: _Job, value: Any, error: Exception | None) -> None:
    if not job.done.set_running_or_notify_cancel():
        return  # who asked has gone; what was written stays
    if error is None:
        job.done.set_result(value)
    else:
        job.done.set_exception(error)


def _fail(jobs: list[_Job], error: Exception) -> None:
    for job in jobs:
        if not job.done.done():
            _settle(job, None, error)
