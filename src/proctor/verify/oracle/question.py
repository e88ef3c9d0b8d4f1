"""What a question asks: its intent, what an affirmative answer would mean, and what it is about.

The type of an example says which facts it was made for, not what was asked: inside a ``next`` example people
also ask whether they forgot something. So the intent is read from the words alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, get_args

from proctor.verify.oracle.text import content, is_talk, normalise

__all__ = ["INTENTS", "Intent", "Question", "parse_question"]

Intent = Literal[
    "next",
    "left",
    "forgot",
    "forgot_step",
    "skip",
    "all_good",
    "propose",
    "order",
    "check",
    "detail",
    "other",
]
INTENTS: Final[tuple[Intent, ...]] = get_args(Intent)
"""
``next`` what to do now · ``left`` is there anything (else) to do · ``forgot`` was something left out ·
``forgot_step`` was this step left out · ``skip`` may it be · ``all_good`` is everything done, right or ready · ``propose`` shall I do
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
        now: confines itself to this moment ("now", "at this point").
        completion: asks whether the whole activity is over, not whether it went well so far.
        place: asks whether something is to come first, or before something else.
        use: asks whether what the activity makes can be used ("can I hand it over?").
        adjusts: asks whether to do something more, longer or otherwise, and not whether it was right.
        permission: asks whether something is fine to do ("is it okay to cut it by hand?").
        plain: the normalised text.
    """

    intent: Intent
    wh: bool
    trouble: Literal["yes", "no"]
    past: bool
    stems: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    now: bool
    completion: bool
    place: bool
    use: bool
    adjusts: bool
    permission: bool
    plain: str


@dataclass(frozen=True, slots=True)
class _Parts:
    """The normalised question, its preface ("I'm lost. ..."), and its main clause without scope."""

    plain: str
    preface: str
    asked: str
    head: str
    before: str
    after: str
    wh: bool


# -- cues ------------------------------------------------------------------------------------------------------

_AUXILIARY: Final = (
    "is|are|am|was|were|did|do|does|have|has|had|should|shall|can|could|may|might|must|would|will|ought"
)
_WH = re.compile(r"\b(?:what|which|how|where|when|why|who)\b")
_INVERTED = re.compile(rf"(?:{_AUXILIARY})\b")
_ASKING = re.compile(
    rf"(?:^|(?<=[,;:.!?]) )(?:(?:and|but|so|then|or) )?((?:{_AUXILIARY}|what|which|how|where|when|why|who)\b)"
)
_SENTENCES = re.compile(r"[.!?;]+ ")
_POLITE = re.compile(
    r"^(?:please )?(?:(?:can|could|would|will) you (?:please )?(?:tell|remind|show|explain to|help|advise|confirm|verify|check)(?: me| us)?(?: with| about| of)?|"
    r"(?:tell|remind|show) (?:me|us)(?: of| about)?|let (?:me|us) know|do you (?:know|think|see|happen to know)|"
    r"(?:i|we) (?:would like|want|need|had like) to (?:know|check|ask)|(?:i am|we are|i was)? ?(?:wondering|wonder|not sure|unsure))"
    r",? (?:if|whether|that)?,? ?"
)
_FILLER = re.compile(
    r"^(?:(?:so|ok|okay|and|now|then|wait|hey|hi|um|hmm|alright|well|also|but|oh|sorry|please)[ ,]+)+"
)
_RIGHT_NOW = re.compile(r"\bright (?:now|away|here)\b")
_RIGHT_AT = re.compile(r"\b(?:right|just|directly|immediately) (after|before|once)\b")
_SCOPE = re.compile(
    r"\b(before|prior to|until|after|following|once|since|now that|as soon as)\b|"
    r"(?<=[a-z] )\b(when|with)\b(?= (?:the|my|all|both|every|it|they|everything)\b.*\b(?:is|are|has|have|in place|done|ready|finished)\b)"
)
_GENERAL_SCOPE = re.compile(
    r"^(?:this|that|now|here|it|these|those|(?:(?:i|we) )?(?:can )?(?:mov|go|continu|proceed|carry)(?:e|y|ing|ying)?"
    r"(?: on| forward| further| ahead)?|(?:my|the) (?:last|previous|current) step)?$"
)

_OMIT = re.compile(
    r"\b(?:miss|missed|missing|forget|forgot|forgotten|forgetting|skip|skipped|skipping|overlook|overlooked|"
    r"overlooking|go(?:ing)? back (?:for|and|to do)|omit|omitted|omitting|neglect|neglected|(?:left|leave|leaving) \w*(?: \w+)? ?out|left out|jump(?:ed)? over|pass(?:ed)? over|"
    r"slip(?:ped)? (?:my|our|your) mind|undone)\b"
)
_MAY_SKIP = re.compile(
    r"\b(?:can|could|may|might|should|is it (?:okay|ok|fine|alright|possible) (?:to|if)) (?:(?:i|we) )?(?:[a-z]+ly |just )?(?:skip|omit|leave out|pass over)\b"
)
_EXISTENTIAL = re.compile(
    r"\b(?:anything|something|any|everything|an? (?:\w+ )?(?:step|ingredient|thing|part|action|component|item)|steps?|"
    r"ingredients?|what|which|some)\b"
)
_ANYTHING = re.compile(
    r"\b(?:anything|something|any (?:more|other|further|additional)|else|any|more to|another|"
    r"there (?:other|more|further|additional) [a-z]+|"
    r"(?:an?|some) (?:\w+ )?(?:step|ingredient|thing|part|item|component))\b"
)
_SHOULD_HAVE = re.compile(
    r"\b(?:should(?: i| we| you)?(?: have| has)|^should (?:[a-z]+ ){1,5}have (?:been|[a-z]+ed|come|gone|stayed)\b|should have|(?:was|were) (?:i|we) supposed|^(?:was|were) (?:[a-z]+ ){1,4}(?:supposed|meant) to|did (?:i|we) need|"
    r"did (?:i|we) have to|(?:i|we) needed to|was i meant|needed to have|ought to have|supposed to have|could i have)\b"
)
_ORDER = re.compile(
    r"\b(?:too (?:early|soon|late)|was it (?:the )?time|(?:come|came|have come|to come|wait) (?:before|first|after|for)|wrong (?:order|time|moment|to)|(?:right|correct|proper|good) (?:order|time|moment)|"
    r"earlier|later|sooner|ahead of myself|out of (?:order|turn|sequence)|ahead of (?:its|my|the) (?:time|turn)|sequence|"
    r"prematurely|premature|order|(?:its|their|my|our|whose) turn|jump(?:ed|ing)? (?:ahead|the gun)|"
    r"(?:get|got|getting|run|ran|running) ahead|(?:late|early|hasty) with)\b"
)
_PLACE = re.compile(
    r"^(?:is|are|was|were|do|does|did|should|ought) (?:(?:the|my|this|that|these|those) )?(?!the |my |first )[a-z]+ (?:[a-z]+ ){0,3}?"
    r"(?:(?:(?:supposed|meant|expected|have|need) )?(?:to )?(?:come|go|be|be done|happen|be [a-z]+(?:ed|ut|id)|have come|have gone|"
    r"have been|have been [a-z]+(?:ed|ut|id)) (?:(?:in|on|into it|onto it|there) )?)?(?:the )?(?:very )?"
    r"(?:first(?: (?:thing|step|part|one|action|to (?:go|come)))?(?: .*)?$|before .+)"
)
"""Asks for the place of a thing or step: "is X meant to come first", "does X go in before Y"."""
_OWN = re.compile(r"\b(?:i|we|it time|now|okay|ok|fine|right|there)\b")
_WHICH_COMES = re.compile(
    r"[a-z] (?:that|which) (?:has|have|had|should|must|needs?|comes?|goes|go|come|is|are|was|were)\b"
)
_LEADS = re.compile(r"\bfirst\b")
_PLACED_BY = re.compile(
    r"\b(?:supposed|meant|expected|come|go|gone|have been|be|first (?:thing|step|part|one|to))\b"
)
_WAS_TIME = re.compile(
    r"(?:was|were) (?:it|that|this)(?: really| already)? (?:the |a )?(?:right |good |proper |correct |best )?(?:time|moment|point)\b|"
    r"(?:was|were) (?:i|we) (?:really |already )?ready (?:to|for)\b"
)
_GOOD_ORDER = re.compile(
    r"\b(?:right|correct|proper|good) (?:order|time|moment)\b|\bin (?:order|sequence|turn)\b"
)
_GOOD = re.compile(
    r"\b(?:right|correct|correctly|properly|proper|okay|ok|fine|alright|enough|accurate|accurately|good|"
    r"appropriate|suitable|exact|perfect|sufficient|sufficiently|well(?=$| prepared)|supposed to be (?:this|that|so)|normal|"
    r"as (?:intended|expected|required|instructed|written|planned|described|asked|it should|(?:i|we|they) should)|"
    r"match|matches|matched|matching|(?:stick|stuck|sticking|kept|keep) to|in line with|according to|agree|agrees)\b"
)
_BAD = re.compile(
    r"\b(?:wrong|wrongly|mistakes?|mistaken|errors?|incorrect|incorrectly|too (?!early|soon|late|to\b)[a-z]+|"
    r"(?:anything|something|nothing|what is|is it|was it) (?:[a-z]+ )?off|^(?:is|was|are|were) .* off(?: (?:in|at|during|for|with)\b|$)|mess|messed|"
    r"differently|to correct|issues?|problems?|trouble|fix|bad|badly|redo|improper|improperly|inaccurate|overdo|overdid|"
    r"(?:go|went|gone|going|run|ran) (?:over|under|beyond)|exceed|exceeded|short of|deviate|deviated|differ|differs|differed|"
    r"slip up|slipped up|(?:should|could) not have|(?:not|never) (?:supposed|meant|allowed)|what (?:is|was) the matter|past the|stay(?:ed)? (?:below|above|within)|fault|faulty|mix(?:ed)? up|mis(?!s|take)[a-z]{3,}|not (?:right|correct|fine|okay|good|enough))\b"
)
_CHANGE = re.compile(
    r"\b(?:different|differently|instead|fewer|less|more|another|longer|shorter|adjust|change|redo|fix)\b"
)
_MORE_OF = re.compile(
    r"\b(?:more|other|additional|further) (?!with\b|than\b|time\b|to\b|or\b|now\b|heat\b)[a-z]+"
)
_ADJUST = re.compile(r"\bshould (?:the|my|this)\b.*\bbe\b|\bneeds? to be [a-z]+er\b")
_BE_DONE = re.compile(
    r"^should (?:the|my|this|these|those|both) (?:[a-z]+ ){1,4}be [a-z]+ed\b(?!.*(?:er|re|ss)\b)"
)
"""Asks whether a thing is to be worked on ("should the board be sanded"), not whether it is to be otherwise."""
_WHOLE = re.compile(
    r"\b(?:everything|every (?:\w+ )?(?:step|ingredient|part|thing|item|instruction)|"
    r"all (?:(?:of |the |my )*(?:\w+ )?(?:steps|ingredients|parts|items|components|tools|instructions|things)|set|good|done)|"
    r"so far|up to (?:now|this|here)|until now|on track|in place)\b"
)
_READY = re.compile(
    r"\b(?:am i|are we|is everything|is it|are things) (?:all |almost |nearly )?(?:ready|set|done|finished|good)\b"
)
_RESULT: Final = r"(?:it|this|that|they|these|those|them|everything|things)"
_USE: Final = (
    r"(?:be )?(?:eat|eaten|drink|drunk|use|used|serve|served|taste|tasted|enjoy|enjoyed|wear|worn|operate|operated|consume|"
    rf"consumed|ship|shipped|deliver|delivered|go live|hand(?:ed)? (?:{_RESULT} )?(?:over|out|in|back)|"
    rf"give {_RESULT} (?:away|back))"
)
_WHEN: Final = r"(?: (?:now|yet|already|as it is|at this point|like this))*"
_USABLE = re.compile(
    rf"(?:is|are) {_RESULT} (?:(?:all|now|already|finally) )*(?:ready|safe|fit|okay|ok|fine|good|done enough)"
    rf"(?: now)? (?:to {_USE}|for (?:use|serving|eating|drinking|shipping|delivery|operation))(?: it| them)?{_WHEN}$|"
    rf"(?:can|may|could) (?:i|we|they|someone|people|anyone) (?:(?:now|already|finally) )*{_USE}(?: {_RESULT})?{_WHEN}$|"
    rf"(?:am i|are we) (?:(?:all|now|already) )*(?:ready|good|set)(?: now)? to {_USE}(?: {_RESULT})?{_WHEN}$|"
    rf"(?:can|may|could) (?:it|this|that|they|these|those) (?:(?:now|already|finally) )*{_USE}{_WHEN}$"
)
"""Asks whether what the activity makes can be used, which it can when the activity is over."""
_PERFORMED = re.compile(
    r"(?:did|have) (?:i|we) (?!need|have|not)[a-z]+\b|(?:has|have|was|were) (?:the|my|our|this|these|all|both|every|each) .*\b[a-z]+ed\b|"
    r"(?:is|are) (?:the|my|our|this|these|all|both) (?:[a-z]+ ){1,5}?(?:now |all |already |fully )*[a-z]+ed(?: now| yet| already)?$"
)
_FIRST = re.compile(r"\b(?:first|beforehand|before)$")
_NOT_DONE = re.compile(
    r"\b(?:anything|something|steps?|things?|parts?|ingredients?)(?: that| which)? (?:i|we) (?:have|had|did) not\b|"
    r"\b(?:have|did) (?:i|we) not (?:do|done)\b|\b(?:anything|something)\b.*\b(?:yet to|still to) (?:do|be)\b"
)
_REMAINS = re.compile(
    r"(?:is|are) there (?:still |any |some |more )*(?:[a-z]+ ){1,4}(?:left|remaining|to go)\b"
)
_NOT_YET_DONE = re.compile(r"(?:what|which)\b.*\b(?:have|did) (?:i|we) not\b")
_WAS_THERE = re.compile(r"(?:was|were) there (?:anything|something|any|a|an|some)\b")
_STATE = re.compile(
    r"(?:is|are) (?:the|my|our|this|these|those|both|all) (?:[a-z]+ ){1,5}?(?:now |all |already |fully )*"
    r"(?:ready|complete|completed|finished|done|set)(?: [a-z]+ing)?(?: now| yet| already| at this point| for use)?$"
)
_STATE_TO_USE = re.compile(
    rf"((?:is|are) .*\bready) (?:to {_USE}|for (?:serving|eating|drinking|shipping))\b"
)
_END = re.compile(
    r"\b(?:is|are|was) (?:this|that|it|everything|all) (?:really )?(?:all|over|complete|completed|the end)\b|\bthe end of the\b|"
    r"^(?:is|was) the (?:whole )?(?:recipe|procedure|task|process|activity|job|work) (?:now |already )?over\b|"
    r"^(?:is|was) (?:this|that) (?:it|everything)\b"
)
_ALTHOUGH = re.compile(r"\b(?:although|even though|without|even if|despite)\b")
_GO_ON = re.compile(r"\b(?:go|move|carry|keep) (?:on|ahead|going|forward)\b|\b(?:continue|proceed)\b")
_AMOUNT = re.compile(
    r"\bhow (?:much|many|long|hot|high|thick|thin|big|small|finely|far|often|hard|deep|tight|low|warm|cold|fast)\b|"
    r"\b(?:what|which) (?:\w+ )?(?:amount|quantity|temperature|heat|setting|tool|utensil|size|time|speed|kind|type|"
    r"power|level|shape|torque|pressure|volume|length|measurement|duration|timing|measure|weight)\b"
)
_REMIND = re.compile(r"\b(?:next|final|last|following) (?:step|instruction|thing|one|action|move)\b")
_WHY_HOW = re.compile(r"why\b|how\b(?!.*\b(?:continue|proceed|go on|move on|carry on)\b)")
_REACHES_ON = re.compile(r"\b(?:now|next|then)\b")
_RIGHT_AMOUNT = re.compile(
    r"\b(?:right|correct|proper|wrong|good) (?:amount|quantity|number|temperature|heat|tool|ingredient|way|length|size|setting|power|level|speed)\b"
)
_TO_DO = re.compile(r"\bto do (?:now|next|then|at this)\b")
_HOW_TO = re.compile(r"how (?:should|do|can|could|must|to)\b")
_FOLLOWING = re.compile(
    r"\b(?:next|now|now on|after|afterwards|then|left|remain|remains|remaining|first|start|begin|follow|follows|"
    r"following|comes|do|be (?:doing|working)|from here|upcoming|proceed|continue|add|turn|due)\b"
)
_FURTHER = re.compile(
    rf"{_FOLLOWING.pattern}|\b(?:else|another|other [a-z]+|should be done|needs? to be|(?:is|are) (?:needed|required))\b"
)
_ITS_TURN = re.compile(
    r"(?:is|are|should|do|does|will) (?:the|my|these|those) .*\b(?:now|next|the next (?:step|thing|part|one))$"
)
_LAST = re.compile(
    r"(?:is|was) (?:this|that|it) (?:really |already |now )?the (?:last|final) (?:step|thing|one|instruction|action)\b"
)
_TAG = re.compile(r"(?:did|have|do|am|was|were|should|is|are|has) (?:not )?(?:i|we|it|that)(?: not)?$")
_BELIEVED = re.compile(r"^.*?\b(?:whether|if|think|that|believe|sure|guess) (?=i |we |it |the |my )")
_CONFIRMED = re.compile(r"\b(?:confirm|verify|reassure|check)\b.*\b(?:i|we) (?:have|did) not\b")
_PLACED = re.compile(r"\b(?:wrong|right|correct|proper) (?:order|sequence)\b|\bout of (?:order|sequence)\b")
_MODAL = re.compile(
    r"^do (?:i|we)\b|\b(?:should (?:i|we)|do (?:i|we) (?:need|have|still)|am i supposed|are we supposed|is it (?:time|okay|ok|safe|alright|"
    r"fine|right)|can (?:i|we)|may (?:i|we)|could (?:i|we)|shall (?:i|we)|am i ready|are we ready|must (?:i|we)|am i (?:about|going|allowed)|"
    r"time to|is it my turn|is it (?:necessary|required|needed)|(?:necessary|required|needed)$|would it be|ready (?:to|for)|is now|ought (?:i|we)|would (?:you|i|we))\b"
)
_PROPOSAL = re.compile(
    r"\b(?:(?:is it|would it be|is now|is this) (?:an? |the )?(?:okay|ok|alright|fine|right|good|safe|time|moment|point)(?: time| moment)? (?:to|if|for)|"
    r"time to|should (?:i|we)|can (?:i|we)|may (?:i|we)|am i supposed to|ready (?:to|for)|shall (?:i|we)|could (?:i|we))\b"
)
_PERMISSION = re.compile(
    r"(?:is it|would it be|am i|are we) (?:really |still |also )?(?:okay|ok|fine|alright|all right|acceptable|allowed|good|safe)"
    r"(?: for (?:me|us))? (?:to|if|that)\b|(?:can|may|could) (?:i|we)\b(?!.*\b(?:now|next|then|yet)\b)|"
    r"(?:should|shall|can|may|could|do) (?:i|we) (?:just |still |really )*(?:keep|leave|maintain|stay)\b"
)
_AT_ONCE = re.compile(r"\b(?:now|yet|currently|immediately|at (?:this|the) (?:point|moment|stage)|already)\b")
_COMPLETION = re.compile(
    r"\b(?:complete|completed|finished|done|through|over)\b(?!.*\b(?:right|correct|correctly|properly|well)\b)"
)
_SO_FAR = re.compile(
    r"\b(?:so far|up to (?:now|this|here)|until now|by now|yet|before|earlier|previous|for the)\b"
)
_IDIOM = re.compile(
    r"\b(?:next move|mix(?:ed)? up|put right|come to|get through|jump(?:ed|ing)? (?:ahead|the gun)|(?:get|got|run|ran) ahead|"
    r"(?:was|were|am|are) (?:i|we) (?:meant|allowed))\b"
)
_POINTS_BACK = re.compile(r"\b(?:that|this|it|these|those)\b")
_INTENDS = re.compile(
    r"\b(?:(?:would|had|i had) like to|want to(?! (?:double|know|ask|check|get|make|be))|going to|about to|plan(?:ning)? to|ready to|thinking of|intend to)\b"
)
_OVERDUE = re.compile(r"\b(?:by now|already|by this point|before (?:now|this|getting here|this point))\b")
_INSTRUCTED = re.compile(
    r"\bwhat (?:do|does|did) (?:the )?(?:instructions?|recipe|procedure|manual|plan|protocol)\b"
)
_PAST = re.compile(
    r"\b(?:did|have i|have we|was|were|had|(?:i|we) (?:[a-z]+ )?(?:missed|forgot|skipped|overlooked|omitted|neglected))\b"
)


# -- parsing ---------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4_096)
def parse_question(text: str) -> Question:
    """Read what a question asks; any text gives a result, the intent ``other`` when no rule fits."""
    parts = _split(_RIGHT_AT.sub(r"\1", _RIGHT_NOW.sub("now", normalise(text))))
    # "is it ready to wear", "can we use it now": asked of the result, not of a tool or a part
    use = not parts.wh and not (parts.before or parts.after) and bool(_USABLE.match(parts.asked))
    place = not use and _asks_place(parts)
    intent = "all_good" if use else "order" if place else _intent(parts)
    return Question(
        intent=intent,
        wh=parts.wh,
        trouble=_trouble(intent, parts),
        past=bool(_SHOULD_HAVE.search(parts.asked) or _PAST.search(parts.asked)),
        stems=_stems(parts),
        before=_scope_stems(parts.before),
        after=_scope_stems(parts.after),
        now=bool(_AT_ONCE.search(parts.asked)),
        completion=intent == "all_good"
        and (
            use
            or bool(_COMPLETION.search(parts.asked) and not _SO_FAR.search(parts.asked))
            or bool(_LAST.match(parts.asked))
            or bool(
                _END.search(parts.asked) and not (_SO_FAR.search(parts.asked) or _GOOD.search(parts.head))
            )
            or bool(
                _PERFORMED.match(parts.asked)
                and not _asks_whole(parts.asked)
                and not _GOOD.search(parts.head)
            )
        ),
        place=place,
        use=use,
        adjusts=intent == "check"
        and _adjusts(parts)
        and not (_BAD.search(parts.head) or _GOOD.search(parts.head)),
        permission=intent == "propose"
        and bool(_PERMISSION.match(parts.asked) and not _CHANGE.search(parts.asked)),
        plain=parts.plain,
    )


def _split(plain: str) -> _Parts:
    sentences = [s for s in _SENTENCES.split(plain) if s.strip()] or [plain]
    asking = [s for s in sentences if _ASKING.search(s)]
    sentence = (asking or sentences)[-1]
    if _TAG.match(sentence) and len(sentences) > 1:
        # "I think I skipped a step. Did I?": the sentence before says what is asked
        believed = _BELIEVED.sub("", sentences[sentences.index(sentence) - 1])
        sentence = f"{sentence.split()[0]} {believed}"
    preface = " ".join(s for s in sentences if s is not sentence)
    asked, lead = _without_lead(_FILLER.sub("", sentence))
    asked = _POLITE.sub("", asked) or asked
    if _TAG.match(asked) and lead:
        asked = f"{asked.split()[0]} {_BELIEVED.sub('', lead)}"
    head, before, after = _split_scope(asked)
    if not before and not after and lead:
        _, before, after = _split_scope(lead)
    head = _FILLER.sub("", head).strip(" ,") or asked
    wh = bool(_WH.match(head)) or (bool(_WH.search(head)) and not _INVERTED.match(head))
    return _Parts(plain, f"{preface} {lead}".strip(), asked, head, before, after, wh)


def _without_lead(sentence: str) -> tuple[str, str]:
    """Split "Sorry if this is obvious, but did I ...?" into the question and what leads to it."""
    found = _ASKING.search(sentence)
    if found is None or found.start(1) == 0 or _POLITE.match(sentence):
        return sentence, ""
    return sentence[found.start(1) :], sentence[: found.start(1)].strip(" ,")


def _split_scope(plain: str) -> tuple[str, str, str]:
    """Return the text without its scope, what stands behind "before", and what stands behind "after"."""
    found = _SCOPE.search(plain)
    if not found:
        return plain, "", ""
    head, tail = plain[: found.start()], plain[found.end() :]
    if not head.strip(" ,") and "," in tail:
        tail, _, head = tail.partition(",")
    if found[1] is None and not _WH.match(plain):
        return plain, "", ""
    if found[1] in ("before", "prior to", "until"):
        return head, tail.strip(" ,"), ""
    return head, "", tail.strip(" ,")


def _asks_place(parts: _Parts) -> bool:
    """True for "was X supposed to come first", "does X go in before Y"; what "I" am to do is another question."""
    asked = parts.asked
    if _WHOLE.search(asked) or _WHICH_COMES.search(asked):
        return False
    if parts.wh or _OMIT.search(asked) or _ANYTHING.search(parts.head) or _OWN.search(parts.head):
        return False
    head = asked if _LEADS.search(asked) else parts.head
    return bool(_PLACE.match(asked) and _PLACED_BY.search(head))


def _intent(parts: _Parts) -> Intent:
    """Decide what is asked; the first rule that fits wins."""
    asked, head = _STATE_TO_USE.sub(r"\1", parts.asked), parts.head
    if not parts.wh and _MAY_SKIP.search(asked):
        return "skip"
    if _OMIT.search(asked):
        rest = _OMIT.sub(" ", head)
        if parts.wh or _EXISTENTIAL.search(rest) or not _about(rest):
            return "forgot"
        return "forgot_step"
    if _NOT_YET_DONE.match(asked):
        return "next"
    if not parts.wh and (_PLACED.search(head) or _WAS_TIME.match(asked)):
        return "order"
    if not parts.wh and _LAST.match(asked):
        return "all_good"
    if (
        not parts.wh
        and _ITS_TURN.match(asked)
        and not (_GOOD.search(head) or _BAD.search(head) or "by now" in asked)
    ):
        return "propose"
    if not parts.wh and _RIGHT_AMOUNT.search(head):
        return "check"
    if parts.wh and _ORDER.search(head) and not _REMIND.search(asked) and not head.startswith("when"):
        return "order"
    if _INTENDS.search(parts.preface) and not parts.wh and not _about(head) and _POINTS_BACK.search(head):
        return "propose"
    if parts.wh and _BAD.search(parts.preface) and not _OMIT.search(parts.preface):
        return "check"
    if not _BAD.search(head) and (
        _INSTRUCTED.match(head)
        or (_HOW_TO.match(head) and not _GO_ON.search(head))
        or (_AMOUNT.search(asked) and not _ANYTHING.search(head))
    ):
        return "detail"
    if not parts.wh and (_NOT_DONE.search(asked) or (_WAS_THERE.match(head) and not _BAD.search(head))):
        return "forgot"
    if not parts.wh and (_asks_whole(asked) or _STATE.match(asked)) and not _BAD.search(head):
        return "all_good"
    if (
        _OVERDUE.search(asked)
        and not parts.wh
        and not _ANYTHING.search(head)
        and (_SHOULD_HAVE.search(asked) or "have" in head.split())
    ):
        return "forgot_step"
    if _SHOULD_HAVE.search(asked) and not _BAD.search(head):
        if (parts.wh and not _GOOD.search(head)) or _ANYTHING.search(head):
            return "forgot"
        placed = _ORDER.search(asked) or _FIRST.search(asked) or parts.before or parts.after
        return "order" if placed else "check"
    if _ORDER.search(asked) and not _ANYTHING.search(head) and not parts.wh and not _MODAL.search(head):
        return "order"
    return _present(parts)


def _asks_whole(asked: str) -> bool:
    """True for "is everything done", "am I ready", "can I go on"."""
    rest = _ALTHOUGH.split(_GO_ON.sub(" ", asked))[0]
    goes_on = bool(_GO_ON.search(asked)) and not _about(rest)
    if _END.search(asked):
        return True
    if _WHOLE.search(asked):
        return goes_on or not _PROPOSAL.search(asked)
    return goes_on or (bool(_READY.search(asked)) and not _about(asked))


def _present(parts: _Parts) -> Intent:
    """Tell apart questions about now."""
    asked, head = parts.asked, parts.head
    bad, good = bool(_BAD.search(head)), bool(_GOOD.search(head))
    if parts.wh and not bad:
        if good and not _REMIND.search(asked) and not _TO_DO.search(asked):
            return "check"
        if _REMIND.search(asked) or (_FURTHER.search(asked) and not _WHY_HOW.match(head)):
            return "next"
        return "other"
    if bad or (good and not _PROPOSAL.search(asked)):
        return "check"
    if _MORE_OF.search(head) and _MODAL.search(asked):
        return "left"
    be_done = bool(_BE_DONE.match(asked)) and not _ORDER.search(asked)
    if (_ADJUST.search(head) and not be_done) or _adjusts(parts):
        return "order" if _ORDER.search(asked) else "check"
    if _ANYTHING.search(head) or _REMAINS.match(asked):
        return "left"
    if _ORDER.search(head) and not _PROPOSAL.search(asked):
        return "order"
    if be_done or _MODAL.search(asked):
        return "propose"
    if _REMIND.search(asked):
        return "next"
    if _READY.search(asked):
        return "all_good"
    bare = not _about(asked) and not _INVERTED.search(asked)
    if bare and _REACHES_ON.search(asked):
        return "next"
    return "all_good" if _PERFORMED.match(asked) else "other"


def _adjusts(parts: _Parts) -> bool:
    """True for "should I stir it longer", "do I need another spoon"; "anything more" asks what is left."""
    changes = _CHANGE.search(parts.head) and not _ANYTHING.search(parts.head.replace("another", ""))
    return bool(changes and _MODAL.search(parts.asked))


def _about(text: str) -> bool:
    """True when a text names something besides talk about procedures."""
    return any(not is_talk(w) for w in content(text))


def _trouble(intent: Intent, parts: _Parts) -> Literal["yes", "no"]:
    if intent in ("all_good", "skip") or (intent == "forgot" and _CONFIRMED.search(parts.plain)):
        return "no"
    if intent == "check":
        if _BAD.search(parts.head) or (_CHANGE.search(parts.head) and not _GOOD.search(parts.head)):
            return "yes"
        return "no" if _GOOD.search(parts.head) else "yes"
    if intent == "order":
        timely = _GOOD_ORDER.search(parts.asked) or _WAS_TIME.match(parts.asked)
        good = timely or (_GOOD.search(parts.head) and not _BAD.search(parts.head))
        return "no" if good else "yes"
    return "yes"


def _stems(parts: _Parts) -> tuple[str, ...]:
    """Return what the question is about; "I would like to add the salt now. Is that okay?" says it in front."""
    own = tuple(w for w in content(_IDIOM.sub(" ", parts.head)) if not is_talk(w))
    if own or not _POINTS_BACK.search(parts.head):
        return own
    return tuple(w for w in content(parts.preface) if not is_talk(w))


def _scope_stems(text: str) -> tuple[str, ...]:
    if _GENERAL_SCOPE.match(text):
        return ()
    return tuple(w for w in content(text) if not is_talk(w))
