"""Outcomes: four kinds that never mix, and what is kept of them."""

from __future__ import annotations

import msgspec
import pytest

from proctor.llm.outcome import (
    FAILURE_KINDS,
    NO_USAGE,
    RETRYABLE,
    AttemptRecord,
    Failure,
    Outcome,
    Refusal,
    Reply,
    Truncated,
    Usage,
    is_final,
    outcome_kind,
)


@pytest.mark.parametrize(
    "outcome",
    [
        Reply(text=""),
        Reply(text="x", usage=Usage(1, 2, 3, 4), model="m", stop="stop", provider_id="i"),
        Truncated(text="x"),
        Refusal(),
        *(Failure(kind=kind, message="m", status=500, retry_after=0.5) for kind in FAILURE_KINDS),
        Failure(kind="content_filter", message="m", usage=Usage(input=4)),
    ],
)
def test_an_outcome_survives_the_disk_with_its_kind(outcome: Outcome) -> None:
    text = msgspec.json.encode(outcome)
    back = msgspec.json.decode(text, type=Outcome)
    assert back == outcome
    assert type(back) is type(outcome)


def test_a_failure_without_usage_is_written_as_before() -> None:
    assert msgspec.json.encode(Failure(kind="server", message="m")) == (
        b'{"type":"failure","kind":"server","message":"m"}'
    )


def test_what_is_final() -> None:
    assert all(is_final(outcome) for outcome in (Reply(text="x"), Truncated(text=""), Refusal()))
    final = {kind for kind in FAILURE_KINDS if is_final(Failure(kind=kind, message=""))}
    assert final == {"content_filter"}


def test_what_may_go_away_by_itself() -> None:
    kinds = {kind for kind in FAILURE_KINDS if Failure(kind=kind, message="").retryable}
    assert kinds == set(RETRYABLE) == {"rate_limit", "overload", "server", "timeout", "connection"}


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"type":"failure","kind":"bad luck","message":""}', type=Outcome)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"type":"answer","text":""}', type=Outcome)


def test_outcomes_do_not_change() -> None:
    with pytest.raises(AttributeError):
        Reply(text="x").text = "y"  # type: ignore[misc]


# -- one try at a call --------------------------------------------------------------------------------------------

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
