"""What became of each question, and the funnel."""

from __future__ import annotations

import pytest

from proctor.ask.clip.filters import FilterResult, count_funnel, results_of
from proctor.ask.clip.record import FILTERS, FilterName, FilterVerdict
from proctor.records import read_jsonl, write_jsonl


def verdict(
    name: FilterName, keep: bool | None, id: str = "q", problem: str = "", **details: str
) -> FilterVerdict:
    evidence = {"problem": problem} if problem else {}
    return FilterVerdict(item_id=id, filter=name, keep=keep, evidence=evidence, details=details)


def result(*keeps: bool | None) -> FilterResult:
    return FilterResult("q", tuple(verdict(name, keep) for name, keep in zip(FILTERS, keeps, strict=False)))


@pytest.mark.parametrize(
    ("keeps", "outcome", "by"),
    [
        ((), "postponed", None),
        ((True, True, True, True), "kept", None),
        ((True, False), "dropped", "tricky"),
        ((False, False, None, True), "dropped", "unspecific"),
        ((True, None), "postponed", None),
        ((None, False, True, True), "postponed", None),
        ((True, True, False, None), "dropped", "hallucination"),
    ],
)
def test_the_first_word_that_is_not_keep_decides(
    keeps: tuple[bool | None, ...], outcome: str, by: str | None
) -> None:
    found = result(*keeps)
    assert found.outcome == outcome
    assert (found.dropped_by.filter if found.dropped_by else None) == by


def test_the_funnel_counts_filter_by_filter_and_is_printed() -> None:
    results = [
        FilterResult("a", (verdict("unspecific", False, problem="generic", calls="1", cost="0.01"),)),
        FilterResult("b", (verdict("unspecific", False, problem="unparsed", calls="2", cost="0.02"),)),
        FilterResult("c", (verdict("unspecific", False, problem="generic", calls="1", cost="0.01"),)),
        FilterResult("d", (verdict("unspecific", True, calls="1", cost="0.01"), verdict("tricky", None, calls="1"))),
        FilterResult("e", (verdict("unspecific", True, calls="1", cost="0.01"), verdict("tricky", True, calls="1"))),
    ]  # fmt: skip
    funnel = count_funnel(results, ("unspecific", "tricky"))
    assert (funnel.asked, funnel.kept, funnel.dropped, funnel.postponed) == (5, 1, 3, 1)
    first, second = funnel.rows
    assert (first.seen, first.kept, first.dropped, first.postponed, first.unparsed) == (5, 2, 3, 0, 1)
    assert first.problems == {"generic": 2, "unparsed": 1}
    assert (first.calls, first.cost) == (6, "0.06")
    assert (second.seen, second.kept, second.postponed, second.calls, second.cost) == (2, 1, 1, 2, None)
    assert funnel.lines == [
        "5 questions",
        "unspecific: 5 seen, 3 dropped (2 generic, 1 unparsed)",
        "tricky: 2 seen, 0 dropped, 1 postponed",
        "1 kept, 3 dropped, 1 postponed",
    ]


def test_a_filter_that_saw_nothing_has_a_row() -> None:
    funnel = count_funnel([FilterResult("a", (verdict("unspecific", False),))])
    assert [(row.filter, row.seen) for row in funnel.rows] == [(n, int(n == "unspecific")) for n in FILTERS]
    assert funnel.rows[0].problems == {"other": 1}
    assert funnel.rows[1].cost == "0"


def test_verdicts_of_a_file_come_together_again(tmp_path) -> None:  # type: ignore[no-untyped-def]
    results = [
        FilterResult("b", (verdict("unspecific", True, "b"), verdict("tricky", False, "b", "wordplay"))),
        FilterResult("a", (verdict("unspecific", None, "a"),)),
        FilterResult("c"),
    ]
    path = tmp_path / "filters.jsonl"
    write_jsonl(path, [v for r in results for v in r.verdicts])
    read = read_jsonl(path, FilterVerdict)
    assert results_of(["b", "a", "c"], read) == results
    assert results_of(["a"], read) == results[1:2]
