"""Samples on disk: what a crash cuts is cut off at a whole record, and an index can always be made again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.capture.records import Sample, StreamSpec
from proctor.capture.segments import (
    HEADER,
    SegmentWriter,
    load_index,
    load_vectors,
    read_payload,
    salvage,
    segment_files,
    write_index,
)
from proctor.errors import UserError

SECOND = 10**9


def written(folder: Path, payloads: list[bytes], *, seconds: float = 60.0, close: bool = True) -> None:
    writer = SegmentWriter(folder, seconds=seconds)
    for n, payload in enumerate(payloads):
        writer.add(Sample(n * 100, n * SECOND, payload))
    writer.sync()
    if close:
        writer.close()
    else:
        assert writer._file is not None
        writer._file.close()  # as the system does for a process that is gone: nothing is renamed


def test_samples_come_back_as_they_were(tmp_path: Path) -> None:
    payloads = [bytes([n]) * n for n in range(7)]
    written(tmp_path, payloads, seconds=3)
    index = load_index(tmp_path)
    assert [read_payload(tmp_path, row) for row in index] == payloads
    assert index["seq"].tolist() == list(range(7))
    assert index["device_ns"].tolist() == [n * 100 for n in range(7)]
    assert index["host_ns"].tolist() == [n * SECOND for n in range(7)]
    assert [n for n, _ in segment_files(tmp_path)] == [1, 2, 3]  # a segment lasts at most three seconds


@settings(max_examples=60, deadline=None)
@given(cut=st.integers(0, 400))
def test_a_crash_at_any_byte_keeps_every_whole_sample(
    cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("stream")
    payloads = [bytes([n]) * (n * 3) for n in range(1, 8)]
    written(folder, payloads, close=False)
    (part,) = folder.glob("*.part")
    data = part.read_bytes()
    part.write_bytes(data[: min(cut, len(data))])
    ends = np.cumsum([HEADER.size + len(p) for p in payloads])
    whole = int((ends <= cut).sum())

    lost = salvage(folder)

    assert not list(folder.glob("*.part"))
    assert [read_payload(folder, row) for row in load_index(folder)] == payloads[:whole]
    assert lost == min(cut, len(data)) - (int(ends[whole - 1]) if whole else 0)


def test_a_flipped_bit_ends_the_salvage_before_it(tmp_path: Path) -> None:
    written(tmp_path, [b"one", b"two", b"three"], close=False)
    (part,) = tmp_path.glob("*.part")
    data = bytearray(part.read_bytes())
    data[data.index(b"two")] ^= 1
    part.write_bytes(data)
    salvage(tmp_path)
    assert [read_payload(tmp_path, row) for row in load_index(tmp_path)] == [b"one"]


def test_whoever_comes_after_a_crash_goes_on_counting(tmp_path: Path) -> None:
    written(tmp_path, [b"a", b"b"], close=False)
    writer = SegmentWriter(tmp_path)
    assert writer.seq == 2
    writer.add(Sample(9, 9, b"c"))
    writer.close()
    index = load_index(tmp_path)
    assert index["seq"].tolist() == [0, 1, 2]
    assert index["segment"].tolist() == [1, 1, 2]


@pytest.mark.parametrize("damage", ["gone", "cut", "other", "old", "pickled"])
def test_an_index_that_cannot_be_right_is_made_again(tmp_path: Path, damage: str) -> None:
    written(tmp_path, [b"a", b"b", b"c"])
    right = write_index(tmp_path)
    path = tmp_path / "index.npy"
    if damage == "gone":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:90])
    elif damage == "other":
        np.save(path, np.zeros(3))
    elif damage == "pickled":
        np.save(path, np.array([{}], dtype=object), allow_pickle=True)
    else:
        writer = SegmentWriter(tmp_path)
        writer.add(Sample(3, 3, b"d"))
        writer.close()
        right = np.concatenate([right, load_index(tmp_path)[3:]])
    assert np.array_equal(load_index(tmp_path), right)


def test_vectors_of_several_segments(tmp_path: Path) -> None:
    spec = StreamSpec(name="imu", kind="imu", format="f4", columns=("x", "y"), units=("m/s^2", "m/s^2"))
    rows = np.arange(14, dtype="<f4").reshape(7, 2)
    written(tmp_path, [row.tobytes() for row in rows], seconds=3)
    assert np.array_equal(load_vectors(tmp_path, spec), rows)


def test_a_vector_of_another_width_is_named(tmp_path: Path) -> None:
    spec = StreamSpec(name="imu", kind="imu", format="f4", columns=("x", "y"))
    written(tmp_path, [b"12345678", b"1234"])
    with pytest.raises(UserError, match="sample 1 has 4 bytes"):
        load_vectors(tmp_path, spec)


def test_a_stream_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert len(load_index(tmp_path / "none")) == 0


def test_a_segment_shorter_than_its_index(tmp_path: Path) -> None:
    written(tmp_path, [b"abc", b"def"])
    index = write_index(tmp_path)
    (path,) = tmp_path.glob("*.bin")
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(UserError, match="ends before"):
        read_payload(tmp_path, index[1])
