"""The call store: every request under the hash of its canonical form, its outcome, and every attempt with its cost.

Only final outcomes are kept as outcomes (``is_final``): a failure is kept as attempts and as a call without an outcome,
so that it can be made again (``CallStore.failures``). A final outcome is never replaced; whoever stores a second one gets the
first.

Writing while calls are made goes through ``CallStore.lane`` (one thread, common commits, claims); reading and the
commands of ``proctor calls`` use connections of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from proctor.database import Database
from proctor.llm.database import CALLS, SCHEMA_VERSION, tables
from proctor.llm.gate import FlowEvent
from proctor.llm.lane import Lane
from proctor.llm.outcome import FAILURE_KINDS, AttemptRecord, Failure, Outcome, Usage, is_settled
from proctor.llm.owner import LEASE_SECONDS
from proctor.records import decode

if TYPE_CHECKING:
    from sqlalchemy import Connection, RowMapping, Select

__all__ = [
    "EVERYTHING",
    "SCHEMA_VERSION",
    "CallStore",
    "Selection",
    "StoredCall",
    "Total",
    "attempt_row",
    "decode_outcome",
    "storable",
]

BUSY_SECONDS: Final = 30.0
"""How long a writer waits for its turn before it gives up."""
_PAGE: Final = 500
"""Calls that are in memory at once while a store is read."""


class StoredCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call, as it is stored.

    Attributes:
        key: of the request.
        model: full name.
        stage: that asked first.
        kind: ``reply``, ``truncated``, ``refusal``, or the kind of the last failure.
        created: UTC, seconds since 1970, when its outcome was stored.
        seconds: that the last attempt took.
        input: prompt tokens.
        output: reply tokens.
        cached: prompt tokens from the provider's cache.
        cost: nano-dollars of the attempt that gave the outcome; None where the price is not known.
        outcome: canonical JSON of the final outcome; None for a failed call.
        request: canonical JSON of the request, whose SHA-256 is the key; empty where it was not asked for.
    """

    key: str
    model: str
    stage: str
    kind: str
    created: float
    seconds: float | None
    input: int | None
    output: int | None
    cached: int | None
    cost: int | None
    outcome: str | None
    request: str

    @property
    def result(self) -> Outcome | None:
        """The final outcome, decoded."""
        return None if self.outcome is None else decode_outcome(self.outcome, f"call {self.key[:12]}")


class Selection(NamedTuple):
    """Which calls are meant; every part that is set must fit.

    Attributes:
        stage: name of a stage; ``*`` stands for anything.
        model: name of a model; ``*`` stands for anything.
        kind: ``reply``, ``refusal``, a kind of failure, or ``failed`` for all without a final outcome.
        before: stored before this time, UTC seconds since 1970.
    """

    stage: str | None = None
    model: str | None = None
    kind: str | None = None
    before: float | None = None


EVERYTHING: Final = Selection()


class Total(NamedTuple):
    """Sums over the calls of one model in one stage.

    Attributes:
        model: full name.
        stage: that asked.
        calls: with a final outcome.
        failed: without one.
        attempts: of all of them; all sums are over these, failed ones included.
        input: prompt tokens.
        output: reply tokens.
        cached: prompt tokens from the provider's cache.
        cost: nano-dollars, as far as prices are known.
        unpriced: attempts that were charged at a price that is not known.
        lost: attempts that may have been charged although no reply came (timeouts, broken connections, Ctrl-C).
        feared: nano-dollars that these may have cost at worst, as far as prices are known; not in ``cost``.
    """

    model: str
    stage: str
    calls: int
    failed: int
    attempts: int
    input: int
    output: int
    cached: int
    cost: int
    unpriced: int
    lost: int
    feared: int


_outcomes: msgspec.json.Decoder[Outcome] = msgspec.json.Decoder(Outcome)


def decode_outcome(text: str, where: str) -> Outcome:
    """Read an outcome as it is stored.

    Raises:
        UserError: if it is not one; the store was changed by something else.
    """
    try:
        return _outcomes.decode(text)
    except (msgspec.MsgspecError, UnicodeError):
        outcome: Outcome = decode(text.encode("utf-8", "replace"), Outcome, where)
        return outcome


class CallStore:
    """A store of calls; use ``CallStore.open`` and close it, or use it in a ``with`` block."""

    def __init__(self, database: Database, lane: Lane) -> None:
        self._database = database
        self.lane = lane

    @classmethod
    def open(
        cls,
        target: str | Path,
        create: bool = True,
        *,
        busy_seconds: float = BUSY_SECONDS,
        lease_seconds: float = LEASE_SECONDS,
    ) -> CallStore:
        """Open a store, made if there is none.

        Args:
            target: path of the SQLite file, or a ``postgresql://`` URL.
            create: make a store where there is none.
            busy_seconds: how long a writer waits for others.
            lease_seconds: without a sign of life until another process counts as gone.

        Raises:
            UserError: if it cannot be opened, is no store of calls, or was written by a newer Proctor.
            MissingExtraError: for a PostgreSQL URL without psycopg.
        """
        database = Database.open(CALLS, target, create=create, busy_seconds=busy_seconds)
        return cls(database, Lane(database, lease_seconds=lease_seconds))

    @property
    def place(self) -> str:
        """File or URL without a password, for messages."""
        return self._database.place

    def close(self) -> None:
        """Finish what is on its way to disk, give claims and connections back."""
        self.lane.close()
        self._database.close()

    def __enter__(self) -> CallStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- reading ---------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Return the number of calls with a final outcome."""
        from sqlalchemy import func, select

        calls = tables().calls
        with self._database.transaction() as connection:
            query = select(func.count()).select_from(calls).where(calls.c.outcome.is_not(None))
            return int(connection.execute(query).scalar_one())

    def has(self, keys: Iterable[str]) -> set[str]:
        """Return those keys that have a final outcome; for estimates of what a run would still cost."""
        from sqlalchemy import select

        calls = tables().calls
        found: set[str] = set()
        with self._database.transaction() as connection:
            for some in _batches(keys):
                query = select(calls.c.key).where(calls.c.key.in_(some), calls.c.outcome.is_not(None))
                found.update(connection.execute(query).scalars())
        return found

    def get(self, key: str) -> StoredCall | None:
        """Return one call."""
        from sqlalchemy import select

        calls = tables().calls
        with self._database.transaction() as connection:
            row = connection.execute(select(calls).where(calls.c.key == key)).one_or_none()
        return None if row is None else StoredCall(**row._mapping)

    def models(self) -> list[str]:
        """Return the names of all models that have a call here, sorted."""
        from sqlalchemy import select

        with self._database.transaction() as connection:
            return sorted(connection.execute(select(tables().calls.c.model).distinct()).scalars())

    def latest(self, selection: Selection = EVERYTHING, limit: int = 50) -> list[StoredCall]:
        """Return the calls stored last, newest first, without their requests."""
        calls = tables().calls
        query = self._selected(selection, request=False).order_by(calls.c.created.desc(), calls.c.key)
        with self._database.transaction() as connection:
            return _stored(connection, query.limit(limit))

    def calls(self, selection: Selection = EVERYTHING) -> Iterator[StoredCall]:
        """Yield calls in the order of their keys, with a few hundred in memory at once."""
        calls = tables().calls
        query = self._selected(selection, request=True).order_by(calls.c.key).limit(_PAGE)
        last = ""
        while True:
            with self._database.transaction() as connection:
                page = _stored(connection, query.where(calls.c.key > last))
            yield from page
            if len(page) < _PAGE:
                return
            last = page[-1].key

    def attempts(self, keys: Iterable[str]) -> dict[str, list[AttemptRecord]]:
        """Return the attempts of each of these calls, oldest first."""
        from sqlalchemy import select

        table = tables().attempts
        columns = [column for column in table.c if column.name != "sequence"]
        found: dict[str, list[AttemptRecord]] = {}
        with self._database.transaction() as connection:
            for some in _batches(keys):
                query = select(*columns).where(table.c.key.in_(some)).order_by(table.c.sequence)
                for row in connection.execute(query).mappings():
                    found.setdefault(row["key"], []).append(_attempt(row))
        return found

    def totals(self, selection: Selection = EVERYTHING) -> list[Total]:
        """Return sums by model and stage."""
        from sqlalchemy import case, func, select

        calls, attempts = tables().calls, tables().attempts
        final: Any = calls.c.outcome.is_not(None)
        where = self._where(selection)

        def count(condition: Any) -> Any:
            return func.coalesce(func.sum(case((condition, 1), else_=0)), 0)

        charged = attempts.c.kind.not_in(FAILURE_KINDS) | attempts.c.input.is_not(None)
        group = (calls.c.model, calls.c.stage)
        counts: Any = select(*group, count(final), count(~final))
        sums: Any = select(
            *group,
            func.count(),
            *(func.coalesce(func.sum(attempts.c[name]), 0) for name in ("input", "output", "cached", "cost")),
            count(charged & attempts.c.cost.is_(None)),
            *(func.coalesce(func.sum(attempts.c[name]), 0) for name in ("lost", "feared")),
        ).join_from(attempts, calls, attempts.c.key == calls.c.key)
        with self._database.transaction() as connection:
            rows = connection.execute(counts.where(*where).group_by(*group).order_by(*group)).all()
            tries: dict[tuple[str, str], list[int]] = {
                (model, stage): [int(value) for value in values]
                for model, stage, *values in connection.execute(sums.where(*where).group_by(*group))
            }
        totals = []
        for model, stage, done, failed in rows:
            tried = tries.get((model, stage), [0] * (len(Total._fields) - 4))
            totals.append(Total(model, stage, int(done), int(failed), *tried))
        return totals

    def reply_tokens(self) -> dict[tuple[str, str], tuple[int, int]]:
        """Return by stage and model how many calls were answered and what the answers' tokens add up to."""
        from sqlalchemy import func, select

        calls = tables().calls
        group = (calls.c.stage, calls.c.model)
        query = select(*group, func.count(), func.sum(calls.c.output))
        answered = query.where(calls.c.outcome.is_not(None), calls.c.output.is_not(None)).group_by(*group)
        with self._database.transaction() as connection:
            rows = connection.execute(answered).all()
        return {(stage, model): (int(number), int(tokens)) for stage, model, number, tokens in rows}

    def failures(self) -> dict[str, Failure]:
        """Return by key the calls that failed and are not to be made again unless somebody asks for it (``is_settled``).

        Left out are those of a stage in which their model has never said anything: a wrong key is no answer.
        """
        from sqlalchemy import func, select

        calls, attempts = tables().calls, tables().attempts
        # By way of the attempts: their rows are short, those of calls hold whole requests.
        failed = attempts.c.kind.in_(FAILURE_KINDS) | (attempts.c.message != "")
        tried = select(attempts.c.key).where(failed).distinct()
        each = attempts.alias()
        last = select(func.max(each.c.sequence)).where(each.c.key == calls.c.key).scalar_subquery()
        query = (
            select(calls.c.stage, calls.c.model, calls.c.kind.label("became"), attempts)
            .join_from(calls, attempts, attempts.c.sequence == last)
            .where(calls.c.key.in_(tried), calls.c.outcome.is_(None))
        )
        with self._database.transaction() as connection:
            rows = [row for row in connection.execute(query).mappings() if is_settled(row["became"])]
        spoken = {
            of for of in dict.fromkeys((row["stage"], row["model"]) for row in rows) if self.has_said(*of)
        }
        found: dict[str, Failure] = {}
        for row in rows:
            if (row["stage"], row["model"]) in spoken:
                last_one = _attempt(row)
                found[row["key"]] = Failure(
                    kind=row["became"],
                    message=last_one.message,
                    status=last_one.status,
                    usage=last_one.usage,
                    lost=last_one.lost,
                )
        return found

    def has_said(self, stage: str, model: str) -> bool:
        """True when a model has said anything in a stage."""
        from sqlalchemy import select

        calls = tables().calls
        said = select(calls.c.key).where(
            calls.c.stage == stage, calls.c.model == model, calls.c.outcome.is_not(None)
        )
        with self._database.transaction() as connection:
            return connection.execute(said.limit(1)).first() is not None

    def history(self, stage: str | None = None, limit: int | None = None) -> list[tuple[str, FlowEvent]]:
        """Return what changed the pace, with the stage in which it did, oldest first.

        Args:
            stage: only of this one; ``*`` stands for anything.
            limit: the latest so many.
        """
        from sqlalchemy import select

        flow = tables().flow
        query = select(flow).order_by(flow.c.sequence.desc())
        if stage is not None and "*" in stage:
            query = query.where(flow.c.stage.in_(self._names(flow.c.stage, stage)))
        elif stage is not None:
            query = query.where(flow.c.stage == stage)
        with self._database.transaction() as connection:
            rows = connection.execute(query.limit(limit)).all()
        return [
            (row.stage, FlowEvent(row.at, row.endpoint, row.kind, row.places, row.detail))
            for row in reversed(rows)
        ]

    # -- changing --------------------------------------------------------------------------------------------

    def put(self, calls: Iterable[tuple[StoredCall, Sequence[AttemptRecord]]]) -> int:
        """Take calls in from elsewhere, with their attempts; those with a final outcome here stay as they are.

        Returns:
            How many were new.
        """
        new = 0
        batch: list[tuple[StoredCall, Sequence[AttemptRecord]]] = []
        for pair in calls:
            batch.append(pair)
            if len(batch) == _PAGE:
                new += self._put(batch)
                batch.clear()
        return new + (self._put(batch) if batch else 0)

    def _put(self, batch: list[tuple[StoredCall, Sequence[AttemptRecord]]]) -> int:
        from sqlalchemy import select

        calls, attempts = tables().calls, tables().attempts
        with self._database.transaction(write=True) as connection:
            keys = [call.key for call, _ in batch]
            there = set(connection.execute(select(calls.c.key).where(calls.c.key.in_(keys))).scalars())
            new = {call.key: (call, tries) for call, tries in batch if call.key not in there}
            rows = [msgspec.structs.asdict(call) for call, _ in new.values()]
            tried = [attempt_row(key, attempt) for key, (_, tries) in new.items() for attempt in tries]
            if rows:
                connection.execute(self._database.insert_new(calls), rows)
            if tried:
                connection.execute(attempts.insert(), tried)
        return len(new)

    def add_history(self, stage: str, events: Iterable[FlowEvent]) -> None:
        """Keep what changed the pace in a stage.

        Raises:
            UserError: if the store cannot be written.
        """
        rows = [
            {
                "at": event.at,
                "stage": stage,
                "endpoint": event.endpoint,
                "kind": event.kind,
                "places": event.limit,
                "detail": storable(event.detail),
            }
            for event in events
        ]
        if rows:
            with self._database.transaction(write=True) as connection:
                connection.execute(tables().flow.insert(), rows)

    def count(self, selection: Selection) -> int:
        """Return how many calls are meant."""
        from sqlalchemy import func, select

        with self._database.transaction() as connection:
            query = select(func.count()).select_from(tables().calls).where(*self._where(selection))
            return int(connection.execute(query).scalar_one())

    def prune(self, selection: Selection) -> int:
        """Remove calls and their attempts for good, and return how many calls. What is being made right now stays.

        When no model and no kind is named, the history of the pace goes with them.
        """
        from sqlalchemy import select

        calls, attempts, claims = tables().calls, tables().attempts, tables().claims
        with self._database.transaction(write=True) as connection:
            where = (*self._where(selection), calls.c.key.not_in(select(claims.c.key)))
            meant = select(calls.c.key).where(*where)
            connection.execute(attempts.delete().where(attempts.c.key.in_(meant)))
            if selection.model is None and selection.kind is None:
                self._prune_history(connection, selection)
            return int(connection.execute(calls.delete().where(*where)).rowcount)

    def _prune_history(self, connection: Connection, selection: Selection) -> None:
        flow = tables().flow
        where: list[Any] = []
        if selection.stage is not None:
            names = self._names(flow.c.stage, selection.stage)
            where.append(flow.c.stage.in_(names))
        if selection.before is not None:
            where.append(flow.c.at < selection.before)
        connection.execute(flow.delete().where(*where))

    def _where(self, selection: Selection) -> list[Any]:
        calls = tables().calls
        where: list[Any] = []
        for column, wanted in ((calls.c.stage, selection.stage), (calls.c.model, selection.model)):
            if wanted is not None and "*" in wanted:
                where.append(column.in_(self._names(column, wanted)))
            elif wanted is not None:
                where.append(column == wanted)
        if selection.kind == "failed":
            where.append(calls.c.outcome.is_(None))
        elif selection.kind is not None:
            where.append(calls.c.kind == selection.kind)
        if selection.before is not None:
            where.append(calls.c.created < selection.before)
        return where

    def _names(self, column: Any, pattern: str) -> list[str]:
        """Return the names in a column that fit; databases differ in what LIKE means for capitals."""
        from sqlalchemy import select

        fits = re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL).fullmatch
        with self._database.transaction() as connection:
            return [name for name in connection.execute(select(column).distinct()).scalars() if fits(name)]

    def _selected(self, selection: Selection, *, request: bool) -> Select[Any]:
        from sqlalchemy import literal, select

        calls = tables().calls
        columns = [c if request or c.name != "request" else literal("").label("request") for c in calls.c]
        return select(*columns).where(*self._where(selection))


def _stored(connection: Connection, query: Select[Any]) -> list[StoredCall]:
    return [StoredCall(**row._mapping) for row in connection.execute(query)]


def attempt_row(key: str, attempt: AttemptRecord) -> dict[str, Any]:
    """Return the row of an attempt."""
    usage = attempt.usage
    return {
        "key": key,
        "number": attempt.number,
        "started": attempt.started,
        "seconds": attempt.seconds,
        "kind": attempt.outcome,
        "status": attempt.status,
        "input": usage.input,
        "output": usage.output,
        "cached": usage.cached,
        "reasoning": usage.reasoning,
        "cost": attempt.cost,
        "retry_after": attempt.retry_after,
        "lost": int(attempt.lost),
        "feared": attempt.feared,
        "message": storable(attempt.message),
    }


def _attempt(row: RowMapping) -> AttemptRecord:
    return AttemptRecord(
        number=row["number"],
        started=row["started"],
        seconds=row["seconds"],
        outcome=row["kind"],
        status=row["status"],
        usage=Usage(row["input"], row["output"], row["cached"], row["reasoning"]),
        cost=row["cost"],
        retry_after=row["retry_after"],
        message=row["message"],
        lost=bool(row["lost"]),
        feared=row["feared"],
    )


def storable(text: str) -> str:
    """Replace what databases cannot hold in a text: NUL characters and lone surrogates."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")


def _batches(keys: Iterable[str]) -> Iterator[list[str]]:
    some: list[str] = []
    for key in keys:
        some.append(key)
        if len(some) == _PAGE:
            yield some
            some = []
    if some:
        yield some
