"""The experiment as the paper lays it out (ProMQA, tables 8 and 14): what each run saw, scored and cost.

Beside every score stands how far it is above the best blind floor of the same slice: what a run gains by looking. Blind are
the runs whose role is ``floor``. Sums of tokens and money say for how many answers they are known; an unknown price is
never counted as 0.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

from proctor.exam.prediction import Judgement, Prediction
from proctor.report.naming import common, span
from proctor.report.standings import Row, Slice, Standings

__all__ = ["Experiment", "ExperimentRow", "Floor", "Sum", "Usage", "describe_experiment"]


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum over records, and for how many of them the figure is known."""

    value: Decimal
    known: int
    of: int

    @property
    def complete(self) -> bool:
        """True when it is known for all."""
        return self.known == self.of

    @property
    def text(self) -> str:
        """The sum for people: thousands apart; a dash when nothing is known."""
        if not self.known:
            return "–"
        whole = self.value == self.value.to_integral_value()
        return (
            f"{self.value:,.0f}"
            if whole
            else f"{self.value:,.2f}"
            if self.value >= 1
            else f"{self.value:,.4f}"
        )


@dataclass(frozen=True, slots=True)
class Usage:
    """What some records cost: calls, tokens in and out, money in US dollars."""

    calls: Sum
    tokens_in: Sum
    tokens_out: Sum
    cost: Sum

    @property
    def known(self) -> bool:
        """True when anything is known."""
        return any(s.known for s in (self.calls, self.tokens_in, self.tokens_out, self.cost))


@dataclass(frozen=True, slots=True)
class Floor:
    """The best blind score of a slice, and whose it is."""

    value: float
    run: str


@dataclass(frozen=True, slots=True)
class ExperimentRow:
    """One run.

    Attributes:
        row: its scores.
        model: behind it; empty when the predictions do not say.
        frames: how many were asked for; a range when that differs.
        shown: mean number of frames really shown with an answer; None when none were.
        resolution: as the predictions say.
        sampling: as the predictions say.
        lifts: points above the best blind floor by slice; none for blind runs themselves.
        answering: what the predictions cost.
        judging: what the judgements cost.
        shrunk: what was made smaller so that the provider takes it, in words, and for how many answers.
    """

    row: Row
    model: str
    frames: str
    shown: float | None
    resolution: str
    sampling: str
    lifts: Mapping[str, float]
    answering: Usage
    judging: Usage
    shrunk: Mapping[str, int] = field(default_factory=dict)

    @property
    def each(self) -> float | None:
        """Mean US dollars of one answer, over those whose price is known; None without one."""
        cost = self.answering.cost
        return float(cost.value / cost.known) if cost.known else None


@dataclass(frozen=True, slots=True)
class Experiment:
    """The whole table.

    Attributes:
        rows: in the order of the standings.
        slices: average, clean, noisy, then each type.
        floors: best blind floor by slice key; empty without a blind run.
        media: whether any run says which frames it saw.
        usage: whether any run says what it cost.
        incomplete: runs of which some cost is unknown, with the number of answers.
    """

    rows: tuple[ExperimentRow, ...]
    slices: tuple[Slice, ...]
    floors: Mapping[str, Floor]
    media: bool
    usage: bool
    incomplete: tuple[tuple[str, int, int], ...]


def describe_experiment(standings: Standings) -> Experiment:
    """Gather the table; the rows of the standings hold their runs."""
    slices = (*standings.group("all"), *standings.group("noise"), *standings.group("type"))
    floors = _floors(standings.rows, slices)
    rows = tuple(_row(row, slices, floors) for row in standings.rows)
    priced = [r for r in rows if r.answering.known]
    return Experiment(
        rows=rows,
        slices=slices,
        floors=floors,
        media=any(r.frames or r.resolution or r.shown for r in rows),
        usage=any(r.answering.known or r.judging.known for r in rows),
        incomplete=tuple(
            (r.row.run.name, r.answering.cost.known, r.answering.cost.of)
            for r in priced
            if not r.answering.cost.complete
        ),
    )


def _floors(rows: Sequence[Row], slices: Sequence[Slice]) -> dict[str, Floor]:
    found: dict[str, Floor] = {}
    for row in rows:
        if row.run.role != "floor":
            continue
        for s in slices:
            score = row.scores.get(s.key)
            if score is None or math.isnan(score.value):
                continue
            if s.key not in found or score.value > found[s.key].value:
                found[s.key] = Floor(score.value, row.run.name)
    return found


def _row(row: Row, slices: Sequence[Slice], floors: Mapping[str, Floor]) -> ExperimentRow:
    predictions = row.run.predictions
    failed = {p.item_id for p in predictions if p.answer is None}
    counts = [len(p.frame_times or p.frame_indices) for p in predictions if p.answer is not None]
    lifts = {}
    if row.run.role != "floor":
        for s in slices:
            score = row.scores.get(s.key)
            if score is not None and s.key in floors and not math.isnan(score.value):
                lifts[s.key] = score.value - floors[s.key].value
    return ExperimentRow(
        row=row,
        model=common(p.details.get("model", "") for p in predictions),
        frames=span(p.details.get("frames", "") for p in predictions),
        shown=sum(counts) / len(counts) if any(counts) else None,
        resolution=common(p.details.get("resolution", "") for p in predictions),
        sampling=common(p.details.get("sampling", "") for p in predictions),
        lifts=lifts,
        answering=_usage(predictions),
        # An answer that failed was never sent to the judge, so nothing is unknown about it.
        judging=_usage([j for j in row.run.judgements if j.item_id not in failed]),
        shrunk=dict(
            Counter(p.details["shrunk"] for p in predictions if p.details.get("shrunk")).most_common()
        ),
    )


def _usage(records: Sequence[Prediction] | Sequence[Judgement]) -> Usage:
    def total(*keys: str) -> Sum:
        return _sum(records, lambda d: next((d[k] for k in keys if k in d), ""))

    return Usage(total("calls"), total("tokens_in"), total("tokens_out"), total("cost"))


def _sum(
    records: Sequence[Prediction] | Sequence[Judgement], read: Callable[[Mapping[str, str]], str]
) -> Sum:
    values = [v for record in records if (v := _number(read(record.details))) is not None]
    return Sum(sum(values, Decimal(0)), len(values), len(records))


def _number(text: str) -> Decimal | None:
    """Read a figure from a record; what is no plain, sensible number is unknown."""
    try:
        value = Decimal(text.strip().removeprefix("$")) if len(text) < 40 else None
    except InvalidOperation:
        return None
    return value if value is not None and value.is_finite() and 0 <= value < Decimal(10) ** 15 else None
