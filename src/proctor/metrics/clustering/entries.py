"""The metrics of this family, for the catalogue."""

from __future__ import annotations

from typing import Final

from proctor.metrics.metric import Metric

__all__ = ["METRICS"]


_CITATION: Final = "Bansal et al. 2022 (EgoProceL)"
_EXAMPLE: Final = (
    "|average:per-key-step|background:class|cluster:group|clusters:30|interval:bca-95|rate:15 fps"
)
_CHANCE: Final = (
    "Chance depends on frame rate, number of clusters and pooling; random labels at 1 fps per video score "
    "15.9/10.9/5.7 %, as high as the published trained models (15.6/10.9/5.8 %). "
)

METRICS: Final[tuple[Metric, ...]] = (
    Metric(
        "key_step_precision",
        "precision",
        "clustering",
        "clustering:key_step_precision",
        f"key_step_precision{_EXAMPLE}",
        "0 to 1",
        "higher",
        "Frames common to a key step and its matched cluster over the frames of the cluster, averaged over key steps.",
        _CITATION,
        _CHANCE + "Background counts as a key step as published.",
    ),
    Metric(
        "key_step_recall",
        "recall",
        "clustering",
        "clustering:key_step_recall",
        f"key_step_recall{_EXAMPLE}",
        "0 to 1",
        "higher",
        "Frames common to a key step and its matched cluster over the frames of the key step, averaged over key steps.",
        _CITATION,
        _CHANCE + "One cluster for everything has recall 1 for one step and 0 for all others.",
    ),
    Metric(
        "key_step_iou",
        "IoU",
        "clustering",
        "clustering:key_step_iou",
        f"key_step_iou{_EXAMPLE}",
        "0 to 1",
        "higher",
        "Frames common to a key step and its matched cluster over the frames of either, averaged over key steps.",
        _CITATION,
        _CHANCE + "The matching maximises common frames, not IoU.",
    ),
    Metric(
        "key_step_f1",
        "F1",
        "clustering",
        "clustering:key_step_f1",
        f"key_step_f1{_EXAMPLE}",
        "0 to 1",
        "higher",
        "Harmonic mean of the averaged precision and the averaged recall.",
        _CITATION,
        "Not the mean of the F1 of the key steps; papers rarely say which.",
    ),
)
