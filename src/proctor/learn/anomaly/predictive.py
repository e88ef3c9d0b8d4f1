"""A block as a detector: it learns to predict normal frames from what is around them; its error is the score.

Maps are predicted place by place from within the frame, as published. Vectors are predicted from the seconds before
and after (the form of the blocks in time): recordings are cut into windows, each with what lies beside it, and
normalised per channel by normal training frames. This module imports torch: import it late.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from proctor.learn.anomaly.blocks import BlockName, PredictiveBlock
from proctor.learn.anomaly.frames import Floats, FrameTask, Normalisation, Rows
from proctor.learn.settings import TrainSettings
from proctor.learn.trainer import Show, device_of, fit, seeded

__all__ = ["USUAL", "BlockDetector"]

Items = NDArray[np.int64]

USUAL: Final = TrainSettings(epochs=30, batch=32, lr=1e-3, weight_decay=0.0, patience=5, plateau=2)
"""The paper tells no settings of this training."""

SHIFT: Final = 3.0
"""Deviations that are added to normalised rows: what the blocks give out is never negative."""


class BlockDetector:
    """SSPCAB or SSMCTB on the frames of a store.

    Args:
        name: of the block.
        kernel: of the masked convolution, likewise ``dilation``; published: 1 and 1.
        dilation: see ``blocks.MaskedConvolution``.
        window: rows that are predicted together, where frames are vectors.
        training: how it is trained.
        folder: for checkpoints and the log.
        show: shows progress of training.
    """

    def __init__(
        self,
        name: BlockName,
        *,
        kernel: int = 1,
        dilation: int = 1,
        window: int = 64,
        training: TrainSettings = USUAL,
        folder: Path | None = None,
        show: Show | None = None,
    ) -> None:
        self.name: str = name
        self.block = name
        self.kernel, self.dilation, self.window = kernel, dilation, window
        self.training, self.folder, self.show = training, folder, show
        self.fallen: dict[str, int] = {}

    def fit(self, task: FrameTask) -> Mapping[str, object]:
        """Train on normal recordings, until those of the validation part are predicted no better.

        Raises:
            UserError: if maps are too small, or the training fails (see ``trainer.fit``).
        """
        self.task = task
        maps = bool(task.store.shape)
        self.normalisation = None if maps else Normalisation.of(task)
        with seeded(task.seed):
            self.predictor = PredictiveBlock(
                self.block, task.channels, 2 if maps else 1, self.kernel, self.dilation
            )
        self.module: nn.Module = self.predictor
        self.items = self._items(task.train)
        self.checked = self._items(task.choose)
        about = {
            "block": self.block, "kernel": self.kernel, "dilation": self.dilation, "window": self.window,
            "features": task.store.hash, "train": list(task.train), "choose": list(task.choose),
        }  # fmt: skip
        self.device = device_of(self.training)
        trained = fit(self, self.training, self.folder, seed=task.seed, about=about, show=self.show)
        frames = sum(len(task.frames[id_].step) for id_ in task.train)
        return {"frames": frames, "recordings": len(task.train), **trained.chosen}

    def scores(self, id_: str) -> Floats:
        """Return the squared error of each frame of a recording; shape (frames,)."""
        self.module.eval()
        with torch.inference_mode():
            found = [errors[there] for errors, there in self._errors(self._items([id_]))]
        return torch.cat(found).cpu().numpy().astype(np.float64)

    # -- what the trainer asks for

    def batches(self, generator: np.random.Generator) -> Sequence[Items]:
        """Return windows or frames of all training recordings in a new order."""
        order = generator.permutation(len(self.items))
        size = self.training.batch
        return [order[first : first + size] for first in range(0, len(order), size)]

    def loss(self, items: Items) -> Tensor:
        """Return the mean squared error of a batch."""
        ((errors, there),) = self._errors([self.items[item] for item in items.tolist()], whole=True)
        return errors[there].mean()

    def validate(self) -> float:
        """Return the mean squared error on normal recordings of the validation part, negative."""
        found = torch.cat([errors[there] for errors, there in self._errors(self.checked)])
        return -float(found.double().mean())

    # -- frames as tensors

    def _items(self, ids: Sequence[str]) -> list[tuple[str, int]]:
        """Return the frames, or for vectors the first frames of the windows, of recordings."""
        step = 1 if self.task.store.shape else self.window
        return [(id_, first) for id_ in ids for first in range(0, len(self.task.frames[id_].step), step)]

    def _errors(
        self, items: Sequence[tuple[str, int]], *, whole: bool = False
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the errors of frames, (batch, frames), and which of them are frames of the recording, batch by batch."""
        size = len(items) if whole else self.training.batch
        beside = 0 if self.task.store.shape else self.kernel + self.dilation
        for first in range(0, len(items), size):
            part = items[first : first + size]
            rows = [self._rows(id_, at, beside) for id_, at in part]
            errors = self.predictor.errors(torch.from_numpy(np.stack(rows)).to(self.device))
            if self.task.store.shape:
                yield errors.mean((1, 2))[:, None], torch.ones(len(part), 1, dtype=torch.bool)
            else:
                left = torch.tensor([len(self.task.frames[id_].step) - at for id_, at in part])
                yield errors[:, beside:-beside], torch.arange(self.window) < left[:, None]

    def _rows(self, id_: str, at: int, beside: int) -> Rows:
        """Return what the block is given: a map, or (channels, rows) with those beside the window, 0 outside of the recording."""
        rows = self.task.rows(id_)
        if self.normalisation is None:
            return np.asarray(rows[at], np.float32)
        wanted = np.zeros((self.window + 2 * beside, self.task.channels), np.float32)
        begin, end = max(at - beside, 0), min(at + self.window + beside, len(rows))
        there = self.normalisation.apply(np.asarray(rows[begin:end], np.float32)) + SHIFT
        wanted[begin - at + beside : end - at + beside] = there
        return wanted.T
