"""Timelines of several annotators: how far they agree, and one timeline where they do. docs/rounds.md, *Timelines*."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

import msgspec

from proctor.metrics.agreement import fleiss_kappa
from proctor.metrics.score import Score
from proctor.metrics.segment_agreement import (
    StepComparison,
    TimedStep,
    boundary_error,
    compare_segments,
    detection_agreement,
    mean_segment_iou,
    segment_counts,
)
from proctor.verify.rounds.timeline import TAGS, ErrorMark, TimelineSheet, TimelineTask, frame_at

__all__ = ["Decision", "OpenStep", "Settled", "TimelineAgreement", "settle", "timeline_agreement"]

Sheets = Mapping[str, TimelineSheet]
Span = tuple[float, float]
Done = tuple[float, float, str, str, str, str]
"""An action: start, end, verb, noun, source, step."""
ACTIONS: Final = "actions"
"""Stands for a step where actions are meant."""
_THRESHOLDS: Final = (0.1, 0.25, 0.5)


class Decision(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whose timeline counts where annotators differ: ``take`` is a person, the step ``actions`` stands for actions, ``*`` for all."""

    take: str
    recording: str = "*"
    step: str = "*"


class OpenStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step on which no two annotators agree (or ``actions``), and what each of them ``said``."""

    recording: str
    step: str
    said: dict[str, list[Any]]


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """One timeline of a recording: steps with their segments and errors, actions, and what is open.

    It is ``whole`` when every step is settled; of actions those are left out, and open, that one annotator alone has.
    """

    steps: dict[str, tuple[list[Span], list[ErrorMark]]] = {}
    actions: list[Done] = []
    open: list[OpenStep] = []

    @property
    def whole(self) -> bool:
        """Whether every step is settled."""
        return all(one.step == ACTIONS for one in self.open)


class TimelineAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How far every two annotators of a recording agree; None where there is nothing to compare.

    Attributes:
        recordings: done by two or more.
        counts: of ``metrics.segment_agreement.segment_counts``.
        iou: mean IoU per step.
        boundary_median: absolute difference of matched boundaries in seconds; ``boundary_p90`` its 90 % quantile.
        f1: of segments by threshold of IoU.
        tags: share of (step, tag) on which two agree; ``tags_kappa`` the same beyond chance (Fleiss).
        actions: pairs of them that overlap; ``actions_f1`` as ``f1``, whatever they are called.
        verbs: share of the pairs with the same verb; ``nouns`` likewise.
    """

    recordings: int
    counts: dict[str, int]
    iou: float | None
    boundary_median: float | None
    boundary_p90: float | None
    f1: dict[str, float | None]
    tags: float | None
    tags_kappa: float | None
    actions: int
    actions_f1: dict[str, float | None]
    verbs: float | None
    nouns: float | None


def timeline_agreement(recordings: Mapping[str, tuple[TimelineTask, Sheets]]) -> TimelineAgreement:
    """Compare every two annotators of every recording."""
    several = {name: (task, by) for name, (task, by) in recordings.items() if len(by) > 1}
    steps = compare_segments({n: {p: _timed(s) for p, s in by.items()} for n, (_, by) in several.items()})
    acts = compare_segments({n: {p: _acted(s) for p, s in by.items()} for n, (_, by) in several.items()})
    tags = [
        pair
        for task, by in several.values()
        for step in task.steps
        for tag in TAGS
        for pair in combinations([tag in _tags(s, step.id) for _, s in sorted(by.items())], 2)
    ]
    words = [pair for c in acts for pair in _named(c, several[c.recording][1]) if pair[0] > 0]
    return TimelineAgreement(
        recordings=len(several),
        counts=segment_counts(steps),
        iou=_value(mean_segment_iou(steps, resamples=0)),
        boundary_median=_value(boundary_error(steps, resamples=0)),
        boundary_p90=_value(boundary_error(steps, 0.9, resamples=0)),
        f1={f"{t:g}": _value(detection_agreement(steps, t, resamples=0)) for t in _THRESHOLDS},
        tags=sum(a == b for a, b in tags) / len(tags) if tags else None,
        tags_kappa=_value(fleiss_kappa(tags, resamples=0)) if tags else None,
        actions=len(words),
        actions_f1={f"{t:g}": _value(detection_agreement(acts, t, resamples=0)) for t in _THRESHOLDS},
        verbs=sum(a[2] == b[2] for _, a, b in words) / len(words) if words else None,
        nouns=sum(a[3] == b[3] for _, a, b in words) / len(words) if words else None,
    )


def settle(
    task: TimelineTask, sheets: Sheets, decisions: Sequence[Decision] = (), least: float = 0.5
) -> Settled:
    """Make one timeline of several.

    A step is settled where two annotators have the same tags and equally many segments that overlap with an IoU of at
    least ``least`` (of several pairs the one with the largest): by the middle between their boundaries, to a frame. Where
    no two agree the last decision that fits counts, and what one annotator did alone counts as it is.
    """
    people = sorted(sheets)
    result = Settled(steps={}, actions=[], open=[])

    def taken(step: str) -> str | None:
        here = (task.recording, step)
        fits = [
            d.take
            for d in decisions
            if d.take in sheets and d.recording in ("*", here[0]) and d.step in ("*", step)
        ]
        return people[0] if len(people) == 1 else fits[-1] if fits else None

    timed = {p: sorted(_timed(sheets[p])) for p in people}
    compared = {(c.step, c.a, c.b): c for c in compare_segments({task.recording: timed})}
    for step in [s.id for s in task.steps]:
        spans = {p: [(start, end) for name, start, end in timed[p] if name == step] for p in people}
        errors = {p: [e for e in sheets[p].errors if e.step == step] for p in people}
        found = [
            (worst, a, b)
            for a, b in combinations(people, 2)
            if _tags(sheets[a], step) == _tags(sheets[b], step)
            and (worst := _worst(compared.get((step, a, b)))) >= least
        ]
        one = taken(step)
        if found:
            _, a, b = max(found, key=lambda pair: pair[0])
            c, texts = compared.get((step, a, b)), {e.tag: e.text for e in errors[b]}
            middle = [_middle(spans[a][i], spans[b][j], task) for i, j in (c.matched if c else ())]
            said = [msgspec.structs.replace(e, text=e.text or texts[e.tag]) for e in errors[a]]
            result.steps[step] = middle, said
        elif one is not None:
            result.steps[step] = spans[one], errors[one]
        else:
            said_of = {p: [*spans[p], *([e.tag, e.text] for e in errors[p])] for p in people}
            result.open.append(OpenStep(recording=task.recording, step=step, said=said_of))
    left = {p: _actions(sheets[p]) for p in people}
    for c in compare_segments({task.recording: {p: _acted(sheets[p]) for p in people}}):
        for overlap, x, y in _named(c, sheets):
            if overlap >= least and x[2:4] == y[2:4] and x in left[c.a] and y in left[c.b]:
                left[c.a].remove(x)
                left[c.b].remove(y)
                result.actions.append((*_middle(x[:2], y[:2], task), *x[2:]))
    if (one := taken(ACTIONS)) is not None:
        result.actions.extend(left[one])
    elif any(left.values()):
        result.open.append(OpenStep(recording=task.recording, step=ACTIONS, said=dict(left)))
    result.actions.sort()
    return result


def _worst(c: StepComparison | None) -> float:
    """Return the smallest IoU of two annotators' segments of a step: 1 where neither has any, 0 where one has more."""
    return 1.0 if c is None else 0.0 if c.missing else min(float(c.overlap[pair]) for pair in c.matched)


def _middle(one: Span, two: Span, task: TimelineTask) -> Span:
    """Return the frames in the middle between two spans, at least one; equal times stay as they are."""
    first, last = (frame_at((a + b) / 2, task.fps) for a, b in zip(one, two, strict=True))
    start = one[0] if one[0] == two[0] else float(first / task.fps)
    return start, one[1] if one[1] == two[1] else float(max(last, first + 1) / task.fps)


def _value(score: Score) -> float | None:
    return None if math.isnan(score.value) else score.value


def _timed(sheet: TimelineSheet) -> list[TimedStep]:
    return [(s.step, s.start_s, s.end_s) for s in sheet.segments]


def _tags(sheet: TimelineSheet, step: str) -> set[str]:
    return {e.tag for e in sheet.errors if e.step == step}


def _actions(sheet: TimelineSheet) -> list[Done]:
    return sorted(
        (a.start_s, a.end_s, a.verb.lower(), a.noun.lower(), a.source, a.step) for a in sheet.actions
    )


def _acted(sheet: TimelineSheet) -> list[TimedStep]:
    """Return actions as segments of one step; of several at the very same time every one is a step of its own."""
    seen: Counter[Span] = Counter()
    found = []
    for start, end, *_ in _actions(sheet):
        found.append((f"{seen[start, end]}", start, end))
        seen[start, end] += 1
    return found


def _named(c: StepComparison, sheets: Sheets) -> Iterator[tuple[float, Done, Done]]:
    """Yield matched actions with their IoU."""
    of = []
    for sheet in (sheets[c.a], sheets[c.b]):
        steps = _acted(sheet)
        of.append([a for a, (step, *_) in zip(_actions(sheet), steps, strict=True) if step == c.step])
    yield from ((float(c.overlap[i, j]), of[0][i], of[1][j]) for i, j in c.matched)
