"""Rounds: tasks of other kinds than verification, given out in batches; work on them is in the same assignments."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from proctor.verify.schema import tables

revision = "0005"
down_revision = "0004"

_NEW = ("rounds", "tasks", "batches", "reviews", "platform_ids")


def upgrade() -> None:
    """Add the tables, and let an assignment be of a task in place of an item; nothing that people said is touched."""
    connection = op.get_bind()
    now = tables()
    for name in _NEW:
        getattr(now, name).create(connection)
    table = "proctor_assignments"
    if connection.dialect.name == "sqlite":
        _let_be_empty(connection, table, "item_id INTEGER NOT NULL", "item_id INTEGER")
    else:
        op.alter_column(table, "item_id", nullable=True)
    for column, other in (("task_id", "proctor_tasks"), ("batch_id", "proctor_batches")):
        reference = sa.ForeignKey(f"{other}.id", name=None)
        op.add_column(
            table, sa.Column(column, sa.Integer(), reference, nullable=True), inline_references=True
        )
    for index in now.assignments.indexes:
        if "task" in str(index.name) or "batch" in str(index.name):
            index.create(connection)


def _let_be_empty(connection: sa.Connection, table: str, old: str, new: str) -> None:
    """Change what SQLite says of a column. Copying the table would break the references to it, and what lies in the file stays.

    Source: SQLite's page on ALTER TABLE, section 7 (changes that do not affect the content on the disk).
    """
    version = connection.exec_driver_sql("PRAGMA schema_version").scalar_one()
    sql = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).scalar_one()
    if str(sql).count(old) != 1:
        raise RuntimeError(f"{table} is not as it was made: {old!r} is not in it once")
    connection.exec_driver_sql("PRAGMA writable_schema = ON")
    connection.exec_driver_sql(
        "UPDATE sqlite_master SET sql = ? WHERE type = 'table' AND name = ?",
        (str(sql).replace(old, new), table),
    )
    connection.exec_driver_sql(f"PRAGMA schema_version = {int(version) + 1}")
    connection.exec_driver_sql("PRAGMA writable_schema = OFF")
