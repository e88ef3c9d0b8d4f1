import numpy as np
import pytest

from proctor.metrics.errors import MetricInputError
from proctor.metrics.localization import (
    localization_scores,
    match_segments,
    score_intervals,
    weighted_scores,
)
from proctor.metrics.localization.scores import centred_intervals
from proctor.metrics.localization.segments import Segments


def simulated(rng, videos, recipes=8, steps=8, noise=50):
    """Videos of one recipe each, found more or less well, with false positives of all classes."""
    truth, found = [], []
    for v in range(videos):
        recipe, quality, now = int(rng.integers(recipes)), rng.beta(3, 2), 0.0
        for k in range(steps):
            label, length = recipe * steps + k, rng.uniform(10, 60)
            now += rng.uniform(0, 10)
            truth.append((v, now, now + length, label))
            for _ in range(2):
                if rng.random() < quality:
                    a, b = rng.normal(0, 0.2 * length, 2)
                    found.append((v, *sorted((now + a, now + length + b)), label, rng.beta(3, 3)))
            now += length
        starts, lengths = rng.uniform(0, now, noise), rng.uniform(5, 60, noise)
        others, scores = rng.integers(0, recipes * steps, noise), rng.beta(2, 5, noise)
        found += [
            (v, a, a + n, c, s) for a, n, c, s in zip(starts, lengths, others.tolist(), scores, strict=True)
        ]
    return Segments.of(*zip(*truth, strict=True)), Segments.of(*zip(*found, strict=True))


def test_an_interval_for_every_column_around_its_value():
    matches = match_segments(*simulated(np.random.default_rng(0), 12), (0.3, 0.5))
    values = weighted_scores(matches, np.ones((1, 12)))[0]
    intervals = score_intervals(matches, resamples=200, seed=1)
    assert len(intervals) == len(values) == 11
    for interval, value in zip(intervals, values, strict=True):
        assert 0 <= interval.low < value < interval.high <= 1
        assert interval.method == "centred-95"
        assert interval.note == ""
    narrow = score_intervals(matches, resamples=200, seed=1, confidence=0.5)
    assert all(b.high - b.low < a.high - a.low for a, b in zip(intervals, narrow, strict=True))


def test_same_seed_same_interval_in_any_order_of_the_rows():
    rng = np.random.default_rng(0)
    truth, found = simulated(rng, 5)
    first = score_intervals(match_segments(truth, found), resamples=50, seed=3)
    again = match_segments(truth.take(rng.permutation(len(truth))), found.take(rng.permutation(len(found))))
    assert score_intervals(again, resamples=50, seed=3) == first
    assert score_intervals(again, resamples=50, seed=4) != first


def test_perfect_predictions_have_no_width_and_say_so():
    truth = Segments.of(list(range(12)), np.zeros(12), np.ones(12), ["x"] * 12)
    found = Segments.of(list(range(12)), np.zeros(12), np.ones(12), ["x"] * 12, np.ones(12))
    for interval in score_intervals(match_segments(truth, found), resamples=20):
        assert interval.low == interval.high == 1
        assert "no width" in interval.note


def test_few_videos_and_one_video():
    truth, found = simulated(np.random.default_rng(0), 3)
    assert all("only 3 videos" in i.note for i in score_intervals(match_segments(truth, found), resamples=20))
    alone = match_segments(truth.take(truth.video == 0), found.take(found.video == 0))
    for interval in score_intervals(alone, resamples=20):
        assert not interval.defined
        assert "one video" in interval.note


def test_resamples_without_any_segment_are_left_out():
    # Nine videos of ten hold no ground truth: a third of the draws cannot be scored.
    truth = Segments.of(["v0"], [0], [1], ["x"])
    found = Segments.of([f"v{k}" for k in range(10)], [0] * 10, [1] * 10, ["x"] * 10, np.linspace(0, 1, 10))
    matches = match_segments(truth, found, (0.5,))
    intervals = score_intervals(matches, resamples=100)
    assert all(i.defined for i in intervals)
    assert intervals[0].low < 0.1 < intervals[0].high


def test_undefined_values_have_no_ends():
    low, high = centred_intervals(np.array([np.nan, 5.0]), np.full((4, 2), np.nan), clusters=20)
    assert not low.defined
    assert not high.defined
    assert high.note == "no resample has a defined value"


def test_options_out_of_range():
    matches = match_segments(*simulated(np.random.default_rng(0), 2))
    with pytest.raises(MetricInputError, match="resamples must be positive"):
        score_intervals(matches, resamples=0)
    with pytest.raises(MetricInputError, match="confidence must lie strictly between"):
        score_intervals(matches, confidence=95)


def test_centred_intervals_cover_where_percentiles_do_not():
    """The reason for centring, in small: 19 videos, mAP at 0.1 and 0.5 and R@1x at 0.5, as the text of the module says."""
    rng = np.random.default_rng(1)
    columns = [0, 1, 3]

    def scores():
        return localization_scores(*simulated(rng, 19), tiou=(0.1, 0.5))

    def values(result):
        return np.array([*result.mean_ap, result.mean_recall[1][0]])

    expected = np.mean([values(scores()) for _ in range(120)], axis=0)
    runs, centred, percentile = 40, np.zeros(3), np.zeros(3)
    for run in range(runs):
        matches = scores().matches
        intervals = [score_intervals(matches, resamples=150, seed=run)[c] for c in columns]
        centred += [i.low <= e <= i.high for i, e in zip(intervals, expected, strict=True)]
        drawn = rng.multinomial(19, np.full(19, 1 / 19), size=150).astype(float)
        ends = np.quantile(weighted_scores(matches, drawn)[:, columns], [0.025, 0.975], axis=0)
        percentile += (ends[0] <= expected) & (expected <= ends[1])
    assert (centred / runs >= 0.85).all()  # 0.95 less three standard errors of 40 runs
    assert (percentile[:2] / runs < centred[:2] / runs).all()
