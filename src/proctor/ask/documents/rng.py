"""Chance for one attempt at one target: it depends on the run's seed, the target and the attempt, and on nothing else.

So neither the order of targets nor how many are worked on at a time changes a result (ours).
"""

from __future__ import annotations

import hashlib
import random

from proctor.records import canonical_json

__all__ = ["attempt_random", "attempt_seed"]


def attempt_seed(run_seed: int, target: str, attempt: int, purpose: str = "") -> int:
    """Return a seed of 128 bits.

    Args:
        run_seed: of the whole run.
        target: id of the target.
        attempt: number, counted from 0.
        purpose: what it is for (``seed``, ``order``, ``split``): draws for one purpose leave those for others as they are.
    """
    content = canonical_json(["attempt", run_seed, target, attempt, purpose])
    return int.from_bytes(hashlib.sha256(content).digest()[:16])


def attempt_random(run_seed: int, target: str, attempt: int, purpose: str = "") -> random.Random:
    """Return a generator that starts at ``attempt_seed``."""
    return random.Random(attempt_seed(run_seed, target, attempt, purpose))  # noqa: S311 - no secret
