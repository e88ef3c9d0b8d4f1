"""Sentences that know how they were made, so that the studio can say them in another language.

A ``Said`` is the English sentence: every reader that knows one language takes it as the text it is. The studio looks its
pattern up in a catalog and fills in the values again (``studio.language``). ``scripts/extract-words`` finds the patterns.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

__all__ = ["Said", "capital", "listed", "ours", "say", "say_count", "say_in"]


class Said(str):
    """A sentence in English; as a value ``{name:capital}`` it begins with a capital letter.

    Attributes:
        pattern: with the names of values in braces.
        values: that are filled in; those that are sentences themselves are translated too.
        many: the pattern for more than one, "" where nothing is counted.
        about: what tells two uses of the same English words apart; "" for nothing.
    """

    __slots__ = ("about", "many", "pattern", "values")
    about: str
    many: str
    pattern: str
    values: dict[str, object]

    def __format__(self, format_spec: str) -> str:
        return capital(self) if format_spec == "capital" else super().__format__(format_spec)


def capital(text: str) -> str:
    """Return a text that begins with a capital letter."""
    return f"{text[:1].upper()}{text[1:]}"


def say(pattern: str, /, **values: object) -> Said:
    """Return a sentence; without values, braces stand for themselves."""
    return _said(pattern, pattern, "", "", values)


def say_count(n: int, one: str, many: str, /, **values: object) -> Said:
    """Return the sentence for a number of things; ``{n}`` is the number."""
    return _said(one if n == 1 else many, one, many, "", {"n": n, **values})


def say_in(about: str, pattern: str, /, **values: object) -> Said:
    """Return a sentence whose words mean something else elsewhere; ``about`` says to translators what they mean here."""
    return _said(pattern, pattern, "", about, values)


def ours(text: str) -> Said:
    """Return a text that a round keeps: translated where it is as we ship it, as written where its owner changed it."""
    return say_in("a shipped round", text)


def listed(parts: Iterable[str]) -> str:
    """Return sentences or values with commas between them."""
    return reduce(
        lambda before, after: say("{before}, {after}", before=before, after=after) if before else after,
        parts,
        "",
    )


def _said(shown: str, pattern: str, many: str, about: str, values: dict[str, object]) -> Said:
    made = Said(shown.format_map(values) if values else shown)
    made.pattern, made.many, made.about, made.values = pattern, many, about, values
    return made
