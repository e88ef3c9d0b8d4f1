"""The page of a moment that a question is written about: its card, and its fields."""

from __future__ import annotations

__all__ = ["view"]


def view(*_: object) -> None:
    """Return nothing: the card shows the moment, and a field says what is asked."""
