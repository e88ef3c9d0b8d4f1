"""Assignments are even, stable, and the published rule is the recovered one."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.verify.assignment import assign_balanced, assign_published, workloads

FIVE = ("ana", "ben", "cem", "dia", "eva")


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
