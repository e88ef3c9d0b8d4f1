"""Questions whose subject has to be found out first: two questions about one entity, joined into one (SMMQG).

The first question mentions the entity; the answer of the second is the entity. Joined, the entity is described by the second
question instead of being named, so that both have to be answered.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from proctor.ask.documents.checks import (
    check_captions,
    check_mentions,
    check_modalities,
    contains_phrase,
    question_key,
    same_answer,
)
from proctor.ask.documents.prompting import (
    SHOWN,
    DocumentsPrompt,
    Miss,
    PromptKit,
    read_text,
    requirement_in_words,
)
from proctor.ask.documents.question import question_prompt
from proctor.ask.documents.style import Combination, Style, part_style
from proctor.ask.documents.triple import Triple, parse_pair
from proctor.corpus.question import count_modalities
from proctor.corpus.source import MODALITIES, Modality, Source
from proctor.exam.kinds.documents_question import Hop
from proctor.llm.message import Parameters
from proctor.llm.outcome import Outcome

__all__ = [
    "COMBINATION",
    "PAIR_FORM",
    "Part",
    "Split",
    "check_combined",
    "check_first",
    "check_second",
    "combination_prompt",
    "first_prompt",
    "read_combination",
    "second_prompt",
    "split_candidates",
]

COMBINATION: Final = Parameters(temperature=0.0, max_tokens=1024)
"""Parameters of the call that joins two questions [R]."""

PAIR_FORM: Final = "question | answer\nWith one vertical bar between the two. Or, where the task cannot be done, the one word None."
"""The wanted form of the joined question in words, for a repair round."""


# -- splitting -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Part:
    """The candidates of one half, in the order of their numbers (from 1, of this half), and what the half must need."""

    sources: tuple[Source, ...]
    modalities: Combination


@dataclass(frozen=True, slots=True)
class Split:
    """The halves of a multi-hop question.

    Attributes:
        first: candidates of the question that mentions the entity.
        second: candidates of the question whose answer is the entity.
        swappable: True when the order was drawn (text and table): it is tried once the other way round on refusal.
    """

    first: Part
    second: Part
    swappable: bool = False

    @property
    def swapped(self) -> Split:
        """The other way round; not to be swapped again."""
        return Split(self.second, self.first)


def split_candidates(sources: Sequence[Source], modalities: Combination, rng: random.Random) -> Split | Miss:
    """Split candidates into halves.

    With images and something else, the images come first: a question over an image whose *answer* is the entity would have to
    name its caption, which mostly is the entity. Text and table, one of each, are split by modality in a drawn order. All
    else, candidates of one modality among them, is split by count: the first half needs ⌈m/2⌉ sources, modality by modality in
    the order of ``MODALITIES`` (the order of text and table is drawn), and gets its share of the shuffled candidates of a
    modality that both halves need, the odd one included.

    Args:
        sources: the candidates in the order of their numbers; the halves keep it.
        modalities: what the joined question must need.
        rng: of the target and attempt.

    Returns:
        The halves, or a miss with ``too_few_candidates`` when a half has fewer candidates than it must cite, or nothing to
        cite.
    """
    first, swappable = _first_requirement(modalities, rng)
    text, table, image = (m - f for m, f in zip(modalities, first, strict=True))
    second = (text, table, image)
    if not sum(first) or not sum(second):
        return Miss("too_few_candidates", f"{requirement_in_words(modalities)} cannot be split in two")
    chosen: set[str] = set()
    for place, modality in enumerate(MODALITIES):
        ids = [source.id for source in sources if source.modality == modality]
        chosen |= set(_share(ids, first[place], second[place], rng))
    halves = (
        Part(tuple(s for s in sources if s.id in chosen), first),
        Part(tuple(s for s in sources if s.id not in chosen), second),
    )
    for name, half in zip(("first", "second"), halves, strict=True):
        have = count_modalities(tuple(s.modality for s in half.sources))
        if any(h < m for h, m in zip(have, half.modalities, strict=True)):
            lacks = f"{requirement_in_words(have) or 'nothing'} for {requirement_in_words(half.modalities)}"
            return Miss("too_few_candidates", f"the {name} half has {lacks}")
    return Split(*halves, swappable)


def _first_requirement(modalities: Combination, rng: random.Random) -> tuple[Combination, bool]:
    """Return what the first half must need, and whether its order against the second was drawn."""
    text, table, image = modalities
    if image and (text or table):
        return (0, 0, image), False
    order: list[Modality] = list(MODALITIES)
    is_drawn = bool(text and table)
    if is_drawn and rng.random() < 0.5:
        order[:2] = ["table", "text"]
    wanted = (text + table + image + 1) // 2
    counts = dict.fromkeys(MODALITIES, 0)
    for modality in order:
        counts[modality] = min(modalities[MODALITIES.index(modality)], wanted - sum(counts.values()))
    first = (counts["text"], counts["table"], counts["image"])
    return first, is_drawn and sum(modalities) == 2


def _share(ids: Sequence[str], first: int, second: int, rng: random.Random) -> Sequence[str]:
    """Return which candidates of one modality are the first half's: in proportion to what the halves need, rounded up."""
    if not first or not second:
        return ids if first else ()
    shuffled = list(ids)
    rng.shuffle(shuffled)
    count = -(-len(shuffled) * first // (first + second))
    return shuffled[: max(first, min(count, len(shuffled) - second))]


# -- the two questions -----------------------------------------------------------------------------------------


def first_prompt(kit: PromptKit, entity: str, part: Part) -> DocumentsPrompt:
    """Ask for the question about the entity, which it mentions; read with ``read_question``."""
    return question_prompt(kit, part_style("hop-first"), part.sources, part.modalities, entity=entity)


def second_prompt(kit: PromptKit, entity: str, part: Part) -> DocumentsPrompt:
    """Ask for the question whose answer is the entity; read with ``read_question``."""
    return question_prompt(kit, part_style("hop-second"), part.sources, part.modalities, entity=entity)


def check_first(entity: str, found: Triple, gold: Sequence[Source], part: Part) -> Miss | None:
    """The first question cites what it must, names captions and not sources, and mentions the entity."""
    miss = (
        check_modalities(gold, part.modalities)
        or check_mentions(found.question, found.answer, gold)
        or check_captions(found.question, gold)
    )
    if miss is None and not contains_phrase(found.question, entity):
        return Miss(
            "hop_mismatch", f"the first question does not mention '{entity[:80]}': {found.question}"[:SHOWN]
        )
    return miss


def check_second(entity: str, found: Triple, gold: Sequence[Source], part: Part) -> Miss | None:
    """The second question cites what it must, its answer is the entity, and it does not give the entity away."""
    miss = check_modalities(gold, part.modalities) or check_mentions(found.question, found.answer, gold)
    if miss is None and not same_answer(found.answer, entity):
        return Miss("hop_mismatch", f"the second answer is not '{entity[:80]}': {found.answer}"[:SHOWN])
    if miss is None and contains_phrase(found.question, entity):
        return Miss("hop_leak", f"the second question names '{entity[:80]}': {found.question}"[:SHOWN])
    return miss


# -- joining ---------------------------------------------------------------------------------------------------


def combination_prompt(
    kit: PromptKit,
    style: Style,
    entity: str,
    first: Triple,
    first_gold: Sequence[Source],
    second: Triple,
    second_gold: Sequence[Source],
) -> DocumentsPrompt:
    """Ask for the two questions as one; it goes to the model that can see when ``needs_lmm`` of all their sources.

    Args:
        kit: templates, fences and pictures.
        style: of the joined question.
        entity: that joins them.
        first: question and answer about the entity.
        first_gold: what it cites.
        second: question and answer of which the entity is the answer.
        second_gold: what it cites.
    """
    return kit.make(
        "styled-combination",
        own={"title": style.title, "description": style.description},
        **kit.sources((*first_gold, *second_gold)),
        owners=[1] * len(first_gold) + [2] * len(second_gold),
        entity=entity,
        questions=[first.question, second.question],
        answers=[first.answer, second.answer],
        style_hash=style.hash,
    )


def read_combination(outcome: Outcome) -> Triple | Miss:
    """Return the joined question and its answer, without citations, or what the attempt's outcome is."""
    text = read_text(outcome)
    return text if isinstance(text, Miss) else parse_pair(text)


def check_combined(entity: str, question: str, hops: Sequence[Hop]) -> Miss | None:
    """The joined question hides the entity, and is neither of its halves."""
    if contains_phrase(question, entity):
        return Miss("hop_leak", f"the question names '{entity[:80]}': {question}"[:SHOWN])
    if question_key(question) in {question_key(hop.question) for hop in hops}:
        return Miss("hop_leak", f"the question is one of its halves: {question}"[:SHOWN])
    return None
