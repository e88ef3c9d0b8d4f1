"""How often values lie in each of equally wide bins: columns, with lines across them for a median or a published number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from proctor.metrics.figure import Histogram
from proctor.report.figures.parts import (
    Scale,
    finite,
    join,
    label,
    line,
    nothing,
    numbered,
    require_equal_lengths,
    scrolling,
    text_at,
    ticks,
)

__all__ = ["HISTOGRAM_GUIDE", "draw_histogram"]

HISTOGRAM_GUIDE: Final = (
    "One column a bin: its height counts what lies between its borders, the left one included. Whole lines are of these values, "
    "dashed ones of others that they are compared with."
)
_WIDTH, _LEFT, _RIGHT = 760, 44, 170
_HEIGHT, _BOTTOM, _ROW = 180, 40, 18


def draw_histogram(figure: Histogram) -> Markup:
    """Draw it, with the numbers in a table that unfolds.

    Raises:
        ValueError: if the borders are not one more than the counts.
    """
    require_equal_lengths(figure.title, counts=figure.counts, bins=figure.edges[1:])
    if not any(figure.counts):
        return nothing("There is nothing to show.")
    marks = [(name, v, True) for name, value in figure.marks if (v := finite(value)) is not None]
    marks += [(name, v, False) for name, value in figure.references if (v := finite(value)) is not None]
    reached = [*figure.edges, *(value for _, value, _ in marks)]
    drawing = _Drawing(Scale.between(min(reached), max(reached)), max(figure.counts), _ROW * len(marks) + 8)
    # The further to the right, the lower stands the name: no line then crosses another one's.
    ordered = sorted(marks, key=lambda mark: mark[1])
    body = drawing.axes(figure.unit) + join(
        drawing.column(low, high, count, figure.unit)
        for low, high, count in zip(figure.edges[:-1], figure.edges[1:], figure.counts, strict=True)
    )
    body += join(
        drawing.mark(row, _named(name, value, figure.unit), value, own=own)
        for row, (name, value, own) in enumerate(ordered)
    )
    what = f"{label(figure.title)}: {sum(figure.counts):,} in {len(figure.counts)} bins; the numbers stand in the table below."
    return Markup(
        '<svg class="histogram" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>{}{}'
    ).format(_WIDTH, drawing.bottom + _BOTTOM, what, body, _said(ordered, figure.unit), _table(figure))


class _Drawing:
    """Positions in the picture.

    Attributes:
        bottom: of the columns.
    """

    def __init__(self, scale: Scale, most: int, top: int) -> None:
        self._scale, self._most, self._top = scale, most, top
        self.bottom = top + _HEIGHT

    def _x(self, value: float) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * self._scale.place(value) / 100, 1)

    def _y(self, count: float) -> float:
        return round(self.bottom - _HEIGHT * count / self._most, 1)

    def axes(self, unit: str) -> Markup:
        right = self._x(self._scale.high)
        parts = [line("grid", _LEFT, self._y(n), right, self._y(n)) for n in _whole(self._most)]
        parts += [text_at(_LEFT - 6, self._y(n) + 4, "end", f"{n:,}") for n in _whole(self._most)]
        for value in ticks(self._scale.low, self._scale.high):
            parts.append(line("grid", self._x(value), self.bottom, self._x(value), self.bottom + 4))
            parts.append(text_at(self._x(value), self.bottom + 16, "middle", f"{value:,.10g}"))
        parts.append(text_at((_LEFT + right) / 2, self.bottom + 32, "middle", label(unit)))
        return join(parts)

    def column(self, low: float, high: float, count: int, unit: str) -> Markup:
        left = self._x(low)
        return Markup(
            '<rect class="bar" x="{:g}" y="{:g}" width="{:g}" height="{:g}"><title>{}</title></rect>'
        ).format(
            left,
            self._y(count),
            max(0.5, round(self._x(high) - left - 1, 1)),
            round(self.bottom - self._y(count), 1),
            f"{_bin(low, high)} {label(unit)}: {count:,}",
        )

    def mark(self, row: int, text: str, value: float, *, own: bool) -> Markup:
        x, y = self._x(value), _ROW * (row + 1)
        return line("own" if own else "reference", x, y - 10, x, self.bottom) + text_at(
            x + 5, y, "start", text
        )


def _whole(most: int) -> list[int]:
    return [int(n) for n in ticks(0, most) if n == int(n)] or [0, most]


def _named(name: str, value: float, unit: str) -> str:
    return label(f"{name} {round(value, 1):,.10g} {unit}")


def _bin(low: float, high: float) -> str:
    return f"{low:,.10g} to {high:,.10g}"


def _said(marks: Sequence[tuple[str, float, bool]], unit: str) -> Markup:
    """Say the lines in words, for whoever does not see them."""
    if not marks:
        return Markup("")
    told = "; ".join(_named(name, value, unit) for name, value, _ in marks)
    return Markup('<p class="sr">{}</p>').format(told)


def _table(figure: Histogram) -> Markup:
    rows = join(
        Markup('<tr><th scope="row">{}</th><td class="num">{}</td></tr>').format(
            _bin(low, high), numbered(n, f"{count:,}")
        )
        for n, (low, high, count) in enumerate(
            zip(figure.edges[:-1], figure.edges[1:], figure.counts, strict=True)
        )
    )
    table = Markup(
        '<table class="listed"><thead><tr><th scope="col">{}</th><th scope="col" class="num">n</th></tr></thead><tbody>{}</tbody></table>'
    ).format(label(figure.unit), rows)
    return Markup("<details><summary>The numbers</summary>{}</details>").format(
        scrolling(f"{figure.title}: the numbers", table)
    )
