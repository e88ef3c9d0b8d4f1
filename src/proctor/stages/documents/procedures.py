"""Workspaces of recordings as part of a corpus: their task graphs and what was done become sources, their items questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from proctor.corpus.collection import Corpus
from proctor.corpus.procedural import ItemFacts, graph_source, questions_from_items, recording_sources
from proctor.corpus.question import CorpusQuestion
from proctor.corpus.source import Source
from proctor.exam.kinds.moment_question import moment_example
from proctor.exam.question import Item, gold_texts
from proctor.records import Dropped
from proctor.stages.inputs import load_items, load_recordings
from proctor.workspace import Workspace, is_there

__all__ = ["iter_procedure_sources", "procedure_questions"]


def iter_procedure_sources(root: Path) -> Iterator[Source]:
    """Yield the sources of a workspace's task graphs and recordings.

    Raises:
        UserError: if it holds none, or they are broken.
    """
    workspace = Workspace(root)
    graphs = workspace.graphs()
    licence = _licence(workspace)
    for name in sorted(graphs):
        yield graph_source(graphs[name], data_set=_data_set(root), licence=licence)
    for recording in load_recordings(workspace, graphs):
        yield from recording_sources(recording, data_set=_data_set(root), licence=licence)


def procedure_questions(roots: Sequence[Path], corpus: Corpus) -> tuple[list[CorpusQuestion], list[Dropped]]:
    """Return the items of workspaces as questions about the corpus, and those whose sources it does not have.

    A workspace without items has no questions.

    Raises:
        UserError: if items are broken.
    """
    questions: list[CorpusQuestion] = []
    dropped: list[Dropped] = []
    for root in roots:
        workspace = Workspace(root)
        if not is_there(workspace.file("items.jsonl")):
            continue
        facts = map(partial(_facts, _data_set(root)), load_items(workspace, workspace.graphs()))
        made, lost = questions_from_items(facts, corpus, data_set=_data_set(root))
        questions += made
        dropped += lost
    return questions, dropped


def _facts(data_set: str, item: Item) -> ItemFacts:
    example = moment_example(item.question)
    return ItemFacts(
        id=f"{data_set}/{item.id}",
        question=item.question.text,
        answers=gold_texts(item),
        activity=example.activity_id,
        recording=example.recording_id,
        type=example.type,
        moment=example.end,
        latest=example.current.text if example.current is not None else "",
    )


def _data_set(root: Path) -> str:
    """Name the workspace in ids: two of them may have recordings of one name."""
    return root.resolve().name


def _licence(workspace: Workspace) -> str | None:
    record = workspace.stages().get("read")
    about = record.counts.get("about", {}) if record is not None else {}
    licence = about.get("licence") if isinstance(about, dict) else None
    return str(licence) if licence else None
