"""Options of the commands ``proctor capture``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from proctor.errors import UserError
from proctor.settings import Settings, argument, option

__all__ = ["RecordSettings"]


class RecordSettings(Settings, frozen=True, kw_only=True):
    """What is recorded with which sensors, and for how long."""

    workspace: Annotated[Path, argument("Workspace with the plan of the recordings.")]
    recording: Annotated[str, argument("Id of the recording, of the plan or a new one with --activity.")]
    sensors: Annotated[
        Path | None, option("File of the sensors; capture/sensors.toml of the workspace by default.")
    ] = None
    activity: Annotated[str | None, option("Activity of a recording that is not in the plan.")] = None
    participant: Annotated[str, option("Code of the participant of such a recording, never a name.")] = ""
    environment: Annotated[str, option("Where such a recording is made.")] = ""
    seconds: Annotated[float | None, option("Stop after this time; otherwise on Ctrl-C.", ge=0.1)] = None
    serve: Annotated[bool, option("Wait for the studio's verbs (arm, start, mark, stop).")] = False
    preflight: Annotated[bool, option("Check sensors, disk and battery, and record nothing.")] = False
    resume: Annotated[bool, option("Go on with an interrupted recording.")] = False
    close: Annotated[bool, option("End an interrupted recording with what is there.")] = False
    redis: Annotated[
        str | None, option("Keep what waits in this Redis server (redis://, unix://).", metavar="URL")
    ] = None

    def __post_init__(self) -> None:
        """Refuse what does not go together."""
        super().__post_init__()
        if sum((self.serve, self.preflight, self.close)) > 1 or (self.close and self.resume):
            raise UserError("--serve, --preflight and --close exclude each other, --close and --resume, too.")
