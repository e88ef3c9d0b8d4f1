"""Accuracy of multiple choice: denominators, slices, circular evaluation, intervals by video."""

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.exam.clip_set import clip_items, question

from proctor.errors import UserError
from proctor.exam.choice import CREDIT
from proctor.exam.kinds.clip import KIND
from proctor.exam.prediction import Prediction
from proctor.exam.scores import score_run
from proctor.exam.table import Resampling, ScoreTable, compare_tables
from proctor.metrics.bootstrap import bootstrap_interval, cluster_sums
from proctor.metrics.score import Signature

QUESTIONS = [question(n) for n in range(40)]
QUICK = Resampling(resamples=200)
NONE = Resampling(resamples=0)


def said(q, answer="?", *, failure=None, who="m", **details):
    if failure is not None:
        return Prediction(item_id=q.id, predictor=who, failure=failure, details=details)
    return Prediction(item_id=q.id, predictor=who, answer=answer, details=details)


def score(predictions, questions=QUESTIONS, **options) -> ScoreTable:
    return score_run(
        KIND, clip_items(questions), predictions, **{"benchmark": "toy", "resampling": NONE, **options}
    )


def test_unparsed_is_wrong_failed_is_in_no_mean_and_the_rest_was_skipped() -> None:
    made = [said(q, q.letter) for q in QUESTIONS[:20]]
    made += [said(q, "E" if q.letter != "E" else "A") for q in QUESTIONS[20:26]]
    made += [said(q, "None of the above") for q in QUESTIONS[26:29]]
    made += [said(q, "(A) or (B)") for q in QUESTIONS[29:30]]
    made += [said(q, failure="overload: later") for q in QUESTIONS[30:32]]
    made += [said(q, failure="refusal: no") for q in QUESTIONS[32:33]]
    table = score(made)
    row = table.row()
    assert (row.value, row.n, row.failed, row.skipped, row.unparsed) == (20 / 30, 30, 3, 7, 4)
    assert row.chance == pytest.approx(0.2)
    assert table.counts == {
        "questions": 40, "not asked": 7, "right": 20, "wrong": 6, "unparsed": 4, "failed": 3, "unparsed: conflict": 1,
        "unparsed: none": 3, "failed: overload": 2, "failed: refusal": 1,
    }  # fmt: skip
    assert table.item_marks["q30"] is None
    assert table.item_marks["q26"] == 0.0


def test_slices_add_up() -> None:
    table = score([said(q, "A") for q in QUESTIONS])
    for kind in ("level", "category", "dataset", "position", "letter"):
        rows = [row for row in table.rows if row.kind == kind]
        assert len(rows) >= 2
        assert sum(row.n for row in rows) == 40
        assert sum(row.n * row.value for row in rows) == pytest.approx(40 * table.row().value)
    assert table.row("letter=A").value == 1.0
    assert table.row("letter=B").value == 0.0
    assert table.row("dataset=hirest").clusters == 5
    assert table.letters.recall_spread == pytest.approx(0.4)  # one recall of 1 and four of 0
    assert table.letters.balance_p < 1e-6
    assert [(row.letter, row.gold, row.right, row.said) for row in table.letters.rows] == [
        ("A", 8, 8, 40), ("B", 8, 0, 0), ("C", 8, 0, 0), ("D", 8, 0, 0), ("E", 8, 0, 0),
    ]  # fmt: skip
    with pytest.raises(KeyError):
        table.row("level=none")


def test_intervals_draw_whole_videos() -> None:
    """All questions of a video alike: the interval is that of ten videos, not of forty questions."""
    made = [said(q, q.letter if int(q.video_id[1:]) % 2 else "none") for q in QUESTIONS]
    row = score(made, resampling=Resampling(resamples=2_000, seed=4)).row()
    marks = [float(int(q.video_id[1:]) % 2) for q in QUESTIONS]
    sums = cluster_sums([marks, [1.0] * 40], [item.question.cluster for item in clip_items(QUESTIONS)])
    wanted = bootstrap_interval(sums, resamples=2_000, seed=4)
    assert (row.low, row.high) == (wanted.low, wanted.high)
    assert row.clusters == 10
    assert row.high - row.low > 0.45
    by_question = bootstrap_interval(
        cluster_sums([marks, [1.0] * 40], [q.id for q in QUESTIONS]), resamples=2_000
    )
    assert by_question.high - by_question.low < 0.35
    signature = Signature.parse(row.signature)
    assert signature.parameters["cluster"] == "video"
    assert signature.parameters["parser"] == "letters-1"


def rotation(q, number, answer, **more):
    order = "ABCDE"[number:] + "ABCDE"[:number]
    return said(q, answer, rotation=str(number), order=order, **more)


def turns(q, right):
    """A prediction for each rotation; those in ``right`` are answered right."""
    made = []
    for number in range(5):
        order = "ABCDE"[number:] + "ABCDE"[:number]
        shown = "ABCDE"[order.index(q.letter)]
        wrong = "ABCDE"[(order.index(q.letter) + 1) % 5]
        made.append(rotation(q, number, shown if number in right else wrong))
    return made


def test_circular_evaluation_counts_a_question_only_if_all_rotations_are_right() -> None:
    made = turns(QUESTIONS[0], range(5)) + turns(QUESTIONS[1], range(4)) + turns(QUESTIONS[2], ())
    made += turns(QUESTIONS[3], range(5))[:3]  # broken off
    failed = turns(QUESTIONS[4], range(5))
    failed[2] = msgspec.structs.replace(failed[2], answer=None, failure="timeout: 60 s")
    table = score(made + failed)
    assert table.letters.circular
    assert table.row(measure="circular_accuracy").value == pytest.approx(1 / 3)
    assert table.row(measure="accuracy").value == pytest.approx((1 + 0.8 + 0) / 3)
    for measure in ("accuracy", "circular_accuracy"):
        row = table.row(measure=measure)
        assert (row.n, row.failed, row.skipped) == (3, 2, 35)
    assert table.row(measure="circular_accuracy").chance == pytest.approx(5**-5)
    assert not [row for row in table.rows if row.kind == "letter"]
    assert table.letters.answers == 22


def test_a_liking_for_a_letter_earns_nothing_in_circular_evaluation() -> None:
    made = [rotation(q, n, "C") for q in QUESTIONS for n in range(5)]
    table = score(made)
    assert table.row(measure="accuracy").value == pytest.approx(0.2)
    assert table.row(measure="circular_accuracy").value == 0.0
    assert table.letters.recall_spread == pytest.approx(0.4)


def test_questions_with_fewer_options_are_as_easy_to_guess_as_they_are() -> None:
    two = question(0, options=("yes", "no"), letter="B")
    table = score([said(two, "B"), said(QUESTIONS[1], "B")], [two, QUESTIONS[1]])
    assert table.row().chance == pytest.approx((0.5 + 0.2) / 2)
    assert score([said(two, "C")], [two, QUESTIONS[1]]).row().unparsed == 1


def test_a_floor_that_draws_is_scored_by_what_it_gets_on_average() -> None:
    made = [said(q, "A", **{CREDIT: "0.25"}) for q in QUESTIONS]
    assert score(made).row().value == pytest.approx(0.25)
    for text in ("1.5", "-0.1", "nan", "many"):
        with pytest.raises(UserError, match="credit of a floor"):
            score([said(QUESTIONS[0], "A", **{CREDIT: text})])


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        ([], "no predictions"),
        ([said(QUESTIONS[0], "A"), said(QUESTIONS[1], "A", who="n")], "2 predictors: m, n"),
        ([said(QUESTIONS[0], "A"), said(QUESTIONS[0], "B")], "several predictions"),
        ([said(msgspec.structs.replace(QUESTIONS[0], id="zz"), "A")], "does not have, such as 'zz'"),
        (
            [said(QUESTIONS[0], "A"), rotation(QUESTIONS[1], 0, "A")],
            "1 of 2 predictions are of a circular run",
        ),
        ([said(QUESTIONS[0], "A", order="ABC")], "is no order"),
    ],
)
def test_what_cannot_be_scored(predictions, message) -> None:
    with pytest.raises(UserError, match=message):
        score(predictions)


def test_sets_that_cannot_be_scored() -> None:
    with pytest.raises(UserError, match="no questions"):
        score([said(QUESTIONS[0], "A")], [])
    with pytest.raises(UserError, match="same id"):
        score([said(QUESTIONS[0], "A")], [QUESTIONS[0], QUESTIONS[0]])
    with pytest.raises(UserError, match="has no options"):
        score([said(QUESTIONS[0], "A")], [QUESTIONS[0], question(9, options=())])


def test_one_of_several_predictors_can_be_chosen_and_tables_survive_files() -> None:
    made = [said(QUESTIONS[0], "A"), said(QUESTIONS[0], "B", who="n")]
    table = score(made, predictor="n")
    assert (table.predictor, table.row().value) == ("n", 0.0)
    assert msgspec.json.decode(msgspec.json.encode(table), type=ScoreTable) == table


def test_two_runs_are_compared_by_video() -> None:
    good = score([said(q, q.letter) for q in QUESTIONS], resampling=QUICK)
    bad = score([said(q, "A", who="n") for q in QUESTIONS], resampling=QUICK)
    (found,) = compare_tables([good, bad], QUICK)
    assert (found.a, found.b) == ("m", "n")
    assert found.difference == pytest.approx(-0.8)  # the second less the first
    assert found.p < 0.05
    with pytest.raises(UserError, match="same predictor"):
        compare_tables([good, good])
    other = score([said(q, "A", who="o") for q in QUESTIONS], benchmark="another", resampling=QUICK)
    with pytest.raises(UserError, match="benchmark"):
        compare_tables([good, other])


def test_what_a_question_does_not_have_puts_it_in_no_slice() -> None:
    bare = msgspec.structs.replace(QUESTIONS[0], level="", category="", dataset="", position="")
    assert list(KIND.slices(clip_items([bare]))) == ["all"]
    assert "category=a/b" in KIND.slices(clip_items([msgspec.structs.replace(bare, category="a|b")]))


@given(st.lists(st.sampled_from(["A", "B", "C", "D", "E", "hm", None]), min_size=1, max_size=40))
def test_every_reply_is_counted_once(replies: list[str | None]) -> None:
    made = [said(q, r) if r else said(q, failure="x: y") for q, r in zip(QUESTIONS, replies, strict=False)]
    table = score(made)
    counts = table.counts
    assert counts["right"] + counts["wrong"] + counts["unparsed"] + counts["failed"] == len(replies)
    assert counts["not asked"] == 40 - len(replies)
    row = table.row()
    if row.n:
        assert math.isclose(row.value, counts["right"] / (len(replies) - counts["failed"]))
    else:
        assert (row.value, row.note) == (None, "every answer failed")
    assert np.isclose(sum(r.said for r in table.letters.rows), counts["right"] + counts["wrong"])
