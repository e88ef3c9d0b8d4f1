"""Mistakes as one line of text, for tools whose annotations hold nothing else: ``order: too early``."""

from __future__ import annotations

import re
from typing import Final

from proctor.procedure.recording import MISTAKE_KINDS, Mistake

__all__ = ["parse_mistake", "render_mistake"]

_HEAD: Final = re.compile(r"((?:[^\\:]|\\[\s\S])*):(?: |\Z)")


def render_mistake(mistake: Mistake) -> str:
    r"""Return ``kind: text``, or ``kind:`` where there is no text; ``:`` and ``\`` in a kind get a backslash."""
    kind = re.sub(r"([\\:])", r"\\\1", mistake.kind)
    return f"{kind}: {mistake.text}" if mistake.text else f"{kind}:"


def parse_mistake(text: str) -> Mistake:
    """Return the mistake of a line; a line without ``kind:`` is a kind that Proctor knows, or ``other``."""
    found = _HEAD.match(text)
    if found is not None:
        return Mistake(re.sub(r"\\([\s\S])", r"\1", found[1]), text[found.end() :])
    word = text.strip().lower()
    return Mistake(word) if word in MISTAKE_KINDS else Mistake("other", text.strip())
