"""The linter: rules that find what is odd in annotated recordings, whatever data set they come from.

The rules are those of docs/datasets.md. A rule sees one recording as it was annotated (segments in file order) and the
recipe's graph, and yields findings; it repairs nothing. Which findings a reader corrects, and how, is the reader's
business and is listed as ``Correction``.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Final

from proctor.datasets.dataset import Finding
from proctor.procedure.graph import TaskGraph
from proctor.procedure.progress import find_effects, missing_mask, next_mask
from proctor.procedure.recording import Recording, Segment

__all__ = [
    "ACTIVITY_RULES",
    "RULES",
    "SAME_INTERVAL_SECONDS",
    "empty_order_mistakes",
    "find_always_ready",
    "lint_recording",
]

SAME_INTERVAL_SECONDS: Final = 2.0
"""Two segments whose starts and ends differ by less than this in sum are taken for one action annotated twice."""

RULES: Final[dict[str, str]] = {
    "R1": "performed steps are not listed in the order of their start times",
    "R2": "a step without times is neither marked missing nor optional",
    "R3": "a step marked missing has times",
    "R4": "a step is not among the steps of the procedure",
    "R5": "an order mistake although no prerequisite is missing before or after the step",
    "R6": "times that do not increase",
    "R7": "two steps with nearly the same interval",
    "R8": "the same step performed more than once",
    "R9": "a mistake, yet the performed text repeats the instruction",
    "R10": "performed before one of its prerequisites that comes later, yet no order mistake is marked",
    "R11": "two steps whose labels look swapped",
}


ACTIVITY_RULES: Final = {"R12": "a step that may be done from the start to the end of every recording"}
"""Rules that see all recordings of an activity (``find_always_ready``)."""


def lint_recording(recording: Recording, graph: TaskGraph) -> tuple[Finding, ...]:
    """Return every finding of every rule, in rule order."""
    return tuple(
        Finding(rule, f"{recording.id}: {where}" if where else recording.id, seen)
        for rule, check in _CHECKS.items()
        for where, seen in check(recording, graph)
    )


def empty_order_mistakes(recording: Recording, graph: TaskGraph) -> tuple[int, ...]:
    """Return the positions (in time order of performed steps) of order mistakes without any violated edge (R5).

    The set of missing steps is empty both before and after the step was done.
    """
    passed = graph.mask([graph.start]) if graph.start is not None else 0
    known = [(n, s) for n, s in enumerate(_in_time_order(recording)) if s.step_id in graph]
    effects = find_effects(graph, [s.step_id for _, s in known])
    found = []
    for (position, segment), effect in zip(known, effects, strict=True):
        before = missing_mask(graph, passed)
        passed = passed & ~graph.mask(effect.reopens) | graph.mask([segment.step_id])
        marked = any(m.kind == "order" for m in segment.mistakes)
        if marked and not before and not missing_mask(graph, passed):
            found.append(position)
    return tuple(found)


def find_always_ready(
    recordings: Iterable[Recording], graphs: Mapping[str, TaskGraph]
) -> tuple[Finding, ...]:
    """Return the steps that may be done from the start to the end of every recording of their activity.

    Such a step ("wipe the bench") is a right answer to "what next?" after the second step already. Mostly it closes the
    activity and nobody said so. Recordings of fewer than two performed steps say nothing; an optional step that nobody
    performed may be ready.
    """
    ready: dict[str, int] = {}
    performed: defaultdict[str, int] = defaultdict(int)
    for recording in recordings:
        graph = graphs.get(recording.activity_id)
        ids = [s.step_id for s in _in_time_order(recording) if graph is not None and s.step_id in graph]
        if graph is None or len(ids) < 2:
            continue
        start = graph.mask([graph.start]) if graph.start is not None else 0
        before_last = next_mask(graph, start | graph.mask(ids[:-1]))
        ready[graph.id] = ready.get(graph.id, next_mask(graph, start)) & before_last
        performed[graph.id] |= graph.mask(ids)
    return tuple(
        Finding(
            "R12",
            f"activity {graph.name}",
            f"step {i} ('{graph[i].text[:60]}') may be done from the start to the end of every recording; "
            'does it close the activity? Then say so with "last": true, or with an edge',
        )
        for graph_id, mask in ready.items()
        for graph in (graphs[graph_id],)
        for i in graph.ids(mask & ~(graph.optional_mask & ~performed[graph_id]))
    )


_Rows = Iterator[tuple[str, str]]


def _timed(recording: Recording) -> list[Segment]:
    return [s for s in recording.segments if s.start is not None and s.end is not None]


def _in_time_order(recording: Recording) -> list[Segment]:
    return sorted((s for s in recording.performed if s.start is not None), key=_start)


def _start(segment: Segment) -> float:
    return segment.start if segment.start is not None else -1.0


def _end(segment: Segment) -> float:
    return segment.end if segment.end is not None else -1.0


def _name(segment: Segment) -> str:
    return f"step {segment.step_id}" if segment.step_id else f"'{segment.text[:60]}'"


def _r1(recording: Recording, _: TaskGraph) -> _Rows:
    starts = [_start(s) for s in _timed(recording)]
    disordered = sum(a > b for a, b in pairwise(starts))
    if disordered:
        yield "", f"{disordered} step(s) start before the one listed above them"


def _r2(recording: Recording, graph: TaskGraph) -> _Rows:
    for s in recording.segments:
        free = s.step_id in graph and graph[s.step_id].optional
        if s.end is None and not free and not any(m.kind == "missing" for m in s.mistakes):
            yield _name(s), "no times and no mark"


def _r3(recording: Recording, _: TaskGraph) -> _Rows:
    for s in _timed(recording):
        if any(m.kind == "missing" for m in s.mistakes):
            others = [m.kind for m in s.mistakes if m.kind != "missing"]
            yield _name(s), f"{_start(s):g}-{_end(s):g} s" + (f", also {', '.join(others)}" if others else "")


def _r4(recording: Recording, graph: TaskGraph) -> _Rows:
    for s in recording.segments:
        if s.step_id not in graph:
            yield _name(s), f"{s.text!r} is not a step of {graph.name}"


def _r5(recording: Recording, graph: TaskGraph) -> _Rows:
    ordered = _in_time_order(recording)
    for position in empty_order_mistakes(recording, graph):
        yield _name(ordered[position]), "marked as an order mistake"


def _r6(recording: Recording, _: TaskGraph) -> _Rows:
    for s in _timed(recording):
        if _end(s) <= _start(s):
            yield _name(s), f"ends at {_end(s):g} s, starts at {_start(s):g} s"


def _r7(recording: Recording, _: TaskGraph) -> _Rows:
    for a, b in pairwise(_in_time_order(recording)):
        gap = abs(_start(a) - _start(b)) + abs(_end(a) - _end(b))
        if gap < SAME_INTERVAL_SECONDS:
            yield f"{_name(a)} and {_name(b)}", f"they differ by {gap:.2f} s"


def _r8(recording: Recording, graph: TaskGraph) -> _Rows:
    counts = Counter(s.step_id for s in recording.performed if s.step_id in graph)
    for step_id, n in counts.items():
        if n > 1:
            yield f"step {step_id}", f"performed {n} times"


def _r9(recording: Recording, _: TaskGraph) -> _Rows:
    for s in recording.performed:
        if s.performed == s.text and any(m.kind not in ("order", "missing") for m in s.mistakes):
            yield _name(s), "the mistake cannot be seen in the performed text"


def _r10(recording: Recording, graph: TaskGraph) -> _Rows:
    ordered = [s for s in _in_time_order(recording) if s.step_id in graph]
    for i, s in enumerate(ordered):
        later = {t.step_id for t in ordered[i + 1 :]}
        earlier = {t.step_id for t in ordered[:i]}
        late = [a for a in graph.ancestors(s.step_id) if a in later and a not in earlier]
        if late and not any(m.kind == "order" for m in s.mistakes):
            yield _name(s), f"performed before its prerequisite(s) {', '.join(late)}"


def _r11(recording: Recording, graph: TaskGraph) -> _Rows:
    """Two performed steps whose labels fit better the other way round.

    Either no mistake is marked on both and exchanging them removes every violated prerequisite, or both are marked
    as wrong in an amount or a time and one was performed with the numbers of the other's instruction.
    """
    ordered = [s for s in _in_time_order(recording) if s.step_id in graph]
    ids = [s.step_id for s in ordered]
    violated = graph.violated_edges(ids) if len(set(ids)) == len(ids) else ()
    for i, a in enumerate(ordered):
        for j in range(i + 1, len(ordered)):
            b = ordered[j]
            if violated and _swap_mends(graph, ids, i, j) and not (a.mistakes or b.mistakes):
                yield (
                    f"{_name(a)} and {_name(b)}",
                    f"exchanging them removes {len(violated)} violated prerequisite(s)",
                )
            elif _speaks_of(a, b) or _speaks_of(b, a):
                yield (
                    f"{_name(a)} and {_name(b)}",
                    "what was performed has the numbers of the other's instruction",
                )


def _swap_mends(graph: TaskGraph, ids: list[str], i: int, j: int) -> bool:
    if not graph.comes_before(ids[j], ids[i]):
        return False
    swapped = ids[:]
    swapped[i], swapped[j] = ids[j], ids[i]
    return not graph.violated_edges(swapped)


def _speaks_of(a: Segment, b: Segment) -> bool:
    """True when ``a`` was performed with the numbers of ``b``'s instruction and the verbs agree.

    Both steps have to be marked as mistaken in an amount or a time.
    """
    marked = all(any(m.kind in ("timing", "measurement") for m in s.mistakes) for s in (a, b))
    if not marked or a.performed is None or a.performed == a.text or _verb(a.text) != _verb(b.text):
        return False
    done, own, other = _numbers(a.performed), _numbers(a.text), _numbers(b.text)
    return bool(done) and done == other and not done & own


def _numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+(?:[./]\d+)?", text))


def _verb(text: str) -> str:
    match = re.search(r"[a-z]+", text.lower())
    return match.group() if match else ""


_CHECKS: Final[dict[str, Callable[[Recording, TaskGraph], _Rows]]] = dict(
    zip(RULES, (_r1, _r2, _r3, _r4, _r5, _r6, _r7, _r8, _r9, _r10, _r11), strict=True)
)
