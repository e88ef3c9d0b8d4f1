"""How every run did: outcomes of its items, scores with intervals by slice, and every pair of runs compared.

Scores are those of ``proctor.exam.scores``, so the page and the command line print the same numbers; this module
adds the slices by kind of answer and keeps account of what could not be scored. An answer that failed, or that no
judge scored, is counted and never becomes 0.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from proctor.errors import UserError
from proctor.exam.kinds.moment import KIND
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Item, Text
from proctor.exam.scores import score_run
from proctor.exam.table import Resampling, ScoreTable, compare_tables
from proctor.metrics.answer import mean_score, points
from proctor.metrics.score import Score, Signature
from proctor.metrics.significance import Comparison
from proctor.report.data import ReportData, ReportOptions, Run

__all__ = [
    "OUTCOMES",
    "Outcome",
    "Row",
    "Slice",
    "Standings",
    "compute_standings",
    "derive_outcomes",
]

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

ANSWER_KINDS: Final = ("direct", "suggestion", "intervention")

_MARKS: Final[Mapping[Outcome, int]] = {"2": 2, "1": 1, "0": 0}


@dataclass(frozen=True, slots=True)
class Slice:
    """A named part of the benchmark: key of its scores, label for people, what it divides by, number of items."""

    key: str
    label: str
    group: str
    n: int


@dataclass(frozen=True, slots=True)
class Row:
    """One run: what became of every item (in the items' order), and its scores by slice key."""

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
        slices: in the order in which they are shown; none without a run.
        comparisons: every unordered pair of scored runs once; ``b - a`` with the names of the runs.
        confidence: level of all intervals.
        detectable: median over the pairs of systems of the smallest difference that would have been found with
            a power of 0.8 at a two-sided level of 0.05; None when there is no such pair.
        note: why runs are not compared; empty when they are.
    """

    rows: tuple[Row, ...]
    slices: tuple[Slice, ...]
    comparisons: tuple[Comparison, ...]
    confidence: float
    detectable: float | None
    note: str = ""

    def group(self, group: str) -> tuple[Slice, ...]:
        """Slices of one group, in order."""
        return tuple(s for s in self.slices if s.group == group)

    def comparison(self, a: str, b: str) -> Comparison | None:
        """The comparison of two runs, whichever way round it was made."""
        return next((c for c in self.comparisons if {c.a, c.b} == {a, b}), None)


def compute_standings(data: ReportData, options: ReportOptions) -> Standings:
    """Score every run on every slice and compare every two runs on the items that both have a mark for.

    Raises:
        UserError: if two runs have the same name or a run does not belong to these items.
    """
    _require_names(data.runs)
    tables = {run.name: _table(run, data, options) for run in data.runs if run.predictions or run.table}
    kinds = {
        kind: tuple(
            any(isinstance(g.value, Text) and g.value.kind == kind for g in i.golds) for i in data.items
        )
        for kind in ANSWER_KINDS
    }
    rows = [_row(run, tables.get(run.name), kinds, data, options) for run in data.runs]
    rows.sort(key=lambda r: -math.inf if math.isnan(r.score.value) else r.score.value, reverse=True)
    scored = [tables[row.run.name] for row in rows if row.scored]
    comparisons, note = _compare(scored, options)
    return Standings(
        rows=tuple(rows),
        slices=_slices(list(tables.values()), kinds),
        comparisons=comparisons,
        confidence=options.confidence,
        detectable=_typical_detectable(comparisons, rows),
        note=note,
    )


def _require_names(runs: Sequence[Run]) -> None:
    twice = [name for name, n in Counter(run.name for run in runs).items() if n > 1]
    if twice:
        raise UserError(f"two runs are called '{twice[0][:80]}'.", hint="give every run its own name")


# -- one run -----------------------------------------------------------------------------------------------------


def derive_outcomes(items: Sequence[Item], run: Run) -> tuple[Outcome, ...]:
    """Say what became of every item."""
    predictions = {p.item_id: p for p in run.predictions}
    judgements = {j.item_id: j for j in run.judgements}
    return tuple(_outcome(predictions.get(i.id), judgements.get(i.id)) for i in items)


def _outcome(prediction: Prediction | None, judgement: Judgement | None) -> Outcome:
    if prediction is None:
        return "absent"
    if prediction.answer is None:
        return "failed"
    return next(
        (o for o, mark in _MARKS.items() if judgement is not None and _is_mark(judgement, mark)), "unscored"
    )


def _is_mark(judgement: Judgement, mark: int) -> bool:
    """A judgement that other code made may hold anything, nan and True included: only the marks are marks."""
    return judgement.score == mark and not isinstance(judgement.score, bool)


def _table(run: Run, data: ReportData, options: ReportOptions) -> ScoreTable:
    if run.table is not None:
        return msgspec.structs.replace(run.table, predictor=run.name)
    table = score_run(
        KIND,
        data.items,
        run.predictions,
        {KIND.measured.judge: [_without_odd_mark(j) for j in run.judgements]},
        benchmark=" ".join(filter(None, (data.about.name, data.about.version))),
        predictor=run.predictor,
        resampling=_resampling(options),
    )
    return msgspec.structs.replace(table, predictor=run.name)


def _without_odd_mark(judgement: Judgement) -> Judgement:
    if any(_is_mark(judgement, mark) for mark in _MARKS.values()):
        return judgement
    return msgspec.structs.replace(judgement, score=None)


def _row(
    run: Run,
    table: ScoreTable | None,
    kinds: Mapping[str, Sequence[bool]],
    data: ReportData,
    options: ReportOptions,
) -> Row:
    outcomes = derive_outcomes(data.items, run)
    if table is None:
        nothing = Score(
            math.nan, Signature("mean_score"), 0, skipped=len(data.items), note="the run is empty"
        )
        return Row(run, outcomes, {"all": nothing})
    scores = {row.slice: row.to_score() for row in table.rows}
    for kind, mask in kinds.items():
        if any(mask):
            scores[f"kind={kind}"] = (
                scores["all"] if all(mask) else _kind_score(kind, mask, outcomes, table, data, options)
            )
    return Row(run, outcomes, scores)


def _kind_score(
    kind: str,
    mask: Sequence[bool],
    outcomes: Sequence[Outcome],
    table: ScoreTable,
    data: ReportData,
    options: ReportOptions,
) -> Score:
    asked = [i for i, inside in enumerate(mask) if inside and outcomes[i] != "absent"]
    return mean_score(
        [points(_MARKS.get(outcomes[i])) for i in asked],
        [data.items[i].question.cluster for i in asked],
        table.row("all").to_score().signature.having(slice=f"kind={kind}"),
        skipped=sum(mask) - len(asked),
        confidence=options.confidence,
        resamples=options.resamples,
        seed=options.seed,
    )


def _slices(tables: Sequence[ScoreTable], kinds: Mapping[str, Sequence[bool]]) -> tuple[Slice, ...]:
    """All tables are over the same items, so the first one names the slices."""
    slices = [
        Slice(row.slice, row.slice.partition("=")[2] or row.slice, row.kind, row.n + row.failed + row.skipped)
        for row in (tables[0].rows if tables else ())
    ]
    slices += [Slice(f"kind={k}", k, "kind", sum(mask)) for k, mask in kinds.items() if tables and any(mask)]
    return tuple(slices)


# -- between runs ------------------------------------------------------------------------------------------------


def _compare(tables: Sequence[ScoreTable], options: ReportOptions) -> tuple[tuple[Comparison, ...], str]:
    try:
        found = compare_tables(tables, _resampling(options))
    except UserError as error:
        return (), f"The runs are not compared: {error.message}"
    return found, ""


def _resampling(options: ReportOptions) -> Resampling:
    return Resampling(confidence=options.confidence, resamples=options.resamples, seed=options.seed)


def _typical_detectable(comparisons: Sequence[Comparison], rows: Sequence[Row]) -> float | None:
    """Median over pairs of systems; over all pairs when fewer than two runs are systems."""
    systems = {row.run.name for row in rows if row.run.role == "system"}
    found = [c for c in comparisons if c.a in systems and c.b in systems] or list(comparisons)
    values = sorted(c.detectable for c in found if c.detectable is not None)
    return values[(len(values) - 1) // 2] if values else None
