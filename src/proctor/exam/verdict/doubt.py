"""What a judge's words say beside its number: a level, a doubt, a change of mind.

A number is only a verdict while the words around it let it stand. These functions look for what speaks against it; they read
English, and say so (``is_vetted``) where they cannot read. All patterns are bounded, so that hostile text stays cheap.
"""

from __future__ import annotations

import re
from typing import Final

from proctor.exam.verdict.label import SPELLED, any_case
from proctor.exam.verdict.reading import Level
from proctor.procedure.inflect import word_set

__all__ = [
    "contradicts",
    "free_numbers",
    "is_doubted",
    "is_level",
    "is_vetted",
    "retraction",
    "unsure",
    "without_quotations",
]

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
        any_case(rf"[*_`\"'\s]*(?:[-–—=>→#:,;(\[{{.]|\s)+[*_`\"'\s]*(?:{words})[*_`\"'\s]*(?:[)\]}}.!;,]|$)"),
        level,
    )
    for words, level in _WORDS
)
_SPELLED_BEHIND = any_case(r"[*_`\"'\s]*[-–—=→:,(\[]+\s*(zero|one|two|I{1,2})[*_`\"'\s]*(?:[)\].,;!]|$)")

_CONCEDES = any_case(
    r"\b(?:but|however|though|although|yet|except|nevertheless|nonetheless|that said)\b[^.!?\n]{0,200}?(?:\b(?:wrong|incorrect|miss\w*|lack\w*|contradict\w*"
    r"|incomplete|fail\w*|mistake\w*|error\w*|inaccura\w*|not|never|opposite|partial\w*|partly|half|omit\w*|forg[oe]t\w*|false|unrelated|irrelevant|without)\b|n['’]t\b)"
)

# -- doubt and change of mind --------------------------------------------------------------------------------------

_DOUBT = any_case(
    r"[\s*_`,;:.(\[–—-]*(?:(?:but|and)\s+)?(?:(?:only\s+)?(?:if|unless|provided|assuming|depending|pending)|maybe|perhaps|possibly|probably|presumably|arguably|likely|"
    r"i\s+(?:guess|suppose|think|believe|assume)|not\s+(?:sure|certain)|un(?:sure|certain)|tentative\w*|provisional\w*|prelim\w*|draft|or\s+so\b|ish\b|"
    r"at\s+(?:least|most|best|worst)|more\s+or\s+less|roughly|approx\w*|about\b|borderline|(?:or\s+)?(?:higher|lower|less|more|better|above|below)\b|with\s+(?:\w+\s+)?(?:reservations?|caveats?|hesitation|doubts?)|on\s+a\s+good\s+day|in\s+(?:theory|principle)|not\s+final|reluctant\w*|grudging\w*|by\s+default|as\s+a\s+compromise|out\s+of\s+\w+$|to\s+be\s+(?:confirmed|decided)|tbd|[?？¿])"
    r"|[\s.!)]{0,3}[?？]"
)
_NOT_ABLE: Final = r"(?:(?:did|do|could|can)(?:\s+not|n['’]t)|cannot|can['’]t)\s+(?:(?:really|actually|fully|even|quite)\s+)?"
_SHOWN: Final = r"(?:the|any|either|both|your)\s+(?:(?:gold|reference|given|predicted)\s+)?(?:references?|answers?|question|prediction|candidate|video|pictures?|recipe|text)"
_UNSURE = re.compile(
    "|".join(
        (
            r"\b(?:I(?:['’]m|\s+am)?|we(?:['’]re|\s+are)?)\s+(?:\w+\s+){0,2}?(?:not\s+(?:\w+\s+){0,2}?(?:sure|certain|confident)|unsure|uncertain|guessing|torn|undecided)\b",
            r"^[^\w\n]*(?:(?:really|honestly)\s+)?(?:not\s+(?:sure|certain|confident)|unsure|uncertain)\b",
            rf"\b(?:I|we)\s+{_NOT_ABLE}(?:(?:tell|say|decide|determine|know)(?:\s+(?:whether|if|for\s+sure|from)\b|\s*(?:[.,;!]|$))|(?:read|access|view|open|verify|see|find|check)\s+{_SHOWN}\s*(?:[.,;]|$|so\b|and\b|here\b|at\s+all\b))",
            r"\b(?:I|we)\s+(?:have\s+no\s+idea|(?:may|might|could)\s+(?:well\s+)?be\s+(?:wrong|mistaken|off)|have\s+not\s+decided|(?:have\s+)?(?:guess(?:ed)?|flipped|tossed))\b",
            r"\b(?:pure|wild|mere|random|blind|just\s+a|only\s+a|best|educated)\s+guess\b|\bguesswork\b|\bcoin[- ](?:flip|toss)|\btoss[- ]up\b|\bplaceholder\b",
            r"\b(?:confidence|certainty)\b[^.\n]{0,24}?\b(?:none|zero|nil|(?:very|extremely)\s+low)\b|\b(?:very|extremely)\s+low\s+confidence\b",
            r"\b(?:human|person|someone|expert|annotator|reviewer)\s+(?:\w+\s+)?(?:should|must|needs?\s+to|has\s+to|ought\s+to)\s+(?:\w+\s+)?(?:check|review|look|verify|confirm|decide|judge|double)",
            r"\b(?:needs?|requires?|pending|flag(?:ged)?\s+for|mark(?:ed)?\s+for|awaiting|subject\s+to)\s+(?:a\s+)?(?:(?:human|manual|further|second|closer|expert)\s+)?(?:review|confirmation|verification)\b",
            r"\bplease\s+(?:have\b[^.\n]{0,30}?\b)?(?:double[- ]?)?(?:verify|check|confirm|review)\b",
            r"\b(?:I|we)\s+(?:(?:will|shall|must|have\s+to|would\s+rather|prefer\s+to|choose\s+to)\s+)?(?:abstain|pass\s+on\s+this|skip\s+this)\b",
            r"\b(?:lower|higher|better|worse)\s+of\s+(?:the|these)\s+(?:two|three)\s+(?:marks|scores|verdicts|ratings|grades)\b",
            r"\bno\s+(?:judge?ment|verdict|assessment|evaluation|decision)\s+(?:is|was|can|could)\b|\b(?:impossible|hard|difficult|too\s+early)\s+to\s+(?:say|tell|judge|decide|determine|assess|evaluate)\b",
        )
    ),
    re.IGNORECASE | re.MULTILINE,
)
"""The judge says that its own verdict cannot be relied on."""
_DENIED = any_case(
    r"[\s*_`,;:.(\[–—-]*(?:no|nope|nah|not(?:\s+(?:really|quite|exactly|at\s+all|so|fully))?|never|false|wrong)\s*(?:[.!?;,)\]–—]|$)"
)
_AFFIRMED = any_case(r"[\s*_`,;:.(\[–—-]*(?:yes|yep|true|absolutely|definitely)\s*(?:[.!?;,)\]–—]|$)")
_CHANGES: Final = (
    r"lower|rais|reduc|chang|revis|adjust|correct|drop|bump|switch|amend|updat|alter|revers|revert|withdraw|retract|downgrad|upgrad|tak|go|settl|"
    r"giv|gave|meant?\b|mean\b|wrong|mistake|misread|misjudg|misunder|overlook|overrat|underrat|generous|harsh|lenient|strict|hast[ey]|regret|should|would|rather|prefer|doubt|hesitat|unsure|not sure|"
    r"uncertain|cannot|can['’]t|don['’]t know|do not know|instead|reconsider|rethink|take"
)
_NUMBERISH: Final = r"(?:[012]\b|zero\b|one\b(?!\s+\w)|two\b(?!\s+\w)|partial|partly|incorrect|wrong|lower|higher|a\s+match|no\s+match)"
_RETRACTS = re.compile(
    r"\b(?:(?:on|upon)\s+(?:second|further|closer|more|another|re-?)?\s*(?:thoughts?|reflection|reading|inspection|consideration|look|review|reconsideration|examination)"
    r"|in\s+(?:hind|retro)\w+|come\s+to\s+think|thinking\s+(?:about|again|it\s+over|more)|looking\s+(?:at\s+(?:it|this|that)\s+)?(?:again|closer|more\s+closely|(?:an?|the)\s+\w+\s+time)|then\s+again|after\s+all|no\W+wait|reconsider\b|provisional\w*|tentative\w*|preliminary|not\s+(?:\w+\s+){0,4}?final|in\s+fact\s+(?:lower|higher)|on\s+the\s+other\s+hand|to\s+be\s+fair|in\s+(?:all\s+)?fairness|mind\s+you|admittedly|feels?\s+(?:like|too|wrong|off|high|low)"
    r"|hmm+|hold\s+on|(?:scratch|strike|scrap|forget|disregard)\s+(?:that|this|it|(?:the|my)\s+(?:above|former|first|last|previous|verdict|score|mark))\b|never\s*mind|oops|whoops|my\s+(?:bad|mistake|error|apologies)|apologies|sorry|correction|erratum|(?:just\s+)?(?:kidding|joking)|typo|not\s+so\s+fast"
    r"|disregard|ignore\s+(?:the|that|this|my|above|previous)|forget\s+(?:that|it|what|my|the\s+above)|or\s+rather|make\s+(?:it|that)\b|call\s+it\b"
    rf"|should\s+(?:\w+\s+){{0,2}}?(?:have\s+been|be|read|say)\s+(?:an?\s+)?{_NUMBERISH}|deserv\w+|(?:closer|nearer)\s+to\s+(?:an?\s+)?{_NUMBERISH}|more\s+like\s+(?:an?\s+)?{_NUMBERISH}"
    r"|down-?grad\w*|up-?grad\w*|down-?rat\w*|demot\w+|half\s+a\s+point|(?:one|a)\s+point\s+(?:off|less|lost|deducted)|minus|deduct\w*|knock\w*\s+(?:off|it|down|a)"
    r"|(?:tak|bring|push|mov|pull)(?:es?|ing)\s+(?:it|this|that)\s+(?:\w+\s+){0,3}?(?:up|down)\b|too\s+(?:much|little|high|low|strict|lax|soft|hard|good|bad|harsh|lenient|severe|kind)|borderline|on\s+the\s+fence|torn\b|either\s+way|alternatively|(?:a|the)\s+(?:lower|higher|stricter|different|better|fairer)\s+(?:score|mark|verdict|rating|grade)"
    r"|(?:verdict|score|mark|rating|grade|judge?ment|it)\s+(?:(?:is|was|has\s+been|gets|must\s+be|needs\s+to\s+be|now)\s+){1,2}(?:therefore\s+|thus\s+|hereby\s+|then\s+|now\s+)?(?:lower|rais|reduc|chang|revis|adjust|corrected|amend|updat|alter|revers|withdrawn|void|wrong|invalid|not\s+final)\w*"
    rf"|(?:lower|reduc|rais|chang|revis|adjust|drop|bump|mov|switch|correct|cut|bring|set)\w*\s+(?:(?:it|that|this|the|my|verdict|score|mark|rating|grade|down|up)\s+){{0,4}}to\s+(?:an?\s+)?{_NUMBERISH}"
    r"|(?:was|is)\s+(?:just\s+|only\s+)?an?\s+(?:joke|test|mistake|typo|guess)\b|(?:is|was|as|only|just|merely)\s+(?:an?\s+|the\s+)?(?:\w+\s+)?(?:example|format|template|placeholder|illustration|sample|quotation|quote|dummy|draft)\b)"
    r"|(?:^|[\s(\[])[-−–](?:\d(?!\d|\s*[-–]\s*\d)|half\b)"
    rf"|\b(?:I|we|let\s+me|let['’]s|I['’](?:m|d|ll|ve))\b(?!\s+hope)[^.!?\n]{{0,60}}?\b(?:{_CHANGES})"
    r"|(?:^|[.!?;:)\n]\s*|[,–—-]\s+)(?:wait|actually|in\s+fact|no|nope|nein|non|não|nee|rather|instead|revised|corrected|updated|downgraded|lowered|reduced|changed|edit|update|addendum|postscript|afterthought|ps|p\.s)\s*(?=[,.…:;!–—-]|$|\bto\b|\d|(?-i:I)\b|it\b|that\b|the\b|an?\b|zero\b|one\b|two\b|partial)"
    r"|^[*†\s]*(?:only\s+)?(?:if|unless|assuming|provided)\b|^\s*(?:is|was|would|could|might|may|should|or)\s",
    re.IGNORECASE | re.MULTILINE,
)
_QUOTED = re.compile(
    r"\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”|«[^»\n]{0,400}»|„[^“”\n]{0,400}[“”]|(?<!\w)'(?:[^'\n]|(?<=\w)'(?=\w)){1,200}'(?!\w)|(?<!\w)‘[^’\n]{1,200}’(?!\w)|`[^`\n]{1,200}`"
)


# -- numbers and languages --------------------------------------------------------------------------------------------

_FREE = re.compile(
    r"(?<![\w.,/:+%#-])(?P<n>[0-9])(?![\w%°])(?![.,:/]\d)(?P<next>\s*[*_`\"')\]]*\s*(?P<word>[^\W\d_]+(?:['’]\w+)?)?)"
)
_COUNTED = any_case(
    r"\b(?:steps?|numbers?|no\.|nos\.|items?|nodes?|frames?|lines?|minutes?|seconds?|ids?|references?|refs?|golds?|answers?|predictions?|confidence|certainty|options?|criteri\w+|parts?|figures?|tables?|times?|at|(?:answers?|predictions?|references?|golds?|it|one|both|recipe)\s+(?:wants?|says?|mentions?|names?|states?|gives?|has|uses?))"
    r"(?:\s+(?:score|level|id|answers?))?\s*[#:=(]*[*_`\"']*\s*$"
)
_NO_NOUN: Final = word_set(
    """is was would could should might may can will shall fits fit then it because if for on at and or but instead rather seems feels
    actually really now overall please i as points point out of to not than after since so final finally more better best only max maximum maybe
    perhaps otherwise here again too also though although however when unless by from in with the a an this that my your"""
)
_SUPPOSED = re.compile(r"\b(?:could|would|might)\s+(?:have\s+been|be)\s+(?:an?\s+)?$", re.IGNORECASE)
_ENGLISH: Final = word_set(
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


def unsure(text: str) -> str:
    """Return the words by which a judge says that its verdict cannot be relied on; empty where there are none.

    Args:
        text: the judge's own words, quotations left out.
    """
    found = _UNSURE.search(text)
    return "" if found is None else " ".join(found[0].split())[:60]


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
    if (spelled := _SPELLED_BEHIND.match(near)) and {**SPELLED, "i": 1, "ii": 2}[spelled[1].lower()] != value:
        return True
    if (_DENIED if value else _AFFIRMED).match(near):
        return True
    return own == "top" and _CONCEDES.search(without_quotations(near)) is not None


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
