"""What is known of a question, as lines that one can cite by their ids: filters, verifying models and options work from them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from proctor.errors import UserError
from proctor.exam.question import Part, Picture, Procedure, Question, Source, Words, part_of
from proctor.llm.message import Image

if TYPE_CHECKING:
    from proctor.exam.library import Library
    from proctor.procedure.graph import TaskGraph

__all__ = ["Line", "evidence_lines", "image_of", "procedure_title"]


class Line(NamedTuple):
    """One thing that is known.

    Attributes:
        id: unique among the lines of a question; what is cited.
        text: what is known; may have several lines.
        picture: its pixels, where they are shown beside the text.
        start: seconds, where a rule goes by its time.
        end: seconds, exclusive.
        is_step: it was performed or belongs to the procedure: wrong answers may be made of it.
        note: what is said meanwhile or noted; shown, and never made a wrong answer of.
    """

    id: str
    text: str
    picture: Image | None = None
    start: float | None = None
    end: float | None = None
    is_step: bool = False
    note: str = ""

    @property
    def shown(self) -> str:
        """The line as those who write options and vote on them read it."""
        when = "" if self.start is None or self.end is None else f" ({self.start:g} s to {self.end:g} s)"
        return f"{self.id}{when}: {self.text}{f' [{self.note}]' if self.note else ''}"


def evidence_lines(question: Question, library: Library) -> tuple[Line, ...]:
    """Return what the evidence says: texts, steps of the procedure, sources, pictures; footage says nothing in words.

    Raises:
        UserError: if a task graph or a source is not in the library.
    """
    return tuple(line for part in question.evidence for line in _lines(part, question, library))


def procedure_title(question: Question, library: Library) -> str:
    """Return what the procedure of a question is called, empty where it is about none.

    Raises:
        UserError: if the task graph is not in the library.
    """
    procedure = part_of(question, Procedure)
    if procedure is None:
        return ""
    graph = library.graph(question)
    return procedure.title or graph.name or graph.id


def _lines(part: Part, question: Question, library: Library) -> Iterator[Line]:
    if isinstance(part, Words):
        yield Line(part.id, part.text)
    elif isinstance(part, Procedure):
        yield from _instructions(library.shown_graph(question))
    elif isinstance(part, Source):
        yield _source(part, question, library)
    elif isinstance(part, Picture):
        yield _picture(part, library)


def _instructions(graph: TaskGraph) -> Iterator[Line]:
    before: dict[str, list[str]] = {}
    for earlier, later in graph.edges:
        if earlier != graph.start:
            before.setdefault(later, []).append(earlier)
    for step in graph.actions:
        waits = f" (only after {', '.join(before[step.id])})" if step.id in before else ""
        yield Line(step.id, f"instruction: {step.text}{waits}")


def _source(part: Source, question: Question, library: Library) -> Line:
    from proctor.exam.source_showing import show_source, show_title  # it loads what reads pictures

    source = None if library.corpus is None else library.corpus.get(part.id)
    if source is None:
        raise UserError(f"the source '{part.id}' is not in the corpus.", where=question.id)
    pixels = library.picture(source) if library.picture is not None and source.modality == "image" else None
    if pixels is not None:
        return Line(source.id, f"{show_title(source)} (an attached picture)", pixels)
    return Line(source.id, show_source(source).text)


def _picture(part: Picture, library: Library) -> Line:
    image = image_of(part, library)
    if isinstance(image, Image):
        return Line(part.path, f"{part.caption} (an attached picture)".strip(), image)
    return Line(part.path, f"{part.caption} (a picture that cannot be shown: {image})".strip())


def image_of(part: Picture, library: Library) -> Image | str:
    """Return a picture of the workspace, or why it cannot be shown."""
    from proctor.corpus.collection import find_image  # few questions have pictures, and it loads arrays
    from proctor.corpus.picture import PictureError, read_picture

    file = find_image(library.root, part.path)
    if not isinstance(file, Path):
        return file.detail
    try:
        read = read_picture(file)
    except PictureError as error:
        return f"{error.reason}: {error.detail}"
    return Image(library.media.add(read.data), read.mime, read.width, read.height)
