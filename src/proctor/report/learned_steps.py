"""Steps on a page of runs: recipes and steps from the worst, and each step with what every run said of it and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from markupsafe import Markup

from proctor.metrics.classification import roc_auc
from proctor.report.figures.parts import join, label, percent
from proctor.report.learned_data import TestedRun, TestedStep, Why
from proctor.report.numbers import count, show_value, signed
from proctor.report.parts import AnswerView, Cell, ExampleView, Row, Table

__all__ = ["recipe_table", "step_cards", "step_table"]

_STEPS: Final = 100
"""Lines of the table of steps."""
_CARDS: Final = 240
_ANSWERS: Final = 640
"""So many steps and answers are less than a megabyte."""
_FEW_RUNS: Final = 2
_REASONS: Final = (5, 3)
"""Of each answer, with few and with many runs."""
_RECIPE_RUNS: Final = 4


def recipe_table(steps: Sequence[TestedStep], runs: Sequence[TestedRun], close: TestedRun) -> Table:
    """Return recipes, the one with the largest share of wrong decisions first."""
    shown = [close, *(run for run in runs if run is not close)][:_RECIPE_RUNS]
    groups: dict[str, list[int]] = {}
    for k, step in enumerate(steps):
        groups.setdefault(step.recipe or "not known", []).append(k)
    wrong = close.called != close.labels

    def row(name: str, places: list[int]) -> Row:
        area = roc_auc(close.labels[places], close.scores[places]).value
        recordings = len({steps[k].recording for k in places})
        return (
            Cell(name, count(recordings, "recording")),
            f"{len(places):,}",
            f"{int(close.labels[places].sum()):,}",
            show_value(100 * area),
            *(_wrong(run, places) for run in shown),
        )

    ordered = sorted(groups.items(), key=lambda g: (-wrong[g[1]].mean(), g[0]))
    note = f"Wrong: share of the steps, in per cent, at the threshold chosen on validation data. AUC: of {close.name}, pooled in the recipe."
    head = ("recipe", "steps", "mistakes", "AUC", *(f"wrong: {run.name}" for run in shown))
    return Table("Recipes, from the worst", head, tuple(row(*g) for g in ordered), note, sortable=True)


def _wrong(run: TestedRun, places: list[int]) -> Cell:
    called, labels = run.called[places], run.labels[places]
    missed, alarms = int((labels & ~called).sum()), int((called & ~labels).sum())
    return Cell(
        show_value(100 * (missed + alarms) / len(places)), f"{missed} missed, {count(alarms, 'false alarm')}"
    )


def step_table(steps: Sequence[TestedStep], close: TestedRun) -> Table:
    """Return steps, those with the most wrong decisions first."""
    groups: dict[tuple[str, str], list[int]] = {}
    for k, one in enumerate(steps):
        groups.setdefault((one.recipe, one.step), []).append(k)
    wrong = close.called != close.labels
    distance = np.abs(close.scores - close.labels)
    ordered = sorted(groups.items(), key=lambda g: (-wrong[g[1]].sum(), -distance[g[1]].mean(), g[0]))

    def mean(places: list[int], mistaken: bool) -> str:
        kept = [k for k in places if close.labels[k] == mistaken]
        return show_value(float(close.scores[kept].mean()), 2) if kept else "–"

    rows = []
    for (recipe, step), places in ordered[:_STEPS]:
        called, labels = close.called[places], close.labels[places]
        rows.append(
            (
                Cell(steps[places[0]].text or f"step {step}", recipe),
                f"{len(places)}",
                f"{int(labels.sum())}",
                f"{int((labels & ~called).sum())}",
                f"{int((called & ~labels).sum())}",
                mean(places, True),
                mean(places, False),
            )
        )
    left = len(ordered) - len(rows)
    note = f"Of {close.name}. A step is done few times in a test part: read single lines with care." + (
        f" {count(left, 'further step')} with no more wrong decisions left out." if left > 0 else ""
    )
    head = ("step", "done", "mistakes", "missed", "false alarms", "score if mistaken", "score if not")
    return Table("Steps, from the worst", head, tuple(rows), note, sortable=True)


# -- one by one ----------------------------------------------------------------------------------------------------


def step_cards(
    steps: Sequence[TestedStep], runs: Sequence[TestedRun], close: TestedRun
) -> tuple[tuple[ExampleView, ...], str]:
    """Return steps with what was said of them, as many as a page holds, and the sentence above them.

    Whole recordings are shown, evenly from the one that ``close`` recognises worst to the one it recognises best.
    """
    groups: dict[str, list[int]] = {}
    for k, step in enumerate(steps):
        groups.setdefault(step.recording, []).append(k)
    distance = np.abs(close.scores - close.labels)
    ordered = sorted(groups, key=lambda r: (-distance[groups[r]].mean(), r))
    most = min(_CARDS, max(1, _ANSWERS // max(1, len(runs))))
    kept = ordered if len(steps) <= most else _evenly(ordered, groups, most)
    largest = [_largest(run) for run in runs]
    cards = tuple(
        _card(steps[k], k, runs, largest)
        for name in sorted(kept, key=_natural)
        for k in sorted(groups[name], key=lambda k: steps[k].times[:1])
    )
    text = f"{count(len(cards), 'step')} with what was said of them and why."
    if left := len(steps) - len(cards):
        text += (
            f" {left:,} of other recordings are left out, because a page holds so much; the recordings were taken evenly "
            "from the worst recognised to the best. All stand in predictions.jsonl of the run."
        )
    return cards, text


def _evenly(ordered: Sequence[str], groups: dict[str, list[int]], most: int) -> list[str]:
    """Take every n-th recording, for the smallest n whose steps fit; the worst at least."""
    for step in range(1, len(ordered)):
        kept = ordered[::step]
        if sum(len(groups[name]) for name in kept) <= most:
            return list(kept)
    return list(ordered[:1])


def _natural(name: str) -> list[tuple[bool, int, str]]:
    return [(part.isdigit(), int(part) if part.isdecimal() else 0, part) for part in name.split("_")]


def _largest(run: TestedRun) -> float:
    return max((abs(r.contribution) for reasons in run.reasons for r in reasons), default=0.0)


def _card(step: TestedStep, place: int, runs: Sequence[TestedRun], largest: Sequence[float]) -> ExampleView:
    mistaken = bool(runs[0].labels[place])
    kinds = ", ".join(step.kinds)
    truth = ("A mistake" + (f": {kinds}" if kinds else "")) if mistaken else "No mistake"
    times = "; ".join(f"{_clock(start)} to {_clock(end)}" for start, end in step.times)
    facts = [("recording", step.recording), ("step", step.step)]
    facts += [("recipe", step.recipe)] if step.recipe else []
    facts += [("times", times)] if times else []
    return ExampleView(
        f"{step.recording}:{step.step}",
        f"{step.recording}, {'mistake' if mistaken else 'no mistake'}",
        step.text or f"Step {step.step}",
        f"{truth}.",
        tuple(facts),
        answers=tuple(
            _answer(run, place, most, _REASONS[len(runs) > _FEW_RUNS])
            for run, most in zip(runs, largest, strict=True)
        ),
        facets={
            "recording": step.recording,
            "recipe": step.recipe,
            "truth": "mistake" if mistaken else "no mistake",
        },
    )


def _answer(run: TestedRun, place: int, largest: float, most: int) -> AnswerView:
    called, mistaken = bool(run.called[place]), bool(run.labels[place])
    mark = "right" if called == mistaken else "missed" if mistaken else "false alarm"
    first = run.decisions[0]
    beside = "" if first.everything else f", {'above' if called else 'below'} {_shown(run, first.threshold)}"
    reasons = run.reasons[place][:most] if len(run.reasons) else ()
    text = f"{_shown(run, float(run.scores[place]))}{beside}: {'a mistake' if called else 'no mistake'}"
    return AnswerView(run.name, text, mark, code=mark, drawn=_why(reasons, largest) if reasons else None)


def _shown(run: TestedRun, score: float) -> str:
    return f"{show_value(100 * score)} %" if run.probable else show_value(score, 3)


def _why(reasons: Sequence[Why], largest: float) -> Markup:
    """Draw contributions to the log-odds as bars around a middle, all steps of a run on one scale."""
    return Markup('<ul class="why" aria-label="What moved the score">{}</ul>').format(
        join(_reason(reason, largest) for reason in reasons)
    )


def _reason(reason: Why, largest: float) -> Markup:
    half = 50 * abs(reason.contribution) / largest if largest > 0 else 0.0
    up = reason.contribution > 0
    value = f"{reason.value:.3g}".replace("-", "−")
    return Markup(
        '<li><span><bdi>{}</bdi> = {}</span><svg aria-hidden="true"><rect class="{}" x="{}" width="{}" height="8"/></svg>'
        "<span>{}</span></li>"
    ).format(
        label(reason.feature),
        value,
        "up" if up else "down",
        percent(50 if up else 50 - half),
        percent(half),
        signed(reason.contribution, 2),
    )


def _clock(seconds: float) -> str:
    minutes, rest = divmod(max(0, round(seconds)), 60)
    return f"{minutes}:{rest:02d}"
