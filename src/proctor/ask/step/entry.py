"""A step that is asked about: one line of a recording's annotation, with the part of the video that stands for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Clip", "Entry"]

Clip = Literal["step", "gap", "whole"]
"""The step's own times, or what stands for a step that nobody carried out."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a recording's annotation.

    Attributes:
        recording: its id.
        number: place in the annotation, from 0.
        step: the annotation's own id of the step.
        text: the instruction, as models are shown it.
        recipe: name of the activity.
        activity: its id.
        start: seconds of the clip.
        end: seconds, exclusive.
        clip: what the clip is: the step's own times, or what stands for a step without times.
        kinds: of the mistakes that it carries.
        before: instructions of the steps that the task graph has directly before it.
        video: path of the recording's video, where the data set names one.
    """

    recording: str
    number: int
    step: str
    text: str
    recipe: str
    activity: str
    start: float
    end: float
    clip: Clip = "step"
    kinds: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    video: str = ""

    @property
    def id(self) -> str:
        """Unique in a data set."""
        return f"{self.recording}:{self.number}"

    @property
    def mistaken(self) -> bool:
        """Whether it carries a mistake of any kind."""
        return bool(self.kinds)
