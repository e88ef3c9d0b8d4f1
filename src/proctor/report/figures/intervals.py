"""Values with their intervals on one scale, a line each, and what chance would give as a mark of another shape."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from proctor.metrics.figure import IntervalPlot
from proctor.report.figures.parts import (
    Scale,
    finite,
    join,
    label,
    nothing,
    numbered,
    percent,
    plain_svg,
    require_equal_lengths,
    whisker,
)
from proctor.report.numbers import show_value

__all__ = ["INTERVALS_GUIDE", "draw_intervals"]

INTERVALS_GUIDE: Final = (
    "The dot is the value, the line its interval; the hollow diamond is what knowing nothing would give. Intervals "
    "that overlap do not prove that two systems are equal: that takes a paired test on the same items."
)
_HEIGHT: Final = 24
_DOT: Final = '<circle r="4.5"/>'
_DIAMOND: Final = '<path d="M0-7.5 7.5 0 0 7.5-7.5 0Z" class="hollow"/>'
"""Large enough to be seen around the dot when a system is as good as chance."""


def draw_intervals(plot: IntervalPlot) -> Markup:
    """Draw it, with the numbers as text beside the marks.

    Raises:
        ValueError: if labels, values and ends are not equally many.
    """
    require_equal_lengths(plot.title, labels=plot.labels, values=plot.values, low=plot.low, high=plot.high)
    if plot.chance:
        require_equal_lengths(plot.title, labels=plot.labels, chance=plot.chance)
    if not plot.labels:
        return nothing("There is nothing to show.")
    scale = Scale.between(*plot.scale)
    with_chance = any(finite(c) is not None for c in plot.chance)
    head = Markup(
        '<tr><th scope="col" class="name"><span class="sr">label</span></th>'
        '<th scope="col" class="drawn"><span class="sr">value on the scale</span>{}</th>'
        '<th scope="col" class="num value">value</th><th scope="col" class="num ends">interval</th>{}</tr>'
    ).format(
        scale.axis(), Markup('<th scope="col" class="num chance">chance</th>') if with_chance else Markup("")
    )
    lines = join(_line(plot, n, scale, with_chance) for n in range(len(plot.labels)))
    table = Markup('<table class="plot interval-plot"><thead>{}</thead><tbody>{}</tbody></table>').format(
        head, lines
    )
    return table + _legend(with_chance)


def _line(plot: IntervalPlot, number: int, scale: Scale, with_chance: bool) -> Markup:
    value, low, high = (finite(part[number]) for part in (plot.values, plot.low, plot.high))
    chance = finite(plot.chance[number]) if plot.chance else None
    ends = (
        f"[{show_value(low, scale.digits)}, {show_value(high, scale.digits)}]"
        if low is not None and high is not None
        else "–"
    )
    last = (
        Markup('<td class="num chance soft">{}</td>').format(show_value(chance, scale.digits))
        if with_chance
        else Markup("")
    )
    return Markup(
        '<tr><th scope="row" class="name"><bdi>{}</bdi></th><td class="drawn">{}</td>'
        '<td class="num value strong">{}</td><td class="num ends soft">{}</td>{}</tr>'
    ).format(
        label(plot.labels[number]),
        plain_svg(_HEIGHT, _marks(scale, value, low, high, chance), "chart"),
        numbered(number, show_value(value, scale.digits)),
        numbered(number, ends),
        last,
    )


def _marks(
    scale: Scale, value: float | None, low: float | None, high: float | None, chance: float | None
) -> str:
    middle = _HEIGHT / 2
    body = scale.lines(_HEIGHT)
    if chance is not None:
        body += f'<g class="floor">{_point(scale, chance, middle, _DIAMOND)}</g>'
    if low is not None and high is not None:
        body += whisker(scale.place(low), scale.place(high), middle)
    return body + (_point(scale, value, middle, _DOT) if value is not None else "")


def _point(scale: Scale, value: float, y: float, shape: str) -> str:
    return f'<svg class="point" x="{percent(scale.place(value))}" y="{y:g}">{shape}</svg>'


def _legend(with_chance: bool) -> Markup:
    chance = Markup("<li>{} chance</li>").format(_sample(f'<g class="floor">{_mark(_DIAMOND)}</g>'))
    return Markup('<ul class="legend"><li>{} value and interval</li>{}</ul>').format(
        _sample(whisker(5, 95, 8) + _mark(_DOT)), chance if with_chance else Markup("")
    )


def _mark(shape: str) -> str:
    return f'<svg class="point" x="50%" y="8">{shape}</svg>'


def _sample(body: str) -> Markup:
    return Markup(  # noqa: S704 - fixed words only
        f'<svg class="chart sample" width="26" height="16" aria-hidden="true" focusable="false">{body}</svg>'
    )
