"""What the numbers say, in plain words, computed from the numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final, Self

from proctor.metrics.significance import Comparison
from proctor.report.standings import Row, Standings
from proctor.report.statistics import DatasetStatistics

__all__ = ["ALPHA", "Link", "Name", "Sentence", "decided", "plain", "summarize"]

ALPHA: Final = 0.05
"""Level at which two runs are told apart, after correction for the number of pairs."""

MAX_NAMED: Final = 4
"""Runs named in one sentence; the others are counted."""
MAX_PAIRS: Final = 2
"""Pairs of runs named in one sentence; more of them are counted and stand in the table."""


class Name(str):
    """The name of a run inside a sentence, so that a page can set it apart from the words around it."""

    __slots__ = ()


class Link(str):
    """Words inside a sentence that lead to a place of the page.

    Attributes:
        target: id of the place.
    """

    __slots__ = ("target",)
    target: str

    def __new__(cls, text: str, target: str) -> Self:
        """Return the words with their target."""
        link = super().__new__(cls, text)
        link.target = target
        return link


Sentence = tuple[str, ...]
"""Parts in order; those of type ``Name`` are names."""


def decided(comparison: Comparison) -> bool:
    """True when the two runs can be told apart: the corrected p-value is below ``ALPHA``."""
    return comparison.p_holm is not None and comparison.p_holm < ALPHA


def plain(paragraphs: Iterable[Iterable[Sentence]]) -> str:
    """Return the paragraphs as plain text, for terminals."""
    return "\n\n".join(" ".join("".join(sentence) for sentence in p) for p in paragraphs)


def summarize(statistics: DatasetStatistics, standings: Standings) -> tuple[tuple[Sentence, ...], ...]:
    """Return paragraphs of sentences: what was asked and who leads; how far to trust it; what is incomplete."""
    scored = [row for row in standings.rows if row.scored]
    if not scored:
        return ((_what(statistics), ("No run has been scored yet.",)),)
    paragraphs = (
        (_what(statistics), _best(scored, standings), _ties(scored, standings)),
        (_floor(scored, standings), _upper(scored), _detectable(standings), _incomplete(standings.rows)),
    )
    kept = (tuple(sentence for sentence in p if sentence) for p in paragraphs)
    return tuple(p for p in kept if p)


def _what(statistics: DatasetStatistics) -> Sentence:
    everything = statistics.all
    if not everything.items:
        return ("The benchmark holds no questions.",)
    text = (
        f"{_count(everything.items, 'question')} about {_count(statistics.recordings, 'recording')} of "
        f"{_count(len(statistics.activities), 'activity', 'activities')}: {everything.clean:,} at a moment before "
        f"which all went well, {everything.noisy:,} after an earlier mistake."
    )
    return (text,)


def _count(n: int, word: str, plural: str | None = None) -> str:
    return f"{n:,} {word if n == 1 else plural or word + 's'}"


def _systems(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if row.run.role == "system"]


def _name(row: Row) -> Name:
    return Name(row.run.name)


def _list(entries: Sequence[Sentence], comma: str = "; ") -> Sentence:
    """Join entries and put "and" before the last; entries beyond ``MAX_NAMED`` are counted.

    Names of runs hold commas often, hence the semicolon.
    """
    shown = [*entries[:MAX_NAMED]]
    if len(entries) > MAX_NAMED:
        shown.append((f"{len(entries) - MAX_NAMED} more",))
    parts: list[str] = []
    for n, entry in enumerate(shown):
        if n:
            parts.append(" and " if n == len(shown) - 1 else comma)
        parts += entry
    return tuple(parts)


def _best(rows: Sequence[Row], standings: Standings) -> Sentence:
    systems = _systems(rows)
    if not systems:
        return ()
    best = systems[0]
    rank = f" is first of {len(systems)} systems with " if len(systems) > 1 else " scores "
    return (_name(best), rank, _value(best, standings), ".")


def _value(row: Row, standings: Standings) -> str:
    score = row.score
    text = f"{score.value:.1f} of 100 points"
    if score.low is None or score.high is None or math.isnan(score.low):
        return text
    return f"{text} ({100 * standings.confidence:g}\u00a0% interval {score.low:.1f} to {score.high:.1f})"


def _ties(rows: Sequence[Row], standings: Standings) -> Sentence:
    systems = _systems(rows)
    pairs = [(a, b) for n, a in enumerate(systems) for b in systems[n + 1 :]]
    tied = [(a, b) for a, b in pairs if not _told_apart(a, b, standings)]
    if not pairs:
        return ()
    if len(pairs) == 1:
        return ("It can" + ("not" if tied else "") + " be told apart from ", _name(systems[1]), ".")
    if not tied:
        return ("Every two systems can be told apart.",)
    if len(tied) == len(pairs):
        return ("No two systems can be told apart.",)
    start = f"Of {len(pairs)} pairs of systems, {len(tied)} cannot be told apart"
    if len(tied) > MAX_PAIRS:
        return (f"{start}; ", Link("a table", "h-pairs"), " says who from whom.")
    return (f"{start}: ", *_list([(_name(a), " from ", _name(b)) for a, b in tied]), ".")


def _told_apart(a: Row, b: Row, standings: Standings) -> bool:
    comparison = standings.comparison(a.run.name, b.run.name)
    return comparison is not None and decided(comparison)


def _floor(rows: Sequence[Row], standings: Standings) -> Sentence:
    floors = [row for row in rows if row.run.role == "floor"]
    if not floors:
        return ()
    floor = floors[0]
    start = (
        "The best floor, ",
        _name(floor),
        f", answers without looking and reaches {floor.score.value:.1f}",
    )
    systems = _systems(rows)
    below = [s for s in systems if s.score.value <= floor.score.value or not _told_apart(s, floor, standings)]
    if not systems:
        return (*start, ".")
    if not below:
        return (*start, "; every system is above it.")
    verb = " is" if len(below) == 1 else " are"
    return (*start, "; ", *_list([(_name(s),) for s in below]), f"{verb} not shown to be above it.")


def _upper(rows: Sequence[Row]) -> Sentence:
    uppers = [row for row in rows if row.run.role == "upper"]
    if not uppers:
        return ()
    upper = uppers[0]
    return (
        "The upper bound, ",
        _name(upper),
        f", reads the annotations and reaches {upper.score.value:.1f}.",
    )


def _detectable(standings: Standings) -> Sentence:
    if standings.detectable is None:
        return ()
    points = f"{standings.detectable:.1f} points"
    return (
        f"Two runs have to differ by about {points} to be told apart here (power 0.8, two-sided level 0.05).",
    )


def _incomplete(rows: Sequence[Row]) -> Sentence:
    lacking = [row for row in rows if row.scored < len(row.outcomes)]
    if not lacking:
        return ("Every run answered every question, and every answer was judged.",)
    totals = {key: sum(row.counts[key] for row in lacking) for key in ("failed", "unscored", "absent")}
    words = {"failed": "failed", "unscored": "not judged", "absent": "not asked"}
    parts = [(f"{totals[key]:,} {words[key]}",) for key in totals if totals[key]]
    missing, runs = sum(totals.values()), _count(len(lacking), "run")
    verb = "mark is missing and counts" if missing == 1 else "marks are missing and count"
    return (f"In {runs} {missing:,} {verb} neither for nor against: ", *_list(parts, ", "), ".")
