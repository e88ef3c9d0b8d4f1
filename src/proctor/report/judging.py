"""The section on judges: how far their marks are those of people, corrected scores, self-preference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from proctor.exam.corrected import CorrectedScore
from proctor.exam.estimate import Estimate
from proctor.exam.judge_calibration import Calibration, JudgeReport
from proctor.exam.judge_marks import JudgeSetup, Scale, sort_marks
from proctor.exam.self_preference import Preference, PreferenceCell
from proctor.metrics.figure import IntervalPlot, Matrix
from proctor.report import charts
from proctor.report.data import Judging, Run
from proctor.report.marks import LEVEL_NAMES, Marks
from proctor.report.naming import RunName, judge_parts, name_judges
from proctor.report.numbers import count, counted, number, show_p
from proctor.report.parts import Cell, Fold, Led, Paragraph, Part, Row, Section, Table

__all__ = ["corrected_of", "judging_section"]

_MOST: Final = 24
"""Confusion matrices and reliability diagrams that a page shows of each kind."""

_SHOWN: Final[Mapping[str, str]] = {
    "": "question and accepted answers",
    "recipe": "… and the procedure",
    "step": "… and the steps done",
}
"""What our rubrics show a judge, by the part of their name behind the scale."""

Names = Mapping[str, RunName]


def judging_section(judging: Judging, runs: Names, questions: Mapping[str, str]) -> Section:
    """Return the section of a calibration.

    Args:
        judging: the numbers.
        runs: how the page calls each run.
        questions: text of each question, by item.
    """
    calibration = judging.calibration
    corrected = [(run, score) for run, scores in judging.corrected.items() for score in scores]
    names = name_judges([*(r.judge for r in calibration.judges), *(s.judge for _, s in corrected)])
    marks = Marks(judging, names, runs, questions)
    parts = [
        *_opening(calibration, names),
        *_choices(calibration, marks),
        *_judges(calibration, names, marks),
        *_pictures(calibration, names, marks),
        *_agreement(calibration, names, marks),
        *_corrected(judging, corrected, names, runs, marks),
        *_preferences(judging, {**names, **runs}, marks),
    ]
    facts = _people(calibration, marks)
    return Section("judges", "Judges", (*parts, marks.listing()), facts)


def corrected_of(run: Run, judging: Judging) -> CorrectedScore | None:
    """Return the corrected score for the judge whose marks a run's own score is made of."""
    setups: list[JudgeSetup] = [m.setup for m in sort_marks(run.judgements)]
    return next((s for s in judging.corrected.get(run.name, ()) if s.judge in setups), None)


def _called(names: Names, name: str) -> Cell:
    found = names.get(name)
    return Cell(found.title, found.view, title=name) if found is not None else Cell(name)


def _people(c: Calibration, marks: Marks) -> tuple[tuple[str, Cell], ...]:
    """Return what people marked, above everything else."""
    each = tuple(Cell(f"{name} {n:,}", among=marks.by_person(name, n)) for name, n in c.people.items())
    divided = (("on which they are divided", counted(c.disputed, among=marks.divided(c.disputed))),)
    return (
        ("answers marked by people", counted(len(c.human), among=marks.by_people(len(c.human)))),
        ("by each", Cell(parts=each)),
        *(divided if c.disputed else ()),
    )


def _opening(c: Calibration, names: Names) -> Iterator[Part]:
    if not c.choice.judge:
        text = f"No judge can be chosen: {c.choice.note}."
    else:
        judge, criterion = c.choice.judge, c.choice.criterion.replace("_", " ")
        label = names[judge].label if judge in names else judge
        text = f"By {criterion} with people, {label} is the judge to take"
        if judge in c.choice.best_in:
            text += f"; it is the best one in {100 * c.choice.best_in[judge]:.0f} % of the resamples"
        text += "."
        if c.choice.tied:
            text += f" The marks do not distinguish it from {count(len(c.choice.tied), 'other')}."
    yield Paragraph(text)
    for note in (*c.notes, *([c.choice.note] if c.choice.note and c.choice.judge else [])):
        yield Paragraph(f"{note}.", beware=True)


def _three(report: JudgeReport | None, chosen: str, marks: Marks) -> tuple[Cell, ...]:
    if report is None:
        return (Cell("–"),) * 3
    tone = "strong" if report.name == chosen else ""
    among = marks.compared(report)
    return tuple(
        replace(number(e, 2, tone=tone), among=among)
        for e in (report.correlation, report.accuracy, report.kappa)
    )


def _choices(c: Calibration, marks: Marks) -> Iterator[Part]:
    """Yield the paper's tables 9 and 10: one judge with several rubrics, one rubric with several judges."""
    chosen = c.choice.judge
    by_judge: dict[str, list[JudgeReport]] = {}
    by_rubric: dict[tuple[str, Scale], list[tuple[str, JudgeReport]]] = {}
    for report in c.judges:
        model, rubric = judge_parts(report.judge)
        by_judge.setdefault(model, []).append(report)
        by_rubric.setdefault((rubric, report.judge.scale), []).append((model, report))
    for model, reports in by_judge.items():
        if len(reports) > 1:
            yield _rubrics(model, reports, c, marks)
    for (rubric, scale), rows in by_rubric.items():
        if len({model for model, _ in rows}) > 1:
            lines: tuple[Row, ...] = tuple(
                (
                    Cell(model, tag="chosen" if r.name == chosen else ""),
                    *_three(r, chosen, marks),
                    counted(r.n, among=marks.compared(r)),
                )
                for model, r in rows
            )
            note = f"Every model that judged with the rubric {rubric or scale}, as in table 10 of the ProMQA paper."
            yield Table(
                f"Which judge, with {rubric or scale}", ("Judge", "r", "accuracy", "κ", "n"), lines, note
            )


def _rubrics(judge: str, reports: Sequence[JudgeReport], c: Calibration, marks: Marks) -> Table:
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
    rows: tuple[Row, ...] = tuple(
        (
            _SHOWN.get(name, name),
            *(cell for scale in scales for cell in _three(found[name, n].get(scale), c.choice.judge, marks)),
        )
        for name, n in names
    )
    head = ("The judge is shown", *(f"{s}: {what}" for s in scales for what in ("r", "accuracy", "κ")))
    note = (
        f"{judge} with each rubric against people on the same answers, as in table 9 of the ProMQA paper. r: Pearson's "
        f"correlation. Below each number its {100 * c.confidence:g} % interval, by a bootstrap over recordings."
    )
    return Table(f"Which rubric, for {judge}", head, rows, note)


def _judges(c: Calibration, names: Names, marks: Marks) -> Iterator[Part]:
    if not c.judges:
        return
    behind = {d.other: d.difference for d in c.choice.differences}
    several = any(r.consistency for r in c.judges)
    gaps = any(r.absent or r.unscored for r in c.judges)
    rows: list[Row] = []
    for r in c.judges:
        called = _called(names, r.name)
        tag = "chosen" if r.name == c.choice.judge else "≈ tied" if r.name in c.choice.tied else ""
        best = c.choice.best_in.get(r.name)
        again = Cell("–")
        if r.consistency:
            again = number(
                r.consistency.same,
                2,
                more=f"{r.consistency.repeats} times, α {r.consistency.alpha.value or 0:.2f}",
            )
            again = replace(again, among=marks.again(r))
        compared = marks.compared(r)
        yes, no = (marks.called(r, right=right) for right in (True, False))
        rows.append(
            (
                Cell(called.text, called.small, tag=tag, title=r.name),
                *(
                    replace(cell, among=among if cell.text != "–" else None)
                    for cell, among in (
                        (number(r.correlation, 2, tone="strong"), compared), (number(r.accuracy, 2), compared),
                        (number(r.kappa, 2), compared), (number(r.weighted_kappa, 2), compared),
                        (number(r.bias, sign=True), compared), (number(r.sensitivity, 2), yes),
                        (number(r.specificity, 2), no), (number(behind.get(r.name), 2), compared),
                        (Cell("–" if best is None else f"{100 * best:.0f} %"), compared),
                    )
                ),
                *([again] if several else []), counted(r.n, among=compared),
                *([counted(r.absent, among=marks.not_shown(r)), counted(r.unscored, among=marks.unscored(r))] if gaps else []),
            )
        )  # fmt: skip
    head = (
        "Judge", "Correlation", "Accuracy", "κ", "Weighted κ", "Bias", "Sensitivity", "Specificity", "Behind", "Best in",
        *(["Same again"] if several else []), "n", *(["Not shown", "Unscored"] if gaps else []),
    )  # fmt: skip
    least = f"{c.right}{' or better' if c.right == 1 else ''}"
    note = (
        f"All on the same answers. Intervals hold {100 * c.confidence:g} % and are clustered by recording. Bias: judge minus people in "
        "points of 0 to 100; below 0 the judge is too strict. Sensitivity: of the answers that people call right (mark "
        f"{least}), those that the judge calls right; specificity: of the others, those that it does not. Behind: the chosen judge minus "
        f"this one in {c.choice.criterion.replace('_', ' ')}, on the same resamples, with intervals that hold together."
    )
    yield Table("Judges against people", head, tuple(rows), note)


def _pictures(c: Calibration, names: Names, marks: Marks) -> Iterator[Part]:
    reports = [r for r in c.judges if r.n]
    if reports:
        found = [r.correlation for r in reports]
        lowest = min((x for e in found for x in (e.low, e.value) if x is not None), default=0.0)
        plot = IntervalPlot(
            "Correlation with people",
            tuple(names[r.name].label for r in reports),
            tuple(e.value for e in found), tuple(e.low for e in found), tuple(e.high for e in found),
            scale=(-1.0 if lowest < 0 else 0.0, 1.0),
        )  # fmt: skip
        yield Led(plot, tuple(Cell(among=marks.compared(r)) for r in reports))
    first = sorted(reports, key=lambda r: r.name != c.choice.judge)
    confusions = [Led(_confusion(r, names), marks.confusion(r)) for r in first[:_MOST]]
    yield from confusions[:1]
    if confusions[1:]:
        yield Fold(f"The marks of {count(len(confusions) - 1, 'other judge')}", tuple(confusions[1:]))
    if sure := tuple(Led(r.reliability, marks.confident(r)) for r in first[:_MOST] if r.reliability):
        yield Fold("How sure the judges were, and how often their mark was that of people", sure)


def _confusion(report: JudgeReport, called: Names) -> Matrix:
    names = LEVEL_NAMES[report.judge.scale]
    cells = tuple(tuple(float(n) for n in row) for row in report.confusion)
    title = f"What people said and what the judge said: {called[report.name].label}"
    return Matrix(title, names, names, cells, row_title="people", column_title="judge")


def _agreement(c: Calibration, called: Names, marks: Marks) -> Iterator[Part]:
    if c.people_agreement:
        rows: tuple[Row, ...] = tuple(
            (
                f"{a.a} and {a.b}",
                *(replace(number(e, 2), among=both) for e in (a.raw, a.kappa)),
                counted(a.raw.n, among=both),
            )
            for a in c.people_agreement
            for both in [marks.by_two(a.a, a.b, a.raw.n)]
        )
        note = "People among themselves: no judge can be expected to agree with them more."
        yield Table("Agreement of people", ("Two people", "Same mark", "Weighted κ", "Answers"), rows, note)
    names = tuple(r.name for r in c.judges)
    if len(names) > 1:
        value = {frozenset((a.a, a.b)): a.kappa.value for a in c.agreement}
        both_marked = {
            frozenset((a.a, a.b)): Cell(among=marks.by_both(a.a, a.b, a.raw.n)) for a in c.agreement
        }
        cells = tuple(tuple(None if a == b else value.get(frozenset((a, b))) for b in names) for a in names)
        low = -1.0 if any(v is not None and v < 0 for v in value.values()) else 0.0
        rows_ = tuple(f"{k}. {called[name].label}" for k, name in enumerate(names, 1))
        columns = tuple(str(k) for k in range(1, len(names) + 1))
        matrix = Matrix("Weighted κ of every two judges", rows_, columns, cells, "values", low=low)
        yield Led(matrix, tuple(both_marked.get(frozenset((a, b)), Cell()) for a in names for b in names))
        yield Paragraph("Over all answers that both marked; on wrong and right where either scale is binary.")


# -- corrected scores --------------------------------------------------------------------------------------------------


def _corrected(
    judging: Judging,
    shown: Sequence[tuple[str, CorrectedScore]],
    names: Names,
    runs: Names,
    marks: Marks,
) -> Iterator[Part]:
    if not shown:
        return
    several = len({score.judge for _, score in shown}) > 1
    rows = []
    for run, s in shown:
        label = runs[run].label if run in runs else run
        by = f"judged by {names[s.judge.name].label}" if several else ""
        recordings = count(s.labelled_recordings, "recording")
        among = marks.of_run(run, s.judge, s.labels)
        of_run = [
            number(e, tone=tone)
            for e, tone in ((s.judged, ""), (s.mean, "strong"), (s.judged_share, ""), (s.share, ""))
        ]
        judged, mean, judged_share, share = (
            replace(c, find=(("run", label),) if c.text != "–" else ()) for c in of_run
        )
        rows.append(
            (Cell(label, by, title=run), judged, mean, replace(number(s.people), among=among), judged_share, share,
             Cell(f"{s.labels:,}", recordings, among=among))
        )  # fmt: skip
    head = (
        "Run", "Points: judged", "corrected", "people alone", "Right, %: judged", "corrected", "Marked by people",
    )  # fmt: skip
    note = (
        "Corrected points: the mean of the judge's marks on all answers, moved by how far it is off on those that people marked "
        "(prediction-powered; right if these were drawn at random). Corrected share: the share of right answers, by the judge's "
        "sensitivity and specificity (Rogan and Gladen). A dash is printed where the marks do not identify a number. "
        + ("" if several else f"Judged by {names[shown[0][1].judge.name].label}. ")
        + f"Calibration {judging.hash}."
    )
    if any(not s.own_error for _, s in shown):
        note += (
            " Runs without enough human marks of their own take the judge's error from the answers of all runs: their corrected share "
            "is right only if the judge errs alike on each."
        )
    yield Table("If people had judged", head, tuple(rows), note)
    doubts: dict[str, list[str]] = {}
    for run, score in shown:
        missing = [e.note for e in (score.mean, score.share) if e.value is None]
        for text in dict.fromkeys(filter(None, (*missing, score.warning))):
            doubts.setdefault(text, []).append(runs[run].label if run in runs else run)
    for text, whose in doubts.items():
        yield Paragraph(f"{'; '.join(dict.fromkeys(whose))}: {text}.", beware=True)


# -- self-preference ---------------------------------------------------------------------------------------------------


def _preferences(judging: Judging, names: Names, marks: Marks) -> Iterator[Part]:
    found, judge = judging.self_preference, judging.self_preference.generator_judge
    runs = [*dict.fromkeys(c.predictor for c in (*found.judge_cells, *found.generator_cells))]
    columns = [*dict.fromkeys(c.column for c in found.judge_cells)]
    by = f", judged by {names[found.generator_judge].label}" if found.generator_judge in names else ""
    yield from _preference(
        "Marks of each run by each judge", "Mean mark of each run at each judge, on the answers that all of them marked.",
        "Plain: the marks that a family's judges give to its own answers, minus those that other judges give to the same answers; a "
        "judge that is strict with everybody is strict here too. Adjusted: minus the same difference on the answers of families that "
        "do not judge, where there are any, which is self-preference proper.",
        found.judge_cells, found.judges, names,
        lambda c: marks.judged_by(c.predictor, columns, c.score.n),
        lambda p, adjusted: marks.preferring(p, runs, adjusted=adjusted),
    )  # fmt: skip
    yield from _preference(
        "Who answers whose questions", f"Mean mark of each run on the questions that each model wrote{by}.",
        "Plain: the mark of a family's runs on its own questions minus that on the others'. Adjusted: the same for their lead over the "
        "runs of other families, so that easy questions do not count.",
        found.generator_cells, found.generators, names,
        lambda c: marks.written_by(c.predictor, c.column, judge, c.score.n),
        lambda p, adjusted: marks.asking(p, runs, judge, adjusted=adjusted),
    )  # fmt: skip
    for note in found.notes:
        yield Paragraph(f"{note}.", beware=True)


def _preference(
    title: str,
    note: str,
    guide: str,
    cells: Sequence[PreferenceCell],
    preferences: Sequence[Preference],
    names: Names,
    of_cell: Callable[[PreferenceCell], tuple[str, str] | None],
    of_family: Callable[[Preference, bool], tuple[str, str] | None],
) -> Iterator[Part]:
    if not cells:
        return
    columns = tuple(dict.fromkeys(c.column for c in cells))
    place = {(c.predictor, c.column): c for c in cells}

    def shown(cell: PreferenceCell | None) -> Cell:
        if cell is None:
            return Cell("–")
        shown = number(cell.score, tone="own" if cell.own else "", more="(same family)" if cell.own else "")
        return replace(shown, among=of_cell(cell))

    rows = tuple(
        (_called(names, p), *(shown(place.get((p, column))) for column in columns))
        for p in dict.fromkeys(c.predictor for c in cells)
    )
    head = ("Run", *(names[c].label if c in names else c for c in columns))
    yield Table(title, head, rows, f"{note} Framed: both are of one family.")
    if not preferences:
        return
    ends = [
        abs(x)
        for p in preferences
        for e in (p.plain, p.adjusted)
        for x in (e.low, e.high, e.value)
        if x is not None
    ]
    span = max([5.0, *ends])
    test = (
        "flipping whole recordings"
        if any(p.paired for p in preferences)
        else "Student's test on sums over recordings"
    )

    def around(e: Estimate) -> Cell:
        if e.value is None:
            return Cell(e.note, tone="soft")
        return Cell(drawn=charts.difference_chart(e.value, e.low, e.high, span=span))

    lines = tuple(
        (p.family, replace(number(p.plain, sign=True), among=of_family(p, False)), show_p(p.plain.p_holm),
         replace(number(p.adjusted, sign=True, tone="strong"), among=of_family(p, True)),
         around(p.adjusted), show_p(p.adjusted.p_holm))
        for p in preferences
    )  # fmt: skip
    notes = "".join(
        f" {p.family}: {p.adjusted.note}."
        for p in preferences
        if p.adjusted.note and p.adjusted.value is not None
    )
    yield Table(
        f"{title}: own minus other", ("Family", "Plain", "p, Holm", "Adjusted", "around zero", "p, Holm "), lines,
        f"{guide} p by {test}, corrected over the families (Holm).{notes}",
    )  # fmt: skip
