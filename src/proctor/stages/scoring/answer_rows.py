"""Rows of the table of answers: all questions, slices, and what knowing nothing gives."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from proctor.metrics.answer import mean_score
from proctor.metrics.answer_text import best_constant_answer
from proctor.metrics.choice import chance_accuracy, option_tells
from proctor.metrics.score import Score, Signature
from proctor.metrics.table import ScoreRow
from proctor.stages.scoring.answer_files import AnswerData, Question
from proctor.stages.scoring.answer_values import (
    METRIC_LABELS,
    METRIC_NAMES,
    AnswerMetric,
    Measured,
    Settings,
    overlap_values,
    without_gaps,
)

__all__ = ["chance_rows", "score_row", "sliced_questions"]

_ALL: Final = "all"


def sliced_questions(questions: Sequence[Question], slices: Sequence[str]) -> dict[str, list[int]]:
    """Indices of the questions of every slice; all first."""
    parts: dict[str, list[int]] = {_ALL: list(range(len(questions)))}
    for column, name in enumerate(slices):
        for value in sorted({q.slices[column] for q in questions}):
            inside = [i for i, q in enumerate(questions) if q.slices[column] == value]
            parts[f"{name}={value}"] = inside
    return parts


def score_row(
    measured: Measured, name: str, indices: Sequence[int], data: AnswerData, settings: Settings
) -> ScoreRow:
    """One metric on the questions of one slice."""
    signature = Signature(
        METRIC_NAMES[measured.metric],
        {
            **settings.words(data.cluster, measured.metric),
            **measured.parameters,
            "slice": name.replace("|", "/"),
        },
    )
    score = mean_score(
        [measured.values[i] for i in indices],
        [data.questions[i].cluster for i in indices],
        signature,
        confidence=settings.confidence,
        resamples=settings.resamples,
        seed=settings.seed,
    )
    judged = measured.metric == "judge"
    return ScoreRow(METRIC_LABELS[measured.metric], score, name, digits=1 if judged else 3)


def chance_rows(metric: AnswerMetric, data: AnswerData, settings: Settings) -> list[ScoreRow]:
    """What knowing nothing gives: guessing, the commonest letter, the longest option; the best constant answer."""
    n = len(data.questions)
    found: list[tuple[str, float]] = []
    if metric == "choice":
        found.append(("guessing", chance_accuracy([q.option_count for q in data.questions])))
        letter, often = min(Counter(q.gold for q in data.questions).items(), key=lambda p: (-p[1], p[0]))
        found.append((f"always {letter}", often / n))
        if all(q.options for q in data.questions):
            tells = option_tells([q.options for q in data.questions], [q.gold for q in data.questions])
            found.append(("longest option", tells.longest_right))
    elif metric == "exact":
        answer, often = best_constant_answer(
            [q.references for q in data.questions], normalisation=settings.normalisation
        )
        if often:
            found.append((f"always {answer[:40]!r}", often / n))
    shuffled = _of_other_questions(metric, data, settings)
    return [
        ScoreRow(
            METRIC_LABELS[metric],
            Score(value, Signature(f"{METRIC_NAMES[metric]}_chance", {"answer": name.replace("|", "/")}), n),
            name,
            chance=True,
        )
        for name, value in found
    ] + ([] if shuffled is None else [shuffled])


def _of_other_questions(metric: AnswerMetric, data: AnswerData, settings: Settings) -> ScoreRow | None:
    """The same answers, each given to another question: style and length without knowledge."""
    answered = [q.id for q in data.questions if (r := data.replies.get(q.id)) and r.response is not None]
    if metric not in ("exact", "f1", "rouge1", "rougel") or len(answered) < 2:
        return None
    order = np.random.default_rng(settings.seed).permutation(len(answered))
    turned = zip(order.tolist(), np.roll(order, 1).tolist(), strict=True)
    replies = {answered[at]: data.replies[answered[other]] for at, other in turned}
    measured = without_gaps(
        overlap_values(replace(data, replies=replies), metric, settings), settings.missing
    )
    values = [value for value in measured.values if value is not None]
    words = {**measured.parameters, "answers": "of-other-questions", "missing": settings.missing}
    signature = Signature(METRIC_NAMES[metric], {**words, "interval": "none", "seed": str(settings.seed)})
    score = Score(math.fsum(values) / len(values), signature, len(values))
    return ScoreRow(METRIC_LABELS[metric], score, "answers of other questions", chance=True)
