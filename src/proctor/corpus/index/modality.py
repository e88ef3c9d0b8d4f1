"""Modalities as numbers: which sources a search may find."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from proctor.corpus.source import MODALITIES, Modality
from proctor.errors import UserError

__all__ = ["CODES", "Modalities", "checked_k", "checked_modalities", "positions_within"]

Modalities = NDArray[np.int8]
"""One number for each source: 0 text, 1 table, 2 image."""

CODES: Final[dict[Modality, int]] = {modality: code for code, modality in enumerate(MODALITIES)}


def checked_modalities(modalities: NDArray[Any] | None, sources: int) -> Modalities:
    """Return one number for each source; without any, all are texts.

    Raises:
        UserError: if there are not as many as sources, or one is no modality.
    """
    if modalities is None:
        return np.zeros(sources, np.int8)
    codes = np.asarray(modalities)
    if codes.shape != (sources,):
        raise UserError(f"There are {sources} sources, but {codes.size} modalities.")
    if sources and not (codes.min() >= 0 and codes.max() < len(MODALITIES)):
        raise UserError(
            f"A modality is a number from 0 to {len(MODALITIES) - 1}; seen: {codes.min()} to {codes.max()}."
        )
    return codes.astype(np.int8, copy=False)


def checked_k(k: int) -> int:
    """Return how many hits are asked for.

    Raises:
        UserError: if that is less than one.
    """
    if k < 1:
        raise UserError(f"A search finds at least one source, not {k}.")
    return k


def positions_within(modalities: Modalities, within: Modality | None) -> NDArray[np.int64]:
    """Return the positions of a modality's sources in order; of all sources for None.

    Raises:
        UserError: if there is no such modality.
    """
    if within is None:
        return np.arange(len(modalities), dtype=np.int64)
    if within not in CODES:
        raise UserError(f"There is no modality {within!r}.", hint=f"One of {', '.join(MODALITIES)}.")
    return np.flatnonzero(modalities == CODES[within]).astype(np.int64, copy=False)
