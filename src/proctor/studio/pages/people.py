"""People: who takes part, invitations and links, roles and gate, and what becomes of the work when somebody goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec.structs import replace
from sqlalchemy import Connection, func
from starlette.requests import Request
from starlette.responses import Response

from proctor.errors import UserError
from proctor.said import say, say_count
from proctor.studio.auth import hash_token, new_token
from proctor.studio.context import beside_of, desk_of, person_of, read, studio_of, text_in, write
from proctor.studio.language import translated
from proctor.studio.pages.events import role_words
from proctor.studio.pages.narrations import forget_voice
from proctor.studio.rendering import explain, looking_again, render, see_other, when_text
from proctor.studio.views import Choice, Moved, PendingInvite, PeopleChangeView, PeopleView, PersonRow
from proctor.verify.desk import documents, flow, people, roster, training, withdrawal
from proctor.verify.desk.beside import BrokenOffError, Found
from proctor.verify.desk.events import add_event
from proctor.verify.desk.records import ROLES, ConflictError, GoneError, InvalidError, Person
from proctor.verify.desk.roster import Change, Outlook
from proctor.verify.repair import Repair
from proctor.verify.schema import tables

__all__ = ["ROUTES", "change_preview", "show_people"]

_NEWCOMERS: Final[Mapping[str, str]] = {
    "annotator": say("a new annotator"),
    "adjudicator": say("a new adjudicator"),
    "coordinator": say("a new coordinator"),
    "owner": say("a new owner"),
}
_FRESH_SECONDS: Final = 60.0
"""How long a plan that was worked out beside is shown when nothing was said since: drafts leave no event."""
_WORN_SECONDS: Final = 15.0
"""How long when somebody has worked since, so that it may have become another one."""


# -- the list --------------------------------------------------------------------------------------------------


async def show_people(
    request: Request, *, link: str = "", link_for: str = "", error: str = "", status: int = 200
) -> Response:
    """Show who takes part, with a link that was just made or what went wrong."""
    desk, me = desk_of(request), person_of(request)

    def look(connection: Connection) -> PeopleView:
        found = people.list_people(desk, connection)
        names = {p.pid: p.name for p in found}
        return PeopleView(
            people=_rows(connection, found, me),
            invites=tuple(
                PendingInvite(
                    i.pid,
                    role_words(i.role),
                    i.email,
                    names.get(i.made_by, i.made_by),
                    when_text(i.expires_at),
                )
                for i in people.list_invites(desk, connection)
            ),
            roles=_roles(me, "annotator"),
            link=link,
            link_for=link_for,
            error=error,
        )

    return render(request, "people", await read(request, look), status=status)


def _rows(connection: Connection, found: Sequence[Person], me: Person) -> tuple[PersonRow, ...]:
    protocol = documents.protocol(connection)
    scores, work, seen = training.scores(connection), _progress(connection), _seen(connection)
    rows = []
    for p in found:
        score = scores.get(p.id)
        managed = p.id != me.id and people.may_manage(me, p.role)
        kept_out = p.state == "active" and bool(flow.closed_kinds(connection, p, protocol))
        done, total = work.get(p.id, (0, 0))
        rows.append(
            PersonRow(
                pid=p.pid,
                name=p.name,
                handle=p.handle if p.state != "withdrawn" else "",
                email=p.email,
                role=role_words(p.role),
                roles=_roles(me, p.role) if managed and p.state == "active" else (),
                gate=_gate(p, score) if kept_out else "",
                waits=kept_out and people.may_manage(me, p.role),
                done=done,
                total=total,
                seen=when_text(seen[p.id]) if p.id in seen else "",
                training=score.agreed / score.statements if score and score.statements else None,
                state=p.state,
                me=p.id == me.id,
                managed=managed,
            )
        )
    return tuple(rows)


def _roles(me: Person, chosen: str) -> tuple[Choice, ...]:
    return tuple(
        Choice(role, role_words(role), role == chosen)
        for role in ROLES
        if people.may_manage(me, chosen, role)
    )


def _gate(person: Person, score: training.Score | None) -> str:
    done, total = (score.done, score.total) if score else (0, 0)
    if person.gate == "waiting":
        if score is None:
            return say("waits for you")
        return say(
            "waits for you: {agreed} of {statements} as in the reference",
            agreed=score.agreed,
            statements=score.statements,
        )
    if total:
        return say("in training: {done} of {total} items", done=done, total=total)
    return say("in training: nothing done yet")


def _progress(connection: Connection) -> dict[int, tuple[int, int]]:
    """Return by person what they have submitted as first readers, of how many items."""
    counts = roster.count_readings(connection)
    return {person: (by_state["submitted"], sum(by_state.values())) for person, by_state in counts.items()}


def _seen(connection: Connection) -> dict[int, float]:
    s = tables().sessions
    query = s.select().with_only_columns(s.c.person_id, func.max(s.c.seen_at)).group_by(s.c.person_id)
    return {person: float(at) for person, at in connection.execute(query)}


# -- invitations, links, roles ---------------------------------------------------------------------------------


async def invite(request: Request) -> Response:
    """Make an invitation and show its link, this once."""
    form, desk, me = await request.form(), desk_of(request), person_of(request)
    role, email = text_in(form, "role"), text_in(form, "email")
    token = new_token()
    try:
        await write(
            request,
            lambda c: people.create_invite(desk, c, hash_token(token), role, actor=me.pid, email=email),
        )
    except InvalidError as error:
        return await show_people(request, error=error.message, status=422)
    link = f"{studio_of(request).settings.origin}/invite/{token}"
    return await show_people(request, link=link, link_for=email or _NEWCOMERS[role])


async def withdraw_invite(request: Request) -> Response:
    """Take an invitation back that nobody has used."""
    desk, me, pid = desk_of(request), person_of(request), request.path_params["pid"]
    await write(request, lambda c: people.revoke_invite(desk, c, pid, actor=me.pid))
    return see_other("/people?said=invite-gone")


async def make_link(request: Request) -> Response:
    """Make a link that signs somebody in once who has lost the password, and show it, this once."""
    desk, token = desk_of(request), new_token()

    def job(connection: Connection, person: Person, me: Person) -> str:
        people.create_link(desk, connection, hash_token(token), person, actor=me.pid)
        return person.name

    name = await _change(request, job)
    return await show_people(
        request, link=f"{studio_of(request).settings.origin}/start/{token}", link_for=name
    )


async def set_role(request: Request) -> Response:
    """Give somebody another role, at most one's own."""
    desk, role = desk_of(request), text_in(await request.form(), "role")

    def job(connection: Connection, person: Person, me: Person) -> None:
        if role not in ROLES:
            raise InvalidError([("role", say("There is no such role."))])
        if not people.may_manage(me, person.role, role):
            raise GoneError
        people.set_role(desk, connection, person, role, actor=me.pid)

    try:
        await _change(request, job)
    except (InvalidError, ConflictError) as error:
        return await show_people(request, error=error.message, status=409)
    return see_other("/people?said=saved")


async def let_in(request: Request) -> Response:
    """Open the gate of the kinds that somebody waits for: training is done well enough; of all, if there is none."""
    desk = desk_of(request)

    def job(connection: Connection, person: Person, me: Person) -> None:
        waiting = [kind for kind, gate in person.gates.items() if gate == "waiting"]
        for kind in waiting or [""]:
            now = people.by_id(desk, connection, person.id) or person
            people.set_gate(desk, connection, now, "open", actor=me.pid, kind=kind)

    await _change(request, job)
    return see_other("/people?said=let-in")


async def send_back(request: Request) -> Response:
    """Close the gate again: back to training."""
    desk = desk_of(request)
    await _change(request, lambda c, p, me: people.set_gate(desk, c, p, "training", actor=me.pid))
    return see_other("/people?said=saved")


async def sign_out_everywhere(request: Request) -> Response:
    """End all sessions of somebody."""
    desk = desk_of(request)
    await _change(request, lambda c, p, me: people.end_all_sessions(desk, c, p, actor=me.pid))
    return see_other("/people?said=ended")


async def take_back(request: Request) -> Response:
    """Take somebody back who had left."""
    desk = desk_of(request)
    await _change(request, lambda c, p, me: people.rejoin(desk, c, p, actor=me.pid))
    return see_other("/people?said=saved")


async def _change(request: Request, job: Callable[[Connection, Person, Person], Any]) -> Any:
    """Run a change on the person of the address, if who is signed in may change them; never on oneself."""
    return await write(request, lambda c: job(c, *_both(request, c)))


def _both(request: Request, connection: Connection) -> tuple[Person, Person]:
    """Return whom the address names, and who asks as they are in this transaction."""
    desk = desk_of(request)
    person = people.by_pid(desk, connection, request.path_params["pid"])
    me = people.by_id(desk, connection, person_of(request).id)
    if person is None or me is None or person.id == me.id or not people.may_manage(me, person.role):
        raise GoneError
    return person, me


# -- leaving, joining, annulling -------------------------------------------------------------------------------


def change_preview(kind: Change) -> Callable[[Request], Any]:
    """Return the page that shows what a change would do."""

    async def show(request: Request) -> Response:
        return await _preview(request, kind)

    return show


def _change_applied(kind: Change) -> Callable[[Request], Any]:
    async def apply(request: Request) -> Response:
        form, desk = await request.form(), desk_of(request)
        asked, reason = text_in(form, "digest"), text_in(form, "reason")[:2_000]
        if kind == "annul" and not reason:
            return await _preview(request, kind, error=say("Say why, for the record."), status=422)
        repair = await read(request, lambda c: _plan(request, c, kind))
        if roster.change_digest(repair) != asked:
            message = say("Work or settings have changed since. This is the new preview.")
            return await _preview(request, kind, error=message, status=409, known=repair)

        def job(connection: Connection, _person: Person, me: Person) -> None:
            roster.apply_person_change(desk, connection, repair, actor=me.pid, reason=reason)

        try:
            await _change(request, job)
        except ConflictError as error:
            return await _preview(request, kind, error=error.message, status=409)
        return see_other(f"/people?said={_SAID[kind]}")

    return apply


_SAID: Final[Mapping[Change, str]] = {"leave": "left", "join": "joined", "annul": "annulled"}


def _concerned(request: Request, connection: Connection, kind: Change) -> Person:
    """Return whom a change is about."""
    person, _ = _both(request, connection)
    if person.state == "withdrawn" or (kind != "annul" and person.state != "active"):
        raise GoneError
    return person


def _plan(request: Request, connection: Connection, kind: Change) -> Repair:
    return roster.plan_for(desk_of(request), connection, kind, _concerned(request, connection, kind).pid)


class _Look(NamedTuple):
    """A preview as far as it is known: the outlook, and when it was worked out where that is not now."""

    person: Person
    names: Mapping[str, str]
    outlook: Outlook | None
    at: float | None


def _look(request: Request, connection: Connection, kind: Change, known: Repair | None) -> _Look:
    """Plan a small project's change at once; of a large one show what was worked out, or have it worked out.

    Args:
        request: names the person.
        connection: in a transaction.
        kind: of change.
        known: the plan, where it has just been made.

    Raises:
        UserError: that the plan raised, this once: who looks again has it made anew.
    """
    desk, person = desk_of(request), _concerned(request, connection, kind)
    names = {p.pid: p.name for p in people.list_people(desk, connection)}
    if known is not None:
        return _Look(person, names, roster.outlook_of(known), None)
    if roster.is_small(connection):
        return _Look(person, names, roster.look_ahead(desk, connection, kind, person.pid), None)
    beside, work = beside_of(studio_of(request)), f"{kind} {person.pid}"
    found = beside.look(work)
    if found is not None and found.problem is not None:
        beside.forget(work)
        raise found.problem
    if found is not None and not found.running and _is_shown(connection, found):
        return _Look(person, names, found.value, found.at)
    beside.begin(work, roster.look_ahead, kind, person.pid)
    return _Look(person, names, None, None)


def _is_shown(connection: Connection, found: Found) -> bool:
    """A plan is shown while it is the one that would be made now.

    In a project that is at work somebody has always just submitted something, so a plan that this may have touched is
    shown for a moment; whoever applies it has it compared with a new one.
    """
    outlook: Outlook = found.value
    fresh = roster.how_fresh(connection, outlook)
    limits = {"fresh": _FRESH_SECONDS, "worn": _WORN_SECONDS, "old": 0.0}
    return found.age < limits[fresh]


async def _preview(
    request: Request, kind: Change, *, error: str = "", status: int = 200, known: Repair | None = None
) -> Response:
    try:
        look = await read(request, lambda c: _look(request, c, kind, known))
    except (GoneError, ConflictError):
        raise
    except BrokenOffError as broken:
        return await show_people(
            request, error=say("The preview was not worked out. {why}", why=explain(broken)), status=503
        )
    except UserError as refused:
        return await show_people(request, error=explain(refused), status=409)
    action = f"/people/{look.person.pid}/{kind}"
    view = PeopleChangeView(
        kind=kind,
        name=look.person.name,
        action=action,
        seed=desk_of(request).seed,
        summary=(),
        moved=(),
        error=error,
        waiting=look.outlook is None,
        as_of=when_text(look.at) if look.at is not None else "",
    )
    if look.outlook is not None:
        view = _with_outlook(view, look.outlook, look.person, look.names)
    return looking_again(
        render(request, "people_change", view, status=status), action if view.waiting else ""
    )


def _with_outlook(
    view: PeopleChangeView, outlook: Outlook, person: Person, names: Mapping[str, str]
) -> PeopleChangeView:
    return replace(
        view,
        summary=_sentences(outlook, person),
        moved=_moved(outlook, names),
        warning=_WARNINGS[outlook.kind],
        digest=outlook.digest,
        pairs=tuple(
            Moved(
                say("{one} and {other}", one=names.get(pair[0], pair[0]), other=names.get(pair[1], pair[1])),
                now,
                then,
            )
            for pair, (now, then) in sorted(outlook.pairs.items())
        ),
        stuck=_stuck(outlook, names),
    )


_WARNINGS: Final[Mapping[Change, str]] = {
    "leave": "",
    "join": "",
    "annul": say(
        "Accepted answers and agreement are worked out again without this work. It cannot be undone."
    ),
}


def _sentences(outlook: Outlook, person: Person) -> tuple[str, ...]:
    moved, kept, voided, stuck = outlook.moved, outlook.kept, outlook.voided, outlook.stuck
    said = []
    if outlook.kind == "join":
        givers = outlook.givers
        said.append(
            say(
                "{items} from {people} would go to {name}.",
                items=say_count(moved, "{n:,} open item", "{n:,} open items"),
                people=say_count(givers, "{n:,} person", "{n:,} people"),
                name=person.name,
            )
            if moved
            else say("Nobody has open items to give, so {name} gets nothing.", name=person.name)
        )
    elif outlook.kind == "leave":
        said.append(
            say(
                "{moved}; {kept}",
                moved=say_count(
                    moved, "{n:,} open item would move to others", "{n:,} open items would move to others"
                ),
                kept=say_count(kept, "{n:,} finished one stay.", "{n:,} finished ones stay."),
            )
        )
        said.append(
            say(
                "{name} is signed out everywhere. What they began but did not submit is kept.",
                name=person.name,
            )
        )
    else:
        said.append(
            say_count(
                voided,
                "{n:,} judgement would no longer count. Its rows are kept.",
                "{n:,} judgements would no longer count. Their rows are kept.",
            )
        )
        said.append(
            say_count(
                moved,
                "{n:,} place would open again and go to others.",
                "{n:,} places would open again and go to others.",
            )
        )
        said.append(say("Cases that an adjudicator decided on these judgements would be opened again."))
        if person.state == "active":
            said.append(say("{name} is signed out everywhere and can no longer sign in.", name=person.name))
    if stuck:
        said.append(
            say_count(
                stuck,
                "Nobody can take {n:,} place; the item comes back to you when its other reading is in.",
                "Nobody can take {n:,} places; these items come back to you when their other reading is in.",
            )
        )
    if outlook.pair_spread is not None and outlook.load_spread is not None:
        pairs, loads = outlook.pair_spread, outlook.load_spread
        said.append(
            say(
                "Pairs would then differ by {pairs} items at most (now {pairs_now}), loads by {loads} (now {loads_now}).",
                pairs=pairs[1],
                pairs_now=pairs[0],
                loads=loads[1],
                loads_now=loads[0],
            )
        )
    return tuple(said)


def _moved(outlook: Outlook, names: Mapping[str, str]) -> tuple[Moved, ...]:
    every = sorted(outlook.loads, key=lambda p: (names.get(p, p), p))
    return tuple(Moved(names.get(p, p), *outlook.loads[p]) for p in every)


def _stuck(outlook: Outlook, names: Mapping[str, str]) -> tuple[str, ...]:
    rows = []
    for one in outlook.examples:
        whys = (say("{name} {why}", name=names.get(p, p), why=why) for p, why in one.reasons)
        known = "; ".join(str(translated(why)) for why in whys)
        rows.append(f"{one.item}: {known}" if known else say("{item}: nobody is left", item=one.item))
    more = outlook.stuck - len(rows)
    return (*rows, say("and {n:,} more", n=more)) if more else tuple(rows)


# -- withdrawal ------------------------------------------------------------------------------------------------


async def show_withdraw(request: Request, *, error: str = "", status: int = 200) -> Response:
    """Show what withdrawing somebody's consent for them would do."""
    person, done = await read(request, lambda c: _to_withdraw(request, c))
    view = PeopleChangeView(
        kind="withdraw",
        name=person.name,
        action=f"/people/{person.pid}/withdraw",
        seed=0,
        summary=(
            say("Name, sign-in name, e-mail address, password and settings are removed permanently."),
            say("Open items go to others, where others can take them."),
            say_count(
                done,
                "This person has made {n:,} judgement. Choose what they asked for:",
                "This person has made {n:,} judgements. Choose what they asked for:",
            ),
        ),
        moved=(),
        warning=say("This cannot be undone. Events keep a random code, never the name."),
        error=error,
    )
    return render(request, "people_change", view, status=status)


def _to_withdraw(request: Request, connection: Connection) -> tuple[Person, int]:
    person, _ = _both(request, connection)
    if person.state == "withdrawn":
        raise GoneError
    return person, _progress(connection).get(person.id, (0, 0))[0]


async def withdraw(request: Request) -> Response:
    """Forget who somebody is; their judgements stay under the random code, or are void, as they asked."""
    desk, wish = desk_of(request), text_in(await request.form(), "judgements")
    if wish not in ("keep", "void"):
        return await show_withdraw(request, error=say("Choose what becomes of the judgements."), status=422)

    def job(connection: Connection, person: Person, me: Person) -> None:
        if person.state == "withdrawn":
            raise GoneError
        if wish == "void":
            withdrawal.withdraw_consent(desk, connection, person, actor=me.pid)
        else:
            _forget_only(request, connection, person, me)
        add_event(desk, connection, "person.withdraw", person.pid, me.pid, judgements=wish)

    try:
        await _change(request, job)
    except ConflictError as error:
        return await show_withdraw(request, error=error.message, status=409)
    await forget_voice(request, request.path_params["pid"])
    return see_other("/people?said=withdrawn")


def _forget_only(request: Request, connection: Connection, person: Person, me: Person) -> None:
    """Let somebody leave, then forget who they were; what nobody can take comes back to the coordinator."""
    desk = desk_of(request)
    if person.state == "active":
        repair = _plan(request, connection, "leave")
        roster.apply_person_change(desk, connection, repair, actor=me.pid, reason="withdrawn")
    people.withdraw(desk, connection, person, actor=me.pid)


ROUTES: Final = (
    ("/people", "GET", show_people, "coordinator"),
    ("/people/invite", "POST", invite, "coordinator"),
    ("/people/invites/{pid}/withdraw", "POST", withdraw_invite, "coordinator"),
    ("/people/{pid}/role", "POST", set_role, "coordinator"),
    ("/people/{pid}/approve", "POST", let_in, "coordinator"),
    ("/people/{pid}/training", "POST", send_back, "coordinator"),
    ("/people/{pid}/link", "POST", make_link, "coordinator"),
    ("/people/{pid}/revoke", "POST", sign_out_everywhere, "coordinator"),
    ("/people/{pid}/rejoin", "POST", take_back, "coordinator"),
    ("/people/{pid}/leave", "GET", change_preview("leave"), "coordinator"),
    ("/people/{pid}/leave", "POST", _change_applied("leave"), "coordinator"),
    ("/people/{pid}/join", "GET", change_preview("join"), "coordinator"),
    ("/people/{pid}/join", "POST", _change_applied("join"), "coordinator"),
    ("/people/{pid}/annul", "GET", change_preview("annul"), "coordinator"),
    ("/people/{pid}/annul", "POST", _change_applied("annul"), "coordinator"),
    ("/people/{pid}/withdraw", "GET", show_withdraw, "coordinator"),
    ("/people/{pid}/withdraw", "POST", withdraw, "coordinator"),
)
"""Rows of the route table."""
