"""The tables of the call store."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from proctor.database import StoreKind

if TYPE_CHECKING:
    from sqlalchemy import Table

__all__ = ["CALLS", "SCHEMA_VERSION", "Tables", "tables"]

SCHEMA_VERSION: Final = 2


class Tables(NamedTuple):
    """What a store consists of."""

    meta: Table
    calls: Table
    attempts: Table
    owners: Table
    claims: Table
    flow: Table


@cache
def tables() -> Tables:
    """Return the tables; wide columns come last, since SQLite walks over them to reach what is behind."""
    from sqlalchemy import BigInteger, Column, Double, Index, Integer, MetaData, Table, Text

    metadata = MetaData()
    big = BigInteger().with_variant(Integer, "sqlite")
    meta = Table(
        "proctor_calls_meta",
        metadata,
        Column("key", Text, primary_key=True),
        Column("value", Text, nullable=False),
    )
    calls = Table(
        "proctor_calls",
        metadata,
        Column("key", Text, primary_key=True),
        Column("model", Text, nullable=False),
        Column("stage", Text, nullable=False),
        Column("kind", Text, nullable=False),
        Column("created", Double, nullable=False),
        Column("seconds", Double),
        Column("input", big),
        Column("output", big),
        Column("cached", big),
        Column("cost", big),
        Column("outcome", Text),
        Column("request", Text, nullable=False),
    )
    attempts = Table(
        "proctor_call_attempts",
        metadata,
        Column("sequence", big, primary_key=True, autoincrement=True),
        Column("key", Text, nullable=False),
        Column("number", Integer, nullable=False),
        Column("started", Double, nullable=False),
        Column("seconds", Double, nullable=False),
        Column("kind", Text, nullable=False),
        Column("status", Integer),
        Column("input", big),
        Column("output", big),
        Column("cached", big),
        Column("reasoning", big),
        Column("cost", big),
        Column("retry_after", Double),
        Column("lost", Integer, nullable=False, server_default="0"),
        Column("feared", big),
        Column("message", Text, nullable=False),
    )
    Index("proctor_call_attempts_key", attempts.c.key)
    owners = Table(
        "proctor_call_owners",
        metadata,
        Column("owner", Text, primary_key=True),
        Column("host", Text, nullable=False),
        Column("pid", big, nullable=False),
        Column("began", Text, nullable=False),
        Column("beat", big, nullable=False),
    )
    claims = Table(
        "proctor_call_claims",
        metadata,
        Column("key", Text, primary_key=True),
        Column("owner", Text, nullable=False),
    )
    Index("proctor_call_claims_owner", claims.c.owner)
    flow = Table(
        "proctor_call_flow",
        metadata,
        Column("sequence", big, primary_key=True, autoincrement=True),
        Column("at", Double, nullable=False),
        Column("stage", Text, nullable=False),
        Column("endpoint", Text, nullable=False),
        Column("kind", Text, nullable=False),
        Column("places", Integer, nullable=False),
        Column("detail", Text, nullable=False),
    )
    return Tables(meta, calls, attempts, owners, claims, flow)


CALLS: Final = StoreKind(
    things="calls",
    file_name="calls.sqlite",
    first="run something first",
    again="run again",
    schema_version=SCHEMA_VERSION,
    lock_key=0x70726F64,
    tables=tables,
    # A request of a few thousand characters and its outcome fit on one page.
    page_bytes=8192,
    cache_kib=16_384,
)
