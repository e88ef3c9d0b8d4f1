"""Numbers as the page prints them: a true minus sign, a dash where nothing is defined, the interval as a second line."""

from __future__ import annotations

import math
from typing import Protocol

from proctor.report.parts import Cell

__all__ = ["Estimate", "count", "counted", "dollars", "guessed", "number", "show_p", "show_value", "signed"]


class Estimate(Protocol):
    """A value with the ends of its interval; None where there is none."""

    @property
    def value(self) -> float | None:
        """The number."""
        ...

    @property
    def low(self) -> float | None:
        """Lower end of the interval."""
        ...

    @property
    def high(self) -> float | None:
        """Upper end."""
        ...


def show_value(value: float | None, digits: int = 1) -> str:
    """Return a number with a true minus sign, a dash when it is undefined.

    Example:
        >>> show_value(-0.04), show_value(-2.34), show_value(None)
        ('0.0', '−2.3', '–')
    """
    if value is None or not math.isfinite(value):
        return "–"
    text = f"{value:,.{digits}f}"
    return text.replace("-", "−") if float(text.replace(",", "")) else text.replace("-", "")


def signed(value: float | None, digits: int = 1) -> str:
    """Return a difference with its sign.

    Example:
        >>> signed(1.25), signed(0.01), signed(-3.0)
        ('+1.2', '0.0', '−3.0')
    """
    plus = value is not None and not math.isnan(value) and round(value, digits) > 0
    return ("+" if plus else "") + show_value(value, digits)


def show_p(p: float | None) -> str:
    """Return a probability as the page prints it."""
    if p is None:
        return "–"
    return "<0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def dollars(value: float | None) -> str:
    """Return an amount; what is not known is no amount."""
    return "not known" if value is None else f"${value:,.4f}" if value < 1 else f"${value:,.2f}"


def count(n: int, word: str, plural: str = "") -> str:
    """Return a number of things in words.

    Example:
        >>> count(1, "video"), count(1200, "activity", "activities")
        ('1 video', '1,200 activities')
    """
    return f"{n:,} {word if n == 1 else plural or word + 's'}"


def counted(n: int, *find: tuple[str, str], among: tuple[str, str] | None = None, tone: str = "") -> Cell:
    """Return a number of questions that opens them: as examples of the page, or as lines of a listing."""
    return Cell(f"{n:,}", tone=tone, find=find if n else (), among=among if n else None)


def guessed(chance: float | None, n: int, level: float = 0.95) -> Cell:
    """Return what guessing gets in per cent, and below it between which scores that many guesses land that often.

    Args:
        chance: in per cent, on average; None for a dash.
        n: questions that are guessed at, independently.
        level: probability of the range, whose ends are quantiles of the binomial distribution.
    """
    if chance is None or not n:
        return Cell("–", tone="soft")
    p = min(max(chance / 100, 0.0), 1.0)
    total, ends = 0.0, list[int]()
    for k in range(n + 1):
        total += _binomial(k, n, p)
        ends += [k] * sum(total >= q for q in ((1 - level) / 2, (1 + level) / 2)[len(ends) :])
    low, high = (100 * k / n for k in (*ends, n, n)[:2])
    return Cell(show_value(chance), f"{show_value(low)} to {show_value(high)}")


def _binomial(k: int, n: int, p: float) -> float:
    if p in (0.0, 1.0):
        return float(k == n * p)
    chosen = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(chosen + k * math.log(p) + (n - k) * math.log1p(-p))


def number(
    estimate: Estimate | None,
    digits: int = 1,
    *,
    scale: float = 1.0,
    sign: bool = False,
    tone: str = "",
    more: str = "",
    mark: str = "",
) -> Cell:
    """Return a number with its interval below it.

    Args:
        estimate: value and interval; None for a dash.
        digits: after the point.
        scale: 100 for a share that is printed in per cent.
        sign: of differences, whose sign is always printed.
        tone: of the cell.
        more: behind the interval.
        mark: behind the number.
    """
    if estimate is None:
        return Cell("–", tone="soft")
    show = signed if sign else show_value
    value, low, high = (
        None if x is None else scale * x for x in (estimate.value, estimate.low, estimate.high)
    )
    ends = f"{show(low, digits)} to {show(high, digits)}" if low is not None and high is not None else ""
    return Cell(show(value, digits) + mark, " ".join(filter(None, (ends, more))), tone)
