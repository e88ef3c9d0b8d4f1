"""Planted steps: the ceiling is what shows, and the robust protocol finds what was planted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.learn.localize.planted import PlantedSteps, plant_steps, shuffled_steps

from proctor.learn.localize.robust import robust_tasks, robust_training
from proctor.learn.settings import TrainOptions
from proctor.metrics.localization import localization_scores

SIZES = {"recordings": 180, "activities": 3, "steps": 8}


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> PlantedSteps:
    return plant_steps(tmp_path_factory.mktemp("planted"), **SIZES)


def test_the_best_localizer_finds_exactly_what_shows(planted: PlantedSteps) -> None:
    truth = planted.task.data.truth(planted.task.test)
    scores = localization_scores(truth, planted.best)
    found = scores.matches.found_by[:, -1] >= 0
    assert (len(truth), int(planted.hidden.sum())) == (397, 85)
    assert np.array_equal(found, ~planted.hidden)
    classes = scores.matches.truth_class
    share = [float((~planted.hidden[classes == c]).mean()) for c in range(len(scores.matches.classes))]
    # A class of which all that shows is found, and nothing else, has its recall for AP.
    assert planted.ceiling() == pytest.approx(np.mean(share), abs=0.01)
    assert planted.chance() < 0.1


def test_the_robust_protocol_recovers_the_planted_gap(planted: PlantedSteps) -> None:
    tasks = robust_tasks(planted.task)
    found = robust_training(tasks, "all", planted.best, resamples=500, seed=0)
    within = found.within[0]
    first = within.difference[-1]
    assert first.low is not None
    assert first.high is not None
    assert 0 < first.low <= planted.lost <= first.high < 0.6
    gap = found.gap.rows[0].at[-1]
    assert gap.value == pytest.approx(found.normal.value("mAP", 0.5) - found.mistaken.value("mAP", 0.5))
    assert gap.low is not None
    assert gap.low > 0


def test_no_gap_is_found_where_none_was_planted(tmp_path: Path) -> None:
    planted = plant_steps(tmp_path, recordings=90, lost=0.0, seed=1)
    found = robust_training(robust_tasks(planted.task), "all", planted.best, resamples=500, seed=0)
    for figure in (found.within[0].difference[-1], found.gap.rows[0].at[-1]):
        assert figure.low is not None
        assert figure.high is not None
        assert figure.low <= 0 <= figure.high


def test_equal_seeds_plant_equally_and_shuffling_keeps_times_and_frequencies(
    planted: PlantedSteps, tmp_path: Path
) -> None:
    again = plant_steps(tmp_path, **SIZES)
    assert (again.store.hash, again.task.data.hash) == (planted.store.hash, planted.task.data.hash)
    shuffled = shuffled_steps(planted)
    for ids in (planted.task.train, planted.task.test):
        before, after = planted.task.data.truth(ids), shuffled.task.data.truth(ids)
        assert np.array_equal(before.start, after.start)
        assert sorted(before.label.tolist()) == sorted(after.label.tolist())
    truth = shuffled.task.data.truth(shuffled.task.test)
    assert localization_scores(truth, planted.best).mean_ap[-1] < 0.05


@pytest.fixture
def _one_thread() -> Iterator[None]:
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("_one_thread")
def test_a_small_network_learns_what_is_planted_and_nothing_of_what_is_shuffled(tmp_path: Path) -> None:
    """Small and short; ``benchmarks/learn/localization_planted.py`` goes the whole way."""
    from proctor.learn.localize.actionformer import ActionFormer

    easy = plant_steps(
        tmp_path, recordings=48, activities=2, steps=2, width=8, shift=4.0, lengths=(6, 14), hidden=0, lost=0
    )
    reached = []
    for one, epochs in ((easy, 12), (shuffled_steps(easy), 2)):
        network = ActionFormer(
            [one.store], TrainOptions(epochs=epochs, lr=4e-3, batch=2, device="cpu"), hidden=32, levels=4
        )
        network.fit(one.task)
        truth = one.task.data.truth(one.task.test)
        reached.append(float(localization_scores(truth, network.predict(one.task.test)).mean_ap[-1]))
    assert easy.ceiling() > 0.98
    assert reached[0] > 0.9 * easy.ceiling()
    assert reached[1] < easy.chance() + 0.15
