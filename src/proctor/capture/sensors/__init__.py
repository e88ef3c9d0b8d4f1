"""Sensors of the recorder, one module for each kind (entry points ``proctor.sensors``), and what they have in common."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from proctor.capture.records import Check, StreamSpec
from proctor.capture.sensor import ClockSample, Options, StopReport
from proctor.errors import UserError

__all__ = ["UNVERIFIED", "Plain", "options_of"]

UNVERIFIED = "unverified on hardware"
T = TypeVar("T", bound=msgspec.Struct)


class Plain:
    """A sensor whose clock cannot be asked, and that has nothing to fetch at the end."""

    spec: StreamSpec
    sent = 0

    async def look(self) -> str:
        """Return what a look at the source finds; raises ConnectionError or UserError where it is not there."""
        return self.spec.note

    async def preflight(self) -> list[Check]:
        """Look at the source."""
        try:
            seen, hint = await self.look(), ""
        except (OSError, TimeoutError, UserError) as error:
            seen, hint = str(error) or "no answer", "is it on, connected, and the address right?"
        return [Check(name=self.spec.name, ok=not hint, seen=seen, hint=hint)]

    async def stop(self) -> StopReport:
        """Say how much was sent."""
        return StopReport(sent=self.sent)

    async def clock_probe(self) -> ClockSample | None:
        """Answer none: its clock is to be found from when samples come."""
        return None


def options_of(options: Options, kind: type[T], name: str) -> T:
    """Return the options of the sensor ``name`` as their struct; raises UserError if one is unknown or no such value."""
    try:
        return msgspec.convert(dict(options), kind, strict=False)
    except msgspec.ValidationError as error:
        raise UserError(f"{error}.", where=f"sensor '{name}'") from None
