"""Steps found in time: mAP at tIoU and recall at k×, as CaptainCook4D and ActivityNet measure them.

Two lines are enough: make ``Segments.of`` both sides, call ``localization_scores``. ``apply_protocol`` decides
before that which videos and labels are compared. All values are shares from 0 to 1.
"""

from __future__ import annotations

from typing import Final

from proctor.metrics.catalogue import Entries
from proctor.metrics.localization.matching import MULTIPLES, TIOU, Matches, match_segments
from proctor.metrics.localization.protocol import PREDICTED, PROTOCOLS, Prepared, Protocol, apply_protocol
from proctor.metrics.localization.scores import (
    LocalizationScores,
    localization_scores,
    macro_mean,
    score_intervals,
    segment_average_precisions,
    segment_mean_average_precisions,
    segment_micro_recalls_at_kx,
    segment_recalls_at_kx,
    weighted_scores,
)
from proctor.metrics.localization.segments import Segments

__all__ = [
    "METRICS",
    "MULTIPLES",
    "PREDICTED",
    "PROTOCOLS",
    "TIOU",
    "LocalizationScores",
    "Matches",
    "Prepared",
    "Protocol",
    "Segments",
    "apply_protocol",
    "localization_scores",
    "macro_mean",
    "match_segments",
    "score_intervals",
    "segment_average_precisions",
    "segment_mean_average_precisions",
    "segment_micro_recalls_at_kx",
    "segment_recalls_at_kx",
    "weighted_scores",
]

_MATCHING = (
    "predictions of a class by falling score; each takes the unmatched segment of its video and class with the "
    "highest tIoU of at least θ"
)
_CAPTAINCOOK = "Peddi et al. 2024 (CaptainCook4D), multi-step localization, Tables 4, 5 and 12"

_entry: Final = Entries("localization", "localization")

METRICS: Final = (
    _entry(
        "mean_average_precision",
        "mAP",
        "Mean over the classes of the ground truth of AP = Σ Δrecall · max precision at this or a later recall; "
        f"{_MATCHING}.",
        function="segment_mean_average_precisions",
        signature="average:macro|failed:not-found|matching:greedy|protocol:corrected|tiou:0.5|videos:reference",
        citation=f"Caba Heilbron et al. 2015 (ActivityNet); {_CAPTAINCOOK}",
        traps="The released CaptainCook4D figures for normal or error videos keep the ground truth of all test videos "
        "(mAP@0.1 13.61 where the 19 predicted videos give 43.87), so Table 5 halves Table 4 instead of "
        "measuring robustness; predicted labels outside the ground truth collide with renumbered classes "
        "(−0.2). Heads of Table 12 are wrong: its columns are R@1, R@5, mAP at different tIoU. No row "
        "corresponds to the released model_outputs pair (another corpus).",
    ),
    _entry(
        "average_map",
        "average mAP",
        "Mean of mAP over the tIoU thresholds.",
        function="localization_scores",
        signature="average:macro|failed:not-found|matching:greedy|protocol:corrected|tiou:0.1,0.2,0.3,0.4,0.5|videos:reference",
        citation="Caba Heilbron et al. 2015 (ActivityNet, 0.5:0.05:0.95); THUMOS'14 (0.3:0.1:0.7)",
        traps="Only comparable over the same thresholds: 0.1:0.1:0.5 is far easier than 0.5:0.05:0.95.",
    ),
    _entry(
        "recall_at_kx",
        "R@kx",
        "Share of a class's segments that one of the k·n best-scored predictions of their video and class "
        "overlaps with tIoU ≥ θ, n being the segments of that class in that video; mean over classes.",
        function="segment_recalls_at_kx",
        signature="average:macro|failed:not-found|k:1|protocol:corrected|tiou:0.5|videos:reference",
        citation=f"Zhang, Wu and Li 2022 (ActionFormer, evaluation code); {_CAPTAINCOOK}",
        traps="One prediction may recall several segments: nothing is taken. It knows n, so it is no recall at a "
        "threshold. In Table 5 the recalls of normal and error videos add up to Table 4 (47.91 + 19.60 = "
        "67.51 for Omnivore): the denominator was not split.",
    ),
    _entry(
        "micro_recall_at_kx",
        "micro R@kx",
        "As R@kx, but over all segments alike; also of a slice of them, such as steps with a mistake.",
        function="segment_micro_recalls_at_kx",
        signature="average:micro|failed:not-found|k:1|protocol:corrected|tiou:0.5|videos:reference",
        citation="CaptainCook4D reports the macro mean only; per-slice recall is our addition",
        traps="Frequent classes dominate. A slice changes which segments count, not how many predictions are kept.",
    ),
)
"""The public metrics of this family."""
