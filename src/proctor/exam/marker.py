"""A model marks answers to items of any kind: a prompt, a reply that is read, once more where it holds no mark. Never a guess.

The marker says what is asked and how a reply is read; everything else is the same for all. A failed prediction is not marked, and a
reply that cannot be read leaves the answer unmarked with its reason: it is counted, and never a 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from proctor.errors import UserError
from proctor.exam.judge import ANSWER_LIMIT
from proctor.exam.library import Library, Prompts
from proctor.exam.prediction import Judgement, Prediction, call_details, total_cost, why_no_reply
from proctor.exam.question import Item
from proctor.llm.converse import Conversation, converse
from proctor.llm.message import Media, Message, Parameters, Request
from proctor.llm.outcome import Ask, Outcome, Reply
from proctor.llm.prompt import Rendered
from proctor.llm.replying import Replying
from proctor.llm.structured import Unreadable, ask_until_read

if TYPE_CHECKING:
    from proctor.exam.function import Function

__all__ = ["MarkPrompt", "Marker", "ModelMarker", "Reading"]

_UNASKED: Final = "cancelled: the run ended before it was asked"
_Marked = Callable[[Sequence[Judgement]], None]


class Reading(NamedTuple):
    """What a reply says.

    Attributes:
        level: on the marker's scale, 0 for wrong; None when it holds no mark.
        rationale: why, for people.
        problem: why it is asked for once more; None when it was read, or asking again would not help.
        failure: code and what was seen, where there is no level.
    """

    level: int | None
    rationale: str = ""
    problem: Unreadable | None = None
    failure: str = ""


class MarkPrompt(NamedTuple):
    """What is asked about one answer; ``details`` go into its record."""

    rendered: Rendered
    media: tuple[Media, ...] = ()
    details: Mapping[str, str] = {}

    @property
    def messages(self) -> tuple[Message, ...]:
        """The prompt with its pictures."""
        return self.rendered.with_media(self.media) if self.media else self.rendered.messages


class Marker(Protocol):
    """One way to mark answers of a kind by a model."""

    @property
    def name(self) -> str:
        """Of the rubric; part of the judge's name."""
        ...

    @property
    def template(self) -> str:
        """Name of its template."""
        ...

    @property
    def scale(self) -> str:
        """``binary`` or ``ternary``."""
        ...

    @property
    def parameters(self) -> Parameters:
        """Of the calls."""
        ...

    @property
    def form(self) -> str:
        """The wanted form of a reply in words, for the second round."""
        ...

    @property
    def empty(self) -> str:
        """Code before that of an empty reply; empty where it has none of its own."""
        ...

    def prompt(
        self, item: Item, prediction: Prediction, library: Library, prompts: Prompts
    ) -> MarkPrompt | str:
        """Return what is asked, or why nothing can be.

        Raises:
            UserError: if the library lacks what every item needs.
        """
        ...

    def read(self, reply: str) -> Reading:
        """Read a reply; any text is fine."""
        ...


_TOP: Final = {"binary": 1, "ternary": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMarker:
    """A model that marks answers.

    Attributes:
        model: full name.
        marker: what is asked, and how replies are read.
        library: what items name and do not hold.
        prompts: templates of the marker's room.
        repeat: number of the repetition, 0 for the first.
        price: nano-dollars of a reply, None when not known.
        replying: what the user says of replies, over the protocol.
        function: that marks in the place of the model of its name, on the scale of records; it gets the marker's prompt with the rest.
    """

    model: str
    marker: Marker
    library: Library
    prompts: Prompts
    repeat: int = 0
    price: Callable[[str, Outcome], int | None] = field(default=lambda _model, _outcome: None)
    replying: Replying = field(default_factory=Replying)
    function: Function | None = None

    @property
    def name(self) -> str:
        """Name on the marks: model, rubric and the hash of its template; of a function that of its module."""
        made_by = (
            self.function.version if self.function else self.prompts.templates[self.marker.template].hash
        )
        again = f"#{self.repeat}" if self.repeat else ""
        return f"{self.model} ({self.marker.name} {made_by[:8]}){again}"

    def mark(
        self,
        items: Sequence[Item],
        predictions: Sequence[Prediction],
        ask: Ask,
        *,
        interrupted: _Marked | None = None,
    ) -> list[Judgement]:
        """Mark predictions, in their order.

        Args:
            items: the benchmark.
            predictions: answers to them.
            ask: makes the calls; equal ones are made once.
            interrupted: called with the marks that are there when the run ends early, which is then raised.

        Raises:
            UserError: if a prediction answers no item, or two are of one predictor, item and turn.
        """
        by_id = {item.id: item for item in items}
        names = [f"{p.predictor}\n{p.item_id}\n{p.details.get('rotation', '')}" for p in predictions]
        if twice := [name for name, n in Counter(names).items() if n > 1]:
            raise UserError("a predictor has two answers to one question.", where=twice[0].split("\n")[1])
        for prediction in predictions:
            if prediction.item_id not in by_id:
                raise UserError(f"there is no item '{prediction.item_id}'.", where="predictions")
        talks = ((n, self._talk(by_id[p.item_id], p)) for n, p in zip(names, predictions, strict=True))
        done: dict[str, Judgement] = {}
        try:
            for name, made in converse(talks, ask, known={}):
                done[name] = made  # noqa: PERF403 - what is there so far has to be kept when the run ends early
        except BaseException:
            if interrupted is not None:
                interrupted([done[name] for name in names if name in done])
            raise
        pairs = zip(names, predictions, strict=True)
        return [done[name] if name in done else self._unmarked(p, _UNASKED) for name, p in pairs]

    def requests(self, items: Sequence[Item], predictions: Sequence[Prediction]) -> Iterator[Request]:
        """Yield the first round's requests without sending any, for estimates."""
        by_id = {item.id: item for item in items}
        for prediction in predictions:
            item = by_id.get(prediction.item_id)
            if item is not None and isinstance(prompt := self._prompt(item, prediction), MarkPrompt):
                yield self._first(item, prediction, prompt)

    def _talk(self, item: Item, prediction: Prediction) -> Conversation[Judgement]:
        prompt = self._prompt(item, prediction)
        if isinstance(prompt, Judgement):
            return prompt
        request, form = self._first(item, prediction, prompt), self.marker.form
        calls = yield from ask_until_read(request, lambda text: self._read(text).problem, form)
        return self._judgement(prediction, prompt, [outcome for _, outcome in calls])

    def _prompt(self, item: Item, prediction: Prediction) -> MarkPrompt | Judgement:
        """Return what is asked, or the mark that needs no model."""
        if prediction.failure is not None or prediction.answer is None:
            why = prediction.failure or "there is no answer"
            return self._unmarked(prediction, f"prediction failed: {why}")
        if len(prediction.answer) > ANSWER_LIMIT:
            # Leaving a flood unmarked would reward whoever floods the judge.
            why = f"The answer has {len(prediction.answer):,} characters; it was not read."
            return self._record(prediction, score=0, rationale=why)
        prompt = self.marker.prompt(item, prediction, self.library, self.prompts)
        return self._unmarked(prediction, prompt) if isinstance(prompt, str) else prompt

    def _first(self, item: Item, prediction: Prediction, prompt: MarkPrompt) -> Request:
        if self.function is not None:
            from proctor.exam.function import mark_request

            marks = tuple(level * self._points for level in range(_TOP[self.marker.scale] + 1))
            return mark_request(self.function, item, prediction.answer or "", prompt, marks, self.repeat)
        parameters = self.replying.over(self.marker.parameters, self.model, "judge")
        return Request(model=self.model, messages=prompt.messages, parameters=parameters, draw=self.repeat)

    @property
    def _points(self) -> int:
        """What a level is worth: records know one scale, and on the binary one the best verdict is a match."""
        return 2 // _TOP[self.marker.scale]

    def _read(self, reply: str) -> Reading:
        return self.marker.read(reply) if self.function is None else Reading(int(reply) // self._points)

    def _judgement(
        self, prediction: Prediction, prompt: MarkPrompt, outcomes: Sequence[Outcome]
    ) -> Judgement:
        last = outcomes[-1]
        details = {
            **prompt.details,
            **prompt.rendered.details,
            **call_details(
                last, cost=total_cost(((self.model, outcome) for outcome in outcomes), self.price)
            ),
            "calls": str(len(outcomes)),
        }
        why = why_no_reply(last)
        if why is not None or not isinstance(last, Reply):
            code = self.marker.empty if isinstance(last, Reply) else ""
            return self._unmarked(prediction, f"{code}: {why}" if code else why or "", details)
        reading = self._read(last.text)
        if reading.level is None:
            return self._unmarked(prediction, reading.failure, details)
        score = reading.level * self._points
        return self._record(prediction, score=score, rationale=reading.rationale, details=details)

    def _unmarked(
        self, prediction: Prediction, why: str, details: Mapping[str, str] | None = None
    ) -> Judgement:
        return self._record(prediction, failure=why, details=details)

    def _record(
        self,
        prediction: Prediction,
        *,
        score: int | None = None,
        rationale: str = "",
        failure: str | None = None,
        details: Mapping[str, str] | None = None,
    ) -> Judgement:
        template = self.prompts.templates[self.marker.template]
        own = {
            "model": self.model,
            "rubric": self.marker.name,
            "scale": self.marker.scale,
            "template": f"{template.name}@{template.version}",
            "template_hash": template.hash,
        }
        own |= {"repeat": str(self.repeat)} if self.repeat else {}
        return Judgement(
            item_id=prediction.item_id,
            predictor=prediction.predictor,
            judge=self.name,
            score=score,
            rationale=rationale,
            failure=failure,
            details={**own, **(details or {})},
        )
