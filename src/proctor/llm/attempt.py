"""One try at a call, as it is kept for good: when, how long, what came of it, what it used and what it cost."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from proctor.llm.outcome import FAILURE_KINDS, Failure, FailureKind, Outcome, Reply, Truncated, Usage

__all__ = ["NO_USAGE", "AttemptOutcome", "AttemptRecord", "outcome_kind"]

AttemptOutcome = Literal["reply", "truncated", "refusal"] | FailureKind

NO_USAGE: Final = Usage()


class AttemptRecord(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One attempt. ``Flow`` makes it without a cost; whoever knows the prices adds that.

    Attributes:
        number: 1, 2, 3, … within one run of the call.
        started: seconds since 1970, UTC.
        seconds: until the outcome was there, by a clock that is never set back; waiting for a free place is left out.
        outcome: ``reply``, ``truncated``, ``refusal`` or the kind of failure.
        status: HTTP status, where there was one and it was not 200.
        usage: tokens as the provider counted them.
        cost: nano-dollars (1e-9 USD), None when the price is not known.
        retry_after: seconds that the provider asked to wait.
        message: what was seen, for failures.
        lost: True when nobody but the provider knows what became of the request: it may be charged.
        feared: nano-dollars that a lost attempt may cost at worst, None when the price is not known.
    """

    number: int
    started: float
    seconds: float
    outcome: AttemptOutcome
    status: int | None = None
    usage: Usage = NO_USAGE
    cost: int | None = None
    retry_after: float | None = None
    message: str = ""
    lost: bool = False
    feared: int | None = None

    @property
    def is_charged(self) -> bool:
        """True when the provider has said that there is something to pay for."""
        return self.outcome not in FAILURE_KINDS or self.usage != NO_USAGE

    @classmethod
    def of(cls, number: int, started: float, seconds: float, outcome: Outcome) -> AttemptRecord:
        """Return the record of an attempt that ended with this outcome."""
        failed = outcome if isinstance(outcome, Failure) else None
        return cls(
            number=number,
            started=started,
            seconds=seconds,
            outcome=outcome_kind(outcome),
            status=failed.status if failed else None,
            usage=outcome.usage,
            retry_after=failed.retry_after if failed else None,
            message=failed.message if failed else "",
            lost=failed is not None
            and failed.usage == NO_USAGE
            and (failed.lost or failed.kind == "timeout"),
        )


def outcome_kind(outcome: Outcome) -> AttemptOutcome:
    """Return the outcome in one word."""
    if isinstance(outcome, Failure):
        return outcome.kind
    if isinstance(outcome, Reply):
        return "reply"
    return "truncated" if isinstance(outcome, Truncated) else "refusal"
