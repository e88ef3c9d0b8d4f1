"""Many tests at once: Holm, and Benjamini and Hochberg."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.metrics.errors import MetricInputError

__all__ = ["benjamini_hochberg", "holm"]


def _ranked(p_values: Sequence[float | None]) -> list[tuple[float, int]]:
    for p in p_values:
        if p is not None and not 0.0 <= p <= 1.0:
            raise MetricInputError(f"a p-value lies between 0 and 1, got {p}")
    return sorted((p, i) for i, p in enumerate(p_values) if p is not None)


def holm(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Correct p-values for being many (Holm 1979); undefined ones stay undefined and do not count.

    The chance of even one false alarm stays below the level, whatever the dependence between the tests.

    Raises:
        MetricInputError: if one is not a probability.
    """
    order = _ranked(p_values)
    corrected: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, i) in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * p))
        corrected[i] = highest
    return tuple(corrected)


def benjamini_hochberg(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Correct p-values so that few of the alarms are false (Benjamini and Hochberg 1995); None stays None.

    The expected share of false alarms among all alarms stays below the level, for tests that are independent or
    positively dependent. For claims about every single pair use ``holm``.

    Raises:
        MetricInputError: if one is not a probability.
    """
    order = _ranked(p_values)
    corrected: list[float | None] = [None] * len(p_values)
    lowest = 1.0
    for rank, (p, i) in reversed(list(enumerate(order, start=1))):
        lowest = min(lowest, p * len(order) / rank)
        corrected[i] = lowest
    return tuple(corrected)
