"""Options for a question: attempts at four wrong answers that hold, as conversations with models (InstructionBench's supplement).

An attempt goes: six wrong answers, the best four of them, a check of duplicates, votes that see what is known, and votes that do
not. Each step can end it, and the next attempt begins anew; after the last one the question stays open-ended. Retrying until a
vote passes selects luck (the *retry leak*): so what was accepted is voted on once more in new orders, and how often that fails
is reported.

What an attempt does depends on the run's seed, its question and its number, and on the replies to its own requests: never on
other questions, on order or on time. A call that fails postpones the question; it never changes a quorum.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Literal, NoReturn, TypeAlias, TypeVar, get_args

import msgspec

from proctor.ask.clip.choice_prompt import (
    PICK_FORM,
    PICKING,
    VOTING,
    WRITE_FORM,
    WRITING,
    ChoicePrompts,
    Unwritten,
    like_answer,
    normalise_option,
    read_best,
    read_vote,
    read_wrong,
    says_all_of_the_above,
    vote_order,
)
from proctor.ask.clip.distractors import TYPED, choose_typed, typed_distractors
from proctor.ask.clip.known import Known
from proctor.ask.clip.record import Distractor, DistractorKind, Vote
from proctor.ask.cost import Heard, Price, no_price
from proctor.ask.documents.difficulty import settled
from proctor.ask.documents.prompting import SHOWN
from proctor.ask.documents.rng import attempt_random
from proctor.errors import UserError
from proctor.llm.converse import Conversation
from proctor.llm.message import Image, Parameters, Request
from proctor.llm.outcome import Failure, Outcome, Reply, is_settled
from proctor.llm.prompt import Rendered
from proctor.llm.replying import Replying
from proctor.llm.structured import Unreadable, repair_messages
from proctor.metrics.choice.letters import LETTERS
from proctor.records import Dropped, content_hash

__all__ = [
    "ATTEMPTS",
    "CHOICE_OUTCOMES",
    "CallRange",
    "ChoiceAttempt",
    "ChoiceMaker",
    "ChoiceModels",
    "ChoiceOutcome",
    "ChoiceResult",
    "ChoiceSettings",
    "choice_calls",
    "unfit",
]

ATTEMPTS: Final = 10
"""Attempts at a question [R]: 5,635 pairs that become exactly 5,000 suggest a cap; the paper does not say."""

ChoiceOutcome = Literal[
    "ok",
    "format",
    "too_few",
    "duplicate",
    "says_all_of_the_above",
    "with_steps_fail",
    "without_steps_fail",
    "failed",
    "postponed",
]
"""What became of an attempt. ``format``: a reply was refused, cut off or unreadable. ``failed``: a call failed for good.
``postponed``: a call was not made, and a later run makes the attempt again."""
CHOICE_OUTCOMES: Final[tuple[ChoiceOutcome, ...]] = get_args(ChoiceOutcome)

Confirm = Literal["off", "report", "require"]

T = TypeVar("T")
Talk: TypeAlias = Generator[Any, Any, T]
"""A part of a conversation."""


class ChoiceModels(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Full names of models by what they do.

    Attributes:
        writer: writes wrong answers.
        assistants: who vote, three in the paper, each a different model.
        picker: chooses the best wrong answers; ``writer`` when empty.
    """

    writer: str
    assistants: tuple[str, ...]
    picker: str = ""

    def __post_init__(self) -> None:
        """Refuse votes that nobody takes part in."""
        if not self.assistants:
            raise UserError(
                "no assistants were named to vote on the options.",
                hint="name assistants, three as in the paper",
            )

    @property
    def picks(self) -> str:
        """Who chooses the best wrong answers."""
        return self.picker or self.writer

    @property
    def all(self) -> tuple[str, ...]:
        """Every model once."""
        return tuple(dict.fromkeys((self.writer, self.picks, *self.assistants)))


class ChoiceSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings that can change a result.

    Attributes:
        attempts: at a question, at most.
        written: wrong answers that are asked for.
        wrong: wrong answers that a question gets; with the answer they are its options.
        typed: how many of them are made by rule from annotations, where there are as many.
        kinds: of those.
        confirm: ``report`` takes a fresh vote on what was accepted and records it, ``require`` also leaves a question
            open-ended that fails it, ``off`` takes none.
        repair: asks once more for wrong answers or a choice that cannot be read; votes are never asked for again.
        writing: parameters of the call that writes.
        picking: of the one that chooses.
        voting: of votes.
    """

    attempts: int = ATTEMPTS
    written: int = 6
    wrong: int = 4
    typed: int = 0
    kinds: tuple[DistractorKind, ...] = TYPED
    confirm: Confirm = "report"
    repair: bool = True
    writing: Parameters = WRITING
    picking: Parameters = PICKING
    voting: Parameters = VOTING

    def __post_init__(self) -> None:
        """Refuse numbers that make no sense, before anything is asked."""
        for name in ("attempts", "wrong"):
            if getattr(self, name) < 1:
                raise UserError(f"{name} is {getattr(self, name)}.", hint="it has to be at least 1")
        if self.wrong >= len(LETTERS):
            raise UserError(
                f"{self.wrong} wrong answers need more letters than there are.",
                hint=f"at most {len(LETTERS) - 1}",
            )
        if self.written < self.wrong:
            raise UserError(f"{self.written} wrong answers are written, and {self.wrong} of them are wanted.")
        if not 0 <= self.typed <= self.wrong:
            raise UserError(f"typed is {self.typed}.", hint=f"it lies between 0 and {self.wrong}")
        unknown = [kind for kind in self.kinds if kind not in TYPED]
        if unknown:
            raise UserError(f"no rule makes distractors of the kind '{unknown[0]}'.", hint=", ".join(TYPED))

    @property
    def options(self) -> int:
        """Options of a question."""
        return self.wrong + 1


class ChoiceAttempt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One attempt at a question.

    Attributes:
        item: id of the question.
        number: counted from 0.
        outcome: what became of it.
        detail: for people: what was seen, at most some hundred characters.
        wrong: the wrong answers, in the order in which votes number them (from 1; the answer is 0); none before the choice.
        votes: that were taken, the confirming ones included.
        confirmed: whether the fresh vote upheld it; None when none was taken.
        calls: request keys (16 hex digits each) of all calls, in order.
        cost: dollars of its calls; None when not known.
    """

    item: str
    number: int
    outcome: ChoiceOutcome
    detail: str = ""
    wrong: tuple[Distractor, ...] = ()
    votes: tuple[Vote, ...] = ()
    confirmed: bool | None = None
    calls: tuple[str, ...] = ()
    cost: str | None = None


ChoiceState = Literal["accepted", "open_ended", "unconfirmed", "postponed", "unfit", "waiting"]


@dataclass(frozen=True, slots=True)
class ChoiceResult:
    """What became of a question.

    Attributes:
        question: that was to get options.
        attempts: at it, in order.
        unfit: why nothing was asked.
        prompts: hash of each template that was used, by name.
        keeps_unconfirmed: False when a fresh vote that fails leaves the question open-ended.
    """

    question: Known
    attempts: tuple[ChoiceAttempt, ...] = ()
    unfit: Dropped | None = None
    prompts: tuple[tuple[str, str], ...] = ()
    keeps_unconfirmed: bool = True

    @property
    def accepted(self) -> ChoiceAttempt | None:
        """The attempt whose options the question gets."""
        return self.attempts[-1] if self.state == "accepted" else None

    @property
    def state(self) -> ChoiceState:
        """Return where the question stands; ``waiting`` before its first attempt has ended."""
        if self.unfit is not None:
            return "unfit"
        if not self.attempts:
            return "waiting"
        last = self.attempts[-1]
        if last.outcome == "ok":
            lost = last.confirmed is False and not self.keeps_unconfirmed
            return "unconfirmed" if lost else "accepted"
        return "postponed" if last.outcome == "postponed" else "open_ended"

    @property
    def dropped(self) -> Dropped | None:
        """Why the question has no options and will have none: unfit, unconfirmed or out of attempts."""
        if self.state in ("open_ended", "unconfirmed"):
            last = self.attempts[-1]
            reason = "unconfirmed" if self.state == "unconfirmed" else last.outcome
            return Dropped(self.question.id, reason, last.detail)
        return self.unfit


def unfit(question: Known) -> Dropped | None:
    """Say why a question cannot get options; None when it can.

    Without context nobody can vote with it; an answer that is longer than all that is known cannot follow from it.
    """
    known = [line.text.strip() for line in question.lines if line.id != "task"]
    reason, detail = "", ""
    if not question.text.strip():
        reason = "no_question"
    elif not normalise_option(question.answer):
        reason = "no_answer"
    elif not any(known):
        reason = "no_context"
    elif says_all_of_the_above(question.answer):
        reason, detail = "answer_says_all_of_the_above", question.answer[:SHOWN]
    elif len(question.answer.strip()) > sum(map(len, known)):
        reason = "answer_longer_than_context"
        detail = f"{len(question.answer.strip()):,} characters from {sum(map(len, known)):,}"
    return Dropped(question.id, reason, detail) if reason else None


class CallRange(msgspec.Struct, frozen=True, kw_only=True):
    """How many calls some questions need.

    Attributes:
        least: when every first attempt is accepted.
        most: when every attempt fails at its very last vote but the last one.
    """

    least: int
    most: int


def choice_calls(questions: int, models: ChoiceModels, settings: ChoiceSettings) -> CallRange:
    """Return bounds on calls before anything is asked; replies in the wrong form, asked for again, come on top."""
    voters = len(models.assistants)
    by_rule_alone = settings.typed == settings.wrong
    each = (0 if by_rule_alone else 2) + 2 * voters
    confirming = 0 if settings.confirm == "off" else voters
    most = settings.attempts * (2 + 2 * voters) + confirming
    return CallRange(least=questions * (each + confirming), most=questions * most)


# -- a question --------------------------------------------------------------------------------------------------


class _Ended(Exception):  # noqa: N818 - it is a finding, not an accident
    """The attempt ends here."""

    def __init__(self, outcome: ChoiceOutcome, detail: str) -> None:
        super().__init__(outcome)
        self.outcome: ChoiceOutcome = outcome
        self.detail = detail[:SHOWN]


@dataclass(slots=True)
class _Notes(Heard):
    """What an attempt has found out on its way; it is recorded however it ends."""

    wrong: tuple[Distractor, ...] = ()
    votes: list[Vote] = field(default_factory=list)
    confirmed: bool | None = None


@dataclass(frozen=True, slots=True)
class ChoiceMaker:
    """Gives questions options.

    Attributes:
        prompts: templates and fences.
        models: who does what.
        seed: of the run.
        settings: what can change the result.
        price: of calls.
        replying: what the user says of replies, over the protocol.
    """

    prompts: ChoicePrompts
    models: ChoiceModels
    seed: int = 0
    settings: ChoiceSettings = field(default_factory=ChoiceSettings)
    price: Price = no_price
    replying: Replying = field(default_factory=Replying)

    @property
    def config_hash(self) -> str:
        """Return a hash of everything but prompts and questions that can change the options."""
        return content_hash([self.settings, self.models, self.seed, *self.replying.identity])

    def request(
        self,
        prompt: Rendered,
        model: str,
        role: Literal["write", "pick", "vote"],
        *,
        pictures: Sequence[Image] = (),
        draw: int = 0,
    ) -> Request:
        """Return a call.

        Args:
            prompt: that is shown.
            model: full name.
            role: ``write``, ``pick`` or ``vote``.
            pictures: of the question.
            draw: number of the repetition.
        """
        settings = self.settings
        own = {"write": settings.writing, "pick": settings.picking, "vote": settings.voting}[role]
        parameters = self.replying.over(own, model, "assistant" if role == "vote" else "writer")
        messages = prompt.with_media(pictures) if pictures else prompt.messages
        return Request(model=model, messages=messages, parameters=parameters, draw=draw)

    def question(self, question: Known) -> Conversation[ChoiceResult]:
        """Attempt a question until there are options, all attempts are made, or a call fails."""
        keeps = self.settings.confirm != "require"
        dropped = unfit(question)
        if dropped is not None:
            return ChoiceResult(question, unfit=dropped, keeps_unconfirmed=keeps)
        attempts: list[ChoiceAttempt] = []
        prompts: dict[str, str] = {}
        while len(attempts) < self.settings.attempts:
            notes = _Notes()
            attempts.append((yield from self._attempt(question, attempts, notes)))
            prompts |= notes.prompts
            if attempts[-1].outcome in ("ok", "failed", "postponed"):
                break
        return ChoiceResult(
            question, tuple(attempts), prompts=tuple(sorted(prompts.items())), keeps_unconfirmed=keeps
        )

    def outline(self, question: Known) -> Iterator[Request]:
        """Yield the calls of one accepted attempt, for an estimate of what a run costs before it is paid for.

        Of wrong answers that nobody has written yet the right one takes the place: only the first call is what will be sent.
        Nothing is yielded for a question that cannot get options.
        """
        if unfit(question) is not None:
            return
        settings, voters = self.settings, self.models.assistants
        if settings.typed < settings.wrong:
            prompt = self.prompts.write(question, settings.written)
            yield self.request(prompt, self.models.writer, "write", pictures=question.pictures)
            written = [question.answer] * settings.written
            prompt = self.prompts.pick(question, written, settings.wrong - settings.typed)
            yield self.request(prompt, self.models.picks, "pick", pictures=question.pictures)
        rounds = (True, False) if settings.confirm == "off" else (True, False, False)
        for draw, with_context in enumerate(rounds):
            prompt = self.prompts.vote(
                question, [question.answer] * settings.options, with_context=with_context
            )
            pictures = question.pictures if with_context else ()
            for n, model in enumerate(voters):
                yield self.request(prompt, model, "vote", pictures=pictures, draw=draw * len(voters) + n)

    def _attempt(
        self, question: Known, before: Sequence[ChoiceAttempt], notes: _Notes
    ) -> Conversation[ChoiceAttempt]:
        outcome: ChoiceOutcome = "ok"
        detail = ""
        try:
            yield from _Attempt(self, question, len(before), before, notes).make()
        except _Ended as end:
            outcome, detail = end.outcome, end.detail
        return ChoiceAttempt(
            item=question.id,
            number=len(before),
            outcome=outcome,
            detail=detail,
            wrong=notes.wrong,
            votes=tuple(notes.votes),
            confirmed=notes.confirmed,
            calls=tuple(notes.calls),
            cost=None if notes.cost is None else f"{Decimal(notes.cost) / 10**9:f}",
        )


# -- an attempt --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One attempt on its way."""

    by: ChoiceMaker
    question: Known
    number: int
    before: Sequence[ChoiceAttempt]
    notes: _Notes

    def make(self) -> Talk[None]:
        """Go from wrong answers to votes.

        Raises:
            _Ended: with what became of it.
        """
        typed = self._typed()
        lacking = self.by.settings.wrong - len(typed)
        thought_up = (yield from self._thought_up(lacking)) if lacking else ()
        self.notes.wrong = wrong = (*typed, *thought_up)
        self._check(wrong)
        right, voters = yield from self._vote("with_steps", wrong)
        if 2 * (voters - right) > voters:
            self._end("with_steps_fail", f"{voters - right} of {voters} were wrong with what is known")
        right, voters = yield from self._vote("without_steps", wrong)
        if 2 * right > voters:
            self._end("without_steps_fail", f"{right} of {voters} were right without what is known")
        if self.by.settings.confirm != "off":
            right, voters = yield from self._vote("confirm", wrong)
            self.notes.confirmed = 2 * right <= voters

    # -- wrong answers -------------------------------------------------------------------------------------------

    def _typed(self) -> tuple[Distractor, ...]:
        settings = self.by.settings
        if not settings.typed:
            return ()
        rng = attempt_random(self.by.seed, self.question.id, self.number, "typed")
        pool = typed_distractors(self.question, rng, kinds=settings.kinds)
        used = [distractor.text for attempt in self.before for distractor in attempt.wrong]
        return choose_typed(pool, settings.typed, used=used)

    def _thought_up(self, wanted: int) -> Talk[tuple[Distractor, ...]]:
        by, settings, question = self.by, self.by.settings, self.question
        tried = dict.fromkeys(d.text for a in self.before for d in a.wrong if d.kind == "model")
        prompt = by.prompts.write(question, settings.written, tuple(tried))
        written = yield from self._read(
            prompt, by.models.writer, "write", read_wrong, WRITE_FORM, draw=self.number
        )
        texts = tuple(like_answer(text, question.answer) for text in written[: settings.written])
        if len(texts) < wanted:
            self._end("too_few", f"{len(texts)} wrong answers were written, {wanted} are needed")
        prompt = by.prompts.pick(question, texts, wanted)
        best = yield from self._read(
            prompt,
            by.models.picks,
            "pick",
            lambda outcome: read_best(outcome, len(texts)),
            PICK_FORM,
        )
        if len(best) < wanted:
            self._end(
                "too_few", f"{len(best)} of {len(texts)} wrong answers were chosen, {wanted} are needed"
            )
        return tuple(Distractor(text=texts[n]) for n in best[:wanted])

    def _check(self, wrong: Sequence[Distractor]) -> None:
        """Refuse options that refer to others and those that say the same."""
        for distractor in wrong:
            if says_all_of_the_above(distractor.text):
                self._end("says_all_of_the_above", distractor.text)
        seen = {normalise_option(text): text for text in self.question.answers}
        for distractor in wrong:
            plain = normalise_option(distractor.text)
            if plain in seen:
                self._end("duplicate", f"{distractor.text!r} says the same as {seen[plain]!r}")
            seen[plain] = distractor.text

    def _read(
        self,
        prompt: Rendered,
        model: str,
        role: Literal["write", "pick"],
        read: Callable[[Outcome], tuple[Any, ...] | Unwritten],
        form: str,
        *,
        draw: int = 0,
    ) -> Talk[tuple[Any, ...]]:
        """Ask, read, and ask once more for the right form where a reply lacks it."""
        request = self.by.request(prompt, model, role, pictures=self.question.pictures, draw=draw)
        (outcome,) = yield from self._hear(prompt, (request,))
        found = read(outcome)
        if isinstance(found, Unwritten) and isinstance(outcome, Reply) and self.by.settings.repair:
            problem = Unreadable("wrong_shape" if outcome.text.strip() else "empty")
            messages = repair_messages(request.messages, outcome.text, problem, form)
            (outcome,) = yield from self._hear(prompt, (msgspec.structs.replace(request, messages=messages),))
            found = read(outcome)
        return self._end("format", found.detail) if isinstance(found, Unwritten) else found

    # -- votes ---------------------------------------------------------------------------------------------------

    def _vote(
        self, stage: Literal["with_steps", "without_steps", "confirm"], wrong: Sequence[Distractor]
    ) -> Talk[tuple[int, int]]:
        """Have every assistant vote, each on an order of its own; return how many were right, and how many voted."""
        unshuffled = (self.question.answer, *(distractor.text for distractor in wrong))
        assistants = self.by.models.assistants
        orders = [
            vote_order(
                len(unshuffled), seed=self.by.seed, id=self.question.id, attempt=self.number, stage=stage, voter=n
            )
            for n in range(len(assistants))
        ]  # fmt: skip
        shown = [[unshuffled[position] for position in order] for order in orders]
        informed = stage == "with_steps"
        pictures = self.question.pictures if informed else ()
        prompts = [self.by.prompts.vote(self.question, options, with_context=informed) for options in shown]
        requests = tuple(
            self.by.request(prompt, model, "vote", pictures=pictures)
            for model, prompt in zip(assistants, prompts, strict=True)
        )
        outcomes = yield from self._hear(prompts[0], requests)
        right = 0
        for model, order, options, outcome in zip(assistants, orders, shown, outcomes, strict=True):
            letter = read_vote(outcome, options)
            is_right = bool(letter) and order[LETTERS.index(letter)] == 0
            right += is_right
            self.notes.votes.append(
                Vote(
                    stage=stage, attempt=self.number, assistant=model, order=order, letter=letter, right=is_right
                )
            )  # fmt: skip
        return right, len(assistants)

    # -- calls ---------------------------------------------------------------------------------------------------

    def _hear(self, prompt: Rendered, requests: tuple[Request, ...]) -> Talk[tuple[Outcome, ...]]:
        """Make calls and note them.

        Raises:
            _Ended: when one of them failed.
        """
        self.notes.prompts[prompt.template] = prompt.template_hash
        outcomes = yield requests
        for request, outcome in zip(requests, outcomes, strict=True):
            self.notes.hear(request, outcome, self.by.price)
        settled_outcomes = tuple(map(settled, outcomes))
        for request, outcome in zip(requests, settled_outcomes, strict=True):
            if isinstance(outcome, Failure):
                lack: ChoiceOutcome = "failed" if is_settled(outcome.kind) else "postponed"
                self._end(lack, f"{request.model}: {outcome.kind}: {outcome.message}")
        return settled_outcomes

    def _end(self, outcome: ChoiceOutcome, detail: str) -> NoReturn:
        raise _Ended(outcome, detail)
