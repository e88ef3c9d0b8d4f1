"""A reliability diagram: how often what was said with some confidence came true, and how much was said so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from proctor.metrics.figure import Reliability
from proctor.report.figures.parts import (
    finite,
    join,
    label,
    line,
    nothing,
    numbered,
    require_equal_lengths,
    scrolling,
    text_at,
)
from proctor.report.numbers import show_value

__all__ = ["RELIABILITY_GUIDE", "draw_reliability"]

RELIABILITY_GUIDE: Final = (
    "A dot on the dashed line would mean: of what was said with 70 % confidence, 70 % came true. Dots below the line "
    "are over-confident, dots above it under-confident; the bar from the dot to the line is the gap, the thin line "
    "the 95 % Wilson interval unless the title says otherwise. The columns below count the items in each bin: a dot "
    "over a short column is loosely known."
)
_LEFT: Final = 40
_SIDE: Final = 300
_TOP: Final = 8
_COUNTS_TOP: Final = 348
_COUNTS_HEIGHT: Final = 60
_HEIGHT: Final = 452


@dataclass(frozen=True, slots=True)
class _Bin:
    start: float
    end: float
    confidence: float | None
    accuracy: float | None
    low: float | None
    high: float | None
    count: int

    @property
    def gap(self) -> float | None:
        """Confidence minus accuracy: positive where too much was promised."""
        return None if self.confidence is None or self.accuracy is None else self.confidence - self.accuracy


def draw_reliability(figure: Reliability) -> Markup:
    """Draw it, with the numbers in a table that unfolds.

    Raises:
        ValueError: if the bins' numbers are not equally many, or the borders are not one more.
    """
    bins = _bins(figure)
    if not any(b.count for b in bins):
        return nothing("There is no prediction with a confidence.")
    body = (
        _axes()
        + _diagonal()
        + join(_gap(b) + _whisker(b) for b in bins)
        + join(map(_dot, bins))
        + _counts(bins)
    )
    total = sum(b.count for b in bins)
    what = (
        f"{label(figure.title)}: {total:,} items in {len(bins)} bins; the numbers stand in the table below."
    )
    drawing = Markup(
        '<svg class="reliability" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>'
    ).format(_LEFT + _SIDE + 20, _HEIGHT, what, body)
    return drawing + _legend() + _table(figure, bins)


def _bins(figure: Reliability) -> list[_Bin]:
    require_equal_lengths(
        figure.title, confidence=figure.confidence, accuracy=figure.accuracy, low=figure.low, high=figure.high,
        counts=figure.counts, bins=figure.edges[1:],
    )  # fmt: skip
    borders = zip(figure.edges[:-1], figure.edges[1:], strict=True)
    return [
        _Bin(start, end, finite(c), finite(a), finite(low), finite(high), n)
        for (start, end), c, a, low, high, n in zip(
            borders, figure.confidence, figure.accuracy, figure.low, figure.high, figure.counts, strict=True
        )
    ]


# -- drawing -----------------------------------------------------------------------------------------------------


def _x(value: float) -> float:
    return round(_LEFT + _SIDE * min(1.0, max(0.0, value)), 1)


def _y(value: float) -> float:
    return round(_TOP + _SIDE * (1 - min(1.0, max(0.0, value))), 1)


def _axes() -> Markup:
    parts = []
    for tick in (0, 0.2, 0.4, 0.6, 0.8, 1):
        parts.append(line("grid", _x(0), _y(tick), _x(1), _y(tick)))
        parts.append(line("grid", _x(tick), _y(0), _x(tick), _y(1)))
        parts.append(text_at(_LEFT - 6, _y(tick) + 4, "end", f"{tick:g}"))
        parts.append(text_at(_x(tick), _y(0) + 15, "middle", f"{tick:g}"))
    middle = _TOP + _SIDE / 2
    parts.append(
        Markup(
            '<text transform="translate(11 {:g}) rotate(-90)" text-anchor="middle">came true</text>'
        ).format(middle)
    )
    parts.append(text_at(_LEFT + _SIDE / 2, _y(0) + 30, "middle", "confidence"))
    return join(parts)


def _diagonal() -> Markup:
    return line("reference", _x(0), _y(0), _x(1), _y(1))


def _gap(b: _Bin) -> Markup:
    """Draw the way from the diagonal to the dot: filled where too much was promised, hollow where too little."""
    if b.gap is None or b.confidence is None or b.accuracy is None:
        return Markup("")
    top, bottom = sorted((_y(b.accuracy), _y(b.confidence)))
    return Markup('<rect class="gap {}" x="{:g}" y="{:g}" width="9" height="{:g}"/>').format(
        "over" if b.gap > 0 else "under", _x(b.confidence) - 4.5, top, round(bottom - top, 1)
    )


def _whisker(b: _Bin) -> Markup:
    if b.confidence is None or b.low is None or b.high is None:
        return Markup("")
    x = _x(b.confidence)
    ends = join(line("whisker", x - 3.5, _y(v), x + 3.5, _y(v)) for v in (b.low, b.high))
    return line("whisker", x, _y(b.low), x, _y(b.high)) + ends


def _dot(b: _Bin) -> Markup:
    if b.confidence is None or b.accuracy is None:
        return Markup("")
    return Markup('<circle class="dot" cx="{:g}" cy="{:g}" r="4.5"><title>{}</title></circle>').format(
        _x(b.confidence),
        _y(b.accuracy),
        f"confidence {show_value(b.confidence, 3)}, came true {show_value(b.accuracy, 3)}, n {b.count:,}",
    )


def _counts(bins: list[_Bin]) -> Markup:
    """Draw the columns; their numbers are printed where they have room."""
    most = max(b.count for b in bins)
    base = _COUNTS_TOP + _COUNTS_HEIGHT + 14
    parts = [line("grid", _x(0), base, _x(1), base)]
    for b in bins:
        height = max(1.0, round(_COUNTS_HEIGHT * b.count / most, 1)) if b.count else 0.0
        width = max(1.0, _x(b.end) - _x(b.start) - 1.5)
        parts.append(
            Markup('<rect class="bar" x="{:g}" y="{:g}" width="{:g}" height="{:g}"/>').format(
                _x(b.start) + 0.75, base - height, width, height
            )
        )
        if b.count and width >= 6 * len(_short(b.count)):
            parts.append(text_at((_x(b.start) + _x(b.end)) / 2, base - height - 4, "middle", _short(b.count)))
    parts.append(text_at(_LEFT + _SIDE / 2, base + 15, "middle", "items in each bin"))
    parts.append(text_at(_LEFT - 6, base + 1, "end", "0"))
    return join(parts)


def _short(count: int) -> str:
    return (
        f"{count:,}"
        if count < 10_000
        else f"{count / 1000:.0f}k"
        if count < 10**6
        else f"{count / 10**6:.1f}M"
    )


# -- beside the drawing ------------------------------------------------------------------------------------------


def _legend() -> Markup:
    sample = Markup(
        '<li><svg class="reliability sample" width="16" height="16" aria-hidden="true" focusable="false">{}</svg> {}</li>'
    )
    marks = [
        (Markup('<circle class="dot" cx="8" cy="8" r="4.5"/>'), "bin"),
        (line("reference", 0, 16, 16, 0), "as promised"),
        (Markup('<rect class="gap over" x="3" y="1" width="9" height="14"/>'), "over-confident by"),
        (Markup('<rect class="gap under" x="3" y="1" width="9" height="14"/>'), "under-confident by"),
    ]
    return Markup('<ul class="legend">{}</ul>').format(join(sample.format(*m) for m in marks))


def _table(figure: Reliability, bins: list[_Bin]) -> Markup:
    lines = join(_row(n, b) for n, b in enumerate(bins))
    table = Markup(
        '<table class="listed"><thead><tr><th scope="col">bin</th><th scope="col" class="num">n</th>'
        '<th scope="col" class="num">confidence</th><th scope="col" class="num">came true</th>'
        '<th scope="col" class="num">interval</th><th scope="col" class="num">gap</th></tr></thead><tbody>{}</tbody></table>'
    ).format(lines)
    return Markup("<details><summary>The numbers</summary>{}</details>").format(
        scrolling(f"{figure.title}: the numbers", table)
    )


def _row(number: int, b: _Bin) -> Markup:
    ends = (
        f"[{show_value(b.low, 3)}, {show_value(b.high, 3)}]"
        if b.low is not None and b.high is not None
        else "–"
    )
    sign = "+" if b.gap is not None and round(b.gap, 3) > 0 else ""
    return Markup(
        '<tr><th scope="row">{:g}–{:g}</th><td class="num">{}</td><td class="num">{}</td><td class="num">{}</td>'
        '<td class="num soft">{}</td><td class="num">{}{}</td></tr>'
    ).format(
        b.start,
        b.end,
        *(
            numbered(number, text)
            for text in (f"{b.count:,}", show_value(b.confidence, 3), show_value(b.accuracy, 3))
        ),
        ends,
        sign,
        show_value(b.gap, 3),
    )
