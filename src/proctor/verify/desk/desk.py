"""The desk: one store, its writer, and the clock and secret that its rules need.

Every function of this room takes a ``Desk`` and a connection and does its work inside the caller's transaction::

    with Desk.open(path, secret=secret) as desk:
        desk.write(lambda c: people.add(desk, c, handle="ana", name="Ana", role="annotator", actor="owner")).result()
        found = desk.read(lambda c: people.by_handle(desk, c, "ana"))
"""

from __future__ import annotations

import base64
import secrets
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from sqlalchemy import Connection

from proctor.database import Database, ask_along
from proctor.verify.desk.writer import Writer
from proctor.verify.store import BUSY_SECONDS, VERDICTS

__all__ = ["Desk", "new_pid"]

T = TypeVar("T")


def _look_first(connection: Connection) -> None:
    """Ask once for all writes of a transaction what nearly each of them needs."""
    from proctor.verify.desk import documents, events  # they know the desk

    ask_along(connection, events.head(), {}, lambda rows: events.note_head(connection, rows))
    ask_along(connection, documents.in_force(), {}, lambda rows: documents.note_in_force(connection, rows))


def new_pid() -> str:
    """Return a random id of 16 letters and digits (80 bits) that can stand in a URL and be read aloud."""
    return base64.b32encode(secrets.token_bytes(10)).decode("ascii").lower()


class Desk:
    """A store of verdicts with the work of people around it.

    Args:
        database: open.
        secret: the project's; what is shuffled for one person is keyed with it, so that nobody can tell an order.
        clock: seconds since 1970; tests bring their own.
        seed: of everything that is drawn.
    """

    def __init__(
        self, database: Database, *, secret: bytes, clock: Callable[[], float] = time.time, seed: int = 0
    ) -> None:
        self.database = database
        self.secret = secret
        self.clock = clock
        self.seed = seed
        self._writer = Writer(database, _look_first)

    @classmethod
    def open(
        cls,
        target: str | Path,
        *,
        secret: bytes,
        create: bool = True,
        clock: Callable[[], float] = time.time,
        seed: int = 0,
        busy_seconds: float = BUSY_SECONDS,
    ) -> Desk:
        """Open the desk of a store of verdicts: a file, or a ``postgresql://`` URL.

        Raises:
            UserError: if it cannot be opened, is no such store, or was written by a newer Proctor.
        """
        database = Database.open(VERDICTS, target, create=create, busy_seconds=busy_seconds)
        return cls(database, secret=secret, clock=clock, seed=seed)

    def close(self) -> None:
        """Finish what was queued and give all connections back."""
        self._writer.close()
        self.database.close()

    def __enter__(self) -> Desk:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def write(self, job: Callable[[Connection], T]) -> Future[T]:
        """Queue a write; see ``Writer.submit``. The future ends when it is on disk.

        Raises:
            UserError: if the desk is closed; the future raises what the job raised, or that the database failed.
        """
        return self._writer.submit(job)

    def read(self, job: Callable[[Connection], T]) -> T:
        """Read in one transaction: everything is as of one moment.

        Raises:
            UserError: if the database cannot be used.
        """
        with self.reading() as connection:
            return job(connection)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection in a reading transaction."""
        with self.database.transaction() as connection:
            yield connection

    def now(self) -> float:
        """Return the time in seconds since 1970."""
        return self.clock()
