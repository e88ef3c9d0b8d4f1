"""Whether what a judge says agrees with its number: marks given in passing, claims, and blame or praise without a balance."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from proctor.exam.verdict.claim import SENTENCES, SUBJECT, SUPPOSES, WORDS_LIMIT, claims
from proctor.exam.verdict.comparison import best_reference, compared
from proctor.exam.verdict.label import SPELLED, any_case
from proctor.exam.verdict.reading import MIDDLE, levels_of

__all__ = ["disagreement", "stated_numbers"]

_NUMBER: Final = r"[*_`\"'(]*(?P<n>\d(?![\d%°]|[.,:/]\d)|zero|nil|one|two)\b[*_`\"')]*"
_SCORE_NOUN: Final = r"(?:verdict|judge?ment|score|rating|mark|grade)"
_NUMBER_CLAIMS: Final = tuple(
    re.compile(claim, re.IGNORECASE | re.MULTILINE)
    for claim in (
        rf"\b{_SCORE_NOUN}\s+(?:(?:here|therefore|thus|then|now|really|for\s+(?:this|it|the\s+answer)|I\s+(?:give|assign|award))\s+)*(?:of|is|was|has\s+to\s+be|(?:should|must|ought\s+to|can\s+only|shall|will)(?:\s+\w+)?\s+be|[:=])\s+(?:therefore\s+|thus\s+|clearly\s+|only\s+|an?\s+)*{_NUMBER}(?P<after>[^.!?\n]{{0,60}})",
        rf"[.!?;)][ \t]+(?:(?:my|the)\s+)?(?:(?:final|overall)\s+)?{_SCORE_NOUN}\s*[:=]\s*(?:an?\s+)?{_NUMBER}(?P<after>[^.!?\n]{{0,60}})",
        rf"\bI(?:['’]d|['’]ll|['’]m|\s+would|\s+will|\s+must|\s+can\s+only|\s+am)?\s+(?:therefore\s+|thus\s+|hereby\s+|only\s+)*(?:give|giving|rate|score|assign|award|grade|mark|judge|go\s+(?:with|for)|going\s+with|settle\s+(?:on|for)|choose|pick|vote)\b[^.\d\n]{{0,24}}?\b{_NUMBER}(?P<after>[^.!?\n]{{0,60}})",
        rf"(?:^|[.!?,;:]\s+|\b(?:so|hence|thus|therefore|overall)\s+){SUBJECT}\s*(?:(?:['’]s|is|was)\s+(?:only\s+|clearly\s+|worth\s+|definitely\s+|at\s+(?:best|most)\s+)*an?\s+|['’]s\s+(?=\S+\s+(?:points?|marks?)\b)|(?:makes|is\s+worth|(?:only\s+)?deserves|(?:only\s+)?earns|gets|scores|receives|merits|warrants)\s+(?:only\s+|just\s+|an?\s+|flat\s+|clear\s+|plain\s+|solid\s+|full\s+|straight\s+|round\s+|big\s+|fat\s+)*){_NUMBER}(?P<after>[^.!?\n]{{0,60}})",
        rf"(?:^|[.!?]\s+)[ \t*_]*(?:(?:definitely|clearly|certainly|surely|easily|obviously|an?|the|clear|strong|solid|weak|firm|plain|single|both|my|vote|mark|deserves|earns|gets|that|this|makes|make|it|is|so|therefore|overall|only)[\s:,]+){{1,7}}{_NUMBER}(?P<after>(?:\s+(?:points?|marks?))?\s*(?:$|[.!]))",
        rf"\b\d\s*[-+−]\s*\d[^=\n]{{0,20}}=\s*{_NUMBER}(?P<after>\s*(?:$|[.,;!)]))",
        rf"\b{_NUMBER}\s+(?:points?|marks?)(?P<after>\s+(?:is|are|seems?|will\s+do|suffices?)\b[^.!?\n]{{0,60}})",
        rf"\b(?:rating|scoring|grading|marking|judging|rate|giving)\s+(?:this|it|that|the\s+(?:answer|prediction|response))\s+(?:as\s+|with\s+|at\s+)?(?:an?\s+)?{_NUMBER}(?P<after>[^.!?\n]{{0,60}})",
        rf"(?:^|[.!?,;:]\s+){_NUMBER}\s+(?:points?|marks?)(?P<after>\s*(?:$|[.!,;)]|for\s+(?:this|it|the\s+answer)|out\s+of|awarded|given|earned|only))",
    )
)
_NO_MARK = any_case(
    r"\s*(?:of\s+the\b|steps?\b|cups?\b|minutes?\b|references?\b|ingredients?\b|answers?\b|parts?\b|things?\b|that\b|who\b|which\b|thing\b|(?!points?\b|marks?\b|is\b|are\b|seems?\b|will\b|suffices?\b|out\b|because\b|since\b|as\b|for\b|and\b|but\b|on\b|only\b|here\b|at\b|to\b|overall\b|given\b|instead\b|rather\b|not\b|now\b|then\b|even\b|though\b|due\b|so\b|when\b|with\b)[a-z]+)"
)
_BACKWARDS = any_case(
    r"(?<!step )(?<!number )(?<!reference )(?<!answer )\b0\s*(?:=|is|means|being|stands\s+for|:|for)\s*(?:(?:the|an?)\s+)?(?:best|highest|perfect|full|complete|exact|match|correct|right)\b"
    r"|(?<!step )(?<!number )(?<!reference )(?<!answer )\b[12]\s*(?:=|is|means|being|stands\s+for|:|for)\s*(?:(?:the|an?)\s+)?(?:worst|lowest|wrong|incorrect|no\s+match|mismatch|fail)\b"
)


def _unreal(value: int, text: str) -> str:
    """Return the words that give the number only under a condition ("it would be 2 if it named the lid")."""
    for found in islice(_UNREAL.finditer(text[:WORDS_LIMIT]), 100):
        number = (found["n"] or found["m"]).lower()
        if (int(number) if number.isdigit() else SPELLED.get(number, 0)) == value:
            return " ".join(found[0].split())[:60]
    return ""


def stated_numbers(text: str) -> Iterator[tuple[int, str]]:
    """Yield the marks that a text gives in passing ("I award one point"), with the words.

    Args:
        text: the judge's own words, quotations left out.
    """
    for pattern in _NUMBER_CLAIMS:
        for found in islice(pattern.finditer(text[:WORDS_LIMIT]), 100):
            begin = max(text.rfind(".", 0, found.start() + 1), text.rfind("\n", 0, found.start() + 1)) + 1
            sentence = text[begin : found.start()] + found[0]
            if _SUPPOSES_NUMBER.search(sentence) or _NO_MARK.match(found["after"]):
                continue
            number = found["n"].lower()
            yield int(number) if number.isdigit() else SPELLED.get(number, 0), " ".join(found[0].split())[:60]


_WOULD: Final = r"would\s+(?:be|have\s+been|get|have\s+got(?:ten)?|earn|have\s+earned|deserve|score|receive)\s+(?:an?\s+)?"
_UNREAL = any_case(
    rf"\b{_WOULD}{_NUMBER}\s+(?:only\s+)?(?:if|had)\b|\b(?:if|had)\s+(?:it|the\s+(?:answer|prediction|response))\b[^.!?;\n]{{0,80}}?\b{_WOULD}{_NUMBER.replace('<n>', '<m>')}"
)
_SUPPOSES_NUMBER = any_case(
    r"\b(?:if|unless|whether|could|might|had|were|first\s+thought|instead\s+of|not|never|need(?:s|ed)?|require[sd]?|neither)\b|(?<!\bI\s)\bwould\b|n['’]t\b|[012]\s*="
)


# -- holding words against a number ------------------------------------------------------------------------------

_NEGATIVE_HINT = any_case(
    r"\b(?:but|however|lack\w*|miss\w*|not|only|incomplete|partial\w*|partly|half|wrong|incorrect|omit\w*|although|though|while|except|without|extra|vague|fail\w*|less|forg[eo]t\w*|no|one\s+of|some|differ\w*)\b|n['’]t\b|aber|nicht|mais|pero|ma\b|но|但|しかし|[❌✗✘👎]"
)
_POSITIVE_HINT = any_case(
    r"\b(?:correct\w*|right\w*|match\w*|agree\w*|same|some|partial\w*|partly|half|one\s+of|mention\w*|name[sd]?|although|though|while|but|however|identif\w+|captur\w+|clos\w+|overlap\w*|relevant)\b|aber|mais|pero|ma\b|но|但|しかし|[✅✔✓👍]"
)


_ENGLISH = any_case(
    r"\b(?:the|it|this|that|all|as|of|to|is|are|in|answer|prediction|everything|correct|right|and|not|was|well|done|meaning|with|both|they|means|what|reference)\b"
)
_TABLE_HEAD = re.compile(r"^[ \t]*\|[^\n]{0,400}\n(?=[ \t]*\|?[ \t]*:?-{2,})", re.MULTILINE)
_BLAMES = any_case(
    r"\b(?:wrong(?:ly)?|incorrect(?:ly)?|fail(?:s|ed|ure)|mismatch\w*|reject\w*|contradict\w*|opposite|disagree\w*|nonsens\w*|unacceptable|unrelated|irrelevant|useless|(?:no|zero)\s+(?:match|credit|points?|marks?|overlap|agreement)|false|mistaken|deserves?\s+nothing|inaccurate|invalid|misses\s+the|different|differs?|something\s+else|terribl[ey]|bad(?:ly)?|poor(?:ly)?|awful|horrible|hopeless|weak|swap(?:s|ped)|contrary|in\s+common|reverses?|off|neglects?|ignores?|mess|joke|disaster|disgrace\w*|ridiculous|absurd|silly|stupid|laughable|pathetic|lousy|sloppy|as\s+if|yeah,?\s+right|oh,?\s+(?:sure|great|yes|wow)|rubbish|garbage|trash|fatal|blunder\w*|confus(?:es|ed|ion)|mix(?:es|ed)\s+up|(?:a|clear|complete|total)\s+miss|no\s+(?:\w+\s+)?relation|no\s+connection|nowhere\s+near|miles\s+away|far\s+cry|(?:belongs?\s+to|from|about)\s+(?:another|some\s+other)|made\s+up|deduct\w*|minus\s+(?:one|an?|half|1)\b|los(?:es|t)\s+(?:a|one|half)\s+(?:a\s+)?(?:point|mark)|otherwise|only|one\s+of\s+(?:the\s+)?(?:two|three|four|[2-9])|nothing|none|nope|hallucinat\w*|invent(?:s|ed))\b"
    r"|(?:\b(?:not|never|cannot|hardly|nothing|none|far\s+from)\b|n['’]t\b)[^.!?\n]{0,40}?\b(?:correct|right|match\w*|accept\w*|close|agree\w*|equivalent|same|support\w*|true|pass|valid|good|enough|correspond\w*|hold\s+up|suffic\w+|adequate\w*|work|occurs?|appears?|found\s+in|qualif\w+|what|in\s+line)\b|[😡🤬👎🤮🙄😤🤦💩😠]"
)
_PRAISES = any_case(
    r"\b(?:correct(?:ly)?|right(?:ly)?|match(?:es|ed)?|great|perfect(?:ly)?|flawless\w*|identical\w*|equivalent|same|agree(?:s|d|ment)?|accept(?:ed|able|s)?|accurate(?:ly)?|excellent|covers?|covered|full\s+(?:marks|credit|points)|well\s+done|complete(?:ly)?|exact(?:ly)?|paraphras\w*|synonym\w*|interchangeabl[ey]|means\s+what|(?:same|identical)\s+meaning|nail(?:s|ed)|textbook|bullseye|succeeds?|pass(?:es|ed)?|(?:is|are)\s+met|everything|impeccabl[ey]|brilliant|superb)\b|[🎉👏💯🏆🥇😍]"
)
_EXCUSES = any_case(
    r"\b(?:correct(?:ly)?|right(?:ly)?|match(?:es|ed|ing)?|same|equivalent|identical\w*|agree(?:s|d|ment)?|both|also|too|says\s+(?:so|that|this)|either|still|consistent|conveys?|equals?|accept(?:ed|able)?|accurate(?:ly)?|fine|enough|harmless|alike|not\s+required|suffices|essentially|likewise|as\s+(?:in|well)|like|paraphras\w*|align\w*|covers?|captur\w*|(?:not|n['’]t)\s+matter|immaterial|unimportant|insignificant|minor|optional|(?:the|this)\s+very\s+\w+|does\s+not\s+contradict|no\s+contradiction)\b(?!\s+~)"
)
_FAULTS = any_case(
    r"\b(?:not|no|nothing|none|neither|never|wrong(?:ly)?|incorrect(?:ly)?|different\w*|differs?|but|whereas|instead|while|although|though|however|contradict\w*|(?<!each\s)other|another|miss(?:es|ed|ing)?|opposite|unrelated|irrelevant|lacks?|omits?|fails?|failed|only|yet|rather|without|mismatch|hallucinat\w*|vague|invent\w*|extra|already|too|less|more|reverses?|mistak\w*|error\w*|false|un\w+|in\w+correct|refus\w*|empty|off|where\s+(?:the|all|both|every))\b|n['’]t\b"
)


_NO_CONFLICT = any_case(
    r"(?:\b(?:no|not|without|never)|n['’]t)\s+(?:(?!more\b|less\b)\w+\s+){0,2}(?:contradict\w*|conflict\w*|mismatch\w*|wrong|mistaken|incorrect)"
    r"|\bnothing\s+(?:\w+\s+){0,2}?(?:missing|contradict\w*|wrong|conflict\w*|left\s+out|lack(?:s|ing)|incorrect|omitted)"
    r"|\b(?:wording|words?|phrasing|style|form(?:at)?|expression|details?|order\s+of\s+words)\s+(?:is\s+|are\s+)?(?:\w+\s+)?(?:differs?|different)|\bdifferent(?:ly)?\s+(?:wording|words?|phras\w+|worded|expression|synonyms?)"
)
"""Blame that is denied, or of the wording alone."""
_OF_OTHERS = any_case(
    r"\bleft\s+\w+\s+right\b|\b(?:the\s+)?(?:user|person|you|participant|cook)\b[^.,;:\n]{0,200}|(?<!every )(?<!each )(?<!no )(?<!all )\b(?:references?|golds?)(?:\s+answers?)?(?:\s+(?!and\b|or\b|but\b)\w{1,3})?(?:\s*:|\s+(?:says?|names?|wants?|is|are|reports?|mentions?|describes?|gives?|states?|lists?|notes?|asks?))\b[^.;\n]{0,200}"
)
"""Remarks on what the user did and on what a reference says."""


def _beside(value: int, top: int, text: str) -> str:
    """Return the report of answer and references that speaks against the number, where no word explains it."""
    claim = compared(text[:WORDS_LIMIT])
    if claim is None or claim.allows & levels_of(value, top):
        return ""
    explained = (_EXCUSES if value else _FAULTS).search(text)
    return "" if explained else claim.said[:60]


def _lopsided(value: int, top: int, text: str) -> str:
    """Return blame that nothing balances beside a full match, or praise that nothing balances beside a zero."""
    text = "\n".join(part for part in SENTENCES.split(text[:WORDS_LIMIT]) if not SUPPOSES.search(part))
    # of a remark on others stays only what says that the answer does the same
    text = _OF_OTHERS.sub(
        lambda m: m[0] if re.search(r"\b(?:same|also|too|likewise|both)\b", m[0], re.IGNORECASE) else " ",
        _NO_CONFLICT.sub("alike", text),
    )
    if value == top and (found := _BLAMES.search(text)):
        balanced = _EXCUSES.search(_BLAMES.sub(" ~ ", text))
        return "" if balanced else found[0]
    if value == 0 and (found := _PRAISES.search(text)) and not _FAULTS.search(text) and _ENGLISH.search(text):
        return found[0]
    return ""


def disagreement(value: int, top: int, text: str) -> str:
    """Return the words of a text that cannot agree with a number; empty where there are none.

    Args:
        value: the number.
        top: the number of a full match.
        text: the judge's own words, quotations left out.
    """
    text = _TABLE_HEAD.sub("", text)
    if found := _BACKWARDS.search(text[:WORDS_LIMIT]):
        return found[0]
    if unreal := _unreal(value, text):
        return unreal
    for number, said in stated_numbers(text):
        if number != value:
            return said
    made = list(claims(text))
    if lopsided := _lopsided(value, top, text):
        return lopsided
    if found_beside := _beside(value, top, text):
        return found_beside
    own = levels_of(value, top)
    if top == 2 and (best := best_reference(text)) is not None and not best.allows & own:
        return best.said
    against = [claim for claim in made if not claim.allows & own]
    if own is not MIDDLE:
        return against[0].said[:60] if against else ""
    if not against or len(against) < len(made):
        return ""
    for claim in against:
        rest = text.replace(claim.said, " ", 1)
        hint = _NEGATIVE_HINT if "top" in claim.allows else _POSITIVE_HINT
        if not claim.allows or not hint.search(rest):
            return claim.said[:60]
    return ""
