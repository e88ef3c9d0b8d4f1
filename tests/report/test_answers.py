"""Answers that numbers count: marks by question, and a line for each answer without a mark or with a letter."""

from __future__ import annotations

from dataclasses import replace

import msgspec
from tests.report.exams import small_exam
from tests.report.test_compose import QUICK, stars

from proctor.exam.table import Letters
from proctor.report.answers import answers, mark_codes
from proctor.report.standing import stand


def test_marks_of_a_run_are_counted_with_those_that_are_lacking() -> None:
    standing = stand(small_exam(), QUICK)
    weak = next(line for line in standing.lines if line.run.name == "weak")  # 01f0u-, twice
    assert mark_codes(standing, weak) == {
        "wrong": 4, "partial": 2, "marked": 6, "no mark": 6, "failed": 2, "unscored": 2, "not asked": 2,
    }  # fmt: skip
    listed = answers(standing)
    assert listed.id == "answers-moment"
    assert listed.counts["failed: refusal"] == listed.counts["weak: failed: refusal"] == 2
    assert listed.counts["failed: refusal, by run"] == 1


def test_letters_are_listed_with_the_run_that_named_them() -> None:
    exam = stars()
    (run,) = exam.runs
    assert run.table is not None
    read = replace(run, table=msgspec.structs.replace(run.table, letters=Letters(answers=6)))
    counts = answers(stand(replace(exam, runs=(read,)), QUICK)).counts
    assert counts == {"eye: right option at A": 6, "eye: named A": 6, "eye: right": 6}
