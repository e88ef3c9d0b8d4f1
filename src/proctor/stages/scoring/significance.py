"""Systems compared from files of marks; confidences held against what came true; judges corrected by people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from proctor.errors import UserError
from proctor.metrics.judge_error import JudgeError
from proctor.metrics.score import Score
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.stages.scoring.files import explained
from proctor.stages.scoring.significance_concurrence import concurrence_rows
from proctor.stages.scoring.significance_figures import figures_of_systems
from proctor.stages.scoring.significance_files import Drawing, Marks, read_marks
from proctor.stages.scoring.significance_judges import corrected_rows, judge_headline, judge_note
from proctor.stages.scoring.significance_means import mean_scores
from proctor.stages.scoring.significance_pairs import TESTS, UNPAIRED, Pair, Test, compared_pairs
from proctor.stages.scoring.significance_rows import MANY_PAIRS, best_system, pair_rows, shown_pairs

__all__ = ["TESTS", "UNPAIRED", "Test", "score_significance"]


def score_significance(
    paths: Sequence[Path],
    *,
    test: Test = "sign-flip",
    systems: Sequence[str] = (),
    reference: str | None = None,
    cluster: str | None = None,
    stratum: str | None = None,
    difference: float | None = None,
    judge_calibration: Path | None = None,
    human: Path | None = None,
    concurrence: Path | None = None,
    drawing: Drawing | None = None,
) -> ScoreTable:
    """Compare systems by their marks.

    Args:
        paths: tables of marks, see ``read_marks``.
        test: paired tests for the same items, ``permutation``, ``mann-whitney`` and ``fisher`` for different ones.
        systems: to compare, in this order; all when empty.
        reference: compare the others with this system only.
        cluster: column of clusters.
        stratum: column of strata.
        difference: also say how many items it takes to find a difference of this size.
        judge_calibration: people's and the judge's yes/no on a calibration sample: corrects the shares right.
        human: people's marks on some of the items: corrects the means.
        concurrence: marks of the same systems on another benchmark: says whether both rank them alike.
        drawing: options of the intervals.

    Raises:
        UserError: if a file or an option is wrong.
    """
    if test not in TESTS:
        raise UserError(f"the test must be one of {', '.join(TESTS)}, got {test!r}.")
    if difference is not None and not (math.isfinite(difference) and difference > 0):
        raise UserError(f"the wanted difference must be positive, got {difference:g}.")
    drawing = drawing or Drawing()
    marks = read_marks(paths, systems=systems, cluster=cluster, stratum=stratum)
    if reference is not None and reference not in marks.systems:
        known = ", ".join(map(repr, marks.systems))
        raise UserError(f"there is no system {reference!r}; the systems are {known}.", where=marks.where)
    with explained(marks.where):
        means = mean_scores(marks, drawing)
        pairs = compared_pairs(marks, test, reference, drawing)
        rows = [ScoreRow("mean", score, name, digits=marks.digits) for name, score in means.items()]
        corrected, error = corrected_rows(marks, judge_calibration, human, drawing)
        rows += corrected
        for pair in shown_pairs(pairs, means, reference):
            rows += pair_rows(marks, pair, difference, drawing, len(pairs))
        more: list[str] = []
        if concurrence is not None:
            rows += concurrence_rows(marks, means, concurrence, drawing, more)
    headline: dict[str, object] = {"pairs": [asdict(pair.comparison) for pair in pairs]}
    if error is not None:
        headline["judge"] = judge_headline(error)
    return ScoreTable(
        "significance",
        tuple(rows),
        headline=headline,
        counts=_counts(marks),
        notes=(*_notes(marks, test, pairs, means, reference, error), *more),
        figures=figures_of_systems(means, pairs, corrected),
    )


def _counts(marks: Marks) -> dict[str, int]:
    given = sum(len(row) for row in marks.systems.values())
    failed = sum(v is None for row in marks.systems.values() for v in row.values())
    counts = {"systems": len(marks.systems), "items": len(marks.items)}
    if marks.clusters is not None:
        counts["clusters"] = len({marks.clusters[i] for i in marks.items})
    if marks.strata is not None:
        counts["strata"] = len({marks.strata[i] for i in marks.items})
    return {**counts, "marks": given - failed, "failed": failed}


def _notes(
    marks: Marks,
    test: Test,
    pairs: Sequence[Pair],
    means: Mapping[str, Score],
    reference: str | None,
    error: JudgeError | None,
) -> list[str]:
    notes = []
    if marks.clusters is None:
        notes.append(
            "there is no column of clusters, so items count as independent; several questions about one recording are not"
        )
    notes.append(
        "no chance level of the means: marks do not say what guessing gets; give a system that guesses as one of them. "
        "A difference is held against chance by its p"
    )
    if len(marks.systems) < 2:
        notes.append("there is one system: nothing to compare")
    elif pairs and test not in UNPAIRED:
        dropped = [p for p in pairs if p.comparison.failed or p.skipped]
        if dropped:
            most = max(p.comparison.failed + p.skipped for p in dropped)
            notes.append(
                f"in {len(dropped)} of {len(pairs)} pairs items without a mark in either system are left out (at most {most})"
            )
    if len(pairs) > MANY_PAIRS and reference is None:
        notes.append(
            f"of {len(pairs)} pairs the table shows those with {best_system(means)!r}; --json holds all, the p-values are "
            "corrected over all"
        )
    if error is not None:
        notes.append(judge_note(error))
    return notes
