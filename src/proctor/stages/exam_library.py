"""What the items of a run name and do not hold, from the workspace: task graphs, videos, the corpus, rankings, pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from proctor.exam.library import Library
from proctor.exam.question import Footage, Item, Procedure, Source
from proctor.llm.media import MediaStore
from proctor.workspace import Workspace

if TYPE_CHECKING:
    from proctor.exam.retrieval import Ranking

__all__ = ["LACKING", "exam_library"]

LACKING: Final = "source-not-in-corpus"
"""Why a question is no item whose sources the corpus does not have."""


def exam_library(
    workspace: Workspace,
    items: Sequence[Item],
    media: MediaStore,
    *,
    videos: Path | None = None,
    left_out: set[str] | None = None,
) -> Library:
    """Return the library of some items; nothing is read that none of them names.

    Args:
        workspace: that holds it.
        items: of any kinds.
        media: where pictures and clips are kept.
        videos: folder of the recordings' videos; the data set's by default.
        left_out: of a dry run; see ``Library``.

    Raises:
        UserError: if a file is missing or broken.
    """
    parts = [part for item in items for part in item.question.evidence]
    footage = {part.recording for part in parts if isinstance(part, Footage)}
    library = Library(
        media=media,
        graphs=workspace.graphs() if any(isinstance(part, Procedure) for part in parts) else {},
        root=workspace.root,
        published=workspace.published,
        left_out=left_out,
    )
    if footage:
        from proctor.stages.videos import workspace_videos

        library.videos = workspace_videos(workspace, videos, footage)
    if any(isinstance(part, Source) for part in parts):
        _with_corpus(library, workspace, items)
    return library


def _with_corpus(library: Library, workspace: Workspace, items: Sequence[Item]) -> None:
    from proctor.exam.source_showing import CorpusPictures
    from proctor.stages.documents.reading import QUESTION_SETS, corpus_of, find_run, load_questions

    sets = {item.question.provenance.get("set") for item in items}

    @cache
    def rankings(retriever: str) -> Mapping[str, Ranking]:
        found: dict[str, Ranking] = {}
        for which in QUESTION_SETS:
            if which in sets:
                run = find_run(workspace, load_questions(workspace, which), which, retriever)
                found |= {ranking.qid: ranking for ranking in run.rankings}
        return found

    library.corpus = corpus_of(workspace)
    library.picture = CorpusPictures(library.corpus, library.media)
    library.rankings = rankings
