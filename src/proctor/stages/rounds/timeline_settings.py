"""Settings of rounds of timelines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from proctor.settings import option
from proctor.stages.rounds.settings import Given

__all__ = ["FRAMES", "TimelineSettings"]

FRAMES: Final = "label-studio-frames"
"""Label Studio's format with times in frames."""


class TimelineSettings(Given, frozen=True, kw_only=True):
    """Which recordings are annotated."""

    videos: Annotated[Path | None, option("Folder of the videos; that of the data set by default.")] = None
    steps: Annotated[
        str,
        option(
            "All videos of the folder follow these steps, recordings or not: a task graph of the workspace, a file of one, "
            "or a .txt with one step a line."
        ),
    ] = ""
    recording: Annotated[tuple[str, ...], option("Only this recording (repeatable).")] = ()
    prelabels: Annotated[
        Path | None, option("Segments to begin with: predictions of a localizer, as 'score' reads them.")
    ] = None
    incomplete: Annotated[bool, option("Steps may be left unmarked without being missing.")] = False
    least_iou: Annotated[float, option("Overlap from which two segments agree.", ge=0.01, le=1)] = 0.5
    format: Annotated[
        tuple[str, ...],
        option(f"Write what is settled like this, too (repeatable): elan, webvtt, label-studio, {FRAMES}, …"),
    ] = ()
