"""Stores of features: what is in one, and whether it fits the annotations."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import msgspec

from proctor.learn.features.store import FeatureStore

__all__ = ["Described", "describe_store"]


class Described(msgspec.Struct, frozen=True):
    """What a store holds.

    Attributes:
        backbone: what looked.
        modality: at what.
        width: numbers a row.
        seconds: from one row to the next.
        recordings: how many.
        rows: of all of them.
        hours: that the rows span.
        lengths: seconds of the shortest, the median and the longest recording; None where there is none.
        mended: values that were NaN, infinite or too large for float16.
        bytes: of the rows.
        source: where they come from.
        hash: of everything.
    """

    backbone: str
    modality: str
    width: int
    seconds: float
    recordings: int
    rows: int
    hours: float
    lengths: tuple[float, float, float] | None
    mended: dict[str, int]
    bytes: int
    source: str
    hash: str


def describe_store(path: Path) -> Described:
    """Say what a store holds, without reading its rows.

    Raises:
        UserError: if it is none, or damaged.
    """
    store = FeatureStore.open(path)
    held = tuple(store.held.values())
    lengths = sorted(h.rows * store.seconds for h in held)
    rows = sum(h.rows for h in held)
    return Described(
        store.backbone, store.modality, store.width, store.seconds, len(held), rows, sum(lengths) / 3600,
        (lengths[0], median(lengths), lengths[-1]) if lengths else None,
        {name: n for name in ("nan", "infinite", "clipped") if (n := sum(getattr(h, name) for h in held))},
        rows * store.width * 2, store.about.source, store.hash,
    )  # fmt: skip
