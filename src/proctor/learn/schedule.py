"""The learning rate of each step. This module imports nothing but mathematics."""

from __future__ import annotations

import math

__all__ = ["warm_cosine"]


def warm_cosine(step: int, warmup: int, steps: int, base: float, lowest: float) -> float:
    """Return the rate of a step: a straight line from 0 to ``base``, then half a cosine down to ``lowest``.

    Source: ActionFormer (Zhang, Wu and Li 2022), as released: the line is at ``base`` one step before the cosine begins.

    Args:
        step: from 0; one after the last has the lowest rate.
        warmup: steps of the line.
        steps: in all.
        base: highest rate.
        lowest: last rate.
    """
    if step < warmup:
        return base * step / max(1, warmup - 1)
    done = min(1.0, (step - warmup) / max(1, steps - warmup))
    return lowest + (base - lowest) * (1 + math.cos(math.pi * done)) / 2
