"""Parquet tables of records: typed rows in and out, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from proctor.errors import MissingExtraError, UserError

__all__ = ["arrow_schema", "iter_rows", "write_rows"]

T = TypeVar("T")

_BATCH: Final = 1_000
_MAX_UNPACKED: Final = 8 * 2**30
"""Largest table by its own account, unpacked; a page that unpacks to more than a batch can hold is refused."""


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet", "Reading and writing Parquet") from None
    return pyarrow


def arrow_schema(columns: dict[str, Any]) -> Any:
    """Return an Arrow schema of ``{"name": "string" | "double" | "int64" | "bool" | [one] | {column: type}}``."""
    pa = _pyarrow()

    def type_of(of: Any) -> Any:
        if isinstance(of, list):
            return pa.list_(type_of(of[0]))
        if isinstance(of, dict):
            return pa.struct([pa.field(k, type_of(v)) for k, v in of.items()])
        return {"string": pa.string(), "double": pa.float64(), "int64": pa.int64(), "bool": pa.bool_()}[of]

    return pa.schema([pa.field(name, type_of(of)) for name, of in columns.items()])


def write_rows(path: Path, columns: dict[str, Any], rows: Iterable[dict[str, Any]]) -> tuple[int, int]:
    """Write a table, ``_BATCH`` rows a row group; return rows and bytes in memory."""
    pa = _pyarrow()
    schema = arrow_schema(columns)
    path.parent.mkdir(parents=True, exist_ok=True)
    count, size, pending = 0, 0, iter(rows)
    with pa.parquet.ParquetWriter(path, schema, write_page_checksum=True) as writer:
        while batch := list(islice(pending, _BATCH)):
            table = pa.Table.from_pylist(batch, schema=schema)
            writer.write_table(table)
            count, size = count + len(batch), size + table.nbytes
    return count, size


def iter_rows(path: Path, columns: dict[str, Any], type_: type[T]) -> Iterator[T]:
    """Yield the rows of a table as values of a type; further columns are passed over.

    Raises:
        UserError: if the file is missing, no Parquet, damaged, huge, lacks a column, or has one of another type.
        MissingExtraError: without pyarrow.
    """
    pa = _pyarrow()
    where = str(path)
    if not path.is_file():
        raise UserError("there is no such file.", where=where, hint="is the folder complete?")
    try:
        with pa.parquet.ParquetFile(path, page_checksum_verification=True) as file:
            _check(file, columns, where)
            for batch in file.iter_batches(batch_size=_BATCH, columns=list(columns), use_threads=False):
                for number, row in enumerate(batch.to_pylist()):
                    yield _converted(row, type_, f"{where}: row {number}")
    except (pa.ArrowException, OSError, UnicodeDecodeError, MemoryError, OverflowError) as error:
        seen = str(error).splitlines() or [type(error).__name__]
        raise UserError(
            f"cannot be read as Parquet: {seen[0][:300]}.",
            where=where,
            hint="copy or download the file again",
        ) from None


def _check(file: Any, columns: dict[str, Any], where: str) -> None:
    metadata = file.metadata
    size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    if size > _MAX_UNPACKED or size < 0 or metadata.num_rows < 0:
        raise UserError(f"the table says that it has {size:,} bytes.", where=where, hint="is it damaged?")
    missing = [name for name in columns if name not in file.schema_arrow.names]
    if missing:
        raise UserError(
            f"the column(s) {', '.join(missing)} are missing.",
            where=where,
            hint=f"columns: {', '.join(columns)}",
        )


def _converted(row: dict[str, Any], type_: type[T], where: str) -> T:
    try:
        return msgspec.convert(row, type_)
    except (msgspec.ValidationError, RecursionError) as error:
        raise UserError(f"{error}.", where=where, hint="compare with the documented columns") from None
