import pytest


@pytest.fixture
def files(tmp_path):
    rows = [
        (f"r{r}", s, int((r * 7 + s * 5) % 3 == 0), ((r * 3 + s * 2) % 10) / 10)
        for r in range(4)
        for s in range(6)
    ]
    gt, pred = tmp_path / "gt.csv", tmp_path / "pred.csv"
    gt.write_text("recording,step,label\n" + "".join(f"{r},{s},{y}\n" for r, s, y, _ in rows))
    pred.write_text("recording,step,score\n" + "".join(f"{r},{s},{p}\n" for r, s, _, p in rows))
    return gt, pred


def run(proctor, files, *options):
    return proctor(
        "score", "classification", "--gt", files[0], "--pred", files[1], "--resamples", 50, *options
    )


def test_table(proctor, files):
    outcome = run(proctor, files)
    assert outcome.status == 0, outcome.err
    for word in ("accuracy", "ROC-AUC", "all: always error", "all: prior", "threshold:default=0.5"):
        assert word in outcome.out


def test_json(proctor, files):
    result = run(proctor, files, "--json").json
    assert result["family"] == "classification"
    assert (result["steps"], result["positives"]) == (24, 8)
    assert 0 <= result["roc_auc"] <= 1
    chance = [row for row in result["scores"] if row["chance"] and row["metric"] == "F1"]
    assert [row["slice"] for row in chance] == ["all: always error", "all: always normal", "all: prior"]
    assert [figure["title"] for figure in result["figures"]] == [
        "Decisions, all (threshold 0.5)",
        "Scores and the best of the chance rows, all",
        "Score against share of mistakes, all",
    ]


def test_published_protocol(proctor, files):
    refused = run(proctor, files, "--protocol", "published")
    assert refused.status == 2
    assert "0.6 for split S, 0.4 for split R" in refused.err
    result = run(proctor, files, "--protocol", "published", "--threshold", 0.4, "--json").json
    assert result["protocol"] == "published"


def test_validation(proctor, files):
    outcome = run(proctor, files, "--validation", files[1], "--validation-gt", files[0], "--json")
    assert outcome.json["counts"]["validation steps"] == 24


def test_wrong_file_says_where(proctor, files):
    files[1].write_text("recording,step,score\nr0,0,much\n")
    outcome = run(proctor, files)
    assert outcome.status == 2
    assert "pred.csv, line 2, column 'score'" in outcome.err
    assert "Traceback" not in outcome.err
