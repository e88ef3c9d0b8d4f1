"""What more frames and more pixels bring: every model with every view that it was shown, its score and its cost.

What a model gains by seeing is the paired difference to its own run without the recording, on the same questions; it
comes from the comparisons of all runs, so its p-value is corrected with theirs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from proctor.exam.prediction import Prediction
from proctor.report.figures.tradeoff import TRADEOFF_GUIDE, Tradeoff, TradeoffPoint, draw_tradeoff, money
from proctor.report.naming import common, without_address
from proctor.report.numbers import number, show_value, signed
from proctor.report.parts import Cell, Drawn, Part, Row, Table
from proctor.report.standing import Line, Standing

__all__ = ["view_parts"]

_QUESTIONS: Final = 1000
"""Costs are told for so many, in figures that people can hold."""


def view_parts(standing: Standing) -> Iterator[Part]:
    """Yield table and picture; nothing unless a model was shown some of the recordings."""
    by_model: dict[str, list[Line]] = {}
    for line in standing.scored:
        if model := common(p.details.get("model", "") for p in line.run.predictions):
            by_model.setdefault(model, []).append(line)
    if not any(_sees(line) for lines in by_model.values() for line in lines):
        return
    floor = standing.best("floor")
    rows: list[Row] = []
    points = []
    for model, lines in by_model.items():
        # Against the run that knows most without looking: what is left is what the pictures bring.
        base = max(
            (r for r in lines if not _sees(r)), key=lambda r: _mean(r, "tokens_in") or 0.0, default=None
        )
        for line in sorted(lines, key=lambda r: (_sees(r), _cost(r) if _cost(r) is not None else math.inf)):
            cost, tokens, row = _cost(line), _mean(line, "tokens_in"), line.row()
            lift = (
                None
                if floor is None or floor.value is None or line.value is None
                else line.value - floor.value
            )
            rows.append(
                (
                    Cell(without_address(model), line.name.view or line.name.title, "" if _sees(line) else "floor", title=line.run.name),
                    number(row, tone="strong"), signed(lift), _gain(standing, line, base),
                    "–" if tokens is None else f"{tokens:,.0f}", "–" if cost is None else money(_QUESTIONS * cost),
                )
            )  # fmt: skip
            if cost and row is not None and row.value is not None:
                label, blind = line.name.tag or line.name.title, not _sees(line)
                points.append(
                    TradeoffPoint(
                        label, without_address(model), _QUESTIONS * cost, row.value, row.low, row.high, blind
                    )
                )
    if points:
        uppers = [(name, row.value) for name, role in (("best floor", "floor"), ("upper bound", "upper"), ("people", "human"))
                  if (row := standing.best(role)) is not None and row.value is not None]  # fmt: skip
        unit = f"US dollars for {_QUESTIONS:,} questions"
        yield Drawn(
            "Score against cost",
            draw_tradeoff(Tradeoff("Score against cost", tuple(points), tuple(uppers), unit)),
            TRADEOFF_GUIDE,
        )
    head = (
        "Model and view",
        "Score",
        "Above the best floor",
        "By seeing",
        "Tokens in, a question",
        f"US dollars, {_QUESTIONS:,} questions",
    )
    note = (
        "By seeing: the paired difference to the same model's run without the recording, on the same questions; * it can be told "
        "apart from 0 after Holm's correction over all pairs of runs. Costs are those of answering, without what describing frames "
        "for several runs cost."
    )
    yield Table("What more frames and pixels bring", head, tuple(rows), note)


def _sees(line: Line) -> bool:
    return line.run.role != "floor" and any(_looked(p) for p in line.run.predictions)


def _looked(p: Prediction) -> bool:
    return bool(p.frame_times or p.frame_indices or p.details.get("frames") or p.details.get("resolution"))


def _mean(line: Line, key: str) -> float | None:
    """Return the mean over those answers that say it."""
    texts: Sequence[str] = [p.details[key] for p in line.run.predictions if key in p.details]
    values = [float(t) for t in texts if t.replace(".", "", 1).isdecimal() and len(t) < 20]
    return sum(values) / len(values) if values else None


def _cost(line: Line) -> float | None:
    return _mean(line, "cost")


def _gain(standing: Standing, line: Line, base: Line | None) -> Cell:
    told = standing.compared.get((line.run.name, base.run.name)) if base is not None and _sees(line) else None
    if base is None or told is None:
        return Cell("–", tone="soft")
    ends = f"{signed(told.low)} to {signed(told.high)}, " if told.low is not None else ""
    return Cell(
        signed(told.difference) + ("*" if told.decided else ""), f"{ends}over {show_value(base.value)}"
    )
