import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sklearn

from proctor.metrics import classification
from proctor.metrics.classification import (
    CHANCE,
    METRICS,
    accuracy,
    average_precision,
    between_roc_auc,
    chance_scores,
    count_outcomes,
    equal_error_rate,
    f1_score,
    macro_average_precision,
    macro_kind_roc_auc,
    macro_roc_auc,
    paired_difference,
    precision,
    recall,
    roc_auc,
    within_roc_auc,
)
from proctor.metrics.errors import MetricInputError
from proctor.metrics.score import Score, Signature

DECISIONS = [accuracy, precision, recall, f1_score]
CURVES = [roc_auc, average_precision, equal_error_rate]


@pytest.mark.parametrize("metric", DECISIONS)
def test_perfect_decisions(metric):
    assert metric([1, 0, 1], [1, 0, 1]).value == 1.0


def test_perfect_curves():
    labels, scores = [1, 0, 1], [0.9, 0.1, 0.8]
    assert roc_auc(labels, scores).value == 1.0
    assert average_precision(labels, scores).value == 1.0
    assert equal_error_rate(labels, scores).value == 0.0
    assert macro_roc_auc(labels, scores, ["a", "a", "a"]).value == 1.0


def test_golden_by_hand():
    labels, calls = [1, 1, 1, 0, 0], [1, 0, 0, 1, 0]
    outcomes = count_outcomes(labels, calls)
    assert (outcomes.true_positives, outcomes.false_positives) == (1, 1)
    assert (outcomes.false_negatives, outcomes.true_negatives) == (2, 1)
    assert (outcomes.n, outcomes.positives, outcomes.called) == (5, 3, 2)
    assert [m(labels, calls).value for m in DECISIONS] == pytest.approx([0.4, 0.5, 1 / 3, 0.4])


@pytest.mark.parametrize(
    ("hits", "false", "n", "positives", "printed"),
    [
        (37, 19, 799, 249, (71.09, 66.07, 14.86, 24.26)),  # published: S, Omnivore, V1
        (227, 376, 671, 241, (41.88, 37.65, 94.19, 53.79)),  # published: R, 3DResNet, V1
    ],
)
def test_published_rows(hits, false, n, positives, printed):
    labels = [1] * positives + [0] * (n - positives)
    calls = [1] * hits + [0] * (positives - hits) + [1] * false + [0] * (n - positives - false)
    assert tuple(round(100 * m(labels, calls).value, 2) for m in DECISIONS) == printed


@pytest.mark.parametrize("metric", [*DECISIONS, *CURVES])
def test_nothing_is_undefined_and_says_so(metric):
    score = metric([], [])
    assert math.isnan(score.value)
    assert (score.n, score.note) == (0, "there is nothing to score")
    assert score.low is None


@pytest.mark.parametrize("metric", [recall, f1_score, *CURVES])
def test_without_a_mistake_it_is_undefined(metric):
    score = metric([0, 0], [0, 1])
    assert math.isnan(score.value)
    assert "no item of the reference is a mistake" in score.note


@pytest.mark.parametrize("metric", [roc_auc, equal_error_rate])
def test_with_mistakes_only_a_roc_is_undefined(metric):
    score = metric([1, 1], [0.1, 0.3], clusters=["a", "b"])
    assert math.isnan(score.value)
    assert "every item of the reference is a mistake" in score.note


def test_precision_without_a_call_is_zero_and_says_so():
    score = precision([1, 0], [0, 0])
    assert score.value == 0.0
    assert "precision is set to 0, as published" in score.note
    assert precision([0, 0], [1, 0]).note == ""


def test_one_item():
    assert accuracy([1], [1]).value == 1.0
    score = accuracy([1], [1], clusters=["a"])
    assert score.low is None
    assert "one cluster" in score.note


@pytest.mark.parametrize("metric", [*DECISIONS, *CURVES])
@pytest.mark.parametrize(
    ("labels", "values"),
    [
        ([1, 0], [1]),
        ([1, 3], [1, 0]),
        ([1, 0], [1, float("nan")]),
        (["a", "b"], [1, 0]),
        ([1, 0], [[1], [0]]),
    ],
)
def test_invalid(metric, labels, values):
    with pytest.raises(MetricInputError):
        metric(labels, values)


def test_decisions_are_no_scores():
    with pytest.raises(MetricInputError, match=r"0\.7 at position 1.*threshold"):
        f1_score([1, 0], [0, 0.7])


@pytest.mark.parametrize("metric", [*DECISIONS, *CURVES])
def test_wrong_clusters(metric):
    with pytest.raises(MetricInputError, match="one cluster an item"):
        metric([1, 0], [1, 0], clusters=["a"])


pairs = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30)


@settings(max_examples=60)
@given(pairs)
def test_decisions_equal_scikit_learn(items):
    labels, calls = zip(*items, strict=True)
    assert accuracy(labels, calls).value == pytest.approx(sklearn.accuracy_score(labels, calls), abs=1e-12)
    known = sklearn.precision_score(labels, calls, zero_division=0.0)
    assert precision(labels, calls).value == pytest.approx(known, abs=1e-12)
    if any(labels):
        known = sklearn.recall_score(labels, calls, zero_division=0.0)
        assert recall(labels, calls).value == pytest.approx(known, abs=1e-12)
        known = sklearn.f1_score(labels, calls, zero_division=0.0)
        assert f1_score(labels, calls).value == pytest.approx(known, abs=1e-12)


def recordings(n, groups=12):
    return [f"r{k % groups}" for k in range(n)]


def made(n=240, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.random(n) < 0.35
    return labels, np.round(rng.normal(size=n) + 0.8 * labels, 1), recordings(n)


@pytest.mark.parametrize("metric", [*DECISIONS, *CURVES])
def test_interval_equals_a_bootstrap_with_scikit_learn(metric):
    """Resample recordings one by one, score each resample with scikit-learn, take percentiles."""
    labels, scores, clusters = made()
    values = scores > 0.5 if metric in DECISIONS else scores
    score = metric(labels, values, clusters=clusters, resamples=1000)
    slow = {
        accuracy: sklearn.accuracy_score,
        precision: sklearn.precision_score,
        recall: sklearn.recall_score,
        f1_score: sklearn.f1_score,
        roc_auc: sklearn.roc_auc_score,
        average_precision: sklearn.average_precision_score,
    }
    if metric not in slow:
        assert score.low < score.value < score.high
        return
    names = np.array(clusters)
    members = [np.flatnonzero(names == name) for name in sorted(set(clusters))]
    rng = np.random.default_rng(1)
    draws = []
    for _ in range(250):
        rows = np.concatenate([members[k] for k in rng.integers(0, len(members), len(members))])
        draws.append(slow[metric](labels[rows], values[rows]))
    low, high = np.quantile(draws, [0.025, 0.975])
    assert score.low == pytest.approx(low, abs=0.4 * (high - low))
    assert score.high == pytest.approx(high, abs=0.4 * (high - low))


@pytest.mark.parametrize("metric", [*DECISIONS, *CURVES])
def test_order_of_items_changes_nothing(metric):
    labels, scores, clusters = made(80)
    values = scores > 0.5 if metric in DECISIONS else scores
    order = random.Random(4).sample(range(80), 80)
    here = metric(labels, values, clusters=clusters, resamples=200)
    there = metric(labels[order], values[order], clusters=[clusters[k] for k in order], resamples=200)
    assert here == there


@pytest.mark.parametrize("metric", CURVES)
def test_monotone_transformations_change_nothing(metric):
    labels, scores, _ = made(80)
    assert metric(labels, scores).value == metric(labels, np.exp(scores / 2)).value


def test_signature_says_how_it_was_measured():
    labels, scores, clusters = made(60)
    score = roc_auc(
        labels, scores, clusters=clusters, resamples=50, seed=3, confidence=0.9, settings={"level": "step"}
    )
    assert str(score.signature) == (
        "roc_auc|cluster:recording|interval:bca-90|level:step|positive:error|resamples:50|seed:3|ties:half"
    )
    assert Score.parse(str(score)).signature == score.signature
    assert roc_auc(labels, scores).signature.parameters["interval"] == "none"
    assert roc_auc(labels, scores, clusters=clusters, resamples=0).low is None


def test_macro_roc_auc():
    labels, scores = [1, 0, 1, 0, 1, 1], [0.9, 0.1, 0.2, 0.3, 0.5, 0.6]
    score = macro_roc_auc(labels, scores, ["a", "a", "b", "b", "c", "c"])
    assert (score.value, score.n, score.skipped) == (0.5, 2, 1)
    assert "1 recording with one class left out" in score.note
    assert score.low is not None


def test_pooling_rewards_knowing_the_recording():
    """A constant for each recording orders nothing within it."""
    labels = [1, 1, 1, 0, 0, 0, 0, 1]
    scores = [9, 9, 9, 9, 1, 1, 1, 1]
    groups = ["a"] * 4 + ["b"] * 4
    assert macro_roc_auc(labels, scores, groups).value == 0.5
    assert roc_auc(labels, scores).value == 0.75


def test_macro_roc_auc_undefined_and_invalid():
    score = macro_roc_auc([1, 0], [0.1, 0.2], ["a", "b"])
    assert math.isnan(score.value)
    assert (score.n, score.skipped) == (0, 2)
    assert math.isnan(macro_roc_auc([], [], []).value)
    with pytest.raises(MetricInputError, match="2, 2 and 1"):
        macro_roc_auc([1, 0], [0.1, 0.2], ["a"])


@settings(max_examples=30)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4), st.sampled_from("abc")), min_size=1, max_size=30))
def test_macro_roc_auc_brute_force(items):
    labels, scores, groups = map(np.array, zip(*items, strict=True))
    areas = [
        sklearn.roc_auc_score(labels[groups == g], scores[groups == g])
        for g in set(groups)
        if len(set(labels[groups == g])) == 2
    ]
    score = macro_roc_auc(labels, scores, list(groups), resamples=10)
    assert score.n == len(areas)
    assert score.value == pytest.approx(np.mean(areas) if areas else math.nan, nan_ok=True)


@pytest.mark.parametrize("metric", [*DECISIONS, *CURVES])
def test_paired_difference(metric):
    labels, scores, clusters = made()
    noise = np.random.default_rng(9).normal(size=labels.size)
    a, b = scores + noise, scores
    if metric in DECISIONS:
        a, b = a > 0.5, b > 0.5
    score = paired_difference(metric.__name__, labels, a, b, clusters=clusters, resamples=400)
    assert score.value == pytest.approx(metric(labels, b).value - metric(labels, a).value, abs=1e-12)
    assert score.low <= score.value <= score.high
    back = paired_difference(metric.__name__, labels, b, a, clusters=clusters, resamples=400)
    assert back.value == pytest.approx(-score.value, abs=1e-12)
    assert score.signature.name == f"{metric.__name__}_difference"
    assert paired_difference(metric.__name__, labels, a, b).low is None


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc"])
def test_a_system_does_not_differ_from_itself(metric):
    labels, scores, clusters = made()
    values = scores > 0.5 if metric == "accuracy" else scores
    score = paired_difference(metric, labels, values, values, clusters=clusters, resamples=50)
    assert (score.value, score.low, score.high) == (0.0, 0.0, 0.0)


def test_pairing_narrows_the_interval():
    """Two systems that share what is hard: their difference is known better than either."""
    labels, scores, clusters = made(480)
    a, b = scores, scores + 0.2 * labels
    alone = roc_auc(labels, a, clusters=clusters, resamples=500)
    together = paired_difference("roc_auc", labels, a, b, clusters=clusters, resamples=500)
    assert together.high - together.low < 0.5 * (alone.high - alone.low)
    assert together.low > 0


def test_paired_difference_undefined_and_invalid():
    score = paired_difference("recall", [0, 0], [0, 1], [1, 1])
    assert math.isnan(score.value)
    assert "no item of the reference is a mistake" in score.note
    assert "nothing to score" in paired_difference("accuracy", [], [], []).note
    with pytest.raises(MetricInputError, match=r"no metric 'auc'.*roc_auc"):
        paired_difference("auc", [1, 0], [1, 0], [1, 0])
    with pytest.raises(MetricInputError, match="parallel"):
        paired_difference("accuracy", [1, 0], [1, 0], [1])
    with pytest.raises(MetricInputError, match="one cluster an item"):
        paired_difference("accuracy", [1, 0], [1, 0], [1, 0], clusters=["a"])


def kinds(n=200, seed=2):
    rng = np.random.default_rng(seed)
    names = ("Timing", "Order", "Technique")
    reference = {name: rng.random(n) < share for name, share in zip(names, (0.1, 0.3, 0.2), strict=True)}
    return reference, {name: rng.random(n) + 0.3 * flags for name, flags in reference.items()}


def test_means_over_kinds_equal_scikit_learn():
    reference, scores = kinds()
    names = sorted(reference)
    truth = np.stack([reference[k] for k in names], axis=1)
    values = np.stack([scores[k] for k in names], axis=1)
    found = macro_average_precision(reference, scores, clusters=recordings(200), resamples=200)
    known = sklearn.average_precision_score(truth, values, average="macro")
    assert found.value == pytest.approx(known, abs=1e-12)
    assert found.low < found.value < found.high
    assert found.signature.parameters["kinds"] == "3"
    known = sklearn.roc_auc_score(truth, values, average="macro")
    assert macro_kind_roc_auc(reference, scores).value == pytest.approx(known, abs=1e-12)


def test_kinds_that_do_not_occur_are_left_out_and_named():
    reference, scores = kinds()
    without = macro_average_precision(
        {**reference, "Other": np.zeros(200, dtype=bool)}, {**scores, "Other": scores["Order"]}
    )
    assert without.value == macro_average_precision(reference, scores).value
    assert without.note == "left out, because they do not occur: Other"
    nothing = macro_average_precision({"Other": [0, 0]}, {"Other": [0.1, 0.2]})
    assert math.isnan(nothing.value)
    assert "Other" in nothing.note
    assert "no kinds" in macro_kind_roc_auc({}, {}).note


def test_kinds_must_be_the_same():
    with pytest.raises(MetricInputError, match="same kinds; only one has 'b'"):
        macro_average_precision({"a": [1]}, {"a": [1], "b": [1]})
    with pytest.raises(MetricInputError, match="1 and 2"):
        macro_average_precision({"a": [1], "b": [1, 0]}, {"a": [1], "b": [1, 0]})


@pytest.mark.parametrize(
    ("n", "positives", "acc", "f1"), [(671, 241, 35.92, 52.85), (799, 249, 31.16, 47.52)]
)
def test_published_anchors_of_always_error(n, positives, acc, f1):
    rows = chance_scores([1] * positives + [0] * (n - positives), "always-error")
    assert round(100 * rows["accuracy"].value, 2) == acc
    assert round(100 * rows["f1_score"].value, 2) == f1
    assert rows["recall"].value == 1.0
    assert rows["roc_auc"].value == 0.5


def test_anchors_equal_the_expected_file(shared_expected):
    expected = shared_expected("recognition")
    for split, sizes in expected["error_recognition_test_sets"].items():
        if split in ("R", "S"):
            labels = [1] * sizes["positives"] + [0] * (sizes["steps"] - sizes["positives"])
            rows = chance_scores(labels, "always-error")
            anchor = expected["all_positive_baseline"][split]
            assert round(100 * rows["accuracy"].value, 2) == anchor["acc"]
            assert round(100 * rows["f1_score"].value, 2) == anchor["f1"]


@pytest.mark.parametrize("labels", [[1, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1], [1]])
def test_always_and_never_equal_scoring_a_constant(labels):
    for predictor, call in (("always-error", 1), ("always-normal", 0)):
        rows = chance_scores(labels, predictor)
        for metric in DECISIONS:
            assert rows[metric.__name__].value == pytest.approx(metric(labels, [call] * len(labels)).value)
        for metric in CURVES:
            known = metric(labels, [0.3] * len(labels))
            found = rows[metric.__name__]
            assert found.value == pytest.approx(known.value, nan_ok=True)
            assert found.note == known.note


@pytest.mark.parametrize("labels", [[1, 0, 0], [1, 1, 0, 0, 0], [1, 0], [1]])
def test_prior_is_the_exact_expectation(labels):
    """All 2^n sets of calls, each with its probability."""
    n, p = len(labels), sum(labels) / len(labels)
    rows = chance_scores(labels, "prior")
    expected = dict.fromkeys(rows, 0.0)
    for calls in itertools.product([0, 1], repeat=n):
        chance = math.prod(p if call else 1 - p for call in calls)
        for metric in DECISIONS:
            expected[metric.__name__] += chance * metric(labels, calls).value
    for metric in DECISIONS:
        assert rows[metric.__name__].value == pytest.approx(expected[metric.__name__], abs=1e-12)


def test_prior_of_a_large_set_is_the_prevalence():
    rows = chance_scores([1] * 241 + [0] * 430, "prior")
    p = 241 / 671
    assert rows["precision"].value == pytest.approx(p)
    assert rows["recall"].value == pytest.approx(p)
    assert rows["f1_score"].value == pytest.approx(p, abs=1e-3)
    assert rows["average_precision"].value == pytest.approx(p)
    assert rows["accuracy"].value == pytest.approx(p * p + (1 - p) ** 2)


@pytest.mark.parametrize("predictor", CHANCE)
def test_chance_of_nothing_and_of_no_mistake(predictor):
    assert all(math.isnan(score.value) and score.note for score in chance_scores([], predictor).values())
    rows = chance_scores([0, 0], predictor)
    assert math.isnan(rows["f1_score"].value)
    assert not math.isnan(rows["accuracy"].value)
    assert rows["precision"].value == 0.0


def test_unknown_predictor():
    with pytest.raises(MetricInputError, match="always-error"):
        chance_scores([1, 0], "coin")


def test_catalogue_entries_point_to_functions_and_have_true_signatures():
    labels, scores, clusters = made(60)
    for entry in METRICS:
        module, function = entry.function.split(":")
        assert module == "classification"
        assert getattr(classification, function).__name__ == entry.name
        assert Signature.parse(entry.signature).name == entry.name
        assert entry.name in classification.__all__
    assert set(roc_auc(labels, scores, clusters=clusters, resamples=9).signature.parameters) <= set(
        Signature.parse(next(m for m in METRICS if m.name == "roc_auc").signature).parameters
    )


PAIRS = [within_roc_auc, between_roc_auc]


def test_knowing_the_recording_orders_nothing_within_it():
    labels, scores = [1, 1, 1, 0, 0, 0, 0, 1], [9, 9, 9, 9, 1, 1, 1, 1]
    groups = ["a"] * 4 + ["b"] * 4
    assert within_roc_auc(labels, scores, clusters=groups).value == 0.5
    assert between_roc_auc(labels, scores, clusters=groups).value == 0.9  # 9 of 10 pairs; 16 in all, 6 within
    within, between = (m(labels, scores, clusters=groups).value for m in PAIRS)
    assert roc_auc(labels, scores).value == (6 * within + 10 * between) / 16


def test_a_recording_weighs_as_much_as_it_has_pairs():
    labels, scores, groups = [1, 0, 0, 0, 1, 0], [9, 1, 2, 3, 0, 1], ["a"] * 4 + ["b"] * 2
    assert within_roc_auc(labels, scores, clusters=groups).value == 3 / 4
    assert macro_roc_auc(labels, scores, groups).value == 1 / 2


@pytest.mark.parametrize("metric", PAIRS)
def test_intervals_and_differences_of_pairs(metric):
    labels, scores, clusters = made()
    score = metric(labels, scores, clusters=clusters, resamples=400)
    assert score.low < score.value < score.high
    assert "cluster:recording" in str(score.signature)
    assert metric(labels, scores, clusters=clusters, resamples=0).low is None
    noisy = scores + np.random.default_rng(9).normal(size=labels.size)
    difference = paired_difference(metric.__name__, labels, noisy, scores, clusters=clusters, resamples=400)
    noise = metric(labels, noisy, clusters=clusters, resamples=0)
    assert difference.value == pytest.approx(score.value - noise.value, abs=1e-12)
    assert difference.low < difference.value < difference.high


def test_pairs_without_recordings_or_without_pairs():
    for metric in PAIRS:
        with pytest.raises(MetricInputError, match="needs clusters"):
            metric([1, 0], [1, 2])
        with pytest.raises(MetricInputError, match="needs clusters"):
            paired_difference(metric.__name__, [1, 0], [1, 2], [2, 1])
        assert "every item" in metric([1, 1], [1, 2], clusters=["a", "b"]).note
    for groups, metric in ((["a", "b"], within_roc_auc), (["a", "a"], between_roc_auc)):
        score = metric([1, 0], [1, 2], clusters=groups)
        assert math.isnan(score.value)
        assert "recording" in score.note
        found = paired_difference(metric.__name__, [1, 0], [1, 2], [2, 1], clusters=groups)
        assert (math.isnan(found.value), found.note) == (True, score.note)
