"""What the numbers of an exam say, in plain words, computed from the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from proctor.report.numbers import count, show_value
from proctor.report.standing import Line, Standing, lacks

__all__ = ["summarize"]

_NAMED = 4
"""Runs named in one sentence; the others are counted."""
_PAIRS = 2
"""Pairs of runs named in one sentence; more of them are counted and stand in the table."""


def summarize(standing: Standing, *, level: float = 0.95) -> str:
    """Return a paragraph: who leads, who can be told apart, what floors reach, which difference would show, what is missing."""
    if not standing.scored:
        return "No run has been scored yet."
    return " ".join(_sentences(standing, level))


def _sentences(standing: Standing, level: float) -> Iterator[str]:
    scored = standing.scored
    systems = [line for line in scored if line.run.role == "system"]
    if systems:
        rank = f" is first of {len(systems)} systems with " if len(systems) > 1 else " scores "
        row = systems[0].row()
        ends = ""
        if row is not None and row.low is not None and row.high is not None:
            ends = f" ({100 * level:g}\u00a0% interval {row.low:.1f} to {row.high:.1f})"
        yield f"{systems[0].name.label}{rank}{show_value(systems[0].value)} of 100{ends}."
    if standing.compared:
        yield from _ties(standing, systems)
    yield from _floor(standing, systems)
    if (upper := next((line for line in scored if line.run.role == "upper"), None)) is not None:
        yield f"The upper bound, {upper.name.label}, is told what others must not know and reaches {show_value(upper.value)}."
    if standing.detectable is not None:
        points = f"{standing.detectable:.1f} points"
        yield f"Two runs have to differ by about {points} to be told apart here (power 0.8, two-sided level 0.05)."
    yield from _incomplete(standing)


def _ties(standing: Standing, systems: Sequence[Line]) -> Iterator[str]:
    pairs = list(combinations(systems, 2))
    tied = [(a, b) for a, b in pairs if not _apart(standing, a, b)]
    if len(pairs) == 1:
        yield f"It can{'not' if tied else ''} be told apart from {systems[1].name.label}."
    elif pairs and not tied:
        yield "Every two systems can be told apart."
    elif pairs and len(tied) == len(pairs):
        yield "No two systems can be told apart."
    elif pairs:
        start = f"Of {len(pairs):,} pairs of systems, {len(tied):,} cannot be told apart"
        named = "; ".join(f"{a.name.label} from {b.name.label}" for a, b in tied)
        yield f"{start}: {named}." if len(tied) <= _PAIRS else f"{start}; a table says who from whom."


def _apart(standing: Standing, a: Line, b: Line) -> bool:
    told = standing.compared.get((a.run.name, b.run.name))
    return told is not None and told.decided


def _floor(standing: Standing, systems: Sequence[Line]) -> Iterator[str]:
    floor = next((line for line in standing.scored if line.run.role == "floor"), None)
    if floor is None:
        return
    start = (
        f"The best floor, {floor.name.label}, answers without looking and reaches {show_value(floor.value)}"
    )
    below = [s for s in systems if (s.value or 0.0) <= (floor.value or 0.0) or not _apart(standing, s, floor)]
    if not systems:
        yield f"{start}."
    elif not below:
        yield f"{start}; every system is above it."
    else:
        names = [s.name.label for s in below[:_NAMED]] + (
            [f"{len(below) - _NAMED} more"] if len(below) > _NAMED else []
        )
        yield f"{start}; {'; '.join(names)} {'is' if len(below) == 1 else 'are'} not shown to be above it."


def _incomplete(standing: Standing) -> Iterator[str]:
    found = lacks(standing)
    skipped = sum(line.skipped for line in standing.lines)
    totals = {
        "failed": sum(f.kind == "failed" for f in found),
        "not judged": sum(f.kind == "unscored" for f in found),
        "not asked": skipped,
    }
    missing = sum(totals.values())
    if not missing:
        yield "Every run answered every question, and every answer has a mark."
        return
    runs = {f.run for f in found} | {line.run.name for line in standing.lines if line.skipped}
    what = ", ".join(f"{n:,} {name}" for name, n in totals.items() if n)
    verb = "mark is missing and counts" if missing == 1 else "marks are missing and count"
    yield f"In {count(len(runs), 'run')} {missing:,} {verb} neither for nor against: {what}."
