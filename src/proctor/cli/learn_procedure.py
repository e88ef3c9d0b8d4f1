"""``proctor learn procedure``: find key steps in videos without labels."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from proctor.cli.console import counted, emit, table
from proctor.cli.options import Output, with_settings
from proctor.learn.settings import TrainOptions
from proctor.stages.learn.procedure_settings import ProcedureSettings
from proctor.terminal import progress, warn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proctor.learn.procedures.evaluate import Figures, Margin
    from proctor.stages.learn.procedure import LearnedProcedures

__all__ = ["procedure"]

_HEAD = ("activity", "recordings", "steps", "clusters", "random P R IoU", "random rows P R IoU", "by time P R IoU", "found P R IoU")  # fmt: skip


@with_settings
def procedure(settings: ProcedureSettings, training: TrainOptions, output: Output) -> None:
    """Find the key steps of each activity in its videos, without labels, and compare them with the annotated ones.

    Chance depends on frames a second, clusters and pooling, so it is measured on the same frames and stands in every row: for
    labels of single frames (random, as published), for labels that last as long as a row of features (random rows), and for
    equal parts of each recording (by time).

    Example: proctor learn procedure --annotations ~/data/captaincook4d --features omnivore --method tcc --head procut
    """
    from proctor.stages.learn.procedure import learn_procedures

    result = learn_procedures(settings, training, show=partial(progress, quiet=output.as_json))
    for note in result.notes:
        warn(note)
    emit(result, _text(result), as_json=output.as_json)


def _text(result: LearnedProcedures) -> str:
    rows: list[tuple[object, ...]] = [
        (
            e.name,
            e.recordings,
            e.steps,
            e.clusters,
            *map(_three, (e.random, e.random_rows, e.by_time, e.found)),
        )
        for e in result.activities
    ]
    means = result.means
    rows.append(
        ("mean", "", "", "", *map(_three, (means.random, means.random_rows, means.by_time, means.found)))
    )
    for name, values in result.published.items():
        figures = " ".join(f"{value:.2%}" for value in values)
        rows.append((f"published: {name}", "", "", "", *((figures, "", "", "") if name == "Random" else ("", "", "", figures))))  # fmt: skip
    parts = [
        f"{result.method}, {result.head}, protocol {result.protocol}, {result.rate:g} frames a second, seed {result.seed}",
        table(rows, _HEAD),
    ]
    if means.pooled is not None:
        parts.append(f"pooled: {_three(means.pooled)}; random rows {_three(means.random_pooled)}")
    parts += [
        f"above {what}: {_margins(margins)}"
        for what, margins in (("random rows", means.margins), ("by time", means.margins_by_time))
        if margins
    ]
    listed = f", listed in {result.run}/dropped.jsonl" if result.run and result.dropped else ""
    parts.append(f"left out: {counted(result.dropped)}{listed}")
    return "\n\n".join(parts)


def _three(figures: Figures | None) -> str:
    return "-" if figures is None else f"{figures.precision:.2%} {figures.recall:.2%} {figures.iou:.2%}"


def _margins(margins: Mapping[str, Margin]) -> str:
    shown = []
    for name, margin in margins.items():
        ends = (
            "" if margin.low is None or margin.high is None else f" ({margin.low:+.2%} to {margin.high:+.2%})"
        )
        shown.append(f"{name} {margin.value:+.2%}{ends}")
    return ", ".join(shown)
