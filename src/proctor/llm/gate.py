"""The gate before one endpoint: how many calls are in flight, and when the next one may go.

Three things hold a call back: the number in flight (grows and shrinks with what the endpoint bears), the limits a minute,
and pauses (the endpoint asked for one, or it does not answer and is only probed). Calls pass in the order in which they
came; one that is sent again keeps its place, so nobody starves.

The gate never sleeps by itself: it sets one timer of the event loop. A loop with a clock of its own (tests) is all that it
takes to make days pass in milliseconds.
"""

from __future__ import annotations

import asyncio
import heapq
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from proctor.llm.outcome import OURS, Failure, Outcome

__all__ = ["Bucket", "EndpointState", "FlowEvent", "Gate", "GateRules", "Limits", "Permit", "asked_pause"]

_THROTTLES: Final = frozenset({"rate_limit", "overload"})
_FAULTS: Final = frozenset({"connection", "server", "timeout"})
_MINUTE: Final = 60.0
_BURST_SECONDS: Final = 1.0
_CLOSE: Final = 1e-9
"""Relative slack in comparisons, so that a call which waited until its time is not sent back for a rounding error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one endpoint.

    Attributes:
        concurrency: calls in flight to begin with.
        max_concurrency: calls in flight at most.
        requests_per_minute: None for no limit of ours.
        tokens_per_minute: of prompt and reply, as estimated before and corrected after; None for no limit of ours.
    """

    concurrency: int = 16
    max_concurrency: int = 128
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRules:
    """How a gate learns.

    Attributes:
        shrink: factor on the calls in flight after "too many", at most once for those that were in flight together.
        grow: calls in flight that are added each time that as many as may be in flight have ended well.
        first_backoff: seconds, doubled each time.
        longest_backoff: seconds.
        longest_pause: seconds; an endpoint that asks to wait longer is given up.
        patience: seconds in which every single call is turned away until the endpoint is given up (a quota of the day).
        breaker_failures: faults in a row, without one answer between them, after which the endpoint is only probed.
        breaker_seconds: until the first probe, doubled after each one that fails.
        breaker_longest: seconds between probes at most.
        breaker_probes: probes that fail in a row until the endpoint is given up.
        breaker_first_probes: the same for an endpoint that never answered (a wrong address, a server that is not there).
    """

    shrink: float = 0.7
    grow: float = 2.0
    first_backoff: float = 0.5
    longest_backoff: float = 60.0
    longest_pause: float = 600.0
    patience: float = 1_200.0
    breaker_failures: int = 10
    breaker_seconds: float = 5.0
    breaker_longest: float = 60.0
    breaker_probes: int = 6
    breaker_first_probes: int = 2


class FlowEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that changed the pace, for the log.

    Attributes:
        at: seconds since 1970, UTC.
        endpoint: where.
        kind: ``grow``, ``shrink``, ``pause``, ``open``, ``probe``, ``close`` or ``stop``.
        limit: calls that may be in flight from now on.
        detail: in words.
    """

    at: float
    endpoint: str
    kind: str
    limit: int
    detail: str = ""


class EndpointState(msgspec.Struct, frozen=True, kw_only=True):
    """How an endpoint stands now, for progress lines.

    Attributes:
        endpoint: where.
        limit: calls that may be in flight.
        in_flight: calls that are.
        waiting: calls before the gate, or resting between two attempts.
        paused_for: seconds until the next call may go; 0 when it may go now.
        broken: True while the endpoint is only probed.
        stopped: why nothing is sent any more; empty when all is well.
    """

    endpoint: str
    limit: int
    in_flight: int
    waiting: int
    paused_for: float
    broken: bool
    stopped: str


class Bucket:
    """A limit a minute, kept as a token bucket: small bursts, never more than the limit in any minute.

    A provider may count in minutes that begin anywhere, so the bucket holds back what a burst could add: with a burst of
    one second's worth ``c``, it refills with ``limit - c`` a minute. In every half-open minute ``[t, t + 60)`` at most ``limit``
    units are taken; only a single call that is larger than the burst may go beyond it, by its own size, and the next ones
    wait until that is paid back.

    Args:
        per_minute: units a minute, above 0.
        now: seconds of any steady clock, the same one in every call.
    """

    __slots__ = ("_at", "_capacity", "_level", "_rate")

    def __init__(self, per_minute: float, now: float) -> None:
        self._capacity = max(1.0, per_minute / _MINUTE * _BURST_SECONDS)
        self._rate = (per_minute - self._capacity + 1.0) / _MINUTE if per_minute > 1 else per_minute / _MINUTE
        self._level = self._capacity
        self._at = now

    def ready(self, now: float, amount: float) -> float:
        """Return the time at which ``amount`` may be taken: ``now``, or later."""
        self._refill(now)
        missing = min(amount, self._capacity) * (1.0 - _CLOSE) - self._level
        return now if missing <= 0.0 else now + missing / self._rate

    def take(self, now: float, amount: float) -> None:
        """Take ``amount``; the bucket may owe some afterwards."""
        self._refill(now)
        self._level -= amount

    def correct(self, amount: float) -> None:
        """Give back what was taken too much, or take what was taken too little (negative)."""
        self._level = min(self._capacity, self._level + amount)

    def _refill(self, now: float) -> None:
        if now > self._at:
            self._level = min(self._capacity, self._level + (now - self._at) * self._rate)
            self._at = now


class Permit:
    """The right to have one attempt in flight; ``probe`` when it is to find out whether the endpoint is back."""

    __slots__ = ("number", "probe", "tokens")

    def __init__(self, number: int, tokens: int, *, probe: bool) -> None:
        self.number = number
        self.tokens = tokens
        self.probe = probe


class _Waiter:
    __slots__ = ("future", "tokens")

    def __init__(self, future: asyncio.Future[Permit | None], tokens: int) -> None:
        self.future = future
        self.tokens = tokens


class Gate:
    """The gate of one endpoint, used within one event loop at a time.

    Args:
        endpoint: its name.
        limits: of the endpoint.
        rules: how it learns.
        rng: for jitter.
        note: called with the kind, the limit and a detail of everything that changes the pace.
    """

    def __init__(
        self,
        endpoint: str,
        limits: Limits,
        rules: GateRules,
        rng: random.Random,
        note: Callable[[str, str, int, str], None],
    ) -> None:
        self.endpoint = endpoint
        self._limits = limits
        self._rules = rules
        self._rng = rng
        self._note = note
        self._loop: asyncio.AbstractEventLoop | None = None
        self._limit = float(limits.concurrency)
        self._slow_from = math.inf
        """Limit from which it grows step by step; below it, by one for each good end (as TCP starts)."""
        self._in_flight = 0
        self._admitted = 0
        self._window = 0
        """Attempts admitted up to this number belong to a window that has been shrunk already."""
        self._throttled = 0
        """Windows that were turned away since a call ended well; the first one at ``_turned_away_since``."""
        self._turned_away_since = math.inf
        self._paused_until = -math.inf
        self._faults = 0
        self._answered = False
        self._broken = False
        self._probe: Permit | None = None
        self._failed_probes = 0
        self._requests: Bucket | None = None
        self._tokens: Bucket | None = None
        self._waiting: list[tuple[int, int, _Waiter]] = []
        self._pushed = 0
        self._resting: set[asyncio.Future[None]] = set()
        self._timer: asyncio.Handle | None = None
        self._rings = math.inf
        self.stopped: Failure | None = None

    # -- what calls do --------------------------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        """True when no call is in flight, waiting or resting."""
        return not (
            self._in_flight
            or self._resting
            or any(not waiter.future.done() for _, _, waiter in self._waiting)
        )

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop that it was attached to last."""
        if self._loop is None:
            raise RuntimeError("the gate is not attached to an event loop")
        return self._loop

    def paused_for(self) -> float:
        """Seconds until the next call may go; 0 when it may go now."""
        return max(0.0, self._paused_until - self.loop.time())

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Use this event loop from now on; nothing may be under way."""
        self._loop = loop
        self._timer = None  # it was of a loop that is gone, like all that follows
        self._waiting.clear()
        self._resting.clear()
        self._in_flight = 0
        self._probe = None
        self._turned_away_since = math.inf
        now = loop.time()
        limits = self._limits
        if self._requests is None and limits.requests_per_minute:
            self._requests = Bucket(limits.requests_per_minute, now)
        if self._tokens is None and limits.tokens_per_minute:
            self._tokens = Bucket(limits.tokens_per_minute, now)

    async def enter(self, order: int, tokens: int, deadline: float) -> Permit | None:
        """Wait for the right to send one attempt.

        Args:
            order: smaller goes first.
            tokens: that the attempt may use.
            deadline: time of the loop until which to wait.

        Returns:
            The permit, to be given back by ``leave``; None when the endpoint was given up.

        Raises:
            TimeoutError: at the deadline.
        """
        if self.stopped is not None:
            return None
        loop = self.loop
        if not self._waiting:
            now = loop.time()
            if self._earliest(now, tokens) <= now:
                return self._admit(now, tokens)
        future: asyncio.Future[Permit | None] = loop.create_future()
        self._pushed += 1
        heapq.heappush(self._waiting, (order, self._pushed, _Waiter(future, tokens)))
        self._pump()
        if future.done():
            return future.result()
        try:
            if deadline == math.inf:
                return await future
            async with asyncio.timeout_at(deadline):
                return await future
        except BaseException:
            if future.done() and not future.cancelled() and (permit := future.result()) is not None:
                self._give_back(permit)  # it was let in at the very moment in which it was cancelled
            self._pump()
            raise

    def leave(self, permit: Permit, outcome: Outcome | None, used: int | None) -> None:
        """Give a permit back and learn from the outcome.

        Args:
            permit: from ``enter``.
            outcome: None when there is none (the call was cancelled).
            used: tokens as the provider counted them; None when it did not.
        """
        if self._tokens is not None and used is not None:
            self._tokens.correct(permit.tokens - used)
        if outcome is not None:
            self._learn(permit, outcome)
        self._give_back(permit)
        self._pump()

    async def rest(self, seconds: float) -> None:
        """Wait between two attempts; ends early when the endpoint is given up."""
        if self.stopped is not None:
            return
        loop = self.loop
        future: asyncio.Future[None] = loop.create_future()
        timer = loop.call_later(seconds, _wake, future)
        self._resting.add(future)
        try:
            await future
        finally:
            timer.cancel()
            self._resting.discard(future)

    def stop(self, reason: Failure) -> None:
        """Send nothing any more: all that wait go home at once with this reason."""
        if self.stopped is not None:
            return
        self.stopped = reason
        self._note(self.endpoint, "stop", self.limit, reason.message)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, []
        for _, _, waiter in waiting:
            if not waiter.future.done():
                waiter.future.set_result(None)
        for future in self._resting:
            _wake(future)

    @property
    def limit(self) -> int:
        """Calls that may be in flight now."""
        return int(self._limit)

    def state(self) -> EndpointState:
        """Return how it stands."""
        waiting = sum(not waiter.future.done() for _, _, waiter in self._waiting)
        return EndpointState(
            endpoint=self.endpoint,
            limit=self.limit,
            in_flight=self._in_flight,
            waiting=waiting + len(self._resting),
            paused_for=self.paused_for(),
            broken=self._broken,
            stopped=self.stopped.message if self.stopped is not None else "",
        )

    # -- letting in -----------------------------------------------------------------------------------------------

    def _earliest(self, now: float, tokens: int) -> float:
        """Return when a call may go; infinity when one in flight has to end first."""
        if self._broken:
            return math.inf if self._probe is not None else max(now, self._paused_until)
        if self._in_flight >= int(self._limit):
            return math.inf
        at = max(now, self._paused_until)
        if self._requests is not None:
            at = max(at, self._requests.ready(now, 1))
        if self._tokens is not None:
            at = max(at, self._tokens.ready(now, tokens))
        return at

    def _admit(self, now: float, tokens: int) -> Permit:
        self._in_flight += 1
        self._admitted += 1
        permit = Permit(self._admitted, tokens, probe=self._broken)
        if self._requests is not None:
            self._requests.take(now, 1)
        if self._tokens is not None:
            self._tokens.take(now, tokens)
        if self._broken:
            self._probe = permit
            self._note(self.endpoint, "probe", self.limit, "")
        return permit

    def _give_back(self, permit: Permit) -> None:
        self._in_flight -= 1
        if permit is self._probe:
            self._probe = None

    def _pump(self) -> None:
        """Let in as many as may go, in order; set the timer for the next one."""
        waiting = self._waiting
        loop = self.loop
        now = loop.time()
        while waiting:
            waiter = waiting[0][2]
            if waiter.future.done():  # cancelled
                heapq.heappop(waiting)
                continue
            at = self._earliest(now, waiter.tokens)
            if at > now:
                if at < math.inf:
                    self._arm(loop, at)
                return
            heapq.heappop(waiting)
            waiter.future.set_result(self._admit(now, waiter.tokens))
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self, loop: asyncio.AbstractEventLoop, at: float) -> None:
        if self._timer is not None:
            if abs(self._rings - at) < 1e-6:
                return
            self._timer.cancel()
        self._timer, self._rings = loop.call_at(at, self._ring), at

    def _ring(self) -> None:
        self._timer = None
        self._pump()

    # -- learning -------------------------------------------------------------------------------------------------

    def _learn(self, permit: Permit, outcome: Outcome) -> None:
        if isinstance(outcome, Failure) and outcome.kind in OURS:
            return
        if not isinstance(outcome, Failure) or outcome.kind not in _FAULTS:
            self._alive()
        if not isinstance(outcome, Failure):
            self._well()
        elif outcome.kind == "auth":
            self.stop(outcome)
        elif outcome.kind in _THROTTLES:
            self._too_many(permit, outcome)
        elif outcome.kind in _FAULTS:
            self._fault(permit, outcome)
        else:
            self._well()

    def _alive(self) -> None:
        self._answered = True
        self._faults = 0
        if self._broken:
            self._broken = False
            self._probe = None
            self._failed_probes = 0
            self._paused_until = -math.inf
            self._note(self.endpoint, "close", self.limit, "it answers again")

    def _well(self) -> None:
        self._throttled = 0
        self._turned_away_since = math.inf
        if self._in_flight < int(self._limit) or self._limit >= self._limits.max_concurrency:
            return  # what is not used tells nothing about what is borne
        before = int(self._limit)
        step = 1.0 if self._limit < self._slow_from else self._rules.grow / self._limit
        self._limit = min(float(self._limits.max_concurrency), self._limit + step)
        if int(self._limit) > before:
            self._note(self.endpoint, "grow", self.limit, "")

    def _too_many(self, permit: Permit, failure: Failure) -> None:
        asked = asked_pause(failure)
        if asked is not None and asked > self._rules.longest_pause:
            self.stop(_with(failure, f"it asks to wait {asked:,.0f} s: {failure.message}"))
            return
        now = self.loop.time()
        self._turned_away_since = min(self._turned_away_since, now)
        if now - self._turned_away_since >= self._rules.patience:
            minutes = (now - self._turned_away_since) / 60
            self.stop(
                _with(failure, f"every call was turned away for {minutes:.0f} minutes: {failure.message}")
            )
            return
        if asked is not None:
            self._pause(asked, "it asked for that")
        if permit.number <= self._window:
            return
        self._window = self._admitted
        self._throttled += 1
        self._limit = max(1.0, min(self._limit, float(self._in_flight)) * self._rules.shrink)
        self._slow_from = self._limit
        self._note(self.endpoint, "shrink", self.limit, failure.kind)
        if asked is None and self._throttled > 1:
            self._pause(self.backoff(self._throttled - 1), "too many calls, again and again")

    def _fault(self, permit: Permit, failure: Failure) -> None:
        asked = asked_pause(failure)
        if asked is not None and asked <= self._rules.longest_pause:
            self._pause(asked, "it asked for that")
        self._faults += 1
        if self._broken:
            if permit is self._probe:
                self._failed_probes += 1
                self._break(failure)
        elif self._faults >= self._rules.breaker_failures:
            self._broken = True
            self._failed_probes = 0
            self._break(failure)

    def _break(self, failure: Failure) -> None:
        rules = self._rules
        last = rules.breaker_probes if self._answered else rules.breaker_first_probes
        if self._failed_probes >= last:
            never = "" if self._answered else " and not one answer"
            self.stop(_with(failure, f"{self._faults} failures in a row{never}; the last: {failure.message}"))
            return
        seconds = min(rules.breaker_longest, rules.breaker_seconds * 2.0**self._failed_probes)
        self._pause(seconds, "", quiet=True)
        self._note(self.endpoint, "open", self.limit, f"{failure.kind}; next probe in {seconds:g} s")

    def _pause(self, seconds: float, why: str, *, quiet: bool = False) -> None:
        until = self.loop.time() + seconds
        if until > self._paused_until:
            longer = until - self._paused_until > 0.1 * seconds
            self._paused_until = until
            if longer and not quiet:
                self._note(self.endpoint, "pause", self.limit, f"{seconds:.3g} s: {why}")

    def backoff(self, nth: int) -> float:
        """Return the seconds to wait after the nth failure: doubled each time, half of it by chance."""
        full = min(self._rules.longest_backoff, self._rules.first_backoff * 2.0 ** min(nth - 1, 60))
        return full * (0.5 + 0.5 * self._rng.random())


def asked_pause(failure: Failure) -> float | None:
    """Return the seconds that the endpoint asked to wait; None when it did not, or asked for nonsense."""
    asked = failure.retry_after
    return None if asked is None or not math.isfinite(asked) or asked <= 0 else asked


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _with(failure: Failure, message: str) -> Failure:
    return msgspec.structs.replace(failure, message=message[:500])
