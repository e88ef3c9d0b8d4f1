"""Timelines of several annotators: how far they agree, and one recording where they do. docs/rounds.md, *Timelines*."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Final

import msgspec

from proctor.metrics import segment_agreement as metric
from proctor.metrics.agreement import fleiss_kappa
from proctor.procedure.recording import Action, Mistake, Recording, Segment
from proctor.verify.rounds.timeline import TAGS, TimelineSheet, TimelineTask, frame_at

__all__ = ["Decision", "OpenStep", "TimelineAgreement", "settle", "timeline_agreement"]

Sheets = Mapping[str, TimelineSheet]
Span = tuple[float, float]
ACTIONS: Final = "actions"
"""Stands for a step where actions are meant."""


class Decision(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whose timeline counts where annotators differ: ``take`` is a person, the step ``actions`` stands for actions, ``*`` for all."""

    take: str
    recording: str = "*"
    step: str = "*"


class OpenStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step on which no two annotators agree, or ``actions`` that one alone has, and what each of them ``said``."""

    recording: str
    step: str
    said: dict[str, list[Any]]


class TimelineAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How far every two annotators of a recording agree.

    Attributes:
        recordings: done by two or more.
        counts: of ``metrics.segment_agreement.segment_counts``.
        figures: ``iou`` per step; ``boundary_median`` and ``boundary_p90``, seconds between matched boundaries; ``f1@<IoU>`` of segments;
            ``tags``, the share of (step, tag) on which two agree, and ``tags_kappa`` (Fleiss); ``actions_f1@<IoU>`` of actions with
            the same verb and noun. None where there is nothing to compare.
    """

    recordings: int
    counts: dict[str, int]
    figures: dict[str, float | None]


def timeline_agreement(recordings: Mapping[str, tuple[TimelineTask, Sheets]]) -> TimelineAgreement:
    """Compare every two annotators of every recording."""
    several = {name: (task, by) for name, (task, by) in recordings.items() if len(by) > 1}
    steps = metric.compare_segments(
        {n: {p: _timed(s) for p, s in by.items()} for n, (_, by) in several.items()}
    )
    acts = metric.compare_segments(
        {n: {p: [*_named(s)] for p, s in by.items()} for n, (_, by) in several.items()}
    )
    tags = [
        pair
        for task, by in several.values()
        for step in task.steps
        for tag in TAGS
        for pair in combinations(
            [any((e.step, e.tag) == (step.id, tag) for e in s.errors) for _, s in sorted(by.items())], 2
        )
    ]
    scores = {
        "iou": metric.mean_segment_iou(steps, resamples=0),
        "boundary_median": metric.boundary_error(steps, resamples=0),
        "boundary_p90": metric.boundary_error(steps, 0.9, resamples=0),
        "tags_kappa": fleiss_kappa(tags, resamples=0),
    }
    for t in (0.1, 0.25, 0.5):
        scores[f"f1@{t:g}"] = metric.detection_agreement(steps, t, resamples=0)
        scores[f"actions_f1@{t:g}"] = metric.detection_agreement(acts, t, resamples=0)
    figures = {name: None if math.isnan(score.value) else score.value for name, score in scores.items()}
    figures["tags"] = sum(a == b for a, b in tags) / len(tags) if tags else None
    return TimelineAgreement(recordings=len(several), counts=metric.segment_counts(steps), figures=figures)


def settle(
    task: TimelineTask, sheets: Sheets, decisions: Sequence[Decision] = (), least: float = 0.5
) -> tuple[Recording, list[OpenStep]]:
    """Make one recording of the timelines of several, and say what is open.

    A step is settled where two annotators have the same tags and equally many segments that overlap with an IoU of at
    least ``least`` (of several pairs the one with the largest): by the middle between their boundaries, to a frame. Where
    no two agree the last decision that fits counts, and what one annotator did alone counts as it is. Mistakes of a step in
    several stretches stand at the first.
    """
    people = sorted(sheets)
    segments: list[Segment] = []
    open_: list[OpenStep] = []

    def taken(step: str) -> str | None:
        here = {(name, id_) for name in ("*", task.recording) for id_ in ("*", step)}
        fits = [d.take for d in decisions if d.take in sheets and (d.recording, d.step) in here]
        return people[0] if len(people) == 1 else fits[-1] if fits else None

    timed = {p: sorted(_timed(sheets[p])) for p in people}
    compared = {(c.step, c.a, c.b): c for c in metric.compare_segments({task.recording: timed})}
    for step in task.steps:
        spans = {p: [(start, end) for name, start, end in timed[p] if name == step.id] for p in people}
        wrong = {p: [Mistake(e.tag, e.text) for e in sheets[p].errors if e.step == step.id] for p in people}
        found = []
        for a, b in combinations(people, 2):
            if {m.kind for m in wrong[a]} == {m.kind for m in wrong[b]}:
                c = compared.get((step.id, a, b))
                # the smallest IoU of their segments of the step: 1 where neither has any, 0 where one has more
                worst = (
                    1.0
                    if c is None
                    else 0.0
                    if c.missing
                    else min(float(c.overlap[pair]) for pair in c.matched)
                )
                if worst >= least:
                    found.append((worst, a, b))
        one = taken(step.id)
        if found:
            _, one, b = max(found, key=lambda pair: pair[0])
            c, texts = compared.get((step.id, one, b)), {m.kind: m.text for m in wrong[b]}
            times = [_middle(spans[one][i], spans[b][j], task) for i, j in (c.matched if c else ())]
            mistakes = [Mistake(m.kind, m.text or texts[m.kind]) for m in wrong[one]]
        elif one is not None:
            times, mistakes = spans[one], wrong[one]
        else:
            said = {p: [*spans[p], *([m.kind, m.text] for m in wrong[p])] for p in people}
            open_.append(OpenStep(recording=task.recording, step=step.id, said=said))
            continue
        for n, (start, end) in enumerate(times):
            segments.append(Segment(step.id, step.text, start, end, mistakes=() if n else tuple(mistakes)))
        if mistakes and not times:
            segments.append(Segment(step.id, step.text, mistakes=tuple(mistakes)))
    left, done = {p: _actions(sheets[p]) for p in people}, []
    named = {p: _named(sheets[p]) for p in people}
    for c in metric.compare_segments({task.recording: {p: [*named[p]] for p in people}}):
        first, second = ([named[p][key] for key in sorted(named[p]) if key[0] == c.step] for p in (c.a, c.b))
        for i, j in c.matched:
            x, y = first[i], second[j]
            if c.overlap[i, j] >= least and x in left[c.a] and y in left[c.b]:
                left[c.a].remove(x)
                left[c.b].remove(y)
                times = [_middle((x.start, x.end), (y.start, y.end), task)]
                done.append(Action(*times[0], x.verb, x.noun, x.source, x.step_id))
    if (one := taken(ACTIONS)) is not None:
        done += left[one]
    elif any(left.values()):
        open_.append(OpenStep(recording=task.recording, step=ACTIONS, said=dict(left)))
    recording = Recording(
        task.recording, task.activity, task.title,
        tuple(sorted(segments, key=lambda s: -1.0 if s.start is None else s.start)),
        task.duration_s, task.video or None, {"fps": str(task.fps)}, tuple(sorted(done, key=lambda a: a.start)),
    )  # fmt: skip
    return recording, open_


def _middle(one: Span, two: Span, task: TimelineTask) -> Span:
    """Return the frames in the middle between two spans, at least one; equal times stay as they are."""
    first, last = (frame_at((a + b) / 2, task.fps) for a, b in zip(one, two, strict=True))
    start = one[0] if one[0] == two[0] else float(first / task.fps)
    return start, one[1] if one[1] == two[1] else float(max(last, first + 1) / task.fps)


def _timed(sheet: TimelineSheet) -> list[metric.TimedStep]:
    return [(s.step, s.start_s, s.end_s) for s in sheet.segments]


def _actions(sheet: TimelineSheet) -> list[Action]:
    listed = sorted(
        sheet.actions, key=lambda a: (a.start_s, a.end_s, a.verb.lower(), a.noun.lower(), a.source)
    )
    return [Action(a.start_s, a.end_s, a.verb, a.noun, a.source, a.step or None) for a in listed]


def _named(sheet: TimelineSheet) -> dict[metric.TimedStep, Action]:
    """Return actions by what they are called and their times."""
    return {(f"{a.verb} {a.noun}".lower(), a.start, a.end): a for a in _actions(sheet)}
