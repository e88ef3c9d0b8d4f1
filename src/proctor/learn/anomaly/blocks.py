"""Blocks that predict a place of a feature map from what lies around it; the error of that is the anomaly.

SSPCAB (Ristea et al. 2022, "Self-Supervised Predictive Convolutional Attentive Block for Anomaly Detection",
Section 3) and SSMCTB (Madan et al. 2023, "Self-Supervised Masked Convolutional Transformer Block for Anomaly
Detection", Section 3) share a masked convolution: four views of the padded map, each shifted into one corner, so that no view
holds the centre. They differ in the attention over channels behind it. Alone, without a host network, the block's own
loss, the mean squared error between what goes in and what comes out, is all that is learned from.

Rows without height and width (one vector a second) have no corners. There, time takes their place: the map is
(channels, seconds), and the two views are what was before and what comes after. This form is ours, not published.

What comes out is never negative (a ReLU is inside), so what goes in should not be either: maps taken behind a ReLU
are fine, rows are shifted first (``frames.Normalisation``).
"""

from __future__ import annotations

from typing import Final, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from proctor.errors import UserError

__all__ = [
    "BLOCKS",
    "BlockName",
    "ChannelTransformer",
    "MaskedConvolution",
    "PredictiveBlock",
    "SqueezeExcite",
]

BlockName = Literal["sspcab", "ssmctb"]
BLOCKS: Final[tuple[BlockName, ...]] = ("sspcab", "ssmctb")

_SHIFTS: Final = {1: ((0,), (1,)), 2: ((0, 0), (1, 0), (0, 1), (1, 1))}
"""By dimensions, which end of each axis a view leaves out: 0 the last places, 1 the first."""


class MaskedConvolution(nn.Module):
    """Sum of convolutions over shifted views, ReLU; no output depends on the input at its own place.

    Args:
        channels: of the map, in and out.
        dimensions: 2 for (height, width), 1 for time.
        kernel: places that each of the convolutions covers along an axis.
        dilation: places between the hidden centre and the convolutions, less one.
    """

    def __init__(
        self, channels: int, dimensions: Literal[1, 2] = 2, kernel: int = 1, dilation: int = 1
    ) -> None:
        super().__init__()
        self.pad = kernel + dilation
        self.removed = kernel + 2 * dilation + 1
        self.least = 2 * (dilation + 1)
        """Places along an axis from which on every output sees something."""
        convolution: type[nn.Conv1d | nn.Conv2d] = nn.Conv2d if dimensions == 2 else nn.Conv1d
        self.shifts = _SHIFTS[dimensions]
        self.convolutions = nn.ModuleList(convolution(channels, channels, kernel) for _ in self.shifts)

    def forward(self, maps: Tensor) -> Tensor:
        """Return (batch, channels, *places) for maps of the same shape.

        Raises:
            UserError: if the maps are so small that some places have nothing around them.
        """
        places = maps.shape[2:]
        if min(places) < self.least:
            raise UserError(
                f"the features have {' x '.join(map(str, places))} places, and the block needs at least {self.least} "
                f"along each axis to see anything but padding.",
                hint="use features of an earlier layer, or rows in time (--block knn and mahalanobis need no places)",
            )
        padded = functional.pad(maps, [self.pad] * 2 * len(places))
        kept = [
            [slice(self.removed, None) if end else slice(None, -self.removed) for end in shift]
            for shift in self.shifts
        ]
        seen = [
            convolution(padded[(slice(None), slice(None), *parts)])
            for convolution, parts in zip(self.convolutions, kept, strict=True)
        ]
        return torch.relu(torch.stack(seen).sum(0))


class SqueezeExcite(nn.Module):
    """Scale each channel by a gate computed from the means of all channels; the attention of SSPCAB.

    Raises:
        UserError: if there are fewer channels than the ratio.
    """

    def __init__(self, channels: int, ratio: int = 8) -> None:
        super().__init__()
        if channels < ratio:
            raise UserError(f"{channels} channels cannot be squeezed by {ratio}.", hint="use wider features")
        self.squeeze = nn.Linear(channels, channels // ratio)
        self.excite = nn.Linear(channels // ratio, channels)

    def forward(self, maps: Tensor) -> Tensor:
        """Return maps (batch, channels, *places) with each channel scaled."""
        gates = torch.sigmoid(self.excite(torch.relu(self.squeeze(maps.flatten(2).mean(2)))))
        return maps * gates[(..., *(None,) * (maps.dim() - 2))]


class ChannelTransformer(nn.Module):
    """Scale each channel by a gate from self-attention between channels; the attention of SSMCTB.

    Each channel is one token: its mean, made ``width`` wide, and a learned position. One attention, no feed-forward
    network, no dropout.
    """

    def __init__(self, channels: int, width: int = 64, heads: int = 5) -> None:
        super().__init__()
        self.heads = heads
        self.embed = nn.Linear(1, width)
        self.position = nn.Parameter(torch.randn(channels, width))
        self.queries_keys_values = nn.Linear(width, 3 * heads * width, bias=False)
        self.join = nn.Linear(heads * width, width)

    def forward(self, maps: Tensor) -> Tensor:
        """Return maps (batch, channels, *places) with each channel scaled."""
        tokens = self.embed(maps.flatten(2).mean(2)[..., None]) + self.position
        batch, channels, width = tokens.shape
        each = (
            self.queries_keys_values(tokens)
            .view(batch, channels, 3, self.heads, width)
            .permute(2, 0, 3, 1, 4)
        )
        attended = functional.scaled_dot_product_attention(each[0], each[1], each[2])
        joined = self.join(attended.transpose(1, 2).reshape(batch, channels, self.heads * width))
        gates = torch.sigmoid(joined.mean(2))
        return maps * gates[(..., *(None,) * (maps.dim() - 2))]


class PredictiveBlock(nn.Module):
    """Masked convolution and attention over channels: SSPCAB or SSMCTB.

    Args:
        name: which attention.
        channels: of the map.
        dimensions: 2 for (height, width), 1 for time.
        kernel: of the masked convolution, likewise ``dilation``; published: 1 and 1.
    """

    def __init__(
        self,
        name: BlockName,
        channels: int,
        dimensions: Literal[1, 2] = 2,
        kernel: int = 1,
        dilation: int = 1,
    ) -> None:
        super().__init__()
        self.masked = MaskedConvolution(channels, dimensions, kernel, dilation)
        self.attention: nn.Module = (
            SqueezeExcite(channels) if name == "sspcab" else ChannelTransformer(channels)
        )

    def forward(self, maps: Tensor) -> Tensor:
        """Return what is predicted for maps (batch, channels, *places), in the same shape."""
        predicted: Tensor = self.attention(self.masked(maps))
        return predicted

    def errors(self, maps: Tensor) -> Tensor:
        """Return the squared error of each place, mean over channels: (batch, *places)."""
        errors: Tensor = (self(maps) - maps).square().mean(1)
        return errors
