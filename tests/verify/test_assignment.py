"""Assignments are even, stable, and the published rule is the recovered one; constraints are hard."""

from __future__ import annotations

import random
import time
from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.verify.assignment import (
    Constraints,
    Deal,
    StratumSpread,
    assign_balanced,
    assign_published,
    count_pairs,
    deal_pairs,
    pair_sequence,
    workloads,
)

FIVE = ("ana", "ben", "cem", "dia", "eva")
GOLDEN = {"c0": "ad", "c1": "bd", "c2": "bd", "c3": "ab", "c4": "ac", "c5": "bc", "c6": "cd", "c7": "cd"}


def test_the_published_rule_gives_every_pair_50_of_500() -> None:
    ids = [f"c{n}" for n in range(500)]
    assignment = assign_published(ids)
    assert assignment["c0"] == ("0", "1")
    assert assignment["c9"] == ("3", "4")
    assert assignment["c10"] == ("0", "1")
    assert set(Counter(assignment.values()).values()) == {50}
    assert workloads(assignment) == dict.fromkeys("01234", 200)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 60), st.integers(1, 7), st.integers(1, 4), st.integers(0, 5))
def test_loads_differ_by_at_most_one(n: int, people: int, per_item: int, seed: int) -> None:
    per_item = min(per_item, people)
    names = [f"p{k}" for k in range(people)]
    assignment = assign_balanced([f"c{k}" for k in range(n)], names, per_item=per_item, seed=seed)
    assert all(len(set(chosen)) == per_item for chosen in assignment.values())
    loads = [workloads(assignment).get(name, 0) for name in names]
    assert max(loads) - min(loads) <= 1
    assert sum(loads) == n * per_item


def test_all_pairs_meet_about_equally_often() -> None:
    assignment = assign_balanced([f"c{n}" for n in range(500)], FIVE)
    pairs = Counter(assignment.values())
    assert set(pairs) == set(combinations(FIVE, 2))
    assert min(pairs.values()) >= 45
    assert max(pairs.values()) <= 55


def test_every_type_is_shared_evenly() -> None:
    ids = [f"c{n}" for n in range(90)]
    strata = {name: "next" if n < 60 else "order" for n, name in enumerate(ids)}
    assignment = assign_balanced(ids, FIVE, strata=strata)
    for kind in ("next", "order"):
        loads = Counter(p for name in ids if strata[name] == kind for p in assignment[name])
        assert max(loads.values()) - min(loads.values()) <= 2


def test_the_order_of_arguments_changes_nothing_but_the_seed_does() -> None:
    ids = [f"c{n}" for n in range(40)]
    one = assign_balanced(ids, FIVE, seed=3)
    assert one == assign_balanced(ids[::-1], FIVE[::-1], seed=3)
    assert list(one) == ids
    assert one != assign_balanced(ids, FIVE, seed=4)


def test_standing_assignments_are_kept_and_count() -> None:
    given_ = {f"c{n}": ("ana", "ben") for n in range(10)}
    assignment = assign_balanced([f"c{n}" for n in range(25)], FIVE, given={**given_, "gone": ("eva",)})
    assert {name: assignment[name] for name in given_} == given_
    assert workloads(assignment) == dict.fromkeys(FIVE, 10)


def test_somebody_who_left_stays_in_what_was_assigned() -> None:
    assignment = assign_balanced(["c0", "c1"], ["ana", "ben"], given={"c0": ("ana", "gone")})
    assert assignment == {"c0": ("ana", "gone"), "c1": ("ana", "ben")}


@pytest.mark.parametrize(
    ("ids", "names", "per_item", "seen"),
    [
        (["c", "c"], FIVE, 2, "candidate 'c' occurs more than once"),
        (["c"], ("ana", "ana"), 2, "annotator 'ana'"),
        (["c"], ("ana",), 2, "there are 1 annotators"),
        (["c"], (), 1, "there are 0 annotators"),
        (["c"], FIVE, 0, "0 verdicts"),
    ],
)
def test_impossible_wishes_are_refused(
    ids: list[str], names: tuple[str, ...], per_item: int, seen: str
) -> None:
    for assign in (assign_balanced, assign_published):
        with pytest.raises(UserError, match=seen):
            assign(ids, names, per_item=per_item)


# -- deal_pairs ----------------------------------------------------------------------------------------------


def _ids(n: int) -> list[str]:
    return [f"c{k}" for k in range(n)]


def _people(n: int) -> list[str]:
    return [f"p{k}" for k in range(n)]


def _check_told(deal: Deal, strata: dict[str, str] | None = None) -> None:
    """What a deal says of itself is what one counts."""
    groups = list(deal.assignment.values())
    assert all(group == tuple(sorted(set(group))) and len(group) == deal.per_item for group in groups)
    assert list(deal.assignment) == sorted(deal.assignment)
    for one, other in combinations(deal.annotators, 2):
        assert deal.pair_counts[one, other] == sum(one in g and other in g for g in groups)
    assert len(deal.pair_counts) == len(deal.annotators) * (len(deal.annotators) - 1) // 2
    assert deal.loads == {name: sum(name in g for g in groups) for name in deal.annotators}
    kinds = {item: (strata or {}).get(item, "") for item in deal.assignment}
    assert [s.stratum for s in deal.strata] == sorted(set(kinds.values()))
    for spread in deal.strata:
        inside = [g for item, g in deal.assignment.items() if kinds[item] == spread.stratum]
        pairs = [sum(a in g and b in g for g in inside) for a, b in combinations(deal.annotators, 2)]
        loads = [sum(name in g for g in inside) for name in deal.annotators]
        assert spread.items == len(inside)
        assert spread.pairs == (min(pairs, default=0), max(pairs, default=0))
        assert spread.loads == (min(loads), max(loads))


def test_500_items_and_five_people_give_every_pair_exactly_50_and_everybody_200() -> None:
    for seed in range(20):
        deal = deal_pairs(_ids(500), FIVE, seed=seed)
        assert set(deal.pair_counts.values()) == {50}
        assert deal.loads == dict.fromkeys(FIVE, 200)
        assert deal.strata == (StratumSpread("", 500, (50, 50), (200, 200)),)
        assert (deal.pair_spread, deal.load_spread, deal.constrained) == (0, 0, False)


def test_a_deal_that_is_written_down_stays_as_it_is() -> None:
    """A study that has begun must be dealt the same way by the next version."""
    deal = deal_pairs(_ids(8), ("ana", "ben", "cem", "dia"), seed=7, strata=dict.fromkeys(_ids(8), "next"))
    assert {item: "".join(name[0] for name in names) for item, names in deal.assignment.items()} == GOLDEN


@settings(max_examples=150, deadline=None)
@given(st.integers(3, 10), st.integers(0, 230), st.integers(1, 8), st.integers(0, 2**32), st.booleans())
def test_pairs_differ_by_one_and_loads_by_three_overall_and_in_every_stratum(
    people: int, n: int, kinds: int, seed: int, skewed: bool
) -> None:
    rng = random.Random(seed)
    strata = {c: f"s{0 if skewed and rng.random() < 0.5 else rng.randrange(kinds)}" for c in _ids(n)}
    deal = deal_pairs(_ids(n), _people(people), seed=seed, strata=strata)
    _check_told(deal, strata)
    assert deal.pair_spread <= 1
    assert deal.load_spread <= 3
    for spread in deal.strata:
        assert spread.pairs[1] - spread.pairs[0] <= 1
        assert spread.loads[1] - spread.loads[0] <= 3


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 9),
    st.integers(0, 60),
    st.integers(1, 4),
    st.integers(0, 99),
    st.randoms(use_true_random=False),
)
def test_the_order_of_what_is_dealt_changes_nothing(
    people: int, n: int, per_item: int, seed: int, rng: random.Random
) -> None:
    ids, names = _ids(n), _people(people)
    strata = {c: str(k % 3) for k, c in enumerate(ids)}
    per_item = min(per_item, people)
    one = deal_pairs(ids, names, seed=seed, strata=strata, per_item=per_item)
    rng.shuffle(ids)
    rng.shuffle(names)
    assert one == deal_pairs(ids, names, seed=seed, strata=strata, per_item=per_item)


def test_another_seed_deals_otherwise_and_who_shares_with_whom_is_drawn() -> None:
    deals = [deal_pairs(_ids(40), FIVE, seed=seed).assignment for seed in range(30)]
    assert len({tuple(deal.values()) for deal in deals}) == 30
    assert {deal["c0"] for deal in deals} == set(combinations(FIVE, 2))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.integers(0, 100), st.integers(0, 9))
def test_single_people_are_dealt_evenly(people: int, n: int, seed: int) -> None:
    strata = {c: str(k % 4) for k, c in enumerate(_ids(n))}
    deal = deal_pairs(_ids(n), _people(people), seed=seed, per_item=1, strata=strata)
    _check_told(deal, strata)
    assert deal.load_spread <= 1
    assert all(s.loads[1] - s.loads[0] <= 1 for s in deal.strata)


@pytest.mark.parametrize(("people", "per_item"), [(a, k) for a in range(3, 12) for k in (3, 4, 5) if k <= a])
def test_larger_groups_meet_equally_often_over_a_whole_sequence(people: int, per_item: int) -> None:
    sequence = pair_sequence(people, per_item)
    names = [f"p{k:02}" for k in range(people)]
    pairs = count_pairs([[names[p] for p in group] for group in sequence], names)
    assert len(set(pairs.values())) == 1
    assert all(len(set(group)) == per_item for group in sequence)
    deal = deal_pairs(_ids(len(sequence)), names, seed=1, per_item=per_item)
    assert (deal.pair_spread, deal.load_spread) == (0, 0)


@pytest.mark.parametrize(("people", "per_item"), [(12, 6), (14, 3), (16, 10)])
def test_designs_that_cannot_be_flat_are_nearly(people: int, per_item: int) -> None:
    names = [f"p{k:02}" for k in range(people)]
    sequence = pair_sequence(people, per_item)
    assert len(sequence) == 4 * people * people
    counts = count_pairs([[names[p] for p in group] for group in sequence], names).values()
    assert max(counts) - min(counts) <= 2


def test_seven_people_in_threes_are_the_fano_plane() -> None:
    sequence = pair_sequence(7, 3)
    assert len(sequence) == 7
    assert all(len(set(a) & set(b)) == 1 for a, b in combinations(sequence, 2))


@pytest.mark.parametrize(("people", "per_item"), [(a, k) for a in range(4, 12) for k in (3, 4, 5) if k <= a])
def test_larger_groups_are_even_at_any_number_of_items(people: int, per_item: int) -> None:
    """A deal is a run of the sequence from anywhere, and whole rounds of it are flat: every shorter run is looked at."""
    sequence = pair_sequence(people, per_item)
    pairs = list(combinations(range(people), 2))
    loads = [[person in group for person in range(people)] for group in sequence]
    meetings = [[set(pair) <= set(group) for pair in pairs] for group in sequence]
    for counted in (loads, meetings):
        so_far = np.cumsum([[0] * len(counted[0]), *counted, *counted], axis=0)
        starts = np.arange(len(sequence))
        spreads = [np.ptp(so_far[starts + n] - so_far[starts], axis=1).max() for n in range(1, len(sequence))]
        assert max(spreads, default=0) <= per_item + 2


@settings(max_examples=40)
@given(st.integers(4, 11), st.integers(3, 5), st.integers(0, 300), st.integers(0, 9))
def test_a_deal_to_larger_groups_says_how_even_it_is(people: int, per_item: int, n: int, seed: int) -> None:
    per_item = min(per_item, people)
    deal = deal_pairs(_ids(n), _people(people), seed=seed, per_item=per_item)
    _check_told(deal)
    assert max(deal.load_spread, deal.pair_spread) <= per_item + 2


def test_a_group_of_many_out_of_very_many_is_drawn_from_a_fixed_sample() -> None:
    deal = deal_pairs(_ids(500), [f"p{k:02}" for k in range(20)], seed=0, per_item=6)
    assert deal == deal_pairs(_ids(500), [f"p{k:02}" for k in range(20)], seed=0, per_item=6)
    assert deal.pair_spread <= 4
    assert deal.load_spread <= 5


def test_circle_order_uses_everybody_in_every_round() -> None:
    sequence = pair_sequence(6)
    assert sorted(sequence) == list(combinations(range(6), 2))
    for turn in range(5):
        assert sorted(p for pair in sequence[3 * turn : 3 * turn + 3] for p in pair) == list(range(6))


# -- constraints ---------------------------------------------------------------------------------------------


def _study(
    n: int, people: int, recordings: int, seed: int
) -> tuple[list[str], list[str], dict[str, str], Constraints]:
    """Everybody performed some recordings, and must not judge what they performed."""
    rng = random.Random(seed)
    ids, names = _ids(n), _people(people)
    performer = [rng.choice(names) for _ in range(recordings)]
    strata = {c: f"s{rng.randrange(4)}" for c in ids}
    return ids, names, strata, Constraints(forbidden={(rng.choice(performer), c) for c in ids})


def _check_respected(deal: Deal, rules: Constraints) -> None:
    assert all(rules.allows(name, item) for item, names in deal.assignment.items() for name in names)
    assert all(deal.loads.get(name, 0) <= most for name, most in rules.capacity.items())


@pytest.mark.parametrize("seed", range(2))
def test_nobody_judges_what_they_performed_and_the_deal_is_as_even_as_ever(seed: int) -> None:
    ids, names, strata, rules = _study(500, 5, 40, seed)
    deal = deal_pairs(ids, names, seed=seed, strata=strata, constraints=rules)
    _check_told(deal, strata)
    _check_respected(deal, rules)
    assert deal.constrained
    assert set(deal.pair_counts.values()) == {50}
    assert all(s.pairs[1] - s.pairs[0] <= 1 for s in deal.strata)
    assert deal == deal_pairs(ids[::-1], names[::-1], seed=seed, strata=strata, constraints=rules)


def test_5000_items_and_45_pairs_take_seconds() -> None:
    ids, names, strata, rules = _study(5000, 10, 384, 1)
    rules = Constraints(forbidden=rules.forbidden, capacity={"p0": 300, "p1": 500})
    begun = time.process_time()
    deal = deal_pairs(ids, names, seed=1, strata=strata, constraints=rules)
    assert time.process_time() - begun < 20
    _check_respected(deal, rules)
    assert (deal.loads["p0"], deal.loads["p1"]) == (300, 500)
    others = [c for pair, c in deal.pair_counts.items() if not {"p0", "p1"} & set(pair)]
    assert max(others) - min(others) <= 10


def test_constraints_that_the_plain_deal_respects_leave_it_alone() -> None:
    plain = deal_pairs(_ids(50), FIVE, seed=3)
    outsider = next(n for n in FIVE if n not in plain.assignment["c0"])
    rules = Constraints(forbidden={(outsider, "c0")}, capacity={"ana": 20})
    assert deal_pairs(_ids(50), FIVE, seed=3, constraints=rules) == plain


def test_who_can_do_little_gets_little_and_the_others_share_the_rest() -> None:
    deal = deal_pairs(_ids(500), FIVE, seed=0, constraints=Constraints(capacity={"ana": 40}))
    assert deal.loads["ana"] == 40
    with_ana = [c for pair, c in deal.pair_counts.items() if "ana" in pair]
    without = [c for pair, c in deal.pair_counts.items() if "ana" not in pair]
    assert with_ana == [10] * 4
    assert max(without) - min(without) <= 1


def test_languages_decide_who_sees_what() -> None:
    ids = _ids(60)
    language = dict.fromkeys(ids[:20], "tr") | dict.fromkeys(ids[20:40], "EN")
    rules = Constraints(languages={"ana": ["en"], "ben": ["TR", "en"], "cem": "tr"}, item_language=language)
    deal = deal_pairs(ids, FIVE, seed=0, constraints=rules)
    _check_respected(deal, rules)
    assert all("ana" not in deal.assignment[c] for c in ids[:20])
    assert all("cem" not in deal.assignment[c] for c in ids[20:40])
    assert any("ana" in deal.assignment[c] for c in ids[40:])
    assert rules.reason("ana", "c0") == "does not know its language (tr)"
    assert deal.pair_spread <= 1


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_constraints_are_kept_or_the_deal_is_refused_with_reason(data: st.DataObject) -> None:
    people, n = data.draw(st.integers(2, 5)), data.draw(st.integers(1, 8))
    per_item = data.draw(st.integers(1, min(3, people)))
    ids, names = _ids(n), _people(people)
    forbidden = data.draw(st.sets(st.tuples(st.sampled_from(names), st.sampled_from(ids)), max_size=8))
    capacity = data.draw(st.dictionaries(st.sampled_from(names), st.integers(0, n)))
    rules = Constraints(forbidden, capacity)
    try:
        deal = deal_pairs(ids, names, seed=0, per_item=per_item, constraints=rules)
    except UserError:
        assert not _exists(ids, names, per_item, rules)
    else:
        _check_told(deal)
        _check_respected(deal, rules)


def _exists(ids: list[str], names: list[str], per_item: int, rules: Constraints) -> bool:
    """Try all deals, item by item; what matters of the past is how much room everybody has left."""
    reached = {tuple(rules.capacity.get(name, len(ids)) for name in names)}
    for item in ids:
        able = [p for p, name in enumerate(names) if rules.allows(name, item)]
        reached = {
            tuple(left - (p in group) for p, left in enumerate(room))
            for room, group in product(reached, combinations(able, per_item))
            if all(room[p] for p in group)
        }
    return bool(reached)


@pytest.mark.parametrize(("people", "per_item"), [(5, 3), (10, 4), (6, 5)])
def test_larger_groups_respect_constraints_too(people: int, per_item: int) -> None:
    ids, names, strata, rules = _study(400, people, 30, 2)
    rules = Constraints(forbidden=rules.forbidden, capacity={"p0": 90})
    if people == 6:
        rules = Constraints(capacity={"p0": 90})
    deal = deal_pairs(ids, names, seed=4, strata=strata, per_item=per_item, constraints=rules)
    _check_told(deal, strata)
    _check_respected(deal, rules)
    assert deal.loads["p0"] == 90
    others = [load for name, load in deal.loads.items() if name != "p0"]
    assert max(others) - min(others) <= 1
    assert min(deal.pair_counts.values()) > 0


def test_too_many_people_and_kinds_are_dealt_from_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit pairs are only evened out greedily; loads stay exact."""
    monkeypatch.setattr("proctor.verify.assignment._MAX_CELLS", 10)
    ids, names, strata, rules = _study(300, 6, 30, 5)
    deal = deal_pairs(ids, names, seed=4, strata=strata, constraints=rules)
    _check_told(deal, strata)
    _check_respected(deal, rules)
    assert deal.load_spread == 0
    assert deal.pair_spread <= 8


def test_items_that_have_nobody_are_named() -> None:
    rules = Constraints(forbidden={("ana", "c1"), ("ben", "c1"), ("ana", "c4"), ("ben", "c4"), ("cem", "c4")})
    with pytest.raises(UserError, match=r"2 of 6 items have fewer than 2 people .*'c1': cem; 'c4': nobody\)"):
        deal_pairs(_ids(6), ("ana", "ben", "cem"), seed=0, constraints=rules)


def test_too_little_room_is_told_with_the_people_who_lack_it() -> None:
    """Ten items need 20; dia can take three of these; the other three have room for 13."""
    rules = Constraints(forbidden={("dia", c) for c in _ids(10)[:7]}, capacity={"ana": 4, "ben": 4, "cem": 5})
    with pytest.raises(
        UserError,
        match=r"10 items \(c0, c1, c2, c3, c4, ...\) need 17 judgements of ana, ben, cem, who have room for 13; 4 would",
    ):
        deal_pairs(_ids(10), ("ana", "ben", "cem", "dia"), seed=0, constraints=rules)


@pytest.mark.parametrize(
    ("rules", "seen"),
    [
        (Constraints(forbidden={("anna", "c0")}), "names the annotator 'anna'"),
        (Constraints(forbidden={("ana", "c9")}), "names the item 'c9'"),
        (Constraints(capacity={"anna": 3}), "names the annotator 'anna'"),
        (Constraints(languages={"anna": ["en"]}), "names the annotator 'anna'"),
        (Constraints(item_language={"c9": "en"}), "names the item 'c9'"),
    ],
)
def test_a_slip_of_the_pen_lifts_no_constraint(rules: Constraints, seen: str) -> None:
    with pytest.raises(UserError, match=seen):
        deal_pairs(_ids(5), FIVE, seed=0, constraints=rules)


@pytest.mark.parametrize("most", [-1, 2.5, float("nan"), "3", True])
def test_a_capacity_is_a_whole_number(most: object) -> None:
    with pytest.raises(UserError, match="capacity of 'ana'"):
        Constraints(capacity={"ana": most})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("ids", "names", "per_item", "seen"),
    [
        (["c", "c"], FIVE, 2, "candidate 'c' occurs more than once"),
        (["c"], ("ana", "ana"), 2, "annotator 'ana'"),
        (["c"], ("ana",), 2, "there are 1 annotators"),
        (["c"], (), 1, "there are 0 annotators"),
        (["c"], FIVE, 0, "0 verdicts"),
        (["c"], FIVE, 6, "6 verdicts"),
    ],
)
def test_impossible_deals_are_refused(
    ids: list[str], names: tuple[str, ...], per_item: int, seen: str
) -> None:
    with pytest.raises(UserError, match=seen):
        deal_pairs(ids, names, seed=0, per_item=per_item)


def test_an_item_without_a_stratum_is_refused() -> None:
    with pytest.raises(UserError, match="1 items have no stratum, the first is 'c1'"):
        deal_pairs(_ids(2), FIVE, seed=0, strata={"c0": "next"})


def test_no_items_are_a_deal_of_nothing() -> None:
    deal = deal_pairs([], FIVE, seed=0, constraints=Constraints(capacity={"ana": 0}))
    assert (deal.assignment, deal.strata) == ({}, ())
    assert deal.loads == dict.fromkeys(FIVE, 0)
    assert set(deal.pair_counts.values()) == {0}


def test_ids_of_all_kinds_are_only_ids() -> None:
    ids = ["<script>", "'; drop", "ü", "\x00", "a" * 5000, " ", "", "\ud800"]
    deal = deal_pairs(ids, ("ana", "", "Ünal"), seed=0)
    assert set(deal.assignment) == set(ids)
