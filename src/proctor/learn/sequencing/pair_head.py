"""The model of pairs over an encoder: one linear layer says of an encoded pair whether it is in order, and the loss is of pairs alone.

Both orders of a pair are encoded, and half the difference of what is said of them is the score. This module imports torch: import it
late. Source: the relation head of BERSON (Cui et al. 2020), without its pointer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence as List
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import softplus

from proctor.learn.checkpoints import Checkpoint, write_checkpoint
from proctor.learn.sequencing.data import MODALITY, Presented, Shown
from proctor.learn.sequencing.encoder import StepEncoder, Steps
from proctor.learn.sequencing.encoders import open_encoder, rebuild
from proctor.learn.sequencing.inputs import Inputs
from proctor.learn.sequencing.pair_texts import Pairs, all_pairs, different_pairs, draw_pairs
from proctor.learn.sequencing.training import Training
from proctor.learn.settings import TrainSettings
from proctor.learn.trainer import fit, load_weights, seeded
from proctor.records import Json, content_hash, read_json, write_json

__all__ = ["HeadScorer", "train_head"]

_MOST_PAIRS: Final = 32
"""Of one manual in an epoch; of a longer one so many are drawn anew each time."""
_MOST_DEV: Final = 100
_AT_ONCE: Final = 512
_TINY: Final = TrainSettings(
    epochs=12, batch=12, lr=1e-3, weight_decay=0.01, patience=4, plateau=None, warmup=1, lowest_lr=0.0, optimiser="adamw"
)  # fmt: skip
_LARGE: Final = TrainSettings(
    epochs=5, batch=4, lr=1e-5, weight_decay=0.01, patience=2, plateau=None, warmup=1, lowest_lr=0.0, optimiser="adamw"
)  # fmt: skip
_DESCRIPTION, _WEIGHTS = "encoder.json", "weights.pt"


class HeadScorer(nn.Module):
    """Log-odds of pairs from an encoder; a ``PairScorer``.

    Args:
        encoder: of pairs.
        spec: how the encoder was asked for.
        shown: of each step.
        goal: whether the goal stands before every text.
        root: folder that paths of pictures are relative to.

    Attributes:
        dropped: pictures that could not be read so far, by reason.
    """

    def __init__(self, encoder: StepEncoder, spec: str, shown: Shown, goal: bool, root: Path) -> None:
        super().__init__()
        self.backbone, self.encoder = encoder, spec
        self.relation = nn.Linear(encoder.width, 2)
        self.shown, self.goal, self.root = shown, goal, root
        self.dropped: Counter[str] = Counter()

    def forward(self, steps: Steps, pairs: Tensor) -> Tensor:
        """Return the log-odds that the first step of each pair is done before the second, shape [P].

        Args:
            steps: M of them.
            pairs: rows of ``steps``, shape [P, 2].
        """
        said = self.relation(self.backbone(steps, torch.cat([pairs, pairs.flip(1)])).pooled)
        forwards, backwards = (said[:, 1] - said[:, 0]).chunk(2)
        odds: Tensor = (forwards - backwards) / 2
        return odds

    def read(self, sequences: List[Presented]) -> Inputs:
        """Return the inputs of sequences, and count what could not be read."""
        found = Inputs.read(
            [p.sequence for p in sequences], self.backbone, self.root, self.shown, goal=self.goal
        )
        self.dropped.update(d.reason for d in found.dropped)
        return found

    def scores(self, shown: Presented) -> NDArray[np.float64]:
        """Return log-odds, shape [N, N]."""
        inputs, count = self.read([shown]), len(shown.slots)
        device = self.relation.weight.device
        steps = inputs.take(inputs.rows[shown.sequence.id][list(shown.slots)]).to(device)
        pairs = all_pairs(count)
        self.eval()
        found = np.zeros((count, count))
        with torch.inference_mode():
            for part in np.split(pairs, range(_AT_ONCE, len(pairs), _AT_ONCE)):
                odds = self(steps, torch.from_numpy(part).to(device)).double().cpu().numpy()
                found[part[:, 0], part[:, 1]] = odds
        result: NDArray[np.float64] = found - found.T
        return result

    def save(self, folder: Path) -> None:
        """Write ``encoder.json`` and ``weights.pt``."""
        about: dict[str, Json] = {"spec": self.encoder, "shown": self.shown, "goal": self.goal}
        write_json(folder / _DESCRIPTION, {**about, "encoder": self.backbone.describe()})
        write_checkpoint(folder / _WEIGHTS, Checkpoint({}, {}, self.state_dict()))

    @classmethod
    def load(cls, folder: Path, root: Path) -> HeadScorer:
        """Read what ``save`` wrote.

        Raises:
            UserError: if a file is missing or damaged.
        """
        told: Any = read_json(folder / _DESCRIPTION)
        found = cls(rebuild(told["encoder"]), told["spec"], told["shown"], told["goal"], root)
        load_weights(folder / _WEIGHTS, found)
        return found


class _Learner:
    """What is learned from what (``trainer.Learner``)."""

    def __init__(self, model: HeadScorer, training: Training, batch: int) -> None:
        self.module: nn.Module = model
        self._model = model
        modality = MODALITY[training.shown]
        views = [[s.view(modality) for s in part] for part in (training.parts.train, training.parts.dev)]
        self._inputs = model.read([Presented(s, s.authored) for part in views for s in part])
        self.train, self.dev = (
            [(self._inputs.rows[s.id], p) for s in part if len(p := different_pairs(s, modality))]
            for part in views
        )
        self._batch, self._draw = batch, 0

    def batches(self, generator: np.random.Generator) -> List[NDArray[np.int64]]:
        """Return all manuals, shuffled."""
        self._draw = int(generator.integers(2**62))
        items = generator.permutation(len(self.train))
        return [items[first : first + self._batch] for first in range(0, len(items), self._batch)]

    def loss(self, items: NDArray[np.int64]) -> Tensor:
        """Return the loss of pairs in the order in which they are done; the other order has the same."""
        rng = np.random.default_rng([self._draw, int(items[0])])  # each manual is in one batch
        return self._loss([self._drawn(self.train[i], _MOST_PAIRS, rng) for i in items.tolist()])

    def validate(self) -> float:
        """Return minus the mean loss of the dev part, of every long manual the same pairs."""
        rng = np.random.default_rng(0)
        with torch.inference_mode():
            losses = [float(self._loss([self._drawn(manual, _MOST_DEV, rng)])) for manual in self.dev]
        return -float(np.mean(losses)) if losses else 0.0

    def _drawn(
        self, manual: tuple[Tensor, Pairs], most: int, rng: np.random.Generator
    ) -> tuple[Tensor, Pairs]:
        return manual[0], draw_pairs(manual[1], most, rng)

    def _loss(self, manuals: List[tuple[Tensor, Pairs]]) -> Tensor:
        device = self._model.relation.weight.device
        starts = np.cumsum([0, *(len(rows) for rows, _ in manuals)])
        pairs = np.concatenate([p + start for (_, p), start in zip(manuals, starts, strict=False)])
        steps = self._inputs.take(torch.cat([rows for rows, _ in manuals])).to(device)
        weight = torch.tensor(
            np.concatenate([np.full(len(p), len(p) ** -0.5) for _, p in manuals]), dtype=torch.float32
        ).to(device)
        odds = self._model(steps, torch.from_numpy(pairs).to(device))
        return (softplus(-odds) * weight).sum() / weight.sum()


def train_head(training: Training) -> tuple[HeadScorer, dict[str, Json]]:
    """Train an encoder with its relation head; the epoch is chosen on the dev part.

    Raises:
        UserError: if the encoder cannot be opened or does not see what is shown, or training cannot go on.
    """
    texts = [step.text for s in training.parts.train for step in s.steps]
    encoder = open_encoder(
        training.encoder, training.shown, texts, protocol=training.protocol, seed=training.seed
    )
    with seeded(training.seed):
        model = HeadScorer(encoder, training.encoder, training.shown, training.goal, training.root)
    usual = _TINY if training.encoder.startswith("tiny") else _LARGE
    settings = training.options.over(usual)
    learner = _Learner(model, training, settings.batch)
    about: dict[str, Json] = {
        "model": "pairwise", "encoder": encoder.describe(), "shown": training.shown, "goal": training.goal,
        "sequences": content_hash([[s.id, [[t.text, list(t.images)] for t in s.steps]] for s in training.parts.train + training.parts.dev]),
    }  # fmt: skip
    folder = None if training.folder is None else training.folder / "pairs"
    trained = fit(learner, settings, folder, seed=training.seed, about=about, show=training.show)
    parameters = sum(p.numel() for p in model.parameters())
    return model, {**trained.chosen, "parameters": parameters, "train_manuals": len(learner.train)}
