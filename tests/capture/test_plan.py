"""The plan: balance, nobody twice, extensions that keep what is there, priorities, withdrawal, and files that were damaged."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from proctor.capture.plan import (
    PLAN,
    SCRIPTS,
    Plan,
    make_plan,
    read_plan,
    read_scripts,
    without_participant,
)
from proctor.capture.records import Script, ScriptStep, Slot, State, Strategy
from proctor.errors import UserError
from proctor.records import canonical_json, write_json, write_jsonl

ALL: tuple[Strategy, ...] = ("normal", "missing", "induced", "disordered", "impromptu")


def bank(activities: int, strategies: Mapping[Strategy, int], n: int = 30) -> list[Script]:
    return [
        Script(
            id=f"a{a}-{s}-{k:03d}", activity=f"a{a}", title="", strategy=s, steps=(ScriptStep(step="1", text="Stir"),)
        )
        for a in range(activities)
        for s in strategies
        for k in range(n)
    ]  # fmt: skip


def who(
    people: int, environments: int = 1, strategies: Mapping[Strategy, int] | None = None, **more: Any
) -> Plan:
    return Plan(
        participants=tuple(f"p{n:02d}" for n in range(1, people + 1)),
        environments=tuple(f"room-{n}" for n in range(environments)),
        strategies=dict(strategies or {"normal": 1}),
        **more,
    )


def factors(plan: Plan, activities: int) -> dict[str, tuple[str, ...]]:
    return {
        "participant": plan.participants,
        "activity": tuple(f"a{n}" for n in range(activities)),
        "environment": plan.environments,
        "strategy": tuple(plan.strategies),
    }


def spread(plan: Plan, levels: Mapping[str, tuple[str, ...]], *names: str) -> int:
    """Return how much counts of levels, or of pairs of levels, differ."""
    counts = Counter(tuple(getattr(slot, name) for name in names) for slot in plan.slots)
    found = [counts[cell] for cell in itertools.product(*(levels[name] for name in names))]
    return max(found) - min(found)


@settings(max_examples=25)
@given(
    st.integers(1, 8),
    st.integers(1, 8),
    st.integers(1, 4),
    st.integers(1, 5),
    st.integers(1, 12),
    st.integers(0, 99),
)
@example(2, 4, 2, 2, 7, 54)  # in these, drawing slots one after another is not enough
@example(3, 4, 4, 1, 7, 78)
@example(7, 3, 4, 4, 9, 3)
@example(8, 8, 4, 3, 9, 85)
def test_recordings_are_balanced(
    people: int, activities: int, places: int, kinds: int, each: int, seed: int
) -> None:
    shares = dict.fromkeys(ALL[:kinds], 1)
    plan = make_plan(bank(activities, shares), who(people, places, shares, seed=seed), each)
    levels = factors(plan, activities)
    assert spread(plan, levels, "participant") == 0
    for name in ("activity", "environment", "strategy"):
        assert spread(plan, levels, name) <= 1, name
    for pair in itertools.combinations(levels, 2):
        assert spread(plan, levels, *pair) <= 2, pair
    given_out = Counter((slot.participant, slot.script) for slot in plan.slots)
    assert set(given_out.values()) == {1}
    assert len({slot.id for slot in plan.slots}) == people * each


@settings(max_examples=25)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=5),
    st.integers(1, 6),
    st.integers(1, 20),
    st.integers(0, 9),
)
def test_strategies_keep_to_their_shares(shares: list[int], people: int, each: int, seed: int) -> None:
    strategies = dict(zip(ALL, shares, strict=False))
    plan = make_plan(bank(3, strategies), who(people, 2, strategies, seed=seed), each)
    counts = Counter(slot.strategy for slot in plan.slots)
    for strategy, share in strategies.items():
        assert abs(counts[strategy] - len(plan.slots) * share / sum(shares)) <= 1


def test_orders_of_activities_are_counterbalanced() -> None:
    plan = make_plan(bank(6, {"normal": 1}), who(6), 6)
    rows = [[slot.activity for slot in plan.slots if slot.participant == p] for p in plan.participants]
    columns = list(zip(*rows, strict=True))
    assert all(len(set(row)) == 6 for row in rows)
    assert all(len(set(column)) == 6 for column in columns)  # each activity once at each place
    followed = Counter(pair for row in rows for pair in itertools.pairwise(row))
    assert set(followed.values()) == {1}  # and once behind each other one


@settings(max_examples=20)
@given(
    st.integers(1, 4), st.integers(1, 4), st.integers(0, 3), st.integers(0, 4), st.integers(0, 2), st.booleans()
)  # fmt: skip
def test_an_extension_keeps_every_slot_that_is_there(
    people: int, each: int, further: int, more: int, places: int, days: bool
) -> None:
    shares: dict[Strategy, int] = {"normal": 2, "missing": 1}
    start = date(2026, 12, 1) if days else None
    first = make_plan(bank(3, shares), who(people, 1, shares), each, anybody=1, start=start)
    wanted = msgspec.structs.replace(who(people + further, 1 + places, shares), slots=first.slots)
    plan = make_plan(bank(4, {**shares, "induced": 1}), wanted, each + more, anybody=2, start=start)
    assert canonical_json(plan.slots[: len(first.slots)]) == canonical_json(first.slots)
    had = Counter(slot.participant for slot in plan.slots)
    assert had == {**dict.fromkeys(plan.participants, each + more), "": 2}
    assert len({slot.id for slot in plan.slots}) == len(plan.slots)
    assert set(Counter((s.participant, s.script) for s in plan.slots if s.participant).values()) == {1}
    assert make_plan(bank(4, shares), plan, each + more, anybody=2, start=start) == plan


def test_days_are_filled_with_one_person_after_another() -> None:
    scripts = bank(4, {"normal": 1})
    plan = make_plan(scripts, who(2), 4, anybody=1, start=date(2026, 12, 30), per_day=2)
    days: dict[str, list[str]] = {}
    for slot in plan.slots:
        days.setdefault(slot.day, []).append(slot.participant)
    assert days == {
        "2026-12-30": ["p01", "p01"], "2026-12-31": ["p02", "p02"], "2027-01-01": ["p01", "p01"],
        "2027-01-02": ["p02", "p02"], "": [""],
    }  # fmt: skip
    wanted = msgspec.structs.replace(who(3), slots=plan.slots)
    longer = make_plan(scripts, wanted, 3, start=date(2026, 12, 30), per_day=3)
    assert [slot.day for slot in longer.slots[len(plan.slots) :]] == [
        "2026-12-30",
        "2026-12-31",
        "2027-01-01",
    ]


def test_same_seed_same_plan_and_another_seed_another() -> None:
    shares = dict.fromkeys(ALL, 1)
    plans = [make_plan(bank(5, shares), who(4, 2, shares, seed=seed), 5) for seed in (0, 0, 1)]
    assert canonical_json(plans[0]) == canonical_json(plans[1])
    assert plans[0].slots != plans[2].slots


def test_nobody_gets_a_script_twice_and_that_is_said_when_there_are_too_few() -> None:
    scripts = bank(2, {"normal": 1}, n=2)
    plan = make_plan(scripts, who(3), 4)
    assert Counter(slot.script for slot in plan.slots) == {script.id: 3 for script in scripts}
    with pytest.raises(UserError, match="p01 would have to get a script twice"):
        make_plan(scripts, who(3), 5)
    with pytest.raises(UserError, match="twice"):
        make_plan([], who(1), 1)
    # The script that was given out least is not given to who has it.
    taken = (
        slot(script="a0-normal-000"),
        *(slot(id=f"tea-{n}", participant=f"p0{n}", script="a0-normal-001") for n in (2, 3)),
    )
    plan = make_plan(bank(1, {"normal": 1}, n=2), msgspec.structs.replace(who(3), slots=taken), 2)
    assert {s.script for s in plan.slots if s.participant == "p01"} == {"a0-normal-000", "a0-normal-001"}
    # Where all scripts are needed and there are more of one kind than of another, evening out stops at that.
    lopsided = [
        s
        for s in bank(2, {"normal": 1, "missing": 1}, n=3)
        if s.id[-1] == "0" or s.id[:4] in ("a0-m", "a1-n")
    ]
    plan = make_plan(lopsided, who(3, 1, {"normal": 1, "missing": 1}), 8)
    assert Counter(slot.script for slot in plan.slots) == {script.id: 3 for script in lopsided}
    # An activity without scripts of a strategy is planned with the others.
    uneven = [
        s for s in bank(2, {"normal": 1, "missing": 1}) if (s.activity, s.strategy) != ("a1", "missing")
    ]
    plan = make_plan(uneven, who(2, 1, {"normal": 1, "missing": 1}), 6)
    assert ("a1", "missing") not in {(slot.activity, slot.strategy) for slot in plan.slots}


def test_who_withdraws_leaves_open_slots_to_others_and_no_name_on_what_is_withdrawn() -> None:
    plan = make_plan(bank(3, {"normal": 1}), who(2), 3, start=date(2026, 12, 1))
    mine = [slot.id for slot in plan.slots if slot.participant == "p01"]
    states: dict[str, State] = {mine[0]: "withdrawn", mine[1]: "stopped"}
    left = without_participant(plan, states, "p01")
    assert left.participants == ("p02",)
    assert [(s.id, s.participant, s.day) for s in left.slots if s.id in mine] == [
        (mine[0], "", ""), (mine[1], "p01", "2026-12-01"), (mine[2], "", ""),
    ]  # fmt: skip
    assert [s for s in left.slots if s.id not in mine] == [s for s in plan.slots if s.id not in mine]


# -- files -----------------------------------------------------------------------------------------------------


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    scripts = bank(2, {"normal": 1}, n=4)
    write_json(tmp_path / "capture" / PLAN, make_plan(scripts, who(2), 2))
    write_jsonl(tmp_path / "capture" / SCRIPTS, scripts)
    return tmp_path


def test_files_come_back_equal(workspace: Path) -> None:
    scripts = bank(2, {"normal": 1}, n=4)
    assert read_plan(workspace) == make_plan(scripts, who(2), 2)
    assert read_scripts(workspace) == {script.id: script for script in scripts}


def test_a_workspace_without_a_plan_says_what_makes_one(tmp_path: Path) -> None:
    for read in (read_plan, read_scripts):
        with pytest.raises(UserError, match="no plan yet") as error:
            read(tmp_path)
        assert "proctor capture plan" in str(error.value.hint)


@pytest.mark.parametrize("name", [PLAN, SCRIPTS])
def test_a_file_that_is_cut_short_is_refused_and_named(workspace: Path, name: str) -> None:
    path = workspace / "capture" / name
    whole = path.read_bytes()
    read = read_plan if name == PLAN else read_scripts
    for size in (0, 1, len(whole) // 2 + 5, len(whole) - 3):
        path.write_bytes(whole[:size])
        if name == SCRIPTS and size == 0:
            assert read(workspace) == {}
            continue
        with pytest.raises(UserError) as error:
            read(workspace)
        assert name in str(error.value.where)


def slot(**change: Any) -> Slot:
    given: dict[str, Any] = {
        "id": "tea-001", "script": "s", "activity": "tea", "participant": "p01", "environment": "room-0", "strategy": "normal",
    }  # fmt: skip
    return Slot(**given | change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"slots": (slot(id="../../etc/passwd"),)}, "no id"),
        ({"slots": (slot(id=""),)}, "no id"),
        ({"slots": (slot(), slot(participant="p02"))}, "more than once"),
        ({"slots": (slot(), slot(id="TEA-001"))}, "more than once"),  # one folder on some disks
        ({"slots": (slot(participant="Anna Miller"),)}, "'Anna Miller' cannot be"),
        ({"slots": (slot(participant="p01\n"),)}, "cannot be"),
        ({"slots": (slot(environment="a/b"),)}, "'a/b' cannot be"),
        ({"slots": (slot(day="tomorrow"),)}, "'tomorrow' cannot be"),
        ({"participants": ("anna",)}, "'anna' cannot be"),
        ({"participants": ("p01", "P01")}, "more than once"),
        ({"participants": ("",)}, "cannot be"),
        ({"environments": ("kitchen", "kitchen")}, "more than once"),
        ({"environments": ("<script>",)}, "cannot be"),
        ({"strategies": {}}, "need shares"),
        ({"strategies": {"normal": 0}}, "need shares"),
        ({"strategies": {"normal": 2, "missing": -1}}, "need shares"),
    ],
)
def test_what_cannot_be_in_a_plan_is_refused_when_read_and_when_made(
    workspace: Path, change: dict[str, Any], message: str
) -> None:
    plan = msgspec.structs.replace(who(1), **change)
    write_json(workspace / "capture" / PLAN, plan)
    with pytest.raises(UserError, match=message):
        read_plan(workspace)
    with pytest.raises(UserError, match=message):
        make_plan(bank(1, {"normal": 1}), plan, 1)


def test_scripts_that_are_there_twice_or_have_no_id_are_refused(workspace: Path) -> None:
    path = workspace / "capture" / SCRIPTS
    scripts = bank(1, {"normal": 1}, n=2)
    for damaged in ([*scripts, scripts[0]], [msgspec.structs.replace(scripts[0], id="a/b")]):
        write_jsonl(path, damaged)
        with pytest.raises(UserError):
            read_scripts(workspace)
