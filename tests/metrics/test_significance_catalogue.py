"""The family's entries in the catalogue, and every expected number."""

from importlib import import_module

import pytest

from proctor.metrics import calibration, concurrence, hypothesis_tests, judge_error, power, significance
from proctor.metrics.concurrence import rank_concurrence
from proctor.metrics.hypothesis_tests import chi_square, fisher_exact, mann_whitney, mcnemar, sign_flip_test
from proctor.metrics.interval import wilson_interval
from proctor.metrics.score import Signature

MODULES = (significance, hypothesis_tests, concurrence, power, calibration, judge_error)
ENTRIES = [entry for module in MODULES for entry in module.METRICS]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_entry_is_whole_and_names_a_public_function(entry):
    module, name = entry.function.split(":")
    assert name in import_module(f"proctor.metrics.{module}").__all__
    assert str(Signature.parse(entry.signature)) == entry.signature
    assert entry.family == "significance"
    for text in (entry.label, entry.range, entry.definition, entry.citation, entry.traps):
        assert text.strip()


def test_names_are_unique():
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("mcnemar", lambda: mcnemar(1, 2)),
        ("sign_flip", lambda: sign_flip_test(range(40), [str(i) for i in range(40)])),
        ("permutation", lambda: hypothesis_tests.permutation_test(range(40), range(5, 50))),
        ("mann_whitney", lambda: mann_whitney([1, 1], [2, 1])),
        ("fisher_exact", lambda: fisher_exact(1, 2, 1, 2)),
        ("chi_square", lambda: chi_square([1, 2, 3, 4, 5])),
        ("kendall_tau_b", lambda: rank_concurrence([1, 2], [1, 2])),
        ("expected_calibration_error", lambda: calibration.expected_calibration_error([1], [0.5])),
        ("maximum_calibration_error", lambda: calibration.maximum_calibration_error([1], [0.5])),
        ("calibrated_ece", lambda: calibration.calibrated_ece([0.5])),
        ("calibration_test", lambda: calibration.calibration_test([1], [0.5])),
        ("brier_score", lambda: calibration.brier_score([1], [0.5])),
        ("negative_log_likelihood", lambda: calibration.negative_log_likelihood([1], [0.5])),
        ("judge_accuracy", lambda: judge_error.judge_accuracy([1, 0], [1, 1])),
        ("judge_correlation", lambda: judge_error.judge_correlation([1, 0, 0], [1, 1, 0])),
        (
            "corrected_share",
            lambda: judge_error.corrected_share(1, 2, judge_error.JudgeError(120, 110, 80, 70)),
        ),
    ],
)
def test_example_signatures_are_what_functions_print(name, made):
    entry = next(entry for entry in ENTRIES if entry.name == name)
    assert str(made().signature) == entry.signature


@pytest.mark.shared
def test_every_expected_number(shared_expected):
    expected = shared_expected("sequencing")["significance"]
    for case in expected["mcnemar_exact_two_sided"]:
        assert mcnemar(case["b"], case["c"]).p == pytest.approx(case["p"], rel=1e-5, abs=5e-11)
    for case in expected["wilson_95"]:
        found = wilson_interval(case["k"], case["n"])
        assert (found.low, found.high) == pytest.approx(tuple(case["interval"]), abs=5e-11)
    flips = expected["sign_flip_exact"]
    assert sign_flip_test(flips["diffs"]).p == flips["p_two_sided"]
    assert sign_flip_test(flips["diffs"]).statistic == pytest.approx(flips["mean"], abs=5e-11)
    expected = shared_expected("smmqg-instructionbench")
    seen = 0
    for case in expected["kendall"].values():
        if "tau" in case:
            found = rank_concurrence(case["a"], case["b"])
            assert (found.tau, found.p) == pytest.approx((case["tau"], case["p_exact"]), abs=5e-7)
            assert (found.pairs, found.discordant) == (case["pairs"], case["discordant"])
            seen += 1
    assert seen == 7
    ties = expected["kendall"]["ties_case"]
    assert rank_concurrence(ties["a"], ties["b"]).tau == pytest.approx(ties["tau_b"])
    for case in expected["fisher"]["table4_n300_vs_n120"]:
        found = fisher_exact(case["yes_smmqg"], 300, case["yes_mmqa"], 120)
        assert found.p == pytest.approx(case["p_two_sided"], abs=5e-7)
    for case in expected["fisher"]["table15_n60_vs_n60"]:
        assert fisher_exact(case["yes_a"], 60, case["yes_b"], 60).p == pytest.approx(
            case["p_two_sided"], abs=5e-7
        )
    case = expected["mann_whitney"]
    found = mann_whitney(case["a"], case["b"])
    assert found.statistic == case["U_a"]
    assert found.p == pytest.approx(case["p_asymptotic_tie_corrected_continuity"], abs=5e-7)
    plain = mann_whitney(case["a"], case["b"], method="no-continuity")
    assert plain.p == pytest.approx(case["p_no_continuity"], abs=5e-7)
    case = expected["mc_letters"]["chi2_example"]
    found = chi_square(case["counts"])
    assert (found.statistic, found.p) == pytest.approx((case["chi2"], case["p"]), abs=5e-7)
