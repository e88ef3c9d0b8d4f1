"""The table of scores of one system, whatever was asked: marks of items, rows over slices, and comparisons of tables.

A table keeps the mark of every item beside the aggregated rows, so that systems can be compared pair by pair later from their
files alone. Questions of one cluster (a recording, a video) are alike, so intervals draw whole clusters. What failed is in no
mean and is counted; every number stands between its bounds, with what has no mark as wrong and as right, and a leaderboard
ranks only what has a mark for nearly every question.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import msgspec

from proctor.errors import UserError
from proctor.exam.measured import Slices
from proctor.exam.prediction import Judgement, Prediction
from proctor.metrics.answer import mean_score
from proctor.metrics.score import Score, Signature
from proctor.metrics.significance import Comparison, compare_all_pairs

__all__ = [
    "Computed",
    "LetterRow",
    "Letters",
    "Measure",
    "Rank",
    "Resampling",
    "ScoreRow",
    "ScoreTable",
    "compare_alike",
    "compare_tables",
    "of_one_predictor",
    "rank_rows",
    "row_of",
    "rows_of",
]

Record = TypeVar("Record", Prediction, Judgement)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What one measure says of every item that was asked.

    Attributes:
        name: ``judge``, ``accuracy``, ``rouge-1``.
        signature: of its numbers, without what the table adds: slice, weighting, interval, benchmark, cluster, draws.
        marks: of the items that were asked, None where one failed; an item that is not there was skipped.
        full: the mark for what is right.
        judge: who marks; empty where the marks are computed from the reference.
        graded: the judge gives 0, half or full marks, which are counted.
        unparsed: items with an unreadable reply.
        matched: items with a reply that no rule reads and a model matched with an option.
        chances: what guessing gets, by item.
        slices: further ones, that only this measure has.
        about: the items that it says something of; None for all.
        ends: by item the marks for what is wrong and for what is right, where these are not 0 and ``full``; less may be better.
        raw: printed in its own unit, in which ``full`` says nothing.
    """

    name: str
    signature: Signature
    marks: Mapping[str, float | None]
    full: float = 1.0
    judge: str = ""
    graded: bool = False
    unparsed: Collection[str] = frozenset()
    matched: Collection[str] = frozenset()
    chances: Mapping[str, float] = field(default_factory=dict)
    slices: Slices = field(default_factory=dict)
    about: frozenset[str] | None = None
    ends: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    raw: bool = False

    @property
    def lower(self) -> bool:
        """Whether less is better."""
        return any(right < wrong for wrong, right in self.ends.values())


class Computed(NamedTuple):
    """What a kind that needs no judge measures of one run, and what became of the replies; systems are compared by the first."""

    measures: Sequence[Measure]
    counts: Mapping[str, int] = {}
    notes: tuple[str, ...] = ()


class Resampling(msgspec.Struct, frozen=True, kw_only=True):
    """How intervals are made: BCa bootstrap over clusters.

    Attributes:
        confidence: coverage aimed at.
        resamples: number of draws; 0 leaves the intervals out.
        seed: of the draws.
    """

    confidence: float = 0.95
    resamples: int = 10_000
    seed: int = 0

    @property
    def name(self) -> str:
        """For signatures."""
        return f"bca-{100 * self.confidence:g}" if self.resamples else "none"


class ScoreRow(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One aggregated number as it is stored: ``value`` is None where it is undefined, and ``note`` says why.

    Attributes:
        slice: ``all``, ``clean``, ``type=next``, ``level=fine``, ``style=numerical/modalities=text``.
        kind: what the slice is cut by.
        value: in the unit of its measure: points from 0 to 100 of judges, a share from 0 to 1 of choices.
        measure: ``judge``, ``accuracy``, ``circular_accuracy``, ``consistency``, ``rouge-1``, ``recall@5``.
        system: whose number it is, in tables of several.
        low: lower end of the interval.
        high: upper end.
        least: the number with every item as wrong that failed, was not marked or never asked; None where it cannot be said.
        most: the number with all of these as right.
        full: what it is where all is right: 100 for points, 1 for shares.
        judge: who gave the marks; empty where they are computed from the reference.
        n: items in the number.
        clusters: behind it.
        failed: items without an answer or a mark; not in the number.
        skipped: items that were never asked; not in the number.
        unparsed: items of ``n`` with an unreadable reply, counted as wrong.
        matched: items of ``n`` with a reply that no rule reads and a model matched with an option.
        chance: what guessing would get, None where it cannot be said.
        marks: how many answers were judged 0, 1 and 2.
        raw: it is printed in its own unit, such as steps; ``full`` says nothing then.
        lower: less is better.
        signature: every choice that changes the number.
        note: why something is undefined, or what to beware of.
    """

    slice: str
    kind: str
    value: float | None
    measure: str
    system: str = ""
    low: float | None = None
    high: float | None = None
    least: float | None = None
    most: float | None = None
    full: float = 100.0
    judge: str = ""
    n: int = 0
    clusters: int = 0
    failed: int = 0
    skipped: int = 0
    unparsed: int = 0
    matched: int = 0
    chance: float | None = None
    marks: tuple[int, int, int] = (0, 0, 0)
    raw: bool = False
    lower: bool = False
    signature: str = ""
    note: str = ""

    @property
    def asked(self) -> int:
        """Items of the slice: those in the number, those that failed and those that were never asked."""
        return self.n + self.failed + self.skipped

    @property
    def coverage(self) -> float:
        """Share of the items of the slice that were answered and marked."""
        return self.n / self.asked if self.asked else 0.0


class LetterRow(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one letter, as shown.

    Attributes:
        letter: A, B, …
        gold: answers whose right option stood there.
        right: of these, answered right.
        said: answers that named it.
    """

    letter: str
    gold: int
    right: int
    said: int


class Letters(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What questions with options say of letters.

    Attributes:
        circular: whether every rotation of the options was asked.
        answers: replies that were read (questions times rotations).
        rows: by letter as shown.
        recall_spread: standard deviation of the accuracy by letter of the right option (RStd): liking for letters; None where
            fewer than two letters were right ones.
        balance_p: probability of letters at least as uneven as those that were said, were all equally likely; None without any.
    """

    circular: bool = False
    answers: int = 0
    rows: tuple[LetterRow, ...] = ()
    recall_spread: float | None = None
    balance_p: float | None = None


class ScoreTable(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """All scores of one system on one set of items.

    Attributes:
        predictor: who answered.
        rows: in the order of the measures, within these of the slices; slices without items are left out.
        marks: of every item by measure, None where there is none; the first measure is the one that systems are compared by.
        benchmark: name and version.
        judge: who marked: a judge, or the parser of letters.
        clusters: of every item: what intervals are clustered by.
        counts: questions, failures by their code, unread replies by the rule.
        privilege: what the predictor saw that others must not; empty for honest ones.
        notes: what to beware of.
        letters: of questions with options.
    """

    predictor: str
    rows: tuple[ScoreRow, ...]
    marks: Mapping[str, Mapping[str, float | None]]
    benchmark: str = ""
    judge: str = ""
    clusters: Mapping[str, str] = {}
    counts: Mapping[str, int] = {}
    privilege: str = ""
    notes: tuple[str, ...] = ()
    letters: Letters | None = None

    @property
    def item_marks(self) -> Mapping[str, float | None]:
        """Marks of the first measure. Files hold measures by name, and rows in their order."""
        first = self.rows[0].measure if self.rows else ""
        return self.marks.get(first) or next(iter(self.marks.values()), {})

    def row(self, slice_: str = "all", measure: str | None = None) -> ScoreRow:
        """Return the row of a slice, of the first measure unless another is named.

        Raises:
            KeyError: if the table has none.
        """
        for row in self.rows:
            if row.slice == slice_ and measure in (None, row.measure):
                return row
        raise KeyError((slice_, measure))


def row_of(
    score: Score, measure: str, slice_: str, kind: str, *, scale: float = 1.0, **more: Any
) -> ScoreRow:
    """Return a score as a row; ``scale`` is 100 for a share that tables print in per cent, ``more`` are further fields."""
    low, high = (None if end is None else scale * end for end in (score.low, score.high))
    row = ScoreRow(
        slice=slice_,
        kind=kind,
        measure=measure,
        value=None if math.isnan(score.value) else scale * score.value,
        low=low,
        high=high,
        n=score.n,
        failed=score.failed,
        skipped=score.skipped,
        signature=str(score.signature),
        note=score.note,
    )
    return msgspec.structs.replace(row, **more) if more else row


def rows_of(
    slices: Slices,
    marks: Mapping[str, float | None],
    clusters: Mapping[str, str],
    sign: Callable[[str], Signature],
    measure: str,
    *,
    resampling: Resampling,
    **more: Any,
) -> list[ScoreRow]:
    """Return the rows of one measure over all slices.

    Args:
        slices: of the items.
        marks: of the items that were asked, None where one failed; an item that is not there was skipped.
        clusters: of the items.
        sign: from the name of a slice to the signature of its number.
        measure: its name.
        resampling: of the intervals.
        more: further fields of every row.
    """
    rows = []
    for name, (kind, inside) in slices.items():
        asked = [id_ for id_ in inside if id_ in marks]
        score = mean_score(
            [marks[id_] for id_ in asked],
            [clusters[id_] for id_ in asked],
            sign(name),
            skipped=len(inside) - len(asked),
            confidence=resampling.confidence,
            resamples=resampling.resamples,
            seed=resampling.seed,
        )
        rows.append(row_of(score, measure, name, kind, **more))
    return rows


def of_one_predictor(
    records: Iterable[Record], known: Iterable[str], what: str, predictor: str = ""
) -> list[Record]:
    """Return the predictions or judgements of one predictor.

    Args:
        records: of any.
        known: ids of all items.
        what: they are, for messages: ``prediction`` or ``judgement``.
        predictor: whose to take, where several are given.

    Raises:
        UserError: if predictors are mixed, or records are about other items or there twice.
    """
    ids = frozenset(known)
    chosen = [record for record in records if not predictor or record.predictor == predictor]
    names = sorted({record.predictor for record in chosen})
    if len(names) > 1:
        raise UserError(
            f"the {what}s are of {len(names)} predictors: {', '.join(names)[:300]}.",
            hint="choose one by name",
        )
    strange = [record.item_id for record in chosen if record.item_id not in ids]
    if strange:
        raise UserError(
            f"{len(strange):,} {what}s are about items that the benchmark does not have, such as '{strange[0][:80]}'.",
            hint="was the run made on another release?",
        )
    turns = Counter((record.item_id, record.details.get("rotation", "")) for record in chosen)
    if twice := [id_ for (id_, _), n in turns.items() if n > 1]:
        raise UserError(f"{len(twice):,} items have several {what}s, such as '{twice[0][:80]}'.")
    return chosen


def compare_tables(
    tables: Sequence[ScoreTable], resampling: Resampling | None = None
) -> tuple[Comparison, ...]:
    """Compare every two systems on the same items; p-values are corrected over all pairs (Holm).

    Raises:
        UserError: if systems have the same name, or were measured on other releases, by other judges or with other options: such
            numbers must not be compared.
    """
    how = resampling or Resampling()
    names = [table.predictor for table in tables]
    if len(set(names)) < len(names):
        raise UserError(
            f"two runs have the same predictor: {', '.join(names)[:300]}.", hint="give runs different names"
        )
    try:
        return compare_all_pairs(
            {table.predictor: table.item_marks for table in tables},
            {id_: cluster for table in tables for id_, cluster in table.clusters.items()},
            signatures={table.predictor: Signature.parse(table.row().signature) for table in tables},
            confidence=how.confidence,
            resamples=how.resamples,
            seed=how.seed,
        )
    except ValueError as error:
        raise UserError(
            f"{error}.", hint="predict and judge both runs on the same release with the same judge"
        ) from None


def compare_alike(
    tables: Sequence[ScoreTable], resampling: Resampling | None = None
) -> tuple[Comparison, ...]:
    """Compare every two systems that were measured alike on the same items; p-values are corrected within each such group.

    Args:
        tables: of systems with different names, of any kinds, judges and measures.
        resampling: of intervals and tests.

    Raises:
        UserError: as ``compare_tables``.
    """
    groups: dict[tuple[str, str, frozenset[str]], list[ScoreTable]] = {}
    for table in tables:
        row = table.row()
        groups.setdefault((row.measure, row.signature, frozenset(table.item_marks)), []).append(table)
    return tuple(c for group in groups.values() if len(group) > 1 for c in compare_tables(group, resampling))


class Rank(NamedTuple):
    """Where a run stands among those with the same judge.

    Attributes:
        place: 1 for the best; None for what is not ranked.
        why: why a run has too few marks to be ranked; empty for others, floors and bounds among them.
    """

    place: int | None = None
    why: str = ""


def rank_rows(
    rows: Mapping[str, ScoreRow | None], competing: Collection[str], min_coverage: float
) -> dict[str, Rank]:
    """Order the runs of a leaderboard: those with enough marks by score, then the others, so that refusing never leads.

    Places are counted among runs with the same judge, since marks of two judges cannot be compared; equal scores share one.

    Args:
        rows: by run its score over all items; None where it has none yet.
        competing: runs that are ranked: no floors, no bounds.
        min_coverage: share of the items that have to be answered and marked.

    Returns:
        By run its rank, in the order of the leaderboard.
    """

    def few(row: ScoreRow | None) -> bool:
        return row is None or row.value is None or row.coverage < min_coverage

    def order(name: str) -> tuple[bool, float]:
        row = rows[name]
        return few(row), math.inf if row is None or row.value is None else -row.value

    found: dict[str, Rank] = {}
    for name in sorted(rows, key=order):
        row = rows[name]
        if row is None or few(row):
            marked = "no score yet" if row is None else f"{row.n:,} of {row.asked:,} questions have a mark"
            found[name] = Rank(None, f"{marked}; ranked from {100 * min_coverage:g} % on")
            continue
        rivals = [
            r
            for n, r in rows.items()
            if n in competing and r is not None and r.judge == row.judge and not few(r)
        ]
        better = sum((r.value or 0.0) > (row.value or 0.0) for r in rivals)
        found[name] = Rank(better + 1 if name in competing else None)
    return found
