"""Which test reproduces which number of sequencing.json (Wu et al. 2022).

The worked examples of metrics and agreement are the rows of the file. What the paper prints beyond the file is tested below and in
metrics/ordering/test_golden.py.
"""

import math
from itertools import combinations

import pytest

from proctor.metrics.agreement import cohen_kappa
from proctor.metrics.order_agreement import instance_order_agreement
from proctor.metrics.ordering import kendall_tau_a, measure_order, reference_counts

pytestmark = pytest.mark.shared

ORDERING = "metrics/ordering/test_golden.py::"
AGREEMENT = "metrics/test_order_agreement.py::"
HERE = "golden/test_expected_sequencing.py::"

COVERED = {
    "conventions.units": f"{HERE}test_units_and_rules_of_the_file",
    "single": f"{ORDERING}test_single",
    "aggregate": f"{ORDERING}test_aggregate",
    "uniform_random_expectation": f"{ORDERING}test_uniform_random_expectation",
    "length_mismatch": f"{ORDERING}test_length_mismatch",
    "length_mismatch[].truncate_mode_reference_evaluator": f"{HERE}test_what_the_released_evaluator_does_with_a_long_prediction",
    "ties": f"{ORDERING}test_ties",
    "multi_reference": f"{ORDERING}test_multi_reference",
    "multi_reference_table": f"{ORDERING}test_multi_reference_table",
    "order_rank_conversion": f"{ORDERING}test_order_rank_conversion_and_shuffle_targets",
    "shuffle_targets": f"{ORDERING}test_order_rank_conversion_and_shuffle_targets",
    "iaa_standard": f"{AGREEMENT}test_golden_file_of_standard_agreement",
    "iaa_alternative_pairs": f"{AGREEMENT}test_golden_file_of_alternative_pairs",
    "iaa_alternative_instances": f"{AGREEMENT}test_golden_file_of_series",
    "majority_vote": f"{AGREEMENT}test_golden_file_of_votes",
    "majority_vote_rule": f"{AGREEMENT}test_golden_file_of_votes",
    "significance": f"{ORDERING}test_significance",
    "pairwise_decoding": f"{ORDERING}test_pairwise_decoding",
    "partial_order_from_references": f"{ORDERING}test_partial_order_from_references",
    "synthetic_ceilings.text_buckets": f"{ORDERING}test_synthetic_ceilings",
    "synthetic_ceilings.image_buckets": f"{ORDERING}test_synthetic_ceilings",
    "synthetic_ceilings.text_only": f"{ORDERING}test_synthetic_ceilings",
    "synthetic_ceilings.image_only": f"{ORDERING}test_synthetic_ceilings",
    "synthetic_ceilings.multimodal": f"{ORDERING}test_synthetic_ceiling_of_both_views",
    "synthetic_ceilings.isp_accuracy_ceiling_when_image_pairs_can_tie": f"{HERE}test_pairs_of_images_that_look_alike",
    "paper_tables.table4_and_10": f"{HERE}test_shares_of_the_whole_are_those_of_the_parts",
    "paper_tables.table5": f"{HERE}test_printed_numbers_of_references",
    "paper_tables.mean_refs_all_instances": f"{HERE}test_printed_numbers_of_references",
    "paper_tables.table6": f"{HERE}test_printed_references_of_categories",
    "paper_tables.table8": f"{HERE}test_printed_shares_sum_to_a_hundred",
    "paper_tables.table9": f"{HERE}test_printed_shares_sum_to_a_hundred",
}
ELSEWHERE = {
    "conventions.order": "a definition of the file, in words",
    "conventions.ranks": "a definition of the file, in words",
    "conventions.joint_reference_rule": "a definition; metrics/ordering/test_golden.py::test_multi_reference follows it",
    "parameter_counts": "sizes of models: belong to the models of ordering",
    "paper_tables.table2": "printed results of models that were not released with predictions: inputs of the checks in "
    "metrics/ordering/test_golden.py, nothing can be recomputed",
    "paper_tables.table3": "printed results of models that were not released with predictions",
    "paper_tables.iaa": "printed agreement of annotators whose orders were not released",
}


@pytest.fixture(scope="module")
def expected(shared_expected):
    return shared_expected("sequencing")


def test_every_number_is_accounted_for(account, expected):
    assert account(expected, COVERED, ELSEWHERE) == []


def test_units_and_rules_of_the_file(expected):
    """Shares, raw lengths, a sum: shown on one order, and τ of a single step."""
    units = expected["conventions"]["units"]
    assert units.keys() == {"acc", "pmr", "lq", "lr", "tau", "dist"}
    means = list(measure_order(range(5), [1, 0, 2, 3, 4]).means().values())
    assert means == pytest.approx([0.6, 0, 4, 3, 0.8, 2])
    assert "1.0 when n==1" in units["tau"]
    assert measure_order([7], [7]).kendall_tau.tolist() == [1.0]


def test_what_the_released_evaluator_does_with_a_long_prediction(expected):
    """It cuts both lists to the shorter one; we refuse or repair (Wu et al. 2022: do not copy). Here all agree."""
    cases = [c for c in expected["length_mismatch"] if "truncate_mode_reference_evaluator" in c]
    assert [c["name"] for c in cases] == ["long"]
    for case in cases:
        shorter = min(len(case["pred"]), len(case["gold"]))
        cut = measure_order(case["gold"][:shorter], case["pred"][:shorter]).means().values()
        assert list(cut) == pytest.approx(list(case["truncate_mode_reference_evaluator"].values()))


def test_pairs_of_images_that_look_alike(expected):
    """Pairs that tie are guessed: (1 + τ_a) / 2 of all pairs are right at best."""
    case = expected["synthetic_ceilings"]
    tau = kendall_tau_a(range(5), case["image_buckets"]).value
    assert (1 + tau) / 2 == pytest.approx(case["isp_accuracy_ceiling_when_image_pairs_can_tie"], abs=1e-9)


def test_worked_example_of_the_paper_contradicts_itself():
    """Lists 0011 and 1100 follow from the example's own difference vectors, and κ = -1 instead of 0."""
    assert cohen_kappa([0, 0, 1, 1], [1, 1, 0, 0], resamples=0).value == pytest.approx(-1)
    assert cohen_kappa([0, 0, 1, 1], [0, 1, 1, 0], resamples=0).value == pytest.approx(0)


@pytest.mark.parametrize(
    ("a", "b", "tau"),
    [
        ("123", "231", -1 / 3),
        ("123", "321", -1),
        ("12345", "12354", 0.8),
        ("12345", "21435", 0.6),
        ("312", "132", 1 / 3),
    ],
)
def test_examples_of_standard_agreement(a, b, tau):
    assert instance_order_agreement([list(a), list(b)]) == pytest.approx(tau, abs=1e-12)


SIZES = {"wikihow": 300, "recipeqa": 100}
ONE_OFF = {("recipeqa", "multimodal")}
"""Three instances of mean 4 make (97 + 12) / 100 = 1.09 references; 1.10 is printed."""


def test_printed_numbers_of_references(expected):
    """Counts, means and deviations of Table 5, and the means over all instances, fit each other but for two cells."""
    tables = expected["paper_tables"]
    impossible = set()
    for data, total in SIZES.items():
        for view, (count, low, high, mean, deviation) in tables["table5"][data].items():
            sums = [s for s in range(low * count, high * count + 1) if round(s / count, 1) == mean]
            assert sums, (data, view)
            most = max(math.sqrt((s / count - low) * (high - s / count)) for s in sums)
            if deviation > most + 0.05:
                impossible.add((data, view))
            overall = {round((total - count + s) / total, 2) for s in sums}
            printed = tables["mean_refs_all_instances"][data][view]
            assert (printed in overall) is ((data, view) not in ONE_OFF), (data, view, overall)
    assert impossible == {("wikihow", "image")}
    one = reference_counts([1] * 97 + [2, 4, 6])
    assert (one.count, one.mean, round(one.deviation, 2), one.mean_all) == (3, 4, 1.63, 1.09)


def test_printed_references_of_categories(expected):
    """Table 6: a mean of n whole numbers is k / n; three of the fifteen cells are not."""
    table = expected["paper_tables"]["table6"]
    views = ("multimodal", "text", "image")
    impossible = {
        (name, view, mean, count)
        for name, cells in table.items()
        if name != "columns"
        for view, (mean, count) in zip(views, cells, strict=True)
        if all(round(k / count, 2) != mean for k in range(2 * count, 6 * count + 1))
    }
    assert impossible == {
        ("Food and Entertaining", "text", 2.22, 14),
        ("Others", "multimodal", 2.28, 7),
        ("Others", "text", 2.67, 5),
    }


def test_printed_shares_sum_to_a_hundred(expected):
    for name, slack in (("table8", 0.11), ("table9", 0.021)):
        table = expected["paper_tables"][name]
        rows = [row for row in table.values() if isinstance(row, list) and not isinstance(row[0], str)]
        assert len(rows) == 2
        for row in rows:
            assert sum(row) == pytest.approx(100, abs=slack), name


def test_shares_of_the_whole_are_those_of_the_parts(expected):
    """Tables 4 and 10: "All" is the mean of both parts weighted by their sizes, but for two systems."""
    tables = expected["paper_tables"]
    off = set()
    for data, total in SIZES.items():
        for system, cell in tables["table4_and_10"][data].items():
            view = system.split("_")[0]
            count = tables["table5"][data][{"mm": "multimodal"}.get(view, view)][0]
            for k, name in enumerate(("acc", "pmr", "lr")):
                for j, kind in enumerate(("single", "multi")):
                    parts = (total - count) * cell["single"][k] + count * cell["multi"][2 * k + j]
                    if abs(parts / total - cell["all"][2 * k + j]) > 0.011:
                        off.add((data, system, name, kind, round(parts / total, 2), cell["all"][2 * k + j]))
    assert off == {
        ("wikihow", "text_model", "pmr", "single", 58.33, 58.67),
        ("wikihow", "text_model", "pmr", "multi", 61.33, 61.67),
        ("wikihow", "mm_model", "pmr", "single", 66.02, 65.67),
        ("wikihow", "mm_model", "pmr", "multi", 68.42, 68.0),
    }


def test_numbers_of_pairs_in_the_definitions():
    """C(N, 2) pairs, N(N-1) cells, floor(N²/2) as the largest distance."""
    for n in range(2, 8):
        reverse = measure_order(range(n), range(n)[::-1])
        assert reverse.kendall_tau.tolist() == [-1.0]
        assert reverse.displacement.tolist() == [n * n // 2]
        assert len(list(combinations(range(n), 2))) == n * (n - 1) // 2
