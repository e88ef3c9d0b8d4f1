import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from proctor.metrics.bootstrap import (
    bootstrap_interval,
    bootstrap_mean_intervals,
    bootstrap_replicates,
    cluster_sums,
    interval_tails,
    iter_resamples,
    mean_of_sums,
    strata_of_clusters,
)
from proctor.metrics.errors import MetricInputError


def sums_of(values, clusters):
    return cluster_sums([values, [1.0] * len(values)], clusters)


def skewed(n=60, clusters=30):
    rng = np.random.default_rng(5)
    return rng.choice([0.0, 50.0, 100.0], n, p=[0.7, 0.2, 0.1]).tolist(), [
        f"r{i % clusters}" for i in range(n)
    ]


def test_cluster_sums():
    assert cluster_sums([[1, 2, 3], [1, 1, 1]], ["b", "a", "b"]).tolist() == [[2, 1], [4, 2]]
    assert cluster_sums([[], []], []).shape == (0, 2)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_cluster_sums_refuses_what_is_not_finite(bad):
    with pytest.raises(ValueError, match="finite"):
        cluster_sums([[1.0, bad]], ["a", "b"])


def test_values_too_large_to_be_added_are_refused():
    with pytest.raises(MetricInputError, match="values of 1e\\+91 are too large"):
        cluster_sums([[1.0, -1e91]], ["a", "b"])
    assert bootstrap_interval(sums_of([1e90, -1e90, 3.0], ["a", "b", "c"]), resamples=50).defined


def test_cluster_sums_refuses_other_lengths():
    with pytest.raises(ValueError, match="1 cluster names"):
        cluster_sums([[1.0, 2.0]], ["a"])


@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_interval_agrees_with_scipy_on_independent_items(method):
    values, _ = skewed()
    ours = bootstrap_interval(sums_of(values, [str(i) for i in range(60)]), method=method, resamples=20_000)
    theirs = stats.bootstrap(
        (np.array(values),),
        np.mean,
        n_resamples=20_000,
        confidence_level=1 - 2 * interval_tails(0.95, 60)[0],
        method=method if method == "percentile" else "BCa",
        rng=np.random.default_rng(1),
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1.3)
    assert ours.method == f"{method}-95"


def test_bca_leans_to_the_long_tail():
    values, _ = skewed()
    sums = sums_of(values, [str(i) for i in range(60)])
    bca, percentile = (bootstrap_interval(sums, method=m) for m in ("bca", "percentile"))
    assert bca.high > percentile.high


def test_standard_error_of_replicates_is_the_clustered_one():
    values, clusters = skewed(300, 30)
    sums = sums_of(values, clusters)
    draws = bootstrap_replicates(sums, mean_of_sums, resamples=20_000, rng=np.random.default_rng(0))
    mean = np.mean(values)
    expected = np.sqrt(((sums[:, 0] - sums[:, 1] * mean) ** 2).sum()) / len(values)
    assert draws.std() == pytest.approx(expected, rel=0.03)
    assert draws.mean() == pytest.approx(mean, abs=0.2)


def test_clusters_widen_the_interval():
    values = [0.0] * 50 + [100.0] * 50
    alone = bootstrap_interval(sums_of(values, [str(i) for i in range(100)]))
    together = bootstrap_interval(sums_of(values, [str(i // 5) for i in range(100)]))
    assert together.high - together.low > 1.8 * (alone.high - alone.low)


def test_order_of_items_and_chunks_never_matter(monkeypatch):
    values, clusters = skewed()
    first = bootstrap_interval(sums_of(values, clusters), resamples=500)
    mixed = list(zip(values, clusters, strict=True))
    np.random.default_rng(0).shuffle(mixed)
    assert (
        bootstrap_interval(sums_of(*zip(*[(float(v), str(c)) for v, c in mixed], strict=True)), resamples=500)
        == first
    )
    monkeypatch.setattr("proctor.metrics.bootstrap._CELLS", 70)
    assert bootstrap_interval(sums_of(values, clusters), resamples=500) == first


def test_seed_matters():
    sums = sums_of(*skewed())
    assert bootstrap_interval(sums, seed=1, resamples=200) != bootstrap_interval(sums, seed=2, resamples=200)


def test_one_cluster_no_cluster_and_no_variation_are_explained():
    one = bootstrap_interval(sums_of([0.0, 100.0], ["r", "r"]))
    assert not one.defined
    assert "one cluster" in one.note
    none = bootstrap_interval(np.zeros((0, 2)))
    assert not none.defined
    assert "nothing" in none.note
    same = bootstrap_interval(sums_of([50.0] * 9, list("abcdefghi")))
    assert (same.low, same.high) == (50.0, 50.0)
    assert "no variation" in same.note


def test_few_clusters_are_noted():
    assert "only 4 clusters" in bootstrap_interval(sums_of([0.0, 50.0, 100.0, 0.0], list("abcd"))).note
    assert bootstrap_interval(sums_of(*skewed())).note == ""


def test_undefined_statistic_is_explained():
    sums = sums_of([1.0, 2.0], ["a", "b"])
    nan = bootstrap_interval(sums, lambda rows: np.full(len(rows), np.nan))
    assert not nan.defined
    assert "undefined" in nan.note


@pytest.mark.parametrize("options", [{"method": "t"}, {"resamples": 0}, {"confidence": 95}])
def test_options_are_checked(options):
    with pytest.raises(ValueError, match="must"):
        bootstrap_interval(sums_of([1.0, 2.0], ["a", "b"]), **options)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 50.0, 100.0]), st.sampled_from("abcdefghijklm")),
        min_size=1,
        max_size=40,
    ),
    st.sampled_from(["bca", "percentile"]),
)
def test_interval_is_ordered_and_within_the_data(items, method):
    values, clusters = zip(*items, strict=True)
    interval = bootstrap_interval(sums_of(values, clusters), method=method, resamples=200)
    if interval.defined:
        assert min(values) <= interval.low <= interval.high <= max(values)
    else:
        assert interval.note


def test_coverage_of_the_clustered_interval():
    """200 benchmarks of 60 recordings: 95 % intervals should hold the truth about 95 % of the time."""
    rng = np.random.default_rng(11)
    hits = 0
    for trial in range(200):
        ease = rng.normal(50, 20, 60)
        values = (ease[:, None] + rng.normal(0, 20, (60, 3))).ravel()
        clusters = np.repeat(np.arange(60), 3).astype(str)
        interval = bootstrap_interval(sums_of(values, list(clusters)), resamples=400, seed=trial)
        hits += interval.low <= 50 <= interval.high
    assert 0.90 <= hits / 200 <= 0.985


def test_tails_are_those_of_hesterberg():
    """The normal probability of Student's quantile, further out by the factor that resamples vary too little."""
    assert interval_tails(0.95, 10)[0] == pytest.approx(
        stats.norm.cdf(-np.sqrt(10 / 9) * stats.t.ppf(0.975, 9))
    )
    assert interval_tails(0.95, 10) == pytest.approx([0.0086, 0.9914], abs=2e-4)
    assert interval_tails(0.9, 100_000) == pytest.approx([0.05, 0.95], abs=1e-5)
    assert 0 < interval_tails(0.95, 2)[0] == interval_tails(0.95, 0)[0] < 1e-8


@pytest.mark.parametrize(("ease", "least"), [(0.5, 0.92), (0.9, 0.90)])
def test_twelve_clusters_are_covered(ease, least):
    """Fewer than plain BCa holds would not do; benchmarks/metrics/coverage.py makes the whole table."""
    rng = np.random.default_rng(5)
    names = [f"{i:02}" for i in range(12) for _ in range(8)]
    hits = 0
    for trial in range(400):
        each = rng.beta(9 * ease, 9 * (1 - ease), 12).repeat(8)
        values = (rng.random(96) < each).astype(float)
        interval = bootstrap_interval(sums_of(values, names), resamples=400, seed=trial)
        hits += interval.low <= ease <= interval.high
    assert hits / 400 >= least


# -- strata ----------------------------------------------------------------------------------------------------


def two_worlds():
    """Two strata that differ much: 30 easy clusters, 20 hard ones, two items each."""
    rng = np.random.default_rng(2)
    clusters = [f"c{i:02}" for i in range(50) for _ in range(2)]
    strata = ["easy" if i < 30 else "hard" for i in range(50) for _ in range(2)]
    values = np.where(np.array(strata) == "easy", 90.0, 10.0) + rng.normal(0, 5, 100)
    return values, clusters, strata


def test_strata_of_clusters():
    assert strata_of_clusters(["b", "a", "b"], ["x", "y", "x"]) == ("y", "x")
    assert strata_of_clusters([], []) == ()
    with pytest.raises(MetricInputError, match="cluster 'a' lies in the strata 'x' and 'y'"):
        strata_of_clusters(["a", "a"], ["x", "y"])
    with pytest.raises(MetricInputError, match="1 clusters, 2 strata"):
        strata_of_clusters(["a"], ["x", "y"])


def test_each_stratum_is_drawn_as_often_as_it_is_large():
    _, clusters, strata = two_worlds()
    sums = cluster_sums([[float(s == "easy") for s in strata], [1.0] * 100], clusters)
    parts = strata_of_clusters(clusters, strata)
    rows = np.concatenate(
        list(iter_resamples(sums, resamples=300, rng=np.random.default_rng(0), strata=parts))
    )
    assert (rows == [60.0, 100.0]).all()
    free = np.concatenate(list(iter_resamples(sums, resamples=300, rng=np.random.default_rng(0))))
    assert np.ptp(free[:, 0]) > 20


def test_strata_take_out_the_variation_between_them():
    values, clusters, strata = two_worlds()
    sums, parts = sums_of(values, clusters), strata_of_clusters(clusters, strata)
    draws = bootstrap_replicates(
        sums, mean_of_sums, resamples=20_000, rng=np.random.default_rng(0), strata=parts
    )
    by_hand = 0.0
    for label in ("easy", "hard"):
        part = sums[np.array(parts) == label, 0]
        by_hand += part.size * part.var()
    assert draws.std() == pytest.approx(np.sqrt(by_hand) / 100, rel=0.03)
    stratified, free = bootstrap_interval(sums, strata=parts), bootstrap_interval(sums)
    assert stratified.high - stratified.low < 0.2 * (free.high - free.low)


def test_one_stratum_is_none_and_its_name_does_not_matter():
    sums = sums_of(*skewed())
    assert bootstrap_interval(sums, strata=["s"] * len(sums)) == bootstrap_interval(sums)
    values, clusters, strata = two_worlds()
    sums, parts = sums_of(values, clusters), strata_of_clusters(clusters, strata)
    renamed = [{"easy": "a", "hard": "b"}[s] for s in parts]
    assert bootstrap_interval(sums, strata=renamed) == bootstrap_interval(sums, strata=parts)


def test_stratified_bca_equals_the_loop():
    """The acceleration within strata against Davison and Hinkley's formula, the draws against a plain loop."""
    rng = np.random.default_rng(9)
    values = np.concatenate([rng.exponential(1, 12), 5 + rng.exponential(3, 25)])
    strata = ["a"] * 12 + ["b"] * 25
    clusters = [f"{i:02}" for i in range(37)]
    ours = bootstrap_interval(sums_of(values, clusters), strata=strata, resamples=20_000)
    parts = [values[:12], values[12:]]
    draws = np.array([np.concatenate([rng.choice(p, p.size) for p in parts]).mean() for _ in range(20_000)])
    influence = np.concatenate([(p - p.mean()) / p.size * (p.size / 37) for p in parts])
    acceleration = (influence**3).sum() / (6 * (influence**2).sum() ** 1.5)
    bias = stats.norm.ppf((draws < values.mean()).mean())
    z = bias + stats.norm.ppf(interval_tails(0.95, 36))  # 37 clusters in two strata
    low, high = np.quantile(draws, stats.norm.cdf(bias + z / (1 - acceleration * z)))
    assert ours.low == pytest.approx(low, abs=0.05)
    assert ours.high == pytest.approx(high, abs=0.2)  # read at the quantile 0.997, where draws are few


def test_chunks_do_not_matter_within_strata(monkeypatch):
    values, clusters, strata = two_worlds()
    first = bootstrap_mean_intervals([values], clusters, strata=strata, resamples=300)
    monkeypatch.setattr("proctor.metrics.bootstrap._CELLS", 170)
    (again,) = bootstrap_mean_intervals([values], clusters, strata=strata, resamples=300)
    # Products of matrices of another size may add in another order: the last digit is the processor's.
    assert (again.low, again.high) == pytest.approx((first[0].low, first[0].high), rel=1e-12)


def test_strata_of_one_cluster_are_noted():
    interval = bootstrap_interval(
        sums_of(range(12), [f"{i:02}" for i in range(12)]), strata=["x"] * 11 + ["y"]
    )
    assert "1 strata have one cluster (such as 'y')" in interval.note
    with pytest.raises(MetricInputError, match="3 strata for 12 clusters"):
        bootstrap_interval(sums_of(range(12), [f"{i:02}" for i in range(12)]), strata=["x"] * 3)


# -- several systems -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_systems_in_one_pass_are_each_system_alone(method):
    rng = np.random.default_rng(4)
    clusters = [f"r{i % 17}" for i in range(90)]
    strata = [f"s{i % 17 % 3}" for i in range(90)]
    values = rng.choice([0.0, 50.0, 100.0], (3, 90))
    values[1, :20] = np.nan
    for parts in (None, strata):
        together = bootstrap_mean_intervals(values, clusters, strata=parts, method=method, resamples=400)
        for row, interval in zip(values, together, strict=True):
            here = ~np.isnan(row)
            sums = cluster_sums([np.where(here, row, 0.0), here.astype(float)], clusters)
            rows = None if parts is None else strata_of_clusters(clusters, strata)
            alone = bootstrap_interval(sums, strata=rows, method=method, resamples=400)
            assert (interval.low, interval.high) == pytest.approx((alone.low, alone.high), abs=1e-9)
            assert interval.note == alone.note


def test_systems_of_nothing_one_cluster_and_holes():
    assert bootstrap_mean_intervals(np.zeros((0, 3)), ["a", "b", "c"]) == ()
    nothing = bootstrap_mean_intervals(np.zeros((2, 0)), [])
    assert all("nothing was observed" in i.note and not i.defined for i in nothing)
    values = [[1.0, 2.0, 3.0], [np.nan, np.nan, 3.0], [np.nan] * 3]
    whole, one, none = bootstrap_mean_intervals(values, ["a", "b", "c"], resamples=100)
    assert whole.defined
    assert "one cluster was observed" in one.note
    assert "nothing was observed" in none.note
    with pytest.raises(MetricInputError, match=r"shape \(1, 2\) for 3 clusters"):
        bootstrap_mean_intervals([[1.0, 2.0]], ["a", "b", "c"])
    with pytest.raises(MetricInputError, match="finite"):
        bootstrap_mean_intervals([[np.inf, 2.0]], ["a", "b"])


def test_resamples_that_are_undefined_or_all_alike_give_no_interval():
    """One recording has all mistakes, the other none: a rate of found mistakes is 1 or undefined, and not certain."""
    sums = np.array([[0.0, 0.0], [3.0, 3.0]])

    def rate(totals):
        with np.errstate(invalid="ignore"):
            return totals[..., 0] / totals[..., 1]

    found = bootstrap_interval(sums, rate, resamples=200, seed=0)
    assert (found.low, found.high) == (None, None)
    assert "undefined in" in found.note
    assert "the same in the others" in found.note
    alike = bootstrap_interval(np.array([[2.0, 2.0], [3.0, 3.0]]), rate, resamples=200, seed=0)
    assert (alike.low, alike.high) == (1.0, 1.0)
    assert "no variation between clusters" in alike.note
