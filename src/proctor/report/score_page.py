"""A page of one family's scores: tables, pictures and signatures in one file that works offline.

The page runs no script at all; its content security policy allows its own style sheet and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final

from jinja2 import Environment
from markupsafe import Markup

from proctor.metrics.catalogue import MODULES, Metric
from proctor.metrics.figure import Figure
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.records import atomic_write
from proctor.report.figures import draw_figure, figure_guide
from proctor.report.page import asset, content_policy, new_environment
from proctor.report.plaintext import clip_line, clip_text
from proctor.report.score_table import (
    arrange_scores,
    group_signatures,
    lay_out,
    render_scores,
    show_ends,
    show_label,
    show_score,
)

__all__ = ["FAMILY_TITLES", "render_score_page", "write_score_page"]

FAMILY_TITLES: Final[dict[str, str]] = {
    "localization": "Step localization",
    "classification": "Error recognition",
    "clustering": "Procedure learning",
    "segmentation": "Step segmentation",
    "ordering": "Step ordering",
    "agreement": "Agreement between annotators",
    "retrieval": "Retrieval of sources",
    "answer": "Answers",
    "text": "Text statistics",
    "significance": "Significance and calibration",
}

_OPEN: Final = 40
"""So many lines of a table are shown at once; the others unfold."""
_MAX_TEXT: Final = 2000
_MAX_SIGNATURES: Final = 200
_MAX_LATEX: Final = 200_000


def write_score_page(path: Path, table: ScoreTable, *, title: str = "", written: str = "") -> Path:
    """Write the page, whole or not at all, and return its path.

    Raises:
        UserError: if the folder cannot be written.
        ValueError: if a picture's labels and numbers are not equally many.
    """
    page = render_score_page(table, title=title, written=written)
    with atomic_write(path) as stream:
        stream.write(page.encode("utf-8", "replace"))
    return path


def render_score_page(table: ScoreTable, *, title: str = "", written: str = "") -> str:
    """Return the page as HTML; equal tables give equal text.

    Args:
        table: the scores, from ``proctor metrics FAMILY``.
        title: the heading, instead of the name of the family.
        written: when or by whom, printed as it is; the page has no date of its own.

    Raises:
        ValueError: if a picture's labels and numbers are not equally many.
    """
    style = asset("base.css") + asset("figures.css") + asset("scores.css")
    arranged = arrange_scores(table)
    grid = lay_out(arranged, turned=arranged.tall)
    return (
        _environment()
        .get_template("scores.html.j2")
        .render(
            title=clip_line(title, _MAX_TEXT) if title else FAMILY_TITLES.get(table.family, table.family),
            written=clip_line(written, _MAX_TEXT) if written else "",
            table=table,
            counts=[(show_label(name), f"{n:,}") for name, n in table.counts.items() if n],
            arranged=arranged,
            grid=grid,
            rules=grid.rules,
            chance=any(line.chance for line in arranged.lines),
            intervals=any(show_ends(row) for row in table.rows),
            pictures=_pictures(table.figures),
            signatures=_signatures(table.rows),
            definitions=_definitions(table),
            latex=clip_text(render_scores(table, "latex"), _MAX_LATEX),
            policy=content_policy(style),
            style=Markup(style),  # noqa: S704 - our own file
        )
    )


@cache
def _environment() -> Environment:
    environment = new_environment()
    environment.globals.update(ends=show_ends, open_lines=_OPEN, most_signatures=_MAX_SIGNATURES)
    environment.filters.update(
        number=lambda row: show_score(row).replace("-", "−"),
        minus=lambda text: text.replace("-", "−"),
        line=lambda text: clip_line(str(text), _MAX_TEXT),
    )
    return environment


# -- around the table --------------------------------------------------------------------------------------------


def _pictures(figures: Sequence[Figure]) -> list[tuple[str, Markup, str]]:
    """Draw them; how to read a kind is said once, above the first of it."""
    pictures, said = [], set()
    for figure in figures:
        guide = figure_guide(figure)
        title = clip_line(figure.title, _MAX_TEXT)
        pictures.append((title, draw_figure(figure), "" if guide in said else guide))
        said.add(guide)
    return pictures


def _signatures(rows: Sequence[ScoreRow]) -> list[tuple[str, str, tuple[tuple[str, str], ...]]]:
    """Every measure with its signature; those that differ between scores also one by one."""
    return [
        (
            _some([show_label(metric) for metric in group.metrics]) + (" (chance)" if group.chance else ""),
            clip_line(group.joined, _MAX_TEXT),
            tuple(_one(row, text) for row, text in group.each) if len(group.each) > 1 else (),
        )
        for group in group_signatures(rows)
    ]


def _one(row: ScoreRow, signature: str) -> tuple[str, str]:
    return f"{show_label(row.metric)}, {show_label(row.slice)}", clip_line(signature, _MAX_TEXT)


def _some(labels: Sequence[str], most: int = 6) -> str:
    rest = len(labels) - most
    return ", ".join(labels[:most]) + (f" and {rest:,} more" if rest > 0 else "")


def _definitions(table: ScoreTable) -> list[Metric]:
    """The entries of the catalogue for what the page shows, in the catalogue's order."""
    names = {row.score.signature.name for row in table.rows}
    modules = (import_module(f"proctor.metrics.{name}") for name in MODULES.get(table.family, ()))
    return [entry for module in modules for entry in module.METRICS if entry.name in names]
