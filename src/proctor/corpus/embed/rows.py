"""Rows of length one: what every embedder returns, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from proctor.corpus.embed.embedder import Vectors

__all__ = ["faults", "unit_rows"]


def unit_rows(rows: NDArray[Any]) -> Vectors:
    """Return the rows scaled to length one, float32; rows of zeros stay zeros and NaN stays NaN, for ``faults`` to find."""
    wide = np.asarray(rows, np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        lengths = np.sqrt((wide * wide).sum(axis=1, keepdims=True))
        scaled = wide / np.where(lengths > 0, lengths, 1.0)
    return np.ascontiguousarray(scaled, np.float32)


def faults(rows: Any, count: int, dimension: int | None) -> dict[int, str]:
    """Return which rows cannot be used and why, by index; -1 for what is wrong with all of them.

    Args:
        rows: what an embedder returned.
        count: rows that were asked for.
        dimension: numbers in a row; None where any will do.
    """
    shape = getattr(rows, "shape", None)
    if shape is None or len(shape) != 2 or shape[0] != count or shape[1] == 0:
        return {-1: f"the result has the shape {shape}, and {count} rows were asked for"}
    if dimension is not None and shape[1] != dimension:
        return {-1: f"the vectors have {shape[1]} numbers, and {dimension} were expected"}
    if rows.dtype != np.float32:
        return {-1: f"the vectors are {rows.dtype}, and float32 was expected"}
    finite = np.isfinite(rows).all(axis=1)
    lengths = np.sqrt((rows.astype(np.float64) ** 2).sum(axis=1), where=finite, out=np.ones(count))
    found = {int(index): "its vector holds NaN or infinity" for index in np.flatnonzero(~finite)}
    found |= {int(index): "its vector is zero" for index in np.flatnonzero(lengths == 0.0)}
    wrong = np.flatnonzero((np.abs(lengths - 1.0) > 1e-3) & (lengths != 0.0))
    found |= {int(index): f"its vector has length {lengths[index]:.3g}, not 1" for index in wrong}
    return found
