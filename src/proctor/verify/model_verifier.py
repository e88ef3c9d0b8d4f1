"""A model as verifier: reviews of candidates by the criteria that people use, as verdicts beside theirs.

A reply that cannot be read is asked once more; what stays unreadable gives no verdict, with its reason. A failed call
gives none either: nobody's word is never taken for a doubt, nor for approval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Literal

import msgspec

from proctor.errors import UserError
from proctor.examples.example import Example
from proctor.generate.candidate import Candidate
from proctor.generate.model_generator import Attached
from proctor.llm.fence import FenceSecret
from proctor.llm.message import Message, Parameters, Request
from proctor.llm.outcome import Ask, Failure, Outcome, Refusal, Reply, Truncated
from proctor.llm.prompt import PromptSet
from proctor.llm.structured import Unreadable, repair_messages
from proctor.procedure.graph import TaskGraph
from proctor.records import Dropped
from proctor.verify.llm_prompt import (
    CRITERIA,
    REVIEW_FORM,
    Review,
    read_review,
    review_prompt,
    review_schema,
    to_verdict,
)
from proctor.verify.verdict import Verdict

__all__ = ["FUNNEL_STEPS", "ModelVerifier", "Reviewed", "acceptance_funnel"]

REVIEW_TOKENS: Final = 2_048
"""A review gives a reason for the question and for each answer before its verdicts."""
FUNNEL_STEPS: Final = ("candidates", "reviewed", *CRITERIA, "kept")

_TEMPLATE: Final = "review"
_SHOWN: Final = 300


@dataclass(frozen=True, slots=True)
class Reviewed:
    """Verdicts in the order of the candidates, and the candidates that got none, with the reason."""

    verdicts: tuple[Verdict, ...]
    dropped: tuple[Dropped, ...]


@dataclass(frozen=True, slots=True)
class ModelVerifier:
    """A model that reviews candidates.

    Attributes:
        model: full name.
        prompts: templates of the room ``verify``.
        secret: of the workspace, for fences.
        graphs: task graph of each activity.
        form: ``json`` for providers with structured output; JSON is asked for in words in any case.
        attach: makes the frames of an example, for models that see; a candidate whose frames cannot be made gets no verdict.
        view: short name of what is attached, for the note on each verdict.
        parameters: of the calls.
        now: the time that verdicts carry.
    """

    model: str
    prompts: PromptSet
    secret: FenceSecret
    graphs: Mapping[str, TaskGraph]
    form: Literal["text", "json"] = "text"
    attach: Callable[[Example, TaskGraph], Attached] | None = None
    view: str = ""
    parameters: Parameters = field(
        default_factory=lambda: Parameters(temperature=0.0, max_tokens=REVIEW_TOKENS)
    )
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    def __post_init__(self) -> None:
        if self.form not in ("text", "json"):
            raise UserError(f"there is no form '{self.form}'.", hint="there are text, json")
        if (self.attach is None) != (not self.view):
            raise ValueError("frames need a name for their view, and only they")

    @property
    def name(self) -> str:
        """Name on the verdicts."""
        return self.model

    @property
    def how(self) -> str:
        """How it reviews, for the note on each verdict; a candidate that was reviewed in another way is reviewed anew."""
        template = self.prompts[_TEMPLATE]
        seen = f", {self.view}" if self.view else ""
        return f"{template.name}@{template.version} {template.hash}, {self.form}{seen}"

    def verify(self, candidates: Sequence[Candidate], examples: Mapping[str, Example], ask: Ask) -> Reviewed:
        """Review candidates; those that share a request share its call.

        Args:
            candidates: to review, ids unique.
            examples: by id.
            ask: makes the calls.

        Raises:
            UserError: if a candidate has no example, or its activity no task graph.
        """
        prompts: dict[str, tuple[Message, ...]] = {}
        blind: dict[str, Dropped] = {}
        for candidate in candidates:
            try:
                prompts[candidate.id] = self._prompt(candidate, examples)
            except _NotShown as problem:
                blind[candidate.id] = Dropped(candidate.id, "not_shown", str(problem))
        first_of = {c.id: self._request(c, prompts[c.id]) for c in candidates if c.id in prompts}
        first = _asked(first_of, ask)
        again = {
            c.id: self._request(c, messages)
            for c in candidates
            if c.id in first and (messages := self._repair(c, prompts[c.id], first[c.id]))
        }
        outcomes = {**first, **_asked(again, ask)} if again else first
        verdicts: list[Verdict] = []
        dropped: list[Dropped] = []
        for candidate in candidates:
            result = blind.get(candidate.id) or self._result(candidate, outcomes.get(candidate.id))
            if isinstance(result, Verdict):
                verdicts.append(result)
            else:
                dropped.append(result)
        return Reviewed(tuple(verdicts), tuple(dropped))

    def requests(self, candidates: Iterable[Candidate], examples: Mapping[str, Example]) -> Iterator[Request]:
        """Yield the first round's requests without sending any, for estimates."""
        for candidate in candidates:
            with suppress(_NotShown):
                yield self._request(candidate, self._prompt(candidate, examples))

    def _prompt(self, candidate: Candidate, examples: Mapping[str, Example]) -> tuple[Message, ...]:
        example = examples.get(candidate.example_id)
        if example is None:
            raise UserError(f"there is no example '{candidate.example_id}'.", where=candidate.id)
        graph = self.graphs.get(example.activity_id)
        if graph is None:
            raise UserError(f"the activity '{example.activity_id}' has no task graph.", where=candidate.id)
        if self.attach is None:
            return review_prompt(candidate, example, graph, self.prompts, self.secret).messages
        try:
            attached = self.attach(example, graph)
        except UserError as error:
            raise _NotShown(error.message) from None
        rendered = review_prompt(candidate, example, graph, self.prompts, self.secret, frames=attached.labels)
        return rendered.with_media(attached.images)

    def _request(self, candidate: Candidate, messages: tuple[Message, ...]) -> Request:
        parameters = self.parameters
        if self.form == "json":
            schema = dict(review_schema(len(candidate.answers)))
            parameters = msgspec.structs.replace(parameters, json_schema=schema)
        return Request(model=self.model, messages=messages, parameters=parameters)

    def _repair(
        self, candidate: Candidate, messages: Sequence[Message], outcome: Outcome
    ) -> tuple[Message, ...]:
        """Return the messages of the second round for a reply that cannot be read; nothing for any other outcome."""
        if not isinstance(outcome, Reply):
            return ()
        read = read_review(outcome.text, len(candidate.answers))
        return (
            repair_messages(messages, outcome.text, read, REVIEW_FORM) if isinstance(read, Unreadable) else ()
        )

    def _result(self, candidate: Candidate, outcome: Outcome | None) -> Verdict | Dropped:
        if not isinstance(outcome, Reply):
            return Dropped(candidate.id, *_why_no_reply(outcome))
        read = read_review(outcome.text, len(candidate.answers))
        if not isinstance(read, Review):
            said = outcome.text.strip()[:_SHOWN]
            return Dropped(candidate.id, read.reason, f"{read.detail}: {said}" if said else read.detail)
        at = self.now().isoformat(timespec="seconds")
        verdict = to_verdict(read, candidate, annotator=self.name, at=at)
        return msgspec.structs.replace(verdict, note=self.how)


class _NotShown(Exception):  # noqa: N818 - it is a finding, not an accident
    """Why the frames of a candidate cannot be attached."""


def acceptance_funnel(candidates: int, verdicts: Iterable[Verdict]) -> dict[str, int]:
    """Count how many candidates came how far; each step counts those that passed all before it.

    Args:
        candidates: how many there are.
        verdicts: of one model on them, one each.

    Returns:
        ``candidates``, ``reviewed``, each criterion that holds (``unsure`` does not), and ``kept``: with at least one
        answer found right.
    """
    counts = dict.fromkeys(FUNNEL_STEPS, 0)
    counts["candidates"] = candidates
    for verdict in verdicts:
        counts["reviewed"] += 1
        for criterion in CRITERIA:
            if verdict.question.evidence.get(criterion) != "yes":
                break
            counts[criterion] += 1
        else:
            counts["kept"] += any(answer.value == "right" for answer in verdict.answers)
    return counts


def _asked(requests: Mapping[str, Request], ask: Ask) -> dict[str, Outcome]:
    """Ask every different request once and return the outcome for each candidate."""
    keys = {name: request.key for name, request in requests.items()}
    distinct = {keys[name]: request for name, request in requests.items()}
    found = {request.key: outcome for request, outcome in ask(distinct.values())} if distinct else {}
    return {name: found[key] for name, key in keys.items() if key in found}


def _why_no_reply(outcome: Failure | Truncated | Refusal | None) -> tuple[str, str]:
    """Return reason code and detail for a call that gave no complete reply."""
    if outcome is None:
        return "cancelled", "the run ended before it was asked"
    if isinstance(outcome, Failure):
        return outcome.kind, outcome.message[:_SHOWN]
    if isinstance(outcome, Truncated):
        return "truncated", f"cut off by the limit on tokens after {len(outcome.text):,} characters"
    return "refusal", outcome.text[:_SHOWN] or "the model declined without a word"
