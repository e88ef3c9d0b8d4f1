"""A family's scores as a table for terminals and papers: one line a slice and one column a metric, or turned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from proctor.metrics.score import Score, Signature
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.report.grid import escape_latex, escape_markdown, fits, render_grid
from proctor.report.plaintext import clip_line

__all__ = [
    "SCORE_FORMATS",
    "Arranged",
    "GridLine",
    "Line",
    "ScoreFormat",
    "ScoreGrid",
    "SignatureGroup",
    "arrange_scores",
    "group_signatures",
    "lay_out",
    "render_scores",
    "show_ends",
    "show_label",
    "show_number",
    "show_score",
    "show_superscript",
]

ScoreFormat = Literal["text", "markdown", "latex"]
SCORE_FORMATS: Final[tuple[ScoreFormat, ...]] = ("text", "markdown", "latex")
TEXT_WIDTH: Final = 100
"""Columns that the table for terminals keeps to."""

_MAX_COLUMNS: Final = 8
"""With more metrics than this, and fewer lines than metrics, metrics are set one below the other."""
_MAX_LABEL: Final = 120
_MAX_NOTES: Final = 20
_MAX_NOTE: Final = 400
_SUPERSCRIPTS: Final = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True)
class Line:
    """The scores of one slice: one cell a metric, None where there is none.

    Attributes:
        name: ready to print, marked when the line is of chance.
        chance: the line knows nothing.
        cells: in the order of the metrics.
    """

    name: str
    chance: bool
    cells: tuple[ScoreRow | None, ...]

    @property
    def scores(self) -> tuple[Score, ...]:
        """The scores that there are."""
        return tuple(cell.score for cell in self.cells if cell is not None)


@dataclass(frozen=True, slots=True)
class Arranged:
    """The scores in lines and columns, with the notes that belong to single scores.

    Attributes:
        metrics: labels of the columns, ready to print.
        lines: in printing order.
        notes: distinct notes of scores in the order of their first mark, and their numbers.
    """

    metrics: tuple[str, ...]
    lines: tuple[Line, ...]
    notes: dict[str, int]

    def mark(self, row: ScoreRow) -> str:
        """Return the number of the row's note as a superscript, empty when it has none."""
        return show_superscript(self.notes[row.score.note]) if row.score.note else ""

    @property
    def tall(self) -> bool:
        """Whether the metrics are better set one below the other."""
        return len(self.metrics) > _MAX_COLUMNS and len(self.lines) < len(self.metrics)


def arrange_scores(table: ScoreTable) -> Arranged:
    """Bring scores into lines (slice) and columns (metric), both in the order of their first score.

    A second score of the same slice and metric, measured otherwise, begins a second line of that slice.
    """
    metrics = list(dict.fromkeys(row.shown_metric for row in table.rows))
    found: dict[tuple[str, bool, int], dict[str, ScoreRow]] = {}
    for row in table.rows:
        turn = 0
        while row.shown_metric in found.setdefault((row.slice, row.chance, turn), {}):
            turn += 1
        found[row.slice, row.chance, turn][row.shown_metric] = row
    lines = tuple(
        Line(_line_name(name, chance), chance, tuple(cells.get(m) for m in metrics))
        for (name, chance, _), cells in found.items()
    )
    scores = [score for line in lines for score in line.scores]
    noted = dict.fromkeys(score.note for score in scores if score.note)
    return Arranged(
        tuple(show_label(m) for m in metrics), lines, {text: n for n, text in enumerate(noted, start=1)}
    )


def render_scores(table: ScoreTable, format_: ScoreFormat = "text", *, width: int = TEXT_WIDTH) -> str:
    """Render the scores; lines of chance are marked ``(chance)``, undefined values are a dash with their reason.

    Args:
        table: what to render.
        format_: text (aligned, at most ``width`` columns), markdown (GitHub) or latex (booktabs).
        width: columns of a terminal; text is turned, broken or set in blocks to keep to them.

    Raises:
        ValueError: if the format is unknown.
    """
    if format_ not in SCORE_FORMATS:
        raise ValueError(f"format must be one of {', '.join(SCORE_FORMATS)}, got {format_!r}")
    arranged = arrange_scores(table)
    if not arranged.lines:
        return "% no scores\n" if format_ == "latex" else "(no scores)\n"
    head, body, rules = _choose(arranged, format_, width)
    grid = render_grid(
        head, body, format_, text_columns=1, width=width if format_ == "text" else None, rules=rules
    )
    above = _latex_head(table) if format_ == "latex" else ""
    return above + grid + _footnotes(arranged, format_)


# -- cells -------------------------------------------------------------------------------------------------------


def show_label(text: str) -> str:
    """Return a label on one line, with visible control characters, cut and saying so when it is very long."""
    return clip_line(text, _MAX_LABEL)


def show_number(value: float, digits: int) -> str:
    """Return a number with so many decimals, a dash when it is undefined, never ``-0.000``."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    text = f"{value:.{digits}f}"
    return text if float(text) else text.removeprefix("-")


def show_score(row: ScoreRow) -> str:
    """Return the value of a score; one that is above 0 and would be printed as 0 is ``<0.001``, as p values are."""
    smallest, value = 10.0**-row.digits, row.shown.value
    if 1e-12 < value < smallest / 2:
        return f"<{smallest:.{row.digits}f}"
    return show_number(value, row.digits)


def show_ends(row: ScoreRow) -> str:
    """Return ``[low, high]``, empty when the score has no interval."""
    low, high = row.shown.low, row.shown.high
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return ""
    return f"[{show_number(low, row.digits)}, {show_number(high, row.digits)}]"


def show_superscript(number: int) -> str:
    """Return a number in raised digits."""
    return str(number).translate(_SUPERSCRIPTS)


def _line_name(name: str, chance: bool) -> str:
    label = show_label(name)
    return f"{label} (chance)" if chance and "chance" not in label.casefold() else label


def _cell(arranged: Arranged, row: ScoreRow | None) -> str:
    if row is None:
        return ""
    value = show_score(row) + arranged.mark(row)
    return " ".join(filter(None, (value, show_ends(row))))


# -- layout ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GridLine:
    """One line as it is printed: a slice, or a metric when the table is turned.

    Attributes:
        name: at its left.
        chance: the whole line knows nothing.
        cells: one a column, None where there is no score.
        counts: one a column of counts, ready to print.
    """

    name: str
    chance: bool
    cells: tuple[ScoreRow | None, ...]
    counts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScoreGrid:
    """The scores as they are printed, in lines and columns.

    Attributes:
        corner: name of the column of names.
        heads: names of the columns of scores.
        chance: for each of them whether it knows nothing.
        counted: names of the columns of counts; failed and skipped only where there are some.
        lines: from the top.
    """

    corner: str
    heads: tuple[str, ...]
    chance: tuple[bool, ...]
    counted: tuple[str, ...]
    lines: tuple[GridLine, ...]

    @property
    def rules(self) -> set[int]:
        """The number of the line at which chance begins or ends; none where chance stands below every slice."""
        chance = [line.chance for line in self.lines]
        found = {n for n in range(1, len(chance)) if chance[n] != chance[n - 1]}
        return found if len(found) == 1 else set()


def lay_out(arranged: Arranged, *, turned: bool) -> ScoreGrid:
    """Set one slice below the other, or one metric below the other when the table is turned."""
    counted = _counted([score for line in arranged.lines for score in line.scores])
    if not turned:
        lines = tuple(_grid_line(x.name, x.chance, x.cells, counted) for x in arranged.lines)
        return ScoreGrid("", arranged.metrics, (False,) * len(arranged.metrics), counted, lines)
    lines = tuple(
        _grid_line(metric, False, tuple(line.cells[n] for line in arranged.lines), counted)
        for n, metric in enumerate(arranged.metrics)
    )
    names = tuple(line.name for line in arranged.lines)
    return ScoreGrid("metric", names, tuple(line.chance for line in arranged.lines), counted, lines)


def _counted(scores: Sequence[Score]) -> tuple[str, ...]:
    return ("n", *(name for name in ("failed", "skipped") if any(getattr(s, name) for s in scores)))


def _grid_line(
    name: str, chance: bool, cells: tuple[ScoreRow | None, ...], counted: Sequence[str]
) -> GridLine:
    scores = [cell.score for cell in cells if cell is not None]
    counts = tuple(_show_counts([getattr(score, key) for score in scores]) for key in counted)
    return GridLine(name, chance, cells, counts)


def _show_counts(counts: Sequence[int]) -> str:
    """Return how many items stand behind some scores: one number, or the smallest and the largest."""
    if not counts:
        return "–"
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


_Texts = tuple[list[str], list[list[str]], set[int]]


def _choose(arranged: Arranged, format_: ScoreFormat, width: int) -> _Texts:
    """Take the first layout that fits; the page of a paper is about as wide as a terminal."""
    turns = (arranged.tall, not arranged.tall)
    layouts = [_texts(arranged, lay_out(arranged, turned=turned)) for turned in turns]
    if format_ == "markdown":
        return layouts[0]
    fitting = [layout for layout in layouts if fits(layout[0], layout[1], width)]
    narrow = min(layouts, key=lambda layout: len(layout[0]))
    return fitting[0] if fitting else narrow if format_ == "latex" else layouts[0]


def _texts(arranged: Arranged, grid: ScoreGrid) -> _Texts:
    body = [[line.name, *(_cell(arranged, cell) for cell in line.cells), *line.counts] for line in grid.lines]
    return [grid.corner, *grid.heads, *grid.counted], body, grid.rules


# -- around the table --------------------------------------------------------------------------------------------


def _footnotes(arranged: Arranged, format_: ScoreFormat) -> str:
    shown = list(arranged.notes.items())[:_MAX_NOTES]
    lines = [f"{show_superscript(n)} {clip_line(text, _MAX_NOTE)}" for text, n in shown]
    if len(arranged.notes) > len(shown):
        lines.append(f"… and {len(arranged.notes) - len(shown):,} more notes; they stand in the JSON")
    if not lines:
        return ""
    if format_ == "latex":
        return "".join(f"\\par{{\\footnotesize {escape_latex(line)}}}\n" for line in lines)
    if format_ == "markdown":
        return "\n" + "  \n".join(map(escape_markdown, lines)) + "\n"
    return "\n" + "\n".join(lines) + "\n"


def _latex_head(table: ScoreTable) -> str:
    """Say what the table needs and what was measured, as comments: a comment ends with its line."""
    signatures = [group.joined for group in group_signatures(table.rows)]
    lines = ["needs \\usepackage{booktabs}", *signatures]
    return "".join(f"% {clip_line(line, _MAX_NOTE)}\n" for line in lines)


@dataclass(frozen=True, slots=True)
class SignatureGroup:
    """Signatures of one measure that fix the same choices, perhaps differently.

    Attributes:
        metrics: the columns that were measured so.
        chance: only scores that know nothing were.
        joined: one line for all; where they differ in a choice, its values stand together in braces.
        each: every distinct signature with the first score that has it (metric, slice).
    """

    metrics: tuple[str, ...]
    chance: bool
    joined: str
    each: tuple[tuple[ScoreRow, str], ...]


def group_signatures(rows: Sequence[ScoreRow]) -> list[SignatureGroup]:
    """Return the groups in the order of their first score."""
    alike: dict[tuple[str, tuple[str, ...]], list[ScoreRow]] = {}
    for row in rows:
        signature = row.score.full_signature
        alike.setdefault((signature.name, tuple(sorted(signature.parameters))), []).append(row)
    return [_group(group) for group in alike.values()]


def _group(rows: Sequence[ScoreRow]) -> SignatureGroup:
    first: dict[str, ScoreRow] = {}
    for row in rows:
        first.setdefault(str(row.score.full_signature), row)
    metrics = tuple(dict.fromkeys(row.metric for row in rows))
    each = tuple((row, text) for text, row in first.items())
    joined = _joined([row.score.full_signature for row in first.values()])
    return SignatureGroup(metrics, all(row.chance for row in rows), joined, each)


def _joined(signatures: Sequence[Signature]) -> str:
    parts = [signatures[0].name]
    for key in sorted(signatures[0].parameters):
        values = list(dict.fromkeys(s.parameters[key] for s in signatures))
        parts.append(f"{key}:{values[0]}" if len(values) == 1 else f"{key}:{{{' '.join(values)}}}")
    return "|".join(parts)
