"""Judges of answers about sources: one that reads the sources itself, and one that knows only the reference.

SMMQG: an explanation first, then the mark behind a last ``Score:``, 0 wrong, 1 partly right, 2 right. A
reply without such a mark is asked for once more and then stays unscored (``judge_unparsed``): it is counted, and never a 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from proctor.corpus.collection import Corpus
from proctor.errors import UserError
from proctor.evaluate.answering import call_details, why_no_reply
from proctor.evaluate.judge import ANSWER_LIMIT
from proctor.evaluate.prediction import Judgement, Prediction
from proctor.evaluate.source_question import SourceQuestion
from proctor.evaluate.source_showing import SOURCE_LIMIT, FindPicture, find_sources, show_sources
from proctor.llm.converse import Conversation, converse
from proctor.llm.fence import FenceSecret
from proctor.llm.message import Message, Parameters, Request
from proctor.llm.outcome import Ask, Outcome, Reply
from proctor.llm.prompt import PromptSet, Rendered, Template
from proctor.llm.structured import Unreadable, repair_messages, spoken_text
from proctor.metrics.answer import parse_judge_score

__all__ = ["JUDGE_KINDS", "UNPARSED", "JudgeKind", "SourceJudge", "read_score"]

JudgeKind = Literal["source", "reference"]
JUDGE_KINDS: Final[tuple[JudgeKind, ...]] = get_args(JudgeKind)
UNPARSED: Final = "judge_unparsed"
"""Code of a judgement without a mark that could be read."""

_JUDGE_TOKENS: Final = 512
_SHOWN: Final = 200
_TEMPLATES: Final[Mapping[JudgeKind, str]] = {"source": "source-judge", "reference": "source-judge-reference"}
_CLOSING: Final = "0, 1 or 2, and nothing after it."
"""How our prompts end; what a reply says comes behind it."""
_FORM: Final = (
    "Explain the mark in one to four sentences. Then a last line of its own: the word Score, a colon and one number, "
    + _CLOSING
)


def read_score(reply: str) -> int | None:
    """Return the mark behind the last ``Score:`` of a reply, its thinking left out; None where there is none from 0 to 2.

    Example:
        >>> read_score("The score: 1 was considered... Score: **2**")
        2
    """
    text = spoken_text(reply)
    if isinstance(text, Unreadable):
        return None
    # A model that only repeats its prompt has not judged, though the prompt has examples with marks.
    return parse_judge_score(text.rpartition(_CLOSING)[2], scale="smmqg")


@dataclass(frozen=True, slots=True)
class SourceJudge:
    """A model that marks answers.

    Attributes:
        model: full name.
        kind: ``source`` sees the gold sources, ``reference`` the reference answer alone.
        corpus: of the sources.
        prompts: templates of the room ``evaluate``.
        secret: of the workspace, for fences.
        picture: finds the pixels of images.
        repeat: number of the repetition, 0 for the first.
        price: nano-dollars of a reply, None when not known.
    """

    model: str
    kind: JudgeKind
    corpus: Corpus
    prompts: PromptSet
    secret: FenceSecret
    picture: FindPicture | None = None
    repeat: int = 0
    price: Callable[[str, Outcome], int | None] = field(default=lambda _model, _outcome: None)

    def __post_init__(self) -> None:
        """Refuse an unknown kind.

        Raises:
            UserError: for one that is neither ``source`` nor ``reference``.
        """
        if self.kind not in JUDGE_KINDS:
            raise UserError(
                f"there is no judge of the kind {self.kind!r}.", hint=f"there are {', '.join(JUDGE_KINDS)}"
            )

    @property
    def name(self) -> str:
        """Name on the judgements: model, kind and the hash of its template."""
        again = f"#{self.repeat}" if self.repeat else ""
        return f"{self.model} ({self.kind} {self._template.hash[:8]}){again}"

    @property
    def _template(self) -> Template:
        return self.prompts[_TEMPLATES[self.kind]]

    def judge(
        self, questions: Sequence[SourceQuestion], predictions: Sequence[Prediction], ask: Ask
    ) -> list[Judgement]:
        """Mark predictions, in their order.

        Args:
            questions: with references.
            predictions: answers to them.
            ask: makes the calls.

        Raises:
            UserError: if a prediction answers no question, or two predictions are of one predictor and question.
        """
        by_id = {question.id: question for question in questions}
        names = [f"{p.predictor}\n{p.item_id}" for p in predictions]
        if len(set(names)) < len(names):
            raise UserError("a predictor has two answers to one question.", where="predictions")
        for prediction in predictions:
            if prediction.item_id not in by_id:
                raise UserError(f"there is no question '{prediction.item_id}'.", where="predictions")
        talks = ((name, self._talk(by_id[p.item_id], p)) for name, p in zip(names, predictions, strict=True))
        done = dict(converse(talks, ask))
        cut_off = "cancelled: the run ended before it was asked"
        return [
            done[name] if name in done else self._unscored(prediction, cut_off)
            for name, prediction in zip(names, predictions, strict=True)
        ]

    def requests(
        self, questions: Sequence[SourceQuestion], predictions: Sequence[Prediction]
    ) -> Iterator[Request]:
        """Yield the first round's requests without sending any, for estimates."""
        by_id = {question.id: question for question in questions}
        for prediction in predictions:
            question = by_id.get(prediction.item_id)
            opened = None if question is None else self._opened(question, prediction)
            if opened is not None and not isinstance(opened, Judgement):
                yield self._request(opened[1])

    def _talk(self, question: SourceQuestion, prediction: Prediction) -> Conversation[Judgement]:
        opened = self._opened(question, prediction)
        if isinstance(opened, Judgement):
            return opened
        rendered, messages, details = opened
        outcomes: list[Outcome] = []
        for _ in range(2):
            outcome: Outcome = yield self._request(messages)
            outcomes.append(outcome)
            if not isinstance(outcome, Reply) or read_score(outcome.text) is not None:
                break
            messages = repair_messages(messages, outcome.text, Unreadable(UNPARSED), _FORM)
        return self._judgement(prediction, rendered, details, outcomes)

    def _opened(
        self, question: SourceQuestion, prediction: Prediction
    ) -> Judgement | tuple[Rendered, tuple[Message, ...], dict[str, str]]:
        """Return what is asked, or the judgement that needs no model."""
        if prediction.failure is not None or prediction.answer is None:
            return self._unscored(
                prediction, f"prediction failed: {prediction.failure or 'there is no answer'}"
            )
        if not question.answer.strip():
            return self._unscored(prediction, "no_reference: the question has no reference answer")
        if len(prediction.answer) > ANSWER_LIMIT:
            return self._wrong_unread(prediction)
        values: dict[str, Any] = {
            "question": question.question,
            "reference": question.answer,
            "prediction": prediction.answer,
        }
        if self.kind == "reference":
            rendered = self._template.render(self.secret, **values)
            return rendered, rendered.messages, {}
        found = find_sources(question.gold, self.corpus)
        if isinstance(found, str):
            return self._unscored(prediction, found)
        shown = show_sources(found, self.picture)
        rendered = self._template.render(
            self.secret, limits={"sources": SOURCE_LIMIT}, **values, **shown.values
        )
        messages = rendered.with_media(shown.pictures) if shown.pictures else rendered.messages
        return rendered, messages, shown.details

    def _request(self, messages: tuple[Message, ...]) -> Request:
        parameters = Parameters(temperature=0.0, max_tokens=_JUDGE_TOKENS)
        return Request(model=self.model, messages=messages, parameters=parameters, draw=self.repeat)

    def _judgement(
        self,
        prediction: Prediction,
        rendered: Rendered,
        shown: Mapping[str, str],
        outcomes: Sequence[Outcome],
    ) -> Judgement:
        last = outcomes[-1]
        details = {
            **self._own_details(),
            **shown,
            **rendered.details,
            **call_details(last, cost=self._cost(outcomes)),
            "calls": str(len(outcomes)),
        }
        why = why_no_reply(last)
        if why is not None or not isinstance(last, Reply):
            # An empty reply was asked for once more like any other that has no mark.
            why = f"{UNPARSED}: {why}" if isinstance(last, Reply) else why
            return self._unscored(prediction, why or "there is no reply", details)
        score = read_score(last.text)
        if score is None:
            return self._unscored(prediction, f"{UNPARSED}: {last.text.strip()[:_SHOWN]}", details)
        return Judgement(
            item_id=prediction.item_id,
            predictor=prediction.predictor,
            judge=self.name,
            score=score,
            rationale=last.text.strip(),
            details=details,
        )

    def _wrong_unread(self, prediction: Prediction) -> Judgement:
        """Mark a flood wrong: leaving it unscored would reward whoever floods the judge."""
        return Judgement(
            item_id=prediction.item_id,
            predictor=prediction.predictor,
            judge=self.name,
            score=0,
            rationale=f"The answer has {len(prediction.answer or ''):,} characters; it was not read.",
            details=self._own_details(),
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
        template = self._template
        found = {
            "model": self.model,
            "rubric": self.kind,
            "scale": "ternary",
            "template": f"{template.name}@{template.version}",
            "template_hash": template.hash,
        }
        return found | ({"repeat": str(self.repeat)} if self.repeat else {})

    def _cost(self, outcomes: Sequence[Outcome]) -> int | None:
        prices = [self.price(self.model, outcome) for outcome in outcomes]
        known = [p for p in prices if p is not None]
        return sum(known) if len(known) == len(prices) else None
