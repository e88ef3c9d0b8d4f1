"""Timelines of two and three annotators: worked numbers, what is settled and what stays open."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.procedure.recording import Action, Mistake, Recording
from proctor.verify.rounds.timeline import (
    ActionMark,
    ErrorMark,
    SegmentMark,
    TimelineSheet,
    TimelineStep,
    TimelineTask,
)
from proctor.verify.rounds.timeline_settle import Decision, settle, timeline_agreement

TASK = TimelineTask(
    recording="r", title="Tea", duration_s=100.0, fps_num=10, fps_den=1, frames=1000,
    steps=tuple(TimelineStep(id=i, text=f"Step {i}") for i in "123"),
)  # fmt: skip


def sheet(*spans: tuple[str, float, float], errors: Any = (), actions: Any = ()) -> TimelineSheet:
    return TimelineSheet(
        segments=tuple(
            SegmentMark(id=str(n), step=s, start_s=a, end_s=b) for n, (s, a, b) in enumerate(spans)
        ),
        errors=tuple(ErrorMark(step=s, tag=tag, text=text) for s, tag, text in errors),
        actions=tuple(
            ActionMark(id=str(n), start_s=a, end_s=b, verb=v, noun=o)
            for n, (a, b, v, o) in enumerate(actions)
        ),
    )


A = sheet(
    ("1", 0, 10), ("2", 20, 30), ("2", 40, 50),
    errors=[("3", "missing", ""), ("1", "timing", "")], actions=[(0, 4, "cut", "onion"), (5, 6, "stir", "pot")],
)  # fmt: skip
B = sheet(
    ("1", 0, 8), ("2", 21, 30), ("2", 42, 50.02),
    errors=[("3", "missing", "left"), ("1", "timing", "late")], actions=[(1, 4, "Cut", "onion"), (5, 6, "wipe", "pot")],
)  # fmt: skip


def steps(recording: Recording) -> dict[str, list[tuple[float | None, float | None]]]:
    found: dict[str, list[tuple[float | None, float | None]]] = {}
    for segment in recording.segments:
        found.setdefault(segment.step_id, []).append((segment.start, segment.end))
    return found


def test_agreement_of_two_is_worked_out() -> None:
    found = timeline_agreement({"r": (TASK, {"a": A, "b": B}), "alone": (TASK, {"a": A})})
    second = (9 / 10 + 8 / 10.02) / 2
    assert found.recordings == 1
    assert found.figures == {
        "iou": pytest.approx((0.8 + second) / 2),
        "boundary_median": pytest.approx(0.51),  # |differences|: 0, 2 | 1, 0 | 2, .02
        "boundary_p90": pytest.approx(2.0),
        "f1@0.1": 1.0, "f1@0.25": 1.0, "f1@0.5": 1.0, "tags": 1.0, "tags_kappa": 1.0,
        "actions_f1@0.1": 0.5, "actions_f1@0.25": 0.5, "actions_f1@0.5": 0.5,
    }  # fmt: skip


def test_two_who_agree_are_settled_in_the_middle_to_a_frame() -> None:
    found, open_ = settle(TASK, {"a": A, "b": B})
    assert steps(found) == {"1": [(0.0, 9.0)], "2": [(20.5, 30.0), (41.0, 50.0)], "3": [(None, None)]}
    wrong = {s.step_id: s.mistakes for s in found.segments if s.mistakes}
    assert wrong == {"1": (Mistake("timing", "late"),), "3": (Mistake("missing", "left"),)}
    assert found.actions == (Action(0.5, 4.0, "cut", "onion", "manual"),)
    assert found.attributes == {"fps": "10"}
    assert [part.step for part in open_] == ["actions"]
    assert settle(TASK, {"b": B, "a": A}) == (found, open_)


def test_what_one_did_alone_counts_as_it_is() -> None:
    found, open_ = settle(TASK, {"b": B})
    assert open_ == []
    assert steps(found)["2"] == [(21.0, 30.0), (42.0, 50.02)]
    assert len(found.actions) == 2


def test_differences_are_open_until_somebody_decides() -> None:
    other = sheet(("1", 50, 60), ("2", 21, 30), errors=[("3", "missing", "")])
    found, open_ = settle(TASK, {"a": A, "b": other})
    assert [part.step for part in open_] == ["1", "2", "actions"]
    assert list(steps(found)) == ["3"]
    assert open_[0].said == {"a": [(0.0, 10.0), ["timing", ""]], "b": [(50.0, 60.0)]}
    decisions = [Decision(take="b"), Decision(take="a", recording="r", step="2")]
    decided, rest = settle(TASK, {"a": A, "b": other}, decisions)
    assert rest == []
    assert steps(decided)["1"] == [(50.0, 60.0)]
    assert steps(decided)["2"] == [(20.0, 30.0), (40.0, 50.0)]
    for foreign in (Decision(take="b", recording="x"), Decision(take="nobody")):
        assert settle(TASK, {"a": A, "b": other}, [foreign]) == (found, open_)


def test_a_third_annotator_settles_with_whom_they_agree() -> None:
    other = sheet(("1", 50, 60), ("2", 20, 30), ("2", 40, 50), errors=[("3", "missing", "")])
    found, open_ = settle(TASK, {"a": A, "b": other, "c": B})
    assert [part.step for part in open_] == ["actions"]
    assert steps(found)["1"] == [(0.0, 9.0)]
    assert steps(found)["2"] == [(20.0, 30.0), (40.0, 50.0)]  # a and b are closest


def test_different_tags_are_no_agreement() -> None:
    plain = sheet(("1", 0, 10), ("2", 20, 30), ("2", 40, 50), errors=[("3", "missing", "")])
    assert [part.step for part in settle(TASK, {"a": A, "b": plain})[1]] == ["1", "actions"]


def test_actions_at_the_very_same_time_are_two() -> None:
    both = sheet(("1", 0, 10), actions=[(0, 4, "hold", "bowl"), (0, 4, "stir", "pot")])
    found, open_ = settle(TASK, {"a": both, "b": both})
    assert ([a.verb for a in found.actions], open_) == (["hold", "stir"], [])
    assert timeline_agreement({"r": (TASK, {"a": both, "b": both})}).figures["actions_f1@0.5"] == 1.0


def test_nothing_to_compare_is_no_number() -> None:
    found = timeline_agreement({"r": (TASK, {"a": A})})
    assert found.recordings == 0
    assert set(found.figures.values()) == {None}
    empty = timeline_agreement({"r": (TASK, {"a": TimelineSheet(), "b": TimelineSheet()})})
    assert (empty.figures["iou"], empty.figures["boundary_median"]) == (None, None)
