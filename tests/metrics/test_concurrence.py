import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from proctor.metrics.concurrence import concurrence_interval, rank_concurrence
from proctor.metrics.errors import MetricInputError

GPT4 = [45.3, 61.3, 61.1, 73.9, 62.7, 74.1, 86.5, 93.4]
"""SMMQG table 6, eight systems; the other columns below are its other metrics."""

GOLDEN = {
    "table 7, GPT-3.5": (GPT4, [56.9, 68.6, 69.2, 77.1, 71.5, 80.3, 82.7, 87.8], 0.928571, 0.000397, 28, 1),
    "table 7, BERTScore": (GPT4, [61.7, 69.0, 66.8, 70.2, 62.9, 66.2, 68.2, 69.8], 0.428571, 0.178869, 28, 8),
    "table 7, ROUGE": (GPT4, [53.0, 61.3, 66.2, 63.3, 71.9, 70.9, 72.0, 77.9], 0.714286, 0.014137, 28, 4),
    "table 5, retrieval": (
        [36.3, 42.1, 54.3, 60.1, 38.3, 43.7], [42.8, 45.0, 53.5, 56.7, 40.0, 45.3], 0.866667, 0.016667, 15, 1,
    ),
    "table 5, QA": (
        [55.0, 61.0, 65.7, 80.7, 73.9, 87.3, 93.0, 96.4],
        [68.0, 75.0, 78.5, 89.6, 75.9, 86.9, 92.9, 97.4],
        0.857143, 0.001736, 28, 2,
    ),
    "cut-off 5": ([36.3, 54.3, 38.3], [42.8, 53.5, 40.0], 0.333333, 1.0, 3, 1),
    "cut-off 10": ([42.1, 60.1, 43.7], [45.0, 56.7, 45.3], 1.0, 0.333333, 3, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", GOLDEN)
def test_golden(name):
    a, b, tau, p, pairs, discordant = GOLDEN[name]
    found = rank_concurrence(a, b)
    assert found.tau == pytest.approx(tau, abs=5e-7)
    assert found.p == pytest.approx(p, abs=5e-7)
    assert (found.pairs, found.discordant, found.tied) == (pairs, discordant, 0)
    assert str(found.signature) == "kendall_tau_b|p:exact"
    assert ("only 3 systems" in found.note) == (len(a) == 3)


def test_smmqg_bertscore_as_printed_would_need_seven_discordant_pairs():
    found = rank_concurrence(*GOLDEN["table 7, BERTScore"][:2])
    assert round(found.tau, 2) == 0.43
    assert round((found.pairs - 2 * 7) / found.pairs, 2) == 0.50
    assert round(rank_concurrence(*GOLDEN["table 7, ROUGE"][:2]).tau, 2) == 0.71


def test_systems_of_one_family_are_noted():
    a, b = GOLDEN["table 5, retrieval"][:2]
    found = rank_concurrence(a, b, families=["BM25", "BM25", "E5", "E5", "OpenCLIP", "OpenCLIP"])
    assert "not independent (BM25 ×2, E5 ×2, OpenCLIP ×2): p is too small" in found.note
    assert rank_concurrence(a, b, families=list("abcdef")).note == ""


def test_ties():
    found = rank_concurrence([1, 2, 2, 3], [1, 2, 3, 3])
    assert found.tau == pytest.approx(0.8)
    assert (found.concordant, found.discordant, found.tied) == (4, 0, 2)
    assert found.signature.parameters["p"] == "asymptotic"
    assert rank_concurrence([0.1 + 0.2, 0.3, 0.5], [1, 1, 2]).tied == 1


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=9), st.randoms())
def test_equals_scipy_and_nothing_but_the_order_matters(scores, random):
    a, b = zip(*scores, strict=True)
    found = rank_concurrence(a, b)
    theirs = stats.kendalltau(a, b)
    if found.tau is None:
        assert math.isnan(theirs.statistic)
        assert found.note
        return
    assert found.tau == pytest.approx(theirs.statistic)
    assert -1 <= found.tau <= 1
    if found.p is not None and found.signature.parameters["p"] == "exact":
        assert found.p == pytest.approx(theirs.pvalue)
    mixed = list(scores)
    random.shuffle(mixed)
    again = rank_concurrence(*zip(*[(3 * x + 1, y) for x, y in mixed], strict=True))
    assert again.tau == pytest.approx(found.tau)
    assert rank_concurrence(b, [-x for x in a]).tau == pytest.approx(-found.tau)


def test_exact_p_counts_permutations():
    a, b = [1, 2, 3, 4, 5], [2, 1, 3, 5, 4]
    taus = [rank_concurrence(a, order).tau for order in itertools.permutations(b)]
    found = rank_concurrence(a, b)
    assert found.p == pytest.approx(np.mean([abs(t) >= found.tau - 1e-12 for t in taus]))


def test_undefined_and_refused():
    assert "fewer than two systems" in rank_concurrence([], []).note
    assert rank_concurrence([1.0], [2.0]).tau is None
    tied = rank_concurrence([1, 1, 1], [1, 2, 3])
    assert (tied.tau, tied.p, tied.tied) == (None, None, 3)
    assert "all systems are tied" in tied.note
    assert math.isnan(tied.as_score().value)
    with pytest.raises(MetricInputError, match="2 scores of a, 1 of b"):
        rank_concurrence([1, 2], [1])
    with pytest.raises(MetricInputError, match="finite numbers"):
        rank_concurrence([1, math.nan], [1, 2])
    with pytest.raises(MetricInputError, match="1 families for 2 systems"):
        rank_concurrence([1, 2], [1, 2], families=["x"])


# -- bootstrap over questions ----------------------------------------------------------------------------------


def marks(questions, seed, skills=(0.3, 0.4, 0.55, 0.7, 0.9)):
    rng = np.random.default_rng(seed)
    return (rng.random((questions, len(skills))) < np.array(skills)).astype(float)


def test_interval_holds_tau_and_narrows_with_questions():
    few = concurrence_interval(marks(40, 0), marks(40, 1), resamples=1_000)
    many = concurrence_interval(marks(2_000, 0), marks(2_000, 1), resamples=1_000)
    assert few.low < many.low <= many.high == 1.0
    tau = rank_concurrence(marks(40, 0).mean(axis=0), marks(40, 1).mean(axis=0))
    assert few.low <= tau.tau <= few.high
    score = tau.as_score(few)
    assert (score.low, score.high) == (few.low, few.high)


def test_interval_equals_a_plain_loop():
    a, b = marks(60, 2), marks(50, 3)
    ours = concurrence_interval(a, b, resamples=2_000)
    rng = np.random.default_rng(0)
    draws = [
        stats.kendalltau(
            a[rng.integers(0, 60, 60)].mean(axis=0), b[rng.integers(0, 50, 50)].mean(axis=0)
        ).statistic
        for _ in range(2_000)
    ]
    assert (ours.low, ours.high) == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])), abs=0.11)


def test_interval_order_of_questions_does_not_matter_clusters_do():
    a, b = marks(60, 2), marks(60, 3)
    first = concurrence_interval(a, b, resamples=300)
    assert concurrence_interval(a[::-1], b, resamples=300) == first
    copies = np.repeat(a, 4, axis=0)
    names = [f"{i:02}" for i in range(60) for _ in range(4)]
    clustered = concurrence_interval(copies, b, clusters_a=names, resamples=2_000)
    independent = concurrence_interval(copies, b, resamples=2_000)
    assert clustered.high - clustered.low >= independent.high - independent.low


def test_interval_undefined_and_refused():
    assert "fewer than two questions" in concurrence_interval(marks(1, 0), marks(5, 0)).note
    tied = concurrence_interval(np.ones((4, 3)), marks(4, 0)[:, :3], resamples=50)
    assert "no resample" in tied.note
    some = concurrence_interval(np.eye(2), marks(9, 0)[:, :2], resamples=200)
    assert "undefined draws left out" in some.note
    with pytest.raises(MetricInputError, match="5 systems in a, 3 in b"):
        concurrence_interval(marks(4, 0), marks(4, 0)[:, :3])
    with pytest.raises(MetricInputError, match=r"shape \(3,\)"):
        concurrence_interval([1, 2, 3], [1, 2, 3])
    with pytest.raises(MetricInputError, match="finite"):
        concurrence_interval([[1, math.nan], [0, 1]], marks(4, 0)[:, :2])
    with pytest.raises(MetricInputError, match="resamples"):
        concurrence_interval(marks(4, 0), marks(4, 0), resamples=0)
    with pytest.raises(MetricInputError, match="confidence"):
        concurrence_interval(marks(4, 0), marks(4, 0), confidence=95)
