"""What the numbers say, in plain words, computed from the numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from proctor.metrics.significance import Comparison
from proctor.report.standings import Row, Standings
from proctor.report.statistics import DatasetStatistics

__all__ = ["ALPHA", "decided", "join_words", "summarize"]

ALPHA = 0.05
"""Level at which two runs are told apart, after correction for the number of pairs."""


def decided(comparison: Comparison) -> bool:
    """True when the two runs can be told apart: the corrected p-value is below ``ALPHA``."""
    return comparison.p_holm is not None and comparison.p_holm < ALPHA


def join_words(words: Sequence[str]) -> str:
    """Return ``"a, b and c"``."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def summarize(statistics: DatasetStatistics, standings: Standings) -> tuple[str, ...]:
    """Return a few sentences; every one of them is left out when there is nothing to say."""
    scored = [row for row in standings.rows if row.scored]
    sentences = [_what(statistics)]
    if not scored:
        sentences.append("No run has been scored yet.")
    else:
        sentences += [
            _best(scored, standings),
            _ties(scored, standings),
            _floor(scored, standings),
            _upper(scored),
        ]
    sentences += [_detectable(standings), _incomplete(standings.rows)]
    return tuple(s for s in sentences if s)


def _what(statistics: DatasetStatistics) -> str:
    everything = statistics.all
    if not everything.items:
        return "The benchmark holds no questions."
    return (
        f"{_count(everything.items, 'question')} about {_count(statistics.recordings, 'recording')} of "
        f"{_count(len(statistics.activities), 'activity', 'activities')}; {everything.clean} are asked while "
        f"everything before went well, {everything.noisy} after an earlier mistake."
    )


def _count(n: int, word: str, plural: str | None = None) -> str:
    return f"{n:,} {word if n == 1 else plural or word + 's'}"


def _systems(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if row.run.role == "system"]


def _best(rows: Sequence[Row], standings: Standings) -> str:
    systems = _systems(rows)
    if not systems:
        return ""
    best = systems[0]
    rank = f"is first of {len(systems)} systems with" if len(systems) > 1 else "scores"
    return f"{best.run.name} {rank} {_value(best, standings)}."


def _value(row: Row, standings: Standings) -> str:
    score = row.score
    text = f"{score.value:.1f} of 100 points"
    if score.low is None or score.high is None or math.isnan(score.low):
        return text
    return f"{text} ({100 * standings.confidence:g} % interval {score.low:.1f} to {score.high:.1f})"


def _ties(rows: Sequence[Row], standings: Standings) -> str:
    systems = _systems(rows)
    pairs = [
        (a.run.name, b.run.name, standings.comparison(a.run.name, b.run.name))
        for n, a in enumerate(systems)
        for b in systems[n + 1 :]
    ]
    if not pairs:
        return ""
    tied = [(a, b) for a, b, c in pairs if c is not None and not decided(c)]
    if not tied:
        return (
            "Every two systems can be told apart." if len(pairs) > 1 else "The two systems can be told apart."
        )
    if len(tied) == len(pairs):
        return (
            "No two systems can be told apart." if len(pairs) > 1 else "The two systems cannot be told apart."
        )
    names = join_words([f"{a} from {b}" for a, b in tied[:6]])
    more = f" and {len(tied) - 6} more pairs" if len(tied) > 6 else ""
    return f"Of {len(pairs)} pairs of systems {len(tied)} cannot be told apart: {names}{more}."


def _floor(rows: Sequence[Row], standings: Standings) -> str:
    floors = [row for row in rows if row.run.role == "floor"]
    if not floors:
        return ""
    floor = floors[0]
    text = f"The best floor, {floor.run.name}, does not look at the recording and reaches {floor.score.value:.1f}"
    pairs = [(s, standings.comparison(s.run.name, floor.run.name)) for s in _systems(rows)]
    below = [
        s.run.name
        for s, c in pairs
        if c is not None and (not decided(c) or s.score.value < floor.score.value)
    ]
    if not pairs:
        return f"{text}."
    if not below:
        return f"{text}; every system is above it."
    verb = "is" if len(below) == 1 else "are"
    return f"{text}; {join_words(below)} {verb} not shown to be above it."


def _upper(rows: Sequence[Row]) -> str:
    uppers = [row for row in rows if row.run.role == "upper"]
    if not uppers:
        return ""
    upper = uppers[0]
    return f"{upper.run.name} reads the annotations and marks the upper bound at {upper.score.value:.1f}."


def _detectable(standings: Standings) -> str:
    if standings.detectable is None:
        return ""
    return (
        f"Two runs have to differ by about {standings.detectable:.1f} points before these questions find it "
        "(four times out of five, at a level of 0.05)."
    )


def _incomplete(rows: Sequence[Row]) -> str:
    parts = []
    for row in rows:
        counts = row.counts
        lacks = [
            f"{counts[key]} {word}"
            for key, word in (("failed", "failed"), ("unscored", "unscored"), ("absent", "not asked"))
            if counts[key]
        ]
        if lacks:
            parts.append(f"{row.run.name} ({join_words(lacks)})")
    if not parts:
        return "" if not rows else "Every run answered every question and every answer was judged."
    shown = join_words(parts[:6]) + (f" and {len(parts) - 6} more" if len(parts) > 6 else "")
    return f"Some answers have no mark and count neither for nor against a run: {shown}."
