"""Networks that recognise a mistake in the rows of one step. Source: CaptainCook4D (Peddi et al. 2024), Section 4.1, and its released code.

This module imports torch: import it late.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Literal

import torch
from torch import Tensor, nn

from proctor.errors import UserError

__all__ = ["FIXED_WEIGHTS", "Fusion", "Positions", "StepNetwork", "Variant", "sinusoids"]

Variant = Literal["v1", "v2", "v3"]
"""A perceptron for every row; a transformer over the rows of a step; the same over several modalities."""

Positions = Literal["none", "sinusoidal"]
"""The released code gives its transformer no positions, the paper says that it has them."""

Fusion = Literal["fixed", "learned"]

FIXED_WEIGHTS: Final = {1: (1.0,), 2: (0.65, 0.35), 3: (0.4, 0.3, 0.3), 4: (0.25, 0.25, 0.25, 0.25)}
"""Of the modalities in V3, in the order video, audio, text, depth; as in the released code."""

HIDDEN: Final = 512
FEED_FORWARD: Final = 2048
HEADS: Final = 8


class StepNetwork(nn.Module):
    """Logits of a mistake (and of its kinds) for every row of a step.

    V1: each row by itself, width → 512 → ReLU → outputs. V2: one post-norm transformer encoder layer (8 heads, or the
    most below that divide the width; feed-forward 2048, ReLU) over the rows of the step, then the head of V1. V3: the same
    layer over all modalities side by side, whose output is cut into modalities again, and their weighted sum goes to the head.

    Args:
        widths: of the rows of each modality; rows hold them side by side in this order.
        variant: see above.
        outputs: logits of a row.
        positions: what the transformer is told of the order of rows.
        fusion: weights of the modalities in V3, as published or learned (softmax, beginning with the published ones).
        modality_dropout: share of (step, modality) that V3 does not see in training; one modality always stays.
        dropout: of the encoder layer.

    Raises:
        UserError: if V3 is given modalities of different widths, or more than four with fixed weights.
    """

    def __init__(
        self,
        widths: Sequence[int],
        variant: Variant,
        *,
        outputs: int = 1,
        positions: Positions = "none",
        fusion: Fusion = "fixed",
        modality_dropout: float = 0.0,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.widths = tuple(widths)
        self.variant = variant
        self.positions = positions
        self.modality_dropout = modality_dropout
        width = sum(self.widths)
        heads = max(heads for heads in range(1, HEADS + 1) if width % heads == 0)
        self.encoder = (
            None
            if variant == "v1"
            else nn.TransformerEncoderLayer(width, heads, FEED_FORWARD, dropout, batch_first=True)
        )
        self.register_buffer("fixed", None)
        self.learned: nn.Parameter | None = None
        if variant == "v3":
            weights = _first_weights(self.widths, fusion)
            if fusion == "learned":
                self.learned = nn.Parameter(weights.log())
            else:
                self.fixed = weights
            width = self.widths[0]
        self.head = nn.Sequential(nn.Linear(width, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, outputs))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the logits of rows; those of rows that are not real mean nothing.

        Args:
            x: rows, shape (steps, rows, sum of the widths), float.
            mask: True where a row is real, shape (steps, rows); None where all are. Each step has a real row.

        Returns:
            Shape (steps, rows, outputs).
        """
        if self.encoder is None:
            return self.head(x)  # type: ignore[no-any-return]
        kept = self._kept(x) if self.variant == "v3" else None
        if kept is not None:
            x = x * kept.repeat_interleave(torch.tensor(self.widths, device=x.device), 1)[:, None]
        if self.positions == "sinusoidal":
            x = x + sinusoids(x.shape[1], x.shape[2], x.device).to(x.dtype)
        x = self.encoder(x, src_key_padding_mask=None if mask is None else ~mask)
        return self.head(x if self.variant == "v2" else self._fused(x, kept))  # type: ignore[no-any-return]

    def weights(self) -> Tensor:
        """Return what V3 gives each modality; shape (modalities,), sum 1."""
        if self.learned is not None:
            return self.learned.softmax(0)
        assert self.fixed is not None
        return self.fixed

    def _kept(self, x: Tensor) -> Tensor | None:
        """Draw which modalities each step keeps; shape (steps, modalities)."""
        if not self.training or not self.modality_dropout or len(self.widths) == 1:
            return None
        drawn = torch.rand(x.shape[0], len(self.widths), device=x.device)
        kept = drawn >= self.modality_dropout
        kept |= drawn == drawn.max(1, keepdim=True).values
        return kept.to(x.dtype)

    def _fused(self, x: Tensor, kept: Tensor | None) -> Tensor:
        parts = x.view(*x.shape[:2], len(self.widths), -1).transpose(2, 3)  # (steps, rows, width, modalities)
        weights = self.weights().to(x.dtype)
        if kept is None:
            return parts @ weights
        shared = kept * weights
        shared = shared / shared.sum(1, keepdim=True)
        return (parts * shared[:, None, None]).sum(-1)


def sinusoids(rows: int, width: int, device: torch.device | None = None) -> Tensor:
    """Return the sinusoidal positions of Vaswani et al. 2017, Section 3.5; shape (rows, width)."""
    rates = torch.exp(torch.arange(0, width, 2, device=device) * (-math.log(10_000.0) / width))
    angles = torch.arange(rows, device=device)[:, None] * rates
    return torch.stack((angles.sin(), angles.cos()), -1).flatten(1)[:, :width]


def _first_weights(widths: tuple[int, ...], fusion: Fusion) -> Tensor:
    if len(set(widths)) > 1:
        raise UserError(
            f"V3 sums its modalities, so they must be of one width, but they are of {', '.join(map(str, widths))}.",
            hint="take features of one backbone (ImageBind), or model v2, which puts any widths side by side",
        )
    if len(widths) not in FIXED_WEIGHTS and fusion == "fixed":
        raise UserError(f"V3 has no published weights for {len(widths)} modalities.", hint="learn them")
    return torch.tensor(FIXED_WEIGHTS.get(len(widths), (1 / len(widths),) * len(widths)))
