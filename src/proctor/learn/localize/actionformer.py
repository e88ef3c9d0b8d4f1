"""Steps found in time by ActionFormer (Zhang, Wu and Li 2022), as CaptainCook4D (Peddi et al. 2024), Section 4.2, uses it.

Paper and released code train the same way: batches of two, padded to 4,096 rows. ``right`` learns the same network from
batches of recordings of like length, padded to multiples of 256, on a grid that does not drift, and hides some features of each
row while it learns. In all protocols the average of the weights after the last epoch is kept; validation is only shown. This
module imports torch: import it late.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from proctor.errors import UserError
from proctor.learn.batches import Places, bucketed
from proctor.learn.features.store import FeatureStore
from proctor.learn.localize.grid import LONGEST, Crop, crop
from proctor.learn.localize.inference import CAP, Candidates, candidates, segments_of
from proctor.learn.localize.localizer import LocalizeTask
from proctor.learn.localize.losses import diou, focal, normaliser_after
from proctor.learn.localize.network import Found, PyramidNetwork
from proctor.learn.localize.recordings import Recordings, recordings_of
from proctor.learn.localize.targets import Pyramid, assign
from proctor.learn.recogniser import ProtocolName
from proctor.learn.settings import TrainOptions, TrainSettings
from proctor.learn.trainer import Show, fit, seeded
from proctor.metrics.localization import Segments
from proctor.metrics.localization.segments import sorted_names
from proctor.records import Dropped, Json, content_hash

__all__ = ["ActionFormer", "usual_training"]

Floats = NDArray[np.float64]

_PADDED: Final = 256
"""Rows of a batch are a multiple of these."""
_PADDED_LONG: Final = 1_024
"""Likewise in the released code, beyond 4,096."""
_HIDES: Final = 0.3
"""Share of the features of a row that training does not show; few recordings are learned by heart otherwise."""
_FORGOTTEN: Final = 10.0
"""The average of the weights holds e**-10 of what they were at first, at most: one training in large batches has few steps."""


def usual_training(protocol: ProtocolName, recordings: int = 300, hidden: int = 512) -> TrainSettings:
    """Return how a protocol trains: 5 epochs of rising and 16 of falling rate, and an average of the weights at the end.

    ``right`` takes larger batches where there are enough recordings for many steps, with the rate that goes with their size and
    with the width.

    Args:
        protocol: which.
        recordings: that are trained on.
        hidden: channels inside.
    """
    published = TrainSettings(
        epochs=21, batch=2, lr=1e-4, weight_decay=0.05, clip=1.0, warmup=5, lowest_lr=1e-8, optimiser="adamw",
        average=0.999, patience=None, plateau=None, keep="last", precision="32", most_rows=2 * LONGEST,
    )  # fmt: skip
    if protocol != "right":
        return published
    batch = min(8, max(2, recordings // 24))
    lr = min(2e-3, published.lr * math.sqrt(batch / published.batch) * 512 / hidden)
    return msgspec.structs.replace(published, batch=batch, lr=lr, precision="auto")


class ActionFormer:
    """A pyramid of local attention over stores of features; a ``Localizer``.

    Recordings that a store has no rows of are left out of training, and get no segments; ``dropped`` lists them.

    Args:
        stores: of features, whose rows lie beside each other in time; the first sets the rate.
        options: what the user sets of training.
        folder: for checkpoints and the log; what is there already is gone on with.
        show: shows progress.
        anew: a checkpoint of something else is written over.
        hidden: channels inside.
        levels: of the pyramid.
        cap: candidates of a class that take part in the suppression; the released code takes all.

    Attributes:
        dropped: recordings without features, after ``fit``.
    """

    def __init__(
        self,
        stores: Sequence[FeatureStore],
        options: TrainOptions | None = None,
        folder: Path | None = None,
        show: Show | None = None,
        *,
        anew: bool = False,
        hidden: int = 512,
        levels: int = 8,
        cap: int = CAP,
    ) -> None:
        if hidden < 4 or hidden % 4 or levels < 1:
            raise UserError(
                f"there is no network of {hidden} channels and {levels} levels.",
                hint="channels are divided among four heads: take 64, 128, … and at least one level",
            )
        self.name = "actionformer"
        self.dropped: tuple[Dropped, ...] = ()
        self._stores, self._options = tuple(stores), options or TrainOptions()
        self._folder, self._show, self._anew = folder, show, anew
        self._hidden, self._levels, self._cap = hidden, levels, cap
        self._learner: _Learner | None = None

    def fit(self, task: LocalizeTask) -> Mapping[str, object]:
        """Train; the average of the weights after the last epoch is what predicts.

        Raises:
            UserError: if no recording that is trained on has features and a timed step, stores do not fit each other, or as
                ``trainer.fit``.
        """
        recordings = recordings_of(task, self._stores)
        self.dropped = recordings.dropped
        usual = usual_training(task.protocol, len(recordings.train), self._hidden)
        settings = self._options.over(usual)
        with seeded(task.seed):
            module = PyramidNetwork(
                sum(recordings.table.widths), len(task.data.classes), self._hidden, self._levels,
                unseen=torch.from_numpy(recordings.unseen), hides=_HIDES if task.protocol == "right" else 0.0,
            )  # fmt: skip
        learner = _Learner(module, recordings, task, settings)
        steps = settings.epochs * max(
            1, len(learner.batches(np.random.default_rng(0))) // settings.accumulate
        )
        average = usual.average
        if task.protocol == "right":  # how slowly it forgets, over a training of so many steps
            average = min(0.999, max(0.0, 1 - _FORGOTTEN / steps))
        settings = msgspec.structs.replace(
            settings,
            warmup=min(usual.warmup or 0, settings.epochs // 4),
            average=average,
        )
        trained = fit(
            learner, settings, self._folder, seed=task.seed, about=self._about(task), show=self._show, anew=self._anew
        )  # fmt: skip
        self._learner = learner
        return {
            **trained.chosen,
            "parameters": sum(p.numel() for p in module.parameters()),
            "classes_unseen": len(recordings.unseen),
            "recordings_without_features": len(self.dropped),
        }

    def predict(self, ids: Sequence[str]) -> Segments:
        """Return scored segments of recordings of the fitted task, at most 2,000 of each."""
        if self._learner is None:
            raise ValueError("fit comes before predict")
        learner, task = self._learner, self._learner.task
        asked = tuple(str(name) for name in sorted_names(set(ids)))
        there = [i for i in asked if i in learner.recordings.place]
        learner.module.eval()
        with torch.inference_mode():
            found = learner.candidates(np.array([learner.recordings.place[i] for i in there], np.int64))
        by_id = dict(zip(there, found, strict=True))
        none = Candidates(np.zeros(0), np.zeros(0), np.zeros(0, np.int64), np.zeros(0))
        return segments_of(
            [by_id.get(i, none) for i in asked], asked, [task.data.recordings[i].seconds for i in asked],
            task.data.classes, learner.recordings.grid, None if task.protocol == "code" else self._cap,
        )  # fmt: skip

    def _about(self, task: LocalizeTask) -> dict[str, Json]:
        return {
            "model": self.name, "data": task.data.hash, "features": [s.hash for s in self._stores],
            "recordings": content_hash([task.train, task.val]), "protocol": task.protocol,
            "hidden": self._hidden, "levels": self._levels,
        }  # fmt: skip


@dataclass(frozen=True)
class _Wanted:
    """What a batch is to find: places of the items one after the other."""

    logits: Tensor
    place: Tensor
    offsets: Tensor


class _Learner:
    """Learns actions from stretches of recordings."""

    def __init__(
        self, module: PyramidNetwork, recordings: Recordings, task: LocalizeTask, settings: TrainSettings
    ) -> None:
        self.module: nn.Module = module
        self._network = module
        self.recordings, self.task, self._settings = recordings, task, settings
        self._drawn = 0

    def batches(self, generator: np.random.Generator) -> Sequence[Places]:
        self._drawn = int(generator.integers(2**62))
        train, size = self.recordings.train, self._settings.batch
        if self.task.protocol == "right":
            return bucketed(self.recordings.table.lengths, train, size, generator, self._settings.most_rows)
        drawn = generator.permutation(train)
        whole = len(drawn) // size * size or len(drawn)  # the released code leaves out the rest
        return [drawn[i : i + size] for i in range(0, whole, size)]

    def loss(self, items: Places) -> Tensor:
        crops = [self._crop(i, np.random.default_rng([self._drawn, i])) for i in items.tolist()]
        classes, ends, points = self._losses(items, crops)
        with torch.no_grad():
            self._network.normaliser.copy_(normaliser_after(self._network.normaliser, points))
        return (classes + ends) / self._network.normaliser

    def validate(self) -> float:
        """Return minus the loss of the validation part, whole recordings each; 0 where there is none."""
        total, points = 0.0, 0
        for items in self._in_order(self.recordings.val):
            classes, ends, found = self._losses(items, [self._crop(i) for i in items.tolist()])
            total, points = total + float(classes + ends), points + found
        return -total / max(points, 1)

    def candidates(self, items: Places) -> list[Candidates]:
        """Return what may be segments of recordings, in their order."""
        found: dict[int, Candidates] = {}
        for batch in self._in_order(items):
            said, pyramid = self._forward(batch, [(0, int(self.recordings.table.lengths[i])) for i in batch])
            for n, item in enumerate(batch.tolist()):
                found[item] = candidates(said.logits[n], said.offsets[n], said.real[n], pyramid)
        return [found[i] for i in items.tolist()]

    def _in_order(self, items: Places) -> list[Places]:
        lengths = self.recordings.table.lengths
        return bucketed(lengths, items, self._settings.batch, most_rows=self._settings.most_rows)

    def _crop(self, item: int, generator: np.random.Generator | None = None) -> Crop:
        actions = self.recordings.actions[item]
        rows = int(self.recordings.table.lengths[item])
        return crop(generator, rows, actions.start, actions.end, self.recordings.grid.offset)

    def _losses(self, items: Places, crops: Sequence[Crop]) -> tuple[Tensor, Tensor, int]:
        """Return the sums of both losses over a batch, and how many points find an action."""
        said, pyramid = self._forward(items, [(c.first, c.last) for c in crops])
        wanted = self._wanted(items, crops, pyramid, said)
        real = said.real.flatten()
        classes = focal(said.logits.flatten(0, 1)[real], wanted.logits[real]).sum()
        ends = diou(said.offsets.flatten(0, 1)[wanted.place], wanted.offsets).sum()
        return classes, ends, len(wanted.place)

    def _forward(self, items: Places, stretches: Sequence[tuple[int, int]]) -> tuple[Found, Pyramid]:
        """Say what is at each point of stretches of recordings, padded to one length."""
        device = self._network.scales.device
        lengths = [last - first for first, last in stretches]
        rows = _padded(max(lengths), self.task.protocol)
        x = torch.zeros(len(items), rows, sum(self.recordings.table.widths))
        for row, item, (first, last) in zip(x, items.tolist(), stretches, strict=True):
            begin = int(self.recordings.table.offsets[item])
            row[: last - first] = self.recordings.table.gather(np.arange(begin + first, begin + last))
        mask = torch.arange(rows) < torch.tensor(lengths)[:, None]
        found: Found = self._network(x.to(device), mask.to(device))
        return found, Pyramid(self._network.levels, rows)

    def _wanted(self, items: Places, crops: Sequence[Crop], pyramid: Pyramid, said: Found) -> _Wanted:
        places, classes = said.logits.shape[1:]
        found = assign(
            pyramid,
            np.concatenate([c.start for c in crops]),
            np.concatenate([c.end for c in crops]),
            np.concatenate(
                [self.recordings.actions[i].label[c.chosen] for i, c in zip(items, crops, strict=True)]
            ),
            np.repeat(np.arange(len(items)), [len(c.chosen) for c in crops]),
        )
        device = said.logits.device
        logits = torch.zeros(len(items) * places, classes, device=device)
        logits[torch.from_numpy(found.label_place), torch.from_numpy(found.label)] = 1.0
        return _Wanted(
            logits,
            torch.from_numpy(found.place).to(device),
            torch.from_numpy(found.offsets).float().to(device),
        )


def _padded(rows: int, protocol: ProtocolName) -> int:
    """Return how many rows a batch has whose longest item has so many."""
    if protocol == "right":
        return math.ceil(rows / _PADDED) * _PADDED
    return LONGEST if rows <= LONGEST else math.ceil(rows / _PADDED_LONG) * _PADDED_LONG
