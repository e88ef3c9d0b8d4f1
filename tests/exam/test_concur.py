"""Two benchmarks: the paper's own tables, marks by question, and files of marks."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.exam.concur import (
    ConcurrenceTable,
    MarkSheet,
    concur,
    read_mark_sheet,
    sheet_of_retrieval,
    sheet_of_runs,
)
from proctor.exam.retrieval_scores import RetrievalTable
from proctor.exam.table import ScoreTable

MODELS = ["Vicuna7", "Vicuna13", "Qwen", "Gemini", "Haiku", "Sonnet", "Opus", "GPT4T"]
QA_A = [55.0, 61.0, 65.7, 80.7, 73.9, 87.3, 93.0, 96.4]
QA_B = [68.0, 75.0, 78.5, 89.6, 75.9, 86.9, 92.9, 97.4]


def scores(values, names=MODELS):
    return dict(zip(names, values, strict=True))


def concur_scores(a, b, *, names=("a", "b"), families=None):
    """Compare printed scores, one a system."""
    sides = [
        MarkSheet(benchmark=n, marks={s: {"score": v} for s, v in x.items()}, families=families or {})
        for n, x in zip(names, (a, b), strict=True)
    ]
    return concur(*sides, resamples=0)


def test_table_5_of_the_paper():
    found = concur_scores(scores(QA_A), scores(QA_B), names=("mmqa", "smmqg"))
    assert (found.tau, found.p) == pytest.approx((0.857143, 0.001736), abs=1e-6)
    assert (found.pairs, found.discordant, found.tied) == (28, 2, 0)
    assert found.notes == ()
    assert "p:exact" in found.signature


@pytest.mark.shared
@pytest.mark.parametrize(
    "case",
    [
        "table7_gpt35_vs_gpt4",
        "table7_bertscore_vs_gpt4",
        "table7_rouge_vs_gpt4",
        "table5_retrieval",
        "table5_qa",
        "retrieval_k5_only",
        "retrieval_k10_only",
    ],
)
def test_every_comparison_of_the_paper(case, shared_expected):
    expected = shared_expected("smmqg-instructionbench")["kendall"][case]
    names = [f"s{i}" for i in range(len(expected["a"]))]
    found = concur_scores(scores(expected["a"], names), scores(expected["b"], names))
    assert found.tau == pytest.approx(expected["tau"], abs=1e-6)
    assert found.p == pytest.approx(expected["p_exact"], abs=1e-6)
    assert (found.pairs, found.discordant) == (expected["pairs"], expected["discordant"])


@pytest.mark.shared
def test_ties(shared_expected):
    case = shared_expected("smmqg-instructionbench")["kendall"]["ties_case"]
    found = concur_scores(scores(case["a"], "abcd"), scores(case["b"], "abcd"))
    assert found.tau == pytest.approx(case["tau_b"])
    assert found.tied == 2
    assert "p:asymptotic" in found.signature


def test_few_systems_and_versions_of_one_are_told():
    few = concur_scores(scores([1, 2, 3], "abc"), scores([1, 3, 2], "abc"))
    assert few.tau == pytest.approx(1 / 3)
    assert any("only 3 systems" in note for note in few.notes)
    names = ["BM25@5", "BM25@10", "E5@5", "E5@10", "CLIP@5", "CLIP@10"]
    a, b = [36.3, 42.1, 54.3, 60.1, 38.3, 43.7], [42.8, 45.0, 53.5, 56.7, 40.0, 45.3]
    families = {name: name.partition("@")[0] for name in names}
    found = concur_scores(scores(a, names), scores(b, names), families=families)
    assert found.tau == pytest.approx(13 / 15)
    assert any("not independent" in note for note in found.notes)


def sheet(name, **marks):
    return MarkSheet(
        benchmark=name, marks={s: {f"q{i}": m for i, m in enumerate(v)} for s, v in marks.items()}
    )


def test_marks_by_question_rank_systems_and_give_an_interval():
    a = sheet("people", x=[0, 0, 50, 50], y=[50, 50, 50, 100], z=[100, 100, 100, 50])
    b = sheet("ours", x=[0, 50, 0], y=[50, 50, 100], z=[100, 100, 100])
    found = concur(a, b, resamples=500, seed=3)
    assert found.scores == {"x": (25.0, 50 / 3), "y": (62.5, 200 / 3), "z": (87.5, 100.0)}
    assert found.tau == pytest.approx(1.0)
    assert found.questions == (4, 3)
    assert found.low is not None
    assert -1 <= found.low <= found.high <= 1
    assert found == concur(a, b, resamples=500, seed=3)
    assert "interval:percentile-95" in found.signature
    assert concur(a, b, resamples=0).low is None
    assert msgspec.json.decode(msgspec.json.encode(found), type=ConcurrenceTable) == found


def test_only_questions_that_all_systems_answered_count():
    a = sheet("a", x=[0, 100, None], y=[100, 0, 100])
    b = sheet("b", x=[0, 100], y=[100, 100])
    found = concur(a, b, resamples=0)
    assert found.scores["x"] == (50.0, 50.0)
    assert found.scores["y"] == (50.0, 100.0)
    assert found.incomplete == (1, 0)
    assert any("1 questions left out" in note for note in found.notes)


def test_systems_of_one_benchmark_only_are_left_out_and_told():
    found = concur_scores({"x": 1, "y": 2, "z": 3}, {"x": 1, "y": 3, "w": 9})
    assert found.systems == ("x", "y")
    assert found.left_out == ("w", "z")
    assert any("one benchmark only" in note for note in found.notes)


def test_tied_throughout_is_undefined_and_says_why():
    found = concur_scores({"x": 1, "y": 1}, {"x": 1, "y": 2})
    assert found.tau is None
    assert found.p is None
    assert any("tied" in note for note in found.notes)


def test_what_cannot_be_compared():
    with pytest.raises(UserError, match="1 systems are in both"):
        concur_scores({"x": 1.0, "y": 2.0}, {"x": 1.0})
    with pytest.raises(UserError, match="finite"):
        concur_scores({"x": 1.0, "y": math.nan}, {"x": 1.0, "y": 2.0})
    with pytest.raises(UserError, match="no question has a mark from every one"):
        concur(sheet("a", x=[1, None], y=[None, 1]), sheet("b", x=[1], y=[1]))
    with pytest.raises(UserError, match="a: q0"):
        concur(sheet("a", x=[math.inf], y=[1]), sheet("b", x=[1], y=[1]))


@given(
    st.lists(st.tuples(*[st.sampled_from([0.0, 50.0, 100.0])] * 3), min_size=2, max_size=8),
    st.randoms(use_true_random=False),
)
def test_the_order_of_questions_and_systems_changes_nothing(rows, random):
    def made(order, names):
        return MarkSheet(
            benchmark="b", marks={n: {f"q{i}": rows[i]["xyz".index(n)] for i in order} for n in names}
        )

    order, names = list(range(len(rows))), list("xyz")
    first = concur(made(order, names), made(order, names), resamples=50)
    random.shuffle(order)
    random.shuffle(names)
    assert concur(made(order, names), made(order, names), resamples=50) == first
    assert first.tau is None or first.tau == pytest.approx(1.0)


def test_sheets_of_scored_runs_and_of_retrieval():
    runs = [
        ScoreTable(
            benchmark="r", predictor=name, judge="j", rows=(),
            marks={"judge": {"i1": 50.0, "i2": None}}, clusters={"i1": "rec", "i2": "rec"},
        )
        for name in ("m1", "m2")
    ]  # fmt: skip
    found = sheet_of_runs("r", runs)
    assert found.marks["m1"] == {"i1": 50.0, "i2": None}
    assert found.clusters == {"i1": "rec", "i2": "rec"}
    with pytest.raises(UserError, match="two runs have the predictor 'm1'"):
        sheet_of_runs("r", [runs[0], runs[0]])
    table = RetrievalTable(
        cells=(), runs={}, questions=1,
        recalls={"bm25": {"recall@5": {"q": 0.5}, "recall@10": {"q": 1.0}}},
    )  # fmt: skip
    retrieval = sheet_of_retrieval("ours", table)
    assert retrieval.marks == {"bm25@5": {"q": 0.5}, "bm25@10": {"q": 1.0}}
    assert set(retrieval.families.values()) == {"bm25"}


def test_a_sheet_ranks_by_the_first_measure_that_a_run_has():
    tables = [
        ScoreTable(predictor=n, rows=(), marks={"rouge-1": {"q": 7.0}, m: {"q": 50.0}})
        for n, m in (("m1", "judge"), ("m2", "reference judge"), ("m3", "other"))
    ]
    found = sheet_of_runs("ours", tables, ("judge", "reference judge"))
    assert found.marks == {"m1": {"q": 50.0}, "m2": {"q": 50.0}}
    assert sheet_of_runs("ours", tables).marks["m3"] == {"q": 7.0}


def test_a_file_of_printed_scores(tmp_path):
    path = tmp_path / "printed.csv"
    path.write_text(
        "system,mark\n" + "".join(f"{n},{v}\n" for n, v in scores(QA_A).items()), encoding="utf-8"
    )
    sheet_ = read_mark_sheet(path)
    found = concur(sheet_, sheet_, resamples=100)
    assert (found.tau, found.low) == (1.0, None)
    assert any("fewer than two questions" in note for note in found.notes)


def test_a_file_of_marks(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(
        "system,question,mark,family\nm1,q1,2,fam\nm1,q2,,fam\nm2,q1,0.5,\nm2,q2,1,\n", encoding="utf-8"
    )
    found = read_mark_sheet(path)
    assert found.benchmark == "people"
    assert found.marks == {"m1": {"q1": 2.0, "q2": None}, "m2": {"q1": 0.5, "q2": 1.0}}
    assert found.families == {"m1": "fam"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("system,question\nm,q\n", "columns mark are missing"),
        ("system,question,mark\nm,q,much\n", r"people\.csv:2: a mark is a finite number, not 'much'"),
        ("system,question,mark\nm,q,nan\n", "finite number"),
        ("system,question,mark\nm,q,1\nm,q,2\n", r"people\.csv:3: 'm' has two marks"),
        ("system,question,mark\n,q,1\n", "has no name"),
        ("system,question,mark\nm,q\n", "not as many cells"),
        ("system,question,mark\nm,q,1,2\n", "not as many cells"),
        ("system,question,mark\n", "has no marks"),
        ("system,system,question,mark\nm,m,q,1\n", "named twice"),
        ('system,question,mark\n"m,q,1\n', "no CSV"),
        ("", "columns system, mark are missing"),
    ],
)
def test_a_file_of_marks_that_is_wrong_says_where(tmp_path, text, message):
    path = tmp_path / "people.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=message):
        read_mark_sheet(path)


def test_a_file_in_another_encoding_is_told(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes("system,question,mark\nKäse,q,1\n".encode("latin-1"))
    with pytest.raises(UserError, match="not UTF-8"):
        read_mark_sheet(path)
