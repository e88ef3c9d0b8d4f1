"""CSV: one row for each segment."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.datasets.interchange.table import COLUMNS, guard, read_table, unguard, write_table
from proctor.errors import UserError
from proctor.procedure.recording import Mistake, Recording, Segment

HEAD = "recording_id,text,start,end"


def read(tmp_path: Path, text: str, head: str = HEAD) -> object:
    path = tmp_path / "a.csv"
    path.write_text(f"{head}\n{text}", encoding="utf-8", newline="")
    return read_table(path)


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1", "＝1", "－1", "'", ""]
)
def test_formulas_get_an_apostrophe(text: str) -> None:
    assert guard(text) == f"'{text}"
    assert unguard(guard(text)) == text


@given(st.text())
def test_no_cell_is_a_formula_and_every_text_comes_back(text: str) -> None:
    cell = guard(text)
    assert cell
    assert cell.lstrip(" \u00a0\ufeff")[:1] not in ("=", "+", "-", "@")
    assert unguard(cell) == text


def test_no_cell_of_a_file_begins_with_a_formula(tmp_path: Path) -> None:
    evil = '=cmd|" /C calc"!A0'
    step = Segment(evil, evil, 0.0, 1.0, evil, (Mistake(evil, evil),))
    given_ = (Recording(evil, evil, evil, (step,), 3.0, evil, {evil: evil}),)
    write_table(given_, tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(encoding="utf-8-sig", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [c for c in cells if c.lstrip().startswith(("=", "+", "-", "@"))]
    assert read_table(tmp_path / "a.csv").objects == given_


def test_columns_are_the_documented_ones(recordings: tuple[Recording, ...], tmp_path: Path) -> None:
    write_table(recordings, tmp_path / "a.csv")
    first, second = (tmp_path / "a.csv").read_text(encoding="utf-8-sig").splitlines()[:2]
    assert first.split(",") == [*COLUMNS, "attribute:note", "attribute:person", "attribute:split"]
    assert second.startswith("tea_1,tea,Tea for two,120.0,videos/tea 1.mp4,1,5,Say thanks,,,,")


def test_pandas_reads_ours(recordings: tuple[Recording, ...], tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    write_table(recordings, tmp_path / "a.csv")
    frame = pandas.read_csv(tmp_path / "a.csv", dtype={"step_id": str})
    assert list(frame["end"].dropna()) == [12.04, 95.5, 110.25, 112.0, 114.5, 3.0]
    assert list(frame["step_id"]) == ["5", "1", "2", "3", "4", "3", "1"]


def test_four_columns_are_enough(tmp_path: Path) -> None:
    found = read(tmp_path, "r,Stir,1.5,2\nq,Pour,0,1\nr,Fill,0,1\n")
    assert found.objects == (  # type: ignore[attr-defined]
        Recording(
            "r",
            "procedure",
            "procedure",
            (Segment("Fill", "Fill", 0.0, 1.0), Segment("Stir", "Stir", 1.5, 2.0)),
        ),
        Recording("q", "procedure", "procedure", (Segment("Pour", "Pour", 0.0, 1.0),)),
    )


@pytest.mark.parametrize(
    ("head", "rows"),
    [
        ("recording_id;label;start;end;duration", 'r;"Stir, then pour";1,5;2,25;10,5\n'),
        ("recording_id\tlabel\tstart\tend\tduration", "r\tStir, then pour\t1.5\t2.25\t10.5\n"),
        (" recording_id , label , start , end , duration ", 'r,"Stir, then pour",1.5,2.25,10.5\r\n'),
    ],
)
def test_what_spreadsheets_of_other_countries_write(tmp_path: Path, head: str, rows: str) -> None:
    (recording,) = read(tmp_path, rows, head).objects  # type: ignore[attr-defined]
    assert recording.segments == (Segment("Stir, then pour", "Stir, then pour", 1.5, 2.25),)
    assert recording.duration == 10.5


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("r,Stir,2,1", "no_length"),
        ("r,Stir,nan,1", "not_finite"),
        ("r,Stir,0,inf", "not_finite"),
        ("r,Stir,-1,1", "negative"),
        ("r,Stir,x,1", "no_time"),
        ("r,Stir,1_0,20", "no_time"),
        ("r,Stir,1,", "no_time"),
        ("r,Stir,0:75,2:00", "no_time"),
        ("r,,0,1", "no_label"),
        (",Stir,0,1", "no_recording"),
        ("r,Stir,0", "bad_row"),
        ("r,Stir,0,1,2", "bad_row"),
    ],
)
def test_a_wrong_row_is_listed_with_its_line(tmp_path: Path, row: str, reason: str) -> None:
    found = read(tmp_path, f"r,Fill,0,1\n{row}\n")
    assert [d.reason for d in found.dropped] == [reason]  # type: ignore[attr-defined]
    assert "line 3" in found.dropped[0].id  # type: ignore[attr-defined]
    assert len(found.objects[0].segments) == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("cell", ["burnt", "[3]", '[["a"]]', '{"a":1}', '[["a","b","c"]]'])
def test_mistakes_that_are_no_pairs(tmp_path: Path, cell: str) -> None:
    quoted = cell.replace('"', '""')
    found = read(tmp_path, f'r,Fill,0,1,"{quoted}"\n', f"{HEAD},mistakes")
    assert [d.reason for d in found.dropped] == ["bad_field"]  # type: ignore[attr-defined]


def test_cells_as_people_write_them(tmp_path: Path) -> None:
    found = read(tmp_path, "r,Fill,0:01,00:01:05.5,order: too early; Timing\n", f"{HEAD},mistakes")
    mistakes = (Mistake("order", "too early"), Mistake("timing", ""))
    assert found.objects[0].segments == (Segment("Fill", "Fill", 1.0, 65.5, None, mistakes),)  # type: ignore[attr-defined]


def test_rows_that_differ_about_the_recording_are_told(tmp_path: Path) -> None:
    found = read(tmp_path, "r,A,0,1,tea\nr,B,1,2,soup\n", f"{HEAD},activity_id")
    assert found.objects[0].activity_id == "tea"  # type: ignore[attr-defined]
    assert found.warnings == ("recording 'r': its rows differ in 'activity_id', the first is taken.",)  # type: ignore[attr-defined]


def test_unknown_columns_are_told(tmp_path: Path) -> None:
    found = read(tmp_path, "r,A,0,1,7\n", f"{HEAD},annotator")
    assert any("annotator" in w for w in found.warnings)  # type: ignore[attr-defined]


@pytest.mark.parametrize("head", ["recording_id,start,end", "a,b", "recording_id,text,start,end,start", "{}"])
def test_a_header_that_lacks_columns(tmp_path: Path, head: str) -> None:
    with pytest.raises(UserError) as caught:
        read(tmp_path, "r,A,0,1\n", head)
    assert "recording_id" in str(caught.value)


def test_a_quote_that_never_ends(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a CSV"):
        read(tmp_path, 'r,"A,0,1\n')


def test_a_recording_without_segments_has_a_row(tmp_path: Path) -> None:
    given_ = (Recording("r", "a", "a", ()), Recording("s", "a", "a", (Segment("", "", 0.0, 1.0),)))
    write_table(given_, tmp_path / "a.csv")
    assert read_table(tmp_path / "a.csv").objects == given_


def test_tabs_part_the_cells_of_a_tsv(recordings: tuple[Recording, ...], tmp_path: Path) -> None:
    write_table(recordings, tmp_path / "a.tsv")
    assert (tmp_path / "a.tsv").read_text(encoding="utf-8-sig").startswith("recording_id\tactivity_id\t")
    assert read_table(tmp_path / "a.tsv").objects == recordings


def test_a_workbook_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(b"PK\x03\x04\x14\x00")
    with pytest.raises(UserError, match=r"workbook.*\n  → save a sheet as CSV"):
        read_table(tmp_path / "a.xlsx")
