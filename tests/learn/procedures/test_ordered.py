import itertools

import numpy as np
import pytest

from proctor.errors import UserError
from proctor.learn.procedures import ordered
from proctor.learn.procedures.ordered import Orders, align_recordings
from proctor.procedure.graph import Step, TaskGraph


def graph(edges, steps="abc"):
    return TaskGraph("g", "G", tuple(Step(s, s) for s in steps), edges)


def cheapest(costs, orders):
    """Every order, every place of every pause, by brute force."""
    best = np.inf
    for labels in itertools.product(range(costs.shape[1]), repeat=len(costs)):
        runs = [k for k, _ in itertools.groupby(labels)]
        if [k for k in runs if k] in orders:  # a pause may not cut a step in two
            best = min(best, costs[np.arange(len(costs)), labels].sum())
    return best


@pytest.mark.parametrize("seed", range(6))
def test_as_cheap_as_the_best_of_all_allowed_cuts(seed):
    costs = np.random.default_rng(seed).random((6, 4))
    orders = Orders(graph((("a", "b"),)))
    labels = orders.align(costs)
    allowed = [[1, 2, 3], [1, 3, 2], [3, 1, 2]]
    assert costs[np.arange(6), labels].sum() == pytest.approx(cheapest(costs, allowed))
    assert [k for k, _ in itertools.groupby(labels.tolist()) if k] in allowed


def test_mean_places_are_those_of_all_orders():
    places = Orders(graph((("a", "b"), ("b", "c")))).mean_places(0)
    assert places == pytest.approx([1 / 6, 1 / 2, 5 / 6])


def test_what_cannot_be_aligned(monkeypatch):
    with pytest.raises(UserError, match="2 rows are too few for the 3 steps"):
        Orders(graph(())).align(np.zeros((2, 4)))
    monkeypatch.setattr(ordered, "MOST_STATES", 5)
    with pytest.raises(UserError, match="too many orders"):
        Orders(graph(())).align(np.zeros((4, 4)))


def test_recordings_in_different_orders():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(4, 12)) * 2
    made, truth = {}, {}
    for number, order in enumerate(([0, 1, 2, 3], [0, 2, 1, 3], [0, 1, 2, 3], [0, 2, 1, 3])):
        truth[str(number)] = np.repeat(order, 20) + 1
        made[str(number)] = (centres[truth[str(number)] - 1] + rng.normal(size=(80, 12))).astype(np.float32)
    diamond = graph((("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")), "abcd")
    anchors = {i: ((rows[:, None] - centres) ** 2).sum(-1) for i, rows in made.items()}
    labels, steps = align_recordings(made, diamond, first_costs=anchors)
    assert steps == ("a", "b", "c", "d")
    assert np.mean([np.mean(labels[i] == truth[i]) for i in made]) > 0.95
    by_time, _ = align_recordings(made, diamond)
    assert np.mean([np.mean(by_time[i] == truth[i]) for i in made]) > 0.7
