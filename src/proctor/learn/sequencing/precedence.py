"""A model of pairs: how probable it is that one step is done before another; the order that agrees with all pairs best is exact.

A score of a pair changes its sign when the two steps are exchanged, so that the two probabilities add up to 1. One temperature,
fitted on the dev part, makes scores probabilities (Guo et al. 2017), and the order is the likeliest one
(``metrics.ordering.decode_pairwise``). Source: ours; sorting by predicted pairs is of Prabhumoye et al. 2020 (arXiv 2005.00432).
"""

from __future__ import annotations

from collections.abc import Sequence as List
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.errors import MissingExtraError, UserError
from proctor.learn.sequencing.data import MODALITY, Ordered, Presented
from proctor.learn.sequencing.pair_texts import PairFeatures, all_pairs, different_pairs, draw_pairs
from proctor.learn.sequencing.training import TrainedOrder, Training
from proctor.metrics.ordering import decode_pairwise
from proctor.procedure.manual import Sequence
from proctor.records import Json, read_json, write_json

__all__ = ["PairScorer", "PairwiseOrder", "fit_temperature", "load_pairwise", "train_pairwise"]

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
_MODEL, _WORDS = "model.json", "words.json"


class PairScorer(Protocol):
    """Scores pairs of steps."""

    def scores(self, shown: List[Presented]) -> list[Floats]:
        """Return log-odds that slot i is done before slot j, each [N, N]; a transposed matrix has the opposite signs."""
        ...

    def save(self, folder: Path) -> None:
        """Write all that is needed to load it again."""
        ...


class _Saved(msgspec.Struct, frozen=True, kw_only=True):
    """``model.json``."""

    model: Literal["pairwise"]
    words: bool
    temperature: float


class PairwiseOrder:
    """Orders steps by their pairs; an ``OrderModel``.

    Args:
        scorer: of pairs.
        temperature: log-odds are divided by it; above 1 where the scorer is too sure.
    """

    def __init__(self, scorer: PairScorer, temperature: float = 1.0) -> None:
        self.scorer, self.temperature = scorer, temperature

    def predict(self, shown: List[Presented]) -> list[Ordered]:
        """Return the likeliest order of each, exact up to 16 steps, and the probability of every pair, 0.001 to 0.999."""
        said = ((1 + np.tanh(odds / self.temperature / 2)) / 2 for odds in self.scorer.scores(shown))
        return [Ordered(decode_pairwise(p).order, p) for p in (s.clip(_LEAST, 1 - _LEAST) for s in said)]

    def save(self, folder: Path) -> None:
        """Write what the scorer needs, and then ``model.json``."""
        folder.mkdir(parents=True, exist_ok=True)
        self.scorer.save(folder)
        words = isinstance(self.scorer, WordScorer)
        write_json(folder / _MODEL, _Saved(model="pairwise", words=words, temperature=self.temperature))


def fit_temperature(log_odds: Floats) -> float:
    """Return the likeliest temperature; beforehand two in three lie within a factor of e^½ of 1, so that a few pairs move it little.

    Args:
        log_odds: of pairs in the order in which they are done, shape [P].
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
    if training.pretrain:
        raise UserError(
            "the pairwise model has no pretraining.", hint="leave out --pretrain, or take --model berson"
        )
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
    scorer: PairScorer
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
    if saved.words:
        return PairwiseOrder(WordScorer.load(folder), saved.temperature)
    from proctor.learn.sequencing.pair_head import HeadScorer

    return PairwiseOrder(HeadScorer.load(folder, root), saved.temperature)


class _SavedWords(msgspec.Struct, frozen=True):
    """``words.json``: remarks and what each is worth."""

    columns: list[str]
    weights: list[float]


class WordScorer:
    """Log-odds that are a weighted sum of remarks on the texts of two steps.

    Args:
        features: the remarks.
        weights: of each, shape [columns].
    """

    def __init__(self, features: PairFeatures, weights: Floats) -> None:
        self.features, self.weights = features, weights

    def scores(self, shown: List[Presented]) -> list[Floats]:
        """Return log-odds, each [N, N]."""
        return [self._scores([p.sequence.steps[i].text for i in p.slots]) for p in shown]

    def _scores(self, texts: List[str]) -> Floats:
        pairs = all_pairs(len(texts))
        found = np.zeros((len(texts), len(texts)))
        found[pairs[:, 0], pairs[:, 1]] = self.features.table(texts, pairs) @ self.weights
        result: Floats = found - found.T
        return result

    def save(self, folder: Path) -> None:
        """Write ``words.json``."""
        write_json(folder / _WORDS, _SavedWords(list(self.features.names), self.weights.tolist()))

    @classmethod
    def load(cls, folder: Path) -> WordScorer:
        """Read what ``save`` wrote.

        Raises:
            UserError: if the file is missing or damaged.
        """
        saved: _SavedWords = read_json(folder / _WORDS, _SavedWords)
        if len(saved.columns) != len(saved.weights):
            raise UserError(
                f"there are {len(saved.columns)} columns and {len(saved.weights)} weights.",
                where=str(folder / _WORDS),
                hint="train it again with proctor learn sequence --model pairwise",
            )
        return cls(PairFeatures(saved.columns), np.array(saved.weights))


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
