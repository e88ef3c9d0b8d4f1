"""How verdicts are labelled, and how a scale is named."""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "CORRECTIONS",
    "FULL_SCALE",
    "LABEL",
    "LEAD",
    "LINE_LIMIT",
    "LIST_MARK",
    "RANGE",
    "SPELLED",
    "WRAP",
    "any_case",
    "other_scale",
]


def any_case(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of words that count in small letters and capitals alike."""
    return re.compile(pattern, re.IGNORECASE)


LABEL: Final = (
    r"(?:(?:judge(?:['’]s)?|judge?ment|verdict)\s+)?(?:verdict|judge?ment|judge|score|rating|mark|grade)"
)
CORRECTIONS: Final = r"final|definitive|revised|corrected|updated|new|amended|adjusted|modified|correction"
"""Words that mark a verdict as the one that replaces what was said before."""
LEAD: Final = (
    r"(?:(?:so|therefore|thus|hence|overall|finally|in conclusion|in summary|correction)\s*[,:]?\s+)?"
    rf"(?:(?:my|the|your|our)\s+)?(?:(?P<lead>{CORRECTIONS})\s+)?(?:(?:overall|total|resulting|ternary|binary|numeric(?:al)?)\s+)?"
)
WRAP: Final = r"[*_`\s]*+"
LIST_MARK: Final = r"(?:[-*+•·]\s+|\d{1,2}[.)]\s+|#{1,6}\s+){0,4}"
RANGE = any_case(
    r"(?<![\d.])(?P<low>-?\d+)\s*(?:-|–|—|to|\.\.|/|and|or|,)\s*(?:\d+\s*(?:,|or|/|and|,\s*or)\s*)*(?P<top>\d+)(?![\d.]*\d)"
)
_AND: Final = r"\s*(?:,|/|\||\bor\b|\band\b|-|–|\bto\b)+\s*(?:or\s+|and\s+)?"
_TO: Final = r"\s*(?:-|–|\bto\b|\.\.+)\s*"
FULL_SCALE: Final = {
    1: any_case(r"(?<![\d.])0\s*(?:,|\||\bor\b|-|–|\bto\b|/\s*or\b)+\s*(?:or\s+)?1(?![\d.]*\d)"),
    2: re.compile(rf"(?<![\d.])0(?:{_AND}1{_AND}|{_TO})2(?![\d.]*\d)", re.IGNORECASE),
}
"""All of a scale, as forms and rubrics name it."""
LINE_LIMIT: Final = 2_000
SPELLED: Final = {"zero": 0, "one": 1, "two": 2}


def other_scale(note: str | None, top: int) -> bool:
    """True for a bracket such as (0-10) or (out of 5) that names another scale."""
    if not note:
        return False
    if match := RANGE.search(note):
        return int(match["low"]) != 0 or int(match["top"]) != top
    match = re.search(r"(?:out of|/|max(?:imum)?\.?)\s*(\d+)", note, re.IGNORECASE)
    return match is not None and int(match[1]) != top
