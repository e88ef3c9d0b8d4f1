"""Rows and seconds, and what an epoch sees of a recording."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.learn.localize.grid import LONGEST, Grid, crop, grid_of


def test_rows_stand_for_their_middle() -> None:
    grid = grid_of("right", 1.0)
    assert grid.rows(np.array([0.0, 0.5, 10.0])).tolist() == [-0.5, 0.0, 9.5]
    assert grid.seconds(np.array([0.0, 9.5])).tolist() == [0.5, 10.0]
    assert grid_of("right", 2.0).rows(np.array([1.0, 3.0])).tolist() == [0.0, 1.0]
    assert grid_of("paper", 1.0) == grid


def test_the_released_grid_drifts() -> None:
    code, right = grid_of("code", 1.0), grid_of("right", 1.0)
    assert code == Grid(29.97, 30.0, 30.0)
    quarter = np.array([900.0])
    assert right.rows(quarter) - code.rows(quarter) == pytest.approx([0.9], abs=1e-6)
    assert code.seconds(code.rows(quarter)) == pytest.approx(quarter)
    long = Grid(29.97, 30.0, 120.0)
    assert long.rows(np.array([2.0])) == pytest.approx([2 * 29.97 / 30 - 2.0])


def test_whole_recordings_are_cut_to_their_rows() -> None:
    start, end = np.array([-3.0, 2.0, 9.0, 30.0]), np.array([1.0, 5.0, 30.0, 40.0])
    found = crop(None, 10, start, end, 0.5)
    assert (found.first, found.last) == (0, 10)
    # the third is seen to 1.5 of 21 rows, the last one not at all
    assert (found.chosen.tolist(), found.start.tolist(), found.end.tolist()) == ([0, 1], [-0.5, 2], [1, 5])


def test_a_stretch_holds_an_action() -> None:
    start, end = np.array([95.0]), np.array([99.0])
    for seed in range(50):
        found = crop(np.random.default_rng(seed), 100, start, end, 0.5)
        assert 90 <= found.last - found.first <= 100
        assert 0 <= found.first <= found.last <= 100
        assert found.chosen.tolist() == [0]
        assert found.end[0] - found.start[0] >= 0.3 * 4
        assert found.end[0] <= found.last - found.first + 0.5
        assert found.start[0] == 95 - found.first
    assert len({crop(np.random.default_rng(s), 100, start, end, 0.5).first for s in range(50)}) > 3


def test_where_none_is_found_there_is_none() -> None:
    found = crop(np.random.default_rng(0), 100, np.zeros(0), np.zeros(0), 0.5)
    assert found.chosen.tolist() == []
    assert found.last - found.first >= 90


def test_long_recordings_are_cut_to_4096_rows() -> None:
    found = crop(np.random.default_rng(0), 9_000, np.array([1.0]), np.array([8_999.0]), 0.5)
    assert found.last - found.first == LONGEST
    assert found.chosen.tolist() == [0]
    assert (found.start.tolist(), found.end.tolist()) == ([-0.5], [LONGEST + 0.5])
    assert crop(np.random.default_rng(0), 1, np.array([0.0]), np.array([1.0]), 0.5).last == 1
