"""Scores of temporal action segmentation from files of frames, files of segments, or folders of label files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.metrics.figure import Figure, Matrix
from proctor.metrics.segmentation import (
    OVERLAPS,
    Matching,
    SegmentationStatistics,
    frame_confusion,
    frames_from_segments,
    majority_prediction,
    random_prediction,
    segmentation_scores,
    segmentation_statistics,
)
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.stages.scoring.figures import defined, interval_plot
from proctor.stages.scoring.files import Table, explained, read_lines, read_table, some_names

__all__ = ["Conflict", "Lengths", "score_segmentation"]

Lengths = Literal["error", "trim"]
Conflict = Literal["error", "later"]
Labels = NDArray[np.str_]

_VIDEO: Final = ("video", "video_id", "video-id", "recording", "recording_id")
_LABEL: Final = ("label", "action", "step", "step_id")
_FRAME: Final = ("frame", "frame_index")
_START: Final = ("start", "start_time", "t-start")
_END: Final = ("end", "end_time", "t-end")
_DURATION: Final = ("duration", "video_duration")
_FILLING: Final = "background"
_SHOWN_LABELS: Final = 25
_LONGEST: Final = 20_000_000
"""Frames of a video: a week at 30 a second. A time in another unit would fill the memory."""


@dataclass(frozen=True, slots=True)
class _Frames:
    """Labels of one video's frames, and the frames' numbers where the file has them."""

    labels: Labels
    numbers: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True)
class _Timed:
    """Segments of one video in seconds."""

    start: NDArray[np.float64]
    end: NDArray[np.float64]
    labels: list[str]
    duration: float | None = None


_Video = _Frames | _Timed


def score_segmentation(
    gt: Path,
    pred: Path,
    *,
    rate: float | None = None,
    background: Sequence[str] = (),
    overlaps: Sequence[float] = OVERLAPS,
    matching: Matching = "published",
    lengths: Lengths = "error",
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
        conflict: segments of one file that overlap: ``error``, or the ``later`` one wins.
        boundary_overlap: smallest IoU of segments whose boundaries are compared.
        confidence: of the intervals, bootstrapped over videos.
        resamples: 0 leaves the intervals out.
        seed: of the bootstrap and the random row.

    Raises:
        UserError: if a file cannot be read or scored.
    """
    wanted, given = _read(gt), _read(pred)
    shared = sorted(wanted.keys() & given.keys())
    if not shared:
        raise UserError(
            f"no video of the reference has a prediction; the reference has {some_names(wanted)}, "
            f"the prediction {some_names(given)}.",
            where=str(pred),
            hint="name the videos alike in both",
        )
    timed = any(isinstance(video, _Timed) for side in (wanted, given) for video in side.values())
    hidden = list(dict.fromkeys(background or ([_FILLING] if timed else [])))
    filling = hidden[0] if hidden else _FILLING
    pairs = []
    trimmed = 0
    for name in shared:
        a, b = _aligned(name, (wanted[name], given[name]), (gt, pred), rate, filling, conflict)
        if isinstance(x := wanted[name], _Frames) and isinstance(y := given[name], _Frames):
            _require_same_frames(name, x, y, pred, lengths)
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
    rows = [ScoreRow(label, score, digits=_digits(label)) for label, score in scored]
    for name, guess in (
        ("majority label", majority_prediction(reference)),
        ("random label", random_prediction(reference, np.random.default_rng(seed))),
    ):
        rows += [
            ScoreRow(label, score, name, chance=True, digits=_digits(label))
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
            "reference segments": int(stats.wanted.sum()),
            "predicted segments": int(stats.given.sum()),
        },
        notes=(
            *_notes(hidden, reference, timed and not background),
            *_matching_notes(stats, count(predicted, other)),
        ),
        figures=_figures(rows, reference, predicted),
    )


def _digits(label: str) -> int:
    return 2 if " " in label else 1


# Reading


def _read(path: Path) -> dict[str, _Video]:
    if path.is_dir():
        return dict(_read_folder(path))
    table = read_table(path)
    video = table.texts(*_VIDEO)
    labels = table.texts(*_LABEL)
    if table.find(*_FRAME):
        return dict(_of_frames(table, video, labels))
    if table.find(*_START):
        return dict(_of_segments(table, video, labels))
    raise UserError(
        f"there is neither a column 'frame' nor a column 'start'; the columns are "
        f"{', '.join(map(repr, table.columns))}.",
        where=str(path),
        hint="give frames (video, frame, label) or segments (video, start, end, label)",
    )


def _read_folder(folder: Path) -> Iterator[tuple[str, _Frames]]:
    files = sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))
    if not files:
        raise UserError(
            "the folder has no files.", where=str(folder), hint="one text file a video, one label a line"
        )
    for path in files:
        yield (
            path.name.removesuffix(".txt"),
            _Frames(np.array(_labels(path, read_lines(path)), dtype=np.str_)),
        )


def _labels(path: Path, raw: list[str]) -> list[str]:
    """One label a line; or the released results' form: a headline with ###, then all labels in one line."""
    lines = [line.strip() for line in raw]
    while lines and not lines[-1]:
        lines.pop()
    if lines and lines[0].startswith("###"):
        return " ".join(lines[1:]).split()
    for number, line in enumerate(lines, start=1):
        if not line:
            raise UserError(
                "the line has no label.", where=f"{path}, line {number}", hint="label every frame"
            )
    return lines


def _rows_by_video(video: Sequence[str]) -> Iterator[tuple[str, NDArray[np.int64]]]:
    number: dict[str, int] = {}
    index = np.array([number.setdefault(name, len(number)) for name in video], dtype=np.int64)
    order = np.argsort(index, kind="stable").astype(np.int64)
    yield from zip(number, np.split(order, np.cumsum(np.bincount(index))[:-1]), strict=True)


def _of_frames(table: Table, video: list[str], labels: list[str]) -> Iterator[tuple[str, _Frames]]:
    numbers = table.integers(*_FRAME)
    column = table.require(*_FRAME)
    texts = np.asarray(labels, dtype=np.str_)
    for name, rows in _rows_by_video(video):
        rows = rows[np.argsort(numbers[rows], kind="stable")]
        steps = np.diff(numbers[rows])
        for wrong in np.flatnonzero(steps == 0)[:1]:
            raise table.wrong(
                int(rows[wrong + 1]),
                column,
                f"frame {numbers[rows[wrong]]} of video {name!r} is there twice.",
                "give every frame one label",
            )
        for wrong in np.flatnonzero(steps != steps[0])[:1] if len(steps) else ():
            raise table.wrong(
                int(rows[wrong + 1]),
                column,
                f"frame {numbers[rows[wrong + 1]]} of video {name!r} follows frame {numbers[rows[wrong]]}, "
                f"although frames are {steps[0]} apart before.",
                "label all frames, or every second, third, … one",
            )
        yield name, _Frames(texts[rows], numbers[rows])


def _of_segments(table: Table, video: list[str], labels: list[str]) -> Iterator[tuple[str, _Timed]]:
    start, end = table.numbers(*_START), table.numbers(*_END)
    durations = table.numbers(*_DURATION) if table.find(*_DURATION) else None
    for name, rows in _rows_by_video(video):
        duration = None
        if durations is not None:
            duration = float(durations[rows].max())
            if float(durations[rows].min()) != duration:
                raise UserError(
                    f"video {name!r} has more than one duration.", where=str(table.path), hint="repair them"
                )
        yield name, _Timed(start[rows], end[rows], [labels[row] for row in rows], duration)


# Both sides on the same frames


def _aligned(
    name: str,
    videos: tuple[_Video, _Video],
    paths: tuple[Path, Path],
    rate: float | None,
    filling: str,
    conflict: Conflict,
) -> tuple[Labels, Labels]:
    """Labels of both sides; segments become frames."""
    frames = _length(name, *videos, paths, rate)
    sides = []
    for video, path in zip(videos, paths, strict=True):
        if isinstance(video, _Frames):
            sides.append(video.labels)
            continue
        assert rate is not None  # _length has asked for it
        with explained(f"{path}, video {name!r}"):
            sides.append(
                frames_from_segments(
                    video.start,
                    video.end,
                    video.labels,
                    rate=rate,
                    frames=frames,
                    background=filling,
                    conflict=conflict,
                )
            )
    return sides[0], sides[1]


def _length(name: str, wanted: _Video, given: _Video, paths: tuple[Path, Path], rate: float | None) -> int:
    """Frames of a video: those of the side that has frames, else its duration, else until its last segment ends."""
    for video, path in zip((wanted, given), paths, strict=True):
        if isinstance(video, _Timed) and rate is None:
            raise UserError(
                "segments in seconds need a number of frames per second.", where=str(path), hint="add --rate"
            )
    for video in (wanted, given):
        if isinstance(video, _Frames):
            return len(video.labels)
    assert rate is not None
    timed = [video for video in (wanted, given) if isinstance(video, _Timed)]
    known = [video.duration for video in timed if video.duration is not None]
    seconds = known[0] if known else max(float(video.end.max(initial=0.0)) for video in timed)
    frames = seconds * rate
    if not frames <= _LONGEST:
        raise UserError(
            f"video {name!r} would have {frames:g} frames.",
            where=str(paths[0]),
            hint=f"up to {_LONGEST:,} are possible; check times (seconds) and --rate",
        )
    return max(0, math.ceil(frames - 1e-6))


def _require_same_frames(name: str, wanted: _Frames, given: _Frames, path: Path, lengths: Lengths) -> None:
    a, b = len(wanted.labels), len(given.labels)
    if a != b and lengths == "error":
        raise UserError(
            f"video {name!r} has {a:,} frames in the reference and {b:,} in the prediction.",
            where=str(path),
            hint="label the same frames, or cut both to the shorter with --lengths trim",
        )
    if wanted.numbers is None or given.numbers is None:
        return
    shared = min(a, b)
    if not np.array_equal(wanted.numbers[:shared], given.numbers[:shared]):
        row = int(np.flatnonzero(wanted.numbers[:shared] != given.numbers[:shared])[0])
        raise UserError(
            f"video {name!r}: frame {wanted.numbers[row]} of the reference stands beside frame "
            f"{given.numbers[row]} of the prediction.",
            where=str(path),
            hint="number frames alike and sample them at one rate",
        )


# What is said about it


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
    found = {row.metric: row.score.value for row in rows if not row.chance}
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
                "edit": float(stats.edit[i]) if stats.frames[i] else None,
                "reference_segments": int(stats.wanted[i]),
                "predicted_segments": int(stats.given[i]),
                "found": {
                    f"{100 * t:g}": int(n) for t, n in zip(stats.overlaps, stats.found[:, i], strict=True)
                },
            }
            for i, name in enumerate(names)
        ],
    }


def _figures(
    rows: Sequence[ScoreRow], reference: list[Labels], predicted: list[Labels]
) -> tuple[Figure, ...]:
    shown = [r for r in rows if not r.chance and r.metric.startswith(("MoF", "Edit", "F1"))]
    chance = {r.metric: max(c.score.value for c in rows if c.chance and c.metric == r.metric) for r in shown}
    return (
        interval_plot(
            "Scores; the mark of chance is the better of majority label and random label",
            ((r.metric, r.score) for r in shown),
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
