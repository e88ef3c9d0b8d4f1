"""Conversations side by side: who hears what, in which order, and how they end."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.llm.converse import Conversation, Feed, converse
from proctor.llm.message import Request, user
from proctor.llm.outcome import Outcome, Reply


def request(text: str) -> Request:
    return Request(model="compat/m@http://127.0.0.1:1/v1", messages=(user(text),))


def echo(requests: Iterable[Request]) -> Iterator[tuple[Request, Outcome]]:
    for one in requests:
        yield one, Reply(text=one.messages[0].text)


def counting(name: str, rounds: int) -> Conversation[list[str]]:
    heard = []
    for number in range(rounds):
        outcome = yield request(f"{name} {number}")
        heard.append(outcome.text)
    return heard


def test_each_conversation_hears_its_own_outcomes():
    found = dict(converse(((n, counting(n, r)) for n, r in (("a", 1), ("b", 3), ("c", 0))), echo))
    assert found == {"a": ["a 0"], "b": ["b 0", "b 1", "b 2"], "c": []}


def test_several_requests_at_once_come_back_in_their_order():
    def talk() -> Conversation[tuple[str, ...]]:
        outcomes = yield (request("x"), request("y"), request("x"))
        return tuple(o.text for o in outcomes)

    def backwards(requests: Iterable[Request]) -> Iterator[tuple[Request, Outcome]]:
        assert isinstance(requests, Feed)
        while taken := requests.take(10):
            for one in reversed(taken):
                yield one, Reply(text=one.messages[0].text)

    assert list(converse([("t", talk())], backwards)) == [("t", ("x", "y", "x"))]


def test_an_empty_tuple_is_answered_at_once():
    def talk() -> Conversation[object]:
        nothing = yield ()
        return nothing

    assert list(converse([("t", talk())], echo)) == [("t", ())]


def test_equal_requests_of_two_conversations_are_sent_once():
    sent: list[str] = []

    def listening(requests: Iterable[Request]) -> Iterator[tuple[Request, Outcome]]:
        for one in requests:
            sent.append(one.messages[0].text)
            yield one, Reply(text="yes")

    found = list(converse([("a", counting("same", 1)), ("b", counting("same", 1))], listening))
    assert sorted(found) == [("a", ["yes"]), ("b", ["yes"])]
    assert sent == ["same 0"]


def test_nothing_is_asked_when_nobody_wants_anything():
    def never(requests: Iterable[Request]) -> Iterator[tuple[Request, Outcome]]:
        raise AssertionError("asked")

    assert list(converse([], never)) == []
    assert list(converse([("a", counting("a", 0))], never)) == [("a", [])]


def test_an_error_of_one_conversation_ends_all_and_closes_the_others():
    closed = []

    def careful() -> Conversation[None]:
        try:
            while True:
                yield request("again")
        finally:
            closed.append(True)

    def broken() -> Conversation[None]:
        yield request("once")
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        list(converse([("careful", careful()), ("broken", broken())], echo))
    assert closed == [True]


def test_only_so_many_go_on_at_a_time():
    going, most = set(), 0

    def talk(name: str) -> Conversation[None]:
        nonlocal most
        going.add(name)
        most = max(most, len(going))
        yield request(name)
        going.discard(name)

    assert len(list(converse(((str(n), talk(str(n))) for n in range(50)), echo, in_flight=4))) == 50
    assert most == 4


def test_two_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two conversations"):
        list(converse([("a", counting("x", 1)), ("a", counting("y", 1))], echo))


def test_a_reader_that_stops_early_leaves_no_thread_waiting():
    feeds: list[Feed] = []
    ended = threading.Event()

    def threaded(requests: Iterable[Request]) -> Iterator[tuple[Request, Outcome]]:
        assert isinstance(requests, Feed)
        feeds.append(requests)

        def wait() -> None:
            while requests.take(1):
                pass
            ended.set()

        first = requests.take(1)[0]
        threading.Thread(target=wait, daemon=True).start()
        yield first, Reply(text="one")

    talks = converse(((str(n), counting(str(n), 1)) for n in range(3)), threaded, in_flight=1)
    assert next(talks) == ("0", ["one"])
    talks.close()
    assert ended.wait(60)


@given(st.lists(st.integers(0, 5), max_size=12), st.integers(1, 5), st.randoms(use_true_random=False))
def test_order_and_concurrency_change_nothing(rounds, in_flight, rng):
    def shuffled(requests: Iterable[Request]) -> Iterator[tuple[Request, Outcome]]:
        assert isinstance(requests, Feed)
        held: list[Request] = []
        while True:
            if not held:
                held += requests.take(rng.randint(1, 8))
            if not held:
                return
            one = held.pop(rng.randrange(len(held)))
            yield one, Reply(text=one.messages[0].text)

    found = dict(
        converse(((str(n), counting(str(n), r)) for n, r in enumerate(rounds)), shuffled, in_flight=in_flight)
    )
    assert found == {str(n): [f"{n} {k}" for k in range(r)] for n, r in enumerate(rounds)}
