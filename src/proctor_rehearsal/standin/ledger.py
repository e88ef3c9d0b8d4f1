"""What the stand-in saw: every request counted under its name, the latest kept, bounded in memory, without keys."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from proctor_rehearsal.standin.call import Call, Medium

if TYPE_CHECKING:
    from proctor_rehearsal.standin.protocols.base import Protocol

__all__ = ["Ledger", "Record", "safe_headers"]

_SAFE: Final = (
    "user-agent",
    "content-type",
    "content-encoding",
    "accept",
    "accept-encoding",
    "anthropic-version",
    "anthropic-beta",
    "x-stainless-retry-count",
    "x-stainless-lang",
    "x-goog-api-client",
    "idempotency-key",
)
"""Headers that are kept: none of them can hold a key."""

_RECORDS: Final = 100_000
_KINDS_OF_CLIENTS: Final = 1_000
_BODIES: Final = 64 * 2**20
_ERRORS: Final = 100
_NONE: Final[Mapping[str, int]] = MappingProxyType({})


@lru_cache(maxsize=_KINDS_OF_CLIENTS)
def _shared(values: tuple[str | None, ...]) -> dict[str, str]:
    return {name: value for name, value in zip(_SAFE, values, strict=True) if value is not None}


def safe_headers(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Return the headers that hold no secret, in lower case; requests with equal ones share them."""
    get = headers.get
    return _shared(tuple([get(name) for name in _SAFE]))


class Record:
    """One request and what became of it.

    Attributes:
        number: since the last reset, from 1.
        key: name of path and body, 32 hex digits.
        nth: how often this key was seen, this time included.
        protocol: ``openai``, ``responses``, ``anthropic``, ``google`` or ``embeddings``.
        path: of the URL, without the query.
        model: as the client named it; empty where nobody looked into the body.
        status: HTTP status of the reply; 0 when none was sent.
        outcome: ``reply``, ``refusal``, ``truncated``, ``content_filter``, the kind of the fault, ``auth``,
            ``rejected``, ``error`` (of a rule) or ``open`` (still being answered, or the client left).
        sent: True when the whole reply went out before the client left.
        ended: True when nothing more becomes of it.
        began: seconds since the server started.
        seconds: until the reply was out.
        size: bytes of the body.
        media: kinds of media and how many, such as ``{"image": 10}``.
        headers: those that hold no secret.
        body: as it came; None when it left memory.
    """

    __slots__ = (
        "_owner", "began", "body", "ended", "headers", "key", "media", "model", "nth", "number", "outcome", "path", "protocol",
        "seconds", "sent", "size", "status",
    )  # fmt: skip

    def __init__(self, call: Call, began: float) -> None:
        self._owner: Protocol = call.protocol
        self.number = call.number
        self.key = call.key
        self.nth = call.nth
        self.protocol = call.protocol.name
        self.path = sys.intern(call.path)
        self.model = ""
        self.status = 0
        self.outcome = "open"
        self.sent = False
        self.ended = False
        self.began = began
        self.seconds = 0.0
        self.size = len(call.body)
        self.media: Mapping[str, int] = _NONE
        self.headers = call.headers
        self.body: bytes | None = call.body

    @property
    def call(self) -> Call:
        """The request, to look into.

        Raises:
            LookupError: if its body left memory.
        """
        if self.body is None:
            raise LookupError(f"the body of request {self.number} is no longer in memory")
        return Call(
            self._owner,
            self.path,
            self.body,
            key=self.key,
            nth=self.nth,
            number=self.number,
            headers=self.headers,
        )

    @property
    def json(self) -> dict[str, Any]:
        """The body as JSON."""
        return self.call.json

    @property
    def text(self) -> str:
        """System prompt and turns."""
        return self.call.text

    @property
    def parts(self) -> tuple[Medium, ...]:
        """Images, video and audio."""
        return self.call.media

    def row(self, *, body: bool = False) -> dict[str, Any]:
        """Return the record as plain values."""
        names = (name for name in self.__slots__ if name not in ("_owner", "body"))
        row = {name: getattr(self, name) for name in names} | {"media": dict(self.media)}
        if body and self.body is not None:
            row["body"] = self.body.decode("utf-8", "replace")
        return row


class Ledger:
    """Counts and records; written by the server's thread, read by any.

    Args:
        bodies: bytes of request bodies that are kept, the latest.
        records: how many records are kept, the latest.
    """

    def __init__(self, bodies: int = _BODIES, records: int = _RECORDS) -> None:
        self._limit = bodies
        self._records: deque[Record] = deque(maxlen=records)
        self._bodies: deque[Record] = deque()
        self._lock = threading.Lock()
        self._born = time.monotonic()
        self.reset()

    def reset(self) -> None:
        """Forget everything; requests that are being answered stay in flight."""
        with self._lock:
            self._records.clear()
            self._bodies.clear()
            self._held = 0
            self.count = 0
            self.answered = 0
            self.lost = 0
            self.other = 0
            self.in_flight = self.most_in_flight = getattr(self, "in_flight", 0)
            self.by_key: Counter[str] = Counter()
            self.answered_by_key: Counter[str] = Counter()
            self.by_outcome: Counter[str] = Counter()
            self.by_status: Counter[int] = Counter()
            self.errors: deque[str] = deque(maxlen=_ERRORS)

    def begin(
        self, protocol: Protocol, path: str, body: bytes, key: str, headers: Mapping[str, str]
    ) -> tuple[Call, Record]:
        """Count a request whose body has come and return it with its record."""
        with self._lock:
            self.count += 1
            self.by_key[key] += 1
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            call = Call(
                protocol,
                path,
                body,
                key=key,
                nth=self.by_key[key],
                number=self.count,
                headers=safe_headers(headers),
            )
            record = Record(call, time.monotonic() - self._born)
            self._records.append(record)
            self._bodies.append(record)
            self._held += len(body)
            while self._held > self._limit and self._bodies:
                old = self._bodies.popleft()
                self._held -= old.size
                old.body = None
        return call, record

    def end(self, call: Call, record: Record) -> None:
        """Note what became of a request, once: ``record.status``, ``outcome`` and ``sent`` are set."""
        if record.ended:
            return
        record.ended = True
        if call.parsed:
            content = call.content
            record.model = content.model
            if content.attached:
                record.media = dict(Counter(part.kind for part in content.attached))
        with self._lock:
            record.seconds = time.monotonic() - self._born - record.began
            self.in_flight -= 1
            self.by_outcome[record.outcome] += 1
            self.by_status[record.status] += 1
            if not record.sent:
                self.lost += 1
            elif record.outcome in ("reply", "refusal", "truncated", "content_filter"):
                self.answered += 1
                self.answered_by_key[record.key] += 1

    def note(self, error: str) -> None:
        """Keep what went wrong in a rule."""
        with self._lock:
            self.errors.append(error)

    @property
    def requests(self) -> list[Record]:
        """The latest records, oldest first."""
        with self._lock:
            return list(self._records)

    def summary(self, *, last: int = 0, keys: bool = False, bodies: bool = False) -> dict[str, Any]:
        """Return counts as plain values.

        Args:
            last: how many of the latest records come with them.
            keys: whether the counts of every key come with them.
            bodies: whether the records come with the bodies that are still kept.
        """
        with self._lock:
            counts: dict[str, Any] = {
                "count": self.count,
                "answered": self.answered,
                "lost": self.lost,
                "other": self.other,
                "in_flight": self.in_flight,
                "most_in_flight": self.most_in_flight,
                "distinct": len(self.by_key),
                "most_of_one": max(self.by_key.values(), default=0),
                "most_answers_of_one": max(self.answered_by_key.values(), default=0),
                "by_outcome": dict(self.by_outcome),
                "by_status": {str(status): n for status, n in self.by_status.items()},
                "errors": list(self.errors),
            }
            if keys:
                counts["by_key"] = dict(self.by_key)
                counts["answered_by_key"] = dict(self.answered_by_key)
            chosen = list(self._records)[-last:] if last > 0 else []
        counts["requests"] = [record.row(body=bodies) for record in chosen]
        return counts
