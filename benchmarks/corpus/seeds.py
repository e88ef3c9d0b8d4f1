"""Seeds: 1,024 of them from 300,000 sources, each with its own generator, without computing all weights.

Run: python benchmarks/corpus/seeds.py [--sources 300000] [--seeds 1024] (under four minutes on a quiet machine).
"""

from __future__ import annotations

import argparse

import numpy as np
from material import SOURCES, Watch, head, material, part, peak

SEEDS = 1_024


def draw(sources: int, seeds: int, scale: str) -> None:
    """Print the row of one scale."""
    from proctor.corpus.index.exact import import_faiss
    from proctor.corpus.seeds import SeedSampler

    made = material(sources)
    import_faiss()
    watch = Watch()
    sampler = SeedSampler(made.vectors, modalities=made.modalities, scale=scale)  # type: ignore[arg-type]
    ready = watch.wall
    drawn = [sampler.draw(1, np.random.default_rng([1, n]))[0] for n in range(seeds)]
    print(
        f"| {seeds:,} seeds from {sources:,} sources, '{scale}' | {watch.wall:.1f} s ({watch.cpu:.1f} s CPU; {ready:.1f} s to read "
        f"and check the vectors); {sampler.weights.known:,} of the weights computed, {sampler.proposals:,} proposals, "
        f"{len(set(drawn)):,} different seeds; peak {peak():,.0f} MB | ≤ 180 s, not all weights |",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--sources", type=int, default=SOURCES)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--part", choices=["multiply", "divide"])
    given = parser.parse_args()
    if given.part:
        draw(given.sources, given.seeds, given.part)
        return
    material(given.sources)
    head()
    for scale in ("multiply", "divide"):
        part(__file__, scale, "--sources", str(given.sources), "--seeds", str(given.seeds), limit=300)


if __name__ == "__main__":
    main()
