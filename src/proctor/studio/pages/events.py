"""The log: who did what and when, newest first, and whether the chain of digests holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Final, NamedTuple
from urllib.parse import urlencode

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from proctor.said import listed, say, say_in
from proctor.studio.context import Studio, beside_of, number_in, read, studio_of
from proctor.studio.rendering import looking_again, render, when_text
from proctor.studio.views import Choice, EventsView, Filter, Page
from proctor.studio.views import Event as Line
from proctor.verify.desk import people
from proctor.verify.desk.events import Checked, Event, check_events, is_short, look_back
from proctor.verify.desk.people import COMMAND_LINE

__all__ = ["ROUTES", "check", "in_a_row", "role_words", "show_events", "words_of"]

_LINES: Final = 100
_WORK: Final = "chain"
_KNOWN: Final = "chain"

_GROUPS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "work": (say("Work"), ("training.", "judge.", "adjudicate.")),
    "people": (say("People"), ("person", "role", "gate", "left", "rejoined", "withdrawn", "name")),
    "account": (
        say("Accounts"),
        ("password", "invite", "link", "signed", "session", "identity", "token", "consent", "guideline-read"),
    ),
    "items": (
        say("Items and deals"),
        ("items.", "item.", "training.added", "training.changed", "training.removed"),
    ),
    "texts": (say("Texts and settings"), ("document",)),
    "comments": (say("Comments"), ("comment",)),
    "export": (say("Exports"), ("export",)),
}
"""What can be looked for: label, and how the kinds of its events begin."""

_WORDS: Final[Mapping[str, str]] = {
    "training.submitted": say("submitted a training item"),
    "training.returned": say("could not judge a training item"),
    "training.added": say("put an item into the training set"),
    "training.changed": say("changed a reference of the training set"),
    "training.removed": say("took an item out of the training set"),
    "judge.submitted": say("submitted an item"),
    "judge.undone": say("took a submitted item back"),
    "judge.returned": say("could not judge an item"),
    "adjudicate.reserved": say("opened a case"),
    "adjudicate.expired": say("a case went back: its time ran out"),
    "adjudicate.released": say("released a case that another person had open"),
    "adjudicate.submitted": say("decided a case"),
    "adjudicate.undone": say("took a decision back"),
    "adjudicate.returned": say("disputed a case"),
    "items.synced": say("brought the items in line with the candidates"),
    "items.dealt": say("dealt items"),
    "items.brought": say("brought verdicts in from elsewhere"),
    "item.given-out-again": say("gave a returned item out again"),
    "item.resolved": say("resolved a held item"),
    "person-added": say("made an account"),
    "person.leave": say("moved open items of a person who leaves"),
    "person.join": say("gave a person a share of the open items"),
    "person.annul": say("annulled a person's work"),
    "person.withdraw": say("withdrew a person's consent for them"),
    "role": say("gave a role"),
    "gate": say("changed who may begin"),
    "left": say("marked a person as left"),
    "rejoined": say("took a person back in"),
    "withdrawn": say("removed what says who a person is"),
    "name": say("changed the display name"),
    "password": say("set a password"),
    "invited": say("made an invitation"),
    "invite-revoked": say("took an invitation back"),
    "link": say("made a sign-in link"),
    "identity.connected": say("connected a login of an institution"),
    "identity.disconnected": say("disconnected a login of an institution"),
    "token.made": say("made a token for a program"),
    "token.ended": say("ended a token of a program"),
    "signed-out-everywhere": say("signed a person out everywhere"),
    "consent": say("gave consent"),
    "guideline-read": say("read the guideline"),
    "document": say("kept a new version of a text"),
    "document-frozen": say("froze a text"),
    "document-thawed": say("opened a text for new versions"),
    "comment.added": say("wrote a comment"),
    "comment.closed": say("marked a question as answered"),
    "adjudicate.outdated": say("a case went back: what is to be decided has changed"),
    "round.added": say("made a round"),
    "round.open": say("opened a round again"),
    "round.closed": say("closed a round"),
    "task.submitted": say("submitted a task"),
    "task.undone": say("took a submitted task back"),
    "task.returned": say("could not do a task"),
    "task.given-out-again": say("gave a returned task out again"),
    "batch.taken": say("took a batch"),
    "batch.open": say("opened a batch again"),
    "batch.complete": say("finished a batch"),
    "batch.expired": say("a batch went back: its time ran out"),
    "batch.review-accept": say("accepted a batch"),
    "batch.review-refuse": say("set a batch aside"),
    "batch.review-bonus": say("paid a bonus"),
    "batch.review-correct": say("corrected a rating"),
    "export": say("made an export"),
}


_ROLES: Final[Mapping[str, str]] = {
    "annotator": say_in("role", "annotator"),
    "adjudicator": say_in("role", "adjudicator"),
    "coordinator": say_in("role", "coordinator"),
    "owner": say_in("role", "owner"),
    "worker": say_in("role", "worker"),
}
_GATES: Final[Mapping[str, str]] = {
    "waiting": say_in("of a person", "waiting"),
    "training": say_in("of a person", "training"),
    "open": say_in("of a person", "open"),
}
_POLICIES: Final[Mapping[str, str]] = {
    "everything": say_in("policy", "everything"),
    "doubted": say_in("policy", "doubted"),
    "audit": say_in("policy", "audit"),
}
_TEXTS: Final[Mapping[str, str]] = {
    "guideline": say_in("text", "guideline"),
    "consent": say_in("text", "consent"),
    "protocol": say_in("text", "protocol"),
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
        return (
            say("Each event is bound to the one before it by a digest. The chain was not checked yet."),
            True,
        )
    at = when_text(known.at)
    if known.found is None:
        return say("The chain could not be checked ({at}): {problem}", at=at, problem=known.problem), False
    events, broken = known.found
    if broken is not None:
        return (
            say(
                "The chain breaks at event {broken}: the store was changed by hand (checked {at}).",
                broken=broken,
                at=at,
            ),
            False,
        )
    return (
        say(
            "The chain of {events:,} events holds from the first to the last (checked {at}).",
            events=events,
            at=at,
        ),
        True,
    )


def _line(event: Event, names: Mapping[str, str]) -> Line:
    return Line(
        at=when_text(event.at),
        who=names.get(event.actor, {COMMAND_LINE: say("the command line")}.get(event.actor, event.actor)),
        what=words_of(event, names),
        href=_href(event),
        hash=str(event.id),
    )


def words_of(event: Event, names: Mapping[str, str]) -> str:
    """Return an event in words, with whom it is about and the details that a coordinator looks for."""
    words = _WORDS.get(event.kind, event.kind.replace("-", " ").replace(".", " "))
    about = names.get(event.subject, "")
    if about and event.subject != event.actor:
        words = say("{event}: {person}", event=words, person=about)
    details = _details(event)
    return say("{event} ({details})", event=words, details=details) if details else words


def role_words(role: str) -> str:
    """Return a role in words."""
    return _ROLES.get(role, role)


def in_a_row(sentences: Iterable[str]) -> str:
    """Return sentences as one paragraph; empty ones are left out."""
    return reduce(
        lambda before, after: say("{before} {after}", before=before, after=after) if before else after,
        filter(None, sentences),
        "",
    )


def _details(event: Event) -> str:
    body = event.body
    if event.kind == "items.dealt":
        return say(
            "{items:,} to people, {machines:,} to machines, {policy}",
            items=body["items"],
            machines=body["to_machines"],
            policy=_POLICIES.get(body["policy"], body["policy"]),
        )
    if event.kind == "role":
        before, after = (role_words(body[k]) for k in ("before", "after"))
        return say("{before} → {after}", before=before, after=after)
    if event.kind == "gate":
        before, after = (_GATES.get(body[k], body[k]) for k in ("before", "after"))
        return say("{before} → {after}", before=before, after=after)
    if event.kind in ("person.leave", "person.join", "person.annul"):
        moved = say(
            "{moved} moved, {voided} void, {stuck} that nobody can take",
            moved=body["moved"],
            voided=body["voided"],
            stuck=body["stuck"],
        )
        return _with_note(moved, body.get("reason"))
    if event.kind == "document":
        return _with_note(_version(event), body.get("note"))
    if event.kind.startswith("document-"):
        return _version(event)
    if event.kind == "items.synced":
        changes = (
            (body.get("new"), say("{n:,} new", n=body.get("new") or 0)),
            (body.get("changed"), say("{n:,} changed", n=body.get("changed") or 0)),
            (body.get("gone"), say("{n:,} gone", n=body.get("gone") or 0)),
        )
        return listed(text for n, text in changes if n)
    if event.kind == "person.withdraw":
        return say("judgements kept") if body.get("judgements") == "keep" else say("judgements void")
    return ""


def _version(event: Event) -> str:
    text = _TEXTS.get(event.subject, event.subject)
    return say("{text}, version {version}", text=text, version=event.body["version"])


def _with_note(words: str, note: object) -> str:
    return say("{words}; {note}", words=words, note=note) if note else words


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
    kinds = [Choice("", say("everything"), not group)]
    kinds += [Choice(key, label, key == group) for key, (label, _) in _GROUPS.items()]
    actors = [Choice("", say("everybody"), not who)]
    actors += [Choice(pid, name, pid == who) for pid, name in names.items()]
    actors.append(Choice(COMMAND_LINE, say("the command line"), who == COMMAND_LINE))
    return Filter("kind", say("What"), tuple(kinds)), Filter("who", say("Who"), tuple(actors))


def _address(group: str, who: str, before: int | None) -> str:
    values = {"kind": group, "who": who, "before": "" if before is None else str(before)}
    query = urlencode({k: v for k, v in values.items() if v})
    return f"/events?{query}" if query else "/events"


ROUTES: Final = (
    ("/events", "GET", show_events, "coordinator"),
    ("/events/check", "GET", check, "coordinator"),
)
"""Rows of the route table."""
