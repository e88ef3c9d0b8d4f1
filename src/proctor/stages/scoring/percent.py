"""Shares as they are printed."""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import NDArray

__all__ = ["as_percent"]


@overload
def as_percent(share: float) -> float: ...
@overload
def as_percent(share: None) -> None: ...
@overload
def as_percent(share: float | None) -> float | None: ...
@overload
def as_percent(share: NDArray[np.float64]) -> list[float]: ...


def as_percent(share: float | NDArray[np.float64] | None) -> float | list[float] | None:
    """Return a share from 0 to 1, or all of an array, in per cent; nothing stays nothing.

    Scores are shares everywhere; the headline of ``--json`` and the pictures hold the figures that papers print.
    """
    if share is None:
        return None
    return (100.0 * share).tolist() if isinstance(share, np.ndarray) else 100.0 * share
