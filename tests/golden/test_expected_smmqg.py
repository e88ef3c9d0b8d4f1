"""Which test reproduces which number of smmqg-instructionbench.json (SMMQG, InstructionBench)."""

import math

import numpy as np
import pytest

from proctor.metrics.choice.letters import balanced_letter_counts
from proctor.metrics.concurrence import rank_concurrence
from proctor.metrics.hypothesis_tests import fisher_exact

pytestmark = pytest.mark.shared

SIGNIFICANCE = "metrics/test_significance_catalogue.py::test_every_expected_number"
RETRIEVAL = "metrics/test_retrieval.py::"
FORENSICS = f"{RETRIEVAL}test_forensics_written_down"
TABLE_6 = "metrics/test_answer.py::test_smmqg_table_6_is_nearer_to_the_mean_over_questions"
HERE = "golden/test_expected_smmqg.py::"
TRIMMING = "golden/test_trimming_golden.py::"

COVERED = {
    "recall_at_k": f"{RETRIEVAL}test_recall_cases_written_down",
    "bm25_real_subset": f"{RETRIEVAL}test_bm25_on_the_real_subset",
    "kendall": SIGNIFICANCE,
    "kendall.table7_gpt35_vs_gpt4.printed": f"{HERE}test_which_printed_coefficients_hold",
    "kendall.table7_gpt35_vs_gpt4.agrees": f"{HERE}test_which_printed_coefficients_hold",
    "kendall.table7_bertscore_vs_gpt4.printed": f"{HERE}test_which_printed_coefficients_hold",
    "kendall.table7_bertscore_vs_gpt4.agrees": f"{HERE}test_which_printed_coefficients_hold",
    "kendall.table7_rouge_vs_gpt4.printed": f"{HERE}test_which_printed_coefficients_hold",
    "kendall.table7_rouge_vs_gpt4.agrees": f"{HERE}test_which_printed_coefficients_hold",
    "kendall.table5_retrieval.printed": f"{HERE}test_which_printed_coefficients_hold",
    "kendall.table5_retrieval.agrees": f"{HERE}test_which_printed_coefficients_hold",
    "kendall.table5_qa.printed": f"{HERE}test_which_printed_coefficients_hold",
    "kendall.table5_qa.agrees": f"{HERE}test_which_printed_coefficients_hold",
    "fisher": SIGNIFICANCE,
    "fisher.table4_n300_vs_n120[].printed": f"{HERE}test_which_printed_p_values_hold",
    "fisher.table15_n60_vs_n60[].printed": f"{HERE}test_which_printed_p_values_hold",
    "mann_whitney": SIGNIFICANCE,
    "judge": "metrics/test_answer.py::test_judge_expected",
    "rouge1": "metrics/test_answer_text.py::test_rouge_1_expected",
    "style_overlap": "metrics/test_answer.py::test_style_overlap_expected",
    "smmqg_totals": TABLE_6,
    "mc_votes": "metrics/choice/test_votes.py::test_retry_leak_expected",
    "mc_letters": "metrics/choice/test_balance.py::test_balance_expected",
    "mc_letters.n12": f"{HERE}test_letters_of_twelve_questions",
    "mc_letters.chi2_example": SIGNIFICANCE,
    "frames": "exam/test_clip_view.py::test_frames_expected",
    "trimming.cases": f"{TRIMMING}test_every_case_with_every_variant",
    "trimming.defaults": f"{TRIMMING}test_defaults_are_those_of_the_file",
    "trimming.real_goalstep_val_134_videos": f"{TRIMMING}test_variants_measured_on_goalstep",
    "trimming.real_example": f"{TRIMMING}test_the_real_example",
    "paper_recall_forensics": FORENSICS,
    "paper_tables.T2_recall": FORENSICS,
    "paper_tables.T3_recall": FORENSICS,
    "paper_tables.T2_qa": TABLE_6,
    "paper_tables.T4": f"{HERE}test_percentages_of_table_4_are_counts",
    "paper_tables.T3_qa": f"{HERE}test_both_tables_of_answers_are_of_the_same_questions",
}
GENERATOR = "choices of the generator: belong to the generation of questions, not to its measurement"
ELSEWHERE = {
    "seed_probabilities": GENERATOR,
    "seed_uniformity_real_lsa": "informative and dependent on an embedding, by its own note not a target of tests",
    "forms": "forms and pay of the human study: belong to the verification room",
    "candidate_counts": GENERATOR,
    "generation_parse": "parsing of generations: belongs to tests/ask",
    "paper_tables.styles": "names of columns",
    "paper_tables.modalities": "names of columns",
    "paper_tables.T8_overlap": "printed; the classifiers' answers were not released (the measure is style_overlap)",
    "paper_tables.T12_biology": "printed; the ratings were not released",
}


@pytest.fixture(scope="module")
def expected(shared_expected):
    return shared_expected("smmqg-instructionbench")


def test_every_number_is_accounted_for(account, expected):
    assert account(expected, COVERED, ELSEWHERE) == []


def test_which_printed_coefficients_hold(expected):
    """Three of five pairs (τ, p) follow from the printed scores; the p of a fourth; ROUGE-1 rounds to 0.71."""
    found = {}
    for name, case in expected["kendall"].items():
        if "printed" not in case:
            continue
        result = rank_concurrence(case["a"], case["b"])
        tau, p = case["printed"]["tau"], case["printed"]["p"]
        digits = 0 if isinstance(p, str) else len(str(p)) - 2
        same_p = result.p < float(p[1:]) if isinstance(p, str) else round(result.p, digits) == p
        found[name] = (round(result.tau, 2) == tau, same_p)
        if isinstance(case["agrees"], bool):
            assert all(found[name]) is case["agrees"]
    assert found == {
        "table7_gpt35_vs_gpt4": (True, True),
        "table7_bertscore_vs_gpt4": (False, False),
        "table7_rouge_vs_gpt4": (False, True),
        "table5_retrieval": (True, True),
        "table5_qa": (True, True),
    }


def test_seven_discordant_pairs_would_give_the_printed_coefficient():
    """0.50 and p = 0.109 need 7 discordant pairs of 28; Table 6 has 8."""
    order = [1, 2, 3, 4, 5, 6, 7, 0]
    found = rank_concurrence(range(8), order)
    assert (found.discordant, found.tau) == (7, 0.5)
    assert found.p == pytest.approx(0.108681, abs=5e-7)


def test_which_printed_p_values_hold(expected):
    """None of Table 4, seven of eight of Table 15."""
    table4 = expected["fisher"]["table4_n300_vs_n120"]
    for case in table4:
        p = fisher_exact(case["yes_smmqg"], 300, case["yes_mmqa"], 120).p
        assert round(p, len(str(case["printed"])) - 2) != case["printed"], case["metric"]
    held = {
        case["metric"]: abs(fisher_exact(case["yes_a"], 60, case["yes_b"], 60).p - case["printed"]) <= 5e-3
        for case in expected["fisher"]["table15_n60_vs_n60"]
    }
    assert [name for name, holds in held.items() if not holds] == ["MH/style"]


def test_percentages_of_table_4_are_counts(expected):
    """Of 300 and 120 questions: the percentages beside the mean fluency are the counts of Fisher's tests."""
    tables, cases = expected["paper_tables"]["T4"], expected["fisher"]["table4_n300_vs_n120"]
    for name, key, n in (("SMMQG", "yes_smmqg", 300), ("MMQA", "yes_mmqa", 120)):
        assert [round(100 * case[key] / n, 1) for case in cases] == tables[name][1:]
    # Table 15's counts for MMQA (60 single and 60 compose) sum to those of Table 4.
    halves = expected["fisher"]["table15_n60_vs_n60"]
    for k, case in enumerate(cases):
        assert halves[k]["yes_b"] + halves[k + 4]["yes_b"] == case["yes_mmqa"]


def test_both_tables_of_answers_are_of_the_same_questions(expected):
    """Means over styles (T2) and over modalities (T3), weighted by questions, are one mean of 1,024 questions."""
    tables = expected["paper_tables"]
    by_style = list(expected["smmqg_totals"]["style_counts"].values())
    # The printed cells recover 84+88+147+129+104+68 questions; images, text with table and table with table share the rest.
    known = {"Txt": 84, "Tab": 88, "TxtTxt": 147, "TxtIm": 129, "TabIm": 104, "ImIm": 68}
    rest = sum(by_style) - sum(known.values())
    assert rest == 404
    for system, styles in tables["T2_qa"].items():
        whole = np.average(styles, weights=by_style) * sum(by_style)
        cells = dict(zip(tables["modalities"], tables["T3_qa"][system], strict=True))
        left = (whole - sum(known[m] * cells[m] for m in known)) / rest
        unknown = [cells[m] for m in cells if m not in known]
        assert min(unknown) <= left <= max(unknown), system


def test_letters_of_twelve_questions(expected):
    assert expected["mc_letters"]["n12"].endswith("[3,3,2,2,2]")
    assert sorted(balanced_letter_counts(12, 5), reverse=True) == [3, 3, 2, 2, 2]


def test_shuffling_alone_spreads_the_letters():
    """5,000 letters drawn independently have a standard deviation of 28 around 1,000."""
    assert round(math.sqrt(5000 * 0.2 * 0.8)) == 28
