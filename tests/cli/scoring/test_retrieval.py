import json

import pytest


@pytest.fixture
def files(tmp_path):
    gt, pred = tmp_path / "gt.jsonl", tmp_path / "pred.jsonl"
    gt.write_text(
        "\n".join(
            json.dumps({"id": f"q{i}", "gold": ["a", "b"], "style": "IE" if i % 2 else "MH"})
            for i in range(12)
        )
    )
    pred.write_text(
        "\n".join(json.dumps({"id": f"q{i}", "ranking": ["a", "x", "b"][i % 3 :]}) for i in range(12))
    )
    return "--gt", gt, "--pred", pred


def test_the_table_names_slices_and_chance(proctor, files):
    outcome = proctor(
        "score", "retrieval", *files, "--pool", "20", "-k", "1", "-k", "3", "--resamples", "200"
    )
    assert outcome.status == 0, outcome.err
    for text in ("R@1", "R@3", "all@3", "nDCG@3", "style IE", "random ranking", "(chance)", "questions 12"):
        assert text in outcome.out


def test_json_has_the_headline_and_the_scores(proctor, files):
    outcome = proctor("score", "retrieval", *files, "--json", "--resamples", "0")
    assert outcome.status == 0, outcome.err
    result = outcome.json
    assert result["family"] == "retrieval"
    # Gold sources in the first five: 2, 1, 1 of 2, in turn.
    assert result["recall"]["5"] == pytest.approx(100 * (1 + 0.5 + 0.5) / 3)
    assert {row["metric"] for row in result["scores"]} >= {"R@5", "R@10", "all@10", "hit@10", "MRR", "MAP"}
    assert result["scores"][0]["signature"].startswith("recall_at_k|cluster:question|gold:fractional")


def test_readings_and_missing_rankings(proctor, files, tmp_path):
    pred = tmp_path / "few.jsonl"
    pred.write_text(json.dumps({"id": "q0", "ranking": ["a"]}))
    base = ("score", "retrieval", "--gt", files[1], "--pred", pred, "--json", "--resamples", "0")
    assert proctor(*base).json["recall"]["5"] == 50.0
    assert proctor(*base, "--missing", "zero").json["recall"]["5"] == pytest.approx(50 / 12)
    result = proctor(*base, "--recall", "all").json
    assert result["scores"][0]["value"] == 0.0
    assert result["scores"][0]["failed"] == 11


def test_latex_and_page(proctor, files, tmp_path):
    page = tmp_path / "page.html"
    outcome = proctor("score", "retrieval", *files, "--latex", "--resamples", "50", "--report", page)
    assert outcome.status == 0, outcome.err
    assert "\\toprule" in outcome.out
    assert "R@10" in page.read_text(encoding="utf-8")


def test_mistakes_are_explained(proctor, files, tmp_path):
    outcome = proctor("score", "retrieval", "--gt", tmp_path / "absent.jsonl", "--pred", files[3])
    assert outcome.status == 2
    assert "absent.jsonl" in outcome.err
    assert proctor("score", "retrieval", *files, "-k", "0").status == 2
    assert proctor("score", "retrieval", *files, "--recall", "some").status == 2
