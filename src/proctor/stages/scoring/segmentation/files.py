"""Files of labelled frames or segments, a folder of text files a video; both sides made frames of one video."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.metrics.segmentation import frames_from_segments
from proctor.stages.scoring.files import Table, explained, read_lines, read_table

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
]


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
            f"video {name!r}: frame {wanted.numbers[row]} of the reference stands beside frame "
            f"{given.numbers[row]} of the prediction.",
            where=str(path),
            hint="number frames alike and sample them at one rate",
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
