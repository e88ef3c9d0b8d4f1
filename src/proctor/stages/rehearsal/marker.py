"""What tells a rehearsal's workspace from a real one: what models were played must never pass for what models said."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.llm.store import CallStore
from proctor.records import read_json, write_json
from proctor.workspace import is_there

__all__ = ["REHEARSAL_FILE", "Played", "mark_rehearsal", "played_in", "require_no_rehearsal"]

REHEARSAL_FILE: Final = "rehearsal.json"


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """How models are played in a workspace: replies of another quality or seed would not fit those in the store.

    Attributes:
        quality: probability of being right.
        seed: of every draw.
    """

    quality: float
    seed: int = 0


def played_in(root: Path) -> Played | None:
    """Return how models are played in a workspace, None when it is a real one.

    Raises:
        UserError: if the file that says so cannot be read.
    """
    path = root / REHEARSAL_FILE
    if not is_there(path):
        return None
    played: Played = read_json(path, Played)
    return played


def mark_rehearsal(root: Path, played: Played, *, calls: Path) -> None:
    """Make a workspace a rehearsal's, or see that it is one of this kind.

    Args:
        root: the workspace.
        played: how models are played.
        calls: the workspace's own call store.

    Raises:
        UserError: if models were asked in it before, or were played otherwise.
    """
    before = played_in(root)
    if before is None and is_there(calls) and _has_calls(calls):
        raise UserError(
            "models were asked in this workspace; a rehearsal would mix its replies with theirs.",
            where=str(root),
            hint="rehearse in a workspace of its own",
        )
    if before is not None and before != played:
        raise UserError(
            f"this rehearsal was begun with quality {before.quality:g} and seed {before.seed}, not with quality "
            f"{played.quality:g} and seed {played.seed}.",
            where=str(root),
            hint="go on with the same, or rehearse in a workspace of its own",
        )
    if before is None:
        write_json(root / REHEARSAL_FILE, played)


def _has_calls(path: Path) -> bool:
    """A dry run opens the store and leaves it empty."""
    with CallStore.open(path) as store:
        return len(store) > 0


def require_no_rehearsal(root: Path) -> None:
    """See that real models may be asked.

    Raises:
        UserError: if the workspace is a rehearsal's.
    """
    if played_in(root) is not None:
        raise UserError(
            "this workspace is a rehearsal: its questions, answers and marks were played, not given by models.",
            where=str(root),
            hint="go on with --rehearse, or begin the experiment in another folder",
        )
