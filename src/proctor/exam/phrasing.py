"""Small parts of plain English sentences, for predictors that speak by rule."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["as_sentence", "join_words"]


def as_sentence(text: str) -> str:
    """Return the text with a capital letter in front and one full stop behind."""
    plain = text.strip().rstrip(".")
    return f"{plain[:1].upper()}{plain[1:]}."


def join_words(parts: Sequence[str], last: str = "and") -> str:
    """Return ``"a, b and c"``; at least one part is needed."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}"
