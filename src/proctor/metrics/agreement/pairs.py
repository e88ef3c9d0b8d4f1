"""Agreement of every pair of annotators, and its mean."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Literal

import numpy as np

from proctor.metrics.agreement.kappa import KappaWeights, cohen_kappa, distances, kappa_columns, kappa_of_sums
from proctor.metrics.agreement.labels import Label, distinct_labels, sorted_labels
from proctor.metrics.agreement.resampling import (
    bootstrap_signature,
    divided,
    grouped_sums,
    require_resampling,
    resampled_interval,
)
from proctor.metrics.agreement.shares import raw_agreement
from proctor.metrics.bootstrap import Floats
from proctor.metrics.errors import MetricInputError
from proctor.metrics.score import Score

__all__ = ["PairAgreement", "agreement_by_pair", "mean_pair_agreement"]

_FEW_ITEMS: Final = 10
"""Below this number of common items the kappa of a pair is noise."""


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Agreement of two annotators on the items that both labelled."""

    a: str
    b: str
    agreed: int
    n: int
    raw: Score
    kappa: Score


def agreement_by_pair(
    labels: Mapping[str, Mapping[str, Label]],
    *,
    weights: KappaWeights = "none",
    values: Sequence[Label] | None = None,
    clusters: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> tuple[PairAgreement, ...]:
    """Agreement of every two annotators on the items that both labelled; pairs without such items are left out.

    Args:
        labels: annotator to item id to label.
        weights: of kappa.
        values: the labels in their order, for the weights.
        clusters: item id to what is drawn together; every item alone when not given.
        confidence: of the intervals.
        resamples: of the bootstrap; 0 for no intervals of kappa.
        seed: of the bootstrap.

    Raises:
        MetricInputError: as ``cohen_kappa``, or if an item has no cluster.
    """
    pairs = []
    for one, two in combinations(sorted(labels), 2):
        both = sorted(labels[one].keys() & labels[two].keys())
        if not both:
            continue
        a, b = [labels[one][i] for i in both], [labels[two][i] for i in both]
        groups = None if clusters is None else [_cluster_of(i, clusters) for i in both]
        raw = raw_agreement(a, b, confidence=confidence)
        kappa = cohen_kappa(
            a, b, weights=weights, values=values, clusters=groups,
            confidence=confidence, resamples=resamples, seed=seed,
        )  # fmt: skip
        pairs.append(
            PairAgreement(one, two, sum(x == y for x, y in zip(a, b, strict=True)), len(both), raw, kappa)
        )
    return tuple(pairs)


def _cluster_of(item: str, clusters: Mapping[str, str]) -> str:
    if item not in clusters:
        raise MetricInputError(f"the item {item!r} has no cluster", "give every item one")
    return clusters[item]


def mean_pair_agreement(
    labels: Mapping[str, Mapping[str, Label]],
    measure: Literal["raw", "kappa"] = "raw",
    *,
    weights: KappaWeights = "none",
    values: Sequence[Label] | None = None,
    clusters: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """Mean over pairs of annotators of their raw agreement or Cohen's kappa, every pair alike whatever its size.

    Pairs without common items, and for kappa pairs that used one label only, are left out and reported in the note. The
    interval draws items (or clusters) and computes all pairs anew. ``n`` counts the pairs of labels.

    Args:
        labels: annotator to item id to label.
        measure: what to average.
        weights: of kappa.
        values: the labels in their order, for the weights.
        clusters: item id to what is drawn together; every item alone when not given.
        confidence: of the interval.
        resamples: of the bootstrap; 0 for no interval.
        seed: of the bootstrap.

    Raises:
        MetricInputError: as ``agreement_by_pair``.
    """
    require_resampling(confidence, resamples, seed)
    if measure not in ("raw", "kappa"):
        raise MetricInputError(f"the measure must be 'raw' or 'kappa', got {measure!r}")
    more = {"pairs": "mean", **({"weights": weights} if measure == "kappa" else {})}
    name = "raw_agreement" if measure == "raw" else "cohen_kappa"
    signature = bootstrap_signature(name, clusters, confidence, resamples, seed, **more)
    pairs = [p for p in combinations(sorted(labels), 2) if labels[p[0]].keys() & labels[p[1]].keys()]
    if not pairs:
        return Score(math.nan, signature, 0, note="no two annotators labelled the same")
    items = sorted({i for a, b in pairs for i in labels[a].keys() & labels[b].keys()})
    seen = distinct_labels(label for a, b in pairs for who in (a, b) for label in labels[who].values())
    known = sorted_labels(seen, values)
    apart = distances(known, "none" if measure == "raw" else weights, values is not None)
    columns = np.concatenate([_pair_columns(labels[a], labels[b], items, known, apart) for a, b in pairs])
    sums = grouped_sums(columns, None if clusters is None else [_cluster_of(i, clusters) for i in items])

    def mean(rows: Floats) -> Floats:
        return _mean_of_defined(_by_pair(rows, len(pairs), apart, measure))

    total = sums.sum(axis=0, keepdims=True)
    each = _by_pair(total, len(pairs), apart, measure)[0]
    n = round(float(total.reshape(len(pairs), -1)[:, 1 : 1 + len(known)].sum()))
    value = float(mean(total)[0])
    if math.isnan(value):
        return Score(value, signature, n, note="every pair used one label only: chance is certain")
    interval = resampled_interval(sums, mean, confidence=confidence, resamples=resamples, seed=seed)
    left = int(np.isnan(each).sum())
    notes = [f"{left} of {len(pairs)} pairs used one label only and were left out"] if left else []
    small = [p for p in pairs if len(labels[p[0]].keys() & labels[p[1]].keys()) < _FEW_ITEMS]
    if small and measure == "kappa":
        notes.append(
            f"{len(small)} of {len(pairs)} pairs share fewer than {_FEW_ITEMS} items: their kappas say little"
        )
    return Score(
        value,
        signature,
        n,
        interval.low,
        interval.high,
        note="; ".join([*notes, *filter(None, [interval.note])]),
    )


def _pair_columns(
    a: Mapping[str, Label],
    b: Mapping[str, Label],
    items: Sequence[str],
    known: Sequence[Label],
    apart: Floats,
) -> Floats:
    """What kappa needs of one pair on all items, 0 where either of the two left the item out."""
    place: dict[Hashable, int] = {label: i for i, label in enumerate(known)}
    both = np.array([i in a and i in b for i in items])
    one = np.array([place[a[i]] if use else 0 for i, use in zip(items, both, strict=True)], dtype=np.int64)
    two = np.array([place[b[i]] if use else 0 for i, use in zip(items, both, strict=True)], dtype=np.int64)
    columns: Floats = kappa_columns(one, two, apart) * both
    return columns


def _by_pair(sums: Floats, pairs: int, apart: Floats, measure: str) -> Floats:
    """One value a pair (column) for each row of sums."""
    blocks = sums.reshape(len(sums), pairs, -1)
    if measure == "kappa":
        flat = blocks.reshape(len(sums) * pairs, -1)
        return kappa_of_sums(flat, apart).reshape(len(sums), pairs)
    result: Floats = 1.0 - divided(blocks[:, :, 0], blocks[:, :, 1 : 1 + len(apart)].sum(axis=2))
    return result


def _mean_of_defined(values: Floats) -> Floats:
    defined = ~np.isnan(values)
    return divided(np.where(defined, values, 0.0).sum(axis=1), defined.sum(axis=1).astype(np.float64))
