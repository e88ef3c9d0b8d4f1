"""Untrusted text made fit for a page: visible control characters and a stated length limit.

HTML escaping itself is left to the template engine.
"""

from __future__ import annotations

from proctor.drawing.text import show_text

__all__ = ["clip_line", "clip_text", "show_text"]


def clip_text(text: str, limit: int) -> str:
    """Return at most ``limit`` characters and say in the text itself when some are left out."""
    if len(text) <= limit:
        return show_text(text)
    return f"{show_text(text[:limit])} … [{len(text):,} characters, the first {limit:,} are shown]"


def clip_line(text: str, limit: int) -> str:
    """Return ``clip_text`` on one line; ``(no name)`` when nothing is left to see."""
    return " ".join(clip_text(text, limit).split()) or "(no name)"
