"""Figures: the run beside chance and what is printed; "always a mistake" beats every printed row, and the verdict says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from proctor.ask.step.entry import Entry
from proctor.learn.published import ZERO_SHOT
from proctor.learn.samples import read_step_data
from proctor.learn.zeroshot.deciding import Replies
from proctor.learn.zeroshot.entries import entries_of
from proctor.learn.zeroshot.figures import judge_calls

ENTRY = Entry("1_7", 0, "1", "Whisk 1 egg with a fork", "Omelette", "1", 0.0, 5.0)
ENTRIES = tuple(
    replace(
        ENTRY, recording=f"1_{n % 5}", number=n, kinds=("order",) if n < 10 else ("other",) if n < 12 else ()
    )
    for n in range(30)
)


def test_a_run_stands_beside_chance_and_what_is_printed() -> None:
    said = {(e.id, "order"): "mistake" if n % 2 == 0 else "fine" for n, e in enumerate(ENTRIES[:20])}
    few = judge_calls(
        "m", "v2", Replies(ENTRIES, dict(list(said.items())[3:])), np.zeros(30, np.bool_), resamples=0
    )
    assert [c.unasked for c in few.categories if c.category == "order"] == [3]
    replies = Replies(ENTRIES, said)
    figures = judge_calls("m", "v2", replies, replies.any, resamples=0)
    assert (figures.n, figures.mistakes) == (30, 12)
    assert [(r.name, r.source) for r in figures.rows[:5]] == [
        ("m", "run"), ("always a mistake", "chance"), ("never a mistake", "chance"), ("guessing at the rate", "chance"),
        ("guessing as often as this run", "chance"),
    ]  # fmt: skip
    assert [r.name for r in figures.rows[5:]] == [row.name for row in ZERO_SHOT]
    run = figures.rows[0]
    often = figures.rows[4]  # 10 of 30 are called, 12 of 30 are mistakes
    assert [e.value for e in (often.accuracy, often.precision, often.recall, often.f1)] == pytest.approx(
        [0.4 / 3 + 0.6 * 2 / 3, 0.4, 1 / 3, 2 * 0.4 / 3 / (0.4 + 1 / 3)]
    )
    assert (run.accuracy.value, run.precision.value, run.recall.value) == (20 / 30, 6 / 10, 6 / 12)
    order = next(c for c in figures.categories if c.category == "order")
    assert (order.asked, order.mistakes, order.unasked) == (20, 10, 0)
    assert (order.rows[0].precision.value, order.rows[0].recall.value) == (5 / 10, 5 / 10)
    assert [r.name for r in order.rows[5:]] == ["Video-LLaVA V2", "TimeChat V2"]
    timing = next(c for c in figures.categories if c.category == "timing")
    assert (timing.asked, timing.rows[0].f1.value) == (0, None)  # no such mistake: F1 says nothing
    assert judge_calls("m", "v1", replies, replies.any, resamples=0).categories == ()


def test_the_verdict_compares_with_calling_everything_a_mistake() -> None:
    replies = Replies(ENTRIES, {})
    labels = np.array([e.mistaken for e in ENTRIES])
    assert "It is no better than not looking" in judge_calls("m", "v1", replies, ~labels, resamples=0).verdict
    best = judge_calls("m", "v1", replies, labels, resamples=200).verdict
    assert best.endswith("guessing as often as it calls mistakes has 40.0. It is better than not looking.")


@pytest.mark.shared
def test_always_a_mistake_beats_every_printed_row(shared_data: Path) -> None:
    entries = tuple(entries_of(read_step_data(shared_data / "captaincook4d")[0])[0])
    figures = judge_calls("m", "v2", Replies(entries, {}), np.ones(5700, np.bool_), resamples=0)
    run, always = figures.rows[:2]
    assert [run.f1.value, always.f1.value] == pytest.approx([0.5125, 0.5125], abs=5e-5)
    assert "no better than not looking" in figures.verdict
    assert all(row.f1.value is not None and row.f1.value < 0.5125 for row in figures.rows[5:])
    assert "F1 of 51.3 here" in figures.verdict
    assert "more than every published row (46.1 at most)" in figures.verdict
    rates = {c.category: round(c.mistakes / 5700, 3) for c in figures.categories}
    assert rates == {
        "technique": 0.087, "preparation": 0.069, "order": 0.139, "missing": 0.05, "measurement": 0.058,
        "temperature": 0.011, "timing": 0.031,
    }  # fmt: skip


def test_the_best_printed_row_is_what_guessing_as_often_gives() -> None:
    above = {}
    for row in ZERO_SHOT:
        rate = row.recall * 34.456 / row.precision  # share of calls that precision and recall imply
        above[row.name] = round(row.f1 - 2 * 34.456 * rate / (34.456 + rate), 1)
    assert above == {"Video-LLaVA V1": -0.4, "TimeChat V1": 0.7, "Video-LLaVA V2": 2.1, "TimeChat V2": 0.0}
