"""The log of generation: what was wanted, and what came of each attempt. Accepted questions are ``exam.question.Question``.

SMMQG (inputs and outputs); outcomes and provenance are ours (docs/corpus.md).
"""

from __future__ import annotations

from typing import Final, Literal, get_args

import msgspec

__all__ = ["OUTCOMES", "AttemptOutcome", "AttemptRecord", "Target"]

AttemptOutcome = Literal[
    "accepted",
    "entity_refused",
    "too_few_candidates",
    "refused",
    "format_error",
    "no_citation",
    "citation_out_of_range",
    "modality_mismatch",
    "mentions_sources",
    "caption_missing",
    "no_digit",
    "style_fail",
    "answer_fail",
    "necessity_fail",
    "verify_unparsed",
    "duplicate_question",
    "hop_leak",
    "hop_mismatch",
    "too_easy",
    "too_hard",
    "api_error",
    "budget_stop",
]
"""What became of an attempt (ours). The first group is what SMMQG's steps can refuse; ``mentions_sources``, ``caption_missing``,
``no_digit`` and ``hop_mismatch`` are the checks by code, ``too_easy`` and ``too_hard`` difficulty that was asked for."""

OUTCOMES: Final[tuple[AttemptOutcome, ...]] = get_args(AttemptOutcome)


class Target(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """One question that is wanted.

    Attributes:
        id: stable, such as ``compare-contrast/1-1-0/0007``.
        style: name of the style.
        modalities: how many texts, tables and images the question must need (SMMQG's M).
    """

    id: str
    style: str
    modalities: tuple[int, int, int]


class AttemptRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One attempt at a target.

    Attributes:
        target: its id.
        number: counted from 0.
        outcome: what became of it.
        detail: for people: what was seen, at most some hundred characters.
        seed_id: source that gave the entity.
        entity: as the model named it.
        candidates: ids of the candidates in the order in which they were numbered (from 1).
        calls: request keys (16 hex digits each) of all calls, in order.
        short_candidates: True when there were fewer candidates than asked for.
        cost: dollars of its calls; None when not known.
    """

    target: str
    number: int
    outcome: AttemptOutcome
    detail: str = ""
    seed_id: str = ""
    entity: str = ""
    candidates: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    short_candidates: bool = False
    cost: str | None = None
