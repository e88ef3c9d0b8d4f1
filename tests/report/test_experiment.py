"""The table of all results: the paper's layout, floors beside scores, what runs saw and cost."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from proctor.metrics.answer import pooled_mean
from proctor.report.data import ReportData, ReportOptions, Run
from proctor.report.experiment import Experiment, describe_experiment
from proctor.report.page import render_report
from proctor.report.standings import compute_standings


def with_details(run: Run, **details: str) -> Run:
    return replace(
        run, predictions=tuple(msgspec.structs.replace(p, details=details) for p in run.predictions)
    )


def describe(data: ReportData, options: ReportOptions) -> Experiment:
    return describe_experiment(compute_standings(data, options))


def test_columns_are_average_clean_noisy_and_each_type(small: ReportData, quick: ReportOptions) -> None:
    found = describe(small, quick)
    assert [s.key for s in found.slices] == [
        "all",
        "clean",
        "noisy",
        "type=next",
        "type=missing",
        "type=order",
    ]
    assert [r.row.run.name for r in found.rows] == ["annotations", "strong", "weak", "constant"]


def test_the_average_is_the_mean_of_clean_and_noisy_weighted_by_their_numbers(
    small: ReportData, quick: ReportOptions
) -> None:
    for r in describe(small, quick).rows:
        parts = [r.row.scores[k] for k in ("clean", "noisy")]
        assert r.row.score.value == pytest.approx(pooled_mean([s.value for s in parts], [s.n for s in parts]))


@pytest.mark.parametrize(
    ("average", "clean", "noisy"),
    [(44.1, 48.9, 40.4)],
)
def test_the_paper_weighs_176_clean_and_225_noisy(average: float, clean: float, noisy: float) -> None:
    assert pooled_mean([clean, noisy], [176, 225]) == pytest.approx(average, abs=0.06)
    assert (176 * clean + 225 * noisy) / 401 == pytest.approx(pooled_mean([clean, noisy], [176, 225]))


def test_every_score_stands_beside_the_best_floor_of_its_slice(
    small: ReportData, quick: ReportOptions
) -> None:
    found = describe(small, quick)
    rows = {r.row.run.name: r for r in found.rows}
    for s in found.slices:
        floor = rows["constant"].row.scores[s.key].value
        assert (found.floors[s.key].value, found.floors[s.key].run) == (floor, "constant")
        assert rows["strong"].lifts[s.key] == pytest.approx(rows["strong"].row.scores[s.key].value - floor)
    assert rows["constant"].lifts == {}


def test_without_a_blind_run_there_are_no_floors(small: ReportData, quick: ReportOptions) -> None:
    found = describe(replace(small, runs=small.runs[:2]), quick)
    assert found.floors == {}
    assert all(r.lifts == {} for r in found.rows)
    page = render_report(replace(small, runs=small.runs[:2]), options=quick)
    assert "Best floor" not in page


def test_frames_and_resolution_are_those_of_the_predictions(small: ReportData, quick: ReportOptions) -> None:
    weak, strong, *rest = small.runs
    varied = replace(
        strong,
        predictions=tuple(
            msgspec.structs.replace(p, details={"frames": str(8 + n), "resolution": "765p" if n else "288p"})
            for n, p in enumerate(strong.predictions)
        ),
    )
    data = replace(
        small,
        runs=(
            with_details(weak, frames="50", resolution="765p", model="openai/m", sampling="uniform"),
            varied,
            *rest,
        ),
    )
    rows = {r.row.run.name: r for r in describe(data, quick).rows}
    assert (rows["weak"].frames, rows["weak"].resolution, rows["weak"].shown) == ("50", "765p", 2)
    assert (rows["weak"].model, rows["weak"].sampling) == ("openai/m", "uniform")
    assert (rows["strong"].frames, rows["strong"].resolution) == ("8–19", "765p, 288p")
    page = render_report(data, options=quick)
    assert "openai/m" in page
    assert ">Frames<" in page


def test_costs_are_summed_exactly_and_unknown_ones_are_not_zero(
    small: ReportData, quick: ReportOptions
) -> None:
    weak, strong, *rest = small.runs
    some = replace(
        strong,
        predictions=tuple(
            msgspec.structs.replace(
                p, details={"cost": "0.1", "tokens_in": "1000"} if n < 3 else {"tokens_in": "1000"}
            )
            for n, p in enumerate(strong.predictions)
        ),
        judgements=tuple(
            msgspec.structs.replace(j, details={"cost": "0.01", "calls": "2"}) for j in strong.judgements
        ),
    )
    found = describe(replace(small, runs=(weak, some, *rest)), quick)
    row = next(r for r in found.rows if r.row.run.name == "strong")
    assert (row.answering.cost.value, row.answering.cost.known, row.answering.cost.of) == (
        Decimal("0.3"),
        3,
        12,
    )
    assert (row.answering.tokens_in.text, row.answering.tokens_out.text) == ("12,000", "–")
    assert (row.judging.cost.text, row.judging.calls.text) == ("0.1200", "24")
    assert found.incomplete == (("strong", 3, 12),)
    page = render_report(replace(small, runs=(weak, some, *rest)), options=quick)
    assert "known for 3 of 12 records" in page
    assert "a lower bound" in page


@pytest.mark.parametrize("text", ["", "free", "nan", "inf", "-1", "1e99", "9" * 50, "sNaN", "0x10"])
def test_a_figure_that_is_none_is_unknown(small: ReportData, quick: ReportOptions, text: str) -> None:
    data = replace(small, runs=(with_details(small.runs[1], cost=text, frames=text),))
    (row,) = describe(data, quick).rows
    assert row.answering.cost.known == 0
    assert row.answering.cost.text == "–"


def test_without_details_there_are_no_columns_for_them(small: ReportData, quick: ReportOptions) -> None:
    bare = tuple(
        replace(r, predictions=tuple(msgspec.structs.replace(p, frame_times=()) for p in r.predictions))
        for r in small.runs
    )
    found = describe(replace(small, runs=bare), quick)
    assert not found.media
    assert not found.usage
    page = render_report(replace(small, runs=bare), options=quick)
    assert ">Frames<" not in page
    assert "What it cost" not in page


def test_no_run_and_a_run_where_all_failed(small: ReportData, quick: ReportOptions, run_factory: Any) -> None:
    assert describe(replace(small, runs=()), quick).rows == ()
    failed = replace(small, runs=(run_factory("broken", small.items, "f"), small.runs[2]))
    rows = {r.row.run.name: r for r in describe(failed, quick).rows}
    assert rows["broken"].lifts == {}
    assert rows["broken"].row.counts["failed"] == 12
    assert "broken" in render_report(failed, options=quick)


def test_hostile_details_are_text(small: ReportData, quick: ReportOptions) -> None:
    evil = "<script>alert(1)</script>"
    data = replace(
        small, runs=(with_details(small.runs[1], model=evil, resolution=evil, sampling=evil, frames=evil),)
    )
    assert evil not in render_report(data, options=quick)
