"""The batch engine against the definitions, written as plainly as possible."""

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from proctor.metrics.errors import MetricInputError
from proctor.metrics.ordering import (
    MEASURES,
    measure_arrays,
    measure_orders,
    measure_ranks,
)


def defined(reference, prediction):
    """The six measures from their definitions, quadratic and worse."""
    n = len(reference)
    right = {step: t for t, step in enumerate(reference)}
    guess = {step: t for t, step in enumerate(prediction)}
    hits = [a == b for a, b in zip(reference, prediction, strict=True)]
    pairs = list(itertools.combinations(reference, 2))
    inverted = sum(guess[a] > guess[b] for a, b in pairs)
    table = [[0] * (n + 1) for _ in range(n + 1)]
    run = [[0] * (n + 1) for _ in range(n + 1)]
    for i, j in itertools.product(range(n), repeat=2):
        same = reference[i] == prediction[j]
        table[i + 1][j + 1] = table[i][j] + 1 if same else max(table[i][j + 1], table[i + 1][j])
        run[i + 1][j + 1] = run[i][j] + 1 if same else 0
    return [
        sum(hits) / n,
        float(all(hits)),
        table[n][n],
        max(map(max, run)),
        1 - 2 * inverted / len(pairs) if pairs else 1.0,
        sum(abs(right[step] - guess[step]) for step in reference),
    ]


def shuffled(rng, count, steps):
    return rng.permuted(np.tile(np.arange(steps), (count, 1)), axis=1)


@pytest.mark.parametrize("steps", range(1, 7))
def test_every_order_of_few_steps(steps):
    every = list(itertools.permutations(range(steps)))
    wanted = [defined(range(steps), order) for order in every]
    assert measure_ranks(every).values == pytest.approx(np.array(wanted), abs=1e-12)


@pytest.mark.parametrize("steps", [5, 6, 7, 8, 9, 10, 11, 12, 13, 23, 63, 64, 65, 90, 254, 255, 256, 300])
def test_random_orders_against_random_references(steps):
    rng = np.random.default_rng(steps)
    count = 300 if steps <= 13 else 3
    references, predictions = shuffled(rng, count, steps), shuffled(rng, count, steps)
    wanted = [defined(r, p) for r, p in zip(references.tolist(), predictions.tolist(), strict=True)]
    assert measure_arrays(references, predictions).values == pytest.approx(np.array(wanted), abs=1e-12)


@pytest.mark.parametrize("steps", [2, 3, 5, 8, 12, 40, 100])
def test_tau_is_scipys(steps):
    rng = np.random.default_rng(0)
    references, predictions = shuffled(rng, 20, steps), shuffled(rng, 20, steps)
    ranks = np.argsort(references)[np.arange(len(references))[:, None], predictions]
    wanted = [kendalltau(np.arange(steps), q).statistic for q in ranks]
    assert measure_arrays(references, predictions).kendall_tau == pytest.approx(wanted, abs=1e-12)


@given(st.integers(1, 12).flatmap(lambda n: st.tuples(*[st.permutations(range(n))] * 3)))
@settings(max_examples=60)
def test_new_names_of_the_steps_change_nothing(orders):
    reference, prediction, names = orders
    renamed = [[names[s] * 1000 - 7 for s in order] for order in (reference, prediction)]
    plain = measure_arrays([reference], [prediction]).values
    assert np.array_equal(measure_arrays([renamed[0]], [renamed[1]]).values, plain)
    words = [[f"step {names[s]}" for s in order] for order in (reference, prediction)]
    assert np.array_equal(measure_orders([words[0]], [words[1]]).values, plain)


@given(st.integers(1, 15).flatmap(lambda n: st.tuples(st.permutations(range(n)), st.permutations(range(n)))))
@settings(max_examples=60)
def test_bounds_symmetry_and_how_measures_hang_together(orders):
    a, b = orders
    n = len(a)
    acc, pmr, lq, lr, tau, dist = measure_arrays([a], [b]).values[0]
    assert np.array_equal(measure_arrays([b], [a]).values[0], [acc, pmr, lq, lr, tau, dist])
    assert 0 <= acc <= 1
    assert 1 <= lr <= lq <= n
    assert -1 <= tau <= 1
    assert 0 <= dist <= n * n // 2
    assert pmr == (acc == 1) == (lq == n) == (dist == 0) == (a == b)
    inversions = (1 - tau) / 2 * (n * (n - 1) / 2)
    assert inversions - 1e-9 <= dist <= 2 * inversions + 1e-9  # Diaconis and Graham 1977


@given(st.integers(2, 10).flatmap(lambda n: st.tuples(st.permutations(range(n)), st.integers(0, n - 2))))
@settings(max_examples=60)
def test_mending_two_neighbours_never_hurts_tau(case):
    order, t = case
    low, high = sorted(order[t : t + 2])
    mended, worse = list(order), list(order)
    mended[t : t + 2], worse[t : t + 2] = [low, high], [high, low]
    good, bad = measure_ranks([mended, worse]).kendall_tau
    pairs = len(order) * (len(order) - 1) / 2
    assert good - bad == pytest.approx(2 / pairs)


def test_sequences_are_measured_alone():
    rng = np.random.default_rng(1)
    for steps in (4, 9):
        references, predictions = shuffled(rng, 70_000, steps), shuffled(rng, 70_000, steps)
        rows = rng.permutation(70_000)[:500]
        whole = measure_arrays(references, predictions)
        part = measure_arrays(references[rows], predictions[rows])
        assert np.array_equal(whole.take(rows).values, part.values)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("steps", [5, 9])
def test_any_kind_of_integer_and_any_layout(kind, steps):
    rng = np.random.default_rng(2)
    references, predictions = shuffled(rng, 40, steps), shuffled(rng, 40, steps)
    wanted = measure_arrays(references, predictions).values
    for shift in (0, 1, 100):
        a, b = ((x + shift).astype(kind) for x in (references, predictions))
        assert np.array_equal(measure_arrays(a, b).values, wanted)
        assert np.array_equal(measure_arrays(np.asfortranarray(a), b[:, :]).values, wanted)
    if kind.startswith("int"):
        assert np.array_equal(measure_arrays(references.astype(kind) - 100, predictions - 100).values, wanted)
    tripled = measure_arrays(references.astype(kind) * 3, predictions.astype(kind) * 3)
    assert np.array_equal(tripled.values, wanted)


def test_input_is_not_changed():
    references, predictions = np.array([[0, 1, 2]]), np.array([[2, 1, 0]])
    measure_arrays(references, predictions)
    assert references.tolist() == [[0, 1, 2]]
    assert predictions.tolist() == [[2, 1, 0]]


def test_perfect_and_reversed():
    for steps in (1, 2, 5, 7, 8, 64, 65):
        order = np.arange(steps)[None]
        assert measure_arrays(order, order).values[0].tolist() == [1, 1, steps, steps, 1, 0]
        if steps > 1:
            turned = measure_arrays(order, order[:, ::-1])
            assert turned.values[0, 1:].tolist() == [0, 1, 1, -1, steps**2 // 2]


def test_no_sequences_is_an_empty_result_and_no_mean():
    empty = measure_arrays(np.zeros((0, 5), dtype=int), np.zeros((0, 5), dtype=int))
    assert len(empty) == 0
    assert empty.values.shape == (0, len(MEASURES))
    with pytest.raises(MetricInputError, match="no sequences"):
        empty.means()
    with pytest.raises(MetricInputError, match="no sequences"):
        empty.micro_position_accuracy()


@pytest.mark.parametrize("steps", [3, 7, 8, 70])
@pytest.mark.parametrize("offset", [0, 50])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r, p: p.__setitem__((2, 0), p[2, 1]), "sequence 2: the prediction lacks .* and repeats"),
        (lambda r, p: p.__setitem__((2, 0), 10_000), "sequence 2: the prediction lacks .* unknown 10000"),
        (lambda r, p: p.__setitem__((2, 0), -10_000), "sequence 2: the prediction lacks .* unknown -10000"),
        (lambda r, p: r.__setitem__((2, 0), r[2, 1]), "sequence 2: the reference repeats"),
        (
            lambda r, p: (r.__setitem__((2, 0), r[2, 1]), p.__setitem__(2, r[2])),
            "sequence 2: the reference repeats",
        ),
    ],
)
def test_what_is_no_reordering_is_named(steps, offset, change, message):
    rng = np.random.default_rng(3)
    references, predictions = shuffled(rng, 5, steps) + offset, shuffled(rng, 5, steps) + offset
    change(references, predictions)
    with pytest.raises(MetricInputError, match=message):
        measure_arrays(references, predictions)


def test_the_wrong_row_is_counted_over_all_chunks():
    rng = np.random.default_rng(4)
    for steps in (5, 9):
        references, predictions = shuffled(rng, 100_001, steps), shuffled(rng, 100_001, steps)
        predictions[100_000, :2] = predictions[100_000, 1]
        with pytest.raises(MetricInputError, match="sequence 100000:"):
            measure_arrays(references, predictions)


@given(
    st.integers(1, 9).flatmap(lambda n: st.tuples(*[st.lists(st.integers(0, n), min_size=n, max_size=n)] * 2))
)
@settings(max_examples=150)
def test_only_reorderings_are_accepted(orders):
    reference, prediction = orders
    fine = len(set(reference)) == len(reference) and sorted(reference) == sorted(prediction)
    if fine:
        assert measure_arrays([reference], [prediction]).values[0] == pytest.approx(
            defined(reference, prediction)
        )
    else:
        with pytest.raises(MetricInputError, match="sequence 0"):
            measure_arrays([reference], [prediction])


@pytest.mark.parametrize(
    ("references", "predictions", "message"),
    [
        ([[0, 1]], [[0, 1, 2]], r"shape \[1, 2\] and predictions \[1, 3\]"),
        ([[0, 1]], [[0, 1], [1, 0]], "shape"),
        ([0, 1], [0, 1], "references must be integers of shape"),
        ([[0.0, 1.0]], [[0, 1]], "references must be integers .* float64"),
        ([[0, 1]], [[0, float("nan")]], "predictions must be integers"),
        ([[True, False]], [[True, False]], "bool"),
        ([["a", "b"]], [["a", "b"]], "measure_orders takes lists"),
        ([[]], [[]], "no steps"),
        (np.array([[0, 2**63]], "uint64"), np.array([[0, 2**63]], "uint64"), "2\\^63"),
    ],
)
def test_arrays_that_are_none(references, predictions, message):
    with pytest.raises(MetricInputError, match=message):
        measure_arrays(references, predictions)


def test_ranks_must_be_permutations():
    with pytest.raises(MetricInputError, match="sequence 1: the prediction lacks 0 and has the unknown 3"):
        measure_ranks([[0, 1, 2], [1, 2, 3]])


def test_memory_stays_near_the_result():
    rng = np.random.default_rng(5)
    references, predictions = shuffled(rng, 200_000, 5), shuffled(rng, 200_000, 5)
    measure_arrays(references[:10], predictions[:10])
    tracemalloc.start()
    measure_arrays(references, predictions)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200_000 * 8 * 7 + 10_000_000
