"""Sources made of procedures: task graphs, recordings; and questions about them as a corpus has them.

So one corpus holds passages of documents beside what a procedure demands and what somebody really did, and one benchmark mixes
questions of both kinds. What must come before what is a table; so are the times of a recording; what was done is a text.

Ids are ``graph:…`` and ``recording:…`` with the data set's name in front where one is given, so that the
activity ``8`` of two data sets stays two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from proctor.corpus.collection import Corpus, find_image
from proctor.corpus.question import CorpusQuestion, count_modalities
from proctor.corpus.source import Source, image_source, table_source, text_source
from proctor.procedure.graph import TaskGraph
from proctor.procedure.recording import Recording, Segment
from proctor.procedure.showing import shown_graph, shown_text
from proctor.records import Dropped, file_sha256

__all__ = [
    "KINDS",
    "Frame",
    "ItemFacts",
    "graph_source",
    "graph_source_id",
    "is_procedural",
    "questions_from_items",
    "recording_source_id",
    "recording_sources",
]

KINDS: Final = (
    "task_graph",
    "recording_times",
    "recording_steps",
    "recording_scenes",
    "recording_frame",
)
"""Values of ``meta['kind']`` of a source that is made here."""

_CAPTION: Final = 160
"""Characters of a step's text that the caption of its picture takes."""


def is_procedural(source: Source) -> bool:
    """True for sources that are made here.

    Steps are short by nature: the rule on the length of texts (``build_corpus(exempt=is_procedural)``) is one for passages.
    """
    return source.meta.get("kind") in KINDS


# -- task graphs -----------------------------------------------------------------------------------------------


def graph_source_id(activity: str, data_set: str = "") -> str:
    """Return the id of a task graph's table."""
    return _id(data_set, "graph", activity)


def graph_source(graph: TaskGraph, *, data_set: str = "", licence: str | None = None) -> Source:
    """Return a task graph as a table: number, step, and which steps must come directly before it.

    Steps stand in an order in which they can be done; prerequisites that others imply are left out, and start and end are not
    steps.
    """
    lean = shown_graph(graph).transitive_reduction()
    ids = lean.topological_order
    number = {id: n for n, id in enumerate(ids, 1)}
    rows = [
        (
            str(number[id]),
            lean[id].text,
            "; ".join(f"{number[b]} {lean[b].text}" for b in lean.predecessors(id)) or "none",
        )
        for id in ids
    ]
    return table_source(
        graph_source_id(graph.id, data_set),
        graph.name or graph.id,
        ("No.", "Step", "Must come directly before it"),
        rows,
        section="What must come before what",
        doc_id=_id(data_set, "activity", graph.id),
        locator="task graph",
        licence=licence,
        meta={"kind": "task_graph", "activity": graph.id} | _named(data_set),
    )


# -- recordings ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a recording, as somebody has described it.

    Attributes:
        time: seconds.
        caption: what is seen; may be empty where there are pixels.
        image: path of its pixels relative to the corpus folder; empty where they are not kept.
    """

    time: float
    caption: str = ""
    image: str = ""


def recording_source_id(recording: str, part: Literal["steps", "times", "scenes"], data_set: str = "") -> str:
    """Return the id of a recording's text of steps, table of times, or text of frame captions."""
    return _id(data_set, "recording", f"{recording}:{part}")


def recording_sources(
    recording: Recording,
    *,
    frames: Sequence[Frame] = (),
    data_set: str = "",
    root: Path | None = None,
    licence: str | None = None,
) -> Iterator[Source]:
    """Yield what was done (a text), when (a table), and what frames show (a text, and images where there are pixels).

    Only what was performed is told, in the words of what was really done; which of it was a mistake is what questions are about
    and stands nowhere. A recording in which nothing was performed gives neither text nor table.

    Args:
        recording: of an activity.
        frames: with captions, in any order.
        data_set: goes in front of the ids.
        root: the folder that the frames' paths are relative to: those that are there get the hash of their pixels.
        licence: of everything.
    """
    done = sorted(recording.performed, key=lambda s: (s.start is None, s.start or 0.0))
    title = f"{recording.activity_name or recording.activity_id}, recording {recording.id}"
    doc_id = _id(data_set, "recording", recording.id)
    meta = {"activity": recording.activity_id, "recording": recording.id} | _named(data_set)
    if done:
        yield text_source(
            recording_source_id(recording.id, "steps", data_set),
            title,
            "What the person did, in order of time:\n" + "\n".join(map(_told, range(1, len(done) + 1), done)),
            doc_id=doc_id,
            locator="steps",
            licence=licence,
            meta={"kind": "recording_steps"} | meta,
        )
        yield table_source(
            recording_source_id(recording.id, "times", data_set),
            title,
            ("Step", "Start (s)", "End (s)"),
            [
                (shown_text(segment.description), _seconds(segment.start), _seconds(segment.end))
                for segment in done
            ],
            section="When each step was done",
            doc_id=doc_id,
            locator="times",
            licence=licence,
            meta={"kind": "recording_times"} | meta,
        )
    shown = sorted(frames, key=lambda frame: frame.time)
    if captioned := [frame for frame in shown if frame.caption.strip()]:
        yield text_source(
            recording_source_id(recording.id, "scenes", data_set),
            title,
            "What is seen:\n"
            + "\n".join(f"At {_seconds(f.time)} s: {' '.join(f.caption.split())}" for f in captioned),
            doc_id=doc_id,
            locator="scenes",
            licence=licence,
            meta={"kind": "recording_scenes"} | meta,
        )
    for frame in shown:
        if frame.image:
            said = _shortened(frame.caption)
            path = find_image(root, frame.image) if root is not None else None
            yield image_source(
                f"{doc_id}:frame{frame.time:.3f}",
                f"{title}, at {_seconds(frame.time)} s" + (f": {said}" if said else ""),
                frame.image,
                pixels_sha256=file_sha256(path) if isinstance(path, Path) else None,
                doc_id=doc_id,
                locator=f"{_seconds(frame.time)} s",
                licence=licence,
                meta={"kind": "recording_frame"} | meta,
            )


def _told(number: int, segment: Segment) -> str:
    times = (
        f" (from {_seconds(segment.start)} s to {_seconds(segment.end)} s)"
        if segment.start is not None
        else ""
    )
    return f"{number}. {shown_text(' '.join(segment.description.split()))}{times}"


def _seconds(time: float | None) -> str:
    return "" if time is None else f"{time:.1f}"


# -- questions -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFacts:
    """What a corpus has to know of a question of a benchmark of recordings.

    Attributes:
        id: of the question.
        question: as asked.
        answers: that count as right.
        activity: id of the activity.
        recording: id of the recording.
        type: of the question.
        moment: seconds from the start of the recording at which it is asked; None where it is about the whole.
        latest: what was done just before, in words; empty at the very start.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    activity: str
    recording: str
    type: str = ""
    moment: float | None = None
    latest: str = ""


def questions_from_items(
    items: Iterable[ItemFacts], corpus: Corpus, *, data_set: str = "", situated: bool = True
) -> tuple[list[CorpusQuestion], list[Dropped]]:
    """Return questions of a benchmark as questions about a corpus: their gold is the graph and what was done.

    Where the table of times is in the corpus it is further context: it tells nothing that the text of steps does not.

    Args:
        items: the facts of questions; ids unique.
        corpus: with the sources of ``graph_source`` and ``recording_sources``.
        data_set: as given to these.
        situated: say in the question which recording and moment is meant: in a corpus of many recordings "What do I do now?"
            asks for nothing. The question as it was is kept in ``meta``.

    Returns:
        The questions in their order, and those that cannot be asked: a source is not in the corpus.
    """
    questions: list[CorpusQuestion] = []
    dropped: list[Dropped] = []
    for item in items:
        wanted = (
            graph_source_id(item.activity, data_set),
            recording_source_id(item.recording, "steps", data_set),
        )
        golds = [corpus.get(id) for id in wanted]
        if lost := [id for id, gold in zip(wanted, golds, strict=True) if gold is None]:
            dropped.append(Dropped(item.id, "no_source", f"not in the corpus: {', '.join(lost)}"))
            continue
        found = [gold for gold in golds if gold is not None]
        times = corpus.get(recording_source_id(item.recording, "times", data_set))
        meta = {"question": item.question, "activity": item.activity, "recording": item.recording}
        if item.moment is not None:
            meta["moment"] = _seconds(item.moment)
        questions.append(
            CorpusQuestion(
                qid=item.id,
                question=_situated(item, found[1].title) if situated else item.question,
                answers=item.answers,
                gold=tuple(gold.id for gold in found),
                modalities=count_modalities(tuple(gold.modality for gold in found)),
                type=item.type,
                context=(times.id,) if times is not None else (),
                meta=meta | _named(data_set),
            )
        )
    return questions, dropped


def _situated(item: ItemFacts, title: str) -> str:
    after = f"just after this: {_shortened(shown_text(item.latest))}" if item.latest.strip() else ""
    moment = f"at {_seconds(item.moment)} s" if item.moment is not None else ""
    return f"{', '.join(filter(None, (title, moment, after)))} — {item.question}"


# -- shared ----------------------------------------------------------------------------------------------------


def _id(data_set: str, kind: str, name: str) -> str:
    return f"{data_set}/{kind}:{name}" if data_set else f"{kind}:{name}"


def _named(data_set: str) -> dict[str, str]:
    return {"data_set": data_set} if data_set else {}


def _shortened(text: str) -> str:
    """One line, cut at a word."""
    line = " ".join(text.split())
    return line if len(line) <= _CAPTION else line[:_CAPTION].rpartition(" ")[0] + " …"
