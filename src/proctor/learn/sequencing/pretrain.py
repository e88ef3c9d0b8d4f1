"""An encoder pretrained on steps in authored order, before it is trained to put them in order.

Each example is a subsequence of K steps, K = 2 by default, and each batch has one objective beside the hidden words. Everything
that is drawn comes from the seed, the epoch and the batch, so that a training that was killed ends with the same weights.
Source: Wu et al. 2022, Section 4.2. This module imports torch: import it late.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from proctor.learn.sequencing.encoder import StepEncoder
from proctor.learn.sequencing.inputs import Inputs
from proctor.learn.sequencing.objectives import Objectives
from proctor.learn.sequencing.training import Objective, Protocol, Training
from proctor.learn.settings import TrainSettings
from proctor.learn.trainer import fit, seeded
from proctor.records import Json

__all__ = ["Pretraining", "Shuffled", "pretrain", "risen", "usual_pretraining"]

Items = NDArray[np.int64]

TOGETHER: Final = 2
"""K: steps of an example."""


def usual_pretraining(protocol: Protocol, encoder: str) -> TrainSettings:
    """Return how a protocol pretrains. The tiny encoder begins from nothing: it has a rate and epochs of its own in all of them.

    The released code warms up for 1,000 batches and lowers the rate along a line; here it is an epoch and a cosine.
    """
    paper = TrainSettings(
        epochs=5, batch=4, lr=1e-5, weight_decay=0.0, clip=None, patience=None, plateau=None, pos_weight=1.0
    )
    falling = msgspec.structs.replace(paper, epochs=8, clip=1.0, warmup=1, lowest_lr=0.0, optimiser="adamw")
    if encoder.startswith("tiny"):
        return msgspec.structs.replace(falling, epochs=10, batch=32, lr=1e-3, weight_decay=0.01)
    return paper if protocol == "paper" else falling


@dataclass
class Shuffled:
    """Sequences, shuffled anew in each epoch (``trainer.Learner``); what their loss draws comes from the epoch and the batch."""

    module: nn.Module
    train: Sequence[Tensor]
    batch: int
    asked: Callable[[list[Tensor], np.random.Generator], Tensor]
    figure: Callable[[], float]
    _epoch: int = 0

    def batches(self, generator: np.random.Generator) -> Sequence[Items]:
        """Return all sequences, shuffled."""
        self._epoch = int(generator.integers(2**62))
        return _parts(generator.permutation(len(self.train)), self.batch)

    def loss(self, items: Items) -> Tensor:
        """Return the loss of a batch."""
        generator = np.random.default_rng([self._epoch, int(items[0])])  # each item is in one batch
        return self.asked([self.train[i] for i in items.tolist()], generator)

    def validate(self) -> float:
        """Return the figure of dev."""
        return self.figure()


@dataclass
class Pretraining:
    """What is asked of rows of the steps of sequences of two or more, K or fewer drawn of each."""

    objectives: Objectives
    inputs: Inputs
    dev: Sequence[Tensor]
    batch: int
    seed: int = 0
    together: int = TOGETHER

    def loss(self, sequences: Sequence[Tensor], generator: np.random.Generator) -> Tensor:
        """Return the sum of what a batch is asked."""
        turns = self.objectives.turns()
        turn = turns[int(generator.integers(len(turns)))] if turns else None
        return torch.stack([*self._losses(sequences, turn, generator).values()]).sum()

    def figure(self) -> float:
        """Return minus the sum of the mean losses of all objectives on dev, of the same draws in every epoch."""
        found: dict[Objective, list[float]] = {}
        for number, items in enumerate(_parts(np.arange(len(self.dev)), self.batch)):
            for turn in self.objectives.turns() or (None,):
                generator = np.random.default_rng([self.seed, number])
                for name, loss in self._losses([self.dev[i] for i in items], turn, generator).items():
                    found.setdefault(name, []).append(float(loss))
        return -float(sum(np.mean(values) for values in found.values()))

    def _losses(
        self, sequences: Sequence[Tensor], turn: Objective | None, generator: np.random.Generator
    ) -> dict[Objective, Tensor]:
        count = min(self.together, *(len(rows) for rows in sequences))
        draws = [np.sort(generator.choice(len(rows), count, replace=False)) for rows in sequences]
        rows = torch.cat([rows[d] for rows, d in zip(sequences, draws, strict=True)])  # in authored order
        device = next(self.objectives.parameters()).device
        groups = torch.arange(len(rows), device=device).view(-1, count)
        return self.objectives.losses(self.inputs.take(rows).to(device), groups, turn, generator)


def pretrain(
    encoder: StepEncoder, inputs: Inputs, train: Sequence[Tensor], dev: Sequence[Tensor], training: Training,
    about: Mapping[str, Json],
) -> dict[str, Json]:  # fmt: skip
    """Pretrain an encoder, in place; it has the weights of the least sum of losses on dev afterwards.

    Sequences to train on and to choose on are rows of the inputs, two or more; ``about`` says what else makes two trainings
    different. Returns what stands in the record.

    Raises:
        UserError: as ``trainer.fit``.
    """
    settings = training.pretrain_options.over(usual_pretraining(training.protocol, training.encoder))
    with seeded(training.seed):
        objectives = Objectives(encoder, training.pretrain, protocol=training.protocol)
    asked = Pretraining(objectives, inputs, dev, settings.batch, training.seed)
    learner = Shuffled(objectives, train, settings.batch, asked.loss, asked.figure)
    names: list[Json] = list(training.pretrain)
    told = {**about, "stage": "pretraining", "objectives": names, "together": TOGETHER}
    folder = training.folder and training.folder / "pretrain"
    trained = fit(learner, risen(settings), folder, seed=training.seed, about=told, show=training.show)
    return {"objectives": names, **trained.chosen}


def risen(settings: TrainSettings) -> TrainSettings:
    """Return settings whose rate rises in a quarter of the epochs at most."""
    if settings.warmup is None:
        return settings
    return msgspec.structs.replace(settings, warmup=min(settings.warmup, settings.epochs // 4))


def _parts(items: Items, size: int) -> list[Items]:
    return [items[first : first + size] for first in range(0, len(items), size)]
