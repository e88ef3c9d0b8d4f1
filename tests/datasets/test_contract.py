"""One contract for every registered reader, ours and those of plugins."""

from __future__ import annotations

import inspect
import math
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from proctor.datasets import dataset as dataset_module
from proctor.datasets.dataset import (
    Corrections,
    Dataset,
    Finding,
    Log,
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
    """A folder that the reader can read: one made by hand, else real data; skips where there is none."""
    by_hand = Path(request.getfixturevalue("tests_data"))
    if name == "plain":
        return by_hand / "plain_valid"
    if (by_hand / "datasets" / name).is_dir():
        return by_hand / "datasets" / name
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


@pytest.fixture(
    params=[(name, mode) for name in NAMES if load_dataset(name).kind == "recordings" for mode in MODES]
)
def recorded(request: pytest.FixtureRequest) -> ReadResult:
    """What a reader of recordings returns; the others have no steps in time."""
    name, mode = request.param
    return load_dataset(name).read(place_of(name, request), mode)


# -- the declaration -------------------------------------------------------------------------------------------


def test_ours_are_registered():
    assert {"captaincook4d", "plain"} <= set(NAMES)


def test_the_declaration_says_everything(dataset: Dataset):
    assert dataset.name in NAMES
    for said in ("title", "version", "licence", "citation", "homepage"):
        assert getattr(dataset, said).strip(), said
    assert dataset.files
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


def test_every_record_is_there_once(dataset: Dataset, result: ReadResult):
    records = {"recordings": result.recordings, "manuals": result.manuals, "corpus": result.sources}
    assert records.pop(dataset.kind)
    assert not any(records.values())
    ids = [record.id for record in result.recordings or result.manuals or result.sources]
    assert all(isinstance(id_, str) and id_.strip() for id_ in ids)
    assert len(set(ids)) == len(ids)


def test_records_come_one_by_one_with_the_same_log(dataset: Dataset, folder: Path):
    for mode in MODES:
        log, whole = Log(), dataset.read(folder, mode)
        records = tuple(dataset.iter_records(folder, mode, log))
        assert records == (whole.recordings or whole.manuals or whole.sources)
        assert (tuple(log.dropped), tuple(log.findings)) == (whole.dropped, whole.findings)
        assert dict(log.counts) == dict(whole.counts)
        assert tuple(log.corrections) == whole.corrections


def test_options_are_those_that_are_declared(dataset: Dataset, folder: Path):
    with pytest.raises(UserError, match="no option 'colour'"):
        next(dataset.iter_records(folder, "corrected", None, colour="red"))
    for name, values in dataset.options.items():
        for value in values:
            assert tuple(dataset.iter_records(folder, "corrected", None, **{name: value}))
        if values:
            with pytest.raises(UserError, match=f"{name} is 'no such thing'"):
                next(dataset.iter_records(folder, "corrected", None, **{name: "no such thing"}))


def test_recordings_and_graphs_belong_together(recorded: ReadResult):
    assert all(key == graph.id for key, graph in recorded.graphs.items())
    for recording in recorded.recordings:
        graph = recorded.graphs.get(recording.activity_id) if recorded.graphs else None
        assert (graph is not None) == bool(recorded.graphs), recording.activity_id
        assert recording.activity_name.strip()
        assert recording.segments
        for segment in recording.segments:
            assert segment.text.strip()
            assert segment.step_id.strip()
            if graph is not None:
                assert segment.step_id in graph
                assert segment.step_id not in (graph.start, graph.end)


def test_segments_keep_the_conventions_of_times(recorded: ReadResult):
    told = {finding.where for finding in recorded.findings}
    for recording in recorded.recordings:
        starts = [-1.0 if s.start is None else s.start for s in recording.segments]
        assert starts == sorted(starts), recording.id
        for segment in recording.segments:
            assert (segment.start is None) == (segment.end is None)
            if segment.start is not None and segment.end is not None:
                assert 0 <= segment.start <= segment.end < math.inf
                if segment.start == segment.end:  # real data have such steps; they are kept, and told
                    assert any(recording.id in where for where in told), recording.id
        assert recording.duration is None or 0 < recording.duration < math.inf


def test_mistakes_have_known_or_named_kinds_and_attributes_are_texts(recorded: ReadResult):
    kinds = {m.kind for r in recorded.recordings for s in r.segments for m in s.mistakes}
    assert not kinds or kinds & set(MISTAKE_KINDS)
    assert all(kind == kind.strip() and kind for kind in kinds)
    for recording in recorded.recordings:
        assert all(isinstance(v, str) for v in recording.attributes.values())
        if recording.video is not None:
            assert not Path(recording.video).is_absolute()
            assert ".." not in Path(recording.video).parts


def test_ids_can_be_parts_of_file_names_and_of_clip_names(recorded: ReadResult):
    clips = {f"{r.id}_{i}" for r in recorded.recordings for i in {s.step_id for s in r.segments}}
    assert len(clips) == sum(len({s.step_id for s in r.segments}) for r in recorded.recordings)
    for name in (
        clips if recorded.graphs else {r.id for r in recorded.recordings}
    ):  # labels may be "Group: step"
        assert "/" not in name
        assert name.isprintable()


def test_everything_that_was_changed_or_dropped_is_told_with_a_reason(result: ReadResult):
    ids = {record.id for record in result.recordings or result.manuals or result.sources}
    for correction in result.corrections:
        assert correction.recording_id in ids
        assert correction.rule
        assert correction.reason
    for dropped in result.dropped:
        assert dropped.reason
        assert dropped.id
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
    "a pipe": "pipe",
    "a device": "device",
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
    elif damage == "pipe":
        os.mkfifo(broken)
    elif damage == "device":
        broken.symlink_to("/dev/zero")
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
        noticed = [refused(dataset.check, root, path, damage)]
        for way in ways_of(dataset):
            read = partial(read_with, dataset, way)
            if refused(read, root, path, damage) or told(dataset, root, folder, way):
                noticed.append(True)
            else:  # an option may leave a file unread, but then nothing may be other than it is without the damage
                assert harmless or read(root) == read(folder), (
                    f"{path} was read with {way} although it is damaged: {case}"
                )
        assert harmless or any(noticed), f"{path} is damaged, and no option tells: {case}"


def ways_of(dataset: Dataset) -> list[dict[str, str]]:
    """The default, and every other value of every option."""
    return [{}, *({name: value} for name, values in dataset.options.items() for value in values[1:])]


def read_with(dataset: Dataset, way: Mapping[str, str], root: Path) -> ReadResult:
    return dataset.read(root, "published", **way)


def refused(use: Callable[[Path], object], root: Path, path: str, damage: Any) -> bool:
    """True when a damaged folder is refused, with a message that names what is damaged."""
    try:
        use(root)
    except UserError as error:
        text = str(error)
        assert str(root) in text
        assert len(text) < 5_000, path
        if damage is not None:
            assert Path(path).name in text, path
        return True
    return False


def told(dataset: Dataset, root: Path, folder: Path, way: Mapping[str, str]) -> bool:
    """True when a reader that goes on after a broken line or record tells something that is not true of the sound folder."""
    damaged_log, sound = (set(), set())
    for seen, place in ((damaged_log, root), (sound, folder)):
        log = Log()
        for _ in dataset.iter_records(place, "published", log, **way):
            pass
        if dataset.questions is not None:
            for _ in dataset.questions(place, "published", log):
                pass
        seen.update((d.reason, d.id) for d in log.dropped)
        seen.update((f.rule, f.where) for f in log.findings)
    return bool(damaged_log - sound)


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
