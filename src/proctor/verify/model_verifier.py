"""A model as verifier: reviews of candidates by the criteria that people use, as verdicts beside theirs.

Questions about a moment are shown as to people; those of every other kind by what their kind says is known of them.

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

from proctor.ask.moment.model_generator import Attached
from proctor.errors import UserError
from proctor.exam.kind import kind_named
from proctor.exam.kinds.moment_question import MOMENT, shown_moment
from proctor.exam.library import Library
from proctor.exam.question import Question
from proctor.llm.fence import FenceSecret
from proctor.llm.message import Message, Parameters, Request
from proctor.llm.outcome import Ask, Failure, Outcome, Refusal, Reply, Truncated, why_incomplete
from proctor.llm.prompt import PromptSet
from proctor.llm.replying import Replying
from proctor.llm.structured import Unreadable, repair_messages
from proctor.records import Dropped
from proctor.verify.llm_prompt import (
    OF_MOMENTS,
    Criteria,
    Review,
    criteria_of,
    general_prompt,
    read_review,
    review_prompt,
    review_schema,
    to_verdict,
)
from proctor.verify.verdict import Verdict

__all__ = ["ModelVerifier", "Reviewed", "acceptance_funnel"]

REVIEW_TOKENS: Final = 2_048
"""A review gives a reason for the question and for each answer before its verdicts."""
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
        library: what questions name: task graphs, sources, pictures.
        form: ``json`` for providers with structured output; JSON is asked for in words in any case.
        attach: makes the frames of a question, for models that see; one whose frames cannot be made gets no verdict.
        view: short name of what is attached, for the note on each verdict.
        parameters: of the calls.
        replying: what the user says of replies, over the protocol.
        now: the time that verdicts carry.
    """

    model: str
    prompts: PromptSet
    secret: FenceSecret
    library: Library
    form: Literal["text", "json"] = "text"
    attach: Callable[[Question], Attached] | None = None
    view: str = ""
    parameters: Parameters = field(
        default_factory=lambda: Parameters(temperature=0.0, max_tokens=REVIEW_TOKENS)
    )
    replying: Replying = field(default_factory=Replying)
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

    def how(self, kind: str) -> str:
        """Return how questions of a kind are reviewed, for the note on each verdict; what was reviewed in another way is reviewed anew."""
        template = self.prompts[criteria_of(kind).template]
        seen = f", {self.view}" if self.view else ""
        drawn = "".join(f", {n}={v}" for n, v in self.replying.drawn(self.model, "verifier").items())
        return f"{template.name}@{template.version} {template.hash}, {self.form}{seen}{drawn}"

    def verify(self, questions: Sequence[Question], ask: Ask) -> Reviewed:
        """Review questions; those that share a request share its call.

        Args:
            questions: to review, ids unique.
            ask: makes the calls.

        Raises:
            UserError: if the activity of a question has no task graph.
        """
        prompts: dict[str, tuple[Message, ...]] = {}
        blind: dict[str, Dropped] = {}
        for question in questions:
            try:
                prompts[question.id] = self._prompt(question)
            except _NotShown as problem:
                blind[question.id] = Dropped(question.id, "not_shown", str(problem))
        first_of = {q.id: self._request(q, prompts[q.id]) for q in questions if q.id in prompts}
        first = _asked(first_of, ask)
        again = {
            q.id: self._request(q, messages)
            for q in questions
            if q.id in first and (messages := self._repair(q, prompts[q.id], first[q.id]))
        }
        outcomes = {**first, **_asked(again, ask)} if again else first
        verdicts: list[Verdict] = []
        dropped: list[Dropped] = []
        for question in questions:
            result = blind.get(question.id) or self._result(question, outcomes.get(question.id))
            if isinstance(result, Verdict):
                verdicts.append(result)
            else:
                dropped.append(result)
        return Reviewed(tuple(verdicts), tuple(dropped))

    def requests(self, questions: Iterable[Question]) -> Iterator[Request]:
        """Yield the first round's requests without sending any, for estimates."""
        for question in questions:
            with suppress(_NotShown):
                yield self._request(question, self._prompt(question))

    def _prompt(self, question: Question) -> tuple[Message, ...]:
        graph = self.library.shown_graph(question) if question.kind == MOMENT else None
        try:
            attached = Attached() if self.attach is None else self.attach(question)
            if graph is not None:
                example = shown_moment(question, self.library)
                rendered = review_prompt(
                    question, example, graph, self.prompts, self.secret, frames=attached.labels
                )
                return rendered.with_media(attached.images) if attached.images else rendered.messages
            kind = kind_named(question.kind)
            lines = kind.lines(question, self.library)
            topic = kind.topic(question, self.library)
        except UserError as error:
            raise _NotShown(error.message) from None
        rendered = general_prompt(question, lines, topic, self.prompts, self.secret, frames=attached.labels)
        media = (*attached.images, *(line.picture for line in lines if line.picture is not None))
        return rendered.with_media(media) if media else rendered.messages

    def _request(self, question: Question, messages: tuple[Message, ...]) -> Request:
        parameters = self.parameters
        if self.form == "json":
            schema = dict(review_schema(len(question.proposals), criteria_of(question.kind)))
            parameters = msgspec.structs.replace(parameters, json_schema=schema)
        parameters = self.replying.over(parameters, self.model, "verifier")
        return Request(model=self.model, messages=messages, parameters=parameters)

    def _repair(
        self, question: Question, messages: Sequence[Message], outcome: Outcome
    ) -> tuple[Message, ...]:
        """Return the messages of the second round for a reply that cannot be read; nothing for any other outcome."""
        if not isinstance(outcome, Reply):
            return ()
        criteria = criteria_of(question.kind)
        read = read_review(outcome.text, len(question.proposals), criteria)
        return (
            repair_messages(messages, outcome.text, read, criteria.form)
            if isinstance(read, Unreadable)
            else ()
        )

    def _result(self, question: Question, outcome: Outcome | None) -> Verdict | Dropped:
        if not isinstance(outcome, Reply):
            return Dropped(question.id, *_why_no_reply(outcome))
        read = read_review(outcome.text, len(question.proposals), criteria_of(question.kind))
        if not isinstance(read, Review):
            said = outcome.text.strip()[:_SHOWN]
            return Dropped(question.id, read.reason, f"{read.detail}: {said}" if said else read.detail)
        at = self.now().isoformat(timespec="seconds")
        verdict = to_verdict(read, question, annotator=self.name, at=at)
        return msgspec.structs.replace(verdict, note=self.how(question.kind))


class _NotShown(Exception):  # noqa: N818 - it is a finding, not an accident
    """Why the frames of a candidate cannot be attached."""


def acceptance_funnel(
    candidates: int, verdicts: Iterable[Verdict], criteria: Criteria = OF_MOMENTS
) -> dict[str, int]:
    """Count how many candidates came how far; each step counts those that passed all before it.

    Args:
        candidates: how many there are.
        verdicts: of one model on them, one each.
        criteria: by which it reviewed them.

    Returns:
        ``candidates``, ``reviewed``, each criterion that holds (``unsure`` does not), and ``kept``: with at least one
        answer found right.
    """
    counts = dict.fromkeys(("candidates", "reviewed", *criteria.names, "kept"), 0)
    counts["candidates"] = candidates
    for verdict in verdicts:
        counts["reviewed"] += 1
        for criterion in criteria.names:
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
    return why_incomplete(outcome)
