"""What every recogniser of mistakes is given and gives: the same for a floor, a booster and a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.learn.samples import Division, StepData

__all__ = ["ProtocolName", "Reason", "Recogniser", "Task"]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

ProtocolName = Literal["paper", "code", "right"]
"""What the paper says, what its released code does, and what is right; docs/learn.md lists what differs."""


@dataclass(frozen=True)
class Task:
    """What is to be recognised, and from what.

    Attributes:
        data: all steps.
        division: which of them train, choose and test.
        target: what is recognised of each sample, mostly ``data.labels()``; shape (samples,).
        seed: of everything that draws.
        observed: share of each execution, from its start, that is seen; 1 is all of it.
        protocol: which training and which decisions.
    """

    data: StepData
    division: Division
    target: NDArray[np.bool_]
    seed: int = 0
    observed: float = 1.0
    protocol: ProtocolName = "right"


class Reason(msgspec.Struct, frozen=True):
    """What one feature added to the log-odds of a mistake in one step."""

    feature: str
    value: float
    contribution: float


class Recogniser(Protocol):
    """Learns from ``train``, chooses on ``val``, and never looks at the labels of ``test``."""

    name: str

    def fit(self, task: Task) -> Mapping[str, object]:
        """Learn; returns what was chosen on the validation part, for the run's record.

        Raises:
            UserError: if the training part holds one class only.
        """
        ...

    def scores(self, places: Places) -> Floats:
        """Return the probability of a mistake for samples at these places of the fitted task; shape (places,)."""
        ...

    def reasons(self, places: Places, most: int = 5) -> Sequence[tuple[Reason, ...]]:
        """Return what moved each score most, the largest contribution first; empty where the model cannot say."""
        ...

    def kind_scores(self, places: Places) -> Mapping[str, Floats]:
        """Return the probability of each kind of mistake that the model knows, each of shape (places,); may be empty."""
        ...
