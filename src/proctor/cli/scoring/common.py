"""What the family commands share: their options, and how a table of scores is printed, written and drawn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from proctor.cli.console import emit, note
from proctor.errors import UserError

if TYPE_CHECKING:
    from proctor.metrics.table import ScoreTable

__all__ = [
    "ConfidenceOption",
    "LatexFlag",
    "ReportOption",
    "ResamplesOption",
    "SeedOption",
    "emit_scores",
]

_FEWEST_DRAWS: Final = 10

LatexFlag = Annotated[bool, typer.Option("--latex", help="Print a LaTeX table (booktabs) instead of text.")]
ReportOption = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE", help="Also write a page with tables and pictures (HTML)."),
]


def _level(value: float) -> float:
    if not 0 < value < 1:
        raise UserError(
            f"--confidence must lie strictly between 0 and 1, got {value:g}.",
            hint="95 % is --confidence 0.95",
        )
    return value


def _seed(value: int | None) -> int | None:
    if value is not None and value < 0:
        raise UserError(f"--seed must not be negative, got {value}.", hint="any number from 0 on will do")
    return value


def _draws(value: int) -> int:
    if 0 < value < _FEWEST_DRAWS:
        raise UserError(
            f"--resamples {value} is too few: the ends of an interval would be single draws.",
            hint="give 1000 or more, or 0 for no intervals",
        )
    return value


ConfidenceOption = Annotated[
    float, typer.Option("--confidence", help="Level of the intervals.", callback=_level)
]
ResamplesOption = Annotated[
    int,
    typer.Option(
        "--resamples", min=0, help="Draws of the bootstrap; 0 leaves the intervals out.", callback=_draws
    ),
]
SeedOption = Annotated[
    int | None,
    typer.Option("--seed", help="Run seed; same inputs and seed give the same bytes.", callback=_seed),
]


def emit_scores(
    table: ScoreTable, *, as_json: bool = False, latex: bool = False, report: Path | None = None
) -> None:
    """Print a table of scores in the form that was asked for; write the page if one was asked for.

    Raises:
        UserError: if two forms were asked for at once.
    """
    from proctor.report.score_table import render_scores
    from proctor.stages.scoring.result import table_as_json

    if as_json and latex:
        raise UserError("--json and --latex were both given.", hint="ask for one of them")
    if report is not None:
        from proctor.report.score_page import write_score_page

        write_score_page(report, table)
        note(f"written: {report}")
    if latex:
        emit({}, render_scores(table, "latex"), as_json=False)
        return
    emit(table_as_json(table), _text(table), as_json=as_json)


def _text(table: ScoreTable) -> str:
    from proctor.report.score_table import render_scores
    from proctor.report.signatures import group_signatures

    parts = [render_scores(table).rstrip("\n")]
    if seen := [f"{name} {n:,}" for name, n in table.counts.items() if n]:
        parts.append(", ".join(seen))
    parts += [f"note: {text}" for text in table.notes]
    parts.append("\n".join(group.joined for group in group_signatures(table.rows)))
    return "\n\n".join(part for part in parts if part)
