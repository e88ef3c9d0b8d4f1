"""A planted signal: its best possible recognition is known, models come near it, and shuffled labels leave nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proctor.learn.planted import DIFFICULTIES, Difficulty, Planted, plant, shuffled
from proctor.learn.settings import TrainOptions
from proctor.metrics.classification import roc_auc

torch = pytest.importorskip("torch")
from proctor.learn.clips import ClipRecogniser  # noqa: E402


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    return plant(
        tmp_path_factory.mktemp("planted"),
        "medium",
        recordings=72,
        steps=8,
        width=16,
        modalities=2,
        lengths=(6, 16),
    )


def test_the_features_are_where_the_steps_are(planted: Planted) -> None:
    task, store = planted.task, planted.stores[0]
    assert (len(task.data.samples), store.width, store.seconds) == (576, 16, 1.0)
    parts = [task.division[p] for p in ("train", "val", "test")]  # type: ignore[index]
    assert [len(p) for p in parts] == [288, 96, 192]
    homes = [{task.data.samples[i].recording_id for i in p} for p in parts]
    assert not (homes[0] & homes[1] | homes[1] & homes[2] | homes[0] & homes[2])
    ends = {s.recording_id: max(e.end for e in s.executions) for s in task.data.samples}
    assert all(len(store.rows(name)) == end for name, end in ends.items())
    assert 0.3 < task.target.mean() < 0.4


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    one, two = (plant(tmp_path / n, "easy", recordings=6, steps=2, width=4) for n in "ab")
    assert one.stores[0].hash == two.stores[0].hash
    assert one.task.data.hash == two.task.data.hash
    assert (
        plant(tmp_path / "c", "easy", recordings=6, steps=2, width=4, seed=1).task.data.hash
        != one.task.data.hash
    )


def test_the_ratio_is_that_of_the_densities(tmp_path: Path) -> None:
    """With a signal in every row the likelihood ratio is Gaussian, and the Bayes AUC is known in closed form."""
    shift, rows = 0.5, 9
    how = Difficulty(1 - 1e-12, shift)
    found = plant(tmp_path, how, recordings=300, width=3, lengths=(rows, rows), seed=3)
    single = np.array([len(s.executions) == 1 for s in found.task.data.samples])
    target, ratios = found.task.target[single], found.ratios[single]
    d = shift * np.sqrt(rows)
    assert ratios[target].mean() == pytest.approx(d**2 / 2, abs=0.1)
    assert ratios[~target].mean() == pytest.approx(-(d**2) / 2, abs=0.1)
    from scipy.stats import norm

    assert roc_auc(target, ratios).value == pytest.approx(norm.cdf(d / np.sqrt(2)), abs=0.02)


def test_difficulties_are_in_order(tmp_path: Path) -> None:
    bayes = [plant(tmp_path / d, d, recordings=60, width=4).bayes for d in ("easy", "medium", "hard")]  # type: ignore[arg-type]
    assert bayes == sorted(bayes, reverse=True)
    assert len(set(bayes)) == len(DIFFICULTIES) == 3


@pytest.mark.parametrize("variant", ["v1", "v2", "v3"])
def test_models_come_near_what_is_possible(variant: Any, planted: Planted) -> None:
    test = planted.task.division.test
    model = ClipRecogniser(variant, planted.stores, TrainOptions(epochs=6, lr=2e-3, device="cpu"))
    model.fit(planted.task)
    auc = roc_auc(planted.task.target[test], model.scores(test)).value
    assert planted.share(auc) > 0.8
    assert auc <= planted.bayes + 0.03


@pytest.mark.parametrize("variant", ["v1", "v2"])
def test_shuffled_labels_leave_nothing(variant: Any, planted: Planted) -> None:
    task = shuffled(planted, seed=1)
    assert task.target.mean() == planted.task.target.mean()
    assert (task.target != planted.task.target).mean() > 0.2
    test = task.division.test
    model = ClipRecogniser(variant, planted.stores[:1], TrainOptions(epochs=3, lr=2e-3, device="cpu"))
    model.fit(task)
    recordings = [task.data.samples[i].recording_id for i in test]
    found = roc_auc(task.target[test], model.scores(test), clusters=recordings, resamples=500)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.5 < found.high
