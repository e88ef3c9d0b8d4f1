import json

import pytest

from proctor.version import __version__

LABELS = """unit,annotator,label,recording,type
u1,ana,yes,r1,next
u1,ben,yes,r1,next
u1,cem,no,r1,next
u2,ana,no,r2,next
u2,ben,no,r2,next
u2,cem,no,r2,next
u3,ana,yes,r3,missing
u3,ben,no,r3,missing
u3,cem,yes,r3,missing
"""
ORDERS = [("x", "ana", [1, 2, 3, 4, 5]), ("x", "ben", [1, 2, 3, 4, 5]), ("x", "cem", [1, 2, 3, 5, 4])]
ALTERNATIVES = "unit,annotator,gold,orders\nx,ana,1 2 3,2 1 3\nx,ben,1 2 3,1 3 2\n"
SEGMENTS = "recording,annotator,step,start,end\nr1,ana,a,0,10\nr1,ben,a,1,10\nr2,ana,a,0,4\nr2,ben,a,2,4\n"


@pytest.fixture
def files(tmp_path):
    out = {name: tmp_path / f"{name}.csv" for name in ("labels", "alternatives", "segments")}
    for name, text in (("labels", LABELS), ("alternatives", ALTERNATIVES), ("segments", SEGMENTS)):
        out[name].write_text(text)
    out["orders"] = tmp_path / "orders.jsonl"
    out["orders"].write_text(
        "".join(json.dumps({"unit": u, "annotator": a, "order": o}) + "\n" for u, a, o in ORDERS)
    )
    return out


def run(proctor, file, *options):
    return proctor("score", "agreement", file, "--resamples", 100, *options)


def test_table(proctor, files):
    outcome = run(proctor, files["labels"], "--slice", "type")
    assert outcome.status == 0, outcome.err
    for word in (
        "κ",
        "α",
        "Fleiss",
        "specific yes",
        "prevalence no",
        "type=next",
        "ana – ben",
        "mean of pairs",
        "units 3",
    ):
        assert word in outcome.out
    assert (
        "krippendorff_alpha|cluster:recording|interval:percentile-95|level:nominal|resamples:100|seed:0"
        in outcome.out
    )


def test_json_of_every_kind(proctor, files):
    for kind, key, value in (
        ("labels", "raw", 5 / 9),
        ("orders", "order_agreement", 2.6 / 3),
        ("alternatives", "algorithm_1", -1.0),
        ("segments", "mean_segment_iou", 0.7),
    ):
        result = run(proctor, files[kind], "--kind", kind, "--json").json
        assert result["family"] == "agreement"
        assert result[key] == pytest.approx(value)
        assert result["scores"][0]["value"] == pytest.approx(value)
        assert len(result["figures"]) >= 2
        assert all(figure["title"] for figure in result["figures"])
        assert all(row["note"] for row in result["scores"] if row["value"] is None)


def test_references_of_alternatives(proctor, files):
    result = run(proctor, files["alternatives"], "--kind", "alternatives", "--json").json
    assert result["references"] == {"x": [["1", "2", "3"]]}
    quorum = run(
        proctor,
        files["alternatives"],
        "--kind",
        "alternatives",
        "--quorum",
        3,
        "--pooling",
        "pair_mean",
        "--json",
    )
    assert quorum.json["scores"][0]["signature"].endswith(
        f"penalty:union|pooling:pair_mean|resamples:100|seed:0|version:{__version__}"
    )


def test_options_reach_the_signature(proctor, files):
    result = run(
        proctor, files["labels"], "--level", "ordinal", "--order", "no,yes", "--confidence", 0.9, "--seed", 7,
        "--cluster", "type", "--json",
    ).json  # fmt: skip
    signatures = {row["metric"]: row["signature"] for row in result["scores"] if row["slice"] == "all"}
    assert (
        signatures["α"]
        == "krippendorff_alpha|cluster:type|interval:percentile-90|level:ordinal|resamples:100|seed:7"
        f"|version:{__version__}"
    )
    assert "κ quadratic" in signatures
    result = run(proctor, files["segments"], "--kind", "segments", "--threshold", 0.75, "--json").json
    assert [row["metric"] for row in result["scores"] if row["metric"].startswith("F1")] == ["F1@0.75"]


def test_latex_and_report(proctor, files, tmp_path):
    latex = run(proctor, files["labels"], "--latex")
    assert r"\toprule" in latex.out
    page = tmp_path / "page.html"
    assert run(proctor, files["labels"], "--report", page).status == 0
    assert "Krippendorff" in page.read_text() or "α" in page.read_text()


def test_errors_end_with_status_2(proctor, files, tmp_path):
    twice = tmp_path / "twice.csv"
    twice.write_text(LABELS + "u1,ana,no,r1,next\n")
    for file, options, message in (
        (twice, (), "line 11, column 'annotator': annotator 'ana' judged unit 'u1' twice"),
        (tmp_path / "none.csv", (), "none.csv"),
        (files["labels"], ("--confidence", 1.5), "confidence must lie strictly between 0 and 1"),
        (files["labels"], ("--seed", -1), "seed must not be negative"),
        (files["labels"], ("--level", "interval"), "needs numbers"),
        (files["labels"], ("--kind", "segments"), "there is no column 'start'"),
        (files["segments"], ("--kind", "segments", "--threshold", 0), "threshold must lie above 0"),
        (files["labels"], ("--json", "--latex"), "--json and --latex"),
        (files["labels"], ("--kind", "words"), "words"),
        (files["labels"], ("--quorum", 0), "quorum"),
    ):
        outcome = run(proctor, file, *options)
        assert outcome.status == 2, (file, options)
        assert message in outcome.err
        assert "Traceback" not in outcome.err
