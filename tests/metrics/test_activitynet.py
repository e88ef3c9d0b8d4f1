import csv

import pytest

from proctor.metrics.activitynet import (
    is_ground_truth,
    is_results,
    parse_ground_truth,
    parse_results,
    render_csv,
    subsets,
)
from proctor.metrics.errors import MetricInputError
from proctor.metrics.localization.segments import Segments

GROUND_TRUTH = {
    "version": "1",
    "database": {
        "v2": {
            "subset": "Validation",
            "duration": 99.5,
            "annotations": [
                {"label": "Pour", "label_id": 7, "segment": [1, 2.5], "has_error": True},
                {"label": "Cut", "label_id": 3, "segment": [-1, -1]},
            ],
        },
        "v1": {"subset": "Training", "annotations": [{"label": "Cut", "label_id": 3, "segment": [0, 9]}]},
        "v0": {"subset": "Validation", "annotations": []},
        "v9": {"subset": "Test"},
    },
}
RESULTS = {
    "version": "1",
    "results": {
        "v2": [{"label": 7, "score": 0.25, "segment": [1, 2]}, {"label": "8", "score": 1, "segment": [3, 4]}],
        "v0": [],
    },
    "external_data": {},
}


def rows(segments):
    score = [None] * len(segments) if segments.score is None else segments.score.tolist()
    return [
        (segments.videos[v], a, b, segments.labels[c], s)
        for v, a, b, c, s in zip(
            segments.video, segments.start.tolist(), segments.end.tolist(), segments.label, score, strict=True
        )
    ]


def test_ground_truth():
    segments = parse_ground_truth(GROUND_TRUTH)
    assert sorted(rows(segments), key=str) == [
        ("v1", 0.0, 9.0, "Cut", None),
        ("v2", -1.0, -1.0, "Cut", None),
        ("v2", 1.0, 2.5, "Pour", None),
    ]
    assert segments.videos == ("v0", "v1", "v2", "v9")  # also those without segments
    assert segments.columns["subset"].tolist() == ["Validation", "Validation", "Training"]
    assert segments.columns["has_error"].tolist() == ["true", "", ""]
    assert segments.columns["label_id"].tolist() == ["7", "3", "3"]


@pytest.mark.parametrize("subset", ["Validation", "validation", "VALIDATION"])
def test_one_subset_by_another_key(subset):
    segments = parse_ground_truth(GROUND_TRUTH, subset=subset, label_key="label_id")
    assert [r[3] for r in rows(segments)] == ["7", "3"]
    assert segments.videos == ("v0", "v2")
    assert segments.columns["label_text"].tolist() == ["Pour", "Cut"]


def test_a_subset_that_is_not_there_names_those_that_are():
    assert subsets(GROUND_TRUTH) == {"Test": 1, "Training": 1, "Validation": 2}
    message = r"'testing'; there are 'Test' \(1 videos\), 'Training' \(1 videos\), 'Validation' \(2 videos\)"
    with pytest.raises(MetricInputError, match=message):
        parse_ground_truth(GROUND_TRUTH, subset="testing")


def test_results():
    segments = parse_results(RESULTS)
    assert rows(segments) == [("v2", 1.0, 2.0, "7", 0.25), ("v2", 3.0, 4.0, "8", 1.0)]
    assert segments.videos == ("v0", "v2")


def test_kinds():
    assert is_ground_truth(GROUND_TRUTH)
    assert is_results(RESULTS)
    assert not is_ground_truth(RESULTS)
    assert not is_results([])
    assert not is_ground_truth("database")


def wrong_annotation(**change):
    annotation = {"label": "x", "segment": [0, 1], "score": 0.5} | change
    return [annotation]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (wrong_annotation(segment=None), r"video 'v', annotation 0: 'segment' must be \[start, end\].* None"),
        (wrong_annotation(segment=[1]), "must be \\[start, end\\]"),
        (wrong_annotation(segment=["0", 1]), "the start must be a number, got '0'"),
        (wrong_annotation(segment=[0, float("nan")]), "the end is not finite"),
        (wrong_annotation(segment=[0, 10**400]), "the end is not finite"),
        (wrong_annotation(score=None), "the score must be a number, got None"),
        (wrong_annotation(score=True), "the score must be a number, got True"),
        (wrong_annotation(score=float("inf")), "the score is not finite"),
        (
            wrong_annotation(label=None),
            "'label' must be a text or a whole number, got None; it has 'label', 'segment'",
        ),
        (wrong_annotation(label=1.5), "got 1.5"),
        (wrong_annotation(label=""), "got ''"),
        ([3], "annotation 0: an object was expected, got a number"),
        ("x", "video 'v': an array of annotations was expected, got a text"),
    ],
)
def test_wrong_entries_are_named(entry, message):
    with pytest.raises(MetricInputError, match=message):
        parse_results({"results": {"v": entry}})


@pytest.mark.parametrize("document", [{}, [], None, {"database": []}, {"results": {}}])
def test_documents_that_are_none(document):
    with pytest.raises(MetricInputError, match="an object with an object 'database' was expected"):
        parse_ground_truth(document)


def test_a_video_that_is_no_object():
    with pytest.raises(MetricInputError, match="video 'v': an object was expected, got an array"):
        parse_ground_truth({"database": {"v": []}})


def test_nothing():
    assert len(parse_ground_truth({"database": {}})) == 0
    assert len(parse_results({"results": {}})) == 0
    with pytest.raises(MetricInputError, match="there are no videos"):
        parse_ground_truth({"database": {}}, subset="x")


def test_columns_that_would_hide_a_part_of_the_annotation():
    segments = Segments.of(["v"], [0], [1], ["x"], [0.5], columns={"label": ["y"]})
    with pytest.raises(MetricInputError, match="a column is called 'label'"):
        render_csv(segments)


def test_csv_of_both_kinds():
    truth = Segments.of(["v"], [0.1], [1], ["a, b"], columns={"has_error": ["1"]})
    assert render_csv(truth) == 'video-id,t-start,t-end,label,has_error\nv,0.1,1.0,"a, b",1\n'
    found = Segments.of(["v"], [0], [1], ["x"], [1 / 3])
    assert list(csv.reader(render_csv(found).splitlines()))[1] == ["v", "0.0", "1.0", "x", repr(1 / 3)]
    assert render_csv(Segments.of([], [], [], [], [])) == "video-id,t-start,t-end,label,score\n"
