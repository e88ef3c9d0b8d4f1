"""The model of pairs over an encoder: one linear layer says of an encoded pair whether it is in order, and the loss is of pairs alone.

Both orders of a pair are encoded, and half the difference of what is said of them is the score. This module imports torch: import it
late. Source: the relation head of BERSON (Cui et al. 2020), without its pointer.
"""

from __future__ import annotations

from collections.abc import Sequence as List
from dataclasses import replace
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import softplus

from proctor.learn.sequencing.berson import Losses
from proctor.learn.sequencing.data import MODALITY, Presented
from proctor.learn.sequencing.encoder import Encoded
from proctor.learn.sequencing.finetune import OrderNetwork, train_network
from proctor.learn.sequencing.inputs import Inputs
from proctor.learn.sequencing.pairs import Pairs
from proctor.learn.sequencing.training import Training
from proctor.learn.settings import TrainSettings
from proctor.procedure.manual import Sequence
from proctor.records import Json

__all__ = ["HeadScorer", "RelationHead", "train_head"]

_TINY: Final = TrainSettings(
    epochs=12, batch=12, lr=1e-3, weight_decay=0.01, patience=4, plateau=None, warmup=1, lowest_lr=0.0, optimiser="adamw"
)  # fmt: skip
_LARGE: Final = TrainSettings(
    epochs=5, batch=4, lr=1e-5, weight_decay=0.01, patience=2, plateau=None, warmup=1, lowest_lr=0.0, optimiser="adamw"
)  # fmt: skip


class RelationHead(nn.Module):
    """Log-odds of encoded pairs: d + 1 weights for each of "after" and "before"."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.relation = nn.Linear(width, 2)

    def odds(self, encoded: Encoded, pairs: Pairs) -> Tensor:
        """Return the log-odds that slot i is done before slot j, shape [B, N, N]; 0 where there is no pair."""
        said = pairs.scatter(self.relation(encoded.pooled).float().diff(dim=1)[:, 0])
        return (said - said.transpose(1, 2)) / 2

    def forward(self, encoded: Encoded, pairs: Pairs, targets: Tensor) -> Losses:
        """Return the loss of pairs in their right order, ``targets`` [B, N]; one of P pairs of a sequence has the weight P^-½."""
        b, i, j = pairs.table.unbind(1)
        ranks, count = targets.argsort(1), pairs.counts[b]
        weight = (ranks[b, i] < ranks[b, j]) * (count * (count - 1)) ** -0.5
        loss = (softplus(-self.odds(encoded, pairs)[b, i, j]) * weight).sum() / weight.sum()
        return Losses(torch.zeros_like(loss), loss, loss)


class HeadScorer(OrderNetwork[RelationHead]):
    """Log-odds of pairs from an encoder; for ``precedence.PairwiseOrder``."""

    model, file = "pairs", "encoder.json"
    states, most = False, 8  # 28 pairs, drawn anew each time

    def make_head(self, width: int) -> RelationHead:
        """Return one layer."""
        return RelationHead(width)

    def figure(self, inputs: Inputs, dev: List[Sequence]) -> float:
        """Return minus the mean loss of dev, of every long manual the same steps."""
        generator = np.random.default_rng(0)
        return -float(np.mean([float(self.loss(inputs, [inputs.rows[s.id]], generator)) for s in dev]))

    def scores(self, shown: List[Presented]) -> list[NDArray[np.float64]]:
        """Return log-odds, each [N, N]."""
        inputs, rows = self.read(shown)
        found = [np.zeros((len(r), len(r))) for r in rows]
        self.eval()
        with torch.inference_mode():
            for items, pairs, encoded in self.encoded(inputs, rows):
                for item, odds in zip(
                    items, self.head.odds(encoded, pairs).double().cpu().numpy(), strict=True
                ):
                    found[item] = odds[: len(rows[item]), : len(rows[item])]
        return found


def train_head(training: Training) -> tuple[HeadScorer, dict[str, Json], dict[str, int]]:
    """Train an encoder with its relation head; the epoch is chosen on the dev part by the loss.

    Of steps that look the same the first is learned from.

    Raises:
        UserError: if there is nothing to choose on, the encoder cannot be opened or does not see what is shown, or training cannot go on.
    """
    modality = MODALITY[training.shown]

    def distinct(sequence: Sequence) -> Sequence:
        kept = dict(zip(reversed(sequence.alike(modality)), reversed(sequence.steps), strict=True))
        return replace(sequence, steps=tuple(kept[i] for i in sorted(kept)), references={}, before=None)

    parts = [[distinct(s) for s in part] for part in (training.parts.train, training.parts.dev)]
    usual = _TINY if training.encoder.startswith("tiny") else _LARGE
    return train_network(training, parts, HeadScorer, usual)
