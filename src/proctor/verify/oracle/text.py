"""From text to tokens: normalising, light stemming, word families, quantities.

Everything is linear in the length of the text, and the text is cut at ``MAX_CHARACTERS`` first: an answer is a
sentence, and what comes from models and people is not to be trusted.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from proctor.procedure.inflect import word_set
from proctor.verify.oracle.lexicon import (
    CONCEPTS,
    CONTRACTIONS,
    FUNCTION_WORDS,
    IRREGULAR,
    NUMBER_WORDS,
    TALK_WORDS,
    TOOL_WORDS,
    UNIT_SCALE,
    UNITS,
)

__all__ = [
    "MAX_CHARACTERS",
    "Quantity",
    "concepts",
    "content",
    "excess_of",
    "find_quantities",
    "is_english",
    "is_talk",
    "is_tool",
    "normalise",
    "opening_action",
    "share_quantity",
    "stem",
    "words",
]

MAX_CHARACTERS: Final = 2_000
"""Longer texts are cut here; the verdict then says so. Ten times the longest answer that people wrote."""

_SPACES = re.compile(r"\s+")
_WORD = re.compile(r"\d+/\d+|\d+(?:\.\d+)?|[^\W\d_]+")
_CONTRACTION = tuple((re.compile(re.escape(short) + r"\b"), long) for short, long in CONTRACTIONS)
_VOWELS = re.compile(r"[aeiouy]+")
_VOWEL = re.compile(r"[aeiouy]")


def normalise(text: str) -> str:
    """Return lower-case text in one line: compatibility forms folded, markup dropped, contractions spelled out.

    Final punctuation is dropped, so that it can never change a verdict; sentence punctuation inside stays,
    because it separates claims.
    """
    plain = unicodedata.normalize("NFKC", text[:MAX_CHARACTERS]).casefold()
    plain = plain.replace("\u2044", "/").replace("\u2019", "'").replace("`", "'").replace("*", " ")
    if "'" in plain or "cannot" in plain:
        for short, long in _CONTRACTION:
            plain = short.sub(long, plain)
    return _SPACES.sub(" ", plain).strip(" .!?;:,\"'…")


@lru_cache(maxsize=8_192)
def words(plain: str) -> tuple[str, ...]:
    """Return the words and numbers of a normalised text, in order."""
    return tuple(_WORD.findall(plain))


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """Return a crude stem: ``slices, slicing, sliced → slic``; short words and numbers stay as they are."""
    word = IRREGULAR.get(word, word)
    if len(word) <= 3 or not word.isalpha():
        return word
    if word.endswith(("ies", "ied")) and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith(("sses", "shes", "ches", "xes", "zes", "oes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if word.endswith("eed") and len(word) > 5:
        word = word[:-1]
    for ending in ("ing", "ed"):
        base = word[: -len(ending)]
        if word.endswith(ending) and len(base) >= 3 and _VOWEL.search(base):
            word = base[:-1] if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "els" else base
            break
    if word.endswith("ell") and len(_VOWELS.findall(word)) > 1:
        word = word[:-1]
    for ending in ("able", "ation", "ment"):
        if word.endswith(ending) and len(word) > len(ending) + 3:
            word = word[: -len(ending)]
            break
    if word.endswith("e") and len(word) > 3:
        word = word[:-1]
    if word.endswith("y") and len(word) > 3:
        word = word[:-1] + "i"
    return word


_TALK_STEMS: Final = frozenset(stem(w) for w in TALK_WORDS)
_TOOL_STEMS: Final = frozenset(stem(w) for w in TOOL_WORDS)
_CONCEPT_OF: Final[dict[str, frozenset[int]]] = {}
for _number, _group in enumerate(CONCEPTS):
    for _word in _group:
        _key = stem(_word)
        _CONCEPT_OF[_key] = _CONCEPT_OF.get(_key, frozenset()) | {_number}


def concepts(stemmed: str) -> frozenset[int]:
    """Return the numbers of the word families that a stem belongs to."""
    return _CONCEPT_OF.get(stemmed, frozenset())


_DESCRIBES: Final = re.compile(
    r"\b(?:[^\W\d_]+-|(?:microwave|oven|heat|freezer) )(?:safe|proof|resistant)\b|\b(?:dry|wet) (?=ingredients?\b|components?\b)"
)
"""Says what a thing is like in words that elsewhere say what is done: a "microwave-safe" bowl, the "dry" ingredients."""


@lru_cache(maxsize=8_192)
def content(plain: str) -> tuple[str, ...]:
    """Return the stems of a normalised text that can identify a step: no function words, numbers or units."""
    return tuple(
        stem(w)
        for w in words(_DESCRIBES.sub(" ", plain))
        if w not in FUNCTION_WORDS and w not in UNITS and not w[0].isdigit() and w not in NUMBER_WORDS
    )


_DETERMINERS: Final = word_set(
    "the a an your my our some any each every all both these those this that of with"
)


@lru_cache(maxsize=8_192)
def opening_action(plain: str) -> str | None:
    """Return the stem of the first content word unless it is a thing ("the tubes ..."): what is done comes first."""
    before = ""
    for word in words(plain):
        known = word in FUNCTION_WORDS or word in UNITS or word[0].isdigit() or word in NUMBER_WORDS
        if not known and not is_talk(stem(word)):
            thing = (
                before in _DETERMINERS or before in UNITS or before in NUMBER_WORDS or before[:1].isdigit()
            )
            return None if thing else stem(word)
        before = word
    return None


def is_talk(stemmed: str) -> bool:
    """True for stems of words that people use to talk about any procedure (step, order, correctly, ...)."""
    return stemmed in _TALK_STEMS


def is_tool(stemmed: str) -> bool:
    """True for stems of words that say with what work is done."""
    return stemmed in _TOOL_STEMS


def is_english(tokens: Sequence[str], vocabulary: Container[str]) -> bool:
    """True when enough of the words are known: general English, or stems of the procedure's own vocabulary."""
    named = [w for w in tokens[:100] if not w[0].isdigit()]
    known = sum(
        w in FUNCTION_WORDS
        or w in UNITS
        or w in NUMBER_WORDS
        or (stemmed := stem(w)) in vocabulary
        or stemmed in _TALK_STEMS
        or stemmed in _CONCEPT_OF
        for w in named
    )
    if len(named) < 2:
        # one word may be any thing, but not in another script
        return all(w.isascii() or unicodedata.name(w[0], "").startswith("LATIN") for w in named)
    return known >= 0.34 * len(named)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit: ``""`` when it only counts things, ``level`` for low (1), medium (2) and high (3)."""

    value: float
    unit: str = ""

    @property
    def base(self) -> tuple[float, str]:
        """Value and unit in the base unit of its kind."""
        unit, scale = UNIT_SCALE.get(self.unit, (self.unit, 1.0))
        return round(self.value * scale, 6), unit


_LEVELS: Final = {"low": 1.0, "medium": 2.0, "moderate": 2.0, "high": 3.0}
_LEVEL_OF: Final = word_set(
    "heat flame fire power setting speed torque pressure temperature level volume not instead rather and "
    "for so"
)
_LEVEL_AT: Final = frozenset(["to", "on", "at", "over", "be", "is", "with", "use"])
_NO_NUMBER_END: Final = frozenset(
    ["to", "or", "and", "a", "an", "of", "more", "heaped", "generous", "full", "whole"]
)
_SINGLE: Final = (
    frozenset(
        ["minute", "hour", "teaspoon", "tablespoon", "cup", "pinch", "gram", "liter", "litre", "tsp", "tbsp"]
    )
    & UNITS.keys()
)
_DIFFERENCE: Final = frozenset(["too", "fewer", "extra", "less", "short", "many"])


def _level(tokens: Sequence[str], at: int) -> float | None:
    """Return the level that a word gives: "on medium", "high heat", but not "too high" or "a high shelf"."""
    value = _LEVELS.get(tokens[at])
    if value is None:
        return None
    following = tokens[at + 1] if at + 1 < len(tokens) else ""
    preceding = tokens[at - 1] if at else ""
    closes = not following or following in _LEVEL_OF
    named = following in _LEVEL_OF and following not in ("and", "for", "so")
    if preceding in ("too", "very", "so"):
        return None
    return value if named or (closes and preceding in _LEVEL_AT) else None


def _value_of(word: str) -> float | None:
    if word[0].isdigit():
        top, _, bottom = word.partition("/")
        try:
            return float(top) / float(bottom) if bottom else float(top)
        except (ZeroDivisionError, OverflowError):
            return None
    return NUMBER_WORDS.get(word)


@lru_cache(maxsize=8_192)
def find_quantities(plain: str) -> tuple[Quantity, ...]:
    """Return the quantities of a normalised text: fractions, mixed numbers, number words, with their units.

    Of a range both ends are returned, with the unit that follows the second.
    """
    found: list[Quantity] = []
    waiting: list[float] = []
    tokens = words(plain)
    for at, word in enumerate(tokens):
        value, level = _value_of(word), _level(tokens, at)
        if level is not None:
            found.append(Quantity(level, "level"))
        elif value is not None:
            if waiting and word[0].isdigit() and tokens[at - 1] in NUMBER_WORDS:
                # "two 6 mm holes": the first counts, the second measures
                found += [Quantity(v) for v in waiting]
                waiting = []
            if tokens[max(0, at - 2) : at] == ("and", "a") and _adds_half(value, waiting, found):
                continue
            if waiting and 0 < value < 1 and waiting[-1].is_integer() and "/" in word:
                waiting[-1] += value
            else:
                waiting.append(value)
        elif word in UNITS and waiting:
            found += [Quantity(v, UNITS[word]) for v in waiting]
            waiting = []
        elif word in _SINGLE and at and tokens[at - 1] in ("a", "an"):
            found.append(Quantity(1.0, UNITS[word]))
        elif waiting and word in _DIFFERENCE:
            # "one too few", "2 fewer" tell how far off, not how much
            waiting = []
        elif waiting and word not in _NO_NUMBER_END:
            found += [Quantity(v) for v in waiting]
            waiting = []
        if at > 400:
            break
    return tuple(found + [Quantity(v) for v in waiting])


def _adds_half(value: float, waiting: list[float], found: list[Quantity]) -> bool:
    """Deal with "one and a half minutes" and "a minute and a half"; True when the half was added to what stands before."""
    if value not in (0.5, 0.25):
        return False
    if waiting:
        waiting[-1] += value
    elif found and found[-1].unit:
        found[-1] = Quantity(found[-1].value + value, found[-1].unit)
    else:
        return False
    return True


def share_quantity(stated: Iterable[Quantity], held: Iterable[Quantity]) -> bool:
    """True when a stated quantity is among those held; a number without a unit goes with any unit but a level."""
    known = frozenset(held)
    bases = {q.base for q in known}
    values = {q.value for q in known if q.unit != "level"}
    bare = {q.value for q in known if not q.unit}
    return any(
        q.base in bases or (q.unit != "level" and ((not q.unit and q.value in values) or q.value in bare))
        for q in stated
    )


_TOO_MUCH: Final = re.compile(
    r"\btoo (?:much|many|long|hot|high|large|big|thick|fast|hard|strong|wide|tight|deep|heavy)\b|\b(?:more|longer|higher|hotter|"
    r"larger|bigger) than\b|\b(?:overdid|overdone|excess|excessive)\b|\b(?:should|need|needs|could) (?:have )?"
    r"(?:[a-z]+ )?(?:less|fewer|shorter|lower|reduce)\b|\b(?:less|fewer|shorter|lower|smaller) (?:[a-z]+ ){0,2}(?:is|are|was|were) (?:needed|required)\b|\b(?:one|two|three|a few) (?:[a-z]+ )?too many\b|"
    r"\b(?:double|twice|triple) (?:of )?(?:what|as (?:much|many)|the|that)\b"
)
_TOO_LITTLE: Final = re.compile(
    r"\btoo (?:little|few|short|cold|low|small|thin|slow|soft|weak|narrow|loose|shallow|light)\b|\b(?:less|fewer|shorter|lower|"
    r"smaller|colder) than\b|\bnot (?:\w+ )?enough\b|\b(?:should|need|needs|could) (?:to )?(?:have )?(?:[a-z]+ )?(?:more|longer|higher)\b|"
    r"\b(?:more|longer|higher|hotter|larger|bigger) (?:[a-z]+ ){0,2}(?:is|are|was|were) (?:needed|required)\b|"
    r"\bonly (?:about )?(?:half|a (?:half|third|quarter|part|fraction)) (?:of )?(?:what|as (?:much|many)|the|that)\b"
)


@lru_cache(maxsize=8_192)
def excess_of(plain: str) -> int:
    """Return 1 when a normalised text says "too much" of something, -1 when "too little", 0 when neither or both."""
    return bool(_TOO_MUCH.search(plain)) - bool(_TOO_LITTLE.search(plain))
