"""Options of ``proctor capture simulate`` and ``residuals``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final, Literal, get_args

from proctor.errors import UserError
from proctor.settings import Settings, option

__all__ = ["ResidualSettings", "SimulateSettings"]

Simulated = Literal["pv", "depth", "accelerometer", "gyroscope", "magnetometer", "audio"]
_FAULT: Final = re.compile(rf"({'|'.join(get_args(Simulated))})\.([a-z_]+)=(.+)", re.ASCII)


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
        tuple[Simulated, ...], option("Only this stream of the default set; may be given again.")
    ] = ()
    fault: Annotated[
        tuple[str, ...],
        option("Fault of a stream, such as pv.gaps=5+2 or audio.drift_ppm=80; may be given again."),
    ] = ()
    slips: Annotated[float, option("Probability of an unplanned mistake in a step.", ge=0, le=1)] = 0.1
    seed: Annotated[str, option("Of participants and sensors.")] = "0"

    def faults(self) -> dict[str, dict[str, float | str]]:
        """Return the faults by stream and option.

        Raises:
            UserError: if one is not of a stream.
        """
        found: dict[str, dict[str, float | str]] = {name: {} for name in get_args(Simulated)}
        for fault in self.fault:
            if (match := _FAULT.fullmatch(fault)) is None:
                hint = f"such as pv.gaps=5+2; streams: {', '.join(found)}"
                raise UserError(f"'{fault[:60]}' is no fault of a stream.", where="--fault", hint=hint)
            number = re.fullmatch(r"-?\d+(\.\d+)?", match[3], re.ASCII)
            found[match[1]][match[2]] = float(match[3]) if number else match[3]
        return found


class ResidualSettings(Settings, frozen=True, kw_only=True):
    """How synchronisation is measured on simulated sensors."""

    seconds: Annotated[float, option("Length of each simulated recording.", ge=60, le=36_000)] = 900.0
    seed: Annotated[str, option("Of the sensors.")] = "0"
    markdown: Annotated[Path | None, option("Page to write the table into, between its marks.")] = None
