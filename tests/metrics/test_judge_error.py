import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import confusion_matrix
from statsmodels.stats.proportion import proportion_confint

from proctor.metrics.errors import MetricInputError
from proctor.metrics.judge_error import (
    JudgeError,
    corrected_share,
    judge_accuracy,
    judge_correlation,
    judge_error,
    prediction_powered_mean,
)

GOOD = JudgeError(right=60, right_yes=54, wrong=40, wrong_no=32)
"""Sensitivity 0.9, specificity 0.8."""

# -- the judge's error -----------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=40))
def test_judge_error_equals_scikit_learn(marks):
    human, judge = [h for h, _ in marks], [j for _, j in marks]
    found = judge_error(human, judge)
    if marks:
        (tn, fp), (fn, tp) = confusion_matrix(human, judge, labels=[False, True])
        assert (found.right, found.right_yes, found.wrong, found.wrong_no) == (tp + fn, tp, tn + fp, tn)
        assert found.accuracy == (tp + tn) / len(marks)
    else:
        assert found.accuracy is found.sensitivity is found.specificity is None
        assert not found.accuracy_interval.defined


def test_judge_error_rates_and_intervals():
    assert (GOOD.sensitivity, GOOD.specificity, GOOD.accuracy) == (0.9, 0.8, 0.86)
    wilson = proportion_confint(54, 60, method="wilson")
    assert (GOOD.sensitivity_interval.low, GOOD.sensitivity_interval.high) == pytest.approx(wilson)
    wilson = proportion_confint(32, 40, method="wilson")
    assert (GOOD.specificity_interval.low, GOOD.specificity_interval.high) == pytest.approx(wilson)
    perfect = judge_error([1, 0, 1], [1, 0, 1])
    assert perfect.sensitivity == perfect.specificity == 1.0


def test_judge_error_refuses():
    with pytest.raises(MetricInputError, match="2 human marks, 1 judge marks"):
        judge_error([1, 0], [1])
    with pytest.raises(MetricInputError, match=r"human marks must be yes/no .*number 1 \(from 0\) is 2"):
        judge_error([1, 2], [1, 0])
    with pytest.raises(MetricInputError, match="judge marks must be yes/no"):
        judge_error([1, 0], [1, math.nan])
    with pytest.raises(MetricInputError, match="must be yes/no"):
        judge_error(["a"], [1])
    with pytest.raises(MetricInputError, match="flat list"):
        judge_error([[1]], [1])
    with pytest.raises(MetricInputError, match="5 of 4 right items"):
        JudgeError(4, 5, 1, 1)
    with pytest.raises(MetricInputError, match="confidence"):
        JudgeError(4, 4, 1, 1, confidence=95)


# -- agreement of judge and people ---------------------------------------------------------------------------------


def test_judge_accuracy_and_correlation_golden():
    human, judge = [0, 1, 2, 2, 1, 0], [0, 1, 2, 1, 1, 1]
    found = judge_accuracy(human, judge)
    assert found.value == pytest.approx(4 / 6)
    assert (found.low, found.high) == pytest.approx(proportion_confint(4, 6, method="wilson"))
    assert judge_correlation(human, judge, resamples=0).value == pytest.approx(
        stats.pearsonr(human, judge).statistic
    )
    perfect = judge_correlation([0, 50, 100] * 5, [0, 50, 100] * 5, resamples=200)
    assert perfect.value == 1.0
    assert judge_accuracy([0, 50], [0, 50]).value == 1.0


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=25),
    st.floats(0.1, 100),
    st.floats(-1e6, 1e6),
)
def test_correlation_equals_scipy_in_any_unit(marks, scale, shift):
    human, judge = (np.array(v, dtype=float) for v in zip(*marks, strict=True))
    found = judge_correlation(human, judge, resamples=0)
    if len(set(human)) < 2 or len(set(judge)) < 2:
        assert math.isnan(found.value)
        assert "every item the same mark" in found.note
        return
    assert found.value == pytest.approx(stats.pearsonr(human, judge).statistic, abs=1e-9)
    assert judge_correlation(scale * human + shift, judge, resamples=0).value == pytest.approx(
        found.value, abs=1e-5
    )
    assert judge_correlation(judge, human, resamples=0).value == pytest.approx(found.value)


def test_correlation_interval_agrees_with_fishers_z_and_clusters_widen_it():
    rng = np.random.default_rng(2)
    human = rng.normal(0, 1, 300)
    judge = 0.7 * human + rng.normal(0, 0.7, 300)
    found = judge_correlation(human, judge, resamples=2_000)
    theirs = stats.pearsonr(human, judge).confidence_interval()
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.02)
    order = rng.permutation(300)
    assert judge_correlation(human[order], judge[order], resamples=2_000) == found
    names = [f"c{i:03}" for i in range(300) for _ in range(4)]
    copies = judge_correlation(np.repeat(human, 4), np.repeat(judge, 4), clusters=names, resamples=2_000)
    naive = judge_correlation(np.repeat(human, 4), np.repeat(judge, 4), resamples=2_000)
    assert copies.high - copies.low == pytest.approx(found.high - found.low, rel=0.1)
    assert naive.high - naive.low < 0.65 * (copies.high - copies.low)
    right = judge_accuracy(np.repeat(human > 0, 4), np.repeat(judge > 0, 4), clusters=names, resamples=2_000)
    alone = judge_accuracy(human > 0, judge > 0)
    assert right.high - right.low == pytest.approx(alone.high - alone.low, rel=0.15)


@pytest.mark.parametrize("metric", [judge_accuracy, judge_correlation])
def test_judge_marks_undefined_and_refused(metric):
    empty = metric([], [])
    assert math.isnan(empty.value)
    assert empty.note
    with pytest.raises(MetricInputError, match=r"human marks have shape \(2,\), judge marks \(1,\)"):
        metric([1, 2], [1])
    with pytest.raises(MetricInputError, match="finite"):
        metric([1, math.nan], [1, 2])
    with pytest.raises(MetricInputError, match="flat lists"):
        metric(["a"], [1])
    with pytest.raises(MetricInputError, match="2 items, 1 clusters"):
        metric([1, 2], [1, 2], clusters=["a"])
    with pytest.raises(MetricInputError, match="too large"):
        metric([1, 1e300], [1, 2])
    one = metric([1, 2], [1, 2], clusters=["a", "a"])
    assert one.value == 1
    assert "one cluster" in one.note
    assert metric([1, 2], [1, 2], clusters=["a", "b"], resamples=0).low is None


def test_draws_in_which_a_side_is_constant_are_left_out():
    """One odd mark among twelve: a third of the draws miss it; rounding must not make a correlation of them."""
    human, judge = [0.1] * 11 + [0.7], [0.3, 0.1] * 5 + [0.3, 0.9]
    found = judge_correlation(human, judge, resamples=2_000)
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(2_000):
        chosen = rng.integers(0, 12, 12)
        if 11 in chosen:
            draws.append(np.corrcoef(np.array(human)[chosen], np.array(judge)[chosen])[0, 1])
    assert min(draws) - 0.05 <= found.low <= found.value <= found.high <= 1


def test_correlation_of_constant_marks_says_whose():
    assert "people give every item the same mark" in judge_correlation([1, 1, 1], [0, 1, 2]).note
    assert "the judge gives every item the same mark" in judge_correlation([0, 1, 2], [0.1, 0.1, 0.1]).note
    assert "needs two items" in judge_correlation([1], [1]).note


# -- Rogan and Gladen ------------------------------------------------------------------------------------------


def test_corrected_share_golden():
    """By hand: (0.62 + 0.8 - 1) / (0.9 + 0.8 - 1) = 0.6."""
    found = corrected_share(248, 400, GOOD)
    assert found.value == pytest.approx(0.6)
    assert found.low < 0.6 < found.high
    assert found.note == ""
    assert str(found.signature) == (
        "corrected_share|calibration:60+40|confidence:0.95|interval:lang-reiczigel|method:rogan-gladen"
    )


def test_perfect_judge_changes_nothing_and_the_interval_is_agresti_coull():
    certain = JudgeError(10**9, 10**9, 10**9, 10**9)
    found = corrected_share(30, 120, certain)
    assert found.value == 0.25
    assert (found.low, found.high) == pytest.approx(
        proportion_confint(30, 120, method="agresti_coull"), abs=1e-7
    )


@settings(max_examples=50)
@given(st.floats(0.05, 0.95), st.floats(0.55, 1), st.floats(0.55, 1))
def test_corrected_share_inverts_the_judge(share, sensitivity, specificity):
    m = 10**6
    error = JudgeError(m, round(m * sensitivity), m, round(m * specificity))
    seen = share * error.sensitivity + (1 - share) * (1 - error.specificity)
    found = corrected_share(round(seen * 10**9), 10**9, error)
    assert found.value == pytest.approx(share, abs=1e-6)
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_calibration_error_widens_the_interval():
    def width(size):
        found = corrected_share(248, 400, JudgeError(size, round(0.9 * size), size, round(0.8 * size)))
        return found.high - found.low

    assert width(20) > width(100) > width(10_000) > 0
    assert width(100) > 1.2 * width(10_000)


def test_corrected_share_covers_the_truth():
    """600 worlds with a share of 0.6, sensitivity 0.9, specificity 0.8, 50 + 50 calibration items."""
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(600):
        error = JudgeError(50, int(rng.binomial(50, 0.9)), 50, int(rng.binomial(50, 0.8)))
        found = corrected_share(int(rng.binomial(400, 0.62)), 400, error)
        hits += found.low <= 0.6 <= found.high
    assert 0.925 <= hits / 600 <= 0.985


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (JudgeError(0, 0, 10, 9), "no answer that people call right"),
        (JudgeError(10, 9, 0, 0), "no answer that people call wrong"),
        (JudgeError(10, 5, 10, 5), "sensitivity 0.500 + specificity 0.500 ≤ 1"),
        (JudgeError(10, 1, 10, 1), "does not tell right from wrong"),
    ],
)
def test_corrected_share_undefined_says_why(error, why):
    found = corrected_share(5, 10, error)
    assert math.isnan(found.value)
    assert found.low is None
    assert why in found.note


def test_corrected_share_edges():
    assert "nothing was judged" in corrected_share(0, 0, GOOD).note
    below = corrected_share(5, 100, GOOD)
    assert below.value == 0.0
    assert "cut to the scale from -0.2143" in below.note
    assert corrected_share(100, 100, GOOD).value == 1.0
    assert "only 5 right and 5 wrong" in corrected_share(5, 10, JudgeError(5, 5, 5, 5)).note
    barely = corrected_share(5, 10, JudgeError(1, 1, 300, 1))
    assert barely.value == 0.0
    assert barely.low is None
    assert "no interval" in barely.note
    for counts in ((5, 4), (-1, 4)):
        with pytest.raises(MetricInputError, match="cannot be"):
            corrected_share(*counts, GOOD)


# -- prediction-powered inference --------------------------------------------------------------------------------


def sample(n=60, others=240, bias=0.1, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(0.6, 0.2, n + others)
    judge = truth + bias + rng.normal(0, noise, truth.size)
    human = truth.copy()
    human[n:] = np.nan
    return human, judge, truth


def test_prediction_powered_mean_is_the_published_formula():
    human, judge, _ = sample()
    found = prediction_powered_mean(human, judge)
    rectifier = human[:60] - judge[:60]
    value = judge[60:].mean() + rectifier.mean()
    error = math.sqrt(judge[60:].var(ddof=1) / 240 + rectifier.var(ddof=1) / 60)
    assert found.value == pytest.approx(value)
    assert (found.low, found.high) == pytest.approx(
        (value - 1.959964 * error, value + 1.959964 * error), abs=1e-6
    )
    assert str(found.signature) == "prediction_powered_mean|cluster:item|confidence:0.95|labels:60|weight:1"
    assert found.n == 300


def test_prediction_powered_mean_takes_out_bias_and_narrows():
    human, judge, truth = sample(bias=0.3, noise=0.05)
    found = prediction_powered_mean(human, judge)
    assert found.low < truth.mean() < found.high
    assert judge.mean() > found.high
    alone = prediction_powered_mean(human[:60], judge[:60])
    assert found.high - found.low < 0.7 * (alone.high - alone.low)


def test_tuned_weight_of_a_perfect_judge_gives_the_mean_of_all():
    human, _, truth = sample()
    found = prediction_powered_mean(human, truth, tuned=True)
    assert found.value == pytest.approx(truth.mean(), abs=0.01)
    assert found.signature.parameters["weight"] == "tuned"
    weight = np.cov(truth[:60])[()] / ((1 + 60 / 240) * truth.var(ddof=1))
    assert found.note == f"weight of the judge {weight:.3f}"
    assert found.value == pytest.approx(weight * truth[60:].mean() + (1 - weight) * truth[:60].mean())


def test_tuned_weight_of_a_useless_judge_gives_the_human_mean():
    human, judge, _ = sample(noise=0.0)
    noise = np.random.default_rng(3).normal(0, 5, judge.size)
    tuned, plain = (prediction_powered_mean(human, noise, tuned=t) for t in (True, False))
    assert tuned.value == pytest.approx(human[:60].mean(), abs=0.02)
    assert tuned.high - tuned.low < 0.2 * (plain.high - plain.low)
    constant = prediction_powered_mean(human, np.ones(300), tuned=True)
    assert constant.value == pytest.approx(human[:60].mean())


def test_human_marks_everywhere_are_the_plain_mean():
    _, judge, truth = sample()
    for tuned in (False, True):
        found = prediction_powered_mean(truth, judge, tuned=tuned)
        assert found.value == pytest.approx(truth.mean())
        error = truth.std(ddof=1) / math.sqrt(300)
        assert found.high - found.value == pytest.approx(1.959964 * error, rel=1e-6)


@settings(max_examples=30)
@given(st.randoms(use_true_random=False), st.booleans(), st.booleans(), st.floats(-5, 5), st.floats(0.5, 100))
def test_neither_order_nor_unit_matters(random, tuned, clustered, shift, scale):
    human, judge, _ = sample(20, 40)
    clusters = [f"c{i % 15}" for i in range(60)] if clustered else None
    first = prediction_powered_mean(human, judge, clusters=clusters, tuned=tuned)
    order = list(range(60))
    random.shuffle(order)
    again = prediction_powered_mean(
        scale * human[order] + shift,
        scale * judge[order] + shift,
        clusters=None if clusters is None else [clusters[i] for i in order],
        tuned=tuned,
    )
    assert again.value == pytest.approx(
        scale * first.value + shift * (1 + 0 * scale), abs=1e-6 * scale + 1e-6
    )
    assert again.high - again.low == pytest.approx(scale * (first.high - first.low), rel=1e-6)


def test_clusters_widen_the_interval():
    human, judge, _ = sample(50, 200)
    order = np.argsort(np.tile(np.arange(250), 4), kind="stable")
    copies = np.tile(human, 4)[order], np.tile(judge, 4)[order]
    names = [f"c{i // 4:03}" for i in range(1000)]
    clustered = prediction_powered_mean(*copies, clusters=names)
    one = prediction_powered_mean(human, judge)
    naive = prediction_powered_mean(*copies)
    assert clustered.value == pytest.approx(one.value)
    assert clustered.high - clustered.low == pytest.approx(one.high - one.low, rel=0.02)
    assert naive.high - naive.low < 0.6 * (clustered.high - clustered.low)


@pytest.mark.parametrize("clustered", [False, True])
def test_prediction_powered_mean_covers_the_truth(clustered):
    rng = np.random.default_rng(6)
    hits = 0
    for _ in range(400):
        ease = np.repeat(rng.normal(0, 0.15, 150), 3) if clustered else 0.0
        truth = rng.normal(0.6, 0.2, 450) + ease
        judge = truth + 0.1 + rng.normal(0, 0.1, 450)
        human = np.full(450, np.nan)
        chosen = rng.choice(450, 90, replace=False)
        human[chosen] = truth[chosen]
        names = [str(i // 3) for i in range(450)] if clustered else None
        found = prediction_powered_mean(human, judge, clusters=names)
        hits += found.low <= 0.6 <= found.high
    assert 0.92 <= hits / 400 <= 0.985


def test_prediction_powered_mean_undefined_and_small():
    nobody = prediction_powered_mean([None, None], [1.0, 0.0])
    assert math.isnan(nobody.value)
    assert nobody.note == "nobody judged any item"
    assert math.isnan(prediction_powered_mean([], []).value)
    one = prediction_powered_mean([1.0, None, None], [1.0, 0.0, 1.0])
    assert one.value == 0.5
    assert (one.low, one.note) == (None, "one item judged: variation is unknown")
    assert prediction_powered_mean([1.0, 0.0, None], [1.0, 0.0, 1.0]).note == "one item without a human mark"
    few = prediction_powered_mean([1.0, 0.0, None, None], [1.0, 0.0, 1.0, 0.0])
    assert "only 2 items judged by people" in few.note
    clustered = prediction_powered_mean([1.0, 0.0, None, None], [1, 0, 1, 0], clusters=["a", "a", "b", "c"])
    assert "items of one cluster" in clustered.note
    assert clustered.low is None
    clustered = prediction_powered_mean([1.0, 0.0, None, None], [1, 0, 1, 0], clusters=["a", "b", "b", "c"])
    assert "only 2 clusters" in clustered.note


def test_prediction_powered_mean_refuses():
    with pytest.raises(MetricInputError, match=r"1 human marks for judge marks of shape \(2,\)"):
        prediction_powered_mean([1.0], [1.0, 2.0])
    with pytest.raises(MetricInputError, match="judge must have marked every item"):
        prediction_powered_mean([1.0, None], [1.0, math.nan])
    with pytest.raises(MetricInputError, match="finite numbers"):
        prediction_powered_mean([math.inf], [1.0])
    with pytest.raises(MetricInputError, match="flat list of numbers"):
        prediction_powered_mean(["x"], [1.0])
    with pytest.raises(MetricInputError, match="2 items, 1 clusters"):
        prediction_powered_mean([1.0, None], [1.0, 1.0], clusters=["a"])
    with pytest.raises(MetricInputError, match="confidence"):
        prediction_powered_mean([1.0], [1.0], confidence=2)
    with pytest.raises(MetricInputError, match="too large"):
        prediction_powered_mean([1e300, None], [1.0, 1.0])
