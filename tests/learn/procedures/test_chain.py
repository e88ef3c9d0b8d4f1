import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.learn.procedures import chain
from proctor.learn.procedures.chain import chain_energy, solve_chain

DISTANCES = ("l1", "potts")
costs = st.integers(0, 40).map(lambda n: n / 8)


@st.composite
def chains(draw):
    frames, labels = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    rows = draw(st.lists(st.lists(costs, min_size=labels, max_size=labels), min_size=frames, max_size=frames))
    return np.array(rows), draw(costs)


@settings(max_examples=80, deadline=None)
@given(chains(), st.sampled_from(DISTANCES))
def test_as_cheap_as_the_best_of_all_labellings(made, distance):
    unary, weight = made
    frames, labels = unary.shape
    best = min(
        chain_energy(unary, np.array(one), weight, distance)
        for one in itertools.product(range(labels), repeat=frames)
    )
    for found in (solve_chain(unary, weight, distance), chain._one_by_one(unary, weight, distance == "l1")):
        assert chain_energy(unary, found, weight, distance) == pytest.approx(best, abs=1e-12)


def dense(unary, weight, distance):
    """O(T K²), one frame after the other."""
    labels = np.arange(unary.shape[1])
    steps = abs(labels[:, None] - labels) if distance == "l1" else labels[:, None] != labels
    reached, ways = unary[0], []
    for row in unary[1:]:
        cost = reached[:, None] + weight * steps
        ways.append(cost.argmin(0))
        reached = cost.min(0) + row
    return float(reached.min())


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("frames", [255, 256, 257, 1_500, 3_001])
@pytest.mark.parametrize("weight", [0.0, 0.02, 0.2, 5.0])
def test_long_chains_settle_or_are_walked_in_turn(frames, weight, distance, monkeypatch):
    """Blocks of few frames, so that a chain of many is cheap to test; with numba and without."""
    monkeypatch.setattr(chain, "_BLOCK", 16)
    monkeypatch.setattr(chain, "isqrt", lambda _: 8)
    rng = np.random.default_rng(frames)
    steps = np.repeat(rng.integers(0, 6, frames // 20 + 1), 20)[:frames]
    unary = rng.random((frames, 6))
    unary[np.arange(frames), steps] -= 0.3
    expected = dense(unary, weight, distance)
    for numba in (None, object()):
        monkeypatch.setattr(chain, "find_spec", lambda _, found=numba: found)
        monkeypatch.setattr(chain, "_compiled", lambda: chain._one_by_one)
        found = solve_chain(unary, weight, distance)
        assert chain_energy(unary, found, weight, distance) == pytest.approx(expected, abs=1e-8)


def test_costs_that_hardly_differ_do_not_settle(monkeypatch):
    monkeypatch.setattr(chain, "find_spec", lambda _: None)
    unary = 0.2 - np.random.default_rng(0).random((3_000, 5)) * 1e-4
    walks = chain._Walks(unary, 1.0, "l1")
    assert not walks.settle()
    found = solve_chain(unary, 1.0)
    assert found.tolist() == [int(unary.sum(0).argmin())] * 3_000


def test_what_no_chain_is_made_of():
    assert solve_chain(np.zeros((0, 3)), 1.0).tolist() == []
    assert solve_chain(np.zeros((4, 1)), 1.0).tolist() == [0] * 4
    for unary, weight in ((np.full((2, 2), np.nan), 1), (np.zeros((2, 2)), -1), (np.zeros((2, 0)), 1)):
        with pytest.raises(ValueError, match="finite"):
            solve_chain(unary, weight)
