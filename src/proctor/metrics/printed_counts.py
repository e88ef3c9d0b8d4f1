"""Can these printed numbers come from this test set? Whole numbers behind rounded percentages.

A row of a paper (accuracy, precision, recall, F1 in per cent) fixes the number of true and false positives, once
the size of the test set and its positives are known: usually exactly one pair of whole numbers fits, or none. So
a table says which test set it was measured on, and which of its rows have a typo.

Convention: a printed value stands for everything that rounds to it, either way at a half; precision is 0 if
nothing was called positive. Source: Peddi et al. 2024 (Tables 2 and 11, and those of vision-language models).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.errors import MetricInputError

__all__ = ["consistent_counts"]

_SLACK = 1e-9
"""For printed values that are not exact in binary."""


def consistent_counts(
    accuracy: float | None,
    precision: float | None,
    recall: float | None,
    f1: float | None,
    n: int,
    positives: int,
    *,
    digits: int = 2,
) -> tuple[tuple[int, int], ...]:
    """Return every (true positives, false positives) that gives these printed percentages.

    Args:
        accuracy: in per cent, None if it was not printed; the same for the other three.
        precision: of the positive class.
        recall: of the positive class.
        f1: of the positive class.
        n: items in the test set.
        positives: how many of them are positive.
        digits: decimal places in print; trailing zeros may be missing.

    Returns:
        Pairs in rising order; empty when the numbers cannot come from such a test set.

    Raises:
        MetricInputError: if the sizes make no sense or a percentage is not between 0 and 100.
    """
    if not 0 < positives <= n:
        raise MetricInputError(f"positives must lie between 1 and n, got {positives} of {n}")
    printed = (accuracy, precision, recall, f1)
    for value in printed:
        if value is not None and not 0 <= value <= 100:
            raise MetricInputError(f"a percentage lies between 0 and 100, got {value}")
    half = _half(digits)
    hits = np.arange(positives + 1)
    hits = hits[_near(100 * hits / positives, recall, half)][:, None]
    false = np.arange(n - positives + 1)[None, :]
    called = hits + false
    fits = (
        _near(100 * (hits + n - positives - false) / n, accuracy, half)
        & _near(100 * hits / np.maximum(called, 1), precision, half)
        & _near(200 * hits / (called + positives), f1, half)
    )
    return tuple((int(hits[row, 0]), int(column)) for row, column in np.argwhere(fits))


def _half(digits: int) -> float:
    if digits < 0:
        raise MetricInputError(f"digits must not be negative, got {digits}")
    return float(0.5 * 10.0**-digits) + _SLACK


def _near(values: NDArray[np.float64], printed: float | None, half: float) -> NDArray[np.bool_]:
    if printed is None:
        return np.ones(np.shape(values), dtype=np.bool_)
    result: NDArray[np.bool_] = np.abs(values - printed) <= half
    return result
