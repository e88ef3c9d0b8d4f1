import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.stages.scoring.scored import family

from proctor.cli.scoring.families import table_as_json
from proctor.errors import UserError
from proctor.metrics.figure import IntervalPlot, Matrix
from proctor.metrics.retrieval import METRICS

score_retrieval = family("retrieval", "gt", "pred")

GT = [
    {"id": "q1", "gold": ["a", "b"], "modalities": ["text", "table"], "style": "IE", "recording": "r1"},
    {"id": "q2", "gold": ["c", "c"], "modalities": ["image", "image"], "style": "IE", "recording": "r1"},
    {"id": "q3", "gold": ["b", "d"], "modalities": ["table", "text"], "style": "MH", "recording": "r2"},
    {"id": "q4", "gold": ["a"], "modalities": ["text"], "style": "MH", "recording": "r3"},
]
PRED = [
    {"id": "q1", "ranking": ["a", "a", "x", "y"]},
    {"id": "q2", "ranking": ["x", "c"]},
    {"id": "q3", "ranking": ["d", "x", "b"]},
    {"id": "unknown", "ranking": ["a"]},
]


def write(path, rows):
    text = rows if isinstance(rows, str) else "\n".join(map(json.dumps, rows))
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def files(tmp_path):
    return write(tmp_path / "gt.jsonl", GT), write(tmp_path / "pred.jsonl", PRED)


def values(table):
    return {(row.slice, row.metric): row.shown for row in table.rows}


def test_without_a_pool_there_is_no_chance_row_and_a_note(files):
    table = score_retrieval(*files, resamples=0)
    assert not any(row.chance for row in table.rows)
    assert any(note.startswith("no chance level: give --pool") for note in table.notes)


def test_all_slices_parts_and_counts(files):
    found = values(score_retrieval(*files, k=[1, 2], resamples=0))
    assert found["all", "R@1"].value == pytest.approx(100 * (0.5 + 0 + 0.5) / 3)
    assert found["all", "R@2"].value == pytest.approx(100 * (0.5 + 1 + 0.5) / 3)
    assert found["all", "all@2"].value == pytest.approx(100 / 3)
    assert found["all", "hit@2"].value == 100.0
    assert found["all", "P@2"].value == 50.0
    assert found["all", "MRR"].value == pytest.approx(100 * (1 + 0.5 + 1) / 3)
    assert found["all", "MAP"].value == pytest.approx(100 * (0.5 + 0.5 + (1 + 2 / 3) / 2) / 3)
    assert found["style IE", "R@2"].value == 75.0
    assert found["modality text+table", "R@2"].value == 50.0
    assert found["modality image", "R@2"].value == 100.0
    assert found["table sources", "R@2"].value == 0.0
    assert found["text sources", "R@2"].value == 100.0
    counts = {name: found[name, "R@2"] for name in ("all", "style MH", "modality text", "text sources")}
    assert {name: (score.n, score.failed) for name, score in counts.items()} == {
        "all": (3, 1),
        "style MH": (1, 1),
        "modality text": (0, 1),
        "text sources": (2, 1),
    }
    assert counts["modality text"].note == "no question was scored (1 failed)"


def test_what_is_counted(files):
    table = score_retrieval(*files, resamples=0)
    assert dict(table.counts) == {
        "questions": 3,
        "questions without a ranking": 1,
        "rankings of unknown questions": 1,
        "questions without gold": 0,
        "gold sources": 5,
        "repeated gold sources": 1,
        "repeated ranked sources": 1,
    }
    assert any("3 rankings are shorter than 10" in note for note in table.notes)
    assert any("--pool" in note for note in table.notes)


def test_missing_rankings_can_count_as_0(files):
    table = score_retrieval(*files, k=[2], missing="zero", resamples=0)
    score = values(table)["all", "R@2"]
    assert (score.value, score.n, score.failed) == (pytest.approx(50.0), 4, 0)
    assert score.signature.parameters["missing"] == "zero"
    assert "1 questions without a ranking count as 0: 'q4'." in table.notes


@pytest.mark.parametrize(("recall", "labels"), [("all", {"share@2", "hit@2"}), ("any", {"share@2", "all@2"})])
def test_the_reading_of_recall_is_a_choice_and_in_the_signature(files, recall, labels):
    found = values(score_retrieval(*files, k=[2], recall=recall, resamples=0))
    assert found["all", "R@2"].signature.parameters["gold"] == recall
    assert labels <= {metric for _, metric in found}
    assert found["all", "share@2"].value == pytest.approx(100 * 2 / 3)


def test_the_pool_as_a_number_gives_chance(files):
    table = score_retrieval(*files, k=[2], pool="8", resamples=0)
    found = {row.metric: row for row in table.rows if row.chance}
    assert found["R@2"].slice == "random ranking"
    assert found["R@2"].shown.value == pytest.approx(25.0)
    assert found["P@2"].shown.value == pytest.approx(100 * (5 / 3) / 8)
    assert table.figures[0].chance[0] == pytest.approx(25.0)


def test_the_pool_as_a_table_gives_modalities_too(tmp_path):
    gt = write(
        tmp_path / "gt.jsonl", [{"qid": "1", "gold_sources": ["a", "z"]}, {"qid": "2", "gold_sources": ["b"]}]
    )
    pred = write(
        tmp_path / "pred.jsonl", [{"qid": "1", "ranking": ["a", "w"]}, {"qid": "2", "ranking": ["a"]}]
    )
    pool = write(
        tmp_path / "pool.jsonl",
        [{"id": "a", "modality": "text"}, {"id": "b", "modality": "table"}, {"id": "c", "modality": "text"}],
    )
    table = score_retrieval(gt, pred, pool=str(pool), resamples=0)
    assert table.counts["sources in the pool"] == 3
    assert table.counts["gold sources not in the pool"] == 1
    assert table.counts["ranked sources not in the pool"] == 1
    slices = {row.slice for row in table.rows}
    # The combination of question 1 is not known, because one of its sources is not.
    assert {"modality table", "text sources", "table sources"} <= slices
    assert not any("+" in name for name in slices)


def test_gold_as_objects_csv_and_numbers(tmp_path):
    graded = [
        {"id": 7, "gold": [{"id": "a", "gain": 2, "modality": "text"}, {"id": "b", "modality": "table"}]}
    ]
    pred = write(tmp_path / "pred.csv", "id,ranking\n7,b|a\n")
    found = values(score_retrieval(write(tmp_path / "gt.jsonl", graded), pred, resamples=0))
    assert found["all", "nDCG@10"].value == pytest.approx(
        100 * (1 + 2 / 1.584962500721156) / (2 + 1 / 1.584962500721156)
    )
    assert ("modality text+table", "R@5") in found
    found = values(score_retrieval(write(tmp_path / "gt.csv", "id,gold\n7,a|z\n"), pred, resamples=0))
    assert found["all", "R@5"].value == 50.0


def test_counts_of_modalities_name_the_combination(tmp_path):
    gt = write(
        tmp_path / "gt.jsonl",
        [
            {"id": "1", "gold": ["a"], "modality_counts": [1, 2, 0]},
            {"id": "2", "gold": ["a"], "modality_counts": [5, 1, 0]},
            {"id": "3", "gold": ["a"], "modality_counts": [0, 0, 1]},
            {"id": "4", "gold": ["a"], "modality_counts": [10, 1, 0]},
        ],
    )
    pred = write(tmp_path / "p.jsonl", [{"id": str(i), "ranking": ["a"]} for i in range(1, 5)])
    slices = list(dict.fromkeys(row.slice for row in score_retrieval(gt, pred, resamples=0).rows))
    assert slices == [
        "all",
        "modality image",
        "modality text+table+table",
        "modality text×5+table",
        "modality text×10+table",
    ]


def test_trec_files(tmp_path):
    qrels = write(tmp_path / "a.qrels", "1 0 d1 1\n1 0 d2 2\n1 0 d3 0\n2 0 d1 0\n3 0 d9 1\n\n")
    lines = "1 Q0 d3 1 9.5 t\n1 Q0 d2 9 8.5 t\n1 Q0 d1 3 8.5 t\n1 Q0 d1 4 1.0 t\n3 Q0 d9 1 1 t\n"
    run = tmp_path / "a.run.gz"
    run.write_bytes(gzip.compress(lines.encode()))
    table = score_retrieval(qrels, run, k=[2], resamples=0)
    # By score, equal scores by falling id: d3, d2, d1; the rank column is not looked at.
    assert table.headline["ranks"] == {"1": [3, 2], "3": [1]}
    assert table.counts["questions without gold"] == 1
    assert table.counts["repeated ranked sources"] == 1
    assert any("1 questions have no relevant source" in note for note in table.notes)
    again = score_retrieval(
        write(tmp_path / "q.trec", qrels.read_text()), write(tmp_path / "r.trec", lines), k=[2], resamples=0
    )
    assert table_as_json(again) == table_as_json(table)


def test_trec_eval_agrees_on_ties(tmp_path):
    import ir_measures

    qrels = [ir_measures.Qrel("1", "d1", 1), ir_measures.Qrel("1", "d5", 2)]
    run = [ir_measures.ScoredDoc("1", f"d{i}", float(i // 3)) for i in range(9)]
    expected = ir_measures.calc_aggregate([ir_measures.nDCG @ 5, ir_measures.AP, ir_measures.RR], qrels, run)
    gt = write(tmp_path / "a.qrels", "\n".join(f"{q.query_id} 0 {q.doc_id} {q.relevance}" for q in qrels))
    pred = write(
        tmp_path / "a.run",
        "\n".join(f"{s.query_id} Q0 {s.doc_id} {i} {s.score} t" for i, s in enumerate(run)),
    )
    found = values(score_retrieval(gt, pred, k=[5], resamples=0))
    assert found["all", "nDCG@5"].value == pytest.approx(100 * expected[ir_measures.nDCG @ 5])
    assert found["all", "MAP"].value == pytest.approx(100 * expected[ir_measures.AP])
    assert found["all", "MRR"].value == pytest.approx(100 * expected[ir_measures.RR])


def test_the_order_of_rows_changes_nothing(tmp_path, files):
    first = table_as_json(score_retrieval(*files, pool="9", resamples=300, seed=1))
    gt, pred = write(tmp_path / "g.jsonl", GT[::-1]), write(tmp_path / "p.jsonl", PRED[::-1])
    assert table_as_json(score_retrieval(gt, pred, pool="9", resamples=300, seed=1)) == first


def test_clusters_are_drawn_together(tmp_path):
    gt = write(
        tmp_path / "g.jsonl", [{"id": str(i), "gold": ["a"], "recording": f"r{i // 10}"} for i in range(120)]
    )
    pred = write(
        tmp_path / "p.jsonl", [{"id": str(i), "ranking": ["a" if (i // 10) % 2 else "b"]} for i in range(120)]
    )
    alone, together = (
        values(score_retrieval(gt, pred, cluster=c, resamples=500))["all", "R@5"] for c in (None, "recording")
    )
    assert together.high - together.low > 2 * (alone.high - alone.low)
    assert together.signature.parameters["cluster"] == "recording"


def test_pictures(files):
    figures = score_retrieval(*files, k=[1, 2], pool="9", resamples=50).figures
    plot, heat, crossed = figures
    assert isinstance(plot, IntervalPlot)
    assert len(plot.labels) == len(plot.values) == len(plot.low) == len(plot.chance)
    assert plot.values[plot.labels.index("modality text")] is None
    assert isinstance(heat, Matrix)
    assert heat.columns == ("R@1", "R@2")
    assert crossed.rows == ("IE", "MH")
    assert crossed.columns == ("image", "text+table")
    assert crossed.cells == ((100.0, 50.0), (None, 50.0))


def test_the_headline_has_every_measure_at_every_cut(files):
    headline = score_retrieval(*files, k=[1, 2], resamples=0).headline
    assert headline["recall"] == {"1": pytest.approx(100 / 3), "2": pytest.approx(200 / 3)}
    assert headline["all_gold"] == {"1": 0.0, "2": pytest.approx(100 / 3)}
    assert set(headline) == {"recall", "all_gold", "hit", "precision", "ndcg", "mrr", "map", "ranks"}
    assert headline["ranks"] == {"q1": [1, 0], "q2": [2], "q3": [3, 1]}


@pytest.mark.parametrize(
    ("gt", "pred", "message"),
    [
        ([{"id": "1", "gold": []}], PRED, "line 1, column 'gold': the question has no gold source"),
        ([{"id": "1"}], PRED, "no column 'gold'"),
        (
            [{"id": "1", "gold": "a"}, {"id": "1", "gold": "a"}],
            PRED,
            "line 2, column 'id': the question '1' is there twice",
        ),
        ([{"id": "1", "gold": [None]}], PRED, "the id of a source was expected, got None"),
        ([{"id": "1", "gold": [{"x": 1}]}], PRED, "the id of a source was expected"),
        ([{"id": "1", "gold": [True]}], PRED, "the id of a source was expected"),
        ([{"id": "1", "gold": [{"id": "a", "gain": 0}]}], PRED, "a gain above 0 was expected, got 0"),
        ([{"id": "1", "gold": [{"id": "a", "gain": 10**400}]}], PRED, "a gain above 0 was expected, got 1"),
        ([{"id": "1", "gold": ["a", "b"], "modalities": ["text"]}], PRED, "1 modalities for 2 gold sources"),
        ([{"id": "1", "gold": ["a"], "M": [1, 0]}], PRED, "three counts"),
        ([{"id": "1", "gold": ["a"], "M": ["²", 0, 0]}], PRED, "three counts"),
        ([{"id": "1", "gold": ["a"], "M": [10**12, 0, 0]}], PRED, "three counts"),
        (
            [{"id": "zz", "gold": ["a"]}],
            PRED,
            "no question of the reference has a ranking; the reference has 'zz'",
        ),
        (GT, [{"id": "q1"}], "no column 'ranking'"),
        (GT, [{"id": "q1", "ranking": [["a"]]}], "the id of a source was expected"),
        (GT, [PRED[0], PRED[0]], "the question 'q1' is there twice"),
        (GT, [{"id": "q1", "ranking": {"a": 1}}], "a list was expected"),
    ],
)
def test_wrong_tables_are_named(tmp_path, gt, pred, message):
    with pytest.raises(UserError) as error:
        score_retrieval(write(tmp_path / "g.jsonl", gt), write(tmp_path / "p.jsonl", pred))
    assert message in error.value.render()


@pytest.mark.parametrize(
    ("qrels", "run", "message"),
    [
        ("1 0 d1\n", "1 Q0 d1 1 1 t\n", "a.qrels, line 1: 3 columns instead of 4"),
        ("1 0 d1 x\n", "1 Q0 d1 1 1 t\n", "a finite number was expected, got 'x'"),
        ("1 0 d1 0\n", "1 Q0 d1 1 1 t\n", "no source is relevant"),
        ("1 0 d1 1\n", "1 Q0 d1 1 t\n", "a.run, line 1: 5 columns instead of 6"),
        ("1 0 d1 1\n", "1 Q0 d1 1 nan t\n", "a finite number was expected, got 'nan'"),
        ("1 0 d1 1\n", "\n", "the file has no rows"),
    ],
)
def test_wrong_trec_files_are_named(tmp_path, qrels, run, message):
    with pytest.raises(UserError) as error:
        score_retrieval(write(tmp_path / "a.qrels", qrels), write(tmp_path / "a.run", run))
    assert message in error.value.render()


def test_wrong_options_are_named(files, tmp_path):
    for options, message in (
        ({"k": []}, "at least 1"),
        ({"k": [0]}, "at least 1"),
        ({"pool": "1"}, "a pool of 1 sources cannot hold the 2 gold sources"),
        ({"pool": "0"}, "a pool has at least one source"),
        ({"pool": "²"}, "a table ends in"),
        ({"pool": "9" * 19}, "too large"),
        ({"pool": str(tmp_path / "absent.jsonl")}, "absent.jsonl"),
        ({"cluster": "absent"}, "no column 'absent'"),
    ):
        with pytest.raises(UserError) as error:
            score_retrieval(*files, **options)
        assert message in error.value.render()
    steep = write(tmp_path / "steep.jsonl", [{"id": "q1", "gold": [{"id": "a", "gain": 2000}]}])
    with pytest.raises(UserError, match="too large"):
        score_retrieval(steep, files[1], gain="exponential")
    with pytest.raises(UserError, match="no columns to cluster by"):
        score_retrieval(write(tmp_path / "a.qrels", "1 0 d 1"), files[1], cluster="recording")


def test_the_catalogue_prints_real_signatures(files):
    table = score_retrieval(*files, resamples=50)
    assert {entry.signature for entry in METRICS} <= {str(row.score.signature) for row in table.rows}


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    | st.floats()
    | st.sampled_from(["a", "b", "", "a|b", "text", "[1]"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "gain", "modality"]), inner)
    ),
    max_leaves=4,
)
IDS = st.lists(st.sampled_from("abcd"), min_size=1, max_size=4)
ROW = st.fixed_dictionaries(
    {"id": st.sampled_from(["a", "b", 1]) | ANYTHING},
    optional={
        "gold": IDS | ANYTHING,
        "ranking": IDS | ANYTHING,
        "modalities": st.lists(st.sampled_from(["text", "table", "audio"]), min_size=1, max_size=3)
        | ANYTHING,
        "modality": st.sampled_from(["text", "é|x"]) | ANYTHING,
        "style": st.sampled_from(["IE", "MH"]) | ANYTHING,
        "M": st.lists(st.integers(0, 3), min_size=3, max_size=3) | ANYTHING,
    },
)


@settings(max_examples=200)
@given(
    gt=st.lists(ROW, min_size=1, max_size=3),
    pred=st.lists(ROW, min_size=1, max_size=3),
    pool=st.sampled_from([None, "2", "9"]),
)
def test_whatever_the_tables_hold_is_scored_or_explained(tmp_path_factory, gt, pred, pool):
    folder = tmp_path_factory.mktemp("fuzz")
    try:
        table = score_retrieval(
            write(folder / "g.jsonl", gt),
            write(folder / "p.jsonl", pred),
            pool=pool,
            missing="zero",
            resamples=20,
        )
    except UserError:
        return
    json.dumps(table_as_json(table), allow_nan=False)


@settings(max_examples=100)
@given(st.text(alphabet="ab01 .\n\t-", max_size=40), st.text(alphabet="ab01Q .\n\t-", max_size=60))
def test_whatever_trec_files_hold_is_scored_or_explained(tmp_path_factory, qrels, run):
    folder = tmp_path_factory.mktemp("fuzz")
    gt = write(folder / "a.qrels", "q 0 d 1\n" + qrels)
    try:
        table = score_retrieval(gt, write(folder / "a.run", "q Q0 d 1 1 t\n" + run), resamples=0)
    except UserError:
        return
    assert table.counts["questions"] >= 1


@pytest.mark.parametrize("cell", ["d1,x,d2", "d1 x d2", "d1;x;d2", "['d1', 'x']", '"d1"'])
@pytest.mark.parametrize("side", ["gold", "ranking"])
def test_a_cell_that_is_no_list_of_sources_is_refused(tmp_path, cell, side):
    gt = write(tmp_path / "g.jsonl", [{"id": "q", "gold": cell if side == "gold" else ["d1"]}])
    pred = write(tmp_path / "p.jsonl", [{"id": "q", "ranking": cell if side == "ranking" else ["d1"]}])
    with pytest.raises(UserError, match=f"column '{side}': a list of ids was expected"):
        score_retrieval(gt, pred, resamples=0)


def test_questions_without_a_ranking_are_named(tmp_path, files):
    pred = write(
        tmp_path / "p.jsonl", [*PRED[:2], {"id": "q3", "ranking": None}, {"id": "Q4", "ranking": ["a"]}]
    )
    table = score_retrieval(files[0], pred, k=[2], resamples=0)
    assert values(table)["all", "R@2"].failed == 2
    assert any(
        "2 questions without a ranking were left out of every number (failed): 'q3', 'q4'" in n
        for n in table.notes
    )
    assert any("'Q4' (reference: 'q4')" in note for note in table.notes)
    nothing_found = write(
        tmp_path / "e.jsonl", [*PRED[:2], {"id": "q3", "ranking": []}, {"id": "q4", "ranking": ["a"]}]
    )
    assert values(score_retrieval(files[0], nothing_found, k=[2], resamples=0))["all", "R@2"].failed == 0


def test_contradictory_gold_is_refused(tmp_path, files):
    twice = [{"id": "q1", "gold": [{"id": "a", "gain": 1}, {"id": "a", "gain": 2}]}]
    with pytest.raises(UserError, match="the source 'a' has two gains, 1 and 2"):
        score_retrieval(write(tmp_path / "g.jsonl", twice), files[1])
    with pytest.raises(
        UserError, match="line 2: the relevance of 'd' to question '1' is 0 here and 1 further up"
    ):
        score_retrieval(write(tmp_path / "g.qrels", "1 0 d 1\n1 0 d 0\n"), files[1])
