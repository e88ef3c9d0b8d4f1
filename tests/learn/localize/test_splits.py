"""Which recordings are trained on, chosen on and tested on; published sizes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from proctor.errors import UserError
from proctor.learn.features.store import FeatureStore, StoreWriter
from proctor.learn.localize.localizer import LocalizeTask
from proctor.learn.localize.splits import LocalizeSplit, classes_of, localize_task, with_stores
from proctor.learn.recogniser import ProtocolName
from proctor.samples import path

SIZES: dict[LocalizeSplit, tuple[tuple[int, int, int, int], ...]] = {
    # recordings, without mistakes, timed steps, mistaken ones; of train, val and test
    "E": ((216, 84, 2997, 1023), (115, 48, 1643, 487), (53, 32, 773, 173)),
    "P": ((204, 90, 2829, 917), (84, 35, 1187, 323), (96, 39, 1397, 443)),
    "R": ((213, 90, 2987, 744), (62, 26, 884, 334), (109, 48, 1542, 605)),
    "Re": ((172, 71, 2482, 804), (103, 51, 1274, 339), (109, 42, 1657, 540)),
}


def counts(task: LocalizeTask, ids: tuple[str, ...]) -> tuple[int, int, int, int]:
    found = [task.data.recordings[i] for i in ids]
    spans = [s for r in found for s in r.spans]
    return len(found), sum(not r.mistaken for r in found), len(spans), sum(s.mistaken for s in spans)


@pytest.mark.shared
def test_published_sizes_of_the_splits(shared_data: Path) -> None:
    folder = shared_data / "captaincook4d"
    for split, sizes in SIZES.items():
        task, notes = localize_task(folder, split)
        assert tuple(counts(task, ids) for ids in (task.train, task.val, task.test)) == sizes, split
        assert (notes == ()) == (split != "Re")
    empty, unseen = notes
    assert empty.startswith("data_splits/recipes_data_split_combined.json is empty")
    assert unseen.startswith("110 of 111 classes of the test part are in no recording that is trained on")


@pytest.mark.shared
@pytest.mark.parametrize("protocol", ["paper", "code"])
def test_the_paper_trains_on_validation_recordings_and_its_r_is_of_2023(
    shared_data: Path, protocol: ProtocolName
) -> None:
    folder = shared_data / "captaincook4d"
    for split, (trained, normal, tested) in {
        "E": (331, 132, 53),
        "P": (288, 125, 96),
        "R": (265, 118, 119),
    }.items():
        task, _ = localize_task(folder, split, protocol)  # type: ignore[arg-type]
        assert (counts(task, task.train)[:2], task.val, len(task.test)) == ((trained, normal), (), tested)
    right, _ = localize_task(folder, "R", with_val=True)
    assert counts(right, right.train)[:2] == (275, 116)


@pytest.mark.shared
def test_only_what_is_trained_on_has_the_ids_of_the_released_code(shared_data: Path) -> None:
    folder = shared_data / "captaincook4d"
    paper, code = (localize_task(folder, "E", p)[0] for p in ("paper", "code"))  # type: ignore[arg-type]
    differ = [i for i, r in paper.data.recordings.items() if r.spans != code.data.recordings[i].spans]
    assert differ == ["1_136", "25_42"]
    assert {*differ} <= {*paper.train}


def test_a_data_set_without_released_splits_is_dealt_out_by_what_must_not_be_shared() -> None:
    for split, attribute in (("R", None), ("P", "person"), ("E", "place"), ("Re", "activity")):
        task, notes = localize_task(path(), split)  # type: ignore[arg-type]
        assert notes[0] == "no split is released: a half trains, a quarter each is chosen and tested on"
        assert not {*task.train} & {*task.test}
        assert len({*task.train, *task.val, *task.test}) == len(task.data.recordings)
        if attribute == "activity":
            apart = [
                {task.data.recordings[i].activity_id for i in ids}
                for ids in (task.train, task.val, task.test)
            ]
            assert sum(map(len, apart)) == len(set.union(*apart)) == 3
            assert not classes_of(task.data, task.train) & classes_of(task.data, task.test)


def test_recordings_without_features_are_left_out_and_listed(tmp_path: Path) -> None:
    task, _ = localize_task(path(), "R")
    lacking = {task.train[0], task.test[0]}
    with StoreWriter(
        tmp_path / "s", width=2, seconds=1.0, modality="video", backbone="made", source="made"
    ) as writer:
        for id_ in task.data.recordings:
            if id_ not in lacking:
                writer.add(id_, np.zeros((3, 2)))
    found = with_stores(task, [FeatureStore.open(tmp_path / "s")], path())
    assert (found.train, found.test) == (task.train[1:], task.test[1:])
    assert {d.id for d in found.data.dropped if d.reason == "no_features"} == lacking
    with StoreWriter(
        tmp_path / "none", width=2, seconds=1.0, modality="video", backbone="made", source="made"
    ) as writer:
        writer.add("other", np.zeros((3, 2)))
    with pytest.raises(UserError, match="no recording with a timed step is in 'train'"):
        with_stores(task, [FeatureStore.open(tmp_path / "none")], path())


def test_features_that_end_before_steps_begin_are_listed_and_a_store_is_named_once(tmp_path: Path) -> None:
    task, _ = localize_task(path(), "R")
    with StoreWriter(tmp_path / "s", width=2, seconds=1.0, modality="video", backbone="b", source="t") as out:
        for n, (id_, recording) in enumerate(task.data.recordings.items()):
            out.add(id_, np.ones((2 if n == 0 else math.ceil(recording.seconds), 2)))
    store = FeatureStore.open(tmp_path / "s")
    found = with_stores(task, [store], path())
    (first, recording) = next(iter(task.data.recordings.items()))
    late = sum(s.start >= 2 for s in recording.spans)
    assert late > 0
    (short,) = found.data.changed
    assert (short.id, short.reason) == (first, "short_features")
    assert short.detail.endswith(f"steps that begin later: {late}")
    with pytest.raises(UserError, match="given twice"):
        with_stores(task, [store, FeatureStore.open(tmp_path / "s")], path())
