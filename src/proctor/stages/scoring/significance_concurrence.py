"""Does another benchmark rank the systems alike?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from proctor.errors import UserError
from proctor.metrics.concurrence import concurrence_interval, rank_concurrence
from proctor.metrics.score import Score
from proctor.metrics.table import ScoreRow
from proctor.stages.scoring.significance_files import Drawing, Marks, read_marks
from proctor.stages.scoring.significance_means import item_clusters, mark_matrix, mean_scores

__all__ = ["concurrence_rows"]


def concurrence_rows(
    marks: Marks, means: Mapping[str, Score], path: Path, drawing: Drawing, notes: list[str]
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
    theirs = mean_scores(other, replace(drawing, resamples=0))
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
            first, second, clusters_a=first_clusters, clusters_b=second_clusters, **drawing.arguments
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
