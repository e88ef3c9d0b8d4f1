"""The slices of questions about clips: level, category, data set, position and letter; shares from 0 to 1, clustered by video."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.exam.clip_question import ClipQuestion
from proctor.exam.prediction import Prediction
from proctor.exam.table import Resampling, ScoreRow, Slices, of_one_predictor, rows_of, signature_part
from proctor.metrics.score import Signature

__all__ = ["clip_rows", "clip_slices", "predictions_of_one"]

SLICES: Final = ("level", "category", "dataset", "position", "letter")


def clip_slices(questions: Sequence[ClipQuestion], letters: Mapping[str, str] | None = None) -> Slices:
    """Return what the slices are cut by and their questions; what a question does not have puts it in no slice.

    Args:
        questions: all.
        letters: by question, under which its right option was shown.
    """
    found: dict[str, tuple[str, list[str]]] = {"all": ("all", [question.id for question in questions])}
    for kind in SLICES:
        named: dict[str, list[str]] = {}
        for question in questions:
            value = (letters or {}).get(question.id, "") if kind == "letter" else getattr(question, kind)
            if value:
                named.setdefault(value, []).append(question.id)
        found |= {f"{kind}={signature_part(value)}": (kind, named[value]) for value in sorted(named)}
    return found


def clip_rows(
    questions: Sequence[ClipQuestion],
    marks: Mapping[str, float | None],
    signature: Signature,
    *,
    measure: str,
    resampling: Resampling,
    unparsed: Mapping[str, bool] | None = None,
    chances: Mapping[str, float] | None = None,
    letters: Mapping[str, str] | None = None,
) -> list[ScoreRow]:
    """Return the rows of a measure over all slices.

    Args:
        questions: the whole set, asked or not.
        marks: of the questions that were asked, None where one failed.
        signature: of the number, without slice and interval.
        measure: its name.
        resampling: of the intervals.
        unparsed: by question, whether its reply was unreadable.
        chances: by question, what guessing gets.
        letters: see ``clip_slices``.
    """
    clusters = {question.id: question.cluster for question in questions}
    slices = clip_slices(questions, letters)

    def sign(name: str) -> Signature:
        return signature.having(
            slice=name, cluster="video", interval=resampling.name, weighting="question",
            resamples=str(resampling.resamples), seed=str(resampling.seed),
        )  # fmt: skip

    rows = []
    for row in rows_of(slices, marks, clusters, sign, measure, resampling=resampling):
        scored = [id_ for id_ in slices[row.slice][1] if marks.get(id_) is not None]
        known = [chances[id_] for id_ in scored if chances and id_ in chances]
        more = {
            "clusters": len({clusters[id_] for id_ in scored}),
            "unparsed": sum((unparsed or {}).get(id_, False) for id_ in scored),
            "chance": math.fsum(known) / len(known) if known and len(known) == len(scored) else None,
        }
        rows.append(msgspec.structs.replace(row, **more))
    return rows


def predictions_of_one(
    questions: Sequence[ClipQuestion], predictions: Sequence[Prediction], predictor: str = ""
) -> list[Prediction]:
    """Return the predictions of one predictor to a set of questions.

    Raises:
        UserError: without questions or predictions, if two questions have one id, and as ``of_one_predictor``.
    """
    ids = [question.id for question in questions]
    if not ids:
        raise UserError("there are no questions to score.")
    if len(set(ids)) < len(ids):
        raise UserError("two questions have the same id.", where=max(ids, key=ids.count))
    chosen = of_one_predictor(predictions, ids, "prediction", predictor)
    if not chosen:
        raise UserError("there are no predictions to score.", hint="run `proctor predict` first")
    return chosen
