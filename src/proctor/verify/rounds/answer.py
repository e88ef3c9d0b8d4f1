"""People sit the exam: the question with its clip and procedure, and nothing that says what is right. docs/rounds.md.

Nobody gets a question that they judged, trained on, decided, marked, or wrote (ProMQA, 4.3).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import msgspec

from proctor.exam.choice import spell_order
from proctor.exam.question import Choice, Order, Question, Words
from proctor.metrics.choice.letters import LETTERS
from proctor.said import say
from proctor.verify.desk.records import InvalidError, Person
from proctor.verify.rounds.form import Field, FormKind, FormSheet
from proctor.verify.rounds.kind import NoOptions
from proctor.verify.rounds.records import Round
from proctor.verify.schema import tables

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["KIND", "AnswerTask", "given_answer", "seen_questions", "written_id"]

_RULE = say("From what is shown here and nothing else. If you are unsure, answer what is most likely.")


class AnswerTask(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question as it is answered (``exam.kind.Kind.blind``); ``order`` has the places of its options as printed, as shown."""

    question: Question
    order: tuple[int, ...] = ()


class _Answer(FormKind[AnswerTask, NoOptions]):
    name = "answer"
    title = say("Answer questions")
    detail = say("Answer questions as an exam asks them, from what you see beside them.")
    task = AnswerTask
    options = NoOptions

    def fields(self, task: AnswerTask, options: NoOptions) -> tuple[Field, ...]:  # noqa: ARG002
        form = task.question.form
        if isinstance(form, Choice):
            choices = {LETTERS[n]: form.options[place] for n, place in enumerate(task.order)}
            return (Field(name="answer", label=say("Your answer"), type="choice", choices=choices),)
        if isinstance(form, Order):
            words = {
                part.id: say("“{words}”", words=part.text)
                for part in task.question.evidence
                if isinstance(part, Words)
            }
            labels = [
                say(
                    "Place of {what}, 1 to {last}",
                    what=words.get(id_) or say("picture {id}", id=id_),
                    last=len(form.ids),
                )
                for id_ in form.ids
            ]
            return tuple(Field(name=f"place_{n}", label=t, type="number") for n, t in enumerate(labels))
        if form.need == "all":
            return (Field(name="answer", label=say("Your answers, one a row"), type="texts", rule=_RULE),)
        return (Field(name="answer", label=say("Your answer, in a sentence"), type="text", rule=_RULE),)

    def check(self, sheet: FormSheet, task: AnswerTask, options: NoOptions) -> FormSheet:
        kept = super().check(sheet, task, options)
        given = {name: str(v) for name, v in kept.values.items() if name.startswith("place_")}
        values = [*given.values()]
        for name, value in given.items():
            if value not in map(str, range(1, len(given) + 1)) or values.count(value) > 1:
                raise InvalidError(
                    [(name, say("Give each step a place of its own, from 1 to {last}.", last=len(given)))]
                )
        return kept

    def shown(self, task: AnswerTask, options: NoOptions) -> tuple[tuple[str, ...], ...]:  # noqa: ARG002
        return ((say("Question"), task.question.text),)

    def question(self, task: AnswerTask) -> Question:
        return task.question

    def barred(self, connection: Connection, round_: Round, person: Person) -> Collection[str]:  # noqa: ARG002
        return seen_questions(connection, person)


KIND = _Answer()


def given_answer(task: AnswerTask, sheet: FormSheet) -> tuple[str | list[str], dict[str, str]]:
    """Return an answer as files of answers have it: words, the letter of an option as shown or ids in order; and its details."""
    form, value = task.question.form, sheet.values.get("answer", "")
    if isinstance(form, Order):
        place = {id_: int(str(sheet.values[f"place_{n}"])) for n, id_ in enumerate(form.ids)}
        return sorted(form.ids, key=place.__getitem__), {}
    if isinstance(form, Choice):
        return str(value), {"order": spell_order(task.order)}
    return value if isinstance(value, str) else "\n".join(value), {}


def written_id(assignment: str) -> str:
    """Return the id of the question that somebody wrote in an assignment of a writing round."""
    return f"people-{assignment}"


def seen_questions(connection: Connection, person: Person) -> set[str]:
    """Return the ids of questions of which somebody may know what is right.

    They had them on their list for training, verification or adjudication (unless they went to somebody else before that), marked or
    rated answers to them, or wrote them.
    """
    from sqlalchemy import or_, select

    t = tables()
    a = t.assignments
    own = (a.c.person_id == person.id, or_(a.c.live, a.c.state != "moved", a.c.started_at.is_not(None)))
    judged = select(t.items.c.candidate_id).join(a, a.c.item_id == t.items.c.id).where(*own)
    rounds = a.join(t.tasks, t.tasks.c.id == a.c.task_id).join(t.rounds, t.rounds.c.id == t.tasks.c.round_id)
    tasks = select(t.rounds.c.kind, t.tasks.c.body, a.c.pid).select_from(rounds).where(*own)
    found = set(connection.execute(judged).scalars())
    for row in connection.execute(tasks.where(t.rounds.c.kind.in_(("mark", "rate", "write")))):
        about = msgspec.json.decode(row.body, type=dict[str, Any]).get("question")
        found |= {written_id(row.pid)} if row.kind == "write" else set()
        found |= {about["id"]} if isinstance(about, dict) else set()
    return found
