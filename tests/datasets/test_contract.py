"""One contract for every registered reader, ours and those of plugins."""

from __future__ import annotations

import inspect
import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from proctor.datasets import dataset as dataset_module
from proctor.datasets.dataset import (
    Corrections,
    Dataset,
    Finding,
    ReadResult,
    dataset_names,
    load_dataset,
)
from proctor.errors import UserError
from proctor.procedure.recording import MISTAKE_KINDS
from proctor.records import canonical_json

NAMES = dataset_names()
MODES: tuple[Any, ...] = get_args(Corrections)


def place_of(name: str, request: pytest.FixtureRequest) -> Path:
    """A folder that the reader can read; skips where there is none."""
    if name == "plain":
        return Path(request.getfixturevalue("tests_data")) / "plain_valid"
    folder = Path(request.getfixturevalue("shared_data")) / name
    if not folder.is_dir():
        pytest.skip(f"there are no data of {name} here")
    return folder


@pytest.fixture(params=NAMES)
def dataset(request: pytest.FixtureRequest) -> Dataset:
    return load_dataset(request.param)


@pytest.fixture
def folder(dataset: Dataset, request: pytest.FixtureRequest) -> Path:
    return place_of(dataset.name, request)


@pytest.fixture(params=MODES)
def result(dataset: Dataset, folder: Path, request: pytest.FixtureRequest) -> ReadResult:
    return dataset.read(folder, request.param)


# -- the declaration -------------------------------------------------------------------------------------------


def test_ours_are_registered():
    assert {"captaincook4d", "plain"} <= set(NAMES)


def test_the_declaration_says_everything(dataset: Dataset):
    assert dataset.name in NAMES
    for said in ("title", "version", "licence", "citation", "homepage"):
        assert getattr(dataset, said).strip(), said
    assert dataset.files
    assert any(f.required for f in dataset.files)
    for file in dataset.files:
        assert file.what.strip()
        assert not Path(file.path).is_absolute()
        assert ".." not in Path(file.path).parts
        assert file.sha256 is None or len(bytes.fromhex(file.sha256)) == 32
    assert len({f.path for f in dataset.files}) == len(dataset.files)


def test_read_and_check_take_what_the_contract_says(dataset: Dataset):
    inspect.signature(dataset.read).bind(Path("x"), "published")
    inspect.signature(dataset.check).bind(Path("x"))


def test_folders_that_are_none_are_refused_with_their_place(dataset: Dataset, tmp_path: Path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    for name in ("nowhere", "empty", "file", "loop"):
        for use in (dataset.check, *(lambda root, mode=mode: dataset.read(root, mode) for mode in MODES)):
            with pytest.raises(UserError) as caught:
                use(tmp_path / name)
            assert caught.value.where is not None
            assert caught.value.where.startswith(str(tmp_path / name))
    assert list((tmp_path / "empty").iterdir()) == []


# -- what reading returns --------------------------------------------------------------------------------------


def test_recordings_and_graphs_belong_together(result: ReadResult):
    assert result.recordings
    ids = [r.id for r in result.recordings]
    assert len(set(ids)) == len(ids)
    assert all(key == graph.id for key, graph in result.graphs.items())
    for recording in result.recordings:
        graph = result.graphs[recording.activity_id]
        assert recording.activity_name.strip()
        assert recording.segments
        for segment in recording.segments:
            assert segment.step_id in graph
            assert segment.step_id not in (graph.start, graph.end)
            assert segment.text.strip()


def test_segments_keep_the_conventions_of_times(result: ReadResult):
    for recording in result.recordings:
        starts = [-1.0 if s.start is None else s.start for s in recording.segments]
        assert starts == sorted(starts), recording.id
        for segment in recording.segments:
            assert (segment.start is None) == (segment.end is None)
            if segment.start is not None and segment.end is not None:
                assert 0 <= segment.start < segment.end < math.inf
        assert recording.duration is None or 0 < recording.duration < math.inf


def test_mistakes_have_known_or_named_kinds_and_attributes_are_texts(result: ReadResult):
    kinds = {m.kind for r in result.recordings for s in r.segments for m in s.mistakes}
    assert kinds & set(MISTAKE_KINDS)
    assert all(kind == kind.strip() and kind for kind in kinds)
    for recording in result.recordings:
        assert all(isinstance(v, str) for v in recording.attributes.values())
        if recording.video is not None:
            assert not Path(recording.video).is_absolute()
            assert ".." not in Path(recording.video).parts


def test_ids_can_be_parts_of_file_names_and_of_clip_names(result: ReadResult):
    clips = {f"{r.id}_{i}" for r in result.recordings for i in {s.step_id for s in r.segments}}
    assert len(clips) == sum(len({s.step_id for s in r.segments}) for r in result.recordings)
    for name in clips:
        assert "/" not in name
        assert name.isprintable()


def test_everything_that_was_changed_or_dropped_is_told_with_a_reason(result: ReadResult):
    ids = {r.id for r in result.recordings}
    for correction in result.corrections:
        assert correction.recording_id in ids
        assert correction.rule
        assert correction.reason
    for dropped in result.dropped:
        assert dropped.reason
        assert dropped.id not in ids
    assert result.counts
    assert all(isinstance(n, int) and n >= 0 for n in result.counts.values())


def test_reading_twice_gives_equal_bytes_and_touches_nothing(dataset: Dataset, folder: Path):
    before = snapshot(folder)
    for mode in MODES:
        once, again = dataset.read(folder, mode), dataset.read(folder, mode)
        assert canonical_json(once.recordings) == canonical_json(again.recordings)
        assert once == again
    dataset.check(folder)
    assert snapshot(folder) == before


def snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(p): (p.stat().st_size, p.stat().st_mtime_ns) for p in folder.rglob("*")}


def test_findings_name_rule_place_and_what_was_seen(dataset: Dataset, folder: Path):
    findings = dataset.check(folder)
    assert findings == dataset.check(folder)
    for finding in findings:
        assert isinstance(finding, Finding)
        assert finding.rule
        assert finding.where
        assert finding.seen


# -- every file that is read may be broken ---------------------------------------------------------------------

DAMAGE = {
    "missing": None,
    "empty": b"",
    "no JSON": b"hello",
    "wrong shape": b"[[[1]]]",
    "a number": b"7",
    "not UTF-8": b'{"a": "\xff\xfe"}',
    "NaN": b'{"a": NaN}',
    "deep": b"[" * 50_000,
    "a huge line": b'{"a": "' + b"x" * (2 * 2**20) + b'"}',
    "a folder": ...,
    "a link to itself": "loop",
}


KNOWN_GAPS: dict[tuple[str, str], str] = {}
"""Gaps of a reader that are known; each is a strict xfail, so that mending it shows here."""


def files_of(dataset: Dataset, folder: Path) -> Iterator[tuple[str, bool]]:
    """One file of every declared pattern: its path and whether it has to be there."""
    for file in dataset.files:
        found = sorted(p for p in folder.glob(file.path) if p.is_file())
        if found:
            only_one = len(found) == 1
            yield str(found[0].relative_to(folder)), file.required and only_one


def damaged(folder: Path, path: str, damage: Any, target: Path) -> Path:
    """A folder of links to the annotations of another one and copies of the rest, a single file apart."""
    for file in (p for p in folder.rglob("*") if p.is_file()):
        relative = file.relative_to(folder)
        (target / relative).parent.mkdir(parents=True, exist_ok=True)
        if str(relative) == path:
            continue
        if file.suffix in (".json", ".jsonl", ".csv"):
            (target / relative).symlink_to(file.resolve())
        else:
            shutil.copy(file, target / relative)
    broken = target / path
    if damage is ...:
        broken.mkdir()
    elif damage == "loop":
        broken.symlink_to(broken)
    elif damage is not None:
        broken.write_bytes(damage)
    return target


@pytest.mark.parametrize("case", [*DAMAGE, "truncated"])
def test_a_broken_file_is_named_in_a_message_for_users(
    case: str, dataset: Dataset, folder: Path, tmp_path: Path, request: pytest.FixtureRequest
):
    if gap := KNOWN_GAPS.get((dataset.name, case)):
        request.applymarker(pytest.mark.xfail(reason=gap, strict=True))
    for number, (path, required) in enumerate(files_of(dataset, folder)):
        original = (folder / path).read_bytes()
        damage = original[: len(original) // 2].rstrip() if case == "truncated" else DAMAGE[case]
        root = damaged(folder, path, damage, tmp_path / str(number))
        harmless = path.endswith(".csv") or (damage is None and not required)
        for use in (dataset.check, lambda root: dataset.read(root, "published")):
            try:
                use(root)
            except UserError as error:
                text = str(error)
                assert str(root) in text
                assert len(text) < 5_000, path
                if damage is not None:
                    assert Path(path).name in text, path
            else:
                assert harmless, f"{path} was read although it is damaged: {case}"


# -- the registry ----------------------------------------------------------------------------------------------


def test_an_unknown_name_is_told_with_the_known_ones():
    with pytest.raises(UserError, match="no data set 'captaincook5d'") as caught:
        load_dataset("captaincook5d")
    assert caught.value.hint is not None
    assert "captaincook4d" in caught.value.hint


@pytest.mark.parametrize("what", ["not a dataset", "does not load"])
def test_a_broken_plugin_is_the_users_to_mend(what: str, monkeypatch: pytest.MonkeyPatch):
    def load() -> object:
        if what == "does not load":
            raise ImportError("no module named 'gone'")
        return object()

    plugin = SimpleNamespace(name="mine", load=load)
    monkeypatch.setattr(dataset_module, "entry_points", lambda group: [plugin])
    with pytest.raises(UserError, match="plugin of data set 'mine' does not"):
        load_dataset("mine")


def test_required_files_and_changed_checksums(tmp_path: Path):
    import hashlib

    from proctor.datasets.dataset import DataFile

    declared = Dataset(
        name="x",
        title="Example",
        version="1",
        licence="MIT",
        citation="c",
        homepage="https://example.org",
        files=(
            DataFile("a.json", "a", hashlib.sha256(b"1").hexdigest()),
            DataFile("b/*.json", "b"),
            DataFile("c.json", "c", hashlib.sha256(b"3").hexdigest(), required=False),
        ),
        read=lambda root, corrections: ReadResult((), {}),
        check=lambda root: (),
    )
    (tmp_path / "a.json").write_bytes(b"1")
    with pytest.raises(UserError, match=r"not a Example folder: b/\*\.json missing") as caught:
        declared.require_files(tmp_path)
    assert "https://example.org" in str(caught.value)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x.json").touch()
    declared.require_files(tmp_path)
    assert declared.changed_files(tmp_path) == ()
    (tmp_path / "a.json").write_bytes(b"2")
    assert declared.changed_files(tmp_path) == ("a.json",)
