"""JSON as releases have it: nothing hidden, nothing but a ``UserError`` when it cannot be read."""

from __future__ import annotations

import json
import math
import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.datasets.dataset import Log
from proctor.datasets.json_files import decode_json, read_json_document
from proctor.errors import UserError

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
documents = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


@given(documents)
def test_what_is_written_is_read(value: object):
    found = decode_json(json.dumps(value).encode(), "here")
    assert found.value == value
    assert not found.repeated


@given(st.binary(max_size=200))
def test_bytes_give_a_value_or_help(data: bytes):
    with suppress(UserError):
        decode_json(data, "here")


def test_of_a_key_that_occurs_twice_the_first_counts_and_the_order_stays():
    found = decode_json(b'{"a": 1, "b": {"x": 1, "x": 2, "x": 3}, "a": 4, "c": 5}', "here")
    assert found.value == {"a": 1, "b": {"x": 1}, "c": 5}
    assert list(found.value) == ["a", "b", "c"]
    assert found.repeated == {"a": 1, "x": 2}


def test_repeated_keys_are_told_as_drops():
    log = Log()
    decode_json(b'{"a\\n\\ud800": 1, "a\\n\\ud800": 2, "": 3, "": 4}', "here").tell_repeated(log, "x.json")
    assert [(d.id, d.reason) for d in log.dropped] == [("a??", "repeated-key"), ("(empty)", "repeated-key")]
    assert all(d.detail.startswith("x.json: 1 more") for d in log.dropped)


def test_numbers_that_are_none_are_left_to_the_reader():
    value = decode_json(b"[NaN, Infinity, -Infinity, 1e999]", "here").value
    assert math.isnan(value[0])
    assert value[1:] == [math.inf, -math.inf, math.inf]


def test_a_byte_order_mark_is_left_out():
    assert decode_json(b"\xef\xbb\xbf[1]", "here").value == [1]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b" \n\t", "the file is empty"),
        (b"\xef\xbb\xbf", "the file is empty"),
        (b"\xff\xfe[\x001\x00]\x00", "not UTF-8: invalid start byte at byte 0"),
        (b'["caf\xe9"]', "not UTF-8"),
        ("[1]".encode("utf-16-le"), "not valid JSON"),
        (b'{"a": 1', "not valid JSON: .* in line 1, column 8"),
        (b"[1]\n[2]", "not valid JSON: Extra data in line 2, column 1"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested too deeply"),
        (b"9" * 5_000, "not readable as JSON"),
        (b'["' + b"x" * 1_000_000, "not valid JSON"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(data: bytes, message: str):
    with pytest.raises(UserError, match=message) as caught:
        decode_json(data, "file.json")
    assert caught.value.where == "file.json"
    assert caught.value.hint
    assert len(str(caught.value)) < 1_000
    assert str(caught.value).isascii() or "→" in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path):
    (tmp_path / "loop").symlink_to("loop")
    for place in (tmp_path, tmp_path / "nowhere", tmp_path / "loop"):
        with pytest.raises(UserError) as caught:
            read_json_document(place)
        assert caught.value.where == str(place)


def test_a_file_that_would_fill_the_memory_is_refused_before_it_is_read(tmp_path: Path):
    with (tmp_path / "huge.json").open("wb") as stream:
        stream.truncate(2**30)  # takes no room
    with pytest.raises(UserError, match="larger than 256 MB") as caught:
        read_json_document(tmp_path / "huge.json")
    assert caught.value.where == str(tmp_path / "huge.json")


def test_pipes_and_devices_are_refused_and_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    for name in ("pipe.json", "zero.json"):
        with pytest.raises(UserError, match=r"this is a (pipe|device)") as caught:
            read_json_document(tmp_path / name)
        assert caught.value.where == str(tmp_path / name)
