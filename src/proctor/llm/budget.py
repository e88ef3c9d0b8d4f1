"""Limits on what a run may spend: money, calls, tokens. Work in flight is counted at its worst, so nothing is exceeded.

Money is counted in whole nano-dollars (1e-9 USD), rounded up once a call: sums are exact, nothing drifts, and a call
of a hundredth of a cent is off by less than a hundred-thousandth of itself.

What holds: everything spent, everything that may have been (a request whose reply was lost), and everything set aside for
calls in flight, never exceed a limit together – as long as no call uses more than was set aside for it. Estimates are made on the safe side (see ``proctor.llm.tokens``); a call that used
more all the same is counted in ``Spent.underestimated``. Every method may be called from any thread.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation
from typing import Final, Literal, NamedTuple

import msgspec

from proctor.errors import UserError
from proctor.llm.outcome import Usage

__all__ = ["NANO", "Budget", "BudgetReached", "Need", "Reservation", "Spent", "dollars", "nano_dollars"]

NANO: Final = 10**9
"""Nano-dollars in a dollar."""

LimitName = Literal["max_cost", "max_calls", "max_tokens"]

_EXACT: Final = Context(prec=60)
_HOW_TO_PRICE: Final = (
    "Write its list price into a TOML file, as USD per million tokens, and name the file in PROCTOR_PRICES:\n"
    '    prices."{model}" = {{ input = 2.5, output = 10.0 }}'
)


def nano_dollars(amount: Decimal | str | float, *, up: bool = True) -> int:
    """Return US dollars as whole nano-dollars.

    Args:
        amount: a float counts as the decimal number that it prints as.
        up: round up, else down.

    Raises:
        UserError: if it is no number, negative or not finite.
    """
    try:
        value = Decimal(str(amount).strip())
    except InvalidOperation:
        value = Decimal("nan")
    if not value.is_finite() or value < 0 or value > 10**12:
        raise UserError(f"{amount!r} is not an amount of US dollars.", hint="write a number such as 2.50")
    exact = _EXACT.multiply(value, NANO)
    return int(exact.to_integral_value(ROUND_CEILING if up else ROUND_FLOOR))


def dollars(nano: int) -> str:
    """Return nano-dollars as text in US dollars, rounded up: two decimals, or four below ten cents.

    A sum that is above zero never looks like zero.
    """
    places = 2 if nano >= NANO // 10 or nano == 0 else 4
    unit = NANO // 10**places
    whole, rest = divmod(-(-nano // unit), 10**places)
    return f"${whole:,}.{rest:0{places}d}"


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """What one call may take at worst.

    Attributes:
        model: name of the model, for messages.
        tokens: of prompt and reply together.
        cost: nano-dollars; None when the price of the model is not known.
        paced: tokens that the pace is kept by until it is known how many it took; as many as at worst when None.
    """

    model: str
    tokens: int
    cost: int | None
    paced: int | None = None


class Reservation(msgspec.Struct, frozen=True, kw_only=True):
    """What was set aside for one call; give it back with ``Budget.settle`` exactly once."""

    number: int
    need: Need


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """How a budget stands: spent for good, and set aside for calls in flight (money in nano-dollars).

    Attributes:
        calls: that are over.
        tokens: prompt and reply.
        cost: nano-dollars, as far as prices are known.
        reserved_calls: in flight.
        reserved_tokens: that they may use.
        reserved_cost: that they may cost.
        feared_calls: attempts whose reply was lost, and that may have been charged.
        feared_tokens: that these may have used; not in ``tokens``.
        feared_cost: that these may have cost; not in ``cost``.
        unpriced_calls: whose cost is not in ``cost``, since nobody knows the price.
        underestimated: calls that used more than was set aside.
    """

    calls: int = 0
    tokens: int = 0
    cost: int = 0
    reserved_calls: int = 0
    reserved_tokens: int = 0
    reserved_cost: int = 0
    feared_calls: int = 0
    feared_tokens: int = 0
    feared_cost: int = 0
    unpriced_calls: int = 0
    underestimated: int = 0


class BudgetReached(UserError):  # noqa: N818 - not an error but the end of the money
    """The next call could exceed a limit, so it is not sent.

    Attributes:
        limit: which one.
        may_fit_later: True when there may be room once the calls in flight have turned out cheaper than feared.
    """

    def __init__(self, message: str, *, limit: LimitName, may_fit_later: bool, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.limit = limit
        self.may_fit_later = may_fit_later

    def __reduce__(self) -> tuple[object, ...]:
        """Keep everything when the error comes from another process."""
        return _rebuild_reached, (self.message, self.limit, self.may_fit_later, self.hint or "")


def _rebuild_reached(message: str, limit: LimitName, later: bool, hint: str) -> BudgetReached:
    return BudgetReached(message, limit=limit, may_fit_later=later, hint=hint)


class _Waiter(NamedTuple):
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Reservation]
    need: Need


def _warn(message: str) -> None:
    logging.getLogger("proctor.llm").warning(message)


class Budget:
    """What may be spent, and what was.

    Args:
        max_cost: US dollars.
        max_calls: calls, whatever becomes of them.
        max_tokens: prompt and reply tokens together.
        warn: called once for each model without a price when ``max_cost`` is not set; logs by default.

    Raises:
        UserError: if a limit is negative or no number.
    """

    def __init__(
        self,
        max_cost: Decimal | str | float | None = None,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        *,
        warn: Callable[[str], None] = _warn,
    ) -> None:
        for name, value in (("max_calls", max_calls), ("max_tokens", max_tokens)):
            if value is not None and value < 0:
                raise UserError(f"{name} is {value}, but has to be at least 0.")
        self._max_cost = None if max_cost is None else nano_dollars(max_cost, up=False)
        self._max_calls = max_calls
        self._max_tokens = max_tokens
        self._warn = warn
        self._warned: set[str] = set()
        self._lock = threading.Lock()
        self._spent_calls = self._spent_tokens = self._spent_cost = 0
        self._feared_calls = self._feared_tokens = self._feared_cost = 0
        self._tokens = self._cost = 0
        self._open: set[int] = set()
        self._numbers = 0
        self._unpriced = self._under = 0
        self._waiting: deque[_Waiter] = deque()

    @property
    def spent(self) -> Spent:
        """How it stands now."""
        with self._lock:
            return Spent(
                calls=self._spent_calls,
                tokens=self._spent_tokens,
                cost=self._spent_cost,
                reserved_calls=len(self._open),
                reserved_tokens=self._tokens,
                reserved_cost=self._cost,
                feared_calls=self._feared_calls,
                feared_tokens=self._feared_tokens,
                feared_cost=self._feared_cost,
                unpriced_calls=self._unpriced,
                underestimated=self._under,
            )

    def require_price(self, model: str, *, known: bool) -> None:
        """Say what ``reserve`` would say of a model's price, before anything is sent.

        Raises:
            UserError: if ``max_cost`` is set and the price is not known.
        """
        self._check_price(Need(model=model, tokens=0, cost=0 if known else None))

    def reserve(self, need: Need) -> Reservation:
        """Set aside what a call may take.

        Raises:
            BudgetReached: if a limit could be exceeded.
            UserError: if ``max_cost`` is set and the price of the model is not known.
        """
        self._check_price(need)
        with self._lock:
            reached = self._reached(need)
            if reached is not None:
                raise reached
            return self._set_aside(need)

    async def reserve_when_free(self, need: Need) -> Reservation:
        """Like ``reserve``, but wait for calls in flight as long as their end may make room. First come, first served.

        Raises:
            BudgetReached: if a limit could be exceeded whatever the calls in flight turn out to use.
            UserError: if ``max_cost`` is set and the price of the model is not known.
        """
        self._check_price(need)
        with self._lock:
            reached = self._reached(need)
            if reached is None and not self._waiting:
                return self._set_aside(need)
            if reached is not None and not reached.may_fit_later:
                raise reached
            loop = asyncio.get_running_loop()
            waiter = _Waiter(loop, loop.create_future(), need)
            self._waiting.append(waiter)
        try:
            return await waiter.future
        except asyncio.CancelledError:
            self._forget(waiter)
            raise

    def settle(self, reservation: Reservation, usage: Usage | None, cost: int | None) -> None:
        """Replace what was set aside by what was really used, and count the call as over.

        Args:
            reservation: from ``reserve``.
            usage: None when nothing (more) was charged. A number that it does not tell counts as set aside.
            cost: nano-dollars; None when it is not known, which counts as set aside, unless nothing was charged.

        Raises:
            ValueError: if it was settled before.
        """
        with self._lock:
            self._require_open(reservation)
            if usage is not None:
                self._spend(reservation.need, usage, cost)
            elif cost:
                self._spent_cost += cost
            self._release(reservation)
            self._spent_calls += 1
            self._serve()

    def spend(self, reservation: Reservation, usage: Usage, cost: int | None) -> None:
        """Count an attempt that was charged; what was set aside stays so, for the next attempt at the call.

        Args:
            reservation: from ``reserve``.
            usage: a number that it does not tell counts as set aside.
            cost: nano-dollars; None when it is not known, which counts as set aside.

        Raises:
            ValueError: if it was settled before.
        """
        with self._lock:
            self._require_open(reservation)
            self._spend(reservation.need, usage, cost)

    def fear(self, reservation: Reservation) -> None:
        """Count an attempt that may have been charged: all that was set aside, which stays so for the next attempt.

        Raises:
            ValueError: if it was settled before.
        """
        with self._lock:
            self._require_open(reservation)
            self._feared_calls += 1
            self._feared_tokens += reservation.need.tokens
            self._feared_cost += reservation.need.cost or 0

    def again(self, reservation: Reservation) -> None:
        """Make sure that another attempt at a call fits, after one that was charged or may have been.

        Raises:
            BudgetReached: if a limit could be exceeded.
            ValueError: if it was settled before.
        """
        with self._lock:
            self._require_open(reservation)
            reached = self._reached(reservation.need, again=True)
        if reached is not None:
            raise reached

    def cancel(self, reservation: Reservation) -> None:
        """Give back what was set aside for a call that was never sent: it counts as no call.

        Raises:
            ValueError: if it was settled before.
        """
        with self._lock:
            self._require_open(reservation)
            self._release(reservation)
            self._serve()

    # -- inside, with the lock held ---------------------------------------------------------------------------------

    def _require_open(self, reservation: Reservation) -> None:
        if reservation.number not in self._open:
            raise ValueError(f"reservation {reservation.number} was settled before")

    def _spend(self, need: Need, usage: Usage, cost: int | None) -> None:
        tokens = _tokens_used(usage, need.tokens)
        if cost is None:
            cost = need.cost or 0
        self._spent_tokens += tokens
        self._spent_cost += cost
        self._unpriced += need.cost is None and not cost
        self._under += tokens > need.tokens or (need.cost is not None and cost > need.cost)

    def _release(self, reservation: Reservation) -> None:
        self._open.discard(reservation.number)
        self._tokens -= reservation.need.tokens
        self._cost -= reservation.need.cost or 0

    def _set_aside(self, need: Need) -> Reservation:
        self._numbers += 1
        self._open.add(self._numbers)
        self._tokens += need.tokens
        self._cost += need.cost or 0
        return Reservation(number=self._numbers, need=need)

    def _reached(self, need: Need, *, again: bool = False) -> BudgetReached | None:
        """Return which limit another call could exceed; ``again``: another attempt at one that has been set aside."""
        made = self._spent_calls + len(self._open)
        cost = need.cost or 0
        gone_cost, gone_tokens = (
            self._spent_cost + self._feared_cost,
            self._spent_tokens + self._feared_tokens,
        )
        # What is set aside for the call itself is not set aside for others.
        flying_cost, flying_tokens = self._cost - again * cost, self._tokens - again * need.tokens
        # Calls in flight only count as none when they are cancelled before they are sent.
        alone = (
            (again or self._max_calls is None or self._spent_calls < self._max_calls)
            and (self._max_cost is None or gone_cost + cost <= self._max_cost)
            and (self._max_tokens is None or gone_tokens + need.tokens <= self._max_tokens)
        )
        later = alone and len(self._open) > again
        if not again and self._max_calls is not None and made >= self._max_calls:
            return BudgetReached(
                f"the limit of {self._max_calls:,} calls is reached: {made:,} are made or under way.",
                limit="max_calls",
                may_fit_later=later,
                hint="raise --max-calls; what is done is kept and not paid for again",
            )
        if self._max_cost is not None and gone_cost + flying_cost + cost > self._max_cost:
            feared = f", {dollars(self._feared_cost)} more may have been charged" if self._feared_cost else ""
            return BudgetReached(
                f"the limit of {dollars(self._max_cost)} could be exceeded: {dollars(self._spent_cost)} are spent{feared}, "
                f"calls in flight may cost {dollars(flying_cost)}, and the next one to {need.model} {dollars(cost)}.",
                limit="max_cost",
                may_fit_later=later,
                hint="raise --max-cost; what is done is kept and not paid for again",
            )
        if self._max_tokens is not None and gone_tokens + flying_tokens + need.tokens > self._max_tokens:
            feared = f", {self._feared_tokens:,} more may have been" if self._feared_tokens else ""
            return BudgetReached(
                f"the limit of {self._max_tokens:,} tokens could be exceeded: {self._spent_tokens:,} are used{feared}, calls "
                f"in flight may use {flying_tokens:,}, and the next one to {need.model} {need.tokens:,}.",
                limit="max_tokens",
                may_fit_later=later,
                hint="raise --max-tokens; what is done is kept and not paid for again",
            )
        return None

    def _serve(self) -> None:
        """Hand room that has come free to those who wait, in order."""
        while self._waiting:
            waiter = self._waiting[0]
            reached = self._reached(waiter.need)
            if reached is not None and reached.may_fit_later:
                return
            self._waiting.popleft()
            given = self._set_aside(waiter.need) if reached is None else None
            try:
                waiter.loop.call_soon_threadsafe(self._deliver, waiter.future, given, reached)
            except RuntimeError:  # its event loop is gone, and so is the call
                if given is not None:
                    self._release(given)

    # -- without the lock -------------------------------------------------------------------------------------------

    def _check_price(self, need: Need) -> None:
        if need.cost is not None:
            return
        with self._lock:
            new = need.model not in self._warned
            self._warned.add(need.model)
        if self._max_cost is None and not new:
            return
        from proctor.llm.prices import meant_model  # it counts in our nano-dollars

        hint = meant_model(need.model) + _HOW_TO_PRICE.format(model=need.model)
        unknown = f"the price of {need.model} is not known"
        if self._max_cost is not None:
            raise UserError(f"{unknown}, so --max-cost cannot be kept.", hint=hint)
        self._warn(f"{unknown}: its calls are counted, but their cost is not.\n  {hint}")

    def _deliver(
        self, future: asyncio.Future[Reservation], given: Reservation | None, reached: BudgetReached | None
    ) -> None:
        if future.done():  # cancelled meanwhile
            if given is not None:
                self.cancel(given)
        elif given is not None:
            future.set_result(given)
        elif reached is not None:
            future.set_exception(reached)

    def _forget(self, waiter: _Waiter) -> None:
        """Clean up after one that was cancelled while it waited, or at the very moment in which it was served."""
        with self._lock:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
                self._serve()
                return
        future = waiter.future
        if future.done() and not future.cancelled() and future.exception() is None:
            self.cancel(future.result())


def _tokens_used(usage: Usage, reserved: int) -> int:
    if usage.input is None or usage.output is None:
        return max(reserved, (usage.input or 0) + (usage.output or 0))
    return usage.input + usage.output
