"""What synchronisation is told, and what it reports: ``sync/<hash>/report.json``."""

from __future__ import annotations

from typing import Literal

import msgspec

from proctor.capture.sync.clock import ClockSegment

__all__ = ["CheckReport", "StreamReport", "SyncConfig", "SyncReport", "Verdict"]

Verdict = Literal["good", "usable", "poor"]


class SyncConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How streams are synchronised.

    Attributes:
        base: stream whose moments are the base; empty for the first required video.
        rule: ``nearest``, or ``published`` for that of CaptainCook4D's system on raw device times.
        tolerance_ms: no match is farther off, whatever the stream's period.
        allow_repeat: a sample may serve several base moments.
        longest: periods between two samples up to which vectors are interpolated.
        check_ms: by which claps and flashes may differ between streams, beside a period.
    """

    base: str = ""
    rule: Literal["nearest", "published"] = "nearest"
    tolerance_ms: float = 100.0
    allow_repeat: bool = True
    longest: float = 3.0
    check_ms: float = 50.0


class StreamReport(msgspec.Struct, frozen=True, kw_only=True):
    """How a stream lies on the base.

    Attributes:
        samples: in its index; ``flagged`` counts those of a kind (``clean.FLAGS``), and ``lost``: numbers that never came.
        rate_hz: measured, 0 where it cannot be; ``regular``: times were put at even distances.
        matched: base moments that have a sample; ``coverage`` is their share (of the base: the share of time without gaps).
        gaps: longer than three periods: seconds from the first base moment, and length.
        dt_ms: median, 95 % and greatest distance of a match.
        histogram: signed distances in 24 equal bins from ``-tolerance_ms`` to ``tolerance_ms``.
        jumps: host time (ns), and seconds by which the device's clock jumped.
    """

    name: str
    kind: str
    required: bool
    samples: int
    flagged: dict[str, int]
    rate_hz: float
    regular: bool
    tolerance_ms: float
    matched: int
    coverage: float
    gaps: tuple[tuple[float, float], ...]
    dt_ms: tuple[float, ...]
    histogram: tuple[int, ...]
    clock: tuple[ClockSegment, ...]
    jumps: tuple[tuple[int, float], ...]
    verdict: Verdict
    reasons: tuple[str, ...]


class CheckReport(msgspec.Struct, frozen=True, kw_only=True):
    """A clap: seconds from the first base moment at which it was noted, how many ms later each stream has it, whether they agree."""

    at_s: float
    found_ms: dict[str, float]
    apart_ms: float
    agrees: bool


class SyncReport(msgspec.Struct, frozen=True, kw_only=True):
    """How good it is, as the worst of required streams and the base, whose ``seconds`` begin at ``host_ns``."""

    format: int = 1
    recording: str
    hash: str
    config: SyncConfig
    base: str
    frames: int
    seconds: float
    host_ns: int
    streams: tuple[StreamReport, ...]
    checks: tuple[CheckReport, ...]
    verdict: Verdict
    reasons: tuple[str, ...]
