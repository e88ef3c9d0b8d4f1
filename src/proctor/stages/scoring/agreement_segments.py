"""Agreement on segments in time, by recording, pair and step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from proctor.metrics.figure import Bars, Figure
from proctor.metrics.segment_agreement import (
    StepComparison,
    boundary_error,
    compare_segments,
    detection_agreement,
    mean_segment_iou,
    segment_counts,
)
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.stages.scoring.agreement_figures import agreement_plot, heat_map
from proctor.stages.scoring.agreement_files import Segments
from proctor.stages.scoring.agreement_rows import MANY_PAIRS, Resampling, name_of_pair, slice_note

__all__ = ["score_segments"]

_FEW_STEPS: Final = 30


def score_segments(read: Segments, thresholds: Sequence[float], drawn: Resampling) -> ScoreTable:
    """Score segments: all, by slice, by pair and by step."""
    comparisons = compare_segments(read.said)
    rows = [
        row
        for name, recordings in read.slices.items()
        for row in _segment_rows(
            [c for c in comparisons if c.recording in recordings], name, thresholds, drawn
        )
    ]
    names = sorted({(c.a, c.b) for c in comparisons})
    of_pair = {pair: [c for c in comparisons if (c.a, c.b) == pair] for pair in names}
    if 1 < len(names) <= MANY_PAIRS:
        for (a, b), found in of_pair.items():
            rows += _segment_rows(found, name_of_pair(a, b), thresholds, drawn)
    steps = sorted({c.step for c in comparisons})
    if 1 < len(steps) <= _FEW_STEPS:
        for step in steps:
            rows += _segment_rows(
                [c for c in comparisons if c.step == step], f"step {step}", thresholds, drawn
            )
    annotators = sorted({who for by in read.said.values() for who in by})
    figures: list[Figure] = []
    if of_pair:
        values = {pair: mean_segment_iou(found, resamples=0).value for pair, found in of_pair.items()}
        figures.append(heat_map("Mean IoU per step of every two annotators", annotators, values))
    if len(steps) > 1:
        figures.append(_step_bars(comparisons, steps))
    shares = [r for r in rows if r.slice in read.slices and not r.metric.endswith(" s")]
    figures.append(agreement_plot("Agreement of segments", shares))
    alone = sum(len(by) < 2 for by in read.said.values())
    notes = [
        "no chance level: what unrelated segments share hangs on where annotators could have marked anything",
        "an annotator who marked nothing in a recording has no row there, and is not compared on it",
    ]
    return ScoreTable(
        family="agreement", rows=tuple(rows), headline={"mean_segment_iou": rows[0].score.value},
        counts={
            "rows": read.rows, "recordings": len(read.said), "annotators": len(annotators),
            "recordings with one annotator": alone, **segment_counts(comparisons),
        },
        notes=(*notes, *slice_note(read.slices)), figures=tuple(figures),
    )  # fmt: skip


def _step_bars(comparisons: Sequence[StepComparison], steps: Sequence[str]) -> Bars:
    """Mean IoU of each step, the lowest first; of many steps those on which annotators agree least."""
    found = [
        (mean_segment_iou([c for c in comparisons if c.step == step], resamples=0), step) for step in steps
    ]
    lowest = sorted(found, key=lambda pair: (pair[0].value, pair[1]))[:_FEW_STEPS]
    return Bars(
        title="Mean IoU by step"
        + (f", the {_FEW_STEPS} lowest of {len(steps)}" if len(steps) > _FEW_STEPS else ""),
        labels=tuple(step for _, step in lowest),
        values=tuple(score.value for score, _ in lowest),
        counts=tuple(score.n for score, _ in lowest),
        high=1.0,
    )


def _segment_rows(
    comparisons: Sequence[StepComparison], name: str, thresholds: Sequence[float], drawn: Resampling
) -> list[ScoreRow]:
    options = drawn.options()
    rows = [
        ScoreRow("IoU", mean_segment_iou(comparisons, **options), name),
        ScoreRow("IoU where both", mean_segment_iou(comparisons, missing="skip", **options), name),
    ]
    for side in ("start", "end"):
        for quantile, label in ((0.5, "median"), (0.9, "p90")):
            error = boundary_error(comparisons, quantile, boundary=side, **options)
            rows.append(ScoreRow(f"{side} {label} s", error, name, digits=2))
    rows += [
        ScoreRow(f"F1@{threshold:g}", detection_agreement(comparisons, threshold, **options), name)
        for threshold in thresholds
    ]
    return rows
