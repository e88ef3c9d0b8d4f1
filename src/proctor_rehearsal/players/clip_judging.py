"""What is wrong with a question, seen from the prompt's own content: what a played judge of perfect quality says.

Nothing is looked up. An answer is held against the words of the steps and, where the question is one that the steps answer by
rule (``clip_scene``), against that answer. Everyday knowledge is a short table and the question's own words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from proctor.ask.clip.record import Category
from proctor.procedure.inflect import base_form
from proctor_rehearsal.players.clip_scene import Act, Scene
from proctor_rehearsal.players.clip_words import content, covers, is_generic, same

__all__ = ["Finding", "categorise", "fairness", "guess", "guesses", "specificity", "support"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong: the problem, ``none`` for nothing; the reason; lines that support question and answer."""

    problem: str
    reason: str
    ids: tuple[str, ...] = ()


_OPEN = re.compile(
    r"\s*(?:in |on |with |from |at |to |up to |between |for |into )?(?:what|which|who|where|why|how)\b",
    re.IGNORECASE,
)
_YES_NO = re.compile(r"\W*(?:yes|no)\b[\s\W]*", re.IGNORECASE)
_DURATION = re.compile(r"\W*(?:about |for )?[\d.]+ (?:seconds?|minutes?|hours?)\W*", re.IGNORECASE)
_ASKS_TIME = re.compile(r"\bhow (?:long|many|much)\b|\bwhen\b|\bwhich takes\b", re.IGNORECASE)
_TWO_WANTED = re.compile(r"\b(?:which|what) (two|three|2|3) \w+", re.IGNORECASE)
_ALL_WANTED = re.compile(r"\ball (?:of )?(?:the |those )?\w+\b.*? before (?P<name>.+?)\s*\?*$", re.IGNORECASE)
_SOME_TIME = re.compile(
    r"\bat (?:some|any) (?:time|point|moment)\b|\bone of the (?:things|steps|actions)\b|\bfor example\b",
    re.IGNORECASE,
)
_WORDPLAY = re.compile(
    r"\b(?:spell(?:ed|ing|s)?|backwards|letters?|rhymes?|syllables?|anagram|alphabet\w*)\b", re.IGNORECASE
)
_ARTEFACT = re.compile(
    r"\bannotat\w*|\blabel(?:s|led|ed)?\b|\b(?:line|step|segment|number|id)s? (?:with the (?:id|number) )?(?:no\. ?|# ?)?\w*\d"
    r"|\bat exactly\b|\bwith the id\b|\btime-?stamps?\b|\bthe (?:list|index) of\b",
    re.IGNORECASE,
)
_WHILE = re.compile(
    r"\b(?:while|when) (?P<verb>[a-z-]+ing) (?:the |a |an )?(?P<thing>[^,?]+?)\s*(?:,|\?|$)", re.IGNORECASE
)
_SEEKS = re.compile(r"\b(?:what|which (?:thing|object|ingredient)) (?:is|does) the person\b", re.IGNORECASE)
_STATE = re.compile(r"\s*in (?:what|which) state\b", re.IGNORECASE)
_ING = re.compile(r"\b[a-z-]+ing\b", re.IGNORECASE)
_POLAR = re.compile(r"\s*(?:is|are|was|were|does|do|did|has|have|can)\b", re.IGNORECASE)
_EITHER = re.compile(r": (?P<one>.+) or (?P<other>.+?)\s*\?*$")
_FREE: Final = content(
    "leave handled time times separate two order one first last go back start begin long keep take lead directly use used state finish handle "
    "different real whole take longer much many number among several action actions thing things follow"
)
_MOST_UNKNOWN: Final = 0.34
_STATES: Final = {
    "chop": "In pieces", "cut": "In pieces", "dice": "In pieces", "grate": "In pieces", "mince": "In pieces",
    "shred": "In pieces", "slice": "In pieces", "wash": "Clean", "rinse": "Clean", "clean": "Clean", "wipe": "Clean",
    "boil": "Hot", "heat": "Hot", "warm": "Hot", "preheat": "Hot", "chill": "Cold", "cool": "Cold", "refrigerate": "Cold", "freeze": "Frozen",
    "melt": "Liquid", "mix": "Mixed", "stir": "Mixed", "whisk": "Mixed", "blend": "Mixed", "combine": "Mixed",
    "peel": "Without its skin", "drain": "Without the liquid", "fold": "Folded", "paint": "Covered with paint",
    "open": "Open", "close": "Closed",
}  # fmt: skip
"""What becomes of a thing by what is done to it, as everybody knows."""


def guess(question: str) -> str | None:
    """Return the answer that a question gives away, or that everybody knows; None where it takes the video."""
    if _STATE.match(question):
        done = (base_form(word.casefold()) for word in _ING.findall(question))
        return next((_STATES[verb] for verb in done if verb in _STATES), None)
    echo = _WHILE.search(question)
    if echo is not None and _SEEKS.search(question) and echo["verb"].casefold() in question[: echo.start()].casefold() + question[echo.end() :].casefold():  # fmt: skip
        return f"The {echo['thing']}"
    return "Yes" if _POLAR.match(question) else None


def guesses(question: str) -> tuple[str, ...]:
    """Return what one can choose among from the question alone; none where it offers nothing."""
    known = guess(question)
    if known is not None:
        return (known,)
    either = _EITHER.search(question)
    return (either["one"], either["other"]) if either else ()


# -- is the answer specific and complete? --------------------------------------------------------------------------


def specificity(scene: Scene, question: str, answer: str) -> Finding:
    """Say whether an answer is a specific and complete answer to the question."""
    opens = _OPEN.match(question) is not None
    if opens and (
        _YES_NO.fullmatch(answer) or (_DURATION.fullmatch(answer) and not _ASKS_TIME.search(question))
    ):
        return Finding("not-an-answer", "The answer does not reply to what is asked.")
    counted = any(word[0].isdigit() for word in content(answer))
    if opens and is_generic(answer) and not counted:
        return Finding("generic", "The answer would fit many other questions.")
    if re.match(r"\s*between which\b", question, re.IGNORECASE):
        told: Sequence[Act] = [acts[0] for name, acts in scene.by_name.items() if name in answer.casefold()]
    else:
        told = scene.said_by(answer)
    wanted = _TWO_WANTED.search(question)
    if wanted is not None and len(told) < {"two": 2, "2": 2}.get(wanted[1].casefold(), 3):
        return Finding("partial", f"The question asks for {wanted[1]}, and the answer has fewer.")
    everything = _ALL_WANTED.search(question)
    if everything is not None:
        before = scene.by_name.get(everything["name"].casefold(), ())
        earlier = {act.name.casefold() for act in scene.known if before and scene.is_earlier(act, before[0])}
        if len(told) < len(earlier):
            return Finding(
                "shorter-list", f"There are {len(earlier)} of them, and the answer has {len(told)}."
            )
    return Finding("none", "The answer is specific and complete.")


# -- is the question fair? -----------------------------------------------------------------------------------------


def fairness(scene: Scene, question: str) -> Finding:
    """Say whether a question has one defensible answer, and takes nothing for granted that is not so."""
    if _ARTEFACT.search(question):
        return Finding("artefact", "It can only be answered with the list at hand.")
    if _WORDPLAY.search(question):
        return Finding("wordplay", "It asks for words and letters.")
    foul = scene.foul_premise(question)
    if foul:
        return Finding("false-premise", f"It takes for granted what is not so: {foul}.")
    answers = [fact.answer for fact in scene.solve(question)]
    if _SOME_TIME.search(question) or any(not same(answers[0], other) for other in answers[1:]):
        return Finding("several-answers", "Other answers are as good.")
    return Finding("none", "There is one answer, and the video shows it.")


# -- is everything supported? --------------------------------------------------------------------------------------


def support(scene: Scene, question: str, answer: str) -> Finding:
    """Say whether everything in question and answer is supported by the steps, and by which."""
    ids = scene.nearest(question, answer)
    if (
        _WORDPLAY.search(question)
        or _ARTEFACT.search(question)
        or _YES_NO.fullmatch(answer)
        or is_generic(answer)
    ):
        return _supported(ids)  # there is nothing in it that could be unsupported
    asked = content(question) - _FREE
    if asked and len(asked - scene.words) > _MOST_UNKNOWN * len(asked):
        return Finding("unsupported", f"Nothing is said of {_named(asked - scene.words)}.", ids)
    facts = scene.solve(question)
    right = [fact for fact in facts if same(fact.answer, answer)]
    known = guess(question)
    if known is not None and same(known, answer):
        return _supported(ids)
    lacking = content(answer) - scene.words - content(question) - _FREE
    if right and not lacking:
        return _supported(right[0].ids)
    numbers = {word for word in lacking if word[0].isdigit()}
    if right and lacking == numbers:  # a count is in no line, but it follows from them
        return _supported(right[0].ids)
    if lacking:
        return Finding("unsupported", f"Nothing is said of {_named(lacking)}.", ids)
    if facts and (scene.said_by(answer) or not any(covers(fact.answer, answer) for fact in facts)):
        return Finding("contradicted", f"It is another: {facts[0].answer}.", facts[0].ids)
    return _supported(ids)


def _supported(ids: tuple[str, ...]) -> Finding:
    return Finding("none" if ids else "unsupported", "The lines say so." if ids else "No line says so.", ids)


def _named(words: frozenset[str]) -> str:
    return ", ".join(sorted(words)[:3])


# -- which kind is it? ---------------------------------------------------------------------------------------------

_BY_WORDS: Final[tuple[tuple[str, Category], ...]] = (
    (r"\bhow (?:many|often)\b", "counting"),
    (r"\bbetween which\b|\bat which (?:point|moment)\b", "localisation"),
    (r"\b(?:longer|shorter|differ\w*|compared?|more than)\b", "comparison"),
    (r"\b(?:leave[sn]? out|skip\w*|forget|omit\w*|missing|not done)\b", "missing-step"),
    (r"^(?:why|what for)\b|\blead[s]? (?:up )?to\b|\bin order to\b", "purpose-cause"),
    (r"^what does the person (?:add|pour|sprinkle|mix|drizzle|season|melt|stir|whisk|spread|brush)\b", "ingredient-quantity"),
    (r"\bhow much\b|\bwhich ingredient\b", "ingredient-quantity"),
    (r"^what does the person do\b|\b(?:first|last) of\b|\bdo first\b", "ordering"),
    (r"\bwhat (?:state|colour|color|shape|size)\b|\bwhich (?:state|colour|color|shape|size)\b", "state-attribute"),
    (r"^where\b|\bwhere from\b", "location"),
    (r"^how\b|\bfor how long\b|\bin which (?:way|direction)\b", "manner"),
    (r"\b(?:which tool|with what|with which|what is the person|what does the person)\b", "object-tool"),
    (r"\b(?:before|after)\b", "ordering"),
)  # fmt: skip


def categorise(question: str) -> Category:
    """Return the kind of a question by its words."""
    text = question.strip().casefold()
    return next((kind for pattern, kind in _BY_WORDS if re.search(pattern, text)), "other")
