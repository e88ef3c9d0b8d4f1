"""From what the network says of each point to the segments of a recording. Source: ActionFormer, as released (Section 3.4).

This module imports torch: import it late.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from proctor.learn.localize.grid import Grid
from proctor.learn.localize.targets import Pyramid
from proctor.metrics.localization import Segments
from proctor.metrics.soft_nms import suppress_segments

__all__ = ["CAP", "Candidates", "candidates", "segments_of"]

CAP: Final = 200
"""Candidates of a class that take part in the suppression, of one recording."""

_LEAST_SCORE: Final = 1e-3
_MOST_OF_LEVEL: Final = 5_000
_LEAST_ROWS: Final = 0.05
_SIGMA: Final = 0.9
_MOST: Final = 2_000
"""Segments of a recording that are kept."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Candidates:
    """What may be segments of one recording; parallel arrays, shape (candidates,).

    Attributes:
        start: rows; likewise ``end``.
        end: beside ``start``.
        label: number of the class.
        score: from 0 to 1.
    """

    start: Floats
    end: Floats
    label: NDArray[np.int64]
    score: Floats


def candidates(logits: Tensor, offsets: Tensor, real: Tensor, pyramid: Pyramid) -> Candidates:
    """Return the likeliest pairs of point and class of each level.

    Args:
        logits: shape (places, classes).
        offsets: in strides, shape (places, 2).
        real: shape (places,).
        pyramid: the places.
    """
    classes = logits.shape[1]
    score = torch.where(real[:, None], logits.float().sigmoid(), 0.0)
    place: list[Tensor] = []
    label: list[Tensor] = []
    for first, count in zip(pyramid.starts.tolist(), pyramid.counts.tolist(), strict=True):
        level = score[first : first + count].flatten()
        good = (level > _LEAST_SCORE).nonzero()[:, 0]
        if len(good) > _MOST_OF_LEVEL:
            good = good[level[good].topk(_MOST_OF_LEVEL).indices]
        place.append(first + good // classes)
        label.append(good % classes)
    at, what = torch.cat(place), torch.cat(label)
    reach = offsets[at].double().cpu().numpy()
    where = at.cpu().numpy()
    time, stride = pyramid.time[where], pyramid.stride[where]
    start, end = time - reach[:, 0] * stride, time + reach[:, 1] * stride
    long = end - start > _LEAST_ROWS
    scores = score[at, what].double().cpu().numpy()
    return Candidates(start[long], end[long], what.cpu().numpy()[long], scores[long])


def segments_of(
    found: Sequence[Candidates],
    videos: tuple[str, ...],
    seconds: Sequence[float],
    labels: tuple[str, ...],
    grid: Grid,
    cap: int | None = CAP,
) -> Segments:
    """Return the segments of recordings: of overlapping candidates of a class, all but the best lose score.

    Args:
        found: of each recording.
        videos: their ids, sorted.
        seconds: length of each recording, that times are cut to; what lies outside is left out.
        labels: ids of the classes, sorted.
        grid: of the rows.
        cap: candidates of each class and recording that take part; None all.
    """
    video = np.repeat(np.arange(len(found)), [len(c.start) for c in found])
    parts = [
        np.concatenate([np.zeros(0), *(getattr(c, name) for c in found)])
        for name in ("start", "end", "score")
    ]
    label = np.concatenate([np.zeros(0, np.int64), *(c.label for c in found)])
    every = Segments(video, grid.seconds(parts[0]), grid.seconds(parts[1]), label, parts[2], videos, labels)
    left = suppress_segments(every, sigma=_SIGMA, min_score=_LEAST_SCORE, cap=cap, limit=_MOST)
    last = np.asarray(seconds, np.float64)[left.video] if len(left) else np.zeros(0)
    start, end = left.start.clip(0, last), left.end.clip(0, last)
    cut = Segments(left.video, start, end, left.label, left.score, videos, labels)
    return cut.take(end > start)
