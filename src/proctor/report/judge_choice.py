"""The paper's tables 9 and 10: one judge with several rubrics, one rubric with several judges, each against people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from proctor.exam.judge_calibration import Calibration, JudgeReport
from proctor.exam.judge_marks import Scale
from proctor.report.naming import judge_parts

__all__ = ["JudgeTable", "RubricTable", "judge_tables", "rubric_tables"]

_SHOWN: Final[Mapping[str, str]] = {
    "": "question and accepted answers",
    "recipe": "… and the procedure",
    "step": "… and the steps done",
}
"""What our rubrics show a judge, by the part of their name behind the scale."""


@dataclass(frozen=True, slots=True)
class RubricTable:
    """One judge with several rubrics.

    Attributes:
        judge: the model.
        scales: of the columns.
        rows: what the rubric shows or is called, and its report on each scale; None where it was not tried.
    """

    judge: str
    scales: tuple[Scale, ...]
    rows: tuple[tuple[str, tuple[JudgeReport | None, ...]], ...]


@dataclass(frozen=True, slots=True)
class JudgeTable:
    """One rubric with several judges: its name and scale, and model with report in the order of the reports."""

    rubric: str
    scale: Scale
    rows: tuple[tuple[str, JudgeReport], ...]


def rubric_tables(calibration: Calibration) -> tuple[RubricTable, ...]:
    """Return a table for each model that judged with more than one rubric."""
    by_judge: dict[str, list[JudgeReport]] = {}
    for report in calibration.judges:
        by_judge.setdefault(judge_parts(report.judge)[0], []).append(report)
    return tuple(_rubrics(judge, reports) for judge, reports in by_judge.items() if len(reports) > 1)


def judge_tables(calibration: Calibration) -> tuple[JudgeTable, ...]:
    """Return a table for each rubric that more than one model judged with."""
    by_rubric: dict[tuple[str, Scale], list[tuple[str, JudgeReport]]] = {}
    for report in calibration.judges:
        model, rubric = judge_parts(report.judge)
        by_rubric.setdefault((rubric, report.judge.scale), []).append((model, report))
    return tuple(
        JudgeTable(rubric, scale, tuple(rows))
        for (rubric, scale), rows in by_rubric.items()
        if len({model for model, _ in rows}) > 1
    )


def _rubrics(judge: str, reports: Sequence[JudgeReport]) -> RubricTable:
    scales = tuple(dict.fromkeys(r.judge.scale for r in reports))
    found: dict[tuple[str, int], dict[Scale, JudgeReport]] = {}
    for report in reports:
        scale = report.judge.scale
        name = judge_parts(report.judge)[1].removeprefix(scale).removeprefix("-")
        again = 0  # two versions of one rubric stand in two lines
        while scale in found.setdefault((name, again), {}):
            again += 1
        found[name, again][scale] = report
    order = [*_SHOWN]
    names = sorted(found, key=lambda k: order.index(k[0]) if k[0] in order else len(order))
    rows = tuple((_SHOWN.get(name, name), tuple(map(found[name, n].get, scales))) for name, n in names)
    return RubricTable(judge, scales, rows)
