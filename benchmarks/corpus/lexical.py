"""Search by words: how long BM25 takes to index 300,000 passages, and to answer real questions.

Run: python benchmarks/corpus/lexical.py [--sources 300000] (about two minutes on a quiet machine, half of it made the passages).
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
from material import SHARED, SOURCES, Watch, head, part, passages, peak, questions

TOP = 10


def build(sources: int) -> None:
    """Print the rows of one index."""
    from proctor.corpus.index.lexical import LexicalIndex

    LexicalIndex.build(["imported, and compiled where there is something to compile"])
    texts = list(passages(sources))
    words = np.mean([len(text.split()) for text in texts[:1_000]])
    modalities = (np.arange(sources) % 3).astype(np.int8)
    before, watch = peak(), Watch()
    index = LexicalIndex.build(texts, modalities)
    kind = "real sentences and made names" if SHARED.exists() else "words drawn by Zipf's law"
    print(
        f"| BM25 index of {sources:,} passages of {words:.0f} words ({kind}), {len(index.vocabulary):,} different words "
        f"| {watch.wall:.1f} s ({watch.cpu:.1f} s CPU), peak {peak():,.0f} MB, of it {before:,.0f} MB before (texts) | ≤ 60 s |",
        flush=True,
    )
    asked = questions()
    index.search(asked[:2], TOP)  # numba compiles
    for told, within in (("", None), (" within the tables", "table")):
        watch, seconds = Watch(), []
        for question in asked:
            start = time.perf_counter()
            index.search([question], TOP, within)  # type: ignore[arg-type]
            seconds.append(time.perf_counter() - start)
        cpu = 1_000 * watch.cpu / len(asked)
        seconds.sort()
        p50, p95 = (1_000 * s for s in (statistics.median(seconds), seconds[int(0.95 * len(seconds))]))
        print(
            f"| – a query of {np.mean([len(q.split()) for q in asked]):.0f} words, {len(asked)} questions one by one, "
            f"top {TOP}{told} | {1_000 * watch.wall / len(asked):.1f} ms ({cpu:.1f} ms CPU); p50 {p50:.1f}, p95 {p95:.1f} ms "
            f"| {'' if told else '≤ 15 ms'} |",
            flush=True,
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--sources", type=int, default=SOURCES)
    parser.add_argument("--part")
    given = parser.parse_args()
    if given.part:
        build(given.sources)
        return
    head()
    part(__file__, "build", "--sources", str(given.sources), limit=400)


if __name__ == "__main__":
    main()
