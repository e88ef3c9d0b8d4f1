"""How a played model compares texts: by the words in them that carry meaning, numbers and inflections made alike."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from proctor.procedure.inflect import base_form

__all__ = ["content", "covers", "is_generic", "same"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_EMPTY: Final = _words(
    "a an the of to in on at is are was be been it its they them he she his her their this that these those and then or so as "
    "by for from with into onto up out off person does do did done doing has have had not because while when right after before "
    "between what which who why how where there here some any all each also just about"
)
_GENERIC: Final = _words(
    "something anything thing things stuff part parts next another other others work action actions activity activities step "
    "steps ingredient ingredients tool tools object objects food item items material materials use make prepare handle process "
    "various different certain kind way normal usual continue go happen same more need needed necessary yes no second minute "
    "seconds minutes several"
)
_COUNTED: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
)
_NUMBERS: Final = {word: str(n) for n, word in enumerate(_COUNTED.split())} | {
    "once": "1",
    "twice": "2",
    "half": "1/2",
}
_WORD = re.compile(r"\d+(?:[./]\d+)?|[^\W\d_]+")


@lru_cache(maxsize=200_000)
def content(text: str) -> frozenset[str]:
    """Return the words of a text that carry meaning, in their base form."""
    found = set()
    for word in _WORD.findall(text.casefold()):
        if word not in _EMPTY and (len(word) > 1 or word.isdigit()):
            found.add(_plain(word))
    return frozenset(found - _EMPTY)


@lru_cache(maxsize=200_000)
def _plain(word: str) -> str:
    """Return a word without its ending: a rough form that is the same for all forms of most words."""
    if word in _NUMBERS:
        return _NUMBERS[word]
    base = base_form(word) or word
    if base != word or word in _GENERIC:
        return _rough(base)
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            stem = word.removesuffix(ending)
            return _rough(stem[:-1] if stem[-1] == stem[-2] and stem[-1] not in "ls" else stem)
    return _rough(word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word)


def _rough(word: str) -> str:
    return word[:-1] if word.endswith("e") and len(word) > 4 and word not in _GENERIC else word


def is_generic(text: str) -> bool:
    """True for a text that says nothing that would not fit elsewhere.

    Example:
        >>> is_generic("Another thing is prepared"), is_generic("Another onion is prepared")
        (True, False)
    """
    return all(word in _GENERIC or word.rstrip("s") in _GENERIC or word.isdigit() for word in content(text))


def covers(text: str, part: str) -> bool:
    """True when a text says what a part says."""
    wanted = content(part)
    return bool(wanted) and wanted <= content(text)


def same(gold: str, said: str) -> bool:
    """True when an answer says what the accepted one does, not much more, and offers nothing else beside it."""
    if " ".join(gold.casefold().split()).strip(" .!") == " ".join(said.casefold().split()).strip(" .!"):
        return True
    wanted, given = content(gold), content(said)
    if not wanted or not wanted <= given or len(given) > 2 * len(wanted) + 2:
        return False
    return _numbers(wanted) == _numbers(given) and (" or " in gold or " or " not in said)


def _numbers(words: Iterable[str]) -> set[str]:
    return {word for word in words if word[0].isdigit()}
