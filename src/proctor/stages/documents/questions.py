"""Sets of questions over a workspace's corpus: those that were generated, and those that came with the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, get_args

from proctor.errors import UserError
from proctor.exam.source_question import SourceQuestion, of_corpus, of_styled
from proctor.stages.documents.reading import QUESTIONS, STYLED, load_styled, questions_of
from proctor.workspace import Workspace

__all__ = ["QUESTION_FILES", "QUESTION_SETS", "QuestionSet", "left_out", "load_questions"]

QuestionSet = Literal["styled", "data"]
"""``styled``: what was generated; ``data``: what came with the data set, and items of workspaces of recordings."""
QUESTION_SETS: Final[tuple[QuestionSet, ...]] = get_args(QuestionSet)

QUESTION_FILES: Final[Mapping[str, str]] = {"styled": STYLED, "data": QUESTIONS}
"""Where each set is, in the workspace."""


def load_questions(
    workspace: Workspace, which: str = "styled", *, limit: int | None = None
) -> list[SourceQuestion]:
    """Return a set of questions.

    Of the data set's questions those are left out whose gold is not known completely: their recall is that of a lower bound.

    Args:
        workspace: with a corpus.
        which: a name of ``QUESTION_SETS``.
        limit: at most so many.

    Raises:
        UserError: if there is no such set, or it has no question.
    """
    if which == "styled":
        found = [of_styled(question) for question in load_styled(workspace)]
    elif which == "data":
        found = [of_corpus(q) for q in questions_of(workspace) if q.gold_complete and q.gold]
    else:
        raise UserError(
            f"there is no set of questions {which!r}.", hint=f"there are {', '.join(QUESTION_SETS)}"
        )
    if not found:
        why = (
            "none was accepted; see proctor generate styled"
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
