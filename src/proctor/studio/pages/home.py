"""The first page: what is next for a person."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple
from urllib.parse import urlencode

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from proctor.said import say, say_count, say_in
from proctor.studio.auth import hash_token
from proctor.studio.context import desk_of, person_of, read, studio_of
from proctor.studio.pages.checklist import Standing, owner_steps, reader_steps, standing
from proctor.studio.pages.comments import answers, waits_words
from proctor.studio.pages.dashboard import type_words
from proctor.studio.pages.rounds import rounds_for
from proctor.studio.pages.work import cut_ahead
from proctor.studio.rendering import render, see_other, when_text
from proctor.studio.views import HomeView, ItemRow, NextStep, Task
from proctor.verify.desk import comments, documents, flow
from proctor.verify.desk.documents import Protocol
from proctor.verify.desk.flow import StageCount
from proctor.verify.desk.records import Person, Stage, at_least
from proctor.verify.desk.rounds import list_rounds
from proctor.verify.schema import tables

__all__ = ["items_waiting", "show_home", "show_projects"]

_TITLES: Final[dict[Stage, tuple[str, str, str, str]]] = {
    "training": (
        say("Training"),
        say("You see the reference after each item."),
        say("Begin training"),
        say("Go on training"),
    ),
    "judge": (
        say("Judge questions and answers"),
        say("Watch, judge the question, then its answers."),
        say("Begin judging"),
        say("Go on judging"),
    ),
    "adjudicate": (
        say("Adjudicate"),
        say("Decide what two readers saw differently. Who wrote what is hidden."),
        say("Begin deciding"),
        say("Go on deciding"),
    ),
}


class _Work(NamedTuple):
    """What somebody has done and can do: kinds of items that are closed to them, training and stages, and the tasks that follow."""

    protocol: Protocol
    closed: Collection[str]
    pending: int
    counts: dict[Stage, StageCount]
    tasks: tuple[Task, ...]


async def show_home(request: Request) -> Response:
    """Show what waits."""
    person, desk = person_of(request), desk_of(request)

    def look(connection: Connection) -> HomeView:
        protocol, closed, pending, counts, tasks = _work(connection, person)
        known = documents.guidelines(connection)
        coordinates = at_least(person.role, "coordinator")
        rounds = rounds_for(connection, person)
        idle = not rounds and not any(t.href for t in tasks) and not counts["judge"].done
        now = standing(desk, connection, person) if coordinates or idle else None
        steps = reader_steps(now, person, protocol, pending) if now is not None else ()
        if now is not None and coordinates:
            steps = owner_steps(now, protocol)
        asked = coordinates and bool(list_rounds(connection))
        newer = any(0 < person.guidelines.get(kind, 0) < version for kind, version in known.items())
        return HomeView(
            name=person.name,
            tasks=tasks,
            gate=_gate(person, closed),
            finished=_finished(counts),
            recent=_recent(connection, person),
            guideline_changed="/guideline" if newer else "",
            rounds=rounds,
            todo=_coordination(connection, now, protocol, asked) if now is not None and coordinates else (),
            steps=steps,
            answers=answers(desk, connection, person),
        )

    response = render(request, "home", await read(request, look))
    cut_ahead(request, response, person)
    return response


async def show_projects(request: Request) -> Response:
    """Send a person on to the list of this server's projects, which then shows what is theirs in this one."""
    studio = studio_of(request)
    if not studio.settings.together:
        return see_other("/")
    token_hash = hash_token(studio.auth.token_of(request))
    asked = {"from": studio.settings.origin, "pass": studio.auth.make_pass(token_hash, studio.desk.now())}
    return see_other(f"{studio.settings.together}/?{urlencode(asked)}")


def items_waiting(connection: Connection, person: Person) -> int:
    """Return how many items somebody can work on now."""
    return sum(task.waiting for task in _work(connection, person).tasks if task.href)


def _work(connection: Connection, person: Person) -> _Work:
    protocol = documents.protocol(connection)
    closed = flow.closed_kinds(connection, person, protocol)
    held_back = bool(closed) and closed == flow.item_kinds(connection)
    pending = flow.pending_training(connection, person, protocol)
    counts = {c.stage: c for c in flow.stage_counts(connection, person, protocol)}
    tasks = _tasks(person, protocol, counts, pending, held_back=held_back)
    return _Work(protocol, closed, pending, counts, tasks)


def _tasks(
    person: Person, protocol: Protocol, counts: dict[Stage, StageCount], training: int, *, held_back: bool
) -> tuple[Task, ...]:
    tasks = []
    for stage, (title, detail, begin, go_on) in _TITLES.items():
        count = counts[stage]
        waiting = training if stage == "training" else count.waiting
        if stage == "adjudicate" and not at_least(person.role, "adjudicator"):
            continue
        if not waiting and not count.done:
            continue
        closed = stage in protocol.frozen_stages
        total = waiting + count.done if stage != "adjudicate" else 0
        href = "/next" if waiting and not closed and (stage == "training" or not held_back) else ""
        tasks.append(
            Task(
                stage=stage,
                title=title,
                detail=say("The coordinator has closed this stage.") if closed else detail,
                href=href,
                action=go_on if count.done else begin,
                done=count.done,
                total=total,
                waiting=waiting,
            )
        )
    return tuple(tasks)


def _gate(person: Person, closed: Collection[str]) -> str:
    if not closed:
        return ""
    if "waiting" in {person.gate_of(kind) for kind in closed}:
        return say(
            "Your training is done. A coordinator looks at it and lets you begin; this page then has a button "
            "“Begin judging”."
        )
    return say("The training comes first; then a coordinator lets you begin.")


def _coordination(
    connection: Connection, now: Standing, protocol: Protocol, asked: bool
) -> tuple[NextStep, ...]:
    """Return what waits for a coordinator beside the checklist; the numbers are on the page of progress. A project of rounds (``asked``) needs no items."""
    returned, held = (now.states.get(name, 0) for name in ("returned", "held"))
    waiting = any("waiting" in p.gates.values() for p in now.others)
    questions = comments.count_open(connection)
    steps = (
        (asked and not now.items, "/rounds", say("Follow the rounds"), say("How far each is, and the link by which people come to it.")),
        (not now.items and not asked, "/items", say("Look at the items"), say("There are no items yet. Make questions with “proctor generate” in the workspace, then start the studio again.")),
        (protocol.training_required and waiting, "/people", say("Let people begin"), say("A person has finished the training and waits for you.")),
        (questions, "/comments", say_in("to the coordinators", "Answer questions"), waits_words(questions)),
        (returned + held, "/items?state=returned" if returned else "/items?state=held", say("Decide what came back"), say_count(returned + held, "{n:,} item could not be judged or is disputed.", "{n:,} items could not be judged or are disputed.")),
        (now.items > now.states.get("undealt", 0), "/dashboard", say("Follow the progress"), say("How far everybody is, and how far they agree.")),
    )  # fmt: skip
    return tuple(NextStep(href, label, detail) for waits, href, label, detail in steps if waits)


def _finished(counts: dict[Stage, StageCount]) -> str:
    judged = counts["judge"]
    if judged.done and not judged.waiting:
        return say_count(
            judged.done,
            "You have judged your {n:,} item. Thank you.",
            "You have judged all your {n:,} items. Thank you.",
        )
    return ""


def _recent(connection: Connection, person: Person) -> tuple[ItemRow, ...]:
    a, i = tables().assignments, tables().items
    # The last five first, their items then: whoever has judged thousands would else join all of them.
    last = (
        a.select()
        .with_only_columns(a.c.pid, a.c.stage, a.c.submitted_at, a.c.item_id)
        .where(
            a.c.person_id == person.id,
            a.c.stage.in_(("judge", "adjudicate")),
            a.c.state == "submitted",
            a.c.live.is_(True),
        )
        .order_by(a.c.submitted_at.desc())
        .limit(5)
        .subquery()
    )
    query = (
        last.join(i, i.c.id == last.c.item_id)
        .select()
        .with_only_columns(last.c.pid, last.c.stage, last.c.submitted_at, i.c.body, i.c.title, i.c.stratum)
        .order_by(last.c.submitted_at.desc())
    )
    return tuple(
        ItemRow(
            href=f"/w/{row.pid}",
            question=flow.question_of(row.body),
            activity=row.title,
            kind=type_words(row.stratum),
            state=say("Judged by you") if row.stage == "judge" else say("Decided by you"),
            tone="done",
            at=when_text(row.submitted_at),
        )
        for row in connection.execute(query)
    )
