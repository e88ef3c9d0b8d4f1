"""The planted audit: the same set for the same clips and seed, nothing in it that tells a kind, and numbers that are recomputed here."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ask.clip.filtered import Played, clip, clips, filters
from tests.ask.documents.rehearsed import Scripted

from proctor.ask.clip.audit import (
    CATCHES,
    PLANTED_KINDS,
    RULES,
    AuditSet,
    Planted,
    Rate,
    plant_audit,
    score_audit,
)
from proctor.ask.clip.filters import FilterResult, FilterSettings, run_filters
from proctor.ask.clip.record import FILTERS, FilterName, FilterVerdict, ShownClip
from proctor.errors import UserError
from proctor.metrics.interval import wilson_interval


def played(audit: AuditSet, **quality: float) -> Played:
    return Played(
        {p.pair.question: p.kind for p in audit.planted},
        {p.pair.question: p.pair.answer for p in audit.planted},
        **quality,
    )


# -- planting --------------------------------------------------------------------------------------------------------


def test_a_set_is_the_same_whatever_the_order_of_the_clips() -> None:
    audit = plant_audit(clips(), seed=3, each=8)
    shuffled = clips()
    random.Random(1).shuffle(shuffled)
    assert msgspec.json.encode(plant_audit(shuffled, seed=3, each=8)) == msgspec.json.encode(audit)
    assert plant_audit(clips(), seed=4, each=8) != audit


def test_every_kind_is_there_as_often_as_wanted_and_rules_take_turns() -> None:
    audit = plant_audit(clips(), each=5)
    assert audit.missing == {}
    assert Counter(p.kind for p in audit.planted) == dict.fromkeys(PLANTED_KINDS, 5)
    by_rule = Counter((p.kind, p.rule) for p in audit.planted)
    for kind in PLANTED_KINDS:
        counts = [by_rule[kind, rule] for rule in RULES[kind]]
        assert min(counts) >= 1
        assert max(counts) - min(counts) <= 2
        assert len({p.pair.clip_id for p in audit.planted if p.kind == kind}) > 1


def test_nothing_in_a_question_tells_what_was_planted() -> None:
    audit = plant_audit(clips(), each=8)
    for one in audit.planted:
        assert re.fullmatch(r"[a-z]+/audit-[0-9a-f]{12}", one.pair.id)
        assert one.pair.details == {}
    first = Counter(p.kind for p in audit.planted[:20])
    assert len(first) >= 4  # they are mixed


def test_no_question_is_asked_twice() -> None:
    audit = plant_audit(clips(), each=12)
    keys = [(p.pair.clip_id, p.pair.question) for p in audit.planted]
    assert len(set(keys)) == len(keys)
    assert len({p.pair.id for p in audit.planted}) == len(keys)


def test_what_the_clips_do_not_give_is_told() -> None:
    audit = plant_audit(clips()[:1], each=1_000)
    assert set(audit.missing) == set(PLANTED_KINDS)
    counts = Counter(p.kind for p in audit.planted)
    for kind in PLANTED_KINDS:
        assert counts[kind] + audit.missing[kind] == 1_000
    # Of one clip alone nothing foreign can be taken.
    assert {p.rule for p in audit.planted if p.kind == "hallucinated"} == {"reversed-order"}


def test_foreign_things_come_from_another_task() -> None:
    same_task = [
        msgspec.structs.replace(c, id=f"{c.id}-2", video_id=f"{c.id}-2", task=clips()[0].task)
        for c in clips()
    ]
    audit = plant_audit(
        [msgspec.structs.replace(c, task=clips()[0].task) for c in clips()] + same_task, each=4
    )
    assert {p.rule for p in audit.planted if p.kind == "hallucinated"} == {"reversed-order"}
    nameless = plant_audit([msgspec.structs.replace(c, task="") for c in clips()], each=4)
    assert {p.rule for p in nameless.planted if p.kind == "hallucinated"} == set(RULES["hallucinated"])


@pytest.mark.parametrize("texts", ["", "peel the carrot", "???; !!!; ..."])
def test_clips_of_which_nothing_can_be_made_make_nothing(texts: str) -> None:
    audit = plant_audit([clip("odd", "", texts)], each=2)
    assert {p.kind for p in audit.planted} <= {"tricky", "blind-solvable"}
    assert audit.missing["sound"] == 2
    assert plant_audit([], each=1).planted == ()


@settings(max_examples=25)
@given(
    st.lists(
        st.lists(
            st.text(max_size=40) | st.sampled_from(["add salt", "cut the onion", "\\1 \\g<0> x"]), max_size=6
        ),
        max_size=3,
    )
)
def test_no_text_of_a_step_breaks_the_rules(texts: list[list[str]]) -> None:
    made = [clip(f"c{n}", "", ";".join(t.replace(";", ",") for t in steps)) for n, steps in enumerate(texts)]
    audit = plant_audit([*made, *clips()], each=3)
    assert audit.missing == {}
    assert audit.questions([*made, *clips()])


def test_two_clips_of_one_id_and_empty_audits_are_refused() -> None:
    with pytest.raises(UserError, match="two clips have the same id"):
        plant_audit(clips() * 2)
    with pytest.raises(UserError, match="0 questions of each kind"):
        plant_audit(clips(), each=0)
    with pytest.raises(UserError, match="there is no clip"):
        plant_audit(clips(), each=2).questions(clips()[:1])


# -- scoring -----------------------------------------------------------------------------------------------------------


def planted(kinds: str) -> list[Planted]:
    """One question a letter: v t h b s."""
    made = plant_audit(clips(), each=20)
    waiting = {kind[0]: [p for p in made.planted if p.kind == kind] for kind in PLANTED_KINDS}
    return [waiting[letter].pop() for letter in kinds]


def result(p: Planted, keeps: str) -> FilterResult:
    """Verdicts of the filters in order: ``+`` keeps, ``-`` drops, ``?`` postpones, a blank was not asked."""
    values = {"+": True, "-": False, "?": None}
    return FilterResult(
        p.pair.id,
        tuple(
            FilterVerdict(item_id=p.pair.id, filter=name, keep=values[k])
            for name, k in zip(FILTERS, keeps, strict=False)
            if k != " "
        ),
    )


def test_worked_example_of_filters_that_stop_at_a_drop() -> None:
    made = planted("vvvtthhbbss")
    said = ["-", "-", "++++", "+-", "-", "++-", "+++-", "+++-", "++++", "++-", "++++"]
    report = score_audit(made, [result(p, k) for p, k in zip(made, said, strict=True)])
    unspecific, tricky, hallucination, blind = report.rows
    assert (unspecific.seen, unspecific.dropped, unspecific.caught, unspecific.other) == (11, 3, 2, 1)
    assert (unspecific.precision.value, unspecific.recall.value) == (2 / 3, 2 / 3)
    assert unspecific.precision_any.value == 1.0
    assert unspecific.f1.value == pytest.approx(2 / 3)
    assert (tricky.caught, tricky.recall.value, tricky.recall_seen.value) == (1, 0.5, 1.0)
    assert (hallucination.dropped, hallucination.sound) == (2, 1)
    assert (hallucination.precision.value, hallucination.recall.value) == (0.5, 0.5)
    assert hallucination.false_alarm.value == 0.5
    assert (blind.seen, blind.dropped, blind.caught, blind.other) == (5, 2, 1, 1)
    assert report.confusion == {
        "vague": {"unspecific": 2, "tricky": 0, "hallucination": 0, "blind": 0, "kept": 1, "postponed": 0},
        "tricky": {"unspecific": 1, "tricky": 1, "hallucination": 0, "blind": 0, "kept": 0, "postponed": 0},
        "hallucinated": {"unspecific": 0, "tricky": 0, "hallucination": 1, "blind": 1, "kept": 0, "postponed": 0},
        "blind-solvable": {"unspecific": 0, "tricky": 0, "hallucination": 0, "blind": 1, "kept": 1, "postponed": 0},
        "sound": {"unspecific": 0, "tricky": 0, "hallucination": 1, "blind": 0, "kept": 1, "postponed": 0},
    }  # fmt: skip
    assert (report.precision.hits, report.precision.n) == (7, 8)
    assert (report.recall.hits, report.recall.n) == (7, 9)
    assert report.f1.value == pytest.approx(2 * (7 / 8) * (7 / 9) / (7 / 8 + 7 / 9))


def test_exhaustive_filters_are_measured_on_everything() -> None:
    made = planted("vts")
    report = score_audit(made, [result(made[0], "--++"), result(made[1], "--++"), result(made[2], "++++")])
    unspecific, tricky = report.rows[:2]
    assert (unspecific.seen, unspecific.precision.value, unspecific.recall.value) == (3, 0.5, 1.0)
    assert (tricky.seen, tricky.precision.value, tricky.recall.value) == (3, 0.5, 1.0)
    assert report.confusion["tricky"]["unspecific"] == 1


def test_what_is_postponed_is_in_no_rate() -> None:
    made = planted("vvhs")
    report = score_audit(made, [result(p, k) for p, k in zip(made, ["-", "?", "++?", "++++"], strict=True)])
    unspecific, _, hallucination, blind = report.rows
    assert (unspecific.recall.hits, unspecific.recall.n, unspecific.postponed) == (1, 1, 1)
    assert (hallucination.recall.n, hallucination.postponed) == (0, 2)
    assert hallucination.recall == Rate(None, None, None, 0, 0)
    assert blind.postponed == 2
    assert (report.recall.hits, report.recall.n) == (1, 1)
    assert report.confusion["hallucinated"]["postponed"] == 1


def test_intervals_are_wilsons_and_that_of_f1_is_carried_over() -> None:
    rate = Rate.of(7, 9, 0.9)
    wilson = wilson_interval(7, 9, 0.9)
    assert (rate.value, rate.low, rate.high) == (7 / 9, wilson.low, wilson.high)
    f1 = Rate.f1(7, 10, 0.9)
    share = wilson_interval(7, 10, 0.9)
    assert f1.value == pytest.approx(2 * 7 / (2 * 7 + 3))
    assert f1.low == pytest.approx(2 * share.low / (1 + share.low))  # type: ignore[operator]
    assert f1.high == pytest.approx(2 * share.high / (1 + share.high))  # type: ignore[operator]


@given(st.integers(0, 200), st.integers(0, 100), st.integers(0, 100))
def test_f1_is_that_of_precision_and_recall(hits: int, false: int, missed: int) -> None:
    f1 = Rate.f1(hits, hits + false + missed)
    if not hits + false + missed:
        assert f1.value is None
        return
    assert f1.value is not None
    assert f1.low is not None
    assert f1.high is not None
    assert math.isclose(f1.value, 2 * hits / (2 * hits + false + missed))
    assert 0 <= f1.low <= f1.value <= f1.high <= 1


def test_results_that_do_not_fit_are_refused() -> None:
    made = planted("vt")
    both = [result(p, "-") for p in made]
    with pytest.raises(UserError, match="0 results"):
        score_audit(made, both[:1])
    with pytest.raises(UserError, match="2 results"):
        score_audit(made, [*both, both[0]])
    with pytest.raises(UserError, match="was not planted"):
        score_audit(made[:1], both)
    with pytest.raises(UserError, match="planted twice"):
        score_audit([made[0], made[0]], both[:1])


# -- the whole -----------------------------------------------------------------------------------------------------------


def test_perfect_judges_find_everything_and_lose_nothing() -> None:
    audit = plant_audit(clips(), each=8)
    port = Scripted(played(audit, hit=1.0, alarm=0.0, solve=1.0, luck=0.0))
    found = run_filters(audit.questions(clips()), filters(), port)
    report = score_audit(audit.planted, found.results)
    for row in report.rows:
        assert (row.precision.value, row.recall.value, row.f1.value) == (1.0, 1.0, 1.0)
        assert row.precision.low is not None
        assert row.precision.low < 0.95  # eight are few, and the interval says so
    assert report.confusion["sound"]["kept"] == 8
    assert all(report.confusion[kind][name] == 8 for kind, name in CATCHES.items())


def test_judges_that_see_nothing_catch_nothing() -> None:
    audit = plant_audit(clips(), each=8)
    port = Scripted(played(audit, hit=0.0, alarm=0.0, solve=0.0, luck=0.0))
    report = score_audit(audit.planted, run_filters(audit.questions(clips()), filters(), port).results)
    assert [row.recall.value for row in report.rows] == [0.0] * 4
    assert [row.precision.value for row in report.rows] == [None] * 4


QUALITY = {"hit": 0.9, "alarm": 0.04, "solve": 0.85, "luck": 0.15}
SOLVED = 3 * 0.85**2 - 2 * 0.85**3
LUCKY = 3 * 0.15**2 - 2 * 0.15**3
"""Two of three independent assistants."""


@pytest.mark.shared
@pytest.mark.parametrize("exhaustive", [False, True])
def test_the_audit_of_real_annotations_measures_the_stated_quality(
    shared_data: Path, exhaustive: bool
) -> None:
    """Issue 8, done 3: a hundred of each kind from YouCook2, HiREST and Goal-Step."""
    known = real_clips(shared_data)
    audit = plant_audit(known, seed=8, each=100)
    assert audit.missing == {}
    assert Counter(p.kind for p in audit.planted) == dict.fromkeys(PLANTED_KINDS, 100)
    assert {p.pair.dataset for p in audit.planted} >= {"youcook2", "hirest", "goalstep"}
    port = Scripted(played(audit, **QUALITY))
    chosen = FilterSettings(exhaustive=exhaustive)
    found = run_filters(audit.questions(known), filters(chosen), port)
    report = score_audit(audit.planted, found.results, confidence=0.999)
    expected: dict[FilterName, float] = dict.fromkeys(FILTERS[:3], QUALITY["hit"]) | {"blind": SOLVED}
    for row in report.rows:
        for rate, truth in ((row.recall_seen, expected[row.filter]), (row.false_alarm, alarm_of(row.filter))):
            assert rate.low is not None
            assert rate.high is not None
            assert rate.low <= truth <= rate.high, row
        assert row.recall_seen.n == 100 if exhaustive else row.recall_seen.n <= 100
    assert report.recall.value is not None
    assert report.recall.value > 0.9


def alarm_of(name: FilterName) -> float:
    return LUCKY if name == "blind" else QUALITY["alarm"]


def real_clips(shared_data: Path) -> list[ShownClip]:
    from proctor.ask.clip.clips import clips_of
    from proctor.datasets.steps import DATASET

    recordings = DATASET.read(shared_data / "steps").recordings
    return list(clips_of(recordings, "steps").clips)
