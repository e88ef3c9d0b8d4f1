"""What points are to find: by search as by trying everything."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.learn.localize import plain

from proctor.learn.localize.targets import Pyramid, Targets, assign


def assigned(pyramid: Pyramid, *actions: tuple[float, float, int]) -> Targets:
    start, end, label = (np.array([a[i] for a in actions], t) for i, t in enumerate((float, float, np.int64)))
    return assign(pyramid, start, end, label)


def test_the_points_of_all_levels() -> None:
    pyramid = Pyramid(3, 5)
    assert pyramid.counts.tolist() == [5, 3, 2]
    assert pyramid.starts.tolist() == [0, 6, 10]
    assert pyramid.time.tolist() == [0, 1, 2, 3, 4, 5, 0, 2, 4, 6, 0, 4, 8]
    assert pyramid.stride.tolist() == [1] * 6 + [2] * 4 + [4] * 3
    full = Pyramid(8, 4096)
    assert list(zip(full.shortest, full.longest, strict=True)) == [
        (0, 4), (2, 8), (4, 16), (8, 32), (16, 64), (32, 128), (64, 256), (128, 10_000)
    ]  # fmt: skip


def test_one_action_by_hand() -> None:
    """[2, 8], middle 5: level 0 sees as far as 4, strictly within 1.5; level 1 within 3, strictly within the action."""
    found = assigned(Pyramid(3, 16), (2.0, 8.0, 7))
    places = {int(p): o.tolist() for p, o in zip(found.place, found.offsets, strict=True)}
    assert places == {4: [2, 4], 5: [3, 3], 6: [4, 2], 17 + 2: [1, 2], 17 + 3: [2, 1], 26 + 1: [0.5, 1]}
    assert found.label_place.tolist() == found.place.tolist()
    assert set(found.label.tolist()) == {7}


def test_the_shortest_wins_and_ties_say_both() -> None:
    pyramid = Pyramid(1, 16)
    found = assigned(pyramid, (2.0, 8.0, 1), (4.0, 6.0, 2), (3.9999, 6.0, 3))
    here = found.place.tolist().index(5)
    assert found.offsets[here].tolist() == [1, 1]
    pairs = set(zip(found.label_place.tolist(), found.label.tolist(), strict=True))
    assert {label for place, label in pairs if place == 5} == {2, 3}
    apart = assigned(pyramid, (4.0, 6.0, 2), (3.9, 6.0, 3))
    assert set(apart.label[apart.label_place == 5]) == {2}


@pytest.mark.parametrize("action", [(5.0, 5.0, 0), (8.0, 2.0, 0), (40.0, 60.0, 0), (-9.0, -3.0, 0)])
def test_what_has_no_length_or_lies_outside_is_found_by_no_point(action: tuple[float, float, int]) -> None:
    assert len(assigned(Pyramid(3, 16), action).place) == 0


def test_no_actions() -> None:
    found = assign(Pyramid(3, 16), np.zeros(0), np.zeros(0), np.zeros(0, np.int64))
    assert (len(found.place), found.offsets.shape, len(found.label)) == (0, (0, 2), 0)


TIMES = st.one_of(st.integers(-8, 300).map(lambda i: i / 2), st.floats(-5, 150, allow_nan=False))


@settings(max_examples=150, deadline=None)
@given(
    st.integers(1, 8),
    st.integers(1, 200),
    st.lists(st.tuples(TIMES, TIMES, st.integers(0, 3)), max_size=12),
)
def test_by_search_as_by_trying_every_point(
    levels: int, rows: int, actions: list[tuple[float, float, int]]
) -> None:
    pyramid = Pyramid(levels, rows)
    start = np.array([min(a, b) for a, b, _ in actions])
    end = np.array([max(a, b) for a, b, _ in actions])
    label = np.array([c for *_, c in actions], np.int64)
    found, wanted = assign(pyramid, start, end, label), plain.assign(pyramid, start, end, label)
    assert found.place.tolist() == wanted.place.tolist()
    assert found.offsets.tolist() == wanted.offsets.tolist()
    pairs = [sorted(zip(t.label_place.tolist(), t.label.tolist(), strict=True)) for t in (found, wanted)]
    assert pairs[0] == pairs[1]


def test_recordings_of_a_batch_at_once_as_one_by_one() -> None:
    generator = np.random.default_rng(0)
    pyramid, size = Pyramid(4, 40), len(Pyramid(4, 40).level)
    start = generator.uniform(0, 30, 30)
    end, label = start + generator.uniform(0, 12, 30), generator.integers(0, 3, 30)
    recording = np.sort(generator.integers(0, 5, 30))
    found = assign(pyramid, start, end, label, recording)
    each = [assign(pyramid, start[r], end[r], label[r]) for r in (recording == n for n in range(5))]
    assert found.place.tolist() == [n * size + p for n, t in enumerate(each) for p in t.place.tolist()]
    assert found.label_place.tolist() == [n * size + p for n, t in enumerate(each) for p in t.label_place]
    assert np.array_equal(found.offsets, np.concatenate([t.offsets for t in each]))
    assert np.array_equal(found.label, np.concatenate([t.label for t in each]))
