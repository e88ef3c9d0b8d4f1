"""Praise that vouches for a certain work ("you measured it well", "the amounts are right"), held against mistakes.

General praise ("you are doing fine") is judged elsewhere: people let it pass over a mistake. Praise for exactly the
kind of work that went wrong is a false statement.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from proctor.verify.oracle.case import Case, Ground
from proctor.verify.oracle.text import content, is_talk, stem

__all__ = ["Vouch", "find_vouched", "hold_against_mistakes"]


@dataclass(frozen=True, slots=True)
class Vouch:
    """One piece of work that is praised: the stem of its word, what it was done to, and whether to everything."""

    work: str
    stems: tuple[str, ...]
    whole: bool


_KINDS: Final = {
    "measurement": "measured weighed counted portioned dosed amount amounts quantity quantities measurement measurements "
    "proportions portions dose weight weights",
    "timing": "timed time times timing duration durations",
    "preparation": "prepared preparation",
    "technique": "technique techniques",
    "temperature": "temperature temperatures",
}
_KIND_OF: Final = {stem(w): kind for kind, listed in _KINDS.items() for w in listed.split()}
_GENERIC: Final = frozenset(stem(w) for w in ("done", "did", "made", "handled", "managed", "prepared"))
_OF_STEP: Final = frozenset(("technique", "timing", "temperature", "preparation"))
"""Kinds of mistakes that "you sanded it well" denies; how much of something was taken is another matter."""

_WELL: Final = (
    r"(?:well|right|correctly|properly|accurately|exactly|precisely|perfectly|nicely|carefully|as (?:required|instructed|needed|"
    r"described|it should(?: be)?))"
)
_GOOD: Final = r"(?:right|correct|fine|good|accurate|exact|perfect|proper|precise|spot on|okay|ok|as (?:required|instructed|needed))"
_WORK: Final = r"[a-z]+(?:ed|ne|id|ut|ade|ent|ound|ixed|ook|un|old)"
_DEGREE: Final = r"(?:(?:all|just|very|quite|absolutely|exactly|perfectly|really) )?"
_PATTERNS: Final = (
    # "measured everything correctly", "it is cut just right"
    re.compile(rf"\b(?P<work>{_WORK})\b (?:[a-z]+ ){{0,4}}?{_DEGREE}{_WELL}\b"),
    # "correctly measured"
    re.compile(
        rf"\b(?:correctly|properly|accurately|exactly|precisely|perfectly|carefully) (?P<work>{_WORK})\b"
    ),
    # "the amounts are right", "the amount of buffer was fine"
    re.compile(
        rf"\b(?P<work>[a-z]+) (?:(?:of|for) (?:[a-z]+ ){{1,3}}?)?(?:is|are|was|were|looks?|seems?) {_DEGREE}{_GOOD}\b"
    ),
    # "at the right temperature", "for the right time"; "at the right time" is about the order
    re.compile(r"\b(?:right|correct|proper|exact|perfect) (?P<work>(?!time\b)[a-z]+)\b"),
    re.compile(r"\bfor the (?:right|correct|proper|exact) (?P<work>time)\b"),
)
_CLAUSE = re.compile(r"[.;!?:,]+\s|[.;!?:,]+$|\s-+\s|\b(?:but|however)\b")
_NOT_SAID = re.compile(
    r"\b(?:not|never|no|should|need|needs|must|make sure|have to|has to|if|whether|to be|until|before|almost|nearly)\b"
)
_TIME = re.compile(r"\b(?:amount|length) of time\b")
_WHOLE = re.compile(r"\b(?:everything|all|every|each)\b")


@lru_cache(maxsize=8_192)
def find_vouched(plain: str) -> tuple[Vouch, ...]:
    """Return the pieces of work that a normalised answer praises; clauses that deny or demand praise nothing."""
    found: list[Vouch] = []
    for clause in _CLAUSE.split(_TIME.sub("time", re.sub(r"^(?:yes|no)\b[ ,.]*", "", plain))):
        if _NOT_SAID.search(clause):
            continue
        works = [stem(m["work"]) for p in _PATTERNS if (m := p.search(clause))]
        whole = bool(_WHOLE.search(clause))
        found += [
            Vouch(w, tuple(s for s in content(clause) if s != w and not is_talk(s)), whole) for w in works
        ]
    return tuple(found)


def hold_against_mistakes(case: Case, ground: Ground) -> Ground:
    """Turn down an answer that vouches for work that was done with a mistake of just that kind."""
    if ground.lean <= _LEAN or case.stance != "clear" or case.answer.wrongness or case.answer.restart:
        return ground
    for vouch in find_vouched(case.answer.plain):
        step = _contradicting(case, vouch)
        if step is not None:
            return case.ground(
                "vouches_mistake", _LEAN, f"vouches for work that went wrong: {case.text(step)}", [step]
            )
    return ground


_LEAN: Final = -0.6


def _contradicting(case: Case, vouch: Vouch) -> str | None:
    """Return a performed step whose mistake the praise denies, None when there is none."""
    confined = _confined(case, vouch)
    kind = _KIND_OF.get(vouch.work)
    for step_id in dict.fromkeys(case.moment.history):
        if confined and step_id not in confined:
            continue
        kinds = {m.kind for m in case.moment.mistakes_of([step_id])}
        same_work = vouch.work == case.index.action_of(step_id)
        if (
            kind in kinds
            or (same_work and kinds & _OF_STEP)
            or (vouch.work in _GENERIC and confined and kinds - {"order", "missing"})
        ):
            return step_id
    return None


def _confined(case: Case, vouch: Vouch) -> frozenset[str]:
    """Steps about the things that the praise names, else about what was asked; empty means all."""
    things = [case.index.speaking_of(w) for w in vouch.stems if case.index.knows(w)]
    if things:
        return frozenset.intersection(*things) or frozenset.union(*things)
    return frozenset() if vouch.whole else case.scope
