import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.metrics.errors import MetricInputError
from proctor.metrics.ordering import (
    MEASURES,
    best_of_references,
    chance_measures,
    chance_of_references,
    expected_measures,
    measure_ranks,
)
from proctor.metrics.ordering.scores import EXACT_SUBSEQUENCE


@pytest.mark.parametrize("steps", range(1, 9))
def test_exact_against_all_orders(steps):
    means = measure_ranks(list(itertools.permutations(range(steps)))).means()
    assert expected_measures(steps) == pytest.approx(means, abs=1e-12)


@pytest.mark.parametrize("steps", [10, 12, 25, 40, 41, 60])
def test_exact_and_simulated_against_other_draws(steps):
    rng = np.random.default_rng(99)
    drawn = measure_ranks(rng.permuted(np.tile(np.arange(steps), (20_000, 1)), axis=1))
    error = drawn.values.std(axis=0) / np.sqrt(20_000)
    expected = np.array(list(expected_measures(steps).values()))
    assert (np.abs(drawn.values.mean(axis=0) - expected) <= 6 * error + 1e-4).all()


def test_simulation_begins_where_it_is_said_to():
    assert expected_measures(EXACT_SUBSEQUENCE, seed=1) == expected_measures(EXACT_SUBSEQUENCE, seed=2)
    beyond = EXACT_SUBSEQUENCE + 1
    assert expected_measures(beyond, seed=1) == expected_measures(beyond, seed=1)
    assert expected_measures(beyond, seed=1) != expected_measures(beyond, seed=2)
    chance = chance_measures([3, beyond, beyond])
    assert (chance.simulated, chance.method) == (2, "simulated for 2 of 3")
    assert chance_measures([3]).method == "exact"


def test_published_floor_for_five_steps():
    found = {name: round(value, 4) for name, value in expected_measures(5).items()}
    assert list(found.values()) == [0.2, 0.0083, 2.7917, 1.7083, 0.0, 8.0]


def test_very_long_sequences_have_a_value():
    found = expected_measures(300)
    assert found["perfect_match_ratio"] == 0.0  # below the smallest number
    assert 1.63 < found["longest_common_substring"] < 1.65
    assert found["displacement"] == (300**2 - 1) / 3


def test_lengths_are_kept_in_order():
    chance = chance_measures([5, 2, 5])
    assert chance.measures.displacement.tolist() == [8, 1, 8]
    assert chance.measures.lengths.tolist() == [5, 2, 5]
    assert len(chance_measures([]).measures) == 0


@pytest.mark.parametrize("steps", [0, -1])
def test_invalid(steps):
    with pytest.raises(MetricInputError, match="does not exist"):
        expected_measures(steps)
    with pytest.raises(MetricInputError, match="does not exist"):
        chance_measures([3, steps])


@given(
    st.integers(1, 5).flatmap(lambda n: st.lists(st.permutations(range(n)), min_size=1, max_size=3)),
    st.sampled_from(["joint", "independent", "first"]),
)
@settings(max_examples=30)
def test_several_references_against_all_orders_under_the_same_rule(references, mode):
    every = [list(p) for p in itertools.permutations(range(len(references[0])))]
    wanted = best_of_references([references] * len(every), every, mode=mode).best.values.mean(axis=0)
    renamed = [[f"s{step}" for step in order] for order in references]
    found = chance_of_references([renamed], mode=mode)
    assert found.measures.values[0] == pytest.approx(wanted, abs=1e-12)
    assert found.simulated == 0


def test_more_references_raise_chance():
    one = chance_of_references([[[0, 1, 2, 3, 4]]]).measures.values[0]
    two = chance_of_references([[[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]]]).measures.values[0]
    assert two[0] > one[0]
    assert two[1] == pytest.approx(2 / 120)


def test_long_sequences_with_several_references_are_drawn_with_the_seed():
    references = [[list(range(9)), [1, 0, *range(2, 9)]], [list(range(9))]]
    a, b, c = (chance_of_references(references, seed=seed) for seed in (1, 1, 2))
    assert a.method == "simulated for 1 of 2"
    assert np.array_equal(a.measures.values, b.measures.values)
    assert not np.array_equal(a.measures.values, c.measures.values)
    single = np.array(list(expected_measures(9).values()))
    assert np.array_equal(a.measures.values[1], single)
    assert a.measures.values[0, 0] > single[0]
    turned = chance_of_references(references[::-1], seed=1)
    assert np.array_equal(turned.measures.values, a.measures.values[::-1])


def test_no_items():
    assert chance_of_references([]).measures.values.shape == (0, len(MEASURES))
