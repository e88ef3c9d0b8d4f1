"""Every public function of the room on hostile input: refused with a reason, or answered; never silently undefined."""

import dataclasses
import math
import warnings

import numpy as np
import pytest

from proctor import metrics
from proctor.metrics import Score, Segments, Signature
from proctor.metrics.judge_error import JudgeError
from proctor.metrics.order_agreement import AlternativeInstance
from proctor.metrics.segment_agreement import compare_segments

ORDER, OTHER = [1, 2, 3, 4], [2, 1, 3, 4]
RIGHT, SCORES = [0, 1, 0, 1], [0.1, 0.8, 0.6, 0.7]
YES, NO = ["yes", "no", "yes"], ["yes", "yes", "no"]
TEXTS = ["add the salt to the pan", "stir it"]
VIDEOS = [["a", "a", "b"]]
GRAPH = metrics.partial_order_from_references([ORDER, OTHER])
TRUTH = Segments.of(["v", "v"], [0.0, 5.0], [4.0, 9.0], ["x", "y"])
FOUND = Segments.of(["v", "v"], [0.0, 6.0], [4.0, 9.0], ["x", "y"], [0.9, 0.5])
MATCHES = metrics.match_segments(TRUTH, FOUND)
RANKED = metrics.rank_gold([["a"], ["b"]], [["a", "c"], ["c", "b"]])
PAIRS = compare_segments({"r": {"ana": [("s", 0.0, 4.0)], "ben": [("s", 1.0, 4.0)]}})
ALTERNATIVES = {"i": AlternativeInstance(ORDER, {"ana": [OTHER], "ben": [OTHER, [1, 2, 4, 3]]})}
MEASURES = metrics.measure_orders([ORDER, ORDER], [ORDER, OTHER])
VECTORS = [[1.0, 0.0], [0.6, 0.8]]
CLUSTERS = {"a": "r1", "b": "r2", "c": "r3"}
MARKS = ({"a": 1.0, "b": 0.0, "c": 1.0}, {"a": 0.0, "b": 0.0, "c": 1.0})
TIMES = ([0.0], [1.0], [0.5], [2.0])

CALLS = {
    "alternative_order_agreement": (ALTERNATIVES,),
    "apply_protocol": (TRUTH, FOUND),
    "attainable_cells": ([33.3], 3),
    "ranking_average_precisions": (RANKED,),
    "benjamini_hochberg": ([0.01, 0.2],),
    "best_of_references": ([[ORDER]], [OTHER]),
    "blind_pass_probability": (0.8,),
    "bootstrap_interval": (np.array([[1.0, 2.0], [0.0, 2.0], [2.0, 2.0]]),),
    "bootstrap_mean_intervals": ([[1.0, 0.0, 1.0]], ["a", "b", "c"]),
    "boundary_error": (PAIRS,),
    "segment_boundary_errors": (VIDEOS, VIDEOS),
    "calibrated_ece": (SCORES,),
    "chi_square": ([10, 12],),
    "choice_accuracy": (["A", "B"], ["A", None]),
    "choice_counts": (["A", "B"], ["A", None]),
    "cluster_sums": ([[1.0, 2.0]], ["a", "b"]),
    "compare_all_pairs": ({"one": MARKS[0], "two": MARKS[1]}, CLUSTERS),
    "compare_orders": (MEASURES, MEASURES, ["a", "b"]),
    "compare_paired": (*MARKS, CLUSTERS),
    "consistent_counts": (0.5, 0.5, 0.5, 0.5, 4, 2),
    "corrected_share": (5, 10, JudgeError(10, 9, 10, 8)),
    "decode_pairwise": ([[0.5, 0.9], [0.1, 0.5]],),
    "detectable_difference": ([0.1, 0.0, -0.2], ["a", "b", "c"]),
    "detection_agreement": (PAIRS, 0.5),
    "distinct_n": (TEXTS, 2),
    "is_exact_match": (TEXTS, "stir it"),
    "expected_measures": (4,),
    "fisher_exact": (3, 10, 5, 10),
    "fleiss_kappa": ([["yes", "no"], ["yes", "yes"]],),
    "holm": ([0.01, 0.2],),
    "kendall_tau_a": ([1.0, 2.0], [1.0, 3.0]),
    "rank_concurrence": ([1.0, 2.0, 3.0], [1.0, 3.0, 2.0]),
    "krippendorff_alpha": ([["yes", "no"], ["yes", "yes"]],),
    "letter_balance": ([3, 4],),
    "macro_roc_auc": (RIGHT, SCORES, ["r1", "r1", "r2", "r2"]),
    "majority_vote": (ORDER, [[OTHER]]),
    "mann_whitney": ([1.0, 2.0], [2.0, 3.0]),
    "mcnemar": (3, 5),
    "mcnemar_detectable": (50, 0.2),
    "mean_score": ([1.0, None, 0.0], ["a", "b", "c"], Signature("m")),
    "measure_arrays": ([[0, 1, 2]], [[1, 0, 2]]),
    "measure_orders": ([ORDER], [OTHER]),
    "measure_partial_orders": ([GRAPH], [OTHER]),
    "micro_position_accuracy": ([ORDER], [OTHER]),
    "segment_micro_recalls_at_kx": (MATCHES, 1),
    "ndcgs_at_k": (RANKED, 2),
    "option_tells": ([["salt", "milk"]], ["A"]),
    "order_by_scores": ({"a": 0.2, "b": 0.5},),
    "order_to_ranks": ([1, 0, 2],),
    "paired_cosines": (VECTORS, VECTORS),
    "parse_letter": ("The answer is B.", 4),
    "ranking_part_recalls_at_k": (RANKED, ["text", "table"], 2),
    "partial_order_from_references": ([ORDER, OTHER],),
    "permutation_test": ([1.0, 2.0], [2.0, 3.0]),
    "planned_items": (0.05, 0.5),
    "ranking_precisions_at_k": (RANKED, 2),
    "prediction_powered_mean": ([1.0, 0.0, None, 1.0], [1.0, 0.0, 1.0, 1.0]),
    "prevalence": (YES, NO, "yes"),
    "rank_gold": ([["a"]], [["b", "a"]]),
    "ranks_to_order": ([1, 0, 2],),
    "ranking_recall_at_k": (["a"], ["b", "a"], 2),
    "segment_recalls_at_kx": (MATCHES, 1),
    "recall_spread": ([0.5, 1.0],),
    "ranking_recalls_at_k": (RANKED, 2),
    "reciprocal_ranks": (RANKED,),
    "repair_order": (OTHER, ORDER),
    "require_comparable": (Signature("m"), Signature("m")),
    "require_comparable_scores": (Score(1.0, Signature("m"), 1), Score(1.0, Signature("m"), 1)),
    "rouge_1_overlap": (TEXTS, "stir it"),
    "rouge_l_overlap": (TEXTS, "stir it"),
    "score_orders": (MEASURES,),
    "sign_flip_test": ([0.1, -0.2, 0.3],),
    "specific_agreement": (YES, NO, "yes"),
    "style_overlap": ([["a"], ["a", "b"]],),
    "suppress_segments": (FOUND,),
    "temporal_ious": TIMES,
    "token_overlap": (TEXTS, "stir it"),
    "vocabulary_share": (TEXTS, TEXTS),
    "wilson_interval": (3, 10),
    **dict.fromkeys(("interchangeable_pair_alpha", "order_set_jaccard", "pair_set_jaccard"), (ALTERNATIVES,)),
    **dict.fromkeys(("accuracy", "f1_score", "precision", "recall"), (RIGHT, [0, 1, 1, 1])),
    **dict.fromkeys(("average_precision", "choose_threshold", "equal_error_rate", "roc_auc"), (RIGHT, SCORES)),
    **dict.fromkeys(("between_roc_auc", "within_roc_auc"), (RIGHT, SCORES)),
    **dict.fromkeys(("macro_average_precision", "macro_kind_roc_auc"), ({"k": RIGHT}, {"k": SCORES})),
    **dict.fromkeys(("comparable_tau", "is_valid_order", "precedence_f1", "violated_constraints", "violated_share"), (GRAPH, OTHER)),
    **dict.fromkeys(("cohen_kappa", "raw_agreement"), (YES, NO)),
    **dict.fromkeys(("judge_accuracy", "judge_correlation"), ([0.0, 1.0, 1.0], [0.0, 1.0, 0.5])),
    **dict.fromkeys(
        ("brier_score", "calibration_test", "expected_calibration_error", "maximum_calibration_error",
         "negative_log_likelihood", "reliability_bins"), (RIGHT, SCORES),
    ),
    **dict.fromkeys(
        ("displacement", "kendall_tau", "longest_common_subsequence", "longest_common_substring", "measure_order",
         "normalised_displacement", "normalised_subsequence", "normalised_substring", "perfect_match_ratio",
         "position_accuracy"), (ORDER, OTHER),
    ),
    **dict.fromkeys(("edit_score", "frame_accuracy", "over_segmentation_ratio", "segmental_f1"), (VIDEOS, VIDEOS)),
    **dict.fromkeys(("key_step_f1", "key_step_iou", "key_step_precision", "key_step_recall"), (["1", "2"], ["a", "b"])),
    **dict.fromkeys(("localization_scores", "match_segments", "segment_mean_average_precisions"), (TRUTH, FOUND)),
    **dict.fromkeys(("mean_pairwise_cosine", "near_duplicates", "nearest_cosines"), (VECTORS,)),
    **dict.fromkeys(("distinct_texts", "hd_d", "mean_tokens", "mean_words", "moving_average_ttr", "type_token_ratio"), (TEXTS,)),
    **dict.fromkeys(("mean_segment_iou",), (PAIRS,)),
}  # fmt: skip
"""A call of every public function that has a result."""

NAMED = {name: {"clusters": ["r1", "r1", "r2", "r2"]} for name in ("between_roc_auc", "within_roc_auc")}
"""What such a call needs by name."""

FUNCTIONS = [name for name in metrics.__all__ if not isinstance(getattr(metrics, name), type)]
HOSTILE = {
    "nothing": [], "a text": "abc", "not a number": [math.nan, math.nan], "None": None, "Nones": [None, None],
    "a number": 3, "another type": [b"x", b"y"], "an object": object(), "deep": [[[1.0]]], "infinite": [math.inf, 1.0],
}  # fmt: skip

TEXT_IS_FINE = {
    ("is_exact_match", 0), ("is_exact_match", 1), ("rouge_1_overlap", 0), ("rouge_1_overlap", 1), ("rouge_l_overlap", 0), ("rouge_l_overlap", 1),
    ("token_overlap", 0), ("token_overlap", 1), ("parse_letter", 0), ("parse_letter", 1), ("prevalence", 2),
    ("specific_agreement", 2),
}  # fmt: skip
"""Arguments that are one text, or may be."""
REFUSALS = (metrics.MetricInputError, TypeError, ValueError, AttributeError, IndexError)
"""Wrong types may meet Python's own errors: they are loud."""


def outcome(name, arguments, **options):
    """The result of a call; the error where it was refused."""
    function = getattr(metrics, name)
    if "resamples" in (function.__kwdefaults__ or {}):
        options = {"resamples": 20, **options}
    try:
        return function(*arguments, **{**NAMED.get(name, {}), **options})
    except REFUSALS as error:
        return error


def undefined(result):
    """Whether a number of a result is nan although nothing beside it says why."""
    if isinstance(result, float):
        return math.isnan(result)
    if isinstance(result, dict):
        return any(map(undefined, result.values()))
    if dataclasses.is_dataclass(result) and not isinstance(result, Score) and hasattr(result, "note"):
        return not result.note and any(undefined(v) for v in dataclasses.astuple(result))
    return False


def test_every_function_has_a_call_that_works():
    assert set(CALLS) == set(FUNCTIONS)
    for name, arguments in CALLS.items():
        result = outcome(name, arguments)
        assert not isinstance(result, Exception), (name, result)
        assert not undefined(result), name


@pytest.mark.parametrize("option", ["confidance", "resample"])
def test_misspelt_options_are_refused(option):
    for name, arguments in CALLS.items():
        with pytest.raises((TypeError, metrics.MetricInputError), match=option):
            getattr(metrics, name)(*arguments, **NAMED.get(name, {}), **{option: 0})


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_input_is_refused_or_has_a_defined_result(what):
    for name, arguments in CALLS.items():
        for place in range(len(arguments)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = outcome(name, (*arguments[:place], HOSTILE[what], *arguments[place + 1 :]))
            assert not undefined(result), (name, place, result)
            if what == "a text" and (name, place) not in TEXT_IS_FINE:
                assert isinstance(result, REFUSALS), (name, place, result)
            if what == "not a number":
                defined = isinstance(result, float | Score) and not math.isnan(float(result))
                assert not defined, (name, place, result)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("cohen_kappa", (["1", "0"], [1, 0])), ("raw_agreement", (["1", "0"], [1, 0])), ("prevalence", (YES, NO, 1)),
        ("accuracy", ([0, 1], ["0", "1"])), ("ranking_recall_at_k", ([1], ["1"], 1)), ("rank_gold", ([["a"]], [[1, 2]])),
        ("segment_mean_average_precisions", (TRUTH, Segments.of(["w"], [0.0], [4.0], ["x"], [0.9]))),
        ("segment_mean_average_precisions", (TRUTH, Segments.of(["v"], [0.0], [4.0], [1], [0.9]))),
        ("compare_paired", ({"a": 1.0}, {"b": 1.0}, {"a": "r", "b": "r"})),
        ("kendall_tau", ([1, 2], ["1", "2"])), ("krippendorff_alpha", (["ab", "ba"],)),
    ],
)  # fmt: skip
def test_what_has_nothing_in_common_is_refused_and_no_zero(name, arguments):
    if name == "segment_mean_average_precisions" and arguments[1].labels == (1,):
        arguments = (Segments.of(["v"], [0.0], [4.0], ["1"]), arguments[1])
    with pytest.raises(metrics.MetricInputError):
        getattr(metrics, name)(*arguments)
