"""What a data set consists of, in numbers: recordings, steps, mistakes, task graphs, texts.

A tally takes records one by one and keeps numbers only (8 bytes a step), so that a large data set needs no memory to
speak of. Hours are those of the videos; a recording without a known length counts for nothing there, and how many those
are is told. Times are seconds.
"""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import msgspec

from proctor.datasets.dataset import Published
from proctor.datasets.manual_caps import split_sentences
from proctor.procedure.graph import TaskGraph
from proctor.procedure.graph_lint import measure_graph
from proctor.procedure.recording import Recording, Segment

__all__ = [
    "STEP_EDGES",
    "VIDEO_EDGES",
    "ActivityRow",
    "Comparison",
    "Coverage",
    "GraphRow",
    "GroupRow",
    "Histogram",
    "MistakeRow",
    "RecordingStatistics",
    "RecordingTally",
    "Spread",
    "TextStatistics",
    "compare_published",
    "graph_rows",
    "graph_width",
    "spread_of",
    "text_statistics",
]

STEP_EDGES: Final = (0.0, 2.0, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0, 90.0, 120.0, 180.0, 300.0, 600.0)
"""Seconds: the borders of the bins of step lengths; what is longer falls into a bin without an end."""
VIDEO_EDGES: Final = (0.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1200.0, 1800.0, 2700.0, 3600.0)
"""Seconds: the same for videos."""
_MAX_GROUPS: Final = 200
"""An attribute with more values than that (an address, a number) is none that recordings are grouped by."""
_COUNT_EDGES: Final = (0.0, 1.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 50.0, 100.0)
"""Steps of a recording."""


class Spread(msgspec.Struct, frozen=True):
    """How numbers are spread: how many, mean, standard deviation (population), and quantiles (linear interpolation)."""

    n: int
    mean: float
    sd: float
    least: float
    q25: float
    median: float
    q75: float
    most: float


class Histogram(msgspec.Struct, frozen=True):
    """How many values fall into each bin.

    Attributes:
        title: what is counted.
        unit: of the borders.
        edges: borders; a bin is [edge, next edge). As many as counts: the last bin has no end; one more: it ends there.
        counts: one a bin.
    """

    title: str
    unit: str
    edges: tuple[float, ...]
    counts: tuple[int, ...]


class MistakeRow(msgspec.Struct, frozen=True):
    """One kind of mistake: how often it is marked, and on how many steps."""

    kind: str
    mistakes: int
    steps: int


class ActivityRow(msgspec.Struct, frozen=True):
    """One activity: its recordings, steps and mistakes.

    Attributes:
        id: of the activity.
        name: for people.
        recordings: of it.
        with_mistakes: recordings of which a step carries a mistake.
        hours: of its videos.
        steps: listed, skipped ones too.
        timed_steps: with start and end.
        mean_step_seconds: None where no step has times.
        mistakes: how many, by kind.
        normal_videos: lengths in seconds of recordings without mistakes; None where none is known.
        mistaken_videos: the same of recordings with mistakes.
        normal_steps: lengths in seconds of steps without mistakes; None where none has times.
        mistaken_steps: the same of steps with mistakes.
    """

    id: str
    name: str
    recordings: int
    with_mistakes: int
    hours: float
    steps: int
    timed_steps: int
    mean_step_seconds: float | None
    mistakes: dict[str, int]
    normal_videos: Spread | None
    mistaken_videos: Spread | None
    normal_steps: Spread | None
    mistaken_steps: Spread | None


class GroupRow(msgspec.Struct, frozen=True):
    """The recordings that share one value of an attribute: those of one person, one place, one part of a split.

    Attributes:
        attribute: its name.
        value: its value.
        recordings: with that value.
        with_mistakes: of them.
        activities: different ones.
        hours: of their videos.
        steps: listed.
        mistaken_steps: of them.
    """

    attribute: str
    value: str
    recordings: int
    with_mistakes: int
    activities: int
    hours: float
    steps: int
    mistaken_steps: int


class Coverage(msgspec.Struct, frozen=True):
    """How much of the videos lies in steps, over recordings whose length is known.

    Attributes:
        recordings: that were counted.
        annotated_share: of the time, in at least one step.
        overlapping_share: of the time, in more than one step.
        after_end: steps that end after their video; what lies behind it is not counted.
    """

    recordings: int
    annotated_share: float
    overlapping_share: float
    after_end: int


class RecordingStatistics(msgspec.Struct, frozen=True):
    """The numbers of a data set of recordings; spreads are None where there is nothing to spread."""

    recordings: int
    with_mistakes: int
    without_duration: int
    hours: float
    hours_with_mistakes: float
    steps: int
    timed_steps: int
    skipped_steps: int
    mistaken_steps: int
    mistakes: tuple[MistakeRow, ...]
    kinds_of_a_step: dict[int, int]
    step_seconds: Spread | None
    video_seconds: Spread | None
    steps_of_a_recording: Spread | None
    coverage: Coverage | None
    activities: tuple[ActivityRow, ...]
    attributes: dict[str, int]
    groups: tuple[GroupRow, ...]
    histograms: tuple[Histogram, ...]


@dataclass(slots=True)
class _Activity:
    """Lengths are in seconds; the first list is of what carries no mistake, the second of what does."""

    name: str = ""
    recordings: int = 0
    with_mistakes: int = 0
    steps: int = 0
    mistakes: Counter[str] = field(default_factory=Counter)
    video_seconds: tuple[array[float], array[float]] = field(default_factory=lambda: (array("d"), array("d")))
    step_seconds: tuple[array[float], array[float]] = field(default_factory=lambda: (array("d"), array("d")))


@dataclass(slots=True)
class _Group:
    recordings: int = 0
    with_mistakes: int = 0
    activities: set[str] = field(default_factory=set)
    seconds: float = 0.0
    steps: int = 0
    mistaken_steps: int = 0


@dataclass(slots=True)
class RecordingTally:
    """Takes recordings one by one; ``statistics`` can be asked for at any time."""

    _activities: dict[str, _Activity] = field(default_factory=dict)
    _counts: array[float] = field(default_factory=lambda: array("d"))
    _mistakes: Counter[str] = field(default_factory=Counter)
    _carrying: Counter[str] = field(default_factory=Counter)
    _kinds: Counter[int] = field(default_factory=Counter)
    _values: dict[str, set[str]] = field(default_factory=dict)
    _groups: dict[str, dict[str, _Group]] = field(default_factory=dict)
    _numbers: Counter[str] = field(default_factory=Counter)
    _wrong_seconds: float = 0.0
    _covered: float = 0.0
    _doubled: float = 0.0

    def add(self, recording: Recording) -> None:
        """Count a recording."""
        timed = [(s.start, s.end) for s in recording.segments if s.start is not None and s.end is not None]
        wrong = recording.has_mistakes
        self._numbers["recordings"] += 1
        self._numbers["with_mistakes"] += wrong
        self._numbers["steps"] += len(recording.segments)
        self._numbers["skipped"] += sum(s.skipped for s in recording.segments)
        self._counts.append(len(timed))
        for segment in recording.segments:
            self._add_mistakes(segment)
        for name, value in recording.attributes.items():
            self._values.setdefault(name, set()).add(value)
            self._add_group(name, value, recording)
        self._add_activity(recording, wrong)
        self._add_video(recording.duration, timed, wrong)

    def _add_mistakes(self, segment: Segment) -> None:
        kinds = Counter(m.kind for m in segment.mistakes)
        if kinds:
            self._mistakes.update(kinds)
            self._carrying.update(kinds.keys())
            self._kinds[len(kinds)] += 1

    def _add_activity(self, recording: Recording, wrong: bool) -> None:
        activity = self._activities.setdefault(recording.activity_id, _Activity(recording.activity_name))
        activity.recordings += 1
        activity.with_mistakes += wrong
        activity.steps += len(recording.segments)
        if recording.duration is not None:
            activity.video_seconds[wrong].append(recording.duration)
        for s in recording.segments:
            activity.mistakes.update(m.kind for m in s.mistakes)
            if s.start is not None and s.end is not None:
                activity.step_seconds[bool(s.mistakes)].append(s.end - s.start)

    def _add_group(self, name: str, value: str, recording: Recording) -> None:
        groups = self._groups.setdefault(name, {})
        if len(self._values[name]) > _MAX_GROUPS:
            groups.clear()
            return
        group = groups.setdefault(value, _Group())
        group.recordings += 1
        group.with_mistakes += recording.has_mistakes
        group.activities.add(recording.activity_id)
        group.seconds += recording.duration or 0.0
        group.steps += len(recording.segments)
        group.mistaken_steps += sum(bool(s.mistakes) for s in recording.segments)

    def _add_video(self, duration: float | None, timed: Sequence[tuple[float, float]], wrong: bool) -> None:
        if duration is None:
            self._numbers["without_duration"] += 1
            return
        self._wrong_seconds += duration if wrong else 0.0
        self._numbers["after_end"] += sum(end > duration for _, end in timed)
        once, twice = _covered(timed, duration)
        self._covered += once
        self._doubled += twice

    def statistics(self) -> RecordingStatistics:
        """Return the numbers of all recordings that were added."""
        activities = self._activities.values()
        videos = array("d", (t for a in activities for part in a.video_seconds for t in part))
        steps = array("d", (t for a in activities for part in a.step_seconds for t in part))
        seconds = math.fsum(videos)
        n = self._numbers
        return RecordingStatistics(
            recordings=n["recordings"],
            with_mistakes=n["with_mistakes"],
            without_duration=n["without_duration"],
            hours=seconds / 3600,
            hours_with_mistakes=self._wrong_seconds / 3600,
            steps=n["steps"],
            timed_steps=len(steps),
            skipped_steps=n["skipped"],
            mistaken_steps=self._kinds.total(),
            mistakes=tuple(
                MistakeRow(kind, count, self._carrying[kind])
                for kind, count in sorted(self._mistakes.items(), key=lambda pair: (-pair[1], pair[0]))
            ),
            kinds_of_a_step=dict(sorted(self._kinds.items())),
            step_seconds=spread_of(steps),
            video_seconds=spread_of(videos),
            steps_of_a_recording=spread_of(self._counts),
            coverage=Coverage(len(videos), self._covered / seconds, self._doubled / seconds, n["after_end"])
            if seconds
            else None,
            activities=tuple(_activity_row(id_, a) for id_, a in self._activities.items()),
            attributes={name: len(values) for name, values in sorted(self._values.items())},
            groups=tuple(
                (
                    GroupRow(
                        name,
                        value,
                        group.recordings,
                        group.with_mistakes,
                        len(group.activities),
                        group.seconds / 3600,
                        group.steps,
                        group.mistaken_steps,
                    )
                )
                for name, groups in sorted(self._groups.items())
                if 1 < len(groups) < n["recordings"]
                for value, group in sorted(groups.items(), key=lambda pair: _natural(pair[0]))
            ),
            histograms=(
                _histogram("Length of a step", "s", STEP_EDGES, steps),
                _histogram("Length of a video", "s", VIDEO_EDGES, videos),
                _histogram("Performed steps of a recording", "steps", _COUNT_EDGES, self._counts),
            ),
        )


def _activity_row(id_: str, a: _Activity) -> ActivityRow:
    normal, mistaken = a.step_seconds
    timed = len(normal) + len(mistaken)
    return ActivityRow(
        id=id_,
        name=a.name,
        recordings=a.recordings,
        with_mistakes=a.with_mistakes,
        hours=math.fsum(t for part in a.video_seconds for t in part) / 3600,
        steps=a.steps,
        timed_steps=timed,
        mean_step_seconds=math.fsum(t for part in a.step_seconds for t in part) / timed if timed else None,
        mistakes=dict(sorted(a.mistakes.items())),
        normal_videos=spread_of(a.video_seconds[0]),
        mistaken_videos=spread_of(a.video_seconds[1]),
        normal_steps=spread_of(normal),
        mistaken_steps=spread_of(mistaken),
    )


def _natural(value: str) -> tuple[tuple[int, int | str], ...]:
    """Return the key by which 2 comes before 10."""
    parts = re.split(r"([0-9]{1,15})", value)
    return tuple((0, int(p)) if p.isascii() and p.isdigit() else (1, p) for p in parts if p)


def _covered(timed: Iterable[tuple[float, float]], duration: float) -> tuple[float, float]:
    """Return the seconds of a video in at least one step, and in more than one."""
    changes: list[tuple[float, int]] = []
    for start, end in timed:
        if start < duration and end > start:
            changes += [(start, 1), (min(end, duration), -1)]
    changes.sort()
    once = twice = 0.0
    depth = 0
    for (at, change), (until, _) in pairwise(changes):
        depth += change
        once += (until - at) * (depth > 0)
        twice += (until - at) * (depth > 1)
    return once, twice


def spread_of(values: Iterable[float]) -> Spread | None:
    """Return how numbers are spread; None for none."""
    ordered = sorted(values)
    if not ordered:
        return None
    mean = math.fsum(ordered) / len(ordered)
    variance = math.fsum((v - mean) ** 2 for v in ordered) / len(ordered)
    q25, median, q75 = (_quantile(ordered, q) for q in (0.25, 0.5, 0.75))
    return Spread(len(ordered), mean, math.sqrt(variance), ordered[0], q25, median, q75, ordered[-1])


def _quantile(ordered: Sequence[float], q: float) -> float:
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _histogram(title: str, unit: str, edges: tuple[float, ...], values: Iterable[float]) -> Histogram:
    counts = [0] * len(edges)
    for value in values:
        counts[max(bisect_right(edges, value) - 1, 0)] += 1
    return Histogram(title, unit, edges, tuple(counts))


# -- task graphs -------------------------------------------------------------------------------------------------


class GraphRow(msgspec.Struct, frozen=True):
    """The shape of a task graph; start and end do not count as steps.

    Attributes:
        id: of the activity.
        name: for people.
        steps: that a person performs.
        edges: as given.
        width: the most steps of which none has to wait for another (largest antichain).
        depth: steps of the longest chain.
        orders: in how many orders the steps can be done; None where that is too much to count.
        orders_at_least: a number that the orders reach or exceed: ``width`` factorial.
    """

    id: str
    name: str
    steps: int
    edges: int
    width: int
    depth: int
    orders: int | None
    orders_at_least: int


def graph_rows(graphs: Iterable[TaskGraph]) -> tuple[GraphRow, ...]:
    """Return the shapes of task graphs, in order; orders are counted by dynamic programming over downsets."""
    rows = []
    for graph in graphs:
        shape, width = measure_graph(graph), graph_width(graph)
        least = shape.orders if shape.orders is not None else math.factorial(min(width, 100))
        rows.append(
            GraphRow(
                graph.id, graph.name, shape.steps, shape.edges, width, shape.longest, shape.orders, least
            )
        )
    return tuple(rows)


def graph_width(graph: TaskGraph) -> int:
    """Return the size of the largest set of steps of which none has to come before another.

    By Dilworth's theorem it is the least number of chains that hold all steps, which is the number of steps less the
    largest matching of steps with later ones.
    """
    ids = [s.id for s in graph.actions]
    performed = set(ids)
    later = {i: [j for j in graph.descendants(i) if j in performed] for i in ids}
    before: dict[str, str] = {}
    matched = sum(_augment(i, later, before) for i in ids)
    return len(ids) - matched


def _augment(start: str, later: Mapping[str, Sequence[str]], before: dict[str, str]) -> bool:
    """Find a way to match one more step (breadth-first, so that long chains need no deep recursion)."""
    came: dict[str, str] = {}
    queue = [start]
    for i in queue:
        for j in later[i]:
            if j in came:
                continue
            came[j] = i
            if j in before:
                queue.append(before[j])
                continue
            _flip(j, start, came, before)
            return True
    return False


def _flip(end: str, start: str, came: Mapping[str, str], before: dict[str, str]) -> None:
    previous = {i: j for j, i in before.items()}
    j: str | None = end
    while j is not None:
        i = came[j]
        j_next = previous.get(i) if i != start else None
        before[j] = i
        j = j_next


# -- texts -------------------------------------------------------------------------------------------------------


class TextStatistics(msgspec.Struct, frozen=True):
    """The columns of Table 1 of Wu et al. 2022; None where there is nothing to spread.

    Attributes:
        tasks: sequences of steps (sections of manuals).
        steps: of all tasks.
        types: different tokens, letter case folded.
        tokens: all tokens.
        type_token_ratio: types over tokens; it falls with the amount of text.
        tokens_of_a_step: spread.
        sentences_of_a_step: spread.
        steps_of_a_task: spread.
        histograms: of the same three.
    """

    tasks: int
    steps: int
    types: int
    tokens: int
    type_token_ratio: float | None
    tokens_of_a_step: Spread | None
    sentences_of_a_step: Spread | None
    steps_of_a_task: Spread | None
    histograms: tuple[Histogram, ...]


_TOKEN_EDGES: Final = (0.0, 1.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 80.0, 100.0, 150.0, 300.0)
_SENTENCE_EDGES: Final = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 20.0)
_STEP_EDGES: Final = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 15.0, 20.0)


def text_statistics(
    tasks: Iterable[Sequence[str]],
    tokenize: Callable[[str], Sequence[str]],
    sentences: Callable[[str], Sequence[str]] = split_sentences,
) -> TextStatistics:
    """Measure the texts of steps, task after task.

    Args:
        tasks: the texts of the steps of each; an empty text counts as a step without tokens.
        tokenize: text to tokens; which one is used belongs beside the numbers.
        sentences: text to sentences.
    """
    types: set[str] = set()
    tokens_of, sentences_of, steps_of = array("d"), array("d"), array("d")
    for steps in tasks:
        steps_of.append(len(steps))
        for text in steps:
            tokens = tokenize(text)
            types.update(token.lower() for token in tokens)
            tokens_of.append(len(tokens))
            sentences_of.append(len(sentences(text)))
    total = int(math.fsum(tokens_of))
    return TextStatistics(
        tasks=len(steps_of),
        steps=len(tokens_of),
        types=len(types),
        tokens=total,
        type_token_ratio=len(types) / total if total else None,
        tokens_of_a_step=spread_of(tokens_of),
        sentences_of_a_step=spread_of(sentences_of),
        steps_of_a_task=spread_of(steps_of),
        histograms=(
            _histogram("Tokens of a step", "tokens", _TOKEN_EDGES, tokens_of),
            _histogram("Sentences of a step", "sentences", _SENTENCE_EDGES, sentences_of),
            _histogram("Steps of a task", "steps", _STEP_EDGES, steps_of),
        ),
    )


# -- paper and found ---------------------------------------------------------------------------------------------


class Comparison(msgspec.Struct, frozen=True):
    """A figure of the paper beside what is found.

    Attributes:
        quantity: what is measured; ``hours[Ramen]`` is that of one activity.
        paper: printed.
        found: None where the data do not give it.
        digits: printed after the point.
        same: found, rounded to as many digits, is what is printed.
        where: in the paper.
        why: the reason for a difference, as far as it is known.
    """

    quantity: str
    paper: float
    found: float | None
    digits: int
    same: bool
    where: str
    why: str = ""


def compare_published(published: Iterable[Published], found: Mapping[str, float]) -> tuple[Comparison, ...]:
    """Set the figures of a paper beside what is found; a reason is kept only where they differ."""
    rows = []
    for p in published:
        value = found.get(p.quantity)
        known = value is not None and math.isfinite(value)
        same = known and value is not None and abs(round(value, p.digits) - p.value) < 0.5 * 10**-p.digits
        why = "" if same else p.why if known else p.why or "the files do not say"
        rows.append(Comparison(p.quantity, p.value, value if known else None, p.digits, same, p.where, why))
    return tuple(rows)
