"""Scores of temporal action segmentation from files of frames, files of segments, or folders of label files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

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
    frames_from_segments,
    majority_prediction,
    random_prediction,
    segmentation_scores,
    segmentation_statistics,
)
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.stages.scoring.files import Table, explained, missing_note, read_lines, read_table, some_names
from proctor.stages.scoring.options import SegmentationSettings
from proctor.stages.scoring.tables import as_percent, defined, interval_plot

__all__ = [
    "Conflict",
    "Frames",
    "Labels",
    "Length",
    "Lengths",
    "Timed",
    "aligned_labels",
    "read_videos",
    "require_same_frames",
    "require_same_length",
    "score_segmentation",
]


# Files of labelled frames or segments, a folder of text files a video; both sides made frames of one video.

Lengths = Literal["error", "trim"]

Length = Literal["reference", "predicted"]

Conflict = Literal["error", "later"]

Labels = NDArray[np.str_]

_VIDEO: Final = ("video", "video_id", "video-id", "recording", "recording_id")

_LABEL: Final = ("label", "action", "step", "step_id")

_FRAME: Final = ("frame", "frame_index")

_START: Final = ("start", "start_time", "t-start")

_END: Final = ("end", "end_time", "t-end")

_DURATION: Final = ("duration", "video_duration")

_LONGEST: Final = 20_000_000

"""Frames of a video: a week at 30 a second. A time in another unit would fill the memory."""


@dataclass(frozen=True, slots=True)
class Frames:
    """Labels of one video's frames, and the frames' numbers where the file has them."""

    labels: Labels
    numbers: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True)
class Timed:
    """Segments of one video in seconds."""

    start: NDArray[np.float64]
    end: NDArray[np.float64]
    labels: list[str]
    duration: float | None = None


Video = Frames | Timed


def read_videos(path: Path) -> dict[str, Video]:
    """Read frames or segments by video, whichever the file holds."""
    if path.is_dir():
        return dict(_read_folder(path))
    table = read_table(path)
    video = table.names(*_VIDEO)
    labels = table.names(*_LABEL)
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


def _read_folder(folder: Path) -> Iterator[tuple[str, Frames]]:
    files = sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))
    if not files:
        raise UserError(
            "the folder has no files.", where=str(folder), hint="one text file a video, one label a line"
        )
    for path in files:
        yield (
            path.name.removesuffix(".txt"),
            Frames(np.array(_labels(path, read_lines(path)), dtype=np.str_)),
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


def _of_frames(table: Table, video: list[str], labels: list[str]) -> Iterator[tuple[str, Frames]]:
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
        yield name, Frames(texts[rows], numbers[rows])


def _of_segments(table: Table, video: list[str], labels: list[str]) -> Iterator[tuple[str, Timed]]:
    start, end = table.times(_START, _END)
    durations = table.numbers(*_DURATION) if table.find(*_DURATION) else None
    for name, rows in _rows_by_video(video):
        duration = None
        if durations is not None:
            duration = float(durations[rows].max())
            if float(durations[rows].min()) != duration:
                raise UserError(
                    f"video {name!r} has more than one duration.", where=str(table.path), hint="repair them"
                )
        yield name, Timed(start[rows], end[rows], [labels[row] for row in rows], duration)


def aligned_labels(
    name: str,
    videos: tuple[Video, Video],
    paths: tuple[Path, Path],
    rate: float | None,
    filling: str,
    conflict: Conflict,
    length: Length,
) -> tuple[Labels, Labels, int]:
    """Labels of both sides, segments made frames; and how many frames of segments reach past the end of the video."""
    frames = _length(name, *videos, paths, rate, length)
    sides, beyond = [], 0
    for video, path in zip(videos, paths, strict=True):
        if isinstance(video, Frames):
            sides.append(video.labels)
            continue
        assert rate is not None  # _length has asked for it
        beyond += max(0, _frames_until(float(video.end.max(initial=0.0)), rate) - frames)
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
    return sides[0], sides[1], beyond


def _length(
    name: str, wanted: Video, given: Video, paths: tuple[Path, Path], rate: float | None, length: Length
) -> int:
    """Frames of a video: what the reference says, as its frames or its duration.

    ``predicted`` asks the prediction, too, and takes the end of the last segment of either where nobody knows: a
    prediction can then make a video longer, and with background behind it the accuracy higher.
    """
    for video, path in zip((wanted, given), paths, strict=True):
        if isinstance(video, Timed) and rate is None:
            raise UserError(
                "segments in seconds need a number of frames per second.", where=str(path), hint="add --rate"
            )
    if isinstance(wanted, Frames):
        return len(wanted.labels)
    assert rate is not None
    seconds = wanted.duration
    if seconds is None and length == "reference":
        raise UserError(
            f"the length of video {name!r} is not known.",
            where=str(paths[0]),
            hint="add a column 'duration' (seconds) to the reference, or take --length predicted, with which the "
            "last segment of either side ends the video",
        )
    if seconds is None and isinstance(given, Frames):
        return len(given.labels)
    if seconds is None:
        assert isinstance(given, Timed)
        last = max(float(video.end.max(initial=0.0)) for video in (wanted, given))
        seconds = last if given.duration is None else given.duration
    if not seconds * rate <= _LONGEST:
        raise UserError(
            f"video {name!r} would have {seconds * rate:g} frames.",
            where=str(paths[0]),
            hint=f"up to {_LONGEST:,} are possible; check times (seconds) and --rate",
        )
    return _frames_until(seconds, rate)


def _frames_until(seconds: float, rate: float) -> int:
    return max(0, math.ceil(min(seconds * rate, float(_LONGEST)) - 1e-6))


def require_same_frames(name: str, wanted: Frames, given: Frames, path: Path, lengths: Lengths) -> None:
    """Make sure that both sides number the same frames, unless the longer is to be cut."""
    require_same_length(name, len(wanted.labels), len(given.labels), path, lengths)
    if wanted.numbers is None or given.numbers is None:
        return
    shared = min(len(wanted.labels), len(given.labels))
    if not np.array_equal(wanted.numbers[:shared], given.numbers[:shared]):
        row = int(np.flatnonzero(wanted.numbers[:shared] != given.numbers[:shared])[0])
        raise UserError(
            f"video {name!r}: frame {wanted.numbers[row]} of the reference is aligned with frame "
            f"{given.numbers[row]} of the prediction.",
            where=str(path),
            hint="number frames the same way and sample them at one rate",
        )


def require_same_length(
    name: str, wanted: int, given: int, path: Path, lengths: Lengths, *, rounding: int = 0
) -> None:
    """Make sure that both sides have as many frames, within a rounding, unless the longer is to be cut."""
    if abs(wanted - given) > rounding and lengths == "error":
        raise UserError(
            f"video {name!r} has {wanted:,} frames in the reference and {given:,} in the prediction.",
            where=str(path),
            hint="label the same frames, or cut both to the shorter with --lengths trim",
        )


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
            hint="give the videos the same names in both",
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
