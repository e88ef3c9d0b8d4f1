"""The page of an own task: its texts, links, pictures, sounds and video."""

from __future__ import annotations

from pathlib import Path

from proctor.corpus.collection import find_image
from proctor.exam.card import Exhibited
from proctor.said import say_in
from proctor.studio.cards import clip_state
from proctor.studio.context import Studio
from proctor.studio.rendering import clock_text
from proctor.studio.views import CardView
from proctor.verify.rounds.own import KIND, OwnTask

__all__ = ["card", "view"]


def view(studio: object, task: OwnTask, sheet: object, options: object, address: str) -> tuple[str, ...]:  # noqa: ARG001
    """Return the columns of the parts of the card, in their order."""
    return tuple(part.column for part in task.parts)


def card(studio: Studio, task: OwnTask, address: str) -> CardView:
    """Return what is shown: the player's recording, and the other parts in their order; files are called by place, never by name."""
    footage, parts = KIND.footage(task), []
    for part in task.parts:
        picture, sound = (find_image(studio.library.root, name) for name in (part.picture, part.sound))
        parts.append(
            Exhibited(
                part.heading,
                part.text,
                picture=picture if isinstance(picture, Path) else None,
                sound=sound if isinstance(sound, Path) else None,
                link=part.link,
                footage=footage if part.video else None,
            )
        )
    clip = clip_state(studio, footage)
    span = (
        say_in("length of a recording", "of {time}", time=clock_text(footage.end))
        if footage is not None
        else ""
    )
    return CardView(
        address=address, parts=tuple(parts), span=span, clip=clip.state if clip is not None else ""
    )
