"""Curves in the unit square with their bands: ROC, precision by recall; one colour and one dash pattern a curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from proctor.report.figures.parts import finite, join, label, line, nothing, require_equal_lengths, text_at

__all__ = ["CURVES_GUIDE", "Curve", "Curves", "draw_curves"]

CURVES_GUIDE: Final = "Bands are 95 % at each place by itself, from drawing whole recordings; the dashed line is what knowing nothing gives."
_LEFT, _TOP, _SIDE, _RIGHT, _BOTTOM = 42, 10, 320, 14, 44
_COLOURS: Final = 6
_TICKS: Final = (0, 0.2, 0.4, 0.6, 0.8, 1)


@dataclass(frozen=True, slots=True)
class Curve:
    """One line; all four parts are equally long, from the left, and what is not finite is left out.

    Attributes:
        name: of the model.
        x: 0 to 1.
        y: 0 to 1.
        low: lower border of the band; empty for none.
        high: upper border.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Curves:
    """The picture.

    Attributes:
        title: what it shows.
        x_title: of the axis to the right.
        y_title: of the axis upwards.
        curves: the first ones are drawn above the others.
        chance: heights at the left and the right end of the line of knowing nothing.
    """

    title: str
    x_title: str
    y_title: str
    curves: tuple[Curve, ...]
    chance: tuple[float, float] | None = None


def draw_curves(figure: Curves) -> Markup:
    """Draw it; areas and points that matter belong into a table beside it.

    Raises:
        ValueError: if the parts of a curve are not equally many.
    """
    for curve in figure.curves:
        require_equal_lengths(
            figure.title, x=curve.x, y=curve.y, low=curve.low or curve.x, high=curve.high or curve.x
        )
    shown = [(n, c) for n, c in enumerate(figure.curves) if any(finite(y) is not None for y in c.y)]
    if not shown:
        return nothing("There is no curve: it takes steps with and steps without a mistake.")
    behind = list(reversed(shown))
    chance = Markup("")
    if figure.chance is not None:
        low, high = figure.chance
        chance = line("reference", _x(0), _y(low), _x(1), _y(high))
    body = (
        _axes(figure) + join(_band(c, n) for n, c in behind) + chance + join(_line(c, n) for n, c in behind)
    )
    return Markup(
        '<svg class="curves" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg><ul class="legend">{}</ul>'
    ).format(
        _LEFT + _SIDE + _RIGHT,
        _TOP + _SIDE + _BOTTOM,
        label(
            f"{figure.title}: {figure.y_title} by {figure.x_title}, {len(shown)} curves; the areas stand in the tables"
        ),
        body,
        join(_legend(c.name, n) for n, c in shown),
    )


def _x(value: float) -> float:
    return round(_LEFT + _SIDE * min(1.0, max(0.0, value)), 1)


def _y(value: float) -> float:
    return round(_TOP + _SIDE * (1 - min(1.0, max(0.0, value))), 1)


def _axes(figure: Curves) -> Markup:
    parts = []
    for tick in _TICKS:
        parts.append(line("grid", _x(0), _y(tick), _x(1), _y(tick)))
        parts.append(line("grid", _x(tick), _y(0), _x(tick), _y(1)))
        parts.append(text_at(_LEFT - 6, _y(tick) + 4, "end", f"{tick:g}"))
        parts.append(text_at(_x(tick), _y(0) + 15, "middle", f"{tick:g}"))
    middle = _TOP + _SIDE / 2
    parts.append(text_at(_LEFT + _SIDE / 2, _y(0) + 34, "middle", label(figure.x_title)))
    parts.append(
        Markup('<text transform="translate(11 {:g}) rotate(-90)" text-anchor="middle">{}</text>').format(
            middle, label(figure.y_title)
        )
    )
    return join(parts)


def _points(xs: Sequence[float], ys: Sequence[float]) -> list[str]:
    """Places of the picture; runs that stay on one height need their ends only."""
    found = [
        (_x(x), _y(y)) for x, y in zip(xs, ys, strict=True) if finite(x) is not None and finite(y) is not None
    ]
    kept = [
        p
        for k, p in enumerate(found)
        if not (0 < k < len(found) - 1 and found[k - 1][1] == p[1] == found[k + 1][1])
    ]
    return [f"{x:g} {y:g}" for x, y in kept]


def _band(curve: Curve, number: int) -> Markup:
    low, high = (
        _points(curve.x, curve.low or [float("nan")] * len(curve.x)),
        _points(curve.x, curve.high or [float("nan")] * len(curve.x)),
    )
    if not low or not high:
        return Markup("")
    d = "M" + "L".join(high) + "L" + "L".join(reversed(low)) + "Z"
    return Markup('<path class="band g{}" d="{}"/>').format(number % _COLOURS, d)


def _line(curve: Curve, number: int) -> Markup:
    return Markup('<path class="line g{}" d="{}"><title>{}</title></path>').format(
        number % _COLOURS, "M" + "L".join(_points(curve.x, curve.y)), label(curve.name)
    )


def _legend(name: str, number: int) -> Markup:
    return Markup(
        '<li><svg class="curves sample" width="26" height="12" aria-hidden="true" focusable="false">'
        '<path class="line g{}" d="M0 6L26 6"/></svg> <bdi>{}</bdi></li>'
    ).format(number % _COLOURS, label(name))
