"""The first page: what is next for a person."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from proctor.studio.context import desk_of, person_of, read
from proctor.studio.pages.checklist import Standing, owner_steps, reader_steps, standing
from proctor.studio.pages.rounds import rounds_for
from proctor.studio.pages.work import cut_ahead
from proctor.studio.rendering import render, when_text
from proctor.studio.views import HomeView, ItemRow, NextStep, Task
from proctor.verify.desk import documents, flow
from proctor.verify.desk.documents import Protocol
from proctor.verify.desk.flow import StageCount
from proctor.verify.desk.records import Person, Stage, at_least
from proctor.verify.schema import tables

__all__ = ["show_home"]

_TITLES: Final[dict[Stage, tuple[str, str, str]]] = {
    "training": ("Training", "You see the reference after each item.", "Go on training"),
    "judge": ("Judge questions and answers", "Watch, judge the question, then its answers.", "Go on judging"),
    "adjudicate": (
        "Adjudicate",
        "Decide what two readers saw differently. Who wrote what is hidden.",
        "Go on deciding",
    ),
}


async def show_home(request: Request) -> Response:
    """Show what waits."""
    person, desk = person_of(request), desk_of(request)

    def look(connection: Connection) -> HomeView:
        protocol = documents.protocol(connection)
        closed = flow.closed_kinds(connection, person, protocol)
        held_back = bool(closed) and closed == flow.item_kinds(connection)
        pending = flow.pending_training(connection, person, protocol)
        counts = {c.stage: c for c in flow.stage_counts(connection, person, protocol)}
        known = documents.guidelines(connection)
        coordinates = at_least(person.role, "coordinator")
        tasks = _tasks(person, protocol, counts, pending, held_back=held_back)
        rounds = rounds_for(connection, person)
        idle = not rounds and not any(t.href for t in tasks) and not counts["judge"].done
        now = standing(desk, connection, person) if coordinates or idle else None
        steps = reader_steps(now, person, protocol, pending) if now is not None else ()
        if now is not None and coordinates:
            steps = owner_steps(now, protocol)
        newer = any(0 < person.guidelines.get(kind, 0) < version for kind, version in known.items())
        return HomeView(
            name=person.name,
            tasks=tasks,
            gate=_gate(person, closed),
            finished=_finished(counts),
            recent=_recent(connection, person),
            guideline_changed="/guideline" if newer else "",
            rounds=rounds,
            todo=_coordination(now, protocol) if now is not None and coordinates else (),
            steps=steps,
        )

    response = render(request, "home", await read(request, look))
    cut_ahead(request, response, person)
    return response


def _tasks(
    person: Person, protocol: Protocol, counts: dict[Stage, StageCount], training: int, *, held_back: bool
) -> tuple[Task, ...]:
    tasks = []
    for stage, (title, detail, action) in _TITLES.items():
        count = counts[stage]
        waiting = training if stage == "training" else count.waiting
        if stage == "adjudicate" and not at_least(person.role, "adjudicator"):
            continue
        if not waiting and not count.done:
            continue
        closed = stage in protocol.frozen_stages
        total = waiting + count.done if stage != "adjudicate" else 0
        href = "/next" if waiting and not closed and (stage == "training" or not held_back) else ""
        words = action if count.done else action.replace("Go on ", "Begin ")
        tasks.append(
            Task(
                stage=stage,
                title=title,
                detail="The coordinator has closed this stage." if closed else detail,
                href=href,
                action=words,
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
        return (
            "Your training is done. A coordinator looks at it and lets you begin; this page then has a button "
            "“Begin judging”."
        )
    return "The training comes first; then a coordinator lets you begin."


def _coordination(now: Standing, protocol: Protocol) -> tuple[NextStep, ...]:
    """Return what waits for a coordinator beside the checklist; the numbers are on the page of progress."""
    returned, held = (now.states.get(name, 0) for name in ("returned", "held"))
    waiting = any("waiting" in p.gates.values() for p in now.others)
    steps = (
        (not now.items, "/items", "Look at the items", "There are no items yet. Make questions with “proctor generate” in the workspace, then start the studio again."),
        (protocol.training_required and waiting, "/people", "Let people begin", "Somebody has finished the training and waits for you."),
        (returned + held, "/items?state=returned" if returned else "/items?state=held", "Decide what came back", f"{returned + held:,} items could not be judged or are disputed."),
        (now.items > now.states.get("undealt", 0), "/dashboard", "Follow the progress", "How far everybody is, and how far they agree."),
    )  # fmt: skip
    return tuple(NextStep(href, label, detail) for waits, href, label, detail in steps if waits)


def _finished(counts: dict[Stage, StageCount]) -> str:
    judged = counts["judge"]
    if judged.done and not judged.waiting:
        return f"You have judged all your {judged.done} items. Thank you."
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
            kind=row.stratum,
            state="Judged by you" if row.stage == "judge" else "Decided by you",
            tone="done",
            at=when_text(row.submitted_at),
        )
        for row in connection.execute(query)
    )
