from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.moments import with_example

from proctor.exam.question import Item
from proctor.report.data import ReportData, ReportOptions, Run
from proctor.report.standings import compute_standings
from proctor.report.statistics import compute_statistics
from proctor.report.summary import Name, plain, summarize


def text_of(data: ReportData, options: ReportOptions) -> str:
    return plain(summarize(compute_statistics(data.items), compute_standings(data, options)))


def test_the_summary_tells_what_the_numbers_say(small: ReportData, quick: ReportOptions) -> None:
    text = text_of(small, quick)
    assert text.startswith(
        "12 questions about 4 recordings of 2 activities: 6 at a moment before which all went well"
    )
    assert "strong is first of 2 systems with 87.5 of 100 points (95\u00a0% interval" in text
    assert "The best floor, constant, answers without looking and reaches 12.5" in text
    assert "The upper bound, annotations, reads the annotations and reaches 100.0." in text
    assert (
        "In 1 run 6 marks are missing and count neither for nor against: 2 failed, 2 not judged and 2 not asked."
        in text
    )


def test_few_recordings_tell_nothing_apart_and_the_summary_says_so(
    small: ReportData, quick: ReportOptions
) -> None:
    text = text_of(small, quick)
    assert "It cannot be told apart from weak." in text  # 4 recordings: p cannot fall below 0.125
    assert "are not shown to be above it" in text


def test_many_recordings_tell_a_clear_difference(
    quick: ReportOptions, item_factory: Callable[..., Item], run_factory: Callable[..., Run]
) -> None:

    items = tuple(
        with_example(i, recording_id=f"r{n}") for n, i in enumerate(item_factory(n) for n in range(40))
    )
    runs = (
        run_factory("good", items, "2"),
        run_factory("bad", items, "0"),
        run_factory("fixed", items, "0", "floor"),
    )
    text = text_of(ReportData(items=items, runs=runs), quick)
    assert "It can be told apart from bad." in text
    assert "; bad is not shown to be above it." in text
    assert "Every run answered every question, and every answer was judged." in text


def test_three_systems_are_told_in_pairs(
    small: ReportData, quick: ReportOptions, run_factory: Callable[..., Run]
) -> None:
    runs = tuple(run_factory(name, small.items, "12") for name in "abc")
    assert "No two systems can be told apart." in text_of(replace(small, runs=runs), quick)


def test_names_are_set_apart_from_words(small: ReportData, quick: ReportOptions) -> None:
    paragraphs = summarize(compute_statistics(small.items), compute_standings(small, quick))
    names = {part for p in paragraphs for sentence in p for part in sentence if isinstance(part, Name)}
    assert names == {"strong", "weak", "constant", "annotations"}


def test_without_runs_and_without_items(small: ReportData, quick: ReportOptions) -> None:
    assert text_of(replace(small, runs=()), quick).endswith("No run has been scored yet.")
    assert text_of(replace(small, runs=(Run("empty", "empty"),)), quick).endswith(
        "No run has been scored yet."
    )
    assert (
        text_of(ReportData(items=()), quick)
        == "The benchmark holds no questions. No run has been scored yet."
    )


def test_many_ties_are_counted_not_listed(
    quick: ReportOptions, item_factory: Callable[..., Item], run_factory: Callable[..., Run]
) -> None:

    items = tuple(
        with_example(i, recording_id=f"r{n}") for n, i in enumerate(item_factory(n) for n in range(40))
    )
    runs = [run_factory(f"tied{n}", items, "2") for n in range(4)] + [run_factory("bad", items, "0")]
    text = text_of(ReportData(items=items, runs=tuple(runs)), quick)
    assert "Of 10 pairs of systems, 6 cannot be told apart; a table says who from whom." in text
