"""A whole run of pairs: every task of a round at once, then rounds for the cells of the quota that are short; and what it came to.

A round leads every task to its end, each on its own. Then, in an order that replies and concurrency cannot change, pairs that
repeat another one are dropped, the others are counted into their cells, and what is short is dealt to clips anew. When a model
does not answer, the run ends after its round: tasks are postponed, and the same call of ``generate_pairs`` later goes on, pays for
nothing twice and ends in the same bytes as if nothing had happened.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

import msgspec

from proctor.ask.clip.pairs import PairGenerator, TaskResult
from proctor.ask.clip.plan import POSITIONS, Cell, PairPlan, PairTask, tasks_for
from proctor.ask.clip.record import CATEGORIES, LEVELS, ClipPair, Level, ShownClip
from proctor.ask.documents.duplicates import normalise_question
from proctor.errors import UserError
from proctor.llm.converse import IN_FLIGHT, Conversation, converse
from proctor.llm.outcome import Ask
from proctor.records import Dropped

__all__ = [
    "PairCell",
    "PairFunnel",
    "PairRun",
    "PairSummary",
    "Progress",
    "cell_of",
    "generate_pairs",
    "summarise_pairs",
]


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


Progress = Callable[[TaskResult, int], None]
"""Told of every task that came to its end, with the number of its round, from 0."""


@dataclass(frozen=True, slots=True)
class PairRun:
    """What a run came to.

    Attributes:
        pairs: that are kept, in the order of the clips, levels and rounds.
        results: of every task that was begun, by rounds in the order of the tasks.
        dropped: every entry that is not kept, and every task without a reply, with the reason.
        summary: in numbers.
        rounds: how many were begun.
        interrupted: True when Ctrl-C ended it: a later run goes on.
    """

    pairs: tuple[ClipPair, ...]
    results: tuple[TaskResult, ...]
    dropped: tuple[Dropped, ...]
    summary: PairSummary
    rounds: int
    interrupted: bool = False

    @property
    def is_complete(self) -> bool:
        """True when the quota is met or all rounds were made: nothing waits for a model that did not answer."""
        return not self.interrupted and not self.summary.postponed


def cell_of(pair: ClipPair) -> Cell:
    """Return the cell that a pair counts for."""
    return Cell(pair.level, pair.category, next((p for p in POSITIONS if p == pair.position), "early"))


def generate_pairs(
    clips: Sequence[ShownClip],
    plan: PairPlan,
    generator: PairGenerator,
    ask: Ask,
    *,
    in_flight: int = IN_FLIGHT,
    progress: Progress | None = None,
) -> PairRun:
    """Write pairs about clips until the quota is met or all rounds are made.

    Args:
        clips: those of the plan.
        plan: what is wanted.
        generator: does the tasks.
        ask: makes the calls.
        in_flight: tasks that are worked on at a time.
        progress: told of every task that comes to its end.

    Raises:
        UserError: if the plan is about other clips, or what ``generator`` raises.
    """
    by_id = {clip.id: clip for clip in clips}
    if lacking := [task.clip_id for task in plan.tasks if task.clip_id not in by_id]:
        raise UserError(f"the plan is about the clip '{lacking[0][:80]}', which is not there.")
    keeping = _Keeping(plan)
    results: list[TaskResult] = []
    tasks: Sequence[PairTask] = plan.tasks
    rounds, interrupted = 0, False
    while tasks and not interrupted:
        ended: dict[str, TaskResult] = {}
        try:
            talks = _talks(generator, by_id, tasks, keeping)
            for name, result in converse(talks, ask, in_flight=in_flight):
                ended[name] = result
                if progress is not None:
                    progress(result, rounds)
        except KeyboardInterrupt:
            interrupted = True
        rounds += 1
        done = [ended[task.id] for task in tasks if task.id in ended]
        results += done
        keeping.admit(done)
        if interrupted or any(result.outcome == "postponed" for result in done):
            break
        if all(result.outcome == "declined" for result in done):
            break  # nobody is there who could fill what is short
        tasks = _next(plan, clips, keeping, rounds) if rounds < generator.settings.rounds else ()
    kept = keeping.kept(fill=generator.settings.surplus == "fill")
    order = {clip.id: n for n, clip in enumerate(clips)}
    pairs = sorted(kept.pairs, key=lambda pair: (order[pair.clip_id], LEVELS.index(pair.level)))
    dropped = (*_not_asked(results), *keeping.dropped, *kept.over)
    summary = summarise_pairs(plan.quota, pairs, kept.filled, results, dropped, rounds)
    return PairRun(tuple(pairs), tuple(results), dropped, summary, rounds, interrupted)


def _talks(
    generator: PairGenerator,
    clips: Mapping[str, ShownClip],
    tasks: Sequence[PairTask],
    keeping: _Keeping,
) -> Iterator[tuple[str, Conversation[TaskResult]]]:
    """Begin a conversation when there is room for it."""
    before = {clip_id: tuple(questions) for clip_id, questions in keeping.questions.items()}
    for task in tasks:
        yield task.id, generator.task(clips[task.clip_id], task, before.get(task.clip_id, ()))


def _next(plan: PairPlan, clips: Sequence[ShownClip], keeping: _Keeping, round: int) -> tuple[PairTask, ...]:
    short = keeping.short
    if not short:
        return ()
    tasks = tasks_for(plan, clips, short, round=round, asked=keeping.asked, accepted=keeping.accepted)
    for task in tasks:
        keeping.asked[task.clip_id, task.level] += len(task.wants)
    return tasks


def _not_asked(results: Sequence[TaskResult]) -> Iterator[Dropped]:
    for result in results:
        if result.outcome != "read":
            yield Dropped(result.task.id, result.outcome, result.detail)


# -- what is kept ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Kept:
    """Pairs within the quota and those that stand in for others, and what is beyond it."""

    pairs: tuple[ClipPair, ...]
    filled: Mapping[Cell, int]
    over: tuple[Dropped, ...]


@dataclass(slots=True)
class _Keeping:
    """What is there so far; pairs come in an order of their own: the first ones of all clips, then the second ones."""

    plan: PairPlan
    pairs: list[ClipPair] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    questions: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    asked: Counter[tuple[str, Level]] = field(default_factory=Counter)
    accepted: Counter[tuple[str, Level]] = field(default_factory=Counter)
    _by_video: dict[tuple[str, str], str] = field(default_factory=dict)
    _by_words: dict[tuple[str, str], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for task in self.plan.tasks:
            self.asked[task.clip_id, task.level] += len(task.wants)

    def admit(self, results: Sequence[TaskResult]) -> None:
        """Add the pairs of a round, but for those that repeat another one."""
        for result in results:
            self.dropped += result.dropped
        ranked = sorted(
            (number, place) for place, result in enumerate(results) for number in range(len(result.pairs))
        )
        for number, place in ranked:
            pair = results[place].pairs[number]
            repeated = self._repeated(pair)
            if repeated is not None:
                self.dropped.append(Dropped(pair.id, *repeated))
                continue
            self.pairs.append(pair)
            self.questions[pair.clip_id].append(pair.question)
            self.accepted[pair.clip_id, pair.level] += 1

    def _repeated(self, pair: ClipPair) -> tuple[str, str] | None:
        """Say which pair another one repeats: a question of the same video, or question and answer of any.

        The same question about two videos has two answers and is kept; where the answer is the same as well, whoever knows one of
        them knows the other.
        """
        question = normalise_question(pair.question)
        of_video = pair.video_id, question
        in_words = question, normalise_question(pair.answer)
        if of_video in self._by_video:
            return "duplicate_question", f"repeats {self._by_video[of_video]}: {pair.question}"[:300]
        if in_words in self._by_words:
            return "duplicate_pair", f"repeats {self._by_words[in_words]}: {pair.question}"[:300]
        self._by_video[of_video] = self._by_words[in_words] = pair.id
        return None

    @property
    def short(self) -> dict[Cell, int]:
        """What is lacking by cell."""
        there = Counter(map(cell_of, self.pairs))
        return {cell: n - there[cell] for cell, n in self.plan.quota.items() if n > there[cell]}

    def kept(self, *, fill: bool) -> _Kept:
        """Return the pairs that are within the quota; with ``fill`` others of their level in place of what is lacking."""
        room = Counter(dict(self.plan.quota))
        inside: list[ClipPair] = []
        beyond: list[ClipPair] = []
        for pair in self.pairs:
            cell = cell_of(pair)
            (inside if room[cell] > 0 else beyond).append(pair)
            room[cell] -= room[cell] > 0
        lacking: Counter[Level] = Counter()
        for cell, n in room.items():
            lacking[cell.level] += n if fill else 0
        filled: Counter[Cell] = Counter()
        over: list[Dropped] = []
        for pair in beyond:
            if lacking[pair.level] > 0:
                lacking[pair.level] -= 1
                filled[cell_of(pair)] += 1
                inside.append(pair)
            else:
                cell = cell_of(pair)
                over.append(
                    Dropped(pair.id, "over_quota", f"{cell.category}, {cell.position}: {pair.question}"[:300])
                )
        return _Kept(tuple(inside), filled, tuple(over))
