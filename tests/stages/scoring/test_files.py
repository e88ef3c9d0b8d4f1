import gzip
import json

import numpy as np
import pytest

from proctor.errors import UserError
from proctor.metrics.errors import MetricInputError
from proctor.stages.scoring.files import explained, read_json_document, read_table, some_names

CSV = "video-id,t-start,label\na,1.5,7\n\nb,2,8\n"


def write(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_the_same_rows_from_every_kind(tmp_path):
    rows = [{"video-id": "a", "t-start": 1.5, "label": 7}, {"video-id": "b", "t-start": 2, "label": 8}]
    files = {
        "a.csv": CSV,
        "a.tsv": CSV.replace(",", "\t"),
        "a.jsonl": "\n".join(map(json.dumps, rows)),
        "a.json": json.dumps(rows),
        "a.csv.gz": gzip.compress(CSV.encode(), mtime=0),
        "bom.csv": b"\xef\xbb\xbf" + CSV.encode(),
    }
    for name, text in files.items():
        table = read_table(write(tmp_path, name, text), required=["label"])
        assert table.texts("video_id", "video-id") == ["a", "b"]
        assert table.numbers("t-start").tolist() == [1.5, 2.0]
        assert table.integers("label").tolist() == [7, 8]
        assert table.texts("label") == ["7", "8"]


def test_unnamed_index_columns_of_pandas_are_left_out(tmp_path):
    table = read_table(write(tmp_path, "a.csv", ",x\n0,1\n1,2\n"))
    assert list(table.columns) == ["x"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "x,y\n1,nan\n", "line 2, column 'y': a finite number was expected, got 'nan'"),
        ("a.csv", "x,y\n1,inf\n", "finite"),
        ("a.csv", "x,y\n1,\n", "line 2, column 'y': the number is missing"),
        ("a.csv", "x,y\n1,abc\n", "a number was expected, got 'abc'"),
        ("a.csv", "x,y\n1\n", "line 2: 1 values for 2 columns"),
        ("a.csv", "x,x\n1,2\n", "occurs twice"),
        ("a.csv", "x,z\n1,2\n", "no column 'y'; the columns are 'x', 'z'"),
        ("a.csv", "", "must name the columns"),
        ("a.csv", "x,y\n", "no rows"),
        ("a.csv", b"x,y\n\xff,1\n", "line 2: not UTF-8"),
        ("a.csv", 'x,y\n"1,2\n', "not a valid table"),
        ("a.json", "{}", "an array of objects was expected, got an object"),
        ("a.json", "[1]", "element 1: an object was expected, got a number"),
        ("a.json", "[]", "no rows"),
        ("a.json", '[{"y": 1}', "a.json"),
        ("a.json", '[{"y": true}]', "element 1, column 'y': a number was expected, got True"),
        ("a.json", '[{"y": [1]}]', "a number was expected"),
        ("a.jsonl", '{"y": 1}\n{"x": 1}\n', "line 2, column 'y': the number is missing"),
        ("a.jsonl", '{"y": 1}\n{"y"', "line 2"),
        ("a.xlsx", "x", "a table ends in .csv"),
        ("a.csv.gz", b"\x1f\x8bxx", "gzip file is broken"),
        ("a.csv.gz", gzip.compress(CSV.encode(), mtime=0)[:-9], "gzip file is broken"),
    ],
)
def test_bad_files_say_what_and_where(tmp_path, name, text, message):
    with pytest.raises(UserError) as error:
        read_table(write(tmp_path, name, text)).numbers("y")
    assert message in str(error.value)
    assert name in str(error.value)


def test_missing_file_and_folder(tmp_path):
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(UserError):
            read_table(path)
    with pytest.raises(UserError):
        read_json_document(tmp_path / "none.json")


def test_integers_flags_texts_and_lists(tmp_path):
    table = read_table(
        write(
            tmp_path,
            "a.jsonl",
            '{"i": 2.0, "f": "Yes", "l": ["a"], "s": 3.0}\n{"i": 3, "f": 0, "l": "b|c", "s": true}',
        )
    )
    assert table.integers("i").dtype == np.int64
    assert table.flags("f").tolist() == [True, False]
    assert table.lists("l") == [["a"], ["b", "c"]]
    assert table.texts("s") == ["3", "true"]
    for name, text, method in [
        ("i.csv", "x\n1.5\n", "integers"),
        ("f.csv", "x\nmaybe\n", "flags"),
        ("l.jsonl", '{"x": 3}', "lists"),
        ("t.jsonl", '{"x": [3]}', "texts"),
        ("e.csv", 'x,y\n"",1\n', "texts"),
    ]:
        with pytest.raises(UserError, match="x"):
            getattr(read_table(write(tmp_path, name, text)), method)("x")


def test_a_list_in_a_cell_of_csv_may_be_json(tmp_path):
    table = read_table(write(tmp_path, "a.csv", 'x\n"[""a"", ""b|c""]"\na|b\n[oops\n'))
    assert table.lists("x") == [["a", "b|c"], ["a", "b"], ["[oops"]]


def test_metric_errors_get_the_file_in_front():
    with pytest.raises(UserError) as error, explained("gt.csv"):
        raise MetricInputError("there is no ground truth", "check --subset")
    assert str(error.value).startswith("gt.csv: there is no ground truth.")
    assert "check --subset" in str(error.value)
    with pytest.raises(ValueError, match="bug"), explained("gt.csv"):
        raise ValueError("bug")


def test_huge_values_are_quoted_shortened(tmp_path):
    path = write(tmp_path, "a.csv", "x\n" + "z" * 10_000_000 + "\n")
    with pytest.raises(UserError) as error:
        read_table(path).numbers("x")
    assert len(str(error.value)) < 400


def test_messages_name_some_of_many():
    assert some_names([]) == ""
    assert some_names({"b": 1, "a": 2}) == "'a', 'b'"
    assert some_names("dcba") == "'a', 'b', 'c', …"


@pytest.mark.parametrize(
    "cell", ["d1,x,d2", "d1 x d2", "d1;x;d2", "d1\tx", "['d1', 'x']", "['d1']", '"d1"', "[d1", "{'d1'}"]
)
def test_a_text_that_is_no_list_of_ids_is_refused(tmp_path, cell):
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({"ids": cell}) + "\n")
    with pytest.raises(UserError, match=r"line 1, column 'ids': a list of ids was expected, got .*"):
        read_table(path).id_lists("ids")


@pytest.mark.parametrize(
    ("cell", "ids"),
    [
        ("d1|x |d2", ["d1", "x", "d2"]),
        ("d1", ["d1"]),
        ('["a, b"]', ["a, b"]),
        ("a, b|c", ["a, b", "c"]),
        ("", []),
    ],
)
def test_lists_of_ids(tmp_path, cell, ids):
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({"ids": cell}) + "\n")
    assert read_table(path).id_lists("ids") == [ids]
