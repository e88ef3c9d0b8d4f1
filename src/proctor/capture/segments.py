"""Samples on disk: segments that are closed by a rename, and an index of them. docs/capture.md, *On disk*.

A record is a header (``HEADER``) and the sample's bytes; a checksum over both tells whole records from a cut one. A segment is
``seg-000001.bin.part`` while it is written and ``seg-000001.bin`` from then on. ``index.npy`` has a row for each record
(``INDEX``); it can always be made from the segments.
"""

from __future__ import annotations

import os
import re
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final, Literal, TypeAlias

import numpy as np

from proctor.capture.records import Sample, StreamSpec
from proctor.errors import UserError
from proctor.records import atomic_write

__all__ = [
    "HEADER", "INDEX", "SegmentWriter", "load_index", "load_vectors", "read_payload", "salvage",
    "segment_files", "write_index",
]  # fmt: skip

HEADER: Final = struct.Struct("<4sIqqQI")
"""Mark, bytes of the sample, device and host time in ns, sequence number, CRC-32 of the header before it and the sample."""
_MARK: Final = b"PRC1"
_FRONT: Final = struct.Struct("<4sIqqQ")
INDEX: Final = np.dtype(
    [("device_ns", "<i8"), ("host_ns", "<i8"), ("seq", "<u8"), ("segment", "<i4"), ("size", "<u4"), ("offset", "<i8")]
)  # fmt: skip
"""``offset`` is that of the sample's bytes in its segment."""
_Rows: TypeAlias = np.ndarray[Any, np.dtype[Any]]
_NAME: Final = re.compile(r"seg-(\d{6})\.bin(\.part)?", re.ASCII)
_MOST: Final = 256 * 2**20
"""Bytes of a sample; a larger length is damage."""


def segment_files(folder: Path, end: Literal[".bin", ".bin.part"] = ".bin") -> list[tuple[int, Path]]:
    """Return the closed segments of a stream (or those that are open) with their numbers, in order."""
    found = ((m, p) for p in folder.glob(f"seg-*{end}") if (m := _NAME.fullmatch(p.name)))
    return sorted((int(m[1]), p) for m, p in found)


class SegmentWriter:
    """Writes samples of one stream into segments of some seconds and bytes; goes on after what is there.

    What a crash left open is salvaged first. ``OSError`` if the disk is full; what was closed is whole.
    """

    def __init__(self, folder: Path, *, seconds: float = 60.0, most: int = 512 * 2**20) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        salvage(folder)
        known, rows = segment_files(folder), load_index(folder)
        self.folder, self._span_ns, self._most = folder, int(seconds * 1e9), most
        self._number = known[-1][0] if known else 0
        self.seq = int(rows["seq"][-1]) + 1 if len(rows) else 0
        """Sequence number of the next sample."""
        self._file: IO[bytes] | None = None
        self._size = self._first_ns = 0

    def add(self, sample: Sample) -> None:
        """Append a sample; buffered, see ``sync``."""
        if sample.host_ns - self._first_ns >= self._span_ns or self._size >= self._most:
            self.close()
        if self._file is None:
            self._number += 1
            self._file = self._part().open("xb", buffering=1 << 18)
            self._size, self._first_ns = 0, sample.host_ns
        front = _FRONT.pack(_MARK, len(sample.payload), sample.device_ns, sample.host_ns, self.seq)
        check = zlib.crc32(sample.payload, zlib.crc32(front))
        self._file.write(front + check.to_bytes(4, "little") + sample.payload)
        self._size += HEADER.size + len(sample.payload)
        self.seq += 1

    def sync(self) -> None:
        """Bring to disk what was added."""
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the segment that is open."""
        if self._file is not None:
            self.sync()
            self._file.close()
            self._file = None
            part = self._part()
            part.rename(part.with_suffix(""))
            handle = os.open(self.folder, os.O_RDONLY)
            os.fsync(handle)
            os.close(handle)

    def abandon(self) -> None:
        """Close after an error: of what was added, the records that are whole on disk stay."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            self._file = None
        salvage(self.folder)

    def _part(self) -> Path:
        return self.folder / f"seg-{self._number:06}.bin.part"


def salvage(folder: Path) -> int:
    """Close what a crash left open, up to its last whole record; returns the bytes that were cut off."""
    lost = 0
    for _, part in segment_files(folder, ".bin.part"):
        whole = 0
        for *_, size, offset in _scan(part):
            whole = offset + size
        lost += part.stat().st_size - whole
        if not whole:
            part.unlink()
            continue
        with part.open("r+b") as file:
            file.truncate(whole)
            os.fsync(file.fileno())
        part.rename(part.with_suffix(""))
    return lost


def _scan(path: Path, number: int = 0) -> Iterator[tuple[int, int, int, int, int, int]]:
    """Yield an index row for each record of a segment, up to the first that is cut or damaged."""
    at = 0
    with path.open("rb", buffering=1 << 20) as file:
        while len(head := file.read(HEADER.size)) == HEADER.size:
            mark, size, device, host, seq, check = HEADER.unpack(head)
            if mark != _MARK or size > _MOST:
                return
            payload = file.read(size)
            if len(payload) < size or zlib.crc32(payload, zlib.crc32(head[: _FRONT.size])) != check:
                return
            yield device, host, seq, number, size, at + HEADER.size
            at += HEADER.size + size


def write_index(folder: Path) -> _Rows:
    """Make ``index.npy`` of a stream from its segments, and return it."""
    parts = [np.fromiter(_scan(path, number), INDEX) for number, path in segment_files(folder)]
    index = np.concatenate([np.zeros(0, INDEX), *parts])
    with atomic_write(folder / "index.npy") as file:
        np.save(file, index, allow_pickle=False)
    return index


def load_index(folder: Path) -> _Rows:
    """Return the index of a stream (dtype ``INDEX``); made anew where it is missing, damaged or older than a segment.

    A folder that is not there has an empty one.
    """
    path, segments = folder / "index.npy", segment_files(folder)
    if not segments:
        return np.zeros(0, dtype=INDEX)
    with suppress(OSError, ValueError, EOFError):
        index: _Rows = np.load(path, allow_pickle=False)
        fresh = path.stat().st_mtime_ns >= max(p.stat().st_mtime_ns for _, p in segments)
        if fresh and index.dtype == INDEX and (not len(index) or index["segment"].max() == segments[-1][0]):
            return index
    return write_index(folder)


def read_payload(folder: Path, row: np.void) -> bytes:
    """Return the bytes of a sample by its row of the index; ``UserError`` if the segment ends before."""
    path, size = folder / f"seg-{int(row['segment']):06}.bin", int(row["size"])
    with path.open("rb") as file:
        file.seek(int(row["offset"]))
        data = file.read(size)
    if len(data) < size:
        hint = "remove index.npy beside it"
        raise UserError("the segment ends before a sample does.", where=str(path), hint=hint)
    return data


def load_vectors(folder: Path, spec: StreamSpec) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return vectors (``f4``), shape (samples, columns); ``UserError`` if one has other columns."""
    index, width = load_index(folder), len(spec.columns)
    for n in np.flatnonzero(index["size"] != 4 * width):
        said = f"sample {n} has {index['size'][n]} bytes, not {width} columns of 4."
        raise UserError(said, where=str(folder))
    found = np.empty((len(index), width), dtype=np.float64)
    for number, path in segment_files(folder):
        mine = np.flatnonzero(index["segment"] == number)
        data = np.memmap(path, dtype=np.uint8, mode="r") if len(mine) else np.zeros(0, np.uint8)
        places = index["offset"][mine][:, None] + np.arange(4 * width)
        found[mine] = np.ascontiguousarray(data[places]).view("<f4")
    return found
