"""Records as tables of Python programs and notebooks: by place or id, short when printed, flat for pandas and polars."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from html import escape
from reprlib import Repr
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, overload

import msgspec

from proctor.errors import MissingExtraError
from proctor.terminal import printable

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = ["Records", "Shown", "flat", "html_table"]

T = TypeVar("T")

_SHOWN: Final = 10
"""Rows of a table in a notebook."""
_NARROW: Final = 48
"""Characters of a cell that is printed."""
_LONGEST: Final = 120
"""Characters of a cell there."""

_GREY: Final = ' style="opacity:0.55"'
"""Of a row, on a light page and on a dark one."""

Cells = Mapping[str, object]


class Shown:
    """What a stage returned, or a record: a line when it is printed, a table in a notebook; the base of structs."""

    __slots__ = ()

    def _cells(self) -> Cells:
        """Return what is shown; all its fields by default."""
        return {name: getattr(self, name) for name in self.__struct_fields__}

    def __repr__(self) -> str:
        text = ", ".join(f"{name}={_BRIEF.repr(value)}" for name, value in self._cells().items())
        return f"{type(self).__name__}({_cut(text, _LINE)})"

    def _repr_html_(self) -> str:
        return html_table(
            [
                {"": name, type(self).__name__: value if isinstance(value, _PLAIN) else _BRIEF.repr(value)}
                for name, value in self._cells().items()
            ]
        )

    if TYPE_CHECKING:
        __struct_fields__: tuple[str, ...]


class _Brief(Repr):
    """Of a record within a result its name alone."""

    def repr_instance(self, value: Any, level: int) -> str:
        if isinstance(value, msgspec.Struct):
            return f"{type(value).__name__}({self.repr(_key(value)) if _key(value) else '…'})"
        return super().repr_instance(value, level)


def _brief() -> Repr:
    brief = _Brief()
    brief.maxlevel, brief.maxdict, brief.maxlist, brief.maxtuple, brief.maxstring = 2, 4, 3, 3, 60
    return brief


_BRIEF: Final = _brief()
_PLAIN: Final = (str, int, float)
_LINE: Final = 250
"""Characters of a result that is printed."""


class Records(Sequence[T], Generic[T]):
    """Records in order: ``records[3]``, ``records["tea-1"]``, ``len(records)``, ``records.to_pandas()``.

    Args:
        records: in order.
        title: what they are, in the plural.
        row: the cells of one record, by column; all its fields by default (``flat``).
        key: the id by which a record is found; its ``id`` or ``run`` by default.
        aside: which records are set grey in a notebook; none by default.
        why: what those are, below the table.
    """

    def __init__(
        self,
        records: Sequence[T],
        title: str = "records",
        *,
        row: Callable[[T], Cells] | None = None,
        key: Callable[[T], str] | None = None,
        aside: Callable[[T], bool] | None = None,
        why: str = "",
    ) -> None:
        self._records = tuple(records)
        self._title = title
        self._row = row or flat
        self._key = key or _key
        self._aside, self._why = aside, why
        self._places: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[T]:
        return iter(self._records)

    @overload
    def __getitem__(self, which: int | str) -> T: ...
    @overload
    def __getitem__(self, which: slice) -> Records[T]: ...
    def __getitem__(self, which: int | str | slice) -> T | Records[T]:
        """Return a record by its place or id, or some of them by a slice.

        Raises:
            KeyError: if none has the id.
            IndexError: if there are not so many.
        """
        if isinstance(which, slice):
            return Records(
                self._records[which],
                self._title,
                row=self._row,
                key=self._key,
                aside=self._aside,
                why=self._why,
            )
        if isinstance(which, int):
            return self._records[which]
        if not self._places:
            self._places = {self._key(record): n for n, record in reversed(list(enumerate(self._records)))}
        if which not in self._places:
            near = get_close_matches(which, self._places, n=1)
            raise KeyError(
                f"none of {len(self):,} {self._title} is called {which!r:.80}"
                + (f"; did you mean {near[0]!r}?" if near else "")
            )
        return self._records[self._places[which]]

    def __repr__(self) -> str:
        if not self._records:
            return f"no {self._title}"
        first = self._key(self._records[0])
        return self._many() + (f", the first one {first!r:.60}" if first else "")

    def __str__(self) -> str:
        """Return the first records as a table, for ``print``."""
        rows = self[:_SHOWN].rows()
        lines = [list(rows[0]), *([_text(cell) for cell in row.values()] for row in rows)] if rows else []
        widths = [min(_NARROW, max(map(len, column))) for column in zip(*lines, strict=True)]
        cut = ([f"{_cut(cell, n):{n}}" for cell, n in zip(line, widths, strict=True)] for line in lines)
        return "\n".join([*("  ".join(line).rstrip() for line in cut), self._many()])

    def _repr_html_(self) -> str:
        shown = self._records[:_SHOWN]
        more = len(self) - len(shown)
        grey = {n for n, record in enumerate(shown) if self._aside is not None and self._aside(record)}
        return (
            html_table([self._row(record) for record in shown], grey)
            + f"<p>{escape(self._many())}"
            + (f", {more:,} of them not shown" if more else "")
            + (f"; grey: {escape(self._why)}</p>" if grey else "</p>")
        )

    def _many(self) -> str:
        return f"{len(self):,} {self._title if len(self) != 1 else self._title.removesuffix('s')}"

    def rows(self) -> list[dict[str, object]]:
        """Return the cells of every record, one dict each with the same columns."""
        rows = [self._row(record) for record in self._records]
        columns = dict.fromkeys(name for row in rows for name in row)
        return [{name: row.get(name) for name in columns} for row in rows]

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame, one row a record.

        Raises:
            MissingExtraError: if pandas is not installed.
        """
        try:
            import pandas as pd
        except ModuleNotFoundError as error:
            raise MissingExtraError("pandas", "dataframes", "A data frame") from error
        return pd.DataFrame(self.rows())

    def to_polars(self) -> pl.DataFrame:
        """Return a data frame of polars, one row a record.

        Raises:
            MissingExtraError: if polars is not installed.
        """
        try:
            import polars as pl
        except ModuleNotFoundError as error:
            raise MissingExtraError("polars", "dataframes", "A data frame of polars") from error
        return pl.DataFrame(self.rows(), infer_schema_length=None)


def flat(record: object) -> dict[str, object]:
    """Return the fields of a record as cells: what is nested by names with dots, lists of words joined, other lists as JSON.

    Example:
        >>> flat({"id": "a", "facets": {"type": "next"}, "tags": ["x", "y"]})
        {'id': 'a', 'facets.type': 'next', 'tags': 'x; y'}
    """
    cells: dict[str, object] = {}
    _flatten("", msgspec.to_builtins(record), cells)
    return cells


def _flatten(name: str, value: object, cells: dict[str, object]) -> None:
    if isinstance(value, dict) and (value or not name):
        for key, inner in value.items():
            _flatten(f"{name}.{key}" if name else str(key), inner, cells)
    elif isinstance(value, list | tuple):
        words = all(isinstance(one, str | int | float) for one in value)
        cells[name] = "; ".join(map(str, value)) if words else msgspec.json.encode(value).decode()
    else:
        cells[name or "value"] = value


def html_table(rows: Sequence[Cells], grey: Collection[int] = ()) -> str:
    """Return rows as a table of HTML, some of them grey; what stands in it cannot be markup."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        f"<tr{_GREY if n in grey else ''}>{''.join(_td(row.get(name)) for name in columns)}</tr>"
        for n, row in enumerate(rows)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.3g}"
    number = isinstance(value, int) and not isinstance(value, bool)
    return f"{value:,}" if number else "" if value is None else printable(str(value))


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _td(value: object) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    text = _text(value)
    return f'<td style="text-align:{"right" if number else "left"}">{escape(_cut(text, _LONGEST))}</td>'


def _key(record: Any) -> str:
    return str(getattr(record, "id", None) or getattr(record, "run", ""))
