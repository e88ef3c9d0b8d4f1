"""Rows, cells and documents of annotation files: what is read, dropped, told and refused."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.datasets.annotation_rows import (
    MAX_BAD_ROWS,
    ROW_RULES,
    is_there,
    iter_rows,
    load_object,
    number_from,
    option_fps,
    shown,
    text_from,
    token_from,
    whole_from,
)
from proctor.datasets.dataset import Log
from proctor.errors import UserError


@pytest.fixture
def write(tmp_path: Path):
    def write(data: bytes | str, name: str = "a.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    return write


def read(path: Path, cells=(3, 3), **more) -> tuple[list[tuple[int, list[str]]], Log]:
    log = Log()
    return list(iter_rows(path, log, "a", cells=cells, **more)), log


# -- values ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (7, 7.0),
        (1.5, 1.5),
        ("7", 7.0),
        (" 7.25 ", 7.25),
        ("-1", -1.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("inf", math.inf),
        ("-Infinity", -math.inf),
        ("1e999", math.inf),
        (10**400, math.inf),
        (-(10**400), -math.inf),
    ],
)
def test_numbers(value: object, number: float):
    assert number_from(value) == number


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        "",
        "x",
        "1_000",
        "٣",
        "1,5",
        "0x10",
        "1 2",
        [],
        {},
        b"1",
        "1" * 20 + "x",
        "9" * 100_000 + "x",
    ],
)
def test_no_numbers(value: object):
    assert number_from(value) is None


def test_nan_is_a_number_to_be_refused_by_who_asks():
    found = number_from("nan")
    assert found is not None
    assert math.isnan(found)
    assert whole_from("nan") is None


@pytest.mark.parametrize(
    ("value", "number"), [("3", 3), ("3.0", 3), (3.0, 3), (0, 0), ("-2", -2), ("1e2", 100)]
)
def test_whole_numbers(value: object, number: int):
    assert whole_from(value) == number


@pytest.mark.parametrize("value", ["3.5", "inf", True, None, "9" * 400, 2**53 + 2, "x"])
def test_no_whole_numbers(value: object):
    assert whole_from(value) is None


@pytest.mark.parametrize(
    "value",
    [None, "", "  ", "\ud800", 7.5, True, "a/b", "a\\b", "x" * 201, "a\x00b", "a\nb", ".", "..", [], 10**18],
)
def test_what_no_id_can_be(value: object):
    assert token_from(value) is None


def test_ids_are_texts_or_whole_numbers():
    assert [token_from(v) for v in ("a b", 7, -7, " x ", "ä", "x" * 200)] == [
        "a b",
        "7",
        "-7",
        "x",
        "ä",
        "x" * 200,
    ]


def test_texts_say_something_and_can_be_written():
    assert [text_from(v) for v in (" a ", "", " \n", "\ud800", 7, None)] == [
        "a",
        None,
        None,
        None,
        None,
        None,
    ]


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists))
def test_values_are_taken_or_refused_and_can_be_shown(value: object):
    text, token, number = text_from(value), token_from(value), number_from(value)
    assert text is None or text.encode()
    assert token is None or (token.isprintable() and 0 < len(token) <= 200)
    assert number is None or isinstance(number, float)
    said = shown(value)
    assert len(said) <= 121
    assert said.encode()


def test_long_values_are_shown_in_short():
    assert len(shown("x" * 10**7)) == 121
    assert shown("\ud800") == "'\\ud800'"


@pytest.mark.parametrize("given", ["0", "-30", "nan", "inf", "x", "", "1001", "30fps", "٣"])
def test_frame_rates_that_are_none(given: str):
    with pytest.raises(UserError, match="fps is") as caught:
        option_fps(given, 30.0)
    assert caught.value.hint is not None


def test_frame_rates():
    assert option_fps(None, 30.0) == 30.0
    assert option_fps("29.97", 30.0) == 29.97


# -- rows --------------------------------------------------------------------------------------------------------


def test_rows_have_their_line_numbers_and_no_spaces_around(write):
    rows, log = read(write("a, b ,c\n\n  \nd,e,f\n"))
    assert rows == [(1, ["a", "b", "c"]), (4, ["d", "e", "f"])]
    assert log.dropped == []
    assert [(f.rule, f.where, f.seen) for f in log.findings] == [
        ("blank-line", "a", "2, the first is line 2")
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_of_all_systems(write, end: str):
    rows, _ = read(write(f"a,b,c{end}d,e,f{end}"))
    assert [cells for _, cells in rows] == [["a", "b", "c"], ["d", "e", "f"]]


def test_quotes_part_no_cells_and_a_lone_one_costs_its_line_only(write):
    rows, log = read(write('a,"b, b",c\nd,"e,f\ng,h,i\n'))
    assert [cells for _, cells in rows] == [["a", "b, b", "c"], ["g", "h", "i"]]
    assert [(d.id, d.reason) for d in log.dropped] == [("a:2", "bad-row")]


def test_rows_of_other_lengths_are_told(write):
    rows, log = read(write("a,b\nc,d,e,f\ng,h,i,,\n"), cells=(3, 3))
    assert [cells for _, cells in rows] == [["g", "h", "i"]]
    assert [d.id for d in log.dropped] == ["a:1", "a:2"]
    assert "'a,b'" in log.dropped[0].detail


def test_a_header_is_passed_over_and_told_in_the_first_row_only(write):
    rows, log = read(write("start,end,x\n1,2,3\nstart,4,5\n"), header=lambda cell: cell == "start")
    assert [line for line, _ in rows] == [2, 3]
    assert [(f.rule, f.where) for f in log.findings] == [("header", "a")]


def test_tabs_and_marks(write):
    rows, _ = read(write(b"\xef\xbb\xbfa\tb, b\tc\n"), delimiter="\t")
    assert rows == [(1, ["a", "b, b", "c"])]
    rows, _ = read(write("a,b,ü\n".encode("utf-16")))
    assert rows == [(1, ["a", "b", "ü"])]


@pytest.mark.parametrize("data", [b"", b" \n\n", b"\xef\xbb\xbf"])
def test_an_empty_file_has_no_rows(write, data: bytes):
    rows, log = read(write(data))
    assert rows == log.dropped == []
    assert {f.rule for f in log.findings} <= {"blank-line"}


def test_files_that_are_no_text_are_refused_by_name(write, tmp_path: Path):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    paths = [write(b"a,b,\xff\n"), tmp_path / "none.csv", tmp_path / "folder.csv", tmp_path / "loop.csv"]
    for path in paths:
        with pytest.raises(UserError) as caught:
            read(path)
        assert path.name in str(caught.value)


def test_a_file_of_another_kind_is_refused_before_it_fills_the_list_of_drops(write):
    with pytest.raises(UserError, match=f"{MAX_BAD_ROWS:,} lines make no sense") as caught:
        read(write("x\n" * 50_000))
    assert "right file" in str(caught.value)
    _, log = read(write("x\n" * (MAX_BAD_ROWS - 1)))
    assert len(log.dropped) == MAX_BAD_ROWS - 1


def test_a_very_long_line_is_one_line_that_makes_no_sense(write):
    rows, log = read(write(b"1,2,3\n" + b"x" * 3_000_000 + b",2,3\n4,5,6\n"))
    assert [cells[0] for _, cells in rows] == ["1", "4"]
    assert len(log.dropped) == 1
    assert len(log.dropped[0].detail) < 200


@given(st.binary(max_size=200))
def test_any_bytes_give_rows_drops_or_a_user_error(tmp_path_factory: pytest.TempPathFactory, data: bytes):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(data)
    log = Log()
    found = iter_rows(path, log, "a", cells=(2, 4))
    try:
        data.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError:
        if data[:2] not in (b"\xff\xfe", b"\xfe\xff"):
            with pytest.raises(UserError, match=r"any\.csv"):
                next(found, None)
        return
    assert all(2 <= len(cells) <= 4 for _, cells in found)
    assert {d.reason for d in log.dropped} <= set(ROW_RULES)


# -- documents ---------------------------------------------------------------------------------------------------


def test_the_object_and_its_document_are_given_and_repeated_keys_told(write):
    log = Log()
    path = write('{"database": {"v": {"c": 2, "c": 3}}, "more": NaN}', "a.json")
    document, database = load_object(path, log, "database")
    assert database is document["database"]
    assert database == {"v": {"c": 2}}
    assert math.isnan(document["more"])  # one bad number must not cost the file
    assert [(d.reason, d.id) for d in log.dropped] == [("repeated-key", "c")]


@pytest.mark.parametrize("data", ["7", "[]", "null", "{}", '{"database": []}', '{"Database": {}}'])
def test_documents_without_their_object_are_refused(write, data: str):
    with pytest.raises(UserError, match="no object 'database'"):
        load_object(write(data, "a.json"), Log(), "database")


def test_a_broken_link_is_there(tmp_path: Path):
    (tmp_path / "loop").symlink_to("loop")
    assert is_there(tmp_path / "loop")
    assert not is_there(tmp_path / "none")
