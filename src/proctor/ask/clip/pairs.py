"""Pairs about one clip as a conversation: ask for pairs, read and check them, have each put into a category.

What a conversation does depends on the run's seed, its task, the questions before it and the replies to its own requests, and on
nothing else: not on other clips, on order or on time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Literal

import msgspec

from proctor.ask.clip.category import CATEGORISATION, category_prompt, read_category
from proctor.ask.clip.pair_reply import ANSWER_WORDS, BadEntry, RawPair, check_pair, read_pair_list
from proctor.ask.clip.plan import PairTask, plan_pairs, position_of
from proctor.ask.clip.prompting import (
    PAIRS_FORM,
    PAIRS_SCHEMA,
    ClipLimits,
    ShownPart,
    pair_prompt,
    show_part,
)
from proctor.ask.clip.record import ClipPair, Level, ShownClip
from proctor.ask.cost import Price, call_cost, no_price
from proctor.ask.documents.duplicates import normalise_question
from proctor.ask.documents.rng import attempt_random
from proctor.errors import UserError
from proctor.llm.converse import Conversation
from proctor.llm.fence import FenceSecret
from proctor.llm.message import Parameters, Request
from proctor.llm.outcome import Failure, Outcome, Refusal, Reply, Truncated, is_settled
from proctor.llm.prompt import PromptSet, Rendered
from proctor.llm.replying import Replying
from proctor.llm.structured import Unreadable, repair_messages
from proctor.records import Dropped, content_hash

__all__ = [
    "GENERATION",
    "ROUNDS",
    "PairGenerator",
    "PairModels",
    "PairSettings",
    "TaskOutcome",
    "TaskResult",
]

GENERATION: Final = Parameters(temperature=0.7, max_tokens=1_500)
"""Parameters of the call that writes pairs [R]; the paper does not say."""

ROUNDS: Final = 4
"""Rounds of a run, at most: the first and those for what it left short."""

TaskOutcome = Literal["read", "unreadable", "truncated", "refused", "declined", "postponed"]
"""What became of a call: ``declined`` by a content filter, as too large, or since it failed for good; ``postponed`` when nobody
was asked: a later run asks."""

_SHOWN: Final = 300


class PairModels(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Full names of models; the categoriser is the generator where it is empty."""

    generator: str
    categoriser: str = ""

    @property
    def sorts(self) -> str:
        """Return who puts pairs into categories."""
        return self.categoriser or self.generator


class PairSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings that can change a result.

    Attributes:
        rounds: of a run, at most.
        surplus: what becomes of pairs beyond the quota of their cell: ``fill`` lets them stand in, within their level, for cells
            that stay short; ``drop`` keeps none.
        repair: asks once more for a reply that cannot be read.
        form: ``json`` for providers with structured output.
        answer_words: of an answer, at most.
        limits: how much of a clip is shown.
        generation: parameters of the call that writes pairs.
        categorisation: of the one that names a category.

    Raises:
        UserError: if a number makes no sense.
    """

    rounds: int = ROUNDS
    surplus: Literal["fill", "drop"] = "fill"
    repair: bool = True
    form: Literal["text", "json"] = "text"
    answer_words: int = ANSWER_WORDS
    limits: ClipLimits = ClipLimits()
    generation: Parameters = GENERATION
    categorisation: Parameters = CATEGORISATION

    def __post_init__(self) -> None:
        """Refuse numbers that make no sense, before anything is asked."""
        for name in ("rounds", "answer_words"):
            if getattr(self, name) < 1:
                raise UserError(f"{name} is {getattr(self, name)}.", hint="it has to be at least 1")


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What became of a task.

    Attributes:
        task: what was wanted.
        outcome: of the call.
        detail: for people; empty where pairs were read.
        pairs: that passed the checks, with their category, in the order of the reply.
        dropped: entries that did not, with the reason.
        entries: of the reply.
        unsorted: pairs whose category could not be read: they are ``other``.
        repaired: the reply was asked for a second time.
        shortened: what was not shown of the clip, in words.
        calls: short keys of the requests.
        cost: nano-dollars of all calls; None when the price of one is not known.
    """

    task: PairTask
    outcome: TaskOutcome
    detail: str = ""
    pairs: tuple[ClipPair, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    entries: int = 0
    unsorted: int = 0
    repaired: bool = False
    shortened: str = ""
    calls: tuple[str, ...] = ()
    cost: int | None = 0


@dataclass(frozen=True, slots=True)
class PairGenerator:
    """Writes pairs about clips.

    Attributes:
        models: who does what.
        prompts: templates of the room ``generate`` (``proctor.ask.moment.promqa_prompt.generation_prompts``).
        secret: of the workspace, for fences.
        seed: of the run.
        settings: what can change the result.
        price: of calls.
        replying: what the user says of replies, over the protocol.
    """

    models: PairModels
    prompts: PromptSet
    secret: FenceSecret
    seed: int = 0
    settings: PairSettings = field(default_factory=PairSettings)
    price: Price = no_price
    replying: Replying = field(default_factory=Replying)

    @property
    def config_hash(self) -> str:
        """A hash of everything but prompts and clips that can change the pairs."""
        return content_hash([self.settings, self.models, self.seed, *self.replying.identity])

    def clip(self, clip: ShownClip, level: Level, n: int) -> Conversation[TaskResult]:
        """Ask for pairs of a single clip.

        Raises:
            UserError: if ``n`` makes no sense.
        """
        plan = plan_pairs([clip], per_clip=n, levels=(level,), per_call=max(n, 1), seed=self.seed)
        return self.task(clip, plan.tasks[0])

    def task(self, clip: ShownClip, task: PairTask, before: Sequence[str] = ()) -> Conversation[TaskResult]:
        """Do a task.

        Args:
            clip: that the task is about.
            task: what is wanted.
            before: questions about the clip that are there already.
        """
        return (yield from _Work(self, clip, task, before).do())

    def request(self, clip: ShownClip, task: PairTask, before: Sequence[str] = ()) -> Request:
        """Return the first request of a task."""
        return _Work(self, clip, task, before).first()

    def requests(self, clips: Sequence[ShownClip], tasks: Sequence[PairTask]) -> Iterator[Request]:
        """Yield the requests for pairs of a round in which nothing is there yet, for estimates."""
        by_id = {clip.id: clip for clip in clips}
        for task in tasks:
            yield self.request(by_id[task.clip_id], task)

    def category_request(self, question: str, answer: str, level: Level) -> Request:
        """Return the request for a category; one for each pair that passes the checks."""
        return self._sorting(question, answer, level)[0]

    def _sorting(self, question: str, answer: str, level: Level) -> tuple[Request, Rendered]:
        rendered = category_prompt(question, answer, level, self.prompts, self.secret)
        parameters = self.replying.over(self.settings.categorisation, self.models.sorts, "categoriser")
        return Request(model=self.models.sorts, messages=rendered.messages, parameters=parameters), rendered


# -- a task on its way -------------------------------------------------------------------------------------------


class _Ended(Exception):  # noqa: N818 - it is a finding, not an accident
    """The task ends without pairs."""

    def __init__(self, outcome: TaskOutcome, detail: str = "") -> None:
        super().__init__(outcome)
        self.outcome: TaskOutcome = outcome
        self.detail = detail


@dataclass(slots=True)
class _Work:
    """A task, and what is found out on the way."""

    by: PairGenerator
    clip: ShownClip
    task: PairTask
    before: Sequence[str]
    part: ShownPart = field(init=False)
    rendered: Rendered = field(init=False)
    calls: dict[str, int | None] = field(default_factory=dict)
    dropped: list[Dropped] = field(default_factory=list)
    entries: int = 0
    unsorted: int = 0
    repaired: bool = False
    replies: list[Reply] = field(default_factory=list)

    def __post_init__(self) -> None:
        limits = self.by.settings.limits
        rng = attempt_random(self.by.seed, self.task.id, 0, "part")
        self.part = show_part(self.clip, limits, rng, [position for _, position in self.task.wants])
        self.rendered = pair_prompt(
            self.clip,
            self.part,
            self.task,
            self.by.prompts,
            self.by.secret,
            before=self.before[-limits.questions :] if limits.questions > 0 else (),
            words=self.by.settings.answer_words,
        )

    def first(self) -> Request:
        parameters = self.by.settings.generation
        if self.by.settings.form == "json":
            parameters = msgspec.structs.replace(parameters, json_schema=dict(PAIRS_SCHEMA))
        return Request(
            model=self.by.models.generator,
            messages=self.rendered.messages,
            parameters=self.by.replying.over(parameters, self.by.models.generator, "generator"),
            draw=self.task.draw,
        )

    def do(self) -> Conversation[TaskResult]:
        try:
            entries = yield from self._written()
            kept = self._checked(entries)
            return self._result("read", pairs=(yield from self._sorted(kept)))
        except _Ended as end:
            return self._result(end.outcome, end.detail)

    # -- pairs ---------------------------------------------------------------------------------------------------

    def _written(self) -> Generator[Any, Any, list[RawPair | BadEntry]]:
        request = self.first()
        reply = self._heard(request, (yield request))
        found = read_pair_list(reply.text)
        if isinstance(found, Unreadable) and self.by.settings.repair:
            self.repaired = True
            messages = repair_messages(request.messages, reply.text, found, PAIRS_FORM)
            again = msgspec.structs.replace(request, messages=messages)
            found = read_pair_list(self._heard(again, (yield again)).text)
        if isinstance(found, Unreadable):
            raise _Ended("unreadable", f"{found.reason} {found.detail}".strip())
        return found

    def _heard(self, request: Request, outcome: Outcome) -> Reply:
        """Note a call and return what was said.

        Raises:
            _Ended: when that is no complete reply.
        """
        self._note(request, outcome)
        if isinstance(outcome, Failure):
            kind: TaskOutcome = "declined" if is_settled(outcome.kind) else "postponed"
            raise _Ended(kind, f"{outcome.kind}: {outcome.message[:_SHOWN]}")
        if isinstance(outcome, Refusal):
            raise _Ended("refused", outcome.text[:_SHOWN] or "the model declined without a word")
        if isinstance(outcome, Truncated):
            raise _Ended(
                "truncated", f"cut off by the limit on tokens after {len(outcome.text):,} characters"
            )
        self.replies.append(outcome)
        return outcome

    def _note(self, request: Request, outcome: Outcome) -> None:
        self.calls[request.key[:16]] = call_cost(self.by.price, request, outcome)

    def _checked(self, entries: Sequence[RawPair | BadEntry]) -> list[RawPair]:
        """Return the entries that nothing speaks against, as many as were asked for; the others are listed."""
        self.entries = len(entries)
        asked = {normalise_question(question) for question in self.before}
        kept: list[RawPair] = []
        for number, entry in enumerate(entries, 1):
            bad = entry if isinstance(entry, BadEntry) else self._against(entry, asked, len(kept))
            if bad is not None:
                self.dropped.append(Dropped(f"{self.task.id}#{number}", bad.reason, bad.detail[:_SHOWN]))
            elif isinstance(entry, RawPair):
                asked.add(normalise_question(entry.question))
                kept.append(entry)
        return kept

    def _against(self, pair: RawPair, asked: set[str], kept: int) -> BadEntry | None:
        bad = check_pair(pair, self.part.steps, self.clip.task, answer_words=self.by.settings.answer_words)
        if bad is None and normalise_question(pair.question) in asked:
            bad = BadEntry("duplicate_question", pair.question)
        if bad is None and kept >= len(self.task.wants):
            bad = BadEntry("not_asked_for", pair.question)
        return bad

    # -- categories ----------------------------------------------------------------------------------------------

    def _sorted(self, pairs: Sequence[RawPair]) -> Generator[Any, Any, tuple[ClipPair, ...]]:
        asked = [self.by._sorting(pair.question, pair.answer, self.task.level) for pair in pairs]
        outcomes: tuple[Outcome, ...] = (yield tuple(request for request, _ in asked)) if asked else ()
        for (request, _), outcome in zip(asked, outcomes, strict=True):
            self._note(request, outcome)
        down = [o for o in outcomes if isinstance(o, Failure) and not is_settled(o.kind)]
        if down:
            raise _Ended("postponed", f"{down[0].kind}: {down[0].message[:_SHOWN]}")
        return tuple(
            self._pair(pair, request, rendered, outcome)
            for pair, (request, rendered), outcome in zip(pairs, asked, outcomes, strict=True)
        )

    def _pair(self, pair: RawPair, request: Request, rendered: Rendered, outcome: Outcome) -> ClipPair:
        found = read_category(outcome)
        self.unsorted += found.unparsed
        cited = set(pair.step_ids)
        ids = tuple(step.id for step in self.clip.steps if step.id in cited)
        details = self._details() | {
            "categoriser": self.by.models.sorts,
            "category_template": rendered.details["template"],
            "category_template_hash": rendered.template_hash,
            "category_request": request.key[:16],
        }
        if found.unparsed:
            details["category_unparsed"] = found.detail or "empty"
        content = "\n".join((pair.question, pair.answer, *ids))
        digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:10]
        return ClipPair(
            id=f"{self.clip.id}__{self.task.level}-{digest}",
            clip_id=self.clip.id,
            dataset=self.clip.dataset,
            video_id=self.clip.video_id,
            level=self.task.level,
            category=found.category,
            question=pair.question,
            answer=pair.answer,
            step_ids=ids,
            position=position_of(self.clip, ids),
            details=details,
        )

    # -- records -------------------------------------------------------------------------------------------------

    def _details(self) -> dict[str, str]:
        """Return what a pair tells of the call that wrote it; tokens are of the whole call, with all its pairs."""
        found = {"model": self.by.models.generator} | self.rendered.details
        found |= {"request": self.first().key[:16], "task": self.task.id, "seed": str(self.by.seed)}
        if self.part.cut:
            found["shown"] = self.part.cut
        if self.repaired:
            found["repaired"] = "yes"
        last = self.replies[-1]
        if last.model:
            found["model_version"] = last.model
        for name, numbers in _tokens(self.replies).items():
            if all(number is not None for number in numbers):
                found[name] = str(sum(number or 0 for number in numbers))
        costs = [self.by.price(self.by.models.generator, reply) for reply in self.replies]
        if all(cost is not None for cost in costs):
            found["cost"] = f"{Decimal(sum(cost or 0 for cost in costs)) / 10**9:f}"
        return found

    def _result(self, outcome: TaskOutcome, detail: str = "", pairs: tuple[ClipPair, ...] = ()) -> TaskResult:
        costs = list(self.calls.values())
        return TaskResult(
            task=self.task,
            outcome=outcome,
            detail=detail,
            pairs=pairs,
            dropped=tuple(self.dropped),
            entries=self.entries,
            unsorted=self.unsorted,
            repaired=self.repaired,
            shortened="; ".join(filter(None, (self.part.cut, *self.rendered.shortened))),
            calls=tuple(self.calls),
            cost=None if any(cost is None for cost in costs) else sum(cost or 0 for cost in costs),
        )


def _tokens(replies: Sequence[Reply]) -> Mapping[str, list[int | None]]:
    return {
        "tokens_in": [reply.usage.input for reply in replies],
        "tokens_out": [reply.usage.output for reply in replies],
    }
