"""A model as generator: prompts from examples, calls through the port, candidates from what became of them.

As published with ProMQA: three question–answers pairs are asked for, and one of those that can be read is picked. The
pick depends on the run seed and the example's id alone, so that neither the order of the calls nor other examples change
it. A reply in which no pair can be read is asked once more. Whatever is not kept is listed with its reason.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, Literal

import msgspec

from proctor.ask.moment.candidate import Answer, Candidate, Provenance
from proctor.ask.moment.parse import ParsedPair
from proctor.ask.moment.promqa_prompt import (
    DEFAULT_TEMPLATE,
    PAIRS_SCHEMA,
    PUBLISHED_NAMES,
    TEMPLATES,
    TemplateNeeds,
    generation_prompt,
    read_pairs,
)
from proctor.errors import MissingExtraError, UserError, did_you_mean
from proctor.exam.kinds.example import Example, shown_example
from proctor.llm.fence import FenceSecret
from proctor.llm.message import Image, Message, Parameters, Request
from proctor.llm.outcome import Ask, Failure, Outcome, Reply, why_incomplete
from proctor.llm.prompt import PromptSet, Rendered
from proctor.llm.replying import Replying
from proctor.llm.structured import Unreadable, repair_messages
from proctor.procedure.graph import TaskGraph
from proctor.procedure.showing import shown_graph
from proctor.records import Dropped, content_hash

__all__ = ["PUBLISHED", "Attached", "Funnel", "Generated", "ModelGenerator"]

VERSION: Final = "1"
"""Part of provenance; goes up when the same replies may give other candidates."""
PUBLISHED: Final = Parameters(temperature=0.7, max_tokens=512)
"""Parameters of the published generation."""
PAIRS: Final = 3

_QUESTION_LIMIT: Final = 400
_ANSWER_LIMIT: Final = 600
_ANSWERS_LIMIT: Final = 20
_UNSENT: Final = ("budget", "cancelled", "replay_miss")
"""Failures of calls that were never made."""
_SHOWN: Final = 300
"""Characters of a text that a record of what was dropped keeps."""

_PAIRS_FORM: Final = {
    "text": "* a question\n    * an answer\n    * another answer, if there is one",
    "json": 'One JSON object: {"pairs": [{"question": "...", "answers": ["..."]}]}',
}
"""The wanted form in words, for the repair round."""


@dataclass(frozen=True, slots=True)
class Attached:
    """What goes with the prompt of an example.

    Attributes:
        images: the picture of the procedure, if the template wants it, then the frames.
        labels: of the frames alone (``proctor.llm.prompt.frame_labels``).
        complete: False in a dry run that has not got the frames.
    """

    images: tuple[Image, ...] = ()
    labels: tuple[str, ...] = ()
    complete: bool = True


class Funnel(msgspec.Struct, frozen=True, kw_only=True):
    """How many examples came how far.

    Attributes:
        examples: that were given.
        asked: whose prompt could be made and was sent, now or earlier.
        replied: to which the model gave a complete reply.
        parsed: of whose reply at least one pair could be read, in the first or the second round.
        picked: that gave a candidate.
        repaired: of the parsed ones, those that needed the second round.
        fewer: of the parsed ones, those with fewer pairs than were asked for.
    """

    examples: int = 0
    asked: int = 0
    replied: int = 0
    parsed: int = 0
    picked: int = 0
    repaired: int = 0
    fewer: int = 0


@dataclass(frozen=True, slots=True)
class Generated:
    """What a run gave: candidates and what was dropped, both in the order of the examples."""

    candidates: tuple[Candidate, ...]
    dropped: tuple[Dropped, ...]
    funnel: Funnel


@dataclass(frozen=True, slots=True)
class ModelGenerator:
    """A model that asks.

    Attributes:
        model: full name.
        prompts: templates of the room ``generate``.
        secret: of the workspace, for fences.
        graphs: task graph of each activity.
        template: how procedure and recording are shown; a name of ``TEMPLATES`` or the published one.
        seed: of the run; it decides which pair is picked, and nothing that is sent.
        pairs: how many are asked for.
        per_example: how many of them are kept.
        form: ``json`` for providers with structured output.
        attach: makes the pictures of an example; needed for templates that show some.
        parameters: of the calls.
        price: nano-dollars of a reply, None when not known.
        published: prompts show the procedure as the published ones do, ``Verb-`` tags and start and end nodes included.
        replying: what the user says of replies, over the protocol.

    Raises:
        UserError: if there is no such template, or a number makes no sense.
    """

    model: str
    prompts: PromptSet
    secret: FenceSecret
    graphs: Mapping[str, TaskGraph]
    template: str = DEFAULT_TEMPLATE
    seed: int = 0
    pairs: int = PAIRS
    per_example: int = 1
    form: Literal["text", "json"] = "text"
    attach: Callable[[Example, TaskGraph, TemplateNeeds], Attached] | None = None
    parameters: Parameters = field(default_factory=lambda: PUBLISHED)
    price: Callable[[str, Outcome], int | None] = field(default=lambda _model, _outcome: None)
    published: bool = False
    replying: Replying = field(default_factory=Replying)

    def __post_init__(self) -> None:
        if self._template_name not in TEMPLATES:
            raise UserError(
                f"there is no template '{self.template}'.", hint=did_you_mean(self.template, TEMPLATES)
            )
        if self.form not in _PAIRS_FORM:
            raise UserError(f"there is no form '{self.form}'.", hint=f"there are {', '.join(_PAIRS_FORM)}")
        if not 1 <= self.per_example <= self.pairs <= _ANSWERS_LIMIT:
            raise UserError(
                f"{self.per_example} of {self.pairs} pairs cannot be picked.",
                hint=f"ask for 1 to {_ANSWERS_LIMIT} pairs, and keep at least one and at most all of them",
            )

    @property
    def name(self) -> str:
        """Name for provenance."""
        return self.model

    def generate(self, examples: Sequence[Example], ask: Ask) -> Generated:
        """Ask about examples; those that share a request share its call.

        Args:
            examples: to ask about, ids unique.
            ask: makes the calls.
        """
        prepared = _Prepared()
        first = _asked(self._requests(examples, prepared), ask)
        second = _asked(self._repairs(prepared, first), ask)
        candidates: list[Candidate] = []
        dropped: list[Dropped] = []
        counts = dict.fromkeys(Funnel.__struct_fields__, 0)
        for example in examples:
            counts["examples"] += 1
            if example.id in prepared.failed:
                dropped.append(prepared.failed[example.id])
                continue
            key = prepared.key_of[example.id]
            outcomes = [first[key]] if key in first else []
            if key in prepared.repair_of:
                outcomes += [second[prepared.repair_of[key]]] if prepared.repair_of[key] in second else []
            self._keep(example, prepared.rendered[key], key, outcomes, candidates, dropped, counts)
        return Generated(tuple(candidates), tuple(dropped), Funnel(**counts))

    def requests(self, examples: Sequence[Example]) -> Iterator[Request]:
        """Yield the first round's requests without sending any, for estimates."""
        return self._requests(examples, _Prepared())

    # -- prompts -------------------------------------------------------------------------------------------------

    @property
    def _template_name(self) -> str:
        return PUBLISHED_NAMES.get(self.template, self.template)

    def _requests(self, examples: Sequence[Example], prepared: _Prepared) -> Iterator[Request]:
        for example in examples:
            try:
                rendered, messages = self._prompt(example)
            except _NotAsked as problem:
                prepared.failed[example.id] = Dropped(example.id, problem.reason, problem.detail)
                continue
            request = self._request(messages)
            key = prepared.key_of[example.id] = request.key
            if key not in prepared.rendered:
                prepared.rendered[key], prepared.messages[key] = rendered, messages
                yield request

    def _prompt(self, example: Example) -> tuple[Rendered, tuple[Message, ...]]:
        graph = self.graphs.get(example.activity_id)
        if graph is None:
            raise _NotAsked("no_graph", f"no task graph for activity '{example.activity_id}'")
        if not self.published:
            example, graph = shown_example(example), shown_graph(graph)
        attached = Attached()
        needs = TEMPLATES[self._template_name]
        if needs.frames or needs.recipe_image:
            attached = self._attached(example, graph, needs)
        try:
            rendered = generation_prompt(
                example, graph, self.prompts, self.secret, template=self.template, pairs=self.pairs,
                frames=attached.labels or None, form=self.form,
            )  # fmt: skip
        except UserError as error:
            if error.where != example.id:  # a template that cannot be used is no matter of one example
                raise
            raise _NotAsked("not_shown", error.message) from None
        return rendered, rendered.with_media(attached.images) if attached.images else rendered.messages

    def _attached(self, example: Example, graph: TaskGraph, needs: TemplateNeeds) -> Attached:
        if self.attach is None:
            raise UserError(
                f"the template '{self._template_name}' needs pictures, and there are none.",
                hint="choose a template that shows steps, such as excerpt-steps",
            )
        try:
            attached = self.attach(example, graph, needs)
        except MissingExtraError:  # no matter of one example
            raise
        except UserError as error:
            raise _NotAsked("not_shown", error.message) from None
        wanted = len(attached.labels) + needs.recipe_image
        if attached.complete and (len(attached.images) != wanted or (needs.frames and not attached.labels)):
            raise ValueError(f"{len(attached.images)} pictures for {wanted} places")
        return attached

    def _request(self, messages: tuple[Message, ...]) -> Request:
        parameters = self.parameters
        if self.form == "json":
            parameters = msgspec.structs.replace(parameters, json_schema=dict(PAIRS_SCHEMA))
        parameters = self.replying.over(parameters, self.model, "generator")
        return Request(model=self.model, messages=messages, parameters=parameters)

    def _repairs(self, prepared: _Prepared, first: Mapping[str, Outcome]) -> Iterator[Request]:
        """Yield the second round: replies in which no pair could be read."""
        for key, outcome in sorted(first.items()):
            if not isinstance(outcome, Reply) or read_pairs(outcome.text).pairs:
                continue
            problem = Unreadable("empty" if not outcome.text.strip() else "no_pairs")
            messages = repair_messages(prepared.messages[key], outcome.text, problem, _PAIRS_FORM[self.form])
            request = self._request(messages)
            prepared.repair_of[key] = request.key
            yield request

    # -- candidates ----------------------------------------------------------------------------------------------

    def _keep(
        self,
        example: Example,
        rendered: Rendered,
        key: str,
        outcomes: Sequence[Outcome],
        candidates: list[Candidate],
        dropped: list[Dropped],
        counts: dict[str, int],
    ) -> None:
        """Add what became of one example."""
        if not outcomes:
            dropped.append(Dropped(example.id, "cancelled", "the run ended before it was asked"))
            return
        unsent = isinstance(outcomes[0], Failure) and outcomes[0].kind in _UNSENT
        counts["asked"] += not unsent
        counts["replied"] += isinstance(outcomes[0], Reply)
        last = outcomes[-1]
        why = _why_no_reply(last)
        if why is not None or not isinstance(last, Reply):
            dropped.append(Dropped(example.id, *(why or ("empty", ""))))
            return
        parsed = read_pairs(last.text)
        for reason, text in parsed.problems:
            dropped.append(Dropped(f"{example.id}#", reason, text[:_SHOWN]))
        if not parsed.pairs:
            dropped.append(Dropped(example.id, "no_pairs", last.text.strip()[:_SHOWN]))
            return
        counts["parsed"] += 1
        counts["repaired"] += len(outcomes) > 1
        counts["fewer"] += len(parsed.pairs) < self.pairs
        usable = {n: pair for n, pair in enumerate(parsed.pairs, 1) if not _too_long(pair)}
        if not usable:
            dropped.append(Dropped(example.id, "too_long", "no pair is short enough"))
        picked = self._pick(example.id, list(usable))
        for number, pair in enumerate(parsed.pairs, 1):
            if number not in picked:
                reason = "not_picked" if number in usable else "too_long"
                dropped.append(Dropped(f"{example.id}#{number}", reason, pair.question[:_SHOWN]))
        details = self._details(rendered, key, outcomes) | {"pairs": str(len(parsed.pairs))}
        candidates.extend(
            self._candidate(example, usable[n], rendered, details | {"pair": str(n)}) for n in picked
        )
        counts["picked"] += bool(picked)

    def _pick(self, example_id: str, numbers: Sequence[int]) -> list[int]:
        """Choose by run seed and example: the same whatever else is asked."""
        digest = hashlib.sha256(f"pick\n{self.seed}\n{example_id}".encode()).digest()
        rng = random.Random(int.from_bytes(digest[:8]))  # noqa: S311
        return sorted(rng.sample(numbers, min(self.per_example, len(numbers))))

    def _candidate(
        self, example: Example, pair: ParsedPair, rendered: Rendered, details: Mapping[str, str]
    ) -> Candidate:
        content = "\n".join((self.model, rendered.template_hash, pair.question, *pair.answers))
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", re.sub(r"@https?://.*", "", self.model)).strip("-.")[:60]
        return Candidate(
            id=f"{example.id}__{name}-{hashlib.sha256(content.encode()).hexdigest()[:10]}",
            example_id=example.id,
            recording_id=example.recording_id,
            type=example.type,
            question=pair.question,
            answers=tuple(Answer(text) for text in dict.fromkeys(pair.answers)),
            provenance=Provenance(
                generator=self.name,
                version=VERSION,
                seed=self.seed,
                form=self._template_name,
                model=self.model,
                prompt_hash=rendered.template_hash,
                example_hash=content_hash(example),
                details=details,
            ),
        )

    def _details(self, rendered: Rendered, key: str, outcomes: Sequence[Outcome]) -> dict[str, str]:
        """Return what a record tells of the calls; nothing in it depends on when or how often they were tried."""
        found = dict(rendered.details) | {"request": key[:16], "calls": str(len(outcomes))}
        last = outcomes[-1]
        if isinstance(last, Reply):
            found |= {k: v for k, v in {"model_version": last.model, "stop": last.stop}.items() if v}
        usages = [o.usage for o in outcomes]
        for name, numbers in (
            ("tokens_in", [u.input for u in usages]),
            ("tokens_out", [u.output for u in usages]),
        ):
            known = [n for n in numbers if n is not None]
            if len(known) == len(outcomes):
                found[name] = str(sum(known))
        costs = [c for o in outcomes if (c := self.price(self.model, o)) is not None]
        if len(costs) == len(outcomes):
            found["cost"] = f"{Decimal(sum(costs)) / 10**9:f}"
        return found


class _NotAsked(Exception):  # noqa: N818 - it is a finding, not an accident
    """Why an example is not asked about."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


@dataclass(slots=True)
class _Prepared:
    """What was made of the examples on the way: prompts by the key of their request."""

    key_of: dict[str, str] = field(default_factory=dict)
    rendered: dict[str, Rendered] = field(default_factory=dict)
    messages: dict[str, tuple[Message, ...]] = field(default_factory=dict)
    repair_of: dict[str, str] = field(default_factory=dict)
    failed: dict[str, Dropped] = field(default_factory=dict)


def _asked(requests: Iterable[Request], ask: Ask) -> dict[str, Outcome]:
    return {request.key: outcome for request, outcome in ask(requests)}


def _why_no_reply(outcome: Outcome) -> tuple[str, str] | None:
    """Return reason code and detail for an outcome that is no complete reply; None for one that is."""
    if not isinstance(outcome, Reply):
        return why_incomplete(outcome)
    return None if outcome.text.strip() else ("empty", "the model replied nothing")


def _too_long(pair: ParsedPair) -> bool:
    """True for what no person would read as a short question with its answers."""
    return (
        len(pair.question) > _QUESTION_LIMIT
        or len(pair.answers) > _ANSWERS_LIMIT
        or max(map(len, pair.answers)) > _ANSWER_LIMIT
    )
