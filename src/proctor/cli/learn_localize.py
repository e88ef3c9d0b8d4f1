"""``proctor learn localize``: find steps in time."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from proctor.cli.console import counted, emit, share_text, table
from proctor.cli.options import Output, with_settings
from proctor.learn.settings import TrainOptions
from proctor.stages.learn.localize_settings import LocalizeSettings
from proctor.terminal import progress, warn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proctor.learn.evaluate import Figure
    from proctor.learn.localize.figures import LocalizeFigures
    from proctor.learn.localize.robust import Halves, RobustTraining
    from proctor.stages.learn.localize import Localized

__all__ = ["localize"]


@with_settings
def localize(settings: LocalizeSettings, training: TrainOptions, output: Output) -> None:
    """Train a model that finds which step happens when in whole recordings, and test it.

    A run holds predictions.csv and truth.csv, which proctor metrics localization reads.

    Example: proctor learn localize --annotations ~/data/captaincook4d --model prior --split E --out runs/prior-e
    """
    from proctor.stages.learn.localize import learn_localize

    result = learn_localize(settings, training, partial(progress, quiet=output.as_json))
    for note in result.notes:
        warn(note)
    emit(result, _text(result), as_json=output.as_json)


def _text(result: Localized) -> str:
    head = ("", *(f"tIoU {t:g}" for t in result.test.tiou))
    trained = f"trained on {result.trained_on:,} recordings"
    parts = [
        f"{result.model}, split {result.split}, protocol {result.protocol}, seed {result.seed}; {trained}",
        table(_rows(result.test), (f"test: {_counts(result.test)}", *head[1:])),
    ]
    if result.seen is not None:
        parts.append(
            table(_rows(result.seen), (f"classes seen in training: {_counts(result.seen)}", *head[1:]))
        )
    if result.val is not None:
        parts.append(table(_rows(result.val), (f"val: {_counts(result.val)}", *head[1:])))
    if result.rows:
        parts.append(
            table([("test", *_shown([*result.rows.values()]))], ("every row labelled", *result.rows))
        )
    if result.prior is not None:
        parts.append(table(_rows(result.prior), ("recipe and length alone (prior)", *head[1:])))
    for name, robust in result.robust.items():
        parts.append(_robust(name, robust, head[1:]))
    if result.halves is not None:
        parts.append(_halves(result.halves, head[1:]))
    if result.published:
        published = [
            (f"{row.backbone} {name}", *map(share_text, values))
            for row in result.published
            for name, values in (("mAP", row.mean_ap), ("R@1x", row.recall_1), ("R@5x", row.recall_5))
        ]
        parts.append(table(published, ("published", *head[1:])))
    averages = {"test": result.test, "seen": result.seen, "val": result.val, "prior": result.prior}
    means = [f"{name} {_shown([f.average_map])[0]}" for name, f in averages.items() if f is not None]
    parts.append(f"average mAP over the overlaps: {', '.join(means)}")
    chosen = ", ".join(f"{k} {v}" for k, v in result.chosen.items())
    changed = f"; changed: {counted(result.changed)}" if result.changed else ""
    parts.append(f"chosen: {chosen}\nleft out: {counted(result.dropped)}{changed}")
    return "\n\n".join(parts)


def _robust(name: str, robust: RobustTraining, head: Sequence[str]) -> str:
    lines = []
    for what, part in (("without mistakes", robust.normal), ("with mistakes", robust.mistaken)):
        shown = {row.name: row.at for row in part.rows}
        lines += [
            (f"{row}, {part.recordings} recordings {what}", *_shown(shown[row])) for row in ("mAP", "R@1x")
        ]
    gaps = [("its own classes", robust.gap)]
    gaps += [("classes of both", robust.common_gap)] if robust.common_gap is not None else []
    for what, gap in gaps:
        lines.append((f"gap of mAP, {what} ({gap.classes})", *_shown(gap.rows[0].at)))
    for within in robust.within:
        where = f"R@{within.k}x within {within.recordings} recordings"
        lines += [
            (f"{where}, right steps", *map(share_text, within.right)),
            (f"{where}, {within.mistaken_steps} mistaken steps", *map(share_text, within.mistaken)),
            (f"{where}, difference", *_shown(within.difference)),
        ]
    trained = {"normal": "recordings without mistakes", "all": "all recordings", "matched": "as many of all"}
    return table(lines, (f"trained on {trained[name]}: {robust.trained_on}", *head))


def _halves(halves: Halves, head: Sequence[str]) -> str:
    """Show that recalls of both halves add up to those of all, since the ground truth is not split."""
    lines = [
        (f"{sign}{name}, {what}", *map(share_text, part[name]))
        for name in ("R@1x", "R@5x")
        for sign, what, part in (
            ("", "normal scripts", halves.normal),
            ("+ ", "mistaken scripts", halves.mistaken),
            ("= ", "all", halves.whole),
        )
    ]
    normal, mistaken = halves.segments
    return table(lines, (f"as published, {normal} + {mistaken} steps in all three", *head))


def _counts(figures: LocalizeFigures) -> str:
    return f"{figures.segments:,} steps of {figures.classes:,} classes in {figures.recordings:,} recordings"


def _rows(figures: LocalizeFigures) -> list[tuple[str, ...]]:
    return [(row.name, *_shown(row.at)) for row in figures.rows]


def _shown(values: Sequence[Figure]) -> tuple[str, ...]:
    return tuple(share_text(v.value, v.interval) for v in values)
