from __future__ import annotations

import msgspec
import pytest

from proctor.llm.attempt import NO_USAGE, AttemptRecord, outcome_kind
from proctor.llm.outcome import FAILURE_KINDS, Failure, Outcome, Refusal, Reply, Truncated, Usage

USAGE = Usage(input=3, output=4, cached=1, reasoning=2)


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (Reply(text="x", usage=USAGE), "reply"),
        (Truncated(text="x", usage=USAGE), "truncated"),
        (Refusal(usage=USAGE), "refusal"),
        *((Failure(kind=kind, message="m", usage=USAGE), kind) for kind in FAILURE_KINDS),
    ],
)
def test_every_outcome_has_a_word_and_its_tokens(outcome: Outcome, kind: str) -> None:
    assert outcome_kind(outcome) == kind
    assert outcome.usage == USAGE
    record = AttemptRecord.of(2, 1.5, 0.25, outcome)
    assert (record.number, record.started, record.seconds, record.outcome) == (2, 1.5, 0.25, kind)
    assert record.usage == USAGE
    assert record.cost is None
    assert msgspec.json.decode(msgspec.json.encode(record), type=AttemptRecord) == record


def test_a_failure_keeps_what_was_seen() -> None:
    failure = Failure(kind="rate_limit", message="slow down", status=429, retry_after=2.5)
    record = AttemptRecord.of(1, 0.0, 0.0, failure)
    assert (record.status, record.retry_after, record.message) == (429, 2.5, "slow down")
    assert record.usage == NO_USAGE


def test_a_record_is_small() -> None:
    record = AttemptRecord.of(1, 0.0, 0.0, Reply(text="a" * 10_000))
    assert len(msgspec.json.encode(record)) < 100


def test_who_lost_a_reply_may_pay_for_it() -> None:
    cut = Failure(kind="server", message="half a reply", lost=True)
    assert AttemptRecord.of(1, 0.0, 0.0, cut).lost
    assert AttemptRecord.of(1, 0.0, 0.0, Failure(kind="timeout", message="slow")).lost
    assert not AttemptRecord.of(1, 0.0, 0.0, Failure(kind="overload", message="busy", status=529)).lost
    charged = Failure(kind="timeout", message="slow", usage=Usage(3, 0))
    record = AttemptRecord.of(1, 0.0, 0.0, charged)
    assert (record.lost, record.is_charged) == (False, True)  # the provider said what it took
    assert not AttemptRecord.of(1, 0.0, 0.0, cut).is_charged
    assert AttemptRecord.of(1, 0.0, 0.0, Reply(text="")).is_charged
