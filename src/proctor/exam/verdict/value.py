"""Number or word on the scale: what stands behind a label, with what follows it on its line."""

from __future__ import annotations

import re
from functools import lru_cache

from proctor.exam.verdict.doubt import (
    contradicts,
    free_numbers,
    is_doubted,
    is_level,
    is_vetted,
    retraction,
    without_quotations,
)
from proctor.exam.verdict.label import LABEL, SPELLED, WRAP, any_case, other_scale
from proctor.exam.verdict.own import without_legend
from proctor.exam.verdict.reading import Level, Value

__all__ = ["NUMBER", "level_score", "read_bare", "read_number", "read_value"]

_BOX = re.compile(r"(?:\$*\\boxed\{\s*(?P<a>[^{}]{1,12}?)\s*\}\$*|\[\[\s*(?P<b>[^\[\]]{1,12}?)\s*\]\])\.?")
NUMBER = re.compile(
    r"(?P<open>[*_`\"'“”(\[<]*)(?P<sign>[-−–+]?)(?P<whole>\d{1,6})(?:(?P<point>[.,])(?P<part>\d{1,9}))?(?P<rest>.*)",
    re.DOTALL,
)
_OUT_OF = re.compile(
    r"[*_`\"'”)\]>\s]*(?:points?\s+)?(?:/|out\s+of|of|from)\s*[*_`]*(?P<top>\d+(?:[.,]\d+)?)(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_TAIL_BEGINS = any_case(
    r"$|[.,;:!(\[{–—→|…]|-[-\s\d>]|=|\s+[-–—→(\[=*_]|\s*[✅✔✓❌✗✘]|"
    r"\s*(?:because|since|as|for|given|due|on|with|and|or|but|to|vs|no|wait|actually|rather|maybe|perhaps|possibly|not)\b|"
    r"\s*(?:points?|match(?:es)?|(?:partial|partly|partially)(?:\s+(?:match|correct|right))?|correct|right|wrong|incorrect|mismatch|full)\s*(?:$|[.,;:!)*/]|out\b)"
)
_CONNECTED = any_case(
    r"[*_`\"'()\[\]\s]*(?:or|to|and|vs\.?|versus|but|maybe|perhaps|possibly|~|→|->|=>|–|—|-|,|;|/|\\|\||&|\.\.+)[\s*_`\"'(\[]*"
    r"(?:(?:or|to|maybe|perhaps|possibly|even|rather|actually|better|no|wait|not|a|an?)\b[\s,*_`]*){0,4}"
    r"(?P<other>\d+(?:[.,]\d+)?)(?=$|[\s.,;:!?)\]*_`\"'/])"
)
"""A second number for another part: "1 for the first reference, 0 for the second"."""
_ENUMERATED = re.compile(r"(?:^|[\s.;,:])2[.)]\s+\S")
_SPELLED_ALONE = re.compile(r"[*_`\"'(\[\s]*(zero|one|two)[*_`\"')\]\s.!]*", re.IGNORECASE)


def read_value(text: str, top: int) -> Value | None:
    """Return score and reason for what stands behind a label; None when it is no number at all."""
    text = text.strip()
    if match := _BOX.fullmatch(text):
        text = match["a"] or match["b"]
    if match := _SPELLED_ALONE.fullmatch(text):
        text = str(SPELLED[match[1].lower()])
    if level := is_level(text):
        return level_score(level, top)
    match = NUMBER.fullmatch(text)
    if match is None:
        return (None, "malformed") if re.search(r"\d", text[:40]) else None
    return read_number(match, top)


def level_score(level: Level, top: int) -> Value:
    """Return the score of a level; a binary scale has no middle."""
    if level == "middle":
        return (1, None) if top == 2 else (None, "scale")
    return (top if level == "top" else 0), None


def read_number(match: re.Match[str], top: int) -> Value:
    """Return score and reason of a number and what follows it.

    Args:
        match: of ``NUMBER``.
        top: end of the scale.
    """
    value, part, rest = int(match["whole"]), match["part"], match["rest"]
    if len(match["whole"]) > 1 and match["whole"].startswith("0"):
        return None, "malformed"
    rest = rest.lstrip("*_`\"'”") if match["open"].strip("([<") else rest
    closers = match["open"].count("(") + match["open"].count("[") + match["open"].count("<")
    for _ in range(closers):
        rest = re.sub(r"^[*_`\"'”]*[)\]>]", "", rest)
    rest = re.sub(r"^[*_`\"'”]+", "", rest)
    if match["sign"] in ("-", "−", "–"):
        return None, "scale"
    if match["sign"] or re.match(r"\s*[%°]|\s*per\s?cent", rest):
        return None, "scale"
    if "<" in match["open"] and not re.match(r"[*_`\"'”\])]*>", match["rest"]):
        return None, "malformed"
    if part and int(part):
        return None, "scale"
    if part and match["point"] == ",":
        return None, "contradictory"
    if re.match(r"[:;|_'’,-]\d", rest):
        return None, "contradictory"
    if out_of := _OUT_OF.match(rest):
        if float(out_of["top"].replace(",", ".")) != top:
            other = int(float(out_of["top"].replace(",", ".")))
            return None, "contradictory" if rest.lstrip().startswith("/") and other <= top else "scale"
        rest = re.sub(r"^[*_`\"'”)\]]+", "", out_of["rest"])
    if not _TAIL_BEGINS.match(rest):
        return None, "malformed"
    if value > top:
        return None, "scale"
    return _against_tail(value, rest, top)


def _against_tail(value: int, rest: str, top: int) -> Value:
    """Hold what follows the number against it: a second number, another scale, a doubt, a word that says the contrary."""
    rest = without_legend(rest, top)
    near = rest[:300]
    if re.fullmatch(r"\s*\.\s*\d+\s*|\s*[-+−]{1,3}[\s*_`]*", near):
        return None, "malformed"
    if (match := _CONNECTED.match(near)) and match["other"] != str(value):
        return None, "contradictory"
    if re.search(
        rf"\b{LABEL}{WRAP}(?:[:=]|\bis\b|\bof\b){WRAP}(?!{value}(?![\d.,]*\d))\d", near, re.IGNORECASE
    ):
        return None, "contradictory"
    if _names_other_scale(near, value, top):
        return None, "scale"
    if value == 1 and rest[:1] in (".", ")") and _ENUMERATED.search(rest):
        return None, "ambiguous"
    return _against_words(value, rest, top)


def _names_other_scale(near: str, value: int, top: int) -> bool:
    """True when a bracket or a remark behind the number names another scale or another share than the number's."""
    for pattern in (
        r"(?:scale|range)\b[^\d]{0,20}(?P<range>.{0,30})|\bout of\s+(?P<top>\d+)",
        r"[\s*_`]*[(\[]\s*(?:(?:out\s+)?of|from|/|max(?:imum|\.)?[:\s]*)\s*(?P<top>\d+)(?P<range>)",
        r"[\s*_`]*[(\[]\s*(?P<range>\d+\s*(?:-|–|—|to|\.\.)\s*\d+)\s*[)\]](?P<top>)",
    ):
        match = re.match(pattern, near, re.IGNORECASE) or (
            re.search(pattern, near, re.IGNORECASE) if "scale" in pattern else None
        )
        if match and ((match["top"] and int(match["top"]) != top) or other_scale(match["range"], top)):
            return True
    if re.match(
        r"[\s*_`]*[(\[–—-]*\s*(?:(?:an?|one|two|three)[\s-]+)?(?:half|halves|thirds?|quarters?|fifths?)\b(?!\s+\w)",
        near,
        re.IGNORECASE,
    ):
        return True
    share = re.match(r"[\s*_`]*[-–—=(\[,]*\s*(\d{1,3})\s*(?:%|per\s?cent)\s*(?:[)\].,;]|$)", near)
    return share is not None and int(share[1]) * top != 100 * value


def _against_words(value: int, rest: str, top: int) -> Value:
    """Hold the words behind the number, on its line, against it."""
    said = without_quotations(rest)
    if is_doubted(rest):
        return None, "doubted"
    if contradicts(value, top, rest) or any(n != value for n in free_numbers(said, 2)):
        return None, "contradictory"
    if retraction(said):
        return None, "retracted"
    return (value, None) if is_vetted(said) else (None, "unvetted")


@lru_cache(maxsize=256)
def read_bare(line: str, top: int) -> Value | None:
    """Read a line that is nothing but the number, decorated at most."""
    line = line.strip()
    if match := _BOX.fullmatch(line):
        return read_value(match["a"] or match["b"], top)
    core = re.sub(r"^[*_`\"'(\[\s]+|[*_`\"')\]\s.!]+$", "", line)
    if re.fullmatch(r"[-−+]?\d{1,6}(?:[.,]\d{1,9})?\s*%?(?:\s*/\s*\d{1,6})?", core):
        return read_value(core, top)
    return None
