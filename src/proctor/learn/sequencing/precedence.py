"""A model of pairs: how probable it is that one step is done before another; the order that agrees with all pairs best is exact.

A score of a pair changes its sign when the two steps are exchanged, so that the two probabilities add up to 1. Scores become
probabilities by a map that is fitted on the dev part (``pair_calibration``), and the order is the likeliest one
(``metrics.ordering.decode_pairwise``). Source: ours; sorting by predicted pairs is of Prabhumoye et al. 2020 (arXiv 2005.00432).
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as List
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.errors import MissingExtraError, UserError
from proctor.learn.sequencing.data import MODALITY, Ordered, Presented
from proctor.learn.sequencing.pair_calibration import Calibration, calibrate
from proctor.learn.sequencing.pair_texts import PairFeatures, all_pairs, different_pairs, draw_pairs
from proctor.learn.sequencing.training import TrainedOrder, Training
from proctor.metrics.ordering import PartialOrder, decode_pairwise
from proctor.procedure.manual import Modality, Order, Sequence
from proctor.records import Json

__all__ = ["PairScorer", "PairwiseOrder", "likeliest_order", "load_pairwise", "train_pairwise"]

Floats = NDArray[np.float64]

STRENGTHS: Final = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032)
"""Inverse weights of the penalty, of which one is chosen on the dev part."""
_USUAL: Final = 0.008
_FEWEST: Final = 2
"""Manuals that a remark has to occur in, where there are enough to count."""
_FEW_MANUALS: Final = 10
_RARE: Final = 0.2
"""A column that is filled in n rows is multiplied by n to the power of minus this: rare remarks say more (chosen on dev parts)."""
_MOST_PAIRS: Final = 150
"""Of one manual; of a longer one so many are drawn."""
_MODEL, _COLUMNS, _WEIGHTS = "model.json", "columns.json", "weights.npz"


class PairScorer(Protocol):
    """Scores pairs of steps.

    Attributes:
        encoder: as ``Training`` spells it.
    """

    encoder: str

    def scores(self, shown: Presented) -> Floats:
        """Return log-odds that slot i is done before slot j, shape [N, N]; the transposed matrix has the opposite signs."""
        ...

    def save(self, folder: Path) -> None:
        """Write all that is needed to load it again."""
        ...


class _Description(msgspec.Struct, frozen=True, kw_only=True):
    """What ``model.json`` holds."""

    model: str
    encoder: str
    calibration: Calibration


class PairwiseOrder:
    """Orders steps by their pairs; an ``OrderModel``.

    Args:
        scorer: of pairs.
        calibration: makes its scores probabilities.
    """

    def __init__(self, scorer: PairScorer, calibration: Calibration) -> None:
        self.scorer, self.calibration = scorer, calibration

    def predict(self, shown: List[Presented]) -> list[Ordered]:
        """Return the likeliest order of each, exact up to 16 steps, and the probability of every pair."""
        found = []
        for item in shown:
            precedence = self.calibration(self.scorer.scores(item))
            found.append(Ordered(likeliest_order(precedence), precedence))
        return found

    def save(self, folder: Path) -> None:
        """Write ``model.json`` and what the scorer needs."""
        folder.mkdir(parents=True, exist_ok=True)
        about = _Description(model="pairwise", encoder=self.scorer.encoder, calibration=self.calibration)
        (folder / _MODEL).write_bytes(msgspec.json.format(msgspec.json.encode(about)) + b"\n")
        self.scorer.save(folder)


def likeliest_order(precedence: Floats, before: Iterable[tuple[int, int]] = ()) -> Order:
    """Return the order that agrees with all pairs best: exact up to 16 steps, a local search beyond.

    Args:
        precedence: probability that slot i is done before slot j, shape [N, N].
        before: pairs of slots that the order has to keep. An order is judged by the sum of the log-odds of its pairs, so all
            of them can be made so small that a kept pair outweighs them together. A local search keeps them too: of two
            slots that are the wrong way round and nearest to one another, the first can be moved behind the second.

    Raises:
        MetricInputError: if these pairs hold a cycle.
    """
    kept = list(PartialOrder(range(len(precedence)), before).relations)
    if not kept:
        return decode_pairwise(precedence).order
    odds = np.log(precedence / (1 - precedence))
    small = 1 / (1 + np.exp(-odds / (1 + np.abs(odds).sum())))
    first, second = np.array(kept, np.int64).T
    small[first, second], small[second, first] = 1.0, 0.0
    return decode_pairwise(small).order


def train_pairwise(training: Training) -> TrainedOrder:
    """Learn from all ordered pairs of the train part; strength and calibration are chosen on the dev part.

    Raises:
        UserError: if the encoder cannot see what is shown, or there is no pair of different steps to learn from.
        MissingExtraError: if scikit-learn is not installed.
    """
    if training.pretrain:
        raise UserError(
            "the pairwise model has no pretraining.", hint="leave out --pretrain, or take --model berson"
        )
    if training.encoder == "words" and training.shown == "image":
        raise UserError(
            "the encoder 'words' reads texts, and images are all that is shown.",
            hint="use the encoder 'tiny', or show texts",
        )
    modality = "text" if training.encoder == "words" else MODALITY[training.shown]
    if not any(len(different_pairs(s, modality)) for s in training.parts.train):
        raise UserError(
            f"the train part has {len(training.parts.train)} sequences and no two different steps in any.",
            hint="give sequences of two steps or more",
        )
    notes, dropped = [], {}
    scorer: PairScorer
    if training.encoder == "words":
        scorer, chosen = _train_words(training)
        if training.shown == "both":
            notes.append("The encoder 'words' reads texts only.")
        if training.goal:
            notes.append("The goal stands before both steps of a pair and tells the encoder 'words' nothing.")
    else:
        from proctor.learn.sequencing.pair_head import train_head

        scorer, chosen = train_head(training)
        dropped = dict(scorer.dropped)
    views = [s.view(modality) for s in training.parts.dev]
    forward = [scores for s in views if (scores := _forward(scorer, s, modality)).size]
    calibration, losses = calibrate(forward)
    return TrainedOrder(
        model=PairwiseOrder(scorer, calibration),
        chosen={
            **chosen,
            "calibration": calibration.kind,
            "calibration_factor": calibration.factor,
            "dev_loss_by_calibration": {name: round(loss, 6) for name, loss in losses.items()},
            "dev_pairs": sum(map(len, forward)),
        },
        notes=tuple(notes),
        dropped=dropped,
    )


def load_pairwise(folder: Path, root: Path = Path()) -> PairwiseOrder:
    """Load what ``PairwiseOrder.save`` wrote.

    Args:
        folder: of the run.
        root: folder that paths of pictures are relative to.

    Raises:
        UserError: if a file is missing or damaged.
    """
    try:
        about = msgspec.json.decode((folder / _MODEL).read_bytes(), type=_Description)
        if about.encoder == "words":
            return PairwiseOrder(WordScorer.load(folder), about.calibration)
    except (OSError, ValueError, KeyError, msgspec.MsgspecError) as error:
        raise UserError(
            f"there is no pairwise model that can be loaded: {error}",
            where=str(folder),
            hint="train it again with 'proctor learn sequence --model pairwise'",
        ) from error
    from proctor.learn.sequencing.pair_head import HeadScorer

    return PairwiseOrder(HeadScorer.load(folder, root), about.calibration)


class WordScorer:
    """Log-odds that are a weighted sum of remarks on the texts of two steps.

    Args:
        features: the remarks.
        weights: of each, shape [columns].
    """

    encoder = "words"

    def __init__(self, features: PairFeatures, weights: Floats) -> None:
        self.features, self.weights = features, weights

    def scores(self, shown: Presented) -> Floats:
        """Return log-odds, shape [N, N]."""
        texts = [shown.sequence.steps[i].text for i in shown.slots]
        pairs = all_pairs(len(texts))
        found = np.zeros((len(texts), len(texts)))
        found[pairs[:, 0], pairs[:, 1]] = self.features.table(texts, pairs) @ self.weights
        result: Floats = found - found.T
        return result

    def save(self, folder: Path) -> None:
        """Write the names of the columns and their weights."""
        (folder / _COLUMNS).write_bytes(msgspec.json.encode(self.features.names))
        np.savez(folder / _WEIGHTS, weights=self.weights)

    @classmethod
    def load(cls, folder: Path) -> WordScorer:
        """Read what ``save`` wrote.

        Raises:
            OSError, ValueError, KeyError: if a file is missing or damaged.
        """
        names = msgspec.json.decode((folder / _COLUMNS).read_bytes(), type=list[str])
        with np.load(folder / _WEIGHTS, allow_pickle=False) as stored:
            weights = np.asarray(stored["weights"], np.float64)
        if weights.shape != (len(names),):
            raise ValueError(f"{len(names)} columns and weights of shape {list(weights.shape)}")
        return cls(PairFeatures(names), weights)


def _forward(scorer: PairScorer, sequence: Sequence, modality: Modality) -> Floats:
    """Return the log-odds of the pairs of different steps in the order in which they are done, shape [P]."""
    pairs = different_pairs(sequence, modality)
    scores = scorer.scores(Presented(sequence, sequence.authored))
    found: Floats = scores[pairs[:, 0], pairs[:, 1]]
    return found


def _train_words(training: Training) -> tuple[WordScorer, dict[str, Json]]:
    try:
        import scipy.sparse
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise MissingExtraError("scikit-learn", "learn", "Learning the order of steps") from None
    rng = np.random.default_rng(training.seed)
    train = [
        (_texts(s), draw_pairs(different_pairs(s, "text"), _MOST_PAIRS, rng)) for s in training.parts.train
    ]
    train = [(texts, pairs) for texts, pairs in train if len(pairs)]
    features = PairFeatures.seen(train, _FEWEST if len(train) >= _FEW_MANUALS else 1)
    table: Any = scipy.sparse.vstack([features.table(*manual) for manual in train], format="csr")
    # The root lets long manuals count more than short ones, but not by all their pairs, which depend on one another.
    weight = np.concatenate([np.full(len(p), len(p) ** -0.5) for _, p in train])
    scale = (np.maximum(table.getnnz(axis=0), 1) / 1_000) ** -_RARE
    both: Any = scipy.sparse.vstack([table, -table], format="csr") @ scipy.sparse.diags(scale)
    label = np.repeat([True, False], len(weight))
    weight = np.tile(weight / weight.mean(), 2)
    dev = [features.table(_texts(s), p) for s in training.parts.dev if len(p := different_pairs(s, "text"))]
    tried: dict[float, tuple[float, WordScorer]] = {}
    for strength in STRENGTHS:
        model = LogisticRegression(C=strength, fit_intercept=False, solver="liblinear", max_iter=1_000)
        model.fit(both, label, sample_weight=weight)
        weights = np.asarray(model.coef_[0] * scale, np.float64)
        losses = [np.logaddexp(0, -(t @ weights)).mean() for t in dev] or [abs(np.log(strength / _USUAL))]
        tried[strength] = (float(np.mean(losses)), WordScorer(features, weights))
    best = min(tried, key=lambda strength: tried[strength][0])
    return tried[best][1], {
        "strength": best,
        "dev_loss_by_strength": {str(k): round(loss, 6) for k, (loss, _) in tried.items()},
        "columns": len(features.names),
        "train_pairs": int(table.shape[0]),
    }


def _texts(sequence: Sequence) -> list[str]:
    return [step.text for step in sequence.steps]
