import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.metrics.errors import MetricInputError
from proctor.metrics.ordering import decode_pairwise, decode_pairwise_many


def probabilities(n, seed):
    return np.random.default_rng(seed).uniform(0.02, 0.98, (n, n))


def worth(matrix, order):
    both = (matrix + 1 - matrix.T) / 2
    return sum(np.log(both[a, b]) for a, b in itertools.combinations(order, 2))


@given(st.integers(1, 6), st.integers(0, 10_000))
@settings(max_examples=50)
def test_exact_against_all_orders(n, seed):
    matrix = probabilities(n, seed)
    found = decode_pairwise(matrix)
    best = max(worth(matrix, order) for order in itertools.permutations(range(n)))
    assert found.log_probability == pytest.approx(best, abs=1e-9)
    assert worth(matrix, found.order) == pytest.approx(best, abs=1e-9)
    assert found.method == "exact"


@given(st.integers(1, 10), st.integers(0, 10_000))
@settings(max_examples=30)
def test_how_the_methods_compare(n, seed):
    matrix = probabilities(n, seed)
    exact, borda, search = (decode_pairwise(matrix, method=m) for m in ("exact", "borda", "search"))
    assert exact.log_probability >= search.log_probability - 1e-9
    assert search.log_probability >= borda.log_probability - 1e-9
    for found in (exact, borda, search):
        assert sorted(found.order) == list(range(n))
        assert found.log_probability == pytest.approx(worth(matrix, found.order), abs=1e-9)


def test_no_single_move_improves_a_searched_order():
    matrix = probabilities(12, 5)
    order = list(decode_pairwise(matrix, method="search").order)
    for source, target in itertools.permutations(range(12), 2):
        moved = list(order)
        moved.insert(target, moved.pop(source))
        assert worth(matrix, moved) <= worth(matrix, order) + 1e-9


@pytest.mark.parametrize("n", [1, 2, 9, 16, 17, 40])
def test_certain_pairs_give_the_order_they_were_made_from(n):
    order = np.random.default_rng(n).permutation(n)
    time = np.argsort(order)
    found = decode_pairwise((time[:, None] < time).astype(float))
    assert found.order == tuple(order)
    assert found.log_probability == pytest.approx(0, abs=1e-6)
    assert found.method == ("exact" if n <= 16 else "search")


def test_ties_are_broken_by_slot_whatever_the_rounding():
    assert decode_pairwise(np.full((4, 4), 0.5), method="borda").order == (0, 1, 2, 3)
    assert decode_pairwise(np.full((4, 4), 0.5), method="search").order == (0, 1, 2, 3)
    assert decode_pairwise(np.full((4, 4), 0.5)).order == (3, 2, 1, 0)
    cycle = [[0.5, 0.9, 0.2], [0.1, 0.5, 0.8], [0.8, 0.2, 0.5]]
    before = np.array(cycle)
    assert decode_pairwise(before).order == (2, 0, 1)
    assert before.tolist() == cycle
    assert sorted(decode_pairwise([[0, 1, 0], [0, 0, 1], [1, 0, 0]]).order) == [0, 1, 2]


@pytest.mark.parametrize("method", [None, "exact", "borda", "search"])
@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([], "square"),
        ([[0.5, 0.5]], r"square matrix is needed, got shape \[1, 2\]"),
        ([[0.5, 1.2], [0.1, 0.5]], r"P\[0, 1\] = 1.2"),
        ([[0.5, 0.2], [float("nan"), 0.5]], r"P\[1, 0\] = nan"),
    ],
)
def test_invalid(method, matrix, message):
    with pytest.raises(MetricInputError, match=message):
        decode_pairwise(matrix, method=method)


CONSTRAINTS = st.lists(st.permutations(range(5)).map(lambda p: (min(p[:2]), max(p[:2]))), max_size=5)
"""Never a cycle: the smaller slot comes first."""


@given(st.integers(2, 6), st.integers(0, 10_000), CONSTRAINTS)
@settings(max_examples=40)
def test_constraints_against_all_orders_that_keep_them(n, seed, drawn):
    before = [pair for pair in drawn if max(pair) < n]
    matrix = probabilities(n, seed)
    kept = [o for o in itertools.permutations(range(n)) if all(o.index(a) < o.index(b) for a, b in before)]
    best = max(kept, key=lambda order: worth(matrix, order))
    found = decode_pairwise(matrix, before=before)
    assert found.order == best
    assert found.log_probability == pytest.approx(worth(matrix, best), abs=1e-9)
    for method in ("borda", "search"):
        other = decode_pairwise(matrix, method=method, before=before)
        assert other.order in kept
        assert other.log_probability <= found.log_probability + 1e-9
    both = decode_pairwise_many([matrix, matrix], before=[before, None])
    assert both.tolist() == [list(best), list(decode_pairwise(matrix).order)]


@given(st.integers(1, 7), st.integers(0, 10_000), st.integers(1, 3))
@settings(max_examples=30)
def test_many_are_decoded_as_one_by_one_ties_too(n, seed, digits):
    matrices = np.random.default_rng(seed).uniform(0, 1, (9, n, n)).round(digits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("proctor.metrics.ordering.decoding._AT_ONCE", 4 * (n << n))
        found = decode_pairwise_many(matrices)
    assert [tuple(order) for order in found.tolist()] == [decode_pairwise(m).order for m in matrices]
    assert decode_pairwise_many(matrices[:0]).shape == (0, n)


def test_a_chain_against_all_that_is_probable_beyond_exact_sizes():
    certain = (np.arange(20)[:, None] < np.arange(20)).astype(float)
    backwards = [(step + 1, step) for step in range(10)]
    found = decode_pairwise(certain, before=backwards)
    assert found.method == "search"
    assert found.order == (*range(10, -1, -1), *range(11, 20))


def test_what_cannot_be_decoded():
    with pytest.raises(MetricInputError, match=r"17 slots are too many .* use method='search'"):
        decode_pairwise(np.full((17, 17), 0.5), method="exact")
    with pytest.raises(MetricInputError, match="'best' is unknown"):
        decode_pairwise([[0.5]], method="best")
    with pytest.raises(MetricInputError, match=r"a stack of square matrices is needed, got shape \[2, 2\]"):
        decode_pairwise_many(np.full((2, 2), 0.5))
    with pytest.raises(MetricInputError, match=r"P\[1, 0, 1\] = 1.5"):
        decode_pairwise_many([np.full((2, 2), 0.5), [[0.5, 1.5], [0.5, 0.5]]])
    with pytest.raises(MetricInputError, match="17 slots are too many"):
        decode_pairwise_many(np.full((1, 17, 17), 0.5))
    with pytest.raises(MetricInputError, match="1 lists of constraints for 2 matrices"):
        decode_pairwise_many(np.full((2, 2, 2), 0.5), before=[None])
    for method in ("exact", "search"):
        with pytest.raises(MetricInputError, match="cycle"):
            decode_pairwise(np.full((2, 2), 0.5), method=method, before=[(0, 1), (1, 0)])
    with pytest.raises(MetricInputError, match="unknown 2"):
        decode_pairwise(np.full((2, 2), 0.5), before=[(0, 2)])
