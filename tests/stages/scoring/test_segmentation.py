import gzip
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.stages.scoring.scored import family

from proctor.cli.scoring.families import table_as_json
from proctor.errors import UserError
from proctor.metrics.figure import IntervalPlot, Matrix
from proctor.metrics.segmentation import edit_score, frame_accuracy, segmental_f1

score_segmentation = family("segmentation", "gt", "pred")

GT = {"a": "AAAABBBB__", "b": "__CCCC", "c": "AB"}
PRED = {"a": "AABBBBBB__", "b": "__CC_C", "c": "AA"}


def write_frames(path, videos, first=0, step=1):
    rows = [f"{v},{first + step * i},{c}" for v, labels in videos.items() for i, c in enumerate(labels)]
    path.write_text("\n".join(["video,frame,label", *rows]) + "\n", encoding="utf-8")
    return path


def write_segments(path, videos, rate=1.0, background="_", **extra):
    head = ["video", "start", "end", "label", *extra]
    rows = []
    for video, labels in videos.items():
        begin = 0
        for i in range(1, len(labels) + 1):
            if i == len(labels) or labels[i] != labels[begin]:
                if labels[begin] != background:
                    cells = [video, begin / rate, i / rate, labels[begin]]
                    rows.append(",".join(map(str, [*cells, *(values[video] for values in extra.values())])))
                begin = i
    path.write_text("\n".join([",".join(head), *rows]) + "\n", encoding="utf-8")
    return path


def write_folder(path, videos, suffix=".txt"):
    path.mkdir()
    for video, labels in videos.items():
        (path / f"{video}{suffix}").write_text("\n".join(labels) + "\n\n", encoding="utf-8")
    return path


@pytest.fixture
def files(tmp_path):
    return write_frames(tmp_path / "gt.csv", GT), write_frames(tmp_path / "pred.csv", PRED)


def values(table, line="all"):
    return {row.metric: row.shown.value for row in table.rows if row.slice == line}


def test_scores_are_those_of_the_functions(files):
    scored = score_segmentation(*files, background=["_"], resamples=0)
    found = {row.metric: row.score.value for row in scored.rows if row.slice == "all"}
    gt, pred = list(map(list, GT.values())), list(map(list, PRED.values()))
    assert found["MoF"] == pytest.approx(float(frame_accuracy(gt, pred)))
    assert found["MoF-bg"] == pytest.approx(float(frame_accuracy(gt, pred, background=["_"])))
    assert found["MoF/video"] == pytest.approx(float(frame_accuracy(gt, pred, average="videos")))
    assert found["Edit"] == pytest.approx(float(edit_score(gt, pred, background=["_"])))
    for t in (0.1, 0.25, 0.5):
        assert found[f"F1@{100 * t:g}"] == pytest.approx(
            float(segmental_f1(gt, pred, overlap=t, background=["_"]))
        )
    assert found["start off, median (frames)"] == 0.0


def test_every_kind_of_file_gives_the_same_scores(tmp_path, files):
    expected = table_as_json(score_segmentation(*files, background=["_"], rate=2.0, resamples=100))
    seconds = {video: len(labels) / 2.0 for video, labels in GT.items()}
    kinds = {
        "folder": lambda name, videos: write_folder(tmp_path / name, videos),
        "results": lambda name, videos: write_results(tmp_path / name, videos),
        "segments": lambda name, videos: write_segments(
            tmp_path / f"{name}.csv", videos, rate=2.0, duration=seconds
        ),
        "jsonl": lambda name, videos: write_jsonl(tmp_path / f"{name}.jsonl.gz", videos),
    }
    for kind, write in kinds.items():
        gt, pred = write(f"{kind}-gt", GT), write(f"{kind}-pred", PRED)
        assert (
            table_as_json(score_segmentation(gt, pred, background=["_"], rate=2.0, resamples=100)) == expected
        ), kind
        mixed = score_segmentation(files[0], pred, background=["_"], rate=2.0, resamples=100)
        assert table_as_json(mixed) == expected, kind


def write_results(path, videos):
    """The released results' form: a headline, then all labels in one line; no suffix."""
    path.mkdir()
    for video, labels in videos.items():
        (path / video).write_text(f"### Frame level recognition: ###\n{' '.join(labels)}", encoding="utf-8")
    return path


def write_jsonl(path, videos):
    rows = [
        {"video_id": v, "frame": i, "label": c} for v, labels in videos.items() for i, c in enumerate(labels)
    ]
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows[::-1])).encode()))
    return path


def test_the_reference_says_how_long_a_video_is(tmp_path):
    gt = tmp_path / "gt.csv"
    gt.write_text("video,start,end,label,duration\na,0,10,A,10\n")
    pred = tmp_path / "pred.csv"
    pred.write_text("video,start,end,label\na,0,5,B\na,490,500,background\n")
    table = score_segmentation(gt, pred, rate=1.0, resamples=0)
    assert values(table)["MoF"] == 0.0
    assert table.counts["frames"] == 10
    assert table.counts["frames of segments past the end of their video"] == 490
    assert any("490 frames there were cut off: 'a'" in note for note in table.notes)
    gt.write_text("video,start,end,label\na,0,10,A\n")
    with pytest.raises(UserError, match="the length of video 'a' is not known") as caught:
        score_segmentation(gt, pred, rate=1.0)
    assert "--length predicted" in caught.value.render()
    lifted = score_segmentation(gt, pred, rate=1.0, resamples=0, length="predicted")
    assert values(lifted)["MoF"] == pytest.approx(98.0)
    assert "length:predicted" in str(lifted.rows[0].score.signature)


def test_segments_beside_frames_may_differ_by_a_rounding_only(tmp_path):
    gt = tmp_path / "gt.csv"
    gt.write_text("video,start,end,label,duration\na,0,10.4,A,10.4\n")
    pred = write_frames(tmp_path / "p.csv", {"a": "A" * 10})
    assert values(score_segmentation(gt, pred, rate=1.0, resamples=0))["MoF"] == 100.0
    short = write_frames(tmp_path / "s.csv", {"a": "A" * 9})
    with pytest.raises(UserError, match="11 frames in the reference and 9 in the prediction"):
        score_segmentation(gt, short, rate=1.0)
    trimmed = score_segmentation(gt, short, rate=1.0, resamples=0, lengths="trim")
    assert "lengths:trim" in str(trimmed.rows[0].score.signature)


def test_without_a_duration_a_video_may_end_with_its_last_segment(tmp_path):
    gt = write_segments(tmp_path / "gt.csv", {"a": "AAAA__"})
    pred = write_segments(tmp_path / "pred.csv", {"a": "AAAAA_"})
    table = score_segmentation(gt, pred, rate=1.0, resamples=0, length="predicted")
    assert table.counts["frames"] == 5
    assert values(table)["MoF"] == pytest.approx(80.0)
    assert "labelled 'background'" in table.notes[0]
    assert values(table)["F1@50"] == 100.0


def test_chance_stands_beside(files):
    table = score_segmentation(*files, background=["_"], resamples=0, seed=4)
    majority = values(table, "majority label")
    # The most frequent label of 18 frames: A, B 5 each, so A by name; C and _ 4 each.
    assert majority["MoF"] == pytest.approx(100 * 5 / 18)
    random = values(table, "random label")
    assert 0 <= random["MoF"] <= 100
    assert values(
        score_segmentation(*files, background=["_"], resamples=0, seed=4), "random label"
    ) == pytest.approx(random, nan_ok=True)
    assert {row.slice for row in table.rows if row.chance} == {"majority label", "random label"}


def test_missing_and_unknown_videos_are_counted(tmp_path, files):
    pred = write_frames(tmp_path / "p.csv", {"a": PRED["a"], "z": "AB"})
    table = score_segmentation(files[0], pred, resamples=0)
    assert table.counts["videos"] == 1
    assert table.counts["videos without a prediction"] == 2
    assert table.counts["predicted videos that the reference lacks"] == 1
    assert {(row.score.n, row.score.failed) for row in table.rows} == {(1, 2)}


def test_unequal_lengths_are_an_error_or_cut_on_purpose(tmp_path, files):
    pred = write_frames(tmp_path / "p.csv", {**PRED, "a": PRED["a"] + "AAA"})
    with pytest.raises(UserError, match="video 'a' has 10 frames in the reference and 13 in the prediction"):
        score_segmentation(files[0], pred)
    table = score_segmentation(files[0], pred, lengths="trim", resamples=0)
    assert table.counts["frames cut off"] == 3
    assert values(table) == pytest.approx(values(score_segmentation(*files, resamples=0)))


def test_frames_may_be_sampled_but_alike(tmp_path, files):
    gt = write_frames(tmp_path / "g.csv", GT, first=1, step=15)
    pred = write_frames(tmp_path / "p.csv", PRED, first=1, step=15)
    assert values(score_segmentation(gt, pred, resamples=0)) == values(
        score_segmentation(*files, resamples=0)
    )
    with pytest.raises(UserError, match="frame 1 of the reference is aligned with frame 0 of the prediction"):
        score_segmentation(gt, files[1])


def test_overlapping_segments_need_a_decision(tmp_path):
    gt = tmp_path / "gt.csv"
    gt.write_text("video,start,end,label\na,0,4,A\na,2,6,B\n")
    with pytest.raises(UserError) as error:
        score_segmentation(gt, gt, rate=1, length="predicted")
    assert "video 'a': segment 1 (B, 2 to 6 s) overlaps" in error.value.render()
    table = score_segmentation(gt, gt, rate=1, conflict="later", length="predicted", resamples=0)
    assert table.headline["videos"][0]["reference_segments"] == 2
    assert values(table)["MoF"] == 100.0


def test_the_defect_of_the_published_rule_is_noted(tmp_path):
    gt = write_frames(tmp_path / "g.csv", {"a": "A" * 10 + "B" + "A" * 10})
    pred = write_frames(tmp_path / "p.csv", {"a": "AAA" + "B" + "A" * 12 + "C" * 5})
    published = score_segmentation(gt, pred, resamples=0)
    corrected = score_segmentation(gt, pred, resamples=0, matching="corrected")
    notes = [note for note in published.notes if "F1@25" in note]
    assert notes == [note for note in corrected.notes if "F1@25" in note]
    assert "finds 2 segments (57.14), the published rule 1 (28.57)" in notes[0]
    assert values(published)["F1@25"] == pytest.approx(200 / 7)
    assert values(corrected)["F1@25"] == pytest.approx(400 / 7)
    assert corrected.rows[3].score.signature.parameters["matching"] == "corrected"


def test_headline_keeps_every_video(files):
    headline = score_segmentation(*files, background=["_"], rate=5, overlaps="50", resamples=0).headline
    assert headline["F1"].keys() == {"50"}
    assert [video["video"] for video in headline["videos"]] == ["a", "b", "c"]
    assert headline["videos"][1] == {
        "video": "b",
        "frames": 6,
        "correct": 5,
        "edit": 50.0,
        "reference_segments": 1,
        "predicted_segments": 2,
        "found": {"50": 1},
    }
    assert headline["boundary_error"]["unit"] == "s"
    json.dumps(table_as_json(score_segmentation(*files, resamples=0)))


def test_pictures(tmp_path, files):
    plot, matrix = score_segmentation(*files, background=["_"], resamples=50).figures
    assert isinstance(plot, IntervalPlot)
    assert plot.labels == ("MoF", "MoF-bg", "MoF/video", "Edit", "F1@10", "F1@25", "F1@50")
    assert None not in plot.chance
    assert isinstance(matrix, Matrix)
    assert matrix.rows == ("A", "B", "C", "_")
    assert matrix.cells[0] == (3.0, 2.0, 0.0, 0.0)
    labels = [f"s{i:02d}" for i in range(40) for _ in range(40 - i)]
    many = write_folder(tmp_path / "many", {"v": labels})
    matrix = score_segmentation(many, many, resamples=0).figures[1]
    assert matrix.rows[-1] == "15 others"
    assert sum(map(sum, matrix.cells)) == len(labels)


def test_undefined_scores_carry_a_note_and_become_null(tmp_path):
    gt = write_frames(tmp_path / "g.csv", {"a": "____", "b": "__"})
    table = score_segmentation(gt, gt, background=["_"])
    assert math.isnan(values(table)["F1@50"])
    result = table_as_json(table)
    assert result["F1"]["50"] is None
    assert result["MoF"] == 100.0
    assert table.figures[0].values[0] == 100.0
    assert table.figures[0].values[-1] is None


def test_a_background_that_never_occurs_is_noted(files):
    assert any(
        "'SIL' does not occur" in note
        for note in score_segmentation(*files, background=["SIL"], resamples=0).notes
    )


def test_the_order_of_rows_changes_nothing(tmp_path, files):
    lines = files[1].read_text().splitlines()
    turned = tmp_path / "turned.csv"
    turned.write_text("\n".join([lines[0], *lines[:0:-1]]))
    first = table_as_json(score_segmentation(*files, resamples=200, seed=3))
    assert table_as_json(score_segmentation(files[0], turned, resamples=200, seed=3)) == first


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("video,label\na,A\n", "neither a column 'frame' nor a column 'start'"),
        ("frame,label\n1,A\n", "no column 'video'"),
        ("video,frame\na,1\n", "no column 'label'"),
        ("video,frame,label\na,1,A\na,1,B\n", "line 3, column 'frame': frame 1 of video 'a' is there twice"),
        (
            "video,frame,label\na,0,A\na,1,A\na,3,B\n",
            "line 4, column 'frame': frame 3 of video 'a' follows frame 1",
        ),
        ("video,frame,label\na,0.5,A\n", "a whole number was expected"),
        ("video,frame,label\na,0,\n", "the value is missing"),
        ("video,start,end,label\na,0,1,A\n", "segments in seconds need a number of frames per second"),
        (
            "video,frame,label\nz,0,A\n",
            "no video of the reference has a prediction; the reference has 'a', 'b', 'c'",
        ),
    ],
)
def test_wrong_files_are_named(tmp_path, files, text, message):
    pred = tmp_path / "wrong.csv"
    pred.write_text(text)
    with pytest.raises(UserError) as error:
        score_segmentation(files[0], pred)
    assert message in error.value.render()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("video,start,end,label\na,-1,1,A\n", "video 'a': segment 0 goes from -1 to 1 s"),
        (
            "video,start,end,label\na,2,1,A\n",
            "line 2, column 'end': the segment ends at 1 s, before its start at 2 s",
        ),
        ("video,start,end,label,duration\na,0,1,A,5\na,1,2,B,6\n", "video 'a' has more than one duration"),
        ("video,start,end,label\na,0,1e300,A\n", "up to 20,000,000 are possible"),
        ("video,start,end,label\na,0,inf,A\n", "a finite number was expected"),
    ],
)
def test_wrong_segments_are_named(tmp_path, text, message):
    path = tmp_path / "wrong.csv"
    path.write_text(text)
    with pytest.raises(UserError) as error:
        score_segmentation(path, path, rate=10, length="predicted")
    assert message in error.value.render()


def test_wrong_folders_and_options_are_named(tmp_path, files):
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(UserError, match="the folder has no files"):
        score_segmentation(empty, empty)
    holes = write_folder(tmp_path / "holes", {"a": ["A", "", "B"]})
    with pytest.raises(UserError, match=r"a.txt, line 2: the line has no label"):
        score_segmentation(holes, holes)
    (empty / "video.mp4").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="not UTF-8"):
        score_segmentation(empty, empty)
    with pytest.raises(UserError, match="percentages above 0 and up to 100"):
        score_segmentation(*files, overlaps="1000")
    with pytest.raises(UserError, match="frames per second above 0"):
        score_segmentation(*files, rate=-1)


def test_an_empty_label_file_is_skipped_and_counted(tmp_path):
    gt = write_folder(tmp_path / "g", {"a": "AB", "b": ""})
    table = score_segmentation(gt, gt, resamples=0)
    assert {(row.score.n, row.score.skipped) for row in table.rows} == {(1, 1)}


CELL = st.sampled_from(
    ["a", "b", "0", "1", "2", "3", "1.5", "-1", "nan", "1e9", "", "A", "B", '"', "x,y", "é", "\u2028"]
)


@settings(max_examples=150)
@given(
    head=st.sampled_from(
        ["video,frame,label", "video,start,end,label", "video,start,end,label,duration", "video,label"]
    ),
    rows=st.lists(st.lists(CELL, min_size=2, max_size=5), max_size=5),
    rate=st.sampled_from([None, 1.0, 0.1]),
)
def test_whatever_a_table_holds_is_scored_or_explained(tmp_path_factory, head, rows, rate):
    path = tmp_path_factory.mktemp("fuzz") / "a.csv"
    path.write_text("\n".join([head, *(",".join(row) for row in rows)]), encoding="utf-8")
    try:
        table = score_segmentation(path, path, rate=rate, resamples=0, conflict="later")
    except UserError:
        return
    assert values(table)["MoF"] == 100.0 or table.counts["frames"] == 0


@settings(max_examples=60)
@given(st.lists(st.binary(max_size=12), min_size=1, max_size=3))
def test_whatever_a_folder_holds_is_scored_or_explained(tmp_path_factory, contents):
    folder = tmp_path_factory.mktemp("fuzz")
    for i, data in enumerate(contents):
        (folder / f"{i}.txt").write_bytes(data)
    try:
        table = score_segmentation(folder, folder, resamples=0)
    except UserError:
        return
    assert all(row.score.note for row in table.rows if math.isnan(row.score.value))


@pytest.mark.shared
def test_real_steps_as_segments(tmp_path, shared_data):
    """Real recordings, steps moved by a second: the boundary error is a second."""
    path = next((shared_data / "captaincook4d").rglob("complete_step_annotations.json"), None)
    if path is None:
        pytest.skip("no step annotations among the shared data")
    recordings = json.loads(path.read_text(encoding="utf-8"))
    names = sorted(recordings)[:20]
    for name, shift in (("gt.jsonl", 0.0), ("pred.jsonl", 1.0)):
        rows = [
            {
                "recording_id": video,
                "start_time": s["start_time"] + shift,
                "end_time": s["end_time"] + shift,
                "step_id": s["step_id"],
            }
            for video in names
            for s in recordings[video]["steps"]
            if s["start_time"] >= 0
        ]
        (tmp_path / name).write_text("\n".join(map(json.dumps, rows)))
    table = score_segmentation(
        tmp_path / "gt.jsonl", tmp_path / "pred.jsonl", rate=10, conflict="later", length="predicted",
        resamples=200,
    )  # fmt: skip
    found = values(table)
    assert found["start off, median (s)"] == pytest.approx(1.0)
    assert found["F1@50"] > 90
    assert 90 < found["MoF"] < 100
    assert np.isfinite(list(found.values())).all()
