"""Asking: the store first, then budget and flow, then the model; what came of it is on disk before anybody sees it.

``Caller`` asks from coroutines, ``run_calls`` from ordinary code. Order and concurrency never change an outcome; only
the order in which results appear differs.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import queue
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from proctor.errors import UserError
from proctor.llm.attempt import NO_USAGE, AttemptRecord, outcome_kind, usage_of
from proctor.llm.budget import BudgetReached, Need, Reservation
from proctor.llm.lane import Claim
from proctor.llm.outcome import FAILURE_KINDS, Failure, Outcome, Usage, is_final
from proctor.llm.store import attempt_row, decode_outcome
from proctor.records import canonical_json

if TYPE_CHECKING:
    from proctor.llm.media import MediaStore
    from proctor.llm.message import Request
    from proctor.llm.model import Model
    from proctor.llm.store import CallStore

__all__ = ["CONCURRENCY", "BudgetLike", "Caller", "FlowLike", "Meter", "Tally", "run_calls"]

CONCURRENCY: Final = 512
"""Calls that are asked at once. How many are really sent is for the flow to say; the others wait for the disk meanwhile."""
GRACE_SECONDS: Final = 5.0
"""How long calls in flight may still come in after the run was stopped; they are paid for already."""
_WAITING: Final = 1_000
"""Calls that another process is making, and that a run waits for beside its own."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
"""Seconds between two looks at a call that somebody else is making."""
_CHUNK: Final = 256
_CHUNK_SECONDS: Final = 0.02
"""Requests are taken this many, or this long, at a time: making one may be slow."""
_SECRET_LENGTH: Final = 16
"""A variable that is shorter holds no key, and hiding it would change innocent words."""


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

    def settle(self, reservation: Reservation, usage: Usage | None, cost: int | None) -> None:
        """Replace what was set aside by what was used."""
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
        stopped: why nothing more is sent; empty while it is.
    """

    stored: int = 0
    sent: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    cost: int = 0
    unpriced: int = 0
    stopped: str = ""

    def add(self, outcome: Outcome) -> None:
        """Count an outcome."""
        kind = outcome_kind(outcome)
        self.kinds[kind] = self.kinds.get(kind, 0) + 1


class _Ask(NamedTuple):
    """A request on its way: its canonical form is made once."""

    request: Request
    key: str
    body: str
    stage: str


class _Stop:
    """Says whether a run is being stopped: nothing new is sent then."""

    stopping = False


_NEVER: Final = _Stop()


class Caller:
    """Asks models, and pays for nothing twice.

    One caller may serve any number of coroutines, and several event loops one after the other.

    Args:
        store: where calls are kept.
        media: where the bytes of images, video and audio are.
        flow: decides when a call is sent, and whether again.
        budget: limits of the run.
        resolve: from a name to a model; called only when something has to be sent, so that a run whose calls are all
            stored needs no key. ``proctor.llm.registry.resolve`` by default.
        meter: tokens and prices; Proctor's tables by default.
        offline: never send: what is not stored is a failure of the kind ``replay_miss``.
        concurrency: calls asked at once by ``ask_all``.
    """

    def __init__(
        self,
        store: CallStore,
        media: MediaStore,
        flow: FlowLike,
        budget: BudgetLike,
        resolve: Callable[[str], Model] | None = None,
        *,
        meter: Meter | None = None,
        offline: bool = False,
        concurrency: int = CONCURRENCY,
    ) -> None:
        self._store = store
        self._lane = store.lane
        self._media = media
        self._flow = flow
        self._budget = budget
        self._resolve = resolve or _default_resolve
        self._given_meter = meter
        self._offline = offline
        self.concurrency = concurrency
        self.tally = Tally()
        self._secrets = _secrets()
        self._models: dict[tuple[asyncio.AbstractEventLoop, str], Model] = {}
        self._asking: dict[tuple[asyncio.AbstractEventLoop, str], asyncio.Future[Outcome | None]] = {}

    @property
    def _meter(self) -> Meter:
        """Tables of prices are read when the first call is made, and not for a run that is all stored."""
        if self._given_meter is None:
            self._given_meter = _default_meter()
        return self._given_meter

    # -- one call --------------------------------------------------------------------------------------------

    async def ask(self, request: Request, *, stage: str = "") -> Outcome:
        """Return what became of a request, now or earlier. Equal requests at once are one call.

        A limit that is reached is ``Failure(kind="budget")``, and from then on nothing more is sent.

        Raises:
            UserError: if the model does not exist, has no key, or the store cannot be written.
        """
        outcome = await self._ask(self._prepared(request, stage), _NEVER, patient=True)
        assert outcome is not None
        self.tally.add(outcome)
        return outcome

    async def close(self) -> None:
        """Give the connections of this event loop back; the next question opens new ones."""
        loop = asyncio.get_running_loop()
        mine = [name for name in self._models if name[0] is loop]
        for name in mine:
            await self._models.pop(name).close()

    def _prepared(self, request: Request, stage: str) -> _Ask:
        try:
            body = canonical_json(request)
            text = body.decode()
        except UnicodeError:
            raise UserError("a request holds text that is not Unicode.", where=request.model[:80]) from None
        for variable, secret in self._secrets:
            if secret in text:
                raise UserError(
                    f"a request holds what is in the environment variable {variable}.",
                    where=request.model[:80],
                    hint="keys are not part of a request: Proctor reads them from the environment itself",
                )
        if "\x00" in request.model or "\x00" in stage:
            raise UserError("the name of a model or a stage holds a NUL character.")
        return _Ask(request, hashlib.sha256(body).hexdigest(), text, stage)

    async def _ask(self, ask: _Ask, stop: _Stop, *, patient: bool) -> Outcome | None:
        """Join the call if it is being made here already, else lead it. None: another process is making it."""
        name = (asyncio.get_running_loop(), ask.key)
        while (leader := self._asking.get(name)) is not None:
            # Shielded, since a follower that is cancelled must not take the others with it.
            outcome = await asyncio.shield(leader)
            if outcome is not None:
                return outcome
        mine = self._asking[name] = name[0].create_future()
        outcome = None
        try:
            outcome = await self._lead(ask, stop, patient=patient)
        finally:
            del self._asking[name]
            if not mine.done():
                # None: those who waited try for themselves. That our run is being stopped does not concern theirs.
                stopped = isinstance(outcome, Failure) and outcome.kind == "cancelled"
                mine.set_result(None if stopped else outcome)
        return outcome

    async def _lead(self, ask: _Ask, stop: _Stop, *, patient: bool) -> Outcome | None:
        if ask.request.model.startswith("replay/"):
            return await self._model(ask.request.model).attempt(ask.request, self._media, timeout=60.0)
        if self._offline or self.tally.stopped:
            return await self._only_stored(ask)
        pause = _FIRST_PAUSE
        while True:
            state = await self._lane.begin(ask.key)
            if isinstance(state, str):
                self.tally.stored += 1
                return decode_outcome(state, f"{self._store.place}: call {ask.key[:12]}")
            if state is Claim.OURS:
                break
            if not patient:
                return None
            if stop.stopping:
                return _cancelled()
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
        return await self._make(ask, stop)

    async def _only_stored(self, ask: _Ask) -> Outcome:
        found = (await self._lane.lookup([ask.key])).get(ask.key)
        if found is not None:
            self.tally.stored += 1
            return decode_outcome(found, f"{self._store.place}: call {ask.key[:12]}")
        if self.tally.stopped:
            return Failure(kind="budget", message=self.tally.stopped)
        return Failure(
            kind="replay_miss", message=f"the store has no call {ask.key[:12]}, and nothing is sent"
        )

    async def _make(self, ask: _Ask, stop: _Stop) -> Outcome:
        """Send a request whose claim is ours, and store what came of it; the claim is always given back."""
        call = _Call(self, ask, stop)
        try:
            outcome = await call.run()
        except BaseException as error:
            call.abandon(isinstance(error, asyncio.CancelledError))
            raise
        if not call.records:
            self._lane.release(ask.key)  # it was never sent
            return outcome
        outcome, row = call.row(outcome)
        stored = await self._lane.finish(ask.key, row)
        if stored is not None and stored != row["outcome"]:
            return decode_outcome(stored, f"{self._store.place}: call {ask.key[:12]}")
        return outcome

    def _model(self, name: str) -> Model:
        place = (asyncio.get_running_loop(), name)
        model = self._models.get(place)
        if model is None:
            model = self._models[place] = self._resolve(name)
        return model

    def _hidden(self, text: str) -> str:
        for variable, secret in self._secrets:
            text = text.replace(secret, f"[{variable}]")
        return text

    # -- many calls ------------------------------------------------------------------------------------------

    async def ask_all(
        self, requests: Iterable[Request], *, stage: str = "", grace: float = GRACE_SECONDS
    ) -> AsyncGenerator[tuple[Request, Outcome], None]:
        """Yield every request with its outcome, in any order; memory does not grow with their number.

        Requests are taken as they are needed: a list in this thread, any other iterable in a thread of its own (making
        a request may mean to encode images). When the consumer stops (it is cancelled, or closes the iterator: use
        ``contextlib.aclosing``), nothing more is sent, calls in flight have ``grace`` seconds to come in and be stored,
        and the rest is recorded as cancelled.

        Args:
            requests: what to ask; equal ones are one call, and each gets its outcome.
            stage: name that the calls are stored and summed under.
            grace: seconds for calls in flight after a stop.

        Raises:
            UserError: as ``ask``; calls in flight then end as after a stop.
        """
        run = _Run(self, requests, stage)
        try:
            async with aclosing(run.results()) as results:
                async for pair in results:
                    yield pair
        finally:
            await run.stop(grace)


class _Call:
    """One request on its way through budget and flow, with what its attempts left behind."""

    def __init__(self, caller: Caller, ask: _Ask, stop: _Stop) -> None:
        self._caller = caller
        self._ask = ask
        self._stop = stop
        self._sent = 0
        self._started = 0.0
        self._begun = 0.0
        self.records: list[AttemptRecord] = []

    async def run(self) -> Outcome:
        """Reserve, send, settle."""
        caller, ask = self._caller, self._ask
        model = caller._model(ask.request.model)
        if caller.tally.stopped:
            return Failure(kind="budget", message=caller.tally.stopped)
        need = caller._meter.need(ask.request)
        try:
            reservation = await caller._budget.reserve_when_free(need)
        except BudgetReached as reached:
            caller.tally.stopped = reached.message
            return Failure(kind="budget", message=reached.message)

        async def attempt(timeout: float) -> Outcome:
            if self._stop.stopping:
                return _cancelled()
            self._sent += 1
            self._started, self._begun = time.time(), time.monotonic()
            return await model.attempt(ask.request, caller._media, timeout=timeout)

        try:
            if model.endpoint:
                outcome = await caller._flow.run(model.endpoint, need.tokens, attempt, self._on_attempt)
            else:
                outcome = await attempt(_UNLIMITED_SECONDS)
            if not self.records:  # nobody kept count of it
                seconds = time.monotonic() - self._begun
                self._on_attempt(AttemptRecord.of(1, self._started, seconds, outcome))
            return outcome
        finally:
            if self._sent:
                caller._budget.settle(reservation, *self._used())
                caller.tally.sent += 1
            else:
                caller._budget.cancel(reservation)

    def _on_attempt(self, record: AttemptRecord) -> None:
        """Keep an attempt: on its way to disk at once, since a failed one may be followed by a long wait."""
        if len(self.records) >= self._sent:
            return  # nothing was sent: the run is being stopped
        if record.cost is None and _is_charged(record):
            cost = self._caller._meter.cost(self._ask.request.model, record.usage)
            record = _with(record, cost=cost)
            self._caller.tally.cost += cost or 0
            self._caller.tally.unpriced += cost is None
        if record.message:
            record = _with(record, message=self._caller._hidden(record.message))
        self.records.append(record)
        self._caller._lane.attempt(self._ask.key, attempt_row(self._ask.key, record))

    def _used(self) -> tuple[Usage | None, int | None]:
        """Return what all attempts used: None for nothing, unknown parts as None."""
        charged = [record for record in self.records if _is_charged(record)]
        if self._sent > len(self.records) or any(record.outcome == "cancelled" for record in self.records):
            return NO_USAGE, None  # one was cut off, and may be charged: it counts as feared
        if not charged:
            return None, None
        costs = [record.cost for record in charged]
        return _sum([r.usage for r in charged]), None if None in costs else sum(c or 0 for c in costs)

    def abandon(self, cancelled: bool) -> None:
        """Give the claim back without waiting; an attempt that was cut off is recorded as cancelled."""
        lane, key = self._caller._lane, self._ask.key
        if cancelled and self._sent > len(self.records):
            record = AttemptRecord(
                number=len(self.records) + 1,
                started=self._started,
                seconds=time.monotonic() - self._begun,
                outcome="cancelled",
                message="the run was stopped while the call was in flight",
            )
            self._on_attempt(record)
        if self.records:
            last = self.records[-1]
            kind = "cancelled" if cancelled or last.outcome not in FAILURE_KINDS else last.outcome
            lane.fail(key, self.row(Failure(kind=kind, message=last.message))[1])
        else:
            lane.release(key)

    def row(self, outcome: Outcome) -> tuple[Outcome, dict[str, Any]]:
        """Return the outcome as it can be stored, and the row of the call."""
        text = None
        if is_final(outcome):
            outcome, text = self._storable(outcome)
        last = self.records[-1]
        usage = usage_of(outcome)
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
        }

    def _storable(self, outcome: Outcome) -> tuple[Outcome, str | None]:
        """Return an outcome and its JSON, without our own keys should the other side have sent them back."""
        try:
            text = canonical_json(outcome).decode()
        except UnicodeError:
            return Failure(kind="server", message="the reply holds text that is not Unicode"), None
        hidden = self._caller._hidden(text)
        if hidden != text:
            text = hidden
            outcome = decode_outcome(text, self._ask.key[:12])
        return outcome, text


_UNLIMITED_SECONDS: Final = 24 * 3600.0
"""Deadline of models without an endpoint: people take their time."""


class _Run(_Stop):
    """Workers that answer requests for one ``ask_all``."""

    def __init__(self, caller: Caller, requests: Iterable[Request], stage: str) -> None:
        self._caller = caller
        self._requests = requests
        self._stage = stage
        self._todo: asyncio.Queue[_Ask | None] = asyncio.Queue(caller.concurrency)
        self._results: asyncio.Queue[list[tuple[Request, Outcome]] | None] = asyncio.Queue(_CHUNK)
        self._waiting = 0
        self._error: Exception | None = None
        self._group = asyncio.TaskGroup()
        self._main: asyncio.Task[None] | None = None

    async def results(self) -> AsyncGenerator[tuple[Request, Outcome], None]:
        """Yield results; ends when all are there, or raises what went wrong."""
        self._main = asyncio.create_task(self._work())
        while (pairs := await self._results.get()) is not None:
            for pair in pairs:
                yield pair
        if self._error is not None:
            raise self._error

    async def stop(self, grace: float) -> None:
        """Send nothing more, let calls in flight come in for a while, cancel the rest."""
        main = self._main
        if main is None:
            return
        self.stopping = True
        self._end_of_work()
        until = time.monotonic() + grace
        try:
            while not main.done() and time.monotonic() < until:
                self._discard()
                await asyncio.wait({main}, timeout=0.02)
        finally:
            main.cancel()
            while not main.done():
                self._discard()
                await asyncio.wait({main}, timeout=0.02)
            if not main.cancelled() and (error := main.exception()) is not None:
                raise error

    def _discard(self) -> None:
        """Make room, so that workers that want to deliver can end."""
        with suppress(asyncio.QueueEmpty):
            while True:
                self._results.get_nowait()

    def _fail(self, error: Exception) -> None:
        """End the run for an error; calls in flight may still come in."""
        self._error = self._error or error
        self.stopping = True
        self._discard()
        self._results.put_nowait(None)

    def _end_of_work(self) -> None:
        """Send the workers home, whatever is left to do."""
        with suppress(asyncio.QueueEmpty):
            while True:
                self._todo.get_nowait()
        for _ in range(self._caller.concurrency):
            self._todo.put_nowait(None)

    async def _work(self) -> None:
        async with self._group as group:
            group.create_task(self._feed())
            for _ in range(self._caller.concurrency):
                group.create_task(self._worker())
        await self._results.put(None)

    async def _feed(self) -> None:
        """Take requests in chunks, answer what is stored at once, and leave the rest to the workers."""
        ahead: tuple[list[_Ask], asyncio.Future[dict[str, str]]] | None = None
        try:
            async with aclosing(_chunks(self._requests)) as chunks:
                async for chunk in chunks:
                    if self.stopping:
                        return
                    asks = [self._caller._prepared(request, self._stage) for request in chunk]
                    behind, ahead = ahead, (asks, self._caller._lane.lookup([ask.key for ask in asks]))
                    if behind is not None:
                        await self._hand_out(*behind)
                    if not isinstance(self._requests, list | tuple):
                        # The next chunk may be slow to make. Of a list, it is prepared during the look-up instead.
                        behind, ahead = ahead, None
                        await self._hand_out(*behind)
            if ahead is not None:
                await self._hand_out(*ahead)
        except Exception as error:  # raised where the results are read
            self._fail(error)
            return
        finally:
            if ahead is not None:
                ahead[1].cancel()
        for _ in range(self._caller.concurrency):
            if not self.stopping:
                await self._todo.put(None)

    async def _hand_out(self, asks: list[_Ask], lookup: asyncio.Future[dict[str, str]]) -> None:
        """Deliver what is stored, and give the rest to the workers."""
        place = self._caller._store.place
        found = await lookup
        stored: list[tuple[Request, Outcome]] = []
        missing: list[_Ask] = []
        for ask in asks:
            text = found.get(ask.key)
            if text is None:
                missing.append(ask)
            else:
                stored.append((ask.request, decode_outcome(text, f"{place}: call {ask.key[:12]}")))
        self._caller.tally.stored += len(stored)
        await self._deliver(stored)
        for ask in missing:
            if not self.stopping:
                await self._todo.put(ask)

    async def _worker(self) -> None:
        while (ask := await self._todo.get()) is not None:
            if not self.stopping:
                await self._answer(ask, patient=self._waiting >= _WAITING)

    async def _wait(self, ask: _Ask) -> None:
        await asyncio.sleep(_FIRST_PAUSE)
        await self._answer(ask, patient=True)
        self._waiting -= 1

    async def _answer(self, ask: _Ask, *, patient: bool) -> None:
        try:
            outcome = await self._caller._ask(ask, self, patient=patient)
        except Exception as error:  # raised where the results are read
            self._fail(error)
            return
        if outcome is None:  # another process is making it: go on with something else meanwhile
            self._waiting += 1
            self._group.create_task(self._wait(ask))
        else:
            await self._deliver([(ask.request, outcome)])

    async def _deliver(self, pairs: list[tuple[Request, Outcome]]) -> None:
        if pairs:
            for _, outcome in pairs:
                self._caller.tally.add(outcome)
            await self._results.put(pairs)


async def _chunks(requests: Iterable[Request]) -> AsyncGenerator[Sequence[Request], None]:
    """Yield requests in chunks without ever holding up the event loop."""
    if isinstance(requests, list | tuple):
        for start in range(0, len(requests), _CHUNK):
            yield requests[start : start + _CHUNK]
        return
    iterator = iter(requests)
    loop = asyncio.get_running_loop()
    executor = ThreadPoolExecutor(
        1, "proctor-requests"
    )  # always the same thread: the iterator may hold a database
    try:
        while chunk := await loop.run_in_executor(executor, _take, iterator):
            yield chunk
    finally:
        close = getattr(iterator, "close", None)
        if close is not None:
            executor.submit(close)
        executor.shutdown(wait=False)


def _take(iterator: Iterator[Request]) -> list[Request]:
    until = time.monotonic() + _CHUNK_SECONDS
    chunk: list[Request] = []
    for request in islice(iterator, _CHUNK):
        chunk.append(request)
        if time.monotonic() > until:
            break
    return chunk


def _cancelled() -> Failure:
    return Failure(kind="cancelled", message="the run was stopped before the call was sent")


def _is_charged(record: AttemptRecord) -> bool:
    return record.outcome not in FAILURE_KINDS or record.usage != NO_USAGE


def _with(record: AttemptRecord, **changes: Any) -> AttemptRecord:
    import msgspec

    return msgspec.structs.replace(record, **changes)


def _sum(usages: Sequence[Usage]) -> Usage:
    if len(usages) == 1:
        return usages[0]

    def total(values: Iterable[int | None]) -> int | None:
        known = list(values)
        return None if None in known else sum(value or 0 for value in known)

    return Usage(
        *(total(getattr(u, name) for u in usages) for name in ("input", "output", "cached", "reasoning"))
    )


def _secrets() -> list[tuple[str, str]]:
    """Return the environment's keys: they must never reach the store, whoever writes them into a text."""
    return [
        (name, value.strip())
        for name, value in os.environ.items()
        if name.endswith(("_API_KEY", "_TOKEN", "_KEY")) and len(value.strip()) >= _SECRET_LENGTH
    ]


def _default_resolve(name: str) -> Model:
    from proctor.llm.registry import resolve

    return resolve(name)


def _default_meter() -> Meter:
    from proctor.llm.estimate import Meter as Standard

    return Standard()


# -- for ordinary code ---------------------------------------------------------------------------------------------


def run_calls(
    caller: Caller,
    requests: Iterable[Request],
    *,
    stage: str = "",
    progress: Callable[[], None] | None = None,
    grace: float = GRACE_SECONDS,
) -> Iterator[tuple[Request, Outcome]]:
    """Yield every request with its outcome, in any order, from code that is not a coroutine.

    The calls are made in a thread with an event loop of its own, so this works inside a running loop too. When the
    consumer stops (Ctrl-C, an error, ``close`` of the iterator), the run stops as that of ``Caller.ask_all``; a second
    Ctrl-C does not wait for calls in flight. ``requests`` are taken in another thread.

    Args:
        caller: asks.
        requests: what to ask.
        stage: name that the calls are stored and summed under.
        progress: called once for each result.
        grace: seconds for calls in flight after a stop.

    Raises:
        UserError: as ``Caller.ask``.
    """
    runner = _Runner(caller, requests, stage, grace)
    runner.start()
    try:
        while (pair := runner.next()) is not None:
            yield pair
            if progress is not None:
                progress()
    finally:
        runner.stop()
    if runner.error is not None:
        raise runner.error


class _Runner(threading.Thread):
    """An event loop in a thread that makes calls and hands results over."""

    def __init__(self, caller: Caller, requests: Iterable[Request], stage: str, grace: float) -> None:
        super().__init__(name="proctor-caller", daemon=True)
        self._caller = caller
        self._requests = requests
        self._stage = stage
        self._grace = grace
        self._results: queue.Queue[tuple[Request, Outcome] | None] = queue.Queue(_CHUNK)
        self._stopping = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._ready = threading.Event()
        self._ended = threading.Event()
        self.error: BaseException | None = None

    def next(self) -> tuple[Request, Outcome] | None:
        """Return the next result; None after the last."""
        return self._results.get()

    def run(self) -> None:
        """Make the calls."""
        try:
            asyncio.run(self._main())
        except asyncio.CancelledError:
            pass
        except BaseException as error:  # raised again where the results are read
            self.error = error
        finally:
            self._ready.set()
            self._put(None)
            self._ended.set()

    async def _main(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        self._ready.set()
        try:
            results = self._caller.ask_all(self._requests, stage=self._stage, grace=self._grace)
            async with aclosing(results):
                async for pair in results:
                    while not self._stopping.is_set():
                        try:
                            self._results.put_nowait(pair)
                        except queue.Full:
                            await asyncio.sleep(0.005)
                        else:
                            break
        finally:
            await self._caller.close()

    def _put(self, pair: None) -> None:
        while True:
            try:
                self._results.put(pair, timeout=0.05)
            except queue.Full:
                if self._stopping.is_set():
                    return
            else:
                return

    def stop(self) -> None:
        """End the run and wait for its end; a second interruption ends it at once."""
        self._stopping.set()
        self._ready.wait()
        self._cancel()
        try:
            self._ended.wait()  # not join: Python 3.11 takes an interrupted join for the end of the thread
        except KeyboardInterrupt:
            self._cancel()
            self._ended.wait()
            raise
        finally:
            self.join(1.0)

    def _cancel(self) -> None:
        if self._loop is not None and self._task is not None:
            with suppress(RuntimeError):  # it ended meanwhile
                self._loop.call_soon_threadsafe(self._task.cancel)
