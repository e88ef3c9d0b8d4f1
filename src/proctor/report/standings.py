"""How every run did: marks, scores with intervals by slice, and every pair of runs compared.

Numbers come from ``proctor.metrics``; this module only says which items belong to which slice and keeps account of
what could not be scored. An answer that failed, or that no judge scored, is counted and never becomes 0.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from proctor.benchmark.item import Item
from proctor.evaluate.prediction import Judgement, Prediction
from proctor.metrics.answer import answer_signature, mean_score, points
from proctor.metrics.score import Score
from proctor.metrics.significance import Comparison, compare_all_pairs
from proctor.report.data import ReportData, ReportOptions, Run
from proctor.report.statistics import order_types

__all__ = ["OUTCOMES", "Outcome", "Row", "Slice", "Standings", "compute_standings", "derive_outcomes"]

Outcome = Literal["2", "1", "0", "failed", "unscored", "absent"]

OUTCOMES: Final[Mapping[Outcome, str]] = {
    "2": "match",
    "1": "partial",
    "0": "wrong",
    "failed": "failed",
    "unscored": "unscored",
    "absent": "not asked",
}
"""What became of an item in a run, in words. *failed*: there is no answer; *unscored*: there is an answer, but no
mark; *absent*: the run does not hold the item at all."""

_MARKS: Final[Mapping[Outcome, int]] = {"2": 2, "1": 1, "0": 0}
_METHOD: Final = "bca"


@dataclass(frozen=True, slots=True)
class Slice:
    """A named subset of the items; ``group`` says what it divides by."""

    key: str
    label: str
    group: Literal["all", "condition", "type", "kind", "activity"]
    mask: tuple[bool, ...]

    @property
    def n(self) -> int:
        """Number of items in it."""
        return sum(self.mask)


@dataclass(frozen=True, slots=True)
class Row:
    """One run: what became of every item, and its scores by slice key."""

    run: Run
    outcomes: tuple[Outcome, ...]
    scores: Mapping[str, Score]

    @property
    def score(self) -> Score:
        """Score over all items."""
        return self.scores["all"]

    @property
    def counts(self) -> Mapping[Outcome, int]:
        """How many items had each outcome."""
        found = Counter(self.outcomes)
        return {outcome: found[outcome] for outcome in OUTCOMES}

    @property
    def scored(self) -> int:
        """Number of items with a mark."""
        return self.score.n


@dataclass(frozen=True, slots=True)
class Standings:
    """The result of a report: rows best first, undefined last; comparisons of every two runs.

    Attributes:
        rows: in order of their score.
        slices: in the order in which they are shown.
        comparisons: every unordered pair of runs once; ``b - a`` with the names of the runs.
        confidence: level of all intervals.
        detectable: median over the pairs of systems of the smallest difference that would have been found with
            a power of 0.8 at a two-sided level of 0.05; None when there is no such pair.
    """

    rows: tuple[Row, ...]
    slices: tuple[Slice, ...]
    comparisons: tuple[Comparison, ...]
    confidence: float
    detectable: float | None

    def group(self, group: str) -> tuple[Slice, ...]:
        """Slices of one group, in order."""
        return tuple(s for s in self.slices if s.group == group)

    def comparison(self, a: str, b: str) -> Comparison | None:
        """The comparison of two runs, whichever way round it was made."""
        return next((c for c in self.comparisons if {c.a, c.b} == {a, b}), None)


def compute_standings(data: ReportData, options: ReportOptions) -> Standings:
    """Score every run on every slice and compare every two runs on the items that both answered.

    Raises:
        ValueError: if two runs have the same name.
    """
    names = [run.name for run in data.runs]
    if len(set(names)) != len(names):
        raise ValueError(f"run names must differ, got {names}")
    slices = derive_slices(data.items)
    rows = [_row(run, data, slices, options) for run in data.runs]
    rows.sort(key=lambda r: -math.inf if math.isnan(r.score.value) else r.score.value, reverse=True)
    comparisons = _compare(rows, data.items, options)
    return Standings(
        rows=tuple(rows),
        slices=slices,
        comparisons=comparisons,
        confidence=options.confidence,
        detectable=_typical_detectable(comparisons, rows),
    )


def derive_slices(items: Sequence[Item]) -> tuple[Slice, ...]:
    """Divide the items by condition, type, kind of gold answer and activity; kinds overlap, the others do not."""
    slices = [Slice("all", "All", "all", (True,) * len(items))]
    slices += [
        Slice(label.lower(), label, "condition", tuple(i.example.noisy == noisy for i in items))
        for label, noisy in (("Clean", False), ("Noisy", True))
    ]
    slices += [
        Slice(f"type:{name}", name, "type", tuple(i.type == name for i in items))
        for name in order_types(i.type for i in items)
    ]
    slices += [
        Slice(f"kind:{kind}", kind, "kind", tuple(any(g.kind == kind for g in i.golds) for i in items))
        for kind in ("direct", "suggestion", "intervention")
        if any(g.kind == kind for i in items for g in i.golds)
    ]
    names = {i.example.activity_id: i.example.activity_name or i.example.activity_id for i in items}
    slices += [
        Slice(f"activity:{key}", name, "activity", tuple(i.example.activity_id == key for i in items))
        for key, name in sorted(names.items(), key=lambda pair: (pair[1], pair[0]))
    ]
    return tuple(slices)


def derive_outcomes(items: Sequence[Item], run: Run) -> tuple[Outcome, ...]:
    """Say what became of every item; of several predictions or judgements of one item the last counts."""
    predictions = {p.item_id: p for p in run.predictions}
    judgements = {j.item_id: j for j in run.judgements}
    return tuple(_outcome(predictions.get(i.id), judgements.get(i.id)) for i in items)


def _outcome(prediction: Prediction | None, judgement: Judgement | None) -> Outcome:
    if prediction is None:
        return "absent"
    if prediction.answer is None:
        return "failed"
    score = judgement.score if judgement is not None else None
    # A judgement made by other code may hold anything, nan included: only the three marks are marks.
    for outcome, mark in _MARKS.items():
        if score is not None and score == mark and not isinstance(score, bool):
            return outcome
    return "unscored"


def _marks(outcomes: Sequence[Outcome]) -> list[float | None]:
    return [points(_MARKS.get(outcome)) for outcome in outcomes]


def _row(run: Run, data: ReportData, slices: Sequence[Slice], options: ReportOptions) -> Row:
    outcomes = derive_outcomes(data.items, run)
    return Row(run, outcomes, {s.key: _score(s, outcomes, data, options) for s in slices})


def _score(slice_: Slice, outcomes: Sequence[Outcome], data: ReportData, options: ReportOptions) -> Score:
    asked = [i for i, inside in enumerate(slice_.mask) if inside and outcomes[i] != "absent"]
    # Activities have a handful of recordings each: a clustered interval of theirs would promise too much.
    resamples = 1 if slice_.group == "activity" else options.resamples
    return mean_score(
        _marks([outcomes[i] for i in asked]),
        [data.items[i].recording_id for i in asked],
        answer_signature(
            benchmark=_name_part(" ".join(filter(None, (data.about.name, data.about.version)))),
            judge=_name_part(data.about.judge),
            slice_=_name_part(slice_.key),
            method=_METHOD,
            confidence=options.confidence,
            resamples=resamples,
            seed=options.seed,
        ),
        skipped=slice_.n - len(asked),
        method=_METHOD,
        confidence=options.confidence,
        resamples=resamples,
        seed=options.seed,
    )


def _name_part(text: str) -> str:
    """Make a text fit for a signature, in which a bar divides parts."""
    return text.replace("|", "/")[:200] or "unknown"


def _compare(rows: Sequence[Row], items: Sequence[Item], options: ReportOptions) -> tuple[Comparison, ...]:
    return compare_all_pairs(
        {
            row.run.name: dict(zip((i.id for i in items), _marks(row.outcomes), strict=True))
            for row in rows
            if row.scored
        },
        {i.id: i.recording_id for i in items},
        method=_METHOD,
        confidence=options.confidence,
        resamples=options.resamples,
        seed=options.seed,
    )


def _typical_detectable(comparisons: Sequence[Comparison], rows: Sequence[Row]) -> float | None:
    """Median over pairs of systems; over all pairs when fewer than two runs are systems."""
    systems = {row.run.name for row in rows if row.run.role == "system"}
    found = [c for c in comparisons if c.a in systems and c.b in systems] or list(comparisons)
    values = sorted(c.detectable for c in found if c.detectable is not None)
    return values[(len(values) - 1) // 2] if values else None
