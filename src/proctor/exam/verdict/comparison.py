"""What a judge reports of the answer and of the references, side by side: nothing in common, or the very same."""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from proctor.exam.verdict.doubt import is_level
from proctor.exam.verdict.label import any_case
from proctor.exam.verdict.reading import BOTTOM, MIDDLE, TOP, Claim, Level

__all__ = ["best_reference", "compared"]

_VERB: Final = r"(?:says?|states?|wants?|names?|claims?|asks?\s+for|calls?\s+for|requires?|gives?|tells?|mentions?|means?|is\s+about|talks?\s+about)"
_PART: Final = r"(?P<said>[^.;,\n…]{3,120}?)\s*(?=[.;,\n]|$|\b(?:but|while|whereas|and\s+the)\b)"
_ANSWER = any_case(rf"\b(?:answer|prediction|response|candidate)\s+{_VERB}\s+(?:that\s+)?(?:to\s+)?{_PART}")
_REFERENCES = any_case(
    rf"\b(?:references?|golds?)(?:\s+answers?)?\s+(?:all\s+|both\s+)?{_VERB}\s+(?:that\s+)?(?:to\s+)?{_PART}"
)
_OF_REFERENCE = re.compile(
    r"(?:^|[.;,|]\s*)[ \t*_`>#•-]*(?:(?:match|agreement)\s+with\s+)?(?:reference|ref|gold)(?:\s+answer)?\s*#?\s*(?P<name>\d{1,2}|[A-Z])[ \t*_`]*(?::|→|->|=|–|—|\s-\s)[ \t*_`]*(?P<value>[^.;,|\n]{1,40}?)[ \t*_`]*(?=$|[.;,|\n])",
    re.IGNORECASE | re.MULTILINE,
)
_NUMBERS: Final = {"0": BOTTOM, "1": MIDDLE, "2": TOP}
_WORD = re.compile(r"[^\W_]+")
_EMPTY = any_case(r"\b(?:the|a|an|to|of|it|them|is|are|was|that|you|should|in|on|at|with|for|and)\b")
_SAME = any_case(
    r"\b(?:same|so|just\s+this|exactly|that|this|it|either|also|too|equivalent|more|less|nothing|no|not|both|one|two|all)\b"
)
"""Words that refer to what was said before; such a report holds no content of its own."""


def best_reference(text: str) -> Claim | None:
    """Return the best of what is said of single references ("Reference 1: no match"), where two or more are marked.

    Args:
        text: the judge's own words, quotations left out.
    """
    found = list(islice(_OF_REFERENCE.finditer(text), 50))
    levels = [_level(each["value"]) for each in found]
    known = [level for level in levels if level is not None]
    if len({each["name"].upper() for each in found}) < 2 or len(known) < len(levels):
        return None
    best = next(level for level in (TOP, MIDDLE, BOTTOM) if level in known)
    return Claim(best, f"references: {', '.join(each['value'].strip() for each in found)}"[:80])


def _level(value: str) -> frozenset[Level] | None:
    said = value.strip(" *_`")
    if said in _NUMBERS:
        return _NUMBERS[said]
    level = is_level(said)
    if level is not None:
        return {"top": TOP, "middle": MIDDLE, "bottom": BOTTOM}[level]
    return BOTTOM if said.lower() in ("no", "none") else TOP if said.lower() == "yes" else None


def compared(text: str) -> Claim | None:
    """Return what follows from "the answer says the pan, the references say the bowl", where each is reported once.

    Only beginnings of words are compared, so that the words of another judgement ("the same") have to be absent.

    Args:
        text: the judge's own words, quotations left out.
    """
    answer, references = (list(islice(pattern.finditer(text), 3)) for pattern in (_ANSWER, _REFERENCES))
    if len(answer) != 1 or len(references) != 1:
        return None
    said, wanted = (found[0]["said"] for found in (answer, references))
    if _SAME.search(said) or _SAME.search(wanted):
        return None
    mine, theirs = _content(said), _content(wanted)
    if not mine or not theirs:
        return None
    if mine == theirs:
        return Claim(TOP, answer[0][0])
    if any(char.isdigit() for char in said + wanted) or mine & theirs:
        return None
    return Claim(BOTTOM | MIDDLE, answer[0][0])


def _content(said: str) -> frozenset[str]:
    """Return the beginnings of the words that carry content."""
    return frozenset(word.lower()[:4] for word in _WORD.findall(_EMPTY.sub(" ", said)))
