"""Names that are compared letter by letter and nearly agree: what a message can say about them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

__all__ = ["near_miss_note", "near_misses"]

_SUFFIX: Final = re.compile(r"(?<=.)\.[a-z][a-z0-9]{1,4}$")
_NAMED: Final = 5


def near_misses(reference: Iterable[str | int], given: Iterable[str | int]) -> list[tuple[str, str]]:
    """Pair names of ``given`` that ``reference`` lacks with those that they were probably meant to be.

    Two names are near if they agree after letter case, spaces, punctuation and the ending of a file are taken away
    (``V2``, ``v2 `` and ``v2.mp4`` are near ``v2``).

    Returns:
        (given, reference) pairs, sorted; a given name stands once.
    """
    wanted, seen = {str(name) for name in reference}, {str(name) for name in given}
    by_key: dict[str, str] = {}
    for name in sorted(wanted - seen, reverse=True):
        by_key[_key(name)] = name
    return [(name, by_key[key]) for name in sorted(seen - wanted) if (key := _key(name)) in by_key]


def near_miss_note(reference: Iterable[str | int], given: Iterable[str | int], what: str) -> str:
    """Return a sentence that names near misses, empty if there are none.

    Args:
        reference: names of the reference.
        given: names of the predictions.
        what: what is named, in the plural (``videos``).
    """
    found = near_misses(reference, given)
    if not found:
        return ""
    shown = ", ".join(f"{a!r} (reference: {b!r})" for a, b in found[:_NAMED])
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return (
        f"Some {what} are nearly named alike, and were not matched: {shown}{more}. Name them alike in both."
    )


def _key(name: str) -> str:
    folded = unicodedata.normalize("NFKC", name).casefold().strip()
    return re.sub(r"[\W_]+", "", _SUFFIX.sub("", folded)) or folded
