"""Losses of ActionFormer (Zhang, Wu and Li 2022), Section 3.3: focal for the class, DIoU in one dimension for the ends.

This module imports torch: import it late.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

__all__ = ["NORMALISER", "diou", "focal", "normaliser_after"]

NORMALISER: Final = 250.0
"""Points that find an action, before any is seen."""
_MOMENTUM: Final = 0.9
_LEAST: Final = 1e-8


def focal(logits: Tensor, wanted: Tensor, alpha: float = 0.25, gamma: float = 2.0) -> Tensor:
    """Return the focal loss of each logit (Lin et al. 2017), of the same shape; ``wanted`` is 0 or 1."""
    p = logits.sigmoid()
    cross = binary_cross_entropy_with_logits(logits, wanted, reduction="none")
    missed = p + wanted - 2 * p * wanted
    return cross * missed**gamma * (1 - alpha + (2 * alpha - 1) * wanted)


def diou(found: Tensor, wanted: Tensor) -> Tensor:
    """Return the loss of each pair of intervals around one point; shape (points,).

    That is 1 - IoU + (distance of the middles / length of what encloses both)², as Zheng et al. 2020 in one dimension.

    Args:
        found: distances to start and end, at least 0, shape (points, 2).
        wanted: likewise.
    """
    shared = torch.minimum(found, wanted).sum(1)
    union = found.sum(1) + wanted.sum(1) - shared
    around = torch.maximum(found, wanted).sum(1)
    apart = (found[:, 1] - found[:, 0] - wanted[:, 1] + wanted[:, 0]) / 2
    return 1 - shared / union.clamp(min=_LEAST) + (apart / around.clamp(min=_LEAST)) ** 2


def normaliser_after(before: Tensor, points: int) -> Tensor:
    """Return the running number of points that find an action, after a batch with so many."""
    return before * _MOMENTUM + (1 - _MOMENTUM) * max(points, 1)
