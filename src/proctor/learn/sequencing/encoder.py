"""What every encoder of steps takes and gives: texts and pictures of groups of steps in, contextual states out.

A *group* is K steps that are encoded together: an ordered pair for the decoders, a subsequence in authored order for
pretraining. Decoders and objectives see these tensors only, so encoders can be exchanged. Source: Wu et al. 2022, Section 4.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, cast

import torch
from torch import Tensor, nn

from proctor.records import Json

__all__ = ["Encoded", "StepEncoder", "Steps", "Tokenizer"]


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
    """Steps, one a row.

    Attributes:
        tokens: shape [M, T], each row with its own special tokens, then padding; None where only pictures are shown.
        images: pixels (bytes, or colours from 0 to 1), shape [M, 3, height, width], or features of a grid, shape [M, w, v]; None where only texts are shown.
        seen: which steps have a picture, shape [M]; what the others have in ``images`` is not looked at.
        masked: patches whose content is hidden, shape [M, w]; None for none.
    """

    tokens: Tensor | None = None
    images: Tensor | None = None
    seen: Tensor | None = None
    masked: Tensor | None = None

    def __len__(self) -> int:
        first = self.images if self.tokens is None else self.tokens
        return 0 if first is None else len(first)

    def to(self, device: torch.device) -> Steps:
        """Return the same steps on a device."""
        return self._each(lambda part: part.to(device))

    def take(self, rows: Tensor) -> Steps:
        """Return some of the rows, in any order, also repeated."""
        return self._each(lambda part: part[rows])

    def _each(self, change: Callable[[Tensor], Tensor]) -> Steps:
        parts = (self.tokens, self.images, self.seen, self.masked)
        return Steps(*(None if part is None else change(part) for part in parts))

    def having(self, **parts: Tensor | None) -> Steps:
        """Return the same steps with other parts."""
        return replace(self, **parts)


@dataclass(frozen=True)
class Encoded:
    """Groups as they are encoded.

    Attributes:
        hidden: contextual states, shape [G, L, d].
        pooled: of the whole group, shape [G, d].
        span: states that make the vector of each step, shape [G, K, L] of truth values.
        token_at: place among the L of each token, shape [G, K, T]; -1 where there is none. None without texts.
        patch_at: likewise of each patch, shape [G, K, w]. None without pictures.
        patch_in: patches as they are fed in, before anything is masked, without places, shape [M, w, d]. None without pictures.
    """

    hidden: Tensor
    pooled: Tensor
    span: Tensor
    token_at: Tensor | None = None
    patch_at: Tensor | None = None
    patch_in: Tensor | None = None


class StepEncoder(nn.Module, ABC):
    """Encodes groups of K steps, at most ``slots``, in d numbers, its ``width``."""

    width: int
    tokenizer: Tokenizer | None = None
    """None where only pictures are seen."""
    grid: tuple[int, int] | None = None
    """w and v of the pictures; None where only texts are seen."""
    slots: int = 5
    pixels: tuple[int, int] | None = None
    """Height and width that pictures are given in; None where there are none, or features are given."""
    features: Callable[[str], Tensor] | None = None
    """Reads features of a picture by its path, shape [w, v]; None where pixels are given."""

    def describe(self) -> dict[str, Json]:
        """Return what ``encoders.rebuild`` makes the same encoder of, without weights."""
        raise NotImplementedError

    def see(self, images: Tensor) -> Tensor:
        """Return the features of pictures, shape [M, w, v]; features themselves are given back. Each picture is seen once."""
        return images

    @abstractmethod
    def forward(self, steps: Steps, groups: Tensor) -> Encoded:
        """Encode groups: rows of the M steps, shape [G, K]."""

    def __call__(self, steps: Steps, groups: Tensor) -> Encoded:
        """Encode groups; see ``forward``."""
        return cast(Encoded, super().__call__(steps, groups))
