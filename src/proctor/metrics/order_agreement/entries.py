"""The metrics of this family, for the catalogue."""

from __future__ import annotations

from typing import Final

from proctor.metrics.metric import Metric

__all__ = ["METRICS"]


_BOOTSTRAP: Final = "interval:percentile-95|"
_REST: Final = "resamples:2000|seed:0"

METRICS: Final[tuple[Metric, ...]] = (
    Metric(
        name="order_agreement",
        label="order κ = τ",
        family="agreement",
        function="order_agreement:order_agreement",
        signature=f"order_agreement|cluster:item|{_BOOTSTRAP}{_REST}",
        range="-1 to 1",
        direction="higher",
        definition="Mean over instances of the mean over pairs of annotators of Cohen's kappa on one-hot vectors of "
        "ordered pairs of steps, which is Kendall's tau of the two orders.",
        citation="Wu et al. 2022",
        traps="Orders are sequences, not ranks. An instance with one annotator or one step is skipped, not 1.",
    ),
    Metric(
        name="alternative_order_agreement",
        label="alternatives (Alg. 1)",
        family="agreement",
        function="order_agreement:alternative_order_agreement",
        signature=f"alternative_order_agreement|cluster:item|{_BOOTSTRAP}matching:greedy|penalty:union|"
        f"pooling:pooled|{_REST}",
        range="-1 to 1",
        direction="higher",
        definition="Mean over instances of Algorithm 1: two series of orders are matched greedily by "
        "f = -2bc / (b² + c² + a(b + c)) on inverted pairs (1 if identical); what is left over scores against the "
        "authored order.",
        citation="Wu et al. 2022, Algorithm 1",
        traps="Erratum: the paper's worked example prints {0110} where its own vectors give {1100}: f is -1, not 0. "
        "f is 1 or at most 0, so the value is mostly the share of exact matches; greedy matching is not the best one; "
        "box (pooled) and prose (mean of pairs) of the paper differ.",
    ),
    Metric(
        name="order_set_jaccard",
        label="Jaccard of orders",
        family="agreement",
        function="order_agreement:order_set_jaccard",
        signature=f"order_set_jaccard|cluster:item|{_BOOTSTRAP}{_REST}",
        range="0 to 1",
        direction="higher",
        definition="Shared over all acceptable orders of two annotators, the authored one among them; mean over "
        "pairs of annotators, then instances.",
        citation="ours",
        traps="Never 0, because both accept the authored order.",
    ),
    Metric(
        name="pair_set_jaccard",
        label="Jaccard of pairs",
        family="agreement",
        function="order_agreement:pair_set_jaccard",
        signature=f"pair_set_jaccard|cluster:item|{_BOOTSTRAP}{_REST}",
        range="0 to 1",
        direction="higher",
        definition="Shared over all pairs of steps that two annotators' orders turn round against the authored "
        "order; both none is 1; mean over pairs of annotators, then instances.",
        citation="ours (Jaccard of difference sets)",
        traps="Not corrected for chance: where most pairs are fixed for everybody read the alpha beside it.",
    ),
    Metric(
        name="interchangeable_pair_alpha",
        label="α of pairs",
        family="agreement",
        function="order_agreement:interchangeable_pair_alpha",
        signature=f"interchangeable_pair_alpha|cluster:instance|{_BOOTSTRAP}level:nominal|{_REST}",
        range="below 0 to 1",
        direction="higher",
        definition="Krippendorff's alpha on every pair of steps, labelled fixed or interchangeable by each annotator.",
        citation="ours",
        traps="Undefined when nobody lists another order.",
    ),
)
