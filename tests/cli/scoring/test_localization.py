import pytest

GT = "video-id,t-start,t-end,label,has_error\nA,0,10,0,1\nA,20,30,0,0\nB,0,4,1,0\n"
PRED = (
    ",video-id,t-start,t-end,label,score\n"
    "0,A,1,9,0,.9\n1,A,0,10,0,.8\n2,A,21,35,0,.7\n3,B,0,5,0,.6\n4,B,1,5,1,.5\n"
)


@pytest.fixture
def files(tmp_path):
    gt, pred = tmp_path / "gt.csv", tmp_path / "pred.csv"
    gt.write_text(GT)
    pred.write_text(PRED)
    return "--gt", gt, "--pred", pred


def score(proctor, *arguments):
    return proctor("score", "localization", *arguments)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("protocol", "first", "classes"),
    [("published", 13.6071, 284), ("activitynet", 13.8281, 284), ("corrected", 43.8661, 171)],
)
@pytest.mark.parametrize("label_map", [False, True])
def test_the_command_that_must_work_for_ever(proctor, shared_data, protocol, first, classes, label_map):
    folder = shared_data / "msl"
    name = "gt_environment_test_compressed_labels.csv" if label_map else "gt_environment_test.csv"
    more = ["--label-map", folder / "msl_environment_label_to_index.json"] if label_map else []
    more += ["--videos", "predicted"] if protocol == "corrected" else []
    outcome = score(
        proctor, "--gt", folder / name, "--pred",
        folder / "preds_omnivore_4s_60sub_environment_error_videos.csv.gz", "--protocol", protocol, *more, "--json",
    )  # fmt: skip
    assert outcome.status == 0, outcome.err
    assert round(outcome.json["mAP"][0], 4) == first
    assert outcome.json["classes"] == classes
    assert outcome.json["protocol"] == protocol
    assert outcome.json["tiou"] == [0.1, 0.2, 0.3, 0.4, 0.5]
    low, high = outcome.json["intervals"]["mAP"][0]
    assert low < first < high


def test_table_and_same_bytes_twice(proctor, files):
    outcome = score(proctor, *files, "--tiou", "0.3,0.5,0.7", "--slice", "has_error", "--resamples", "40")
    assert outcome.status == 0, outcome.err
    assert "91.67" in outcome.out
    assert "has_error=1, tIoU 0.5" in outcome.out
    assert "note: only 2 videos" in outcome.out
    assert "mean_average_precision|average:macro" in outcome.out
    again = score(proctor, *files, "--tiou", "0.3,0.5,0.7", "--slice", "has_error", "--resamples", "40")
    assert again.out == outcome.out
    other = score(
        proctor, *files, "--tiou", "0.3,0.5,0.7", "--slice", "has_error", "--resamples", "40", "--seed", "1"
    )
    assert other.status == 0


def test_json_without_intervals(proctor, files):
    found = score(proctor, *files, "--tiou", "0.3,0.5,0.7", "--resamples", "0", "--json").json
    assert [round(v, 4) for v in found["mAP"]] == [91.6667, 91.6667, 25.0]
    assert (found["R@1x"], found["R@5x"]) == ([75, 75, 25], [100, 100, 25])
    assert all(row["low"] is None for row in found["scores"])


def test_latex_and_a_page(proctor, files, tmp_path):
    outcome = score(proctor, *files, "--latex", "--report", tmp_path / "page.html", "--slice", "has_error")
    assert outcome.status == 0, outcome.err
    assert "tabular" in outcome.out
    assert "Average precision at tIoU 0.3" in (tmp_path / "page.html").read_text()


def test_options_reach_the_scores(proctor, files, tmp_path):
    videos = tmp_path / "videos.txt"
    videos.write_text("B\n")
    found = score(
        proctor, *files, "--videos", videos, "--drop-duplicates", "--drop-empty", "--label-key", "label",
        "--tiou", "0.5:0.6:0.05", "--confidence", "0.9", "--matches", tmp_path / "m.csv", "--resamples", "10", "--json",
    ).json  # fmt: skip
    assert found["tiou"] == [0.5, 0.55, 0.6]
    assert found["videos"] == 1
    assert "score@0.55" in (tmp_path / "m.csv").read_text()
    assert "dropped:duplicates,empty" in found["scores"][0]["signature"]
    assert "interval:centred-90" in found["scores"][0]["signature"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--protocol", "official"), "is not one of 'published', 'activitynet', 'corrected'"),
        (("--tiou", "50"), "--tiou: '50' is no list of thresholds"),
        (("--slice", "mistake"), "there is no column 'mistake'"),
        (("--subset", "test"), "the table has no column 'subset'"),
        (("--confidence", "95"), "confidence must lie strictly between 0 and 1"),
        (("--label-map", "nowhere.json"), "nowhere.json"),
        (("--json", "--latex"), "--json and --latex were both given"),
    ],
)
def test_what_the_user_can_fix(proctor, files, arguments, message):
    outcome = score(proctor, *files, *arguments)
    assert outcome.status == 2
    assert message in outcome.err
    assert "Traceback" not in outcome.err
    assert outcome.out == ""


def test_missing_files_and_options(proctor, files, tmp_path):
    assert score(proctor, "--gt", tmp_path / "none.csv", "--pred", files[3]).status == 2
    assert score(proctor, *files[:2]).status == 2
