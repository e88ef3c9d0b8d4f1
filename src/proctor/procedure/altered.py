"""Texts of steps with one amount, time or heat altered, where that can be read back without doubt."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Final

from proctor.procedure.quantity import Dimension, find_difference, find_levels, find_quantities
from proctor.procedure.showing import shown_text
from proctor.procedure.wording import agree

__all__ = ["mistakes_in"]

_Mistake = tuple[str, str, str]  # kind, what goes wrong, and the text of the step with it in place
_WORDS: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER: Final = re.compile(rf"\d+ \d+/\d+|\d+/\d+|\d+(?:\.\d+)?|\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)


@lru_cache(maxsize=4_096)
def mistakes_in(text: str) -> tuple[_Mistake, ...]:
    """Return amounts, lengths and times doubled and halved, temperatures halved, and the other end of a heat level.

    Only what can be read back: the changed text differs in this one quantity and in that direction. Degrees are not
    doubled, for nobody should heat an oven to that.
    """
    plain, double, half = shown_text(text), Fraction(2), Fraction(1, 2)
    found: list[_Mistake] = []
    for quantity in find_quantities(plain):
        words = f"{quantity.text} {quantity.counted}".strip()
        kind = {"time": "timing", "temperature": "temperature"}.get(quantity.dimension, "measurement")
        place = re.compile(rf"(?<!\w){re.escape(words)}(?!\w)")
        for factor in (half,) if kind == "temperature" else (double, half):
            changed = _scaled(words, quantity.text, factor, whole=quantity.dimension == "count")
            if changed and len(place.findall(plain)) == 1:
                modified = place.sub(changed, plain)
                found += _checked(plain, modified, kind, quantity.dimension, factor > 1)
    for words, rank, scale in find_levels(plain):
        low, high = ("cold water", "hot water") if scale == "water" else ("low", "high")
        modified, n = re.subn(rf"\b{words}\b", high if rank <= 2 else low, plain, flags=re.IGNORECASE)
        if n == 1:
            found += _checked(plain, modified, "temperature", "temperature", rank <= 2)
    return tuple(found)


def _checked(plain: str, modified: str, kind: str, dimension: Dimension, more: bool) -> list[_Mistake]:
    seen = find_difference(plain, modified, (dimension,))
    if seen is None or not seen.is_sayable or seen.direction != ("more" if more else "less"):
        return []
    return [(kind, f"{seen.wrong_words} instead of {seen.right_words}", modified)]


def _scaled(words: str, quantity: str, factor: Fraction, *, whole: bool) -> str:
    """Return the words with the numbers of the quantity multiplied; empty where nobody would write the outcome."""

    def number(match: re.Match[str]) -> str:
        said = match[0].lower()
        value = Fraction(_WORDS.index(said)) if said in _WORDS else sum(map(Fraction, said.split()))
        ones, part = divmod(value * factor, 1)
        if part.denominator not in ((1,) if whole else (1, 2, 3, 4, 8, 16)) or (part and "-" in quantity):
            return "?"
        return f"{ones} {part}" if ones and part else str(ones or part)

    rest = words[len(quantity) :]
    changed = _NUMBER.sub(number, quantity) if not re.search("/0", quantity) else "?"
    agreed = agree(changed + rest)
    one_end = whole and changed == "2" and agreed.endswith(rest)  # of "from one end to another"
    return "" if "?" in changed or changed == quantity or one_end else agreed
