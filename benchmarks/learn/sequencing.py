"""BERSON batched against a loop over pairs, the search for orders, and exact orders from pairwise probabilities.

A training step is forward and backward of the head, given what an encoder made of 12 sequences of five steps (240 pairs); the
loop is the plain version of the tests, which is equal in values and gradients: sequences, pairs and times one after another, all
that belongs to one of these in matrices. Both run in turn in this process, on as many threads as there are cores. On a machine
that others load, ``--threads 1`` says more: threads that wait for each other make the loop look worse than it is.

Run: python benchmarks/learn/sequencing.py [--runs 3] [--threads 2] (about a minute).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import torch

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY))

from tests.learn.sequencing import plain_berson as plain  # noqa: E402

from proctor.learn.sequencing.berson import BersonHead  # noqa: E402
from proctor.learn.sequencing.encoder import Encoded, Steps  # noqa: E402
from proctor.learn.sequencing.encoders import open_encoder  # noqa: E402
from proctor.learn.sequencing.pairs import Pairs  # noqa: E402
from proctor.learn.sequencing.search import decode  # noqa: E402
from proctor.metrics.ordering import decode_pairwise, decode_pairwise_many  # noqa: E402

BATCH, STEPS = 12, 5
SIZES = ((64, 32), (256, 32), (256, 120))
"""Width and states of a pair: short texts with a few patches, and the longest texts of the paper."""
INSTANCES, SLOTS = 10_000, 8


def seconds(runs: int, *works: Callable[[], object]) -> list[float]:
    """Return the median wall time of each work; they run in turn, once before anything is timed."""
    times: list[list[float]] = [[] for _ in works]
    for run in range(runs + 1):
        for work, kept in zip(works, times, strict=True):
            begin = time.perf_counter()
            work()
            if run:
                kept.append(time.perf_counter() - begin)
    return [median(kept) for kept in times]


def made(lengths: list[int], width: int, states: int) -> tuple[BersonHead, Pairs, Encoded]:
    """Return a head, and random states of the pairs."""
    torch.manual_seed(0)
    pairs = Pairs.of(lengths)
    rows = len(pairs.table)
    span = torch.zeros(rows, 2, states, dtype=torch.bool)
    span[:, 0, 1 : states // 2] = True
    span[:, 1, states // 2 :] = True
    hidden = torch.randn(rows, states, width, requires_grad=True)
    pooled = torch.randn(rows, width, requires_grad=True)
    return BersonHead(width, dropout=0.0), pairs, Encoded(hidden, pooled, span)


def training(runs: int) -> None:
    """Print the rows of training steps."""
    lengths = [STEPS] * BATCH
    rng = np.random.default_rng(0)
    orders = [tuple(int(slot) for slot in rng.permutation(n)) for n in lengths]
    for width, states in SIZES:
        head, pairs, encoded = made(lengths, width, states)
        compare(runs, f"BERSON head, training step, d = {width}, {states} states a pair", head, pairs, orders,
                lambda e=encoded: e, lambda e=encoded: e)  # fmt: skip
    words = [f"w{n}" for n in range(64)]
    encoder = open_encoder("tiny", "both", words)
    assert encoder.tokenizer is not None
    texts = [encoder.tokenizer.encode(" ".join(rng.choice(words, 6)), 60) for _ in range(BATCH * STEPS)]
    steps = Steps(torch.tensor(texts), torch.randn(len(texts), 3, 8, 8), torch.ones(len(texts), dtype=bool))
    head, pairs, _ = made(lengths, encoder.width, 2)
    encoder.eval()

    def one_by_one() -> Encoded:
        each = [encoder(steps, group[None]) for group in pairs.groups]
        parts = ([getattr(e, name) for e in each] for name in ("hidden", "pooled", "span"))
        return Encoded(*(torch.cat(part) for part in parts))

    compare(runs, "BERSON with the tiny encoder of texts and pictures, training step", head, pairs, orders,
            lambda: encoder(steps, pairs.groups), one_by_one)  # fmt: skip


def compare(
    runs: int, what: str, head: BersonHead, pairs: Pairs, orders: list[tuple[int, ...]],
    encode: Callable[[], Encoded], encode_looped: Callable[[], Encoded],
) -> None:  # fmt: skip
    """Print the row of a training step, batched and looped."""
    targets = pairs.targets(orders)

    def batched() -> torch.Tensor:
        loss = head(encode(), pairs, targets).total
        loss.backward()
        return loss

    def looped() -> torch.Tensor:
        pointer, pair = plain.losses(head, encode_looped(), [STEPS] * BATCH, orders)
        loss = pointer + head.weight * pair
        loss.backward()
        return loss

    torch.testing.assert_close(batched(), looped(), atol=1e-5, rtol=1e-5)
    fast, slow = seconds(runs, batched, looped)
    row(f"{what}, {BATCH} × {STEPS} steps",
        f"{1000 * fast:.1f} ms; loop over pairs {1000 * slow:.0f} ms: {slow / fast:.1f} times", "≥ 5 times")  # fmt: skip


def searches(runs: int) -> None:
    """Print the rows of searches."""
    for steps in (STEPS, SLOTS):
        head, pairs, encoded = made([steps] * BATCH, 64, 32)
        head.eval()
        beam, exact = seconds(
            runs,
            lambda h=head, e=encoded, p=pairs: decode(h, e, p),
            lambda h=head, e=encoded, p=pairs: decode(h, e, p, search="exact"),
        )
        row(
            f"BERSON head, orders of {BATCH} × {steps} steps, d = 64",
            f"beam of 16 {1000 * beam:.0f} ms; exact {1000 * exact:.0f} ms",
            "",
        )


def pairwise(runs: int) -> None:
    """Print the row of exact decoding of pairwise probabilities."""
    matrices = np.random.default_rng(0).uniform(0.02, 0.98, (INSTANCES, SLOTS, SLOTS))
    few = matrices[: INSTANCES // 50]
    many, single = seconds(
        runs, lambda: decode_pairwise_many(matrices), lambda: [decode_pairwise(m) for m in few]
    )
    row(
        f"exact orders from pairwise probabilities, {INSTANCES:,} × {SLOTS} steps",
        f"{many:.2f} s; one by one {50 * single:.1f} s (from {len(few)}): {50 * single / many:.0f} times",
        "≤ 5 s",
    )


def row(what: str, measured: str, target: str) -> None:
    """Print a row of the table."""
    print(f"| {what} | {measured} | {target} |", flush=True)


def main() -> None:
    """Run all of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    for part in (pairwise, searches, training):
        part(given.runs)


if __name__ == "__main__":
    main()
