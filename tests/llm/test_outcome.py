"""Outcomes: four kinds that never mix, and what is kept of them."""

from __future__ import annotations

import msgspec
import pytest

from proctor.llm.outcome import (
    FAILURE_KINDS,
    RETRYABLE,
    Failure,
    Outcome,
    Refusal,
    Reply,
    Truncated,
    Usage,
    is_final,
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
