"""Untrusted text made fit for a page: visible control characters, a stated length limit, safe JSON.

HTML escaping itself is left to the template engine and to the page's use of text nodes.
"""

from __future__ import annotations

import re

import msgspec

__all__ = ["clip_line", "clip_text", "json_island", "show_text"]

_HIDDEN = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def show_text(text: str) -> str:
    """Make characters visible that have no shape of their own or that turn the reading direction.

    A right-to-left override in an answer must not rearrange the page, and a NUL must not end a text: both are
    shown as their code point, ``⟨U+202E⟩``. Line feeds and tabs stay.
    """
    return _HIDDEN.sub(lambda m: f"⟨U+{ord(m[0]):04X}⟩", text.replace("\r\n", "\n"))


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
