"""Categories of manuals: the top level for people and selections, the third level for splits (Wu et al. 2022)."""

from __future__ import annotations

from typing import Final

from proctor.datasets.splits import category_keys as keys_of_paths
from proctor.procedure.manual import Manual

__all__ = ["OTHERS", "category_keys", "top_categories", "top_category"]

OTHERS: Final = "Others"
"""Top category of a manual that is in the root alone."""


def top_category(path: tuple[str, ...]) -> str:
    """Return the name below the root; ``Others`` of the root alone."""
    return path[1] if len(path) > 1 else OTHERS


def top_categories(manual: Manual) -> tuple[str, ...]:
    """Return the top categories of all paths, each once, in order; none for a manual without paths."""
    return tuple(dict.fromkeys(map(top_category, manual.category_paths)))


def category_keys(manual: Manual) -> frozenset[str]:
    """Return the names at index 3 of its paths, which a split must not divide; see ``splits.category_keys``."""
    return keys_of_paths(manual.category_paths)
