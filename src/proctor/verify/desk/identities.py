"""Who signs in with the account of an institution: what the provider calls a person, bound to an account. docs/studio.md.

A person is known by the provider's address and its name for them (``iss`` and ``sub``; OpenID Connect Core 1.0, section
5.7), never by an e-mail address: addresses change hands.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from fnmatch import fnmatchcase
from itertools import count
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import Connection, func

from proctor.said import say
from proctor.verify.desk import documents, people
from proctor.verify.desk.events import add_event
from proctor.verify.desk.people import COMMAND_LINE
from proctor.verify.desk.records import ConflictError, GoneError, InvalidError, Person
from proctor.verify.schema import tables

if TYPE_CHECKING:
    from proctor.verify.desk.desk import Desk

__all__ = [
    "Claimed",
    "accept_invite",
    "connect",
    "connected_since",
    "disconnect",
    "find",
    "gate_for",
    "sign_in",
]

_TAKEN = say("This login belongs to another account here.")
_ADDRESS = say(
    "There is an account with your e-mail address. Sign in to it, and connect this login on My account."
)


class Claimed(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider says of somebody who has just signed in there: its address, its name for them (always the same), and names
    for people; ``email`` is "" unless the provider says that it has been checked. ``session`` is the provider's name for where they
    signed in there (``sid``), "" if it gives none.
    """  # noqa: D205

    issuer: str
    subject: str
    name: str = ""
    handle: str = ""
    email: str = ""
    session: str = ""

    @property
    def session_hash(self) -> str:
        """What is kept of ``session``: a SHA-256, as of all that names a session; "" for none."""
        text = f"{self.issuer} {self.session}".encode("utf-8", "surrogatepass")
        return hashlib.sha256(text).hexdigest() if self.session else ""


def find(desk: Desk, connection: Connection, claimed: Claimed) -> Person | None:
    """Return whose account an identity is bound to, whatever became of them; None for nobody's."""
    t = tables().identities
    where = (t.c.issuer == claimed.issuer, t.c.subject == claimed.subject)
    row = connection.execute(t.select().where(*where)).first()
    return None if row is None else people.by_id(desk, connection, row.person_id)


def connected_since(connection: Connection, person: Person, issuer: str) -> float | None:
    """Return since when somebody can sign in by a provider, in seconds since 1970; None if they cannot."""
    t = tables().identities
    row = connection.execute(t.select().where(t.c.person_id == person.id, t.c.issuer == issuer)).first()
    return None if row is None else float(row.created_at)


def connect(desk: Desk, connection: Connection, person: Person, claimed: Claimed) -> None:
    """Bind an identity to somebody's account; nothing happens if it is bound to it already.

    Raises:
        GoneError, ConflictError: if the person is no longer active; if one of the two is bound otherwise.
    """
    now, known = people.by_id(desk, connection, person.id), find(desk, connection, claimed)
    if now is None or now.state != "active":
        raise GoneError
    if known is not None and known.id != now.id:
        raise ConflictError(_TAKEN)
    if known is None and connected_since(connection, now, claimed.issuer) is not None:
        raise ConflictError(say("Another login is connected to your account: disconnect it first."))
    if known is None:
        _bind(desk, connection, now, claimed)


def disconnect(desk: Desk, connection: Connection, person: Person, issuer: str) -> None:
    """Take a provider's identity from somebody's account.

    Raises:
        GoneError, ConflictError: if there is none; if they could not sign in any more.
    """
    now, t = people.by_id(desk, connection, person.id), tables().identities
    if now is None or connected_since(connection, now, issuer) is None:
        raise GoneError
    if not now.has_password:
        raise ConflictError(say("Set a password first: you could not sign in any more."))
    connection.execute(t.delete().where(t.c.person_id == now.id, t.c.issuer == issuer))
    add_event(desk, connection, "identity.disconnected", now.pid, now.pid, issuer=issuer)


def accept_invite(desk: Desk, connection: Connection, token_hash: str, claimed: Claimed) -> Person:
    """Make the account that an invitation is for, bound to an identity; no password is needed.

    Raises:
        GoneError, ConflictError: if the invitation cannot be used; if the identity has an account, and it stays usable.
    """
    invite = people.read_invite(desk, connection, token_hash)
    if invite is None or invite.person_id is not None:
        raise GoneError
    if find(desk, connection, claimed) is not None:
        raise ConflictError(
            say("You have an account here: sign in with this login. The invitation is still good.")
        )
    handle, name = _names(desk, connection, claimed)
    gate = gate_for(connection, invite.role)
    person = people.consume_invite(desk, connection, token_hash, handle=handle, name=name, gate=gate)
    _bind(desk, connection, person, claimed)
    return person


def sign_in(desk: Desk, connection: Connection, claimed: Claimed, allowed: Sequence[str]) -> Person:
    """Return who signs in; somebody new whose checked e-mail address fits a pattern (``*@example.org``) becomes an annotator.

    Raises:
        GoneError, ConflictError: if nobody does; if another account has that address, for an address opens nobody's account.
    """
    known, email, t = find(desk, connection, claimed), claimed.email.lower(), tables().people
    if known is not None and known.state == "active":
        return known
    if known is not None or not email or not any(fnmatchcase(email, one.lower()) for one in allowed):
        raise GoneError
    if connection.execute(t.select().where(func.lower(t.c.email) == email)).first() is not None:
        raise ConflictError(_ADDRESS)
    handle, name = _names(desk, connection, claimed)
    more = {"role": "annotator", "email": claimed.email, "gate": gate_for(connection, "annotator")}
    person = people.add(desk, connection, handle=handle, name=name, actor=COMMAND_LINE, **more)
    _bind(desk, connection, person, claimed)
    return person


def gate_for(connection: Connection, role: str) -> str:
    """Return where somebody new begins: annotators in training, if the project has it."""
    trained = documents.protocol(connection).training_required and role == "annotator"
    return "training" if trained else "open"


def _bind(desk: Desk, connection: Connection, person: Person, claimed: Claimed) -> None:
    row = {
        "issuer": claimed.issuer,
        "subject": claimed.subject,
        "person_id": person.id,
        "created_at": desk.now(),
    }
    connection.execute(desk.database.insert_new(tables().identities), row)
    bound = find(desk, connection, claimed)
    if bound is None or bound.id != person.id:  # another process on the same store was quicker
        raise ConflictError(_TAKEN)
    add_event(desk, connection, "identity.connected", person.pid, person.pid, issuer=claimed.issuer)


def _names(desk: Desk, connection: Connection, claimed: Claimed) -> tuple[str, str]:
    """Return a sign-in name that is free and a name to be shown, as near as they come to what the provider says."""
    plain = unicodedata.normalize("NFKD", claimed.handle.partition("@")[0]).encode("ascii", "ignore").decode()
    stem = re.sub(r"^[._-]+|[^a-z0-9._-]", "", plain.lower())[:40]
    stem = stem if len(stem) > 1 else "person"
    numbered = (stem if n == 1 else f"{stem}-{n}" for n in count(1))
    handle = next(h for h in numbered if people.by_handle(desk, connection, h) is None)
    try:
        return handle, people.clean_name(claimed.name[:80])
    except InvalidError:
        return handle, handle
