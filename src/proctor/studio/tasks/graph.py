"""The page on which a task graph is written from a text, or an inferred one reviewed."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from proctor.verify.rounds.graph import GraphTask

__all__ = ["GraphPage", "view"]


@dataclass(frozen=True, slots=True)
class GraphPage:
    """What the page shows; ``data`` is what its script draws: text, proposed steps and edges."""

    title: str
    fixed: bool
    data: str


def view(_studio: object, task: GraphTask, *_: object) -> GraphPage:
    """Return the view of a task: all of it, since nothing of it is hidden."""
    return GraphPage(task.title, task.fixed, msgspec.json.encode(task).decode())
