import csv
import gzip
import json

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.stages.scoring.scored import family

from proctor.cli.scoring.families import table_as_json
from proctor.errors import UserError
from proctor.metrics.figure import IntervalPlot, Matrix
from proctor.metrics.ordering import expected_measures, measure_orders
from proctor.stages.scoring.ordering_files import read_items, read_predictions

score_ordering = family("ordering", "gt", "pred")

GOLD = [
    {
        "id": "a",
        "references": [[0, 1, 2, 3, 4], [1, 0, 2, 3, 4]],
        "presented": [3, 1, 0, 2, 4],
        "topic": "food",
    },
    {"id": "b", "order": [0, 1, 2, 3, 4], "presented": [3, 1, 0, 2, 4], "topic": "home"},
    {"id": "c", "order": [0, 1, 2, 3], "presented": [3, 1, 0, 2], "topic": "food"},
]
PREDICTED = [
    {"id": "a", "order": [1, 0, 2, 3, 4]},
    {"id": "b", "order": [0, 1, 2, 3, 4]},
    {"id": "c", "order": [3, 1, 2, 0]},
]


@pytest.fixture
def write(tmp_path):
    def write_rows(name, rows):
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write_rows


@pytest.fixture
def gold(write):
    return write("gold.jsonl", GOLD)


@pytest.fixture
def predicted(write):
    return write("pred.jsonl", PREDICTED)


def values(table, part="all"):
    return {row.metric: row.shown.value for row in table.rows if row.slice == part}


def only(table, metric, part="all"):
    return next(row.score for row in table.rows if row.slice == part and row.metric == metric)


def test_a_plain_score(gold, predicted):
    table = score_ordering(gold, predicted, references="first", resamples=100)
    found = values(table)
    assert found["Acc"] == pytest.approx(100 * (0.6 + 1 + 0.5) / 3)
    assert found["PMR"] == pytest.approx(100 / 3)
    assert found["Acc micro"] == pytest.approx(100 * 10 / 14)
    assert found["Dist"] == pytest.approx((2 + 0 + 6) / 3)
    assert table.headline["position_accuracy"] == found["Acc"]
    assert table.counts == {"items": 3, "scored": 3, "failed": 0}
    assert only(table, "Acc").signature.parameters["references"] == "first"
    five, four = expected_measures(5), expected_measures(4)
    assert values(table, "chance")["Lq"] == pytest.approx(
        (2 * five["longest_common_subsequence"] + four["longest_common_subsequence"]) / 3
    )
    assert values(table, "chance")["Acc micro"] == pytest.approx(100 * 3 / 14)
    assert all(row.chance for row in table.rows if row.slice == "chance")
    assert "references" not in table.headline


def test_several_references(gold, predicted):
    table = score_ordering(gold, predicted, resamples=0)
    assert values(table)["PMR"] == pytest.approx(200 / 3)
    assert values(table, "several references: first")["PMR"] == 0
    assert values(table, "several references: joint")["PMR"] == 100
    assert values(table, "one reference")["Acc"] == 75
    assert values(table, "all: first")["Acc"] == pytest.approx(70)
    subsets = table.headline["references"]["subsets"]
    assert subsets["multi"]["benefiting_percent"] == 100
    assert subsets["multi"]["single"]["position_accuracy"] == pytest.approx(60)
    assert subsets["all"]["multi"]["position_accuracy"] == pytest.approx(values(table)["Acc"])
    assert table.headline["references"]["mean_references"] == pytest.approx(4 / 3)
    assert values(table, "chance")["PMR"] > 100 * (2 / 120 + 1 / 24) / 3
    independent = score_ordering(gold, predicted, references="independent", resamples=0)
    assert only(independent, "Acc").signature.parameters["references"] == "independent"


def test_missing_predictions_are_failed_and_never_dropped_silently(gold, write):
    pred = write("p.jsonl", [PREDICTED[0], {"id": "b", "order": None}])
    table = score_ordering(gold, pred, resamples=0)
    assert (only(table, "Acc").n, only(table, "Acc").failed) == (1, 2)
    assert table.counts["failed"] == 2
    assert any("2 of 3 items have no prediction" in note for note in table.notes)


def test_failed_items_are_counted_where_they_belong(write):
    rows = [{**row, "constraints": [[0, 1]]} if row["id"] == "c" else row for row in GOLD]
    gold = write("g.jsonl", [*rows, {"id": "d", "order": [0, 1], "topic": "car"}])
    pred = write("p.jsonl", [{"id": "a", "order": [0, 1, 2, 3, 4]}, {"id": "b", "order": [0, 1, 2, 4, 3]}])
    table = score_ordering(gold, pred, slices=["topic"], constraints_from_references=True, resamples=10)
    counted = {
        part: (only(table, "Acc", part).n, only(table, "Acc", part).failed)
        for part in (
            "all",
            "topic=food",
            "topic=home",
            "topic=car",
            "one reference",
            "several references: first",
        )
    }
    assert counted == {
        "all": (2, 2),
        "topic=food": (1, 1),
        "topic=home": (1, 0),
        "topic=car": (0, 1),
        "one reference": (1, 2),
        "several references: first": (1, 0),
    }
    assert np.isnan(only(table, "Acc", "topic=car").value)
    assert only(table, "Acc", "topic=car").note == "there are no sequences"
    assert only(table, "valid", "topic=food").failed == 1


def test_strict_names_what_is_wrong_and_how_much(gold, write):
    pred = write("p.jsonl", [{"id": "a", "order": [0, 1, 2, 3, 3]}, {"id": "c", "order": [0, 9]}])
    with pytest.raises(UserError) as caught:
        score_ordering(gold, pred)
    assert "item 'a': the prediction lacks '4' and repeats '3'" in caught.value.message
    assert "1 more" in caught.value.message
    assert "line 1" in caught.value.where
    assert "--mode repair" in caught.value.hint


def test_repair_counts(gold, write):
    pred = write(
        "p.jsonl",
        [
            {"id": "a", "order": [0, 1, 1, 9]},
            {"id": "b", "order": []},
            {"id": "c", "order": [0, 2]},
            {"id": "zz", "order": [1]},
        ],
    )
    table = score_ordering(gold, pred, mode="repair", references="first", resamples=0)
    assert table.counts == {
        "items": 3,
        "scored": 3,
        "failed": 0,
        "predictions without reference": 1,
        "repaired": 3,
        "unknown steps dropped": 1,
        "repeated steps dropped": 1,
        "missing steps appended": 3 + 5 + 2,
    }
    repaired = [[0, 1, 3, 2, 4], [3, 1, 0, 2, 4], [0, 2, 3, 1]]
    wanted = measure_orders([range(5), range(5), range(4)], repaired).means()
    assert values(table)["tau"] == pytest.approx(wanted["kendall_tau"])
    assert only(table, "Acc").signature.parameters["mode"] == "repair"
    with pytest.raises(UserError, match="1 predictions are for items that the reference does not have"):
        score_ordering(gold, pred)


def test_repair_without_presented_order_is_refused(write):
    gold = write("g.jsonl", [{"id": "a", "order": [0, 1, 2]}])
    with pytest.raises(UserError, match="presented"):
        score_ordering(gold, write("p.jsonl", [{"id": "a", "order": [0]}]), mode="repair")


def test_scores_and_ties(gold, write):
    pred = write(
        "p.jsonl",
        [
            {"id": "a", "scores": {"0": 0, "1": 1, "2": 2, "3": 3, "4": 4}},
            {"id": "b", "scores": [5, 5, 5, 5, 5]},
            {"id": "c", "order": [0, 1, 2, 3]},
        ],
    )
    table = score_ordering(gold, pred, references="first", resamples=0)
    wanted = measure_orders([range(5), range(5), range(4)], [range(5), [3, 1, 0, 2, 4], range(4)])
    assert values(table)["Acc"] == pytest.approx(100 * wanted.means()["position_accuracy"])
    assert values(table)["tau-a"] == 0.5
    assert only(table, "tau-a").skipped == 1
    assert table.counts["items with tied scores"] == 1


def test_tied_scores_need_the_presented_order(write):
    gold = write("g.jsonl", [{"id": "a", "order": [0, 1]}])
    for scores, message in (
        ({"0": 1, "1": 1}, "scores tie"),
        ([1, 2], "presented order, which is not known"),
    ):
        with pytest.raises(UserError, match=message):
            score_ordering(gold, write("p.jsonl", [{"id": "a", "scores": scores}]))


def test_scores_are_repaired(gold, write):
    pred = write("p.jsonl", [{"id": "b", "scores": {"4": 0, "0": 1, "x": 2}}])
    table = score_ordering(gold, pred, mode="repair", resamples=0)
    assert table.counts["unknown steps dropped"] == 1
    assert table.counts["missing steps appended"] == 3
    with pytest.raises(UserError, match="unknown 'x'"):
        score_ordering(gold, pred)


def test_ranks_are_converted(write):
    rows = [{"id": "a", "order": [2, 0, 1], "semantics": "ranks"}]
    gold = write("g.jsonl", rows)
    assert read_items(gold)[0].references == (("1", "2", "0"),)
    order = write("p.jsonl", [{"id": "a", "order": [1, 2, 0]}])
    ranks = write("q.jsonl", rows)
    assert values(score_ordering(gold, order, resamples=0))["PMR"] == 100
    assert values(score_ordering(gold, ranks, resamples=0))["PMR"] == 100


def test_every_kind_of_file_gives_the_same(gold, predicted, tmp_path):
    wanted = table_as_json(score_ordering(gold, predicted, resamples=50))
    lists = [(r["id"], json.dumps(r.get("references") or [r["order"]]), r["topic"]) for r in GOLD]
    with (tmp_path / "g.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "references", "topic"), *lists])
    (tmp_path / "p.tsv").write_text(
        "id\torder\n" + "".join(f"{r['id']}\t{'|'.join(map(str, r['order']))}\n" for r in PREDICTED)
    )
    (tmp_path / "g.json.gz").write_bytes(gzip.compress(json.dumps(GOLD).encode()))
    for name in ("g.csv", "g.json.gz"):
        found = table_as_json(score_ordering(tmp_path / name, tmp_path / "p.tsv", resamples=50))
        assert found == wanted


def test_line_order_changes_nothing(write):
    rng = np.random.default_rng(0)
    gold = [{"id": f"i{k}", "order": list(range(6)), "m": f"m{k % 7}"} for k in range(40)]
    pred = [{"id": f"i{k}", "order": rng.permutation(6).tolist()} for k in range(40)]
    other = [{"id": f"i{k}", "order": rng.permutation(6).tolist()} for k in range(40)]
    plain = [write("g.jsonl", gold), write("p.jsonl", pred), write("q.jsonl", other)]
    results = [
        table_as_json(
            score_ordering(plain[0], plain[1], compare=plain[2], slices=["m"], cluster=c, resamples=200)
        )
        for c in (None, "m")
    ]
    write("g.jsonl", gold[::-1])
    write("p.jsonl", pred[20:] + pred[:20])
    write("q.jsonl", other[::-1])
    for cluster, wanted in zip((None, "m"), results, strict=True):
        again = score_ordering(
            plain[0], plain[1], compare=plain[2], slices=["m"], cluster=cluster, resamples=200
        )
        assert table_as_json(again) == wanted
    assert results[0] != results[1]


def test_slices_and_clusters(gold, predicted):
    table = score_ordering(gold, predicted, slices=["topic"], cluster="topic", resamples=100)
    assert values(table, "topic=food")["Acc"] == pytest.approx(75)
    assert values(table, "topic=home")["Acc"] == 100
    assert only(table, "Acc").signature.parameters["cluster"] == "topic"
    assert only(table, "PMR").signature.parameters["interval"] == "percentile-95"
    with pytest.raises(UserError, match="no column 'theme'"):
        score_ordering(gold, predicted, slices=["theme"])


def test_constraints(write, gold, predicted):
    constraints = write(
        "c.jsonl",
        [{"id": "b", "constraints": [[0, 1], [1, 4]]}, {"id": "c", "constraints": [[0, 1], [0, 3]]}],
    )
    table = score_ordering(gold, predicted, constraints=constraints, resamples=0)
    found = values(table)
    assert found["valid"] == 50
    assert found["violated"] == 1
    assert found["violated share"] == 0.5
    assert found["tau comparable"] == 0
    assert only(table, "valid").n == 2
    assert table.headline["violations"]["items"] == {"c": [["0", "1"], ["0", "3"]]}
    assert table.headline["violations"]["most_often"][0] == {"before": "0", "after": "1", "items": 1}
    assert any("1 items have no constraints" in note for note in table.notes)
    # 20 of 120 orders keep 0 < 1 < 4, and 8 of 24 keep 0 before 1 and 3.
    assert values(table, "chance")["valid"] == pytest.approx(100 * (20 / 120 + 8 / 24) / 2)


def test_constraints_line_by_line_and_in_the_reference_file(write, gold, predicted, tmp_path):
    (tmp_path / "c.csv").write_text("id,before,after\nb,0,1\nb,1,4\nc,0,1\nc,0,3\n")
    one = values(score_ordering(gold, predicted, constraints=tmp_path / "c.csv", resamples=0))
    within = [dict(row) for row in GOLD]
    within[1]["constraints"], within[2]["constraints"] = [[0, 1], [1, 4]], [[0, 1], [0, 3]]
    other = values(score_ordering(write("g2.jsonl", within), predicted, resamples=0))
    assert one == other


def test_constraints_from_references(gold, predicted):
    table = score_ordering(gold, predicted, constraints_from_references=True, resamples=0)
    assert only(table, "valid").n == 3
    assert values(table)["valid"] == pytest.approx(200 / 3)


def test_constraints_without_orders(write):
    gold = write("g.jsonl", [{"id": "a", "presented": ["x", "y", "z"], "constraints": [["x", "z"]]}])
    table = score_ordering(gold, write("p.jsonl", [{"id": "a", "order": ["y", "x", "z"]}]), resamples=0)
    assert values(table)["valid"] == 100
    assert "Acc" not in values(table)
    assert values(table, "chance")["valid"] == pytest.approx(50)
    assert table.figures == ()


def test_no_constraints_at_all_for_an_item(write):
    gold = write("g.jsonl", [{"id": "a", "order": [0, 1], "constraints": []}])
    table = score_ordering(gold, write("p.jsonl", [{"id": "a", "order": [1, 0]}]), resamples=0)
    assert values(table)["valid"] == 100
    score = only(table, "violated share")
    assert np.isnan(score.value)
    assert "no constraints were given" in score.note
    assert table_as_json(table)["violated_share"] is None


def test_comparison(gold, write):
    rng = np.random.default_rng(0)
    items = [{"id": f"i{k}", "order": list(range(5))} for k in range(60)]
    a = [{"id": f"i{k}", "order": rng.permutation(5).tolist()} for k in range(60)]
    b = [{"id": f"i{k}", "order": list(range(5)) if k % 2 else row["order"]} for k, row in enumerate(a)]
    del b[0]
    table = score_ordering(
        write("g.jsonl", items), write("a.jsonl", a), compare=write("b.jsonl", b), resamples=500
    )
    difference = only(table, "PMR", "b − a")
    wins = sum(x["order"] != list(range(5)) for x in a[1::2])
    assert difference.n == 59
    assert difference.value == pytest.approx(wins / 59)
    found = table.headline["comparison"]["perfect_match_ratio"]
    assert found["p"] == pytest.approx(2 * 0.5**wins, rel=1e-9)
    assert found["p_holm"] >= found["p"]
    assert (found["higher_b"], found["higher_a"]) == (wins, 0)
    assert table.headline["comparison"]["displacement"]["difference"] < 0
    assert f"b better on {wins}, worse on 0" in only(table, "Dist", "b − a").note
    assert table.counts["failed (b)"] == 1
    assert values(table, "b")["PMR"] > values(table, "a")["PMR"]


def test_files_of_one_name_are_told_apart(gold, predicted, tmp_path):
    (tmp_path / "x").mkdir()
    copy = tmp_path / "x" / "pred.jsonl"
    copy.write_bytes(predicted.read_bytes())
    table = score_ordering(gold, predicted, compare=copy, resamples=10)
    assert {str(predicted), str(copy)} <= {row.slice for row in table.rows}
    itself = score_ordering(gold, predicted, compare=predicted, resamples=10)
    assert only(itself, "Acc", f"{predicted} (2) − {predicted} (1)").value == 0


def test_figures(gold, predicted):
    plot, matrix = score_ordering(gold, predicted, references="first", resamples=100).figures
    assert isinstance(plot, IntervalPlot)
    assert plot.labels == ("Acc", "PMR", "Lq/N", "Lr/N", "tau", "Dist/max (lower is better)")
    assert plot.values[0] == pytest.approx(0.7)
    assert all(0 <= value <= 1 for value in plot.chance)
    assert all(plot.scale[0] <= low <= plot.scale[1] for low in plot.low)
    assert isinstance(matrix, Matrix)
    assert np.array(matrix.cells).sum() == 14
    assert np.trace(np.array(matrix.cells)) == 10
    assert matrix.cells[0] == (1, 1, 0, 1, 0)  # the first step: once right, once second, once last


def test_no_matrix_of_long_sequences_of_different_lengths(write):
    gold = write("g.jsonl", [{"id": str(n), "order": list(range(n))} for n in (3, 13)])
    assert len(score_ordering(gold, gold, resamples=0).figures) == 1
    same = write("g.jsonl", [{"id": str(n), "order": list(range(13))} for n in (3, 13)])
    assert len(score_ordering(same, same, resamples=0).figures) == 2


def test_chance_that_is_drawn_says_so(write):
    orders = [list(range(9)), [1, 0, *range(2, 9)]]
    gold = write("g.jsonl", [{"id": "a", "references": orders}, {"id": "b", "order": [0, 1]}])
    pred = write("p.jsonl", [{"id": "a", "order": orders[0]}, {"id": "b", "order": [0, 1]}])
    table = score_ordering(gold, pred, resamples=0, seed=5)
    assert any("simulated for 1 of 2 items with seed 5" in note for note in table.notes)
    assert only(table, "Acc", "chance").signature.parameters["seed"] == "5"


def test_repeated_references_are_dropped_and_counted(write, predicted):
    gold = write("g.jsonl", [{"id": "a", "order": [0, 1], "references": [[0, 1], ["0", 1.0], [1, 0]]}])
    table = score_ordering(gold, write("p.jsonl", [{"id": "a", "order": [1, 0]}]), resamples=0)
    assert table.counts["repeated references dropped"] == 2
    assert table.headline["references"]["mean_references"] == 2


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"id": "a"}, "no column 'order'"),
        ({"id": "a", "constraints": [[0, 1]]}, "neither an order nor the presented"),
        ({"id": "a", "order": 3}, "list was expected, got 3"),
        ({"id": "a", "order": [[0]]}, "step id is a text or a number"),
        ({"id": "a", "order": [True]}, "step id is a text or a number, got True"),
        ({"id": "a", "order": [None]}, "got None"),
        ({"id": "a", "order": []}, "no steps"),
        ({"id": "a", "order": [0, 0]}, "repeats '0'"),
        ({"id": "a", "order": "[0, 1"}, "not valid JSON"),
        ({"id": "a", "order": [0, 1], "semantics": "rank"}, "'order' or 'ranks' was expected, got 'rank'"),
        ({"id": "a", "order": [1, 2], "semantics": "ranks"}, "not a permutation of 0..1"),
        ({"id": "a", "order": ["x"], "semantics": "ranks"}, "ranks are whole numbers"),
        (
            {"id": "a", "references": [[0, 1], [0, 2]]},
            "item 'a': the other reference lacks '1' and has the unknown '2'",
        ),
        ({"id": "a", "references": [0, 1]}, "list was expected|reference"),
        ({"id": "a", "order": [0, 1], "presented": [0]}, "item 'a': the presented order lacks '1'"),
        ({"id": "a", "order": [0, 1], "constraints": [[0]]}, "pairs"),
        ({"id": "a", "order": [0, 1], "constraints": [[0, 7]]}, "unknown '7'"),
        (
            {"id": "a", "order": [0, 1], "constraints": [[0, 1], [1, 0]]},
            "item 'a': the constraints hold a cycle",
        ),
        ({"id": "a", "presented": [0, 1]}, "neither an order nor constraints"),
        ({"id": None, "order": [0]}, "missing"),
    ],
)
def test_wrong_references(write, row, message):
    pred = write("p.jsonl", [{"id": "a", "order": [0, 1]}])
    with pytest.raises(UserError, match=message):
        score_ordering(write("g.jsonl", [row]), pred)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"id": "a"}, "no column 'order'"),
        ({"id": "a", "order": [0, 1], "scores": [1, 2]}, "there is an order as well"),
        ({"id": "a", "scores": {"0": "x", "1": 2}}, "number was expected, got 'x'"),
        ({"id": "a", "scores": {"0": True, "1": 2}}, "number was expected, got True"),
        ({"id": "a", "scores": {"0": 10**400, "1": 2}}, "number was expected, got 1000"),
        ({"id": "a", "scores": {"0": 1e999, "1": 2}}, "not finite|Infinity|JSON|number"),
        ({"id": "a", "scores": [1, 2, 3]}, "3 scores for 2 presented steps"),
        ({"id": "a", "scores": {"0": 1}}, "lacks '1'"),
        ({"id": "a", "order": "0"}, "lacks '1'"),
        ({"id": "z", "order": [0, 1]}, "does not have"),
    ],
)
def test_wrong_predictions(write, row, message):
    gold = write("g.jsonl", [{"id": "a", "order": [0, 1], "presented": [1, 0]}])
    with pytest.raises(UserError, match=message):
        score_ordering(gold, write("p.jsonl", [row]))


def test_repeated_ids_and_mixed_kinds_of_items(write, gold, predicted):
    with pytest.raises(UserError, match=r"'a' occurs again \(first in .* line 1\)"):
        score_ordering(write("g.jsonl", [GOLD[0], GOLD[0]]), predicted)
    with pytest.raises(UserError, match="'a' is predicted again"):
        score_ordering(gold, write("p.jsonl", [PREDICTED[0]] * 2))
    with pytest.raises(UserError, match="item 'x' has no order, but 1 other"):
        score_ordering(
            write("g.jsonl", [GOLD[0], {"id": "x", "presented": [1], "constraints": []}]), predicted
        )


def test_nothing_is_scored(gold, write):
    with pytest.raises(UserError, match="none of the 3 items"):
        score_ordering(gold, write("p.jsonl", [{"id": "q", "order": [1]}]), mode="repair")
    with pytest.raises(UserError, match="no rows"):
        score_ordering(gold, write("p.jsonl", []))


def test_wrong_constraint_files(gold, predicted, write):
    for rows, message in (
        ([{"id": "q", "constraints": []}], "'q' is not in the reference file"),
        ([{"id": "a", "before": 1}], "no column 'after'"),
        ([{"id": "a", "before": 1, "after": None}], "the step is missing"),
        ([{"id": "a"}], "no column 'before'"),
    ):
        with pytest.raises(UserError, match=message):
            score_ordering(gold, predicted, constraints=write("c.jsonl", rows))
    only_constraints = write("g2.jsonl", [{"id": "a", "presented": [1], "constraints": []}])
    with pytest.raises(UserError, match=r"neither an order nor constraints|no item has references"):
        score_ordering(
            write("g3.jsonl", [{"id": "a", "presented": [1]}]), predicted, constraints_from_references=True
        )
    assert read_items(only_constraints)[0].constraints == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "lenient"}, "one of strict, repair"),
        ({"references": "best"}, "one of joint, independent, first"),
        ({"confidence": 2}, "strictly between 0 and 1"),
        ({"resamples": -1}, "at least 0"),
        ({"seed": -1}, "must not be negative"),
    ],
)
def test_wrong_options(gold, predicted, options, message):
    with pytest.raises(UserError, match=message):
        score_ordering(gold, predicted, **options)


def test_predictions_are_read_as_they_are(write):
    found = read_predictions(write("p.jsonl", [{"id": 1, "order": ["a", 2.0]}, {"id": "2", "order": None}]))
    assert found["1"].order == ("a", "2")
    assert found["2"].empty


@given(st.lists(st.permutations(range(4)), min_size=2, max_size=12))
@settings(max_examples=25)
def test_strict_and_repair_agree_on_whole_predictions(tmp_path_factory, orders):
    folder = tmp_path_factory.mktemp("h")
    gold, pred = folder / "g.jsonl", folder / "p.jsonl"
    gold.write_text(
        "".join(json.dumps({"id": str(i), "order": [0, 1, 2, 3]}) + "\n" for i in range(len(orders)))
    )
    pred.write_text("".join(json.dumps({"id": str(i), "order": o}) + "\n" for i, o in enumerate(orders)))
    strict, repair = (score_ordering(gold, pred, mode=mode, resamples=20) for mode in ("strict", "repair"))
    assert values(strict) == values(repair)
    assert values(strict)["Acc"] == pytest.approx(
        100 * measure_orders([range(4)] * len(orders), orders).means()["position_accuracy"]
    )


STEP = st.one_of(st.integers(-1, 4), st.sampled_from(["a", "b", "", "0", 1.0, 1.5, None, True, [0], {}]))
ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 9),
    st.sampled_from(["", "a", "a|b", "[0, 1]", "[0", "{}", "ranks", "order"]),
    st.lists(STEP, max_size=5),
    st.lists(st.lists(STEP, max_size=4), max_size=3),
    st.dictionaries(st.sampled_from(["0", "1", "a"]), st.one_of(st.integers(0, 2), STEP), max_size=3),
)
GOOD = st.permutations(range(3))
COLUMNS = {
    "gold": ("order", "references", "presented", "semantics", "constraints"),
    "pred": ("order", "scores", "semantics"),
    "edges": ("constraints", "before", "after"),
}


@st.composite
def almost_good_files(draw):
    """Files that are fine, of which up to two cells are then replaced by anything."""
    files = {
        "gold": [
            {"id": "x", "order": draw(GOOD), "presented": draw(GOOD), "constraints": [[0, 2]]},
            {"id": "y", "references": draw(st.lists(GOOD, min_size=1, max_size=3)), "presented": draw(GOOD)},
        ],
        "pred": [
            {"id": "x", "order": draw(GOOD)},
            {"id": "y", "scores": draw(st.lists(st.integers(0, 3), min_size=3, max_size=3))},
        ],
        "edges": [{"id": "y", "constraints": [[1, 0]]}],
    }
    for _ in range(draw(st.integers(0, 2))):
        name = draw(st.sampled_from(sorted(files)))
        row = draw(st.sampled_from(files[name]))
        row[draw(st.sampled_from(COLUMNS[name]))] = draw(ANYTHING)
    return files


@given(
    almost_good_files(),
    st.sampled_from(["strict", "repair"]),
    st.sampled_from(["joint", "independent", "first"]),
    st.booleans(),
)
@settings(max_examples=200)
def test_whatever_the_files_hold_there_is_a_result_or_an_explanation(
    tmp_path_factory, files, mode, references, flag
):
    folder = tmp_path_factory.getbasetemp()
    paths = []
    for name, rows in ((f"fuzz-{k}.jsonl", v) for k, v in files.items()):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        paths.append(folder / name)
    options = {"mode": mode, "references": references, "resamples": 5, "compare": paths[1]}
    if flag:
        options |= {"constraints": paths[2], "constraints_from_references": True}
    try:
        table = score_ordering(paths[0], paths[1], **options)
    except UserError:
        event("explained")
        return
    event("scored")
    json.dumps(table_as_json(table), allow_nan=False)
    scored = [row.score for row in table.rows if "_difference" not in row.score.signature.name]
    assert all(score.note for score in scored if np.isnan(score.value))
