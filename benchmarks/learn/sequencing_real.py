"""Steps of real manuals put in order by models of text, and task graphs inferred from text alone.

Manuals are the annotated steps of YouCook2, HiREST and Ego4D Goal-Step in the order of their times, divided by task anew for every seed;
graphs are the 24 of CaptainCook4D. These data are no part of Proctor: ``PROCTOR_DATA`` or ``../shared/data``.

Run: python benchmarks/learn/sequencing_real.py manuals 5|all SEED,… [MODEL:ENCODER …], or graphs; without a model it is
pairwise:words (half a minute a seed).
"""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Iterable
from collections.abc import Sequence as List
from pathlib import Path
from statistics import fmean, pstdev
from typing import cast

import numpy as np
from proctor.learn.sequencing.models import ModelName, train_order

from proctor.learn.sequencing.data import Ordered, Parts, Presented, divide_by_task, presented
from proctor.learn.sequencing.figures import evaluate_orders, pair_truths
from proctor.learn.sequencing.partial import Relations, fit_certainty, partly_ordered
from proctor.learn.sequencing.training import Training
from proctor.metrics.bootstrap import bootstrap_mean_intervals
from proctor.metrics.calibration import calibrated_ece, expected_calibration_error, reliability_bins
from proctor.metrics.ordering import (
    PartialOrder,
    measure_partial_order,
    precedence_f1,
)
from proctor.procedure.graph import TaskGraph
from proctor.procedure.graph_compare import compare_edges
from proctor.procedure.manual import Order, Sequence, SequenceStep, fixed_shuffle
from proctor.procedure.order_heuristics import HEURISTICS
from proctor.stages.graph_recorded import read_recorded

DATA = Path(os.environ.get("PROCTOR_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
SOURCES = {"youcook2.jsonl.gz": "task_id", "hirest.jsonl": "task", "goalstep_val.jsonl.gz": "goal"}
COLUMNS = ("kendall_tau", "perfect_match_ratio", "position_accuracy", "longest_common_subsequence")


def manual(id: str, task: str, texts: Iterable[str]) -> Sequence:
    """Return a manual of these steps."""
    steps = tuple(SequenceStep(str(n), text) for n, text in enumerate(texts))
    return Sequence(id=id, goal="", steps=steps, task=task)


def manuals(first: int | None) -> list[Sequence]:
    """Return the manuals of two steps or more, of each the first so many steps."""
    found, repeated, short = [], 0, 0
    for name, task in SOURCES.items():
        path = DATA / "steps" / name
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for record in map(json.loads, data.splitlines()):
            steps = sorted(record["steps"], key=lambda s: (s["start"], s["i"]))
            first_of: dict[str, str] = {}
            for text in (s["text"].strip() for s in steps):
                first_of.setdefault(text.lower(), text)
            kept = list(first_of.values())
            repeated, short = repeated + len(steps) - len(kept), short + (len(kept) < 2)
            if len(kept) > 1:
                found.append(manual(f"{name} {record['video_id']}", f"{name} {record[task]}", kept[:first]))
    print(f"{len(found)} manuals; left out: {repeated} repeated steps, {short} manuals of one step")
    return found


def by_models(first: int | None, seeds: List[int], models: List[str]) -> None:
    """Print for every seed and model the measures on the test part, and the difference to the best floor."""
    everything, means = manuals(first), dict[str, dict[int, list[float]]]()
    for seed in seeds:
        parts = divide_by_task(everything, seed)
        shown = presented(parts.test, "text")
        sizes = [(len(p), len({s.task for s in p})) for p in (parts.train, parts.dev, parts.test)]
        print(f"\nseed {seed}: manuals and tasks of train, dev, test {sizes}", flush=True)
        for name in models:
            model, encoder = name.split(":")
            training = Training(parts=parts, root=Path(), encoder=encoder, seed=seed)
            trained = train_order(cast("ModelName", model), training)
            found = trained.model.predict(shown)
            came, said = pair_truths(shown, found, "text")
            error, calibrated = expected_calibration_error(came, said), calibrated_ece(said, resamples=200)
            print(f"ECE {error.value:.4f} of {len(came)} pairs ({calibrated.value:.4f} if calibrated)")
            bins = reliability_bins(came, said)
            print(
                "  said", np.round(bins.confidence, 3), "came", np.round(bins.accuracy, 3), "n", bins.counts
            )
            print(f"  right {((said > 0.5) == came).mean():.3f}; {dict(trained.chosen)}")
            figures = evaluate_orders(shown, found, "text")
            for row, one in {**figures.floors, name: figures.test}.items():
                means.setdefault(row, {})[seed] = [getattr(one, c) for c in COLUMNS]
                ends = [one.intervals.get(c, ()) for c in COLUMNS]
                cells = [
                    f"{getattr(one, c):.3f} {np.round(e, 3)}" for c, e in zip(COLUMNS, ends, strict=True)
                ]
                print(f"| {row} | {' | '.join(cells)} |", flush=True)
            for column, more in figures.compared.items():
                print(
                    f"  {column}: {more.difference:+.3f} {np.round(more.interval or (), 3)} to {more.floor}",
                    flush=True,
                )
    for name, rows in means.items():
        columns = zip(*rows.values(), strict=True)
        print(f"| {name} | {' | '.join(f'{fmean(c):.3f} ± {pstdev(c):.3f}' for c in columns)} |")


class Graphs:
    """Task graphs, asked about with their steps in an order that is drawn: the listing is not seen."""

    def __init__(self, graphs: List[TaskGraph]) -> None:
        self.graphs = graphs
        self.shown = [Presented(manual(g.id, g.id, (s.text for s in g.actions)), fixed_shuffle(g.id, len(g.actions))) for g in self.graphs]  # fmt: skip
        self.ids = [[g.actions[i].id for i in p.slots] for g, p in zip(self.graphs, self.shown, strict=True)]
        self.known: list[Relations] = [
            frozenset((a, b) for a, x in enumerate(i) for b, y in enumerate(i) if g.comes_before(x, y))
            for g, i in zip(self.graphs, self.ids, strict=True)
        ]

    def row(
        self, name: str, orders: List[Order] | None, pairs: List[Iterable[tuple[int, int]]] | None
    ) -> None:
        """Print how close orders, or partial orders where they are given, come; means over graphs with intervals."""
        rows = []
        for k, (graph, ids) in enumerate(zip(self.graphs, self.ids, strict=True)):
            found = list(pairs[k] if pairs else zip(orders[k], orders[k][1:], strict=False))  # type: ignore[index]
            edges = tuple((ids[a], ids[b]) for a, b in found)
            right = PartialOrder(range(len(ids)), self.known[k])
            rows.append([
                100 * compare_edges(graph, TaskGraph("found", "", graph.actions, edges)).f1,
                100 * precedence_f1(right, PartialOrder(range(len(ids)), found)).value,
            ])  # fmt: skip
            if orders:
                m = measure_partial_order(right, orders[k])
                rows[-1] += [m.comparable_tau[0], m.violated_share[0], m.valid[0]]
        spans = bootstrap_mean_intervals(np.array(rows).T, [g.id for g in self.graphs])
        cells = (
            f"{fmean(c):.3g} [{s.low:.3g}, {s.high:.3g}]"
            for c, s in zip(zip(*rows, strict=True), spans, strict=True)
        )
        print(f"| {name} | {' | '.join(cells)} |", flush=True)

    def report(self, name: str, found: List[Ordered]) -> None:
        """Print the order, the usual partial order, and the one whose certainty is learned of all other graphs."""
        orders, each = [o.order for o in found], [np.array(o.precedence) for o in found]
        self.row(f"order, {name}", orders, None)
        self.row(f"partial order, {name}", orders, [partly_ordered(p).relations for p in each])
        tasks = list(zip(each, self.known, strict=True))
        learned = [fit_certainty(tasks[:k] + tasks[k + 1 :]) for k in range(len(tasks))]
        parted = [partly_ordered(p, c) for p, c in zip(each, learned, strict=True)]
        self.row(f"partial order, {name}, certainty of 23 graphs", orders, [p.relations for p in parted])
        off = [~np.eye(len(p), dtype=bool) for p in each]
        said = np.concatenate([c.always(p)[o] for p, c, o in zip(each, learned, off, strict=True)])
        came = np.concatenate([np.isin(np.arange(len(p) ** 2), [i * len(p) + j for i, j in k]).reshape(p.shape)[o] for (p, k), o in zip(tasks, off, strict=True)])  # fmt: skip
        print(f"  ECE of 'always before' {expected_calibration_error(came, said).value:.4f}, {len(said)} ordered pairs; skipped {sum(len(p.skipped) for p in parted)}; {learned[0]}")  # fmt: skip


def by_graphs() -> None:
    """Print how close orders and partial orders from text come to the task graphs."""
    graphs, base = (
        Graphs([a.graph for a in read_recorded(DATA / "captaincook4d")[0]]),
        divide_by_task(manuals(None), 0),
    )
    print("| | edge F1 | precedence F1 | tau comparable | violated share | valid |")
    graphs.row("all interchangeable", None, [()] * len(graphs.ids))
    graphs.row("presented", [tuple(range(len(i))) for i in graphs.ids], None)
    for name, order in HEURISTICS.items():
        texts = [[p.sequence.steps[i].text for i in p.slots] for p in graphs.shown]
        graphs.row(name, [order(t) for t in texts], None)
    parts = Parts((*base.train, *base.test), base.dev, ())
    model = train_order("pairwise", Training(parts=parts, root=Path(), encoder="words")).model
    graphs.report("other data", model.predict(graphs.shown))


if __name__ == "__main__":
    if sys.argv[1] == "graphs":
        by_graphs()
    else:
        size, seeds = (
            None if sys.argv[2] == "all" else int(sys.argv[2]),
            [int(s) for s in sys.argv[3].split(",")],
        )
        by_models(size, seeds, sys.argv[4:] or ["pairwise:words"])
