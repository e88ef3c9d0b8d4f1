"""Limits on what a run may spend: money, calls, tokens. Work in flight is counted at its worst, so nothing is exceeded.

Money is counted in whole nano-dollars (1e-9 USD), rounded up once a call: sums are exact, and a call of a tenth of a
cent is off by less than a millionth of itself. Every method may be called from any thread.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from decimal import Decimal
from typing import Final, Literal

import msgspec

from proctor.errors import UserError
from proctor.llm.outcome import Usage

__all__ = ["NANO", "Budget", "BudgetReached", "Need", "Reservation", "Spent", "dollars", "nano_dollars"]

NANO: Final = 10**9
"""Nano-dollars in a dollar."""

LimitName = Literal["max_cost", "max_calls", "max_tokens"]


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """What one call may take at worst.

    Attributes:
        model: name of the model, for messages.
        tokens: of prompt and reply together.
        cost: nano-dollars; None when the price of the model is not known.
    """

    model: str
    tokens: int
    cost: int | None


class Reservation(msgspec.Struct, frozen=True, kw_only=True):
    """What was set aside for one call; give it back with ``Budget.settle`` exactly once."""

    number: int
    need: Need


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """How a budget stands: spent for good, and set aside for calls in flight (money in nano-dollars)."""

    calls: int
    tokens: int
    cost: int
    reserved_calls: int
    reserved_tokens: int
    reserved_cost: int


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


class Budget:
    """What may be spent, and what was.

    Args:
        max_cost: US dollars.
        max_calls: calls that are sent, whatever becomes of them.
        max_tokens: prompt and reply tokens together.
    """

    def __init__(
        self,
        max_cost: Decimal | str | float | None = None,
        max_calls: int | None = None,
        max_tokens: int | None = None,
    ) -> None: ...

    def reserve(self, need: Need) -> Reservation:
        """Set aside what a call may take.

        Raises:
            BudgetReached: if a limit could be exceeded.
            UserError: if ``max_cost`` is set and the price of the model is not known.
        """
        raise NotImplementedError

    async def reserve_when_free(self, need: Need) -> Reservation:
        """Like ``reserve``, but waits for calls in flight as long as their end may make room."""
        raise NotImplementedError

    def settle(self, reservation: Reservation, usage: Usage | None, cost: int | None) -> None:
        """Replace what was set aside by what was really used.

        Args:
            reservation: from ``reserve``.
            usage: None when nothing was charged (a failure); what it does not say counts as set aside.
            cost: nano-dollars; None keeps what was set aside, unless ``usage`` is None.
        """
        raise NotImplementedError
