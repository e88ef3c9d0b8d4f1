"""Mistakes recognised: accuracy, precision, recall, F1, ROC-AUC, PR-AUC and EER, with intervals over recordings.

Conventions: the positive class is the *mistake*. ``reference`` and ``predicted`` are 1 or True for a mistake;
``scores`` are higher for more suspicious items, and need not be probabilities. All values are between 0 and 1.
Ties in the scores are one point of every curve. What has no value (no mistake in the reference, one class only)
is ``nan`` with a note; the only silent-looking zero is the published one, precision when nothing was called a
mistake, and it carries a note too. Intervals need ``clusters``: whole recordings are drawn, because the steps
of one recording are not independent; without clusters there is no interval.

Source: Peddi et al. 2024 (CaptainCook4D). Errata of the released code: its PR-AUC is fed with hard labels, which makes
it a function of one precision-recall pair (feed scores); its scores are rescaled over the whole test set and cut
at a constant found there (``proctor.metrics.thresholds`` has both that and the right way).
"""

from __future__ import annotations

from proctor.metrics.classification.chance import CHANCE, Chance, chance_scores
from proctor.metrics.classification.comparison import paired_difference
from proctor.metrics.classification.curves import average_precision, equal_error_rate, macro_roc_auc, roc_auc
from proctor.metrics.classification.decisions import (
    Outcomes,
    accuracy,
    count_outcomes,
    f1_score,
    precision,
    recall,
)
from proctor.metrics.classification.entries import METRICS
from proctor.metrics.classification.kinds import macro_average_precision, macro_kind_roc_auc
from proctor.metrics.classification.scoring import Options

__all__ = [
    "CHANCE",
    "METRICS",
    "Chance",
    "Options",
    "Outcomes",
    "accuracy",
    "average_precision",
    "chance_scores",
    "count_outcomes",
    "equal_error_rate",
    "f1_score",
    "macro_average_precision",
    "macro_kind_roc_auc",
    "macro_roc_auc",
    "paired_difference",
    "precision",
    "recall",
    "roc_auc",
]
