"""Calibration: is a system right as often as its confidence says?

Conventions: ``correct`` (what came true) is the reference and comes first, ``confidence`` is a probability from 0 to 1.
Bins are half-open ``[edge, next edge)``, the last one is closed, so that a confidence of 1.0 lies in the last bin; an edge of
equal-width bins is ``k / bins`` in floating point. Bins of equal mass have their edges at quantiles; equal confidences are
never torn apart, so that there may be fewer bins than asked for. Empty bins have no mean and no share and count nothing.

References: Naeini, Cooper and Hauskrecht (2015) and Guo et al. (2017) for ECE and MCE (their bins are open below and closed
above); Nixon et al. (2019) for bins of equal mass; Bröcker and
Smith (2007) for what a calibrated system would show; Brier (1950); Murphy (1973) for its decomposition; Wilson (1927) for the
intervals of the bins.
"""

from __future__ import annotations

from proctor.metrics.calibration.bins import BinStrategy, ReliabilityBins, reliability_bins
from proctor.metrics.calibration.entries import METRICS
from proctor.metrics.calibration.errors import (
    calibrated_ece,
    calibration_test,
    expected_calibration_error,
    maximum_calibration_error,
)
from proctor.metrics.calibration.rules import (
    BrierParts,
    brier_decomposition,
    brier_score,
    negative_log_likelihood,
)

__all__ = [
    "METRICS",
    "BinStrategy",
    "BrierParts",
    "ReliabilityBins",
    "brier_decomposition",
    "brier_score",
    "calibrated_ece",
    "calibration_test",
    "expected_calibration_error",
    "maximum_calibration_error",
    "negative_log_likelihood",
    "reliability_bins",
]
