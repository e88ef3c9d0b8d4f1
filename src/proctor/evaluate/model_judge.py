"""A model as judge: a rubric, calls through the port, judgements from what it wrote. Never a guess.

A reply without a verdict is asked once more (with the reply and what was wrong with it); what cannot be read then stays
unscored with its reason. A failed prediction is not judged, as with every judge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from proctor.benchmark.item import Item
from proctor.errors import UserError
from proctor.evaluate.answering import call_details, why_no_reply
from proctor.evaluate.judge import ANSWER_LIMIT
from proctor.evaluate.judge_prompt import Rubric, judge_prompt, verdict_form, verdict_schema
from proctor.evaluate.prediction import Judgement, Prediction
from proctor.evaluate.verdict import VerdictReading, maximum, read_verdict
from proctor.llm.fence import FenceSecret
from proctor.llm.message import Message, Parameters, Request
from proctor.llm.outcome import Ask, Outcome, Reply
from proctor.llm.prompt import PromptSet, Rendered
from proctor.llm.structured import repair_messages
from proctor.procedure.graph import TaskGraph

__all__ = ["ModelJudge"]

JUDGE_TOKENS: Final = 512
"""The published limit of 256 cuts rationales off before their verdict."""


@dataclass(frozen=True, slots=True)
class ModelJudge:
    """A model that marks answers under a rubric.

    Attributes:
        model: full name.
        rubric: scale, context and form.
        prompts: templates of the room ``evaluate``.
        secret: of the workspace, for fences.
        graphs: task graph of each activity.
        repeat: number of the repetition, 0 for the first.
        max_tokens: of a reply.
        price: nano-dollars of a reply, None when not known.
    """

    model: str
    rubric: Rubric
    prompts: PromptSet
    secret: FenceSecret
    graphs: Mapping[str, TaskGraph]
    repeat: int = 0
    max_tokens: int = JUDGE_TOKENS
    price: Callable[[str, Outcome], int | None] = field(default=lambda _model, _outcome: None)

    @property
    def name(self) -> str:
        """Name on the judgements: model, rubric and the hash of its template."""
        template = self.prompts[self.rubric.template].hash
        again = f"#{self.repeat}" if self.repeat else ""
        return f"{self.model} ({self.rubric.name} {template[:8]}){again}"

    def judge(self, items: Sequence[Item], predictions: Sequence[Prediction], ask: Ask) -> list[Judgement]:
        """Mark predictions, in their order.

        Args:
            items: the benchmark.
            predictions: answers to them.
            ask: makes the calls.

        Raises:
            UserError: if a prediction answers no item, or an activity has no task graph.
        """
        by_id = {item.id: item for item in items}
        done: dict[int, Judgement] = {}
        rendered: dict[int, Rendered] = {}
        for place, prediction in enumerate(predictions):
            item = by_id.get(prediction.item_id)
            if item is None:
                raise UserError(f"there is no item '{prediction.item_id}'.", where="predictions")
            settled = self._settled(prediction)
            if settled is not None:
                done[place] = settled
            else:
                rendered[place] = self._rendered(item, prediction)
        first = {place: self._request(prompt.messages) for place, prompt in rendered.items()}
        replies = _asked(first, ask)
        readings = self._readings(replies)
        again = {
            place: self._request(
                repair_messages(rendered[place].messages, text, reading.problem, verdict_form(self.rubric))
            )
            for place, (text, reading) in readings.items()
            if reading.problem
        }
        second = _asked(again, ask)
        readings |= self._readings(second)
        for place, prompt in rendered.items():
            outcomes = [replies[place], *([second[place]] if place in second else [])]
            done[place] = self._judgement(predictions[place], prompt, outcomes, readings.get(place))
        return [done[place] for place in range(len(predictions))]

    def requests(self, items: Sequence[Item], predictions: Sequence[Prediction]) -> Iterator[Request]:
        """Yield the first round's requests without sending any, for estimates."""
        by_id = {item.id: item for item in items}
        for prediction in predictions:
            if self._settled(prediction) is None and prediction.item_id in by_id:
                yield self._request(self._rendered(by_id[prediction.item_id], prediction).messages)

    def _settled(self, prediction: Prediction) -> Judgement | None:
        """Return the judgement that needs no model: a failed answer, or one that is far too long to be one."""
        if prediction.failure is not None or prediction.answer is None:
            why = prediction.failure or "there is no answer"
            return self._unscored(prediction, f"prediction failed: {why}")
        if len(prediction.answer) > ANSWER_LIMIT:
            return Judgement(
                item_id=prediction.item_id,
                predictor=prediction.predictor,
                judge=self.name,
                score=0,
                rationale=f"The answer has {len(prediction.answer):,} characters; it was not read.",
                details=self._own_details(),
            )
        return None

    def _rendered(self, item: Item, prediction: Prediction) -> Rendered:
        example = item.example
        graph = self.graphs.get(example.activity_id)
        if graph is None:
            raise UserError(f"the activity '{example.activity_id}' has no task graph.", where=item.id)
        return judge_prompt(
            self.rubric,
            self.prompts,
            self.secret,
            activity=example.activity_name or example.activity_id,
            question=item.question,
            golds=[gold.text for gold in item.golds],
            prediction=prediction.answer or "",
            graph=graph,
            performed=(*example.previous, *((example.current,) if example.current else ())),
            view=prediction.details.get("view", ""),
        )

    def _request(self, messages: tuple[Message, ...]) -> Request:
        schema = dict(verdict_schema(self.rubric.scale)) if self.rubric.form == "json" else None
        parameters = Parameters(temperature=0.0, max_tokens=self.max_tokens, json_schema=schema)
        return Request(model=self.model, messages=messages, parameters=parameters, draw=self.repeat)

    def _readings(self, outcomes: Mapping[int, Outcome]) -> dict[int, tuple[str, VerdictReading]]:
        """Return each reply's text with what was read in it; reading one takes longer than all the rest."""
        texts = {place: outcome.text for place, outcome in outcomes.items() if isinstance(outcome, Reply)}
        return {place: (text, read_verdict(text, self.rubric.scale)) for place, text in texts.items()}

    def _judgement(
        self,
        prediction: Prediction,
        prompt: Rendered,
        outcomes: Sequence[Outcome],
        read: tuple[str, VerdictReading] | None,
    ) -> Judgement:
        last = outcomes[-1]
        details = self._own_details() | prompt.details | call_details(last, cost=self._cost(outcomes))
        details["calls"] = str(len(outcomes))
        why = why_no_reply(last)
        if why is not None or read is None:
            return self._unscored(prediction, why or "there is no reply", details)
        text, reading = read
        if reading.score is None:
            return self._unscored(
                prediction, f"{reading.reason}: {reading.detail}: {text.strip()[:200]}", details
            )
        # Records know one scale: on the binary one the best verdict is a match.
        score = reading.score * 2 // maximum(self.rubric.scale)
        return Judgement(
            item_id=prediction.item_id,
            predictor=prediction.predictor,
            judge=self.name,
            score=score,
            rationale=reading.rationale,
            details=details,
        )

    def _unscored(
        self, prediction: Prediction, why: str, details: Mapping[str, str] | None = None
    ) -> Judgement:
        return Judgement(
            item_id=prediction.item_id,
            predictor=prediction.predictor,
            judge=self.name,
            failure=why,
            details=details or self._own_details(),
        )

    def _own_details(self) -> dict[str, str]:
        template = self.prompts[self.rubric.template]
        found = {
            "model": self.model,
            "rubric": self.rubric.name,
            "scale": self.rubric.scale,
            "template": f"{template.name}@{template.version}",
            "template_hash": template.hash,
        }
        return found | ({"repeat": str(self.repeat)} if self.repeat else {})

    def _cost(self, outcomes: Sequence[Outcome]) -> int | None:
        prices = [self.price(self.model, outcome) for outcome in outcomes]
        known = [p for p in prices if p is not None]
        return sum(known) if len(known) == len(prices) else None


def _asked(requests: Mapping[int, Request], ask: Ask) -> dict[int, Outcome]:
    """Ask every different request once and return the outcome of each place."""
    keys = {place: request.key for place, request in requests.items()}
    distinct = {keys[place]: request for place, request in requests.items()}
    found = {request.key: outcome for request, outcome in ask(distinct.values())} if distinct else {}
    return {place: found[key] for place, key in keys.items()}
