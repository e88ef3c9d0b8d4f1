"""The cache of vectors: nothing lost at any byte, nothing returned that was not put."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from proctor.corpus.embed.cache import VectorCache, vector_key
from proctor.errors import UserError

NAME = "tests/model"


def keys(first: int, count: int) -> list[bytes]:
    return [vector_key(f"text {number}", NAME, "passage") for number in range(first, first + count)]


def rows(first: int, count: int, dimension: int = 4) -> NDArray[np.float32]:
    """Row of text n: so many times n + 1, n + 1.5, …; none is like another."""
    base = np.arange(first, first + count, dtype=np.float32)[:, None]
    return base + 1 + np.arange(dimension, dtype=np.float32) / 2


def drawer(folder: Path) -> Path:
    (found,) = [path for path in folder.iterdir() if path.is_dir()]
    return found


def check(folder: Path, count: int, *, at_least: int = 0) -> int:
    """Every vector that is there is right; return how many are."""
    vectors, there = VectorCache(folder).get(NAME, keys(0, count))
    if there.any():
        np.testing.assert_array_equal(vectors[there], rows(0, count)[there])
    assert int(there.sum()) >= at_least
    assert not vectors[~there].any()
    return int(there.sum())


def test_what_was_put_is_there_for_everybody(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "vectors")
    vectors, there = cache.get(NAME, keys(0, 2))
    assert vectors.shape == (2, 0)
    assert not there.any()
    assert cache.dimension(NAME) is None
    cache.put(NAME, keys(0, 3), rows(0, 3))
    for reader in (cache, VectorCache(tmp_path / "vectors")):
        vectors, there = reader.get(NAME, keys(1, 4))
        assert there.tolist() == [True, True, False, False]
        np.testing.assert_array_equal(vectors[:2], rows(1, 2))
        assert not vectors[2:].any()
        assert reader.dimension(NAME) == 4
    cache.put(NAME, keys(3, 2), rows(3, 2))
    assert check(tmp_path / "vectors", 6) == 5


def test_a_reader_sees_what_another_one_writes_later(tmp_path: Path) -> None:
    reader, writer = VectorCache(tmp_path), VectorCache(tmp_path)
    writer.put(NAME, keys(0, 2), rows(0, 2))
    assert reader.get(NAME, keys(0, 2))[1].all()
    writer.put(NAME, keys(2, 2), rows(2, 2))
    vectors, there = reader.get(NAME, keys(0, 4))
    assert there.all()
    np.testing.assert_array_equal(vectors, rows(0, 4))


def test_a_key_that_is_there_keeps_its_row_and_takes_no_space(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    cache.put(NAME, keys(0, 2) + keys(0, 1), np.concatenate([rows(0, 2), rows(7, 1)]))
    size = (drawer(tmp_path) / "rows-00000.f32").stat().st_size
    VectorCache(tmp_path).put(NAME, keys(0, 2), rows(5, 2))
    assert (drawer(tmp_path) / "rows-00000.f32").stat().st_size == size == 2 * 16
    check(tmp_path, 2, at_least=2)


def test_embedders_roles_and_texts_have_keys_of_their_own() -> None:
    parts = [
        ("a", "b", "query"),
        ("a", "b", "passage"),
        ("b", "a", "query"),
        ("ab", "", "query"),
        ("", "ab", "query"),
    ]
    assert len({vector_key(text, name, role) for text, name, role in parts}) == len(parts)
    assert vector_key("\ud800", "m", "query") != vector_key("?", "m", "query")


def test_embedders_do_not_mix(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    cache.put("one", keys(0, 1), rows(0, 1))
    cache.put("two", keys(0, 1), rows(0, 1, 8))
    assert (cache.dimension("one"), cache.dimension("two")) == (4, 8)
    assert not cache.get("three", keys(0, 1))[1].any()


def test_rows_fill_files_of_a_bounded_size(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, shard_bytes=3 * 16)
    cache.put(NAME, keys(0, 2), rows(0, 2))
    cache.put(NAME, keys(2, 8), rows(2, 8))
    sizes = [path.stat().st_size for path in sorted(drawer(tmp_path).glob("rows-*.f32"))]
    assert sizes == [48, 48, 48, 16]
    check(tmp_path, 10, at_least=10)


def test_a_different_dimension_is_refused(tmp_path: Path) -> None:
    VectorCache(tmp_path).put(NAME, keys(0, 1), rows(0, 1))
    with pytest.raises(UserError, match="gives 5 numbers for a text, and gave 4 before"):
        VectorCache(tmp_path).put(NAME, keys(1, 1), rows(1, 1, 5))


def test_nan_is_never_kept(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="NaN"):
        VectorCache(tmp_path).put(NAME, keys(0, 1), np.full((1, 4), np.nan, np.float32))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("version", [0, 2])
def test_another_format_is_refused_by_its_name(tmp_path: Path, version: int) -> None:
    VectorCache(tmp_path).put(NAME, keys(0, 1), rows(0, 1))
    meta = drawer(tmp_path) / "meta.json"
    meta.write_text(json.dumps(json.loads(meta.read_text()) | {"format": version, "more": 1}))
    for act in (lambda c: c.get(NAME, keys(0, 1)), lambda c: c.put(NAME, keys(1, 1), rows(1, 1))):
        with pytest.raises(
            UserError, match=f"of format {version}, and this version of Proctor reads format 1"
        ):
            act(VectorCache(tmp_path))


def test_a_folder_of_another_embedder_is_refused(tmp_path: Path) -> None:
    VectorCache(tmp_path).put(NAME, keys(0, 1), rows(0, 1))
    meta = drawer(tmp_path) / "meta.json"
    meta.write_text(json.dumps(json.loads(meta.read_text()) | {"name": "else"}))
    with pytest.raises(UserError, match="does not hold vectors"):
        VectorCache(tmp_path).get(NAME, keys(0, 1))


def test_a_full_disk_or_a_file_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "vectors").write_text("a file")
    with pytest.raises(UserError, match="cannot be read or written"):
        VectorCache(tmp_path / "vectors").put(NAME, keys(0, 1), rows(0, 1))


# -- interruptions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rows-00000.f32", "index.bin"])
def test_whatever_byte_it_ends_at_the_rest_is_whole_and_work_goes_on(tmp_path: Path, name: str) -> None:
    """Three vectors for good, two more whose writing was cut off: at every byte of their rows and records."""
    VectorCache(tmp_path / "whole").put(NAME, keys(0, 3), rows(0, 3))
    kept = (drawer(tmp_path / "whole") / name).stat().st_size
    VectorCache(tmp_path / "whole").put(NAME, keys(3, 2), rows(3, 2))
    data = (drawer(tmp_path / "whole") / name).read_bytes()
    for size in range(kept, len(data) + 1):
        copy = tmp_path / "copy"
        shutil.copytree(tmp_path / "whole", copy)
        (drawer(copy) / name).write_bytes(data[:size])
        check(copy, 6, at_least=3)
        cache = VectorCache(copy)
        cache.put(NAME, keys(0, 6), rows(0, 6))
        np.testing.assert_array_equal(cache.get(NAME, keys(0, 6))[0], rows(0, 6))
        check(copy, 6, at_least=6)
        shutil.rmtree(copy)


def test_rows_without_records_are_skipped(tmp_path: Path) -> None:
    """A kill between the two: the rows are there, half a row too, and nobody knows of them."""
    VectorCache(tmp_path).put(NAME, keys(0, 2), rows(0, 2))
    with (drawer(tmp_path) / "rows-00000.f32").open("ab") as stream:
        stream.write(b"\x01" * 37)
    check(tmp_path, 4, at_least=2)
    VectorCache(tmp_path).put(NAME, keys(2, 2), rows(2, 2))
    check(tmp_path, 4, at_least=4)


@settings(max_examples=60)
@given(st.integers(0, 5 * 48 - 1), st.integers(1, 255), st.booleans())
def test_a_damaged_byte_costs_one_vector_and_never_gives_a_wrong_one(at: int, flip: int, index: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        VectorCache(folder).put(NAME, keys(0, 5), rows(0, 5))
        file = drawer(folder) / ("index.bin" if index else "rows-00000.f32")
        data = bytearray(file.read_bytes())
        data[at % len(data)] ^= flip
        file.write_bytes(bytes(data))
        assert check(folder, 5) == 4
        cache = VectorCache(folder)
        cache.put(NAME, keys(0, 5), rows(0, 5))
        assert cache.get(NAME, keys(0, 5))[1].all()
        assert check(folder, 5) == 5


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[4])
from test_cache import NAME, keys, rows
from proctor.corpus.embed.cache import VectorCache
folder, first, step = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
cache = VectorCache(folder, shard_bytes=100 * 16)
print("ready", flush=True)
while True:
    cache.put(NAME, keys(first, step), rows(first, step))
    print(first + step, flush=True)
    first += step
    if len(sys.argv) > 5 and first >= int(sys.argv[5]):
        break
"""


def start(folder: Path, first: int, step: int, *more: str) -> subprocess.Popen[str]:
    here = str(Path(__file__).parent)
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), str(first), str(step), here, *more],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_killed_while_it_writes_all_that_was_told_is_there(tmp_path: Path) -> None:
    """SIGKILL at chance moments, run after run in the same folder; what a process said to be kept is kept."""
    rng, said = random.Random(0), 0
    for _ in range(4):
        with start(tmp_path, said, 7) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
            first = writer.stdout.readline()  # at least one chunk
            time.sleep(rng.random() * 0.2)
            os.kill(writer.pid, signal.SIGKILL)
            told = [int(line) for line in [first, *writer.stdout] if line.endswith("\n")]
        assert told
        said = max(said, *told)
        check(tmp_path, said, at_least=said)
    VectorCache(tmp_path, shard_bytes=1600).put(NAME, keys(0, said + 10), rows(0, said + 10))
    check(tmp_path, said + 10, at_least=said + 10)


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    """Their texts overlap by half; each row is right and kept about once."""
    with start(tmp_path, 0, 5, "200") as one, start(tmp_path, 100, 5, "300") as two:
        for writer in (one, two):
            writer.communicate(timeout=120)
            assert writer.returncode == 0
    check(tmp_path, 300, at_least=300)
    sizes = sum(path.stat().st_size for path in drawer(tmp_path).glob("rows-*.f32"))
    assert sizes == 300 * 16
    assert (drawer(tmp_path) / "index.bin").stat().st_size == 300 * 48
