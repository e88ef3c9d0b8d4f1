"""Judges corrected by people: shares and means that people would have given, and how far a judge agrees with them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from proctor.errors import UserError
from proctor.metrics.interval import Interval
from proctor.metrics.judge_error import (
    JudgeError,
    corrected_share,
    judge_accuracy,
    judge_correlation,
    judge_error,
    prediction_powered_mean,
)
from proctor.metrics.score import Score
from proctor.metrics.table import ScoreRow
from proctor.stages.scoring.significance_files import Drawing, Marks, read_judge_pairs, read_numbers

__all__ = ["corrected_rows", "judge_headline", "judge_note"]


def corrected_rows(
    marks: Marks, calibration: Path | None, human: Path | None, drawing: Drawing
) -> tuple[list[ScoreRow], JudgeError | None]:
    """Correct every system's mean by a calibration sample of the judge, by people's marks on items, or by both.

    Raises:
        UserError: if a file is wrong, or the marks do not fit the correction.
    """
    rows: list[ScoreRow] = []
    error = None
    if calibration is not None:
        truth, said, _ = read_judge_pairs(calibration)
        error = judge_error(truth, said, confidence=drawing.confidence)
        for name, marked in marks.systems.items():
            values = [v for v in marked.values() if v is not None]
            wrong = next((v for v in values if v not in (0.0, 1.0)), None)
            if wrong is not None:
                raise UserError(
                    f"correcting by a judge calibration needs marks yes/no or 1/0, {name!r} has {wrong:g}.",
                    where=marks.where,
                    hint="give people's marks on some of the items with --human instead",
                )
            score = corrected_share(int(sum(values)), len(values), error)
            if marks.clusters is not None and score.low is not None:
                score = replace(score, note=_add(score.note, "the interval takes items as independent"))
            rows.append(ScoreRow("corrected", score, name))
    if human is not None:
        rows += _powered(marks, human, drawing)
    return rows, error


def _add(note: str, more: str) -> str:
    return f"{note}; {more}" if note else more


def _powered(marks: Marks, human: Path, drawing: Drawing) -> list[ScoreRow]:
    labels = read_numbers(human, "human")
    named = any(system for _, system in labels)
    if not named and len(marks.systems) > 1:
        raise UserError(
            "people's marks must say which system's answer they are for.",
            where=str(human),
            hint="add a column 'system'",
        )
    rows = []
    used = 0
    for name, marked in marks.systems.items():
        items = [i for i in marks.items if marked.get(i) is not None]
        truth = [labels.get((i, name if named else "")) for i in items]
        used += sum(mark is not None for mark in truth)
        clusters = None if marks.clusters is None else [marks.cluster_of(i) for i in items]
        judge = np.array([marked[i] for i in items], dtype=np.float64)
        for tuned, label in ((False, "PPI"), (True, "PPI tuned")):
            score = prediction_powered_mean(
                truth, judge, clusters=clusters, tuned=tuned, confidence=drawing.confidence
            )
            rows.append(ScoreRow(label, _named(score, marks), name, digits=marks.digits))
        both = [k for k, mark in enumerate(truth) if mark is not None]
        seen = [truth[k] for k in both]
        groups = None if clusters is None else [clusters[k] for k in both]
        for label, metric in (("judge accuracy", judge_accuracy), ("judge r", judge_correlation)):
            score = metric(
                np.array(seen, dtype=np.float64),
                judge[both],
                clusters=groups,
                **{**drawing.arguments, "resamples": drawing.resamples},
            )
            rows.append(ScoreRow(label, _named(score, marks), name))
    if not used:
        raise UserError(
            "none of people's marks is for an item that a system answered.",
            where=str(human),
            hint="items and systems must be called as in the marks",
        )
    return rows


def _named(score: Score, marks: Marks) -> Score:
    """The score with the column of clusters in its signature."""
    return replace(score, signature=score.signature.having(cluster=marks.cluster_name))


def judge_headline(error: JudgeError) -> dict[str, object]:
    """Return the judge's rates with their intervals, for machines."""

    def part(value: float | None, interval: Interval) -> dict[str, float | None]:
        return {"value": value, "low": interval.low, "high": interval.high}

    return {
        "sensitivity": part(error.sensitivity, error.sensitivity_interval),
        "specificity": part(error.specificity, error.specificity_interval),
        "accuracy": part(error.accuracy, error.accuracy_interval),
        "right": error.right,
        "wrong": error.wrong,
    }


def judge_note(error: JudgeError) -> str:
    """Return the judge's rates with their intervals, for people."""

    def part(name: str, value: float | None, interval: Interval, n: int) -> str:
        if value is None or interval.low is None or interval.high is None:
            return f"{name} unknown (no such answer)"
        return f"{name} {value:.3f} [{interval.low:.3f}, {interval.high:.3f}] of {n}"

    return (
        "the judge: "
        + part("sensitivity", error.sensitivity, error.sensitivity_interval, error.right)
        + ", "
        + part("specificity", error.specificity, error.specificity_interval, error.wrong)
    )
