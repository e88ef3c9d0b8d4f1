"""One horizontal bar a label, in the order given: the value as text beside it, and how many instances stand behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from proctor.metrics.figure import Bars
from proctor.report.figures.parts import (
    Scale,
    finite,
    join,
    label,
    nothing,
    percent,
    plain_svg,
    require_equal_lengths,
)
from proctor.report.numbers import show_value

__all__ = ["BARS_GUIDE", "draw_bars"]

BARS_GUIDE: Final = (
    "One bar a class, with its value as text; n counts the instances in the reference. A value that stands on few "
    "instances says little, and a dash means that there was nothing to measure."
)
_OPEN: Final = 40
"""So many bars are shown at once; the others unfold."""
_HEIGHT: Final = 22
"""Of a line: the drawings touch, so that the ticks run through."""
_BAR: Final = 10
_MAX_UNIT: Final = 12


def draw_bars(bars: Bars) -> Markup:
    """Draw them; from the forty-first on they unfold.

    Raises:
        ValueError: if labels, values and counts are not equally many.
    """
    require_equal_lengths(bars.title, labels=bars.labels, values=bars.values)
    if bars.counts:
        require_equal_lengths(bars.title, labels=bars.labels, counts=bars.counts)
    if not bars.labels:
        return nothing("There is nothing to show.")
    numbers = range(len(bars.labels))
    if len(numbers) <= _OPEN + 5:
        return _summary(bars) + _table(bars, numbers)
    rest = numbers[_OPEN:]
    return (
        _summary(bars)
        + _table(bars, numbers[:_OPEN])
        + Markup(
            "<details><summary>The other {:,}</summary>{}</details>"
            '<p class="note print-only">{:,} more stand in the page itself.</p>'
        ).format(len(rest), _table(bars, rest), len(rest))
    )


def _summary(bars: Bars) -> Markup:
    defined = sorted(v for v in map(finite, bars.values) if v is not None)
    missing = len(bars.values) - len(defined)
    digits = _scale(bars).digits
    parts = [f"{len(bars.values):,} in all"]
    if len(defined) > 2:
        low, middle, high = (show_value(v, digits) for v in (defined[0], _median(defined), defined[-1]))
        parts.append(f"lowest {low}, median {middle}, highest {high}{_unit(bars)}")
    if missing:
        parts.append(f"{missing:,} undefined")
    return Markup('<p class="note">{}</p>').format("; ".join(parts))


def _median(ordered: Sequence[float]) -> float:
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _scale(bars: Bars) -> Scale:
    return Scale.between(0.0, bars.high)


def _unit(bars: Bars) -> str:
    unit = label(bars.unit)
    return "" if not bars.unit else f" {unit}" if len(unit) <= _MAX_UNIT else f" {unit[: _MAX_UNIT - 1]}…"


def _table(bars: Bars, numbers: Sequence[int]) -> Markup:
    scale = _scale(bars)
    count = Markup('<th scope="col" class="num count">n</th>') if bars.counts else Markup("")
    head = Markup(
        '<tr><th scope="col" class="name"><span class="sr">label</span></th>'
        '<th scope="col" class="drawn"><span class="sr">bar</span>{}</th>'
        '<th scope="col" class="num value">value</th>{}</tr>'
    ).format(scale.axis(), count)
    lines = join(_line(bars, n, scale) for n in numbers)
    return Markup('<table class="plot bar-plot"><thead>{}</thead><tbody>{}</tbody></table>').format(
        head, lines
    )


def _line(bars: Bars, number: int, scale: Scale) -> Markup:
    value = finite(bars.values[number])
    body = scale.lines(_HEIGHT)
    if value is not None:
        width = percent(scale.place(value))
        body += f'<rect class="bar" x="0" y="{(_HEIGHT - _BAR) // 2}" width="{width}" height="{_BAR}"/>'
    count = (
        Markup('<td class="num count soft">{:,}</td>').format(bars.counts[number])
        if bars.counts
        else Markup("")
    )
    return Markup(
        '<tr><th scope="row" class="name"><bdi>{}</bdi></th><td class="drawn">{}</td>'
        '<td class="num value">{}{}</td>{}</tr>'
    ).format(
        label(bars.labels[number]),
        plain_svg(_HEIGHT, body, "chart"),
        show_value(value, scale.digits),
        _unit(bars) if value is not None else "",
        count,
    )
