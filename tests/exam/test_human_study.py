"""The human study: forms and pay of the paper, its Fisher tests, files of ratings, review and comparison."""

from __future__ import annotations

import msgspec
import pytest

from proctor.errors import UserError
from proctor.exam.human_study import (
    METRICS,
    HumanStudy,
    Rating,
    WorkerResult,
    analyse_study,
    compare_groups,
    corrected_ratings,
    payments,
    read_ratings,
    worker_results,
)

TESTS = ["t1", "t2", "t3"]


def rating(worker, sample, fluency=4, style=True, relevance=True, answerability=True, correctness=True):
    values = {
        "fluency": fluency, "style": style, "relevance": relevance, "answerability": answerability,
        "correctness": correctness,
    }  # fmt: skip
    return Rating(worker=worker, sample=sample, values=values)


# -- pay -------------------------------------------------------------------------------------------------------


@pytest.mark.shared
def test_the_pay_written_down(shared_expected):
    expected = shared_expected("smmqg-instructionbench")["forms"]
    by_score = expected["worker_test_scores"]
    right = [3] * by_score["3/3"] + [2] * by_score["2/3"] + [1] * by_score["<=1/3"]
    paid = payments([WorkerResult(worker=str(i), rated=20, right=r, tests=3) for i, r in enumerate(right)])
    assert paid.total == expected["payments_gbp"]
    assert (paid.workers, paid.bonuses, paid.reviews) == (25, 8, 4)
    with pytest.raises(UserError, match="amounts of 0 or more"):
        payments([], pay=-1)


# -- files -----------------------------------------------------------------------------------------------------

HEADER = "worker,sample,fluency,style,relevance,answerability,correctness"


def test_a_file_of_ratings(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text(
        f"{HEADER},comment\nw1,s1,5,yes,No,TRUE,0,fine\nw1,s2, 1 ,y,n,1,false,\n", encoding="utf-8-sig"
    )
    assert read_ratings(path) == [
        rating("w1", "s1", 5, True, False, True, False),
        rating("w1", "s2", 1, True, False, True, False),
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("w,s,6,yes,yes,yes,yes", r"ratings\.csv:2: fluency is a whole number from 1 to 5, not '6'"),
        ("w,s,4.5,yes,yes,yes,yes", "not '4.5'"),
        ("w,s,4,maybe,yes,yes,yes", "style is yes or no, not 'maybe'"),
        ("w,s,4,yes,yes,yes,", "correctness is yes or no, not ''"),
        ("w,,4,yes,yes,yes,yes", "has no name"),
        ("w,s,4,yes,yes,yes", "not as many cells"),
        (
            "w,s,4,yes,yes,yes,yes\nw,s,4,yes,yes,yes,yes",
            r"ratings\.csv:3: 'w' rates 's' a second time \(first in line 2",
        ),
        ("", "no ratings"),
    ],
)
def test_a_rating_that_is_wrong_says_where(tmp_path, row, message):
    path = tmp_path / "ratings.csv"
    path.write_text(f"{HEADER}\n{row}\n", encoding="utf-8")
    with pytest.raises(UserError, match=message):
        read_ratings(path)


def test_a_column_that_is_missing_is_named(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("worker,sample,fluency\nw,s,3\n", encoding="utf-8")
    with pytest.raises(UserError, match="style, relevance, answerability, correctness are missing"):
        read_ratings(path)


# -- workers ---------------------------------------------------------------------------------------------------

KEY = {"t1": {"relevance": True}, "t2": {"relevance": False, "correctness": True}, "t3": {"style": True}}


def test_bonus_and_review_follow_from_the_test_samples():
    ratings = [
        *(rating("good", t, relevance=t != "t2") for t in TESTS),
        rating("middling", "t1"), rating("middling", "t2"), rating("middling", "t3"),
        rating("bad", "t1", relevance=False), rating("bad", "t2"), rating("bad", "t3"),
        rating("lazy", "t1"), rating("lazy", "s1"),
    ]  # fmt: skip
    found = {result.worker: result for result in worker_results(ratings, KEY)}
    assert {w: r.right for w, r in found.items()} == {"good": 3, "middling": 2, "bad": 1, "lazy": 1}
    assert [w for w, r in found.items() if r.has_bonus] == ["good"]
    assert [w for w, r in found.items() if r.needs_review] == ["bad", "lazy"]
    assert found["lazy"].missing == 2
    assert payments(list(found.values())).total == 4 * 17 + 8
    assert payments(list(found.values()), pay=0.1, bonus=0.2).total == 0.6


@pytest.mark.parametrize("key", [{}, {"t1": {}}, {"t1": {"fluency": True}}, {"t1": {"taste": True}}])
def test_a_key_that_is_none(key):
    with pytest.raises(UserError, match="key of the test samples"):
        worker_results([rating("w", "t1")], key)


# -- comparison ------------------------------------------------------------------------------------------------


def group(name, n, **yes):
    """Ratings of which the first so many say yes."""
    return [
        rating(f"{name}{i}", f"{name}{i}", **{metric: i < count for metric, count in yes.items()})
        for i in range(n)
    ]


@pytest.mark.shared
def test_the_fisher_tests_of_the_paper_recomputed(shared_expected):
    expected = shared_expected("smmqg-instructionbench")["fisher"]["table4_n300_vs_n120"]
    ours = group("s", 300, **{case["metric"]: case["yes_smmqg"] for case in expected})
    theirs = group("m", 120, **{case["metric"]: case["yes_mmqa"] for case in expected})
    rows = {row.metric: row for row in compare_groups(ours, theirs)}
    for case in expected:
        row = rows[case["metric"]]
        assert row.p == pytest.approx(case["p_two_sided"], abs=1e-6)
        assert row.a == pytest.approx(100 * case["yes_smmqg"] / 300)
        assert (row.n_a, row.n_b) == (300, 120)


@pytest.mark.shared
def test_the_tests_of_table_15_recomputed(shared_expected):
    for case in shared_expected("smmqg-instructionbench")["fisher"]["table15_n60_vs_n60"]:
        metric = case["metric"].partition("/")[2]
        rows = compare_groups(
            group("a", 60, **{metric: case["yes_a"]}), group("b", 60, **{metric: case["yes_b"]})
        )
        p = next(row.p for row in rows if row.metric == metric)
        assert p == pytest.approx(case["p_two_sided"], abs=1e-6)


@pytest.mark.shared
def test_fluency_is_compared_with_correction_for_ties(shared_expected):
    case = shared_expected("smmqg-instructionbench")["mann_whitney"]
    a = [rating(f"a{i}", f"a{i}", value) for i, value in enumerate(case["a"])]
    b = [rating(f"b{i}", f"b{i}", value) for i, value in enumerate(case["b"])]
    row = compare_groups(a, b)[0]
    assert row.metric == "fluency"
    assert row.p == pytest.approx(case["p_asymptotic_tie_corrected_continuity"], abs=1e-6)
    assert row.a == pytest.approx(sum(case["a"]) / len(case["a"]))


def test_a_whole_study():
    ours, theirs = group("s", 30, correctness=29), group("m", 30, correctness=20, style=25)
    tests = [rating(worker, t) for worker in ("s0", "m0") for t in TESTS]
    groups = {"smmqg": [r.sample for r in ours], "mmqa": [r.sample for r in theirs], "first": ["s0", "s1"]}
    found = analyse_study(
        [*ours, *theirs, *tests, rating("x", "stray")],
        groups,
        [("smmqg", "mmqa"), ("first", "mmqa")],
        key=KEY,
    )
    assert [(c.a, c.b) for c in found.comparisons] == [("smmqg", "mmqa"), ("first", "mmqa")]
    rows = [row for c in found.comparisons for row in c.rows]
    assert [row.metric for row in rows] == [*METRICS, *METRICS]
    assert all(row.p_holm >= row.p for row in rows)
    lowest = min(rows, key=lambda row: row.p)
    assert lowest.p_holm == pytest.approx(min(1.0, lowest.p * len(rows)))
    assert found.counts["ratings of test samples"] == 6
    assert found.counts["rated samples of no group"] == 1
    assert found.reviewed == tuple(sorted({r.worker for r in [*ours, *theirs]} - {"s0", "m0"} | {"x"}))
    assert any("10 tests" in note for note in found.notes)
    assert msgspec.json.decode(msgspec.json.encode(found), type=HumanStudy) == found


def test_a_correction_replaces_what_was_said_and_the_workers_mark_stays():
    made = [rating("w", "s1", correctness=False), rating("w", "t1", relevance=False), rating("v", "m1")]
    groups = {"a": ["s1"], "b": ["m1"]}
    key = {"t1": {"relevance": True}}
    fixed = analyse_study(made, groups, [("a", "b")], key=key, corrections=[rating("w", "s1")])
    assert fixed.comparisons[0].rows[-1].a == 100.0
    assert fixed.workers[1].right == 0
    with pytest.raises(UserError, match="that was never made"):
        corrected_ratings(made, [rating("w", "s9")])
    with pytest.raises(UserError, match="a second time"):
        corrected_ratings(made, [rating("w", "s1"), rating("w", "s1")])


def test_a_group_without_ratings_is_undefined_and_says_so():
    found = analyse_study([rating("w", "s1")], {"a": ["s1"], "b": ["m1"]}, [("a", "b")])
    assert all(row.p is None and row.b is None and row.note for row in found.comparisons[0].rows)
    assert found.counts["samples of a group without a rating"] == 1


def test_what_cannot_be_compared():
    made = [rating("w", "s1"), rating("v", "s1")]
    with pytest.raises(UserError, match="'s1' was rated by 'w' and by 'v'"):
        analyse_study(made, {"a": ["s1"], "b": []}, [("a", "b")])
    one = [rating("w", "s1")]
    with pytest.raises(UserError, match="no group 'c'"):
        analyse_study(one, {"a": ["s1"]}, [("a", "c")])
    with pytest.raises(UserError, match="in both groups"):
        analyse_study(one, {"a": ["s1"], "b": ["s1"]}, [("a", "b")])
