"""Partial orders from probabilities of pairs: thresholds, cycles, what can be swapped, and what is learned of known orders."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.learn.sequencing.partial import Certainty, fit_certainty, partly_ordered


def matrix(count: int, pairs: dict[tuple[int, int], float]) -> np.ndarray:
    found = np.full((count, count), 0.5)
    for (i, j), p in pairs.items():
        found[i, j], found[j, i] = p, 1 - p
    return found


def test_pairs_below_three_in_four_can_be_swapped() -> None:
    found = partly_ordered(matrix(3, {(0, 1): 0.9, (1, 2): 0.74, (0, 2): 0.76}))
    assert found.relations == {(0, 1), (0, 2)}
    (open_,) = found.swappable
    assert (open_.first, open_.second) == (1, 2)
    # At even log-odds z the chance of "always" is s(z - log 3): P 0.9 gives odds of 9 / 3.
    edge = next(e for e in found.edges if e.second == 1)
    assert edge.before == pytest.approx(0.75)
    assert edge.either == pytest.approx(1 - 0.75 - 1 / 28)


def test_the_weakest_pair_of_a_cycle_is_skipped() -> None:
    found = partly_ordered(matrix(3, {(0, 1): 0.95, (1, 2): 0.9, (2, 0): 0.85}))
    assert found.relations == {(0, 1), (1, 2), (0, 2)}
    assert [(p.first, p.second) for p in found.skipped] == [(2, 0)]
    assert [(e.first, e.second) for e in found.edges] == [(0, 1), (1, 2)]
    assert found.swappable == ()


def test_one_step_and_steps_that_are_all_alike_are_in_no_order() -> None:
    assert partly_ordered(matrix(1, {})).relations == frozenset()
    found = partly_ordered(matrix(3, {}))
    assert found.edges == ()
    assert len(found.swappable) == 3
    assert found.swappable[0].either == pytest.approx(0.5)


def test_what_is_sure_is_learned_from_tasks_of_known_order() -> None:
    rng = np.random.default_rng(0)
    true = Certainty(slope=2.0, gap=3.0)
    tasks = []
    for odds, drawn in zip(rng.normal(0, 2.5, 500), rng.random(500), strict=True):
        precedence = matrix(2, {(0, 1): 1 / (1 + np.exp(-odds))})
        always = true.always(precedence)
        before, after = drawn < always[0, 1], drawn > 1 - always[1, 0]
        tasks.append((precedence, frozenset({(0, 1)} if before else {(1, 0)} if after else ())))
    found = fit_certainty(tasks)
    assert found.slope == pytest.approx(2.0, abs=0.4)
    assert found.gap == pytest.approx(3.0, abs=0.6)
    assert 0.3 <= found.threshold <= 0.7
    assert fit_certainty([]) == Certainty()
