"""The store of verdicts: its tables brought up to date."""

from __future__ import annotations

from proctor.stages.studio import desk_target
from proctor.stages.upgrade.part import Part
from proctor.verify.store import VerdictStore
from proctor.workspace import Workspace, is_there

__all__ = ["upgrade_people"]


def upgrade_people(workspace: Workspace) -> Part:
    """Bring the tables of the store up to date; verdicts and events stay as they were written.

    What people have open stays open. Candidates that were changed since they were dealt are taken in by the studio's next start, as
    they would have been by the start of an older version, and no other.

    Raises:
        UserError: if the store is broken.
    """
    target = desk_target(workspace)
    if isinstance(target, str) or not target.is_relative_to(workspace.root):
        return Part(
            notes=("Verdicts are not in the workspace: its copy and the original share their store.",)
        )
    if not is_there(target):
        return Part()
    with VerdictStore.open(target, create=False) as store:
        verdicts = sum(1 for _ in store.history())
    return Part(changed={"verdicts": verdicts})
