"""Agreement on the right order: mean over the pairs of annotators, then over instances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import combinations

import numpy as np

from proctor.metrics.agreement import require_resampling
from proctor.metrics.agreement.resampling import bootstrap_signature, ratio_score
from proctor.metrics.errors import MetricInputError
from proctor.metrics.order_agreement.orders import Order, mean_or_none, require_same_steps, tau_of_orders
from proctor.metrics.score import Score, Signature

__all__ = ["instance_order_agreement", "mean_over_instances", "naming_the_instance", "order_agreement"]


def instance_order_agreement(orders: Sequence[Order]) -> float | None:
    """Mean over the pairs of annotators of one instance, -1 to 1; None below two annotators or two steps.

    Raises:
        MetricInputError: if not all orders hold the same ids.
    """
    if len(orders):
        require_same_steps(*orders)
    taus = [tau_of_orders(a, b) for a, b in combinations(orders, 2)]
    return mean_or_none([tau for tau in taus if tau is not None])


def order_agreement(
    instances: Mapping[str, Mapping[str, Order]],
    *,
    clusters: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """Standard agreement of orders, -1 to 1: the mean over instances of the mean over pairs of annotators.

    Args:
        instances: instance id to annotator to order.
        clusters: instance id to what is drawn together; every instance alone when not given.
        confidence: of the percentile bootstrap interval over instances or clusters.
        resamples: of the bootstrap; 0 for no interval.
        seed: of the bootstrap.

    Returns:
        The score: ``n`` instances, ``skipped`` those with one annotator or one step.

    Raises:
        MetricInputError: naming the instance, if its orders do not hold the same ids; or an option is out of range.
    """
    signature = bootstrap_signature("order_agreement", clusters, confidence, resamples, seed)
    values: dict[str, float | None] = {}
    for name, by in sorted(instances.items()):
        with naming_the_instance(name):
            values[name] = instance_order_agreement([by[who] for who in sorted(by)])
    return mean_over_instances(values, signature, clusters, confidence, resamples, seed)


@contextmanager
def naming_the_instance(instance: str) -> Iterator[None]:
    """Let errors name the instance."""
    try:
        yield
    except MetricInputError as error:
        raise MetricInputError(f"instance {instance!r}: {error.message}", error.hint) from None


def mean_over_instances(
    values: Mapping[str, float | None],
    signature: Signature,
    clusters: Mapping[str, str] | None,
    confidence: float,
    resamples: int,
    seed: int,
) -> Score:
    """Mean of the defined values, one an instance."""
    require_resampling(confidence, resamples, seed)
    defined = {name: value for name, value in sorted(values.items()) if value is not None}
    skipped = len(values) - len(defined)
    why = "no instance has two annotators and two steps" if values else "there is no instance"
    groups = None
    if clusters is not None:
        if lost := [name for name in defined if name not in clusters]:
            raise MetricInputError(f"instance {lost[0]!r} has no cluster", "give every instance one")
        groups = [clusters[name] for name in defined]
    columns = np.array([list(defined.values()), [1.0] * len(defined)])
    return ratio_score(
        columns, groups, signature, len(defined), why, confidence, resamples, seed, skipped=skipped
    )
