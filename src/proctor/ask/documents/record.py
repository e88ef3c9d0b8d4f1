"""The records of styled generation: what was wanted, what came of each attempt, and the question that was accepted.

SMMQG (inputs and outputs); outcomes and provenance are ours (docs/corpus.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, get_args

import msgspec

from proctor.exam.kinds.documents_question import Hop

__all__ = ["OUTCOMES", "AttemptOutcome", "AttemptRecord", "StyledQuestion", "Target"]

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


class StyledQuestion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An accepted question.

    Attributes:
        id: of its target.
        style: name of the style.
        modalities: how many texts, tables and images it needs.
        question: as asked.
        answer: long form.
        gold: ids of the cited sources, in the order of their first mention.
        distractors: ids of the candidates that were not cited, in the order in which they were numbered.
        typed_distractors: ids of further sources that look as if they answered it, by kind
            (``proctor.ask.documents.distractors``), where they were looked up.
        entity: that joined the candidates.
        seed_id: source that gave the entity.
        hops: of a multi-hop question, the two halves; empty otherwise.
        checks: name of each check that it passed and what it said (``verifier``, ``necessity``, ``near_question`` …).
        difficulty: measured, by name (``closed_book``, ``one_source``, ``gold_rank`` …), as text.
        ranks: rank of each candidate for the entity within its modality, by id, counted from 1.
        content: content hash of each gold source, by id.
        style_hash: of the style file.
        prompts: hash of each template that was used, by name.
        models: full name of the model in each role (``entity``, ``generator``, ``verifier``).
        attempts: how many attempts the target took, this one included.
        calls: request keys (16 hex digits) of the calls of this attempt.
        seed: of the run.
        corpus_hash: fingerprint of the corpus.
        config_hash: of all settings that can change the result.
    """

    id: str
    style: str
    modalities: tuple[int, int, int]
    question: str
    answer: str
    gold: tuple[str, ...]
    distractors: tuple[str, ...] = ()
    typed_distractors: Mapping[str, tuple[str, ...]] = {}
    entity: str = ""
    seed_id: str = ""
    hops: tuple[Hop, ...] = ()
    checks: Mapping[str, str] = {}
    difficulty: Mapping[str, str] = {}
    ranks: Mapping[str, int] = {}
    content: Mapping[str, str] = {}
    style_hash: str = ""
    prompts: Mapping[str, str] = {}
    models: Mapping[str, str] = {}
    attempts: int = 1
    calls: tuple[str, ...] = ()
    seed: int = 0
    corpus_hash: str = ""
    config_hash: str = ""
