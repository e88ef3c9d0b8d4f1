"""Options of commands that ask models: what they may spend, and where calls are kept."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from proctor.errors import UserError

if TYPE_CHECKING:
    from proctor.llm.estimate import Estimate
    from proctor.stages.models import Limits

__all__ = [
    "CallsOption",
    "DryRunFlag",
    "MaxCallsOption",
    "MaxCostOption",
    "MaxTokensOption",
    "PricesOption",
    "PromptsOption",
    "closing_text",
    "estimate_text",
    "limits_of",
]

DryRunFlag = Annotated[
    bool, typer.Option("--dry-run", help="Say what it would take, from the real prompts; send nothing.")
]
MaxCostOption = Annotated[
    str | None, typer.Option("--max-cost", metavar="USD", help="Stop before spending more than this.")
]
MaxCallsOption = Annotated[int | None, typer.Option("--max-calls", min=0, help="Stop after so many calls.")]
MaxTokensOption = Annotated[
    int | None,
    typer.Option("--max-tokens", min=0, help="Stop before using more tokens, in and out together."),
]
CallsOption = Annotated[
    str | None,
    typer.Option("--calls", metavar="FILE|URL", help="Call store (default: calls.sqlite in the workspace)."),
]
PromptsOption = Annotated[
    Path | None, typer.Option("--prompts", metavar="FOLDER", help="Own templates in place of Proctor's.")
]
PricesOption = Annotated[
    Path | None,
    typer.Option("--prices", metavar="FILE", help="Own prices, TOML or JSON (see 'proctor calls')."),
]


def limits_of(
    max_cost: str | None,
    max_calls: int | None,
    max_tokens: int | None,
    calls: str | None,
    prompts: Path | None,
    prices: Path | None,
) -> Limits:
    """Return the limits that the options ask for.

    Raises:
        UserError: if the cost is no amount of money.
    """
    from proctor.stages.models import Limits

    cost = None
    if max_cost is not None:
        try:
            cost = Decimal(max_cost.strip().removeprefix("$"))
        except InvalidOperation:
            raise UserError(f"{max_cost!r} is not an amount of US dollars.", hint="--max-cost 2.50") from None
        if not cost.is_finite() or cost < 0:
            raise UserError(f"{max_cost!r} is not an amount of US dollars.", hint="--max-cost 2.50")
    return Limits(
        max_cost=cost, max_calls=max_calls, max_tokens=max_tokens, calls=calls, prompts=prompts, prices=prices
    )


def estimate_text(estimate: Estimate) -> str:
    """Return an estimate for people."""
    from proctor.llm.estimate import render_estimate

    return render_estimate(estimate)


def closing_text(calls: dict[str, Any]) -> str:
    """Return the closing line of a stage that asked models."""
    kinds = ", ".join(f"{name} {n:,}" for name, n in calls["outcomes"].items())
    text = f"calls: {calls['sent']:,} sent, {calls['from_store']:,} from the store ({kinds or 'none'}); cost {calls['cost']}"
    if calls["unpriced"]:
        text += f", {calls['unpriced']:,} calls at unknown prices not counted"
    return text + (f"\nstopped: {calls['stopped']}" if calls["stopped"] else "")
