"""What the studio needs: people, items, assignments, drafts, responses, cases, events."""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_BIG: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TYPES: Final[dict[str, Any]] = {
    "serial": sa.Integer(),
    "bigserial": _BIG,
    "integer": sa.Integer(),
    "bigint": _BIG,
    "real": sa.Float(),
    "boolean": sa.Boolean(),
    "text": sa.Text(),
}
_REFERENCES: Final = {
    "item_id": "proctor_items.id",
    "person_id": "proctor_people.id",
    "assignment_id": "proctor_assignments.id",
    "response_id": "proctor_responses.id",
}
"""What a column of this name refers to, in every table."""


def _table(name: str, columns: str, *, unique: tuple[str, ...] = (), key: int = 1) -> None:
    """Make a table of ``name type [null]`` columns; its key is the first of them, or the first ``key``."""
    words = [column.split() for column in columns.split(", ")]
    names = [word[0] for word in words]
    op.create_table(
        name,
        *(sa.Column(word[0], _TYPES[word[1]], nullable=word[2:] == ["null"]) for word in words),
        *(sa.ForeignKeyConstraint([own], [_REFERENCES[own]]) for own in names if own in _REFERENCES),
        sa.PrimaryKeyConstraint(*names[:key]),
        *(sa.UniqueConstraint(*together.split(", ")) for together in unique),
        **({"sqlite_autoincrement": True} if words[0][1].endswith("serial") else {}),
    )


def _index(name: str, columns: str, *, of_live: bool = False) -> None:
    """Make an index; ``of_live`` over the live rows only, each once."""
    table = "_".join(name.split("_")[:2])
    live: dict[str, Any] = (
        {"sqlite_where": sa.text("live"), "postgresql_where": sa.text("live")} if of_live else {}
    )
    op.create_index(name, table, columns.split(", "), unique=of_live, **live)


def upgrade() -> None:
    """Make the tables."""
    _table(
        "proctor_documents",
        "id serial, kind text, version integer, body text, sha256 text, made_by text, created_at real, "
        "frozen boolean",
        unique=("kind, version",),
    )
    _table(
        "proctor_events", "id bigserial, at real, actor text, kind text, subject text, body text, digest text"
    )
    _index("proctor_events_subject", "subject")
    _table(
        "proctor_exports",
        "id serial, pid text, kind text, file_name text, sha256 text, rows integer, made_by text, "
        "created_at real",
        unique=("pid",),
    )
    _table("proctor_graphs", "activity_id text, body text")
    _table(
        "proctor_items",
        "id serial, pid text, candidate_id text, candidate_hash text, candidate text, example text, "
        "stratum text, recording_id text, activity_id text, activity_name text, ends_at real, "
        "wanted integer, state text, reason text, agreement text, in_training boolean, "
        "repeat_lot real null, changed_at real",
        unique=("candidate_id", "pid"),
    )
    _index("proctor_items_agreement", "agreement, stratum, id, state")
    _index("proctor_items_recording", "recording_id")
    _index("proctor_items_repeats", "state, repeat_lot")
    _index("proctor_items_state", "state, stratum, id")
    _index("proctor_items_stratum", "stratum, id")
    _table(
        "proctor_people",
        "id serial, pid text, handle text, name text, email text, role text, state text, gate text, "
        "password text, consent_version integer, guideline_version integer, settings text, "
        "created_at real",
        unique=("handle", "pid"),
    )
    _table("proctor_verdicts_void", "digest text, at real, actor text, reason text")
    _table(
        "proctor_assignments",
        "id serial, pid text, item_id integer, person_id integer, stage text, slot integer, "
        "state text, live boolean, blind_repeat boolean, queue_pos integer, guideline_version integer, "
        "case_hash text, lease_until real null, started_at real null, submitted_at real null, "
        "rev integer, active_ms integer, reason text, created_at real",
        unique=("pid",),
    )
    _index("proctor_assignments_item", "item_id, stage")
    _index("proctor_assignments_once", "item_id, stage, person_id", of_live=True)
    _index("proctor_assignments_place", "person_id, stage, live, queue_pos")
    _index("proctor_assignments_queue", "person_id, stage, state, queue_pos")
    _index("proctor_assignments_slot", "item_id, stage, slot", of_live=True)
    _index("proctor_assignments_state", "stage, state, person_id")
    _table(
        "proctor_cases",
        "item_id integer, case_hash text, open_question boolean, open_answers integer, "
        "may_add boolean, opened_at real, decided_at real null",
    )
    _table(
        "proctor_final_answers",
        "item_id integer, position integer, text text, source text, approved_by text",
        key=2,
    )
    _table(
        "proctor_invites",
        "id serial, token_hash text, role text, email text, person_id integer null, made_by text, "
        "created_at real, expires_at real, used_at real null",
        unique=("token_hash",),
    )
    _table(
        "proctor_sessions",
        "id serial, token_hash text, person_id integer, created_at real, seen_at real, "
        "ended_at real null, agent text",
        unique=("token_hash",),
    )
    _index("proctor_sessions_person", "person_id")
    _table(
        "proctor_training",
        "item_id integer, position integer, reference text, explanation text, made_by text, created_at real",
    )
    _table(
        "proctor_drafts",
        "assignment_id integer, sheet text, version integer, client_id text, seq bigint, "
        "active_ms integer, saved_at real",
    )
    _table(
        "proctor_responses",
        "id serial, assignment_id integer, rev integer, idem_key text, sheet text, "
        "schema_version integer, guideline_version integer, verdict_digest text, active_ms integer, "
        "created_at real",
        unique=("assignment_id, idem_key", "assignment_id, rev"),
    )
    _table("proctor_answer_judgements", "response_id integer, target integer, value text", key=2)
    _table("proctor_own_answers", "response_id integer, position integer, text text", key=2)
    _table("proctor_question_judgements", "response_id integer, value text, reasons text")
