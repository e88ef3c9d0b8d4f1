"""Do annotators say the same? Raw and specific agreement, prevalence, Cohen's and Fleiss' kappa.

Conventions: the label sequences of two annotators are parallel; items that either left out are dropped by the
caller or, in ``agreement_by_pair``, by item id. Labels are texts or numbers, the same kind throughout; a missing
label is not a label. Raw agreement ignores that annotators agree by chance; kappa corrects for it, but falls when
one label dominates (Feinstein and Cicchetti 1990), down to nothing when hardly any other label occurs: read raw
agreement, specific agreement, prevalence and kappa together. The published verification has raw agreement 0.869
and kappa 0.64 on the same judgements (ProMQA), and on its questions raw 0.948 with an alpha of -0.03, because
only accepted questions are in the file: never measure agreement on what passed only.

Intervals: Wilson's for raw agreement of independent items; else percentile bootstrap over clusters (recordings),
which draws every item alone when no clusters are given. Resamples in which the value is undefined are left out, and
the note tells their share. The order of the items changes nothing.

References: Cohen (1960, 1968); Fleiss (1971); Cicchetti and Feinstein (1990) for specific agreement.
"""

from __future__ import annotations

from proctor.metrics.agreement.chance import INDEPENDENT, chance_agreement, chance_specific_agreement
from proctor.metrics.agreement.entries import METRICS
from proctor.metrics.agreement.fleiss import fleiss_kappa
from proctor.metrics.agreement.kappa import KappaWeights, cohen_kappa
from proctor.metrics.agreement.labels import Label, rating_counts
from proctor.metrics.agreement.pairs import PairAgreement, agreement_by_pair, mean_pair_agreement
from proctor.metrics.agreement.resampling import (
    Resampled,
    interval_of_draws,
    require_resampling,
    resampled_interval,
)
from proctor.metrics.agreement.shares import prevalence, raw_agreement, specific_agreement

__all__ = [
    "INDEPENDENT",
    "METRICS",
    "KappaWeights",
    "Label",
    "PairAgreement",
    "Resampled",
    "agreement_by_pair",
    "chance_agreement",
    "chance_specific_agreement",
    "cohen_kappa",
    "fleiss_kappa",
    "interval_of_draws",
    "mean_pair_agreement",
    "prevalence",
    "rating_counts",
    "raw_agreement",
    "require_resampling",
    "resampled_interval",
    "specific_agreement",
]
