import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.metrics.answer import answer_signature, mean_score, points, pooled_mean, slice_scores

SIGNATURE = answer_signature(benchmark="demo-1", judge="rules-1")


def recordings(n):
    return [f"r{i}" for i in range(n)]


def test_points():
    assert [points(j) for j in (0, 1, 2, None)] == [0.0, 50.0, 100.0, None]


@pytest.mark.parametrize("bad", [3, -1, 1.5, True, "2"])
def test_points_refuses(bad):
    with pytest.raises(ValueError, match="0, 1 or 2"):
        points(bad)


def test_perfect_and_all_wrong():
    assert mean_score([100.0] * 12, recordings(12), SIGNATURE).value == 100.0
    assert mean_score([0.0] * 12, recordings(12), SIGNATURE).value == 0.0


def test_golden():
    score = mean_score([0.0, 50.0, 100.0, 100.0], recordings(4), SIGNATURE)
    assert score.value == 62.5
    assert score.n == 4
    assert score.low < 62.5 < score.high


def test_empty_is_undefined_and_says_why():
    score = mean_score([], [], SIGNATURE, skipped=7)
    assert math.isnan(score.value)
    assert score.note == "there are no items"
    assert (score.n, score.skipped) == (0, 7)


def test_failures_are_counted_and_never_zero():
    score = mean_score([100.0, None, None], recordings(3), SIGNATURE)
    assert score.value == 100.0
    assert (score.n, score.failed) == (1, 2)
    assert score.low is None
    assert "one cluster" in score.note
    assert mean_score([None, None], recordings(2), SIGNATURE).note == "every answer failed"


def test_invalid():
    with pytest.raises(ValueError, match="2 values for 1 clusters"):
        mean_score([1.0, 2.0], ["r"], SIGNATURE)
    with pytest.raises(ValueError, match="finite"):
        mean_score([1.0, math.nan], recordings(2), SIGNATURE)


def test_slices_are_means_of_the_same_marks():
    values = [100.0, 0.0, 50.0, None]
    scores = slice_scores(
        values,
        recordings(4),
        {"clean": [True, True, False, False], "noisy": [False, False, True, True]},
        SIGNATURE,
    )
    assert scores["clean"].value == 50.0
    assert scores["noisy"].value == 50.0
    assert scores["noisy"].failed == 1
    assert scores["clean"].signature.parameters["slice"] == "clean"
    with pytest.raises(ValueError, match="slice 'x' has 1 marks for 4 items"):
        slice_scores(values, recordings(4), {"x": [True]}, SIGNATURE)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.0, 50.0, 100.0]), st.booleans()), min_size=2, max_size=30))
def test_disjoint_slices_pool_to_the_whole(items):
    values = [v for v, _ in items]
    masks = {"in": [m for _, m in items], "out": [not m for _, m in items]}
    scores = slice_scores(values, recordings(len(items)), masks, SIGNATURE, resamples=50)
    whole = mean_score(values, recordings(len(items)), SIGNATURE, resamples=50)
    pooled = pooled_mean([scores[k].value for k in masks], [scores[k].n for k in masks])
    assert pooled == pytest.approx(whole.value)


def test_published_average_is_weighted_by_176_clean_and_225_noisy():
    """Best published row: 48.9 clean, 40.4 noisy, 44.1 over all; the swapped weights miss it."""
    assert round(pooled_mean([48.9, 40.4], [176, 225]), 1) == 44.1
    assert abs(pooled_mean([48.9, 40.4], [225, 176]) - 44.1) > 0.8


def test_pooled_mean_ignores_empty_slices_and_refuses_nonsense():
    assert pooled_mean([10.0, math.nan], [3, 0]) == 10.0
    for means, counts in ([1.0], [0]), ([1.0], [-1]), ([1.0], [1, 2]), ([], []):
        with pytest.raises(ValueError, match=r"counts|means"):
            pooled_mean(means, counts)


def test_signature_names_every_choice():
    assert str(answer_signature(benchmark="demo-1", judge="rules:1", seed=3)) == (
        "mean_score|benchmark:demo-1|cluster:recording|interval:bca-95|judge:rules:1|resamples:10000"
        "|scale:0-50-100|seed:3|slice:all|weighting:item"
    )
