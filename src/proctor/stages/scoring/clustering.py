"""Procedure learning scored from files: clusters of frames against key steps, beside random clusters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.metrics.clustering import (
    AVERAGES,
    MEASURES,
    Background,
    KeyStep,
    Overlap,
    count_overlap,
    match_key_steps,
    mean_over_groups,
    merge_overlaps,
    random_clustering,
)
from proctor.metrics.figure import Bars, Figure, Matrix
from proctor.metrics.score import Score
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.stages.scoring.files import Table, explained, read_table
from proctor.stages.scoring.options import ClusteringSettings
from proctor.stages.scoring.tables import defined, interval_plot

__all__ = ["score_clustering"]


VIDEO: Final = ("video", "video_id", "recording", "recording_id")

FRAME: Final = ("frame", "second", "time")

LABEL: Final = ("label", "step", "step_id")

CLUSTER: Final = ("cluster", "label", "predicted")

_LABELS: Final = dict(zip(MEASURES, ("precision", "recall", "IoU", "F1"), strict=True))

_MOST_CELLS: Final = 40

"""A matrix with more rows or columns than this is no picture."""

_MOST_CLUSTERS: Final = 10_000

"""The chance row keeps frames of all of them, draw by draw."""

Groups = Mapping[str, Mapping[str, Overlap]]


@dataclass(frozen=True)
class _Frames:
    """Labels of the frames of every video, in the order of the frames, and the group of the video."""

    labels: Mapping[str, list[str]]
    keys: Mapping[str, list[str]] | None
    groups: Mapping[str, str]


def score_clustering(settings: ClusteringSettings) -> ScoreTable:
    """Score clusters of frames.

    Raises:
        UserError: if a file or an option cannot be used.
    """
    gt, pred, group, background, clusters = (
        settings.gt, settings.pred, settings.group, settings.background, settings.clusters,
    )  # fmt: skip
    if settings.per_video and group is not None:
        raise UserError(
            "--per-video and --group were both given.",
            hint="clusters are matched within every video, or within every group of videos",
        )
    if clusters is not None and clusters > _MOST_CLUSTERS:
        raise UserError(
            f"--clusters {clusters} is too many.", hint=f"random ones are drawn, up to {_MOST_CLUSTERS:,}"
        )
    truth, found = _read(gt, group, LABEL), _read(pred, None, CLUSTER)
    _require_same_frames(truth, found, gt, pred)
    groups: dict[str, dict[str, Overlap]] = {}
    with explained(pred):
        for video in sorted(truth.labels):
            overlap = count_overlap(
                truth.labels[video],
                found.labels[video],
                background_label=settings.background_label,
                background=background,
            )
            name = video if settings.per_video else truth.groups.get(video, "all")
            groups.setdefault(name, {})[video] = overlap
    occurring = {
        name: len({c for overlap in videos.values() for c in overlap.clusters})
        for name, videos in groups.items()
    }
    most = max(occurring.values())
    if clusters is not None and clusters < most:
        name = max(occurring, key=lambda g: (occurring[g], g))
        raise UserError(
            f"{occurring[name]} clusters occur in {name!r}, more than the {clusters} of --clusters.",
            where=str(pred),
            hint="give the number of clusters of the model, or leave it out",
        )
    size = clusters or max(most, 1)
    words = {
        "clusters": str(size),
        "pooling": "video" if settings.per_video else (group or "all").replace("|", "/"),
        "rate": (settings.rate or "unstated").replace("|", "/"),
    }
    rows: list[ScoreRow] = []
    with explained(pred):
        for average in AVERAGES:
            shown = average.replace("-", " ")
            scores = mean_over_groups(
                groups,
                average=average,
                background=background,
                settings=words,
                **settings.resampling,
            )
            rows += _rows(shown, scores)
            chance = random_clustering(
                groups,
                size,
                average=average,
                background=background,
                draws=settings.draws,
                seed=settings.seed,
                settings=words,
            )
            rows += _rows(f"{shown}: random", chance, chance=True)
        if len(groups) > 1:
            for name in sorted(groups):
                alone = {**words, "group": name.replace("|", "/") or "unnamed"}
                scores = mean_over_groups(
                    {name: groups[name]}, background=background, resamples=0, settings=alone
                )
                rows += _rows(name, scores)
    lines = (rows[0].slice, next(row.slice for row in rows if row.chance))
    values = {
        line: {r.score.signature.name: r.score.value for r in rows if r.slice == line} for line in lines
    }
    scored = sum(int(o.counts.sum()) for videos in groups.values() for o in videos.values())
    counts = {
        "videos": len(truth.labels),
        "groups": len(groups),
        "frames": sum(map(len, truth.labels.values())),
    }
    if background == "dropped":
        counts["background frames dropped"] = counts["frames"] - scored
    return ScoreTable(
        "clustering",
        tuple(rows),
        {"groups": len(groups), "clusters": size, **values[lines[0]], "chance": values[lines[1]]},
        counts,
        tuple(_notes(groups, clusters, size, settings.rate, background)),
        tuple(_figures(groups, rows)),
    )


def _read(path: Path, group: str | None, names: Sequence[str]) -> _Frames:
    table = read_table(path)
    videos, labels = table.names(*VIDEO), table.names(*names)
    frame = table.find(*FRAME)
    numbers = table.numbers(frame) if frame else None
    rows: dict[str, list[int]] = {}
    for row, video in enumerate(videos):
        rows.setdefault(video, []).append(row)
    keys: dict[str, list[str]] | None = None
    if numbers is not None:
        keys = {}
        for video, members in rows.items():
            rows[video] = _in_order(table, frame or "", video, members, numbers)
            keys[video] = [f"{numbers[k]:.10g}" for k in rows[video]]
    groups = {}
    if group is not None:
        groups = table.one_each(
            group,
            videos,
            table.texts(group),
            lambda video, here, before: (
                f"{video!r} is in {before!r} and in {here!r}.",
                "a video has one group",
            ),
        )
    return _Frames({video: [labels[k] for k in members] for video, members in rows.items()}, keys, groups)


def _in_order(
    table: Table, column: str, video: str, members: list[int], numbers: NDArray[np.float64]
) -> list[int]:
    order = sorted(members, key=lambda k: float(numbers[k]))
    for before, after in pairwise(order):
        if numbers[before] == numbers[after]:
            raise table.wrong(
                after,
                column,
                f"{column} {numbers[after]:g} of {video!r} is given twice "
                f"(first in {table.unit} {table.lines[before]}).",
                "every frame has one label",
            )
    return order


def _require_same_frames(truth: _Frames, found: _Frames, gt: Path, pred: Path) -> None:
    for there, lacking, where, other in ((truth, found, pred, gt), (found, truth, gt, pred)):
        absent = sorted(set(there.labels) - set(lacking.labels))
        if absent:
            raise UserError(
                f"{len(absent)} videos of {other.name} are missing; the first is {absent[0]!r}.",
                where=str(where),
                hint="both files must have the same videos",
            )
    for video in sorted(truth.labels):
        a, b = len(truth.labels[video]), len(found.labels[video])
        if a != b:
            raise UserError(
                f"{video!r} has {a:,} frames in {gt.name} and {b:,} in {pred.name}.",
                where=str(pred),
                hint="sample both at the same rate; chance and scores depend on it",
            )
        if truth.keys is not None and found.keys is not None and truth.keys[video] != found.keys[video]:
            first = next(
                k for k, (x, y) in enumerate(zip(truth.keys[video], found.keys[video], strict=True)) if x != y
            )
            raise UserError(
                f"{video!r} has frame {truth.keys[video][first]} in {gt.name} "
                f"where {pred.name} has {found.keys[video][first]}.",
                where=str(pred),
                hint="both files must have the same frames",
            )


def _rows(line: str, scores: Sequence[Score], *, chance: bool = False) -> Iterator[ScoreRow]:
    for measure, score in zip(MEASURES, scores, strict=True):
        yield ScoreRow(_LABELS[measure], score, line, chance)


def _notes(
    groups: Groups, clusters: int | None, size: int, rate: str | None, background: Background
) -> Iterator[str]:
    if clusters is None:
        yield f"--clusters was not given: chance is that of {size} clusters, the most that occur in a group"
    if rate is None:
        yield "--rate was not given: chance depends on the frame rate, so say it when you publish these numbers"
    steps = [
        step
        for videos in groups.values()
        for step in match_key_steps(merge_overlaps(videos), background=background)
    ]
    unmatched = sum(step.cluster is None for step in steps)
    if unmatched:
        yield f"{unmatched} of {len(steps)} key steps have no cluster of their own; they count 0"


def _figures(groups: Groups, rows: Sequence[ScoreRow]) -> Iterator[Figure]:
    lines = [row for row in rows if row.slice == rows[0].slice]
    chance = {
        row.metric: row.score.value for row in rows if row.chance and row.slice.startswith(rows[0].slice)
    }
    yield interval_plot(
        "Key steps, per key step, and random clusters",
        ((row.metric, row.score) for row in lines),
        chance=[chance.get(row.metric) for row in lines],
    )
    if len(groups) > 1:
        named = [row for row in rows if row.metric == "IoU" and row.slice in groups]
        yield Bars(
            "IoU by group",
            tuple(row.slice for row in named),
            tuple(defined(row.score.value) for row in named),
            tuple(sum(int(o.counts.sum()) for o in groups[row.slice].values()) for row in named),
            high=1.0,
        )
        return
    overlap = merge_overlaps(next(iter(groups.values())))
    if overlap.classes and max(len(overlap.classes), len(overlap.clusters)) <= _MOST_CELLS:
        yield _matrix(overlap, match_key_steps(overlap))


def _matrix(overlap: Overlap, steps: Sequence[KeyStep]) -> Matrix:
    """Return the common frames with matched clusters on the diagonal."""
    matched = [step.cluster for step in steps if step.cluster is not None]
    order = [*matched, *(c for c in overlap.clusters if c not in matched)]
    columns = [overlap.clusters.index(name) for name in order]
    cells = overlap.counts[:, columns]
    return Matrix(
        "Frames of key steps and clusters, matched clusters first",
        overlap.classes,
        tuple(f"cluster {name}" for name in order),
        tuple(tuple(float(cell) for cell in row) for row in cells),
        row_title="key step",
        column_title="cluster",
    )
