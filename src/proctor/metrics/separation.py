"""How well a number tells two groups apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["area_under_roc"]


def area_under_roc(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """Probability that a positive is above a negative, ties half (Mann and Whitney 1947): 1 perfect, 0.5 chance.

    Raises:
        ValueError: if one group is empty or a value is not a number.
    """
    if not len(positives) or not len(negatives):
        raise ValueError(f"both groups need members, got {len(positives)} and {len(negatives)}")
    high, low = np.asarray(positives, dtype=np.float64), np.sort(np.asarray(negatives, dtype=np.float64))
    if np.isnan(high).any() or np.isnan(low).any():
        raise ValueError("values must be numbers, got nan")
    below = np.searchsorted(low, high, side="left")
    not_above = np.searchsorted(low, high, side="right")
    return float((below + not_above).sum()) / (2 * high.size * low.size)
