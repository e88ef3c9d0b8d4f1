"""Items are questions of any kind; guideline and gate are kept for each kind; what cards look up is a library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
import sqlalchemy as sa
from alembic import op

from proctor.ask.moment.candidate import Candidate
from proctor.ask.moment.question import moment_question
from proctor.exam.kinds.example import Example
from proctor.exam.kinds.moment_question import MOMENT
from proctor.records import canonical_json

if TYPE_CHECKING:
    from collections.abc import Iterator

revision = "0004"
down_revision = "0003"

_CHUNK: Final = 2_000


def upgrade() -> None:
    """Turn candidates with their examples into questions; what people said is not touched."""
    _items()
    _people()
    _library()


def _items() -> None:
    table = "proctor_items"
    op.drop_index("proctor_items_recording", table)
    for old, new in (
        ("candidate", "body"),
        ("recording_id", "cluster"),
        ("activity_id", "topic"),
        ("activity_name", "title"),
    ):
        op.execute(sa.text(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}"))
    op.add_column(table, sa.Column("kind", sa.Text(), nullable=False, server_default=MOMENT))
    op.add_column(table, sa.Column("place", sa.Float(), nullable=True))
    connection = op.get_bind()
    update = sa.text(f"UPDATE {table} SET body = :body, place = :place WHERE id = :id")  # noqa: S608
    for rows in _questions(connection):
        connection.execute(update, rows)
    for name in ("example", "ends_at"):
        op.drop_column(table, name)
    op.create_index("proctor_items_cluster", table, ["cluster"])


def _questions(connection: sa.Connection) -> Iterator[list[dict[str, object]]]:
    candidates, examples = msgspec.json.Decoder(Candidate), msgspec.json.Decoder(Example)
    last = 0
    query = sa.text("SELECT id, body, example FROM proctor_items WHERE id > :last ORDER BY id LIMIT :most")
    while found := connection.execute(query, {"last": last, "most": _CHUNK}).all():
        last = found[-1].id
        rows: list[dict[str, object]] = []
        for row in found:
            question = moment_question(candidates.decode(row.body), examples.decode(row.example))
            body = canonical_json(question).decode()
            rows.append({"id": row.id, "body": body, "place": question.place})
        yield rows


def _people() -> None:
    table = "proctor_people"
    for name in ("gates", "guidelines"):
        op.add_column(table, sa.Column(name, sa.Text(), nullable=False, server_default="{}"))
    connection = op.get_bind()
    known = connection.execute(sa.text(f"SELECT id, gate, guideline_version FROM {table}")).all()  # noqa: S608
    rows = [
        {
            "id": row.id,
            "gates": msgspec.json.encode({MOMENT: row.gate}).decode(),
            "guidelines": msgspec.json.encode(
                {MOMENT: row.guideline_version} if row.guideline_version else {}
            ).decode(),
        }
        for row in known
    ]
    if rows:
        update = sa.text(f"UPDATE {table} SET gates = :gates, guidelines = :guidelines WHERE id = :id")  # noqa: S608
        connection.execute(update, rows)
    for name in ("gate", "guideline_version"):
        op.drop_column(table, name)


def _library() -> None:
    op.create_table(
        "proctor_library",
        sa.Column("part", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("part", "id"),
    )
    copied = (
        "INSERT INTO proctor_library (part, id, body) SELECT 'graph', activity_id, body FROM proctor_graphs"
    )
    op.execute(sa.text(copied))
    op.drop_table("proctor_graphs")
