"""CSV and TSV: encoding, delimiter, header, parts, enormous cells."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.corpus.ingest.makers import drops_of, sources_of

from proctor.corpus.ingest.reading import CannotReadError
from proctor.corpus.ingest.tables import Cell, expand_spans, find_delimiter, split_header
from proctor.corpus.source import Source
from proctor.records import Dropped

Ingest = Callable[..., list[Source | Dropped]]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters(tmp_path: Path, ingest: Ingest, delimiter: str) -> None:
    stream = io.StringIO()
    rows = [["Drink", "Note"], ["Tea", "hot, not boiling; 80"], ["Coffee", 'say "92"\nor | so']]
    csv.writer(stream, delimiter=delimiter).writerows(rows)
    (tmp_path / "t.csv").write_text(stream.getvalue(), newline="")
    (table,) = sources_of(ingest(tmp_path / "t.csv"))
    assert table.header == ("Drink", "Note")
    assert table.rows == (("Tea", "hot, not boiling; 80"), ("Coffee", 'say "92" or | so'))
    assert (table.id, table.title, table.locator) == ("table:t.csv#1", "t", "rows 1-2")


def test_decimal_commas_do_not_part_cells() -> None:
    assert find_delimiter("a;b\n1,5;2,5\n3,5;4,5\n") == ";"
    assert find_delimiter("just one column\nof text, here\nand there\n") == ","


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings(tmp_path: Path, ingest: Ingest, encoding: str) -> None:
    text = "Getränk;Größe\n" + "Früchtetee;schön groß\n" * 30
    (tmp_path / "t.csv").write_bytes(text.encode(encoding))
    (table,) = sources_of(ingest(tmp_path / "t.csv"))
    assert table.header == ("Getränk", "Größe")
    assert len(table.rows) == 30


@pytest.mark.parametrize(
    ("first", "header"),
    [
        (["a", "b"], True),
        (["1", "b"], False),
        (["a", "a"], False),
        (["", "b"], True),
        (["3.5 %", "b"], False),
    ],
)
def test_when_the_first_row_is_a_header(first: list[str], header: bool) -> None:
    names, rows = split_header([first, ["x", "y"]])
    assert bool(names) == header
    assert len(rows) == (1 if header else 2)


def test_a_long_table_comes_in_parts_that_keep_the_header(tmp_path: Path, ingest: Ingest) -> None:
    body = [(f"row {n}", str(n)) for n in range(120)]
    (tmp_path / "t.csv").write_text("name,number\n" + "".join(f"{a},{b}\n" for a, b in body))
    tables = sources_of(ingest(tmp_path / "t.csv"))
    assert [s.locator for s in tables] == ["rows 1-50", "rows 51-100", "rows 101-120"]
    assert {s.header for s in tables} == {("name", "number")}
    assert [row for s in tables for row in s.rows] == body
    assert len({s.id for s in tables}) == 3


def test_five_megabytes(tmp_path: Path, ingest: Ingest) -> None:
    rows = [f"{n},{'x' * 90}\n" for n in range(52_000)]
    (tmp_path / "big.csv").write_text("number,text\n" + "".join(rows))
    tables = sources_of(ingest(tmp_path / "big.csv", table_rows=1000, table_length=10**6))
    assert sum(len(s.rows) for s in tables) == 52_000
    assert len(tables) == 52
    by_length = sources_of(ingest(tmp_path / "big.csv", table_rows=1000, table_length=9_500))
    assert all(sum(len(c) for row in s.rows for c in row) <= 9_500 for s in by_length)
    assert sum(len(s.rows) for s in by_length) == 52_000


def test_a_cell_of_ten_megabytes_is_told_and_the_rest_kept(tmp_path: Path, ingest: Ingest) -> None:
    before = csv.field_size_limit()
    (tmp_path / "c.csv").write_text(f"a,b\n1,2\n3,{'y' * 10_000_000}\n5,6\n")
    found = ingest(tmp_path / "c.csv")
    (table,) = sources_of(found)
    assert table.rows == (("1", "2"), ("5", "6"))
    assert drops_of(found) == {"c.csv-row-2": "cell-too-long"}
    assert csv.field_size_limit() == before


def test_what_is_no_table_is_told(tmp_path: Path, ingest: Ingest) -> None:
    (tmp_path / "q.csv").write_text('a,b\n1,"never closed\n2,3\n4,5\n')
    (tmp_path / "n.csv").write_bytes(b"a,b\n\0\0\xff\n")
    (tmp_path / "e.csv").write_text("\n\n , \n")
    (tmp_path / "h.csv").write_text("z" * 20_000 + ",b\n1,2\n")
    assert drops_of(ingest(tmp_path)) == {
        "q.csv": "unclosed-quote",
        "n.csv": "not-text",
        "e.csv": "empty-document",
        "h.csv-table-1": "cell-too-long",
    }


cells = st.builds(Cell, st.text("abc", min_size=1, max_size=2), st.integers(0, 4), st.integers(0, 4))


@given(st.lists(st.lists(cells, max_size=4), max_size=5))
def test_expanded_spans_are_a_rectangle_with_every_text(written: list[list[Cell]]) -> None:
    grid = expand_spans(written, 10_000)
    assert len(grid) == len(written)
    assert len({len(row) for row in grid}) <= 1
    for row, cells_of_row in zip(grid, written, strict=True):
        assert {c.text for c in cells_of_row} <= set(row)


def test_expanded_spans_by_hand() -> None:
    written = [[Cell("a", rows=2), Cell("b", columns=2)], [Cell("c"), Cell("d")], [Cell("e")]]
    assert expand_spans(written, 100) == [["a", "b", "b"], ["a", "c", "d"], ["e", "", ""]]
    with pytest.raises(CannotReadError, match="table-too-large"):
        expand_spans(written, 8)
