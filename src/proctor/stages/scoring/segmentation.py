"""Scores of temporal action segmentation from files of frames, files of segments, or folders of label files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.metrics.names import near_miss_note
from proctor.metrics.score import Score
from proctor.metrics.segmentation import (
    OVERLAPS,
    Matching,
    SegmentationStatistics,
    majority_prediction,
    random_prediction,
    segmentation_scores,
    segmentation_statistics,
)
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.stages.scoring.files import explained, missing_note, some_names
from proctor.stages.scoring.percent import as_percent
from proctor.stages.scoring.segmentation_figures import segmentation_plots
from proctor.stages.scoring.segmentation_files import (
    Conflict,
    Frames,
    Labels,
    Length,
    Lengths,
    Timed,
    aligned_labels,
    read_videos,
    require_same_frames,
    require_same_length,
)

__all__ = ["Conflict", "Length", "Lengths", "score_segmentation"]

_FILLING: Final = "background"


def score_segmentation(
    gt: Path,
    pred: Path,
    *,
    rate: float | None = None,
    background: Sequence[str] = (),
    overlaps: Sequence[float] = OVERLAPS,
    matching: Matching = "published",
    lengths: Lengths = "error",
    length: Length = "reference",
    conflict: Conflict = "error",
    boundary_overlap: float = 0.1,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> ScoreTable:
    """Score a segmentation against a reference, video by video; both may be of either kind.

    Args:
        gt: the reference: a table of frames (video, frame, label), a table of segments (video, start, end, label;
            seconds), or a folder with one text file a video, one label a line.
        pred: the prediction, any of these.
        rate: frames per second: needed for segments; boundary errors are in seconds with it, else in frames.
        background: labels that are no action; with segments the frames between them are background by themselves.
        overlaps: of the F1 scores.
        matching: ``published`` or ``corrected``.
        lengths: ``error``, or ``trim``: cut reference and prediction of a video to the shorter.
        length: of a video whose reference are segments: ``reference`` wants its duration, ``predicted`` takes the end
            of the last segment of either side where it is not known.
        conflict: segments of one file that overlap: ``error``, or the ``later`` one wins.
        boundary_overlap: smallest IoU of segments whose boundaries are compared.
        confidence: of the intervals, bootstrapped over videos.
        resamples: 0 leaves the intervals out.
        seed: of the bootstrap and the random row.

    Raises:
        UserError: if a file cannot be read or scored.
    """
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
    hidden = list(dict.fromkeys(background or ([_FILLING] if timed else [])))
    filling = hidden[0] if hidden else _FILLING
    pairs = []
    trimmed = 0
    beyond: dict[str, int] = {}
    for name in shared:
        a, b, past = aligned_labels(
            name, (wanted[name], given[name]), (gt, pred), rate, filling, conflict, length
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
                rate=rate,
                boundary_overlap=boundary_overlap,
            )

    stats = count(predicted, matching)
    scored = segmentation_scores(stats, failed=failed, confidence=confidence, resamples=resamples, seed=seed)
    chosen = {k: v for k, v in (("length", length), ("lengths", lengths)) if v not in ("reference", "error")}

    def row(label: str, score: Score, name: str = "all", chance: bool = False) -> ScoreRow:
        signed = replace(score, signature=score.signature.having(**chosen))
        return ScoreRow(label, signed, name, chance, _digits(label), _is_share(label))

    rows = [row(label, score) for label, score in scored]
    for name, guess in (
        ("majority label", majority_prediction(reference)),
        ("random label", random_prediction(reference, np.random.default_rng(seed))),
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
            *_notes(hidden, reference, timed and not background),
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


def _digits(label: str) -> int:
    return 1 if _is_share(label) else 2


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
