"""Every row labelled with a step or with none, as MS-TCN++ (Li et al. 2020) does; runs of a label are the segments found.

A stage of convolutions with two dilations a layer, one that grows and one that shrinks, says what each row is; further stages of
one dilation a layer look at what the stage before said and make it smoother. All stages learn: the label of each row, and not to
jump from row to row. This module imports torch: import it late.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from proctor.learn.batches import Places, bucketed
from proctor.learn.features.store import FeatureStore
from proctor.learn.localize.dense import BACKGROUND, row_labels, runs_of
from proctor.learn.localize.localizer import LocalizeTask
from proctor.learn.localize.recordings import Recordings, recordings_of
from proctor.learn.settings import TrainOptions, TrainSettings
from proctor.learn.trainer import Show, fit, seeded
from proctor.metrics.localization import Segments
from proctor.metrics.localization.segments import sorted_names
from proctor.records import Dropped, Json, content_hash

__all__ = ["SEGMENTER_TRAINING", "SegmentNetwork", "Segmenter", "smoothing"]

SEGMENTER_TRAINING: Final = TrainSettings(
    epochs=50, batch=2, lr=1e-3, weight_decay=0.0, clip=1.0, patience=15, plateau=5, most_rows=16_384
)

_SMOOTH: Final = 0.15
"""Weight of jumps in the loss."""
_JUMP: Final = 4.0
"""Change of a logarithm of a probability from row to row beyond which it costs no more: steps do begin."""

Floats = NDArray[np.float64]


def smoothing(logits: Tensor, mask: Tensor) -> Tensor:
    """Return the mean square of what log-probabilities change from row to row, each change cut at 4; a scalar.

    Only the later row learns from it, as in MS-TCN.

    Args:
        logits: shape (items, classes, rows).
        mask: True where a row is real, shape (items, rows).
    """
    said = functional.log_softmax(logits, 1)
    change = (said[..., 1:] - said[..., :-1].detach()).abs().clamp(max=_JUMP).square()
    both = (mask[:, 1:] & mask[:, :-1])[:, None]
    return (change * both).sum() / (both.sum() * logits.shape[1]).clamp(min=1)


class SegmentNetwork(nn.Module):
    """Rows of features to the label of each row, said by every stage.

    Args:
        features: of a row.
        classes: labels, the background among them.
        hidden: channels inside.
        layers: of each stage; the widest dilation is 2**(layers - 1) rows.
        stages: that look at what the one before said.
        dropout: of each layer.
    """

    def __init__(
        self,
        features: int,
        classes: int,
        hidden: int = 64,
        layers: int = 9,
        stages: int = 3,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        first = [(2**n, 2 ** (layers - 1 - n)) for n in range(layers)]
        further = [(2**n,) for n in range(layers)]
        self.stages = nn.ModuleList([_Stage(features, classes, hidden, first, dropout)])
        self.stages.extend(_Stage(classes, classes, hidden, further, dropout) for _ in range(stages))

    def forward(self, x: Tensor, mask: Tensor) -> list[Tensor]:
        """Return log-odds of each stage, the last one's last; each of shape (items, classes, rows).

        Args:
            x: rows, shape (items, rows, features).
            mask: True where a row is real, shape (items, rows).
        """
        real = mask[:, None].to(x.dtype)
        said = [self.stages[0](x.transpose(1, 2), real)]
        for stage in list(self.stages)[1:]:
            said.append(stage(said[-1].softmax(1) * real, real))
        return said


class _Stage(nn.Module):
    """Layers of convolutions; what each finds is added to what it was given."""

    def __init__(
        self, inside: int, classes: int, hidden: int, dilations: Sequence[tuple[int, ...]], dropout: float
    ) -> None:
        super().__init__()
        self.entry, self.answer = nn.Conv1d(inside, hidden, 1), nn.Conv1d(hidden, classes, 1)
        self.near = nn.ModuleList(
            nn.ModuleList(nn.Conv1d(hidden, hidden, 3, padding=d, dilation=d) for d in layer)
            for layer in dilations
        )
        self.join = nn.ModuleList(nn.Conv1d(len(layer) * hidden, hidden, 1) for layer in dilations)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        x = self.entry(x) * real
        for near, join in zip(self.near, self.join, strict=True):
            assert isinstance(near, nn.ModuleList)
            found = functional.relu(torch.cat([layer(x) for layer in near], 1))
            x = (x + self.dropout(join(found))) * real
        said: Tensor = self.answer(x) * real
        return said


class Segmenter:
    """Labels every row; a ``Localizer`` whose segments of a recording do not overlap.

    Recordings that a store has no rows of are left out of training, and get no segments; ``dropped`` lists them.

    Args:
        stores: of features, whose rows lie beside each other in time; the first sets the rate.
        options: what the user sets of training.
        folder: for checkpoints and the log; what is there already is gone on with.
        show: shows progress.
        anew: a checkpoint of something else is written over.
        hidden: channels inside.

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
        hidden: int = 64,
    ) -> None:
        self.name = "segmenter"
        self.dropped: tuple[Dropped, ...] = ()
        self._stores, self._options = tuple(stores), options or TrainOptions()
        self._folder, self._show, self._anew, self._hidden = folder, show, anew, hidden
        self._learner: _Learner | None = None

    def fit(self, task: LocalizeTask) -> Mapping[str, object]:
        """Train; the epoch is chosen by the share of rows labelled right, where there is a validation part.

        Raises:
            UserError: if no recording that is trained on has features and a timed step, or as ``trainer.fit``.
        """
        recordings = recordings_of(task, self._stores)
        self.dropped = recordings.dropped
        usual = SEGMENTER_TRAINING
        if not len(recordings.val):
            usual = msgspec.structs.replace(usual, patience=None, plateau=None, keep="last")
        settings = self._options.over(usual)
        classes = len(task.data.classes) + 1
        with seeded(task.seed):
            module = SegmentNetwork(sum(recordings.table.widths), classes, self._hidden)
        self._learner = _Learner(module, recordings, task, settings)
        about: dict[str, Json] = {
            "model": self.name, "data": task.data.hash, "features": [s.hash for s in self._stores],
            "recordings": content_hash([task.train, task.val]), "protocol": task.protocol, "hidden": self._hidden,
        }  # fmt: skip
        trained = fit(
            self._learner,
            settings,
            self._folder,
            seed=task.seed,
            about=about,
            show=self._show,
            anew=self._anew,
        )
        return {
            **trained.chosen,
            "parameters": sum(p.numel() for p in module.parameters()),
            "classes_unseen": len(recordings.unseen),
            "recordings_without_features": len(self.dropped),
        }

    def predict(self, ids: Sequence[str]) -> Segments:
        """Return the runs of rows with one label, scored by the label's mean probability in them."""
        learner = self._fitted()
        names = tuple(str(name) for name in sorted_names(set(ids)))
        parts: list[tuple[Floats, Floats, Places, Floats]] = []
        for name, said in zip(names, learner.probabilities(names), strict=True):
            label = said.argmax(1)
            first, last = runs_of(label)
            step = label[first] < learner.background
            first, last = first[step], last[step]
            sums = np.concatenate([np.zeros((1, said.shape[1])), said.cumsum(0)])
            score = (sums[last, label[first]] - sums[first, label[first]]) / (last - first)
            grid, seconds = learner.recordings.grid, learner.task.data.recordings[name].seconds
            # a run reaches from half a row before its first middle to half a row after its last one
            start, end = (grid.seconds(x - 0.5).clip(0, seconds) for x in (first.astype(np.float64), last))
            long = end > start
            parts.append((start[long], end[long], label[first][long], score[long]))
        video = np.repeat(np.arange(len(names)), [len(p[0]) for p in parts])
        none = (np.zeros(0), np.zeros(0), np.zeros(0, np.int64), np.zeros(0))
        start, end, labels, score = (np.concatenate(x) for x in zip(none, *parts, strict=True))
        return Segments(video, start, end, labels, score, names, learner.task.data.classes)

    def dense(self, ids: Sequence[str]) -> tuple[list[NDArray[np.str_]], list[NDArray[np.str_]]]:
        """Return the labels of every row of recordings, true and found, as ``metrics.segmentation`` compares them.

        A recording without features has no rows. ``BACKGROUND`` is the label where there is no step.
        """
        learner = self._fitted()
        names = np.array([*learner.task.data.classes, BACKGROUND])
        found = [names[said.argmax(1)] for said in learner.probabilities(ids)]
        truth = [names[learner.truth(name, len(labels))] for name, labels in zip(ids, found, strict=True)]
        return truth, found

    def _fitted(self) -> _Learner:
        if self._learner is None:
            raise ValueError("fit comes before predict")
        return self._learner


class _Learner:
    """Learns the label of every row of whole recordings."""

    def __init__(
        self, module: SegmentNetwork, recordings: Recordings, task: LocalizeTask, settings: TrainSettings
    ) -> None:
        self.module: nn.Module = module
        self.recordings, self.task, self._settings = recordings, task, settings
        self.background = len(task.data.classes)
        self._number = {name: n for n, name in enumerate(task.data.classes)}
        lengths = recordings.table.lengths.tolist()
        self._labels = [
            row_labels(n, a.start, a.end, a.label, self.background)
            for n, a in zip(lengths, recordings.actions, strict=True)
        ]

    def batches(self, generator: np.random.Generator) -> Sequence[Places]:
        lengths, train = self.recordings.table.lengths, self.recordings.train
        return bucketed(lengths, train, self._settings.batch, generator, self._settings.most_rows)

    def loss(self, items: Places) -> Tensor:
        batch = self.recordings.table.batch(items)
        mask = batch.mask.to(self._device)
        wanted = torch.zeros(mask.shape, dtype=torch.int64, device=self._device)
        wanted[mask] = torch.from_numpy(np.concatenate([self._labels[i] for i in items])).to(self._device)
        total = torch.zeros((), device=self._device)
        for said in self.module(batch.x.to(self._device), mask):
            said = said.float()
            cross = functional.cross_entropy(said, wanted, reduction="none")
            total = total + (cross * mask).sum() / mask.sum() + _SMOOTH * smoothing(said, mask)
        return total

    def validate(self) -> float:
        """Return the share of rows of the validation part that are labelled right; 0 where there is none."""
        right = rows = 0
        for item, said in self._said(self.recordings.val).items():
            right += int((said.argmax(1) == self._labels[item]).sum())
            rows += len(said)
        return right / max(rows, 1)

    def probabilities(self, ids: Sequence[str]) -> list[Floats]:
        """Return the probability of each label in each row, each of shape (rows, labels); no rows without features."""
        self.module.eval()
        there = {name: self.recordings.place[name] for name in ids if name in self.recordings.place}
        with torch.inference_mode():
            said = self._said(np.array(sorted(set(there.values())), np.int64))
        none = np.zeros((0, self.background + 1))
        return [said[there[name]] if name in there else none for name in ids]

    def truth(self, name: str, rows: int) -> Places:
        """Return the true label of each row of any recording."""
        spans, grid = self.task.data.recordings[name].spans, self.recordings.grid
        start, end = (
            grid.rows(np.array(x, np.float64)) for x in ([s.start for s in spans], [s.end for s in spans])
        )
        label = np.array([self._number[s.step] for s in spans], np.int64)
        return row_labels(rows, start, end, label, self.background)

    def _said(self, items: Places) -> dict[int, Floats]:
        found: dict[int, Floats] = {}
        lengths, settings = self.recordings.table.lengths, self._settings
        for some in bucketed(lengths, items, settings.batch, most_rows=settings.most_rows):
            batch = self.recordings.table.batch(some)
            said = self.module(batch.x.to(self._device), batch.mask.to(self._device))[-1]
            each = said.float().softmax(1).transpose(1, 2).double().cpu().numpy()
            found |= {int(i): one[: lengths[i]] for i, one in zip(some, each, strict=True)}
        return found

    @property
    def _device(self) -> torch.device:
        return next(self.module.parameters()).device
