"""Alternative orders as sets: Jaccard indices, interchangeable pairs, and votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

from proctor.metrics.agreement.resampling import bootstrap_signature
from proctor.metrics.errors import MetricInputError
from proctor.metrics.krippendorff import krippendorff_alpha
from proctor.metrics.order_agreement.alternatives import (
    AlternativeInstance,
    checked_instances,
    series_by_name,
)
from proctor.metrics.order_agreement.inversions import Pair, inverted_pairs
from proctor.metrics.order_agreement.orders import Order, Step, mean_or_none, places_in, require_same_steps
from proctor.metrics.order_agreement.series import distinct_orders
from proctor.metrics.order_agreement.standard import mean_over_instances
from proctor.metrics.score import Score, Signature

__all__ = [
    "interchangeable_pair_alpha",
    "interchangeable_pairs",
    "majority_vote",
    "order_set_jaccard",
    "pair_set_jaccard",
]


def interchangeable_pairs(gold: Order, series: Sequence[Order]) -> frozenset[Pair]:
    """Return the pairs of steps that some order of the series turns round; all others are fixed.

    Raises:
        MetricInputError: if the orders do not all hold the same ids.
    """
    return frozenset[Pair]().union(*(inverted_pairs(gold, order) for order in series))


def _set_score(
    name: str,
    instances: Mapping[str, AlternativeInstance],
    as_set: Callable[[Order, Sequence[Order]], frozenset[Any]],
    clusters: Mapping[str, str] | None,
    confidence: float,
    resamples: int,
    seed: int,
) -> Score:
    values = {}
    for key, one in checked_instances(instances).items():
        sets = [as_set(one.gold, series) for series in series_by_name(one)]
        values[key] = mean_or_none(
            [(len(a & b) / len(a | b) if a or b else 1.0) for a, b in combinations(sets, 2)]
        )
    signature = bootstrap_signature(name, clusters, confidence, resamples, seed)
    return mean_over_instances(values, signature, clusters, confidence, resamples, seed)


def order_set_jaccard(
    instances: Mapping[str, AlternativeInstance],
    *,
    clusters: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """Jaccard index of two annotators' sets of acceptable orders, the authored one among them, 0 to 1.

    Mean over pairs of annotators, then over instances. Two empty lists give 1 (both accept the authored order only),
    one empty list beside k orders gives 1 / (k + 1).

    Args:
        instances: instance id to its authored order and series.
        clusters: as in ``alternative_order_agreement``, and so the other options.
        confidence: of the interval.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        MetricInputError: as ``alternative_order_agreement``.
    """
    return _set_score(
        "order_set_jaccard", instances,
        lambda gold, series: frozenset({tuple(gold), *map(tuple, series)}),
        clusters, confidence, resamples, seed,
    )  # fmt: skip


def pair_set_jaccard(
    instances: Mapping[str, AlternativeInstance],
    *,
    clusters: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """Jaccard index of two annotators' sets of interchangeable pairs of steps, 0 to 1; both empty give 1.

    For one order each it is the Jaccard index of the paper's difference sets. Orders that are alike but not identical
    count as alike, which Algorithm 1 denies them.

    Args:
        instances: instance id to its authored order and series.
        clusters: as in ``alternative_order_agreement``, and so the other options.
        confidence: of the interval.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        MetricInputError: as ``alternative_order_agreement``.
    """
    return _set_score(
        "pair_set_jaccard", instances, interchangeable_pairs, clusters, confidence, resamples, seed
    )  # fmt: skip


def interchangeable_pair_alpha(
    instances: Mapping[str, AlternativeInstance],
    *,
    clusters: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """Krippendorff's alpha (nominal) on pairs of steps, labelled fixed or interchangeable by every annotator.

    Args:
        instances: instance id to its authored order and series.
        clusters: instance id to what is drawn together; whole instances are drawn when not given.
        confidence: of the interval.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Returns:
        The score; ``n`` counts pairs of steps with two annotators.

    Raises:
        MetricInputError: as ``alternative_order_agreement``, or if an instance has no cluster.
    """
    rows: list[list[str]] = []
    groups: list[str] = []
    for name, one in checked_instances(instances).items():
        if clusters is not None and name not in clusters:
            raise MetricInputError(f"instance {name!r} has no cluster", "give every instance one")
        free = [interchangeable_pairs(one.gold, series) for series in series_by_name(one)]
        for pair in combinations(one.gold, 2):
            rows.append(["interchangeable" if pair in found else "fixed" for found in free])
            groups.append(name if clusters is None else clusters[name])
    score = krippendorff_alpha(rows, clusters=groups, confidence=confidence, resamples=resamples, seed=seed)
    drawn = {"cluster": "instance" if clusters is None else "given"} if resamples else {}
    signature = Signature("interchangeable_pair_alpha", {**score.signature.parameters, **drawn})
    return Score(
        score.value, signature, score.n, score.low, score.high, skipped=score.skipped, note=score.note
    )


def majority_vote(
    gold: Order, series: Sequence[Sequence[Order]], *, quorum: int = 1
) -> tuple[tuple[Step, ...], ...]:
    """Return the reference orders of an instance: the authored one, then those that most annotators listed.

    An order is kept if strictly more than half of the instance's annotators listed it (with two annotators one vote
    is not enough). With fewer than ``quorum`` annotators there is no vote, and the authored order stands alone. Most
    votes first, then by the places of their steps in the authored order.

    Args:
        gold: the authored order, always the first reference.
        series: one list of orders an annotator, empty for "no other"; an order listed twice counts once.
        quorum: annotators that it takes to hold a vote.

    Raises:
        MetricInputError: if the orders do not all hold the same ids or the quorum is below 1.
    """
    if quorum < 1:
        raise MetricInputError(f"the quorum must be 1 or more, got {quorum}")
    require_same_steps(gold, *(order for one in series for order in one))
    votes = Counter(order for one in series for order in distinct_orders(one))
    held = len(series) >= quorum
    kept = [o for o, n in votes.items() if held and 2 * n > len(series) and o != tuple(gold)]
    return (tuple(gold), *sorted(kept, key=lambda o: (-votes[o], places_in(gold, o).tolist())))
