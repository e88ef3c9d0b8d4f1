"""Which of a provider's sessions somebody's session comes from, so that a log-out there can end that one alone."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the column; of people with a provider's login any session may have come from it, so any log-out there ends it."""
    table = "proctor_sessions"
    op.add_column(table, sa.Column("provider_session", sa.Text(), nullable=True))
    theirs = "person_id IN (SELECT person_id FROM proctor_identities)"
    op.execute(sa.text(f"UPDATE {table} SET provider_session = '' WHERE {theirs}"))  # noqa: S608
