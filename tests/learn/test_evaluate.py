"""How well mistakes are recognised: pooled, within and between recordings."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.learn.evaluate import evaluate, threshold_of

TARGET = np.array([1, 0, 1, 0, 0, 0], dtype=np.bool_)
RECORDINGS = ["a", "a", "a", "b", "b", "b"]


def test_who_knows_the_recording_alone_is_perfect_between_and_at_chance_within() -> None:
    scores = np.array([0.9, 0.9, 0.9, 0.1, 0.1, 0.1])
    found = evaluate(TARGET, scores, RECORDINGS, thresholds={"fixed": 0.5}, resamples=0)
    assert (found.n, found.positives, found.recordings) == (6, 2, 2)
    assert (found.auc_within.value, found.auc_between.value, found.auc_mistaken.value) == (0.5, 1.0, 0.5)
    assert found.auc.value == pytest.approx((6 + 1) / 8)  # six of eight pairs are of two recordings
    (decided,) = found.decided
    assert (decided.precision.value, decided.recall.value, decided.chosen_on) == (2 / 3, 1.0, "fixed")


def test_a_part_with_one_class_has_no_auc_and_says_why() -> None:
    found = evaluate(np.zeros(3, np.bool_), np.arange(3.0), ["a", "b", "c"], thresholds={}, resamples=0)
    assert found.auc.value is None
    assert found.auc.note
    assert found.auc_within.value is None
    assert threshold_of(np.zeros(3, np.bool_), np.arange(3.0)) == 0.5


def test_kinds_stand_against_everything_else() -> None:
    kind = np.array([0, 0, 1, 0, 0, 0], dtype=np.bool_)
    kinds = {"timing": (kind, np.array([0.1, 0.2, 0.9, 0.1, 0.95, 0.2]))}
    found = evaluate(TARGET, np.ones(6), RECORDINGS, thresholds={}, kinds=kinds, resamples=0)
    assert found.kinds["timing"].positives == 1
    assert found.kinds["timing"].auc.value == 4 / 5
    assert found.kinds["timing"].auc_within.value == 1


def test_mistakes_beside_those_of_order_are_told_apart_from_them() -> None:
    order = np.array([1, 0, 0, 0, 0, 0], dtype=np.bool_)
    scores = np.array([0.9, 0.5, 0.3, 0.1, 0.4, 0.2])
    found = evaluate(TARGET, scores, RECORDINGS, thresholds={}, order=order, resamples=50)
    assert found.without_order is not None
    assert found.without_order.positives == 1
    assert (found.without_order.auc.value, found.without_order.auc_within.value) == (0.5, 0.0)
    assert found.without_order.auc.low is not None
    assert evaluate(TARGET, scores, RECORDINGS, thresholds={}, resamples=0).without_order is None
    nothing = evaluate(TARGET, scores, RECORDINGS, thresholds={}, order=TARGET, resamples=0).without_order
    assert nothing is not None
    assert nothing.auc.value is None


def test_a_threshold_is_a_number_that_json_has() -> None:
    """Calling everything a mistake is best where the only mistake scores lowest."""
    target = np.array([True, False, False])
    for scores in (np.array([0.0, 0.5, 0.5]), np.array([-7.0, 0.5, 0.5])):
        threshold = threshold_of(target, scores)
        assert np.isfinite(threshold)
        assert (scores > threshold).all()
    assert threshold_of(target, np.array([0.0, 0.5, 0.5])) == -1.0
