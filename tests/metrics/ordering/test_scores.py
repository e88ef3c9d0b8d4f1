import numpy as np
import pytest
from scipy.stats import binomtest

from proctor.metrics.errors import MetricInputError
from proctor.metrics.interval import wilson_interval
from proctor.metrics.ordering import (
    METRICS,
    ORDER_COLUMNS,
    PARTIAL_COLUMNS,
    PartialOrder,
    compare_orders,
    measure_arrays,
    measure_orders,
    measure_partial_orders,
    score_orders,
    score_partial_orders,
)
from proctor.metrics.score import Signature


def random_measures(count=80, steps=5, seed=0, sorted_share=0.4):
    rng = np.random.default_rng(seed)
    orders = rng.permuted(np.tile(np.arange(steps), (count, 1)), axis=1)
    orders[rng.random(count) < sorted_share] = np.arange(steps)
    return measure_arrays(np.tile(np.arange(steps), (count, 1)), orders)


EMPTY = measure_orders([], [])


def test_values_are_means_and_shares_stay_shares():
    references = [range(5), range(5), range(3), range(4)]
    predictions = [[0, 1, 2, 3, 4], [1, 0, 2, 3, 4], [1, 0, 2], [3, 1, 2, 0]]
    scores = score_orders(measure_orders(references, predictions), resamples=0)
    found = {name: round(score.value, 4) for name, score in scores.items()}
    assert found == {
        "position_accuracy": 0.6083,
        "perfect_match_ratio": 0.25,
        "longest_common_subsequence": 3.25,
        "longest_common_substring": 2.75,
        "kendall_tau": 0.3667,
        "displacement": 2.5,
        "normalised_subsequence": round((1 + 0.8 + 2 / 3 + 0.5) / 4, 4),
        "normalised_substring": round((1 + 0.6 + 1 / 3 + 0.5) / 4, 4),
        "normalised_displacement": round((0 + 2 / 12 + 2 / 4 + 6 / 8) / 4, 4),
        "micro_position_accuracy": 0.6471,
    }
    assert all(score.n == 4 for score in scores.values())
    assert scores["kendall_tau"].low is None
    assert scores["kendall_tau"].signature.parameters["interval"] == "none"


def test_perfect_match_has_wilsons_interval():
    measures = measure_arrays(np.tile([0, 1], (300, 1)), np.array([[0, 1]] * 197 + [[1, 0]] * 103))
    score = score_orders(measures, resamples=0)["perfect_match_ratio"]
    assert (score.low, score.high) == pytest.approx((0.6012598042, 0.7081120648), abs=1e-8)
    assert str(score.signature) == "perfect_match_ratio|average:macro|interval:wilson-95"


def test_intervals_hold_the_value_and_are_deterministic():
    measures = random_measures()
    scores = score_orders(measures, resamples=2_000, seed=3)
    assert scores == score_orders(measures, resamples=2_000, seed=3)
    assert scores["displacement"].low != score_orders(measures, resamples=2_000, seed=4)["displacement"].low
    for score in scores.values():
        assert score.low < score.value < score.high
    mixed = measures.take(np.random.default_rng(1).permutation(len(measures)))
    again = score_orders(mixed, resamples=2_000, seed=3)
    for name, score in scores.items():
        assert (again[name].low, again[name].high) == pytest.approx((score.low, score.high), abs=1e-12)


def test_bootstrap_spread_is_that_of_the_mean():
    measures = random_measures(400)
    score = score_orders(measures, resamples=20_000)["kendall_tau"]
    error = measures.kendall_tau.std() / np.sqrt(400)
    assert (score.high - score.low) / 2 == pytest.approx(1.96 * error, rel=0.03)


def test_clusters_widen_intervals_and_replace_wilson():
    measures = random_measures(30)
    ten = measures.take(np.repeat(np.arange(30), 10))
    alone = score_orders(ten, resamples=2_000)
    grouped = score_orders(ten, clusters=[f"m{i // 10}" for i in range(300)], resamples=2_000)
    for name, score in alone.items():
        assert grouped[name].value == score.value
        assert grouped[name].high - grouped[name].low > 2 * (score.high - score.low)
    assert grouped["perfect_match_ratio"].signature.parameters["interval"] == "percentile-95"
    assert grouped["perfect_match_ratio"].signature.parameters["cluster"] == "given"
    once = score_orders(measures, clusters=[f"m{i}" for i in range(30)], resamples=20_000)
    free = score_orders(measures, resamples=20_000)
    assert once["displacement"].high == pytest.approx(free["displacement"].high, rel=0.03)


def test_one_sequence_no_sequence_one_cluster_no_variation():
    one = score_orders(measure_orders([[0, 1]], [[1, 0]]))
    assert one["kendall_tau"].value == -1
    assert one["kendall_tau"].low is None
    assert "one sequence was observed" in one["kendall_tau"].note
    none = score_orders(EMPTY, failed=3)
    assert all(np.isnan(score.value) and score.note and score.failed == 3 for score in none.values())
    cluster = score_orders(random_measures(20), clusters=["m"] * 20)
    assert "one cluster" in cluster["kendall_tau"].note
    same = score_orders(measure_orders([[0, 1]] * 20, [[0, 1]] * 20))
    assert (same["kendall_tau"].low, same["kendall_tau"].high) == (1, 1)
    assert "no variation" in same["kendall_tau"].note
    few = score_orders(random_measures(8))
    assert "only 8" in few["kendall_tau"].note


def test_parameters_and_failed_reach_the_scores():
    scores = score_orders(random_measures(), failed=2, parameters={"mode": "repair"}, resamples=10)
    assert {score.failed for score in scores.values()} == {2}
    assert {score.signature.parameters["mode"] for score in scores.values()} == {"repair"}
    assert {s.signature.parameters["average"] for n, s in scores.items() if "micro" in n} == {"micro"}


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"clusters": ["a"]}, MetricInputError),
        ({"confidence": 1.0}, ValueError),
        ({"resamples": -1}, ValueError),
    ],
)
def test_invalid_options(options, error):
    with pytest.raises(error):
        score_orders(random_measures(), **options)


def test_partial_scores():
    orders = [PartialOrder([*"abc"], [("a", "b")]), PartialOrder([*"abc"], []), PartialOrder(["a"], [])]
    measures = measure_partial_orders(orders, [[*"bac"], [*"cba"], ["a"]])
    scores = score_partial_orders(measures, failed=1, resamples=100)
    assert scores["valid_order"].value == pytest.approx(2 / 3)
    expected = wilson_interval(2, 3)
    assert scores["valid_order"].low == pytest.approx(expected.low)
    assert scores["violated_constraints"].value == pytest.approx(1 / 3)
    assert (scores["violated_share"].value, scores["violated_share"].n, scores["violated_share"].skipped) == (
        1,
        1,
        2,
    )
    assert (scores["precedence_f1"].value, scores["precedence_f1"].n) == (0, 2)
    assert (scores["comparable_tau"].value, scores["comparable_tau"].skipped) == (-1, 2)
    loose = score_partial_orders(measure_partial_orders(orders[1:], [[*"cba"], ["a"]]))
    assert np.isnan(loose["comparable_tau"].value)
    assert loose["comparable_tau"].note == "undefined for every item: no two steps are comparable"
    assert np.isnan(score_partial_orders(measure_partial_orders([], []))["valid_order"].value)


def test_comparison():
    a, b = random_measures(60, seed=1, sorted_share=0.2), random_measures(60, seed=2, sorted_share=0.8)
    items = [f"i{k}" for k in range(60)]
    found = compare_orders(a, b, items, names=("old", "new"), resamples=2_000)
    assert list(found) == [c.name for c in ORDER_COLUMNS if not c.name.startswith("micro")]
    accuracy = found["position_accuracy"]
    assert accuracy.difference == pytest.approx((b.position_accuracy - a.position_accuracy).mean())
    assert accuracy.low < accuracy.difference < accuracy.high
    assert accuracy.p < 0.01
    assert found["displacement"].difference < 0
    match = found["perfect_match_ratio"]
    only_a = int((a.perfect_match > b.perfect_match).sum())
    only_b = int((b.perfect_match > a.perfect_match).sum())
    assert (match.losses, match.wins) == (only_a, only_b)
    assert match.p == pytest.approx(binomtest(only_a, only_a + only_b).pvalue)
    assert "mcnemar" in match.method


def test_comparison_of_identical_systems_and_by_clusters():
    a = random_measures(40)
    items = [f"i{k}" for k in range(40)]
    same = compare_orders(a, a, items, resamples=200)
    assert all(pair.difference == 0 and pair.p == 1 for pair in same.values())
    b = random_measures(40, seed=9)
    grouped = compare_orders(a, b, items, clusters=[f"m{k % 8}" for k in range(40)], resamples=200)
    assert grouped["kendall_tau"].clusters == 8
    assert "mcnemar" not in grouped["perfect_match_ratio"].method
    turned = compare_orders(b, a, items, resamples=200)
    forth = compare_orders(a, b, items, resamples=200)
    for name, pair in forth.items():
        assert turned[name].difference == pytest.approx(-pair.difference)
        assert turned[name].p == pytest.approx(pair.p)


@pytest.mark.parametrize("items", [["x"], ["x", "x"], ["x", "y", "z"]])
def test_comparison_needs_the_same_sequences(items):
    a = random_measures(2)
    with pytest.raises(MetricInputError, match="own name"):
        compare_orders(a, a, items)


def test_nothing_to_compare():
    assert compare_orders(EMPTY, EMPTY, [])["kendall_tau"].difference is None


def test_many_short_sequences_have_intervals():
    measures = random_measures(200_000)
    score = score_orders(measures, resamples=10_000)["kendall_tau"]
    assert score.high - score.low < 0.02


def test_every_metric_is_in_the_catalogue_and_where_it_says():
    import proctor.metrics.ordering as room

    names = [entry.name for entry in METRICS]
    assert len(set(names)) == len(names)
    assert {c.name for c in ORDER_COLUMNS} | {c.name for c in PARTIAL_COLUMNS} <= set(names)
    for entry in METRICS:
        module, _, function = entry.function.partition(":")
        assert module == "ordering"
        assert callable(getattr(room, function))
        assert str(Signature.parse(entry.signature)) == entry.signature
        assert entry.family == "ordering"
        assert entry.definition.endswith(".")


def test_printed_signatures_have_the_form_that_the_catalogue_shows():
    scores = score_orders(random_measures(), parameters={"mode": "strict", "references": "first"})
    shown = {entry.name: entry.signature for entry in METRICS}
    for name, score in scores.items():
        assert str(score.signature) == shown[name]
    partial = measure_partial_orders([PartialOrder([*"ab"], [("a", "b")])] * 20, [[*"ab"], [*"ba"]] * 10)
    for name, score in score_partial_orders(partial, parameters={"mode": "strict"}).items():
        assert str(score.signature) == shown[name]
