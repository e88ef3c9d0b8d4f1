from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import msgspec
import pytest

from proctor.errors import UserError
from proctor.exam.kinds.moment import KIND
from proctor.exam.question import Item
from proctor.exam.scores import score_run
from proctor.exam.table import Resampling
from proctor.report.data import ReportData, ReportOptions, Run
from proctor.report.standings import compute_standings, derive_outcomes


def test_rows_are_best_first_and_the_empty_run_last(small: ReportData, quick: ReportOptions) -> None:
    data = replace(small, runs=(Run("empty", "empty"), *small.runs))
    standings = compute_standings(data, quick)
    assert [row.run.name for row in standings.rows] == ["annotations", "strong", "weak", "constant", "empty"]
    assert math.isnan(standings.rows[-1].score.value)
    assert standings.rows[-1].counts["absent"] == 12


def test_scores_are_means_of_marks_by_hand(small: ReportData, quick: ReportOptions) -> None:
    strong = next(r for r in compute_standings(small, quick).rows if r.run.name == "strong")
    assert strong.score.value == pytest.approx((9 * 100 + 3 * 50) / 12)
    # Marks repeat 2 2 2 1 and items alternate clean and noisy: every partial answer is on a noisy item.
    assert strong.scores["clean"].value == 100
    assert strong.scores["noisy"].value == 75
    assert strong.scores["kind=suggestion"].value == strong.score.value


def test_what_has_no_mark_is_counted_apart_and_never_zero(small: ReportData, quick: ReportOptions) -> None:
    weak = next(r for r in compute_standings(small, quick).rows if r.run.name == "weak")
    assert dict(weak.counts) == {"2": 0, "1": 2, "0": 4, "failed": 2, "unscored": 2, "absent": 2}
    assert weak.scored == 6
    assert weak.score.value == pytest.approx(100 / 6)


def test_marks_that_are_none_are_unscored(small: ReportData) -> None:
    items = small.items[:4]
    run = small.runs[1]
    odd: list[Any] = [math.nan, 7, True, None]
    judgements = tuple(msgspec.structs.replace(j, score=s) for j, s in zip(run.judgements, odd, strict=False))
    assert derive_outcomes(items, replace(run, judgements=judgements)) == ("unscored",) * 4


def test_nan_marks_do_not_reach_the_mean(small: ReportData, quick: ReportOptions) -> None:
    run = small.runs[1]
    first = msgspec.structs.replace(run.judgements[0], score=cast("Any", math.nan))
    data = replace(small, runs=(replace(run, judgements=(first, *run.judgements[1:])),))
    row = compute_standings(data, quick).rows[0]
    assert row.score.value == pytest.approx((8 * 100 + 3 * 50) / 11)
    assert row.counts["unscored"] == 1


def test_comparisons_hold_every_pair_once_and_find_the_obvious(
    small: ReportData, quick: ReportOptions
) -> None:
    standings = compute_standings(small, quick)
    assert len(standings.comparisons) == 6
    pair = standings.comparison("weak", "strong")
    assert pair is not None
    assert pair.n == 6
    assert pair is standings.comparison("strong", "weak")


def test_a_single_run_has_no_comparison(small: ReportData, quick: ReportOptions) -> None:
    standings = compute_standings(replace(small, runs=small.runs[:1]), quick)
    assert standings.comparisons == ()
    assert standings.detectable is None
    assert standings.note == ""


def test_scores_given_with_a_run_are_taken_as_they_are(small: ReportData, quick: ReportOptions) -> None:
    run = small.runs[1]
    table = score_run(
        KIND,
        small.items,
        run.predictions,
        {"judge": run.judgements},
        benchmark="Small 0.1",
        resampling=Resampling(resamples=300, seed=5),
    )
    row = compute_standings(replace(small, runs=(replace(run, table=table),)), quick).rows[0]
    assert row.score == table.row("all").to_score()


def test_runs_of_different_judges_are_not_compared_and_the_page_says_why(
    small: ReportData, quick: ReportOptions
) -> None:
    run = small.runs[1]
    other = replace(
        run, name="other", judgements=tuple(msgspec.structs.replace(j, judge="llm 2") for j in run.judgements)
    )
    standings = compute_standings(replace(small, runs=(run, other)), quick)
    assert standings.comparisons == ()
    assert "not compared" in standings.note


def test_two_runs_of_one_name_are_refused(small: ReportData, quick: ReportOptions) -> None:
    with pytest.raises(UserError, match="'strong'"):
        compute_standings(replace(small, runs=(small.runs[1], small.runs[1])), quick)


def test_a_run_on_other_items_is_refused(
    small: ReportData,
    quick: ReportOptions,
    item_factory: Callable[..., Item],
    run_factory: Callable[..., Run],
) -> None:
    alien = run_factory("alien", (item_factory(99),), "2")
    with pytest.raises(UserError, match="i99"):
        compute_standings(replace(small, runs=(alien,)), quick)


def test_results_do_not_depend_on_the_order_of_items_or_runs(small: ReportData, quick: ReportOptions) -> None:
    turned = replace(small, items=small.items[::-1], runs=small.runs[::-1])
    before, after = compute_standings(small, quick), compute_standings(turned, quick)
    assert [(r.run.name, r.score) for r in before.rows] == [(r.run.name, r.score) for r in after.rows]
    assert before.detectable == after.detectable


def test_no_items_and_no_runs(quick: ReportOptions) -> None:
    standings = compute_standings(ReportData(items=()), quick)
    assert standings.rows == () == standings.slices
