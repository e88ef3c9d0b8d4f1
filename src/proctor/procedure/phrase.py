"""Step texts as they are read aloud.

Many data sets write a step as ``Verb-Verb the rest`` (CaptainCook4D: "Peel-Peel one garlic clove",
"add-1/4 tsp salt to a bowl"). ``render_step`` turns that into a plain imperative without changing its words.
"""

from __future__ import annotations

import re

__all__ = ["render_step"]

_TAGGED = re.compile(r"^\s*(?P<verb>[A-Za-z]+(?: (?:and|or) [A-Za-z]+)?)\s*-\s*(?P<rest>\S.*)$", re.DOTALL)


def render_step(text: str, *, capital: bool = True) -> str:
    """Return the instruction as a sentence part without final stop: ``"Peel one garlic clove"``.

    The verb before the dash is dropped when the rest starts with a form of it, and kept in front otherwise
    (``"add-1/4 tsp salt"`` becomes ``"Add 1/4 tsp salt"``). Text without such a tag is only trimmed.
    """
    plain = " ".join(text.split())
    match = _TAGGED.match(plain)
    if match:
        verb, rest = match["verb"], match["rest"]
        plain = rest if rest[0].isupper() or _names_verb(verb, rest) else f"{verb} {rest}"
    plain = plain.rstrip(" .;,")
    if not plain:
        return plain
    return (plain[0].upper() if capital else _lower_first(plain)) + plain[1:]


def _names_verb(verb: str, rest: str) -> bool:
    """True when the first words of the rest hold a form of the verb, so that it need not be repeated."""
    stems = [v[: max(3, len(v) - 3)] for v in verb.lower().split() if v not in ("and", "or")]
    words = re.findall(r"[a-z]+", rest.lower())[:8]
    return all(any(w.startswith(stem) for w in words) for stem in stems)


def _lower_first(text: str) -> str:
    first = text.split()[0]
    return text[0] if len(first) > 1 and first.isupper() else text[0].lower()
