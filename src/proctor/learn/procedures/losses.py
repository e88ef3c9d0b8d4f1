"""What an embedding of frames is trained by, without labels: cycles between videos, and time within a video.

TCC: cycle-back regression (Dwibedi et al. 2019, "Temporal Cycle-Consistency Learning", Section 3.2). A frame of one video
finds its like in another, which finds its like in the first: that should be the same moment. C-IDM: frames that are close
in time are drawn together, those far apart are pushed apart (Bansal et al. 2022, "My View is the Best View", Section 4.2).

``published=True`` computes what the released code does: it adds the wrong squared norm in pairwise distances, and takes
distances of C-IDM outside of the graph of gradients, so that C-IDM teaches nothing (docs/procedure-learning.md lists all).
This module imports torch: import it late.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

__all__ = ["MARGIN", "NOT_ZERO", "SIGMA", "TEMPERATURE", "c_idm", "cycle_back", "one_way"]

TEMPERATURE: Final = 0.1
SIGMA: Final = 300.0
"""Frames from which on two frames of a video are far apart: ten seconds at thirty a second."""

MARGIN: Final = 2.0
"""Distance at which frames far apart are pushed no further."""

_VARIANCE_WEIGHT: Final = 0.001
NOT_ZERO: Final = 1e-8
_LEAST_SQUARE: Final = 1e-12
"""Under the root of a distance, whose gradient at 0 is infinite."""


def cycle_back(
    embedded: Tensor, seconds: Tensor, *, temperature: float = TEMPERATURE, published: bool = False
) -> Tensor:
    """Return the mean over frames and ordered pairs of different videos of the cycle-back regression loss, a scalar.

    Args:
        embedded: of frames, by video, shape (videos, frames, width); at least two videos.
        seconds: when each frame is, as a share of its video, shape (videos, frames).
        temperature: of both softmaxes; the width is a factor of it.
        published: with the distances of the released code.

    Raises:
        ValueError: with fewer than two videos.
    """
    videos = len(embedded)
    if videos < 2:
        raise ValueError("a cycle needs two videos")
    first, second = (
        torch.tensor(part, device=embedded.device)
        for part in zip(*((u, v) for u in range(videos) for v in range(videos) if u != v), strict=True)
    )
    return one_way(
        embedded[first], embedded[second], seconds[first], temperature=temperature, published=published
    )


def one_way(
    u: Tensor,
    v: Tensor,
    seconds: Tensor,
    *,
    temperature: float = TEMPERATURE,
    not_zero: float = NOT_ZERO,
    published: bool = False,
) -> Tensor:
    """Return the loss of cycles from frames of ``u`` to ``v`` and back, mean over frames and pairs, a scalar.

    Args:
        u: embedded frames of the video of each pair that a cycle begins in, shape (pairs, frames, width).
        v: of the other, likewise.
        seconds: of the frames of ``u``, as a share of the video, shape (pairs, frames).
        temperature: see ``cycle_back``; likewise ``published``.
        not_zero: is added to a variance before its logarithm is taken; the released code adds nothing.
        published: see ``cycle_back``.
    """
    scale = u.shape[-1] * temperature
    likeness = _squared(u, v, published=published).div(-scale).softmax(-1)
    back = _squared(likeness @ v, u, published=published).div(-scale).softmax(-1)
    mean = (back * seconds[:, None]).sum(-1)
    variance = (back * (seconds[:, None] - mean[..., None]) ** 2).sum(-1)
    logarithm = (variance + not_zero).log()
    return ((seconds - mean) ** 2 * (-logarithm).exp() + _VARIANCE_WEIGHT * logarithm).mean()


def c_idm(
    embedded: Tensor,
    frames: Tensor,
    seconds: Tensor,
    *,
    sigma: float = SIGMA,
    margin: float = MARGIN,
    published: bool = False,
) -> Tensor:
    """Return the contrastive inverse difference moment: sum over pairs of frames of a video, mean over videos, a scalar.

    Args:
        embedded: shape (videos, frames, width); any number of videos.
        frames: number of each frame in its video, or when it is in seconds, shape (videos, frames).
        seconds: as a share of the video, shape (videos, frames).
        sigma: in the unit of ``frames``; pairs that are farther apart are pushed apart.
        margin: see ``MARGIN``.
        published: without a gradient, as in the released code.
    """
    given = embedded.detach() if published else embedded
    squared = (given[:, :, None] - given[:, None]).square().sum(-1)
    distance = squared.clamp_min(_LEAST_SQUARE).sqrt() * (squared > 0)
    apart = (seconds[:, :, None] - seconds[:, None]).square() + 1
    far = (frames[:, :, None] - frames[:, None]).abs() > sigma
    terms = torch.where(far, apart * (margin - distance).clamp_min(0), distance / apart)
    return terms.sum((1, 2)).mean()


def _squared(one: Tensor, other: Tensor, *, published: bool) -> Tensor:
    """Return squared distances between rows, shape (pairs, frames, frames).

    The released code lacks an axis: the norm of row j of ``one`` stands where that of row i belongs.
    """
    own = one.square().sum(-1)
    norms = own[:, None] if published else own[..., None]
    return (norms + other.square().sum(-1)[:, None] - 2 * one @ other.transpose(1, 2)).clamp_min(0)
