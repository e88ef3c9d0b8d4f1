"""Generation of a whole set: every target at once, in waves, with the same result whatever the order and the concurrency.

A wave leads every target through its attempts, each on its own. Then questions that repeat another one are dropped in the
order of the targets, and their targets go on with the attempts that they have left: the next wave. What was accepted in an
earlier wave stays.

Calls are stored as they come back, so a run that was killed, stopped by its budget or ended by Ctrl-C is made again by calling
``generate_documents`` again: it pays for nothing twice and ends as if nothing had happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from proctor.ask.documents.duplicates import NEAR, DuplicateFilter, EmbedQuestions, Repeats
from proctor.ask.documents.pipeline import DocumentsGenerator, TargetResult
from proctor.ask.documents.record import AttemptRecord, Target
from proctor.ask.documents.summary import UNTRIED, DocumentsSummary, summarise_documents
from proctor.errors import UserError
from proctor.exam.question import Question
from proctor.llm.converse import IN_FLIGHT, Conversation, converse
from proctor.llm.outcome import Ask
from proctor.records import Dropped

__all__ = ["TARGETS_AT_ONCE", "DocumentsRun", "Progress", "generate_documents"]

TARGETS_AT_ONCE: Final = 2 * IN_FLIGHT
"""Targets that are worked on at a time: many, so that those that need all their attempts are found early and not at the end."""

Progress = Callable[[TargetResult, int], None]
"""Told of every target that came to an end, with the number of the wave, from 0."""


@dataclass(frozen=True, slots=True)
class DocumentsRun:
    """What a run came to.

    Attributes:
        results: of each target that was begun, in the order of the targets.
        summary: in numbers.
        waves: how many were begun.
        interrupted: True when Ctrl-C ended it: some targets were not brought to their end, and a later run goes on.
    """

    results: tuple[TargetResult, ...]
    summary: DocumentsSummary
    waves: int
    interrupted: bool = False

    @property
    def questions(self) -> list[Question]:
        """Accepted questions, in the order of the targets."""
        return [result.question for result in self.results if result.question is not None]

    @property
    def attempts(self) -> list[AttemptRecord]:
        """All attempts, in the order of the targets and of their numbers."""
        return [attempt for result in self.results for attempt in result.attempts]

    @property
    def is_complete(self) -> bool:
        """True when every target has a question or had all its attempts."""
        return not self.interrupted and self.summary.open == 0

    @property
    def dropped(self) -> Iterator[Dropped]:
        """Targets without a question, with the outcome of their last attempt."""
        for result in self.results:
            if result.question is None and result.attempts:
                last = result.attempts[-1]
                yield Dropped(result.target.id, last.outcome, last.detail)


def generate_documents(
    targets: Sequence[Target],
    generator: DocumentsGenerator,
    ask: Ask,
    *,
    embed: EmbedQuestions | None = None,
    near: float = NEAR,
    in_flight: int = TARGETS_AT_ONCE,
    progress: Progress | None = None,
) -> DocumentsRun:
    """Make questions for targets.

    Args:
        targets: in the order in which questions stay when two are alike; ids are unique.
        generator: makes the attempts.
        ask: makes the calls.
        embed: gives questions vectors, to find those that mean the same; without it only words and sources count.
        near: cosine above which two questions are one.
        in_flight: targets that are worked on at a time.
        progress: told of every target that comes to an end.

    Raises:
        UserError: if two targets have the same id, or what ``generator`` raises.
    """
    if len({target.id for target in targets}) < len(targets):
        raise UserError("two targets have the same id.")
    results = {target.id: TargetResult(target) for target in targets}
    kept = DuplicateFilter(embed, near=near)
    waves, interrupted = 0, False
    going = list(targets)
    while going and not interrupted:
        ended: set[str] = set()
        try:
            for name, result in converse(_talks(generator, going, results), ask, in_flight=in_flight):
                results[name] = result
                ended.add(name)
                if progress is not None:
                    progress(result, waves)
        except KeyboardInterrupt:
            interrupted = True
        waves += 1
        going = _drop_repeats([t for t in going if t.id in ended], results, kept, generator.attempts)
    ordered = tuple(results[target.id] for target in targets)
    return DocumentsRun(ordered, _summary(targets, ordered, generator), waves, interrupted)


def _talks(
    generator: DocumentsGenerator, going: Sequence[Target], results: dict[str, TargetResult]
) -> Iterator[tuple[str, Conversation[TargetResult]]]:
    """Begin a conversation when there is room for it; long ones first, so that they are not what is waited for at the end."""
    hops = {style.name for style in generator.styles if style.hops}
    for target in sorted(going, key=lambda target: target.style not in hops):
        yield target.id, generator.target(target, after=results[target.id])


def _drop_repeats(
    ended: Sequence[Target], results: dict[str, TargetResult], kept: DuplicateFilter, most: int
) -> list[Target]:
    """Turn questions that repeat another one into attempts that failed; return the targets that go on."""
    accepted = [question for t in ended if (question := results[t.id].question) is not None]
    going: list[Target] = []
    for question, repeats in zip(accepted, kept.admit(accepted), strict=True):
        if repeats is None:
            continue
        result = results[question.id] = _turned_away(results[question.id], repeats)
        if sum(attempt.outcome not in UNTRIED for attempt in result.attempts) < most:
            going.append(result.target)
    return going


def _turned_away(result: TargetResult, repeats: Repeats) -> TargetResult:
    *before, last = result.attempts
    last = msgspec.structs.replace(last, outcome="duplicate_question", detail=repeats.detail)
    return replace(result, question=None, attempts=(*before, last))


def _summary(
    targets: Sequence[Target], results: Sequence[TargetResult], generator: DocumentsGenerator
) -> DocumentsSummary:
    corpus = generator.corpus
    documents = {source.id: source.doc_id or source.id for source in corpus}
    return summarise_documents(
        targets,
        [r.question for r in results if r.question is not None],
        [a for r in results for a in r.attempts],
        document_of=lambda id: documents.get(id, id),
        all_documents=len(set(documents.values())),
        all_sources=len(corpus),
    )
