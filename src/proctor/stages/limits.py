"""What a stage that asks models may spend, how fast it may ask, and where its calls are kept."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from proctor.errors import UserError
from proctor.settings import Settings, option

if TYPE_CHECKING:
    from proctor.llm.budget import Budget

__all__ = ["Limits"]


def _dollars(text: str) -> Decimal:
    try:
        cost = Decimal(text.strip().removeprefix("$"))
    except InvalidOperation:
        cost = Decimal("nan")
    if not cost.is_finite() or cost < 0:
        raise UserError(f"{text!r} is not an amount of US dollars.", hint="--max-cost 2.50")
    return cost


class Limits(Settings, frozen=True, kw_only=True):
    """What a stage may spend, how fast it may ask, where its calls are kept, and what becomes of those that fail.

    Attributes:
        budget: one (``llm.budget.Budget``) for several stages, in place of what the first three options say.
        rehearsal: that is going on (a ``stages.rehearsing.Rehearsing``), whose models are played.
        left_out: of a dry run, the recordings whose videos are not here: what is shown of them is not counted. None for a real run.
        replies: what else was said of how models reply (a ``llm.replying.Replying``), such as for a stage of an experiment.
        listen: hears every request with the stage that makes it, to foresee what models will be asked.
        store: of calls (``llm.store.CallStore``), opened by whoever lets several jobs share it.
        halt: stops the calls (a ``llm.blocking.Halt``).

    Raises:
        UserError: if a pace or a time is not above 0.
    """

    max_cost: Annotated[
        Decimal | None, option("Stop before spending more than this.", metavar="USD", parse=_dollars)
    ] = None
    max_calls: Annotated[int | None, option("Stop after this many calls.", ge=0)] = None
    max_tokens: Annotated[int | None, option("Stop before using more tokens, in and out together.", ge=0)] = (
        None
    )
    max_connections: Annotated[
        int | None,
        option(
            "Calls in flight at most, for each model (default 128; fewer where the provider takes fewer).",
            ge=1,
        ),
    ] = None
    requests_per_minute: Annotated[
        float | None, option("Requests a minute at most, for each model.", "--rpm", metavar="N")
    ] = None
    tokens_per_minute: Annotated[
        float | None, option("Tokens a minute at most, in and out, for each model.", "--tpm", metavar="N")
    ] = None
    timeout: Annotated[
        float | None, option("For one attempt at a call (default 300).", metavar="SECONDS")
    ] = None
    deadline: Annotated[
        float | None, option("For a call with all its attempts (default 900).", metavar="SECONDS")
    ] = None
    calls: Annotated[
        str | None, option("Call store (default: calls.sqlite in the workspace).", metavar="FILE|URL")
    ] = None
    prompts: Annotated[
        Path | None, option("Your own prompt templates in place of Proctor's.", metavar="FOLDER")
    ] = None
    prices: Annotated[
        Path | None, option("Your own prices, TOML or JSON (see 'proctor calls').", metavar="FILE")
    ] = None
    retry_failed: Annotated[
        bool, option("Repeat calls that failed at the provider; without it they stay failed.")
    ] = False
    accept_failures: Annotated[
        bool,
        option(
            "Continue even if a model gave no reply at all, or a part stopped early; what is missing then counts as failed."
        ),
    ] = False
    budget: Any = None
    rehearsal: Any = None
    replies: Any = None
    listen: Any = None
    store: Any = None
    halt: Any = None
    left_out: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for flag, value in (
            ("--rpm", self.requests_per_minute),
            ("--tpm", self.tokens_per_minute),
            ("--timeout", self.timeout),
            ("--deadline", self.deadline),
        ):
            if value is not None and not (value > 0 and math.isfinite(value)):
                raise UserError(
                    f"{flag} is {value:g}, but has to be above 0.", hint="leave it out for no limit"
                )

    def spending(self) -> Budget:
        """Return the budget of these limits."""
        from proctor.llm.budget import Budget

        budget: Budget = self.budget or Budget(self.max_cost, self.max_calls, self.max_tokens)
        return budget

    def shared(self) -> Limits:
        """Return the same limits for several stages together: what one has spent the next one cannot spend again."""
        return msgspec.structs.replace(self, budget=self.spending())
