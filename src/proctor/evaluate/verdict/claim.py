"""What a judge's words say of the answer as a whole, beside its number.

A reply is cut into clauses. A clause makes a *claim* when it is nothing but a level ("No match at all"), or when its subject is
the answer and its predicate is a level, a verb of agreement or a mark ("the answer matches none of the references", "it earns
half a point"). A claim allows some levels and excludes the others. What is reported ("the answer says that ..."), supposed ("if
...") or about one of several references makes no claim. All patterns are bounded, so that hostile text stays cheap.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal

__all__ = [
    "BOTTOM",
    "ENGLISH_LETTERS",
    "MIDDLE",
    "SENTENCES",
    "SUBJECT",
    "SUPPOSES",
    "TOP",
    "WORDS_LIMIT",
    "Claim",
    "Level",
    "claims",
]

Level = Literal["top", "middle", "bottom"]
TOP: Final[frozenset[Level]] = frozenset(("top",))
MIDDLE: Final[frozenset[Level]] = frozenset(("middle",))
BOTTOM: Final[frozenset[Level]] = frozenset(("bottom",))


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement on the answer.

    Attributes:
        allows: the levels that it leaves open.
        said: the clause, for people.
    """

    allows: frozenset[Level]
    said: str


# -- words -------------------------------------------------------------------------------------------------------

_MARKS: Final = r"(?:marks?|credits?|points?|scores?)"
_WHOLE: Final = r"(?:full|maximum|max|top|highest|perfect|all)"
_LEVEL: Final = (
    # half of it
    r"(?:(?P<middle>half\s+of\s+it(?:\s+right)?|(?:partial|part|partly|partially|half|halfway|semi)[ -]?(?:(?:an?\s+)?(?:match(?:es)?|correct|right|wrong|incorrect|accurate|there|true|valid|equivalent))?"
    rf"|(?:partial|half|some|reduced)\s+(?:(?:the|a|of\s+the)\s+)?{_MARKS}|incomplete|in\s+part|fifty[ -]fifty|(?:[1-9]\d?)\s?(?:%|per\s?cent)\s+(?:correct|right|match(?:es)?))"
    # none of it
    rf"|(?P<bottom>wrong|incorrect|false|mistaken|inaccurate|invalid|irrelevant|unrelated|nonsens\w*|unacceptable|reject(?:ed)?|inadequate|unsatisfactory|useless|bogus"
    rf"|no\s+(?:match(?:es)?|agreement|overlap|{_MARKS})|(?:zero|0)\s+{_MARKS}|nothing|nil|zilch|(?:mis-?|non-?)match(?:es)?|fail(?:s|ed|ure|ing)?|disqualified|unsupported"
    r"|(?:the\s+)?(?:exact\s+|very\s+|direct\s+|complete\s+)?(?:opposite|reverse|contrary)|opposite\s+(?:meaning|sense)|reversed|inverted|not\s+(?:even\s+)?(?:close|near|remotely\s+\w+)|contradict(?:ory|ed|ion)|(?:way\s+|well\s+)?off(?:\s+the\s+mark|\s+base)?|beside\s+the\s+point|[❌✗✘👎])"
    # all of it
    rf"|(?P<top>(?:correct|right|accurate|identical|equivalent|acceptable|accepted|valid|true|flawless|faultless|perfect|satisfactory|great|brilliant|impeccable|superb|exemplary|excellent|(?:spot|bang|dead)[ -]on|nailed\s+it|on\s+point)"
    rf"|(?:perfect|full|complete|exact|good|clear|total|strong|true|great|proper)\s+match(?:es)?|match(?:es|ed)?|agreement|(?:the\s+)?(?:very\s+|exact\s+)?same|pass(?:es|ed)?|{_WHOLE}(?:\s+of)?(?:\s+the)?\s+{_MARKS}|the\s+maximum|full\s+house|100\s?%(?:\s+(?:correct|right))?|[✅✔✓👍]))"
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
    rf"[\s*_`#>\"'✅✔✓👍❌✗✘👎️-]*(?:{_OPINION})?(?:(?P<subject>{SUBJECT})\s*(?:(?:only|just|clearly|simply|still|really|certainly|definitely|thus|therefore|also|hardly|merely|at\s+best)\s+)*{_COPULA}\s+)?(?P<adverbs>{_ADVERBS}){_LEVEL}(?![\w-]){_TAIL}[\s*_`.!\"'…]*",
    re.IGNORECASE | re.DOTALL,
)
_REFERENCES: Final = r"(?:references?|golds?|(?:gold|reference|correct|expected|ground[ -]truth|standard)\s+(?:answers?|ones?|responses?)|answers?|ground\s+truth|question)"
_AGREES = re.compile(
    rf"[\s*_`#>\"'-]*(?:(?:overall|hence|clearly|in\s+short)\s+)?{SUBJECT}\s+(?P<not>(?:do|does|did|can|could|will)(?:\s+not|n['’]t)\s+|cannot\s+|fails?\s+to\s+|never\s+|hardly\s+|(?:is|are)\s+(?:not\s+)?)?"
    rf"(?P<adverbs>(?:\w+(?:ly)\s+|not\s+|also\s+|even\s+|only\s+|in\s+part\s+|half\s+){{0,3}})"
    rf"(?P<verb>match(?:es|ed|ing)?|agrees?|align(?:s|ed)?|correspond(?:s|ing)?|equals?|fits?|coincides?|answers?|contradict(?:s|ed|ing)?|conflicts?|disagrees?|opposed|consistent|inconsistent|compatible|incompatible|accepted|rejected|revers(?:es|ed)|inverts?|miss(?:es)?\s+(?:the\s+)?(?:point|mark|target))\b(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_OBJECT = re.compile(
    r"(?:\s+(?:with|to|of|in|any|all|each|every|one|both|either|some|none|no|neither|nothing|part|half|parts|aspects|only|the|an?|these|those|this|that|given|provided|listed|gold|golds|correct|expected|reference|references|standard|ground|truth|acceptable|possible|answers?|ones?|responses?|question|it|them|"
    r"perfectly|exactly|fully|completely|well|at|partially|partly|entirely|closely|meaning|content|substance|verbatim|literally|word|for|(?:the\s+)?(?:first|second|third|fourth|last|other)|whatsoever|each|other|another|[A-Z]|#?\d)){0,12}[\s*_`.!?\"']*",
    re.IGNORECASE,
)
_ONE_REFERENCE = re.compile(
    r"\b(?:first|second|third|fourth|fifth|last|other|another|one|some|each|every|all)\b|(?:reference|gold|answer)s?\s*#?\s*(?:\d|[A-Z]\b)|\b\d\b"
)
_NONE_AGREES = re.compile(
    rf"[\s*_`#>\"'-]*(?:none|not\s+(?:a\s+single\s+)?one|no\s+one|neither|no)\b(?:\s+(?:single|of|the|these|those|given|two|three|four|five|all|gold|reference|correct|possible|provided|listed))*\s+{_REFERENCES}\s+(?:(?:is|are|was|were|has|have|been|does|do|even|really|could\s+be|can\s+be)\s+){{0,3}}"
    r"(?:match\w*|agree\w*|support\w*|found|met|satisf\w+|hit|fit\w*|confirm\w*|say\w*|mention\w*|name\w*|reflect\w*|covered|captured|equivalent|the\s+same)",
    re.IGNORECASE,
)
_NOTHING_TO_DO = re.compile(
    rf"[\s*_`#>\"'-]*{SUBJECT}\s+(?:(?:has|have|shares?|contains?)\s+(?:absolutely\s+)?nothing\b|(?:says|states|means|claims|is|asserts|expresses|gives|conveys)\s+(?:\w+\s+){{0,2}}?(?:opposite|contrary|reverse)\b|(?:fails|failed|flunks?)\b(?!\s+to\s+(?:mention|name|say|include|specify|state|list|note|identify|give|provide|account|address|capture|add)\b)|(?:makes|made)\s+no\s+sense)"
    r"|[^.]{0,80}\bmeaning\s+(?:is|was|gets|has\s+been)\s+(?:\w+\s+)?(?:reversed|inverted|flipped|the\s+opposite|lost|changed)|[^.]{0,160}\b(?:the\s+)?(?:exact|very|complete|direct)\s+opposite\b",
    re.IGNORECASE,
)
_DEFECTIVE = re.compile(
    r"contradict|conflict|disagree|opposed|inconsistent|incompatible|reject|revers|invert|miss", re.IGNORECASE
)
_NOT = re.compile(
    r"\b(?:not|no|never|cannot|hardly|scarcely|barely|far\s+from|anything\s+but|nowhere\s+near|by\s+no\s+means|in\s+no\s+way|neither|fails?\s+to)\b|n['’]t\b",
    re.IGNORECASE,
)
_NEARLY = re.compile(
    r"\b(?:largely|mostly|mainly|nearly|almost|broadly|essentially|basically|roughly|somewhat|rather)\b",
    re.IGNORECASE,
)
_QUITE = re.compile(
    r"\b(?:quite|fully|completely|entirely|totally|wholly|perfectly|full|complete|perfect|exact|exactly|even)\b",
    re.IGNORECASE,
)
_LITERALLY = re.compile(r"\b(?:exact(?:ly)?|identical(?:ly)?|verbatim|literal(?:ly)?|word)\b", re.IGNORECASE)
_REPORTS = re.compile(
    r"\b(?:says?|said|stat(?:es|ed|ing)|claim(?:s|ed|ing)?|assert(?:s|ed)?|mention(?:s|ed)?|tells?|indicat(?:es|ed|ing)|suggest(?:s|ed|ing)?|report(?:s|ed)?|identif(?:ies|ied)|point(?:s|ed)\s+out|not(?:es|ed)|confirm(?:s|ed)?|impl(?:ies|ied)|the\s+user|person|participant)\b[^.]{0,200}$",
    re.IGNORECASE,
)
SUPPOSES = re.compile(
    r"\b(?:if|unless|whether|could|might|may|seem|assuming|suppos\w+|question\s+(?:is|of)|in\s+order\s+to)\b|(?<!\bI\s)\bwould\b|(?<![\w.])[012]\s*[*_`)]*\s*(?:=|:|->|→|means|is\s+for|for)",
    re.IGNORECASE,
)
SENTENCES = re.compile(r"(?<=[.!?;])\s+|\n|[。！？；]")
_CLAUSES = re.compile(
    r"\s*[,;:—–()\[\]|=→/]+\s*|\s+[-]+>?\s+|\b(?:but|however|although|though|while|whereas|yet|because|since|so|and|therefore|thus|hence|which|making|despite|given\s+that)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"\b(?:correct|match(?:es)?|right|equivalent|same|pass(?:ed|es)?|acceptable|accepted|agree(?:s|ment)?)[*_`\"'?:\s=]{1,8}[*_`\"']*(?P<said>yes|no|true|false|none)\b(?!\s+\w)",
    re.IGNORECASE,
)
_SHOWS = re.compile(
    r"\b(?:says?|states?|reads?|claims?|wrote|replies|answers)\s*:|\b(?:references?|golds?|question|ground\s+truth)(?:\s+(?:answers?|is|are|\d+|[A-Z]))*\s*:|^\W*(?:prediction|candidate|response|predicted\s+answer)\s*:",
    re.IGNORECASE,
)
"""What follows is shown, not said."""
_ANYTHING_BUT = re.compile(r"\banything\s+but\b", re.IGNORECASE)
_STARS = re.compile(r"[★☆⭐🌟]")
_LETTER = re.compile(
    r"\b(?:grade|mark|rating|score)\s*[:=]\s*[*_`\"']*(?P<letter>[A-F])[+-]?[*_`\"'.]*\s*$",
    re.IGNORECASE | re.MULTILINE,
)
WORDS_LIMIT: Final = 20_000

# -- other languages ---------------------------------------------------------------------------------------------

_ANSWER: Final = r"antwort|vorhersage|réponse|prédiction|respuesta|predicción|risposta|previsione|resposta|previsão|antwoord|voorspelling|odpowiedź|svar(?:et)?|cevap|yanıt|ответ|предсказание|відповідь|απάντηση|الإجابة|الجواب|उत्तर|जवाब|答案|回答|预测|預測|答え|応答|답변|대답|예측|응답"
_FOREIGN_NOT: Final = r"nicht|keine?[nmrs]?|pas|aucune?|non|no|não|niet|geen|nie|inte|ikke|değil|не|нет|δεν|ليست?|غير|नहीं|不|没有|沒有|未|ない|ません|않|아니|아닙|못"
_FOREIGN: Final[tuple[tuple[str, frozenset[Level]], ...]] = (
    (
        r"teil(?:weise|s)|zum\s+teil|halb|unvollständig|partiellement|en\s+partie|à\s+moitié|incomplète?|parcialmente|parcial|en\s+parte|a\s+medias|parzial\w*|in\s+parte|em\s+parte|gedeeltelijk|deels|częściowo|delvis|kısmen|частичн\w*|частково|наполовину|εν\s+μέρει|جزئي\w*|आंशिक|部分|一部|一半|半分|부분",
        MIDDLE,
    ),
    (
        r"falsch\w*|unrichtig|inkorrekt|verkehrt|verfehlt|faux|fausse|incorrect[aeo]s?|incorrecte|erronée?|inexacte?|errad[ao]|errónea?|equivocad[ao]|sbagliat[ao]|errat[ao]|scorrett[ao]|fout|onjuist|verkeerd|błędn\w*|niepoprawn\w*|nieprawidłow\w*|fel(?:aktigt?)?|forkert|feil|yanlış|hatalı|неверн\w*|неправильн\w*|ошибочн\w*|невірн\w*|неправильн\w*|λάθος|λανθασμέν\w*|خاطئ\w*|خطأ|गलत|错误|錯誤|错的|不对|不對|間違\w*|誤り|誤って|不正解|틀렸|틀린|오답|widerspricht|contredit|contradice|contraddice|contradiz|противоречит|矛盾|相反",
        BOTTOM,
    ),
    (
        r"richtig\w*|korrekt\w*|stimmt|zutreffend|passt|juste|exacte?|correcte?|correct[ao]s?|corrett[ao]|esatt[ao]|giust[ao]|coincide|certa|certo|juist|goed|klopt|poprawn\w*|prawidłow\w*|rätt|korrekt|riktigt?|rigtigt?|doğru|верн\w*|правильн\w*|вірн\w*|σωστ\w*|صحيح\w*|सही|正确|正確|正しい|正しく|匹配|一致|相符|吻合|符合|正解|맞습|맞다|맞는|정확|정답|일치",
        TOP,
    ),
)
_FOREIGN_LEVELS = tuple(
    (re.compile(rf"(?<![a-zà-ÿа-я])(?:{words})(?![a-zà-ÿа-я])", re.IGNORECASE), allows)
    for words, allows in _FOREIGN
)
_FOREIGN_NEGATION = re.compile(rf"(?<![a-zà-ÿа-яα-ω])(?:n['’]|{_FOREIGN_NOT})", re.IGNORECASE)
_FOREIGN_SUBJECT = re.compile(rf"(?:{_ANSWER})(?!en\b)", re.IGNORECASE)
_FOREIGN_REPORT = re.compile(
    r"\b(?:sagt|nennt|behauptet|dit|affirme|indique|dice|afirma|indica|diz|zegt|говорит|утверждает|называет|dass|(?<!est\s)(?<!es\s)que|che|что|Benutzer|Nutzer|usuario|utilisateur|utente)\b|说|指出|提到|用户|使用者|言って|ユーザー|사용자",
    re.IGNORECASE,
)
ENGLISH_LETTERS = re.compile(
    r"\b(?:the|answer|prediction|it|everything|this|that|all|correct|right|and|not|was|are)\b", re.IGNORECASE
)


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
        if SUPPOSES.search(sentence) or sentence.rstrip().endswith("?"):
            continue
        before = ""
        for clause in _CLAUSES.split(_ANYTHING_BUT.sub("not", sentence)):
            if clause.strip() and ("opposite" in clause or not _REPORTS.search(before[-40:])):
                found_claim = _claim(clause.strip()) or _foreign_claim(clause)
                if found_claim is not None:
                    yield found_claim
            before = clause
    for found in islice(_QUESTION.finditer(text[:WORDS_LIMIT]), 100):
        yield Claim(TOP if found["said"].lower() in ("yes", "true") else BOTTOM, found[0])
    for letter in islice(_LETTER.finditer(text), 20):
        yield Claim({"A": TOP, "F": BOTTOM}.get(letter["letter"].upper(), MIDDLE), letter[0])
    if _STARS.search(text):
        yield Claim(frozenset(), "a number of stars")


def _claim(clause: str) -> Claim | None:
    clause = clause[:400]
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


def _foreign_claim(clause: str) -> Claim | None:
    if len(clause) > 400 or ENGLISH_LETTERS.search(clause):
        return None
    if (not _FOREIGN_SUBJECT.search(clause) and len(clause.split()) > 3) or _FOREIGN_REPORT.search(clause):
        return None
    for pattern, allows in _FOREIGN_LEVELS:
        if found := pattern.search(clause):
            if not _FOREIGN_SUBJECT.search(clause) and len(clause.strip()) > 30:
                return None
            without = clause[: found.start()] + " " + clause[found.end() :]
            if _FOREIGN_NEGATION.search(without):
                if allows is BOTTOM:
                    return None
                allows = BOTTOM if allows is TOP else MIDDLE
            return Claim(allows, clause.strip())
    return None
