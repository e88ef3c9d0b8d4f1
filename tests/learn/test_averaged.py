"""Two recognisers together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.learn.made import make_data

from proctor.learn.averaged import Averaged
from proctor.learn.recogniser import Reason, Task

DATA, DIVISION = make_data()
TASK = Task(DATA, DIVISION, DATA.labels())


class Known:
    """Says what it was told to say."""

    def __init__(self, name: str, said: NDArray[np.float64]) -> None:
        self.name, self.said = name, said

    def fit(self, task: Task) -> Mapping[str, object]:
        return {"steps": len(task.data.samples)}

    def scores(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.said[places]

    def reasons(self, places: NDArray[np.int64], most: int = 5) -> Sequence[tuple[Reason, ...]]:
        return [(Reason(self.name, 1.0, 2.0),)[:most] for _ in places]

    def kind_scores(self, places: NDArray[np.int64]) -> Mapping[str, NDArray[np.float64]]:
        return {"timing": self.said[places]} | ({"order": self.said[places]} if self.name == "a" else {})


def test_the_weight_is_what_validation_likes_best() -> None:
    rng = np.random.default_rng(0)
    noise = rng.random(len(DATA.samples)) * 0.98 + 0.01
    right = np.where(TASK.target, 0.8, 0.2)
    for first, second, weight in ((noise, right, 1.0), (right, noise, 0.0)):
        both = Averaged("both", Known("a", first), Known("b", second))
        chosen = both.fit(TASK)
        assert chosen["weight"] == {"b": pytest.approx(weight, abs=0.25)}
        assert np.corrcoef(both.scores(DIVISION.test), TASK.target[DIVISION.test])[0, 1] > 0.9


def test_log_odds_are_averaged() -> None:
    said = np.full(len(DATA.samples), 0.9)
    both = Averaged("both", Known("a", said), Known("b", 1 - said))
    chosen = both.fit(TASK)
    assert chosen == {
        "a": {"steps": 320},
        "b": {"steps": 320},
        "weight": {"b": 0.5},
    }  # of equals the most even
    assert both.scores(DIVISION.test) == pytest.approx(0.5)
    assert both.reasons(DIVISION.test[:1]) == [(Reason("a", 1.0, 2.0),)]
    assert set(both.kind_scores(DIVISION.test)) == {"timing"}
    certain = Averaged("both", Known("a", said * 0 + 1), Known("b", said * 0))
    certain.fit(TASK)
    assert certain.scores(DIVISION.test) == pytest.approx(0.5)


def test_without_two_classes_the_weights_are_even() -> None:
    said = np.linspace(0.1, 0.9, len(DATA.samples))
    both = Averaged("both", Known("a", said), Known("b", said[::-1]))
    chosen = both.fit(replace(TASK, target=np.zeros_like(TASK.target)))
    assert chosen["weight"] == {"b": 0.5}
