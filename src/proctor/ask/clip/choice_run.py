"""Options for a whole set: every question at once, with the same result whatever the order and the concurrency; and what that came to.

Questions do not know each other; only letters are dealt over all that were accepted. Calls are stored as they come back, so a
run that was killed, stopped by its budget or ended by Ctrl-C is made again by calling ``make_choices`` again: it pays for nothing
twice and ends as if nothing had happened. While questions are postponed, letters are those of an unfinished set: they may all
be others when it is complete.

**Retry leak.** Options that are tried until a vote passes pass by luck in the end. What chance predicts stands beside what was
seen: from the first blind vote of each question, which no retry has selected, comes the accuracy of the assistants, and from
that what a single attempt and all attempts together would let pass were all questions alike. The fresh vote on what was
accepted is the direct measure; it is told by the attempt that was accepted, because the leak grows with it.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from proctor.ask.clip.choice_prompt import arrange_options, deal_letters
from proctor.ask.clip.choices import CHOICE_OUTCOMES, ChoiceAttempt, ChoiceMaker, ChoiceResult
from proctor.ask.clip.known import Known
from proctor.ask.clip.record import ChoiceItem, Vote
from proctor.ask.cost import total_cost
from proctor.errors import UserError
from proctor.llm.converse import IN_FLIGHT, converse
from proctor.llm.outcome import Ask
from proctor.metrics.choice.letters import LETTERS, letter_counts
from proctor.metrics.choice.marks import (
    blind_pass_probability,
    letter_balance,
    option_tells,
    vote_probability,
)
from proctor.metrics.interval import wilson_interval
from proctor.records import Dropped

__all__ = [
    "BLIND_ACCURACIES",
    "QUESTIONS_AT_ONCE",
    "AssistantVotes",
    "ByFirstVote",
    "ChoiceRun",
    "ChoiceSummary",
    "LeakRow",
    "Letters",
    "Progress",
    "RetryLeak",
    "Share",
    "Tells",
    "leak_table",
    "make_choices",
    "summarise_choices",
]


BLIND_ACCURACIES: Final = (0.2, 0.5, 0.7, 0.8, 0.9, 0.95)
"""For which the table tells how many questions slip through."""


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a whole with its Wilson interval (95 %); None where there is nothing to count."""

    part: int
    whole: int
    share: float | None = None
    low: float | None = None
    high: float | None = None


class LeakRow(msgspec.Struct, frozen=True, kw_only=True):
    """What chance lets pass.

    Attributes:
        blind_accuracy: of each of the independent assistants.
        fails_one_attempt: probability that one attempt fails the blind vote.
        passes_within: probability that one of all attempts passes it.
    """

    blind_accuracy: float
    fails_one_attempt: float
    passes_within: float


class ByFirstVote(msgspec.Struct, frozen=True, kw_only=True):
    """Questions by how many assistants were right in their first blind vote.

    Attributes:
        right: assistants that were right.
        questions: how many.
        accepted: of these, those that got options in the end.
        unconfirmed: of the accepted ones, those whose fresh vote failed.
    """

    right: int
    questions: int
    accepted: int
    unconfirmed: int


class RetryLeak(msgspec.Struct, frozen=True, kw_only=True):
    """Luck among what was accepted.

    Attributes:
        blind_accuracy: of single votes in the first blind vote of each question.
        expected_to_fail: probability that an attempt fails the blind vote if every vote is right with that probability.
        seen_to_fail: share of first blind votes that failed.
        expected_to_pass: probability that one of all attempts passes, if so.
        seen_to_pass: share of questions with a blind vote that passed one.
        confirmation_failed: fresh votes on accepted options that failed.
        by_attempt: the same by the attempt that was accepted, counted from 1.
        by_first_vote: questions by their first blind vote.
        table: what chance lets pass, by blind accuracy.
    """

    blind_accuracy: Share
    expected_to_fail: float | None
    seen_to_fail: Share
    expected_to_pass: float | None
    seen_to_pass: Share
    confirmation_failed: Share
    by_attempt: Mapping[str, Share]
    by_first_vote: Sequence[ByFirstVote]
    table: Sequence[LeakRow]


class Letters(msgspec.Struct, frozen=True, kw_only=True):
    """How often each letter occurs, and Pearson's test of equal frequencies; None where nothing was counted."""

    counts: Mapping[str, int]
    chi2: float | None
    df: int
    p: float | None


class Tells(msgspec.Struct, frozen=True, kw_only=True):
    """What options give away without the question; None without questions.

    Attributes:
        longest_right: share of questions whose longest option is right, ties shared.
        chance: what that would be without a tell.
        words_right: mean words of right options.
        words_wrong: of wrong ones.
        characters_right: mean characters of right options.
        characters_wrong: of wrong ones.
    """

    longest_right: float | None
    chance: float | None
    words_right: float | None
    words_wrong: float | None
    characters_right: float | None
    characters_wrong: float | None


class AssistantVotes(msgspec.Struct, frozen=True, kw_only=True):
    """The votes of one assistant.

    Attributes:
        assistant: model.
        votes: all of them.
        unparsed: those without a letter.
        with_steps: right ones where it saw what is known.
        without_steps: right ones where it did not, the fresh votes not counted.
        letters: that it said; the right ones are shuffled evenly, so that another distribution is a bias of its own.
    """

    assistant: str
    votes: int
    unparsed: int
    with_steps: Share
    without_steps: Share
    letters: Letters


class ChoiceSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of a run.

    Attributes:
        asked: questions.
        achieved: questions with options.
        open_ended: questions that had all their attempts and have none.
        unconfirmed: questions that were left open-ended because the fresh vote failed (where that is required).
        postponed: questions that a later run goes on with, those that were never begun included.
        unfit: questions that nothing was asked about, by reason.
        attempts: made, postponed ones not counted.
        outcomes: attempts by outcome, without zeros.
        attempts_needed: accepted questions by the number of attempts that they took.
        kinds: wrong answers of accepted questions by kind.
        calls: different calls.
        cost: dollars; None when the price of an attempt is not known.
        leak: luck among what was accepted.
        letters: of right options.
        tells: of options.
        assistants: in the order of the vote; two places that are the same model are one.
    """

    asked: int
    achieved: int
    open_ended: int
    unconfirmed: int
    postponed: int
    unfit: Mapping[str, int]
    attempts: int
    outcomes: Mapping[str, int]
    attempts_needed: Mapping[str, int]
    kinds: Mapping[str, int]
    calls: int
    cost: str | None
    leak: RetryLeak
    letters: Letters
    tells: Tells
    assistants: Sequence[AssistantVotes]


def summarise_choices(
    results: Sequence[ChoiceResult], items: Sequence[ChoiceItem], *, attempts: int, options: int, voters: int
) -> ChoiceSummary:
    """Count what a run came to.

    Args:
        results: of all questions.
        items: accepted ones, with letters.
        attempts: at a question, at most.
        options: of a question.
        voters: assistants.
    """
    states = Counter(result.state for result in results)
    made = [attempt for result in results for attempt in result.attempts]
    outcomes = Counter(attempt.outcome for attempt in made)
    accepted = [a for result in results if (a := result.accepted) is not None]
    return ChoiceSummary(
        asked=len(results),
        achieved=states["accepted"],
        open_ended=states["open_ended"],
        unconfirmed=states["unconfirmed"],
        postponed=states["postponed"] + states["waiting"],
        unfit=dict(sorted(Counter(r.unfit.reason for r in results if r.unfit is not None).items())),
        attempts=sum(attempt.outcome != "postponed" for attempt in made),
        outcomes={name: outcomes[name] for name in CHOICE_OUTCOMES if outcomes[name]},
        attempts_needed={
            str(n): count for n, count in sorted(Counter(a.number + 1 for a in accepted).items())
        },
        kinds=dict(sorted(Counter(d.kind for a in accepted for d in a.wrong).items())),
        calls=len({call for attempt in made for call in attempt.calls}),
        cost=total_cost(made),
        leak=_leak(results, attempts, voters),
        letters=_letters([item.letter for item in items], options),
        tells=_tells(items),
        assistants=_assistants([vote for attempt in made for vote in attempt.votes], options),
    )


def leak_table(
    attempts: int, voters: int, accuracies: Sequence[float] = BLIND_ACCURACIES
) -> tuple[LeakRow, ...]:
    """Return what chance lets pass, by the blind accuracy of independent assistants; more than half of them decide."""
    needed = voters // 2 + 1
    return tuple(
        LeakRow(
            blind_accuracy=accuracy,
            fails_one_attempt=round(vote_probability(accuracy, voters=voters, needed=needed), 6),
            passes_within=round(
                blind_pass_probability(accuracy, attempts=attempts, voters=voters, needed=needed), 6
            ),
        )
        for accuracy in accuracies
    )


def _leak(results: Sequence[ChoiceResult], attempts: int, voters: int) -> RetryLeak:
    firsts: list[tuple[ChoiceResult, int]] = []
    passed = []
    for result in results:
        blind = [[v.right for v in a.votes if v.stage == "without_steps"] for a in result.attempts]
        first = next((rights for rights in blind if len(rights) == voters), None)  # taken by everybody
        if first:
            firsts.append((result, sum(first)))
            # a postponed attempt passed its blind vote too: only its fresh vote is lacking
            passed.append(any(rights and 2 * sum(rights) <= len(rights) for rights in blind))
    accuracy = _share(sum(right for _, right in firsts), voters * len(firsts))
    needed = voters // 2 + 1
    chance = None if accuracy.share is None else leak_table(attempts, voters, [accuracy.share])[0]
    final = [(a.number + 1, a.confirmed) for r in results if (a := _last_ok(r)) and a.confirmed is not None]
    by_attempt = {
        str(n): _share(sum(m == n and not held for m, held in final), sum(m == n for m, _ in final))
        for n in sorted({n for n, _ in final})
    }
    return RetryLeak(
        blind_accuracy=accuracy,
        expected_to_fail=None if chance is None else chance.fails_one_attempt,
        seen_to_fail=_share(sum(right >= needed for _, right in firsts), len(firsts)),
        expected_to_pass=None if chance is None else chance.passes_within,
        seen_to_pass=_share(sum(passed), len(firsts)),
        confirmation_failed=_share(sum(not held for _, held in final), len(final)),
        by_attempt=by_attempt,
        by_first_vote=tuple(_by_first_vote(firsts, right) for right in range(voters + 1)),
        table=leak_table(attempts, voters),
    )


def _last_ok(result: ChoiceResult) -> ChoiceAttempt | None:
    return result.attempts[-1] if result.attempts and result.attempts[-1].outcome == "ok" else None


def _by_first_vote(firsts: Iterable[tuple[ChoiceResult, int]], right: int) -> ByFirstVote:
    members = [result for result, n in firsts if n == right]
    oks = [ok for result in members if (ok := _last_ok(result)) is not None]
    return ByFirstVote(
        right=right,
        questions=len(members),
        accepted=len(oks),
        unconfirmed=sum(ok.confirmed is False for ok in oks),
    )


def _share(part: int, whole: int) -> Share:
    if not whole:
        return Share(part=part, whole=whole)
    interval = wilson_interval(part, whole)
    low, high = interval.low, interval.high
    return Share(
        part=part,
        whole=whole,
        share=round(part / whole, 6),
        low=None if low is None else round(low, 6),
        high=None if high is None else round(high, 6),
    )


def _letters(letters: Sequence[str], options: int) -> Letters:
    counts = letter_counts(letters, options)
    balance = letter_balance(list(counts.values()))
    return Letters(counts=counts, chi2=_number(balance.chi2), df=balance.df, p=_number(balance.p))


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 6)


def _tells(items: Sequence[ChoiceItem]) -> Tells:
    found = option_tells([item.options for item in items], [item.letter for item in items])
    return Tells(
        longest_right=_number(found.longest_right),
        chance=_number(found.chance),
        words_right=_number(found.words_right),
        words_wrong=_number(found.words_wrong),
        characters_right=_number(found.characters_right),
        characters_wrong=_number(found.characters_wrong),
    )


def _assistants(votes: Sequence[Vote], options: int) -> tuple[AssistantVotes, ...]:
    by_name: dict[str, list[Vote]] = defaultdict(list)
    for vote in votes:
        by_name[vote.assistant].append(vote)
    return tuple(
        AssistantVotes(
            assistant=name,
            votes=len(own),
            unparsed=sum(not vote.letter for vote in own),
            with_steps=_right(own, "with_steps"),
            without_steps=_right(own, "without_steps"),
            letters=_letters([vote.letter for vote in own if vote.letter in LETTERS[:options] and vote.letter], options),
        )
        for name, own in by_name.items()
    )  # fmt: skip


def _right(votes: Sequence[Vote], stage: str) -> Share:
    taken = [vote.right for vote in votes if vote.stage == stage]
    return _share(sum(taken), len(taken))


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
        # Lazily: a conversation begins when there is room for it.
        talks = ((question.id, maker.question(question)) for question in questions)
        for name, result in converse(talks, ask, in_flight=in_flight):
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
