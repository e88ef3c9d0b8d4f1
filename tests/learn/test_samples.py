"""What is recognised: samples, labels and the published sizes of the splits."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from proctor.datasets.dataset import Performance, SplitRule
from proctor.errors import UserError
from proctor.learn.samples import (
    Division,
    Execution,
    SplitName,
    StepData,
    StepSample,
    _samples_of,
    divide,
    read_step_data,
)
from proctor.procedure.recording import Recording, Segment

SIZES = {
    "R": ((3972, 1177), (681, 237), (671, 242)),
    "P": ((3751, 1165), (823, 246), (750, 245)),
    "E": ((3565, 1003), (895, 375), (864, 278)),
    "S": ((3758, 1156), (776, 250), (799, 251)),
}


@pytest.mark.shared
def test_published_sizes_of_the_splits(shared_data: Path) -> None:
    folder = shared_data / "captaincook4d"
    data, dataset = read_step_data(folder)
    target, last = data.labels(), data.labels("last")
    assert (len(data.samples), len(data.dropped), data.name) == (5333, 287, "captaincook4d")
    for split, sizes in SIZES.items():
        parts = divide(data, dataset, folder, split)  # type: ignore[arg-type]
        found = tuple((parts[s].size, int(target[parts[s]].sum())) for s in ("train", "val", "test"))
        assert found == sizes, split
        assert parts.unassigned == (() if split == "S" else ("12_6",))
    parts = divide(data, dataset, folder, "R")
    assert [int(last[parts[s]].sum()) for s in ("train", "val", "test")] == [1171, 235, 241]  # the paper's
    assert [int(data.of_kind(k)[parts.test].sum()) for k in ("technique", "timing", "temperature")] == [
        59,
        27,
        8,
    ]


@pytest.mark.shared
def test_entries_without_times_change_no_sample(shared_data: Path, tmp_path: Path) -> None:
    """Of steps with one text, whose nodes are handed out by time, too."""
    folder, bare = shared_data / "captaincook4d", tmp_path / "bare"
    bare.mkdir()
    for each in folder.iterdir():
        if each.name != "annotation_json":
            (bare / each.name).symlink_to(each)
    shutil.copytree(folder / "annotation_json", bare / "annotation_json")
    taken = 0
    for path in (bare / "annotation_json").glob("*_annotations.json"):
        found = json.loads(path.read_text(encoding="utf-8"))
        for recording in found if isinstance(found, list) else found.values():
            name = "steps" if "steps" in recording else "step_annotations"
            kept = [s for s in recording[name] if s["end_time"] >= 0]
            taken += len(recording[name]) - len(kept)
            recording[name] = kept
        path.write_text(json.dumps(found), encoding="utf-8")
    assert taken == 3 * 287
    data, without = read_step_data(folder)[0], read_step_data(bare)[0]
    assert without.samples == data.samples


@pytest.mark.shared
@pytest.mark.parametrize("split", ["R", "P", "E"])
def test_no_recording_is_in_two_parts(split: SplitName, shared_data: Path) -> None:
    folder = shared_data / "captaincook4d"
    data, dataset = read_step_data(folder)
    parts = divide(data, dataset, folder, split)
    homes = [{data.samples[i].recording_id for i in parts[s]} for s in ("train", "val", "test")]
    assert not (homes[0] & homes[1])
    assert not (homes[0] & homes[2])
    assert not (homes[1] & homes[2])


def test_a_sample_is_mistaken_when_one_of_its_executions_is() -> None:
    sample = StepSample("1_7", "4", "2", "1", "Mix", (Execution(3, 5, ("timing",)), Execution(9, 10)))
    assert sample.mistaken
    assert (sample.seconds, sample.kinds, sample.id) == (3, {"timing"}, "1_7:4")


def test_the_text_of_a_step_is_the_instruction_and_not_what_was_done() -> None:
    """What was done is written down of mistakes alone."""
    segment = Segment("2", "Mix for 1 minute", 3.0, 5.0, performed="Mix for 3 minutes")
    (sample,) = _samples_of(Performance(Recording("1_7", "1", "", (segment,)), ("4",)), [])
    assert (sample.text, sample.step, sample.node) == ("Mix for 1 minute", "4", "2")


def test_a_data_set_without_mistakes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError):
        read_step_data(tmp_path)


# -- splits that cannot be ------------------------------------------------------------------------------------------


def step(recording: str, key: str, mistaken: bool) -> StepSample:
    return StepSample(recording, key, key, "1", "Mix", (Execution(3, 5, ("timing",) if mistaken else ()),))


def divided(
    parts: dict[str, tuple[str, ...]],
    folder: Path,
    *,
    mistakes: bool = True,
    released: str | None = None,
    changed: tuple[str, ...] = (),
) -> Division:
    """Divide recordings a to f, of one mistaken and one normal step each (f: two normal ones)."""
    samples = tuple(step(r, key, mistakes and key == "1" and r != "f") for r in "abcdef" for key in "12")
    rule = SplitRule("er-recordings", "", lambda _: parts, released, lambda _: {**parts, "val": ("e",)})
    dataset = SimpleNamespace(title="made up", splits=(rule,), changed_files=lambda _: changed)
    return divide(StepData(samples, {}, {}, (), "made", ""), dataset, folder, "R")  # type: ignore[arg-type]


GOOD = {"train": ("a", "b"), "val": ("c",), "test": ("d",)}


def test_a_sound_split_is_taken_as_it_is(tmp_path: Path) -> None:
    found = divided(GOOD, tmp_path)
    assert (found.train.tolist(), found.val.tolist(), found.test.tolist()) == ([0, 1, 2, 3], [4, 5], [6, 7])
    assert (found.unassigned, found.notes) == (("e", "f"), ())
    assert found.hash == divided(GOOD, tmp_path).hash
    assert found.hash != divided(GOOD | {"train": ("a",), "val": ("c", "b")}, tmp_path).hash


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"test": ("d", "b")}, "'b' is in 'train' and in 'test'"),
        ({"test": ()}, "no step is in 'test'"),
        ({"test": ("f",)}, "all 2 steps in 'test' of the split R are without mistake"),
        ({"val": ("f",)}, "all 2 steps in 'val' of the split R are without mistake"),
    ],
)
def test_a_split_that_cannot_be_used_is_refused(
    tmp_path: Path, change: dict[str, tuple[str, ...]], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        divided(GOOD | change, tmp_path)


def test_steps_that_are_in_no_task_graph_are_told(tmp_path: Path) -> None:
    samples = tuple(replace(step(r, key, key == "1"), node="") for r in "abcd" for key in "12")
    rule = SplitRule("er-recordings", "", lambda _: GOOD, None, None)
    dataset = SimpleNamespace(title="", splits=(rule,), changed_files=lambda _: ())
    found = divide(StepData(samples, {}, {}, (), "made", ""), dataset, tmp_path, "R")  # type: ignore[arg-type]
    assert found.notes == (
        "8 of 8 steps are in no task graph by their text: what is wrong with their order is not seen",
    )


def test_labels_of_another_version_are_told(tmp_path: Path) -> None:
    (note,) = divided(GOOD, tmp_path, changed=("labels.json",)).notes
    assert note.startswith("labels.json differs from the release")


def test_labels_without_any_mistake_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="are the labels of another version"):
        divided(GOOD, tmp_path, mistakes=False)


def test_a_split_that_is_not_the_released_one_or_names_strangers_says_so(tmp_path: Path) -> None:
    found = divided(GOOD | {"test": ("d", "z")}, tmp_path, released="splits.json")
    assert found.val.tolist() == [4, 5]
    assert found.notes == (
        "splits.json is not there: the split is made by its rule, not as released",
        "the split names 1 that are not annotated: z",
    )
    (tmp_path / "splits.json").touch()
    found = divided(GOOD, tmp_path, released="splits.json")
    assert (found.val.tolist(), found.notes) == ([8, 9], ())


def test_a_plain_folder_is_read_as_annotated_and_dealt_out_by_what_must_not_be_shared() -> None:
    from proctor.samples import path

    data, dataset = read_step_data(path())
    assert (len(data.samples), int(data.labels().sum()), data.name) == (116, 27, "plain")
    assert {d.reason for d in data.dropped} == {"no_times"}
    steps = {
        s.activity_id: {o.step for o in data.samples if o.activity_id == s.activity_id} for s in data.samples
    }
    assert len(steps) == 3
    assert len(set.union(*steps.values())) == sum(
        map(len, steps.values())
    )  # "1" of two activities is not one step
    for split, attribute in (("R", None), ("P", "person"), ("E", "place")):
        parts = divide(data, dataset, path(), split)  # type: ignore[arg-type]
        shared = [
            {
                s.recording_id if attribute is None else data.performances[s.recording_id].recording.attributes[attribute]
                for s in (data.samples[i] for i in parts[subset])
            }
            for subset in ("train", "val", "test")
        ]  # fmt: skip
        assert sum(map(len, shared)) == len(set.union(*shared)), split
        assert sum(parts[s].size for s in ("train", "val", "test")) == 116
        assert parts.unassigned == ()
    by_recording = divide(data, dataset, path(), "R")
    assert {data.samples[i].activity_id for i in by_recording.test} == set(steps)
    assert {data.samples[i].activity_id for i in by_recording.val} == set(steps)
    with pytest.raises(UserError, match="no released split by steps"):
        divide(data, dataset, path(), "S")
    bare = {
        id_: replace(p, recording=replace(p.recording, attributes={})) for id_, p in data.performances.items()
    }
    with pytest.raises(UserError, match="no attribute 'person'"):
        divide(replace(data, performances=bare), dataset, path(), "P")
