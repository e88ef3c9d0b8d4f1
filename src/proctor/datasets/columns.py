"""Records as rows of a table: which columns a record type has, and its values as rows and back.

A field of a record is a column of the same name. A mapping, which tables do not have, is a list of ``name`` and ``value``.
Anything that is a record or a list of records is nested.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import inspect

from proctor.errors import UserError

__all__ = ["Table", "table_of"]

T = TypeVar("T")

_Convert = Callable[[Any], Any]
_SCALARS: Final[dict[type[inspect.Type], str]] = {
    inspect.StrType: "string",
    inspect.LiteralType: "string",
    inspect.FloatType: "double",
    inspect.IntType: "int64",
    inspect.BoolType: "bool",
}


class Table(Generic[T]):
    """The columns of a record type.

    Attributes:
        type: of the records.
        columns: name to ``"string"``, ``"double"``, ``"int64"``, ``"bool"``, ``[one]`` or ``{column: ...}``; what
            ``interchange.parquet_files.arrow_schema`` takes.
    """

    def __init__(self, type_: type[T]) -> None:
        info = inspect.type_info(type_)
        columns = _columns(info)
        if not isinstance(columns, dict):
            raise TypeError(f"{type_} is no record")
        self.type = type_
        self.columns: dict[str, Any] = columns
        self._to_row = _to_row(info)
        self._from_row = _from_row(info)

    def row_of(self, record: T) -> Any:
        """Return what encodes to one row: the record itself, where it has no mapping."""
        return record if self._to_row is None else self._to_row(record)

    def record_of(self, row: dict[str, Any], where: str) -> T:
        """Return the record that a row holds; columns without a value have the default.

        Raises:
            UserError: if the row is no such record.
        """
        try:
            return msgspec.convert(self._from_row(row), self.type)
        except (msgspec.ValidationError, ValueError, TypeError, KeyError) as error:
            raise UserError(
                f"{error}.", where=where, hint="was it written by proctor datasets export?"
            ) from None


def table_of(type_: type[T]) -> Table[T]:
    """Return the columns of a record type (a dataclass or a ``msgspec.Struct``).

    Raises:
        TypeError: if a field is of a type that has no column.
    """
    return Table(type_)


def _columns(info: inspect.Type) -> Any:
    if isinstance(info, inspect.StructType | inspect.DataclassType):
        return {f.encode_name: _columns(f.type) for f in info.fields}
    if isinstance(info, inspect.UnionType):
        return _columns(_one_of(info))
    if isinstance(info, inspect.DictType):
        return [{"name": "string", "value": _columns(info.value_type)}]
    if isinstance(info, inspect.TupleType):
        inner = [_columns(t) for t in info.item_types]
        if any(one != inner[0] for one in inner):
            raise TypeError(f"{info} has no column: its values are of different types")
        return [inner[0]]
    if isinstance(info, inspect.VarTupleType | inspect.ListType):
        return [_columns(info.item_type)]
    for type_, name in _SCALARS.items():
        if isinstance(info, type_):
            return name
    raise TypeError(f"{info} has no column")


def _one_of(info: inspect.UnionType) -> inspect.Type:
    """The type of an optional value."""
    inner = [t for t in info.types if not isinstance(t, inspect.NoneType)]
    if len(inner) != 1:
        raise TypeError(f"{info} has no column: it may be of several types")
    return inner[0]


# -- to rows -----------------------------------------------------------------------------------------------------


def _to_row(info: inspect.Type) -> _Convert | None:
    """Return what makes a row of a value; None where the value encodes as it is."""
    if isinstance(info, inspect.StructType | inspect.DataclassType):
        return _record_to_row(info)
    if isinstance(info, inspect.UnionType):
        return _optional(_to_row(_one_of(info)))
    if isinstance(info, inspect.DictType):
        inner = _to_row(info.value_type) or _same
        return lambda value: [{"name": k, "value": inner(v)} for k, v in value.items()]
    if isinstance(info, inspect.VarTupleType | inspect.ListType):
        return _each(_to_row(info.item_type))
    return None


def _optional(convert: _Convert | None) -> _Convert | None:
    if convert is None:
        return None
    return lambda value: None if value is None else convert(value)


def _each(convert: _Convert | None) -> _Convert | None:
    if convert is None:
        return None
    return lambda values: [convert(one) for one in values]


def _record_to_row(info: inspect.StructType | inspect.DataclassType) -> _Convert | None:
    changed = [(f.encode_name, convert) for f in info.fields if (convert := _to_row(f.type)) is not None]
    if not changed:
        return None
    names = [f.name for f in info.fields]
    encoded = [f.encode_name for f in info.fields]
    values = attrgetter(*names) if len(names) > 1 else lambda record: (getattr(record, names[0]),)
    mappings = [f.name for f in info.fields if isinstance(f.type, inspect.DictType)]
    lazy = isinstance(info, inspect.StructType) and info.cls.__struct_config__.omit_defaults

    def convert_record(record: Any) -> Any:
        row = dict(zip(encoded, values(record), strict=True))
        for name, convert in changed:
            row[name] = convert(row[name])
        return row

    if not lazy or len(mappings) != 1 or len(changed) != 1:
        return convert_record
    # An empty mapping is a default, which is not encoded: the record can go as it is, twice as fast.
    mapping = attrgetter(mappings[0])
    return lambda record: convert_record(record) if mapping(record) else record


def _same(value: Any) -> Any:
    return value


# -- from rows ---------------------------------------------------------------------------------------------------


def _from_row(info: inspect.Type) -> _Convert:
    if isinstance(info, inspect.StructType | inspect.DataclassType):
        fields = {f.encode_name: (_from_row(f.type), f.required) for f in info.fields}

        def record(row: Any) -> Any:
            return {
                name: convert(row[name])
                for name, (convert, required) in fields.items()
                if required or row.get(name) is not None
            }

        return record
    if isinstance(info, inspect.UnionType):
        inner = _from_row(_one_of(info))
        return lambda value: None if value is None else inner(value)
    if isinstance(info, inspect.DictType):
        inner = _from_row(info.value_type)
        return lambda pairs: {pair["name"]: inner(pair["value"]) for pair in pairs or ()}
    if isinstance(info, inspect.VarTupleType | inspect.ListType):
        inner = _from_row(info.item_type)
        return lambda values: None if values is None else [inner(one) for one in values]
    return _same
