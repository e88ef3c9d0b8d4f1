"""A page of one family's scores: tables and pictures in one file that works offline."""

from __future__ import annotations

import html
from pathlib import Path

from proctor.metrics.table import ScoreTable
from proctor.records import atomic_write
from proctor.report.plaintext import show_text
from proctor.report.score_table import render_scores

__all__ = ["render_score_page", "write_score_page"]


def write_score_page(path: Path, table: ScoreTable) -> Path:
    """Write the page, whole or not at all, and return its path."""
    with atomic_write(path) as stream:
        stream.write(render_score_page(table).encode("utf-8"))
    return path


def render_score_page(table: ScoreTable) -> str:
    """Return the page as HTML; texts from data are escaped."""
    scores = html.escape(show_text(render_scores(table)))
    return f"<!DOCTYPE html>\n<title>{table.family}</title>\n<pre>{scores}</pre>\n"
