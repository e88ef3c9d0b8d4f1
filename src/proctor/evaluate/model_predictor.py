"""A model as predictor: prompts from tasks, calls through the port, predictions from what became of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from proctor.benchmark.item import Item
from proctor.errors import UserError
from proctor.evaluate.answering import call_details, prediction_of, why_no_reply
from proctor.evaluate.predict import Task, make_task
from proctor.evaluate.predict_prompt import (
    caption_prompt,
    captions_prompt,
    frames_prompt,
    question_prompt,
    recipe_prompt,
)
from proctor.evaluate.prediction import Prediction
from proctor.evaluate.view import ShownFrame, View, shown_frames
from proctor.examples.example import Example
from proctor.llm.fence import FenceSecret
from proctor.llm.media import MediaStore
from proctor.llm.message import Image, Parameters, Request
from proctor.llm.outcome import Ask, Failure, Outcome, Reply
from proctor.llm.prompt import PromptSet, Rendered
from proctor.procedure.graph import TaskGraph

__all__ = ["ModelPredictor"]

_Describe = Callable[[str], str | None]
"""From a picture's hash to its description; None where there is none."""

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
        media: where pictures are kept.
        graphs: task graph of each activity.
        find_video: returns where the video of an example's recording is, None when it has none.
        parameters: of the calls.
        price: nano-dollars of a reply, None when not known.
    """

    model: str
    view: View
    prompts: PromptSet
    secret: FenceSecret
    media: MediaStore
    graphs: Mapping[str, TaskGraph]
    find_video: Callable[[Example], Path | None] = field(default=lambda _example: None)
    parameters: Parameters = field(default_factory=lambda: PUBLISHED)
    price: Callable[[str, Outcome], int | None] = field(default=lambda _model, _outcome: None)

    @property
    def name(self) -> str:
        """Name on the predictions."""
        return f"{self.model} ({self.view.label})"

    def predict(self, items: Sequence[Item], ask: Ask) -> list[Prediction]:
        """Answer items, in their order; items that share a request share its call.

        What a view cannot show (no video, a damaged one) is a failed prediction of that item alone.

        Args:
            items: what to answer.
            ask: makes the calls.

        Raises:
            UserError: if an activity has no task graph, or nothing can be asked at all.
        """
        prepared = _Prepared()
        captions = self._captions(items, ask, prepared) if self.view.kind == "captions" else {}
        describe = captions.get
        outcomes: dict[str, Outcome] = {}
        waiting: dict[str, int] = defaultdict(int)

        def requests() -> Iterator[Request]:
            for item in items:
                request = self._request(item, describe, prepared)
                if request is None:
                    continue
                key = request.key
                prepared.key_of[item.id] = key
                waiting[key] += 1
                if waiting[key] == 1:
                    yield request

        for request, outcome in ask(requests()):
            outcomes[request.key] = outcome
        return [self._prediction(item, outcomes, prepared) for item in items]

    def requests(self, items: Sequence[Item]) -> Iterator[Request]:
        """Yield the requests of a run without sending any, for estimates; captions count as unknown texts."""
        prepared = _Prepared()
        for item in items:
            if self.view.kind == "captions":
                yield from (r for _, r in self._caption_requests(item, prepared))
            request = self._request(item, lambda _: "", prepared)
            if request is not None:
                yield request

    # -- prompts -------------------------------------------------------------------------------------------

    def _request(self, item: Item, describe: _Describe, prepared: _Prepared) -> Request | None:
        task = self._task(item)
        try:
            rendered, media = self._rendered(item, task, describe, prepared)
        except UserError as error:
            prepared.failed[item.id] = f"not_shown: {error.message}"
            return None
        prepared.rendered[item.id] = rendered
        messages = rendered.with_media(media) if media else rendered.messages
        return Request(model=self.model, messages=messages, parameters=self.parameters)

    def _task(self, item: Item) -> Task:
        graph = self.graphs.get(item.example.activity_id)
        if graph is None:
            raise UserError(f"the activity '{item.example.activity_id}' has no task graph.", where=item.id)
        return make_task(item, graph)

    def _rendered(
        self, item: Item, task: Task, describe: _Describe, prepared: _Prepared
    ) -> tuple[Rendered, list[Image]]:
        if self.view.kind == "question":
            return question_prompt(task, self.prompts, self.secret), []
        if self.view.kind == "recipe":
            return recipe_prompt(task, self.prompts, self.secret), []
        frames = self._frames(item, task, prepared)
        times, indices = [f.time for f in frames], [f.index for f in frames]
        if self.view.kind == "frames":
            rendered = frames_prompt(task, self.prompts, self.secret, times=times, indices=indices)
            return rendered, [f.image for f in frames]
        texts = [text for f in frames if (text := describe(f.image.sha256)) is not None]
        if len(texts) < len(frames):
            raise UserError(f"{len(frames) - len(texts)} of {len(frames)} frames could not be described.")
        rendered = captions_prompt(
            task, self.prompts, self.secret, captions=texts, times=times, indices=indices
        )
        return rendered, []

    def _frames(self, item: Item, task: Task, prepared: _Prepared) -> tuple[ShownFrame, ...]:
        if task.item_id not in prepared.frames:
            task = replace(task, video=self.find_video(item.example))
            prepared.frames[task.item_id] = shown_frames(task, self.view, self.media)
        return prepared.frames[task.item_id]

    # -- captions ------------------------------------------------------------------------------------------

    def _captions(self, items: Sequence[Item], ask: Ask, prepared: _Prepared) -> dict[str, str]:
        """Describe every frame once; frames whose description failed are missing in the result."""
        picture: dict[str, str] = {}

        def requests() -> Iterator[Request]:
            for item in items:
                for sha256, request in self._caption_requests(item, prepared):
                    if request.key not in picture:
                        picture[request.key] = sha256
                        yield request

        found = {}
        for request, outcome in ask(requests()):
            if why_no_reply(outcome) is None and isinstance(outcome, Reply):
                found[picture[request.key]] = outcome.text.strip()
        return found

    def _caption_requests(self, item: Item, prepared: _Prepared) -> Iterator[tuple[str, Request]]:
        task = self._task(item)
        try:
            frames = self._frames(item, task, prepared)
        except UserError as error:
            prepared.failed[item.id] = f"not_shown: {error.message}"
            return
        rendered = caption_prompt(self.prompts, self.secret, activity=task.activity_name)
        parameters = Parameters(temperature=0.0, max_tokens=CAPTION_TOKENS)
        for frame in frames:
            messages = rendered.with_media([frame.image])
            yield (
                frame.image.sha256,
                Request(model=self.view.captioner, messages=messages, parameters=parameters),
            )

    # -- predictions ---------------------------------------------------------------------------------------

    def _prediction(self, item: Item, outcomes: Mapping[str, Outcome], prepared: _Prepared) -> Prediction:
        frames = [(f.index, f.time) for f in prepared.frames.get(item.id, ())]
        details = {"model": self.model, "calls": "1", **self.view.details}
        if item.id in prepared.failed:
            return Prediction(
                item_id=item.id, predictor=self.name, failure=prepared.failed[item.id], details=details
            )
        outcome = outcomes.get(prepared.key_of[item.id])
        if outcome is None:
            outcome = Failure(kind="cancelled", message="the run ended before it was asked")
        details |= prepared.rendered[item.id].details
        details |= call_details(outcome, cost=self.price(self.model, outcome))
        details["request"] = prepared.key_of[item.id][:16]
        return prediction_of(item.id, self.name, outcome, frames=frames, details=details)


@dataclass(slots=True)
class _Prepared:
    """What was made of the items on the way."""

    frames: dict[str, tuple[ShownFrame, ...]] = field(default_factory=dict)
    rendered: dict[str, Rendered] = field(default_factory=dict)
    key_of: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
