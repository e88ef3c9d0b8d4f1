"""Records on disk: JSON Lines in and out, canonical JSON, content hashes, atomic writes.

Every file that Proctor writes appears whole or not at all: it is written beside its place, flushed to disk and
renamed. Every file that it reads may be broken in any way; the message then names file, line and field.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeAlias, TypeVar, cast

import msgspec

from proctor.errors import UserError, shortened

__all__ = [
    "Dropped",
    "Json",
    "append_jsonl",
    "atomic_folder",
    "atomic_write",
    "canonical_json",
    "content_hash",
    "decode",
    "decode_document",
    "decode_text",
    "encode_jsonl",
    "file_sha256",
    "is_there",
    "iter_jsonl",
    "iter_jsonl_placed",
    "read_bytes",
    "read_json",
    "read_jsonl",
    "read_jsonl_at",
    "write_json",
    "write_jsonl",
]

T = TypeVar("T")

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
"""A value that JSON has, where what is in it differs from stage to stage."""

_MAX_LINE = 256 * 2**20
_BOM = b"\xef\xbb\xbf"
_encoder = msgspec.json.Encoder(order="sorted")


def canonical_json(value: object) -> bytes:
    """Encode with sorted keys and no spaces: equal values give equal bytes."""
    return _encoder.encode(value)


def content_hash(value: object) -> str:
    """Return the first 16 hex digits of the SHA-256 of the canonical JSON."""
    return hashlib.sha256(canonical_json(value)).hexdigest()[:16]


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file as hex digits."""
    digest = hashlib.sha256()
    with _open(path) as stream:
        while block := _reading(path, lambda: stream.read(1 << 20)):
            digest.update(block)
    return digest.hexdigest()


class Dropped(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something a stage did not pass on: what it was, a reason code that is counted, and the detail."""

    id: str
    reason: str
    detail: str = ""


# -- reading ---------------------------------------------------------------------------------------------------


def _open(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise UserError(
            "there is no such file.", where=str(path), hint="check the path and its spelling"
        ) from None
    except IsADirectoryError:
        raise UserError(
            "this is a folder, a file was expected.",
            where=str(path),
            hint="name a file, or move the folder away",
        ) from None
    except OSError as error:
        raise UserError(
            f"cannot be opened: {error.strerror or error}.",
            where=str(path),
            hint="check the path, its links and permissions",
        ) from None
    except ValueError as error:  # a NUL byte or a lone surrogate in the name
        raise UserError(
            f"this cannot be the name of a file: {error}.",
            where=repr(str(path)),
            hint="check the path and its spelling",
        ) from None


def _reading(path: Path, read: Callable[[], bytes]) -> bytes:
    try:
        return read()
    except OSError as error:
        raise UserError(
            f"cannot be read: {error.strerror or error}.",
            where=str(path),
            hint="check the disk, or restore a copy",
        ) from None


def is_there(path: Path) -> bool:
    """True for anything that has the name, even a link that leads nowhere or in a circle: it has to be shown, not passed over."""
    return os.path.lexists(path)


def read_bytes(path: Path) -> bytes:
    """Read a whole file.

    Raises:
        UserError: if it is missing, a folder, unreadable or a symlink loop.
    """
    with _open(path) as stream:
        return _reading(path, stream.read)


def decode_text(data: bytes, where: str) -> str:
    """Return the text of a file, without the mark that some programs put first.

    Raises:
        UserError: if it is not UTF-8.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_utf8(error, where) from None


def decode(data: bytes, type_: type[T] | Any, where: str) -> T:
    """Decode JSON strictly into a type.

    Raises:
        UserError: naming the place and the field.
    """
    try:
        value = cast("T", msgspec.json.decode(data, type=type_))
    except UnicodeDecodeError as error:
        raise _not_utf8(error, where) from None
    except msgspec.ValidationError as error:
        raise UserError(
            f"{shortened(str(error), 300)}.", where=where, hint="compare the field with the documented format"
        ) from None
    except (msgspec.DecodeError, RecursionError) as error:
        if "UTF-8" in str(error):  # from msgspec 0.23 on, without the place
            try:
                data.decode()
            except UnicodeDecodeError as undecoded:
                raise _not_utf8(undecoded, where) from None
        raise UserError(
            f"not valid JSON: {error}. {_quoted(data, str(error))}", where=where, hint=_mend(data)
        ) from None
    return value


def _not_utf8(error: UnicodeDecodeError, where: str) -> UserError:
    return UserError(
        f"not UTF-8: {error.reason} at byte {error.start}.", where=where, hint="save the file as UTF-8"
    )


def _quoted(data: bytes, message: str) -> str:
    """Quote the text where the decoder stopped."""
    found = re.search(r"byte (\d+)", message)
    at = int(found[1]) if found else 0
    begin = max(0, at - 40)
    return f"{'Near' if begin else 'It starts with'} {data[begin : at + 20].decode('utf-8', 'replace')!r}."


def _mend(data: bytes) -> str:
    if re.search(rb":\s*-?(NaN|Infinity)", data):
        return "JSON has no NaN and no Infinity: write a number, or null where none is known"
    return "is the file complete?"


def read_json(path: Path, type_: type[T] | Any = Any) -> T:
    """Read one JSON document.

    Raises:
        UserError: if the file is missing, empty, not UTF-8, not JSON or of another shape.
    """
    return cast("T", decode_document(read_bytes(path), type_, path))


def decode_document(data: bytes, type_: type[T] | Any, path: Path) -> T:
    """Decode what a file with one JSON document holds; see ``read_json``."""
    if not data.removeprefix(_BOM).strip():
        raise UserError(
            "the file is empty, a JSON document was expected.",
            where=str(path),
            hint="make it again, or restore a copy",
        )
    return cast("T", decode(data.removeprefix(_BOM), type_, str(path)))


def iter_jsonl(path: Path, type_: type[T] | Any = Any) -> Iterator[T]:
    """Yield one record a line; blank lines are skipped.

    Raises:
        UserError: naming the line that cannot be read.
    """
    return (record for _, record in iter_jsonl_placed(path, type_))


def iter_jsonl_placed(path: Path, type_: type[T] | Any = Any) -> Iterator[tuple[int, T]]:
    """Yield one record a line with the byte at which its line begins; see ``read_jsonl_at``.

    Raises:
        UserError: naming the line that cannot be read.
    """
    decoder: msgspec.json.Decoder[T] = msgspec.json.Decoder(type_)
    with _open(path) as stream:
        number = begin = end = 0
        while True:
            number, begin = number + 1, end
            line = _reading(path, lambda: stream.readline(_MAX_LINE + 1))
            end += len(line)
            if not line:
                return
            if number == 1:
                line = line.removeprefix(_BOM)
            if len(line) > _MAX_LINE:
                raise UserError(
                    f"the line is longer than {_MAX_LINE >> 20} MB.",
                    where=f"{path}:{number}",
                    hint="one record a line was expected",
                )
            if not line.strip():
                continue
            try:
                record = decoder.decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                record = decode(line, type_, f"{path}:{number}")
            yield begin, record


def read_jsonl_at(path: Path, places: Iterable[int], type_: type[T] | Any = Any) -> Iterator[T]:
    """Yield the records whose lines begin at these bytes, in this order.

    Raises:
        UserError: if there is no record any more: the file was changed since.
    """
    with _open(path) as stream:
        for place in places:
            stream.seek(place)
            line = _reading(path, lambda: stream.readline(_MAX_LINE + 1))
            yield decode(line.removeprefix(_BOM) if place == 0 else line, type_, f"{path}: byte {place}")


def read_jsonl(path: Path, type_: type[T] | Any = Any) -> list[T]:
    """Read all records of a JSON Lines file; see ``iter_jsonl``."""
    return list(iter_jsonl(path, type_))


# -- writing ---------------------------------------------------------------------------------------------------


@contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing that appears under its name only when the block ends without an error.

    Raises:
        UserError: if the folder cannot be written or the disk is full; the old file is then untouched.
    """
    temporary: Path | None = None
    try:
        if path.is_symlink() and path.is_dir():  # the link would be replaced
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with _open_beside(path) as stream:
            temporary = Path(stream.name)
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
        temporary = None
    except OSError as error:
        raise UserError(
            f"cannot be written: {error.strerror or error}. The file that was there before is untouched.",
            where=str(path),
            hint="check permissions and free space, then run the same command again",
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield a hidden folder to fill; it takes the name ``path`` only when the block ends without an error.

    Raises:
        UserError: if something is at ``path`` already (an empty folder may be), or it cannot be written.
    """
    work: Path | None = None
    try:
        if path.is_symlink() or (path.exists() and (not path.is_dir() or any(path.iterdir()))):
            raise UserError(
                "there is something here already.", where=str(path), hint="name a new or an empty folder"
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        work = path.with_name(f".{path.name[:40]}.{secrets.token_hex(8)}.tmp")
        work.mkdir()
        yield work
        work.replace(path)
        work = None
    except OSError as error:
        raise UserError(
            f"cannot be written: {error.strerror or error}. Nothing was left behind.",
            where=str(path),
            hint="check permissions and free space, then run the same command again",
        ) from error
    finally:
        if work is not None:
            shutil.rmtree(work, ignore_errors=True)


def _open_beside(path: Path) -> IO[bytes]:
    """Create a new hidden file in the same folder, so that renaming it cannot cross file systems."""
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            # Renaming a file over a device would take it from the whole machine: think of root and /dev/null.
            raise UserError(
                "this is a device or a pipe, which cannot be replaced by a file.",
                where=str(path),
                hint="name a file",
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.with_name(f".{path.name[:40]}.{secrets.token_hex(8)}.tmp").open("xb")
    except ValueError as error:
        raise UserError(
            f"this cannot be the name of a file: {error}.", where=repr(str(path)), hint="give another name"
        ) from None


def write_json(path: Path, value: object, *, indent: int = 2) -> None:
    """Write one JSON document with sorted keys, readable by people."""
    with atomic_write(path) as stream:
        stream.write(msgspec.json.format(canonical_json(value), indent=indent) + b"\n")


def write_jsonl(path: Path, records: Iterable[object], *, seen: Callable[[], None] | None = None) -> int:
    """Write one record a line and return their number. ``seen`` is called after each (for progress bars)."""
    count = 0
    encoder = msgspec.json.Encoder()
    buffer = bytearray()
    with atomic_write(path) as stream:
        for record in records:
            encoder.encode_into(record, buffer, 0)
            buffer += b"\n"
            stream.write(buffer)
            count += 1
            if seen is not None:
                seen()
    return count


def encode_jsonl(records: Iterable[object]) -> bytes:
    """Return the lines that ``write_jsonl`` writes."""
    encoder = msgspec.json.Encoder()
    return b"".join(encoder.encode(record) + b"\n" for record in records)


def append_jsonl(path: Path, record: object) -> None:
    """Append one record durably (flushed to disk before returning) or not at all; for one writer at a time.

    Raises:
        UserError: if it cannot be written or the disk is full; what was in the file before is untouched.
    """
    line = msgspec.json.encode(record) + b"\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab", buffering=0) as stream:
            size = stream.seek(0, os.SEEK_END)
            try:
                written = 0
                while written < len(line):
                    written += stream.write(line[written:])
                os.fsync(stream.fileno())
            except OSError:
                stream.truncate(size)
                raise
    except OSError as error:
        raise UserError(
            f"cannot be written: {error.strerror or error}. The records that were there are untouched.",
            where=str(path),
            hint="check permissions and free space, then run the same command again",
        ) from error
    except ValueError as error:
        raise UserError(
            f"this cannot be the name of a file: {error}.", where=repr(str(path)), hint="give another name"
        ) from None
