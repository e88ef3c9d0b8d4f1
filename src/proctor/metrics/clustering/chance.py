"""What clusters of no knowledge score."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from proctor.metrics.clustering.measures import AVERAGES, MEASURES, Average, measure_key_steps
from proctor.metrics.clustering.overlap import (
    BACKGROUNDS,
    Background,
    Overlap,
    require_choice,
    stacked_counts,
)
from proctor.metrics.clustering.scores import NOTHING
from proctor.metrics.errors import MetricInputError
from proctor.metrics.score import Score, Signature

__all__ = ["random_clustering"]


def random_clustering(
    groups: Mapping[str, Mapping[str, Overlap]],
    clusters: int,
    *,
    average: Average = "per-key-step",
    background: Background = "class",
    draws: int = 20,
    seed: int = 0,
    settings: Mapping[str, str] | None = None,
) -> tuple[Score, ...]:
    """Score random clusters of the same frames in the same way: the chance row.

    Every frame gets one of ``clusters`` labels, each with the same probability, independently of everything. The
    overlaps of such labels are multinomial, so they are drawn directly, whatever the number of frames.

    Args:
        groups: as for ``mean_over_groups``; only the frames of each class matter.
        clusters: how many labels there are (30 as published).
        average: see ``measure_key_steps``.
        background: see ``count_overlap``.
        draws: how many times everything is labelled.
        seed: of the draws.
        settings: further parts of the signature.

    Returns:
        Mean over the draws in the order of ``MEASURES``; the note has the standard deviation of one draw.

    Raises:
        MetricInputError: if ``clusters`` or ``draws`` is not positive.
    """
    if clusters < 1 or draws < 1:
        raise MetricInputError(f"clusters and draws must be positive, got {clusters} and {draws}")
    require_choice(average, AVERAGES, "average")
    require_choice(background, BACKGROUNDS, "background")
    rng = np.random.default_rng(seed)
    parts = {
        "average": average,
        "background": background,
        **(settings or {}),
        "clusters": str(clusters),
        "draws": str(draws),
        "interval": "none",
        "predictor": "uniform",
        "seed": str(seed),
    }
    drawn, videos_drawn = [], 0
    for _, videos in sorted(groups.items()):
        stack, ignored = stacked_counts(videos, background)
        sizes = stack.sum(axis=(0, 2)).astype(np.int64)
        counts = rng.multinomial(sizes, np.full(clusters, 1 / clusters), size=(draws, len(sizes)))
        measured = np.array([measure_key_steps(one, average=average, ignored=ignored) for one in counts])
        if not np.isnan(measured[0, 0]):
            drawn.append(measured)
            videos_drawn += len(videos)
    if not drawn:
        return tuple(Score(math.nan, Signature(m, parts), 0, note=NOTHING) for m in MEASURES)
    means = np.mean(drawn, axis=0)
    spread = means.std(axis=0, ddof=1) if draws > 1 else np.full(len(MEASURES), np.nan)
    return tuple(
        Score(
            float(means[:, k].mean()),
            Signature(measure, parts),
            len(drawn) if len(drawn) > 1 else videos_drawn,
            note=f"mean of {draws} draws, s.d. {spread[k]:.2g}" if draws > 1 else "one draw",
        )
        for k, measure in enumerate(MEASURES)
    )
