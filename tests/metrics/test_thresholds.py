import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from proctor.metrics.classification import (
    PUBLISHED_THRESHOLDS,
    above_threshold,
    choose_threshold,
    rescale_min_max,
)
from proctor.metrics.errors import MetricInputError


def test_perfect():
    found = choose_threshold([0, 0, 1, 1], [0.1, 0.2, 0.6, 0.8])
    assert (found.value, found.f1, found.n, found.positives) == (pytest.approx(0.4), 1.0, 4, 2)


def test_equal_to_the_threshold_is_normal():
    assert above_threshold([0.5, 0.50001, 0.4], 0.5).tolist() == [False, True, False]
    assert above_threshold([], 0.5).size == 0


def test_highest_threshold_among_equals():
    # one of two found without a false alarm (2/3), or both with two false alarms (4/6): the same F1
    found = choose_threshold([1, 0, 0, 1], [0.9, 0.8, 0.7, 0.6])
    assert found.f1 == pytest.approx(2 / 3)
    assert found.value == pytest.approx(0.85)


def test_everything_a_mistake_can_be_the_best_choice():
    found = choose_threshold([1, 1, 0], [0.1, 0.1, 0.9])
    assert found.value == -math.inf
    assert found.f1 == 0.8
    assert above_threshold([-1e300], found.value).all()


def test_ties_everywhere():
    found = choose_threshold([1, 0], [0.3, 0.3])
    assert found.value == -math.inf
    assert found.f1 == pytest.approx(2 / 3)


def test_neighbouring_floats_are_told_apart():
    low = 0.1
    high = math.nextafter(low, 1)
    found = choose_threshold([0, 1], [low, high])
    assert above_threshold([low, high], found.value).tolist() == [False, True]


@pytest.mark.parametrize(
    ("labels", "scores", "message"),
    [
        ([], [], "0 items without a mistake"),
        ([0, 0], [0.1, 0.2], "2 items without a mistake"),
        ([1], [0.1, 0.2], "parallel"),
        ([1, 0], [0.1, float("nan")], "finite"),
    ],
)
def test_invalid(labels, scores, message):
    with pytest.raises(MetricInputError, match=message):
        choose_threshold(labels, scores)


def test_a_threshold_must_be_a_number():
    with pytest.raises(MetricInputError, match="not a number"):
        above_threshold([0.1], float("nan"))


items = st.lists(st.tuples(st.booleans(), st.integers(0, 8)), min_size=1, max_size=25).filter(
    lambda pairs: any(label for label, _ in pairs)
)


@settings(max_examples=80)
@given(items, st.randoms(use_true_random=False))
def test_no_threshold_is_better_and_order_does_not_matter(pairs, random):
    labels, scores = map(np.array, zip(*pairs, strict=True))
    found = choose_threshold(labels, scores)
    assert found.f1 == pytest.approx(
        f1_score(labels, above_threshold(scores, found.value), zero_division=0.0), abs=1e-12
    )
    for threshold in [-1, *np.unique(scores), *(np.unique(scores) + 0.5)]:
        f1 = f1_score(labels, scores > threshold, zero_division=0.0)
        assert f1 <= found.f1 + 1e-12
        if abs(f1 - found.f1) < 1e-12:
            assert (scores > threshold).sum() >= (scores > found.value).sum()
    random.shuffle(pairs)
    assert choose_threshold(*zip(*pairs, strict=True)) == found


def test_published_rescaling():
    assert rescale_min_max([2, 3, 4]).tolist() == [0, 0.5, 1]
    assert rescale_min_max([-1e308, 0, 1e308]).tolist() == [0, 0.5, 1]
    assert PUBLISHED_THRESHOLDS == {"S": 0.6, "R": 0.4}


@pytest.mark.parametrize(
    ("scores", "message"), [([], "no scores"), ([3, 3], "all 2 scores are 3"), ([1], "all 1")]
)
def test_rescaling_needs_two_different_scores(scores, message):
    with pytest.raises(MetricInputError, match=message):
        rescale_min_max(scores)


def test_in_the_published_protocol_one_item_changes_the_others():
    scores = [0.2, 0.5, 0.6]
    calls = above_threshold(rescale_min_max(scores), 0.6)
    with_outlier = above_threshold(rescale_min_max([*scores, 5.0]), 0.6)
    assert calls.tolist() == [False, True, True]
    assert with_outlier[:3].tolist() == [False, False, False]
