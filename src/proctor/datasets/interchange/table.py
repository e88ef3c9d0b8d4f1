r"""CSV: one row for each segment, for spreadsheets and data frames.

Columns: ``recording_id``, ``activity_id``, ``activity_name``, ``duration``, ``video``, ``step_id``, ``text``,
``start``, ``end`` (seconds or a clock such as ``01:05.5``, empty for a skipped step), ``performed``, ``mistakes`` (JSON:
``[["order", "too early"]]``, or by hand ``order: too early; timing: too long``) and one ``attribute:<name>`` for each attribute. A recording without segments is one row with
``segment`` empty; else ``segment`` counts from 1 within the recording. UTF-8 with a byte order mark, so that Excel
shows accents.

Spreadsheets run cells that begin with ``=``, ``+``, ``-`` or ``@`` (also after a tab or line break, and as wide
characters) as formulas. Such a text is written with an apostrophe in front, which spreadsheets show as text; a text
that begins with an apostrophe gets another one. Reading takes one leading apostrophe away. An apostrophe alone is
the empty text, an empty cell is no value.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import msgspec

from proctor.datasets.interchange.checks import UNKNOWN_ACTIVITY, Collector, mistakes_from, writable
from proctor.datasets.interchange.format import Format, Imported
from proctor.datasets.interchange.reading import load_text
from proctor.datasets.plain.build import parse_time
from proctor.errors import UserError
from proctor.procedure.recording import MISTAKE_KINDS, Recording, Segment
from proctor.records import Dropped, atomic_write
from proctor.spreadsheet import safe_cell, wide_cells

__all__ = ["COLUMNS", "FORMATS", "guard", "read_table", "unguard", "write_table"]

COLUMNS: Final = (
    "recording_id",
    "activity_id",
    "activity_name",
    "duration",
    "video",
    "segment",
    "step_id",
    "text",
    "start",
    "end",
    "performed",
    "mistakes",
)
_ATTRIBUTE: Final = "attribute:"
_REQUIRED: Final = ("recording_id", "text", "start", "end")
_DELIMITERS: Final = (",", ";", "\t")
_MAX_CELL: Final = 64 * 2**20


def guard(text: str) -> str:
    """Return the cell of a text that no spreadsheet runs as a formula; an empty text is an apostrophe."""
    return f"'{text}" if not text or text[0] == "'" else safe_cell(text)


def unguard(cell: str) -> str:
    """Return the text of a cell."""
    return cell.removeprefix("'")


# -- reading ---------------------------------------------------------------------------------------------------


def read_table(path: Path, *, activity: str = UNKNOWN_ACTIVITY) -> Imported[Recording]:
    """Read a CSV with a header line.

    Needed are ``recording_id``, ``text`` (or ``label``), ``start`` and ``end``; all other columns may lack, unknown
    ones are named in a warning. Commas, semicolons and tabs part cells, whichever the header line uses; with
    semicolons a decimal comma is read as well (Excel writes both in many countries). Rows of one recording may
    stand anywhere.

    Args:
        path: the CSV file.
        activity: id of the activity where the file names none.

    Raises:
        UserError: if the header lacks a column or names one twice, or quotes never end.
    """
    collector = Collector()
    rows = _rows(load_text(path), path, collector)
    for id_, found in _by_recording(rows, collector).items():
        _add_recording(collector, id_, found, activity)
    return collector.result()


_Row = tuple[int, dict[str, str]]


def _rows(text: str, path: Path, collector: Collector) -> Iterator[_Row]:
    delimiter = _delimiter(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        with wide_cells(_MAX_CELL):
            header = _header(next(reader, []))
            _check_header(header, path, collector)
            for cells in reader:
                if not any(cells):
                    continue
                if len(cells) != len(header):
                    seen = f"{len(cells)} cells, {len(header)} expected"
                    collector.drop(f"line {reader.line_num}", "bad_row", seen)
                    continue
                row = dict(zip(header, cells, strict=True))
                if delimiter == ";":
                    row |= {k: row[k].replace(",", ".") for k in ("start", "end", "duration") if k in row}
                yield reader.line_num, row
    except csv.Error as error:
        where, hint = f"{path}:{reader.line_num}", "does a quote lack its partner?"
        raise UserError(f"not a CSV: {error}.", where=where, hint=hint) from None


def _delimiter(text: str) -> str:
    """Return the sign that parts the header line into the columns that are needed; a comma where none does."""
    for delimiter in _DELIMITERS:
        try:
            first = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True), [])
        except csv.Error:
            continue
        if set(_REQUIRED) <= set(_header(first)):
            return delimiter
    return _DELIMITERS[0]


def _header(cells: list[str]) -> list[str]:
    names = [cell if cell.startswith(_ATTRIBUTE) else cell.strip() for cell in cells]
    return ["text" if name == "label" and "text" not in names else name for name in names]


def _check_header(header: list[str], path: Path, collector: Collector) -> None:
    missing = [name for name in _REQUIRED if name not in header]
    doubled = sorted({name for name in header if header.count(name) > 1})
    if missing or doubled:
        seen = f"lacks the column(s) {', '.join(missing)}" if missing else f"has '{doubled[0][:60]}' twice"
        raise UserError(f"the first line {seen}.", where=f"{path}:1", hint=f"columns: {', '.join(COLUMNS)}")
    unknown = [n for n in header if n not in COLUMNS and not n.startswith(_ATTRIBUTE)]
    if unknown:
        collector.warn(
            f"columns that a recording has no place for: {', '.join(n[:60] for n in unknown[:20])}."
        )


def _by_recording(rows: Iterable[_Row], collector: Collector) -> dict[str, list[_Row]]:
    found: dict[str, list[_Row]] = {}
    for line, row in rows:
        id_ = unguard(row["recording_id"])
        if id_:
            found.setdefault(id_, []).append((line, row))
        else:
            collector.drop(f"line {line}", "no_recording", "recording_id is empty")
    return found


def _add_recording(collector: Collector, id_: str, rows: list[_Row], activity: str) -> None:
    own = ("activity_id", "activity_name", "duration", "video")
    about = [{k: v for k, v in row.items() if k in own or k.startswith(_ATTRIBUTE)} for _, row in rows]
    for key, _ in groupby(about[0].items(), key=lambda item: item[0]):
        if any(other[key] != about[0][key] for other in about):
            collector.warn(f"recording '{id_[:80]}': its rows differ in '{key[:60]}', the first is taken.")
    first = about[0]
    named = _value(first.get("activity_id", ""))
    if named is None:
        collector.warn(f"the file names no activity for some recordings: '{activity[:80]}' is taken.")
    name = _value(first.get("activity_name", ""))
    named = activity if named is None else named
    attributes = {k.removeprefix(_ATTRIBUTE): _value(v) for k, v in first.items() if k.startswith(_ATTRIBUTE)}
    # a recording without segments has one row with none of these
    keys = ("segment", "step_id", "text", "start", "end", "performed", "mistakes")
    filled = [(line, row) for line, row in rows if any(row.get(key) for key in keys)]
    segments = (_segment(collector, f"{id_}/line {line}", row) for line, row in filled)
    collector.add(
        Recording(
            id=id_,
            activity_id=named,
            activity_name=named if name is None else name,
            segments=tuple(s for s in segments if s is not None),
            duration=collector.duration(id_, _seconds(first.get("duration", ""))),
            video=_value(first.get("video", "")),
            attributes={k: v for k, v in attributes.items() if v is not None},
        )
    )


def _segment(collector: Collector, id_: str, row: Mapping[str, str]) -> Segment | None:
    text = _value(row["text"])
    step = _value(row.get("step_id", ""))
    mistakes = _mistakes(row.get("mistakes", ""))
    if text is None and step is None:
        collector.drop(id_, "no_label", "neither text nor step_id")
        return None
    if mistakes is None:
        collector.drop(id_, "bad_field", f"mistakes: {row.get('mistakes')!r}"[:100])
        return None
    text = step if text is None else text
    assert text is not None
    segment = Segment(
        text if step is None else step, text, performed=_value(row.get("performed", "")), mistakes=mistakes
    )
    if not row["start"] and not row["end"]:
        return segment
    times = collector.times(id_, _seconds(row["start"]), _seconds(row["end"]))
    return None if times is None else replace(segment, start=times[0], end=times[1])


def _value(cell: str) -> str | None:
    return unguard(cell) if cell else None


def _seconds(cell: str) -> float | str | None:
    """Return a number; the text itself where it is neither one nor a clock, so that the message can quote it."""
    if not cell:
        return None
    try:
        return parse_time(cell) if ":" in cell else float(cell) if "_" not in cell else cell
    except ValueError:
        return cell


def _mistakes(cell: str) -> Any:
    if not cell:
        return ()
    try:
        pairs = msgspec.json.decode(unguard(cell).encode(), type=list[tuple[str, str]])
    except (msgspec.MsgspecError, RecursionError):
        parts = (part.partition(":") for part in unguard(cell).split(";"))
        pairs = [(kind.strip().lower(), text.strip()) for kind, _, text in parts]
        if not {kind for kind, _ in pairs} <= set(MISTAKE_KINDS):
            return None
    return mistakes_from([{"kind": kind, "text": text} for kind, text in pairs])


# -- writing ---------------------------------------------------------------------------------------------------


def write_table(recordings: Iterable[Recording], path: Path) -> tuple[Dropped, ...]:
    """Write a CSV; attribute columns by name.

    Args:
        recordings: with unique ids.
        path: the CSV file; tabs part the cells of a ``.tsv``.

    Raises:
        UserError: if ids are not unique or the file cannot be written.
    """
    dropped: list[Dropped] = []
    kept = list(writable(recordings, dropped))
    names = sorted({name for r in kept for name in r.attributes})
    out = io.StringIO(newline="")
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\r\n")
    writer.writerow([*COLUMNS, *(f"{_ATTRIBUTE}{name}" for name in names)])
    for recording in kept:
        writer.writerows(_lines(recording, names))
    with atomic_write(path) as stream:
        stream.write(out.getvalue().encode("utf-8-sig"))
    return tuple(dropped)


def _lines(recording: Recording, names: list[str]) -> Iterator[list[str]]:
    head = [
        guard(recording.id),
        guard(recording.activity_id),
        guard(recording.activity_name),
        _number(recording.duration),
        _cell(recording.video),
    ]
    tail = [_cell(recording.attributes.get(name)) for name in names]
    if not recording.segments:
        yield [*head, *[""] * 7, *tail]
    for number, s in enumerate(recording.segments, start=1):
        mistakes = msgspec.json.encode([(m.kind, m.text) for m in s.mistakes]).decode() if s.mistakes else ""
        yield [
            *head,
            str(number),
            guard(s.step_id),
            guard(s.text),
            _number(s.start),
            _number(s.end),
            _cell(s.performed),
            mistakes,
            *tail,
        ]


def _cell(text: str | None) -> str:
    return "" if text is None else guard(text)


def _number(seconds: float | None) -> str:
    return "" if seconds is None else repr(float(seconds))


FORMATS = (
    Format(
        name="csv",
        title="CSV, one row for each segment",
        suffixes=(".csv", ".tsv"),
        kind="recordings",
        lossless=True,
        loss=("fine-grained actions",),
        read=read_table,
        write=write_table,
        options=("activity",),
    ),
)
