import csv
import gzip
import json
import math
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.stages.scoring.scored import family

from proctor.cli.scoring.families import table_as_json
from proctor.errors import UserError
from proctor.metrics.figure import Bars, IntervalPlot
from proctor.metrics.localization import METRICS
from proctor.stages.scoring.localization import (
    parse_tiou,
    read_ground_truth,
    read_label_map,
)

score_localization = family("localization", "gt", "pred")

# A worked example of detection.
GT = "video-id,t-start,t-end,label,has_error\nA,0,10,c0,1\nA,20,30,c0,0\nB,0,4,c1,0\n"
PRED = (
    ",video-id,t-start,t-end,label,score\n"
    "0,A,1,9,c0,.9\n1,A,0,10,c0,.8\n2,A,21,35,c0,.7\n3,B,0,5,c0,.6\n4,B,1,5,c1,.5\n"
)

# ../shared/expected/recognition.json, by protocol.
GOLDEN = {
    "published": {
        "mAP": [13.6071, 12.8378, 12.2702, 11.785, 10.4846],
        "R@1x": [21.8662, 19.6244, 18.6385, 17.1772, 14.6244],
        "R@5x": [28.9378, 27.9988, 26.7664, 25.1291, 22.0481],
        "counts": (53, 764, 284),
    },
    "activitynet": {
        "mAP": [13.8281, 13.0613, 12.4936, 12.0036, 10.7036],
        "R@1x": [22.3357, 20.0939, 19.108, 17.4707, 14.9178],
        "R@5x": [29.1138, 28.1749, 26.9425, 25.1291, 22.0481],
        "counts": (53, 764, 284),
    },
    "corrected": {
        "mAP": [43.8661, 41.135, 38.8242, 37.3792, 33.4669],
        "R@1x": [67.2515, 59.6491, 56.1404, 50.8772, 43.8596],
        "R@5x": [88.4016, 86.3548, 82.5536, 76.9006, 68.7135],
        "counts": (19, 237, 171),
    },
}
BLOCKS = {
    "published": "reference_semantics",
    "activitynet": "no_label_collision",
    "corrected": "correct_subset_semantics",
}
RAW, RENUMBERED = "gt_environment_test.csv", "gt_environment_test_compressed_labels.csv"
MAP = "msl_environment_label_to_index.json"
PREDICTIONS = "preds_omnivore_4s_60sub_environment_error_videos.csv.gz"


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        content = content if isinstance(content, str | bytes) else json.dumps(content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def small(write):
    return write("gt.csv", GT), write("pred.csv", PRED)


@pytest.mark.shared
@pytest.mark.parametrize("protocol", GOLDEN)
@pytest.mark.parametrize(("gt", "with_map"), [(RAW, False), (RAW, True), (RENUMBERED, True)])
def test_golden_numbers_of_the_shared_predictions(shared_data, shared_expected, protocol, gt, with_map):
    folder = shared_data / "msl"
    table = score_localization(
        folder / gt,
        folder / PREDICTIONS,
        protocol=protocol,
        videos="predicted" if protocol == "corrected" else None,
        label_map=folder / MAP if with_map else None,
        resamples=0,
    )
    found, golden = table.headline, GOLDEN[protocol]
    expected = shared_expected("recognition")
    assert expected["tiou"] == found["tiou"] == [0.1, 0.2, 0.3, 0.4, 0.5]
    for name in ("mAP", "R@1x", "R@5x"):
        assert np.round(found[name], 4).tolist() == golden[name] == expected[BLOCKS[protocol]][name]
    assert (found["videos"], found["segments"], found["classes"]) == golden["counts"]
    assert found["classes"] == expected[BLOCKS[protocol]]["classes"]
    assert found["predictions"] == 38_000
    assert found["protocol"] == protocol


@pytest.mark.shared
def test_published_rows_to_the_last_printed_digit(shared_data, shared_expected):
    folder = shared_data / "msl"
    found = score_localization(folder / RAW, folder / PREDICTIONS, protocol="published", resamples=0).headline
    row = shared_expected("recognition")["published_row"]
    with (folder / "published_error.csv").open(encoding="utf-8") as stream:
        wanted = (row["backbone"], row["division"], row["videos"])
        rows = [
            r for r in csv.DictReader(stream) if (r["Backbone"], r["DivisionType"], r["VideosType"]) == wanted
        ]
    assert [float(r["IoU"]) for r in rows] == found["tiou"]
    for name, column in (("mAP", "mAP"), ("R@1x", "Recall@1x"), ("R@5x", "Recall@5x")):
        # 11.785 lies between two printed values: the file has 11.78, ours is 11.78496.
        assert [f"{v:.2f}" for v in found[name]] == [f"{float(r[column]):.2f}" for r in rows]
        assert np.round(found[name], 2).tolist() == row[name]


@pytest.mark.shared
@pytest.mark.parametrize(
    ("protocol", "printed"),
    [
        ("published", {"mAP": [13.607, 12.838, 12.270, 11.785, 10.485]}),
        ("published", {"R@1x": [21.866, 19.624, 18.638, 17.177, 14.624]}),
        ("published", {"R@5x": [28.938, 27.999, 26.766, 25.129, 22.048]}),
    ],
)
def test_rows_written_down_in_three_decimals(shared_data, protocol, printed):
    folder = shared_data / "msl"
    found = score_localization(folder / RAW, folder / PREDICTIONS, protocol=protocol, resamples=0).headline
    for name, values in printed.items():
        assert np.round(found[name], 3).tolist() == values


@pytest.mark.shared
@pytest.mark.parametrize("protocol", GOLDEN)
def test_renumbered_ground_truth_without_a_map_is_refused(shared_data, protocol):
    folder = shared_data / "msl"
    with pytest.raises(UserError) as caught:
        score_localization(folder / RENUMBERED, folder / PREDICTIONS, protocol=protocol, resamples=0)
    assert "exactly 0 to 283" in str(caught.value)
    assert "pass the label map" in caught.value.render()


@pytest.mark.shared
def test_recall_of_steps_with_and_without_a_mistake(shared_data):
    folder = shared_data / "msl"
    table = score_localization(
        folder / RAW, folder / PREDICTIONS, videos="predicted", slice_column="has_error", resamples=200,
        tiou="0.1,0.5",
    )  # fmt: skip
    slices = {(s["slice"], s["tiou"], s["k"]): s for s in table.headline["slices"]}
    wrong, right = slices["has_error=1", 0.5, 1], slices["has_error=0", 0.5, 1]
    assert (wrong["segments"], right["segments"]) == (168, 69)
    together = (wrong["recall"] * 168 + right["recall"] * 69) / 237
    assert together == pytest.approx(table.headline["micro_R@1x"][1])
    gap = slices["has_error: 1 less 0", 0.5, 1]
    assert gap["recall"] == pytest.approx(wrong["recall"] - right["recall"])
    assert gap["low"] < gap["recall"] < gap["high"]
    assert isinstance(table.figures[1], IntervalPlot)
    assert table.figures[1].labels[0] == "has_error=0, R@1x"


def test_golden_example(small):
    table = score_localization(*small, tiou="0.3,0.5,0.7", resamples=50, slice_column="has_error")
    found = table.headline
    assert np.round(found["mAP"], 4).tolist() == [91.6667, 91.6667, 25.0]
    assert found["R@1x"] == [75, 75, 25]
    assert found["R@5x"] == [100, 100, 25]
    assert found["average_mAP"] == pytest.approx(np.mean(found["mAP"]))
    assert found["micro_R@5x"][:2] == [100, 100]
    assert [c["label"] for c in found["per_class"]] == ["c0", "c1"]
    assert found["per_class"][0]["segments"] == 2
    assert found["per_class"][0]["predictions"] == 4
    assert np.mean([c["AP"] for c in found["per_class"]], axis=0).tolist() == pytest.approx(found["mAP"])
    assert len(found["intervals"]["mAP"]) == len(found["intervals"]["micro_R@5x"]) == 3
    low, high = found["intervals"]["average_mAP"]
    assert low <= found["average_mAP"] <= high
    assert any("only 2 videos" in note for note in table.notes)
    cell = next(r for r in table.rows if (r.metric, r.slice) == ("mAP", "tIoU 0.5"))
    assert cell.shown.value == found["mAP"][1]
    assert [cell.shown.low, cell.shown.high] == found["intervals"]["mAP"][1]
    assert str(cell.score.signature) == (
        "mean_average_precision|average:macro|cluster:video|failed:not-found|interval:centred-95|matching:greedy|protocol:corrected|"
        "resamples:50|tiou:0.5|videos:reference"
    )
    for row in table.rows:
        if not row.chance and row.slice.startswith("tIoU") and row.metric.startswith(("micro R", "R@")):
            key = row.metric.replace("micro R", "micro_R")
            place = found["tiou"].index(float(row.slice.split()[1]))
            assert row.shown.value == found[key][place]
            assert [row.shown.low, row.shown.high] == found["intervals"][key][place]
    signatures = [str(row.score.signature) for row in table.rows]
    assert len(set(signatures)) == len(signatures)  # no two cells under one name


def test_chance_stands_beside_and_does_not_depend_on_the_order_of_rows(write, small):
    table = score_localization(*small, resamples=0, seed=1)
    chance = {(r.slice, r.metric): r.score for r in table.rows if r.chance}
    assert {line for line, _ in chance} == {"average", *(f"tIoU 0.{k}" for k in range(1, 6))}
    assert all(
        "predictor:shuffled-labels|protocol:corrected|seed:1" in str(s.signature) for s in chance.values()
    )
    head, *lines = PRED.splitlines()
    turned = write("turned.csv", "\n".join([head, *lines[::-1]]) + "\n")
    again = score_localization(small[0], turned, resamples=0, seed=1)
    assert {(r.slice, r.metric): r.score for r in again.rows if r.chance} == chance


def test_signatures_are_those_of_the_catalogue(small):
    printed = {str(row.score.signature) for row in score_localization(*small, resamples=0).rows}
    assert {entry.signature for entry in METRICS} <= printed


def test_json_has_the_keys_that_others_rely_on(small):
    document = json.loads(json.dumps(table_as_json(score_localization(*small, resamples=0))))
    assert document["family"] == "localization"
    for key in ("mAP", "R@1x", "R@5x", "micro_R@1x", "micro_R@5x"):
        assert len(document[key]) == len(document["tiou"]) == 5
    assert {
        "protocol",
        "classes",
        "average_mAP",
        "videos",
        "segments",
        "predictions",
        "per_class",
    } <= document.keys()
    assert "intervals" not in document
    assert document["counts"]["predictions read"] == 5


def test_the_same_data_from_every_kind_of_file(write, small):
    rows = [
        dict(zip(("video", "start", "end", "label", "has_error"), line.split(","), strict=True))
        for line in GT.split()[1:]
    ]
    found = [line.split(",")[1:] for line in PRED.split()[1:]]
    database = {"A": {"subset": "test", "annotations": []}, "B": {"subset": "test", "annotations": []}}
    results = {"A": [], "B": []}
    for r in rows:
        segment = [float(r["start"]), float(r["end"])]
        database[r["video"]]["annotations"].append(
            {"label": r["label"], "segment": segment, "has_error": r["has_error"]}
        )
    for v, a, b, c, s in found:
        results[v].append({"label": c, "score": float(s), "segment": [float(a), float(b)]})
    expected = score_localization(*small, slice_column="has_error", resamples=20)
    truths = [
        write("gt.json", {"database": database}),
        write("gt.csv.gz", gzip.compress(GT.encode())),
        write("gt.tsv", GT.replace(",", "\t")),
        write("gt.jsonl", "\n".join(map(json.dumps, rows))),
        write("list.json", rows),
        write("gt2.json.gz", gzip.compress(json.dumps({"database": database}).encode())),
    ]
    for truth in truths:
        for predictions in (small[1], write("pred.json", {"results": results})):
            table = score_localization(truth, predictions, slice_column="has_error", resamples=20)
            assert table == expected


def test_labels_are_written_in_one_way(write):
    gt = write("gt.csv", "video-id,t-start,t-end,label\na,0,1,7.0\na,2,3, 8\n")
    pred = write("pred.jsonl", '{"video": "a", "start": 0, "end": 1, "label": 7, "score": 1}')
    assert [c["label"] for c in score_localization(gt, pred, resamples=0).headline["per_class"]] == ["7", "8"]
    assert score_localization(gt, pred, resamples=0).headline["mAP"] == [50.0] * 5


def activitynet(write):
    database = {
        "A": {"subset": "Validation", "annotations": [{"label": "x", "label_id": 1, "segment": [0, 10]}]},
        "B": {"subset": "Training", "annotations": [{"label": "y", "label_id": 2, "segment": [0, 10]}]},
    }
    return write("gt.json", {"database": database})


def test_subset_of_activitynet(write):
    gt = activitynet(write)
    pred = write("pred.csv", "video-id,t-start,t-end,label,score\nA,0,10,x,1\nB,50,60,y,1\n")
    assert score_localization(gt, pred, resamples=0, subset="validation").headline["mAP"] == [100.0] * 5
    whole = score_localization(gt, pred, resamples=0)
    assert whole.headline["mAP"] == [50.0] * 5
    assert any(
        "several subsets, all were read: 'Training' (1 videos), 'Validation' (1" in n for n in whole.notes
    )
    with pytest.raises(UserError, match=r"subset 'test'; there are 'Training' \(1 videos\), 'Validation'"):
        score_localization(gt, pred, subset="test")


def test_subset_of_a_table(write, small):
    gt = write("sub.csv", "video-id,t-start,t-end,label,subset\nA,0,10,c0,val\nB,0,4,c1,test\n")
    table = score_localization(gt, small[1], subset="VAL", resamples=0)
    assert (table.headline["videos"], table.headline["segments"]) == (1, 1)
    assert table.counts["predictions in videos without ground truth"] == 2
    assert "subset:VAL" in str(table.rows[0].score.signature)
    with pytest.raises(UserError, match="no row belongs to the subset 'train'; there are 'test', 'val'"):
        score_localization(gt, small[1], subset="train")
    with pytest.raises(UserError, match="the table has no column 'subset'"):
        score_localization(small[0], small[1], subset="val")


def test_another_key_of_the_class(write):
    gt = activitynet(write)
    pred = write("pred.csv", "video-id,t-start,t-end,label,score\nA,0,10,1,1\nB,0,10,2,1\n")
    assert score_localization(gt, pred, resamples=0, label_key="label_id").headline["mAP"] == [100.0] * 5
    both = write(
        "p.json", {"results": {"A": [{"label": "?", "label_id": 1, "score": 1, "segment": [0, 10]}]}}
    )
    assert score_localization(gt, both, resamples=0, label_key="label_id").headline["mAP"] == [50.0] * 5
    with pytest.raises(UserError, match="'step' must be a text or a whole number, got None; it has 'label'"):
        score_localization(gt, pred, label_key="step")


def test_evaluated_videos_from_a_list(write, small):
    table = score_localization(*small, videos=write("v.txt", "\ufeffB\r\n\n"), resamples=0)
    assert (table.headline["videos"], table.headline["segments"]) == (1, 1)
    assert "videos:listed" in str(table.rows[0].score.signature)
    with pytest.raises(UserError, match="the list of videos is empty"):
        score_localization(*small, videos=write("v.txt", "\n"))
    with pytest.raises(UserError, match="keeps the ground truth of all videos"):
        score_localization(*small, videos=write("v.txt", "B"), protocol="published")


def test_withheld_videos_raise_no_score(write):
    gt = write("gt.csv", "video-id,t-start,t-end,label,has_error\nv1,0,10,x,0\nv2,0,10,x,1\n")
    pred = "video-id,t-start,t-end,label,score\nv1 ,0,10, x,.9\n"
    table = score_localization(gt, write("p.csv", pred), resamples=0, slice_column="has_error")
    assert table.headline["mAP"] == [50.0] * 5
    assert {(r.score.n, r.score.failed, r.score.skipped) for r in table.rows if "tIoU" in r.slice[:4]} == {
        (1, 1, 0)
    }
    slices = {r.slice: r.score for r in table.rows}
    assert (slices["has_error=1, tIoU 0.5"].n, slices["has_error=1, tIoU 0.5"].failed) == (0, 1)
    assert any(
        "1 of 2 ground truth videos have no prediction; their segments count" in n for n in table.notes
    )
    subset = score_localization(gt, write("p.csv", pred), videos="predicted", resamples=0)
    assert subset.headline["mAP"] == [100.0] * 5
    assert (subset.rows[0].score.n, subset.rows[0].score.failed, subset.rows[0].score.skipped) == (1, 0, 1)
    assert subset.rows[0].score.signature.parameters["videos"] == "predicted"
    near = write("near.csv", pred + "V2,0,10,x,.9\n")
    assert any("'V2' (reference: 'v2')" in note for note in score_localization(gt, near, resamples=0).notes)


@pytest.mark.parametrize("side", ["gt", "pred"])
def test_reversed_times_are_refused(write, small, side):
    text = (GT if side == "gt" else PRED) + ("A,9,3,c0,0\n" if side == "gt" else "9,A,9,3,c0,.1\n")
    files = [
        write("bad.csv", text) if name == side else path
        for name, path in zip(("gt", "pred"), small, strict=True)
    ]
    with pytest.raises(UserError, match=r"the segment ends at 3 s, before its start at 9 s") as caught:
        score_localization(*files, resamples=0)
    assert "bad.csv, line" in str(caught.value)


def test_repeated_and_empty_segments_go_only_when_asked(write):
    gt = write("gt.csv", "video-id,t-start,t-end,label\na,0,10,x\na,0.0005,10,x\na,-1,-1,x\n")
    pred = write("pred.csv", "video-id,t-start,t-end,label,score\na,0,10,x,.9\na,0,10,x,.8\na,5,5,x,1\n")
    kept = score_localization(gt, pred, resamples=0, tiou="0.5")
    assert kept.headline["segments"] == 3
    assert kept.counts["duplicate ground truth segments kept"] == 1
    assert kept.counts["empty predictions kept"] == 1
    assert sum("were kept; --drop" in note for note in kept.notes) == 4
    assert kept.headline["mAP"][0] == pytest.approx(100 * 2 / 3 * 2 / 3)
    dropped = score_localization(gt, pred, resamples=0, tiou="0.5", drop_duplicates=True, drop_empty=True)
    assert dropped.headline["mAP"] == [100.0]
    assert (dropped.headline["segments"], dropped.headline["predictions"]) == (1, 1)
    assert dropped.counts["duplicate predictions dropped"] == 1
    assert dropped.counts["empty ground truth segments dropped"] == 1
    assert dropped.notes == ()
    assert "dropped:duplicates,empty" in str(dropped.rows[0].score.signature)


def test_matches_written(small, tmp_path):
    path = tmp_path / "m.csv"
    table = score_localization(*small, tiou="0.3,0.7", slice_column="has_error", resamples=0, matches=path)
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert [(r["video-id"], r["label"], r["has_error"]) for r in rows] == [
        ("A", "c0", "1"),
        ("A", "c0", "0"),
        ("B", "c1", "0"),
    ]
    assert [r["score@0.3"] for r in rows] == ["0.9", "0.7", "0.5"]
    assert [r["score@0.7"] for r in rows] == ["0.9", "", ""]
    assert [float(r["iou@5x"]) for r in rows] == pytest.approx([1.0, 9 / 15, 3 / 5])
    recalled = [100 * np.mean([float(r["iou@5x"]) >= t for r in rows]) for t in (0.3, 0.7)]
    assert recalled == pytest.approx(table.headline["micro_R@5x"])


def test_matches_of_nothing(write, tmp_path):
    gt = write("gt.csv", GT)
    pred = write("p.csv", "video-id,t-start,t-end,label,score\nA,90,99,zzz,1\n")
    score_localization(gt, pred, resamples=0, matches=tmp_path / "m.csv")
    assert "A,0.0,10.0,c0,,,,,,0.0,0.0" in (tmp_path / "m.csv").read_text()


def test_order_of_the_rows_changes_nothing(write, small):
    head, *rest = PRED.splitlines()
    again = score_localization(small[0], write("p.csv", "\n".join([head, *rest[::-1]])), resamples=30)
    assert again == score_localization(*small, resamples=30)


def test_bars_show_the_largest_classes_first(write):
    rows = [f"v,{10 * k},{10 * k + 5},{c}" for c in range(60) for k in range(3 if c in (7, 55) else 1)]
    gt = write("gt.csv", "video-id,t-start,t-end,label\n" + "\n".join(rows))
    pred = write("pred.csv", "video-id,t-start,t-end,label,score\nv,0,5,7,1\n")
    (bars,) = score_localization(gt, pred, resamples=0).figures
    assert isinstance(bars, Bars)
    assert bars.title == "Average precision at tIoU 0.3, classes with most segments first"
    assert len(bars.labels) == len(bars.values) == len(bars.counts) == 60
    assert bars.labels[:3] == ("7", "55", "0")
    assert bars.values[bars.labels.index("7")] == pytest.approx(100 / 3)


@pytest.mark.parametrize(
    ("gt", "pred", "options", "message"),
    [
        (GT.replace("20,30", "nan,30"), PRED, {}, "gt.csv, line 3, column 't-start': a finite number"),
        (GT, PRED.replace(".7", "inf"), {}, "pred.csv, line 4, column 'score': a finite number"),
        (GT, PRED.replace("score", "points"), {}, "there is no column 'score'"),
        (GT, PRED.replace("B", "", 1), {}, "column 'video-id': the value is missing"),
        (GT, "video-id,t-start,t-end,label,score\n", {}, "the file has no rows"),
        (GT.splitlines()[0], PRED, {}, "the file has no rows"),
        (GT, PRED, {"slice_column": "mistake"}, "there is no column 'mistake'; the columns are"),
        (GT, PRED, {"protocol": "official"}, "one of published, activitynet, corrected"),
        (GT, PRED, {"tiou": "0.5,50"}, "no list of thresholds above 0"),
        (GT, PRED, {"confidence": 95}, "confidence must lie strictly between 0 and 1"),
        (GT.replace("A", "X").replace("B", "Y"), PRED, {}, "none of the predicted videos has ground truth"),
    ],
)
def test_what_cannot_be_scored_is_named(write, gt, pred, options, message):
    with pytest.raises(UserError) as caught:
        score_localization(write("gt.csv", gt), write("pred.csv", pred), **options)
    assert message in caught.value.render()


def test_exchanged_and_foreign_json(write, small):
    truth, found = write("a.json", {"database": {}}), write("b.json", {"results": {}})
    with pytest.raises(UserError, match="these are predictions"):
        score_localization(found, small[1])
    with pytest.raises(UserError, match="this is ground truth"):
        score_localization(small[0], truth)
    with pytest.raises(UserError, match="the ground truth has no segments"):
        score_localization(truth, small[1])
    with pytest.raises(UserError, match="an object with an object 'database' was expected, got a text"):
        score_localization(write("c.json", '"x"'), small[1])
    with pytest.raises(UserError, match="annotations have no 'has_error'; they have 'subset', 'label_id'"):
        read_ground_truth(activitynet(write), columns=["label_id", "has_error"])
    results = {"results": {"A": [{"label": "c0", "score": float("nan"), "segment": [0, 1]}]}}
    with pytest.raises(UserError):
        score_localization(small[0], write("nan.json", results))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "an object {raw label"),
        ("{}", "an object {raw label"),
        ('{"1": 1.5}', "'1' is mapped to 1.5"),
        ('{"1": true}', "True"),
    ],
)
def test_label_maps_that_are_none(write, content, message):
    with pytest.raises(UserError, match=message):
        read_label_map(write("m.json", content))


def test_label_map_as_numbers_or_texts(write):
    assert read_label_map(write("m.json", '{"7.0": 0, " 8": "1", "x": "y"}')) == {
        "7": "0",
        "8": "1",
        "x": "y",
    }


def test_label_map_that_does_not_fit(write, small):
    with pytest.raises(UserError, match="fits the ground truth neither as raw labels") as caught:
        score_localization(*small, label_map=write("m.json", {"c0": 0}))
    assert "give the map" in caught.value.render()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.5", (0.5,)),
        ("0.5,0.1 0.3", (0.1, 0.3, 0.5)),
        ("0.5:0.95:0.05", (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)),
        ("0.1:0.5:0.1", (0.1, 0.2, 0.3, 0.4, 0.5)),
        ("0.3:0.3:1 0.3 1", (0.3, 1.0)),
    ],
)
def test_thresholds(text, expected):
    assert parse_tiou(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "0",
        "50",
        "nan",
        "0.5:0.9",
        "0.9:0.5:0.1",
        "0.1:0.5:0",
        "0.1:0.5:-1",
        "0.1:0.9:1e-9",
        "0.1:inf:1",
        "nan:1:0.1",
        "0.1:0.5:0.1:1",
    ],
)
def test_thresholds_that_are_none(text):
    with pytest.raises(UserError, match="no list of thresholds"):
        parse_tiou(text)


def test_every_value_is_finite_or_explained(small):
    for row in score_localization(*small, resamples=10, slice_column="has_error").rows:
        assert not math.isnan(row.score.value) or row.score.note


CELLS = [
    "",
    "nan",
    "-1",
    "1e99",
    "1e101",
    "x",
    "0",
    "-0.0",
    "1e-320",
    "c0",
    "A",
    "7.0",
    '"',
    ",",
    "\n",
    "\x00",
    "é",
    "1_0",
    " 5 ",
]
VALUES = [None, True, [], {}, "", "x", -1, 0, 1e99, 1e101, 7.0, [1, 2], {"a": 1}, 2**70]


def broken_json(draw, document):
    """Replace or remove one value somewhere in a copy of a document."""
    document = json.loads(json.dumps(document))
    spot, path = document, []
    while isinstance(spot, dict | list) and spot:
        keys = list(spot) if isinstance(spot, dict) else list(range(len(spot)))
        key = draw(st.sampled_from(keys))
        path.append((spot, key))
        spot = spot[key]
        if draw(st.integers(0, 3)) == 0:
            break
    holder, key = path[-1]
    if draw(st.booleans()):
        holder[key] = draw(st.sampled_from(VALUES))
    else:
        del holder[key]
    return document


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.data())
def test_broken_files_give_a_result_or_a_named_error(tmp_path, data):
    """No traceback, no warning (those are errors here), no value that is nan without a reason."""
    truth = {
        "A": {
            "subset": "s",
            "annotations": [{"label": "c0", "segment": [0, 10]}, {"label": "c0", "segment": [20, 30]}],
        }
    }
    found = {
        "A": [
            {"label": "c0", "score": 0.5, "segment": [1, 9]},
            {"label": "c1", "score": 0.4, "segment": [0, 10]},
        ]
    }
    if data.draw(st.booleans()):
        gt, pred = tmp_path / "gt.json", tmp_path / "pred.json"
        documents = [{"database": truth}, {"results": found}]
        which = data.draw(st.integers(0, 1))
        documents[which] = broken_json(data.draw, documents[which])
        for path, document in zip((gt, pred), documents, strict=True):
            path.write_text(json.dumps(document))
    else:
        gt, pred = tmp_path / "gt.csv", tmp_path / "pred.csv"
        texts = [GT, PRED]
        which = data.draw(st.integers(0, 1))
        cells = re.split("([,\n])", texts[which])
        cells[data.draw(st.integers(0, len(cells) - 1))] = data.draw(st.sampled_from(CELLS))
        texts[which] = "".join(cells)
        for path, text in zip((gt, pred), texts, strict=True):
            path.write_text(text, encoding="utf-8", newline="")
    try:
        table = score_localization(gt, pred, resamples=5, protocol=data.draw(st.sampled_from(sorted(GOLDEN))))
    except UserError:
        return
    for row in table.rows:
        assert 0 <= row.score.value <= 1 or row.score.note
    json.dumps(table_as_json(table), allow_nan=False)
