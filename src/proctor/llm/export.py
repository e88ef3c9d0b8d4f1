"""Calls as a file: JSON Lines, also gzipped, with every request, outcome and attempt, and the media if asked for.

The file is the same for the same calls, whenever and wherever it is written: lines in the order of their keys. A call's
key is the SHA-256 of its request, which is checked when the file is read, so a request cannot be changed unnoticed.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import msgspec

from proctor.errors import UserError
from proctor.llm.outcome import NO_USAGE, AttemptRecord, Outcome, is_final, outcome_kind
from proctor.llm.store import EVERYTHING, CallStore, Selection, StoredCall
from proctor.records import atomic_write, canonical_json, decode

if TYPE_CHECKING:
    from proctor.llm.media import MediaStore

__all__ = ["FORMAT", "Exported", "export_calls", "import_calls", "iter_exported"]

FORMAT: Final = 1
_MAX_LINE: Final = 512 * 2**20
_PAGE: Final = 500


class _Head(msgspec.Struct, frozen=True, kw_only=True, tag_field="proctor", tag="calls"):
    """First line."""

    format: int


class _Medium(msgspec.Struct, frozen=True, kw_only=True, tag_field="proctor", tag="media"):
    """Bytes that requests name."""

    sha256: str
    data: str


class Exported(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="proctor", tag="call"
):
    """One call in a file.

    Attributes:
        key: SHA-256 of the request's canonical JSON.
        model: full name.
        stage: that asked first.
        created: UTC, seconds since 1970.
        seconds: that the last attempt took.
        cost: nano-dollars; None where the price is not known.
        request: canonical JSON, as it was hashed.
        outcome: None for a call that failed.
        attempts: all of them.
    """

    key: str
    model: str
    stage: str
    created: float
    seconds: float | None = None
    cost: int | None = None
    request: msgspec.Raw
    outcome: Outcome | None = None
    attempts: tuple[AttemptRecord, ...] = ()


class _End(msgspec.Struct, frozen=True, kw_only=True, tag_field="proctor", tag="end"):
    """Last line: a file without it was cut off."""

    calls: int


_Line = _Head | _Medium | Exported | _End


def export_calls(
    store: CallStore,
    file: Path,
    selection: Selection = EVERYTHING,
    *,
    media: MediaStore | None = None,
    seen: Callable[[], None] | None = None,
) -> tuple[int, int]:
    """Write calls to a file; gzipped if its name ends in ``.gz``.

    Args:
        store: where they are.
        file: appears whole or not at all.
        selection: which calls.
        media: with the bytes of the media that their requests name.
        seen: called after each call.

    Returns:
        Numbers of calls and of media.

    Raises:
        UserError: if the file cannot be written, or media are not there.
    """
    encoder = msgspec.json.Encoder()
    count = 0
    written: set[str] = set()
    with atomic_write(file) as raw, _packed(raw, file) as stream:
        stream.write(encoder.encode(_Head(format=FORMAT)) + b"\n")
        calls = store.calls(selection)
        while page := list(islice(calls, _PAGE)):
            tries = store.attempts(call.key for call in page)
            for call in page:
                if media is not None:
                    for name in _media_of(call):
                        if name not in written:
                            written.add(name)
                            data = base64.b64encode(media.get(name)).decode()
                            stream.write(encoder.encode(_Medium(sha256=name, data=data)) + b"\n")
                stream.write(encoder.encode(_exported(call, tries.get(call.key, ()))) + b"\n")
                count += 1
                if seen is not None:
                    seen()
        stream.write(encoder.encode(_End(calls=count)) + b"\n")
    return count, len(written)


def import_calls(
    store: CallStore, file: Path, *, media: MediaStore | None = None, seen: Callable[[], None] | None = None
) -> tuple[int, int]:
    """Take the calls of a file into a store; those with a final outcome there stay as they are.

    Args:
        store: where they go.
        file: from ``export_calls``.
        media: where media of the file go; they are passed over when None.
        seen: called after each call.

    Returns:
        Numbers of calls in the file and of those that are new.

    Raises:
        UserError: if the file is broken or was changed; the line is named. What came before it is in the store.
    """
    count = 0

    def rows() -> Iterator[tuple[StoredCall, Sequence[AttemptRecord]]]:
        nonlocal count
        for call in iter_exported(file, media=media):
            count += 1
            yield _stored(call), call.attempts
            if seen is not None:
                seen()

    new = store.put(rows())
    return count, new


def iter_exported(file: Path, *, media: MediaStore | None = None) -> Iterator[Exported]:
    """Yield the calls of a file, checked.

    Args:
        file: from ``export_calls``.
        media: where media of the file go; they are passed over when None.

    Raises:
        UserError: if the file is broken, is something else, or a request does not have the key that it stands under.
    """
    decoder: msgspec.json.Decoder[_Line] = msgspec.json.Decoder(_Line)
    headed = False
    count, end = 0, None
    for number, line in _lines(file):
        where = f"{file}:{number}"
        try:
            record = decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            record = _explained(line, where, headed=headed)
        if not headed:
            _check_head(record, file)
            headed = True
        elif isinstance(record, Exported):
            _check_key(record, where)
            count += 1
            yield record
        elif isinstance(record, _End):
            end = record
        elif isinstance(record, _Medium) and media is not None:
            _keep(record, media, where)
    if not headed:
        raise UserError("the file is empty.", where=str(file), hint="write it with 'proctor calls export'")
    if end is None or end.calls != count:
        raise UserError(
            f"the file was cut off: it has {count} calls" + (f" of {end.calls}." if end else " and no end."),
            where=str(file),
            hint="copy or download it again",
        )


def _explained(line: bytes, where: str, *, headed: bool) -> _Line:
    if not headed:
        raise UserError(
            "this is not a file of calls.",
            where=where,
            hint="write one with 'proctor calls export STORE FILE'",
        )
    record: _Line = decode(line, _Line, where)
    return record


def _check_head(record: _Line, file: Path) -> None:
    if not isinstance(record, _Head):
        raise UserError(
            "the first line is missing.", where=str(file), hint="write it again with 'proctor calls export'"
        )
    if record.format > FORMAT:
        raise UserError(
            f"it was written by a newer Proctor (format {record.format}; this one knows {FORMAT}).",
            where=str(file),
            hint="pip install --upgrade proctor-bench",
        )


def _check_key(call: Exported, where: str) -> None:
    data = bytes(call.request)
    if hashlib.sha256(data).hexdigest() == call.key:
        return
    # Some tools write JSON in a form of their own; the values are what counts.
    if hashlib.sha256(canonical_json(msgspec.json.decode(data))).hexdigest() != call.key:
        raise UserError(
            f"the request is not the one of the key {call.key[:12]}.",
            where=where,
            hint="the file was changed; get the original",
        )


def _keep(medium: _Medium, media: MediaStore, where: str) -> None:
    try:
        data = base64.b64decode(medium.data, validate=True)
    except ValueError:
        raise UserError("the data are not base64.", where=where) from None
    if hashlib.sha256(data).hexdigest() != medium.sha256:
        raise UserError("the data are not what their name says.", where=where, hint="get the original file")
    media.add(data)


def _media_of(call: StoredCall) -> Iterator[str]:
    request = msgspec.json.decode(call.request)
    for message in request["messages"]:
        for part in message["parts"]:
            if "sha256" in part:
                yield part["sha256"]


def _exported(call: StoredCall, attempts: Sequence[AttemptRecord]) -> Exported:
    return Exported(
        key=call.key,
        model=call.model,
        stage=call.stage,
        created=call.created,
        seconds=call.seconds,
        cost=call.cost,
        request=msgspec.Raw(call.request.encode()),
        outcome=call.result,
        attempts=tuple(attempts),
    )


def _stored(call: Exported) -> StoredCall:
    final = call.outcome is not None and is_final(call.outcome)
    usage = call.outcome.usage if call.outcome is not None else NO_USAGE
    kind: Any = outcome_kind(call.outcome) if call.outcome is not None else "connection"
    if call.outcome is None and call.attempts:
        kind = call.attempts[-1].outcome
    request: object = msgspec.json.decode(call.request)
    return StoredCall(
        key=call.key,
        model=call.model,
        stage=call.stage,
        kind=kind,
        created=call.created,
        seconds=call.seconds,
        input=usage.input,
        output=usage.output,
        cached=usage.cached,
        cost=call.cost,
        outcome=canonical_json(call.outcome).decode() if final else None,
        request=canonical_json(request).decode(),
    )


# -- plain and gzipped ---------------------------------------------------------------------------------------


@contextmanager
def _packed(stream: IO[bytes], file: Path) -> Iterator[IO[bytes]]:
    if not file.name.endswith(".gz"):
        yield stream
        return
    with gzip.GzipFile(
        filename="", mode="wb", fileobj=stream, mtime=0
    ) as packed:  # the same bytes every time
        yield packed  # type: ignore[misc]


def _lines(file: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with file.open("rb") as raw:
            packed = raw.peek(2)[:2] == b"\x1f\x8b"
            stream: Any = gzip.GzipFile(fileobj=raw) if packed else raw
            number = 0
            while line := stream.readline(_MAX_LINE + 1):
                number += 1
                if len(line) > _MAX_LINE:
                    raise UserError(
                        f"the line is longer than {_MAX_LINE >> 20} MB.", where=f"{file}:{number}"
                    )
                if line.strip():
                    yield number, line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(
            f"the gzip file is broken ({error}).", where=str(file), hint="copy or download it again"
        ) from None
    except FileNotFoundError:
        raise UserError(
            "there is no such file.", where=str(file), hint="check the path and its spelling"
        ) from None
    except (OSError, ValueError) as error:
        raise UserError(
            f"cannot be read: {getattr(error, 'strerror', None) or error}.",
            where=str(file),
            hint="check the path",
        ) from None
