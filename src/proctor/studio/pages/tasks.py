"""The page of a task of a round; what is sent from it goes the way of all work (``pages.work``)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from anyio import to_thread
from msgspec import structs
from sqlalchemy import Connection
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from proctor.said import ours
from proctor.studio.cards import card_of
from proctor.studio.context import Studio, desk_of, person_of, read, studio_of
from proctor.studio.language import translated
from proctor.studio.markdown import render_markdown
from proctor.studio.pages.comments import own_thread
from proctor.studio.rendering import data_of, json_body, render, see_other, time_text
from proctor.studio.views import Field, FieldView, TaskView, ThreadView
from proctor.verify.desk import flow, rounds, tasks, work
from proctor.verify.desk.records import Assignment, ConflictError, GoneError
from proctor.verify.rounds.form import Field as FormField
from proctor.verify.rounds.form import FormKind, FormSheet
from proctor.verify.rounds.kind import TaskKind
from proctor.verify.rounds.spans import as_value, kept_spans, typed_spans

if TYPE_CHECKING:
    from proctor.exam.card import Exhibited
    from proctor.studio.views import CardView
    from proctor.verify.desk.desk import Desk
    from proctor.verify.desk.flow import Neighbours
    from proctor.verify.desk.tasks import Asked, TaskWork

__all__ = [
    "after_task", "field_views", "find_task", "is_closed", "look", "show_task", "task_card", "task_picture",
    "task_sheet", "task_sound",
]  # fmt: skip


async def find_task(request: Request) -> Assignment | None:
    """Return the assignment of the address when it is of a task and the person's own, even when it no longer stands."""
    pid, person = request.path_params["pid"], person_of(request)
    found = await read(request, lambda c: work.find_assignment(c, pid, person))
    return found if found is not None and found.stage == "task" else None


async def show_task(
    request: Request,
    assignment: Assignment,
    *,
    sheet: msgspec.Struct | None = None,
    errors: tuple[Field, ...] = (),
    status: int = 200,
) -> Response:
    """Show a task to its person; one that is no longer theirs leads to the round, which says why."""

    def find(connection: Connection) -> tuple[TaskWork, Neighbours, str, ThreadView]:
        found = work.load_task(connection, assignment)
        closed = is_closed(desk_of(request), connection, found)
        state = "frozen" if closed else "submitted" if assignment.state == "submitted" else "open"
        thread = own_thread(connection, assignment, person_of(request))
        return found, flow.neighbours(connection, assignment), state, thread

    found, around, state, thread = await read(request, find)
    if not assignment.live:
        return see_other(f"/r/{found.asked.round.pid}")
    view = _view(studio_of(request), found, around, state, sheet=sheet, errors=errors)
    name = "task" if view.module == "form" else f"task_{view.module}"
    response = render(request, name, structs.replace(view, thread=thread), status=status)
    response.headers.update(getattr(_page(found.asked.kind), "HEADERS", {}))
    return response


def is_closed(desk: Desk, connection: Connection, found: TaskWork) -> bool:
    """True when nothing of a task can be changed any more."""
    try:
        tasks.refuse_closed(desk, connection, found.assignment, found.asked.round)
    except ConflictError:
        return True
    return False


async def task_sheet(request: Request, assignment: Assignment, form: FormData) -> msgspec.Struct:
    """Return the sheet of a plain form of a task."""
    asked = await read(request, lambda c: tasks.asked_of(c, assignment))
    sheet: msgspec.Struct = asked.kind.of_form(form, asked.body, asked.options)
    return sheet


def after_task(connection: Connection, assignment: Assignment) -> str:
    """Return where to go after a task: to the next of the batch, or to the round, which says that it is done."""
    following = rounds.count_batch(connection, rounds.batch_of(connection, assignment.batch_id)).following
    if following:
        return f"/w/{following}"
    return f"/r/{rounds.round_of_task(connection, assignment.task_id)[0].pid}"


def _view(
    studio: Studio,
    found: TaskWork,
    around: Neighbours,
    state: Any,
    *,
    sheet: msgspec.Struct | None,
    errors: tuple[Field, ...],
) -> TaskView:
    assignment, asked = found.assignment, found.asked
    shown = sheet or _shown(found)
    address = f"/w/{assignment.pid}"
    page = _page(asked.kind)
    if page is None and isinstance(asked.kind, FormKind):
        body: Any = asked.kind.shown(asked.body, asked.options)
    else:
        body = page.view(studio, asked.body, shown, asked.options, address)
    fields = asked.kind.fields(asked.body, asked.options)
    return TaskView(
        pid=assignment.pid,
        rev=assignment.rev,
        key=str(uuid.uuid4()),
        kind=asked.kind.name,
        module=asked.kind.page or asked.kind.name,
        state=state,
        title=asked.round.settings.title or asked.kind.title,
        position=around.position,
        total=around.total,
        round=f"/r/{asked.round.pid}",
        instructions=render_markdown(str(translated(ours(asked.round.settings.instructions)))),
        card=task_card(studio, asked.kind, asked.body, address),
        fields=field_views(fields, shown, errors, asked.kind.texts(asked.body))
        if isinstance(shown, FormSheet)
        else (),
        note=getattr(shown, "note", ""),
        errors=errors,
        saved=time_text(found.draft.saved_at) if found.draft is not None else "",
        back=f"/w/{around.previous}" if around.previous else "",
        following=f"/w/{around.following}" if around.following else "",
        data=getattr(body, "data", ""),
        sheet=msgspec.json.encode(shown).decode(),
        body=body,
    )


def _shown(found: TaskWork) -> Any:
    """Return what the form begins with: the draft if it is newer than what was submitted."""
    draft, submitted = found.draft, found.submitted
    if draft is not None and (submitted is None or draft.saved_at > (found.assignment.submitted_at or 0)):
        return draft.sheet
    return submitted if submitted is not None else found.asked.kind.sheet()


def field_views(
    fields: Sequence[FormField],
    sheet: FormSheet,
    errors: tuple[Field, ...] = (),
    texts: Mapping[str, str] | None = None,
) -> tuple[FieldView, ...]:
    """Return the fields of a form with what was filled in and what is wrong with it; ``texts`` by column are those with marked words."""
    wrong = {error.label: error.value for error in errors}
    given = {name: (v,) if isinstance(v, str) else tuple(v) for name, v in sheet.values.items() if v}
    views = []
    for f in fields:
        view = FieldView(**structs.asdict(f), values=given.get(f.name, ()), error=wrong.get(f.name, ""))
        if f.type == "span":
            text = (texts or {}).get(f.column, "")
            marked = tuple((as_value(s), s.label, text[s.start : s.end]) for s in kept_spans(view.values))
            view = structs.replace(view, marked=marked, typed=tuple(typed_spans(view.values)))
        views.append(view)
    return tuple(views)


def _page(kind: TaskKind[Any, Any, Any]) -> Any:
    """Return what makes the view of a kind: ``view(studio, task, sheet, options, address)``, and ``card`` where it has one; None for forms."""
    return None if kind.page == "form" else import_module(f"proctor.studio.tasks.{kind.page or kind.name}")


def task_card(studio: Studio, kind: TaskKind[Any, Any, Any], body: Any, address: str) -> CardView | None:
    """Return what is shown beside a task: what its page says, or the card of its question; None where there is none."""
    page = _page(kind)
    if hasattr(page, "card"):
        found: CardView | None = page.card(studio, body, address)
        return found
    question = kind.question(body)
    return card_of(studio, question, address) if question is not None else None


async def look(request: Request) -> Response:
    """Tell what a kind's page asks about a sheet that is being filled in; nothing is kept."""
    pid, person = request.path_params["pid"], person_of(request)
    raw = await json_body(request, _RAW)

    def find(connection: Connection) -> Asked:
        assignment = work.own_assignment(connection, pid, person)
        if assignment.stage != "task":
            raise GoneError
        return tasks.asked_of(connection, assignment)

    asked = await read(request, find)
    sheet = work.read_sheet(raw, asked.kind.sheet)
    # Drawing a graph and counting its orders can take half a second, in which others save.
    return data_of(await to_thread.run_sync(asked.kind.look, sheet, asked.body, asked.options, translated))


_RAW = msgspec.json.Decoder(msgspec.Raw)


def task_picture(studio: Studio, kind: TaskKind[Any, Any, Any], body: Any, number: int) -> Path | None:
    """Return the file of a picture of a task; None where there is none."""
    from proctor.corpus.collection import find_image

    paths = kind.pictures(body)
    if paths:
        file = find_image(studio.library.root, paths[number]) if 0 <= number < len(paths) else None
        return file if isinstance(file, Path) else None
    part = _part(studio, kind, body, number)
    return part.picture if part is not None else None


def task_sound(studio: Studio, kind: TaskKind[Any, Any, Any], body: Any, number: int) -> Path | None:
    """Return the file of a sound of a task; None where there is none."""
    part = _part(studio, kind, body, number)
    return part.sound if part is not None else None


def _part(studio: Studio, kind: TaskKind[Any, Any, Any], body: Any, number: int) -> Exhibited | None:
    card = task_card(studio, kind, body, "")
    parts = card.parts if card is not None else ()
    return parts[number] if 0 <= number < len(parts) else None
