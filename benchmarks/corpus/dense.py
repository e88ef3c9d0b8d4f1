"""Search by vectors: exact and approximate, over 300,000 × 384 whose neighbourhoods are like those of real texts.

Each row is measured in a process of its own; vectors are mapped from a file, and a process' peak counts what it has mapped. The
recall of an approximate search is against the exact one, for queries made like the sources and for real questions.

Run: python benchmarks/corpus/dense.py [--sources 300000] (about four minutes on a quiet machine, and two to make the vectors).
"""

from __future__ import annotations

import argparse

import numpy as np
from material import SOURCES, Material, Watch, head, material, part, peak

K = 10
RECALL = 1_024
"""Queries of which the recall is measured."""
METHODS = {"ivf": (8, 16, 32, 64), "hnsw": (64, 160)}
LIMIT = "≥ 1,000 queries/s at recall ≥ 0.95"


def exact(given: Material) -> None:
    """Print the row of the exact search, and how many of its hits are those of plain float64 products."""
    from proctor.corpus.index.dense import DenseIndex

    index = DenseIndex.build(given.vectors, given.modalities)
    index.search(given.queries[:64], K)
    for told, within in (("", None), (" within the tables", "table")):
        watch = Watch()
        hits = index.search(given.queries, K, within)  # type: ignore[arg-type]
        rate, cpu = len(given.queries) / watch.wall, 1_000 * watch.cpu / len(given.queries)
        memory = peak()
        share = f"recall {checked(given, hits.positions):.4f}, " if within is None else ""
        print(
            f"| exact top {K} of {given.vectors.shape[0]:,} × {given.vectors.shape[1]}, three modalities, "
            f"{len(given.queries):,} queries at a time{told} | {rate:,.0f} queries/s ({cpu:.2f} ms CPU a query), {share}"
            f"peak {memory:,.0f} MB | {'≥ 150 queries/s, recall 1.0' if within is None else ''} |",
            flush=True,
        )


def checked(given: Material, found: np.ndarray, sample: int = 40) -> float:
    """Return the share of the true neighbours that were found: float64 products of everything with a sample of queries."""
    queries = given.queries[:sample].astype(np.float64)
    scores = np.concatenate([
        given.vectors[start : start + 16_384].astype(np.float64) @ queries.T
        for start in range(0, len(given.vectors), 16_384)
    ])  # fmt: skip
    least = np.sort(scores, axis=0)[-K]
    got = np.take_along_axis(scores, found[:sample].T, axis=0)
    return float((got >= least - 1e-9).mean())


def approximate(given: Material, kind: str) -> None:
    """Print the rows of one kind of approximate search: building, and each effort."""
    from proctor.corpus.index.approximate import ApproximateIndex, Method, measure_recall, parse_method
    from proctor.corpus.index.dense import DenseIndex

    usual = parse_method(kind)
    whole = DenseIndex.build(
        given.vectors
    )  # one modality: one structure over everything, as large as there can be
    watch = Watch()
    index = ApproximateIndex.build(whole, usual)
    size = f"{index.structures['text'].nlist:,} cells" if kind == "ivf" else f"{usual.size} links"
    print(
        f"| approximate, {kind} with {size}, built by one thread over one modality | {watch.wall:.1f} s ({watch.cpu:.1f} s CPU), peak {peak():,.0f} MB "
        "| |",
        flush=True,
    )
    for effort in sorted({usual.effort, *METHODS[kind]}):
        index.method = Method(usual.kind, usual.size, effort)
        index.search(given.queries[:64], K)
        watch = Watch()
        index.search(given.queries, K)
        rate, cpu = len(given.queries) / watch.wall, 1_000 * watch.cpu / len(given.queries)
        recall = measure_recall(index, given.queries[:RECALL], K).recall
        asked = (
            f", of real questions {measure_recall(index, given.questions, K).recall:.3f}"
            if len(given.questions)
            else ""
        )
        default = " (the default)" if effort == usual.effort else ""
        print(
            f"| – {kind}, effort {effort}{default} | {rate:,.0f} queries/s ({cpu:.2f} ms CPU a query), recall@{K} {recall:.3f}{asked} "
            f"| {LIMIT if effort == usual.effort else ''} |",
            flush=True,
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--sources", type=int, default=SOURCES)
    parser.add_argument("--part", choices=["exact", *METHODS])
    given = parser.parse_args()
    made = material(given.sources)
    if given.part == "exact":
        exact(made)
    elif given.part:
        approximate(made, given.part)
    else:
        head()
        print(f"| {given.sources:,} × {made.vectors.shape[1]}: {made.kind} | | |", flush=True)
        for name in ("exact", *METHODS):
            part(__file__, name, "--sources", str(given.sources), limit=300)


if __name__ == "__main__":
    main()
