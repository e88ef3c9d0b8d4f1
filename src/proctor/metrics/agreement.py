"""Do two annotators say the same? Raw agreement and Cohen's kappa.

Conventions: the two label sequences are parallel; items that either annotator left out are dropped by the caller
or, in ``agreement_by_pair``, by item id. Labels are any strings. Raw agreement ignores that annotators agree by
chance; kappa corrects for it, but falls when one label dominates (Feinstein and Cicchetti 1990): read both.
The published verification has raw agreement 0.869 and kappa 0.64 on the same judgements (promqa.md 6.5).

References: Cohen (1960).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from proctor.metrics.bootstrap import Floats, bootstrap_interval, cluster_sums
from proctor.metrics.interval import wilson_interval
from proctor.metrics.score import Score, Signature

__all__ = ["PairAgreement", "agreement_by_pair", "cohen_kappa", "raw_agreement"]


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Agreement of two annotators on the items that both labelled."""

    a: str
    b: str
    agreed: int
    n: int
    raw: Score
    kappa: Score


def _require_parallel(a: Sequence[str], b: Sequence[str]) -> None:
    if len(a) != len(b):
        raise ValueError(f"labels must be parallel, got {len(a)} and {len(b)}")


def raw_agreement(a: Sequence[str], b: Sequence[str], *, confidence: float = 0.95) -> Score:
    """Share of items with the same label, from 0 to 1, with its Wilson interval.

    Raises:
        ValueError: if the sequences differ in length.
    """
    _require_parallel(a, b)
    signature = Signature("raw_agreement", {"interval": f"wilson-{100 * confidence:g}"})
    agreed = sum(x == y for x, y in zip(a, b, strict=True))
    interval = wilson_interval(agreed, len(a), confidence)
    value = agreed / len(a) if a else math.nan
    return Score(value, signature, len(a), interval.low, interval.high, note=interval.note)


def cohen_kappa(
    a: Sequence[str],
    b: Sequence[str],
    *,
    clusters: Sequence[str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """Agreement beyond chance, ``(p_o - p_e) / (1 - p_e)``, with a percentile bootstrap interval.

    Args:
        a: labels of one annotator.
        b: labels of the other, parallel.
        clusters: what is drawn together; every item alone when not given.
        confidence: of the interval.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Returns:
        The score; undefined with a note when there is nothing or when both used one and the same label only
        (agreement by chance is then certain).

    Raises:
        ValueError: if the sequences differ in length.
    """
    _require_parallel(a, b)
    signature = Signature(
        "cohen_kappa",
        {
            "cluster": "item" if clusters is None else "given",
            "interval": f"percentile-{100 * confidence:g}",
            "resamples": str(resamples),
            "seed": str(seed),
        },
    )
    if not a:
        return Score(math.nan, signature, 0, note="nothing was labelled by both")
    labels = sorted({*a, *b})
    if len(labels) == 1:
        return Score(
            math.nan, signature, len(a), note=f"both used the label {labels[0]!r} only: chance is certain"
        )
    groups = clusters if clusters is not None else [f"{i:09d}" for i in range(len(a))]
    table = cluster_sums(_cells(a, b, labels), groups)

    def kappa(sums: Floats) -> Floats:
        return _kappa_of_tables(sums.reshape(-1, len(labels), len(labels)))

    value = float(kappa(table.sum(axis=0, keepdims=True))[0])
    interval = bootstrap_interval(
        table, kappa, method="percentile", confidence=confidence, resamples=resamples, seed=seed
    )
    return Score(value, signature, len(a), interval.low, interval.high, note=interval.note)


def _cells(a: Sequence[str], b: Sequence[str], labels: Sequence[str]) -> Floats:
    """One row for each cell of the confusion table, one column an item, 1 where the item falls into the cell."""
    place = {label: i for i, label in enumerate(labels)}
    cell = np.array([place[x] * len(labels) + place[y] for x, y in zip(a, b, strict=True)])
    result: Floats = (np.arange(len(labels) ** 2)[:, None] == cell).astype(np.float64)
    return result


def _kappa_of_tables(tables: Floats) -> Floats:
    n = tables.sum(axis=(1, 2))
    observed = np.trace(tables, axis1=1, axis2=2) / n
    chance = (tables.sum(axis=1) * tables.sum(axis=2)).sum(axis=1) / n**2
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = np.where(chance < 1 - 1e-12, (observed - chance) / (1 - chance), np.nan)
    return result


def agreement_by_pair(
    labels: Mapping[str, Mapping[str, str]], *, confidence: float = 0.95, seed: int = 0
) -> tuple[PairAgreement, ...]:
    """Agreement of every two annotators on the items that both labelled; pairs without such items are left out.

    Args:
        labels: annotator to item id to label.
        confidence: of the intervals.
        seed: of the bootstrap of kappa.
    """
    pairs = []
    for one, two in combinations(sorted(labels), 2):
        both = sorted(labels[one].keys() & labels[two].keys())
        if not both:
            continue
        a, b = [labels[one][i] for i in both], [labels[two][i] for i in both]
        agreed = Counter(x == y for x, y in zip(a, b, strict=True))[True]
        raw = raw_agreement(a, b, confidence=confidence)
        kappa = cohen_kappa(a, b, confidence=confidence, seed=seed)
        pairs.append(PairAgreement(one, two, agreed, len(both), raw, kappa))
    return tuple(pairs)
