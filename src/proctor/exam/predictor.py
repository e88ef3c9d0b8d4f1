"""A model answers items of any kind: what is shown fits its provider, equal calls are made once, every end has a record.

The kind says what is shown and how it is asked (``proctor.exam.kind``). What cannot be shown is a failed prediction of that
item alone; a reply that is no answer (a refusal, one that was cut off, a failure of the provider) is one, too, and never a 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from proctor.errors import MissingExtraError, UserError
from proctor.exam.fitting import TooLargeError, too_large
from proctor.exam.kind import Answer, Call, Exhibit, Kind, Shown, Talk, TooMuch, Turn, View
from proctor.exam.library import Library, Prompts
from proctor.exam.prediction import Prediction, call_details, total_cost
from proctor.exam.question import Footage, Item, part_of
from proctor.llm.converse import Conversation, converse
from proctor.llm.limits import excesses
from proctor.llm.message import Request
from proctor.llm.model import ModelName
from proctor.llm.outcome import Ask, Outcome, Reply
from proctor.llm.replying import Replying

if TYPE_CHECKING:
    from proctor.exam.function import Function

__all__ = ["ANSWERING", "ModelPredictor"]

ANSWERING: Final = ("answer", "lmm")
"""Roles of the models that answer: the first one, and where it takes no pictures another one for questions that have some."""

_UNASKED: Final = "cancelled: the run ended before it was asked"

V = TypeVar("V", bound=View)
_Answered = Callable[[Sequence[Prediction]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPredictor(Generic[V]):
    """One or several models with a view of the items.

    Attributes:
        kind: of the items.
        view: what is shown, and how it is asked.
        models: full names by role; ``answer`` at least.
        library: what items name and do not hold.
        prompts: templates of the room ``evaluate``.
        replying: what the user says of replies, over the protocol.
        shrink: what is too large for the provider is shrunk (``proctor.exam.fitting``); False makes it an error before
            anything is sent.
        function: that answers in the place of the model of its name.
        price: nano-dollars of a reply, None when not known.
        context: prompt and reply tokens that a model takes, None when not known.
    """

    kind: Kind[V]
    view: V
    models: Mapping[str, str]
    library: Library
    prompts: Prompts
    replying: Replying = field(default_factory=Replying)
    shrink: bool = True
    function: Function | None = None
    price: Callable[[str, Outcome], int | None] = field(default=lambda _model, _outcome: None)
    context: Callable[[str], int | None] = field(default=lambda _model: None)

    @property
    def name(self) -> str:
        """Name on the predictions: the models that answer, and the view."""
        named = dict.fromkeys(self.models[role] for role in ANSWERING if role in self.models)
        return f"{' + '.join(named)} ({self.view.label})"

    def predict(
        self, items: Sequence[Item], ask: Ask, *, interrupted: _Answered | None = None
    ) -> list[Prediction]:
        """Answer items, in their order; one prediction for each turn of the kind.

        Args:
            items: what to answer.
            ask: makes the calls; equal ones are made once.
            interrupted: called with the predictions that are there when the run ends early (Ctrl-C, an error), which is
                then raised.

        Raises:
            UserError: if two items have one id, a template of the user's never works, or something is too large and must not be
                shrunk.
        """
        run = _Run(self, items)
        if not self.shrink:
            for asked in run.asked:
                run.open(asked)
            run.errors.clear()
        done: dict[str, Prediction] = {}
        try:
            for name, made in converse(((a.name, run.talk(a)) for a in run.asked), ask, known={}):
                done[name] = made  # noqa: PERF403 - what is there so far has to be kept when the run ends early
        except BaseException:
            if interrupted is not None:
                interrupted([done[asked.name] for asked in run.asked if asked.name in done])
            raise
        run.require_a_template_that_works()
        return [done.get(asked.name) or run.failed(asked, _UNASKED) for asked in run.asked]

    def requests(self, items: Sequence[Item]) -> Iterator[Request]:
        """Yield every different request without sending any, for estimates; replies that others need are assumed.

        Raises:
            UserError: as ``predict``, and if none of the items can be shown.
        """
        run = _Run(self, items)
        seen: set[str] = set()
        for asked in run.asked:
            for request in run.foreseen(asked):
                if request.key not in seen:
                    seen.add(request.key)
                    yield request
        if run.asked and len(run.errors) == len(run.asked):
            first = run.errors[0]
            raise UserError(
                f"none of the {len(items):,} questions can be shown: {first.message}", hint=first.hint
            )


class _Asked(NamedTuple):
    """An item in one of its turns."""

    item: Item
    turn: Turn

    @property
    def name(self) -> str:
        return f"{self.item.id}\n{self.turn.name}"


class _Opened(NamedTuple):
    """A talk that has begun: what is shown fits, and the first calls are there."""

    exhibit: Exhibit
    talk: Talk
    calls: tuple[Call, ...]
    single: bool


class _Run(Generic[V]):
    """One run over items."""

    def __init__(self, who: ModelPredictor[V], items: Sequence[Item]) -> None:
        self.who = who
        for model in who.models.values():
            ModelName.parse(model)  # a name that is none is no matter of one item
        for item in items:
            who.kind.check(item, who.library)
        self.asked = [_Asked(item, turn) for item in items for turn in who.kind.turns(item, who.view)]
        if len({asked.name for asked in self.asked}) < len(self.asked):
            raise UserError("two questions have the same id.", hint="ids must be unique")
        self.errors: list[UserError] = []
        self._assumed: dict[str, str] = {}

    # -- what is asked -------------------------------------------------------------------------------------

    def open(self, asked: _Asked) -> _Opened | Prediction:
        """Begin to ask: make what is shown smaller until the first calls fit. A prediction where nothing is to be asked."""
        who, item = self.who, asked.item
        try:
            exhibits = who.kind.exhibits(item, who.view, who.library)
            exhibit = next(exhibits)
            while True:
                if exhibit.failure is not None:
                    return self.failed(asked, exhibit.failure)
                talk = who.kind.talk(item, asked.turn, exhibit, who.view, who.library, who.prompts)
                try:
                    said = next(talk)
                except StopIteration as end:
                    return self._prediction(asked, exhibit, end.value, [])
                calls = (said,) if isinstance(said, Call) else said
                much = self._excess(calls, asked, exhibit) if exhibit.media else None
                if much is None:
                    return _Opened(exhibit, talk, calls, isinstance(said, Call))
                talk.close()
                if not who.shrink:
                    raise _too_large(much, asked, shrink=False)
                try:
                    exhibit = exhibits.send(much)
                except StopIteration:
                    raise _too_large(much, asked, shrink=True) from None
        except (TooLargeError, MissingExtraError):  # no matter of one question
            raise
        except UserError as error:
            return self._without_footage(asked) or self._not_shown(asked, error)

    def _without_footage(self, asked: _Asked) -> _Opened | None:
        """Begin to ask without what is shown of the recording, in a dry run that has not got it."""
        who, footage = self.who, part_of(asked.item.question, Footage)
        if who.library.left_out is None or footage is None:
            return None
        exhibit = Exhibit((Shown(time=0.0),))
        talk = who.kind.talk(asked.item, asked.turn, exhibit, who.view, who.library, who.prompts)
        try:
            said = next(talk)
        except (UserError, StopIteration):
            return None
        who.library.left_out.add(footage.recording)
        return _Opened(exhibit, talk, (said,) if isinstance(said, Call) else said, isinstance(said, Call))

    def _excess(self, calls: Sequence[Call], asked: _Asked, exhibit: Exhibit) -> TooMuch | None:
        size, context = self.who.library.media.size, self.who.context
        requests = [self._request(call, asked, exhibit) for call in calls]
        found = tuple(e for r in requests for e in excesses(r, size=size, context=context(r.model)))
        return TooMuch(requests[0].model, found) if found else None

    def _request(self, call: Call, asked: _Asked, exhibit: Exhibit) -> Request:
        models, function = self.who.models, self.who.function
        model = models.get(call.role) or models["answer"]
        if function is not None and model == function.name:
            from proctor.exam.function import function_request

            return function_request(function, asked.item, asked.turn, exhibit, self.who.view.label, call)
        role = "predictor" if call.role in ANSWERING else call.role
        parameters = self.who.replying.over(call.parameters, model, role)
        return Request(model=model, messages=call.messages, parameters=parameters, draw=call.draw)

    # -- the conversation ----------------------------------------------------------------------------------

    def talk(self, asked: _Asked) -> Conversation[Prediction]:
        """Ask an item in one turn."""
        opened = self.open(asked)
        if isinstance(opened, Prediction):
            return opened
        exhibit, talk, calls, single = opened
        made: list[tuple[Request, Outcome]] = []
        while True:
            requests = [self._request(call, asked, exhibit) for call in calls]
            self._assumed |= {r.key: c.assume for r, c in zip(requests, calls, strict=True) if c.assume}
            outcomes = yield tuple(requests)
            told = zip(calls, requests, outcomes, strict=True)
            made += [(request, outcome) for call, request, outcome in told if not call.shared]
            try:
                said: Any = talk.send(outcomes[0] if single else outcomes)
            except StopIteration as end:
                return self._prediction(asked, exhibit, end.value, made)
            except UserError as error:
                return self._not_shown(asked, error)
            single = isinstance(said, Call)
            calls = (said,) if single else said

    def foreseen(self, asked: _Asked) -> Iterator[Request]:
        """Yield the requests of an item in one turn, going on with assumed replies."""
        talk = self.talk(asked)
        try:
            said: Any = next(talk)
            while True:
                yield from said
                said = talk.send(tuple(Reply(text=self._assumed.get(r.key, "")) for r in said))
        except StopIteration:
            return

    # -- records -------------------------------------------------------------------------------------------

    def _prediction(
        self, asked: _Asked, exhibit: Exhibit, answer: Answer, made: Sequence[tuple[Request, Outcome]]
    ) -> Prediction:
        if answer.failure is not None and not made:
            return self.failed(asked, answer.failure)
        frames = [piece for piece in exhibit.pieces if piece.time is not None]
        details = {
            **self._own_details(asked),
            **exhibit.details,
            **answer.details,
        }
        if made:
            last, outcome = made[-1]
            details |= {"model": last.model, "calls": str(len(made)), "request": last.key[:16]}
            details |= call_details(outcome, cost=total_cost(((r.model, o) for r, o in made), self.who.price))
        return Prediction(
            item_id=asked.item.id,
            predictor=self.who.name,
            answer=answer.text,
            failure=answer.failure,
            frame_indices=tuple(frame.number for frame in frames),
            frame_times=tuple(frame.time for frame in frames if frame.time is not None),
            details=details,
        )

    def failed(self, asked: _Asked, why: str) -> Prediction:
        """Return the record of an item of which nothing was asked."""
        return Prediction(
            item_id=asked.item.id, predictor=self.who.name, failure=why, details=self._own_details(asked)
        )

    def _not_shown(self, asked: _Asked, error: UserError) -> Prediction:
        self.errors.append(error)
        return self.failed(asked, f"not_shown: {error.message}")

    def _own_details(self, asked: _Asked) -> dict[str, str]:
        model = self.who.models["answer"]
        return {"model": model, "calls": "0", **self.who.view.details, **asked.turn.details}

    def require_a_template_that_works(self) -> None:
        """Raise the error of a template that failed every time: a mistake in it, and no failure of the model.

        Raises:
            UserError: that one.
        """
        templates = self.who.prompts.templates
        sources = {templates[name].source for name in templates.names}
        wrong = [error for error in self.errors if error.where in sources]
        if self.asked and len(wrong) == len(self.asked):
            raise wrong[0]


def _too_large(much: TooMuch, asked: _Asked, *, shrink: bool) -> UserError:
    return too_large(much.model.partition("/")[0], much.excess, where=asked.item.id, shrink=shrink)
