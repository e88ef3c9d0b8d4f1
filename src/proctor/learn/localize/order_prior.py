"""How an activity usually goes, learned from recordings alone: what its steps last, where they lie, what follows what.

Nothing here looks at pixels or scores. Every figure of a step is drawn towards that of all steps, the more the fewer
recordings there are, so a step that training never saw has a prior, too. Which steps need which comes from the task graph;
how often people do not keep to it comes from the recordings. See ``docs/localize-order.md``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.learn.localize.data import LocalizeData, TimedRecording
from proctor.metrics.localization.segments import sorted_names

__all__ = ["ActivityPrior", "GapPrior", "OrderPrior", "fit_order_prior"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_PULL: Final = 3.0
"""Recordings that the figure of all steps counts for in the figure of one."""
_GAP_EDGES: Final = (
    -60.0,
    -30.0,
    -15.0,
    -8.0,
    -4.0,
    -2.0,
    -1.0,
    0.0,
    1.0,
    2.0,
    4.0,
    8.0,
    15.0,
    30.0,
    60.0,
    120.0,
    240.0,
    480.0,
)
"""Seconds from the end of what came before to a start: cells of the histogram, the outermost open ends included."""  # fmt: skip
_LEAST_SPREAD: Final = 0.05
"""Of a recording's length: no place is better known than that."""


@dataclass(frozen=True)
class GapPrior:
    """Density of background between executions, per second, by cell of ``_GAP_EDGES``; negative gaps are overlap.

    ``between`` is from the latest end so far to the next start, ``first`` from the beginning of a recording to its first
    start, ``last`` from the latest end to its end; shape (cells,).
    """

    between: Floats
    first: Floats
    last: Floats

    def log_density(self, density: Floats, gap: Floats) -> Floats:
        """Return the logarithm of one of the densities at these gaps in seconds."""
        result: Floats = np.log(density)[np.searchsorted(_GAP_EDGES, gap, side="right")]
        return result


@dataclass(frozen=True)
class ActivityPrior:
    """One activity; ``n`` steps.

    Attributes:
        steps: ids of its steps, sorted: classes of the localizer.
        log_seconds: mean of the logarithm of a step's length, shape (n,); ``log_spread`` its standard deviation.
        place: mean of a step's centre over the length of its recording, shape (n,); ``place_spread`` its deviation.
        absent: probability that a recording lacks the step, shape (n,).
        repeated: probability that a recording has it more than once, shape (n,).
        late: probability that something that needs it was begun before it, given that both occur, shape (n,).
        after: ``[i, j]``: step j needs step i, directly or not, shape (n, n); no row is on a cycle.
        recordings: how many it was learned from.
    """

    steps: tuple[str, ...]
    log_seconds: Floats
    log_spread: Floats
    place: Floats
    place_spread: Floats
    absent: Floats
    repeated: Floats
    late: Floats
    after: Flags
    recordings: int


@dataclass(frozen=True)
class OrderPrior:
    """Priors by activity id, what is common to all, and which recordings they were fitted on."""

    activities: Mapping[str, ActivityPrior]
    gaps: GapPrior
    log_seconds: float
    log_spread: float
    fitted_on: frozenset[str]


def fit_order_prior(data: LocalizeData, train: Collection[str]) -> OrderPrior:
    """Fit the priors on these recordings, and no others.

    Args:
        data: recordings and task graphs; an activity without a graph has no order, but durations and places.
        train: ids of recordings.

    Raises:
        UserError: if none of the recordings has a timed step, or one is unknown.
    """
    if unknown := sorted(set(train) - set(data.recordings)):
        raise UserError(
            f"{len(unknown)} recordings to learn from are not in {data.name}, such as {unknown[0]!r}.",
            hint="name recordings of the annotations",
        )
    chosen = [r for r in data.recordings.values() if r.id in set(train)]
    lengths = np.log([s.end - s.start for r in chosen for s in r.spans])
    if not lengths.size:
        raise UserError(
            "no recording that is learned from has a timed step.",
            hint="choose a split with training recordings that have times",
        )
    steps: dict[str, set[str]] = {activity: set() for activity in data.graphs}
    for activity, key in data.nodes:
        steps.setdefault(activity, set()).add(key)
    for recording in chosen:
        steps.setdefault(recording.activity_id, set()).update(s.step for s in recording.spans)
    overall = _Pooled(chosen, float(lengths.mean()), max(float(lengths.std()), 0.1))
    activities = {
        activity: _fit_activity(data, activity, [str(s) for s in sorted_names(keys)], chosen, overall)
        for activity, keys in sorted(steps.items())
        if keys
    }
    activities = _with_rates(activities, chosen)
    return OrderPrior(
        activities,
        _fit_gaps(chosen),
        overall.log_seconds,
        overall.log_spread,
        frozenset(r.id for r in chosen),
    )


@dataclass(frozen=True)
class _Pooled:
    recordings: Sequence[TimedRecording]
    log_seconds: float
    log_spread: float


def _fit_activity(
    data: LocalizeData, activity: str, steps: list[str], chosen: Sequence[TimedRecording], overall: _Pooled
) -> ActivityPrior:
    own = [r for r in chosen if r.activity_id == activity]
    n = len(steps)
    of = {step: i for i, step in enumerate(steps)}
    lengths: list[list[float]] = [[] for _ in steps]
    places: list[list[float]] = [[] for _ in steps]
    for recording in own:
        for span in recording.spans:
            lengths[of[span.step]].append(float(np.log(span.end - span.start)))
            places[of[span.step]].append((span.start + span.end) / 2 / max(recording.seconds, span.end))
    log_seconds, log_spread = _shrunk(lengths, overall.log_seconds, overall.log_spread)
    place, place_spread = _shrunk(places, 0.5, 0.29)
    after = np.zeros((n, n), np.bool_)
    graph = data.graphs.get(activity)
    if graph is not None:
        nodes = [data.nodes.get((activity, step), "") for step in steps]
        for i, a in enumerate(nodes):
            for j, b in enumerate(nodes):
                if a in graph and b in graph and a != b:
                    after[i, j] = graph.comes_before(a, b)
    empty = np.zeros(n)
    return ActivityPrior(
        tuple(steps), log_seconds, log_spread, place, np.maximum(place_spread, _LEAST_SPREAD),
        empty, empty, empty, after, len(own),
    )  # fmt: skip


def _shrunk(values: list[list[float]], mean: float, spread: float) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of each list, drawn towards those given as if by ``_PULL`` more values."""
    means, spreads = np.full(len(values), mean), np.full(len(values), spread)
    for i, known in enumerate(values):
        if known:
            # The mean of a step is far from that of all, so it is drawn by one value only; its spread by all of them.
            means[i] = (sum(known) + 0.5 * mean) / (len(known) + 0.5)
            square = sum((v - means[i]) ** 2 for v in known)
            typical = 0.5 * spread  # within a step lengths and places differ less than between steps
            spreads[i] = np.sqrt((square + _PULL * typical**2) / (len(known) + _PULL))
    return means, spreads


def _with_rates(
    activities: Mapping[str, ActivityPrior], chosen: Sequence[TimedRecording]
) -> dict[str, ActivityPrior]:
    """Add how often steps are left out, repeated and late, each drawn towards the rate of all steps."""
    counts = {
        activity: _counts(prior, [r for r in chosen if r.activity_id == activity])
        for activity, prior in activities.items()
    }
    total = np.sum([c.sum(axis=2) for c in counts.values()], axis=0)
    common = (total[:, 0] + 1.0) / (total[:, 1] + 10.0)
    rates = {
        activity: (c[:, 0] + _PULL * common[:, None]) / (c[:, 1] + _PULL) for activity, c in counts.items()
    }
    return {
        activity: replace(p, absent=rates[activity][0], repeated=rates[activity][1], late=rates[activity][2])
        for activity, p in activities.items()
    }


def _counts(prior: ActivityPrior, own: Sequence[TimedRecording]) -> Floats:
    """Count what was left out, repeated and late, and out of how many; shape (3 kinds, 2, steps)."""
    counts = np.zeros((3, 2, len(prior.steps)))
    of = {step: i for i, step in enumerate(prior.steps)}
    for recording in own:
        begun, times = np.full(len(of), np.inf), np.zeros(len(of))
        for span in recording.spans:
            begun[of[span.step]] = min(begun[of[span.step]], span.start)
            times[of[span.step]] += 1
        there = times > 0
        needed = (prior.after & there[None, :]).any(axis=1) & there
        late = (prior.after & (begun[None, :] < begun[:, None])).any(axis=1) & there
        counts[:, 0] += np.stack([~there, times > 1, late])
        counts[:, 1] += np.stack([there | True, there, needed])
    return counts


def _fit_gaps(chosen: Sequence[TimedRecording]) -> GapPrior:
    between: list[float] = []
    first: list[float] = []
    last: list[float] = []
    for recording in chosen:
        latest = -1.0
        for span in recording.spans:
            (first if latest < 0 else between).append(span.start - max(latest, 0.0))
            latest = max(latest, span.end)
        if latest >= 0:
            last.append(max(recording.seconds - latest, 0.0))
    return GapPrior(*(_histogram(np.array(values)) for values in (between, first, last)))


def _histogram(gaps: Floats) -> Floats:
    """Return the density per second in each cell, every cell with half a gap more than was counted."""
    edges = np.array([2 * _GAP_EDGES[0], *_GAP_EDGES, 2 * _GAP_EDGES[-1]])
    counted = np.bincount(np.searchsorted(_GAP_EDGES, gaps, side="right"), minlength=len(edges) - 1) + 0.5
    result: Floats = counted / counted.sum() / np.diff(edges)
    return result
