"""Speed of retrieval scores against trec_eval (through pytrec_eval) and a plain version, in the same run.

    python benchmarks/metrics/retrieval.py [--runs 3] [--questions 10000] [--depth 100]

All data are made here with a seed. trec_eval gets dictionaries that are ready; ours starts from lists of ids. All
versions must agree to 1e-9 or the script stops.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable

import numpy as np
import pytrec_eval

from proctor.metrics.retrieval import (
    cell_scores,
    ndcgs_at_k,
    rank_gold,
    ranking_average_precisions,
    ranking_recalls_at_k,
    reciprocal_ranks,
)
from proctor.metrics.score import Signature

CUTS = (5, 10)


def median_seconds(work: Callable[[], object], runs: int) -> float:
    """Median wall time."""
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def ours(gold: list[list[str]], rankings: list[list[str]]) -> list[np.ndarray]:
    ranked = rank_gold(gold, rankings)
    return [
        *(ranking_recalls_at_k(ranked, k) for k in CUTS),
        *(ndcgs_at_k(ranked, k) for k in CUTS),
        reciprocal_ranks(ranked),
        ranking_average_precisions(ranked),
    ]


def plain(gold: list[list[str]], rankings: list[list[str]]) -> list[np.ndarray]:
    rows = []
    for wanted, ranking in zip(gold, rankings, strict=True):
        needed = set(wanted)
        ranking = list(dict.fromkeys(ranking))
        row = [len(needed & set(ranking[:k])) / len(needed) for k in CUTS]
        for k in CUTS:
            reached = sum(1 / math.log2(r + 1) for r, d in enumerate(ranking[:k], 1) if d in needed)
            row.append(reached / sum(1 / math.log2(r + 1) for r in range(1, min(k, len(needed)) + 1)))
        row.append(next((1 / r for r, d in enumerate(ranking, 1) if d in needed), 0.0))
        hits, total = 0, 0.0
        for r, d in enumerate(ranking, 1):
            if d in needed:
                hits += 1
                total += hits / r
        row.append(total / len(needed))
        rows.append(row)
    return list(np.array(rows).T)


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--questions", type=int, default=10_000)
    parser.add_argument("--depth", type=int, default=100)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    sources = [f"source:{i:06d}" for i in range(20_000)]
    gold, rankings = [], []
    for _ in range(options.questions):
        drawn = rng.choice(len(sources), size=options.depth, replace=False)
        rankings.append([sources[i] for i in drawn])
        near = drawn[np.minimum((rng.random(2) ** 3 * options.depth).astype(int), options.depth - 1)]
        gold.append([sources[near[0]], sources[int(rng.integers(len(sources)))]])
    qrels = {str(i): dict.fromkeys(g, 1) for i, g in enumerate(gold)}
    run = {str(i): {d: float(-r) for r, d in enumerate(ranking)} for i, ranking in enumerate(rankings)}
    names = ["recall_5", "recall_10", "ndcg_cut_5", "ndcg_cut_10", "recip_rank", "map"]

    def trec_eval() -> dict[str, dict[str, float]]:
        measures = {"recall.5,10", "ndcg_cut.5,10", "recip_rank", "map"}
        return pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)

    found, expected = ours(gold, rankings), plain(gold, rankings)
    theirs = trec_eval()
    for name, a, b in zip(names, found, expected, strict=True):
        c = [theirs[str(i)][name] for i in range(len(gold))]
        if not (np.allclose(a, b, rtol=0, atol=1e-9) and np.allclose(a, c, rtol=0, atol=1e-9)):
            raise SystemExit(f"the versions differ in {name}")
    seconds = median_seconds(lambda: ours(gold, rankings), options.runs)
    slow = median_seconds(lambda: plain(gold, rankings), options.runs)
    trec = median_seconds(trec_eval, options.runs)
    values = np.stack(found)
    signatures = [Signature(name) for name in names]
    intervals = median_seconds(lambda: cell_scores(values, signatures), 1)
    what = f"{options.questions:,} questions, {options.depth} ranked sources each"
    print(
        f"| recall and nDCG at 5 and 10, MRR, MAP: {what} | {seconds:.2f} s "
        f"(plain version {slow:.2f} s, trec_eval {trec:.2f} s) | no target |"
    )
    print(f"| intervals of these {len(names)} scores, 10,000 resamples | {intervals:.1f} s | no target |")


if __name__ == "__main__":
    main()
