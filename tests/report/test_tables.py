from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any, cast

import pytest

from proctor.report.data import ReportData, ReportOptions, Run
from proctor.report.grid import TABLE_FORMATS
from proctor.report.standings import Standings, compute_standings
from proctor.report.tables import scores_table, show_value


@pytest.fixture(scope="module")
def standings(small: ReportData, quick: ReportOptions) -> Standings:
    return compute_standings(small, quick)


def test_text_is_aligned(standings: Standings) -> None:
    lines = scores_table(standings, "text").splitlines()
    assert lines[0].split() == ["run", "role", "score", "interval", "clean", "noisy", "next", "missing", "order", "scored", "failed", "unscored", "not", "asked"]  # fmt: skip
    assert len(lines) == 6
    column = lines[0].index("score") + len("score")
    assert all(line[column - 1].isdigit() for line in lines[2:])


def test_markdown_has_one_cell_a_column(standings: Standings) -> None:
    lines = scores_table(standings, "markdown").splitlines()
    assert len({line.count("|") for line in lines}) == 1
    assert "| strong | system | 87.5 |" in lines[3]


def test_latex_closes_what_it_opens(standings: Standings) -> None:
    text = scores_table(standings, "latex")
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 1
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert len({line.count("&") for line in rows}) == 1


def test_html_is_a_table_of_text(standings: Standings) -> None:
    tags: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.append(tag)

    Reader().feed(scores_table(standings, "html"))
    assert set(tags) == {"table", "thead", "tbody", "tr", "th", "td"}
    assert tags.count("tr") == 5


EVIL = r"<script>|\&%$#_{}~^" + "\n\u202e"


@pytest.mark.parametrize("format_", TABLE_FORMATS)
def test_names_cannot_break_a_format(
    small: ReportData, quick: ReportOptions, run_factory: Callable[..., Run], format_: Any
) -> None:
    run = run_factory(EVIL, small.items, "2")
    text = scores_table(compute_standings(replace(small, runs=(run,)), quick), format_)
    assert "\u202e" not in text
    assert len(text.strip().splitlines()) <= 8
    if format_ != "text":
        assert "<script>" not in text or format_ == "latex"
    if format_ == "latex":
        assert r"\textbackslash{}\&\%\$\#\_\{\}\textasciitilde{}\textasciicircum{}" in text


def test_an_unknown_format_is_named(standings: Standings) -> None:
    with pytest.raises(ValueError, match="csv"):
        scores_table(standings, cast("Any", "csv"))


def test_undefined_scores_are_dashes(small: ReportData, quick: ReportOptions) -> None:
    text = scores_table(compute_standings(replace(small, runs=(Run("empty", "empty"),)), quick), "markdown")
    assert "| empty | system | – | – |" in text
    assert "nan" not in text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "–"), (math.nan, "–"), (-3.25, "−3.2"), (-0.01, "0.0"), (100, "100.0")]
)
def test_numbers(value: float | None, text: str) -> None:
    assert show_value(value) == text
