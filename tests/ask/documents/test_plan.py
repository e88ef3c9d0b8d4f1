"""Plans: balance, ids that stay, and errors before anything is asked."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.ask.documents.plan import cells_of, plan_targets, possible_targets
from proctor.ask.documents.record import Target
from proctor.ask.documents.style import BUILTIN_STYLES, PUBLISHED_COUNTS, load_styles
from proctor.errors import UserError

STYLES = load_styles()


def counts(targets: tuple[Target, ...]) -> Counter[tuple[str, tuple[int, int, int]]]:
    return Counter((t.style, t.modalities) for t in targets)


def test_all_cells_of_the_published_styles() -> None:
    assert len(cells_of(STYLES)) == 3 + 6 + 5 + 6 + 5


def test_one_of_each_cell() -> None:
    targets = plan_targets(STYLES, per_cell=1)
    assert len(targets) == 25 == len({t.id for t in targets})
    assert targets[0] == Target(
        id="information-extraction/1-0-0/0001", style="information-extraction", modalities=(1, 0, 0)
    )


@given(st.integers(1, 300))
def test_a_total_is_met_and_balanced_at_every_point(total: int) -> None:
    targets = plan_targets(STYLES, total=total)
    assert len(targets) == total == len({t.id for t in targets})
    cells = Counter(dict.fromkeys(cells_of(STYLES), 0))
    for target in targets:
        cells[target.style, target.modalities] += 1
        assert max(cells.values()) - min(cells.values()) <= 1
    over = Counter(
        {s: sum(n - total // 25 for (style, _), n in cells.items() if style == s) for s in BUILTIN_STYLES}
    )
    if total % 25 <= 15:  # every style has three cells at least: styles take turns until then
        assert max(over.values()) - min(over.values()) <= 1


@given(st.integers(1, 100), st.integers(0, 100))
def test_ids_stay_when_more_are_asked_for(few: int, more: int) -> None:
    assert {t.id for t in plan_targets(STYLES, total=few)} <= {
        t.id for t in plan_targets(STYLES, total=few + more)
    }


def test_the_published_numbers() -> None:
    targets = plan_targets(STYLES, quotas=PUBLISHED_COUNTS)
    assert len(targets) == 1024
    assert Counter(t.style for t in targets) == PUBLISHED_COUNTS
    for style in STYLES:
        per_cell = [counts(targets)[style.name, c] for c in style.combinations]
        assert max(per_cell) - min(per_cell) <= 1


def test_only_some_combinations() -> None:
    with pytest.raises(UserError, match="'information-extraction' is for none"):
        plan_targets(STYLES, per_cell=2, combinations=["1-1-0"])
    some = plan_targets(STYLES[1:3], per_cell=2, combinations=["1-1-0", (1, 1, 1), "1-1-0"])
    assert counts(some) == {
        ("compare-contrast", (1, 1, 0)): 2,
        ("compare-contrast", (1, 1, 1)): 2,
        ("numerical", (1, 1, 0)): 2,
    }


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "in one way"),
        ({"total": 3, "per_cell": 1}, "in one way"),
        ({"total": 0}, "0 questions in all"),
        ({"total": 2.5}, "2.5 questions"),
        ({"per_cell": True}, "True questions"),
        ({"per_cell": -1}, "-1 questions"),
        ({"quotas": {"compound": 3}}, "do not agree"),
        ({"quotas": {**PUBLISHED_COUNTS, "rhyme": 1}}, "do not agree: rhyme"),
        ({"quotas": {**PUBLISHED_COUNTS, "compound": 0}}, "0 questions of compound"),
        ({"total": 1, "combinations": ["0-0-0"]}, "0-0-0 asks for none"),
        ({"total": 1, "combinations": ["5-0-0"]}, "no style of the plan is for 5-0-0"),
        ({"total": 2_000_000}, "too many"),
    ],
)  # fmt: skip
def test_plans_that_make_no_sense(arguments: dict[str, object], says: str) -> None:
    with pytest.raises(UserError, match=says):
        plan_targets(STYLES, **arguments)  # type: ignore[arg-type]


def test_cells_that_a_corpus_cannot_fill_are_left_out_with_a_reason_and_the_others_keep_their_numbers() -> (
    None
):
    targets = plan_targets(STYLES, per_cell=2)
    found = possible_targets(targets, STYLES, {"text": 10, "table": 1, "image": 4})
    assert {(c.style, c.combination, c.questions) for c in found.impossible} == {
        (style, "0-2-0", 2) for style in ("compare-contrast", "numerical", "compound", "multi-hop")
    }
    assert {c.reason for c in found.impossible} == {"needs 2 table sources, and the corpus has 1"}
    assert found.targets == tuple(t for t in targets if t.modalities != (0, 2, 0))
    assert found.short == ("table: up to 2 candidates are asked for, and the corpus has 1",)


def test_a_plan_of_which_nothing_can_be_asked_says_what_the_corpus_has() -> None:
    targets = plan_targets(STYLES[1:2], per_cell=1, combinations=["0-0-2", "0-2-0"])
    with pytest.raises(
        UserError, match=r"any of the \d planned questions; it has 9 text, 1 table, 0 image sources"
    ):
        possible_targets(targets, STYLES[1:2], {"text": 9, "table": 1})


def test_two_hops_need_two_sources() -> None:
    hops = replace(STYLES[-1], combinations=((1, 0, 0), (1, 1, 0)))
    assert hops.hops
    found = possible_targets(plan_targets([hops], per_cell=1), [hops], {"text": 5, "table": 5})
    assert [(c.combination, c.reason) for c in found.impossible] == [
        ("1-0-0", "a question of two hops needs two sources")
    ]
    assert len(found.targets) == 1


def test_a_small_corpus_is_told_and_used() -> None:
    targets = plan_targets(STYLES, per_cell=1)
    found = possible_targets(targets, STYLES, {"text": 3, "table": 4, "image": 100})
    assert (found.targets, found.impossible) == (targets, ())
    assert found.short == ("text: up to 4 candidates are asked for, and the corpus has 3",)
    assert possible_targets((), STYLES, {}) == ((), (), ())
