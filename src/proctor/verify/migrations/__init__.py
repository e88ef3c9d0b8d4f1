"""Upgrades of the store's tables from older versions, by Alembic; imported only when there is something to do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["REVISION_TABLE", "upgrade"]

REVISION_TABLE: Final = "proctor_verdicts_revision"


def upgrade(connection: Connection, version: int, target: str = "head") -> None:
    """Bring tables of schema ``version`` to a later one inside the caller's transaction.

    Args:
        connection: in a writing transaction.
        version: that the tables have; 0 for none at all.
        target: revision to stop at.
    """
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory

    script = ScriptDirectory(str(Path(__file__).parent))

    def steps(current: object, _context: object) -> object:
        return script._upgrade_revs(target, current)  # type: ignore[arg-type]

    environment = EnvironmentContext(Config(), script)
    if version:
        environment.configure(connection=connection, version_table=REVISION_TABLE)
        environment.get_context().stamp(script, f"{version:04d}")
    environment.configure(connection=connection, version_table=REVISION_TABLE, fn=steps)
    environment.run_migrations()
