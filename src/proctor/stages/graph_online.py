"""``proctor graph order-mistakes``: is the current step's prerequisite done? Judged step by step, by released and inferred graphs.

The graph of an activity is inferred from its normal recordings without the one that is judged, and what the method learns is
learned on the other activities. Judgements are held against those of the released graph, and against what annotators tagged as
a mistake of order. The released graph does not agree with the tags either: that is the noise of annotation, which no inference
can get below.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.learn.evaluate import Figure
from proctor.metrics.classification import Options, f1_score, paired_difference, precision, recall
from proctor.procedure.graph import TaskGraph
from proctor.procedure.order_check import unmet_prerequisites
from proctor.procedure.recording import Recording, Segment
from proctor.stages.graph_methods import METHODS, Infer
from proctor.stages.graph_recorded import Recorded, Steps, performances_of, read_recorded
from proctor.stages.graph_settings import OrderMistakesSettings

__all__ = ["Judged", "Noise", "OrderMistakes", "judge_orders"]

Flags = NDArray[np.bool_]
_RELEASED: Final = "released"


class Judged(msgspec.Struct, frozen=True):
    """One judge against a reference, by step: shares from 0 to 1 with intervals over recordings.

    Attributes:
        called: steps that are called a mistake.
        precision: of "mistake".
        recall: of "mistake".
        f1: of "mistake".
        correct_precision: of "correct".
        correct_recall: of "correct".
        correct_f1: of "correct".
        mean_f1: of both, as the literature on online detection reports it.
    """

    called: int
    precision: Figure
    recall: Figure
    f1: Figure
    correct_precision: Figure
    correct_recall: Figure
    correct_f1: Figure
    mean_f1: float | None


class Noise(msgspec.Struct, frozen=True):
    """Why the released graphs and the annotators' tags differ, in steps.

    Attributes:
        agreed: the graph and a tag say "mistake".
        skipped: the graph does, no tag: a prerequisite was never performed (the missing step itself is tagged, if anything).
        late_tagged: no tag here, but the prerequisite came later and is tagged there: one mistake at two steps.
        late: no tag here, and the prerequisite that came later has none either.
        other_end: a tag, nothing unmet: the step itself came later than a step that waits for it.
        unexplained: a tag, and the order of this step breaks no edge of the graph at either end.
    """

    agreed: int
    skipped: int
    late_tagged: int
    late: int
    other_end: int
    unexplained: int


class Gap(msgspec.Struct, frozen=True):
    """How much of what an inferred graph lacks against the tags, the released graph lacks as well.

    Attributes:
        f1: of "mistake", the released graph's minus the inferred one's.
        explained: share of the distance to 1 that the released graph has too: noise of annotation, not of inference.
    """

    f1: Figure
    explained: float | None


class OrderMistakes(msgspec.Struct, frozen=True):
    """What was found.

    Attributes:
        recordings: that were judged.
        steps: performed ones with times.
        tagged: as a mistake of order by annotators.
        against_tags: each judge against the tags: ``released``, and each method's inferred graphs.
        against_released: each method's inferred graphs against the released ones.
        gap: between the released and the inferred graphs, by method.
        noise: why released graphs and tags differ.
        held_out: how the judge was kept from knowing.
        dropped: what was left out, counted by reason.
        seconds: that it took.
    """

    recordings: int
    steps: int
    tagged: int
    against_tags: dict[str, Judged]
    against_released: dict[str, Judged]
    gap: dict[str, Gap]
    noise: Noise
    held_out: str
    dropped: dict[str, int]
    seconds: float


@dataclass(frozen=True, slots=True)
class _Watched:
    """One recording: its performed steps in the order in which they began, and what the released graph has against each."""

    recording: Recording
    steps: tuple[Segment, ...]
    unmet: tuple[tuple[str, ...], ...]

    @property
    def tags(self) -> list[bool]:
        return [any(m.kind == "order" for m in s.mistakes) for s in self.steps]


def judge_orders(settings: OrderMistakesSettings) -> OrderMistakes:
    """Judge every performed step of a folder of annotations.

    Raises:
        UserError: if the annotations cannot be read or have no task graphs.
    """
    begin = time.perf_counter()
    activities, _, dropped = read_recorded(settings.annotations)
    watched = [_watched(r, a.graph, settings.steps) for a in activities for r in a.recordings]
    judges: dict[str, Flags] = {_RELEASED: _flat([[bool(u) for u in w.unmet] for w in watched])}
    for name, trained in METHODS.items():
        judged: list[list[bool]] = []
        for activity in activities:
            others = [a for a in activities if a is not activity]
            infer = trained([(performances_of(a.normal, settings.steps), a.graph) for a in others])
            judged += _by_inferred(activity, infer, settings.steps)
        judges[name] = _flat(judged)
    tags = _flat([w.tags for w in watched])
    options: Options = {
        "clusters": [w.recording.id for w in watched for _ in w.steps],
        "resamples": settings.resamples,
        "seed": settings.seed,
    }
    inferred = {name: flags for name, flags in judges.items() if name != _RELEASED}
    return OrderMistakes(
        recordings=len(watched),
        steps=tags.size,
        tagged=int(tags.sum()),
        against_tags={name: _judged(tags, flags, options) for name, flags in judges.items()},
        against_released={n: _judged(judges[_RELEASED], flags, options) for n, flags in inferred.items()},
        gap={n: _gap(tags, flags, judges[_RELEASED], options) for n, flags in inferred.items()},
        noise=_noise(watched),
        held_out="the judged recording, and its activity for what is learned",
        dropped=dict(Counter(d.reason for d in dropped)),
        seconds=round(time.perf_counter() - begin, 3),
    )


def _watched(recording: Recording, graph: TaskGraph, order: Steps) -> _Watched:
    steps = tuple(s for s in recording.performed if s.start is not None)
    if order == "times":
        steps = tuple(sorted(steps, key=lambda s: s.start or 0.0))
    unmet = unmet_prerequisites(graph, (s.step_id for s in steps))
    return _Watched(recording, steps, tuple(u or () for u in unmet))


def _by_inferred(activity: Recorded, infer: Infer, order: Steps) -> list[list[bool]]:
    """Judge the recordings of an activity by a graph that is inferred without the one that is judged."""
    normal = activity.normal
    normal_ids = {r.id for r in normal}
    whole = _graph(activity, normal, infer, order)
    judged = []
    for recording in activity.recordings:
        graph = whole
        if recording.id in normal_ids:
            graph = _graph(activity, [r for r in normal if r is not recording], infer, order)
        steps = _watched(recording, activity.graph, order).steps
        found = (
            [None] * len(steps) if graph is None else unmet_prerequisites(graph, (s.step_id for s in steps))
        )
        judged.append([bool(u) for u in found])
    return judged


def _graph(
    activity: Recorded, recordings: Sequence[Recording], infer: Infer, order: Steps
) -> TaskGraph | None:
    """Return the inferred graph; None where nothing is left to infer it from, so that no step is a mistake."""
    performances = performances_of(recordings, order)
    if not performances:
        return None
    graph = activity.graph
    return infer(performances, activity.texts, id=graph.id, name=graph.name, beliefs=False).graph


def _flat(rows: Sequence[Sequence[bool]]) -> Flags:
    return np.array([flag for row in rows for flag in row], dtype=np.bool_)


def _judged(reference: Flags, called: Flags, options: Options) -> Judged:
    first, second, third = (Figure.of(m(reference, called, **options)) for m in (precision, recall, f1_score))
    fourth, fifth, sixth = (
        Figure.of(m(~reference, ~called, **options)) for m in (precision, recall, f1_score)
    )
    both = None if third.value is None or sixth.value is None else (third.value + sixth.value) / 2
    return Judged(int(called.sum()), first, second, third, fourth, fifth, sixth, both)


def _gap(tags: Flags, inferred: Flags, released: Flags, options: Options) -> Gap:
    difference = Figure.of(paired_difference("f1_score", tags, inferred, released, **options))
    ours, theirs = (Figure.of(f1_score(tags, flags)).value for flags in (inferred, released))
    if ours is None or theirs is None or ours == 1:
        return Gap(difference, None)
    return Gap(difference, min(1.0, (1 - theirs) / (1 - ours)))


def _noise(watched: Sequence[_Watched]) -> Noise:
    counts: Counter[str] = Counter()
    for w in watched:
        counts.update(_reasons(w))
    return Noise(**{name: counts[name] for name in Noise.__struct_fields__})


def _reasons(watched: _Watched) -> list[str]:
    """Say of every step that the released graph or an annotator finds wrong, why both do or only one does."""
    tags = watched.tags
    tagged = {s.step_id for s, tag in zip(watched.steps, tags, strict=True) if tag}
    performed = {s.step_id for s in watched.steps}
    late = {step_id for unmet in watched.unmet for step_id in unmet if step_id in performed}
    found = []
    for step, tag, unmet in zip(watched.steps, tags, watched.unmet, strict=True):
        if tag:
            found.append("agreed" if unmet else "other_end" if step.step_id in late else "unexplained")
        elif unmet:
            came = [step_id for step_id in unmet if step_id in performed]
            found.append("skipped" if not came else "late_tagged" if tagged.intersection(came) else "late")
    return found
