"""People mark answers of runs, blind to whose they are: their marks calibrate judges. docs/rounds.md.

What says the same of one question is one task, whichever runs said it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from proctor.exam.question import Question
from proctor.said import say
from proctor.verify.desk.records import Person
from proctor.verify.rounds.form import Field, FormKind
from proctor.verify.rounds.records import Round
from proctor.verify.schema import tables

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["KIND", "MarkOptions", "MarkTask"]

_MARKS: Final[dict[str, str]] = {"2": say("Right"), "1": say("Partly right"), "0": say("Wrong")}
"""As judges give them, the best first; a binary scale has no middle."""
_RULE = say(
    "Right: it says the same as one of the right answers, in whatever words. More than that does no harm, unless it "
    "contradicts them. Where it is right in part, and something that matters is missing or wrong, it is partly right, "
    "or wrong where that cannot be chosen."
)


class MarkOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a round of marking: ``ternary`` is right, partly right and wrong."""

    scale: Literal["binary", "ternary"] = "ternary"


class MarkTask(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An answer to be marked, with the right ones; ``evidence``: what the question is about is shown beside it."""

    question: Question
    golds: tuple[str, ...]
    answer: str
    evidence: bool = False


class _Mark(FormKind[MarkTask, MarkOptions]):
    name = "mark"
    title = say("Mark answers")
    detail = say("Compare answers with those that are known to be right. Nobody sees who gave an answer.")
    task = MarkTask
    options = MarkOptions

    def fields(self, task: MarkTask, options: MarkOptions) -> tuple[Field, ...]:  # noqa: ARG002
        marks = {mark: words for mark, words in _MARKS.items() if mark != "1" or options.scale == "ternary"}
        return (
            Field(name="mark", label=say("Is the answer right?"), type="choice", rule=_RULE, choices=marks),
            Field(name="reason", label=say("Why?"), type="text", required=False),
        )

    def shown(self, task: MarkTask, options: MarkOptions) -> tuple[tuple[str, ...], ...]:  # noqa: ARG002
        right = say("The right answer") if len(task.golds) == 1 else say("Right answers")
        return (
            (say("Question"), task.question.text),
            (right, *task.golds),
            (say("Answer to mark"), task.answer),
        )

    def question(self, task: MarkTask) -> Question | None:
        return task.question if task.evidence else None

    def barred(self, connection: Connection, round_: Round, person: Person) -> Collection[str]:
        """Nobody marks answers to a question that they answered: one of them would be their own."""
        from sqlalchemy import select

        t, a = tables(), tables().assignments
        rounds = t.tasks.join(t.rounds, t.rounds.c.id == t.tasks.c.round_id)
        own = select(t.tasks.c.cluster).select_from(rounds.join(a, a.c.task_id == t.tasks.c.id))
        own = own.where(a.c.person_id == person.id, t.rounds.c.kind == "answer")
        here = (t.tasks.c.round_id == round_.id, t.tasks.c.variant.in_(own))
        return set(connection.execute(select(t.tasks.c.cluster).where(*here)).scalars())


KIND = _Mark()
