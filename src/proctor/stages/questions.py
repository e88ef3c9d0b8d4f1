"""The questions of a workspace, of every kind: what generation, data sets and other people's files propose."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from proctor.ask.clip.record import ClipPair, ShownClip, choice_question, pair_question
from proctor.ask.moment.question import moment_question
from proctor.errors import UserError
from proctor.exam.kind import Kind, kind_named
from proctor.exam.library import Library
from proctor.exam.question import Gold, Item, Question, check_questions
from proctor.llm.media import MediaStore
from proctor.records import Dropped, is_there, iter_jsonl, read_jsonl, write_jsonl
from proctor.stages.clip.reading import (
    CHOICES,
    CLIPS,
    KEPT,
    PAIRS,
    load_choices,
    load_clips,
    load_kept,
    load_pairs,
    subject_of_choices,
)
from proctor.stages.documents.reading import QUESTION_SETS, QUESTIONS, WRITTEN, questions_in
from proctor.stages.inputs import load_asked
from proctor.workspace import Workspace

__all__ = [
    "IMPORTED",
    "PEOPLE",
    "Imported",
    "import_questions",
    "pairs_of_choices",
    "required_questions",
    "workspace_questions",
]

IMPORTED: Final = "imported.jsonl"
"""Questions from elsewhere, of any kind; ``questions.jsonl`` holds those that came with a corpus."""

PEOPLE: Final = "people.jsonl"
"""Candidates about moments that people wrote in rounds; generation leaves them alone."""

ASKED: Final = (
    *("candidates.jsonl", "examples.jsonl", "graphs.json"),
    *(CLIPS, KEPT, CHOICES, WRITTEN, QUESTIONS, IMPORTED, PEOPLE),
)
"""Files that questions of all kinds are read from; no workspace has all of them."""


def workspace_questions(workspace: Workspace, *, clips: bool = True) -> list[Question]:
    """Return the questions of a workspace, of every kind, with what is proposed as their answers.

    Those about moments come first, then those about clips (open-ended, with options), about documents (generated, of the data
    set), and those from elsewhere. A question with options that were made for another one is called ``<its id>.choice`` and
    names that one as its parent. Of the data set's questions about documents those are left out of which not all sources are known.

    Args:
        workspace: that holds them.
        clips: False leaves out those that were made of pairs.

    Raises:
        UserError: if a file is broken, two questions have one id, or one cannot be asked at all.
    """
    found = [
        *_moments(workspace),
        *(_clips(workspace) if clips else ()),
        *_documents(workspace),
        *_imported(workspace),
    ]
    check_questions(found)
    return found


def required_questions(workspace: Workspace) -> list[Question]:
    """Return the questions of a workspace; see ``workspace_questions``.

    Raises:
        UserError: also if there is none.
    """
    found = workspace_questions(workspace)
    if not found:
        workspace.require("candidates.jsonl")
    return found


def _moments(workspace: Workspace) -> Iterator[Question]:
    for name in ("candidates.jsonl", PEOPLE):
        if not is_there(workspace.file(name)):
            continue
        candidates, examples = load_asked(workspace, workspace.graphs(), name)
        yield from (moment_question(candidate, examples[candidate.example_id]) for candidate in candidates)


def _clips(workspace: Workspace) -> Iterator[Question]:
    clips: dict[str, ShownClip] = (
        {clip.id: clip for clip in load_clips(workspace)} if is_there(workspace.file(CLIPS)) else {}
    )
    if is_there(workspace.file(KEPT)):
        yield from (pair_question(pair, clips) for pair in load_kept(workspace))
    if is_there(workspace.file(CHOICES)):
        pairs = {pair.id: pair for pair in pairs_of_choices(workspace)}
        yield from (choice_question(item, pairs.get(item.id), clips) for item in load_choices(workspace))


def pairs_of_choices(workspace: Workspace) -> list[ClipPair]:
    """Return the pairs that options were made for; none where questions with options are of another benchmark.

    Raises:
        UserError: if pairs were made anew, and options were not.
    """
    if not is_there(workspace.file(PAIRS)):
        return []
    pairs, items = load_pairs(workspace), load_choices(workspace)
    known = {pair.id: pair for pair in pairs}
    of_pairs = subject_of_choices(workspace) in ("", "pairs")
    if of_pairs and (
        lost := [i.id for i in items if i.id not in known or known[i.id].question != i.question]
    ):
        raise UserError(
            f"the question '{lost[0][:80]}' has options, and its pair is not there, or is another one.",
            where=str(workspace.file(PAIRS)),
            hint=f"pairs were made again: run proctor filter and proctor choices again on {workspace.root}",
        )
    return pairs if of_pairs else []


def _documents(workspace: Workspace) -> Iterator[Question]:
    for which in QUESTION_SETS:
        yield from questions_in(workspace, which)


def _imported(workspace: Workspace) -> list[Question]:
    path = workspace.file(IMPORTED)
    return read_jsonl(path, Question) if is_there(path) else []


# -- from elsewhere ------------------------------------------------------------------------------------------------


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """What came in.

    Attributes:
        questions: how many there are now.
        kinds: how many of each kind.
        dropped: how many were left out, by reason; ``import.dropped.jsonl`` lists them.
    """

    questions: int
    kinds: dict[str, int]
    dropped: dict[str, int]


def import_questions(file: Path, root: Path) -> Imported:
    """Bring questions of any kind into a workspace; those that came the same way before are replaced.

    Args:
        file: JSON Lines of ``proctor.exam.question.Question``.
        root: the workspace; made where it is not there.

    Raises:
        UserError: if the file is broken, a kind is not installed, or not one question can be asked.
    """
    workspace = Workspace(root)
    workspace.create()
    graphs = workspace.known_graphs()
    library = Library(media=MediaStore(), graphs=graphs, root=root)
    taken = {question.id for question in (*_moments(workspace), *_clips(workspace), *_documents(workspace))}
    kept: list[Question] = []
    dropped: list[Dropped] = []
    named = cache(kind_named)
    questions: Iterator[Question] = iter_jsonl(file, Question)
    for question in questions:
        if reason := _refused(question, named(question.kind), library, taken):
            dropped.append(Dropped(question.id[:200], *reason))
        else:
            kept.append(question)
            taken.add(question.id)
    if not kept:
        first = f", the first: {dropped[0].detail.removesuffix('.')}" if dropped else ""
        raise UserError(
            f"not one of {len(dropped)} questions can be asked{first}.",
            where=str(file),
            hint="correct the file",
        )
    reasons = workspace.write_dropped("import", dropped)
    write_jsonl(workspace.file(IMPORTED), kept)
    kinds = {name: sum(q.kind == name for q in kept) for name in sorted({q.kind for q in kept})}
    done = Imported(questions=len(kept), kinds=kinds, dropped=reasons)
    workspace.record(
        "import", settings={"file": str(file)}, counts=msgspec.to_builtins(done), outputs=(IMPORTED,)
    )
    return done


def _refused(
    question: Question, kind: Kind[Any], library: Library, taken: Collection[str]
) -> tuple[str, str] | None:
    """Return why a question is left out, as a code and in words."""
    if question.id in taken:
        return "id", "another question has this id"
    golds = tuple(Gold(value=p.value) for p in question.proposals if p.claim == "right")
    try:
        check_questions([question])
        kind.check(Item(question=question, golds=golds), library)
    except UserError as error:
        return "unfit", error.message
    return None if golds else ("no_answer", "nothing is proposed as right")
