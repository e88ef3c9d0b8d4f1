"""Score against cost: a point a run on a logarithmic axis of money, its interval, and what knowing nothing gives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from proctor.report.figures.parts import finite, join, label, line, nothing, text_at
from proctor.report.numbers import show_value

__all__ = ["TRADEOFF_GUIDE", "Tradeoff", "TradeoffPoint", "draw_tradeoff", "money", "money_ticks"]

TRADEOFF_GUIDE: Final = (
    "Up is better, left is cheaper; the axis of costs is logarithmic. Filled marks see the recording, hollow ones do "
    "not. A mark with another one above it and to its left is beaten at both."
)
_WIDTH, _LEFT, _RIGHT = 760, 44, 150
_TOP, _HEIGHT, _BOTTOM = 26, 330, 46
_MOST_LABELS: Final = 24
"""With more points the marks carry no words; they stand in the table and in the tooltips."""
_SHAPES: Final = (
    '<circle r="5"/>',
    '<rect x="-4.5" y="-4.5" width="9" height="9"/>',
    '<path d="M0-6 6 5-6 5Z"/>',
    '<path d="M0-6.5 6.5 0 0 6.5-6.5 0Z"/>',
    '<path d="M0 6-6-5 6-5Z"/>',
    '<path d="M-2-6H2V-2H6V2H2V6H-2V2H-6V-2H-2Z"/>',
)


@dataclass(frozen=True, slots=True)
class TradeoffPoint:
    """One run.

    Attributes:
        label: printed beside the mark.
        group: runs of one group have one shape and colour (the model).
        cost: US dollars, above 0.
        value: from 0 to 100.
        low: end of the interval, None where there is none.
        high: the other end.
        blind: it does not see the recording; its mark is hollow.
    """

    label: str
    group: str
    cost: float
    value: float
    low: float | None = None
    high: float | None = None
    blind: bool = False


@dataclass(frozen=True, slots=True)
class Tradeoff:
    """The picture: its points, and lines across it (best floor, upper bound) as name and value."""

    title: str
    points: tuple[TradeoffPoint, ...]
    lines: tuple[tuple[str, float], ...] = ()
    unit: str = "US dollars"


def draw_tradeoff(figure: Tradeoff) -> Markup:
    """Draw it; the numbers themselves belong into a table beside it."""
    points = [p for p in figure.points if p.cost > 0 and math.isfinite(p.cost) and math.isfinite(p.value)]
    if not points:
        return nothing("No cost is known, so there is nothing to draw.")
    groups = list(dict.fromkeys(p.group for p in points))
    levels = [(name, value) for name, value in figure.lines if finite(value) is not None]
    scale = _Costs.around([p.cost for p in points])
    body = join(
        [
            _grid(figure, scale),
            *(_level(name, value) for name, value in levels),
            *(
                _path([p for p in points if p.group == g and not p.blind], n, scale)
                for n, g in enumerate(groups)
            ),
            *(_point(p, groups.index(p.group), scale) for p in points),
            *(_words(points, levels, scale) if len(points) <= _MOST_LABELS else []),
        ]
    )
    height = _TOP + _HEIGHT + _BOTTOM
    return Markup(
        '<svg class="tradeoff" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg><ul class="legend">{}</ul>'
    ).format(_WIDTH, height, label(figure.title), body, join(map(_legend, range(len(groups)), groups)))


@dataclass(frozen=True, slots=True)
class _Costs:
    """The logarithmic axis: its ends as powers of ten."""

    low: float
    high: float

    @classmethod
    def around(cls, costs: Sequence[float]) -> _Costs:
        low, high = math.log10(min(costs)), math.log10(max(costs))
        room = max(0.08 * (high - low), 0.12)
        return cls(low - room, high + room)

    def place(self, cost: float) -> float:
        share = (math.log10(cost) - self.low) / (self.high - self.low)
        return round(_LEFT + share * (_WIDTH - _LEFT - _RIGHT), 1)


def money_ticks(low: float, high: float) -> list[float]:
    """Return round amounts between two powers of ten, at most about seven: the rounder, the wider the span."""
    for factors in ((1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9), (1, 2, 5), (1, 3), (1,)):
        found = [
            f * 10.0**power
            for power in range(math.floor(low), math.ceil(high) + 1)
            for f in factors
            if low - 1e-9 <= math.log10(f) + power <= high + 1e-9
        ]
        if len(found) <= 7:
            break
    return found[:: 1 + len(found) // 9]


def money(dollars: float) -> str:
    """Return an amount with as many decimals as it needs: ``$0.0042``, ``$1.20``, ``$1,300``."""
    if dollars <= 0 or not math.isfinite(dollars):
        return "$0" if dollars == 0 else "–"
    if dollars >= 100:
        return f"${dollars:,.0f}"
    digits = max(2, 1 - math.floor(math.log10(dollars)))
    return f"${dollars:.{digits}f}" if digits <= 12 else f"${dollars:.1e}"


def _tick(dollars: float) -> str:
    return f"${dollars:,.12f}".rstrip("0").rstrip(".") if dollars < 1 else f"${dollars:,.0f}"


def _y(value: float) -> float:
    return round(_TOP + _HEIGHT * (1 - min(100.0, max(0.0, value)) / 100), 1)


def _grid(figure: Tradeoff, scale: _Costs) -> Markup:
    right, bottom = _WIDTH - _RIGHT, _TOP + _HEIGHT
    parts = []
    for value in (0, 25, 50, 75, 100):
        parts.append(line("grid", _LEFT, _y(value), right, _y(value)))
        parts.append(text_at(_LEFT - 6, _y(value) + 4, "end", str(value)))
    for cost in money_ticks(scale.low, scale.high):
        x = scale.place(cost)
        parts.append(line("grid", x, _TOP, x, bottom))
        parts.append(text_at(x, bottom + 16, "middle", _tick(cost)))
    parts.append(text_at((_LEFT + right) / 2, bottom + 38, "middle", figure.unit))
    parts.append(text_at(_LEFT, _TOP - 12, "middle", "score"))
    return join(parts)


def _level(name: str, value: float) -> Markup:
    right = _WIDTH - _RIGHT
    words = text_at(right + 6, _y(value) + 4, "start", _short(name, 20))
    return line("reference", _LEFT, _y(value), right, _y(value)) + words


def _path(points: Sequence[TradeoffPoint], group: int, scale: _Costs) -> Markup:
    """Join what one model reaches by seeing more, in the order of its cost."""
    ordered = sorted(points, key=lambda p: (p.cost, p.value))
    if len(ordered) < 2:
        return Markup("")
    d = "M" + "L".join(f"{scale.place(p.cost):g} {_y(p.value):g}" for p in ordered)
    return Markup('<path class="way g{}" d="{}"/>').format(group % len(_SHAPES), d)


def _point(p: TradeoffPoint, group: int, scale: _Costs) -> Markup:
    x, n = scale.place(p.cost), group % len(_SHAPES)
    ends = Markup("")
    low, high = finite(p.low), finite(p.high)
    said = f"{p.group}, {p.label}: {show_value(p.value, 1)}"
    if low is not None and high is not None:
        ends = line(f"whisker g{n}", x, _y(low), x, _y(high))
        said += f" ({show_value(low, 1)} to {show_value(high, 1)})"
    return ends + Markup(
        '<g class="mark g{}{}" transform="translate({:g} {:g})">{}<title>{}</title></g>'
    ).format(
        n,
        " hollow" if p.blind else "",
        x,
        _y(p.value),
        Markup(_SHAPES[n]),  # noqa: S704 - fixed words only
        f"{label(said)}, {money(p.cost)}",
    )


def _words(
    points: Sequence[TradeoffPoint], lines: Sequence[tuple[str, float]], scale: _Costs
) -> list[Markup]:
    """Print each label beside its mark, where it hides least of other labels, marks and whiskers."""
    taken = [box for p in points for box in _boxes(p, scale)]
    taken += [(_LEFT, _y(value) - 1.5, _WIDTH - _RIGHT, _y(value) + 1.5) for _, value in lines]
    found = []
    for p in sorted(points, key=lambda p: (-p.value, p.cost, p.label)):
        text = _short(p.label, 26)
        places = [_Place.at(p, scale, text, *where) for where in _AROUND]
        best = min(places, key=lambda place: (round(place.hides(taken)), places.index(place)))
        taken.append(best.box)
        found.append(text_at(best.x, best.y, best.anchor, text))
    return found


_Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""

_AROUND: Final = tuple(
    (anchor, dx, dy)
    for dy in (4, -9, 18, -20, 30, -32, 42)
    for anchor, dx in (("start", 9), ("end", -9), ("middle", 0))
    if anchor != "middle" or abs(dy) > 8
)
"""Where a label may stand: anchor and distance from its mark, best first."""


@dataclass(frozen=True, slots=True)
class _Place:
    x: float
    y: float
    anchor: str
    box: _Box

    @classmethod
    def at(cls, p: TradeoffPoint, scale: _Costs, text: str, anchor: str, dx: float, dy: float) -> _Place:
        x, y, width = scale.place(p.cost) + dx, _y(p.value) + dy, 6.1 * len(text)
        left = x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
        return cls(x, y, anchor, (left, y - 10, left + width, y + 2))

    def hides(self, others: Sequence[_Box]) -> float:
        """Return how much of others stands below the label; what leaves the picture counts much more."""
        outside = max(0.0, _LEFT + 2 - self.box[0]) + max(0.0, self.box[2] - _WIDTH)
        return 100 * outside + sum(_overlap(self.box, other) for other in others)


def _boxes(p: TradeoffPoint, scale: _Costs) -> list[_Box]:
    x, y = scale.place(p.cost), _y(p.value)
    low, high = finite(p.low), finite(p.high)
    mark = (x - 7, y - 7, x + 7, y + 7)
    return [mark] if low is None or high is None else [mark, (x - 1.5, _y(high), x + 1.5, _y(low))]


def _overlap(a: _Box, b: _Box) -> float:
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return width * height if width > 0 and height > 0 else 0.0


def _legend(number: int, group: str) -> Markup:
    n = number % len(_SHAPES)
    return Markup(
        '<li><svg class="tradeoff sample" width="16" height="16" aria-hidden="true" focusable="false">'
        '<g class="mark g{}" transform="translate(8 8)">{}</g></svg> <bdi>{}</bdi></li>'
    ).format(n, Markup(_SHAPES[n]), label(group))  # noqa: S704 - fixed words only


def _short(text: str, most: int) -> str:
    text = label(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"
