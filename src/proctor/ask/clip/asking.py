"""One thing asked of one model: its reply, one repair where that cannot be read, and what can be said of it in the end.

Three ends are told apart: something was *said*; nothing could be read, and asking again would change nothing (a filter then
fails closed); or there is no reply at all (*postponed*), which is nobody's verdict. Whether two answers to one question mean the same
is asked so by the blind filter, as the marker of answers in words asks it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, Generic, Literal, TypeVar

import msgspec

from proctor.ask.cost import Price, call_cost, no_price
from proctor.ask.documents.difficulty import settled
from proctor.exam.kinds.clip_marker import (
    CONSISTENCY,
    CONSISTENCY_FORM,
    CONSISTENCY_LIMITS,
    CONSISTENCY_TEMPLATE,
    Consistency,
    consistency_schema,
    read_consistency,
)
from proctor.llm.fence import FenceSecret
from proctor.llm.message import Request
from proctor.llm.outcome import Failure, Outcome, Refusal, Reply, Truncated, is_settled
from proctor.llm.prompt import PromptSet, Rendered
from proctor.llm.replying import Replying
from proctor.llm.structured import Unreadable, ask_until_read

__all__ = ["Asked", "ConsistencyJudge", "ask_once_more", "call_notes"]

T = TypeVar("T")

_SHOWN: Final = 300


@dataclass(frozen=True, slots=True)
class Asked(Generic[T]):
    """What came of it.

    Attributes:
        said: what was read; None when nothing was.
        why: code and what was seen (``code: detail``) where nothing was read.
        postponed: True when the call failed, so that there is nothing to read.
        declined: True when the model (or its provider's filter) refused.
        calls: requests with their outcomes, in order.
    """

    said: T | None
    why: str = ""
    postponed: bool = False
    declined: bool = False
    calls: tuple[tuple[Request, Outcome], ...] = ()

    @property
    def lack(self) -> Literal["failed", "postponed"]:
        """Whether a call that failed is one for good, or a later run makes it."""
        return "failed" if is_settled(self.why) else "postponed"


def ask_once_more(
    request: Request, read: Callable[[str], T | Unreadable], form: str, *, repair: bool = True
) -> Generator[Request, Outcome, Asked[T]]:
    """Ask, read, and ask once more for the right form where a reply lacks it.

    Args:
        request: the call.
        read: returns what a reply says, or why it cannot be read.
        form: the wanted form in words of ours.
        repair: False asks once only.
    """

    def problem(text: str) -> Unreadable | None:
        found = read(text)
        return found if isinstance(found, Unreadable) else None

    made = yield from ask_until_read(request, problem, form, repair=repair)
    calls = tuple((asked, settled(outcome)) for asked, outcome in made)
    _, last = calls[-1]
    if not isinstance(last, Reply):
        return _without_reply(last, calls)
    said = read(last.text)
    if isinstance(said, Unreadable):
        shown = " ".join(last.text.split()) or said.detail
        return Asked(None, f"unparsed: {said.reason}: {shown}"[:_SHOWN], calls=calls)
    return Asked(said, calls=calls)


def _without_reply(
    outcome: Failure | Refusal | Truncated, calls: tuple[tuple[Request, Outcome], ...]
) -> Asked[T]:
    if isinstance(outcome, Failure):
        return Asked(None, f"{outcome.kind}: {outcome.message}"[:_SHOWN], postponed=True, calls=calls)
    if isinstance(outcome, Refusal):
        why = (
            f"refusal: {outcome.text}"[:_SHOWN]
            if outcome.text
            else "refusal: the model declined without a word"
        )
        return Asked(None, why, declined=True, calls=calls)
    said = f"truncated: cut off by the limit on tokens after {len(outcome.text):,} characters"
    return Asked(None, said, calls=calls)


def call_notes(asked: Iterable[Asked[object]], price: Price = no_price) -> dict[str, str]:
    """Return number, keys, tokens and dollars of calls as texts for a record; what is not known is left out.

    What was asked twice in the same words is one call; one that two verdicts share is in both.
    """
    calls = list({request.key: (request, outcome) for a in asked for request, outcome in a.calls}.values())
    if not calls:
        return {"calls": "0"}
    notes = {"calls": str(len(calls)), "requests": " ".join(request.key[:16] for request, _ in calls)}
    usages = [outcome.usage for _, outcome in calls]
    notes |= _total("tokens_in", [usage.input for usage in usages])
    notes |= _total("tokens_out", [usage.output for usage in usages])
    costs = [call_cost(price, request, outcome) for request, outcome in calls]
    known = [cost for cost in costs if cost is not None]
    if len(known) == len(costs):
        notes["cost"] = f"{Decimal(sum(known)) / 10**9:f}"
    return notes


def _total(name: str, counts: Sequence[int | None]) -> dict[str, str]:
    known = [count for count in counts if count is not None]
    return {name: str(sum(known))} if known and len(known) == len(counts) else {}


@dataclass(frozen=True, slots=True)
class ConsistencyJudge:
    """A model that says whether two answers mean the same.

    Attributes:
        model: full name.
        prompts: templates of the room ``generate`` (``proctor.ask.moment.promqa_prompt.generation_prompts``).
        secret: of the workspace, for fences.
        structured: also sends the JSON Schema, for providers with structured output.
        repair: asks once more for a reply that cannot be read.
        replying: what the user says of replies, over the protocol.
    """

    model: str
    prompts: PromptSet
    secret: FenceSecret
    structured: bool = False
    repair: bool = True
    replying: Replying = field(default_factory=Replying)

    def prompt(self, question: str, golds: Sequence[str], prediction: str) -> Rendered:
        """Return the prompt.

        Args:
            question: that was answered.
            golds: accepted answers, of which one suffices.
            prediction: the answer to be judged.
        """
        return self.prompts[CONSISTENCY_TEMPLATE].render(
            self.secret,
            limits=CONSISTENCY_LIMITS,
            question=question,
            golds=list(golds),
            prediction=prediction,
        )

    def request(self, question: str, golds: Sequence[str], prediction: str) -> Request:
        """Return the first call, without sending it."""
        parameters = CONSISTENCY
        if self.structured:
            parameters = msgspec.structs.replace(parameters, json_schema=dict(consistency_schema()))
        messages = self.prompt(question, golds, prediction).messages
        parameters = self.replying.over(parameters, self.model, "judge")
        return Request(model=self.model, messages=messages, parameters=parameters)

    def judge(
        self, question: str, golds: Sequence[str], prediction: str
    ) -> Generator[Request, Outcome, Asked[Consistency]]:
        """Ask whether the prediction means the same as an accepted answer; a part of a conversation."""
        request = self.request(question, golds, prediction)
        return (yield from ask_once_more(request, read_consistency, CONSISTENCY_FORM, repair=self.repair))
