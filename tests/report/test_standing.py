"""Runs in their order, compared, with what has no mark: the numbers are those of the tables."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from tests.report.exams import make_run, small_exam, small_items

from proctor.errors import UserError
from proctor.report.compose import summarize
from proctor.report.data import Exam, ReportOptions
from proctor.report.results import standing_plot
from proctor.report.standing import lacks, split_failure, stand

QUICK = ReportOptions(resamples=200)


def test_runs_stand_best_first_with_the_numbers_of_their_tables() -> None:
    standing = stand(small_exam(), replace(QUICK, min_coverage=0.5))
    assert [line.run.name for line in standing.lines] == ["annotations", "strong", "weak", "constant"]
    assert [line.rank.place for line in standing.lines] == [None, 1, 2, None]
    for line in standing.lines:
        assert line.run.table is not None
        assert line.value == line.run.table.row().value
    best = standing.best("floor")
    assert best is not None
    assert best.value == standing.lines[3].value


def test_a_comparison_reads_the_same_both_ways_round() -> None:
    standing = stand(small_exam(small_items(60)), QUICK)
    ahead, behind = standing.compared["strong", "weak"], standing.compared["weak", "strong"]
    assert ahead.difference == -behind.difference > 0
    assert (ahead.low, ahead.high) == (-(behind.high or 0.0), -(behind.low or 0.0))
    # on the items that both have a mark for, the run named first minus the other
    strong, weak = (
        next(line for line in standing.lines if line.run.name == name) for name in ("strong", "weak")
    )
    both = [
        i.id for i in standing.exam.items if strong.mark(i.id) is not None and weak.mark(i.id) is not None
    ]
    means = [sum(line.mark(i) or 0.0 for i in both) / len(both) for line in (strong, weak)]
    assert ahead.difference == pytest.approx(means[0] - means[1])


def test_shares_are_printed_from_0_to_100() -> None:
    exam = small_exam()
    run = exam.runs[1]
    assert run.table is not None
    rows = tuple(
        msgspec.structs.replace(
            r,
            measure="accuracy",
            value=None if r.value is None else r.value / 100,
            low=0.1,
            high=0.9,
            full=1.0,
        )
        for r in run.table.rows
    )
    marks = {"accuracy": {k: None if v is None else v / 100 for k, v in run.table.item_marks.items()}}
    table = msgspec.structs.replace(run.table, rows=rows, marks=marks)
    line = stand(replace(exam, runs=(replace(run, table=table),)), QUICK).lines[0]
    row = line.row()
    assert row is not None
    assert (line.value, row.low, row.high) == (run.table.row().value, 10.0, 90.0)
    assert line.mark("i0") == 100.0


def test_runs_of_different_judges_are_not_compared_and_it_says_why() -> None:
    exam = small_exam()
    table = exam.runs[0].table
    assert table is not None
    other = tuple(
        msgspec.structs.replace(r, signature=r.signature.replace("rules 1", "other 2")) for r in table.rows
    )
    changed = replace(exam.runs[0], table=msgspec.structs.replace(table, rows=other))
    standing = stand(replace(exam, runs=(changed, *exam.runs[1:])), QUICK)
    assert not [pair for pair in standing.compared if changed.name in pair]
    assert ("strong", "constant") in standing.compared
    assert "judge" in standing.note
    assert not stand(exam, QUICK).note


def test_who_refuses_does_not_lead_and_floors_of_another_judge_are_no_measure() -> None:
    items = small_items()
    runs = (
        make_run("refuses", items, "2ff"),
        make_run("tries", items, "1222"),
        make_run("floor", items, "10", "floor"),
    )
    standing = stand(Exam("moment", "moments", items, runs), QUICK)
    assert [(line.run.name, line.rank.place) for line in standing.lines] == [
        ("tries", 1), ("floor", None), ("refuses", None),
    ]  # fmt: skip
    refuses = standing.lines[2]
    row = refuses.row()
    assert row is not None
    assert (row.value, row.least, row.most) == (100.0, pytest.approx(100 / 3), 100.0)
    assert refuses.rank.why == "4 of 12 questions have a mark; ranked from 95 % on"
    best = standing.best("floor")
    assert best is not None
    assert best.value == 25.0
    anew = replace(runs[2], table=msgspec.structs.replace(runs[2].table, rows=tuple(
        msgspec.structs.replace(r, judge="another", signature=r.signature.replace("rules 1", "another")) for r in runs[2].table.rows
    ))) if runs[2].table else runs[2]  # fmt: skip
    text = summarize(stand(Exam("moment", "moments", items, (*runs[:2], anew)), QUICK))
    assert "reaches 25.0 by the judge another, so that systems are not compared with it" in text
    better = replace(anew, name="better", predictor="better")
    mixed = stand(Exam("moment", "moments", items, (*runs[1:], better)), QUICK)
    assert (
        "The best floor with the same judge, floor, answers without the evidence and reaches 25.0"
        in summarize(mixed)
    )
    chart = standing_plot(mixed)
    assert chart is not None
    assert "what the best floor with the same judge reaches without the evidence (25.0)" in chart.guide


def test_two_runs_of_one_name_are_refused() -> None:
    run = small_exam().runs[0]
    with pytest.raises(UserError, match="two runs are called 'weak'"):
        stand(Exam("e", "e", small_items(), (run, run)), QUICK)


def test_every_answer_without_a_mark_is_told_with_its_code() -> None:
    items = small_items(6)
    found = lacks(stand(Exam("e", "e", items, (make_run("weak", items, "01f0u-"),)), QUICK))
    assert [(lack.item_id, lack.kind, lack.code, lack.message) for lack in found] == [
        ("i2", "failed", "refusal", "I cannot say"),
        ("i4", "unscored", "unreadable", "what"),
    ]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a_b: c", ("a_b", "c")),
        ("a_b:", ("a_b", "")),
        ("It broke.", ("other", "It broke.")),
        ("", ("other", "")),
    ],
)
def test_a_failure_begins_with_its_code(text: str, parts: tuple[str, str]) -> None:
    assert split_failure(text) == parts
