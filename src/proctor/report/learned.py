"""A page of runs that recognise mistakes: how well, what that means, and each step with what was said of it and why.

Runs stand side by side on the same test steps. Which of them is looked at closely is decided on validation data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final

import numpy as np

from proctor.metrics.bootstrap import FEW_CLUSTERS, FEW_CLUSTERS_NOTE
from proctor.metrics.calibration import (
    brier_score,
    calibrated_ece,
    expected_calibration_error,
    reliability_bins,
)
from proctor.metrics.classification import (
    CHANCE,
    average_precision,
    chance_scores,
    paired_difference,
    roc_auc,
)
from proctor.metrics.curves import CurveBand, precision_recall_band, roc_band
from proctor.metrics.figure import IntervalPlot
from proctor.report.figures.clusters import draw_clusters
from proctor.report.figures.curves import CURVES_GUIDE, Curve, Curves, draw_curves
from proctor.report.learned_data import Decisions, Learned, TestedRun
from proctor.report.learned_steps import recipe_table, step_cards, step_table
from proctor.report.numbers import count, number, show_value
from proctor.report.parts import Cell, Drawn, Fold, Page, Paragraph, Part, Row, Section, Table

__all__ = ["learned_page"]

RESAMPLES: Final = 2_000
_CURVES: Final = 6
"""So many curves can be told apart."""
_ALL_PAIRS: Final = 4
"""Up to so many runs are compared each with each; more are compared with the one that is looked at closely."""
_MEANING: Final = """\
Pooled: a mistake is drawn, and a step without one, from anywhere; how often does the mistake score higher? Papers report this.
Within recordings: both are drawn from one recording. Which of its steps went wrong? This is what helps a person at work.
Between recordings: they are drawn from two recordings. Knowing which recording went wrong is enough.
In mistaken recordings: pooled, but recordings without any mistake are left out."""
_FIGURES: Final[Mapping[str, str]] = {
    "auc": "pooled",
    "auc_within": "within recordings",
    "auc_between": "between recordings",
    "auc_mistaken": "in mistaken recordings",
    "average_precision": "average precision",
}
_DECIDED: Final[Mapping[str, str]] = {
    "accuracy": "accuracy",
    "precision": "precision",
    "recall": "recall",
    "f1": "F1",
}
_CHANCE_NAMES: Final = {
    "always-error": "always a mistake",
    "always-normal": "never a mistake",
    "prior": "guessing at the rate",
}


def learned_page(found: Learned, *, resamples: int = RESAMPLES) -> Page:
    """Return the page; equal runs give equal pages.

    Args:
        found: steps and runs.
        resamples: of bands and differences; 0 leaves them out.
    """
    close = found.closest
    cards, note = step_cards(found.steps, found.runs, close)
    sections = [_summary(found), *_seeds(found), _decisions(found), _curves(found, resamples)]
    sections += [*_calibration(found), *_kinds(found), *_observed(found), *_differences(found, resamples)]
    sections.append(
        Section(
            "where",
            "Where it fails",
            (recipe_table(found.steps, found.runs, close), step_table(found.steps, close)),
        )
    )
    lead = (
        "Each step of a recording gets a score: how likely is it that a mistake was made in it? "
        + (f"Test part of split {found.split}. " if found.split else "")
        + f"{close.name} is looked at closely, because it is the best on validation data."
        * (len(found.runs) > 1),
    )
    return Page(
        found.title,
        lead,
        sections=tuple(s for s in sections if s.parts),
        examples=cards,
        examples_title="Steps",
        examples_note=note,
        method=tuple((f"{run.name}: {name}", value) for run in found.runs for name, value in run.method),
    )


# -- how well, and what that means ---------------------------------------------------------------------------------


def _summary(found: Learned) -> Section:
    labels, recordings = found.closest.labels, found.recordings
    mistaken = {r for r, mistake in zip(recordings, labels, strict=True) if mistake}
    facts = (
        ("steps", f"{len(labels):,}"),
        ("mistakes", f"{int(labels.sum()):,}" + (f" ({100 * labels.mean():.1f} %)" if labels.size else "")),
        ("recordings", f"{len(set(recordings)):,}"),
        ("with a mistake", f"{len(mistaken):,}"),
        ("runs", f"{len(found.runs):,}"),
    )
    notes = [*found.notes]
    if len(set(recordings)) < FEW_CLUSTERS:
        notes.append(f"Only {count(len(set(recordings)), 'recording')}: {FEW_CLUSTERS_NOTE}.")
    parts: list[Part] = [Paragraph(text, beware=True) for text in notes]
    parts += [_figures_table(found), Paragraph(_clustering(found))]
    parts.append(Fold("What the four figures mean", tuple(map(Paragraph, _MEANING.splitlines())), shown=True))
    by_recording: dict[str, list[bool]] = {}
    for k in sorted(range(len(recordings)), key=lambda k: found.steps[k].times[:1]):
        by_recording.setdefault(recordings[k], []).append(bool(labels[k]))
    drawn = draw_clusters(list(by_recording.items()))
    parts.append(
        Drawn(
            "Mistakes by recording",
            drawn,
            "One column a recording, one square a step, in the order of their start.",
        )
    )
    if len(found.runs) > 1:
        for name in ("auc", "auc_within"):
            parts.append(_plot(f"ROC-AUC, {_FIGURES[name]}", found.runs, name))
    return Section("summary", "Step or recording?", tuple(parts), facts)


def _figures_table(found: Learned) -> Table:
    rows: list[Row] = [
        (Cell(run.name, run.sees), *(number(run.figures.get(name), scale=100) for name in _FIGURES))
        for run in found.runs
    ]
    rows.append(_nothing(found))
    rows += [
        (
            Cell(p.name, p.source, "floor", tag="published"),
            show_value(p.auc, 2),
            *[Cell("–", tone="soft")] * 4,
        )
        for p in found.published
        if p.auc is not None
    ]
    note = (
        "ROC-AUC in per cent: 50 is guessing, 100 is perfect. Below each figure its 95 % interval, from drawing whole "
        "recordings. Papers report the pooled figure only."
    )
    return Table("How well mistakes are found", ("", *_FIGURES.values()), tuple(rows), note)


def _nothing(found: Learned, *between: str) -> Row:
    """Return the row of knowing nothing, for a table whose last columns are the five figures."""
    labels = found.closest.labels
    prior = show_value(100 * float(labels.mean())) if labels.size else "–"
    return (Cell("knowing nothing", tone="floor", tag="chance"), *between, *["50.0"] * 4, prior)


def _clustering(found: Learned) -> str:
    """Say in numbers of this test part why the pooled figure is about recordings."""
    labels, recordings = found.closest.labels, np.array(found.recordings)
    total = int(labels.sum()) * int((~labels).sum())
    if not total:
        return "There are no pairs of a mistake and a step without one, so no ROC-AUC has a value."
    within = sum(
        int(labels[recordings == r].sum()) * int((~labels[recordings == r]).sum())
        for r in np.unique(recordings)
    )
    close = found.closest
    text = (
        f"The pooled figure counts {total:,} pairs of a mistake and a step without one. Only {within:,} of them "
        f"({100 * within / total:.1f} %) are pairs of one recording; all others are of two. "
    )
    with_mistake, every = len(set(recordings[labels].tolist())), len(set(recordings.tolist()))
    if with_mistake < every:
        text += (
            f"All mistakes are in {with_mistake:,} of the {every:,} recordings, so a model that tells these from the others "
            "has a high pooled figure without knowing a single step. "
        )
    pooled, inside = (getattr(close.figures.get(name), "value", None) for name in ("auc", "auc_within"))
    if pooled is None or inside is None:
        return text
    return text + (
        f"{close.name}: {100 * pooled:.1f} % pooled, {100 * inside:.1f} % within recordings. "
        "Read the second before you believe the first."
    )


def _plot(title: str, runs: Sequence[TestedRun], name: str) -> IntervalPlot:
    figures = [run.figures.get(name) for run in runs]
    values, low, high = (
        tuple(None if f is None or (v := getattr(f, end)) is None else 100 * v for f in figures)
        for end in ("value", "low", "high")
    )
    names = tuple(run.name for run in runs)
    return IntervalPlot(title, names, values, low, high, (50.0,) * len(names), (0.0, 100.0))


def _seeds(found: Learned) -> Iterator[Section]:
    groups: dict[tuple[str, float], list[TestedRun]] = {}
    for run in found.runs:
        groups.setdefault((run.family, run.observed), []).append(run)
    rows: tuple[Row, ...] = tuple(
        (
            Cell(family, f"{len(runs)} seeds" + (f", {observed:.0%} seen" if observed < 1 else "")),
            *_spreads(runs),
        )
        for (family, observed), runs in groups.items()
        if len(runs) > 1
    )
    if rows:
        note = "Mean ± standard deviation over seeds, in per cent: chance of training, not of the recordings."
        table = Table("Several seeds", ("", *_FIGURES.values()), rows, note)
        yield Section("seeds", "Seeds", (table,))


def _spreads(runs: Sequence[TestedRun]) -> Iterator[str]:
    for name in _FIGURES:
        values = [f.value for run in runs if (f := run.figures.get(name)) is not None and f.value is not None]
        whole = len(values) == len(runs)
        yield f"{100 * np.mean(values):.1f} ± {100 * np.std(values, ddof=1):.1f}" if whole else "–"


# -- decisions, curves, calibration --------------------------------------------------------------------------------


def _at(decided: Decisions) -> str:
    at = "all are called a mistake" if decided.everything else show_value(decided.threshold, 3)
    return f"{decided.chosen_on}: {at}"


def _decisions(found: Learned) -> Section:
    rows: list[Row] = [
        (
            Cell(run.name, _at(decided)),
            *(number(decided.figures.get(name), scale=100) for name in _DECIDED),
        )
        for run in found.runs
        for decided in run.decisions
    ]
    chance_names = dict(zip(_DECIDED, ("accuracy", "precision", "recall", "f1_score"), strict=True))
    for predictor in CHANCE:
        scores = chance_scores(found.closest.labels, predictor)
        rows.append(
            (
                Cell(_CHANCE_NAMES[predictor], tone="floor", tag="chance"),
                *(show_value(100 * scores[chance_names[name]].value) for name in _DECIDED),
            )
        )
    rows += [
        (
            Cell(p.name, p.source, "floor", tag="published"),
            *(show_value(getattr(p, name), 2) for name in _DECIDED),
        )
        for p in found.published
        if p.f1 is not None
    ]
    note = (
        "In per cent, of steps; positive is the mistake. The threshold on validation data is the one with the best F1 there. "
        "A model says something by its distance from the rows that know nothing: where a third of the steps are mistakes, "
        "calling all of them one already has an F1 of 50."
    )
    return Section(
        "decisions",
        "Decisions",
        (Table("Called a mistake or not", ("", *_DECIDED.values()), tuple(rows), note),),
    )


def _curves(found: Learned, resamples: int) -> Section:
    shown = _drawn(found)
    some = ""
    if len(shown) < len(found.runs):
        some = f" {len(shown)} of {len(found.runs)} runs: {found.closest.name}, and of the others one of each model first."

    def picture(
        title: str, x: str, y: str, draw: Callable[..., CurveBand], chance: tuple[float, float]
    ) -> Drawn:
        bands = (draw(r.labels, r.scores, found.recordings, resamples=min(resamples, 1_000)) for r in shown)
        curves = tuple(_curve(run.name, band) for run, band in zip(shown, bands, strict=True))
        return Drawn(title, draw_curves(Curves(title, x, y, curves, chance)))

    labels = found.closest.labels
    prior = float(labels.mean()) if labels.size else 0.0
    calls = "mistakes that are called one"
    parts = (
        Paragraph(CURVES_GUIDE + some),
        picture("ROC curves", "steps without a mistake that are called one", calls, roc_band, (0.0, 1.0)),
        picture("Precision and recall", f"recall: {calls}", "precision: calls that are right", precision_recall_band, (prior, prior)),
    )  # fmt: skip
    return Section("curves", "Curves", parts)


def _drawn(found: Learned) -> list[TestedRun]:
    """Return the runs that have a curve: the one that is looked at closely, then one of each model, then of each share seen."""
    models: dict[str, TestedRun] = {}
    shares: dict[tuple[str, float], TestedRun] = {}
    for run in sorted(found.runs, key=lambda run: -run.observed):
        models.setdefault(run.family, run)
        shares.setdefault((run.family, run.observed), run)
    wanted = {run.name: run for run in (found.closest, *models.values(), *shares.values(), *found.runs)}
    kept = list(wanted)[:_CURVES]
    return [run for run in found.runs if run.name in kept]


def _curve(name: str, band: CurveBand) -> Curve:
    return Curve(name, *(part.tolist() for part in (band.x, band.y, band.low, band.high)))


def _calibration(found: Learned) -> Iterator[Section]:
    runs = [run for run in found.runs if run.probable and run.labels.size]
    if not runs:
        return
    base = found.closest.labels.mean()
    rows: list[Row] = []
    for run in runs:
        gap, by_chance = (
            expected_calibration_error(run.labels, run.scores),
            calibrated_ece(run.scores, resamples=500),
        )
        rows.append(
            (
                run.name,
                show_value(brier_score(run.labels, run.scores).value, 3),
                show_value(gap.value, 3),
                Cell(
                    show_value(by_chance.value, 3),
                    f"{show_value(by_chance.low, 3)} to {show_value(by_chance.high, 3)}",
                ),
            )
        )
    rows.append(
        (
            Cell("always the share of mistakes", tone="floor", tag="chance"),
            show_value(base * (1 - base), 3),
            "0.000",
            "–",
        )
    )
    note = (
        "Brier score: mean squared distance of the score from what came true; lower is better. Calibration error: mean "
        "distance of the share that came true from the score, over ten bins; beside it what a perfectly calibrated model with "
        "these scores would show by chance."
    )
    table = Table(
        "Can the scores be read as probabilities?",
        ("", "Brier score", "calibration error", "by chance"),
        tuple(rows),
        note,
    )
    figures = {
        run.name: reliability_bins(run.labels, run.scores).as_figure(
            f"Score and share of mistakes: {run.name}"
        )
        for run in runs
    }
    first = figures.pop(found.closest.name, None)
    others = tuple(Fold(name, (figure,)) for name, figure in figures.items())
    yield Section("calibration", "Calibration", (table, *([first] if first else []), *others))


# -- kinds, shares observed, differences ---------------------------------------------------------------------------


def _kinds(found: Learned) -> Iterator[Section]:
    kinds = sorted({kind for step in found.steps for kind in step.kinds})
    rows: list[Row] = []
    for kind in kinds:
        has = np.array([kind in step.kinds for step in found.steps])
        cells = []
        for run in found.runs:
            scores = run.kind_scores.get(kind, run.scores)
            area = roc_auc(has, scores)
            own = "" if kind in run.kind_scores else ", any"
            cells.append(
                Cell(
                    show_value(100 * average_precision(has, scores).value),
                    f"AUC {show_value(100 * area.value)}{own}",
                )
            )
        rows.append((kind, f"{int(has.sum()):,}", show_value(100 * float(has.mean())), *cells))
    if rows:
        note = (
            "Average precision in per cent, each kind against everything else, and ROC-AUC below. Chance is the share of the "
            "kind. “Any”: the model has no score for this kind, so its score for any mistake was taken, and mistakes of other "
            "kinds count as false alarms."
        )
        head = ("kind", "mistakes", "chance", *(run.name for run in found.runs))
        by_kind = Table("By kind of mistake", head, tuple(rows), note, sortable=True)
        yield Section("kinds", "Kinds", (by_kind, *_without_order(found)))


def _without_order(found: Learned) -> Iterator[Table]:
    """Yield what is left when mistakes of order are taken out, where there are any."""
    names = ("without_order", "without_order_within")
    rows: list[Row] = [
        (Cell(run.name, run.sees), *(number(run.figures[name], scale=100) for name in names))
        for run in found.runs
        if names[0] in run.figures
    ]
    if rows:
        rows.append((Cell("knowing nothing", tone="floor", tag="chance"), "50.0", "50.0"))
        note = (
            "ROC-AUC in per cent. Times and task graph tell mistakes of order almost by themselves. Here the steps that carry one "
            "are left out: how well do the other mistakes stand out from steps without any?"
        )
        yield Table("Without mistakes of order", ("", "pooled", "within recordings"), tuple(rows), note)


def _observed(found: Learned) -> Iterator[Section]:
    if len({run.observed for run in found.runs}) < 2:
        return
    ordered = sorted(found.runs, key=lambda run: (run.family, run.observed, run.seed))
    rows: tuple[Row, ...] = tuple(
        (
            Cell(run.family, run.name),
            f"{run.observed:.0%}",
            *(number(run.figures.get(n), scale=100) for n in _FIGURES),
        )
        for run in ordered
    )
    rows = (*rows, _nothing(found, "–"))
    note = "Each step is seen from its start up to this share; the label is that of the whole step."
    yield Section(
        "observed",
        "How early",
        (Table("By share of the step that was seen", ("", "seen", *_FIGURES.values()), rows, note),),
    )


_COMPARED: Final = {
    "roc_auc": "pooled",
    "within_roc_auc": "within recordings",
    "average_precision": "average precision",
}


def _differences(found: Learned, resamples: int) -> Iterator[Section]:
    close = found.closest
    pairs = list(combinations(found.runs, 2))
    if len(found.runs) > _ALL_PAIRS:
        pairs = [(run, close) for run in found.runs if run is not close]
    alike = [(a, b) for a, b in pairs if np.array_equal(a.labels, b.labels)]
    if not alike:
        return
    rows: tuple[Row, ...] = tuple(
        (
            f"{b.name} − {a.name}",
            *(_difference(metric, a, b, found.recordings, resamples) for metric in _COMPARED),
        )
        for a, b in alike
    )
    left = len(pairs) - len(alike)
    note = (
        "Points of per cent. Both runs see the same resamples of recordings, so what makes a recording hard for both does not "
        "count. Coloured: the interval is on one side of 0. The intervals are not corrected for the number of pairs."
        + (f" {count(left, 'pair')} not compared: the protocols label steps differently." if left else "")
    )
    yield Section(
        "differences",
        "Differences",
        (Table("One run minus another", ("", *_COMPARED.values()), rows, note),),
    )


def _difference(metric: str, a: TestedRun, b: TestedRun, recordings: list[str], resamples: int) -> Cell:
    score = paired_difference(metric, a.labels, a.scores, b.scores, clusters=recordings, resamples=resamples)
    clear = score.low is not None and score.high is not None and not score.low <= 0 <= score.high
    return number(
        score, scale=100, sign=True, tone=("better" if score.value > 0 else "worse") if clear else ""
    )
