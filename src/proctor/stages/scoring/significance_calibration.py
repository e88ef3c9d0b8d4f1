"""Confidences held against what came true, from a file: ECE, Brier score and the reliability diagram."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from proctor.metrics.bootstrap import Floats, bootstrap_mean_intervals
from proctor.metrics.calibration import (
    BinStrategy,
    brier_decomposition,
    brier_score,
    calibrated_ece,
    calibration_test,
    expected_calibration_error,
    maximum_calibration_error,
    negative_log_likelihood,
    reliability_bins,
)
from proctor.metrics.figure import Figure
from proctor.metrics.interval import Interval
from proctor.metrics.score import Score, Signature
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.stages.scoring.files import explained, read_table
from proctor.stages.scoring.significance_files import CLUSTER, SYSTEM, Drawing

__all__ = ["score_calibration"]

_USUAL: Final = 0.95
"""Pictures say the level of their intervals when it is another."""
_DRAWS: Final = 2_000
"""Draws of calibrated systems at most: each draws every item anew."""


def score_calibration(
    path: Path,
    *,
    bins: int = 10,
    binning: BinStrategy = "width",
    cluster: str | None = None,
    drawing: Drawing | None = None,
) -> ScoreTable:
    """Hold confidences against what came true, system by system.

    Args:
        path: a table with ``confidence`` (0 to 1), ``correct`` (yes/no) and perhaps ``system`` and clusters.
        bins: how many.
        binning: bins of equal ``width`` or ``mass``.
        cluster: column of clusters; found by its usual names when None.
        drawing: options of the intervals.

    Raises:
        UserError: if the file or an option is wrong.
    """
    drawing = drawing or Drawing()
    table = read_table(path)
    truth, stated = table.flags("correct").astype(np.float64), table.numbers("confidence")
    wrong = np.flatnonzero((stated < 0) | (stated > 1))
    if wrong.size:
        row = int(wrong[0])
        hint = "divide percentages by 100" if 1 < stated[row] <= 100 else "write a probability"
        raise table.wrong(row, "confidence", f"a confidence lies between 0 and 1, got {stated[row]:g}.", hint)
    system = table.find(*SYSTEM)
    names = np.array(table.texts(system) if system else ["all"] * len(table), dtype=object)
    column = table.require(cluster) if cluster is not None else table.find(*CLUSTER)
    clusters = table.texts(column) if column is not None else None
    rows: list[ScoreRow] = []
    figures: list[Figure] = []
    with explained(path):
        for name in dict.fromkeys(names.tolist()):
            here = np.flatnonzero(names == name)
            # The order of the rows must not matter, not even in the last digit of a sum.
            here = here[np.lexsort((stated[here], truth[here]))]
            if clusters is not None:
                here = np.array(sorted(here.tolist(), key=clusters.__getitem__), dtype=np.intp)
            groups = None if clusters is None else [clusters[i] for i in here]
            rows += _calibration_rows(name, truth[here], stated[here], groups, column, bins, binning, drawing)
            found = reliability_bins(
                truth[here], stated[here], bins=bins, strategy=binning, interval_confidence=drawing.confidence
            )
            title = "Reliability" if name == "all" and system is None else f"Reliability of {name}"
            if drawing.confidence != _USUAL:
                title += f" ({100 * drawing.confidence:g} % intervals)"
            figures.append(found.as_figure(title))
    notes = []
    if clusters is None and drawing.resamples:
        notes.append("there is no column of clusters, so items count as independent")
    notes.append(
        "ECE has no interval, because resampling biases it upwards: compare it with 'ECE if calibrated'"
    )
    counts = {"items": len(table), "systems": len(figures)}
    return ScoreTable(
        "significance",
        tuple(sorted(rows, key=lambda row: row.chance)),
        counts=counts,
        notes=tuple(notes),
        figures=tuple(figures),
    )


def _calibration_rows(
    name: str,
    truth: Floats,
    stated: Floats,
    clusters: Sequence[str] | None,
    column: str | None,
    bins: int,
    binning: BinStrategy,
    drawing: Drawing,
) -> list[ScoreRow]:
    n = int(truth.size)
    grouping = {"cluster": "item" if column is None else column.replace("|", "/")}
    groups = clusters if clusters is not None else [f"{i:012}" for i in range(n)]
    plain = [("accuracy", "accuracy", truth), ("confidence", "mean_confidence", stated)]
    brier = brier_score(truth, stated)
    values = np.stack([*(v for _, _, v in plain), (stated - truth) ** 2])
    intervals: Sequence[Interval] = [Interval(None, None, "none")] * 3
    if drawing.resamples:
        intervals = bootstrap_mean_intervals(values, groups, **drawing.arguments)
    scores = [Score(math.fsum(v) / n, drawing.signature(key, **grouping), n) for _, key, v in plain]
    scores.append(Score(brier.value, drawing.signature("brier_score", classes="1", **grouping), n))
    scores = [replace(s, low=i.low, high=i.high, note=i.note) for s, i in zip(scores, intervals, strict=True)]
    options: dict[str, Any] = {"bins": bins, "strategy": binning}
    draws: dict[str, Any] = {"resamples": min(_DRAWS, drawing.resamples or _DRAWS), "seed": drawing.seed}
    parts = brier_decomposition(truth, stated)
    chance = Score(parts.uncertainty, Signature("brier_score", {"classes": "1", "forecast": "base-rate"}), n)
    return [
        ScoreRow("accuracy", scores[0], name),
        ScoreRow("confidence", scores[1], name),
        ScoreRow("ECE", expected_calibration_error(truth, stated, **options), name),
        ScoreRow(
            "ECE if calibrated", calibrated_ece(stated, level=drawing.confidence, **options, **draws), name
        ),
        ScoreRow(
            "p (calibrated)", calibration_test(truth, stated, **options, **draws).as_score(), name, digits=4
        ),
        ScoreRow("MCE", maximum_calibration_error(truth, stated, **options), name),
        ScoreRow("Brier", scores[2], name),
        ScoreRow("NLL", negative_log_likelihood(truth, stated), name),
        ScoreRow("Brier", chance, f"{name}: always its base rate", chance=True),
    ]
