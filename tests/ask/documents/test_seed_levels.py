"""Seeds: the same whoever asks first, none twice for a style and combination while there are others."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.ask.documents.record import Target
from proctor.ask.documents.seed_levels import Seed, SeedLevels
from proctor.errors import UserError


def targets(count: int, styles: int = 2) -> list[Target]:
    return [Target(id=f"t{n}", style=f"s{n % styles}", modalities=(1, 0, 0)) for n in range(count)]


def even(size: int):
    return lambda n, rng: rng.integers(0, size, n)


def test_the_order_of_asking_changes_nothing():
    plan = targets(12)
    asked = [(t.id, a) for t in plan for a in range(4)]
    straight, mixed = SeedLevels(plan, even(100), 100, 7), SeedLevels(plan, even(100), 100, 7)
    first = {pair: straight.of(*pair) for pair in asked}
    random.Random(1).shuffle(asked)
    assert {pair: mixed.of(*pair) for pair in asked} == first
    other = SeedLevels(plan, even(100), 100, 8)
    assert {pair: other.of(*pair) for pair in asked} != first


@given(st.integers(1, 12), st.integers(1, 3), st.integers(1, 6))
def test_no_seed_comes_back_while_others_are_left(size, styles, levels):
    plan = targets(6, styles)
    seeds = SeedLevels(plan, even(size), size, 3)
    for style in range(styles):
        mine = [t.id for t in plan if t.style == f"s{style}"]
        drawn = [seeds.of(id, a).position for a in range(levels) for id in mine]
        counts = np.bincount(drawn, minlength=size)
        assert counts.max() - counts.min() <= 1


def test_a_source_that_is_drawn_again_is_a_new_draw():
    seeds = SeedLevels(targets(3, 1), even(1), 1, 0)
    assert [seeds.of(f"t{n}", a) for a in range(2) for n in range(3)] == [Seed(0, draw) for draw in range(6)]


def test_weights_that_are_all_but_zero_are_not_waited_for():
    calls = []

    def only_first(n: int, rng: np.random.Generator) -> np.ndarray:
        calls.append(n)
        return np.zeros(n, dtype=np.int64)

    seeds = SeedLevels(targets(2, 1), only_first, 5, 0)
    assert [seeds.of("t0", 0).position, seeds.of("t1", 0).position] == [0, 0]
    assert sum(calls) < 2_000


def test_targets_that_are_added_leave_the_first_seeds_of_the_others():
    few, many = SeedLevels(targets(90), even(40), 40, 5), SeedLevels(targets(300), even(40), 40, 5)
    assert [few.of(f"t{n}", 0) for n in range(90)] == [many.of(f"t{n}", 0) for n in range(90)]


def test_heavy_seeds_come_more_often():
    weights = np.array([0.7, 0.1, 0.1, 0.1])
    plan = [Target(id=f"t{n}", style=f"s{n}", modalities=(1, 0, 0)) for n in range(2_000)]
    seeds = SeedLevels(plan, lambda n, rng: rng.choice(4, n, p=weights), 4, 0)
    counts = np.bincount([seeds.of(t.id, 0).position for t in plan], minlength=4) / len(plan)
    assert counts == pytest.approx(weights, abs=0.04)


def test_no_source_is_an_error():
    with pytest.raises(UserError, match="no source"):
        SeedLevels(targets(1), even(1), 0, 0)


def test_a_document_gives_no_more_than_its_quota_while_others_have_seeds():
    documents = ["long"] * 90 + [f"short {n}" for n in range(10)]
    plan = targets(12, 12)
    free = SeedLevels(plan, even(100), 100, 0)
    drawn = [documents[free.of(t.id, 0).position] for t in plan]
    assert drawn.count("long") > 2
    kept = SeedLevels(plan, even(100), 100, 0, documents=documents, quota=2)
    for level in range(3):
        drawn = [documents[kept.of(t.id, level).position] for t in plan]
        assert drawn.count("long") == 2
        assert max(map(drawn.count, drawn)) <= 2
    tight = SeedLevels(plan, even(100), 100, 0, documents=["one"] * 100, quota=1)
    assert len({tight.of(t.id, 0).position for t in plan}) >= 2, "a quota that cannot be kept is passed over"


def test_a_quota_needs_documents():
    with pytest.raises(UserError, match="quota of 3"):
        SeedLevels(targets(1), even(4), 4, 0, quota=3)
