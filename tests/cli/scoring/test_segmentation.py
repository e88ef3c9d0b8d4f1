import pytest


@pytest.fixture
def folders(tmp_path):
    for name, videos in (
        ("gt", {"a": "AAAABBBB__", "b": "__CCCC"}),
        ("pred", {"a": "AABBBBBB__", "b": "__CC_C"}),
    ):
        (tmp_path / name).mkdir()
        for video, labels in videos.items():
            (tmp_path / name / f"{video}.txt").write_text("\n".join(labels) + "\n")
    return "--gt", tmp_path / "gt", "--pred", tmp_path / "pred"


def test_the_table_has_scores_and_chance(proctor, folders):
    outcome = proctor(
        "score", "segmentation", *folders, "--background", "_", "--rate", "5", "--resamples", "100"
    )
    assert outcome.status == 0, outcome.err
    for text in (
        "MoF",
        "MoF-bg",
        "Edit",
        "F1@10",
        "F1@50",
        "majority label",
        "random label",
        "videos 2",
        "(s)",
    ):
        assert text in outcome.out


def test_json_has_the_headline(proctor, folders):
    outcome = proctor("score", "segmentation", *folders, "--json", "--overlaps", "50,75", "--resamples", "0")
    assert outcome.status == 0, outcome.err
    result = outcome.json
    assert result["family"] == "segmentation"
    assert result["MoF"] == pytest.approx(100 * 13 / 16)
    assert set(result["F1"]) == {"50", "75"}
    assert [video["video"] for video in result["videos"]] == ["a", "b"]
    assert result["figures"][1]["rows"] == ["A", "B", "C", "_"]


def test_latex_and_page(proctor, folders, tmp_path):
    page = tmp_path / "page.html"
    outcome = proctor("score", "segmentation", *folders, "--latex", "--resamples", "50", "--report", page)
    assert outcome.status == 0, outcome.err
    assert "\\toprule" in outcome.out
    assert "Frames by label" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("overlaps", ["0", "101", "ten", "", "10,,25"])
def test_wrong_overlaps_are_explained(proctor, folders, overlaps):
    outcome = proctor("score", "segmentation", *folders, "--overlaps", overlaps)
    assert outcome.status == 2
    assert "--overlaps are percentages" in outcome.err


def test_mistakes_are_explained(proctor, folders, tmp_path):
    outcome = proctor("score", "segmentation", "--gt", tmp_path / "absent.csv", "--pred", folders[3])
    assert outcome.status == 2
    assert "absent.csv" in outcome.err
