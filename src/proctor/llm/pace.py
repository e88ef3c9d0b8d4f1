"""How the pace of calls changed, in a few words: from the events of a flow to one line for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from typing import Final

import msgspec

from proctor.llm.gate import FlowEvent

__all__ = ["Pace", "pace_of"]

_SHOWN_ENDS: Final = 3
"""Turns that are shown at the beginning and at the end of a long story."""


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How many calls an endpoint was found to bear.

    Attributes:
        endpoint: where.
        start: calls in flight to begin with.
        least: fewest that were allowed.
        most: most that were allowed.
        end: allowed in the end.
        reasons: why it shrank, with how often (``rate_limit``, ``overload``).
        pauses: how often it was paused.
        breaks: how often it was given a rest since it did not answer.
        stopped: why nothing was sent any more; empty when all was well.
        story: all of it in words, such as ``16 → 100 → 12 (rate_limit ×3) → 40``.
    """

    endpoint: str
    start: int
    least: int
    most: int
    end: int
    reasons: dict[str, int]
    pauses: int
    breaks: int
    stopped: str
    story: str


def pace_of(endpoint: str, start: int, events: Iterable[FlowEvent]) -> Pace:
    """Sum the events of one endpoint up.

    Args:
        endpoint: its name; events of others are left out.
        start: calls in flight to begin with.
        events: in the order in which they happened.
    """
    mine = [event for event in events if event.endpoint == endpoint]
    turns = [event for event in mine if event.kind in ("grow", "shrink")]
    limits = [start, *(event.limit for event in turns)]
    pauses, breaks = (sum(event.kind == kind for event in mine) for kind in ("pause", "open"))
    stopped = next((event.detail for event in mine if event.kind == "stop"), "")
    story = " → ".join(_shortened([str(start), *_points(turns)]))
    if pauses:
        story += f"; paused {_times(pauses)}"
    if breaks:
        story += f"; at rest {_times(breaks)}, since it did not answer"
    if stopped:
        story += f"; given up: {stopped}"
    return Pace(
        endpoint=endpoint,
        start=start,
        least=min(limits),
        most=max(limits),
        end=limits[-1],
        reasons=dict(sorted(Counter(e.detail for e in turns if e.kind == "shrink").items())),
        pauses=pauses,
        breaks=breaks,
        stopped=stopped,
        story=story,
    )


def _points(turns: list[FlowEvent]) -> list[str]:
    """Return where each run of growing or shrinking ended, with the reasons of the latter."""
    points = []
    for _, run in groupby(turns, key=lambda event: event.kind):
        events = list(run)
        why = Counter(event.detail for event in events if event.kind == "shrink")
        reasons = ", ".join(f"{reason} ×{n}" for reason, n in sorted(why.items()))
        points.append(f"{events[-1].limit} ({reasons})" if reasons else str(events[-1].limit))
    return points


def _shortened(points: list[str]) -> list[str]:
    return (
        points if len(points) <= 2 * _SHOWN_ENDS + 1 else [*points[:_SHOWN_ENDS], "…", *points[-_SHOWN_ENDS:]]
    )


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"
