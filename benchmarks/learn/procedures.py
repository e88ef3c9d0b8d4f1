"""Finding procedures: the chain solver beside the plain one, chance of the real annotations, and planted procedures.

Run: python benchmarks/learn/procedures.py [--part chain] (about three minutes). Rows are those of one machine in one run. The
plain solver takes a dense step of all pairs of labels for every frame.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import msgspec
import numpy as np
import torch
from tests.learn.procedures.planted import plant_procedure

from proctor.learn.procedures.chain import chain_energy, solve_chain
from proctor.learn.procedures.evaluate import PUBLISHED, Figures, Margin
from proctor.learn.settings import TrainOptions
from proctor.stages.learn.procedure import learn_from, learn_procedures
from proctor.stages.learn.procedure_settings import ProcedureSettings

FRAMES, LABELS, RUNS = 60_000, 30, 5
WEIGHT = 5 / LABELS
PARTS = ("chain", "chance", "planted")
NOWHERE = Path("planted")


def row(what: str, measured: str, target: str = "") -> None:
    """Print one row of the table."""
    print(f"| {what} | {measured} | {target} |", flush=True)


def dense(unary: np.ndarray, weight: float) -> np.ndarray:
    """Find the cheapest labels, all pairs of labels at each frame."""
    labels = np.arange(unary.shape[1])
    changes = weight * abs(labels[:, None] - labels)
    reached, ways = unary[0], np.empty(unary.shape, np.int64)
    for frame in range(1, len(unary)):
        costs = reached[:, None] + changes
        ways[frame] = costs.argmin(0)
        reached = costs[ways[frame], labels] + unary[frame]
    found = [int(reached.argmin())]
    for frame in range(len(unary) - 1, 0, -1):
        found.append(int(ways[frame, found[-1]]))
    return np.array(found[::-1])


def memberships(kind: str) -> np.ndarray:
    """Return memberships: of steps of twenty seconds, or of nothing at all."""
    rng = np.random.default_rng(0)
    drawn = rng.gamma(1, 1, (FRAMES, LABELS))
    if kind == "steps":
        drawn[np.arange(FRAMES), np.repeat(rng.integers(0, LABELS, FRAMES // 300), 300)] += 3
    else:
        drawn = 1 + 0.03 * drawn
    shares: np.ndarray = drawn / drawn.sum(1, keepdims=True)
    return shares


def chain() -> None:
    """Print the time of both solvers, which must agree."""
    for kind, target in (("steps", "≤ 0.1 s"), ("nothing", "")):
        unary = 0.2 * (1 - memberships(kind))
        solve_chain(unary, WEIGHT)  # where numba compiles, it does so once
        times: dict[str, list[float]] = {"ours": [], "dense": []}
        for _ in range(RUNS):
            begin = time.perf_counter()
            ours = solve_chain(unary, WEIGHT)
            between = time.perf_counter()
            plain = dense(unary, WEIGHT)
            times["ours"].append(between - begin)
            times["dense"].append(time.perf_counter() - between)
        if abs(chain_energy(unary, ours, WEIGHT) - chain_energy(unary, plain, WEIGHT)) > 1e-6:
            raise SystemExit("the solvers differ")
        fast, slow = (float(np.median(times[name])) for name in ("ours", "dense"))
        row(
            f"chain of {FRAMES:,} frames × {LABELS} labels, memberships of {kind}",
            f"{fast:.3f} s (dense {slow:.2f} s, {slow / fast:.1f} times as long; the same energy)",
            target,
        )


def shown(figures: Figures | None) -> str:
    """Return precision, recall and IoU in per cent."""
    assert figures is not None
    return f"{figures.precision:.1%} {figures.recall:.1%} {figures.iou:.1%}"


def chance() -> None:
    """Print chance of the real annotations, where they are."""
    given = os.environ.get("PROCTOR_DATA", str(Path(__file__).resolve().parents[3] / "shared" / "data"))
    folder = Path(given) / "captaincook4d"
    if not folder.is_dir():
        return
    begin = time.perf_counter()
    found = learn_procedures(ProcedureSettings(annotations=folder, resamples=0)).means
    printed = " ".join(f"{value:.2%}" for value in PUBLISHED["Random"])
    r = found.random
    row(
        "random labels of CaptainCook4D's 164 recordings without mistakes, P R IoU",
        f"{r.precision:.2%} {r.recall:.2%} {r.iou:.2%} (published {printed}); by time {shown(found.by_time)}; {time.perf_counter() - begin:.1f} s",
        "within 0.15 of the published",
    )


def planted() -> None:
    """Print what is found of planted procedures."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        data, store = plant_procedure(Path(folder) / "store", activities=4, steps=8)
        for method, head, clusters in (
            ("none", "procut", "9"), ("tcc", "procut", "9"), ("cidm", "procut", "9"), ("cidm", "procut", "auto"),
            ("cidm", "kmeans", "9"), ("cidm", "subset", "18"), ("cidm", "procut", "30"), ("none", "ordered", "9"),
        ):  # fmt: skip
            given = {"annotations": NOWHERE, "features": NOWHERE, "rate": 1.0}
            settings = msgspec.convert(
                given | {"method": method, "head": head, "clusters": clusters}, ProcedureSettings
            )
            begin = time.process_time()
            number = None if clusters == "auto" else int(clusters)
            found = learn_from(data, store, settings, number, TrainOptions(epochs=8, device="cpu"))
            means, margin = found.means, found.means.margins["iou"]
            chosen = f" ({', '.join(str(a.clusters) for a in found.activities)})" if number is None else ""
            row(
                f"planted, 4 activities of 8 steps and background: {method}, {head}, {clusters} clusters{chosen}",
                f"P R IoU {shown(means.found)}; random rows {shown(means.random_rows)}, by time {shown(means.by_time)}; "
                f"IoU above random rows {interval(margin)}; {time.process_time() - begin:.0f} s CPU",
                "above chance" if head != "subset" else "",
            )


def interval(margin: Margin) -> str:
    """Return a margin and its ends."""
    if margin.low is None or margin.high is None:
        return f"{margin.value:+.1%}"
    return f"{margin.value:+.1%} ({margin.low:+.1%} to {margin.high:+.1%})"


def main() -> None:
    """Print one row a measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append")
    for part in parser.parse_args().part or PARTS:
        {"chain": chain, "chance": chance, "planted": planted}[part]()


if __name__ == "__main__":
    main()
