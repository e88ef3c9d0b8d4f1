"""How far a source is from its neighbours, and how likely it is a seed (SMMQG, step 1).

    w(i) = mean cosine distance from i to its k nearest other sources, of whatever modality
    p(i) ∝ exp(−β w(i))      as printed (scale ``multiply``)
    p(i) ∝ exp(−w(i) / β)    what calling β a temperature says (scale ``divide``)

With β = 0.1 the printed formula draws almost uniformly: w is at most 2, so no source is more than e^0.2 = 1.22 times as likely
as another. ``divide`` is the one that keeps outliers out.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal, get_args

import numpy as np
import xxhash
from numpy.typing import ArrayLike, NDArray

from proctor.corpus.embed.embedder import Vectors
from proctor.corpus.index.exact import exact_top
from proctor.corpus.index.vectors import check_vectors
from proctor.errors import UserError

__all__ = ["BETA", "NEIGHBOURS", "NeighbourWeights", "Scale", "rate_of", "seed_probabilities"]

Scale = Literal["multiply", "divide"]
NEIGHBOURS: Final = 5
BETA: Final = 0.1

_BLOCK: Final = 1024
_SMALL: Final = 2048
"""Sources up to which all weights are computed at once."""


def rate_of(beta: float, scale: Scale) -> float:
    """Return what weights are multiplied with in the exponent.

    Raises:
        UserError: if beta or scale makes no sense.
    """
    if scale not in get_args(Scale):
        raise UserError(f"The scale of seeds is 'multiply' or 'divide', not {scale!r}.")
    if not (np.isfinite(beta) and beta >= 0) or (scale == "divide" and beta == 0):
        least = "more than 0" if scale == "divide" else "0 or more"
        raise UserError(f"Beta of seeds is {least}, not {beta}.")
    return beta if scale == "multiply" else 1 / beta


def seed_probabilities(
    weights: ArrayLike, beta: float = BETA, scale: Scale = "multiply"
) -> NDArray[np.float64]:
    """Return how likely each source is a seed; adds up to one.

    Args:
        weights: mean distance of each source to its neighbours, see ``NeighbourWeights.table``.
        beta: 0.1 in the paper.
        scale: whether weights are multiplied with beta (as printed) or divided by it.

    Raises:
        UserError: without any weight, or if beta or scale makes no sense.
    """
    exponents = -rate_of(beta, scale) * np.asarray(weights, np.float64)
    if not exponents.size:
        raise UserError("A corpus without sources has no seeds.")
    powers = np.exp(exponents - exponents.max())
    return np.asarray(powers / powers.sum(), np.float64)


class NeighbourWeights:
    """Weights of sources, each computed exactly when it is first asked for.

    Args:
        vectors: of all sources, rows of length one; may be memory-mapped.
        k: neighbours.
        names: ids of the sources, for messages.
        checkpoint: file to which the whole table is written block by block, and from which it goes on after an
            interruption. One of other vectors or another ``k`` is begun anew.

    Raises:
        UserError: without vectors, or if one is not finite, zero or not of length one.
    """

    def __init__(
        self,
        vectors: Vectors,
        k: int = NEIGHBOURS,
        *,
        names: list[str] | None = None,
        checkpoint: Path | None = None,
    ) -> None:
        if k < 1:
            raise UserError(f"A seed's weight needs at least one neighbour, not {k}.")
        check_vectors(vectors, names=names)
        if not len(vectors):
            raise UserError("A corpus without sources has no seeds.")
        self.vectors = vectors
        self.k = min(k, len(vectors) - 1)
        self.checkpoint = checkpoint
        self._weights = np.full(len(vectors), np.nan)
        self._known = 0

    def __len__(self) -> int:
        """Return the number of sources."""
        return len(self._weights)

    @property
    def known(self) -> int:
        """Sources whose weights were computed so far."""
        return self._known

    def of(self, positions: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the weights of some sources; what is not known yet is computed together."""
        missing = np.unique(positions[np.isnan(self._weights[positions])])
        if len(missing):
            if len(self) <= _SMALL or 2 * (self._known + len(missing)) > len(self):
                self.table()  # about as much work, and nothing is left to do
            else:
                self._weights[missing] = self._computed(missing)
                self._known += len(missing)
        return self._weights[positions]

    def table(self, seen: Callable[[int], None] | None = None) -> NDArray[np.float64]:
        """Return the weights of all sources, shape (sources,); never holds more than a block of distances.

        Args:
            seen: called with the number of sources that are done, after each block.
        """
        if self._known < len(self):
            with _Checkpoint(self.checkpoint, self.vectors, self.k) as done:
                for start in range(len(done.weights), len(self), _BLOCK):
                    stop = min(start + _BLOCK, len(self))
                    done.add(self._computed(np.arange(start, stop, dtype=np.int64)))
                    if seen is not None:
                        seen(stop)
                self._weights = done.weights
            self._known = len(self)
        return self._weights.copy()

    def _computed(self, positions: NDArray[np.int64]) -> NDArray[np.float64]:
        if not self.k:
            return np.zeros(len(positions))
        found = exact_top(np.ascontiguousarray(self.vectors[positions]), self.vectors, self.k + 1)
        weights = np.empty(len(positions))
        for n, (position, (rows, scores)) in enumerate(zip(positions, found, strict=True)):
            others = scores[rows != position][: self.k]  # by number: an equal vector is another source
            weights[n] = np.clip(1 - others, 0, 2).mean()
        return weights


class _Checkpoint:
    """Weights so far: a header that says of what, then float64 numbers; grows by whole blocks."""

    def __init__(self, path: Path | None, vectors: Vectors, k: int) -> None:
        self.weights = np.empty(0)
        self._path = path
        self._file = None
        if path is None:
            return
        header = f"proctor seed weights 1 {_digest(vectors)} {len(vectors)} {vectors.shape[1]} {k}\n".encode()
        there = path.read_bytes() if path.exists() else b""
        if there.startswith(header):
            whole = (len(there) - len(header)) // 8 // _BLOCK * _BLOCK * 8
            if len(there) - len(header) == 8 * len(vectors):
                whole = 8 * len(vectors)
            self.weights = np.frombuffer(there[len(header) : len(header) + whole], np.float64)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("r+b" if there.startswith(header) else "w+b")
        self._file.write(header)
        self._file.truncate(len(header) + 8 * len(self.weights))
        self._file.seek(0, os.SEEK_END)

    def add(self, block: NDArray[np.float64]) -> None:
        self.weights = np.concatenate((self.weights, block))
        if self._file is not None:
            self._file.write(block.tobytes())
            self._file.flush()

    def __enter__(self) -> _Checkpoint:
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()


def _digest(vectors: Vectors) -> str:
    digest = xxhash.xxh3_128()
    for start in range(0, len(vectors), 65_536):
        digest.update(np.ascontiguousarray(vectors[start : start + 65_536]).data)
    return digest.hexdigest()
