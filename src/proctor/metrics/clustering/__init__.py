"""Key steps discovered: clusters of frames matched to ground-truth steps, precision, recall, IoU and F1.

Conventions (Bansal et al. 2022): every frame has one true label and one cluster. The frames of all videos that
were clustered together (a recipe) are pooled, and clusters are matched one to one to the true classes so that as
many frames as possible agree (Hungarian method, ``scipy.optimize.linear_sum_assignment``). ``per-key-step``
averages over the classes that occur; ``pooled`` divides sums. Background is a class like any other
(``background="class"``, as published), or takes part in the matching only (``"matched"``), or its frames are
left out (``"dropped"``). All values are between 0 and 1.

Two points that the published description leaves open, settled here so that a result is unique: of all matchings
with the largest overlap the one with the largest sum of IoU is taken, and a pair without a common frame is no
match. (Left to chance, ties make precision up to half a point lower on short videos: 15.9 against 16.4 % for
random labels at 1 frame a second, measured.) A class without a match counts 0: with fewer clusters than classes the mean would otherwise leave out
exactly what was missed.

Chance depends on the frame rate, the number of clusters and the pooling: at 1 frame a second and per video, random
labels score as high as the published trained models (Peddi et al. 2024, Table 15). ``random_clustering`` therefore
computes it for the same frames, in the same way.

Erratum of the published code: frames labelled background are lost while it builds its labels.
"""

from __future__ import annotations

from proctor.metrics.clustering.chance import random_clustering
from proctor.metrics.clustering.entries import METRICS
from proctor.metrics.clustering.measures import (
    AVERAGES,
    MEASURES,
    Average,
    KeyStep,
    match_key_steps,
    measure_key_steps,
)
from proctor.metrics.clustering.overlap import BACKGROUNDS, Background, Overlap, count_overlap, merge_overlaps
from proctor.metrics.clustering.scores import (
    key_step_f1,
    key_step_iou,
    key_step_precision,
    key_step_recall,
    mean_over_groups,
)

__all__ = [
    "AVERAGES",
    "BACKGROUNDS",
    "MEASURES",
    "METRICS",
    "Average",
    "Background",
    "KeyStep",
    "Overlap",
    "count_overlap",
    "key_step_f1",
    "key_step_iou",
    "key_step_precision",
    "key_step_recall",
    "match_key_steps",
    "mean_over_groups",
    "measure_key_steps",
    "merge_overlaps",
    "random_clustering",
]
