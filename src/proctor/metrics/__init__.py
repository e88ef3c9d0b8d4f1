"""Every number of the field: pure functions on plain values and arrays, each with a signature and an interval.

``docs/metrics.md`` has the table of all of them. Names are looked up when they are used, so that importing the package
costs little and loads neither SciPy nor the families that are not needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from proctor.metrics.agreement import cohen_kappa as cohen_kappa
    from proctor.metrics.agreement import fleiss_kappa as fleiss_kappa
    from proctor.metrics.agreement import prevalence as prevalence
    from proctor.metrics.agreement import raw_agreement as raw_agreement
    from proctor.metrics.agreement import specific_agreement as specific_agreement
    from proctor.metrics.answer import mean_score as mean_score
    from proctor.metrics.answer import style_overlap as style_overlap
    from proctor.metrics.answer_text import is_exact_match as is_exact_match
    from proctor.metrics.answer_text import rouge_1_overlap as rouge_1_overlap
    from proctor.metrics.answer_text import rouge_l_overlap as rouge_l_overlap
    from proctor.metrics.answer_text import token_overlap as token_overlap
    from proctor.metrics.bootstrap import bootstrap_interval as bootstrap_interval
    from proctor.metrics.bootstrap import bootstrap_mean_intervals as bootstrap_mean_intervals
    from proctor.metrics.bootstrap import cluster_sums as cluster_sums
    from proctor.metrics.calibration import brier_score as brier_score
    from proctor.metrics.calibration import calibrated_ece as calibrated_ece
    from proctor.metrics.calibration import calibration_test as calibration_test
    from proctor.metrics.calibration import expected_calibration_error as expected_calibration_error
    from proctor.metrics.calibration import maximum_calibration_error as maximum_calibration_error
    from proctor.metrics.calibration import negative_log_likelihood as negative_log_likelihood
    from proctor.metrics.calibration import reliability_bins as reliability_bins
    from proctor.metrics.choice import blind_pass_probability as blind_pass_probability
    from proctor.metrics.choice import choice_accuracy as choice_accuracy
    from proctor.metrics.choice import choice_counts as choice_counts
    from proctor.metrics.choice import letter_balance as letter_balance
    from proctor.metrics.choice import option_tells as option_tells
    from proctor.metrics.choice import parse_letter as parse_letter
    from proctor.metrics.choice import recall_spread as recall_spread
    from proctor.metrics.classification import accuracy as accuracy
    from proctor.metrics.classification import average_precision as average_precision
    from proctor.metrics.classification import equal_error_rate as equal_error_rate
    from proctor.metrics.classification import f1_score as f1_score
    from proctor.metrics.classification import macro_average_precision as macro_average_precision
    from proctor.metrics.classification import macro_kind_roc_auc as macro_kind_roc_auc
    from proctor.metrics.classification import macro_roc_auc as macro_roc_auc
    from proctor.metrics.classification import precision as precision
    from proctor.metrics.classification import recall as recall
    from proctor.metrics.classification import roc_auc as roc_auc
    from proctor.metrics.clustering import key_step_f1 as key_step_f1
    from proctor.metrics.clustering import key_step_iou as key_step_iou
    from proctor.metrics.clustering import key_step_precision as key_step_precision
    from proctor.metrics.clustering import key_step_recall as key_step_recall
    from proctor.metrics.concurrence import rank_concurrence as rank_concurrence
    from proctor.metrics.embedding import mean_pairwise_cosine as mean_pairwise_cosine
    from proctor.metrics.embedding import near_duplicates as near_duplicates
    from proctor.metrics.embedding import nearest_cosines as nearest_cosines
    from proctor.metrics.embedding import paired_cosines as paired_cosines
    from proctor.metrics.errors import MetricInputError as MetricInputError
    from proctor.metrics.hypothesis_tests import benjamini_hochberg as benjamini_hochberg
    from proctor.metrics.hypothesis_tests import chi_square as chi_square
    from proctor.metrics.hypothesis_tests import fisher_exact as fisher_exact
    from proctor.metrics.hypothesis_tests import holm as holm
    from proctor.metrics.hypothesis_tests import mann_whitney as mann_whitney
    from proctor.metrics.hypothesis_tests import mcnemar as mcnemar
    from proctor.metrics.hypothesis_tests import permutation_test as permutation_test
    from proctor.metrics.hypothesis_tests import sign_flip_test as sign_flip_test
    from proctor.metrics.interval import Interval as Interval
    from proctor.metrics.interval import wilson_interval as wilson_interval
    from proctor.metrics.judge_error import corrected_share as corrected_share
    from proctor.metrics.judge_error import judge_accuracy as judge_accuracy
    from proctor.metrics.judge_error import judge_correlation as judge_correlation
    from proctor.metrics.judge_error import prediction_powered_mean as prediction_powered_mean
    from proctor.metrics.krippendorff import krippendorff_alpha as krippendorff_alpha
    from proctor.metrics.localization import LocalizationScores as LocalizationScores
    from proctor.metrics.localization import Segments as Segments
    from proctor.metrics.localization import apply_protocol as apply_protocol
    from proctor.metrics.localization import localization_scores as localization_scores
    from proctor.metrics.localization import match_segments as match_segments
    from proctor.metrics.localization import (
        segment_mean_average_precisions as segment_mean_average_precisions,
    )
    from proctor.metrics.localization import segment_micro_recalls_at_kx as segment_micro_recalls_at_kx
    from proctor.metrics.localization import segment_recalls_at_kx as segment_recalls_at_kx
    from proctor.metrics.order_agreement import alternative_order_agreement as alternative_order_agreement
    from proctor.metrics.order_agreement import interchangeable_pair_alpha as interchangeable_pair_alpha
    from proctor.metrics.order_agreement import majority_vote as majority_vote
    from proctor.metrics.order_agreement import order_set_jaccard as order_set_jaccard
    from proctor.metrics.order_agreement import pair_set_jaccard as pair_set_jaccard
    from proctor.metrics.ordering import PartialOrder as PartialOrder
    from proctor.metrics.ordering import best_of_references as best_of_references
    from proctor.metrics.ordering import comparable_tau as comparable_tau
    from proctor.metrics.ordering import compare_orders as compare_orders
    from proctor.metrics.ordering import decode_pairwise as decode_pairwise
    from proctor.metrics.ordering import displacement as displacement
    from proctor.metrics.ordering import expected_measures as expected_measures
    from proctor.metrics.ordering import is_valid_order as is_valid_order
    from proctor.metrics.ordering import kendall_tau as kendall_tau
    from proctor.metrics.ordering import kendall_tau_a as kendall_tau_a
    from proctor.metrics.ordering import longest_common_subsequence as longest_common_subsequence
    from proctor.metrics.ordering import longest_common_substring as longest_common_substring
    from proctor.metrics.ordering import measure_arrays as measure_arrays
    from proctor.metrics.ordering import measure_order as measure_order
    from proctor.metrics.ordering import measure_orders as measure_orders
    from proctor.metrics.ordering import measure_partial_orders as measure_partial_orders
    from proctor.metrics.ordering import micro_position_accuracy as micro_position_accuracy
    from proctor.metrics.ordering import normalised_displacement as normalised_displacement
    from proctor.metrics.ordering import normalised_subsequence as normalised_subsequence
    from proctor.metrics.ordering import normalised_substring as normalised_substring
    from proctor.metrics.ordering import order_by_scores as order_by_scores
    from proctor.metrics.ordering import order_to_ranks as order_to_ranks
    from proctor.metrics.ordering import partial_order_from_references as partial_order_from_references
    from proctor.metrics.ordering import perfect_match_ratio as perfect_match_ratio
    from proctor.metrics.ordering import position_accuracy as position_accuracy
    from proctor.metrics.ordering import precedence_f1 as precedence_f1
    from proctor.metrics.ordering import ranks_to_order as ranks_to_order
    from proctor.metrics.ordering import repair_order as repair_order
    from proctor.metrics.ordering import score_orders as score_orders
    from proctor.metrics.ordering import violated_constraints as violated_constraints
    from proctor.metrics.ordering import violated_share as violated_share
    from proctor.metrics.power import detectable_difference as detectable_difference
    from proctor.metrics.power import mcnemar_detectable as mcnemar_detectable
    from proctor.metrics.power import planned_items as planned_items
    from proctor.metrics.printed_counts import consistent_counts as consistent_counts
    from proctor.metrics.retrieval import attainable_cells as attainable_cells
    from proctor.metrics.retrieval import ndcgs_at_k as ndcgs_at_k
    from proctor.metrics.retrieval import rank_gold as rank_gold
    from proctor.metrics.retrieval import ranking_average_precisions as ranking_average_precisions
    from proctor.metrics.retrieval import ranking_part_recalls_at_k as ranking_part_recalls_at_k
    from proctor.metrics.retrieval import ranking_precisions_at_k as ranking_precisions_at_k
    from proctor.metrics.retrieval import ranking_recall_at_k as ranking_recall_at_k
    from proctor.metrics.retrieval import ranking_recalls_at_k as ranking_recalls_at_k
    from proctor.metrics.retrieval import reciprocal_ranks as reciprocal_ranks
    from proctor.metrics.score import Score as Score
    from proctor.metrics.score import Signature as Signature
    from proctor.metrics.score import require_comparable as require_comparable
    from proctor.metrics.score import require_comparable_scores as require_comparable_scores
    from proctor.metrics.segment_agreement import boundary_error as boundary_error
    from proctor.metrics.segment_agreement import detection_agreement as detection_agreement
    from proctor.metrics.segment_agreement import mean_segment_iou as mean_segment_iou
    from proctor.metrics.segmentation import edit_score as edit_score
    from proctor.metrics.segmentation import frame_accuracy as frame_accuracy
    from proctor.metrics.segmentation import over_segmentation_ratio as over_segmentation_ratio
    from proctor.metrics.segmentation import segment_boundary_errors as segment_boundary_errors
    from proctor.metrics.segmentation import segmental_f1 as segmental_f1
    from proctor.metrics.significance import compare_all_pairs as compare_all_pairs
    from proctor.metrics.significance import compare_paired as compare_paired
    from proctor.metrics.soft_nms import suppress_segments as suppress_segments
    from proctor.metrics.table import ScoreTable as ScoreTable
    from proctor.metrics.temporal import temporal_ious as temporal_ious
    from proctor.metrics.text_statistics import distinct_n as distinct_n
    from proctor.metrics.text_statistics import distinct_texts as distinct_texts
    from proctor.metrics.text_statistics import hd_d as hd_d
    from proctor.metrics.text_statistics import mean_tokens as mean_tokens
    from proctor.metrics.text_statistics import mean_words as mean_words
    from proctor.metrics.text_statistics import moving_average_ttr as moving_average_ttr
    from proctor.metrics.text_statistics import type_token_ratio as type_token_ratio
    from proctor.metrics.text_statistics import vocabulary_share as vocabulary_share
    from proctor.metrics.thresholds import choose_threshold as choose_threshold

_NAMES: Final = {
    "agreement": ["cohen_kappa", "fleiss_kappa", "prevalence", "raw_agreement", "specific_agreement"],
    "answer": ["mean_score", "style_overlap"],
    "answer_text": ["is_exact_match", "rouge_1_overlap", "rouge_l_overlap", "token_overlap"],
    "bootstrap": ["bootstrap_mean_intervals", "bootstrap_interval", "cluster_sums"],
    "calibration": [
        "reliability_bins",
        "brier_score",
        "calibrated_ece",
        "calibration_test",
        "expected_calibration_error",
        "maximum_calibration_error",
        "negative_log_likelihood",
    ],
    "choice": [
        "blind_pass_probability",
        "choice_accuracy",
        "choice_counts",
        "letter_balance",
        "option_tells",
        "parse_letter",
        "recall_spread",
    ],
    "classification": [
        "accuracy",
        "average_precision",
        "equal_error_rate",
        "f1_score",
        "macro_average_precision",
        "macro_kind_roc_auc",
        "macro_roc_auc",
        "precision",
        "recall",
        "roc_auc",
    ],
    "clustering": ["key_step_f1", "key_step_iou", "key_step_precision", "key_step_recall"],
    "concurrence": ["rank_concurrence"],
    "embedding": ["mean_pairwise_cosine", "near_duplicates", "nearest_cosines", "paired_cosines"],
    "errors": ["MetricInputError"],
    "hypothesis_tests": [
        "benjamini_hochberg",
        "chi_square",
        "fisher_exact",
        "holm",
        "mann_whitney",
        "mcnemar",
        "permutation_test",
        "sign_flip_test",
    ],
    "interval": ["Interval", "wilson_interval"],
    "judge_error": ["judge_correlation", "judge_accuracy", "corrected_share", "prediction_powered_mean"],
    "krippendorff": ["krippendorff_alpha"],
    "localization": [
        "LocalizationScores",
        "Segments",
        "apply_protocol",
        "localization_scores",
        "match_segments",
        "segment_mean_average_precisions",
        "segment_micro_recalls_at_kx",
        "segment_recalls_at_kx",
    ],
    "order_agreement": [
        "alternative_order_agreement",
        "interchangeable_pair_alpha",
        "majority_vote",
        "order_set_jaccard",
        "pair_set_jaccard",
    ],
    "ordering": [
        "expected_measures",
        "measure_partial_orders",
        "score_orders",
        "ranks_to_order",
        "order_to_ranks",
        "order_by_scores",
        "decode_pairwise",
        "compare_orders",
        "PartialOrder",
        "best_of_references",
        "comparable_tau",
        "displacement",
        "is_valid_order",
        "kendall_tau",
        "kendall_tau_a",
        "longest_common_subsequence",
        "longest_common_substring",
        "measure_arrays",
        "measure_order",
        "measure_orders",
        "micro_position_accuracy",
        "normalised_displacement",
        "normalised_subsequence",
        "normalised_substring",
        "partial_order_from_references",
        "perfect_match_ratio",
        "position_accuracy",
        "precedence_f1",
        "repair_order",
        "violated_constraints",
        "violated_share",
    ],
    "power": ["planned_items", "detectable_difference", "mcnemar_detectable"],
    "printed_counts": ["consistent_counts"],
    "retrieval": [
        "attainable_cells",
        "ranking_average_precisions",
        "ndcgs_at_k",
        "ranking_part_recalls_at_k",
        "ranking_precisions_at_k",
        "rank_gold",
        "ranking_recall_at_k",
        "ranking_recalls_at_k",
        "reciprocal_ranks",
    ],
    "score": ["Score", "Signature", "require_comparable", "require_comparable_scores"],
    "segment_agreement": ["boundary_error", "detection_agreement", "mean_segment_iou"],
    "segmentation": [
        "segment_boundary_errors",
        "edit_score",
        "frame_accuracy",
        "over_segmentation_ratio",
        "segmental_f1",
    ],
    "significance": ["compare_all_pairs", "compare_paired"],
    "soft_nms": ["suppress_segments"],
    "table": ["ScoreTable"],
    "temporal": ["temporal_ious"],
    "text_statistics": [
        "distinct_n",
        "distinct_texts",
        "hd_d",
        "mean_tokens",
        "mean_words",
        "moving_average_ttr",
        "type_token_ratio",
        "vocabulary_share",
    ],
    "thresholds": ["choose_threshold"],
}
_PLACES: Final = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "Interval",
    "LocalizationScores",
    "MetricInputError",
    "PartialOrder",
    "Score",
    "ScoreTable",
    "Segments",
    "Signature",
    "accuracy",
    "alternative_order_agreement",
    "apply_protocol",
    "attainable_cells",
    "average_precision",
    "benjamini_hochberg",
    "best_of_references",
    "blind_pass_probability",
    "bootstrap_interval",
    "bootstrap_mean_intervals",
    "boundary_error",
    "brier_score",
    "calibrated_ece",
    "calibration_test",
    "chi_square",
    "choice_accuracy",
    "choice_counts",
    "choose_threshold",
    "cluster_sums",
    "cohen_kappa",
    "comparable_tau",
    "compare_all_pairs",
    "compare_orders",
    "compare_paired",
    "consistent_counts",
    "corrected_share",
    "decode_pairwise",
    "detectable_difference",
    "detection_agreement",
    "displacement",
    "distinct_n",
    "distinct_texts",
    "edit_score",
    "equal_error_rate",
    "expected_calibration_error",
    "expected_measures",
    "f1_score",
    "fisher_exact",
    "fleiss_kappa",
    "frame_accuracy",
    "hd_d",
    "holm",
    "interchangeable_pair_alpha",
    "is_exact_match",
    "is_valid_order",
    "judge_accuracy",
    "judge_correlation",
    "kendall_tau",
    "kendall_tau_a",
    "key_step_f1",
    "key_step_iou",
    "key_step_precision",
    "key_step_recall",
    "krippendorff_alpha",
    "letter_balance",
    "localization_scores",
    "longest_common_subsequence",
    "longest_common_substring",
    "macro_average_precision",
    "macro_kind_roc_auc",
    "macro_roc_auc",
    "majority_vote",
    "mann_whitney",
    "match_segments",
    "maximum_calibration_error",
    "mcnemar",
    "mcnemar_detectable",
    "mean_pairwise_cosine",
    "mean_score",
    "mean_segment_iou",
    "mean_tokens",
    "mean_words",
    "measure_arrays",
    "measure_order",
    "measure_orders",
    "measure_partial_orders",
    "micro_position_accuracy",
    "moving_average_ttr",
    "ndcgs_at_k",
    "near_duplicates",
    "nearest_cosines",
    "negative_log_likelihood",
    "normalised_displacement",
    "normalised_subsequence",
    "normalised_substring",
    "option_tells",
    "order_by_scores",
    "order_set_jaccard",
    "order_to_ranks",
    "over_segmentation_ratio",
    "pair_set_jaccard",
    "paired_cosines",
    "parse_letter",
    "partial_order_from_references",
    "perfect_match_ratio",
    "permutation_test",
    "planned_items",
    "position_accuracy",
    "precedence_f1",
    "precision",
    "prediction_powered_mean",
    "prevalence",
    "rank_concurrence",
    "rank_gold",
    "ranking_average_precisions",
    "ranking_part_recalls_at_k",
    "ranking_precisions_at_k",
    "ranking_recall_at_k",
    "ranking_recalls_at_k",
    "ranks_to_order",
    "raw_agreement",
    "recall",
    "recall_spread",
    "reciprocal_ranks",
    "reliability_bins",
    "repair_order",
    "require_comparable",
    "require_comparable_scores",
    "roc_auc",
    "rouge_1_overlap",
    "rouge_l_overlap",
    "score_orders",
    "segment_boundary_errors",
    "segment_mean_average_precisions",
    "segment_micro_recalls_at_kx",
    "segment_recalls_at_kx",
    "segmental_f1",
    "sign_flip_test",
    "specific_agreement",
    "style_overlap",
    "suppress_segments",
    "temporal_ious",
    "token_overlap",
    "type_token_ratio",
    "violated_constraints",
    "violated_share",
    "vocabulary_share",
    "wilson_interval",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"proctor.metrics.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_PLACES)
