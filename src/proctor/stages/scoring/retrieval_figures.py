"""Pictures of rankings: recall by part of the benchmark."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from proctor.metrics.figure import Figure, Matrix
from proctor.metrics.table import ScoreRow
from proctor.stages.scoring.figures import defined, interval_plot
from proctor.stages.scoring.retrieval_files import Pool, Question
from proctor.stages.scoring.retrieval_rows import Measures, slice_order

__all__ = ["retrieval_plots"]


def retrieval_plots(
    rows: Sequence[ScoreRow],
    measures: Measures,
    questions: Mapping[str, Question],
    names: Sequence[str],
    pool: Pool | None,
) -> tuple[Figure, ...]:
    """Recall by part of the benchmark, by cut, and by style and modality."""
    label = f"R@{measures.cuts[-1]}"
    shown = [row for row in rows if row.metric == label and not row.chance]
    chance = next((row.shown.value for row in rows if row.metric == label and row.chance), None)
    plot = interval_plot(
        f"{label} by part of the benchmark",
        ((row.slice, row.shown) for row in shown),
        chance=[chance] * len(shown) if pool else (),
        scale=(0.0, 100.0),
    )
    titles = list(dict.fromkeys(row.slice for row in shown))
    columns = [f"R@{k}" for k in measures.cuts]
    by_cut = {(row.slice, row.metric): defined(row.shown.value) for row in rows if not row.chance}
    heat = Matrix(
        title="Recall by part of the benchmark and cut",
        rows=tuple(titles),
        columns=tuple(columns),
        cells=tuple(tuple(by_cut.get((title, column)) for column in columns) for title in titles),
        kind="values",
        row_title="part",
        column_title="cut",
        high=100.0,
    )
    return (plot, heat, *_crossed(measures, questions, names, label))


def _crossed(
    measures: Measures, questions: Mapping[str, Question], names: Sequence[str], label: str
) -> Iterator[Matrix]:
    """Recall by style and combination of modalities, if the reference has both."""
    cells: dict[tuple[str, str], list[float]] = {}
    for name, value in zip(names, measures.columns[label].values.tolist(), strict=True):
        question = questions[name]
        if question.style and question.cell:
            cells.setdefault((question.style, question.cell), []).append(100.0 * value)
    if cells:
        styles = sorted({style for style, _ in cells})
        kinds = sorted({kind for _, kind in cells}, key=slice_order)
        means = {key: math.fsum(values) / len(values) for key, values in cells.items()}
        yield Matrix(
            title=f"{label} by style and modality",
            rows=tuple(styles),
            columns=tuple(kinds),
            cells=tuple(tuple(means.get((style, kind)) for kind in kinds) for style in styles),
            kind="values",
            row_title="style",
            column_title="modality",
            high=100.0,
        )
