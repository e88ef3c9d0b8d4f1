"""Options of rounds in which task graphs are written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from proctor.settings import option
from proctor.stages.rounds.settings import Given

__all__ = ["GraphRoundSettings"]

_TEXTS = option("A .txt file, a folder of them, or .jsonl with id, title and text (empty: people paste one).")
_EDGES = option("Edges to review instead: the table of 'graph induce --review'.", metavar="FILE")
_DRAFT = option("Model that drafts steps and links, for people to accept or refuse.", metavar="MODEL")


class GraphRoundSettings(Given, frozen=True, kw_only=True):
    """Of what graphs are written, and where what is settled goes."""

    texts: Annotated[Path | None, _TEXTS] = None
    edges: Annotated[Path | None, _EDGES] = None
    draft: Annotated[str | None, _DRAFT] = None
    write: Annotated[bool, option("Put what is settled into the workspace's task graphs.")] = False
