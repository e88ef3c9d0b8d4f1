"""One call with one repair: what was said, what cannot be read, and who was not there."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from proctor.ask.clip.asking import Asked, ask_once_more, call_notes
from proctor.llm.message import Request, user
from proctor.llm.outcome import Failure, Outcome, Refusal, Reply, Truncated, Usage
from proctor.llm.structured import Unreadable

REQUEST = Request(model="made/m", messages=(user("how many?"),))


def read(text: str) -> int | Unreadable:
    return int(text) if text.isdigit() else Unreadable("wrong_shape", "no number")


def hold(outcomes: Sequence[Outcome], *, repair: bool = True) -> tuple[Asked[int], list[Request]]:
    talk, sent, coming = ask_once_more(REQUEST, read, "A number.", repair=repair), [], iter(outcomes)
    request = next(talk)
    while True:
        sent.append(request)
        try:
            request = talk.send(next(coming))
        except StopIteration as end:
            return end.value, sent


def test_first_reply_that_can_be_read_is_all_that_is_asked_for() -> None:
    asked, sent = hold([Reply(text="7")])
    assert (asked.said, asked.why, asked.postponed, asked.declined) == (7, "", False, False)
    assert sent == [REQUEST]


def test_what_cannot_be_read_is_asked_for_once_more_with_the_reply_and_the_form() -> None:
    asked, sent = hold([Reply(text="seven"), Reply(text="7")])
    assert asked.said == 7
    first, second = sent
    assert second.messages[:1] == first.messages
    assert [m.role for m in second.messages] == ["user", "assistant", "user"]
    assert second.messages[1].text == "seven"
    assert "A number." in second.messages[2].text
    assert second.model == first.model
    assert second.draw == first.draw


def test_there_is_one_repair_and_no_second() -> None:
    asked, sent = hold([Reply(text="seven"), Reply(text="VII"), Reply(text="7")])
    assert asked.said is None
    assert not asked.postponed
    assert not asked.declined
    assert asked.why == "unparsed: wrong_shape: VII"
    assert len(sent) == 2
    asked, sent = hold([Reply(text="seven"), Reply(text="7")], repair=False)
    assert asked.said is None
    assert len(sent) == 1


@pytest.mark.parametrize(
    ("outcome", "postponed", "declined", "code"),
    [
        (Failure(kind="overload", message="busy"), True, False, "overload"),
        (Failure(kind="budget", message="spent"), True, False, "budget"),
        (Failure(kind="bad_request", message="what?"), True, False, "bad_request"),
        (Failure(kind="content_filter", message="no"), False, True, "refusal"),
        (Refusal(text="I will not"), False, True, "refusal"),
        (Refusal(), False, True, "refusal"),
        (Truncated(text="sev"), False, False, "truncated"),
    ],
)
def test_without_a_reply_it_is_told_whether_asking_again_can_help(
    outcome: Outcome, postponed: bool, declined: bool, code: str
) -> None:
    for before in ([], [Reply(text="seven")]):
        asked, _ = hold([*before, outcome])
        assert asked.said is None
        assert (asked.postponed, asked.declined) == (postponed, declined)
        assert asked.why.partition(":")[0] == code


def test_a_long_reply_is_told_in_part() -> None:
    asked, _ = hold([Reply(text="x" * 10_000)] * 2)
    assert len(asked.why) == 300


def test_notes_count_every_call_once_with_its_tokens_and_price() -> None:
    usage = Usage(input=10, output=2)
    one = Asked(1, calls=((REQUEST, Reply(text="1", usage=usage)),))
    other_request = Request(model="made/other", messages=REQUEST.messages)
    other = Asked(2, calls=((other_request, Reply(text="2", usage=usage)),))
    notes = call_notes([one, one, other], lambda _model, _outcome: 1_500_000)
    assert notes == {
        "calls": "2",
        "requests": f"{REQUEST.key[:16]} {other_request.key[:16]}",
        "tokens_in": "20",
        "tokens_out": "4",
        "cost": "0.003",
    }
    assert call_notes([]) == {"calls": "0"}


def test_notes_leave_out_what_is_not_known() -> None:
    known = Asked(1, calls=((REQUEST, Reply(text="1", usage=Usage(input=10, output=2))),))
    unknown = Asked(2, calls=((Request(model="made/o", messages=()), Reply(text="2")),))
    notes = call_notes([known, unknown], lambda model, _: 5 if model == "made/m" else None)
    assert "tokens_in" not in notes
    assert "tokens_out" not in notes
    assert "cost" not in notes
    failed = Asked(None, calls=((REQUEST, Failure(kind="auth", message="no key")),), postponed=True)
    assert call_notes([failed], lambda _m, _o: None)["cost"] == "0"
    lost = Asked(None, calls=((REQUEST, Failure(kind="timeout", message="", lost=True)),), postponed=True)
    assert "cost" not in call_notes([lost], lambda _m, _o: None)
