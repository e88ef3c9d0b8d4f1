"""Checking the chain of events: at once while it is short, beside the requests when it is long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import Connection, func

from proctor.verify.desk.events import check_chain
from proctor.verify.schema import tables

if TYPE_CHECKING:
    from proctor.verify.desk.desk import Desk

__all__ = ["Checked", "check_events", "is_short"]

SHORT: Final = 3_000
"""Events up to which a page checks the chain while somebody waits: some 10 ms."""


class Checked(NamedTuple):
    """What a look at every event found: how many there are, and the number of the first that does not fit."""

    events: int
    broken: int | None


def is_short(connection: Connection) -> bool:
    """True when the chain can be checked while somebody waits."""
    e = tables().events
    newest = connection.execute(e.select().with_only_columns(func.max(e.c.id))).scalar()
    return int(newest or 0) <= SHORT


def check_events(desk: Desk, connection: Connection) -> Checked:  # noqa: ARG001 - every function of the desk begins alike
    """Tell the digest of every event again, from the first to the last."""
    return Checked(*check_chain(connection))
