"""The metrics of this family, for the catalogue."""

from __future__ import annotations

from typing import Final

from proctor.metrics.metric import Metric

__all__ = ["METRICS"]


_TAIL: Final = "|cluster:recording|interval:bca-95|level:step|positive:error|resamples:10000|seed:0"
_THRESHOLD: Final = "|threshold:validation-f1=0.41"

METRICS: Final[tuple[Metric, ...]] = (
    Metric(
        "accuracy",
        "accuracy",
        "classification",
        "classification:accuracy",
        f"accuracy{_TAIL}{_THRESHOLD}",
        "0 to 1",
        "higher",
        "Share of items whose label is right: (TP + TN) / n.",
        "Peddi et al. 2024 (CaptainCook4D)",
        "Calling everything normal gives 1 - prevalence (0.641 on the published test set R); most published rows "
        "are below that.",
    ),
    Metric(
        "precision",
        "precision",
        "classification",
        "classification:precision",
        f"precision{_TAIL}{_THRESHOLD}",
        "0 to 1",
        "higher",
        "Share of the items called a mistake that are one: TP / (TP + FP); 0 when nothing was called one.",
        "Peddi et al. 2024 (CaptainCook4D)",
        "The 0 for no call is a convention, and the score says so in its note.",
    ),
    Metric(
        "recall",
        "recall",
        "classification",
        "classification:recall",
        f"recall{_TAIL}{_THRESHOLD}",
        "0 to 1",
        "higher",
        "Share of the mistakes that were called one: TP / (TP + FN).",
        "Peddi et al. 2024 (CaptainCook4D)",
        "1 for always saying 'mistake'; means nothing without precision.",
    ),
    Metric(
        "f1_score",
        "F1",
        "classification",
        "classification:f1_score",
        f"f1_score{_TAIL}{_THRESHOLD}",
        "0 to 1",
        "higher",
        "Harmonic mean of precision and recall of the mistakes: 2 TP / (2 TP + FP + FN).",
        "Peddi et al. 2024 (CaptainCook4D)",
        "Always saying 'mistake' gives 2p / (1 + p): 0.528 on test set R, which 11 of 13 published rows do not "
        "reach. Depends on the threshold: choose it on validation only (the released code rescales over the test "
        "set and cuts at 0.6 or 0.4).",
    ),
    Metric(
        "roc_auc",
        "ROC-AUC",
        "classification",
        "classification:roc_auc",
        f"roc_auc{_TAIL}|ties:half",
        "0 to 1",
        "higher",
        "Chance that a mistake scores above a normal item, ties counting half.",
        "Mann and Whitney 1947; Peddi et al. 2024 (CaptainCook4D)",
        "Needs scores: on hard labels it is the mean of recall and specificity. Pooled over recordings it also "
        "rewards knowing which recordings are bad (see macro_roc_auc).",
    ),
    Metric(
        "average_precision",
        "PR-AUC",
        "classification",
        "classification:average_precision",
        f"average_precision{_TAIL}|ties:grouped",
        "0 to 1",
        "higher",
        "Sum over distinct scores of the gain in recall times the precision there.",
        "Davis and Goadrich 2006",
        "Chance is the prevalence, not 0.5. The released code feeds hard labels, so its PR-AUC has no meaning.",
    ),
    Metric(
        "equal_error_rate",
        "EER",
        "classification",
        "classification:equal_error_rate",
        f"equal_error_rate{_TAIL}|ties:half",
        "1 to 0",
        "lower",
        "False-positive rate where it equals the miss rate, on the linearly interpolated ROC curve.",
        "Peddi et al. 2024 (CaptainCook4D)",
        "Less is better; 0.5 for any constant score.",
    ),
    Metric(
        "macro_roc_auc",
        "ROC-AUC per recording",
        "classification",
        "classification:macro_roc_auc",
        f"macro_roc_auc{_TAIL}|over:recordings|ties:half",
        "0 to 1",
        "higher",
        "Mean over recordings of the ROC-AUC within each.",
        "Peddi et al. 2024 (CaptainCook4D)",
        "Recordings with one class have no AUC; they are left out and counted as skipped.",
    ),
    Metric(
        "macro_average_precision",
        "PR-AUC",
        "classification",
        "classification:macro_average_precision",
        f"macro_average_precision|kinds:5{_TAIL}|over:kinds",
        "0 to 1",
        "higher",
        "Mean over kinds of mistake of the average precision of each against everything else.",
        "ours",
        "A rare kind weighs as much as a frequent one, and its chance level (its prevalence) is far lower.",
    ),
    Metric(
        "macro_kind_roc_auc",
        "ROC-AUC",
        "classification",
        "classification:macro_kind_roc_auc",
        f"macro_kind_roc_auc|kinds:5{_TAIL}|over:kinds",
        "0 to 1",
        "higher",
        "Mean over kinds of mistake of the ROC-AUC of each against everything else.",
        "ours",
        "Mistakes of another kind count as negatives, as in the released code.",
    ),
)
