"""What a judge's words say beside its number: a level, a doubt, a change of mind. For ``verdict_text`` alone.

A number is only a verdict while the words around it let it stand. These functions look for what speaks against it; they read
English, and say so (``is_vetted``) where they cannot read. All patterns are bounded, so that hostile text stays cheap.
"""

from __future__ import annotations

import re
from typing import Final, Literal

__all__ = [
    "Level",
    "asserted_levels",
    "contradicts",
    "free_numbers",
    "is_doubted",
    "is_level",
    "is_vetted",
    "retraction",
    "without_quotations",
]

Level = Literal["top", "middle", "bottom"]

_WORDS: Final[tuple[tuple[str, Level], ...]] = (
    (
        r"(?:an?\s+)?(?:exact |full |complete |perfect |good )?match(?:es)?|(?:fully |completely |entirely |perfectly )?(?:correct|right)|[✅✔✓👍]",
        "top",
    ),
    (
        r"(?:only )?(?:an?\s+)?partial(?:ly)?(?: (?:match(?:es)?|correct|right))?|(?:only )?partly(?: (?:correct|right))?",
        "middle",
    ),
    (
        r"(?:completely |entirely |totally )?(?:wrong|incorrect)|mis-?match|no match|not (?:an? )?(?:match|correct|right)|does not match|[❌✗✘👎]",
        "bottom",
    ),
)
_ALONE: Final = tuple(
    (re.compile(rf"[*_`\"'(\[\s]*(?:{words})[*_`\"')\]\s.!]*", re.IGNORECASE), level)
    for words, level in _WORDS
)
_BEHIND: Final = tuple(
    (
        re.compile(
            rf"[*_`\"'\s]*(?:[-–—=>→#:,;(\[{{.]|\s)+[*_`\"'\s]*(?:{words})[*_`\"'\s]*(?:[)\]}}.!;,]|$)",
            re.IGNORECASE,
        ),
        level,
    )
    for words, level in _WORDS
)
_SPELLED: Final = {"zero": 0, "one": 1, "two": 2, "i": 1, "ii": 2}
_SPELLED_BEHIND = re.compile(
    r"[*_`\"'\s]*[-–—=→:,(\[]+\s*(zero|one|two|I{1,2})[*_`\"'\s]*(?:[)\].,;!]|$)", re.IGNORECASE
)

# -- flat statements on the answer -------------------------------------------------------------------------------

_CLAUSE: Final = r"(?:^|[.!?;:,—–(\n-]\s*|\b(?:because|since|as|so|and|therefore|thus|hence|overall|that)\s+)"
_SUBJECT: Final = (
    r"(?:(?:the|this|that|its|given|predicted|candidate(?:['’]s)?|model(?:['’]s)?|student(?:['’]s)?|system(?:['’]s)?|machine(?:['’]s)?)\s+){0,3}"
    r"(?:answer|prediction|response|candidate|it|this)"
)
_COPULA: Final = r"(?:['’]s|\s+(?:is|was|seems|appears(?:\s+to\s+be)?|looks|remains|(?:is|was|must\s+be|can\s+be)\s+(?:considered|judged|deemed|marked)))"
_LEVELS: Final[tuple[tuple[str, Level], ...]] = (
    (
        r"wrong|incorrect|false|mistaken|inaccurate|invalid|irrelevant|unrelated|nonsense|no\s+match|a\s+mismatch",
        "bottom",
    ),
    (
        r"correct|right|accurate|identical|equivalent|an?\s+(?:full\s+|perfect\s+|complete\s+|exact\s+)?match|perfect|the\s+same",
        "top",
    ),
    (
        r"(?:partial|partly|half)\w*(?:\s+(?:correct|right|wrong|accurate|an?\s+match|match))?|incomplete",
        "middle",
    ),
)
_STATED = re.compile(
    rf"{_CLAUSE}{_SUBJECT}{_COPULA}\s+(?P<adverbs>(?:(?:completely|entirely|totally|absolutely|utterly|wholly|fully|perfectly|"
    r"exactly|plainly|clearly|simply|just|quite|only|definitely|therefore|thus|also|so|essentially|basically|very|not)\s+){0,4})"
    r"(?:" + "|".join(f"(?P<{level}>{words})" for words, level in _LEVELS) + r")"
    r"(?P<end>\s*(?:[.!;)\n]|$)|\s*[,—–]|\s+(?:and|but|in|about|on|with|regarding|since|because|as|for|to)\b)",
    re.IGNORECASE,
)
_STRONG = re.compile(r"completely|entirely|totally|absolutely|utterly|wholly|fully|perfectly", re.IGNORECASE)
_FAILS = re.compile(
    rf"{_CLAUSE}{_SUBJECT}\s+(?:(?:clearly|plainly|flatly|directly|completely)\s+)?(?:contradicts|(?:does\s+not|doesn['’]t|did\s+not|fails\s+to)\s+(?:match|agree|answer|fit|address|name|say|mention)|fails\b"
    r"|matches\s+(?:none|no|neither)|agrees\s+with\s+(?:none|no|neither)|(?:says|is|states)\s+the\s+opposite|has\s+nothing|misses\s+the)",
    re.IGNORECASE,
)
_FITS = re.compile(
    rf"{_CLAUSE}{_SUBJECT}\s+(?:(?:fully|exactly|perfectly|completely|clearly)\s+)?(?:matches|agrees\s+with|equals|says\s+the\s+same|means\s+the\s+same|(?:is|was)\s+(?:the\s+same|identical|equivalent))"
    r"(?!\s+(?:no|none|neither|only|part|half|some|one\s+of|in\s+part)\b)(?![^.!?\n]{0,200}\b(?:but|however|except|only|although|though|not)\b)",
    re.IGNORECASE,
)
_CONCEDES = re.compile(
    r"\b(?:but|however|though|although|yet|except|nevertheless|nonetheless|that said)\b[^.!?\n]{0,200}?(?:\b(?:wrong|incorrect|miss\w*|lack\w*|contradict\w*"
    r"|incomplete|fail\w*|mistake\w*|error\w*|inaccura\w*|not|never|opposite|partial\w*|partly|half|omit\w*|forg[oe]t\w*|false|unrelated|irrelevant|without)\b|n['’]t\b)",
    re.IGNORECASE,
)
_FOREIGN: Final = (
    (
        re.compile(
            r"\b(?:Antwort|réponse|respuesta|risposta|resposta|antwoord)\s+(?:ist|est|es|è|é|is|está)\s+(?:\w+\s+){0,2}"
            r"(?:falsch|faux|fausse|incorrect[aeo]?|sbagliat[ao]|errad[ao]|equivocad[ao]|fout|onjuist)\b"
            r"|\bответ\s+(?:\w+\s+){0,2}(?:неверн|неправильн)\w+|(?:答案|回答)[^。\n]{0,6}(?:错|不正确|不正確|間違|誤)",
            re.IGNORECASE,
        ),
        "bottom",
    ),
    (
        re.compile(
            r"\b(?:Antwort|réponse|respuesta|risposta|resposta|antwoord)\s+(?:ist|est|es|è|é|is|está)\s+(?:(?!nicht|pas|no|non|não|niet|teil|parti|parc|parz|deel)\w+\s+){0,2}"
            r"(?:richtig|korrekt|juste|correcte?|correct[ao]|corrett[ao]|cert[ao]|juist)\b"
            r"|\bответ\s+(?!не)(?:верн|правильн)\w+|(?:答案|回答)[^。\n不]{0,6}(?:正确|正確|正しい)",
            re.IGNORECASE,
        ),
        "top",
    ),
)

# -- doubt and change of mind --------------------------------------------------------------------------------------

_DOUBT = re.compile(
    r"[\s*_`,;:.(\[–—-]*(?:(?:but|and)\s+)?(?:(?:only\s+)?(?:if|unless|provided|assuming|depending|pending)|maybe|perhaps|possibly|probably|presumably|arguably|likely|"
    r"i\s+(?:guess|suppose|think|believe|assume)|not\s+(?:sure|certain)|un(?:sure|certain)|tentative\w*|provisional\w*|prelim\w*|draft|or\s+so\b|ish\b|"
    r"at\s+(?:least|most|best|worst)|more\s+or\s+less|roughly|approx\w*|about\b|borderline|(?:or\s+)?(?:higher|lower|less|more|better|above|below)\b|to\s+be\s+(?:confirmed|decided)|tbd|[?？¿])"
    r"|[\s.!)]{0,3}[?？]",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"[\s*_`,;:.(\[–—-]*(?:no|nope|nah|not(?:\s+(?:really|quite|exactly|at\s+all|so|fully))?|never|false|wrong)\s*(?:[.!?;,)\]–—]|$)",
    re.IGNORECASE,
)
_CHANGES: Final = (
    r"lower|rais|reduc|chang|revis|adjust|correct|drop|bump|switch|amend|updat|alter|revers|revert|withdraw|retract|downgrad|upgrad|tak|go|settl|"
    r"giv|gave|meant?\b|mean\b|wrong|mistake|misread|misjudg|misunder|overlook|overrat|underrat|generous|harsh|lenient|strict|hast[ey]|regret|should|would|rather|prefer|doubt|hesitat|unsure|not sure|"
    r"uncertain|cannot|can['’]t|don['’]t know|do not know|instead|reconsider|rethink|take"
)
_NUMBERISH: Final = r"(?:[012]\b|zero\b|one\b(?!\s+\w)|two\b(?!\s+\w)|partial|partly|incorrect|wrong|lower|higher|a\s+match|no\s+match)"
_RETRACTS = re.compile(
    r"\b(?:(?:on|upon)\s+(?:second|further|closer|more|another|re-?)?\s*(?:thoughts?|reflection|reading|inspection|consideration|look|review|reconsideration|examination)"
    r"|in\s+(?:hind|retro)\w+|come\s+to\s+think|thinking\s+(?:about|again|it\s+over|more)|looking\s+(?:again|closer|more\s+closely)"
    r"|hmm+|hold\s+on|(?:scratch|strike)\s+that|never\s*mind|oops|whoops|my\s+(?:bad|mistake|error|apologies)|apologies|sorry|correction|erratum|(?:just\s+)?(?:kidding|joking)|typo|not\s+so\s+fast"
    r"|disregard|ignore\s+(?:the|that|this|my|above|previous)|forget\s+(?:that|it|what|my|the\s+above)|or\s+rather|make\s+(?:it|that)\b|call\s+it\b"
    rf"|should\s+(?:\w+\s+){{0,2}}?(?:have\s+been|be|read|say)\s+(?:an?\s+)?{_NUMBERISH}|deserv\w+|(?:closer|nearer)\s+to\s+(?:an?\s+)?{_NUMBERISH}|more\s+like\s+(?:an?\s+)?{_NUMBERISH}"
    r"|down-?grad\w*|up-?grad\w*|down-?rat\w*|demot\w+|half\s+a\s+point|(?:one|a)\s+point\s+(?:off|less|lost|deducted)|minus|deduct\w*|knock\w*\s+(?:off|it|down|a)"
    r"|too\s+(?:generous|harsh|lenient|severe|kind)|borderline|on\s+the\s+fence|torn\b|either\s+way|alternatively|(?:a|the)\s+(?:lower|higher|stricter|different|better|fairer)\s+(?:score|mark|verdict|rating|grade)"
    r"|(?:verdict|score|mark|rating|grade|judge?ment|it)\s+(?:(?:is|was|has\s+been|gets|must\s+be|needs\s+to\s+be|now)\s+){1,2}(?:therefore\s+|thus\s+|hereby\s+|then\s+|now\s+)?(?:lower|rais|reduc|chang|revis|adjust|corrected|amend|updat|alter|revers|withdrawn|void|wrong|invalid|not\s+final)\w*"
    rf"|(?:lower|reduc|rais|chang|revis|adjust|drop|bump|mov|switch|correct|cut|bring|set)\w*\s+(?:(?:it|that|this|the|my|verdict|score|mark|rating|grade|down|up)\s+){{0,4}}to\s+(?:an?\s+)?{_NUMBERISH}"
    r"|(?:is|was|as|only|just|merely)\s+(?:an?\s+|the\s+)?(?:\w+\s+)?(?:example|format|template|placeholder|illustration|sample|quotation|quote|dummy|draft)\b)"
    rf"|\b(?:I|we|let\s+me|let['’]s|I['’](?:m|d|ll|ve))\b(?!\s+hope)[^.!?\n]{{0,60}}?\b(?:{_CHANGES})"
    r"|(?:^|[.!?;:)\n]\s*|[,–—-]\s+)(?:wait|actually|in\s+fact|no|nope|nein|non|não|nee|rather|instead|revised|corrected|updated|downgraded|lowered|reduced|changed|edit|update|ps|p\.s)\s*(?=[,.…:;!–—-]|$|\bto\b|\d|(?-i:I)\b|it\b|that\b|the\b|an?\b|zero\b|one\b|two\b|partial)"
    r"|^[*†\s]*(?:only\s+)?(?:if|unless|assuming|provided)\b|^\s*(?:is|was|would|could|might|may|should|or)\s",
    re.IGNORECASE | re.MULTILINE,
)
_QUOTED = re.compile(
    r"\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”|«[^»\n]{0,400}»|„[^“”\n]{0,400}[“”]|(?<!\w)'[^'\n]{1,200}'(?!\w)|(?<!\w)‘[^’\n]{1,200}’(?!\w)|`[^`\n]{1,200}`"
)


def _list(text: str) -> frozenset[str]:
    return frozenset(text.split())


# -- numbers and languages --------------------------------------------------------------------------------------------

_FREE = re.compile(
    r"(?<![\w.,/:+%#-])(?P<n>[0-9])(?![\w%°])(?![.,:/]\d)(?P<next>\s*[*_`\"')\]]*\s*(?P<word>[^\W\d_]+(?:['’]\w+)?)?)"
)
_COUNTED = re.compile(
    r"\b(?:steps?|numbers?|no\.|nos\.|items?|nodes?|frames?|lines?|minutes?|seconds?|ids?|references?|refs?|golds?|answers?|predictions?|confidence|certainty|options?|criteri\w+|parts?|figures?|tables?|times?|at|(?:answers?|predictions?|references?|golds?|it|one|both|recipe)\s+(?:wants?|says?|mentions?|names?|states?|gives?|has|uses?))"
    r"(?:\s+(?:score|level|id|answers?))?\s*[#:=(]*[*_`\"']*\s*$",
    re.IGNORECASE,
)
_NO_NOUN: Final = _list(
    """is was would could should might may can will shall fits fit then it because if for on at and or but instead rather seems feels
    actually really now overall please i as points point out of to not than after since so final finally more better best only max maximum maybe
    perhaps otherwise here again too also though although however when unless by from in with the a an this that my your"""
)
_SUPPOSED = re.compile(r"\b(?:could|would|might)\s+(?:have\s+been|be)\s+(?:an?\s+)?$", re.IGNORECASE)
_ENGLISH: Final = _list(
    """the and with this that these both because since are were its same answer answers prediction predicted reference references step steps
    says say said does did has have had name names named match matches matched mentions confidence explanation reason reasons rationale reasoning hope helps
    let know you need wrong right correct correctly incorrect partial partially partly but from they their exact exactly perfect full fully points point
    missing done thanks thank end ok okay only given names naming amount tool different identical close naming which what who how than then
    requires judge verdict score rating note based uses used asks asked all one two zero other another does nothing something no not is of for see above below
    yes high low medium certainty scale level sure very complete completely good great excellent"""
)
_LETTERS = re.compile(r"[^\W\d_]+")


def is_level(text: str) -> Level | None:
    """Return the level of a text that is nothing but a word for one, such as ``**partially correct**``."""
    return next((level for pattern, level in _ALONE if pattern.fullmatch(text)), None)


def without_quotations(text: str) -> str:
    """Return the text without what stands in quotation marks on one line."""
    return _QUOTED.sub(" … ", text)


def is_doubted(tail: str) -> bool:
    """True when what stands directly behind a number makes it depend on something, or asks."""
    return _DOUBT.match(tail) is not None


def contradicts(value: int, top: int, tail: str) -> bool:
    """True when what stands behind a number says another level than the number.

    Args:
        value: the number.
        top: the number of a full match.
        tail: the rest of its line, or the lines below.
    """
    own = "top" if value == top else "bottom" if value == 0 else "middle"
    near = tail[:2_000]
    spaced = " " + near if near[:1].isalpha() else near
    if any(pattern.match(spaced) and level != own for pattern, level in _BEHIND):
        return True
    if (spelled := _SPELLED_BEHIND.match(near)) and _SPELLED[spelled[1].lower()] != value:
        return True
    if value and _DENIED.match(near):
        return True
    near = without_quotations(near)
    if own == "top" and (_FAILS.search(near) or _CONCEDES.search(near)):
        return True
    if own == "bottom" and _FITS.search(near):
        return True
    said = asserted_levels(near)
    if own == "middle":
        return any(level != "middle" and (strong or flat) for level, strong, flat in said)
    return any(level != own for level, _, _ in said) and not any(level == own for level, _, _ in said)


def asserted_levels(text: str) -> set[tuple[Level, bool, bool]]:
    """Return what a text flatly says of the answer ("the answer is completely wrong"): level, strongly, without more.

    A legend ("0 = the answer is wrong") and a condition ("if the answer is wrong") say nothing.
    """
    found: set[tuple[Level, bool, bool]] = set()
    for match in _STATED.finditer(text):
        before = text[max(0, match.start() - 40) : match.start() + 1]
        if re.search(
            r"\b(?:if|when|whether|unless|means|that)\s*$|(?<!\w)\d\s*(?:[-–—=:).]|means|is)?\s*$",
            before,
            re.IGNORECASE,
        ):
            continue
        level: Level = "top" if match["top"] else "bottom" if match["bottom"] else "middle"
        adverbs = match["adverbs"].lower().split()
        if "not" in adverbs:
            if level != "top":
                continue
            level = "middle" if _STRONG.search(match["adverbs"]) or "quite" in adverbs else "bottom"
        flat = not match["end"].strip(" .!;)\n\t")
        found.add((level, bool(_STRONG.search(match["adverbs"])), flat))
    found |= {(level, True, True) for pattern, level in _FOREIGN if pattern.search(text)}  # type: ignore[misc]
    return found


def retraction(text: str) -> str:
    """Return the words that take a verdict back, or take it for an example; empty where there are none.

    Args:
        text: what stands behind the verdict, quotations left out.
    """
    found = _RETRACTS.search(text)
    return "" if found is None else " ".join(found[0].split())[:60]


def free_numbers(text: str, top: int) -> list[int]:
    """Return the numbers of the scale in a text that count nothing: not "2 cups", "step 1", "0.5", "confidence: 1".

    Args:
        text: quotations left out.
        top: end of the scale.
    """
    found = []
    for match in _FREE.finditer(text):
        number, before = int(match["n"]), text[max(0, match.start() - 60) : match.start()]
        if number > top or _COUNTED.search(before):
            continue
        word = (match["word"] or "").lower()
        if word and match["next"][:1].isspace() and word not in _NO_NOUN:
            continue
        if _SUPPOSED.search(before) and word == "if":
            continue
        found.append(number)
    return found


def is_vetted(text: str) -> bool:
    """True when these functions can read a text at all: it has no letters, or English words, and Latin letters only."""
    words = _LETTERS.findall(text)
    if not words:
        return True
    if any(ord(letter) > 0x24F for word in words for letter in word):
        return False
    return any(word.lower() in _ENGLISH for word in words)
