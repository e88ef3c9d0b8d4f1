"""What questions name and do not hold: task graphs, videos, corpora, pictures. A lack is an error of that question alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from proctor.errors import UserError
from proctor.exam.question import Procedure, Question, part_of
from proctor.llm.fence import FenceSecret
from proctor.llm.media import MediaStore
from proctor.llm.prompt import PromptSet, Rendered
from proctor.procedure.showing import shown_graph

if TYPE_CHECKING:
    from proctor.corpus.collection import Corpus
    from proctor.exam.frames import Frames
    from proctor.exam.retrieval import Ranking
    from proctor.exam.source_showing import FindPicture
    from proctor.procedure.graph import TaskGraph

__all__ = ["Library", "Prompts", "VideoFinder"]


class VideoFinder(Protocol):
    """Knows where the videos of recordings are (``proctor.stages.videos.Videos``)."""

    def find(self, recording_id: str, named: str | None = None, *, height: int | None = None) -> Path | None:
        """Return the video of a recording, None when there are no videos at all."""
        ...

    def name(self, path: Path) -> str:
        """Return a video's path as records keep it."""
        ...


@dataclass(frozen=True, slots=True)
class Prompts:
    """The templates of a room, with the workspace's secret for their fences."""

    templates: PromptSet
    secret: FenceSecret

    def render(self, name: str, limits: Mapping[str, int] | None = None, **values: Any) -> Rendered:
        """Fill a template.

        Raises:
            UserError: if a template of the user's cannot be filled.
        """
        return self.templates[name].render(self.secret, limits=limits or {}, **values)


@dataclass(kw_only=True)
class Library:
    """What a run can look up; questions that share a clip or a picture share what was made of it.

    Attributes:
        media: where pictures and clips are kept.
        graphs: task graph of each procedure.
        videos: finds the recordings' videos; None where there are none.
        corpus: the sources; None where there are none.
        rankings: from the name of a retriever to what it found, by question, for views that show it.
        picture: finds the pixels of a corpus's images; None shows them by words.
        root: folder that paths of pictures are relative to.
        published: prompts show procedures as the published ones do, ``Verb-`` tags and start and end nodes included.
        left_out: of a dry run, takes the recordings whose videos are not here: questions about them are asked without; None for a
            real run.
    """

    media: MediaStore
    graphs: Mapping[str, TaskGraph] = field(default_factory=dict)
    videos: VideoFinder | None = None
    corpus: Corpus | None = None
    rankings: Callable[[str], Mapping[str, Ranking]] = field(default=lambda _retriever: {})
    picture: FindPicture | None = None
    root: Path = Path()
    published: bool = False
    left_out: set[str] | None = None

    @cached_property
    def frames(self) -> Frames:
        """Frames and clips of the videos, each decoded once for all questions."""
        from proctor.exam.frames import Frames  # views without the recording need no video, which is an extra

        return Frames(self.media)

    def graph(self, question: Question) -> TaskGraph:
        """Return the task graph of a question's procedure.

        Raises:
            UserError: if there is none.
        """
        procedure = part_of(question, Procedure)
        found = None if procedure is None else self.graphs.get(procedure.id)
        if found is None:
            name = "" if procedure is None else procedure.id
            raise UserError(f"the activity '{name}' has no task graph.", where=question.id)
        return found

    def shown_graph(self, question: Question) -> TaskGraph:
        """Return the task graph of a question's procedure as models are shown it.

        Raises:
            UserError: if there is none.
        """
        graph = self.graph(question)
        return graph if self.published else shown_graph(graph)
