"""Pictures for a generator's prompts: the procedure drawn, and frames of the recording up to the moment of the question."""

from __future__ import annotations

from proctor.evaluate.exhibit import step_times
from proctor.evaluate.predict import Task
from proctor.evaluate.showing import ShownFrame, shown_frames
from proctor.evaluate.view import View
from proctor.examples.example import Example
from proctor.generate.model_generator import Attached
from proctor.generate.promqa_prompt import TemplateNeeds
from proctor.generate.recipe_picture import draw_procedure
from proctor.llm.media import MediaStore
from proctor.llm.message import Image
from proctor.llm.prompt import frame_labels
from proctor.media.paint import encode_png
from proctor.procedure.graph import TaskGraph
from proctor.records import content_hash
from proctor.stages.videos import Videos

__all__ = ["ExamplePictures"]


class ExamplePictures:
    """Makes the pictures of examples; those that show the same clip share its frames.

    Args:
        media: where pictures are kept.
        view: how many frames, how large, and at which moments.
        videos: finds the recordings' videos.
    """

    def __init__(self, media: MediaStore, view: View, videos: Videos) -> None:
        self._media = media
        self._view = view
        self._videos = videos
        self._frames: dict[tuple[object, ...], tuple[ShownFrame, ...]] = {}

    def __call__(self, example: Example, graph: TaskGraph, needs: TemplateNeeds) -> Attached:
        """Return what a template needs, in its order.

        Raises:
            UserError: if there is no video, nothing lies before the question, or the procedure cannot be drawn.
        """
        images: list[Image] = [self._procedure(graph)] if needs.recipe_image else []
        if not needs.frames:
            return Attached(tuple(images))
        frames = self._frames_of(example, graph)
        labels = frame_labels([f.time for f in frames], [f.index for f in frames])
        return Attached((*images, *(f.image for f in frames)), labels)

    def _procedure(self, graph: TaskGraph) -> Image:
        def encode() -> tuple[bytes, int, int]:
            picture = draw_procedure(graph)
            return encode_png(picture), picture.shape[1], picture.shape[0]

        source = f"procedure {content_hash([[(s.id, s.text) for s in graph.steps], graph.edges])}"
        return self._media.image(source, encode, "image/png")

    def _frames_of(self, example: Example, graph: TaskGraph) -> tuple[ShownFrame, ...]:
        clip = (example.recording_id, example.video, example.end, step_times(example))
        if clip not in self._frames:
            video = self._videos.find(example.recording_id, example.video, height=self._view.height)
            task = Task(example.id, "", example.activity_name, graph, example.end, video)
            self._frames[clip] = shown_frames(task, self._view, self._media, step_times(example))
        return self._frames[clip]
