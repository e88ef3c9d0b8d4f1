"""An encoder pretrained on steps in authored order, before it is trained to put them in order.

Each example is a subsequence of K steps, K = 2 by default, and each batch has one objective beside the hidden words. Everything
that is drawn comes from the seed, the epoch and the batch, so that a training that was killed ends with the same weights.
Source: Wu et al. 2022, Section 4.2. This module imports torch: import it late.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from proctor.errors import UserError
from proctor.learn.sequencing.data import Shown
from proctor.learn.sequencing.encoder import StepEncoder
from proctor.learn.sequencing.inputs import Inputs
from proctor.learn.sequencing.objectives import Objectives
from proctor.learn.sequencing.training import Objective, Protocol
from proctor.learn.settings import TrainSettings
from proctor.learn.trainer import Show, Trained, fit, seeded
from proctor.records import Json

__all__ = ["TOGETHER", "Pretraining", "enabled_for", "pretrain", "usual_pretraining"]

Items = NDArray[np.int64]

TOGETHER: Final = 2
"""K: steps of an example."""

_ABLE: Final[Mapping[Shown, tuple[Objective, ...]]] = {
    "text": ("mlm",), "image": ("isp", "pisp", "smrm"), "both": ("mlm", "isp", "pisp", "smrm"),
}  # fmt: skip


def usual_pretraining(protocol: Protocol, encoder: str) -> TrainSettings:
    """Return how a protocol pretrains; the tiny encoder begins from nothing, and learns faster under ``right``.

    The released code warms up for 1,000 batches and then lowers the rate along a line; here one epoch of warming up and a cosine stand
    for these.
    """
    paper = TrainSettings(
        epochs=5, batch=4, lr=1e-5, weight_decay=0.0, clip=None, patience=None, plateau=None, pos_weight=1.0
    )
    if protocol == "paper":
        return paper
    code = msgspec.structs.replace(paper, epochs=8, clip=1.0, warmup=1, lowest_lr=0.0, optimiser="adamw")
    if protocol == "code" or encoder != "tiny":
        return code
    return msgspec.structs.replace(code, epochs=10, batch=32, lr=1e-3, weight_decay=0.01)


def enabled_for(shown: Shown, asked: Sequence[Objective]) -> tuple[Objective, ...]:
    """Return objectives, each once; of texts alone there is one, and of pictures alone all but that.

    Raises:
        UserError: if one needs what is not shown.
    """
    able = _ABLE[shown]
    if unable := [name for name in asked if name not in able]:
        raise UserError(
            f"the objective {unable[0]} needs {'texts' if unable[0] == 'mlm' else 'pictures'}, and the steps are shown as {shown}.",
            hint=f"--pretrain {','.join(able)}, or --modality both",
        )
    return tuple(name for name in able if name in asked)


@dataclass
class Pretraining:
    """What is learned from what (``trainer.Learner``).

    Attributes:
        module: the encoder with its heads.
        inputs: texts and pictures.
        train: rows of the steps of each sequence in authored order, two or more; ``dev`` likewise.
        batch: sequences a batch.
        seed: of the draws for dev.
        together: K; less where a sequence of the batch has fewer steps.
    """

    module: nn.Module = field(init=False)
    objectives: Objectives
    inputs: Inputs
    train: Sequence[Tensor]
    dev: Sequence[Tensor]
    batch: int
    seed: int = 0
    together: int = TOGETHER

    def __post_init__(self) -> None:
        self.module = self.objectives
        self._epoch = 0

    def batches(self, generator: np.random.Generator) -> Sequence[Items]:
        """Return all sequences, shuffled."""
        self._epoch = int(generator.integers(2**62))
        return _parts(generator.permutation(len(self.train)), self.batch)

    def loss(self, items: Items) -> Tensor:
        """Return the sum of what the batch is asked."""
        generator = np.random.default_rng([self._epoch, int(items[0])])  # each item is in one batch
        turns = self.objectives.turns()
        turn = turns[int(generator.integers(len(turns)))] if turns else None
        return torch.stack([*self._losses([self.train[i] for i in items], turn, generator).values()]).sum()

    def validate(self) -> float:
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
        drawn = [
            rows[np.sort(generator.choice(len(rows), count, replace=False))] for rows in sequences
        ]  # in authored order
        device = next(self.module.parameters()).device
        steps = self.inputs.take(torch.cat(drawn)).to(device)
        groups = torch.arange(len(steps), device=device).view(len(drawn), count)
        return self.objectives.losses(steps, groups, turn, generator)


def pretrain(
    encoder: StepEncoder,
    inputs: Inputs,
    parts: tuple[Sequence[str], Sequence[str]],
    enabled: Sequence[Objective],
    settings: TrainSettings,
    folder: Path | None = None,
    *,
    protocol: Protocol = "right",
    seed: int = 0,
    about: dict[str, Json] | None = None,
    show: Show | None = None,
    together: int = TOGETHER,
) -> Trained:
    """Pretrain an encoder, in place; it has the weights of the best sum of losses on dev afterwards.

    Args:
        encoder: which.
        inputs: of all sequences.
        parts: ids of those to train on, and of those to choose on.
        enabled: objectives, as ``enabled_for`` returns them.
        settings: how.
        folder: for checkpoints; what is there already is gone on with.
        protocol: paper, code or right.
        seed: of everything that is drawn.
        about: what else makes two trainings different.
        show: shows progress.
        together: K.

    Raises:
        UserError: if no sequence has two steps, or as ``trainer.fit``.
    """
    train, dev = ([inputs.rows[i] for i in part if len(inputs.rows[i]) > 1] for part in parts)
    if not train or not dev:
        raise UserError(
            "pretraining needs sequences of two steps or more, in train and in dev.",
            hint="give more sequences, or leave --pretrain out",
        )
    if together < 2 or together > encoder.slots:
        raise UserError(
            f"{together} steps cannot be pretrained on at a time.", hint=f"take 2 to {encoder.slots}"
        )
    with seeded(seed):
        objectives = Objectives(encoder, enabled, protocol=protocol)
    learner = Pretraining(objectives, inputs, train, dev, settings.batch, seed, together)
    told: dict[str, Json] = {
        **(about or {}), "stage": "pretraining", "objectives": list(enabled), "together": together,
    }  # fmt: skip
    return fit(learner, settings, folder, seed=seed, about=told, show=show)


def _parts(items: Items, size: int) -> list[Items]:
    return [items[first : first + size] for first in range(0, len(items), size)]
