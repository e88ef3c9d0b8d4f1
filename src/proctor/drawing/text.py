"""Untrusted text made fit for a drawing: visible, measured in pixels, broken into lines without losing a word."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import Final

from proctor.procedure.graph import Step
from proctor.procedure.phrase import render_step

__all__ = ["escape_xml", "show_instruction", "show_step", "show_text", "text_width", "wrap_text"]

_HIDDEN: Final = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_WIDTHS: Final = (
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
)  # fmt: skip
"""Widths of the characters from space to tilde in Helvetica, in thousandths of the font size. Arial and Liberation
Sans, which the style sheets ask for too, have the same."""
_BOLDER: Final = 1.1
"""Bold letters are wider; room for them is kept everywhere, since which step is bold depends on the moment."""


def show_text(text: str) -> str:
    """Make characters visible that have no shape of their own or that turn the reading direction.

    A right-to-left override in an answer must not rearrange the page, and a NUL must not end a text: both are
    shown as their code point, ``⟨U+202E⟩``. Line feeds and tabs stay.
    """
    if text.isprintable():  # most texts are, and none of the hidden characters is
        return text
    return _HIDDEN.sub(lambda m: f"⟨U+{ord(m[0]):04X}⟩", text.replace("\r\n", "\n"))


def show_step(step: Step) -> str:
    """Return a step's text as every drawing and every list shows it."""
    return show_instruction(step.text)


@lru_cache(maxsize=20_000)
def show_instruction(text: str) -> str:
    """Return the text of an instruction, or of what was done in its place, as ``show_step`` does."""
    return show_text(render_step(text)) or "(no text)"


def escape_xml(text: str) -> str:
    """Escape for the content and for a double-quoted attribute of XML and HTML; what XML forbids becomes U+FFFD."""
    return (
        _NOT_XML.sub("\ufffd", text)
        .replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&quot;")
        .replace("'", "&#39;")
    )


def text_width(text: str, size: float) -> float:
    """Return the room in pixels that a text of this font size may need, bold or not."""
    return sum(map(_width, text)) * size * _BOLDER / 1000


@cache
def _width(character: str) -> int:
    code = ord(character)
    if 32 <= code < 127:
        return _WIDTHS[code - 32]
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 1000 if unicodedata.east_asian_width(character) in "WF" or code > 0xFFFF else 640


def wrap_text(text: str, room: float, size: float) -> list[str]:
    """Break a text into lines that fit into this many pixels; nothing but white space is lost.

    A word that is longer than a line is broken, never between a letter and its accents.
    """
    lines, line, used = [], "", 0.0
    space = text_width(" ", size)
    for word in text.split():
        width = text_width(word, size)
        if line and used + space + width <= room:
            line, used = f"{line} {word}", used + space + width
            continue
        if line:
            lines.append(line)
        *full, line = _break_word(word, room, size) if width > room else [word]
        lines += full
        used = text_width(line, size)
    return [*lines, line] if line else lines


def _break_word(word: str, room: float, size: float) -> list[str]:
    pieces, piece, used = [], "", 0.0
    for character in word:
        width = text_width(character, size)
        if piece and width and used + width > room:
            pieces.append(piece)
            piece, used = "", 0.0
        piece, used = piece + character, used + width
    return [*pieces, piece]
