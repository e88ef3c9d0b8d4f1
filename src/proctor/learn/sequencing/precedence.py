"""A model of pairs: how probable it is that one step is done before another; the order that agrees with all pairs best is exact.

A score of a pair changes its sign when the two steps are exchanged, so that the two probabilities add up to 1. One temperature,
fitted on the dev part, makes scores probabilities (Guo et al. 2017), and the order is the likeliest one
(``metrics.ordering.decode_pairwise``). Source: ours; sorting by predicted pairs is of Prabhumoye et al. 2020 (arXiv 2005.00432).
"""

from __future__ import annotations

from collections.abc import Sequence as List
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.errors import MissingExtraError, UserError
from proctor.learn.sequencing.data import MODALITY, Ordered, Presented
from proctor.learn.sequencing.pair_texts import PairFeatures, all_pairs, different_pairs
from proctor.learn.sequencing.training import TrainedOrder, Training
from proctor.metrics.ordering import decode_pairwise
from proctor.records import Json, read_json, write_json

if TYPE_CHECKING:
    from proctor.learn.sequencing.pair_head import HeadScorer

__all__ = ["PairwiseOrder", "fit_temperature", "load_pairwise", "train_pairwise"]

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
_TEMPERATURES: Final = np.geomspace(0.1, 10, 101)
_LEAST: Final = 1e-3
"""Nobody is surer than this of a pair."""
_MODEL: Final = "model.json"


class _Saved(msgspec.Struct, frozen=True, kw_only=True):
    """``model.json``; without columns the scores are those of a network, which is beside it."""

    model: Literal["pairwise"]
    temperature: float
    columns: tuple[str, ...] | None
    weights: list[float]


class PairwiseOrder:
    """Orders steps by their pairs, whose log-odds are divided by a temperature; an ``OrderModel``."""

    def __init__(self, scorer: WordScorer | HeadScorer, temperature: float = 1.0) -> None:
        self.scorer, self.temperature = scorer, temperature

    def predict(self, shown: List[Presented]) -> list[Ordered]:
        """Return the likeliest order of each, exact up to 16 steps, and the probability of every pair, 0.001 to 0.999."""
        said = ((1 + np.tanh(odds / self.temperature / 2)) / 2 for odds in self.scorer.scores(shown))
        return [Ordered(decode_pairwise(p).order, p) for p in (s.clip(_LEAST, 1 - _LEAST) for s in said)]

    def save(self, folder: Path) -> None:
        """Write what a network needs, and then ``model.json``."""
        columns, weights = None, []
        if isinstance(self.scorer, WordScorer):
            columns, weights = self.scorer.features.names, self.scorer.weights.tolist()
        else:
            self.scorer.save(folder)
        told = _Saved(model="pairwise", temperature=self.temperature, columns=columns, weights=weights)
        write_json(folder / _MODEL, told)


def fit_temperature(log_odds: Floats) -> float:
    """Return the likeliest temperature for log-odds of pairs in their right order, shape [P].

    Beforehand two in three lie within a factor of e^½ of 1, so that a few pairs move it little.
    """
    losses = [np.logaddexp(0, -log_odds / t).sum() + 2 * np.log(t) ** 2 for t in _TEMPERATURES]
    return float(_TEMPERATURES[int(np.argmin(losses))])


def train_pairwise(training: Training) -> TrainedOrder:
    """Learn from ordered pairs of the train part; strength or epoch, and the temperature, are chosen on the dev part.

    Raises:
        UserError: if the encoder cannot see what is shown, or there is no pair of different steps to learn from.
        MissingExtraError: if scikit-learn is not installed.
    """
    words = training.encoder == "words"
    if words and training.shown == "image":
        raise UserError(
            "the encoder 'words' reads texts, and images are all that is shown.",
            hint="use the encoder 'tiny', or show texts",
        )
    modality = "text" if words else MODALITY[training.shown]
    if not any(len(different_pairs(s, modality)) for s in training.parts.train):
        raise UserError(
            f"the train part has {len(training.parts.train)} sequences and no two different steps in any.",
            hint="give sequences of two steps or more",
        )
    notes: list[str] = []
    dropped: dict[str, int] = {}
    scorer: WordScorer | HeadScorer
    if words:
        scorer, chosen = _train_words(training)
        if training.shown == "both":
            notes.append("The encoder 'words' reads texts only.")
        if training.goal:
            notes.append("The goal stands before both steps of a pair and tells the encoder 'words' nothing.")
    else:
        from proctor.learn.sequencing.pair_head import train_head

        scorer, chosen, dropped = train_head(training)
    dev = [s.view(modality) for s in training.parts.dev]
    pairs = [different_pairs(s, modality) for s in dev]
    scores = scorer.scores([Presented(s, s.authored) for s in dev])
    forward = np.concatenate([[], *(z[p[:, 0], p[:, 1]] for z, p in zip(scores, pairs, strict=True))])
    temperature = fit_temperature(forward)
    chosen = {**chosen, "temperature": temperature, "dev_pairs": len(forward)}
    model = PairwiseOrder(scorer, temperature)
    return TrainedOrder(model=model, chosen=chosen, notes=tuple(notes), dropped=dropped)


def load_pairwise(folder: Path, root: Path = Path()) -> PairwiseOrder:
    """Load what ``PairwiseOrder.save`` wrote; paths of pictures will be relative to ``root``.

    Raises:
        UserError: if a file is missing or damaged.
    """
    saved: _Saved = read_json(folder / _MODEL, _Saved)
    if saved.columns is None:
        from proctor.learn.sequencing.pair_head import HeadScorer

        return PairwiseOrder(HeadScorer.load(folder, root), saved.temperature)
    if len(saved.columns) != len(saved.weights):
        raise UserError(
            f"there are {len(saved.columns)} columns and {len(saved.weights)} weights.",
            where=str(folder / _MODEL),
            hint="train it again with proctor learn sequence --model pairwise",
        )
    return PairwiseOrder(WordScorer(PairFeatures(saved.columns), np.array(saved.weights)), saved.temperature)


class WordScorer:
    """Log-odds that are a weighted sum of remarks on the texts of two steps."""

    def __init__(self, features: PairFeatures, weights: Floats) -> None:
        self.features, self.weights = features, weights

    def scores(self, shown: List[Presented]) -> list[Floats]:
        """Return log-odds that slot i is done before slot j, each [N, N]; a transposed matrix has the opposite signs."""
        found = []
        for one in shown:
            pairs = all_pairs(len(one.slots))
            odds = np.zeros((len(one.slots), len(one.slots)))
            texts = [one.sequence.steps[i].text for i in one.slots]
            odds[pairs[:, 0], pairs[:, 1]] = self.features.table(texts, pairs) @ self.weights
            found.append(odds - odds.T)
        return found


def _train_words(training: Training) -> tuple[WordScorer, dict[str, Json]]:
    try:
        import scipy.sparse
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise MissingExtraError("scikit-learn", "learn", "Learning the order of steps") from None
    rng = np.random.default_rng(training.seed)
    train = []
    for sequence in training.parts.train:
        pairs = different_pairs(sequence, "text")
        if len(pairs) > _MOST_PAIRS:
            pairs = pairs[rng.permutation(len(pairs))[:_MOST_PAIRS]]
        if len(pairs):
            train.append(([step.text for step in sequence.steps], pairs))
    features = PairFeatures.seen(train, _FEWEST if len(train) >= _FEW_MANUALS else 1)
    table: Any = scipy.sparse.vstack([features.table(*manual) for manual in train], format="csr")
    # The root lets long manuals count more than short ones, but not by all their pairs, which depend on one another.
    weight = np.concatenate([np.full(len(p), len(p) ** -0.5) for _, p in train])
    scale = (np.maximum(table.getnnz(axis=0), 1) / 1_000) ** -_RARE
    both: Any = scipy.sparse.vstack([table, -table], format="csr") @ scipy.sparse.diags(scale)
    label = np.repeat([True, False], len(weight))
    weight = np.tile(weight / weight.mean(), 2)
    judged = [(s, p) for s in training.parts.dev if len(p := different_pairs(s, "text"))]
    dev = [features.table([step.text for step in s.steps], p) for s, p in judged]
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
