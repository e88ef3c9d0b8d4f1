"""Sensors of the recorder, one module for each kind (entry points ``proctor.sensors``), and what they have in common."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from proctor.capture.records import Check, StreamSpec
from proctor.capture.sensor import ClockSample, Options, StopReport
from proctor.errors import UserError

__all__ = ["Plain", "options_of"]

T = TypeVar("T", bound=msgspec.Struct)


class Plain:
    """A sensor with nothing to look at beforehand, nothing to fetch at the end, and a clock that cannot be asked."""

    spec: StreamSpec
    sent = 0

    async def preflight(self) -> list[Check]:
        """Nothing can be wrong with it."""
        return [Check(name=self.spec.name, ok=True, seen=self.spec.note)]

    async def stop(self) -> StopReport:
        """Say how much was sent."""
        return StopReport(sent=self.sent)

    async def clock_probe(self) -> ClockSample | None:
        """Answer none: its clock is to be found from when samples come."""
        return None


def options_of(options: Options, kind: type[T], name: str) -> T:
    """Return the options of the sensor ``name`` as their struct; raises UserError if one is unknown or no such value."""
    try:
        return msgspec.convert(dict(options), kind)
    except msgspec.ValidationError as error:
        raise UserError(f"{error}.", where=f"sensor '{name}'") from None
