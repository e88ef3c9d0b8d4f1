"""Frames and their labels, distances to the normal, and planted anomalies that are found, or cannot be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.covariance import LedoitWolf
from sklearn.neighbors import NearestNeighbors
from tests.learn.anomaly.planted import SHAPE, planted

from proctor.errors import UserError
from proctor.learn.anomaly.baselines import Mahalanobis, NearestNeighbours, ledoit_wolf
from proctor.learn.anomaly.figures import frame_figures, post_process, step_scores
from proctor.learn.anomaly.frames import (
    BACKGROUND,
    Detector,
    FrameTask,
    Normalisation,
    RecordingFrames,
    frame_task,
    normal_recordings,
)
from proctor.learn.features.store import StoreWriter
from proctor.learn.samples import Execution, StepSample

DETECTORS = {
    "knn": lambda: NearestNeighbours(),
    "knn per step": lambda: NearestNeighbours(per_step=True),
    "mahalanobis": lambda: Mahalanobis(),
    "mahalanobis per step": lambda: Mahalanobis(per_step=True),
}


def task_of(folder: Path, strength: float = 5.0, **how: object) -> FrameTask:
    return frame_task(*planted(folder / "store", strength=strength, **how))  # type: ignore[arg-type]


def auc(detector: Detector, task: FrameTask) -> float:
    detector.fit(task)
    figures = frame_figures(task, task.test, {i: detector.scores(i) for i in task.test}, 0)
    assert figures.auc.value is not None
    return figures.auc.value


# -- labels


def test_frames_are_labelled_by_their_middle_and_by_every_execution() -> None:
    first = StepSample("r", "7", "", "1", "", (Execution(0.6, 2.5, ()), Execution(5, 7, ("order",))))
    second = StepSample("r", "8", "", "1", "", (Execution(1.4, 4.0, ("timing",)),))
    frames = RecordingFrames.of("r", [(3, first), (4, second)], 9, 1.0)
    #                          0           1  2  3  4           5  6  7           8   (middles 0.5, 1.5, …)
    assert frames.step.tolist() == [BACKGROUND, 4, 4, 4, BACKGROUND, 3, 3, BACKGROUND, BACKGROUND]
    assert frames.mistaken.tolist() == [False, True, True, True, False, True, True, False, False]
    assert frames.inside[3].tolist() == [False, True, False, False, False, True, True, False, False]
    half = RecordingFrames.of("r", [(3, first)], 4, 2.0)  # middles 1, 3, 5, 7
    assert half.mistaken.tolist() == [False, False, True, False]


def test_normal_recordings_have_no_mistake_not_even_a_missing_step(tmp_path: Path) -> None:
    data, division, store = planted(tmp_path / "s", strength=1)
    assert normal_recordings(data) == {f"1_{n}" for n in range(0, 24, 2)}
    one = data.performances["1_0"]
    mistaken = next(s.mistakes for s in data.performances["1_1"].recording.segments if s.mistakes)
    first, *others = one.recording.segments
    missed = replace(first, start=None, end=None, mistakes=mistaken)
    recording = replace(one.recording, segments=(missed, *others))
    changed = replace(data, performances={**data.performances, "1_0": replace(one, recording=recording)})
    assert "1_0" not in normal_recordings(changed)
    task = frame_task(changed, division, store)
    assert "1_0" not in task.train
    assert set(task.train) == {f"1_{n}" for n in range(2, 12, 2)}
    assert set(task.choose) == {"1_12", "1_14", "1_16"}
    assert len(task.val) == len(task.test) == 6


def test_what_the_store_lacks_is_counted(tmp_path: Path) -> None:
    data, division, store = planted(tmp_path / "s", strength=1)
    about = {"width": 16, "seconds": 1.0, "modality": "video", "backbone": "made", "source": "short"}
    with StoreWriter(tmp_path / "short", **about) as writer:  # type: ignore[arg-type]
        for id_ in store.recordings[1:]:
            rows = store.rows(id_)
            writer.add(id_, rows[:6] if id_ == "1_23" else rows)
    task = frame_task(data, division, type(store).open(tmp_path / "short"))
    reasons = [d.reason for d in task.dropped]
    assert (reasons.count("no_features"), reasons.count("no_frames")) == (1, 3)
    assert "1_0" not in task.train


# -- distances


def test_nearest_neighbours_are_those_of_scikit_learn(tmp_path: Path) -> None:
    task = task_of(tmp_path)
    detector = NearestNeighbours(k=3)
    learned = detector.fit(task)
    bank = np.concatenate([detector.normalisation.apply(np.float32(task.store.rows(i))) for i in task.train])
    assert learned == {"frames": len(bank), "recordings": 6, "kept": len(bank)}
    mine = detector.normalisation.apply(np.float32(task.store.rows("1_23")))
    expected = NearestNeighbors(n_neighbors=3).fit(bank).kneighbors(mine)[0].mean(1) / np.sqrt(16)
    assert detector.scores("1_23") == pytest.approx(expected, rel=1e-3)
    assert detector.scores("1_0").min() < 1 < detector.scores("1_23").max()


def test_per_step_compares_with_frames_of_the_same_step(tmp_path: Path) -> None:
    task = task_of(tmp_path)
    detector = NearestNeighbours(k=1, per_step=True)
    detector.fit(task)
    bank = np.concatenate([detector.normalisation.apply(np.float32(task.store.rows(i))) for i in task.train])
    steps = np.concatenate([task.steps(i) for i in task.train])
    mine = detector.normalisation.apply(np.float32(task.store.rows("1_23")))
    expected = [
        np.sqrt(((bank[steps == step] - row) ** 2).mean(1)).min()
        for row, step in zip(mine, task.steps("1_23"), strict=True)
    ]
    assert detector.scores("1_23") == pytest.approx(expected, rel=1e-3)
    assert detector.fallen == {"1_23": 0}


@pytest.mark.parametrize("make", [NearestNeighbours, Mahalanobis])
def test_steps_that_are_never_normal_are_compared_with_all_and_counted(
    make: type[NearestNeighbours | Mahalanobis], tmp_path: Path
) -> None:
    task = task_of(tmp_path)
    renamed = [replace(s, step="new") if s.id == "1_23:2" else s for s in task.data.samples]
    changed = replace(task, data=replace(task.data, samples=tuple(renamed)))
    conditioned, plain = make(per_step=True), make()
    assert conditioned.fit(changed)["steps"] == 5  # four and the background
    plain.fit(changed)
    new = changed.steps("1_23") == "new"
    assert new.any()
    scores = conditioned.scores("1_23")
    assert conditioned.fallen == {"1_23": int(new.sum())}
    assert (scores == pytest.approx(plain.scores("1_23"))) is False
    assert scores[new] == pytest.approx(plain.scores("1_23")[new])


def test_kept_frames_are_bounded_and_the_same_for_the_same_seed(tmp_path: Path) -> None:
    task = task_of(tmp_path)
    few, again, other = (NearestNeighbours(most=50) for _ in range(3))
    assert few.fit(task)["kept"] == 50
    again.fit(task)
    other.fit(replace(task, seed=1))
    assert few.bank.shape == (50, 16)
    assert np.array_equal(few.bank, again.bank)
    assert not np.array_equal(few.bank, other.bank)
    assert len(np.unique(few.bank, axis=0)) == 50


def test_shrinkage_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 12)) @ rng.normal(size=(12, 12))
    rows -= rows.mean(0)
    reference = LedoitWolf(assume_centered=True).fit(rows)
    covariance, shrinkage = ledoit_wolf(rows.T @ rows, float(((rows**2).sum(1) ** 2).sum()), 40)
    assert shrinkage == pytest.approx(reference.shrinkage_)
    assert 0.01 < shrinkage < 0.99
    assert covariance == pytest.approx(reference.covariance_)


def test_mahalanobis_is_about_one_for_normal_frames_and_right_by_hand(tmp_path: Path) -> None:
    task = task_of(tmp_path)
    detector = Mahalanobis()
    detector.fit(task)
    rows = np.concatenate([detector.normalisation.apply(np.float32(task.store.rows(i))) for i in task.train])
    covariance, _ = ledoit_wolf(rows.T @ rows, float(((rows**2).sum(1) ** 2).sum()), len(rows))
    expected = np.einsum("ij,jk,ik->i", rows, np.linalg.inv(covariance), rows) / 16
    assert np.concatenate([detector.scores(i) for i in task.train]) == pytest.approx(expected, rel=1e-3)
    assert expected.mean() == pytest.approx(1, abs=0.05)


def test_normalisation_leaves_channels_that_never_change(tmp_path: Path) -> None:
    data, division, store = planted(tmp_path / "s", strength=0)
    about = {"width": 17, "seconds": 1.0, "modality": "video", "backbone": "made", "source": "made"}
    with StoreWriter(tmp_path / "t", **about) as writer:  # type: ignore[arg-type]
        for id_ in store.recordings:
            rows = np.float32(store.rows(id_))
            writer.add(id_, np.concatenate([rows, np.full((len(rows), 1), 0.1)], 1))
    task = frame_task(data, division, type(store).open(tmp_path / "t"))
    found = Normalisation.of(task)
    assert found.deviation[16] == 1
    rows = np.concatenate([found.apply(np.float32(task.store.rows(i))) for i in task.train])
    assert np.abs(rows.mean(0)).max() < 1e-4
    assert rows[:, :16].std(0) == pytest.approx(np.ones(16), abs=1e-4)


# -- planted anomalies


@pytest.mark.parametrize("name", DETECTORS)
def test_planted_anomalies_are_found(name: str, tmp_path: Path) -> None:
    assert auc(DETECTORS[name](), task_of(tmp_path, 10.0)) > 0.85


@pytest.mark.parametrize("name", DETECTORS)
def test_mistakes_that_cannot_be_seen_are_found_by_chance_only(name: str, tmp_path: Path) -> None:
    assert auc(DETECTORS[name](), task_of(tmp_path, 0.0, recordings=48)) == pytest.approx(0.5, abs=0.08)


def test_of_maps_distances_take_the_mean_over_places(tmp_path: Path) -> None:
    task = task_of(tmp_path, 5.0, shape=SHAPE)
    assert task.channels == 16
    assert task.rows("1_0").shape[1:] == SHAPE
    ((_, vectors),) = task.vectors("1_0")
    assert vectors == pytest.approx(np.float32(task.rows("1_0")).mean((2, 3)))
    assert auc(Mahalanobis(), task) > 0.85


def test_labels_of_the_test_part_change_no_score(tmp_path: Path) -> None:
    task = task_of(tmp_path)
    flipped = [
        replace(s, executions=tuple(replace(e, kinds=() if e.kinds else ("order",)) for e in s.executions))
        if s.recording_id in task.test
        else s
        for s in task.data.samples
    ]
    other = replace(task, data=replace(task.data, samples=tuple(flipped)))
    for make in DETECTORS.values():
        one, two = make(), make()
        one.fit(task)
        two.fit(other)
        assert np.array_equal(one.scores(task.test[0]), two.scores(task.test[0]))


# -- figures


def test_published_post_processing_by_hand() -> None:
    scores = np.array([1.0, 3.0, 2.0, 5.0])
    assert post_process(scores, 1.0, 3.0, "none") is scores
    assert post_process(scores, 1.0, 0.0, "published").tolist() == [0, 0.5, 0.25, 1]
    assert post_process(np.full(3, 7.0), 1.0, 2.0, "published").tolist() == [0, 0, 0]
    from scipy.ndimage import gaussian_filter1d

    long = np.random.default_rng(0).random(50)
    scaled = (long - long.min()) / (long.max() - long.min())
    expected = gaussian_filter1d(scaled, 2.0, mode="reflect", truncate=4)
    assert post_process(long, 0.5, 1.0, "published") == pytest.approx(expected)
    assert post_process(scores, 1.0, 3.0, "published") == pytest.approx(
        gaussian_filter1d(np.array([0, 0.5, 0.25, 1]), 3.0, mode="reflect", truncate=4)
    )


def test_figures_micro_macro_and_equal_error_rate(tmp_path: Path) -> None:
    task = task_of(tmp_path)
    ids = ("1_19", "1_20", "1_21")
    rng = np.random.default_rng(0)
    perfect = {i: task.frames[i].mistaken + 0.5 * rng.random(len(task.frames[i].step)) for i in ids}
    found = frame_figures(task, ids, perfect, 20)
    assert (found.auc.value, found.auc_macro.value, found.eer.value, found.one_class) == (1, 1, 0, 1)
    assert found.frames == sum(len(task.frames[i].step) for i in ids)
    shifted = {i: perfect[i] + 10 * (i == "1_20") for i in ids}  # the normal recording looks worst
    worse = frame_figures(task, ids, shifted, 0)
    assert worse.auc_macro.value == 1
    assert worse.auc.value is not None
    assert worse.auc.value < 0.8
    assert worse.eer.value is not None
    assert worse.eer.value > 0.1
    assert worse.auc.low is None


def test_background_is_told_apart_from_steps_and_counted_by_itself(tmp_path: Path) -> None:
    task = task_of(tmp_path)
    inside = {i: (task.frames[i].step != BACKGROUND).astype(float) for i in task.test}
    found = frame_figures(task, task.test, inside, 0)
    outside = sum(int((task.frames[i].step == BACKGROUND).sum()) for i in task.test)
    assert outside == 5 * 6
    assert found.auc.value == pytest.approx(0.5 + 0.5 * outside / (found.frames - found.anomalous))
    assert found.auc_in_steps.value == 0.5


def test_one_class_in_the_test_part_has_no_figure_but_a_reason(tmp_path: Path) -> None:
    task = task_of(tmp_path)
    found = frame_figures(task, ("1_20",), {"1_20": np.zeros(len(task.frames["1_20"].step))}, 10)
    assert (found.auc.value, found.auc_macro.value, found.eer.value) == (None, None, None)
    assert "no item of the reference is a mistake" in found.auc.note


def test_steps_score_the_mean_of_their_frames(tmp_path: Path) -> None:
    task = task_of(tmp_path)
    scores = {i: np.arange(len(task.frames[i].step), dtype=float) for i in task.test}
    places, values = step_scores(task, task.test, scores)
    assert len(places) == 6 * 4
    for place, value in zip(places, values, strict=True):
        execution = task.data.samples[place].executions[0]
        assert value == pytest.approx((execution.start + execution.end - 1) / 2)


# -- bad input


def test_no_normal_recording_to_learn_from(tmp_path: Path) -> None:
    data, division, store = planted(tmp_path / "s", strength=1)
    for part in ("train", "val"):
        kept = [i for i in division[part] if int(data.samples[i].recording_id[2:]) % 2]  # type: ignore[index]
        with pytest.raises(UserError, match=f"no recording of the part '{part}'"):
            frame_task(data, replace(division, **{part: np.array(kept)}), store)


def test_a_part_without_features_is_refused(tmp_path: Path) -> None:
    data, division, _ = planted(tmp_path / "s", strength=1)
    about = {"width": 16, "seconds": 1.0, "modality": "video", "backbone": "made", "source": "other"}
    with StoreWriter(tmp_path / "t", **about) as writer:  # type: ignore[arg-type]
        writer.add("9_9", np.zeros((3, 16)))
    with pytest.raises(UserError, match="no recording of the part 'train'"):
        frame_task(data, division, type(_).open(tmp_path / "t"))


def test_the_split_by_steps_is_refused(tmp_path: Path) -> None:
    data, division, store = planted(tmp_path / "s", strength=1)
    with pytest.raises(UserError, match="no recording is whole"):
        frame_task(data, replace(division, split="S"), store)


def test_values_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    data, division, store = planted(tmp_path / "s", strength=1)
    rows = np.memmap(tmp_path / "s" / "rows.f16", "<f2", "r+")
    rows[17 * 16] = np.nan
    rows.flush()
    with pytest.raises(UserError, match="'1_0' hold what is no number"):
        frame_task(data, division, store)


def test_fewer_normal_frames_than_neighbours(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="too few for 10000"):
        NearestNeighbours(k=10_000).fit(task_of(tmp_path))
