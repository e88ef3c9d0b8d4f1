"""People with an account, how they come in and go, and where they are signed in.

Rules that hold everywhere: one sign-in name belongs to one person; there is always an owner; a role that changes ends
the person's sessions; whoever withdraws leaves no name behind. Events carry random ids, never names, because events
stay for ever. Tokens of sessions and links are never stored, only their SHA-256.
"""

from __future__ import annotations

import hashlib
import re
import time
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import msgspec
from sqlalchemy import Connection, Row, bindparam, select

from proctor.errors import UserError
from proctor.records import canonical_json
from proctor.said import say
from proctor.verify.desk.desk import new_pid
from proctor.verify.desk.events import add_event
from proctor.verify.desk.records import ROLES, ConflictError, GoneError, InvalidError, Person, Role, at_least
from proctor.verify.schema import FIRST_KIND, tables

if TYPE_CHECKING:
    from proctor.verify.desk.desk import Desk

__all__ = [
    "ABSOLUTE_SECONDS",
    "COMMAND_LINE",
    "IDLE_SECONDS",
    "INVITE_SECONDS",
    "LINK_SECONDS",
    "Invite",
    "Session",
    "add",
    "by_handle",
    "by_id",
    "by_pid",
    "changed_recently",
    "clean_email",
    "clean_handle",
    "clean_name",
    "consent_given",
    "consume_invite",
    "consume_link",
    "create_invite",
    "create_link",
    "end_all_sessions",
    "end_provider_session",
    "end_session",
    "end_session_of",
    "find_session",
    "guideline_ticked",
    "is_over",
    "leave",
    "list_invites",
    "list_people",
    "list_sessions",
    "may_manage",
    "open_session",
    "password_of",
    "read_invite",
    "rejoin",
    "renew_hash",
    "revoke_invite",
    "set_gate",
    "set_password",
    "set_role",
    "set_settings",
    "tidy",
    "touch",
    "withdraw",
]

IDLE_SECONDS: Final = 12 * 3600.0
"""A session that nobody used for so long is over."""
ABSOLUTE_SECONDS: Final = 14 * 86400.0
"""A session is over after so long, used or not."""
INVITE_SECONDS: Final = 7 * 86400.0
LINK_SECONDS: Final = 86400.0
"""How long a link that signs an existing person in works."""
COMMAND_LINE: Final = "command-line"
"""The actor who runs commands on the machine of the store; no account, and no ``pid`` looks like it."""
WITHDRAWN_NAME: Final = "Withdrawn"

_KEEP_SECONDS: Final = 30 * 86400.0
_MAX_SETTINGS: Final = 4_096
_SETTLING_SECONDS: Final = 5.0
_HANDLE: Final = re.compile(r"[a-z0-9][a-z0-9._@+-]{1,63}")
_EMAIL: Final = re.compile(r"[^\s@<>\"',;]{1,64}@[^\s@<>\"',;]{1,189}")
_GATES: Final = ("training", "waiting", "open")
_JOINERS: Final = str.maketrans("", "", "\u200c\u200d")  # letters of Persian and Indic names need them


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """Somewhere a person is signed in. ``pid`` names it in pages; it says nothing about the token.

    ``provider_session`` is the hash of the provider's session that it comes from, "" if the provider named none, None if they
    did not come by a provider.
    """

    id: int
    pid: str
    person_id: int
    created_at: float
    seen_at: float
    agent: str = ""
    provider_session: str | None = None


class Invite(msgspec.Struct, frozen=True, kw_only=True):
    """An invitation, or a link that signs somebody in (``person_id``). ``pid`` names it in pages."""

    id: int
    pid: str
    role: Role
    email: str
    made_by: str
    created_at: float
    expires_at: float
    person_id: int | None = None


# -- words that people give ----------------------------------------------------------------------------------


def clean_handle(text: str) -> str:
    """Return a sign-in name as it is kept: small letters, digits and ``. _ @ + -``, 2 to 64 of them.

    Raises:
        InvalidError: for anything else.
    """
    handle = unicodedata.normalize("NFKC", text).strip().lower()
    if not _HANDLE.fullmatch(handle):
        raise InvalidError(
            [("handle", say("Use 2 to 64 letters from a to z, digits and . _ @ + - for the sign-in name."))]
        )
    return handle


def clean_name(text: str) -> str:
    """Return a display name with single spaces, 1 to 80 characters that can be shown.

    Raises:
        InvalidError: if it is empty, too long, or has characters that steer the text around it.
    """
    name = " ".join(unicodedata.normalize("NFC", text).split())
    if not 1 <= len(name) <= 80:
        raise InvalidError([("name", say("Give a name of 1 to 80 characters."))])
    if not name.translate(_JOINERS).isprintable():
        raise InvalidError([("name", say("The name has characters that cannot be shown."))])
    return name


def clean_email(text: str) -> str:
    """Return an e-mail address, or "".

    Raises:
        InvalidError: if it is neither.
    """
    email = unicodedata.normalize("NFKC", text).strip()
    if email and not (_EMAIL.fullmatch(email) and email.isprintable()):
        raise InvalidError([("email", say("This does not look like an e-mail address."))])
    return email


# -- people --------------------------------------------------------------------------------------------------


def add(
    desk: Desk,
    connection: Connection,
    *,
    handle: str,
    name: str,
    role: str,
    actor: str,
    email: str = "",
    password: str = "",
    gate: str = "training",
    pid: str | None = None,
) -> Person:
    """Make an account.

    Args:
        desk: of the store.
        connection: in a writing transaction.
        handle: what they sign in with; no two people have the same.
        name: for other people to see.
        role: see ``ROLES``.
        actor: pid of who makes it, or ``COMMAND_LINE``.
        email: may be empty.
        password: its argon2id hash; empty for somebody who comes by one-time links only.
        gate: ``training``, ``waiting`` or ``open``.
        pid: random id; drawn by default. The sample project brings its own, so that its queues are always the same.

    Raises:
        InvalidError: if the sign-in name is taken, or a field is not as it should be.
    """
    row: dict[str, Any] = {
        "pid": pid or new_pid(),
        "handle": clean_handle(handle),
        "name": clean_name(name),
        "email": clean_email(email),
        "role": _role(role),
        "state": "active",
        "gates": msgspec.json.encode({"": _gate(gate)}).decode(),
        "password": password,
        "created_at": desk.now(),
    }
    table = tables().people
    if _one(connection, table.c.handle == row["handle"]) is not None:
        raise InvalidError([("handle", say("This sign-in name is taken."))])
    number = connection.execute(table.insert().returning(table.c.id), row).scalar_one()
    add_event(desk, connection, "person-added", row["pid"], actor, role=row["role"])
    return _require(connection, table.c.id == number)


def by_id(desk: Desk, connection: Connection, number: int) -> Person | None:  # noqa: ARG001 - every function of the desk begins alike
    """Return a person by the number inside the store, or None."""
    return _one(connection, tables().people.c.id == number)


def by_pid(desk: Desk, connection: Connection, pid: str) -> Person | None:  # noqa: ARG001 - every function of the desk begins alike
    """Return a person by the random id, or None."""
    return _one(connection, tables().people.c.pid == pid)


def by_handle(desk: Desk, connection: Connection, handle: str) -> Person | None:  # noqa: ARG001 - every function of the desk begins alike
    """Return a person by what they sign in with, written in any case; None if there is none."""
    try:
        return _one(connection, tables().people.c.handle == clean_handle(handle))
    except InvalidError:
        return None


def list_people(desk: Desk, connection: Connection, *, state: str | None = None) -> list[Person]:  # noqa: ARG001 - every function of the desk begins alike
    """Return everybody with an account in the order of arrival; only those of one state if it is given."""
    table = tables().people
    query = table.select().where(table.c.role != "worker").order_by(table.c.id)
    if state is not None:
        query = query.where(table.c.state == state)
    return [_person(row) for row in connection.execute(query)]


def password_of(desk: Desk, connection: Connection, handle: str) -> tuple[Person | None, str]:  # noqa: ARG001 - every function of the desk begins alike
    """Return an active person and the hash of their password; (None, "") or (person, "") where there is none."""
    try:
        where = tables().people.c.handle == clean_handle(handle)
    except InvalidError:
        return None, ""
    row = connection.execute(tables().people.select().where(where)).first()
    if row is None or row.state != "active":
        return None, ""
    return _person(row), row.password


def may_manage(actor: Person, role: str, new_role: str | None = None) -> bool:
    """True when somebody may change a person of this role, and give them the new one: nobody lifts above oneself."""
    needed = [role] if new_role is None else [role, new_role]
    return at_least(actor.role, "coordinator") and all(
        known in ROLES and ROLES.index(known) <= ROLES.index(actor.role) for known in needed
    )


def set_role(desk: Desk, connection: Connection, person: Person, role: str, *, actor: str) -> Person:
    """Give another role; the person's sessions and links end, because they were opened with the old one.

    Raises:
        GoneError: if the person is no longer active.
        ConflictError: if it would leave nobody as owner.
    """
    now = _active(connection, person)
    if now.role == _role(role):
        return now
    if now.role == "owner":
        _refuse_last_owner(connection, now)
    _update(desk, connection, now.id, role=role)
    _cut_off(desk, connection, now.id)
    add_event(desk, connection, "role", now.pid, actor, before=now.role, after=role)
    return msgspec.structs.replace(now, role=_role(role))


def set_gate(
    desk: Desk, connection: Connection, person: Person, gate: str, *, actor: str, kind: str = ""
) -> None:
    """Let somebody in (``open``), let them wait, or send them back to training.

    Args:
        desk: of the store.
        connection: in a writing transaction.
        person: whom.
        gate: ``training``, ``waiting`` or ``open``.
        actor: pid of who decides.
        kind: of questions; every kind when empty.

    Raises:
        GoneError: if the person is no longer active.
    """
    now = _active(connection, person)
    new = {**now.gates, kind: _gate(gate)} if kind else {"": _gate(gate)}
    if new != now.gates:
        before = now.gate_of(kind) if kind else now.gate
        of = {"of": kind} if kind else {}
        _update(desk, connection, now.id, gates=msgspec.json.encode(new).decode())
        add_event(desk, connection, "gate", now.pid, actor, before=before, after=gate, **of)


def set_settings(desk: Desk, connection: Connection, person: Person, settings: Mapping[str, object]) -> None:
    """Keep what the person chose for their pages (no event: it concerns nobody else).

    Raises:
        InvalidError: if it is more than 4 kB.
        GoneError: if the person is no longer active.
    """
    text = canonical_json(settings).decode()
    if len(text) > _MAX_SETTINGS:
        raise InvalidError([("settings", say("These settings are too long."))])
    _update(desk, connection, _active(connection, person).id, settings=text)


def set_password(desk: Desk, connection: Connection, person: Person, password: str, *, actor: str) -> None:
    """Keep a new hash; all sessions and links of the person end, so the page opens a new session.

    Raises:
        GoneError: if the person is no longer active.
    """
    now = _active(connection, person)
    _update(desk, connection, now.id, password=password)
    _cut_off(desk, connection, now.id)
    add_event(desk, connection, "password", now.pid, actor)


def renew_hash(desk: Desk, connection: Connection, person: Person, password: str) -> None:
    """Keep the same password under a newer hash, made while it was at hand; sessions go on.

    Raises:
        GoneError: if the person is no longer active.
    """
    _update(desk, connection, _active(connection, person).id, password=password)


def leave(desk: Desk, connection: Connection, person: Person, *, actor: str) -> None:
    """Mark somebody as left: they can no longer sign in; what they did stays, with their name.

    Raises:
        GoneError: if the person is no longer active.
        ConflictError: if it would leave nobody as owner.
    """
    now = _active(connection, person)
    _refuse_last_owner(connection, now)
    _update(desk, connection, now.id, state="left")
    _cut_off(desk, connection, now.id)
    _end_tokens(desk, connection, now.id)
    add_event(desk, connection, "left", now.pid, actor)


def rejoin(desk: Desk, connection: Connection, person: Person, *, actor: str) -> None:
    """Take somebody back who had left.

    Raises:
        GoneError: if they had not left; who has withdrawn cannot come back under the old account.
    """
    now = _fresh(connection, person)
    if now is None or now.state != "left":
        raise GoneError
    _update(desk, connection, now.id, state="active")
    add_event(desk, connection, "rejoined", now.pid, actor)


def withdraw(desk: Desk, connection: Connection, person: Person, *, actor: str) -> None:
    """Remove what says who somebody is: name, e-mail, sign-in name, password, logins elsewhere, settings, browsers.

    The row stays, so that what they judged still belongs to some one; voiding it is the caller's, in the same
    transaction.

    Raises:
        GoneError: if they have withdrawn already.
        ConflictError: if it would leave nobody as owner.
    """
    now = _fresh(connection, person)
    if now is None or now.state == "withdrawn":
        raise GoneError
    _refuse_last_owner(connection, now)
    _forget(connection, now)
    _cut_off(desk, connection, now.id)
    add_event(desk, connection, "withdrawn", now.pid, actor)


def consent_given(desk: Desk, connection: Connection, person: Person, version: int) -> None:
    """Note the version of the consent that somebody gave.

    Raises:
        GoneError: if the person is no longer active.
    """
    now = _active(connection, person)
    _update(desk, connection, now.id, consent_version=version)
    add_event(desk, connection, "consent", now.pid, now.pid, version=version)


def guideline_ticked(
    desk: Desk, connection: Connection, person: Person, version: int, kind: str = FIRST_KIND
) -> None:
    """Note the version of a kind's guideline that somebody says they have read.

    Raises:
        GoneError: if the person is no longer active.
    """
    now = _active(connection, person)
    read = {**now.guidelines, kind: version}
    _update(desk, connection, now.id, guidelines=msgspec.json.encode(read).decode())
    add_event(desk, connection, "guideline-read", now.pid, now.pid, version=version, of=kind)


# -- sessions ------------------------------------------------------------------------------------------------


def open_session(
    desk: Desk,
    connection: Connection,
    token_hash: str,
    person: Person,
    *,
    agent: str = "",
    provider_session: str | None = None,
) -> None:
    """Sign somebody in under a token of which only the SHA-256 is known here.

    Raises:
        GoneError: if the person is no longer active.
    """
    now = desk.now()
    number = _active(connection, person).id
    row = {
        "token_hash": token_hash,
        "person_id": number,
        "created_at": now,
        "seen_at": now,
        "agent": agent[:80],
        "provider_session": provider_session,
    }
    connection.execute(tables().sessions.insert(), row)
    _mark(desk, number)


def find_session(desk: Desk, connection: Connection, token_hash: str) -> tuple[Session, Person] | None:
    """Return who is signed in under a token; None when nobody is: unknown, ended, idle or too old."""
    row = connection.execute(_session_query(), {"hash": token_hash}).first()
    if row is None:
        return None
    session = Session(
        id=row.s_id,
        pid=_session_pid(token_hash),
        person_id=row.id,
        created_at=row.s_created_at,
        seen_at=row.s_seen_at,
        agent=row.s_agent,
        provider_session=row.s_provider_session,
    )
    return None if is_over(desk, session) else (session, _person(row))


def is_over(desk: Desk, session: Session) -> bool:
    """True when a session is idle for 12 hours or 14 days old by now."""
    now = desk.now()
    return now - session.seen_at > IDLE_SECONDS or now - session.created_at > ABSOLUTE_SECONDS


def touch(desk: Desk, connection: Connection, session_id: int) -> None:
    """Note that a session is in use."""
    table = tables().sessions
    connection.execute(table.update().where(table.c.id == session_id).values(seen_at=desk.now()))


def end_session(desk: Desk, connection: Connection, token_hash: str) -> None:
    """Sign out under one token; nothing happens when it was over already."""
    table = tables().sessions
    found = connection.execute(table.select().where(table.c.token_hash == token_hash)).first()
    if found is not None:
        _end(desk, connection, table.c.id == found.id, found.person_id)


def end_session_of(desk: Desk, connection: Connection, person: Person, pid: str) -> None:
    """End one of a person's own sessions, named as in ``list_sessions``.

    Raises:
        GoneError: if they have no such session.
    """
    table = tables().sessions
    for session in list_sessions(desk, connection, person):
        if session.pid == pid:
            _end(desk, connection, table.c.id == session.id, person.id)
            return
    raise GoneError


def end_all_sessions(desk: Desk, connection: Connection, person: Person, *, actor: str) -> None:
    """Sign somebody out everywhere."""
    _end(desk, connection, tables().sessions.c.person_id == person.id, person.id)
    add_event(desk, connection, "signed-out-everywhere", person.pid, actor)


def list_sessions(desk: Desk, connection: Connection, person: Person) -> list[Session]:
    """Return where somebody is signed in, the latest used first."""
    table, now = tables().sessions, desk.now()
    query = (
        table.select()
        .where(table.c.person_id == person.id, table.c.ended_at.is_(None))
        .where(table.c.seen_at >= now - IDLE_SECONDS, table.c.created_at >= now - ABSOLUTE_SECONDS)
        .order_by(table.c.seen_at.desc(), table.c.id.desc())
    )
    return [
        Session(
            id=row.id,
            pid=_session_pid(row.token_hash),
            person_id=row.person_id,
            created_at=row.created_at,
            seen_at=row.seen_at,
            agent=row.agent,
            provider_session=row.provider_session,
        )
        for row in connection.execute(query)
    ]


def end_provider_session(desk: Desk, connection: Connection, hashed: str, person: Person | None) -> None:
    """Sign out where somebody came from one session of a provider, and where it is not known from which session they came.

    Args:
        desk: of the store.
        connection: in a writing transaction.
        hashed: see ``Session.provider_session``.
        person: whose session it is; None if the provider did not say, then only what surely comes from it ends.
    """
    table = tables().sessions
    where = table.c.provider_session == hashed
    if person is not None:
        where = (table.c.person_id == person.id) & table.c.provider_session.in_((hashed, ""))
    found = connection.execute(table.select().where(where, table.c.ended_at.is_(None))).all()
    for number in sorted({row.person_id for row in found}):
        _end(desk, connection, where, number)


def changed_recently(desk: Desk, person_id: int, since: float) -> bool:
    """True when this process may have changed a person's account or sessions at or after a moment.

    A change is noted before it is on disk, so whoever read within some seconds after it may have read the old state.

    Args:
        desk: of the store.
        person_id: of whom.
        since: ``time.monotonic()`` of when somebody read.
    """
    changed = _changes.get(desk, {}).get(person_id)
    return changed is not None and since < changed + _SETTLING_SECONDS


def tidy(desk: Desk, connection: Connection) -> int:
    """Delete sessions and links that have been over for 30 days, and return how many there were."""
    invites, sessions = tables().invites, tables().sessions
    before = desk.now() - _KEEP_SECONDS
    old_links = invites.delete().where((invites.c.expires_at < before) | (invites.c.used_at < before))
    old_sessions = sessions.delete().where(
        (sessions.c.ended_at < before)
        | (sessions.c.seen_at < before - IDLE_SECONDS)
        | (sessions.c.created_at < before - ABSOLUTE_SECONDS)
    )
    return sum(int(connection.execute(statement).rowcount) for statement in (old_links, old_sessions))


# -- invitations and links -----------------------------------------------------------------------------------


def create_invite(
    desk: Desk, connection: Connection, token_hash: str, role: str, *, actor: str, email: str = ""
) -> Invite:
    """Keep an invitation: for one person, for 7 days, to one role.

    Args:
        desk: of the store.
        connection: in a writing transaction.
        token_hash: SHA-256 of the token in the link, as hex digits.
        role: that the new person gets, whatever the form says later.
        actor: pid of who invites, or ``COMMAND_LINE``.
        email: of the new person; the form cannot change it.

    Raises:
        InvalidError: if the actor has not that role, or a field is not as it should be.
    """
    known = _role(role)
    if not _may_invite(connection, actor, known):
        raise InvalidError([("role", say("You cannot invite to a role above your own."))])
    now = desk.now()
    row = {
        "token_hash": token_hash,
        "role": known,
        "email": clean_email(email),
        "made_by": actor,
        "created_at": now,
        "expires_at": now + INVITE_SECONDS,
    }
    connection.execute(tables().invites.insert(), row)
    add_event(desk, connection, "invited", _invite_pid(token_hash), actor, role=known)
    return _require_invite(desk, connection, token_hash)


def create_link(desk: Desk, connection: Connection, token_hash: str, person: Person, *, actor: str) -> Invite:
    """Keep a link that signs an existing person in once; earlier links of the person end.

    Raises:
        GoneError: if the person is no longer active.
    """
    now, found = desk.now(), _active(connection, person)
    _end_links(connection, found.id, now)
    row = {
        "token_hash": token_hash,
        "role": found.role,
        "person_id": found.id,
        "made_by": actor,
        "created_at": now,
        "expires_at": now + LINK_SECONDS,
    }
    connection.execute(tables().invites.insert(), row)
    add_event(desk, connection, "link", found.pid, actor)
    return _require_invite(desk, connection, token_hash)


def read_invite(desk: Desk, connection: Connection, token_hash: str) -> Invite | None:
    """Return an invitation or link that can still be used, without using it: mail scanners follow links.

    None if it is unknown, used, too old, or whoever made it may no longer invite to that role.
    """
    table = tables().invites
    row = connection.execute(table.select().where(table.c.token_hash == token_hash)).first()
    if row is None or row.used_at is not None or desk.now() >= row.expires_at:
        return None
    if row.person_id is None and not _may_invite(connection, row.made_by, row.role):
        return None
    if row.person_id is not None:
        person = by_id(desk, connection, row.person_id)
        if person is None or person.state != "active":
            return None
    return _invite(row)


def consume_invite(
    desk: Desk,
    connection: Connection,
    token_hash: str,
    *,
    handle: str,
    name: str,
    password: str = "",
    gate: str = "training",
) -> Person:
    """Make the account that an invitation is for, and use it up, in one transaction.

    Raises:
        GoneError: if the invitation cannot be used (any more).
        InvalidError: if the sign-in name is taken or a field is not as it should be; the invitation stays usable.
    """
    invite = read_invite(desk, connection, token_hash)
    if invite is None or invite.person_id is not None:
        raise GoneError
    person = add(
        desk,
        connection,
        handle=handle,
        name=name,
        role=invite.role,
        actor=invite.made_by,
        email=invite.email,
        password=password,
        gate=gate,
    )
    _use_up(desk, connection, invite)
    return person


def consume_link(desk: Desk, connection: Connection, token_hash: str) -> Person:
    """Use a link up and return whom it signs in.

    Raises:
        GoneError: if it cannot be used (any more).
    """
    invite = read_invite(desk, connection, token_hash)
    if invite is None or invite.person_id is None:
        raise GoneError
    _use_up(desk, connection, invite)
    return _require(connection, tables().people.c.id == invite.person_id)


def list_invites(desk: Desk, connection: Connection) -> list[Invite]:
    """Return invitations (no sign-in links) that nobody has used yet and that still work, newest first."""
    table = tables().invites
    query = (
        table.select()
        .where(table.c.person_id.is_(None), table.c.used_at.is_(None), table.c.expires_at > desk.now())
        .order_by(table.c.id.desc())
    )
    return [_invite(row) for row in connection.execute(query)]


def revoke_invite(desk: Desk, connection: Connection, pid: str, *, actor: str) -> None:
    """Take an invitation back, named as in ``list_invites``.

    Raises:
        GoneError: if there is no such invitation to take back.
    """
    for invite in list_invites(desk, connection):
        if invite.pid == pid:
            _use_up(desk, connection, invite)
            add_event(desk, connection, "invite-revoked", pid, actor)
            return
    raise GoneError


# -- inside --------------------------------------------------------------------------------------------------

_changes: WeakKeyDictionary[Desk, dict[int, float]] = WeakKeyDictionary()


def _mark(desk: Desk, person_id: int) -> None:
    _changes.setdefault(desk, {})[person_id] = time.monotonic()


def _role(text: str) -> Role:
    for role in ("worker", *ROLES):
        if role == text:
            return role
    raise InvalidError([("role", say("There is no such role."))])


def _gate(text: str) -> str:
    if text not in _GATES:
        raise UserError(f"there is no gate {text!r}.", hint="training, waiting or open")
    return text


def _person(row: Row[Any]) -> Person:
    return Person(
        id=row.id,
        pid=row.pid,
        handle=row.handle,
        name=row.name,
        role=row.role,
        state=row.state,
        gates=msgspec.json.decode(row.gates),
        email=row.email,
        consent_version=row.consent_version,
        guidelines=msgspec.json.decode(row.guidelines),
        settings=msgspec.json.decode(row.settings),
        has_password=bool(row.password),
        created_at=row.created_at,
    )


def _one(connection: Connection, where: Any) -> Person | None:
    row = connection.execute(tables().people.select().where(where)).first()
    return None if row is None else _person(row)


def _require(connection: Connection, where: Any) -> Person:
    found = _one(connection, where)
    if found is None:
        raise GoneError
    return found


def _fresh(connection: Connection, person: Person) -> Person | None:
    """Read again: what the caller holds may be older than this transaction."""
    return _one(connection, tables().people.c.id == person.id)


def _active(connection: Connection, person: Person) -> Person:
    now = _fresh(connection, person)
    if now is None or now.state != "active":
        raise GoneError
    return now


def _refuse_last_owner(connection: Connection, person: Person) -> None:
    if person.role != "owner" or person.state != "active":
        return
    table = tables().people
    query = table.select().where(table.c.role == "owner", table.c.state == "active", table.c.id != person.id)
    if connection.execute(query).first() is None:
        raise ConflictError(say("There has to be an owner: make another person owner first."))


def _update(desk: Desk, connection: Connection, person_id: int, **values: object) -> None:
    table = tables().people
    connection.execute(table.update().where(table.c.id == person_id).values(**values))
    _mark(desk, person_id)


def _cut_off(desk: Desk, connection: Connection, person_id: int) -> None:
    _end(desk, connection, tables().sessions.c.person_id == person_id, person_id)
    _end_links(connection, person_id, desk.now())


def _end(desk: Desk, connection: Connection, where: Any, person_id: int) -> None:
    table = tables().sessions
    connection.execute(table.update().where(where, table.c.ended_at.is_(None)).values(ended_at=desk.now()))
    _mark(desk, person_id)


def _end_links(connection: Connection, person_id: int, now: float) -> None:
    table = tables().invites
    where = (table.c.person_id == person_id) & table.c.used_at.is_(None)
    connection.execute(table.update().where(where).values(used_at=now))


def _end_tokens(desk: Desk, connection: Connection, person_id: int) -> None:
    t = tables().tokens
    mine = t.update().where(t.c.person_id == person_id, t.c.ended_at.is_(None))
    connection.execute(mine.values(ended_at=desk.now()))


def _forget(connection: Connection, person: Person) -> None:
    people, sessions, invites = tables().people, tables().sessions, tables().invites
    blank: dict[str, object] = {
        "state": "withdrawn",
        "name": WITHDRAWN_NAME,
        "handle": f"withdrawn-{person.pid}",
        "email": "",
        "password": "",
        "settings": "{}",
    }
    connection.execute(people.update().where(people.c.id == person.id).values(**blank))
    connection.execute(
        sessions.update().where(sessions.c.person_id == person.id).values(agent="", provider_session=None)
    )
    for table in (tables().identities, tables().tokens):
        connection.execute(table.delete().where(table.c.person_id == person.id))
    if person.email:
        connection.execute(invites.update().where(invites.c.email == person.email).values(email=""))


@cache
def _session_query() -> Any:
    people, sessions = tables().people, tables().sessions
    names = ("id", "created_at", "seen_at", "agent", "provider_session")
    mine = [sessions.c[name].label(f"s_{name}") for name in names]
    return (
        select(people, *mine)
        .join(sessions, sessions.c.person_id == people.c.id)
        .where(sessions.c.token_hash == bindparam("hash"), sessions.c.ended_at.is_(None))
        .where(people.c.state == "active")
    )


def _session_pid(token_hash: str) -> str:
    return hashlib.sha256(f"session {token_hash}".encode()).hexdigest()[:20]


def _invite_pid(token_hash: str) -> str:
    return hashlib.sha256(f"invite {token_hash}".encode()).hexdigest()[:20]


def _invite(row: Row[Any]) -> Invite:
    return Invite(
        id=row.id,
        pid=_invite_pid(row.token_hash),
        role=row.role,
        email=row.email,
        made_by=row.made_by,
        created_at=row.created_at,
        expires_at=row.expires_at,
        person_id=row.person_id,
    )


def _require_invite(desk: Desk, connection: Connection, token_hash: str) -> Invite:
    found = read_invite(desk, connection, token_hash)
    if found is None:
        raise GoneError
    return found


def _may_invite(connection: Connection, actor: str, role: Role) -> bool:
    """Whoever lost the role after inviting to it has invited nobody."""
    if actor == COMMAND_LINE:
        return True
    person = _one(connection, tables().people.c.pid == actor)
    return person is not None and person.state == "active" and may_manage(person, role)


def _use_up(desk: Desk, connection: Connection, invite: Invite) -> None:
    table = tables().invites
    # The address has moved to the person's row; a second copy would outlive a withdrawal.
    values = {"used_at": desk.now(), "email": ""}
    connection.execute(table.update().where(table.c.id == invite.id).values(**values))
