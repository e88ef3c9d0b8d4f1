import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from proctor.metrics.score import Signature
from proctor.metrics.significance import (
    compare_all_pairs,
    compare_paired,
    detectable_difference,
    planned_difference,
)


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


def test_all_pairs_are_corrected_together():
    a, b, clusters = runs()
    found = compare_all_pairs({"x": a, "y": b, "z": a}, clusters, resamples=2_000)
    assert [(c.a, c.b) for c in found] == [("x", "y"), ("x", "z"), ("y", "z")]
    assert found[0].p_holm == pytest.approx(min(1.0, 3 * found[0].p), rel=0.5)
    assert found[0].p_holm >= found[0].p
    assert found[1].p_holm == 1.0


def test_detectable_difference_of_independent_items_is_the_textbook_formula():
    rng = np.random.default_rng(2)
    differences = rng.normal(5, 40, 400)
    found = detectable_difference(differences, [str(i) for i in range(400)])
    textbook = (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * differences.std(ddof=1) / math.sqrt(400)
    assert found.difference == pytest.approx(textbook)
    assert found.design_effect == pytest.approx(1.0)
    assert planned_difference(400, float(differences.std(ddof=1))) == pytest.approx(textbook)


def test_detectable_difference_is_found_as_often_as_promised():
    """Shift the truth by the detectable difference: a clustered z-test must find it in about 80 % of worlds."""
    rng = np.random.default_rng(4)
    names = [str(i) for i in np.repeat(np.arange(100), 4)]

    def world(shift):
        return (rng.normal(0, 20, 100)[:, None] + rng.normal(shift, 30, (100, 4))).ravel()

    size = detectable_difference(world(0.0), names).difference
    found = 0
    for _ in range(300):
        sample = world(size)
        result = detectable_difference(sample, names)
        found += abs(sample.mean()) / result.standard_error > 1.96
    assert 0.7 <= found / 300 <= 0.9


def test_design_effect_of_copies_is_the_cluster_size():
    rng = np.random.default_rng(0)
    base = rng.normal(0, 40, 100)
    found = detectable_difference(np.repeat(base, 4), [str(i) for i in np.repeat(np.arange(100), 4)])
    assert found.design_effect == pytest.approx(4.0, rel=0.05)


def test_detectable_difference_undefined_cases_say_why():
    assert "fewer than two" in detectable_difference([], []).note
    assert "fewer than two" in detectable_difference([1.0, 2.0], ["r", "r"]).note
    assert "all differences are equal" in detectable_difference([5.0, 5.0], ["a", "b"]).note
    assert "only 3 clusters" in detectable_difference([5.0, 1.0, 2.0], ["a", "b", "c"]).note
    for options in {"power": 1.0}, {"alpha": 0.0}:
        with pytest.raises(ValueError, match="power and alpha"):
            detectable_difference([1.0, 2.0], ["a", "b"], **options)
    with pytest.raises(ValueError, match="out of range"):
        planned_difference(0, 1.0)


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
