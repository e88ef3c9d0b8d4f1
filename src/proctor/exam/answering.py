"""What became of a call, for records: only a complete reply is an answer; what it took, and what it cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal

from proctor.llm.outcome import Failure, Outcome, Refusal, Truncated, Usage

__all__ = ["call_details", "total_cost", "why_no_reply"]

_SHOWN = 300
"""Characters of a refusal or a message that a record keeps."""


def why_no_reply(outcome: Outcome) -> str | None:
    """Return why an outcome is not an answer, None when it is one. The first word is a code that can be counted."""
    if isinstance(outcome, Failure):
        return f"{outcome.kind}: {outcome.message[:_SHOWN]}"
    if isinstance(outcome, Truncated):
        return f"truncated: cut off by the limit on tokens after {len(outcome.text):,} characters"
    if isinstance(outcome, Refusal):
        return f"refusal: {outcome.text[:_SHOWN] or 'the model declined without a word'}"
    return None if outcome.text.strip() else "empty: the model replied nothing"


def call_details(outcome: Outcome, *, cost: int | None = None) -> dict[str, str]:
    """Return model, tokens and price (US dollars) of a call as texts for a record; what is not known is left out.

    Args:
        outcome: of the call.
        cost: nano-dollars, None when the price is not known.
    """
    if isinstance(outcome, Failure):
        return {}
    usage: Usage = outcome.usage
    # The provider's name of the call is left out: it changes when a call is repeated, and files would with it.
    found = {"model_version": outcome.model, "stop": outcome.stop}
    numbers = {"tokens_in": usage.input, "tokens_out": usage.output}
    known = {k: v for k, v in found.items() if v} | {k: str(n) for k, n in numbers.items() if n is not None}
    return known if cost is None else known | {"cost": f"{Decimal(cost) / 10**9:f}"}


def total_cost(
    calls: Iterable[tuple[str, Outcome]], price: Callable[[str, Outcome], int | None]
) -> int | None:
    """Return what several calls cost together, nano-dollars; None when the price of one is not known.

    A call that failed before anything was said costs nothing.

    Args:
        calls: model and outcome of each.
        price: nano-dollars of an outcome, None when not known.
    """
    total = 0
    for model, outcome in calls:
        cost = price(model, outcome)
        if cost is None:
            if not isinstance(outcome, Failure) or outcome.lost:
                return None
            cost = 0
        total += cost
    return total
