"""The way from a new project to its first judged item: a checklist for who sets it up, and one for who waits for an item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from msgspec.structs import replace
from sqlalchemy import Connection, func, select

from proctor.said import say, say_count
from proctor.studio.views import Step
from proctor.verify.desk import people
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.documents import Protocol
from proctor.verify.desk.records import Person, Role
from proctor.verify.schema import tables

__all__ = ["Standing", "owner_steps", "reader_steps", "standing"]


class Standing(NamedTuple):
    """Where a project stands: items by state, own versions of texts, everybody else in it, invitations not used yet."""

    states: Mapping[str, int]
    written: int
    others: Sequence[Person]
    invited: int

    @property
    def items(self) -> int:
        """Items that are work, or may become it."""
        return sum(n for state, n in self.states.items() if state not in ("gone", "training"))


def standing(desk: Desk, connection: Connection, me: Person) -> Standing:
    """Look at a project, as somebody in it sees it."""
    i, d = tables().items, tables().documents
    states = connection.execute(select(i.c.state, func.count()).group_by(i.c.state))
    ours = select(func.count()).select_from(d).where(d.c.made_by != people.COMMAND_LINE)
    return Standing(
        {row[0]: int(row[1]) for row in states},
        int(connection.execute(ours).scalar_one()),
        [p for p in people.list_people(desk, connection, state="active") if p.id != me.id],
        len(people.list_invites(desk, connection)),
    )


def owner_steps(now: Standing, protocol: Protocol) -> tuple[Step, ...]:
    """Return texts, training, people and deal with their state; () when all is done, or there is nothing to judge yet."""
    if not now.items:
        return ()
    lessons, undealt = now.states.get("training", 0), now.states.get("undealt", 0)
    roles: Counter[Role] = Counter(p.role for p in now.others if p.role != "worker")
    dealt = now.items > undealt
    begun = bool(now.written or lessons or roles or now.invited or dealt)
    training = (
        say("Switched off in the settings.")
        if not protocol.training_required
        else say_count(
            lessons,
            "{n:,} item. Newcomers judge them first and see the reference after each.",
            "{n:,} items. Newcomers judge them first and see the reference after each.",
        )
        if lessons
        else say(
            "Pick about ten items; newcomers judge them first and see what is right. Without any, people begin "
            "with the work itself."
        )
    )
    steps = (
        Step(say("Texts"), _texts(now, begun), _done(begun), "/guidelines", say("Read the texts")),
        Step(say("Training"), training, _done(lessons or not protocol.training_required or dealt), "/training", say("Pick training items")),
        Step(say("People"), _people(roles, now.invited, protocol.per_item), _done(roles["annotator"] >= protocol.per_item), "/people", say("Invite people")),
        Step(say("Deal"), _deal(undealt, now.items), _done(not undealt), "/deal", say("Deal items")),
    )  # fmt: skip
    return _with_next(steps) if any(s.state != "done" for s in steps) else ()


def reader_steps(now: Standing, me: Person, protocol: Protocol, training: int) -> tuple[Step, ...]:
    """Return what lies between somebody with ``training`` items to do and their first item: why nothing is there, what is next."""
    steps = [
        Step(say("Account and texts"), say("Your account is made, and you have read the texts."), "done")
    ]
    if protocol.training_required and now.states.get("training", 0):
        waits = "waiting" in me.gates.values()
        words = (
            say_count(
                training,
                "{n:,} item to do; after each you see what is right.",
                "{n:,} items to do; after each you see what is right.",
            )
            if training
            else say("Done. A coordinator looks at it and lets you begin.")
            if waits
            else say("Done.")
        )
        steps.append(Step(say("Training"), words, _done(not training and not waits)))
    undealt = now.states.get("undealt", 0)
    if not now.items:
        words = say("The project has no items yet. A coordinator adds them, then shares them out.")
    elif undealt:
        words = say(
            "The items are there, and a coordinator has not shared them out yet. You need do nothing."
        )
    else:
        words = say("All items were shared out before you came. A coordinator can give you a share of them.")
    steps.append(Step(say("Your items"), words))
    steps.append(
        Step(
            say("Judge"), say("A button “Begin judging” then stands on this page. You need not keep it open.")
        )
    )
    return _with_next(tuple(steps))


def _with_next(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    first = next((n for n, step in enumerate(steps) if step.state != "done"), None)
    return tuple(replace(step, state="next") if n == first else step for n, step in enumerate(steps))


def _done(value: object) -> Literal["done", "later"]:
    return "done" if value else "later"


def _texts(now: Standing, begun: bool) -> str:
    if now.written:
        return say("Guideline, consent and settings: the project has its own.")
    if begun:
        return say("Guideline, consent and settings: as Proctor brings them.")
    return say(
        "Guideline, consent and settings are there. Read them; change what your project needs, or keep them and go on."
    )


def _people(roles: Mapping[Role, int], invited: int, per_item: int) -> str:
    some = say_count(roles.get("annotator", 0), "{n:,} annotator", "{n:,} annotators")
    others = say_count(roles.get("adjudicator", 0), "{n:,} adjudicator", "{n:,} adjudicators")
    unused = say_count(invited, "{n:,} invitation not used yet", "{n:,} invitations not used yet")
    here = some if roles.get("annotator") else others if roles.get("adjudicator") else None
    if roles.get("annotator") and roles.get("adjudicator"):
        here = say("{one}, {other}", one=some, other=others)
    if invited:
        known = unused if here is None else say("{here}; {unused}", here=here, unused=unused)
    else:
        known = here or say("Nobody else is here yet")
    return say_count(
        per_item,
        "{known}. Each item is judged by {n:,} person.",
        "{known}. Each item is judged by {n:,} people.",
        known=known,
    )


def _deal(undealt: int, items: int) -> str:
    if not undealt:
        return say_count(items, "{n:,} item, and it is dealt.", "All {n:,} items are dealt.")
    return say(
        "{undealt:,} of {items:,} items have not been dealt. You see the plan before it takes effect.",
        undealt=undealt,
        items=items,
    )
