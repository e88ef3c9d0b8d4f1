"""What tests are given: numbers, yes-or-no marks, counts; and how much they may hold in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.metrics.bootstrap import Floats, require_sizes
from proctor.metrics.errors import MetricInputError

__all__ = ["CELLS", "finite_numbers", "require_resamples", "whole_count", "yes_no_marks"]

CELLS = 4_000_000
"""Numbers held in memory at a time (about 32 MB)."""


def finite_numbers(values: ArrayLike, what: str) -> Floats:
    """Return a flat array of finite numbers."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise MetricInputError(f"{what} must be numbers, got {values!r:.60}") from None
    if found.ndim != 1:
        raise MetricInputError(f"{what} must be one flat list of numbers, got shape {found.shape}")
    wrong = np.flatnonzero(~np.isfinite(found))
    if wrong.size:
        place = int(wrong[0])
        raise MetricInputError(
            f"{what} must be finite, number {place} (from 0) is {found[place]}",
            "leave out what failed and count it",
        )
    require_sizes(found)
    return found


def yes_no_marks(values: ArrayLike, what: str) -> NDArray[np.bool_]:
    """Return a flat array of yes and no."""
    found = finite_numbers(values, what)
    wrong = np.flatnonzero((found != 0) & (found != 1))
    if wrong.size:
        place = int(wrong[0])
        raise MetricInputError(
            f"{what} must be yes/no (True/False or 1/0), number {place} (from 0) is {found[place]:g}",
            "for other marks use sign_flip_test, or say from which mark on an answer counts as right",
        )
    return np.asarray(found == 1, dtype=np.bool_)


def whole_count(value: Any, what: str) -> int:
    """Return a whole number from 0 on."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise MetricInputError(f"{what} must be a whole number from 0 on, got {value!r}")
    return int(value)


def require_resamples(resamples: int) -> None:
    """Make sure that something is drawn at all."""
    if resamples < 1:
        raise MetricInputError(f"resamples must be positive, got {resamples}")
