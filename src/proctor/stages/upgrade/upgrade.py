"""``proctor upgrade``: a workspace of an older version in today's form, on a copy.

Every other command refuses such a folder (``proctor.workspace.Workspace``). The copy gets its name when everything is done, so
that a process which is killed leaves nothing that looks whole.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec

from proctor.errors import UserError
from proctor.records import atomic_folder
from proctor.stages.upgrade.clip import upgrade_clips
from proctor.stages.upgrade.copying import copy_workspace
from proctor.stages.upgrade.documents import upgrade_documents
from proctor.stages.upgrade.experiments import upgrade_experiment
from proctor.stages.upgrade.moment import upgrade_moments
from proctor.stages.upgrade.people import upgrade_people
from proctor.stages.upgrade.replies import upgrade_replies
from proctor.stages.upgrade.tables import leave_out_tables
from proctor.stages.upgrade.written import upgrade_written
from proctor.workspace import FORMAT, Workspace, format_of, write_format

__all__ = ["Upgraded", "upgrade"]

_PARTS = (
    (2, upgrade_written),
    (2, upgrade_replies),
    (1, upgrade_moments),
    (1, upgrade_clips),
    (1, upgrade_documents),
    (1, upgrade_people),
    (1, upgrade_experiment),
    (1, leave_out_tables),
)
"""What is brought up to date, in order, each with the last format that needs it."""
_IN_ORDER = ("build", "predict", "calibrate", "score")


class Upgraded(msgspec.Struct, frozen=True, kw_only=True):
    """What an upgrade did.

    Attributes:
        output: the upgraded copy.
        changed: what was brought into today's form, counted.
        left_out: files that are made again without asking any model, counted by name.
        again: the commands that make them.
        notes: what a person should know.
    """

    output: str
    changed: dict[str, int]
    left_out: dict[str, int]
    again: list[str]
    notes: list[str]


def upgrade(root: Path, output: Path | None = None, *, seen: Callable[[], None] | None = None) -> Upgraded:
    """Copy a workspace of an older version and bring the copy up to date; the original stays as it is.

    Args:
        root: the workspace; nothing may be at work in it.
        output: the copy; beside it, with ``-upgraded`` behind its name, by default.
        seen: called after each file that was copied.

    Raises:
        UserError: if it is no workspace, or of today's format already, there is something at ``output``, or a file is broken.
    """
    found = format_of(root)
    if found is None:
        raise UserError(
            "there is no workspace here.",
            where=str(root),
            hint=Workspace(root).meant() or "name the folder that has stages.json in it",
        )
    if found >= FORMAT:
        raise UserError(
            f"this workspace is of format {found} already; there is nothing to do.", where=str(root)
        )
    output = output or root.absolute().with_name(f"{root.absolute().name}-upgraded")
    if output.absolute().is_relative_to(root.absolute()):
        raise UserError("the copy cannot be inside the workspace.", where=str(output))
    with atomic_folder(output) as folder:
        copy_workspace(root, folder, seen=seen)
        for path in (folder, *(marked.parent for marked in folder.glob("cells/**/workspace.json"))):
            write_format(path)
        try:
            parts = [part(Workspace(folder)) for last, part in _PARTS if found <= last]
        except UserError as error:  # the copy goes: what is to be corrected is in the original
            where = (error.where or "").replace(str(folder), str(root))
            raise UserError(error.message, where=where, hint=error.hint) from None
    commands = [c for c in _IN_ORDER if any(c in part.again for part in parts)]
    return Upgraded(
        output=str(output),
        changed={name: n for part in parts for name, n in part.changed.items() if n},
        left_out=dict(sum((Counter(part.left_out) for part in parts), Counter[str]())),
        again=[f"proctor {command} {shlex.quote(str(output))}" for command in commands],
        notes=[note for part in parts for note in part.notes],
    )
