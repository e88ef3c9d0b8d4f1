"""Amounts, times and temperatures in step texts, and what differs between an instruction and what was done.

Nothing is guessed: a difference is reported only where the two texts name quantities of the same dimension that can
be paired without doubt. Values are exact fractions; units of one dimension are comparable through a common base.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal

from proctor.procedure.inflect import word_list, word_set
from proctor.procedure.phrase import render_step
from proctor.procedure.wording import agree

__all__ = ["Difference", "Dimension", "Quantity", "find_difference", "find_levels", "find_quantities"]

Dimension = Literal["amount", "count", "length", "time", "temperature"]
Direction = Literal["more", "less"]

_UNITS: Final[dict[str, tuple[Dimension, str, Fraction]]] = {}
"""Unit word → (dimension, kind within which values compare, size in the kind's base unit)."""


def _declare(dimension: Dimension, kind: str, **units: str) -> None:
    for size, words in units.items():
        for word in words.split():
            _UNITS[word] = (dimension, kind, Fraction(size[1:]))


_declare(
    "amount",
    "volume",
    u1="tsp teaspoon teaspoons tsps",
    u3="tbsp tablespoon tablespoons tbs tbsps",
    u48="cup cups",
)
_declare(
    "amount",
    "metric volume",
    u1="µl ul microliter microliters microlitre microlitres",
    u1000="ml milliliter milliliters",
)
_declare("amount", "metric volume", u1000000="l liter liters litre litres")
_declare("amount", "mass", u1="mg", u1000="g gram grams", u1000000="kg")
_declare("amount", "weight", u1="oz ounce ounces", u16="lb lbs pound pounds")
_declare("amount", "pinch", u1="pinch pinches")
_declare("length", "inch", u1="inch inches in")
_declare("length", "metric length", u1="mm", u10="cm", u1000="m")
_declare(
    "time", "time", u1="s sec secs second seconds", u60="min mins minute minutes", u3600="h hr hrs hour hours"
)
_declare("temperature", "degree", u1="degree degrees °c °f °")

_WORDS: Final = {
    word: n for n, word in enumerate(word_list("one two three four five six seven eight nine ten"), 1)
}
_ANDHALF = r"(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten) and (?:a |one )?half"
_NUMBER = r"(?:\d+ \d+/\d+(?! ?inch)|\d+/\d+|\d+(?:\.\d+)?|half)"
_QUANTITY = re.compile(
    r"(?P<modifier>(?:more than|less than|over|under|only|about|exactly|at least) )?"
    rf"(?<![\w/.-])(?P<low>{_ANDHALF}|{_NUMBER}|\b(?:one|two|three|four|five|six|seven|eight|nine|ten)\b|\ba(?=n? (?:tsp|tbsp|tea|table|cup|pinch|min|sec|hour)))"
    rf"(?:(?: ?(?:oz|g|ml|min|sec|inch))?\s*(?:-|–|to)\s*(?P<high>{_NUMBER}))?"
    r"(?:[ -]?(?P<more>more|heaped|generous|large|medium|small|whole))?"
    r"(?:[ -]*(?P<unit>[a-zµ°]+))?",
    re.IGNORECASE,
)
_SKIP: Final = word_set("of the a an more medium large small ripe fresh softened sized in thick to")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity as it stands in a text; ``low`` = ``high`` unless it is a range. Values are in the kind's base.

    ``counted`` are the words for what a bare number counts ("garlic cloves", "bar"); empty where a unit is named.
    """

    dimension: Dimension
    kind: str
    low: Fraction
    high: Fraction
    text: str
    unit: str
    noun: str
    modifier: str = ""
    counted: str = ""

    def same_value(self, other: Quantity) -> bool:
        """True when both say the same."""
        return (self.kind, self.low, self.high, self.modifier) == (
            other.kind,
            other.low,
            other.high,
            other.modifier,
        )


@dataclass(frozen=True, slots=True)
class Difference:
    """What was done instead of what was asked for.

    Attributes:
        wrong: as the text of what was done says it.
        right: as the instruction says it.
        dimension: of both.
        direction: whether ``wrong`` is more or less; None when they do not compare.
        remainder: what is lacking, in words, when it can be computed exactly.
        noun: what is measured, when both texts name it.
        counted: what bare numbers count, in the words of the texts; without it they say nothing.
    """

    wrong: str
    right: str
    dimension: Dimension
    direction: Direction | None = None
    remainder: str = ""
    noun: str = ""
    counted: str = ""

    @property
    def is_sayable(self) -> bool:
        """True unless both sides are bare numbers of nobody knows what."""
        return self.dimension != "count" or bool(self.counted)

    @property
    def wrong_words(self) -> str:
        """``wrong`` with what it counts."""
        return agree(f"{self.wrong} {self.counted}".strip())

    @property
    def right_words(self) -> str:
        """``right`` with what it counts."""
        return agree(f"{self.right} {self.counted}".strip())

    @property
    def another(self) -> str:
        """What is lacking, behind "another": ``"30 seconds"``, ``"minute"``; empty when it cannot be computed."""
        rest = f"{self.remainder} {self.counted}" if self.dimension == "count" else self.remainder
        return re.sub(r"^1 (?=[a-z])", "", agree(rest)) if self.remainder else ""


_LONGEST: Final = 40
"""Characters of a number; what is longer measures nothing, and Python itself refuses the longest."""


@lru_cache(maxsize=16_384)
def find_quantities(text: str) -> tuple[Quantity, ...]:
    """Find all quantities of a text in order; "1 minute 20 seconds" is one."""
    found: list[Quantity] = []
    last_end = -1
    for match in _QUANTITY.finditer(text):
        if max(len(match["low"]), len(match["high"] or "")) > _LONGEST:
            continue
        quantity = _quantity(match, text)
        joins = (
            found
            and quantity.kind == found[-1].kind == "time"
            and text[last_end : match.start()].strip() in ("", "and")
        )
        if joins and found[-1].low == found[-1].high and quantity.low == quantity.high:
            before = found.pop()
            total = before.low + quantity.low
            words = f"{before.text} {quantity.text}"
            quantity = Quantity(
                "time", "time", total, total, words, quantity.unit, quantity.noun, before.modifier
            )
        found.append(quantity)
        last_end = match.end()
    return tuple(found)


def _quantity(match: re.Match[str], text: str) -> Quantity:
    unit = (match["unit"] or "").lower()
    declared = _UNITS.get(unit)
    dimension, kind, size = declared if declared else ("count", "count", Fraction(1))
    ends = [_value(match[name]) * size for name in ("low", "high") if match[name]]
    low, high = min(ends), max(ends)
    end = match.end() if declared else (match.start("unit") if match["unit"] else match.end())
    words = " ".join(text[match.start() : end].split())
    modifier = (match["modifier"] or "").strip().lower()
    modifier = "" if modifier in ("about", "exactly", "only") else modifier
    if (match["modifier"] or "").strip().lower() in ("only", "exactly", "about"):
        words = words.split(" ", 1)[1]
    words = _agreeing(words.rstrip(" -"), unit, high / size)
    counted = _COUNTED_WORDS.match(f" {text[end:].lstrip()}") if not declared else None
    return Quantity(
        dimension,
        kind,
        low,
        high,
        words,
        unit if declared else "",
        _noun(text[end:]),
        modifier,
        counted[0].strip() if counted else "",
    )


_COUNTED_WORDS: Final = re.compile(
    r"(?:\s+(?!(?:of|in|into|to|on|onto|for|from|with|and|or|at|by|instead|rather|as|so|until|straight|more|than|is|are|"
    r"was|were|one|two|three|four|five|six|thick|apart|together|only|medium|large|small|under|over|about|around|through|"
    r"across|before|after|inside|outside|off|along|per|each|between|without|using)\b)[a-z][a-z-]*){1,3}",
    re.IGNORECASE,
)


_COUNTED: Final = word_list("teaspoon tablespoon cup ounce minute second hour pinch gram degree")


def _agreeing(words: str, unit: str, number: Fraction) -> str:
    """Put a spelled-out unit into the number that goes with its quantity ("2 minute" → "2 minutes")."""
    singular = next((c for c in _COUNTED if unit in (c, c + "s", c + "es")), "")
    if not singular:
        return words
    plural = singular + ("es" if singular.endswith("ch") else "s")
    return words[: len(words) - len(unit)] + (plural if number > 1 else singular)


def _value(word: str) -> Fraction:
    word = word.lower()
    if word.endswith("half") and " and " in word:
        return _value(word.split(" and ")[0]) + Fraction(1, 2)
    if word in _WORDS:
        return Fraction(_WORDS[word])
    if word in ("a", "half"):
        return Fraction(1, 2) if word == "half" else Fraction(1)
    whole, _, part = word.partition(" ")
    try:
        return Fraction(whole) + (Fraction(part) if part else 0)
    except ZeroDivisionError:
        return Fraction(0)


def _noun(after: str) -> str:
    words: list[str] = re.findall(r"[a-z]+|[.,;(]", after.lower())
    for word in words[:4]:
        if word in ".,;(":
            return ""
        if word not in _SKIP and word not in _UNITS:
            return _singular(word)
    return ""


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


# -- heat levels -------------------------------------------------------------------------------------------------

_LEVEL_RANK: Final = {
    "low": 0,
    "low-medium": 1,
    "medium-low": 1,
    "medium": 2,
    "medium-high": 3,
    "high-medium": 3,
    "high": 4,
}
_LEVEL = re.compile(
    r"\b(low-medium|medium-low|medium-high|high-medium|medium|low|high)\b"
    r"(?=\s+(?:heat|power|level|temperature|setting|flame|for|until|instead)\b|\s*[.,;)]|\s*$|\s+and\b)",
    re.IGNORECASE,
)
_WATER = re.compile(r"\b(ice-cold|cold|lukewarm|warm|hot|boiling) water\b", re.IGNORECASE)
_WATER_RANK: Final = {"ice-cold": 0, "cold": 1, "lukewarm": 2, "warm": 3, "hot": 4, "boiling": 5}


def find_levels(text: str) -> tuple[tuple[str, int, str], ...]:
    """Find heat levels ("medium-high") and water temperatures: (words, rank, ``heat`` or ``water``)."""
    levels = [(m[1].lower(), _LEVEL_RANK[m[1].lower()], "heat") for m in _LEVEL.finditer(text)]
    waters = [(f"{m[1].lower()} water", _WATER_RANK[m[1].lower()], "water") for m in _WATER.finditer(text)]
    return tuple(levels + waters)


# -- differences -------------------------------------------------------------------------------------------------

_INSTEAD = re.compile(r"\b(?:instead of|rather than)\b", re.IGNORECASE)


def find_difference(instruction: str, done: str, dimensions: Sequence[Dimension]) -> Difference | None:
    """Say what differs between an instruction and what was done; None when it cannot be read off exactly.

    ``done`` may be a description of the whole step or a remark such as "1 tsp instead of 1/4 tsp"; a remark that
    contradicts the instruction is not believed.
    """
    instruction = render_step(instruction)
    remark = _INSTEAD.split(render_step(done))
    if "temperature" in dimensions:
        level = _level_difference(instruction, remark)
        if level is not None:
            return level
    asked = [q for q in find_quantities(instruction) if q.dimension in dimensions]
    if len(remark) == 2:
        return _from_remark(asked, remark[0], remark[1], dimensions)
    given = [q for q in find_quantities(remark[0]) if q.dimension in dimensions]
    pairs = _paired(asked, given)
    differing = [(g, a) for a, g in pairs if not g.same_value(a)]
    return _difference(*differing[0]) if len(differing) == 1 else None


def _paired(asked: list[Quantity], given: list[Quantity]) -> list[tuple[Quantity, Quantity]]:
    """Pair quantities by position when the texts are parallel, else the only ones that share dimension and noun."""
    if len(asked) == len(given):
        pairs = list(zip(asked, given, strict=True))
        parallel = all(
            a.dimension == g.dimension and (not a.noun or not g.noun or a.noun == g.noun) for a, g in pairs
        )
        if parallel or (len(pairs) == 1 and pairs[0][0].dimension == pairs[0][1].dimension == "time"):
            return pairs
        return []
    matches = [
        (a, g) for g in given for a in asked if a.noun and a.noun == g.noun and a.dimension == g.dimension
    ]
    return matches if len(matches) == 1 == len(given) else []


def _from_remark(
    asked: list[Quantity], wrong: str, right: str, dimensions: Sequence[Dimension]
) -> Difference | None:
    """Read "X instead of Y": Y must be what the instruction says, X must not be; a missing unit is the other's."""
    ours, theirs = find_quantities(wrong), find_quantities(right)
    if len(ours) != 1 or len(theirs) != 1:
        return None
    given, claimed = ours[0], theirs[0]
    fitting = [a for a in asked if _agrees(claimed, a)]
    if len(fitting) != 1:
        return None
    target = fitting[0]
    if given.dimension == "count" and target.dimension != "count" and not given.unit:
        size = _UNITS[target.unit][2]
        words = f"{given.text} {target.unit}"
        given = Quantity(
            target.dimension,
            target.kind,
            given.low * size,
            given.high * size,
            words,
            target.unit,
            target.noun,
        )
    if given.dimension not in dimensions or given.dimension != target.dimension or given.same_value(target):
        return None
    return _difference(given, target)


def _agrees(claimed: Quantity, asked: Quantity) -> bool:
    if claimed.unit:
        return claimed.same_value(asked)
    size = _UNITS[asked.unit][2] if asked.unit else Fraction(1)
    return (claimed.low * size, claimed.high * size) == (asked.low, asked.high)


def _difference(given: Quantity, asked: Quantity) -> Difference:
    direction: Direction | None = None
    if given.kind == asked.kind:
        if given.low > asked.high or (given.modifier in ("more than", "over") and given.low >= asked.high):
            direction = "more"
        elif given.high < asked.low or (given.modifier in ("less than", "under") and given.high <= asked.low):
            direction = "less"
    remainder = ""
    exact = given.low == given.high and asked.low == asked.high and not given.modifier and not asked.modifier
    if direction == "less" and exact:
        remainder = _spoken(asked.low - given.low, asked)
    noun = asked.noun if asked.noun == given.noun else ""
    counted = (asked.counted or given.counted) if asked.dimension == "count" else ""
    return Difference(given.text, asked.text, asked.dimension, direction, remainder, noun, counted)


def _spoken(value: Fraction, like: Quantity) -> str:
    """Write a value in the unit of ``like``; empty when that gives no plain fraction."""
    size, unit = (_UNITS[like.unit][2], like.unit) if like.unit else (Fraction(1), "")
    number = value / size
    if like.kind == "time" and number < 1 and value.denominator == 1:
        number, unit = value, "second"
    if number.denominator not in (1, 2, 4, 8, 16):
        if like.kind != "volume" or value.denominator not in (1, 2, 4, 8):
            return ""
        number, unit = value, "tsp"
    whole, part = divmod(number, 1)
    words = f"{whole} {part}" if whole and part else str(whole or part)
    if like.kind == "time":
        unit = {"s": "second", "sec": "second", "secs": "second", "min": "minute", "mins": "minute"}.get(
            unit, unit
        ).rstrip("s")
        unit += "s" if number > 1 else ""
    return f"{words} {unit}".strip()


def _level_difference(instruction: str, remark: Sequence[str]) -> Difference | None:
    asked, given = find_levels(instruction), find_levels(remark[0])
    if len(asked) != 1 or len(given) != 1 or asked[0][2] != given[0][2] or asked[0][1] == given[0][1]:
        return None
    claimed = find_levels(remark[1]) if len(remark) == 2 else ()
    if len(claimed) == 1 and claimed[0][1] != asked[0][1]:
        return None
    return Difference(
        given[0][0], asked[0][0], "temperature", "more" if given[0][1] > asked[0][1] else "less"
    )
