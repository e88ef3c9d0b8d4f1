"""A learner of nothing much for tests of the trainer; as a program it trains in a folder, to be killed.

python tests/learn/toy.py FOLDER EPOCHS SECONDS-A-BATCH [DROPOUT [averaged]]
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from torch import Tensor, nn

from proctor.learn.settings import TrainSettings
from proctor.learn.trainer import fit, seeded


class Toy:
    """Logistic regression of a sum's sign, with a hidden layer and dropout."""

    def __init__(self, seconds: float = 0.0, dropout: float = 0.5, items: int = 40, size: int = 8) -> None:
        drawn = np.random.default_rng(7)
        self.x = torch.from_numpy(drawn.normal(size=(items, 6)).astype(np.float32))
        self.y = (self.x.sum(1) > 0).float()
        self.size, self.seconds, self.noise = size, seconds, dropout > 0
        with seeded(1):
            self.module: nn.Module = nn.Sequential(
                nn.Linear(6, 8), nn.ReLU(), nn.Dropout(dropout), nn.Linear(8, 1)
            )

    def batches(self, generator: np.random.Generator) -> Sequence[Any]:
        drawn = generator.permutation(len(self.x))
        return [drawn[i : i + self.size] for i in range(0, len(drawn), self.size)]

    def loss(self, items: Any) -> Tensor:
        time.sleep(self.seconds)
        device = next(self.module.parameters()).device
        logits = self.module(self.x[items].to(device))[:, 0]
        # NumPy's and Python's generators may be used by a learner, too; in two processes they are not one
        noise = 1 + 0.1 * float(np.random.random()) * random.random() if self.noise else 1.0
        return nn.functional.binary_cross_entropy_with_logits(logits * noise, self.y[items].to(device))

    def validate(self) -> float:
        return float(((self.module(self.x)[:, 0] > 0).float() == self.y).float().mean())


SETTINGS = TrainSettings(epochs=6, lr=0.05, plateau=2, patience=None, device="cpu", save_seconds=0.0)
AVERAGED = msgspec.structs.replace(
    SETTINGS, plateau=None, warmup=2, lowest_lr=1e-8, optimiser="adamw", average=0.9, keep="last"
)
"""A rate of steps, and a moving average of the weights."""


def main() -> None:
    torch.set_num_threads(1)
    folder, epochs, seconds = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    dropout = float(sys.argv[4]) if len(sys.argv) > 4 else 0.5
    usual = AVERAGED if sys.argv[5:] == ["averaged"] else SETTINGS
    settings = msgspec.structs.replace(usual, epochs=epochs)
    fit(Toy(seconds, dropout), settings, folder)


if __name__ == "__main__":
    main()
