"""Rounds of tasks: how people come to them and leave them, and how far they are. docs/rounds.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from msgspec import structs
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from proctor.said import ours, say, say_in
from proctor.studio.context import desk_of, person_of, read, studio_of, text_in, write
from proctor.studio.language import figures, translated
from proctor.studio.markdown import render_markdown
from proctor.studio.pages.comments import answers, questions
from proctor.studio.pages.tasks import field_views
from proctor.studio.rendering import render, see_other
from proctor.studio.views import Field, HeldTask, JoinView, RoundRow, RoundsView, RoundView
from proctor.verify.desk import comments, people, rounds
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.records import GoneError, InvalidError, Person
from proctor.verify.rounds.checked import checked_kind
from proctor.verify.rounds.form import FormSheet, form_sheet, said_field
from proctor.verify.rounds.kind import Offer, task_kind
from proctor.verify.rounds.records import Batch, Round, Task

__all__ = ["ROUTES", "round_of", "round_row", "rounds_for", "tasks_waiting"]

PLATFORM: Final = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
"""Parameters by which a platform says who comes, for which study, in which session (Prolific's names)."""
_OTHERS: Final = {"PROLIFIC_PID": "workerId", "STUDY_ID": "hitId", "SESSION_ID": "assignmentId"}
"""What Mechanical Turk calls them."""
_LONGEST_ID: Final = 200
_BATCHES: Final = {
    "complete": say("Batches complete"),
    "expired": say("Batches expired"),
    "open": say("Batches open"),
    "refused": say("Batches refused"),
}


# -- for those who take part -----------------------------------------------------------------------------------


async def show_mine(request: Request) -> Response:
    """Show the rounds that somebody may take part in."""
    person, desk = person_of(request), desk_of(request)

    def look(connection: Connection) -> RoundsView:
        rows = rounds_for(connection, person)
        return RoundsView(rows, mine=True, answers=answers(desk, connection, person))

    return render(request, "rounds", await read(request, look))


def rounds_for(connection: Connection, person: Person) -> tuple[RoundRow, ...]:
    """Return the rounds that somebody may take part in, or has taken part in."""
    return tuple(round_row(connection, r, f"/r/{r.pid}") for r in _rounds_of(connection, person))


def tasks_waiting(desk: Desk, connection: Connection, person: Person) -> int:
    """Return how many tasks of rounds somebody can work on now."""
    mine = _rounds_of(connection, person)
    return sum(rounds.count_waiting(desk, connection, r, person) for r in mine)


def _rounds_of(connection: Connection, person: Person) -> list[Round]:
    found = []
    for round_ in rounds.list_rounds(connection):
        open_to_all = person.role != "worker" and round_.state == "open" and not round_.settings.workers
        if open_to_all or rounds.current_batch(connection, round_, person) is not None:
            found.append(round_)
    return found


async def show_round(request: Request) -> Response:
    """Show what a round is, and how far somebody is in it."""
    round_ = await read(request, lambda c: rounds.find_round(c, request.path_params["round"]))
    person: Person | None = request.state.person
    asked = _platform(request.query_params)
    if person is None or (person.role == "worker" and asked["PROLIFIC_PID"]):
        if not round_.settings.workers:
            return see_other(f"/signin?next={quote(request.url.path)}")
        return render(request, "round", _view(round_, "ask", hidden=asked))
    empty = "empty" in request.query_params
    desk = desk_of(request)

    def look(connection: Connection) -> JoinView:
        view = _standing(desk, connection, round_, person, empty=empty)
        return structs.replace(view, answers=answers(desk, connection, person))

    return render(request, "round", await read(request, look))


async def join(request: Request) -> Response:
    """Take somebody in who comes by a platform's link and gives consent; who came before goes on where they were."""
    desk, form = desk_of(request), await request.form()
    round_ = await read(request, lambda c: rounds.find_round(c, request.path_params["round"]))
    asked = _platform(form)
    name = asked["PROLIFIC_PID"]
    if not round_.settings.workers or not name:
        raise GoneError
    if text_in(form, "consent") != "yes":
        raise InvalidError(
            [("consent", say("Nobody takes part without giving consent. You can close this page."))]
        )

    def come(connection: Connection) -> Person:
        person = rounds.worker(desk, connection, name, study=asked["STUDY_ID"], session=asked["SESSION_ID"])
        people.consent_given(desk, connection, person, 1)
        return person

    person = await write(request, come)
    auth = studio_of(request).auth
    response = see_other(f"/r/{round_.pid}")
    auth.set_cookie(response, await auth.open(request, person))
    return response


async def start(request: Request) -> Response:
    """Reserve a batch, or go on with the one that is open."""
    desk, person = desk_of(request), person_of(request)
    form = await request.form()

    def take(connection: Connection) -> str | tuple[str, FormSheet]:
        round_ = rounds.find_round(connection, request.path_params["round"])
        if (
            round_.settings.workers != (person.role == "worker")
            and rounds.current_batch(connection, round_, person) is None
        ):
            raise GoneError
        sheet = form_sheet([item.field for item in round_.settings.quiz], form)
        if not _has_passed(person, round_):
            if _wrong(round_, sheet):
                return round_.pid, sheet
            passed = [*_passed(person), round_.pid]
            people.set_settings(desk, connection, person, {**person.settings, "rounds": passed[-100:]})
        batch = rounds.open_batch(desk, connection, round_, person, task=text_in(form, "task"))
        following = rounds.count_batch(connection, batch).following if batch is not None else None
        return f"/w/{following}" if following else f"/r/{round_.pid}{'' if batch else '?empty=1'}"

    found = await write(request, take)
    if isinstance(found, str):
        return see_other(found)
    round_ = await read(request, lambda c: rounds.find_round(c, found[0]))
    return render(request, "round", _view(round_, "quiz", sheet=found[1]), status=422)


async def stop(request: Request) -> Response:
    """End somebody's batch before it is done."""
    desk, person = desk_of(request), person_of(request)

    def end(connection: Connection) -> str:
        round_ = rounds.find_round(connection, request.path_params["round"])
        batch = rounds.current_batch(connection, round_, person)
        if batch is None:
            raise GoneError
        rounds.stop_batch(desk, connection, batch, person)
        return round_.pid

    return see_other(f"/r/{await write(request, end)}?said=stopped")


def _platform(fields: Any) -> dict[str, str]:
    found = {name: text_in(fields, name) or text_in(fields, _OTHERS[name]) for name in PLATFORM}
    if any(len(value) > _LONGEST_ID or not value.isprintable() for value in found.values()):
        raise GoneError
    return found


def _passed(person: Person) -> list[str]:
    known = person.settings.get("rounds", [])
    return [str(pid) for pid in known] if isinstance(known, list) else []


def _has_passed(person: Person, round_: Round) -> bool:
    """True when somebody has begun the round: the quiz on the instructions is never asked again after that."""
    return round_.pid in _passed(person)


def _wrong(round_: Round, sheet: FormSheet) -> dict[str, str]:
    """Return what is wrong of the quiz, by field, with why."""
    return {
        item.field.name: ours(item.why) or say("Read the instructions again; this is not what they say.")
        for item in round_.settings.quiz
        if sheet.values.get(item.field.name) != item.right
    }


def _standing(desk: Desk, connection: Connection, round_: Round, person: Person, *, empty: bool) -> JoinView:
    batch = rounds.current_batch(connection, round_, person)
    if batch is None:
        quiz = round_.settings.quiz and not _has_passed(person, round_)
        state = "closed" if round_.state != "open" else "empty" if empty else "quiz" if quiz else "ready"
        return _view(round_, state, offers=rounds.list_offers(desk, connection, round_, person))
    count = rounds.count_batch(connection, batch)
    state = {"open": "going", "expired": "late"}.get(batch.state, "done")
    if state == "going" and round_.state != "open":
        state = "closed"
    more = state in ("done", "late") and round_.state == "open"
    offers = rounds.list_offers(desk, connection, round_, person) if more else ()
    return _view(round_, state, batch=batch, done=count.done, total=count.total, offers=offers)


def _view(
    round_: Round,
    state: Any,
    *,
    hidden: dict[str, str] | None = None,
    sheet: FormSheet | None = None,
    batch: Batch | None = None,
    done: int = 0,
    total: int = 0,
    offers: Sequence[tuple[Task, Offer]] = (),
) -> JoinView:
    kind, settings = task_kind(round_.kind), round_.settings
    errors = tuple(Field(n, text) for n, text in _wrong(round_, sheet).items()) if sheet is not None else ()
    code = batch.code if batch is not None and state in ("done", "late") and done else ""
    if state == "empty" and settings.workers:
        code = f"NONE-{round_.pid[:8].upper()}"  # so that nobody who came in vain is without one
    return JoinView(
        address=f"/r/{round_.pid}",
        title=settings.title or kind.title,
        detail=kind.detail,
        state=state,
        consent=render_markdown(settings.consent) if state == "ask" else render_markdown(""),
        instructions=render_markdown(str(translated(ours(settings.instructions)))),
        hidden=tuple(Field(name, value) for name, value in (hidden or {}).items()),
        quiz=field_views([said_field(item.field) for item in settings.quiz], sheet or FormSheet(), errors)
        if state == "quiz"
        else (),
        done=done,
        total=total,
        code=code,
        redirect=settings.redirect.replace("{code}", quote(code, safe="")) if code else "",
        again=state in ("done", "late") and round_.state == "open" and settings.batches != 1,
        minutes=round(settings.lease_minutes),
        offers=tuple((task.pid, offer) for task, offer in offers),
    )


# -- for coordinators ------------------------------------------------------------------------------------------


def round_of(request: Request, connection: Connection) -> Round:
    """Return the round of the address."""
    return rounds.find_round(connection, request.path_params["round"])


async def show_rounds(request: Request) -> Response:
    """Show all rounds."""

    def look(connection: Connection) -> RoundsView:
        found = rounds.list_rounds(connection)
        return RoundsView(tuple(round_row(connection, r, f"/rounds/{r.pid}") for r in found))

    return render(request, "rounds", await read(request, look))


def round_row(connection: Connection, round_: Round, href: str) -> RoundRow:
    """Return how far a round is, with the address of its page."""
    far = rounds.progress(connection, round_)
    title = round_.settings.title or task_kind(round_.kind).title
    return RoundRow(href, round_.name, title, round_.state, far.tasks, far.wanted, far.done, far.people)


async def show_progress(request: Request) -> Response:
    """Show how far a round is, and what came back."""
    origin = studio_of(request).settings.origin

    def look(connection: Connection) -> RoundView:
        round_ = round_of(request, connection)
        far = rounds.progress(connection, round_)
        link = f"{origin}/r/{round_.pid}"
        parameters = "&".join(f"{name}={{{{%{name}%}}}}" for name in PLATFORM)
        s = round_.settings
        told = {
            say("People for each task"): str(s.wanted),
            say("Tasks of a batch"): str(s.batch) if s.batch else say_in("tasks of a batch", "all"),
            say("Test and attention tasks of a batch"): say(
                "{tests} and {attention}", tests=s.tests, attention=s.attention
            ),
            say("Minutes for a batch"): figures(f"{s.lease_minutes:g}")
            if s.lease_minutes
            else say_in("minutes for a batch", "any"),
            say("Tasks"): figures(f"{far.tasks:,}"),
            say("People so far"): figures(f"{far.people:,}"),
            **{_BATCHES[state]: figures(f"{count:,}") for state, count in sorted(far.batches.items())},
        }
        return RoundView(
            row=round_row(connection, round_, ""),
            address=f"/rounds/{round_.pid}",
            link=link,
            platform_link=f"{link}?{parameters}" if s.workers else "",
            held=tuple(HeldTask(task.pid, task.name, why) for task, why in far.held),
            settings=tuple(Field(name, value) for name, value in told.items()),
            review=f"/rounds/{round_.pid}/review" if checked_kind(round_) else "",
            questions=questions(comments.open_threads(connection, round_id=round_.id)),
        )

    return render(request, "round_progress", await read(request, look))


async def change(request: Request) -> Response:
    """Close a round, open it again, or give a task out again."""
    desk, actor = desk_of(request), person_of(request).pid
    form = await request.form()
    action, task = text_in(form, "action"), text_in(form, "task")

    def act(connection: Connection) -> str:
        round_ = round_of(request, connection)
        _act(desk, connection, round_, action, task, actor)
        return round_.pid

    return see_other(f"/rounds/{await write(request, act)}?said=saved")


def _act(desk: Desk, connection: Connection, round_: Round, action: str, task: str, actor: str) -> None:
    if action in ("open", "closed"):
        rounds.set_state(desk, connection, round_, action, actor=actor)
    elif action == "again":
        rounds.give_out_again(desk, connection, round_, task, actor=actor)
    else:
        raise InvalidError([("action", say("There is no such action."))])


ROUTES: Final = (
    ("/r", "GET", show_mine, "worker"),
    ("/r/{round}", "GET", show_round, "public"),
    ("/r/{round}/join", "POST", join, "public"),
    ("/r/{round}/start", "POST", start, "worker"),
    ("/r/{round}/stop", "POST", stop, "worker"),
    ("/rounds", "GET", show_rounds, "coordinator"),
    ("/rounds/{round}", "GET", show_progress, "coordinator"),
    ("/rounds/{round}", "POST", change, "coordinator"),
)
"""Rows of the route table."""
