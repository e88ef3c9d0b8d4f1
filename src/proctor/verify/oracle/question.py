"""What a question asks: its intent, what an affirmative answer would mean, and what it is about.

The type of an example says which facts it was made for, not what was asked: inside a ``next`` example people
also ask whether they forgot something. So the intent is read from the words alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from proctor.verify.oracle.text import content, is_talk, normalise

__all__ = ["INTENTS", "Intent", "Question", "parse_question"]

Intent = Literal[
    "next", "left", "forgot", "forgot_step", "all_good", "propose", "order", "check", "detail", "other"
]
INTENTS: Final[tuple[Intent, ...]] = (
    "next",
    "left",
    "forgot",
    "forgot_step",
    "all_good",
    "propose",
    "order",
    "check",
    "detail",
    "other",
)
"""
``next`` what to do now · ``left`` is there anything (else) to do · ``forgot`` was something left out ·
``forgot_step`` was this step left out · ``all_good`` is everything done, right or ready · ``propose`` shall I do
this now · ``order`` was this the right moment · ``check`` was this done right · ``detail`` how much, how long,
with what · ``other`` anything else.
"""


@dataclass(frozen=True, slots=True)
class Question:
    """A parsed question.

    Attributes:
        intent: see ``INTENTS``.
        wh: asks for a word, not for yes or no.
        trouble: the answer that would mean "something is to be done or went wrong".
        past: asks about what should already have happened.
        stems: content stems of what it is about, scope words excluded.
        before: content stems behind "before"; empty when there is none.
        after: content stems behind "after".
        plain: the normalised text.
    """

    intent: Intent
    wh: bool
    trouble: Literal["yes", "no"]
    past: bool
    stems: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    plain: str


_WH = re.compile(r"\b(?:what|which|how|where|when|why|who)\b")
_OMIT = re.compile(
    r"\b(?:miss|missed|missing|forget|forgot|forgotten|forgetting|skip|skipped|skipping|overlook|overlooked|"
    r"overlooking|omit|omitted|neglect|neglected|left out|leave out|leaving out)\b"
)
_EXISTENTIAL = re.compile(
    r"\b(?:anything|something|any|everything|an? (?:\w+ )?(?:step|ingredient|thing|part|action|component|item)|steps?|"
    r"ingredients?|what|which|some)\b"
)
_ANYTHING = re.compile(
    r"\b(?:anything|something|any (?:more|other|further|additional)|else|any|what else|more to|another|"
    r"an? (?:\w+ )?(?:step|ingredient|thing|part|item))\b"
)
_SHOULD_HAVE = re.compile(
    r"\b(?:should(?: i| we| you)?(?: have| has)|should have|was i supposed|were we supposed|did i need|"
    r"did i have to|i needed to|we needed to|was i meant|needed to have|ought to have|supposed to have|could i have)\b"
)
_ORDER = re.compile(
    r"\b(?:too (?:early|soon|late)|wrong (?:order|time|moment|to)|(?:right|correct|proper) (?:order|time|moment)|"
    r"earlier|later|out of order|sequence|prematurely|order)\b"
)
_GOOD = re.compile(
    r"\b(?:right|correct|correctly|properly|proper|okay|ok|fine|alright|enough|accurate|accurately|good|well|"
    r"appropriate|suitable|exact|perfect|sufficient|sufficiently|supposed to be (?:this|that|so)|as intended|as expected|normal)\b"
)
_BAD = re.compile(
    r"\b(?:wrong|wrongly|mistakes?|errors?|incorrect|incorrectly|too (?:much|many|little|few|long|short|hot|cold|"
    r"high|low|big|small|thick|thin|fast|slow|hard|soft|large)|off|mess|messed|issues?|problems?|fix|bad|badly|"
    r"redo|improper|improperly|inaccurate|over|under)\b"
)
_CHANGE = re.compile(
    r"\b(?:different|instead|fewer|less|more|another|longer|shorter|adjust|change|redo|fix)\b"
)
_MORE_OF = re.compile(r"\b(?:more|other|additional|further) (?!with\b|than\b|time\b|to\b|or\b|now\b)[a-z]+")
_ADJUST = re.compile(r"\bshould (?:the|my|this)\b.*\bbe\b")
_WHOLE = re.compile(
    r"\b(?:everything|all (?:(?:of |the |my )*(?:\w+ )?(?:steps|ingredients|parts|items|components|tools|instructions)|set|good|done)|so far|up to (?:now|this|here)|on track)\b"
)
_READY = re.compile(
    r"\b(?:am i|are we|is everything|is it|are things) (?:all )?(?:ready|set|done|finished|good)\b"
)
_AMOUNT = re.compile(
    r"\bhow (?:much|many|long|hot|high|thick|thin|big|small|finely|far|often|hard|deep|tight)\b|"
    r"\b(?:what|which) (?:\w+ )?(?:amount|quantity|temperature|heat|setting|tool|utensil|size|time|speed|kind|type|"
    r"power|level|shape|torque|pressure|volume|length)\b"
)
_REMIND = re.compile(
    r"\b(?:next|final|last|following) (?:step|instruction|thing|one|action)\b(?!.*\bready\b)|\bwhat is next\b"
)
_HOW_TO = re.compile(r"how (?:should|do|can|could|must|to)\b")
_FOLLOWING = re.compile(
    r"\b(?:next|now|now on|after|afterwards|then|left|remain|remains|remaining|first|start|begin|follow|follows|"
    r"following|comes|do|from here|upcoming|proceed|continue|add)\b"
)
_MODAL = re.compile(
    r"\b(?:should (?:i|we)|do (?:i|we) (?:need|have)|am i supposed|are we supposed|is it (?:time|okay|ok|safe|alright|"
    r"fine|right)|can (?:i|we)|may i|could i|shall (?:i|we)|am i ready|are we ready|must i|am i (?:about|going)|"
    r"time to|is it my turn|would it be|ready to|is now|ought i)\b"
)
_RIGHT_PROPOSAL = re.compile(
    r"\b(?:(?:is it|would it be) (?:okay|ok|alright|fine|right|good|safe|time) (?:to|if|for)|time to|should (?:i|we)|"
    r"can (?:i|we)|may i|am i supposed to|ready to)\b"
)
_NOW = re.compile(r"\bright (?:now|away|here)\b")
_RIGHT_NOW = re.compile(r"\bright (?:now|away|here)\b")
_SCOPE = re.compile(r"\b(before|prior to|until|after|following|once|since)\b")
_PROPOSAL = re.compile(
    r"\b(?:(?:is it|would it be) (?:okay|ok|alright|fine|right|good|safe|time) (?:to|if|for)|time to|should (?:i|we)|"
    r"can (?:i|we)|may i|am i supposed to|ready to)\b"
)
_NOW = re.compile(
    r"^(?:this|that|now|here|it|these|those|(?:(?:i|we) )?(?:mov|go|continu|proceed)(?:e|ing)?(?: on| forward| further| ahead)?|my last step|the last step|my previous step)?$"
)


def _split_scope(plain: str) -> tuple[str, str, str]:
    """Return the text without its scope, what stands behind "before", and what stands behind "after"."""
    found = _SCOPE.search(plain)
    if not found:
        return plain, "", ""
    head, tail = plain[: found.start()], plain[found.end() :]
    if not head.strip(" ,") and "," in tail:
        tail, _, head = tail.partition(",")
    kind = found[1]
    if kind in ("before", "prior to", "until"):
        return head, tail, ""
    return head, "", tail


def _intent(plain: str, head: str, wh: bool) -> Intent:
    """Decide what is asked; the first rule that fits wins."""
    whole = bool(_WHOLE.search(plain))
    if _OMIT.search(plain):
        rest = _OMIT.sub(" ", head)
        if wh or _EXISTENTIAL.search(rest) or not _about(rest):
            return "forgot"
        return "forgot_step"
    if _HOW_TO.match(head) or (
        _AMOUNT.search(plain) and not _BAD.search(head) and not _ANYTHING.search(head)
    ):
        return "detail"
    if whole and not wh and not _proposes(plain):
        return "all_good"
    if _SHOULD_HAVE.search(plain):
        if wh or _ANYTHING.search(head):
            return "forgot"
        return "order" if _ORDER.search(plain) or head != plain else "check"
    if _ORDER.search(plain) and not _ANYTHING.search(head) and not wh:
        return "order"
    if _READY.search(plain) and not _about(head):
        return "all_good"
    return _judging(plain, head, wh)


def _judging(plain: str, head: str, wh: bool) -> Intent:
    if (
        _REMIND.search(plain)
        and not _BAD.search(head)
        and not _GOOD.search(head)
        and not _ANYTHING.search(head)
    ):
        return "next"
    if wh and not _BAD.search(head):
        if _FOLLOWING.search(plain) and not plain.startswith(("why", "how")):
            return "next"
        return "other"
    if _BAD.search(head) or (_GOOD.search(head) and not _proposes(plain)):
        return "check"
    if (
        _CHANGE.search(head)
        and _MODAL.search(plain)
        and not re.search(r"\b(?:anything|any|else|something)\b", head)
    ):
        return "check"
    if _ANYTHING.search(head):
        return "left"
    if _MODAL.search(plain):
        return "propose"
    return "all_good" if _READY.search(plain) else "other"


def _proposes(plain: str) -> bool:
    return bool(_PROPOSAL.search(plain))


def _about(text: str) -> bool:
    """True when a text names something besides talk about procedures."""
    return any(not is_talk(w) for w in content(text))


def _trouble(intent: Intent, plain: str, head: str) -> Literal["yes", "no"]:
    if intent == "all_good":
        return "no"
    if intent == "check":
        if _BAD.search(head) or _CHANGE.search(head):
            return "yes"
        return "no" if _GOOD.search(head) else "yes"
    if intent == "order":
        good = re.search(r"\b(?:right|correct|proper) (?:order|time|moment)\b", plain)
        return "no" if good else "yes"
    return "yes"


@lru_cache(maxsize=4_096)
def parse_question(text: str) -> Question:
    """Read what a question asks; any text gives a result, the intent ``other`` when no rule fits."""
    plain = _RIGHT_NOW.sub("now", normalise(text))
    head, before, after = _split_scope(plain)
    if not head.strip():
        head = plain
    opening = re.sub(
        r"^(?:(?:so|ok|okay|and|now|then|wait|hey|um|hmm|alright|well|also|but)[ ,]+)+", "", head
    )
    wh = bool(_WH.match(opening)) or (
        bool(_WH.search(opening))
        and not re.match(r"(?:is|are|am|did|do|does|have|has|was|were|should|can|could)\b", opening)
    )
    intent = _intent(plain, opening, wh)
    return Question(
        intent=intent,
        wh=wh,
        trouble=_trouble(intent, plain, opening),
        past=bool(_SHOULD_HAVE.search(plain) or re.search(r"\b(?:did|have i|have we|was|were|had)\b", plain)),
        stems=tuple(w for w in content(opening) if not is_talk(w)),
        before=_scope_stems(before),
        after=_scope_stems(after),
        plain=plain,
    )


def _scope_stems(text: str) -> tuple[str, ...]:
    return () if _NOW.match(text.strip()) else tuple(w for w in content(text) if not is_talk(w))
