"""Recovery of random task graphs from orders that are drawn from them: what a method can do when its assumptions hold.

A random graph is a few chains with links between them, as recipes are: parts that are prepared side by side and come together.
That keeps it narrow enough to draw its orders exactly, each with equal probability. Ids say nothing of the order, and steps
have no texts.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from statistics import fmean, pstdev
from typing import Final

import msgspec

from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.graph_compare import compare_edges
from proctor.procedure.induce import observe_order
from proctor.stages.graph_methods import Infer

__all__ = ["COUNTS", "SIZES", "Recovered", "random_graph", "recover"]

SIZES: Final = (10, 20, 40, 60)
COUNTS: Final = (2, 5, 10, 20, 50, 100)
_CHAINS: Final = 4
"""At most: 60 steps then have at most 16⁴ downsets."""
_LINKED: Final = 0.3
"""Share of the steps that also wait for a step of another chain."""


class Recovered(msgspec.Struct, frozen=True):
    """Graphs of one size from so many orders: mean F1 over edges in per cent, its standard deviation, mean seconds a graph."""

    steps: int
    performances: int
    graphs: int
    f1: float
    spread: float
    seconds: float


def random_graph(steps: int, rng: random.Random) -> TaskGraph:
    """Draw a graph of two to four chains (one where there is one step) with links from one to another.

    Raises:
        ValueError: if there is no step.
    """
    if steps < 1:
        raise ValueError(f"a graph of {steps} steps has nothing to do")
    names = [f"s{n}" for n in rng.sample(range(steps), steps)]
    chains = rng.randint(2, _CHAINS)
    chain_of = [rng.randrange(chains) for _ in names]
    last: dict[int, int] = {}
    edges = []
    for k, chain in enumerate(chain_of):
        if chain in last:
            edges.append((last[chain], k))
        others = [place for other, place in last.items() if other != chain]
        if others and rng.random() < _LINKED:
            edges.append((rng.choice(others), k))
        last[chain] = k
    listed = tuple(Step(name, name) for name in sorted(names))
    pairs = tuple((names[a], names[b]) for a, b in edges)
    return TaskGraph("random", "random", listed, pairs).transitive_reduction()


def recover(
    infer: Infer,
    *,
    graphs: int,
    seed: int,
    sizes: Sequence[int] = SIZES,
    counts: Sequence[int] = COUNTS,
    seen: Callable[[], None] = lambda: None,
) -> list[Recovered]:
    """Infer random graphs from drawn orders and compare edges; the first orders of a graph are the same for every count.

    Args:
        infer: the method.
        graphs: for each size.
        seed: of graphs and orders.
        sizes: numbers of steps.
        counts: numbers of orders.
        seen: called after each graph.
    """
    rows = []
    for size in sizes:
        found: dict[int, list[tuple[float, float]]] = {count: [] for count in counts}
        for number in range(graphs):
            rng = random.Random(f"{seed}:{size}:{number}")  # noqa: S311 - not a secret
            graph = random_graph(size, rng)
            orders = [observe_order(str(n), graph.sample_order(rng)) for n in range(max(counts))]
            for count in counts:
                begin = time.perf_counter()
                inferred = infer(orders[:count], {}, id="random", name="random").graph
                seconds = time.perf_counter() - begin
                found[count].append((100 * compare_edges(graph, inferred).f1, seconds))
            seen()
        for count, pairs in found.items():
            scores = [f1 for f1, _ in pairs]
            rows.append(
                Recovered(size, count, graphs, fmean(scores), pstdev(scores), fmean(s for _, s in pairs))
            )
    return rows
