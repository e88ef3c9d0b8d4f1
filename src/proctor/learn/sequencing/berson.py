"""The decoder of encoded pairs of steps: BERSON, a pointer network over relations, without a Python loop over pairs.

Every ordered pair is read by the encoder; here the pairs become one vector a step, a paragraph of steps without places, and
relations. A recurrent network points at one step after another, from the last two chosen and from all that remains.

Of its protocols ``code`` divides the sums over what remains by the width of the padded batch, as the released code does: the loss
of a sequence depends on its neighbours, and is not of what is decoded (there without padding). ``paper`` and ``right`` divide by
the sequence's own number of steps.

Source: Wu et al. 2022 (arXiv 2110.08486), Section 4, and Cui et al. 2020 (BERSON).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - as everywhere

from proctor.learn.sequencing.encoder import Encoded
from proctor.learn.sequencing.pairs import Pairs
from proctor.learn.sequencing.training import Protocol

__all__ = ["BersonHead", "Losses", "Read"]

_PUBLISHED_WIDTH: Final = 768
"""The narrowest published encoder, with 8 attention heads and inner layers of 3,072; narrower ones have 4 and three times d."""
_LAYERS: Final = 2
_EPSILON: Final = 1e-6
_MASKED: Final = -1e4


@dataclass(frozen=True)
class Losses:
    """Of a batch, each a scalar: of what is pointed at, of what comes first in each pair, and what is minimised."""

    pointer: Tensor
    pair: Tensor
    total: Tensor


@dataclass(frozen=True)
class Read:
    """What is known of B sequences before the first step is chosen; relations are projected already, each by its own block."""

    pairs: Pairs
    steps: Tensor  # [B, N, d]
    paragraph: Tensor  # [B, d], the mean of the steps that know of each other
    keys: Tensor  # [B, N, d]
    logits: Tensor  # [P, 2], of "after" and "before" for each pair
    last: Tensor  # [B, N, N, d], relation of the last chosen step (second axis) to a candidate (third)
    earlier: Tensor  # likewise of the one chosen before it
    ahead: Tensor  # of a candidate (second axis) and another step (third) that remains, both ways, divided

    def precedence(self) -> list[NDArray[np.float64]]:
        """Return for each sequence the probability that slot i comes before j, shape [N, N], both directions averaged."""
        one = self.pairs.scatter(self.logits.detach().double().softmax(1)[:, 1]).cpu().numpy()
        averaged = (one + 1 - one.swapaxes(1, 2)) / 2
        return [p[:n, :n] for p, n in zip(averaged, self.pairs.counts.tolist(), strict=True)]


class BersonHead(nn.Module):
    """From encoded pairs, of the encoder's width d, to losses; ``search.decode`` finds orders with it.

    ``weight`` is that of the loss of pairs: as for ROCStories, and in Wu et al. BERSON publishes AAN 0.4, NIPS 0.1, SIND 1.0, arXiv
    0.8, NSF 0.4.
    """

    def __init__(
        self, width: int, *, dropout: float = 0.1, weight: float = 0.6, protocol: Protocol = "right"
    ) -> None:
        super().__init__()
        published = width >= _PUBLISHED_WIDTH
        self.width, self.weight, self.protocol = width, weight, protocol
        self.dropout = nn.Dropout(dropout)
        self.token = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))
        self.edge = nn.Linear(width, 1, bias=False)
        heads = max(n for n in range(1, (8 if published else 4) + 1) if width % n == 0)
        inner = 3_072 if published else 3 * width
        self.layers = nn.ModuleList(
            _Layer(width, heads, inner, dropout, first=n == 0) for n in range(_LAYERS)
        )
        self.norm = nn.LayerNorm(width, eps=_EPSILON)
        self.relation = nn.Linear(width, 2)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.key = nn.Linear(2 * width, width)
        self.query = nn.Linear(width, width)
        self.project = nn.Linear(4 * (width + 2), width, bias=False)
        self.score = nn.Linear(width, 1)

    def forward(self, encoded: Encoded, pairs: Pairs, targets: Tensor) -> Losses:
        """Return the losses of pairs in the order of their table, every step chosen after the right ones (``Pairs.targets``)."""
        read = self.read(encoded, pairs, padded=self.protocol == "code")
        counts = pairs.counts
        chosen = self.log_probabilities(read, targets).gather(2, targets[..., None])[..., 0]
        each = -chosen.masked_fill(~pairs.valid, 0).sum(1) / (counts - 1).clamp(min=1)
        b, i, j = pairs.table.unbind(1)
        ranks = targets.argsort(1)
        wrong = F.cross_entropy(read.logits, (ranks[b, i] < ranks[b, j]).long(), reduction="none")
        shares = 1 / (counts * (counts - 1)).clamp(min=1)
        pointer, pair = each.mean(), (wrong * shares[b]).sum() / len(counts)
        return Losses(pointer, pair, pointer + self.weight * pair)

    def read(self, encoded: Encoded, pairs: Pairs, *, padded: bool = False) -> Read:
        """Return what is known before the first step is chosen; ``padded``: sums are divided by N, not by the own number of steps."""
        span = encoded.span
        scores = self.token(encoded.hidden)[..., 0][:, None].masked_fill(~span, _MASKED)
        shares = self.dropout(scores.softmax(-1).masked_fill(~span, 0))
        as_first, as_second = pairs.scatter(shares.to(encoded.hidden.dtype) @ encoded.hidden).unbind(3)
        own = torch.cat([as_first, as_second.transpose(1, 2)], 2)  # of each step in its pairs, [B, N, 2 N, d]
        there = pairs.scatter(torch.ones_like(pairs.table[:, 0], dtype=torch.bool)).repeat(1, 1, 2)
        scores = self.edge(own)[..., 0]
        shares = scores.masked_fill(~there, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(~there, 0)
        steps = (shares[:, :, None].to(own.dtype) @ own)[:, :, 0]
        counts = pairs.counts[:, None]
        related = steps
        for layer in self.layers:
            related = layer(related, pairs.valid)
        related = self.norm(related)
        paragraph = related.masked_fill(~pairs.valid[..., None], 0).sum(1) / counts
        logits = self.relation(encoded.pooled)
        relations = pairs.scatter(torch.cat([encoded.pooled, logits.softmax(-1)], -1))
        blocks = self.project.weight.view(self.width, 4, self.width + 2).transpose(0, 1).flatten(0, 1)
        last, earlier, after, before = F.linear(relations, blocks).chunk(4, -1)
        divisor = torch.full_like(counts, pairs.valid.shape[1]) if padded else counts
        ahead = (after + before.transpose(1, 2)) / divisor[..., None, None]
        keys = self.key(torch.cat([steps, related], -1))
        return Read(pairs, steps, paragraph, keys, logits, last, earlier, ahead)

    def log_probabilities(self, read: Read, targets: Tensor) -> Tensor:
        """Return the logarithm of the probability of each slot at each time after the right ones, shape [B, N, N]."""
        rows = torch.arange(len(targets), device=targets.device)[:, None]
        remain = targets.argsort(1)[:, None] >= torch.arange(targets.shape[1], device=targets.device)[:, None]
        remain = remain & read.pairs.valid[:, None]
        first = read.paragraph[None].contiguous()
        hidden, _ = self.lstm(_later(read.steps[rows, targets], 1), (first, torch.zeros_like(first)))
        history = _later(read.last[rows, targets], 1) + _later(read.earlier[rows, targets], 2)
        ahead = torch.einsum("btj,bijd->btid", remain.to(read.ahead.dtype), read.ahead)
        return self.pointed(hidden, history + ahead, read.keys[:, None], remain)

    def pointed(self, hidden: Tensor, relations: Tensor, keys: Tensor, remain: Tensor) -> Tensor:
        """Return the logarithm of the probability of each slot that remains, shape [..., N]; what the others get means nothing.

        Recurrent states have the shape [..., d]; keys, and relations of each slot to what was chosen and what remains (projected),
        [..., N, d].
        """
        scores = self.score(torch.tanh(self.query(hidden)[..., None, :] + relations + keys))[..., 0]
        return cast(Tensor, scores.masked_fill(~remain, torch.finfo(scores.dtype).min).log_softmax(-1))


class _Layer(nn.Module):
    """Of the paragraph encoder; the first does not normalise what it attends to."""

    def __init__(self, width: int, heads: int, inner: int, dropout: float, *, first: bool) -> None:
        super().__init__()
        self.heads = heads
        self.before = nn.Identity() if first else nn.LayerNorm(width, eps=_EPSILON)
        self.attend = nn.Linear(width, 3 * width)
        self.join = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width, eps=_EPSILON)
        self.widen = nn.Linear(width, inner)
        self.narrow = nn.Linear(inner, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, valid: Tensor) -> Tensor:
        parts = self.attend(self.before(x)).chunk(3, -1)
        query, key, value = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        share = self.dropout.p if self.training else 0.0
        seen = F.scaled_dot_product_attention(query, key, value, valid[:, None, None], share)
        z = x + self.dropout(self.join(seen.transpose(1, 2).flatten(2)))
        inner = self.dropout(F.gelu(self.widen(self.norm(z)), approximate="tanh"))
        return cast(Tensor, z + self.dropout(self.narrow(inner)))


def _later(rows: Tensor, by: int) -> Tensor:
    """Return rows moved behind by so many times, 0 before the first."""
    return F.pad(rows, (0, 0) * (rows.ndim - 2) + (by, 0))[:, : rows.shape[1]]
