"""The transformer over the steps of a recording."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.learn.made import make_data

from proctor.errors import UserError
from proctor.learn.features.store import FeatureStore, StoreWriter
from proctor.learn.recogniser import Recogniser, Task
from proctor.learn.samples import Execution, StepSample
from proctor.learn.sequence import (
    SequenceModel,
    SequenceNetwork,
    _Sequences,
    pooled_features,
    rows_past_the_end,
)
from proctor.learn.settings import TrainOptions
from proctor.metrics.classification import roc_auc

DATA, DIVISION = make_data(recordings=60)
TASK = Task(DATA, DIVISION, DATA.labels())
QUICK = TrainOptions(epochs=12, patience=50)


@pytest.fixture(scope="module")
def model() -> SequenceModel:
    """Return a trained causal model."""
    found = SequenceModel("causal", options=QUICK)
    found.fit(TASK)
    return found


def auc_test(model: Recogniser, target: np.ndarray) -> float:
    """Return the AUC on the test part."""
    return roc_auc(target[DIVISION.test], model.scores(DIVISION.test), resamples=0).value


def test_planted_mistakes_are_found(model: SequenceModel) -> None:
    assert auc_test(model, TASK.target) > 0.8
    kinds = model.kind_scores(DIVISION.test)
    assert set(kinds) == {"order", "timing", "technique"}  # no other kind is planted
    assert roc_auc(DATA.of_kind("order")[DIVISION.test], kinds["order"], resamples=0).value > 0.9
    assert model.reasons(DIVISION.test[:3]) == [(), (), ()]


def test_the_same_seed_gives_the_same_scores(model: SequenceModel) -> None:
    again = SequenceModel("causal", options=QUICK)
    again.fit(TASK)
    assert np.array_equal(again.scores(DIVISION.test), model.scores(DIVISION.test))


def test_shuffled_labels_teach_nothing() -> None:
    found = []
    for seed in range(3):
        shuffled = np.random.default_rng(seed).permutation(TASK.target)
        model = SequenceModel("causal", options=TrainOptions(epochs=6))
        model.fit(replace(TASK, target=shuffled, seed=seed))
        found.append(auc_test(model, shuffled))
    assert abs(np.mean(found) - 0.5) < 0.1


@pytest.mark.parametrize("setting", ["causal", "offline"])
def test_only_what_was_over_is_attended_to(setting: str) -> None:
    columns = np.random.default_rng(0).normal(size=(len(DATA.samples), 5))
    steps = _Sequences.of(TASK, columns, setting)  # type: ignore[arg-type]
    torch.manual_seed(0)
    network = SequenceNetwork(5).eval()
    for layer in network.layers:
        torch.nn.init.normal_(layer.bias.weight)  # type: ignore[union-attr]
    before = network(steps.x, steps.relation, steps.seen)[0]
    here = steps.place[0][steps.place[0] >= 0]
    ends = np.array([max(e.end for e in DATA.samples[p].executions) for p in here])
    for n in range(len(here)):
        changed = steps.x.clone()
        changed[0, n] += 10
        moved = (network(changed, steps.relation, steps.seen)[0] != before).any(dim=1).numpy()[: len(here)]
        assert moved.tolist() == ((ends >= ends[n]) if setting == "causal" else ends > 0).tolist()
        assert torch.isfinite(before).all()


def test_early_a_step_that_still_runs_is_not_attended_to() -> None:
    """Of 24 s half are over after 12 s; who saw that at 15 s would know that the step ends soon."""
    samples = tuple(
        StepSample("1_0", f"1{n}", f"n{n}", "1", "", (Execution(start, end),))
        for n, (start, end) in enumerate(((0, 24), (10, 20), (26, 30)))
    )
    task = replace(TASK, data=replace(DATA, samples=samples), observed=0.5)
    seen = _Sequences.of(task, np.zeros((3, 1)), "causal").seen[0].tolist()
    assert seen == [[True, False, False], [False, True, False], [True, True, True]]


def test_relations_are_those_of_graph_and_time() -> None:
    steps = _Sequences.of(TASK, np.zeros((len(DATA.samples), 1)), "causal")
    row = steps.place[0][:8].tolist()
    at = {DATA.samples[p].node: i for i, p in enumerate(row)}
    relation = steps.relation[0].numpy()
    assert relation[at["n5"], at["n0"]] // 3 == 1  # an earlier step
    assert relation[at["n0"], at["n5"]] // 3 == 2
    assert relation[at["n0"], at["n1"]] // 3 == 0
    assert relation[at["n4"], at["n4"]] == 10
    ends = [max(e.end for e in DATA.samples[p].executions) for p in row]
    assert (relation[:8, :8] % 3 - 1).tolist() == np.sign(np.subtract.outer(ends, ends)).tolist()


def test_padding_changes_nothing() -> None:
    columns = np.random.default_rng(0).normal(size=(len(DATA.samples), 5))
    steps = _Sequences.of(TASK, columns, "offline")
    network = SequenceNetwork(5).eval()
    plain = network(steps.x, steps.relation, steps.seen)
    grown = [torch.nn.functional.pad(part, (0, 3, 0, 3)) for part in (steps.relation, steps.seen)]
    grown[1][:, torch.arange(8, 11), torch.arange(8, 11)] = True
    padded = network(torch.nn.functional.pad(steps.x, (0, 0, 0, 3)), *grown)
    assert torch.allclose(plain, padded[:, : plain.shape[1]], atol=1e-5)


def test_features_of_videos_are_pooled_over_the_executions(tmp_path: Path) -> None:
    first, rng = DATA.samples[0].recording_id, np.random.default_rng(0)
    rows = rng.normal(size=(900, 4)).astype(np.float16)
    with StoreWriter(
        tmp_path / "s", width=4, seconds=1.0, modality="video", backbone="b", source="t"
    ) as writer:
        writer.add(first, rows)
    pooled = pooled_features(DATA, FeatureStore.open(tmp_path / "s"))
    mine = np.array(DATA.recordings) == first
    assert np.abs(pooled[mine]).sum(axis=1).min() > 0
    assert not pooled[~mine].any()
    place = next(i for i, s in enumerate(DATA.samples) if len(s.executions) == 1 and mine[i])
    e = DATA.samples[place].executions[0]
    inside = rows[int(e.start) : int(np.ceil(e.end))].astype(np.float32)
    assert pooled[place] == pytest.approx(inside.mean(axis=0), abs=1e-3)
    half = pooled_features(DATA, FeatureStore.open(tmp_path / "s"), 0.5)
    inside = rows[int(e.start) : int(np.ceil(e.start + e.seconds / 2))].astype(np.float32)
    assert half[place] == pytest.approx(inside.mean(axis=0), abs=1e-3)


def test_rows_past_the_end_of_the_features_are_counted(tmp_path: Path) -> None:
    sample = DATA.samples[0]
    last = max(e.end for s in DATA.samples if s.recording_id == sample.recording_id for e in s.executions)
    for name, rows in (("whole", int(np.ceil(last))), ("cut", int(np.ceil(last)) - 2)):
        with StoreWriter(
            tmp_path / name, width=1, seconds=1.0, modality="video", backbone="b", source="t"
        ) as writer:
            writer.add(sample.recording_id, np.ones((rows, 1)))
    assert rows_past_the_end(DATA, FeatureStore.open(tmp_path / "whole")) == 0
    assert rows_past_the_end(DATA, FeatureStore.open(tmp_path / "cut")) >= 2


def test_a_video_that_tells_all_is_learned(tmp_path: Path) -> None:
    rows = {name: np.zeros((2_000, 2), np.float16) for name in DATA.recordings}
    for sample in DATA.samples:
        for e in sample.executions:
            rows[sample.recording_id][int(e.start) : int(np.ceil(e.end)), int(sample.mistaken)] = 1
    with StoreWriter(
        tmp_path / "s", width=2, seconds=1.0, modality="video", backbone="b", source="t"
    ) as writer:
        for name, each in rows.items():
            writer.add(name, each)
    model = SequenceModel("causal", [FeatureStore.open(tmp_path / "s")], QUICK, tmp_path / "run")
    chosen = model.fit(TASK)
    assert auc_test(model, TASK.target) > 0.95
    assert chosen["features"] == 78
    other = SequenceModel("causal", [], QUICK, tmp_path / "run")
    with pytest.raises(UserError):  # the checkpoints are of another network
        other.fit(TASK)
