import json
import math
import random
import re

import numpy as np
import pytest
from tests.stages.scoring.scored import family

from proctor.cli.scoring.families import table_as_json
from proctor.errors import UserError
from proctor.metrics import classification as metrics
from proctor.metrics.classification import choose_threshold, group_steps, rescale_min_max
from proctor.metrics.figure import IntervalPlot, Matrix, Reliability
from proctor.stages.scoring.classification_files import read_samples
from proctor.stages.scoring.options import ClassificationSettings

score_classification = family("classification", "pred")

FAST = {"resamples": 50}
PER_RECORDING = ("ROC-AUC within recordings", "ROC-AUC between recordings", "ROC-AUC per recording")


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_text(
            "\n".join(line.strip() for line in text.strip().splitlines()) + "\n", encoding="utf-8"
        )
        return path

    return write


def value(table, line, metric):
    found = [row for row in table.rows if (row.slice, row.metric) == (line, metric)]
    assert len(found) == 1, (line, metric, sorted({row.slice for row in table.rows}))
    return found[0].score


def generated(seed=0, recordings=12, steps=10):
    """Rows of a made test set: recording, step, label, kinds, score."""
    rng = random.Random(seed)
    rows = []
    for r in range(recordings):
        for s in range(steps):
            label = rng.random() < 0.35
            kinds = rng.sample(["Order", "Timing"], rng.choice([1, 2])) if label else []
            rows.append(
                (f"r{r}", str(s), int(label), "|".join(kinds), round(rng.gauss(0.4 + 0.15 * label, 0.15), 3))
            )
    return rows


def as_csv(head, rows):
    return head + "\n" + "\n".join(",".join(map(str, row)) for row in rows)


@pytest.fixture
def files(write):
    rows = generated()
    val = generated(seed=1)
    return {
        "gt": write("gt.csv", as_csv("recording,step,label", [r[:3] for r in rows])),
        "pred": write("pred.csv", as_csv("recording,step,score", [(r[0], r[1], r[4]) for r in rows])),
        "validation": write(
            "val.csv", as_csv("recording,step,label,score", [(r[0], r[1], r[2], r[4]) for r in val])
        ),
    }


def test_perfect(write):
    one = write("all.csv", "recording,step,label,score\na,1,1,0.9\na,2,0,0.1\nb,1,1,0.8\nb,2,0,0.3")
    table = score_classification(one, **FAST)
    for metric in ("accuracy", "precision", "recall", "F1", "ROC-AUC", "PR-AUC", *PER_RECORDING):
        assert value(table, "all", metric).value == 1.0
    assert value(table, "all", "EER").value == 0.0


def test_equals_the_metrics_on_the_same_arrays(files):
    table = score_classification(files["pred"], gt=files["gt"], validation=files["validation"], **FAST)
    rows, val = sorted(generated()), generated(seed=1)
    labels, scores = [r[2] for r in rows], [r[4] for r in rows]
    chosen = choose_threshold([r[2] for r in val], [r[4] for r in val])
    calls = np.array(scores) > chosen.value
    assert value(table, "all", "F1").value == metrics.f1_score(labels, calls).value
    assert value(table, "threshold 0.5", "F1").value == metrics.f1_score(labels, np.array(scores) > 0.5).value
    auc = value(table, "all", "ROC-AUC")
    known = metrics.roc_auc(labels, scores, clusters=[r[0] for r in rows], resamples=50)
    assert (auc.value, auc.low, auc.high) == (known.value, known.low, known.high)
    assert auc.n == 120
    assert table.headline["threshold"] == chosen.value
    assert table.headline["positives"] == sum(labels)
    assert table.counts["validation steps"] == 120


def test_signature_says_which_threshold(files):
    reading = {"gt": files["gt"], **FAST}
    words = []
    for options in ({"validation": files["validation"]}, {"threshold": 0.3}, {}):
        table = score_classification(files["pred"], **reading, **options)
        words.append(value(table, "all", "F1").signature.parameters["threshold"])
    assert words[0].startswith("validation-f1=0.")
    assert words[1:] == ["fixed=0.3", "default=0.5"]
    published = score_classification(files["pred"], **reading, protocol="published", threshold=0.4)
    score = value(published, "all", "F1")
    assert score.signature.parameters["threshold"] == "rescaled=0.4"
    assert score.signature.parameters["protocol"] == "published"
    assert any("rescaled over the whole test set" in note for note in published.notes)


def test_published_protocol_is_rescaling_and_a_constant(files):
    table = score_classification(files["pred"], gt=files["gt"], protocol="published", threshold=0.4, **FAST)
    rows = generated()
    calls = rescale_min_max([r[4] for r in rows]) > 0.4
    assert value(table, "all", "F1").value == metrics.f1_score([r[2] for r in rows], calls).value


def test_chance_rows_stand_beside_the_result(files):
    table = score_classification(files["pred"], gt=files["gt"], **FAST)
    lines = {row.slice for row in table.rows if row.chance}
    assert lines == {"all: always error", "all: always normal", "all: prior"}
    labels = [r[2] for r in generated()]
    p = sum(labels) / len(labels)
    assert value(table, "all: always error", "F1").value == pytest.approx(2 * p / (1 + p))
    assert value(table, "all: always normal", "accuracy").value == pytest.approx(1 - p)
    assert value(table, "all: prior", "PR-AUC").value == pytest.approx(p)


def test_order_of_rows_changes_nothing(files, write):
    once = score_classification(files["pred"], gt=files["gt"], validation=files["validation"], **FAST)
    shuffled = {}
    for name, path in files.items():
        head, *lines = path.read_text().splitlines()
        random.Random(5).shuffle(lines)
        shuffled[name] = write(f"other_{path.name}", "\n".join([head, *lines]))
    again = score_classification(
        shuffled["pred"], gt=shuffled["gt"], validation=shuffled["validation"], **FAST
    )
    assert json.dumps(table_as_json(once)) == json.dumps(table_as_json(again))


def test_yes_no_decisions(write):
    one = write("all.csv", "recording,step,label,predicted\na,1,1,yes\na,2,0,no\nb,1,1,no\nb,2,0,no")
    table = score_classification(one, **FAST)
    assert value(table, "all", "recall").value == 0.5
    assert {row.metric for row in table.rows} == {"accuracy", "precision", "recall", "F1"}
    assert any("no ROC" in note for note in table.notes)
    assert table.headline["threshold"] is None


SUBSTEPS = """
recording,step,substep,score
a,1,0,0.9
a,1,1,0.9
a,1,2,0.0
a,2,0,0.2
a,2,1,0.6
b,1,0,0.75
b,1,1,0.0
"""
STEPS = "recording,step,label\na,1,1\na,2,0\nb,1,1"


def test_sub_steps_are_scored_and_joined(write):
    table = score_classification(write("p.csv", SUBSTEPS), gt=write("g.csv", STEPS), **FAST)
    assert value(table, "steps", "recall").value == 0.5  # means 0.6, 0.4, 0.375
    assert value(table, "sub-steps", "recall").value == 3 / 5
    assert value(table, "sub-steps", "accuracy").value == 4 / 7
    assert value(table, "steps", "ROC-AUC").value == 0.5
    assert value(table, "steps", "F1").signature.parameters["level"] == "step"
    assert value(table, "sub-steps", "F1").signature.parameters["level"] == "sub-step"
    assert table.headline["level"] == "step"


def test_vote_counts_sub_steps_above_a_half_and_ties_are_normal(write):
    table = score_classification(write("p.csv", SUBSTEPS), gt=write("g.csv", STEPS), aggregate="vote", **FAST)
    assert value(table, "steps", "recall").value == 0.5  # 2 of 3; 1 of 2 is normal
    assert value(table, "steps", "F1").signature.parameters["aggregation"] == "vote"
    logits = write("l.csv", SUBSTEPS.replace("0.9", "3.5"))
    with pytest.raises(UserError, match="needs probabilities"):
        score_classification(logits, gt=write("g.csv", STEPS), aggregate="vote", **FAST)


def test_sub_step_labels_of_their_own(write):
    gt = write(
        "g.csv",
        "recording,step,substep,label\na,1,0,1\na,1,1,1\na,1,2,0\na,2,0,0\na,2,1,0\nb,1,0,1\nb,1,1,1",
    )
    table = score_classification(write("p.csv", SUBSTEPS), gt=gt, **FAST)
    assert value(table, "sub-steps", "recall").value == 3 / 4
    assert table.headline["positives"] == 1  # two of three sub-steps are less than 95 %


def test_sub_steps_must_be_in_the_predictions(write):
    gt = write("g.csv", "recording,step,substep,label\na,1,0,1\na,1,1,0")
    with pytest.raises(UserError, match=r"no column 'substep', and g\.csv has one"):
        score_classification(write("p.csv", "recording,step,score\na,1,0.5"), gt=gt, **FAST)


REPEATED = "recording,step,segment,label\na,1,0,1\na,1,1,0\na,2,0,0\nb,1,0,0\nb,1,1,0\nb,2,0,1"
PRED = "recording,step,score\na,1,0.9\na,2,0.1\nb,1,0.2\nb,2,0.7"


def test_repeated_steps_are_merged_and_counted(write):
    table = score_classification(write("p.csv", PRED), gt=write("g.csv", REPEATED), **FAST)
    assert value(table, "all", "accuracy").value == 1.0
    assert (table.counts["steps"], table.counts["repeated steps merged"]) == (4, 2)
    assert table.counts["of them with both labels"] == 1
    last = score_classification(write("p.csv", PRED), gt=write("g.csv", REPEATED), repeated="last", **FAST)
    assert last.headline["positives"] == 1
    assert value(last, "all", "F1").signature.parameters["repeated"] == "last"


def test_rows_of_one_step_without_further_columns_are_executions(write):
    without = "\n".join(
        ",".join(c for k, c in enumerate(line.split(",")) if k != 2) for line in REPEATED.splitlines()
    )
    table = score_classification(write("p.csv", PRED), gt=write("g.csv", without), **FAST)
    assert table.headline["positives"] == 2
    with pytest.raises(UserError, match=r"'a 1' is given twice \(first in line 2\)"):
        score_classification(write("p2.csv", PRED + "\na,1,0.3"), gt=write("g.csv", without), **FAST)


def test_kinds_with_their_own_scores(write):
    rows = generated(recordings=20)
    rng = random.Random(3)
    head = "recording,step,score,score:Order,score:Timing"
    own = [
        (r[0], r[1], r[4], *(round(rng.random() + 0.5 * (kind in r[3]), 3) for kind in ("Order", "Timing")))
        for r in rows
    ]
    pred = write("p.csv", as_csv(head, own))
    gt = write("g.csv", as_csv("recording,step,label,kinds", [r[:4] for r in rows]))
    table = score_classification(pred, gt=gt, **FAST)
    ap = []
    for k, kind in enumerate(("Order", "Timing")):
        labels, scores = [kind in r[3] for r in rows], [row[3 + k] for row in own]
        ap.append(metrics.average_precision(labels, scores).value)
        assert value(table, f"kind={kind}", "PR-AUC").value == pytest.approx(ap[-1], abs=1e-12)
        assert value(table, f"kind={kind}", "ROC-AUC").signature.parameters["scored-by"] == "own"
        prevalence = value(table, f"kind={kind}: always error", "PR-AUC").value
        assert prevalence == pytest.approx(sum(labels) / len(labels))
    assert value(table, "mean over kinds", "PR-AUC").value == pytest.approx(sum(ap) / 2)
    assert value(table, "mean over kinds: always error", "ROC-AUC").value == 0.5


def test_kinds_without_scores_of_their_own_say_so(write):
    rows = generated()
    gt = write("g.csv", as_csv("recording,step,label,kinds", [r[:4] for r in rows]))
    pred = write("p.csv", as_csv("recording,step,score", [(r[0], r[1], r[4]) for r in rows]))
    table = score_classification(pred, gt=gt, **FAST)
    calls = np.array([r[4] for r in rows]) > 0.5
    known = metrics.recall(["Order" in r[3] for r in rows], calls).value
    assert value(table, "kind=Order", "recall").value == known
    assert any("no column 'score:KIND' for Order, Timing" in note for note in table.notes)
    assert not [row for row in table.rows if row.slice == "kind=Order" and row.metric == "precision"]


def test_thresholds_of_kinds_come_from_validation(write):
    def file(name, seed):
        rows = generated(seed=seed)
        body = [(r[0], r[1], r[2], r[3], r[4], round(r[4] + 0.3 * ("Order" in r[3]), 3)) for r in rows]
        return write(name, as_csv("recording,step,label,kinds,score,score:Order", body)), rows, body

    test, rows, body = file("t.csv", 0)
    val, val_rows, val_body = file("v.csv", 1)
    table = score_classification(test, validation=val, **FAST)
    chosen = choose_threshold(["Order" in r[3] for r in val_rows], [b[5] for b in val_body]).value
    known = metrics.f1_score(["Order" in r[3] for r in rows], np.array([b[5] for b in body]) > chosen)
    assert value(table, "kind=Order", "F1").value == pytest.approx(known.value)


def test_validation_that_does_not_hold_everything(write, files):
    sub = score_classification(
        write("p.csv", SUBSTEPS), gt=write("g.csv", STEPS), validation=files["validation"], **FAST
    )
    assert any("sub-steps: there are no validation predictions for it" in note for note in sub.notes)
    assert value(sub, "sub-steps", "F1").signature.parameters["threshold"] == "default=0.5"
    normal = write("n.csv", "recording,step,label,score\na,1,0,0.5\na,2,0,0.7")
    with pytest.raises(UserError, match=r"--validation: a threshold cannot be chosen on 2 items"):
        score_classification(files["pred"], gt=files["gt"], validation=normal, **FAST)
    decided = write("d.csv", "recording,step,label,predicted\na,1,1,1")
    with pytest.raises(UserError, match="validation predictions have no scores"):
        score_classification(files["pred"], gt=files["gt"], validation=decided, **FAST)


def test_a_kind_that_validation_has_not_gets_the_default(write):
    head = "recording,step,label,kinds,score,score:Order"
    test = write("t.csv", head + "\na,1,1,Order,0.9,0.9\na,2,0,,0.1,0.1\nb,1,0,,0.3,0.2")
    val = write("v.csv", head + "\na,1,1,Timing,0.9,0.9\na,2,0,,0.1,0.1")
    table = score_classification(test, validation=val, **FAST)
    assert value(table, "kind=Order", "F1").signature.parameters["threshold"] == "default=0.5"


def test_odd_names_of_kinds(write):
    rows = [
        {"recording": "a", "step": 1, "label": True, "kinds": ["a|b", " "], "score": 0.9},
        {"recording": "a", "step": 2, "label": False, "kinds": [], "score": 0.2},
    ]
    table = score_classification(write("t.jsonl", "\n".join(map(json.dumps, rows))), **FAST)
    assert value(table, "kind=a|b", "recall").signature.parameters["kind"] == "a/b"


def test_is_error_beside_a_label_of_the_step(write):
    one = write("all.csv", "recording,step,label,is_error,score\na,1,stir,yes,0.9\na,2,pour,no,0.2")
    assert score_classification(one, **FAST).headline["positives"] == 1


def test_slices_of_the_reference(write):
    rows = [(*r[:3], f"p{int(r[0][1:]) % 3}", r[4]) for r in generated()]
    one = write("all.csv", as_csv("recording,step,label,person,score", rows))
    table = score_classification(one, slices=("person",), **FAST)
    part = [r for r in rows if r[3] == "p1"]
    known = metrics.roc_auc([r[2] for r in part], [r[4] for r in part])
    assert value(table, "person=p1", "ROC-AUC").value == known.value
    assert value(table, "person=p1", "ROC-AUC").n == 40
    assert value(table, "person=p1: always error", "recall").value == 1.0


def test_a_slice_must_be_the_same_within_a_step(write):
    one = write("all.csv", "recording,step,segment,label,person,score\na,1,0,1,x,0.5\na,1,1,1,y,0.5")
    with pytest.raises(UserError, match="has 'x' and 'y'"):
        score_classification(one, slices=("person",), **FAST)


def test_a_column_of_the_predictions_divides_them(write, files):
    rows = generated()
    observed = [(r[0], r[1], f, round(0.5 + f * (r[4] - 0.5), 4)) for f in (1, 0.5, 0.1) for r in rows]
    pred = write("p.csv", as_csv("recording,step,observed,score", observed))
    table = score_classification(pred, gt=files["gt"], slices=("observed",), **FAST)
    lines = [row.slice for row in table.rows if row.metric == "ROC-AUC" and not row.chance]
    assert lines[:3] == ["observed=0.1", "observed=0.5", "observed=1"]
    assert all(line.startswith("difference: ") for line in lines[3:])
    assert value(table, "observed=0.1", "ROC-AUC").n == 120
    assert len({row.slice for row in table.rows if row.chance}) == 3  # the reference is the same
    assert any(isinstance(f, IntervalPlot) and f.title == "ROC-AUC by line" for f in table.figures)
    with pytest.raises(UserError, match="no column 'system'"):
        score_classification(pred, gt=files["gt"], slices=("system",), **FAST)


def test_divided_predictions_are_compared_in_pairs(write, files):
    rows = generated()
    rng = random.Random(8)
    systems = [(r[0], r[1], s, round(r[4] + (s == "b") * rng.gauss(0, 0.3), 4)) for s in "abc" for r in rows]
    pred = write("p.csv", as_csv("recording,step,system,score", systems))
    table = score_classification(pred, gt=files["gt"], slices=("system",), **FAST)
    lines = list(dict.fromkeys(row.slice for row in table.rows if row.slice.startswith("difference")))
    assert lines == [f"difference: system={b} − system={a}" for a, b in ("ab", "ac", "bc")]
    a, b = (value(table, f"system={s}", "ROC-AUC").value for s in "ab")
    score = value(table, "difference: system=b − system=a", "ROC-AUC")
    assert score.value == pytest.approx(b - a)
    assert value(table, "difference: system=c − system=a", "F1").value == 0.0
    assert any("not corrected for the number of pairs" in note for note in table.notes)
    plot = next(f for f in table.figures if f.title == "ROC-AUC by line")
    assert plot.labels == ("system=a", "system=b", "system=c")
    part = write("q.csv", as_csv("recording,step,system,score", systems[:-1]))
    table = score_classification(part, gt=files["gt"], slices=("system",), allow_missing=True, **FAST)
    lines = {row.slice for row in table.rows if row.slice.startswith("difference")}
    assert lines == {"difference: system=b − system=a"}  # c lacks a step


def test_divided_predictions_have_a_threshold_each(write, files):
    def file(name, seed):
        rows = generated(seed=seed)
        return write(
            name,
            as_csv(
                "recording,step,system,score",
                [(r[0], r[1], s, r[4] * (s == "a") or r[4] / 9) for s in "ab" for r in rows],
            ),
        )

    val_gt = write("vg.csv", as_csv("recording,step,label", [r[:3] for r in generated(seed=1)]))
    table = score_classification(
        file("p.csv", 0),
        gt=files["gt"],
        validation=file("v.csv", 1),
        validation_gt=val_gt,
        slices=("system",),
        **FAST,
    )
    a, b = (value(table, f"system={s}", "F1") for s in "ab")
    assert a.value == pytest.approx(b.value)
    thresholds = [float(s.signature.parameters["threshold"].partition("=")[2]) for s in (a, b)]
    assert thresholds[0] == pytest.approx(9 * thresholds[1], rel=1e-3)
    with pytest.raises(UserError, match="labels of the validation data by themselves"):
        score_classification(
            file("p.csv", 0), gt=files["gt"], validation=files["validation"], slices=("system",), **FAST
        )


def test_missing_predictions_are_refused_or_counted(write):
    gt = write("g.csv", "recording,step,label\na,1,1\na,2,0\nb,1,1\nb,2,0")
    pred = write("p.csv", "recording,step,score\na,1,0.9\na,2,\nb,2,0.1\nc,9,0.5")
    with pytest.raises(
        UserError, match=r"2 of 4 steps have no score \(1 are not there, 1 are empty\).*'b 1'"
    ):
        score_classification(pred, gt=gt, **FAST)
    table = score_classification(pred, gt=gt, allow_missing=True, **FAST)
    score = value(table, "all", "accuracy")
    assert (score.n, score.failed, score.skipped) == (2, 1, 1)
    assert (table.counts["failed"], table.counts["skipped"]) == (1, 1)
    assert table.counts["predictions without a step"] == 1
    assert any("reference has not" in note for note in table.notes)


def test_nothing_matches(write):
    gt, pred = write("g.csv", "recording,step,label\na,1,1"), write("p.csv", "recording,step,score\nb,1,0.9")
    with pytest.raises(UserError, match="no step has a prediction"):
        score_classification(pred, gt=gt, allow_missing=True, **FAST)


def test_ids_without_recordings(write):
    gt, pred = write("g.csv", "id,label\n1,1\n2,0"), write("p.csv", "id,score\n1,0.9\n2,0.2")
    table = score_classification(pred, gt=gt, **FAST)
    assert value(table, "all", "F1").low is None
    assert any("one recording" in note for note in table.notes)
    with_recording = write("q.csv", "recording,id,score\na,1,0.9\na,2,0.2")
    with pytest.raises(UserError, match=r"no column 'recording', and q\.csv has one"):
        score_classification(with_recording, gt=gt, **FAST)


def test_frames_of_videos(write):
    """Anomaly detection: pooled and per video."""
    rows = [(v, f, int(f > 5), f + 100 * (v == "b")) for v in "ab" for f in range(10)]
    table = score_classification(write("f.csv", as_csv("video,frame,label,score", rows)), **FAST)
    within, between, mean = (value(table, "all", name).value for name in PER_RECORDING)
    assert (within, mean) == (1.0, 1.0)
    assert between < value(table, "all", "ROC-AUC").value < 0.8
    table = score_classification(write("f.csv", as_csv("video,frame,label,score", rows)), resamples=0)
    plain = value(table, "all", PER_RECORDING[0])
    assert (plain.value, plain.low) == (1.0, None)  # recordings are known without an interval, too


def test_one_class_is_undefined_with_a_note(write):
    one = write("all.csv", "recording,step,label,score\na,1,0,0.9\nb,2,0,0.1")
    table = score_classification(one, **FAST)
    score = value(table, "all", "F1")
    assert math.isnan(score.value)
    assert "no item of the reference is a mistake" in score.note
    assert any("F1: no item" in note for note in table.notes)
    json.dumps(table_as_json(table), allow_nan=False)


def test_worse_than_chance_is_said(write):
    one = write("all.csv", "recording,step,label,score\na,1,1,0.1\na,2,0,0.9\nb,1,1,0.2\nb,2,1,0.6")
    table = score_classification(one, **FAST)
    assert any("does not beat 'always error'" in note for note in table.notes)


def test_scores_that_are_no_probabilities(write):
    one = write("all.csv", "recording,step,label,score\na,1,1,3\na,2,0,-4\nb,1,1,2.5\nb,2,0,0")
    table = score_classification(one, **FAST)
    assert any("not between 0 and 1" in note for note in table.notes)
    validated = score_classification(one, validation=one, **FAST)
    assert not [row for row in validated.rows if row.slice == "threshold 0.5"]


def test_everything_a_mistake_on_validation(write, files):
    val = write("v.csv", "recording,step,label,score\na,1,1,0.1\na,2,1,0.2\na,3,0,0.9")
    table = score_classification(files["pred"], gt=files["gt"], validation=val, **FAST)
    assert table.headline["threshold"] == "-inf"
    assert value(table, "all", "recall").value == 1.0
    assert any("calling everything a mistake" in note for note in table.notes)
    json.dumps(table_as_json(table), allow_nan=False)


def test_figures(files):
    table = score_classification(files["pred"], gt=files["gt"], **FAST)
    matrix = next(f for f in table.figures if isinstance(f, Matrix))
    labels = [r[2] for r in generated()]
    assert sum(matrix.cells[1]) == sum(labels)
    assert sum(map(sum, matrix.cells)) == 120
    plot = next(f for f in table.figures if isinstance(f, IntervalPlot))
    assert plot.labels == ("accuracy", "precision", "recall", "F1", "ROC-AUC", "PR-AUC")
    p = sum(labels) / 120
    assert plot.chance[0] == pytest.approx(max(p, 1 - p))
    assert plot.chance[4] == 0.5


def test_reliability_of_scores_that_can_be_probabilities(files, write):
    kinds = [type(f) for f in score_classification(files["pred"], gt=files["gt"], **FAST).figures]
    assert Reliability in kinds
    published = score_classification(
        files["pred"], gt=files["gt"], protocol="published", threshold=0.4, **FAST
    )
    assert Reliability not in map(type, published.figures)
    logits = write("l.csv", "recording,step,label,score\na,1,1,3\na,2,0,-4")
    assert Reliability not in map(type, score_classification(logits, **FAST).figures)
    votes = score_classification(write("p.csv", SUBSTEPS), gt=write("g.csv", STEPS), aggregate="vote", **FAST)
    drawn = [f for f in votes.figures if isinstance(f, Reliability)]
    assert [f.title for f in drawn] == ["Score against share of mistakes, sub-steps"]
    assert sum(drawn[0].counts) == 7


def test_no_intervals_when_not_asked(files):
    table = score_classification(files["pred"], gt=files["gt"], resamples=0)
    assert all(row.score.low is None for row in table.rows)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"protocol": "published"}, r"0\.6 for split S, 0\.4 for split R"),
        ({"protocol": "best"}, "one of corrected, published"),
        ({"threshold": float("nan")}, "not a number"),
        ({"threshold": 0.5, "validation": "val"}, "both given"),
        ({"validation_gt": "val"}, "needs --validation"),
        ({"protocol": "published", "validation": "val"}, "constant"),
    ],
)
def test_invalid_options(files, options, message):
    options = {k: files["validation"] if v == "val" else v for k, v in options.items()}
    with pytest.raises(UserError) as error:
        score_classification(files["pred"], gt=files["gt"], **options)
    assert re.search(message, f"{error.value} {error.value.hint}")


@pytest.mark.parametrize(
    ("gt", "pred", "message"),
    [
        ("recording,step\na,1", "recording,step,score\na,1,0.5", "no column 'label'"),
        ("recording,step,label\na,1,maybe", "recording,step,score\na,1,0.5", "line 2.*yes/no"),
        ("recording,step,label\na,1,1", "recording,step\na,1", "no column 'score'"),
        ("recording,step,label\na,1,1", "recording,step,score\na,1,high", "line 2.*number was expected"),
        ("recording,step,label\na,1,1", "recording,step,score\na,1,nan", "line 2.*finite"),
        ("recording,step,label\na,1,1", "recording,score\na,0.5", "no column 'step'"),
        ("recording,step,label\na,1,1", "recording,step,score", "no rows"),
        (
            "recording,step,segment,label\na,1,x,1\na,1,x,0",
            "recording,step,score\na,1,0.5",
            "'a 1 x' is given twice",
        ),
    ],
)
def test_wrong_files(write, gt, pred, message):
    with pytest.raises(UserError, match=message):
        score_classification(write("p.csv", pred), gt=write("g.csv", gt), **FAST)


def test_published_rescaling_of_a_constant_is_refused(write):
    one = write("all.csv", "recording,step,label,score\na,1,1,0.5\na,2,0,0.5")
    with pytest.raises(UserError, match=r"all 2 scores are 0\.5"):
        score_classification(one, protocol="published", threshold=0.4, **FAST)
    table = score_classification(one, **FAST)  # ties everywhere
    assert value(table, "all", "ROC-AUC").value == 0.5
    assert value(table, "all", "precision").note.startswith("nothing was called a mistake")


@pytest.mark.shared
def test_test_set_r_of_the_published_split(shared_data, shared_expected, tmp_path):
    """671 steps with 241 mistakes, through the files and through the functions."""
    folder = shared_data / "captaincook4d"
    split = json.loads((folder / "er_annotations/recordings_combined_splits.json").read_text())
    entries = json.loads((folder / "annotation_json/error_annotations.json").read_text())
    expected = shared_expected("recognition")["error_recognition_test_sets"]["R"]
    rows = [
        (entry["recording_id"], step["step_id"], k, int(bool(step.get("errors"))))
        for entry in entries
        if entry["recording_id"] in split["test"]
        for k, step in enumerate(entry["step_annotations"])
        if step["start_time"] >= 0
    ]
    steps = {
        how: group_steps(
            [r[3] for r in rows],
            [r[0] for r in rows],
            [str(r[1]) for r in rows],
            [str(r[2]) for r in rows],
            repeated=how,
        )
        for how in ("or", "last")
    }
    assert len(steps["or"].names) == expected["steps"]
    gt = tmp_path / "gt.csv"
    gt.write_text(as_csv("recording,step,segment,label", rows) + "\n")
    pred = tmp_path / "pred.csv"
    pred.write_text(as_csv("recording,step,score", sorted({(r[0], r[1], 0.7) for r in rows})) + "\n")
    table = score_classification(pred, gt=gt, repeated="last", resamples=0)
    assert (table.headline["steps"], table.headline["positives"]) == (671, expected["positives"])
    assert 100 * value(table, "all", "F1").value == pytest.approx(52.85, abs=0.005)
    assert 100 * value(table, "all", "accuracy").value == pytest.approx(35.92, abs=0.005)
    assert int(steps["or"].reference.sum()) - int(steps["last"].reference.sum()) in range(4)


def test_read_samples_reports_levels(write):
    pred = write("p.csv", SUBSTEPS)
    levels = read_samples(write("g.csv", STEPS), pred, ClassificationSettings(pred=pred))[""]
    assert list(levels) == ["step", "sub-step"]
    assert levels["step"].recordings == ("a", "a", "b")
    assert len(levels["sub-step"]) == 7
