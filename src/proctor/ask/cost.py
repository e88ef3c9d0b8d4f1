"""What calls cost while something is asked: one call, what an attempt has heard so far, several attempts together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol

from proctor.llm.message import Request
from proctor.llm.outcome import Failure, Outcome

__all__ = ["Heard", "Price", "call_cost", "no_price", "total_cost"]

Price = Callable[[str, Outcome], int | None]
"""Nano-dollars of a call by its model and outcome, None when not known."""


class _Attempt(Protocol):
    @property
    def calls(self) -> Sequence[str]: ...
    @property
    def cost(self) -> str | None: ...


def no_price(_model: str, _outcome: Outcome) -> int | None:
    """Return None: prices are not known."""
    return None


def call_cost(price: Price, request: Request, outcome: Outcome) -> int | None:
    """Return nano-dollars of a call: none for one that failed before anything was said; None when the price is not known."""
    cost = price(request.model, outcome)
    if cost is None and isinstance(outcome, Failure) and not outcome.lost:
        return 0  # nothing was said, nothing is charged
    return cost


@dataclass(slots=True)
class Heard:
    """The calls of an attempt so far.

    Attributes:
        calls: request keys (16 hex digits each), in order.
        cost: nano-dollars of all; None when the price of one is not known.
        prompts: hashes of templates, by name.
    """

    calls: list[str] = field(default_factory=list)
    cost: int | None = 0
    prompts: dict[str, str] = field(default_factory=dict)

    def hear(self, request: Request, outcome: Outcome, price: Price) -> None:
        """Note a call; one that was heard already costs nothing again."""
        key = request.key[:16]
        if key in self.calls:
            return
        self.calls.append(key)
        cost = call_cost(price, request, outcome)
        self.cost = None if self.cost is None or cost is None else self.cost + cost


def total_cost(attempts: Iterable[_Attempt]) -> str | None:
    """Add up dollars of attempts; a call that two of them share is in both. None when the price of one is not known."""
    costs = [attempt.cost for attempt in attempts if attempt.calls]
    if any(cost is None for cost in costs):
        return None
    return f"{sum((Decimal(cost) for cost in costs if cost is not None), Decimal(0)):f}"
