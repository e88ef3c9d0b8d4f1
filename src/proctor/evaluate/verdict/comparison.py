"""What a judge reports of the answer and of the references, side by side: nothing in common, or the very same."""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from proctor.evaluate.verdict.level import BOTTOM, MIDDLE, TOP, Claim

__all__ = ["compared"]

_VERB: Final = r"(?:says?|states?|wants?|names?|claims?|asks?\s+for|calls?\s+for|requires?|gives?|tells?|mentions?|means?|is\s+about|talks?\s+about)"
_PART: Final = r"(?P<said>[^.;,\n…]{3,120}?)\s*(?=[.;,\n]|$|\b(?:but|while|whereas|and\s+the)\b)"
_ANSWER = re.compile(
    rf"\b(?:answer|prediction|response|candidate)\s+{_VERB}\s+(?:that\s+)?(?:to\s+)?{_PART}", re.IGNORECASE
)
_REFERENCES = re.compile(
    rf"\b(?:references?|golds?)(?:\s+answers?)?\s+(?:all\s+|both\s+)?{_VERB}\s+(?:that\s+)?(?:to\s+)?{_PART}",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+")
_EMPTY = re.compile(
    r"\b(?:the|a|an|to|of|it|them|is|are|was|that|you|should|in|on|at|with|for|and)\b", re.IGNORECASE
)
_SAME = re.compile(
    r"\b(?:same|so|just\s+this|exactly|that|this|it|either|also|too|equivalent|more|less|nothing|no|not|both|one|two|all)\b",
    re.IGNORECASE,
)
"""Words that refer to what was said before; such a report holds no content of its own."""


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
