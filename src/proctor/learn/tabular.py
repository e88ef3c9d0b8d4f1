"""Recognisers over a table of features: the floor that needs no pixels, and the context model.

The floor is what every model that looks at videos has to beat. The context model is a gradient-boosted ensemble of trees
(LightGBM, Ke et al. 2017) over ``context.context_features``; its reasons are exact Shapley values of the trees (Lundberg
et al. 2020), in log-odds. Both are the same on every machine: one thread, fixed order of sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from proctor.errors import MissingExtraError, UserError
from proctor.learn.context import Features, Setting, context_features
from proctor.learn.history import StepKeys, learn_histories, learn_history
from proctor.learn.recogniser import Reason, Task
from proctor.learn.samples import KINDS, Division
from proctor.metrics.classification import roc_auc

__all__ = ["BOOSTING", "PENALTIES", "ContextModel", "Floor", "context_of", "known_kinds"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Places = NDArray[np.int64]

BOOSTING: Final[Mapping[str, Mapping[str, int]]] = {
    "small": {"num_leaves": 7, "min_child_samples": 20},
    "middle": {"num_leaves": 15, "min_child_samples": 20},
    "large": {"num_leaves": 31, "min_child_samples": 20},
}
"""Sizes of trees, of which one is chosen on the validation part."""

_COMMON: Final[Mapping[str, object]] = {
    "objective": "binary",
    "metric": "auc",
    "learning_rate": 0.05,
    "max_bin": 63,
    "feature_fraction": 0.4,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "lambda_l2": 5.0,
    "deterministic": True,
    "force_col_wise": True,
    "num_threads": 1,
    "verbose": -1,
}
_MOST_ROUNDS: Final = 2_000
_PATIENCE: Final = 60
_ROUNDS_WITHOUT_CHOICE: Final = 150
_TRIED_MEMBERS: Final = 2
"""Ensembles that a choice is made with, and that tell a kind of mistake."""

PENALTIES: Final[Mapping[str, float]] = {"strong": 0.01, "middle": 0.1, "weak": 1.0}
"""Inverse weights of the penalty, of which logistic regression chooses one on the validation part."""

_FEWEST_OF_A_KIND: Final = 5


def context_of(task: Task, setting: Setting) -> Features:
    """Return the context features of a task: what training recordings tell is out of fold, and hides what is not seen.

    Raises:
        UserError: if the training part holds one class only, or the setting knows what is to be hidden.
    """
    _require_both(task)
    histories = learn_histories(task.data, task.division.train, task.target, task.seed)
    return context_features(task.data, histories, setting, task.observed)


class Floor:
    """Logistic regression on five numbers of a step; whoever looks at videos has to beat it.

    They are the rate of mistakes of the step in training, the log of its length against the usual one, the square and the
    absolute value of that, and whether an immediate predecessor in the task graph has not begun. Of a step with several
    executions the first one's length counts. Rates are not out of fold, as five numbers cannot learn labels by heart.
    """

    name = "floor"

    def fit(self, task: Task) -> Mapping[str, object]:
        """Learn; nothing is chosen."""
        features = context_of(task, "local")
        keys, data = StepKeys.of(task.data), task.data
        history = learn_history(data, task.division.train, task.target, keys)
        seconds = np.array([s.executions[0].seconds for s in data.samples]) * task.observed
        ratio = np.log(np.maximum(seconds, 0.1)) - history.usual[keys.step]
        if task.observed < 1:  # how long it takes is not known yet, only that it is too long already
            ratio = np.maximum(ratio, 0)
        unmet = features.values[:, features.names.index("immediate predecessors not begun")] > 0
        columns: Mapping[str, Floats] = {
            "mistakes in this step": history.rate[keys.step],
            "log length against usual": ratio,
            "squared distance of length": ratio**2,
            "distance of length from usual": np.abs(ratio),
            "an immediate predecessor has not begun": unmet.astype(np.float64),
        }
        self._values = np.stack(list(columns.values()), axis=1)
        self._names = tuple(columns)
        self._model = _Logistic.fit(self._values, task.target, task.division.train, 1.0)
        return {}

    def scores(self, places: Places) -> Floats:
        """Return the probability of a mistake."""
        return _probability(self._model.log_odds(self._values[places]))

    def reasons(self, places: Places, most: int = 5) -> Sequence[tuple[Reason, ...]]:
        """Return what each number adds to the log-odds, against the mean of training."""
        values = self._values[places]
        return _reasons(self._names, values, self._model.contributions(values)[:, :-1], most)

    def kind_scores(self, places: Places) -> Mapping[str, Floats]:  # noqa: ARG002 - it knows none
        """Return nothing: it knows no kinds."""
        return {}


class ContextModel:
    """What the step, the graph and the recording tell of a mistake, without pixels.

    Args:
        setting: what it knows; see ``context``.
        estimator: gradient boosting, or logistic regression on the same features.
        members: ensembles of different seeds, whose log-odds are averaged.
    """

    def __init__(
        self,
        setting: Setting = "causal",
        estimator: Literal["boosting", "logistic"] = "boosting",
        members: int = 5,
    ) -> None:
        self.setting: Setting = setting
        self.estimator, self.members = estimator, members
        self.name = setting if setting in ("local", "step") else f"context-{setting}"
        if estimator == "logistic":
            self.name += "-logistic"

    def fit(self, task: Task) -> Mapping[str, object]:
        """Learn, and choose the size of the trees (or the penalty) by the AUC on the validation part."""
        self._features = context_of(task, self.setting)
        self._seed, self._division = task.seed, task.division
        val = task.target[task.division.val]
        choices = self._choices if val.any() and not val.all() else self._choices[1:2]
        tried = {name: self._model_of(task.target, name, _TRIED_MEMBERS) for name in choices}
        values = self._features.values[task.division.val]
        # NaN where the validation part has one class
        aucs = {n: roc_auc(val, model.log_odds(values), resamples=0).value for n, model in tried.items()}
        best = max(choices, key=lambda name: aucs[name])
        self._model = self._model_of(task.target, best, self.members)
        self._kinds = {
            kind: self._model_of(task.data.of_kind(kind), self._choices[1], _TRIED_MEMBERS)
            for kind in known_kinds(task)
        }
        return {
            "choice": best,
            "auc_val": {name: round(auc, 6) for name, auc in aucs.items()},
            "rounds": self._model.rounds,
            "features": len(self._features.names),
        }

    @property
    def _choices(self) -> tuple[str, ...]:
        return tuple(BOOSTING if self.estimator == "boosting" else PENALTIES)

    def _model_of(self, target: Bools, choice: str, members: int) -> _Model:
        values, division = self._features.values, self._division
        if self.estimator == "logistic":
            return _Logistic.fit(values, target, division.train, PENALTIES[choice])
        seeds = [self._seed * 1_000 + member for member in range(members)]
        return _Boosted.fit(values, target, division, BOOSTING[choice], seeds)

    def scores(self, places: Places) -> Floats:
        """Return the probability of a mistake."""
        return _probability(self._model.log_odds(self._features.values[places]))

    def reasons(self, places: Places, most: int = 5) -> Sequence[tuple[Reason, ...]]:
        """Return what each feature adds to the log-odds, against the mean of training."""
        values = self._features.values[places]
        return _reasons(self._features.names, values, self._model.contributions(values)[:, :-1], most)

    def kind_scores(self, places: Places) -> Mapping[str, Floats]:
        """Return the probability of each kind that is frequent enough in training, each learned by a model of its own."""
        values = self._features.values[places]
        return {kind: _probability(model.log_odds(values)) for kind, model in self._kinds.items()}


# -- models of one target ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Logistic:
    """Logistic regression on standardised features; unknown values take the median of training."""

    middle: Floats
    mean: Floats
    deviation: Floats
    weight: Floats
    offset: float
    rounds: tuple[int, ...] = ()

    @classmethod
    def fit(cls, values: Floats, target: Bools, train: Places, strength: float) -> _Logistic:
        linear_model = _load("sklearn.linear_model")
        known = values[train]
        empty = np.isnan(known).all(axis=0)
        middle = np.where(empty, 0.0, np.nanmedian(np.where(empty, 0.0, known), axis=0))
        filled = np.where(np.isnan(known), middle, known)
        mean, deviation = filled.mean(axis=0), filled.std(axis=0)
        deviation[deviation == 0] = 1
        model = linear_model.LogisticRegression(C=strength, max_iter=2_000)
        model.fit((filled - mean) / deviation, target[train])
        return cls(middle, mean, deviation, model.coef_[0], float(model.intercept_[0]))

    def contributions(self, values: Floats) -> Floats:
        """Return what each feature adds, and the constant last; shape (rows, features + 1)."""
        filled = np.where(np.isnan(values), self.middle, values)
        added = (filled - self.mean) / self.deviation * self.weight
        return np.concatenate([added, np.full((len(values), 1), self.offset)], axis=1)

    def log_odds(self, values: Floats) -> Floats:
        """Return the log-odds; shape (rows,)."""
        return np.asarray(self.contributions(values).sum(axis=1), np.float64)


@dataclass(frozen=True)
class _Boosted:
    """Ensembles of trees of different seeds; their log-odds are averaged."""

    members: tuple[Any, ...]
    rounds: tuple[int, ...]

    @classmethod
    def fit(
        cls,
        values: Floats,
        target: Bools,
        division: Division,
        size: Mapping[str, int],
        seeds: Sequence[int],
    ) -> _Boosted:
        lightgbm = _load("lightgbm")
        seen = target[division.val]
        choosable = bool(seen.any() and not seen.all())
        members = []
        for seed in seeds:
            settings = {**_COMMON, **size, "seed": seed}
            train = lightgbm.Dataset(values[division.train], target[division.train])
            if not choosable:
                members.append(lightgbm.train(settings, train, _ROUNDS_WITHOUT_CHOICE))
                continue
            val = lightgbm.Dataset(values[division.val], target[division.val], reference=train)
            stop = lightgbm.early_stopping(_PATIENCE, verbose=False)
            members.append(lightgbm.train(settings, train, _MOST_ROUNDS, [val], callbacks=[stop]))
        rounds = tuple(member.best_iteration or _ROUNDS_WITHOUT_CHOICE for member in members)
        return cls(tuple(members), rounds)

    def contributions(self, values: Floats) -> Floats:
        """Return the Shapley value of each feature, and the mean last; shape (rows, features + 1)."""
        each = [member.predict(values, pred_contrib=True) for member in self.members]
        return np.asarray(np.mean(each, axis=0), np.float64)

    def log_odds(self, values: Floats) -> Floats:
        """Return the log-odds; shape (rows,)."""
        each = [member.predict(values, raw_score=True) for member in self.members]
        return np.asarray(np.mean(each, axis=0), np.float64)


_Model = _Logistic | _Boosted


def _load(module: str) -> Any:
    """Import what the extra ``learn`` brings.

    Raises:
        MissingExtraError: if it is not installed.
    """
    from importlib import import_module

    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or module, "learn", "recognising mistakes") from error


def _require_both(task: Task) -> None:
    found = task.target[task.division.train]
    if found.all() or not found.any():
        raise UserError(
            f"all {found.size} training steps are {'mistakes' if found.all() else 'without mistake'}; "
            "nothing can be learned from one class.",
            hint="take another split or other annotations",
        )


def known_kinds(task: Task) -> tuple[str, ...]:
    """Return the kinds of mistakes that are frequent enough in training to be learned."""
    train = task.division.train
    counts = {kind: int(task.data.of_kind(kind)[train].sum()) for kind in KINDS}
    return tuple(k for k, n in counts.items() if _FEWEST_OF_A_KIND <= n <= len(train) - _FEWEST_OF_A_KIND)


def _probability(log_odds: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-log_odds)), np.float64)


def _reasons(
    names: Sequence[str], values: Floats, contributions: Floats, most: int
) -> Sequence[tuple[Reason, ...]]:
    """Name what moved each row most; what is not known of a step is no reason that one could show."""
    weight = np.where(np.isnan(values), -1.0, np.abs(contributions))
    order = np.argsort(-weight, axis=1, kind="stable")[:, :most]
    return [
        tuple(Reason(names[i], float(row[i]), float(added[i])) for i in chosen if not np.isnan(row[i]))
        for row, added, chosen in zip(values, contributions, order, strict=True)
    ]
