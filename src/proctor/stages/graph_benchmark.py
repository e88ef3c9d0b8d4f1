"""``proctor graph benchmark``: task graphs inferred from recordings, held against released ones as published figures are.

Every activity's graph is inferred from its normal recordings; what a method learns is learned on all other activities. Edges of
the transitive reductions are compared, those from the start and to the end included; precision, recall and F1 are means over
activities, in per cent (Seminara, Farinella and Furnari 2024).
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean, pstdev
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.metrics.bootstrap import bootstrap_mean_intervals
from proctor.metrics.calibration import (
    brier_score,
    calibrated_ece,
    expected_calibration_error,
    reliability_bins,
)
from proctor.metrics.figure import Reliability
from proctor.procedure.graph_compare import compare_edges
from proctor.procedure.induce import Performance
from proctor.procedure.recording import Recording
from proctor.stages.graph_methods import METHODS, Examples, Infer, Inferred, infer_by_counting
from proctor.stages.graph_recorded import Recorded, Steps, performances_of, read_recorded
from proctor.stages.graph_settings import BenchmarkSettings, Method
from proctor.stages.graph_synthetic import SIZES, Recovered, recover

__all__ = [
    "FEW",
    "PUBLISHED",
    "Benchmark",
    "OfActivity",
    "Published",
    "ReliabilityOfEdges",
    "Variant",
    "benchmark_graphs",
    "parts_of",
]

FEW: Final = (2, 3, 5)
"""Performances of the points of the few-shot curve, beside all."""


class Published(msgspec.Struct, frozen=True):
    """A row of a paper: precision, recall and F1 in per cent."""

    name: str
    precision: float
    recall: float
    f1: float


PUBLISHED: Final = (
    Published("subtask inference (MSGI)", 11.9, 14.0, 12.8),
    Published("a language model asked for preconditions", 52.9, 57.4, 55.0),
    Published("counting transitions", 66.9, 56.6, 61.3),
    Published("MSG²", 70.9, 71.6, 71.1),
    Published("transformer over step texts (TGT)", 79.9, 81.9, 80.8),
    Published("direct maximum likelihood (DO)", 86.4, 89.7, 87.8),
)
"""Rows of CaptainCook4D in Seminara et al. (2024), Table 1: recalled, and not checked against the paper."""


class OfActivity(msgspec.Struct, frozen=True):
    """One activity, in per cent."""

    id: str
    steps: int
    performances: int
    precision: float
    recall: float
    f1: float


class Variant(msgspec.Struct, frozen=True):
    """Means over activities in per cent under other conditions.

    Attributes:
        name: of the condition.
        performances: of an activity at most; None for all.
        precision: mean.
        recall: mean.
        f1: mean.
        spread: standard deviation of F1 over draws; 0 where nothing is drawn.
        draws: how many.
    """

    name: str
    performances: int | None
    precision: float
    recall: float
    f1: float
    spread: float = 0.0
    draws: int = 1


class ReliabilityOfEdges(msgspec.Struct, frozen=True):
    """Stated probabilities of edges against the edges of the released graph's transitive reduction, over all activities.

    Attributes:
        pairs: edges that were taken, and open ones; those of start and end have no probability.
        ece: expected calibration error, bins of equal width.
        chance: what a perfectly calibrated method would show, and its 95 % range.
        brier: mean squared error.
        bins: for each its limits, pairs, mean probability and share that are edges; None for both where it has no pair.
    """

    pairs: int
    ece: float
    chance: tuple[float, float, float]
    brier: float
    bins: list[tuple[float, float, int, float | None, float | None]]


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured; shares in per cent.

    Attributes:
        method: what was measured.
        precision: mean over activities.
        recall: mean over activities.
        f1: mean over activities.
        intervals: 95 %, over activities, by figure.
        by_activity: by name.
        seconds: to infer all graphs once, what is learned not counted.
        seconds_learning: to learn, all activities together.
        held_out: what the method learned nothing from.
        activities: how many.
        performances: that graphs were inferred from.
        steps: what orders the steps of a recording.
        published: rows of the paper; empty for other data.
        others: other methods and conditions, on the same data.
        few: the few-shot curve.
        reliability: None for a method without probabilities.
        synthetic: recovery of random graphs.
        dropped: what was left out, counted by reason.
        notes: what the reader has to know.
    """

    method: Method
    precision: float
    recall: float
    f1: float
    intervals: dict[str, tuple[float, float]]
    by_activity: dict[str, OfActivity]
    seconds: float
    seconds_learning: float
    held_out: str
    activities: int
    performances: int
    steps: Steps
    published: list[Published]
    others: list[Variant]
    few: list[Variant]
    reliability: ReliabilityOfEdges | None
    synthetic: list[Recovered]
    dropped: dict[str, int]
    notes: list[str]


@dataclass(frozen=True, slots=True)
class _Measured:
    """Every activity with what was inferred of it, in the order of the activities."""

    inferred: tuple[Inferred, ...]
    rows: tuple[OfActivity, ...]
    seconds: float

    def mean(self, name: str) -> float:
        """Mean over activities of ``precision``, ``recall`` or ``f1``."""
        return fmean(getattr(row, name) for row in self.rows)


def parts_of(settings: BenchmarkSettings) -> int:
    """Return how many parts the benchmark has, for a bar of progress."""
    method: str = settings.method
    conditions = 3 if method == "counting" else 6
    return 1 + conditions + len(FEW) * settings.draws + len(SIZES) * settings.synthetic


def benchmark_graphs(
    settings: BenchmarkSettings, seen: Callable[[], None] = lambda: None
) -> tuple[Benchmark, Reliability | None]:
    """Measure a method; return the figures, and the reliability diagram where there are probabilities.

    Args:
        settings: see ``BenchmarkSettings``.
        seen: called after each of ``parts_of`` parts.

    Raises:
        UserError: if the annotations cannot be read, have no task graphs, or an activity has no normal recording.
    """
    activities, dataset, dropped = read_recorded(settings.annotations)
    activities = [a for a in activities if performances_of(a.normal)]
    if len(activities) < 2:
        raise UserError(
            f"{len(activities)} activity has recordings without a mistake of order; two are needed.",
            where=str(settings.annotations),
            hint="what a method learns is learned on the other activities",
        )
    drawn = [_drawn(a, settings.performances, settings.seed, 0) for a in activities]
    begin = time.perf_counter()
    examples = [(performances_of(a.normal, settings.steps), a.graph) for a in activities]
    methods = _held_out(METHODS[settings.method], examples)
    learning = time.perf_counter() - begin
    main = _measure(activities, drawn, methods, settings.steps)
    seen()
    others = _others(settings, activities, drawn, seen)
    few = _few(settings, activities, methods, main, seen)
    picture, reliability = _reliability(activities, main, settings)
    synthetic = (
        recover(METHODS[settings.method]([]), graphs=settings.synthetic, seed=settings.seed, seen=seen)
        if settings.synthetic
        else []
    )
    result = Benchmark(
        method=settings.method,
        precision=main.mean("precision"),
        recall=main.mean("recall"),
        f1=main.mean("f1"),
        intervals=_intervals(main, settings),
        by_activity={_name(a, activities): row for a, row in zip(activities, main.rows, strict=True)},
        seconds=round(main.seconds, 3),
        seconds_learning=round(learning, 3),
        held_out="leave-one-activity-out",
        activities=len(activities),
        performances=sum(map(len, drawn)),
        steps=settings.steps,
        published=list(PUBLISHED) if dataset == "captaincook4d" else [],
        others=others,
        few=few,
        reliability=reliability,
        synthetic=synthetic,
        dropped=dict(Counter(d.reason for d in dropped)),
        notes=_notes(settings, activities, dataset),
    )
    return result, picture


def _notes(settings: BenchmarkSettings, activities: Sequence[Recorded], dataset: str) -> list[str]:
    notes = []
    if dataset == "captaincook4d":
        notes.append(
            "The published rows are recalled from Table 1 of Seminara, Farinella and Furnari (2024) and were not checked against it."
        )
    unsorted = sum(
        starts != sorted(starts)
        for a in activities
        for r in a.recordings
        if (starts := [s.start for s in r.performed if s.start is not None])
    )
    if unsorted:
        notes.append(
            f"In {unsorted} recordings the list in the annotations is not in the order of the times. Which of the two a published "
            "figure read is not known here; times say what happened."
        )
    few = [
        a.graph.name for a in activities if settings.performances and len(a.normal) < settings.performances
    ]
    if few:
        notes.append(f"{len(few)} activities have fewer performances than asked for; all of theirs count.")
    return notes


def _name(activity: Recorded, activities: Sequence[Recorded]) -> str:
    name = activity.graph.name or activity.graph.id
    return name if sum(a.graph.name == name for a in activities) < 2 else f"{name} ({activity.graph.id})"


def _drawn(activity: Recorded, count: int | None, seed: int, draw: int) -> tuple[Recording, ...]:
    """Return so many of an activity's normal recordings; all where it has no more."""
    normal = activity.normal
    if count is None or count >= len(normal):
        return normal
    rng = random.Random(f"{seed}:{count}:{draw}:{activity.graph.id}")  # noqa: S311 - not a secret
    return tuple(sorted(rng.sample(normal, count), key=lambda r: r.id))


def _held_out(trained: Callable[[Examples], Infer], examples: Examples) -> list[Infer]:
    """Return for each activity what infers its graph and has learned on all others."""
    return [trained([*examples[:n], *examples[n + 1 :]]) for n in range(len(examples))]


def _measure(
    activities: Sequence[Recorded],
    recordings: Sequence[Sequence[Recording]],
    methods: Sequence[Infer],
    steps: Steps,
) -> _Measured:
    performances: list[list[Performance]] = [performances_of(r, steps) for r in recordings]
    begin = time.perf_counter()
    inferred = tuple(
        infer(seen, a.texts, id=a.graph.id, name=a.graph.name)
        for a, seen, infer in zip(activities, performances, methods, strict=True)
    )
    seconds = time.perf_counter() - begin
    rows = []
    for activity, seen, found in zip(activities, performances, inferred, strict=True):
        agreed = compare_edges(activity.graph, found.graph)
        shares = (100 * agreed.precision, 100 * agreed.recall, 100 * agreed.f1)
        rows.append(OfActivity(activity.graph.id, len(activity.graph.actions), len(seen), *shares))
    return _Measured(inferred, tuple(rows), seconds)


def _variant(name: str, count: int | None, measured: Sequence[_Measured]) -> Variant:
    scores = [m.mean("f1") for m in measured]
    return Variant(
        name,
        count,
        fmean(m.mean("precision") for m in measured),
        fmean(m.mean("recall") for m in measured),
        fmean(scores),
        pstdev(scores),
        len(measured),
    )


def _others(
    settings: BenchmarkSettings,
    activities: Sequence[Recorded],
    drawn: Sequence[Sequence[Recording]],
    seen: Callable[[], None],
) -> list[Variant]:
    """Measure counting, the other order of steps, and all recordings, those with mistakes of order included."""
    trained = METHODS[settings.method]
    method: str = settings.method
    everything = [a.recordings for a in activities]
    counting = [METHODS["counting"]([])] * len(activities)
    overlaps: list[Infer] = [partial(infer_by_counting, evidence="intervals")] * len(activities)
    other: Steps = "list" if settings.steps == "times" else "times"
    words = "by the list in the annotations" if other == "list" else "by times"
    conditions: list[tuple[str, Sequence[Sequence[Recording]], Sequence[Infer], Steps]] = [
        *([("counting", drawn, counting, settings.steps)] if method != "counting" else []),
        ("counting, overlaps say nothing", drawn, overlaps, settings.steps),
        (f"counting, {words}", drawn, counting, other),
        ("counting, all recordings", everything, counting, settings.steps),
    ]
    if method != "counting":
        listed = _held_out(trained, [(performances_of(a.normal, other), a.graph) for a in activities])
        robust = _held_out(
            trained, [(performances_of(a.recordings, settings.steps), a.graph) for a in activities]
        )
        conditions += [
            (f"{method}, {words}", drawn, listed, other),
            (f"{method}, all recordings", everything, robust, settings.steps),
        ]
    rows = []
    for name, recordings, methods, steps in conditions:
        measured = _measure(activities, recordings, methods, steps)
        rows.append(_variant(name, settings.performances if recordings is drawn else None, [measured]))
        seen()
    return rows


def _few(
    settings: BenchmarkSettings,
    activities: Sequence[Recorded],
    methods: Sequence[Infer],
    main: _Measured,
    seen: Callable[[], None],
) -> list[Variant]:
    """Measure the method on few performances of each activity, drawn anew several times."""
    rows = []
    for count in FEW if settings.draws else ():
        measured = []
        for draw in range(settings.draws):
            drawn = [_drawn(a, count, settings.seed, draw + 1) for a in activities]
            measured.append(_measure(activities, drawn, methods, settings.steps))
            seen()
        rows.append(_variant(f"{count} performances", count, measured))
    return [*rows, _variant("all", None, [main])] if rows and settings.performances is None else rows


def _reliability(
    activities: Sequence[Recorded], main: _Measured, settings: BenchmarkSettings
) -> tuple[Reliability | None, ReliabilityOfEdges | None]:
    """Hold every stated probability against the edges of the released graph, as F1 does; implied pairs are no edges."""
    stated: list[float] = []
    true: list[bool] = []
    for activity, inferred in zip(activities, main.inferred, strict=True):
        released = set(activity.graph.transitive_reduction().edges)
        for belief in (*inferred.edges, *inferred.open):
            if belief.probability is not None:
                stated.append(belief.probability)
                true.append((belief.before, belief.after) in released)
    if not stated:
        return None, None
    bins = reliability_bins(true, stated)
    figure = bins.as_figure("Probability of an edge, and how often the released graph has it")
    chance = calibrated_ece(stated, seed=settings.seed)
    found = ReliabilityOfEdges(
        len(stated),
        expected_calibration_error(true, stated).value,
        (chance.value, chance.low or 0.0, chance.high or 0.0),
        brier_score(true, stated).value,
        list(
            zip(
                figure.edges[:-1], figure.edges[1:], figure.counts, figure.confidence, figure.accuracy,
                strict=True,
            )
        ),
    )  # fmt: skip
    return figure, found


def _intervals(main: _Measured, settings: BenchmarkSettings) -> dict[str, tuple[float, float]]:
    """Return 95 % intervals over activities; none where there are too few of them."""
    if not settings.resamples:
        return {}
    names = ("precision", "recall", "f1")
    values = [[getattr(row, name) for row in main.rows] for name in names]
    ids = [row.id for row in main.rows]
    found = bootstrap_mean_intervals(values, ids, resamples=settings.resamples, seed=settings.seed)
    return {
        n: (i.low, i.high)
        for n, i in zip(names, found, strict=True)
        if i.low is not None and i.high is not None
    }
