"""Marks of free-text answers: mean of ternary judgements in points from 0 to 100.

A judge says 0 (wrong), 1 (partial) or 2 (match); a mark is 50 points a step (promqa.md section 7.3). Values are
kept per item and aggregated last, so every slice (question type, clean, noisy, activity) is a mean over the same
marks. Items without a judgement are None: they are counted and never become 0, and never silently raise a mean
either, because every score carries how many of them there are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from proctor.metrics.bootstrap import BootstrapMethod, bootstrap_interval, cluster_sums
from proctor.metrics.score import Score, Signature

__all__ = ["POINTS", "answer_signature", "mean_score", "points", "pooled_mean", "slice_scores"]

POINTS = 50.0
"""Points of one step of the ternary scale."""


def points(judgement: int | None) -> float | None:
    """Return the mark of a judgement in points; an unscored answer has none.

    Raises:
        ValueError: if the judgement is not 0, 1, 2 or None.
    """
    if judgement is None:
        return None
    if isinstance(judgement, bool) or judgement not in (0, 1, 2):
        raise ValueError(f"a judgement is 0, 1 or 2, got {judgement!r}")
    return POINTS * judgement


def answer_signature(
    *,
    benchmark: str,
    judge: str,
    slice_: str = "all",
    method: BootstrapMethod = "bca",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    cluster: str = "recording",
) -> Signature:
    """Signature of a mean score: all that changes the number or its interval."""
    return Signature(
        "mean_score",
        {
            "benchmark": benchmark,
            "cluster": cluster,
            "interval": f"{method}-{100 * confidence:g}",
            "judge": judge,
            "resamples": str(resamples),
            "scale": "0-50-100",
            "seed": str(seed),
            "slice": slice_,
            "weighting": "item",
        },
    )


def mean_score(
    values: Sequence[float | None],
    clusters: Sequence[str],
    signature: Signature,
    *,
    skipped: int = 0,
    method: BootstrapMethod = "bca",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Score:
    """Mean over items, each item the same weight, with an interval clustered by recording.

    Args:
        values: one mark an item, None where prediction or judgement failed.
        clusters: recording of each item.
        signature: of this number; its interval options are the caller's (see ``answer_signature``).
        skipped: items that were not asked at all.
        method: see ``bootstrap_interval``.
        confidence: see ``bootstrap_interval``.
        resamples: see ``bootstrap_interval``.
        seed: see ``bootstrap_interval``.

    Raises:
        ValueError: if lengths differ or a value is not finite.
    """
    if len(values) != len(clusters):
        raise ValueError(f"{len(values)} values for {len(clusters)} clusters")
    kept = [(v, c) for v, c in zip(values, clusters, strict=True) if v is not None]
    failed = len(values) - len(kept)
    if not kept:
        why = "every answer failed" if failed else "there are no items"
        return Score(math.nan, signature, 0, failed=failed, skipped=skipped, note=why)
    marks = [float(v) for v, _ in kept]
    sums = cluster_sums([marks, [1.0] * len(marks)], [c for _, c in kept])
    interval = bootstrap_interval(sums, method=method, confidence=confidence, resamples=resamples, seed=seed)
    return Score(
        value=math.fsum(marks) / len(marks),
        signature=signature,
        n=len(marks),
        low=interval.low,
        high=interval.high,
        failed=failed,
        skipped=skipped,
        note=interval.note,
    )


def slice_scores(
    values: Sequence[float | None],
    clusters: Sequence[str],
    slices: Mapping[str, Sequence[bool]],
    signature: Signature,
    *,
    method: BootstrapMethod = "bca",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, Score]:
    """Mean of each slice; a slice is a mask over the items, slices may overlap.

    Raises:
        ValueError: if a mask is not as long as the values.
    """
    scores = {}
    for name, mask in slices.items():
        if len(mask) != len(values):
            raise ValueError(f"slice {name!r} has {len(mask)} marks for {len(values)} items")
        chosen = [i for i, inside in enumerate(mask) if inside]
        scores[name] = mean_score(
            [values[i] for i in chosen],
            [clusters[i] for i in chosen],
            signature.having(slice=name),
            method=method,
            confidence=confidence,
            resamples=resamples,
            seed=seed,
        )
    return scores


def pooled_mean(means: Sequence[float], counts: Sequence[int]) -> float:
    """Mean over all items from the means of disjoint slices: weights are item counts (promqa.md section 7.4).

    Slices without items are left out whatever their mean.

    Raises:
        ValueError: if lengths differ, a count is negative or all are zero.
    """
    if len(means) != len(counts):
        raise ValueError(f"{len(means)} means for {len(counts)} counts")
    if any(n < 0 for n in counts) or not sum(counts):
        raise ValueError(f"counts must not be negative nor all zero, got {list(counts)}")
    return math.fsum(m * n for m, n in zip(means, counts, strict=True) if n) / sum(counts)
