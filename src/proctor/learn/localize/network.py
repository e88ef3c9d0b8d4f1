"""The network of ActionFormer (Zhang, Wu and Li 2022): a pyramid of local attention, and two heads that all levels share.

Rows lie one after the other, channels last: (items, rows, channels), so that norms and products touch memory once. What is not
a row (padding, gaps between levels) is zero before each operation that looks at neighbours: padding a batch changes nothing.
The released code pads after the norm instead, and a last row so sees the bias of the norm beyond it.

This module imports torch: import it late.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from proctor.learn.localize.losses import NORMALISER
from proctor.learn.localize.targets import Pyramid

__all__ = ["Found", "PyramidNetwork", "local_attention"]

PRIOR: Final = 0.01
"""Chance that a point finds a class, before anything is learned."""
UNSEEN: Final = 1e-6
"""Likewise of a class without a sample."""
POSITIONS: Final = 4_096
"""Rows of the table of positions; longer recordings stretch it."""

_SCALE: Final = 1e-4
"""Of each block, at the beginning."""
_MASKED: Final = -1e4
"""Score of a key that is padding."""
_BLOCK: Final = 32
"""Queries whose keys are laid out together: of 32 queries these are 40 neighbouring rows, a quarter more than without a copy."""


@dataclass(frozen=True)
class Found:
    """What the network says of each place of the pyramid.

    Attributes:
        logits: of each class, shape (items, places, classes).
        offsets: from the point to start and end, in strides of its level, at least 0; shape (items, places, 2).
        real: places that are points of rows and not of padding; shape (items, places).
    """

    logits: Tensor
    offsets: Tensor
    real: Tensor


class PyramidNetwork(nn.Module):
    """Rows of features to a class and two ends at each point; 34.51 million numbers for 1,024 features and 353 classes.

    Args:
        features: of a row.
        classes: of actions.
        hidden: channels inside; even, and divisible by the heads.
        levels: of the pyramid, the first at the rate of the rows, each further one at half the rate of the last.
        heads: of attention.
        stem: blocks before the rate is halved.
        window: rows that a row attends to, odd.
        dropout: of what a block adds.
        depth: chance that a block adds nothing to an item, in training.
        unseen: classes without a sample to train on; they begin at a chance of 1e-6.
        hides: share of the features of each row that training does not show.
    """

    positions: Tensor
    normaliser: Tensor

    def __init__(
        self, features: int, classes: int, hidden: int = 512, levels: int = 8, heads: int = 4, stem: int = 2,
        window: int = 9, dropout: float = 0.1, depth: float = 0.1, unseen: Tensor | None = None,
        hides: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        if hidden % 2 or hidden % heads or window % 2 == 0 or min(levels, heads) < 1:
            raise ValueError(f"no network of {hidden} channels, {heads} heads and a window of {window}")
        self.levels = levels
        self.shown = nn.Dropout(hides)
        self.entry = nn.ModuleList(
            [_Convolution(features, hidden, norm=True), _Convolution(hidden, hidden, norm=True)]
        )
        self.register_buffer("positions", _sinusoids(POSITIONS, hidden), persistent=False)
        self.stem = nn.ModuleList(_Block(hidden, heads, window, dropout, depth, 1) for _ in range(stem))
        self.branch = nn.ModuleList(
            _Block(hidden, heads, window, dropout, depth, 2) for _ in range(levels - 1)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(hidden) for _ in range(levels))
        self.classes, self.ends = _Head(hidden, classes), _Head(hidden, 2)
        self.scales = nn.Parameter(torch.ones(levels))
        self.register_buffer("normaliser", torch.tensor(NORMALISER))
        bias = self.classes.last.bias
        assert bias is not None
        with torch.no_grad():
            bias.fill_(-math.log((1 - PRIOR) / PRIOR))
            if unseen is not None:
                bias[unseen] = -math.log((1 - UNSEEN) / UNSEEN)

    def forward(self, x: Tensor, mask: Tensor) -> Found:
        """Say what is at each point.

        Args:
            x: rows, shape (items, rows, features).
            mask: True where a row is no padding, shape (items, rows).
        """
        gap = None if bool(mask.all()) else ~mask[..., None]
        x = self.shown(_cleared(x, gap))
        for layer in self.entry:
            x = layer(x, gap)
        x = _cleared(x + self._positions(x), gap)
        for block in self.stem:
            x, gap = block(x, gap)
        levels, gaps = [x], [gap]
        for block in self.branch:
            x, gap = block(x, gap)
            levels.append(x)
            gaps.append(gap)
        x, gap = self._joined(levels, gaps)
        level = torch.from_numpy(Pyramid(self.levels, mask.shape[1]).level).to(x.device)
        offsets = functional.relu(self.ends(x, gap).float() * self.scales[level, None])
        return Found(self.classes(x, gap).float(), offsets, ~gap[..., 0])

    def _positions(self, x: Tensor) -> Tensor:
        rows = x.shape[1]
        if rows <= len(self.positions):
            return self.positions[:rows].to(x.dtype)
        table = functional.interpolate(self.positions.T[None], rows, mode="linear", align_corners=False)
        return table[0].T.to(x.dtype)

    def _joined(self, levels: list[Tensor], gaps: list[Tensor | None]) -> tuple[Tensor, Tensor]:
        """Lay the levels one after the other, as in ``Pyramid``, with a row of zeros after each."""
        rows, missing = [], []
        for x, gap, norm in zip(levels, gaps, self.norms, strict=True):
            rows.append(functional.pad(norm(x), (0, 0, 0, 1)))
            none = gap if gap is not None else x.new_zeros(*x.shape[:2], 1, dtype=torch.bool)
            missing.append(functional.pad(none, (0, 0, 0, 1), value=True))
        together = torch.cat(missing, 1)
        return torch.cat(rows, 1).masked_fill(together, 0.0), together


def local_attention(
    query: Tensor, key: Tensor, value: Tensor, gap: Tensor | None, heads: int, window: int = 9
) -> Tensor:
    """Let each row attend to as many rows before as after it.

    Keys of a block of queries are a view of neighbouring rows; lengths need not be divisible by anything. Padding, and what is
    beyond the last row, gets a score of -10,000; what is outside of the window or before the first row, minus infinity.

    Args:
        query: shape (items, rows, channels); likewise ``key`` and ``value``.
        key: what queries are compared with.
        value: what is returned of it.
        gap: True where there is no row, shape (items, rows, 1); None where all are rows.
        heads: that the channels are divided among.
        window: rows that are attended to, odd.

    Returns:
        Shape (items, rows, channels); what padding attends to means nothing.
    """
    items, rows, channels = query.shape
    half, size = window // 2, channels // heads
    block = min(_BLOCK, rows)
    blocks = -(-rows // block)
    more = blocks * block - rows

    def laid_out(x: Tensor) -> Tensor:
        near = functional.pad(x, (0, 0, half, half + more)).unfold(1, block + 2 * half, block)
        return near.reshape(items * blocks, heads, size, -1).transpose(2, 3)

    asking = functional.pad(query, (0, 0, 0, more)).view(items * blocks, block, heads, size).transpose(1, 2)
    none = gap[..., 0] if gap is not None else query.new_zeros(items, rows, dtype=torch.bool)
    beyond = functional.pad(none, (half, half + more), value=True).unfold(1, block + 2 * half, block)
    scores = torch.where(beyond, _MASKED, 0.0).to(query.dtype)[:, :, None] + _window(
        blocks, block, half, query
    )
    scores = scores.flatten(0, 1)[:, None]
    found: Tensor = functional.scaled_dot_product_attention(
        asking, laid_out(key), laid_out(value), attn_mask=scores
    )
    return found.transpose(1, 2).reshape(items, blocks * block, channels)[:, :rows]


def _window(blocks: int, block: int, half: int, like: Tensor) -> Tensor:
    """Return 0 where a query may attend, else minus infinity; shape (blocks, queries, neighbours)."""
    own = torch.arange(block, device=like.device)[:, None]
    near = torch.arange(block + 2 * half, device=like.device)
    inside = (near >= own) & (near <= own + 2 * half)
    started = torch.arange(blocks, device=like.device)[:, None, None] * block + near >= half
    return torch.where(inside & started, 0.0, -math.inf).to(like.dtype)


def _cleared(x: Tensor, gap: Tensor | None) -> Tensor:
    return x if gap is None else x.masked_fill(gap, 0.0)


class _Convolution(nn.Module):
    """Of three neighbouring rows; as one product.

    With ``norm`` there is no bias, and the norm over channels and ReLU follow.
    """

    def __init__(self, inside: int, outside: int, norm: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outside, 3 * inside))
        self.bias = None if norm else nn.Parameter(torch.zeros(outside))
        self.norm = nn.LayerNorm(outside) if norm else None
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))

    def forward(self, x: Tensor, gap: Tensor | None) -> Tensor:
        around = functional.pad(x, (0, 0, 1, 1))
        x = functional.linear(torch.cat([around[:, :-2], x, around[:, 2:]], -1), self.weight, self.bias)
        if self.norm is not None:
            x = functional.relu(self.norm(x))
        return _cleared(x, gap)


class _Head(nn.Module):
    """Two convolutions with norms, and one that answers."""

    def __init__(self, hidden: int, outputs: int) -> None:
        super().__init__()
        self.trunk = nn.ModuleList(_Convolution(hidden, hidden, norm=True) for _ in range(2))
        self.last = _Convolution(hidden, outputs)

    def forward(self, x: Tensor, gap: Tensor) -> Tensor:
        for layer in self.trunk:
            x = layer(x, gap)
        found: Tensor = self.last(x, gap)
        return found


class _Depthwise(nn.Module):
    """Each channel's sum of three neighbouring rows, and a norm over the channels."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(hidden, 3))
        self.norm = nn.LayerNorm(hidden)
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))

    def forward(self, around: tuple[Tensor, Tensor, Tensor], gap: Tensor | None) -> Tensor:
        before, here, after = around
        first, second, third = self.weight.T
        x = torch.addcmul(torch.addcmul(here * second, before, first), after, third)
        return _cleared(self.norm(x), gap)


class _Residual(nn.Module):
    """What a block adds: scaled by channel, and in training for some items not at all."""

    def __init__(self, hidden: int, depth: float) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.full((hidden,), _SCALE))
        self.depth = depth

    def forward(self, x: Tensor, added: Tensor) -> Tensor:
        scale: Tensor = self.scale
        if self.training and self.depth:
            kept = torch.rand(len(x), 1, 1, device=x.device) >= self.depth
            scale = scale * kept / (1 - self.depth)
        return x + added * scale


class _Block(nn.Module):
    """Attention and a network of each row, at the rate of the rows or half of it."""

    def __init__(
        self, hidden: int, heads: int, window: int, dropout: float, depth: float, stride: int
    ) -> None:
        super().__init__()
        self.heads, self.window, self.stride = heads, window, stride
        self.before, self.between = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.near = nn.ModuleList(_Depthwise(hidden) for _ in range(3))
        self.project = nn.ModuleList(nn.Linear(hidden, hidden) for _ in range(3))
        self.join = nn.Linear(hidden, hidden)
        self.forth = nn.Sequential(
            nn.Linear(hidden, 4 * hidden), nn.GELU(), nn.Dropout(dropout),
            nn.Linear(4 * hidden, hidden), nn.Dropout(dropout),
        )  # fmt: skip
        self.dropout = nn.Dropout(dropout)
        self.attended, self.thought = _Residual(hidden, depth), _Residual(hidden, depth)
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor, gap: Tensor | None) -> tuple[Tensor, Tensor | None]:
        around = _neighbours(_cleared(self.before(x), gap), self.stride, 0.0)
        if self.stride == 2:
            # The first row has none before it; after the last one there is padding, which is 0 in the released code, too.
            before, here, after = _neighbours(x, 2, -math.inf)
            gap = None if gap is None else gap[:, ::2]
            x = _cleared(torch.maximum(torch.maximum(before, here), after), gap)
        query, key, value = (
            project(near(around, gap)) for near, project in zip(self.near, self.project, strict=True)
        )
        joined = self.join(local_attention(query, key, value, gap, self.heads, self.window))
        x = self.attended(x, _cleared(self.dropout(joined), gap))
        return self.thought(x, _cleared(self.forth(self.between(x)), gap)), gap


def _neighbours(x: Tensor, stride: int, first: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return of every row, or every second one, the row before, itself, and the row after.

    Before the first row is ``first``, after the last one 0.
    """
    rows = x.shape[1]
    before = functional.pad(x, (0, 0, 1, 0), value=first)[:, :rows:stride]
    after = functional.pad(x, (0, 0, 0, 1))[:, 1::stride]
    return before, x[:, ::stride], after


def _sinusoids(rows: int, channels: int) -> Tensor:
    """Return the table of positions; shape (rows, channels)."""
    rate = torch.pow(10_000.0, -2 * torch.div(torch.arange(channels), 2, rounding_mode="floor") / channels)
    angle = torch.arange(rows, dtype=torch.float64)[:, None] * rate.double()
    table = torch.where(torch.arange(channels) % 2 == 0, angle.sin(), angle.cos())
    return (table / math.sqrt(channels)).float()
