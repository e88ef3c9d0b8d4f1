"""Comments on items and tasks, sign-in by OpenID Connect, and tokens of the HTTP interface."""

from __future__ import annotations

from alembic import op

from proctor.verify.schema import tables

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the tables; nothing that was there is touched."""
    for name in ("comments", "identities", "tokens"):
        getattr(tables(), name).create(op.get_bind())
