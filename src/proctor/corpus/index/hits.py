"""What a search finds: positions of sources and their scores, best first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["NOTHING", "Hits"]

NOTHING = -1
"""Position where a query has fewer hits than were asked for."""


@dataclass(frozen=True, slots=True)
class Hits:
    """Hits of some queries.

    Attributes:
        positions: of sources in their corpus, best first; equal scores in the order of positions. Shape (queries, k), int64;
            ``NOTHING`` (-1) after the last hit.
        scores: of the same shape, float32, higher is better; -inf after the last hit.
    """

    positions: NDArray[np.int64]
    scores: NDArray[np.float32]

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.positions)
