"""Greedy matching of token vectors, and the weights of tokens: NumPy only."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.metrics.errors import MetricInputError

__all__ = ["Floats", "Match", "greedy_match", "inverse_document_frequency"]


Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Match:
    """Precision, recall and F1 of one pair of texts; -1 to 1, or below after rescaling."""

    precision: float
    recall: float
    f1: float


def greedy_match(
    reference_vectors: ArrayLike,
    candidate_vectors: ArrayLike,
    *,
    reference_weights: ArrayLike | None = None,
    candidate_weights: ArrayLike | None = None,
) -> Match:
    """Match the tokens of two texts greedily by cosine.

    Args:
        reference_vectors: shape (tokens, dimensions), not all 0 in a row; any lengths.
        candidate_vectors: shape (tokens, dimensions).
        reference_weights: shape (tokens,), not negative; all 1 when not given. A token of weight 0 counts nothing,
            but other tokens can find it.
        candidate_weights: shape (tokens,).

    Returns:
        The three values. All are 0 when a text has no token with a weight. F1 is 0 when precision or recall is not
        positive, because no harmonic mean is defined there.

    Raises:
        MetricInputError: if shapes do not fit, a number is not finite, a row has length 0, or a weight is negative.

    Reference: Zhang et al. 2020, section 3.
    """
    a, b = _unit(reference_vectors, "reference"), _unit(candidate_vectors, "candidate")
    wa, wb = (
        _weights(reference_weights, len(a), "reference"),
        _weights(candidate_weights, len(b), "candidate"),
    )
    if not wa.sum() or not wb.sum():
        return Match(0.0, 0.0, 0.0)
    if a.shape[1] != b.shape[1]:
        raise MetricInputError(f"vectors of {a.shape[1]} and {b.shape[1]} dimensions cannot be compared")
    cosines = np.clip(a @ b.T, -1.0, 1.0)
    recall = float(cosines.max(axis=1) @ wa / wa.sum())
    precision = float(cosines.max(axis=0) @ wb / wb.sum())
    f1 = 2 * precision * recall / (precision + recall) if precision > 0 and recall > 0 else 0.0
    return Match(precision, recall, f1)


def _unit(vectors: ArrayLike, what: str) -> Floats:
    table = np.asarray(vectors, dtype=np.float64)
    if not table.size:
        return np.zeros((0, table.shape[-1] if table.ndim == 2 else 0))
    if table.ndim != 2:
        raise MetricInputError(f"{what}: vectors of shape (tokens, dimensions) are wanted, got {table.shape}")
    length = np.linalg.norm(table, axis=1, keepdims=True)
    bad = np.flatnonzero(~np.isfinite(length) | (length == 0))
    if bad.size:
        raise MetricInputError(f"{what}: the vector of token {bad[0]} has length {length[bad[0], 0]:g}")
    unit: Floats = table / length
    return unit


def _weights(weights: ArrayLike | None, tokens: int, what: str) -> Floats:
    if weights is None:
        return np.ones(tokens)
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (tokens,):
        raise MetricInputError(f"{what}: {tokens} tokens have weights of shape {values.shape}")
    if not np.isfinite(values).all() or (values < 0).any():
        raise MetricInputError(f"{what}: weights must be finite and not negative")
    return values


def inverse_document_frequency(documents: Sequence[Sequence[int]]) -> tuple[dict[int, float], float]:
    """Weigh tokens by how few texts hold them: ln((N + 1) / (n + 1)) of N texts, n of which hold the token.

    Args:
        documents: token ids of each reference text.

    Returns:
        Weights by token id, and the weight of a token that no text holds, ln(N + 1).

    Reference: Zhang et al. 2020, section 3 (plus-one smoothing).
    """
    n = len(documents)
    counts = Counter(token for document in documents for token in set(document))
    return {token: math.log((n + 1) / (count + 1)) for token, count in counts.items()}, math.log(n + 1)
