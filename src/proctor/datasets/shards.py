"""Many records in sharded files: Parquet or JSON Lines, written as they come and read as they are wanted.

A folder holds ``data-00000.parquet`` (or ``.jsonl``) and so on, and ``manifest.json``, which appears last and says what is
there: rows, bytes and SHA-256 of each shard. Shards appear whole or not at all. Writing again into the same folder writes
only what is missing or different, so a run that was cut short goes on where it stopped. The same records give the same
bytes, wherever the shards are encoded.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, get_args

import msgspec
import xxhash

from proctor.compute import HERE, Place, map_items
from proctor.datasets.columns import Table, table_of
from proctor.datasets.interchange.parquet_files import arrow_schema, iter_rows
from proctor.errors import UserError
from proctor.records import append_jsonl, atomic_write, file_sha256, iter_jsonl, read_json, write_json

__all__ = [
    "FORMATS",
    "ROWS",
    "Manifest",
    "Shard",
    "ShardFormat",
    "iter_shards",
    "read_manifest",
    "write_shards",
]

T = TypeVar("T")

ShardFormat = Literal["parquet", "jsonl"]
FORMATS: Final[tuple[ShardFormat, ...]] = get_args(ShardFormat)

ROWS: Final = 50_000
"""Rows of a shard."""

MAX_PAYLOAD: Final = 64 * 2**20
"""Bytes (as JSON Lines) after which a shard ends before it has all its rows: huge records must not fill the memory."""

_MANIFEST: Final = "manifest.json"
_PROGRESS: Final = ".progress.jsonl"
_HALF: Final = re.compile(r"\.data-\d{5,}\.(parquet|jsonl)\.[0-9a-f]+\.tmp", re.ASCII)
"""Name of a shard while it is written; see ``records.atomic_write``."""

_TOGETHER: Final = 100
"""Records that are encoded at a time."""

_GROUP_ROWS: Final = 10_000
"""Rows of a row group in Parquet: what a reader holds at least."""


class Shard(msgspec.Struct, frozen=True):
    """One file of a manifest.

    Attributes:
        path: in the folder.
        rows: records.
        bytes: of the file.
        sha256: of the file.
        content: XXH3-128 of the rows as JSON Lines: says whether a shard has to be written again.
    """

    path: str
    rows: int
    bytes: int
    sha256: str
    content: str


class Manifest(msgspec.Struct, frozen=True):
    """What a folder of shards holds.

    Attributes:
        record: name of the record type.
        format: of the shards.
        rows_per_shard: asked for; a shard of huge records may have fewer.
        rows: in all.
        shards: in order.
        about: what whoever wrote it says of the records.
    """

    record: str
    format: ShardFormat
    rows_per_shard: int
    rows: int
    shards: tuple[Shard, ...]
    about: Mapping[str, Any] = {}


class _Batch(msgspec.Struct, frozen=True):
    index: int
    rows: int
    payload: bytes | bytearray
    content: str


# -- writing -----------------------------------------------------------------------------------------------------


def write_shards(
    records: Iterable[T],
    folder: Path,
    type_: type[T],
    *,
    format: ShardFormat = "parquet",
    rows: int = ROWS,
    place: Place = HERE,
    about: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None = None,
    seen: Callable[[], None] | None = None,
) -> Manifest:
    """Write records as they come; return the manifest that was written.

    Args:
        records: any number of them.
        folder: new, empty, or left by an earlier run with the same format, rows and record type.
        type_: of the records.
        format: of the files.
        rows: of a shard.
        place: where Parquet is encoded; files are written here in any case.
        about: for the manifest; a function is called when all records were seen.
        seen: called after each shard.

    Raises:
        UserError: if there is no record, the folder holds something else, or cannot be written.
        MissingExtraError: without pyarrow, for Parquet.
    """
    if rows < 1:
        raise UserError(f"a shard of {rows} rows holds nothing.", hint="give 1 or more")
    if format not in FORMATS:
        raise UserError(f"there is no format {format!r}.", hint=f"one of {', '.join(FORMATS)}")
    table = table_of(type_)
    if format == "parquet":
        arrow_schema(table.columns)  # says at once that pyarrow is missing
    before = _prepare(folder, {"record": type_.__name__, "format": format, "rows_per_shard": rows})
    written: list[Shard] = []
    batches = _batches(records, table, format, rows)
    for batch, data in _encoded(batches, table, format, place, before):
        shard = before.get(batch.index) if data is None else None
        if data is not None:
            shard = _write(folder, batch, data, format)
            append_jsonl(folder / _PROGRESS, shard)
        assert shard is not None
        written.append(shard)
        if seen is not None:
            seen()
    if not written:
        raise UserError("there is no record to write.", where=str(folder), hint="is the data set empty?")
    return _finish(folder, written, type_, format, rows, about() if callable(about) else about)


def _prepare(folder: Path, header: dict[str, Any]) -> dict[int, Shard]:
    """Return the shards of an earlier run that are there whole, by number."""
    progress = folder / _PROGRESS
    try:
        found = sorted(p.name for p in folder.iterdir()) if folder.exists() else []
    except OSError as error:
        raise UserError(f"is no folder to write to: {error.strerror or error}.", where=str(folder)) from None
    if not found:
        append_jsonl(progress, header)
        return {}
    if _PROGRESS not in found and _MANIFEST not in found:
        raise UserError(
            f"there is something here already ({', '.join(found)[:100]}).",
            where=str(folder),
            hint="name a new or an empty folder",
        )
    earlier, shards = _earlier(folder)
    if earlier != header:
        told = ", ".join(f"{k} {v}" for k, v in earlier.items())
        raise UserError(
            f"another export is here already: {told}.",
            where=str(folder),
            hint="name another folder, or remove it",
        )
    whole = {}
    for shard in shards:
        if _is_whole(folder, shard):
            digits = Path(shard.path).stem.removeprefix("data-")
            whole[int(digits) if digits.isascii() and digits.isdigit() else -1] = shard
    return whole


def _earlier(folder: Path) -> tuple[dict[str, Any], list[Shard]]:
    """Header and shards of an earlier run; of two entries for one file the later counts."""
    if (folder / _MANIFEST).exists() and not (folder / _PROGRESS).exists():
        manifest = read_manifest(folder)
        keys = ("record", "format", "rows_per_shard")
        return {key: getattr(manifest, key) for key in keys}, list(manifest.shards)
    lines = _whole_lines(folder / _PROGRESS)
    if not lines:
        raise UserError(
            "what an earlier run left cannot be read.",
            where=str(folder / _PROGRESS),
            hint="remove the folder",
        )
    shards = {}
    for line in lines[1:]:
        try:
            shard = msgspec.convert(line, Shard)
        except msgspec.ValidationError:
            continue  # it will be written again
        shards[shard.path] = shard
    return lines[0], list(shards.values())


def _whole_lines(path: Path) -> list[dict[str, Any]]:
    """Lines up to the first that a kill cut short."""
    lines: list[dict[str, Any]] = []
    try:
        lines.extend(iter_jsonl(path, dict[str, Any]))
    except UserError:
        if not path.is_file():
            raise
        lines = []
        for raw in path.read_bytes().split(b"\n"):
            try:
                lines.append(msgspec.json.decode(raw, type=dict[str, Any]))
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                break
    return lines


def _is_whole(folder: Path, shard: Shard) -> bool:
    file = folder / Path(shard.path).name
    return (
        file.name == shard.path
        and file.is_file()
        and file.stat().st_size == shard.bytes
        and file_sha256(file) == shard.sha256
    )


def _batches(records: Iterable[T], table: Table[T], format: ShardFormat, rows: int) -> Iterator[_Batch]:
    encode = msgspec.json.Encoder().encode_lines
    row_of = table.row_of
    pending = iter(records)
    index = 0
    while True:
        payload, count = bytearray(), 0
        while count < rows and len(payload) < MAX_PAYLOAD:
            some = list(islice(pending, min(_TOGETHER, rows - count)))
            if not some:
                break
            payload += encode(some if format == "jsonl" else [row_of(record) for record in some])
            count += len(some)
        if not count:
            return
        yield _Batch(index, count, payload, xxhash.xxh3_128_hexdigest(payload))
        index += 1


def _encoded(
    batches: Iterator[_Batch],
    table: Table[Any],
    format: ShardFormat,
    place: Place,
    before: Mapping[int, Shard],
) -> Iterator[tuple[_Batch, bytes | bytearray | None]]:
    """Yield every batch with its file's bytes; None where the file is there already."""

    def same(batch: _Batch) -> bool:
        shard = before.get(batch.index)
        return shard is not None and (shard.content, shard.rows) == (batch.content, batch.rows)

    def work() -> Iterator[_Batch]:
        for batch in batches:
            yield batch if not same(batch) else _Batch(batch.index, batch.rows, b"", batch.content)

    encode: Callable[[_Batch], bytes | bytearray] = partial(_encode, table.columns, format)
    outcomes = map_items(
        encode, work(), HERE if format == "jsonl" else place, name=lambda b: f"shard {b.index}"
    )
    for outcome in outcomes:
        yield outcome.item, outcome.value if outcome.item.payload else None


def _encode(columns: dict[str, Any], format: ShardFormat, batch: _Batch) -> bytes | bytearray:
    """Return the bytes of the shard's file."""
    if format == "jsonl" or not batch.payload:
        return batch.payload
    from pyarrow import BufferOutputStream, parquet, py_buffer
    from pyarrow import json as arrow_json

    schema = arrow_schema(columns)
    table = arrow_json.read_json(
        py_buffer(batch.payload),
        # One block: no row may lie on the border of two, and the order of rows is that of the lines.
        read_options=arrow_json.ReadOptions(use_threads=False, block_size=len(batch.payload) + 1),
        parse_options=arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
    )
    sink = BufferOutputStream()
    with parquet.ParquetWriter(
        sink,
        schema,
        compression="zstd",
        compression_level=1,
        use_dictionary=False,  # texts and ids hardly repeat: without it half the time and smaller
        write_page_checksum=True,
    ) as writer:
        writer.write_table(table, row_group_size=_GROUP_ROWS)
    return bytes(sink.getvalue())


def _write(folder: Path, batch: _Batch, data: bytes | bytearray, format: ShardFormat) -> Shard:
    path = f"data-{batch.index:05d}.{format}"
    with atomic_write(folder / path) as stream:
        stream.write(data)
    return Shard(path, batch.rows, len(data), hashlib.sha256(data).hexdigest(), batch.content)


def _finish(
    folder: Path,
    written: list[Shard],
    type_: type[Any],
    format: ShardFormat,
    rows: int,
    about: Mapping[str, Any] | None,
) -> Manifest:
    _remove_others(folder, {shard.path for shard in written}, format)
    total = sum(shard.rows for shard in written)
    manifest = Manifest(type_.__name__, format, rows, total, tuple(written), about or {})
    write_json(folder / _MANIFEST, manifest)
    (folder / _PROGRESS).unlink(missing_ok=True)
    return manifest


def _remove_others(folder: Path, kept: set[str], format: ShardFormat) -> None:
    """Remove shards of an earlier run that had more records, and what a kill left half written."""
    shard = re.compile(rf"data-\d{{5,}}\.{format}", re.ASCII)
    for file in folder.iterdir():
        if file.name not in kept and (shard.fullmatch(file.name) or _HALF.fullmatch(file.name)):
            file.unlink(missing_ok=True)


# -- reading -----------------------------------------------------------------------------------------------------


def read_manifest(folder: Path) -> Manifest:
    """Read what a folder of shards says of itself.

    Raises:
        UserError: if there is none, it is broken, or it names files that are not in the folder itself.
    """
    path = folder / _MANIFEST
    manifest: Manifest = read_json(path, Manifest)
    for shard in manifest.shards:
        if Path(shard.path).name != shard.path or shard.rows < 0 or "\x00" in shard.path:
            raise UserError(
                f"a shard is {shard.path[:100]!r}.", where=str(path), hint="it has to be a file's name"
            )
    return manifest


def iter_shards(folder: Path, type_: type[T]) -> Iterator[T]:
    """Yield the records of a folder of shards, in order, one batch in memory at a time.

    Raises:
        UserError: if the manifest or a shard is missing or broken, holds other records, or has another number of rows
            than the manifest says.
        MissingExtraError: without pyarrow, for Parquet.
    """
    manifest = read_manifest(folder)
    if manifest.record != type_.__name__:
        raise UserError(
            f"it holds {manifest.record} records, not {type_.__name__}.", where=str(folder / _MANIFEST)
        )
    table = table_of(type_)
    for shard in manifest.shards:
        count = 0
        for record in _iter_shard(folder / shard.path, manifest.format, table):
            count += 1
            yield record
        if count != shard.rows:
            raise UserError(
                f"it has {count:,} rows, the manifest says {shard.rows:,}.",
                where=str(folder / shard.path),
                hint="run the export again",
            )


def _iter_shard(path: Path, format: ShardFormat, table: Table[T]) -> Iterator[T]:
    if format == "jsonl":
        yield from iter_jsonl(path, table.type)
        return
    rows: Iterator[dict[str, Any]] = iter_rows(path, table.columns, dict)
    for number, row in enumerate(rows):
        yield table.record_of(row, f"{path}: row {number}")
