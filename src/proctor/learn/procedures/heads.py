"""From embedded frames to key steps: fuzzy c-means with a chain (ProCut), mini-batch k-means, and a subset of centres.

Frames of all recordings of a procedure are clustered together. Source: Bansal et al. 2022 ("My View is the Best View"),
Section 4.3; fuzzy c-means: Bezdek 1981; facility location: Elhamifar and Naing 2019, as the baseline of that paper.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from proctor.errors import MissingExtraError, UserError
from proctor.learn.procedures.chain import Distance, solve_chain

__all__ = [
    "CLUSTERS",
    "Clustered",
    "HeadName",
    "choose_clusters",
    "cluster",
    "fuzzy_c_means",
    "ordered_by_time",
    "safe_exponent",
]

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Embedded = Mapping[str, NDArray[np.float32]]
"""Rows of each recording, shape (rows, width)."""

HeadName = Literal["procut", "kmeans", "subset"]

CLUSTERS: Final = 30
"""As published; of ``subset`` so many centres, of which 15 are kept."""

KEPT_SHARE: Final = 0.5
UNARY: Final = 0.2
CHANGE: Final = 5.0
EXPONENT: Final = 2.0
"""Of fuzzy c-means, as published."""

LEAST_EXPONENT: Final = 1.01

_ROUNDS: Final = 100
_SETTLED: Final = 1e-5
_COUNTED: Final = 0.01
_LEAST: Final = 1e-12


@dataclass(frozen=True)
class Clustered:
    """Labels of the rows of each recording, from 0, and how many there could be."""

    labels: Mapping[str, Labels]
    clusters: int


def cluster(
    embedded: Embedded,
    head: HeadName,
    clusters: int = CLUSTERS,
    *,
    seed: int = 0,
    distance: Distance = "l1",
    frames: float = 1.0,
    published: bool = False,
) -> Clustered:
    """Cluster the rows of all recordings of a procedure.

    Args:
        embedded: rows of each recording.
        head: ``procut``, ``kmeans`` or ``subset``.
        clusters: how many; for ``subset`` how many centres half of which are kept.
        seed: of what is drawn.
        distance: of ``procut``, between the labels of neighbours.
        frames: of ``procut``, that a row stands for: what a label costs there counts so often, since what a change costs is
            published for frames. At a row a second and without this nothing would ever change.
        published: with the exponent of fuzzy c-means as published, and not with a safe one.

    Raises:
        UserError: if there are more clusters than rows, or a row is no number.
    """
    ids = sorted(embedded)
    rows = np.concatenate([embedded[id_] for id_ in ids]).astype(np.float64)
    _require(rows, clusters)
    if head == "procut":
        memberships = fuzzy_c_means(rows, clusters, seed, EXPONENT if published else safe_exponent(rows))
        times = np.concatenate([(np.arange(len(embedded[id_])) + 0.5) / len(embedded[id_]) for id_ in ids])
        memberships = memberships[:, ordered_by_time(memberships, times)]
        parts = _apart(memberships, embedded)
        weight = CHANGE / clusters if distance == "l1" else CHANGE
        labels = {
            id_: solve_chain(UNARY * frames * (1 - part), weight, distance) for id_, part in parts.items()
        }
        return Clustered(labels, clusters)
    centres = _k_means(rows, clusters, seed)
    if head == "subset":
        centres = centres[_representatives(rows, centres, max(1, int(clusters * KEPT_SHARE)))]
    return Clustered(_apart(_squared(rows, centres).argmin(1), embedded), len(centres))


def fuzzy_c_means(rows: Floats, clusters: int, seed: int = 0, exponent: float = EXPONENT) -> Floats:
    """Return the membership of each row in each cluster; rows sum to 1, shape (rows, clusters).

    Args:
        rows: shape (rows, width).
        clusters: how many, at most as many as there are rows.
        seed: of the first centres.
        exponent: above 1; near 1 each row belongs to one cluster.
    """
    centres = _k_means(rows, clusters, seed)
    memberships = _memberships(rows, centres, exponent)
    for _ in range(_ROUNDS):
        weights = memberships**exponent
        centres = weights.T @ rows / np.maximum(weights.sum(0)[:, None], _LEAST)
        before, memberships = memberships, _memberships(rows, centres, exponent)
        if np.abs(memberships - before).max() < _SETTLED:
            break
    return memberships


def safe_exponent(rows: Floats) -> float:
    """Return an exponent of at most 2 with which fuzzy c-means does not put all centres on the mean of the rows.

    With 2, as published, it does so on rows that spread in many directions, and everything is one cluster. It does from
    ``1 / (1 - 2 λ)`` on, where λ is the largest eigenvalue of the mean of the outer products of centred rows of length one
    (Yu, Cheng and Huang 2004, "Analysis of the Weighting Exponent in the FCM", Theorem 1); half way to it is taken.
    """
    centred = rows - rows.mean(0)
    centred /= np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), _LEAST)
    largest = float(np.linalg.eigvalsh(centred.T @ centred / len(rows))[-1])
    return (
        EXPONENT
        if largest >= 0.5
        else min(EXPONENT, max(LEAST_EXPONENT, 1 + (1 / (1 - 2 * largest) - 1) / 2))
    )


def ordered_by_time(memberships: Floats, times: Floats) -> Labels:
    """Return the clusters from early to late, by the mean time of the rows that are most in them; shape (clusters,).

    Args:
        memberships: shape (rows, clusters).
        times: of each row, as a share of its recording, shape (rows,).
    """
    hard = memberships.argmax(1)
    counts = np.bincount(hard, minlength=memberships.shape[1])
    sums = np.bincount(hard, weights=times, minlength=memberships.shape[1])
    soft = (
        times @ memberships / np.maximum(memberships.sum(0), _LEAST)
    )  # of clusters without a row of their own
    return np.argsort(np.where(counts > 0, sums / np.maximum(counts, 1), soft), kind="stable")


def choose_clusters(embedded: Embedded, seed: int = 0, *, frames: float = 1.0) -> int:
    """Return how many clusters the recordings themselves ask for: as many as ProCut uses all of.

    Where every change costs the same, clusters that share what lasts are merged by the chain. Those with at least a hundredth
    of the rows are counted, and as many are made anew, until all are used. How far from the truth that is, and what else was
    tried, stands in docs/procedure-learning.md.

    Args:
        embedded: rows of each recording.
        seed: of what is drawn.
        frames: see ``cluster``.
    """
    rows = sum(map(len, embedded.values()))
    number = min(CLUSTERS, rows)
    while True:
        found = cluster(embedded, "procut", number, seed=seed, distance="potts", frames=frames)
        counts = np.bincount(np.concatenate([*found.labels.values()]), minlength=found.clusters)
        used = max(1, int(np.count_nonzero(counts >= _COUNTED * rows)))
        if used == number:
            return number
        number = used


def _k_means(rows: Floats, clusters: int, seed: int) -> Floats:
    try:
        from sklearn.cluster import MiniBatchKMeans
        from sklearn.exceptions import ConvergenceWarning
    except ImportError:
        raise MissingExtraError("scikit-learn", "learn", "Clustering frames") from None
    model: Any = MiniBatchKMeans(clusters, random_state=seed, n_init=3, batch_size=2_048)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different rows than clusters
        found: Floats = model.fit(rows).cluster_centers_
    return found


def _representatives(rows: Floats, centres: Floats, kept: int) -> Labels:
    """Return the centres that lower the sum of the squared distances to the nearest most, one after the other."""
    squared = _squared(rows, centres)
    nearest = np.full(len(rows), np.inf)
    chosen: list[int] = []
    for _ in range(kept):
        costs = np.minimum(squared, nearest[:, None]).sum(0)
        costs[chosen] = np.inf
        chosen.append(int(costs.argmin()))
        nearest = np.minimum(nearest, squared[:, chosen[-1]])
    return np.array(chosen, np.int64)


def _memberships(rows: Floats, centres: Floats, exponent: float) -> Floats:
    logs = np.log(np.maximum(_squared(rows, centres), _LEAST)) / (1 - exponent)
    near = np.exp(logs - logs.max(1, keepdims=True))
    found: Floats = near / near.sum(1, keepdims=True)
    return found


def _squared(rows: Floats, centres: Floats) -> Floats:
    found = (rows**2).sum(1)[:, None] + (centres**2).sum(1) - 2 * rows @ centres.T
    squared: Floats = np.maximum(found, 0.0)
    return squared


def _apart(rows: NDArray[Any], embedded: Embedded) -> dict[str, NDArray[Any]]:
    ids = sorted(embedded)
    ends = np.cumsum([len(embedded[id_]) for id_ in ids])[:-1]
    return dict(zip(ids, np.split(rows, ends), strict=True))


def _require(rows: Floats, clusters: int) -> None:
    if not np.isfinite(rows).all():
        raise UserError(
            "an embedded frame is no number.",
            hint="did the training diverge? look at log.jsonl, and lower the learning rate (--lr)",
        )
    if not 1 <= clusters <= len(rows):
        raise UserError(
            f"{clusters} clusters of {len(rows)} rows are not possible.",
            where="--clusters",
            hint="ask for fewer clusters, or extract more rows a second",
        )
