"""Confidences held against what came true, from a file: ECE, Brier score and the reliability diagram."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from proctor.errors import UserError
from proctor.metrics.bootstrap import Floats, bootstrap_mean_intervals
from proctor.metrics.calibration import (
    BinStrategy,
    brier_decomposition,
    brier_score,
    calibrated_ece,
    calibration_test,
    expected_calibration_error,
    maximum_calibration_error,
    negative_log_likelihood,
    reliability_bins,
)
from proctor.metrics.concurrence import concurrence_interval, rank_concurrence
from proctor.metrics.figure import Figure
from proctor.metrics.interval import Interval
from proctor.metrics.judge_error import (
    JudgeError,
    corrected_share,
    judge_accuracy,
    judge_correlation,
    judge_error,
    prediction_powered_mean,
)
from proctor.metrics.score import Score, Signature
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.stages.scoring.files import explained, read_table
from proctor.stages.scoring.significance import SignificanceSettings
from proctor.stages.scoring.significance.files import (
    CLUSTER,
    SYSTEM,
    Marks,
    drawn_signature,
    draws_of_tests,
    item_clusters,
    mark_matrix,
    mean_scores,
    read_judge_pairs,
    read_marks,
    read_numbers,
)

__all__ = ["concurrence_rows", "corrected_rows", "judge_headline", "judge_note", "score_calibration"]


def corrected_rows(
    marks: Marks, calibration: Path | None, human: Path | None, drawing: SignificanceSettings
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
                score = replace(
                    score,
                    note="; ".join(filter(None, (score.note, "the interval takes items as independent"))),
                )
            rows.append(ScoreRow("corrected", score, name))
    if human is not None:
        rows += _powered(marks, human, drawing)
    return rows, error


def _powered(marks: Marks, human: Path, drawing: SignificanceSettings) -> list[ScoreRow]:
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
                **drawing.resampling,
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


def concurrence_rows(
    marks: Marks, means: Mapping[str, Score], path: Path, drawing: SignificanceSettings, notes: list[str]
) -> list[ScoreRow]:
    """Compare the ranking with that of another benchmark."""
    other = read_marks([path])
    lacking = [name for name in marks.systems if name not in other.systems]
    if lacking:
        raise UserError(
            f"the other benchmark has no marks of {lacking[0]!r}.",
            where=str(path),
            hint="give the same systems in both, or choose those to compare with --system",
        )
    other = replace(other, systems={name: other.systems[name] for name in marks.systems})
    theirs = mean_scores(other, msgspec.structs.replace(drawing, resamples=0))
    undefined = [
        name for name in marks.systems if math.isnan(means[name].value) or math.isnan(theirs[name].value)
    ]
    if undefined:
        raise UserError(f"the system {undefined[0]!r} has no mark on one benchmark.", where=str(path))
    found = rank_concurrence([s.value for s in means.values()], [s.value for s in theirs.values()])
    interval = None
    if drawing.resamples and found.tau is not None:
        complete = [_complete(part) for part in (marks, other)]
        dropped = sum(
            len(part.items) - len(matrix) for part, (matrix, _) in zip((marks, other), complete, strict=True)
        )
        if dropped:
            notes.append(f"the interval of τ-b leaves out {dropped} items that some system has no mark on")
        (first, first_clusters), (second, second_clusters) = complete
        interval = concurrence_interval(
            first, second, clusters_a=first_clusters, clusters_b=second_clusters, **draws_of_tests(drawing)
        )
    score = found.as_score(interval)
    if interval is not None:
        score = replace(
            score,
            signature=score.signature.having(
                interval=interval.method, resamples=str(drawing.resamples), seed=str(drawing.seed)
            ),
        )
    p = Score(
        math.nan if found.p is None else found.p,
        found.signature.having(of="p"),
        found.n,
        note="" if found.p is not None else found.note or "undefined",
    )
    notes.append(
        f"concurrence with {path}: {found.discordant} of {found.pairs} pairs of systems are ranked the other way round"
        + (f", {found.tied} are tied" if found.tied else "")
    )
    return [ScoreRow("τ-b", score, "concurrence"), ScoreRow("p", p, "concurrence", digits=4)]


def _complete(marks: Marks) -> tuple[Any, list[str]]:
    """Marks of the items that every system has a mark on, shape (items, systems), and their clusters."""
    data = mark_matrix(marks).T
    here = ~np.isnan(data).any(axis=1)
    names = [name for name, kept in zip(item_clusters(marks), here, strict=True) if kept]
    return data[here], names


_USUAL: Final = 0.95

"""Pictures say the level of their intervals when it is another."""

_DRAWS: Final = 2_000

"""Draws of calibrated systems at most: each draws every item anew."""


def score_calibration(drawing: SignificanceSettings) -> ScoreTable:
    """Hold confidences against what came true, system by system.

    Raises:
        UserError: if the file or an option is wrong.
    """
    if len(drawing.files) > 1:
        raise UserError("--calibration reads one file.", hint="put a column 'system' into it")
    for name in (
        "judge_calibration",
        "human",
        "reference",
        "systems",
        "concurrence",
        "difference",
        "stratum",
    ):
        if getattr(drawing, name):
            flag = name.removesuffix("s").replace("_", "-")
            raise UserError(f"--{flag} does not go with --calibration.", hint="leave one of them out")
    (path,), bins, binning = drawing.files, drawing.bins, drawing.binning
    table = read_table(path)
    truth, stated = table.flags("correct").astype(np.float64), table.numbers("confidence")
    wrong = np.flatnonzero((stated < 0) | (stated > 1))
    if wrong.size:
        row = int(wrong[0])
        hint = "divide percentages by 100" if 1 < stated[row] <= 100 else "write a probability"
        raise table.wrong(row, "confidence", f"a confidence lies between 0 and 1, got {stated[row]:g}.", hint)
    system = table.find(*SYSTEM)
    names = np.array(table.texts(system) if system else ["all"] * len(table), dtype=object)
    column = table.named(drawing.cluster, *CLUSTER)
    clusters = table.texts(column) if column is not None else None
    rows: list[ScoreRow] = []
    figures: list[Figure] = []
    with explained(path):
        for name in dict.fromkeys(names.tolist()):
            here = np.flatnonzero(names == name)
            # The order of the rows must not matter, not even in the last digit of a sum.
            here = here[np.lexsort((stated[here], truth[here]))]
            if clusters is not None:
                here = np.array(sorted(here.tolist(), key=clusters.__getitem__), dtype=np.intp)
            groups = None if clusters is None else [clusters[i] for i in here]
            rows += _calibration_rows(name, truth[here], stated[here], groups, column, bins, binning, drawing)
            found = reliability_bins(
                truth[here], stated[here], bins=bins, strategy=binning, interval_confidence=drawing.confidence
            )
            title = "Reliability" if name == "all" and system is None else f"Reliability of {name}"
            if drawing.confidence != _USUAL:
                title += f" ({100 * drawing.confidence:g} % intervals)"
            figures.append(found.as_figure(title))
    notes = []
    if clusters is None and drawing.resamples:
        notes.append("there is no column of clusters, so items count as independent")
    notes.append(
        "ECE has no interval, because resampling biases it upwards: compare it with 'ECE if calibrated'"
    )
    counts = {"items": len(table), "systems": len(figures)}
    return ScoreTable(
        "significance",
        tuple(sorted(rows, key=lambda row: row.chance)),
        counts=counts,
        notes=tuple(notes),
        figures=tuple(figures),
    )


def _calibration_rows(
    name: str,
    truth: Floats,
    stated: Floats,
    clusters: Sequence[str] | None,
    column: str | None,
    bins: int,
    binning: BinStrategy,
    drawing: SignificanceSettings,
) -> list[ScoreRow]:
    n = int(truth.size)
    grouping = {"cluster": "item" if column is None else column.replace("|", "/")}
    groups = clusters if clusters is not None else [f"{i:012}" for i in range(n)]
    plain = [("accuracy", "accuracy", truth), ("confidence", "mean_confidence", stated)]
    brier = brier_score(truth, stated)
    values = np.stack([*(v for _, _, v in plain), (stated - truth) ** 2])
    intervals: Sequence[Interval] = [Interval(None, None, "none")] * 3
    if drawing.resamples:
        intervals = bootstrap_mean_intervals(values, groups, **draws_of_tests(drawing))
    scores = [Score(math.fsum(v) / n, drawn_signature(drawing, key, **grouping), n) for _, key, v in plain]
    scores.append(Score(brier.value, drawn_signature(drawing, "brier_score", classes="1", **grouping), n))
    scores = [replace(s, low=i.low, high=i.high, note=i.note) for s, i in zip(scores, intervals, strict=True)]
    options: dict[str, Any] = {"bins": bins, "strategy": binning}
    draws: dict[str, Any] = {"resamples": min(_DRAWS, drawing.resamples or _DRAWS), "seed": drawing.seed}
    parts = brier_decomposition(truth, stated)
    chance = Score(parts.uncertainty, Signature("brier_score", {"classes": "1", "forecast": "base-rate"}), n)
    return [
        ScoreRow("accuracy", scores[0], name),
        ScoreRow("confidence", scores[1], name),
        ScoreRow("ECE", expected_calibration_error(truth, stated, **options), name),
        ScoreRow(
            "ECE if calibrated", calibrated_ece(stated, level=drawing.confidence, **options, **draws), name
        ),
        ScoreRow(
            "p (calibrated)", calibration_test(truth, stated, **options, **draws).as_score(), name, digits=4
        ),
        ScoreRow("MCE", maximum_calibration_error(truth, stated, **options), name),
        ScoreRow("Brier", scores[2], name),
        ScoreRow("NLL", negative_log_likelihood(truth, stated), name),
        ScoreRow("Brier", chance, f"{name}: always its base rate", chance=True),
    ]
