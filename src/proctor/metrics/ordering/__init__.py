"""Predicted orders of steps: six published measures, several references, partial orders, chance and comparison.

The modules: ``single`` (one sequence, or many of any length), ``permutation`` (arrays of many sequences, fast),
``references`` (several acceptable orders), ``partial`` (what must come before what), ``repair`` (orders that are not
whole), ``ties`` (scores), ``chance`` (what guessing gets), ``decoding`` (an order from pairwise probabilities),
``scores`` (means, intervals, comparison).

Conventions: reference first, prediction second. An order lists step ids as they are done; ``order_to_ranks`` and
``ranks_to_order`` convert rank vectors. A prediction holds the reference's steps, each once, or is refused with an
error that names what is missing, unknown or repeated; ``repair_order`` makes it whole. Means are macro means.

Source: Wu et al. 2022 (arXiv 2110.08486).
"""

from __future__ import annotations

import functools
from typing import Final

from proctor.metrics.catalogue import Entries
from proctor.metrics.ordering.decoding import (
    DecodingMethod,
    PairwiseDecoding,
    decode_pairwise,
    decode_pairwise_many,
)
from proctor.metrics.ordering.measures import (
    MEASURES,
    OrderMeasures,
    displacement,
    kendall_tau,
    kendall_tau_a,
    longest_common_subsequence,
    longest_common_substring,
    measure_arrays,
    measure_order,
    measure_orders,
    measure_ranks,
    micro_position_accuracy,
    normalised_displacement,
    normalised_subsequence,
    normalised_substring,
    order_by_scores,
    perfect_match_ratio,
    position_accuracy,
)
from proctor.metrics.ordering.orders import (
    RepairedOrder,
    order_to_ranks,
    ranks_to_order,
    repair_order,
    require_order,
    require_reordering,
    settle_alike,
    shuffle_targets,
)
from proctor.metrics.ordering.partial import (
    BestOfReferences,
    PartialMeasures,
    PartialOrder,
    ReferenceCounts,
    ReferenceMode,
    ReferenceSubset,
    best_of_references,
    comparable_tau,
    distinct_references,
    is_valid_order,
    measure_partial_order,
    measure_partial_orders,
    partial_order_from_references,
    precedence_f1,
    reference_counts,
    reference_table,
    violated_constraints,
    violated_share,
)
from proctor.metrics.ordering.scores import (
    ORDER_COLUMNS,
    PARTIAL_COLUMNS,
    Chance,
    chance_measures,
    chance_of_partial_order,
    chance_of_references,
    compare_orders,
    expected_measures,
    score_orders,
    score_partial_orders,
)

__all__ = [
    "MEASURES",
    "METRICS",
    "ORDER_COLUMNS",
    "PARTIAL_COLUMNS",
    "BestOfReferences",
    "Chance",
    "DecodingMethod",
    "OrderMeasures",
    "PairwiseDecoding",
    "PartialMeasures",
    "PartialOrder",
    "ReferenceCounts",
    "ReferenceMode",
    "ReferenceSubset",
    "RepairedOrder",
    "best_of_references",
    "chance_measures",
    "chance_of_partial_order",
    "chance_of_references",
    "comparable_tau",
    "compare_orders",
    "decode_pairwise",
    "decode_pairwise_many",
    "displacement",
    "distinct_references",
    "expected_measures",
    "is_valid_order",
    "kendall_tau",
    "kendall_tau_a",
    "longest_common_subsequence",
    "longest_common_substring",
    "measure_arrays",
    "measure_order",
    "measure_orders",
    "measure_partial_order",
    "measure_partial_orders",
    "measure_ranks",
    "micro_position_accuracy",
    "normalised_displacement",
    "normalised_subsequence",
    "normalised_substring",
    "order_by_scores",
    "order_to_ranks",
    "partial_order_from_references",
    "perfect_match_ratio",
    "position_accuracy",
    "precedence_f1",
    "ranks_to_order",
    "reference_counts",
    "reference_table",
    "repair_order",
    "require_order",
    "require_reordering",
    "score_orders",
    "score_partial_orders",
    "settle_alike",
    "shuffle_targets",
    "violated_constraints",
    "violated_share",
]

_WU: Final = "Wu et al. 2022"
_PARTIAL: Final = "ours"
_BOOTSTRAP: Final = "average:macro|cluster:sequence|interval:percentile-95|mode:strict|references:first|resamples:10000|seed:0"


_entry: Final = functools.partial(Entries("ordering", "ordering"), signature=_BOOTSTRAP, citation=_WU)

METRICS: Final = (
    _entry(
        "position_accuracy",
        "Acc",
        "Share of positions that hold the right step, averaged over sequences.",
        traps="Harsh to shifts: one step moved from the end to the front makes every position wrong. Chance is 1/N, "
        "so it depends on the lengths. The function returns a fraction.",
    ),
    _entry(
        "micro_position_accuracy",
        "Acc micro",
        "Right positions over all positions of all sequences together.",
        signature=_BOOTSTRAP.replace("macro", "micro"),
        citation="BERSON's evaluator",
        traps="Long sequences count more than in the published macro mean; the two are easily confused.",
    ),
    _entry(
        "perfect_match_ratio",
        "PMR",
        "Share of sequences whose whole order is right.",
        signature="average:macro|interval:wilson-95|mode:strict|references:first",
        traps="Chance is 1/N!. Golden sets of 100 to 300 give intervals of ±5 to ±10 points: compare systems paired "
        "(McNemar), not by overlapping intervals.",
    ),
    _entry(
        "longest_common_subsequence",
        "Lq",
        "Length of the longest list of steps that both orders hold in this order, gaps allowed.",
        range="1 to N steps",
        traps="A raw length that grows with N, not a ratio; chance is not 0 (2.79 for five steps). The released "
        "evaluator's recursion is exponential: 1.4 million calls at 12 steps.",
    ),
    _entry(
        "longest_common_substring",
        "Lr",
        "Length of the longest list of steps that both orders hold without a gap.",
        range="1 to N steps",
        traps="A raw length, not a ratio; chance is about 1.7 for any N from 3 on.",
    ),
    _entry(
        "kendall_tau",
        "tau",
        "1 - 2 · inversions / C(N, 2); 1.0 by convention for a single step.",
        range="-1 to 1",
        citation="Kendall 1938; Lapata 2006",
        traps="Orders have no ties; with scores that tie use kendall_tau_a. SciPy's default is tau-b.",
    ),
    _entry(
        "displacement",
        "Dist",
        "Sum over the steps of |predicted place - right place| (Spearman's footrule).",
        range="floor(N² / 2) to 0 steps",
        direction="lower",
        traps="Erratum: the paper's prose says average per step, its numbers are sums per sequence (chance for five "
        "steps is 8.0, its near-chance model has 7.87). The released evaluator overwrites the running sum when a "
        "step is missing.",
    ),
    _entry(
        "normalised_subsequence",
        "Lq/N",
        "Lq divided by the number of steps of its sequence, then averaged.",
        range="1/N to 1",
        citation="ours",
    ),
    _entry(
        "normalised_substring",
        "Lr/N",
        "Lr divided by the number of steps of its sequence, then averaged.",
        range="1/N to 1",
        citation="ours",
    ),
    _entry(
        "normalised_displacement",
        "Dist/max",
        "Dist divided by its largest value floor(N² / 2), then averaged; 0 for a single step.",
        range="1 to 0",
        direction="lower",
        citation="Diaconis and Graham 1977; scaled by us",
        traps="The largest value is reached by many orders, not only by the reversed one; chance tends to 2/3.",
    ),
    _entry(
        "best_of_references",
        "best reference",
        "With several acceptable orders one is chosen by the largest (Acc, PMR, Lr, Lq, tau), then the smallest "
        "Dist, then the earliest, and all measures are read from it (joint); or the best of each (independent).",
        range="as the measure",
        direction="neither",
        signature=_BOOTSTRAP.replace("references:first", "references:joint"),
        citation="Wu et al. 2022, tables 4 and 10",
        traps="Joint can lower Lq, tau or Dist below the authored order's. The release prefers the larger Dist on "
        "ties. More references raise chance, which is recomputed under the same rule. Two published cells are "
        "impossible: PMR 61.22 of 51 items, and a s.d. of 1.4.",
    ),
    _entry(
        "kendall_tau_a",
        "tau-a",
        "(concordant - discordant) / C(N, 2) of two weak orders: a tie counts as half right.",
        range="-1 to 1",
        citation="Kendall 1938",
        traps="Orders made from tied scores must break ties by presented slot, never by original id, which leaks "
        "the answer.",
    ),
    _entry(
        "valid_order",
        "valid",
        "Share of predicted orders that violate no precedence constraint: any such order is right.",
        function="is_valid_order",
        signature="average:macro|interval:wilson-95|mode:strict",
        citation=_PARTIAL,
        traps="Chance is linear extensions over N!, which is large for loose constraints: read it beside the result.",
    ),
    _entry(
        "violated_constraints",
        "violated",
        "Number of given constraints (before, after) that the predicted order turns round.",
        range="0 constraints is best",
        direction="lower",
        signature=_BOOTSTRAP.replace("|references:first", ""),
        citation=_PARTIAL,
        traps="Depends on which list is counted: the constraints as given, not their closure or reduction.",
    ),
    _entry(
        "violated_share",
        "violated share",
        "Violated constraints over given constraints; undefined without constraints.",
        range="1 to 0",
        direction="lower",
        signature=_BOOTSTRAP.replace("|references:first", ""),
        citation=_PARTIAL,
        traps="Chance is 1/2, not 0 or 1.",
    ),
    _entry(
        "precedence_f1",
        "precedence F1",
        "F1 of the predicted precedence pairs against the transitive closure of the constraints.",
        signature=_BOOTSTRAP.replace("|references:first", ""),
        citation="Sakaguchi et al. 2021 (proScript)",
        traps="A total order claims all C(N, 2) pairs, so that it cannot reach 1 unless the constraints are total; "
        "a predicted partial order can.",
    ),
    _entry(
        "comparable_tau",
        "tau comparable",
        "Kendall's tau over the pairs of steps that the constraints order.",
        range="-1 to 1",
        signature=_BOOTSTRAP.replace("|references:first", ""),
        citation=_PARTIAL,
        traps="Undefined (skipped, not 1) when no two steps are comparable.",
    ),
)
