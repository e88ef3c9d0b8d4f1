"""How far a frame is from the normal ones: nearest neighbours and Mahalanobis distance, what every block has to beat.

Both may be conditioned on the step that is annotated at the frame (which step, never how it went): it is then compared
with normal frames of the same step alone. Steps that no normal recording shows often enough are compared with all; how
many frames that were is told.

Mahalanobis distance: Lee et al. 2018 ("A Simple Unified Framework for Detecting Out-of-Distribution Samples"), Section
2.1, one covariance for all steps; its shrinkage: Ledoit and Wolf 2004. Nearest neighbours: Bergman et al. 2020 ("Deep
Nearest Neighbor Anomaly Detection").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.learn.anomaly.frames import Floats, FrameTask, Normalisation, Rows

__all__ = ["Mahalanobis", "NearestNeighbours", "ledoit_wolf"]

_BANK: Final = 8_192
_QUERIES: Final = 1_024
"""Distances between so many frames and so many of the bank are in memory at a time: 32 MiB."""

_WIDEST: Final = 4_096
"""Channels from which on a covariance matrix no longer fits."""


class _Conditioned:
    """What both share: normalised vectors, and which frames are compared with their own step."""

    def __init__(self, per_step: bool, least: int) -> None:
        self.per_step = per_step
        self.least = least
        self.fallen: dict[str, int] = {}

    def _begin(self, task: FrameTask, kept: NDArray[np.int64] | None = None) -> dict[str, object]:
        """Normalise, and see which steps the normal frames (of all, those that are kept) show often enough."""
        self.task = task
        self.normalisation = Normalisation.of(task)
        steps = np.concatenate([task.steps(id_) for id_ in task.train])
        names, counts = np.unique(steps if kept is None else steps[kept], return_counts=True)
        self.known = names[counts >= self.least] if self.per_step else names[:0]
        learned: dict[str, object] = {"frames": len(steps), "recordings": len(task.train)}
        return learned | ({"steps": len(self.known)} if self.per_step else {})

    def _parts(self, id_: str) -> list[tuple[NDArray[np.int64], Rows]]:
        """Frames of a recording in parts: the place in ``known`` of each frame's step, or -1, and its vector."""
        if not self.per_step:
            return [
                (np.full(len(part), -1), self.normalisation.apply(part)) for _, part in self.task.vectors(id_)
            ]
        steps = self.task.steps(id_)
        at = np.searchsorted(self.known, steps)
        at[at == len(self.known)] = -1
        code = np.where(np.isin(steps, self.known), at, -1)
        return [(code[where], self.normalisation.apply(part)) for where, part in self.task.vectors(id_)]

    def scores(self, id_: str) -> Floats:
        """Return the distance of each frame of a recording; shape (frames,)."""
        parts = self._parts(id_)
        self.fallen[id_] = sum(int((code < 0).sum()) for code, _ in parts) if self.per_step else 0
        return np.concatenate([self._distances(code, vectors) for code, vectors in parts])

    def _distances(self, code: NDArray[np.int64], vectors: Rows) -> Floats:
        raise NotImplementedError


class NearestNeighbours(_Conditioned):
    """Mean Euclidean distance to the k nearest normal frames, over the root of the number of channels.

    Args:
        k: neighbours.
        per_step: compare with normal frames of the same step.
        most: normal frames that are kept, drawn evenly; more cost time and memory in proportion.
    """

    name = "knn"

    def __init__(self, k: int = 5, *, per_step: bool = False, most: int = 50_000) -> None:
        super().__init__(per_step, least=k)
        self.k = k
        self.most = most

    def fit(self, task: FrameTask) -> Mapping[str, object]:
        """Keep normal frames.

        Raises:
            UserError: if there are fewer than k.
        """
        frames = sum(len(task.frames[id_].step) for id_ in task.train)
        if frames < self.k:
            raise UserError(
                f"{frames} normal frames are too few for {self.k} neighbours.", where="--neighbours"
            )
        kept = np.arange(frames)
        if frames > self.most:
            kept = np.sort(np.random.default_rng(task.seed).choice(frames, self.most, replace=False))
        learned = self._begin(task, kept)
        self.bank = np.empty((len(kept), task.channels), np.float32)
        self.code = np.empty(len(kept), np.int64)
        filled, begin = 0, 0
        for id_ in task.train:
            for code, vectors in self._parts(id_):
                mine = kept[(kept >= begin) & (kept < begin + len(code))] - begin
                self.bank[filled : filled + len(mine)] = vectors[mine]
                self.code[filled : filled + len(mine)] = code[mine]
                filled, begin = filled + len(mine), begin + len(code)
        return {**learned, "kept": len(kept)}

    def _distances(self, code: NDArray[np.int64], vectors: Rows) -> Floats:
        found = np.empty(len(code))
        for one in np.unique(code):
            mine = self.bank if one < 0 else self.bank[self.code == one]
            here = np.flatnonzero(code == one)
            for first in range(0, len(here), _QUERIES):
                part = here[first : first + _QUERIES]
                found[part] = self._nearest(vectors[part], mine)
        return found

    def _nearest(self, queries: Rows, bank: Rows) -> Floats:
        best = np.full((len(queries), self.k), np.inf, np.float32)
        own = (queries**2).sum(1)[:, None]
        for first in range(0, len(bank), _BANK):
            block = bank[first : first + _BANK]
            squares = own - 2 * queries @ block.T + (block**2).sum(1)
            both = np.concatenate([best, squares], 1)
            best = np.partition(both, self.k - 1, 1)[:, : self.k]
        nearest: Floats = np.sqrt(np.maximum(best, 0) / queries.shape[1]).mean(1, dtype=np.float64)
        return nearest


@dataclass(frozen=True)
class _Gaussian:
    """Means (one, or one a step) and what whitens with the shrunk covariance around them."""

    means: Floats
    whiten: Floats
    shrinkage: float

    def distances(self, mean: NDArray[np.int64], vectors: Rows) -> Floats:
        white = (vectors - self.means[mean]) @ self.whiten.T
        squares: Floats = np.square(white).mean(1)
        return squares


class Mahalanobis(_Conditioned):
    """Squared Mahalanobis distance over the number of channels: about 1 for normal frames.

    Args:
        per_step: measure from the mean of the same step, with the covariance around the means of the steps.
        least: frames of a step from which on its mean is used.
    """

    name = "mahalanobis"

    def __init__(self, *, per_step: bool = False, least: int = 10) -> None:
        super().__init__(per_step, least)

    def fit(self, task: FrameTask) -> Mapping[str, object]:
        """Measure means and covariances, one part of a recording in memory at a time.

        Raises:
            UserError: if there are too many channels for a covariance.
        """
        if task.channels > _WIDEST:
            raise UserError(
                f"features of {task.channels:,} channels are too wide for a covariance matrix (at most {_WIDEST:,}).",
                where=str(task.store.path),
                hint="use --block knn",
            )
        learned = self._begin(task)
        self.overall = self._gaussian(np.zeros((1, task.channels)), False)
        if not self.per_step:
            return {**learned, "shrinkage": self.overall.shrinkage}
        sums, counts = np.zeros((len(self.known), task.channels)), np.zeros((len(self.known), 1))
        for id_ in task.train:
            for code, vectors in self._parts(id_):
                np.add.at(sums, code[code >= 0], vectors[code >= 0])
                np.add.at(counts, code[code >= 0], 1)
        self.of_steps = self._gaussian(sums / np.maximum(counts, 1), True)
        return {**learned, "shrinkage": self.of_steps.shrinkage}

    def _gaussian(self, means: Floats, steps: bool) -> _Gaussian:
        n, scatter, fourth = 0, np.zeros((means.shape[1],) * 2), 0.0
        for id_ in self.task.train:
            for code, vectors in self._parts(id_):
                mine = vectors[code >= 0] - means[code[code >= 0]] if steps else vectors - means[0]
                n += len(mine)
                scatter += mine.T @ mine
                fourth += float(np.square(np.square(mine).sum(1)).sum())
        covariance, shrinkage = ledoit_wolf(scatter, fourth, n)
        return _Gaussian(means, np.linalg.inv(np.linalg.cholesky(covariance)), shrinkage)

    def _distances(self, code: NDArray[np.int64], vectors: Rows) -> Floats:
        found = self.overall.distances(np.zeros(len(code), np.int64), vectors)
        if (code >= 0).any():
            found[code >= 0] = self.of_steps.distances(code[code >= 0], vectors[code >= 0])
        return found


def ledoit_wolf(scatter: Floats, fourth: float, n: int) -> tuple[Floats, float]:
    """Shrink a covariance towards a multiple of the identity (Ledoit and Wolf 2004, Section 3.2), from sums alone.

    Args:
        scatter: sum of the outer products of centred vectors; shape (channels, channels).
        fourth: sum of the fourth powers of their lengths.
        n: how many.

    Returns:
        The covariance, and how much of it is the identity (0 to 1).
    """
    covariance = scatter / max(n, 1)
    channels = len(covariance)
    mean = float(np.trace(covariance)) / channels
    squares = float((covariance**2).sum())
    spread = squares - channels * mean**2
    error = (fourth / max(n, 1) - squares) / max(n, 1)
    shrinkage = 1.0 if spread <= 0 else min(1.0, max(0.0, error) / spread)
    target = max(mean, 1e-12) * np.eye(channels)
    # an identity a thousandth strong keeps what never varies from making the matrix singular
    shrinkage = max(shrinkage, 1e-3)
    return (1 - shrinkage) * covariance + shrinkage * target, shrinkage
