"""Repairs move open slots only, keep the deal even, and leave over nothing that could be placed."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import replace
from itertools import combinations
from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.verify.assignment import Constraints, deal_pairs
from proctor.verify.repair import Move, Repair, Seat, annul, apply_repair, join, leave


def _study(people: int, n: int, share: float, seed: int, per_item: int = 2) -> tuple[list[str], list[Seat]]:
    """Everybody has done ``share`` of their work, in an order of their own."""
    names = [f"p{k}" for k in range(people)]
    deal = deal_pairs([f"c{k}" for k in range(n)], names, seed=seed, per_item=per_item)
    rng = random.Random(seed)
    seats = []
    for name in names:
        mine = [item for item, group in deal.assignment.items() if name in group]
        rng.shuffle(mine)
        done = set(mine[: round(share * len(mine))])
        seats += [Seat(i, deal.assignment[i].index(name), name, submitted=i in done) for i in mine]
    return names, seats


def _check(seats: list[Seat], plan: Repair, rules: Constraints | None = None) -> tuple[Seat, ...]:
    """What must hold of every plan; returns the seats after it."""
    after = apply_repair(seats, plan)
    before = {(s.item, s.slot): s for s in seats}
    now = {(s.item, s.slot): s for s in after}
    named = {(m.item, m.slot) for m in plan.moves} | {(s.item, s.slot) for s in plan.stuck}
    assert len(named) == len(plan.moves) + len(plan.stuck)
    for key, seat in before.items():
        if key not in named:
            assert now[key] == seat
        elif seat.submitted:
            assert (plan.kind, seat.annotator) == ("annul", plan.person)
    assert set(now) == set(before) - {(s.item, s.slot) for s in plan.stuck}
    assert len({(s.item, s.annotator) for s in after}) == len(after)
    for move in plan.moves:
        assert now[move.item, move.slot] == Seat(move.item, move.slot, move.new)
        assert rules is None or rules.allows(move.new, move.item)
    for name, most in (rules.capacity if rules else {}).items():
        assert plan.loads_after.get(name, 0) <= max(most, plan.loads_before.get(name, 0))
    for told, seats_then in ((plan.loads_before, seats), (plan.loads_after, after)):
        assert {n: c for n, c in told.items() if c} == Counter(s.annotator for s in seats_then)
    for told_pairs, seats_then in ((plan.pairs_before, seats), (plan.pairs_after, after)):
        on: dict[str, list[str]] = {}
        for seat in seats_then:
            on.setdefault(seat.item, []).append(seat.annotator)
        met = Counter(pair for group in on.values() for pair in combinations(sorted(group), 2))
        assert {pair: c for pair, c in told_pairs.items() if c} == met
    return after


def test_one_of_five_leaves_at_40_percent_as_measured() -> None:
    """120 slots move, 80 stay; pairs differ by 1.2 on average, 3 at most, loads by 6, 16 at most."""
    pairs, loads = [], []
    for seed in range(20):
        names, seats = _study(5, 500, 0.4, seed)
        leaver = names[seed % 5]
        plan = leave(seats, leaver, [n for n in names if n != leaver], seed=seed)
        assert (len(plan.moves), plan.kept, plan.stuck, plan.voided) == (120, 80, (), 0)
        _check(seats, plan)
        assert plan.loads_after[leaver] == 80
        assert sum(plan.loads_after.values()) == 1000
        pairs.append(plan.pair_spread[1])
        loads.append(plan.load_spread[1])
    assert mean(pairs) <= 1.5
    assert max(pairs) <= 3
    assert mean(loads) <= 7
    assert max(loads) <= 16


def test_a_sixth_person_ends_with_a_sixth_of_the_work_and_meets_everybody() -> None:
    for seed in range(10):
        names, seats = _study(5, 500, 0.4, seed)
        plan = join(seats, "new", names, seed=seed)
        _check(seats, plan)
        assert len(plan.moves) == 166
        assert plan.load_spread[1] <= 1
        assert plan.pair_spread[1] <= 3
        assert plan.stuck == ()


def test_bad_faith_reopens_everything_and_voids_what_was_submitted() -> None:
    names, seats = _study(5, 500, 0.4, 3)
    plan = annul(seats, "p2", [n for n in names if n != "p2"], seed=3)
    after = _check(seats, plan)
    assert (len(plan.moves), plan.voided, plan.kept) == (200, 80, 0)
    assert {m.voids for m in plan.moves} == {True, False}
    assert all(s.annotator != "p2" for s in after)
    assert sum(s.submitted for s in after) == 320
    assert plan.pair_spread[1] <= 3


@settings(max_examples=70, deadline=None)
@given(
    st.integers(3, 8),
    st.integers(1, 60),
    st.floats(0, 1),
    st.integers(0, 999),
    st.integers(1, 3),
    st.sampled_from(["leave", "annul", "join"]),
)
def test_submitted_work_never_moves_and_nobody_gets_an_item_twice(
    people: int, n: int, share: float, seed: int, per_item: int, kind: str
) -> None:
    names, seats = _study(people, n, share, seed, min(per_item, people - 1))
    rng = random.Random(seed)
    seats = [replace(s, started=not s.submitted and rng.random() < 0.2) for s in seats]
    rules = Constraints(
        forbidden={(rng.choice([*names, "new"]), s.item) for s in seats if rng.random() < 0.2},
        capacity={rng.choice(names): rng.randrange(n + 1)},
    )
    if kind == "join":
        plan = join(seats, "new", names, seed=seed, constraints=rules)
        started = {(s.item, s.slot) for s in seats if s.started}
        assert not started & {(m.item, m.slot) for m in plan.moves}
    else:
        who = seats[0].annotator
        repair = leave if kind == "leave" else annul
        plan = repair(seats, who, [p for p in names if p != who], seed=seed, constraints=rules)
        theirs = [s for s in seats if s.annotator == who and (kind == "annul" or not s.submitted)]
        assert len(plan.moves) + len(plan.stuck) == len(theirs)
    _check(seats, plan, rules)
    rng.shuffle(seats)
    if kind == "join":
        assert plan == join(seats, "new", names[::-1], seed=seed, constraints=rules)


@settings(max_examples=70, deadline=None)
@given(st.integers(0, 9999))
def test_a_slot_is_left_over_only_when_no_plan_could_place_more(seed: int) -> None:
    """Compared with a maximum flow from the leaver's slots to the room that the others have."""
    rng = random.Random(seed)
    names, seats = _study(rng.randint(3, 5), rng.randint(4, 20), 0.2, seed)
    who = "p0"
    others = names[1:]
    loads = Counter(s.annotator for s in seats)
    rules = Constraints(
        forbidden={(n, s.item) for s in seats for n in others if rng.random() < 0.4},
        capacity={n: loads[n] + rng.randrange(4) for n in others},
    )
    plan = leave(seats, who, others, seed=seed, constraints=rules)
    _check(seats, plan, rules)
    on = {s.item: {t.annotator for t in seats if t.item == s.item} for s in seats}
    moving = [s for s in seats if s.annotator == who and not s.submitted]
    most = _most_placed(
        [[n not in on[s.item] and rules.allows(n, s.item) for n in others] for s in moving],
        [rules.capacity[n] - loads[n] for n in others],
    )
    assert len(plan.moves) == most


def _most_placed(able: list[list[bool]], room: list[int]) -> int:
    """Kuhn's algorithm, written down again without the rest."""
    held: list[list[int]] = [[] for _ in room]

    def place(slot: int, seen: set[int]) -> bool:
        for person, can in enumerate(able[slot]):
            if not can or person in seen:
                continue
            seen.add(person)
            if len(held[person]) < room[person]:
                held[person].append(slot)
                return True
            for other in list(held[person]):
                if place(other, seen):
                    held[person].remove(other)
                    held[person].append(slot)
                    return True
        return False

    return sum(place(slot, set()) for slot in range(len(able)))


def test_slots_that_nobody_can_take_say_why_for_everybody() -> None:
    seats = [Seat("c0", 0, "ana"), Seat("c0", 1, "ben"), Seat("c1", 0, "dia")]
    rules = Constraints({("cem", "c0")}, {"dia": 1}, {"eva": ["en"]}, {"c0": "tr"})
    plan = leave(seats, "ana", ["ben", "cem", "dia", "eva"], seed=0, constraints=rules)
    assert plan.moves == ()
    assert plan.stuck[0].reasons == (
        ("ben", "judges it already"),
        ("cem", "must not judge it"),
        ("dia", "has no room left (1)"),
        ("eva", "does not know its language (tr)"),
    )
    assert _check(seats, plan, rules) == (Seat("c0", 1, "ben"), Seat("c1", 0, "dia"))


def test_the_last_one_leaves() -> None:
    seats = [Seat("c0", 0, "ana"), Seat("c1", 0, "ana", submitted=True)]
    plan = leave(seats, "ana", [], seed=0)
    assert [(s.item, s.reasons) for s in plan.stuck] == [("c0", ())]
    assert (plan.kept, plan.load_spread, plan.pair_spread) == (1, (0, 0), (0, 0))


def test_a_full_person_passes_on_so_that_nothing_is_left_over() -> None:
    """Only ben may take c1; whichever slot is given first, ben must end with c1."""
    seats = [Seat("c0", 0, "ana"), Seat("c1", 0, "ana")]
    rules = Constraints({("cem", "c1")}, {"ben": 1, "cem": 1})
    for seed in range(20):
        plan = leave(seats, "ana", ["ben", "cem"], seed=seed, constraints=rules)
        assert plan.moves == (Move("c0", 0, "ana", "cem"), Move("c1", 0, "ana", "ben"))


def test_the_rule_itself_least_met_then_least_loaded() -> None:
    """y meets ben twice, cem and dia once; dia has less to do."""
    seats = [Seat("c0", 0, "y"), Seat("c0", 1, "ben"), Seat("c1", 0, "y"), Seat("c1", 1, "ben")]
    seats += [Seat("c2", 0, "y"), Seat("c2", 1, "cem"), Seat("c3", 0, "y"), Seat("c3", 1, "dia")]
    seats += [Seat("c4", 0, "cem"), Seat("c5", 0, "y"), Seat("c5", 1, "ana")]
    plan = leave(seats, "ana", ["y", "ben", "cem", "dia"], seed=0)
    assert plan.moves == (Move("c5", 1, "ana", "dia"),)


def test_who_joins_takes_no_more_than_they_can() -> None:
    names, seats = _study(4, 100, 0.0, 0)
    plan = join(seats, "new", names, seed=0, constraints=Constraints(capacity={"new": 7}))
    _check(seats, plan)
    assert plan.loads_after["new"] == 7
    finished = [replace(s, submitted=True) for s in seats]
    assert join(finished, "new", names, seed=0).moves == ()
    begun = [replace(s, started=True) for s in seats]
    assert join(begun, "new", names, seed=0).moves == ()


def test_who_joined_already_only_takes_what_is_missing() -> None:
    names, seats = _study(5, 200, 0.3, 0)
    after = list(apply_repair(seats, join(seats, "new", names, seed=0)))
    assert join(after, "new", names, seed=1).moves == ()


def test_leaving_after_others_left_keeps_their_submitted_work() -> None:
    names, seats = _study(6, 300, 0.3, 0)
    for gone in ("p0", "p3", "p5"):
        names.remove(gone)
        plan = leave(seats, gone, names, seed=1)
        seats = list(_check(seats, plan))
    assert {s.annotator for s in seats if not s.submitted} == set(names)
    assert {s.annotator for s in seats} == {f"p{k}" for k in range(6)}
    assert plan.pair_spread[1] <= 4


def test_a_plan_is_only_applied_to_the_seats_it_was_made_for() -> None:
    names, seats = _study(5, 50, 0.2, 0)
    plan = leave(seats, "p0", names[1:], seed=0)
    first = plan.moves[0]
    place = next(k for k, s in enumerate(seats) if (s.item, s.slot) == (first.item, first.slot))
    for changed in (replace(seats[place], submitted=True), replace(seats[place], annotator="other")):
        with pytest.raises(UserError, match="has changed since the plan was made"):
            apply_repair([*seats[:place], changed, *seats[place + 1 :]], plan)
    with pytest.raises(UserError, match="has changed since the plan was made"):
        apply_repair([*seats[:place], *seats[place + 1 :]], plan)
    joining = join(seats, "new", names, seed=0)
    begun = [
        replace(s, started=(s.item, s.slot) == (joining.moves[0].item, joining.moves[0].slot)) for s in seats
    ]
    with pytest.raises(UserError, match="has changed since the plan was made"):
        apply_repair(begun, joining)
    with pytest.raises(UserError, match="has changed since the plan was made"):
        apply_repair(apply_repair(seats, plan), plan)


def test_5000_items_are_planned_in_a_moment() -> None:
    names, seats = _study(10, 5000, 0.4, 1)
    begun = time.process_time()
    leave(seats, "p0", names[1:], seed=1)
    join(seats, "new", names, seed=1)
    annul(seats, "p0", names[1:], seed=1)
    assert time.process_time() - begun < 10


def test_plans_can_be_made_again_and_depend_on_the_seed() -> None:
    names, seats = _study(5, 100, 0.4, 0)
    plans = [leave(seats, "p0", names[1:], seed=seed) for seed in (1, 1, 2)]
    assert plans[0] == plans[1] == leave(seats[::-1], "p0", names[:0:-1], seed=1)
    assert plans[0].moves != plans[2].moves


@pytest.mark.parametrize(
    ("seats", "person", "others", "seen"),
    [
        (
            [Seat("c", 0, "ana"), Seat("c", 0, "ben")],
            "ana",
            ["ben"],
            "slot 0 of item 'c' occurs more than once",
        ),
        ([Seat("c", 0, "ana"), Seat("c", 1, "ana")], "ana", ["ben"], "'ana' has two slots of item 'c'"),
        ([Seat("c", 0, "ana")], "ana", ["ben", "ben"], "annotator 'ben' occurs more than once"),
        ([Seat("c", 0, "ana")], "ana", ["ana", "ben"], "'ana' cannot be among the others"),
        ([Seat("c", 0, "ana")], "anna", ["ben"], "'anna' has no items here"),
        ([], "ana", ["ben"], "'ana' has no items here"),
    ],
)
def test_bad_input_is_named(seats: list[Seat], person: str, others: list[str], seen: str) -> None:
    for repair in (leave, annul):
        with pytest.raises(UserError, match=seen):
            repair(seats, person, others, seed=0)
    if "no items" in seen:
        assert join(seats, person, others, seed=0).moves == ()
    else:
        with pytest.raises(UserError, match=seen):
            join(seats, person, others, seed=0)
