"""``proctor learn table``, ``protocols`` and ``sweep``: the paper's tables beside ours, what differs, and many settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from proctor.cli.console import emit
from proctor.cli.console import table as columns
from proctor.cli.options import Output, Spread, with_settings
from proctor.learn.settings import TrainOptions
from proctor.stages.learn.settings import ProtocolsSettings, SweepSettings, TableSettings
from proctor.terminal import progress, warn

if TYPE_CHECKING:
    from proctor.stages.learn.protocols import Measured
    from proctor.stages.learn.tables import PaperTable, PaperTableRow

__all__ = ["protocols", "sweep", "table"]


@with_settings
def table(settings: TableSettings, training: TrainOptions, output: Output) -> None:
    """Make a table of CaptainCook4D's paper again: printed rows, ours, and chance.

    Rows that need features or models that were not given say what to give.

    Example: proctor learn table 2 --annotations ~/data/captaincook4d
    """
    from proctor.stages.learn.tables import table_jobs, table_of_paper

    with progress(
        "training", sum(not job.missing for job in table_jobs(settings)), quiet=output.as_json
    ) as seen:
        result = table_of_paper(settings, seen, training)
    emit(result, _paper_text(result, settings.form), as_json=output.as_json)


def _paper_text(result: PaperTable, form: Literal["text", "markdown", "latex"]) -> str:
    from proctor.report.grid import render_grid

    several = any(row.kind for row in result.rows)
    head = ("", "split", *(("kind",) if several else ()), "model", "steps", "mistakes", *result.columns)
    notes = list(dict.fromkeys(row.note for row in result.rows if row.note))
    body = [
        (
            row.source,
            row.split,
            *((row.kind,) if several else ()),
            f"{row.name} [{notes.index(row.note) + 1}]" if row.note else row.name,
            *("" if count is None else f"{count}" for count in (row.n, row.positives)),
            *(_cell(row, column) for column in result.columns),
        )
        for row in result.rows
    ]
    grid = render_grid(head, body, form, text_columns=4 if several else 3)
    sign = "% " if form == "latex" else ""
    below = (*(f"[{number}] {text}" for number, text in enumerate(notes, 1)), "", *result.notes)
    ends = "  " if form == "markdown" else ""  # of a line that is not joined with the next
    return "\n".join([f"{sign}{result.title}", "", grid, "", *(f"{sign}{line}{ends}" for line in below)])


def _cell(row: PaperTableRow, column: str) -> str:
    if column not in row.values:
        return ""
    value = f"{row.values[column]:.1f}" if row.source == "ours" else f"{row.values[column]:.2f}"
    ends = row.intervals.get(column)
    return (
        value
        if ends is None or column not in ("AUC", "within recordings")
        else f"{value} [{ends[0]:.1f}, {ends[1]:.1f}]"
    )


@with_settings
def protocols(settings: ProtocolsSettings, output: Output) -> None:
    """Measure where the paper, its released code and what is right differ, and how much each difference changes.

    Example: proctor learn protocols --annotations ~/data/captaincook4d
    """
    from proctor.stages.learn.protocols import as_markdown, compare_protocols, trainings

    with progress("training", trainings(settings), quiet=output.as_json) as seen:
        result = compare_protocols(settings, seen)
    rows = [
        (
            one.name,
            row.figure,
            row.model,
            row.split,
            f"{row.published:.1%}",
            f"{row.right:.1%}",
            _change(row),
            row.note,
        )
        for one in result.differences
        for row in one.measured
    ]
    header = ("difference", "figure", "model", "split", "published", "right", "change", "")
    text = as_markdown(result) if settings.markdown else columns(rows, header)
    emit(result, text, as_json=output.as_json)


def _change(row: Measured) -> str:
    ends = "" if row.low is None or row.high is None else f" ({100 * row.low:+.1f} to {100 * row.high:+.1f})"
    return f"{100 * (row.published - row.right):+.1f}{ends}"


@with_settings
def sweep(settings: SweepSettings, spread: Spread, output: Output) -> None:
    """Try many settings of learn mistakes, on a grid or at random, and choose on validation data.

    Every trial is a run folder. A sweep that was stopped continues where it was; a file with more in it tries the rest.

    Example: proctor learn sweep --settings sweep.toml --out sweep --workers 2
    """
    from proctor.compute import place_of
    from proctor.stages.learn.sweep import sweep_mistakes, trials_of

    total = len(trials_of(settings.settings, settings.out)[0])
    with progress("trials", total, quiet=output.as_json) as seen:
        result = sweep_mistakes(settings, place_of(spread.workers), seen)
    for trial, why in result.failed.items():
        warn(f"{trial} failed: {why}")
    names = list(dict.fromkeys(name for row in result.rows for name in row.varied))
    rows = [
        (
            *(row.varied.get(name, "") for name in names),
            row.seeds,
            f"{row.figure:.1%}",
            f"{row.deviation:.1%}",
        )
        for row in result.rows
    ]
    tested = ", ".join(f"{name} {value:.1%}" for name, value in result.test.items())
    text = (
        columns(rows, (*names, "seeds", f"{result.figure} on val", "deviation"))
        + f"\n\nthe first row on test: {tested}\n{result.trained:,} trials trained now; all are in {result.journal}"
    )
    emit(result, text, as_json=output.as_json)
