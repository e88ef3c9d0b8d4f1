"""What is shown of an item: frames or a clip of its video, made smaller by a stated rule where the provider takes no more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from proctor.evaluate.fitting import change, smaller, too_large
from proctor.evaluate.predict import Task
from proctor.evaluate.showing import ShownFrame, shown_clip, shown_frames
from proctor.evaluate.view import View
from proctor.examples.example import Example
from proctor.llm.limits import Excess
from proctor.llm.media import MediaStore
from proctor.llm.message import Media, Video

__all__ = ["Exhibit", "Exhibitor", "VideoFinder", "step_times"]


class VideoFinder(Protocol):
    """Knows where the videos of recordings are (``proctor.stages.videos.Videos``)."""

    def find(self, recording_id: str, named: str | None = None, *, height: int | None = None) -> Path | None:
        """Return the video of a recording, None when there are no videos at all."""
        ...

    def name(self, path: Path) -> str:
        """Return a video's path as records keep it."""
        ...


@dataclass(frozen=True, slots=True)
class Exhibit:
    """What a system was really shown of an item.

    Attributes:
        view: the view whose rules chose it; smaller than what was asked for where that was too large.
        frames: in order of time.
        clip: in place of frames.
        video: the file's name.
        shrunk: what was made smaller and why, in words; empty when nothing was.
    """

    view: View
    frames: tuple[ShownFrame, ...] = ()
    clip: Video | None = None
    video: str = ""
    shrunk: str = ""

    @property
    def media(self) -> tuple[Media, ...]:
        """What is attached to the prompt, in order."""
        return (self.clip,) if self.clip is not None else tuple(frame.image for frame in self.frames)

    @property
    def details(self) -> dict[str, str]:
        """What a prediction's record says of it, beside the frames."""
        found = {"video": self.video, "shrunk": self.shrunk}
        if self.clip is not None:
            found["seconds"] = f"{self.clip.seconds:.2f}"
        return {name: text for name, text in found.items() if text}


@dataclass(slots=True)
class Exhibitor:
    """Makes exhibits; questions that share a clip share its frames.

    Attributes:
        view: what is to be shown.
        media: where pictures and clips are kept.
        videos: finds the recordings' videos; None where there are none.
        shrink: whether what is too large is made smaller.
    """

    view: View
    media: MediaStore
    videos: VideoFinder | None = None
    shrink: bool = True
    _frames: dict[tuple[object, ...], tuple[ShownFrame, ...]] = field(default_factory=dict)

    def show(
        self, task: Task, example: Example, model: str, check: Callable[[Exhibit], tuple[Excess, ...]]
    ) -> Exhibit:
        """Return what is shown of a task.

        Args:
            task: the question.
            example: whose recording is shown.
            model: who is shown it, for messages.
            check: returns what a request with an exhibit has too much of.

        Raises:
            TooLargeError: if it is too large and must not be shrunk.
            UserError: if there is no video, it cannot be read, or cannot be made small enough.
        """
        if self.videos is not None:
            found = self.videos.find(example.recording_id, example.video, height=self.view.height)
            task = replace(task, video=found)
        provider = model.partition("/")[0]
        exhibit = first = self._made(task, example, self.view)
        why: list[Excess] = []
        while excess := check(exhibit):
            why += excess
            view = smaller(exhibit.view, excess, len(exhibit.frames)) if self.shrink else None
            if view is None:
                raise too_large(provider, excess, where=task.item_id, shrink=self.shrink)
            exhibit = self._made(task, example, view)
        if not why:
            return exhibit
        shown = len(first.frames), len(exhibit.frames)
        return replace(exhibit, shrunk=change(self.view, exhibit.view, shown, provider, why))

    def _made(self, task: Task, example: Example, view: View) -> Exhibit:
        video = "" if task.video is None or self.videos is None else self.videos.name(task.video)
        if view.kind == "video":
            return Exhibit(view, clip=shown_clip(task, view, self.media), video=video)
        steps = step_times(example) if view.sampling == "steps" else ()
        name = (task.video, task.end, view, steps)
        if name not in self._frames:
            self._frames[name] = shown_frames(task, view, self.media, steps)
        return Exhibit(view, frames=self._frames[name], video=video)


def step_times(example: Example) -> tuple[tuple[float, float], ...]:
    """Return start and end (seconds) of the performed steps whose times are known."""
    return tuple(
        (step.start, step.end)
        for step in example.performed
        if step.start is not None and step.end is not None
    )
