"""Plans: balance, ids that stay, and errors before anything is asked."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.ask.documents.plan import cells_of, plan_targets, require_available
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


def test_a_corpus_without_a_modality_is_told_before_anything_is_asked() -> None:
    targets = plan_targets(STYLES, per_cell=1)
    with pytest.raises(
        UserError, match=r"need up to 2 image sources, and the corpus has 0 \(information-extraction 0-0-1"
    ):
        require_available(targets, {"text": 10, "table": 10})
    with pytest.raises(
        UserError,
        match="4 of 25 questions need up to 2 table sources, and the corpus has 1",
    ):
        require_available(targets, {"text": 10, "table": 1, "image": 4})
    texts_only = tuple(t for t in targets if t.modalities[1:] == (0, 0))
    assert require_available(texts_only, {"text": 4}) == ()


def test_a_small_corpus_is_told_and_used() -> None:
    targets = plan_targets(STYLES, per_cell=1)
    notes = require_available(targets, {"text": 3, "table": 4, "image": 100})
    assert notes == ("text: up to 4 candidates are asked for, and the corpus has 3",)
    assert require_available((), {}) == ()
