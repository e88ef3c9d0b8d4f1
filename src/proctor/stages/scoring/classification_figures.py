"""Pictures of mistakes recognised: confusion, reliability, values with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from proctor.metrics import classification as metrics
from proctor.metrics.calibration import reliability_bins
from proctor.metrics.figure import Figure, Matrix
from proctor.metrics.table import ScoreRow
from proctor.stages.scoring.classification_differences import DIFFERENCE, calls_of
from proctor.stages.scoring.classification_rows import probable
from proctor.stages.scoring.classification_rules import Rule, Settings
from proctor.stages.scoring.figures import interval_plot
from proctor.stages.scoring.recognition import Samples

__all__ = ["comparison_plots", "figures_of_part"]


def figures_of_part(
    line: str, samples: Samples, rule: Rule | None, rows: Sequence[ScoreRow], settings: Settings
) -> Iterator[Figure]:
    """Confusion and reliability of one part of the predictions."""
    calls = calls_of(samples, rule)
    if calls is None:
        return
    counts = metrics.count_outcomes(samples.labels, calls)
    yield Matrix(
        f"Decisions, {line}" + ("" if rule is None else f" (threshold {rule.threshold:.3g})"),
        ("normal", "mistake"),
        ("normal", "mistake"),
        (
            (counts.true_negatives, counts.false_positives),
            (counts.false_negatives, counts.true_positives),
        ),
        row_title="reference",
        column_title="predicted",
    )
    plotted = [row for row in rows if row.slice == line and row.metric in _PLOTTED]
    chance: dict[str, list[float]] = {row.metric: [] for row in plotted}
    for row in rows:
        if row.chance and row.slice.rpartition(": ")[0] == line and row.metric in chance:
            chance[row.metric].append(row.score.value)
    yield interval_plot(
        f"Scores and the best of the chance rows, {line}",
        ((row.metric, row.score) for row in plotted),
        chance=[_best(chance[row.metric]) for row in plotted],
    )
    yield from _reliability(line, samples, settings)


def _reliability(line: str, samples: Samples, settings: Settings) -> Iterator[Figure]:
    """Compare scores that can be probabilities with what came true; rescaled ones and votes are none."""
    if samples.scores is None or settings.protocol == "published" or not probable(samples):
        return
    if settings.aggregate == "vote" and samples.level == "step":
        return
    bins = reliability_bins(samples.labels, samples.scores, interval_confidence=settings.confidence)
    yield bins.as_figure(f"Score against share of mistakes, {line}")


_PLOTTED: Final = ("accuracy", "precision", "recall", "F1", "ROC-AUC", "PR-AUC")


def _best(values: Sequence[float]) -> float | None:
    return max((value for value in values if not math.isnan(value)), default=None)


def comparison_plots(rows: Sequence[ScoreRow]) -> Iterator[Figure]:
    """ROC-AUC of all lines beside each other, where there are several."""
    lines = [row for row in rows if row.metric == "ROC-AUC" and not row.chance]
    lines = [row for row in lines if not row.slice.startswith(DIFFERENCE)]
    if len(lines) > 1:
        yield interval_plot(
            "ROC-AUC by line", ((row.slice, row.score) for row in lines), chance=[0.5] * len(lines)
        )
