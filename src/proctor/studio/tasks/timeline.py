"""The page of a timeline: a recording whose every frame can be shown, its steps, and what is marked so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from proctor.studio.cards import clip_state
from proctor.studio.guard import MICROPHONE
from proctor.studio.narrations import heard_in
from proctor.studio.rendering import clock_text
from proctor.studio.views import CardView
from proctor.verify.rounds.timeline import KIND, TAGS, TimelineOptions, TimelineSheet, TimelineTask

if TYPE_CHECKING:
    from proctor.studio.context import Studio

__all__ = ["HEADERS", "TimelineView", "card", "view"]

HEADERS: Final = {"permissions-policy": MICROPHONE}
"""People speak on this page."""


@dataclass(frozen=True, slots=True)
class TimelineView:
    """``task_timeline``.

    Attributes:
        title: of the activity.
        tags: kinds of mistakes with their names, in the order of the keys 1 to 8.
        actions: fine-grained actions are asked for.
        narration: sound may be recorded.
        data: everything that the page draws, as JSON.
    """

    title: str
    tags: tuple[tuple[str, str], ...]
    actions: bool
    narration: bool
    data: str


def view(
    studio: Studio,
    task: TimelineTask,
    sheet: TimelineSheet,  # noqa: ARG001 - the page has it
    options: TimelineOptions,
    address: str,
) -> TimelineView:
    """Return what the page shows; neither where the recording is, nor who made the proposals."""
    heard = heard_in(studio.settings.folder, address.removeprefix("/w/"))
    data = {
        "duration_s": task.duration_s,
        "fps_num": task.fps_num,
        "fps_den": task.fps_den,
        "frames": task.frames,
        "steps": task.steps,
        "script": task.script,
        "before": task.before,
        "prelabels": task.prelabels,
        "planned": task.planned,
        "tags": TAGS,
        "complete": options.complete,
        "actions": options.actions,
        "narration": options.narration,
        "heard": {name: said.text for name, said in heard.items()},
    }
    return TimelineView(
        task.title,
        tuple(TAGS.items()),
        options.actions,
        options.narration,
        msgspec.json.encode(data).decode(),
    )


def card(studio: Studio, task: TimelineTask, address: str) -> CardView:
    """Return the recording, as it is shown beside the sheet."""
    clip = clip_state(studio, KIND.footage(task), rate=task.fps)
    state = clip.state if clip is not None else ""
    return CardView(
        address=address, parts=(), span=f"of {clock_text(task.duration_s)}", clip=state, graph=None
    )
