"""Generation of a whole set: every target at once, in waves, with the same result whatever the order and the concurrency.

A wave leads every target through its attempts, each on its own. Then questions that repeat another one are dropped in the
order of the targets, and their targets go on with the attempts that they have left: the next wave. What was accepted in an
earlier wave stays. Where it is plain before a wave has ended that a question repeats another one, by words or sources, the
calls of the next wave are made meanwhile; what comes of them is looked at when that wave is there.

Calls are stored as they come back, so a run that was killed, stopped by its budget or ended by Ctrl-C is made again by calling
``generate_documents`` again: it pays for nothing twice and ends as if nothing had happened.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec

from proctor.ask.documents.duplicates import (
    NEAR,
    DuplicateFilter,
    EmbedQuestions,
    Repeats,
    question_hash,
    sources_key,
)
from proctor.ask.documents.pipeline import DocumentsGenerator, TargetResult
from proctor.ask.documents.record import AttemptRecord, Target
from proctor.ask.documents.summary import UNTRIED, DocumentsSummary, summarise_documents
from proctor.errors import UserError
from proctor.exam.question import Question
from proctor.llm.converse import IN_FLIGHT, Conversation, converse
from proctor.llm.message import Request
from proctor.llm.outcome import Ask, Failure, Outcome
from proctor.records import Dropped

__all__ = ["DocumentsRun", "Progress", "generate_documents"]

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
    in_flight: int = IN_FLIGHT,
    progress: Progress | None = None,
) -> DocumentsRun:
    """Make questions for targets.

    Args:
        targets: in the order in which questions stay when two are alike; ids are unique.
        generator: makes the attempts.
        ask: makes the calls.
        embed: gives questions vectors, to find those that mean the same; without it only words and sources count.
        near: cosine above which two questions are one.
        in_flight: targets that are worked on at a time: many, so that those that need all their attempts are found early.
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
    ahead = _Ahead(targets, generator, kept)
    while going and not interrupted:
        ended: set[str] = set()
        talks = ahead.wave(_talks(generator, going, results))
        try:
            for name, result in converse(talks, ask, in_flight=in_flight):
                if name not in results:  # of the next wave
                    ahead.hear_next(result)
                    continue
                results[name] = result
                ahead.hear(result)
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


class _Ahead(Iterator[tuple[str, Conversation[TargetResult]]]):
    """Conversations of a wave, among them those that go on with targets whose question is going to be turned away.

    That it is turned away is a guess: what repeats is decided in the order of the targets when all have ended. The next wave
    finds the replies there; a wrong guess costs calls, and never changes a result.
    """

    def __init__(
        self, targets: Sequence[Target], generator: DocumentsGenerator, kept: DuplicateFilter
    ) -> None:
        self._places = {target.id: place for place, target in enumerate(targets)}
        self._generator = generator
        self._kept = kept
        self._first: dict[object, TargetResult] = {}
        self._talks: Iterator[tuple[str, Conversation[TargetResult]]] = iter(())
        self._more: deque[tuple[str, Conversation[TargetResult]]] = deque()
        self._known: dict[str, Outcome] = {}

    def wave(self, talks: Iterator[tuple[str, Conversation[TargetResult]]]) -> _Ahead:
        """Begin the next wave."""
        self._talks = ((name, self._remembering(talk)) for name, talk in talks) if self._known else talks
        self._first.clear()
        self._more.clear()
        return self

    def __next__(self) -> tuple[str, Conversation[TargetResult]]:
        """Return what is to begin next; there may be more after an end."""
        return self._more.popleft() if self._more else next(self._talks)

    def hear(self, result: TargetResult) -> None:
        """Look at what came of a target in this wave."""
        question = result.question
        if question is None:
            return
        repeats = self._kept.exact(question)
        if repeats is not None:
            self._go_on(result, repeats)
            return
        for by, key in _keys(question):
            there = self._first.setdefault((by, key), result)
            if there is not result:
                first, later = sorted((there, result), key=lambda one: self._places[one.target.id])
                self._first[by, key] = first
                self._go_on(later, Repeats(of=first.target.id, by=by))
                return

    def hear_next(self, result: TargetResult) -> None:
        """Look at what came of a target of the next wave: it goes on as well if it repeats what is there now."""
        if (question := result.question) is None:
            return
        repeats = self._kept.exact(question)
        for by, key in _keys(question):
            if repeats is None and (there := self._first.get((by, key))) is not None:
                repeats = Repeats(of=there.target.id, by=by)
        if repeats is not None:
            self._go_on(result, repeats)

    def _go_on(self, result: TargetResult, repeats: Repeats) -> None:
        turned = _turned_away(result, repeats)
        talk = self._generator.target(turned.target, after=turned)
        self._more.append((f"{result.target.id}\n{repeats.of}", self._remembering(talk)))

    def _remembering(self, talk: Conversation[TargetResult]) -> Conversation[TargetResult]:
        """Give a conversation the replies that are there, and keep the others; not failures, since the next wave may try again."""
        heard: Any = None
        while True:
            try:
                asked = talk.send(heard)
            except StopIteration as end:
                result: TargetResult = end.value
                return result
            single = isinstance(asked, Request)
            keys = [r.key for r in ((asked,) if isinstance(asked, Request) else asked)]
            there = tuple(self._known.get(key) for key in keys)
            if None not in there:
                heard = there[0] if single else there
                continue
            heard = yield asked
            outcomes = (heard,) if single else heard
            self._known |= {k: o for k, o in zip(keys, outcomes, strict=True) if not isinstance(o, Failure)}


def _keys(question: Question) -> tuple[tuple[Literal["words", "sources"], object], ...]:
    return ("words", question_hash(question.text)), ("sources", sources_key(question))


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
