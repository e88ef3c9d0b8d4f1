"""The training set for coordinators, and what a newcomer sees after each item of it."""

from __future__ import annotations

from itertools import zip_longest
from typing import Final

from sqlalchemy import Connection, select
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from proctor.exam.question import proposed_texts
from proctor.said import say
from proctor.studio.context import desk_of, person_of, read, text_in, write
from proctor.studio.pages.dashboard import type_words
from proctor.studio.rendering import render, see_other
from proctor.studio.views import FeedbackRow, FeedbackView, Suggested, TrainingItem, TrainingView, judged
from proctor.verify.desk import browse, documents, flow, people, training, work
from proctor.verify.desk.browse import Narrow
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.items import find_item
from proctor.verify.desk.records import ConflictError, GoneError, InvalidError, Item, Person, Sheet
from proctor.verify.desk.training import Reference
from proctor.verify.schema import tables

__all__ = ["ROUTES", "show_feedback", "show_training"]

_SUGGESTED: Final = 10
"""Items that are suggested for the set at a time."""
_KINDS: Final = 20
"""Question types that they are chosen from."""


# -- the set ---------------------------------------------------------------------------------------------------


async def show_training(request: Request) -> Response:
    """Show the set, and the item that is about to be added."""
    return await _page(request, adding=request.query_params.get("add", ""))


async def _page(
    request: Request, *, adding: str = "", given: Reference | None = None, error: str = "", status: int = 200
) -> Response:
    def look(connection: Connection) -> TrainingView:
        lessons, protocol = training.list_training(connection), documents.protocol(connection)
        counts = training.tallies(connection)
        inside = {lesson.item.pid for lesson in lessons}
        return TrainingView(
            items=tuple(
                _shown(
                    lesson.item,
                    given if given is not None and lesson.item.pid == adding else lesson.reference,
                    counts.get(lesson.item.id, (0, 0, 0)),
                    _note(lesson),
                )
                for lesson in lessons
            ),
            pass_at=protocol.pass_at,
            note=""
            if protocol.training_required or not lessons
            else say("Training is not required by the settings: nobody is given this set."),
            adding=_proposed(connection, adding, given) if adding and adding not in inside else None,
            error=error,
            automatic=protocol.gate == "automatic",
            suggested=_suggested(connection),
        )

    return render(request, "training", await read(request, look), status=status)


def _suggested(connection: Connection) -> tuple[Suggested, ...]:
    """Return items that nobody was asked about: of each question type in turn, those first of which the task graph is sure."""
    i = tables().items
    query = select(i.c.stratum).where(i.c.state == "undealt").distinct().order_by(i.c.stratum)
    kinds = connection.execute(query).scalars().all()
    each = max(3, 2 * _SUGGESTED // max(1, len(kinds)))
    columns = []
    for kind in kinds[:_KINDS]:
        some = browse.page_items(connection, Narrow(state="undealt", stratum=kind), (), limit=each)
        shown = [_suggestion(connection, find_item(connection, one.pid)) for one in some]
        # One that has something to find wrong teaches more.
        columns.append(
            sorted(shown, key=lambda one: (not one.sure, all(v == "right" for _, v in one.answers)))
        )
    turns = [one for turn in zip_longest(*columns) for one in turn if one is not None]
    return tuple(sorted(turns, key=lambda one: not one.sure)[:_SUGGESTED])


def _suggestion(connection: Connection, item: Item) -> Suggested:
    reference, _ = training.proposed_reference(connection, item)
    said = reference.sheet.answers
    texts = proposed_texts(item.question)
    answers = tuple((text, judged(said[n] if n < len(said) else None)) for n, text in enumerate(texts))
    sure = reference.sheet.question == "right" and all(value for _, value in answers)
    return Suggested(item.pid, item.question.text, item.title, type_words(item.stratum), answers, sure)


def _note(lesson: training.Lesson) -> str:
    if lesson.item.state == "gone":
        return say("This item is no longer among the candidates; nobody is given it.")
    return (
        say("The item's text changed after this was written: look at the reference.")
        if lesson.is_stale
        else ""
    )


def _proposed(connection: Connection, pid: str, given: Reference | None) -> TrainingItem:
    item = find_item(connection, pid)
    reference, by_oracle = training.proposed_reference(connection, item)
    source = (
        say("This is what the task graph says. Look at every line, and say why in words for a newcomer.")
        if by_oracle
        else say("Nothing is known of this item yet: fill in the reference.")
    )
    return _shown(item, given or reference, (0, 0, 0), source)


def _shown(item: Item, reference: Reference, counts: tuple[int, int, int], note: str) -> TrainingItem:
    sheet, whys = reference.sheet, reference.whys
    agreed, statements, tried = counts
    return TrainingItem(
        pid=item.pid,
        question=item.question.text,
        activity=item.title,
        kind=type_words(item.stratum),
        reference=judged(sheet.question),
        why=reference.why,
        answers=tuple(
            (
                text,
                judged(sheet.answers[n] if n < len(sheet.answers) else None),
                whys[n] if n < len(whys) else "",
            )
            for n, text in enumerate(proposed_texts(item.question))
        ),
        agreed=agreed / statements if statements else None,
        tried=tried,
        note=note,
    )


async def add(request: Request) -> Response:
    """Look an item up by its code, its address or its candidate's id, and show its reference to be kept."""
    asked = text_in(await request.form(), "item")
    pid = asked.partition("?")[0].rstrip("/").rpartition("/")[2]

    def look(connection: Connection) -> str:
        i = tables().items
        one = i.select().with_only_columns(i.c.pid, i.c.state)
        row = connection.execute(one.where((i.c.pid == pid) | (i.c.candidate_id == asked)).limit(1)).first()
        if row is None:
            raise InvalidError(
                [("item", say("There is no such item. Copy its address from the list of items."))]
            )
        if row.state not in ("undealt", "machine", "training"):
            raise ConflictError(
                say("This item is dealt as work; choose one that nobody has been asked about.")
            )
        return str(row.pid)

    try:
        found = await read(request, look)
    except (InvalidError, ConflictError) as error:
        return await _page(request, error=error.message, status=422)
    return see_other(f"/training?add={found}")


async def pick(request: Request) -> Response:
    """Put items into the set with what the task graph says of them as their reference."""
    pids, desk, me = (await request.form()).getlist("item"), desk_of(request), person_of(request)

    def job(connection: Connection) -> None:
        for pid in dict.fromkeys(str(pid) for pid in pids[:_SUGGESTED]):
            item = find_item(connection, pid)
            reference, _ = training.proposed_reference(connection, item)
            training.add_training(desk, connection, item, reference, actor=me.pid)

    if not pids:
        return await _page(request, error=say("Tick the items that newcomers judge first."), status=422)
    try:
        await write(request, job)
    except (InvalidError, ConflictError) as error:
        return await _page(request, error=error.message, status=409)
    return see_other("/training?said=added")


async def keep(request: Request) -> Response:
    """Keep the reference of an item: of a new one, or another one of an item of the set."""
    form, desk, me, pid = (
        await request.form(),
        desk_of(request),
        person_of(request),
        request.path_params["pid"],
    )
    item = await read(request, lambda c: find_item(c, pid))
    reference = _reference(form, item)

    def job(connection: Connection) -> bool:
        fresh = find_item(connection, pid)
        if not fresh.in_training:
            training.add_training(desk, connection, fresh, reference, actor=me.pid)
            return True
        training.change_training(desk, connection, fresh, reference, actor=me.pid)
        return False

    try:
        added = await write(request, job)
    except InvalidError as error:
        return await _page(request, adding=pid, given=reference, error=error.message, status=422)
    except ConflictError as error:
        return await _page(request, adding="", error=error.message, status=409)
    return see_other(f"/training?said={'added' if added else 'saved'}")


def _reference(form: FormData, item: Item) -> Reference:
    """Return what the form says; the answers of a question that is wrong are not judged."""
    count = len(item.question.proposals)
    question = judged(form.get("reference")) or None
    answers = tuple(judged(form.get(f"answer-{n}")) or None for n in range(count))
    whys = tuple(text_in(form, f"why-{n}") for n in range(count))
    return Reference(
        sheet=Sheet(question=question, answers=answers if question != "wrong" else ()),
        why=text_in(form, "why"),
        whys=whys,
        candidate_hash=item.candidate_hash,
    )


async def remove(request: Request) -> Response:
    """Take an item out of the set; who has done all the others is done."""
    desk, me, pid = desk_of(request), person_of(request), request.path_params["pid"]

    def job(connection: Connection) -> None:
        training.remove_training(desk, connection, find_item(connection, pid), actor=me.pid)
        _move_on(desk, connection)

    try:
        await write(request, job)
    except InvalidError as error:
        return await _page(request, error=error.message, status=409)
    return see_other("/training?said=removed")


def _move_on(desk: Desk, connection: Connection) -> None:
    protocol, done = documents.protocol(connection), training.scores(connection)
    for person in people.list_people(desk, connection, state="active"):
        for kind in flow.item_kinds(connection) if person.id in done else ():
            training.open_gate(desk, connection, person, protocol, kind)


# -- after an item ---------------------------------------------------------------------------------------------


async def show_feedback(request: Request) -> Response:
    """Show somebody what they said of a training item beside the reference; before they said it, the item itself."""
    pid, person, desk = request.path_params["pid"], person_of(request), desk_of(request)

    def look(connection: Connection) -> FeedbackView | None:
        found = work.load_work(desk, connection, pid, person)
        if found.assignment.stage != "training":
            raise GoneError
        if found.submitted is None:
            return None
        rows = training.feedback_on(connection, found.item, found.submitted)
        lessons = [lesson.item.id for lesson in training.list_training(connection)]
        following = _following(connection, person)
        score = training.score_of(connection, person)
        return FeedbackView(
            activity=found.item.title,
            position=lessons.index(found.item.id) + 1,
            total=len(lessons),
            rows=tuple(
                FeedbackRow(
                    one.label,
                    one.text,
                    judged(one.yours),
                    "right" if one.right == "right" else "wrong",
                    one.why,
                )
                for one in rows
            ),
            own=found.submitted.own_answers,
            score=say(
                "You agree with the reference on {agreed} of {total} statements so far.",
                agreed=score.agreed,
                total=score.statements,
            ),
            next=f"/w/{following}" if following else "/",
            next_label=say("Next training item") if following else say("To your work list"),
            again=f"/w/{pid}",
        )

    try:
        view = await read(request, look)
    except InvalidError:  # taken out of the set in the meantime
        return see_other("/")
    return render(request, "feedback", view) if view is not None else see_other(f"/w/{pid}")


def _following(connection: Connection, person: Person) -> str | None:
    a = tables().assignments
    query = (
        a.select()
        .with_only_columns(a.c.pid)
        .where(a.c.person_id == person.id, a.c.stage == "training", a.c.state == "open", a.c.live.is_(True))
        .order_by(a.c.queue_pos, a.c.id)
        .limit(1)
    )
    found = connection.execute(query).scalar()
    return str(found) if found is not None else None


ROUTES: Final = (
    ("/training", "GET", show_training, "coordinator"),
    ("/training/add", "POST", add, "coordinator"),
    ("/training/pick", "POST", pick, "coordinator"),
    ("/training/{pid}", "POST", keep, "coordinator"),
    ("/training/{pid}/remove", "POST", remove, "coordinator"),
    ("/w/{pid}/feedback", "GET", show_feedback, "own-assignment"),
)
"""Rows of the route table."""
