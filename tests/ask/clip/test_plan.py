"""The plan: the quota over level, category and position, how it is dealt to clips, and further rounds."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ask.clip.played import clip

from proctor.ask.clip.category import LEVEL_CATEGORIES
from proctor.ask.clip.plan import (
    MOST_PER_CLIP,
    POSITIONS,
    Cell,
    PairPlan,
    plan_pairs,
    position_of,
    tasks_for,
)
from proctor.ask.clip.record import Level, ShownClip, ShownStep
from proctor.errors import UserError


def clips(n: int, steps: int = 9, dataset: str = "hirest") -> list[ShownClip]:
    return [clip(f"{dataset}{k}", steps, dataset) for k in range(n)]


def dealt(plan: PairPlan) -> Counter[Cell]:
    return Counter(cell for task in plan.tasks for cell in task.cells)


def test_the_position_is_the_third_in_which_the_first_step_begins() -> None:
    nine = clip(steps=9)
    assert [position_of(nine, (s.id,)) for s in nine.steps] == [p for p in POSITIONS for _ in range(3)]
    assert position_of(nine, ("s9", "s2")) == "early"
    assert position_of(nine, ("s7", "s8")) == "late"


def test_positions_of_odd_clips() -> None:
    nowhere = msgspec.structs.replace(clip(), end=0.0)
    assert position_of(nowhere, ("s9",)) == "early"
    steps = (
        ShownStep(id="s1", text="a", start=-4.0, end=1.0),
        ShownStep(id="s2", text="b", start=150.0, end=160.0),
    )
    beyond = msgspec.structs.replace(clip(), steps=steps)
    assert [position_of(beyond, (s.id,)) for s in steps] == ["early", "late"]


def test_a_total_is_shared_evenly_by_levels_and_cells() -> None:
    plan = plan_pairs(clips(40), total=330)
    assert plan.total == 330
    assert dealt(plan) == plan.quota
    assert Counter(cell.level for cell in dealt(plan).elements()) == {"coarse": 165, "fine": 165}


def test_every_cell_gets_the_same_but_for_what_is_left_over() -> None:
    plan = plan_pairs(clips(60), total=300)
    for level in ("coarse", "fine"):
        numbers = [n for cell, n in plan.quota.items() if cell.level == level]
        assert len(numbers) == 3 * len(LEVEL_CATEGORIES[level])  # type: ignore[index]
        assert max(numbers) - min(numbers) <= 1
        assert sum(numbers) == 150


def test_calls_are_full_and_of_as_few_clips_as_that_takes() -> None:
    plan = plan_pairs(clips(100), total=120, per_call=6)
    assert [len(task.wants) for task in plan.tasks] == [6] * 20
    assert len({task.clip_id for task in plan.tasks}) == 10  # both levels of each
    assert {task.number for task in plan.tasks} == {0}


def test_with_few_clips_each_is_asked_more_often() -> None:
    plan = plan_pairs(clips(3), total=100, per_call=6)
    assert plan.total == 100
    assert len({task.id for task in plan.tasks}) == len(plan.tasks)
    assert len({(task.clip_id, task.level, task.draw) for task in plan.tasks}) == len(plan.tasks)
    assert max(len(task.wants) for task in plan.tasks) == 6


def test_per_clip_asks_every_clip_at_every_level() -> None:
    plan = plan_pairs(clips(7), per_clip=4)
    asked = Counter((task.clip_id, task.level) for task in plan.tasks for _ in task.wants)
    assert len(asked) == 14
    assert set(asked.values()) == {4}
    assert plan.per_clip == 4


def test_one_level_and_own_categories() -> None:
    plan = plan_pairs(clips(5), total=12, levels=["fine"], categories={"fine": ["manner", "location"]})
    assert {cell.level for cell in plan.quota} == {"fine"}
    assert {cell.category for cell in plan.quota} == {"manner", "location"}
    assert set(plan.quota.values()) == {2}


def test_data_sets_take_turns() -> None:
    mixed = clips(50) + clips(5, dataset="goalstep") + clips(20, dataset="youcook2")
    plan = plan_pairs(mixed, total=90, per_call=3, seed=4)
    kinds = Counter(task.clip_id.rstrip("0123456789") for task in plan.tasks if task.level == "fine")
    assert kinds == {"hirest": 5, "goalstep": 5, "youcook": 5}


def test_no_position_is_asked_for_where_a_clip_has_no_step() -> None:
    late = ShownClip(
        id="late", dataset="hirest", video_id="late", task="", start=0, end=90,
        steps=(ShownStep(id="s1", text="a", start=70, end=75), ShownStep(id="s2", text="b", start=80, end=90)),
    )  # fmt: skip
    plan = plan_pairs([late], per_clip=10)
    assert {cell.position for cell in plan.quota} == {"late"}
    assert plan.total == 20


def test_the_seed_decides_and_the_order_of_clips_does_not() -> None:
    many = clips(30)
    assert plan_pairs(many, total=60, seed=1) == plan_pairs(many[::-1], total=60, seed=1)
    assert plan_pairs(many, total=60, seed=1) != plan_pairs(many, total=60, seed=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "in one way"),
        ({"total": 5, "per_clip": 5}, "in one way"),
        ({"total": 0}, "0 pairs in all"),
        ({"total": True}, "True pairs"),
        ({"per_clip": -1}, "-1 pairs of every clip"),
        ({"total": 5, "per_call": 0}, "in one call"),
        ({"total": 2 * MOST_PER_CLIP * 3 + 2}, "too many for 3 clips"),
        ({"per_clip": MOST_PER_CLIP + 1}, "too many for 3 clips"),
        ({"total": 5, "levels": []}, "levels are none"),
        ({"total": 5, "levels": ["broad"]}, "levels are broad"),
        ({"total": 5, "categories": {"coarse": ["ordering"]}}, "level 'fine' are none"),
        ({"total": 5, "categories": {"coarse": ["other"], "fine": ["manner"]}}, "level 'coarse' are other"),
    ],
)
def test_plans_that_make_no_sense(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        plan_pairs(clips(3), **arguments)


def test_no_clips_and_clips_of_one_name() -> None:
    with pytest.raises(UserError, match="no clips"):
        plan_pairs([], total=5)
    with pytest.raises(UserError, match="same id"):
        plan_pairs([clip(), clip()], total=5)


# -- further rounds ----------------------------------------------------------------------------------------------

MANNER = Cell("fine", "manner", "early")
ORDER = Cell("coarse", "ordering", "late")


def test_what_is_short_is_dealt_to_clips_that_gave_least() -> None:
    three = clips(3)
    plan = plan_pairs(three, total=12)
    accepted: dict[tuple[str, Level], int] = {("hirest0", "fine"): 2, ("hirest1", "fine"): 1}
    (task,) = tasks_for(plan, three, {MANNER: 2}, round=1, asked={}, accepted=accepted)
    assert (task.clip_id, task.level, task.round, task.cells) == ("hirest2", "fine", 1, (MANNER, MANNER))
    accepted = {(c.id, "fine"): 1 for c in three}
    asked: dict[tuple[str, Level], int] = {("hirest0", "fine"): 5, ("hirest2", "fine"): 5}
    (task,) = tasks_for(plan, three, {MANNER: 1}, round=2, asked=asked, accepted=accepted)
    assert task.clip_id == "hirest1"


def test_what_a_clip_gave_counts_before_what_it_was_asked_for() -> None:
    three = clips(3)
    plan = plan_pairs(three, total=12)
    accepted: dict[tuple[str, Level], int] = {("hirest1", "fine"): 2, ("hirest2", "fine"): 2}
    asked: dict[tuple[str, Level], int] = {("hirest0", "fine"): 5, ("hirest1", "fine"): 1}
    (task,) = tasks_for(plan, three, {MANNER: 1}, round=1, asked=asked, accepted=accepted)
    assert task.clip_id == "hirest0"


def test_a_clip_is_asked_only_for_what_is_short_and_can_be_there() -> None:
    early = msgspec.structs.replace(clip("e", 9), steps=clip("e", 9).steps[:2])
    plan = plan_pairs([early], total=4)
    (task,) = tasks_for(
        plan, [early], {MANNER: 1, Cell("fine", "manner", "late"): 3}, round=1, asked={}, accepted={}
    )
    assert task.cells == (MANNER,)


def test_what_a_call_cannot_hold_goes_to_the_next_clip() -> None:
    many = clips(4)
    plan = plan_pairs(many, total=24, per_call=3)
    tasks = tasks_for(plan, many, {MANNER: 5, ORDER: 4}, round=1, asked={}, accepted={})
    assert [(t.level, len(t.wants)) for t in tasks] == [
        ("coarse", 3),
        ("coarse", 1),
        ("fine", 3),
        ("fine", 2),
    ]
    assert Counter(cell for t in tasks for cell in t.cells) == {MANNER: 5, ORDER: 4}
    assert all(t.round == 1 for t in tasks)


def test_nothing_is_asked_where_no_clip_has_such_a_step() -> None:
    early = clip("e", 9)
    early = msgspec.structs.replace(early, steps=early.steps[:2])
    plan = plan_pairs([early], total=4)
    assert tasks_for(plan, [early], {ORDER: 3}, round=1, asked={}, accepted={}) == ()


def test_a_clip_is_not_asked_for_ever() -> None:
    one = [clip()]
    plan = plan_pairs(one, total=4)
    full: dict[tuple[str, Level], int] = {("v1", "fine"): MOST_PER_CLIP}
    assert tasks_for(plan, one, {MANNER: 3}, round=1, asked=full, accepted={}) == ()


def test_of_a_plan_per_clip_a_clip_is_asked_for_what_it_lacks() -> None:
    two = clips(2)
    plan = plan_pairs(two, per_clip=4)
    accepted: dict[tuple[str, Level], int] = {("hirest0", "fine"): 3, ("hirest1", "fine"): 2}
    tasks = tasks_for(plan, two, {MANNER: 9}, round=1, asked={}, accepted=accepted)
    assert [(t.clip_id, len(t.wants)) for t in tasks] == [("hirest1", 2), ("hirest0", 1)]


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(2, 12)), min_size=1, max_size=12),
    st.integers(1, 120),
    st.integers(1, 8),
    st.integers(0, 5),
)
def test_every_plan_asks_for_as_many_as_were_wanted(
    kinds: list[tuple[str, int]], total: int, per_call: int, seed: int
) -> None:
    made = [clip(f"{n}", steps, dataset) for n, (dataset, steps) in enumerate(kinds)]
    plan = plan_pairs(made, total=total, per_call=per_call, seed=seed)
    assert plan.total == total == sum(len(task.wants) for task in plan.tasks)
    assert dealt(plan) == plan.quota
    assert all(1 <= len(task.wants) <= per_call for task in plan.tasks)
    by_id = {c.id: c for c in made}
    for task in plan.tasks:
        there = {position_of(by_id[task.clip_id], (s.id,)) for s in by_id[task.clip_id].steps}
        assert {position for _, position in task.wants} <= there
