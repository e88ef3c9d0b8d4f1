"""When a call is sent, and whether it is sent again.

Every endpoint has a gate (``proctor.llm.gate``) that decides how many calls are in flight and when the next one goes. Here
is the life of one call: it waits for its turn, is sent, and is sent again after failures that may go away by themselves,
until there is an outcome, its attempts are used up or its deadline is over. Chance (jitter) only moves it in time: the outcome
is the one of the last attempt, whatever the order and the number of calls in flight.

"Too many calls" (429, overload) and faults (no connection, 5xx, cut replies, timeouts) are counted apart: an endpoint that
works but is busy deserves patience, one that breaks does not.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.llm.gate import EndpointState, FlowEvent, Gate, GateRules, Limits, asked_pause
from proctor.llm.outcome import AttemptRecord, Failure, Outcome

__all__ = ["EndpointState", "Flow", "FlowEvent", "FlowSettings", "GateRules", "Limits"]

_GRACE_SECONDS: Final = 5.0
"""An attempt that does not keep its own timeout is ended this much later."""
_HISTORY: Final = 2_000
"""Events that are kept; a run of days must not fill the memory."""
_THROTTLES: Final = frozenset({"rate_limit", "overload"})
_STOPPED: Final = Failure(kind="cancelled", message="the run was stopped before there was an outcome")
_CUT_OFF: Final = Failure(
    kind="cancelled", message="the run was stopped while the call was in flight", lost=True
)

Attempt = Callable[[float], Awaitable[Outcome]]
OnAttempt = Callable[[AttemptRecord], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowSettings:
    """How calls are sent.

    Attributes:
        limits: of every endpoint that ``endpoints`` does not name.
        endpoints: limits by the endpoint's name, or by how it begins; the longest one that fits holds.
        rules: how the number in flight, pauses and the breaker behave.
        attempts: of one call, at most, that end in a fault; probes for the breaker are not counted.
        throttled_attempts: of one call, at most, that are turned away by 429 or overload.
        deadline: seconds from the first time that a call is sent until it is given up.
        attempt_timeout: seconds of one attempt.
        seed: of the jitter.
    """

    limits: Limits = field(default_factory=Limits)
    endpoints: Mapping[str, Limits] = field(default_factory=dict)
    rules: GateRules = field(default_factory=GateRules)
    attempts: int = 8
    throttled_attempts: int = 30
    deadline: float = 900.0
    attempt_timeout: float = 300.0
    seed: int = 0

    def of(self, endpoint: str) -> Limits:
        """Return the limits of an endpoint."""
        fitting = [name for name in self.endpoints if endpoint.startswith(name)]
        return self.endpoints[max(fitting, key=len)] if fitting else self.limits

    def check(self) -> None:
        """Raise if a number makes no sense.

        Raises:
            UserError: naming it.
        """
        for limits in (self.limits, *self.endpoints.values()):
            _positive("concurrency", limits.concurrency)
            _positive("max_concurrency", limits.max_concurrency)
            _positive("requests_per_minute", limits.requests_per_minute)
            _positive("tokens_per_minute", limits.tokens_per_minute)
            if limits.concurrency > limits.max_concurrency:
                raise UserError(
                    f"concurrency {limits.concurrency} is above max_concurrency {limits.max_concurrency}.",
                    hint="raise max_concurrency, or start with fewer calls in flight",
                )
        _positive("attempts", self.attempts)
        _positive("throttled_attempts", self.throttled_attempts)
        _positive("deadline", self.deadline)
        _positive("attempt_timeout", self.attempt_timeout)
        if not 0.0 < self.rules.shrink < 1.0:
            raise UserError(f"shrink is {self.rules.shrink}, but has to be between 0 and 1.")


def _positive(name: str, value: float | None) -> None:
    if value is not None and not (value > 0 and math.isfinite(value)):
        raise UserError(f"{name} is {value}, but has to be above 0.", hint="leave it out for no limit")


class Flow:
    """Sends calls at the pace that each endpoint bears. Used within one event loop at a time.

    Args:
        settings: limits and rules.
        wall: seconds since 1970, for records only; waiting goes by the clock of the event loop.

    Raises:
        UserError: if a setting makes no sense.
    """

    def __init__(
        self, settings: FlowSettings | None = None, *, wall: Callable[[], float] = time.time
    ) -> None:
        self._settings = settings or FlowSettings()
        self._settings.check()
        self._wall = wall
        self._gates: dict[str, Gate] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._order = itertools.count()
        self._sending: dict[asyncio.Timeout, float] = {}
        """Attempts in flight and when they are ended; one timer is for all of them, since a timer a call costs more than it."""
        self._bell: asyncio.Handle | None = None
        self._rings = math.inf
        self._events: deque[FlowEvent] = deque(maxlen=_HISTORY)
        self._closed = False
        self._idle: asyncio.Event | None = None
        self._running = 0

    @property
    def history(self) -> tuple[FlowEvent, ...]:
        """What changed the pace, oldest first; the last 2,000."""
        return tuple(self._events)

    def take_history(self) -> tuple[FlowEvent, ...]:
        """Return the history and forget it; what comes is history anew."""
        taken = self.history
        self._events.clear()
        return taken

    def starts_with(self, endpoint: str) -> int:
        """Return how many calls may be in flight to begin with."""
        return self._settings.of(endpoint).concurrency

    def state(self) -> tuple[EndpointState, ...]:
        """How every endpoint stands now."""
        return tuple(gate.state() for gate in self._gates.values())

    def stopped(self, endpoint: str) -> Failure | None:
        """Return why nothing is sent to the endpoint any more, or None."""
        if self._closed:
            return _STOPPED
        gate = self._gates.get(endpoint)
        return gate.stopped if gate is not None else None

    async def run(self, endpoint: str, tokens: int, attempt: Attempt, on_attempt: OnAttempt) -> Outcome:
        """Send a call when its turn has come, and again when that may help.

        Args:
            endpoint: calls with the same name share limits; empty when nothing limits (a replay): sent once, at once.
            tokens: prompt and reply, as estimated, for the limit on tokens a minute.
            attempt: sends the request once, within the seconds that it is given.
            on_attempt: called after every attempt, also after one that was cancelled, before ``run`` returns.

        Returns:
            The outcome of the last attempt, or the reason for which there was none.

        Raises:
            Exception: what ``attempt`` or ``on_attempt`` raise; the place in flight is given back.
        """
        self._attach()
        self._running += 1
        try:
            if not endpoint:
                if self._closed:
                    return _STOPPED
                return await self._once(1, self._settings.attempt_timeout, attempt, on_attempt)
            return await self._run(self._gate(endpoint), tokens, attempt, on_attempt)
        finally:
            self._running -= 1
            if self._idle is not None and not self._running:
                self._idle.set()

    async def close(self) -> None:
        """End every call: those that wait and those in flight return ``Failure("cancelled")``. Returns when they have."""
        self._closed = True
        for gate in self._gates.values():
            gate.stop(_STOPPED)
        if self._running and self._loop is asyncio.get_running_loop():
            now = self._loop.time()
            for timeout in tuple(self._sending):
                with suppress(RuntimeError):  # it is running out just now
                    timeout.reschedule(now)
            self._idle = asyncio.Event()
            await self._idle.wait()

    # -- one call -------------------------------------------------------------------------------------------------

    async def _run(self, gate: Gate, tokens: int, attempt: Attempt, on_attempt: OnAttempt) -> Outcome:
        order = next(self._order)
        tries = _Tries(self._settings)
        deadline = math.inf
        last: Failure | None = None
        while True:
            try:
                permit = await gate.enter(order, tokens, deadline)
            except TimeoutError:
                return tries.ended(last or _STOPPED, "its deadline came while it waited")
            if permit is None:
                reason = gate.stopped or _STOPPED
                return _unsent(reason) if last is None else reason
            now = gate.loop.time()
            if last is None:
                deadline = now + self._settings.deadline
            seconds = min(self._settings.attempt_timeout, deadline - now)
            outcome: Outcome | None = None
            try:
                outcome = await self._once(tries.made + 1, seconds, attempt, on_attempt)
            finally:
                gate.leave(permit, outcome, _used(outcome))
            if not isinstance(outcome, Failure) or not outcome.retryable:
                return outcome
            last = outcome
            rest = tries.after(outcome, gate, probe=permit.probe)
            if rest is None:
                return tries.ended(last, "no attempt is left")
            if gate.loop.time() + max(rest, gate.paused_for()) >= deadline:
                return tries.ended(last, "its deadline would come first")
            if rest:
                await gate.rest(rest)

    async def _once(self, number: int, seconds: float, attempt: Attempt, on_attempt: OnAttempt) -> Outcome:
        """Send once and hand the record over, also when the call is cancelled on its way."""
        clock = asyncio.get_running_loop().time
        started, begun = self._wall(), clock()
        try:
            outcome = await self._send(attempt, seconds)
        except asyncio.CancelledError:
            on_attempt(AttemptRecord.of(number, started, clock() - begun, _CUT_OFF))
            raise
        on_attempt(AttemptRecord.of(number, started, clock() - begun, outcome))
        return outcome

    async def _send(self, attempt: Attempt, seconds: float) -> Outcome:
        """Send once; a model that does not keep its timeout is ended all the same."""
        timeout = asyncio.timeout(None)
        loop = asyncio.get_running_loop()
        ends = self._sending[timeout] = loop.time() + seconds + _GRACE_SECONDS
        if self._bell is None or ends < self._rings:
            self._ring_at(loop, ends)
        try:
            async with timeout:
                return await attempt(seconds)
        except TimeoutError:
            if self._closed:
                return _CUT_OFF
            return Failure(kind="timeout", message=f"no outcome after {seconds:.3g} s", lost=True)
        finally:
            known = self._sending.pop(timeout, None) is not None  # not of a loop that has died
            if known and not self._sending and self._bell is not None:
                self._bell.cancel()
                self._bell = None

    def _ring_at(self, loop: asyncio.AbstractEventLoop, at: float) -> None:
        if self._bell is not None:
            self._bell.cancel()
        self._bell, self._rings = loop.call_at(at, self._ring, loop), at

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        """End the attempts whose time is over, and wait for the next one."""
        self._bell, now = None, loop.time()
        for timeout, ends in self._sending.items():
            if ends <= now:
                timeout.reschedule(now)
        later = [ends for ends in self._sending.values() if ends > now]
        if later:
            self._ring_at(loop, min(later))

    # -- gates ----------------------------------------------------------------------------------------------------

    def _attach(self) -> None:
        loop = asyncio.get_running_loop()
        if loop is self._loop:
            return
        if self._running and self._loop is not None and not self._loop.is_closed():
            raise RuntimeError("a Flow serves one event loop at a time; use one Flow for each")
        self._running = 0
        self._idle = None
        self._sending.clear()
        self._bell = None
        self._loop = loop
        for gate in self._gates.values():
            gate.attach(loop)

    def _gate(self, endpoint: str) -> Gate:
        gate = self._gates.get(endpoint)
        if gate is None:
            settings = self._settings
            rng = random.Random(f"{settings.seed}/{endpoint}")  # noqa: S311 - jitter is no secret
            gate = Gate(endpoint, settings.of(endpoint), settings.rules, rng, self._note)
            gate.attach(asyncio.get_running_loop())
            if self._closed:
                gate.stop(_STOPPED)
            self._gates[endpoint] = gate
        return gate

    def _note(self, endpoint: str, kind: str, limit: int, detail: str) -> None:
        event = FlowEvent(self._wall(), endpoint, kind, limit, detail)
        last = self._events[-1] if self._events else None
        if last is not None and kind == "grow" == last.kind and endpoint == last.endpoint:
            self._events.pop()  # of growth, only how far it went matters
        self._events.append(event)


def _unsent(reason: Failure) -> Failure:
    """Return what becomes of a call that was not sent, since nothing is sent to its endpoint any more."""
    if reason.kind == "cancelled":
        return reason
    return Failure(kind="cancelled", message=f"not sent, after {reason.kind}: {reason.message}")


def _used(outcome: Outcome | None) -> int | None:
    if outcome is None:
        return None
    usage = outcome.usage
    if usage.input is None and usage.output is None:
        return None
    return (usage.input or 0) + (usage.output or 0)


class _Tries:
    """The attempts of one call so far: those that met faults, and those that were turned away."""

    __slots__ = ("_faults", "_settings", "_throttles", "made")

    def __init__(self, settings: FlowSettings) -> None:
        self._settings = settings
        self._faults = 0
        self._throttles = 0
        self.made = 0

    def after(self, failure: Failure, gate: Gate, *, probe: bool) -> float | None:
        """Count a failure; return the seconds to rest before the next attempt, None when there is to be none."""
        self.made += 1
        if probe:
            return 0.0  # it was made for the good of all calls, and the gate is closed for a while
        if failure.kind in _THROTTLES:
            self._throttles += 1
            nth = self._throttles
        else:
            self._faults += 1
            nth = self._faults
        if self._faults >= self._settings.attempts or self._throttles >= self._settings.throttled_attempts:
            return None
        asked = asked_pause(failure)
        if asked is not None and asked <= self._settings.rules.longest_pause:
            return 0.0  # the gate is closed for that long
        return gate.backoff(nth)

    def ended(self, failure: Failure, why: str) -> Failure:
        """Return the last failure, saying why it was the last."""
        made = f"{self.made} attempts" if self.made != 1 else "one attempt"
        return msgspec.structs.replace(failure, message=f"{failure.message} (given up after {made}: {why})")
