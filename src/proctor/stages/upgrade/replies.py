"""Limits of replies were the protocols' own, and a limit is part of a call's name: stored calls are found again under these alone."""

from __future__ import annotations

from proctor.llm.replying import PUBLISHED
from proctor.llm.store import CallStore
from proctor.records import is_there
from proctor.stages.models import CALLS
from proctor.stages.settings import REPLY_NAMES
from proctor.stages.upgrade.part import Part
from proctor.workspace import Workspace

__all__ = ["upgrade_replies"]


def upgrade_replies(workspace: Workspace) -> Part:
    """Write into ``proctor.toml`` that replies keep the limits of the protocols, where there are calls and nothing is said yet.

    Raises:
        UserError: if the store of calls or the file is broken.
    """
    if not is_there(workspace.file(CALLS)):
        return Part()
    with CallStore.open(workspace.file(CALLS)) as store:
        asked = store.models()
    said = workspace.model_settings(REPLY_NAMES).values()
    if not asked or any("reply_tokens" in values for values in said):
        return Part()
    workspace.keep("models", {"reply_tokens": PUBLISHED})
    told = (
        'Replies keep the limits of the stored calls, so that these are found again: reply_tokens = "published" under [models] '
        "in proctor.toml. Models that think need more: --reply-tokens 4096."
    )
    return Part(notes=(told,))
