import json
import math
from itertools import combinations

import pytest
from tests.stages.scoring.scored import family

from proctor.cli.scoring.families import table_as_json
from proctor.errors import UserError
from proctor.metrics.figure import IntervalPlot, Matrix
from proctor.metrics.krippendorff import krippendorff_alpha

score_agreement = family("agreement", "file", "kind")

QUICK = {"resamples": 200}


def write(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def csv(folder, head, rows):
    return write(folder, "in.csv", "\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n")


def jsonl(folder, rows):
    return write(folder, "in.jsonl", "\n".join(map(json.dumps, rows)) + "\n")


def scores(table):
    return {(row.slice, row.metric): row.score for row in table.rows}


LABELS = [
    ("u1", "ana", "yes", "r1", "next"), ("u1", "ben", "yes", "r1", "next"), ("u1", "cem", "no", "r1", "next"),
    ("u2", "ana", "no", "r1", "next"), ("u2", "ben", "no", "r1", "next"), ("u2", "cem", "no", "r1", "next"),
    ("u3", "ana", "yes", "r2", "missing"), ("u3", "ben", "no", "r2", "missing"), ("u3", "cem", "yes", "r2", "missing"),
    ("u4", "ana", "yes", "r2", "missing"), ("u4", "ben", "yes", "r2", "missing"), ("u4", "cem", "yes", "r2", "missing"),
]  # fmt: skip
HEAD = "unit,annotator,label,recording,type"


def test_doubtful_labels_are_named_and_missing_ones_can_be(tmp_path):
    rows = [
        ("u1", "ana", "yes"),
        ("u1", "ben", " yes"),
        ("u2", "ana", "Yes"),
        ("u2", "ben", "nan"),
        ("u3", "ana", "NA"),
    ]
    path = csv(tmp_path, "unit,annotator,label", rows)
    notes = " ".join(score_agreement(path, **QUICK).notes)
    assert "The labels ' yes', 'Yes', 'yes' differ in letter case or space only" in notes
    assert "The label 'NA' (1 rows) looks like a missing value" in notes
    assert "The label 'nan' (1 rows) looks like a missing value" in notes
    table = score_agreement(path, missing=["nan", "NA"], **QUICK)
    assert table.counts["labels missing"] == 2
    assert "missing value" not in " ".join(table.notes)
    with pytest.raises(UserError, match="'missing' does not go with orders"):
        score_agreement(path, "orders", missing=["NA"])


# -- labels --------------------------------------------------------------------------------------------------------


def test_labels(tmp_path):
    table = score_agreement(csv(tmp_path, HEAD, LABELS), slices=["type"], **QUICK)
    found = scores(table)
    # pairs that agree: u1 1 of 3, u2 3, u3 1, u4 3
    assert found["all", "raw"].value == pytest.approx(8 / 12)
    assert found["all", "raw"].n == 12
    assert found["type=next", "raw"].value == found["type=missing", "raw"].value == pytest.approx(4 / 6)
    rows = [["yes", "yes", "no"], ["no"] * 3, ["yes", "no", "yes"], ["yes"] * 3]
    assert found["all", "α"].value == krippendorff_alpha(rows, resamples=0).value
    assert found["ana – ben", "raw"].value == 0.75
    assert found["mean of pairs", "raw"].value == pytest.approx((0.75 + 0.75 + 0.5) / 3)
    assert found["all", "prevalence yes"].value == pytest.approx(7 / 12)
    assert found["all", "specific yes"].value == pytest.approx(10 / 14)
    assert not math.isnan(found["all", "Fleiss κ"].value)
    assert table.counts == {"rows": 12, "units": 4, "annotators": 3, "units with two or more": 4}
    assert table.headline["raw"] == found["all", "raw"].value
    assert table.headline["raw_mean_of_pairs"] == found["mean of pairs", "raw"].value
    assert any("never averaged" in note for note in table.notes)
    assert any("Wilson" in note for note in table.notes)


def test_independent_annotators_stand_beside(tmp_path):
    table = score_agreement(csv(tmp_path, HEAD, LABELS), **QUICK)
    chance = {row.metric: row.score for row in table.rows if row.chance}
    # twelve pairs: "yes" 8 times on the left and 6 times on the right
    assert chance["raw"].value == chance["raw, clustered"].value == pytest.approx((8 * 6 + 4 * 6) / 144)
    assert chance["specific yes"].value == pytest.approx(4 / 7)
    assert {chance[metric].value for metric in ("κ", "α", "Fleiss κ")} == {0.0}
    assert not any(metric.startswith("prevalence") for metric in chance)
    assert str(chance["raw"].signature) == "raw_agreement|interval:none|pairs:pooled|raters:independent"
    kappa = scores(table)["all", "κ"].value
    raw, by_chance = scores(table)["all", "raw"].value, chance["raw"].value
    assert kappa == pytest.approx((raw - by_chance) / (1 - by_chance))


def test_what_chance_cannot_give_is_undefined_or_said(tmp_path):
    alike = [(u, who, "yes", "r1", "next") for u in ("u1", "u2") for who in ("ana", "ben")]
    table = score_agreement(csv(tmp_path, HEAD, alike), **QUICK)
    chance = {row.metric: row.score for row in table.rows if row.chance}
    assert chance["raw"].value == 1.0
    assert "chance is certain" in chance["κ"].note
    orders = [{"unit": "x", "annotator": who, "order": [1, 2, 3]} for who in ("ana", "ben")]
    ranked = score_agreement(jsonl(tmp_path, orders), "orders", **QUICK)
    assert [row.score.value for row in ranked.rows if row.chance] == [0.0]
    segments = csv(tmp_path, SEGMENT_HEAD, [("r", "ana", "s", 0, 4, "k"), ("r", "ben", "s", 1, 4, "k")])
    notes = score_agreement(segments, "segments", **QUICK).notes
    assert any(note.startswith("no chance level: ") for note in notes)


def test_what_is_drawn_is_in_the_signature(tmp_path):
    path = csv(tmp_path, HEAD, LABELS)
    for options, name in (({}, "recording"), ({"cluster": "type"}, "type")):
        found = scores(score_agreement(path, **QUICK, **options))
        assert found["all", "α"].signature.parameters["cluster"] == name
        assert found["all", "raw, clustered"].signature.parameters["cluster"] == name
        assert found["all", "raw"].signature.parameters == {"interval": "wilson-95", "pairs": "pooled"}
    alone = csv(tmp_path, "unit,annotator,label", [row[:3] for row in LABELS])
    assert scores(score_agreement(alone, **QUICK))["all", "κ"].signature.parameters["cluster"] == "unit"
    bare = scores(score_agreement(path, resamples=0))
    assert bare["all", "α"].low is None
    assert bare["all", "α"].signature.parameters == {"interval": "none", "level": "nominal"}


def test_pictures_of_labels(tmp_path):
    table = score_agreement(csv(tmp_path, HEAD, LABELS), slices=["type"], **QUICK)
    raw, kappa, pooled, worst, plot = table.figures
    assert isinstance(raw, Matrix)
    assert raw.rows == raw.columns == ("ana", "ben", "cem")
    assert raw.kind == "values"
    assert raw.cells == ((None, 0.75, 0.75), (0.75, None, 0.5), (0.75, 0.5, None))
    assert (raw.low, raw.high) == (0.0, 1.0)
    assert kappa.cells[0][1] == scores(table)["ana – ben", "κ"].value
    assert pooled.kind == worst.kind == "counts"
    assert sum(map(sum, pooled.cells)) == 12
    assert worst.title == "Labels of ben and cem, the pair that agrees least"
    assert (worst.rows, worst.cells) == (("no", "yes"), ((1.0, 1.0), (1.0, 1.0)))
    assert isinstance(plot, IntervalPlot)
    assert "type=next: α" in plot.labels
    assert len(plot.labels) == len(plot.values) == len(plot.low) == len(plot.high) == 9
    assert plot.scale[0] <= min(low for low in plot.low if low is not None)


def test_two_annotators_have_one_confusion_matrix_and_wilson_only(tmp_path):
    rows = [(u, who, label) for u, who, label, *_ in LABELS if who != "cem"]
    table = score_agreement(csv(tmp_path, "unit,annotator,label", rows), **QUICK)
    assert [f.title for f in table.figures if isinstance(f, Matrix) and f.kind == "counts"] == [
        "Labels of ana and ben"
    ]
    assert ("all", "raw, clustered") not in scores(table)
    assert ("mean of pairs", "raw") not in scores(table)
    assert math.isnan(table.headline["raw_mean_of_pairs"])
    assert table_as_json(table)["raw_mean_of_pairs"] is None


def test_input_order_changes_nothing(tmp_path):
    one = score_agreement(csv(tmp_path, HEAD, LABELS), slices=["type"], **QUICK)
    two = score_agreement(csv(tmp_path, HEAD, LABELS[::-1]), slices=["type"], **QUICK)
    assert table_as_json(one) == table_as_json(two)


def test_missing_labels_are_counted(tmp_path):
    rows = [*LABELS[:3], ("u2", "ana", "", "r1", "next"), *LABELS[4:]]
    table = score_agreement(csv(tmp_path, HEAD, rows), **QUICK)
    assert table.counts["labels missing"] == 1
    assert table.counts["rows"] == 12
    assert scores(table)["all", "raw"].n == 10
    assert "units have 2 to 3 labels" in scores(table)["all", "Fleiss κ"].note
    null = jsonl(tmp_path, [{"unit": "u", "annotator": a, "label": v} for a, v in (("x", True), ("y", None))])
    assert score_agreement(null, **QUICK).counts["labels missing"] == 1


def test_levels(tmp_path):
    rows = [
        (f"u{k}", who, v)
        for k, pair in enumerate(((1, 2), (3, 3), (5, 4), (2, 2), (1, 3)))
        for who, v in zip("ab", pair, strict=True)
    ]
    path = csv(tmp_path, "unit,annotator,label", rows)
    values = {}
    for level in ("nominal", "ordinal", "interval", "ratio"):
        found = scores(score_agreement(path, level=level, **QUICK))
        values[level] = found["all", "α"].value
        assert found["all", "α"].signature.parameters["level"] == level
        assert (("all", "κ quadratic") in found) == (level != "nominal")
    assert len(set(values.values())) == 4
    words = ["worst", "bad", "fair", "good", "best"]
    named = csv(tmp_path, "unit,annotator,label", [(u, w, words[v - 1]) for u, w, v in rows])
    found = scores(score_agreement(named, level="ordinal", order=",".join(words), **QUICK))
    assert found["all", "α"].value == pytest.approx(values["ordinal"], abs=1e-12)
    assert ("all", "prevalence best") in found


def test_one_sided_labels_are_pointed_at(tmp_path):
    rows = [(f"u{k}", who, "no" if (k, who) == (0, "b") else "yes") for k in range(20) for who in "ab"]
    table = score_agreement(csv(tmp_path, "unit,annotator,label", rows), **QUICK)
    assert any("98 % of the labels are 'yes'" in note and "rejected" in note for note in table.notes)
    assert scores(table)["all", "α"].value == pytest.approx(0.0, abs=1e-12)
    assert scores(table)["all", "raw"].value == 0.95


def test_all_alike_and_all_alone_are_undefined_with_a_note(tmp_path):
    alike = score_agreement(
        csv(tmp_path, "unit,annotator,label", [(u, a, "yes") for u in "12" for a in "ab"]), **QUICK
    )
    found = scores(alike)
    assert found["all", "raw"].value == 1.0
    assert "chance is certain" in found["all", "α"].note
    assert table_as_json(alike)["alpha"] is None
    alone = score_agreement(
        csv(tmp_path, "unit,annotator,label", [("1", "a", "yes"), ("2", "b", "no")]), **QUICK
    )
    assert all(math.isnan(row.score.value) and row.score.note for row in alone.rows)
    assert any("nothing can be compared" in note for note in alone.notes)


def test_many_labels_leave_the_table_narrow(tmp_path):
    rows = [(f"u{k}", who, f"l{k % 9}") for k in range(18) for who in "ab"]
    found = scores(score_agreement(csv(tmp_path, "unit,annotator,label", rows), **QUICK))
    assert not any(metric.startswith("specific") for _, metric in found)


@pytest.mark.parametrize(
    ("head", "rows", "options", "message"),
    [
        (HEAD, [*LABELS, LABELS[0]], {}, "line 14, column 'annotator': annotator 'ana' judged unit 'u1' twice"),
        ("item,rater,value", [("u", "a", "y"), ("u", "a", "n")], {}, "column 'rater': annotator 'a' judged unit 'u' twice"),
        ("unit,label", [("u", "y")], {}, "no column 'annotator'"),
        ("unit,annotator", [("u", "y")], {}, "no column 'label'"),
        ("unit,annotator,label", [("u", "a", "")], {}, "there is no label in the whole file"),
        (HEAD, LABELS, {"slices": ["style"]}, "no column 'style'"),
        (HEAD, LABELS, {"cluster": "video"}, "no column 'video'"),
        (HEAD, LABELS, {"cluster": "annotator"}, "unit 'u1' has 'ben' here and 'ana' further up"),
        (HEAD, LABELS, {"slices": ["label"]}, "unit 'u1' has 'no' here and 'yes' further up"),
        (HEAD, LABELS, {"level": "interval"}, "the interval level needs numbers, got 'yes'"),
        (HEAD, LABELS, {"level": "ordinal"}, "give --order"),
        (HEAD, LABELS, {"level": "ordinal", "order": "no"}, "line 2, column 'label': the label 'yes' is not in --order no"),
        (HEAD, LABELS, {"level": "interval", "order": "no"}, "--order does not go with the interval level"),
        (HEAD, LABELS, {"level": "ordinal", "order": "no,yes,no"}, "holds 'no' twice"),
        ("unit,annotator,label", [("u", "a", "1"), ("u", "b", "nan")], {"level": "interval"}, "a finite number was expected"),
        (HEAD, LABELS, {"confidence": 1.5}, "confidence must lie strictly between 0 and 1"),
        (HEAD, LABELS, {"seed": -1}, "seed must not be negative"),
        (HEAD, LABELS, {"kind": "words"}, "one of labels, orders, alternatives, segments was expected"),
    ],
)  # fmt: skip
def test_bad_labels_say_what_and_where(tmp_path, head, rows, options, message):
    with pytest.raises(UserError) as error:
        score_agreement(csv(tmp_path, head, rows), **options)
    assert message in str(error.value)


@pytest.mark.parametrize("kind", ["labels", "orders", "alternatives", "segments"])
def test_missing_and_empty_files(tmp_path, kind):
    with pytest.raises(UserError):
        score_agreement(tmp_path / "none.csv", kind)
    with pytest.raises(UserError, match="no rows"):
        score_agreement(write(tmp_path, "a.csv", "unit,annotator,label\n"), kind)


@pytest.mark.shared
def test_published_verification_of_the_development_part(tmp_path, shared_data, shared_expected):
    """The 195 examples with the published assignment: raw .869 and alpha .643 lie within the intervals."""
    ids = shared_expected("promqa")["subset500"]["ids"]
    pairs = list(combinations("01234", 2))
    who = {name: pairs[k % 10] for k, name in enumerate(ids)}
    examples = json.loads((shared_data / "promqa" / "examples_dev.json").read_text())
    answers, questions = [], []
    for e in examples:
        judges = list(zip(who[e["question_id"]], e["verification"]["judges"], strict=True))
        for name, judge in judges:
            one = {"annotator": name, "recording": e["recording_id"], "type": e["type"]}
            questions.append({"unit": e["question_id"], "label": judge["question"], **one})
            if all(j["question"] for _, j in judges):
                answers += [
                    {"unit": f"{e['question_id']}#{k}", "label": v, **one}
                    for k, v in enumerate(judge["answers"])
                ]
    found = scores(score_agreement(jsonl(tmp_path, answers), slices=["type"]))
    assert found["all", "raw"].low < 0.869 < found["all", "raw"].high
    assert found["all", "α"].low < 0.643 < found["all", "α"].high
    assert found["mean of pairs", "raw"].low < 0.868 < found["mean of pairs", "raw"].high
    assert sum((f"{a} – {b}", "raw") in found for a, b in pairs) == 10
    table = score_agreement(jsonl(tmp_path, questions))
    found = scores(table)
    assert found["all", "raw"].low < 0.948 < found["all", "raw"].high
    assert found["all", "α"].value < 0 < found["all", "prevalence true"].value
    assert any("97 % of the labels" in note for note in table.notes)


# -- orders --------------------------------------------------------------------------------------------------------

ORDERS = [
    {"unit": "x", "annotator": "ana", "order": [1, 2, 3, 4, 5], "modality": "text"},
    {"unit": "x", "annotator": "ben", "order": [1, 2, 3, 4, 5], "modality": "text"},
    {"unit": "x", "annotator": "cem", "order": [1, 2, 3, 5, 4], "modality": "text"},
    {"unit": "y", "annotator": "ana", "order": [1, 2, 3], "modality": "image"},
    {"unit": "y", "annotator": "ben", "order": [3, 2, 1], "modality": "image"},
    {"unit": "z", "annotator": "ana", "order": [1, 2, 3, 4], "modality": "image"},
]


def test_orders(tmp_path):
    table = score_agreement(jsonl(tmp_path, ORDERS), "orders", slices=["modality"], **QUICK)
    found = scores(table)
    assert found["all", "κ = τ"].value == pytest.approx(-0.0666666667, abs=1e-9)
    assert (found["all", "κ = τ"].n, found["all", "κ = τ"].skipped) == (2, 1)
    assert found["modality=text", "κ = τ"].value == pytest.approx(0.8666666667, abs=1e-9)
    assert found["ana – ben", "κ = τ"].value == 0.0
    heat = table.figures[0]
    assert heat.cells == (
        (None, 0.0, pytest.approx(0.8)),
        (0.0, None, pytest.approx(0.8)),
        (pytest.approx(0.8),) * 2 + (None,),
    )
    assert table.headline["order_agreement"] == found["all", "κ = τ"].value


def test_orders_in_csv_and_as_ranks(tmp_path):
    path = csv(tmp_path, "unit,annotator,order", [("x", "a", "s1|s2|s3"), ("x", "b", "s2|s3|s1")])
    assert scores(score_agreement(path, "orders", **QUICK))["all", "κ = τ"].value == pytest.approx(-1 / 3)
    ranks = [{"unit": "x", "annotator": a, "order": r} for a, r in (("a", [0, 1, 2]), ("b", [2, 0, 1]))]
    found = scores(score_agreement(jsonl(tmp_path, ranks), "orders", semantics="ranks", **QUICK))
    assert found["all", "κ = τ"].value == pytest.approx(-1 / 3)
    mixed = [{"unit": "x", "annotator": a, "order": r} for a, r in (("a", [0, 1]), ("b", ["0", "1"]))]
    assert scores(score_agreement(jsonl(tmp_path, mixed), "orders", **QUICK))["all", "κ = τ"].value == 1.0


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([*ORDERS, ORDERS[0]], {}, "line 7, column 'annotator': annotator 'ana' judged unit 'x' twice"),
        ([{"unit": "x", "annotator": "a", "order": []}], {}, "line 1, column 'order': a list of steps was expected"),
        ([{"unit": "x", "annotator": "a", "order": [1, None]}], {}, "a step is a text or a whole number, got None"),
        ([{"unit": "x", "annotator": "a", "order": [1, 1.5]}], {}, "got 1.5"),
        ([{"unit": "x", "annotator": "a", "order": 5}], {}, "a list was expected"),
        ([{"unit": "x", "annotator": a, "order": o} for a, o in (("a", [1, 2]), ("b", [1, 3]))], {}, "instance 'x': the order (1 3) lacks '2'"),
        ([{"unit": "x", "annotator": "a", "order": [1, 2]}], {"semantics": "ranks"}, "line 1, column 'order': ranks must be 0 to 1"),
        ([{"unit": "x", "annotator": "a", "order": ["a"]}], {"semantics": "ranks"}, "ranks are whole numbers"),
    ],
)  # fmt: skip
def test_bad_orders_say_what_and_where(tmp_path, rows, options, message):
    with pytest.raises(UserError) as error:
        score_agreement(jsonl(tmp_path, rows), "orders", **QUICK, **options)
    assert message in str(error.value)


# -- alternatives --------------------------------------------------------------------------------------------------

ALTERNATIVES = [
    {"unit": "x", "annotator": "ana", "gold": [1, 2, 3, 4], "orders": [[2, 1, 3, 4]]},
    {"unit": "x", "annotator": "ben", "gold": [1, 2, 3, 4], "orders": [[2, 1, 3, 4], [1, 2, 4, 3]]},
    {"unit": "x", "annotator": "cem", "gold": [1, 2, 3, 4], "orders": []},
    {"unit": "y", "annotator": "ana", "gold": [1, 2, 3], "orders": [[2, 1, 3]]},
    {"unit": "y", "annotator": "ben", "gold": [1, 2, 3], "orders": None},
]


def test_alternatives(tmp_path):
    path = jsonl(tmp_path, ALTERNATIVES)
    table = score_agreement(path, "alternatives", **QUICK)
    found = scores(table)
    assert found["all", "Algorithm 1"].value == pytest.approx((0.2 + 0) / 2)
    assert ("all", "α of pairs") in found
    assert found["ana with the others", "Algorithm 1"].n == 3
    assert table.headline["references"] == {
        "x": (("1", "2", "3", "4"), ("2", "1", "3", "4")), "y": (("1", "2", "3"),)
    }  # fmt: skip
    assert table.counts["units with several references"] == 1
    strict = score_agreement(path, "alternatives", quorum=4, **QUICK)
    assert strict.counts["units with several references"] == 0
    mean = score_agreement(path, "alternatives", pooling="pair_mean", **QUICK)
    assert scores(mean)["all", "Algorithm 1"].value == pytest.approx((0.5 / 3 + 0) / 2)
    tau = score_agreement(path, "alternatives", penalty="tau", **QUICK)
    assert scores(tau)["all", "Algorithm 1"].signature.parameters["penalty"] == "tau"
    assert isinstance(table.figures[0], Matrix)
    assert table.figures[0].cells[0][1] == pytest.approx((0.5 + 0) / 2)


def test_alternatives_in_csv(tmp_path):
    rows = [
        ("x", "ana", "1 2 3 4", "2 1 3 4"),
        ("x", "ben", "1 2 3 4", "2 1 3 4|1 2 4 3"),
        ("x", "cem", "1 2 3 4", ""),
    ]
    for gold in (rows, [(u, a, g.replace(" ", "|"), o) for u, a, g, o in rows]):
        path = csv(tmp_path, "unit,annotator,gold,orders", gold)
        found = scores(score_agreement(path, "alternatives", **QUICK))
        assert found["all", "Algorithm 1"].value == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"unit": "x", "annotator": "dan", "gold": [1, 3, 2, 4], "orders": []}, "line 6, column 'gold': unit 'x' has another authored order"),
        ({"unit": "x", "annotator": "dan", "gold": [1, 2, 3, 4], "orders": [[1, 2]]}, "instance 'x': the order (1 2) lacks '3'"),
        ({"unit": "y", "annotator": "ana", "gold": [1, 2, 3], "orders": []}, "annotator 'ana' judged unit 'y' twice"),
        ({"unit": "x", "annotator": "dan", "gold": [1, 2, 3, 4], "orders": [1, 2]}, "column 'orders': a list of steps was expected"),
        ({"unit": "x", "annotator": "dan", "gold": None, "orders": []}, "column 'gold': a list of steps was expected"),
    ],
)  # fmt: skip
def test_bad_alternatives_say_what_and_where(tmp_path, row, message):
    with pytest.raises(UserError) as error:
        score_agreement(jsonl(tmp_path, [*ALTERNATIVES, row]), "alternatives", **QUICK)
    assert message in str(error.value)


# -- segments ------------------------------------------------------------------------------------------------------

SEGMENTS = [
    ("r1", "ana", "crack", 0, 10, "N"), ("r1", "ana", "stir", 10, 20, "N"), ("r1", "ana", "stir", 30, 40, "N"),
    ("r1", "ben", "crack", 1, 10, "N"), ("r1", "ben", "stir", 12, 20, "N"),
    ("r2", "ana", "crack", 0, 10, "E"), ("r2", "ben", "crack", 5, 15, "E"), ("r2", "ben", "wash", 20, 30, "E"),
    ("r3", "ana", "crack", 0, 10, "E"),
]  # fmt: skip
SEGMENT_HEAD = "recording,annotator,step,start,end,kind"


def test_segments(tmp_path):
    table = score_agreement(csv(tmp_path, SEGMENT_HEAD, SEGMENTS), "segments", slices=["kind"], **QUICK)
    found = scores(table)
    assert found["all", "IoU"].value == pytest.approx((0.9 + 0.4 + 1 / 3 + 0) / 4)
    assert found["all", "start median s"].value == 2.0
    assert found["all", "end p90 s"].value == pytest.approx(4.0)
    assert found["all", "F1@0.5"].value == 0.5
    assert found["kind=N", "IoU"].value == pytest.approx(0.65)
    assert found["step stir", "IoU"].value == pytest.approx(0.4)
    assert table.counts == {
        "rows": 9, "recordings": 3, "annotators": 2, "recordings with one annotator": 1, "steps": 4, "steps in both": 3,
        "steps missing": 1, "executions matched": 3, "executions missing": 2,
    }  # fmt: skip
    heat, bars, plot = table.figures
    assert (bars.labels, bars.counts) == (("wash", "stir", "crack"), (1, 1, 2))
    assert bars.values == pytest.approx((0.0, 0.4, (0.9 + 1 / 3) / 2))
    assert heat.cells[0] == (None, table.headline["mean_segment_iou"])
    assert not any(label.endswith(" s") for label in plot.labels)
    chosen = score_agreement(csv(tmp_path, SEGMENT_HEAD, SEGMENTS), "segments", thresholds=[0.75], **QUICK)
    assert ("all", "F1@0.75") in scores(chosen)
    assert ("all", "F1@0.5") not in scores(chosen)


def test_segments_of_three_annotators_show_pairs(tmp_path):
    more = [("r1", "cem", "crack", 0, 10, "N"), ("r2", "cem", "wash", 20, 30, "E")]
    found = scores(score_agreement(csv(tmp_path, SEGMENT_HEAD, SEGMENTS + more), "segments", **QUICK))
    assert found["ana – cem", "IoU"].value == pytest.approx((1 + 0 + 0 + 0) / 4)
    assert found["ben – cem", "IoU"].value == pytest.approx((0.9 + 0 + 0 + 1) / 4)


def test_one_annotator_is_undefined_with_a_note(tmp_path):
    table = score_agreement(csv(tmp_path, SEGMENT_HEAD, SEGMENTS[:3]), "segments", **QUICK)
    assert all(math.isnan(row.score.value) and row.score.note for row in table.rows)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("r1", "ana", "crack", 0, 10, "N"), "line 11, column 'step': annotator 'ana' marked step 'crack' of 'r1' at these times twice"),
        (("r1", "ana", "crack", 9, 9, "N"), "line 11, column 'end': the segment ends at 9 s, not after its start at 9 s"),
        (("r1", "ana", "crack", "x", 9, "N"), "line 11, column 'start': a number was expected, got 'x'"),
        (("r1", "ana", "crack", "nan", 9, "N"), "a finite number was expected"),
        (("r1", "", "crack", 1, 9, "N"), "column 'annotator': the value is missing"),
    ],
)  # fmt: skip
def test_bad_segments_say_what_and_where(tmp_path, row, message):
    with pytest.raises(UserError) as error:
        score_agreement(csv(tmp_path, SEGMENT_HEAD, [*SEGMENTS, row]), "segments", **QUICK)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("segments", {"cluster": "kind"}, "the option 'cluster' does not go with segments; it belongs to labels and orders"),
        ("segments", {"level": "ordinal"}, "'level' does not go with segments; it belongs to labels."),
        ("labels", {"thresholds": [0.3]}, "'thresholds' does not go with labels"),
        ("orders", {"quorum": 2}, "'quorum' does not go with orders"),
        ("labels", {"semantics": "ranks"}, "it belongs to orders and alternatives"),
    ],
)  # fmt: skip
def test_options_of_another_kind_are_refused(tmp_path, kind, options, message):
    with pytest.raises(UserError) as error:
        score_agreement(csv(tmp_path, SEGMENT_HEAD, SEGMENTS), kind, **options)
    assert message in str(error.value)


def test_a_crowd_is_shown_as_a_heat_map_only(tmp_path):
    rows = [(f"u{k}", f"w{(k + j) % 8}", "yes" if (k * j) % 3 else "no") for k in range(40) for j in range(3)]
    table = score_agreement(csv(tmp_path, "unit,annotator,label", rows), **QUICK)
    assert not any("–" in row.slice for row in table.rows)
    assert len(table.figures[0].cells) == 8
    assert table.figures[0].cells[0][1] is not None
    assert table.figures[0].cells[0][4] is None  # never met
    orders = [
        {"unit": f"u{k}", "annotator": f"w{j}", "order": [1, 2] if j else [2, 1]}
        for k in range(3)
        for j in range(7)
    ]
    crowd = score_agreement(jsonl(tmp_path, orders), "orders", **QUICK)
    assert [row.slice for row in crowd.rows if not row.chance] == ["all"]
    assert crowd.figures[0].cells[0][1] == -1.0
    assert crowd.rows[0].score.low is not None


def test_bad_threshold(tmp_path):
    with pytest.raises(UserError, match="threshold must lie above 0"):
        score_agreement(csv(tmp_path, SEGMENT_HEAD, SEGMENTS), "segments", thresholds=[2.0], **QUICK)
