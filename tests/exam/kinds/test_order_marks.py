"""Orders measured: the values of the published measures, several right orders, task graphs, look-alikes, and what cannot be read."""

from __future__ import annotations

import pytest

from proctor.exam.choice import CREDIT
from proctor.exam.kinds.order import KIND
from proctor.exam.prediction import Prediction
from proctor.exam.question import Gold, Item, Order, Ordering, Question, Words
from proctor.exam.scores import score_run
from proctor.exam.table import Resampling, ScoreTable

PAPER = (
    "position_accuracy", "perfect_match_ratio", "longest_common_subsequence", "longest_common_substring", "kendall_tau",
    "displacement",
)  # fmt: skip


def made(
    id_: str,
    presented: str,
    *golds: str,
    before: tuple[str, ...] | None = None,
    texts: str = "",
    task: str = "",
) -> Item:
    """Return an item whose steps have letters or digits for ids."""
    evidence = tuple(Words(id=i, text=t) for i, t in zip(presented, texts or presented, strict=True))
    pairs = None if before is None else tuple((a, b) for a, b in before)
    question = Question(
        id=id_, kind="order", text="In which order?", form=Order(ids=tuple(presented)), evidence=evidence, cluster=task
    )  # fmt: skip
    values = [Ordering(ids=tuple(gold), before=pairs) for gold in golds]
    return Item(question=question, golds=tuple(Gold(value=value) for value in values))


def said(item: Item, order: str, **details: str) -> Prediction:
    """Return a prediction that names the ids by the numbers under which they are presented."""
    ids = item.question.form.ids if isinstance(item.question.form, Order) else ()
    numbers = ", ".join(str(ids.index(id_) + 1) for id_ in order)
    return Prediction(item_id=item.id, predictor="m", answer=numbers, details=details)


def scored(items: list[Item], predictions: list[Prediction], draws: int = 0) -> ScoreTable:
    return score_run(KIND, items, predictions, benchmark="b", resampling=Resampling(resamples=draws))


def numbers(table: ScoreTable, *measures: str) -> list[float | None]:
    return [table.row(measure=name).value for name in measures or PAPER]


# Ids are letters: a number would have to be that of its place.
@pytest.mark.parametrize(
    ("order", "golds", "expected"),
    [
        ("bacde", ["abcde"], [0.6, 0, 4, 3, 0.8, 2]),
        ("ebcda", ["abcde"], [0.6, 0, 3, 3, -0.4, 8]),
        ("bcdea", ["abcde"], [0, 0, 4, 4, 0.2, 8]),
        ("bacde", ["abcde", "bacde"], [1, 1, 5, 5, 1, 0]),
        ("abced", ["abcde", "bacde"], [0.6, 0, 4, 3, 0.8, 2]),
        ("cabde", ["abcde", "cabed"], [0.6, 0, 4, 3, 0.8, 2]),
        ("bcdea", ["abcde", "ecdba"], [0.6, 0, 3, 2, 0, 6]),
        ("abcde", ["ceadb", "aedcb"], [0.2, 0, 2, 1, -0.2, 8]),
    ],
)
def test_the_best_of_several_orders_counts_jointly(
    order: str, golds: list[str], expected: list[float]
) -> None:
    item = made("x", "dbeac", *golds)
    assert numbers(scored([item], [said(item, order)])) == pytest.approx(expected)


def test_what_is_missing_or_said_twice_is_repaired_as_presented_and_counted() -> None:
    first, second = made("x", "dbac", "abcd"), made("y", "cab", "abc")
    replies = [Prediction(item_id="x", predictor="m", answer="[3, 4]"), Prediction(item_id="y", predictor="m", answer="[3,3,9,2]")]  # fmt: skip
    table = scored([first, second], replies)
    assert table.marks["position_accuracy"] == {"x": 0.25, "y": pytest.approx(1 / 3)}
    assert table.marks["kendall_tau"] == {"x": pytest.approx(1 / 3), "y": pytest.approx(1 / 3)}
    assert table.marks["displacement"] == {"x": 4.0, "y": 2.0}
    repaired = {"repaired": 2, "repaired: unknown": 1, "repaired: repeated": 1, "repaired: missing": 2}
    assert repaired.items() <= table.counts.items()
    assert table.notes == ("2 of 2 orders were not whole and were repaired",)


def test_a_reply_without_an_order_is_the_worst_and_never_the_order_as_presented() -> None:
    item, other = made("x", "abcde", "abcde"), made("y", "abcd", "abcd")
    table = scored([item, other], [Prediction(item_id="x", predictor="m", answer="No idea.")])
    assert numbers(table) == [0, 0, 0, 0, -1, 12]
    row = table.row(measure="displacement")
    assert (row.unparsed, row.skipped, row.n) == (1, 1, 1)
    assert (row.least, row.most) == (10.0, 6.0)  # of the one that was not asked: floor(4² / 2), or 0
    assert table.counts["unparsed: nothing"] == 1


def test_every_order_that_keeps_the_graph_is_right() -> None:
    graph = ("ab", "cd")
    items = [made(name, "dcba", "abcd", before=graph) for name in "xyz"]
    table = scored(items, [said(items[0], "acdb"), said(items[1], "abdc"), said(items[2], "badc")])
    assert table.marks["valid_order"] == {"x": 1.0, "y": 0.0, "z": 0.0}
    assert table.marks["violated_share"] == {"x": 0.0, "y": 0.5, "z": 1.0}
    assert table.marks["comparable_tau"] == {"x": 1.0, "y": 0.0, "z": -1.0}
    assert table.marks["perfect_match_ratio"] == {"x": 1.0, "y": 0.0, "z": 0.0}
    assert table.marks["position_accuracy"] == {"x": 1.0, "y": 0.5, "z": 0.0}
    assert table.row(measure="valid_order").chance == pytest.approx(6 / 24)
    assert table.row(measure="perfect_match_ratio").chance == pytest.approx(6 / 24)
    assert table.row(measure="comparable_tau").chance == pytest.approx(0)


def test_steps_that_look_the_same_cannot_be_told_apart() -> None:
    item = made("x", "dcba", "abcd", texts="wxyx")  # c and a show the same text
    table = scored([item], [said(item, "cbad")])
    assert numbers(table) == [1, 1, 4, 4, 1, 0]
    assert table.row(measure="perfect_match_ratio").chance == pytest.approx(2 / 24)


def test_guessing_gets_what_it_gets_on_average_and_the_floor_that_draws_gets_just_that() -> None:
    item, alone = made("x", "edcba", "abcde", "bacde"), made("y", "edcba", "abcde")
    plain = scored([alone], [said(alone, "edcba", **{CREDIT: "expected"})])
    assert numbers(plain) == pytest.approx([0.2, 1 / 120, 2.7917, 1.7083, 0, 8], abs=1e-4)
    both = scored([item, alone], [said(item, "edcba"), said(alone, "edcba")])
    assert both.row("alternatives=several", "perfect_match_ratio").chance == pytest.approx(2 / 120)
    assert [row.slice for row in both.rows if row.measure == "kendall_tau"] == ["all", "alternatives=one", "alternatives=several"]  # fmt: skip


def test_intervals_draw_tasks_whole() -> None:
    items = [made(f"{n}", "cba", "abc", task=f"t{n // 2}") for n in range(8)]
    table = scored(items, [said(item, "abc" if n < 4 else "bca") for n, item in enumerate(items)], draws=500)
    row = table.row(measure="perfect_match_ratio")
    assert (row.value, row.clusters) == (0.5, 4)
    assert row.low is not None
    assert row.high is not None
    assert row.low < 0.5 < row.high
    assert "cluster:task" in row.signature
    assert "parser:orders-1" in row.signature
