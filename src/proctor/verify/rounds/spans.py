"""Marked stretches of a text: how a form holds them, and where words that somebody typed stand. docs/rounds.md, *Own tasks*.

A form holds ``start:end:label``: characters ``[start, end)`` counted as Unicode code points. A plain form, which knows no places, holds
``?:label:words``; the words are looked up when the sheet is kept.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from proctor.said import say

__all__ = ["Span", "as_value", "kept_spans", "place_spans", "typed_spans"]

_PLACED: Final = re.compile(r"(\d{1,9}):(\d{1,9}):([^:]+)", re.ASCII | re.DOTALL)
_TYPED: Final = re.compile(r"\?:([^:]+):(.+)", re.DOTALL)


class Span(NamedTuple):
    """Characters ``[start, end)`` of a text, in code points, and what they are."""

    start: int
    end: int
    label: str


def as_value(span: Span) -> str:
    """Return a span as a form holds it."""
    return f"{span.start}:{span.end}:{span.label}"


def kept_spans(values: str | Sequence[str]) -> list[Span]:
    """Return the spans of a form that was kept."""
    placed = (_PLACED.fullmatch(value) for value in ([values] if isinstance(values, str) else values))
    return [Span(int(found[1]), int(found[2]), found[3]) for found in placed if found is not None]


def typed_spans(values: Sequence[str]) -> list[tuple[str, str]]:
    """Return label and words of what a form holds that was not looked up."""
    return [(found[1], found[2]) for value in values if (found := _TYPED.fullmatch(value)) is not None]


def place_spans(values: Sequence[str], text: str, labels: Collection[str]) -> tuple[list[Span], str]:
    """Return the spans that a form holds, in order and each once, and what is wrong with the first that cannot be one.

    Of words that stand in the text several times, the first place is taken that begins after those that are marked already.
    """
    found: list[Span] = []
    for value in values:
        placed = kept_spans(value)
        for label, words in typed_spans([value]):
            after = max((s.end for s in found if text[s.start : s.end] == words), default=0)
            start = text.find(words, after)
            if start < 0:
                shown = words[:80]
                if after:
                    return [], say("“{words}” is not in the text once more; copy it from there", words=shown)
                return [], say("“{words}” is not in the text; copy it from there", words=shown)
            placed = [Span(start, start + len(words), label)]
        found += placed
        if not placed or not placed[0].start < placed[0].end <= len(text) or placed[0].label not in labels:
            return [], say("a mark lies outside the text, or has no label")
    return sorted(set(found)), ""
