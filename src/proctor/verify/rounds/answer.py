"""People sit the exam: the question with its clip and procedure, and nothing that says what is right. docs/rounds.md.

Nobody gets a question that they judged, trained on, decided, marked, or wrote (ProMQA, 4.3).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

import msgspec

from proctor.exam.choice import printed_letter, spell_order
from proctor.exam.question import Choice, Order, Picture, Question, Words
from proctor.metrics.agreement import raw_agreement
from proctor.metrics.choice.letters import LETTERS
from proctor.metrics.krippendorff import krippendorff_alpha
from proctor.metrics.order_agreement import order_agreement
from proctor.metrics.score import Score
from proctor.verify.desk.records import InvalidError, Person
from proctor.verify.rounds.form import Field, FormKind, FormSheet
from proctor.verify.rounds.kind import NoOptions
from proctor.verify.rounds.records import Round
from proctor.verify.schema import tables

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["KIND", "AnswerTask", "Given", "answer_agreement", "given_answer", "seen_questions", "written_id"]

_PLACE: Final = "place_"


class AnswerTask(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question as it is answered (``Kind.blind``).

    Attributes:
        question: without proposals, golds and facts.
        order: places of its options as printed, in the order in which they are shown; empty where it has none.
    """

    question: Question
    order: tuple[int, ...] = ()


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """An answer as files of answers have it: words, the letter of an option as shown, or ids in order.

    Attributes:
        answer: see above.
        details: ``order`` spells in which order options were shown (``CAB``).
    """

    answer: str | list[str]
    details: dict[str, str] = {}


class _Answer(FormKind[AnswerTask, NoOptions]):
    name = "answer"
    title = "Answer questions"
    detail = (
        "Answer questions as an exam asks them. Nobody but you sees what you answer until the round is over."
    )
    task = AnswerTask
    options = NoOptions

    def fields(self, task: AnswerTask, options: NoOptions) -> tuple[Field, ...]:  # noqa: ARG002
        form = task.question.form
        if isinstance(form, Choice):
            choices = {LETTERS[n]: form.options[place] for n, place in enumerate(task.order)}
            return (Field(name="answer", label="Your answer", type="choice", choices=choices),)
        if isinstance(form, Order):
            return tuple(
                Field(name=f"{_PLACE}{n}", label=f"Place of {label}", type="scale", high=len(form.ids))
                for n, label in enumerate(_labels(task.question), 1)
            )
        every = form.need == "all"
        return (
            Field(
                name="answer",
                label="Your answers, one a row" if every else "Your answer",
                type="texts" if every else "text",
                rule="One sentence, from what is shown here and nothing else. If you are unsure, answer what is most likely.",
            ),
        )

    def check(self, sheet: FormSheet, task: AnswerTask, options: NoOptions) -> FormSheet:
        kept = super().check(sheet, task, options)
        places = [value for name, value in kept.values.items() if name.startswith(_PLACE)]
        if len(set(map(str, places))) < len(places):
            twice = next(n for n, value in enumerate(places, 1) if places.index(value) < n - 1)
            raise InvalidError([(f"{_PLACE}{twice}", f"Two steps stand at place {places[twice - 1]}.")])
        return kept

    def question(self, task: AnswerTask) -> Question:
        return task.question

    def barred(self, connection: Connection, round_: Round, person: Person) -> Collection[str]:  # noqa: ARG002
        return seen_questions(connection, person)


KIND = _Answer()


def _labels(question: Question) -> list[str]:
    words = {part.id: part.text for part in question.evidence if isinstance(part, Words)}
    words |= {part.id: f"picture {part.id}" for part in question.evidence if isinstance(part, Picture)}
    ids = question.form.ids if isinstance(question.form, Order) else ()
    return [f"“{words[id_]}”" for id_ in ids]


def written_id(assignment: str) -> str:
    """Return the id of the question that somebody wrote in an assignment of a writing round."""
    return f"people-{assignment}"


def seen_questions(connection: Connection, person: Person) -> set[str]:
    """Return the ids of questions of which somebody may know what is right.

    These are the questions that they have or had on their list for training, verification or adjudication (not those that went to
    somebody else before they began), those whose answers they marked or rated, and those that they wrote.
    """
    from sqlalchemy import or_, select

    t = tables()
    a = t.assignments
    judged = select(t.items.c.candidate_id).join(a, a.c.item_id == t.items.c.id)
    begun = or_(a.c.live.is_(True), a.c.state != "moved", a.c.started_at.is_not(None))
    found = set(connection.execute(judged.where(a.c.person_id == person.id, begun)).scalars())
    rounds = a.join(t.tasks, t.tasks.c.id == a.c.task_id).join(t.rounds, t.rounds.c.id == t.tasks.c.round_id)
    tasks = select(t.rounds.c.kind, t.tasks.c.body, a.c.pid).select_from(rounds)
    knowing = t.rounds.c.kind.in_(("mark", "rate", "write"))
    for row in connection.execute(tasks.where(a.c.person_id == person.id, knowing)):
        if row.kind == "write":
            found.add(written_id(row.pid))
        elif isinstance(about := msgspec.json.decode(row.body, type=dict[str, Any]).get("question"), dict):
            found.add(about["id"])
    return found


def given_answer(task: AnswerTask, sheet: FormSheet) -> Given:
    """Return what somebody answered, as files of answers have it."""
    form, value = task.question.form, sheet.values.get("answer", "")
    if isinstance(form, Order):
        place = {id_: int(str(sheet.values[f"{_PLACE}{n}"])) for n, id_ in enumerate(form.ids, 1)}
        return Given(answer=sorted(form.ids, key=place.__getitem__))
    if isinstance(form, Choice):
        return Given(answer=str(value), details={"order": spell_order(task.order)})
    return Given(answer=value if isinstance(value, str) else "\n".join(value))


# -- agreement ---------------------------------------------------------------------------------------------------------


def answer_agreement(
    answers: Mapping[str, Mapping[str, tuple[AnswerTask, Given]]], clusters: Mapping[str, str]
) -> dict[str, Score]:
    """Return how far people agree who answered one question, by form.

    ``choice``: Krippendorff's alpha of the options. ``order``: mean Kendall tau. ``open``: share of pairs whose words are the same,
    case and punctuation aside: one thing is said in many ways, so people agree at least so far.

    Args:
        answers: by question and person.
        clusters: of the questions, what intervals draw whole.
    """
    several = {id_: given for id_, given in answers.items() if len(given) > 1}
    forms: dict[str, dict[str, dict[str, str | tuple[str, ...]]]] = {"choice": {}, "order": {}, "open": {}}
    for id_, given in several.items():
        labels = {who: _label(*one) for who, one in given.items()}
        form = next(iter(given.values()))[0].question.form
        forms["choice" if isinstance(form, Choice) else "order" if isinstance(form, Order) else "open"][
            id_
        ] = labels
    found: dict[str, Score] = {}
    if units := forms["choice"]:
        rows = [[str(label) for label in labels.values()] for labels in units.values()]
        found["choice"] = krippendorff_alpha(rows, clusters=[clusters[id_] for id_ in units])
    if units := forms["order"]:
        orders = {id_: {who: tuple(label) for who, label in labels.items()} for id_, labels in units.items()}
        found["order"] = order_agreement(orders, clusters=clusters)
    if units := forms["open"]:
        pairs = [
            (*two, clusters[id_])
            for id_, labels in units.items()
            for two in combinations(map(str, labels.values()), 2)
        ]
        one, other, of = zip(*pairs, strict=True)
        found["open"] = raw_agreement(one, other, clusters=of)
    return found


def _label(task: AnswerTask, given: Given) -> str | tuple[str, ...]:
    if isinstance(task.question.form, Choice):
        return printed_letter(str(given.answer), task.order)
    if isinstance(given.answer, list):
        return tuple(given.answer)
    return " ".join("".join(c if c.isalnum() else " " for c in given.answer.casefold()).split())
