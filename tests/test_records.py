"""Files in and out: everything that can be wrong with one, and that the old one survives."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.records import (
    Dropped,
    append_jsonl,
    atomic_folder,
    atomic_write,
    canonical_json,
    content_hash,
    decode,
    decode_text,
    file_sha256,
    is_there,
    iter_jsonl,
    read_bytes,
    read_json,
    read_jsonl,
    write_json,
    write_jsonl,
)


class Point(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    x: int
    name: str = ""


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
).filter(lambda v: "\\ud" not in json.dumps(v) and "Infinity" not in json.dumps(v))


def complaint(read: Any) -> UserError:
    with pytest.raises(UserError) as caught:
        read()
    return caught.value


def interrupted_after(_: object) -> None:
    raise KeyboardInterrupt


# -- canonical JSON and hashes ---------------------------------------------------------------------------------


@given(values)
def test_canonical_json_is_json_and_does_not_depend_on_key_order(value: Any):
    data = canonical_json(value)
    assert json.loads(data) == value
    assert canonical_json(json.loads(data)) == data
    if isinstance(value, dict):
        assert canonical_json(dict(reversed(value.items()))) == data


def test_canonical_json_of_structs_and_dicts_is_sorted_and_tight():
    assert canonical_json(Point(1, "é")) == '{"name":"é","x":1}'.encode()
    assert canonical_json({"b": [1, 2.5, None], "a": True}) == b'{"a":true,"b":[1,2.5,null]}'


def test_content_hash_is_the_start_of_the_sha256_of_the_canonical_json():
    # sha256 of '{"a":1,"b":2}', from coreutils
    assert content_hash({"b": 2, "a": 1}) == "43258cff783fe703"
    assert content_hash({"a": 1}) != content_hash({"a": 2})


def test_file_sha256(tmp_path: Path):
    file = tmp_path / "x"
    file.write_bytes(b"abc")
    assert file_sha256(file) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


# -- reading broken files --------------------------------------------------------------------------------------

BROKEN = {
    "empty": (b"", "the file is empty"),
    "blank": (b" \n\t\n", "the file is empty"),
    "only a byte order mark": (b"\xef\xbb\xbf", "the file is empty"),
    "not JSON": (b"hello", "not valid JSON"),
    "truncated": (b'{"x": 1, "na', "not valid JSON"),
    "two documents": (b'{"x": 1}{"x": 2}', "not valid JSON"),
    "NaN": (b'{"x": NaN}', "not valid JSON"),
    "infinity": (b'{"x": Infinity}', "not valid JSON"),
    "too large": (b'{"x": 1e999}', "Number out of range"),
    "wrong type": (b'{"x": "one"}', "Expected `int`, got `str` - at `$.x`"),
    "null": (b'{"x": null}', "Expected `int`, got `null` - at `$.x`"),
    "a list": (b"[1]", "Expected `object`, got `array`"),
    "missing field": (b'{"name": "a"}', "missing required field `x`"),
    "unknown field": (b'{"x": 1, "y": 2}', "unknown field `y`"),
    "not UTF-8": (b'{"x": 1, "name": "\xff"}', "not UTF-8"),
    "UTF-16": ('{"x": 1}'.encode("utf-16"), "not valid JSON"),
    "deep": (b"[" * 100_000, "Expected `object`, got `array`"),
    "deep in a field": (b'{"x": ' + b"[" * 100_000, "Expected `int`, got `array`"),
    "deep in an unknown field": (b'{"z": ' + b"[" * 100_000, "unknown field `z`"),
    "lone surrogate": (b'{"x": 1, "name": "\\ud800"}', "not valid JSON"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_document_is_named_with_what_was_seen(case: str, tmp_path: Path):
    data, seen = BROKEN[case]
    file = tmp_path / "point.json"
    file.write_bytes(data)
    error = complaint(lambda: read_json(file, Point))
    assert error.where == str(file)
    assert seen in error.message
    assert len(str(error)) < 1_000


@pytest.mark.parametrize(
    "case", [c for c in BROKEN if "document" not in c and BROKEN[c][0].strip(b" \n\t\xef\xbb\xbf")]
)
def test_a_broken_line_is_named_with_its_number(case: str, tmp_path: Path):
    data, seen = BROKEN[case]
    file = tmp_path / "points.jsonl"
    file.write_bytes(b'{"x": 1}\n\n' + data + b"\n" + b'{"x": 2}\n')
    lines = iter_jsonl(file, Point)
    assert next(lines) == Point(1)
    error = complaint(lambda: next(lines))
    assert error.where == f"{file}:3"
    assert seen in error.message


def test_a_missing_file_a_folder_a_file_as_folder_and_a_link_to_itself(tmp_path: Path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    file = tmp_path / "file"
    file.touch()
    cases = {
        tmp_path / "no": "no such file",
        tmp_path: "this is a folder",
        file / "below": "cannot be opened: Not a directory",
        loop: "Too many levels of symbolic links",
        tmp_path / ("n" * 300): "File name too long",
    }
    for path, seen in cases.items():
        for read in (read_bytes, read_json, read_jsonl, file_sha256):
            error = complaint(lambda read=read, path=path: read(path))
            assert (error.where, seen in error.message) == (str(path), True)


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"])
def test_names_that_no_file_can_have(name: str, tmp_path: Path):
    for use in (read_bytes, lambda p: write_json(p, 1), lambda p: append_jsonl(p, 1)):
        assert "cannot be the name of a file" in complaint(lambda use=use: use(tmp_path / name)).message
    assert list(tmp_path.iterdir()) == []


def test_a_byte_order_mark_is_skipped(tmp_path: Path):
    file = tmp_path / "x"
    file.write_bytes(b'\xef\xbb\xbf{"x": 1}\n{"x": 2}')
    assert read_jsonl(file, Point) == [Point(1), Point(2)]
    file.write_bytes(b'\xef\xbb\xbf{"x": 1}')
    assert read_json(file, Point) == Point(1)


def test_windows_line_ends_blank_lines_and_a_missing_last_line_end(tmp_path: Path):
    file = tmp_path / "x"
    file.write_bytes(b'{"x": 1}\r\n\r\n  \n{"x": 2}')
    assert read_jsonl(file, Point) == [Point(1), Point(2)]
    file.write_bytes(b"")
    assert read_jsonl(file, Point) == []


def test_a_line_of_50_mb_is_read_and_a_broken_one_is_told_briefly(tmp_path: Path):
    file, long = tmp_path / "x", b"a" * (50 * 2**20)
    file.write_bytes(b'{"x": 1, "name": "' + long + b'"}\n')
    assert len(read_jsonl(file, Point)[0].name) == 50 * 2**20
    for broken in (b'{"x": 1, "name": "' + long, b'{"x": 1, "' + long + b'": 2}', long):
        file.write_bytes(broken)
        assert len(str(complaint(lambda: read_jsonl(file, Point)))) < 1_000


def test_lines_longer_than_the_limit_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("proctor.records._MAX_LINE", 2**20)
    file = tmp_path / "x"
    file.write_bytes(b"1\n" + b" " * (2**20 + 1) + b"2\n")
    error = complaint(lambda: read_jsonl(file))
    assert (error.message, error.where) == ("the line is longer than 1 MB.", f"{file}:2")


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_complained_about(data: bytes):
    with suppress(UserError):
        decode(data, Any, "here")


def test_deep_nesting_is_no_crash():
    for type_ in (Any, list[Any], dict[str, Any]):
        error = complaint(lambda type_=type_: decode(b'[{"a":' * 100_000, type_, "here"))
        assert error.where == "here"


# -- writing ---------------------------------------------------------------------------------------------------


@given(st.lists(values, max_size=5))
def test_lines_come_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, records: list[Any]):
    file = tmp_path_factory.mktemp("lines") / "x.jsonl"
    ticks: list[int] = []
    assert write_jsonl(file, records, seen=lambda: ticks.append(1)) == len(records) == len(ticks)
    assert read_jsonl(file) == records


def test_documents_come_back_and_equal_values_give_equal_bytes(tmp_path: Path):
    a, b = tmp_path / "new" / "folder" / "a", tmp_path / "b"
    write_json(a, {"y": 1, "x": [1]})
    write_json(b, {"x": [1], "y": 1})
    assert a.read_bytes() == b.read_bytes() == b'{\n  "x": [\n    1\n  ],\n  "y": 1\n}\n'
    assert read_json(a) == {"x": [1], "y": 1}


def test_written_files_have_the_rights_that_the_user_wants(tmp_path: Path):
    before = os.umask(0o027)
    try:
        write_json(tmp_path / "x", 1)
    finally:
        os.umask(before)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640


def test_an_error_while_writing_leaves_the_old_file_and_nothing_else(tmp_path: Path):
    file = tmp_path / "x"
    write_json(file, "old")

    def records() -> Any:
        yield 1
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        write_jsonl(file, records())
    with pytest.raises(KeyboardInterrupt), atomic_write(file) as stream:
        interrupted_after(stream.write(b"half"))
    assert read_json(file) == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_what_cannot_be_json_leaves_the_old_file(tmp_path: Path):
    file = tmp_path / "x"
    write_json(file, "old")
    with pytest.raises(TypeError):
        write_jsonl(file, [1, object()])
    assert read_json(file) == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_places_that_cannot_be_written(tmp_path: Path):
    file, loop, folder, link = (tmp_path / name for name in ("file", "loop", "folder", "link"))
    file.write_text("old")
    loop.symlink_to(loop)
    folder.mkdir()
    link.symlink_to(folder)
    (folder / "inside").touch()
    for path in (file / "x", loop / "x", folder, link, Path("/proc/x"), Path("/dev/null/x")):
        for write in (
            lambda p: write_json(p, 1),
            lambda p: write_jsonl(p, [1]),
            lambda p: append_jsonl(p, 1),
        ):
            error = complaint(lambda write=write, path=path: write(path))
            assert error.where == str(path)
            assert "cannot be written" in error.message
            assert error.hint
    assert file.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder", "link", "loop"]
    assert link.is_symlink()
    assert [p.name for p in folder.iterdir()] == ["inside"]


def test_a_long_name_in_another_script_can_be_written(tmp_path: Path):
    file = tmp_path / ("問" * 80 + ".json")  # 245 bytes
    write_json(file, 1)
    assert read_json(file) == 1


def test_appended_records_are_added_at_the_end(tmp_path: Path):
    file = tmp_path / "new" / "x.jsonl"
    append_jsonl(file, Dropped("1", "why"))
    append_jsonl(file, Dropped("2", "why", "because"))
    assert read_jsonl(file, Dropped) == [Dropped("1", "why"), Dropped("2", "why", "because")]
    assert file.read_bytes().splitlines()[0] == b'{"id":"1","reason":"why"}'


# -- when the machine fails ------------------------------------------------------------------------------------


def run(code: str, *args: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, args)], capture_output=True, text=True, timeout=60, check=False
    )


DISK_FULL = """
import resource, sys
from pathlib import Path
from proctor.errors import UserError
from proctor.records import append_jsonl, write_json, write_jsonl
how, path = sys.argv[1], Path(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))  # every file is full at 100 kB
try:
    if how == "json":
        write_json(path, ["x" * 1000] * 1000)
    elif how == "lines":
        write_jsonl(path, ("x" * 1000 for _ in range(1000)))
    else:
        for _ in range(1000):
            append_jsonl(path, "x" * 1000)
except UserError as error:
    print(error)
    sys.exit(2)
"""


@pytest.mark.parametrize("how", ["json", "lines"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(how: str, tmp_path: Path):
    file = tmp_path / "x"
    write_json(file, "old")
    done = run(DISK_FULL, how, file)
    assert (done.returncode, done.stderr) == (2, "")
    assert f"{file}: cannot be written: File too large" in done.stdout
    assert "free space" in done.stdout
    assert read_json(file) == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_full_disk_while_appending_leaves_whole_lines_only(tmp_path: Path):
    file = tmp_path / "x"
    done = run(DISK_FULL, "append", file)
    assert (done.returncode, done.stderr) == (2, "")
    assert "cannot be written: File too large" in done.stdout
    assert read_jsonl(file) == ["x" * 1000] * (100_000 // 1003)
    append_jsonl(file, "more")
    assert read_jsonl(file)[-1] == "more"


KILLED = """
import sys, time
from pathlib import Path
from proctor.records import write_jsonl
def records():
    for n in range(10_000):
        yield "y" * 10_000
        if n == 500:
            print("half-way", flush=True)
            time.sleep(60)
write_jsonl(Path(sys.argv[1]), records())
"""


def test_a_killed_process_leaves_the_old_file(tmp_path: Path):
    file = tmp_path / "x"
    write_json(file, "old")
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(file)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "half-way\n"
        os.kill(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert read_json(file) == "old"
    write_json(file, "new")  # the leftover is in nobody's way
    assert read_json(file) == "new"
    assert all(p.name.startswith(".x.") for p in tmp_path.iterdir() if p != file)


def test_readers_never_see_a_half_written_file(tmp_path: Path):
    file = tmp_path / "x"
    write_jsonl(file, range(20_000))
    code = (
        "import sys\nfrom pathlib import Path\nfrom proctor.records import write_jsonl\n"
        "for _ in range(30): write_jsonl(Path(sys.argv[1]), range(20_000))"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(file)]) as writer:
        reads = 0
        while writer.poll() is None:
            assert file.read_bytes().endswith(b"\n19999\n")
            reads += 1
            time.sleep(0.001)
    assert writer.returncode == 0
    assert reads > 3


# -- folders ---------------------------------------------------------------------------------------------------


def test_a_folder_appears_when_it_is_complete(tmp_path: Path):
    target = tmp_path / "new" / "folder"
    with atomic_folder(target) as work:
        write_json(work / "x", 1)
        assert not target.exists()
    assert read_json(target / "x") == 1
    assert list(target.parent.iterdir()) == [target]


def test_an_empty_folder_is_filled_and_a_full_one_is_left_alone(tmp_path: Path):
    target = tmp_path / "folder"
    target.mkdir()
    with atomic_folder(target) as work:
        (work / "x").touch()
    for taken in (target, target / "x"):
        with pytest.raises(UserError, match="there is something here already"), atomic_folder(taken):
            pytest.fail("must not be entered")
    assert [p.name for p in target.iterdir()] == ["x"]
    assert list(tmp_path.iterdir()) == [target]


def test_an_error_leaves_no_folder(tmp_path: Path):
    with pytest.raises(KeyboardInterrupt), atomic_folder(tmp_path / "folder") as work:
        interrupted_after((work / "x").touch())
    assert list(tmp_path.iterdir()) == []


def test_folders_that_cannot_be_written(tmp_path: Path):
    file, loop = tmp_path / "file", tmp_path / "loop"
    file.touch()
    loop.symlink_to(loop)
    for path in (file / "x", loop, loop / "x", Path("/proc/x"), tmp_path / ("n" * 300)):
        with pytest.raises(UserError) as caught, atomic_folder(path):
            pytest.fail("must not be entered")
        assert caught.value.where == str(path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "loop"]


def test_a_text_is_read_without_its_mark_and_refused_where_it_is_no_utf_8() -> None:
    assert decode_text(b"\xef\xbb\xbfcaf\xc3\xa9\n", "a.txt") == "café\n"
    with pytest.raises(UserError, match="not UTF-8: invalid start byte at byte 1") as caught:
        decode_text(b"a\xff", "a.txt")
    assert (caught.value.where, caught.value.hint) == ("a.txt", "save the file as UTF-8")


def test_links_that_lead_nowhere_or_in_a_circle_are_there(tmp_path: Path) -> None:
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    assert [is_there(tmp_path / name) for name in ("", "nowhere", "circle", "gone", "circle/x")] == [
        True,
        True,
        True,
        False,
        False,
    ]
