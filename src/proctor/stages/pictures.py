"""Pictures for a generator's prompts: the procedure drawn, and frames of the recording up to the moment of the question."""

from __future__ import annotations

from proctor.ask.moment.model_generator import Attached
from proctor.ask.moment.promqa_prompt import TemplateNeeds
from proctor.ask.moment.recipe_picture import draw_procedure
from proctor.errors import UserError
from proctor.exam.kinds.example import Example
from proctor.exam.kinds.moment import shown_frames, step_times, video_of
from proctor.exam.library import Library, VideoFinder
from proctor.exam.question import Footage
from proctor.exam.view import View
from proctor.llm.media import MediaStore
from proctor.llm.message import Image
from proctor.llm.prompt import frame_labels
from proctor.procedure.graph import TaskGraph
from proctor.records import content_hash

__all__ = ["ExamplePictures"]


class ExamplePictures:
    """Makes the pictures of examples; those that show the same clip share its frames.

    Args:
        media: where pictures are kept.
        view: how many frames, how large, and at which moments.
        videos: finds the recordings' videos.
        left_out: of a dry run; see ``Library``.
    """

    def __init__(
        self, media: MediaStore, view: View, videos: VideoFinder, left_out: set[str] | None = None
    ) -> None:
        self._view = view
        self._library = Library(media=media, videos=videos, left_out=left_out)

    def __call__(self, example: Example, graph: TaskGraph, needs: TemplateNeeds) -> Attached:
        """Return what a template needs, in its order.

        Raises:
            UserError: if there is no video, nothing lies before the question, or the procedure cannot be drawn.
        """
        images: list[Image] = [self._procedure(graph)] if needs.recipe_image else []
        if not needs.frames:
            return Attached(tuple(images))
        footage = Footage(recording=example.recording_id, end=example.end, video=example.video or "")
        try:
            path = video_of(footage, self._view, self._library, example.id)
        except UserError:
            if self._library.left_out is None:
                raise
            self._library.left_out.add(example.recording_id)
            return Attached(tuple(images), frame_labels([0.0], [0]), complete=False)
        steps = step_times(example)
        frames = shown_frames(self._library, path, example.end, self._view, steps, where=example.id)
        labels = frame_labels([f.time for f in frames], [f.number for f in frames])
        return Attached((*images, *(f.image for f in frames)), labels)

    def _procedure(self, graph: TaskGraph) -> Image:
        from proctor.media.paint import encode_png

        def encode() -> tuple[bytes, int, int]:
            picture = draw_procedure(graph)
            return encode_png(picture), picture.shape[1], picture.shape[0]

        source = f"procedure {content_hash([[(s.id, s.text) for s in graph.steps], graph.edges])}"
        return self._library.media.image(source, encode, "image/png")
