"""Verdicts alone, as Proctor 0.1 wrote them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the two tables."""
    op.create_table(
        "proctor_verdicts_meta",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
    op.create_table(
        "proctor_verdicts",
        sa.Column(
            "sequence",
            sa.BigInteger().with_variant(sa.Integer, "sqlite"),
            primary_key=True,
            autoincrement=True,
        ),
        sa.Column("digest", sa.Text, nullable=False, unique=True),
        sa.Column("candidate_id", sa.Text, nullable=False),
        sa.Column("annotator", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("proctor_verdicts_key", "proctor_verdicts", ["candidate_id", "annotator", "role"])
