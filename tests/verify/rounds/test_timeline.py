"""Timelines: what a sheet must not hold, order mistakes, frames."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations
from typing import Any

import msgspec
import pytest

from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import MISTAKE_KINDS
from proctor.verify.desk.records import InvalidError
from proctor.verify.rounds.timeline import (
    KIND,
    TAGS,
    ActionMark,
    ErrorMark,
    Narration,
    SegmentMark,
    TimelineOptions,
    TimelineSheet,
    TimelineStep,
    TimelineTask,
    frame_at,
    order_mistakes,
)

TASK = TimelineTask(
    recording="r",
    title="Tea",
    duration_s=10.0,
    fps_num=30,
    fps_den=1,
    frames=300,
    steps=(
        TimelineStep(id="1", text="Fill"),
        TimelineStep(id="2", text='<Mix> & "fold"'),
        TimelineStep(id="3", text="Rest", optional=True),
    ),
    before=(("1", "2"),),
)
FINE = (
    SegmentMark(id="b", step="2", start_s=4, end_s=6),
    SegmentMark(id="a", step="1", start_s=0, end_s=4.0),
)


def said(*errors: Any, complete: bool = True, **fields: Any) -> dict[str, str]:
    """Return what the check complains about, by field."""
    sheet = TimelineSheet(**{"segments": FINE, **fields})
    with pytest.raises(InvalidError) as caught:
        KIND.check(sheet, TASK, TimelineOptions(complete=complete))
    return dict(caught.value.errors)


def mark(start: float, end: float, step: str = "1", id_: str = "x") -> SegmentMark:
    return SegmentMark(id=id_, step=step, start_s=start, end_s=end)


def test_a_fine_sheet_comes_back_in_the_order_of_time() -> None:
    errors = (
        ErrorMark(step="2", tag="technique", text=" with a fork "),
        ErrorMark(step="2", tag="timing", text="too long"),
    )
    kept = KIND.check(
        TimelineSheet(segments=FINE, errors=errors, dismissed=(("1", "2"), ("1", "9"))),
        TASK,
        TimelineOptions(),
    )
    assert [s.id for s in kept.segments] == ["a", "b"]
    assert [(e.tag, e.text) for e in kept.errors] == [
        ("technique", "with a fork"),
        ("timing", "too long"),
    ]  # E3
    assert kept.dismissed == (("1", "2"),)


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        (math.nan, 2, "not a number"),
        (0, math.inf, "not a number"),
        (-0.5, 2, "before the video"),
        (3, 2, "not end after its start"),
        (2, 2, "not end after its start"),
        (8, 10.5, "and the video at 00:10.000"),
    ],
)
def test_times_that_cannot_be(start: float, end: float, message: str) -> None:
    assert message in said(segments=(*FINE, mark(start, end)))["segment-x"]
    action = ActionMark(id="x", start_s=start, end_s=end, verb="cut")
    assert message in said(actions=(action,))["action-x"]


def test_rounding_of_the_length_is_no_fault() -> None:
    KIND.check(TimelineSheet(segments=(*FINE, mark(8, 10.004))), TASK, TimelineOptions())


def test_every_fault_is_told_at_its_field() -> None:
    missing = ErrorMark(step="1", tag="missing")
    assert said(segments=()) == {
        "segments": "Nothing is marked yet: mark a step, or tag steps that were left out."
    }
    assert "no step '9'" in said(segments=(*FINE, mark(1, 2, "9")))["segment-x"]
    assert "marked twice" in said(segments=(*FINE, mark(0, 4)))["segment-x"]
    assert "id 'a'" in said(segments=(*FINE, mark(7, 8, id_="a")))["segment-a"]
    assert "is tagged as missing, and is marked" in said(errors=(missing,))["error-0"]
    assert "belongs to no step" in said(errors=(ErrorMark(step="", tag="other"),))["error-0"]
    assert "stands twice" in said(errors=(ErrorMark(step="1", tag="other"),) * 2)["error-1"]
    assert "mark it" in said(segments=FINE[:1])["step-1"]
    assert (
        "mark it"
        in said(segments=FINE[1:], errors=(ErrorMark(step="2", tag="order"),), complete=False)["step-2"]
    )
    assert "too long" in said(errors=(ErrorMark(step="1", tag="other", text="x" * 10_000),))["error-0"]
    assert "no verb" in said(actions=(ActionMark(id="x", start_s=1, end_s=2, verb=" "),))["action-x"]
    assert "outside" in said(narrations=(Narration(id="n", video_s=math.nan),))["narration-n"]
    assert "not text" in said(note="\x00")["note"]


def test_unknown_fields_tags_and_floods_are_refused() -> None:
    for wrong in (
        {"segments": [{"id": "a", "step": "1", "start_s": 0, "end_s": 1, "html": "<b>"}]},
        {"errors": [{"step": "1", "tag": "Order Error"}]},
        {"segments": [{"id": str(n), "step": "1", "start_s": n, "end_s": n + 1} for n in range(2_001)]},
    ):
        with pytest.raises(msgspec.ValidationError):
            msgspec.json.decode(msgspec.json.encode(wrong), type=TimelineSheet)


def test_what_is_optional_or_missing_needs_no_segment() -> None:
    errors = (ErrorMark(step="1", tag="missing"),)
    assert (
        KIND.check(TimelineSheet(segments=FINE[:1], errors=errors), TASK, TimelineOptions()).errors == errors
    )
    KIND.check(TimelineSheet(segments=FINE[:1]), TASK, TimelineOptions(complete=False))


def test_tags_are_the_kinds_of_mistakes() -> None:
    assert sorted(TAGS) == sorted(MISTAKE_KINDS)
    assert list(TAGS.values())[5] == "Missing step"


def test_an_order_mistake_is_proposed_if_and_only_if_the_graph_is_violated() -> None:  # E6
    ids = "abcde"
    edges = (("a", "b"), ("b", "c"), ("a", "d"), ("d", "c"))
    graph = TaskGraph("g", "g", tuple(Step(i, i) for i in ids), edges)
    for done in (ids, "abce", "ace", "cd", "e"):
        for order in permutations(done):
            starts = {step: float(n) for n, step in enumerate(order)}
            wrong = any(graph.comes_before(b, a) for n, a in enumerate(order) for b in order[n + 1 :])
            found = order_mistakes(starts, edges)
            assert bool(found) == wrong
            assert all(starts[a] > starts[b] for a, b in found)
    assert order_mistakes({"a": 1.0, "b": 1.0}, edges) == ()


def test_an_order_mistake_is_confirmed_or_dismissed() -> None:
    swapped = (mark(0, 1, "2", "a"), mark(2, 3, "1", "b"))
    assert "confirm" in said(segments=swapped)["order-1-2"]
    confirmed = (ErrorMark(step="2", tag="order", origin="auto"),)
    for sheet in (
        TimelineSheet(segments=swapped, errors=confirmed),
        TimelineSheet(segments=swapped, dismissed=(("1", "2"),)),
    ):
        KIND.check(sheet, TASK, TimelineOptions())


@pytest.mark.parametrize(
    "fps", [Fraction(30), Fraction(30_000, 1_001), Fraction(24_000, 1_001), Fraction(60)]
)
def test_frames_of_seconds_are_exact(fps: Fraction) -> None:
    for frame in (0, 1, 599, 108_000, 1_000_000):
        assert frame_at(float(frame / fps), fps) == frame
