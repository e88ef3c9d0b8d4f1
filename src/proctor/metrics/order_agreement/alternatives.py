"""Agreement on alternative orders over instances, as a score and by pair of annotators."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from proctor.metrics.agreement.resampling import bootstrap_signature
from proctor.metrics.order_agreement.orders import Order, require_same_steps
from proctor.metrics.order_agreement.series import (
    Matching,
    Penalty,
    Pooling,
    alternative_instance_agreement,
    alternative_series_scores,
)
from proctor.metrics.order_agreement.standard import mean_over_instances, naming_the_instance
from proctor.metrics.score import Score

__all__ = [
    "AlternativeInstance",
    "alternative_annotator_agreement",
    "alternative_order_agreement",
    "checked_instances",
    "series_by_name",
]


@dataclass(frozen=True, slots=True)
class AlternativeInstance:
    """One instance of the alternative-orders task.

    Attributes:
        gold: the authored order.
        series: annotator to the orders that this one accepts beside it; an empty list says "no other".
    """

    gold: Order
    series: Mapping[str, Sequence[Order]]


def series_by_name(instance: AlternativeInstance) -> list[Sequence[Order]]:
    """The series in the order of the annotators' names; the place of an order in its list decides ties."""
    return [instance.series[who] for who in sorted(instance.series)]


def checked_instances(instances: Mapping[str, AlternativeInstance]) -> dict[str, AlternativeInstance]:
    """The instances by name, each with the same steps throughout."""
    for name, one in instances.items():
        with naming_the_instance(name):
            require_same_steps(one.gold, *(order for series in one.series.values() for order in series))
    return dict(sorted(instances.items()))


def alternative_order_agreement(
    instances: Mapping[str, AlternativeInstance],
    *,
    matching: Matching = "greedy",
    penalty: Penalty = "union",
    pooling: Pooling = "pooled",
    clusters: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """Agreement on alternative orders over a data set, -1 to 1: the mean over instances of Algorithm 1.

    Args:
        instances: instance id to its authored order and series. Annotators are taken by name; of two pairs of
            orders that score alike the one that was listed first is matched first.
        matching: as in ``alternative_series_scores``.
        penalty: as there.
        pooling: as in ``alternative_instance_agreement``.
        clusters: instance id to what is drawn together; every instance alone when not given.
        confidence: of the percentile bootstrap interval.
        resamples: of the bootstrap; 0 for no interval.
        seed: of the bootstrap.

    Returns:
        The score: ``n`` instances, ``skipped`` those with fewer than two annotators.

    Raises:
        MetricInputError: naming the instance whose orders do not hold the same ids; or if an option is unknown.
    """
    signature = bootstrap_signature(
        "alternative_order_agreement", clusters, confidence, resamples, seed,
        matching=matching, penalty=penalty, pooling=pooling,
    )  # fmt: skip
    values = {
        name: alternative_instance_agreement(
            one.gold, series_by_name(one), matching=matching, penalty=penalty, pooling=pooling
        )
        for name, one in checked_instances(instances).items()
    }
    return mean_over_instances(values, signature, clusters, confidence, resamples, seed)


def alternative_annotator_agreement(
    instances: Mapping[str, AlternativeInstance],
    *,
    matching: Matching = "greedy",
    penalty: Penalty = "union",
) -> dict[str, tuple[float, int]]:
    """Each annotator's mean agreement with the others, and in how many pairs: who falls below a threshold is removed.

    Returns:
        Annotator, sorted, to the mean over pairs of the mean score of the pair, and the number of pairs.

    Raises:
        MetricInputError: as ``alternative_order_agreement``.
    """
    scores: dict[str, list[float]] = {}
    for one in checked_instances(instances).values():
        for (a, x), (b, y) in combinations(zip(sorted(one.series), series_by_name(one), strict=True), 2):
            found = alternative_series_scores(one.gold, x, y, matching=matching, penalty=penalty)
            for who in (a, b):
                scores.setdefault(who, []).append(math.fsum(found) / len(found))
    return {who: (math.fsum(found) / len(found), len(found)) for who, found in sorted(scores.items())}
