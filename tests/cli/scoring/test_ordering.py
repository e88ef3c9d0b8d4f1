import json

import pytest

GOLD = [
    {"id": "a", "references": [[0, 1, 2], [1, 0, 2]], "presented": [2, 1, 0], "topic": "food"},
    {"id": "b", "order": [0, 1, 2, 3], "presented": [3, 2, 1, 0], "topic": "home", "constraints": [[0, 3]]},
]


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def files(tmp_path):
    gold = lines(tmp_path / "gold.jsonl", GOLD)
    pred = lines(
        tmp_path / "mine.jsonl", [{"id": "a", "order": [1, 0, 2]}, {"id": "b", "order": [0, 1, 3, 2]}]
    )
    return gold, pred


def test_text(proctor, files):
    gold, pred = files
    outcome = proctor("score", "ordering", "--gt", gold, "--pred", pred)
    assert outcome.status == 0, outcome.err
    for word in (
        "Acc",
        "PMR",
        "tau",
        "Dist",
        "chance",
        "items 2, scored 2",
        "position_accuracy|average:macro",
    ):
        assert word in outcome.out


def test_json(proctor, files):
    gold, pred = files
    outcome = proctor(
        "score", "ordering", "--gt", gold, "--pred", pred, "--json", "--resamples", "50", "--seed", "1"
    )
    assert outcome.status == 0, outcome.err
    found = outcome.json
    assert found["family"] == "ordering"
    assert found["position_accuracy"] == pytest.approx(75)
    assert found["perfect_match_ratio"] == pytest.approx(50)
    assert found["valid_order"] == pytest.approx(100)
    assert found["chance"]["displacement"] < 5
    plot, matrix = found["figures"]
    assert plot["labels"][:2] == ["Acc", "PMR"]
    assert matrix["row_title"] == "right position"
    again = proctor(
        "score", "ordering", "--gt", gold, "--pred", pred, "--json", "--resamples", "50", "--seed", "1"
    )
    assert again.out == outcome.out


def test_latex_and_report(proctor, files, tmp_path):
    gold, pred = files
    page = tmp_path / "page.html"
    outcome = proctor("score", "ordering", "--gt", gold, "--pred", pred, "--latex", "--report", page)
    assert outcome.status == 0, outcome.err
    assert "tabular" in outcome.out
    assert "<svg" in page.read_text(encoding="utf-8")


def test_all_options(proctor, files, tmp_path):
    gold, pred = files
    other = lines(
        tmp_path / "other.jsonl", [{"id": "a", "order": [0, 2]}, {"id": "b", "scores": [1, 1, 2, 3]}]
    )
    constraints = tmp_path / "c.csv"
    constraints.write_text("id,before,after\na,0,2\n")
    outcome = proctor(
        *("score", "ordering", "--gt", gold, "--pred", pred, "--compare", other, "--mode", "repair"),
        *("--references", "independent", "--constraints", constraints, "--constraints-from-references"),
        *("--slice", "topic", "--cluster", "topic", "--confidence", "0.9", "--resamples", "20", "--json"),
    )
    assert outcome.status == 0, outcome.err
    slices = {row["slice"] for row in outcome.json["scores"]}
    assert {"mine", "other", "topic=food", "topic=home", "chance", "other − mine"} <= slices
    assert outcome.json["comparison"]["kendall_tau"]["method"].startswith("sign-flip-90")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--mode", "loose"], "'loose' is not one of 'strict', 'repair'"),
        (["--references", "worst"], "'worst' is not one of 'joint'"),
        (["--confidence", "1.5"], "between 0 and 1"),
        (["--slice", "nothing"], "no column 'nothing'"),
        (["--compare", "no-such-file.jsonl"], "no-such-file.jsonl"),
    ],
)
def test_wrong_options_are_explained(proctor, files, change, message):
    gold, pred = files
    outcome = proctor("score", "ordering", "--gt", gold, "--pred", pred, *change)
    assert outcome.status == 2
    assert message in outcome.err
    assert "Traceback" not in outcome.err


def test_a_broken_prediction_is_explained(proctor, files, tmp_path):
    gold, _ = files
    pred = lines(tmp_path / "p.jsonl", [{"id": "a", "order": [1, 1, 2]}])
    outcome = proctor("score", "ordering", "--gt", gold, "--pred", pred)
    assert outcome.status == 2
    assert "line 1: item 'a': the prediction lacks '0' and repeats '1'" in outcome.err
    assert "--mode repair" in outcome.err
