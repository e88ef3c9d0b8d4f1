"""The coordinator's numbers: computed from everything that was said, kept until more was said.

Agreement with its intervals and the comparison of policies read every verdict: 0.2 s at 500 items judged twice, half a
minute at 100,000. So a page never waits for many: it shows the last numbers with the time that they are of, and newer
ones are computed meanwhile, in this process while the project is small, in a process of its own when it is not. There
is never more than one at a time, and one that dies or hangs is told about and tried again later.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from sqlalchemy import Connection, func, select

from proctor.errors import UserError
from proctor.exam.question import Question
from proctor.verify.agreement import AgreementReport, agreement_report
from proctor.verify.desk import documents, training
from proctor.verify.desk.beside import Apart
from proctor.verify.policy import POLICIES, Minutes, PolicyComparison, compare_policies, median_minutes
from proctor.verify.schema import tables
from proctor.verify.store import latest_verdicts

if TYPE_CHECKING:
    from proctor.verify.desk.desk import Desk

__all__ = ["Key", "Look", "Snapshot", "Snapshots", "compute_snapshot", "current_key"]

SMALL: Final = 1_500
"""Items judged twice up to which numbers are computed in this process: below half a second."""
AGAIN_SECONDS: Final = 60.0
"""From the end of one computation in a process of its own to the beginning of the next that nobody asked for."""
LONGEST_SECONDS: Final = 900.0
"""A process that takes longer hangs."""

_NOT_SHOWN: Final = ("gone", "training", "undealt", "machine")
"""Items in these states were shown to nobody as work: they are not part of the population."""
_META: Final = "dashboard_snapshot"


class Key(msgspec.Struct, frozen=True):
    """What the numbers depend on; all of it only ever grows or, for the last two, changes with an event.

    Attributes:
        verdicts: number of the last verdict.
        voids: verdicts that are void.
        responses: number of the last response (active times; training).
        items: number of the last event about the items as a whole: dealt, or brought in line with the candidates.
        training: items of the training set.
    """

    verdicts: int
    voids: int
    responses: int
    items: int
    training: int


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers as of one moment; ``msgspec.json`` writes and reads it.

    Attributes:
        key: what they were computed from.
        at: when, seconds since 1970.
        seconds: that it took.
        report: agreement of people and of machines with them.
        policies: what each policy would have cost and changed, without the single items; None with a ``problem``.
        problem: why there is no comparison.
        training: pid to the share of training statements that are as in the reference, 0 to 1.
    """

    key: Key
    at: float
    seconds: float
    report: AgreementReport
    policies: PolicyComparison | None
    problem: str = ""
    training: Mapping[str, float] = {}


class Look(NamedTuple):
    """What there is to see now.

    Attributes:
        snapshot: the last numbers, None before the first.
        fresh: nothing has been said since.
        computing: newer ones are on their way.
        problem: why the last computation came to nothing; empty when it did not fail.
    """

    snapshot: Snapshot | None
    fresh: bool
    computing: bool
    problem: str


# -- the numbers -----------------------------------------------------------------------------------------------


def current_key(connection: Connection) -> Key:
    """Return what numbers of this moment would depend on; looks at the ends of indexes, whatever the size."""
    t = tables()

    def number(query: Any) -> int:
        return int(connection.execute(query).scalar() or 0)

    return Key(
        verdicts=number(select(func.max(t.verdicts.c.sequence))),
        voids=number(select(func.count()).select_from(t.voids)),
        responses=number(select(func.max(t.responses.c.id))),
        items=number(select(func.max(t.events.c.id)).where(t.events.c.subject == "items")),
        training=number(select(func.count()).select_from(t.training)),
    )


def compute_snapshot(connection: Connection, *, at: float, resamples: int = 2_000) -> Snapshot:
    """Compute the numbers from a store.

    The population is every item that was shown to people as work, whatever became of it;
    verdicts on an older text of an item are left out, as ``verify.store.split_stale`` would.

    Args:
        connection: in a transaction, so that everything is as of one moment.
        at: that moment, seconds since 1970.
        resamples: draws of the bootstrap.
    """
    began = time.monotonic()
    key = current_key(connection)
    shown = _population(connection)
    verdicts = [
        v
        for v in latest_verdicts(connection)
        if v.candidate_id in shown and v.candidate_hash in ("", shown[v.candidate_id][1])
    ]
    candidates = [question for question, _ in shown.values()]
    scores = _training(connection)
    report = agreement_report(candidates, verdicts, training=scores, resamples=resamples)
    people = documents.protocol(connection).per_item
    compared, problem = None, ""
    try:
        compared = compare_policies(
            candidates,
            verdicts,
            _minutes(connection),
            [msgspec.structs.replace(policy, people=people) for policy in POLICIES],
        )
    except UserError as error:  # a verdict from elsewhere that does not fit its item must not hide the rest
        problem = str(error.message)
    return Snapshot(
        key=key,
        at=at,
        seconds=time.monotonic() - began,
        report=report,
        policies=_without_items(compared),
        problem=problem,
        training=scores,
    )


def _population(connection: Connection) -> dict[str, tuple[Question, str]]:
    t = tables().items
    query = t.select().with_only_columns(t.c.body, t.c.candidate_hash)
    query = query.where(t.c.state.not_in(_NOT_SHOWN), t.c.in_training.is_(False)).order_by(t.c.id)
    decoder = msgspec.json.Decoder(Question)
    found = {}
    for body, digest in connection.execution_options(yield_per=2_000).execute(query):
        question = decoder.decode(body)
        found[question.id] = (question, digest)
    return found


def _training(connection: Connection) -> dict[str, float]:
    t = tables().people
    pids = {row.id: row.pid for row in connection.execute(t.select().with_only_columns(t.c.id, t.c.pid))}
    return {
        pids[number]: score.agreed / score.statements
        for number, score in training.scores(connection).items()
        if score.statements
    }


def _minutes(connection: Connection) -> Minutes:
    a = tables().assignments
    query = a.select().with_only_columns(a.c.stage, a.c.active_ms)
    query = query.where(a.c.state == "submitted", a.c.live.is_(True), a.c.blind_repeat.is_(False))
    spent: dict[str, list[float]] = {"judge": [], "adjudicate": []}
    for stage, milliseconds in connection.execute(query.where(a.c.stage.in_(tuple(spent)))):
        spent[stage].append(milliseconds)
    return median_minutes(spent["judge"], spent["adjudicate"])


def _without_items(compared: PolicyComparison | None) -> PolicyComparison | None:
    """Leave out the list of changed items, which may be as long as the project; their numbers stay."""
    if compared is None:
        return None
    outcomes = tuple(msgspec.structs.replace(outcome, changes=()) for outcome in compared.outcomes)
    return msgspec.structs.replace(compared, outcomes=outcomes)


# -- when they are computed ------------------------------------------------------------------------------------


class Snapshots:
    """Keeps the last numbers of a desk and has newer ones computed; may be used from many threads.

    Args:
        desk: open.
        small: items judged twice up to which this process computes.
        again_seconds: see ``AGAIN_SECONDS``.
        longest_seconds: until a process counts as hanging.
    """

    def __init__(
        self,
        desk: Desk,
        *,
        small: int = SMALL,
        again_seconds: float = AGAIN_SECONDS,
        longest_seconds: float = LONGEST_SECONDS,
    ) -> None:
        self._desk = desk
        self._small, self._again = small, again_seconds
        self._changed = threading.Condition()
        self._last: Snapshot | None = None
        self._loaded = False
        self._running = False
        self._ended = float("-inf")
        self._problem = ""
        self._process = Apart(desk, longest_seconds)
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Number of the process that computes, None while there is none."""
        return self._process.pid

    def look(self, *, wait: float = 0.0, now: bool = False) -> Look:
        """Return the last numbers, and have newer ones computed when something was said since.

        Args:
            wait: seconds to wait for newer ones while the project is small.
            now: begin even when the last computation has only just ended, or nothing has changed.

        Raises:
            UserError: if the database cannot be used.
        """
        self._load()
        key, many = self._desk.read(lambda c: (current_key(c), _judged_twice(c, self._small)))
        apart = many > self._small
        until = time.monotonic() + (0.0 if apart else wait)
        with self._changed:
            if now or self._is_due(key, apart):
                self._begin(apart)
            while self._running and (left := until - time.monotonic()) > 0:
                self._changed.wait(left)
            fresh = self._last is not None and self._last.key == key
            return Look(self._last, fresh, self._running, self._problem)

    def wait(self, seconds: float) -> bool:
        """Wait until nothing is being computed; false when it still is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._running, seconds)

    def close(self) -> None:
        """End what is being computed."""
        with self._changed:
            self._closed = True
            self._process.close()

    def _is_due(self, key: Key, apart: bool) -> bool:
        if self._last is not None and self._last.key == key:
            return False
        quiet = self._again if apart or self._problem else 0.0
        return time.monotonic() - self._ended >= quiet

    def _begin(self, apart: bool) -> None:
        if self._running or self._closed:
            return
        self._running = True
        work = self._apart if apart else self._here
        threading.Thread(target=self._run, args=(work, apart), name="proctor-numbers", daemon=True).start()

    def _run(self, work: Any, keep: bool) -> None:
        made, problem = None, ""
        try:
            made = work()
            if keep:
                self._keep(made)
        except UserError as error:
            problem = str(error.message)
        except Exception as error:  # whatever it is, the page must say so and not wait for ever
            problem = f"{type(error).__name__}: {error}"
        with self._changed:
            self._last = made or self._last
            self._problem, self._running, self._ended = problem, False, time.monotonic()
            self._changed.notify_all()

    def _here(self) -> Snapshot:
        at = self._desk.now()
        return self._desk.read(lambda c: compute_snapshot(c, at=at))

    def _apart(self) -> Snapshot:
        made: Snapshot = self._process.run(_compute, (self._desk.now(),), lambda: not self._closed)
        return made

    # -- across restarts -----------------------------------------------------------------------------------------

    def _load(self) -> None:
        """Take the numbers that an earlier run of the studio kept; what cannot be read is computed anew."""
        with self._changed:
            if self._loaded:
                return
            self._loaded = True
        t = tables().meta
        row = self._desk.read(lambda c: c.execute(t.select().where(t.c.key == _META)).first())
        if row is not None:
            with suppress(msgspec.MsgspecError), self._changed:
                self._last = self._last or msgspec.json.decode(row.value, type=Snapshot)

    def _keep(self, made: Snapshot) -> None:
        t = tables().meta
        body = msgspec.json.encode(made).decode()

        def job(connection: Connection) -> None:
            connection.execute(t.delete().where(t.c.key == _META))
            connection.execute(self._desk.database.insert(t), {"key": _META, "value": body})

        self._desk.write(job).result()


def _judged_twice(connection: Connection, small: int) -> int:
    """Count the items that two people judged, as far as it matters."""
    t = tables().items
    some = t.select().with_only_columns(t.c.id).where(t.c.agreement.in_(("same", "question", "answers")))
    return int(
        connection.execute(select(func.count()).select_from(some.limit(small + 1).subquery())).scalar_one()
    )


def _compute(_desk: Desk, connection: Connection, at: float) -> Snapshot:
    return compute_snapshot(connection, at=at)
