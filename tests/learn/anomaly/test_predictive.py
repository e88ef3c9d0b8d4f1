"""Blocks as detectors: planted anomalies in rows and in maps, nothing where nothing is, and what bounds them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from tests.learn.anomaly.planted import SHAPE, planted

from proctor.errors import UserError
from proctor.learn.anomaly.blocks import BLOCKS, BlockName
from proctor.learn.anomaly.figures import frame_figures
from proctor.learn.anomaly.frames import FrameTask, frame_task
from proctor.learn.anomaly.predictive import SHIFT, USUAL, BlockDetector
from proctor.learn.settings import TrainSettings

FAST = msgspec.structs.replace(USUAL, epochs=25, lr=0.01, device="cpu", batch=8)
MAPS = msgspec.structs.replace(FAST, epochs=3, batch=64)


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def task_of(folder: Path, strength: float, shape: tuple[int, ...] = (), **how: Any) -> FrameTask:
    return frame_task(*planted(folder / "store", strength=strength, shape=shape, **how))


def auc(detector: BlockDetector, task: FrameTask) -> float:
    detector.fit(task)
    value = frame_figures(task, task.test, {i: detector.scores(i) for i in task.test}, 0).auc.value
    assert value is not None
    return value


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize(("shape", "training"), [((), FAST), (SHAPE, MAPS)], ids=["rows", "maps"])
def test_planted_anomalies_are_found(
    block: BlockName, shape: tuple[int, ...], training: TrainSettings, tmp_path: Path
) -> None:
    assert auc(BlockDetector(block, training=training), task_of(tmp_path, 12.0, shape)) > 0.75


@pytest.mark.parametrize(("shape", "training"), [((), FAST), (SHAPE, MAPS)], ids=["rows", "maps"])
def test_mistakes_that_cannot_be_seen_are_found_by_chance_only(
    shape: tuple[int, ...], training: TrainSettings, tmp_path: Path
) -> None:
    found = [
        auc(
            BlockDetector("sspcab", training=training),
            task_of(tmp_path / str(seed), 0.0, shape, recordings=48, seed=seed, apart=0.0),
        )
        for seed in range(3)
    ]
    assert sum(found) / 3 == pytest.approx(0.5, abs=0.08)


def test_every_frame_has_one_score_whatever_the_window(tmp_path: Path) -> None:
    task = task_of(tmp_path, 5.0)
    one = BlockDetector("sspcab", window=16, training=msgspec.structs.replace(FAST, epochs=2))
    one.fit(task)
    for id_ in task.test:
        assert one.scores(id_).shape == task.frames[id_].step.shape
    before = one.scores("1_23")
    one.training = msgspec.structs.replace(one.training, batch=1)
    assert one.scores("1_23") == pytest.approx(before, rel=1e-5)


def test_a_window_brings_what_lies_beside_it_and_zeros_outside_of_the_recording(tmp_path: Path) -> None:
    task = task_of(tmp_path, 5.0)
    detector = BlockDetector("sspcab", window=16, training=msgspec.structs.replace(FAST, epochs=1))
    detector.fit(task)
    assert detector.normalisation is not None
    rows = detector.normalisation.apply(np.float32(task.store.rows("1_23"))) + SHIFT
    frames = len(rows)
    first, second = detector._rows("1_23", 0, 2), detector._rows("1_23", 16, 2)
    assert first.shape == (16, 16 + 4)
    assert not first[:, :2].any()
    assert np.array_equal(first[:, 2:].T, rows[:18])
    assert np.array_equal(second.T, rows[14:34])
    last = detector._rows("1_23", frames // 16 * 16, 2)
    assert np.array_equal(last[:, 2 : 2 + frames % 16].T, rows[frames // 16 * 16 :])
    assert not last[:, 2 + frames % 16 :].any()


def test_the_error_of_a_frame_is_that_of_its_own_row(tmp_path: Path) -> None:
    task = task_of(tmp_path, 5.0)
    detector = BlockDetector("sspcab", window=16, training=msgspec.structs.replace(FAST, epochs=2))
    detector.fit(task)
    window = torch.from_numpy(detector._rows("1_23", 16, 2))[None]
    expected = (detector.predictor(window) - window).square().mean(1)[0, 2:-2]
    assert detector.scores("1_23")[16:32] == pytest.approx(expected.detach().numpy(), rel=1e-4)


def test_chosen_on_normal_recordings_of_the_validation_part(tmp_path: Path) -> None:
    task = task_of(tmp_path, 12.0)
    detector = BlockDetector("ssmctb", training=msgspec.structs.replace(FAST, epochs=3))
    chosen = detector.fit(task)
    mean = np.concatenate([detector.scores(i) for i in task.choose]).mean()
    assert -float(str(chosen["val_figure"])) == pytest.approx(mean, rel=1e-5)
    assert chosen["recordings"] == 6
    again = BlockDetector("ssmctb", training=msgspec.structs.replace(FAST, epochs=3))
    again.fit(replace(task, val=(), test=()))
    assert np.array_equal(again.scores("1_23"), detector.scores("1_23"))


def test_maps_that_are_too_small_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="3 x 3 places"):
        BlockDetector("sspcab", training=MAPS).fit(task_of(tmp_path, 1.0, (16, 3, 3)))
