"""Many conversations at once, each written as a generator that yields requests and is sent what became of them.

    def talk() -> Conversation[str]:
        outcome = yield Request(...)
        first, second = yield (Request(...), Request(...))     # both at once
        return "done"

Every conversation advances as soon as its own outcomes are there, so a slow one holds up nobody. What a conversation does
may depend on its own outcomes alone: then order and concurrency change nothing.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeAlias, TypeVar

from proctor.llm.message import Request
from proctor.llm.outcome import Ask, Outcome

__all__ = ["IN_FLIGHT", "Conversation", "Feed", "converse"]

_FIRST: Final = 64
_MORE: Final = 8
"""Conversations that begin before anything is asked, and with each outcome: making the first request of all of them may take
seconds in which nothing is sent."""

R = TypeVar("R")

Conversation: TypeAlias = Generator[Request | tuple[Request, ...], Any, R]
"""Yields a request and is sent its outcome, or a tuple of requests and is sent a tuple of outcomes."""

IN_FLIGHT: Final = 512
"""Conversations that go on at a time, unless told otherwise; further ones begin when these end."""


class Feed:
    """Requests that come into being while others are answered; an iterator that waits for them.

    ``take`` hands out what is there without waiting for more, so that whoever makes the calls need not fill a chunk first.
    """

    def __init__(self) -> None:
        self.look: Callable[[Request], None] | None = None
        """Called with each request before it is handed out."""
        # Written in C: Ctrl-C may leave what is written in Python (threading.Condition, queue.Queue) locked for good.
        self._ready: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._closed = False

    def put(self, requests: Iterable[Request]) -> None:
        """Add requests."""
        for request in requests:
            self._ready.put(request)

    def end(self) -> None:
        """Say that nothing more will come."""
        self._ready.put(None)

    def take(self, most: int) -> list[Request]:
        """Return at least one request and at most ``most``, waiting for the first; none after the end."""
        taken: list[Request] = []
        while not self._closed and len(taken) < most and not (taken and self._ready.empty()):
            request = self._ready.get()
            if request is None:
                self._closed = True
            else:
                taken.append(request)
        if self.look is not None:
            for request in taken:
                self.look(request)
        return taken

    def __iter__(self) -> Iterator[Request]:
        return self

    def __next__(self) -> Request:
        taken = self.take(1)
        if not taken:
            raise StopIteration
        return taken[0]


@dataclass(slots=True, eq=False)
class _Talk(Generic[R]):
    """One conversation that is going on."""

    name: str
    talk: Conversation[R]
    waits_for: tuple[str, ...] = ()
    single: bool = True
    heard: dict[str, Outcome] = field(default_factory=dict)

    def advance(self, sent: Any) -> tuple[Request, ...]:
        """Go on to the next requests.

        Raises:
            StopIteration: when it has come to its end.
        """
        said = self.talk.send(sent)
        self.single = isinstance(said, Request)
        requests = (said,) if isinstance(said, Request) else tuple(said)
        self.waits_for = tuple(request.key for request in requests)
        self.heard = {}
        return requests

    def reply(self) -> Any:
        """Return what it waited for."""
        outcomes = tuple(self.heard[key] for key in self.waits_for)
        return outcomes[0] if self.single else outcomes


def converse(
    conversations: Iterable[tuple[str, Conversation[R]]],
    ask: Ask,
    *,
    in_flight: int = IN_FLIGHT,
    known: dict[str, Outcome] | None = None,
) -> Iterator[tuple[str, R]]:
    """Yield the name and the result of each conversation, in the order in which they end.

    Conversations that want the same request at the same time share it; with ``known`` also those that want it later.

    Args:
        conversations: names, unique, and generators that have not begun; begun as there is room.
        ask: makes the calls (``proctor.llm.blocking.run_calls``, or anything that yields each request with its outcome).
        in_flight: conversations that go on at a time.
        known: outcomes by key that need not be asked for; those that come are added.
    """
    feed = Feed()
    hall = _Hall(iter(conversations), feed, in_flight, known)
    answers: Iterator[tuple[Request, Outcome]] | None = None
    try:
        yield from hall.fill(_FIRST)
        if not hall.waiting:
            return
        answers = ask(feed)
        for request, outcome in answers:
            yield from hall.deliver(request.key, outcome)
            yield from hall.fill(_MORE)  # (an end may have made it known what comes next)
            if not hall.waiting:
                feed.end()
    finally:
        feed.end()  # before the calls are stopped: their maker may be waiting for the next request
        if isinstance(answers, Generator):
            answers.close()
        hall.close()


class _Hall(Generic[R]):
    """The conversations that are going on, by the requests that they wait for."""

    def __init__(
        self,
        coming: Iterator[tuple[str, Conversation[R]]],
        feed: Feed,
        most: int,
        known: dict[str, Outcome] | None,
    ) -> None:
        self._coming = coming
        self._feed = feed
        self._most = most
        self._known = known
        self._going: dict[str, _Talk[R]] = {}
        self.waiting: dict[str, list[_Talk[R]]] = {}

    def fill(self, most: int) -> list[tuple[str, R]]:
        """Begin conversations while there is room, so many that go on; return those that ended at once."""
        ended: list[tuple[str, R]] = []
        room = min(len(self._going) + most, self._most)
        while len(self._going) < room and (coming := next(self._coming, None)) is not None:
            name, talk = coming
            if name in self._going:
                raise ValueError(f"two conversations are called {name!r}")
            self._going[name] = going = _Talk(name, talk)
            ended += self._advance(going, None)
        return ended

    def deliver(self, key: str, outcome: Outcome) -> list[tuple[str, R]]:
        """Tell everybody who waits for a request what became of it; return conversations that ended."""
        ended: list[tuple[str, R]] = []
        if self._known is not None:
            self._known[key] = outcome
        for talk in self.waiting.pop(key, ()):
            talk.heard[key] = outcome
            if len(talk.heard) == len(set(talk.waits_for)):
                ended += self._advance(talk, talk.reply())
        return ended

    def _advance(self, talk: _Talk[R], sent: Any) -> list[tuple[str, R]]:
        try:
            requests = talk.advance(sent)
            while self._hears_all(talk):  # it asked for nothing, or for what is known
                requests = talk.advance(talk.reply())
        except StopIteration as end:
            del self._going[talk.name]
            return [(talk.name, end.value)]
        new: dict[str, Request] = {}
        for key, request in zip(talk.waits_for, requests, strict=True):
            if key in talk.heard:
                continue
            there = self.waiting.setdefault(key, [])
            if not there:
                new[key] = request
            if talk not in there:
                there.append(talk)
        self._feed.put(new.values())
        return []

    def _hears_all(self, talk: _Talk[R]) -> bool:
        if self._known is not None:
            talk.heard = {key: self._known[key] for key in talk.waits_for if key in self._known}
        return len(talk.heard) == len(set(talk.waits_for))

    def close(self) -> None:
        """End the conversations that did not come to their end."""
        for talk in self._going.values():
            talk.talk.close()
        self._going.clear()
