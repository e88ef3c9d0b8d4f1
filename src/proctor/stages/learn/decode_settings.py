"""Options of ``proctor learn decode`` and its page; msgspec only, so that ``--help`` waits for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from proctor.settings import Settings, argument, option
from proctor.stages.learn.settings import ANNOTATIONS, PAGE, SEED, TITLE
from proctor.stages.scoring.settings import Resamples

__all__ = ["DecodeSettings", "LocalizePageSettings"]


class DecodeSettings(Settings, frozen=True, kw_only=True):
    """Find the best sequence of steps under a localizer's scores and how each activity usually goes."""

    section = "learn.decode"

    predictions: Annotated[
        Path, argument("Scored segments, as proctor metrics localization reads them.", metavar="PREDICTIONS")
    ]
    annotations: Annotated[Path, ANNOTATIONS]
    out: Annotated[Path, option("Folder of the run.", "--out", "-o", metavar="RUN")]
    split: Annotated[
        Literal["E", "P", "R", "Re"],
        option(
            "Habits are learned from its training and validation part: environments, persons, recordings or recipes."
        ),
    ] = "E"
    truth: Annotated[
        Path | None, option("Ground truth, to measure what it gains.", "--truth", "--gt", metavar="FILE")
    ] = None
    activity: Annotated[
        Literal["given", "inferred"],
        option("Whether the activity of a recording is known, or inferred from what was predicted."),
    ] = "given"
    weights: Annotated[
        Literal["default", "chosen"],
        option("chosen: with truth, for each recording by what is best on all others (minutes)."),
    ] = "default"
    beam: Annotated[int, option("States kept while decoding.", ge=1)] = 500
    resamples: Resamples = 2_000
    seed: Annotated[int, SEED] = 0


class LocalizePageSettings(Settings, frozen=True, kw_only=True):
    """Draw timelines of runs: truth, prediction, decoded, and what is missing or out of order."""

    runs: Annotated[tuple[Path, ...], argument("Folders with truth.csv and predictions.csv.", metavar="RUN")]
    out: Annotated[Path, PAGE] = Path("timelines.html")
    annotations: Annotated[
        Path | None, option("Folder of the annotations, for texts and activities.", metavar="DIR")
    ] = None
    title: Annotated[str, TITLE] = ""
