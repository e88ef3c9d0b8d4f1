"""Labelled videos: frames made of segments and back; both sides behind each other, labels as numbers, and their runs."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.metrics.errors import MetricInputError
from proctor.metrics.score import Score, Signature
from proctor.metrics.temporal import require_times

__all__ = [
    "Floats",
    "Integers",
    "Label",
    "Runs",
    "Timeline",
    "Videos",
    "changes",
    "frames_from_segments",
    "hidden_labels",
    "label_array",
    "plain_score",
    "require_rate",
    "share_of",
    "timeline",
]


Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Label = str | int
Videos = Sequence[ArrayLike]


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Runs of one side of all videos behind each other, background included."""

    start: Integers
    end: Integers
    code: Integers
    video: Integers


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """All videos behind each other, labels as numbers."""

    labels: tuple[Label, ...]
    reference: Integers
    predicted: Integers
    first: Integers
    """Where each video starts, and the end of the last."""
    background: NDArray[np.bool_]
    """By label."""

    @property
    def video_of_frame(self) -> Integers:
        """Index of the video of each frame."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    def foreground_runs(self, codes: Integers) -> Runs:
        """Runs of one side that are no background."""
        runs = _runs(codes, self.first)
        keep = ~self.background[runs.code] if len(self.labels) else np.zeros(0, dtype=np.bool_)
        return Runs(runs.start[keep], runs.end[keep], runs.code[keep], runs.video[keep])


def timeline(gt: Videos, pred: Videos, background: Collection[Label]) -> Timeline:
    """Put the videos of both sides behind each other and make sure that they fit."""
    reference, predicted = _arrays(gt, "the reference"), _arrays(pred, "the prediction")
    if len(reference) != len(predicted):
        raise MetricInputError(
            f"{len(reference)} videos in the reference, {len(predicted)} in the prediction",
            "give both for the same videos, in the same order",
        )
    for index, (a, b) in enumerate(zip(reference, predicted, strict=True)):
        if len(a) != len(b):
            raise MetricInputError(
                f"video {index} has {len(a)} frames in the reference and {len(b)} in the prediction",
                "label every frame once; convert to one rate, or cut both to the shorter on purpose",
            )
    if isinstance(background, str):
        raise MetricInputError(f"background is the text {background!r}", "put its labels in a list")
    first = np.concatenate([[0], np.cumsum([len(a) for a in reference], dtype=np.int64)])
    sides = [np.concatenate(side) if side else np.zeros(0, dtype=np.int64) for side in (reference, predicted)]
    if {side.dtype.kind for side in sides if len(side)} == {"i", "U"}:
        sides = [side.astype(np.str_) for side in sides]
    labels, codes = _shared_codes(sides)
    wanted = {str(label) for label in background}
    mask = np.array([str(label) in wanted for label in labels], dtype=np.bool_)
    return Timeline(labels, codes[0], codes[1], first.astype(np.int64), mask)


def _arrays(videos: Videos, what: str) -> list[NDArray[np.str_] | Integers]:
    if isinstance(videos, str | bytes):
        raise MetricInputError(f"{what} is a text, not a list of videos")
    arrays = [label_array(video, f"video {index} of {what}") for index, video in enumerate(videos)]
    kinds = {array.dtype.kind for array in arrays if len(array)}
    return [array.astype(np.str_) for array in arrays] if kinds == {"i", "U"} else arrays


def label_array(video: ArrayLike, what: str) -> NDArray[np.str_] | Integers:
    """Return labels as texts or as whole numbers."""
    if isinstance(video, list | tuple) or (isinstance(video, np.ndarray) and video.dtype.kind == "O"):
        _require_label_types(video, what)
    try:
        values = np.asarray(video)
    except ValueError:
        values = np.zeros((0, 0))
    if values.ndim != 1:
        raise MetricInputError(
            f"{what} is no 1-D array of labels",
            "give a list of videos, each a list of labels; a single video goes into a list of its own",
        )
    if not values.size:
        return np.zeros(0, dtype=np.int64)
    if values.dtype.kind == "O":
        values = np.array(values.tolist())
    if values.dtype.kind == "f":
        if not (np.isfinite(values) & (values == np.floor(values))).all():
            raise MetricInputError(f"{what} holds numbers that are no labels", "use texts or whole numbers")
        values = values.astype(np.int64)
    if values.dtype.kind in "iub":
        return values.astype(np.int64)
    if values.dtype.kind != "U":
        raise MetricInputError(f"{what} holds labels of type {values.dtype}", "use texts or whole numbers")
    return values


def _require_label_types(video: Sequence[object] | NDArray[np.generic], what: str) -> None:
    """Refuse what NumPy would turn into a text without a word: None, nan among texts."""
    types = {kind for kind in map(type, video) if not issubclass(kind, list | tuple | np.ndarray)}
    floats = {kind for kind in types if issubclass(kind, float | np.floating)}
    strange = types - {kind for kind in types if issubclass(kind, str | int | np.integer | np.bool_)}
    strange -= floats if floats == types else set()
    if strange:
        names = ", ".join(sorted(kind.__name__ for kind in strange))
        raise MetricInputError(f"{what} holds labels of type {names}", "use texts or whole numbers")


def _shared_codes(sides: Sequence[NDArray[np.generic]]) -> tuple[tuple[Label, ...], list[Integers]]:
    """Number the labels of both sides in sorted order; only one frame of each run is looked at."""
    firsts = [changes(side) for side in sides]
    names = [side[first].tolist() for side, first in zip(sides, firsts, strict=True)]
    labels = tuple(sorted(set().union(*names)))
    code = {label: number for number, label in enumerate(labels)}
    codes = [
        np.repeat(
            np.array([code[name] for name in run_names], dtype=np.int64), np.diff(first, append=len(side))
        )
        for side, first, run_names in zip(sides, firsts, names, strict=True)
    ]
    return labels, codes


def changes(values: NDArray[np.generic]) -> Integers:
    """First element of every run."""
    if not len(values):
        return np.zeros(0, dtype=np.int64)
    return np.concatenate([[0], np.flatnonzero(values[1:] != values[:-1]) + 1]).astype(np.int64)


def _runs(codes: Integers, first: Integers) -> Runs:
    """Runs of all videos; a run ends where its video ends."""
    start = np.union1d(changes(codes), first[:-1][np.diff(first) > 0]).astype(np.int64)
    end = np.append(start[1:], len(codes)) if len(start) else start
    video = np.searchsorted(first, start, side="right") - 1
    return Runs(start, end.astype(np.int64), codes[start], video.astype(np.int64))


def hidden_labels(background: Collection[Label], nothing: str = "none") -> str:
    """What a signature says of the labels that are background."""
    return ",".join(sorted({str(label).replace("|", "/") for label in background})) or nothing


def plain_score(value: float, signature: Signature, line: Timeline) -> Score:
    """The score of these videos without an interval; a video without frames is skipped."""
    some = int((np.diff(line.first) > 0).sum())
    signature = signature.having(cluster="video", interval="none")
    return Score(value, signature, some, skipped=len(line.first) - 1 - some)


def share_of(part: float, whole: float, undefined: str) -> float:
    """Return part / whole, or an error that says why there is none."""
    if not whole:
        raise MetricInputError(undefined, "there is nothing to measure; leave this score out")
    return part / whole


# Frames to segments and segments to frames, one video at a time.

_ROUNDING: Final = 1e-6
"""Frames: times that are this near to the begin of a frame are meant to be it (0.1 s * 30 is not quite 3)."""


def frames_from_segments(
    start: ArrayLike,
    end: ArrayLike,
    label: Sequence[Label],
    *,
    rate: float,
    frames: int,
    background: Label = "background",
    conflict: Literal["error", "later"] = "error",
) -> NDArray[np.str_]:
    """Label the frames of one video by its segments.

    Frame i stands for the time i / rate; it belongs to the segment with start <= i / rate < end (half-open), and to
    the background if there is none. Frames behind the last are cut off, segments between two frames vanish.

    Args:
        start: seconds; shape (segments,).
        end: seconds.
        label: of each segment.
        rate: frames per second.
        frames: length of the video.
        background: label of frames in no segment.
        conflict: what to do with frames of two segments with different labels: ``error``, or ``later``: the segment
            that starts later has them (of those that start together, the one that ends later).

    Raises:
        MetricInputError: if a time is not finite or before 0, an end before its start, the rate not positive, or
            segments overlap and ``conflict`` is ``error``.
    """
    begin, stop = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    require_times(begin, stop, "segments")
    _require_segments(begin, stop, label, rate, frames)
    names = [str(name) for name in label]
    filled = np.full(frames, -1, dtype=np.int64)
    one, other = _first_frame(begin, rate, frames), _first_frame(stop, rate, frames)
    known = {name: number for number, name in enumerate(sorted({*names, str(background)}))}
    for row in sorted(range(len(names)), key=lambda r: (begin[r], stop[r], names[r])):
        part = filled[one[row] : other[row]]
        taken = (part >= 0) & (part != known[names[row]])
        if conflict == "error" and taken.any():
            raise MetricInputError(
                f"segment {row} ({names[row]}, {begin[row]:g} to {stop[row]:g} s) overlaps one of another label",
                "a frame has one label: repair the times, or let the later segment win (conflict='later')",
            )
        part[:] = known[names[row]]
    filled[filled < 0] = known[str(background)]
    return np.array(list(known), dtype=np.str_)[filled]


def _require_segments(begin: Floats, stop: Floats, label: Sequence[Label], rate: float, frames: int) -> None:
    if len(label) != len(begin):
        raise MetricInputError(f"{len(label)} labels for {len(begin)} segments")
    require_rate(rate)
    if frames < 0:
        raise MetricInputError(f"a video has no {frames} frames")
    for row in np.flatnonzero(begin < 0):
        raise MetricInputError(
            f"segment {row} goes from {begin[row]:g} to {stop[row]:g} s", "times start at 0"
        )


def require_rate(rate: float) -> None:
    """Make sure that a rate is finite and above 0."""
    if not (math.isfinite(rate) and rate > 0):
        raise MetricInputError(f"a rate is a number of frames per second above 0, got {rate:g}")


def _first_frame(times: Floats, rate: float, frames: int) -> Integers:
    """First frame at or after each time."""
    return np.clip(np.ceil(times * rate - _ROUNDING), 0, frames).astype(np.int64)
