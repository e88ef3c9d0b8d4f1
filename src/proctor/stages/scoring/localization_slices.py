"""Micro recall of the values of a column, and their differences, with intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from proctor.metrics.bootstrap import Floats, bootstrap_interval, cluster_sums
from proctor.metrics.interval import Interval
from proctor.metrics.localization import LocalizationScores, Prepared
from proctor.metrics.localization.segments import sorted_names

__all__ = ["Part", "slice_parts"]


@dataclass(frozen=True, slots=True)
class Part:
    """Recall of one slice, or the difference of two, at one threshold and k.

    ``n`` are its segments, ``unpredicted`` those of them in videos without any prediction, ``left_out`` further ones
    in videos that were not evaluated.
    """

    label: str
    tiou: float
    k: int
    value: float
    n: int
    unpredicted: int
    left_out: int
    interval: Interval | None
    difference: bool = False


def slice_parts(
    scores: LocalizationScores, prepared: Prepared, column: str, resamples: int, confidence: float, seed: int
) -> list[Part]:
    """Micro recall by the values of a column; with two values also by how much the second lies above the first."""
    matches, truth = scores.matches, prepared.truth
    values, left_out = truth.columns[column], prepared.left_out.columns[column]
    names = sorted_names({str(v) for v in values})
    videos = [str(matches.videos[code]) for code in matches.truth_video.tolist()]
    out: list[Part] = []
    among = {str(name): (values == name).astype(np.float64) for name in names}
    for k in matches.multiples:
        recalled = matches.recalled(k).astype(np.float64)
        for t, threshold in enumerate(matches.tiou):
            columns = [c for flags in among.values() for c in (flags * recalled[:, t], flags)]
            sums = cluster_sums(columns, videos)
            for j, (name, flags) in enumerate(among.items()):
                pair = sums[:, [2 * j, 2 * j + 1]]
                interval = _slice_interval(pair, _recall, resamples, confidence, seed)
                label = f"{column}={name or '(nothing)'}"
                value = float(_recall(pair.sum(axis=0, keepdims=True))[0])
                rows = flags > 0
                counts = (
                    int(rows.sum()),
                    int((rows & prepared.unpredicted).sum()),
                    int((left_out == name).sum()),
                )
                out.append(Part(label, threshold, k, value, *counts, interval))
            if len(among) == 2:
                interval = _slice_interval(sums, _difference, resamples, confidence, seed)
                first, second = among
                value = float(_difference(sums.sum(axis=0, keepdims=True))[0])
                label = f"{column}: {second or '(nothing)'} less {first or '(nothing)'}"
                counts = (len(truth), int(prepared.unpredicted.sum()), len(left_out))
                out.append(Part(label, threshold, k, value, *counts, interval, difference=True))
    return out


def _slice_interval(
    sums: Floats, statistic: Callable[[Floats], Floats], resamples: int, confidence: float, seed: int
) -> Interval | None:
    if not resamples:
        return None
    return bootstrap_interval(sums, statistic, confidence=confidence, resamples=resamples, seed=seed)


def _recall(sums: Floats) -> Floats:
    """Nan for a resample in which the slice does not occur, which the bootstrap leaves out."""
    whole = sums[:, 1]
    result: Floats = np.divide(sums[:, 0], whole, out=np.full(len(sums), np.nan), where=whole > 0)
    return result


def _difference(sums: Floats) -> Floats:
    return _recall(sums[:, 2:]) - _recall(sums[:, :2])
