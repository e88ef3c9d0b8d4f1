"""The metrics of this family, for the catalogue."""

from __future__ import annotations

from typing import Final

from proctor.metrics.metric import Metric

__all__ = ["METRICS"]


_BOOTSTRAP: Final = "cluster:given|interval:percentile-95|"

METRICS: Final[tuple[Metric, ...]] = (
    Metric(
        name="raw_agreement",
        label="raw",
        family="agreement",
        function="agreement:raw_agreement",
        signature="raw_agreement|interval:wilson-95",
        range="0 to 1",
        direction="higher",
        definition="Share of items to which two annotators gave the same label; for many annotators over all pairs "
        "of labels of a unit, or as the mean of the pairs of annotators.",
        citation="ProMQA (the published 0.87 is the mean of ten pairs, 0.868; pooled it is 0.869)",
        traps="Ignores chance: 0.948 on the published questions goes with an alpha of -0.03. Wilson's interval takes "
        "items for independent.",
    ),
    Metric(
        name="specific_agreement",
        label="specific",
        family="agreement",
        function="agreement:specific_agreement",
        signature=f"specific_agreement|{_BOOTSTRAP}label:yes|resamples:2000|seed:0",
        range="0 to 1",
        direction="higher",
        definition="2 n_ll / (n_l. + n_.l): how often the other says l when one does; positive and negative "
        "specific agreement when the labels are yes and no.",
        citation="Cicchetti and Feinstein 1990",
        traps="The agreement on the frequent label is nearly always high: read the rare one.",
    ),
    Metric(
        name="prevalence",
        label="prevalence",
        family="agreement",
        function="agreement:prevalence",
        signature=f"prevalence|{_BOOTSTRAP}label:yes|resamples:2000|seed:0",
        range="0 to 1",
        direction="neither",
        definition="Share of a label among all labels of the pairs.",
        citation="Feinstein and Cicchetti 1990",
        traps="Near 0 or 1, kappa and alpha collapse although annotators agree.",
    ),
    Metric(
        name="cohen_kappa",
        label="κ",
        family="agreement",
        function="agreement:cohen_kappa",
        signature=f"cohen_kappa|{_BOOTSTRAP}resamples:2000|seed:0|weights:none",
        range="-1 to 1",
        direction="higher",
        definition="(p_o - p_e) / (1 - p_e) with chance from each annotator's own use of the labels; weighted: "
        "1 - sum(d observed) / sum(d expected) with d the distance of two labels or its square.",
        citation="Cohen 1960, 1968",
        traps="Undefined, not 1, when both use one label only (scikit-learn returns nan). scikit-learn weights by "
        "the rank among labels that occur; here numbers keep their gaps. Pooled over pairs of annotators it depends a "
        "little on who is called first.",
    ),
    Metric(
        name="fleiss_kappa",
        label="Fleiss κ",
        family="agreement",
        function="agreement:fleiss_kappa",
        signature=f"fleiss_kappa|{_BOOTSTRAP}resamples:2000|seed:0",
        range="-1/(m-1) to 1 for m labels a unit",
        direction="higher",
        definition="(mean P_u - P_e) / (1 - P_e) with P_u the share of agreeing pairs of labels of a unit and P_e "
        "the sum of squared shares of the labels.",
        citation="Fleiss 1971",
        traps="With two annotators it is Scott's pi, not Cohen's kappa. Needs the same number of labels for every "
        "unit; with missing ones use Krippendorff's alpha.",
    ),
)
