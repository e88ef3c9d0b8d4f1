"""The scores of answers about moments: points from 0 to 100 by noise, question type and activity, clustered by recording."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.exam.item import Item
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.table import (
    Resampling,
    ScoreRow,
    ScoreTable,
    Slices,
    of_one_predictor,
    rows_of,
    signature_part,
)
from proctor.examples.example import QUESTION_TYPES
from proctor.metrics.answer import answer_signature, points

__all__ = ["JUDGE", "score_run"]

JUDGE: Final = "judge"
"""The measure: points that a judge gives."""


def score_run(
    items: Sequence[Item],
    predictions: Iterable[Prediction],
    judgements: Iterable[Judgement],
    *,
    benchmark: str,
    predictor: str = "",
    privilege: str = "",
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
        confidence: of the intervals.
        resamples: of the intervals.
        seed: of the intervals.

    Raises:
        UserError: if there is nothing to score, several predictors or judges are mixed, something is there twice
            or is about an item that the release does not have.
    """
    known = [item.id for item in items]
    asked = {p.item_id: p for p in of_one_predictor(predictions, known, "prediction", predictor)}
    judged = {j.item_id: j for j in of_one_predictor(judgements, known, "judgement", predictor)}
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
    how = Resampling(confidence=confidence, resamples=resamples, seed=seed)
    signature = answer_signature(
        benchmark=signature_part(benchmark),
        judge=signature_part(judge),
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    slices = _slices(items)
    rows = rows_of(
        slices, marks, recordings, lambda name: signature.having(slice=name), JUDGE, resampling=how
    )
    return ScoreTable(
        benchmark=benchmark,
        predictor=next(iter(asked.values())).predictor,
        judge=judge,
        rows=tuple(_counted(row, slices[row.slice][1], marks) for row in rows),
        marks={JUDGE: {item.id: marks.get(item.id) for item in items}},
        clusters=recordings,
        privilege=privilege,
    )


def _mark(judgement: Judgement | None) -> float | None:
    if judgement is None:
        return None
    try:
        return points(judgement.score)
    except ValueError as error:
        raise UserError(f"{error}.", where=f"judgement of item '{judgement.item_id}'") from None


def _slices(items: Sequence[Item]) -> Slices:
    """Return what the slices are cut by and their items; empty slices are left out."""
    found: dict[str, tuple[str, list[str]]] = {"all": ("all", [i.id for i in items])}
    for name, noisy in (("clean", False), ("noisy", True)):
        found[name] = ("noise", [i.id for i in items if i.example.noisy is noisy])
    types = [t for t in QUESTION_TYPES if any(i.type == t for i in items)]
    for type_ in [*types, *sorted({i.type for i in items} - set(types))]:
        found[f"type={signature_part(type_)}"] = ("type", [i.id for i in items if i.type == type_])
    for activity in sorted({i.example.activity_name for i in items}):
        members = [i.id for i in items if i.example.activity_name == activity]
        found[f"activity={signature_part(activity)}"] = ("activity", members)
    return {name: cut for name, cut in found.items() if cut[1] or name == "all"}


def _counted(row: ScoreRow, members: Sequence[str], marks: Mapping[str, float | None]) -> ScoreRow:
    counts = Counter(marks.get(i) for i in members)
    return msgspec.structs.replace(row, marks=(counts[0.0], counts[50.0], counts[100.0]))
