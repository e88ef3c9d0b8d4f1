"""Options for a whole set: every question at once, with the same result whatever the order and the concurrency.

Questions do not know each other; only letters are dealt over all that were accepted. Calls are stored as they come back, so a
run that was killed, stopped by its budget or ended by Ctrl-C is made again by calling ``make_choices`` again: it pays for nothing
twice and ends as if nothing had happened. While questions are postponed, letters are those of an unfinished set: they may all
be others when it is complete.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from proctor.ask.clip.choice_summary import ChoiceSummary, summarise_choices
from proctor.ask.clip.choices import ChoiceAttempt, ChoiceMaker, ChoiceResult
from proctor.ask.clip.known import Known
from proctor.ask.clip.letters import arrange_options, deal_letters
from proctor.ask.clip.record import ChoiceItem
from proctor.errors import UserError
from proctor.llm.converse import IN_FLIGHT, Conversation, converse
from proctor.llm.outcome import Ask
from proctor.records import Dropped

__all__ = ["QUESTIONS_AT_ONCE", "ChoiceRun", "Progress", "make_choices"]

QUESTIONS_AT_ONCE: Final = 2 * IN_FLIGHT
"""Questions that are worked on at a time: many, so that those that need all their attempts are found early and not at the end."""

Progress = Callable[[ChoiceResult], None]
"""Told of every question that came to an end."""


@dataclass(frozen=True, slots=True)
class ChoiceRun:
    """What a run came to.

    Attributes:
        results: of each question, in the order of the questions.
        items: those that got options, in the same order.
        summary: in numbers.
        interrupted: True when Ctrl-C ended it: some questions were not brought to their end, and a later run goes on.
    """

    results: tuple[ChoiceResult, ...]
    items: tuple[ChoiceItem, ...]
    summary: ChoiceSummary
    interrupted: bool = False

    @property
    def attempts(self) -> list[ChoiceAttempt]:
        """All attempts, in the order of the questions and of their numbers."""
        return [attempt for result in self.results for attempt in result.attempts]

    @property
    def is_complete(self) -> bool:
        """True when every question has options or never will."""
        return not self.interrupted and self.summary.postponed == 0

    @property
    def dropped(self) -> Iterator[Dropped]:
        """Questions that stay open-ended, with the outcome of their last attempt or why nothing was asked."""
        for result in self.results:
            if (dropped := result.dropped) is not None:
                yield dropped


def make_choices(
    questions: Sequence[Known],
    maker: ChoiceMaker,
    ask: Ask,
    *,
    in_flight: int = QUESTIONS_AT_ONCE,
    progress: Progress | None = None,
) -> ChoiceRun:
    """Give questions options.

    Args:
        questions: ids are unique.
        maker: makes the attempts.
        ask: makes the calls.
        in_flight: questions that are worked on at a time.
        progress: told of every question that comes to an end.

    Raises:
        UserError: if two questions have the same id, or a question cites lines or has line ids that make no sense.
    """
    _check(questions)
    results = {question.id: ChoiceResult(question) for question in questions}
    interrupted = False
    try:
        for name, result in converse(_talks(maker, questions), ask, in_flight=in_flight):
            results[name] = result
            if progress is not None:
                progress(result)
    except KeyboardInterrupt:
        interrupted = True
    ordered = tuple(results[question.id] for question in questions)
    items = _items(ordered, maker)
    summary = summarise_choices(
        ordered,
        items,
        attempts=maker.settings.attempts,
        options=maker.settings.options,
        voters=len(maker.models.assistants),
    )
    return ChoiceRun(ordered, items, summary, interrupted)


def _check(questions: Sequence[Known]) -> None:
    twice = [id for id, n in Counter(question.id for question in questions).items() if n > 1]
    if twice:
        raise UserError(f"two questions have the same id: {twice[0]!r}.")
    for question in questions:
        ids = {line.id for line in question.lines}
        unknown = [id for id in question.cites if id not in ids]
        if unknown:
            raise UserError(
                f"it cites {unknown[0]!r}, which is not among what is known.",
                where=f"question {question.id!r}",
                hint="questions and the steps they were made from have to belong together",
            )


def _talks(
    maker: ChoiceMaker, questions: Sequence[Known]
) -> Iterator[tuple[str, Conversation[ChoiceResult]]]:
    """Begin a conversation when there is room for it."""
    for question in questions:
        yield question.id, maker.question(question)


def _items(results: Sequence[ChoiceResult], maker: ChoiceMaker) -> tuple[ChoiceItem, ...]:
    """Deal letters and print options."""
    accepted = [(result, attempt) for result in results if (attempt := result.accepted) is not None]
    letters = deal_letters((r.question.id for r, _ in accepted), maker.settings.options, maker.seed)
    return tuple(_item(result, attempt, letters[result.question.id], maker) for result, attempt in accepted)


def _item(result: ChoiceResult, attempt: ChoiceAttempt, letter: str, maker: ChoiceMaker) -> ChoiceItem:
    question, models = result.question, maker.models
    wrong = [distractor.text for distractor in attempt.wrong]
    calls = {call for a in result.attempts for call in a.calls}
    costs = [a.cost for a in result.attempts]
    details = {
        "writer": models.writer,
        "picker": models.picks,
        "assistants": " + ".join(models.assistants),
        "seed": str(maker.seed),
        "config": maker.config_hash,
        "calls": str(len(calls)),
        **{f"template:{name}": hash for name, hash in result.prompts},
    }
    if None not in costs:
        from decimal import Decimal

        details["cost"] = f"{sum((Decimal(cost) for cost in costs if cost is not None), Decimal(0)):f}"
    return ChoiceItem(
        id=question.id,
        question=question.text,
        options=arrange_options(question.answer, wrong, letter, question.id, maker.seed),
        letter=letter,
        distractors=attempt.wrong,
        attempts=attempt.number + 1,
        votes=attempt.votes,
        confirmed=attempt.confirmed,
        details=details,
    )
