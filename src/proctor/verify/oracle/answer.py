"""What an answer says: yes or no, whether all is well, and which things it tells to do, misses or reports done."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from proctor.verify.oracle.text import (
    Quantity,
    content,
    excess_of,
    find_quantities,
    normalise,
    opening_action,
)

__all__ = ["AnswerText", "Claim", "Role", "parse_answer"]

Role = Literal["do", "missed", "done", "before", "after", "detail", "context"]
"""What a clause does with the step it names: tells to do it, says that it was left out (or done wrongly), reports
it as done, mentions it only to place another step (``before``, ``after``), says how far to go (``detail``: "until
..."), or something else (``context``: "instead of ...")."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One clause: its role, its content stems, and the stem of its action where it opens with one."""

    role: Role
    stems: tuple[str, ...]
    action: str | None = None


@dataclass(frozen=True, slots=True)
class AnswerText:
    """A parsed answer.

    Attributes:
        polarity: leading yes or no, None when there is neither.
        clear: says that nothing is to be done or that nothing went wrong.
        finished: says that the whole activity is done.
        praise: says that things were done *right*, which is more than "nothing is missing".
        wrongness: says that something was done wrongly or by a wrong amount.
        restart: tells to start over or go back.
        already: says that something has been done already.
        claims: clauses in order.
        quantities: numbers with units.
        wanted: those among them that the answer asks for, not those it reports or rejects.
        excess: 1 when it says that there was too much of something, -1 when too little, 0 when neither.
        optional: leaves what it says to taste ("if you like").
        closing: tells to use what the activity made ("serve it", "enjoy").
        pronoun: speaks of "it" or "them", that is of what the question named.
        plain: normalised text.
    """

    polarity: Literal["yes", "no"] | None
    clear: bool
    finished: bool
    praise: bool
    wrongness: bool
    restart: bool
    already: bool
    claims: tuple[Claim, ...]
    quantities: tuple[Quantity, ...]
    wanted: tuple[Quantity, ...]
    excess: int
    optional: bool
    closing: bool
    pronoun: bool
    plain: str

    def actions(self, *roles: Role) -> frozenset[str]:
        """Return the actions of all clauses in one of these roles."""
        return frozenset(c.action for c in self.claims if c.action and c.role in roles)

    def stems(self, *roles: Role) -> tuple[str, ...]:
        """Return the stems of all clauses in one of these roles; of all clauses when none is given."""
        return tuple(w for c in self.claims if not roles or c.role in roles for w in c.stems)


_OPENING = re.compile(
    r"^(?:(?:well|oh|so|ok|okay|um|hmm|actually|ah)[ ,]+)*(yes|yeah|yep|yup|sure|absolutely|correct|indeed|no|nope|nah|not|nothing|none|almost|nearly)\b"
)
_YES: Final = frozenset({"yes", "yeah", "yep", "yup", "sure", "absolutely", "correct", "indeed"})
_REMINDER = re.compile(r"\b(?:do not|never) forget\b(?= (?:to|the|that|about|your)\b)")
_FRAME = re.compile(r"\b(?:based on|according to|judging by|from what|as far as|given) [^,.;]*, ")
_NOTHING = re.compile(
    r"\bnothing (?:was|is|has been|else was) (?:missed|missing|skipped|overlooked|omitted|forgotten|left)\b|\b(?:missed|missing|skipped|forgotten) nothing\b|"
    r"\bnothing (?:else|more|is missing|was missed|left|is left|further|yet|needed|to)\b|^(?:nothing|none|zero|no steps?)\b|"
    r"\b(?:not|never|no) (?:\w+ ){0,2}(?:miss|missed|missing|forget|forgot|forgotten|skip|skipped|overlook|overlooked|"
    r"omit|omitted|left out|leave out|left anything|leave anything|left any)\b|"
    r"\b(?:that|this) (?:is|was) (?:it|all|everything)\b(?! (?:wrong|right|fine|good))|"
    r"\bno (?:more|other|further|additional|missing|mistakes?|errors?|problems?|issues?|steps?|need)\b|"
    r"\b(?:do|does|did) not (?:need|have) to\b|\b(?:not|is not|are not) (?:necessary|needed|required)\b|\bthere (?:is|are) no\b"
)
_WELL = re.compile(
    r"\bon (?:the right )?track\b|\b(?:doing|going|did|done|looks?|looking|seems?) (?:\w+ )?(?:fine|well|great|good|right|okay|ok|"
    r"perfect|perfectly|smoothly|correct|correctly|alright)\b|\beverything (?:is|was|looks|seems|has been|you)\b|"
    r"\beverything (?:[a-z]+ ){1,4}(?:has been|is|was) (?:[a-z]+ed|done|in place|there|put)\b|"
    r"\ball (?:good|set|right|fine|clear|done|finished|ready)\b|\bup to date\b|\bcorrectly\b|\bfine (?:so far|now|as)\b|"
    r"\b(?:is|was|are|were) (?:just |perfectly |totally )?(?:fine|okay|ok|alright|good|correct|right|perfect|accurate)\b|"
    r"\b(?:is|are|was|were|would be) (?:just |already |quite )?(?:enough|sufficient|plenty)\b|"
    r"\bin the (?:right|correct) order\b|\b(?:done|added|completed|finished|followed|did|have|prepared|included|used) (?:everything|all (?:the|of|your|my|these|those|necessary|required|needed|previous|ingredients|steps|parts|components)|each|every)\b|"
    r"\bas (?:it should|instructed|required|expected|needed|planned)\b|\bgood to go\b|\bcarry on\b|"
    r"\b(?:can|may) (?:now )?(?:proceed|continue|move on|go ahead)\b(?!(?: the [a-z]+)? by\b)|\b(?:ready|okay|fine) to (?:proceed|continue|move|go)\b|"
    r"\b(?:all|necessary|required|previous|needed) (?:the )?(?:\w+ )?(?:steps?|ingredients?|parts?|components?|tools?|toppings?)\b.*\b(?:added|done|complete|completed|taken|in place|there)\b"
)
_HELD = re.compile(
    r"\b(?:followed|following) (?:the|all|every|each|your) (?:[a-z]+ )?(?:instructions?|steps?|procedure|recipe|manual|protocol|order|plan)\b|"
    r"\b(?!skip|miss|omit|need|overlook|forg)[a-z]+ed (?:everything|(?:every|all (?:of )?(?:the|your|these|those)) (?:[a-z]+ )?"
    r"(?:steps?|parts?|pieces|ingredients?|components?|tools?|items?|things?|materials?|instructions?))\b|\bcovers (?:everything|it all)\b|"
    r"\b(?:all|each|both|every one) of (?:them|it|these|those|the [a-z]+|your [a-z]+) (?:is|are|was|were|has|have)\b(?! (?:not|to|still))|"
    r"\b(?:it is|they are|everything is) all [a-z]+(?:ed|ne|ut)\b"
)
_UNDER_WAY = re.compile(r"\bkeep going\b(?! (?:for|until|till|another))")
_FINISHED = re.compile(
    r"\ball (?:done|finished|set)\b|\byou (?:are|have) (?:now )?(?:all )?(?:done|finished|completed?)\b|"
    r"\b(?:completed?|finished|done) (?:all|everything|every|the (?:recipe|task|procedure|process|activity|job))\b|"
    r"(?<!\bthat )(?<!\bit )(?<!\bthis )(?<!\bstep )\b(?:is|are|was) (?:now )?(?:done|finished|complete|completed)\b|\bready to (?:be )?(?:eat|eaten|serve|served|enjoy|enjoyed|use|used|go|drink|ship)\b|"
    r"\b(?:is|are|and) (?:now |all )?ready(?: now)?(?=$|[,.;!])|\b(?:is|are) (?:now |all |good )+(?:set|over|made|finished|to (?:eat|serve|drink|use))\b|"
    r"\bgood to (?:eat|serve|drink|use)\b|\b(?:reached|this is|that is|at) the end\b|\b(?:has|have) (?:now )?(?:been )?(?:finished|completed)\b|"
    r"\b(?:last|final) step\b|\beverything (?:is|has been) (?:done|finished|complete|completed|added)\b|"
    r"\byou (?:can|may) (?:now )?(?:serve|enjoy|eat|use|relax)\b|\bnothing (?:else|more|left)\b|\btime to (?:eat|enjoy|serve)\b|^enjoy\b|\bno (?:more|further|other) steps?\b"
)
_OPTIONAL = re.compile(
    r"\bif (?:you (?:[a-z]+ )?(?:like|want|wish|prefer|desire|feel|need)|desired|needed|necessary|wanted|preferred)\b|\boptional(?:ly)?\b|"
    r"\bto (?:your )?(?:taste|liking)\b|\bas desired\b|\bfeel free\b|\bup to you\b|\byou (?:could|might)\b|\bnot (?:strictly )?(?:necessary|needed|required)\b"
)
_CLOSING = re.compile(
    r"\b(?:serve|enjoy|eat|drink|savou?r|taste|relish|dig in|hand (?:it|them) (?:over|in|out)|put (?:it|them) to use)\b"
)
_PRAISE = re.compile(
    r"\b(?:correct(?:ly)?|perfect(?:ly)?|proper(?:ly)?|accurate(?:ly)?|as (?:instructed|required))\b|"
    r"\bright(?: order| amount| way|$)"
)
_WRONGNESS = re.compile(
    r"\btoo (?:much|many|little|few|long|short|hot|cold|high|low|big|small|thick|thin|fast|slow|early|late|soon)\b|\binstead\b|"
    r"\brather than\b|\b(?:wrong|wrongly|incorrect|incorrectly|improper|improperly|mistakes?|errors?|spilled|spilt|dropped|"
    r"accidentally|twice|more than|less than|not enough|only|just one|just use|exactly)\b|\bshould (?:only )?(?:have|be|not)\b|\bshould not\b|\b(?:calls?|called|asks?|asked) for\b|\brequires\b|\bsupposed to\b"
)
_UNDONE = re.compile(
    r"\b(?:have|has|had|did|are|is|were|was) not (?:yet |quite |been )*(?:\w+ed|done|put|cut|taken|made|all|everything)\b(?<!missed)"
    r"(?<!skipped)(?<!omitted)(?<!overlooked)"
)
_RESTART = re.compile(
    r"\bstart(?:ing)? (?:over|again|afresh|from (?:scratch|the beginning))\b|\bgo back\b(?! and\b)|\bredo\b|\brestart\b|\bfrom scratch\b"
)
_ALREADY = re.compile(r"\balready\b|\byou have (?:now |just )?(?:\w+ed|done|put|cut|taken|made|spread)\b")
_MISSED = re.compile(
    r"\bshould have\b|\bshould has\b|\b(?:miss|missed|missing|forget|forgot|forgotten|skip|skipped|overlooked|omitted)\b|\b(?:did|have|had|has|was|were) not\b|"
    r"\bshould (?:already )?be\b.*\b(?:already|by now|by this point)\b|\bshould already\b|\bneeded to\b|\bsupposed to have\b|\b(?:was|were) (?:supposed|meant) to\b|\bleft (?:out|off|undone)\b|\bought to have\b"
)
_DO = re.compile(
    r"\b(?:should|need|needs|must|have to|has to|can|could|may|next|now|then|remember|first|comes?|goes|please|let us|will|supposed)\b"
)
_DONE = re.compile(
    r"\byou (?:went|moved|jumped|proceeded)\b|\balready\b|\byou have\b(?! to\b)(?! not)|\byou did\b(?! not)|\byou (?:just |correctly |properly )?(?:(?!need|miss|skip|omit|overlook)[a-z]+ed|put|made|cut|took|beat|ground|spread)\b|\b(?:has|have) been\b|"
    r"\b(?:is|are|was|were) (?:now |all |already |fully |both |well )*(?!need|miss|skip|requir|suppos|forg|overlook|omit|call|recommend|advis)"
    r"(?:[a-z]+ed|ready|done|complete)\b|\byou are (?:now |all )?(?:done|finished|through)\b"
)
_CONTEXT = re.compile(
    r"\b(?:before|prior to|after|until|once|while|when|since|because|instead of|rather than|so that|for the next|in order to|if|"
    r"without(?= [a-z]+ing\b))\b"
)
_ASIDE = re.compile(r"\b(?:until|before|after|once|while|when|as soon as|so that)\b[^,.;!?]*")
_RUNS_ON = re.compile(r"\s*(?:\w+ing|for|until|with|over|about|or|and|on|in|into|to|covered|uncovered)\b")
_PLACES: Final[dict[str, Role]] = {
    "before": "before",
    "prior to": "before",
    "after": "after",
    "once": "after",
    "until": "detail",
}
_CLAUSE = re.compile(r"[.;!?:,]+\s|[.;!?:,]+$|\s-+\s|\b(but|however|then|so)\b")
_PRONOUN = re.compile(r"\b(?:it|them|those|these|(?:that|this)(?! step\b))\b")


_RELATIVE = re.compile(
    r"(\b(?:the|your|these|those) (?:[a-z]+ )?[a-z]+) (?:that |which )?you (?:have |had |just |already )*"
    r"(?!need|miss|skip|omit|forg|requir|want)(?:[a-z]+ed|made|cut)\b(?! (?:the|a|an|it|them|to)\b)"
)
_REST = r"(?:[^,.;:]|(?<=\d)[.,](?=\d))*"
"""The rest of a clause; the point of a number does not end it."""
_USED = re.compile(
    r"\byou (?!(?:only |just |still |really )*(?:should|need|must|have to|had to|ought|can|could|may|will|would|are|were|want|"
    rf"require|miss|skip|omit|forg))[a-z]+\b{_REST}"
)
_OPPOSED = re.compile(rf"\b(?:not|instead of|rather than|(?:more|less|fewer|longer|shorter) than)\b{_REST}")
_FAR_OFF = re.compile(
    r"\b[a-z0-9./]+ [a-z]+ too\b(?= (?:long|short|much|many|little|few|high|low|hot|cold)\b)"
)
"""Says how far off an amount was ("2 minutes too long"), which is no amount that any text holds."""
_REPORTED = re.compile(
    r"(?:[a-z0-9./]+ ){1,4}(?:was|were) (?!need|requir|suppos|call|recommend)[a-z]+ed\b|"
    rf"\b(?:it|that|this|there|they|yours) (?:was|were|had been|is only)\b{_REST}"
)


def _polarity(plain: str) -> Literal["yes", "no"] | None:
    found = _OPENING.match(plain)
    if not found:
        return None
    return "yes" if found[1] in _YES else "no"


def _claims(plain: str) -> tuple[Claim, ...]:
    claims: list[Claim] = []
    role: Role = "do"
    place: Role | None = None
    for at, clause in enumerate(_CLAUSE.split(plain)):
        if at % 2:
            # "you did this, so do that": what was said before ends here
            role = "do" if clause else role
            continue
        if not clause.strip():
            continue
        if place is not None and _RUNS_ON.match(clause):
            # "before cooking, stirring often": a participle goes on with the place it follows
            claims.append(Claim(place, content(clause)))
            continue
        context = _CONTEXT.search(clause)
        head = clause[: context.start()] if context else clause
        role = _role(head, role)
        claims.append(Claim(role, content(head), opening_action(head)))
        place = _place(context[0], clause[context.end() :]) if context else None
        if context and place:
            claims.append(Claim(place, content(clause[context.end() :])))
    return tuple(c for c in claims if c.stems)


def _place(word: str, tail: str) -> Role:
    """Role of what stands behind a conjunction: "because the tubes were not labelled" says what was left out."""
    if word == "without" or (word in ("because", "since") and _MISSED.search(tail)):
        return "missed"
    return _PLACES.get(word, "context")


def _role(text: str, current: Role) -> Role:
    """Role of a clause; a clause without a sign of its own keeps the role of the one before."""
    if _NOTHING.search(text):
        return "done"
    if _MISSED.search(text):
        return "missed"
    if _DONE.search(text):
        return "done"
    return "do" if _DO.search(text) else current


@lru_cache(maxsize=8_192)
def parse_answer(text: str) -> AnswerText:
    """Read what an answer says; any text gives a result."""
    plain = _FRAME.sub("", _REMINDER.sub("remember", normalise(text)))
    polarity = _polarity(plain)
    opening = _OPENING.match(plain)
    body = (
        plain[opening.end() :].lstrip(" ,.;:!-")
        if opening and opening[1] not in ("not", "nothing", "none", "almost", "nearly")
        else plain
    )
    body, whole = _ASIDE.sub(" ", body), body
    nothing = bool(_NOTHING.search(plain))
    finished = not _UNDONE.search(body) and bool(_FINISHED.search(body)) and not re.search(r"\bnot\b", body)
    praise = bool(_PRAISE.search(body))
    undone = bool(_UNDONE.search(body))
    well = (
        not undone
        and bool(_WELL.search(body) or _HELD.search(body) or _UNDER_WAY.search(whole))
        and not re.search(
            r"\bnot (?:all\b|(?:[a-z]+ ){0,5}(?:on track|enough|sufficient|correct|correctly|properly|right|done|fine|well|as (?:expected|required|instructed|it should))\b)",
            body,
        )
    )
    bare = not body or (body == plain and plain in ("no", "yes", "nope", "none"))
    return AnswerText(
        polarity=polarity,
        clear=nothing or well or finished or (bare and polarity == "no"),
        finished=finished,
        praise=praise and well,
        wrongness=bool(_WRONGNESS.search(whole)),
        restart=bool(_RESTART.search(plain)),
        already=bool(_ALREADY.search(body)),
        claims=_claims(_RELATIVE.sub(r"\1", whole)),
        quantities=find_quantities(_FAR_OFF.sub(" too", plain)),
        wanted=find_quantities(_REPORTED.sub(" ", _OPPOSED.sub(" ", _USED.sub(" ", body)))),
        excess=excess_of(plain),
        optional=bool(_OPTIONAL.search(plain)),
        closing=bool(_CLOSING.search(body)),
        pronoun=bool(_PRONOUN.search(whole)),
        plain=plain,
    )
