import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from proctor.metrics.bootstrap import bootstrap_interval, bootstrap_replicates, cluster_sums, mean_of_sums


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
