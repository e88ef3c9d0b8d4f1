"""A model that answers questions about clips: with options, in one of four styles, or open-ended.

InstructionBench's supplement. One call a question, or one a rotation of its options (circular evaluation). A reply is
kept as the prediction's answer, with the letter that was read, the rule that read it and the order of the options. A question whose
call failed, that was refused by the provider, or whose clip cannot be shown is a failed prediction; a reply without a letter is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from proctor.errors import MissingExtraError, UserError
from proctor.evaluate.answering import call_details, why_no_reply
from proctor.evaluate.choice_order import Order, rotations, shown_order, spell_order
from proctor.evaluate.choice_prompt import (
    STYLES,
    ChoicePrompt,
    ChoiceStyle,
    choice_prompt,
    open_prompt,
    text_prompt,
)
from proctor.evaluate.choice_reading import read_choice
from proctor.evaluate.clip_frames import ClipExhibit, ClipExhibitor
from proctor.evaluate.clip_question import ClipQuestion
from proctor.evaluate.clip_view import ClipView
from proctor.evaluate.exhibit import VideoFinder
from proctor.evaluate.fitting import TooLargeError
from proctor.evaluate.prediction import Prediction
from proctor.llm.fence import FenceSecret
from proctor.llm.limits import Excess, excesses
from proctor.llm.media import MediaStore
from proctor.llm.message import Parameters, Request
from proctor.llm.outcome import Ask, Failure, Outcome, Reply, Truncated
from proctor.llm.prompt import PromptSet
from proctor.metrics.choice import PARSER

__all__ = ["ANSWER", "CHOICE", "ChoicePredictor"]

CHOICE: Final = Parameters(temperature=0.0, max_tokens=64)
"""Parameters where a letter is asked for [R]: greedy; room for a few words more than the letter."""
ANSWER: Final = Parameters(temperature=0.0, max_tokens=128)
"""Parameters of open-ended answers [R]."""

_Answered = Callable[[Sequence[Prediction]], None]


@dataclass(frozen=True, slots=True)
class ChoicePredictor:
    """A model with a view of clips.

    Attributes:
        model: full name.
        view: what it is shown.
        prompts: templates of the room ``evaluate``.
        secret: of the workspace, for fences.
        media: where pictures are kept.
        videos: finds the clips' videos.
        style: of the prompts that go with pictures; text-only views have one of their own.
        seed: shuffles the options of each question; None shows them as printed.
        circular: asks every rotation of the options.
        shrink: what is too large for the provider is shrunk; False makes it an error.
        parameters: of the calls; None takes ``CHOICE``, and ``ANSWER`` for questions without options.
        price: nano-dollars of a reply, None when not known.
        context: prompt and reply tokens that a model takes, None when not known.

    Raises:
        UserError: for a style that is none.
    """

    model: str
    view: ClipView
    prompts: PromptSet
    secret: FenceSecret
    media: MediaStore
    videos: VideoFinder | None = None
    style: ChoiceStyle = "d"
    seed: int | None = None
    circular: bool = False
    shrink: bool = True
    parameters: Parameters | None = None
    price: Callable[[str, Outcome], int | None] = field(default=lambda _model, _outcome: None)
    context: Callable[[str], int | None] = field(default=lambda _model: None)

    def __post_init__(self) -> None:
        """Refuse a style that is none before anything is asked."""
        if self.style not in STYLES:
            raise UserError(f"{self.style!r} is no style of prompts.", hint=f"choose of {', '.join(STYLES)}")

    @property
    def name(self) -> str:
        """Name on the predictions: the model, what it is shown, and all that changes how it is asked."""
        parts = [self.view.label]
        if self.view.kind == "frames":
            parts.append(f"style {self.style}")
        if self.seed is not None:
            parts.append(f"shuffled {self.seed}")
        if self.circular:
            parts.append("circular")
        return f"{self.model} ({', '.join(parts)})"

    def predict(
        self, questions: Sequence[ClipQuestion], ask: Ask, *, interrupted: _Answered | None = None
    ) -> list[Prediction]:
        """Answer questions, in their order; with ``circular`` one prediction a rotation.

        Args:
            questions: what to answer.
            ask: makes the calls; calls that are the same are made once.
            interrupted: called with the predictions that are there when the run ends early, which is then raised.

        Raises:
            UserError: if a template of the user's never works, or something is too large and must not be shrunk.
        """
        run = _Run(self, [turn for q in questions for turn in self._turns(q)])
        if not self.shrink:
            for _ in run.requests():
                pass
        outcomes: dict[str, Outcome] = {}
        try:
            for request, outcome in ask(run.requests()):
                outcomes[request.key] = outcome
        except BaseException:
            if interrupted is not None:
                interrupted([run.prediction(t, outcomes) for t in run.turns if run.key(t) in outcomes])
            raise
        run.require_a_template_that_works()
        return [run.prediction(turn, outcomes) for turn in run.turns]

    def requests(self, questions: Sequence[ClipQuestion]) -> Iterator[Request]:
        """Yield every different request without sending any, for estimates.

        Raises:
            UserError: as ``predict``, and if none of the questions can be shown.
        """
        run = _Run(self, [turn for q in questions for turn in self._turns(q)])
        yield from run.requests()
        if run.turns and len(run.failed) == len(run.turns):
            why = next(iter(run.failed.values())).removeprefix("not_shown: ")
            raise UserError(f"none of the {len(questions):,} questions can be shown: {why}")

    def _turns(self, question: ClipQuestion) -> Iterator[_Turn]:
        if not question.options:
            yield _Turn(question, (), 0)
            return
        order = shown_order(question, self.seed)
        for number, turned in enumerate(rotations(order) if self.circular else (order,)):
            yield _Turn(question, turned, number)


@dataclass(frozen=True, slots=True)
class _Turn:
    """A question with the order in which its options are shown."""

    question: ClipQuestion
    order: Order
    rotation: int

    @property
    def name(self) -> tuple[str, int]:
        return self.question.id, self.rotation


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a record needs of a prompt that was made."""

    key: str
    exhibit: ClipExhibit
    details: Mapping[str, str]
    opened_bracket: bool


class _Run:
    """What was made of the questions on the way."""

    def __init__(self, who: ChoicePredictor, turns: Sequence[_Turn]) -> None:
        self.who = who
        self.turns = turns
        self.failed: dict[tuple[str, int], str] = {}
        self._asked: dict[tuple[str, int], _Asked] = {}
        self._errors: list[UserError] = []
        self._exhibitor = ClipExhibitor(who.view, who.media, who.videos, who.shrink)

    def key(self, turn: _Turn) -> str:
        """Return the key of a turn's request, empty when there is none."""
        asked = self._asked.get(turn.name)
        return "" if asked is None else asked.key

    def requests(self) -> Iterator[Request]:
        """Yield every different request once, and note which turn has which."""
        seen: set[str] = set()
        for turn in self.turns:
            request = self._request(turn)
            if request is not None and request.key not in seen:
                seen.add(request.key)
                yield request

    def _request(self, turn: _Turn) -> Request | None:
        question, who = turn.question, self.who
        try:
            exhibit = self._exhibitor.show(
                question.clip, who.model, lambda made: self._excess(turn, made), where=question.id
            )
            prompt = self._prompt(turn, exhibit)
        except (TooLargeError, MissingExtraError):  # no matter of one question
            raise
        except UserError as error:
            self.failed[turn.name] = f"not_shown: {error.message}"
            self._errors.append(error)
            return None
        request = self._made(turn, prompt, exhibit)
        self._asked[turn.name] = _Asked(request.key, exhibit, prompt.rendered.details, prompt.opened_bracket)
        return request

    def _made(self, turn: _Turn, prompt: ChoicePrompt, exhibit: ClipExhibit) -> Request:
        parameters = self.who.parameters or (CHOICE if turn.question.options else ANSWER)
        pictures = [frame.image for frame in exhibit.frames]
        return Request(model=self.who.model, messages=prompt.messages(pictures), parameters=parameters)

    def _prompt(self, turn: _Turn, exhibit: ClipExhibit) -> ChoicePrompt:
        who, question = self.who, turn.question
        frames, steps = len(exhibit.frames), who.view.kind == "steps"
        if not question.options:
            return open_prompt(question, who.prompts, who.secret, frames=frames, steps=steps)
        if who.view.kind == "frames":
            return choice_prompt(question, turn.order, who.style, who.prompts, who.secret, frames=frames)
        return text_prompt(question, turn.order, who.prompts, who.secret, steps=steps)

    def _excess(self, turn: _Turn, exhibit: ClipExhibit) -> tuple[Excess, ...]:
        request = self._made(turn, self._prompt(turn, exhibit), exhibit)
        return excesses(request, size=self.who.media.size, context=self.who.context(self.who.model))

    def require_a_template_that_works(self) -> None:
        """Raise the error of a template that failed for every question: a mistake in it, and no failure of the model.

        Raises:
            UserError: that one.
        """
        sources = {self.who.prompts[name].source for name in self.who.prompts.names}
        wrong = [error for error in self._errors if error.where in sources]
        if self.turns and len(wrong) == len(self.turns):
            raise wrong[0]

    def prediction(self, turn: _Turn, outcomes: Mapping[str, Outcome]) -> Prediction:
        """Return what became of a turn."""
        details = {"model": self.who.model, "calls": "1", **self.who.view.details, **self._way(turn)}
        asked = self._asked.get(turn.name)
        if asked is None:
            why = self.failed.get(turn.name, "cancelled: the run ended before it was asked")
            return self._record(turn, None, why, ClipExhibit(), {**details, "calls": "0"})
        outcome = outcomes.get(asked.key)
        if outcome is None:
            outcome = Failure(kind="cancelled", message="the run ended before it was asked")
        details |= asked.exhibit.details | dict(asked.details)
        details |= call_details(outcome, cost=self.who.price(self.who.model, outcome))
        details["request"] = asked.key[:16]
        answer, failure = _answer(outcome, has_options=bool(turn.question.options))
        if answer is not None and turn.question.options:
            details |= _choice_details(turn, answer, asked, cut_off=isinstance(outcome, Truncated))
        return self._record(turn, answer, failure, asked.exhibit, details)

    def _way(self, turn: _Turn) -> dict[str, str]:
        found: dict[str, str] = {}
        if self.who.view.kind == "frames" and turn.question.options:
            found["style"] = self.who.style
        if turn.question.options:
            found["order"] = spell_order(turn.order)
        if self.who.circular and turn.question.options:
            found["rotation"] = str(turn.rotation)
        return found

    def _record(
        self,
        turn: _Turn,
        answer: str | None,
        failure: str | None,
        exhibit: ClipExhibit,
        details: Mapping[str, str],
    ) -> Prediction:
        return Prediction(
            item_id=turn.question.id,
            predictor=self.who.name,
            answer=answer,
            failure=failure,
            frame_indices=tuple(frame.index for frame in exhibit.frames),
            frame_times=tuple(frame.time for frame in exhibit.frames),
            details=dict(details),
        )


def _answer(outcome: Outcome, *, has_options: bool) -> tuple[str | None, str | None]:
    """Return answer and failure: of a question with options, an empty and a cut-off reply are answers without a letter."""
    if has_options and isinstance(outcome, Reply | Truncated):
        return outcome.text.strip(), None
    failure = why_no_reply(outcome)
    if failure is None and isinstance(outcome, Reply):
        return outcome.text.strip(), None
    return None, failure


def _choice_details(turn: _Turn, answer: str, asked: _Asked, *, cut_off: bool) -> dict[str, str]:
    choice = read_choice(
        answer, turn.question, turn.order, opened_bracket=asked.opened_bracket, cut_off=cut_off
    )
    found = {
        "letter": choice.printed or "",
        "shown_letter": choice.shown or "",
        "rule": choice.rule,
        "parser": PARSER,
    }
    found |= {"bracket": "opened"} if asked.opened_bracket else {}
    return found | ({"cut_off": "yes"} if cut_off else {})
