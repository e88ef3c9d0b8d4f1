"""A model as predictor: prompts from tasks, calls through the port, predictions from what became of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from proctor.benchmark.item import Item
from proctor.errors import MissingExtraError, UserError
from proctor.evaluate.answering import call_details, prediction_of, why_no_reply
from proctor.evaluate.exhibit import Exhibit, Exhibitor, VideoFinder
from proctor.evaluate.fitting import TooLargeError
from proctor.evaluate.predict import Task, make_task
from proctor.evaluate.predict_prompt import (
    caption_prompt,
    captions_prompt,
    frames_prompt,
    question_prompt,
    recipe_prompt,
    video_prompt,
)
from proctor.evaluate.prediction import Prediction
from proctor.evaluate.view import View
from proctor.llm.fence import FenceSecret
from proctor.llm.limits import Excess, excesses, takes
from proctor.llm.media import MediaStore
from proctor.llm.message import Parameters, Request
from proctor.llm.outcome import Ask, Failure, Outcome, Reply
from proctor.llm.prompt import PromptSet, Rendered
from proctor.procedure.graph import TaskGraph

__all__ = ["ModelPredictor"]

_Described = tuple[str, str]
"""What is described: the activity, which the describer is told, and the picture's hash. The same picture, such as a black
one, may be described otherwise in another activity."""
_Describe = Callable[[_Described], str | None]
"""From a picture to its description; None where there is none."""
_Answered = Callable[[Sequence[Prediction]], None]

ANSWER_TOKENS = 128
"""Limit of the published predictions; a reply that is longer is cut off, and then no answer."""
CAPTION_TOKENS = 160
PUBLISHED: Final = Parameters(temperature=0.0, max_tokens=ANSWER_TOKENS)
"""Greedy and short, as published."""


@dataclass(frozen=True, slots=True)
class ModelPredictor:
    """A model with a view of the items.

    Attributes:
        model: full name.
        view: what it is shown.
        prompts: templates of the room ``evaluate``.
        secret: of the workspace, for fences.
        media: where pictures and clips are kept.
        graphs: task graph of each activity.
        videos: finds the recordings' videos.
        shrink: what is too large for the provider is shrunk (``proctor.evaluate.fitting``); False makes it an error.
        parameters: of the calls.
        price: nano-dollars of a reply, None when not known.
        context: prompt and reply tokens that a model takes, None when not known.
    """

    model: str
    view: View
    prompts: PromptSet
    secret: FenceSecret
    media: MediaStore
    graphs: Mapping[str, TaskGraph]
    videos: VideoFinder | None = None
    shrink: bool = True
    parameters: Parameters = field(default_factory=lambda: PUBLISHED)
    price: Callable[[str, Outcome], int | None] = field(default=lambda _model, _outcome: None)
    context: Callable[[str], int | None] = field(default=lambda _model: None)

    def __post_init__(self) -> None:
        """Refuse a view that the provider cannot take.

        Raises:
            UserError: for a clip, where no video is taken.
        """
        if self.view.kind == "video" and not takes(self.model, "video/mp4"):
            raise UserError(
                f"{self.model.partition('/')[0]} takes no video.",
                where=self.model,
                hint="show frames (--show frames), or ask a model of google or of a compatible server",
            )

    @property
    def name(self) -> str:
        """Name on the predictions."""
        return f"{self.model} ({self.view.label})"

    def predict(
        self, items: Sequence[Item], ask: Ask, *, interrupted: _Answered | None = None
    ) -> list[Prediction]:
        """Answer items, in their order; items that share a request share its call.

        What a view cannot show (no video, a damaged one) is a failed prediction of that item alone.

        Args:
            items: what to answer.
            ask: makes the calls.
            interrupted: called with the predictions that are there when the run ends early (Ctrl-C, an error), which is
                then raised.

        Raises:
            UserError: if an activity has no task graph, nothing can be asked at all, or something is too large and must
                not be shrunk; the last before anything is sent.
        """
        prepared = self._prepared()
        if not self.shrink:
            for _ in self._all_requests(items, lambda _: "", prepared):
                pass
        outcomes: dict[str, Outcome] = {}
        try:
            captions = self._captions(items, ask, prepared) if self.view.kind == "captions" else {}
            for request, outcome in ask(self._requests(items, captions.get, prepared)):
                outcomes[request.key] = outcome
        except BaseException:
            if interrupted is not None:
                there = [item for item in items if prepared.key_of.get(item.id) in outcomes]
                interrupted([self._prediction(item, outcomes, prepared) for item in there])
            raise
        self._require_a_template_that_works(items, prepared)
        return [self._prediction(item, outcomes, prepared) for item in items]

    def requests(self, items: Sequence[Item]) -> Iterator[Request]:
        """Yield the requests of a run without sending any, for estimates; captions count as unknown texts.

        Raises:
            UserError: as ``predict``, and if none of the items can be shown.
        """
        prepared = self._prepared()
        yield from self._all_requests(items, lambda _: "", prepared)
        if items and len(prepared.failed) == len({item.id for item in items}):
            why = next(iter(prepared.failed.values())).removeprefix("not_shown: ")
            raise UserError(
                f"none of the {len(items):,} questions can be shown: {why}",
                hint="say where the videos are (--videos FOLDER), or show the recipe only (--show recipe)",
            )

    # -- prompts -------------------------------------------------------------------------------------------

    def _prepared(self) -> _Prepared:
        return _Prepared(Exhibitor(self.view, self.media, self.videos, shrink=self.shrink))

    def _all_requests(
        self, items: Sequence[Item], describe: _Describe, prepared: _Prepared
    ) -> Iterator[Request]:
        if self.view.kind == "captions":
            for item in items:
                yield from (request for _, request in self._caption_requests(item, prepared))
        yield from self._requests(items, describe, prepared)

    def _requests(self, items: Sequence[Item], describe: _Describe, prepared: _Prepared) -> Iterator[Request]:
        """Yield every different request once, and note which item has which."""
        waiting: dict[str, int] = defaultdict(int)
        for item in items:
            request = self._request(item, describe, prepared)
            if request is None:
                continue
            key = request.key
            prepared.key_of[item.id] = key
            waiting[key] += 1
            if waiting[key] == 1:
                yield request

    def _request(self, item: Item, describe: _Describe, prepared: _Prepared) -> Request | None:
        task = self._task(item)
        if item.id in prepared.failed:
            return None
        try:
            exhibit = self._exhibit(item, task, prepared)
            rendered = self._rendered(task, exhibit, describe)
        except (TooLargeError, MissingExtraError):  # no matter of one question
            raise
        except UserError as error:
            why = self._undescribed(item, task, prepared)
            prepared.failed[item.id] = why or f"not_shown: {error.message}"
            prepared.errors.append(error)
            return None
        prepared.rendered[item.id] = rendered
        return self._asked(rendered, exhibit)

    def _asked(self, rendered: Rendered, exhibit: Exhibit) -> Request:
        media = () if self.view.kind == "captions" else exhibit.media
        messages = rendered.with_media(media) if media else rendered.messages
        return Request(model=self.model, messages=messages, parameters=self.parameters)

    def _require_a_template_that_works(self, items: Sequence[Item], prepared: _Prepared) -> None:
        """A template that fails for every item is a mistake in the template, and no failure of the model."""
        sources = {self.prompts[name].source for name in self.prompts.names}
        errors = [error for error in prepared.errors if error.where in sources]
        if items and len(errors) == len(items):
            raise errors[0]

    def _task(self, item: Item) -> Task:
        graph = self.graphs.get(item.example.activity_id)
        if graph is None:
            raise UserError(f"the activity '{item.example.activity_id}' has no task graph.", where=item.id)
        return make_task(item, graph)

    def _rendered(self, task: Task, exhibit: Exhibit, describe: _Describe) -> Rendered:
        if self.view.kind == "question":
            return question_prompt(task, self.prompts, self.secret)
        if self.view.kind == "recipe":
            return recipe_prompt(task, self.prompts, self.secret)
        if self.view.kind == "video":
            return video_prompt(task, self.prompts, self.secret)
        frames = exhibit.frames
        times, indices = [f.time for f in frames], [f.index for f in frames]
        if self.view.kind == "frames":
            return frames_prompt(task, self.prompts, self.secret, times=times, indices=indices)
        found = [describe((task.activity_name, frame.image.sha256)) for frame in frames]
        texts = [text for text in found if text is not None]
        if len(texts) < len(frames):
            raise UserError(f"{len(frames) - len(texts)} of {len(frames)} frames could not be described.")
        return captions_prompt(task, self.prompts, self.secret, captions=texts, times=times, indices=indices)

    def _exhibit(self, item: Item, task: Task, prepared: _Prepared) -> Exhibit:
        """Return what is shown of an item, small enough for the provider."""
        if not self.view.sees_video:
            return Exhibit(self.view)
        if item.id not in prepared.exhibits:
            captions = self.view.kind == "captions"
            prepared.exhibits[item.id] = prepared.exhibitor.show(
                task,
                item.example,
                self.view.captioner if captions else self.model,
                lambda exhibit: self._excess(task, exhibit),
            )
        return prepared.exhibits[item.id]

    def _excess(self, task: Task, exhibit: Exhibit) -> tuple[Excess, ...]:
        """Return what the requests that show this have too much of."""
        if self.view.kind == "captions":
            requests = [request for _, request in self._described(task, exhibit)]
        else:
            requests = [self._asked(self._rendered(task, exhibit, lambda _: ""), exhibit)]
        size, context = self.media.size, self.context(requests[0].model)
        return tuple(e for request in requests for e in excesses(request, size=size, context=context))

    # -- captions ------------------------------------------------------------------------------------------

    def _captions(self, items: Sequence[Item], ask: Ask, prepared: _Prepared) -> dict[_Described, str]:
        """Describe every frame once; frames whose description failed are missing in the result."""
        picture: dict[str, _Described] = {}

        def requests() -> Iterator[Request]:
            for item in items:
                for what, request in self._caption_requests(item, prepared):
                    if request.key not in picture:
                        picture[request.key] = what
                        yield request

        found = {}
        for request, outcome in ask(requests()):
            why = why_no_reply(outcome)
            if why is None and isinstance(outcome, Reply):
                found[picture[request.key]] = outcome.text.strip()
            elif why is not None:
                prepared.undescribed[picture[request.key]] = why
        return found

    def _undescribed(self, item: Item, task: Task, prepared: _Prepared) -> str:
        """Return why a frame of an item has no description, with the code of the call that failed; empty if all have one."""
        exhibit = prepared.exhibits.get(item.id)
        frames = exhibit.frames if exhibit is not None and self.view.kind == "captions" else ()
        reasons = [
            why for f in frames if (why := prepared.undescribed.get((task.activity_name, f.image.sha256)))
        ]
        if not reasons:
            return ""
        code, _, message = reasons[0].partition(": ")
        return f"{code}: {len(reasons)} of {len(frames)} frames could not be described, the first: {message}"

    def _caption_requests(self, item: Item, prepared: _Prepared) -> Iterator[tuple[_Described, Request]]:
        task = self._task(item)
        try:
            exhibit = self._exhibit(item, task, prepared)
        except (TooLargeError, MissingExtraError):  # no matter of one question
            raise
        except UserError as error:
            prepared.failed[item.id] = f"not_shown: {error.message}"
            return
        yield from self._described(task, exhibit)

    def _described(self, task: Task, exhibit: Exhibit) -> Iterator[tuple[_Described, Request]]:
        """Yield each frame with the request that has it described."""
        rendered = caption_prompt(self.prompts, self.secret, activity=task.activity_name)
        parameters = Parameters(temperature=0.0, max_tokens=CAPTION_TOKENS)
        for frame in exhibit.frames:
            messages = rendered.with_media([frame.image])
            request = Request(model=self.view.captioner, messages=messages, parameters=parameters)
            yield (task.activity_name, frame.image.sha256), request

    # -- predictions ---------------------------------------------------------------------------------------

    def _prediction(self, item: Item, outcomes: Mapping[str, Outcome], prepared: _Prepared) -> Prediction:
        details = {"model": self.model, "calls": "1", **self.view.details}
        if item.id in prepared.failed:
            return Prediction(
                item_id=item.id, predictor=self.name, failure=prepared.failed[item.id], details=details
            )
        exhibit = prepared.exhibits.get(item.id, Exhibit(self.view))
        details |= exhibit.details
        key = prepared.key_of.get(item.id, "")
        outcome = outcomes.get(key)
        if outcome is None:
            outcome = Failure(kind="cancelled", message="the run ended before it was asked")
        if item.id in prepared.rendered:
            details |= prepared.rendered[item.id].details
        details |= call_details(outcome, cost=self.price(self.model, outcome))
        details["request"] = key[:16]
        frames = [(f.index, f.time) for f in exhibit.frames]
        return prediction_of(item.id, self.name, outcome, frames=frames, details=details)


@dataclass(slots=True)
class _Prepared:
    """What was made of the items on the way."""

    exhibitor: Exhibitor
    exhibits: dict[str, Exhibit] = field(default_factory=dict)
    rendered: dict[str, Rendered] = field(default_factory=dict)
    key_of: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    undescribed: dict[_Described, str] = field(default_factory=dict)
    errors: list[UserError] = field(default_factory=list)
