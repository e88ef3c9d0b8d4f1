"""Which printed cells can be a mean over this many questions at all."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from proctor.metrics.errors import MetricInputError

__all__ = ["attainable_cells", "attainable_denominators"]


def attainable_cells(
    cells: Sequence[float | str], denominator: int, digits: int = 1, scale: int = 100
) -> tuple[bool, ...]:
    """Which printed cells can be ``scale`` * hits / denominator, rounded to this many digits.

    Exact (integers, no floats); a value half-way between two printed ones may have been rounded either way.

    Args:
        cells: printed numbers, as texts or floats.
        denominator: of the fraction that was averaged: questions, or questions times sources.
        digits: decimal places in print.
        scale: 100 for percentages.

    Raises:
        MetricInputError: if a cell is not finite, not within the scale or has more digits than were printed.
    """
    if denominator < 1:
        raise MetricInputError(f"a denominator must be at least 1, got {denominator}")
    steps = scale * 10**digits
    return tuple(_attainable(unit, denominator, steps) for unit in _printed_units(cells, digits, scale))


def _printed_units(cells: Sequence[float | str], digits: int, scale: int) -> list[int]:
    """Cells as whole numbers of the last printed place."""
    out = []
    for cell in cells:
        try:
            unit = Fraction(str(cell).strip()) * 10**digits
        except (ValueError, ZeroDivisionError):
            raise MetricInputError(f"a printed number was expected, got {cell!r}") from None
        if unit.denominator != 1:
            raise MetricInputError(
                f"{cell} has more than {digits} decimal places", "give the digits in print"
            )
        if not 0 <= unit <= scale * 10**digits:
            raise MetricInputError(f"{cell} does not lie between 0 and {scale}")
        out.append(int(unit))
    return out


def _attainable(unit: int, denominator: int, steps: int) -> bool:
    """Is there a whole number h with |steps * h / denominator - unit| <= 1/2?"""
    lowest = -(-(2 * unit - 1) * denominator // (2 * steps))
    return 2 * steps * max(lowest, 0) <= (2 * unit + 1) * denominator


def attainable_denominators(
    cells: Sequence[float | str], digits: int = 1, largest: int = 1000, scale: int = 100
) -> tuple[int, ...]:
    """Denominators up to ``largest`` that make every printed cell attainable: what a table was divided by.

    SMMQG prints recall for six systems a column but does not say what recall means with two gold sources. The styles
    with two sources reach all of their cells (compound: all but one) with twice the number of questions as
    denominator, with the number of questions itself 2 to 4 of six; so recall is fractional. A column of six cells
    fits a wrong denominator d with a probability of about (d / 1000)^6, that is 1 % for 454.

    Erratum (our recomputation): not all cells can come from the numbers of questions that the paper states, under any
    reading. Of information extraction (158 questions, one source each) 53.2, 65.8 and 67.1 can, 56.6, 67.8 and 61.1
    cannot; of numerical (208, one or two sources) only 76.9 can; of compound, 43.3 cannot; and no number of questions
    up to 158 gives the six cells of image questions, all of which are information extraction.

    Args:
        cells: one column (the same questions for every system), as printed.
        digits: decimal places in print.
        largest: denominators to try, from 1.
        scale: 100 for percentages.

    Returns:
        All that fit, ascending; empty if none does.

    Raises:
        MetricInputError: see ``attainable_cells``.
    """
    steps = scale * 10**digits
    units = _printed_units(cells, digits, scale)
    return tuple(d for d in range(1, largest + 1) if all(_attainable(unit, d, steps) for unit in units))
