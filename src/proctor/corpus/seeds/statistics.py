"""What the weighting does to a corpus: how far from uniform the probabilities of seeds are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from proctor.corpus.index.hits import Modalities
from proctor.corpus.source import MODALITIES, Modality

__all__ = ["ModalityCoverage", "SeedCoverage", "SeedStatistics", "seed_coverage", "seed_statistics"]


@dataclass(frozen=True, slots=True)
class SeedStatistics:
    """Numbers about weights and probabilities.

    Attributes:
        sources: in the corpus.
        measured: sources whose weights these numbers are from; if fewer than all, they were drawn uniformly, and the ratio
            is one that is at least reached.
        weight_min, weight_mean, weight_max: mean cosine distance to the neighbours.
        ratio: the highest probability over the lowest.
        total_variation: from the uniform distribution, from 0 to 1.
        acceptance: share of uniform proposals that rejection sampling accepts.
        outlier_mass: probability of the tenth of the sources that is farthest from its neighbours; 0.1 if uniform.
        modality_mass: probability of each modality's sources together.
    """

    sources: int
    measured: int
    weight_min: float
    weight_mean: float
    weight_max: float
    ratio: float
    total_variation: float
    acceptance: float
    outlier_mass: float
    modality_mass: Mapping[Modality, float]

    @property
    def exact(self) -> bool:
        """True if all sources were measured."""
        return self.measured == self.sources


def seed_statistics(
    weights: NDArray[np.float64], modalities: Modalities, rate: float, sources: int
) -> SeedStatistics:
    """Return the statistics of some sources' weights.

    Args:
        weights: of the sources that are measured, at least one.
        modalities: of the same sources.
        rate: what weights are multiplied with in the exponent.
        sources: in the whole corpus.
    """
    exponents = -rate * weights
    powers = np.exp(exponents - exponents.max())
    p = powers / powers.sum()
    tenth = max(1, round(len(weights) / 10))
    with np.errstate(over="ignore"):  # a temperature near 0: infinite is what it is
        ratio = float(np.exp(exponents.max() - exponents.min()))
    return SeedStatistics(
        sources=sources,
        measured=len(weights),
        weight_min=float(weights.min()),
        weight_mean=float(weights.mean()),
        weight_max=float(weights.max()),
        ratio=ratio,
        total_variation=float(np.abs(p - 1 / len(p)).sum() / 2),
        acceptance=float(np.exp(exponents).mean()),
        outlier_mass=float(p[np.argsort(-weights, kind="stable")[:tenth]].sum()),
        modality_mass={m: float(p[modalities == code].sum()) for code, m in enumerate(MODALITIES)},
    )


# -- where seeds came from: per modality and per document, beside what was to be expected --------------------------


@dataclass(frozen=True, slots=True)
class ModalityCoverage:
    """Seeds of one modality.

    Attributes:
        sources: of this modality in the corpus.
        share: of the corpus' sources; 0 in an empty corpus.
        seeds: that were drawn.
        seed_share: of all seeds; 0 without any.
    """

    sources: int
    share: float
    seeds: int
    seed_share: float


@dataclass(frozen=True, slots=True)
class SeedCoverage:
    """Where seeds came from.

    Attributes:
        seeds: that were drawn.
        distinct: different sources among them.
        modalities: of each modality.
        documents: in the corpus; a source without a document is one of its own and does not count here.
        documents_used: that gave a seed.
        most: documents that gave most seeds with their numbers, most first, then by name.
        largest_share: of all seeds that one document gave; 0 without any.
    """

    seeds: int
    distinct: int
    modalities: Mapping[Modality, ModalityCoverage]
    documents: int
    documents_used: int
    most: tuple[tuple[str, int], ...]
    largest_share: float


def seed_coverage(
    seeds: Sequence[int], docs: Sequence[str], modalities: Modalities, *, most: int = 10
) -> SeedCoverage:
    """Return where seeds came from.

    Args:
        seeds: positions that were drawn.
        docs: document of each source of the corpus, "" for none.
        modalities: number of each source's modality.
        most: how many of the documents with most seeds are listed.
    """
    counts = Counter(docs[seed] for seed in seeds if docs[seed])
    ranked = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    drawn = np.bincount(modalities[list(seeds)], minlength=len(MODALITIES))
    there = np.bincount(modalities, minlength=len(MODALITIES))
    return SeedCoverage(
        seeds=len(seeds),
        distinct=len(set(seeds)),
        modalities={
            m: ModalityCoverage(
                int(there[code]),
                int(there[code]) / max(1, len(modalities)),
                int(drawn[code]),
                int(drawn[code]) / max(1, len(seeds)),
            )
            for code, m in enumerate(MODALITIES)
        },
        documents=len({doc for doc in docs if doc}),
        documents_used=len(counts),
        most=tuple(ranked[:most]),
        largest_share=ranked[0][1] / len(seeds) if ranked else 0.0,
    )
