"""Scores of temporal action segmentation from files of frames, files of segments, or folders of label files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.metrics.figure import Figure, Matrix
from proctor.metrics.names import near_miss_note
from proctor.metrics.score import Score
from proctor.metrics.segmentation import (
    Matching,
    SegmentationStatistics,
    frame_confusion,
    majority_prediction,
    random_prediction,
    segmentation_scores,
    segmentation_statistics,
)
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.stages.scoring.files import explained, missing_note, some_names
from proctor.stages.scoring.segmentation import SegmentationSettings
from proctor.stages.scoring.segmentation.files import (
    Frames,
    Labels,
    Timed,
    aligned_labels,
    read_videos,
    require_same_frames,
    require_same_length,
)
from proctor.stages.scoring.tables import as_percent, defined, interval_plot

__all__ = ["score_segmentation"]


_SHOWN_LABELS: Final = 25


def segmentation_plots(
    rows: Sequence[ScoreRow], reference: list[Labels], predicted: list[Labels]
) -> tuple[Figure, ...]:
    """Scores beside the better of two chance rows, and labels confused."""
    shown = [r for r in rows if not r.chance and r.percent]
    chance = {r.metric: max(c.shown.value for c in rows if c.chance and c.metric == r.metric) for r in shown}
    return (
        interval_plot(
            "Scores; the mark of chance is the better of majority label and random label",
            ((r.metric, r.shown) for r in shown),
            chance=[defined(chance[r.metric]) for r in shown],
            scale=(0.0, 100.0),
        ),
        _confusion(reference, predicted),
    )


def _confusion(reference: list[Labels], predicted: list[Labels]) -> Matrix:
    labels, cells = frame_confusion(reference, predicted)
    names = [str(label) for label in labels]
    size = cells.sum(axis=0) + cells.sum(axis=1)
    if len(names) > _SHOWN_LABELS:
        keep = np.sort(np.argsort(-size, kind="stable")[:_SHOWN_LABELS])
        group = np.full(len(names), _SHOWN_LABELS)
        group[keep] = np.arange(_SHOWN_LABELS)
        merged = np.zeros((_SHOWN_LABELS + 1, _SHOWN_LABELS + 1), dtype=np.int64)
        np.add.at(merged, (group[:, None], group[None, :]), cells)
        names = [*(names[i] for i in keep), f"{len(labels) - _SHOWN_LABELS} others"]
        cells = merged
    return Matrix(
        title="Frames by label",
        rows=tuple(names),
        columns=tuple(names),
        cells=tuple(tuple(float(n) for n in row) for row in cells.tolist()),
        kind="counts",
        row_title="reference",
        column_title="prediction",
    )


_FILLING: Final = "background"


def score_segmentation(settings: SegmentationSettings) -> ScoreTable:
    """Score a segmentation against a reference, video by video; both may be of either kind.

    Raises:
        UserError: if a file or an option cannot be used.
    """
    gt, pred, matching, lengths, length = (
        settings.gt, settings.pred, settings.matching, settings.lengths, settings.length,
    )  # fmt: skip
    overlaps = _overlaps(settings.overlaps)
    wanted, given = read_videos(gt), read_videos(pred)
    shared = sorted(wanted.keys() & given.keys())
    if not shared:
        raise UserError(
            f"no video of the reference has a prediction; the reference has {some_names(wanted)}, "
            f"the prediction {some_names(given)}.",
            where=str(pred),
            hint="name the videos alike in both",
        )
    timed = any(isinstance(video, Timed) for side in (wanted, given) for video in side.values())
    hidden = list(dict.fromkeys(settings.background or ([_FILLING] if timed else [])))
    filling = hidden[0] if hidden else _FILLING
    pairs = []
    trimmed = 0
    beyond: dict[str, int] = {}
    for name in shared:
        a, b, past = aligned_labels(
            name, (wanted[name], given[name]), (gt, pred), settings.rate, filling, settings.conflict, length
        )
        if isinstance(x := wanted[name], Frames) and isinstance(y := given[name], Frames):
            require_same_frames(name, x, y, pred, lengths)
        else:  # a duration does not say whether its last part is a frame
            require_same_length(name, len(a), len(b), pred, lengths, rounding=1)
        if past:
            beyond[name] = past
        shorter = min(len(a), len(b))
        trimmed += max(len(a), len(b)) - shorter
        pairs.append((a[:shorter], b[:shorter]))
    reference, predicted = [a for a, _ in pairs], [b for _, b in pairs]
    failed = len(wanted) - len(shared)

    def count(guess: Sequence[NDArray[np.generic]], rule: Matching) -> SegmentationStatistics:
        with explained(pred):
            return segmentation_statistics(
                reference,
                guess,
                background=hidden,
                overlaps=overlaps,
                matching=rule,
                rate=settings.rate,
                boundary_overlap=settings.boundary_overlap,
            )

    stats = count(predicted, matching)
    scored = segmentation_scores(stats, failed=failed, **settings.resampling)
    chosen = {k: v for k, v in (("length", length), ("lengths", lengths)) if v not in ("reference", "error")}

    def row(label: str, score: Score, name: str = "all", chance: bool = False) -> ScoreRow:
        signed = replace(score, signature=score.signature.having(**chosen))
        return ScoreRow(label, signed, name, chance, 1 if _is_share(label) else 2, _is_share(label))

    rows = [row(label, score) for label, score in scored]
    for name, guess in (
        ("majority label", majority_prediction(reference)),
        ("random label", random_prediction(reference, np.random.default_rng(settings.seed))),
    ):
        rows += [
            row(label, score, name, chance=True)
            for label, score in segmentation_scores(count(guess, matching), failed=failed, resamples=0)
        ]
    other: Matching = "corrected" if matching == "published" else "published"
    return ScoreTable(
        family="segmentation",
        rows=tuple(rows),
        headline=_headline(shared, stats, rows),
        counts={
            "videos": len(shared),
            "videos without a prediction": failed,
            "predicted videos that the reference lacks": len(given) - len(shared),
            "frames": int(stats.frames.sum()),
            "frames cut off": trimmed,
            "frames of segments past the end of their video": sum(beyond.values()),
            "reference segments": int(stats.wanted.sum()),
            "predicted segments": int(stats.given.sum()),
        },
        notes=(
            *filter(
                None,
                (
                    missing_note("videos", "prediction", wanted.keys() - given.keys()),
                    near_miss_note(wanted, given, "videos"),
                    _beyond_note(beyond),
                ),
            ),
            *_notes(hidden, reference, timed and not settings.background),
            *_matching_notes(stats, count(predicted, other)),
        ),
        figures=segmentation_plots(rows, reference, predicted),
    )


def _beyond_note(beyond: Mapping[str, int]) -> str:
    if not beyond:
        return ""
    return (
        f"Segments reach past the end of {len(beyond):,} videos; {sum(beyond.values()):,} frames there were cut off: "
        f"{some_names(beyond)}."
    )


def _is_share(label: str) -> bool:
    return label.startswith(("MoF", "Edit", "F1"))


def _notes(hidden: list[str], reference: list[Labels], by_itself: bool) -> Iterator[str]:
    seen = {str(label) for video in reference for label in set(video.tolist())}
    absent = sorted(set(hidden) - seen)
    if by_itself:
        yield f"Frames in no segment are labelled {_FILLING!r}, which is no segment (choose it with --background)."
    elif absent:
        yield f"The background label {absent[0]!r} does not occur in the reference."


def _matching_notes(stats: SegmentationStatistics, other: SegmentationStatistics) -> Iterator[str]:
    corrected = stats if stats.matching == "corrected" else other
    published = other if stats.matching == "corrected" else stats
    for overlap, a, b in zip(
        stats.overlaps, published.found.sum(axis=1), corrected.found.sum(axis=1), strict=True
    ):
        if a != b:
            total = int(stats.wanted.sum() + stats.given.sum())
            yield (
                f"F1@{100 * overlap:g}: a one-to-one assignment finds {b:,} segments ({200 * b / total:.2f}), the "
                f"published rule {a:,} ({200 * a / total:.2f}), because it looks at one reference segment only."
            )


def _headline(names: list[str], stats: SegmentationStatistics, rows: Sequence[ScoreRow]) -> dict[str, object]:
    found = {row.metric: row.shown.value for row in rows if not row.chance}
    errors = stats.boundaries
    return {
        "MoF": found["MoF"],
        "edit": found["Edit"],
        "F1": {f"{100 * t:g}": found[f"F1@{100 * t:g}"] for t in stats.overlaps},
        "boundary_error": {
            "unit": errors.unit,
            "matched": len(errors.start),
            **{
                f"{side}_{name}": found[f"{side} off, {name} ({errors.unit})"]
                for side in ("start", "end")
                for name in ("median", "mean", "p90")
            },
        },
        "videos": [
            {
                "video": name,
                "frames": int(stats.frames[i]),
                "correct": int(stats.correct[i]),
                "edit": as_percent(float(stats.edit[i])) if stats.frames[i] else None,
                "reference_segments": int(stats.wanted[i]),
                "predicted_segments": int(stats.given[i]),
                "found": {
                    f"{100 * t:g}": int(n) for t, n in zip(stats.overlaps, stats.found[:, i], strict=True)
                },
            }
            for i, name in enumerate(names)
        ],
    }


def _overlaps(text: str) -> tuple[float, ...]:
    """Read ``10,25,50``, in per cent."""
    try:
        values = sorted({float(part) for part in text.split(",")})
        if not all(0 < value <= 100 for value in values):
            raise ValueError
    except ValueError:
        raise UserError(
            f"--overlaps are percentages above 0 and up to 100, got {text!r}.",
            hint="as in --overlaps 10,25,50",
        ) from None
    return tuple(value / 100 for value in values)
