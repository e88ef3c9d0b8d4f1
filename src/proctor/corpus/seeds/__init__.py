"""Seeds of questions about documents: sources drawn in favour of those that have near neighbours (SMMQG, step 1)."""

from proctor.corpus.seeds.sampler import SeedSampler
from proctor.corpus.seeds.statistics import SeedCoverage, SeedStatistics, seed_coverage
from proctor.corpus.seeds.weights import NeighbourWeights, Scale, seed_probabilities

__all__ = [
    "NeighbourWeights",
    "Scale",
    "SeedCoverage",
    "SeedSampler",
    "SeedStatistics",
    "seed_coverage",
    "seed_probabilities",
]
