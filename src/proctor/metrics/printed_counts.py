"""Can these printed numbers come from this test set? Whole numbers behind rounded percentages.

A row of a paper (accuracy, precision, recall, F1 in per cent) fixes the number of true and false positives, once
the size of the test set and its positives are known: usually exactly one pair of whole numbers fits, or none. So
a table says which test set it was measured on, and which of its rows have a typo. Where the set is not known,
accuracy, precision and recall together imply the share of positives, and precision and recall imply F1.

Convention: a printed value stands for everything that rounds to it, either way at a half; precision is 0 if
nothing was called positive. Source: Peddi et al. 2024 (Tables 2 and 11, and those of vision-language models).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.errors import MetricInputError

__all__ = ["Misprint", "consistent_counts", "implied_f1", "implied_prevalence", "single_misprints"]

_SLACK = 1e-9
"""For printed values that are not exact in binary."""


@dataclass(frozen=True, slots=True)
class Misprint:
    """One printed number that, if it alone is wrong, explains a row.

    Attributes:
        name: ``accuracy``, ``precision``, ``recall`` or ``f1``.
        printed: what stands there, in per cent.
        counts: the true and false positives that the three others fix.
        value: what should stand there, in per cent, not rounded.
    """

    name: str
    printed: float
    counts: tuple[int, int]
    value: float


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


def single_misprints(
    accuracy: float, precision: float, recall: float, f1: float, n: int, positives: int, *, digits: int = 2
) -> tuple[Misprint, ...]:
    """Return every way to explain an impossible row by one wrong number; empty for a possible row.

    Example: audio on split R has recall 89.72 in print; the three other numbers fix 209 true and 377 false
    positives, that is recall 86.72.

    Args:
        accuracy: in per cent; the same for the other three.
        precision: of the positive class.
        recall: of the positive class.
        f1: of the positive class.
        n: items in the test set.
        positives: how many of them are positive.
        digits: decimal places in print.

    Raises:
        MetricInputError: as ``consistent_counts``.
    """
    row = {"accuracy": accuracy, "precision": precision, "recall": recall, "f1": f1}
    if consistent_counts(accuracy, precision, recall, f1, n, positives, digits=digits):
        return ()
    out = []
    for name, printed in row.items():
        a, p, r, f = (None if key == name else value for key, value in row.items())
        for hits, false in consistent_counts(a, p, r, f, n, positives, digits=digits):
            true = {
                "accuracy": 100 * (hits + n - positives - false) / n,
                "precision": 100 * hits / max(hits + false, 1),
                "recall": 100 * hits / positives,
                "f1": 200 * hits / (hits + false + positives),
            }
            out.append(Misprint(name, printed, (hits, false), true[name]))
    return tuple(out)


def implied_prevalence(
    accuracy: float, precision: float, recall: float, *, digits: int | tuple[int, int, int] = 2
) -> tuple[float, float]:
    """Return the range of the share of positives that these printed percentages imply, from 0 to 1.

    From ``1 - accuracy = p (1 - recall) + p · recall (1 - precision) / precision``, with every value anywhere
    between the borders of its rounding. The expression is monotone in each of them, so the borders are enough.

    Args:
        accuracy: in per cent; the same for the other two.
        precision: of the positive class.
        recall: of the positive class.
        digits: decimal places in print, one for all or one each.

    Returns:
        Lower and upper end; above 1 where the numbers contradict each other.

    Raises:
        MetricInputError: if precision or recall is 0 (nothing follows then) or a value is out of range.
    """
    places = (digits,) * 3 if isinstance(digits, int) else digits
    for value in (accuracy, precision, recall):
        if not 0 <= value <= 100:
            raise MetricInputError(f"a percentage lies between 0 and 100, got {value}")
    if precision == 0 or recall == 0:
        raise MetricInputError("with precision or recall 0 the share of positives does not follow")
    shares = []
    for a, p, r in product(*map(_range, (accuracy, precision, recall), places)):
        below = (1 - r) + r * (1 - p) / p if p > 0 else math.inf
        shares.append((1 - a) / below if below > 0 else math.inf)
    return min(shares), max(shares)


def implied_f1(precision: float, recall: float, *, digits: int = 2) -> tuple[float, float]:
    """Return the range of F1, in per cent, that belongs to a printed precision and recall (in per cent).

    Raises:
        MetricInputError: if a value is out of range.
    """
    for value in (precision, recall):
        if not 0 <= value <= 100:
            raise MetricInputError(f"a percentage lies between 0 and 100, got {value}")
    ends = zip(_range(precision, digits), _range(recall, digits), strict=True)
    low, high = (200 * p * r / (p + r) if p + r else 0.0 for p, r in ends)
    return low, high


def _half(digits: int) -> float:
    if digits < 0:
        raise MetricInputError(f"digits must not be negative, got {digits}")
    return float(0.5 * 10.0**-digits) + _SLACK


def _range(percentage: float, digits: int) -> tuple[float, float]:
    half = _half(digits)
    return max(percentage - half, 0.0) / 100, min(percentage + half, 100.0) / 100


def _near(values: NDArray[np.float64], printed: float | None, half: float) -> NDArray[np.bool_]:
    if printed is None:
        return np.ones(np.shape(values), dtype=np.bool_)
    result: NDArray[np.bool_] = np.abs(values - printed) <= half
    return result
