"""Shards: any record, whole or not at all, again and again the same bytes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proctor.compute import HERE, processes, threads
from proctor.corpus.question import CorpusQuestion
from proctor.corpus.source import Source, image_source, table_source, text_source
from proctor.datasets import shards as shards_module
from proctor.datasets.columns import table_of
from proctor.datasets.shards import FORMATS, iter_shards, read_manifest, write_shards
from proctor.errors import UserError
from proctor.procedure.manual import Manual, ManualSection, ManualStep
from proctor.procedure.recording import Mistake, Recording, Segment

pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")


@pytest.fixture(params=FORMATS)
def format(request: pytest.FixtureRequest) -> Any:
    return request.param


def passages(number: int) -> Iterator[Source]:
    for i in range(number):
        yield text_source(
            f"text:{i}", f"Page {i}", f"Body of page {i}.", meta={"n": str(i)} if i % 3 else None
        )


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir())}


# -- every record goes over ----------------------------------------------------------------------------------------

text = st.text(max_size=12)
seconds = st.floats(0, 1e6)
segments = st.builds(
    Segment,
    text,
    text,
    st.none() | seconds,
    st.none() | seconds,
    st.none() | text,
    st.lists(st.builds(Mistake, text, text), max_size=2).map(tuple),
)
records: dict[type, st.SearchStrategy[Any]] = {
    Source: st.one_of(
        st.builds(
            text_source, text, text, text, url=st.none() | text, meta=st.dictionaries(text, text, max_size=3)
        ),
        st.builds(table_source, text, text, st.lists(text), st.lists(st.lists(text, max_size=3), max_size=3)),
        st.builds(image_source, text, text, text, verbalisation=st.none() | text),
    ),
    CorpusQuestion: st.builds(
        CorpusQuestion,
        qid=text,
        question=text,
        answers=st.lists(text, max_size=2).map(tuple),
        modalities=st.tuples(*[st.integers(0, 9)] * 3),
        gold_complete=st.booleans(),
        meta=st.dictionaries(text, text, max_size=2),
    ),
    Recording: st.builds(
        Recording,
        text,
        text,
        text,
        st.lists(segments, max_size=3).map(tuple),
        st.none() | seconds,
        st.none() | text,
        st.dictionaries(text, text, max_size=3),
    ),
}


@pytest.mark.parametrize("type_", records, ids=lambda t: t.__name__)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_records_come_back_as_they_were(type_: Any, format: Any, data: st.DataObject, tmp_path: Path):
    given_ = data.draw(st.lists(records[type_], min_size=1, max_size=6))
    shutil.rmtree(tmp_path / "out", ignore_errors=True)
    manifest = write_shards(given_, tmp_path / "out", type_, format=format, rows=2)
    assert manifest.rows == len(given_)
    assert [s.rows for s in manifest.shards[:-1]] == [2] * (len(manifest.shards) - 1)
    assert list(iter_shards(tmp_path / "out", type_)) == given_


def test_manuals_with_their_nested_mappings_come_back(format: Any, tmp_path: Path):
    sections = (
        ManualSection(0, (ManualStep("0", "Cut", images=("a.jpg",)),), {"text": ((0,), (0,))}),
        ManualSection(1, ()),
    )
    manual = Manual("m", "made", "M", sections, category_paths=(("a", "b"), ()), attributes={"split": "dev"})
    write_shards([manual], tmp_path / "out", Manual, format=format)
    assert list(iter_shards(tmp_path / "out", Manual)) == [manual]


@dataclass
class Several:
    value: str | int


@dataclass
class Mixed:
    values: tuple[int, str] = (1, "a")
    more: Mapping[str, str] = field(default_factory=dict)


@pytest.mark.parametrize("type_", [Several, Mixed, str])
def test_a_type_without_columns_is_refused(type_: Any):
    with pytest.raises(TypeError):
        table_of(type_)


# -- the same bytes, wherever and however often ----------------------------------------------------------------------


def test_the_bytes_are_the_same_wherever_shards_are_encoded(format: Any, tmp_path: Path):
    for name, place in (("here", HERE), ("threads", threads(3)), ("processes", processes(2))):
        write_shards(passages(23), tmp_path / name, Source, format=format, rows=5, place=place)
    here = bytes_of(tmp_path / "here")
    assert sorted(here) == [*(f"data-0000{i}.{format}" for i in range(5)), "manifest.json"]
    assert here == bytes_of(tmp_path / "threads") == bytes_of(tmp_path / "processes")


def test_writing_again_changes_nothing_and_writes_nothing(format: Any, tmp_path: Path):
    out = tmp_path / "out"
    write_shards(passages(11), out, Source, format=format, rows=4)
    before = {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in out.glob("data-*")}
    manifest = (out / "manifest.json").read_bytes()
    write_shards(passages(11), out, Source, format=format, rows=4)
    assert {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in out.glob("data-*")} == before
    assert (out / "manifest.json").read_bytes() == manifest


def test_a_run_that_was_cut_short_goes_on(format: Any, tmp_path: Path):
    def broken() -> Iterator[Source]:
        yield from passages(9)
        raise UserError("the file is broken here.")

    out = tmp_path / "out"
    with pytest.raises(UserError, match="broken here"):
        write_shards(broken(), out, Source, format=format, rows=4)
    assert sorted(p.name for p in out.glob("data-*")) == [f"data-00000.{format}", f"data-00001.{format}"]
    assert not (out / "manifest.json").exists()
    with pytest.raises(UserError):
        list(iter_shards(out, Source))
    times = {p: p.stat().st_mtime_ns for p in out.glob("data-*")}
    write_shards(passages(11), out, Source, format=format, rows=4)
    assert all(p.stat().st_mtime_ns == then for p, then in times.items())
    write_shards(passages(11), tmp_path / "at once", Source, format=format, rows=4)
    assert bytes_of(out) == bytes_of(tmp_path / "at once")


def test_what_is_damaged_or_different_is_written_again(format: Any, tmp_path: Path):
    out = tmp_path / "out"
    write_shards(passages(12), out, Source, format=format, rows=4)
    sound = bytes_of(out)
    (out / f"data-00001.{format}").write_bytes(b"damaged")
    (out / f"data-00002.{format}").unlink()
    write_shards(passages(12), out, Source, format=format, rows=4)
    assert bytes_of(out) == sound
    changed = [msgspec.structs.replace(s, title="New") if s.id == "text:5" else s for s in passages(12)]
    write_shards(changed, out, Source, format=format, rows=4)
    assert list(iter_shards(out, Source)) == changed
    write_shards(passages(3), out, Source, format=format, rows=4)
    assert sorted(bytes_of(out)) == [f"data-00000.{format}", "manifest.json"]
    assert list(iter_shards(out, Source)) == list(passages(3))


def test_what_a_kill_left_half_written_is_removed_and_nothing_else(format: Any, tmp_path: Path):
    write_shards(passages(3), tmp_path, Source, format=format)
    (tmp_path / f".data-00000.{format}.0123456789abcdef.tmp").write_bytes(b"half")
    (tmp_path / f"data-00007.{format}").write_bytes(b"of a run with more records")
    for mine in ("notes.tmp", "data-mine.parquet"):
        (tmp_path / mine).touch()
    write_shards(passages(3), tmp_path, Source, format=format)
    names = {"data-mine.parquet", f"data-00000.{format}", "manifest.json", "notes.tmp"}
    assert set(bytes_of(tmp_path)) == names


def test_progress_that_a_kill_cut_short_is_read_as_far_as_it_goes(tmp_path: Path):
    out = tmp_path / "out"
    with pytest.raises(ZeroDivisionError):
        write_shards((s if i < 9 else 1 / 0 for i, s in enumerate(passages(12))), out, Source, rows=4)  # type: ignore[misc]
    progress = out / ".progress.jsonl"
    progress.write_bytes(progress.read_bytes()[:-20])
    write_shards(passages(12), out, Source, rows=4)
    assert list(iter_shards(out, Source)) == list(passages(12))


def test_huge_records_end_a_shard_early(format: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shards_module, "MAX_PAYLOAD", 10_000)
    monkeypatch.setattr(shards_module, "_TOGETHER", 1)
    huge = [text_source(f"text:{i}", "t", "x" * 6_000) for i in range(5)]
    manifest = write_shards(huge, tmp_path / "out", Source, format=format, rows=100)
    assert [s.rows for s in manifest.shards] == [2, 2, 1]
    assert list(iter_shards(tmp_path / "out", Source)) == huge


def test_records_are_taken_one_shard_at_a_time(tmp_path: Path):
    taken = 0

    def counted() -> Iterator[Source]:
        nonlocal taken
        for source in passages(1_000):
            taken += 1
            yield source

    at: list[int] = []
    write_shards(counted(), tmp_path / "out", Source, rows=100, seen=lambda: at.append(taken))
    assert at[0] <= 200
    assert len(at) == 10


# -- what is refused -------------------------------------------------------------------------------------------------


def test_another_export_and_other_files_are_not_touched(tmp_path: Path):
    out = tmp_path / "out"
    write_shards(passages(3), out, Source, rows=2)
    for other in ({"rows": 3}, {"format": "jsonl"}):
        with pytest.raises(UserError, match="another export is here"):
            write_shards(passages(3), out, Source, **{"rows": 2, **other})  # type: ignore[arg-type]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").touch()
    with pytest.raises(UserError, match=r"something here already \(notes.txt\)"):
        write_shards(passages(3), tmp_path / "mine", Source)
    with pytest.raises(UserError, match="no folder"):
        write_shards(passages(3), tmp_path / "mine" / "notes.txt", Source)


def test_nothing_is_not_written(tmp_path: Path):
    with pytest.raises(UserError, match="no record"):
        write_shards([], tmp_path / "out", Source)
    with pytest.raises(UserError, match="0 rows"):
        write_shards(passages(1), tmp_path / "out", Source, rows=0)
    with pytest.raises(UserError, match="no format"):
        write_shards(passages(1), tmp_path / "out", Source, format="csv")  # type: ignore[arg-type]


def test_a_folder_that_is_broken_is_told_when_it_is_read(format: Any, tmp_path: Path):
    out = tmp_path / "out"
    write_shards(passages(6), out, Source, format=format, rows=4)
    with pytest.raises(UserError, match="holds Source records, not Recording"):
        list(iter_shards(out, Recording))
    last = out / f"data-00001.{format}"
    last.write_bytes((out / f"data-00000.{format}").read_bytes())
    with pytest.raises(UserError, match="4 rows, the manifest says 2"):
        list(iter_shards(out, Source))
    last.write_bytes(b"hello")
    with pytest.raises(UserError, match="data-00001"):
        list(iter_shards(out, Source))
    last.unlink()
    with pytest.raises(UserError, match="no such file"):
        list(iter_shards(out, Source))


@pytest.mark.parametrize("path", ["../x.parquet", "/etc/passwd", "a/b", "a\x00"])
def test_a_manifest_names_files_of_its_folder_only(path: str, tmp_path: Path):
    write_shards(passages(1), tmp_path, Source, format="jsonl")
    manifest = msgspec.json.decode((tmp_path / "manifest.json").read_bytes())
    manifest["shards"][0]["path"] = path
    (tmp_path / "manifest.json").write_bytes(msgspec.json.encode(manifest))
    with pytest.raises(UserError, match="a file's name"):
        read_manifest(tmp_path)


def test_pandas_like_readers_see_plain_columns(tmp_path: Path):
    import pyarrow.parquet as parquet

    write_shards(passages(2), tmp_path, Source)
    table = parquet.read_table(tmp_path / "data-00000.parquet")
    assert table.column("title").to_pylist() == ["Page 0", "Page 1"]
    assert table.column("meta").to_pylist() == [None, [{"name": "n", "value": "1"}]]
