"""The log: who did what and when, newest first, and whether the chain of digests holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import urlencode

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from proctor.studio.context import Studio, beside_of, number_in, read, studio_of
from proctor.studio.rendering import looking_again, render, when_text
from proctor.studio.views import Choice, EventsView, Filter, Page
from proctor.studio.views import Event as Line
from proctor.verify.desk import people
from proctor.verify.desk.events import Checked, Event, check_events, is_short, look_back
from proctor.verify.desk.people import COMMAND_LINE

__all__ = ["ROUTES", "check", "show_events", "words_of"]

_LINES: Final = 100
_WORK: Final = "chain"
_KNOWN: Final = "chain"

_GROUPS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "work": ("Work", ("training.", "judge.", "adjudicate.")),
    "people": ("People", ("person", "role", "gate", "left", "rejoined", "withdrawn", "name")),
    "account": ("Accounts", ("password", "invite", "link", "signed", "session", "consent", "guideline-read")),
    "items": (
        "Items and deals",
        ("items.", "item.", "training.added", "training.changed", "training.removed"),
    ),
    "texts": ("Texts and settings", ("document",)),
    "export": ("Exports", ("export",)),
}
"""What can be looked for: label, and how the kinds of its events begin."""

_WORDS: Final[Mapping[str, str]] = {
    "training.submitted": "submitted a training item",
    "training.returned": "could not judge a training item",
    "training.added": "put an item into the training set",
    "training.changed": "changed a reference of the training set",
    "training.removed": "took an item out of the training set",
    "judge.submitted": "submitted an item",
    "judge.undone": "took a submitted item back",
    "judge.returned": "could not judge an item",
    "adjudicate.reserved": "opened a case",
    "adjudicate.expired": "a case went back: its time ran out",
    "adjudicate.released": "released a case that somebody had open",
    "adjudicate.submitted": "decided a case",
    "adjudicate.undone": "took a decision back",
    "adjudicate.returned": "disputed a case",
    "items.synced": "brought the items in line with the candidates",
    "items.dealt": "dealt items",
    "item.given-out-again": "gave a returned item out again",
    "item.resolved": "resolved a held item",
    "person-added": "made an account",
    "person.leave": "moved open items of somebody who leaves",
    "person.join": "gave somebody a share of the open items",
    "person.annul": "annulled somebody's work",
    "person.withdraw": "withdrew somebody's consent for them",
    "role": "gave a role",
    "gate": "changed who may begin",
    "left": "marked somebody as left",
    "rejoined": "took somebody back in",
    "withdrawn": "removed what says who somebody is",
    "name": "changed the display name",
    "password": "set a password",
    "invited": "made an invitation",
    "invite-revoked": "took an invitation back",
    "link": "made a sign-in link",
    "signed-out-everywhere": "signed somebody out everywhere",
    "consent": "gave consent",
    "guideline-read": "read the guideline",
    "document": "kept a new version of a text",
    "document-frozen": "froze a text",
    "document-thawed": "opened a text for new versions",
}


class _Chain(NamedTuple):
    """What was last known of the chain: when it was looked at, what was found, or why nothing was."""

    at: float
    found: Checked | None
    problem: str = ""


async def check(request: Request) -> Response:
    """Tell the whole chain of digests again: at once while it is short, beside the requests when it is long."""
    studio = studio_of(request)

    def begin(connection: Connection) -> None:
        at = studio.desk.now()
        if is_short(connection):
            studio.more[_KNOWN] = _Chain(at, check_events(studio.desk, connection))
        else:
            _take_in(studio)
            beside_of(studio).begin(_WORK, check_events)

    await read(request, begin)
    return await show_events(request)


def _take_in(studio: Studio) -> bool:
    """Keep what a check beside the requests has found; true while one is under way."""
    found = beside_of(studio).look(_WORK)
    if found is None or found.running:
        return found is not None
    problem = found.problem.message if found.problem is not None else ""
    studio.more[_KNOWN] = _Chain(found.at, found.value, problem)
    beside_of(studio).forget(_WORK)
    return False


async def show_events(request: Request) -> Response:
    """Show the log, a page at a time."""
    query, studio = request.query_params, studio_of(request)
    group = query.get("kind", "") if query.get("kind", "") in _GROUPS else ""
    who, before = query.get("who", "")[:64], number_in(query.get("before", "")) or None

    def look(connection: Connection) -> EventsView:
        names = {p.pid: p.name for p in people.list_people(studio.desk, connection)}
        found, following = look_back(
            connection,
            before=before,
            actor=who or None,
            begins=_GROUPS[group][1] if group else (),
            limit=_LINES,
        )
        checking = _take_in(studio)
        chain, holds = _chain(studio.more.get(_KNOWN))
        return EventsView(
            filters=_filters(names, group, who),
            rows=tuple(_line(event, names) for event in found),
            page=Page(
                first=0,
                last=0,
                total=0,
                before=_address(group, who, None) if before is not None else "",
                after=_address(group, who, following) if following is not None else "",
            ),
            chain=chain,
            chain_holds=holds,
            checking=checking,
            again=_address(group, who, before),
        )

    view = await read(request, look)
    return looking_again(render(request, "events", view), view.again if view.checking else "")


def _chain(known: _Chain | None) -> tuple[str, bool]:
    if known is None:
        return "Each event is bound to the one before it by a digest. The chain was not checked yet.", True
    at = when_text(known.at)
    if known.found is None:
        return f"The chain could not be checked ({at}): {known.problem}", False
    events, broken = known.found
    if broken is not None:
        return (
            f"The chain breaks at event {broken}: somebody has changed the store by hand (checked {at}).",
            False,
        )
    return f"The chain of {events:,} events holds from the first to the last (checked {at}).", True


def _line(event: Event, names: Mapping[str, str]) -> Line:
    return Line(
        at=when_text(event.at),
        who=names.get(event.actor, {COMMAND_LINE: "the command line"}.get(event.actor, event.actor)),
        what=words_of(event, names),
        href=_href(event),
        hash=str(event.id),
    )


def words_of(event: Event, names: Mapping[str, str]) -> str:
    """Return an event in words, with whom it is about and the details that a coordinator looks for."""
    words = _WORDS.get(event.kind, event.kind.replace("-", " ").replace(".", " "))
    about = names.get(event.subject, "")
    if about and event.subject != event.actor:
        words += f": {about}"
    details = _details(event)
    return f"{words} ({details})" if details else words


def _details(event: Event) -> str:
    body = event.body
    if event.kind == "items.dealt":
        return f"{body['items']:,} to people, {body['to_machines']:,} to machines, {body['policy']}"
    if event.kind in ("role", "gate"):
        return f"{body['before']} → {body['after']}"
    if event.kind in ("person.leave", "person.join", "person.annul"):
        reason = f"; {body['reason']}" if body.get("reason") else ""
        return f"{body['moved']} moved, {body['voided']} void, {body['stuck']} that nobody can take{reason}"
    if event.kind == "document":
        note = f"; {body['note']}" if body.get("note") else ""
        return f"{event.subject}, version {body['version']}{note}"
    if event.kind.startswith("document-"):
        return f"{event.subject}, version {body['version']}"
    if event.kind == "items.synced":
        return ", ".join(f"{body[k]:,} {k}" for k in ("new", "changed", "gone") if body.get(k))
    if event.kind == "person.withdraw":
        return "judgements kept" if body.get("judgements") == "keep" else "judgements void"
    return ""


def _href(event: Event) -> str:
    item = event.body.get("item")
    if isinstance(item, str):
        return f"/items/{item}"
    if event.kind in (
        "training.added",
        "training.changed",
        "training.removed",
        "item.resolved",
        "item.given-out-again",
    ):
        return f"/items/{event.subject}"
    if event.kind.startswith("document"):
        return f"/guidelines?kind={event.subject}"
    return ""


def _filters(names: Mapping[str, str], group: str, who: str) -> tuple[Filter, ...]:
    kinds = [Choice("", "everything", not group)]
    kinds += [Choice(key, label, key == group) for key, (label, _) in _GROUPS.items()]
    actors = [Choice("", "everybody", not who)]
    actors += [Choice(pid, name, pid == who) for pid, name in names.items()]
    actors.append(Choice(COMMAND_LINE, "the command line", who == COMMAND_LINE))
    return Filter("kind", "What", tuple(kinds)), Filter("who", "Who", tuple(actors))


def _address(group: str, who: str, before: int | None) -> str:
    values = {"kind": group, "who": who, "before": "" if before is None else str(before)}
    query = urlencode({k: v for k, v in values.items() if v})
    return f"/events?{query}" if query else "/events"


ROUTES: Final = (
    ("/events", "GET", show_events, "coordinator"),
    ("/events/check", "GET", check, "coordinator"),
)
"""Rows of the route table."""
