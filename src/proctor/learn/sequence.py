"""A small transformer over the steps of one recording.

A token is a step: its context features and, where features of a video are given, their mean over the step. What two steps
are to each other in the task graph (earlier, later, the same, neither) and in time is learned as a bias of attention, a
number for each relation and head. In the causal setting a step attends to those only that were over when it was.

This module imports torch: import it late.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from proctor.learn.context import Setting, moment_of, relations_of
from proctor.learn.features.store import FeatureStore
from proctor.learn.recogniser import Reason, Task
from proctor.learn.samples import KINDS, StepData
from proctor.learn.settings import TrainOptions, TrainSettings
from proctor.learn.tabular import context_of, known_kinds
from proctor.learn.trainer import Show, fit, seeded
from proctor.metrics.classification import roc_auc
from proctor.records import Json

__all__ = ["SEQUENCE_TRAINING", "SequenceModel", "SequenceNetwork", "pooled_features"]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

SEQUENCE_TRAINING: Final = TrainSettings(
    epochs=60, batch=16, lr=1e-3, weight_decay=1e-3, pos_weight=1.0, patience=15, plateau=5
)

_RELATIONS: Final = 12
"""Four in the graph times three in time."""


class SequenceNetwork(nn.Module):
    """Layers of attention with a bias for every relation of two steps.

    Args:
        features: of each step.
        width: of the tokens.
        layers: of attention.
        heads: of each layer.
        dropout: of tokens and weights; also of whole features at the entry.
    """

    def __init__(
        self, features: int, width: int = 64, layers: int = 2, heads: int = 4, dropout: float = 0.3
    ) -> None:
        super().__init__()
        self.entry = nn.Sequential(nn.Dropout(dropout / 3), nn.Linear(features, width))
        self.layers = nn.ModuleList(_Layer(width, heads, dropout) for _ in range(layers))
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Dropout(dropout), nn.Linear(width, 1 + len(KINDS)))

    def forward(self, x: Tensor, relation: Tensor, seen: Tensor) -> Tensor:
        """Return log-odds of a mistake, and of each kind; shape (recordings, steps, 1 + kinds).

        Args:
            x: features, shape (recordings, steps, features).
            relation: number of the relation of each pair, shape (recordings, steps, steps).
            seen: whether the first of a pair attends to the second; a step must attend to something.
        """
        x = self.entry(x)
        for layer in self.layers:
            x = layer(x, relation, seen)
        found: Tensor = self.head(x)
        return found


class _Layer(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.project, self.join = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.bias = nn.Embedding(_RELATIONS, heads)
        nn.init.zeros_(self.bias.weight)
        self.forth = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(dropout), nn.Linear(2 * width, width)
        )

    def forward(self, x: Tensor, relation: Tensor, seen: Tensor) -> Tensor:
        items, steps, width = x.shape
        parts = self.project(self.before(x)).view(items, steps, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        bias = self.bias(relation).permute(0, 3, 1, 2).masked_fill(~seen[:, None], float("-inf"))
        joined = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        x = x + functional.dropout(
            self.join(joined.transpose(1, 2).reshape(x.shape)), self.dropout, self.training
        )
        found: Tensor = x + functional.dropout(self.forth(self.between(x)), self.dropout, self.training)
        return found


class SequenceModel:
    """The transformer as a recogniser.

    Args:
        setting: ``causal`` or ``offline``.
        stores: features of videos, each pooled over the step as further columns.
        options: what is set of training.
        folder: for checkpoints and the log; None keeps none.
        show: shows the progress of training.
        anew: a checkpoint of something else is written over.
    """

    def __init__(
        self,
        setting: Setting = "causal",
        stores: Sequence[FeatureStore] = (),
        options: TrainOptions | None = None,
        folder: Path | None = None,
        show: Show | None = None,
        anew: bool = False,
    ) -> None:
        self.setting: Setting = setting
        self.name = f"sequence-{setting}"
        self._stores, self._folder, self._show = tuple(stores), folder, show
        self._anew = anew
        self._training = (options or TrainOptions()).over(SEQUENCE_TRAINING)

    def fit(self, task: Task) -> Mapping[str, object]:
        """Learn, choosing the epoch by the AUC on the validation part.

        Raises:
            UserError: if the training or the validation part holds one class only, or as ``trainer.fit``.
        """
        pooled = [pooled_features(task.data, store, task.observed) for store in self._stores]
        columns = np.concatenate([context_of(task, self.setting).values, *pooled], axis=1)
        self._steps = _Sequences.of(task, _standardised(columns, task.division.train), self.setting)
        self._kinds = known_kinds(task)
        about: dict[str, Json] = {
            "model": self.name,
            "data": task.data.hash,
            "features": [store.hash for store in self._stores],
            "split": task.division.split,
            "division": task.division.hash,
            "observed": task.observed,
            "protocol": task.protocol,
        }
        with _one_thread():
            with seeded(task.seed):
                network = SequenceNetwork(columns.shape[1])
            learner = _SequenceLearner(network, self._steps, task, self._training.batch)
            trained = fit(
                learner, self._training, self._folder,
                seed=task.seed, about=about, show=self._show, anew=self._anew,
            )  # fmt: skip
            self._found = learner.log_odds()
        past = sum(rows_past_the_end(task.data, store, task.observed) for store in self._stores)
        return trained.chosen | {"features": columns.shape[1], "rows_past_the_end": past}

    def scores(self, places: Places) -> Floats:
        """Return the probability of a mistake."""
        return _probability(self._found[places, 0])

    def reasons(self, places: Places, most: int = 5) -> Sequence[tuple[Reason, ...]]:  # noqa: ARG002 - it has none
        """Return nothing: attention is no reason."""
        return [() for _ in places]

    def kind_scores(self, places: Places) -> Mapping[str, Floats]:
        """Return the probability of each kind that is frequent enough in training, of the same network."""
        return {kind: _probability(self._found[places, 1 + KINDS.index(kind)]) for kind in self._kinds}


def pooled_features(data: StepData, store: FeatureStore, observed: float = 1.0) -> NDArray[np.float32]:
    """Return the mean of the rows of each step, of all its executions; zeros where the store has none.

    Shape (samples, width of the store).
    """
    found = np.zeros((len(data.samples), store.width), np.float32)
    for place, sample in enumerate(data.samples):
        if sample.recording_id not in store:
            continue
        rows = [
            store.window(sample.recording_id, e.start, e.start + observed * e.seconds)
            for e in sample.executions
        ]
        together = np.concatenate(rows).astype(np.float32)
        if len(together):
            found[place] = np.nan_to_num(together, nan=0.0, posinf=1.0, neginf=-1.0).mean(axis=0)
    return found


def rows_past_the_end(data: StepData, store: FeatureStore, observed: float = 1.0) -> int:
    """Return how many of the rows that are pooled are zeros because the features end before the annotation."""
    return sum(
        int((store.places(sample.recording_id, e.start, e.start + observed * e.seconds) < 0).sum())
        for sample in data.samples
        if sample.recording_id in store
        for e in sample.executions
    )


@dataclass(frozen=True)
class _Sequences:
    """All recordings, padded to the longest.

    Attributes:
        x: shape (recordings, steps, features).
        relation: shape (recordings, steps, steps).
        seen: likewise; a padded step sees itself.
        place: of each step among the samples, -1 where there is none; shape (recordings, steps).
    """

    x: Tensor
    relation: Tensor
    seen: Tensor
    place: NDArray[np.int64]

    @classmethod
    def of(cls, task: Task, columns: Floats, setting: Setting) -> _Sequences:
        groups: dict[str, list[int]] = {}
        for n, sample in enumerate(task.data.samples):
            groups.setdefault(sample.recording_id, []).append(n)
        rows, longest = len(groups), max(map(len, groups.values()))
        place = np.full((rows, longest), -1)
        relation = np.zeros((rows, longest, longest), np.int64)
        seen = np.zeros((rows, longest, longest), np.bool_)
        seen[:, np.arange(longest), np.arange(longest)] = True
        for row, group in enumerate(groups.values()):
            k = len(group)
            place[row, :k] = group
            moment = np.array([moment_of(task.data.samples[p], task.observed) for p in group])
            # where a share is seen: the moment of a step that still runs would tell how long it is going to take
            end = np.array([moment_of(task.data.samples[p]) for p in group])
            relation[row, :k, :k] = 3 * _in_graph(task.data, group) + np.sign(moment[:, None] - moment) + 1
            seen[row, :k, :k] |= moment[:, None] >= end if setting == "causal" else True
        x = np.where((place >= 0)[..., None], columns[place], 0.0).astype(np.float32)
        return cls(torch.from_numpy(x), torch.from_numpy(relation), torch.from_numpy(seen), place)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute in one thread: the network is too small for two, and the order of sums is then that of every machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _in_graph(data: StepData, places: Sequence[int]) -> NDArray[np.int64]:
    """Return 0 for neither, 1 where the second is an earlier step, 2 where a later one, 3 the same; shape (k, k)."""
    samples = [data.samples[p] for p in places]
    graph = relations_of(data, samples[0].activity_id)
    node = np.array([graph.index.get(s.node, -1) for s in samples])
    above = graph.above[np.ix_(node, node)] & (node >= 0) & (node >= 0)[:, None]
    found = np.where(above.T, 1, np.where(above, 2, 0))
    np.fill_diagonal(found, 3)
    return found


def _standardised(columns: Floats, train: Places) -> Floats:
    """Bring columns to mean 0 and deviation 1 of the training part; what is not known becomes 0."""
    known = np.isfinite(columns[train])
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, columns[train], 0).sum(axis=0) / count
    deviation = np.sqrt((np.where(known, columns[train] - mean, 0) ** 2).sum(axis=0) / count)
    scaled = (columns - mean) / np.where(deviation > 0, deviation, 1)
    return np.asarray(np.clip(np.nan_to_num(scaled), -5, 5), np.float64)


def _probability(log_odds: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-log_odds)), np.float64)


class _SequenceLearner:
    """Batches are recordings; only steps of the training part teach."""

    def __init__(self, module: SequenceNetwork, steps: _Sequences, task: Task, batch: int) -> None:
        self.module: nn.Module = module
        self.steps, self.task, self.batch = steps, task, batch
        self.wanted = np.stack([task.target, *(task.data.of_kind(kind) for kind in KINDS)], axis=1)
        self.teaches = np.zeros(len(task.data.samples) + 1, np.bool_)  # the last is the padding's
        self.teaches[task.division.train] = True
        self.recordings = np.flatnonzero(self.teaches[steps.place].any(axis=1))

    def batches(self, generator: np.random.Generator) -> Sequence[Places]:
        drawn = generator.permutation(self.recordings)
        return [drawn[i : i + self.batch] for i in range(0, len(drawn), self.batch)]

    def _forward(self, rows: Places) -> Tensor:
        device = next(self.module.parameters()).device
        parts = (self.steps.x, self.steps.relation, self.steps.seen)
        found: Tensor = self.module(*(part[rows].to(device) for part in parts))
        return found

    def loss(self, items: Places) -> Tensor:
        place = self.steps.place[items]
        teaches = self.teaches[place]
        found = self._forward(items)[torch.from_numpy(teaches)]
        wanted = torch.from_numpy(self.wanted[place[teaches]]).to(found)
        each = functional.binary_cross_entropy_with_logits(found, wanted, reduction="none").mean(dim=0)
        return each[0] + each[1:].mean()

    def validate(self) -> float:
        val = self.task.division.val
        return roc_auc(self.task.target[val], self.log_odds()[val, 0], resamples=0).value

    def log_odds(self) -> Floats:
        """Return what the network says of every sample; shape (samples, 1 + kinds)."""
        self.module.eval()
        found = np.zeros(self.wanted.shape)
        with torch.inference_mode():
            for rows in np.array_split(np.arange(len(self.steps.place)), 8):
                here = self.steps.place[rows] >= 0
                found[self.steps.place[rows][here]] = self._forward(rows).float().cpu().numpy()[here]
        return found
