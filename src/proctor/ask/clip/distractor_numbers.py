"""Texts in which one number is another one: amounts, counts, lengths, temperatures and durations, each with its unit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from proctor.ask.documents.prompting import squeeze
from proctor.procedure.quantity import Quantity, find_quantities

__all__ = ["NumberChange", "change_numbers", "sound_quantities"]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_WORDS: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_SPELT: Final = "|".join(_WORDS)
_NUMBER = re.compile(
    rf"(?<![\w./:,-])(?:\d+ \d+/\d+|\d+/\d+|\d+\.\d+|\d+|{_SPELT})(?![\d:/]|x\d|[.,]\d|\s?[-–]\s?\d|\s+(?:to|or|and)\s+(?:a|\d|half|{_SPELT})|\s+\d)",
    re.IGNORECASE,
)
_PARTS: Final = tuple(Fraction(n, d) for n, d in ((1, 4), (1, 3), (1, 2), (2, 3), (3, 4), (1, 1), (2, 1)))
_PLURAL: Final = {
    word: word + ("es" if word.endswith(("ch", "sh", "o", "x")) else "s")
    for word in _words(
        "teaspoon tablespoon cup ounce pound gram liter litre minute second hour degree slice piece clove egg time spoon pinch "
        "layer cube step bowl pan drop stick onion tomato potato pepper strip sheet can packet"
    )
}
_SINGULAR: Final = {many: one for one, many in _PLURAL.items()}
_SAME_IN_BOTH: Final = _words("tsp tbsp tbs oz lb lbs g kg mg ml l cm mm m min mins sec secs hr inch")


@dataclass(frozen=True, slots=True)
class NumberChange:
    """A text with another number in it, and the quantity as it was and as it is."""

    text: str
    before: Quantity
    after: Quantity


_ENDLESS = re.compile(r"\d{30}")


def sound_quantities(text: str) -> tuple[Quantity, ...]:
    """Return the quantities of a text; none where it has a number that nobody would write and no computer likes to read."""
    return () if _ENDLESS.search(text) else find_quantities(text)


def change_numbers(text: str) -> Iterator[NumberChange]:
    """Yield texts in which exactly one quantity differs: by its number, near ones first, never by its unit.

    Ranges ("2-3 minutes", "three or four") and numbers that stand beside another one are left as they are, and so is what
    would not agree with its number any more.
    """
    plain = squeeze(text)
    if not sound_quantities(plain):
        return
    for found in _NUMBER.finditer(plain):
        if _in_range(plain, found):
            continue
        for number in _others(found[0]):
            said = _renumbered(plain, found, number)
            change = _only_change(plain, said) if said else None
            if change is not None:
                yield NumberChange(said, *change)


def _in_range(text: str, found: re.Match[str]) -> bool:
    """True for the second number of "three or four", "10 to 15" and "10 15"; "salt and 3 eggs" has one number."""
    before = re.search(
        rf"(?:\d|\b(?:{_SPELT}))\s+(?:(?:to|or|and)\s+)?$", text[: found.start()], re.IGNORECASE
    )
    return before is not None


def _only_change(before: str, after: str) -> tuple[Quantity, Quantity] | None:
    """Return the quantity that differs between two texts, as it was and as it is.

    None unless it is exactly one, exact, of the same kind, and has a unit or something that is counted.
    """
    old, new = find_quantities(before), find_quantities(after)
    if len(old) != len(new):
        return None
    pairs = [(a, b) for a, b in zip(old, new, strict=True) if not a.same_value(b)]
    if len(pairs) != 1:
        return None
    one, other = pairs[0]
    if one.kind != other.kind or one.low != one.high or other.low != other.high:
        return None
    is_plain_number = one.dimension == "count" and not one.noun and len(old) == 1 and len(before.split()) <= 2
    return (one, other) if one.unit or one.noun or is_plain_number else None


def _others(number: str) -> list[str]:
    """Return other numbers of the same look, near ones first."""
    word = number.lower()
    if word in _WORDS:
        n = _WORDS.index(word)
        near = [m for m in (n + 1, n - 1, n + 2, 2 * n + 1, n - 2) if 0 <= m < len(_WORDS)]
        return [_WORDS[m].capitalize() if number[0].isupper() else _WORDS[m] for m in dict.fromkeys(near)]
    if " " in number:
        whole, part = number.split(" ")
        return [f"{m} {part}" for m in (int(whole) + 1, int(whole) - 1, int(whole) + 2) if m > 0]
    if "/" in number:
        top, bottom = map(int, number.split("/"))
        own = Fraction(top, bottom) if bottom else Fraction(0)
        near_parts = sorted((p for p in _PARTS if p != own), key=lambda p: (abs(p - own), p))
        return [str(p) for p in near_parts]
    if "." in number:
        digits = len(number.split(".")[1])
        return [f"{float(number) * factor:.{digits}f}" for factor in (2, 1.5, 0.5, 3)]
    n = int(number)
    step = next((s for s in (100, 50, 10, 5) if n >= 2 * s and n % s == 0), 1)
    values = dict.fromkeys(
        (n + step, n - step, 2 * n, n + 2 * step, *([n // 2] if n % 2 == 0 else []), 3 * n)
    )
    return [str(m) for m in values if m > 0 and m != n]


def _renumbered(answer: str, found: re.Match[str], number: str) -> str:
    """Put a number in the place of another one, and the word behind it in the number that goes with it; empty when unsure."""
    rest = answer[found.end() :]
    word = re.match(r" ([a-z]+)\b", rest)
    is_one, was_one = _is_singular(number), _is_singular(found[0])
    if word is not None and is_one != was_one and word[1] not in _SAME_IN_BOTH:
        agreeing = _SINGULAR.get(word[1], "") if is_one else _PLURAL.get(word[1], "")
        if not agreeing:
            return ""
        rest = f" {agreeing}{rest[word.end() :]}"
    return f"{answer[: found.start()]}{number}{rest}"


def _is_singular(number: str) -> bool:
    if number.lower() in _WORDS:
        return number.lower() == "one"
    if " " in number:
        return False
    return Fraction(number) <= 1 if not number.endswith("/0") else False
