"""When a call is sent: adaptive concurrency, limits a minute, back-off, deadlines, a circuit breaker. Stub, see below."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from proctor.llm.attempt import AttemptRecord
from proctor.llm.outcome import Failure, Outcome

__all__ = ["Flow", "FlowSettings", "Limits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one endpoint."""

    concurrency: int = 32
    max_concurrency: int = 256
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowSettings:
    """How calls are sent."""

    limits: Limits = Limits()
    endpoints: Mapping[str, Limits] = field(default_factory=dict)
    seed: int = 0


class Flow:
    """Decides when a call is sent, and whether it is sent again."""

    def __init__(
        self, settings: FlowSettings | None = None, *, wall: Callable[[], float] = time.time
    ) -> None: ...

    async def run(
        self,
        endpoint: str,
        tokens: int,
        attempt: Callable[[float], Awaitable[Outcome]],
        on_attempt: Callable[[AttemptRecord], None],
    ) -> Outcome:
        """Send a call when its turn has come, and again when that may help; the argument of ``attempt`` is seconds."""
        raise NotImplementedError

    def stopped(self, endpoint: str) -> Failure | None:
        """Return why nothing is sent to the endpoint any more, or None."""
        raise NotImplementedError

    async def close(self) -> None:
        """End every call: those that wait and those in flight return ``Failure("cancelled")``."""
        raise NotImplementedError
