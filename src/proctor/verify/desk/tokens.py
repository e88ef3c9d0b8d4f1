"""Tokens of programs that use the HTTP interface in a person's name. docs/studio-api.md.

Only the SHA-256 of a token is kept. A token can do what its person may do at that moment, and no more than its scope:
whoever loses the role, leaves or withdraws takes their tokens with them.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import msgspec
from sqlalchemy import Connection, or_

from proctor.said import say
from proctor.verify.desk import people
from proctor.verify.desk.desk import new_pid
from proctor.verify.desk.events import add_event
from proctor.verify.desk.records import GoneError, InvalidError, Person, at_least
from proctor.verify.schema import tables

if TYPE_CHECKING:
    from proctor.verify.desk.desk import Desk

__all__ = ["SCOPES", "Scope", "Token", "create", "end", "find", "list_tokens", "new_secret", "touch"]

Scope = Literal["read", "write"]
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
"""What a program may do; ``write`` includes ``read``."""

_DAYS: Final = 366
_MOST: Final = 50


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A token; ``pid`` names it in pages and says nothing about the token itself."""

    id: int
    pid: str
    person_id: int
    name: str
    scope: Scope
    created_at: float
    expires_at: float | None
    used_at: float | None


def new_secret() -> str:
    """Return a new token: ``proctor_`` and 256 random bits, so that scanners of repositories can tell what it is."""
    return f"proctor_{secrets.token_urlsafe(32)}"


def create(
    desk: Desk, connection: Connection, token_hash: str, person: Person, *, name: str, scope: str, days: int, actor: str
) -> None:  # fmt: skip
    """Keep a token of a coordinator or an owner for 1 to 366 days; ``name`` says what it is for in 1 to 80 characters.

    Raises:
        GoneError: if the person is no longer active, or has not the role.
        InvalidError: if a field is not as it should be, or they have 50 tokens.
    """
    now, at, pid = people.by_id(desk, connection, person.id), desk.now(), new_pid()
    if now is None or now.state != "active" or not at_least(now.role, "coordinator"):
        raise GoneError
    errors: list[tuple[str, str]] = (
        [("days", say("Give 1 to {most} days.", most=_DAYS))] if not 1 <= days <= _DAYS else []
    )
    if scope not in SCOPES:
        errors.append(("scope", say("Choose read or write.")))
    try:
        name = people.clean_name(name)
    except InvalidError:
        errors.append(("token_name", say("Say in 1 to 80 characters what the token is for.")))
    if len(list_tokens(desk, connection, now)) >= _MOST:
        errors.append(("token_name", say("You have {count} tokens: end one first.", count=_MOST)))
    if errors:
        raise InvalidError(errors)
    row = {
        "pid": pid, "token_hash": token_hash, "person_id": now.id, "name": name, "scope": scope, "created_at": at,
        "expires_at": at + days * 86_400.0,
    }  # fmt: skip
    connection.execute(tables().tokens.insert(), row)
    add_event(desk, connection, "token.made", pid, actor, of=now.pid, scope=scope, days=days)


def find(desk: Desk, connection: Connection, token_hash: str) -> tuple[Token, Person] | None:
    """Return a token that works and in whose name; None if it is unknown, ended or too old, or they have no longer the role."""
    t = tables().tokens
    row = connection.execute(_working(desk).where(t.c.token_hash == token_hash)).first()
    person = people.by_id(desk, connection, row.person_id) if row is not None else None
    if row is None or person is None or person.state != "active" or not at_least(person.role, "coordinator"):
        return None
    return _token(row), person


def list_tokens(desk: Desk, connection: Connection, person: Person) -> list[Token]:
    """Return somebody's tokens that work, the newest first."""
    t = tables().tokens
    query = _working(desk).where(t.c.person_id == person.id).order_by(t.c.id.desc())
    return [_token(row) for row in connection.execute(query)]


def touch(desk: Desk, connection: Connection, token: Token) -> None:
    """Note that a token is in use."""
    t = tables().tokens
    connection.execute(t.update().where(t.c.id == token.id).values(used_at=desk.now()))


def end(desk: Desk, connection: Connection, person: Person, pid: str) -> None:
    """End one of somebody's tokens.

    Raises:
        GoneError: if they have no such token.
    """
    t = tables().tokens
    mine = t.update().where(t.c.person_id == person.id, t.c.pid == pid, t.c.ended_at.is_(None))
    if not connection.execute(mine.values(ended_at=desk.now())).rowcount:
        raise GoneError
    add_event(desk, connection, "token.ended", pid, person.pid)


def _working(desk: Desk) -> Any:
    t = tables().tokens
    young = or_(t.c.expires_at.is_(None), t.c.expires_at > desk.now())
    return t.select().where(t.c.ended_at.is_(None), young)


def _token(row: Any) -> Token:
    return Token(**{name: getattr(row, name) for name in Token.__struct_fields__})
