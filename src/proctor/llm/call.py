"""One call on its way: budget, flow, model, and what its attempts leave behind in the store."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import msgspec

from proctor.llm.budget import BudgetReached, Need, Reservation
from proctor.llm.outcome import (
    FAILURE_KINDS,
    AttemptRecord,
    Failure,
    Outcome,
    Truncated,
    Usage,
    is_final,
    outcome_kind,
)
from proctor.llm.store import attempt_row, decode_outcome, storable
from proctor.records import canonical_json

if TYPE_CHECKING:
    from proctor.llm.media import MediaStore
    from proctor.llm.message import Request
    from proctor.llm.model import Model
    from proctor.llm.store import CallStore

__all__ = [
    "FIRST_PAUSE",
    "NEVER",
    "BudgetLike",
    "Call",
    "FlowLike",
    "Means",
    "Meter",
    "Prepared",
    "Stop",
    "Tally",
    "cancelled",
]

FIRST_PAUSE: Final = 0.05
"""Seconds until the second look at a call that somebody else is making."""
_UNLIMITED_SECONDS: Final = 24 * 3600.0
"""Deadline of models without an endpoint: people take their time."""


class FlowLike(Protocol):
    """What a caller needs of ``proctor.llm.flow.Flow``."""

    async def run(
        self,
        endpoint: str,
        tokens: int,
        attempt: Callable[[float], Awaitable[Outcome]],
        on_attempt: Callable[[AttemptRecord], None],
    ) -> Outcome:
        """Send a call when its turn has come, and again when that may help."""
        ...


class BudgetLike(Protocol):
    """What a caller needs of ``proctor.llm.budget.Budget``."""

    async def reserve_when_free(self, need: Need) -> Reservation:
        """Set aside what a call may take, or raise ``BudgetReached``."""
        ...

    def spend(self, reservation: Reservation, usage: Usage, cost: int | None) -> None:
        """Count an attempt that was charged."""
        ...

    def fear(self, reservation: Reservation) -> None:
        """Count an attempt that may have been charged."""
        ...

    def again(self, reservation: Reservation) -> None:
        """Make sure that another attempt fits, or raise ``BudgetReached``."""
        ...

    def settle(self, reservation: Reservation, usage: Usage | None, cost: int | None) -> None:
        """Give back what was set aside for a call that is over; with usage None nothing more was charged."""
        ...

    def cancel(self, reservation: Reservation) -> None:
        """Give back what was set aside for a call that was never sent."""
        ...


class Meter(Protocol):
    """What a call may take at worst, and what it took."""

    def need(self, request: Request) -> Need:
        """Estimate tokens and cost of a request."""
        ...

    def cost(self, model: str, usage: Usage) -> int | None:
        """Return nano-dollars, None when the price is not known."""
        ...


@dataclass(slots=True)
class Tally:
    """What a caller did, for the closing line of a stage.

    Attributes:
        stored: answered from the store, nothing paid.
        sent: handed to a model, whatever came of it.
        kinds: outcomes by kind, those from the store included.
        cost: nano-dollars of this run, as far as prices are known.
        unpriced: attempts that were charged at an unknown price.
        lost: attempts that may have been charged although no reply came.
        feared: nano-dollars that these may have cost at worst, not in ``cost``, as far as prices are known.
        stopped: why nothing more is sent; empty while it is.
        cut_off: replies that were cut off, by model and limit on tokens, and of them those without a word.
        why: what the first failure of each kind says.
    """

    stored: int = 0
    sent: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    cost: int = 0
    unpriced: int = 0
    lost: int = 0
    feared: int = 0
    stopped: str = ""
    cut_off: dict[tuple[str, int | None], tuple[int, int]] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)

    def add(self, request: Request, outcome: Outcome) -> None:
        """Count an outcome."""
        kind = outcome_kind(outcome)
        if isinstance(outcome, Truncated):
            name = request.model, request.parameters.max_tokens
            replies, silent = self.cut_off.get(name, (0, 0))
            self.cut_off[name] = replies + 1, silent + (not outcome.text.strip())
        if isinstance(outcome, Failure):
            self.why.setdefault(kind, outcome.message)
        self.kinds[kind] = self.kinds.get(kind, 0) + 1


class Prepared(NamedTuple):
    """A request on its way: its canonical form is made once."""

    request: Request
    key: str
    body: str
    stage: str


class Stop:
    """Says whether a run is being stopped: nothing new is sent then."""

    stopping = False


NEVER: Final = Stop()


def cancelled() -> Failure:
    """Return what becomes of a call that a stop kept from being sent."""
    return Failure(kind="cancelled", message="the run was stopped before the call was sent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What a call is made with.

    Attributes:
        store: where calls are kept.
        media: where the bytes of images, video and audio are.
        flow: decides when a call is sent, and whether again.
        budget: limits of the run.
        tally: counts.
        meter: tokens and prices; a function, since the tables are read when the first call is made.
        model: from a name to a model of the running event loop.
        hide: takes our own keys out of a text.
    """

    store: CallStore
    media: MediaStore
    flow: FlowLike
    budget: BudgetLike
    tally: Tally
    meter: Callable[[], Meter]
    model: Callable[[str], Model]
    hide: Callable[[str], str]


class Call:
    """One request on its way through budget and flow, with what its attempts left behind.

    Args:
        means: what it is made with.
        ask: the request; the claim on its key is ours.
        stop: nothing more is sent once it says so.
    """

    def __init__(self, means: Means, ask: Prepared, stop: Stop) -> None:
        self._means = means
        self._ask = ask
        self._stop = stop
        self._reservation: Reservation | None = None
        self._sent = 0
        self._started = 0.0
        self._begun = 0.0
        self._records: list[AttemptRecord] = []

    async def run(self) -> Outcome:
        """Make the call and store what came of it; the claim is given back whatever happens."""
        try:
            outcome = await self._run()
        except BaseException as error:
            self._abandon(isinstance(error, asyncio.CancelledError))
            raise
        if not self._records:
            self._means.store.lane.release(self._ask.key)  # it was never sent
            return outcome
        outcome, row = self._row(outcome)
        stored = await self._means.store.lane.finish(self._ask.key, row)
        if stored is not None and stored != row["outcome"]:  # another process was first
            return decode_outcome(stored, f"{self._means.store.place}: call {self._ask.key[:12]}")
        return outcome

    async def _run(self) -> Outcome:
        """Reserve, send, settle."""
        means, ask = self._means, self._ask
        model = means.model(ask.request.model)
        if means.tally.stopped:
            return Failure(kind="budget", message=means.tally.stopped)
        need = means.meter().need(ask.request)
        try:
            reservation = self._reservation = await means.budget.reserve_when_free(need)
        except BudgetReached as reached:
            return self._over_budget(reached)
        try:
            if model.endpoint:
                outcome = await means.flow.run(
                    model.endpoint,
                    need.tokens if need.paced is None else need.paced,
                    lambda seconds: self._attempt(model, seconds),
                    self._on_attempt,
                )
            else:
                outcome = await self._attempt(model, _UNLIMITED_SECONDS)
            if not self._records:  # nobody kept count of it
                seconds = time.monotonic() - self._begun
                self._on_attempt(AttemptRecord.of(1, self._started, seconds, outcome))
            return outcome
        except BaseException as error:
            self._account_for_what_flew(isinstance(error, asyncio.CancelledError))
            raise
        finally:
            if self._sent:
                means.budget.settle(reservation, None, None)
                means.tally.sent += 1
            else:
                means.budget.cancel(reservation)

    async def _attempt(self, model: Model, timeout: float) -> Outcome:
        if self._stop.stopping:
            return cancelled()
        if any(record.is_charged or record.lost for record in self._records):
            assert self._reservation is not None
            try:
                self._means.budget.again(self._reservation)
            except BudgetReached as reached:
                return self._over_budget(reached)
        self._sent += 1
        self._started, self._begun = time.time(), time.monotonic()
        return await model.attempt(self._ask.request, self._means.media, timeout=timeout)

    def _over_budget(self, reached: BudgetReached) -> Failure:
        """Return the failure; nothing more is sent by anybody when there will be no room."""
        if not reached.may_fit_later:
            self._means.tally.stopped = reached.message
        return Failure(kind="budget", message=reached.message)

    # -- attempts --------------------------------------------------------------------------------------------

    def _on_attempt(self, record: AttemptRecord) -> None:
        """Keep an attempt: on its way to disk at once, since a failed one may be followed by a long wait."""
        if len(self._records) >= self._sent:
            return  # nothing was sent: the run is being stopped, or the money is spent
        record = self._priced(record)
        if record.message:
            record = msgspec.structs.replace(record, message=self._means.hide(record.message))
        self._records.append(record)
        self._means.store.lane.attempt(self._ask.key, attempt_row(self._ask.key, record))

    def _priced(self, record: AttemptRecord) -> AttemptRecord:
        """Count what an attempt cost, or may have cost, and return it with that."""
        means, reservation = self._means, self._reservation
        assert reservation is not None
        if record.is_charged:
            cost = means.meter().cost(self._ask.request.model, record.usage)
            means.budget.spend(reservation, record.usage, cost)
            means.tally.cost += cost or 0
            means.tally.unpriced += cost is None
            return msgspec.structs.replace(record, cost=cost)
        if record.lost:
            feared = reservation.need.cost
            means.budget.fear(reservation)
            means.tally.lost += 1
            means.tally.feared += feared or 0
            return msgspec.structs.replace(record, feared=feared)
        return record

    def _account_for_what_flew(self, stopped: bool) -> None:
        """Count an attempt that nobody has heard the end of: one that was cut off is on record, a bug is not."""
        if self._sent <= len(self._records):
            return
        assert self._reservation is not None
        if not stopped:
            self._means.budget.fear(self._reservation)
            return
        record = AttemptRecord(
            number=len(self._records) + 1,
            started=self._started,
            seconds=time.monotonic() - self._begun,
            outcome="cancelled",
            message="the run was stopped while the call was in flight",
            lost=True,
        )
        self._on_attempt(record)

    # -- to the store ----------------------------------------------------------------------------------------

    def _abandon(self, stopped: bool) -> None:
        """Give the claim back without waiting."""
        lane, key = self._means.store.lane, self._ask.key
        if not self._records:
            lane.release(key)
            return
        last = self._records[-1]
        kind = "cancelled" if stopped or last.outcome not in FAILURE_KINDS else last.outcome
        lane.fail(key, self._row(Failure(kind=kind, message=last.message))[1])

    def _row(self, outcome: Outcome) -> tuple[Outcome, dict[str, Any]]:
        """Return the outcome as it can be stored, and the row of the call."""
        last, text, message = self._records[-1], None, ""
        if is_final(outcome):
            outcome, text = self._storable(outcome)
        if isinstance(outcome, Failure) and text is None:
            # As it will be read back: a later run says the same of the call to the letter.
            message = storable(self._means.hide(outcome.message))
            outcome = msgspec.structs.replace(outcome, message=message)
        usage = outcome.usage
        return outcome, {
            "key": self._ask.key,
            "model": self._ask.request.model,
            "stage": self._ask.stage,
            "kind": outcome_kind(outcome),
            "created": time.time(),
            "seconds": last.seconds,
            "input": usage.input,
            "output": usage.output,
            "cached": usage.cached,
            "cost": last.cost,
            "outcome": text,
            "request": self._ask.body,
            "message": message,
        }

    def _storable(self, outcome: Outcome) -> tuple[Outcome, str | None]:
        """Return an outcome and its JSON, without our own keys should the other side have sent them back."""
        try:
            text = canonical_json(outcome).decode()
        except UnicodeError:
            return Failure(kind="server", message="the reply holds text that is not Unicode"), None
        hidden = self._means.hide(text)
        if hidden != text:
            text = hidden
            outcome = decode_outcome(text, self._ask.key[:12])
        return outcome, text
