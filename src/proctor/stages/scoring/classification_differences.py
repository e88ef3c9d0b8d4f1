"""Two parts of the predictions on the same samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from proctor.metrics import classification as metrics
from proctor.metrics.table import ScoreRow
from proctor.metrics.thresholds import above_threshold
from proctor.stages.scoring.classification_rows import score_row
from proctor.stages.scoring.classification_rules import LEVEL_NAMES, Rule, Settings, rescaled
from proctor.stages.scoring.recognition import Level, Samples

__all__ = ["DIFFERENCE", "calls_of", "difference_rows"]


DIFFERENCE: Final = "difference: "
_MOST_PAIRS: Final = 15


def difference_rows(
    parts: Mapping[str, Mapping[Level, Samples]], rules: Mapping[str, Rule | None], settings: Settings
) -> Iterator[ScoreRow]:
    """Compare predictions that were divided, on the steps that all of them have; every pair, if they are few."""
    steps = {part: levels["step"] for part, levels in parts.items()}
    whole = {part: samples for part, samples in steps.items() if not samples.failed + samples.skipped}
    pairs = list(combinations(whole, 2))
    if len(pairs) > _MOST_PAIRS:
        pairs = [(next(iter(whole)), part) for part in list(whole)[1:]]
    for a, b in pairs:
        first, second = rescaled(whole[a], settings), rescaled(whole[b], settings)
        options = settings.options(first)
        line = f"{DIFFERENCE}{b} − {a}"
        calls = [calls_of(samples, _rule_of(part, rules)) for part, samples in ((a, first), (b, second))]
        if calls[0] is not None and calls[1] is not None:
            for name in ("accuracy", "f1_score"):
                score = metrics.paired_difference(name, first.labels, calls[0], calls[1], **options)
                yield score_row(line, name, score, first)
        if first.scores is not None and second.scores is not None:
            for name in ("roc_auc", "average_precision"):
                score = metrics.paired_difference(name, first.labels, first.scores, second.scores, **options)
                yield score_row(line, name, score, first)


def _rule_of(part: str, rules: Mapping[str, Rule | None]) -> Rule | None:
    """Return the rule of the steps of a part of the predictions."""
    return rules[part] if part in rules else rules[f"{LEVEL_NAMES['step']}, {part}"]


def calls_of(samples: Samples, rule: Rule | None) -> NDArray[np.bool_] | None:
    """Decisions of a part: those given, or the scores above its threshold."""
    if rule is None or samples.scores is None:
        return samples.calls
    return above_threshold(samples.scores, rule.threshold)
