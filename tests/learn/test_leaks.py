"""What no recogniser may learn from: labels of the test part, and the order in which things are written down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.learn.made import flipped, make_data, with_samples

from proctor.learn.averaged import Averaged
from proctor.learn.context import context_features
from proctor.learn.history import learn_histories
from proctor.learn.recogniser import Recogniser, Task
from proctor.learn.samples import Division, StepData, Subset
from proctor.learn.settings import TrainOptions
from proctor.learn.tabular import ContextModel, Floor
from proctor.stages.learn.mistakes import Trained, train

DATA, DIVISION = make_data(recordings=50)
QUICK = TrainOptions(epochs=3)


def sequence() -> Recogniser:
    """Return the transformer, where torch is there."""
    pytest.importorskip("torch", reason="needs torch")
    from proctor.learn.sequence import SequenceModel

    return SequenceModel(options=QUICK)


MODELS: dict[str, Callable[[], Recogniser]] = {
    "floor": Floor,
    "boosting": lambda: ContextModel(members=1),
    "logistic": lambda: ContextModel(estimator="logistic"),
    "sequence": sequence,
    "both": lambda: Averaged("both", Floor(), sequence()),
}


def trained(model: str, flip: Subset | None = None) -> Trained:
    """Train, with every label of one part turned round."""
    data = DATA
    if flip:
        for name in dict.fromkeys(DATA.samples[p].recording_id for p in DIVISION[flip]):
            data = flipped(data, name)
    return train(MODELS[model](), Task(data, DIVISION, data.labels()), resamples=0)


@pytest.mark.parametrize("model", MODELS)
def test_labels_of_the_test_part_change_nothing_but_its_figures(model: str) -> None:
    first, second, other = trained(model), trained(model, "test"), trained(model, "val")
    everywhere = np.arange(len(DATA.samples))
    scores, kinds = (
        (t.recogniser.scores(everywhere) for t in (first, second)),
        first.recogniser.kind_scores(everywhere),
    )
    assert np.array_equal(*scores)
    again = second.recogniser.kind_scores(everywhere)
    assert set(kinds) == set(again)
    assert all(np.array_equal(kinds[kind], again[kind]) for kind in kinds)
    assert first.chosen == second.chosen
    assert first.val == second.val
    assert first.test.auc.value != second.test.auc.value
    assert first.chosen != other.chosen  # those of the validation part do choose, so the control can fail


@pytest.mark.parametrize("model", ["floor", "boosting", "logistic"])
def test_labels_of_the_validation_part_choose_and_do_not_teach(model: str) -> None:
    """Where it has one class nothing can be chosen on it, so it does not matter which class that is."""
    scores = []
    for label in (False, True):
        target = DATA.labels()
        target[DIVISION.val] = label
        recogniser = MODELS[model]()
        recogniser.fit(Task(DATA, DIVISION, target))
        scores.append(recogniser.scores(DIVISION.test))
    assert np.array_equal(*scores)


def moved(order: np.ndarray) -> tuple[StepData, Division]:
    """Write the samples down in another order."""
    data = with_samples(DATA, [DATA.samples[p] for p in order])
    back = np.argsort(order)
    return data, Division("R", *(np.sort(back[DIVISION[part]]) for part in ("train", "val", "test")))  # type: ignore[index]


def test_the_order_of_steps_in_a_recording_changes_no_feature() -> None:
    rng = np.random.default_rng(0)
    order = np.lexsort((rng.random(len(DATA.samples)), np.unique(DATA.recordings, return_inverse=True)[1]))
    first = {r: n for n, r in enumerate(dict.fromkeys(DATA.recordings))}
    order = np.array(sorted(order, key=lambda p: first[DATA.recordings[p]]))  # recordings stay where they are
    assert (order != np.arange(order.size)).any()
    data, division = moved(order)
    before, after = (
        context_features(d, learn_histories(d, parts.train, d.labels(), 0)).values
        for d, parts in ((DATA, DIVISION), (data, division))
    )
    assert np.allclose(before[order], after, rtol=0, atol=1e-9, equal_nan=True)


def test_the_order_of_recordings_changes_no_feature_but_by_the_folds_of_training() -> None:
    order = np.arange(len(DATA.samples))[::-1]
    data, division = moved(order)
    before, after = (
        context_features(d, learn_histories(d, parts.train, d.labels(), 0)).values
        for d, parts in ((DATA, DIVISION), (data, division))
    )
    judged = np.concatenate([DIVISION.val, DIVISION.test])
    assert np.allclose(before[judged], after[np.argsort(order)][judged], rtol=0, atol=1e-9, equal_nan=True)


@pytest.mark.parametrize("model", MODELS)
def test_times_of_the_test_part_change_no_score_of_another(model: str) -> None:
    """Not even means and medians of features are taken there."""
    mine = set(DIVISION.test.tolist())
    slow = [
        replace(s, executions=tuple(replace(e, end=e.end + 300) for e in s.executions)) if p in mine else s
        for p, s in enumerate(DATA.samples)
    ]
    others = np.concatenate([DIVISION.train, DIVISION.val])
    scores = []
    for data in (DATA, with_samples(DATA, slow)):
        recogniser = MODELS[model]()
        recogniser.fit(Task(data, DIVISION, data.labels()))
        scores.append((recogniser.scores(others), recogniser.scores(DIVISION.test)))
    assert np.array_equal(scores[0][0], scores[1][0])
    assert not np.array_equal(scores[0][1], scores[1][1])
