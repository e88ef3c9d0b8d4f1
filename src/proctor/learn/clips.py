"""Mistakes recognised from the clip of a step alone: V1, V2 and V3. Source: CaptainCook4D (Peddi et al. 2024), Sections 4.1 and 4.2.

What a step looks like are the rows of features of all its executions, one after the other. Each row gets a probability;
their mean (released code) or the share that is above one half (paper) is the step's. Paper, released code and what is right
differ; ``usual_training`` and ``Way`` say in what. This module imports torch: import it late.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from proctor.errors import UserError
from proctor.learn.batches import RowTable, bucketed, flat
from proctor.learn.features.store import WORDS, FeatureStore
from proctor.learn.networks import Fusion, Positions, StepNetwork, Variant
from proctor.learn.recogniser import ProtocolName, Reason, Task
from proctor.learn.samples import KINDS, Execution, StepSample
from proctor.learn.settings import TrainOptions, TrainSettings
from proctor.learn.trainer import Show, fit, seeded
from proctor.metrics.classification import roc_auc
from proctor.records import Dropped, Json

__all__ = [
    "ClipRecogniser",
    "Clips",
    "Decision",
    "Way",
    "clips_of",
    "usual_training",
    "way_of",
    "with_features",
]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Decision = Literal["mean", "vote"]

_SCORED: Final = 64
"""Steps a batch where nothing is learned."""
_KINDS_SHARE: Final = 0.5
"""Weight of the kinds in the loss beside the mistake itself."""
_ALIKE: Final = 0.01
"""Share by which rows of modalities may differ in length: published depth has 30 frames, 1.001 s, beside seconds."""
_MOST_WEIGHT: Final = 20.0
"""Of a positive of a rare kind."""


@dataclass(frozen=True)
class Way:
    """What a protocol does beside training.

    Attributes:
        positions: of rows, in V2 and V3.
        decision: from the probabilities of rows to the score of a step.
        fusion: of the modalities in V3.
        modality_dropout: in V3.
        by_execution: seen early, each execution is cut, not their concatenation.
        kinds: the kinds of mistakes are learned, too, by the same network.
    """

    positions: Positions
    decision: Decision
    fusion: Fusion = "fixed"
    modality_dropout: float = 0.0
    by_execution: bool = False
    kinds: bool = False


_WAYS: Final[Mapping[ProtocolName, Way]] = {
    "paper": Way("sinusoidal", "vote"),
    "code": Way("none", "mean"),
    "right": Way("none", "mean", "learned", 0.2, by_execution=True, kinds=True),
}


def way_of(protocol: ProtocolName) -> Way:
    """Return what a protocol does beside training."""
    return _WAYS[protocol]


def usual_training(variant: Variant, protocol: ProtocolName, early: bool = False) -> TrainSettings:
    """Return how a protocol trains a variant.

    ``paper``: V1 on rows (512 a batch), V2 and V3 on one step a batch, 50 epochs, the best on validation. ``code``: the
    released code as of the paper: one step a batch, weight decay, clipped gradients, and the last epoch, since its "best"
    weights are a reference to the live ones. ``right``: batches of steps of like length, a rate that falls, an early end.
    """
    if protocol == "right":
        return TrainSettings(batch=512, lr=1e-3) if variant == "v1" else TrainSettings(batch=32, lr=1e-4)
    if protocol == "code":
        lr = 1e-3 if variant == "v1" else 1e-4
        return TrainSettings(batch=1, lr=lr, patience=None, plateau=None, keep="last", precision="32")
    lr = {"v1": 1e-4 if early else 1e-3, "v2": 1e-5, "v3": 5e-5}[variant]
    batch = 512 if variant == "v1" else 1
    return TrainSettings(
        batch=batch, lr=lr, weight_decay=0.0, clip=None, patience=None, plateau=None, precision="32"
    )


# -- rows


@dataclass(frozen=True)
class Clips:
    """The rows of every sample.

    Attributes:
        table: item i are the rows of sample i; none where its recording has no features.
        past_the_end: rows of zeros, where the features end before the annotation.
        cut: rows left out because a modality is shorter than another.
    """

    table: RowTable
    past_the_end: int
    cut: int

    @cached_property
    def sample_of(self) -> Places:
        """The sample of each row of the table; shape (all rows,)."""
        return np.repeat(np.arange(len(self.table)), self.table.lengths)


def with_features(task: Task, stores: Sequence[FeatureStore]) -> Task:
    """Return the task without the samples of recordings that a store has nothing of; they are listed as dropped.

    Raises:
        UserError: if nothing is left of a part.
    """
    lacking = {r: [s.backbone for s in stores if r not in s] for r in dict.fromkeys(task.data.recordings)}
    has = np.fromiter((not lacking[r] for r in task.data.recordings), np.bool_, len(task.data.samples))
    if has.all():
        return task
    division = task.division
    train, val, test = (p[has[p]] for p in (division.train, division.val, division.test))
    for name, places in (("train", train), ("val", val), ("test", test)):
        if not places.size:
            raise UserError(
                f"no step of the part '{name}' has features.",
                where=", ".join(str(s.path) for s in stores),
                hint="convert or extract the features of its recordings (proctor features check)",
            )
    dropped = tuple(
        Dropped(s.id, "no_features", f"of recording {s.recording_id}: {', '.join(lacking[s.recording_id])}")
        for s in task.data.samples
        if lacking[s.recording_id]
    )
    data = replace(task.data, dropped=(*task.data.dropped, *dropped))
    return replace(task, data=data, division=replace(division, train=train, val=val, test=test))


def clips_of(
    samples: Sequence[StepSample],
    stores: Sequence[FeatureStore],
    observed: float = 1.0,
    by_execution: bool = True,
) -> Clips:
    """Find the rows of samples; no row is read.

    Args:
        samples: steps.
        stores: one for each modality.
        observed: share of the rows, from the start, that is kept; one row always is.
        by_execution: the share of each execution and not of all of them together, as the released code takes.

    Raises:
        UserError: if the stores differ in the seconds of a row by more than a hundredth.
    """
    if any(abs(s.seconds / stores[0].seconds - 1) > _ALIKE for s in stores):
        told = ", ".join(f"{s.backbone} {s.modality} {s.seconds:g} s" for s in stores)
        raise UserError(
            f"the modalities have rows of different lengths: {told}.",
            hint="extract them with one stride, or name one store",
        )
    items: list[list[Places]] = [[] for _ in stores]
    lengths: list[int] = []
    past = cut = 0
    for sample in samples:
        rows, lost = _rows_of(sample, stores, observed, by_execution)
        lengths.append(rows.shape[1])
        past += int((rows < 0).all(0).sum())
        cut += lost
        for mine, one in zip(items, rows, strict=True):
            mine.append(one)
    return Clips(RowTable.of([s.matrix for s in stores], items, lengths), past, cut)


def _rows_of(
    sample: StepSample, stores: Sequence[FeatureStore], observed: float, by_execution: bool
) -> tuple[Places, int]:
    """Return the places of a sample's rows, shape (modalities, rows), and how many were cut."""
    if any(sample.recording_id not in s for s in stores):
        return np.zeros((len(stores), 0), np.int64), 0
    parts = [_together(sample.recording_id, execution, stores) for execution in sample.executions]
    lost = sum(lost for _, lost in parts)
    rows = [rows for rows, _ in parts]
    if by_execution:
        return np.concatenate([_first(one, observed) for one in rows], 1), lost
    return _first(np.concatenate(rows, 1), observed), lost


def _together(recording: str, execution: Execution, stores: Sequence[FeatureStore]) -> tuple[Places, int]:
    """Return the rows of an execution up to the end of the shortest modality; shape (modalities, rows)."""
    beside = stores[0].seconds
    rows = np.stack([s.places(recording, execution.start, execution.end, beside) for s in stores])
    # words are silent after the last line: that takes nothing from what is seen and heard
    ending = [not s.backbone.startswith(WORDS) for s in stores]
    uneven: NDArray[np.bool_] = np.logical_and((rows[ending] < 0).any(0), (rows >= 0).any(0))
    if uneven.all():  # one is always kept
        uneven[0] = False
    return rows[:, ~uneven], int(uneven.sum())


def _first(rows: Places, share: float) -> Places:
    return rows[:, : max(1, int(rows.shape[1] * share + 1e-9))]


# -- learning


class _ClipLearner:
    """Learns the labels of steps, and of their kinds, from every row."""

    def __init__(
        self, module: StepNetwork, clips: Clips, targets: Tensor, weights: Tensor, task: Task, way: Way,
        settings: TrainSettings, flat_rows: bool,
    ) -> None:  # fmt: skip
        self.module: nn.Module = module
        self._clips, self._targets, self._weights, self._task = clips, targets, weights, task
        self._way, self._settings, self._flat = way, settings, flat_rows
        share = torch.full(weights.shape, _KINDS_SHARE / max(1, len(weights) - 1))
        share[0] = 1.0
        self._share = share

    def batches(self, generator: np.random.Generator) -> Sequence[Places]:
        table, train = self._clips.table, self._task.division.train
        if self._flat:
            return flat(table, train, self._settings.batch, generator)
        return bucketed(table.lengths, train, self._settings.batch, generator, self._settings.most_rows)

    def loss(self, items: Places) -> Tensor:
        device = self._device
        if self._share.device != device:
            self._targets, self._weights = self._targets.to(device), self._weights.to(device)
            self._share = self._share.to(device)
        if self._flat:
            logits = self.module(self._clips.table.gather(items).to(device)[None])[0]
            wanted = self._targets[torch.from_numpy(self._clips.sample_of[items]).to(device)]
            return self._criterion(logits, wanted).mean(0) @ self._share
        batch = self._clips.table.batch(items)
        mask = batch.mask.to(device)
        logits = self.module(batch.x.to(device), mask)
        wanted = self._targets[torch.from_numpy(items).to(device)][:, None].expand_as(logits)
        real = mask[..., None].float()
        by_step = (self._criterion(logits, wanted) * real).sum(1) / real.sum(1)
        return by_step.mean(0) @ self._share

    def validate(self) -> float:
        val = self._task.division.val
        return roc_auc(self._task.target[val], self.scores(val)[:, 0]).value

    def scores(self, items: Places) -> Floats:
        """Return the scores of steps; shape (items, outputs)."""
        table = self._clips.table
        found = np.zeros((len(items), self._targets.shape[1]))
        for batch in bucketed(
            table.lengths[items], np.arange(len(items)), _SCORED, most_rows=self._settings.most_rows
        ):
            one = table.batch(items[batch])
            mask = one.mask.to(self._device)
            p = self.module(one.x.to(self._device), mask).float().sigmoid()
            if self._way.decision == "vote":
                p[..., 0] = (p[..., 0] > 0.5).float()
            p = (p * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
            found[batch] = p.double().cpu().numpy()
        return found

    def _criterion(self, logits: Tensor, wanted: Tensor) -> Tensor:
        return binary_cross_entropy_with_logits(
            logits.float(), wanted, reduction="none", pos_weight=self._weights
        )

    @property
    def _device(self) -> torch.device:
        return next(self.module.parameters()).device


class ClipRecogniser:
    """V1, V2 or V3 over stores of features; a ``Recogniser``.

    Args:
        variant: which network.
        stores: of features, one for each modality, in the order video, audio, text, depth.
        options: what the user sets of training.
        folder: for checkpoints and the log; what is there already is gone on with.
        show: shows progress.
        way: what a protocol does beside training, to try something else; None as the task's protocol says.
        anew: a checkpoint of something else is written over.
    """

    def __init__(
        self,
        variant: Variant,
        stores: Sequence[FeatureStore],
        options: TrainOptions | None = None,
        folder: Path | None = None,
        show: Show | None = None,
        way: Way | None = None,
        anew: bool = False,
    ) -> None:
        if not stores:
            raise UserError(
                f"the model '{variant}' looks at features.",
                where="--features",
                hint="name a store of features",
            )
        if len({s.modality for s in stores}) < len(stores):
            told = ", ".join(f"{s.path} ({s.modality})" for s in stores)
            raise UserError(
                "two stores are of the same modality.",
                where=told,
                hint="name one of each of video, audio, text and depth",
            )
        order = ("video", "audio", "text", "depth")
        self.name: str = variant
        self._variant: Variant = variant
        self._stores = sorted(stores, key=lambda s: order.index(s.modality))
        self._options = options or TrainOptions()
        self._folder, self._show, self._way, self._anew = folder, show, way, anew
        self._learner: _ClipLearner | None = None
        self._scored: dict[bytes, Floats] = {}
        self._kinds: tuple[str, ...] = ()

    def fit(self, task: Task) -> Mapping[str, object]:
        """Train, choosing the epoch on the validation part.

        Raises:
            UserError: if a part holds one class only or a sample without features (see ``with_features``), or as ``trainer.fit``.
        """
        way = self._way or way_of(task.protocol)
        settings = self._options.over(usual_training(self._variant, task.protocol, task.observed < 1))
        clips = clips_of(task.data.samples, self._stores, task.observed, way.by_execution)
        _require_usable(task, clips)
        train = task.division.train  # kinds that some steps to train on have, and some have not
        kinds = KINDS if way.kinds else ()
        self._kinds = tuple(k for k in kinds if 0 < task.data.of_kind(k)[train].sum() < len(train))
        targets = np.stack([task.target, *(task.data.of_kind(k) for k in self._kinds)], 1).astype(np.float32)
        with seeded(task.seed):
            module = StepNetwork(
                clips.table.widths, self._variant, outputs=targets.shape[1], positions=way.positions,
                fusion=way.fusion, modality_dropout=way.modality_dropout,
            )  # fmt: skip
        self._scored.clear()
        weights = _positive_weights(targets[task.division.train], settings.pos_weight)
        self._learner = _ClipLearner(
            module, clips, torch.from_numpy(targets), weights, task, way, settings,
            flat_rows=self._variant == "v1" and task.protocol != "code",
        )  # fmt: skip
        trained = fit(
            self._learner,
            settings,
            self._folder,
            seed=task.seed,
            show=self._show,
            about=self._about(task, way),
            anew=self._anew,
        )
        fusion = {}
        if self._variant == "v3":
            shares = module.weights().tolist()
            fusion = {s.modality: round(w, 4) for s, w in zip(self._stores, shares, strict=True)}
        return {
            **trained.chosen,
            "parameters": sum(p.numel() for p in module.parameters()),
            "rows_past_the_end": clips.past_the_end,
            "rows_cut": clips.cut,
            **({"modalities": fusion} if fusion else {}),
        }

    def scores(self, places: Places) -> Floats:
        """Return the score of a mistake; shape (places,)."""
        return self._scores(places)[:, 0]

    def kind_scores(self, places: Places) -> Mapping[str, Floats]:
        """Return the score of each kind that was learned, each of shape (places,)."""
        found = self._scores(places) if self._kinds else np.zeros((len(places), 1))
        return {kind: found[:, 1 + i] for i, kind in enumerate(self._kinds)}

    def reasons(self, places: Places, most: int = 5) -> Sequence[tuple[Reason, ...]]:
        """Return nothing: a network of clips cannot say."""
        del most
        return [()] * len(places)

    def _scores(self, places: Places) -> Floats:
        if self._learner is None:
            raise ValueError("fit comes before scores")
        key = places.tobytes()
        if key not in self._scored:  # scores and those of kinds are asked for one after the other
            self._learner.module.eval()
            with torch.inference_mode():
                self._scored[key] = self._learner.scores(places)
        return self._scored[key]

    def _about(self, task: Task, way: Way) -> dict[str, Json]:
        return {
            "model": self._variant, "data": task.data.hash, "features": [s.hash for s in self._stores],
            "split": task.division.split, "observed": task.observed, "protocol": task.protocol,
            "division": task.division.hash, "way": [str(value) for value in vars(way).values()],
        }  # fmt: skip


def _require_usable(task: Task, clips: Clips) -> None:
    for name in ("train", "val"):
        target = task.target[task.division[name]]
        if target.all() or not target.any():
            raise UserError(
                f"all steps of the part '{name}' {'are' if target.all() else 'are without'} mistakes; both kinds are needed.",
                where=f"split {task.division.split}",
                hint="take another split",
            )
    used = np.concatenate([task.division.train, task.division.val, task.division.test])
    if not clips.table.lengths[used].all():
        raise UserError(
            "steps of recordings without features are in the split.", hint="see proctor features check"
        )


def _positive_weights(targets: NDArray[np.float32], mistakes: float) -> Tensor:
    """Return the weight of positives, shape (outputs,): as set for mistakes, balanced for each kind."""
    share = targets.mean(0)
    balanced = np.clip((1 - share) / np.maximum(share, 1e-9), 1.0, _MOST_WEIGHT)
    balanced[0] = mistakes
    return torch.from_numpy(balanced.astype(np.float32))
