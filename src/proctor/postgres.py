"""Many prepared statements to PostgreSQL in one message there and one back.

psycopg's own pipeline mode wakes both sides for every statement, and so saves nothing where the server is near. Here all
statements are written before the first answer is read, and each is planned once for a connection. psycopg still holds
the connection, begins and ends transactions, and turns values and errors into Python's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.pq.abc import PGconn, PGresult
    from psycopg.waiting import Ready, Wait

__all__ = ["Answer", "Prepared", "Statement", "ask_at_once"]

Prepared = dict[str, bytes]
"""Names of the statements that a connection knows, by their text."""

_UNPREPARED: Final = ("26000", "42P05", "0A000")
"""Errors after which everything is prepared anew: a name is unknown or taken (somebody between us and the server gave
the connection to others), or a table was changed since."""


class Statement(NamedTuple):
    """A statement with parameters ``$1``, ``$2``, … and their values."""

    sql: str
    values: Sequence[Any] = ()


class Answer(NamedTuple):
    """What a statement gave back: names of the columns, and rows; both empty for one that returns nothing."""

    names: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def ask_at_once(connection: Connection[Any], prepared: Prepared, asked: Sequence[Statement]) -> list[Answer]:
    """Run statements in order, in the connection's transaction, and return what each gave back.

    The first one that fails stops the rest; the transaction can then only be rolled back (to a savepoint).

    Args:
        connection: of psycopg, used by nobody else meanwhile.
        prepared: what this connection knows; what is prepared now is added to it. psycopg must not prepare statements
            itself (``prepare_threshold=None``): at a rollback it makes the server forget all of them, ours, too.
        asked: what to run.

    Raises:
        psycopg.Error: what the first of them failed with, or the connection; also if the server rolled back where
            COMMIT was asked, which it does without an error.
    """
    from psycopg.adapt import PyFormat, Transformer

    transformer = Transformer(connection)
    values = [transformer.dump_sequence(s.values, [PyFormat.TEXT] * len(s.values)) for s in asked]
    fresh = _name_fresh(prepared, asked)
    names = {**prepared, **fresh}
    pgconn = connection.pgconn
    begin = _must_begin(connection)
    pgconn.enter_pipeline_mode()
    try:
        if begin:
            pgconn.send_query_params(b"BEGIN", None)
        for sql in fresh:
            pgconn.send_prepare(names[sql], sql.encode())
        for statement, parameters in zip(asked, values, strict=True):
            pgconn.send_query_prepared(names[statement.sql], parameters)
        pgconn.pipeline_sync()
        results = connection.wait(_exchange(pgconn))
    finally:
        _leave(pgconn)
    _raise_first(results, prepared)
    prepared.update(fresh)
    answers = results[begin + len(fresh) :]
    _check_commit(asked, answers)
    return [_answer(transformer, result) for result in answers]


def _name_fresh(prepared: Prepared, asked: Sequence[Statement]) -> Prepared:
    """Return names for what is to be prepared.

    A name is never given twice: the server may know one that was prepared in a message which failed later. It tells
    the text, too, so that a pooler which gives our connection to others can never make us run what they prepared.
    """
    texts = dict.fromkeys(s.sql for s in asked if s.sql not in prepared)
    first = int(prepared.get("", b"0"))
    prepared[""] = b"%d" % (first + len(texts))
    digests = [hashlib.sha256(sql.encode()).hexdigest()[:16].encode() for sql in texts]
    return {sql: b"proctor_%d_%s" % (first + n, digests[n]) for n, sql in enumerate(texts)}


def _must_begin(connection: Connection[Any]) -> bool:
    """Psycopg begins a transaction with its first statement; ours may come before it."""
    from psycopg.pq import TransactionStatus

    return connection.pgconn.transaction_status == TransactionStatus.IDLE and not connection.autocommit


def _exchange(pgconn: PGconn) -> Generator[Wait, Ready | int, list[PGresult]]:
    """Write what was queued and read every result up to the end of the message.

    Both at the same time: a server that waits until somebody reads its answers would not read on.
    """
    from psycopg import OperationalError
    from psycopg.pq import ConnStatus, ExecStatus
    from psycopg.waiting import Ready, Wait

    results: list[PGresult] = []
    unsent = True
    while True:
        ready = yield Wait.RW if unsent else Wait.R
        if (
            not ready
        ):  # psycopg looked for a signal; after Ctrl-C it cancels the question and goes on with None
            continue
        if ready & Ready.W:
            unsent = bool(pgconn.flush())
        if not ready & Ready.R:
            continue
        pgconn.consume_input()
        while not pgconn.is_busy():
            result = pgconn.get_result()
            if result is None:  # the end of one statement; of a dead connection there is one after the other
                if pgconn.status == ConnStatus.BAD:
                    raise OperationalError("the answer of the server was broken off or cannot be read")
                continue
            if result.status == ExecStatus.PIPELINE_SYNC:
                return results
            results.append(result)


def _leave(pgconn: PGconn) -> None:
    """Leave the pipeline; a connection on which that is impossible is of no use to anybody, and is closed."""
    from psycopg import OperationalError
    from psycopg.pq import ConnStatus

    try:
        pgconn.exit_pipeline_mode()
    except OperationalError:
        if pgconn.status != ConnStatus.BAD:
            pgconn.finish()


def _raise_first(results: Sequence[PGresult], prepared: Prepared) -> None:
    from psycopg.errors import error_from_result
    from psycopg.pq import ExecStatus

    for result in results:
        if result.status == ExecStatus.FATAL_ERROR:
            error = error_from_result(result)
            if error.sqlstate in _UNPREPARED:
                for sql in [sql for sql in prepared if sql]:
                    del prepared[sql]
            raise error


def _check_commit(asked: Sequence[Statement], results: Sequence[PGresult]) -> None:
    """Raise if a COMMIT was answered with ROLLBACK: somebody went on after a statement had failed."""
    from psycopg.errors import InFailedSqlTransaction

    for statement, result in zip(asked, results, strict=True):
        if statement.sql == "COMMIT" and result.command_status != b"COMMIT":
            raise InFailedSqlTransaction("nothing was saved, for a statement before the end had failed")


def _answer(transformer: Any, result: PGresult) -> Answer:
    names = tuple((result.fname(n) or b"").decode() for n in range(result.nfields))
    if not names:
        return Answer((), [])
    transformer.set_pgresult(result)
    return Answer(names, transformer.load_rows(0, result.ntuples, tuple))
