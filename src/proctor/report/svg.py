"""Pieces of drawings that need no view box: horizontal positions are percentages, so nothing is scaled."""

from __future__ import annotations

import math

from markupsafe import Markup

__all__ = ["percent", "plain_svg", "whisker"]


def plain_svg(height: int, body: str, classes: str) -> Markup:
    """Return a drawing as wide as what it stands in, hidden from screen readers: the numbers stand beside it."""
    return Markup(  # noqa: S704 - numbers and fixed words only, no text from outside comes here
        f'<svg class="{classes}" width="100%" height="{height}" aria-hidden="true" focusable="false">{body}</svg>'
    )


def percent(value: float) -> str:
    """Return a position between 0 and 100, held inside, as short as two decimals allow."""
    return f"{min(100.0, max(0.0, value)):.2f}".rstrip("0").rstrip(".") + "%"


def whisker(low: float | None, high: float | None, y: float) -> str:
    """Draw an interval of positions; an end outside 0 to 100 has no stroke, for the interval goes on there."""
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return ""
    ends = "".join(
        f'<line x1="{percent(x)}" x2="{percent(x)}" y1="{y - 3.5:g}" y2="{y + 3.5:g}"/>'
        for x in (low, high)
        if 0 <= x <= 100
    )
    line = f'<line x1="{percent(low)}" x2="{percent(high)}" y1="{y:g}" y2="{y:g}"/>'
    return f'<g class="whisker">{line}{ends}</g>'
