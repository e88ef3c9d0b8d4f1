"""What a judge says beside its verdict under a name of its own: ``Correctness: low``, ``"match": "none"``, ``"status": "draft"``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from proctor.exam.verdict.label import any_case
from proctor.exam.verdict.reading import BOTTOM, MIDDLE, TOP, Claim, Level

__all__ = ["aspect_claims", "aspect_levels", "is_provisional"]

_NAME: Final = (
    r"(?:(?:overall|factual|semantic|final|answer|is|the)[\s_-]+){0,2}"
    r"(?:correct(?:ness)?|right|accura(?:te|cy)|similarity|match(?:es|ed)?|agree(?:s|ment)|overlap|equivalen(?:ce|t)|alignment|credit|"
    r"percent(?:age)?|decision|outcome|status|assessment|conclusion|classification|category|label|result|accept(?:ed|able)?|pass(?:ed)?|score|rating|marks?|grade|points?)"
)
_IS_NAME = re.compile(_NAME, re.IGNORECASE)
_IS_MARK = re.compile(r"score|rating|mark|grade|point", re.IGNORECASE)
"""Numbers under these names are verdicts, which are read as such; only words are levels."""
_LINE = re.compile(
    rf"^(?:[^\S\n]|[|*_`#>+•-])*(?P<name>{_NAME})[\s*_`]*\??[*_`]*\s*[:=|][\s*_`\"']*(?P<value>[^\n|]{{1,40}}?)[\s*_`\"'.|!]*$",
    re.IGNORECASE | re.MULTILINE,
)
_WORDS: Final[tuple[tuple[re.Pattern[str], frozenset[Level]], ...]] = tuple(
    (re.compile(words, re.IGNORECASE), levels)
    for words, levels in (
        (
            r"(?:no|none|nil|false|zero|poor|reject(?:ed)?|fail(?:ed|ure)?|not\s+(?:correct|matched|accepted|equivalent)|absent|[✗✘❌])",
            BOTTOM,
        ),
        (
            r"(?:very\s+)?(?:low|weak|little|limited|minimal|slight|insufficient|unsatisfactory|bad)",
            BOTTOM | MIDDLE,
        ),
        (r"(?:partial(?:ly)?|medium|moderate|some|half|mixed|incomplete|partly)", MIDDLE),
        (r"(?:very\s+)?(?:high|strong|good|excellent)", MIDDLE | TOP),
        (
            r"(?:yes|true|full(?:y)?|complete(?:ly)?|perfect|exact|accept(?:ed)?|pass(?:ed)?|approved?|[✓✔✅])",
            TOP,
        ),
    )
)
_SHARE = re.compile(r"(?P<n>\d{1,3}(?:\.\d{1,6})?)\s*(?:(?P<percent>%|per\s?cent)|/\s*(?P<of>[1-9]\d{0,3}))?")
_UNFINISHED_KEY = any_case(
    r"(?:is[_ ]?)?(?:draft|example|sample|placeholder|tentative|provisional|preliminary|uncertain|unsure|guess|(?:needs|requires)[_ ]?(?:human[_ ]?)?(?:review|check|verification)|flag(?:ged)?|error|abstain(?:ed)?|cannot[_ ]?judge|invalid|retracted|superseded)"
)
_FINISHED_KEY = re.compile(r"(?:is[_ ]?)?(?:final|valid|certain|sure|confirmed|reliable)", re.IGNORECASE)
_STATE_KEY = re.compile(r"(?:status|state|kind|type|note)", re.IGNORECASE)
_UNFINISHED = any_case(
    r"draft|example|sample|placeholder|tentative|provisional|preliminary|pending|uncertain|unsure|guess|error|incomplete|retracted|superseded|template"
)


def aspect_levels(name: str, value: object) -> frozenset[Level] | None:
    """Return the levels that a named remark leaves open; None for another name or a value that says no level.

    Args:
        name: such as ``correctness``.
        value: a word, a truth value or a share (``low``, ``40%``, ``1/2``, 0.4); whole numbers are marks, not shares.
    """
    if not _IS_NAME.fullmatch(name.strip()):
        return None
    if isinstance(value, bool):
        return TOP if value else BOTTOM
    if (isinstance(value, float) and not _IS_MARK.search(name)) or (
        isinstance(value, int) and re.search("percent", name, re.IGNORECASE)
    ):
        share = value / 100 if value > 1 else float(value)
        return _of_share(share) if 0 <= share <= 1 else None
    if not isinstance(value, str):
        return None
    said = value.strip()
    if found := _SHARE.fullmatch(said):
        if _IS_MARK.search(name):
            return None
        whole = 100 if found["percent"] else int(found["of"]) if found["of"] else 1
        number = float(found["n"])
        plain = not (found["percent"] or found["of"] or "." in found["n"])
        return None if plain or number > whole else _of_share(number / whole)
    return next((levels for words, levels in _WORDS if words.fullmatch(said)), None)


def _of_share(share: float) -> frozenset[Level]:
    if share in (0.0, 1.0):
        return TOP if share else BOTTOM
    return MIDDLE if share == 0.5 else BOTTOM | MIDDLE if share < 0.5 else MIDDLE | TOP


def aspect_claims(text: str) -> Iterator[Claim]:
    """Yield what lines such as ``Correctness: low`` say of the answer.

    Args:
        text: the judge's own words, quotations left out.
    """
    for found in islice(_LINE.finditer(text), 100):
        levels = aspect_levels(found["name"], found["value"])
        if levels is not None:
            yield Claim(levels, found[0].strip())


def is_provisional(name: str, value: object) -> bool:
    """True when an object says of its verdict that it is none yet: ``"status": "draft"``, ``"final": false``."""
    if _STATE_KEY.fullmatch(name):
        return isinstance(value, str) and len(value) <= 40 and _UNFINISHED.search(value) is not None
    if _FINISHED_KEY.fullmatch(name):
        return value is False
    return _UNFINISHED_KEY.fullmatch(name) is not None and value not in (
        None,
        False,
        "",
        0,
        "false",
        "no",
        "none",
    )
