import csv
import json
import math
import random

import numpy as np
import pytest
from tests.stages.scoring.scored import family

from proctor.cli.scoring.families import table_as_json
from proctor.errors import UserError
from proctor.metrics.bootstrap import bootstrap_interval, cluster_sums
from proctor.metrics.figure import IntervalPlot, Matrix, Reliability
from proctor.metrics.hypothesis_tests import fisher_exact, mann_whitney, mcnemar, permutation_test
from proctor.metrics.judge_error import JudgeError, corrected_share, prediction_powered_mean
from proctor.metrics.significance import compare_paired
from proctor.report.score_page import render_score_page
from proctor.stages.scoring.significance_files import read_marks

score_significance = family("significance", "files")


def score_calibration(path, **options):
    return score_significance([path], calibration=True, **options)


FAST = {"resamples": 200}


def write(path, head, rows):
    with path.open("w", newline="") as stream:
        out = csv.writer(stream)
        out.writerow(head)
        out.writerows(rows)
    return path


def marks(n=60, systems=("base", "new", "other"), seed=0):
    rng = random.Random(seed)
    return {
        f"q{i:03}": {name: int(rng.random() < 0.3 + 0.15 * k) for k, name in enumerate(systems)}
        for i in range(n)
    }


@pytest.fixture
def wide(tmp_path):
    rows = [[item, f"r{k // 3}", *row.values()] for k, (item, row) in enumerate(marks().items())]
    return write(tmp_path / "marks.csv", ["item", "recording", "base", "new", "other"], rows)


def scores(table):
    return {(row.slice, row.metric): row.score for row in table.rows}


# -- forms -----------------------------------------------------------------------------------------------------


def test_wide_long_and_one_file_a_system_say_the_same(tmp_path, wide):
    rows = [
        [item, f"r{k // 3}", name, value]
        for k, (item, row) in enumerate(marks().items())
        for name, value in row.items()
    ]
    long = write(tmp_path / "long.csv", ["item", "recording", "system", "value"], rows)
    files = [
        write(
            tmp_path / f"{name}.csv",
            ["item_id", "recording", "score"],
            [[i, r, v] for i, r, n, v in rows if n == name],
        )
        for name in ("base", "new", "other")
    ]
    lines = tmp_path / "long.jsonl"
    lines.write_text(
        "\n".join(
            json.dumps({"question": i, "recording": r, "model": n, "mark": bool(v)}) for i, r, n, v in rows
        )
    )
    first = score_significance([wide], **FAST)
    for paths in ([long], files, [lines]):
        assert score_significance(paths, **FAST) == first


def test_order_of_rows_never_matters(tmp_path, wide):
    head, *rows = wide.read_text().splitlines()
    random.Random(1).shuffle(rows)
    mixed = tmp_path / "mixed.csv"
    mixed.write_text("\n".join([head, *rows]))
    assert score_significance([mixed], **FAST) == score_significance([wide], **FAST)


def test_numbers_are_those_of_the_metrics(wide):
    table = score_significance([wide], **FAST)
    found = scores(table)
    data = marks()
    clusters = {item: f"r{k // 3}" for k, item in enumerate(data)}
    a, b = ({item: float(row[name]) for item, row in data.items()} for name in ("base", "new"))
    pair = compare_paired(a, b, clusters, names=("base", "new"), resamples=200)
    score = found["base → new", "difference"]
    assert (score.value, score.low, score.high) == (pair.difference, pair.low, pair.high)
    assert found["base → new", "p"].value == pair.p
    assert found["base → new", "effect"].value == pair.effect
    assert found["base → new", "detectable"].value == pair.detectable
    interval = bootstrap_interval(
        cluster_sums([list(a.values()), [1.0] * 60], list(clusters.values())), resamples=200
    )
    mean = found["base", "mean"]
    assert mean.value == pytest.approx(np.mean(list(a.values())))
    assert (mean.low, mean.high) == pytest.approx((interval.low, interval.high))
    assert [p["a"] + p["b"] for p in table.headline["pairs"]] == ["basenew", "baseother", "newother"]
    assert table.headline["pairs"][0]["wins"] == pair.wins
    assert table.counts == {"systems": 3, "items": 60, "clusters": 20, "marks": 180, "failed": 0}
    assert all(row.score.n == 60 for row in table.rows)
    assert any(note.startswith("no chance level of the means") for note in table.notes)
    json.dumps(table_as_json(table))


def test_systems_and_reference_can_be_chosen(wide):
    two = score_significance([wide], systems=("other", "base"), **FAST)
    assert [row.slice for row in two.rows if row.metric == "mean"] == ["other", "base"]
    assert [p["b"] for p in two.headline["pairs"]] == ["base"]
    one = score_significance([wide], reference="new", **FAST)
    assert [(p["a"], p["b"]) for p in one.headline["pairs"]] == [("new", "base"), ("new", "other")]
    every = scores(score_significance([wide], **FAST))
    assert scores(one)["new → base", "p"] == every["base → new", "p"]
    assert scores(one)["new → base", "difference"].value == -every["base → new", "difference"].value


def test_figures(wide):
    plot, differences, clear = score_significance([wide], **FAST).figures
    assert isinstance(plot, IntervalPlot)
    assert plot.labels == ("base", "new", "other")
    assert plot.scale == (0.0, 1.0)
    assert isinstance(differences, Matrix)
    assert differences.cells[0][0] is None
    assert differences.cells[0][1] == -differences.cells[1][0]
    assert (
        -differences.low
        == differences.high
        == max(abs(v) for r in differences.cells for v in r if v is not None)
    )
    assert clear.cells[0][2] == clear.cells[2][0]
    assert 0 <= clear.cells[0][2] <= 1


# -- what is missing ----------------------------------------------------------------------------------------------


def test_failed_and_missing_marks_are_counted_and_never_zero(tmp_path):
    path = write(
        tmp_path / "m.csv",
        ["item", "system", "value"],
        [
            ["1", "a", 1],
            ["2", "a", ""],
            ["3", "a", 1],
            ["4", "a", 1],
            ["1", "b", 1],
            ["2", "b", 0],
            ["3", "b", ""],
        ],
    )
    table = score_significance([path], **FAST)
    found = scores(table)
    a, b, pair = found["a", "mean"], found["b", "mean"], found["a → b", "difference"]
    assert (a.value, a.n, a.failed, a.skipped) == (1.0, 3, 1, 0)
    assert (b.value, b.n, b.failed, b.skipped) == (0.5, 2, 1, 1)
    assert (pair.value, pair.n, pair.failed, pair.skipped) == (0.0, 1, 2, 1)
    assert table.counts["failed"] == 2
    assert any("left out (at most 3)" in text for text in table.notes)
    assert any("no column of clusters" in text for text in table.notes)


def test_system_without_any_mark_is_undefined_with_its_reason(tmp_path):
    path = write(tmp_path / "m.csv", ["item", "a", "b"], [["1", 1, ""], ["2", 0, ""]])
    found = scores(score_significance([path], **FAST))
    assert math.isnan(found["b", "mean"].value)
    assert found["b", "mean"].note == "no answer of this system has a mark"
    assert math.isnan(found["a → b", "difference"].value)
    assert "no item has a mark in both runs" in found["a → b", "p"].note


def test_one_system_and_one_item(tmp_path):
    path = write(tmp_path / "m.csv", ["item", "a"], [["1", 0.5]])
    table = score_significance([path], **FAST)
    (row,) = table.rows
    assert (row.score.value, row.score.low) == (0.5, None)
    assert "one cluster was observed" in row.score.note
    assert "there is one system: nothing to compare" in table.notes
    assert len(table.figures) == 1


def test_without_resamples_there_are_no_intervals_but_tests(wide):
    found = scores(score_significance([wide], resamples=0))
    assert found["base", "mean"].low is None
    assert found["base → new", "difference"].low is None
    assert found["base → new", "p"].value > 0
    assert str(found["base", "mean"].signature) == "mean|cluster:recording|strata:none"


def test_equal_systems_have_no_effect(tmp_path):
    path = write(tmp_path / "m.csv", ["item", "a", "b"], [[str(i), i % 2, i % 2] for i in range(20)])
    found = scores(score_significance([path], **FAST, difference=0.1))
    assert found["a → b", "p"].value == 1
    assert "nothing differs" in found["a → b", "difference"].note
    assert ("a → b", "effect") not in found


def test_strata_narrow_the_interval(tmp_path):
    rows = [[f"q{i:03}", "easy" if i < 50 else "hard", int(i < 48), int(i < 52)] for i in range(100)]
    path = write(tmp_path / "m.csv", ["item", "kind", "a", "b"], rows)
    free = scores(score_significance([path], systems=("a", "b"), **FAST))["a", "mean"]
    drawn = scores(score_significance([path], stratum="kind", **FAST))["a", "mean"]
    assert drawn.high - drawn.low < 0.5 * (free.high - free.low)
    assert "strata:kind" in str(drawn.signature)


# -- tests ----------------------------------------------------------------------------------------------------------


def test_every_test_gives_its_p(wide):
    data = marks()
    a, b = ([row[name] for row in data.values()] for name in ("base", "new"))
    only_a, only_b = (sum(x > y for x, y in zip(p, q, strict=True)) for p, q in ((a, b), (b, a)))
    expected = {
        "mcnemar": mcnemar(only_a, only_b).p,
        "mcnemar-mid-p": mcnemar(only_a, only_b, mid_p=True).p,
        "permutation": permutation_test(a, b, resamples=200).p,
        "mann-whitney": mann_whitney(a, b).p,
        "fisher": fisher_exact(sum(a), 60, sum(b), 60).p,
    }
    for test, p in expected.items():
        table = score_significance([wide], test=test, **FAST)
        score = scores(table)["base → new", "p"]
        assert score.value == pytest.approx(p), test
        assert scores(table)["base → new", "difference"].value == pytest.approx(np.mean(b) - np.mean(a))
    assert "60 items occur in both groups" in scores(table)["base → new", "difference"].note


def test_groups_of_different_items(tmp_path):
    """The human study of SMMQG, table 4, answerability: the counts as printed there."""
    rows = [[f"s{i}", "smmqg", int(i < 284)] for i in range(300)]
    rows += [[f"m{i}", "mmqa", int(i < 103)] for i in range(120)]
    path = write(tmp_path / "study.csv", ["item", "system", "value"], rows)
    table = score_significance([path], test="fisher", **FAST)
    found = scores(table)
    assert found["smmqg → mmqa", "p"].value == pytest.approx(0.004263, abs=5e-7)
    difference = found["smmqg → mmqa", "difference"]
    assert difference.value == pytest.approx(103 / 120 - 284 / 300)
    assert difference.low < difference.value < difference.high < 0
    assert difference.n == 420
    assert difference.signature.name == "difference"
    effect = found["smmqg → mmqa", "effect"].value
    assert effect == pytest.approx(difference.value / math.sqrt((284 * 16 / 300 + 103 * 17 / 120) / 418))


def test_groups_without_marks_are_undefined(tmp_path):
    path = write(tmp_path / "m.csv", ["item", "system", "value"], [["1", "a", 1], ["2", "b", ""]])
    for test in ("permutation", "mann-whitney", "fisher"):
        found = scores(score_significance([path], test=test, **FAST))
        assert math.isnan(found["a → b", "p"].value)
        assert "group b is empty" in found["a → b", "p"].note


def test_many_pairs_are_shown_for_the_best_only(tmp_path):
    rng = random.Random(0)
    names = [f"s{k}" for k in range(10)]
    rows = [[f"q{i}", *(int(rng.random() < 0.3 + 0.06 * k) for k in range(10))] for i in range(80)]
    table = score_significance([write(tmp_path / "m.csv", ["item", *names], rows)], **FAST)
    assert len(table.headline["pairs"]) == 45
    assert len({row.slice for row in table.rows if row.metric == "difference"}) == 9
    assert any("of 45 pairs the table shows those with" in text for text in table.notes)
    assert "holm|tests:45" in {str(row.score.signature) for row in table.rows}


def test_items_needed(wide):
    found = scores(score_significance([wide], difference=0.1, **FAST))
    need, detectable = found["base → new", "items needed"], found["base → new", "detectable"]
    assert need.value == pytest.approx(60 * (detectable.value / 0.1) ** 2, abs=1)
    twice = scores(score_significance([wide], difference=0.05, **FAST))["base → new", "items needed"]
    assert twice.value == pytest.approx(4 * need.value, abs=4)


# -- judges ---------------------------------------------------------------------------------------------------------


def test_judge_calibration_corrects_shares(tmp_path, wide):
    pairs = [[1, 1]] * 27 + [[1, 0]] * 3 + [[0, 0]] * 24 + [[0, 1]] * 6 + [["", 1]]
    path = write(tmp_path / "judge.csv", ["human", "judge"], pairs)
    table = score_significance([wide], judge_calibration=path, **FAST)
    right = sum(row["base"] for row in marks().values())
    expected = corrected_share(right, 60, JudgeError(30, 27, 30, 24))
    found = scores(table)["base", "corrected"]
    assert (found.value, found.low, found.high) == (expected.value, expected.low, expected.high)
    assert "takes items as independent" in found.note
    assert table.headline["judge"]["sensitivity"]["value"] == 0.9
    assert table.headline["judge"]["wrong"] == 30
    assert any("sensitivity 0.900 [" in text and "specificity 0.800 [" in text for text in table.notes)
    assert "base (corrected)" in table.figures[0].labels


def test_useless_judge_is_said_to_be_useless(tmp_path, wide):
    path = write(tmp_path / "judge.csv", ["human", "judge"], [["yes", "no"], ["no", "yes"]])
    found = scores(score_significance([wide], judge_calibration=path, **FAST))["base", "corrected"]
    assert math.isnan(found.value)
    assert "does not tell right from wrong" in found.note
    path = write(tmp_path / "judge.csv", ["human", "judge"], [["yes", "yes"]])
    table = score_significance([wide], judge_calibration=path, **FAST)
    assert any("specificity unknown" in text for text in table.notes)


def test_human_marks_give_prediction_powered_means(tmp_path, wide):
    data = marks()
    rows = [[item, name, 1 - row[name] if k % 8 == 0 else row[name]]
            for k, (item, row) in enumerate(data.items()) if k % 2 == 0 for name in row]  # fmt: skip
    path = write(tmp_path / "human.csv", ["item", "system", "human"], rows)
    found = scores(score_significance([wide], human=path, **FAST))
    labels = {item: value for item, name, value in rows if name == "new"}
    clusters = [f"r{k // 3}" for k in range(60)]
    for label, tuned in (("PPI", False), ("PPI tuned", True)):
        expected = prediction_powered_mean(
            [labels.get(item) for item in data],
            [row["new"] for row in data.values()],
            clusters=clusters,
            tuned=tuned,
        )
        assert found["new", label].value == pytest.approx(expected.value)
        assert found["new", label].low == pytest.approx(expected.low)
    # Every fourth of the marked items (0, 8, 16, …) was judged the other way round.
    assert found["new", "judge accuracy"].value == pytest.approx(22 / 30)
    assert found["new", "judge accuracy"].n == found["new", "judge r"].n == 30
    assert found["new", "judge r"].low < found["new", "judge r"].value < found["new", "judge r"].high


def test_human_marks_of_one_system_need_no_name(tmp_path):
    path = write(tmp_path / "m.csv", ["item", "a"], [[str(i), i % 3] for i in range(30)])
    human = write(
        tmp_path / "h.csv", ["item", "human"], [[str(i), i % 3] for i in range(0, 30, 2)] + [["1", ""]]
    )
    found = scores(score_significance([path], human=human, **FAST))
    assert "labels:15" in str(found["a", "PPI"].signature)
    with pytest.raises(UserError, match="must say which system"):
        score_significance(
            [write(tmp_path / "m2.csv", ["item", "a", "b"], [["1", 1, 0]])], human=human, **FAST
        )


# -- another benchmark ------------------------------------------------------------------------------------------------


def test_concurrence_of_smmqg_table_5(tmp_path):
    """One question a benchmark whose marks are the printed scores: tau 0.857, exact p 0.0017."""
    a, b = [55.0, 61.0, 65.7, 80.7, 73.9, 87.3, 93.0, 96.4], [68.0, 75.0, 78.5, 89.6, 75.9, 86.9, 92.9, 97.4]
    names = [f"m{k}" for k in range(8)]
    first, second = (
        write(tmp_path / f"{n}.csv", ["item", *names], [["q", *v]]) for n, v in (("a", a), ("b", b))
    )
    table = score_significance([first], concurrence=second, **FAST)
    found = scores(table)
    assert found["concurrence", "τ-b"].value == pytest.approx(0.857143, abs=5e-7)
    assert found["concurrence", "p"].value == pytest.approx(0.001736, abs=5e-7)
    assert "fewer than two questions" in found["concurrence", "τ-b"].note
    assert any("2 of 28 pairs of systems are ranked the other way round" in text for text in table.notes)


def test_concurrence_has_an_interval_over_questions(tmp_path, wide):
    rows = [[item, *row.values()] for item, row in marks(80, seed=5).items()]
    rows[0][1] = ""
    other = write(tmp_path / "other.csv", ["item", "base", "new", "other"], rows)
    table = score_significance([wide], concurrence=other, **FAST)
    score = scores(table)["concurrence", "τ-b"]
    assert score.low <= score.value <= score.high
    assert "only 3 systems" in score.note
    assert "interval:percentile-95" in str(score.signature)
    assert any("leaves out 1 items" in text for text in table.notes)
    without = score_significance([wide], concurrence=other, resamples=0)
    assert scores(without)["concurrence", "τ-b"].low is None


def test_concurrence_needs_the_same_systems(tmp_path, wide):
    other = write(tmp_path / "o.csv", ["item", "base", "new"], [["1", 1, 0]])
    with pytest.raises(UserError, match="no marks of 'other'"):
        score_significance([wide], concurrence=other, **FAST)
    two = score_significance([wide], systems=("base", "new"), concurrence=other, **FAST)
    assert ("concurrence", "τ-b") in scores(two)
    empty = write(tmp_path / "e.csv", ["item", "base", "new"], [["1", 1, ""]])
    with pytest.raises(UserError, match="'new' has no mark"):
        score_significance([wide], systems=("base", "new"), concurrence=empty, **FAST)
    tied = write(tmp_path / "t.csv", ["item", "base", "new"], [["1", 1, 1], ["2", 0, 0]])
    found = scores(score_significance([wide], systems=("base", "new"), concurrence=tied, **FAST))
    assert math.isnan(found["concurrence", "τ-b"].value)
    assert "all systems are tied" in found["concurrence", "p"].note


# -- wrong files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "item,system,value\n1,a,1\n1,a,0\n",
            r"line 3, column 'value': the item '1' has a second mark of 'a'",
        ),
        ("item,a\n1,1\n1,0\n", r"line 3, column 'item': the item '1' occurs twice"),
        ("item,a\n1,x\n", r"line 2, column 'a': a mark is a finite number or yes/no, got 'x'"),
        ("item,a\n1,nan\n", "leave the cell empty if the answer failed"),
        ("item,a\n1,inf\n", "a mark is a finite number"),
        ("item,system,value\n1,,1\n", "column 'system': the value is missing"),
        ("item,recording,a\n1,,1\n", "column 'recording': the value is missing"),
        ("item\n1\n", "there is no column of marks"),
        ("name,a\n1,1\n", "there is no column 'item'"),
        ("item,a\n", "the file has no rows"),
        (
            "item,system,recording,value\n1,a,r,1\n1,b,s,1\n",
            "the item '1' has the cluster 's', but 'r' before",
        ),
        ("item,recording,stratum,a\n1,r,x,1\n2,r,y,1\n", "cluster 'r' lies in the strata 'x' and 'y'"),
    ],
)
def test_wrong_files_are_named(tmp_path, text, message):
    path = tmp_path / "m.csv"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        score_significance([path], **FAST)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test": "t"}, "one of sign-flip"),
        ({"reference": "x"}, "no system 'x'; the systems are 'base', 'new', 'other'"),
        ({"systems": ("x",)}, "no column 'x'"),
        ({"systems": ("new", "new")}, "'new' was named twice"),
        ({"cluster": "x"}, "no column 'x'"),
        ({"stratum": "x"}, "no column 'x'"),
        ({"difference": 0.0}, "must be positive"),
        ({"difference": math.nan}, "must be positive"),
        ({"confidence": 95}, "confidence must lie strictly between 0 and 1"),
    ],
)
def test_wrong_options_are_named(wide, options, message):
    with pytest.raises(UserError, match=message):
        score_significance([wide], **{**FAST, **options})


def test_marks_that_do_not_fit_the_test_or_the_correction(tmp_path):
    path = write(tmp_path / "m.csv", ["item", "a", "b"], [["1", 0.5, 1], ["2", 1, 0]])
    judge = write(tmp_path / "j.csv", ["human", "judge"], [[1, 1], [0, 0]])
    for options in ({"test": "mcnemar"}, {"test": "fisher"}, {"judge_calibration": judge}):
        with pytest.raises(UserError, match="yes/no"):
            score_significance([path], **FAST, **options)
    scale = write(tmp_path / "j2.csv", ["human", "judge"], [[1, 0.5]])
    with pytest.raises(UserError, match=r"line 2, column 'judge': yes/no or 1/0 was expected, got 0\.5"):
        score_significance([path], judge_calibration=scale, **FAST)
    human = write(tmp_path / "h.csv", ["item", "system", "human"], [["1", "a", 1], ["1", "a", 0]])
    with pytest.raises(UserError, match="the item '1' has a second mark"):
        score_significance([path], human=human, **FAST)
    human = write(tmp_path / "h.csv", ["item", "system", "human"], [["9", "a", 1]])
    with pytest.raises(UserError, match="none of people's marks"):
        score_significance([path], human=human, **FAST)
    human = write(tmp_path / "h.csv", ["item", "system", "human"], [["9", "a", ""]])
    with pytest.raises(UserError, match="no item has a mark"):
        score_significance([path], human=human, **FAST)


def test_several_files(tmp_path):
    (tmp_path / "x").mkdir()
    first = write(tmp_path / "a.csv", ["item", "value"], [["1", 1]])
    twin = write(tmp_path / "x" / "a.csv", ["item", "value"], [["1", 0]])
    with pytest.raises(UserError, match="two files are called 'a'"):
        score_significance([first, twin], **FAST)
    with pytest.raises(UserError, match="no column 'value'"):
        score_significance([first, write(tmp_path / "b.csv", ["item", "b"], [["1", 1]])], **FAST)
    with pytest.raises(UserError, match="no file"):
        read_marks([])


# -- calibration --------------------------------------------------------------------------------------------------


def confidences(tmp_path, n=200, seed=0, **more):
    rng = random.Random(seed)
    rows = []
    for i in range(n):
        c = round(rng.random(), 3)
        rows.append([c, "yes" if rng.random() < c else "no", "m1" if i % 2 else "m2", f"r{i // 4}"])
    return write(tmp_path / "c.csv", ["confidence", "correct", "system", "recording"], rows), rows


def test_calibration_by_system_with_diagrams(tmp_path):
    path, rows = confidences(tmp_path)
    table = score_calibration(path, bins=5, **FAST)
    found = scores(table)
    mine = [(c, y == "yes") for c, y, name, _ in rows if name == "m1"]
    assert found["m1", "accuracy"].value == np.mean([y for _, y in mine])
    assert found["m1", "Brier"].value == pytest.approx(np.mean([(c - y) ** 2 for c, y in mine]))
    assert found["m1", "Brier"].low < found["m1", "Brier"].value < found["m1", "Brier"].high
    assert found["m1", "ECE"].low is None
    assert found["m1", "ECE if calibrated"].low < found["m1", "ECE"].value
    assert 0.01 < found["m1", "p (calibrated)"].value <= 1
    chance = found["m1: always its base rate", "Brier"]
    assert chance.value == pytest.approx(np.var([y for _, y in mine]))
    assert [row.chance for row in table.rows][-2:] == [True, True]
    assert all(isinstance(figure, Reliability) for figure in table.figures)
    assert [figure.title for figure in table.figures] == ["Reliability of m2", "Reliability of m1"]
    assert sum(table.figures[0].counts) == 100
    assert not any("no column of clusters" in text for text in table.notes)
    json.dumps(table_as_json(table))


def test_calibration_order_of_rows_never_matters(tmp_path):
    path, _ = confidences(tmp_path)
    head, *rows = path.read_text().splitlines()
    first = scores(score_calibration(path, **FAST))
    random.Random(0).shuffle(rows)
    path.write_text("\n".join([head, *rows]))
    assert scores(score_calibration(path, **FAST)) == first


@pytest.mark.parametrize("binning", ["width", "mass"])
def test_calibration_of_one_item_and_certain_mistakes(tmp_path, binning):
    path = write(tmp_path / "c.csv", ["confidence", "correct"], [[1.0, 0]])
    table = score_calibration(path, binning=binning, **FAST)
    found = scores(table)
    assert found["all", "ECE"].value == 1
    assert found["all", "NLL"].value == math.inf
    assert "1 items came out" in found["all", "NLL"].note
    assert table.figures[0].title == "Reliability"
    assert table_as_json(table)["scores"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [[87, 1]],
            "line 2, column 'confidence': a confidence lies between 0 and 1, got 87.*divide percentages",
        ),
        ([[0.5, 1], [-0.1, 1]], "line 3, column 'confidence'.*got -0.1"),
        ([[0.5, "maybe"]], "column 'correct': yes/no, true/false or 1/0"),
        ([["", 1]], "the number is missing"),
        ([["nan", 1]], "a finite number was expected"),
    ],
)
def test_calibration_wrong_cells_are_named(tmp_path, rows, message):
    path = write(tmp_path / "c.csv", ["confidence", "correct"], rows)
    with pytest.raises(UserError, match=f"(?s){message}"):
        score_calibration(path, **FAST)


def test_page_of_full_bins_and_of_another_level(tmp_path):
    rows = [[1.0, 1]] * 30 + [[1.0, 0]] * 5 + [[0.3 + i / 100, i % 2] for i in range(20)]
    path = write(tmp_path / "c.csv", ["confidence", "correct"], rows)
    table = score_calibration(path, binning="mass", confidence=0.9, resamples=100)
    assert table.figures[0].title == "Reliability (90 % intervals)"
    assert table.figures[0].counts[-1] == 35
    page = render_score_page(table)
    assert "nan" not in page.lower()


def test_calibration_wrong_options(tmp_path):
    path, _ = confidences(tmp_path)
    with pytest.raises(UserError, match="no column 'x'"):
        score_calibration(path, cluster="x", **FAST)
    with pytest.raises(UserError, match="at least 1"):
        score_calibration(path, bins=0, **FAST)
