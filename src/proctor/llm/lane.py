"""The one lane to the store: a thread that collects what arrives, writes it together and commits once.

Whoever waits is let go after the commit, so what they learn is on disk. A commit waits for the disk; while it waits, the
next jobs collect, so a hundred calls in flight cost a few commits and not two hundred.

A key is *claimed* before its request is sent. Claims of all processes are rows, taken inside a transaction in which the
writer is alone: two processes never send the same request at once. Who holds a claim and has gone is seen by
``proctor.llm.owner``.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from proctor.database import Database
from proctor.errors import UserError
from proctor.llm.database import tables
from proctor.llm.owner import BEAT_SECONDS, LEASE_SECONDS, Owner, Watch
from proctor.records import canonical_json

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["Claim", "Lane"]

_MOST_JOBS: Final = 512
"""Jobs of one transaction; the databases take many more parameters than that."""
_LINGER_SECONDS: Final = 0.01
_LONGEST_LINGER: Final = 0.05
"""How long a batch waits for more, where the one before it held more than one job and calls are many, within these limits: a
quarter of what that took, and of what a call takes where very many are on their way, since each commit costs about as much as
three calls. SQLite gives the lock to whoever asks at the right moment, so this is also when other processes get theirs."""
_MANY: Final = 32
_VERY_MANY: Final = 128
"""Calls on their way above which a batch waits: those that wait for the lane are not missed then, others are sent meanwhile."""


class Claim(Enum):
    """What became of the wish to make a call."""

    OURS = "ours"
    """Nobody has made it: the caller must make it, then finish or release it."""
    BUSY = "busy"
    """Somebody is making it right now: ask again a little later."""


class _Job(NamedTuple):
    """Something to be done. ``row`` is the call's row (finish), the attempt's row (attempt) or nothing."""

    kind: Literal["begin", "finish", "attempt", "release", "lookup", "stop"]
    key: str = ""
    row: dict[str, Any] | None = None
    keys: Sequence[str] = ()
    future: asyncio.Future[Any] | None = None


_LOOK: Final = "SELECT key, outcome FROM proctor_calls WHERE outcome IS NOT NULL AND key "
_CLAIMED: Final = (
    "SELECT c.key, c.owner, o.host, o.pid, o.began, o.beat FROM proctor_call_claims c "
    "LEFT JOIN proctor_call_owners o ON c.owner = o.owner WHERE c.key "
)
_OF_SQLITE: Final = "IN (SELECT value FROM json_each(?))"
_OF_POSTGRES: Final = "= ANY(%(keys)s)"

_Answers = list[tuple[_Job, Any]]


class Lane:
    """Jobs of any number of event loops in this process, done by one thread.

    Args:
        database: an opened one; the lane uses one connection of it.
        lease_seconds: without a sign of life until another process counts as gone.
    """

    def __init__(self, database: Database, *, lease_seconds: float = LEASE_SECONDS) -> None:
        self._database = database
        self._owner = Owner.new()
        self._watch = Watch(lease_seconds)
        self._beat_seconds = min(BEAT_SECONDS, lease_seconds / 4)
        self._queue: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        # Only the thread touches what follows.
        self._connection: Connection | None = None
        self._statements = _Statements(database)
        self._held: set[str] = set()
        self._unfreed: set[str] = set()
        self._registered = False
        self._beaten = 0.0
        self._last_size = 0
        self._last_seconds = 0.0
        self._call_seconds = 0.0
        self.commits = 0
        """How many writing transactions were committed."""

    # -- called from event loops -----------------------------------------------------------------------------

    def lookup(self, keys: Sequence[str]) -> asyncio.Future[dict[str, str]]:
        """Begin to look for final outcomes; the result has those keys that have one, with the outcome as JSON."""
        future: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self._put(_Job("lookup", keys=keys, future=future))
        return future

    async def begin(self, key: str) -> str | Claim:
        """Return the stored outcome as JSON, or take the claim on the key, or learn that somebody else has it.

        Raises:
            UserError: if the store cannot be written.
        """
        future: asyncio.Future[str | Claim] = asyncio.get_running_loop().create_future()
        self._put(_Job("begin", key, future=future))
        try:
            return await future
        except asyncio.CancelledError:
            # Cancelled after the answer came and before it was read: nobody else would give the claim back.
            if (
                future.done()
                and not future.cancelled()
                and not future.exception()
                and future.result() is Claim.OURS
            ):
                self.release(key)
            raise

    async def finish(self, key: str, row: dict[str, Any]) -> str | None:
        """Store a call and give its claim back; return when it is on disk.

        The row is on its way when this is called, whether or not the waiting is cancelled.

        Args:
            key: of the call.
            row: of the table of calls; its ``outcome`` is None when the call failed, and ``message`` says why then: the
                last attempt gets it.

        Returns:
            The outcome that holds, as JSON: another process may have stored one first. None for a failed call.

        Raises:
            UserError: if the store cannot be written.
        """
        answer: str | None = await self._ask(_Job("finish", key, row))
        return answer

    def attempt(self, key: str, row: dict[str, Any]) -> None:
        """Store one attempt, with or before what comes later on the lane; nobody waits for it."""
        self._put(_Job("attempt", key, row))

    def fail(self, key: str, row: dict[str, Any]) -> None:
        """Store a call without an outcome and give its claim back; nobody waits for it."""
        self._put(_Job("finish", key, row))

    def release(self, key: str) -> None:
        """Give a claim back without an outcome; nobody waits for it."""
        self._put(_Job("release", key))

    def close(self) -> None:
        """Finish what has arrived, give all claims back and end the thread."""
        with self._lock:
            self._closed = True
            thread = self._thread
            self._queue.put(_Job("stop"))
        if thread is not None:
            thread.join()

    async def _ask(self, job: _Job) -> Any:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._put(job._replace(future=future))
        return await future

    def _put(self, job: _Job) -> None:
        if self._thread is None or self._closed:
            with self._lock:
                if self._closed:
                    if job.future is None:
                        return  # its claim went with all the others
                    raise UserError("the store of calls is closed.", where=self._database.place)
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="proctor-calls", daemon=True)
                    self._thread.start()
        self._queue.put(job)

    # -- the thread ------------------------------------------------------------------------------------------

    def _run(self) -> None:
        going = True
        while going:
            batch = self._gather()
            if batch and batch[-1].kind == "stop":
                batch.pop()
                going = False
            try:
                answers = self._do(batch)
            except Exception as error:  # a bug too must reach those who wait
                answers = [(job, error) for job in batch]
            _deliver(answers, self)
        self._leave()

    def _gather(self) -> list[_Job]:
        """Wait for a job and take what else has arrived; the signal to stop is always the last."""
        try:
            batch = [self._queue.get(timeout=self._beat_seconds)]
        except queue.Empty:
            return []
        held = len(self._held)
        if self._last_size > 1 and held > _MANY and batch[0].kind not in ("lookup", "stop"):
            slowest = max(self._last_seconds, self._call_seconds if held > _VERY_MANY else 0.0)
            time.sleep(min(_LONGEST_LINGER, max(_LINGER_SECONDS, slowest / 4)))
        try:
            while len(batch) < _MOST_JOBS and batch[-1].kind != "stop":
                batch.append(self._queue.get_nowait())
        except queue.Empty:
            pass
        self._last_size = len(batch)
        return batch

    def _do(self, batch: list[_Job]) -> _Answers:
        if self._connection is None:
            with self._database.explained():
                self._connection = self._database.engine.connect()
        try:
            answers = self._look(self._connection, [job for job in batch if job.kind == "lookup"])
            writes = [job for job in batch if job.kind != "lookup"]
            if (
                writes
                or self._unfreed
                or (self._held and time.monotonic() - self._beaten >= self._beat_seconds)  # a beat is due
            ):
                answers += self._write(self._connection, writes)
        except BaseException:
            connection, self._connection = self._connection, None
            connection.invalidate()  # a lost server, a full disk: the next batch starts afresh
            connection.close()
            raise
        return answers

    def _look(self, connection: Connection, jobs: list[_Job]) -> _Answers:
        if not jobs:
            return []
        with self._database.transaction(connection):
            return [(job, self._statements.outcomes(connection, job.keys)) for job in jobs]

    def _write(self, connection: Connection, jobs: list[_Job]) -> _Answers:
        """Do jobs in one transaction; what this object remembers changes only when it is committed."""
        freed = {job.key for job in jobs if job.kind in ("finish", "release")} | self._unfreed
        self._unfreed = freed  # not forgotten if this transaction fails
        self._held -= freed
        calls = [job for job in jobs if job.kind == "finish"]
        begins = [job for job in jobs if job.kind == "begin"]
        start = time.monotonic()
        with self._database.transaction(connection, write=True):
            known = self._statements.outcomes(connection, [job.key for job in (*calls, *begins)])
            rows = [job.row for job in jobs if job.kind == "attempt" and job.row is not None]
            if rows:
                self._statements.attempts(connection, rows)
            answers = self._store(connection, calls, known)
            self._free(connection, freed)
            self._beat(connection)
            claimed = self._claim(connection, begins, known)
        self._unfreed = set()
        self._held |= {job.key for job, answer in claimed if answer is Claim.OURS}
        self.commits += 1
        self._last_seconds = time.monotonic() - start
        if rows:
            self._call_seconds = sum(row["seconds"] for row in rows) / len(rows)
        return answers + claimed

    def _store(self, connection: Connection, jobs: list[_Job], known: dict[str, str]) -> _Answers:
        """Store calls that have no final outcome yet; ``known`` then has theirs too."""
        answers: _Answers = []
        rows = {}
        for job in jobs:
            assert job.row is not None
            if job.key not in known:
                rows[job.key] = job.row
                if job.row["outcome"] is not None:
                    known[job.key] = job.row["outcome"]
            answers.append((job, known.get(job.key)))
        if rows:
            self._statements.calls(connection, list(rows.values()))
        failed = [{"k": key, "m": row["message"]} for key, row in rows.items() if row.get("message")]
        if failed:
            self._statements.failed(connection, failed)
        return answers

    def _free(self, connection: Connection, keys: Iterable[str]) -> None:
        rows = [{"k": key, "o": self._owner.owner} for key in keys]
        if rows:
            self._statements.free(connection, rows)

    def _beat(self, connection: Connection) -> None:
        """Show that this process lives; when others took its claims meanwhile, take back what is free."""
        owners = tables().owners
        now = time.monotonic()
        if self._registered and now - self._beaten < self._beat_seconds:
            return
        if not self._registered:
            self._bury(connection, self._ended(connection))
        self._owner = self._owner._replace(beat=self._owner.beat + 1)
        row = self._owner._asdict()
        mine = owners.update().where(owners.c.owner == self._owner.owner).values(beat=self._owner.beat)
        if connection.execute(mine).rowcount == 0:
            connection.execute(owners.insert(), row)
            again = [{"key": key, "owner": self._owner.owner} for key in self._held]
            if again:
                connection.execute(self._database.insert_new(tables().claims), again)
        self._registered, self._beaten = True, now

    def _claim(self, connection: Connection, jobs: list[_Job], known: dict[str, str]) -> _Answers:
        answers: _Answers = []
        wanted: dict[str, _Job] = {}
        for job in jobs:
            if job.key in known:
                answers.append((job, known[job.key]))
            elif job.key in self._held or job.key in wanted:
                answers.append((job, Claim.BUSY))
            else:
                wanted[job.key] = job
        if not wanted:
            return answers
        busy, gone = self._others(connection, list(wanted))
        self._bury(connection, gone)
        rows = [{"key": key, "owner": self._owner.owner} for key in wanted if key not in busy]
        if rows:
            self._statements.claims(connection, rows)
        answers += [(job, Claim.BUSY if key in busy else Claim.OURS) for key, job in wanted.items()]
        return answers

    def _others(self, connection: Connection, keys: list[str]) -> tuple[set[str], set[str]]:
        """Return the keys that a living process has claimed, and the names of owners that are gone."""
        busy: set[str] = set()
        gone: set[str] = set()
        alive: set[str] = set()
        for key, name, host, pid, began, beat in self._statements.claimed(connection, keys):
            if name == self._owner.owner or name in gone:
                continue
            if name not in alive and (
                host is None or self._watch.is_gone(Owner(name, host, pid, began, beat))
            ):
                gone.add(name)
            else:
                alive.add(name)
                busy.add(key)
        return busy, gone

    def _ended(self, connection: Connection) -> list[str]:
        """Return the owners on this machine that were killed and left their claims behind."""
        from sqlalchemy import select

        owners = tables().owners
        columns = (owners.c[name] for name in Owner._fields)
        return [row.owner for row in connection.execute(select(*columns)) if Owner(*row).has_ended()]

    def _bury(self, connection: Connection, names: Iterable[str]) -> None:
        for name in names:
            connection.execute(tables().claims.delete().where(tables().claims.c.owner == name))
            connection.execute(tables().owners.delete().where(tables().owners.c.owner == name))
            self._watch.forget(name)

    def _leave(self) -> None:
        """Give everything back; what cannot be given back is seen to be without an owner."""
        try:
            if self._connection is not None:
                if self._registered:
                    with self._database.transaction(self._connection, write=True):
                        self._bury(self._connection, [self._owner.owner])
                self._connection.close()
        except UserError:
            pass
        self._connection = None


def _deliver(answers: _Answers, lane: Lane) -> None:
    """Hand answers to the event loops that wait for them, once a loop."""
    by_loop: dict[asyncio.AbstractEventLoop, _Answers] = {}
    for job, answer in answers:
        if job.future is not None:
            by_loop.setdefault(job.future.get_loop(), []).append((job, answer))
    for loop, group in by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle, group, lane)
        except RuntimeError:  # the loop was closed: nobody waits any more
            for job, answer in group:
                if answer is Claim.OURS:
                    lane.release(job.key)


def _settle(answers: _Answers, lane: Lane) -> None:
    for job, answer in answers:
        assert job.future is not None
        if job.future.cancelled():
            if answer is Claim.OURS:
                lane.release(job.key)
        elif isinstance(answer, BaseException):
            job.future.set_exception(answer)
        else:
            job.future.set_result(answer)


class _Statements:
    """What is done once a call, compiled beforehand."""

    def __init__(self, database: Database) -> None:
        from sqlalchemy import bindparam, func, select

        calls, attempts, claims = tables().calls, tables().attempts, tables().claims
        insert = database.insert(calls)
        changed = {c.name: insert.excluded[c.name] for c in calls.c if c.name not in ("key", "request")}
        # A failed call is replaced, a final one never.
        upsert = insert.on_conflict_do_update(
            index_elements=["key"], set_=changed, where=calls.c.outcome.is_(None)
        )
        mine = (claims.c.key == bindparam("k")) & (claims.c.owner == bindparam("o"))
        tried = [c.name for c in attempts.c if c.name != "sequence"]
        each = attempts.alias()
        last = select(func.max(each.c.sequence)).where(each.c.key == bindparam("k")).scalar_subquery()
        failed = attempts.update().where(attempts.c.sequence == last).values(message=bindparam("m"))
        self._is_sqlite = database.is_sqlite
        self.calls = database.prepared(upsert, [c.name for c in calls.c])
        self.attempts = database.prepared(attempts.insert().inline(), tried)
        self.failed = database.prepared(failed, ["k", "m"])
        self.claims = database.prepared(database.insert_new(claims), ["key", "owner"])
        self.free = database.prepared(claims.delete().where(mine), ["k", "o"])

    def outcomes(self, connection: Connection, keys: Sequence[str]) -> dict[str, str]:
        """Return the final outcomes of these keys, as JSON."""
        if not keys:
            return {}
        rows = self._of_keys(connection, _LOOK, keys)
        return {key: outcome for key, outcome in rows}  # noqa: C416 - rows are no pairs to dict's type

    def claimed(self, connection: Connection, keys: Sequence[str]) -> Sequence[Any]:
        """Return key, owner, host, process, its beginning and its beat of those keys that somebody has claimed."""
        return self._of_keys(connection, _CLAIMED, keys)

    def _of_keys(self, connection: Connection, query: str, keys: Sequence[str]) -> Sequence[Any]:
        """Return what a query finds of these keys. All of them are one parameter, which is half the work."""
        if self._is_sqlite:
            given = (canonical_json(keys).decode(),)
            return connection.exec_driver_sql(query + _OF_SQLITE, given).all()
        return connection.exec_driver_sql(query + _OF_POSTGRES, {"keys": list(keys)}).all()
