"""What every encoder of steps takes and gives: texts and pictures of groups of steps in, contextual states out.

A *group* is K steps that are encoded together: an ordered pair for the decoders, a subsequence in authored order for
pretraining. Decoders and objectives see these tensors only, so encoders can be exchanged. Source: Wu et al. 2022, Section 4.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Protocol, cast

import msgspec
import torch
from torch import Tensor, nn

from proctor.learn.sequencing import training
from proctor.learn.sequencing.data import Shown

__all__ = ["Description", "Encoded", "StepEncoder", "Steps", "Tokenizer", "Tower"]


class Description(msgspec.Struct, frozen=True, omit_defaults=True):
    """What ``encoders.rebuild`` makes the same encoder of, without weights; for ``tiny`` its pictures and words, too."""

    encoder: str
    shown: Shown
    protocol: training.Protocol = "right"
    identity: str | None = None
    """Of the tokenizer of a folder."""
    side: Annotated[int, msgspec.Meta(ge=4, le=224, multiple_of=4)] = 8
    words: tuple[str, ...] = ()
    buckets: Annotated[int, msgspec.Meta(ge=1)] = 1


class Tokenizer(Protocol):
    """From texts to numbers."""

    size: int
    pad: int
    cls: int
    sep: int
    mask: int
    identity: str
    """Hash of the vocabulary; weights of another one are refused."""

    def encode(self, text: str, most: int) -> list[int]:
        """Return at most ``most`` numbers, special ones at both ends; of an empty text these alone."""

    def is_special(self, tokens: Tensor) -> Tensor:
        """Return which are special (padding among them), of the same shape; these are never masked."""


@dataclass(frozen=True)
class Steps:
    """Steps, one a row: tokens, pictures or both. What ``images`` holds of steps that are not ``seen`` is not looked at.

    Pictures are pixels (bytes, or colours from 0 to 1), shape [M, 3, height, width], or features of a grid, shape [M, w, v].
    """

    tokens: Tensor | None = None  # [M, T], each row with its own special tokens, then padding
    images: Tensor | None = None
    seen: Tensor | None = None  # [M], which steps have a picture; None for all
    masked: Tensor | None = None  # [M, w], patches whose content is hidden; None for none

    def __len__(self) -> int:
        first = self.images if self.tokens is None else self.tokens
        return 0 if first is None else len(first)

    def to(self, device: torch.device) -> Steps:
        """Return the same steps on a device."""
        parts = (self.tokens, self.images, self.seen, self.masked)
        return Steps(*(None if part is None else part.to(device) for part in parts))

    def having(self, **parts: Tensor | None) -> Steps:
        """Return the same steps with other parts."""
        return replace(self, **parts)


@dataclass(frozen=True)
class Encoded:
    """Groups as they are encoded; what belongs to texts or pictures is None without them."""

    hidden: Tensor  # [G, L, d], contextual states
    pooled: Tensor  # [G, d], of the whole group
    span: Tensor  # [G, K, L] of truth values, states that make the vector of each step
    token_at: Tensor | None = None  # [G, K, T], place among the L of each token; -1 where there is none
    patch_at: Tensor | None = None  # [G, K, w], likewise of each patch
    patch_in: Tensor | None = None  # [M, w, d], patches fed in, without places, before anything is masked


class Tower(nn.Module):
    """From pictures of ``pixels``, height and width, to v features of each cell of a grid, shape [M, w, v]."""

    pixels: tuple[int, int] = 0, 0
    cells: tuple[int, int]
    features: int
    read: Callable[[str], Tensor] | None = None
    """Reads features by the path of a picture, shape [w, v]; None where pixels are given."""
    colours: Tensor

    def normal(self, mean: tuple[float, ...], std: tuple[float, ...]) -> None:
        """Keep by which means and deviations of colours from 0 to 1 pictures are normalised."""
        self.register_buffer("colours", torch.tensor([mean, std])[..., None, None], persistent=False)

    def normalised(self, images: Tensor) -> Tensor:
        """Return bytes, or colours from 0 to 1, normalised."""
        scaled = images if images.is_floating_point() else images.float() / 255
        return (scaled - self.colours[0]) / self.colours[1]


class StepEncoder(nn.Module, ABC):
    """Encodes groups of K steps, at most ``slots``, in d numbers, its ``width``."""

    width: int
    tokenizer: Tokenizer | None = None
    """None where only pictures are seen."""
    tower: Tower | None
    """None where only texts are seen."""
    slots: int = 5
    description: Description

    def see(self, images: Tensor) -> Tensor:
        """Return the features of pictures, shape [M, w, v]; features themselves are given back. Each picture is seen once."""
        return images if self.tower is None or images.ndim == 3 else cast(Tensor, self.tower(images))

    @abstractmethod
    def forward(self, steps: Steps, groups: Tensor) -> Encoded:
        """Encode groups: rows of the M steps, shape [G, K]."""

    def __call__(self, steps: Steps, groups: Tensor) -> Encoded:
        """Encode groups; see ``forward``."""
        return cast(Encoded, super().__call__(steps, groups))
