import math
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau
from sklearn.metrics import cohen_kappa_score

from proctor.metrics import order_agreement as module
from proctor.metrics.errors import MetricInputError
from proctor.metrics.order_agreement import (
    METRICS,
    AlternativeInstance,
    alternative_annotator_agreement,
    alternative_instance_agreement,
    alternative_order_agreement,
    alternative_pair_score,
    alternative_series_scores,
    instance_order_agreement,
    interchangeable_pair_alpha,
    interchangeable_pairs,
    inverted_pairs,
    majority_vote,
    order_agreement,
    order_of_ranks,
    order_set_jaccard,
    pair_set_jaccard,
    places_in,
    require_same_steps,
)
from proctor.metrics.score import Signature


def order(text):
    """``"2134"`` to (2, 1, 3, 4)."""
    return tuple(map(int, text))


def orders(text):
    return [order(one) for one in text.split()]


def bits(vector):
    return "".join(map(str, vector.tolist()))


def instance(gold, *series):
    return AlternativeInstance(order(gold), {f"a{k}": orders(one) for k, one in enumerate(series)})


def pair_vector(order, steps=None):
    """Return the one-hot vector over the N(N-1) ordered pairs of ``steps``: 1 where the first precedes the second.

    Pairs are in lexicographic order of their places in ``steps`` (12, 13, 21, 23, 31, 32), the sorted ids when not
    given: 123 is 110100 and 231 is 001110.
    """
    listed = sorted(order, key=lambda s: (isinstance(s, str), s)) if steps is None else list(steps)
    require_same_steps(listed, order)
    rank = places_in(order, listed)
    precedes = rank[:, None] < rank
    return precedes[~np.eye(len(listed), dtype=bool)].astype(np.uint8)


def binary_kappa(a, b):
    """Cohen's kappa of two vectors of 0 and 1; None where chance is certain or there is nothing."""
    if not len(a):
        return None
    n = len(a)
    same, ones_a, ones_b = int((a == b).sum()), int(a.sum()), int(b.sum())
    chance = ones_a * ones_b + (n - ones_a) * (n - ones_b)
    return None if chance == n * n else (n * same - chance) / (n * n - chance)


def order_pair_kappa(a, b):
    """Agreement of two orders by its definition: Cohen's kappa of their one-hot pair vectors; None below two steps."""
    require_same_steps(a, b)
    if len(a) < 2:
        return None
    return binary_kappa(pair_vector(a, a), pair_vector(b, a))


def alternative_pair_kappa(gold, a, b):
    """The same by its definition; None where kappa is 0/0 (``alternative_pair_score`` says 1 there).

    The difference vectors tell where the one-hot vector of an order differs from the authored one; kappa is computed
    on the positions where either does.
    """
    reference = pair_vector(gold, gold)
    one, two = pair_vector(a, gold) ^ reference, pair_vector(b, gold) ^ reference
    union = (one | two).astype(bool)
    return binary_kappa(one[union], two[union])


def order_pair_tau(a, b):
    return instance_order_agreement([a, b])


# -- standard agreement ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "vector"),
    [("123", "110100"), ("231", "001110"), ("132", "110001"), ("213", "011100"), ("12", "10"), ("1", "")],
)
def test_golden_pair_vectors(text, vector):
    assert bits(pair_vector(order(text))) == vector


GOLDEN_PAIRS = [
    ("123", "123", 1.0), ("123", "231", -1 / 3), ("123", "321", -1.0), ("12345", "12354", 0.8), ("12345", "21435", 0.6),
    ("12", "21", -1.0), ("312", "132", 1 / 3), ("1", "1", None),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b", "value"), GOLDEN_PAIRS)
def test_golden_pairs(a, b, value):
    for measure in (order_pair_kappa, order_pair_tau):
        assert measure(order(a), order(b)) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("given", "value"),
    [("12345 12345 12354", 2.6 / 3), ("123 321", -1.0), ("1234", None), ("", None), ("1 1", None)],
)
def test_golden_instances(given, value):
    assert instance_order_agreement(orders(given)) == pytest.approx(value, abs=1e-12)


def test_golden_data_set_skips_the_undefined():
    score = order_agreement(
        {
            name: {f"a{k}": one for k, one in enumerate(orders(text))}
            for name, text in (("x", "12345 12345 12354"), ("y", "123 321"), ("z", "1234"))
        }
    )
    assert score.value == pytest.approx(-0.0666666667, abs=1e-9)
    assert (score.n, score.skipped) == (2, 1)


@pytest.mark.shared
def test_golden_file_of_standard_agreement(shared_expected):
    given = shared_expected("sequencing")["iaa_standard"]
    for pair in given["pairs"]:
        assert bits(pair_vector(pair["a"])) == pair["onehot_a"]
        assert bits(pair_vector(pair["b"])) == pair["onehot_b"]
        for measure in (order_pair_kappa, order_pair_tau):
            assert measure(pair["a"], pair["b"]) == pytest.approx(pair["kappa"], abs=1e-9)
    values = [instance_order_agreement(one["orders"]) for one in given["instances"]]
    assert values == pytest.approx([one["expected"] for one in given["instances"]], abs=1e-9)
    data = {str(k): dict(enumerate(map(tuple, one["orders"]))) for k, one in enumerate(given["instances"])}
    assert order_agreement(data).value == pytest.approx(given["dataset_mean_skipping_undefined"], abs=1e-9)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_kappa_is_tau_for_all_orders(n):
    identity = tuple(range(n))
    for other in permutations(identity):
        kappa, tau = order_pair_kappa(identity, other), order_pair_tau(identity, other)
        assert kappa == pytest.approx(tau, abs=1e-12)
        theirs = cohen_kappa_score(pair_vector(identity), pair_vector(other))
        assert kappa == pytest.approx(theirs, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 12).flatmap(lambda n: st.tuples(st.permutations(range(n)), st.permutations(range(n)))))
def test_kappa_is_tau_is_scipys_and_ignores_names(pair):
    a, b = pair
    tau = order_pair_tau(a, b)
    assert order_pair_kappa(a, b) == pytest.approx(tau, abs=1e-12)
    assert kendalltau(np.argsort(a), np.argsort(b)).statistic == pytest.approx(tau, abs=1e-12)
    assert order_pair_tau(b, a) == tau
    named = [[f"step {(5 * x + 3) % 97}" for x in one] for one in pair]
    assert order_pair_tau(*named) == tau
    assert order_pair_kappa(*named) == pytest.approx(tau, abs=1e-12)
    assert order_pair_tau(a, a[::-1]) == -1.0
    assert -1.0 <= tau <= 1.0


def test_interval_clusters_and_input_order():
    rng = np.random.default_rng(0)
    data = {
        f"i{k:02d}": {who: tuple(rng.permutation(4).tolist()) for who in ("ana", "ben", "cem")}
        for k in range(30)
    }
    score = order_agreement(data)
    assert score.low < score.value < score.high
    turned = {name: dict(reversed(by.items())) for name, by in reversed(data.items())}
    assert order_agreement(turned) == score
    together = order_agreement(data, clusters={name: name[:2] for name in data})
    assert together.value == score.value
    assert "only 3 clusters" in together.note
    with pytest.raises(MetricInputError, match="instance 'i00' has no cluster"):
        order_agreement(data, clusters={})


def test_perfect_and_empty_data_set():
    perfect = order_agreement({str(k): {"ana": (1, 2, 3), "ben": (1, 2, 3)} for k in range(12)})
    assert (perfect.value, perfect.low, perfect.high) == (1.0, 1.0, 1.0)
    empty = order_agreement({})
    assert math.isnan(empty.value)
    assert empty.note == "there is no instance"
    alone = order_agreement({"x": {"ana": (1, 2)}, "y": {"ana": (1,), "ben": (1,)}})
    assert math.isnan(alone.value)
    assert (alone.n, alone.skipped) == (0, 2)
    assert "two annotators and two steps" in alone.note


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ((1, 2), (1, 1), r"\(1 1\) holds the step 1 twice"),
        ((1, 1), (1, 2), r"\(1 1\) holds the step 1 twice"),
        ((1, 2, 3), (1, 2), r"\(1 2\) lacks 3; the steps are those of \(1 2 3\)"),
        ((1, 2), (1, 3), "lacks 2"),
        ((1,), (1, 2), "unknown step 2"),
        ("12", "21", "a list of step ids, got the text '12'"),
        ([[1], [2]], [[2], [1]], "each a text or a number"),
        (5, (1, 2), "each a text or a number"),
    ],
)
def test_bad_orders_are_named(a, b, message):
    for measure in (order_pair_kappa, order_pair_tau):
        with pytest.raises(MetricInputError, match=message):
            measure(a, b)
    with pytest.raises(MetricInputError, match=f"instance 'x': .*{message}"):
        order_agreement({"x": {"ana": a, "ben": b}})


def test_ranks_are_turned_over():
    """A 3-cycle is where order and ranks differ: step 2 first is "1 2 0" as an order and "2 0 1" as ranks."""
    assert order_of_ranks([2, 0, 1], "abc") == ("b", "c", "a")
    assert order_of_ranks([1, 0], [7, 9]) == (9, 7)
    for bad in ([0, 0], [1, 2], [0]):
        with pytest.raises(MetricInputError, match="ranks must be 0 to 1"):
            order_of_ranks(bad, "ab")


# -- alternative orders: one pair --------------------------------------------------------------------------------------

ALTERNATIVE_PAIRS = [
    ("123", "132", "213", -1.0), ("123", "132", "132", 1.0), ("123", "123", "123", 1.0), ("123", "123", "132", 0.0),
    ("123", "132", "312", 0.0), ("1234", "2314", "3124", -0.5), ("1234", "2134", "1432", -0.6),
    ("12345", "21435", "21354", -0.5), ("1234", "4321", "2134", 0.0),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "a", "b", "value"), ALTERNATIVE_PAIRS)
def test_golden_alternative_pairs(gold, a, b, value):
    assert alternative_pair_score(order(gold), order(a), order(b)) == pytest.approx(value, abs=1e-12)
    kappa = alternative_pair_kappa(order(gold), order(a), order(b))
    assert kappa == pytest.approx(None if a == b else value, abs=1e-12)


def test_erratum_of_the_worked_example():
    """The paper prints {0011} and {0110}, kappa 0; its own vectors 000101 and 101000 give {1100}, kappa -1."""
    gold = pair_vector(order("123"))
    one, two = pair_vector(order("132")) ^ gold, pair_vector(order("213")) ^ gold
    assert (bits(one), bits(two)) == ("000101", "101000")
    union = (one | two).astype(bool)
    assert (np.flatnonzero(union) + 1).tolist() == [1, 3, 4, 6]
    assert (bits(one[union]), bits(two[union])) == ("0011", "1100")
    assert alternative_pair_score(order("123"), order("132"), order("213")) == -1.0
    assert cohen_kappa_score([0, 0, 1, 1], [0, 1, 1, 0]) == 0.0
    assert "erratum" in METRICS[1].traps.lower()
    assert "**Erratum.**" in module.__doc__


@pytest.mark.shared
def test_golden_file_of_alternative_pairs(shared_expected):
    for one in shared_expected("sequencing")["iaa_alternative_pairs"]:
        if "gold" not in one:
            continue
        gold, a, b = one["gold"], one["a"], one["b"]
        assert alternative_pair_score(gold, a, b) == pytest.approx(one["expected"], abs=1e-9)
        assert alternative_pair_kappa(gold, a, b) == pytest.approx(one["raw_kappa"], abs=1e-9)
        first, second = inverted_pairs(gold, a), inverted_pairs(gold, b)
        found = (len(first & second), len(first - second), len(second - first))
        assert found == (one["common"], one["only_a"], one["only_b"])


@pytest.mark.parametrize("n", [2, 3, 4])
def test_closed_form_is_the_definition_for_all_pairs(n):
    gold = tuple(range(n))
    for a, b in combinations(list(permutations(gold)), 2):
        closed, kappa = alternative_pair_score(gold, a, b), alternative_pair_kappa(gold, a, b)
        assert closed == pytest.approx(kappa, abs=1e-12)
        assert -1.0 <= closed <= 0.0
    for a in permutations(gold):
        assert alternative_pair_score(gold, a, a) == 1.0
        assert alternative_pair_kappa(gold, a, a) is None


@settings(max_examples=80, deadline=None)
@given(st.integers(2, 8).flatmap(lambda n: st.tuples(*[st.permutations(range(n))] * 3)))
def test_closed_form_is_the_definition_for_any_authored_order(triple):
    gold, a, b = map(tuple, triple)
    closed = alternative_pair_score(gold, a, b)
    if a == b:
        assert closed == 1.0
    else:
        assert closed == pytest.approx(alternative_pair_kappa(gold, a, b), abs=1e-12)
    assert closed == alternative_pair_score(gold, b, a)


# -- alternative orders: series ----------------------------------------------------------------------------------------

SERIES = [
    # gold, series, pooled, mean of pairs, tau penalty, optimal
    ("123", ("", ""), 1, 1, 1, 1),
    ("123", ("", "213"), 0, 0, 1 / 3, 0),
    ("123", ("213",), None, None, None, None),
    ("1234", ("2134 1243", "1243 2134"), 1, 1, 1, 1),
    ("1234", ("2134", "2134 1243"), 0.5, 0.5, 2.5 / 3, 0.5),
    ("1234", ("2134", "1243"), -1, -1, -1, -1),
    ("1234", ("1432 3124", "4321 1423"), -0.5, -0.5, -0.5, 0),
    ("12345", ("21345", "21345 12354", ""), 0.2, 0.5 / 3, 0.84, 0.2),
    ("123", ("123", "123 213"), 0.5, 0.5, 2 / 3, 0.5),
]


@pytest.mark.parametrize(("gold", "series", "pooled", "mean", "tau", "optimal"), SERIES)
def test_golden_series(gold, series, pooled, mean, tau, optimal):
    assert_golden_series(order(gold), [orders(one) for one in series], (pooled, mean, tau, optimal))


def assert_golden_series(gold, series, values):
    """The function of one instance and the public one of a data set give the values."""
    data = {"i": AlternativeInstance(gold, {f"a{k}": one for k, one in enumerate(series)})}
    choices = ({}, {"pooling": "pair_mean"}, {"penalty": "tau"}, {"matching": "hungarian"})
    for options, value in zip(choices, values, strict=True):
        assert alternative_instance_agreement(gold, series, **options) == pytest.approx(value, abs=1e-9)
        score = alternative_order_agreement(data, resamples=0, **options)
        assert score.value == pytest.approx(math.nan if value is None else value, abs=1e-9, nan_ok=True)


@pytest.mark.shared
def test_golden_file_of_series(shared_expected):
    for one in shared_expected("sequencing")["iaa_alternative_instances"]:
        gold, series = one["gold"], one["series"]
        keys = ("default_pooled", "pair_mean", "penalty_tau", "optimal_matching")
        assert_golden_series(gold, series, [one[key] for key in keys])
        for i, j, scores in one["scores_by_pair"]:
            assert list(alternative_series_scores(gold, series[i], series[j])) == pytest.approx(
                scores, abs=1e-9
            )


def test_greedy_takes_the_best_first_and_ties_by_place():
    gold = order("1234")
    a, b = orders("1432 3124"), orders("4321 1423")
    assert alternative_series_scores(gold, a, b) == (0.0, -1.0)
    assert sorted(alternative_series_scores(gold, a, b, matching="hungarian")) == [0.0, 0.0]


def test_repeated_orders_count_once_and_the_authored_one_may_be_listed():
    gold = order("123")
    assert alternative_series_scores(gold, orders("213 213"), orders("213")) == (1.0,)
    assert alternative_series_scores(gold, orders("123"), []) == (1.0,)
    assert alternative_series_scores(gold, orders("213"), []) == (0.0,)
    assert alternative_series_scores(gold, orders("213"), [], penalty="tau") == (pytest.approx(1 / 3),)
    assert alternative_series_scores((7,), [(7,)], [], penalty="tau") == (1.0,)


SERIES_OF_FOUR = st.lists(st.permutations(range(4)).map(tuple), max_size=4, unique=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(SERIES_OF_FOUR, min_size=2, max_size=3))
def test_a_data_set_is_scored_by_the_rule_of_one_instance(series):
    data = {"i": AlternativeInstance((0, 1, 2, 3), {str(k): s for k, s in enumerate(series)})}
    expected = alternative_instance_agreement((0, 1, 2, 3), series)
    assert alternative_order_agreement(data, resamples=0).value == expected


@settings(max_examples=60, deadline=None)
@given(SERIES_OF_FOUR, SERIES_OF_FOUR)
def test_best_matching_is_the_best_of_all_and_never_below_greedy(a, b):
    gold = (0, 1, 2, 3)
    best = sum(alternative_series_scores(gold, a, b, matching="hungarian"))
    greedy = sum(alternative_series_scores(gold, a, b))
    assert best >= greedy - 1e-12
    short, long = sorted((a, b), key=len)
    if short:
        brute = max(
            sum(alternative_pair_score(gold, x, long[k]) for x, k in zip(short, chosen, strict=True))
            + sum(alternative_pair_score(gold, gold, long[k]) for k in set(range(len(long))) - set(chosen))
            for chosen in permutations(range(len(long)), len(short))
        )
        # Leftovers score 0, or 1 for the authored order, which the matching does not foresee.
        assert best <= brute + 1e-12
        if gold not in long:
            assert best == pytest.approx(brute, abs=1e-12)
    assert len(alternative_series_scores(gold, a, b)) == max(len(a), len(b), 1)


@settings(max_examples=40, deadline=None)
@given(st.lists(SERIES_OF_FOUR, min_size=2, max_size=3), st.randoms(use_true_random=False))
def test_a_data_set_ignores_the_order_of_annotators_and_sets_that_of_lists(series, random):
    gold = (0, 1, 2, 3)
    one = {"i": AlternativeInstance(gold, {str(k): s for k, s in enumerate(series)})}
    turned = {"i": AlternativeInstance(gold, dict(reversed(one["i"].series.items())))}
    for measure in (alternative_order_agreement, alternative_annotator_agreement):
        assert repr(measure(one)) == repr(measure(turned))
    shuffled = {str(k): random.sample(s, len(s)) for k, s in reversed(list(enumerate(series)))}
    two = {"i": AlternativeInstance(gold, shuffled)}
    for measure in (order_set_jaccard, pair_set_jaccard, interchangeable_pair_alpha):
        assert repr(measure(one)) == repr(measure(two))
    names = "wxyz"
    renamed = {
        "i": AlternativeInstance(
            tuple(names[x] for x in gold),
            {k: [tuple(names[x] for x in o) for o in s] for k, s in one["i"].series.items()},
        )
    }
    assert alternative_order_agreement(renamed) == alternative_order_agreement(one)


def test_data_set_of_alternatives():
    data = {
        "x": instance("1234", "2134", "2134 1243"),
        "y": instance("123", "", ""),
        "z": instance("123", "213"),
    }
    score = alternative_order_agreement(data)
    assert (score.value, score.n, score.skipped) == (0.75, 2, 1)
    assert score.signature.parameters["matching"] == "greedy"
    assert alternative_order_agreement(data, penalty="tau").value == pytest.approx((2.5 / 3 + 1) / 2)
    assert order_set_jaccard(data).value == pytest.approx((2 / 3 + 1) / 2)
    assert pair_set_jaccard(data).value == pytest.approx((1 / 2 + 1) / 2)
    empty = alternative_order_agreement({})
    assert math.isnan(empty.value)
    assert empty.note


def test_annotators_with_the_others():
    data = {"x": instance("123", "213", "213", "132"), "y": instance("123", "", "", "213")}
    found = alternative_annotator_agreement(data)
    assert found == {
        "a0": (pytest.approx(0.25), 4),
        "a1": (pytest.approx(0.25), 4),
        "a2": (pytest.approx(-0.5), 4),
    }
    assert alternative_annotator_agreement({"z": instance("123", "213")}) == {}


# -- alternative orders: sets ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "of_orders", "of_pairs"),
    [("", "", 1.0, 1.0), ("", "213", 0.5, 0.0), ("213", "213", 1.0, 1.0), ("213", "132", 1 / 3, 0.0),
     ("132", "312", 1 / 3, 0.5), ("", "123", 1.0, 1.0), ("321", "213 132", 0.25, 2 / 3)],
)  # fmt: skip
def test_jaccard_indices(a, b, of_orders, of_pairs):
    data = {"i": instance("123", a, b)}
    assert order_set_jaccard(data).value == pytest.approx(of_orders)
    assert pair_set_jaccard(data).value == pytest.approx(of_pairs)


def test_jaccard_of_difference_sets_for_one_order_each():
    """Common pairs over all pairs: a / (a + b + c) of the golden table."""
    for gold, a, b, _ in ALTERNATIVE_PAIRS:
        one, two = inverted_pairs(order(gold), order(a)), inverted_pairs(order(gold), order(b))
        expected = len(one & two) / len(one | two) if one | two else 1.0
        assert pair_set_jaccard({"i": instance(gold, a, b)}).value == pytest.approx(expected)


def test_interchangeable_pairs():
    assert interchangeable_pairs(order("123"), []) == frozenset()
    assert interchangeable_pairs(order("123"), orders("213 132")) == {(1, 2), (2, 3)}


def test_alpha_on_pairs_of_steps():
    same = interchangeable_pair_alpha({"x": instance("1234", "2134", "2134"), "y": instance("123", "", "")})
    assert (same.value, same.n) == (1.0, 9)
    nobody = interchangeable_pair_alpha({"x": instance("1234", "", "")})
    assert math.isnan(nobody.value)
    assert "every rating is 'fixed'" in nobody.note
    half = interchangeable_pair_alpha({"x": instance("123", "213", "132")})
    assert half.value == pytest.approx(
        1 - 5 * 2 / (4 * 2)
    )  # 6 ratings, 2 of them interchangeable, 2 conflicts
    alone = interchangeable_pair_alpha({"x": instance("123", "213")})
    assert math.isnan(alone.value)
    assert alone.skipped == 3


def test_alpha_draws_whole_instances():
    data = {
        f"i{k:02d}": instance("1234", "2134" if k % 3 else "", "2134" if k % 2 else "1243") for k in range(24)
    }
    score = interchangeable_pair_alpha(data)
    assert score.low < score.value < score.high
    assert score.signature.parameters["cluster"] == "instance"
    given = interchangeable_pair_alpha(data, clusters={name: name for name in data})
    assert (given.low, given.high) == (score.low, score.high)
    assert given.signature.parameters["cluster"] == "given"
    with pytest.raises(MetricInputError, match="no cluster"):
        interchangeable_pair_alpha(data, clusters={})


# -- votes -------------------------------------------------------------------------------------------------------------


def test_golden_majority_vote():
    vote = majority_vote(order("1234"), [orders("2134"), orders("2134 1243"), []])
    assert vote == (order("1234"), order("2134"))
    assert majority_vote(order("123"), [orders("213"), []]) == (order("123"),)
    assert majority_vote(order("123"), [[], [], []]) == (order("123"),)


@pytest.mark.shared
def test_golden_file_of_votes(shared_expected):
    for one in shared_expected("sequencing")["majority_vote"]:
        found = majority_vote(one["gold"], one["series"])
        assert [list(o) for o in found] == one["references"]


def test_votes_quorum_and_order():
    gold = order("123")
    assert majority_vote(gold, [orders("213")]) == (gold, order("213"))
    assert majority_vote(gold, [orders("213")], quorum=2) == (gold,)
    assert majority_vote(gold, [orders("213")] * 3, quorum=3) == (gold, order("213"))
    assert majority_vote(gold, [orders("213 213"), []]) == (gold,)  # listed twice by one is one vote
    assert majority_vote(gold, [orders("123")] * 3) == (gold,)
    two = majority_vote(gold, [orders("132 213"), orders("132 213"), orders("132")])
    assert two == (gold, order("132"), order("213"))
    assert majority_vote(gold, []) == (gold,)
    with pytest.raises(MetricInputError, match="quorum must be 1 or more"):
        majority_vote(gold, [], quorum=0)


# -- invalid -----------------------------------------------------------------------------------------------------------


def test_bad_alternatives_are_named():
    data = {"ok": instance("123", ""), "bad": instance("123", "213", "214")}
    for measure in (
        alternative_order_agreement,
        order_set_jaccard,
        pair_set_jaccard,
        interchangeable_pair_alpha,
    ):
        with pytest.raises(MetricInputError, match=r"instance 'bad': the order \(2 1 4\) lacks 3"):
            measure(data)
    with pytest.raises(MetricInputError, match="lacks 3"):
        majority_vote(order("123"), [orders("214")])
    for options, message in (
        ({"matching": "best"}, "matching must be one of greedy, hungarian, got 'best'"),
        ({"penalty": "kappa"}, "penalty must be one of union, tau"),
        ({"pooling": "mean"}, "pooling must be one of pooled, pair_mean"),
    ):
        with pytest.raises(MetricInputError, match=message):
            alternative_order_agreement({"x": instance("123", "213", "")}, **options)
    with pytest.raises(MetricInputError, match="confidence"):
        alternative_order_agreement({"x": instance("123", "213", "")}, confidence=2)


def test_catalogue_entries():
    data = {"x": instance("123", "213", "213"), "y": instance("123", "", "132")}
    by_name = {entry.name: entry for entry in METRICS}
    printed = [
        order_agreement({"x": {"a": (1, 2), "b": (1, 2)}}), alternative_order_agreement(data), order_set_jaccard(data),
        pair_set_jaccard(data), interchangeable_pair_alpha(data),
    ]  # fmt: skip
    assert len(by_name) == len(printed)
    for score in printed:
        entry = by_name[score.signature.name]
        assert str(score.signature) == entry.signature == str(Signature.parse(entry.signature))
        name = entry.function.removeprefix("order_agreement:")
        assert callable(getattr(module, name))
        assert name in module.__all__
