"""Many labelled stretches of time at once: ground truth, or predictions with their scores.

Videos and labels are texts or whole numbers; inside they are positions in a sorted list of names, so that
comparing, sorting and grouping work on numbers and never depend on the order of the rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import floor
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.metrics.errors import MetricInputError
from proctor.metrics.temporal import require_times

__all__ = ["EMPTY_LENGTH", "SAME_TIME", "Name", "Segments", "encode_names", "sorted_names", "trimmed_name"]

Name = str | int
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

SAME_TIME: Final = 1e-3
"""Two segments of one video and label whose ends both differ by no more than this many seconds are duplicates."""
EMPTY_LENGTH: Final = 1e-3
"""A segment shorter than this many seconds is empty."""
_SPARE_CODES: Final = 1_000_000
_LATEST: Final = 1e100
"""Later times are refused: their differences would overflow."""


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """Parallel arrays, one entry a segment; make them with ``Segments.of``.

    Attributes:
        video: position of each segment's video in ``videos``.
        start: seconds.
        end: seconds; the segment is half-open ``[start, end)`` and has no length unless the end is later.
        label: position of each segment's label in ``labels``.
        score: confidence of a prediction, any finite number, more is surer; None for ground truth.
        videos: names in sorted order; also videos without any segment may be listed.
        labels: names in sorted order.
        columns: what else is known of each segment (``has_error``), as texts.
    """

    video: Integers
    start: Floats
    end: Floats
    label: Integers
    score: Floats | None
    videos: tuple[Name, ...]
    labels: tuple[Name, ...]
    columns: Mapping[str, NDArray[np.object_]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.start)

    @classmethod
    def of(
        cls,
        video: Sequence[Name] | NDArray[Any],
        start: ArrayLike,
        end: ArrayLike,
        label: Sequence[Name] | NDArray[Any],
        score: ArrayLike | None = None,
        *,
        videos: Collection[Name] = (),
        columns: Mapping[str, Sequence[str]] | None = None,
    ) -> Segments:
        """Check and encode parallel lists.

        Args:
            video: name of each segment's video.
            start: seconds, shape (n,).
            end: seconds, shape (n,).
            label: name of each segment's class.
            score: confidence of each prediction, shape (n,).
            videos: further videos that were looked at and hold no segment.
            columns: further texts for each segment, by name.

        Raises:
            MetricInputError: if lengths differ, a number is not finite or a segment ends before it starts (the row
                is named, from 0), or a name is neither a text nor a whole number.
        """
        what = "ground truth" if score is None else "predictions"
        starts, ends = _floats(start, what, "starts"), _floats(end, what, "ends")
        scores = None if score is None else _floats(score, what, "scores")
        further = {name: _texts(values) for name, values in (columns or {}).items()}
        parallel = {"videos": len(video), "ends": len(ends), "labels": len(label)}
        parallel |= {} if scores is None else {"scores": len(scores)}
        parallel |= {name: len(values) for name, values in further.items()}
        for name, length in parallel.items():
            if length != len(starts):
                raise MetricInputError(
                    f"{what}: {len(starts)} starts and {length} {name}", "give one value for each segment"
                )
        require_times(starts, ends, what)
        far = np.flatnonzero(np.maximum(np.abs(starts), np.abs(ends)) > _LATEST)
        if far.size:
            raise MetricInputError(
                f"{what}: the times of row {far[0]} are beyond {_LATEST:g} seconds",
                "repair or remove the row",
            )
        if scores is not None and not np.isfinite(scores).all():
            row = int(np.flatnonzero(~np.isfinite(scores))[0])
            raise MetricInputError(
                f"{what}: the score of row {row} is not finite ({scores[row]:g})",
                "remove the row or repair its score",
            )
        video_codes, video_names = encode_names(video, f"{what}: a video", also=videos)
        label_codes, label_names = encode_names(label, f"{what}: a label")
        return cls(video_codes, starts, ends, label_codes, scores, video_names, label_names, further)

    def take(self, chosen: Flags | Integers) -> Segments:
        """Return some of the segments; all names stay known."""
        return Segments(
            self.video[chosen],
            self.start[chosen],
            self.end[chosen],
            self.label[chosen],
            None if self.score is None else self.score[chosen],
            self.videos,
            self.labels,
            {name: values[chosen] for name, values in self.columns.items()},
        )

    def in_videos(self, names: Collection[Name]) -> Flags:
        """Return which segments lie in these videos."""
        known = np.array([name in names for name in self.videos], dtype=np.bool_)
        return known[self.video] if len(self) else np.zeros(0, dtype=np.bool_)

    def with_labels(self, names: Collection[Name]) -> Flags:
        """Return which segments have one of these labels."""
        known = np.array([name in names for name in self.labels], dtype=np.bool_)
        return known[self.label] if len(self) else np.zeros(0, dtype=np.bool_)

    def relabelled(self, mapping: Mapping[Name, Name]) -> Segments:
        """Return the same segments under other labels; two labels may become one, unknown ones stay."""
        new = [mapping.get(name, name) for name in self.labels]
        codes, names = encode_names(new, "a label")
        return Segments(
            self.video,
            self.start,
            self.end,
            codes[self.label],
            self.score,
            self.videos,
            names,
            self.columns,
        )

    def trimmed(self) -> Segments:
        """Return the same segments with no space around the names of videos and labels."""
        video, videos = encode_names([trimmed_name(name) for name in self.videos], "a video")
        label, labels = encode_names([trimmed_name(name) for name in self.labels], "a label")
        return replace(self, video=video[self.video], label=label[self.label], videos=videos, labels=labels)

    def used_videos(self) -> tuple[Name, ...]:
        """Return the videos that hold a segment, sorted."""
        return tuple(self.videos[code] for code in _present(self.video, len(self.videos)))

    def used_labels(self) -> tuple[Name, ...]:
        """Return the labels that occur, sorted."""
        return tuple(self.labels[code] for code in _present(self.label, len(self.labels)))

    def empty(self, shorter_than: float = EMPTY_LENGTH) -> Flags:
        """Return which segments are shorter than this many seconds."""
        result: Flags = self.end - self.start < shorter_than
        return result

    def duplicates(self, tolerance: float = SAME_TIME) -> Flags:
        """Return which segments repeat another one: same video, same label, both ends within the tolerance.

        One of each heap stays: the best-scored one, then the earliest. The order of the rows plays no part. A
        segment repeats only one that stays, so a chain of small shifts is not swallowed whole.
        """
        score = np.zeros(len(self)) if self.score is None else self.score
        further = [encode_names(values.tolist(), "a text")[0] for values in self.columns.values()]
        keys = (self.end, self.start, self.label, self.video)
        order = np.lexsort((*further, -score, *keys))
        same = np.all([key[order[1:]] == key[order[:-1]] for key in keys], axis=0)
        repeated = np.zeros(len(self), dtype=np.bool_)
        repeated[order[1:][same]] = True
        if tolerance <= 0:
            return repeated
        involved = self._crowded(order[~repeated[order]], tolerance)
        cell = 2 * tolerance  # twice, so that rounding cannot put two close times two cells apart
        best = np.lexsort((self.end[involved], self.start[involved], -score[involved]))
        kept: dict[tuple[int, int, int, int], list[tuple[float, float]]] = {}
        for row in involved[best].tolist():
            start, end = float(self.start[row]), float(self.end[row])
            key = (int(self.video[row]), int(self.label[row]))
            x, y = floor(start / cell), floor(end / cell)
            repeated[row] = any(
                abs(start - a) <= tolerance and abs(end - b) <= tolerance
                for i in (x - 1, x, x + 1)
                for j in (y - 1, y, y + 1)
                for a, b in kept.get((*key, i, j), ())
            )
            if not repeated[row]:
                kept.setdefault((*key, x, y), []).append((start, end))
        return repeated

    def _crowded(self, order: Integers, tolerance: float) -> Integers:
        """Return the few rows that may repeat another: with one of their video and label close by at both ends.

        ``order`` is by video, label and start. Rows are cut where starts leave a gap, then where ends do.
        """
        video, label, start = self.video[order], self.label[order], self.start[order]
        new = (np.diff(video) != 0) | (np.diff(label) != 0) | (np.diff(start) > tolerance)
        run = np.concatenate([[0], np.cumsum(new)])[: len(order)]
        by_end = np.lexsort((self.end[order], run))
        close = (np.diff(run[by_end]) == 0) & (np.diff(self.end[order][by_end]) <= tolerance)
        crowded = np.zeros(len(order), dtype=np.bool_)
        crowded[1:] |= close
        crowded[:-1] |= close
        return order[by_end[crowded]]


def sorted_names(names: Collection[Name]) -> list[Name]:
    """Sort names: whole numbers by value, then texts; texts that are whole numbers by value too."""
    return sorted(names, key=_name_key)


def trimmed_name(name: Name) -> Name:
    """Return a text without space around it, a number as it is."""
    return name.strip() if isinstance(name, str) else name


def _is_name(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _name_key(name: Name) -> tuple[int, int, str]:
    if isinstance(name, int):
        return (0, name, "")
    digits = name.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) <= 18:
        return (1, int(name), name)
    return (2, 0, name)


def encode_names(
    values: Sequence[Name] | NDArray[Any], what: str, *, also: Collection[Name] = ()
) -> tuple[Integers, tuple[Name, ...]]:
    """Return the position of each name in the sorted list of different names, and that list.

    Args:
        values: texts or whole numbers, a list or an array.
        what: how a message calls one of them.
        also: further names for the list.

    Raises:
        MetricInputError: if a name is neither a text nor a whole number.
    """
    if isinstance(values, np.ndarray):
        if values.dtype.kind in "iu" and not also and values.size:
            return _encode_integers(values)
        values = values.tolist()
    try:
        distinct = set(values) | set(also)
    except TypeError:  # a list, an array: the search below finds it
        distinct = set()
    if len(distinct) < bool(len(values)) or not all(map(_is_name, distinct)):
        row, seen = next((row, v) for row, v in enumerate([*values, *also]) if not _is_name(v))
        raise MetricInputError(f"{what} must be a text or a whole number, got {seen!r} in row {row}")
    names = sorted_names(distinct)
    position = dict(zip(names, range(len(names)), strict=True))
    codes = np.fromiter(map(position.__getitem__, values), dtype=np.int64, count=len(values))
    return codes, tuple(names)


def _encode_integers(values: NDArray[Any]) -> tuple[Integers, tuple[Name, ...]]:
    low, high = int(values.min()), int(values.max())
    if high - low > _SPARE_CODES + 4 * values.size:
        distinct, codes = np.unique(values, return_inverse=True)
        return codes.astype(np.int64), tuple(distinct.tolist())
    shifted = (values - low).astype(np.int64)
    present = np.zeros(high - low + 1, dtype=np.bool_)
    present[shifted] = True
    return (np.cumsum(present) - 1)[shifted], tuple((np.flatnonzero(present) + low).tolist())


def _present(codes: Integers, names: int) -> list[int]:
    found: list[int] = np.flatnonzero(np.bincount(codes, minlength=names)).tolist()
    return found


def _texts(values: Sequence[str]) -> NDArray[np.object_]:
    result = np.empty(len(values), dtype=np.object_)
    result[:] = list(values)
    return result


def _floats(values: ArrayLike, what: str, name: str) -> Floats:
    try:
        result = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise MetricInputError(f"{what}: {name} must be numbers") from None
    if result.ndim != 1:
        raise MetricInputError(f"{what}: {name} must be a flat list, got shape {result.shape}")
    plus: Floats = result + 0.0  # -0.0 equals 0.0, and must not be written otherwise
    return plus
