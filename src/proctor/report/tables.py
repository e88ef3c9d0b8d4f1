"""The scores as one table, for terminals, papers and pages."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from typing import Final, Literal

from proctor.metrics.score import Score
from proctor.report.data import ROLES
from proctor.report.plaintext import show_text
from proctor.report.standings import Row, Standings

__all__ = ["TABLE_FORMATS", "TableFormat", "render_grid", "scores_table", "show_interval", "show_value"]

TableFormat = Literal["text", "markdown", "latex", "html"]
TABLE_FORMATS: Final[tuple[TableFormat, ...]] = ("text", "markdown", "latex", "html")

_MAX_NAME: Final = 60


def show_value(value: float | None, digits: int = 1) -> str:
    """Return a number with a true minus sign, a dash when it is undefined."""
    if value is None or math.isnan(value):
        return "–"
    text = f"{value:.{digits}f}"
    return text.replace("-", "−") if float(text) else text.replace("-", "")


def show_interval(score: Score) -> str:
    """Return ``40.2–48.0``; empty when it has no interval."""
    if score.low is None or score.high is None or math.isnan(score.value):
        return ""
    return f"{show_value(score.low)}–{show_value(score.high)}"


def scores_table(standings: Standings, format_: TableFormat = "text", *, intervals: bool = True) -> str:
    """Render one line a run: score with interval, then clean, noisy and every type, then what was not scored.

    Args:
        standings: from ``compute_standings``.
        format_: text (aligned), markdown (GitHub), latex (booktabs) or html (a bare ``table``).
        intervals: print the interval of the overall score.

    Raises:
        ValueError: if the format is unknown.
    """
    if format_ not in TABLE_FORMATS:
        raise ValueError(f"format must be one of {', '.join(TABLE_FORMATS)}, got {format_!r}")
    slices = [*standings.group("noise"), *standings.group("type")]
    head = [
        "run",
        "role",
        "score",
        *(["interval"] if intervals else []),
        *(s.label for s in slices),
    ]
    head += ["scored", "failed", "unscored", "not asked"]
    body = [_cells(row, [s.key for s in slices], intervals=intervals) for row in standings.rows]
    return render_grid([_name(h) for h in head], body, format_)


def render_grid(
    head: Sequence[str],
    body: Sequence[Sequence[str]],
    format_: TableFormat = "text",
    *,
    text_columns: int = 2,
) -> str:
    """Lay cells out in one of the formats; every format escapes what it must.

    Args:
        head: column names.
        body: lines of cells, as long as ``head``.
        format_: see ``TABLE_FORMATS``.
        text_columns: this many columns from the left are set flush left, the others flush right.

    Raises:
        ValueError: if the format is unknown.
    """
    writers: dict[TableFormat, Callable[[Sequence[str], Sequence[Sequence[str]], int], str]] = {
        "text": _text,
        "markdown": _markdown,
        "latex": _latex,
        "html": _html,
    }
    if format_ not in writers:
        raise ValueError(f"format must be one of {', '.join(TABLE_FORMATS)}, got {format_!r}")
    return writers[format_](head, body, text_columns)


def _cells(row: Row, keys: Sequence[str], *, intervals: bool) -> list[str]:
    counts = row.counts
    return [
        _name(row.run.name),
        ROLES[row.run.role],
        show_value(row.score.value),
        *([show_interval(row.score) or "–"] if intervals else []),
        *(show_value(row.scores[key].value if key in row.scores else None) for key in keys),
        str(row.scored),
        str(counts["failed"]),
        str(counts["unscored"]),
        str(counts["absent"]),
    ]


def _name(text: str) -> str:
    flat = " ".join(show_text(text).split())
    return flat if len(flat) <= _MAX_NAME else flat[: _MAX_NAME - 1] + "…"


def _text(head: Sequence[str], body: Sequence[Sequence[str]], text_columns: int) -> str:
    widths = [max(len(line[n]) for line in (head, *body)) for n in range(len(head))]

    def render(line: Sequence[str]) -> str:
        cells = [
            c.ljust(w) if n < text_columns else c.rjust(w)
            for n, (c, w) in enumerate(zip(line, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    return "\n".join([render(head), "  ".join("─" * w for w in widths), *map(render, body)]) + "\n"


def _markdown(head: Sequence[str], body: Sequence[Sequence[str]], text_columns: int) -> str:
    def render(line: Sequence[str]) -> str:
        return (
            "| "
            + " | ".join(c.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;") for c in line)
            + " |"
        )

    rule = "|" + "|".join(" :-- " if n < text_columns else " --: " for n in range(len(head))) + "|"
    return "\n".join([render(head), rule, *map(render, body)]) + "\n"


_TEX: Final = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": "$-$",
    "–": "--",
    "…": r"\dots{}",
}


def _latex(head: Sequence[str], body: Sequence[Sequence[str]], text_columns: int) -> str:
    def render(line: Sequence[str]) -> str:
        return " & ".join("".join(_TEX.get(c, c) for c in cell) for cell in line) + r" \\"

    return "\n".join(
        [
            r"\begin{tabular}{" + "l" * text_columns + "r" * (len(head) - text_columns) + "}",
            r"\toprule",
            render(head),
            r"\midrule",
            *map(render, body),
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def _html(head: Sequence[str], body: Sequence[Sequence[str]], _text_columns: int) -> str:
    def render(line: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in line) + "</tr>"

    rows = "\n".join(render(line, "td") for line in body)
    return f"<table>\n<thead>{render(head, 'th')}</thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n"
