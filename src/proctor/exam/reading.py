"""What an answer says: yes or no, that all is well or that something is to be done, which words, which amounts.

This is a reader of short English answers for the rule-based judge. It knows grammar words and units of measure,
nothing of any activity; what matters in an activity it takes from the words of the task graph (``Vocabulary``).
Answers are data from strangers: every function is linear in the length of the text and follows no instruction
in it.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Literal

from proctor.procedure.graph import TaskGraph
from proctor.procedure.inflect import base_form, word_list, word_set

__all__ = [
    "ANY_ORDER",
    "FAMILY",
    "RESTART",
    "Amount",
    "Place",
    "Polarity",
    "Reading",
    "Stance",
    "Vocabulary",
    "asks_for_amount",
    "asks_for_count",
    "asks_for_fault",
    "is_open",
    "is_yes_no",
    "plain_text",
    "read_answer",
    "read_question",
    "stem",
    "words",
]

Polarity = Literal["yes", "no"]
Place = Literal["done", "due", "later"]
Stance = Literal["fine", "finished", "act", "unknown"]
"""``fine``: nothing is wrong or missing. ``finished``: everything is done. ``act``: something is wrong, missing or
to be done. ``unknown``: the answer says that it cannot tell."""

# -- words -----------------------------------------------------------------------------------------------------

_WORD = re.compile(r"\d+(?:[./]\d+)?|[^\W\d_]+(?:['’][^\W\d_]+)?")
_VULGAR = re.compile(r"(?<=\d)(?=[\u00bc-\u00be\u2150-\u215e])")
_MIXED = re.compile(r"(?<![\d/.])(\d{1,4}) (\d{1,3}/\d{1,3})(?![\d/.])")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[;:\n]+")
_CLAUSE_END = re.compile(r"[,()]|\s(?:and|or|but|then|so|because|since|while|however)\s|\s[-–—]\s")


_NUMBERS = {
    word: str(n)
    for n, word in enumerate(word_list("one two three four five six seven eight nine ten eleven twelve"), 1)
} | {"zero": "0", "half": "1/2", "quarter": "1/4", "once": "1", "twice": "2", "couple": "2"}

_UNITS = {
    form: unit
    for unit, forms in {
        "tbsp": "tbsp tbsps tablespoon tablespoons tbs",
        "tsp": "tsp tsps teaspoon teaspoons",
        "cup": "cup cups",
        "oz": "oz ounce ounces",
        "g": "g gram grams",
        "kg": "kg kilogram kilograms",
        "ml": "ml milliliter milliliters millilitre millilitres",
        "l": "l liter liters litre litres",
        "lb": "lb lbs pound pounds",
        "mm": "mm millimeter millimeters millimetre millimetres",
        "cm": "cm centimeter centimeters centimetre centimetres",
        "inch": "inch inches",
        "second": "sec secs second seconds",
        "minute": "min mins minute minutes",
        "hour": "hr hrs hour hours",
        "degree": "degree degrees",
        "percent": "percent",
        "piece": "piece pieces slice slices",
    }.items()
    for form in forms.split()
}
_KIND_OF_UNIT = (
    dict.fromkeys(("tbsp", "tsp", "cup", "oz", "g", "kg", "ml", "l", "lb"), "quantity")
    | dict.fromkeys(("second", "minute", "hour"), "time")
    | dict.fromkeys(("mm", "cm", "inch"), "length")
    | {"degree": "heat", "percent": "share"}
)

_BASES = """
    leaves leaf, halves half, halve half, halved half, halving half, knives knife, tomatoes tomato, potatoes
    potato, forgot forget, forgotten forget, forgetting forget, did do, done do, doing do, went go, gone go,
    got get
    """
_IRREGULAR = dict(pair.split() for pair in _BASES.split(","))

_GRAMMAR = word_set("""
    a an the this that these those it its they them their there here he she his her him we our us i me my you your
    yours yourself is are was were be been being am do have has had having of to for in on at with from by as into
    onto up out if so and or but then than also too very just only more some any all each both every please
    can could may might will would shall should must need ought let next now yet still already before after first
    last step instead rather not no yes yeah yep nope never without which what who how when where why again else
    other another about around over under until because since while during make sure want lets good ok okay
    well forget miss skip wrong correct mistake it's you've i'm you're don't didn't haven't hasn't isn't aren't
    wasn't weren't shouldn't wouldn't can't cannot couldn't that's there's they're actually recipe answer go ahead
    start continue proceed later soon once come comes came coming
    """)


def plain_text(text: str) -> str:
    """Lower case, one form of every letter, fractions with a slash, mixed numbers as decimals."""
    spaced = _VULGAR.sub(" ", text)
    folded = unicodedata.normalize("NFKC", spaced).replace("\u2044", "/").replace("’", "'").lower()
    return _MIXED.sub(lambda m: _sum(m[1], m[2]), " ".join(folded.split(" ")))


def _sum(whole: str, part: str) -> str:
    value = _number(part)
    return f"{whole} {part}" if value is None else f"{float(int(whole) + value):g}"


def _number(text: str) -> Fraction | None:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Reduce an English word to a form that its inflections share: ``slicing`` and ``slices`` to ``slice``."""
    if word in _IRREGULAR:
        return _without_e(_IRREGULAR[word])
    if verb := base_form(word):
        return _without_e(verb)
    if len(word) <= 3 or not word.isalpha():
        return word
    for ending in ("ing", "ed"):
        base = word[: -len(ending)]
        if word.endswith(ending) and len(base) >= 3 and re.search(r"[aeiouy]", base):
            if base[-1] == base[-2] and base[-1] not in "lsz":
                return base[:-1]
            return _without_e(base)
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return _without_e(word[:-2])
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return _without_e(word[:-1])
    return _without_e(word)


def _without_e(base: str) -> str:
    return base[:-1] if base.endswith("e") and len(base) > 3 else base


FAMILY = {
    stem(form): family
    for family, forms in {
        "~put": "add put place pour insert transfer drop set lay fill spoon sprinkle scoop layer attach mount fit install season drizzle splash garnish",
        "~mix": "mix stir whisk combine blend beat toss",
        "~cut": "cut chop slice dice mince trim peel halve grate shred tear",
        "~heat": "heat warm preheat boil cook microwave fry toast melt simmer saute brown bake roast grill",
        "~take": "take get grab fetch remove pick gather collect",
        "~cover": "cover wrap top coat spread brush spray line",
        "~fix": "fasten tighten screw bolt secure fix clamp lock",
        "~wash": "rinse wash clean wipe dry pat drain",
        "~check": "check inspect test measure verify weigh",
    }.items()
    for form in forms.split()
}
"""Stems of action that people use for one another. They count as half a match: in a question of technique,
chopping is not slicing."""


def words(text: str) -> list[str]:
    """Plain words and numbers of a text, in order; number words become numbers."""
    return _tokens(plain_text(text))


def _tokens(plain: str) -> list[str]:
    """Words of a text that is plain already."""
    return [_NUMBERS.get(w, w) for w in _WORD.findall(plain)]


def _content(tokens: Iterable[str]) -> frozenset[str]:
    """Stems that carry content: no grammar words, numbers or units (amounts are compared apart)."""
    return (
        frozenset(stem(w) for w in tokens if w not in _GRAMMAR and w not in _UNITS and not w[0].isdigit())
        - _GRAMMAR
    )


# -- amounts ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Amount:
    """A number with its unit and what it is an amount of (the next content word, or the kind of the unit)."""

    value: Fraction
    unit: str
    of: str

    def equals(self, other: Amount) -> bool:
        """True when value and unit are the same; a missing unit ("2 instead of 1 tsp") fits any."""
        return self.value == other.value and (self.unit == other.unit or not self.unit or not other.unit)

    def __str__(self) -> str:
        return f"{self.value} {self.unit}".strip()


def _amounts(tokens: list[str]) -> tuple[Amount, ...]:
    found: list[Amount] = []
    for i, token in enumerate(tokens):
        value = _number(token) if token[0].isdigit() else None
        if value is None:
            continue
        unit, of = "", ""
        for following in tokens[i + 1 : i + 5]:
            if not unit and following in _UNITS:
                unit = _UNITS[following]
            elif following not in _GRAMMAR and not following[0].isdigit():
                of = stem(following)
                break
        if not unit and not of and found:
            unit, of = found[-1].unit, found[-1].of  # "2 screws instead of 3"
        kind = _KIND_OF_UNIT.get(unit, "")
        found.append(Amount(value, unit, kind if kind in ("time", "heat", "share") else of))
    return tuple(found)


# -- what is said ----------------------------------------------------------------------------------------------

_YES = word_set("yes yeah yep yup sure indeed absolutely definitely certainly")
_NO = word_set("no nope nah")
_NEGATION = (
    r"(?:no|not|n't|never|nothing|without|didn't|don't|haven't|hasn't|isn't|aren't|wasn't|weren't|doesn't)"
)

_FINISHED = re.compile(
    r"\b(?:(?:complet|finish)ed (?:all|every|the (?:recipe|task|activity|procedure|cooking|assembly)|everything|it\b)"
    r"|all (?:done|set|finished|(?:of )?(?:(?:the|your|these) )?steps (?:are|were|have been) (?:\w+ )?(?:done|complete\w*|finished))"
    r"|(?:that|this|it) (?:is|was|'s) (?:all|it|the last)|that's (?:all|it)\b|done with (?:all|everything|the)|you(?:'re| are) (?:all )?(?:done|finished)"
    r"|ready to (?:serve|eat|enjoy|drink|use|go)|(?:serve|enjoy) (?:it|them|your|the)|last step"
    r"|no (?:more|further|other|remaining) (?:steps?|actions?)|nothing (?:is |was )?(?:else|more|left|further|remains)"
    r"|no (?:\w+ )?steps? (?:(?:is|are) )?(?:left|remain\w*)"
    r"|(?:recipe|task|activity|procedure|dish) is (?:now )?(?:complete|done|finished|over|ready)"
    r"|everything is (?:done|complete|finished))"
)
_FINE = re.compile(
    r"\b(?:on (?:the right |the )?track|(?:going|doing|did|done|are) (?:it |this |that |them |everything )?(?:well|fine|great|good|ok|okay|right|correctly|properly|perfectly)"
    r"|(?:is|are|was|were|looks?|it's|that's|seems?) (?:all |just |perfectly |about )?(?:fine|good|ok|okay|correct|right|perfect|alright|proper|appropriate|enough|in order)"
    r"|correctly|properly|perfectly|as (?:instructed|required|described|expected)|(?:right|correct|proper) (?:amount|order|way|time|temperature|technique|heat|size|tool|number)"
    r"|everything (?:is|was|looks|so far)|(?:nothing|no (?:steps?|mistakes?|errors?|issues?|problems?|ingredients?)) (?:\w+ ){0,2}(?:miss\w*|wrong|forgotten|skipped|made|with)"
    r"|no (?:\w+ )?(?:mistakes?|errors?|issues?|problems?|missing|missed)|nothing (?:is|was|to)? ?(?:missing|wrong|forgotten|worry)"
    r"|good (?:job|so far|to go)|well done|all good|you're good|you are good|followed (?:all|the|every)"
    r"|have (?:added |used |got )?(?:all|everything)|(?:added|used|done|did|prepared|completed|followed|included|gathered) (?:all|everything|every)"
    r"|^(?:nothing|none)(?: yet)?(?=\s*(?:[,.;:!]|$))|nothing (?:that |which )(?:\w+ ){1,8}?(?:is|was|were) missing"
    r"|(?:all|everything) (?:that |which |you )(?:\w+ ){1,8}?(?:done|did)\b"
    r"|(?:not|nothing) (?:at this (?:point|stage|moment)|at the moment|right now|for now)"
    rf"|{_NEGATION} (?:\w+ ){{0,2}}?(?:left|leave|leaving) (?:\w+ )?out\b|{_NEGATION} (?:\w+ ){{0,2}}?(?:overlook|neglect)\w*"
    rf"|{_NEGATION} (?:\w+ ){{0,2}}?(?:miss|missed|missing|forget|forgot|forgotten|forgetting|skip|skipped|wrong|mistakes?|errors?|issues?|problems?)\b)"
)
_FAULT = re.compile(
    r"\b(?:forg[oe]t\w*|miss(?:ed|ing)?|skipp?\w*|should(?:n't| not)|should(?:'ve| have)|supposed to have"
    r"|instead|rather than|wrong(?:ly)?|incorrect(?:ly)?|improper(?:ly)?|too (?:much|many|little|few|long|short|early|late|soon|high|low|hot|cold|fast|slow|thick|thin|big|small|large)"
    r"|not (?:enough|yet|the right|correct|right|proper|sufficient|fully|properly|correctly|well)|\w+n't (?:proper|correct|right|enough|sufficient|properly|correctly)"
    r"|mistakes?|errors?|start over|go back|more than|less than|longer|fail(?:ed)?|without|insufficient(?:ly)?)\b"
)
_ADVICE = re.compile(
    r"\b(?:should|need(?:s|ed)? to|must|have to|has to|ought|supposed to|first|before|remember to)\b"
)
"""Says what to do; whether something is wrong then depends on the yes or no before it."""
_UNKNOWN = re.compile(
    r"\b(?:(?:can't|cannot|can not|couldn't|unable to|impossible to|not possible to|hard to|difficult to) (?:\w+ )?"
    r"(?:see|seen|tell|told|determined?|say|said|know|known|judged?|answer(?:ed)?|assess(?:ed)?|verify|verified|confirm(?:ed)?|assist|help)"
    r"|(?:don't|do not) (?:know|have enough|see)|not (?:sure|clear|visible)|unclear|unsure|no idea|insufficient information|not enough information)\b"
)
_EXCESS = re.compile(
    r"\btoo (?:much|many|long|high|hot|fast|big|large|thick|hard|late)\b|\bmore than\b|\bexcess\w*|\bover(?:cook|heat|mix|fill|bake)\w*"
)
_LACKING = re.compile(
    r"\btoo (?:little|few|short|low|cold|slow|small|thin|early|soon)\b|\bless than\b|\bnot (?:\w+ )?enough\b|\binsufficient\w*|\bunder(?:cook|heat|mix|fill|bake)\w*|\blonger\b"
)
_CONTRAST = re.compile(r"\b(?:instead of|rather than|and not|, not)\b|\binstead\b")
_REALLY_DONE = re.compile(
    r"\byou(?:'ve| have)? (?:\w+ly )?(?!should|need|must|have|can|forgot|missed|are|were|may|could|might|will|skipped)\w+"
)
_WISHED = re.compile(
    r"\b(?:should|need|must|have to|supposed|ought|recipe (?:says|needs|calls|asks|requires))\b"
)
_ORDER = re.compile(r"\b(before|after|until)\b")

_SEEKS_FAULT = re.compile(
    r"\b(?:forg[oe]t\w*|miss\w*|skip\w*|overlook\w*|wrong\w*|mistakes?|errors?|issues?|problems?|off with|incorrect\w*"
    r"|(?:left?|leave|leaving) (?:\w+ ){0,2}?out|jump\w* over|slip\w* (?:up|my|our)|neglect\w*|fail\w* to|go(?:ne)? back"
    r"|off(?= (?:here|just|in|about|while|when)\b|\s*\?|$)|mix\w* up|out of (?:order|turn)|mis(?:judg|tim|measur|us|plac|read|handl)\w*|should(?:n't| not) have|mess\w* up|different\w*|fewer|(?:later|earlier)(?! (?:step|part))|premature|overdue|badly|ahead of (?:my|our)"
    r"|(?:go|went|gone|going) (?:over|past|beyond)|(?:stay|stayed|kept) (?:below|under)|(?:more|less|longer|sooner) than"
    r"|too (?:much|many|little|few|long|short|early|late|soon|high|low|hot|cold|fast|slow)"
    r"|should (?:i|we) have|should've|should have|(?:i|we) should|(?:was|were) (?:i|we|it|this) supposed to|something (?:off|wrong)|fix|redo)\b"
)
_SEEKS_MORE = re.compile(r"\b(?:else|more|left|remaining|another|anything|longer)\b")
_SEEKS_PRAISE = re.compile(
    r"\b(?:correct(?:ly)?|properly|right(?! now)|okay|ok|fine|good|well|enough|(?:added|have|done|did|got|used|prepared|completed) (?:all|everything)"
    r"|(?:am i|are we|is it|is this|is that) (?:all )?(?:done|finished|complete|ready)|on track|accurate(?:ly)?|appropriate"
    r"|everything|all (?:the|of|that|my|our|earlier|steps)|every (?:\w+ )?step|(?:stick|stuck|keep|kept) to|match(?:es)?|follow\w* (?:the|all)"
    r"|(?:as|like) (?:i|we|it) should|proper|stop here|call it|(?:the )?end of|last (?:thing|step|one)|finished|complete)\b"
)


_DENIED = re.compile(
    r"\b(?:nothing|no|none|without) (?:\w+ ){0,4}$|\b(?:as|what|they|like|everything|all)(?: that| of what)? $"
)
_ASKS_AMOUNT = re.compile(
    r"\bhow (?:much|many|long|hot|cold|warm|high|big|large|thick|far|often)\b"
    r"|\b(?:what|which)(?:'s)? (?:\w+ ){0,4}?(?:amount|quantity|measurements?|number|temperature|duration|time|setting|heat|power|level|size|length|weight)\b"
)
_ASKS_COUNT = re.compile(r"\bhow many (?:\w+ ){0,4}?steps\b|\bnumber of (?:\w+ ){0,2}?steps\b")
_NO_FIGURE = re.compile(
    r"\b(?:wrong|off|problem|matter|mistake|do (?:now|about)|what (?:do|can|should) (?:i|we))\b"
)


def asks_for_amount(question: str) -> bool:
    """True when a figure answers the question: how much, how long, what temperature."""
    text = plain_text(question)
    return bool(_ASKS_AMOUNT.search(text)) and not _NO_FIGURE.search(text)


def asks_for_count(question: str) -> bool:
    """True when the question asks how many steps."""
    return bool(_ASKS_COUNT.search(plain_text(question)))


def asks_for_fault(question: str) -> bool | None:
    """Say what "no" means.

    Returns:
        True when it means that all is well ("Did I forget anything?"), False when it means that something is
        wrong ("Did I do it correctly?"), None when the question has no such side.
    """
    text = plain_text(question)
    fault = _SEEKS_FAULT.search(text)
    if fault is not None:
        # "with nothing left out" and "that no step was skipped" ask whether all is well.
        return _DENIED.search(text, 0, fault.start()) is None
    if _SEEKS_PRAISE.search(text):
        return False
    return True if _SEEKS_MORE.search(text) else None


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer says.

    Attributes:
        text: plain text that was read.
        polarity: yes or no, where the answer starts with it.
        contradictory: it says yes in one sentence and no in another.
        stance: see ``Stance``; None when it says nothing of the kind (a bare yes or no).
        mixed: all is said to be well and something is said to be wrong.
        units: content stems clause by clause, of what is said in the foreground.
        context: stems of what is only mentioned ("before ...", "because ...", "instead of ...").
        amounts: numbers with units.
        wanted: stems only on the side of what should be (``use X instead of Y``: X).
        actual: stems only on the side of what was done (Y).
        earlier: stems of what comes first (``X before Y``: X).
        later: stems of what comes second.
        direction: +1 for too much, -1 for too little, 0 for neither or both.
        assumed: the stance is only assumed, because it says something and nothing tells what for.
        place: where it puts what was asked about: done already, due now, or later; None when nowhere.
    """

    text: str
    polarity: Polarity | None
    contradictory: bool
    stance: Stance | None
    mixed: bool
    units: tuple[frozenset[str], ...]
    context: frozenset[str]
    amounts: tuple[Amount, ...]
    wanted: frozenset[str]
    actual: frozenset[str]
    earlier: frozenset[str]
    later: frozenset[str]
    direction: int
    assumed: bool = False
    place: Place | None = None

    @property
    def content(self) -> frozenset[str]:
        """All content stems, context included."""
        return self.context.union(*self.units)


def is_yes_no(question: str) -> bool:
    """True when a bare yes or no can answer the question: a clause starts with an auxiliary verb.

    "Could you tell me how ..." is a polite form of the question that follows.
    """
    plain = plain_text(question)
    return bool(_AUXILIARY.search(plain)) and not _POLITE.search(plain)


_OPEN = re.compile(r"\b(?:what|which|who|where|why|when|how)\b")


def is_open(question: str) -> bool:
    """True when the question asks what, which, how ...: neither yes nor no answers it."""
    return not is_yes_no(question) and bool(_OPEN.search(plain_text(question)))


_POLITE = re.compile(
    r"\b(?:can|could|would|will) you (?:please )?(?:\w+ )?(?:remind|tell|show|explain|say|help|give)\b.{0,20}\b(?:what|which|how|where|when|why|who)\b"
)


_AUXILIARY = re.compile(
    r"(?:^|[.!?,:;]\s+|\b(?:so|and|but|or|hey|wait|hm+|also) )(?:is|are|was|were|am|do|does|did|have|has|had|should|shall|can|could|will|would|must|may|might|ought)(?:n't)? "
)


def read_question(text: str) -> frozenset[str]:
    """Content stems of a question."""
    return _content(words(text))


def read_answer(text: str) -> Reading:
    """Read one answer; any text is fine, the empty one says nothing."""
    plain = plain_text(text)
    sentences = [
        s for s in (part.strip(" ,-*\"'") for part in _SENTENCE_END.split(_ANY_ORDER.sub(" ", plain))) if s
    ]
    polarities = [p for s in sentences if (p := _polarity(s)) is not None]
    wanted, actual = _contrast(sentences)
    earlier, later = _order(sentences)
    parts = [_foreground(s) for s in sentences]
    clauses = [c for front, _ in parts for c in _CLAUSE_END.split(front)]
    units = tuple(u for c in clauses if (u := _content(_tokens(c))))
    if _RESTART.search(plain):
        units = (frozenset({RESTART}), *units)
    if _ANY_ORDER.search(plain):
        units = (frozenset({ANY_ORDER}), *units)
    stance, mixed, assumed = _stance(plain, units)
    amounts = _amounts(_tokens(plain))
    if stance is None and amounts:
        stance, assumed = "act", True
    return Reading(
        text=plain,
        polarity=polarities[0] if polarities else None,
        contradictory=len(set(polarities)) > 1 or any(_hedges(s) for s in sentences[:1]),
        stance=stance,
        mixed=mixed,
        units=units,
        context=_content(_tokens(" ".join(behind for _, behind in parts))),
        amounts=amounts,
        wanted=wanted - actual,
        actual=actual - wanted,
        earlier=earlier - later,
        later=later - earlier,
        direction=bool(_EXCESS.search(plain)) - bool(_LACKING.search(plain)),
        assumed=assumed,
        place=next((place for place, pattern in _PLACES if pattern.search(plain)), None),
    )


def _polarity(sentence: str) -> Polarity | None:
    first = _WORD.search(sentence)
    if first is None:
        return None
    if first[0] in _YES:
        return "yes"
    follows = sentence[first.end() :].lstrip()
    if first[0] in _NO or (first[0] == "not" and follows.startswith(("yet", "really", "at all"))):
        # "No steps are missing" begins with a number of steps, not with an answer.
        return (
            "no"
            if not follows
            or not follows[0].isalpha()
            or first[0] != "no"
            or follows.startswith(("you", "it", "i ", "they", "there", "that", "this", "need"))
            else None
        )
    return None


def _hedges(sentence: str) -> bool:
    return bool(
        re.match(r"(?:yes (?:and|or|and also) no|no (?:and|or) yes|yes[,/ ]+no|no[,/ ]+yes)(?:$|,)", sentence)
    )


_NEGATED_BEFORE = re.compile(r"(?:n't|\bnot|\bnever|\bcannot|\bhardly|\bwithout)(?: \w+){0,6} $")
_BUT = re.compile(r"\b(?:but|however|except|although|though|yet)\b")
_RESTART = re.compile(
    r"\b(?:(?:start|begin|prepare|make it|do it) (?:all )?(?:over|again|from)|from (?:the (?:beginning|start)|scratch)|restart|redo (?:everything|all))\b"
)
RESTART = "~restart"
"""Stands among the content stems for "start over": an intervention is another answer than a repair."""


ANY_ORDER = "~any order"
"""Stands among the content stems for "the order does not matter", which has many wordings."""
_ANY_ORDER = re.compile(
    r"\b(?:any order|(?:in )?either order|either (?:of \w+(?: \w+)? |one |step )?(?:can|may|could)|both (?:of them )?(?:can|may|could)"
    r"|order (?:does not|doesn't|is not|isn't) (?:matter|important|fixed)|no (?:fixed|particular) order)\b"
)
_PLACES: tuple[tuple[Place, re.Pattern[str]], ...] = (
    ("done", re.compile(r"\balready\b")),
    (
        "later",
        re.compile(
            r"\b(?:comes? (?:\w+ )?later|later on|not (?:due|needed|time) yet|first (?:have|need) to|too (?:early|soon) for)\b"
        ),
    ),
    (
        "due",
        re.compile(r"\b(?:(?:comes?|is|are|be) (?:due|next)|(?:can|could|may|should) (?:\w+ ){1,12}?now)\b"),
    ),
)


def _stance(plain: str, units: tuple[frozenset[str], ...]) -> tuple[Stance | None, bool, bool]:
    """Return the stance, whether the answer also says the opposite ("that is fine, but ..."), and whether it is assumed."""
    well: Stance | None = None
    negated = False
    for pattern, stance in ((_FINE, "fine"), (_FINISHED, "finished")):
        for match in pattern.finditer(plain):
            if _NEGATED_BEFORE.search(plain, max(0, match.start() - 30), match.start()):
                negated = True
            else:
                well = "finished" if stance == "finished" else "fine"
    rest_text = _FINISHED.sub(" ", _FINE.sub(" ", plain))
    but = _BUT.search(rest_text)
    wrong = (
        negated
        or bool(_FAULT.search(rest_text))
        or bool(but and len(_content(_tokens(rest_text[but.end() :]))) > 1)
    )
    fault = wrong or bool(_ADVICE.search(rest_text))
    if well and not fault:
        return well, False, False
    if _UNKNOWN.search(plain):
        return "unknown", False, False
    if fault or units:
        return "act", bool(well), not wrong
    return None, False, False


_MENTION = re.compile(r"\b(?:before|after|until|because|since|instead of|rather than|when|while|so that)\b")


def _foreground(sentence: str) -> tuple[str, str]:
    """Split a sentence into what it says and what it only mentions: "Add salt | before stirring"."""
    match = _MENTION.search(sentence)
    if match is None:
        return sentence, ""
    front, behind = sentence[: match.start()], sentence[match.end() :]
    if _content(_tokens(front)) or _RESTART.search(front):
        return front, behind
    mention, comma, rest = behind.partition(",")
    return (f"{front} {rest}", mention) if comma else (behind, "")


def _contrast(sentences: list[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Stems of what should be and of what was done, from "X instead of Y"."""
    wanted, actual = set[str](), set[str]()
    for sentence in sentences:
        match = _CONTRAST.search(sentence)
        if match is None:
            continue
        left, right = sentence[: match.start()], sentence[match.end() :]
        if not (_tokens(left) and _tokens(right)):
            continue
        sides = []
        for side in (_tokens(left), _tokens(right)):
            # amounts as stems: the bare number, and the number with its unit
            amounts = {mark for a in _amounts(side) for mark in (f"#{a.value}", f"#{a.value}{a.unit}")}
            sides.append({*_content(side), *amounts})
        if match[0].endswith("not"):
            # "Two, not three": what stands first is meant.
            wanted |= sides[0]
            actual |= sides[1]
            continue
        wished = bool(_WISHED.search(left))
        if not wished and not _REALLY_DONE.search(left):
            # "Use 2 instead of 1" may be advice or a report: nothing is known of the roles.
            continue
        wanted |= sides[0] if wished else sides[1]
        actual |= sides[1] if wished else sides[0]
    return frozenset(wanted), frozenset(actual)


def _order(sentences: list[str]) -> tuple[frozenset[str], frozenset[str]]:
    earlier, later = set[str](), set[str]()
    for sentence in sentences:
        match = _ORDER.search(sentence)
        if match is None:
            continue
        left, right = _content(_tokens(sentence[: match.start()])), _content(_tokens(sentence[match.end() :]))
        first, second = (right, left) if match[0] == "after" else (left, right)
        earlier |= first
        later |= second
    return frozenset(earlier), frozenset(later)


# -- the words of an activity ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Vocabulary:
    """How much each word tells about which step of an activity is meant."""

    steps: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, graph: TaskGraph) -> Vocabulary:
        """Take the words of all steps of a task graph."""
        return cls({s.id: _content(words(s.text)) for s in graph.actions})

    @cached_property
    def _frequency(self) -> Counter[str]:
        return Counter(w for tokens in self.steps.values() for w in tokens)

    def weight(self, word: str) -> float:
        """Inverse document frequency over the steps; words of no step count like a word of some steps."""
        return self._weights.get(word, self.unseen)

    @cached_property
    def _weights(self) -> Mapping[str, float]:
        return {w: math.log((len(self.steps) + 1) / (n + 0.5)) for w, n in self._frequency.items()}

    @cached_property
    def _totals(self) -> Mapping[str, float]:
        """Weight of each step's words."""
        return {i: self.total(tokens) for i, tokens in self.steps.items()}

    @cached_property
    def unseen(self) -> float:
        """Weight of a word that no step has."""
        return 0.6 * math.log(len(self.steps) + 2)

    def total(self, tokens: Iterable[str]) -> float:
        """Summed weight of words."""
        return math.fsum(self.weight(t) for t in tokens)

    def knows(self, word: str) -> bool:
        """True when some step has the word."""
        return word in self._frequency

    def recognise(self, unit: frozenset[str], threshold: float = 0.5) -> frozenset[str]:
        """Steps that a clause speaks of: those whose words cover it best; empty when none does well enough."""
        known = [t for t in unit if self.knows(t)]
        if not known:
            return frozenset()
        whole = self.total(known) + 0.25 * self.total(t for t in unit if not self.knows(t))
        scored = {}
        for step_id, tokens in self.steps.items():
            shared = self.total(t for t in known if t in tokens)
            if shared:
                scored[step_id] = 0.7 * shared / whole + 0.3 * shared / self._totals[step_id]
        best = max(scored.values())
        return (
            frozenset(i for i, s in scored.items() if s >= best - 0.05) if best >= threshold else frozenset()
        )
