import msgspec
import pytest

from proctor.errors import UserError
from proctor.exam.kinds.moment import KIND
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.scores import score_run
from proctor.exam.table import Resampling, ScoreRow, ScoreTable, compare_tables, rank_rows, rows_of
from proctor.metrics.score import Signature

QUICK = Resampling(resamples=10)


@pytest.fixture(scope="session")
def release(release):
    return release


def run(release, scores, *, predictor="p", judge="rules-1", **options):
    """Score a run in which item k of the release was judged ``scores(k)``; 'failed' and 'not asked' are words."""
    predictions, judgements = [], []
    for k, item in enumerate(release):
        score = scores(k)
        if score == "not asked":
            continue
        failure = "timeout" if score == "failed" else None
        predictions.append(
            Prediction(item_id=item.id, predictor=predictor, answer=None if failure else "a", failure=failure)
        )
        judgements.append(
            Judgement(
                item_id=item.id,
                predictor=predictor,
                judge=judge,
                score=None if failure else score,
                failure=failure,
            )
        )
    options = {"benchmark": "shelf-1", "resampling": Resampling(resamples=300), **options}
    return score_run(KIND, release, predictions, {"judge": judgements}, **options)


def test_rows_and_denominators(release):
    table = run(release, lambda k: {0: "failed", 1: "not asked"}.get(k, 2))
    assert [r.slice for r in table.rows] == [
        "all", "clean", "noisy", "type=next", "type=missing", "type=measurement", "activity=Mount a shelf",
    ]  # fmt: skip
    everything = table.row("all")
    assert (everything.value, everything.n, everything.failed, everything.skipped) == (100.0, 46, 1, 1)
    assert everything.marks == (0, 0, 46)
    assert table.row("type=next").failed == 1
    assert table.row("type=missing").skipped == 1
    assert sum(table.row(s).n for s in ("clean", "noisy")) == everything.n
    with pytest.raises(KeyError):
        table.row("type=x")


def test_every_score_stands_between_its_bounds(release):
    table = run(release, lambda k: {0: "failed", 1: "not asked"}.get(k, (k % 2) * 2))
    row = table.row("all")
    assert (row.least, row.value, row.most) == pytest.approx((100 * 23 / 48, 50.0, 100 * 25 / 48))
    assert (row.asked, row.coverage) == (48, 46 / 48)
    assert (row.judge, row.full) == ("rules-1", 100.0)
    for sliced in table.rows:
        assert sliced.least <= sliced.value <= sliced.most
    nothing = run(release, lambda k: "failed").row()
    assert (nothing.value, nothing.least, nothing.most, nothing.coverage) == (None, 0.0, 100.0, 0.0)
    whole = run(release, lambda k: k % 3).row()
    assert whole.least == whole.value == whole.most


def row(value, n, failed=0, skipped=0, judge="j"):
    return ScoreRow(
        slice="all",
        kind="all",
        measure="judge",
        value=value,
        n=n,
        failed=failed,
        skipped=skipped,
        judge=judge,
    )


def test_only_what_has_enough_marks_is_ranked_and_only_against_the_same_judge():
    rows = {
        "refuser": row(100.0, 94, 6), "second": row(60.0, 95, 0, 5), "first": row(70.0, 100), "tied": row(60.0, 100),
        "floor": row(65.0, 100), "elsewhere": row(10.0, 100, judge="k"), "mute": row(None, 0, 100), "none": None,
    }  # fmt: skip
    found = rank_rows(rows, rows.keys() - {"floor"}, 0.95)
    assert {name: rank.place for name, rank in found.items()} == {
        "first": 1, "floor": None, "second": 2, "tied": 2, "elsewhere": 1, "refuser": None, "mute": None, "none": None,
    }  # fmt: skip
    assert list(found) == ["first", "floor", "second", "tied", "elsewhere", "refuser", "mute", "none"]
    assert found["refuser"].why == "94 of 100 questions have a mark; ranked from 95 % on"
    assert not found["floor"].why
    assert rank_rows(rows, ["refuser"], 0.94)["refuser"].place == 1


def test_values_are_points(release):
    table = run(release, lambda k: k % 4 % 3)
    marks = [50.0 * (k % 4 % 3) for k in range(len(release))]
    assert table.row("all").value == pytest.approx(sum(marks) / len(marks))
    assert table.row("all").low <= table.row("all").value <= table.row("all").high
    assert table.item_marks == {i.id: m for i, m in zip(release, marks, strict=True)}


def test_intervals_draw_whole_clusters():
    ids = [f"{cluster}{n}" for cluster in "abcd" for n in range(10)]
    (row,) = rows_of(
        {"all": ("all", ids)}, {id_: 100.0 * (id_[0] in "ab") for id_ in ids}, {id_: id_[0] for id_ in ids},
        lambda name: Signature("mean_score", {"slice": name}), "judge", resampling=Resampling(resamples=500),
    )  # fmt: skip
    assert (row.value, row.n) == (50.0, 40)
    assert row.high - row.low > 60  # about 30 if items were drawn one by one


def test_types_are_sliced_by_type(release):
    table = run(release, lambda k: 2 if release[k].question.facets["type"] == "next" else 0)
    assert table.row("type=next").value == 100.0
    assert table.row("type=missing").value == 0.0


def test_signature_tells_release_judge_and_slice(release):
    signature = Signature.parse(run(release, lambda k: 1, judge="rules|2").row("clean").signature)
    assert signature.name == "mean_score"
    assert signature.parameters["benchmark"] == "shelf-1"
    assert signature.parameters["judge"] == "rules/2"
    assert signature.parameters["slice"] == "clean"
    assert signature.parameters["cluster"] == "recording"


def test_table_survives_json_undefined_values_included(release):
    table = run(release, lambda k: "failed")
    assert table.row("all").value is None
    assert table.row("all").note == "every answer failed"
    data = msgspec.json.encode(table)
    assert b"NaN" not in data
    assert msgspec.json.decode(data, type=ScoreTable) == table


def test_same_input_same_bytes_in_any_order(release):
    table = run(release, lambda k: k % 3)
    predictions = [Prediction(item_id=i.id, predictor="p", answer="a") for i in release[::-1]]
    judgements = [
        Judgement(item_id=i.id, predictor="p", judge="rules-1", score=k % 3)
        for k, i in reversed(list(enumerate(release)))
    ]
    again = score_run(
        KIND,
        release,
        predictions,
        {"judge": judgements},
        benchmark="shelf-1",
        resampling=Resampling(resamples=300),
    )
    assert msgspec.json.encode(again) == msgspec.json.encode(table)


def test_unjudged_predictions_have_failed_not_scored_zero(release):
    predictions = [Prediction(item_id=i.id, predictor="p", answer="a") for i in release]
    judgements = [Judgement(item_id=release[0].id, predictor="p", judge="j", score=2)]
    row = score_run(KIND, release, predictions, {"judge": judgements}, benchmark="b", resampling=QUICK).row(
        "all"
    )
    assert (row.value, row.n, row.failed) == (100.0, 1, len(release) - 1)


def test_a_mark_of_an_answer_that_has_failed_since_is_none(release):
    asked = [one(item.id) for item in release]
    marks = [mark(item.id, score=2) for item in release]
    asked[0] = one(release[0].id, failure="refusal: no", answer=None)
    table = score_run(KIND, release, asked, {"judge": marks}, benchmark="b@1", resampling=QUICK)
    assert (table.row("all").value, table.row("all").failed) == (100.0, 1)
    assert table.item_marks[release[0].id] is None


def one(item_id, **more):
    return Prediction(item_id=item_id, **{"predictor": "p", "answer": "a", **more})


def mark(item_id, **more):
    return Judgement(item_id=item_id, **{"predictor": "p", "judge": "j", "score": 1, **more})


@pytest.mark.parametrize(
    ("predictions", "judgements", "message"),
    [
        ([], [], "no predictions to score"),
        ([one("r00_0_next"), one("r01_0_next", predictor="q")], [], "of 2 predictors: p, q"),
        ([one("r00_0_next"), one("r00_0_next")], [], "several predictions"),
        ([one("zzz")], [], "does not have, such as 'zzz'"),
        (
            [one("r00_0_next")],
            [mark("r00_0_next", predictor="q")],
            "judgements are of 'q', the predictions of 'p'",
        ),
        ([one("r00_0_next")], [mark("zzz")], "1 judgements are about items"),
        ([one("r00_0_next")], [mark("r00_0_next"), mark("r00_0_next")], "several judgements"),
        ([one("r00_0_next")], [mark("r00_0_next"), mark("r01_0_next", judge="k")], "of 2 judges: j, k"),
        ([one("r00_0_next")], [mark("r00_0_next", score=7)], "judgement of item 'r00_0_next'"),
    ],
)
def test_what_does_not_belong_together_is_refused(release, predictions, judgements, message):
    with pytest.raises(UserError, match=message):
        score_run(KIND, release, predictions, {"judge": judgements}, benchmark="b", resampling=QUICK)


def test_a_predictor_can_be_chosen(release):
    both = [one("r00_0_next"), one("r00_0_next", predictor="q")]
    table = score_run(
        KIND,
        release,
        both,
        {"judge": [mark("r00_0_next"), mark("r00_0_next", predictor="q", score=2)]},
        benchmark="b",
        predictor="q",
        resampling=QUICK,
    )
    assert table.predictor == "q"
    assert table.row("all").value == 100.0


def test_compare_runs(release):
    good = run(release, lambda k: 2, predictor="good")
    fair = run(release, lambda k: 2 if k % 3 else 0, predictor="fair")
    twin = run(release, lambda k: 2 if k % 3 else 0, predictor="twin")
    found = {(c.a, c.b): c for c in compare_tables([fair, good, twin], Resampling(resamples=500))}
    assert found["fair", "good"].difference == pytest.approx(100 * 16 / 48)
    assert found["fair", "good"].p_holm < 0.05
    assert found["fair", "twin"].p_holm == 1.0
    assert found["fair", "good"].detectable > 0
    assert msgspec.json.encode(tuple(found.values()))


def test_compare_runs_refuses_what_was_not_measured_alike(release):
    base = run(release, lambda k: 2, predictor="a")
    other_judge = run(release, lambda k: 2, predictor="b", judge="rules-2")
    other_release = run(release, lambda k: 2, predictor="b", benchmark="shelf-2")
    fewer = run(release[:8], lambda k: 2, predictor="b")
    for table, message in (
        (other_judge, "differ in judge"),
        (other_release, "differ in benchmark"),
        (fewer, "different items"),
    ):
        with pytest.raises(UserError, match=message):
            compare_tables([base, table])
    with pytest.raises(UserError, match="same predictor"):
        compare_tables([base, base])
