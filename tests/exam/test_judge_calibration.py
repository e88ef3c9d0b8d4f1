"""Judges against people: made-up judges of known error, and everything that can be missing."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.exam.corrected import correct_score
from proctor.exam.estimate import Draws
from proctor.exam.judge_calibration import (
    CRITERIA,
    Calibration,
    Criterion,
    calibrate_judges,
    table_criterion,
)
from proctor.exam.judge_marks import (
    Answer,
    HumanMarks,
    JudgeMarks,
    JudgeSetup,
    is_human,
    sort_marks,
    unite_people,
)
from proctor.exam.prediction import Judgement
from proctor.metrics.agreement import cohen_kappa
from proctor.metrics.judge_error import judge_accuracy, judge_correlation

QUICK = Draws(resamples=200)


def human(marks: Sequence[int]) -> HumanMarks:
    return unite_people(
        [
            Judgement(item_id=f"i{n}", predictor="p", judge="human/ana", score=mark)
            for n, mark in enumerate(marks)
        ]
    )


def recordings(n: int, each: int = 2) -> dict[str, str]:
    return {f"i{k}": f"r{k // each}" for k in range(n)}


def judge(marks: Sequence[int | None], name: str = "a/x", template: str = "ternary-step") -> JudgeMarks:
    scale = "binary" if template.startswith("binary") else "ternary"
    return JudgeMarks(
        JudgeSetup(name, template, scale), {"": {Answer(f"i{n}", "p"): mark for n, mark in enumerate(marks)}}
    )


def mixed(n: int, seed: int = 0) -> list[int]:
    rng = random.Random(seed)
    return [rng.choice([0, 1, 2]) for _ in range(n)]


def erring(truth: Sequence[int], right: float, seed: int = 1) -> list[int]:
    rng = random.Random(seed)
    return [t if rng.random() < right else rng.choice([m for m in (0, 1, 2) if m != t]) for t in truth]


# -- judges of known error -------------------------------------------------------------------------------------


def test_a_perfect_judge() -> None:
    truth = mixed(60)
    (report,) = calibrate_judges(human(truth), [judge(truth)], recordings(60), draws=QUICK).judges
    for estimate in (report.correlation, report.accuracy, report.kappa, report.weighted_kappa):
        assert estimate.value == pytest.approx(1)
    assert report.bias.value == 0
    assert report.sensitivity.value == report.specificity.value == 1
    assert sum(report.confusion[k][k] for k in range(3)) == 60
    assert (report.n, report.absent, report.unscored, report.outside) == (60, 0, 0, 0)


def test_an_inverted_judge() -> None:
    truth = mixed(60)
    (report,) = calibrate_judges(
        human(truth), [judge([2 - t for t in truth])], recordings(60), draws=QUICK
    ).judges
    assert report.correlation.value == pytest.approx(-1)
    assert report.sensitivity.value == 0
    assert report.weighted_kappa.value is not None
    assert report.weighted_kappa.value < 0


def test_a_constant_judge_has_no_correlation_and_no_kappa_beyond_chance() -> None:
    truth = mixed(60)
    found = calibrate_judges(human(truth), [judge([0] * 60)], recordings(60), draws=QUICK)
    (report,) = found.judges
    assert report.correlation.value is None
    assert "the judge gives every item the same mark" in report.correlation.note
    assert report.kappa.value == 0
    assert found.choice.judge == ""
    assert found.choice.note == "no judge has a value"


def test_bias_is_in_points_and_its_sign_says_who_is_milder() -> None:
    truth = [0, 0, 1, 1] * 10
    mild = [1, 1, 2, 2] * 10
    (report,) = calibrate_judges(human(truth), [judge(mild)], recordings(40), draws=QUICK).judges
    assert report.bias.value == pytest.approx(50)
    assert report.confusion == ((0, 20, 0), (0, 0, 20), (0, 0, 0))


def test_a_binary_judge_is_held_against_yes_and_no_of_people() -> None:
    truth = [0, 1, 2, 2]
    marks = judge([0, 2, 2, 2], template="binary-default")
    strict = calibrate_judges(human(truth), [marks], recordings(4), draws=QUICK).judges[0]
    mild = calibrate_judges(human(truth), [marks], recordings(4), right=1, draws=QUICK).judges[0]
    assert strict.confusion == ((1, 1), (0, 2))
    assert mild.confusion == ((1, 0), (0, 3))
    assert strict.bias.value == pytest.approx(25)


def test_numbers_are_those_of_the_metrics_room() -> None:
    truth, said = mixed(80), erring(mixed(80), 0.7)
    clusters = [recordings(80)[f"i{k}"] for k in range(80)]
    # answers are sorted by name, so the order differs; the numbers must not
    (report,) = calibrate_judges(human(truth), [judge(said)], recordings(80), draws=QUICK).judges
    same = {"clusters": clusters, "resamples": 200}
    for mine, theirs in (
        (report.correlation, judge_correlation(truth, said, **same)),  # type: ignore[arg-type]
        (report.accuracy, judge_accuracy(truth, said, **same)),  # type: ignore[arg-type]
        (report.kappa, cohen_kappa(truth, said, values=(0, 1, 2), **same)),  # type: ignore[arg-type]
    ):
        assert (mine.value, mine.low, mine.high) == pytest.approx((theirs.value, theirs.low, theirs.high))


@given(
    st.lists(st.integers(0, 9), min_size=9, max_size=9).filter(lambda c: sum(c) > 0),
    st.sampled_from(CRITERIA),
)
@settings(max_examples=150, deadline=None)
def test_a_criterion_of_a_table_is_that_of_its_items(counts: list[int], criterion: Criterion) -> None:
    truth = [k // 3 for k, n in enumerate(counts) for _ in range(n)]
    said = [k % 3 for k, n in enumerate(counts) for _ in range(n)]
    values = (0, 1, 2)
    expected = {
        "accuracy": lambda: judge_accuracy(truth, said, resamples=0).value,
        "correlation": lambda: judge_correlation(truth, said, resamples=0).value,
        "kappa": lambda: cohen_kappa(truth, said, values=values, resamples=0).value,
        "weighted_kappa": lambda: (
            cohen_kappa(truth, said, values=values, weights="quadratic", resamples=0).value
        ),
    }[criterion]()
    found = table_criterion(np.array([counts], dtype=float), 3, criterion)[0]
    assert found == pytest.approx(expected, nan_ok=True, abs=1e-9)


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    """A judge that is right in 0.7 of all answers, with a difficulty that recordings share."""
    held = 0
    for seed in range(120):
        rng = random.Random(seed)
        truth, said = [], []
        for _ in range(40):
            easy = rng.choice([0.5, 0.9])
            for _ in range(4):
                mark = rng.choice([0, 1, 2])
                truth.append(mark)
                said.append(mark if rng.random() < easy else (mark + rng.choice([1, 2])) % 3)
        (report,) = calibrate_judges(
            human(truth), [judge(said)], recordings(160, 4), draws=Draws(resamples=400)
        ).judges
        low, high = report.accuracy.low, report.accuracy.high
        assert low is not None
        assert high is not None
        held += low <= 0.7 <= high
    assert 107 <= held <= 120  # 114 expected; three standard deviations


# -- what is compared ------------------------------------------------------------------------------------------


def test_all_judges_are_compared_on_the_same_answers_and_the_rest_is_counted() -> None:
    truth = mixed(30)
    full = judge(truth, "a/full")
    gaps: list[int | None] = [None if k < 4 else t for k, t in enumerate(truth)]
    unscored = judge(gaps, "b/unscored")
    short = judge(truth[:25], "c/short")
    found = calibrate_judges(human(truth), [full, unscored, short], recordings(30), draws=QUICK)
    by_name = {r.judge.judge: r for r in found.judges}
    assert {r.n for r in found.judges} == {21}
    assert (by_name["a/full"].absent, by_name["a/full"].unscored, by_name["a/full"].outside) == (0, 0, 9)
    assert (by_name["b/unscored"].absent, by_name["b/unscored"].unscored) == (0, 4)
    assert (by_name["c/short"].absent, by_name["c/short"].unscored) == (5, 0)
    assert any("21 answers that all judges marked, of 30" in n for n in found.notes)


def test_a_judge_without_any_of_the_answers_does_not_take_them_from_the_others() -> None:
    truth = mixed(30)
    elsewhere = JudgeMarks(JudgeSetup("z/none"), {"": {Answer("i0", "other"): 2}})
    found = calibrate_judges(human(truth), [judge(truth), elsewhere], recordings(30), draws=QUICK)
    good, missing = found.judges
    assert good.n == 30
    assert (missing.n, missing.absent) == (0, 30)
    assert missing.accuracy.value is None
    assert missing.accuracy.note
    assert any("z/none" in note for note in found.notes)
    assert found.choice.judge == "a/x · ternary-step"


def test_one_answer_and_one_recording() -> None:
    single = calibrate_judges(human([2]), [judge([2])], recordings(1), draws=QUICK)
    assert single.judges[0].accuracy.value == 1
    assert single.judges[0].accuracy.low is None
    assert single.judges[0].correlation.value is None
    truth = mixed(30)
    together = calibrate_judges(
        human(truth),
        [judge(truth), judge(erring(truth, 0.5), "b/y")],
        dict.fromkeys(recordings(30), "r"),
        draws=QUICK,
    )
    assert together.judges[0].accuracy.low is None
    assert together.choice.judge == "a/x · ternary-step"
    assert "one recording" in together.choice.note


def test_a_judge_that_failed_on_everything() -> None:
    found = calibrate_judges(human([0, 1, 2]), [judge([None] * 3)], recordings(3), draws=QUICK)
    assert found.judges[0].unscored == 3
    assert found.judges[0].n == 0
    assert found.choice.note == "no judge has a value"


def test_no_judge_at_all() -> None:
    found = calibrate_judges(human([0, 1, 2]), [], recordings(3), draws=QUICK)
    assert found.judges == ()
    assert "no machine judged anything" in found.notes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"right": 3}, "'right' is 3"),
        ({"criterion": "luck"}, "no criterion 'luck'"),
    ],
)
def test_options_that_are_none(change: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        calibrate_judges(human([1]), [], recordings(1), **change)  # type: ignore[arg-type]


def test_nothing_by_people_or_about_other_items() -> None:
    with pytest.raises(UserError, match="people marked nothing"):
        calibrate_judges(human([]), [], {})
    with pytest.raises(UserError, match="1 human marks are about items"):
        calibrate_judges(human([1, 2]), [], recordings(1))


# -- the choice ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_clearly_better_judge_is_told_apart(criterion: Criterion) -> None:
    truth = mixed(200)
    found = calibrate_judges(
        human(truth),
        [judge(erring(truth, 0.95), "a/good"), judge(erring(truth, 0.4, 2), "b/bad")],
        recordings(200),
        criterion=criterion,
        draws=QUICK,
    )
    assert found.choice.judge.startswith("a/good")
    assert found.choice.tied == ()
    (difference,) = found.choice.differences
    assert difference.separated
    assert difference.difference.low is not None
    assert difference.difference.low > 0
    assert found.choice.best_in["a/good · ternary-step"] == 1


def test_equal_judges_are_tied() -> None:
    truth = [0, 1, 2] * 20
    one = [2 - t if k < 18 else t for k, t in enumerate(truth)]
    two = [2 - t if k >= 42 else t for k, t in enumerate(truth)]
    found = calibrate_judges(
        human(truth), [judge(one, "a/one"), judge(two, "b/two")], recordings(60), draws=QUICK
    )
    assert len(found.choice.tied) == 1
    assert sum(found.choice.best_in.values()) == pytest.approx(1)


def test_equal_judges_are_rarely_told_apart() -> None:
    wrong = 0
    for seed in range(60):
        truth = mixed(90, seed)
        found = calibrate_judges(
            human(truth),
            [
                judge(erring(truth, 0.7, 1_000 + seed), "a/one"),
                judge(erring(truth, 0.7, 2_000 + seed), "b/two"),
            ],
            recordings(90),
            draws=Draws(resamples=300),
        )
        wrong += not found.choice.tied
    # The better-looking of two is held against the other at 95 %, two-sided: about 5 % beyond luck.
    assert wrong <= 9


# -- people, repeats, confidences ------------------------------------------------------------------------------


def test_several_people_are_united_by_majority_and_ties_are_left_out() -> None:
    votes = {"i0": "222", "i1": "201", "i2": "002", "i3": "01"}
    found = unite_people(
        [
            Judgement(item_id=i, predictor="p", judge=f"human/{'abc'[k]}", score=int(v))
            for i, marks in votes.items()
            for k, v in enumerate(marks)
        ]
        + [Judgement(item_id="i4", predictor="p", judge="human/a", score=None, failure="unreadable")]
    )
    assert found.marks == {Answer("i0", "p"): 2, Answer("i2", "p"): 0}
    assert found.disputed == {Answer("i1", "p"), Answer("i3", "p")}
    assert found.unscored == {Answer("i4", "p")}
    assert found.votes[Answer("i3", "p")] == (0, 1)
    calibration = calibrate_judges(found, [judge([2, 1, 0, 0])], recordings(5), draws=QUICK)
    assert [(a.a, a.b, a.raw.n) for a in calibration.people_agreement] == [
        ("a", "b", 4),
        ("a", "c", 3),
        ("b", "c", 3),
    ]
    assert calibration.disputed == 2
    assert len(calibration.human) == 4


def test_a_person_marks_an_answer_once() -> None:
    twice = Judgement(item_id="i", predictor="p", judge="human/a", score=1)
    with pytest.raises(UserError, match="'a' marked the answer of 'p' to 'i' twice"):
        unite_people([twice, twice])


def test_repeats_tell_how_steady_a_judge_is() -> None:
    truth = mixed(40)
    steady = [("0", truth), ("1", truth)]
    shaky = [("0", truth), ("1", [2 - t for t in truth]), ("10", truth), ("2", truth)]
    judgements = [
        Judgement(item_id=f"i{n}", predictor="p", judge=name, score=mark, details={"repeat": repeat})
        for name, runs in (("a/steady", steady), ("b/shaky", shaky))
        for repeat, marks in runs
        for n, mark in enumerate(marks)
    ]
    sorted_ = sort_marks(judgements)
    assert list(sorted_[1].repeats) == ["0", "1", "2", "10"]
    one, two = calibrate_judges(human(truth), sorted_, recordings(40), draws=QUICK).judges
    assert one.consistency is not None
    assert (one.consistency.repeats, one.consistency.same.value) == (2, 1)
    assert two.consistency is not None
    assert two.consistency.same.value == pytest.approx(truth.count(1) / 40)
    assert two.accuracy.value == 1, "the first repeat counts"


def test_confidences_give_a_reliability_diagram() -> None:
    truth = [0, 1] * 20
    judgements = [
        Judgement(item_id=f"i{n}", predictor="p", judge="a/x", score=1, details={"confidence": stated})
        for n, stated in enumerate(["0.9"] * 38 + ["sure", "7"])
    ]
    (report,) = calibrate_judges(human(truth), sort_marks(judgements), recordings(40), draws=QUICK).judges
    assert report.confidence_error is not None
    assert report.confidence_error.n == 38
    assert report.confidence_error.value == pytest.approx(0.4)
    assert report.reliability is not None
    assert sum(report.reliability.counts) == 38


def test_agreement_between_judges_of_two_scales_is_on_yes_and_no() -> None:
    truth = [0, 1, 2, 2] * 10
    found = calibrate_judges(
        human(truth),
        [judge([0, 0, 2, 2] * 10, template="binary-default"), judge(truth, template="ternary-step")],
        recordings(40),
        draws=QUICK,
    )
    (pair,) = found.agreement
    assert pair.raw.value == 1
    assert pair.raw.n == 40


# -- sorting ---------------------------------------------------------------------------------------------------


def test_setups_are_told_apart_and_people_are_passed_over() -> None:
    def mark(judge_: str, **details: str) -> Judgement:
        return Judgement(item_id="i", predictor="p", judge=judge_, score=2, details=details)

    found = sort_marks(
        [
            mark("b/y"),
            mark("a/x", template="binary-step"),
            mark("a/x", template="t", scale="binary"),
            mark("human/me"),
        ]
    )
    assert [(m.setup.name, m.setup.scale) for m in found] == [
        ("a/x · binary-step", "binary"),
        ("a/x · t", "binary"),
        ("b/y", "ternary"),
    ]
    assert is_human("human/me")
    assert not is_human("humane/me")


@pytest.mark.parametrize(
    ("details", "scale"),
    [
        ({}, "ternary"),
        ({"template": "binary"}, "binary"),
        ({"template": "judge-binary-step.md"}, "binary"),
        ({"template": "ternary-step"}, "ternary"),
        ({"template": "ternary-step", "scale": "binary"}, "binary"),
        ({"template": "binary-step", "scale": "ternary"}, "ternary"),
        ({"template": "nonbinary", "scale": "stars"}, "ternary"),
    ],
)
def test_the_scale_is_stated_or_told_by_the_template(details: dict[str, str], scale: str) -> None:
    (found,) = sort_marks([Judgement(item_id="i", predictor="p", judge="a/x", score=2, details=details)])
    assert found.setup.scale == scale


@pytest.mark.parametrize(
    ("judgements", "message"),
    [
        ([Judgement(item_id="i", predictor="p", judge="a", score=1)] * 2, "twice"),
        ([Judgement(item_id="i", predictor="p", judge="a", score=3)], "the mark is 3"),
        ([Judgement(item_id="i", predictor="p", judge="a", score=True)], "the mark is True"),
        (
            [
                Judgement(item_id=i, predictor="p", judge="a", score=1, details={"template": "t", "scale": s})
                for i, s in (("i", "binary"), ("j", "ternary"))
            ],
            "two scales",
        ),
    ],
)
def test_judgements_that_cannot_be(judgements: list[Judgement], message: str) -> None:
    with pytest.raises(UserError, match=message):
        sort_marks(judgements)


# -- storing ---------------------------------------------------------------------------------------------------


def test_a_calibration_is_stored_and_read_back() -> None:
    truth = mixed(40)
    found = calibrate_judges(
        human(truth), [judge(erring(truth, 0.8)), judge(truth, "b/y")], recordings(40), draws=QUICK
    )
    again = msgspec.json.decode(msgspec.json.encode(found), type=Calibration)
    assert again == found
    assert again.votes[Answer("i0", "p")] == (truth[0],)


@pytest.mark.parametrize("order", [sorted, lambda x: sorted(x, reverse=True)])
def test_the_order_of_the_records_changes_nothing(order: Callable[[list[str]], list[str]]) -> None:
    truth = mixed(40)
    judgements = {
        f"{name}{n}": Judgement(item_id=f"i{n}", predictor="p", judge=name, score=mark)
        for name, marks in (("a", erring(truth, 0.8)), ("b", erring(truth, 0.6)))
        for n, mark in enumerate(marks)
    }
    expected = calibrate_judges(human(truth), sort_marks(judgements.values()), recordings(40), draws=QUICK)
    shuffled = [judgements[k] for k in order(list(judgements))]
    assert calibrate_judges(human(truth), sort_marks(shuffled), recordings(40), draws=QUICK) == expected


# -- anything --------------------------------------------------------------------------------------------------

MARK = st.sampled_from([None, 0, 1, 2])


@given(
    st.lists(st.tuples(st.sampled_from([0, 1, 2]), MARK, MARK, st.integers(0, 4)), min_size=1, max_size=25),
    st.sampled_from(CRITERIA),
    st.sampled_from([1, 2]),
    st.sampled_from(["binary", "ternary"]),
)
@settings(max_examples=60, deadline=None)
def test_any_marks_give_numbers_or_reasons(
    rows: list[tuple[int, int | None, int | None, int]], criterion: Criterion, right: int, scale: str
) -> None:
    judges = [judge([r[1] for r in rows], "a/x", scale), judge([r[2] for r in rows], "b/y", "ternary")]
    where = {f"i{n}": f"r{r[3]}" for n, r in enumerate(rows)}
    people = human([r[0] for r in rows])
    draws = Draws(resamples=50)
    found = calibrate_judges(people, judges, where, criterion=criterion, right=right, draws=draws)
    for report in found.judges:
        assert report.n + report.absent + report.unscored + report.outside == len(rows)
        assert sum(map(sum, report.confusion)) == report.n
        for estimate in (report.correlation, report.accuracy, report.kappa, report.bias, report.sensitivity):
            assert (estimate.value is None) <= bool(estimate.note)
            assert (estimate.low is None) == (estimate.high is None)
            assert estimate.low is None or estimate.high is None or estimate.low <= estimate.high
    assert msgspec.json.decode(msgspec.json.encode(found), type=Calibration) == found
    for marks in judges:
        corrected = correct_score(marks, "p", people.votes, where, calibration="x", right=right, draws=draws)
        for estimate in (corrected.mean, corrected.share, corrected.judged):
            assert (estimate.value is None) <= bool(estimate.note)
            assert estimate.value is None or 0 <= estimate.value <= 100
