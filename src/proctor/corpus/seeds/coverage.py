"""Where seeds came from: per modality and per document, beside what was to be expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from proctor.corpus.index.modality import Modalities
from proctor.corpus.source import MODALITIES, Modality

__all__ = ["ModalityCoverage", "SeedCoverage", "seed_coverage"]


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
