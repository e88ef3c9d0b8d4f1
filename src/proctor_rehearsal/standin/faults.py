"""Which request meets which fault, and what a fault does to the bytes on the wire."""

from __future__ import annotations

import gzip
import time
import zlib
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http import HTTPStatus
from typing import Final, Literal

from proctor_rehearsal.standin.call import Call
from proctor_rehearsal.standin.script import FAULT_KINDS, Fault, FaultKind, Match

__all__ = ["AFTER", "BEFORE", "MODEL", "Faults", "Wire", "error_page", "retry_headers", "spoil"]

BEFORE: Final[frozenset[FaultKind]] = frozenset(
    {"status", "stall", "cut", "reset", "redirect", "html", "prompt_filter"}
)
"""Faults that come before the model says anything."""
MODEL: Final[frozenset[FaultKind]] = frozenset(
    {"refusal", "content_filter", "length", "empty_reply", "wrong_schema", "duplicate", "two_choices"}
)
"""Faults of the model itself."""
AFTER: Final[frozenset[FaultKind]] = frozenset(FAULT_KINDS) - BEFORE - MODEL
"""Faults of the body on its way."""

_PIECE: Final = 64 * 1024
_PIECES: Final = 20
_ANY: Final = Match()


class Faults:
    """The schedules of a script's faults and how far they have come.

    Args:
        faults: in order; the first that is due happens.
        seed: of the draws.
    """

    def __init__(self, faults: Iterable[Fault], seed: int) -> None:
        self._faults = tuple(faults)
        self._seed = seed
        self._seen = [0] * len(self._faults)
        self._happened = [0] * len(self._faults)
        self._attempts: list[Counter[str]] = [Counter() for _ in self._faults]
        self._passed: list[deque[float]] = [deque() for _ in self._faults]

    def due(self, call: Call, in_flight: int = 1) -> Fault | None:
        """Return the fault that this request meets; every fault counts the requests that it could have met.

        Args:
            call: the request.
            in_flight: how many requests are being answered, this one included.
        """
        chosen, open_gates = None, []
        for index, fault in enumerate(self._faults):
            if fault.match is not _ANY and not fault.match.holds(call):
                continue
            self._seen[index] += 1
            if fault.attempts is not None:
                self._attempts[index][call.key] += 1
            if fault.rate is not None:
                open_gates.append(self._passed[index])
            if chosen is None and self._is_due(index, fault, call, in_flight):
                self._happened[index] += 1
                chosen = fault
        if chosen is None:
            for gate in open_gates:
                gate.append(time.monotonic())
        return chosen

    def _is_due(self, index: int, fault: Fault, call: Call, in_flight: int) -> bool:
        count = self._seen[index]
        if fault.crowd is not None and in_flight <= fault.crowd:
            return False
        if fault.rate is not None and not self._is_too_fast(index, *fault.rate):
            return False
        if fault.first is not None and count > fault.first:
            return False
        if fault.every is not None and count % fault.every:
            return False
        if fault.window is not None and not fault.window[0] <= count <= fault.window[1]:
            return False
        if fault.attempts is not None and self._attempts[index][call.key] > fault.attempts:
            return False
        if fault.limit is not None and self._happened[index] >= fault.limit:
            return False
        if fault.probability is None:
            return True
        again = 0 if fault.sticky else call.nth
        return call.draw("fault", self._seed, index, again) < fault.probability

    def _is_too_fast(self, index: int, most: int, seconds: float) -> bool:
        passed, now = self._passed[index], time.monotonic()
        while passed and passed[0] <= now - seconds:
            passed.popleft()
        return len(passed) >= most


@dataclass(slots=True)
class Wire:
    """Bytes to be sent as they are, piece by piece.

    Attributes:
        pieces: bytes, each with the seconds to wait before it is sent.
        end: how the connection ends: ``close`` (FIN), ``reset`` (RST) or ``keep``.
    """

    pieces: list[tuple[float, bytes]] = field(default_factory=list)
    end: Literal["close", "reset", "keep"] = "close"


def retry_headers(fault: Fault) -> dict[str, str]:
    """Return the Retry-After header of a fault, as seconds or as a date."""
    if fault.retry_after is None:
        return {}
    if fault.retry_date:
        then = datetime.now(UTC) + timedelta(seconds=fault.retry_after)
        return {"retry-after": format_datetime(then, usegmt=True)}
    return {"retry-after": f"{fault.retry_after:g}"}


def error_page(status: int) -> str:
    """Return the page that a proxy shows when what is behind it fails."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Error"
    title = f"{status} {phrase}"
    return f"<!DOCTYPE html>\n<html><head><title>{title}</title></head>\n<body><h1>{title}</h1><hr>nginx</body></html>\n"


def spoil(fault: Fault, body: bytes, headers: dict[str, str]) -> Wire:
    """Return what is sent instead of a good reply.

    Args:
        fault: one of ``AFTER``.
        body: the good reply.
        headers: its headers, without the length.
    """
    headers, kind = dict(headers), fault.kind
    if kind == "slow":
        size = max(1, -(-len(body) // _PIECES))
        parts = [body[i : i + size] for i in range(0, len(body), size)]
        wait = fault.seconds / max(len(parts), 1)
        return Wire([(0.0, _head(headers, len(body))), *((wait, part) for part in parts)], "keep")
    if kind in ("cut_body", "reset_body"):
        half = _head(headers, len(body)) + body[: len(body) // 2]
        return Wire([(0.0, half)], "close" if kind == "cut_body" else "reset")
    if kind == "too_long":
        return Wire([(0.0, _head(headers, len(body) + 100) + body)])
    if kind == "too_short":
        return Wire([(0.0, _head(headers, len(body) // 2) + body)])
    if kind == "gzip_bomb":
        body = _bomb(fault.bytes)
    elif kind == "gzip":
        body = gzip.compress(body, 6, mtime=0)
    if kind in ("gzip", "bad_gzip", "gzip_bomb"):
        headers["content-encoding"] = "gzip"
    if kind == "huge":
        filling = (
            (b'{"padding":"' + b" " * max(0, fault.bytes - 14) + b'"}') if fault.bytes <= _PIECE else b""
        )
        return (
            Wire([(0.0, _head(headers, len(filling)) + filling)], "keep")
            if filling
            else _huge(fault, headers)
        )
    if kind == "wrong_type":
        headers["content-type"] = "text/plain; charset=utf-8"
    body = _changed(kind, body)
    return Wire([(0.0, _head(headers, len(body)) + body)], "keep")


def _changed(kind: FaultKind, body: bytes) -> bytes:
    if kind == "malformed":
        return b"{'error': None, " + body[1 : max(2, len(body) // 3)] + b"}}"
    if kind == "truncated":
        return body[: len(body) // 2]
    if kind == "empty":
        return b""
    if kind == "missing":
        return b"{}"
    if kind == "two_bodies":
        return body + b"\n" + body
    if kind == "bad_utf8":
        middle = body.find(b'"model')
        return body[: middle + 1] + b"\xff\xfe" + body[middle + 1 :]
    return body


def _huge(fault: Fault, headers: dict[str, str]) -> Wire:
    """Send a JSON string of so many bytes without holding it."""
    start, end = b'{"padding":"', b'"}'
    whole, rest = divmod(fault.bytes - len(start) - len(end), _PIECE)
    filling = b" " * _PIECE
    pieces = [
        (0.0, _head(headers, fault.bytes) + start),
        *[(0.0, filling)] * whole,
        (0.0, filling[:rest] + end),
    ]
    return Wire(pieces, "keep")


def _bomb(size: int) -> bytes:
    """Return gzip that unpacks to so many bytes of a JSON string, made piece by piece."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    start, end, filling = b'{"padding":"', b'"}', b" " * _PIECE
    whole, rest = divmod(max(0, size - len(start) - len(end)), _PIECE)
    packed = [packer.compress(start), *(packer.compress(filling) for _ in range(whole))]
    return b"".join([*packed, packer.compress(filling[:rest] + end), packer.flush()])


def _head(headers: dict[str, str], length: int, status: int = 200) -> bytes:
    lines = [f"HTTP/1.1 {status} OK", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, f"content-length: {length}", "", ""]).encode("latin-1", "replace")
