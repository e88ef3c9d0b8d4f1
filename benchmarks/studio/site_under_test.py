"""A workspace with a filled store, and the command that serves it.

The sessions of the annotators are opened in the store, so that the load begins with people who are signed in.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import material
import workplace
from process import free_port

from proctor.stages.studio import open_desk
from proctor.verify.desk.desk import Desk
from proctor.workspace import Workspace

HERE = Path(__file__).resolve().parent
HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What can be served and worked in.

    Attributes:
        command: that serves it as people start it.
        unlimited: that serves it without a limit on how fast one person may write (see serve.py).
        port: that it will listen to.
        workspace: its folder.
        target: of the store: a file or a URL.
        people: who works where.
        cookie: name of the session's cookie.
        tasks: kind of tasks that people do; empty where they verify items.
    """

    command: tuple[str, ...]
    unlimited: tuple[str, ...]
    port: int
    workspace: Path
    target: str
    people: workplace.Workplace
    cookie: str
    tasks: str = ""

    def plan(self, saves: int) -> dict[str, Any]:
        """Return the plan of a load (see annotators.py)."""
        entries = [
            {"cookies": {self.cookie: token}, "first": queue[0]}
            for token, queue in zip(self.people.tokens, self.people.queues, strict=True)
        ]
        return {
            "host": HOST,
            "port": self.port,
            "people": entries,
            "cards": self.people.cards,
            "saves": saves,
            "tasks": self.tasks,
        }


def settle(desk: Desk) -> None:
    """Let PostgreSQL finish what filling the store left to do, as its own background work would within minutes."""
    with desk.database.engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        connection.exec_driver_sql("VACUUM ANALYZE")
        connection.exec_driver_sql("CHECKPOINT")


def build(folder: Path, target: str, *, items: int, annotators: int, saves: int, tasks: str = "") -> Site:
    """Make a workspace and fill its store.

    Args:
        folder: empty, for the workspace.
        target: where the store is made: a file in the folder, or a URL.
        items: how many.
        annotators: how many people.
        saves: assignments of each that there must be at least.
        tasks: see ``Site``.
    """
    workspace = Workspace(folder / "workspace")
    material.write_workspace(workspace, items)
    port = free_port()
    with open_desk(workspace.root, target) as desk:
        people = workplace.furnish(desk, workspace.root, annotators=annotators, saves=saves, tasks=tasks)
        if not desk.database.is_sqlite:
            settle(desk)
    command = [str(Path(sys.executable).with_name("proctor")), "studio", str(workspace.root)]
    command += ["--port", str(port), "--database", target]
    return Site(
        command=tuple(command),
        unlimited=(sys.executable, str(HERE / "serve.py"), str(workspace.root), target, str(port)),
        port=port,
        workspace=workspace.root,
        target=target,
        people=people,
        cookie=f"proctor-{port}",
        tasks=tasks,
    )
