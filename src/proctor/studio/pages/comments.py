"""Questions to the coordinators: a person's own thread, and all threads for coordinators. docs/studio.md."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from textwrap import shorten
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from proctor.said import say, say_count, say_in
from proctor.studio.context import desk_of, person_of, read, text_in, write
from proctor.studio.rendering import data_of, json_body, render, see_other, when_text
from proctor.studio.views import CommentLine, NextStep, ThreadView
from proctor.verify.desk import comments, work
from proctor.verify.desk.comments import Thread, Waiting
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.records import Assignment, GoneError, InvalidError, Person

__all__ = ["ROUTES", "answers", "own_thread", "questions", "threads_of", "waits_words"]

_short: Final = partial(shorten, width=120, placeholder=" …")


class AskBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What ``POST /w/{pid}/comments`` takes."""

    text: str


_ASK: Final = msgspec.json.Decoder(AskBody)


class ThreadsView(NamedTuple):
    """``threads``: a person's own (``pid`` of the assignment), all about a task, or (no ``address``) what waits; ``error``: why not kept."""

    title: str
    address: str = ""
    threads: tuple[ThreadView, ...] = ()
    pid: str = ""
    back: str = "/"
    waiting: tuple[NextStep, ...] = ()
    text: str = ""
    error: str = ""


def own_thread(connection: Connection, assignment: Assignment, person: Person) -> ThreadView:
    """Return a person's own thread about their work."""
    return _own(comments.own_thread(connection, comments.about_assignment(connection, assignment), person))


def answers(desk: Desk, connection: Connection, person: Person) -> tuple[NextStep, ...]:
    """Return where a coordinator has answered somebody."""
    found = comments.answers_for(desk, connection, person)
    return tuple(NextStep(f"/w/{pid}/comments", when_text(at), _short(asked)) for pid, asked, at in found)


async def show_own(request: Request, text: str = "", error: str = "") -> Response:
    """Show a person's own thread about what they have, or had."""
    pid, person = request.path_params["pid"], person_of(request)

    def look(connection: Connection) -> ThreadsView:
        assignment = _found(connection, pid, person)
        thread, back = own_thread(connection, assignment, person), f"/w/{pid}" if assignment.live else "/"
        address = f"/w/{pid}/comments"
        return ThreadsView(say("Ask the coordinators"), address, (thread,), pid, back, text=text, error=error)

    return render(request, "threads", await read(request, look), status=422 if error else 200)


async def ask(request: Request) -> Response:
    """Take a question in, as data from our module or as a plain form."""
    pid, person, desk = request.path_params["pid"], person_of(request), desk_of(request)
    is_data = request.headers.get("content-type", "").startswith("application/json")
    text = (await json_body(request, _ASK)).text if is_data else text_in(await request.form(), "text")

    def keep(connection: Connection) -> Thread:
        about = comments.about_assignment(connection, _found(connection, pid, person))
        return comments.ask(desk, connection, about, person, text)

    try:
        thread = await write(request, keep)
    except InvalidError as error:
        if is_data:
            raise
        return await show_own(request, text, error.message)
    return data_of({"lines": _own(thread).lines}) if is_data else see_other(f"/w/{pid}/comments?said=asked")


def _found(connection: Connection, pid: str, person: Person) -> Assignment:
    """Return an assignment of this person, even one that has gone to somebody else since."""
    found = work.find_assignment(connection, pid, person)
    if found is None:
        raise GoneError
    return found


def _own(thread: Thread) -> ThreadView:
    """Return a thread as the person who asks sees it: coordinators have no names there."""
    mine = [(c, c.person == thread.person) for c in thread.comments]
    lines = tuple(
        CommentLine(say("You") if m else say("Coordinator"), when_text(c.at), c.text, m) for c, m in mine
    )
    answered = bool(lines) and not (thread.open and lines[-1].mine)
    return ThreadView(lines, "answered" if answered else "waiting" if lines else "")


def waits_words(count: int) -> str:
    """Return how many questions wait, as a sentence."""
    return say_count(count, "{n} question waits for an answer.", "{n:,} questions wait for an answer.")


def threads_of(connection: Connection, pid: str, person: Person) -> tuple[ThreadView, ...]:
    """Return all threads about an item or a task for a coordinator, the notes last, begun or not."""
    shown = []
    for thread in comments.all_threads(connection, comments.find_about(connection, pid), person):
        lines = tuple(CommentLine(c.name, when_text(c.at), c.text) for c in thread.comments)
        state: Any = "" if not thread.person else "waiting" if thread.open else "answered"
        shown.append(ThreadView(lines, state, thread.person, thread.name))
    return (*shown, *(() if shown and not shown[-1].person else (ThreadView(),)))


def questions(waiting: Sequence[Waiting]) -> tuple[NextStep, ...]:
    """Return questions that wait as lines that lead to them."""
    found = []
    for one in waiting:
        place = f"/comments/{one.about}" if one.round else f"/items/{one.about}#comments"
        said = f"{one.who}, {when_text(one.at)}: {_short(one.text)}"
        found.append(NextStep(place, one.name or say_in("to the coordinators", "Question"), said))
    return tuple(found)


async def show_waiting(request: Request) -> Response:
    """Show the questions that wait for an answer, the longest waiting first."""
    found = await read(request, comments.open_threads)
    return render(
        request, "threads", ThreadsView(say_in("to the coordinators", "Questions"), waiting=questions(found))
    )


async def show_threads(request: Request) -> Response:
    """Show the threads about a task of a round; those about an item are on its own page."""
    pid, person = request.path_params["pid"], person_of(request)

    def look(connection: Connection) -> ThreadsView | None:
        about, threads = comments.find_about(connection, pid), threads_of(connection, pid, person)
        view = ThreadsView(about.name, f"/comments/{pid}", threads, back=f"/rounds/{about.round}")
        return view if about.task_id else None

    view = await read(request, look)
    return see_other(f"/items/{pid}#comments") if view is None else render(request, "threads", view)


async def reply(request: Request) -> Response:
    """Answer somebody, close their thread, or write a note for the other coordinators."""
    pid, person, desk = request.path_params["pid"], person_of(request), desk_of(request)
    form: Any = await request.form()
    text, to, close = text_in(form, "text"), text_in(form, "to"), text_in(form, "close") == "1"

    def keep(connection: Connection) -> bool:
        about = comments.find_about(connection, pid)
        comments.reply(desk, connection, about, person, text, to=to, close=close)
        return bool(about.item_id)

    is_item = await write(request, keep)
    return see_other(f"/items/{pid}?said=saved#comments" if is_item else f"/comments/{pid}?said=saved")


ROUTES: Final = (
    ("/w/{pid}/comments", "GET", show_own, "own-assignment"),
    ("/w/{pid}/comments", "POST", ask, "own-assignment"),
    ("/comments", "GET", show_waiting, "coordinator"),
    ("/comments/{pid}", "GET", show_threads, "coordinator"),
    ("/comments/{pid}", "POST", reply, "coordinator"),
)
"""Rows of the route table."""
