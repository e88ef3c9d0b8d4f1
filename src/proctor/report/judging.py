"""The section on judges: tables and pictures of a calibration, corrected scores and self-preference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from proctor.exam.corrected import CorrectedScore
from proctor.exam.estimate import Estimate
from proctor.exam.judge_calibration import Calibration, JudgeReport
from proctor.exam.judge_marks import JudgeSetup, sort_marks
from proctor.exam.self_preference import Preference, PreferenceCell
from proctor.metrics.figure import Figure, IntervalPlot, Matrix
from proctor.report.data import Judging, ReportData, Run
from proctor.report.figures import draw_figure, figure_guide
from proctor.report.judge_choice import JudgeTable, RubricTable, judge_tables, rubric_tables
from proctor.report.naming import RunName, name_judges

__all__ = ["JudgeLine", "JudgingView", "Picture", "PreferenceTable", "describe_judging", "judge_names"]

_LEVEL_NAMES = {"binary": ("wrong", "right"), "ternary": ("0 wrong", "1 partial", "2 match")}
_MOST_PICTURES = 24
"""Confusion matrices and reliability diagrams that a page shows of each kind."""


@dataclass(frozen=True, slots=True)
class JudgeLine:
    """One line of the table of judges.

    Attributes:
        report: the numbers.
        chosen: it is the one to take.
        tied: the data do not tell it from the chosen one.
        best_in: share of resamples in which it is the best, None when unknown.
        behind: chosen minus this one, None for the chosen one.
    """

    report: JudgeReport
    chosen: bool
    tied: bool
    best_in: float | None
    behind: Estimate | None


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawn figure with its title, and how to read it where that was not said before."""

    title: str
    drawn: Markup
    guide: str = ""


@dataclass(frozen=True, slots=True)
class PreferenceTable:
    """Predictor by judge or generator, and own minus other of each family.

    Attributes:
        kind: ``judge`` or ``generator``.
        columns: names of judges or generators.
        rows: predictor with one cell a column, None where it has none.
        preferences: by family.
        span: largest end of an interval, for the charts.
    """

    kind: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[PreferenceCell | None, ...]], ...]
    preferences: tuple[Preference, ...]
    span: float


@dataclass(frozen=True, slots=True)
class JudgingView:
    """Everything that the section shows.

    Attributes:
        calibration: the stored numbers.
        hash: of the calibration.
        lines: of the table of judges.
        rubrics: each judge that has several rubrics, as in table 9 of the paper.
        judges: each rubric that has several judges, as in table 10.
        several: a judge was asked several times.
        plot: correlation of every judge as a picture.
        confusions: one picture a judge.
        reliabilities: one picture for each judge that stated how sure it was.
        agreement: heat-map of the judges, None with fewer than two.
        corrected: run and corrected score.
        notes: why numbers are missing or doubtful, with the runs that it holds for.
        by_run: corrected score of each run for the judge that its scores are made with.
        tables: of self-preference, those with content.
        preference_notes: what was left out of them.
        generator_judge: whose marks the table of generators shows.
    """

    calibration: Calibration
    hash: str
    lines: tuple[JudgeLine, ...]
    rubrics: tuple[RubricTable, ...]
    judges: tuple[JudgeTable, ...]
    several: bool
    plot: Picture | None
    confusions: tuple[Picture, ...]
    reliabilities: tuple[Picture, ...]
    agreement: Picture | None
    corrected: tuple[tuple[str, CorrectedScore], ...]
    notes: tuple[tuple[str, tuple[str, ...]], ...]
    by_run: Mapping[str, CorrectedScore]
    tables: tuple[PreferenceTable, ...]
    preference_notes: tuple[str, ...]
    generator_judge: str

    @property
    def several_shown(self) -> bool:
        """Corrected scores are those of several judges."""
        return len({score.judge for _, score in self.corrected}) > 1

    @property
    def gaps(self) -> bool:
        """Some judge was not shown an answer that people marked, or gave it no mark."""
        return any(line.report.absent or line.report.unscored for line in self.lines)


def describe_judging(data: ReportData) -> JudgingView | None:
    """Prepare the section, or None in a report without a calibration.

    Raises:
        UserError: if a run holds a judgement twice.
    """
    judging = data.judging
    if judging is None:
        return None
    calibration = judging.calibration
    shown = tuple((run, score) for run, scores in judging.corrected.items() for score in scores)
    preference = judging.self_preference
    names = name_judges(r.judge for r in calibration.judges)
    tables = (
        _table("judge", preference.judge_cells, preference.judges),
        _table("generator", preference.generator_cells, preference.generators),
    )
    return JudgingView(
        calibration=calibration,
        hash=judging.hash,
        lines=tuple(_line(r, calibration) for r in calibration.judges),
        rubrics=rubric_tables(calibration),
        judges=judge_tables(calibration),
        several=any(r.consistency for r in calibration.judges),
        plot=_plot(calibration, names),
        confusions=_pictures([_confusion(r, names) for r in _chosen_first(calibration) if r.n]),
        reliabilities=_pictures([r.reliability for r in _chosen_first(calibration) if r.reliability]),
        agreement=_agreement(calibration, names),
        corrected=shown,
        notes=_notes(shown),
        by_run={run.name: found for run in data.runs if (found := _of_run(run, judging)) is not None},
        tables=tuple(t for t in tables if t.rows),
        preference_notes=preference.notes,
        generator_judge=preference.generator_judge,
    )


def judge_names(view: JudgingView | None) -> dict[str, RunName]:
    """Return how the page calls each judge, by its name."""
    if view is None:
        return {}
    return name_judges([*(r.judge for r in view.calibration.judges), *(s.judge for _, s in view.corrected)])


def _chosen_first(calibration: Calibration) -> list[JudgeReport]:
    return sorted(calibration.judges, key=lambda r: r.name != calibration.choice.judge)


def _line(report: JudgeReport, calibration: Calibration) -> JudgeLine:
    choice = calibration.choice
    behind = next((d for d in choice.differences if d.other == report.name), None)
    return JudgeLine(
        report=report,
        chosen=report.name == choice.judge,
        tied=report.name in choice.tied,
        best_in=choice.best_in.get(report.name),
        behind=behind.difference if behind else None,
    )


# -- pictures ----------------------------------------------------------------------------------------------------------


def _pictures(figures: Sequence[Figure]) -> tuple[Picture, ...]:
    """Draw figures of one kind; how to read them is said once."""
    return tuple(
        Picture(f.title, draw_figure(f), "" if n else figure_guide(f))
        for n, f in enumerate(figures[:_MOST_PICTURES])
    )


def _plot(calibration: Calibration, names: Mapping[str, RunName]) -> Picture | None:
    reports = [r for r in calibration.judges if r.n]
    if not reports:
        return None
    found = [r.correlation for r in reports]
    lowest = min((x for e in found for x in (e.low, e.value) if x is not None), default=0.0)
    figure = IntervalPlot(
        "Correlation with people",
        tuple(names[r.name].label for r in reports),
        tuple(e.value for e in found),
        tuple(e.low for e in found),
        tuple(e.high for e in found),
        scale=(-1.0 if lowest < 0 else 0.0, 1.0),
    )
    return Picture(figure.title, draw_figure(figure))


def _confusion(report: JudgeReport, called: Mapping[str, RunName]) -> Matrix:
    names = _LEVEL_NAMES[report.judge.scale]
    return Matrix(
        called[report.name].label,
        names,
        names,
        tuple(tuple(float(n) for n in row) for row in report.confusion),
        row_title="people",
        column_title="judge",
    )


def _agreement(calibration: Calibration, called: Mapping[str, RunName]) -> Picture | None:
    names = tuple(r.name for r in calibration.judges)
    if len(names) < 2:
        return None
    value = {frozenset((a.a, a.b)): a.kappa.value for a in calibration.agreement}
    cells = tuple(tuple(None if a == b else value.get(frozenset((a, b))) for b in names) for a in names)
    low = -1.0 if any(v is not None and v < 0 for v in value.values()) else 0.0
    rows = tuple(f"{k}. {called[name].label}" for k, name in enumerate(names, 1))
    columns = tuple(str(k) for k in range(1, len(names) + 1))
    figure = Matrix("Weighted κ of every two judges", rows, columns, cells, "values", low=low)
    return Picture(figure.title, draw_figure(figure), figure_guide(figure))


# -- corrected scores --------------------------------------------------------------------------------------------------


def _notes(shown: Sequence[tuple[str, CorrectedScore]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found: dict[str, list[str]] = {}
    for run, score in shown:
        missing = [e.note for e in (score.mean, score.share) if e.value is None]
        for note in dict.fromkeys(filter(None, (*missing, score.warning))):
            if run not in found.setdefault(note, []):
                found[note].append(run)
    return tuple((note, tuple(runs)) for note, runs in found.items())


def _of_run(run: Run, judging: Judging) -> CorrectedScore | None:
    """Find the corrected score for the judge whose marks the run's own score is made of."""
    setups: list[JudgeSetup] = [m.setup for m in sort_marks(run.judgements)]
    return next((s for s in judging.corrected.get(run.name, ()) if s.judge in setups), None)


# -- self-preference ---------------------------------------------------------------------------------------------------


def _table(kind: str, cells: Sequence[PreferenceCell], preferences: Sequence[Preference]) -> PreferenceTable:
    columns = tuple(dict.fromkeys(c.column for c in cells))
    place = {(c.predictor, c.column): c for c in cells}
    predictors = dict.fromkeys(c.predictor for c in cells)
    ends = [
        abs(x)
        for p in preferences
        for e in (p.plain, p.adjusted)
        for x in (e.low, e.high, e.value)
        if x is not None
    ]
    return PreferenceTable(
        kind,
        columns,
        tuple((p, tuple(place.get((p, c)) for c in columns)) for p in predictors),
        tuple(preferences),
        max([5.0, *ends]),
    )
