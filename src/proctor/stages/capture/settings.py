"""Options of ``proctor capture``. docs/capture.md."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from proctor.settings import Settings, argument, option

__all__ = ["ConsentSettings", "IngestSettings", "ReleaseSettings", "ResidualSettings", "SimulateSettings", "SyncSettings", "WithdrawSettings"]  # fmt: skip

Recordings: TypeAlias = Annotated[
    tuple[str, ...], option("Id of a recording; may be given again. Default: all that are over.")
]
Participant: TypeAlias = Annotated[str, argument("Code of the participant, as in the plan.", "PARTICIPANT")]
Day: TypeAlias = Annotated[str, option("Day as 2026-12-01 (default: today).")]


# -- ingest, release, consent --------------------------------------------------------------------------------------


class IngestSettings(Settings, frozen=True, kw_only=True):
    """Which recordings become the data set, and how."""

    recording: Recordings = ()
    stream: Annotated[str, option("Stream that people watch (default: the first required video).")] = ""
    unreviewed: Annotated[
        bool,
        option("Take recordings that nobody reviewed: steps with times, and no mistakes but left-out steps."),
    ] = False


class ReleaseSettings(Settings, frozen=True, kw_only=True):
    """What a release holds."""

    out: Annotated[Path, argument("New folder of the release.", "OUT")]
    name: Annotated[str, option("Name of the release.")] = "recordings"
    version: Annotated[str, option("Version of the release.")] = "1.0"
    licence: Annotated[str, option("Licence of the data, such as CC-BY-4.0; a file's text is put in.")] = ""
    datasheet: Annotated[
        Path | None, option("Markdown of your own for the datasheet: why, how, for what not.")
    ] = None
    features: Annotated[
        Path | None, option("Folder of features, one file for each recording, named by its id.")
    ] = None
    parts: Annotated[
        tuple[str, ...],
        option(
            "Part to pack: raw, sync, poses, videos, annotations, splits, features; may be given again. Default: all."
        ),
    ] = ()
    without_consent: Annotated[
        bool, option("Release recordings of people whose consent is not noted here, but on paper.")
    ] = False


class ConsentSettings(Settings, frozen=True, kw_only=True):
    """What a participant agreed to."""

    participant: Participant
    text: Annotated[Path, option("File with the text that they signed.")]
    release: Annotated[bool, option("Their recordings may be released.")] = False
    day: Day = ""


class WithdrawSettings(Settings, frozen=True, kw_only=True):
    """Who takes consent back."""

    participant: Participant
    release: Annotated[
        tuple[Path, ...], option("Folder of a release to bring up to date as well; may be given again.")
    ] = ()
    day: Day = ""
    yes: Annotated[bool, option("Really remove; without it, only what would be removed is listed.")] = False


# -- simulate ----------------------------------------------------------------------------------------------------------


class SimulateSettings(Settings, frozen=True, kw_only=True):
    """Which recordings of the plan are simulated, and how."""

    recording: Annotated[
        tuple[str, ...], option("Id of a recording; may be given again. Default: all that are still to do.")
    ] = ()
    live: Annotated[
        bool, option("In real time with the recorder; without it, recordings are written at once.")
    ] = False
    resume: Annotated[bool, option("With --live: go on with recordings that were interrupted.")] = False
    seconds: Annotated[
        float, option("Length of a recording (default: 20 s for each step).", ge=0, le=86_400)
    ] = 0.0
    speed: Annotated[
        float, option("How much faster people work, with the length by steps.", ge=0.1, le=100)
    ] = 1.0
    stream: Annotated[
        tuple[str, ...], option("Only this stream of the default set; may be given again.")
    ] = ()
    fault: Annotated[
        tuple[str, ...],
        option("Fault of a stream, such as pv.gaps=5+2 or audio.drift_ppm=80; may be given again."),
    ] = ()
    slips: Annotated[float, option("Probability of an unplanned mistake in a step.", ge=0, le=1)] = 0.1
    seed: Annotated[str, option("Of participants and sensors.")] = "0"


# -- sync, residuals -----------------------------------------------------------------------------------------------


class SyncSettings(Settings, frozen=True, kw_only=True):
    """Which recordings are synchronised, and how."""

    recording: Recordings = ()
    base: Annotated[
        str, option("Stream whose moments the others are put at (default: the first required video).")
    ] = ""
    rule: Annotated[
        Literal["nearest", "published"],
        option("How samples are matched; published is the rule of CaptainCook4D's system, to compare with."),
    ] = "nearest"
    tolerance_ms: Annotated[
        float, option("No match is farther off, whatever the stream's period.", ge=0.1, le=60_000)
    ] = 100.0
    allow_repeat: Annotated[bool, option("A sample may serve several moments of the base.")] = True


class ResidualSettings(Settings, frozen=True, kw_only=True):
    """How synchronisation is measured on simulated sensors."""

    seconds: Annotated[float, option("Length of each simulated recording.", ge=60, le=36_000)] = 900.0
    seed: Annotated[str, option("Of the sensors.")] = "0"
    markdown: Annotated[Path | None, option("Page to write the table into, between its marks.")] = None
