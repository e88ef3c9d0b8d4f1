import json
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, f1_score
from statsmodels.stats.inter_rater import aggregate_raters
from statsmodels.stats.inter_rater import cohens_kappa as statsmodels_kappa
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss

from proctor.metrics.agreement import (
    agreement_by_pair,
    chance_agreement,
    chance_specific_agreement,
    cohen_kappa,
    fleiss_kappa,
    mean_pair_agreement,
    prevalence,
    rating_counts,
    raw_agreement,
    resampled_interval,
    specific_agreement,
)
from proctor.metrics.bootstrap import bootstrap_interval, cluster_sums, mean_of_sums
from proctor.metrics.errors import MetricInputError
from proctor.metrics.score import Signature


def expand(table):
    """Confusion table to two label sequences."""
    a, b = [], []
    for (x, y), n in table.items():
        a += [x] * n
        b += [y] * n
    return a, b


def test_perfect():
    labels = ["yes", "no", "yes", "no"]
    assert raw_agreement(labels, labels).value == 1.0
    assert cohen_kappa(labels, labels).value == 1.0


def test_golden_kappa():
    """The worked table of the kappa literature: 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no gives 0.4."""
    a, b = expand({("y", "y"): 20, ("y", "n"): 5, ("n", "y"): 10, ("n", "n"): 15})
    score = cohen_kappa(a, b)
    assert score.value == pytest.approx(0.4)
    assert score.low < 0.4 < score.high
    assert raw_agreement(a, b).value == 0.7


def test_interval_of_kappa_is_near_the_asymptotic_one():
    """Standard error of Cohen (1960): sqrt(po (1 - po) / (n (1 - pe)^2))."""
    a, b = expand({("y", "y"): 200, ("y", "n"): 50, ("n", "y"): 100, ("n", "n"): 150})
    score = cohen_kappa(a, b)
    error = np.sqrt(0.7 * 0.3 / 500) / 0.5
    assert score.high - score.low == pytest.approx(2 * 1.96 * error, rel=0.1)


def test_no_agreement_is_negative():
    assert cohen_kappa(["y", "n"] * 10, ["n", "y"] * 10).value == -1.0


def test_empty_and_single_label_are_undefined_with_a_note():
    for score in (raw_agreement([], []), cohen_kappa([], [])):
        assert math.isnan(score.value)
        assert score.note
    only = cohen_kappa(["y"] * 5, ["y"] * 5)
    assert math.isnan(only.value)
    assert "label 'y' only" in only.note
    assert raw_agreement(["y"] * 5, ["y"] * 5).value == 1.0


def test_invalid():
    for metric in (raw_agreement, cohen_kappa):
        with pytest.raises(ValueError, match="parallel"):
            metric(["y"], [])


def test_clusters_widen_and_are_named():
    rng = np.random.default_rng(0)
    a = [str(x) for x in np.repeat(rng.integers(0, 2, 40), 5)]
    b = [str(x) for x in np.repeat(rng.integers(0, 2, 40), 5)]
    alone, together = cohen_kappa(a, b), cohen_kappa(a, b, clusters=[str(i // 5) for i in range(200)])
    assert together.high - together.low > 1.5 * (alone.high - alone.low)
    assert together.signature.parameters["cluster"] == "given"


def test_by_pair_uses_what_both_labelled():
    labels = {"ana": {"1": "y", "2": "n", "3": "y"}, "ben": {"2": "n", "3": "n", "4": "y"}, "cem": {"9": "y"}}
    (pair,) = agreement_by_pair(labels)
    assert (pair.a, pair.b, pair.agreed, pair.n) == ("ana", "ben", 1, 2)
    assert pair.raw.value == 0.5


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=30))
def test_kappa_is_symmetric_and_at_most_raw(pairs):
    a, b = zip(*pairs, strict=True)
    one, two = cohen_kappa(a, b, resamples=20), cohen_kappa(b, a, resamples=20)
    if math.isnan(one.value):
        assert math.isnan(two.value)
    else:
        assert one.value == pytest.approx(two.value)
        assert -1.0 <= one.value <= raw_agreement(a, b).value + 1e-12


@pytest.mark.shared
def test_published_judgements_of_the_development_part(shared_data):
    """195 of the 401 examples: raw agreement near the published 0.869, kappa well below it."""
    examples = json.loads((shared_data / "promqa" / "examples_dev.json").read_text())
    pairs = [
        (str(x), str(y))
        for e in examples
        if all(j["question"] for j in e["verification"]["judges"])
        for x, y in zip(*(j["answers"] for j in e["verification"]["judges"]), strict=True)
    ]
    a, b = zip(*pairs, strict=True)
    raw, kappa = raw_agreement(a, b), cohen_kappa(a, b)
    assert raw.low < 0.869 < raw.high
    assert 0.5 < kappa.value < 0.75


# -- raw agreement, specific agreement, prevalence ----------------------------------------------------------------


def test_raw_agreement_with_clusters_is_bootstrapped():
    a, b = ["y", "n"] * 10, ["y", "y"] * 10
    score = raw_agreement(a, b, clusters=[str(i // 2) for i in range(20)])
    assert score.value == 0.5
    assert (score.low, score.high) == (0.5, 0.5)
    assert "no variation between clusters" in score.note
    assert str(score.signature) == "raw_agreement|cluster:given|interval:percentile-95|resamples:2000|seed:0"


def test_golden_specific_agreement_and_prevalence():
    """Cicchetti and Feinstein: 2a / (2a + b + c), 2d / (2d + b + c)."""
    a, b = expand({("y", "y"): 40, ("y", "n"): 5, ("n", "y"): 10, ("n", "n"): 45})
    assert specific_agreement(a, b, "y").value == pytest.approx(80 / 95)
    assert specific_agreement(a, b, "n").value == pytest.approx(90 / 105)
    assert prevalence(a, b, "y").value == pytest.approx(95 / 200)
    score = specific_agreement(a, b, "y", clusters=[str(i % 20) for i in range(100)])
    assert score.low < score.value < score.high


def test_specific_agreement_is_f1_of_one_against_the_other():
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 3, 80), rng.integers(0, 3, 80)
    for label in range(3):
        theirs = f1_score(a == label, b == label)
        assert specific_agreement(a, b, label).value == pytest.approx(theirs, abs=1e-12)


def test_specific_agreement_of_a_label_that_nobody_used_is_undefined():
    score = specific_agreement(["y", "y"], ["y", "y"], "n")
    assert math.isnan(score.value)
    assert score.note == "neither used the label 'n'"
    assert specific_agreement(["y"], ["y"], "y").value == 1.0
    for measure in (specific_agreement, prevalence):
        empty = measure([], [], "y")
        assert math.isnan(empty.value)
        assert empty.note == "nothing was labelled by both"
    assert prevalence(["y"], ["y"], "n").value == 0.0


def test_labels_go_into_signatures_whatever_they_hold():
    for label in ("a|b", "", "a:b"):
        assert specific_agreement([label], [label], label).value == 1.0
        assert str(prevalence([label], [label], label).signature)
    assert prevalence([1.0], [1.0], 1.0).signature.parameters["label"] == "1"


# -- weighted kappa ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_kappa_equals_scikit_learn(weights):
    rng = np.random.default_rng(1)
    for _ in range(20):
        a, b = rng.integers(1, 6, 60), rng.integers(1, 6, 60)
        theirs = cohen_kappa_score(
            a, b, weights=None if weights == "none" else weights, labels=[1, 2, 3, 4, 5]
        )
        assert cohen_kappa(a, b, weights=weights, resamples=0).value == pytest.approx(theirs, abs=1e-12)


def test_kappa_equals_statsmodels_of_the_table():
    table = np.array([[20, 5, 1], [3, 15, 4], [0, 6, 10]])
    a, b = expand({(x, y): table[x][y] for x in range(3) for y in range(3)})
    for weights, kind in (("none", None), ("linear", "linear"), ("quadratic", "quadratic")):
        theirs = statsmodels_kappa(table, wt=kind, return_results=False) if kind else None
        theirs = statsmodels_kappa(table, return_results=False) if kind is None else theirs
        assert cohen_kappa(a, b, weights=weights, resamples=0).value == pytest.approx(theirs, abs=1e-12)


def test_a_value_that_nobody_used_keeps_its_gap():
    """1, 2, 4, 5 without 3: scikit-learn's default takes 2 and 4 for neighbours, we do not."""
    a, b = [1, 2, 4, 5, 2, 4], [1, 4, 4, 5, 2, 2]
    ours = cohen_kappa(a, b, weights="linear").value
    assert ours == pytest.approx(cohen_kappa_score(a, b, weights="linear", labels=[1, 2, 3, 4, 5]), abs=1e-12)
    assert ours != pytest.approx(cohen_kappa_score(a, b, weights="linear"), abs=1e-3)
    ranked = cohen_kappa(a, b, weights="linear", values=[1, 2, 4, 5]).value
    assert ranked == pytest.approx(cohen_kappa_score(a, b, weights="linear"), abs=1e-12)


def test_weights_on_words_need_their_order():
    a, b = ["low", "mid", "high", "high"], ["low", "high", "high", "mid"]
    with pytest.raises(MetricInputError, match="need labels in an order, and 'high' is a text"):
        cohen_kappa(a, b, weights="linear")
    place = {"low": 0, "mid": 1, "high": 2}
    ours = cohen_kappa(a, b, weights="quadratic", values=["low", "mid", "high"]).value
    numbers = cohen_kappa([place[x] for x in a], [place[x] for x in b], weights="quadratic").value
    assert ours == pytest.approx(numbers, abs=1e-15)


def test_near_misses_count_less_with_weights():
    a, near, far = [1, 2, 3, 4, 5] * 4, [2, 3, 4, 5, 4] * 4, [5, 4, 1, 1, 1] * 4
    for weights in ("linear", "quadratic"):
        assert cohen_kappa(a, near, weights=weights).value > cohen_kappa(a, far, weights=weights).value
    assert cohen_kappa(a, near).value == cohen_kappa(a, near, weights="none").value < 0


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1.0, 1e9, 1e300])
def test_the_unit_of_numeric_labels_changes_nothing(scale):
    a, b = np.array([1.0, 2, 3, 4, 2]), np.array([1.0, 3, 3, 4, 1])
    ours = cohen_kappa(a * scale, b * scale, weights="quadratic", resamples=0).value
    assert ours == pytest.approx(cohen_kappa(a, b, weights="quadratic", resamples=0).value, abs=1e-12)


@pytest.mark.parametrize(
    ("a", "b", "options", "message"),
    [
        (["y"], ["y", "n"], {}, "parallel, got 1 and 2"),
        (["y", None], ["y", "n"], {}, "missing in row 1"),
        (["y", "n"], ["y", math.nan], {}, "missing in row 1"),
        ([1.0, math.inf], [1.0, 2.0], {}, "must be finite, got inf"),
        (["y", 1], ["y", "n"], {}, "texts and numbers are mixed"),
        ([("y",)], ["y"], {}, "a text or a number"),
        ([["y"]], [["y"]], {}, "got a list or an object"),
        (np.zeros((2, 2)), np.zeros((2, 2)), {}, "got a list or an object"),
        (["y"], ["y"], {"weights": "cubic"}, "none, linear, quadratic, got 'cubic'"),
        (["y"], ["x"], {"values": ["y"]}, "'x' is not in the order given"),
        (["y"], ["y"], {"values": ["y", "y"]}, "holds 'y' twice"),
        (["y"], ["y"], {"clusters": ["a", "b"]}, "2 cluster names for 1 items"),
        (["y"], ["y"], {"confidence": 1.0}, "confidence must lie strictly between 0 and 1"),
        (["y"], ["y"], {"resamples": -1}, "resamples must not be negative"),
        (["y"], ["y"], {"seed": -1}, "seed must not be negative"),
    ],
)
def test_bad_input_is_named(a, b, options, message):
    with pytest.raises(MetricInputError, match=message):
        cohen_kappa(a, b, **options)


def test_no_resamples_no_interval():
    score = cohen_kappa(["y", "n", "y"], ["y", "n", "n"], resamples=0)
    assert (score.low, score.high) == (None, None)
    assert str(score.signature) == "cohen_kappa|interval:none|weights:none"


def test_one_item_and_one_cluster_have_no_interval():
    one = cohen_kappa(["y"], ["n"])
    assert (one.value, one.low) == (0.0, None)
    assert "one cluster was observed" in one.note
    together = cohen_kappa(["y", "n"] * 5, ["y", "n", "n", "n"] * 2 + ["y", "n"], clusters=["r"] * 10)
    assert together.low is None


def test_undefined_resamples_are_counted():
    """One 'n' among ten items: about a third of the draws lacks it."""
    a, b = ["y"] * 9 + ["n"], ["y"] * 9 + ["n"]
    score = cohen_kappa(a, b, resamples=4_000)
    assert score.value == 1.0
    share = float(re.match(r"([\d.]+) % of the resamples were undefined", score.note).group(1)) / 100
    assert share == pytest.approx(0.9**10, abs=0.03)


def test_interval_is_that_of_the_room_where_both_are_defined():
    """Same draws as ``bootstrap_interval``, however they are cut into blocks."""
    rng = np.random.default_rng(0)
    sums = cluster_sums(rng.random((3, 200)), [str(i % 50) for i in range(200)])
    theirs = bootstrap_interval(sums, method="percentile", resamples=3_000, seed=5)
    ours = resampled_interval(sums, mean_of_sums, resamples=3_000, seed=5)
    assert (ours.low, ours.high) == (theirs.low, theirs.high)
    wide = np.hstack([sums, np.zeros((50, 20_000))])  # 400 rows a block
    blocks = resampled_interval(wide, mean_of_sums, resamples=3_000, seed=5)
    assert (blocks.low, blocks.high) == pytest.approx((ours.low, ours.high), abs=1e-12)


LABELS = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=2, max_size=25)


@settings(max_examples=40, deadline=None)
@given(LABELS, st.sampled_from(["none", "linear", "quadratic"]), st.randoms(use_true_random=False))
def test_kappa_ignores_the_order_of_items_and_is_symmetric(pairs, weights, random):
    a, b = zip(*pairs, strict=True)
    shuffled = list(pairs)
    random.shuffle(shuffled)
    c, d = zip(*shuffled, strict=True)
    one, two = (cohen_kappa(x, y, weights=weights, resamples=50) for x, y in ((a, b), (c, d)))
    assert str(one) == str(two)
    if not math.isnan(one.value):
        assert -1.0 - 1e-12 <= one.value <= 1.0
        assert one.value == pytest.approx(cohen_kappa(b, a, weights=weights, resamples=0).value, abs=1e-12)
        assert (one.value == 1.0) == (a == b)


@settings(max_examples=40, deadline=None)
@given(LABELS)
def test_relabelling_changes_nothing_and_two_labels_need_no_weights(pairs):
    a, b = zip(*pairs, strict=True)
    other = {1: "d", 2: "a", 3: "c", 4: "b"}
    one = cohen_kappa(a, b, resamples=0).value
    two = cohen_kappa([other[x] for x in a], [other[x] for x in b], resamples=0).value
    assert one == pytest.approx(two, abs=1e-12, nan_ok=True)
    c, d = [x > 2 for x in a], [x > 2 for x in b]
    values = [cohen_kappa(c, d, weights=w, resamples=0).value for w in ("none", "linear", "quadratic")]
    assert values == pytest.approx([values[0]] * 3, abs=1e-12, nan_ok=True)


@settings(max_examples=30, deadline=None)
@given(LABELS)
def test_raw_is_the_mean_of_specific_agreements_weighted_by_prevalence(pairs):
    a, b = zip(*pairs, strict=True)
    options = {"resamples": 0}
    total = sum(
        specific_agreement(a, b, x, **options).value * prevalence(a, b, x, **options).value for x in {*a, *b}
    )
    assert total == pytest.approx(raw_agreement(a, b).value, abs=1e-12)


# -- several annotators --------------------------------------------------------------------------------------------

PEOPLE = {
    "ana": {"1": 1, "2": 2, "3": 3, "4": 1, "5": 2},
    "ben": {"1": 1, "2": 3, "3": 3, "4": 1},
    "cem": {"2": 2, "3": 2, "4": 1, "5": 1},
}


def test_mean_of_pairs():
    pairs = agreement_by_pair(PEOPLE)
    raw = mean_pair_agreement(PEOPLE)
    assert raw.value == pytest.approx(np.mean([p.raw.value for p in pairs]), abs=1e-12)
    assert raw.n == sum(p.n for p in pairs) == 11
    for weights in ("none", "linear", "quadratic"):
        pairs = agreement_by_pair(PEOPLE, weights=weights)
        kappa = mean_pair_agreement(PEOPLE, "kappa", weights=weights)
        assert kappa.value == pytest.approx(np.mean([p.kappa.value for p in pairs]), abs=1e-12)
        assert kappa.low < kappa.value < kappa.high
        assert kappa.signature.parameters["weights"] == weights


def test_mean_of_pairs_leaves_out_what_is_undefined_and_says_so():
    labels = {"ana": {"1": "y", "2": "y", "3": "n"}, "ben": {"1": "y", "2": "y"}, "cem": {"1": "y", "3": "n"}}
    kappa = mean_pair_agreement(labels, "kappa")
    assert kappa.value == 1.0  # ana and cem on 1 and 3
    assert "2 of 3 pairs used one label only and were left out" in kappa.note
    assert "3 of 3 pairs share fewer than 10 items" in kappa.note
    assert "share" not in mean_pair_agreement(labels).note
    alike = mean_pair_agreement({"ana": {"1": "y"}, "ben": {"1": "y"}}, "kappa")
    assert math.isnan(alike.value)
    assert "every pair used one label only" in alike.note
    for nobody in ({}, {"ana": {"1": "y"}}, {"ana": {"1": "y"}, "ben": {"2": "y"}}):
        alone = mean_pair_agreement(nobody)
        assert math.isnan(alone.value)
        assert alone.note == "no two annotators labelled the same"
    with pytest.raises(MetricInputError, match="'raw' or 'kappa'"):
        mean_pair_agreement(PEOPLE, "alpha")


def test_clusters_of_items():
    clusters = dict.fromkeys("12345", "r")
    assert all("one cluster" in p.kappa.note for p in agreement_by_pair(PEOPLE, clusters=clusters))
    assert mean_pair_agreement(PEOPLE, clusters=clusters).low is None
    del clusters["3"]
    with pytest.raises(MetricInputError, match="item '3' has no cluster"):
        agreement_by_pair(PEOPLE, clusters=clusters)


def test_the_order_of_annotators_and_items_changes_nothing():
    turned = {who: dict(reversed(by.items())) for who, by in reversed(PEOPLE.items())}
    assert agreement_by_pair(PEOPLE) == agreement_by_pair(turned)
    assert mean_pair_agreement(PEOPLE, "kappa") == mean_pair_agreement(turned, "kappa")


def test_fleiss_equals_statsmodels():
    rng = np.random.default_rng(2)
    for raters, categories in ((2, 2), (3, 4), (6, 3)):
        ratings = rng.integers(0, categories, (40, raters))
        theirs = statsmodels_fleiss(aggregate_raters(ratings)[0])
        assert fleiss_kappa(ratings, resamples=0).value == pytest.approx(theirs, abs=1e-12)


def test_golden_fleiss():
    """The table of Fleiss (1971) as reprinted: 10 subjects, 14 raters, 5 categories, kappa 0.210."""
    table = [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]  # fmt: skip
    ratings = [[k for k, n in enumerate(row) for _ in range(n)] for row in table]
    score = fleiss_kappa(ratings)
    assert score.value == pytest.approx(0.20993070442195522, abs=1e-12)
    assert score.low < score.value < score.high


def test_fleiss_edges():
    assert fleiss_kappa([["y", "y"], ["n", "n"]]).value == 1.0
    for ratings, note in (
        ([], "no unit has two labels"),
        ([["y"], ["n"]], "no unit has two labels"),
        ([["y", "n"], ["y", None]], "units have 1 to 2 labels"),
        ([["y", "y"], ["y", "y"]], "all used the label 'y' only"),
    ):
        score = fleiss_kappa(ratings)
        assert math.isnan(score.value)
        assert note in score.note


def test_rating_counts():
    values, counts = rating_counts([["b", None, "a"], [], ["b", "b", math.nan]])
    assert values == ("a", "b")
    assert counts.tolist() == [[1, 1], [0, 0], [0, 2]]
    values, counts = rating_counts(np.array([[1.0, math.nan], [2.0, 2.0]]))
    assert (values, counts.tolist()) == ((1.0, 2.0), [[1, 0], [0, 2]])
    same = rating_counts(np.array([[1, 3], [2, 2]]))[1]
    assert same.tolist() == rating_counts([[1, 3], [2, 2]])[1].tolist()
    assert rating_counts([["a"]], ["a", "b"])[1].tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("ratings", "message"),
    [
        (["yes", "no"], "row 0 .* must be a list of labels, got 'yes'"),
        ([1, 2], "row 0 .* must be a list"),
        (np.array([1, 2]), r"one row a unit and one column a rater, got shape \(2,\)"),
        (np.array([[1.0, math.inf]]), "infinite one in row 0"),
        ([[["a"]]], "got a list or an object"),
        ([[("a",)]], "a text or a number"),
        ([["a", 1]], "mixed"),
    ],
)
def test_bad_ratings_are_named(ratings, message):
    with pytest.raises(MetricInputError, match=message):
        rating_counts(ratings)


# -- the published verification ------------------------------------------------------------------------------------

PUBLISHED = {
    ("0", "1"): (41, 41, 47, 55), ("1", "3"): (42, 42, 43, 49), ("1", "4"): (43, 43, 49, 54), ("1", "2"): (39, 36, 41, 44),
    ("0", "4"): (38, 36, 36, 43), ("2", "4"): (37, 32, 42, 45), ("3", "4"): (36, 33, 41, 46), ("0", "2"): (41, 39, 37, 44),
    ("0", "3"): (43, 41, 37, 45), ("2", "3"): (41, 37, 33, 42),
}  # fmt: skip
"""promqa.json, verification, per_pair: questions kept, alike; answers alike, judged by both."""


def published(answers):
    """Labels with the published number of agreements of every pair; which label is no matter to raw agreement."""
    labels = {who: {} for who in "01234"}
    for (a, b), (kept, q_agree, a_agree, a_total) in PUBLISHED.items():
        alike, n = (a_agree, a_total) if answers else (q_agree, kept)
        for k in range(n):
            labels[a][f"{a}{b}-{k}"] = "yes"
            labels[b][f"{a}{b}-{k}"] = "yes" if k < alike else "no"
    return labels


def test_golden_published_raw_agreement():
    """Pooled 0.869 and mean of ten pairs 0.868 for answers, 0.948 and 0.946 for questions."""
    for answers, pooled, mean in (
        (True, 0.8693790149892934, 0.8682014646509808),
        (False, 0.9476309226932669, 0.9459123784339477),
    ):
        labels = published(answers)
        pairs = agreement_by_pair(labels)
        assert len(pairs) == 10
        agreed, n = sum(p.agreed for p in pairs), sum(p.n for p in pairs)
        assert agreed / n == pytest.approx(pooled, abs=1e-12)
        score = mean_pair_agreement(labels)
        assert (score.value, score.n) == (pytest.approx(mean, abs=1e-12), n)
        assert score.low < mean < score.high
    assert min(p.raw.value for p in agreement_by_pair(published(True))) == pytest.approx(0.786, abs=5e-4)
    assert max(p.raw.value for p in agreement_by_pair(published(True))) == pytest.approx(0.933, abs=5e-4)


def test_golden_published_kappa():
    """ProMQA: 324 answers right for both, 82 wrong for both, 61 in conflict; kappa 0.643."""
    a, b = expand({("y", "y"): 324, ("n", "n"): 82, ("y", "n"): 30, ("n", "y"): 31})
    assert len(a) == 467
    assert cohen_kappa(a, b).value == pytest.approx(0.643, abs=5e-4)
    assert raw_agreement(a, b).value == pytest.approx(0.8693790149892934, abs=1e-15)


@pytest.mark.shared
def test_published_numbers_are_those_of_the_file(shared_expected):
    given = shared_expected("promqa")["verification"]
    keys = ("kept", "q_agree", "a_agree", "a_total")
    assert {tuple(k.split("-")): tuple(v[x] for x in keys) for k, v in given["per_pair"].items()} == PUBLISHED
    assert given["answer_agreement_pooled"] == 0.8693790149892934
    assert given["answer_agreement_mean_of_pairs"] == 0.8682014646509808
    assert given["question_agreement_on_401"] == 0.9476309226932669
    assert given["question_agreement_mean_of_pairs"] == 0.9459123784339477
    assert given["answer_kappa"] == 0.643


def test_catalogue_entries():
    from proctor.metrics import agreement

    assert [m.name for m in agreement.METRICS] == [
        "raw_agreement", "specific_agreement", "prevalence", "cohen_kappa", "fleiss_kappa",
    ]  # fmt: skip
    for entry in agreement.METRICS:
        module, _, function = entry.function.partition(":")
        assert (module, callable(getattr(agreement, function))) == ("agreement", True)
        assert str(Signature.parse(entry.signature)) == entry.signature
    a, b, clusters = ["yes", "no"] * 5, ["yes", "yes"] * 5, [str(i) for i in range(10)]
    printed = [
        raw_agreement(a, b), specific_agreement(a, b, "yes", clusters=clusters), prevalence(a, b, "yes", clusters=clusters),
        cohen_kappa(a, b, clusters=clusters), fleiss_kappa(list(zip(a, b, strict=True)), clusters=clusters),
    ]  # fmt: skip
    assert [str(score.signature) for score in printed] == [m.signature for m in agreement.METRICS]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=30))
def test_chance_agreement_is_the_mean_over_all_pairings(pairs):
    a, b = zip(*pairs, strict=True)
    crossed = [(x, y) for x in a for y in b]
    expected = chance_agreement(a, b)
    assert expected.value == pytest.approx(sum(x == y for x, y in crossed) / len(crossed))
    if not math.isnan(cohen_kappa(a, b, resamples=0).value):
        raw = raw_agreement(a, b).value
        assert cohen_kappa(a, b, resamples=0).value == pytest.approx(
            (raw - expected.value) / (1 - expected.value)
        )
    one, two = zip(*crossed, strict=True)
    found, full = (
        chance_specific_agreement(a, b, "a").value,
        specific_agreement(one, two, "a", resamples=0).value,
    )
    assert found == pytest.approx(full, nan_ok=True)


def test_chance_of_nothing_is_undefined():
    assert chance_agreement([], []).note == "nothing was labelled by both"
