"""What people saw of each candidate, so that a verdict holds as long as they would see the same again."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa
from alembic import op

from proctor.ask.moment.candidate import Candidate
from proctor.ask.moment.question import moment_question
from proctor.exam.kinds.example import Example
from proctor.exam.kinds.moment_question import moment_seen

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the table, and note what the studio's items show."""
    seen = op.create_table(
        "proctor_seen",
        sa.Column("candidate_id", sa.Text(), nullable=False),
        sa.Column("candidate_hash", sa.Text(), nullable=False),
        sa.Column("seen", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("candidate_id", "candidate_hash"),
    )
    candidates, examples = msgspec.json.Decoder(Candidate), msgspec.json.Decoder(Example)
    items = op.get_bind().execute(
        sa.text("SELECT candidate_id, candidate_hash, candidate, example FROM proctor_items")
    )
    rows = [
        {
            "candidate_id": item.candidate_id,
            "candidate_hash": item.candidate_hash,
            "seen": moment_seen(
                moment_question(candidates.decode(item.candidate), examples.decode(item.example))
            ),
        }
        for item in items
    ]
    if rows:
        op.bulk_insert(seen, rows)
