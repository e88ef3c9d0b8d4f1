"""What more frames and more pixels bring: every model with every view that it was shown, its score and its cost.

What a model gains by seeing is the paired difference to its own run without the recording, on the same questions; it
comes from the comparisons of all runs, so its p-value is corrected with theirs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from proctor.report.experiment import Experiment, ExperimentRow
from proctor.report.figures.parts import scrolling
from proctor.report.figures.tradeoff import TRADEOFF_GUIDE, Tradeoff, TradeoffPoint, draw_tradeoff
from proctor.report.naming import RunName
from proctor.report.standings import Standings

__all__ = ["Gain", "ModelViews", "ViewLine", "Views", "describe_views"]

QUESTIONS: Final = 1000
"""Costs are told for so many, in figures that people can hold."""


@dataclass(frozen=True, slots=True)
class Gain:
    """Paired difference of a run to its model's blind run, in points; ``decided`` when the two can be told apart."""

    value: float
    low: float | None
    high: float | None
    p: float | None


@dataclass(frozen=True, slots=True)
class ViewLine:
    """One view of a model.

    Attributes:
        row: the run.
        name: of the run.
        blind: it sees nothing of the recording.
        gain: against the model's blind run; None for that one, and where there is none.
        cost: US dollars for a thousand questions, None where no price is known.
        tokens: prompt tokens of one question on average, None where they are not known.
    """

    row: ExperimentRow
    name: RunName
    blind: bool
    gain: Gain | None
    cost: float | None
    tokens: float | None


@dataclass(frozen=True, slots=True)
class ModelViews:
    """A model, what its gains are measured against, and its views from the blind ones to the dearest."""

    model: str
    against: str
    lines: tuple[ViewLine, ...]


@dataclass(frozen=True, slots=True)
class Views:
    """The section: its table by model, the picture, and how to read it."""

    models: tuple[ModelViews, ...]
    picture: Markup | None
    guide: str = TRADEOFF_GUIDE

    @property
    def gains(self) -> bool:
        """True when some model has a run without the recording to be held against."""
        return any(line.gain is not None for m in self.models for line in m.lines)


def describe_views(
    standings: Standings, experiment: Experiment, names: Mapping[str, RunName]
) -> Views | None:
    """Return the section, None unless a model was shown some of the recordings."""
    by_model: dict[str, list[ExperimentRow]] = {}
    for row in experiment.rows:
        if row.model and row.row.scored:
            by_model.setdefault(row.model, []).append(row)
    if not any(_sees(r) for rows in by_model.values() for r in rows):
        return None
    models = tuple(_model(m, rows, standings, names) for m, rows in by_model.items())
    return Views(models, _picture(models, experiment, standings))


def _sees(row: ExperimentRow) -> bool:
    return row.row.run.role != "floor" and bool(row.frames or row.resolution or row.shown)


def _model(
    model: str, rows: Sequence[ExperimentRow], standings: Standings, names: Mapping[str, RunName]
) -> ModelViews:
    blind = [r for r in rows if not _sees(r)]
    # Against the run that knows most without looking: what is left is what the pictures bring.
    base = max(blind, key=lambda r: r.answering.tokens_in.value, default=None)
    against = base.row.run.name if base is not None else ""
    lines = [_line(r, against, standings, names) for r in rows]
    lines.sort(key=lambda v: (not v.blind, v.cost if v.cost is not None else math.inf))
    return ModelViews(model, against, tuple(lines))


def _line(row: ExperimentRow, against: str, standings: Standings, names: Mapping[str, RunName]) -> ViewLine:
    tokens = row.answering.tokens_in
    return ViewLine(
        row=row,
        name=names[row.row.run.name],
        blind=not _sees(row),
        gain=_gain(row.row.run.name, against, standings) if against and _sees(row) else None,
        cost=None if row.each is None else QUESTIONS * row.each,
        tokens=float(tokens.value / tokens.known) if tokens.known else None,
    )


def _gain(run: str, against: str, standings: Standings) -> Gain | None:
    """Read the comparison of two runs as the first minus the second."""
    c = standings.comparison(run, against)
    if c is None or c.difference is None:
        return None
    if c.b == run:
        return Gain(c.difference, c.low, c.high, c.p_holm)
    return Gain(-c.difference, _minus(c.high), _minus(c.low), c.p_holm)


def _minus(value: float | None) -> float | None:
    return None if value is None else -value


def _picture(models: Sequence[ModelViews], experiment: Experiment, standings: Standings) -> Markup | None:
    points = tuple(_point(m.model, v) for m in models for v in m.lines if v.cost)
    if not points:
        return None
    floor = experiment.floors.get("all")
    lines = [("best floor", floor.value)] if floor is not None else []
    uppers = [r.score.value for r in standings.rows if r.run.role == "upper" and r.scored]
    people = [r.score.value for r in standings.rows if r.run.role == "human" and r.scored]
    lines += [("upper bound", max(uppers))] if uppers else []
    lines += [("people", max(people))] if people else []
    drawn = draw_tradeoff(
        Tradeoff("Score against cost", points, tuple(lines), f"US dollars for {QUESTIONS:,} questions")
    )
    return scrolling("Score against cost", drawn)


def _point(model: str, v: ViewLine) -> TradeoffPoint:
    score = v.row.row.score
    return TradeoffPoint(
        label=v.name.tag or v.name.title,
        group=model,
        cost=v.cost or 0.0,
        value=score.value,
        low=score.low,
        high=score.high,
        blind=v.blind,
    )
