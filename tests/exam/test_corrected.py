"""Corrected scores: right on average, honest intervals, and silence where nothing is identified."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import numpy as np
import pytest

from proctor.errors import UserError
from proctor.exam.corrected import MIN_LABELS, CorrectedScore, correct_score
from proctor.exam.estimate import Draws, Estimate, cluster_t_test
from proctor.exam.judge_marks import Answer, JudgeMarks, JudgeSetup, Scale
from proctor.metrics.score import Signature

QUICK = Draws(resamples=200)
Votes = dict[Answer, tuple[int, ...]]


def made_up(
    seed: int,
    *,
    recordings: int = 60,
    each: int = 5,
    labels: int = 120,
    right: float = 0.8,
    scale: Scale = "ternary",
) -> tuple[JudgeMarks, Votes, dict[str, str]]:
    """A run whose true mean is 50 points (share of matches 0.3), and a judge that is too strict."""
    rng = np.random.default_rng(seed)
    truth: dict[str, int] = {}
    marks: dict[Answer, int | None] = {}
    where = {}
    for r in range(recordings):
        ease = rng.beta(2, 2)
        for k in range(each):
            name = f"i{r}-{k}"
            where[name] = f"r{r}"
            truth[name] = int(rng.binomial(2, ease))
            said = truth[name] if rng.random() < right else max(0, truth[name] - 1)
            marks[Answer(name, "p")] = 2 * (said == 2) if scale == "binary" else said
    chosen = rng.choice(sorted(truth), size=labels, replace=False)
    votes = {Answer(str(i), "p"): (truth[str(i)],) for i in chosen}
    return JudgeMarks(JudgeSetup("a/x", "t", scale), {"": marks}), votes, where


def correct(judge: JudgeMarks, votes: Votes, where: dict[str, str], **more: Any) -> CorrectedScore:
    options: dict[str, Any] = {"calibration": "abc", "draws": QUICK, **more}
    return correct_score(judge, "p", votes, where, **options)


def holds(estimate: Estimate, truth: float) -> bool:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low <= truth <= estimate.high


@pytest.mark.parametrize("scale", ["ternary", "binary"])
def test_intervals_hold_the_truth_where_the_judge_alone_does_not(scale: Scale) -> None:
    runs, mean_held, share_held, judged_held = 120, 0, 0, 0
    true_mean = 50 if scale == "ternary" else 30
    means = []
    for seed in range(runs):
        found = correct(*made_up(seed, scale=scale, right=0.6))
        mean_held += holds(found.mean, true_mean)
        share_held += holds(found.share, 30)
        judged_held += holds(found.judged, true_mean)
        means.append(found.mean.value or 0)
    assert mean_held >= 105, "114 of 120 expected"
    assert share_held >= 103
    assert judged_held < 30
    assert np.mean(means) == pytest.approx(true_mean, abs=1.5)


def test_a_perfect_judge_is_left_as_it_is_and_gives_a_narrow_interval() -> None:
    judge, votes, where = made_up(1, right=1.0)
    found = correct(judge, votes, where)
    assert found.mean.value == pytest.approx(found.judged.value, abs=1.0)
    assert found.share.value == pytest.approx(found.judged_share.value)
    assert found.mean.high is not None
    assert found.mean.low is not None
    assert found.people.high is not None
    assert found.people.low is not None
    assert found.mean.high - found.mean.low < found.people.high - found.people.low


def test_human_marks_on_everything_are_the_answer() -> None:
    judge, votes, where = made_up(2, labels=300)
    found = correct(judge, votes, where)
    assert found.mean.value == pytest.approx(found.people.value)
    assert found.warning == ""


def test_too_few_human_marks_give_no_number_but_a_reason() -> None:
    judge, votes, where = made_up(3, labels=MIN_LABELS - 1)
    found = correct(judge, votes, where)
    assert found.mean.value is None
    assert found.mean.note.startswith(f"not identified: people marked {MIN_LABELS - 1} answers of")
    assert found.share.value is None
    assert found.people.value is not None, "what people said is printed all the same"


def test_marks_from_one_recording_give_no_number() -> None:
    judge, _, where = made_up(4, recordings=3, each=40, labels=10)
    rng = random.Random(0)
    votes = {Answer(i, "p"): (rng.choice([0, 2]),) for i, r in where.items() if r == "r0"}
    found = correct(judge, votes, where)
    assert found.mean.value is None
    assert "of 1 recordings" in found.mean.note
    assert found.share.value is None
    assert "1 recordings" in found.share.note


@pytest.mark.parametrize("kind", ["coin", "constant", "inverted"])
def test_a_judge_no_better_than_chance_identifies_no_share(kind: str) -> None:
    judge, votes, where = made_up(5)
    rng = random.Random(5)
    said = {
        "coin": lambda m: rng.choice([0, 1, 2]),
        "constant": lambda m: 2,
        "inverted": lambda m: 2 - m,
    }[kind]
    marks = {a: said(m or 0) for a, m in judge.marks.items()}
    found = correct(JudgeMarks(judge.setup, {"": marks}), votes, where)
    assert found.share.value is None
    assert "not shown to be better than chance" in found.share.note
    # The mean needs no good judge: a useless one has a weight near 0, and people's marks alone are left.
    assert found.mean.value == pytest.approx(found.people.value, abs=4)
    assert holds(found.mean, 50)


def test_people_who_call_everything_right_identify_no_specificity() -> None:
    judge, votes, where = made_up(6)
    found = correct(judge, dict.fromkeys(votes, (2,)), where)
    assert found.share.value is None
    assert "120 of the marked answers right and 0 not" in found.share.note


def test_the_error_of_other_runs_serves_where_there_are_no_own_marks() -> None:
    judge, votes, where = made_up(7)
    other, _, _ = made_up(8)
    marks = {**{Answer(a.item_id, "q"): m for a, m in judge.marks.items()}, **other.marks}
    both = JudgeMarks(judge.setup, {"": marks})
    found = correct(both, {Answer(a.item_id, "q"): v for a, v in votes.items()}, where)
    assert found.labels == 0
    assert found.mean.value is None
    assert not found.own_error
    assert found.share.value is not None
    assert "makes the same errors" in found.share.note
    assert "error:pooled" in found.share.signature


def test_marks_of_a_part_that_was_not_drawn_at_random_are_pointed_at() -> None:
    judge, votes, where = made_up(9)
    best = sorted(judge.marks, key=lambda a: (-(judge.marks[a] or 0), a))[:100]
    biased = {a: (judge.marks[a] or 0,) for a in best}
    assert "not drawn at random" in correct(judge, biased, where).warning
    assert correct(judge, votes, where).warning == ""


def test_a_random_part_is_rarely_pointed_at() -> None:
    warned = sum(bool(correct(*made_up(seed), draws=Draws(resamples=100)).warning) for seed in range(100))
    assert warned <= 5, "one in a hundred expected"


def test_all_failed_and_nothing_asked() -> None:
    judge, votes, where = made_up(10)
    failed = JudgeMarks(judge.setup, {"": dict.fromkeys(judge.marks)})
    found = correct(failed, votes, where)
    for estimate in (found.judged, found.mean, found.share, found.people):
        assert estimate.value is None
        assert estimate.note
    assert correct_score(judge, "nobody", votes, where, calibration="x", draws=QUICK).judged.value is None


def test_one_answer() -> None:
    judge = JudgeMarks(JudgeSetup("a/x"), {"": {Answer("i", "p"): 2}})
    found = correct(judge, {Answer("i", "p"): (2,)}, {"i": "r"})
    assert found.judged.value == 100
    assert found.judged.low is None
    assert found.mean.value is None


def test_several_people_count_with_their_mean_and_ties_do_not_decide_the_share() -> None:
    judge, votes, where = made_up(11)
    doubled = {a: (v[0], 0) for a, v in votes.items()}
    once, twice = correct(judge, votes, where), correct(judge, doubled, where)
    assert once.people.value is not None
    assert twice.people.value == pytest.approx(once.people.value / 2)
    # a match against a wrong is undecided, so no answer is called right
    assert twice.share.value is None


def test_signatures_name_the_calibration_and_every_choice() -> None:
    found = correct(*made_up(12), right=1)
    for estimate in (found.mean, found.share):
        parts = Signature.parse(estimate.signature).parameters
        assert parts["calibration"] == "abc"
        assert parts["judge"] == "a/x · t"
        assert parts["right"] == "1"
    assert Signature.parse(found.mean.signature).parameters["interval"].startswith("student-")


def test_values_stay_on_the_scale() -> None:
    judge, votes, where = made_up(13, labels=25)
    found = correct(judge, dict.fromkeys(votes, (2,)), where)
    assert found.mean.value is not None
    assert found.mean.high is not None
    assert 0 <= found.mean.value <= 100
    assert found.mean.high <= 100


def test_it_is_stored_and_read_back() -> None:
    found = correct(*made_up(14))
    assert msgspec.json.decode(msgspec.json.encode(found), type=CorrectedScore) == found


def test_a_judgement_of_an_unknown_item_is_refused() -> None:
    judge = JudgeMarks(JudgeSetup("a/x"), {"": {Answer("gone", "p"): 2}})
    with pytest.raises(UserError, match="unknown items, such as 'gone'"):
        correct(judge, {}, {})


def test_the_clustered_t_test_holds_its_level_where_items_of_a_recording_are_alike() -> None:
    rng = np.random.default_rng(0)
    below = 0
    for _ in range(400):
        level = np.repeat(rng.normal(size=30), 6)
        own = np.repeat(rng.permutation([1.0, 0.0] * 15), 6)
        marks = level + 0.3 * rng.normal(size=180)
        value = marks[own > 0].mean() - marks[own == 0].mean()
        p = cluster_t_test(marks, own, [f"r{k // 6}" for k in range(180)], float(value))
        assert p is not None
        below += p < 0.05
    assert 6 <= below <= 36, "20 expected; unclustered it would be about 200"
