"""What the pictures share: labels fit for markup, finite numbers, ticks of a scale."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from proctor.report.plaintext import clip_line

__all__ = [
    "Scale",
    "finite",
    "join",
    "label",
    "line",
    "nothing",
    "numbered",
    "percent",
    "plain_svg",
    "require_equal_lengths",
    "scrolling",
    "text_at",
    "ticks",
    "whisker",
]

_MAX_LABEL: Final = 160


@dataclass(frozen=True, slots=True)
class Scale:
    """A horizontal scale with round ticks; positions are percentages, so drawings need no view box.

    Attributes:
        low: value at the left end.
        high: value at the right end.
    """

    low: float
    high: float

    @classmethod
    def between(cls, low: float, high: float) -> Scale:
        """Return a scale that can be drawn: without a span or finite ends it reaches one beyond ``low``."""
        if not (math.isfinite(low) and math.isfinite(high)):
            return cls(0.0, 1.0)
        return cls(low, high) if high > low else cls(low, low + 1)

    @property
    def digits(self) -> int:
        """Decimals that values on this scale are printed with."""
        span = self.high - self.low
        return 0 if span > 2000 else 1 if span > 10 else 3

    def place(self, value: float) -> float:
        """Return the position from 0 to 100; beyond them outside the scale."""
        return 100 * (value - self.low) / (self.high - self.low)

    def lines(self, height: int) -> str:
        """Draw a thin line at every tick."""
        return "".join(
            f'<line class="grid" x1="{x}" x2="{x}" y1="0" y2="{height}"/>'
            for x in (percent(self.place(t)) for t in ticks(self.low, self.high))
        )

    def axis(self) -> Markup:
        """Draw the numbers of the ticks."""
        body = ""
        for tick in ticks(self.low, self.high):
            at = self.place(tick)
            anchor = "start" if at < 1 else "end" if at > 99 else "middle"
            body += f'<text x="{percent(at)}" y="12" text-anchor="{anchor}">{_tick(tick)}</text>'
        return plain_svg(16, body, "chart axis")


def _tick(value: float) -> str:
    return f"{value:,.10g}".replace("-", "−")


def label(text: str) -> str:
    """Return a text from data on one line and at most so long that a picture bears it; not yet escaped."""
    return clip_line(text, _MAX_LABEL)


def line(classes: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    """Return a line between two points."""
    return Markup('<line class="{}" x1="{:g}" y1="{:g}" x2="{:g}" y2="{:g}"/>').format(
        classes, x1, y1, x2, y2
    )


def text_at(x: float, y: float, anchor: str, text: str) -> Markup:
    """Return a text at a point; it is escaped here."""
    return Markup('<text x="{:g}" y="{:g}" text-anchor="{}">{}</text>').format(x, y, anchor, text)


def finite(value: float | None) -> float | None:
    """Return the number, None when there is none or it cannot be drawn."""
    return value if value is not None and math.isfinite(value) else None


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers from ``low`` to ``high``, at most ``most``; the ends when none lies between."""
    span = high - low
    if not span / most > 0 or not math.isfinite(span):  # a sixth of the smallest number is 0
        return [low]
    power = 10.0 ** math.floor(math.log10(span / most))
    for factor in (1, 2, 2.5, 5, 10, 20):
        step = factor * power
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first + 1 <= most:
            break
    found = [round(n * step, 12) + 0.0 for n in range(first, last + 1)]
    return found if len(found) > 1 else [low, high]


def join(parts: Iterable[Markup]) -> Markup:
    """Put markup together."""
    return Markup("").join(parts)


def scrolling(title: str, body: Markup) -> Markup:
    """Wrap what may be wider than the page, so that it scrolls by itself and can be reached by keyboard."""
    return Markup('<div class="scroll" role="region" aria-label="{}" tabindex="0">{}</div>').format(
        label(title), body
    )


def numbered(n: int, text: str) -> Markup:
    """Return a number of a picture that a page may lead somewhere from: the n-th of them, or one that leads to the same."""
    return Markup('<data value="{}">{}</data>').format(n, text)


def nothing(text: str) -> Markup:
    """Return the sentence that stands in place of a picture without data."""
    return Markup('<p class="empty">{}</p>').format(text)


def require_equal_lengths(title: str, **parts: Sequence[object]) -> None:
    """Refuse a picture whose labels and numbers are not equally many.

    Raises:
        ValueError: naming the lengths.
    """
    if len({len(part) for part in parts.values()}) > 1:
        seen = ", ".join(f"{len(part)} {name}" for name, part in parts.items())
        raise ValueError(f"the picture {label(title)!r} has {seen}; they must be equally many")


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
