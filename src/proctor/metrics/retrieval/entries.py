"""The metrics of this family, for the catalogue."""

from __future__ import annotations

from typing import Final

from proctor.metrics.metric import Metric

__all__ = ["METRICS"]


METRICS: Final = (
    Metric(
        name="recall_at_k",
        label="R@k",
        family="retrieval",
        function="retrieval:ranking_recalls_at_k",
        signature=(
            "recall_at_k|cluster:question|"
            "gold:fractional|interval:bca-95|k:5|missing:failed|repeated:first|slice:all"
        ),
        range="0 to 1",
        direction="higher",
        definition="|gold ∩ first k| / |gold|, mean over questions.",
        citation="Wu et al. 2024 (SMMQG), section 5; fractional reading recovered from its Tables 2 and 3",
        traps=(
            "With several gold sources recall has three readings (fractional, all, any); SMMQG does not say which, "
            "its printed cells need the fractional one, and some cannot come from its numbers of questions under any "
            "(attainable_denominators). Repeated ids in a ranking push others out of the first k "
            "unless they are removed. SMMQG's E5 rows are favoured: E5 chose the sources of the questions."
        ),
    ),
    Metric(
        name="all_gold_at_k",
        label="all@k",
        family="retrieval",
        function="retrieval:ranking_recalls_at_k",
        signature=(
            "all_gold_at_k|cluster:question|"
            "gold:all|interval:bca-95|k:10|missing:failed|repeated:first|slice:all"
        ),
        range="0 to 1",
        direction="higher",
        definition="Share of questions with every gold source among the first k.",
        citation="strict reading of recall@k; ours",
        traps="0 by construction for questions that need more than k sources.",
    ),
    Metric(
        name="hit_at_k",
        label="hit@k",
        family="retrieval",
        function="retrieval:ranking_recalls_at_k",
        signature=(
            "hit_at_k|cluster:question|gold:any|interval:bca-95|k:10|missing:failed|repeated:first|slice:all"
        ),
        range="0 to 1",
        direction="higher",
        definition="Share of questions with at least one gold source among the first k.",
        citation="success@k of trec_eval",
        traps="Overstates retrieval where every source is needed; grows with the number of gold sources.",
    ),
    Metric(
        name="part_recall_at_k",
        label="R@k of a modality",
        family="retrieval",
        function="retrieval:ranking_part_recalls_at_k",
        signature=(
            "part_recall_at_k|cluster:question|"
            "gold:fractional|interval:bca-95|k:5|missing:failed|part:table|repeated:first"
        ),
        range="0 to 1",
        direction="higher",
        definition=(
            "Share of a question's gold sources of one modality among the first k, mean over the questions that need "
            "that modality."
        ),
        citation="ours",
        traps="Parts of different modalities stand on different questions.",
    ),
    Metric(
        name="precision_at_k",
        label="P@k",
        family="retrieval",
        function="retrieval:ranking_precisions_at_k",
        signature=(
            "precision_at_k|cluster:question|interval:bca-95|k:10|missing:failed|repeated:first|slice:all"
        ),
        range="0 to 1",
        direction="higher",
        definition="|gold ∩ first k| / k, mean over questions.",
        citation="trec_eval",
        traps="With one or two gold sources it cannot exceed 1/k or 2/k; shorter rankings are still divided by k.",
    ),
    Metric(
        name="ndcg_at_k",
        label="nDCG@k",
        family="retrieval",
        function="retrieval:ndcgs_at_k",
        signature=(
            "ndcg_at_k|cluster:question|"
            "discount:log2|gain:linear|interval:bca-95|k:10|missing:failed|repeated:first|slice:all"
        ),
        range="0 to 1",
        direction="higher",
        definition=(
            "Σ gain / log2(rank + 1) over the first k, divided by that of the best ranking of all gold sources cut at "
            "k; mean over questions."
        ),
        citation="Järvelin and Kekäläinen 2002; Burges et al. 2005 for the exponential gain",
        traps="Linear and exponential gain differ as soon as relevance is graded; trec_eval is linear.",
    ),
    Metric(
        name="mean_reciprocal_rank",
        label="MRR",
        family="retrieval",
        function="retrieval:reciprocal_ranks",
        signature=(
            "mean_reciprocal_rank|cluster:question|interval:bca-95|missing:failed|repeated:first|slice:all"
        ),
        range="0 to 1",
        direction="higher",
        definition="1 / rank of the first gold source (0 if none was retrieved), mean over questions.",
        citation="Voorhees 1999 (TREC-8 question answering track)",
        traps="Looks at one gold source only; depends on how deep the rankings go.",
    ),
    Metric(
        name="ranking_mean_average_precision",
        label="MAP",
        family="retrieval",
        function="retrieval:ranking_average_precisions",
        signature=(
            "ranking_mean_average_precision|cluster:question|"
            "interval:bca-95|missing:failed|repeated:first|slice:all"
        ),
        range="0 to 1",
        direction="higher",
        definition=(
            "Sum of the precisions at the ranks of the gold sources found, divided by the number of all gold sources; "
            "mean over questions."
        ),
        citation="Buckley and Voorhees 2000; trec_eval",
        traps="Not the mAP of localization. Depends on how deep the rankings go.",
    ),
)
