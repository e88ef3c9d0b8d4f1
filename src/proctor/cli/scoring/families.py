"""``proctor metrics FAMILY``: the commands of all families, made from their settings, and how a table of scores is printed."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from proctor.cli.console import emit
from proctor.cli.options import Output, command_of
from proctor.errors import UserError
from proctor.settings import Settings, option
from proctor.stages.scoring import score_family, settings_of
from proctor.terminal import note, progress

if TYPE_CHECKING:
    from proctor.metrics.table import ScoreRow, ScoreTable

__all__ = ["apps", "table_as_json"]


class Shape(Settings, frozen=True, kw_only=True):
    """In which forms a table of scores is given out."""

    latex: Annotated[bool, option("Print a LaTeX table (booktabs) instead of text.")] = False
    report: Annotated[
        Path | None, option("Also write a page with tables and pictures (HTML).", metavar="FILE")
    ] = None


class _Apps(dict[str, typer.Typer]):
    """The command of each family, made when it is asked for."""

    def __missing__(self, family: str) -> typer.Typer:
        struct = settings_of(family)

        def score(settings: Any, output: Output, shape: Shape) -> None:
            with progress(settings.slow, quiet=not settings.slow) as step:
                table = score_family(family, settings, **({"step": step} if settings.slow else {}))
            _emit(table, as_json=output.as_json, latex=shape.latex, report=shape.report)

        score.__annotations__["settings"] = struct
        self[family] = command_of(family, struct.__doc__ or "", score)
        return self[family]


apps = _Apps()


def _emit(table: ScoreTable, *, as_json: bool, latex: bool, report: Path | None) -> None:
    """Print a table of scores in the form that was asked for; write the page if one was asked for.

    Raises:
        UserError: if two forms were asked for at once.
    """
    from proctor.report.score_table import render_scores

    if as_json and latex:
        raise UserError("--json and --latex were both given.", hint="ask for one of them")
    if report is not None:
        from proctor.report.score_page import write_score_page

        write_score_page(report, table)
        note(f"written: {report}")
    if latex:
        emit({}, render_scores(table, "latex"), as_json=False)
    elif as_json:
        emit(table_as_json(table), "", as_json=True)
    else:
        emit({}, _text(table), as_json=False)


def _text(table: ScoreTable) -> str:
    from proctor.report.score_table import group_signatures, render_scores

    parts = [render_scores(table).rstrip("\n")]
    if seen := [f"{name} {n:,}" for name, n in table.counts.items() if n]:
        parts.append(", ".join(seen))
    parts += [f"note: {text}" for text in table.notes]
    parts.append("\n".join(group.joined for group in group_signatures(table.rows)))
    return "\n\n".join(part for part in parts if part)


def table_as_json(table: ScoreTable) -> dict[str, Any]:
    """Return the whole result: the family, its headline values, every score, counts, notes and pictures as data.

    Scores are shares from 0 to 1; ``percent`` says of each whether tables print it times 100, as the headline has it.
    Undefined values are null, and the ``note`` of that score says why.
    """
    return {
        "family": table.family,
        **{name: _plain(value) for name, value in table.headline.items()},
        "counts": dict(table.counts),
        "notes": list(table.notes),
        "scores": [_row(row) for row in table.rows],
        "figures": [{"type": type(figure).__name__, **_plain(asdict(figure))} for figure in table.figures],
    }


def _row(row: ScoreRow) -> dict[str, Any]:
    return {
        "metric": row.metric,
        "slice": row.slice,
        "chance": row.chance,
        "percent": row.percent,
        **row.score.to_dict(),
    }


def _plain(value: Any) -> Any:
    """Return a value that JSON has: no nan, no tuples, no arrays."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return value
