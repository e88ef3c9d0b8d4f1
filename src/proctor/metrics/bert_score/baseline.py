"""Rescaling by the values of unrelated sentences."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path

from proctor.metrics.bert_score.matching import Match
from proctor.metrics.errors import MetricInputError

__all__ = ["Baseline", "read_baseline", "rescale"]


@dataclass(frozen=True, slots=True)
class Baseline:
    """Values of unrelated sentences, which rescaling moves to 0 (1 stays 1); one for each of the three values."""

    precision: float
    recall: float
    f1: float


def rescale(match: Match, baseline: Baseline) -> Match:
    """Move each value so that its baseline becomes 0 and 1 stays 1; F1 by its own baseline, as published."""
    return Match(
        (match.precision - baseline.precision) / (1 - baseline.precision),
        (match.recall - baseline.recall) / (1 - baseline.recall),
        (match.f1 - baseline.f1) / (1 - baseline.f1),
    )


def read_baseline(path: Path, layer: int) -> Baseline:
    """Read the baseline of a layer from a file as published: a heading ``LAYER,P,R,F``, one line a layer.

    Raises:
        MetricInputError: if the file cannot be read, has another form, or lacks the layer.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(file)]
        found = next((row for row in rows if row["LAYER"] == layer), None)
        values = None if found is None else [found[key] for key in ("P", "R", "F")]
    except (OSError, KeyError, TypeError, ValueError, AttributeError, csv.Error) as error:
        raise MetricInputError(
            f"the baseline {path} cannot be read ({type(error).__name__}: {error})",
            "a table with the columns LAYER,P,R,F is wanted",
        ) from None
    if values is None:
        raise MetricInputError(f"the baseline {path} has no layer {layer}, only {len(rows)} others")
    if not all(math.isfinite(v) and v < 1 for v in values):
        raise MetricInputError(f"the baseline {path} must be below 1 at layer {layer}, got {values}")
    return Baseline(*values)
