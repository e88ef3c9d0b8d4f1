import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist

import proctor.metrics.embedding as module
from proctor.metrics.embedding import (
    METRICS,
    mean_pairwise_cosine,
    near_duplicates,
    nearest_cosines,
    paired_cosines,
    unit_vectors,
)
from proctor.metrics.errors import MetricInputError


def tables():
    shape = st.tuples(st.integers(2, 12), st.integers(1, 5))
    numbers = st.integers(-4, 4).map(float)
    return shape.flatmap(lambda s: arrays(np.float64, s, elements=numbers)).filter(
        lambda t: t.any(axis=1).all()
    )


def cosines(table):
    return 1 - cdist(table, table, "cosine")


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(module, "_CELLS", 7)


# -- self-similarity -------------------------------------------------------------------------------------------


def test_self_similarity_perfect_opposite_and_golden():
    assert float(mean_pairwise_cosine([[1, 2], [2, 4], [0.5, 1]])) == pytest.approx(1.0)
    assert float(mean_pairwise_cosine([[1, 0], [-1, 0]])) == -1.0
    assert float(mean_pairwise_cosine([[1, 0], [0, 1]])) == 0.0
    assert float(mean_pairwise_cosine([[1, 0], [1, 1], [0, 1]])) == pytest.approx(math.sqrt(2) / 3)


@given(tables())
def test_self_similarity_is_the_mean_over_pairs(table):
    pairs = cosines(table)[np.triu_indices(len(table), 1)]
    assert float(mean_pairwise_cosine(table)) == pytest.approx(pairs.mean(), abs=1e-9)
    assert -1 / (len(table) - 1) - 1e-9 <= float(mean_pairwise_cosine(table)) <= 1


@given(tables(), st.randoms(), st.floats(0.01, 100))
def test_self_similarity_ignores_order_and_length(table, rng, scale):
    order = list(range(len(table)))
    rng.shuffle(order)
    assert float(mean_pairwise_cosine(table[order] * scale)) == pytest.approx(
        float(mean_pairwise_cosine(table)), abs=1e-9
    )


def test_lengths_out_of_the_range_of_squares():
    assert float(mean_pairwise_cosine([[1e-200, 0], [1e200, 1e200]])) == pytest.approx(math.sqrt(0.5))
    assert unit_vectors([[5e-324, 0.0]]).tolist() == [[1.0, 0.0]]


def test_paired():
    assert paired_cosines([[1, 0], [1, 1]], [[2, 0], [-1, -1]]).tolist() == pytest.approx([1.0, -1.0])
    assert paired_cosines(np.zeros((0, 3)), np.zeros((0, 3))).size == 0
    with pytest.raises(MetricInputError, match=r"\(1, 2\) and \(2, 2\)"):
        paired_cosines([[1, 0]], [[1, 0], [1, 0]])


# -- nearest and near-duplicates -------------------------------------------------------------------------------


@given(tables())
def test_nearest_by_brute_force(table):
    found, which = nearest_cosines(table)
    expected = cosines(table)
    np.fill_diagonal(expected, -np.inf)
    assert found == pytest.approx(expected.max(axis=1), abs=1e-9)
    assert expected[np.arange(len(table)), which] == pytest.approx(found, abs=1e-9)
    assert (which != np.arange(len(table))).all()


def test_nearest_ties_take_the_smallest_row():
    assert nearest_cosines([[1, 0], [3, 0], [2, 0]])[1].tolist() == [1, 0, 0]


def test_blocks_change_nothing(small_blocks):
    table = np.random.default_rng(1).integers(-3, 4, size=(23, 3)) + 0.5
    expected = cosines(table)
    np.fill_diagonal(expected, -np.inf)
    assert nearest_cosines(table)[0] == pytest.approx(expected.max(axis=1))
    found = near_duplicates(table, threshold=0.9, keep=5)
    pairs = [(i, j) for i in range(23) for j in range(i + 1, 23) if expected[i, j] > 0.9]
    assert found.pairs == len(pairs) > 5
    assert set(np.flatnonzero(found.flagged)) == {row for pair in pairs for row in pair}
    assert [c for _, _, c in found.nearest] == pytest.approx(
        sorted((expected[p] for p in pairs), reverse=True)[:5]
    )
    assert all(expected[i, j] == pytest.approx(c) and i < j for i, j, c in found.nearest)


@given(tables(), st.sampled_from([-1.0, 0.0, 0.5, 0.95, 1.0]))
def test_near_duplicates_by_brute_force(table, threshold):
    found = near_duplicates(table, threshold=threshold, keep=1000)
    expected = np.round(cosines(table), 12)
    pairs = [
        (i, j) for i in range(len(table)) for j in range(i + 1, len(table)) if expected[i, j] > threshold
    ]
    assert found.pairs == len(found.nearest) == len(pairs)
    assert {(i, j) for i, j, _ in found.nearest} == set(pairs)


def test_near_duplicates_golden():
    found = near_duplicates([[1, 0], [1, 0.1], [0, 1], [1, 0]])
    assert found.pairs == 3
    assert found.flagged.tolist() == [True, True, False, True]
    assert found.share == 0.75
    assert [(i, j) for i, j, _ in found.nearest] == [(0, 3), (0, 1), (1, 3)]
    assert near_duplicates([[1, 0], [0, 1]]).share == 0.0
    assert near_duplicates([[1, 0], [1, 0]], threshold=1.0).pairs == 0
    assert near_duplicates([[1, 0], [1, 0]], keep=0).nearest == ()
    assert near_duplicates([[1, 0], [1, 0]], keep=0).pairs == 1


@given(tables(), st.floats(-1, 1), st.floats(-1, 1))
def test_a_higher_threshold_never_finds_more(table, a, b):
    low, high = sorted((a, b))
    assert near_duplicates(table, threshold=high).pairs <= near_duplicates(table, threshold=low).pairs


def test_the_most_alike_pairs_are_kept():
    table = np.random.default_rng(5).normal(size=(40, 3))
    expected = cosines(table)
    pairs = sorted(((expected[i, j], -i, -j) for i in range(40) for j in range(i + 1, 40)), reverse=True)
    found = near_duplicates(table, threshold=0.0, keep=4).nearest
    assert [(i, j) for i, j, _ in found] == [(-i, -j) for _, i, j in pairs[:4]]


def test_many_equal_rows_are_counted_not_listed():
    found = near_duplicates(np.ones((3_000, 2)), keep=3)
    assert found.pairs == 3_000 * 2_999 // 2
    assert [(i, j) for i, j, _ in found.nearest] == [(0, 1), (0, 2), (0, 3)]


# -- empty and invalid -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [mean_pairwise_cosine, nearest_cosines, near_duplicates])
def test_fewer_than_two_texts(function):
    for table in (np.zeros((0, 3)), [[1.0, 2.0]]):
        with pytest.raises(MetricInputError, match="at least two texts"):
            function(table)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[1, 0], [0, 0]], "row 1 has length 0"),
        ([[1, 0], [math.nan, 0]], "row 1 is not finite"),
        ([[math.inf, 0], [1, 0]], "row 0 is not finite"),
        ([1, 2], r"got \(2,\)"),
        ([[], []], r"got \(2, 0\)"),
        ([["a"], ["b"]], "table of numbers"),
        ([[1], [1, 2]], "table of numbers"),
        (np.array([[1j, 1], [1, 1]]), "table of numbers"),
        (np.array([["2024-01-01"], ["2024-01-02"]], dtype="M8[D]"), "table of numbers"),
    ],
)
def test_invalid_vectors_are_named(table, message):
    with pytest.raises(MetricInputError, match=message):
        float(mean_pairwise_cosine(table))


def test_invalid_options():
    with pytest.raises(MetricInputError, match="between -1 and 1"):
        near_duplicates([[1], [1]], threshold=math.nan)
    with pytest.raises(MetricInputError, match="keep"):
        near_duplicates([[1], [1]], keep=-1)


def test_the_vectors_are_left_alone():
    table = np.array([[3.0, 4.0], [1.0, 0.0]])
    nearest_cosines(table)
    near_duplicates(table)
    assert table.tolist() == [[3.0, 4.0], [1.0, 0.0]]


def test_entries_of_the_catalogue():
    assert all(m.family == "text" for m in METRICS)
