"""What the studio needs: people, items, assignments, drafts, responses, cases, events."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "proctor_documents",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("frozen", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("kind", "version"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "proctor_events",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("proctor_events_subject", "proctor_events", ["subject"], unique=False)
    op.create_table(
        "proctor_exports",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("pid", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("file_name", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("pid"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "proctor_graphs",
        sa.Column("activity_id", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("activity_id"),
    )
    op.create_table(
        "proctor_items",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("pid", sa.Text(), nullable=False),
        sa.Column("candidate_id", sa.Text(), nullable=False),
        sa.Column("candidate_hash", sa.Text(), nullable=False),
        sa.Column("candidate", sa.Text(), nullable=False),
        sa.Column("example", sa.Text(), nullable=False),
        sa.Column("stratum", sa.Text(), nullable=False),
        sa.Column("recording_id", sa.Text(), nullable=False),
        sa.Column("activity_id", sa.Text(), nullable=False),
        sa.Column("activity_name", sa.Text(), nullable=False),
        sa.Column("ends_at", sa.Float(), nullable=False),
        sa.Column("wanted", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("agreement", sa.Text(), nullable=False),
        sa.Column("in_training", sa.Boolean(), nullable=False),
        sa.Column("repeat_lot", sa.Float(), nullable=True),
        sa.Column("changed_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("candidate_id"),
        sa.UniqueConstraint("pid"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "proctor_items_agreement", "proctor_items", ["agreement", "stratum", "id", "state"], unique=False
    )
    op.create_index("proctor_items_recording", "proctor_items", ["recording_id"], unique=False)
    op.create_index("proctor_items_repeats", "proctor_items", ["state", "repeat_lot"], unique=False)
    op.create_index("proctor_items_state", "proctor_items", ["state", "stratum", "id"], unique=False)
    op.create_index("proctor_items_stratum", "proctor_items", ["stratum", "id"], unique=False)
    op.create_table(
        "proctor_people",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("pid", sa.Text(), nullable=False),
        sa.Column("handle", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("gate", sa.Text(), nullable=False),
        sa.Column("password", sa.Text(), nullable=False),
        sa.Column("consent_version", sa.Integer(), nullable=False),
        sa.Column("guideline_version", sa.Integer(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("handle"),
        sa.UniqueConstraint("pid"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "proctor_verdicts_void",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("digest"),
    )
    op.create_table(
        "proctor_assignments",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("pid", sa.Text(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("live", sa.Boolean(), nullable=False),
        sa.Column("blind_repeat", sa.Boolean(), nullable=False),
        sa.Column("queue_pos", sa.Integer(), nullable=False),
        sa.Column("guideline_version", sa.Integer(), nullable=False),
        sa.Column("case_hash", sa.Text(), nullable=False),
        sa.Column("lease_until", sa.Float(), nullable=True),
        sa.Column("started_at", sa.Float(), nullable=True),
        sa.Column("submitted_at", sa.Float(), nullable=True),
        sa.Column("rev", sa.Integer(), nullable=False),
        sa.Column("active_ms", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["item_id"],
            ["proctor_items.id"],
        ),
        sa.ForeignKeyConstraint(
            ["person_id"],
            ["proctor_people.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("pid"),
        sqlite_autoincrement=True,
    )
    op.create_index("proctor_assignments_item", "proctor_assignments", ["item_id", "stage"], unique=False)
    op.create_index(
        "proctor_assignments_once",
        "proctor_assignments",
        ["item_id", "stage", "person_id"],
        unique=True,
        sqlite_where=sa.text("live"),
        postgresql_where=sa.text("live"),
    )
    op.create_index(
        "proctor_assignments_place",
        "proctor_assignments",
        ["person_id", "stage", "live", "queue_pos"],
        unique=False,
    )
    op.create_index(
        "proctor_assignments_queue",
        "proctor_assignments",
        ["person_id", "stage", "state", "queue_pos"],
        unique=False,
    )
    op.create_index(
        "proctor_assignments_slot",
        "proctor_assignments",
        ["item_id", "stage", "slot"],
        unique=True,
        sqlite_where=sa.text("live"),
        postgresql_where=sa.text("live"),
    )
    op.create_index(
        "proctor_assignments_state", "proctor_assignments", ["stage", "state", "person_id"], unique=False
    )
    op.create_table(
        "proctor_cases",
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("case_hash", sa.Text(), nullable=False),
        sa.Column("open_question", sa.Boolean(), nullable=False),
        sa.Column("open_answers", sa.Integer(), nullable=False),
        sa.Column("may_add", sa.Boolean(), nullable=False),
        sa.Column("opened_at", sa.Float(), nullable=False),
        sa.Column("decided_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(
            ["item_id"],
            ["proctor_items.id"],
        ),
        sa.PrimaryKeyConstraint("item_id"),
    )
    op.create_table(
        "proctor_final_answers",
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("approved_by", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["item_id"],
            ["proctor_items.id"],
        ),
        sa.PrimaryKeyConstraint("item_id", "position"),
    )
    op.create_table(
        "proctor_invites",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=True),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.Column("used_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(
            ["person_id"],
            ["proctor_people.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("token_hash"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "proctor_sessions",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("seen_at", sa.Float(), nullable=False),
        sa.Column("ended_at", sa.Float(), nullable=True),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["person_id"],
            ["proctor_people.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("token_hash"),
        sqlite_autoincrement=True,
    )
    op.create_index("proctor_sessions_person", "proctor_sessions", ["person_id"], unique=False)
    op.create_table(
        "proctor_training",
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("explanation", sa.Text(), nullable=False),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["item_id"],
            ["proctor_items.id"],
        ),
        sa.PrimaryKeyConstraint("item_id"),
    )
    op.create_table(
        "proctor_drafts",
        sa.Column("assignment_id", sa.Integer(), nullable=False),
        sa.Column("sheet", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("client_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("active_ms", sa.Integer(), nullable=False),
        sa.Column("saved_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["assignment_id"],
            ["proctor_assignments.id"],
        ),
        sa.PrimaryKeyConstraint("assignment_id"),
    )
    op.create_table(
        "proctor_responses",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("assignment_id", sa.Integer(), nullable=False),
        sa.Column("rev", sa.Integer(), nullable=False),
        sa.Column("idem_key", sa.Text(), nullable=False),
        sa.Column("sheet", sa.Text(), nullable=False),
        sa.Column("schema_version", sa.Integer(), nullable=False),
        sa.Column("guideline_version", sa.Integer(), nullable=False),
        sa.Column("verdict_digest", sa.Text(), nullable=False),
        sa.Column("active_ms", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["assignment_id"],
            ["proctor_assignments.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("assignment_id", "idem_key"),
        sa.UniqueConstraint("assignment_id", "rev"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "proctor_answer_judgements",
        sa.Column("response_id", sa.Integer(), nullable=False),
        sa.Column("target", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["response_id"],
            ["proctor_responses.id"],
        ),
        sa.PrimaryKeyConstraint("response_id", "target"),
    )
    op.create_table(
        "proctor_own_answers",
        sa.Column("response_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["response_id"],
            ["proctor_responses.id"],
        ),
        sa.PrimaryKeyConstraint("response_id", "position"),
    )
    op.create_table(
        "proctor_question_judgements",
        sa.Column("response_id", sa.Integer(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("reasons", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["response_id"],
            ["proctor_responses.id"],
        ),
        sa.PrimaryKeyConstraint("response_id"),
    )
