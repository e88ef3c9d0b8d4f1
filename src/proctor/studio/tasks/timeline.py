"""The page of a timeline: a recording whose every frame can be shown, its steps, and what is marked so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from proctor.said import say_in
from proctor.studio.cards import clip_state
from proctor.studio.guard import MICROPHONE
from proctor.studio.language import encoded
from proctor.studio.narrations import heard_in
from proctor.studio.rendering import clock_text
from proctor.studio.views import CardView
from proctor.verify.rounds.timeline import KIND, TAGS, TimelineOptions, TimelineSheet, TimelineTask

if TYPE_CHECKING:
    from proctor.studio.context import Studio

__all__ = ["HEADERS", "TimelineView", "card", "view"]

HEADERS: Final = {"permissions-policy": MICROPHONE}
"""People speak on this page."""
_SHOWN: Final = (
    "duration_s", "fps_num", "fps_den", "frames", "steps", "script", "prelabels", "planned",
)  # fmt: skip
"""Fields of the task that the page gets; neither where the recording is, nor who made the proposals."""


@dataclass(frozen=True, slots=True)
class TimelineView:
    """``task_timeline``: title of the activity, mistakes with their names in the order of the keys 1 to 8, what is asked for
    beside steps, and all that the page draws, as JSON.
    """  # noqa: D205

    title: str
    tags: tuple[tuple[str, str], ...]
    actions: bool
    narration: bool
    data: str


def view(
    studio: Studio, task: TimelineTask, sheet: TimelineSheet, options: TimelineOptions, address: str
) -> TimelineView:
    """Return what the page shows; what a transcriber heard goes into the sheet there, to be corrected."""
    heard = heard_in(studio.settings.folder, address.removeprefix("/w/"))
    said = {n.id: heard[n.id] for n in sheet.narrations if n.asr is None and n.id in heard}
    data = {name: getattr(task, name) for name in _SHOWN} | msgspec.structs.asdict(options)
    json = encoded({**data, "tags": TAGS, "heard": said}).decode()
    return TimelineView(task.title, tuple(TAGS.items()), options.actions, options.narration, json)


def card(studio: Studio, task: TimelineTask, address: str) -> CardView:
    """Return the recording, as it is shown beside the sheet."""
    clip = clip_state(studio, KIND.footage(task), rate=task.fps)
    span = say_in("length of a recording", "of {time}", time=clock_text(task.duration_s))
    return CardView(address=address, parts=(), span=span, clip=clip.state if clip else "", graph=None)
