"""Vectors between samples: linear, orientations along the shortest turn, and nothing across a gap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from proctor.capture.sync.clock import Floats, Ints

__all__ = ["interpolate"]


def interpolate(base_ns: Ints, source_ns: Ints, values: Floats, columns: Sequence[str], longest_ns: int) -> Floats:  # fmt: skip
    """Return the values at the base times, shape (base times, columns); NaN outside, and where samples lie too far apart.

    Args:
        base_ns: sorted.
        source_ns: sorted, without repetition.
        values: shape (source times, columns).
        columns: their names; ``qx qy qz qw``, with any prefix (``head_qx``), are an orientation.
        longest_ns: distance of two samples between which there are values.
    """
    found = np.full((len(base_ns), values.shape[1]), np.nan)
    right = np.searchsorted(source_ns, base_ns)
    left = np.searchsorted(source_ns, base_ns, "right") - 1  # (on a sample both are that one)
    keep = np.flatnonzero((left >= 0) & (right < len(source_ns)))
    keep = keep[source_ns[right[keep]] - source_ns[left[keep]] <= longest_ns]
    i, j = left[keep], right[keep]
    part = ((base_ns[keep] - source_ns[i]) / np.maximum(source_ns[j] - source_ns[i], 1))[:, None]
    found[keep] = values[i] * (1 - part) + values[j] * part
    for name in columns:
        four = [name[:-2] + q for q in ("qx", "qy", "qz", "qw")]
        if name.endswith("qx") and all(q in columns for q in four):
            places = [columns.index(q) for q in four]
            found[keep[:, None], places] = _slerp(values[i][:, places], values[j][:, places], part)
    return found


def _slerp(a: Floats, b: Floats, part: Floats) -> Floats:
    """Turn evenly from a to b, the short way; NaN where one of them is no orientation."""
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = (q / np.linalg.norm(q, axis=1, keepdims=True) for q in (a, b))
        cosine = np.sum(a * b, axis=1, keepdims=True)
        angle = np.arccos(np.clip(np.abs(cosine), 0, 1))
        near = angle < 1e-6
        left, right = (
            np.where(near, p, np.sin(p * angle) / np.where(near, 1, np.sin(angle))) for p in (1 - part, part)
        )
        turned = left * a + right * np.where(cosine < 0, -b, b)
        found: Floats = turned / np.linalg.norm(turned, axis=1, keepdims=True)
    return found
