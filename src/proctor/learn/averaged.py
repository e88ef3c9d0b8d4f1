"""Two recognisers together: their log-odds, weighted as the validation part likes best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from proctor.learn.recogniser import Reason, Recogniser, Task
from proctor.metrics.classification import roc_auc

__all__ = ["WEIGHTS", "Averaged"]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

WEIGHTS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Of the second recogniser, of which one is chosen."""

_LEAST: Final = 1e-7


class Averaged:
    """A recogniser of two.

    Args:
        name: of both together.
        first: its reasons are told.
        second: the other.
    """

    def __init__(self, name: str, first: Recogniser, second: Recogniser) -> None:
        self.name, self.first, self.second = name, first, second

    def fit(self, task: Task) -> Mapping[str, object]:
        """Fit both, and choose the weight by the AUC on the validation part; of equals the most even."""
        chosen = {each.name: dict(each.fit(task)) for each in (self.first, self.second)}
        val = task.division.val
        self._weight = 0.5
        target = task.target[val]
        if target.any() and not target.all():
            one, other = _log_odds(self.first.scores(val)), _log_odds(self.second.scores(val))
            even = sorted(WEIGHTS, key=lambda w: abs(w - 0.5))
            aucs = {w: roc_auc(target, (1 - w) * one + w * other, resamples=0).value for w in even}
            self._weight = max(even, key=lambda w: aucs[w])
        return chosen | {"weight": {self.second.name: self._weight}}

    def scores(self, places: Places) -> Floats:
        """Return the probability of a mistake."""
        return self._mean(self.first.scores(places), self.second.scores(places))

    def reasons(self, places: Places, most: int = 5) -> Sequence[tuple[Reason, ...]]:
        """Return what moved the first recogniser's score."""
        return self.first.reasons(places, most)

    def kind_scores(self, places: Places) -> Mapping[str, Floats]:
        """Return the probability of each kind that both know."""
        one, other = self.first.kind_scores(places), self.second.kind_scores(places)
        return {kind: self._mean(one[kind], other[kind]) for kind in one if kind in other}

    def _mean(self, one: Floats, other: Floats) -> Floats:
        log_odds = (1 - self._weight) * _log_odds(one) + self._weight * _log_odds(other)
        return np.asarray(1 / (1 + np.exp(-log_odds)), np.float64)


def _log_odds(probability: Floats) -> Floats:
    kept = np.clip(probability, _LEAST, 1 - _LEAST)
    return np.asarray(np.log(kept / (1 - kept)), np.float64)
