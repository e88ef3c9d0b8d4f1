"""The first page: what is next for a person."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import msgspec
from sqlalchemy import Connection, func
from starlette.requests import Request
from starlette.responses import Response

from proctor.studio.context import person_of, read
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
    person = person_of(request)

    def look(connection: Connection) -> HomeView:
        protocol = documents.protocol(connection)
        closed = flow.closed_kinds(connection, person, protocol)
        held_back = bool(closed) and closed == flow.item_kinds(connection)
        pending = flow.pending_training(connection, person, protocol)
        counts = {c.stage: c for c in flow.stage_counts(connection, person, protocol)}
        known = documents.guidelines(connection)
        newer = any(0 < person.guidelines.get(kind, 0) < version for kind, version in known.items())
        return HomeView(
            name=person.name,
            tasks=_tasks(person, protocol, counts, pending, held_back=held_back),
            gate=_gate(person, closed),
            finished=_finished(counts),
            recent=_recent(connection, person),
            guideline_changed="/guideline" if newer else "",
            rounds=rounds_for(connection, person),
            todo=_coordination(connection, person, protocol) if at_least(person.role, "coordinator") else (),
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


def _coordination(connection: Connection, me: Person, protocol: Protocol) -> tuple[NextStep, ...]:
    """Return what a project waits for, in the order of a project's life; the numbers are on the page of progress."""
    i, p = tables().items, tables().people
    items = i.select().with_only_columns(i.c.state, func.count()).group_by(i.c.state)
    states = {row[0]: int(row[1]) for row in connection.execute(items)}
    others = p.select().with_only_columns(p.c.gates)
    others = others.where(p.c.state == "active", p.c.id != me.id)
    gates = [set(msgspec.json.decode(row.gates).values()) for row in connection.execute(others)]
    undealt, returned, held = (states.get(name, 0) for name in ("undealt", "returned", "held"))
    steps = (
        (not gates, "/people", "Invite people", "Nobody else is here yet. Two people judge each item, so invite two or more; each gets a link."),
        (not sum(states.values()), "/items", "Look at the items", "There are no items yet. Make questions with “proctor generate” in the workspace, then start the studio again."),
        (protocol.training_required and any("waiting" in known for known in gates), "/people", "Let people begin", "Somebody has finished the training and waits for you."),
        (undealt, "/deal", "Deal items", f"{undealt:,} items are given to nobody. You choose who judges how many, and see the plan before it counts."),
        (returned + held, "/items?state=returned" if returned else "/items?state=held", "Decide what came back", f"{returned + held:,} items could not be judged or are disputed."),
        (True, "/dashboard", "Follow the progress", "How far everybody is, and how far they agree."),
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
