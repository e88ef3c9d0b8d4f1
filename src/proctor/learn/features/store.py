"""Features of all recordings in one memory-mapped matrix: a slice of it is read in microseconds, whatever lies around it.

A store is a folder with ``rows.f16`` (float16, little endian, C order: the rows of one recording after those of another)
and ``store.json`` (what they are, and where each recording begins). It appears whole or not at all: it is written beside its
place as ``NAME.part``, recording by recording, with a journal, so that what was written before a crash need not be made again.
"""

from __future__ import annotations

import hashlib
import math
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Literal, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.records import append_jsonl, content_hash, decode, is_there, read_bytes, write_json

__all__ = ["VERSION", "WORDS", "FeatureStore", "Held", "Modality", "StoreWriter"]

VERSION: Final = 1
"""Of the files; another one is refused."""

MAX_WIDTH: Final = 2**20
LARGEST: Final = float(np.finfo(np.float16).max)
"""What is farther from zero is clipped to it, and counted."""

WORDS: Final = "text:"
"""Begins the backbone of rows of words, which are zeros in silence; they end with the last line, not with the video."""

Modality = Literal["video", "audio", "text", "depth"]

_ROWS: Final = "rows.f16"
_ABOUT: Final = "store.json"
_JOURNAL: Final = "journal.jsonl"
_NOISE: Final = 1e-9
"""Of a second divided by a stride: 0.3 / 0.1 is row 3."""


class Held(msgspec.Struct, frozen=True, omit_defaults=True):
    """A recording in a store.

    Attributes:
        id: of the recording.
        rows: how many.
        hash: SHA-256 of the rows' bytes, 16 hex digits.
        nan: values that were no number and are 0.
        infinite: values that were infinite and are 1 or -1.
        clipped: values too large for float16.
        bad_rows: rows with such a value.
    """

    id: str
    rows: int
    hash: str
    nan: int = 0
    infinite: int = 0
    clipped: int = 0
    bad_rows: int = 0


class About(msgspec.Struct, frozen=True):
    """What the rows of a store are.

    Attributes:
        width: numbers a row.
        seconds: from one row to the next.
        modality: what was looked at.
        backbone: what looked.
        source: where the rows come from, in words.
        version: of the files.
        shape: of a row that is a map, (channels, height, width) in C order; empty where it is a vector.
    """

    width: int
    seconds: float
    modality: Modality
    backbone: str
    source: str
    version: int = VERSION
    shape: tuple[int, ...] = ()


class _Document(msgspec.Struct, frozen=True):
    about: About
    hash: str
    recordings: tuple[Held, ...]


class _Version(msgspec.Struct, frozen=True):
    version: int


class _AnyVersion(msgspec.Struct, frozen=True):
    about: _Version


class FeatureStore:
    """The features of all recordings by one backbone; open it with ``open``.

    Attributes:
        path: the folder.
        about: what the rows are.
        held: each recording, in the order of the rows.
        hash: of everything, 16 hex digits.
    """

    def __init__(self, path: Path, document: _Document, matrix: NDArray[np.float16]) -> None:
        self.path = path
        self.about = document.about
        self.hash = document.hash
        self.held = {held.id: held for held in document.recordings}
        ends = np.cumsum([0, *(held.rows for held in document.recordings)]).tolist()
        self._places = dict(zip(self.held, pairwise(ends), strict=True))
        self._matrix = matrix

    @classmethod
    def open(cls, path: Path) -> FeatureStore:
        """Map a store; no row is read.

        Raises:
            UserError: if it is none, is of another version, or its two files do not fit each other.
        """
        path = Path(path)
        if not (path / _ABOUT).exists():
            what = f"this folder holds no store of features: it has no {_ABOUT}"
            raise UserError(
                f"{what if path.is_dir() else 'there is no such folder'}.",
                where=str(path),
                hint="make one with 'proctor features convert' or 'proctor features extract'",
            )
        data = read_bytes(path / _ABOUT)
        found: _AnyVersion = decode(data, _AnyVersion, str(path / _ABOUT))
        version = found.about.version
        if version != VERSION:
            raise UserError(
                f"the store is of version {version}; this Proctor reads version {VERSION}.",
                where=str(path / _ABOUT),
                hint="convert the features once more, or use the Proctor that wrote it",
            )
        document: _Document = decode(data, _Document, str(path / _ABOUT))
        _check_document(document, path / _ABOUT)
        return cls(path, document, _mapped(path / _ROWS, document))

    @property
    def width(self) -> int:
        """Numbers a row."""
        return self.about.width

    @property
    def seconds(self) -> float:
        """Seconds from one row to the next."""
        return self.about.seconds

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a row that is a map: (channels, height, width); empty where it is a vector."""
        return self.about.shape

    @property
    def modality(self) -> Modality:
        """What was looked at."""
        return self.about.modality

    @property
    def backbone(self) -> str:
        """What looked."""
        return self.about.backbone

    @property
    def recordings(self) -> tuple[str, ...]:
        """Ids, in the order of the rows."""
        return tuple(self.held)

    def __contains__(self, recording_id: object) -> bool:
        """Whether the store has rows of a recording."""
        return recording_id in self.held

    def __reduce__(self) -> tuple[object, ...]:
        """Send where it is to another process, and not the rows."""
        return FeatureStore.open, (self.path.absolute(),)

    def rows(self, recording_id: str) -> NDArray[np.float16]:
        """Return all rows of a recording, a read-only view of the file; shape (T, width).

        Raises:
            UserError: if the store has none of it.
        """
        try:
            begin, end = self._places[recording_id]
        except KeyError:
            raise UserError(
                f"there are no {self.backbone} features of recording '{recording_id}'.",
                where=str(self.path),
                hint="leave the recording out, or convert its features, too",
            ) from None
        return self._matrix[begin:end]

    def window(self, recording_id: str, start: float, end: float) -> NDArray[np.float16]:
        """Return the rows of a stretch: ⌊start/seconds⌋ … ⌈end/seconds⌉-1, at least one; past the end of the features zeros.

        Args:
            recording_id: whose rows.
            start: seconds, at least 0.
            end: seconds, at least ``start``.

        Returns:
            A view where the features reach far enough, else a copy; shape (rows, width).

        Raises:
            UserError: if the store has none of the recording, or there is no such stretch.
        """
        rows = self.rows(recording_id)
        first, last = self._stretch(recording_id, start, end, self.seconds)
        if last <= len(rows):
            return rows[first:last]
        padded = np.zeros((last - first, self.width), np.float16)
        there = rows[first:last]
        padded[: len(there)] = there
        return padded

    @property
    def matrix(self) -> NDArray[np.float16]:
        """The rows of all recordings, a read-only view of the file; shape (rows, width)."""
        return self._matrix

    def places(
        self, recording_id: str, start: float, end: float, seconds: float | None = None
    ) -> NDArray[np.int64]:
        """Return where in ``matrix`` the rows of a stretch are, -1 past the end; those of ``window``, shape (rows,).

        Args:
            recording_id: whose rows.
            start: seconds, at least 0; likewise ``end``.
            end: at least ``start``.
            seconds: of another store's rows that these are to lie beside: of each, the row here that its middle falls into.

        Raises:
            UserError: as ``window``.
        """
        rows, stride = len(self.rows(recording_id)), seconds or self.seconds
        beside = np.arange(*self._stretch(recording_id, start, end, stride))
        found = np.floor((beside + 0.5) * (stride / self.seconds)).astype(np.int64)
        return np.where(found < rows, found + self._places[recording_id][0], -1)

    def _stretch(self, recording_id: str, start: float, end: float, seconds: float) -> tuple[int, int]:
        """Return the first row of a stretch, and the row after its last."""
        if not 0 <= start <= end < math.inf:
            raise UserError(
                f"there is no stretch from second {start:g} to {end:g}.", where=f"recording '{recording_id}'"
            )
        first = math.floor(start / seconds + _NOISE)
        return first, max(first + 1, math.ceil(end / seconds - _NOISE))

    def scan(self) -> Iterator[tuple[Held, NDArray[np.float16], bool]]:
        """Yield each recording, its rows, and whether they are those that were written; holds one recording at a time.

        Raises:
            UserError: if the rows cannot be read.
        """
        with _unreadable_told(self.path / _ROWS), (self.path / _ROWS).open("rb") as stream:
            for held in self.held.values():
                rows = np.fromfile(stream, "<f2", held.rows * self.width).reshape(-1, self.width)
                yield held, rows, _hash(rows) == held.hash


def _check_document(document: _Document, where: Path) -> None:
    about = document.about
    ids = {held.id for held in document.recordings}
    good = 0 < about.width <= MAX_WIDTH and 0 < about.seconds < math.inf
    shape = about.shape
    good &= not shape or (len(shape) == 3 and min(shape) > 0 and math.prod(shape) == about.width)
    if not good or len(ids) < len(document.recordings) or any(held.rows < 0 for held in document.recordings):
        raise UserError(
            "widths, strides, rows or recordings in it are not possible.", where=str(where), hint=_AGAIN
        )
    if document.hash != _hash_of(about, document.recordings):
        raise UserError(
            "it was changed after it was written: the hash differs.", where=str(where), hint=_AGAIN
        )


_AGAIN: Final = "convert or extract the features once more, or restore a copy"


def _mapped(path: Path, document: _Document) -> NDArray[np.float16]:
    shape = (sum(held.rows for held in document.recordings), document.about.width)
    with _unreadable_told(path):
        size = path.stat().st_size
    expected = shape[0] * shape[1] * 2
    if size != expected:
        raise UserError(
            f"the file has {size:,} bytes, but {_ABOUT} tells of {shape[0]:,} rows of {shape[1]:,} numbers, "
            f"{expected:,} bytes.",
            where=str(path),
            hint=_AGAIN,
        )
    if not size:
        return np.zeros(shape, np.float16)
    with _unreadable_told(path):
        return np.memmap(path, "<f2", "r", shape=shape)


@contextmanager
def _unreadable_told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(
            f"the rows of the store cannot be read: {error.strerror or error}.", where=str(path), hint=_AGAIN
        ) from None


def _hash(rows: NDArray[np.float16]) -> str:
    return hashlib.sha256(np.ascontiguousarray(rows).data).hexdigest()[:16]


def _hash_of(about: About, recordings: tuple[Held, ...]) -> str:
    return content_hash([about, recordings])


# -- writing -------------------------------------------------------------------------------------------------------


class StoreWriter:
    """Writes a store, recording by recording; for one process at a time.

    When the block ends well the store is there under its name; when it fails or is killed ``NAME.part`` is left, and a writer with
    ``resume`` goes on from it. Same recordings in the same order give the same bytes, resumed or not.

    Args:
        path: the store's folder, which must not exist.
        width: numbers a row.
        seconds: from one row to the next.
        modality: what was looked at.
        backbone: what looked.
        source: where the rows come from, in words; it is part of the hash.
        shape: of a row that is a map, (channels, height, width); its product is ``width``.
        resume: keep what a former writer of the same features left.

    Raises:
        UserError: if there is something at ``path``, somebody else writes there, or what is to be resumed is of other
            features; while writing, if the disk is full.
    """

    def __init__(
        self,
        path: Path,
        *,
        width: int,
        seconds: float,
        modality: Modality,
        backbone: str,
        source: str,
        shape: tuple[int, ...] = (),
        resume: bool = False,
    ) -> None:
        if shape and math.prod(shape) != width:
            raise ValueError(f"maps of shape {shape} have {math.prod(shape)} numbers, not {width}")
        if not 0 < width <= MAX_WIDTH or not 0 < seconds < math.inf:
            raise UserError(f"rows of {width} numbers every {seconds:g} s cannot be kept.", where=str(path))
        self.path = Path(path)
        self.part = self.path.with_name(f"{self.path.name}.part")
        self.about = About(width, float(seconds), modality, backbone, source, shape=shape)
        self._held: dict[str, Held] = {}
        self._resume = resume
        self._rows: IO[bytes] | None = None
        self._lock: IO[bytes] | None = None

    def __enter__(self) -> Self:
        """Begin, or go on where a former writer was."""
        if is_there(self.path):
            raise UserError(
                "there is something here already.",
                where=str(self.path),
                hint="name a new store, or move it away",
            )
        with _told(self.part):
            self.part.mkdir(parents=True, exist_ok=True)
            self._lock = (self.part / _JOURNAL).open("ab")
            _lock(self._lock, self.part)
            self._rows = (self.part / _ROWS).open("ab", buffering=0)
            try:
                self._go_on() if self._resume else self._begin()
            except BaseException:
                self._close()
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the store its name, unless the block failed; what was written so far is then kept for another try."""
        try:
            if kind is None:
                with _told(self.part):
                    held = tuple(self._held.values())
                    write_json(self.part / _ABOUT, _Document(self.about, _hash_of(self.about, held), held))
                    self.part.rename(self.path)
                    (self.path / _JOURNAL).unlink()
            elif not self._held:
                shutil.rmtree(self.part, ignore_errors=True)
        finally:
            self._close()

    def __contains__(self, recording_id: object) -> bool:
        """Whether the recording is written."""
        return recording_id in self._held

    @property
    def held(self) -> tuple[Held, ...]:
        """What is written."""
        return tuple(self._held.values())

    def add(self, recording_id: str, rows: NDArray[Any]) -> Held:
        """Append a recording: it is on the disk when this returns.

        Args:
            recording_id: not written yet.
            rows: numbers, shape (T, width). What is no number becomes 0, infinities 1 or -1 (as in the released code of
                CaptainCook4D), what float16 cannot hold its largest number; all are counted.

        Raises:
            UserError: if the recording is there already, the rows are of another width or no numbers, or the disk is full.
        """
        if self._rows is None:
            raise ValueError("the writer is not open")
        if recording_id in self._held:
            raise UserError(
                "its features come twice.",
                where=f"recording '{recording_id}'",
                hint="give each recording once",
            )
        half, held = _cleaned(recording_id, rows, self.about.width)
        with _told(self.part):
            at = self._rows.seek(0, os.SEEK_END)
            try:
                left = memoryview(half.tobytes())
                while left:
                    left = left[self._rows.write(left) :]
                os.fsync(self._rows.fileno())
                append_jsonl(self.part / _JOURNAL, held)
            except BaseException:
                with suppress(OSError):
                    self._rows.truncate(at)
                raise
        self._held[recording_id] = held
        return held

    def _begin(self) -> None:
        assert self._rows is not None
        assert self._lock is not None
        self._rows.truncate(0)
        self._lock.truncate(0)
        append_jsonl(self.part / _JOURNAL, self.about)

    def _go_on(self) -> None:
        """Keep the recordings whose rows and line of the journal are whole."""
        assert self._rows is not None
        assert self._lock is not None
        journal = self.part / _JOURNAL
        first, *lines = read_bytes(journal).split(b"\n")
        if not lines:  # killed before the first line was whole
            self._begin()
            return
        before: About = decode(first, About, f"{journal}:1")
        differ = [
            name for name in About.__struct_fields__ if getattr(before, name) != getattr(self.about, name)
        ]
        if differ:
            told = ", ".join(f"{n} {getattr(before, n)!r}, not {getattr(self.about, n)!r}" for n in differ)
            raise UserError(
                f"what was begun there is of other features: {told}.",
                where=str(self.part),
                hint="give the same settings, or remove the folder to start over",
            )
        size, kept, end = self._rows.seek(0, os.SEEK_END), 0, len(first) + 1
        for number, line in enumerate(lines[:-1], 2):
            held: Held = decode(line, Held, f"{journal}:{number}")
            if kept + held.rows * self.about.width * 2 > size:
                break
            kept += held.rows * self.about.width * 2
            end += len(line) + 1
            self._held[held.id] = held
        self._rows.truncate(kept)
        self._lock.truncate(end)

    def _close(self) -> None:
        for stream in (self._rows, self._lock):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        self._rows = self._lock = None


def _cleaned(recording_id: str, rows: NDArray[Any], width: int) -> tuple[NDArray[np.float16], Held]:
    rows = np.asarray(rows)
    where = f"recording '{recording_id}'"
    if rows.dtype.kind not in "fiu":
        raise UserError(f"its features are of type {rows.dtype}, not numbers.", where=where)
    if rows.ndim != 2 or rows.shape[1] != width:
        raise UserError(
            f"its features have the shape {rows.shape}; rows of {width} numbers were expected.", where=where
        )
    nan, infinite = np.isnan(rows), np.isinf(rows)
    clipped = (np.abs(rows) > LARGEST) & ~infinite
    bad = nan | infinite | clipped
    if bad.any():
        rows = np.where(nan, 0, np.where(infinite, np.sign(rows), np.clip(rows, -LARGEST, LARGEST)))
    half = np.ascontiguousarray(rows, "<f2")
    return half, Held(
        recording_id, len(half), _hash(half), int(nan.sum()), int(infinite.sum()), int(clipped.sum()),
        int(bad.any(axis=1).sum()),
    )  # fmt: skip


def _lock(stream: IO[bytes], part: Path) -> None:
    """Let one writer at a time; the lock ends with its process, however it ends."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        return
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        stream.close()
        raise UserError(
            "another process writes this store.", where=str(part), hint="wait until it has ended"
        ) from None


@contextmanager
def _told(part: Path) -> Iterator[None]:
    """Turn a failed write into a message."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"cannot be written: {error.strerror or error}. Recordings that were written are kept.",
            where=str(part),
            hint="check permissions and free space, then run the same command again",
        ) from error
