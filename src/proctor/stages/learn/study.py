"""``proctor learn study``: the ablation without pixels, on every split, early and by kind; the tables of ``docs/learn.md``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import msgspec
import numpy as np

from proctor.compute import HERE, Place, map_items
from proctor.errors import UserError
from proctor.learn.evaluate import Figure, Recognised
from proctor.learn.missing import Missing
from proctor.records import atomic_write
from proctor.stages.learn.mistakes import missing_of, recogniser_of, task_of, train
from proctor.stages.learn.settings import MistakesSettings, StudySettings

__all__ = ["KindRow", "Spread", "Study", "StudyRow", "learn_study", "trainings"]

FRACTIONS: Final = (0.1, 0.25, 0.5)
Model = Literal["floor", "local", "step", "context", "sequence"]
MODELS: Final[tuple[tuple[Model, Literal["causal", "offline"]], ...]] = (
    ("floor", "causal"),
    ("local", "causal"),
    ("step", "causal"),
    ("context", "causal"),
    ("sequence", "causal"),
    ("context", "offline"),
)


class Spread(msgspec.Struct, frozen=True):
    """Mean and standard deviation over seeds, with the interval over recordings of the first seed; None: no value."""

    mean: float | None
    deviation: float
    low: float | None
    high: float | None

    @classmethod
    def of(cls, figures: Sequence[Figure]) -> Spread:
        """Sum up one figure of several seeds."""
        values = np.array([math.nan if f.value is None else f.value for f in figures])
        if np.isnan(values).any():
            return cls(None, 0.0, None, None)
        deviation = float(values.std(ddof=1)) if values.size > 1 else 0.0
        return cls(float(values.mean()), deviation, figures[0].low, figures[0].high)


class StudyRow(msgspec.Struct, frozen=True):
    """One model on one split, seeing a share of each step; figures of the test part."""

    model: str
    split: str
    observed: float
    seeds: int
    n: int
    positives: int
    auc: Spread
    within: Spread
    between: Spread
    mistaken: Spread
    without_order: Spread
    without_order_within: Spread


class KindRow(msgspec.Struct, frozen=True):
    """One kind of mistake against everything else, on one split."""

    model: str
    split: str
    kind: str
    positives: int
    auc: Spread
    within: Spread
    average_precision: Spread


class Study(msgspec.Struct, frozen=True):
    """All rows, and which settings they were measured with; ``missing`` by split, of the test recordings."""

    rows: tuple[StudyRow, ...]
    kinds: tuple[KindRow, ...]
    missing: dict[str, Missing]
    seeds: int
    data_hash: str


@dataclass(frozen=True)
class _Found:
    """What one training gave."""

    model: str
    data_hash: str
    test: Recognised
    missing: Missing | None


def trainings(settings: StudySettings) -> list[MistakesSettings]:
    """Return what is trained: every model on every split, the causal one also early, each with every seed."""
    found = []
    for split in settings.splits:
        for model, context in MODELS:
            shares = (1.0, *FRACTIONS) if (model, context) == ("context", "causal") else (1.0,)
            for observed in shares:
                for seed in range(settings.seeds):
                    one = MistakesSettings(
                        annotations=settings.annotations, split=split, model=model, context=context,
                        observed=observed, seed=seed, resamples=0 if seed else settings.resamples,
                    )  # fmt: skip
                    found.append(one)
    return found


def learn_study(
    settings: StudySettings, place: Place = HERE, seen: Callable[[], None] = lambda: None
) -> Study:
    """Train every model with every seed and sum up.

    Args:
        settings: which splits, how many seeds.
        place: where models are trained.
        seen: called after each training (for progress bars).

    Raises:
        UserError: if the annotations cannot be used, or a training failed.
    """
    rows: list[StudyRow] = []
    kinds: list[KindRow] = []
    missing: dict[str, Missing] = {}
    group: list[_Found] = []
    for outcome in map_items(_trained, trainings(settings), place, seen=seen):
        if outcome.failure is not None:
            raise UserError(outcome.failure.message)
        group.append(outcome.value)
        if len(group) == settings.seeds:  # outcomes come in the order of the items
            tests = [found.test for found in group]
            rows.append(_row(group[0].model, outcome.item, tests))
            if outcome.item.observed == 1:
                kinds += _kind_rows(group[0].model, outcome.item.split, tests)
            hashed = group[0].data_hash
            if group[0].missing is not None:
                missing.setdefault(outcome.item.split, group[0].missing)
            group = []
    study = Study(tuple(rows), tuple(kinds), missing, settings.seeds, hashed)
    if settings.markdown is not None:
        with atomic_write(settings.markdown) as file:
            file.write(as_markdown(study).encode())
    return study


def _trained(settings: MistakesSettings) -> _Found:
    model, task = recogniser_of(settings), task_of(settings)
    found = train(model, task, resamples=settings.resamples).test
    return _Found(model.name, task.data.hash, found, missing_of(task, settings.resamples))


def _row(model: str, settings: MistakesSettings, found: Sequence[Recognised]) -> StudyRow:
    spreads = (
        Spread.of([getattr(f, name) for f in found])
        for name in ("auc", "auc_within", "auc_between", "auc_mistaken")
    )
    others = [f.without_order for f in found if f.without_order is not None]
    left = (Spread.of([getattr(o, name) for o in others]) for name in ("auc", "auc_within"))
    first = found[0]
    return StudyRow(
        model, settings.split, settings.observed, len(found), first.n, first.positives, *spreads, *left
    )


def _kind_rows(model: str, split: str, found: Sequence[Recognised]) -> Iterator[KindRow]:
    for kind, first in found[0].kinds.items():
        spreads = (
            Spread.of([getattr(f.kinds[kind], name) for f in found])
            for name in ("auc", "auc_within", "average_precision")
        )
        yield KindRow(model, split, kind, first.positives, *spreads)


def as_markdown(study: Study) -> str:
    """Return the tables for ``docs/learn-numbers.md``, per cent; ± is the standard deviation over seeds."""
    lines = [
        "<!-- Written by `proctor learn study --markdown`; do not edit by hand. -->",
        "# Mistakes without pixels: the numbers",
        "",
        (
            f"ROC-AUC of the test part in per cent: mean of {study.seeds} seeds ± their standard deviation, and in brackets the "
            "95 % interval over recordings of the first seed. What the models know and the columns mean: [learn.md](learn.md)."
        ),
        "",
        (
            "| split | model | seen | steps (mistakes) | pooled | within recordings | between | in mistaken recordings "
            "| no order mistakes: pooled | no order mistakes: within |"
        ),
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r.split} | {r.model} | {r.observed:.0%} | {r.n} ({r.positives}) | "
        + " | ".join(
            _cell(s)
            for s in (r.auc, r.within, r.between, r.mistaken, r.without_order, r.without_order_within)
        )
        + " |"
        for r in study.rows
    ]
    lines += [
        "",
        "## By kind of mistake",
        "",
        "Each kind against everything else; AP is the average precision, whose chance level is the share of the kind.",
        "",
        "| split | model | kind | mistakes | AUC | within recordings | AP |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r.split} | {r.model} | {r.kind} | {r.positives} | "
        + " | ".join(_cell(s) for s in (r.auc, r.within, r.average_precision))
        + " |"
        for r in study.kinds
    ]
    for (split, model), group in _by_model(study.kinds).items():
        values = [r.average_precision.mean for r in group if r.average_precision.mean is not None]
        if values:
            lines.append(f"| {split} | {model} | macro | | | | {np.mean(values):.1%} |")
    lines += [
        "",
        "## Steps that were left out",
        "",
        (
            "Of all steps that the task graphs ask for in the test recordings: *absent* were never begun, *passed over* had not begun "
            "when a step that comes after them had. No model, no label."
        ),
        "",
        "| split | steps (missing) | rule | called | precision | recall | F1 |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {split} | {found.n} ({found.positives}) | {name} | {told.called} | "
        + " | ".join(
            _cell(Spread(f.value, 0.0, f.low, f.high)).replace(" ± 0.0", "")
            for f in (told.precision, told.recall, told.f1)
        )
        + " |"
        for split, found in study.missing.items()
        for name, told in (("absent", found.absent), ("passed over", found.passed_over))
    ]
    return "\n".join(lines) + "\n"


def _by_model(rows: Sequence[KindRow]) -> dict[tuple[str, str], list[KindRow]]:
    groups: dict[tuple[str, str], list[KindRow]] = {}
    for row in rows:
        groups.setdefault((row.split, row.model), []).append(row)
    return groups


def _cell(spread: Spread) -> str:
    if spread.mean is None:
        return "-"
    text = f"{spread.mean * 100:.1f} ± {spread.deviation * 100:.1f}"
    return (
        text
        if spread.low is None or spread.high is None
        else f"{text} ({spread.low * 100:.1f}–{spread.high * 100:.1f})"
    )
