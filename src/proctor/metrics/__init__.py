"""Every number of the field: pure functions on plain values and arrays, each with a signature and an interval.

``docs/metrics.md`` has the table of all of them. Names are looked up when they are used, so that importing the package
costs little and loads neither SciPy nor the families that are not needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from proctor.metrics.accumulate import Accumulator
    from proctor.metrics.agreement import (
        cohen_kappa,
        fleiss_kappa,
        prevalence,
        raw_agreement,
        specific_agreement,
    )
    from proctor.metrics.answer import (
        is_exact_match,
        mean_score,
        rouge_1_overlap,
        rouge_l_overlap,
        style_overlap,
        token_overlap,
    )
    from proctor.metrics.bootstrap import bootstrap_interval, bootstrap_mean_intervals, cluster_sums
    from proctor.metrics.calibration import (
        brier_score,
        calibrated_ece,
        calibration_test,
        expected_calibration_error,
        maximum_calibration_error,
        negative_log_likelihood,
        reliability_bins,
    )
    from proctor.metrics.choice.marks import (
        blind_pass_probability,
        choice_accuracy,
        choice_counts,
        letter_balance,
        option_tells,
        recall_spread,
    )
    from proctor.metrics.choice.reading import parse_letter
    from proctor.metrics.classification import (
        accuracy,
        average_precision,
        between_roc_auc,
        choose_threshold,
        equal_error_rate,
        f1_score,
        macro_average_precision,
        macro_kind_roc_auc,
        macro_roc_auc,
        precision,
        recall,
        roc_auc,
        within_roc_auc,
    )
    from proctor.metrics.clustering import key_step_f1, key_step_iou, key_step_precision, key_step_recall
    from proctor.metrics.concurrence import rank_concurrence
    from proctor.metrics.embedding import (
        mean_pairwise_cosine,
        near_duplicates,
        nearest_cosines,
        paired_cosines,
    )
    from proctor.metrics.errors import MetricInputError
    from proctor.metrics.hypothesis_tests import (
        benjamini_hochberg,
        chi_square,
        fisher_exact,
        holm,
        mann_whitney,
        mcnemar,
        permutation_test,
        sign_flip_test,
    )
    from proctor.metrics.interval import Interval, wilson_interval
    from proctor.metrics.judge_error import (
        corrected_share,
        judge_accuracy,
        judge_correlation,
        prediction_powered_mean,
    )
    from proctor.metrics.krippendorff import krippendorff_alpha
    from proctor.metrics.localization import (
        LocalizationScores,
        Segments,
        apply_protocol,
        localization_scores,
        match_segments,
        segment_micro_recalls_at_kx,
        segment_recalls_at_kx,
    )
    from proctor.metrics.localization import (
        segment_mean_average_precisions as segment_mean_average_precisions,
    )
    from proctor.metrics.order_agreement import (
        alternative_order_agreement,
        interchangeable_pair_alpha,
        majority_vote,
        order_set_jaccard,
        pair_set_jaccard,
    )
    from proctor.metrics.ordering import (
        PartialOrder,
        best_of_references,
        comparable_tau,
        compare_orders,
        decode_pairwise,
        displacement,
        expected_measures,
        is_valid_order,
        kendall_tau,
        kendall_tau_a,
        longest_common_subsequence,
        longest_common_substring,
        measure_arrays,
        measure_order,
        measure_orders,
        measure_partial_orders,
        micro_position_accuracy,
        normalised_displacement,
        normalised_subsequence,
        normalised_substring,
        order_by_scores,
        order_to_ranks,
        partial_order_from_references,
        perfect_match_ratio,
        position_accuracy,
        precedence_f1,
        ranks_to_order,
        repair_order,
        score_orders,
        violated_constraints,
        violated_share,
    )
    from proctor.metrics.power import detectable_difference, mcnemar_detectable, planned_items
    from proctor.metrics.printed_counts import consistent_counts
    from proctor.metrics.retrieval import (
        attainable_cells,
        ndcgs_at_k,
        rank_gold,
        ranking_average_precisions,
        ranking_part_recalls_at_k,
        ranking_precisions_at_k,
        ranking_recall_at_k,
        ranking_recalls_at_k,
        reciprocal_ranks,
    )
    from proctor.metrics.score import Score, Signature, require_comparable, require_comparable_scores
    from proctor.metrics.segment_agreement import boundary_error, detection_agreement, mean_segment_iou
    from proctor.metrics.segmentation import (
        edit_score,
        frame_accuracy,
        over_segmentation_ratio,
        segment_boundary_errors,
        segmental_f1,
    )
    from proctor.metrics.significance import compare_all_pairs, compare_paired
    from proctor.metrics.soft_nms import suppress_segments
    from proctor.metrics.table import ScoreTable
    from proctor.metrics.temporal import temporal_ious
    from proctor.metrics.text_statistics import (
        distinct_n,
        distinct_texts,
        hd_d,
        mean_tokens,
        mean_words,
        moving_average_ttr,
        type_token_ratio,
        vocabulary_share,
    )

_NAMES: Final = {
    "accumulate": "Accumulator",
    "agreement": "cohen_kappa fleiss_kappa prevalence raw_agreement specific_agreement",
    "answer": "is_exact_match mean_score rouge_1_overlap rouge_l_overlap style_overlap token_overlap",
    "bootstrap": "bootstrap_mean_intervals bootstrap_interval cluster_sums",
    "calibration": "reliability_bins brier_score calibrated_ece calibration_test expected_calibration_error "
    "maximum_calibration_error negative_log_likelihood",
    "choice.marks": "blind_pass_probability choice_accuracy choice_counts letter_balance option_tells recall_spread",
    "choice.reading": "parse_letter",
    "classification": "accuracy average_precision between_roc_auc choose_threshold equal_error_rate f1_score "
    "macro_average_precision macro_kind_roc_auc macro_roc_auc precision recall roc_auc within_roc_auc",
    "clustering": "key_step_f1 key_step_iou key_step_precision key_step_recall",
    "concurrence": "rank_concurrence",
    "embedding": "mean_pairwise_cosine near_duplicates nearest_cosines paired_cosines",
    "errors": "MetricInputError",
    "hypothesis_tests": "benjamini_hochberg chi_square fisher_exact holm mann_whitney mcnemar permutation_test "
    "sign_flip_test",
    "interval": "Interval wilson_interval",
    "judge_error": "judge_correlation judge_accuracy corrected_share prediction_powered_mean",
    "krippendorff": "krippendorff_alpha",
    "localization": "LocalizationScores Segments apply_protocol localization_scores match_segments "
    "segment_mean_average_precisions segment_micro_recalls_at_kx segment_recalls_at_kx",
    "order_agreement": "alternative_order_agreement interchangeable_pair_alpha majority_vote order_set_jaccard "
    "pair_set_jaccard",
    "ordering": "expected_measures measure_partial_orders score_orders ranks_to_order order_to_ranks "
    "order_by_scores decode_pairwise compare_orders PartialOrder best_of_references comparable_tau "
    "displacement is_valid_order kendall_tau kendall_tau_a longest_common_subsequence "
    "longest_common_substring measure_arrays measure_order measure_orders micro_position_accuracy "
    "normalised_displacement normalised_subsequence normalised_substring partial_order_from_references "
    "perfect_match_ratio position_accuracy precedence_f1 repair_order violated_constraints "
    "violated_share",
    "power": "planned_items detectable_difference mcnemar_detectable",
    "printed_counts": "consistent_counts",
    "retrieval": "attainable_cells ranking_average_precisions ndcgs_at_k ranking_part_recalls_at_k "
    "ranking_precisions_at_k rank_gold ranking_recall_at_k ranking_recalls_at_k reciprocal_ranks",
    "score": "Score Signature require_comparable require_comparable_scores",
    "segment_agreement": "boundary_error detection_agreement mean_segment_iou",
    "segmentation": "segment_boundary_errors edit_score frame_accuracy over_segmentation_ratio segmental_f1",
    "significance": "compare_all_pairs compare_paired",
    "soft_nms": "suppress_segments",
    "table": "ScoreTable",
    "temporal": "temporal_ious",
    "text_statistics": "distinct_n distinct_texts hd_d mean_tokens mean_words moving_average_ttr type_token_ratio "
    "vocabulary_share",
}
_PLACES: Final = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "Accumulator",
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
    "between_roc_auc",
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
    "within_roc_auc",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"proctor.metrics.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_PLACES)
