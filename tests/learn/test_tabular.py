"""The floor and the context model."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.learn.made import make_data

from proctor.errors import MissingExtraError, UserError
from proctor.learn.recogniser import Recogniser, Task
from proctor.learn.samples import divide, read_step_data
from proctor.learn.tabular import ContextModel, Floor
from proctor.metrics.classification import roc_auc, within_roc_auc

DATA, DIVISION = make_data(recordings=80)
TASK = Task(DATA, DIVISION, DATA.labels())


def auc_test(model: Recogniser, task: Task) -> float:
    """Return the AUC on the test part."""
    test = task.division.test
    return roc_auc(task.target[test], model.scores(test), resamples=0).value


@pytest.fixture(scope="module")
def causal() -> ContextModel:
    """Return a fitted causal model of few members."""
    model = ContextModel("causal", members=2)
    model.fit(TASK)
    return model


def test_planted_mistakes_are_found(causal: ContextModel) -> None:
    floor = Floor()
    floor.fit(TASK)
    assert auc_test(causal, TASK) > 0.85
    assert auc_test(floor, TASK) > 0.85  # each mistake but those of technique shows in the step itself


def test_reasons_add_up_to_the_score(causal: ContextModel) -> None:
    places = DIVISION.test[:9]
    full = causal.reasons(places, most=1_000)
    values = causal._features.values[places]
    added = causal._model.contributions(values)
    assert added.sum(axis=1) == pytest.approx(causal._model.log_odds(values))
    assert causal.scores(places) == pytest.approx(1 / (1 + np.exp(-added.sum(axis=1))))
    for row, all_, told, best in zip(values, added, full, causal.reasons(places, most=3), strict=True):
        sizes = [abs(reason.contribution) for reason in told]
        assert sizes == sorted(sizes, reverse=True)
        assert len(told) == np.isfinite(row).sum()
        assert sum(r.contribution for r in told) == pytest.approx(all_[:-1][np.isfinite(row)].sum())
        assert best == told[:3]


def test_a_step_begun_too_early_says_so(causal: ContextModel) -> None:
    early = [p for p in DIVISION.test if "order" in DATA.samples[p].kinds]
    reasons = causal.reasons(np.array(early), most=3)
    named = [any("begun" in r.feature and r.contribution > 0 for r in each) for each in reasons]
    assert np.mean(named) > 0.6


def test_kinds_are_told_apart(causal: ContextModel) -> None:
    found = causal.kind_scores(DIVISION.test)
    assert set(found) == {"order", "timing", "technique"}  # no other kind is planted
    for kind in ("order", "timing"):
        value = roc_auc(DATA.of_kind(kind)[DIVISION.test], found[kind], resamples=0).value
        assert value > 0.9, kind


def test_the_same_seed_gives_the_same_scores(causal: ContextModel) -> None:
    again, other = ContextModel("causal", members=2), ContextModel("causal", members=2)
    again.fit(TASK)
    other.fit(replace(TASK, seed=1))
    assert np.array_equal(again.scores(DIVISION.test), causal.scores(DIVISION.test))
    assert not np.array_equal(other.scores(DIVISION.test), causal.scores(DIVISION.test))


@pytest.mark.parametrize("estimator", ["boosting", "logistic"])
def test_shuffled_labels_teach_nothing(estimator: str) -> None:
    found = []
    for seed in range(4):
        shuffled = np.random.default_rng(seed).permutation(TASK.target)
        task = replace(TASK, target=shuffled, seed=seed)
        model = ContextModel("causal", estimator, members=1)  # type: ignore[arg-type]
        model.fit(task)
        found.append(auc_test(model, task))
    assert abs(np.mean(found) - 0.5) < 0.08


def test_early_recognition_knows_less(causal: ContextModel) -> None:
    early = ContextModel("causal", members=2)
    task = replace(TASK, observed=0.1)
    early.fit(task)
    assert 0.6 < auc_test(early, task) < auc_test(causal, TASK)
    timing = DATA.of_kind("timing")[DIVISION.test]
    late = roc_auc(timing, early.kind_scores(DIVISION.test)["timing"], resamples=0).value
    assert late < 0.9  # how long a step takes is not known at its beginning
    floor = Floor()
    floor.fit(task)
    assert auc_test(floor, task) > 0.5
    told = [
        r for each in floor.reasons(DIVISION.test) for r in each if r.feature == "log length against usual"
    ]
    assert min(r.value for r in told) == 0  # that it is short so far says nothing


def test_one_class_cannot_be_learned() -> None:
    for model in (Floor(), ContextModel(members=1)):
        with pytest.raises(UserError, match="without mistake"):
            model.fit(replace(TASK, target=np.zeros_like(TASK.target)))


def test_nothing_is_chosen_where_validation_has_one_class() -> None:
    target = TASK.target.copy()
    target[DIVISION.val] = False
    task = replace(TASK, target=target)
    model = ContextModel("causal", members=1)
    chosen = model.fit(task)
    assert chosen["choice"] == "middle"
    assert auc_test(model, task) > 0.8


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(MissingExtraError, match=r"proctor-bench\[learn\]"):
        ContextModel(members=1).fit(TASK)


def real_task(shared_data: Path, split: str = "R") -> Task:
    """Read the real annotations."""
    folder = shared_data / "captaincook4d"
    data, dataset = read_step_data(folder)
    return Task(data, divide(data, dataset, folder, split), data.labels())  # type: ignore[arg-type]


@pytest.mark.shared
def test_the_floor_of_the_real_annotations(shared_data: Path) -> None:
    task, floor = real_task(shared_data), Floor()
    floor.fit(task)
    assert auc_test(floor, task) == pytest.approx(0.645, abs=0.005)


@pytest.mark.shared
def test_context_beats_every_published_model_of_the_real_recordings(shared_data: Path) -> None:
    task, model = real_task(shared_data), ContextModel("causal", members=1)
    model.fit(task)
    test = task.division.test
    recordings = [task.data.samples[p].recording_id for p in test]
    within = within_roc_auc(task.target[test], model.scores(test), clusters=recordings, resamples=0).value
    assert auc_test(model, task) > 0.87
    assert within > 0.67
