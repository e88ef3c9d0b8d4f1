"""Small charts that stand in table cells: SVG whose horizontal positions are percentages.

There is no view box, so a chart is as wide as its column, its lines stay thin and nothing is scaled; the numbers
themselves are text in the neighbouring cells, and the drawings are hidden from screen readers. Colours come from
classes in the style sheet. Shapes differ by role, so that a chart can be read without colours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from markupsafe import Markup

from proctor.exam.table import ScoreRow
from proctor.report.data import Role
from proctor.report.figures.parts import Scale, join, label, numbered, percent, plain_svg, whisker
from proctor.report.numbers import counted, show_value
from proctor.report.parts import Cell, Table

__all__ = [
    "bar",
    "counts_table",
    "difference_chart",
    "distribution_bar",
    "interval_chart",
    "standing_chart",
]

TICKS: Final = (0, 25, 50, 75, 100)

_SHAPES: Final[dict[Role, str]] = {
    "system": '<circle r="4.5"/>',
    "human": '<rect x="-4" y="-4" width="8" height="8"/>',
    "floor": '<circle r="4" class="hollow"/>',
    "upper": '<path d="M0-5.5 5.5 0 0 5.5-5.5 0Z" class="hollow"/>',
}


def _grid(height: int) -> str:
    return "".join(f'<line class="grid" x1="{t}%" x2="{t}%" y1="0" y2="{height}"/>' for t in TICKS)


def standing_chart(
    rows: Sequence[tuple[str, Role, ScoreRow]], low: float | None, high: float | None, bound: float | None = None
) -> Markup:  # fmt: skip
    """Draw scores from 0 to 100 with their intervals, a line each, over bands up to ``low`` and from ``high`` on, with a line at ``bound``."""
    head = Markup(
        '<tr><th scope="col" class="name"><span class="sr">run</span></th><th scope="col" class="drawn">'
        '<span class="sr">score from 0 to 100</span>{}</th><th scope="col" class="num value">score</th>'
        '<th scope="col" class="num ends">interval</th></tr>'
    ).format(Scale(0.0, 100.0).axis())
    lines = join(
        Markup(
            '<tr><th scope="row" class="name"><bdi>{}</bdi></th><td class="drawn">{}</td>'
            '<td class="num value strong">{}</td><td class="num ends soft">{}</td></tr>'
        ).format(
            label(name), interval_chart(row, role, low=low, high=high, bound=bound), numbered(n, show_value(row.value)),
            "–" if row.low is None else numbered(n, f"{show_value(row.low)} to {show_value(row.high)}"),
        )
        for n, (name, role, row) in enumerate(rows)
    )  # fmt: skip
    return Markup('<table class="plot interval-plot"><thead>{}</thead><tbody>{}</tbody></table>').format(
        head, lines
    )


def interval_chart(
    score: ScoreRow, role: Role, *, low: float | None = None, high: float | None = None, bound: float | None = None,
    height: int = 28,
) -> Markup:  # fmt: skip
    """Draw a value between 0 and 100 with its interval, over bands up to ``low`` (the best floor) and from ``high`` on, with a line at ``bound``."""
    middle = height / 2
    body = ""
    for start, end, name in ((0.0, low, "low"), (high, 100.0, "high")):
        if start is not None and end is not None and start < end:
            body += f'<rect class="band {name}" x="{percent(start)}" y="-8" width="{percent(end - start)}" height="{height + 16}"/>'
    body += _grid(height)
    if bound is not None:
        body += f'<line class="bound" x1="{percent(bound)}" x2="{percent(bound)}" y1="-8" y2="{height + 8}"/>'
    if score.value is not None:
        mark = whisker(score.low, score.high, middle)
        mark += f'<svg class="point" x="{percent(score.value)}" y="{middle:g}">{_SHAPES[role]}</svg>'
        body += f'<g class="{role}">{mark}</g>'
    return plain_svg(height, body, "chart")


def difference_chart(value: float, low: float | None, high: float | None, *, span: float) -> Markup:
    """Draw a difference with its interval around a line at 0; the chart reaches from ``-span`` to ``span``."""
    body = '<line class="zero" x1="50%" x2="50%" y1="0" y2="20"/>'

    def place(x: float) -> float:
        return 50 + 50 * x / span if span > 0 else 50

    body += whisker(None if low is None else place(low), None if high is None else place(high), 10)
    body += f'<svg class="point" x="{percent(place(value))}" y="10">{_SHAPES["system"]}</svg>'
    return plain_svg(20, f'<g class="system">{body}</g>', "chart")


def distribution_bar(counts: Sequence[tuple[str, int]]) -> Markup:
    """Draw shares of a whole as one bar: pairs of class name and count, in order from the left."""
    total = sum(n for _, n in counts)
    body, x = "", 0.0
    for name, n in counts:
        if n:
            width = 100 * n / total
            body += f'<rect class="part part-{name}" x="{percent(x)}" width="{percent(width)}" height="16"/>'
            x += width
    return plain_svg(16, body, "chart stack")


def bar(value: float, largest: float, *, height: int = 10) -> Markup:
    """Draw a plain bar from 0."""
    width = percent(100 * value / largest) if largest > 0 else "0%"
    return plain_svg(height, f'<rect class="bar" x="0" y="0" width="{width}" height="{height}"/>', "chart")


def counts_table(
    title: str, label: str, counts: Mapping[str, int], note: str = "", *, whole: int | None = None,
    find: tuple[tuple[str, str], ...] = (), among: str = "",
) -> Table:  # fmt: skip
    """Return whole numbers as a table with a bar and a share each.

    Args:
        title: of the table.
        label: what is counted apart.
        counts: in the order of the lines.
        note: below the table: of what the shares are.
        whole: of which the shares are; the sum of the counts by default.
        find: which examples are counted, beside those whose facet called ``label`` is the line's; none where it is empty.
        among: id of a ``Listing`` that lines lead to, whose tags are such as ``label: name``.
    """
    largest = max(counts.values(), default=0)
    of = sum(counts.values()) if whole is None else whole
    rows = []
    for name, n in counts.items():
        led = counted(n, *((*find, (label, name)) if find else ()), among=(among, f"{label}: {name}"))
        share = f"{100 * n / of:.1f} %" if of else "–"
        rows.append((name, led, Cell(drawn=bar(n, largest)), replace(led, text=share)))
    return Table(title, (label, "how many", "", "share"), tuple(rows), note)
