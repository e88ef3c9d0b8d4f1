"""Sentences of manuals, by rule: enough to count them and to keep the first few.

A sentence ends at ``.``, ``!`` or ``?`` (closing quotes and brackets included) before white space and something that can
begin a sentence, or at the end of a line. No stop ends one after an abbreviation that needs more to follow (``tsp.``,
``e.g.``), a single capital, or the number of a list at the beginning of a sentence (``2. Stir``).
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["split_sentences"]

_INNER: Final = frozenset(
    (
        *("e.g", "i.e", "eg", "ie", "cf", "vs", "approx", "ca", "incl", "excl", "esp"),
        *("dr", "mr", "mrs", "ms", "prof", "st", "jr", "sr", "nos", "fig", "figs", "vol", "dept"),
        *(
            "tsp",
            "tsps",
            "tbsp",
            "tbsps",
            "tbs",
            "oz",
            "lb",
            "lbs",
            "pt",
            "pts",
            "qt",
            "qts",
            "gal",
            "deg",
            "pkg",
        ),
    )
)
"""Abbreviations that seldom end a sentence; ``etc.``, ``a.m.`` and ``in.`` often do."""

_END: Final = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]]*+(?=\s)|\n++")
"""Begins only where a run of marks does, so that a text of marks alone takes no quadratic time."""

_OPENER: Final = re.compile(r"[\"'“‘(\[\s*•-]*(?P<first>.)", re.DOTALL)


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text in order, with white space at their ends removed; none for a blank text."""
    sentences: list[str] = []
    start = 0
    for match in _END.finditer(text):
        if _ends(text, start, match):
            sentences.append(text[start : match.end()].strip())
            start = match.end()
    sentences.append(text[start:].strip())
    return [s for s in sentences if s]


def _ends(text: str, start: int, match: re.Match[str]) -> bool:
    mark = match[0]
    if mark.isspace():
        return True
    opener = _OPENER.match(text, match.end())
    if opener is not None and opener["first"].islower():
        return False
    if not mark.startswith(".") or mark.startswith(".."):
        return True
    before = text[max(start, match.start() - 20) : match.start()].split()
    last = before[-1].lstrip("\"'“‘([") if before else ""
    if last.lower() in _INNER or (len(last) == 1 and last.isupper()):
        return False
    return not (last.isdigit() and text[start : match.start()].strip() == last)
