"""What generation about documents came to, in numbers: asked and achieved, yield, calls and cost per cell, funnel, diversity.

A cell is a style with a combination of modalities. SMMQG reports none of this.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from proctor.ask.cost import total_cost
from proctor.ask.documents.duplicates import normalise_question
from proctor.ask.documents.record import OUTCOMES, AttemptRecord, Target
from proctor.exam.kinds.documents_question import document_facts, gold_of
from proctor.exam.question import Question

__all__ = ["UNTRIED", "Cell", "Diversity", "DocumentsSummary", "combination", "summarise_documents"]

UNTRIED: Final = frozenset({"api_error", "budget_stop"})
"""Outcomes of attempts that ended before anything was found out. After ``budget_stop`` a later run goes on, for a call was not
made; after ``api_error`` it does when what failed is to be asked again."""

_MODALITIES: Final = ("text", "table", "image")


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One style with one combination of modalities.

    Attributes:
        style: its name.
        combination: such as ``1 text + 1 table``.
        modalities: the same as numbers.
        asked: targets.
        achieved: questions that were accepted.
        gave_up: targets that had all their attempts and no question.
        open: targets that a later run goes on with.
        attempts: made, those that failed for want of an answer left out.
        calls: different calls of all attempts.
        cost: dollars of these attempts; None when the price of one of them is not known.
        yield_: accepted by attempts; None without attempts.
    """

    style: str
    combination: str
    modalities: tuple[int, int, int]
    asked: int
    achieved: int
    gave_up: int
    open: int
    attempts: int
    calls: int
    cost: str | None
    yield_: float | None = msgspec.field(name="yield")


class Diversity(msgspec.Struct, frozen=True, kw_only=True):
    """How varied accepted questions are.

    Attributes:
        entities: different entities.
        most_common: the entity of most questions, with its number.
        effective: exp of the entropy of entities: as many equally frequent ones would be as varied.
        documents: different documents of gold sources.
        all_documents: in the corpus.
        sources: different gold sources.
        all_sources: in the corpus.
    """

    entities: int
    most_common: tuple[str, int]
    effective: float
    documents: int
    all_documents: int
    sources: int
    all_sources: int


class DocumentsSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of a run.

    Attributes:
        asked: targets.
        achieved: accepted questions.
        open: targets that a later run goes on with.
        attempts: made.
        calls: different calls.
        cost: dollars; None when the price of an attempt is not known.
        yield_: accepted by attempts; None without attempts.
        outcomes: attempts by outcome, in the order of ``OUTCOMES``, without zeros.
        by_style: the same for each style.
        attempts_needed: accepted questions by the number of attempts that they took.
        short_candidates: attempts that had fewer candidates than asked for.
        cells: in the order of the targets.
        diversity: of the accepted questions.
    """

    asked: int
    achieved: int
    open: int
    attempts: int
    calls: int
    cost: str | None
    yield_: float | None = msgspec.field(name="yield")
    outcomes: Mapping[str, int]
    by_style: Mapping[str, Mapping[str, int]]
    attempts_needed: Mapping[str, int]
    short_candidates: int
    cells: Sequence[Cell]
    diversity: Diversity


def combination(modalities: tuple[int, int, int]) -> str:
    """Return numbers of modalities in words: ``2 text``, ``1 text + 1 table``."""
    return " + ".join(f"{n} {name}" for n, name in zip(modalities, _MODALITIES, strict=True) if n) or "none"


def summarise_documents(
    targets: Sequence[Target],
    questions: Sequence[Question],
    attempts: Sequence[AttemptRecord],
    *,
    document_of: Callable[[str], str] = lambda id: id,
    all_documents: int = 0,
    all_sources: int = 0,
) -> DocumentsSummary:
    """Count what a run came to.

    Args:
        targets: all that were asked for.
        questions: accepted.
        attempts: of all targets.
        document_of: from the id of a source to its document.
        all_documents: in the corpus.
        all_sources: in the corpus.
    """
    style_of = {target.id: target.style for target in targets}
    by_target: dict[str, list[AttemptRecord]] = defaultdict(list)
    for attempt in attempts:
        by_target[attempt.target].append(attempt)
    accepted = {question.id for question in questions}
    cells: dict[tuple[str, tuple[int, int, int]], list[Target]] = {}
    for target in targets:
        cells.setdefault((target.style, target.modalities), []).append(target)
    rows = [_cell(style, m, members, by_target, accepted) for (style, m), members in cells.items()]
    tried = [a for a in attempts if a.outcome not in UNTRIED]
    styles = list(dict.fromkeys(style_of.values()))
    return DocumentsSummary(
        asked=len(targets),
        achieved=len(questions),
        open=sum(row.open for row in rows),
        attempts=len(tried),
        calls=_calls(attempts),
        cost=total_cost(attempts),
        yield_=_share(len(questions), len(tried)),
        outcomes=_funnel(attempts),
        by_style={s: _funnel(a for a in attempts if style_of.get(a.target) == s) for s in styles},
        attempts_needed={
            str(n): count
            for n, count in sorted(Counter(document_facts(q).attempts for q in questions).items())
        },
        short_candidates=sum(a.short_candidates for a in attempts),
        cells=rows,
        diversity=_diversity(questions, document_of, all_documents, all_sources),
    )


def _cell(
    style: str,
    modalities: tuple[int, int, int],
    members: Sequence[Target],
    by_target: Mapping[str, Sequence[AttemptRecord]],
    accepted: set[str],
) -> Cell:
    attempts = [a for target in members for a in by_target.get(target.id, ())]
    tried = sum(a.outcome not in UNTRIED for a in attempts)
    achieved = sum(target.id in accepted for target in members)
    left = [by_target.get(target.id, ()) for target in members if target.id not in accepted]
    still_open = sum(not made or made[-1].outcome == "budget_stop" for made in left)
    return Cell(
        style=style,
        combination=combination(modalities),
        modalities=modalities,
        asked=len(members),
        achieved=achieved,
        gave_up=len(members) - achieved - still_open,
        open=still_open,
        attempts=tried,
        calls=_calls(attempts),
        cost=total_cost(attempts),
        yield_=_share(achieved, tried),
    )


def _calls(attempts: Iterable[AttemptRecord]) -> int:
    return len({call for attempt in attempts for call in attempt.calls})


def _funnel(attempts: Iterable[AttemptRecord]) -> dict[str, int]:
    counts = Counter(attempt.outcome for attempt in attempts)
    return {outcome: counts[outcome] for outcome in OUTCOMES if counts[outcome]}


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 6) if whole else None


def _diversity(
    questions: Sequence[Question],
    document_of: Callable[[str], str],
    all_documents: int,
    all_sources: int,
) -> Diversity:
    entities = Counter(normalise_question(document_facts(q).entity) for q in questions)
    total = entities.total()
    entropy = -sum(n / total * math.log(n / total) for n in entities.values())
    gold = dict.fromkeys(id for q in questions for id in gold_of(q))
    top = min(entities.items(), key=lambda pair: (-pair[1], pair[0]), default=("", 0))
    return Diversity(
        entities=len(entities),
        most_common=top,
        effective=round(math.exp(entropy), 4) if total else 0.0,
        documents=len({document_of(id) for id in gold}),
        all_documents=all_documents,
        sources=len(gold),
        all_sources=all_sources,
    )
