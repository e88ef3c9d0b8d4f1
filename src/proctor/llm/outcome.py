"""What became of a call: a reply, a refusal, a truncated reply or a failure. Never a string that looks like an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, Literal, get_args

import msgspec

from proctor.llm.message import Request

__all__ = [
    "FAILURE_KINDS",
    "NO_USAGE",
    "OURS",
    "RETRYABLE",
    "Ask",
    "AttemptOutcome",
    "AttemptRecord",
    "Failure",
    "FailureKind",
    "Outcome",
    "Refusal",
    "Reply",
    "Truncated",
    "Usage",
    "is_final",
    "is_settled",
    "outcome_kind",
    "why_incomplete",
]

FailureKind = Literal[
    "rate_limit",  # 429
    "overload",  # 503, 529, "overloaded"
    "server",  # other 5xx, malformed or cut-off response bodies
    "timeout",  # our deadline, or the provider's
    "connection",  # no connection, reset, name not found
    "auth",  # 401, 403, no key
    "bad_request",  # 400, 404, 422: the request will never work as it is
    "too_large",  # 413, context length: a stated rule may shrink it
    "content_filter",  # the provider blocked the input or the output
    "budget",  # our own limit on calls, tokens or money was reached before it was sent
    "function",  # a function of the user's raised an error, or returned no text
    "cancelled",  # Ctrl-C, or an earlier error stopped the run: it was not sent, or cut off by ourselves
    "replay_miss",  # replay/ has no such call
]
FAILURE_KINDS: Final[tuple[FailureKind, ...]] = get_args(FailureKind)
RETRYABLE: Final[frozenset[FailureKind]] = frozenset(
    {"rate_limit", "overload", "server", "timeout", "connection"}
)
"""Failures that may go away by themselves."""
OURS: Final[frozenset[FailureKind]] = frozenset({"cancelled", "budget", "function", "replay_miss"})
"""Failures that come from this side: they tell nothing about the endpoint, and no provider has answered."""


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens as the provider counted them; None where it did not say.

    Attributes:
        input: prompt tokens, the cached ones included.
        output: reply tokens, thinking included.
        cached: prompt tokens read from the provider's cache.
        reasoning: tokens of thinking.
    """

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    reasoning: int | None = None


class Reply(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="reply"):
    """The model answered to the end.

    Attributes:
        text: what it said, thinking left out; may be empty.
        usage: tokens.
        model: the version that the provider says it used.
        stop: the provider's own word for why it stopped.
        provider_id: the provider's name of the call.
    """

    text: str
    usage: Usage = Usage()
    model: str = ""
    stop: str = ""
    provider_id: str = ""


class Truncated(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="truncated"):
    """The reply was cut off by a limit on tokens; ``text`` is what there is. It is paid for, and not an answer."""

    text: str
    usage: Usage = Usage()
    model: str = ""
    stop: str = ""
    provider_id: str = ""


class Refusal(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="refusal"):
    """The model declined, in the provider's own way of saying so; ``text`` is its explanation, if any."""

    text: str = ""
    usage: Usage = Usage()
    model: str = ""
    stop: str = ""
    provider_id: str = ""


class Failure(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="failure"):
    """There is no reply.

    Attributes:
        kind: what went wrong, in a closed list.
        message: what was seen, without secrets, at most a few hundred characters.
        status: HTTP status, if one came.
        retry_after: seconds that the provider asked to wait.
        usage: tokens that are paid for although there is no reply, such as of a reply that a filter stopped.
        lost: True when the request had gone out and what became of it is not known (no reply in time, a connection that
            broke, half a reply): the provider may charge for it all the same.
    """

    kind: FailureKind
    message: str
    status: int | None = None
    retry_after: float | None = None
    usage: Usage = Usage()
    lost: bool = False

    @property
    def retryable(self) -> bool:
        """True when trying again may help."""
        return self.kind in RETRYABLE


Outcome = Reply | Truncated | Refusal | Failure

Ask = Callable[[Iterable[Request]], Iterator[tuple[Request, Outcome]]]
"""Makes calls and yields each request with its outcome, in any order (``proctor.llm.blocking.run_calls``)."""


_SHOWN: Final = 300
"""Characters of a refusal or a message that a record keeps."""


def why_incomplete(outcome: Truncated | Refusal | Failure) -> tuple[str, str]:
    """Return why an outcome is no complete reply: a code that can be counted, and what people are told."""
    if isinstance(outcome, Failure):
        return outcome.kind, outcome.message[:_SHOWN]
    if isinstance(outcome, Truncated):
        return "truncated", f"cut off by the limit on tokens after {len(outcome.text):,} characters"
    return "refusal", outcome.text[:_SHOWN] or "the model declined without a word"


def is_final(outcome: Outcome) -> bool:
    """True when the outcome is kept for good: asking again would cost again and say the same.

    Replies, refusals and truncated replies are final, and so is a content filter, which the same request meets again.
    """
    return not isinstance(outcome, Failure) or outcome.kind == "content_filter"


def is_settled(failure: str) -> bool:
    """True for a failure that is the answer to its call until somebody wants it asked again (``--retry-failed``).

    All are that a provider is behind; those of ``OURS`` are asked by the same command. A run in which no model has said
    anything settles nothing: what was wrong is the key, the address or the network.

    Args:
        failure: kind of a failure, or the failure of a record, which begins with it (``timeout: no reply``).
    """
    kind = failure.partition(":")[0]
    return kind in FAILURE_KINDS and kind not in OURS


# -- one try at a call --------------------------------------------------------------------------------------------

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
