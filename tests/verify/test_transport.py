"""The shipment is the evenest there is, integral, and a shortage is told by the rows and columns that cause it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.verify.transport import Limit, Shortage, find_shortage, send_evenly


def _ways(units: int, most: list[int]) -> list[tuple[int, ...]]:
    return [way for way in product(*(range(m + 1) for m in most)) if sum(way) == units]


def _least_cost(supply: list[int], allowed: np.ndarray, strata: list[int], limits: list[Limit]) -> int | None:
    """Try every shipment: 100 times the columns' sum of squares, and that of the columns in each stratum."""
    best = None
    rows = [_ways(s, [s if a else 0 for a in row]) for s, row in zip(supply, allowed, strict=True)]
    for ways in product(*rows):
        sent = np.array(ways).reshape(allowed.shape)
        if any(sent[:, list(limit.columns)].sum() > limit.most for limit in limits):
            continue
        cost = _cost(sent, strata)
        best = cost if best is None else min(best, cost)
    return best


def _cost(sent: np.ndarray, strata: list[int]) -> int:
    inside = [sent[np.array(strata) == kind].sum(axis=0) for kind in set(strata)]
    return int(100 * (sent.sum(axis=0) ** 2).sum() + sum((total**2).sum() for total in inside))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_shipment_is_more_even(data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    supply = data.draw(st.lists(st.integers(0, 5), min_size=rows, max_size=rows))
    cells = st.lists(st.booleans(), min_size=columns, max_size=columns)
    allowed = np.array(data.draw(st.lists(cells, min_size=rows, max_size=rows)))
    strata = data.draw(st.lists(st.integers(0, 1), min_size=rows, max_size=rows))
    limits = data.draw(
        st.lists(
            st.builds(
                Limit,
                st.sets(st.integers(0, columns - 1), min_size=1).map(lambda s: tuple(sorted(s))),
                st.integers(0, 8),
            ),
            max_size=2,
        )
    )
    best = _least_cost(supply, allowed, strata, limits)
    sent = send_evenly(supply, allowed, strata=[strata], limits=limits)
    if best is None:
        assert sent is None
        return
    assert sent is not None
    assert sent.dtype == np.int64
    assert sent.sum(axis=1).tolist() == supply
    assert not sent[~allowed].any()
    assert all(sent[:, list(limit.columns)].sum() <= limit.most for limit in limits)
    # with limits over several columns the matrix is no network: there it only has to be as good as it can prove
    if all(len(limit.columns) == 1 for limit in limits):
        assert _cost(sent, strata) == best
    else:
        assert _cost(sent, strata) <= best * 1.02 + 1


def test_a_cell_holds_no_more_than_it_may() -> None:
    sent = send_evenly([6], np.array([[True, True, True]]), cell_most=[3], limits=[Limit((0,), 1)])
    assert sent is not None
    assert sent.tolist() in ([[1, 2, 3]], [[1, 3, 2]])


def test_far_from_even_is_still_exact() -> None:
    """One column is capped far below its share: the segments have to follow the solution a long way."""
    sent = send_evenly([4999], np.ones((1, 7), dtype=bool), limits=[Limit((2,), 13)])
    assert sent is not None
    others = np.delete(sent[0], 2)
    assert sent[0, 2] == 13
    assert others.sum() == 4986
    assert np.ptp(others) == 0


def test_nothing_to_send() -> None:
    assert send_evenly([0, 0], np.zeros((2, 2), dtype=bool)).tolist() == [[0, 0], [0, 0]]  # type: ignore[union-attr]
    assert send_evenly([1], np.zeros((1, 2), dtype=bool)) is None


def test_a_shortage_names_the_rows_that_want_too_much_and_the_columns_that_are_full() -> None:
    allowed = np.array([[True, True, False], [True, True, False], [True, True, True]])
    assert find_shortage([4, 4, 5], allowed, [4, 4, 5], [4, 4, 5]) is None
    short = find_shortage([4, 5, 5], allowed, [4, 5, 5], [4, 4, 9])
    assert short == Shortage(rows=(0, 1), columns=(0, 1), wanted=9, room=8)


def test_a_shortage_of_different_people_is_seen_too() -> None:
    """Three items want two people each; two can be reached, one has room for two."""
    short = find_shortage([6], np.array([[True, True]]), [3], [9, 2])
    assert short == Shortage(rows=(0,), columns=(1,), wanted=3, room=2)


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_there_is_a_shortage_where_there_is_no_shipment(data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    supply = data.draw(st.lists(st.integers(0, 4), min_size=rows, max_size=rows))
    cells = st.lists(st.booleans(), min_size=columns, max_size=columns)
    allowed = np.array(data.draw(st.lists(cells, min_size=rows, max_size=rows)))
    room = data.draw(st.lists(st.integers(0, 6), min_size=columns, max_size=columns))
    limits = [Limit((c,), most) for c, most in enumerate(room)]
    short = find_shortage(supply, allowed, supply, room)
    possible = _least_cost(supply, allowed, [0] * rows, limits) is not None
    assert (short is None) == possible
    if short is not None:
        assert short.wanted > short.room
        reach = {c for r in short.rows for c in np.flatnonzero(allowed[r])}
        assert sum(supply[r] for r in short.rows) > sum(room[c] for c in reach if c in short.columns)


@pytest.mark.parametrize("seed", range(3))
def test_the_same_input_gives_the_same_shipment(seed: int) -> None:
    rng = np.random.default_rng(seed)
    allowed = rng.random((40, 10)) < 0.7
    allowed[:, 0] = True
    supply = rng.integers(0, 60, 40).tolist()
    limits = [Limit((1, 2, 3), 100)]
    one = send_evenly(supply, allowed, limits=limits)
    assert np.array_equal(one, send_evenly(supply, allowed, limits=limits))
