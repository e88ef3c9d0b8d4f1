"""Which pairs are wanted: so many of each level, category and place in the video, dealt to clips.

A *cell* is a level with a category and a position. Cells of a level share its pairs evenly, as far as clips have steps at these
positions; what a round leaves short is dealt anew in the next one. Clips are taken in an order that the run's seed decides, data
sets in turn, so that a small plan is of many videos and of every data set (issue 8; the paper reports no quota).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, get_args

import msgspec

from proctor.ask.clip.category import LEVEL_CATEGORIES
from proctor.ask.clip.record import CATEGORIES, LEVELS, Category, Level, ShownClip
from proctor.ask.documents.rng import attempt_random
from proctor.errors import UserError

__all__ = [
    "MOST_PER_CLIP",
    "PER_CALL",
    "POSITIONS",
    "Cell",
    "PairPlan",
    "PairTask",
    "Position",
    "plan_pairs",
    "position_of",
    "tasks_for",
]

Position = Literal["early", "middle", "late"]
POSITIONS: Final[tuple[Position, ...]] = get_args(Position)
"""Thirds of a clip's time."""

PER_CALL: Final = 6
"""Pairs that one call asks for: the published benchmark has 6 of a clip."""

MOST_PER_CLIP: Final = 60
"""Pairs of one clip and level that can be asked for: more would only be the same ones again."""

_MOST: Final = 1_000_000
_DRAWS: Final = 100
"""More than there can be calls about a clip and level in one round."""


class Cell(NamedTuple):
    """What the quota is told by."""

    level: Level
    category: Category
    position: Position


class PairTask(msgspec.Struct, frozen=True, kw_only=True):
    """One call: pairs that are wanted of a clip.

    Attributes:
        id: of clip, level, round and number.
        clip_id: which clip.
        level: of all of them.
        round: counted from 0.
        wants: category and position of each.
        number: among the calls of its round about the clip and level, from 0.
    """

    id: str
    clip_id: str
    level: Level
    round: int
    wants: tuple[tuple[Category, Position], ...]
    number: int = 0

    @property
    def draw(self) -> int:
        """Sets apart calls that would ask for the same in the same words."""
        return _DRAWS * self.round + self.number

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells of its pairs."""
        return tuple(Cell(self.level, category, position) for category, position in self.wants)


@dataclass(frozen=True, slots=True)
class PairPlan:
    """What is wanted.

    Attributes:
        tasks: of the first round.
        quota: pairs of each cell; those that clips can have.
        per_clip: pairs of every clip and level, None where the plan is of a total.
        per_call: pairs that a call asks for, at most.
        seed: of the run.
    """

    tasks: tuple[PairTask, ...]
    quota: Mapping[Cell, int]
    per_clip: int | None
    per_call: int
    seed: int

    @property
    def total(self) -> int:
        """Pairs in all."""
        return sum(self.quota.values())


def position_of(clip: ShownClip, step_ids: Iterable[str]) -> Position:
    """Return where in a clip's time the first of some steps begins."""
    wanted = set(step_ids)
    begin = min((step.start for step in clip.steps if step.id in wanted), default=0.0)
    length = clip.end - clip.start
    share = begin / length if length > 0 else 0.0
    return POSITIONS[min(max(int(3 * share), 0), 2)]


def plan_pairs(
    clips: Sequence[ShownClip],
    *,
    total: int | None = None,
    per_clip: int | None = None,
    levels: Sequence[Level] = LEVELS,
    categories: Mapping[Level, Sequence[Category]] = LEVEL_CATEGORIES,
    per_call: int = PER_CALL,
    seed: int = 0,
) -> PairPlan:
    """Return which pairs are wanted of which clips; exactly one of ``total`` and ``per_clip`` says how many.

    Args:
        clips: ids unique.
        total: pairs in all, spread evenly over levels and cells; of as few clips as ``per_call`` allows.
        per_clip: pairs of every clip at every level.
        levels: of the plan.
        categories: wanted at each level.
        per_call: pairs that one call asks for, at most.
        seed: of the run.

    Raises:
        UserError: if numbers make no sense, there are no clips, or there are too few for so many pairs.
    """
    if (total is None) == (per_clip is None):
        raise UserError("say how many pairs are wanted in one way: in all, or of every clip and level.")
    if not clips:
        raise UserError("there are no clips to ask about.", hint="see which videos were dropped and why")
    if len({clip.id for clip in clips}) < len(clips):
        raise UserError("two clips have the same id.", hint="clips of several data sets need different ids")
    per_call = _whole(per_call, "in one call")
    levels = tuple(dict.fromkeys(levels))
    _check_categories(levels, categories)
    ordered = _in_turns(clips, seed)
    tasks: list[PairTask] = []
    quota: Counter[Cell] = Counter()
    for level, wanted in _per_level(levels, total, per_clip, len(clips)).items():
        counts = _share_out(ordered, wanted, per_clip, per_call)
        cells = _cells(level, categories[level], seed)
        share, over = divmod(wanted, len(cells))
        left = Counter({cell: share + (n < over) for n, cell in enumerate(cells)})
        for clip, count in counts:
            dealt = _deal(clip, count, left)
            quota.update(dealt)
            tasks += _tasks(clip, level, 0, dealt, per_call)
    rank = {clip.id: n for n, clip in enumerate(ordered)}
    tasks.sort(key=lambda task: rank[task.clip_id])
    cells = sorted(
        quota,
        key=lambda c: (LEVELS.index(c.level), CATEGORIES.index(c.category), POSITIONS.index(c.position)),
    )
    return PairPlan(tuple(tasks), {cell: quota[cell] for cell in cells}, per_clip, per_call, seed)


def tasks_for(
    plan: PairPlan,
    clips: Sequence[ShownClip],
    short: Mapping[Cell, int],
    *,
    round: int,
    asked: Mapping[tuple[str, Level], int],
    accepted: Mapping[tuple[str, Level], int],
) -> tuple[PairTask, ...]:
    """Return the tasks of a further round.

    Clips that gave least come first, of these the ones that were asked least.

    Args:
        plan: whose quota it is.
        clips: those of the plan.
        short: pairs that are lacking, by cell.
        round: its number, from 1.
        asked: pairs that were asked of each clip and level so far.
        accepted: pairs that are accepted of each clip and level so far.
    """
    ordered = _in_turns(clips, plan.seed)
    tasks: list[PairTask] = []
    for level in LEVELS:
        left = Counter({cell: n for cell, n in short.items() if cell.level == level and n > 0})
        by_need = sorted(ordered, key=lambda c: (accepted.get((c.id, level), 0), asked.get((c.id, level), 0)))
        for clip in by_need:
            wanted = left.total()
            if not wanted:
                break
            room = MOST_PER_CLIP - asked.get((clip.id, level), 0)
            if plan.per_clip is not None:
                room = min(room, max(plan.per_clip - accepted.get((clip.id, level), 0), 1))
            dealt = _deal(clip, min(plan.per_call, room, wanted), left, strict=True)
            tasks += _tasks(clip, level, round, dealt, plan.per_call)
            left = +left
    return tuple(tasks)


# -- numbers -----------------------------------------------------------------------------------------------------


def _whole(number: object, what: str) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise UserError(f"{number!r} pairs {what} cannot be asked for.", hint="ask for at least 1")
    return number


def _check_categories(levels: Sequence[Level], categories: Mapping[Level, Sequence[Category]]) -> None:
    if not levels or any(level not in LEVELS for level in levels):
        raise UserError(
            f"the levels are {', '.join(levels) or 'none'}.", hint=f"choose of {', '.join(LEVELS)}"
        )
    for level in levels:
        unknown = [name for name in categories.get(level, ()) if name not in CATEGORIES or name == "other"]
        if unknown or not categories.get(level):
            raise UserError(
                f"the categories of level '{level}' are {', '.join(categories.get(level, ())) or 'none'}.",
                hint=f"choose of {', '.join(c for c in CATEGORIES if c != 'other')}",
            )


def _per_level(
    levels: Sequence[Level], total: int | None, per_clip: int | None, clips: int
) -> dict[Level, int]:
    if per_clip is not None:
        wanted = dict.fromkeys(levels, _whole(per_clip, "of every clip and level") * clips)
    else:
        share, over = divmod(_whole(total, "in all"), len(levels))
        wanted = {level: share + (n < over) for n, level in enumerate(levels)}
    most = MOST_PER_CLIP * clips
    if max(wanted.values()) > most or sum(wanted.values()) > _MOST:
        raise UserError(
            f"{sum(wanted.values()):,} pairs are too many for {clips:,} clips.",
            hint=f"ask for at most {MOST_PER_CLIP} of a clip at a level, and {_MOST:,} in all; or read more videos",
        )
    return wanted


def _share_out(
    clips: Sequence[ShownClip], wanted: int, per_clip: int | None, per_call: int
) -> list[tuple[ShownClip, int]]:
    """Say how many pairs each clip is asked for; of a total as few clips as possible, each with a full call."""
    if per_clip is not None:
        return [(clip, per_clip) for clip in clips]
    if not wanted:
        return []  # a single pair is of one level
    used = clips[: -(-wanted // per_call)]
    share, over = divmod(wanted, len(used))
    return [(clip, share + (n < over)) for n, clip in enumerate(used) if share + (n < over)]


def _cells(level: Level, categories: Sequence[Category], seed: int) -> list[Cell]:
    """Return the cells of a level in an order of the seed: what cannot be shared evenly goes to different ones."""
    cells = [
        Cell(level, category, position) for position in POSITIONS for category in dict.fromkeys(categories)
    ]
    attempt_random(seed, level, 0, "cells").shuffle(cells)
    return cells


def _in_turns(clips: Sequence[ShownClip], seed: int) -> list[ShownClip]:
    """Order clips by the seed, one of each data set in turn."""
    by_set: dict[str, list[ShownClip]] = defaultdict(list)
    for clip in sorted(clips, key=lambda clip: clip.id):
        by_set[clip.dataset].append(clip)
    ranked: list[tuple[int, str, ShownClip]] = []
    for dataset, members in sorted(by_set.items()):
        attempt_random(seed, dataset, 0, "clips").shuffle(members)
        ranked += [(n, dataset, clip) for n, clip in enumerate(members)]
    ranked.sort(key=lambda entry: entry[:2])
    return [clip for _, _, clip in ranked]


# -- dealing -----------------------------------------------------------------------------------------------------


def _deal(clip: ShownClip, count: int, left: Counter[Cell], *, strict: bool = False) -> list[Cell]:
    """Take cells for a clip off what is left: categories that it has not, at positions where it has steps.

    Args:
        clip: the clip.
        count: how many.
        left: pairs that are still to be dealt by cell; taken off.
        strict: take none of which nothing is left.
    """
    there = {position_of(clip, (step.id,)) for step in clip.steps}
    cells = [cell for cell in left if cell.position in there]
    categories: Counter[str] = Counter()
    positions: Counter[str] = Counter()
    dealt: list[Cell] = []
    while len(dealt) < count:
        open_ = [cell for cell in cells if left[cell] > 0] or ([] if strict else cells)
        if not open_:
            break
        # in the order of the cells where all is equal: that order is the seed's
        best = min(open_, key=lambda c: (categories[c.category], positions[c.position], -left[c]))
        left[best] -= 1
        categories[best.category] += 1
        positions[best.position] += 1
        dealt.append(best)
    return dealt


def _tasks(clip: ShownClip, level: Level, round: int, cells: Sequence[Cell], per_call: int) -> list[PairTask]:
    return [
        PairTask(
            id=f"{clip.id}/{level}/{round}.{number}",
            clip_id=clip.id,
            level=level,
            round=round,
            wants=tuple((cell.category, cell.position) for cell in cells[start : start + per_call]),
            number=number,
        )
        for number, start in enumerate(range(0, len(cells), per_call))
    ]
