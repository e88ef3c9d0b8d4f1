"""What a judge's words say of the answer as a whole, beside its number.

A reply is cut into clauses. A clause makes a *claim* when it is nothing but a level ("No match at all"), or when its subject is
the answer and its predicate is a level, a verb of agreement or a mark ("the answer matches none of the references", "it earns
half a point"). A claim allows some levels and excludes the others. What is reported ("the answer says that ..."), supposed ("if
...") or about one of several references makes no claim. All patterns are bounded, so that hostile text stays cheap.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from proctor.exam.verdict.aspect import aspect_claims
from proctor.exam.verdict.foreign import foreign_claim
from proctor.exam.verdict.label import any_case
from proctor.exam.verdict.reading import BOTTOM, MIDDLE, TOP, Claim

__all__ = ["SENTENCES", "SUBJECT", "SUPPOSES", "WORDS_LIMIT", "claims"]

# -- words -------------------------------------------------------------------------------------------------------

_MARKS: Final = r"(?:marks?|credits?|points?|scores?)"
_WHOLE: Final = r"(?:full|maximum|max|top|highest|perfect|all)"
_LEVEL: Final = (
    # half of it
    r"(?:(?P<middle>half\s+of\s+it(?:\s+right)?|(?:partial|part|partly|partially|half|halfway|semi)[ -]?(?:(?:an?\s+)?(?:match(?:es)?|correct|right|wrong|incorrect|accurate|there|true|valid|equivalent))?"
    rf"|(?:partial|half|some|reduced)\s+(?:(?:the|a|of\s+the)\s+)?{_MARKS}|incomplete|in\s+part|in\s+between|(?:somewhere\s+)?in\s+the\s+middle|(?:the\s+)?middle\s+of\s+the\s+scale|fifty[ -]fifty|[🟡🟠]|(?:[1-9]\d?)\s?(?:%|per\s?cent)\s+(?:correct|right|match(?:es)?))"
    # none of it
    rf"|(?P<bottom>wrong|incorrect|false|mistaken|inaccurate|invalid|irrelevant|unrelated|nonsens\w*|unacceptable|reject(?:ed)?|inadequate|unsatisfactory|(?:the\s+)?(?:lowest|minimum|worst)(?:\s+possible)?(?:\s+(?:mark|score|level|grade|verdict|rating))?(?:\s+applies)?|useless|bogus"
    rf"|no\s+(?:match(?:es)?|agreement|overlap|{_MARKS})|(?:zero|0)\s+{_MARKS}|nothing|nil|zilch|(?:mis-?|non-?)match(?:es)?|fail(?:s|ed|ure|ing)?|disqualified|unsupported"
    r"|(?:the\s+)?(?:exact\s+|very\s+|direct\s+|complete\s+)?(?:opposite|reverse|contrary)|opposite\s+(?:meaning|sense)|reversed|inverted|not\s+(?:even\s+)?(?:close|near|remotely\s+\w+)|contradict(?:ory|ed|ion)|(?:way\s+|well\s+)?off(?:\s+the\s+mark|\s+base)?|beside\s+the\s+point|[❌✗✘👎🔴⛔🚫])"
    # all of it
    rf"|(?P<top>(?:(?:the\s+)?(?:highest|maximum|top|best)(?:\s+possible)?\s+(?:mark|score|level|grade|verdict|rating)(?:\s+applies)?|correct|right|accurate|identical|equivalent|acceptable|accepted|valid|true|flawless|faultless|perfect|satisfactory|great|brilliant|impeccable|superb|exemplary|excellent|(?:spot|bang|dead)[ -]on|nailed\s+it|on\s+point)"
    rf"|(?:perfect|full|complete|exact|good|clear|total|strong|true|great|proper)\s+match(?:es)?|match(?:es|ed)?|agreement|(?:the\s+)?(?:very\s+|exact\s+)?same|pass(?:es|ed)?|{_WHOLE}(?:\s+of)?(?:\s+the)?\s+{_MARKS}|the\s+maximum|full\s+house|100\s?%(?:\s+(?:correct|right))?|[✅✔✓👍🟢💯]))"
)
SUBJECT: Final = (
    r"(?:(?:the|this|that|its|such|an?|given|predicted|overall|whole|entire|candidate(?:['’]s)?|model(?:['’]s)?|student(?:['’]s)?|system(?:['’]s)?|machine(?:['’]s)?|ai(?:['’]s)?)\s+){0,4}"
    r"(?:answer|prediction|response|candidate|student|submission|output|it|this|that|they|these|both|judge?ment|verdict|assessment|result)"
)
_ADVERBS: Final = (
    r"(?:(?:an?|the|completely|complete|entirely|totally|total|absolutely|utterly|utter|wholly|fully|full|perfectly|perfect|clear|exactly|plainly|clearly|simply|just|quite|only|merely|definitely|definite|therefore|thus|also|so|"
    r"essentially|basically|very|really|flatly|largely|mostly|mainly|nearly|almost|somewhat|rather|broadly|roughly|about|around|at\s+(?:best|most)|dead|plain|flat[ -]out|outright|patently|hopelessly|100\s?%|factually|semantically|actually|still|obviously|considered|judged|deemed|marked|counted|to\s+be|as|in|even|being|been|too|again|now|sadly|unfortunately|not|no|never|hardly|scarcely|barely|far\s+from|anything\s+but|nothing\s+but|nowhere\s+near|by\s+no\s+means|in\s+no\s+way|neither)\s+){0,6}"
)
_COPULA: Final = r"(?:['’]s|is|are|was|were|isn['’]t|aren['’]t|wasn['’]t|seems|appears|looks|remains|(?:must|can|should|has\s+to|may|shall|will)(?:\s+not)?\s+(?:be|count)|(?:can|could|must|should|wo)n['’]t\s+be|cannot\s+be|counts|gets\s+it|got\s+it|(?:deserves|earns|gets|receives|merits|scores|is\s+worth|warrants|achieves|is\s+(?:awarded|given))|does\s+not\s+(?:deserve|earn|get|merit)|doesn['’]t\s+(?:deserve|earn|get|merit))"
_OPINION: Final = (
    r"(?:I\b[^.,;:]{0,24}?\b(?:call|consider|find|judge|deem|rate|regard|say|think|believe|see|give|award|grant|count|accept|mark|treat)(?:s|ed)?\s+(?:that\s+)?(?:(?:this|it|that|the\s+(?:answer|prediction|response))\s+)?"
    r"(?:(?:is|as|to\s+be|was)\s+)?|there\s+(?:is|was)\s+|(?:strictly|frankly|honestly|objectively|technically|really|generally)\s+speaking\s+|in\s+(?:short|conclusion|summary|sum|fact|total)\s+|overall\s+|finally\s+|clearly\s+|hence\s+|not\s+)"
)
_TAIL: Final = (
    r"(?:\s*[*_`\"'.!…]|\s+(?:at\s+all|here|overall|indeed|altogether|then|given|awarded|earned|deserved|granted|throughout|entirely|completely|fully|totally|exactly|perfectly|though|too|either|now|for\s+me|(?:on|in)\s+(?:every|all|any|each)\s+\w+|as\s+(?:\w+\s+)?(?:right|correct|wrong|incorrect|such)|(?:with|to)\s+(?:reference|gold)\s*#?\d|in\s+(?:full|meaning|substance|content|all\s+respects|my\s+(?:view|opinion))|"
    r"(?:with|to|of|as|for)\s+(?:(?:any|all|each|every|one|either|both|of|the|these|those|this|that|gold|given|reference|correct|standard|ground|truth|expected|provided)\s+){0,5}(?:references?|answers?|golds?|truth|question|response|prediction)|(?:to|of|as|with)\s+it|required|whatsoever|answer|response|prediction|match)){0,6}"
)
_CLAIM = re.compile(
    rf"[\s*_`#>\"'✅✔✓👍❌✗✘👎️-]*(?:{_OPINION})?(?:(?P<subject>{SUBJECT}|(?:all|everything|none|nothing)(?:\s+of\s+(?:it|this|that|the\s+(?:answer|prediction|response)))?)\s*(?:(?:only|just|clearly|simply|still|really|certainly|definitely|thus|therefore|also|hardly|merely|at\s+best)\s+)*{_COPULA}\s+)?(?P<adverbs>{_ADVERBS}){_LEVEL}(?![\w-]){_TAIL}[\s*_`.!\"'…]*",
    re.IGNORECASE | re.DOTALL,
)
_REFERENCES: Final = r"(?:references?|golds?|(?:gold|reference|correct|expected|ground[ -]truth|standard)\s+(?:answers?|ones?|responses?)|answers?|ground\s+truth|question)"
_AGREES = re.compile(
    rf"[\s*_`#>\"'-]*(?:(?:overall|hence|clearly|in\s+short)\s+)?{SUBJECT}\s+(?P<not>(?:do|does|did|can|could|will)(?:\s+not|n['’]t)\s+|cannot\s+|fails?\s+to\s+|never\s+|hardly\s+|(?:is|are)\s+(?:not\s+)?)?"
    rf"(?P<adverbs>(?:\w+(?:ly)\s+|not\s+|also\s+|even\s+|only\s+|in\s+part\s+|half\s+){{0,3}})"
    rf"(?P<verb>match(?:es|ed|ing)?|agrees?|align(?:s|ed)?|correspond(?:s|ing)?|equals?|fits?|coincides?|answers?|contradict(?:s|ed|ing)?|conflicts?|disagrees?|opposed|consistent|inconsistent|compatible|incompatible|accepted|rejected|revers(?:es|ed)|inverts?|miss(?:es)?\s+(?:the\s+)?(?:point|mark|target))\b(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_OBJECT = any_case(
    r"(?:\s+(?:with|to|of|in|any|all|each|every|one|both|either|some|none|no|neither|nothing|part|half|parts|aspects|only|the|an?|these|those|this|that|given|provided|listed|gold|golds|correct|expected|reference|references|standard|ground|truth|acceptable|possible|answers?|ones?|responses?|question|it|them|"
    r"perfectly|exactly|fully|completely|well|at|partially|partly|entirely|closely|meaning|content|substance|verbatim|literally|word|for|(?:the\s+)?(?:first|second|third|fourth|last|other)|whatsoever|each|other|another|[A-Z]|#?\d)){0,12}[\s*_`.!?\"']*"
)
_ONE_REFERENCE = re.compile(
    r"\b(?:first|second|third|fourth|fifth|last|other|another|one|some|each|every|all)\b|(?:reference|gold|answer)s?\s*#?\s*(?:\d|[A-Z]\b)|\b\d\b"
)
_NONE_AGREES = any_case(
    rf"[\s*_`#>\"'-]*(?:none|not\s+(?:a\s+single\s+)?one|no\s+one|neither|no)\b(?:\s+(?:single|of|the|these|those|given|two|three|four|five|all|gold|reference|correct|possible|provided|listed))*\s+{_REFERENCES}\s+(?:(?:is|are|was|were|has|have|been|does|do|even|really|could\s+be|can\s+be)\s+){{0,3}}"
    r"(?:match\w*|agree\w*|support\w*|found|met|satisf\w+|hit|fit\w*|confirm\w*|say\w*|mention\w*|name\w*|reflect\w*|covered|captured|equivalent|the\s+same)"
)
_NOTHING_TO_DO = any_case(
    rf"[\s*_`#>\"'-]*{SUBJECT}\s+(?:(?:has|have|shares?|contains?)\s+(?:absolutely\s+)?nothing\b|(?:says|states|means|claims|is|asserts|expresses|gives|conveys)\s+(?:\w+\s+){{0,2}}?(?:opposite|contrary|reverse)\b|(?:fails|failed|flunks?)\b(?!\s+to\s+(?:mention|name|say|include|specify|state|list|note|identify|give|provide|account|address|capture|add)\b)|(?:makes|made)\s+no\s+sense)"
    r"|[^.]{0,80}\bmeaning\s+(?:is|was|gets|has\s+been)\s+(?:\w+\s+)?(?:reversed|inverted|flipped|the\s+opposite|lost|changed)|[^.]{0,160}\b(?:the\s+)?(?:exact|very|complete|direct)\s+opposite\b"
)
_CREDITED: Final = r"(?:(?:be|been)\s+)?(?:\w+ly\s+)?(?:given|awarded|earned|deserved|due|warranted|justified|granted|in\s+order|appropriate|possible|credited|merited)"
_CREDIT = any_case(
    rf"\b(?:(?P<none>no|zero|nothing)|(?P<whole>full|maximum|max|all|top)|(?P<part>half|partial|some|reduced)|any)?\s*(?:\b(?:marks?|credit|points?)|(?<=nothing))\s+(?:(?:can|could|must|should|may|will|is|are|was|were|has|have)(?P<not>\s*not|n['’]t)?\s+{_CREDITED}|appl(?:y|ies)|it\s+is)\b"
    rf"|\b(?P<not2>cannot|can['’]t|won['’]t|(?:do|does|did|will|would|can|could)(?:\s+not|n['’]t))\s+(?:\w+ly\s+)?(?:give|award|earn|deserve|get|grant|merit|receive)\s+(?:(?:it|the\s+answer|this)\s+)?(?:(?P<whole2>full|maximum|all|top)|(?P<part2>half|partial|some)|any|the)?\s*(?:marks?|credit|points?)\b"
)
_BEYOND = any_case(
    r"\b(?:could|can|would)\s*(?:hardly|scarcely|not|n['’]t)\s+(?:possibly\s+)?(?:be|have\s+been)\s+(?:any\s+)?(?:better|more\s+(?:correct|accurate|right|precise))\b|\b(?P<worst>(?:could|can)\s*(?:hardly|scarcely|not|n['’]t)\s+(?:possibly\s+)?be\s+(?:any\s+)?(?:worse|more\s+(?:wrong|incorrect|off|mistaken)|further\s+(?:from|off)))\b|\b(?P<nothing>(?:deserves?|earns?|merits?|gets?|receives?)\s+(?:neither|nothing|no\s+(?:marks?|credit|points?|praise)))\b|\bleaves?\s+nothing\s+to\s+be\s+desired\b"
)
_ANSWERED = any_case(
    r"[\s*_`#>-]*(?:(?P<alone>nope|nah|hardly|no\s+way|not\s+(?:at\s+all|even\s+close|really|quite|by\s+a\s+long\s+shot|in\s+the\s+least)|absolutely\s+not|certainly\s+not|definitely\s+not|clearly\s+not|of\s+course\s+not|far\s+from\s+it|by\s+no\s+means)"
    r"|(?P<no>no(?:t\s+(?:entirely|fully|exactly))?|never|unfortunately\s+not|sadly\s+not|it\s+(?:does|is)(?:\s+not|n['’]t))|(?P<yes>yes|yep|absolutely|certainly|definitely|clearly|of\s+course|indeed|it\s+(?:does|is)|very\s+much\s+so))\s*(?:[.!,;—–*_-]|$)"
)
_ASKED = any_case(
    r"\b(?:correct|match\w*|right|agree\w*|same|equivalent|fit|answer|prediction|response|it|this)\b"
)
_FAULT_ASKED = any_case(
    r"\b(?:wrong|incorrect|miss\w*|contradict\w*|add\w*|differ\w*|extra|error|mistake|lack\w*|omit\w*|conflict\w*|opposite|invent\w*|anything|irrelevant)\b"
)
_ITEM = re.compile(r"\b(?:I|my|you|your|user)\b")
"""Questions of the item, not of the judge."""
_FAULTLESS = any_case(
    rf"\W*(?:{SUBJECT}\s+(?:has|have|contains?|shows?|makes?)\s+|I\s+(?:can\s+)?(?:find|see)\s+|there\s+(?:is|are)\s+)?(?:no\s+(?:\w+\s+)?(?:errors?|mistakes?|faults?|differences?|discrepanc(?:y|ies)|problems?|issues?|flaws?)|nothing\s+wrong\s+with\s+(?:it|this|that|the\s+answer))"
    r"(?:\s+(?:whatsoever|at\s+all|here|to\s+find|(?:between|with|in)\s+(?:\w+\s+){0,2}\w+)){0,3}\W*"
)
_REFERENCES_DENY = any_case(
    r"\b(?:references?|golds?|(?:both|all)\s+of\s+them)(?:\s+answers?)?\s+(?:(?:all|both|clearly|plainly)\s+)?(?:says?|states?|claims?|are|is|has|have)\s+(?:it\s+)?(?:otherwise|(?:quite\s+)?(?:the\s+)?(?:opposite|contrary|reverse)|something\s+(?:else|different))"
)
_SAYS_OF: Final = r"(?:says?|answers?|states?|claims?|is|are|repl(?:y|ies))\s*(?:that\s+)?[:,]?\s*"
_ANSWER_SAYS = any_case(
    rf"\b(?:answer|prediction|response|candidate|it)\s+{_SAYS_OF}(?P<said>yes|no|true|false)\b(?!\s+(?!(?:where|while|whereas|when|but|and)\b)[a-z])"
)
_REFERENCES_SAY = any_case(
    rf"\b(?:references?|golds?)(?:\s+answers?)?\s+(?:all\s+|both\s+)?{_SAYS_OF}(?P<said>yes|no|true|false)\b(?!\s+[a-z])"
)
_DEFECTIVE = any_case(
    r"contradict|conflict|disagree|opposed|inconsistent|incompatible|reject|revers|invert|miss"
)
_NOT = any_case(
    r"\b(?:not|no|never|cannot|hardly|scarcely|barely|far\s+from|anything\s+but|nowhere\s+near|by\s+no\s+means|in\s+no\s+way|neither|none|nothing|fails?\s+to)\b|n['’]t\b"
)
_NEARLY = any_case(
    r"\b(?:largely|mostly|mainly|nearly|almost|broadly|essentially|basically|roughly|somewhat|rather)\b"
)
_QUITE = any_case(
    r"\b(?:quite|fully|completely|entirely|totally|wholly|perfectly|full|complete|perfect|exact|exactly|even)\b"
)
_LITERALLY = re.compile(r"\b(?:exact(?:ly)?|identical(?:ly)?|verbatim|literal(?:ly)?|word)\b", re.IGNORECASE)
_REPORTS = any_case(
    r"\b(?:says?|said|stat(?:es|ed|ing)|claim(?:s|ed|ing)?|assert(?:s|ed)?|mention(?:s|ed)?|tells?|indicat(?:es|ed|ing)|suggest(?:s|ed|ing)?|report(?:s|ed)?|identif(?:ies|ied)|point(?:s|ed)\s+out|not(?:es|ed)|confirm(?:s|ed)?|impl(?:ies|ied)|according\s+to|the\s+user|person|participant)\b[^.]{0,200}$"
)
SUPPOSES = any_case(
    r"\b(?:if|unless|whether|could|might|may|seem|assuming|suppos\w+|question\s+(?:is|of)|in\s+order\s+to)\b|(?<!\bI\s)\bwould\b|(?<![\w.])[012]\s*[*_`)]*\s*(?:=|:|->|→|means|is\s+for|for)"
)
SENTENCES = re.compile(r"(?<=[.!?;])\s+|\n|[。！？；]")
_CLAUSES = any_case(
    r"\s*[,;:—–()\[\]|=→/]+\s*|\s+[-]+>?\s+|\b(?:but|however|although|though|while|whereas|yet|because|since|so|and|therefore|thus|hence|which|making|despite|given\s+that)\b"
)
_SHOWS = any_case(
    r"\b(?:says?|states?|reads?|claims?|wrote|replies|answers)\s*:|\b(?:references?|golds?|question|ground\s+truth)(?:\s+(?:answers?|is|are|\d+|[A-Z]))*\s*:|^\W*(?:prediction|candidate|response|predicted\s+answer)\s*:"
)
"""What follows is shown, not said."""
_ANYTHING_BUT = re.compile(r"\banything\s+but\b", re.IGNORECASE)
_STARS = any_case(
    r"[★☆⭐🌟]|\b(?:\d{1,2}|one|two|three|four|five)\s+stars?\b|\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten)\s+out\s+of\s+(?:five|ten)\b|\b\d{2,3}\s+points\b"
)
_LETTER = re.compile(
    r"\b(?:grade|mark|rating|score)\s*[:=]\s*[*_`\"']*(?P<letter>[A-F])[+-]?[*_`\"'.]*\s*$|^[ \t*_`]*(?P<alone>[A-F])[+-]?[ \t*_`.]*$",
    re.IGNORECASE | re.MULTILINE,
)
WORDS_LIMIT: Final = 20_000


def claims(text: str) -> Iterator[Claim]:
    """Yield what a text says of the answer as a whole.

    Args:
        text: the judge's own words, quotations left out; what is beyond 20,000 characters is not looked at.
    """
    for sentence in islice(SENTENCES.split(text[:WORDS_LIMIT]), 2_000):
        if not sentence.strip() or len(sentence) > 2_000:
            continue
        if shown := _SHOWS.search(sentence):
            sentence = sentence[: shown.start()]
        if (SUPPOSES.search(sentence) and not _BEYOND.search(sentence)) or sentence.rstrip().endswith("?"):
            continue
        before = ""
        for clause in _CLAUSES.split(_ANYTHING_BUT.sub("not", sentence)):
            if clause.strip() and ("opposite" in clause or not _REPORTS.search(before[-40:])):
                found_claim = _claim(clause.strip()) or foreign_claim(clause)
                if found_claim is not None:
                    yield found_claim
            before = clause
    for letter in islice(_LETTER.finditer(text), 20):
        yield Claim(
            {"A": TOP, "F": BOTTOM}.get((letter["letter"] or letter["alone"]).upper(), MIDDLE), letter[0]
        )
    yield from aspect_claims(text)
    yield from _answers_to_itself(text)
    yield from _opposite_answers(text)
    if _STARS.search(text):
        yield Claim(frozenset(), "a number of stars")


def _answers_to_itself(text: str) -> Iterator[Claim]:
    """Yield what a judge answers to its own questions ("Does it match? No way."), and denials that stand alone."""
    question = ""
    for sentence in islice(SENTENCES.split(text[:WORDS_LIMIT]), 2_000):
        if not sentence.strip(" *_`#>-"):
            continue
        if (found := _ANSWERED.match(sentence)) and (question or found["alone"]):
            said = found["yes"] or found["no"] or found["alone"]
            weak = re.search(r"quite|entirely|fully|exactly|really", said, re.IGNORECASE)
            levels = TOP if found["yes"] else BOTTOM | MIDDLE if weak else BOTTOM
            yield Claim(levels, f"{question} {sentence}".strip())
        asks = sentence.rstrip(" *_`").endswith("?") and _ASKED.search(sentence)
        question = (
            sentence if asks and not _ITEM.search(sentence) and not _FAULT_ASKED.search(sentence) else ""
        )


def _opposite_answers(text: str) -> Iterator[Claim]:
    """Yield that the answer is wrong where it says yes and the references say no, or the reverse."""
    answer, references = (
        {
            found["said"].lower() in ("yes", "true")
            for found in islice(pattern.finditer(text[:WORDS_LIMIT]), 20)
        }
        for pattern in (_ANSWER_SAYS, _REFERENCES_SAY)
    )
    if answer and references and not answer & references:
        yield Claim(BOTTOM, "the answer says yes and the references no, or the reverse")


def _of_credit(clause: str) -> Claim | None:
    found = _CREDIT.search(clause)
    if found is None or _REPORTS.search(clause[: found.start()]):
        return None
    whole = found["whole"] or found["whole2"]
    part = found["part"] or found["part2"]
    if found["none"]:
        return Claim(BOTTOM, clause)
    if found["not"] or found["not2"]:
        return None if part else Claim(BOTTOM | MIDDLE if whole else BOTTOM, clause)
    return Claim(TOP, clause) if whole else Claim(MIDDLE, clause) if part else None


def _claim(clause: str) -> Claim | None:
    clause = clause[:400]
    if credit := _of_credit(clause):
        return credit
    if beyond := _BEYOND.search(clause):
        return Claim(BOTTOM if beyond["worst"] or beyond["nothing"] else TOP, clause)
    if _FAULTLESS.fullmatch(clause):
        return Claim(TOP, clause)
    if _REFERENCES_DENY.search(clause):
        return Claim(BOTTOM, clause)
    if _NONE_AGREES.match(clause):
        return Claim(BOTTOM, clause)
    if (
        _NOTHING_TO_DO.match(clause)
        and not re.search(r"\b(?:not|never|n['’]t)\b", clause)
        and not _REPORTS.search(clause.partition("opposite")[0])
    ):
        return Claim(BOTTOM, clause)
    if (found := _AGREES.fullmatch(clause)) and (agreement := _of_agreement(found, clause)):
        return agreement
    if found := _CLAIM.fullmatch(clause):
        return _of_level(found, clause)
    return None


def _of_level(found: re.Match[str], clause: str) -> Claim | None:
    head = clause[: found.start("middle" if found["middle"] else "bottom" if found["bottom"] else "top")]
    if _REPORTS.search(head) and not re.match(r"\W*I\b", clause, re.IGNORECASE):
        return None
    allows = MIDDLE if found["middle"] else BOTTOM if found["bottom"] else TOP
    negated, quite = _NOT.search(head), _QUITE.search(clause)
    nearly = _NEARLY.search(head)
    if negated and _LITERALLY.search(clause):
        return None
    if negated:
        if allows is TOP:
            allows = frozenset(("middle", "bottom")) if quite or nearly else BOTTOM
        elif allows is BOTTOM:
            allows = frozenset(("top", "middle"))
        else:
            allows = frozenset(("top", "bottom"))
    elif nearly and allows is not MIDDLE:
        allows = allows | MIDDLE
    return Claim(allows, clause)


def _of_agreement(found: re.Match[str], clause: str) -> Claim | None:
    rest = found["rest"]
    if re.match(r"\s*(?:points?\b)?\s*$", rest) is None and not _OBJECT.fullmatch(rest):
        return None
    negated = bool(_NOT.search((found["not"] or "") + found["adverbs"]))
    none = bool(re.search(r"\b(?:none|no|neither|nothing)\b", rest, re.IGNORECASE))
    positive = not _DEFECTIVE.match(found["verb"])
    if negated == positive or (none and positive):
        if _LITERALLY.search(clause) or (not none and _ONE_REFERENCE.search(rest)):
            return None
        if not positive:
            return None if negated else Claim(BOTTOM, clause)
        if _QUITE.search(clause):
            return Claim(frozenset(("middle", "bottom")), clause)
        return Claim(BOTTOM, clause)
    if not positive:
        return None if negated or _ONE_REFERENCE.search(rest) or none else Claim(BOTTOM, clause)
    if re.search(
        r"\b(?:part|parts|half|aspects|some|partially|partly|only|largely|mostly)\b",
        found["adverbs"] + rest,
        re.IGNORECASE,
    ):
        return Claim(MIDDLE if not _NEARLY.search(clause) else MIDDLE | TOP, clause)
    if re.match(r"answers?$|fits?$", found["verb"], re.IGNORECASE):
        return None
    return Claim(TOP, clause)
