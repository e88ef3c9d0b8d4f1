"""BERSON batched against a loop over pairs, the search for orders, and exact orders from pairwise probabilities.

A training step is forward and backward. The loop is the plain version of the tests, equal in values; its encoder is given one pair
at a time. On a machine that others load, take ``--threads 1`` or OMP_WAIT_POLICY=PASSIVE: threads that spin distort both.

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

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.learn.sequencing import plain_berson as plain

from proctor.learn.sequencing.berson import BersonHead
from proctor.learn.sequencing.encoder import Encoded, Steps
from proctor.learn.sequencing.encoders import open_encoder
from proctor.learn.sequencing.pairs import Pairs
from proctor.learn.sequencing.search import decode
from proctor.metrics.ordering import decode_pairwise, decode_pairwise_many

BATCH, STEPS = 12, 5
SIZES = ((64, 32), (256, 32), (256, 120))
"""Width and states of a pair: short texts with a few patches, and the longest texts of the paper."""
INSTANCES, SLOTS = 10_000, 8


def seconds(runs: int, *works: Callable[[], object]) -> list[float]:
    """Return the median wall time of each work; they run in turn, once before anything is timed."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(runs + 1):
        for work, kept in zip(works, times, strict=True):
            begin = time.perf_counter()
            work()
            kept.append(time.perf_counter() - begin)
    return [median(kept[1:]) for kept in times]


def states(pairs: Pairs, width: int, each: int) -> Encoded:
    """Return random states of pairs."""
    many = len(pairs.table)
    span = torch.zeros(many, 2, each, dtype=torch.bool)
    span[:, 0, 1 : each // 2] = span[:, 1, each // 2 :] = True
    hidden = torch.randn(many, each, width, requires_grad=True)
    return Encoded(hidden, torch.randn(many, width, requires_grad=True), span)


def training(runs: int, what: str, width: int, encode: Callable[[Pairs], Encoded], looped: Callable[[Pairs], Encoded]) -> None:  # fmt: skip
    """Print the row of a training step."""
    head, pairs = BersonHead(width, dropout=0.0), Pairs.of([STEPS] * BATCH)
    rng = np.random.default_rng(0)
    orders = [tuple(int(slot) for slot in rng.permutation(STEPS)) for _ in range(BATCH)]
    targets = pairs.targets(orders)

    def batched() -> torch.Tensor:
        return head(encode(pairs), pairs, targets).total

    def loop() -> torch.Tensor:
        pointer, pair = plain.losses(head, looped(pairs), [STEPS] * BATCH, orders)
        return pointer + head.weight * pair

    torch.testing.assert_close(batched(), loop(), atol=1e-5, rtol=1e-5)
    fast, slow = seconds(runs, lambda: batched().backward(), lambda: loop().backward())
    row(f"{what}, training step of {BATCH} × {STEPS} steps",
        f"{1000 * fast:.1f} ms; loop over pairs {1000 * slow:.0f} ms: {slow / fast:.1f} times", "≥ 5 times")  # fmt: skip


def tiny(runs: int) -> None:
    """Print the row of the tiny encoder and the head."""
    rng, words = np.random.default_rng(0), [f"w{n}" for n in range(64)]
    encoder = open_encoder("tiny", "both", words).eval()
    assert encoder.tokenizer is not None
    texts = [encoder.tokenizer.encode(" ".join(rng.choice(words, 6)), 60) for _ in range(BATCH * STEPS)]
    steps = Steps(torch.tensor(texts), torch.randn(len(texts), 3, 8, 8))

    def one_by_one(pairs: Pairs) -> Encoded:
        each = [encoder(steps, group[None]) for group in pairs.groups]
        parts = ([getattr(e, name) for e in each] for name in ("hidden", "pooled", "span"))
        return Encoded(*(torch.cat(part) for part in parts))

    together = lambda pairs: encoder(steps, pairs.groups)  # noqa: E731
    training(runs, "BERSON and the tiny encoder", encoder.width, together, one_by_one)


def searches(runs: int, steps: int) -> None:
    """Print the row of both searches."""
    head, pairs = BersonHead(64).eval(), Pairs.of([steps] * BATCH)
    encoded = states(pairs, 64, 32)
    works = (lambda s=s: decode(head, encoded, pairs, search=s) for s in ("beam", "exact"))
    beam, exact = seconds(runs, *works)
    row(f"BERSON head (untrained, d = 64), orders of {BATCH} × {steps} steps", f"beam of 16 {1000 * beam:.0f} ms; exact {1000 * exact:.0f} ms", "")  # fmt: skip


def pairwise(runs: int) -> None:
    """Print the row of exact decoding of pairwise probabilities, on one core."""
    matrices = np.random.default_rng(0).uniform(0.02, 0.98, (INSTANCES, SLOTS, SLOTS))
    few = matrices[: INSTANCES // 50]
    many, single = seconds(runs, lambda: decode_pairwise_many(matrices), lambda: list(map(decode_pairwise, few)))  # fmt: skip
    row(f"exact orders from pairwise probabilities, {INSTANCES:,} × {SLOTS} steps",
        f"{many:.2f} s; one by one {50 * single:.1f} s (from {len(few)}): {50 * single / many:.0f} times", "≤ 5 s")  # fmt: skip


def row(what: str, measured: str, target: str) -> None:
    """Print a row of the table."""
    print(f"| {what} | {measured} | {target} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(0)
    pairwise(given.runs)
    for steps in (STEPS, SLOTS):
        searches(given.runs, steps)
    for width, each in SIZES:
        fixed = states(Pairs.of([STEPS] * BATCH), width, each)
        given_states = [lambda _, f=fixed: f] * 2
        training(given.runs, f"BERSON head, d = {width}, {each} states a pair", width, *given_states)
    tiny(given.runs)
