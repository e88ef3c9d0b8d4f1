"""Vectors on disk, so that no text is embedded twice: not in the next run, and not after a run was killed.

For each embedder there is a folder with rows of numbers (``rows-00000.f32`` and so on, float32, little endian, only ever
appended to) and an index of records of 48 bytes: key (32), row number (8), checksum of key, number and row (8). A row is
written before its record, and a record counts only when its checksum fits. So whatever was being written when the process or
the machine died is simply not there, and nothing else is lost. Processes that write at the same time take turns (a lock on
the folder); readers need none, because nothing that a record points to is ever changed.
"""

from __future__ import annotations

import hashlib
import os
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final

import msgspec
import numpy as np
import xxhash
from numpy.typing import NDArray

from proctor.corpus.embed.embedder import Vectors
from proctor.errors import UserError
from proctor.records import read_json, write_json

__all__ = ["FORMAT", "VectorCache", "vector_key"]

FORMAT: Final = 1
"""Of the files; another one is refused."""

_RECORD: Final = struct.Struct("<32sQQ")
_PLACE: Final = struct.Struct("<Q")
_SHARD_BYTES: Final = 2**30
"""Of one file of rows, about."""
_MAX_DIMENSION: Final = 2**20


def vector_key(content: str | bytes, name: str, role: str) -> bytes:
    """Return the key of a vector: SHA-256 of what was embedded, by whom and as what.

    Args:
        content: the text itself, or the bytes of a hash of what was embedded.
        name: of the embedder.
        role: ``query``, ``passage`` or ``pixels``.
    """
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    digest = hashlib.sha256()
    for part in (name.encode("utf-8", "surrogatepass"), role.encode("ascii")):
        digest.update(_PLACE.pack(len(part)) + part)
    digest.update(data)
    return digest.digest()


class _Meta(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the folder of one embedder holds."""

    format: int
    name: str
    dimension: int
    shard_rows: int


class _Version(msgspec.Struct, frozen=True):
    """The part of ``meta.json`` that every format has."""

    format: int


class VectorCache:
    """Vectors by key, for any number of embedders; used by several threads and processes at once.

    Args:
        folder: made when the first vector is put.
        shard_bytes: of one file of rows, about.
    """

    def __init__(self, folder: Path, *, shard_bytes: int = _SHARD_BYTES) -> None:
        self._folder = folder
        self._shard_bytes = shard_bytes
        self._drawers: dict[str, _Drawer] = {}
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"VectorCache({str(self._folder)!r})"

    def dimension(self, name: str) -> int | None:
        """Return the numbers in a vector of an embedder; None where there is none yet.

        Raises:
            UserError: if the folder is of another format, or damaged.
        """
        with self._lock:
            meta = self._drawer(name).meta()
            return None if meta is None else meta.dimension

    def get(self, name: str, keys: Sequence[bytes]) -> tuple[Vectors, NDArray[np.bool_]]:
        """Return rows and which of them are there; the others are zeros.

        Args:
            name: of the embedder.
            keys: from ``vector_key``.

        Returns:
            Vectors of shape (keys, dimension), (keys, 0) where the embedder is not known yet; and a mask of shape (keys,).

        Raises:
            UserError: if the folder is of another format, or cannot be read.
        """
        with self._lock:
            return self._drawer(name).get(keys)

    def put(self, name: str, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Keep rows; when it returns they are on the disk. Keys that are there already keep their row.

        Args:
            name: of the embedder.
            keys: one for each row.
            vectors: shape (keys, dimension), finite.

        Raises:
            UserError: if the rows are of another dimension than those before, or the disk cannot be written.
        """
        if vectors.ndim != 2 or len(keys) != len(vectors):
            raise ValueError(f"{len(keys)} keys for vectors of shape {vectors.shape}")
        if not np.isfinite(vectors).all():
            raise ValueError("a vector with NaN or infinity is not kept")
        if keys:
            with self._lock:
                self._drawer(name).put(keys, vectors)

    def _drawer(self, name: str) -> _Drawer:
        found = self._drawers.get(name)
        if found is None:
            place = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:24]
            found = self._drawers[name] = _Drawer(self._folder / place, name, self._shard_bytes)
        return found


class _Drawer:
    """The vectors of one embedder."""

    def __init__(self, folder: Path, name: str, shard_bytes: int) -> None:
        self._folder = folder
        self._name = name
        self._shard_bytes = shard_bytes
        self._meta: _Meta | None = None
        self._places: dict[bytes, tuple[int, int]] = {}
        self._read = 0
        self._maps: dict[int, NDArray[np.float32]] = {}

    # -- reading ---------------------------------------------------------------------------------------------------

    def meta(self) -> _Meta | None:
        """Return what the folder holds; None where there is none."""
        file = self._folder / "meta.json"
        if self._meta is None and file.exists():
            version: _Version = read_json(file, _Version)
            if version.format != FORMAT:
                raise UserError(
                    f"these vectors are of format {version.format}, and this version of Proctor reads format {FORMAT}.",
                    where=str(file),
                    hint="delete the folder, and the vectors are computed again; or use the version that wrote it",
                )
            meta: _Meta = read_json(file, _Meta)
            if meta.name != self._name or not 0 < meta.dimension <= _MAX_DIMENSION or meta.shard_rows < 1:
                raise UserError(
                    f"the folder does not hold vectors of {self._name!r} as it should.",
                    where=str(file),
                    hint="delete the folder, and the vectors are computed again",
                )
            self._meta = meta
        return self._meta

    def get(self, keys: Sequence[bytes]) -> tuple[Vectors, NDArray[np.bool_]]:
        meta = self.meta()
        there = np.zeros(len(keys), bool)
        if meta is None:
            return np.zeros((len(keys), 0), np.float32), there
        with self._told():
            if any(key not in self._places for key in keys):
                self._refresh()
            return self._rows(keys, meta, there)

    def _rows(
        self, keys: Sequence[bytes], meta: _Meta, there: NDArray[np.bool_]
    ) -> tuple[Vectors, NDArray[np.bool_]]:
        vectors = np.zeros((len(keys), meta.dimension), np.float32)
        by_shard: dict[int, list[tuple[int, int]]] = {}
        for index, key in enumerate(keys):
            place = self._places.get(key)
            if place is not None:
                shard, row = divmod(place[0], meta.shard_rows)
                by_shard.setdefault(shard, []).append((index, row))
        for shard, pairs in by_shard.items():
            rows = self._shard(shard, meta, 1 + max(row for _, row in pairs))
            held = [pair for pair in pairs if pair[1] < len(rows)]
            if held:
                at = np.array(held)
                vectors[at[:, 0]] = rows[at[:, 1]]
                there[at[:, 0]] = True
        raw = vectors.data.cast("B") if vectors.size else memoryview(b"")
        size = 4 * meta.dimension
        for index in np.flatnonzero(there).tolist():
            row, check = self._places[keys[index]]
            if _checksum(keys[index], row, raw[index * size : (index + 1) * size]) != check:
                there[index] = False
                vectors[index] = 0.0
        for index in np.flatnonzero(~there).tolist():
            self._places.pop(keys[index], None)  # damaged: looked up anew, in case it is put once more
        return vectors, there

    def _refresh(self) -> None:
        """Read what the index has got since the last time; a record that is not whole yet waits."""
        try:
            with self._index.open("rb") as stream:
                stream.seek(self._read)
                data = stream.read()
        except FileNotFoundError:
            return
        whole = len(data) // _RECORD.size * _RECORD.size
        self._read += whole
        # The last record of a key wins: an earlier one may point to a row that never reached the disk.
        self._places.update(
            (key, (row, check)) for key, row, check in _RECORD.iter_unpack(memoryview(data)[:whole])
        )

    def _shard(self, shard: int, meta: _Meta, rows: int) -> NDArray[np.float32]:
        """Return the rows of a file, mapped; mapped anew where it has grown."""
        found = self._maps.get(shard)
        if found is None or len(found) < rows:
            path = self._shard_path(shard)
            held = path.stat().st_size // (4 * meta.dimension) if path.exists() else 0
            found = (
                np.memmap(path, "<f4", "r", shape=(held, meta.dimension))
                if held
                else np.zeros((0, meta.dimension), np.float32)
            )
            self._maps[shard] = found
        return found

    # -- writing ---------------------------------------------------------------------------------------------------

    def put(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        with self._told():
            self._folder.mkdir(parents=True, exist_ok=True)
            with _locked(self._folder / "lock"):
                meta = self._begin(vectors.shape[1])
                _, there = self.get(keys)
                fresh: dict[bytes, int] = {}
                for index in np.flatnonzero(~there).tolist():
                    fresh.setdefault(keys[index], index)
                if fresh:
                    rows = np.ascontiguousarray(vectors[list(fresh.values())], "<f4")
                    self._append(list(fresh), rows, meta)

    def _begin(self, dimension: int) -> _Meta:
        """Return the description of the folder; written now where these are the first vectors."""
        meta = self.meta()
        if meta is None:
            meta = _Meta(FORMAT, self._name, dimension, max(1, self._shard_bytes // (4 * max(1, dimension))))
            write_json(self._folder / "meta.json", meta)
            self._meta = meta
        if meta.dimension != dimension:
            raise UserError(
                f"{self._name!r} gives {dimension} numbers for a text, and gave {meta.dimension} before.",
                where=str(self._folder),
                hint="another model answers under the same name: name it differently, or delete the folder",
            )
        return meta

    def _append(self, keys: list[bytes], vectors: Vectors, meta: _Meta) -> None:
        """Write rows, then their records; what an interrupted run left behind half is skipped or cut away."""
        first = self._next_row(meta)
        numbers = range(first, first + len(keys))
        done = 0
        while done < len(keys):
            shard, row = divmod(first + done, meta.shard_rows)
            count = min(meta.shard_rows - row, len(keys) - done)
            with self._shard_path(shard).open("ab+", buffering=0) as stream:
                stream.truncate(row * 4 * meta.dimension)  # longer: whole rows only; never shorter
                _write(stream, vectors[done : done + count].data.cast("B"))
            done += count
        records = b"".join(
            _RECORD.pack(key, number, _checksum(key, number, row.data.cast("B")))
            for key, number, row in zip(keys, numbers, vectors, strict=True)
        )
        with self._index.open("ab+", buffering=0) as stream:
            size = stream.seek(0, os.SEEK_END)
            if size % _RECORD.size:
                stream.truncate(size - size % _RECORD.size)
            _write(stream, memoryview(records))

    def _next_row(self, meta: _Meta) -> int:
        """Return the first row that nothing was ever written to."""
        shard = 0
        while self._shard_path(shard + 1).exists():
            shard += 1
        path = self._shard_path(shard)
        size = path.stat().st_size if path.exists() else 0
        return shard * meta.shard_rows + -(-size // (4 * meta.dimension))

    # -- files -----------------------------------------------------------------------------------------------------

    @property
    def _index(self) -> Path:
        return self._folder / "index.bin"

    def _shard_path(self, shard: int) -> Path:
        return self._folder / f"rows-{shard:05d}.f32"

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say what the disk refuses."""
        try:
            yield
        except OSError as error:
            raise UserError(
                f"the cache of vectors cannot be read or written: {error.strerror or error}. What it holds stays as it is.",
                where=str(self._folder),
                hint="check permissions and free space, then run the same command again",
            ) from error


def _checksum(key: bytes, row: int, data: Any) -> int:
    digest = xxhash.xxh3_64(key)
    digest.update(_PLACE.pack(row))
    digest.update(data)
    return digest.intdigest()


def _write(stream: IO[bytes], data: memoryview) -> None:
    """Write all of it, and have it on the disk."""
    written = 0
    while written < len(data):
        written += stream.write(data[written:])
    os.fsync(stream.fileno())


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a folder; the kernel gives it back when the process ends, however it ends.

    Where the system or the file system has no locks, nobody waits, and one process at a time has to write.
    """
    with path.open("ab") as stream:
        with suppress(ImportError, OSError):
            import fcntl

            fcntl.flock(stream, fcntl.LOCK_EX)
        yield
