"""The work page and what its modules send: drafts, submitted sheets, taking back, giving back, clips, pictures and sounds."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
from anyio import to_thread
from sqlalchemy import Connection
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from proctor.exam.kind import kind_named
from proctor.exam.question import Choice as ChoiceForm
from proctor.exam.question import Footage, part_of
from proctor.said import say
from proctor.studio.cards import card_of, clip_state, picture_of, send_clip, send_picture, send_sound
from proctor.studio.context import Studio, desk_of, number_in, person_of, read, studio_of, text_in, write
from proctor.studio.pages.comments import own_thread
from proctor.studio.pages.tasks import (
    after_task,
    find_task,
    is_closed,
    show_task,
    task_picture,
    task_sheet,
    task_sound,
)
from proctor.studio.rendering import data_of, json_body, problem, render, see_other, time_text
from proctor.studio.views import AnswerCard, Choice, Field, SettledAnswer, ThreadView, WorkView, judged
from proctor.verify.desk import cases, documents, flow, training, work
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.documents import Protocol
from proctor.verify.desk.flow import Neighbours
from proctor.verify.desk.items import get_item
from proctor.verify.desk.records import (
    STAGES,
    ConflictError,
    GoneError,
    InvalidError,
    Item,
    Person,
    Sheet,
    Stage,
    Submitted,
)
from proctor.verify.desk.sheets import Cards
from proctor.verify.desk.tasks import TaskWork, asked_of
from proctor.verify.desk.work import Work
from proctor.verify.queue import card_order

__all__ = [
    "ahead",
    "cant_judge",
    "clip",
    "cut_ahead",
    "dispute",
    "picture",
    "poster",
    "put_draft",
    "show_work",
    "sound",
    "start_next",
    "submit",
    "undo",
    "work_state",
]

_AHEAD: Final = 8
"""Clips of a person's queue that are made before they are asked for."""
_KEPT: Final = 5
"""Items of a queue that a device keeps ahead."""
_MAX_ACTIVE: Final = 24 * 3600 * 1000
"""Milliseconds: nobody works on one page for longer than a day."""


_Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
_ClientId = Annotated[str, msgspec.Meta(pattern="^[!-~]{1,64}$")]


class DraftBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What ``PUT /w/{pid}/draft`` takes."""

    client_id: _ClientId
    seq: _Count
    base: _Count
    sheet: msgspec.Raw
    active_ms: float = 0


class SubmitBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What ``POST /w/{pid}/submit`` takes."""

    sheet: msgspec.Raw
    active_ms: float = 0
    client_id: str = ""


class CantBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What ``POST /w/{pid}/cant`` takes."""

    reason: str
    note: str = ""


_DRAFT, _SUBMIT, _CANT = (msgspec.json.Decoder(t) for t in (DraftBody, SubmitBody, CantBody))


# -- the page --------------------------------------------------------------------------------------------------


async def show_work(
    request: Request, *, sheet: Sheet | None = None, errors: tuple[Field, ...] = (), status: int = 200
) -> Response:
    """Show an assignment to its person."""
    task = await find_task(request)
    if task is not None:
        return await show_task(request, task)
    pid, person, desk = request.path_params["pid"], person_of(request), desk_of(request)

    def look(
        connection: Connection,
    ) -> tuple[Work, Neighbours, Protocol, int, tuple[SettledAnswer, ...], ThreadView]:
        found = work.load_work(desk, connection, pid, person)
        guideline = documents.latest(connection, documents.guideline_of(found.item.question.kind))
        around = flow.neighbours(connection, found.assignment)
        protocol = documents.protocol(connection)
        settled = _settled(desk, connection, found, person) if protocol.show_settled else ()
        thread = own_thread(connection, found.assignment, person)
        return found, around, protocol, guideline.version if guideline else 0, settled, thread

    found, around, protocol, guideline, settled, thread = await read(request, look)
    view = _view(
        studio_of(request), found, around, protocol, guideline, settled=settled, sheet=sheet, errors=errors
    )
    response = render(request, "work", msgspec.structs.replace(view, thread=thread), status=status)
    cut_ahead(request, response, person)
    return response


def _settled(desk: Desk, connection: Connection, found: Work, person: Person) -> tuple[SettledAnswer, ...]:
    """Return what of a case is settled, in an order of the person's own; () for everything that is no case.

    A blind repeat has everything open, as a case in which the question is in conflict has.
    """
    if found.assignment.stage != "adjudicate":
        return ()
    case = cases.standing(desk, connection, found.item).case
    hidden = [row for n, row in enumerate(case.rows) if n not in found.cards.targets]
    settled = [SettledAnswer(row.text, row.init) for row in hidden if row.init is not None]
    order = card_order(desk.secret, found.item.question.id, person.pid, len(settled))
    return tuple(settled[n] for n in order)


def _view(
    studio: Studio,
    found: Work,
    around: Neighbours,
    protocol: Protocol,
    guideline: int,
    *,
    settled: tuple[SettledAnswer, ...],
    sheet: Sheet | None,
    errors: tuple[Field, ...],
) -> WorkView:
    assignment, item, cards = found.assignment, found.item, found.cards
    assert assignment.stage != "task"
    shown = sheet or _shown(found)
    judging = kind_named(item.question.kind).judging
    frozen = assignment.stage in protocol.frozen_stages or item.state == "gone"
    options = isinstance(item.question.form, ChoiceForm)
    return WorkView(
        pid=assignment.pid,
        rev=assignment.rev,
        key=str(uuid.uuid4()),
        stage=assignment.stage,
        state="frozen" if frozen else "submitted" if assignment.state == "submitted" else "open",
        activity=item.title,
        position=around.position if assignment.stage != "adjudicate" else 0,
        total=around.total if assignment.stage != "adjudicate" else 0,
        card=card_of(studio, item.question, f"/w/{assignment.pid}"),
        criteria=judging.criteria,
        ask=say("Does it hold what is meant of each option?") if options else judging.ask,
        question=item.question.text,
        judged=judged(shown.question),
        question_open=cards.question_open,
        reasons=tuple(Choice(code, text, code in shown.reasons) for code, text in judging.reasons.items())
        if protocol.reasons
        else (),
        answers=_cards(cards, shown, _claims(item, cards)),
        settled=settled,
        own=shown.own_answers,
        may_add=_MAY_ADD[cards.may_add],
        note=shown.note,
        errors=errors,
        saved=time_text(found.draft.saved_at) if found.draft is not None else "",
        back=f"/w/{around.previous}" if around.previous else "",
        following=f"/w/{around.following}" if around.following else "",
        guideline=assignment.guideline_version or guideline,
        guideline_changed=bool(assignment.guideline_version) and guideline > assignment.guideline_version,
    )


_MAY_ADD: Final[Mapping[str, Literal["0", "1", "if-open"]]] = {"yes": "1", "no": "0", "if-valid": "if-open"}


def _shown(found: Work) -> Sheet:
    """Return what the form begins with: the draft if it is newer than what was submitted."""
    if found.submitted is None:
        return found.draft.sheet if found.draft is not None else Sheet()
    newer = found.draft is not None and found.draft.saved_at > (found.assignment.submitted_at or 0)
    return found.draft.sheet if newer and found.draft is not None else found.submitted


def _cards(cards: Cards, sheet: Sheet, claims: tuple[str, ...]) -> tuple[AnswerCard, ...]:
    said = (*sheet.answers, *([None] * len(cards.texts)))
    return tuple(
        AnswerCard(text, judged(value), claim)
        for text, value, claim in zip(cards.texts, said, claims, strict=False)
    )


# -- data ------------------------------------------------------------------------------------------------------


async def work_state(request: Request) -> Response:
    """Tell where an assignment stands: revision, draft, what was submitted, and whose it is."""
    pid, person, desk = request.path_params["pid"], person_of(request), desk_of(request)

    def look(connection: Connection) -> tuple[Work | TaskWork, bool]:
        assignment = work.own_assignment(connection, pid, person)
        if assignment.stage == "task":
            task = work.load_task(connection, assignment)
            return task, is_closed(desk, connection, task)
        found = work.load_work(desk, connection, pid, person)
        frozen = assignment.stage in documents.protocol(connection).frozen_stages
        return found, frozen or found.item.state == "gone"

    found, frozen = await read(request, look)
    draft = found.draft
    last = {
        "by": draft.client_id if draft is not None else "",
        "at": max(draft.saved_at if draft is not None else 0.0, found.assignment.submitted_at or 0.0) or None,
    }
    if draft is not None and draft.saved_at <= (found.assignment.submitted_at or 0):
        draft = None  # what it held has been submitted since
    return data_of(
        {
            "rev": found.assignment.rev,
            "state": "frozen" if frozen else "submitted" if found.assignment.state == "submitted" else "open",
            "draft": None
            if draft is None
            else {
                "sheet": draft.sheet,
                "version": draft.version,
                "client_id": draft.client_id,
                "saved_at": draft.saved_at,
            },
            "submitted": found.submitted,
            "last": last,
            "person": person.pid,
        }
    )


async def ahead(request: Request) -> Response:
    """Name the next items, for a device that keeps them in case the network goes."""
    pid, person = request.path_params["pid"], person_of(request)

    def look(connection: Connection) -> list[str]:
        return flow.following(connection, work.own_assignment(connection, pid, person), _KEPT)

    return data_of({"pids": await read(request, look)})


async def put_draft(request: Request) -> Response:
    """Keep a draft."""
    pid, person, desk = request.path_params["pid"], person_of(request), desk_of(request)
    body = await json_body(request, _DRAFT)

    def save(connection: Connection) -> Any:
        return work.save_draft(
            desk,
            connection,
            pid,
            person,
            sheet=body.sheet,
            client_id=body.client_id,
            seq=body.seq,
            base=body.base,
            active_ms=_active(body.active_ms),
        )

    return data_of(await write(request, save))


async def submit(request: Request) -> Response:
    """Keep a sheet for good: as data from our modules, or as a plain form."""
    if _is_form(request):
        return await _submit_form(request)
    body = await json_body(request, _SUBMIT)
    key = request.headers.get("idempotency-key", "")
    rev = _if_match(request)
    try:
        done, undo_seconds, following = await _submit(request, body.sheet, rev, key, _active(body.active_ms))
    except ConflictError as error:
        more = {"theirs": error.theirs, "mine": body.sheet}
        return problem(409, say("Changed in the meantime"), error.message, rev=error.rev, **more)
    return data_of({"rev": done.rev, "next": following, "undo_seconds": undo_seconds, "again": done.again})


async def _submit(
    request: Request, sheet: Sheet | msgspec.Raw, rev: int, key: str, active_ms: int
) -> tuple[Submitted, int, str]:
    """Submit and look for what is next in one transaction: one flush to disk, not two."""
    pid, person, desk = request.path_params["pid"], person_of(request), desk_of(request)
    if not 8 <= len(key) <= 80 or not key.isascii() or not key.isprintable():
        raise InvalidError(
            [("key", say("The form has no key. Reload the page; what you filled in is kept."))]
        )

    def save(connection: Connection) -> tuple[Submitted, int, str]:
        done = work.submit(desk, connection, pid, person, sheet=sheet, rev=rev, key=key, active_ms=active_ms)
        protocol = documents.protocol(connection)
        following = _after(desk, connection, person, pid, done, protocol)
        return done, protocol.undo_seconds, following

    return await write(request, save)


async def _submit_form(request: Request) -> Response:
    form = await request.form()
    task = await find_task(request)
    sheet: Any = _sheet_of(form) if task is None else await task_sheet(request, task, form)
    try:
        rev = int(str(form.get("rev", "0")))
    except ValueError:
        rev = -1
    try:
        sent = sheet if task is None else msgspec.Raw(msgspec.json.encode(sheet))
        _, _, following = await _submit(request, sent, rev, str(form.get("key", "")), 0)
    except InvalidError as error:
        fields, status = tuple(Field(name, text) for name, text in error.errors), 422
    except ConflictError as error:
        fields, status = (Field("form", error.message),), 409
    else:
        return see_other(following)
    if task is not None:
        return await show_task(request, task, sheet=sheet, errors=fields, status=status)
    return await show_work(request, sheet=sheet, errors=fields, status=status)


def _sheet_of(form: FormData) -> Sheet:
    """Return the sheet of a plain form; what cannot be meant counts as not filled in."""
    numbers = [
        int(n)
        for name in form
        if (n := name.removeprefix("answer-")) != name and n.isdecimal() and len(n) < 4
    ]
    answers = [judged(form.get(f"answer-{n}")) or None for n in range(max(numbers, default=-1) + 1)]
    return Sheet(
        question=judged(form.get("question")) or None,
        reasons=tuple(str(r) for r in form.getlist("reason")),
        answers=tuple(answers),
        own_answers=tuple(str(text) for text in form.getlist("own")),
        note=str(form.get("note", "")),
    )


async def undo(request: Request) -> Response:
    """Take a submitted sheet back."""
    pid, person, desk = request.path_params["pid"], person_of(request), desk_of(request)
    form = await request.form() if _is_form(request) else None
    rev = _if_match(request) if form is None else number_in(text_in(form, "rev"), -1)

    def take_back(connection: Connection) -> Submitted:
        protocol = documents.protocol(connection)
        return work.undo(desk, connection, pid, person, rev=rev, protocol=protocol)

    done = await write(request, take_back)
    return see_other(f"/w/{pid}?said=undone") if form is not None else data_of({"rev": done.rev})


async def cant_judge(request: Request) -> Response:
    """Give an item back to the coordinator."""
    pid, person, desk = request.path_params["pid"], person_of(request), desk_of(request)
    form = await request.form() if _is_form(request) else None
    if form is None:
        body = await json_body(request, _CANT)
    else:
        body = CantBody(str(form.get("reason", "")), str(form.get("note", "")))

    def give_back(connection: Connection) -> str:
        work.cant_judge(desk, connection, pid, person, reason=body.reason, note=body.note)
        return _following(desk, connection, person, pid, documents.protocol(connection))

    following = await write(request, give_back)
    return see_other(following) if form is not None else data_of({"next": following})


async def dispute(request: Request) -> Response:
    """Send a case to the coordinator instead of deciding it: what is settled in it cannot be right."""
    pid, person, desk = request.path_params["pid"], person_of(request), desk_of(request)
    note = str((await request.form()).get("note", ""))

    def hand_over(connection: Connection) -> str:
        if work.own_assignment(connection, pid, person).stage != "adjudicate":
            raise GoneError
        work.cant_judge(desk, connection, pid, person, reason="other", note=note)
        return _following(desk, connection, person, pid, documents.protocol(connection))

    following = await write(request, hand_over)
    return see_other(following)


async def start_next(request: Request) -> Response:
    """Go to what is next for a person; an adjudicator's case is reserved by it."""
    person, desk = person_of(request), desk_of(request)
    stage: Stage | None = None
    if _is_form(request):
        asked = str((await request.form()).get("stage", ""))
        stage = next((s for s in STAGES if s == asked), None)

    def find(connection: Connection) -> str | None:
        return flow.next_work(desk, connection, person, documents.protocol(connection), stage)

    following = await write(request, find)
    return see_other(f"/w/{following}" if following else "/")


def _following(desk: Desk, connection: Connection, person: Person, pid: str, protocol: Protocol) -> str:
    """Return where to go from here: the next item of the same stage, or home."""
    here = work.find_assignment(connection, pid, person)
    if here is None:
        return "/"
    if here.stage == "task":
        return after_task(connection, here)
    following = flow.next_work(desk, connection, person, protocol, here.stage)
    return f"/w/{following}" if following else "/"


def _after(
    desk: Desk, connection: Connection, person: Person, pid: str, done: Submitted, protocol: Protocol
) -> str:
    """Return where to go after a submit: the feedback of a training item, the next item of the stage, or home."""
    if done.stage == "task" and done.queued:
        return f"/w/{done.queued}"
    if done.stage == "task":
        return after_task(connection, work.own_assignment(connection, pid, person))
    if done.stage == "training":
        return f"/w/{pid}/feedback"
    if done.stage == "judge" and done.queued and not flow.closed_kinds(connection, person, protocol):
        return f"/w/{done.queued}"
    following = flow.next_work(desk, connection, person, protocol, done.stage)
    return f"/w/{following}" if following else "/"


# -- media -----------------------------------------------------------------------------------------------------


async def clip(request: Request) -> Response:
    """Send the clip of an assignment: its footage, and nothing that comes after it."""
    return await _media(request, "mp4")


async def poster(request: Request) -> Response:
    """Send the first picture of the clip."""
    return await _media(request, "jpg")


async def _media(request: Request, ending: Literal["mp4", "jpg"]) -> Response:
    own = await _own(request)
    return send_clip(request, own.footage, ending, own.rate)


async def picture(request: Request) -> Response:
    """Send a picture of an assignment's card (``?part=0``)."""
    number = number_in(request.query_params.get("part", ""), -1)
    own = await _own(request)
    return await send_picture(await to_thread.run_sync(own.picture, number))


async def sound(request: Request) -> Response:
    """Send a sound of an assignment's card (``?part=0``), in parts if a player asks for them."""
    number = number_in(request.query_params.get("part", ""), -1)
    own = await _own(request)
    return send_sound(request, await to_thread.run_sync(own.sound, number))


class _Own(NamedTuple):
    """What an assignment shows: a recording, the files of its picture and sound of a number, and frames a second if each is shown."""

    footage: Footage | None
    picture: Callable[[int], Path | None]
    sound: Callable[[int], Path | None]
    rate: Fraction | None = None


async def _own(request: Request) -> _Own:
    pid, person, studio = request.path_params["pid"], person_of(request), studio_of(request)

    def look(connection: Connection) -> _Own:
        assignment = work.own_assignment(connection, pid, person)
        if assignment.stage == "task":
            asked = asked_of(connection, assignment)
            kind, body = asked.kind, asked.body
            picture, sound = (partial(find, studio, kind, body) for find in (task_picture, task_sound))
            return _Own(kind.footage(body), picture, sound, kind.rate(body))
        question = get_item(connection, assignment.item_id).question
        return _Own(part_of(question, Footage), partial(picture_of, studio, question), lambda _: None)

    return await read(request, look)


_CLAIMS: Final = {"right": say("meant to be right"), "wrong": say("meant to be wrong")}


def _claims(item: Item, cards: Cards) -> tuple[str, ...]:
    """Return for each card what is claimed of it, where the question has options."""
    if not isinstance(item.question.form, ChoiceForm):
        return ("",) * len(cards.texts)
    claims = [_CLAIMS[p.claim] for p in item.question.proposals]
    return tuple(claims[n] if n < len(claims) else "" for n in cards.targets)


def cut_ahead(request: Request, response: Response, *people: Person) -> None:
    """Have the next clips of people's queues made, once a response is sent: who goes on shall not wait for them."""
    from starlette.background import BackgroundTask

    studio = studio_of(request)

    def ask() -> None:
        for person in people:
            for item in studio.desk.read(lambda c, p=person: _upcoming(c, p)):  # type: ignore[misc]
                clip_state(studio, part_of(item.question, Footage), urgent=False)

    if studio.clips is not None:
        response.background = BackgroundTask(ask)


def _upcoming(connection: Connection, person: Person) -> tuple[Item, ...]:
    """Return what somebody sees next: the training first that they have not been given yet, for it is given when they begin."""
    given = flow.upcoming(connection, person, _AHEAD)
    if given or not flow.pending_training(connection, person, documents.protocol(connection)):
        return given
    return tuple(lesson.item for lesson in training.list_training(connection)[:_AHEAD])


# -- requests --------------------------------------------------------------------------------------------------


def _is_form(request: Request) -> bool:
    return request.headers.get("content-type", "").partition(";")[0].strip() in (
        "application/x-www-form-urlencoded",
        "multipart/form-data",
    )


def _if_match(request: Request) -> int:
    return number_in(request.headers.get("if-match", "").strip().strip('"'), -1)


def _active(milliseconds: float) -> int:
    """Return a sane number of milliseconds; NaN and nonsense count as nothing."""
    return int(milliseconds) if 0 <= milliseconds <= _MAX_ACTIVE else 0
