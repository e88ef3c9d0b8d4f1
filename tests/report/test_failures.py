"""Answers without a mark: what they are called, that none is lost, and that their texts are text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest

from proctor.exam.prediction import Prediction
from proctor.exam.question import Item
from proctor.report.data import ReportData, ReportOptions, Run
from proctor.report.failures import Failures, describe_failures, split_failure
from proctor.report.page import render_report
from proctor.report.standings import compute_standings


def describe(data: ReportData, options: ReportOptions) -> Failures | None:
    return describe_failures(data, compute_standings(data, options))


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("refusal: I can't help with that.", "refusal", "I can't help with that."),
        ("content_filter: blocked (A: b)", "content_filter", "blocked (A: b)"),
        ("no reply", "other", "no reply"),
        ("http://x", "http", "//x"),
        ("", "other", ""),
        ("empty:", "empty", ""),
        ("truncated: a\nb", "truncated", "a\nb"),
    ],
)
def test_a_failure_is_a_code_and_a_message(text: str, code: str, message: str) -> None:
    assert split_failure(text) == (code, message)


def test_all_are_counted_and_listed(small: ReportData, quick: ReportOptions) -> None:
    found = describe(small, quick)
    assert found is not None
    assert found.counts == (("failed", "other", 2, 1), ("unscored", "other", 2, 1))
    assert [(f.run, f.item_id, f.kind, f.message) for f in found.listed] == [
        ("weak", "i2", "failed", "no reply"),
        ("weak", "i4", "unscored", "unreadable"),
        ("weak", "i8", "failed", "no reply"),
        ("weak", "i10", "unscored", "unreadable"),
    ]
    assert found.more == 0


def test_without_any_there_is_no_section(small: ReportData, quick: ReportOptions) -> None:
    data = replace(small, runs=small.runs[1:])
    assert describe(data, quick) is None
    assert "Answers without a mark" not in render_report(data, options=quick)


def test_an_answer_that_nobody_judged_is_told(small: ReportData, quick: ReportOptions) -> None:
    strong = replace(small.runs[1], judgements=small.runs[1].judgements[1:])
    found = describe(replace(small, runs=(strong,)), quick)
    assert found is not None
    assert [(f.kind, f.code) for f in found.listed] == [("unscored", "not_judged")]


def test_a_run_that_failed_everywhere_is_not_a_page_of_failures(
    small: ReportData, quick: ReportOptions, item_factory: Callable[..., Item]
) -> None:
    items = tuple(item_factory(n) for n in range(600))
    broken = Run(
        "broken",
        "broken",
        predictions=tuple(
            Prediction(item_id=i.id, predictor="broken", failure="timeout: 60 s") for i in items
        ),
    )
    data = replace(small, items=items, runs=(broken,), candidates=(), verdicts=())
    found = describe(data, quick)
    assert found is not None
    assert (found.counts, len(found.listed), found.more) == ((("failed", "timeout", 600, 1),), 200, 400)
    page = render_report(data, options=quick)
    assert "400 more stand with their questions" in page
    assert page.count("60 s</bdi>") == 200


def test_the_page_leads_to_the_question_and_hostile_messages_are_text(
    small: ReportData, quick: ReportOptions
) -> None:
    weak = small.runs[0]
    evil = "refusal: </td><script>alert(1)</script>\u202e\x00 " + "x" * 10_000
    predictions = tuple(
        msgspec.structs.replace(p, failure=evil) if p.answer is None else p for p in weak.predictions
    )
    page = render_report(replace(small, runs=(replace(weak, predictions=predictions),)), options=quick)
    section = page[page.index('id="h-failures"') : page.index('id="breakdown"')]
    assert 'href="#item=i2"' in section
    assert "<script" not in section
    assert "\u202e" not in section
    assert "<b>2</b> <code>refusal</code>" in section
