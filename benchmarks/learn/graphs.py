"""Inferring task graphs: all recipes of CaptainCook4D, and large random graphs, by each method.

Learning is not counted: graphs are inferred with weights that are learned already. Without the real annotations (``PROCTOR_DATA`` or
``../shared/data``) the first rows are left out.

Run: python benchmarks/learn/graphs.py (half a minute).
"""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from proctor.procedure.graph import TaskGraph
from proctor.procedure.graph_compare import compare_edges
from proctor.procedure.induce import Performance, observe_order
from proctor.stages.graph_methods import METHODS, Infer
from proctor.stages.graph_recorded import performances_of, read_recorded
from proctor.stages.graph_synthetic import random_graph

RUNS = 5
STEPS, ORDERS = 60, 100
TARGETS = {"recipes": "≤ 1 s", "large": "≤ 10 s"}


def annotations() -> Path:
    """Return where the annotations of CaptainCook4D are."""
    given = os.environ.get("PROCTOR_DATA")
    folder = Path(given) if given else Path(__file__).resolve().parents[3] / "shared" / "data"
    return folder / "captaincook4d"


def seconds(infer: Infer, cases: Sequence[tuple[Sequence[Performance], TaskGraph]]) -> tuple[float, float]:
    """Return the median processor seconds of inferring all, and the mean F1 over edges."""
    times, scores = [], []
    for _ in range(RUNS):
        begin = time.process_time()
        found = [
            infer(performances, {s.id: s.text for s in graph.actions}, id=graph.id, name=graph.name).graph
            for performances, graph in cases
        ]
        times.append(time.process_time() - begin)
        scores = [compare_edges(graph, one).f1 for (_, graph), one in zip(cases, found, strict=True)]
    return statistics.median(times), statistics.fmean(scores)


def main() -> None:
    """Print one row a measurement."""
    cases: list[tuple[str, str, list[tuple[Sequence[Performance], TaskGraph]]]] = []
    if annotations().is_dir():
        recipes = [(performances_of(a.normal), a.graph) for a in read_recorded(annotations())[0]]
        cases.append((f"all {len(recipes)} recipes of CaptainCook4D", TARGETS["recipes"], recipes))
    rng = random.Random(0)
    graph = random_graph(STEPS, rng)
    orders = [observe_order(str(n), graph.sample_order(rng)) for n in range(ORDERS)]
    cases.append((f"a random graph of {STEPS} steps, {ORDERS} orders", TARGETS["large"], [(orders, graph)]))
    for what, target, given in cases:
        for name, trained in METHODS.items():
            took, f1 = seconds(trained([]), given)
            print(
                f"| task graphs by {name}: {what} | {took:.3f} s CPU, F1 {100 * f1:.1f} | {target} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
