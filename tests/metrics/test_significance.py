import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.metrics.errors import MetricInputError
from proctor.metrics.hypothesis_tests import holm, mcnemar, sign_flip_test
from proctor.metrics.score import Signature
from proctor.metrics.significance import compare_all_pairs, compare_paired


def runs(n=200, gain=15.0, seed=0):
    rng = np.random.default_rng(seed)
    ids = [f"i{k}" for k in range(n)]
    a = rng.choice([0.0, 50.0, 100.0], n)
    b = np.clip(a + rng.choice([0.0, 50.0], n, p=[1 - gain / 50, gain / 50]), 0, 100)
    return (
        dict(zip(ids, a.tolist(), strict=True)),
        dict(zip(ids, b.tolist(), strict=True)),
        {i: f"r{k % 80}" for k, i in enumerate(ids)},
    )


def test_same_run_twice():
    a, _, clusters = runs()
    same = compare_paired(a, a, clusters)
    assert same.difference == 0.0
    assert (same.low, same.high) == (0.0, 0.0)
    assert same.p == 1.0
    assert (same.wins, same.losses, same.ties) == (0, 0, 200)
    assert same.detectable is None
    assert "nothing differs" in same.note


def test_better_run_is_found_and_the_other_way_round_mirrors():
    a, b, clusters = runs()
    forward, back = compare_paired(a, b, clusters), compare_paired(b, a, clusters)
    assert forward.difference > 0
    assert 0 < forward.low < forward.difference < forward.high
    assert forward.p < 0.01
    assert forward.p == back.p
    assert back.difference == -forward.difference
    assert (back.wins, back.losses) == (forward.losses, forward.wins)
    assert forward.difference == pytest.approx(forward.mean_b - forward.mean_a)
    assert forward.clusters == 80


def test_failed_items_leave_the_pairs():
    a, b, clusters = runs(10)
    a["i0"], b["i1"] = None, None
    found = compare_paired(a, b, clusters)
    assert (found.n, found.failed) == (8, 2)
    everything = compare_paired(dict.fromkeys(a), b, clusters)
    assert everything.difference is None
    assert everything.p is None
    assert "no item has a mark in both" in everything.note
    assert compare_paired({}, {}, {}).note == "there are no items"


def test_other_items_clusters_or_signatures_are_refused():
    a, b, clusters = runs(10)
    with pytest.raises(ValueError, match=r"1 only in 'new' \(such as 'x'\)"):
        compare_paired(a, {**b, "x": 1.0}, clusters, names=("old", "new"))
    with pytest.raises(ValueError, match="1 items have no cluster, such as 'i9'"):
        compare_paired(a, b, {k: v for k, v in clusters.items() if k != "i9"})
    one = Signature("mean_score", {"judge": "x"})
    with pytest.raises(ValueError, match="differ in judge"):
        compare_paired(a, b, clusters, signatures=(one, one.having(judge="y")))


def test_one_cluster_is_defined_and_noted():
    found = compare_paired({"a": 0.0, "b": 50.0}, {"a": 100.0, "b": 50.0}, {"a": "r", "b": "r"})
    assert found.difference == 50.0
    assert found.low is None
    assert found.p == 1.0
    assert "one cluster" in found.note
    assert "only 1 difference is not zero" in found.note


def few_clusters(count, seed):
    """Marks of two systems on a few recordings, some of which both answer alike."""
    rng = np.random.default_rng(seed)
    clusters = {f"i{k}": f"r{k % count}" for k in range(4 * count)}
    a = {i: float(rng.random() < 0.6) for i in clusters}
    gain = rng.random()
    b = {i: 1.0 if rng.random() < 0.4 * gain else value for i, value in a.items()}
    return a, b, clusters


@pytest.mark.parametrize("test", ["sign-flip", "mcnemar", "mcnemar-mid-p"])
@pytest.mark.parametrize("count", [3, 6, 8, 10, 13, 16, 40])
def test_interval_and_p_never_contradict_each_other(test, count):
    decided = set()
    for seed in range(25):
        found = compare_paired(*few_clusters(count, seed), test=test, resamples=999, seed=seed)
        if found.low is not None:
            assert found.low <= found.difference <= found.high
            assert (found.p > 0.05) == (found.low <= 0.0 <= found.high)
            decided.add(found.p > 0.05)
    assert decided >= {True, False} or count < 16


def test_few_clusters_have_the_ends_of_all_their_parts():
    """Six clusters: the ends at 95 % are the smallest and the largest cluster mean; five have none."""
    marks = dict(zip("abcdef", [0.3, -0.1, 0.5, 0.2, 0.7, 0.4], strict=True))
    zeros = dict.fromkeys(marks, 0.0)
    found = compare_paired(zeros, marks, {i: i for i in marks})
    assert (found.low, found.high) == pytest.approx((-0.1, 0.7))
    del marks["f"], zeros["f"]
    five = compare_paired(zeros, marks, {i: i for i in marks})
    assert (five.low, five.high) == (None, None)
    assert "5 clusters are too few: no sign-flip test of them reaches p = 0.05" in five.note
    ninety = compare_paired(zeros, marks, {i: i for i in marks}, confidence=0.9)
    assert (ninety.low, ninety.high) == pytest.approx((-0.1, 0.7))


def test_interval_holds_exactly_the_means_that_the_test_does_not_reject():
    """Move the differences by a mean just inside and just outside the interval and test again."""
    rng = np.random.default_rng(3)
    clusters = {f"i{k}": f"r{k % 9}" for k in range(40)}
    b = {i: float(x) for i, x in zip(clusters, rng.normal(0.3, 1, 40), strict=True)}
    found = compare_paired(dict.fromkeys(b, 0.0), b, clusters)
    names = [clusters[i] for i in b]
    for mean, rejected in (
        (found.low - 1e-6, True),
        (found.low + 1e-6, False),
        (found.high - 1e-6, False),
        (found.high + 1e-6, True),
    ):
        moved = sign_flip_test([x - mean for x in b.values()], names)
        assert (moved.p <= 0.05) == rejected


def test_all_pairs_are_corrected_together():
    a, b, clusters = runs()
    found = compare_all_pairs({"x": a, "y": b, "z": a}, clusters, resamples=2_000)
    assert [(c.a, c.b) for c in found] == [("x", "y"), ("x", "z"), ("y", "z")]
    assert found[0].p_holm == pytest.approx(min(1.0, 3 * found[0].p), rel=0.5)
    assert found[0].p_holm >= found[0].p
    assert found[1].p_holm == 1.0


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(*[st.sampled_from([0.0, 50.0, 100.0])] * 2, st.sampled_from("abcdefgh")),
        min_size=1,
        max_size=25,
    )
)
def test_comparison_never_holds_a_silent_nan(items):
    a = {str(i): x for i, (x, _, _) in enumerate(items)}
    b = {str(i): y for i, (_, y, _) in enumerate(items)}
    clusters = {str(i): c for i, (_, _, c) in enumerate(items)}
    found = compare_paired(a, b, clusters, resamples=100)
    numbers = [found.difference, found.low, found.high, found.p, found.detectable]
    assert all(x is None or math.isfinite(x) for x in numbers)
    assert found.wins + found.losses + found.ties == found.n == len(items)
    assert 0 < found.p <= 1


def test_all_pairs_equal_each_pair_alone_with_holes():
    a, b, clusters = runs(60)
    c = {i: (None if k % 7 == 0 else v) for k, (i, v) in enumerate(b.items())}
    everything = {"a": a, "b": b, "c": c}
    for pair in compare_all_pairs(everything, clusters, resamples=300):
        names = (pair.a, pair.b)
        alone = compare_paired(everything[pair.a], everything[pair.b], clusters, names=names, resamples=300)
        assert replace(pair, p_holm=None) == alone
    only = compare_all_pairs(everything, clusters, reference="b", resamples=300)
    assert [(p.a, p.b) for p in only] == [("b", "a"), ("b", "c")]
    assert replace(only[1], p_holm=None) == compare_paired(b, c, clusters, names=("b", "c"), resamples=300)
    with pytest.raises(MetricInputError, match="there is no run 'x'; the runs are 'a', 'b', 'c'"):
        compare_all_pairs(everything, clusters, reference="x")
    assert compare_all_pairs({}, {}) == ()
    assert compare_all_pairs({"a": a}, clusters) == ()


def test_eight_systems_give_28_pairs_in_one_pass():
    rng = np.random.default_rng(0)
    ids = [f"i{k}" for k in range(100)]
    skill = np.linspace(20, 80, 8)
    systems = {
        f"s{j}": dict(zip(ids, (rng.random(100) * 100 < skill[j]).astype(float).tolist(), strict=True))
        for j in range(8)
    }
    found = compare_all_pairs(systems, {i: i for i in ids}, resamples=500)
    assert len(found) == 28
    far = next(c for c in found if (c.a, c.b) == ("s0", "s7"))
    assert far.p_holm < 0.001
    assert far.effect > 0.5
    assert far.wins - far.losses == pytest.approx(100 * far.difference)
    assert [c.p_holm for c in found] == pytest.approx(list(holm([c.p for c in found])))


def test_effect_is_cohens_d_of_pairs():
    a, b, clusters = runs()
    differences = np.array([b[i] - a[i] for i in a])
    found = compare_paired(a, b, clusters, resamples=100)
    assert found.effect == pytest.approx(differences.mean() / differences.std(ddof=1))
    assert compare_paired(a, a, clusters, resamples=100).effect is None
    assert compare_paired({"x": 1.0}, {"x": 2.0}, {"x": "r"}, resamples=100).effect is None


def test_mcnemar_can_be_asked_for():
    ids = [f"i{k:02}" for k in range(40)]
    a = {i: float(k < 20) for k, i in enumerate(ids)}
    b = {i: float(10 <= k < 33) for k, i in enumerate(ids)}
    alone = {i: i for i in ids}
    found = compare_paired(a, b, alone, test="mcnemar", resamples=100)
    assert (found.losses, found.wins) == (10, 13)
    assert found.p == mcnemar(10, 13).p
    assert "|mcnemar|" in found.method
    assert compare_paired(a, b, alone, test="mcnemar-mid-p", resamples=100).p == mcnemar(10, 13, mid_p=True).p
    clustered = compare_paired(a, b, dict.fromkeys(ids, "r") | {"i00": "q"}, test="mcnemar", resamples=100)
    assert "takes items as independent" in clustered.note
    with pytest.raises(MetricInputError, match="must be yes/no"):
        compare_paired({"x": 50.0}, {"x": 0.0}, {"x": "x"}, test="mcnemar")
    with pytest.raises(MetricInputError, match="test must be one of sign-flip, mcnemar"):
        compare_paired(a, b, alone, test="t")


def test_bad_marks_are_named():
    with pytest.raises(MetricInputError, match=r"item 'y' of 'b' has nan.*write None"):
        compare_paired({"x": 1.0, "y": 1.0}, {"x": 0.0, "y": math.nan}, {"x": "x", "y": "y"})
    with pytest.raises(MetricInputError, match="too large"):
        compare_paired({"x": 1e300}, {"x": -1e300}, {"x": "x"})


@settings(max_examples=20)
@given(
    st.lists(
        st.tuples(*[st.sampled_from([0.0, 0.3, 1.0, None])] * 2, st.sampled_from("abcdefgh")),
        min_size=1,
        max_size=30,
    ),
    st.randoms(use_true_random=False),
)
def test_order_of_items_and_names_of_clusters_never_matter_and_p_is_the_sign_flip_test(items, random):
    numbered = list(enumerate(items))
    first, second = (
        compare_paired(
            {f"{i:03}": x for i, (x, _, _) in rows},
            {f"{i:03}": y for i, (_, y, _) in rows},
            {f"{i:03}": name(c) for i, (_, _, c) in rows},
            resamples=60,
        )
        for rows, name in (
            (numbered, str),
            (random.sample(numbered, len(numbered)), lambda c: f"recording {c}"),
        )
    )
    assert first == second
    pairs = [(y - x, c) for x, y, c in items if x is not None and y is not None]
    if pairs:
        differences, clusters = zip(*pairs, strict=True)
        assert first.p == sign_flip_test(differences, clusters, resamples=60).p
