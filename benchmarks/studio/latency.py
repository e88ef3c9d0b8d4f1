"""Latencies by kind of request, in the order in which replies came, and what is said of them."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass


def quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least ``share`` of the values do not exceed (nearest rank); 0 of none."""
    if not values:
        return 0.0
    ordered = sorted(values)
    rank = -(-round(share * len(ordered) * 1_000_000) // 1_000_000)
    return ordered[min(max(rank, 1), len(ordered)) - 1]


@dataclass(frozen=True, slots=True)
class Summary:
    """Milliseconds of one kind of request.

    Attributes:
        count: of replies.
        p50: half are no slower.
        p95: of all.
        p99: of all.
        worst: of all.
        first: 95th percentile of the first tenth of the replies.
        last: 95th percentile of the last tenth.
    """

    count: int
    p50: float
    p95: float
    p99: float
    worst: float
    first: float
    last: float

    def __str__(self) -> str:
        """Return the row of a table."""
        return (
            f"p50 {self.p50:.1f}, p95 {self.p95:.1f}, p99 {self.p99:.1f}, worst {self.worst:.1f} ms; "
            f"p95 of the first tenth {self.first:.1f}, of the last {self.last:.1f} ms"
        )


class Latencies:
    """Seconds of one kind of request, as replies come."""

    def __init__(self) -> None:
        self.seconds = array("d")

    def add(self, seconds: float) -> None:
        """Note one reply."""
        self.seconds.append(seconds)

    def summary(self) -> Summary:
        """Return what is said of them, in milliseconds."""
        ms = [1000 * s for s in self.seconds]
        tenth = max(1, len(ms) // 10)
        return Summary(
            len(ms),
            quantile(ms, 0.5),
            quantile(ms, 0.95),
            quantile(ms, 0.99),
            max(ms, default=0.0),
            quantile(ms[:tenth], 0.95),
            quantile(ms[-tenth:], 0.95),
        )
