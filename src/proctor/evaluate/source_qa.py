"""Question answering over sources: from the cited sources alone, or end to end from what a retriever found.

SMMQG. A question of which any shown source is an image goes to the model that takes images (LMM), every
other one to the language model; both may be the same. Greedy, as published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from proctor.corpus.collection import Corpus
from proctor.corpus.source import Source
from proctor.errors import UserError
from proctor.evaluate.answering import call_details, prediction_of
from proctor.evaluate.prediction import Prediction
from proctor.evaluate.retrieval import RetrievalRun
from proctor.evaluate.source_question import SourceQuestion
from proctor.evaluate.source_showing import SOURCE_LIMIT, FindPicture, ShownSources, show_sources
from proctor.llm.fence import FenceSecret
from proctor.llm.message import Parameters, Request
from proctor.llm.outcome import Ask, Failure, Outcome
from proctor.llm.prompt import PromptSet, Rendered

__all__ = [
    "ANSWER_TOKENS",
    "GREEDY",
    "Answered",
    "FindSources",
    "SourceAnswerer",
    "gold_sources",
    "top_sources",
]

ANSWER_TOKENS: Final = 512
GREEDY: Final = Parameters(temperature=0.0, max_tokens=ANSWER_TOKENS)

Route = Literal["llm", "lmm"]
FindSources = Callable[[SourceQuestion], tuple[Source, ...] | str]
"""The sources that a question is answered from; a text says why there are none (the prediction then failed)."""
Answered = Callable[[Sequence[Prediction]], None]


def gold_sources(corpus: Corpus) -> FindSources:
    """Return a function that finds the cited sources of a question, in the order in which they are cited."""

    def find(question: SourceQuestion) -> tuple[Source, ...] | str:
        found = {id_: corpus.get(id_) for id_ in question.gold}
        missing = [id_ for id_, source in found.items() if source is None]
        if missing:
            return f"no_source: the corpus has no source '{missing[0][:100]}'"
        if not found:
            return "no_source: the question cites no source"
        # Two duplicates that a question cites are one source.
        kept = {source.id: source for source in found.values() if source is not None}
        return tuple(kept.values())

    return find


def top_sources(corpus: Corpus, run: RetrievalRun, k: int) -> FindSources:
    """Return a function that takes the first k sources of a retrieval run, best first.

    Raises:
        UserError: if k is below 1.
    """
    if k < 1:
        raise UserError(f"at least one source is shown, got {k}.")
    rankings = {ranking.qid: ranking for ranking in run.rankings}

    def find(question: SourceQuestion) -> tuple[Source, ...] | str:
        ranking = rankings.get(question.id)
        if ranking is None:
            return f"no_ranking: {run.retriever} has not searched for this question"
        if ranking.failure is not None:
            return f"no_ranking: {ranking.failure}"
        kept: dict[str, Source] = {}
        for id_ in ranking.ids:
            source = corpus.get(id_)
            if source is None:
                return f"no_source: the corpus has no source '{id_[:100]}'"
            kept.setdefault(source.id, source)
            if len(kept) == k:
                break
        return tuple(kept.values())

    return find


@dataclass(frozen=True, slots=True)
class SourceAnswerer:
    """One or two models that answer questions from sources.

    Attributes:
        llm: full name of the model for texts and tables.
        lmm: of the model for questions with an image; the same where it takes both.
        system: what it answers from, for its name: ``gold``, or such as ``bm25@5``.
        find: finds the sources of a question.
        prompts: templates of the room ``evaluate``.
        secret: of the workspace, for fences.
        picture: finds the pixels of images; without it they are shown by caption and description.
        parameters: of the calls.
        price: nano-dollars of a reply, None when not known.
    """

    llm: str
    lmm: str
    system: str
    find: FindSources
    prompts: PromptSet
    secret: FenceSecret
    picture: FindPicture | None = None
    parameters: Parameters = field(default_factory=lambda: GREEDY)
    price: Callable[[str, Outcome], int | None] = field(default=lambda _model, _outcome: None)

    @property
    def name(self) -> str:
        """Name on the predictions."""
        models = self.llm if self.llm == self.lmm else f"{self.llm} + {self.lmm}"
        return f"{models} ({self.system})"

    def predict(
        self, questions: Sequence[SourceQuestion], ask: Ask, *, interrupted: Answered | None = None
    ) -> list[Prediction]:
        """Answer questions, in their order; questions that share a request share its call.

        Args:
            questions: what to answer.
            ask: makes the calls.
            interrupted: called with the predictions that are there when the run ends early, which is then raised.

        Raises:
            UserError: if two questions have one id.
        """
        if len({question.id for question in questions}) < len(questions):
            raise UserError("two questions have the same id.", hint="ids must be unique")
        prepared: dict[str, _Prepared] = {}
        outcomes: dict[str, Outcome] = {}
        try:
            for request, outcome in ask(self._requests(questions, prepared)):
                outcomes[request.key] = outcome
        except BaseException:
            if interrupted is not None:
                there = [q for q in questions if q.id in prepared and prepared[q.id].key in outcomes]
                interrupted([self._prediction(q, prepared[q.id], outcomes) for q in there])
            raise
        return [self._prediction(q, prepared[q.id], outcomes) for q in questions]

    def requests(self, questions: Sequence[SourceQuestion]) -> Iterator[Request]:
        """Yield every different request without sending any, for estimates."""
        return self._requests(questions, {})

    def _requests(
        self, questions: Sequence[SourceQuestion], prepared: dict[str, _Prepared]
    ) -> Iterator[Request]:
        asked: set[str] = set()
        for question in questions:
            request = self._prepare(question, prepared)
            if request is not None and request.key not in asked:
                asked.add(request.key)
                yield request

    def _prepare(self, question: SourceQuestion, prepared: dict[str, _Prepared]) -> Request | None:
        found = self.find(question)
        if isinstance(found, str):
            prepared[question.id] = _Prepared(failure=found)
            return None
        shown = show_sources(found, self.picture)
        route: Route = "lmm" if any(source.modality == "image" for source in found) else "llm"
        rendered = self.prompts["source-answer"].render(
            self.secret, limits={"sources": SOURCE_LIMIT}, question=question.question, **shown.values
        )
        messages = rendered.with_media(shown.pictures) if shown.pictures else rendered.messages
        request = Request(model=self.model(route), messages=messages, parameters=self.parameters)
        prepared[question.id] = _Prepared(request.key, route, shown, rendered)
        return request

    def model(self, route: Route) -> str:
        """Return the model of a route."""
        return self.lmm if route == "lmm" else self.llm

    def _prediction(
        self, question: SourceQuestion, prepared: _Prepared, outcomes: Mapping[str, Outcome]
    ) -> Prediction:
        if prepared.failure or prepared.shown is None or prepared.rendered is None:
            details = {"system": self.system}
            return Prediction(
                item_id=question.id, predictor=self.name, failure=prepared.failure, details=details
            )
        model = self.model(prepared.route)
        outcome = outcomes.get(prepared.key)
        if outcome is None:
            outcome = Failure(kind="cancelled", message="the run ended before it was asked")
        details = {
            "model": model,
            "route": prepared.route,
            "system": self.system,
            "calls": "1",
            "request": prepared.key[:16],
            **prepared.shown.details,
            **prepared.rendered.details,
            **call_details(outcome, cost=self.price(model, outcome)),
        }
        return prediction_of(question.id, self.name, outcome, details=details)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What is asked for one question, or why nothing is."""

    key: str = ""
    route: Route = "llm"
    shown: ShownSources | None = None
    rendered: Rendered | None = None
    failure: str | None = None
