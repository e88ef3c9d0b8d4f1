"""Untrusted text made fit for a page: visible control characters, a stated length limit, safe JSON.

HTML escaping itself is left to the template engine and to the page's use of text nodes.
"""

from __future__ import annotations

import msgspec

from proctor.drawing.text import show_text

__all__ = ["clip_line", "clip_text", "json_island", "show_text"]


def clip_text(text: str, limit: int) -> str:
    """Return at most ``limit`` characters and say in the text itself when some are left out."""
    if len(text) <= limit:
        return show_text(text)
    return f"{show_text(text[:limit])} … [{len(text):,} characters, the first {limit:,} are shown]"


def clip_line(text: str, limit: int) -> str:
    """Return ``clip_text`` on one line; ``(no name)`` when nothing is left to see."""
    return " ".join(clip_text(text, limit).split()) or "(no name)"


def json_island(value: object) -> str:
    """Encode as JSON that may stand inside a ``script`` element: no ``<``, ``>``, ``&``, line separators."""
    text = msgspec.json.encode(value).decode("utf-8")
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
