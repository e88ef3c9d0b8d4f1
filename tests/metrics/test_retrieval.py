import itertools
import json
import math
import re
from collections import Counter

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.metrics.errors import MetricInputError
from proctor.metrics.retrieval import (
    METRICS,
    RECALL_READINGS,
    attainable_cells,
    attainable_denominators,
    average_precision,
    cell_scores,
    expected_average_precisions,
    expected_ndcgs_at_k,
    expected_precisions_at_k,
    expected_recalls_at_k,
    expected_reciprocal_ranks,
    ndcg_at_k,
    ndcgs_at_k,
    precision_at_k,
    rank_gold,
    ranking_average_precisions,
    ranking_part_recalls_at_k,
    ranking_precisions_at_k,
    ranking_recall_at_k,
    ranking_recalls_at_k,
    reciprocal_ranks,
)
from proctor.metrics.score import Signature

RECALL = Signature("recall", {"k": "5"})
IDS = st.sampled_from("abcdefgh")


def cell_score(values, signature, **options):
    return cell_scores(np.asarray(values)[None, :], [signature], **options)[0]


def reciprocal_rank(gold, ranking, k=None):
    return float(reciprocal_ranks(rank_gold([gold], [ranking]), k)[0])


@st.composite
def questions(draw, most=4):
    """Gold with grades and a ranking without repetitions, for a few questions."""
    out = []
    for _ in range(draw(st.integers(1, most))):
        gold = draw(st.dictionaries(IDS, st.integers(1, 3), min_size=1, max_size=4))
        ranking = draw(st.lists(IDS, unique=True, max_size=8))
        out.append((gold, ranking))
    return [g for g, _ in out], [r for _, r in out]


# Golden: the expected numbers

CASES = [
    (["a"], ["x", "a", "y"], 1, 0.0),
    (["a"], ["x", "a", "y"], 2, 1.0),
    (["a", "b"], ["a", "x", "y", "z", "w", "b"], 5, 0.5),
    (["a", "b"], ["a", "x", "y", "z", "w", "b"], 10, 1.0),
    (["a", "b", "c"], ["c", "q", "a"], 5, 2 / 3),
    (["a", "b"], ["a", "a", "b"], 2, 1.0),
    (["a", "a", "b"], ["a", "x"], 5, 0.5),
    (["a"], [], 5, 0.0),
]


@pytest.mark.parametrize(("gold", "ranking", "k", "expected"), CASES)
def test_recall_golden(gold, ranking, k, expected):
    assert float(ranking_recall_at_k(gold, ranking, k)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.shared
def test_recall_cases_written_down(shared_expected):
    expected = shared_expected("smmqg-instructionbench")["recall_at_k"]
    assert len(expected["cases"]) == len(CASES)
    for case in expected["cases"]:
        assert float(ranking_recall_at_k(case["gold"], case["ranking"], case["k"])) == pytest.approx(
            case["recall"], abs=1e-6
        )


def test_the_score_of_a_cell_golden():
    score = cell_score([0.5, 1.0, 0.0, 1.0], RECALL)
    assert score.value == 0.625
    assert score.low < 0.625 < score.high
    assert score.n == 4


# SMMQG, Tables 2 and 3, as printed: recall@5 and @10 of BM25, E5 and OpenCLIP.
BY_STYLE = {
    "IE": (53.2, 56.6, 65.8, 67.8, 61.1, 67.1),
    "CC": (37.7, 44.5, 65.9, 72.2, 38.3, 48.9),
    "NUM": (56.8, 63.6, 76.9, 82.6, 51.6, 59.5),
    "CMP": (37.4, 42.0, 52.4, 57.5, 36.9, 43.3),
    "MH": (35.8, 39.3, 44.4, 50.9, 18.0, 24.0),
}
BY_MODALITY = {
    "Txt": (92.9, 95.2, 98.8, 100.0, 78.6, 85.7),
    "Tab": (50.0, 54.5, 79.5, 81.8, 30.7, 36.4),
    "TxtTxt": (76.9, 86.1, 91.5, 96.3, 55.8, 63.6),
    "TxtIm": (43.4, 46.5, 52.3, 56.2, 36.4, 46.1),
    "TabIm": (20.2, 24.5, 34.6, 38.5, 19.2, 23.6),
    "ImIm": (15.4, 18.4, 24.3, 26.5, 39.7, 49.3),
}


@pytest.mark.parametrize(
    ("style", "n", "by_n", "by_2n"), [("CC", 227, 4, 6), ("CMP", 206, 3, 5), ("MH", 225, 2, 6)]
)
def test_two_source_styles_need_twice_the_questions_as_denominator(style, n, by_n, by_2n):
    assert sum(attainable_cells(BY_STYLE[style], n)) == by_n
    assert sum(attainable_cells(BY_STYLE[style], 2 * n)) == by_2n


@pytest.mark.parametrize(
    ("modality", "smallest"),
    [("Txt", 84), ("Tab", 88), ("TxtTxt", 294), ("TxtIm", 258), ("TabIm", 208), ("ImIm", 136)],
)
def test_the_smallest_denominator_of_a_column(modality, smallest):
    assert attainable_denominators(BY_MODALITY[modality])[0] == smallest
    assert attainable_denominators(BY_MODALITY[modality], largest=smallest - 1) == ()


def test_cells_that_the_stated_numbers_of_questions_cannot_give():
    assert attainable_cells(BY_STYLE["IE"], 158) == (True, False, True, False, False, True)
    for denominator in (208, 416):
        assert attainable_cells(BY_STYLE["NUM"], denominator) == (False, False, True, False, False, False)
    assert attainable_cells(BY_STYLE["CMP"], 412) == (True, True, True, True, True, False)
    images = (12.0, 14.0, 20.0, 22.2, 84.0, 90.2)
    assert attainable_denominators(images, largest=158) == ()
    assert attainable_denominators(images)[0] == 400


@pytest.mark.parametrize("denominator", [136, 258, 454])
def test_a_wrong_denominator_fits_a_cell_as_often_as_it_is_large(denominator):
    fits = attainable_cells([f"{unit / 10:.1f}" for unit in range(1001)], denominator)
    assert np.mean(fits) == pytest.approx(denominator / 1000, abs=0.002)


@pytest.mark.shared
def test_forensics_written_down(shared_expected):
    expected = shared_expected("smmqg-instructionbench")
    tables, forensics = expected["paper_tables"], expected["paper_recall_forensics"]
    styles, modalities = (list(zip(*tables[t].values(), strict=True)) for t in ("T2_recall", "T3_recall"))
    for style, column in zip(("IE", "CC", "NUM", "CMP", "MH"), styles, strict=True):
        assert column == BY_STYLE[style]
        for n, fits in forensics["by_style_denominator_N_vs_2N"].get(style, {}).values():
            assert sum(attainable_cells(column, n)) == fits
    names = ("Txt", "Tab", "Im", "TxtTxt", "TxtTab", "TxtIm", "TabTab", "TabIm", "ImIm")
    for name, column in zip(names, modalities, strict=True):
        if smallest := forensics["by_modality_smallest_full_fit"].get(name):
            assert column == BY_MODALITY[name]
            assert attainable_denominators(column)[0] == smallest


# BM25 on the real subset, written out here: the search itself belongs to another room.


def bm25_rankings(sources, texts, k1=1.2, b=0.75):
    documents = [Counter(re.findall(r"\w+", source.lower())) for source in sources]
    lengths = np.array([sum(d.values()) for d in documents])
    average = lengths.mean()
    holders = {}
    for index, document in enumerate(documents):
        for term, count in document.items():
            holders.setdefault(term, []).append((index, count))
    out = []
    for text in texts:
        scores = np.zeros(len(sources))
        for term in dict.fromkeys(re.findall(r"\w+", text.lower())):
            rows = holders.get(term, [])
            idf = math.log(1 + (len(sources) - len(rows) + 0.5) / (len(rows) + 0.5))
            for index, count in rows:
                norm = k1 * (1 - b + b * lengths[index] / average)
                scores[index] += idf * count * (k1 + 1) / (count + norm)
        order = np.argsort(-scores, kind="stable")
        out.append((order, scores[order[0]]))
    return out, float(average)


def rendered(source):
    if source["modality"] == "text":
        return f"{source['title']}: {source['text']}"
    if source["modality"] == "table":
        rows = [" | ".join(row) for row in [source["header"], *source["rows"]]]
        return "\n".join([source["title"], source["section"], *rows])
    seen = source.get("verbalisation")
    return source["caption"] + (f". {seen}" if seen else "")


@pytest.fixture(scope="module")
def bm25(shared_data):
    folder = shared_data / "mmrag"
    sources, questions = (
        [json.loads(line) for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
        for name in ("sources", "questions")
    )
    questions = [q for q in questions if q["gold_complete"]]
    found, average = bm25_rankings([rendered(s) for s in sources], [q["question"] for q in questions])
    rankings = [[sources[i]["id"] for i in order[:50]] for order, _ in found]
    return sources, questions, rankings, [float(top) for _, top in found], average


@pytest.mark.shared
def test_bm25_on_the_real_subset(bm25, shared_expected):
    expected = shared_expected("smmqg-instructionbench")["bm25_real_subset"]
    sources, questions, rankings, top, average = bm25
    assert len(questions) == 161
    assert average == pytest.approx(expected["avglen"], abs=5e-7)
    ranked = rank_gold([q["gold_sources"] for q in questions], rankings)

    def shown(values):
        return round(100 * cell_score(values, RECALL, resamples=0).value, 4)

    assert shown(ranking_recalls_at_k(ranked, 5)) == expected["recall@5"] == 48.1366
    assert shown(ranking_recalls_at_k(ranked, 10)) == expected["recall@10"] == 57.4534
    assert shown(ranking_recalls_at_k(ranked, 10, "all")) == expected["all_gold@10_strict"] == 31.677
    modality = {s["id"]: s["modality"] for s in sources}
    parts = ranking_part_recalls_at_k(ranked, [modality[s] for s in ranked.source], 5)
    assert sorted(parts) == ["table", "text"]
    assert shown(parts["table"]) == expected["recall@5_table_part"] == 64.5963
    assert shown(parts["text"]) == expected["recall@5_text_part"] == 31.677
    rows = {q["qid"]: i for i, q in enumerate(questions)}
    assert len(expected["examples"]) == 4
    for example in expected["examples"]:
        i = rows[example["qid"]]
        assert rankings[i][:5] == example["top5"]
        assert top[i] == pytest.approx(example["top1_score"], abs=5e-7)
        assert questions[i]["gold_sources"] == example["gold"]
        assert ranking_recalls_at_k(ranked, 5)[i] == example["recall@5"]
        assert ranking_recalls_at_k(ranked, 10)[i] == example["recall@10"]


@pytest.mark.shared
def test_bm25_agrees_with_ir_measures(bm25):
    _, questions, rankings, _, _ = bm25
    golds = [q["gold_sources"] for q in questions]
    compare_with_ir_measures([dict.fromkeys(g, 1) for g in golds], rankings, cuts=(5, 10))


# Perfect, empty


def test_a_perfect_ranking_scores_1_everywhere():
    gold, ranking = ["a", "b"], ["b", "a", "x"]
    for reading in RECALL_READINGS:
        assert float(ranking_recall_at_k(gold, ranking, 2, reading)) == 1.0
    assert precision_at_k(gold, ranking, 2) == 1.0
    assert ndcg_at_k(gold, ranking, 3) == 1.0
    assert ndcg_at_k({"a": 1, "b": 3}, ranking, 2, "exponential") == 1.0
    assert reciprocal_rank(gold, ranking) == average_precision(gold, ranking) == 1.0


def test_an_empty_ranking_scores_0_everywhere():
    for reading in RECALL_READINGS:
        assert float(ranking_recall_at_k(["a"], [], 5, reading)) == 0.0
    assert precision_at_k(["a"], [], 5) == 0.0
    assert ndcg_at_k(["a"], [], 5) == 0.0
    assert reciprocal_rank(["a"], []) == average_precision(["a"], []) == 0.0


def test_no_questions_is_an_undefined_cell_with_a_note():
    ranked = rank_gold([], [])
    assert len(ranked) == 0
    for values in (
        ranking_recalls_at_k(ranked, 5),
        ranking_precisions_at_k(ranked, 5),
        ndcgs_at_k(ranked, 5),
        reciprocal_ranks(ranked),
        ranking_average_precisions(ranked),
        expected_recalls_at_k(ranked, 10, 5),
        expected_recalls_at_k(ranked, 10, 5, "any"),
        expected_ndcgs_at_k(ranked, 10, 5),
        expected_reciprocal_ranks(ranked, 10),
        expected_average_precisions(ranked, 10),
    ):
        assert values.shape == (0,)
    score = cell_score([], RECALL)
    assert math.isnan(score.value)
    assert score.note == "the cell has no questions"
    assert cell_score([], RECALL, failed=3).note == "no question was scored (3 failed)"


def test_one_question_has_no_interval():
    score = cell_score([1.0], RECALL)
    assert (score.value, score.low, score.high) == (1.0, None, None)
    assert "one cluster" in score.note


# By hand


def test_readings_by_hand():
    gold, ranking = ["a", "b"], ["x", "a", "y", "b"]
    assert [float(ranking_recall_at_k(gold, ranking, 2, r)) for r in RECALL_READINGS] == [0.5, 0.0, 1.0]
    assert [float(ranking_recall_at_k(gold, ranking, 4, r)) for r in RECALL_READINGS] == [1.0, 1.0, 1.0]
    assert [float(ranking_recall_at_k(gold, ranking, 1, r)) for r in RECALL_READINGS] == [0.0, 0.0, 0.0]


def test_precision_divides_by_k_even_if_the_ranking_is_shorter():
    assert precision_at_k(["a", "b"], ["a"], 4) == 0.25


def test_ndcg_by_hand():
    ranking = ["x", "a", "b"]
    ideal = 1 + 1 / math.log2(3)
    assert ndcg_at_k(["a", "b"], ranking, 3) == pytest.approx((1 / math.log2(3) + 0.5) / ideal)
    graded = {"a": 1, "b": 2}
    assert ndcg_at_k(graded, ranking, 3) == pytest.approx((1 / math.log2(3) + 1) / (2 + 1 / math.log2(3)))
    assert ndcg_at_k(graded, ranking, 3, "exponential") == pytest.approx(
        (1 / math.log2(3) + 1.5) / (3 + 1 / math.log2(3))
    )
    # The ideal is cut at k too: one gold source of two in the only place is perfect.
    assert ndcg_at_k(["a", "b"], ["a"], 1) == 1.0


def test_reciprocal_rank_and_average_precision_by_hand():
    ranking = ["x", "a", "y", "b"]
    assert reciprocal_rank(["a", "b"], ranking) == 0.5
    assert reciprocal_rank(["b"], ranking, k=3) == 0.0
    assert average_precision(["a", "b", "c"], ranking) == pytest.approx((1 / 2 + 2 / 4) / 3)
    assert average_precision(["a", "b", "c"], ranking, k=2) == pytest.approx((1 / 2) / 3)


def test_repetitions_are_removed_and_counted():
    ranked = rank_gold([["a", "a", "b"], ["c"]], [["x", "x", "a", "x", "b"], ["c"]])
    assert ranked.rank.tolist() == [2, 3, 1]
    assert ranked.source == ("a", "b", "c")
    assert ranked.repeated_gold.tolist() == [1, 0]
    assert ranked.repeated_ranked.tolist() == [2, 0]
    assert ranked.retrieved.tolist() == [3, 1]
    assert ranked.needed.tolist() == [2, 1]


def test_grades_of_0_or_less_are_no_gold():
    assert float(ranking_recall_at_k({"a": 1, "b": 0, "c": -1}, ["b", "c", "a"], 2)) == 0.0
    assert rank_gold([{"a": 1, "b": 0}], [["a"]]).needed.tolist() == [1]


def test_parts_leave_out_questions_that_need_none():
    ranked = rank_gold([["t1", "t2", "b1"], ["b2"]], [["t1", "b1"], ["x"]])
    parts = ranking_part_recalls_at_k(ranked, ["text", "text", "table", "table"], 5)
    assert parts["table"].tolist() == [1.0, 0.0]
    assert parts["text"][0] == 0.5
    assert math.isnan(parts["text"][1])
    scores = cell_scores(np.stack([parts["table"], parts["text"]]), [RECALL, RECALL])
    assert [(s.value, s.n) for s in scores] == [(0.5, 2), (0.5, 1)]


# Invalid


@pytest.mark.parametrize(
    ("gold", "rankings", "message"),
    [
        ([[]], [["a"]], "question 0 has no gold source"),
        ([["a"], {}], [["a"], ["a"]], "question 1 has no gold source"),
        ([{"a": 0}], [["a"]], "question 0 has no gold source"),
        ([["a"]], [], "1 questions have gold sources, 0 have a ranking"),
        (["ab"], [["a"]], "the gold of question 0 is no list of ids but str"),
        ([["a"]], ["ab"], "the ranking of question 0 is no list of ids but str"),
        ([["a"]], [None], "the ranking of question 0 is no list of ids but NoneType"),
        ([["a"]], [{"a", "b"}], "no list of ids but set"),
        ([["a"]], [["a", None]], "the ranking of question 0 holds something that is no id"),
        ([["a"]], [["a", math.nan]], "holds something that is no id"),
        ([["a"]], [["a", ["b"]]], "holds something that is no id"),
        ([{"a": math.nan}], [["a"]], "a gain of question 0 is no finite number"),
        ([{"a": math.inf}], [["a"]], "a gain of question 0 is no finite number"),
        ([{"a": "1"}], [["a"]], "a gain of question 0 is no finite number"),
        ([{"a": True}], [["a"]], "a gain of question 0 is no finite number"),
    ],
)
def test_wrong_input_is_named(gold, rankings, message):
    with pytest.raises(MetricInputError, match=message):
        rank_gold(gold, rankings)


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "5", math.nan])
def test_k_is_a_whole_number(k):
    for function in (ranking_recall_at_k, precision_at_k, ndcg_at_k, reciprocal_rank, average_precision):
        with pytest.raises(MetricInputError, match="k must be a whole number"):
            function(["a"], ["a"], k)


def test_wrong_options_are_named():
    ranked = rank_gold([["a", "b"]], [["a"]])
    with pytest.raises(MetricInputError, match="a reading of recall is one of"):
        ranking_recalls_at_k(ranked, 5, "some")
    with pytest.raises(MetricInputError, match="a reading of recall is one of"):
        expected_recalls_at_k(ranked, 5, 5, "some")
    with pytest.raises(MetricInputError, match="a gain is"):
        ndcgs_at_k(ranked, 5, "log")
    with pytest.raises(MetricInputError, match="too large"):
        ndcg_at_k({"a": 5000}, ["a"], 5, "exponential")
    with pytest.raises(MetricInputError, match="a pool of 1 sources cannot hold the 2 gold"):
        expected_recalls_at_k(ranked, 1, 5)
    with pytest.raises(MetricInputError, match="1 kinds for 2 gold sources"):
        ranking_part_recalls_at_k(ranked, ["text"], 5)
    with pytest.raises(MetricInputError, match="1 signatures"):
        cell_scores(np.zeros((2, 3)), [RECALL])
    with pytest.raises(MetricInputError, match="infinite"):
        cell_score([math.inf], RECALL)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["x"], "a printed number was expected"),
        ([math.nan], "a printed number was expected"),
        ([12.34], "more than 1 decimal"),
        ([100.1], "does not lie between 0 and 100"),
        ([-1], "does not lie between"),
    ],
)
def test_wrong_cells_are_named(cells, message):
    with pytest.raises(MetricInputError, match=message):
        attainable_cells(cells, 10)
    with pytest.raises(MetricInputError, match=message):
        attainable_denominators(cells)


def test_a_denominator_is_at_least_1():
    with pytest.raises(MetricInputError, match="at least 1"):
        attainable_cells([1], 0)


# Against trec_eval (through ir_measures) and brute force


def compare_with_ir_measures(golds, rankings, cuts=(1, 2, 3, 5)):
    run = [
        ir_measures.ScoredDoc(str(i), doc, float(-place))
        for i, ranking in enumerate(rankings)
        for place, doc in enumerate(ranking)
    ]
    judged = [ir_measures.Qrel(str(i), d, g) for i, gold in enumerate(golds) for d, g in gold.items()]
    ranked = rank_gold(golds, rankings)
    ours = {}
    for k in cuts:
        ours[ir_measures.R @ k] = ranking_recalls_at_k(ranked, k)
        ours[ir_measures.Success @ k] = ranking_recalls_at_k(ranked, k, "any")
        ours[ir_measures.P @ k] = ranking_precisions_at_k(ranked, k)
        ours[ir_measures.nDCG @ k] = ndcgs_at_k(ranked, k)
        ours[ir_measures.AP @ k] = ranking_average_precisions(ranked, k)
    ours[ir_measures.RR] = reciprocal_ranks(ranked)
    ours[ir_measures.AP] = ranking_average_precisions(ranked)
    found = {(str(m), int(q)): v for q, m, v in ir_measures.iter_calc(list(ours), judged, run)}
    for measure, values in ours.items():
        for i, value in enumerate(values):
            if rankings[i]:  # trec_eval leaves out questions without a ranking
                assert value == pytest.approx(found[str(measure), i], abs=1e-9), (measure, i)


@settings(max_examples=40)
@given(questions())
def test_agrees_with_trec_eval(data):
    golds, rankings = data
    if any(rankings):
        compare_with_ir_measures(golds, rankings)


@settings(max_examples=150)
@given(questions(), st.integers(1, 9))
def test_agrees_with_brute_force(data, k):
    golds, rankings = data
    ranked = rank_gold(golds, rankings)
    columns = (
        ranking_recalls_at_k(ranked, k),
        ranking_recalls_at_k(ranked, k, "all"),
        ranking_recalls_at_k(ranked, k, "any"),
        ranking_precisions_at_k(ranked, k),
        ndcgs_at_k(ranked, k, "exponential"),
        reciprocal_ranks(ranked, k),
        ranking_average_precisions(ranked, k),
    )
    for i, (gold, ranking) in enumerate(zip(golds, rankings, strict=True)):
        top = ranking[:k]
        hits = set(gold) & set(top)
        dcg = sum((2 ** gold.get(d, 0) - 1) / math.log2(r + 2) for r, d in enumerate(top))
        best = sorted(gold.values(), reverse=True)[:k]
        expected = (
            len(hits) / len(gold),
            float(len(hits) == len(gold)),
            float(bool(hits)),
            len(hits) / k,
            dcg / sum((2**g - 1) / math.log2(r + 2) for r, g in enumerate(best)),
            next((1 / r for r, d in enumerate(top, 1) if d in gold), 0.0),
            sum(len(set(top[:r]) & set(gold)) / r for r, d in enumerate(top, 1) if d in gold) / len(gold),
        )
        assert [c[i] for c in columns] == pytest.approx(list(expected))


@settings(max_examples=25)
@given(
    st.dictionaries(st.sampled_from("abcde"), st.integers(1, 3), min_size=1, max_size=4),
    st.integers(0, 2),
    st.integers(1, 7),
)
def test_chance_is_the_mean_over_all_orders_of_the_pool(gold, extra, k):
    pool = sorted({*gold, *"vwxyz"[: max(extra, 5 - len(gold) if extra else 0)]})[:5]
    pool = sorted({*gold, *pool})
    orders = list(itertools.permutations(pool))
    n = len(pool)
    ranked, all_ranked = rank_gold([gold], [[]]), rank_gold([gold] * len(orders), orders)
    for expected, simulated in (
        *(
            (expected_recalls_at_k(ranked, n, k, r), ranking_recalls_at_k(all_ranked, k, r))
            for r in RECALL_READINGS
        ),
        (expected_precisions_at_k(ranked, n, k), ranking_precisions_at_k(all_ranked, k)),
        (expected_ndcgs_at_k(ranked, n, k), ndcgs_at_k(all_ranked, k)),
        (expected_ndcgs_at_k(ranked, n, k, "exponential"), ndcgs_at_k(all_ranked, k, "exponential")),
        (expected_reciprocal_ranks(ranked, n), reciprocal_ranks(all_ranked)),
        (expected_reciprocal_ranks(ranked, n, k), reciprocal_ranks(all_ranked, k)),
        (expected_average_precisions(ranked, n), ranking_average_precisions(all_ranked)),
        (expected_average_precisions(ranked, n, k), ranking_average_precisions(all_ranked, k)),
    ):
        assert expected[0] == pytest.approx(simulated.mean(), abs=1e-12)


def test_chance_of_several_questions_at_once():
    ranked = rank_gold([["a"], ["a", "b", "c"]], [[], []])
    assert expected_recalls_at_k(ranked, 10, 5).tolist() == [0.5, 0.5]
    assert expected_recalls_at_k(ranked, 10, 5, "all") == pytest.approx([0.5, 10 / 120])
    assert expected_recalls_at_k(ranked, 10, 5, "any") == pytest.approx([0.5, 1 - 10 / 120])
    assert expected_recalls_at_k(ranked, 10, 50, "all").tolist() == [1.0, 1.0]


@settings(max_examples=100)
@given(
    st.lists(st.integers(0, 1000), min_size=1, max_size=3), st.integers(1, 120), st.sampled_from([0, 1, 2])
)
def test_attainable_agrees_with_trying_every_numerator(units, denominator, digits):
    steps = 100 * 10**digits
    units = [u % (steps + 1) for u in units]
    cells = [f"{u / 10**digits:.{digits}f}" for u in units]
    expected = tuple(
        any(abs(2 * steps * h - 2 * u * denominator) <= denominator for h in range(denominator + 1))
        for u in units
    )
    assert attainable_cells(cells, denominator, digits) == expected


def test_half_way_values_may_be_rounded_either_way():
    # 1/16 = 6.25 %: printed 6.2 (to even) or 6.3 (up).
    assert attainable_cells(["6.2", "6.3", "6.1"], 16) == (True, True, False)
    assert attainable_denominators(["100.0", "0.0"], largest=3) == (1, 2, 3)
    assert attainable_denominators(["33.3"], largest=3) == (3,)


# Invariances, bounds, monotonicity


@settings(max_examples=60)
@given(questions(), st.permutations("abcdefgh"))
def test_the_names_of_sources_do_not_matter(data, names):
    new = dict(zip("abcdefgh", names, strict=True))
    golds, rankings = data
    a = rank_gold(golds, rankings)
    b = rank_gold(
        [{new[s]: g for s, g in gold.items()} for gold in golds], [[new[s] for s in r] for r in rankings]
    )
    assert a.rank.tolist() == b.rank.tolist()
    assert ndcgs_at_k(a, 5).tolist() == ndcgs_at_k(b, 5).tolist()


@settings(max_examples=60)
@given(questions(), st.integers(1, 8))
def test_bounds_and_monotonicity(data, k):
    ranked = rank_gold(*data)
    fractional, every, some = (ranking_recalls_at_k(ranked, k, r) for r in RECALL_READINGS)
    assert (every <= fractional).all()
    assert (fractional <= some).all()
    for reading in RECALL_READINGS:
        assert (
            ranking_recalls_at_k(ranked, k, reading) <= ranking_recalls_at_k(ranked, k + 1, reading)
        ).all()
    for values in (
        ranking_precisions_at_k(ranked, k),
        ndcgs_at_k(ranked, k),
        reciprocal_ranks(ranked),
        ranking_average_precisions(ranked),
    ):
        assert ((values >= 0) & (values <= 1 + 1e-12)).all()


@settings(max_examples=30)
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=2, max_size=20), st.randoms())
def test_the_order_of_questions_changes_no_interval(values, draw):
    shuffled = list(values)
    draw.shuffle(shuffled)
    assert cell_score(values, RECALL, resamples=200) == cell_score(shuffled, RECALL, resamples=200)


def test_clusters_widen_the_interval():
    values = np.repeat([0.0, 1.0] * 15, 10)
    alone = cell_score(values, RECALL, resamples=2000)
    together = cell_score(values, RECALL, resamples=2000, clusters=[f"c{i // 10}" for i in range(300)])
    assert together.high - together.low > 2 * (alone.high - alone.low)
    assert alone.value == together.value == 0.5


def test_numpy_arrays_are_lists_of_ids():
    ranked = rank_gold([np.array([1, 2])], [np.array([2, 3])])
    assert ranked.rank.tolist() == [0, 1]
    assert rank_gold([{"a": np.float32(2)}], [["a"]]).gain.tolist() == [2.0]


def test_the_catalogue_names_what_exists():
    import proctor.metrics.retrieval as module

    for entry in METRICS:
        assert entry.family == "retrieval"
        assert callable(getattr(module, entry.function.partition(":")[2]))
        assert str(Signature.parse(entry.signature)) == entry.signature
        assert Signature.parse(entry.signature).name == entry.name


def test_many_gold_sources_get_the_same_ranks():
    ranking = [f"s{i}" for i in range(100)]
    gold = [*ranking[::3], "absent"]
    many = rank_gold([gold], [ranking]).rank.tolist()
    assert many == [*range(1, 101, 3), 0]
    assert many == [int(rank_gold([[one]], [ranking]).rank[0]) for one in gold]
