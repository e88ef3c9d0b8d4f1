"""What the stages of documents wrote, read again without what makes it: the corpus, questions, rankings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, get_args

import msgspec

from proctor.corpus.question import CorpusQuestion
from proctor.errors import UserError, did_you_mean
from proctor.exam.kinds.documents_question import as_asked, corpus_question, document_facts, gold_of
from proctor.exam.question import Question
from proctor.records import content_hash, is_there, read_json, read_jsonl
from proctor.workspace import Workspace

if TYPE_CHECKING:
    from proctor.corpus.collection import Corpus
    from proctor.exam.retrieval import Ranking, RetrievalRun

__all__ = [
    "CORPUS",
    "QUESTIONS",
    "QUESTION_FILES",
    "QUESTION_SETS",
    "RETRIEVAL",
    "WRITTEN",
    "RunNote",
    "asked_hash",
    "corpus_of",
    "find_run",
    "fits",
    "left_out",
    "load_questions",
    "load_written",
    "questions_in",
    "questions_of",
    "run_name",
    "run_names",
]

CORPUS: Final = "corpus"
"""Folder of the corpus in a workspace."""
QUESTIONS: Final = "questions.jsonl"
"""Questions that came with the data, in the workspace."""
WRITTEN: Final = "documents.jsonl"
"""Accepted questions, in the workspace."""
RETRIEVAL: Final = "retrieval"
"""Folder of rankings and tables in a workspace, one folder for each set of questions."""

QuestionSet = Literal["styled", "data"]
"""``styled``: what was generated; ``data``: what came with the data set, and items of workspaces of recordings."""
QUESTION_SETS: Final[tuple[QuestionSet, ...]] = get_args(QuestionSet)
QUESTION_FILES: Final[Mapping[str, str]] = {"styled": WRITTEN, "data": QUESTIONS}
"""Where each set is, in the workspace."""


def corpus_of(workspace: Workspace) -> Corpus:
    """Return the corpus of a workspace.

    Raises:
        UserError: naming the command that makes it, or if it is broken.
    """
    from proctor.corpus.collection import load_corpus

    return load_corpus(workspace.require(CORPUS))


def questions_of(workspace: Workspace) -> list[CorpusQuestion]:
    """Return the questions that came with the data; none where there are none."""
    path = workspace.file(QUESTIONS)
    return read_jsonl(path, CorpusQuestion) if is_there(path) else []


def load_written(workspace: Workspace) -> list[Question]:
    """Return the accepted questions of a workspace.

    Raises:
        UserError: naming the command that makes them.
    """
    path = workspace.require(WRITTEN)
    questions: list[Question] = read_jsonl(path, Question)
    for question in questions:
        try:
            document_facts(question)
        except msgspec.ValidationError as error:
            raise UserError(
                f"its facts are none of documents: {error}.", where=f"{path}: {question.id}"
            ) from None
        if not (
            question.proposals and gold_of(question) and {"style", "combination"} <= question.facets.keys()
        ):
            raise UserError(
                "the question lacks an answer, sources, a style or their combination.",
                where=f"{path}: {question.id}",
            )
    return questions


# -- sets of questions ---------------------------------------------------------------------------------------------


def questions_in(workspace: Workspace, which: QuestionSet) -> list[Question]:
    """Return the questions of a set, as an exam asks them; none where there are none.

    Of the data set's questions those are left out whose gold is not known completely: their recall is that of a lower bound.
    """
    if which == "data":
        found = [corpus_question(q) for q in questions_of(workspace) if q.gold_complete and q.gold]
    else:
        found = load_written(workspace) if is_there(workspace.file(WRITTEN)) else []
    return [as_asked(question, which) for question in found]


def load_questions(
    workspace: Workspace, which: str = "styled", *, limit: int | None = None
) -> list[Question]:
    """Return a set of questions; see ``questions_in``.

    Args:
        workspace: with a corpus.
        which: a name of ``QUESTION_SETS``.
        limit: at most so many.

    Raises:
        UserError: if there is no such set, or it has no question.
    """
    named = next((known for known in QUESTION_SETS if known == which), None)
    if named is None:
        raise UserError(f"there is no set of questions {which!r}.", hint=did_you_mean(which, QUESTION_SETS))
    found = (
        [as_asked(question, named) for question in load_written(workspace)]
        if named == "styled"
        else questions_in(workspace, named)
    )
    if not found:
        why = (
            "none was accepted; see proctor generate documents"
            if which == "styled"
            else "the data came without questions"
        )
        raise UserError(f"the set {which!r} has no question.", where=str(workspace.root), hint=why)
    return found[:limit]


def left_out(workspace: Workspace, which: str) -> int:
    """Return how many questions of a set ``load_questions`` leaves out, since not all of their sources are known."""
    if which != "data":
        return 0
    return sum(not (q.gold_complete and q.gold) for q in questions_of(workspace))


# -- rankings ------------------------------------------------------------------------------------------------------


class RunNote(msgspec.Struct, frozen=True, kw_only=True):
    """What stands beside rankings: who, how, and over which questions."""

    spec: str
    retriever: str
    signature: str
    questions: str
    embedders: tuple[str, ...] = ()
    details: dict[str, str] = {}


def run_names(workspace: Workspace, questions: str) -> list[str]:
    """Return the retrievers of which there are rankings, as they were typed."""
    folder = workspace.file(RETRIEVAL) / questions
    return (
        [read_json(path, RunNote).spec for path in sorted(folder.glob("*.run.json"))]
        if is_there(folder)
        else []
    )


def fits(workspace: Workspace, questions: Sequence[Question], which: str, spec: str) -> bool:
    """Return whether a retriever's rankings are there, and of the questions that there are now."""
    about = workspace.file(RETRIEVAL) / which / f"{run_name(spec)}.run.json"
    if not is_there(about):
        return False
    run: RunNote = read_json(about, RunNote)
    return run.questions == asked_hash(questions)


def find_run(workspace: Workspace, questions: Sequence[Question], which: str, spec: str) -> RetrievalRun:
    """Return the rankings of a retriever.

    Raises:
        UserError: if there are none, or they answer other questions.
    """
    folder = workspace.file(RETRIEVAL) / which
    about = folder / f"{run_name(spec)}.run.json"
    if not is_there(about):
        raise UserError(
            f"the retriever {spec!r} has not searched for these questions yet.",
            where=str(workspace.root),
            hint=f"run first: proctor retrieve {workspace.root} -r {spec} --questions {which}",
        )
    run: RunNote = read_json(about, RunNote)
    if run.questions != asked_hash(questions):
        raise UserError(
            f"the rankings of {spec!r} are of other questions than there are now.",
            where=str(about),
            hint=f"search again: proctor retrieve {workspace.root} -r {spec} --questions {which}",
        )
    from proctor.exam.retrieval import Ranking, RetrievalRun

    rankings: list[Ranking] = read_jsonl(folder / f"{run_name(spec)}.jsonl", Ranking)
    return RetrievalRun(
        retriever=run.retriever,
        signature=run.signature,
        rankings=tuple(rankings),
        embedders=run.embedders,
        details=run.details,
    )


def asked_hash(questions: Sequence[Question]) -> str:
    """Return the hash of what was searched for."""
    return content_hash([(q.id, q.text) for q in questions])


def run_name(spec: str) -> str:
    """Return a file name of what was typed; long or odd ones stay apart by their hash."""
    safe = re.sub(r"[^A-Za-z0-9._+-]+", "-", spec).strip("-.")
    return safe if safe == spec and len(safe) < 60 else f"{safe[:40]}-{content_hash(spec)[:8]}"
