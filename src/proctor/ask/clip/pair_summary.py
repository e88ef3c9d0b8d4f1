"""What a run of pairs came to, in numbers: asked and achieved by cell of the quota, the funnel, reasons, calls and cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

import msgspec

from proctor.ask.clip.pairs import TaskResult
from proctor.ask.clip.plan import POSITIONS, Cell
from proctor.ask.clip.record import CATEGORIES, LEVELS, ClipPair
from proctor.records import Dropped

__all__ = ["PairCell", "PairFunnel", "PairSummary", "summarise_pairs"]


class PairCell(msgspec.Struct, frozen=True, kw_only=True):
    """A level with a category and a position.

    Attributes:
        level: coarse or fine.
        category: of the closed list.
        position: early, middle or late.
        asked: the quota.
        achieved: pairs within the quota.
        filled: pairs beyond it that stand in for others of the level.
    """

    level: str
    category: str
    position: str
    asked: int
    achieved: int
    filled: int

    @property
    def short(self) -> int:
        """What is lacking."""
        return self.asked - self.achieved


class PairFunnel(msgspec.Struct, frozen=True, kw_only=True):
    """How many came how far.

    Attributes:
        tasks: calls for pairs.
        replied: of these, those with a complete reply.
        read: of these, those in which a list could be read.
        entries: of all lists.
        passed: entries that passed the checks and have a category.
        new: of these, those that repeat no other pair.
        kept: of these, those within the quota and those that fill it up.
    """

    tasks: int
    replied: int
    read: int
    entries: int
    passed: int
    new: int
    kept: int


class PairSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of a run.

    Attributes:
        asked: pairs of the plan.
        achieved: pairs within the quota of their cell.
        filled: pairs that stand in for others of their level.
        short: what is lacking after that.
        rounds: begun.
        postponed: tasks that a later run goes on with, as a model did not answer.
        repaired: replies that were asked for a second time.
        unsorted: pairs whose category could not be read (they are ``other``).
        shortened: tasks in which not all of a clip was shown.
        videos: that kept pairs are about.
        clips: that kept pairs are about.
        calls: different ones.
        cost: dollars; None when the price of a call is not known.
        funnel: how many came how far.
        reasons: of what was dropped, most frequent first.
        by_level: kept pairs.
        by_category: kept pairs, in the order of the list.
        by_position: kept pairs.
        by_dataset: kept pairs.
        cells: of the quota, and those that pairs are in beyond it.
    """

    asked: int
    achieved: int
    filled: int
    short: int
    rounds: int
    postponed: int
    repaired: int
    unsorted: int
    shortened: int
    videos: int
    clips: int
    calls: int
    cost: str | None
    funnel: PairFunnel
    reasons: Mapping[str, int]
    by_level: Mapping[str, int]
    by_category: Mapping[str, int]
    by_position: Mapping[str, int]
    by_dataset: Mapping[str, int]
    cells: Sequence[PairCell]


def summarise_pairs(
    quota: Mapping[Cell, int],
    pairs: Sequence[ClipPair],
    filled: Mapping[Cell, int],
    results: Sequence[TaskResult],
    dropped: Sequence[Dropped],
    rounds: int,
) -> PairSummary:
    """Count what a run came to.

    Args:
        quota: pairs that were wanted by cell.
        pairs: that are kept.
        filled: how many of them are beyond the quota of their cell.
        results: of all tasks.
        dropped: everything that is not kept.
        rounds: begun.
    """
    cells = _cells(quota, pairs, filled)
    reasons = Counter(entry.reason for entry in dropped)
    asked, achieved = sum(quota.values()), sum(cell.achieved for cell in cells)
    stood_in = sum(cell.filled for cell in cells)
    passed = sum(len(result.pairs) for result in results)
    repeated = passed - len(pairs) - reasons["over_quota"]
    return PairSummary(
        asked=asked,
        achieved=achieved,
        filled=stood_in,
        short=asked - achieved - stood_in,
        rounds=rounds,
        postponed=sum(result.outcome == "postponed" for result in results),
        repaired=sum(result.repaired for result in results),
        unsorted=sum(result.unsorted for result in results),
        shortened=sum(bool(result.shortened) for result in results),
        videos=len({pair.video_id for pair in pairs}),
        clips=len({pair.clip_id for pair in pairs}),
        calls=len({call for result in results for call in result.calls}),
        cost=_cost(results),
        funnel=PairFunnel(
            tasks=len(results),
            replied=sum(result.outcome in ("read", "unreadable") for result in results),
            read=sum(result.outcome == "read" for result in results),
            entries=sum(result.entries for result in results),
            passed=passed,
            new=passed - repeated,
            kept=len(pairs),
        ),
        reasons=dict(sorted(reasons.items(), key=lambda entry: (-entry[1], entry[0]))),
        by_level=_counted((pair.level for pair in pairs), LEVELS),
        by_category=_counted((pair.category for pair in pairs), CATEGORIES),
        by_position=_counted((pair.position for pair in pairs), POSITIONS),
        by_dataset=_counted((pair.dataset for pair in pairs), sorted({pair.dataset for pair in pairs})),
        cells=cells,
    )


def _cells(
    quota: Mapping[Cell, int], pairs: Sequence[ClipPair], filled: Mapping[Cell, int]
) -> list[PairCell]:
    there = Counter((pair.level, pair.category, pair.position) for pair in pairs)
    return [
        PairCell(
            level=level,
            category=category,
            position=position,
            asked=quota.get(cell, 0),
            achieved=there[cell] - filled.get(cell, 0),
            filled=filled.get(cell, 0),
        )
        for level in LEVELS
        for category in CATEGORIES
        for position in POSITIONS
        if (cell := Cell(level, category, position)) in quota or there[cell]
    ]


def _counted(values: Iterable[str], order: Sequence[str]) -> dict[str, int]:
    counts = Counter(values)
    return {name: counts[name] for name in order if counts[name]}


def _cost(results: Sequence[TaskResult]) -> str | None:
    total = 0
    for result in results:
        if result.cost is None:
            return None
        total += result.cost
    return f"{Decimal(total) / 10**9:f}"
