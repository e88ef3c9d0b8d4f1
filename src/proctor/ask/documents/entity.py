"""The entity that joins the candidates: what a seed source is about, named by a model (SMMQG)."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from proctor.ask.documents.prompting import (
    SHOWN,
    DocumentsPrompt,
    Miss,
    PromptKit,
    no_pixels,
    read_text,
    squeeze,
)
from proctor.ask.documents.triple import is_none
from proctor.corpus.source import Source
from proctor.errors import UserError
from proctor.llm.message import Parameters
from proctor.llm.outcome import Outcome

__all__ = ["ENTITY", "NUM_ENTITIES", "entity_prompt", "parse_entities", "read_entities"]

ENTITY: Final = Parameters(temperature=1.0, max_tokens=96)
"""Parameters of the call; the temperature is the paper's."""

NUM_ENTITIES: Final = 1
"""Entities of a seed (paper)."""

MOST_WORDS: Final = 8
MOST_CHARACTERS: Final = 80
_MOST_ENTITIES: Final = 20
_LINE_LIMIT: Final = 2_000
"""Characters of a line that are read: the first names are all that is wanted."""

_BULLET = re.compile(r"^\s*(?:[-*•–—·‣◦>#]+\s*|\(?\d{1,2}[.):]\s+)+")
_LABEL = re.compile(
    r"^\W*(?:main\s+)?(?:entit(?:y|ies)|themes?|topics?|subjects?|answer)\s*\d{0,2}\W*:\s*", re.IGNORECASE
)
_SEPARATOR = re.compile(r"[,;，；、\n]")
_ABBREVIATION = re.compile(r"(?:.*\s)?(?:\w\.){2,}", re.DOTALL)
_QUOTES: Final = "\"'`*_“”‘’«»„ \t"


def entity_prompt(kit: PromptKit, source: Source, *, count: int = 1) -> DocumentsPrompt:
    """Ask what a source is about; an image is shown as its caption and description, without pixels (paper).

    Args:
        kit: templates and fences.
        source: the seed.
        count: entities that are asked for.

    Raises:
        UserError: for a count below 1 or above 20.
    """
    if not 1 <= count <= _MOST_ENTITIES:
        raise UserError(f"{count} entities cannot be asked for.", hint=f"ask for 1 to {_MOST_ENTITIES}")
    shown = replace(kit, picture=no_pixels).sources([source])
    return kit.make("styled-entity", source=shown["sources"][0], cut=shown["cut"], count=count)


def read_entities(outcome: Outcome, *, count: int = 1) -> tuple[str, ...] | Miss:
    """Return the entities that a model named, at least one and at most ``count``, or why there is none."""
    text = read_text(outcome, unreadable="entity_refused")
    if isinstance(text, Miss):
        return Miss("entity_refused", text.detail) if text.outcome == "refused" else text
    return parse_entities(text, count=count)


def parse_entities(text: str, *, count: int = 1) -> tuple[str, ...] | Miss:
    """Read entities; never raises, whatever the text.

    Of one entity only the first line with something in it counts, of several all lines. Each is stripped of bullets, quotation
    marks and a full stop at its end; commas and semicolons part them; the first ``count`` are taken, and of these the ones that
    are no entity (nothing, "none", more than 8 words or 80 characters) are left out.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not line.strip().startswith("```")]
    entries = [
        _bare(entry)
        for line in (lines[:1] if count == 1 else lines)
        for entry in _SEPARATOR.split(_LABEL.sub("", _BULLET.sub("", squeeze(line)[:_LINE_LIMIT])))
    ]
    named = list(dict.fromkeys(entry for entry in entries if entry))[:count]
    good = tuple(entry for entry in named if _is_entity(entry))
    return good or Miss("entity_refused", squeeze(text)[:SHOWN] or "nothing")


def _bare(entry: str) -> str:
    entry = squeeze(entry).strip(_QUOTES)
    if entry.endswith(".") and not _ABBREVIATION.fullmatch(entry):
        entry = entry.rstrip(".").strip(_QUOTES)
    return entry


def _is_entity(entry: str) -> bool:
    return (
        any(char.isalnum() for char in entry)
        and not is_none(entry)
        and len(entry.split()) <= MOST_WORDS
        and len(entry) <= MOST_CHARACTERS
    )
