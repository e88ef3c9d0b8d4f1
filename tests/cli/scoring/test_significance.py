import pytest


@pytest.fixture
def marks(tmp_path):
    path = tmp_path / "marks.csv"
    rows = [
        f"q{i:02},r{i // 2},{i % 2},{int(i % 5 > 0)},{'' if i == 7 else int(i % 7 > 2)}" for i in range(40)
    ]
    path.write_text("\n".join(["item,recording,base,new,other", *rows]))
    return path


@pytest.fixture
def confidences(tmp_path):
    path = tmp_path / "confidences.csv"
    path.write_text("\n".join(["confidence,correct", *(f"{i / 40},{int(i % 40 > 20)}" for i in range(41))]))
    return path


def test_table_names_systems_pairs_and_signatures(proctor, marks):
    found = proctor("score", "significance", marks, "--resamples", "300")
    assert found.status == 0, found.err
    for text in (
        "base → new",
        "p (Holm)",
        "detectable",
        "paired_difference|cluster:recording",
        "systems 3, items 40",
    ):
        assert text in found.out


def test_json_latex_and_page(proctor, marks, tmp_path):
    page = tmp_path / "page.html"
    found = proctor("score", "significance", marks, "--resamples", "300", "--json", "--report", page)
    assert found.status == 0, found.err
    result = found.json
    assert result["family"] == "significance"
    assert [pair["b"] for pair in result["pairs"]] == ["new", "other", "other"]
    assert result["counts"]["failed"] == 1
    assert [figure["title"] for figure in result["figures"]] == [
        "Mean of each system",
        "Difference of means: row minus column",
        "How clearly two systems differ: 1 - p (Holm)",
    ]
    assert "base" in page.read_text()
    latex = proctor("score", "significance", marks, "--resamples", "300", "--latex")
    assert "\\toprule" in latex.out


@pytest.mark.parametrize("test", ["mcnemar", "mcnemar-mid-p", "permutation", "mann-whitney", "fisher"])
def test_every_test_can_be_asked_for(proctor, marks, test):
    found = proctor("score", "significance", marks, "--test", test, "--resamples", "100", "--json")
    assert found.status == 0, found.err
    names = {score["signature"].split("|")[0] for score in found.json["scores"] if score["metric"] == "p"}
    assert names == {test.removesuffix("-mid-p").replace("-", "_").replace("fisher", "fisher_exact")}


def test_options_reach_the_stage(proctor, marks, tmp_path):
    judge = tmp_path / "judge.csv"
    judge.write_text("human,judge\n" + "1,1\n0,0\n" * 30)
    found = proctor(
        "score", "significance", marks, "--reference", "new", "--system", "base", "--system", "new", "--cluster",
        "item", "--difference", "0.05", "--judge-calibration", judge, "--confidence", "0.9", "--resamples", "200",
        "--json",
    )  # fmt: skip
    assert found.status == 0, found.err
    labels = {score["metric"] for score in found.json["scores"]}
    assert {"corrected", "items needed"} <= labels
    assert [(p["a"], p["b"]) for p in found.json["pairs"]] == [("new", "base")]
    assert found.json["counts"]["clusters"] == 40
    assert "confidence:0.9|" in found.json["scores"][0]["signature"]


def test_concurrence(proctor, marks):
    found = proctor("score", "significance", marks, "--concurrence", marks, "--resamples", "200")
    assert found.status == 0, found.err
    assert "kendall_tau_b|" in found.out
    assert "0 of 3 pairs of systems are ranked the other way round" in found.out


def test_calibration(proctor, confidences, tmp_path):
    page = tmp_path / "page.html"
    found = proctor(
        "score", "significance", confidences, "--calibration", "--bins", "5", "--binning", "mass", "--resamples",
        "200", "--json", "--report", page,
    )  # fmt: skip
    assert found.status == 0, found.err
    labels = [score["metric"] for score in found.json["scores"]]
    assert labels[:3] == ["accuracy", "confidence", "ECE"]
    assert found.json["figures"][0]["title"] == "Reliability"
    assert len(found.json["figures"][0]["counts"]) == 5
    assert page.is_file()


@pytest.mark.parametrize(
    "options",
    [
        ("--human", "x.csv"),
        ("--concurrence", "x.csv"),
        ("--judge-calibration", "x.csv"),
        ("--reference", "a"),
        ("--system", "a"),
        ("--difference", "0.1"),
        ("--stratum", "a"),
    ],
)
def test_calibration_takes_no_options_of_comparisons(proctor, confidences, options):
    found = proctor("score", "significance", confidences, "--calibration", *options)
    assert found.status == 2
    assert f"{options[0]} does not go with --calibration" in found.err


def test_calibration_reads_one_file(proctor, confidences):
    found = proctor("score", "significance", confidences, confidences, "--calibration")
    assert found.status == 2
    assert "--calibration reads one file" in found.err


def test_errors_are_for_the_user(proctor, marks, tmp_path):
    missing = proctor("score", "significance", tmp_path / "no.csv")
    assert missing.status == 2
    assert "no.csv" in missing.err
    broken = tmp_path / "broken.csv"
    broken.write_text("item,a\n1,good\n")
    wrong = proctor("score", "significance", broken)
    assert wrong.status == 2
    assert "line 2, column 'a'" in wrong.err
    assert "Traceback" not in wrong.err
    both = proctor("score", "significance", marks, "--json", "--latex")
    assert both.status == 2
