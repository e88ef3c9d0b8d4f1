"""From judgements to the table of scores, and from two tables to a comparison.

A table keeps the mark of every item beside the aggregated rows, so that runs can be compared pair by pair later
from their ``scores.json`` alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeVar

import msgspec

from proctor.errors import UserError
from proctor.exam.item import Item
from proctor.exam.prediction import Judgement, Prediction
from proctor.examples.example import QUESTION_TYPES
from proctor.metrics.answer import answer_signature, points, slice_scores
from proctor.metrics.bootstrap import BootstrapMethod
from proctor.metrics.score import Score, Signature
from proctor.metrics.significance import Comparison, compare_all_pairs

__all__ = ["ScoreRow", "ScoreTable", "SliceKind", "compare_runs", "score_run"]

Record = TypeVar("Record", Prediction, Judgement)
SliceKind = Literal["all", "noise", "type", "activity"]


class ScoreRow(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One aggregated score as it is stored: ``value`` is None where it is undefined, and ``note`` says why.

    Attributes:
        slice: ``all``, ``clean``, ``noisy``, ``type=next``, ``activity=Coffee``.
        kind: what the slice is cut by.
        value: mean mark in points from 0 to 100.
        low: lower end of the interval.
        high: upper end.
        n: items scored.
        failed: items whose prediction or judgement failed; not in the mean.
        skipped: items that were never asked; not in the mean.
        marks: how many answers were judged 0, 1 and 2.
        signature: every choice that changes the number.
        note: why something is undefined, or what to beware of.
    """

    slice: str
    kind: SliceKind
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    failed: int = 0
    skipped: int = 0
    marks: tuple[int, int, int] = (0, 0, 0)
    signature: str = ""
    note: str = ""

    def to_score(self) -> Score:
        """Return the row as a score."""
        return Score(
            value=math.nan if self.value is None else self.value,
            signature=Signature.parse(self.signature),
            n=self.n,
            low=self.low,
            high=self.high,
            failed=self.failed,
            skipped=self.skipped,
            note=self.note,
        )


class ScoreTable(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """All scores of one run: one predictor, one judge, one release.

    Attributes:
        benchmark: name and version of the release.
        predictor: who answered.
        judge: who marked.
        rows: in the order all, clean and noisy, types, activities; slices without items are left out.
        item_marks: points of every item of the release, None where there is no mark.
        recordings: recording of every item: what intervals are clustered by.
        privilege: what the predictor saw that others must not; empty for honest ones.
    """

    benchmark: str
    predictor: str
    judge: str
    rows: tuple[ScoreRow, ...]
    item_marks: Mapping[str, float | None]
    recordings: Mapping[str, str]
    privilege: str = ""

    def row(self, slice_: str) -> ScoreRow:
        """Return the row of a slice.

        Raises:
            KeyError: if the table has no such slice.
        """
        for row in self.rows:
            if row.slice == slice_:
                return row
        raise KeyError(slice_)


def score_run(
    items: Sequence[Item],
    predictions: Iterable[Prediction],
    judgements: Iterable[Judgement],
    *,
    benchmark: str,
    predictor: str = "",
    privilege: str = "",
    method: BootstrapMethod = "bca",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> ScoreTable:
    """Aggregate one run.

    An item without a prediction is skipped; an item whose prediction or judgement failed, or whose prediction was
    not judged, has failed. Neither counts as 0.

    Args:
        items: the whole release: the denominator.
        predictions: of one predictor.
        judgements: of one judge on these predictions.
        benchmark: name and version of the release, for the signature.
        predictor: whose predictions to score, where the files hold those of several.
        privilege: what a privileged predictor saw.
        method: of the intervals, see ``bootstrap_interval``.
        confidence: of the intervals.
        resamples: of the intervals.
        seed: of the intervals.

    Raises:
        UserError: if there is nothing to score, several predictors or judges are mixed, something is there twice
            or is about an item that the release does not have.
    """
    asked = {p.item_id: p for p in _of_one(list(predictions), predictor, items, "prediction")}
    judged = {j.item_id: j for j in _of_one(list(judgements), predictor, items, "judgement")}
    if not asked:
        raise UserError("there are no predictions to score.", hint="run `proctor predict` first")
    judges = sorted({j.judge for j in judged.values()})
    if len(judges) > 1:
        raise UserError(
            f"the judgements are of {len(judges)} judges: {', '.join(judges)}.",
            hint="score the judgements of one judge at a time: marks of two judges cannot be averaged",
        )
    judge = judges[0] if judges else "none"
    recordings = {item.id: item.recording_id for item in items}
    # A judgement of an answer that is no longer there, because the run was done again, is no mark.
    marks = {
        i.id: _mark(judged.get(i.id) if asked[i.id].failure is None else None) for i in items if i.id in asked
    }
    signature = answer_signature(
        benchmark=_part(benchmark),
        judge=_part(judge),
        method=method,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    present = [item for item in items if item.id in asked]
    slices = _slices(items)
    scores = slice_scores(
        [marks[item.id] for item in present],
        [item.recording_id for item in present],
        {name: [item.id in members for item in present] for name, (_, members) in slices.items()},
        signature,
        method=method,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    return ScoreTable(
        benchmark=benchmark,
        predictor=next(iter(asked.values())).predictor,
        judge=judge,
        rows=tuple(
            _row(name, kind, members, scores[name], marks) for name, (kind, members) in slices.items()
        ),
        item_marks={item.id: marks.get(item.id) for item in items},
        recordings=recordings,
        privilege=privilege,
    )


def _part(text: str) -> str:
    """Names come from files: what a signature cannot hold is replaced."""
    return text.replace("|", "/").strip() or "unnamed"


def _mark(judgement: Judgement | None) -> float | None:
    if judgement is None:
        return None
    try:
        return points(judgement.score)
    except ValueError as error:
        raise UserError(f"{error}.", where=f"judgement of item '{judgement.item_id}'") from None


def _of_one(records: list[Record], predictor: str, items: Sequence[Item], what: str) -> list[Record]:
    chosen = [r for r in records if not predictor or r.predictor == predictor]
    names = sorted({r.predictor for r in chosen})
    if len(names) > 1:
        raise UserError(
            f"the {what}s are of {len(names)} predictors: {', '.join(names)}.", hint="choose one by name"
        )
    known = {item.id for item in items}
    strange = [r.item_id for r in chosen if r.item_id not in known]
    if strange:
        raise UserError(
            f"{len(strange)} {what}s are about items that the benchmark does not have, such as '{strange[0][:80]}'.",
            hint="was the run made on another release?",
        )
    twice = [i for i, n in Counter(r.item_id for r in chosen).items() if n > 1]
    if twice:
        raise UserError(f"{len(twice)} items have several {what}s, such as '{twice[0]}'.")
    return chosen


def _slices(items: Sequence[Item]) -> dict[str, tuple[SliceKind, frozenset[str]]]:
    """Name of each slice to its kind and item ids; empty slices are left out."""
    found: dict[str, tuple[SliceKind, frozenset[str]]] = {"all": ("all", frozenset(i.id for i in items))}
    for name, noisy in (("clean", False), ("noisy", True)):
        found[name] = ("noise", frozenset(i.id for i in items if i.example.noisy is noisy))
    types = [t for t in QUESTION_TYPES if any(i.type == t for i in items)]
    for type_ in [*types, *sorted({i.type for i in items} - set(types))]:
        found[f"type={_part(type_)}"] = ("type", frozenset(i.id for i in items if i.type == type_))
    for activity in sorted({i.example.activity_name for i in items}):
        members = frozenset(i.id for i in items if i.example.activity_name == activity)
        found[f"activity={_part(activity)}"] = ("activity", members)
    return {name: cut for name, cut in found.items() if cut[1] or name == "all"}


def _row(
    name: str, kind: SliceKind, members: frozenset[str], score: Score, marks: Mapping[str, float | None]
) -> ScoreRow:
    counts = Counter(marks.get(i) for i in members)
    return ScoreRow(
        slice=name,
        kind=kind,
        value=None if math.isnan(score.value) else score.value,
        low=score.low,
        high=score.high,
        n=score.n,
        failed=score.failed,
        skipped=sum(i not in marks for i in members),
        marks=(counts[0.0], counts[50.0], counts[100.0]),
        signature=str(score.signature),
        note=score.note,
    )


def compare_runs(
    tables: Sequence[ScoreTable],
    *,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[Comparison, ...]:
    """Compare every two runs on the same items; p-values are corrected over all pairs (Holm).

    Raises:
        UserError: if runs have the same name, or were made on other releases, by other judges or with other
            options: such numbers must not be compared.
    """
    names = [table.predictor for table in tables]
    if len(set(names)) < len(names):
        raise UserError(
            f"two runs have the same predictor: {', '.join(names)}.", hint="give runs different names"
        )
    clusters = {i: r for table in tables for i, r in table.recordings.items()}
    try:
        return compare_all_pairs(
            {table.predictor: table.item_marks for table in tables},
            clusters,
            signatures={table.predictor: Signature.parse(table.row("all").signature) for table in tables},
            confidence=confidence,
            resamples=resamples,
            seed=seed,
        )
    except ValueError as error:
        raise UserError(
            f"{error}.", hint="predict and judge both runs on the same release with the same judge"
        ) from None
