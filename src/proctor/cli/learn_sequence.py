"""``proctor learn sequence``: put the steps of manuals in order."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from proctor.cli.console import counted, emit, table
from proctor.cli.options import Output, with_settings
from proctor.learn.settings import TrainOptions
from proctor.stages.learn.sequence_settings import (
    SequencePageSettings,
    SequenceSettings,
    SequenceTableSettings,
)
from proctor.terminal import progress, warn

if TYPE_CHECKING:
    from proctor.learn.sequencing.figures import OrderFigures
    from proctor.stages.learn.sequence import LearnedSequence
    from proctor.stages.learn.sequence_tables import OrderTable

__all__ = ["sequence", "sequence_page", "sequence_table"]

_ENDS: Final = ("perfect_match_ratio", "kendall_tau")


@with_settings
def sequence(settings: SequenceSettings, training: TrainOptions, output: Output) -> None:
    """Train a model that puts the shuffled steps of manuals in order, and test it on manuals of other tasks.

    70 % of the tasks are learned from, everything is chosen on 10 %, and the rest is predicted once, along with baselines. A run answers
    exams: proctor predict WORKSPACE -p model:RUN. More: docs/sequencing.md.

    Example: proctor learn sequence --data manuals.jsonl --model pairwise --seed 0 --json

    Example: proctor learn sequence --data manuals.jsonl --model tiny --modality both --pretrain mlm,isp --out runs/tiny-both

    Example: proctor learn sequence --data manuals.jsonl --model berson --encoder text:roberta-large --protocol paper
    """
    from proctor.stages.learn.sequence import learn_sequence

    result = learn_sequence(settings, training, partial(progress, quiet=output.as_json))
    for note in result.notes:
        warn(note)
    emit(result, _text(result), as_json=output.as_json)


def _text(result: LearnedSequence) -> str:
    rows = {"test": result.test, "dev": result.dev} | {f"floor: {n}": f for n, f in result.floors.items()}
    parts = [f"{result.asked}; sequences: {counted(result.parts)}", _figures(rows)]
    for name, one in result.compared.items():
        tests = [(what, p) for what, p in (("p", one.p), ("McNemar", one.mcnemar)) if p is not None]
        ps = "".join(f", {what} {'< 0.0001' if p < 1e-4 else f'{p:.4f}'}" for what, p in tests)
        above = _with(one.difference, one.interval, "+")
        parts.append(f"{name} above {one.floor}: {above}{ps}, over {one.tasks} tasks")
    span = "{:.3f} to {:.3f}".format
    if found := result.references:
        lines = [(n, r.n, *(span(r.single[f], r.multi[f]) for f in _ENDS if r.n)) for n, r in found.items()]
        parts.append(table(lines, ("orders that are right", "n", "PMR, first to best", "tau, first to best")))
    if graphs := result.partial:
        against = [(n, p.n, _with(p.value, p.interval), _with(p.chance)) for n, p in graphs.items()]
        parts.append(table(against, ("against task graphs", "n", "value", "chance")))
    if (pairs := result.calibration) is not None:
        error, brier = f"{pairs.expected_calibration_error:.3f}", f"{pairs.brier_score:.3f}"
        parts.append(f"{pairs.pairs:,} pairs: expected calibration error {error}, Brier score {brier}")
    slices = {"category": result.by_category, "with": result.by_alternatives}
    parts.append(_figures({f"{what} {name}": f for what, by in slices.items() for name, f in by.items()}))
    listed = f", listed in {result.run}/dropped.jsonl" if result.run and result.dropped else ""
    parts.append(f"left out: {counted(result.dropped)}{listed}")
    return "\n\n".join(parts)


def _figures(rows: Mapping[str, OrderFigures]) -> str:
    lines = []
    for name, f in rows.items():
        ends = (_with(getattr(f, figure), f.intervals.get(figure)) for figure in _ENDS)
        steps = (f.longest_common_subsequence, f.longest_common_substring, f.displacement)
        lines.append((name, f.n, *ends, f.position_accuracy, *(f"{value:.2f}" for value in steps)))
    return table(lines, ("", "n", "PMR", "tau", "Acc", "Lq", "Lr", "Dist"))


def _with(value: float | None, interval: tuple[float, float] | None = None, sign: str = "") -> str:
    ends = "" if interval is None else f" ({interval[0]:{sign}.3f} to {interval[1]:{sign}.3f})"
    return "-" if value is None else f"{value:{sign}.3f}{ends}"


@with_settings
def sequence_table(settings: SequenceTableSettings, training: TrainOptions, output: Output) -> None:
    """Make Table 2 or 3 of the paper on sequencing again, on your data: printed rows, ours, chance.

    Every cell is a run folder under --out; the table can be stopped and made again. A row that cannot be made says why.

    Example: proctor learn sequence-table 2 --data manuals.jsonl --out runs/table-2 --seeds 5

    Example: proctor learn sequence-table 3 --data manuals.jsonl --out runs/table-3 --as latex
    """
    from proctor.stages.learn.sequence_tables import order_table, table_runs

    with progress("training", len(table_runs(settings)), quiet=output.as_json) as seen:
        result = order_table(settings, seen, training)
    emit(result, _table_text(result, settings.form), as_json=output.as_json)


def _table_text(result: OrderTable, form: Literal["text", "markdown", "latex"]) -> str:
    from proctor.report.grid import render_grid

    body = []
    for row in result.rows:
        spread = [f" ± {d:.2f}" for d in row.deviations] or [""] * len(row.values)
        cells = [f"{v:.2f}{d}" for v, d in zip(row.values, spread, strict=True)] or [""] * len(result.columns)
        names = (row.source, row.data, row.modality, row.model, row.pretraining)
        body.append((*names, f"{row.n or ''}", *cells))
    head = ("", "data", "modality", "model", "pretraining", "n", *result.columns)
    grid = render_grid(head, body, form, text_columns=5)
    why = dict.fromkeys(f"{r.modality} on {r.data}: {r.note}" for r in result.rows if r.note)
    sign, ends = ("% ", "") if form == "latex" else ("", "  " if form == "markdown" else "")
    title = f"{sign}Table {result.number}: steps put in order"
    return "\n".join([title, "", grid, "", *(f"{sign}{line}{ends}" for line in (*why, *result.notes))])


@with_settings
def sequence_page(settings: SequencePageSettings, output: Output) -> None:
    """Draw runs of learn sequence, of one file and seed, as one page: leaderboard, pairs, and right and predicted orders.

    Example: proctor learn sequence-page runs/pairwise runs/tiny-text --out page.html
    """
    from proctor.stages.learn.sequence_page import draw_sequences

    result = draw_sequences(settings)
    text = f"{result.page}: {result.sequences:,} sequences; {'; '.join(result.runs)}"
    emit(result, "\n".join([text, *(f"note: {n}" for n in result.notes)]), as_json=output.as_json)
